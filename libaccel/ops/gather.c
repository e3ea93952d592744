// SPDX-License-Identifier: MIT
/*
 * Gathering and scattering by index. What indices point at is known to the
 * device alone.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ops.h"

#define SAME(a, b)	_Static_assert((int)(a) == (int)(b), #a " is " #b)
SAME(ACCEL_GATHER_AXIS, UMA_GATHER_AXIS);
SAME(ACCEL_GATHER_ELEMENTS, UMA_GATHER_ELEMENTS);
SAME(ACCEL_GATHER_ND, UMA_GATHER_ND);
SAME(ACCEL_SCATTER_ELEMENTS, UMA_SCATTER_ELEMENTS);
SAME(ACCEL_SCATTER_ND, UMA_SCATTER_ND);
SAME(ACCEL_SCATTER_PUT, UMA_SCATTER_PUT);
SAME(ACCEL_SCATTER_MIN, UMA_SCATTER_MIN);

const char *gather_func_name(uint32_t bit)
{
	static const char * const names[] = { "axis", "elements", "nd" };

	return bit < sizeof(names) / sizeof(names[0]) ? names[bit] : "unknown";
}

/* Functions, and from bit 8 on what updates do. */
const char *scatter_func_name(uint32_t bit)
{
	static const char * const names[] = {
		"elements", "nd", NULL, NULL, NULL, NULL, NULL, NULL,
		"put", "add", "mul", "max", "min"
	};

	return bit < sizeof(names) / sizeof(names[0]) && names[bit] ? names[bit] : "unknown";
}

static int input(struct request *req, uint32_t slot, uint32_t arg,
		 const struct accel_tensor *from, const char *name, struct accel_error *e)
{
	req->slots |= 1u << slot;
	return operand_init(&req->t[slot], from, arg, name, e);
}

/* D, which is no 4-bit type, and the indices in B. */
static int result_and_indices(struct request *req, const struct accel_tensor *d,
			      const char *d_name, const struct accel_tensor *b,
			      const char *b_name, struct accel_error *e)
{
	struct operand *to = &req->t[UMA_SLOT_DST], *index = &req->t[UMA_SLOT_B];
	int ret;

	ret = input(req, UMA_SLOT_DST, ACCEL_ARG_D, d, d_name, e);
	if (!ret)
		ret = operand_check_output(to, e);
	if (!ret && uma_is_int4(to->dtype))
		ret = bad(e, -EINVAL, d_name, "dtype", "the result is of no 4-bit type");
	if (!ret)
		ret = input(req, UMA_SLOT_B, ACCEL_ARG_B, b, b_name, e);
	if (ret)
		return ret;
	req->macs = operand_elements(to);
	if (index->dtype != ACCEL_S32)
		return bad(e, -EINVAL, b_name, "dtype", "indices are int32, not %s",
			   accel_dtype_name(index->dtype));
	if (index->quant.scheme)
		return bad(e, -EINVAL, b_name, "quant.scheme", "indices are not quantised");
	return 0;
}

/* Dimensions @from.. of @t have to be those of @u from @at on. */
static int same_dims(const struct operand *t, uint32_t from, const struct operand *u,
		     uint32_t at, uint32_t n, struct accel_error *e)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (t->dims[from + i] != u->dims[at + i])
			return bad_at(e, -EINVAL, t->name, "dims", from + i,
				      "%lld is not %lld, which is %s.dims[%u]",
				      (long long)t->dims[from + i],
				      (long long)u->dims[at + i], u->name, at + i);
	return 0;
}

static int same_rank(const struct operand *t, uint32_t rank, struct accel_error *e)
{
	if (t->rank != rank)
		return bad(e, -EINVAL, t->name, "rank", "rank %u, but the others make it %u",
			   t->rank, rank);
	return 0;
}

/* Along every dimension but the axis an index stands for itself. */
static int within(const struct operand *b, const struct operand *t, uint32_t axis,
		  struct accel_error *e)
{
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (i != axis && b->dims[i] > t->dims[i])
			return bad_at(e, -EINVAL, b->name, "dims", i,
				      "%lld is more than %lld, which is %s.dims[%u]",
				      (long long)b->dims[i], (long long)t->dims[i], t->name, i);
	return 0;
}

static int gather_shape(const struct accel_gather_desc *d, const struct request *req,
			struct accel_error *e)
{
	const struct operand *to = &req->t[UMA_SLOT_DST], *a = &req->t[UMA_SLOT_A];
	const struct operand *b = &req->t[UMA_SLOT_B];
	uint32_t axis = d->axis, outer = b->rank - 1, batch = d->batch, k;
	int ret;

