/* SPDX-License-Identifier: MIT */
/*
 * Operations that move elements: gather, scatter, concat, split, pad.
 */
#ifndef ACCEL_OPS_MOVE_H
#define ACCEL_OPS_MOVE_H

#include <stdint.h>
#include <accel/desc.h>
#include <accel/types.h>

/**
 * enum accel_gather_func - use of the indices of &struct accel_gather_desc
 * @ACCEL_GATHER_AXIS: D[i..., j..., k...] = A[i..., B[j...], k...]: dimension @axis of A is
 *	replaced by the dimensions of B. With axis 0 this is an embedding: rows of a table
 * @ACCEL_GATHER_ELEMENTS: D[i...] = A[i... with that of @axis replaced by B[i...]]; D has the
 *	dimensions of B, which do not exceed those of A except along @axis
 * @ACCEL_GATHER_ND: the last dimension of B has k indices, for the dimensions of A after the
 *	first @batch ones, which A and B share: D[i..., j..., l...] = A[i..., B[i..., j...,
 *	0], ..., B[i..., j..., k - 1], l...]
 * @ACCEL_GATHER_COUNT: number of values
 */
enum accel_gather_func {
	ACCEL_GATHER_AXIS = 0,
	ACCEL_GATHER_ELEMENTS = 1,
	ACCEL_GATHER_ND = 2,
	ACCEL_GATHER_COUNT = 3
};

/**
 * struct accel_gather_desc - D = elements of A by index
 *
 * Indices are unquantised S32; negative ones count from the end. If an index is outside of A,
 * the job fails when the operation runs, and the contents of D are undefined. Elements are
 * converted to the type and quantisation of D as by a copy: a table of quantised rows can be
 * gathered as F16. D is not a 4-bit type.
 */
struct accel_gather_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_gather_func */
	uint32_t func;
	/** @axis: dimension of A; 0 for ACCEL_GATHER_ND */
	uint32_t axis;
	/** @batch: ACCEL_GATHER_ND: number of leading dimensions that A and B share; else 0 */
	uint32_t batch;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: data */
	struct accel_tensor a;
	/** @b: indices */
	struct accel_tensor b;
	/** @d: result; must not overlap @a */
	struct accel_tensor d;
};

/** ACCEL_GATHER_DESC_INIT: default descriptor */
#define ACCEL_GATHER_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_gather_desc, ACCEL_OP_GATHER), 0, 0, 0, 0, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/**
 * enum accel_scatter_func - use of the indices of &struct accel_scatter_desc
 * @ACCEL_SCATTER_ELEMENTS: C[i...] goes to D[i... with that of @axis replaced by B[i...]]; B
 *	and C have the same dimensions, which do not exceed those of D except along @axis
 * @ACCEL_SCATTER_ND: C[j..., l...] goes to D[B[j..., 0], ..., B[j..., k - 1],
 *	l...], k being the last dimension of B
 * @ACCEL_SCATTER_COUNT: number of values
 */
enum accel_scatter_func {
	ACCEL_SCATTER_ELEMENTS = 0,
	ACCEL_SCATTER_ND = 1,
	ACCEL_SCATTER_COUNT = 2
};

/**
 * enum accel_scatter_reduce - effect of an update on its element
 * @ACCEL_SCATTER_PUT: the update
 * @ACCEL_SCATTER_ADD: the sum
 * @ACCEL_SCATTER_MUL: the product
 * @ACCEL_SCATTER_MAX: the larger of the two
 * @ACCEL_SCATTER_MIN: the smaller of the two
 * @ACCEL_SCATTER_REDUCE_COUNT: number of values
 */
enum accel_scatter_reduce {
	ACCEL_SCATTER_PUT = 0,
	ACCEL_SCATTER_ADD = 1,
	ACCEL_SCATTER_MUL = 2,
	ACCEL_SCATTER_MAX = 3,
	ACCEL_SCATTER_MIN = 4,
	ACCEL_SCATTER_REDUCE_COUNT = 5
};

/**
 * struct accel_scatter_desc - D = A, updated with C at the indices in B
 *
 * Indices are as for &struct accel_gather_desc. Updates of the same element take place in the
 * row-major order of B, each rounded and saturated to D's type before the next; with
 * ACCEL_SCATTER_PUT the last one wins.
 */
