// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The chips that the device can be configured as.
 *
 * They differ like the generations of such chips: bf16 on the matrix unit and 4-bit
 * weights on the neural engine from the third generation on, dynamic shapes from the
 * second on, limits of dimensions of the neural engine, clocks, bandwidths, and numbers
 * of engines. Documentation/model.rst has the source of each figure; rates and power are
 * modelled, not measured.
 */
#include "uma_internal.h"

#define T(x)		(1u << UMA_DTYPE_##x)
#define T_FLOAT		(T(F32) | T(F16) | T(BF16))
#define T_INT8		(T(S8) | T(U8))
#define T_INT4		(T(S4) | T(U4))
#define T_BLOCKS	(T(Q8_0) | T(Q4_0) | T(Q4_1) | T(Q4_K) | T(Q6_K))
#define T_ALL		(T_FLOAT | T(S32) | T_INT8 | T_INT4)

#define Q_N		(1u << UMA_QUANT_NONE)
#define Q_T		(Q_N | 1u << UMA_QUANT_TENSOR)
#define Q_TC		(Q_T | 1u << UMA_QUANT_CHANNEL)
#define Q_TCG		(Q_TC | 1u << UMA_QUANT_GROUP)
/* Also with a minimum for each group */
#define Q_TCGM		(Q_TCG | 1u << UMA_QUANT_GROUP_MIN)
#define Q(a, b, d, x)	((a) | (b) << 8 | (d) << 16 | (x) << 24)

#define L_S		(1u << UMA_LAYOUT_STRIDED)
#define L_P		(1u << UMA_LAYOUT_GEMM_B)
#define L_P24		(1u << UMA_LAYOUT_GEMM_B24)

#define ACT(x)		(1u << UMA_ACT_##x)
#define ACTS_ALL	((1u << UMA_ACT_COUNT) - 1)
/* Activations of an outer-product unit, by its vector instructions */
#define ACTS_SIMPLE	(ACT(NONE) | ACT(RELU) | ACT(CLAMP) | ACT(LEAKY_RELU))
#define UNARIES_ALL	((1u << UMA_UNARY_COUNT) - 1)
#define BINARIES_ALL	((1u << UMA_BINARY_COUNT) - 1)

#define CONV(x)		(1u << UMA_CONV_##x)
#define CONVS_SUMS	(CONV(DIRECT) | CONV(IMPLICIT))
/* Without F(6 x 6), whose transforms need more range and precision than 16 bits have */
#define CONVS_16	(CONV(WINOGRAD_2) | CONV(WINOGRAD_4) | UMA_CONV_CAP_DILATION)
#define CONVS_32	(CONVS_16 | CONV(WINOGRAD_6))

#define U(x)		(1u << UMA_UNARY_##x)
/* By table lookup, on the neural engine */
#define UNARIES_LUT	(U(ACT) | U(ABS) | U(NEG) | U(SQRT) | U(RSQRT) | U(RECIP) | \
			 U(EXP) | U(LOG) | U(ERF) | U(SQUARE))
#define BIN(x)		(1u << UMA_BINARY_##x)
#define BINARIES_PE	(BIN(ADD) | BIN(SUB) | BIN(MUL) | BIN(MAX) | BIN(MIN) | \
			 BIN(EQ) | BIN(NE) | BIN(LT) | BIN(LE) | BIN(GT) | BIN(GE))

/* Known when a network is compiled: no pages and no lengths */
#define ATTN_STATIC	(UMA_ATTN_CAUSAL | UMA_ATTN_WINDOW | UMA_ATTN_OFFSET | UMA_ATTN_MASK)

#define POOL(x)		(1u << UMA_POOL_##x)
#define POOLS_ALL	((1u << UMA_POOL_COUNT) - 1)
#define RESIZE(x)	(1u << UMA_RESIZE_##x)
#define GATHERS_ALL	((1u << UMA_GATHER_COUNT) - 1)
#define SCATTERS_ALL	(((1u << UMA_SCATTER_COUNT) - 1) |		\
			 (UMA_SCATTER_CAP_REDUCE(UMA_SCATTER_REDUCE_COUNT) - \
			  UMA_SCATTER_CAP_REDUCE(0)))

/*
 * Rows of a block for each width of elements; for all of them a block has a multiple
 * of 64 bytes
 */
#define BK_F32		1
#define BK_16		2
#define BK_8		4
#define BK_4		8

#define RED(x)		(1u << UMA_REDUCE_##x)
#define REDUCE_ALL	((1u << UMA_REDUCE_COUNT) - 1)
#define REDUCE_ARGS	(RED(ARG_MAX) | RED(ARG_MIN))
#define REDUCE_PE	(RED(SUM) | RED(MEAN) | RED(MAX) | RED(MIN) | RED(L1) | \
			 RED(L2) | RED(SUM_SQUARE))
#define NORM_ALL	(((1u << UMA_NORM_COUNT) - 1) | \
			 UMA_NORM_CAP_FLAGS(UMA_NORM_FLAGS_MASK))
