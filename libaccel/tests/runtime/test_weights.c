// SPDX-License-Identifier: MIT
/*
 * Packed weights that plans, contexts and processes share: made once, found by what is in
 * them, refused if a file is not what it says. One file, as each test begins with the same
 * few weights.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "libaccel/plan/store.h"
#include "rt.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Enough to be kept in a directory */
enum { K = 64, N = 272 };

extern char **environ;

static struct accel_weights *weights_new(struct rt *rt, uint64_t max_bytes)
{
	struct accel_weights_opts opts = ACCEL_WEIGHTS_OPTS_INIT;
	struct accel_weights *w;

	opts.max_bytes = max_bytes;
	assert_int_equal(accel_weights_create(rt->ctx, &opts, &w), 0);
	return w;
}

static struct accel_weights_info info_of(struct accel_weights *w)
{
	struct accel_weights_info info = { .size = sizeof(info) };

	assert_int_equal(accel_weights_get_info(w, &info), 0);
	return info;
}

static void assert_counts(struct accel_weights *w, uint64_t made, uint64_t found)
{
	const struct accel_weights_info info = info_of(w);

	assert_int_equal(info.made, made);
	assert_int_equal(info.found, found);
}

static float element(uint32_t i, uint32_t salt)
{
	return (float)((i * 7 + i / 3 + salt) % 9) - 4;
}

static struct accel_bo *matrix(struct accel_ctx *ctx, uint32_t salt)
{
	struct accel_bo *bo = rt_bo(ctx, K * N * sizeof(float));
	uint32_t i;

	for (i = 0; i < K * N; i++)
		rt_floats(bo)[i] = element(i, salt);
	return bo;
}

/* A product of @m rows by a constant, whose plan leaves what it packs in @w. */
static struct accel_plan *product(struct accel_ctx *ctx, struct accel_weights *w,
				  struct accel_bo *b, int64_t m)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan = NULL;

	opts.weights = w;
	g.hdr.engine = ACCEL_ENGINE_MATRIX;
	g.flags = ACCEL_GEMM_PACK_B;
	g.a = accel_tensor_2d(NULL, ACCEL_F32, m, K);
	g.b = accel_tensor_2d(b, ACCEL_F32, K, N);
	g.d = accel_tensor_2d(NULL, ACCEL_F32, m, N);
	if (accel_plan_create_opts(ctx, &g.hdr, &opts, &plan)) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
	return plan;
}

/* The rows of A are those of the unit matrix, so D has rows of B. */
static void assert_gives(struct accel_ctx *ctx, struct accel_plan *plan, int64_t m, uint32_t salt)
{
	struct accel_bo *a = rt_bo(ctx, (uint64_t)m * K * sizeof(float));
	struct accel_bo *d = rt_bo(ctx, (uint64_t)m * N * sizeof(float));
	const struct accel_binding b[2] = {
		{ ACCEL_ARG_A, 0, a, 0 }, { ACCEL_ARG_D, 0, d, 0 },
	};
	struct accel_queue *queue;
	struct accel_job *job;
	uint32_t i;

	for (i = 0; i < m; i++)
		rt_floats(a)[i * K + (i * 5) % K] = 1;
	assert_int_equal(accel_queue_create(ctx, NULL, &queue), 0);
	assert_int_equal(accel_job_create(ctx, NULL, &job), 0);
	assert_int_equal(accel_job_add(job, plan, b, 2, NULL, 0, NULL), 0);
	rt_run(queue, job);
	for (i = 0; i < m * N; i++)
		assert_true(rt_floats(d)[i] == element((i / N * 5) % K * N + i % N, salt));
	accel_job_destroy(job);
	accel_queue_destroy(queue);
	accel_bo_unref(a);
	accel_bo_unref(d);
}

static void product_gives(struct accel_ctx *ctx, struct accel_weights *w, struct accel_bo *b,
			  int64_t m, uint32_t salt)
{
	struct accel_plan *plan = product(ctx, w, b, m);

	assert_gives(ctx, plan, m, salt);
	accel_plan_unref(plan);
}

