// SPDX-License-Identifier: MIT
/*
 * Dimensions that a number in memory is: one job with many numbers gives, to the bit, what
 * operations of these dimensions give, and leaves the rest alone; numbers that are too
 * large fault before anything is written; what cannot be is refused by name. In one file,
 * for one table of operations.
 */
#include "rt.h"

#define ROOM		(128u * 1024u)
#define MOST		9

static struct accel_tensor tensor(uint32_t dtype, uint32_t rank, const int64_t *dims,
				  uint32_t dynamic)
{
	struct accel_tensor t = accel_tensor_dense(NULL, dtype, rank, dims);

	t.dynamic = dynamic;
	return t;
}

#define T(dtype, dynamic, ...) \
	tensor(ACCEL_##dtype, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
	       (const int64_t[]){ __VA_ARGS__ }, dynamic)

union desc {
	struct accel_desc hdr;
	struct accel_gemm_desc gemm;
	struct accel_binary_desc binary;
	struct accel_unary_desc unary;
	struct accel_copy_desc copy;
	struct accel_fill_desc fill;
	struct accel_softmax_desc softmax;
	struct accel_norm_desc norm;
	struct accel_reduce_desc reduce;
	struct accel_dynquant_desc dynquant;
	struct accel_attention_desc attention;
	struct accel_conv_desc conv;
	struct accel_gather_desc gather;
	struct accel_kv_write_desc kv_write;
	struct accel_rotary_desc rotary;
	struct accel_select_desc select;
	struct accel_scan_desc scan;
	struct accel_topk_desc topk;
};

static void gemm(union desc *d, uint32_t type, uint32_t result)
{
	d->gemm = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d->gemm.a = T(F32, 1, MOST, 64);
	d->gemm.b = T(F32, 0, 64, 48);
	d->gemm.d = T(F32, 1, MOST, 48);
	d->gemm.a.dtype = type;
	d->gemm.b.dtype = type;
	d->gemm.d.dtype = result;
}

static void rows_f32(union desc *d)
{
	gemm(d, ACCEL_F32, ACCEL_F32);
	d->gemm.epilogue.bias = T(F32, 0, 48);
	d->gemm.epilogue.residual = T(F32, 1, MOST, 48);
}

static void rows_s8(union desc *d)
{
	gemm(d, ACCEL_S8, ACCEL_S32);
}

static void rows_packed(union desc *d)
{
	gemm(d, ACCEL_F32, ACCEL_F32);
	d->gemm.flags = ACCEL_GEMM_PACK_B;
}

static void rows_groups(union desc *d)
{
	gemm(d, ACCEL_F32, ACCEL_F32);
	d->gemm.b.dtype = ACCEL_S8;
	d->gemm.b.quant.scheme = ACCEL_QUANT_GROUP;
	d->gemm.b.quant.group = 32;
}

static void columns(union desc *d)
{
	gemm(d, ACCEL_F32, ACCEL_F32);
	d->gemm.flags = ACCEL_GEMM_TRANS_B;
	d->gemm.a = T(F32, 0, 5, 64);
	d->gemm.b = T(F32, 1, MOST, 64);
	d->gemm.d = T(F32, 2, 5, MOST);
}

static void contraction(union desc *d)
{
	gemm(d, ACCEL_F32, ACCEL_F32);
	d->gemm.a = T(F32, 2, 5, MOST);
	d->gemm.b = T(F32, 1, MOST, 48);
	d->gemm.d = T(F32, 0, 5, 48);
}

static void batches(union desc *d)
{
	gemm(d, ACCEL_F32, ACCEL_F32);
	d->gemm.a = T(F32, 1, MOST, 6, 64);
	d->gemm.d = T(F32, 1, MOST, 6, 48);
}

static void sum(union desc *d)
{
	d->binary = (struct accel_binary_desc)ACCEL_BINARY_DESC_INIT;
	d->binary.func = ACCEL_BINARY_ADD;
	d->binary.a = T(F32, 2, 4, MOST, 33);
	d->binary.b = T(F32, 0, 33);
	d->binary.d = T(F32, 2, 4, MOST, 33);
}

