// SPDX-License-Identifier: MIT
/*
 * Dimensions of more elements than binary32 counts: what goes element by element, and sums,
 * extremes and places along them. A byte an element, so that memory stays small.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <accel/accel.h>

/* Elements: the last of them have numbers that binary32 lacks. */
#define LONG	((1 << 24) + 77)
/* One that is different */
#define OTHER	(LONG - 2)

static struct accel_ctx *ctx;

static struct accel_bo *new_bo(uint64_t bytes)
{
	struct accel_bo *bo = NULL;

	assert_int_equal(accel_bo_create(ctx, bytes, NULL, &bo), 0);
	return bo;
}

static struct accel_tensor line(struct accel_bo *bo, uint32_t dtype, int64_t n)
{
	return accel_tensor_dense(bo, dtype, 1, &n);
}

static void run(const struct accel_desc *desc)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (!accel_run(ctx, desc))
		return;
	accel_ctx_get_error(ctx, &e);
	fail_msg("%s: %s: %s", accel_op_name(desc->op), e.field, e.text);
}

/* All elements are @most, but that with another number. */
static void assert_all(struct accel_bo *bo, int8_t most, int8_t other)
{
	const int8_t *p = accel_bo_ptr(bo);
	int64_t i;

	for (i = 0; i < LONG; i++)
		if (p[i] != (i == OTHER ? other : most))
			fail_msg("element %lld is %d", (long long)i, p[i]);
}

static void test_elements(void **state)
{
	struct accel_fill_desc fill = ACCEL_FILL_DESC_INIT;
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	struct accel_unary_desc unary = ACCEL_UNARY_DESC_INIT;
	struct accel_binary_desc binary = ACCEL_BINARY_DESC_INIT;
	struct accel_select_desc select = ACCEL_SELECT_DESC_INIT;
	struct accel_bo *a = new_bo(LONG), *d = new_bo(LONG), *one = new_bo(64);

	(void)state;
	fill.value = 5;
	fill.d = line(a, ACCEL_S8, LONG);
	run(&fill.hdr);
	assert_all(a, 5, 5);
	((int8_t *)accel_bo_ptr(a))[OTHER] = -7;

	copy.a = line(a, ACCEL_S8, LONG);
	copy.d = line(d, ACCEL_S8, LONG);
	run(&copy.hdr);
	assert_all(d, 5, -7);

	unary.func = ACCEL_UNARY_NEG;
	unary.a = copy.a;
	unary.d = copy.d;
	run(&unary.hdr);
	assert_all(d, -5, 7);

	memset(accel_bo_ptr(one), 3, 64);
	binary.func = ACCEL_BINARY_ADD;
	binary.a = copy.a;
	binary.b = line(one, ACCEL_S8, 1);
	binary.d = copy.d;
	run(&binary.hdr);
	assert_all(d, 8, -4);

	select.a = copy.a;
	select.b = binary.b;
	select.c = copy.a;
	select.d = copy.d;
	((int8_t *)accel_bo_ptr(a))[OTHER] = 0;
	run(&select.hdr);
	assert_all(d, 3, 0);
	accel_bo_unref(one);
	accel_bo_unref(d);
	accel_bo_unref(a);
}

static void test_lines(void **state)
{
	static const struct {
		uint32_t func;
		int32_t want;
	} ways[] = {
		{ ACCEL_REDUCE_SUM, 5 * (LONG - 1) + 9 }, { ACCEL_REDUCE_MAX, 9 },
		{ ACCEL_REDUCE_ARG_MAX, OTHER }, { ACCEL_REDUCE_SUM_SQUARE, 25 * (LONG - 1) + 81 },
	};
	struct accel_reduce_desc reduce = ACCEL_REDUCE_DESC_INIT;
	struct accel_gather_desc gather = ACCEL_GATHER_DESC_INIT;
	struct accel_bo *a = new_bo(LONG), *d = new_bo(64), *index = new_bo(64);
	uint32_t i;

	(void)state;
	memset(accel_bo_ptr(a), 5, LONG);
	((int8_t *)accel_bo_ptr(a))[OTHER] = 9;
	reduce.axes = ACCEL_AXIS(0);
	reduce.a = line(a, ACCEL_S8, LONG);
	reduce.d = line(d, ACCEL_S32, 1);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		reduce.func = ways[i].func;
		run(&reduce.hdr);
		assert_int_equal(*(int32_t *)accel_bo_ptr(d), ways[i].want);
	}
	*(int32_t *)accel_bo_ptr(index) = OTHER;
	gather.a = reduce.a;
	gather.b = line(index, ACCEL_S32, 1);
	gather.d = line(d, ACCEL_S8, 1);
	run(&gather.hdr);
	assert_int_equal(*(int8_t *)accel_bo_ptr(d), 9);
	accel_bo_unref(index);
	accel_bo_unref(d);
	accel_bo_unref(a);
}

/* The largest tensors of models, as one dimension: without memory. */
static void test_plans(void **state)
{
	static const int64_t sizes[] = { 102760448, 151936ll * 8192, INT32_MAX };
	struct accel_binary_desc binary = ACCEL_BINARY_DESC_INIT;
	struct accel_plan *plan;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		binary.func = ACCEL_BINARY_MUL;
		binary.a = line(NULL, ACCEL_F32, sizes[i]);
		binary.b = line(NULL, ACCEL_F32, 1);
		binary.d = line(NULL, ACCEL_F32, sizes[i]);
		assert_int_equal(accel_plan_create(ctx, &binary.hdr, &plan), 0);
		accel_plan_unref(plan);
	}
	binary.a = line(NULL, ACCEL_F32, INT32_MAX + 1ll);
	binary.d = line(NULL, ACCEL_F32, INT32_MAX + 1ll);
	assert_int_equal(accel_plan_create(ctx, &binary.hdr, &plan), -EOPNOTSUPP);
}

static int open_device(void **state)
{
	struct accel_device *dev = NULL;
	int ret;

	(void)state;
	if (accel_device_open("sw:full", NULL, &dev))
		return -1;
	ret = accel_ctx_create(dev, NULL, &ctx);
	accel_device_unref(dev);
	return ret;
}

static int close_context(void **state)
{
	(void)state;
	accel_ctx_destroy(ctx);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_plans),
	};

	return cmocka_run_group_tests_name("long", tests, open_device, close_context);
}
