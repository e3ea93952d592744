/* SPDX-License-Identifier: MIT */
/*
 * Tensors: a view of a buffer, and how its numbers are to be read.
 */
#ifndef ACCEL_TENSOR_H
#define ACCEL_TENSOR_H

#include <stddef.h>
#include <stdint.h>
#include <accel/buffer.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * enum accel_quant_scheme - quantisation
 * @ACCEL_QUANT_NONE: the stored number is the value
 * @ACCEL_QUANT_TENSOR: value = scale * (stored - zero)
 * @ACCEL_QUANT_CHANNEL: a scale for each index of @axis
 * @ACCEL_QUANT_GROUP: a scale for each @group indices along @axis
 * @ACCEL_QUANT_GROUP_MIN: a scale and a minimum for each @group indices along @axis:
 *	value = scale * stored + minimum. Right matrices of products that are not sparse,
 *	and what is copied or gathered, may have it
 * @ACCEL_QUANT_COUNT: number of values
 */
enum accel_quant_scheme {
	ACCEL_QUANT_NONE = 0,
	ACCEL_QUANT_TENSOR = 1,
	ACCEL_QUANT_CHANNEL = 2,
	ACCEL_QUANT_GROUP = 3,
	ACCEL_QUANT_GROUP_MIN = 4,
	ACCEL_QUANT_COUNT = 5
};

/**
 * struct accel_quant - how the numbers of a tensor are to be read
 */
struct accel_quant {
	/** @scheme: &enum accel_quant_scheme */
	uint32_t scheme;
	/** @axis: channel and groups: dimension */
	uint32_t axis;
	/** @group: groups: indices that share a scale, a power of two from 16 to 4096 */
	uint32_t group;
	/** @scale_dtype: channel and groups: ACCEL_F32 (also 0) or ACCEL_F16 */
	uint32_t scale_dtype;
	/** @scale: tensor: finite, > 0 */
	float scale;
	/** @zero: tensor: zero point */
	int32_t zero;
	/**
	 * @scales: channel: vector of dims[axis] scales; groups: dense array of
	 * the tensor's dimensions with dims[axis] replaced by
	 * ceil(dims[axis] / group)
	 */
	struct accel_bo *scales;
	/** @scales_offset: bytes */
	uint64_t scales_offset;
	/**
	 * @zeros: NULL for none, or an array like @scales of int32 zero points;
	 * ACCEL_QUANT_GROUP_MIN: one of the type of @scales, the minima
	 */
	struct accel_bo *zeros;
	/** @zeros_offset: bytes */
	uint64_t zeros_offset;
};

/** ACCEL_QUANT_INIT: no quantisation */
#define ACCEL_QUANT_INIT	{ 0, 0, 0, 0, 0, 0, NULL, 0, NULL, 0 }

/** ACCEL_TENSOR_STRIDES: strides are given; else the tensor is dense and row-major */
#define ACCEL_TENSOR_STRIDES	(1u << 0)
/**
 * ACCEL_TENSOR_ANY: how it lies is left to the plan, which accel_plan_get_arg() asks
 *
 * Strides are not given. Products, convolutions and pooling choose: channels last or
 * second, rows or columns of a right matrix, leading dimensions that suit caches. With
 * ACCEL_TENSOR_STRIDES, as accel_plan_get_arg() has it, the strides are the choice that
 * was made, and count.
 */
#define ACCEL_TENSOR_ANY	(1u << 1)

/**
 * struct accel_tensor - a tensor, by value
 *
 * Dimensions may be left to a number in memory: how many rows there are, or keys. An
 * operation reads one number, when it runs; @dynamic marks all dimensions of its tensors
 * that this number is, which have the same size in @dims. Strides, and what strides there
 * are without ACCEL_TENSOR_STRIDES, stay those of @dims. What lies beyond the number is
 * neither read nor written. 0 leaves nothing to do along these dimensions; with a number
 * above @dims the operation fails with -EFAULT and writes nothing. A job that is submitted
 * again reads again: nothing is planned.
 *
 * Not convolutions, pooling and resampling, not operations that consist of several, not
 * what is packed, of scales by group only the outermost dimension; and only engines with
 * ACCEL_ENGINE_LENGTHS. Plans for them are not tuned.
 */
struct accel_tensor {
	/** @bo: buffer; may be NULL while planning */
	struct accel_bo *bo;
	/** @offset: bytes from the start of the buffer to element (0, 0, ...) */
	uint64_t offset;
	/** @dtype: &enum accel_dtype */
	uint32_t dtype;
	/** @rank: number of dimensions, 1 to ACCEL_MAX_RANK; 0: there is no tensor */
	uint32_t rank;
	/** @flags: ACCEL_TENSOR_* */
	uint32_t flags;
	/**
	 * @dynamic: mask of dimensions that are read from memory when the operation runs;
	 * @dims has the largest they may be
	 */
	uint32_t dynamic;
	/** @dims: elements, outermost first */
	int64_t dims[ACCEL_MAX_RANK];
	/** @strides: elements; 0 repeats, negative runs backwards */
	int64_t strides[ACCEL_MAX_RANK];
	/** @quant: quantisation */
	struct accel_quant quant;
	/**
	 * @length: dynamic: buffer of the number that they are, 32 bits without a sign; may be
	 * NULL while planning, and of all tensors of an operation but one
	 */
	struct accel_bo *length;
	/** @length_offset: bytes, a multiple of 4 */
	uint64_t length_offset;
	/** @reserved: 0 */
	uint64_t reserved[2];
};

