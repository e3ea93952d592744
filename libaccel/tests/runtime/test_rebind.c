// SPDX-License-Identifier: MIT
/*
 * Jobs that are repeated elsewhere: what they give, what they refuse, and, in process, that
 * what was made of their tasks is what would be made of new ones.
 */
#include <pthread.h>
#include "libaccel/sw/sw.h"
#include "libaccel/tests/ops/samples.h"
#include "rt.h"

/* Room for an argument, and behind it */
#define ROOM		(256u * 1024u)

static struct accel_tensor t2(uint32_t dtype, int64_t rows, int64_t cols)
{
	return accel_tensor_2d(NULL, dtype, rows, cols);
}

static struct accel_tensor t4(uint32_t dtype, int64_t n, int64_t c, int64_t h, int64_t w)
{
	const int64_t dims[4] = { n, c, h, w };

	return accel_tensor_dense(NULL, dtype, 4, dims);
}

static struct accel_plan *plan_of(struct rt *rt, const struct accel_desc *desc)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan = NULL;

	if (!accel_plan_create(rt->ctx, desc, &plan))
		return plan;
	accel_ctx_get_error(rt->ctx, &e);
	fail_msg("no plan: %s: %s", e.field, e.text);
	return NULL;
}

/* --- operations of all sorts ---------------------------------------------------- */

static struct accel_plan *product(struct rt *rt, int64_t m, uint32_t dtype, uint32_t flags)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct accel_plan *plan;

	g.flags = flags;
	g.a = t2(dtype, m, 64);
	g.b = t2(dtype, 64, 48);
	g.d = t2(dtype == ACCEL_S8 ? ACCEL_S32 : dtype, m, 48);
	if (flags & ACCEL_GEMM_PACK_B) {
		g.b.bo = rt_bo(rt->ctx, 64 * 48 * 4);
		memset(accel_bo_ptr(g.b.bo), 0x3a, 64 * 48 * 4);
	}
	plan = plan_of(rt, &g.hdr);
	accel_bo_unref(g.b.bo);
	return plan;
}

static struct accel_plan *gemm_f32(struct rt *rt)
{
	return product(rt, 40, ACCEL_F32, 0);
}

static struct accel_plan *gemm_s8(struct rt *rt)
{
	return product(rt, 40, ACCEL_S8, 0);
}

static struct accel_plan *gemm_packed(struct rt *rt)
{
	return product(rt, 40, ACCEL_F32, ACCEL_GEMM_PACK_B);
}

static struct accel_plan *gemm_row(struct rt *rt)
{
	return product(rt, 1, ACCEL_F32, ACCEL_GEMM_PACK_B);
}

static struct accel_plan *gemm_few(struct rt *rt)
{
	return product(rt, 5, ACCEL_F32, 0);
}

/* Group scales, bias and residual, which may be in place. */
static struct accel_plan *gemm_groups(struct rt *rt)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;

	g.a = t2(ACCEL_F32, 3, 64);
	g.b = t2(ACCEL_S8, 64, 48);
	g.b.quant.scheme = ACCEL_QUANT_GROUP;
	g.b.quant.group = 32;
	g.d = t2(ACCEL_F32, 3, 48);
	g.epilogue.bias = t2(ACCEL_F32, 1, 48);
	g.epilogue.residual = g.d;
	return plan_of(rt, &g.hdr);
}

static struct accel_plan *conv(struct rt *rt)
{
	struct accel_conv_desc c = ACCEL_CONV_DESC_INIT;

	c.pad_before[0] = c.pad_before[1] = c.pad_after[0] = c.pad_after[1] = 1;
	c.a = t4(ACCEL_F32, 1, 16, 9, 9);
	c.b = t4(ACCEL_F32, 24, 16, 3, 3);
	c.d = t4(ACCEL_F32, 1, 24, 9, 9);
	return plan_of(rt, &c.hdr);
}

static struct accel_plan *depthwise(struct rt *rt)
{
	struct accel_conv_desc c = ACCEL_CONV_DESC_INIT;

	c.flags = ACCEL_CONV_NHWC;
	c.groups = 32;
	c.a = t4(ACCEL_F32, 1, 9, 9, 32);
	c.b = t4(ACCEL_F32, 32, 1, 3, 3);
	c.d = t4(ACCEL_F32, 1, 7, 7, 32);
	return plan_of(rt, &c.hdr);
}

static struct accel_plan *sum(struct rt *rt)
{
	struct accel_binary_desc b = ACCEL_BINARY_DESC_INIT;

