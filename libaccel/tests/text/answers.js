// SPDX-License-Identifier: MIT
// node answers.js TEXT >testdata/answers.json
//
// What the tokenizers library, by its own package for node ("npm install tokenizers"), makes of strings: for each
// tokenizer the hash of the tokens of all of them, sixteen at a time. TEXT is a file to take text from.
'use strict';

const fs = require('fs');
const path = require('path');
const { Tokenizer } = require('tokenizers');
const { Strings, decoded } = require('./strings.js');

const count = 640, block = 16;
const data = name => JSON.parse(fs.readFileSync(path.join(__dirname, 'testdata', name + '.json'), 'utf8'));
const bases = { lm: data('lm'), speech: data('speech'), book: data('book') };

// Models made of those of the files
const words = Object.keys(bases.book.model.vocab);
const made = {};
const bytes = Array.from({ length: 256 }, (_, i) => '<0x' + i.toString(16).toUpperCase().padStart(2, '0') + '>');
const whole = words.filter(w => /^[a-z]+$/.test(w)).slice(0, 1500);

made.unigram = {
	type: 'Unigram', unk_id: 0, byte_fallback: false,
	vocab: ['<unk>', '\u2581', ...'abcdefghijklmnopqrstuvwxyzéß数\u2581'.slice(0, 29), ...whole.map(w => '\u2581' + w), ...whole]
		.map((w, i) => [w, i ? -(i % 97) / 7 - 1 : 0]),
};
made.unigram_bytes = { ...made.unigram, byte_fallback: true,
	vocab: [...made.unigram.vocab, ...bytes.map(b => [b, -20])] };
{
	const vocab = {}, merges = [];
	const add = t => { if (!(t in vocab)) vocab[t] = Object.keys(vocab).length; };

	['<unk>', ...bytes, '\u2581'].forEach(add);
	'abcdefghijklmnopqrstuvwxyz.,;é'.split('').forEach(add);
	whole.slice(0, 700).forEach(w => {
		let left = '\u2581';

		for (const c of w) {
			add(left + c);
			merges.push([left, c]);
			left += c;
		}
	});
	const seen = new Set(), unique = merges.filter(m => !seen.has(m.join(' ')) && seen.add(m.join(' ')));

	made.chars = { type: 'BPE', unk_token: '<unk>', fuse_unk: true, byte_fallback: true, vocab, merges: unique };
	made.chars_unk = { ...made.chars, byte_fallback: false, fuse_unk: false };
	made.chars_fused = { ...made.chars, byte_fallback: false, merges: unique.map(m => m.join(' ')) };
}
{
	const vocab = {}, merges = [];
	const add = t => { if (!(t in vocab)) vocab[t] = Object.keys(vocab).length; };

	add('<unk>');
	'abcdefghijklmnopqrstuvwxyz'.split('').forEach(c => ['', '@@'].forEach(p => ['', '</w>'].forEach(s => add(p + c + s))));
	whole.slice(0, 500).forEach(w => {
		let left = w[0];

		for (let i = 1; i < w.length; i++) {
			const c = '@@' + w[i] + (i + 1 === w.length ? '</w>' : '');

			add(left + c.slice(2));
			merges.push([left, c]);
			left += c.slice(2);
		}
	});
	const seen = new Set();

	made.affixes = { type: 'BPE', unk_token: '<unk>', continuing_subword_prefix: '@@', end_of_word_suffix: '</w>',
		vocab, merges: merges.filter(m => !seen.has(m.join(' ')) && seen.add(m.join(' '))) };
}
made.levels = { type: 'WordLevel', unk_token: '[UNK]',
	vocab: Object.fromEntries(['[UNK]', ...whole, '.', ',', ' ', '1', '2'].map((w, i) => [w, i])) };

const split = (re, behavior, invert) => ({ type: 'Split', pattern: typeof re === 'string' ? { String: re } : re,
	behavior, invert: !!invert });
const regex = r => ({ Regex: r });
const llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" +
	'\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
const meta = (prepend_scheme, on = true) => ({ type: 'Metaspace', replacement: '\u2581', prepend_scheme, split: on });
const sequence = (...pretokenizers) => ({ type: 'Sequence', pretokenizers });
const normalizers = (...list) => ({ type: 'Sequence', normalizers: list });
const added = (content, id, more) => ({ id, content, single_word: false, lstrip: false, rstrip: false,
	normalized: false, special: false, ...more });
