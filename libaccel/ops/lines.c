// SPDX-License-Identifier: MIT
/*
 * Softmax, reductions, top-k and scans: what they have in common is that they
 * work along some dimensions, in lines, and are the same for all others.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lines.h"

/* Number of elements along @axes, saturated. */
static uint64_t count(const struct operand *t, uint32_t axes)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++) {
		if (!(axes >> i & 1))
			continue;
		if (!t->dims[i])
			return 0;
		if (__builtin_mul_overflow(n, (uint64_t)t->dims[i], &n))
			n = UINT64_MAX;
	}
	return n;
}

/* A result, not of 4 bits: two lines may end in one byte. */
int lines_output(struct request *req, uint32_t slot, uint32_t arg,
		 const struct accel_tensor *from, const char *name,
		 struct accel_error *e)
{
	struct operand *d = &req->t[slot];
	int ret;

	ret = operand_init(d, from, arg, name, e);
	if (ret)
		return ret;
	req->slots |= 1u << slot;
	if (uma_is_int4(d->dtype))
		return bad(e, -EINVAL, name, "dtype",
			   "%s: a result of this operation has at least 8 bits",
			   accel_dtype_name(d->dtype));
	return operand_check_output(d, e);
}

/* A dimension of D, negative from the end. */
int lines_axis(struct request *req, int32_t axis, const char *name,
	       const char *field, uint32_t *out, struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	int32_t rank = (int32_t)d->rank;

	if (axis < -rank || axis >= rank)
		return bad(e, -EINVAL, name, field,
			   "%d, but %s has %d dimensions", axis, d->name, rank);
	*out = (uint32_t)(axis < 0 ? axis + rank : axis);
	return 0;
}

/* The length of a line, and how much there is to do. */
void lines_k(struct request *req, uint32_t axes, const char *field)
{
	const struct operand *a = &req->t[UMA_SLOT_A];
	uint64_t k = count(a, axes);

	req->k = k > INT64_MAX ? INT64_MAX : (int64_t)k;
	req->k_field = field;
	req->macs = count(a, ~0u);
}

int lower_softmax(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_softmax_desc *desc = &any->softmax;
	struct uma_softmax_params params = { 0 };
	uint32_t axis = 0;
	int ret;

	if (desc->func >= ACCEL_SOFTMAX_COUNT)
		return bad(e, -EINVAL, "softmax", "func", "%u is not a function",
			   desc->func);
	req->funcs = 1u << desc->func;
	ret = lines_output(req, UMA_SLOT_DST, ACCEL_ARG_D, &desc->d, "softmax.d", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_A, ACCEL_ARG_A, &desc->a, "softmax.a", e);
	if (!ret)
		ret = lines_axis(req, desc->axis, "softmax", "axis", &axis, e);
	if (ret)
		return ret;
	lines_k(req, 1u << axis, "softmax.axis");
	params.func = htole32(desc->func);
	params.axis = htole32(axis);
	memcpy(req->params, &params, sizeof(params));
	return 0;
}

static bool is_arg(uint32_t func)
{
	return func == ACCEL_REDUCE_ARG_MAX || func == ACCEL_REDUCE_ARG_MIN;
}

/* Positions: one dimension, somewhere to point to, and plain int32. */
static int check_arg(const struct request *req, uint32_t axes, struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	const struct operand *a = &req->t[UMA_SLOT_A];

	if (axes & (axes - 1))
		return bad(e, -EINVAL, "reduce", "axes",
			   "0x%x: a position is that along one dimension", axes);
	if (d->dtype != ACCEL_S32)
		return bad(e, -EINVAL, "reduce.d", "dtype",
			   "%s: positions are int32", accel_dtype_name(d->dtype));
	if (d->quant.scheme)
		return bad(e, -EINVAL, "reduce.d", "quant.scheme",
			   "positions are not quantised");
	if (!operand_empty(d) && operand_empty(a))
		return bad_at(e, -EINVAL, "reduce.a", "dims",
			      (uint32_t)__builtin_ctz(axes),
			      "there is no element to point to");
	return 0;
}

static int check_reduced(const struct request *req, uint32_t axes, struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	const struct operand *a = &req->t[UMA_SLOT_A];
	uint32_t i;

	if (axes >> a->rank)
		return bad(e, -EINVAL, "reduce", "axes",
			   "0x%x: reduce.a has %u dimensions", axes, a->rank);
	if (d->rank != a->rank)
		return bad(e, -EINVAL, "reduce.d", "rank",
			   "rank %u, but reduce.a has rank %u: a reduced dimension is 1",
			   d->rank, a->rank);
	for (i = 0; i < d->rank; i++) {
		int64_t want = axes >> i & 1 ? 1 : a->dims[i];

		if (d->dims[i] != want)
			return bad_at(e, -EINVAL, "reduce.d", "dims", i,
				      "%lld, but this dimension is %lld",
				      (long long)d->dims[i], (long long)want);
	}
	return 0;
}