	b.func = ACCEL_BINARY_ADD;
	b.a = b.b = b.d = t2(ACCEL_F32, 9, 100);
	return plan_of(rt, &b.hdr);
}

static struct accel_plan *softmax(struct rt *rt)
{
	struct accel_softmax_desc s = ACCEL_SOFTMAX_DESC_INIT;

	s.a = s.d = t2(ACCEL_F32, 9, 100);
	return plan_of(rt, &s.hdr);
}

static struct accel_plan *norm(struct rt *rt)
{
	struct accel_norm_desc n = ACCEL_NORM_DESC_INIT;

	n.a = n.d = t2(ACCEL_F32, 9, 128);
	n.scale = n.bias = t2(ACCEL_F32, 1, 128);
	return plan_of(rt, &n.hdr);
}

static struct accel_plan *attention(struct rt *rt)
{
	struct accel_attention_desc a = ACCEL_ATTENTION_DESC_INIT;

	a.q = a.d = t4(ACCEL_F32, 1, 3, 2, 64);
	a.k = a.v = t4(ACCEL_F32, 1, 40, 2, 64);
	return plan_of(rt, &a.hdr);
}

/* Several tasks, and a workspace between them. */
static struct accel_plan *ffn(struct rt *rt)
{
	struct accel_ffn_desc f = ACCEL_FFN_DESC_INIT;

	f.act = ACCEL_ACT_SILU;
	f.a = f.d = t2(ACCEL_F32, 4, 32);
	f.up = f.gate = t2(ACCEL_F32, 32, 80);
	f.down = t2(ACCEL_F32, 80, 32);
	return plan_of(rt, &f.hdr);
}

static const struct operation {
	const char *name;
	struct accel_plan *(*make)(struct rt *rt);
} operations[] = {
	{ "gemm of fp32", gemm_f32 }, { "gemm of bytes", gemm_s8 }, { "gemm, packed", gemm_packed },
	{ "gemm of a row", gemm_row }, { "gemm of few rows", gemm_few },
	{ "gemm with scales by group", gemm_groups }, { "convolution", conv },
	{ "depthwise convolution", depthwise }, { "sum", sum }, { "softmax", softmax },
	{ "norm", norm }, { "attention", attention }, { "ffn", ffn },
};

/* --- places ------------------------------------------------------------------------ */

static uint64_t place_of(const struct accel_plan *plan, uint32_t arg, uint64_t by)
{
	assert_true(plan->args[arg].lo >= 0 && plan->args[arg].hi + 4096 < ROOM);
	return (uint64_t)arg * ROOM + by;
}

/* Every argument at its place in @bo, a little further on. */
static uint32_t bindings(const struct accel_plan *plan, uint32_t op, struct accel_bo *bo,
			 uint64_t by, struct accel_binding *b)
{
	uint32_t a;

	for (a = 0; a < plan->arg_count; a++)
		b[a] = (struct accel_binding){ plan->args[a].arg, op, bo, place_of(plan, a, by) };
	return plan->arg_count;
}

static struct accel_job *job_at(struct rt *rt, struct accel_plan *plan, struct accel_bo *bo,
				uint64_t by)
{
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_binding b[PLAN_MAX_ARGS];
	const uint32_t n = bindings(plan, 0, bo, by, b);

	assert_int_equal(accel_job_add(job, plan, b, n, NULL, 0, NULL), 0);
	return job;
}

/* The same numbers in every place: small and positive, whatever their type. */
static void fill(const struct accel_plan *plan, struct accel_bo *bo, uint64_t by)
{
	uint32_t a;
	int64_t i;

	memset(accel_bo_ptr(bo), 0x3c, accel_bo_size(bo));
	for (a = 0; a < plan->arg_count; a++) {
		uint8_t *p = (uint8_t *)accel_bo_ptr(bo) + place_of(plan, a, by);

		for (i = 0; i < plan->args[a].hi; i++)
			p[i] = (uint8_t)(0x38 + (i * 5 + i / 7 + a) % 7);
	}
}