static void test_options(void **state)
{
	struct accel_weights_opts opts = ACCEL_WEIGHTS_OPTS_INIT;
	struct accel_plan_opts plan_opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_fill_desc fill = ACCEL_FILL_DESC_INIT;
	struct rt *rt = *state, other = { 0 };
	struct accel_plan *plan;
	struct accel_weights *w;

	opts.flags = 1;
	assert_fails(rt->ctx, accel_weights_create(rt->ctx, &opts, &w), -EINVAL, "opts.flags");
	opts.size = 3;
	assert_fails(rt->ctx, accel_weights_create(rt->ctx, &opts, &w), -EINVAL, "opts.size");
	accel_weights_unref(NULL);
	assert_int_equal(accel_weights_get_info(NULL, NULL), -EINVAL);
	assert_int_equal(accel_weights_save(NULL, "x"), -EINVAL);
	assert_int_equal(accel_weights_load(NULL, "x"), -EINVAL);

	rt_open(&other, rt_name(), rt_is_sw() ? 1 : 0);
	w = weights_new(&other, 0);
	plan_opts.weights = w;
	fill.d = accel_tensor_2d(NULL, ACCEL_F32, 2, 2);
	assert_fails(rt->ctx, accel_plan_create_opts(rt->ctx, &fill.hdr, &plan_opts, &plan),
		     -EINVAL, "opts.weights");
	/* As it was before there were weights. */
	plan_opts.size = offsetof(struct accel_plan_opts, weights);
	assert_int_equal(accel_plan_create_opts(rt->ctx, &fill.hdr, &plan_opts, &plan), 0);
	accel_plan_unref(plan);
	accel_weights_unref(w);
	rt_close(&other);
}

/* Many rows and one have the same memory; so have other buffers with the same numbers. */
static void test_rows(void **state)
{
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	struct accel_bo *b = matrix(rt->ctx, 0), *same = matrix(rt->ctx, 0);
	struct accel_bo *other = matrix(rt->ctx, 1);
	struct accel_plan *many = product(rt->ctx, w, b, 40), *one = product(rt->ctx, w, b, 1);

	assert_counts(w, 1, 1);
	assert_ptr_equal(many->packed, one->packed);
	assert_gives(rt->ctx, many, 40, 0);
	assert_gives(rt->ctx, one, 1, 0);
	accel_plan_unref(many);
	accel_plan_unref(one);
	product_gives(rt->ctx, w, same, 3, 0);
	assert_counts(w, 1, 2);
	product_gives(rt->ctx, w, other, 3, 1);
	assert_counts(w, 2, 2);
	/* The source is not needed any more, and one without a place packs for itself. */
	accel_bo_unref(b);
	product_gives(rt->ctx, w, same, 7, 0);
	product_gives(rt->ctx, NULL, same, 7, 0);
	assert_counts(w, 2, 3);
	assert_int_equal(info_of(w).forms, 2);
	accel_bo_unref(same);
	accel_bo_unref(other);
	accel_weights_unref(w);
}

/* Plans keep what they have, whoever else goes. */
static void test_lives(void **state)
{
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	struct accel_bo *b = matrix(rt->ctx, 2);
	struct accel_plan *plan = product(rt->ctx, w, b, 9);

	accel_weights_unref(accel_weights_ref(w));
	accel_weights_unref(w);
	accel_bo_unref(b);
	assert_gives(rt->ctx, plan, 9, 2);
	accel_plan_unref(plan);
}

static void test_bounded(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *b[4];
	struct accel_weights *w = weights_new(rt, 2 * K * N * 4 + 4096);
	struct accel_plan *plan;
	uint32_t i;

	for (i = 0; i < 4; i++)
		b[i] = matrix(rt->ctx, i);
	plan = product(rt->ctx, w, b[0], 4);
	for (i = 1; i < 4; i++)
		product_gives(rt->ctx, w, b[i], 4, i);
	assert_int_equal(info_of(w).forms, 2);
	assert_true(info_of(w).bytes <= 2 * K * N * 4 + 4096);
	assert_gives(rt->ctx, plan, 4, 0);
	/* The last one is there, the first is not. */
	product_gives(rt->ctx, w, b[3], 5, 3);
	assert_counts(w, 4, 1);
	product_gives(rt->ctx, w, b[0], 5, 0);
	assert_counts(w, 5, 1);
	accel_plan_unref(plan);
	for (i = 0; i < 4; i++)
		accel_bo_unref(b[i]);
	accel_weights_unref(w);
}