int lower_reduce(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_reduce_desc *desc = &any->reduce;
	struct uma_reduce_params params = { 0 };
	struct operand *a = &req->t[UMA_SLOT_A];
	uint32_t axes = desc->axes;
	int ret;

	if (desc->func >= ACCEL_REDUCE_COUNT)
		return bad(e, -EINVAL, "reduce", "func", "%u is not a function",
			   desc->func);
	if (desc->flags & ~(is_arg(desc->func) ? ACCEL_REDUCE_LAST_INDEX : 0))
		return bad(e, -EINVAL, "reduce", "flags", "unknown flags 0x%x",
			   desc->flags);
	if (desc->pad)
		return bad(e, -EINVAL, "reduce", "pad", "must be zero");
	req->funcs = 1u << desc->func;
	ret = lines_output(req, UMA_SLOT_DST, ACCEL_ARG_D, &desc->d, "reduce.d", e);
	if (!ret)
		ret = operand_init(a, &desc->a, ACCEL_ARG_A, "reduce.a", e);
	if (ret)
		return ret;
	req->slots |= UMA_SLOT_BIT(A);
	if (!axes)
		axes = (1u << a->rank) - 1;
	ret = check_reduced(req, axes, e);
	if (!ret && is_arg(desc->func))
		ret = check_arg(req, axes, e);
	if (ret)
		return ret;
	lines_k(req, axes, "reduce.axes");
	params.func = htole32(desc->func);
	params.axes = htole32(axes);
	params.flags = htole32(desc->flags);
	memcpy(req->params, &params, sizeof(params));
	return 0;
}

static int check_topk(const struct request *req, uint32_t axis, struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	const struct operand *a = &req->t[UMA_SLOT_A];
	const struct operand *at = &req->t[UMA_SLOT_AUX0];
	uint32_t i;

	if (d->rank != a->rank)
		return bad(e, -EINVAL, "topk.d", "rank",
			   "rank %u, but topk.a has rank %u", d->rank, a->rank);
	if (at->rank != d->rank)
		return bad(e, -EINVAL, "topk.indices", "rank",
			   "rank %u, but topk.d has rank %u", at->rank, d->rank);
	if (at->dtype != ACCEL_S32)
		return bad(e, -EINVAL, "topk.indices", "dtype",
			   "%s: indices are int32", accel_dtype_name(at->dtype));
	if (at->quant.scheme)
		return bad(e, -EINVAL, "topk.indices", "quant.scheme",
			   "indices are not quantised");
	for (i = 0; i < d->rank; i++) {
		if (i == axis ? d->dims[i] > a->dims[i] : d->dims[i] != a->dims[i])
			return bad_at(e, -EINVAL, "topk.d", "dims", i,
				      i == axis ? "%lld elements of %lld" :
						  "%lld, but that of topk.a is %lld",
				      (long long)d->dims[i], (long long)a->dims[i]);
		if (at->dims[i] != d->dims[i])
			return bad_at(e, -EINVAL, "topk.indices", "dims", i,
				      "%lld, but that of topk.d is %lld",
				      (long long)at->dims[i], (long long)d->dims[i]);
	}
	return 0;
}

int lower_topk(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_topk_desc *desc = &any->topk;
	struct uma_topk_params params = { 0 };
	uint32_t axis = 0;
	int ret;

	if (desc->flags & ~ACCEL_TOPK_SMALLEST)
		return bad(e, -EINVAL, "topk", "flags", "unknown flags 0x%x",
			   desc->flags & ~ACCEL_TOPK_SMALLEST);
	ret = lines_output(req, UMA_SLOT_DST, ACCEL_ARG_D, &desc->d, "topk.d", e);
	if (!ret)
		ret = operand_init(&req->t[UMA_SLOT_A], &desc->a, ACCEL_ARG_A, "topk.a", e);
	if (!ret)
		ret = lines_output(req, UMA_SLOT_AUX0, ACCEL_ARG_AUX0, &desc->indices,
				   "topk.indices", e);
	if (!ret)
		ret = lines_axis(req, desc->axis, "topk", "axis", &axis, e);
	if (!ret)
		ret = check_topk(req, axis, e);
	if (ret)
		return ret;
	req->slots |= UMA_SLOT_BIT(A);
	lines_k(req, 1u << axis, "topk.axis");
	params.flags = htole32(desc->flags);
	params.axis = htole32(axis);
	memcpy(req->params, &params, sizeof(params));
	return 0;
}

#define SCAN_FLAGS	(ACCEL_SCAN_EXCLUSIVE | ACCEL_SCAN_REVERSE)

int lower_scan(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_scan_desc *desc = &any->scan;
	struct uma_scan_params params = { 0 };
	uint32_t axis = 0;
	int ret;

	if (desc->flags & ~SCAN_FLAGS)
		return bad(e, -EINVAL, "scan", "flags", "unknown flags 0x%x",
			   desc->flags & ~SCAN_FLAGS);
	ret = lines_output(req, UMA_SLOT_DST, ACCEL_ARG_D, &desc->d, "scan.d", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_A, ACCEL_ARG_A, &desc->a, "scan.a", e);
	if (!ret)
		ret = lines_axis(req, desc->axis, "scan", "axis", &axis, e);
	if (ret)
		return ret;
	lines_k(req, 1u << axis, "scan.axis");
	params.flags = htole32(desc->flags);
	params.axis = htole32(axis);
	memcpy(req->params, &params, sizeof(params));
	return 0;
}