const llama = normalizers({ type: 'Prepend', prepend: '\u2581' },
	{ type: 'Replace', pattern: { String: ' ' }, content: '\u2581' });
const sp = { type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: '\u2581' }, content: ' ' },
	{ type: 'ByteFallback' }, { type: 'Fuse' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }] };
const plain = { added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
const speech = o => ['speech', o], lm = o => ['lm', o], book = o => ['book', o];

const cases = {
	lm: lm({}), speech: speech({}), book: book({}),
	prefix_space: lm({ pre_tokenizer: { ...level, add_prefix_space: true, use_regex: true } }),
	no_regex: speech({ pre_tokenizer: level }),
	llama3: lm({ pre_tokenizer: sequence(split(regex(llama3), 'Isolated'), level) }),
	qwen: lm({ normalizer: { type: 'NFC' }, pre_tokenizer: sequence(split(regex(llama3.replace('{1,3}', '')), 'Isolated'), level) }),
	gpt4o: lm({ pre_tokenizer: sequence(split(regex("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}" +
		"\\p{Lo}\\p{M}]+(?i:'s|'t)?|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"), 'Removed', true), level) }),
	bloom: lm({ pre_tokenizer: sequence(split(regex(' ?[^(\\s|[.,!?…。，、।۔،])]+'), 'Isolated'), level) }),
	classes: lm({ pre_tokenizer: sequence(split(regex('[\\w&&[^\\d_]]+|[[:punct:]]|\\h\\H|\\b\\d|\\B\\W|\\S$'), 'Isolated'), level) }),
	han: lm({ pre_tokenizer: sequence(split(regex('\\p{Han}+|\\p{Hiragana}|[\\P{L}\\u0041-\\u0045]'), 'Isolated'), level) }),
	ignore_merges: lm({ model: { ...bases.lm.model, ignore_merges: true } }),
	merge_texts: lm({ model: { ...bases.lm.model, merges: bases.lm.model.merges.map(m => m.join(' ')) } }),
	cased: book({ normalizer: { ...bases.book.normalizer, lowercase: false } }),
	accents: book({ normalizer: { ...bases.book.normalizer, strip_accents: false } }),
	no_cjk: book({ normalizer: { ...bases.book.normalizer, handle_chinese_chars: false, clean_text: false } }),
	template: book({ post_processor: { type: 'TemplateProcessing',
		single: [{ SpecialToken: { id: '[CLS]', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '[SEP]', type_id: 0 } }],
		pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
		special_tokens: { '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] }, '[SEP]': { id: '[SEP]', ids: [3], tokens: ['[SEP]'] } } } }),
	bert_post: book({ post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] },
		truncation: { direction: 'Right', max_length: 12, strategy: 'LongestFirst', stride: 0 },
		padding: { strategy: { Fixed: 9 }, direction: 'Right', pad_to_multiple_of: 4, pad_id: 0, pad_type_id: 0, pad_token: '[PAD]' } }),
	roberta: lm({ post_processor: { type: 'RobertaProcessing', sep: ['<|end|>', 0], cls: ['<|end|>', 0], trim_offsets: true, add_prefix_space: false },
		truncation: { direction: 'Left', max_length: 10, strategy: 'OnlyFirst', stride: 0 } }),
	short_words: book({ model: { ...bases.book.model, max_input_chars_per_word: 5 } }),
	added: lm({ added_tokens: [...bases.lm.added_tokens, added('the', 3369, { single_word: true }), added(' of', 4096, { rstrip: true }),
		added('int', 740, { lstrip: true }), added('1', 17, { normalized: true }), added('12', 4097), added('Müller', 4098, { normalized: true })],
	normalizer: { type: 'Lowercase' } }),
	nfd: speech({ normalizer: { type: 'NFD' } }), nfkc: speech({ normalizer: { type: 'NFKC' } }), nfkd: speech({ normalizer: { type: 'NFKD' } }),
	lower: speech({ normalizer: normalizers({ type: 'Lowercase' }, { type: 'Strip', strip_left: true, strip_right: true }) }),
	strip_accents: speech({ normalizer: normalizers({ type: 'NFKD' }, { type: 'StripAccents' }) }),
	replace: speech({ normalizer: normalizers({ type: 'Replace', pattern: { Regex: '\\s{2,}|[aeiou]+' }, content: 'x ' },
		{ type: 'Replace', pattern: { String: 'in' }, content: '' }) }),
	nmt: speech({ normalizer: normalizers({ type: 'Nmt' }, { type: 'Prepend', prepend: 'é' }) }),
	byte_normalizer: speech({ normalizer: { type: 'ByteLevel' }, pre_tokenizer: null }),
	chars: ['chars', { ...plain, normalizer: llama, decoder: sp }],
	chars_unk: ['chars_unk', { ...plain, normalizer: llama, decoder: sp }],
	chars_fused: ['chars_fused', { ...plain, pre_tokenizer: meta('first') }],
	affixes: ['affixes', { ...plain, normalizer: { type: 'Lowercase' }, pre_tokenizer: { type: 'WhitespaceSplit' }, decoder: { type: 'BPEDecoder', suffix: '</w>' } }],
	unigram: ['unigram', { ...plain, pre_tokenizer: meta('always'), decoder: meta('always') }],
	unigram_never: ['unigram', { ...plain, pre_tokenizer: sequence({ type: 'WhitespaceSplit' }, meta('never')), decoder: meta('never') }],
	unigram_bytes: ['unigram_bytes', { ...plain, pre_tokenizer: meta('first', false), decoder: sp }],
	levels: ['levels', { ...plain, pre_tokenizer: { type: 'Whitespace' } }],
	levels_bert: ['levels', { ...plain, normalizer: { type: 'Lowercase' }, pre_tokenizer: { type: 'BertPreTokenizer' }, decoder: { type: 'WordPiece', prefix: '##', cleanup: true } }],
	punct: ['levels', { ...plain, pre_tokenizer: sequence({ type: 'WhitespaceSplit' }, { type: 'Punctuation', behavior: 'Contiguous' }) }],
	digits: ['levels', { ...plain, pre_tokenizer: sequence({ type: 'Digits', individual_digits: true }, { type: 'CharDelimiterSplit', delimiter: ' ' }) }],
	digit_runs: ['levels', { ...plain, pre_tokenizer: { type: 'Digits', individual_digits: false }, decoder: { type: 'CTC', pad_token: '[UNK]', word_delimiter_token: '.', cleanup: true } }],
	fixed: ['levels', { ...plain, pre_tokenizer: { type: 'FixedLength', length: 3 } }],
};
for (const behavior of ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'])
	for (const invert of [false, true])
		cases['split_' + behavior + (invert ? '_inverted' : '')] =
			['levels', { ...plain, pre_tokenizer: split(regex('\\s|[,.]'), behavior, invert) }];

const hash = (h, bytes) => {
	for (const b of bytes)
		h = Math.imul(h ^ b, 0x01000193) >>> 0;
	return h;
};
const word = n => [n & 255, n >>> 8 & 255, n >>> 16 & 255, n >>> 24];

(async () => {
	const source = new Strings(20, fs.readFileSync(process.argv[2], 'utf8').slice(0, 200000), ['<|end|>', '[MASK]', '[SEP]']);
	const strings = Array.from({ length: count }, () => source.next());
	const out = { strings: strings.map(s => s.toString('hex')), models: made, cases: {} };

	for (const [name, [base, patch]] of Object.entries(cases)) {
		const json = { ...(bases[base] || { version: '1.0', truncation: null, padding: null, model: made[base] }), ...patch };
		const t = Tokenizer.fromString(JSON.stringify(json));
		const entry = { base, patch: { ...patch }, ids: [], texts: [] };

		if (patch.model)
			entry.patch.model = Object.fromEntries(Object.entries(patch.model).filter(([k]) => k !== 'vocab' && k !== 'merges'));
		if (name === 'merge_texts')
			entry.merge_texts = true;
		for (let i = 0; i < count; i += block) {
			let ids = 0x811c9dc5, texts = 0x811c9dc5;

			for (let j = i; j < i + block; j++) {
				const e = (await t.encode(decoded(strings[j]), null, { addSpecialTokens: j % 2 === 1 })).getIds();

				ids = hash(ids, word(e.length));
				for (const id of e)
					ids = hash(ids, word(id));
				texts = hash(texts, Buffer.from(e.length ? await t.decode(e, j % 4 === 3) : ''));
				texts = hash(texts, [0]);
			}
			entry.ids.push(ids);
			entry.texts.push(texts);
		}
		out.cases[name] = entry;
	}
	process.stdout.write(JSON.stringify(out, null, 0).replace(/("[a-z_A-Z]+":\{"base")/g, '\n$1') + '\n');
})();