	if (d->func != ACCEL_GATHER_ND && axis >= a->rank)
		return bad(e, -EINVAL, "gather", "axis", "%u, but gather.a has rank %u", axis,
			   a->rank);
	if (d->func == ACCEL_GATHER_AXIS) {
		ret = same_rank(to, a->rank + outer, e);
		if (!ret)
			ret = same_dims(to, 0, a, 0, axis, e);
		if (!ret)
			ret = same_dims(to, axis, b, 0, b->rank, e);
		return ret ? ret : same_dims(to, axis + b->rank, a, axis + 1,
					     a->rank - axis - 1, e);
	}
	if (d->func == ACCEL_GATHER_ELEMENTS) {
		ret = same_rank(b, a->rank, e);
		if (!ret)
			ret = within(b, a, axis, e);
		if (!ret)
			ret = same_rank(to, b->rank, e);
		return ret ? ret : same_dims(to, 0, b, 0, b->rank, e);
	}
	if (batch >= a->rank || batch > outer)
		return bad(e, -EINVAL, "gather", "batch",
			   "%u dimensions, but gather.a has %u and gather.b %u before its last",
			   batch, a->rank, outer);
	if (b->dims[outer] < 1 || b->dims[outer] > a->rank - batch)
		return bad_at(e, -EINVAL, b->name, "dims", outer,
			      "%lld indices, but there are %u dimensions for them",
			      (long long)b->dims[outer], a->rank - batch);
	k = (uint32_t)b->dims[outer];
	ret = same_dims(b, 0, a, 0, batch, e);
	if (!ret)
		ret = same_rank(to, outer + a->rank - batch - k, e);
	if (!ret)
		ret = same_dims(to, 0, b, 0, outer, e);
	return ret ? ret : same_dims(to, outer, a, batch + k, a->rank - batch - k, e);
}

int lower_gather(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_gather_desc *d = &any->gather;
	struct uma_gather_params p = { 0 };
	int ret;

	if (d->func >= ACCEL_GATHER_COUNT)
		return bad(e, -EINVAL, "gather", "func", "%u is not a function", d->func);
	if (d->func == ACCEL_GATHER_ND && d->axis)
		return bad(e, -EINVAL, "gather", "axis", "is set, but this function has none");
	if (d->func != ACCEL_GATHER_ND && d->batch)
		return bad(e, -EINVAL, "gather", "batch", "is set, but this function has none");
	if (d->pad)
		return bad(e, -EINVAL, "gather", "pad", "must be zero");
	ret = result_and_indices(req, &d->d, "gather.d", &d->b, "gather.b", e);
	if (!ret)
		ret = input(req, UMA_SLOT_A, ACCEL_ARG_A, &d->a, "gather.a", e);
	if (!ret)
		ret = gather_shape(d, req, e);
	if (ret)
		return ret;
	req->func = d->func;
	req->funcs = 1u << d->func;
	p.func = htole32(d->func);
	p.axis = htole32(d->axis);
	p.batch = htole32(d->batch);
	memcpy(req->params, &p, sizeof(p));
	return 0;
}

static int scatter_shape(const struct accel_scatter_desc *d, const struct request *req,
			 struct accel_error *e)
{
	const struct operand *to = &req->t[UMA_SLOT_DST], *a = &req->t[UMA_SLOT_A];
	const struct operand *b = &req->t[UMA_SLOT_B], *c = &req->t[UMA_SLOT_C];
	uint32_t outer = b->rank - 1, k;
	int ret;

	ret = same_rank(a, to->rank, e);
	if (!ret)
		ret = same_dims(a, 0, to, 0, to->rank, e);
	if (ret)
		return ret;
	if (d->func == ACCEL_SCATTER_ELEMENTS) {
		if (d->axis >= to->rank)
			return bad(e, -EINVAL, "scatter", "axis", "%u, but scatter.d has rank %u",
				   d->axis, to->rank);
		ret = same_rank(b, to->rank, e);
		if (!ret)
			ret = within(b, to, d->axis, e);
		if (!ret)
			ret = same_rank(c, b->rank, e);
		return ret ? ret : same_dims(c, 0, b, 0, b->rank, e);
	}
	if (b->dims[outer] < 1 || b->dims[outer] > to->rank)
		return bad_at(e, -EINVAL, b->name, "dims", outer,
			      "%lld indices, but there are %u dimensions for them",
			      (long long)b->dims[outer], to->rank);
	k = (uint32_t)b->dims[outer];
	ret = same_rank(c, outer + to->rank - k, e);
	if (!ret)
		ret = same_dims(c, 0, b, 0, outer, e);
	return ret ? ret : same_dims(c, outer, to, k, to->rank - k, e);
}

int lower_scatter(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_scatter_desc *d = &any->scatter;
	struct uma_scatter_params p = { 0 };
	int ret;

	if (d->func >= ACCEL_SCATTER_COUNT)
		return bad(e, -EINVAL, "scatter", "func", "%u is not a function", d->func);
	if (d->func == ACCEL_SCATTER_ND && d->axis)
		return bad(e, -EINVAL, "scatter", "axis", "is set, but this function has none");
	if (d->reduce >= ACCEL_SCATTER_REDUCE_COUNT)
		return bad(e, -EINVAL, "scatter", "reduce", "%u is not a reduction", d->reduce);
	if (d->pad)
		return bad(e, -EINVAL, "scatter", "pad", "must be zero");
	ret = result_and_indices(req, &d->d, "scatter.d", &d->b, "scatter.b", e);
	if (!ret)
		ret = input(req, UMA_SLOT_A, ACCEL_ARG_A, &d->a, "scatter.a", e);
	if (!ret)
		ret = input(req, UMA_SLOT_C, ACCEL_ARG_C, &d->c, "scatter.c", e);
	if (!ret)
		ret = scatter_shape(d, req, e);
	if (ret)
		return ret;
	req->func = d->func;
	req->funcs = 1u << d->func | UMA_SCATTER_CAP_REDUCE(d->reduce);
	p.func = htole32(d->func);
	p.axis = htole32(d->axis);
	p.reduce = htole32(d->reduce);
	memcpy(req->params, &p, sizeof(p));
	return 0;
}
