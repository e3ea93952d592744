// SPDX-License-Identifier: MIT
/*
 * Operators by index.
 */
#include <string.h>

#include "run.h"

/* Elements of @a by the indices @b, into the shape that @func gives */
struct value *lib_gather(struct run *r, uint32_t func, struct value *a, struct value *b,
			 uint32_t axis, uint32_t batch)
{
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;
	int64_t dims[2 * MAX_RANK];
	uint32_t i, k, n = 0;
	struct value *v;

	if (!usable(r, a) || !usable(r, b))
		return NULL;
	if (func == ACCEL_GATHER_ELEMENTS) {
		for (i = 0; i < b->rank; i++)
			dims[n++] = b->dims[i];
	} else if (func == ACCEL_GATHER_ND) {
		k = b->rank ? (uint32_t)b->dims[b->rank - 1] : 0;
		for (i = 0; i + 1 < b->rank; i++)
			dims[n++] = b->dims[i];
		for (i = batch + k; i < a->rank; i++)
			dims[n++] = a->dims[i];
	} else {
		for (i = 0; i < axis; i++)
			dims[n++] = a->dims[i];
		for (i = 0; i < b->rank; i++)
			dims[n++] = b->dims[i];
		for (i = axis + 1; i < a->rank; i++)
			dims[n++] = a->dims[i];
	}
	v = new_value(r, a->type, n, dims);
	d.func = func;
	d.axis = axis;
	d.batch = batch;
	if (!tensor_of(r, &d.a, a) || !tensor_of(r, &d.b, b) || !tensor_of(r, &d.d, v))
		return NULL;
	/* A scalar index is a vector of one here, and so is a scalar result. */
	if (func == ACCEL_GATHER_AXIS && !b->rank) {
		d.d.rank = a->rank;
		memcpy(d.d.dims, a->dims, sizeof(d.d.dims));
		d.d.dims[axis] = 1;
	}
	return lib_run(r, &d.hdr) ? NULL : v;
}

static int do_gather(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];
	uint32_t axis = 0, batch = 0;

	if (!usable(r, a))
		return r->ret;
	if (m->arg == ACCEL_GATHER_ND)
		batch = (uint32_t)attr_int(r, "batch_dims", 0);
	else
		axis = axis_of(r, attr_int(r, "axis", 0), a->rank);
	return give(r, 0, lib_gather(r, m->arg, a, r->in[1], axis, batch));
}

struct value *lib_scatter(struct run *r, uint32_t func, uint32_t reduce, struct value *a,
			  struct value *b, struct value *c, uint32_t axis)
{
	struct accel_scatter_desc d = ACCEL_SCATTER_DESC_INIT;
	struct value *v = new_like(r, a);

	d.func = func;
	d.axis = axis;
	d.reduce = reduce;
	if (!tensor_of(r, &d.a, a) || !tensor_of(r, &d.b, b) || !tensor_of(r, &d.c, c) ||
	    !tensor_of(r, &d.d, v) || lib_run(r, &d.hdr))
		return NULL;
	return v;
}

static int do_scatter(struct run *r, const struct op_map *m)
{
	uint32_t axis = 0, reduce = ACCEL_SCATTER_PUT;
	struct value *a = r->in[0];

	if (!usable(r, a))
		return r->ret;
	if (m->arg == ACCEL_SCATTER_ELEMENTS)
		axis = axis_of(r, attr_int(r, "axis", 0), a->rank);
	if (attr_is(r, "reduction", "add", false))
		reduce = ACCEL_SCATTER_ADD;
	else if (attr_is(r, "reduction", "mul", false))
		reduce = ACCEL_SCATTER_MUL;
	else if (!attr_is(r, "reduction", "none", true))
		return unsupported(r, "another reduction");
	return give(r, 0, lib_scatter(r, m->arg, reduce, a, r->in[1], r->in[2], axis));
}

