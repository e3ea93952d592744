// SPDX-License-Identifier: MIT
/*
 * Two of four: what pruning leaves, and that a product with the rest left out of
 * memory has the bits of the product with the rest as zeros.
 */
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

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static struct accel_device *dev;
static struct accel_ctx *ctx;
static uint64_t rng;

static uint32_t number(void)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33);
}

/* In process kernels take the zeros along: nothing is left out of memory. */
static bool expands(void)
{
	struct accel_device_info info = { .size = sizeof(info) };

	assert_int_equal(accel_device_get_info(dev, &info), 0);
	return info.kernels[0] && strcmp(info.kernels, "portable") != 0 &&
	       strncmp(info.kernels, "model", 5) != 0;
}

static void open_device(const char *name)
{
	assert_int_equal(accel_device_open(name, NULL, &dev), 0);
	assert_int_equal(accel_ctx_create(dev, NULL, &ctx), 0);
}

static void close_device(void)
{
	struct accel_memory_stats stats = { .size = sizeof(stats) };

	assert_int_equal(accel_ctx_get_memory(ctx, &stats), 0);
	assert_int_equal(stats.bo_count, 0);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* A tensor in a buffer of its own: small finite numbers, zeros, equals. */
static struct accel_tensor tensor(uint32_t dtype, uint32_t rank, const int64_t *dims)
{
	struct accel_tensor t = accel_tensor_rows(NULL, dtype, rank, dims);
	uint64_t bytes, i;
	uint8_t *p;

	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(accel_bo_create(ctx, bytes + 1, NULL, &t.bo), 0);
	p = accel_bo_ptr(t.bo);
	for (i = 0; i < bytes; i++)
		p[i] = (uint8_t)number();
	for (i = 0; dtype == ACCEL_F32 && i < bytes / 4; i++)
		((float *)p)[i] = (float)((int)(number() % 9) - 4) / 4;
	for (i = 0; dtype == ACCEL_F16 && i < bytes / 2; i++)
		((uint16_t *)p)[i] = (uint16_t)(0x3800 + (number() & 0x87ff));
	for (i = 0; dtype == ACCEL_BF16 && i < bytes / 2; i++)
		((uint16_t *)p)[i] = (uint16_t)(0x3f00 + (number() & 0x80ff));
	return t;
}

static uint64_t bytes_of(const struct accel_tensor *t)
{
	uint64_t bytes;

	assert_int_equal(accel_tensor_bytes(t, &bytes), 0);
	return bytes;
}

/* --- pruning ----------------------------------------------------------------- */

static void test_prune_known(void **state)
{
	const float in[] = { 1, -3, 2, 0.5f, 0, 0, 0, 7, 1, 1, 1, 1, -2, 2, 2 };
	const float out[] = { 0, -3, 2, 0, 0, 0, 0, 7, 1, 1, 0, 0, -2, 2, 0 };
	const uint8_t s4_in[] = { 0x31, 0x58, 0x0f }, s4_out[] = { 0x00, 0x58, 0x0f };
	struct accel_tensor t;
	float *p;

	(void)state;
	open_device(test_device("sw"));
	t = tensor(ACCEL_F32, 1, (int64_t[]){ 15 });
	p = accel_bo_ptr(t.bo);
	memcpy(p, in, sizeof(in));
	assert_int_equal(accel_prune24(ctx, &t, 0), 0);
	assert_memory_equal(p, out, sizeof(out));
	/* NaN before infinity before the rest; a second time changes nothing */
	memcpy(p, (float[]){ INFINITY, 1e30f, NAN, -INFINITY }, 16);
	assert_int_equal(accel_prune24(ctx, &t, 0), 0);
	assert_true(isinf(p[0]) && p[1] == 0 && isnan(p[2]) && p[3] == 0);
	assert_int_equal(accel_prune24(ctx, &t, 0), 0);
	assert_memory_equal(p + 4, out + 4, sizeof(out) - 16);
	accel_bo_unref(t.bo);
	/* 1 3 -8 5, -1 0 */
	t = tensor(ACCEL_S4, 1, (int64_t[]){ 6 });
	memcpy(accel_bo_ptr(t.bo), s4_in, 3);
	assert_int_equal(accel_prune24(ctx, &t, 0), 0);
	assert_memory_equal(accel_bo_ptr(t.bo), s4_out, 3);
	accel_bo_unref(t.bo);
	/* Along the other dimension of a matrix */
	t = tensor(ACCEL_S8, 2, (int64_t[]){ 4, 2 });
	memcpy(accel_bo_ptr(t.bo), (int8_t[]){ 1, 9, -128, 1, 3, 2, 4, 3 }, 8);
	assert_int_equal(accel_prune24(ctx, &t, 0), 0);
	assert_memory_equal(accel_bo_ptr(t.bo), ((int8_t[]){ 0, 9, -128, 0, 0, 0, 4, 3 }), 8);
	accel_bo_unref(t.bo);
	close_device();
}

/* --- products ------------------------------------------------------------------ */

static const struct {
	uint8_t a, b, d;
} types[] = {
	{ ACCEL_F32, ACCEL_F32, ACCEL_F32 }, { ACCEL_F16, ACCEL_F16, ACCEL_F16 },
	{ ACCEL_BF16, ACCEL_BF16, ACCEL_F32 }, { ACCEL_S8, ACCEL_S8, ACCEL_S32 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_S32 }, { ACCEL_S8, ACCEL_U8, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_S4, ACCEL_S32 }, { ACCEL_U8, ACCEL_U4, ACCEL_S32 },
	{ ACCEL_F16, ACCEL_S8, ACCEL_F32 }, { ACCEL_F32, ACCEL_S4, ACCEL_F32 },
	{ ACCEL_BF16, ACCEL_U4, ACCEL_BF16 },
};

/* Scales for weights of integers by floating-point numbers, along K. */
static struct accel_bo *add_scales(struct accel_tensor *b, uint32_t axis)
{
	uint64_t n = 1, i;
	struct accel_bo *bo;
	uint32_t d;

	for (d = 0; d < b->rank; d++)
		n *= (uint64_t)(d == axis ? (b->dims[d] + 15) / 16 : b->dims[d]);
	assert_int_equal(accel_bo_create(ctx, (n + 1) * sizeof(float), NULL, &bo), 0);
	for (i = 0; i < n; i++)
		((float *)accel_bo_ptr(bo))[i] = (float)(1 + number() % 64) / 64;
	b->quant.scheme = ACCEL_QUANT_GROUP;
	b->quant.axis = axis;
	b->quant.group = 16;
	b->quant.scales = bo;
	return bo;
}

/* Run it with the flags; the bits of D, and what the plan holds. */
static void *product(struct accel_gemm_desc *g, uint32_t flags, uint64_t *held)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_error e = ACCEL_ERROR_INIT;
	uint64_t bytes = bytes_of(&g->d);
	struct accel_plan *plan;
	void *bits = malloc(bytes);

	assert_non_null(bits);
	g->flags = (g->flags & ACCEL_GEMM_TRANS_B) | flags;
	if (accel_plan_create(ctx, &g->hdr, &plan)) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	*held = info.packed_bytes;
	accel_plan_unref(plan);
	memset(accel_bo_ptr(g->d.bo), 0x55, bytes);
	assert_int_equal(accel_run(ctx, &g->hdr), 0);
	memcpy(bits, accel_bo_ptr(g->d.bo), bytes);
	return bits;
}