static void assert_same_tasks(struct accel_job *a, struct accel_job *b)
{
	const struct sw_job *x = (const struct sw_job *)a, *y = (const struct sw_job *)b;
	uint32_t i;

	for (i = 0; i < a->task_count; i++) {
		const struct sw_task *s = &x->tasks[i], *t = &y->tasks[i];

		assert_int_equal(s->state, t->state);
		assert_int_equal(s->work, t->work);
		assert_memory_equal(&s->prog, &t->prog, sizeof(s->prog));
		assert_ptr_equal(s->fast.class, t->fast.class);
		if (!s->fast.class)
			continue;
		assert_ptr_equal(s->fast.packed, t->fast.packed);
		assert_int_equal(s->fast.range_count, t->fast.range_count);
		assert_memory_equal(s->fast.ranges, t->fast.ranges, sizeof(s->fast.ranges));
		assert_memory_equal(s->fast.priv, t->fast.priv, sizeof(s->fast.priv));
		assert_memory_equal(s->fast.tiles, t->fast.tiles, sizeof(s->fast.tiles));
	}
}

/* On a queue of its own, which may be banned: indices of a sample may be out of range. */
static int outcome(struct rt *rt, struct accel_job *job)
{
	struct accel_queue *queue;
	struct accel_fence *fence;
	int ret;

	assert_int_equal(accel_queue_create(rt->ctx, NULL, &queue), 0);
	fence = rt_submit(queue, job, NULL);
	ret = accel_fence_wait(fence, -1);
	accel_fence_unref(fence);
	accel_queue_destroy(queue);
	return ret;
}

/*
 * An operation, built in one place and repeated in others: a multiple of 64 bytes away,
 * and not; what is around the result stays.
 */
static void moves(struct rt *rt, const char *name, struct accel_plan *plan)
{
	static const uint64_t by[] = { 64, 2048 + 64, 64 + 16, 192 };
	struct accel_bo *bo = rt_bo(rt->ctx, (uint64_t)plan->arg_count * ROOM);
	struct accel_bo *other = rt_bo(rt->ctx, (uint64_t)plan->arg_count * ROOM);
	struct accel_job *job = job_at(rt, plan, bo, 0);
	void *want = malloc(accel_bo_size(other));
	struct accel_binding b[PLAN_MAX_ARGS];
	uint32_t j;

	assert_non_null(want);
	for (j = 0; j < ARRAY_SIZE(by); j++) {
		const uint32_t n = bindings(plan, 0, other, by[j], b);
		struct accel_job *fresh;
		int ret;

		fresh = job_at(rt, plan, other, by[j]);
		/* The first before it was ever run */
		if (j) {
			fill(plan, bo, 0);
			outcome(rt, job);
		}
		assert_int_equal(accel_job_rebind(job, b, n), 0);
		fill(plan, other, by[j]);
		ret = outcome(rt, fresh);
		memcpy(want, accel_bo_ptr(other), accel_bo_size(other));
		fill(plan, other, by[j]);
		if (outcome(rt, job) != ret ||
		    (!ret && memcmp(want, accel_bo_ptr(other), accel_bo_size(other))))
			fail_msg("%s: another result, moved by %u", name, (unsigned int)by[j]);
		if (rt_is_sw() && !plan->info.workspace_bytes)
			assert_same_tasks(job, fresh);
		accel_job_destroy(fresh);
	}
	free(want);
	accel_job_destroy(job);
	accel_bo_unref(bo);
	accel_bo_unref(other);
	accel_plan_unref(plan);
}

static void test_places(void **state)
{
	struct rt *rt = *state;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		moves(rt, operations[i].name, operations[i].make(rt));
}

/* Whatever operations there are. */
static void test_samples(void **state)
{
	struct rt *rt = *state;
	union desc desc;
	uint32_t i;

	for (i = 0; i < sample_count; i++) {
		sample_make(&samples[i], &desc);
		moves(rt, samples[i].name, plan_of(rt, &desc.hdr));
	}
}

/* Into the place of an input and out of it again. */
static void test_in_place(void **state)
{
	struct rt *rt = *state;
	struct accel_plan *plan = sum(rt);
	struct accel_bo *bo = rt_bo(rt->ctx, 3 * ROOM);
	struct accel_job *job = job_at(rt, plan, bo, 0);
	struct accel_binding d = { ACCEL_ARG_D, 0, bo, 0 };
	uint32_t round, i;
	float *x;

	for (round = 0; round < 6; round++) {
		/* At A, at B, and where nothing else is. */
		d.offset = place_of(plan, round % 3, 0);
		assert_int_equal(accel_job_rebind(job, &d, 1), 0);
		for (i = 0; i < 900; i++)
			for (x = rt_floats(bo) + i; x < rt_floats(bo) + 3 * ROOM / 4; x += ROOM / 4)
				*x = (float)i;
		rt_run(rt->queue, job);
		for (i = 0; i < 900; i++)
			assert_true(rt_floats(bo)[d.offset / 4 + i] == (float)(2 * i));
	}
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
}