struct accel_scatter_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_scatter_func */
	uint32_t func;
	/** @axis: dimension of D; 0 for ACCEL_SCATTER_ND */
	uint32_t axis;
	/** @reduce: &enum accel_scatter_reduce */
	uint32_t reduce;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: data, with the dimensions of @d */
	struct accel_tensor a;
	/** @b: indices */
	struct accel_tensor b;
	/** @c: updates */
	struct accel_tensor c;
	/** @d: result; may be @a itself, which then is not copied */
	struct accel_tensor d;
};

/** ACCEL_SCATTER_DESC_INIT: default descriptor */
#define ACCEL_SCATTER_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_scatter_desc, ACCEL_OP_SCATTER), 0, 0, 0, 0, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/** ACCEL_CONCAT_MAX: largest number of inputs of a concatenation, and of results of a split */
#define ACCEL_CONCAT_MAX	8

/**
 * struct accel_concat_desc - D = concatenation of the tensors of A
 *
 * All have the dimensions of D except along @axis, where theirs sum up to D's. Each is
 * converted to D's type and quantisation as by a copy. a[i] is bound as ACCEL_ARG_A + i. An
 * input that already is its piece of D is not copied; otherwise D must not overlap inputs.
 */
struct accel_concat_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @axis: dimension */
	uint32_t axis;
	/** @count: tensors, 1 to ACCEL_CONCAT_MAX */
	uint32_t count;
	/** @a: inputs; those from @count on are absent */
	struct accel_tensor a[ACCEL_CONCAT_MAX];
	/** @d: result; not quantised by groups, unless they are the groups of the inputs */
	struct accel_tensor d;
};

/** ACCEL_CONCAT_DESC_INIT: default descriptor */
#define ACCEL_CONCAT_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_concat_desc, ACCEL_OP_CONCAT), 0, 0, \
	  { ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }, \
	  ACCEL_TENSOR_INIT }

/**
 * struct accel_split_desc - the tensors of D = consecutive pieces of A
 *
 * The reverse of &struct accel_concat_desc. d[0] is bound as ACCEL_ARG_D, d[i]
 * as ACCEL_ARG_B + i - 1.
 */
struct accel_split_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @axis: dimension */
	uint32_t axis;
	/** @count: tensors, 1 to ACCEL_CONCAT_MAX */
	uint32_t count;
	/** @a: input */
	struct accel_tensor a;
	/** @d: results; those from @count on are absent */
	struct accel_tensor d[ACCEL_CONCAT_MAX];
};

/** ACCEL_SPLIT_DESC_INIT: default descriptor */
#define ACCEL_SPLIT_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_split_desc, ACCEL_OP_SPLIT), 0, 0, ACCEL_TENSOR_INIT, \
	  { ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT } }

/**
 * enum accel_pad_mode - values of the padding
 * @ACCEL_PAD_CONSTANT: a constant
 * @ACCEL_PAD_EDGE: the element at the edge: a a a b c c c
 * @ACCEL_PAD_REFLECT: the elements, reflected at the edge: c b a b c b a
 * @ACCEL_PAD_WRAP: the elements from the other side: b c a b c a b
 * @ACCEL_PAD_COUNT: number of values
 */
enum accel_pad_mode {
	ACCEL_PAD_CONSTANT = 0,
	ACCEL_PAD_EDGE = 1,
	ACCEL_PAD_REFLECT = 2,
	ACCEL_PAD_WRAP = 3,
	ACCEL_PAD_COUNT = 4
};

/**
 * struct accel_pad_desc - D = A with padding
 *
 * A and the padding are converted to D's type and quantisation as by a copy. D must not be
 * quantised by groups, and must not have a table of scales if the constant is not 0.
 */
struct accel_pad_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @mode: &enum accel_pad_mode */
	uint32_t mode;
	/** @pad: 0 */
	uint32_t pad;
	/** @value: the constant, which is converted to D's type and quantisation */
	double value;
	/**
	 * @before: number of elements before those of A along each dimension; at most its
	 * size with ACCEL_PAD_WRAP, its size - 1 with ACCEL_PAD_REFLECT
	 */
	int64_t before[ACCEL_MAX_RANK];
	/** @after: number of elements after those of A, with the same limits */
	int64_t after[ACCEL_MAX_RANK];
	/** @a: input */
	struct accel_tensor a;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_PAD_DESC_INIT: default descriptor */
#define ACCEL_PAD_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_pad_desc, ACCEL_OP_PAD), 0, 0, 0, { 0 }, { 0 }, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

#endif /* ACCEL_OPS_MOVE_H */
