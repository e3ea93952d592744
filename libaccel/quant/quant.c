// SPDX-License-Identifier: MIT
/*
 * Tensors in fewer bits: making one, and how far it is from where it came from.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/core/objects.h"
#include "reader.h"

int accel_quantise(struct accel_ctx *ctx, const struct accel_tensor *from,
		   uint32_t dtype, const struct accel_quant *quant,
		   struct accel_tensor *to)
{
	FP_MODE_SCOPE();
	const struct accel_bo_opts opts = { sizeof(opts), 0, "quantised" };
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	uint64_t bytes;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!from)
		return ctx_fail(ctx, -EINVAL, "from", "NULL");
	if (!quant)
		return ctx_fail(ctx, -EINVAL, "quant", "NULL");
	if (!to)
		return ctx_fail(ctx, -EINVAL, "to", "NULL");
	if (!uma_is_int8(dtype) && !uma_is_int4(dtype))
		return ctx_fail(ctx, -EINVAL, "dtype",
				"%u is none of int8, uint8, int4 and uint4", dtype);
	if (!uma_is_float(from->dtype))
		return ctx_fail(ctx, -EINVAL, "from.dtype",
				"%u: what is quantised is fp32, fp16 or bf16",
				from->dtype);
	copy.a = *from;
	copy.d = accel_tensor_rows(NULL, dtype, from->rank, from->dims);
	copy.d.quant = *quant;
	if (!from->rank || accel_tensor_bytes(&copy.d, &bytes))
		return ctx_fail(ctx, -EINVAL, "from.dims",
				"the tensor does not fit into an address space");
	ret = accel_bo_create(ctx, bytes ? bytes : 1, &opts, &copy.d.bo);
	if (ret)
		return ret;
	ret = accel_run(ctx, &copy.hdr);
	if (ret) {
		accel_bo_unref(copy.d.bo);
		return ret;
	}
	*to = copy.d;
	return 0;
}

static int same_dims(const struct operand *t, const struct operand *ref,
		     struct accel_error *e)
{
	uint32_t i;

	if (t->rank != ref->rank)
		return bad(e, -EINVAL, "ref", "rank",
			   "rank %u, but the tensor has rank %u", ref->rank, t->rank);
	for (i = 0; i < t->rank; i++)
		if (t->dims[i] != ref->dims[i])
			return bad_at(e, -EINVAL, "ref", "dims", i,
				      "%lld, but the tensor has %lld",
				      (long long)ref->dims[i], (long long)t->dims[i]);
	return 0;
}

static bool at_end(const struct reader *r, const int64_t *idx)
{
	__s64 lo, hi;
	int32_t v;

	if (!uma_is_int8(r->t.dtype) && !uma_is_int4(r->t.dtype))
		return false;
	uma_dtype_limits(r->t.dtype, &lo, &hi);
	v = reader_stored(r, idx);
	return v == lo || v == hi;
}

/**
 * struct sums - of the elements compared
 * @e: differences
 * @abs: magnitudes of them
 * @ee: squares of them
 * @xx: squares of the reference
 * @qq: squares of the tensor
 * @qx: products of the two
 */
struct sums {
	double e, abs, ee, xx, qq, qx;
};

static void finish(struct accel_quant_error *out, const struct sums *s)
{
	double n = (double)out->values;

	out->cosine = s->qq > 0 && s->xx > 0 ?
		      s->qx / (sqrt(s->qq) * sqrt(s->xx)) :
		      s->qq > 0 || s->xx > 0 ? 0 : 1;
	out->sqnr_db = s->ee > 0 ? 10 * log10(s->xx / s->ee) : INFINITY;
	if (!out->values)
		return;
	out->mean = s->e / n;
	out->mean_abs = s->abs / n;
	out->rmse = sqrt(s->ee / n);
}

static void compare(const struct reader *t, const struct reader *ref,
		    struct accel_quant_error *out)
{
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	struct sums s = { 0 };
	uint64_t n = 0;

	do {
		double q = reader_value(t, idx), x = reader_value(ref, idx);
		double e = q - x;

		out->saturated += at_end(t, idx);
		if (!isfinite(q) || !isfinite(x)) {
			out->skipped++;
			continue;
		}
		out->values++;
		if (fabs(e) > out->max_abs) {
			out->max_abs = fabs(e);
			out->max_index = n;
		}
		s.e += e;
		s.abs += fabs(e);
		s.ee += e * e;
		s.xx += x * x;
		s.qq += q * q;
		s.qx += q * x;
	} while (n++, reader_next(&t->t, idx));
	finish(out, &s);
}

int accel_quant_report(struct accel_ctx *ctx, const struct accel_tensor *t,
		       const struct accel_tensor *ref,
		       struct accel_quant_error *report)
{
	FP_MODE_SCOPE();
	struct accel_quant_error out = { .cosine = 1, .sqnr_db = INFINITY };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct reader rt, rr;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!t)
		return ctx_fail(ctx, -EINVAL, "t", "NULL");
	if (!ref)
		return ctx_fail(ctx, -EINVAL, "ref", "NULL");
	if (!report)
		return ctx_fail(ctx, -EINVAL, "report", "NULL");
	ret = reader_open(&rt, t, "t", &e);
	if (!ret)
		ret = reader_open(&rr, ref, "ref", &e);
	if (!ret)
		ret = same_dims(&rt.t, &rr.t, &e);
	if (ret)
		return ctx_set_error(ctx, &e);
	if (!operand_empty(&rt.t))
		compare(&rt, &rr, &out);
	ret = struct_out(report, &out, sizeof(out), sizeof(out));
	return ret ? ctx_fail(ctx, ret, "report.size", "shorter than the first version") : 0;
}
