// SPDX-License-Identifier: MIT
/*
 * Numbers become blocks. Scales, and minima where blocks have them, are those of some candidates
 * that leave the least sum of squares, each weighed; for the numbers that a candidate rounds to,
 * the best ones follow from these (weighted linear regression).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "blocks.h"

/* Candidates on either side of the one that follows from the extremes, a tenth of a step apart */
#define TRIES		9

/* To the nearest, for magnitudes below 2^22; without a call */
static float nearest(float x)
{
	return (x + 12582912.0f) - 12582912.0f;
}

static float clamp(float x, float lo, float hi)
{
	x = nearest(x);
	return x < lo ? lo : x > hi ? hi : x;
}

static uint16_t half_bits(float x)
{
	uint32_t bits, sign;

	memcpy(&bits, &x, sizeof(bits));
	sign = bits >> 16 & 0x8000;
	bits &= 0x7fffffff;
	if (bits > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (bits >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);
	/* Below the normal ones steps are equal. */
	if (bits < 0x38800000)
		return (uint16_t)(sign | (uint32_t)nearest(fabsf(x) * 16777216.0f));
	bits += 0xfff + (bits >> 13 & 1);
	return (uint16_t)(sign | (bits - 0x38000000) >> 13);
}

/* A scale as the block has it; what is left of it has to be finite */
static float put_half(float x, uint8_t *to, int *ret)
{
	uint16_t bits = half_bits(x);

	if ((bits & 0x7c00) == 0x7c00)
		*ret = -ERANGE;
	memcpy(to, &bits, sizeof(bits));
	return (float)half_value(bits);
}

/* 1 / x, or 0: all numbers become 0 */
static float over(float x)
{
	float y = 1 / x;

	return x != 0 && isfinite(y) ? y : 0;
}

/* --- the best scale, and minimum ------------------------------------------------------------ */

/* x = d q, q from -@low to @low - 1 */
static float fit_scale(const float *x, const float *w, uint32_t n, float low)
{
	float most = 0, best = 0, d = 0, inv, q, xq, qq;
	uint32_t i;
	int k;

	for (i = 0; i < n; i++)
		most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
	for (k = -TRIES; k <= TRIES; k++) {
		/* The largest is that which -low stands for, or near it. */
		inv = -(low + 0.1f * (float)k) * over(most);
		xq = qq = 0;
		for (i = 0; i < n; i++) {
			q = clamp(inv * x[i], -low, low - 1);
			xq += w[i] * x[i] * q;
			qq += w[i] * q * q;
		}
		if (qq > 0 && xq * xq > best * qq) {
			best = xq * xq / qq;
			d = xq / qq;
		}
	}
	return d;
}

/* x = d q + min, q from 0 to @high; @below: min is not above 0 */
static float fit_minimum(const float *x, const float *w, uint32_t n, float high, bool below,
			 float *min)
{
	float lo = x[0], hi = x[0], sw = 0, sx = 0, best = INFINITY, scale = 0;
	uint32_t i;
	int k;

	for (i = 0; i < n; i++) {
		lo = x[i] < lo ? x[i] : lo;
		hi = x[i] > hi ? x[i] : hi;
		sw += w[i];
		sx += w[i] * x[i];
	}
	lo = below && lo > 0 ? 0 : lo;
	*min = lo;
	for (k = -TRIES; k <= TRIES && hi > lo; k++) {
		const float inv = (high + 0.1f * (float)k) * over(hi - lo);
		float sq = 0, qq = 0, xq = 0, error = 0, d, m, q, e;

		for (i = 0; i < n; i++) {
			q = clamp(inv * (x[i] - lo), 0, high);
			sq += w[i] * q;
			qq += w[i] * q * q;
			xq += w[i] * x[i] * q;
		}
		d = sw * qq - sq * sq;
		if (!(d > 0))
			continue;
		m = (qq * sx - sq * xq) / d;
		d = (sw * xq - sx * sq) / d;
		if (below && m > 0) {
			m = 0;
			d = xq / qq;
		}
		for (i = 0; i < n; i++) {
			e = d * clamp(inv * (x[i] - lo), 0, high) + m - x[i];
			error += w[i] * e * e;
		}
		if (error < best) {
			best = error;
			scale = d;
			*min = m;
		}
	}
	return scale;
}

/* --- blocks --------------------------------------------------------------------------------- */

static int put_q8_0(const float *x, const float *w, uint8_t *to)
{
	float most = 0, inv;
	uint32_t i;
	int ret = 0;

	(void)w;
	for (i = 0; i < 32; i++)
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	inv = over(put_half(most / 127, to, &ret));
	for (i = 0; i < 32; i++)
		to[2 + i] = (uint8_t)(int8_t)clamp(x[i] * inv, -127, 127);
	return ret;
}

static int put_q4_0(const float *x, const float *w, uint8_t *to)
{
	uint32_t i, q;
	int ret = 0;
	float inv = over(put_half(fit_scale(x, w, 32, 8), to, &ret));

	memset(to + 2, 0, 16);
	for (i = 0; i < 32; i++) {
		q = (uint32_t)(clamp(x[i] * inv, -8, 7) + 8);
		to[2 + i % 16] |= (uint8_t)(q << (i < 16 ? 0 : 4));
	}
	return ret;
}

static int put_q4_1(const float *x, const float *w, uint8_t *to)
{
	float min, inv;
	uint32_t i, q;
	int ret = 0;

	inv = over(put_half(fit_minimum(x, w, 32, 15, false, &min), to, &ret));
	min = put_half(min, to + 2, &ret);
	memset(to + 4, 0, 16);
	for (i = 0; i < 32; i++) {
		q = (uint32_t)clamp((x[i] - min) * inv, 0, 15);
		to[4 + i % 16] |= (uint8_t)(q << (i < 16 ? 0 : 4));
	}
	return ret;
}

static int put_q4_k(const float *x, const float *w, uint8_t *to)
{
	float scale[8], min[8], most = 0, least = 0, d, e, inv;
	uint32_t i, k, q, s, m;
	uint8_t *six = to + 4;
	int ret = 0;

	for (i = 0; i < 8; i++) {
		scale[i] = fit_minimum(x + 32 * i, w + 32 * i, 32, 15, true, &min[i]);
		most = scale[i] > most ? scale[i] : most;
		least = min[i] < least ? min[i] : least;
	}
	d = put_half(most / 63, to, &ret);
	e = put_half(-least / 63, to + 2, &ret);
	memset(six, 0, 12 + 128);
	for (i = 0; i < 8; i++) {
		s = (uint32_t)clamp(scale[i] * over(d), 0, 63);
		m = (uint32_t)clamp(-min[i] * over(e), 0, 63);
		if (i < 4) {
			six[i] |= (uint8_t)s;
			six[i + 4] |= (uint8_t)m;
		} else {
			six[i + 4] = (uint8_t)((s & 15) | (m & 15) << 4);
			six[i - 4] |= (uint8_t)(s >> 4 << 6);
			six[i] |= (uint8_t)(m >> 4 << 6);
		}
		inv = over(d * (float)s);
		for (k = 32 * i; k < 32 * i + 32; k++) {
			q = (uint32_t)clamp((x[k] + e * (float)m) * inv, 0, 15);
			to[16 + k / 64 * 32 + k % 32] |= (uint8_t)(q << k / 32 % 2 * 4);
		}
	}
	return ret;
}

static int write_q6_k(const float *x, const float *w, uint8_t *to)
{
	float scale[16], most = 0, d, inv;
	struct packed b;
	uint32_t i, k;
	int ret = 0;

	for (i = 0; i < 16; i++) {
		scale[i] = fit_scale(x + 16 * i, w + 16 * i, 16, 32);
		most = fabsf(scale[i]) > fabsf(most) ? scale[i] : most;
	}
	/* Of the scales of 8 bits there is one more below 0. */
	d = put_half(most / -128, (uint8_t *)&b.d, &ret);
	for (i = 0; i < 16; i++) {
		b.s[i] = (int8_t)clamp(scale[i] * over(d), -128, 127);
		inv = over(d * (float)b.s[i]);
		for (k = 16 * i; k < 16 * i + 16; k++)
			b.q[k] = (int8_t)clamp(x[k] * inv, -32, 31);
	}
	put_q6_k(&b, to);
	return ret;
}

static void put_row(uint32_t dtype, const float *x, uint64_t columns, uint8_t *to)
{
	uint32_t bits;
	uint16_t half;
	uint64_t i;

	for (i = 0; i < columns; i++) {
		if (dtype == ACCEL_F16) {
			half = half_bits(x[i]);
		} else {
			memcpy(&bits, &x[i], sizeof(bits));
			if ((bits & 0x7fffffff) > 0x7f800000)
				bits |= 0x400000;
			else
				bits += 0x7fff + (bits >> 16 & 1);
			half = (uint16_t)(bits >> 16);
		}
		memcpy(to + 2 * i, &half, sizeof(half));
	}
}

/* What counts little counts something, or what is left of it could be anything. */
static void weigh(const float *weights, uint32_t count, float *w)
{
	float sum = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		w[i] = weights && weights[i] > 0 ? weights[i] : 0;
		sum += w[i];
	}
	for (i = 0; i < count; i++)
		w[i] = sum > 0 && isfinite(sum) ? w[i] / sum * (float)count + 0.001f : 1;
}

