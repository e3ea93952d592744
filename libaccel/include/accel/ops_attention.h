/* SPDX-License-Identifier: MIT */
/*
 * Attention, rotary embedding, and writing of keys and values to a cache.
 */
#ifndef ACCEL_OPS_ATTENTION_H
#define ACCEL_OPS_ATTENTION_H

#include <stdint.h>
#include <accel/desc.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** ACCEL_ATTENTION_CAUSAL: a query sees keys at its position and before it only */
#define ACCEL_ATTENTION_CAUSAL	(1u << 0)
/**
 * ACCEL_ATTENTION_WINDOW: a query at position p sees keys from p - @window_left
 * to p + @window_right, and the first @keep, only
 */
#define ACCEL_ATTENTION_WINDOW	(1u << 1)
/** ACCEL_ATTENTION_OFFSET: @q_offset is set; else the last query is at the last key */
#define ACCEL_ATTENTION_OFFSET	(1u << 2)
/** ACCEL_ATTENTION_SCALE: @scale is set; else 1 / sqrt(head dimension) */
#define ACCEL_ATTENTION_SCALE	(1u << 3)
/** ACCEL_ATTENTION_RAGGED: sequences are concatenated: @lengths has 3 or 4 columns */
#define ACCEL_ATTENTION_RAGGED	(1u << 4)

/**
 * struct accel_attention_desc - D = softmax(scale * Q x K^T + ...) x V
 *
 * The matrix of scores is not stored in memory. Dimensions, for any strides::
 *
 *	q	ACCEL_ARG_A	[batch, queries, heads, head_dim] F32, F16, BF16,
 *				or S8, U8 with one scale
 *	k	ACCEL_ARG_B	[batch, keys, kv_heads, head_dim] F32, F16, BF16,
 *				or S8, U8, S4, U4 quantised
 *	v	ACCEL_ARG_C	[batch, keys, kv_heads, v_dim] the same types
 *	d	ACCEL_ARG_D	[batch, queries, heads, v_dim] F32, F16, BF16,
 *				or S8, U8 with one scale; may be q itself
 *	mask	ACCEL_ARG_AUX0	[batch, heads, queries, keys], leading dimensions
 *				may be missing, any may be 1. F32, F16, BF16: added
 *				to the scores; U8: 0 hides the key
 *	pages	ACCEL_ARG_AUX1	S32 [batch, pages of a sequence]
 *	lengths	ACCEL_ARG_AUX2	S32 [batch] or [batch, columns]
 *	slopes	ACCEL_ARG_AUX3	F32 [heads] or [batch, heads]
 *	sinks	ACCEL_ARG_AUX4	F32, F16, BF16 [heads]
 *	partials ACCEL_ARG_RESIDUAL F32 [pieces, batch, queries, heads, v_dim + 2]
 *
 * heads is a multiple of kv_heads: head h uses head h / (heads / kv_heads) of k and v. Rank
 * 0: no such tensor. Scores are, in this order, multiplied by the scale, limited by @softcap,
 * reduced by the slope times the distance between the positions of query and key (ALiBi), and
 * increased by the mask. A sink is the score of a key without a value. The result of a query
 * that sees no key is zero.
 *
 * Paged: with @pages, k and v are pools [pages, page_size, kv_heads, dim], and key j of
 * sequence b is in page pages[b, j / page_size] at j % page_size. Entries for pages that no
 * query sees, by length, causality and window, need not be valid.
 *
 * Quantised keys and values: any scheme; groups are along the last dimension. With @group of
 * at least head_dim there is a scale for each row and head, in a dense table [batch, keys,
 * kv_heads] or, for pools, [pages, page_size, kv_heads].
 *
 * Lengths: column 0 is the number of keys of a sequence, column 1 that of queries (default:
 * all). Results of queries beyond it are zero. With ACCEL_ATTENTION_RAGGED q and d are [1,
 * all queries, ...], column 2 is the first row of a sequence, in ascending order without
 * overlap, and @q_max is the maximum of column 1. With column 3, which excludes @pages, k and
 * v are [1, all keys, ...], and it is the first key of a sequence. The batch is that of
 * @lengths; the mask has @q_max queries. If numbers in @lengths or @pages are out of range,
 * the job fails.
 *
 * Positions: key j is at j; query i at @q_offset + i with ACCEL_ATTENTION_OFFSET, else at
 * keys - queries + i, by the lengths of its sequence. Positions determine causality, window
 * and slopes.
 *
 * Partials: the keys are divided into pieces, the first dimension, that are computed in
 * parallel and merged from this memory, for few queries and many keys. Its contents are
 * undefined afterwards.
 */
