/* SPDX-License-Identifier: MIT */
/*
 * Attention, the rotary embedding that goes before it, and writing its keys and values.
 */
#ifndef ACCEL_OPS_ATTENTION_H
#define ACCEL_OPS_ATTENTION_H

#include <stdint.h>
#include <accel/desc.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** ACCEL_ATTENTION_CAUSAL: a key is seen by queries at its position and after it */
#define ACCEL_ATTENTION_CAUSAL	(1u << 0)
/**
 * ACCEL_ATTENTION_WINDOW: a query at position p sees keys from p - @window_left
 * to p + @window_right, and the first @keep, only
 */
#define ACCEL_ATTENTION_WINDOW	(1u << 1)
/** ACCEL_ATTENTION_OFFSET: @q_offset is given; else the last query is at the last key */
#define ACCEL_ATTENTION_OFFSET	(1u << 2)
/** ACCEL_ATTENTION_SCALE: @scale is given; else 1 / sqrt(head dimension) */
#define ACCEL_ATTENTION_SCALE	(1u << 3)
/** ACCEL_ATTENTION_RAGGED: sequences lie one after the other: @lengths has 3 or 4 columns */
#define ACCEL_ATTENTION_RAGGED	(1u << 4)

/**
 * struct accel_attention_desc - D = softmax(scale * Q x K^T + ...) x V
 *
 * The scores are never in memory. Dimensions, whatever the strides::
 *
 *	q	ACCEL_ARG_A	[batch, queries, heads, head_dim] F32, F16, BF16,
 *				or S8, U8 with one scale
 *	k	ACCEL_ARG_B	[batch, keys, kv_heads, head_dim] F32, F16, BF16,
 *				or S8, U8, S4, U4 quantised
 *	v	ACCEL_ARG_C	[batch, keys, kv_heads, v_dim] likewise
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
 * heads is a multiple of kv_heads: head h reads head h / (heads / kv_heads).
 * Rank 0: there is no such tensor. Scores are, in this order, multiplied by the
 * scale, bounded by @softcap, less the slope times the distance of the query's
 * and the key's position (ALiBi), plus the mask. A sink is the score of a key
 * without a value. A query that sees no key gives zeros.
 *
 * Paged: with @pages, k and v are pools [pages, page_size, kv_heads, dim], and
 * key j of sequence b is in page pages[b, j / page_size] at j % page_size. Pages
 * that no query sees through length, causality and window need no valid entry.
 *
 * Quantised keys and values: any scheme; groups run along the last dimension.
 * With @group at least head_dim that is a scale for each row and head, the table
 * being dense [batch, keys, kv_heads] or, for pools, [pages, page_size, kv_heads].
 *
 * Lengths: column 0 is the number of keys, column 1 that of queries (else all).
 * Queries beyond it give zeros. With ACCEL_ATTENTION_RAGGED q and d are
 * [1, all queries, ...] and column 2 is a sequence's first row, in order and
 * apart; @q_max bounds column 1. With column 3, which excludes @pages, k and v
 * are [1, all keys, ...] and it is a sequence's first key. The batch is that of
 * @lengths; the mask's queries are @q_max. Numbers out of range, in @lengths and
 * @pages, fail the job.
 *
 * Positions: key j is at j; query i at @q_offset + i with ACCEL_ATTENTION_OFFSET,
 * else at keys - queries + i, by the lengths of its sequence. They count for
 * causality, window and slopes.
 *
 * Partials: the keys are cut in as many pieces as the first dimension says, done
 * side by side, and put together from this memory: for few queries and many
 * keys. Its contents are undefined afterwards.
 */
struct accel_attention_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_ATTENTION_* */
	uint32_t flags;
	/** @scale: with ACCEL_ATTENTION_SCALE: factor of the scores, else 0 */
	float scale;
	/** @softcap: c: scores become c * tanh(score / c); 0: they do not */
	float softcap;
	/** @window_left: with ACCEL_ATTENTION_WINDOW, else 0; UINT32_MAX: all before */
	uint32_t window_left;
	/** @window_right: with ACCEL_ATTENTION_WINDOW, else 0; UINT32_MAX: all after */
	uint32_t window_right;
	/** @keep: with ACCEL_ATTENTION_WINDOW: first keys that it does not hide, else 0 */
	uint32_t keep;
	/** @q_offset: with ACCEL_ATTENTION_OFFSET: position of the first query, else 0 */
	int32_t q_offset;
	/** @q_max: with ACCEL_ATTENTION_RAGGED: most queries of a sequence, else 0 */
	uint32_t q_max;
	/** @q: queries */
	struct accel_tensor q;
	/** @k: keys */
	struct accel_tensor k;
	/** @v: values */
	struct accel_tensor v;
	/** @d: result */
	struct accel_tensor d;
	/** @mask: added to the scores, or which keys are seen */
	struct accel_tensor mask;
	/** @pages: page table */
	struct accel_tensor pages;
	/** @lengths: lengths of the sequences */
	struct accel_tensor lengths;
	/** @slopes: ALiBi */
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

