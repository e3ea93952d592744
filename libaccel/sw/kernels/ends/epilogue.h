/* SPDX-License-Identifier: MIT */
/*
 * The fused epilogue: from a block of accumulators to DST.
 *
 * It has the model's steps and roundings (Documentation/numerics.rst), and therefore the same
 * bits, except for activations that use an exponential. The steps, for a vector of columns at a
 * time: zero points, conversion and scales of integer sums, alpha, beta x C, scale, bias,
 * residual, activation, residual after it, conversion or quantisation, store. Epilogues without
 * a vector form use the model's functions of rows.
 */
#ifndef LIBACCEL_SW_FAST_EPILOGUE_H
#define LIBACCEL_SW_FAST_EPILOGUE_H

#include "libaccel/sw/kernels/fast.h"

/**
 * struct fast_epi_operand - an operand of the epilogue, by its slot
 * @ms: stride of the rows of a block, in elements
 * @ns: stride of the columns
 */
struct fast_epi_operand {
	int64_t ms;
	int64_t ns;
};

/**
 * struct fast_epi - description of an epilogue; created in prepare() of a class
 * @t: operands by slot. A class that merges dimensions into rows or columns may change these if
 *	the vector form is used
 * @row: dimension of DST along the rows of a block
 * @col: dimension along its columns
 * @steps: EPI_*
 * @integer: accumulators are s32, else f32
 * @exact: integers into s32, without rounding
 * @vector: there is a vector form
 * @direct: DST has the type of the accumulators and contiguous columns: sums may be computed
 *	there and fast_epi_block() skipped; for integers only if there are no zero points
 * @divide: quantisation must divide, because the reciprocal of the scale is not accurate enough
 */
struct fast_epi {
	struct fast_epi_operand t[UMA_SLOT_RESIDUAL + 1];
	uint32_t row;
	uint32_t col;
	uint32_t steps;
	bool integer;
	bool exact;
	bool vector;
	bool direct;
	bool divide;
};

/**
 * fast_epi_init - describe an operation's epilogue
 * @e: out
 * @p: operation, a GEMM or a convolution
 * @row: dimension of DST along the rows of blocks
 * @col: dimension along their columns
 * @integer: accumulators are s32
 *
 * All epilogues are supported.
 */
void fast_epi_init(struct fast_epi *e, const struct fast_prog *p, uint32_t row, uint32_t col,
		   bool integer);

/**
 * struct fast_epi_block - a block of accumulators
 * @acc: f32 or s32; overwritten
 * @ld: stride of the rows in elements
 * @m: rows
 * @n: columns, at most UMA_ROW_MAX
 * @idx: logical index of the first element in DST
 * @row_add: integers: added to the sums of each row modulo 2^32, or NULL
 * @col_add: the same for columns
 * @col_zero: integers: times a row's @row_sum is subtracted from the sums of each column,
 *	modulo 2^32, or NULL
 * @row_sum: for each row, if there is @col_zero
 * @scale: integers that are not exact: factor of the sums, see fast_epi_scales()
 * @scale_ms: stride of the scales from row to row, 0 or 1
 * @scale_ns: stride of the scales from column to column, 0 or 1
 *
 * The sums after all additions must be within s32.
 */
struct fast_epi_block {
	void *acc;
	int64_t ld;
	uint32_t m;
	uint32_t n;
	uint32_t idx[UMA_MAX_RANK];
	const int32_t *row_add;
	const int32_t *col_add;
	const int32_t *col_zero;
	const int32_t *row_sum;
	const float *scale;
	uint32_t scale_ms;
	uint32_t scale_ns;
};

/**
 * fast_epi_block - run the epilogue of a block and store it
 * @r: run
 * @e: epilogue of the operation
 * @b: block
 *
 * Uses rows_scratch of @r. Return: 0, or -1 with the fault set.
 */
int fast_epi_block(const struct fast_run *r, const struct fast_epi *e,
		   const struct fast_epi_block *b);

/**
 * fast_epi_scales - products of the scales of A and B, except for those of A's rows
 * @p: operation
 * @first: first channel
 * @count: number of channels; 1 is sufficient unless B is quantised by channel
 * @out: the products
 */
void fast_epi_scales(const struct fast_prog *p, uint32_t first, uint32_t count, float *out);

/*
 * Is it a product of bytes with exact integer sums, except for scales of A's rows? These are
 * then an additional step of the epilogue.
 */
static inline bool fast_epi_rows(const struct uma_op *op)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *b = &op->t[UMA_SLOT_B];

	return op->opcode == UMA_OP_GEMM && uma_is_int8(a->dtype) &&
	       a->quant == UMA_QUANT_CHANNEL && !a->zero_addr && b->quant != UMA_QUANT_GROUP &&
	       !uma_is_block(b->dtype);
}

/* Does every channel have its own scale? */
static inline bool fast_epi_by_channel(const struct fast_prog *p)
{
	return p->op->t[UMA_SLOT_B].quant == UMA_QUANT_CHANNEL;
}

/**
 * fast_epi_vector_avx512 - the vector form, for fast_epi_block()
 * @p: operation
 * @e: has a vector form
 * @b: block
 */
void fast_epi_vector_avx512(const struct fast_prog *p, const struct fast_epi *e,
			    const struct fast_epi_block *b);
/** fast_epi_vector_avx2 - likewise */
void fast_epi_vector_avx2(const struct fast_prog *p, const struct fast_epi *e,
			  const struct fast_epi_block *b);

/* Steps */
#define EPI_ALPHA	(1u << 0)
#define EPI_C		(1u << 1)
#define EPI_SCALE	(1u << 2)
#define EPI_BIAS	(1u << 3)
#define EPI_RESIDUAL	(1u << 4)
#define EPI_RELU	(1u << 5)
#define EPI_ACT		(1u << 6)	/* any other activation */
#define EPI_POST	(1u << 7)	/* residual after the activation */
#define EPI_ROWS	(1u << 8)	/* scales of A's rows, after those of the columns */
#define EPI_OPERANDS	(EPI_C | EPI_SCALE | EPI_BIAS | EPI_RESIDUAL | EPI_POST)

#endif /* LIBACCEL_SW_FAST_EPILOGUE_H */