/* Another context has the same memory, also when the first has gone. */
static void test_contexts(void **state)
{
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	struct accel_ctx *first, *second;
	struct accel_plan *plan;
	struct accel_bo *b;

	assert_int_equal(accel_ctx_create(rt->dev, NULL, &first), 0);
	assert_int_equal(accel_ctx_create(rt->dev, NULL, &second), 0);
	b = matrix(first, 5);
	product_gives(first, w, b, 6, 5);
	accel_bo_unref(b);
	accel_ctx_destroy(first);
	b = matrix(second, 5);
	plan = product(second, w, b, 1);
	assert_counts(w, 1, 1);
	accel_bo_unref(b);
	accel_weights_unref(w);
	assert_gives(second, plan, 1, 5);
	accel_plan_unref(plan);
	accel_ctx_destroy(second);
}

/* --- forms ------------------------------------------------------------------------- */

static struct accel_plan *made_of(struct rt *rt, const struct accel_desc *desc,
				  struct accel_weights *w)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan = NULL;

	opts.weights = w;
	if (accel_plan_create_opts(rt->ctx, desc, &opts, &plan)) {
		accel_ctx_get_error(rt->ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
	return plan;
}

static struct accel_bo *pattern(struct rt *rt, uint64_t bytes)
{
	struct accel_bo *bo = rt_bo(rt->ctx, bytes);

	memset(accel_bo_ptr(bo), 0x3a, bytes);
	return bo;
}

/* Scales by group have their tables with them; other tables are another form. */
static void test_tables(void **state)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	struct accel_bo *b = pattern(rt, K * N), *scales = pattern(rt, K / 32 * N * 4);
	struct accel_bo *others = rt_bo(rt->ctx, K / 32 * N * 4);
	int64_t m;

	memset(accel_bo_ptr(others), 0x3c, K / 32 * N * 4);
	g.flags = ACCEL_GEMM_PACK_B;
	g.hdr.engine = ACCEL_ENGINE_MATRIX;
	g.b = accel_tensor_2d(b, ACCEL_S8, K, N);
	g.b.quant.scheme = ACCEL_QUANT_GROUP;
	g.b.quant.group = 32;
	for (m = 1; m < 4; m++) {
		g.b.quant.scales = m < 3 ? scales : others;
		g.a = accel_tensor_2d(NULL, ACCEL_F32, m, K);
		g.d = accel_tensor_2d(NULL, ACCEL_F32, m, N);
		accel_plan_unref(made_of(rt, &g.hdr, w));
	}
	assert_counts(w, 2, 1);
	accel_bo_unref(b);
	accel_bo_unref(scales);
	accel_bo_unref(others);
	accel_weights_unref(w);
}

/* The values of a matrix of 4 bits with a scale for each 32 of a column, in either order. */
static void stored_as(struct accel_gemm_desc *g, bool trans)
{
	const uint32_t n_step = trans ? K : 1, k_step = trans ? 1 : N;
	const uint32_t table = trans ? K / 32 : 1, group = trans ? 1 : N;
	uint8_t *p = accel_bo_ptr(g->b.bo);
	uint32_t n, k, at;

	memset(p, 0, K * N / 2);
	for (n = 0; n < N; n++)
		for (k = 0; k < K; k++) {
			at = n * n_step + k * k_step;
			p[at / 2] |= (uint8_t)((7 * n + 3 * k + n / 5) % 16 << at % 2 * 4);
			rt_floats(g->b.quant.scales)[n * table + k / 32 * group] =
				(float)(1 + n + (k >> 5) * N) / 1024;
		}
}

/*
 * Weights in rows [N, K], as files of language models have them, are packed to the same bytes as
 * weights in columns [K, N]: one is as fast as the other.
 */
