/* SPDX-License-Identifier: MIT */
/* Internal interfaces of class grouped. */
#ifndef LIBACCEL_SW_FAST_GROUPED_PLAN_H
#define LIBACCEL_SW_FAST_GROUPED_PLAN_H

#include <string.h>
#include "grouped.h"

/** GROUPED_STRIP: maximum number of columns of both vectors */
#define GROUPED_STRIP	32u
/** GROUPED_ROWS: rows of A in a tile of the first phase */
#define GROUPED_ROWS	8u
/** GROUPED_ZERO: zero point of bytes up to which all sums fit */
#define GROUPED_ZERO	255

/**
 * struct grouped_plan - a prepared operation
 * @k: kernels
 * @m: rows
 * @n: columns
 * @depth: length of the sums
 * @group: elements of K in a group
 * @groups: number of groups
 * @bits: of an element of B
 * @bn: columns of a panel of packed B
 * @tm: rows of a tile
 * @nt: columns of a tile
 * @mtiles: tiles along M
 * @ntiles: tiles along N
 * @block: groups that are expanded at a time
 * @flip: bits of B that are inverted
 * @b_shift: what that adds to B
 * @a_shift: what inverting bits of A adds to it
 * @row: bytes of a row of A with all that belongs to it
 * @meta: offset in it: sums, raw sums, zero points, scales, each for all groups
 * @words_at: offset in scratch memory of words
 * @blocks_at: offset of blocks
 * @bf16_at: offset of words of bf16
 * @scale_at: offset of scales of a strip
 * @zero_at: offset of zero points
 * @sum_at: offset of sums of columns
 * @min_at: offset of minima
 * @few_at: offset of rows of A in the order of kernels of few rows
 * @a_at: offset of rows of A that the only tile converts itself
 * @along: columns of integers are contiguous along K, and are read like blocks
 * @even_odd: of each eight elements of K the ones with even numbers come first
 * @in_tile: the only tile converts A
 * @rows: rows of A, of all matrices
 * @room: rows in memory: including one of ones
 * @size: elements of a block if B has blocks, else 0
 * @own: elements of K that have a scale in a block
 * @mins: columns have minima
 * @few: few rows are multiplied by columns of blocks directly after transposing these
 * @nibbles: few rows are multiplied by packed columns of 4-bit numbers without expanding these
 * @bf16: all rows are multiplied by AMX tiles, with A and the values of B rounded to bf16
 * @tiles: AMX tiles multiply the rows that fill them
 * @strips: bf16: groups are long enough for the strips of AMX
 * @zeros: there are products of zero points
 * @row_scales: A has a scale for each row
 * @group_scales: A has a scale for each group
 * @a_group: elements of K that share a scale of A, given or computed
 * @epi: epilogue
 */
struct grouped_plan {
	const struct grouped_kernels *k;
	uint32_t m, n, depth;
	uint32_t group;
	uint32_t groups;
	uint32_t bits;
	uint32_t bn;
	uint32_t tm, nt;
	uint32_t mtiles, ntiles;
	uint32_t block;
	uint32_t flip;
	int32_t b_shift;
	int32_t a_shift;
	uint64_t row;
	uint32_t meta;
	uint32_t words_at;
	uint32_t blocks_at;
	uint32_t bf16_at;
	uint32_t scale_at;
	uint32_t zero_at;
	uint32_t sum_at;
	uint32_t min_at;
	uint32_t few_at;
	uint32_t a_at;
	uint64_t rows;
	uint64_t room;
	uint32_t size;
	uint32_t own;
	bool along;
	bool even_odd;
	bool in_tile;
	bool mins;
	bool few;
	bool nibbles;
	bool tiles;
	bool strips;
	bool bf16;
	bool zeros;
	bool row_scales;
	bool group_scales;
	uint32_t a_group;
	struct fast_epi epi;
};

