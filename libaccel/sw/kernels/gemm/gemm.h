/* SPDX-License-Identifier: MIT */
/* Internal interfaces of the GEMM. */
#ifndef LIBACCEL_SW_FAST_GEMM_H
#define LIBACCEL_SW_FAST_GEMM_H

#include "libaccel/sw/kernels/ends/epilogue.h"
#include "gemm_kernel.h"

/** GEMM_ROWS: maximum rows of a packed vector of A: those of the register tile */
#define GEMM_ROWS	14u

/** GEMM_AHEAD_ROWS: with at most this number of rows there is no time to prefetch */
#define GEMM_AHEAD_ROWS	(FAST_GEMM_AHEAD * GEMM_ROWS / 2)

/**
 * enum gemm_b - source of a strip's B
 * @GEMM_B_PACKED: the packed operand
 * @GEMM_B_PLAIN: rows of f32, not packed
 * @GEMM_B_COPY: packed into scratch memory, a strip at a time
 * @GEMM_B_DEQUANT: the same, from packed weights of fewer bits than the kernel's
 */
enum gemm_b {
	GEMM_B_PACKED,
	GEMM_B_PLAIN,
	GEMM_B_COPY,
	GEMM_B_DEQUANT
};

/**
 * struct gemm_plan - a prepared GEMM, in the program
 * @epi: epilogue
 * @fn: strip kernel
 * @sums: strip kernel that takes packed rows of A as columns, for their sums
 * @kind: types of the kernel
 * @b: source of B
 * @batches: matrices
 * @m: rows
 * @n: columns
 * @k: length of the sums
 * @mt: rows of a block, which stay in the cache for all columns of a tile
 * @tm: rows of a tile: one block, or several if B is packed for it
 * @nt: columns of a tile, a multiple of FAST_GEMM_N
 * @kt: elements of K at once, a multiple of the kernel's group
 * @a0: element (0, 0) of A
 * @b0: element (0, 0) of B; packed: the first panel
 * @d0: element (0, 0) of DST
 * @block_rows: rows of a packed vector of A in a block
 * @mtiles: tiles along M
 * @ntiles: tiles along N
 * @block_n: columns of a panel of packed B
 * @a_ms: bytes from row to row of A
 * @a_ks: bytes from column to column of A
 * @b_ks: bytes from row to row of B, unless packed
 * @b_ns: bytes from column to column of B, unless packed
 * @b_panel: bytes of a panel of packed B
 * @b_matrix: bytes of a matrix of packed B
 * @d_ms: bytes from row to row of DST
 * @strips: strips that are packed at a time
 * @raw_far: the rows of an unpacked strip would evict each other from the second-level cache
 * @ahead: B is too large for the first two levels of cache
 * @far: DST is, too
 * @row_factor: factor of the sums of rows of A in @init
 * @row_const: added to that
 * @col_factor: the same for columns of B
 * @zero_shift: @zeros: correction for @flip
 * @flip: see &struct fast_gemm_strip
 * @rows: see &struct fast_gemm_strip
 * @unit: blocks of rows are multiples of this: rows of the kernel's tiles, or 1
 * @fused: the products of the first rows pack B, or apply @flip
 * @pack_a: rows of A are packed
 * @row_sums: sums start from @row_factor x sum + @row_const
 * @col_sums: columns of B are summed
 * @zeros: columns have their own zero points, which are multiplied by sums of rows of A
 * @a_at: offset in scratch memory of packed A
 * @b_at: offset of the packed strip
 * @acc_at: offset of accumulators
 * @sum_at: offset of @mt row sums, then @nt column sums, @nt scales, @nt zero points
 */
struct gemm_plan {
	struct fast_epi epi;
	fast_gemm_fn fn;
	fast_gemm_fn sums;
	enum fast_gemm_kind kind;
	enum gemm_b b;
	uint64_t batches;
	uint32_t m;
	uint32_t n;
	uint32_t k;
	uint32_t mt;
	uint32_t tm;
	uint32_t nt;
	uint32_t kt;
	uint32_t block_rows;
	uint32_t mtiles;
	uint32_t ntiles;
	uint32_t block_n;
	uint32_t strips;
	const char *a0;
	const char *b0;
	char *d0;
	int64_t a_ms;
	int64_t a_ks;
	int64_t b_ks;
	int64_t b_ns;
	uint64_t b_panel;
	uint64_t b_matrix;
	int64_t d_ms;
	int32_t row_factor;
	int32_t row_const;
	int32_t col_factor;
	int32_t zero_shift;
	uint8_t flip;
	uint8_t rows;
	uint8_t unit;
	bool fused;
	bool raw_far;
	bool ahead;
	bool far;
	bool pack_a;
	bool row_sums;
	bool col_sums;
	bool zeros;
	uint64_t a_at;
	uint64_t b_at;
	uint64_t acc_at;
	uint64_t sum_at;
};

_Static_assert(sizeof(struct gemm_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/**
 * struct gemm_tile - the tile that is processed
 * @r: run
 * @plan: of the operation
 * @idx: logical index of the block's first element in DST
 * @a: element (first row of the block, 0) of A
 * @b: element (0, 0) of B; packed: the first panel
 * @d: the block's first element in DST
 * @m: rows of the block
 * @n: columns
 * @block_rows: rows of a packed vector of A
 * @again: the tile's columns of B have been packed
 */
struct gemm_tile {
	const struct fast_run *r;
	const struct gemm_plan *plan;
	uint32_t idx[UMA_MAX_RANK];
	const char *a;
	const char *b;
	char *d;
	uint32_t m;
	uint32_t n;
	uint32_t block_rows;
	bool again;
};

static inline const struct uma_tensor_view *gemm_view(const struct gemm_tile *t, uint32_t slot)
{
	return &t->r->prog->op->t[slot];
}

/**
 * gemm_load_strip - provide columns of B for the kernel
 * @t: tile
 * @k0: first row
 * @k: rows
 * @n0: first column of the matrix
 * @n: columns, up to FAST_GEMM_N
 * @s: out: b, b_ks, b_masked
 *
 * Return: 0, or -1 with the fault set.
 */
int gemm_load_strip(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t n0, uint32_t n,
		    struct fast_gemm_strip *s);

/* Choose kernel, sources and factors; 1: supported. */
int gemm_plan_types(struct gemm_plan *g, const struct fast_prog *p);

/* Does each matrix of a batch begin at a byte boundary? */
bool gemm_whole_bytes(const struct uma_tensor_view *b);

/** GEMM_CHUNK: rows between epilogues, in packed vectors */
#define GEMM_CHUNK	4u

/** GEMM_TILES: rows of A in the tiles of AMX; and between epilogues there */
#define GEMM_TILES	32u
#define GEMM_TILES_CHUNK	(2 * GEMM_TILES)

/* Number of parts of at most @part. */
static inline uint32_t gemm_count(uint32_t all, uint32_t part)
{
	return (all + part - 1) / part;
}

/* Round up to whole cache lines. */
static inline uint64_t gemm_round(uint64_t v)
{
	return (v + 63) / 64 * 64;
}

/* gemm_cut.c: to be called in this order; each uses results of the previous one */
void gemm_cut_k(struct gemm_plan *g, const struct fast_prog *p);
void gemm_cut_tiles(struct gemm_plan *g, const struct fast_prog *p);
/* Assign scratch memory; false: there is not enough. */
bool gemm_place(struct gemm_plan *g);

#endif /* LIBACCEL_SW_FAST_GEMM_H */