#define SOFTMAX_ALL	((1u << UMA_SOFTMAX_COUNT) - 1)

#define DIM_BIG		(1u << 24)
/* For elementwise operations and reductions; positions are s32 */
#define DIM_MOST	0x7fffffffu
/* Up to this length, sums of products of bytes fit in 32 bits exactly. */
#define K_BYTES		65536u
/* The rounding error of sums grows with their length. */
#define K_FLOAT		(1u << 24)

#define ROW_NOP {							\
	.opcode = UMA_LE16(UMA_OP_NOP), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .macs_per_cycle = UMA_LE32(1),			\
}

#define ROW_GEMM_FN(fn, lay, a, b, d, quant, act, dim, k, al, bk, bn, macs) { \
	.opcode = UMA_LE16(UMA_OP_GEMM), .rank_max = UMA_MAX_RANK,	\
	.layouts = lay, .a_dtypes = UMA_LE32(a), \
	.funcs = UMA_LE32(UMA_GEMM_CAP_EXPERTS | (fn)),			\
	.b_dtypes = UMA_LE32(b), .d_dtypes = UMA_LE32(d),		\
	.quants = UMA_LE32(quant), .epilogue = UMA_LE32(UMA_EPI_MASK),	\
	.acts = UMA_LE32(act), .dim_max = UMA_LE32(dim),		\
	.k_max = UMA_LE32(k), .align = UMA_LE32(al),			\
	.block_k = UMA_LE16(bk), .block_n = UMA_LE16(bn),		\
	.macs_per_cycle = UMA_LE32(macs),				\
}

#define ROW_GEMM_OF(...)	ROW_GEMM_FN(0, __VA_ARGS__)
/* A may be rounded to 8 bits (a_group); the permission to round to bf16 instead is not used */
#define ROW_GEMM_ROUND(...)						\
	ROW_GEMM_FN(UMA_GEMM_CAP_A_GROUP | UMA_GEMM_CAP_BF16, __VA_ARGS__)

/* SOFTMAX, NORM, REDUCE, TOPK, SCAN and DYNQUANT: a line may be as long as a dimension. */
#define ROW_LINES(op, a, d, fn, quant, epi, act, dim, al, rate) {	\
	.opcode = UMA_LE16(UMA_OP_##op), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.d_dtypes = UMA_LE32(d), .funcs = UMA_LE32(fn),			\
	.quants = UMA_LE32(quant), .epilogue = UMA_LE32(epi),		\
	.acts = UMA_LE32(act), .dim_max = UMA_LE32(dim),		\
	.k_max = UMA_LE32(dim), .align = UMA_LE32(al),			\
	.macs_per_cycle = UMA_LE32(rate),				\
}

#define ROW_KV_WRITE(a, d, fn, dim, al, rate) {				\
	.opcode = UMA_LE16(UMA_OP_KV_WRITE), .rank_max = 4,		\
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.d_dtypes = UMA_LE32(d), .funcs = UMA_LE32(fn),			\
	.quants = UMA_LE32(Q(Q_N, 0, Q_N, 0)), .dim_max = UMA_LE32(dim), \
	.k_max = UMA_LE32(UMA_ATTN_DIM_MAX), .align = UMA_LE32(al),	\
	.macs_per_cycle = UMA_LE32(rate),				\
}

#define ROW_GEMM(...)	ROW_GEMM_OF(L_S | L_P, __VA_ARGS__)
/* Also with 2:4 sparse B */
#define ROW_GEMM24(...)	ROW_GEMM_OF(L_S | L_P | L_P24, __VA_ARGS__)

#define ROW_PACK_OF(lay, a, dim, al, bk, bn, rate) {			\
	.opcode = UMA_LE16(UMA_OP_PACK), .rank_max = UMA_MAX_RANK,	\
	.layouts = lay, .a_dtypes = UMA_LE32(a),			\
	.d_dtypes = UMA_LE32(a), .quants = UMA_LE32(Q(Q_N, 0, Q_N, 0)),	\
	.dim_max = UMA_LE32(dim), .align = UMA_LE32(al),		\
	.block_k = UMA_LE16(bk), .block_n = UMA_LE16(bn),		\
	.macs_per_cycle = UMA_LE32(rate),				\
}

#define ROW_PACK(...)	ROW_PACK_OF(L_P, __VA_ARGS__)
#define ROW_PACK24(...)	ROW_PACK_OF(L_P | L_P24, __VA_ARGS__)

#define ROW_COPY(a, d, quant, dim, al, rate) {				\
	.opcode = UMA_LE16(UMA_OP_COPY), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.d_dtypes = UMA_LE32(d), .quants = UMA_LE32(quant),		\
	.dim_max = UMA_LE32(dim), .align = UMA_LE32(al),		\
	.macs_per_cycle = UMA_LE32(rate),				\
}

