// SPDX-License-Identifier: MIT
/*
 * Calibration: scales and zero points of distributions that are known, against
 * the same written down directly, without histograms that grow; quantised
 * tensors against the float ones.
 */
#include "calib.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Ranges that the methods try, see the header */
#define STEPS		256

static void range_of(const struct accel_calib_opts *opts,
		     const struct accel_tensor *t, double *lo, double *hi)
{
	struct accel_calib *c = watch(opts, t);

	assert_int_equal(accel_calib_get_range(c, 0, lo, hi), 0);
	accel_calib_destroy(c);
}

static void limits(uint32_t dtype, int *lo, int *hi)
{
	*lo = dtype == ACCEL_S8 ? -128 : dtype == ACCEL_S4 ? -8 : 0;
	*hi = *lo + (dtype == ACCEL_S8 || dtype == ACCEL_U8 ? 255 : 15);
}

/* --- extremes ---------------------------------------------------------------- */

static void test_minmax(void **state)
{
	static const struct {
		uint32_t dtype, flags;
		float lo, hi;
		double scale;
		int zero;
	} rows[] = {
		{ ACCEL_S8, 0, -1, 3, 3 / 127., 0 },
		{ ACCEL_S8, 0, -5, 3, 5 / 127., 0 },
		{ ACCEL_U8, 0, -5, 3, 5 / 127., 128 },
		{ ACCEL_S4, 0, -5, 3, 5 / 7., 0 },
		{ ACCEL_U4, 0, -5, 3, 5 / 7., 8 },
		{ ACCEL_U8, ACCEL_CALIB_ASYMMETRIC, -1, 3, 4 / 255., 64 },
		{ ACCEL_S8, ACCEL_CALIB_ASYMMETRIC, -1, 3, 4 / 255., -64 },
		{ ACCEL_U4, ACCEL_CALIB_ASYMMETRIC, -1, 3, 4 / 15., 4 },
		{ ACCEL_S4, ACCEL_CALIB_ASYMMETRIC, -1, 3, 4 / 15., -4 },
		/* 0 is always in the range */
		{ ACCEL_U8, ACCEL_CALIB_ASYMMETRIC, 2, 5.1f, 5.1f / 255., 0 },
		{ ACCEL_U8, ACCEL_CALIB_ASYMMETRIC, -5.1f, -2, 5.1f / 255., 255 },
		{ ACCEL_S8, ACCEL_CALIB_ASYMMETRIC, -5.1f, -2, 5.1f / 255., 127 },
		/* nothing but zeros */
		{ ACCEL_S8, 0, 0, 0, 1, 0 },
		{ ACCEL_U8, 0, 0, 0, 1, 128 },
		{ ACCEL_S8, ACCEL_CALIB_ASYMMETRIC, 0, 0, 1, -128 },
		/* the ends of binary32 */
		{ ACCEL_S8, ACCEL_CALIB_ASYMMETRIC, -FLT_MAX, FLT_MAX,
		  (double)FLT_MAX * 2 / 255, 0 },
		{ ACCEL_S8, 0, -FLT_TRUE_MIN * 8, FLT_TRUE_MIN, FLT_MIN, 0 },
	};
	struct accel_tensor t = vector(3);
	struct accel_quant q;
	uint32_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;

		o.dtype = rows[i].dtype;
		o.flags = rows[i].flags;
		numbers(&t)[0] = rows[i].hi;
		numbers(&t)[1] = rows[i].lo;
		numbers(&t)[2] = rows[i].lo / 2 + rows[i].hi / 2;
		q = quant_of(&o, &t);
		assert_int_equal(q.scheme, ACCEL_QUANT_TENSOR);
		assert_near(q.scale, rows[i].scale, rows[i].scale / 1e7);
		/* -63.5 of a tie may go either way with the rounded scale */
		assert_near(q.zero, rows[i].zero, rows[i].lo == -FLT_MAX ? 1 : 0);
		assert_null(q.scales);
	}
	accel_bo_unref(t.bo);
}