_Static_assert(sizeof(struct grouped_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/**
 * struct grouped_strip - two vectors of columns
 * @idx: logical index of the first in B
 * @batch: matrix
 * @n0: first column
 * @n: number of columns
 * @wild: a zero point is out of the kernels' range
 * @col: columns of blocks, once @found
 * @found: they have been looked for
 */
struct grouped_strip {
	uint32_t idx[UMA_MAX_RANK];
	uint64_t batch;
	uint32_t n0;
	uint32_t n;
	bool wild;
	const uint8_t *col[GROUPED_STRIP];
	bool found;
};

/**
 * struct grouped_ahead - columns that are expanded next, and prefetched meanwhile
 * @p: first byte of the next column
 * @step: bytes from column to column
 * @columns: number of all columns
 * @lines: cache lines of a column; 0: nothing is prefetched
 * @line: next line of the column
 * @done: lines of all columns that have been prefetched
 */
struct grouped_ahead {
	const uint8_t *p;
	int64_t step;
	uint32_t columns;
	uint32_t lines;
	uint32_t line;
	uint32_t done;
};

/* Data that follow a row's words */
enum grouped_meta { SUM, RAW, ZERO, SCALE, MIN, METAS };

static inline const struct grouped_plan *plan_of(const struct fast_run *r)
{
	return (const void *)r->prog->priv;
}

static inline const struct uma_tensor_view *view(const struct fast_run *r, uint32_t slot)
{
	return &r->prog->op->t[slot];
}

static inline uint32_t group_len(const struct grouped_plan *p, uint32_t g)
{
	return UMA_MIN(p->group, p->depth - g * p->group);
}

/* Rows of A, followed by one of ones. */
static inline uint8_t *row_at(const struct fast_run *r, uint64_t i)
{
	const struct grouped_plan *p = plan_of(r);

	return (p->in_tile ? (uint8_t *)r->scratch + p->a_at : (uint8_t *)r->work) + i * p->row;
}

static inline void *meta(const struct grouped_plan *p, uint8_t *row, enum grouped_meta which)
{
	return row + p->meta + 4ul * p->groups * which;
}

static inline void batch_index(const struct fast_run *r, uint64_t batch, uint32_t *idx)
{
	const struct uma_tensor_view *d = view(r, UMA_SLOT_DST);
	uint32_t i;

	memset(idx, 0, UMA_MAX_RANK * sizeof(*idx));
	for (i = d->rank - 2u; i-- > 0; batch /= d->dims[i])
		idx[i] = (uint32_t)(batch % d->dims[i]);
}

/* The scale of a whole operand, if it has one. */
static inline float tensor_scale(const struct uma_tensor_view *t)
{
	float x = 1;

	if (t->quant == UMA_QUANT_TENSOR)
		memcpy(&x, &t->scale, 4);
	return x;
}

/* Number of words of @k elements of A and B. */
static inline uint32_t words_of(const struct grouped_plan *p, uint32_t k)
{
	return (uint32_t)uma_divup(k, p->k->word);
}

/**
 * grouped_load_rows - convert rows of A, with the data that follow them
 * @r: run
 * @tile: of GROUPED_ROWS rows; the last one also writes the row of ones
 *
 * Return: 0, or -1 with the fault set.
 */
int grouped_load_rows(const struct fast_run *r, uint32_t tile);

/**
 * grouped_columns_of - addresses of columns of a strip that are contiguous along K
 * @r: run
 * @s: strip
 * @col: out: two vectors' columns; those beyond the last may be any valid ones
 *
 * Return: bytes from a strip to the next.
 */
int64_t grouped_columns_of(const struct fast_run *r, struct grouped_strip *s, const uint8_t **col);

/**
 * grouped_ahead_of - columns of a strip, or of the next one, that are expanded next
 * @r: run
 * @s: strip
 * @g0: first group; none is left: those of the next strip
 *
 * They are read in many streams, which processors do not prefetch by themselves.
 */
struct grouped_ahead grouped_ahead_of(const struct fast_run *r, struct grouped_strip *s,
				      uint32_t g0);

/* Prefetch a @part of @parts of them, of which the previous ones have been. */
static inline void grouped_fetch(struct grouped_ahead *a, uint32_t part, uint32_t parts)
{
	const uint32_t end = (uint32_t)((uint64_t)a->columns * a->lines * (part + 1) / parts);

	for (; a->done < end; a->done++) {
		__builtin_prefetch(a->p + 64ul * a->line, 0, 2);
		if (++a->line == a->lines) {
			a->line = 0;
			a->p += a->step;
		}
	}
}

/**
 * grouped_load_columns - expand columns of B, with their tables
 * @r: run
 * @s: strip
 * @g0: first group
 * @count: groups
 *
 * Return: 0, or -1 with the fault set.
 */
int grouped_load_columns(const struct fast_run *r, struct grouped_strip *s, uint32_t g0,
			 uint32_t count);

/* The value of an element @idx of A or B, of matrix @batch. */
float grouped_load_element(const struct fast_run *r, uint32_t slot, uint64_t batch,
			   const uint32_t *idx);

#endif /* LIBACCEL_SW_FAST_GROUPED_PLAN_H */
