// SPDX-License-Identifier: MIT
/*
 * Views: other dimensions and strides for the same elements. Nothing is read or
 * written. Tables of scales have no strides: what would need them is refused.
 */
#include <errno.h>
#include <string.h>

#include "ops.h"

/* A tensor with its strides written out. */
int tensor_explicit(const struct accel_tensor *t, struct accel_tensor *out)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct operand o;

	if (!t || operand_init(&o, t, 0, "t", &e) || t->dynamic || tensor_open(t))
		return -EINVAL;
	*out = *t;
	memcpy(out->strides, o.strides, sizeof(out->strides));
	out->flags |= ACCEL_TENSOR_STRIDES;
	return 0;
}

static bool has_tables(const struct accel_tensor *t)
{
	return t->quant.scheme >= ACCEL_QUANT_CHANNEL;
}

/* Entries of the tables along a dimension. */
static int64_t table_dim(const struct accel_tensor *t, uint32_t d)
{
	const struct accel_quant *q = &t->quant;

	if (q->scheme == ACCEL_QUANT_CHANNEL)
		return d == q->axis ? t->dims[d] : 1;
	return d == q->axis ? t->dims[d] / q->group + (t->dims[d] % q->group != 0) :
			      t->dims[d];
}

int accel_tensor_transpose(const struct accel_tensor *t, const uint32_t *order,
			   struct accel_tensor *out)
{
	struct accel_tensor v;
	uint32_t i, seen = 0;
	int ret;

	ret = tensor_explicit(t, &v);
	if (ret || !order || !out)
		return -EINVAL;
	for (i = 0; i < t->rank; i++) {
		if (order[i] >= t->rank || (seen >> order[i] & 1))
			return -EINVAL;
		seen |= 1u << order[i];
		if (order[i] != i && t->quant.scheme >= ACCEL_QUANT_GROUP)
			ret = -EOPNOTSUPP;
	}
	if (ret)
		return ret;
	*out = v;
	for (i = 0; i < v.rank; i++) {
		out->dims[i] = v.dims[order[i]];
		out->strides[i] = v.strides[order[i]];
		if (has_tables(&v) && order[i] == v.quant.axis)
			out->quant.axis = i;
	}
	return 0;
}

/* Let the tables of @t begin at index @start of dimension @axis. */
static int slice_tables(struct accel_tensor *t, uint32_t axis, int64_t start,
			int64_t count, int64_t step)
{
	struct accel_quant *q = &t->quant;
	uint64_t first;
	uint32_t d;

	if (!has_tables(t) || count == t->dims[axis] ||
	    (q->scheme == ACCEL_QUANT_CHANNEL && axis != q->axis))
		return step < 0 && has_tables(t) && table_dim(t, axis) > 1 ?
			-EOPNOTSUPP : 0;
	if (count > 1 && step != 1)
		return -EOPNOTSUPP;
	/* What lies outside of a dimension must be one: else there are gaps. */
	for (d = 0; d < axis; d++)
		if (table_dim(t, d) != 1)
			return -EOPNOTSUPP;
	first = (uint64_t)start;
	if (axis == q->axis && q->scheme >= ACCEL_QUANT_GROUP) {
		if (start % q->group)
			return -EOPNOTSUPP;
		first /= q->group;
	}
	for (d = axis + 1; d < t->rank; d++)
		first *= (uint64_t)table_dim(t, d);
	q->scales_offset += first * (q->scale_dtype == ACCEL_F16 ? 2 : 4);
	if (q->zeros)
		q->zeros_offset += first * (q->scheme == ACCEL_QUANT_GROUP_MIN &&
					    q->scale_dtype == ACCEL_F16 ? 2 : 4);
	return 0;
}

int accel_tensor_slice(const struct accel_tensor *t, uint32_t axis, int64_t start,
		       int64_t count, int64_t step, struct accel_tensor *out)
{
	struct uma_dtype_block b;
	struct accel_tensor v;
	int64_t last, move, rest;
	bool empty = false;
	uint32_t i;
	int ret;

	ret = tensor_explicit(t, &v);
	if (ret || !out || axis >= t->rank || !step || count < 0 || start < 0 ||
	    start > t->dims[axis] ||
	    __builtin_mul_overflow(count ? count - 1 : 0, step, &last) ||
	    __builtin_add_overflow(start, last, &last) || last < 0 ||
	    (count && last >= t->dims[axis]))
		return -EINVAL;
	ret = slice_tables(&v, axis, start, count, step);
	if (ret)
		return ret;
	b = uma_dtype_block(t->dtype);
	/* Where nothing is left there is no first element to move to, and strides may be any. */
	for (i = 0; i < v.rank; i++)
		empty |= !v.dims[i];
	move = 0;
	if (count && !empty && __builtin_mul_overflow(start, v.strides[axis], &move))
		return -EINVAL;
	rest = (1 << b.shift) - 1;
	if ((move & rest) ||
	    (count > 1 && step != 1 && ((uint64_t)v.strides[axis] * (uint64_t)step & rest)) ||
	    (uma_is_block(v.dtype) && v.strides[axis] == 1 && (count & rest)))
		return -EOPNOTSUPP;
	if (__builtin_mul_overflow(move >> b.shift, (int64_t)b.bytes, &move))
		return -EINVAL;
	v.offset += (uint64_t)move;
	v.dims[axis] = count;
	if (__builtin_mul_overflow(v.strides[axis], step, &v.strides[axis])) {
		/* One index or none: the stride does not matter. */
		if (count > 1)
			return -EINVAL;
		v.strides[axis] = 0;
	}
	*out = v;
	return 0;
}

