/* SPDX-License-Identifier: MIT */
/*
 * What the tests of calibration and of quantised tensors share: a context,
 * numbers of known distributions.
 */
#ifndef LIBACCEL_TESTS_CALIB_H
#define LIBACCEL_TESTS_CALIB_H

#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <accel/accel.h>
#include "guest.h"

static struct accel_device *dev;
static struct accel_ctx *ctx;
static uint64_t rng;

/* --- numbers --------------------------------------------------------------- */

static inline double uniform(void)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(rng >> 11) / (double)(1ull << 53);
}

/* Of mean 0 and variance 1 (Box and Muller). */
static inline double normal(void)
{
	double u = 1 - uniform(), v = uniform();

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static inline struct accel_tensor tensor(uint32_t rank, const int64_t *dims)
{
	struct accel_tensor t = accel_tensor_dense(NULL, ACCEL_F32, rank, dims);
	uint64_t bytes;

	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(accel_bo_create(ctx, bytes, NULL, &t.bo), 0);
	return t;
}

static inline struct accel_tensor vector(int64_t n)
{
	return tensor(1, &n);
}

static inline float *numbers(const struct accel_tensor *t)
{
	return accel_bo_ptr(t->bo);
}

static inline uint64_t count(const struct accel_tensor *t)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n *= (uint64_t)t->dims[i];
	return n;
}

static inline void fill_normal(struct accel_tensor *t, double sigma, double mean)
{
	uint64_t i;

	for (i = 0; i < count(t); i++)
		numbers(t)[i] = (float)(normal() * sigma + mean);
}

/* Calibrate with one tensor. */
static inline struct accel_calib *watch(const struct accel_calib_opts *opts,
					const struct accel_tensor *t)
{
	struct accel_calib *c;

	assert_int_equal(accel_calib_create(ctx, opts, &c), 0);
	assert_int_equal(accel_calib_observe(c, t), 0);
	return c;
}

static inline struct accel_quant quant_of(const struct accel_calib_opts *opts,
					  const struct accel_tensor *t)
{
	struct accel_calib *c = watch(opts, t);
	struct accel_quant q;

	assert_int_equal(accel_calib_get_quant(c, &q), 0);
	accel_calib_destroy(c);
	return q;
}

static inline void assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g is not within %g of %.17g", got, tolerance, want);
}

/* The call failed with a code and blames a field. */
static inline void blames(int ret, int code, const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	assert_int_equal(ret, code);
	assert_int_equal(accel_ctx_get_error(ctx, &e), 0);
	assert_int_equal(e.code, code);
	assert_string_equal(e.field, field);
	assert_true(e.text[0]);
}

static inline int setup(void **state)
{
	(void)state;
	return accel_device_open(test_device("sw"), NULL, &dev) ||
	       accel_ctx_create(dev, NULL, &ctx);
}

/* Nothing is left behind. */
static inline int teardown(void **state)
{
	struct accel_memory_stats stats = { .size = sizeof(stats) };
	int ret = accel_ctx_get_memory(ctx, &stats) || stats.bo_count;

	(void)state;
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return ret;
}

#endif /* LIBACCEL_TESTS_CALIB_H */
