// SPDX-License-Identifier: MIT
/*
 * The check of run attention: it accepts what the in-process device gives, and
 * finds an element that is wrong, whichever query and head it belongs to.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "attn.h"
#include "gemm.h"

/* What attn.c has of the rest of the program, and of its options */
const char *const ctl_engine_names[] = { "auto", NULL };

int ctl_fail(struct ctl *ctl, int status, int err, const char *field, const char *fmt, ...)
{
	(void)ctl;
	(void)err;
	(void)field;
	(void)fmt;
	return status;
}

void *ctl_alloc(size_t count, size_t size)
{
	void *p = calloc(count, size);

	assert_non_null(p);
	return p;
}

static const struct attn_opts cases[] = {
	{ .queries = 7, .keys = 20, .heads = 4, .kv_heads = 2, .dim = 8, .causal = 1 },
	{ .batch = 2, .queries = 5, .keys = 9, .heads = 2, .dim = 5, .dtype = 1, .kv_dtype = 3,
	  .page_size = 4, .alibi = 1, .sinks = 1 },
	{ .queries = 3, .keys = 70, .heads = 1, .dim = 16, .dtype = 2, .kv_dtype = 0,
	  .pieces = 2, .softcap = 2 },
	/* Queries that see nothing: zeros, and nothing but zeros */
	{ .queries = 6, .keys = 2, .heads = 2, .dim = 4, .causal = 1, .kv_dtype = 0 },
};

struct fixture {
	struct attn_opts opts;
	struct attn a;
	struct accel_device *dev;
	struct accel_ctx *ctx;
};

static void setup(struct fixture *f, const struct attn_opts *opts)
{
	struct ctl ctl = { 0 };
	uint32_t i;

	memset(f, 0, sizeof(*f));
	f->opts = *opts;
	f->opts.seed = 1;
	f->opts.scale = NAN;
	f->opts.window = ATTN_NO_WINDOW;
	assert_int_equal(attn_init(&ctl, &f->opts, &f->a), CTL_OK);
	assert_int_equal(accel_device_open("sw", NULL, &f->dev), 0);
	assert_int_equal(accel_ctx_create(f->dev, NULL, &f->ctx), 0);
	for (i = 0; i < ATTN_PARTS; i++)
		if (f->a.t[i].dtype)
			assert_int_equal(accel_bo_create(f->ctx, f->a.t[i].bytes, NULL,
							 &f->a.t[i].bo), 0);
	attn_fill(&f->a);
	attn_describe(&f->a);
	assert_int_equal(accel_run(f->ctx, &f->a.desc.hdr), 0);
}

static void teardown(struct fixture *f)
{
	attn_fini(&f->a);
	accel_ctx_destroy(f->ctx);
	accel_device_unref(f->dev);
}

static void test_right(void **state)
{
	struct attn_verdict v;
	struct fixture f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(&f, &cases[i]);
		assert_int_equal(attn_check(&f.a, &v), 0);
		assert_true(v.ratio <= 1);
		assert_true(v.max_abs < 0.02);
		teardown(&f);
	}
}

/* One element after the other is moved by little, made no number, made infinite */
static void test_wrong(void **state)
{
	static const double scales[] = { 0.0001, 0.002, 0.02 };
	struct attn_verdict v;
	struct fixture f;
	double was, bad[3];
	uint64_t n, count;
	size_t i, j;
	void *d;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(&f, &cases[i]);
		d = accel_bo_ptr(f.a.t[ATTN_D].bo);
		count = f.a.t[ATTN_D].bytes * 8 / accel_dtype_bits(f.a.t[ATTN_D].dtype);
		for (n = 0; n < count; n++) {
			was = value_get(f.a.t[ATTN_D].dtype, d, n);
			bad[0] = was + scales[cases[i].dtype];
			bad[1] = NAN;
			bad[2] = INFINITY;
			for (j = 0; j < 3; j++) {
				value_put(f.a.t[ATTN_D].dtype, d, n, bad[j]);
				assert_int_equal(attn_check(&f.a, &v), 0);
				assert_true(v.ratio > 1);
				assert_true(j != 1 || isnan(v.got));
				assert_true(v.differing > 0);
			}
			value_put(f.a.t[ATTN_D].dtype, d, n, was);
		}
		assert_int_equal(attn_check(&f.a, &v), 0);
		assert_true(v.ratio <= 1);
		teardown(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
