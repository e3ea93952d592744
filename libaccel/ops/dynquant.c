// SPDX-License-Identifier: MIT
/*
 * Numbers into bytes with scales that follow from them.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lines.h"

/* Scales or zero points: one for each line of A. */
int lower_scale_table(struct request *req, uint32_t slot, uint32_t arg,
		      const struct accel_tensor *from, const char *name, uint32_t dtype,
		      uint32_t axes, struct accel_error *e)
{
	const struct operand *a = &req->t[UMA_SLOT_A];
	struct operand *t = &req->t[slot];
	uint32_t i;
	int ret;

	ret = lines_output(req, slot, arg, from, name, e);
	if (ret)
		return ret;
	if (t->dtype != dtype)
		return bad(e, -EINVAL, name, "dtype", "%s, but these are %s",
			   accel_dtype_name(t->dtype), accel_dtype_name(dtype));
	if (t->quant.scheme)
		return bad(e, -EINVAL, name, "quant.scheme", "these are not quantised");
	if (t->rank != a->rank)
		return bad(e, -EINVAL, name, "rank", "rank %u, but %s has rank %u",
			   t->rank, a->name, a->rank);
	for (i = 0; i < t->rank; i++) {
		int64_t want = axes >> i & 1 ? 1 : a->dims[i];

		if (t->dims[i] != want)
			return bad_at(e, -EINVAL, name, "dims", i,
				      "%lld, but there are %lld along this dimension",
				      (long long)t->dims[i], (long long)want);
	}
	return 0;
}

static int check_pair(const struct operand *a, const struct operand *d,
		      struct accel_error *e)
{
	uint32_t i;

	if (!uma_is_float(a->dtype))
		return bad(e, -EINVAL, a->name, "dtype",
			   "%s: what is quantised is fp32, fp16 or bf16",
			   accel_dtype_name(a->dtype));
	if (!uma_is_int8(d->dtype))
		return bad(e, -EINVAL, d->name, "dtype", "%s is not int8 or uint8",
			   accel_dtype_name(d->dtype));
	if (d->quant.scheme)
		return bad(e, -EINVAL, d->name, "quant.scheme",
			   "the scales are results: dynquant.scales");
	if (a->rank != d->rank)
		return bad(e, -EINVAL, a->name, "rank", "rank %u, but %s has rank %u",
			   a->rank, d->name, d->rank);
	for (i = 0; i < a->rank; i++)
		if (a->dims[i] != d->dims[i])
			return bad_at(e, -EINVAL, a->name, "dims", i,
				      "%lld, but that of %s is %lld",
				      (long long)a->dims[i], d->name,
				      (long long)d->dims[i]);
	return 0;
}

/* A line without elements has no scale. */
static int check_empty(const struct request *req, uint32_t axes, struct accel_error *e)
{
	const struct operand *a = &req->t[UMA_SLOT_A];
	uint32_t i;

	if (operand_empty(&req->t[UMA_SLOT_AUX0]))
		return 0;
	for (i = 0; i < a->rank; i++)
		if ((axes >> i & 1) && !a->dims[i])
			return bad_at(e, -EINVAL, a->name, "dims", i,
				      "there is nothing to take a scale from");
	return 0;
}

int lower_dynquant(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_dynquant_desc *desc = &any->dynquant;
	struct uma_dynquant_params params = { 0 };
	struct operand *a = &req->t[UMA_SLOT_A];
	uint32_t axes = desc->axes;
	int ret;

	if (desc->flags & ~ACCEL_DYNQUANT_ASYMMETRIC)
		return bad(e, -EINVAL, "dynquant", "flags", "unknown flags 0x%x",
			   desc->flags & ~ACCEL_DYNQUANT_ASYMMETRIC);
	ret = lines_output(req, UMA_SLOT_DST, ACCEL_ARG_D, &desc->d, "dynquant.d", e);
	if (!ret)
		ret = operand_init(a, &desc->a, ACCEL_ARG_A, "dynquant.a", e);
	if (!ret)
		ret = check_pair(a, &req->t[UMA_SLOT_DST], e);
	if (ret)
		return ret;
	req->slots |= UMA_SLOT_BIT(A);
	if (axes >> a->rank)
		return bad(e, -EINVAL, "dynquant", "axes", "0x%x: dynquant.a has %u dimensions",
			   axes, a->rank);
	if (!axes)
		axes = (1u << a->rank) - 1;
	ret = lower_scale_table(req, UMA_SLOT_AUX0, ACCEL_ARG_AUX0, &desc->scales,
				"dynquant.scales", ACCEL_F32, axes, e);
	if (!ret && desc->flags & ACCEL_DYNQUANT_ASYMMETRIC)
		ret = lower_scale_table(req, UMA_SLOT_AUX1, ACCEL_ARG_AUX1, &desc->zeros,
					"dynquant.zeros", ACCEL_S32, axes, e);
	else if (!ret && desc->zeros.rank)
		ret = bad(e, -EINVAL, "dynquant.zeros", "rank",
			  "there are no zero points without ACCEL_DYNQUANT_ASYMMETRIC");
	else if (!ret)
		ret = tensor_absent(&desc->zeros, "dynquant.zeros", e);
	if (!ret)
		ret = check_empty(req, axes, e);
	if (ret)
		return ret;
	lines_k(req, axes, "dynquant.axes");
	params.axes = htole32(axes);
	params.flags = htole32(desc->flags);
	memcpy(req->params, &params, sizeof(params));
	return 0;
}
