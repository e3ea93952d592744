// SPDX-License-Identifier: MIT
/*
 * Operators along dimensions: reductions, softmax, running sums, the largest.
 */
#include <string.h>

#include "run.h"

/* The same elements without the dimensions of one in @mask */
static struct value *without(struct run *r, struct value *v, uint32_t mask)
{
	int64_t dims[MAX_RANK];
	uint32_t i, n = 0;

	if (!v)
		return NULL;
	for (i = 0; i < v->rank; i++)
		if (!(mask >> i & 1))
			dims[n++] = v->dims[i];
	return relabel(r, v, v->type, n, dims);
}

/* Along the dimensions in @mask, which become 1 */
struct value *lib_reduce(struct run *r, uint32_t func, uint32_t flags, struct value *a,
			 uint32_t mask, uint32_t type)
{
	struct accel_reduce_desc d = ACCEL_REDUCE_DESC_INIT;
	int64_t dims[MAX_RANK];
	struct value *v;
	uint32_t i;

	if (!usable(r, a))
		return NULL;
	for (i = 0; i < a->rank; i++)
		dims[i] = mask >> i & 1 ? 1 : a->dims[i];
	v = new_value(r, type, a->rank, dims);
	d.func = func;
	d.flags = flags;
	d.axes = mask;
	if (!tensor_of(r, &d.a, a) || !tensor_of(r, &d.d, v) || lib_run(r, &d.hdr))
		return NULL;
	return v;
}

static int do_reduce(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0], *v;
	int64_t mask;

	if (!usable(r, a))
		return r->ret;
	mask = axes_of(r, a->rank);
	if (mask <= 0 && attr_int(r, "noop_with_empty_axes", 0))
		return give(r, 0, a);
	if (mask <= 0)
		mask = (1 << a->rank) - 1;
	v = lib_reduce(r, m->arg, 0, a, (uint32_t)mask, a->type);
	return give(r, 0, attr_int(r, "keepdims", 1) ? v : without(r, v, (uint32_t)mask));
}

static int do_arg(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0], *v;
	uint32_t mask, flags;

	if (!usable(r, a))
		return r->ret;
	mask = 1u << axis_of(r, attr_int(r, "axis", 0), a->rank);
	flags = attr_int(r, "select_last_index", 0) ? ACCEL_REDUCE_LAST_INDEX : 0;
	v = lib_reduce(r, m->arg, flags, a, mask, T_INT64);
	return give(r, 0, attr_int(r, "keepdims", 1) ? v : without(r, v, mask));
}

struct value *lib_softmax(struct run *r, uint32_t func, struct value *a, int64_t axis)
{
	struct accel_softmax_desc d = ACCEL_SOFTMAX_DESC_INIT;
	struct value *v = new_like(r, a);

	d.func = func;
	d.axis = (int32_t)axis;
	if (!tensor_of(r, &d.a, a) || !tensor_of(r, &d.d, v) || lib_run(r, &d.hdr))
		return NULL;
	return v;
}

/* Before version 13 the dimensions from the axis on were one. */
static struct value *flat(struct run *r, struct value *a, int64_t *axis)
{
	int64_t dims[2] = { 1, 1 };
	uint32_t i, from;

	if (!usable(r, a))
		return NULL;
	from = axis_of(r, *axis, a->rank);
	if (r->opset >= 13)
		return a;
	for (i = 0; i < a->rank; i++)
		dims[i >= from] *= a->dims[i];
	*axis = 1;
	return relabel(r, a, a->type, 2, dims);
}

static int do_softmax(struct run *r, const struct op_map *m)
{
	int64_t axis = attr_int(r, "axis", r->opset < 13 ? 1 : -1);
	struct value *a = flat(r, r->in[0], &axis), *v;

	v = a ? lib_softmax(r, m->arg, a, axis) : NULL;
	return give(r, 0, v ? relabel(r, v, v->type, r->in[0]->rank, r->in[0]->dims) : NULL);
}

