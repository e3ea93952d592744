// SPDX-License-Identifier: MIT
/*
 * Rows into slots of a paged cache. Where they go is known to the device alone.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lines.h"

/* A dimension that has to be another one. */
static int same_dim(const struct operand *t, uint32_t i, const struct operand *u, uint32_t j,
		    struct accel_error *e)
{
	if (t->dims[i] == u->dims[j])
		return 0;
	return bad_at(e, -EINVAL, t->name, "dims", i, "%lld is not %lld, which is %s.dims[%u]",
		      (long long)t->dims[i], (long long)u->dims[j], u->name, j);
}

static int check_rank(const struct operand *t, uint32_t rank, const char *text,
		      struct accel_error *e)
{
	if (t->rank != rank)
		return bad(e, -EINVAL, t->name, "rank", "rank %u: it is %s", t->rank, text);
	return 0;
}

static int check_rows(const struct request *req, struct accel_error *e)
{
	const struct operand *a = &req->t[UMA_SLOT_A], *d = &req->t[UMA_SLOT_DST];
	const struct operand *slots = &req->t[UMA_SLOT_AUX2];
	int ret;

	if (!uma_is_float(a->dtype))
		return bad(e, -EINVAL, a->name, "dtype", "%s: rows are fp32, fp16 or bf16",
			   accel_dtype_name(a->dtype));
	if (!uma_is_float(d->dtype) && !uma_is_int8(d->dtype))
		return bad(e, -EINVAL, d->name, "dtype",
			   "%s: a cache is fp32, fp16, bf16, int8 or uint8",
			   accel_dtype_name(d->dtype));
	if (d->quant.scheme)
		return bad(e, -EINVAL, d->name, "quant.scheme",
			   "the scales are results: kv_write.scales");
	if (slots->dtype != ACCEL_S32)
		return bad(e, -EINVAL, slots->name, "dtype", "slots are int32, not %s",
			   accel_dtype_name(slots->dtype));
	if (slots->quant.scheme)
		return bad(e, -EINVAL, slots->name, "quant.scheme", "slots are not quantised");
	ret = check_rank(d, 4, "[pages, page_size, heads, dim]", e);
	if (!ret)
		ret = check_rank(a, 3, "[rows, heads, dim]", e);
	if (!ret)
		ret = check_rank(slots, 1, "[rows]", e);
	if (!ret)
		ret = same_dim(a, 1, d, 2, e);
	if (!ret)
		ret = same_dim(a, 2, d, 3, e);
	return ret ? ret : same_dim(slots, 0, a, 0, e);
}

/* Scales or zero points, of a type in @types: [pages, page_size, heads, 1]. */
static int lower_table(struct request *req, uint32_t slot, uint32_t arg,
		       const struct accel_tensor *from, const char *name, uint32_t types,
		       struct accel_error *e)
{
	struct operand *t = &req->t[slot];
	const struct operand *d = &req->t[UMA_SLOT_DST];
	uint32_t i;
	int ret;

	ret = lines_output(req, slot, arg, from, name, e);
	if (!ret && !(types >> t->dtype & 1))
		ret = bad(e, -EINVAL, name, "dtype",
			  "%s: scales are fp32 or fp16, zero points int32",
			  accel_dtype_name(t->dtype));
	if (!ret && t->quant.scheme)
		ret = bad(e, -EINVAL, name, "quant.scheme", "these are not quantised");
	if (!ret)
		ret = check_rank(t, 4, "[pages, page_size, heads, 1]", e);
	for (i = 0; !ret && i < 3; i++)
		ret = same_dim(t, i, d, i, e);
	if (!ret && t->dims[3] != 1)
		ret = bad_at(e, -EINVAL, name, "dims", 3,
			     "%lld: there is one for all elements of a head",
			     (long long)t->dims[3]);
	return ret;
}

static int lower_tables(const struct accel_kv_write_desc *desc, struct request *req,
			struct accel_error *e)
{
	bool bytes = uma_is_int8(req->t[UMA_SLOT_DST].dtype);
	bool zeros = desc->flags & ACCEL_KV_WRITE_ASYMMETRIC;
	int ret;

	if (zeros && !bytes)
		return bad(e, -EINVAL, "kv_write", "flags", "only bytes have zero points");
	if (bytes)
		ret = lower_table(req, UMA_SLOT_AUX0, ACCEL_ARG_AUX0, &desc->scales,
				  "kv_write.scales", 1u << ACCEL_F32 | 1u << ACCEL_F16, e);
	else if (desc->scales.rank)
		ret = bad(e, -EINVAL, "kv_write.scales", "rank", "only bytes have scales");
	else
		ret = tensor_absent(&desc->scales, "kv_write.scales", e);
	if (ret)
		return ret;
	if (zeros)
		return lower_table(req, UMA_SLOT_AUX1, ACCEL_ARG_AUX1, &desc->zeros,
				   "kv_write.zeros", 1u << ACCEL_S32, e);
	if (desc->zeros.rank)
		return bad(e, -EINVAL, "kv_write.zeros", "rank",
			   "there are no zero points without ACCEL_KV_WRITE_ASYMMETRIC");
	return tensor_absent(&desc->zeros, "kv_write.zeros", e);
}

int lower_kv_write(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_kv_write_desc *desc = &any->kv_write;
	struct uma_kv_write_params params = { 0 };
	uint32_t flags = 0;
	int ret;

	if (desc->flags & ~ACCEL_KV_WRITE_ASYMMETRIC)
		return bad(e, -EINVAL, "kv_write", "flags", "unknown flags 0x%x",
			   desc->flags & ~ACCEL_KV_WRITE_ASYMMETRIC);
	if (desc->pad)
		return bad(e, -EINVAL, "kv_write", "pad", "must be zero");
	ret = lines_output(req, UMA_SLOT_DST, ACCEL_ARG_D, &desc->d, "kv_write.d", e);
	if (!ret)
		ret = operand_init(&req->t[UMA_SLOT_A], &desc->a, ACCEL_ARG_A, "kv_write.a", e);
	if (!ret)
		ret = operand_init(&req->t[UMA_SLOT_AUX2], &desc->slots, ACCEL_ARG_AUX2,
				   "kv_write.slots", e);
	if (!ret)
		ret = check_rows(req, e);
	if (!ret)
		ret = lower_tables(desc, req, e);
	if (ret)
		return ret;
	req->slots |= UMA_SLOT_BIT(A) | UMA_SLOT_BIT(AUX2);
	if (uma_is_int8(req->t[UMA_SLOT_DST].dtype))
		flags |= UMA_KV_WRITE_QUANTISED;
	if (desc->flags & ACCEL_KV_WRITE_ASYMMETRIC)
		flags |= UMA_KV_WRITE_ASYMMETRIC;
	req->funcs = flags;
	req->k = req->t[UMA_SLOT_A].dims[2];
	req->k_field = "kv_write.a.dims[2]";
	req->macs = operand_elements(&req->t[UMA_SLOT_A]);
	params.flags = htole32(flags);
	memcpy(req->params, &params, sizeof(params));
	return 0;
}

const char *kv_write_func_name(uint32_t bit)
{
	return 1u << bit == UMA_KV_WRITE_ASYMMETRIC ? "flags" : "d.dtype";
}
