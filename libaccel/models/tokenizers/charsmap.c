// SPDX-License-Identifier: MIT
/*
 * Normalizers that come precompiled, from SentencePiece: the size of a trie in bytes, the trie as
 * a double
 * array, and what its values point at, texts that end with zero.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "inside.h"

/* A grapheme that is longer is looked at character by character. */
#define SHORT	6

struct charsmap {
	uint8_t *texts;
	size_t texts_n;
	uint32_t count;
	uint32_t units[];
};

int charsmap_make(struct charsmap **map, struct tok_bytes blob, struct accel_error *e)
{
	struct charsmap *m;
	uint32_t size;

	if (blob.n < 4)
		return tok_fail(e, -EBADMSG, "a precompiled normalizer of %zu bytes", blob.n);
	size = blob.p[0] | (uint32_t)blob.p[1] << 8 | (uint32_t)blob.p[2] << 16 |
	       (uint32_t)blob.p[3] << 24;
	if (size > blob.n - 4 || size % 4 || !size)
		return tok_fail(e, -EBADMSG, "a precompiled normalizer whose trie has %u bytes",
				size);
	m = malloc(sizeof(*m) + blob.n);
	if (!m)
		return tok_fail(e, -ENOMEM, "out of memory");
	m->count = size / 4;
	memcpy(m->units, blob.p + 4, size);
	m->texts_n = blob.n - 4 - size;
	m->texts = (uint8_t *)(m->units + m->count);
	memcpy(m->texts, blob.p + 4 + size, m->texts_n);
	if (!utf8_valid(m->texts, m->texts_n)) {
		free(m);
		return tok_fail(e, -EBADMSG, "a precompiled normalizer whose texts are not UTF-8");
	}
	*map = m;
	return 0;
}

void charsmap_free(struct charsmap *m)
{
	free(m);
}

static uint32_t offset(uint32_t unit)
{
	return (unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* What the shortest part at the beginning becomes; that is how the reference does it. */
static bool look_up(const struct charsmap *m, const uint8_t *s, uint32_t n, struct tok_bytes *text)
{
	uint32_t at = offset(m->units[0]), i, unit;

	for (i = 0; i < n && s[i]; i++) {
		const uint8_t *end;
		uint32_t value;

		at ^= s[i];
		if (at >= m->count)
			return false;
		unit = m->units[at];
		if ((unit & (1u << 31 | 0xff)) != s[i])
			return false;
		at ^= offset(unit);
		if (!(unit >> 8 & 1))
			continue;
		if (at >= m->count)
			return false;
		value = m->units[at] & 0x7fffffff;
		/* Not into the middle of a character, for the text stays UTF-8 */
		if (value >= m->texts_n || (m->texts[value] & 0xc0) == 0x80)
			return false;
		end = memchr(m->texts + value, 0, m->texts_n - value);
		*text = (struct tok_bytes){ m->texts + value,
					    end ? (size_t)(end - m->texts) - value :
						m->texts_n - value };
		return true;
	}
	return false;
}

int charsmap_apply(struct tok_run *r, const struct charsmap *m, uint32_t start, uint32_t end)
{
	struct tok_bytes text;
	uint32_t i = start, j, k, c;
	int ret = 0;

	while (!ret && i < end) {
		utf8proc_int32_t state = 0;
		uint32_t from = i, before = utf8_get(r->text.s + i, &k);

		for (i += k; i < end; i += k, before = c) {
			c = utf8_get(r->text.s + i, &k);
			if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before,
							     (utf8proc_int32_t)c, &state))
				break;
		}
		if (i - from < SHORT && look_up(m, r->text.s + from, i - from, &text)) {
			ret = text_put(r, text.p, (uint32_t)text.n, text_span(&r->text, from, i));
			continue;
		}
		for (j = from; !ret && j < i; j += k) {
			utf8_get(r->text.s + j, &k);
			if (look_up(m, r->text.s + j, k, &text))
				ret = text_put(r, text.p, (uint32_t)text.n,
					       text_span(&r->text, j, j + k));
			else
				ret = text_copy(r, j, j + k);
		}
	}
	return ret;
}