/* 1 where the index is that of the first of the largest */
static int do_hardmax(struct run *r, const struct op_map *m)
{
	int64_t axis = attr_int(r, "axis", r->opset < 13 ? 1 : -1), dims[MAX_RANK], i;
	struct value *a = flat(r, r->in[0], &axis), *v, *iota;
	uint32_t k, n;

	(void)m;
	if (!a)
		return r->ret;
	n = axis_of(r, axis, a->rank);
	v = lib_reduce(r, ACCEL_REDUCE_ARG_MAX, 0, a, 1u << n, T_INT32);
	for (k = 0; k < a->rank; k++)
		dims[k] = k == n ? a->dims[k] : 1;
	iota = new_value(r, T_INT32, a->rank, dims);
	for (i = 0; iota && i < a->dims[n]; i++)
		put(iota, (uint64_t)i, (double)i);
	v = lib_binary_as(r, ACCEL_BINARY_EQ, v, iota, a->type);
	return give(r, 0, v ? relabel(r, v, v->type, r->in[0]->rank, r->in[0]->dims) : NULL);
}

static int do_cumsum(struct run *r, const struct op_map *m)
{
	struct accel_scan_desc d = ACCEL_SCAN_DESC_INIT;
	struct value *v = new_like(r, r->in[0]);
	int64_t axis = 0;

	(void)m;
	get_ints(r, r->in[1], &axis, 1);
	d.axis = (int32_t)axis;
	d.flags = (attr_int(r, "exclusive", 0) ? ACCEL_SCAN_EXCLUSIVE : 0) |
		  (attr_int(r, "reverse", 0) ? ACCEL_SCAN_REVERSE : 0);
	if (tensor_of(r, &d.a, r->in[0]) && tensor_of(r, &d.d, v))
		lib_run(r, &d.hdr);
	return give(r, 0, v);
}

static int do_topk(struct run *r, const struct op_map *m)
{
	int64_t axis = attr_int(r, "axis", -1), k = attr_int(r, "k", 0), dims[MAX_RANK];
	struct accel_topk_desc d = ACCEL_TOPK_DESC_INIT;
	struct value *a = r->in[0], *v, *indices;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	if (r->opset >= 10)
		get_ints(r, r->in[1], &k, 1);
	memcpy(dims, a->dims, sizeof(dims));
	dims[axis_of(r, axis, a->rank)] = k;
	v = new_value(r, a->type, a->rank, dims);
	indices = new_value(r, T_INT64, a->rank, dims);
	d.axis = (int32_t)axis;
	d.flags = attr_int(r, "largest", 1) ? 0 : ACCEL_TOPK_SMALLEST;
	if (tensor_of(r, &d.a, a) && tensor_of(r, &d.d, v) && tensor_of(r, &d.indices, indices))
		lib_run(r, &d.hdr);
	give(r, 0, v);
	return give(r, 1, indices);
}

const struct op_map ops_reduce[] = {
	{ "ReduceSum", do_reduce, BY_LIBRARY, ACCEL_REDUCE_SUM, 0 },
	{ "ReduceMean", do_reduce, BY_LIBRARY, ACCEL_REDUCE_MEAN, 0 },
	{ "ReduceMax", do_reduce, BY_LIBRARY, ACCEL_REDUCE_MAX, 0 },
	{ "ReduceMin", do_reduce, BY_LIBRARY, ACCEL_REDUCE_MIN, 0 },
	{ "ReduceProd", do_reduce, BY_LIBRARY, ACCEL_REDUCE_PROD, 0 },
	{ "ReduceL1", do_reduce, BY_LIBRARY, ACCEL_REDUCE_L1, 0 },
	{ "ReduceL2", do_reduce, BY_LIBRARY, ACCEL_REDUCE_L2, 0 },
	{ "ReduceSumSquare", do_reduce, BY_LIBRARY, ACCEL_REDUCE_SUM_SQUARE, 0 },
	{ "ReduceLogSum", do_reduce, BY_LIBRARY, ACCEL_REDUCE_LOG_SUM, 0 },
	{ "ReduceLogSumExp", do_reduce, BY_LIBRARY, ACCEL_REDUCE_LOG_SUM_EXP, 0 },
	{ "ArgMax", do_arg, BY_LIBRARY, ACCEL_REDUCE_ARG_MAX, 0 },
	{ "ArgMin", do_arg, BY_LIBRARY, ACCEL_REDUCE_ARG_MIN, 0 },
	{ "Softmax", do_softmax, BY_LIBRARY, ACCEL_SOFTMAX_PLAIN, 0 },
	{ "LogSoftmax", do_softmax, BY_LIBRARY, ACCEL_SOFTMAX_LOG, 0 },
	{ "Hardmax", do_hardmax, BY_LIBRARY, 0, 0 },
	{ "CumSum", do_cumsum, BY_LIBRARY, 0, 0 },
	{ "TopK", do_topk, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
