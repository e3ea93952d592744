// SPDX-License-Identifier: MIT
/*
 * Quantised tensors against the float ones, through the device.
 */
#include "calib.h"

/* Every type and scheme through the device: within half a step. */
static void test_quantise(void **state)
{
	static const uint32_t dtypes[] = { ACCEL_S8, ACCEL_U8, ACCEL_S4, ACCEL_U4 };
	struct accel_tensor t = tensor(2, (int64_t[]){ 37, 21 });
	uint32_t i;

	(void)state;
	rng = 5;
	fill_normal(&t, 2, 0.5);
	for (i = 0; i < 4 * 3 * 4; i++) {
		struct accel_quant_error e = { .size = sizeof(e) };
		struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;
		uint32_t scheme = i / 4 % 3 + 1;
		struct accel_tensor q;
		struct accel_quant quant;

		o.dtype = dtypes[i % 4];
		o.scheme = scheme;
		o.axis = scheme == ACCEL_QUANT_CHANNEL;
		o.group = scheme == ACCEL_QUANT_GROUP ? 16 : 0;
		o.flags = i / 12 & 1 ? ACCEL_CALIB_ASYMMETRIC : 0;
		o.scale_dtype = scheme > 1 && i / 24 ? ACCEL_F16 : 0;
		quant = quant_of(&o, &t);
		assert_int_equal(accel_quantise(ctx, &t, o.dtype, &quant, &q), 0);
		assert_int_equal(accel_quant_report(ctx, &q, &t, &e), 0);
		assert_int_equal(e.values, 37 * 21);
		assert_int_equal(e.skipped, 0);
		/* The largest scale is that of 16 standard deviations over 15. */
		assert_true(e.max_abs <= (o.dtype == ACCEL_S8 || o.dtype == ACCEL_U8 ?
					  0.06 : 1.0));
		if (scheme == ACCEL_QUANT_TENSOR)
			assert_true(e.max_abs <= quant.scale * 0.5001 *
				    (o.flags ? 2 : 1));
		assert_true(e.sqnr_db > (o.dtype == ACCEL_S8 || o.dtype == ACCEL_U8 ?
					 35 : 12));
		assert_true(e.cosine > 0.96 && e.cosine <= 1);
		assert_true(e.rmse <= e.max_abs && e.mean_abs <= e.rmse);
		accel_quant_release(&quant);
		accel_bo_unref(q.bo);
	}
	accel_bo_unref(t.bo);
}

static void test_report(void **state)
{
	struct accel_quant_error e = { .size = sizeof(e) };
	struct accel_calib_opts o = ACCEL_CALIB_OPTS_INIT;
	struct accel_tensor t = vector(4), r = vector(4), big = vector(20000), q;
	struct accel_quant quant;
	uint64_t i;

	(void)state;
	memcpy(numbers(&t), (float[]){ 1, 2, 2, NAN }, 16);
	memcpy(numbers(&r), (float[]){ 1, 3, 0, 1 }, 16);
	assert_int_equal(accel_quant_report(ctx, &t, &r, &e), 0);
	assert_int_equal(e.values, 3);
	assert_int_equal(e.skipped, 1);
	assert_int_equal(e.saturated, 0);
	assert_near(e.max_abs, 2, 0);
	assert_int_equal(e.max_index, 2);
	assert_near(e.mean, 1 / 3., 1 / 1e15);
	assert_near(e.mean_abs, 1, 1 / 1e15);
	assert_near(e.rmse, sqrt(5 / 3.), 1 / 1e15);
	assert_near(e.sqnr_db, 10 * log10(10 / 5.), 1 / 1e12);
	assert_near(e.cosine, 7 / (3 * sqrt(10)), 1 / 1e12);
	assert_int_equal(accel_quant_report(ctx, &r, &r, &e), 0);
	assert_true(isinf(e.sqnr_db) && e.sqnr_db > 0);
	assert_near(e.cosine, 1, 1 / 1e12);
	assert_near(e.max_abs, 0, 0);

	/* Evenly spread over the range: the error is too, over a step. */
	rng = 6;
	for (i = 0; i < 20000; i++)
		numbers(&big)[i] = (float)(uniform() * 2 - 1);
	numbers(&big)[0] = 1;
	numbers(&big)[1] = -1;
	quant = quant_of(&o, &big);
	assert_int_equal(accel_quantise(ctx, &big, ACCEL_S8, &quant, &q), 0);
	assert_int_equal(accel_quant_report(ctx, &q, &big, &e), 0);
	assert_near(e.sqnr_db, 10 * log10(4 * 127. * 127), 0.15);
	assert_near(e.rmse, quant.scale / sqrt(12), quant.scale * 0.01);
	assert_near(e.mean, 0, quant.scale * 0.01);
	assert_true(e.max_abs <= quant.scale * 0.50001);
	accel_bo_unref(q.bo);
	/* At the ends */
	quant.scale /= 2;
	assert_int_equal(accel_quantise(ctx, &big, ACCEL_S8, &quant, &q), 0);
	assert_int_equal(accel_quant_report(ctx, &q, &big, &e), 0);
	assert_true(e.saturated > 9000 && e.saturated < 11000);
	assert_near(e.max_abs, 1 - 127 / 254., 1 / 1e6);
	accel_bo_unref(q.bo);
	accel_bo_unref(t.bo);
	accel_bo_unref(r.bo);
	accel_bo_unref(big.bo);
}

/* --- misuse ----------------------------------------------------------------------------- */

static void test_bad(void **state)
{
	struct accel_tensor t = tensor(2, (int64_t[]){ 4, 32 }), bad, q;
	struct accel_quant_error e = { .size = sizeof(e) };
	struct accel_quant quant;

	(void)state;
	bad = t;
	bad.dims[1] = 31;
	blames(accel_quant_report(ctx, &t, &bad, &e), -EINVAL, "ref.dims[1]");
	bad = accel_tensor_dense(t.bo, ACCEL_F32, 1, t.dims);
	blames(accel_quant_report(ctx, &t, &bad, &e), -EINVAL, "ref.rank");
	e.size = 4;
	blames(accel_quant_report(ctx, &t, &t, &e), -EINVAL, "report.size");
	quant = (struct accel_quant) { .scheme = ACCEL_QUANT_TENSOR, .scale = 1 };
	blames(accel_quantise(ctx, &t, ACCEL_F16, &quant, &q), -EINVAL, "dtype");
	quant.scale = 0;
	blames(accel_quantise(ctx, &t, ACCEL_S8, &quant, &q), -EINVAL, "copy.d.quant.scale");
	bad.dtype = ACCEL_S8;
	blames(accel_quantise(ctx, &bad, ACCEL_S8, &quant, &q), -EINVAL, "from.dtype");
	accel_bo_unref(t.bo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantise),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_bad),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("quant", tests, setup, teardown);
}
