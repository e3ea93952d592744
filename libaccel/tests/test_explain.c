// SPDX-License-Identifier: MIT
/*
 * Where operations go, and why not elsewhere, on each chip.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <accel/accel.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * struct answers - what explain told
 */
struct answers {
	uint32_t count;
	struct accel_candidate c[32];
};

static int collect(void *user, const struct accel_candidate *c)
{
	struct answers *all = user;

	assert_in_range(all->count, 0, 31);
	assert_int_equal(c->size, sizeof(*c));
	all->c[all->count++] = *c;
	return 0;
}

static const struct accel_candidate *find(const struct answers *all, uint32_t engine)
{
	uint32_t i;

	for (i = 0; i < all->count; i++)
		if (all->c[i].engine == engine)
			return &all->c[i];
	return NULL;
}

static const struct accel_candidate *chosen(const struct answers *all)
{
	const struct accel_candidate *c = NULL;
	uint32_t i;

	for (i = 0; i < all->count; i++)
		if (all->c[i].verdict == ACCEL_CHOSEN) {
			assert_null(c);
			c = &all->c[i];
		}
	return c;
}

static void open_chip(const char *name, struct accel_device **dev,
		      struct accel_ctx **ctx)
{
	assert_int_equal(accel_device_open(name, NULL, dev), 0);
	assert_int_equal(accel_ctx_create(*dev, NULL, ctx), 0);
}

static void square(struct accel_gemm_desc *g, uint32_t dtype, int64_t n)
{
	*g = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	g->a = accel_tensor_2d(NULL, dtype, n, n);
	g->b = accel_tensor_2d(NULL, dtype, n, n);
	g->d = accel_tensor_2d(NULL, dtype, n, n);
}

static uint32_t buffers(struct accel_ctx *ctx)
{
	struct accel_memory_stats stats = { .size = sizeof(stats) };

	accel_ctx_get_memory(ctx, &stats);
	return stats.bo_count;
}

/* The example of the issue: bf16 on the matrix unit of the first generation. */
static void test_bf16(void **state)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct answers all = { 0 };
	struct accel_gemm_desc g;
	struct accel_plan *plan = NULL;
	struct accel_device *dev;
	struct accel_ctx *ctx;

	(void)state;
	open_chip("sw:m1", &dev, &ctx);
	square(&g, ACCEL_BF16, 64);
	g.hdr.engine = ACCEL_ENGINE_MATRIX;
	assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), -EOPNOTSUPP);
	assert_null(plan);
	accel_ctx_get_error(ctx, &e);
	assert_int_equal(e.code, -EOPNOTSUPP);
	assert_int_equal(e.engine, ACCEL_ENGINE_MATRIX);
	assert_string_equal(e.field, "gemm.a.dtype");
	assert_string_equal(e.text,
			    "matrix engine has no bf16 A operand on m1; gpu would take it");
	assert_int_equal(buffers(ctx), 0);

	assert_int_equal(accel_explain(ctx, &g.hdr, collect, &all), 0);
	assert_int_equal(all.count, 3);
	assert_null(chosen(&all));
	assert_int_equal(find(&all, ACCEL_ENGINE_MATRIX)->verdict, ACCEL_REFUSED);
	assert_int_equal(find(&all, ACCEL_ENGINE_MATRIX)->estimate_ns, 0);
	assert_int_equal(find(&all, ACCEL_ENGINE_NEURAL)->verdict, ACCEL_REFUSED);
	assert_int_equal(find(&all, ACCEL_ENGINE_GPU)->verdict, ACCEL_POSSIBLE);
	assert_non_null(strstr(find(&all, ACCEL_ENGINE_GPU)->text, "asks for matrix"));

	/* Left to the library it goes where it can. */
	g.hdr.engine = ACCEL_ENGINE_AUTO;
	assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), 0);
	memset(&all, 0, sizeof(all));
	assert_int_equal(accel_plan_explain(plan, collect, &all), 0);
	assert_int_equal(chosen(&all)->engine, ACCEL_ENGINE_GPU);
	accel_plan_unref(plan);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);

	/* The third generation has it. */
	open_chip("sw:m3", &dev, &ctx);
	g.hdr.engine = ACCEL_ENGINE_MATRIX;
	assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), 0);
	accel_plan_unref(plan);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* What an engine refuses, by field. */