static void test_skipped(void **state)
{
	struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;
	struct accel_calib_info info = { .size = sizeof(info) };
	struct accel_tensor t = vector(6);
	struct accel_calib *c;
	struct accel_quant q;
	uint32_t m;

	(void)state;
	memcpy(numbers(&t), (float[]){ 1, NAN, -2, INFINITY, 0, -INFINITY }, 24);
	for (m = 0; m < ACCEL_CALIB_COUNT; m++) {
		o.method = m;
		c = watch(&o, &t);
		assert_int_equal(accel_calib_get_info(c, &info), 0);
		assert_int_equal(info.entries, 1);
		assert_int_equal(info.tensors, 1);
		assert_int_equal(info.values, 3);
		assert_int_equal(info.skipped, 3);
		assert_int_equal(accel_calib_get_quant(c, &q), 0);
		assert_true(q.scale > 0 && q.scale <= (float)(2 / 127.));
		accel_calib_destroy(c);
	}
	numbers(&t)[0] = numbers(&t)[2] = numbers(&t)[4] = NAN;
	for (m = 0; m < ACCEL_CALIB_COUNT; m++) {
		o.method = m;
		q = quant_of(&o, &t);
		assert_true(q.scale == 1);
		assert_int_equal(q.zero, 0);
	}
	accel_bo_unref(t.bo);
}

/* --- percentile ------------------------------------------------------------------ */

static void test_percentile(void **state)
{
	struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;
	struct accel_tensor t = vector(10000);
	const double bin = 16384 / 2048.;
	double lo, hi;
	uint32_t i;

	(void)state;
	/* 0 to 9999, in some order */
	for (i = 0; i < 10000; i++)
		numbers(&t)[i] = (float)(i * 7919 % 10000);
	o.method = ACCEL_CALIB_PERCENTILE;
	o.percentile = 99;
	range_of(&o, &t, &lo, &hi);
	assert_near(hi, 9900, bin);
	assert_near(lo, -9900, bin);
	o.percentile = 60;
	range_of(&o, &t, &lo, &hi);
	assert_near(hi, 6000, bin);
	o.percentile = 100;
	range_of(&o, &t, &lo, &hi);
	assert_near(hi, 9999, 0);
	o.percentile = 0;
	range_of(&o, &t, &lo, &hi);
	assert_near(hi, 9999, bin);

	/* -2500 to 7499: a half of what is outside at either end */
	for (i = 0; i < 10000; i++)
		numbers(&t)[i] -= 2500;
	o.flags = ACCEL_CALIB_ASYMMETRIC;
	o.percentile = 90;
	range_of(&o, &t, &lo, &hi);
	assert_near(lo, -2000, bin);
	assert_near(hi, 7000, bin);
	o.percentile = 51;
	range_of(&o, &t, &lo, &hi);
	assert_near(lo, -50, bin);
	assert_near(hi, 5050, bin);
	/* More than the side has: it ends at 0. */
	for (i = 0; i < 10000; i++)
		numbers(&t)[i] += 2400;
	range_of(&o, &t, &lo, &hi);
	assert_near(lo, 0, 0);
	accel_bo_unref(t.bo);
}

/* --- entropy and mean square error ------------------------------------------------- */

/* Mean square error of numbers that are stored with a range, one by one. */
static double square_error(const struct accel_tensor *t, uint32_t dtype, bool asym,
			   double lo, double hi)
{
	double scale, sum = 0, q, e;
	int min, max, zero, half;
	uint64_t i;

	limits(dtype, &min, &max);
	half = (max - min) / 2;
	scale = asym ? (hi - lo) / (max - min) : fmax(hi, -lo) / half;
	zero = asym ? (int)nearbyint(min - lo / scale) : min + (max - min + 1) / 2;
	for (i = 0; i < count(t); i++) {
		q = nearbyint(numbers(t)[i] / scale) + zero;
		q = q < min ? min : q > max ? max : q;
		e = (q - zero) * scale - numbers(t)[i];
		sum += e * e;
	}
	return sum / (double)count(t);
}

