// SPDX-License-Identifier: MIT
/*
 * What is measured, when, for how long, and what a plan makes of it.
 */
#include "tune_bed.h"

/* --- plans ---------------------------------------------------------------------------- */

static void test_not_asked(void **state)
{
	struct bed *b = *state;
	struct told t;
	char dir[96];

	begin(b);
	snprintf(dir, sizeof(dir), "%s/a", b->dir);
	accel_bo_unref(run(b, 0, 0, &t));
	assert_int_equal(t.measured, 0);
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE_CACHED, 0, &t));
	assert_int_equal(t.measured, 0);
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE | ACCEL_PLAN_TUNE_KEEP_OUT, 2000, &t));
	assert_true(t.measured > 1);
	assert_int_equal(list(b).count, 0);
	assert_int_equal(accel_tune_prune(b->ctx, 0x1f, 0, NULL), 0);
	assert_false(exists(dir));
	assert_string_equal(accel_tune_path(b->ctx), b->path);
}

static void test_round_trip(void **state)
{
	struct bed *b = *state;
	struct told t, again, plain;
	struct seen s;
	struct stat st;

	begin(b);
	assert_close(run(b, 0, 0, &plain), run(b, ACCEL_PLAN_TUNE, 4000, &t));
	assert_true(t.measured > 1);
	assert_non_null(strstr(t.text, "measured now"));
	assert_int_equal(stat(b->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* The same without measuring. */
	assert_close(run(b, 0, 0, &plain), run(b, ACCEL_PLAN_TUNE_CACHED, 0, &again));
	assert_string_equal(again.algorithm, t.algorithm);
	assert_non_null(strstr(again.text, "measured before"));
	assert_int_equal(again.measured, t.measured);
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE, 1, &again));
	assert_non_null(strstr(again.text, "measured before"));
	/* Measured again, it takes the place of the first. */
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE | ACCEL_PLAN_TUNE_AGAIN, 4000, &again));
	assert_non_null(strstr(again.text, "measured now"));
	s = list(b);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.by_state[ACCEL_TUNE_VALID], 1);
	assert_int_equal(s.with_desc, 1);
}

/* An entry's descriptor is one to measure again, and gives the same entry. */
static int measure_again(void *user, const struct accel_tune_entry *e)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct seen s = { 0 };
	struct bed *b = user;

	assert_non_null(e->desc);
	assert_int_equal(e->op, ACCEL_OP_CONV);
	assert_non_null(strstr(e->words, "a fp32 1x16x14x14"));
	assert_non_null(strstr(e->json, "\"candidates\""));
	assert_true(e->best_ns > 0);
	assert_true(e->default_ns >= e->best_ns);
	opts.tune_budget_ms = 4000;
	opts.flags = ACCEL_PLAN_TUNE_AGAIN;
	assert_int_equal(accel_tune(b->ctx, e->desc, &opts, see, &s), 0);
	assert_int_equal(s.count, 1);
	return 7;
}

static void test_tune(void **state)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	const int64_t n[] = { 64 };
	struct bed *b = *state;
	struct accel_conv_desc d;
	struct seen s = { 0 };

	begin(b);
	base(&d);
	opts.tune_budget_ms = 4000;
	/* No buffer is needed, not even of weights. */
	assert_int_equal(accel_tune(b->ctx, &d.hdr, &opts, see, &s), 0);
	assert_int_equal(s.count, 1);
	assert_int_equal(accel_tune_list(b->ctx, measure_again, b), 7);
	assert_int_equal(list(b).count, 1);
	/* Strides that say nothing new make no other operation. */
	d.a.flags |= ACCEL_TENSOR_STRIDES;
	d.a.strides[0] = C * EDGE * EDGE;
	d.a.strides[1] = EDGE * EDGE;
	d.a.strides[2] = EDGE;
	d.a.strides[3] = 1;
	assert_int_equal(accel_tune(b->ctx, &d.hdr, &opts, NULL, NULL), 0);
	assert_int_equal(list(b).count, 1);
	d.a.strides[2] = EDGE + 2;
	d.a.strides[1] = EDGE * (EDGE + 2);
	assert_int_equal(accel_tune(b->ctx, &d.hdr, &opts, NULL, NULL), 0);
	assert_int_equal(list(b).count, 2);
	/* A copy is done one way. */
	copy.a = accel_tensor_dense(NULL, ACCEL_F32, 1, n);
	copy.d = copy.a;
	assert_int_equal(accel_tune(b->ctx, &copy.hdr, &opts, NULL, NULL), -ENOENT);
	assert_int_equal(list(b).count, 2);
}

