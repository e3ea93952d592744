/* SPDX-License-Identifier: MIT */
/*
 * What the files of the class of grouped.h share.
 */
#ifndef LIBACCEL_SW_FAST_GROUPED_PLAN_H
#define LIBACCEL_SW_FAST_GROUPED_PLAN_H

#include <string.h>
#include "grouped.h"

/** GROUPED_STRIP: columns of both vectors, at most */
#define GROUPED_STRIP	32u
/** GROUPED_ROWS: rows of A for a tile of the first phase */
#define GROUPED_ROWS	8u
/** GROUPED_ZERO: zero point of bytes with which all sums fit */
#define GROUPED_ZERO	255

/**
 * struct grouped_plan - how an operation is done
 * @k: kernels
 * @m: rows
 * @n: columns
 * @depth: length of the sums
 * @group: elements of K of a group
 * @groups: number
 * @bits: of an element of B
 * @bn: columns of a panel of packed B
 * @tm: rows of a tile
 * @nt: columns of a tile
 * @mtiles: tiles along M
 * @ntiles: tiles along N
 * @block: groups that are expanded at a time
 * @flip: bits of B to turn over
 * @b_shift: what that adds to B
 * @a_shift: what turning A over adds to it
 * @row: bytes of a row of A with all that belongs to it
 * @meta: where that begins: sums, raw sums, zero points, scales, each of all groups
 * @words_at: in scratch memory
 * @blocks_at: likewise, and what follows
 * @scale_at: scales of a strip
 * @zero_at: zero points
 * @sum_at: sums of columns
 * @min_at: minima
 * @a_at: rows of A, where the only tile brings them in itself
 * @along: columns of integers lie along K, and are read like blocks
 * @even_odd: of each eight elements of K those with even numbers come first
 * @in_tile: it does
 * @rows: rows of A, all matrices'
 * @room: rows that there is memory for: one of ones, and what few rows are rounded up to
 * @size: B is made of blocks: elements of one, else 0
 * @own: elements of K that have a scale in a block
 * @mins: columns have minima
 * @few: few rows meet columns of blocks as these are turned
 * @nibbles: few rows meet packed columns of 4-bit numbers where these lie
 * @tiles: rows are multiplied with tiles, as far as they fill these
 * @zeros: there are products of zero points
 * @row_scales: A has a scale for each row
 * @group_scales: for each group
 * @a_group: elements of K that A has a scale for, or is given one for
 * @epi: where results go
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
	uint32_t scale_at;
	uint32_t zero_at;
	uint32_t sum_at;
	uint32_t min_at;
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
 * @n: columns that there are
 * @wild: a zero point is out of reach of what is multiplied
 */
struct grouped_strip {
	uint32_t idx[UMA_MAX_RANK];
	uint64_t batch;
	uint32_t n0;
	uint32_t n;
	bool wild;
};

/* What stands behind a row's words */
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

/* Rows of A, one of ones behind them. */
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

/* The scale of a whole operand, where it has one. */
static inline float tensor_scale(const struct uma_tensor_view *t)
{
	float x = 1;

	if (t->quant == UMA_QUANT_TENSOR)
		memcpy(&x, &t->scale, 4);
	return x;
}

/* Words of @k elements of A and B. */
static inline uint32_t words_of(const struct grouped_plan *p, uint32_t k)
{
	return (uint32_t)uma_divup(k, p->k->word);
}

/**
 * grouped_load_rows - rows of A as they are multiplied, and what stands behind them
 * @r: run
 * @tile: of GROUPED_ROWS rows; the last one brings the row of ones too
 *
 * Return: 0, or -1 with the fault set.
 */
int grouped_load_rows(const struct fast_run *r, uint32_t tile);

/**
 * grouped_columns_of - where columns of a strip that lie along K begin
 * @r: run
 * @s: strip
 * @col: out: two vectors' columns; those that are not there may be any
 *
 * Return: bytes from a strip to the next.
 */
int64_t grouped_columns_of(const struct fast_run *r, struct grouped_strip *s, const uint8_t **col);

/**
 * grouped_load_columns - columns of B as they are multiplied, with their tables
 * @r: run
 * @s: strip
 * @g0: first group
 * @count: groups
 *
 * Return: 0, or -1 with the fault set.
 */
int grouped_load_columns(const struct fast_run *r, struct grouped_strip *s, uint32_t g0,
			 uint32_t count);

/* The number that an element of A or B is, of matrix @batch, which @idx is in. */
float grouped_load_element(const struct fast_run *r, uint32_t slot, uint64_t batch,
			   const uint32_t *idx);

#endif /* LIBACCEL_SW_FAST_GROUPED_PLAN_H */