static void test_rows_and_columns(void **state)
{
	struct accel_bo *b[2], *scales[2];
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;

		b[i] = rt_bo(rt->ctx, K * N / 2);
		scales[i] = rt_bo(rt->ctx, K / 32 * N * sizeof(float));
		g.flags = ACCEL_GEMM_PACK_B | (i ? ACCEL_GEMM_TRANS_B : 0);
		g.hdr.engine = ACCEL_ENGINE_MATRIX;
		g.a = accel_tensor_2d(NULL, ACCEL_F32, 1, K);
		g.b = accel_tensor_2d(b[i], ACCEL_S4, i ? N : K, i ? K : N);
		g.b.quant.scheme = ACCEL_QUANT_GROUP;
		g.b.quant.axis = i;
		g.b.quant.group = 32;
		g.b.quant.scales = scales[i];
		g.d = accel_tensor_2d(NULL, ACCEL_F32, 1, N);
		stored_as(&g, i);
		accel_plan_unref(made_of(rt, &g.hdr, w));
	}
	assert_counts(w, 2, 0);
	assert_int_equal(w->forms[0].key.bytes, w->forms[1].key.bytes);
	assert_true(w->forms[0].key.bytes > K * N / 2);
	assert_memory_equal(accel_bo_ptr(w->forms[0].bos[0]), accel_bo_ptr(w->forms[1].bos[0]),
			    w->forms[0].key.bytes);
	for (i = 0; i < 2; i++) {
		accel_bo_unref(b[i]);
		accel_bo_unref(scales[i]);
	}
	accel_weights_unref(w);
}

/* What a plan of several tasks holds: three matrices, once. */
static void test_parts(void **state)
{
	struct accel_ffn_desc f = ACCEL_FFN_DESC_INIT;
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	struct accel_bo *up = matrix(rt->ctx, 0), *gate = matrix(rt->ctx, 1);
	struct accel_bo *down = matrix(rt->ctx, 2);
	int64_t m;

	f.hdr.engine = ACCEL_ENGINE_MATRIX;
	f.flags = ACCEL_FFN_PACK;
	f.act = ACCEL_ACT_SILU;
	f.up = accel_tensor_2d(up, ACCEL_F32, K, N);
	f.gate = accel_tensor_2d(gate, ACCEL_F32, K, N);
	f.down = accel_tensor_2d(down, ACCEL_F32, N, K);
	for (m = 1; m < 20; m += 9) {
		f.a = f.d = accel_tensor_2d(NULL, ACCEL_F32, m, K);
		accel_plan_unref(made_of(rt, &f.hdr, w));
	}
	assert_counts(w, 3, 6);
	accel_bo_unref(up);
	accel_bo_unref(gate);
	accel_bo_unref(down);
	accel_weights_unref(w);
}

/* Each way of a convolution has its own form; the size of the image has no say in it. */
static void test_convolutions(void **state)
{
	static const uint32_t ways[] = {
		ACCEL_CONV_IMPLICIT, ACCEL_CONV_WINOGRAD_2, ACCEL_CONV_WINOGRAD_4
	};
	const int64_t bd[4] = { 32, 16, 3, 3 };
	struct accel_conv_desc c = ACCEL_CONV_DESC_INIT;
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	uint32_t i;
	int64_t edge;

	c.hdr.engine = ACCEL_ENGINE_MATRIX;
	c.flags = ACCEL_CONV_PACK_B;
	c.b = accel_tensor_dense(pattern(rt, 32 * 16 * 9 * 4), ACCEL_F32, 4, bd);
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		for (edge = 10; edge < 30; edge += 8) {
			const int64_t ad[4] = { 1, 16, edge, edge };
			const int64_t dd[4] = { 1, 32, edge - 2, edge - 2 };

			c.algorithm = ways[i];
			c.a = accel_tensor_dense(NULL, ACCEL_F32, 4, ad);
			c.d = accel_tensor_dense(NULL, ACCEL_F32, 4, dd);
			accel_plan_unref(made_of(rt, &c.hdr, w));
		}
	assert_counts(w, 3, 6);
	accel_bo_unref(c.b.bo);
	accel_weights_unref(w);
}

/* --- threads ------------------------------------------------------------------------- */

struct planner {
	struct rt *rt;
	struct accel_weights *w;
	struct accel_bo *b;
};

static void *plan_some(void *arg)
{
	struct planner *p = arg;
	int64_t m;

	for (m = 1; m < 9; m++)
		accel_plan_unref(product(p->rt->ctx, p->w, p->b, m));
	return NULL;
}

static void test_threads(void **state)
{
	struct rt *rt = *state;
	struct planner p = { rt, weights_new(rt, 0), matrix(rt->ctx, 3) };
	pthread_t thread[4];
	uint32_t i;

	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, plan_some, &p), 0);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_counts(p.w, 1, 31);
	accel_weights_unref(p.w);
	accel_bo_unref(p.b);
}