static double value(uint32_t dtype, const void *p, uint64_t i)
{
	const uint16_t half = ((const uint16_t *)p)[i];
	const uint32_t wide = (uint32_t)half << 16;
	const int exponent = half >> 10 & 31;
	float f;

	if (dtype == ACCEL_F16)
		return (half >> 15 ? -1 : 1) *
		       ldexp((half & 1023) + (exponent ? 1024 : 0), (exponent ? exponent : 1) - 25);
	if (dtype == ACCEL_F32)
		return (double)((const float *)p)[i];
	memcpy(&f, &wide, sizeof(f));
	return (double)f;
}

/*
 * Integers have the same bits in every layout. Sums of other numbers may be formed in
 * another order: each is within the bound of a sum, and rounded once.
 */
static void assert_same(const struct accel_gemm_desc *g, int64_t k, const void *got,
			const void *want)
{
	static const double unit[] = { [ACCEL_F32] = FLT_EPSILON, [ACCEL_F16] = 1.0 / 1024,
				       [ACCEL_BF16] = 1.0 / 128 };
	/* The largest number of B by one of A below 1.01 */
	const double b = g->b.dtype == ACCEL_S8 ? 128 : g->b.dtype >= ACCEL_S4 ? 15 : 1.01;
	const double sum = 1.01 * b * (double)(k * (k + 1)) * FLT_EPSILON;
	const uint64_t bytes = bytes_of(&g->d);
	uint64_t i;
	double x, y;

	if (g->a.dtype > ACCEL_BF16) {
		assert_memory_equal(got, want, bytes);
		return;
	}
	for (i = 0; i < bytes * 8 / accel_dtype_bits(g->d.dtype); i++) {
		x = value(g->d.dtype, got, i);
		y = value(g->d.dtype, want, i);
		if (!(fabs(x - y) <= sum + unit[g->d.dtype] * fabs(y)))
			fail_msg("%g, not %g", x, y);
	}
}