/* A bulk, and few numbers far away. */
static void fill_outliers(struct accel_tensor *t, double mean)
{
	uint64_t i;

	fill_normal(t, 1, mean);
	for (i = 0; i < count(t); i += 1000)
		numbers(t)[i] *= 20;
}

static void test_mse(void **state)
{
	static const uint32_t dtypes[] = { ACCEL_S8, ACCEL_U8, ACCEL_S4, ACCEL_U4 };
	struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;
	struct accel_tensor t = vector(test_small() ? 2000 : 20000);
	double lo, hi, best, got, all_lo, all_hi;
	uint32_t i, j, k;

	(void)state;
	rng = 1;
	o.method = ACCEL_CALIB_MSE;
	for (i = 0; i < 2 * ARRAY_SIZE(dtypes); i++) {
		bool asym = i & 1;

		fill_outliers(&t, asym ? 2 : 0);
		o.dtype = dtypes[i / 2];
		o.flags = asym ? ACCEL_CALIB_ASYMMETRIC : 0;
		o.method = ACCEL_CALIB_MINMAX;
		range_of(&o, &t, &all_lo, &all_hi);
		o.method = ACCEL_CALIB_MSE;
		range_of(&o, &t, &lo, &hi);
		got = square_error(&t, o.dtype, asym, lo, hi);
		/* The best of a grid, looking at the numbers themselves */
		best = INFINITY;
		for (j = 1; j <= 64; j++)
			for (k = asym ? 1 : 64; k <= 64; k++)
				best = fmin(best, square_error(&t, o.dtype, asym,
							       asym ? all_lo * k / 64 :
								      all_lo * j / 64,
							       all_hi * j / 64));
		if (!(got <= best * 1.02))
			fail_msg("%s%s: error %g with %g to %g, but %g was possible",
				 accel_dtype_name(o.dtype), asym ? " asymmetric" : "",
				 got, lo, hi, best);
		/* Outliers make 4 bits useless unless they are cut off. */
		if (o.dtype == ACCEL_S4)
			assert_true(got < 0.7 * square_error(&t, o.dtype, asym,
							     all_lo, all_hi));
	}
	accel_bo_unref(t.bo);
}

/* The divergence as in the paper: histogram of magnitudes, made at once. */
static double divergence(const double *h, int bins, int keep, int levels)
{
	double p[4096], q[4096], all = 0, inside = 0, sum = 0;
	int i, level;

	memset(p, 0, sizeof(p));
	memset(q, 0, sizeof(q));
	for (i = 0; i < bins; i++) {
		all += h[i];
		inside += i < keep ? h[i] : 0;
		p[i < keep ? i : keep - 1] += h[i];
	}
	for (level = 0; level < levels; level++) {
		int a = level * keep / levels, b = (level + 1) * keep / levels;
		double mass = 0, used = 0;

		for (i = a; i < b; i++) {
			mass += h[i];
			used += h[i] > 0;
		}
		for (i = a; i < b; i++)
			q[i] = h[i] > 0 ? mass / used : 0;
	}
	for (i = 0; i < keep; i++)
		if (p[i] > 0)
			sum += p[i] / all * log(p[i] / all * inside / q[i]);
	return sum;
}