/** ACCEL_TENSOR_INIT: no tensor */
#define ACCEL_TENSOR_INIT \
	{ NULL, 0, 0, 0, 0, 0, { 0 }, { 0 }, ACCEL_QUANT_INIT, NULL, 0, { 0 } }

/**
 * accel_tensor_dense - a dense tensor
 * @bo: buffer, or NULL while planning
 * @dtype: &enum accel_dtype
 * @rank: number of dimensions
 * @dims: elements, outermost first
 *
 * Return: the tensor.
 */
static inline struct accel_tensor
accel_tensor_dense(struct accel_bo *bo, uint32_t dtype, uint32_t rank,
		   const int64_t *dims)
{
	struct accel_tensor t = {
		bo, 0, dtype, rank, 0, 0, { 0 }, { 0 },
		ACCEL_QUANT_INIT, NULL, 0, { 0 }
	};
	uint32_t i;

	for (i = 0; i < rank && i < ACCEL_MAX_RANK; i++)
		t.dims[i] = dims[i];
	return t;
}

/**
 * accel_tensor_2d - a dense matrix
 * @bo: buffer, or NULL while planning
 * @dtype: &enum accel_dtype
 * @rows: rows
 * @cols: columns
 *
 * Return: the tensor.
 */
static inline struct accel_tensor
accel_tensor_2d(struct accel_bo *bo, uint32_t dtype, int64_t rows,
		int64_t cols)
{
	const int64_t dims[2] = { rows, cols };

	return accel_tensor_dense(bo, dtype, 2, dims);
}

/**
 * accel_tensor_bytes - bytes from the first element's to one past the last's
 * @t: tensor with strides >= 0
 * @bytes: out
 *
 * Return: 0; -EINVAL a field out of range, or how it lies is left to a plan;
 * -EOVERFLOW.
 */
ACCEL_API int accel_tensor_bytes(const struct accel_tensor *t, uint64_t *bytes);

/**
 * accel_tensor_transpose - the same elements, dimensions in another order
 * @t: tensor
 * @order: for each dimension of @out, the dimension of @t that it is
 * @out: out: the view; may be @t
 *
 * Views have the buffer of @t and their strides written out; their buffer may be
 * NULL like that of any tensor. Scales by channel follow.
 *
 * Threads: any; all of these are functions of their arguments.
 *
 * Return: 0; -EINVAL @t is malformed or has dynamic dimensions, as of all of
 * these, @order is no permutation; -EOPNOTSUPP
 * scales by group would have to be rearranged.
 */
ACCEL_API int accel_tensor_transpose(const struct accel_tensor *t,
				     const uint32_t *order,
				     struct accel_tensor *out);

/**
 * accel_tensor_slice - every @step-th index of a dimension
 * @t: tensor
 * @axis: dimension
 * @start: first index
 * @count: number of indices; may be 0
 * @step: distance, not 0; negative runs backwards
 * @out: out: the view; may be @t
 *
 * Return: 0; -EINVAL @t is malformed, an index is out of range; -EOPNOTSUPP a
 * slice of 4-bit elements that does not begin at a byte, of a part of a block, or
 * of tables of scales that would have gaps.
 */
ACCEL_API int accel_tensor_slice(const struct accel_tensor *t, uint32_t axis,
				 int64_t start, int64_t count, int64_t step,
				 struct accel_tensor *out);

/**
 * accel_tensor_reshape - other dimensions for the same elements in row-major order
 * @t: tensor
 * @rank: number of dimensions, 1 to ACCEL_MAX_RANK
 * @dims: dimensions, with the same product
 * @out: out: the view; may be @t
 *
 * Return: 0; -EINVAL @t is malformed, another number of elements; -EOPNOTSUPP
 * the elements would have to be moved, or the dimension of scales is split or
 * merged.
 */
ACCEL_API int accel_tensor_reshape(const struct accel_tensor *t, uint32_t rank,
				   const int64_t *dims, struct accel_tensor *out);

/**
 * accel_tensor_expand - repeat a tensor as numpy broadcasts
 * @t: tensor
 * @rank: number of dimensions, at least that of @t
 * @dims: dimensions; the trailing ones are those of @t, or @t has 1 there
 * @out: out: the view, an input; may be @t
 *
 * Return: 0; -EINVAL @t is malformed, or does not broadcast to @dims;
 * -EOPNOTSUPP along the dimension of scales.
 */
ACCEL_API int accel_tensor_expand(const struct accel_tensor *t, uint32_t rank,
				  const int64_t *dims, struct accel_tensor *out);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_TENSOR_H */
