// SPDX-License-Identifier: MIT
// Strings to tokenize: text, all planes of Unicode, marks, emoji, spaces, digits, special tokens, broken UTF-8.
'use strict';

const words = ('Él señor Müller trinkt Straße naïve façade İstanbul ǅ ﬁ ﬃ 数据库系统 東京タワー カタカナ ｶﾞｷﾞ ひらがな 한국어 ' +
	'안녕하세요 Привет мир Ελληνικά ΣΑΣ हिन्दी में नमस्ते ภาษาไทย العَرَبِيَّة עִבְרִית தமிழ் 👍🏽 👨‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️ ①②③ Ⅳ ½ ² ㍿ ﷺ ' +
	'e\u0301 a\u0323\u0308 \u1100\u1161\u11a8 \u00a0 \u200b \u3000 \ufeff \u00ad … — “quoted” ‘it’s’ don\'t we\'ll I\'VE ' +
	'it\'ſ \'\u212a 3.14159 1,234,567 ١٢٣ १२३ 2024-01-01 http://a.b/c?d=e&f#g user@example.com {"a": <b>x</b> \t\tint ' +
	'main(void)\n{\n\treturn 0;\n}\r\n\r\n \n end').split(' ');
const gaps = ['\n', '\r\n', '\t', ' \n', '\n\n\n', '\u00a0', '\u2003'];

class Strings {
	constructor(seed, text, specials) {
		this.a = (Math.imul(seed, 0x9e3779b9) ^ 0x85ebca6b) >>> 0;
		this.b = (seed * 2 + 1) >>> 0;
		this.text = text;
		this.specials = specials;
	}

	below(n) {
		this.a = (Math.imul(this.a, 1664525) + 1013904223) >>> 0;
		this.b ^= this.b << 13;
		this.b >>>= 0;
		this.b ^= this.b >>> 17;
		this.b ^= this.b << 5;
		this.b >>>= 0;
		return ((this.a ^ this.b) >>> 0) % n;
	}

	point() {
		for (;;) {
			const kind = this.below(8);
			const c = [() => this.below(0x80), () => this.below(0x800), () => this.below(0x3000),
				() => this.below(0x10000), () => 0x1f300 + this.below(0x700),
				() => 0x10000 + this.below(0x10000), () => 0x300 + this.below(0x70),
				() => this.below(0x110000)][kind]();

			if (c < 0xd800 || c > 0xdfff)
				return String.fromCodePoint(c);
		}
	}

	repeat(n, make) {
		return Array.from({ length: n }, make).join('');
	}

	word() {
		return words[this.below(words.length)];
	}

	part() {
		const at = this.below(Math.max(1, this.text.length - 200));

		switch (this.below(14)) {
		case 0: return this.text.slice(at, at + this.below(160));
		case 1: return this.repeat(1 + this.below(20), () => this.point());
		case 2: return Buffer.from(Array.from({ length: this.below(12) }, () => this.below(256)));
		case 3: return this.word();
		case 4: return ' '.repeat(this.below(9));
		case 5: return gaps[this.below(gaps.length)].repeat(1 + this.below(3));
		case 6: return this.repeat(1 + this.below(12), () => String.fromCharCode(32 + this.below(95)));
		case 7: return this.specials.length ? this.specials[this.below(this.specials.length)] : '';
		case 8: return this.repeat(1 + this.below(10), () => String(this.below(10)));
		case 9: return this.word() + ' ' + this.word();
		case 10: return this.point().repeat(1 + this.below(12));
		case 11: {
			const bytes = Buffer.from(this.word());

			return bytes.subarray(0, this.below(bytes.length + 1));
		}
		case 12: return ' ' + this.repeat(1 + this.below(8),
			() => String.fromCharCode((this.below(2) ? 65 : 97) + this.below(26)));
		default: return this.text.slice(at, at + this.below(20));
		}
	}

	// Bytes of the next one
	next() {
		const parts = Array.from({ length: 1 + this.below(6) }, () => this.part());

		return Buffer.concat(parts.map(p => Buffer.from(p)));
	}
}

// As any reader of broken UTF-8 has it
function decoded(bytes) {
	return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

module.exports = { Strings, decoded };
