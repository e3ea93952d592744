/* SPDX-License-Identifier: MIT */
/*
 * Products with few rows: what the class and its kernels agree on.
 *
 * B is read once, in the order in which it lies: panels of blocks, a block one
 * or two vectors of columns with block_k elements of K side by side in each. A is
 * brought beforehand into blocks of rows in which the block_k elements that a
 * step needs follow each other, row after row, in the type that is multiplied.
 */
#ifndef LIBACCEL_SW_FAST_GEMV_H
#define LIBACCEL_SW_FAST_GEMV_H

#include "libaccel/sw/kernels/ends/epilogue.h"
#include "libaccel/sw/kernels/fast.h"

/* What is multiplied with what */
enum gemv_kind {
	GEMV_F32,	/* binary32 by binary32 */
	GEMV_BF16,	/* binary32 (from bf16) by bf16, widened: exact products */
	GEMV_BF16_DOT,	/* bf16 by bf16 in pairs */
	GEMV_F16,	/* binary32 (from binary16) by binary16 */
	GEMV_W8,	/* binary32 by bytes */
	GEMV_W8_ZERO,	/* each column with zero points of its own */
	GEMV_W4,	/* binary32 by 4-bit numbers */
	GEMV_W4_ZERO,
	GEMV_I8,	/* s8 by bytes that count as unsigned, or u8 by signed ones */
	GEMV_I8_U,
	GEMV_I4,
	GEMV_I4_U,
	GEMV_I8_MADD,	/* without dot products of bytes: as pairs of s16 */
	GEMV_I4_MADD,
	GEMV_KINDS
};

/** GEMV_NV: most vectors of columns at once */
#define GEMV_NV		4
/** GEMV_MR: most rows of a block */
#define GEMV_MR		8

/**
 * struct gemv_call - a block of rows by a few vectors of columns, some of K
 * @a: rows, a step after the other
 * @b: vectors
 * @ahead: what to fetch meanwhile, as far from here as the step at hand is from @b
 * @ahead_count: of these
 * @accumulate: add to what is in @c
 * @b_step: bytes from a step to the next
 * @steps: number of steps, block_k of K each
 * @group_steps: steps of a group of scales
 * @flip: bits of B to turn over
 * @c: sums, binary32 or s32
 * @c_row: distance of rows there
 * @table: W4: values of the 16 numbers
 * @zero: W8, W4: zero point of all columns, which @table has too; else 0
 * @is_signed: W8, W4: B is
 * @scales: W8, W4: of the columns, group after group
 * @half_scales: they are binary16, else binary32
 * @zeros: W8_ZERO, W4_ZERO: zero points, s32, as @scales
 * @scale_row: distance of groups there, in entries
 */
struct gemv_call {
	const void *a;
	const uint8_t *b[GEMV_NV];
	const uint8_t *ahead[GEMV_NV];
	uint32_t ahead_count;
	uint32_t accumulate;
	size_t b_step;
	uint32_t steps;
	uint32_t group_steps;
	uint32_t flip;
	uint32_t is_signed;
	void *c;
	size_t c_row;
	const float *table;
	float zero;
	const uint8_t *scales;
	const int32_t *zeros;
	size_t scale_row;
	uint32_t half_scales;
};

typedef void (*gemv_fn)(const struct gemv_call *g);

/**
 * struct gemv_set - kernels of a kind
 * @vl: columns of a vector
 * @mr: rows of a block, at most
 * @wide: vectors of columns of the second kernel, for 1 .. @mr rows
 * @fn: kernels for as many rows: one vector, @wide vectors
 * @panel: where @wide is three: two vectors, else NULL; slower from a cache, and
 *	faster from memory
 */
struct gemv_set {
	uint8_t vl;
	uint8_t mr;
	uint8_t wide[GEMV_MR];
	gemv_fn fn[GEMV_MR][2];
	gemv_fn panel[GEMV_MR];
};

/* The kernels of a set of instructions, NULL: it has none of this kind */
extern const struct gemv_set *const gemv_avx2[GEMV_KINDS];
extern const struct gemv_set *const gemv_avx512[GEMV_KINDS];
extern const struct gemv_set *const gemv_vnni[GEMV_KINDS];
extern const struct gemv_set *const gemv_bf16[GEMV_KINDS];

/* Bytes of A's form for block_k elements of K. */
static inline uint32_t gemv_a_bytes(enum gemv_kind kind, uint32_t block_k)
{
	switch (kind) {
	case GEMV_BF16_DOT:
	case GEMV_I8_MADD:
	case GEMV_I4_MADD:
		return 2 * block_k;
	case GEMV_I8:
	case GEMV_I8_U:
	case GEMV_I4:
	case GEMV_I4_U:
		return block_k;
	default:
		return 4 * block_k;
	}
}

/**
 * struct gemv_plan - how an operation is done
 * @k: length of the sums
 * @m: rows
 * @n: columns
 * @rows: rows with one of ones, where that is asked for, and with padding
 * @blocks: of rows
 * @kind: &enum gemv_kind
 * @bk: elements of K of a step
 * @bn: columns of a panel
 * @steps: of a sum
 * @kc: steps of a stretch
 * @tile: columns of a tile
 * @tiles: tiles of a matrix
 * @group_steps: steps of a group
 * @groups: number of groups, 0: no scales here
 * @flip: bits of B to turn over
 * @zero: what that adds to B
 * @in_place: A is used where it lies
 * @in_tile: A is brought in by each tile
 * @tables_in_place: scales and zero points of groups are used where they lie
 * @a_size: bytes of A's form
 * @scales_at: in scratch memory
 * @zeros_at: in scratch memory
 * @a_at: in scratch memory
 * @has_zeros: scales come with zero points
 * @has_mins: with minima, which take their place in scratch memory
 * @set: kernels
 * @epi: where results go
 */
struct gemv_plan {
	uint32_t k, m, n;
	uint32_t rows;
	uint32_t blocks;
	uint32_t kind;
	uint32_t bk, bn;
	uint32_t steps;
	uint32_t kc;
	uint32_t tile;
	uint32_t tiles;
	uint32_t group_steps;
	uint32_t groups;
	uint32_t flip;
	int32_t zero;
	uint8_t in_place;
	uint8_t in_tile;
	uint8_t tables_in_place;
	uint8_t has_zeros;
	uint8_t has_mins;
	uint64_t a_size;
	uint32_t scales_at, zeros_at, a_at;
	const struct gemv_set *set;
	struct fast_epi epi;
};

_Static_assert(sizeof(struct gemv_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static inline const struct gemv_plan *gemv_plan_of(const struct fast_run *r)
{
	return (const void *)r->prog->priv;
}

static inline const struct uma_tensor_view *gemv_view(const struct fast_run *r, uint32_t slot)
{
	return &r->prog->op->t[slot];
}

/* Sums of the rows of A, behind its form. */
static inline int32_t *gemv_sums(const struct gemv_plan *p, uint8_t *a)
{
	return (int32_t *)(a + p->a_size - uma_roundup(4ul * p->rows, 64));
}

void gemv_matrix_index(const struct fast_run *r, uint32_t batch, uint32_t *idx);
uint32_t gemv_block_rows(const struct gemv_plan *p, uint32_t block, uint32_t *first);
int32_t gemv_sum_of(const struct fast_run *r, const uint8_t *raw, uint32_t n);
int gemv_bring_a(const struct fast_run *r, uint32_t batch, uint32_t block, uint8_t *to);
int gemv_bring_tables(const struct fast_run *r, uint32_t batch, uint32_t n0, uint32_t n);

#endif /* LIBACCEL_SW_FAST_GEMV_H */
