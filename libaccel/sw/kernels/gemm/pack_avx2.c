// SPDX-License-Identifier: MIT
/*
 * Packs words of 16 columns at a time. If rows are contiguous, as many rows as a word has
 * elements are interleaved; if columns are, 8 columns by a line of each are transposed in
 * registers. Nibbles are first combined to bytes: element j and j + 4.
 */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>
#include "pack.h"

#define INLINE	static inline __attribute__((always_inline))

/* Rows that are prefetched: each is in another page */
#define AHEAD	16u

static const uint8_t *element(const struct fast_pack_source *f, uint32_t k, uint32_t n)
{
	return f->p + (k * f->ks + n * f->ns) * (int64_t)f->bits / 8;
}

/* A word at an edge, or of a matrix without a contiguous dimension. */
static uint32_t word_at(const struct fast_pack_source *f, uint32_t k, uint32_t n)
{
	const uint32_t count = 32 / f->bits;
	uint32_t word = 0, i, bits;

	if (n >= f->n)
		return 0;
	for (i = 0; i < count && k + i < f->k; i++) {
		const int64_t at = (k + i) * f->ks + n * f->ns + f->odd;

		bits = 0;
		if (f->bits == 4) {
			bits = f->p[at >> 1] >> (at & 1 ? 4 : 0) & 15;
			word |= bits << (8 * (i % 4) + 4 * (i / 4));
			continue;
		}
		memcpy(&bits, f->p + at * (f->bits / 8), f->bits / 8);
		word |= bits << (f->bits % 32 * i);
	}
	return word;
}

static void words(const struct fast_pack_source *f, uint32_t k, uint32_t n, uint32_t count,
		  uint8_t *out)
{
	uint32_t w[16], j;

	for (j = 0; j < count; j++)
		w[j] = word_at(f, k, n + j);
	memcpy(out, w, 4ul * count);
}

INLINE __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const void *)p);
}

INLINE void store(uint8_t *p, __m128i v)
{
	_mm_storeu_si128((void *)p, v);
}

/* Interleave four rows of bytes. */
INLINE void weave(const __m128i *row, uint8_t *out)
{
	const __m128i lo = _mm_unpacklo_epi8(row[0], row[1]);
	const __m128i hi = _mm_unpackhi_epi8(row[0], row[1]);
	const __m128i lo2 = _mm_unpacklo_epi8(row[2], row[3]);
	const __m128i hi2 = _mm_unpackhi_epi8(row[2], row[3]);

	store(out, _mm_unpacklo_epi16(lo, lo2));
	store(out + 16, _mm_unpackhi_epi16(lo, lo2));
	store(out + 32, _mm_unpacklo_epi16(hi, hi2));
	store(out + 48, _mm_unpackhi_epi16(hi, hi2));
}

/* 16 columns of a step, @row bytes apart, for contiguous rows without an edge. */
INLINE void join_rows(const uint8_t *p, int64_t row, uint32_t bits, uint8_t *out)
{
	const __m128i low = _mm_set1_epi8(15);
	__m128i r[4], a, b, even, odd;
	int i;

	switch (bits) {
	case 32:
		memcpy(out, p, 64);
		break;
	case 16:
		for (i = 0; i < 2; i++) {
			a = load(p + 16 * i);
			b = load(p + 16 * i + row);
			store(out + 32 * i, _mm_unpacklo_epi16(a, b));
			store(out + 32 * i + 16, _mm_unpackhi_epi16(a, b));
		}
		break;
	case 8:
		for (i = 0; i < 4; i++)
			r[i] = load(p + i * row);
		weave(r, out);
		break;
	default:
		for (i = 0; i < 4; i++) {
			a = _mm_loadl_epi64((const void *)(p + i * row));
			b = _mm_loadl_epi64((const void *)(p + (i + 4) * row));
			even = _mm_or_si128(_mm_and_si128(a, low),
					    _mm_slli_epi16(_mm_and_si128(b, low), 4));
			odd = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(a, 4), low),
					   _mm_andnot_si128(low, b));
			r[i] = _mm_unpacklo_epi8(even, odd);
		}
		weave(r, out);
		break;
	}
}

/* Put the nibbles of a word in the order of a block: 0, 4, 1, 5, 2, 6, 3, 7. */
INLINE __m256i order(__m256i v)
{
	const __m256i low = _mm256_set1_epi8(15), even = _mm256_set1_epi16(0x00ff);
	const __m128i first = _mm_setr_epi8(0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13);
	const __m128i last = _mm_setr_epi8(2, 2, 3, 3, 6, 6, 7, 7, 10, 10, 11, 11, 14, 14, 15, 15);
	const __m256i x = _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(first));
	const __m256i y = _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(last));
	const __m256i a = _mm256_or_si256(_mm256_and_si256(x, low),
					  _mm256_slli_epi16(_mm256_and_si256(y, low), 4));
	const __m256i b = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(x, 4), low),
					  _mm256_andnot_si256(low, y));

	return _mm256_blendv_epi8(b, a, even);
}

