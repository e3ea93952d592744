// SPDX-License-Identifier: MIT
/*
 * Bytes with scales that follow from the numbers: known to the last bit.
 */
#include "oracle_lines.h"

/**
 * struct line_scale - of a line
 * @scale: scale, in binary32
 * @zero: zero point
 */
struct line_scale {
	float scale;
	int64_t zero;
};

/* Each step is one rounding to binary32; binary64 in between does no harm. */
static struct line_scale scale_of(const struct accel_dynquant_desc *q, uint32_t axes,
				  const int64_t *at)
{
	bool asym = q->flags & ACCEL_DYNQUANT_ASYMMETRIC, nan = false;
	int64_t n = line_length(&q->a, axes), i, idx[ACCEL_MAX_RANK];
	int lo = q->d.dtype == ACCEL_S8 ? -128 : 0;
	struct line_scale s = { 0, lo + 128 };
	double max = 0, min = 0, v, z;
	uint32_t d;

	for (d = 0; d < ACCEL_MAX_RANK; d++)
		idx[d] = at[d];
	for (i = 0; i < n; i++) {
		line_index(&q->a, axes, i, idx);
		v = oracle_load(&q->a, idx);
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
	if (s.scale == 0)
		s.scale = 1;
	if (!asym)
		return s;
	z = nearbyint((float)(-min / s.scale));
	s.zero = oracle_saturate(isnan(z) ? lo : (int64_t)z + lo, q->d.dtype);
	return s;
}

static int64_t stored(const struct accel_dynquant_desc *q, struct line_scale s, double v)
{
	double x = nearbyint((float)(v / s.scale));

	/* Beyond the type either way, within 64 bits */
	x = isnan(x) ? 0 : x < -1e9 ? -1e9 : x > 1e9 ? 1e9 : x;
	return oracle_saturate((int64_t)x + s.zero, q->d.dtype);
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
		s = scale_of(q, axes, at);
		if (index == 1)
			r->num[e] = (struct oracle_num){ s.scale, 0 };
		if (index == 2)
			r->exact[e] = s.zero;
		for (i = 0; !index && i < count; i++) {
			for (uint32_t d = 0; d < ACCEL_MAX_RANK; d++)
				idx[d] = at[d];
			line_index(&q->a, axes, i, idx);
			r->exact[element_at(&q->d, idx)] =
				stored(q, s, oracle_load(&q->a, idx));
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