#define ROW_FILL(d, dim, al, rate) {					\
	.opcode = UMA_LE16(UMA_OP_FILL), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .d_dtypes = UMA_LE32(d),			\
	.quants = UMA_LE32(Q(0, 0, Q_N, 0)), .dim_max = UMA_LE32(dim),	\
	.align = UMA_LE32(al), .macs_per_cycle = UMA_LE32(rate),	\
}

#define ROW_UNARY(a, d, fn, quant, dim, al, rate) {			\
	.opcode = UMA_LE16(UMA_OP_UNARY), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.d_dtypes = UMA_LE32(d), .funcs = UMA_LE32(fn),			\
	.quants = UMA_LE32(quant), .acts = UMA_LE32(ACTS_ALL),		\
	.dim_max = UMA_LE32(dim), .align = UMA_LE32(al),		\
	.macs_per_cycle = UMA_LE32(rate),				\
}

#define ROW_SELECT(c, t, quant, dim, al, rate) {			\
	.opcode = UMA_LE16(UMA_OP_SELECT), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(c),			\
	.b_dtypes = UMA_LE32(t), .d_dtypes = UMA_LE32(t),		\
	.quants = UMA_LE32(quant), .dim_max = UMA_LE32(dim),		\
	.align = UMA_LE32(al), .macs_per_cycle = UMA_LE32(rate),	\
}

#define ROW_BINARY(a, d, fn, quant, dim, al, rate) {			\
	.opcode = UMA_LE16(UMA_OP_BINARY), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.b_dtypes = UMA_LE32(a), .d_dtypes = UMA_LE32(d),		\
	.funcs = UMA_LE32(fn), .quants = UMA_LE32(quant),		\
	.acts = UMA_LE32(ACTS_ALL), .dim_max = UMA_LE32(dim),		\
	.align = UMA_LE32(al), .macs_per_cycle = UMA_LE32(rate),	\
}

#define ROW_ATTENTION(a, b, fn, quant, dim, head, al, macs) {		\
	.opcode = UMA_LE16(UMA_OP_ATTENTION), .rank_max = UMA_MAX_RANK, \
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.b_dtypes = UMA_LE32(b), .d_dtypes = UMA_LE32(a),		\
	.funcs = UMA_LE32(fn), .quants = UMA_LE32(Q(Q_T, quant, Q_T, Q_N)), \
	.dim_max = UMA_LE32(dim), .k_max = UMA_LE32(head),		\
	.align = UMA_LE32(al), .macs_per_cycle = UMA_LE32(macs),	\
}

#define ROW_ROTARY(a, b, fn, quant, dim, al, rate) {			\
	.opcode = UMA_LE16(UMA_OP_ROTARY), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.b_dtypes = UMA_LE32(b), .d_dtypes = UMA_LE32(a),		\
	.funcs = UMA_LE32(fn), .quants = UMA_LE32(quant),		\
	.dim_max = UMA_LE32(dim), .align = UMA_LE32(al),		\
	.macs_per_cycle = UMA_LE32(rate),				\
}

#define ROW_POOL(t, fn, dim, al, rate) {				\
	.opcode = UMA_LE16(UMA_OP_POOL), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(t), .d_dtypes = UMA_LE32(t), \
	.funcs = UMA_LE32(fn), .quants = UMA_LE32(Q(Q_T, 0, Q_T, 0)),	\
	.dim_max = UMA_LE32(dim), .align = UMA_LE32(al),		\
	.macs_per_cycle = UMA_LE32(rate),				\
}

#define ROW_RESIZE(t, fn, dim, al, rate) {				\
	.opcode = UMA_LE16(UMA_OP_RESIZE), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(t), .d_dtypes = UMA_LE32(t), \
	.funcs = UMA_LE32(fn), .quants = UMA_LE32(Q(Q_T, 0, Q_T, 0)),	\
	.dim_max = UMA_LE32(dim), .align = UMA_LE32(al),		\
	.macs_per_cycle = UMA_LE32(rate),				\
}

#define ROW_GATHER(a, d, fn, quant, dim, al, rate) {			\
	.opcode = UMA_LE16(UMA_OP_GATHER), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.d_dtypes = UMA_LE32(d), .funcs = UMA_LE32(fn),			\
	.quants = UMA_LE32(quant), .dim_max = UMA_LE32(dim),		\
	.align = UMA_LE32(al), .macs_per_cycle = UMA_LE32(rate),	\
}

#define ROW_SCATTER(a, d, fn, quant, dim, al, rate) {			\
	.opcode = UMA_LE16(UMA_OP_SCATTER), .rank_max = UMA_MAX_RANK,	\
	.layouts = L_S, .a_dtypes = UMA_LE32(a),			\
	.d_dtypes = UMA_LE32(d), .funcs = UMA_LE32(fn),			\
	.quants = UMA_LE32(quant), .dim_max = UMA_LE32(dim),		\
	.align = UMA_LE32(al), .macs_per_cycle = UMA_LE32(rate),	\
}

/*
 * The types of a convolution are those of a GEMM, without group quantisation. A row may
 * list several floating-point types, since input and weights must have the same one.
 */