static void test_entropy(void **state)
{
	struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;
	struct accel_tensor t = vector(50000);
	double h[2048], lo, hi, max, best, width, want;
	int i, bins, step, power = 0;

	(void)state;
	rng = 2;
	o.method = ACCEL_CALIB_ENTROPY;
	fill_outliers(&t, 0);
	range_of(&o, &t, &lo, &hi);
	memset(h, 0, sizeof(h));
	for (max = 0, i = 0; i < 50000; i++)
		max = fmax(max, fabsf(numbers(&t)[i]));
	frexp(max, &power);
	width = ldexp(1, power - 11);
	for (i = 0; i < 50000; i++)
		h[(int)(fabsf(numbers(&t)[i]) / width)]++;
	bins = (int)(max / width) + 1;
	best = INFINITY;
	want = 0;
	for (step = STEPS; step > 0; step--) {
		int keep = bins * step / STEPS;
		double d;

		if (keep < 128)
			break;
		d = divergence(h, bins, keep, 128);
		if (d < best) {
			best = d;
			want = fmin(keep * width, max);
		}
	}
	assert_near(hi, want, 1 / 1e9);
	assert_near(lo, -want, 1 / 1e9);
	/* The bulk counts, what lies far away does not. */
	assert_true(hi > 2 && hi < max / 2);

	/* Evenly spread: nothing to cut off. */
	for (i = 0; i < 50000; i++)
		numbers(&t)[i] = (float)(uniform() * 2 - 1);
	range_of(&o, &t, &lo, &hi);
	assert_true(hi > 0.97);
	/* After a ReLU, with a zero point: the lower end is 0. */
	o.dtype = ACCEL_U8;
	o.flags = ACCEL_CALIB_ASYMMETRIC;
	fill_outliers(&t, 0);
	for (i = 0; i < 50000; i++)
		numbers(&t)[i] = fmaxf(numbers(&t)[i], 0);
	range_of(&o, &t, &lo, &hi);
	assert_near(lo, 0, 0);
	assert_true(hi > 2 && hi < max / 2);
	/* Two-sided and skewed */
	for (i = 0; i < 50000; i++)
		numbers(&t)[i] = (float)(normal() + 1);
	range_of(&o, &t, &lo, &hi);
	assert_true(lo < -0.5 && lo > -4 && hi > 2.5 && hi < 6);
	accel_bo_unref(t.bo);
}

/* --- streams, channels, groups ------------------------------------------------------- */

/* Many tensors of unlike magnitudes, in any order, are as one. */
static void test_order(void **state)
{
	struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;
	struct accel_tensor parts[8], all = vector(8 * 512);
	uint32_t m, i, j;

	(void)state;
	rng = 3;
	for (i = 0; i < 8; i++) {
		parts[i] = vector(512);
		fill_normal(&parts[i], ldexp(1, (int)(i * 5 % 8) - 6), 0);
		numbers(&parts[i])[0] = 0;
		memcpy(numbers(&all) + (size_t)i * 512, numbers(&parts[i]), 2048);
	}
	for (m = 0; m < 2 * ACCEL_CALIB_COUNT; m++) {
		double lo, hi, got_lo, got_hi;

		o.method = m / 2;
		o.flags = m & 1 ? ACCEL_CALIB_ASYMMETRIC : 0;
		range_of(&o, &all, &lo, &hi);
		for (j = 1; j < 8; j += 2) {
			struct accel_calib *c;

			assert_int_equal(accel_calib_create(ctx, &o, &c), 0);
			for (i = 0; i < 8; i++)
				assert_int_equal(accel_calib_observe(c, &parts[i * j % 8]), 0);
			assert_int_equal(accel_calib_get_range(c, 0, &got_lo, &got_hi), 0);
			assert_near(got_lo, lo, 0);
			assert_near(got_hi, hi, 0);
			accel_calib_destroy(c);
		}
	}
	for (i = 0; i < 8; i++)
		accel_bo_unref(parts[i].bo);
	accel_bo_unref(all.bo);
}

/* Element of row r, column n of a matrix that lies transposed. */
static struct accel_tensor part(const struct accel_tensor *t, int64_t row, int64_t rows,
				int64_t col)
{
	struct accel_tensor v = *t;

	v.rank = 1;
	v.dims[0] = rows;
	v.dims[1] = 0;
	v.strides[0] = t->strides[0];
	v.strides[1] = 0;
	v.offset = (uint64_t)(row * t->strides[0] + col * t->strides[1]) * sizeof(float);
	return v;
}