static void test_refusals(void **state)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_gemm_desc g;
	struct accel_copy_desc c = ACCEL_COPY_DESC_INIT;
	struct accel_unary_desc u = ACCEL_UNARY_DESC_INIT;
	struct accel_plan *plan;
	struct accel_device *dev;
	struct accel_ctx *ctx;

#define REFUSED(desc, name) do {						\
	assert_int_equal(accel_plan_create(ctx, &(desc).hdr, &plan), -EOPNOTSUPP); \
	accel_ctx_get_error(ctx, &e);						\
	assert_string_equal(e.field, name);					\
	assert_non_null(strstr(e.text, "would take it"));			\
} while (0)
	(void)state;
	open_chip("sw:m1", &dev, &ctx);
	square(&g, ACCEL_F32, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	REFUSED(g, "gemm.a.dtype");
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.d.dtype = ACCEL_F32;
	REFUSED(g, "gemm.d.dtype");
	/* 4-bit weights came with the third generation. */
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.b.dtype = ACCEL_S4;
	g.b.quant.scheme = ACCEL_QUANT_CHANNEL;
	g.b.quant.axis = 1;
	REFUSED(g, "gemm.b.dtype");
	assert_non_null(strstr(e.text, "with fp16 A"));
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.b.dtype = ACCEL_S8;
	g.b.quant.scheme = ACCEL_QUANT_GROUP;
	g.b.quant.group = 32;
	REFUSED(g, "gemm.b.quant.scheme");
	/* As fp16 and int8 in groups, but not rounded to bytes */
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.b.dtype = ACCEL_S8;
	g.b.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = 1 };
	g.a_group = 32;
	REFUSED(g, "gemm.a_group");
	square(&g, ACCEL_F32, 64);
	g.hdr.engine = ACCEL_ENGINE_MATRIX;
	g.epilogue.act = ACCEL_ACT_GELU;
	REFUSED(g, "gemm.epilogue.act");
	assert_non_null(strstr(e.text, "gelu"));
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.epilogue.bias = accel_tensor_2d(NULL, ACCEL_BF16, 1, 64);
	REFUSED(g, "gemm.epilogue.bias.dtype");
	/* dimensions: N, M, K, each with its path */
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.b.dims[1] = g.d.dims[1] = 20000;
	REFUSED(g, "gemm.d.dims[1]");
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.a.dims[0] = g.d.dims[0] = 20000;
	REFUSED(g, "gemm.d.dims[0]");
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.a.dims[1] = g.b.dims[0] = 20000;
	REFUSED(g, "gemm.a.dims[1]");
	g.flags = ACCEL_GEMM_TRANS_A;
	g.a.dims[0] = 20000;
	g.a.dims[1] = 64;
	REFUSED(g, "gemm.a.dims[0]");
	/* nobody: no engine has so many columns */
	square(&g, ACCEL_F32, 1);
	g.b.dims[1] = g.d.dims[1] = 1 << 25;
	assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), -EOPNOTSUPP);
	accel_ctx_get_error(ctx, &e);
	assert_string_equal(e.field, "gemm.d.dims[1]");
	assert_non_null(strstr(e.text, "no other engine"));
	/* other operations */
	u.hdr.engine = ACCEL_ENGINE_MATRIX;
	u.a = accel_tensor_2d(NULL, ACCEL_F32, 4, 4);
	u.d = u.a;
	REFUSED(u, "unary.hdr.op");
	u.a.dtype = u.d.dtype = ACCEL_F16;
	u.hdr.engine = ACCEL_ENGINE_NEURAL;
	u.func = ACCEL_UNARY_FLOOR;
	REFUSED(u, "unary.func");
	assert_non_null(strstr(e.text, "floor"));
	c.hdr.engine = ACCEL_ENGINE_NEURAL;
	c.a = accel_tensor_2d(NULL, ACCEL_F16, 4, 4);
	c.d = accel_tensor_2d(NULL, ACCEL_S32, 4, 4);
	REFUSED(c, "copy.d.dtype");
	assert_int_equal(buffers(ctx), 0);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* The fastest is chosen, and what an engine says of itself adds up. */