int accel_blocks_write(uint32_t dtype, const float *from, uint64_t rows, uint64_t columns,
		       const float *weights, void *to)
{
	FP_MODE_SCOPE();
	static int (*const puts[])(const float *x, const float *w, uint8_t *to) = {
		[ACCEL_Q8_0] = put_q8_0, [ACCEL_Q4_0] = put_q4_0, [ACCEL_Q4_1] = put_q4_1,
		[ACCEL_Q4_K] = put_q4_k, [ACCEL_Q6_K] = write_q6_k, [ACCEL_DTYPE_COUNT] = NULL
	};
	uint32_t count = 1, bytes, k;
	float w[MOST];
	uint8_t *d = to;
	uint64_t r, i;
	int ret;

	if (!from || !to)
		return -EINVAL;
	if (dtype >= ACCEL_DTYPE_COUNT ||
	    (!puts[dtype] && dtype != ACCEL_F32 && dtype != ACCEL_F16 && dtype != ACCEL_BF16))
		return -EOPNOTSUPP;
	bytes = accel_dtype_block(dtype, &count);
	if (columns % count)
		return -EINVAL;
	for (r = 0; r < rows; r++, from += columns) {
		if (dtype == ACCEL_F32)
			memcpy(d, from, columns * sizeof(*from));
		else if (!puts[dtype])
			put_row(dtype, from, columns, d);
		for (i = 0; i < columns && puts[dtype]; i += count) {
			for (k = 0; k < count; k++)
				if (!isfinite(from[i + k]))
					return -ERANGE;
			weigh(weights ? weights + i : NULL, count, w);
			ret = puts[dtype](from + i, w, d + i / count * bytes);
			if (ret)
				return ret;
		}
		d += columns / count * bytes;
	}
	return 0;
}
