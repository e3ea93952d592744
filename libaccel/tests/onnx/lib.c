// SPDX-License-Identifier: MIT
/*
 * Operations of the library on values of a graph.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* Run a descriptor: what no engine does is unsupported, all else a failure. */
int lib_run(struct run *r, struct accel_desc *desc)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	int ret;

	if (r->ret)
		return r->ret;
	ret = accel_run(r->ctx, desc);
	if (!ret)
		return 0;
	accel_ctx_get_error(r->ctx, &e);
	if (ret == -EOPNOTSUPP)
		return unsupported(r, "the library: %s: %s", e.field, e.text);
	return broken(r, "the library: %d: %s: %s", ret, e.field, e.text);
}

/* Output @n of the node in work. */
int give(struct run *r, uint32_t n, struct value *v)
{
	if (!r->ret && !v)
		return broken(r, "no result and no reason");
	if (n < MAX_ARGS)
		r->out[n] = v;
	return r->ret;
}

/* Does the library have numbers like these? */
bool has_dtype(struct run *r, const struct value *v)
{
	if (v->dtype)
		return true;
	if (type_dtype(v->type))
		unsupported(r, "%s that is not exact in %s", type_name(v->type),
			    accel_dtype_name(type_dtype(v->type)));
	else
		unsupported(r, "no engine has %s", type_name(v->type));
	return false;
}

struct view view_of(struct value *v)
{
	struct view w = { 0 };
	int64_t stride = 1;
	uint32_t i;

	w.v = v;
	w.rank = v->rank;
	for (i = v->rank; i-- > 0;) {
		w.dims[i] = v->dims[i];
		w.strides[i] = stride;
		stride *= v->dims[i];
	}
	return w;
}

/* A tensor of the library; of a scalar a vector of one. */
bool fill_tensor(struct run *r, struct accel_tensor *t, const struct view *w)
{
	int64_t stride = 1;
	uint32_t i;

	if (!usable(r, w->v))
		return false;
	if (w->rank > ACCEL_MAX_RANK) {
		unsupported(r, "%u dimensions", w->rank);
		return false;
	}
	memset(t, 0, sizeof(*t));
	t->bo = w->v->bo;
	t->dtype = w->v->dtype;
	t->offset = (uint64_t)w->offset * accel_dtype_bits(t->dtype) / 8;
	t->rank = w->rank ? w->rank : 1;
	if (!w->rank)
		t->dims[0] = 1;
	for (i = w->rank; i-- > 0;) {
		t->dims[i] = w->dims[i];
		if (w->strides[i] != stride)
			t->flags = ACCEL_TENSOR_STRIDES;
		stride *= w->dims[i];
	}
	for (i = 0; t->flags && i < t->rank; i++)
		t->strides[i] = w->strides[i];
	return true;
}

bool tensor_of(struct run *r, struct accel_tensor *t, struct value *v)
{
	struct view w;

	if (r->ret || !v)
		return false;
	w = view_of(v);
	return fill_tensor(r, t, &w);
}

/* Give @w the dimensions of a result, with strides of 0 where it repeats. */
bool stretch(struct run *r, struct view *w, uint32_t rank, const int64_t *dims)
{
	struct view s = { .v = w->v, .offset = w->offset, .rank = rank };
	uint32_t i, j;

	if (w->rank > rank) {
		broken(r, "%u dimensions do not broadcast to %u", w->rank, rank);
		return false;
	}
	for (i = 0; i < rank; i++) {
		s.dims[i] = dims[i];
		if (i + w->rank < rank)
			continue;
		j = i + w->rank - rank;
		if (w->dims[j] != 1 && w->dims[j] != dims[i]) {
			broken(r, "a dimension of %ld does not broadcast to %ld", (long)w->dims[j],
			       (long)dims[i]);
			return false;
		}
		s.strides[i] = w->dims[j] == 1 ? 0 : w->strides[j];
	}
	*w = s;
	return true;
}

/*
 * Views of the operands of something elementwise with fewer dimensions: those
 * of one element go, and neighbours that are one in all of them become one.
 * @w[0] is the result, the others broadcast to it.
 */