/* The condition says which indices there are: a shape, read by the CPU. */
static int do_compress(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0], *cond = r->in[1];
	int64_t list[1024], size;
	uint32_t n = 0, axis = 0;
	uint64_t i;

	(void)m;
	if (!usable(r, a) || !usable(r, cond))
		return r->ret;
	if (attr(r, "axis")) {
		axis = axis_of(r, attr_int(r, "axis", 0), a->rank);
	} else {
		size = (int64_t)a->count;
		a = relabel(r, a, a->type, 1, &size);
	}
	if (cond->count > ARRAY_SIZE(list))
		return unsupported(r, "a condition of %lu", (unsigned long)cond->count);
	for (i = 0; i < cond->count; i++)
		if (get(cond, i))
			list[n++] = (int64_t)i;
	return give(r, 0, lib_gather(r, ACCEL_GATHER_AXIS, a, constants(r, T_INT32, n, list), axis,
				     0));
}

/*
 * Indices count in the shape that pooling came from, as far as the attributes
 * tell; another shape of the output has that one in its corner.
 */
static int do_max_unpool(struct run *r, const struct op_map *m)
{
	int64_t kernel[3], stride[3] = { 1, 1, 1 }, pads[6] = { 0 }, dims[MAX_RANK], size, n;
	struct value *a = r->in[0], *v, *w;
	struct view from, to;
	uint32_t i, rank;

	(void)m;
	if (!usable(r, a) || !usable(r, r->in[1]))
		return r->ret;
	rank = a->rank - 2;
	if (a->rank < 3 || rank > 3 || attr_ints(r, "kernel_shape", kernel, 3) != rank)
		return unsupported(r, "%u dimensions", a->rank);
	attr_ints(r, "strides", stride, 3);
	attr_ints(r, "pads", pads, 6);
	memcpy(dims, a->dims, sizeof(dims));
	size = dims[0] * dims[1];
	for (i = 0; i < rank; i++) {
		dims[2 + i] = (dims[2 + i] - 1) * stride[i] + kernel[i] - pads[i] - pads[rank + i];
		size *= dims[2 + i];
	}
	n = (int64_t)a->count;
	v = lib_fill(r, a->type, 1, &size, 0);
	v = lib_scatter(r, ACCEL_SCATTER_ELEMENTS, ACCEL_SCATTER_PUT, v,
			relabel(r, r->in[1], r->in[1]->type, 1, &n), relabel(r, a, a->type, 1, &n),
			0);
	v = relabel(r, v, a->type, a->rank, dims);
	if (!r->in[2] || !v)
		return give(r, 0, v);
	if (get_ints(r, r->in[2], dims, MAX_RANK) != a->rank)
		return broken(r, "a shape of another rank");
	w = lib_fill(r, a->type, a->rank, dims, 0);
	if (!w)
		return r->ret;
	from = view_of(v);
	to = view_of(w);
	for (i = 0; i < a->rank; i++) {
		if (to.dims[i] < from.dims[i])
			return unsupported(r, "a shape that is too small");
		to.dims[i] = from.dims[i];
	}
	lib_copy_into(r, &from, &to);
	return give(r, 0, w);
}

const struct op_map ops_index[] = {
	{ "Gather", do_gather, BY_LIBRARY, ACCEL_GATHER_AXIS, 0 },
	{ "GatherElements", do_gather, BY_LIBRARY, ACCEL_GATHER_ELEMENTS, 0 },
	{ "GatherND", do_gather, BY_LIBRARY, ACCEL_GATHER_ND, 0 },
	{ "Scatter", do_scatter, BY_LIBRARY, ACCEL_SCATTER_ELEMENTS, 0 },
	{ "ScatterElements", do_scatter, BY_LIBRARY, ACCEL_SCATTER_ELEMENTS, 0 },
	{ "ScatterND", do_scatter, BY_LIBRARY, ACCEL_SCATTER_ND, 0 },
	{ "Compress", do_compress, BY_LIBRARY, 0, 0 },
	{ "MaxUnpool", do_max_unpool, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