static void exponential(union desc *d)
{
	d->unary = (struct accel_unary_desc)ACCEL_UNARY_DESC_INIT;
	d->unary.func = ACCEL_UNARY_EXP;
	d->unary.a = T(F32, 2, 33, MOST);
	d->unary.d = T(F32, 2, 33, MOST);
}

static void copy(union desc *d)
{
	d->copy = (struct accel_copy_desc)ACCEL_COPY_DESC_INIT;
	d->copy.a = T(F32, 1, MOST, 100);
	d->copy.d = T(F16, 1, MOST, 100);
}

static void fill(union desc *d)
{
	d->fill = (struct accel_fill_desc)ACCEL_FILL_DESC_INIT;
	d->fill.value = 3;
	d->fill.d = T(F32, 1, MOST, 100);
}

static void softmax_rows(union desc *d)
{
	d->softmax = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
	d->softmax.axis = -1;
	d->softmax.a = T(F32, 1, MOST, 100);
	d->softmax.d = T(F32, 1, MOST, 100);
}

static void softmax_along(union desc *d)
{
	d->softmax = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
	d->softmax.axis = -1;
	d->softmax.a = T(F32, 2, 7, MOST);
	d->softmax.d = T(F32, 2, 7, MOST);
}

static void norm(union desc *d)
{
	d->norm = (struct accel_norm_desc)ACCEL_NORM_DESC_INIT;
	d->norm.eps = 0.001f;
	d->norm.a = T(F32, 1, MOST, 128);
	d->norm.d = T(F32, 1, MOST, 128);
	d->norm.scale = T(F32, 0, 128);
	d->norm.bias = T(F32, 0, 128);
}

static void maxima(union desc *d)
{
	d->reduce = (struct accel_reduce_desc)ACCEL_REDUCE_DESC_INIT;
	d->reduce.func = ACCEL_REDUCE_MAX;
	d->reduce.axes = ACCEL_AXIS(1);
	d->reduce.a = T(F32, 1, MOST, 65);
	d->reduce.d = T(F32, 1, MOST, 1);
}

static void quantise(union desc *d)
{
	d->dynquant = (struct accel_dynquant_desc)ACCEL_DYNQUANT_DESC_INIT;
	d->dynquant.axes = ACCEL_AXIS(1);
	d->dynquant.a = T(F32, 1, MOST, 64);
	d->dynquant.d = T(S8, 1, MOST, 64);
	d->dynquant.scales = T(F32, 1, MOST, 1);
}

static void attention(union desc *d)
{
	d->attention = (struct accel_attention_desc)ACCEL_ATTENTION_DESC_INIT;
	d->attention.q = T(F32, 0, 2, 3, 4, 64);
	d->attention.k = T(F32, 2, 2, MOST, 2, 64);
	d->attention.v = T(F32, 2, 2, MOST, 2, 64);
	d->attention.d = T(F32, 0, 2, 3, 4, 64);
}

static void keys(union desc *d)
{
	attention(d);
	d->attention.mask = T(F32, 2, 3, MOST);
}

static void causal_keys(union desc *d)
{
	attention(d);
	d->attention.flags = ACCEL_ATTENTION_CAUSAL;
}

static void queries(union desc *d)
{
	attention(d);
	d->attention.q = T(F32, 2, 2, MOST, 4, 64);
	d->attention.d = T(F32, 2, 2, MOST, 4, 64);
	d->attention.k.dynamic = 0;
	d->attention.v.dynamic = 0;
}

static void gather_rows(union desc *d)
{
	d->gather = (struct accel_gather_desc)ACCEL_GATHER_DESC_INIT;
	d->gather.func = ACCEL_GATHER_AXIS;
	d->gather.a = T(F32, 0, 20, 100);
	d->gather.b = T(S32, 1, MOST);
	d->gather.d = T(F16, 1, MOST, 100);
}