struct accel_attention_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_ATTENTION_* */
	uint32_t flags;
	/** @scale: with ACCEL_ATTENTION_SCALE: factor of the scores, else 0 */
	float scale;
	/** @softcap: c: scores become c * tanh(score / c); 0: no limit */
	float softcap;
	/** @window_left: with ACCEL_ATTENTION_WINDOW, else 0; UINT32_MAX: all before */
	uint32_t window_left;
	/** @window_right: with ACCEL_ATTENTION_WINDOW, else 0; UINT32_MAX: all after */
	uint32_t window_right;
	/**
	 * @keep: with ACCEL_ATTENTION_WINDOW: number of first keys that are always in it,
	 * else 0
	 */
	uint32_t keep;
	/** @q_offset: with ACCEL_ATTENTION_OFFSET: position of the first query, else 0 */
	int32_t q_offset;
	/** @q_max: with ACCEL_ATTENTION_RAGGED: largest number of queries of a sequence, else 0 */
	uint32_t q_max;
	/** @q: queries */
	struct accel_tensor q;
	/** @k: keys */
	struct accel_tensor k;
	/** @v: values */
	struct accel_tensor v;
	/** @d: result */
	struct accel_tensor d;
	/** @mask: added to the scores, or mask of visible keys */
	struct accel_tensor mask;
	/** @pages: page table */
	struct accel_tensor pages;
	/** @lengths: lengths of the sequences */
	struct accel_tensor lengths;
	/** @slopes: slopes of ALiBi */
	struct accel_tensor slopes;
	/** @sinks: attention sinks */
	struct accel_tensor sinks;
	/** @partials: memory for pieces of the keys */
	struct accel_tensor partials;
};

/** ACCEL_ATTENTION_DESC_INIT: default descriptor */
#define ACCEL_ATTENTION_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_attention_desc, ACCEL_OP_ATTENTION), 0, 0, 0, 0, 0, 0, \
	  0, 0, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/**
 * ACCEL_KV_WRITE_ASYMMETRIC: quantised with zero points; else the zero point is 0, or 128 for
 * U8
 */
#define ACCEL_KV_WRITE_ASYMMETRIC	(1u << 0)
/** ACCEL_KV_WRITE_SKIP: slot of a row that is not to be written */
#define ACCEL_KV_WRITE_SKIP		(-1)

/**
 * struct accel_kv_write_desc - write rows of A to slots of D, the pages of a key-value cache
 *
 * Row i is written to entry slots[i] % page_size of page slots[i] / page_size. Slots are read
 * when the operation runs, so a job that is submitted again uses the current ones. The job
 * fails if a slot other than ACCEL_KV_WRITE_SKIP is not in D, which may then be partly
 * written. If rows have the same slot, the last one wins. Other slots are not changed.
 *
 * Rows are converted to F32, F16 and BF16 as by a copy. For S8 and U8 each row of a head is
 * quantised as by &struct accel_dynquant_desc, with a scale of its own, which is rounded to
 * the type of @scales before it is used.
 */
struct accel_kv_write_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_KV_WRITE_* */
	uint32_t flags;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: input: [rows, heads, dim] F32, F16, BF16 */
	struct accel_tensor a;
	/** @slots: input: [rows] S32; ACCEL_ARG_AUX2 */
	struct accel_tensor slots;
	/** @d: result: [pages, page_size, heads, dim] F32, F16, BF16, S8, U8, not quantised */
	struct accel_tensor d;
	/** @scales: result of S8, U8: [pages, page_size, heads, 1] F32, F16; ACCEL_ARG_AUX0 */
	struct accel_tensor scales;
	/** @zeros: result if asymmetric: S32, likewise; ACCEL_ARG_AUX1 */
	struct accel_tensor zeros;
};

/** ACCEL_KV_WRITE_DESC_INIT: default descriptor: symmetric */
#define ACCEL_KV_WRITE_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_kv_write_desc, ACCEL_OP_KV_WRITE), 0, 0, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT }

/** ACCEL_ROTARY_INTERLEAVED: a pair is (2i, 2i + 1); else (i, i + rot_dim / 2) */
#define ACCEL_ROTARY_INTERLEAVED	(1u << 0)