/* --- several operations ---------------------------------------------------------- */

/* A chain goes through other memory each time; what was left is not kept alive. */
static void test_chain(void **state)
{
	enum { N = 20 };
	struct accel_memory_stats stats = { sizeof(stats) };
	struct accel_binding b[2 * N];
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 64 * (N + 1)), *next;
	struct accel_job *job = rt_job(rt->ctx, 0);
	uint32_t i, round;

	for (i = 0; i < N; i++)
		rt_add_copy(job, bo, 64 * (i + 1), bo, 64 * i, 16, NULL, 0);
	for (round = 1; round < 6; round++) {
		next = rt_bo(rt->ctx, 64 * (N + 1));
		for (i = 0; i < N; i++) {
			b[2 * i] = (struct accel_binding){ ACCEL_ARG_D, i, next, 64 * (i + 1) };
			b[2 * i + 1] = (struct accel_binding){ ACCEL_ARG_A, i, next, 64 * i };
		}
		assert_int_equal(accel_job_rebind(job, b, 2 * N), 0);
		rt_floats(next)[3] = (float)round;
		rt_run(rt->queue, job);
		assert_true(rt_floats(next)[16 * N + 3] == (float)round);
		assert_true(rt_floats(bo)[16 * N + 3] == (float)(round - 1));
		accel_bo_unref(bo);
		bo = next;
		assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), 0);
		/* On a node a job has a buffer for its tasks. */
		assert_int_equal(stats.bo_count, rt_is_sw() ? 1 : 2);
	}
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

/* --- refusals ---------------------------------------------------------------------- */

static void test_refused(void **state)
{
	struct accel_bo_opts readonly = { sizeof(readonly), ACCEL_BO_READONLY, NULL };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 4096), *other, *fixed;
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_binding b[2];
	struct accel_ctx *ctx;
	void *mem = NULL;

	rt_add_copy(job, bo, 64, bo, 0, 16, NULL, 0);
	rt_add_copy(job, bo, 192, bo, 128, 16, NULL, 0);
	rt_run(rt->queue, job);
	assert_int_equal(accel_ctx_create(rt->dev, NULL, &ctx), 0);
	other = rt_bo(ctx, 4096);
	assert_int_equal(posix_memalign(&mem, 4096, 4096), 0);
	memset(mem, 0, 4096);
	assert_int_equal(accel_bo_import_ptr(rt->ctx, mem, 4096, &readonly, &fixed), 0);

#define TRY(field) assert_fails(rt->ctx, accel_job_rebind(job, b, 2), -EINVAL, field)
#define RESET() \
	do { \
		b[0] = (struct accel_binding){ ACCEL_ARG_A, 0, bo, 1024 }; \
		b[1] = (struct accel_binding){ ACCEL_ARG_D, 1, bo, 2048 }; \
	} while (0)

	assert_int_equal(accel_job_rebind(NULL, NULL, 0), -EINVAL);
	assert_fails(rt->ctx, accel_job_rebind(job, NULL, 1), -EINVAL, "bindings");
	assert_int_equal(accel_job_rebind(job, NULL, 0), 0);
	RESET();
	b[1].op = 2;
	TRY("bindings[1].op");
	RESET();
	b[1].arg = ACCEL_ARG_B;
	TRY("bindings[1].arg");
	b[1].arg = ACCEL_ARG_WORKSPACE;
	TRY("bindings[1].arg");
	RESET();
	b[1].bo = NULL;
	TRY("bindings[1].bo");
	b[1].bo = other;
	TRY("bindings[1].bo");
	b[1].bo = fixed;
	TRY("bindings[1].bo");
	RESET();
	b[1].offset = 4096 - 60;
	TRY("bindings[1].offset");
	b[1].offset = UINT64_MAX - 7;
	TRY("bindings[1].offset");
	b[1].offset = 2;
	TRY("bindings[1].offset");
	/* Over the input that stays, and over one that moves too. */
	b[1].offset = 128 + 32;
	TRY("bindings[1].offset");
	b[0] = (struct accel_binding){ ACCEL_ARG_A, 1, bo, 2048 + 32 };
	b[1].offset = 2048;
	TRY("bindings[0].offset");
	/* All at once decide: the result goes where the input was. */
	b[0].offset = 512;
	b[1].offset = 128 + 32;
	assert_int_equal(accel_job_rebind(job, b, 2), 0);
	b[0].offset = 128;
	b[1].offset = 192;
	assert_int_equal(accel_job_rebind(job, b, 2), 0);