/** ACCEL_KV_WRITE_ASYMMETRIC: bytes with zero points; else 0 is in the middle of the type */
#define ACCEL_KV_WRITE_ASYMMETRIC	(1u << 0)
/** ACCEL_KV_WRITE_SKIP: the slot of a row that is not written */
#define ACCEL_KV_WRITE_SKIP		(-1)

/**
 * struct accel_kv_write_desc - rows of A into slots of D, the pages of a key-value cache
 *
 * Row i goes to place slots[i] % page_size of page slots[i] / page_size. Slots are
 * read when the operation runs, so a job that is repeated writes where they say
 * then. Any slot but ACCEL_KV_WRITE_SKIP that is not in D makes the job fail; D may
 * have been written in part. Of rows with the same slot the last one stays, and
 * what no slot names stays as it is.
 *
 * Into F32, F16 and BF16 rows are converted as by a copy. Into bytes each row of
 * a head is quantised as by &struct accel_dynquant_desc with a scale of its own,
 * which is rounded to the type of @scales before it is used.
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
 * The first rot_dim elements of each head form pairs, and each pair is turned by
 * the angle that the tables have for the position of its row:
 *
 *	d0 = a0 cos - a1 sin
 *	d1 = a1 cos + a0 sin
 *
 * The rest of the head is copied. Dimensions, whatever the strides:
 *
 *	a, d		ACCEL_ARG_A, D	[batch, seq, heads, head_dim] floating-point, or
 *					S8, U8 with one scale; d may be a itself
 *	cosines, sines	ACCEL_ARG_B, C	[positions, rot_dim / 2] F32, F16, BF16;
 *					rot_dim is at most head_dim
 *	positions	ACCEL_ARG_AUX0	S32 [batch, seq], broadcast to it; rank 0:
 *					@start and those that follow
 *
 * A position that the tables do not have fails the job. accel_rotary_table()
 * fills tables. Algorithm: J. Su et al., "RoFormer", 2021, arXiv:2104.09864.
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
	/** @cosines: by position and pair */
	struct accel_tensor cosines;
	/** @sines: by position and pair */
	struct accel_tensor sines;
	/** @positions: of each row */
	struct accel_tensor positions;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_ROTARY_DESC_INIT: default descriptor */
#define ACCEL_ROTARY_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_rotary_desc, ACCEL_OP_ROTARY), 0, 0, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/**
 * enum accel_rotary_scaling - how a model stretches its positions
 * @ACCEL_ROTARY_PLAIN: not at all
 * @ACCEL_ROTARY_LINEAR: angles are divided by the factor
 * @ACCEL_ROTARY_LLAMA3: slow angles are divided by the factor, fast ones stay
 * @ACCEL_ROTARY_YARN: likewise, by another rule, and pairs grow longer
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
 * struct accel_rotary_opts - the angles of accel_rotary_table()
 *
 * Pair i turns by base^(-2i / rot_dim) a position before scaling. "NTK-aware"
 * scaling is another @base: base * factor^(rot_dim / (rot_dim - 2)).
 */
struct accel_rotary_opts {
	/** @size: sizeof(struct accel_rotary_opts) */
	uint32_t size;
	/** @scaling: &enum accel_rotary_scaling */
	uint32_t scaling;
	/** @rot_dim: elements of a head that turn, even */
	uint32_t rot_dim;
	/** @trained: LLAMA3, YARN: positions that the model was trained with, else 0 */
	uint32_t trained;
	/** @base: 0: 10000 */
	double base;
	/** @factor: LINEAR, LLAMA3, YARN: at least 1, else 0 */
	double factor;
	/**
	 * @low: LLAMA3, YARN: pairs that turn no more often within @trained are
	 * slowed down wholly; 0: 1
	 */
	double low;
	/** @high: pairs that turn more often stay, above @low; 0: LLAMA3 4, YARN 32 */
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
 * @count: positions, which end at INT32_MAX
 * @cosines: out: [count][rot_dim / 2]
 * @sines: out: likewise
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