static void gather_elements(union desc *d)
{
	d->gather = (struct accel_gather_desc)ACCEL_GATHER_DESC_INIT;
	d->gather.func = ACCEL_GATHER_ELEMENTS;
	d->gather.axis = 1;
	d->gather.a = T(F32, 1, MOST, 10);
	d->gather.b = T(S32, 1, MOST, 7);
	d->gather.d = T(F32, 1, MOST, 7);
}

static void kv_rows(union desc *d)
{
	d->kv_write = (struct accel_kv_write_desc)ACCEL_KV_WRITE_DESC_INIT;
	d->kv_write.a = T(F32, 1, MOST, 2, 64);
	d->kv_write.slots = T(S32, 1, MOST);
	d->kv_write.d = T(F16, 0, 3, 4, 2, 64);
}

static void kv_bytes(union desc *d)
{
	kv_rows(d);
	d->kv_write.d.dtype = ACCEL_S8;
	d->kv_write.scales = T(F32, 0, 3, 4, 2, 1);
}

static void rotary(union desc *d)
{
	d->rotary = (struct accel_rotary_desc)ACCEL_ROTARY_DESC_INIT;
	d->rotary.a = T(F32, 2, 1, MOST, 2, 64);
	d->rotary.cosines = T(F32, 0, 20, 32);
	d->rotary.sines = T(F32, 0, 20, 32);
	d->rotary.d = T(F32, 2, 1, MOST, 2, 64);
}

static void rotary_places(union desc *d)
{
	rotary(d);
	d->rotary.positions = T(S32, 2, 1, MOST);
}

static void selection(union desc *d)
{
	d->select = (struct accel_select_desc)ACCEL_SELECT_DESC_INIT;
	d->select.a = T(U8, 2, 4, MOST, 33);
	d->select.b = T(F32, 0, 33);
	d->select.c = T(F32, 2, 4, MOST, 33);
	d->select.d = T(F32, 2, 4, MOST, 33);
}

static void scan_rows(union desc *d)
{
	d->scan = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
	d->scan.a = T(F32, 1, MOST, 100);
	d->scan.d = T(F32, 1, MOST, 100);
}

static void scan_along(union desc *d)
{
	d->scan = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
	d->scan.flags = ACCEL_SCAN_REVERSE;
	d->scan.a = T(F32, 2, 7, MOST);
	d->scan.d = T(F32, 2, 7, MOST);
}

static void topk(union desc *d)
{
	d->topk = (struct accel_topk_desc)ACCEL_TOPK_DESC_INIT;
	d->topk.a = T(F32, 1, MOST, 65);
	d->topk.d = T(F32, 1, MOST, 5);
	d->topk.indices = T(S32, 1, MOST, 5);
}

static const struct {
	const char *name;
	void (*make)(union desc *d);
} operations[] = {
	{ "rows of fp32", rows_f32 }, { "rows of bytes", rows_s8 },
	{ "rows by packed weights", rows_packed }, { "rows by groups", rows_groups },
	{ "columns", columns }, { "contraction", contraction }, { "batches", batches },
	{ "sum", sum }, { "exponential", exponential }, { "copy", copy }, { "fill", fill },
	{ "softmax of rows", softmax_rows }, { "softmax along it", softmax_along },
	{ "norm", norm }, { "maxima", maxima }, { "quantisation", quantise },
	{ "rows by index", gather_rows }, { "elements by index", gather_elements },
	{ "rows to slots", kv_rows }, { "rows to slots, as bytes", kv_bytes },
	{ "rotary", rotary }, { "rotary, positions", rotary_places }, { "selection", selection },
	{ "running sums of rows", scan_rows }, { "running sums along it", scan_along },
	{ "largest", topk },
	{ "keys with a mask", keys }, { "keys, causal", causal_keys }, { "queries", queries },
};

