// SPDX-License-Identifier: MIT
// node peer.js PACKAGE TOKENIZER.json SEED COUNT TEXT | test_tokenizer --peer TOKENIZER.json
//
// What another implementation makes of COUNT strings: of each its number, its bytes, the tokens, and the text of these.
// PACKAGE is the folder of @huggingface/tokenizers, or of tokenizers, the compiled reference; beside TOKENIZER.json there
// may be tokenizer_config.json. TEXT is a file to take text from.
'use strict';

const fs = require('fs');
const path = require('path');
const { Strings, decoded } = require('./strings.js');

const [packaged, file, seed, count, text] = process.argv.slice(2);
const read = name => JSON.parse(fs.readFileSync(name, 'utf8'));
const json = read(file);
const specials = json.added_tokens.filter(t => t.special).map(t => t.content).slice(0, 20);
const source = new Strings(Number(seed), fs.readFileSync(text, 'utf8').slice(0, 200000), specials);
const word = n => Buffer.from(Uint32Array.of(n).buffer);
let out = [];

function flush() {
	fs.writeFileSync(1, Buffer.concat(out));
	out = [];
}

// encode(text, special) and decode(ids, skip) of the package
function implementation() {
	const dist = path.resolve(packaged, 'dist', 'tokenizers.cjs');

	if (!fs.existsSync(dist)) {
		const t = require(path.resolve(packaged)).Tokenizer.fromString(JSON.stringify(json));

		return {
			encode: async (string, addSpecialTokens) => (await t.encode(string, null, { addSpecialTokens })).getIds(),
			decode: (ids, skip) => t.decode(ids, skip),
		};
	}
	const config = path.join(path.dirname(file), 'tokenizer_config.json');
	const t = new (require(dist).Tokenizer)(json, fs.existsSync(config) ? read(config) : {});

	return {
		encode: (string, special) => t.encode(string, { add_special_tokens: special }).ids,
		decode: (ids, skip) => t.decode(ids, { skip_special_tokens: skip, clean_up_tokenization_spaces: false }),
	};
}

(async () => {
	const { encode, decode } = implementation();

	for (let i = 0; i < Number(count); i++) {
		const bytes = source.next();
		const ids = await encode(decoded(bytes), i % 2 === 1);
		const back = Buffer.from(ids.length ? await decode(ids, i % 4 === 3) : '');

		out.push(word(i), word(bytes.length), bytes, word(ids.length), Buffer.from(Uint32Array.from(ids).buffer),
			word(back.length), back);
		if (out.length > 2000)
			flush();
	}
	flush();
})();
