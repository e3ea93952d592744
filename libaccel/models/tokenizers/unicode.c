// SPDX-License-Identifier: MIT
/*
 * Characters: UTF-8, classes, lower case, normal forms.
 */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "inside.h"
#include "unicode_tables.h"

uint32_t utf8_put(uint8_t *p, uint32_t c)
{
	if (c < 0x80) {
		p[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		p[0] = (uint8_t)(0xc0 | c >> 6);
		p[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		p[0] = (uint8_t)(0xe0 | c >> 12);
		p[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		p[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	p[0] = (uint8_t)(0xf0 | c >> 18);
	p[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	p[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	p[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

uint32_t utf8_check(const uint8_t *p, size_t n, uint32_t *bad, bool *cut)
{
	uint32_t need, i;
	uint8_t lo = 0x80, hi = 0xbf;

	*bad = 1;
	*cut = false;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	/* Neither overlong, nor surrogates, nor beyond the last plane */
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	for (i = 1; i < need; i++) {
		if (i == n) {
			*cut = true;
			break;
		}
		if (p[i] < lo || p[i] > hi)
			break;
		lo = 0x80;
		hi = 0xbf;
	}
	*bad = i;
	return i == need ? need : 0;
}

bool utf8_valid(const uint8_t *p, size_t n)
{
	uint32_t bad, k;
	bool cut;

	while (n) {
		/* Most of most texts: eight at a time */
		if (n >= 8) {
			uint64_t eight;

			memcpy(&eight, p, 8);
			if (!(eight & 0x8080808080808080u)) {
				p += 8;
				n -= 8;
				continue;
			}
		}
		k = utf8_check(p, n, &bad, &cut);
		if (!k)
			return false;
		p += k;
		n -= k;
	}
	return true;
}

/* Bytes that are printed as themselves; the others follow U+0100, in order */
static bool is_printed(uint32_t b)
{
	return (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
}

uint32_t byte_to_char(uint8_t b)
{
	if (is_printed(b))
		return b;
	if (b <= ' ')
		return 0x100u + b;
	return b == 0xad ? 0x143 : 0x121u + (b - 0x7fu);
}

int char_to_byte(uint32_t c)
{
	if (c < 0x100)
		return is_printed(c) ? (int)c : -1;
	if (c <= 0x120)
		return (int)(c - 0x100);
	if (c < 0x143)
		return (int)(c - 0x121 + 0x7f);
	return c == 0x143 ? 0xad : -1;
}

bool chars_to_bytes(struct tok_bytes in, uint8_t *out, size_t *n)
{
	size_t i, o = 0;
	uint32_t k;

	for (i = 0; i < in.n; i += k) {
		int b = char_to_byte(utf8_get(in.p + i, &k));

		if (b < 0)
			return false;
		out[o++] = (uint8_t)b;
	}
	*n = o;
	return true;
}

bool is_white(uint32_t c)
{
	if (c < 0x80)
		return c == ' ' || (c >= 9 && c <= 13);
	return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
	       c == 0x2028 ||
	       c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool within(const struct range *r, size_t n, uint32_t c)
{
	size_t lo = 0, mid;

	while (n) {
		mid = lo + n / 2;
		if (c > r[mid].to) {
			n -= n / 2 + 1;
			lo = mid + 1;
		} else if (c < r[mid].from) {
			n /= 2;
		} else {
			return true;
		}
	}
	return false;
}

#define WITHIN(table, c)	within(table, ARRAY_SIZE(table), c)

static utf8proc_category_t category(uint32_t c)
{
	return utf8proc_category((utf8proc_int32_t)c);
}

bool is_number(uint32_t c)
{
	utf8proc_category_t k;

	if (c < 0x80)
		return c >= '0' && c <= '9';
	k = category(c);
	return (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO) || WITHIN(new_numbers, c);
}

bool is_punct(uint32_t c)
{
	utf8proc_category_t k;

	if (c < 0x80)
		return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
		       (c >= '{' && c <= '~');
	k = category(c);
	/* Two that were punctuation once, or were not */
	if (c == 0x166d || c == 0x111c9)
		return true;
	return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO && !WITHIN(not_punct, c);
}

bool is_control(uint32_t c)
{
	utf8proc_category_t k;

	if (c < 0x80)
		return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
	/* Characters of formats that are newer than the reference's classes */
	if (c == 0x890 || c == 0x891 || c == 0x8e2 || c == 0x110cd ||
	    (c >= 0x13430 && c <= 0x1343f))
		return false;
	k = category(c);
	return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
}

bool is_mark(uint32_t c)
{
	utf8proc_category_t k;

	if (c < 0x300)
		return false;
	k = category(c);
	if (c == 0x1cf2 || c == 0x1cf3)
		return true;
	return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME && !WITHIN(not_mark, c);
}

bool is_nonspacing(uint32_t c)
{
	if (c < 0x300)
		return false;
	if (c == 0x1734)
		return true;
	return category(c) == UTF8PROC_CATEGORY_MN && !WITHIN(not_nonspacing, c);
}

/* Letters, marks, digits, connectors, and what joins them */
bool is_word(uint32_t c)
{
	utf8proc_category_t k;
	size_t i;

	if (c < 0x80)
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		       (c >= 'A' && c <= 'Z') || c == '_';
	if (c == 0x200c || c == 0x200d)
		return true;
	k = category(c);
	if ((k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_ND) || k == UTF8PROC_CATEGORY_NL ||
	    k == UTF8PROC_CATEGORY_PC)
		return true;
	/* Letters in circles are alphabetic, though they are symbols. */
	if ((c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
	    (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189))
		return true;
	for (i = 0; i < ARRAY_SIZE(newer) && newer[i].from <= c; i++)
		if (c <= newer[i].to)
			return newer[i].class[0] == 'L' || newer[i].class[0] == 'M' ||
			       (newer[i].class[0] == 'N' && WITHIN(new_numbers, c));
	return false;
}

uint32_t to_lower(uint32_t c, uint32_t out[2])
{
	out[0] = c;
	if (c < 0x80) {
		if (c >= 'A' && c <= 'Z')
			out[0] = c + 32;
		return 1;
	}
	if (c == 0x130) {
		out[0] = 'i';
		out[1] = 0x307;
		return 2;
	}
	/* Letters that came with Unicode 16 and 17 */
	if (c == 0x1c89 || c == 0xa7cc || c == 0xa7ce || c == 0xa7d2 || c == 0xa7d4 || c == 0xa7da)
		out[0] = c + 1;
	else if (c == 0xa7cb)
		out[0] = 0x264;
	else if (c == 0xa7dc)
		out[0] = 0x19b;
	else if (c >= 0x10d50 && c <= 0x10d65)
		out[0] = c + 0x20;
	else if (c >= 0x16ea0 && c <= 0x16eb8)
		out[0] = c + 0x1b;
	else
		out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
	return 1;
}

/* A character that the form leaves alone, whatever stands before it */
bool is_plain(uint32_t c, enum tok_form form)
{
	return c < 0x80 || (form == FORM_NFC && c < 0x300);
}

/* As the reference orders marks: what is newer than its Unicode stays where it is. */
static uint32_t mark_class(int32_t c)
{
	uint32_t class = c < 0x300 ? 0 : (uint32_t)utf8proc_get_property(c)->combining_class & 255;

	return class && !WITHIN(not_mark, (uint32_t)c) ? class : 0;
}

/* May a character depend on the one before it, in any form? Then a text is not cut between them. */
bool goes_on(uint32_t c)
{
	utf8proc_category_t k;

	if (c < 0x300)
		return false;
	k = category(c);
	return (k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME) ||
	       (c >= 0x1160 && c <= 0x11ff) ||
	       (c >= 0x3130 && c <= 0x318f) || (c >= 0xff9e && c <= 0xffdc) ||
	       utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
}

/* Marks in the order of their classes: a stable sort by counting, for runs may be long. */
static void order_marks(int32_t *v, size_t n, int32_t *spare)
{
	size_t from, to, i, counts[256];

	for (from = 0; from < n; from = to + 1) {
		for (to = from; to < n && mark_class(v[to]); )
			to++;
		if (to - from < 2)
			continue;
		memset(counts, 0, sizeof(counts));
		for (i = from; i < to; i++)
			counts[mark_class(v[i])]++;
		for (i = 0, counts[0] = 0; i < 255; i++)
			counts[i + 1] += counts[i];
		/* counts[c]: the end of class c; filled from the back */
		for (i = to; i-- > from; )
			spare[--counts[mark_class(v[i])]] = v[i];
		memcpy(v + from, spare, (to - from) * sizeof(*v));
	}
}

int32_t *normal_form(const uint32_t *in, size_t n, enum tok_form form, size_t *out_n)
{
	int compat = form == FORM_NFKC || form == FORM_NFKD ? UTF8PROC_COMPAT : 0;
	int32_t *out = NULL, *spare, *more;
	size_t used = 0, cap = n + 32, i;
	int boundary;

	out = malloc(cap * sizeof(*out));
	for (i = 0; out && i < n; i++) {
		utf8proc_ssize_t k;

		if (cap - used < 32) {
			cap += cap / 2 + 32;
			more = realloc(out, cap * sizeof(*out));
			if (!more)
				free(out);
			out = more;
			if (!out)
				break;
		}
		if (WITHIN(not_decomposed, in[i])) {
			out[used++] = (int32_t)in[i];
			continue;
		}
		k = utf8proc_decompose_char((utf8proc_int32_t)in[i], out + used, 32,
					    (utf8proc_option_t)(UTF8PROC_DECOMPOSE |
								UTF8PROC_STABLE | compat),
					    &boundary);
		if (k < 0 || k > 32) {
			out[used] = (int32_t)in[i];
			k = 1;
		}
		used += (size_t)k;
	}
	if (!out)
		return NULL;
	spare = malloc((used + 1) * sizeof(*spare));
	if (!spare) {
		free(out);
		return NULL;
	}
	order_marks(out, used, spare);
	free(spare);
	if (form == FORM_NFC || form == FORM_NFKC) {
		utf8proc_ssize_t k = utf8proc_normalize_utf32(out, (utf8proc_ssize_t)used,
							      UTF8PROC_COMPOSE | UTF8PROC_STABLE);

		if (k >= 0)
			used = (size_t)k;
	}
	*out_n = used;
	return out;
}