bool squash(struct run *r, struct view *w, uint32_t n)
{
	uint32_t i, k, rank = w[0].rank, to = 0;
	bool merge;

	for (k = 1; k < n; k++)
		if (!stretch(r, &w[k], rank, w[0].dims))
			return false;
	/* From the outermost: @to dimensions are settled. */
	for (i = 0; i < rank; i++) {
		if (w[0].dims[i] == 1)
			continue;
		merge = to > 0;
		for (k = 0; k < n && merge; k++)
			merge = w[k].strides[to - 1] == w[k].strides[i] * w[k].dims[i];
		for (k = 0; k < n; k++) {
			if (merge) {
				w[k].dims[to - 1] *= w[k].dims[i];
				w[k].strides[to - 1] = w[k].strides[i];
			} else {
				w[k].dims[to] = w[k].dims[i];
				w[k].strides[to] = w[k].strides[i];
			}
		}
		to += merge ? 0 : 1;
	}
	for (k = 0; k < n; k++)
		w[k].rank = to;
	return true;
}

/* The shape of numpy's broadcast. */
bool broadcast(struct run *r, const struct value *a, const struct value *b, uint32_t *rank,
	       int64_t *dims)
{
	uint32_t i;

	if (r->ret || !a || !b)
		return false;
	*rank = a->rank > b->rank ? a->rank : b->rank;
	for (i = 0; i < *rank; i++) {
		int64_t x = i + a->rank < *rank ? 1 : a->dims[i + a->rank - *rank];
		int64_t y = i + b->rank < *rank ? 1 : b->dims[i + b->rank - *rank];

		if (x != y && x != 1 && y != 1) {
			broken(r, "dimensions of %ld and %ld do not broadcast", (long)x, (long)y);
			return false;
		}
		dims[i] = x == 1 ? y : x;
	}
	return true;
}

/* --- copies ------------------------------------------------------------------------ */

int lib_copy_into(struct run *r, const struct view *from, const struct view *to)
{
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;
	struct view w[2] = { *to, *from };

	if (r->ret || !squash(r, w, 2) || !fill_tensor(r, &d.d, &w[0]) ||
	    !fill_tensor(r, &d.a, &w[1]))
		return r->ret;
	return lib_run(r, &d.hdr);
}

/* A dense value of a view, converted. */
struct value *lib_copy(struct run *r, const struct view *from, uint32_t type)
{
	struct value *v;
	struct view to;

	if (!usable(r, from->v))
		return NULL;
	v = new_value(r, type, from->rank, from->dims);
	if (!v)
		return NULL;
	to = view_of(v);
	return lib_copy_into(r, from, &to) ? NULL : v;
}

/* Rounded and saturated where it has to be; types that are stored alike share. */
struct value *lib_convert(struct run *r, struct value *a, uint32_t type)
{
	struct view w;

	if (!usable(r, a))
		return NULL;
	if (a->dtype == type_dtype(type))
		return relabel(r, a, type, a->rank, a->dims);
	w = view_of(a);
	return lib_copy(r, &w, type);
}

struct value *lib_transpose(struct run *r, struct value *a, const int64_t *perm)
{
	struct view w, t;
	uint32_t i;

	if (!usable(r, a))
		return NULL;
	w = view_of(a);
	t = w;
	for (i = 0; i < a->rank; i++) {
		t.dims[i] = w.dims[perm[i]];
		t.strides[i] = w.strides[perm[i]];
	}
	return lib_copy(r, &t, a->type);
}

struct value *lib_expand(struct run *r, struct value *a, uint32_t rank, const int64_t *dims)
{
	struct value *v;
	struct view from, to;

	if (!usable(r, a))
		return NULL;
	v = new_value(r, a->type, rank, dims);
	if (!v)
		return NULL;
	from = view_of(a);
	to = view_of(v);
	return lib_copy_into(r, &from, &to) ? NULL : v;
}

