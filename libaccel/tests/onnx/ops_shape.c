// SPDX-License-Identifier: MIT
/*
 * Operators about shapes and constants: no number is made by anybody.
 */
#include <string.h>

#include "run.h"

static int do_identity(struct run *r, const struct op_map *m)
{
	(void)m;
	return give(r, 0, r->in[0]);
}

/* Dropout when nothing is trained; the mask lets everything through. */
static int do_dropout(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];

	(void)m;
	if (!a)
		return broken(r, "no input");
	if (r->in[2] && get(r->in[2], 0) && !(r->in[1] && get(r->in[1], 0) == 0))
		return unsupported(r, "training: random numbers");
	if (r->n_out > 1)
		give(r, 1, lib_fill(r, T_BOOL, a->rank, a->dims, 1));
	return give(r, 0, a);
}

static int do_reshape(struct run *r, const struct op_map *m)
{
	int64_t dims[MAX_RANK], known = 1;
	struct value *a = r->in[0];
	uint32_t n, i, open = MAX_RANK;

	(void)m;
	n = r->opset < 5 ? attr_ints(r, "shape", dims, MAX_RANK) :
			   get_ints(r, r->in[1], dims, MAX_RANK);
	if (r->ret || !a)
		return r->ret;
	for (i = 0; i < n; i++) {
		if (!dims[i] && !attr_int(r, "allowzero", 0) && i < a->rank)
			dims[i] = a->dims[i];
		if (dims[i] < 0)
			open = i;
		else
			known *= dims[i];
	}
	if (open < MAX_RANK)
		dims[open] = known ? (int64_t)a->count / known : 0;
	return give(r, 0, relabel(r, a, a->type, n, dims));
}

static int do_flatten(struct run *r, const struct op_map *m)
{
	int64_t dims[2] = { 1, 1 }, axis = attr_int(r, "axis", 1);
	struct value *a = r->in[0];
	uint32_t i;

	(void)m;
	if (!a)
		return broken(r, "no input");
	if (axis < 0)
		axis += a->rank;
	for (i = 0; i < a->rank; i++)
		dims[i >= axis] *= a->dims[i];
	return give(r, 0, relabel(r, a, a->type, 2, dims));
}

/* Axes as a mask: an attribute up to version 12, then an input; -1: none given. */
int64_t axes_of(struct run *r, uint32_t rank)
{
	int64_t list[MAX_RANK], mask = 0;
	uint32_t n, i;

	n = attr_ints(r, "axes", list, MAX_RANK);
	if (!n && r->in[1])
		n = get_ints(r, r->in[1], list, MAX_RANK);
	else if (!n)
		return -1;
	for (i = 0; i < n; i++) {
		if (list[i] < 0)
			list[i] += rank;
		if (list[i] < 0 || list[i] >= rank)
			return broken(r, "axis %ld of %u", (long)list[i], rank);
		mask |= 1 << list[i];
	}
	return mask;
}

static int do_squeeze(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];
	int64_t dims[MAX_RANK], mask;
	uint32_t i, n = 0;

	(void)m;
	if (!a)
		return broken(r, "no input");
	mask = axes_of(r, a->rank);
	if (r->ret)
		return r->ret;
	for (i = 0; i < a->rank; i++)
		if (!(mask >> i & 1) || (mask < 0 && a->dims[i] != 1))
			dims[n++] = a->dims[i];
	return give(r, 0, relabel(r, a, a->type, n, dims));
}

static int do_unsqueeze(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];
	int64_t dims[MAX_RANK], mask, list[MAX_RANK];
	uint32_t rank, i, from = 0;

	(void)m;
	if (!a)
		return broken(r, "no input");
	rank = attr_ints(r, "axes", list, MAX_RANK);
	if (!rank)
		rank = get_ints(r, r->in[1], list, MAX_RANK);
	rank += a->rank;
	if (rank > MAX_RANK)
		return unsupported(r, "%u dimensions", rank);
	mask = axes_of(r, rank);
	if (r->ret)
		return r->ret;
	for (i = 0; i < rank; i++)
		dims[i] = mask >> i & 1 ? 1 : a->dims[from++];
	return give(r, 0, relabel(r, a, a->type, rank, dims));
}

static int do_shape(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];
	int64_t start = attr_int(r, "start", 0), end;

	(void)m;
	if (!a)
		return broken(r, "no input");
	end = attr_int(r, "end", a->rank);
	start += start < 0 ? a->rank : 0;
	end += end < 0 ? a->rank : 0;
	start = start < 0 ? 0 : start;
	end = end > a->rank ? a->rank : end;
	return give(r, 0, constants(r, T_INT64, end > start ? (uint32_t)(end - start) : 0,
				    a->dims + start));
}

static int do_size(struct run *r, const struct op_map *m)
{
	(void)m;
	return give(r, 0, r->in[0] ? constant(r, T_INT64, (double)r->in[0]->count) : NULL);
}

static int do_constant(struct run *r, const struct op_map *m)
{
	const Onnx__AttributeProto *a = attr(r, "value");

	(void)m;
	if (a && a->t)
		return give(r, 0, value_from_proto(r, a->t));
	a = attr(r, "value_float");
	if (a)
		return give(r, 0, constant(r, T_FLOAT, (double)a->f));
	a = attr(r, "value_int");
	if (a)
		return give(r, 0, constant(r, T_INT64, (double)a->i));
	a = attr(r, "value_ints");
	if (a)
		return give(r, 0, constants(r, T_INT64, (uint32_t)a->n_ints, a->ints));
	return unsupported(r, "a constant that is no number");
}

const struct op_map ops_shape[] = {
	{ "Identity", do_identity, BY_SHAPE, 0, 0 },
	{ "Dropout", do_dropout, BY_SHAPE, 0, 0 },
	{ "Reshape", do_reshape, BY_SHAPE, 0, 0 },
	{ "Flatten", do_flatten, BY_SHAPE, 0, 0 },
	{ "Squeeze", do_squeeze, BY_SHAPE, 0, 0 },
	{ "Unsqueeze", do_unsqueeze, BY_SHAPE, 0, 0 },
	{ "Shape", do_shape, BY_SHAPE, 0, 0 },
	{ "Size", do_size, BY_SHAPE, 0, 0 },
	{ "Constant", do_constant, BY_SHAPE, 0, 0 },
	{ NULL, NULL, BY_SHAPE, 0, 0 }
};