/* Each entry of the tables is what its numbers alone would have given. */
static void test_tables(void **state)
{
	struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT, one;
	struct accel_tensor t = tensor(2, (int64_t[]){ 6, 70 });
	uint32_t m, i, k;

	(void)state;
	rng = 4;
	fill_normal(&t, 3, 1);
	/* [70, 6], read transposed */
	t.flags = ACCEL_TENSOR_STRIDES;
	t.dims[0] = 70;
	t.dims[1] = 6;
	t.strides[0] = 1;
	t.strides[1] = 70;
	o.dtype = ACCEL_U4;
	for (m = 0; m < 4 * ACCEL_CALIB_COUNT; m++) {
		bool group = m & 1;
		uint32_t runs = group ? 3 : 1;
		struct accel_quant q, want;

		o.method = m / 4;
		o.flags = m & 2 ? ACCEL_CALIB_ASYMMETRIC : 0;
		o.scheme = group ? ACCEL_QUANT_GROUP : ACCEL_QUANT_CHANNEL;
		o.axis = group ? 0 : 1;
		o.group = group ? 32 : 0;
		o.bins = o.method ? 512 : 0;
		q = quant_of(&o, &t);
		assert_int_equal(q.scheme, o.scheme);
		assert_int_equal(q.axis, o.axis);
		assert_int_equal(q.group, o.group);
		assert_non_null(q.zeros);
		one = o;
		one.scheme = ACCEL_QUANT_TENSOR;
		one.axis = one.group = 0;
		for (k = 0; k < runs; k++) {
			for (i = 0; i < 6; i++) {
				int64_t rows = !group ? 70 : k < 2 ? 32 : 6;
				struct accel_tensor v = part(&t, k * 32, rows, i);

				want = quant_of(&one, &v);
				assert_true(((float *)accel_bo_ptr(q.scales))[k * 6 + i] ==
					    want.scale);
				assert_int_equal(((int32_t *)accel_bo_ptr(q.zeros))[k * 6 + i],
						 want.zero);
			}
		}
		accel_quant_release(&q);
		assert_null(q.scales);
		assert_null(q.zeros);
	}
	accel_bo_unref(t.bo);
}

/* --- misuse ----------------------------------------------------------------------------- */

static void test_bad_options(void **state)
{
	static const struct {
		const char *field;
		struct accel_calib_opts o;
	} rows[] = {
#define OPTS(...) { .size = sizeof(struct accel_calib_opts), .dtype = ACCEL_S8, \
		    .scheme = ACCEL_QUANT_TENSOR, __VA_ARGS__ }
		{ "calib.size", { .size = 8 } },
		{ "calib.method", OPTS(.method = ACCEL_CALIB_COUNT) },
		{ "calib.flags", OPTS(.flags = 2) },
		{ "calib.pad", OPTS(.pad = 1) },
		{ "calib.axis", OPTS(.axis = 1) },
		{ "calib.group", OPTS(.group = 32) },
		{ "calib.scale_dtype", OPTS(.scale_dtype = ACCEL_F32) },
		{ "calib.bins", OPTS(.bins = 64) },
		{ "calib.bins", OPTS(.bins = 65, .method = ACCEL_CALIB_MSE) },
		{ "calib.bins", OPTS(.bins = 32, .method = ACCEL_CALIB_MSE) },
		{ "calib.bins", OPTS(.bins = 32768, .method = ACCEL_CALIB_MSE) },
		{ "calib.percentile", OPTS(.percentile = 99) },
#undef OPTS
#define OPTS(...) { .size = sizeof(struct accel_calib_opts), .method = 1, __VA_ARGS__ }
		{ "calib.dtype", OPTS(.dtype = ACCEL_F32, .scheme = 1) },
		{ "calib.dtype", OPTS(.dtype = ACCEL_NONE, .scheme = 1) },
		{ "calib.dtype", OPTS(.dtype = ACCEL_S32, .scheme = 1) },
		{ "calib.scheme", OPTS(.dtype = ACCEL_S4) },
		{ "calib.scheme", OPTS(.dtype = ACCEL_S4, .scheme = ACCEL_QUANT_COUNT) },
		{ "calib.scheme", OPTS(.dtype = ACCEL_S4, .scheme = ACCEL_QUANT_GROUP_MIN) },
		{ "calib.axis", OPTS(.dtype = ACCEL_S4, .scheme = 2, .axis = 5) },
		{ "calib.group", OPTS(.dtype = ACCEL_S4, .scheme = 3) },
		{ "calib.group", OPTS(.dtype = ACCEL_S4, .scheme = 3, .group = 24) },
		{ "calib.group", OPTS(.dtype = ACCEL_S4, .scheme = 3, .group = 8192) },
		{ "calib.scale_dtype", OPTS(.dtype = ACCEL_S4, .scheme = 2,
					    .scale_dtype = ACCEL_BF16) },
		{ "calib.percentile", OPTS(.dtype = ACCEL_S4, .scheme = 1,
					   .percentile = 50) },
		{ "calib.percentile", OPTS(.dtype = ACCEL_S4, .scheme = 1,
					   .percentile = 100.5) },
		{ "calib.percentile", OPTS(.dtype = ACCEL_S4, .scheme = 1,
					   .percentile = NAN) },
#undef OPTS
	};
	struct accel_calib *c = NULL;
	uint32_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		blames(accel_calib_create(ctx, &rows[i].o, &c), -EINVAL, rows[i].field);
		assert_null(c);
	}
}