/* Products in a network share their entries with the same products alone. */
static void test_parts(void **state)
{
	const int64_t a[] = { 24, 96 }, up[] = { 96, 160 }, down[] = { 160, 96 };
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_ffn_desc f = ACCEL_FFN_DESC_INIT;
	struct bed *b = *state;
	struct accel_plan *plan;
	struct seen s = { 0 };
	uint32_t i;
	struct told t = { 0 };
	int ret;

	begin(b);
	f.act = ACCEL_ACT_RELU;
	f.a = accel_tensor_dense(NULL, ACCEL_F32, 2, a);
	f.up = accel_tensor_dense(NULL, ACCEL_F32, 2, up);
	f.down = accel_tensor_dense(NULL, ACCEL_F32, 2, down);
	f.d = f.a;
	opts.tune_budget_ms = 4000;
	ret = accel_tune(b->ctx, &f.hdr, &opts, see, &s);
	/* Portable kernels offer nothing to measure. */
	assert_true(ret == 0 || (ret == -ENOENT && !s.count));
	assert_true(s.count <= 2);
	assert_int_equal(list(b).count, s.count);
	for (i = 0; i < s.count; i++)
		assert_int_equal(s.state[i], ACCEL_TUNE_VALID);
	opts = (struct accel_plan_opts)ACCEL_PLAN_OPTS_INIT;
	opts.flags = ACCEL_PLAN_TUNE_CACHED;
	assert_int_equal(accel_plan_create_opts(b->ctx, &f.hdr, &opts, &plan), 0);
	assert_int_equal(accel_plan_explain(plan, note, &t), 0);
	assert_int_equal(t.chosen, 1);
	assert_int_equal(!!strstr(t.text, "of its 2 operations were measured"), s.count > 0);
	accel_plan_unref(plan);
}

/* What an operation does not read is no part of it, and nothing of it is told. */
static int no_buffers(void *user, const struct accel_tune_entry *e)
{
	const struct accel_gemm_desc *d = (const struct accel_gemm_desc *)e->desc;

	(*(uint32_t *)user)++;
	assert_non_null(d);
	assert_int_equal(e->op, ACCEL_OP_GEMM);
	assert_null(d->a.bo);
	assert_null(d->c.bo);
	assert_int_equal(d->c.rank, 0);
	return 0;
}

static void test_not_read(void **state)
{
	const int64_t a[] = { 96, 128 }, w[] = { 128, 160 }, n[] = { 96, 160 };
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct accel_bo *bo[2];
	struct bed *b = *state;
	struct seen s = { 0 };
	uint32_t i, count = 0;
	int ret;

	begin(b);
	opts.tune_budget_ms = 2000;
	g.a = accel_tensor_dense(NULL, ACCEL_F32, 2, a);
	g.b = accel_tensor_dense(NULL, ACCEL_F32, 2, w);
	g.d = accel_tensor_dense(NULL, ACCEL_F32, 2, n);
	for (i = 0; i < 2; i++) {
		bo[i] = numbers(b, 96 * 160, i);
		g.c = g.d;
		g.c.bo = bo[i];
		ret = accel_tune(b->ctx, &g.hdr, &opts, see, &s);
		/* Portable kernels offer nothing to measure. */
		assert_true(!ret || (ret == -ENOENT && !s.count));
	}
	memset(&g.c, 0, sizeof(g.c));
	accel_tune(b->ctx, &g.hdr, &opts, see, &s);
	assert_int_equal(accel_tune_list(b->ctx, no_buffers, &count), 0);
	assert_int_equal(count, s.count > 0);
	accel_bo_unref(bo[0]);
	accel_bo_unref(bo[1]);
}

static void test_options(void **state)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_plan *plan;
	struct bed *b = *state;
	struct accel_conv_desc d;

	static const struct {
		uint32_t flags, ms, pad;
		const char *field;
	} bad_ones[] = {
		{ 1u << 9, 0, 0, "opts.flags" },
		{ ACCEL_PLAN_TUNE | ACCEL_PLAN_TUNE_CACHED, 0, 0, "opts.flags" },
		{ ACCEL_PLAN_TUNE_AGAIN, 0, 0, "opts.flags" },
		{ ACCEL_PLAN_TUNE_KEEP_OUT, 0, 0, "opts.flags" },
		{ ACCEL_PLAN_TUNE_CACHED, 5, 0, "opts.tune_budget_ms" },
		{ 0, 5, 0, "opts.tune_budget_ms" },
		{ ACCEL_PLAN_TUNE, TUNE_MAX_MS + 1, 0, "opts.tune_budget_ms" },
		{ 0, 0, 1, "opts.pad" },
	};
	uint32_t i;

	begin(b);
	base(&d);
	for (i = 0; i < sizeof(bad_ones) / sizeof(bad_ones[0]); i++) {
		opts.flags = bad_ones[i].flags;
		opts.tune_budget_ms = bad_ones[i].ms;
		opts.pad = bad_ones[i].pad;
		assert_int_equal(accel_plan_create_opts(b->ctx, &d.hdr, &opts, &plan), -EINVAL);
		assert_int_equal(accel_ctx_get_error(b->ctx, &e), 0);
		assert_string_equal(e.field, bad_ones[i].field);
	}
	opts = (struct accel_plan_opts)ACCEL_PLAN_OPTS_INIT;
	opts.size = 4;
	assert_int_equal(accel_plan_create_opts(b->ctx, &d.hdr, &opts, &plan), -EINVAL);
	assert_int_equal(accel_tune_prune(b->ctx, 1u << ACCEL_TUNE_STATE_COUNT, 0, NULL), -EINVAL);
}