/* --- files ------------------------------------------------------------------------- */

static char path[64];

/* Write one byte of the file other than it is, or cut it there. */
static void damage_file(const char *name, off_t at, int cut)
{
	int fd = open(name, O_RDWR);
	uint8_t c;

	assert_true(fd >= 0);
	if (cut) {
		assert_int_equal(ftruncate(fd, at), 0);
	} else {
		assert_int_equal(pread(fd, &c, 1, at), 1);
		c ^= 0x10;
		assert_int_equal(pwrite(fd, &c, 1, at), 1);
	}
	close(fd);
}

static void damage(off_t at, int cut)
{
	damage_file(path, at, cut);
}

static void overwrite(off_t at, uint8_t c)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void save_one(struct rt *rt, uint32_t salt)
{
	struct accel_weights *w = weights_new(rt, 0);
	struct accel_bo *b = matrix(rt->ctx, salt);

	product_gives(rt->ctx, w, b, 2, salt);
	assert_int_equal(accel_weights_save(w, path), 0);
	accel_bo_unref(b);
	accel_weights_unref(w);
}

static void test_file(void **state)
{
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	struct accel_bo *b = matrix(rt->ctx, 7), *other = matrix(rt->ctx, 8);
	struct accel_plan *plan;

	save_one(rt, 7);
	assert_int_equal(accel_weights_load(w, path), 0);
	/* Twice is once. */
	assert_int_equal(accel_weights_load(w, path), 0);
	assert_int_equal(info_of(w).forms, 1);
	plan = product(rt->ctx, w, b, 40);
	assert_counts(w, 0, 1);
	product_gives(rt->ctx, w, other, 1, 8);
	assert_counts(w, 1, 1);
	/* Another takes its place; what was mapped stays, and all of it is written again. */
	save_one(rt, 9);
	assert_int_equal(accel_weights_save(w, path), 0);
	accel_weights_unref(w);
	assert_gives(rt->ctx, plan, 40, 7);
	accel_plan_unref(plan);
	w = weights_new(rt, 0);
	assert_int_equal(accel_weights_load(w, path), 0);
	assert_int_equal(info_of(w).forms, 2);
	product_gives(rt->ctx, w, b, 3, 7);
	product_gives(rt->ctx, w, other, 3, 8);
	assert_counts(w, 0, 2);
	accel_weights_unref(w);
	accel_bo_unref(b);
	accel_bo_unref(other);
}

/* What has changed since it was checked is not given a digest that fits. */
static void test_changed(void **state)
{
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	struct accel_bo *b = matrix(rt->ctx, 7);
	char to[80];

	save_one(rt, 7);
	assert_int_equal(accel_weights_load(w, path), 0);
	product_gives(rt->ctx, w, b, 3, 7);
	assert_counts(w, 0, 1);
	damage(4096 + 64, 0);
	snprintf(to, sizeof(to), "%s.to", path);
	assert_fails(rt->ctx, accel_weights_save(w, to), -EBADMSG, "path");
	assert_int_equal(access(to, F_OK), -1);
	accel_bo_unref(b);
	accel_weights_unref(w);
	unlink(path);
}

/* Of a file that has more than may be kept no more is kept, and what is kept is right. */
static void test_load_bounded(void **state)
{
	struct rt *rt = *state;
	struct accel_weights *all = weights_new(rt, 0), *w = weights_new(rt, 2 * K * N * 4 + 4096);
	struct accel_bo *b[4];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		b[i] = matrix(rt->ctx, i);
		product_gives(rt->ctx, all, b[i], 4, i);
	}
	assert_int_equal(info_of(all).forms, 4);
	assert_int_equal(accel_weights_save(all, path), 0);
	assert_int_equal(accel_weights_load(w, path), 0);
	assert_int_equal(info_of(w).forms, 2);
	assert_true(info_of(w).bytes <= 2 * K * N * 4 + 4096);
	product_gives(rt->ctx, w, b[3], 5, 3);
	assert_counts(w, 0, 1);
	product_gives(rt->ctx, w, b[0], 5, 0);
	assert_counts(w, 1, 1);
	for (i = 0; i < 4; i++)
		accel_bo_unref(b[i]);
	accel_weights_unref(all);
	accel_weights_unref(w);
}