struct value *lib_fill(struct run *r, uint32_t type, uint32_t rank, const int64_t *dims,
		       double number)
{
	struct accel_fill_desc d = ACCEL_FILL_DESC_INIT;
	struct value *v = new_value(r, type, rank, dims);
	struct view w;

	if (!v)
		return NULL;
	w = view_of(v);
	d.value = number;
	if (!squash(r, &w, 1) || !fill_tensor(r, &d.d, &w) || lib_run(r, &d.hdr))
		return NULL;
	return v;
}

/* --- elementwise ------------------------------------------------------------------- */

static struct value *unary(struct run *r, uint32_t func, const struct accel_epilogue *epi,
			   struct value *a)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;
	struct value *v;
	struct view w[2];

	if (!usable(r, a))
		return NULL;
	v = new_like(r, a);
	if (!v)
		return NULL;
	w[0] = view_of(v);
	w[1] = view_of(a);
	d.func = func;
	if (epi)
		d.epilogue = *epi;
	if (!squash(r, w, 2) || !fill_tensor(r, &d.d, &w[0]) || !fill_tensor(r, &d.a, &w[1]) ||
	    lib_run(r, &d.hdr))
		return NULL;
	return v;
}

struct value *lib_unary(struct run *r, uint32_t func, struct value *a)
{
	return unary(r, func, NULL, a);
}

struct value *lib_act(struct run *r, uint32_t act, float p0, float p1, struct value *a)
{
	struct accel_epilogue epi = { .act = act, .p0 = p0, .p1 = p1 };

	return unary(r, ACCEL_UNARY_ACT, &epi, a);
}

/* The result is of @type; shapes broadcast. */
struct value *lib_binary_as(struct run *r, uint32_t func, struct value *a, struct value *b,
			    uint32_t type)
{
	struct accel_binary_desc d = ACCEL_BINARY_DESC_INIT;
	int64_t dims[MAX_RANK];
	struct view w[3];
	struct value *v;
	uint32_t rank;

	if (!usable(r, a) || !usable(r, b) || !broadcast(r, a, b, &rank, dims))
		return NULL;
	v = new_value(r, type, rank, dims);
	if (!v)
		return NULL;
	w[0] = view_of(v);
	w[1] = view_of(a);
	w[2] = view_of(b);
	d.func = func;
	if (!squash(r, w, 3) || !fill_tensor(r, &d.d, &w[0]) || !fill_tensor(r, &d.a, &w[1]) ||
	    !fill_tensor(r, &d.b, &w[2]) || lib_run(r, &d.hdr))
		return NULL;
	return v;
}

struct value *lib_binary(struct run *r, uint32_t func, struct value *a, struct value *b)
{
	return a ? lib_binary_as(r, func, a, b, a->type) : NULL;
}

struct value *lib_times(struct run *r, struct value *a, double factor)
{
	return a ? lib_binary(r, ACCEL_BINARY_MUL, a, constant(r, T_FLOAT, factor)) : NULL;
}

struct value *lib_plus(struct run *r, struct value *a, double addend)
{
	return a ? lib_binary(r, ACCEL_BINARY_ADD, a, constant(r, T_FLOAT, addend)) : NULL;
}

/* Integers as @type of 8 bits has them: the library saturates, ONNX wraps. */
struct value *lib_wrap(struct run *r, struct value *a, uint32_t type)
{
	struct value *v = lib_convert(r, a, T_INT32), *m = constant(r, T_INT32, 256);
	double half = type == T_INT8 ? 128 : 0;

	if (type_dtype(type) != ACCEL_U8 && type_dtype(type) != ACCEL_S8) {
		unsupported(r, "wrapping to %s", type_name(type));
		return NULL;
	}
	v = v ? lib_binary(r, ACCEL_BINARY_ADD, v, constant(r, T_INT32, half)) : NULL;
	v = v ? lib_binary(r, ACCEL_BINARY_MOD, v, m) : NULL;
	v = v ? lib_binary(r, ACCEL_BINARY_SUB, v, constant(r, T_INT32, half)) : NULL;
	return v ? lib_convert(r, v, type) : NULL;
}