#define ROW_CONV(...)	ROW_CONV_OF(L_S, 0, 0, __VA_ARGS__)
/* Also with packed weights; as block_k depends on their width, all have the same width. */
#define ROW_CONV_PACKED(...)	ROW_CONV_OF(L_S | L_P, __VA_ARGS__)
#define ROW_CONV_OF(lay, bk, bn, a, b, d, fn, quant, act, dim, k, al, macs) { \
	.opcode = UMA_LE16(UMA_OP_CONV), .rank_max = 4,			\
	.layouts = lay, .a_dtypes = UMA_LE32(a),			\
	.b_dtypes = UMA_LE32(b), .d_dtypes = UMA_LE32(d),		\
	.funcs = UMA_LE32(fn), .quants = UMA_LE32(quant),		\
	.epilogue = UMA_LE32(UMA_EPI_MASK), .acts = UMA_LE32(act),	\
	.dim_max = UMA_LE32(dim), .k_max = UMA_LE32(k),			\
	.align = UMA_LE32(al), .block_k = UMA_LE16(bk),			\
	.block_n = UMA_LE16(bn), .macs_per_cycle = UMA_LE32(macs),	\
}

/* GEMM of a floating-point type, and of binary32 with weights of that type */
#define GEMM_FLOAT(t, act, bk, bn, macs)				\
	ROW_GEMM24(T(F32) | (t), t, T_FLOAT | T_INT8, Q(Q_N, Q_N, Q_T, Q_T), \
		 act, DIM_BIG, K_FLOAT, 1, bk, bn, macs)

/* Winograd: weights have been transformed and are binary32. */
#define ROW_WINO(a, fn, d, act, macs)					\
	ROW_CONV(a, T(F32), d, fn, Q(Q_N, Q_N, Q_T, Q_T), act, DIM_BIG,	\
		 K_FLOAT, 1, macs)
#define ROW_WINO_PACKED(bn, a, fn, d, act, macs)			\
	ROW_CONV_PACKED(BK_F32, bn, a, T(F32), d, fn,			\
			Q(Q_N, Q_N, Q_T, Q_T), act, DIM_BIG, K_FLOAT, 1, macs)