/* Files have the mode that the process gives its files. */
static void test_mode(void **state)
{
	static const mode_t masks[] = { 077, 027, 0 };
	struct rt *rt = *state;
	struct accel_weights *w = weights_new(rt, 0);
	struct stat st;
	mode_t old;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		old = umask(masks[i]);
		assert_int_equal(accel_weights_save(w, path), 0);
		umask(old);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0666 & ~masks[i]);
	}
	accel_weights_unref(w);
}

/* A file for another device, or not such a file, or a form that is damaged. */
static void test_refused(void **state)
{
	static const struct {
		off_t at;
		int cut;
		int code;
		const char *field;
	} wrong[] = {
		{ 0, 0, -EBADMSG, "path" }, { 8, 0, -ESTALE, "version" },
		{ 12, 0, -ESTALE, "version" }, { 16, 0, -EBADMSG, "path" },
		{ 20, 0, -EBADMSG, "path" }, { 24, 0, -ESTALE, "profile" },
		{ 56, 0, -ESTALE, "kernels" }, { 88, 0, -ESTALE, "driver" },
		{ 120, 0, -EBADMSG, "path" }, { 200, 0, -EBADMSG, "path" },
		{ 0, 1, -EBADMSG, "path" }, { 100, 1, -EBADMSG, "path" },
		{ 140, 1, -EBADMSG, "path" }, { 4096, 1, -EBADMSG, "path" },
		{ 8192, 1, -EBADMSG, "path" },
	};
	struct rt *rt = *state;
	struct accel_bo *b = matrix(rt->ctx, 7);
	struct accel_weights *w;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		save_one(rt, 7);
		damage(wrong[i].at, wrong[i].cut);
		w = weights_new(rt, 0);
		assert_fails(rt->ctx, accel_weights_load(w, path), wrong[i].code, wrong[i].field);
		product_gives(rt->ctx, w, b, 4, 7);
		assert_counts(w, 1, 0);
		accel_weights_unref(w);
	}
	/* Forms of version 2 were transformed by other numbers. */
	save_one(rt, 7);
	overwrite(8, 2);
	w = weights_new(rt, 0);
	assert_fails(rt->ctx, accel_weights_load(w, path), -ESTALE, "version");
	accel_weights_unref(w);
	/* Of the form itself the checksum is looked at when it is wanted. */
	for (i = 0; i < 3; i++) {
		save_one(rt, 7);
		damage(4096 + (off_t)i * 4000 + 64, 0);
		w = weights_new(rt, 0);
		assert_int_equal(accel_weights_load(w, path), 0);
		product_gives(rt->ctx, w, b, 4, 7);
		assert_counts(w, 1, 0);
		assert_int_equal(info_of(w).refused, 1);
		accel_weights_unref(w);
	}
	/* One that nobody wanted yet is not written again as if it were right. */
	save_one(rt, 7);
	damage(4096 + 64, 0);
	w = weights_new(rt, 0);
	assert_int_equal(accel_weights_load(w, path), 0);
	assert_int_equal(accel_weights_save(w, path), 0);
	assert_int_equal(info_of(w).refused, 1);
	accel_weights_unref(w);
	w = weights_new(rt, 0);
	assert_int_equal(accel_weights_load(w, path), 0);
	product_gives(rt->ctx, w, b, 4, 7);
	assert_counts(w, 1, 0);
	accel_weights_unref(w);
	w = weights_new(rt, 0);
	unlink(path);
	assert_fails(rt->ctx, accel_weights_load(w, path), -ENOENT, "path");
	/* A pipe that nobody writes to is not waited for. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_fails(rt->ctx, accel_weights_load(w, path), -EBADMSG, "path");
	unlink(path);
	assert_fails(rt->ctx, accel_weights_load(w, NULL), -EINVAL, "path");
	assert_fails(rt->ctx, accel_weights_load(w, "/dev/null"), -EBADMSG, "path");
	assert_fails(rt->ctx, accel_weights_save(w, "/nowhere/at/all"), -ENOENT, "path");
	accel_weights_unref(w);
	accel_bo_unref(b);
}

/* In another process: what the first has saved is found, and right. */
static int child(const char *name)
{
	struct accel_weights *w;
	struct rt rt = { 0 };
	struct accel_bo *b;
	int ret;

	rt_open(&rt, rt_name(), rt_is_sw() ? 1 : 0);
	w = weights_new(&rt, 0);
	b = matrix(rt.ctx, 7);
	if (accel_weights_load(w, name))
		return 1;
	product_gives(rt.ctx, w, b, 4, 7);
	ret = info_of(w).made || info_of(w).found != 1;
	/* A sanitizer that finds leaks asks this process, too. */
	accel_bo_unref(b);
	accel_weights_unref(w);
	rt_close(&rt);
	return ret;
}

