/* SPDX-License-Identifier: MIT */
/*
 * Columns of a matrix as blocks: a word of 32 bits holds the elements of K that a
 * step of a product takes of one column, columns side by side.
 */
#ifndef LIBACCEL_SW_FAST_PACK_H
#define LIBACCEL_SW_FAST_PACK_H

#include <stdint.h>

/**
 * struct fast_pack_source - a matrix
 * @p: element (0, 0)
 * @odd: of 4 bits it is the second of its byte; then neither rows nor columns have neighbours
 * @ks: elements from row to row (along K)
 * @ns: elements from column to column
 * @k: rows
 * @n: columns; elements beyond @k and @n become 0
 * @bits: of an element: 32, 16, 8 or 4
 */
struct fast_pack_source {
	const uint8_t *p;
	int64_t ks;
	int64_t ns;
	uint32_t k;
	uint32_t n;
	uint32_t bits;
	uint32_t odd;
};

/**
 * fast_pack_words_avx2 - columns as words
 * @from: matrix
 * @k: first row, a multiple of a word's elements
 * @steps: words of each column
 * @n: first column, a multiple of 16
 * @panels: columns that follow each other in @out, sixteens of them
 * @out: the first word
 * @step: bytes from a column's word to its next
 * @panel: bytes from one 16 columns' words to the next
 */
void fast_pack_words_avx2(const struct fast_pack_source *from, uint32_t k, uint32_t steps,
			  uint32_t n, uint32_t panels, uint8_t *out, uint64_t step, uint64_t panel);

#endif /* LIBACCEL_SW_FAST_PACK_H */