static void test_choice(void **state)
{
	static const char * const chips[] = {
		"sw:m1", "sw:m2", "sw:m3", "sw:ultra", "sw:full"
	};
	static const int64_t sizes[] = { 1, 16, 64, 256, 1024, 4096 };
	static const uint32_t dtypes[] = { ACCEL_F32, ACCEL_F16, ACCEL_BF16 };
	const struct accel_candidate *best;
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_plan *plan;
	struct accel_ctx *ctx;
	struct answers all;
	uint32_t i, j, t, c;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(chips); i++) {
		open_chip(chips[i], &dev, &ctx);
		for (j = 0; j < ARRAY_SIZE(sizes); j++)
			for (t = 0; t < ARRAY_SIZE(dtypes); t++) {
				square(&g, dtypes[t], sizes[j]);
				memset(&all, 0, sizeof(all));
				assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), 0);
				accel_plan_explain(plan, collect, &all);
				accel_plan_get_info(plan, &info);
				best = chosen(&all);
				assert_non_null(best);
				assert_int_equal(best->engine, info.engine);
				assert_int_equal(best->estimate_ns, info.estimate_ns);
				assert_int_equal(info.macs, sizes[j] * sizes[j] * sizes[j]);
				for (c = 0; c < all.count; c++) {
					assert_true(all.c[c].instances);
					assert_true(all.c[c].verdict == ACCEL_REFUSED ||
						    (all.c[c].estimate_ns >= best->estimate_ns &&
						     all.c[c].bytes && all.c[c].algorithm[0] &&
						     !all.c[c].field[0]));
				}
				accel_plan_unref(plan);
			}
		accel_ctx_destroy(ctx);
		accel_device_unref(dev);
	}
}

/* Small work stays near; large work goes where the throughput is. */
static void test_crossover(void **state)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_plan *plan;
	struct accel_ctx *ctx;

	(void)state;
	open_chip("sw:m1", &dev, &ctx);
	square(&g, ACCEL_F16, 16);
	assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), 0);
	accel_plan_get_info(plan, &info);
	assert_int_equal(info.engine, ACCEL_ENGINE_MATRIX);
	accel_plan_unref(plan);
	square(&g, ACCEL_F16, 4096);
	assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), 0);
	accel_plan_get_info(plan, &info);
	assert_int_equal(info.engine, ACCEL_ENGINE_NEURAL);
	accel_plan_unref(plan);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* Engines that differ in nothing answer once, for all of them. */
static void test_instances(void **state)
{
	struct answers all = { 0 };
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_ctx *ctx;

	(void)state;
	open_chip("sw:ultra", &dev, &ctx);
	square(&g, ACCEL_F16, 64);
	assert_int_equal(accel_explain(ctx, &g.hdr, collect, &all), 0);
	assert_int_equal(all.count, 3);
	assert_int_equal(find(&all, ACCEL_ENGINE_MATRIX)->instances, 0xf);
	assert_int_equal(find(&all, ACCEL_ENGINE_GPU)->instances, 0x3);
	assert_int_equal(find(&all, ACCEL_ENGINE_NEURAL)->instances, 0x3);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

static int stop_at_second(void *user, const struct accel_candidate *c)
{
	(void)c;
	return ++*(int *)user == 2 ? -77 : 0;
}

static void test_stop(void **state)
{
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_plan *plan;
	struct accel_ctx *ctx;
	int n = 0;

	(void)state;
	open_chip("sw:m1", &dev, &ctx);
	square(&g, ACCEL_F32, 8);
	assert_int_equal(accel_explain(ctx, &g.hdr, stop_at_second, &n), -77);
	assert_int_equal(n, 2);
	n = 0;
	assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), 0);
	assert_int_equal(accel_plan_explain(plan, stop_at_second, &n), -77);
	assert_int_equal(n, 2);
	accel_plan_unref(plan);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* accel_run() knows addresses: an engine that wants better ones is passed by. */