static void test_processes(void **state)
{
	struct rt *rt = *state;
	char self[] = "/proc/self/exe";
	char name[64];
	char *const argv[] = { program_invocation_name, name, NULL };
	pid_t pid;
	int status;

	save_one(rt, 7);
	snprintf(name, sizeof(name), "%s", path);
	assert_int_equal(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	unlink(path);
}

/* --- a directory of forms ---------------------------------------------------------- */

/* A context that keeps its weights in @path */
static struct accel_ctx *keeps(struct rt *rt, uint64_t bytes)
{
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	struct accel_ctx *ctx;

	opts.weights_dir = path;
	opts.weights_bytes = bytes;
	assert_int_equal(accel_ctx_create(rt->dev, &opts, &ctx), 0);
	return ctx;
}

/* As a later start has it: forms that are made, found and refused */
static void assert_start(struct rt *rt, uint64_t bytes, uint32_t salt, uint64_t made,
			 uint64_t found, uint64_t refused)
{
	struct accel_ctx *ctx = keeps(rt, bytes);
	struct accel_bo *b = matrix(ctx, salt);
	struct accel_weights *w;

	assert_int_equal(accel_weights_create(ctx, NULL, &w), 0);
	product_gives(ctx, w, b, 3, salt);
	assert_counts(w, made, found);
	assert_int_equal(info_of(w).refused, refused);
	accel_weights_unref(w);
	accel_bo_unref(b);
	accel_ctx_destroy(ctx);
}

/* How many forms there are, with what is left of others, and the name of one */
static uint32_t kept_files(char name[320])
{
	DIR *dir = opendir(path);
	struct dirent *d;
	uint32_t n = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)))
		if (strstr(d->d_name, ".w")) {
			snprintf(name, 320, "%s/%s", path, d->d_name);
			n++;
		}
	closedir(dir);
	return n;
}

/*
 * As if it was years ago that new ones were used, and @order seconds later: use is noted once a
 * day, and the clock of files may stand still for milliseconds.
 */
static void age_kept(time_t order)
{
	const time_t then = 1000000000;
	const struct timespec times[2] = { { then + order, 0 }, { then + order, 0 } };
	DIR *dir = opendir(path);
	struct dirent *d;
	struct stat st;

	assert_non_null(dir);
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		assert_int_equal(fstatat(dirfd(dir), d->d_name, &st, 0), 0);
		if (st.st_atim.tv_sec > then + 1000)
			assert_int_equal(utimensat(dirfd(dir), d->d_name, times, 0), 0);
	}
	closedir(dir);
}

static void remove_kept(void)
{
	char name[320];

	while (kept_files(name))
		assert_int_equal(unlink(name), 0);
	/* Is there what forms had, where these are not written within two seconds? */
	snprintf(name, sizeof(name), "%s/known", path);
	unlink(name);
	assert_int_equal(rmdir(path), 0);
}