static void test_bad_tensors(void **state)
{
	struct accel_calib_info info = { .size = sizeof(info) };
	struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;
	struct accel_tensor t = tensor(2, (int64_t[]){ 4, 32 }), bad;
	struct accel_quant quant = { .scheme = 77 };
	struct accel_calib *c;
	double lo, hi;

	(void)state;
	o.scheme = ACCEL_QUANT_GROUP;
	o.axis = 1;
	o.group = 16;
	assert_int_equal(accel_calib_create(ctx, &o, &c), 0);
	blames(accel_calib_get_quant(c, &quant), -ENODATA, "");
	assert_int_equal(quant.scheme, 77);
	blames(accel_calib_get_range(c, 0, &lo, &hi), -ENODATA, "");
	bad = t;
	bad.dtype = ACCEL_S8;
	blames(accel_calib_observe(c, &bad), -EINVAL, "t.dtype");
	bad = t;
	bad.bo = NULL;
	blames(accel_calib_observe(c, &bad), -EINVAL, "t.bo");
	bad = t;
	bad.offset = 4;
	blames(accel_calib_observe(c, &bad), -EINVAL, "t.offset");
	bad.offset = UINT64_MAX;
	blames(accel_calib_observe(c, &bad), -EINVAL, "t.offset");
	bad = accel_tensor_dense(t.bo, ACCEL_F32, 1, t.dims);
	blames(accel_calib_observe(c, &bad), -EINVAL, "t.rank");
	assert_int_equal(accel_calib_observe(c, &t), 0);
	bad = t;
	bad.dims[0] = 3;
	blames(accel_calib_observe(c, &bad), -EINVAL, "t.dims[0]");
	bad = t;
	bad.rank = 1;
	blames(accel_calib_observe(c, &bad), -EINVAL, "t.dims[1]");
	blames(accel_calib_get_range(c, 8, &lo, &hi), -EINVAL, "entry");
	/* None of them counted. */
	assert_int_equal(accel_calib_get_info(c, &info), 0);
	assert_int_equal(info.tensors, 1);
	assert_int_equal(info.entries, 8);
	accel_calib_destroy(c);
	accel_calib_destroy(NULL);

	accel_bo_unref(t.bo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minmax),
		cmocka_unit_test(test_skipped),
		cmocka_unit_test(test_percentile),
		cmocka_unit_test(test_mse),
		cmocka_unit_test(test_entropy),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_bad_tensors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("calib", tests, setup, teardown);
}
