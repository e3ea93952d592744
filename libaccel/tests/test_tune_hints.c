// SPDX-License-Identifier: MIT
/*
 * A hint costs time at most: with any, operations give what they give without,
 * integers to the bit, and others but for the order of their sums.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/tests/guest.h"
#include "libaccel/tune/tune.h"

#define HINTS	60

static struct accel_device *dev;
static struct accel_ctx *ctx;
/* Has this processor kernels of its own, and wide ones? */
static bool avx2, avx512;

/* One of a field's values: nothing, small, usual, and what cannot be */
static uint16_t pick(uint32_t *seed, const uint16_t *values, uint32_t count)
{
	*seed = *seed * 1664525 + 1013904223;
	return values[(*seed >> 16) % count];
}

static struct fast_hint any_hint(uint32_t *seed)
{
	static const uint16_t variants[] = { 0, 0, 1, 2, 3, 4, 7, 255, UINT16_MAX };
	static const uint16_t sizes[] = {
		0, 0, 0, 1, 2, 3, 7, 8, 14, 16, 31, 48, 56, 64, 100, 128, 256, 1024, 32768,
		UINT16_MAX
	};
	static const uint16_t threads[] = { 0, 0, 1, 2, 3, 300, UINT16_MAX };
	struct fast_hint h = { 0 };

	h.variant = pick(seed, variants, 9);
	h.mt = pick(seed, sizes, 20);
	h.nt = pick(seed, sizes, 20);
	h.kt = pick(seed, sizes, 20);
	h.threads = pick(seed, threads, 7);
	return h;
}

/* Run it on the same random numbers as ever; returns the bytes of D. */
static void *run(const struct accel_desc *desc, const struct fast_hint *hint, uint32_t pieces,
		 uint64_t *bytes)
{
	struct accel_binding bindings[PLAN_MAX_ARGS];
	struct job_bindings bound = { bindings, 0, NULL };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct tune_scratch scratch = { 0 };
	const struct accel_tensor *d;
	struct accel_plan *plan;
	struct choices *all;
	struct request req;
	union any_desc copy;
	void *out;

	assert_int_equal(request_create(desc, &copy, &req, &e), 0);
	assert_int_equal(tune_scratch_create(ctx, &req, &scratch), 0);
	assert_int_equal(ask_engines(dev, &req, false, &all), 0);
	assert_true(all->chosen < all->count);
	assert_int_equal(plan_make(ctx, &req, all, pieces, &plan, &e), 0);
	plan->hint = *hint;
	bound.count = plan_bindings(plan, &req, bindings);
	assert_int_equal(plan_run(plan, &bound), 0);
	d = req.t[UMA_SLOT_DST].from;
	*bytes = operand_bytes(&req.t[UMA_SLOT_DST]);
	out = malloc(*bytes);
	assert_non_null(out);
	memcpy(out, (const char *)accel_bo_ptr(d->bo) + d->offset, *bytes);
	accel_plan_unref(plan);
	free(all);
	request_release(&req);
	tune_scratch_destroy(&scratch);
	return out;
}

/* @bound: largest difference of fp32 numbers, 0: to the bit */
static void try_hints(const struct accel_desc *desc, float bound, uint32_t pieces)
{
	const struct fast_hint none = { 0 };
	static uint32_t turn;
	uint64_t bytes, again, i;
	uint32_t seed = 7, k, p;
	float *want, *got;

	want = run(desc, &none, 0, &bytes);
	for (k = 0; k < HINTS; k++) {
		struct fast_hint h = any_hint(&seed);

		if (test_left_out(k, turn))
			continue;
		p = pieces ? k % (pieces + 1) : 0;
		got = run(desc, &h, p, &again);
		assert_int_equal(again, bytes);
		if (bound == 0)
			assert_memory_equal(got, want, bytes);
		for (i = 0; bound > 0 && i < bytes / sizeof(*got); i++)
			if (!(fabsf(got[i] - want[i]) <= bound))
				fail_msg("variant %u, tile %ux%ux%u, %u threads, %u pieces: element %llu is %g, not %g",
					 h.variant, h.mt, h.nt, h.kt, h.threads, p,
					 (unsigned long long)i, (double)got[i], (double)want[i]);
		free(got);
	}
	/* Where some are left out, the next operation has others. */
	turn++;
	free(want);
}

/**
 * struct offers - what was measured of an operation
 * @ways: candidates without a hint
 * @tiles: with one for the size of a tile
 * @threads: with one for the number of threads
 */
struct offers {
	uint32_t ways;
	uint32_t tiles;
	uint32_t threads;
};

static int count_offers(void *user, const struct accel_tune_entry *e)
{
	struct offers *o = user;
	uint32_t i;

	for (i = 0; i < e->candidate_count; i++) {
		o->ways += !*e->candidates[i].hint;
		o->tiles += !!strstr(e->candidates[i].hint, "tile");
		o->threads += !!strstr(e->candidates[i].hint, "thread");
	}
	return 0;
}

/* Its class offers tiles, and threads for what is worth sharing, where there is a class. */
static void offers(const struct accel_desc *desc, bool fast, bool shared)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct offers o = { 0 };
	int ret;

	opts.tune_budget_ms = 10000;
	opts.flags = ACCEL_PLAN_TUNE_KEEP_OUT;
	ret = accel_tune(ctx, desc, &opts, count_offers, &o);
	if (ret == -ENOENT && !fast)
		return;
	assert_int_equal(ret, 0);
	assert_true(o.ways > 0);
	if (fast && !o.tiles)
		fail_msg("%s: no tiles among its candidates", accel_op_name(desc->op));
	if (fast && shared)
		assert_true(o.threads > 0);
}