static int64_t product(const int64_t *dims, uint32_t from, uint32_t to)
{
	int64_t n = 1;

	while (from < to && n)
		if (__builtin_mul_overflow(n, dims[from++], &n))
			return -1;
	return n;
}

/*
 * Strides for new dimensions: runs of old and new dimensions that have the same
 * product correspond, and a run of old ones must be walkable as one.
 */
static int reshape_strides(const struct accel_tensor *t, struct accel_tensor *v)
{
	uint32_t i = 0, j = 0, i0, j0, k;
	int64_t a, b, stride, next = 0;
	bool inner;

	while (i < t->rank || j < v->rank) {
		i0 = i;
		j0 = j;
		a = i < t->rank ? t->dims[i++] : 1;
		b = j < v->rank ? v->dims[j++] : 1;
		while (a != b)
			if (a < b && i < t->rank)
				a *= t->dims[i++];
			else if (b < a && j < v->rank)
				b *= v->dims[j++];
			else
				return -EINVAL;
		/* Dimensions of 1 have no say. */
		for (k = i, stride = 1, inner = true; k-- > i0; ) {
			if (t->dims[k] == 1)
				continue;
			if (inner)
				stride = t->strides[k];
			else if (t->strides[k] != next)
				return -EOPNOTSUPP;
			inner = false;
			if (__builtin_mul_overflow(t->strides[k], t->dims[k], &next))
				return -EOPNOTSUPP;
		}
		for (k = j; k-- > j0; ) {
			v->strides[k] = stride;
			stride *= v->dims[k];
		}
	}
	return 0;
}

/* Does the dimension of the tables stay what it is? */
static int reshape_tables(const struct accel_tensor *t, struct accel_tensor *v)
{
	int64_t outer = product(t->dims, 0, t->quant.axis);
	uint32_t d;

	for (d = 0; d < v->rank; d++)
		if (v->dims[d] == t->dims[t->quant.axis] &&
		    product(v->dims, 0, d) == outer) {
			v->quant.axis = d;
			return 0;
		}
	return -EOPNOTSUPP;
}

int accel_tensor_reshape(const struct accel_tensor *t, uint32_t rank, const int64_t *dims,
			 struct accel_tensor *out)
{
	struct accel_tensor from, v;
	int64_t n;
	uint32_t i;
	int ret;

	ret = tensor_explicit(t, &from);
	if (ret || !rank || rank > ACCEL_MAX_RANK || !dims || !out)
		return -EINVAL;
	for (i = 0; i < rank; i++)
		if (dims[i] < 0)
			return -EINVAL;
	n = product(t->dims, 0, t->rank);
	if (n < 0 || product(dims, 0, rank) != n)
		return -EINVAL;
	v = from;
	v.rank = rank;
	memset(v.dims, 0, sizeof(v.dims));
	memset(v.strides, 0, sizeof(v.strides));
	memcpy(v.dims, dims, rank * sizeof(dims[0]));
	ret = has_tables(t) ? reshape_tables(&from, &v) : 0;
	if (!ret && n)
		ret = reshape_strides(&from, &v);
	if (!ret)
		*out = v;
	return ret;
}

int accel_tensor_expand(const struct accel_tensor *t, uint32_t rank, const int64_t *dims,
			struct accel_tensor *out)
{
	struct accel_tensor from, v;
	uint32_t pad, i;

	if (tensor_explicit(t, &from) || rank < t->rank || rank > ACCEL_MAX_RANK || !dims ||
	    !out)
		return -EINVAL;
	pad = rank - t->rank;
	v = from;
	v.rank = rank;
	if (has_tables(t))
		v.quant.axis += pad;
	for (i = 0; i < rank; i++) {
		int64_t dim = i < pad ? 1 : from.dims[i - pad];

		if (dims[i] < 0 || (dim != 1 && dim != dims[i]))
			return -EINVAL;
		v.dims[i] = dims[i];
		v.strides[i] = i < pad || dim != dims[i] ? 0 : from.strides[i - pad];
		/* Tables would have to be repeated too. */
		if (dim != dims[i] &&
		    (t->quant.scheme >= ACCEL_QUANT_GROUP ||
		     (t->quant.scheme == ACCEL_QUANT_CHANNEL && i == v.quant.axis)))
			return -EOPNOTSUPP;
	}
	*out = v;
	return 0;
}
