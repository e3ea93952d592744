/* SPDX-License-Identifier: MIT */
/*
 * Lines: the elements of a tensor that differ along some dimensions only.
 */
#ifndef LIBACCEL_TESTS_ORACLE_LINES_H
#define LIBACCEL_TESTS_ORACLE_LINES_H

#include <math.h>
#include <stdlib.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

/* What a sum of so many numbers in binary64 may be off by, of their magnitudes. */
#define ORACLE_SUM64(n)	((double)((n) + 16) / (1ll << 52))

static inline int64_t line_length(const struct accel_tensor *t, uint32_t axes)
{
	int64_t n = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (axes >> i & 1)
			n *= t->dims[i];
	return n;
}

/* Index of element @n of a line, row-major along @axes. */
static inline void line_index(const struct accel_tensor *t, uint32_t axes, int64_t n,
			      int64_t *idx)
{
	uint32_t i;

	for (i = t->rank; i-- > 0; ) {
		if (!(axes >> i & 1))
			continue;
		idx[i] = n % t->dims[i];
		n /= t->dims[i];
	}
}

/* Number of the element of @t at an index, row-major. */
static inline uint64_t element_at(const struct accel_tensor *t, const int64_t *idx)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n = n * (uint64_t)t->dims[i] + (uint64_t)idx[i];
	return n;
}

static inline bool line_starts(const struct accel_tensor *t, uint32_t axes,
			       const int64_t *idx)
{
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if ((axes >> i & 1) && idx[i])
			return false;
	return true;
}

static inline bool is_plain(const struct accel_tensor *t)
{
	return t->dtype > ACCEL_BF16 && !t->quant.scheme;
}

static inline uint32_t axis_of(const struct accel_tensor *d, int32_t axis)
{
	return (uint32_t)(axis < 0 ? axis + (int32_t)d->rank : axis);
}

/* A number that was computed to @rel of itself and @abs. */
static inline struct oracle_num bounded(double v, double rel, double abs)
{
	if (!isfinite(v))
		return (struct oracle_num){ v, 0 };
	return (struct oracle_num){ v, fabs(v) * rel + abs + ORACLE_TINY };
}

/**
 * struct line_scale - what a line of bytes has
 * @scale: scale, in binary32, as it is stored
 * @zero: zero point
 */
struct line_scale {
	float scale;
	int64_t zero;
};

/* oracle_dynquant.c: the line along @axes at an index, and an element of it */
struct line_scale line_scale_of(const struct accel_tensor *a, uint32_t axes, const int64_t *at,
				uint32_t dtype, uint32_t scale_dtype, bool asym);
int64_t line_stored(struct line_scale s, double v, uint32_t dtype);

#endif /* LIBACCEL_TESTS_ORACLE_LINES_H */
