/* SPDX-License-Identifier: MIT */
/*
 * Packing columns of a matrix into blocks: a word of 32 bits has the elements of K that a step
 * of a product uses of one column; the words of columns are contiguous.
 */
#ifndef LIBACCEL_SW_FAST_PACK_H
#define LIBACCEL_SW_FAST_PACK_H

#include <stdint.h>

/**
 * struct fast_pack_source - a matrix
 * @p: element (0, 0)
 * @odd: 4-bit numbers: the element is the second of its byte; then neither rows nor columns are
 *	contiguous
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
 * fast_pack_words_avx2 - pack columns as words
 * @from: matrix
 * @k: first row, a multiple of a word's elements
 * @steps: words of each column
 * @n: first column, a multiple of 16
 * @panels: number of consecutive groups of 16 columns in @out
 * @out: the first word
 * @step: bytes from a column's word to its next
 * @panel: bytes from one group of columns to the next
 */
void fast_pack_words_avx2(const struct fast_pack_source *from, uint32_t k, uint32_t steps,
			  uint32_t n, uint32_t panels, uint8_t *out, uint64_t step, uint64_t panel);

#endif /* LIBACCEL_SW_FAST_PACK_H */