static void test_budget(void **state)
{
	static const uint32_t budgets[] = { 1, 30, 120 };
	const int64_t a[] = { 4, 64, 56, 56 }, w[] = { 64, 64, 3, 3 };
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct bed *b = *state;
	struct accel_conv_desc d;
	uint64_t spent;
	uint32_t i;
	int ret;

	/* The slowest kernels: a single run takes longer than the budget. */
	setenv("ACCEL_SW_KERNELS", "portable", 1);
	begin(b);
	unsetenv("ACCEL_SW_KERNELS");
	base(&d);
	d.a = accel_tensor_dense(NULL, ACCEL_F32, 4, a);
	d.b = accel_tensor_dense(NULL, ACCEL_F32, 4, w);
	d.d = d.a;
	for (i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		opts.tune_budget_ms = budgets[i];
		spent = tune_now();
		ret = accel_tune(b->ctx, &d.hdr, &opts, NULL, NULL);
		spent = tune_now() - spent;
		print_message("budget %u ms: %d after %.1f ms\n", budgets[i], ret,
			      (double)spent / 1e6);
		assert_true(ret == -ETIME || ret == 0);
		/* Filling the buffers, packing, and a tile are not cut short. */
		assert_true(spent < (budgets[i] + 400) * 1000000ull);
	}
	/* What was too thin to tell is not there. */
	assert_int_equal(list(b).count, ret ? 0 : 1);
}

static void test_no_directory(void **state)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bed *b = *state;
	struct accel_conv_desc d;
	struct seen s = { 0 };
	struct told t;
	char dir[96];
	int fd;

	/* A file is in the place of a directory: that stops root too. */
	snprintf(dir, sizeof(dir), "%s/file", b->dir);
	fd = open(dir, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	snprintf(dir, sizeof(dir), "%s/file/below", b->dir);
	open_in(b, dir, 1);
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE, 4000, &t));
	assert_true(t.measured > 1);
	assert_int_equal(b->warnings, 1);
	base(&d);
	opts.tune_budget_ms = 4000;
	assert_int_equal(accel_tune(b->ctx, &d.hdr, &opts, see, &s), -ENOTDIR);
	/* It was measured all the same. */
	assert_int_equal(s.count, 1);
	assert_int_equal(accel_ctx_get_error(b->ctx, &e), 0);
	assert_string_equal(e.field, "opts.tune_dir");
	assert_non_null(strstr(e.text, "file/below"));
	assert_int_equal(list(b).count, 0);
}

static void test_places(void **state)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct bed *b = *state;
	struct accel_conv_desc d;
	struct told t;
	char *path;

	assert_int_equal(setenv("XDG_CACHE_HOME", "/x", 1), 0);
	assert_int_equal(setenv("HOME", "/y", 1), 0);
	assert_int_equal(tune_path_create(NULL, &path), 0);
	assert_string_equal(path, "/x/accel/tune/" TUNE_FILE);
	free(path);
	assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
	assert_int_equal(tune_path_create(NULL, &path), 0);
	assert_string_equal(path, "/y/.cache/accel/tune/" TUNE_FILE);
	free(path);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(tune_path_create(NULL, &path), 0);
	assert_string_equal(path, "");
	free(path);
	assert_int_equal(tune_path_create("d", &path), 0);
	assert_string_equal(path, "d/" TUNE_FILE);
	free(path);
	/* Without a place plans are made all the same. */
	open_in(b, NULL, 1);
	assert_string_equal(accel_tune_path(b->ctx), "");
	assert_int_equal(list(b).count, 0);
	accel_bo_unref(run(b, ACCEL_PLAN_TUNE, 4000, &t));
	assert_true(t.measured > 1);
	assert_int_equal(b->warnings, 1);
	base(&d);
	opts.tune_budget_ms = 4000;
	assert_int_equal(accel_tune(b->ctx, &d.hdr, &opts, NULL, NULL), -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_not_asked),
		TEST(test_round_trip),
		TEST(test_tune),
		TEST(test_parts),
		TEST(test_not_read),
		TEST(test_options),
		TEST(test_budget),
		TEST(test_no_directory),
		TEST(test_places),
	};

	return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