static void one_product(uint32_t type, int64_t m, int64_t n, int64_t k, uint32_t flags,
			int64_t batch, uint32_t engine, bool has_layout)
{
	const int64_t a[] = { batch, m, k }, b[] = { batch, k, n }, bt[] = { batch, n, k };
	const int64_t d[] = { batch, m, n };
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	uint64_t whole, half, plain;
	void *want, *got, *strided;
	struct accel_bo *scales;
	uint32_t axis;

	g.hdr.engine = engine;
	g.flags = flags;
	axis = flags & ACCEL_GEMM_TRANS_B ? 2 : 1;
	g.a = tensor(types[type].a, 3, a);
	g.b = tensor(types[type].b, 3, axis == 2 ? bt : b);
	g.d = tensor(types[type].d, 3, d);
	scales = types[type].a <= ACCEL_BF16 && types[type].a != types[type].b ?
		 add_scales(&g.b, axis) : NULL;
	assert_int_equal(accel_prune24(ctx, &g.b, axis), 0);
	want = product(&g, ACCEL_GEMM_PACK_B, &whole);
	got = product(&g, ACCEL_GEMM_PACK_B | ACCEL_GEMM_SPARSE_B, &half);
	strided = product(&g, 0, &plain);
	assert_same(&g, k, got, want);
	assert_same(&g, k, got, strided);
	if (!has_layout || expands())
		assert_int_equal(half, whole);
	else if (k >= 64 && accel_dtype_bits(types[type].b) >= 8)
		assert_true(half < whole);
	free(want);
	free(got);
	free(strided);
	accel_bo_unref(scales);
	accel_bo_unref(g.a.bo);
	accel_bo_unref(g.b.bo);
	accel_bo_unref(g.d.bo);
}