/* --- where everything is ------------------------------------------------------------ */

/**
 * struct bench - a plan, and its arguments in one buffer
 * @rt: device
 * @desc: descriptor with its buffers
 * @plan: plan of it
 * @job: that plan
 * @bo: arguments, ROOM each; the number is in the last
 * @weights: what is packed
 * @args: number of arguments
 * @info: arguments
 */
struct bench {
	struct rt *rt;
	union desc desc;
	struct accel_plan *plan;
	struct accel_job *job;
	struct accel_bo *bo;
	struct accel_bo *weights;
	uint32_t args;
	struct accel_arg_info info[16];
};

static struct accel_tensor *arg_tensor(union desc *d, const struct accel_arg_info *info)
{
	return (struct accel_tensor *)((char *)d + info->field_offset);
}

static uint8_t *arg_bytes(const struct bench *b, uint32_t i)
{
	return (uint8_t *)accel_bo_ptr(b->bo) + (size_t)i * ROOM;
}

static void fill_input(const struct bench *b, uint32_t i)
{
	const struct accel_tensor *t = &b->info[i].tensor;
	uint64_t n = b->info[i].bytes, j, seed = 12345 + i;

	for (j = 0; j < n; j++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		if (t->dtype == ACCEL_F32 || b->info[i].arg & ACCEL_ARG_SCALES) {
			if (j % 4 == 0)
				((float *)arg_bytes(b, i))[j / 4] =
					(float)((int)(seed >> 33 & 0xffff) - 32768) / 32768.0f;
		} else if (t->dtype == ACCEL_S32) {
			/* Indices, slots, positions */
			if (j % 4 == 0)
				((int32_t *)arg_bytes(b, i))[j / 4] = (int32_t)(seed >> 40 & 7);
		} else {
			arg_bytes(b, i)[j] = (uint8_t)(seed >> 40);
		}
	}
}

static void clear_results(const struct bench *b)
{
	uint32_t i;

	for (i = 0; i < b->args; i++)
		if (b->info[i].flags & ACCEL_ARG_WRITTEN)
			memset(arg_bytes(b, i), 0x5a, ROOM);
}

static uint32_t *number(const struct bench *b)
{
	return (uint32_t *)(void *)arg_bytes(b, 15);
}