/* Convolution of one floating-point type */
#define CONV_FLOAT(t, bk, bn, macs)					\
	ROW_CONV_PACKED(bk, bn, t, t, T_FLOAT | T_INT8, CONVS_SUMS,	\
			Q(Q_N, Q_N, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_FLOAT, 1, macs)

/* All operations: the GPU, and all engines of "full" */
#define ROWS_EVERYTHING(bn, macs)					\
	ROW_NOP,							\
	ROW_LINES(SOFTMAX, T_ALL, T_FLOAT | T_INT8, SOFTMAX_ALL,	\
		  Q(Q_TCG, 0, Q_TCG, 0), 0, 0, DIM_BIG, 1, 8),		\
	ROW_LINES(NORM, T_ALL, T_FLOAT | T_INT8, NORM_ALL,		\
		  Q(Q_TCG, 0, Q_TCG, Q_TC), UMA_EPI_MASK, ACTS_ALL,	\
		  DIM_BIG, 1, 16),					\
	ROW_LINES(REDUCE, T_ALL, T_FLOAT | T_INT8 | T(S32), REDUCE_ALL,	\
		  Q(Q_TCG, 0, Q_TCG, 0), 0, 0, DIM_MOST, 1, 32),		\
	ROW_LINES(TOPK, T_ALL, T_FLOAT | T_INT8 | T(S32), 0,		\
		  Q(Q_TCG, 0, Q_TCG, 0), 0, 0, DIM_BIG, 1, 4),		\
	ROW_LINES(SCAN, T_ALL, T_FLOAT | T_INT8 | T(S32), 0,		\
		  Q(Q_TCG, 0, Q_TCG, 0), 0, 0, DIM_BIG, 1, 16),		\
	ROW_LINES(DYNQUANT, T_FLOAT, T_INT8, 0, Q(Q_N, 0, Q_N, 0), 0,	\
		  0, DIM_BIG, 1, 32),					\
	ROW_KV_WRITE(T_FLOAT, T_FLOAT | T_INT8, UMA_KV_WRITE_FLAGS_MASK, \
		     DIM_BIG, 1, 32),					\
	GEMM_FLOAT(T(F32), ACTS_ALL, BK_F32, bn, macs),			\
	GEMM_FLOAT(T(F16), ACTS_ALL, BK_16, bn, macs),			\
	GEMM_FLOAT(T(BF16), ACTS_ALL, BK_16, bn, macs),			\
	ROW_GEMM24(T_INT8, T_INT8, T_FLOAT | T_INT8 | T(S32),		\
		 Q(Q_TCG, Q_TCGM, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_BYTES, 1, \
		 BK_8, bn, macs),					\
	ROW_GEMM_ROUND(L_S | L_P | L_P24, T_FLOAT, T_INT8, T_FLOAT | T_INT8, \
		 Q(Q_N, Q_TCGM, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_FLOAT, 1,	\
		 BK_8, bn, macs),					\
	ROW_GEMM_ROUND(L_S | L_P | L_P24, T_FLOAT, T_INT4, T_FLOAT | T_INT8, \
		 Q(Q_N, Q_TCGM, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_FLOAT, 1,	\
		 BK_4, bn, macs),					\
	ROW_GEMM24(T_INT8, T_INT4, T_FLOAT | T_INT8 | T(S32),		\
		 Q(Q_TCG, Q_TCGM, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_BYTES, 1, \
		 BK_4, bn, macs),					\
	ROW_GEMM_ROUND(L_S, T_FLOAT, T_BLOCKS, T_FLOAT | T_INT8,	\
		 Q(Q_N, Q_N, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_FLOAT, 1,	\
		 0, 0, macs),						\
	ROW_GEMM_OF(L_S, T_INT8, T_BLOCKS, T_FLOAT | T_INT8 | T(S32),	\
		 Q(Q_TCG, Q_N, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_BYTES, 1,	\
		 0, 0, macs),						\
	ROW_PACK24(T(F32), DIM_BIG, 1, BK_F32, bn, 32),			\
	ROW_PACK24(T(F16) | T(BF16), DIM_BIG, 1, BK_16, bn, 32),		\
	ROW_PACK24(T_INT8, DIM_BIG, 1, BK_8, bn, 32),			\
	ROW_PACK24(T_INT4, DIM_BIG, 1, BK_4, bn, 32),			\
	ROW_COPY(T_ALL | T_BLOCKS, T_ALL, Q(Q_TCGM, 0, Q_TCG, 0),	\
		 DIM_MOST, 1, 64),					\
	ROW_FILL(T_ALL, DIM_MOST, 1, 128),				\
	ROW_POOL(T_FLOAT | T_INT8, POOLS_ALL, DIM_BIG, 1, 64),		\
	ROW_RESIZE(T_FLOAT | T(S32) | T_INT8, RESIZE(NEAREST), DIM_BIG, 1, 64), \
	ROW_RESIZE(T_FLOAT | T_INT8, RESIZE(LINEAR) | RESIZE(CUBIC),	\
		   DIM_BIG, 1, 32),					\
	ROW_GATHER(T_ALL | T_BLOCKS, T_ALL & ~T_INT4, GATHERS_ALL,	\
		   Q(Q_TCGM, 0, Q_TCG, 0), DIM_MOST, 1, 32),		\
	ROW_SCATTER(T_ALL, T_ALL & ~T_INT4, SCATTERS_ALL,		\
		    Q(Q_TCG, 0, Q_TCG, Q_TCG), DIM_BIG, 1, 16),		\
	ROW_ROTARY(T_FLOAT | T_INT8, T_FLOAT, UMA_ROTARY_MASK,		\
		   Q(Q_T, Q_N, Q_T, 0), DIM_BIG, 1, 64),		\
	ROW_UNARY(T_ALL, T_ALL, UNARIES_ALL, Q(Q_TCG, 0, Q_TCG, 0),	\
		  DIM_MOST, 1, 32),					\
	ROW_BINARY(T_ALL, T_ALL, BINARIES_ALL, Q(Q_TCG, Q_TCG, Q_TCG, 0), \
		   DIM_MOST, 1, 64),					\
	ROW_SELECT(T_ALL, T_ALL, Q(Q_TCG, Q_TCG, Q_TCG, 0), DIM_MOST, 1, 64),		\
	ROW_ATTENTION(T_FLOAT | T_INT8, T_FLOAT | T_INT8 | T_INT4,	\
		      UMA_ATTN_FLAGS_MASK, Q_TCG, DIM_BIG,		\
		      UMA_ATTN_DIM_MAX, 1, macs),				\
	CONV_FLOAT(T(F32), BK_F32, bn, macs),				\
	CONV_FLOAT(T(F16), BK_16, bn, macs),				\
	CONV_FLOAT(T(BF16), BK_16, bn, macs),				\
	ROW_CONV_PACKED(BK_8, bn, T_INT8, T_INT8, T_FLOAT | T_INT8 | T(S32), \
		 CONVS_SUMS, Q(Q_T, Q_TC, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_BYTES, 1, macs), \
	ROW_CONV(T_FLOAT, T_INT8 | T_INT4, T_FLOAT | T_INT8,		\
		 CONVS_SUMS, Q(Q_N, Q_TC, Q_T, Q_T), ACTS_ALL, DIM_BIG, K_FLOAT, 1, macs), \
	ROW_WINO_PACKED(bn, T(F32), CONVS_32, T_FLOAT | T_INT8, ACTS_ALL, macs), \
	ROW_WINO_PACKED(bn, T(F16) | T(BF16), CONVS_16, T_FLOAT | T_INT8, ACTS_ALL, macs)

static const struct uma_op_cap gpu_1024[] = { ROWS_EVERYTHING(32, 1024) };
static const struct uma_op_cap gpu_1280[] = { ROWS_EVERYTHING(32, 1280) };
static const struct uma_op_cap gpu_5120[] = { ROWS_EVERYTHING(32, 5120) };
static const struct uma_op_cap everything_16[] = { ROWS_EVERYTHING(16, 1024) };

/*
 * The matrix unit: 16 x 16 binary32 outer products, twice that rate for 16-bit types, four
 * times for bytes. It has bf16 from the third generation on.
 */
#define ROWS_MATRIX(f)							\
	ROW_NOP,							\
	ROW_GEMM(T(F32), T(F32), (f) | T_INT8, Q(Q_N, Q_N, Q_T, Q_T),	\
		 ACTS_SIMPLE, DIM_BIG, K_FLOAT, 1, BK_F32, 16, 256),	\
	ROW_GEMM(T(F16), T(F16), (f) | T_INT8, Q(Q_N, Q_N, Q_T, Q_T),	\
		 ACTS_SIMPLE, DIM_BIG, K_FLOAT, 1, BK_16, 16, 512),	\
	ROW_GEMM(T_INT8, T_INT8, (f) | T_INT8 | T(S32),			\
		 Q(Q_T, Q_TC, Q_T, Q_T), ACTS_SIMPLE, DIM_BIG, K_BYTES,	\
		 1, BK_8, 16, 1024),					\
	ROW_GEMM((f), T_INT8, (f) | T_INT8, Q(Q_N, Q_TCG, Q_T, Q_T),	\
		 ACTS_SIMPLE, DIM_BIG, K_FLOAT, 1, BK_8, 16, 256),	\
	ROW_GEMM((f), T_INT4, (f) | T_INT8, Q(Q_N, Q_TCG, Q_T, Q_T),	\
		 ACTS_SIMPLE, DIM_BIG, K_FLOAT, 1, BK_4, 16, 256),	\
	ROW_GEMM(T_INT8, T_INT4, (f) | T_INT8 | T(S32),			\
		 Q(Q_T, Q_TC, Q_T, Q_T), ACTS_SIMPLE, DIM_BIG, K_BYTES,	\
		 1, BK_4, 16, 1024),					\
	ROW_PACK(T(F32), DIM_BIG, 1, BK_F32, 16, 16),			\
	ROW_PACK((f) & ~T(F32), DIM_BIG, 1, BK_16, 16, 16),		\
	ROW_PACK(T_INT8, DIM_BIG, 1, BK_8, 16, 16),			\
	ROW_PACK(T_INT4, DIM_BIG, 1, BK_4, 16, 16),			\
	ROW_COPY((f) | T(S32) | T_INT8 | T_INT4, (f) | T(S32) | T_INT8 | T_INT4, \
		 Q(Q_TCG, 0, Q_TCG, 0), DIM_MOST, 1, 16),		\
	ROW_FILL(T_ALL, DIM_MOST, 1, 64),				\
	ROW_CONV(T(F32), T(F32), (f) | T_INT8, CONVS_SUMS, Q(Q_N, Q_N, Q_T, Q_T),	\
		 ACTS_SIMPLE, DIM_BIG, K_FLOAT, 1, 256),			\
	ROW_CONV((f) & ~T(F32), (f) & ~T(F32), (f) | T_INT8,		\
		 CONVS_SUMS, Q(Q_N, Q_N, Q_T, Q_T), ACTS_SIMPLE, DIM_BIG, K_FLOAT, 1, 512), \
	ROW_CONV(T_INT8, T_INT8, (f) | T_INT8 | T(S32),			\
		 CONVS_SUMS, Q(Q_T, Q_TC, Q_T, Q_T), ACTS_SIMPLE, DIM_BIG, K_BYTES, 1, 1024), \
	ROW_CONV((f), T_INT8 | T_INT4, (f) | T_INT8, CONVS_SUMS, Q(Q_N, Q_TC, Q_T, Q_T), \
		 ACTS_SIMPLE, DIM_BIG, K_FLOAT, 1, 256),			\
	ROW_WINO(T(F32), CONVS_32, (f) | T_INT8, ACTS_SIMPLE, 256)

static const struct uma_op_cap matrix_1[] = { ROWS_MATRIX(T(F32) | T(F16)) };
static const struct uma_op_cap matrix_3[] = {
	ROWS_MATRIX(T_FLOAT),
	ROW_GEMM(T(BF16), T(BF16), T_FLOAT | T_INT8, Q(Q_N, Q_N, Q_T, Q_T),
		 ACTS_SIMPLE, DIM_BIG, K_FLOAT, 1, BK_16, 16, 512),
};

/*
 * The neural engine: binary16 tensors, 8-bit weights, addresses at multiples of 64 bytes,
 * small limits of dimensions. From the third generation on also 4-bit weights and groups.
 */
#define ROWS_NEURAL(dim, wt, wq, macs)					\
	ROW_NOP,							\
	ROW_LINES(SOFTMAX, T(F16) | T_INT8, T(F16) | T_INT8,		\
		  SOFTMAX_ALL, Q(Q_TC, 0, Q_TC, 0), 0, 0, dim, 64, 8),	\
	ROW_LINES(NORM, T(F16) | T_INT8, T(F16) | T_INT8, NORM_ALL,	\
		  Q(Q_TC, 0, Q_TC, Q_T), UMA_EPI_MASK, ACTS_ALL, dim,	\
		  64, 16),						\
	ROW_LINES(REDUCE, T(F16) | T_INT8, T(F16) | T_INT8, REDUCE_PE,	\
		  Q(Q_TC, 0, Q_TC, 0), 0, 0, dim, 64, 32),		\
	ROW_LINES(REDUCE, T(F16) | T_INT8, T(S32), REDUCE_ARGS,		\
		  Q(Q_TC, 0, Q_N, 0), 0, 0, dim, 64, 32),		\
	ROW_LINES(DYNQUANT, T(F16), T_INT8, 0, Q(Q_N, 0, Q_N, 0), 0, 0,	\
		  dim, 64, 32),						\
	ROW_GEMM(T(F16), T(F16), T(F16) | T_INT8, Q(Q_N, Q_N, Q_T, Q_T), \
		 ACTS_ALL, dim, dim, 64, BK_16, 16, macs),		\
	ROW_GEMM(T_INT8, T_INT8, T(F16) | T_INT8, Q(Q_T, Q_TC, Q_T, Q_T), \
		 ACTS_ALL, dim, dim, 64, BK_8, 16, macs),		\
	ROW_GEMM(T(F16), T_INT8, T(F16) | T_INT8, Q(Q_N, wq, Q_T, Q_T),	\
		 ACTS_ALL, dim, dim, 64, BK_8, 16, macs),		\
	ROW_PACK(T(F16), dim, 64, BK_16, 16, 16),			\
	ROW_PACK(T_INT8, dim, 64, BK_8, 16, 16),			\
	ROW_COPY((wt) | T(F16) | T_INT8, T(F16) | T_INT8,		\
		 Q(wq, 0, Q_TC, 0), dim, 64, 64),			\
	ROW_FILL(T(F16) | T_INT8, dim, 64, 64),				\
	ROW_POOL(T(F16) | T_INT8, POOL(MAX) | POOL(AVERAGE), dim, 64, 256), \
	ROW_RESIZE(T(F16) | T_INT8, RESIZE(NEAREST) | RESIZE(LINEAR),	\
		   dim, 64, 64),					\
	ROW_GATHER((wt) | T(F16) | T_INT8, T(F16) | T_INT8,		\
		   1u << UMA_GATHER_AXIS, Q(wq, 0, Q_TC, 0), dim, 64, 32), \
	/* Neither interleaved pairs nor a table of positions */		\
	ROW_ROTARY(T(F16), T(F16), 0, Q(Q_N, Q_N, Q_N, 0), dim, 64, 64), \
	ROW_UNARY(T(F16) | T_INT8, T(F16) | T_INT8, UNARIES_LUT,	\
		  Q(Q_TC, 0, Q_TC, 0), dim, 64, 32),			\
	ROW_BINARY(T(F16) | T_INT8, T(F16) | T_INT8, BINARIES_PE,	\
		   Q(Q_TC, Q_TC, Q_TC, 0), dim, 64, 64),		\
	ROW_SELECT(T(F16) | T_INT8, T(F16) | T_INT8,			\
		   Q(Q_TC, Q_TC, Q_TC, 0), dim, 64, 64),		\
	ROW_ATTENTION(T(F16) | T_INT8, T(F16) | T_INT8, ATTN_STATIC,	\
		      Q_TC, dim, 256, 64, macs),			\
	ROW_CONV(T(F16), T(F16), T(F16) | T_INT8, CONVS_SUMS, Q(Q_N, Q_N, Q_T, Q_T), \
		 ACTS_ALL, dim, 65536, 64, macs),			\
	ROW_CONV(T_INT8, T_INT8, T(F16) | T_INT8, CONVS_SUMS, Q(Q_T, Q_TC, Q_T, Q_T), \
		 ACTS_ALL, dim, 65536, 64, macs),			\
	ROW_CONV(T(F16), T_INT8 | (wt), T(F16) | T_INT8, CONVS_SUMS, Q(Q_N, Q_TC, Q_T, Q_T), \
		 ACTS_ALL, dim, 65536, 64, macs)

static const struct uma_op_cap neural_1[] = { ROWS_NEURAL(16384, 0, Q_TC, 2048) };
static const struct uma_op_cap neural_2[] = { ROWS_NEURAL(16384, 0, Q_TC, 2560) };
static const struct uma_op_cap neural_3[] = {
	ROWS_NEURAL(65536, T_INT4, Q_TCG, 2816),
	ROW_GEMM(T(F16), T_INT4, T(F16) | T_INT8, Q(Q_N, Q_TCG, Q_T, Q_T),
		 ACTS_ALL, 65536, 65536, 64, BK_4, 16, 2816),
	ROW_GEMM(T_INT8, T_INT4, T(F16) | T_INT8, Q(Q_T, Q_TC, Q_T, Q_T),
		 ACTS_ALL, 65536, 65536, 64, BK_4, 16, 2816),
	ROW_PACK(T_INT4, 65536, 64, BK_4, 16, 16),
};

#define ENGINE(class, inst, fl, nd, max, min, mw, table) {		\
	.engine_class = UMA_ENGINE_##class, .instance = inst,		\
	.flags = UMA_ENGINE_PREEMPT | (fl), .node = nd,			\
	.clock_max_mhz = max, .clock_min_mhz = min,			\
	.max_job_tasks = 16384, .power_mw = mw,				\
	.cap_count = UMA_ARRAY_SIZE(table), .caps = table,		\
}

#define DYN	(UMA_ENGINE_DYNAMIC_SHAPES | UMA_ENGINE_LENGTHS)

static const struct uma_profile profiles[] = {
	{
		.name = "m1",
		.engine_count = 3,
		.node_count = 1,
		.node_bandwidth_mbs = { 68250 },
		.idle_mw = 500,
		.temp_max_mc = 95000,
		.engines = {
			ENGINE(MATRIX, 0, 0, 0, 3204, 600, 6000, matrix_1),
			ENGINE(GPU, 0, 0, 0, 1278, 396, 13000, gpu_1024),
			ENGINE(NEURAL, 0, 0, 0, 1500, 300, 2000, neural_1),
		},
	}, {
		.name = "m2",
		.engine_count = 3,
		.node_count = 1,
		.node_bandwidth_mbs = { 100000 },
		.idle_mw = 500,
		.temp_max_mc = 95000,
		.engines = {
			ENGINE(MATRIX, 0, DYN, 0, 3504, 660, 6500, matrix_1),
			ENGINE(GPU, 0, DYN, 0, 1398, 444, 15000, gpu_1280),
			ENGINE(NEURAL, 0, DYN, 0, 1500, 300, 2500, neural_2),
		},
	}, {
		.name = "m3",
		.engine_count = 3,
		.node_count = 1,
		.node_bandwidth_mbs = { 100000 },
		.idle_mw = 500,
		.temp_max_mc = 100000,
		.engines = {
			ENGINE(MATRIX, 0, DYN, 0, 4056, 744, 6500, matrix_3),
			ENGINE(GPU, 0, DYN, 0, 1578, 444, 16000, gpu_1280),
			ENGINE(NEURAL, 0, DYN, 0, 1600, 300, 2800, neural_3),
		},
	}, {
		.name = "ultra",
		.engine_count = 8,
		.node_count = 2,
		.node_bandwidth_mbs = { 400000, 400000 },
		.idle_mw = 4000,
		.temp_max_mc = 100000,
		.engines = {
			ENGINE(MATRIX, 0, DYN, 0, 3696, 660, 6500, matrix_1),
			ENGINE(MATRIX, 1, DYN, 0, 3696, 660, 6500, matrix_1),
			ENGINE(MATRIX, 2, DYN, 1, 3696, 660, 6500, matrix_1),
			ENGINE(MATRIX, 3, DYN, 1, 3696, 660, 6500, matrix_1),
			ENGINE(GPU, 0, DYN, 0, 1398, 444, 51000, gpu_5120),
			ENGINE(GPU, 1, DYN, 1, 1398, 444, 51000, gpu_5120),
			ENGINE(NEURAL, 0, DYN, 0, 1500, 300, 2500, neural_2),
			ENGINE(NEURAL, 1, DYN, 1, 1500, 300, 2500, neural_2),
		},
	}, {
		.name = "full",
		.engine_count = 6,
		.node_count = 1,
		.node_bandwidth_mbs = { 400000 },
		.idle_mw = 1000,
		.temp_max_mc = 100000,
		.engines = {
			ENGINE(MATRIX, 0, DYN, 0, 4000, 600, 6500, everything_16),
			ENGINE(MATRIX, 1, DYN, 0, 4000, 600, 6500, everything_16),
			ENGINE(GPU, 0, DYN, 0, 1600, 444, 16000, gpu_1024),
			ENGINE(GPU, 1, DYN, 0, 1600, 444, 16000, gpu_1024),
			ENGINE(NEURAL, 0, DYN, 0, 1600, 300, 2800, everything_16),
			ENGINE(NEURAL, 1, DYN, 0, 1600, 300, 2800, everything_16),
		},
	},
};

const struct uma_profile *uma_profile_get(__u32 index)
{
	return index < UMA_ARRAY_SIZE(profiles) ? &profiles[index] : 0;
}

const struct uma_profile *uma_profile_find(const char *name)
{
	__u32 i, j;

	for (i = 0; i < UMA_ARRAY_SIZE(profiles); i++) {
		const char *p = profiles[i].name;

		for (j = 0; p[j] && p[j] == name[j]; j++)
			;
		if (p[j] == name[j])
			return &profiles[i];
	}
	return 0;
}