#undef TRY
#undef RESET

	/* Nothing of what was refused has been done. */
	rt_floats(bo)[1] = 7;
	rt_floats(bo)[32 + 1] = 8;
	rt_floats(bo)[256 + 1] = 9;
	rt_run(rt->queue, job);
	assert_true(rt_floats(bo)[16 + 1] == 7);
	assert_true(rt_floats(bo)[48 + 1] == 8);
	assert_true(rt_floats(bo)[512 + 1] == 0);
	accel_job_destroy(job);
	accel_bo_unref(bo);
	accel_bo_unref(other);
	accel_bo_unref(fixed);
	accel_ctx_destroy(ctx);
	free(mem);
}

/* A job that is on its way stays where it is, whoever else holds its fence. */
static void test_busy(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 4096);
	struct accel_job *job = rt_job(rt->ctx, 0);
	const struct accel_binding b = { ACCEL_ARG_D, 0, bo, 1024 };
	struct accel_fence *first, *second;
	struct rt_gate gate;

	rt_add_fill(job, bo, 0, 16, 1, NULL, 0);
	if (rt_is_sw()) {
		gate = rt_gate(rt->ctx);
		first = rt_submit(rt->queue, job, gate.fence);
		second = rt_submit(rt->queue, job, NULL);
		assert_fails(rt->ctx, accel_job_rebind(job, &b, 1), -EBUSY, "job");
		rt_gate_open(&gate);
		assert_int_equal(accel_fence_wait(first, -1), 0);
		assert_int_equal(accel_fence_wait(second, -1), 0);
		accel_fence_unref(second);
		rt_gate_close(&gate);
	} else {
		first = rt_submit(rt->queue, job, NULL);
		assert_int_equal(accel_fence_wait(first, -1), 0);
	}
	/* The fence is still there, the run is not. */
	assert_int_equal(accel_job_rebind(job, &b, 1), 0);
	accel_fence_unref(first);
	rt_run(rt->queue, job);
	assert_true(rt_floats(bo)[256] == 1);
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

/* A job that failed, and one that never could be submitted, may move. */
static void test_after_failure(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *d = rt_bo(rt->ctx, 8192), *a;
	struct accel_binding b = { ACCEL_ARG_A, 1, d, 4096 - 4 };
	struct accel_queue *queue;
	struct accel_fence *fence;
	struct accel_job *job;
	void *mem = NULL;

	a = rt_lonely_bo(rt->ctx, &mem);
	job = rt_faulty_job(rt->ctx, d, a);
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &queue), 0);
	fence = rt_submit(queue, job, NULL);
	rt_poll(fence);
	assert_int_equal(accel_queue_submit(queue, job, NULL, NULL), -ECANCELED);
	assert_int_equal(accel_fence_wait(fence, -1), -EFAULT);
	accel_fence_unref(fence);
	accel_queue_destroy(queue);
	/* It reads a page and one element, of which the plan says only the first. */
	assert_int_equal(accel_job_rebind(job, &b, 1), -EINVAL);
	b.offset = 4096 + 64;
	b.bo = rt_bo(rt->ctx, 16384);
	assert_int_equal(accel_job_rebind(job, &b, 1), 0);
	rt_floats(b.bo)[(4096 + 64) / 4 + 1024] = 5;
	rt_run(rt->queue, job);
	assert_true(rt_floats(d)[1024] == 5);
	accel_job_destroy(job);
	accel_bo_unref(a);
	accel_bo_unref(b.bo);
	accel_bo_unref(d);
	free(mem);
}

/* --- a workspace of the caller's ---------------------------------------------------- */