/* What one start has packed the next ones find, and what somebody changed they do not take. */
static void test_kept(void **state)
{
	static const off_t wrong[] = { 0, 8, 16, 24, 120, 150, 4096 + 64 };
	struct rt *rt = *state;
	char name[320], to[330];
	struct stat st;
	uint32_t i;

	assert_start(rt, 0, 7, 1, 0, 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(kept_files(name), 1);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_start(rt, 0, 7, 0, 1, 0);
	/* Damaged, cut, open to others: made anew, and right the time after. */
	for (i = 0; i < ARRAY_SIZE(wrong) + 2; i++) {
		assert_int_equal(kept_files(name), 1);
		if (i < ARRAY_SIZE(wrong))
			damage_file(name, wrong[i], 0);
		else if (i == ARRAY_SIZE(wrong))
			damage_file(name, 5000, 1);
		else
			assert_int_equal(chmod(name, 0666), 0);
		assert_start(rt, 0, 7, 1, 0, 1);
		assert_start(rt, 0, 7, 0, 1, 0);
	}
	/* A link is not followed, and nobody's else file is taken. */
	snprintf(to, sizeof(to), "%s.away", name);
	assert_int_equal(rename(name, to), 0);
	assert_int_equal(symlink(to, name), 0);
	assert_start(rt, 0, 7, 1, 0, 0);
	assert_int_equal(lstat(name, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(unlink(to), 0);
	if (!geteuid()) {
		assert_int_equal(chown(name, 1, 1), 0);
		assert_start(rt, 0, 7, 1, 0, 1);
	}
	/* No directory that others write; the answers are right all the same. */
	assert_int_equal(chmod(path, 0777), 0);
	assert_start(rt, 0, 7, 1, 0, 0);
	assert_start(rt, 0, 8, 1, 0, 0);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(kept_files(name), 1);
	remove_kept();
}

/* What was not used longest goes; what alone is too much is not written. */
static void test_kept_bounded(void **state)
{
	const uint64_t two = 2 * (K * N * 4 + 8192), small = K * N * 2;
	struct rt *rt = *state;
	char name[320];
	uint32_t i;

	for (i = 0; i < 3; i++) {
		assert_start(rt, two, i, 1, 0, 0);
		age_kept(i);
	}
	assert_int_equal(kept_files(name), 2);
	assert_start(rt, two, 1, 0, 1, 0);
	assert_start(rt, two, 3, 1, 0, 0);
	assert_int_equal(kept_files(name), 2);
	assert_start(rt, two, 1, 0, 1, 0);
	remove_kept();
	assert_start(rt, small, 1, 1, 0, 0);
	assert_int_equal(kept_files(name), 0);
	remove_kept();
}

/* Of what is too much together the first forms are kept, and later starts write no others. */
static void test_kept_part(void **state)
{
	const uint64_t two = 2 * (K * N * 4 + 8192);
	struct rt *rt = *state;
	uint32_t start, i;

	for (start = 0; start < 2; start++) {
		struct accel_ctx *ctx = keeps(rt, two);
		struct accel_weights *w;

		assert_int_equal(accel_weights_create(ctx, NULL, &w), 0);
		for (i = 0; i < 3; i++) {
			struct accel_bo *b = matrix(ctx, i);

			product_gives(ctx, w, b, 3, i);
			accel_bo_unref(b);
		}
		assert_counts(w, start ? 1 : 3, start ? 2 : 0);
		accel_weights_unref(w);
		accel_ctx_destroy(ctx);
	}
	for (i = 0; i < 2; i++)
		assert_start(rt, two, i, 0, 1, 0);
	remove_kept();
}

/* What was left by one that was stopped, and had the same number, is in nobody's way. */
static void test_kept_left(void **state)
{
	struct rt *rt = *state;
	char name[320], left[400];
	uint32_t i;

	assert_start(rt, 0, 7, 1, 0, 0);
	assert_int_equal(kept_files(name), 1);
	assert_int_equal(unlink(name), 0);
	for (i = 0; i < 100; i++) {
		snprintf(left, sizeof(left), "%s.%d.%u", name, getpid(), i);
		assert_int_equal(close(open(left, O_CREAT | O_WRONLY, 0600)), 0);
	}
	assert_start(rt, 0, 7, 1, 0, 0);
	assert_start(rt, 0, 7, 0, 1, 0);
	remove_kept();
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		T(test_options), T(test_rows), T(test_lives), T(test_bounded), T(test_contexts),
		T(test_tables), T(test_rows_and_columns), T(test_parts), T(test_convolutions),
		T(test_threads), T(test_file), T(test_changed), T(test_load_bounded), T(test_mode),
		T(test_refused), T(test_processes), T(test_kept), T(test_kept_bounded),
		T(test_kept_part), T(test_kept_left),
	};

	if (argc > 1)
		return child(argv[1]);
	snprintf(path, sizeof(path), "/tmp/accel-weights.%d", getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