static void bench_init(struct bench *b, struct rt *rt, void (*make)(union desc *d))
{
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t i;

	memset(b, 0, sizeof(*b));
	b->rt = rt;
	b->bo = rt_bo(rt->ctx, 16 * ROOM);
	make(&b->desc);
	b->desc.hdr.engine = ACCEL_ENGINE_GPU;
	if (b->desc.hdr.op == ACCEL_OP_GEMM && b->desc.gemm.flags & ACCEL_GEMM_PACK_B) {
		b->weights = rt_bo(rt->ctx, ROOM);
		for (i = 0; i < 64 * 48; i++)
			rt_floats(b->weights)[i] = (float)(i % 37) / 37;
		b->desc.gemm.b.bo = b->weights;
	}
	if (accel_plan_create(rt->ctx, &b->desc.hdr, &b->plan)) {
		accel_ctx_get_error(rt->ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
	b->job = rt_job(rt->ctx, 0);
	for (;; b->args++) {
		struct accel_arg_info *info = &b->info[b->args];
		struct accel_tensor *t;

		info->size = sizeof(*info);
		if (accel_plan_get_arg(b->plan, b->args, info))
			break;
		t = arg_tensor(&b->desc, info);
		assert_true(b->args < 15 && info->bytes < ROOM);
		if (info->arg == ACCEL_ARG_LENGTH) {
			assert_int_equal(info->bytes, 4);
			assert_int_equal(info->align, 4);
			assert_non_null(strstr(info->name, ".length"));
			t->length = b->bo;
			t->length_offset = 15ull * ROOM;
			continue;
		}
		if (info->arg & ACCEL_ARG_SCALES) {
			t->quant.scales = b->bo;
			t->quant.scales_offset = (uint64_t)b->args * ROOM;
		} else {
			t->bo = b->bo;
			t->offset = (uint64_t)b->args * ROOM;
		}
		if (!(info->flags & ACCEL_ARG_WRITTEN))
			fill_input(b, b->args);
	}
	assert_int_equal(accel_job_add_desc(b->job, b->plan, &b->desc.hdr, NULL, 0, NULL), 0);
}

static void bench_exit(struct bench *b)
{
	accel_job_destroy(b->job);
	accel_plan_unref(b->plan);
	accel_bo_unref(b->weights);
	accel_bo_unref(b->bo);
}

/* The same with dimensions that are what the number is; elements are where they were. */
static void run_fixed(struct bench *b, uint32_t n)
{
	union desc d = b->desc;
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t i, k;

	for (i = 0; i < b->args; i++) {
		struct accel_tensor *t = arg_tensor(&d, &b->info[i]);
		int64_t stride = 1;

		if (!t->dynamic)
			continue;
		for (k = t->rank; k-- > 0;) {
			t->strides[k] = stride;
			stride *= t->dims[k];
			if (t->dynamic >> k & 1)
				t->dims[k] = n;
		}
		t->flags |= ACCEL_TENSOR_STRIDES;
		t->dynamic = 0;
		t->length = NULL;
		t->length_offset = 0;
	}
	if (accel_run(b->rt->ctx, &d.hdr)) {
		accel_ctx_get_error(b->rt->ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
}

static void test_numbers(void **state)
{
	static const uint32_t numbers[] = { MOST, MOST - 1, 5, 2, 1, 0, MOST };
	uint8_t *got = malloc(16 * ROOM);
	struct bench b;
	uint32_t i, j;

	assert_non_null(got);
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		bench_init(&b, *state, operations[i].make);
		for (j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
			*number(&b) = numbers[j];
			clear_results(&b);
			rt_run(b.rt->queue, b.job);
			memcpy(got, accel_bo_ptr(b.bo), 16 * ROOM);
			clear_results(&b);
			run_fixed(&b, numbers[j]);
			if (memcmp(got, accel_bo_ptr(b.bo), 16 * ROOM) != 0)
				fail_msg("%s with %u of %u differs", operations[i].name,
					 numbers[j], MOST);
		}
		bench_exit(&b);
	}
	free(got);
}

static void batch_of_one(union desc *d)
{
	rows_packed(d);
	d->gemm.a = T(F32, 1, 1, 5, 64);
	d->gemm.d = T(F32, 1, 1, 5, 48);
}

/* B, which all batches share, is there as a whole though there is no batch. */
static void test_no_batch(void **state)
{
	struct bench b;
	uint32_t i, j;

	bench_init(&b, *state, batch_of_one);
	for (i = 2; i--; ) {
		*number(&b) = i;
		clear_results(&b);
		rt_run(b.rt->queue, b.job);
		for (j = 0; j < b.args; j++)
			if (b.info[j].flags & ACCEL_ARG_WRITTEN)
				assert_int_equal(arg_bytes(&b, j)[0] == 0x5a &&
						 arg_bytes(&b, j)[1] == 0x5a, !i);
	}
	bench_exit(&b);
}

/* Nothing is written, the fence says why, and the next number does. */
static void test_hostile(void **state)
{
	static const uint32_t numbers[] = { MOST + 1, 65536, 0x7fffffff, 0x80000000, 0xffffffff };
	struct accel_fence_info info;
	struct accel_fence *fence;
	struct bench b;
	uint32_t i, j, k;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		bench_init(&b, *state, operations[i].make);
		for (j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
			*number(&b) = numbers[j];
			clear_results(&b);
			fence = rt_submit(b.rt->queue, b.job, NULL);
			assert_int_equal(accel_fence_wait(fence, -1), -EFAULT);
			info = (struct accel_fence_info){ .size = sizeof(info) };
			assert_int_equal(accel_fence_get_info(fence, &info), 0);
			if (strcmp(info.reason, "dims") != 0 || !strstr(info.text, "operand"))
				fail_msg("%s: %s, %s", operations[i].name, info.reason, info.text);
			accel_fence_unref(fence);
			for (k = 0; k < b.args; k++)
				if (b.info[k].flags & ACCEL_ARG_WRITTEN)
					assert_true(arg_bytes(&b, k)[0] == 0x5a &&
						    !memcmp(arg_bytes(&b, k),
							    arg_bytes(&b, k) + 1, ROOM - 1));
		}
		*number(&b) = 3;
		rt_run(b.rt->queue, b.job);
		bench_exit(&b);
	}
}

/* An operation of the job computes the number; then it is elsewhere; and all at once. */
static void test_computed(void **state)
{
	struct accel_fill_desc f = ACCEL_FILL_DESC_INIT;
	struct accel_binding move = { .op = 1, .arg = ACCEL_ARG_LENGTH };
	const int64_t one = 1;
	struct bench b;
	float *d;

	bench_init(&b, *state, softmax_rows);
	accel_job_destroy(b.job);
	b.job = rt_job(b.rt->ctx, 0);
	f.value = 4;
	f.d = accel_tensor_dense(b.bo, ACCEL_S32, 1, &one);
	f.d.offset = 15ull * ROOM;
	assert_int_equal(accel_job_add_desc(b.job, NULL, &f.hdr, NULL, 0, NULL), 0);
	assert_int_equal(accel_job_add_desc(b.job, b.plan, &b.desc.hdr, NULL, 0, NULL), 0);
	*number(&b) = 0xffffffff;
	clear_results(&b);
	rt_run(b.rt->queue, b.job);
	d = (float *)(void *)arg_bytes(&b, b.info[0].flags & ACCEL_ARG_WRITTEN ? 0 : 1);
	assert_true(d[399] > 0 && d[399] <= 1);
	assert_true(d[400] > 1e15f);

	number(&b)[1] = 7;
	move.bo = b.bo;
	move.offset = 15ull * ROOM + 4;
	assert_int_equal(accel_job_rebind(b.job, &move, 1), 0);
	clear_results(&b);
	rt_run(b.rt->queue, b.job);
	assert_true(d[699] > 0 && d[699] <= 1);
	assert_true(d[700] > 1e15f);
	move.offset += 2;
	assert_fails(b.rt->ctx, accel_job_rebind(b.job, &move, 1), -EINVAL, "bindings[0].offset");

	*number(&b) = 2;
	clear_results(&b);
	assert_int_equal(accel_run(b.rt->ctx, &b.desc.hdr), 0);
	assert_true(d[199] <= 1 && d[200] > 1e15f);
	bench_exit(&b);
}

/* --- what is refused ------------------------------------------------------------------ */

static void fails(struct rt *rt, const struct accel_desc *d, int code, const char *field)
{
	struct accel_plan *plan = NULL;

	struct accel_error e = ACCEL_ERROR_INIT;
	int ret = accel_plan_create(rt->ctx, d, &plan);

	accel_ctx_get_error(rt->ctx, &e);
	if (ret != code || strcmp(e.field, field) != 0)
		fail_msg("%d %s (%s), not %d %s", ret, e.field, e.text, code, field);
}

static void test_refused(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 4096);
	struct accel_device *m1;
	struct accel_ctx *ctx;
	struct accel_plan *plan = NULL;
	union desc d;

	rows_f32(&d);
	d.gemm.d.dynamic = 0;
	fails(rt, &d.hdr, -EINVAL, "gemm.d.dims[0]");
	rows_f32(&d);
	d.gemm.a.dynamic = 4;
	fails(rt, &d.hdr, -EINVAL, "gemm.a.dynamic");
	rows_f32(&d);
	d.gemm.b.dynamic = 2;
	fails(rt, &d.hdr, -EINVAL, "gemm.b.dims[1]");
	rows_f32(&d);
	d.gemm.b.length = bo;
	fails(rt, &d.hdr, -EINVAL, "gemm.b.length");
	d.gemm.b.length = NULL;
	d.gemm.b.length_offset = 4;
	fails(rt, &d.hdr, -EINVAL, "gemm.b.length_offset");
	rows_f32(&d);
	d.gemm.a.length = bo;
	d.gemm.d.length = bo;
	d.gemm.d.length_offset = 8;
	fails(rt, &d.hdr, -EINVAL, "gemm.a.length");
	columns(&d);
	d.gemm.flags |= ACCEL_GEMM_PACK_B;
	d.gemm.b.bo = bo;
	fails(rt, &d.hdr, -EOPNOTSUPP, "gemm.b.dynamic");
	rows_groups(&d);
	d.gemm.b = T(S8, 2, 64, MOST);
	d.gemm.b.quant.scheme = ACCEL_QUANT_GROUP;
	d.gemm.b.quant.group = 32;
	d.gemm.a = T(F32, 0, 5, 64);
	d.gemm.d = T(F32, 2, 5, MOST);
	fails(rt, &d.hdr, -EOPNOTSUPP, "gemm.b.dynamic");
	rows_f32(&d);
	d.gemm.epilogue.bias.dims[0] = 0;
	d.gemm.epilogue.bias.rank = 0;
	d.gemm.epilogue.bias.dynamic = 1;
	d.gemm.epilogue.bias.dtype = 0;
	fails(rt, &d.hdr, -EINVAL, "gemm.epilogue.bias.rank");

	d.conv = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
	d.conv.a = T(F32, 1, 4, 16, 9, 9);
	d.conv.b = T(F32, 0, 24, 16, 3, 3);
	d.conv.d = T(F32, 1, 4, 24, 7, 7);
	fails(rt, &d.hdr, -EOPNOTSUPP, "conv.d.dynamic");

	/* A buffer for the number is missing, or it is not where a number can be. */
	copy(&d);
	d.copy.a.bo = bo;
	d.copy.d.bo = bo;
	assert_fails(rt->ctx, accel_run(rt->ctx, &d.hdr), -EINVAL, "copy.d.length");
	assert_int_equal(accel_tensor_slice(&d.copy.a, 0, 0, 1, 1, &d.copy.a), -EINVAL);
	accel_bo_unref(bo);
	if (!rt_is_sw())
		return;
	assert_int_equal(accel_device_open("sw:m1", NULL, &m1), 0);
	assert_int_equal(accel_ctx_create(m1, NULL, &ctx), 0);
	rows_f32(&d);
	assert_fails(ctx, accel_plan_create(ctx, &d.hdr, &plan), -EOPNOTSUPP, "gemm.d.dynamic");
	accel_ctx_destroy(ctx);
	accel_device_unref(m1);
}

static int chosen_kernel(void *user, const struct accel_candidate *c)
{
	if (c->verdict == ACCEL_CHOSEN)
		snprintf(user, 64, "%s", c->kernel);
	return 0;
}

/* Which kernel runs it is that of the largest dimensions. */
static void test_kernel(void **state)
{
	struct rt *rt = *state;
	char kernel[64] = "", fixed[64] = "";
	union desc d;

	if (!rt_is_sw())
		skip();
	rows_f32(&d);
	d.gemm.epilogue.residual = (struct accel_tensor)ACCEL_TENSOR_INIT;
	assert_int_equal(accel_explain(rt->ctx, &d.hdr, chosen_kernel, kernel), 0);
	d.gemm.a.dynamic = 0;
	d.gemm.d.dynamic = 0;
	assert_int_equal(accel_explain(rt->ctx, &d.hdr, chosen_kernel, fixed), 0);
	assert_true(kernel[0]);
	assert_string_equal(kernel, fixed);
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		U(test_numbers), U(test_no_batch), U(test_hostile), U(test_computed),
		U(test_refused), U(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