static void product(int64_t m, int64_t n, int64_t k, uint32_t in, uint32_t out, uint32_t flags)
{
	const int64_t a[] = { m, k }, b[] = { k, n }, d[] = { m, n };
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;

	g.flags = flags;
	g.a = accel_tensor_dense(NULL, in, 2, a);
	g.b = accel_tensor_dense(NULL, in, 2, b);
	g.d = accel_tensor_dense(NULL, out, 2, d);
	/* Sums of k products of up to 1, in another order. */
	try_hints(&g.hdr, out == ACCEL_S32 ? 0 : (float)k * 0.000001f, 0);
	offers(&g.hdr, avx2 && in == ACCEL_F32 && flags, m * n * k > 1 << 21);
}

static void test_products(void **state)
{
	(void)state;
	product(67, 129, 300, ACCEL_F32, ACCEL_F32, 0);
	product(67, 129, 300, ACCEL_F32, ACCEL_F32, ACCEL_GEMM_PACK_B);
	product(67, 129, 300, ACCEL_BF16, ACCEL_F32, ACCEL_GEMM_PACK_B);
	product(67, 129, 300, ACCEL_S8, ACCEL_S32, ACCEL_GEMM_PACK_B);
	product(67, 129, 300, ACCEL_S8, ACCEL_S32, 0);
}

static void test_rows(void **state)
{
	(void)state;
	product(1, 515, 770, ACCEL_F32, ACCEL_F32, ACCEL_GEMM_PACK_B);
	product(1, 2048, 1030, ACCEL_F32, ACCEL_F32, ACCEL_GEMM_PACK_B);
	product(1, 515, 770, ACCEL_S8, ACCEL_S32, ACCEL_GEMM_PACK_B);
	product(5, 515, 770, ACCEL_F32, ACCEL_F32, 0);
}

/* [N, C, H, W] with a pixel's channels side by side. */
static void channels_last(struct accel_tensor *t)
{
	t->flags |= ACCEL_TENSOR_STRIDES;
	t->strides[0] = t->dims[1] * t->dims[2] * t->dims[3];
	t->strides[1] = 1;
	t->strides[2] = t->dims[3] * t->dims[1];
	t->strides[3] = t->dims[1];
}

static void convolution(uint32_t in, uint32_t out, int64_t c, int64_t groups, uint32_t algorithm)
{
	const int64_t a[] = { 2, c, 13, 15 }, b[] = { c, c / groups, 3, 3 };
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;

	d.flags = ACCEL_CONV_PACK_B;
	d.algorithm = algorithm;
	d.groups = (uint32_t)groups;
	d.a = accel_tensor_dense(NULL, in, 4, a);
	d.b = accel_tensor_dense(NULL, in, 4, b);
	d.d = accel_tensor_dense(NULL, out, 4, a);
	d.pad_before[0] = d.pad_before[1] = 1;
	d.pad_after[0] = d.pad_after[1] = 1;
	if (groups > 1) {
		channels_last(&d.a);
		channels_last(&d.d);
	}
	try_hints(&d.hdr, out == ACCEL_S32 ? 0 : (float)c * 0.00002f, 0);
	offers(&d.hdr, in == ACCEL_F32 && (groups > 1 ? avx512 : avx2), groups == 1);
}

static void test_convolutions(void **state)
{
	(void)state;
	convolution(ACCEL_F32, ACCEL_F32, 40, 1, ACCEL_CONV_AUTO);
	convolution(ACCEL_F32, ACCEL_F32, 40, 1, ACCEL_CONV_WINOGRAD_4);
	convolution(ACCEL_S8, ACCEL_S32, 40, 1, ACCEL_CONV_AUTO);
	convolution(ACCEL_F32, ACCEL_F32, 40, 40, ACCEL_CONV_AUTO);
}

static void test_attentions(void **state)
{
	const int64_t q[] = { 1, 3, 4, 48 }, k[] = { 1, 333, 2, 48 }, p[] = { 6, 1, 3, 4, 50 };
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;

	(void)state;
	d.flags = ACCEL_ATTENTION_CAUSAL;
	d.q = accel_tensor_dense(NULL, ACCEL_F32, 4, q);
	d.k = accel_tensor_dense(NULL, ACCEL_F32, 4, k);
	d.v = d.k;
	d.d = d.q;
	try_hints(&d.hdr, 0.00001f, 0);
	offers(&d.hdr, avx2, false);
	/* Fewer pieces than there is memory for are a matter of speed too. */
	d.partials = accel_tensor_dense(NULL, ACCEL_F32, 5, p);
	try_hints(&d.hdr, 0.00001f, 6);
}

static void test_prompts(void **state)
{
	const int64_t q[] = { 1, 200, 4, 40 };
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;

	(void)state;
	d.q = accel_tensor_dense(NULL, ACCEL_F32, 4, q);
	d.k = d.q;
	d.v = d.q;
	d.d = d.q;
	try_hints(&d.hdr, 0.00001f, 0);
	offers(&d.hdr, avx2, true);
}

static int open_device(void **state)
{
	struct accel_device_info info = { .size = sizeof(info) };
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;

	(void)state;
	opts.threads = 2;
	if (accel_device_open("sw", &opts, &dev) || accel_ctx_create(dev, NULL, &ctx) ||
	    accel_device_get_info(dev, &info))
		return -1;
	avx512 = !strncmp(info.kernels, "avx512", 6) || !strncmp(info.kernels, "amx", 3);
	avx2 = avx512 || !strcmp(info.kernels, "avx2");
	return 0;
}

static int close_device(void **state)
{
	(void)state;
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_convolutions),
		cmocka_unit_test(test_attentions),
		cmocka_unit_test(test_prompts),
	};

	return cmocka_run_group_tests_name("tune hints", tests, open_device, close_device);
}