/**
 * struct accel_rotary_desc - D = A with rotary position embedding
 *
 * The first rot_dim elements of each head form pairs. Each pair is rotated by the angle that
 * the tables have for the position of its row:
 *
 *	d0 = a0 cos - a1 sin
 *	d1 = a1 cos + a0 sin
 *
 * The rest of the head is copied. Dimensions, for any strides:
 *
 *	a, d		ACCEL_ARG_A, D	[batch, seq, heads, head_dim] floating-point, or
 *					S8, U8 with one scale; d may be a itself
 *	cosines, sines	ACCEL_ARG_B, C	[positions, rot_dim / 2] F32, F16, BF16;
 *					rot_dim is at most head_dim
 *	positions	ACCEL_ARG_AUX0	S32 [batch, seq], broadcast to it; rank 0:
 *					@start and those that follow
 *
 * The job fails if a position is not in the tables. accel_rotary_table() fills tables.
 * Algorithm: J. Su et al., "RoFormer", 2021, arXiv:2104.09864.
 */
struct accel_rotary_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_ROTARY_* */
	uint32_t flags;
	/** @start: without @positions: position of the first row, else 0 */
	uint32_t start;
	/** @a: input */
	struct accel_tensor a;
	/** @cosines: cosine for each position and pair */
	struct accel_tensor cosines;
	/** @sines: sine for each position and pair */
	struct accel_tensor sines;
	/** @positions: position of each row */
	struct accel_tensor positions;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_ROTARY_DESC_INIT: default descriptor */
#define ACCEL_ROTARY_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_rotary_desc, ACCEL_OP_ROTARY), 0, 0, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/**
 * enum accel_rotary_scaling - scaling of positions beyond those of the training
 * @ACCEL_ROTARY_PLAIN: none
 * @ACCEL_ROTARY_LINEAR: angles are divided by the factor
 * @ACCEL_ROTARY_LLAMA3: slow angles are divided by the factor, fast ones are not
 * @ACCEL_ROTARY_YARN: the same with another rule, and cosines and sines are multiplied by
 *	@amplitude
 * @ACCEL_ROTARY_SCALING_COUNT: number of values
 */
enum accel_rotary_scaling {
	ACCEL_ROTARY_PLAIN = 0,
	ACCEL_ROTARY_LINEAR = 1,
	ACCEL_ROTARY_LLAMA3 = 2,
	ACCEL_ROTARY_YARN = 3,
	ACCEL_ROTARY_SCALING_COUNT = 4
};

/**
 * struct accel_rotary_opts - angles for accel_rotary_table()
 *
 * Before scaling, the angle of pair i is base^(-2i / rot_dim) times the position. For
 * "NTK-aware" scaling set @base to base * factor^(rot_dim / (rot_dim - 2)).
 */
struct accel_rotary_opts {
	/** @size: sizeof(struct accel_rotary_opts) */
	uint32_t size;
	/** @scaling: &enum accel_rotary_scaling */
	uint32_t scaling;
	/** @rot_dim: number of elements of a head that are rotated, even */
	uint32_t rot_dim;
	/** @trained: LLAMA3, YARN: number of positions that the model was trained with, else 0 */
	uint32_t trained;
	/** @base: 0: 10000 */
	double base;
	/** @factor: LINEAR, LLAMA3, YARN: at least 1, else 0 */
	double factor;
	/**
	 * @low: LLAMA3, YARN: angles of pairs with at most this number of turns within
	 * @trained are divided by the whole factor; 0: 1
	 */
	double low;
	/**
	 * @high: above @low: angles of pairs with more turns are not scaled; 0: LLAMA3 4,
	 * YARN 32
	 */
	double high;
	/** @amplitude: YARN: factor of cosines and sines; 0: 0.1 ln(factor) + 1 */
	double amplitude;
	/** @pad: 0 */
	uint64_t pad;
};

/** ACCEL_ROTARY_OPTS_INIT: default options; rot_dim is to be set */
#define ACCEL_ROTARY_OPTS_INIT \
	{ sizeof(struct accel_rotary_opts), ACCEL_ROTARY_PLAIN, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * accel_rotary_table - fill tables for &struct accel_rotary_desc
 * @opts: the angles
 * @first: first position
 * @count: number of positions; the last one is at most INT32_MAX
 * @cosines: out: [count][rot_dim / 2]
 * @sines: out: the same
 *
 * Computed in binary64 and rounded once. Sources: RoFormer, arXiv:2104.09864;
 * position interpolation (LINEAR), arXiv:2306.15595; "The Llama 3 Herd of
 * Models", arXiv:2407.21783; YaRN, arXiv:2309.00071, with the ramp of its
 * authors' code.
 *
 * Threads: any.
 *
 * Return: 0; -EINVAL options or positions out of range, or options set that the
 * scaling does not use; -E2BIG.
 */
ACCEL_API int accel_rotary_table(const struct accel_rotary_opts *opts,
				 uint64_t first, uint64_t count,
				 float *cosines, float *sines);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_OPS_ATTENTION_H */