/* Eight columns, @col bytes apart, by eight words; those beyond @cols columns are zeros. */
INLINE void turn(const uint8_t *p, int64_t col, uint32_t cols, bool nibbles, uint8_t *out,
		 uint64_t step)
{
	__m256i r[8], s[8];
	uint32_t i;

	for (i = 0; i < 8; i++) {
		r[i] = i < cols ? _mm256_loadu_si256((const void *)(p + i * col)) :
				  _mm256_setzero_si256();
		if (nibbles)
			r[i] = order(r[i]);
	}
	for (i = 0; i < 8; i += 2) {
		s[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
		s[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
	}
	for (i = 0; i < 8; i += 4) {
		r[i] = _mm256_unpacklo_epi64(s[i], s[i + 2]);
		r[i + 1] = _mm256_unpackhi_epi64(s[i], s[i + 2]);
		r[i + 2] = _mm256_unpacklo_epi64(s[i + 1], s[i + 3]);
		r[i + 3] = _mm256_unpackhi_epi64(s[i + 1], s[i + 3]);
	}
	for (i = 0; i < 4; i++) {
		_mm256_storeu_si256((void *)(out + (uint64_t)i * step),
				    _mm256_permute2x128_si256(r[i], r[i + 4], 0x20));
		_mm256_storeu_si256((void *)(out + (uint64_t)(i + 4) * step),
				    _mm256_permute2x128_si256(r[i], r[i + 4], 0x31));
	}
}

/* One step after the other, so that each line of a row is only read once. */
INLINE void along_n(const struct fast_pack_source *f, const uint32_t bits, uint32_t k,
		    uint32_t steps, uint32_t n, uint32_t panels, uint8_t *out, uint64_t step,
		    uint64_t panel)
{
	const uint32_t count = 32 / bits, width = 2 * bits;
	const int64_t row = f->ks * (int64_t)bits / 8;
	uint32_t s, p, i;

	for (s = 0; s < steps; s++, k += count, out += step) {
		const bool whole = k + count <= f->k;
		const uint8_t *from = element(f, k, n);

		if (k + AHEAD + count <= f->k)
			for (i = 0; i < count; i++)
				for (p = 0; p < panels * width; p += 64)
					_mm_prefetch((const char *)from + (AHEAD + i) * row + p,
						     _MM_HINT_T0);
		for (p = 0; p < panels; p++) {
			if (whole && n + 16 * p + 16 <= f->n)
				join_rows(from + p * width, row, bits, out + p * panel);
			else
				words(f, k, n + 16 * p, 16, out + p * panel);
		}
	}
}

INLINE void along_k(const struct fast_pack_source *f, const uint32_t bits, uint32_t k,
		    uint32_t steps, uint32_t n, uint8_t *out, uint64_t step)
{
	const uint32_t count = 32 / bits;
	const int64_t col = f->ns * (int64_t)bits / 8;
	uint32_t s, i, half;

	/* A line of each column; the rest word by word. */
	for (s = 0; s < steps; s += 16) {
		const uint32_t some = steps - s < 16 ? steps - s : 16;
		const uint32_t at = k + s * count;

		for (half = 0; half < 16; half += 8) {
			uint8_t *to = out + s * step + 4 * half;

			if (some == 16 && at + 16 * count <= f->k && n + half < f->n) {
				const uint8_t *from = element(f, at, n + half);
				const uint32_t cols = f->n - n - half;

				for (i = 0; i < 2; i++, from += 32, to += 8 * step)
					if (cols >= 8)
						turn(from, col, 8, bits == 4, to, step);
					else
						turn(from, col, cols, bits == 4, to, step);
				continue;
			}
			for (i = 0; i < some; i++)
				words(f, at + i * count, n + half, 8, to + i * step);
		}
	}
}

INLINE void pack(const struct fast_pack_source *f, const uint32_t bits, uint32_t k, uint32_t steps,
		 uint32_t n, uint32_t panels, uint8_t *out, uint64_t step, uint64_t panel)
{
	uint32_t p;

	if (f->ns == 1) {
		along_n(f, bits, k, steps, n, panels, out, step, panel);
		return;
	}
	for (p = 0; p < panels && f->ks == 1; p++)
		along_k(f, bits, k, steps, n + 16 * p, out + p * panel, step);
}

void fast_pack_words_avx2(const struct fast_pack_source *f, uint32_t k, uint32_t steps,
			  uint32_t n, uint32_t panels, uint8_t *out, uint64_t step, uint64_t panel)
{
	uint32_t s, p;

	if (f->ns != 1 && f->ks != 1) {
		for (s = 0; s < steps; s++)
			for (p = 0; p < panels; p++)
				words(f, k + s * (32 / f->bits), n + 16 * p, 16,
				      out + s * step + p * panel);
		return;
	}
	switch (f->bits) {
	case 32:
		pack(f, 32, k, steps, n, panels, out, step, panel);
		break;
	case 16:
		pack(f, 16, k, steps, n, panels, out, step, panel);
		break;
	case 8:
		pack(f, 8, k, steps, n, panels, out, step, panel);
		break;
	default:
		pack(f, 4, k, steps, n, panels, out, step, panel);
		break;
	}
}