static void test_alignment(void **state)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_bo *bo;

	(void)state;
	open_chip("sw:m1", &dev, &ctx);
	assert_int_equal(accel_bo_create(ctx, 1 << 16, NULL, &bo), 0);
	square(&g, ACCEL_F16, 64);
	g.hdr.engine = ACCEL_ENGINE_NEURAL;
	g.a.bo = g.b.bo = g.d.bo = bo;
	g.b.offset = 8192;
	g.d.offset = 32768;
	assert_int_equal(accel_run(ctx, &g.hdr), 0);
	g.b.offset += 2;
	assert_int_equal(accel_run(ctx, &g.hdr), -EOPNOTSUPP);
	accel_ctx_get_error(ctx, &e);
	assert_string_equal(e.field, "gemm.b.offset");
	g.hdr.engine = ACCEL_ENGINE_AUTO;
	assert_int_equal(accel_run(ctx, &g.hdr), 0);
	accel_bo_unref(bo);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* What is refused reaches no backend: a recorder sees no call. */
static void test_nothing_submitted(void **state)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_ctx *ctx;
	char path[] = "/tmp/explain.XXXXXX", *text;
	struct accel_bo *bo;
	int fd = mkstemp(path);
	off_t before, after;

	(void)state;
	assert_true(fd >= 0);
	opts.record_path = path;
	assert_int_equal(accel_device_open("rec:sw:m1", &opts, &dev), 0);
	assert_int_equal(accel_ctx_create(dev, NULL, &ctx), 0);
	assert_int_equal(accel_bo_create(ctx, 1 << 16, NULL, &bo), 0);
	square(&g, ACCEL_BF16, 64);
	g.hdr.engine = ACCEL_ENGINE_MATRIX;
	g.flags = ACCEL_GEMM_PACK_B;
	g.a.bo = g.b.bo = g.d.bo = bo;
	g.b.offset = 16384;
	g.d.offset = 32768;
	before = lseek(fd, 0, SEEK_END);
	assert_int_equal(accel_run(ctx, &g.hdr), -EOPNOTSUPP);
	after = lseek(fd, 0, SEEK_END);
	assert_true(before > 0);
	assert_int_equal(before, after);
	/* What is not refused is seen. */
	g.hdr.engine = ACCEL_ENGINE_GPU;
	assert_int_equal(accel_run(ctx, &g.hdr), 0);
	after = lseek(fd, 0, SEEK_END);
	assert_true(after > before);
	text = calloc(1, (size_t)after + 1);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)after, 0), after);
	assert_non_null(strstr(text, "submit"));
	free(text);
	accel_bo_unref(bo);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	close(fd);
	unlink(path);
}

/*
 * A plan tells the same as its descriptor, also when the buffers of that, and what its
 * address was good for, are gone.
 */