static void test_workspace(void **state)
{
	struct accel_memory_stats stats = { sizeof(stats) };
	struct accel_plan_info info = { sizeof(info) };
	struct accel_binding b[PLAN_MAX_ARGS + 1];
	struct rt *rt = *state;
	struct accel_plan *plan = ffn(rt);
	struct accel_bo *bo = rt_bo(rt->ctx, (uint64_t)plan->arg_count * ROOM), *arena, *small;
	struct accel_job *job = job_at(rt, plan, bo, 0), *mine = rt_job(rt->ctx, 0);
	struct accel_binding *w;
	uint64_t want = 0, got = 1;
	uint32_t n, count;

	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	assert_int_equal(info.workspace_bytes, plan->info.workspace_bytes);
	assert_true(info.workspace_bytes >= 4 * 80 * 4);
	fill(plan, bo, 0);
	rt_run(rt->queue, job);
	memcpy(&want, accel_bo_ptr(bo), sizeof(want));

	arena = rt_bo(rt->ctx, info.workspace_bytes + 256);
	small = rt_bo(rt->ctx, info.workspace_bytes - 1);
	n = bindings(plan, 0, bo, 0, b);
	w = &b[n];
#define TRY(field) \
	assert_fails(rt->ctx, accel_job_add(mine, plan, b, n + 1, NULL, 0, NULL), -EINVAL, field)
	*w = (struct accel_binding){ ACCEL_ARG_WORKSPACE, 0, small, 0 };
	TRY("bindings[5].offset");
	w->bo = arena;
	w->offset = 320;
	TRY("bindings[5].offset");
	w->offset = 4;
	TRY("bindings[5].offset");
	/* Over an input. */
	w->bo = bo;
	w->offset = place_of(plan, 2, 0);
	TRY("bindings[2].offset");
#undef TRY
	*w = (struct accel_binding){ ACCEL_ARG_WORKSPACE, 0, arena, 64 };
	assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), 0);
	count = stats.bo_count;
	/* Two operations, one arena: nothing is made for either. */
	assert_int_equal(accel_job_add(mine, plan, b, n + 1, NULL, 0, NULL), 0);
	assert_int_equal(accel_job_add(mine, plan, b, n + 1, NULL, 0, NULL), 0);
	assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), 0);
	assert_int_equal(stats.bo_count, count);
	fill(plan, bo, 0);
	rt_run(rt->queue, mine);
	memcpy(&got, accel_bo_ptr(bo), sizeof(got));
	assert_true(got == want);

	/* A workspace that the job made gives way to the caller's. */
	assert_int_equal(accel_job_rebind(job, w, 1), 0);
	fill(plan, bo, 0);
	memset(accel_bo_ptr(arena), 0, accel_bo_size(arena));
	rt_run(rt->queue, job);
	memcpy(&got, accel_bo_ptr(bo), sizeof(got));
	assert_true(got == want);
	assert_true(rt_floats(arena)[16] != 0);
	w->offset = 128;
	memset(accel_bo_ptr(arena), 0, accel_bo_size(arena));
	assert_int_equal(accel_job_rebind(job, w, 1), 0);
	fill(plan, bo, 0);
	rt_run(rt->queue, job);
	assert_true(rt_floats(arena)[16] == 0 && rt_floats(arena)[32] != 0);
	accel_job_destroy(job);
	accel_job_destroy(mine);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
	accel_bo_unref(arena);
	accel_bo_unref(small);
}

/* No engine looks at more of an address than what is kept the same. */
static void test_alignment(void **state)
{
	struct rt *rt = *state;
	uint32_t i, c;

	for (i = 0; i < rt->dev->engine_count; i++)
		for (c = 0; c < rt->dev->engines[i].info.cap_count; c++)
			assert_true(le32toh(rt->dev->engines[i].caps[c].align) <= 64);
}

/* --- at the same time ------------------------------------------------------------------ */

struct mover {
	struct accel_job *job;
	struct accel_bo *bo;
	int wrong;
};

static void *move_about(void *arg)
{
	struct mover *m = arg;
	struct accel_binding b = { ACCEL_ARG_D, 0, m->bo, 0 };
	int i, ret;

	for (i = 0; i < 2000; i++) {
		b.offset = (uint64_t)(i % 32) * 64;
		ret = accel_job_rebind(m->job, &b, 1);
		m->wrong |= ret && ret != -EBUSY;
	}
	return NULL;
}

/* One thread submits, another moves: each run is here or there, never between. */
static void test_race(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 4096);
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct mover m = { job, bo, 0 };
	pthread_t thread;
	int i;

	rt_add_fill(job, bo, 0, 16, 1, NULL, 0);
	assert_int_equal(pthread_create(&thread, NULL, move_about, &m), 0);
	for (i = 0; i < 300; i++)
		rt_run(rt->queue, job);
	pthread_join(thread, NULL);
	assert_false(m.wrong);
	assert_true(rt_floats(bo)[0] == 0 || rt_floats(bo)[0] == 1);
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		T(test_places), T(test_samples), T(test_in_place), T(test_chain), T(test_refused),
		T(test_busy), T(test_after_failure), T(test_workspace), T(test_alignment),
		T(test_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
