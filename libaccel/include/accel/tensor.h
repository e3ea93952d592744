/* SPDX-License-Identifier: MIT */
/*
 * Tensors: views of buffers, with element type and quantisation.
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
 * @ACCEL_QUANT_GROUP_MIN: a scale and a minimum for each @group indices along @axis: value =
 *	scale * stored + minimum. Only for right matrices of products that are not sparse,
 *	and for inputs of copies and gathers
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
 * struct accel_quant - quantisation of a tensor
 */
struct accel_quant {
	/** @scheme: &enum accel_quant_scheme */
	uint32_t scheme;
	/** @axis: channel and groups: dimension */
	uint32_t axis;
	/** @group: groups: number of indices that share a scale, a power of two from 16 to 4096 */
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

/** ACCEL_TENSOR_STRIDES: @strides are set; else the tensor is dense and row-major */
#define ACCEL_TENSOR_STRIDES	(1u << 0)
/**
 * ACCEL_TENSOR_ANY: the plan chooses the layout, which accel_plan_get_arg() returns
 *
 * @strides are not set. Products, convolutions and pooling choose: channels last or second,
 * rows or columns of a right matrix, leading dimensions that suit caches. If
 * ACCEL_TENSOR_STRIDES is set, too, as by accel_plan_get_arg(), the strides are the chosen
 * ones, and are used.
 */
#define ACCEL_TENSOR_ANY	(1u << 1)

/**
 * struct accel_tensor - a tensor, by value
 *
 * Dimensions may be dynamic: their size, for instance a number of rows or keys, is read from
 * memory when the operation runs. An operation reads one number; @dynamic marks all
 * dimensions of its tensors that have this size, and they have the same maximum in @dims.
 * Strides, set or implied, are those of @dims. Elements beyond the number are neither read
 * nor written. If it is 0, there is nothing to do; if it exceeds @dims, the operation fails
 * with -EFAULT and writes nothing. Each run of a job reads the number again; nothing is
 * planned again.
 *
 * Not supported for convolutions, pooling, resampling, operations that consist of several
 * others, and packed tensors; with scales by group only for the outermost dimension; and only
 * by engines with ACCEL_ENGINE_LENGTHS. Plans with dynamic dimensions are not tuned.
 */
struct accel_tensor {
	/** @bo: buffer; may be NULL while planning */
	struct accel_bo *bo;
	/** @offset: bytes from the start of the buffer to element (0, 0, ...) */
	uint64_t offset;
	/** @dtype: &enum accel_dtype */
	uint32_t dtype;
	/** @rank: number of dimensions, 1 to ACCEL_MAX_RANK; 0: no tensor */
	uint32_t rank;
	/** @flags: ACCEL_TENSOR_* */
	uint32_t flags;
	/** @dynamic: mask of dynamic dimensions, whose maximum is in @dims */
	uint32_t dynamic;
	/** @dims: elements, outermost first */
	int64_t dims[ACCEL_MAX_RANK];
	/** @strides: in elements; 0 repeats an element, negative goes backwards */
	int64_t strides[ACCEL_MAX_RANK];
	/** @quant: quantisation */
	struct accel_quant quant;
	/**
	 * @length: dynamic: buffer with the number, an unsigned 32-bit integer; may be NULL
	 * while planning, and in all tensors of an operation except one
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
 * accel_tensor_bytes - number of bytes from the first element to the end of the last
 * @t: tensor with strides >= 0
 * @bytes: out
 *
 * Return: 0; -EINVAL a field out of range, or the layout is left to a plan; -EOVERFLOW.
 */
ACCEL_API int accel_tensor_bytes(const struct accel_tensor *t, uint64_t *bytes);

/**
 * accel_tensor_transpose - permute the dimensions of a tensor
 * @t: tensor
 * @order: for each dimension of @out, the dimension of @t that it is
 * @out: out: the view; may be @t
 *
 * The view has the buffer of @t, which may be NULL, and explicit strides. Scales by channel
 * are kept.
 *
 * Threads: any, also for the next three functions: they access their arguments only.
 *
 * Return: 0; -EINVAL @t is malformed or has dynamic dimensions, also for the next three
 * functions; @order is not a permutation; -EOPNOTSUPP scales by group would have to be
 * rearranged.
 */
ACCEL_API int accel_tensor_transpose(const struct accel_tensor *t,
				     const uint32_t *order,
				     struct accel_tensor *out);

/**
 * accel_tensor_slice - select every @step-th index of a dimension
 * @t: tensor
 * @axis: dimension
 * @start: first index
 * @count: number of indices; may be 0
 * @step: step, not 0; negative goes backwards
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
 * accel_tensor_reshape - change the dimensions, with the same row-major order of elements
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
 * accel_tensor_expand - broadcast a tensor, as numpy does
 * @t: tensor
 * @rank: number of dimensions, at least that of @t
 * @dims: dimensions; the trailing ones are those of @t, or @t has 1 there
 * @out: out: the view, for use as an input; may be @t
 *
 * Return: 0; -EINVAL @t is malformed, or does not broadcast to @dims; -EOPNOTSUPP broadcast
 * along the dimension of scales.
 */
ACCEL_API int accel_tensor_expand(const struct accel_tensor *t, uint32_t rank,
				  const int64_t *dims, struct accel_tensor *out);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_TENSOR_H */