static void test_later(void **state)
{
	struct answers before = { 0 }, after = { 0 };
	struct accel_ffn_desc f = ACCEL_FFN_DESC_INIT;
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_plan *plan;
	struct accel_ctx *ctx;
	struct accel_bo *bo;
	uint32_t i, k;

	(void)state;
	open_chip("sw:m2", &dev, &ctx);
	for (k = 0; k < 2; k++) {
		assert_int_equal(accel_bo_create(ctx, 65536, NULL, &bo), 0);
		memset(accel_bo_ptr(bo), 0, 65536);
		if (!k) {
			square(&g, ACCEL_F16, 48);
			g.b.dtype = ACCEL_S8;
			g.b.quant.scheme = ACCEL_QUANT_GROUP;
			g.b.quant.group = 16;
			g.b.dims[0] = g.a.dims[1] = 64;
			g.b.quant.scales = g.b.quant.zeros = bo;
			g.b.quant.scales_offset = 32768;
			g.b.quant.zeros_offset = 40960;
			g.b.bo = bo;
			g.flags = ACCEL_GEMM_PACK_B;
		} else {
			f.a = accel_tensor_2d(NULL, ACCEL_F32, 8, 16);
			f.up = accel_tensor_2d(bo, ACCEL_F32, 16, 32);
			f.down = accel_tensor_2d(bo, ACCEL_F32, 32, 16);
			f.d = f.a;
		}
		before.count = after.count = 0;
		assert_int_equal(accel_explain(ctx, k ? &f.hdr : &g.hdr, collect, &before), 0);
		assert_int_equal(accel_plan_create(ctx, k ? &f.hdr : &g.hdr, &plan), 0);
		accel_bo_unref(bo);
		memset(k ? (void *)&f : (void *)&g, 0xff, k ? sizeof(f) : sizeof(g));
		assert_int_equal(accel_plan_explain(plan, collect, &after), 0);
		assert_int_equal(after.count, before.count);
		assert_true(before.count > 1);
		for (i = 0; i < after.count; i++)
			assert_memory_equal(&after.c[i], &before.c[i], sizeof(after.c[i]));
		assert_non_null(chosen(&after));
		accel_plan_unref(plan);
		f = (struct accel_ffn_desc)ACCEL_FFN_DESC_INIT;
	}
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* The kernels that run it in process, or the reason why none does; both ways to ask agree. */
static void expect_kernel(struct accel_ctx *ctx, const struct accel_desc *desc, const char *kernel,
			  const char *text)
{
	struct accel_device_info info = { .size = sizeof(info) };
	struct answers all = { 0 }, planned = { 0 };
	const struct accel_candidate *c;
	struct accel_plan *plan;

	assert_int_equal(accel_device_get_info(accel_ctx_device(ctx), &info), 0);
	assert_int_equal(accel_explain(ctx, desc, collect, &all), 0);
	assert_int_equal(accel_plan_create(ctx, desc, &plan), 0);
	assert_int_equal(accel_plan_explain(plan, collect, &planned), 0);
	c = chosen(&all);
	assert_non_null(c);
	assert_string_equal(c->kernel, chosen(&planned)->kernel);
	assert_string_equal(c->kernel_text, chosen(&planned)->kernel_text);
	accel_plan_unref(plan);
	/* Levels without kernels */
	if (!strcmp(info.kernels, "portable") || !strncmp(info.kernels, "model", 5)) {
		assert_int_equal(strncmp(c->kernel, "model", 5), 0);
		assert_non_null(strstr(c->kernel_text, "level of kernels"));
		return;
	}
	/* Levels for other processors have fewer. */
	if (strncmp(info.kernels, "avx512", 6) && strcmp(info.kernels, "amx"))
		return;
	assert_string_equal(c->kernel, kernel);
	if (!strstr(c->kernel_text, text) || !*text != !*c->kernel_text)
		fail_msg("%s: %s", c->kernel, c->kernel_text);
}

static void test_kernels(void **state)
{
	struct accel_conv_desc conv = ACCEL_CONV_DESC_INIT;
	struct accel_scan_desc scan = ACCEL_SCAN_DESC_INIT;
	struct accel_kv_write_desc kv = ACCEL_KV_WRITE_DESC_INIT;
	struct accel_ffn_desc f = ACCEL_FFN_DESC_INIT;
	const int64_t in[4] = { 1, 8, 9, 9 }, weights[4] = { 8, 16, 3, 3 },
		      out[4] = { 1, 16, 11, 11 };
	const int64_t rows[3] = { 5, 2, 64 }, pages[4] = { 4, 16, 2, 64 };
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_bo *bo;

	(void)state;
	open_chip("sw:full", &dev, &ctx);
	square(&g, ACCEL_F32, 64);
	expect_kernel(ctx, &g.hdr, "gemm", "");
	g.a.dims[0] = g.d.dims[0] = 1;
	g.flags = ACCEL_GEMM_PACK_B;
	assert_int_equal(accel_bo_create(ctx, 64 * 64 * 4, NULL, &bo), 0);
	g.b.bo = bo;
	expect_kernel(ctx, &g.hdr, "gemv", "");
	conv.flags = ACCEL_CONV_TRANSPOSED;
	conv.a = accel_tensor_dense(NULL, ACCEL_F32, 4, in);
	conv.b = accel_tensor_dense(NULL, ACCEL_F32, 4, weights);
	conv.d = accel_tensor_dense(NULL, ACCEL_F32, 4, out);
	expect_kernel(ctx, &conv.hdr, "model", "transposed");
	scan.a = accel_tensor_2d(NULL, ACCEL_S8, 4, 64);
	scan.d = accel_tensor_2d(NULL, ACCEL_S32, 4, 64);
	expect_kernel(ctx, &scan.hdr, "model", "sums of integers");
	kv.a = accel_tensor_dense(NULL, ACCEL_F32, 3, rows);
	kv.slots = accel_tensor_dense(NULL, ACCEL_S32, 1, rows);
	kv.d = accel_tensor_dense(NULL, ACCEL_F16, 4, pages);
	expect_kernel(ctx, &kv.hdr, "kv_write", "");
	f.a = accel_tensor_2d(NULL, ACCEL_F32, 8, 16);
	f.up = accel_tensor_2d(NULL, ACCEL_F32, 16, 32);
	f.down = accel_tensor_2d(NULL, ACCEL_F32, 32, 16);
	f.d = f.a;
	expect_kernel(ctx, &f.hdr, "gemm, gemm", "");
	accel_bo_unref(bo);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* The same numbers as explain tells, of each engine; energy is the chip's power for the time. */
static void check_costs(struct accel_ctx *ctx, const struct accel_desc *desc)
{
	struct accel_cost auto_cost = { .size = sizeof(auto_cost) };
	struct accel_cost cost = { .size = sizeof(cost) };
	struct accel_plan_info info = { .size = sizeof(info) };
	struct answers all = { 0 };
	struct accel_plan *plan;
	uint32_t engine, i, took = 0;
	uint64_t best;

	assert_int_equal(accel_plan_create(ctx, desc, &plan), 0);
	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	accel_plan_unref(plan);
	assert_int_equal(accel_explain(ctx, desc, collect, &all), 0);
	assert_int_equal(accel_cost(ctx, desc, ACCEL_ENGINE_AUTO, &auto_cost), 0);
	assert_int_equal(auto_cost.engine, info.engine);
	assert_int_equal(auto_cost.ns, info.estimate_ns);
	assert_int_equal(auto_cost.macs, info.macs);
	assert_int_equal(auto_cost.bytes, chosen(&all)->bytes);
	for (engine = ACCEL_ENGINE_AUTO + 1; engine < ACCEL_ENGINE_COUNT; engine++) {
		best = UINT64_MAX;
		for (i = 0; i < all.count; i++)
			if (all.c[i].engine == engine && all.c[i].verdict != ACCEL_REFUSED &&
			    all.c[i].estimate_ns < best)
				best = all.c[i].estimate_ns;
		if (best == UINT64_MAX) {
			assert_int_equal(accel_cost(ctx, desc, engine, &cost), -EOPNOTSUPP);
			continue;
		}
		assert_int_equal(accel_cost(ctx, desc, engine, &cost), 0);
		assert_int_equal(cost.engine, engine);
		assert_int_equal(cost.ns, best);
		assert_true(cost.instances != 0 && cost.bytes != 0 && cost.macs == info.macs);
		/* A whole number of milliwatts, between those of a sensor and of a stove */
		assert_int_equal(cost.energy_pj % cost.ns, 0);
		assert_in_range(cost.energy_pj / cost.ns, 100, 200000);
		took++;
	}
	assert_true(took > 0);
}

static void test_cost(void **state)
{
	struct accel_ffn_desc f = ACCEL_FFN_DESC_INIT;
	struct accel_cost cost = { .size = sizeof(cost) };
	struct accel_gemm_desc g;
	struct accel_device *dev;
	struct accel_ctx *ctx;

	(void)state;
	open_chip("sw:m1", &dev, &ctx);
	square(&g, ACCEL_BF16, 256);
	check_costs(ctx, &g.hdr);
	/* What the descriptor asks for does not count. */
	g.hdr.engine = ACCEL_ENGINE_MATRIX;
	assert_int_equal(accel_cost(ctx, &g.hdr, ACCEL_ENGINE_GPU, &cost), 0);
	assert_int_equal(accel_cost(ctx, &g.hdr, ACCEL_ENGINE_MATRIX, &cost), -EOPNOTSUPP);
	assert_int_equal(accel_cost(ctx, &g.hdr, ACCEL_ENGINE_COUNT, &cost), -EINVAL);
	cost.size = 4;
	assert_int_equal(accel_cost(ctx, &g.hdr, ACCEL_ENGINE_GPU, &cost), -EINVAL);
	square(&g, ACCEL_F32, 64);
	check_costs(ctx, &g.hdr);
	f.a = accel_tensor_2d(NULL, ACCEL_F32, 8, 16);
	f.up = accel_tensor_2d(NULL, ACCEL_F32, 16, 32);
	f.down = accel_tensor_2d(NULL, ACCEL_F32, 32, 16);
	f.d = f.a;
	check_costs(ctx, &f.hdr);
	g.b.dims[0]++;
	assert_int_equal(accel_cost(ctx, &g.hdr, ACCEL_ENGINE_AUTO, &cost), -EINVAL);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

/* What would be faster is not said to take longer, but why it is not taken. */
static void not_taken(bool any_rows, int64_t channels, int64_t count, int64_t side)
{
	const int64_t image[4] = { 1, channels, side, side }, out[4] = { 1, count, side, side };
	const int64_t filters[4] = { count, channels, 3, 3 };
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	struct accel_conv_desc c = ACCEL_CONV_DESC_INIT;
	const struct accel_candidate *best;
	struct answers all = { 0 };
	struct accel_device *dev;
	struct accel_ctx *ctx;
	uint32_t i, n = 0;

	opts.flags = any_rows ? ACCEL_CTX_REPRODUCIBLE : 0;
	assert_int_equal(accel_device_open("sw:m1", NULL, &dev), 0);
	assert_int_equal(accel_ctx_create(dev, &opts, &ctx), 0);
	c.flags = any_rows ? 0 : ACCEL_CONV_PACK_B | ACCEL_CONV_WINOGRAD;
	c.a = accel_tensor_dense(NULL, ACCEL_F32, 4, image);
	c.b = accel_tensor_dense(NULL, ACCEL_F32, 4, filters);
	c.d = accel_tensor_dense(NULL, ACCEL_F32, 4, out);
	c.dilation[0] = c.dilation[1] = any_rows ? 1 : 2;
	c.pad_before[0] = c.pad_before[1] = c.pad_after[0] = c.pad_after[1] = any_rows ? 1 : 2;
	assert_int_equal(accel_explain(ctx, &c.hdr, collect, &all), 0);
	best = chosen(&all);
	assert_non_null(best);
	for (i = 0; i < all.count; i++) {
		if (all.c[i].verdict != ACCEL_POSSIBLE || all.c[i].estimate_ns >= best->estimate_ns)
			continue;
		assert_non_null(strstr(all.c[i].text, any_rows ? "is taken for any number of rows" :
				       "the kernels of this process are faster with"));
		n++;
	}
	assert_true(n > 0);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
}

static void test_not_taken(void **state)
{
	(void)state;
	not_taken(true, 64, 64, 32);
	not_taken(false, 16, 8, 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels), cmocka_unit_test(test_cost),
		cmocka_unit_test(test_later), cmocka_unit_test(test_not_taken),
		cmocka_unit_test(test_bf16), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_choice), cmocka_unit_test(test_crossover),
		cmocka_unit_test(test_instances), cmocka_unit_test(test_stop),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_nothing_submitted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
