// SPDX-License-Identifier: MIT
/*
 * Bytes with scales that follow from the numbers: known to the last bit.
 */
#include "oracle_lines.h"

/* Each step is one rounding to binary32; binary64 in between does no harm. */
struct line_scale line_scale_of(const struct accel_tensor *a, uint32_t axes, const int64_t *at,
				uint32_t dtype, uint32_t scale_dtype, bool asym)
{
	int64_t n = line_length(a, axes), i, idx[ACCEL_MAX_RANK];
	int lo = dtype == ACCEL_S8 ? -128 : 0;
	bool nan = false;
	struct line_scale s = { 0, lo + 128 };
	double max = 0, min = 0, v, z;
	uint32_t d;

	for (d = 0; d < ACCEL_MAX_RANK; d++)
		idx[d] = at[d];
	for (i = 0; i < n; i++) {
		line_index(a, axes, i, idx);
		v = oracle_load(a, idx);
		nan |= isnan(v);
		max = v > max ? v : max;
		min = v < min ? v : min;
	}
	if (nan)
		s.scale = NAN;
	else if (asym)
		s.scale = (float)((float)(max - min) / 255.0);
	else
		s.scale = (float)((max > -min ? max : -min) / 127);
	s.scale = (float)oracle_round((double)s.scale, scale_dtype);
	if (s.scale == 0)
		s.scale = 1;
	if (!asym)
		return s;
	z = nearbyint((float)(-min / s.scale));
	s.zero = oracle_saturate(isnan(z) ? lo : (int64_t)z + lo, dtype);
	return s;
}

int64_t line_stored(struct line_scale s, double v, uint32_t dtype)
{
	double x = nearbyint((float)(v / s.scale));

	/* Beyond the type either way, within 64 bits */
	x = isnan(x) ? 0 : x < -1e9 ? -1e9 : x > 1e9 ? 1e9 : x;
	return oracle_saturate((int64_t)x + s.zero, dtype);
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	const struct accel_dynquant_desc *q = (const void *)desc;

	return index == 0 ? &q->d : index == 1 ? &q->scales : index == 2 ? &q->zeros : NULL;
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_dynquant_desc *q = (const void *)desc;
	uint32_t axes = q->axes ? q->axes : (1u << q->a.rank) - 1;
	const struct accel_tensor *t = result(desc, index);
	int64_t idx[ACCEL_MAX_RANK], at[ACCEL_MAX_RANK], i, count;
	struct line_scale s;
	uint64_t e, n;

	if (oracle_begin(r, t, index != 1))
		return -1;
	n = oracle_count(&q->scales);
	count = line_length(&q->a, axes);
	for (e = 0; e < n; e++) {
		oracle_index(&q->scales, e, at);
		s = line_scale_of(&q->a, axes, at, q->d.dtype, ACCEL_F32,
				  q->flags & ACCEL_DYNQUANT_ASYMMETRIC);
		if (index == 1)
			r->num[e] = (struct oracle_num){ s.scale, 0 };
		if (index == 2)
			r->exact[e] = s.zero;
		for (i = 0; !index && i < count; i++) {
			for (uint32_t d = 0; d < ACCEL_MAX_RANK; d++)
				idx[d] = at[d];
			line_index(&q->a, axes, i, idx);
			r->exact[element_at(&q->d, idx)] =
				line_stored(s, oracle_load(&q->a, idx), q->d.dtype);
		}
	}
	return 0;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_dynquant_desc *q = (const void *)desc;

	op_say_text(buf, size, " flags %u axes 0x%x", q->flags, q->axes);
	op_say_tensor("a", &q->a, buf, size);
	op_say_tensor("d", &q->d, buf, size);
	op_say_tensor("scales", &q->scales, buf, size);
	op_say_tensor("zeros", &q->zeros, buf, size);
}

const struct oracle_op oracle_dynquant = {
	.result = result, .compute = compute, .say = say,
};