static void test_products(void **state)
{
	static const int64_t shapes[][4] = {
		{ 1, 1, 1, 1 }, { 3, 5, 2, 1 }, { 2, 17, 7, 2 }, { 5, 33, 64, 1 },
		{ 1, 40, 130, 3 }, { 19, 16, 81, 1 }, { 4, 0, 8, 1 }, { 4, 8, 0, 1 },
	};
	struct accel_device_info info = { .size = sizeof(info) };
	uint32_t i, j;

	(void)state;
	rng = 1;
	open_device(test_device("sw:full"));
	assert_int_equal(accel_device_get_info(dev, &info), 0);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < ARRAY_SIZE(shapes); j++)
			one_product(i, shapes[j][0], shapes[j][1], shapes[j][2],
				    (i + j) % 2 ? ACCEL_GEMM_TRANS_B : 0, shapes[j][3],
				    1 + (i + j) % 3, !strcmp(info.profile, "full"));
	close_device();
	if (test_in_guest())
		return;
	/* The matrix unit of this chip, whatever is tested, has no such layout: as if not asked. */
	open_device("sw:m1");
	one_product(0, 3, 20, 70, 0, 1, ACCEL_ENGINE_MATRIX, false);
	one_product(3, 3, 20, 70, 0, 1, ACCEL_ENGINE_GPU, true);
	close_device();
}

static int find_chosen(void *user, const struct accel_candidate *c)
{
	if (c->verdict == ACCEL_CHOSEN)
		*(const char **)user = c->algorithm;
	return 0;
}

static void blames(int ret, const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	assert_int_equal(ret, -EINVAL);
	assert_int_equal(accel_ctx_get_error(ctx, &e), 0);
	assert_string_equal(e.field, field);
	assert_true(e.text[0]);
}

static void test_refused(void **state)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	const char *chosen = NULL;
	struct accel_tensor t;
	struct accel_plan *plan = NULL;
	float *b;

	(void)state;
	rng = 2;
	open_device(test_device("sw"));
	g.a = tensor(ACCEL_F32, 2, (int64_t[]){ 3, 9 });
	g.b = tensor(ACCEL_F32, 2, (int64_t[]){ 9, 5 });
	g.d = tensor(ACCEL_F32, 2, (int64_t[]){ 3, 5 });
	g.hdr.engine = ACCEL_ENGINE_GPU;
	g.flags = ACCEL_GEMM_SPARSE_B;
	blames(accel_plan_create(ctx, &g.hdr, &plan), "gemm.flags");
	g.flags |= ACCEL_GEMM_PACK_B;
	b = accel_bo_ptr(g.b.bo);
	memset(b, 0, 9 * 5 * sizeof(*b));
	b[4 * 5 + 2] = b[5 * 5 + 2] = b[7 * 5 + 2] = 1;
	blames(accel_plan_create(ctx, &g.hdr, &plan), "gemm.b");
	assert_null(plan);
	/* In other columns, or other fours, it is no harm. */
	b[7 * 5 + 2] = 0;
	b[8 * 5 + 2] = b[7 * 5 + 1] = b[3 * 5 + 2] = NAN;
	assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), 0);
	assert_int_equal(accel_plan_explain(plan, find_chosen, &chosen), 0);
	assert_string_equal(chosen, expands() ? "blocked, packed, 2:4 as dense" :
			    "blocked, packed 2:4");
	accel_plan_unref(plan);
	t = g.b;
	g.b = tensor(ACCEL_S8, 2, (int64_t[]){ 9, 5 });
	g.b.quant.scheme = ACCEL_QUANT_TENSOR;
	g.b.quant.scale = 1;
	g.b.quant.zero = 3;
	blames(accel_plan_create(ctx, &g.hdr, &plan), "gemm.b.quant.zero");
	blames(accel_prune24(ctx, &g.b, 0), "t.quant.zero");
	g.b.quant.zero = 0;
	blames(accel_prune24(ctx, &g.b, 2), "axis");
	g.b.flags = ACCEL_TENSOR_STRIDES;
	g.b.strides[1] = 1;
	blames(accel_prune24(ctx, &g.b, 0), "t.strides[0]");
	accel_bo_unref(g.b.bo);
	g.b = tensor(ACCEL_S32, 1, (int64_t[]){ 9 });
	blames(accel_prune24(ctx, &g.b, 0), "t.dtype");
	accel_bo_unref(g.b.bo);
	accel_bo_unref(t.bo);
	accel_bo_unref(g.a.bo);
	accel_bo_unref(g.d.bo);
	close_device();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prune_known),
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("sparse", tests, NULL, NULL);
}
