// SPDX-License-Identifier: MIT
/*
 * The operations of whole models, in the shapes that they have there: tuned kernels take
 * each of them, and the task model's reference code runs none. And what is worth two threads
 * is shared between them.
 *
 * Looks inside: classes are asked as the in-process device asks them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/backend/backend.h"
#include "libaccel/plan/plan.h"
#include "libaccel/sw/sw.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define T(dtype, ...) \
	accel_tensor_dense(NULL, dtype, sizeof((const int64_t[]){ __VA_ARGS__ }) / \
			   sizeof(int64_t), (const int64_t[]){ __VA_ARGS__ })
/* The same with one scale. */
#define Q(dtype, ...)	scaled(T(dtype, __VA_ARGS__))

union desc {
	struct accel_desc hdr;
	struct accel_attention_desc attention;
	struct accel_binary_desc binary;
	struct accel_conv_desc conv;
	struct accel_copy_desc copy;
	struct accel_dynquant_desc dynquant;
	struct accel_gather_desc gather;
	struct accel_kv_write_desc kv_write;
	struct accel_gemm_desc gemm;
	struct accel_norm_desc norm;
	struct accel_pool_desc pool;
	struct accel_reduce_desc reduce;
	struct accel_rotary_desc rotary;
	struct accel_scan_desc scan;
	struct accel_softmax_desc softmax;
	struct accel_topk_desc topk;
	struct accel_unary_desc unary;
};

static const struct accel_tensor none;
static struct accel_ctx *ctx;
/* What the kernels that are asked may use; they need not run here */
static struct fast_cpu cpu;
static uint32_t asked, missed;

static struct accel_tensor scaled(struct accel_tensor t)
{
	t.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = 0.05f };
	return t;
}

/* Kernels are asked of which none may run here: this is the only one that preparing runs. */
bool __wrap_fast_quotient(float scale, float *times, float *rest);
bool __wrap_fast_quotient(float scale, float *times, float *rest)
{
	*times = 1 / scale;
	*rest = 0;
	return true;
}

/*
 * Ask for each task of a plan. Returns how many no class takes; @prog: the last that one took.
 */
static uint32_t ask(const struct accel_plan *plan, struct fast_prog *prog)
{
	const struct sw_device *dev = (const struct sw_device *)ctx->dev;
	static struct uma_program program;
	struct uma_fault_info fault;
	uint64_t addrs[PLAN_MAX_ARGS];
	struct uma_task *tasks;
	uint32_t i, left = 0;
	int row;

	for (i = 0; i < plan->part_count; i++)
		left += ask(plan->parts[i].plan, prog);
	tasks = calloc(plan->task_count + 1, sizeof(*tasks));
	assert_non_null(tasks);
	for (i = 0; i < PLAN_MAX_ARGS; i++)
		addrs[i] = (uint64_t)(i + 1) << 40;
	plan_relocate(plan, 0, plan->task_count, addrs, tasks);
	for (i = 0; i < plan->task_count; i++) {
		const struct uma_engine_desc *e;
		uint32_t n = 0;

		memset(&program, 0, sizeof(program));
		if (uma_task_decode(&tasks[i], &program.op, &fault))
			fail_msg("slot %u: %s", fault.slot, fault.field);
		while (dev->base.engines[n].info.engine != plan->info.engine)
			n++;
		e = &dev->profile->engines[n];
		row = uma_op_check(&program.op, e, &fault);
		assert_true(row >= 0);
		program.engine = e;
		program.kernels = dev->kernels;
		program.row = (uint32_t)row;
		fast_prepare(prog, &program, &cpu, &plan->hint);
		left += !prog->class;
	}
	free(tasks);
	return left;
}

/* An operation of a model; true: kernels have all of it. */
static bool step(const char *name, const union desc *d, struct fast_prog *prog)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct fast_prog any;
	struct accel_plan *plan;
	uint32_t left;

	if (accel_plan_create(ctx, &d->hdr, &plan)) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("%s: %s: %s", name, e.field, e.text);
	}
	left = ask(plan, prog ? prog : &any);
	accel_plan_unref(plan);
	asked++;
	if (left)
		print_message("# %s: the reference code runs it\n", name);
	missed += !!left;
	return !left;
}

/* --- operations --------------------------------------------------------------------- */

static void product(const char *name, struct accel_tensor a, struct accel_tensor b,
		    struct accel_tensor d, struct accel_tensor bias, uint32_t act, uint32_t flags)
{
	union desc u = { .gemm = ACCEL_GEMM_DESC_INIT };

	u.gemm.a = a;
	u.gemm.b = b;
	u.gemm.d = d;
	u.gemm.flags = flags;
	u.gemm.epilogue.bias = bias;
	u.gemm.epilogue.act = act;
	step(name, &u, NULL);
}

/* Bytes by weights with a scale and a zero point for each column, as ONNX has them. */
static void zeros_by_column(void)
{
	struct accel_tensor b = T(ACCEL_U8, 768, 3072);
	struct accel_bo *tables;

	assert_int_equal(accel_bo_create(ctx, 2 * 4 * 3072, NULL, &tables), 0);
	b.quant = (struct accel_quant){
		.scheme = ACCEL_QUANT_CHANNEL, .axis = 1, .scale_dtype = ACCEL_F32,
		.scales = tables, .zeros = tables, .zeros_offset = 4 * 3072,
	};
	product("BERT: up, zero points of columns", Q(ACCEL_U8, 128, 768), b,
		Q(ACCEL_U8, 128, 3072), none, 0, 0);
	accel_bo_unref(tables);
}

static void norm(const char *name, uint32_t func, struct accel_tensor a, struct accel_tensor d,
		 struct accel_tensor second, uint32_t flags, struct fast_prog *prog)
{
	union desc u = { .norm = ACCEL_NORM_DESC_INIT };

	u.norm.func = func;
	u.norm.flags = flags;
	u.norm.a = a;
	u.norm.d = d;
	u.norm.second = second;
	if (second.rank)
		u.norm.addend = a;
	u.norm.scale = T(ACCEL_F32, a.dims[1]);
	if (func == ACCEL_NORM_GROUP)
		u.norm.groups = 32;
	if (func != ACCEL_NORM_RMS)
		u.norm.bias = u.norm.scale;
	if (flags & ACCEL_NORM_DYNQUANT)
		u.norm.scales = T(ACCEL_F32, a.dims[0], 1);
	step(name, &u, prog);
}

static void binary(const char *name, uint32_t func, struct accel_tensor a, struct accel_tensor b,
		   struct accel_tensor d)
{
	union desc u = { .binary = ACCEL_BINARY_DESC_INIT };

	u.binary.func = func;
	u.binary.a = a;
	u.binary.b = b;
	u.binary.d = d;
	step(name, &u, NULL);
}

static void unary(const char *name, uint32_t func, uint32_t act, struct accel_tensor a)
{
	union desc u = { .unary = ACCEL_UNARY_DESC_INIT };

	u.unary.func = func;
	u.unary.epilogue.act = act;
	u.unary.a = u.unary.d = a;
	step(name, &u, NULL);
}

static void copy(const char *name, struct accel_tensor a, struct accel_tensor d)
{
	union desc u = { .copy = ACCEL_COPY_DESC_INIT };

	u.copy.a = a;
	u.copy.d = d;
	step(name, &u, NULL);
}

static void softmax(const char *name, uint32_t func, struct accel_tensor a, struct fast_prog *prog)
{
	union desc u = { .softmax = ACCEL_SOFTMAX_DESC_INIT };

	u.softmax.func = func;
	u.softmax.a = u.softmax.d = a;
	step(name, &u, prog);
}

static void rows(const char *name, uint32_t dtype, int64_t words, int64_t width, int64_t n)
{
	union desc u = { .gather = ACCEL_GATHER_DESC_INIT };

	u.gather.a = T(dtype, words, width);
	u.gather.b = T(ACCEL_S32, n);
	u.gather.d = T(dtype > ACCEL_U4 ? ACCEL_F32 : dtype, n, width);
	step(name, &u, NULL);
}

static void attention(const char *name, uint32_t flags, struct accel_tensor q,
		      struct accel_tensor kv, struct accel_tensor d, struct accel_tensor mask)
{
	union desc u = { .attention = ACCEL_ATTENTION_DESC_INIT };

	u.attention.flags = flags;
	u.attention.q = q;
	u.attention.k = u.attention.v = kv;
	u.attention.d = d;
	u.attention.mask = mask;
	step(name, &u, NULL);
}

static void best(const char *arg_max, const char *top, int64_t words)
{
	union desc u = { .reduce = ACCEL_REDUCE_DESC_INIT };

	u.reduce.func = ACCEL_REDUCE_ARG_MAX;
	u.reduce.axes = ACCEL_AXIS(1);
	u.reduce.a = T(ACCEL_F32, 1, words);
	u.reduce.d = T(ACCEL_S32, 1, 1);
	step(arg_max, &u, NULL);
	u.topk = (struct accel_topk_desc)ACCEL_TOPK_DESC_INIT;
	u.topk.a = T(ACCEL_F32, 1, words);
	u.topk.d = T(ACCEL_F32, 1, 40);
	u.topk.indices = T(ACCEL_S32, 1, 40);
	step(top, &u, NULL);
}

/* --- models -------------------------------------------------------------------------- */

static void bert(void)
{
	const struct accel_tensor x = T(ACCEL_F32, 128, 768), h = T(ACCEL_F32, 128, 3072);
	const struct accel_tensor q = T(ACCEL_F32, 1, 128, 12, 64);
	const struct accel_tensor bytes = T(ACCEL_S8, 128, 768), s = Q(ACCEL_S8, 128, 768);

	rows("BERT: token embeddings", ACCEL_F32, 30522, 768, 128);
	binary("BERT: sum of embeddings", ACCEL_BINARY_ADD, x, x, x);
	norm("BERT: norm of embeddings", ACCEL_NORM_LAYER, x, x, none, 0, NULL);
	product("BERT: Q, K, V", x, T(ACCEL_F32, 768, 768), x, T(ACCEL_F32, 768), 0, 0);
	attention("BERT: attention", 0, q, q, q, T(ACCEL_F32, 1, 1, 1, 128));
	product("BERT: up", x, T(ACCEL_F32, 768, 3072), h, T(ACCEL_F32, 3072), ACCEL_ACT_GELU, 0);
	product("BERT: down", h, T(ACCEL_F32, 3072, 768), x, T(ACCEL_F32, 768), 0, 0);
	unary("BERT: pooler", ACCEL_UNARY_ACT, ACCEL_ACT_TANH, T(ACCEL_F32, 1, 768));
	zeros_by_column();
	copy("BERT: quantise", x, s);
	copy("BERT: dequantise", s, x);
	norm("BERT: sum and norm, binary32 and bytes", ACCEL_NORM_LAYER, x, s, x, 0, NULL);
	norm("BERT: sum and norm, bytes with scales", ACCEL_NORM_LAYER, x, bytes, x,
	     ACCEL_NORM_DYNQUANT, NULL);
	product("BERT: Q, K, V of bytes", s, Q(ACCEL_S8, 768, 768), x, T(ACCEL_F32, 768), 0, 0);
	product("BERT: up of bytes", s, Q(ACCEL_S8, 768, 3072), Q(ACCEL_S8, 128, 3072),
		T(ACCEL_F32, 3072), ACCEL_ACT_GELU, 0);
}

static void convolution(const char *name, uint32_t type, int64_t side, int64_t in, int64_t out,
			int64_t kernel, uint32_t stride, bool residual)
{
	const bool bytes = type == ACCEL_U8;
	union desc u = { .conv = ACCEL_CONV_DESC_INIT };
	const int64_t to = side / stride;

	u.conv.flags = ACCEL_CONV_NHWC;
	u.conv.a = T(type, 1, side, side, in);
	u.conv.b = T(bytes ? ACCEL_S8 : type, out, in, kernel, kernel);
	u.conv.d = T(type, 1, to, to, out);
	if (bytes) {
		u.conv.a = scaled(u.conv.a);
		u.conv.b = scaled(u.conv.b);
		u.conv.d = scaled(u.conv.d);
	}
	u.conv.stride[0] = u.conv.stride[1] = stride;
	u.conv.pad_before[0] = u.conv.pad_before[1] = (uint32_t)kernel / 2;
	u.conv.pad_after[0] = u.conv.pad_after[1] = (uint32_t)kernel / 2;
	u.conv.epilogue.bias = T(ACCEL_F32, out);
	u.conv.epilogue.act = ACCEL_ACT_RELU;
	if (residual)
		u.conv.epilogue.residual = u.conv.d;
	step(name, &u, NULL);
}

static void pool(const char *name, uint32_t func, uint32_t type, int64_t side, int64_t channels,
		 uint32_t kernel, uint32_t stride)
{
	union desc u = { .pool = ACCEL_POOL_DESC_INIT };
	struct accel_tensor *t[] = { &u.pool.a, &u.pool.d };
	const int64_t sides[] = { side, stride ? side / stride : 1 };
	uint32_t i;

	u.pool.func = func;
	for (i = 0; i < 2; i++) {
		*t[i] = T(type, 1, channels, sides[i], sides[i]);
		t[i]->flags |= ACCEL_TENSOR_STRIDES;
		t[i]->strides[0] = channels * sides[i] * sides[i];
		t[i]->strides[1] = 1;
		t[i]->strides[2] = channels * sides[i];
		t[i]->strides[3] = channels;
		if (type == ACCEL_U8)
			*t[i] = scaled(*t[i]);
	}
	u.pool.kernel[0] = u.pool.kernel[1] = kernel;
	u.pool.stride[0] = u.pool.stride[1] = stride;
	if (stride)
		u.pool.pad_begin[0] = u.pool.pad_begin[1] = u.pool.pad_end[0] =
			u.pool.pad_end[1] = kernel / 2;
	step(name, &u, NULL);
}

static void resnet(void)
{
	static const uint32_t types[] = { ACCEL_F32, ACCEL_U8 };
	struct accel_tensor image = T(ACCEL_F32, 1, 3, 224, 224), nhwc = image, bytes;
	uint32_t i;

	nhwc.flags |= ACCEL_TENSOR_STRIDES;
	nhwc.strides[1] = 1;
	nhwc.strides[0] = 3 * 224 * 224;
	nhwc.strides[2] = 3 * 224;
	nhwc.strides[3] = 3;
	copy("ResNet-50: image to NHWC", image, nhwc);
	bytes = nhwc;
	bytes.dtype = ACCEL_U8;
	copy("ResNet-50: image in bytes", nhwc, scaled(bytes));
	copy("ResNet-50: image from NCHW to NHWC in bytes", image, scaled(bytes));
	for (i = 0; i < 2; i++) {
		convolution("ResNet-50: 7x7", types[i], 224, 3, 64, 7, 2, false);
		pool("ResNet-50: max-pool", ACCEL_POOL_MAX, types[i], 112, 64, 3, 2);
		convolution("ResNet-50: 1x1", types[i], 56, 64, 64, 1, 1, false);
		convolution("ResNet-50: 3x3", types[i], 56, 64, 64, 3, 1, false);
		convolution("ResNet-50: 1x1, residual", types[i], 56, 64, 256, 1, 1, true);
		convolution("ResNet-50: 3x3 stride 2", types[i], 56, 128, 128, 3, 2, false);
		convolution("ResNet-50: 1x1 stride 2", types[i], 56, 256, 512, 1, 2, false);
		pool("ResNet-50: average-pool", ACCEL_POOL_AVERAGE, types[i], 7, 2048, 7, 0);
	}
	product("ResNet-50: classes", T(ACCEL_F32, 1, 2048), T(ACCEL_F32, 2048, 1000),
		T(ACCEL_F32, 1, 1000), T(ACCEL_F32, 1000), 0, 0);
	softmax("ResNet-50: softmax", ACCEL_SOFTMAX_PLAIN, T(ACCEL_F32, 1, 1000), NULL);
	binary("ResNet-50: sum of bytes", ACCEL_BINARY_ADD, Q(ACCEL_U8, 1, 56, 56, 256),
	       Q(ACCEL_U8, 1, 56, 56, 256), Q(ACCEL_U8, 1, 56, 56, 256));
}

static void gpt2(void)
{
	static const int64_t lengths[] = { 1, 128 };
	uint32_t i;

	rows("GPT-2: token embeddings", ACCEL_F32, 50257, 768, 1);
	for (i = 0; i < 2; i++) {
		const int64_t n = lengths[i];
		const struct accel_tensor x = T(ACCEL_F32, n, 768), h = T(ACCEL_F32, n, 3072);

		norm("GPT-2: norm", ACCEL_NORM_LAYER, x, x, none, 0, NULL);
		norm("GPT-2: sum and norm", ACCEL_NORM_LAYER, x, x, x, ACCEL_NORM_KEEP_SUM, NULL);
		product("GPT-2: Q, K, V", x, T(ACCEL_F32, 768, 2304), T(ACCEL_F32, n, 2304),
			T(ACCEL_F32, 2304), 0, 0);
		attention("GPT-2: attention", ACCEL_ATTENTION_CAUSAL, T(ACCEL_F32, 1, n, 12, 64),
			  T(ACCEL_F32, 1, 512, 12, 64), T(ACCEL_F32, 1, n, 12, 64), none);
		product("GPT-2: up", x, T(ACCEL_F32, 768, 3072), h, T(ACCEL_F32, 3072),
			ACCEL_ACT_GELU_TANH, 0);
		binary("GPT-2: residual", ACCEL_BINARY_ADD, x, x, x);
	}
	product("GPT-2: logits", T(ACCEL_F32, 1, 768), T(ACCEL_F32, 50257, 768),
		T(ACCEL_F32, 1, 50257), none, 0, ACCEL_GEMM_TRANS_B);
	softmax("GPT-2: softmax of logits", ACCEL_SOFTMAX_PLAIN, T(ACCEL_F32, 1, 50257), NULL);
	best("GPT-2: arg-max", "GPT-2: top-40", 50257);
}

static void llama(void)
{
	static const int64_t lengths[] = { 1, 128 };
	union desc u;
	uint32_t i;

	rows("LLaMA: token embeddings", ACCEL_BF16, 32000, 2048, 1);
	rows("LLaMA: token embeddings in blocks", ACCEL_Q6_K, 32000, 2048, 1);
	copy("LLaMA: blocks as numbers", T(ACCEL_Q4_0, 2048, 2048), T(ACCEL_F16, 2048, 2048));
	for (i = 0; i < 2; i++) {
		const int64_t n = lengths[i];
		const struct accel_tensor x = T(ACCEL_F32, n, 2048), h = T(ACCEL_BF16, n, 5632);

		norm("LLaMA: norm", ACCEL_NORM_RMS, x, T(ACCEL_BF16, n, 2048), none, 0, NULL);
		norm("LLaMA: sum and norm in bytes", ACCEL_NORM_RMS, x, T(ACCEL_S8, n, 2048), x,
		     ACCEL_NORM_KEEP_SUM | ACCEL_NORM_DYNQUANT, NULL);
		product("LLaMA: Q", T(ACCEL_BF16, n, 2048), T(ACCEL_BF16, 2048, 2048),
			T(ACCEL_BF16, n, 2048), none, 0, 0);
		u.rotary = (struct accel_rotary_desc)ACCEL_ROTARY_DESC_INIT;
		u.rotary.a = u.rotary.d = T(ACCEL_BF16, 1, n, 32, 64);
		u.rotary.cosines = u.rotary.sines = T(ACCEL_F32, 2048, 32);
		u.rotary.positions = T(ACCEL_S32, 1, n);
		step("LLaMA: rotary", &u, NULL);
		copy("LLaMA: keys into the cache", T(ACCEL_F32, n, 4, 64), T(ACCEL_BF16, n, 4, 64));
		attention("LLaMA: attention", ACCEL_ATTENTION_CAUSAL,
			  T(ACCEL_BF16, 1, n, 32, 64), T(ACCEL_BF16, 1, 1024, 4, 64),
			  T(ACCEL_BF16, 1, n, 32, 64), none);
		unary("LLaMA: SiLU", ACCEL_UNARY_ACT, ACCEL_ACT_SILU, h);
		binary("LLaMA: gate", ACCEL_BINARY_MUL, h, h, h);
		u.dynquant = (struct accel_dynquant_desc)ACCEL_DYNQUANT_DESC_INIT;
		u.dynquant.axes = ACCEL_AXIS(1);
		u.dynquant.a = x;
		u.dynquant.d = T(ACCEL_S8, n, 2048);
		u.dynquant.scales = T(ACCEL_F32, n, 1);
		step("LLaMA: bytes", &u, NULL);
		product("LLaMA: Q in blocks", x, T(ACCEL_Q8_0, 2048, 2048), x, none, 0,
			ACCEL_GEMM_TRANS_B);
		product("LLaMA: up in blocks of 4 bits", x, T(ACCEL_Q4_0, 5632, 2048),
			T(ACCEL_F32, n, 5632), none, 0, ACCEL_GEMM_TRANS_B);
		product("LLaMA: down in blocks of 4 bits", T(ACCEL_F32, n, 5632),
			T(ACCEL_Q4_K, 2048, 5632), x, none, 0, ACCEL_GEMM_TRANS_B);
		u.kv_write = (struct accel_kv_write_desc)ACCEL_KV_WRITE_DESC_INIT;
		u.kv_write.a = T(ACCEL_F32, n, 4, 64);
		u.kv_write.slots = T(ACCEL_S32, n);
		u.kv_write.d = T(ACCEL_BF16, 64, 16, 4, 64);
		step("LLaMA: keys into pages", &u, NULL);
		u.kv_write.d = T(ACCEL_S8, 64, 16, 4, 64);
		u.kv_write.scales = T(ACCEL_F32, 64, 16, 4, 1);
		step("LLaMA: keys into pages of bytes", &u, NULL);
	}
	best("LLaMA: arg-max", "LLaMA: top-40", 32000);
	u.scan = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
	u.scan.a = u.scan.d = T(ACCEL_F32, 1, 32000);
	step("LLaMA: sums for top-p", &u, NULL);
}

static void whisper(void)
{
	const struct accel_tensor x = T(ACCEL_F32, 1500, 384), mel = T(ACCEL_F32, 80, 3000);
	const struct accel_tensor q = T(ACCEL_F32, 1, 1500, 6, 64);
	union desc u = { .conv = ACCEL_CONV_DESC_INIT };

	unary("Whisper: logarithms of the spectrum", ACCEL_UNARY_LOG, 0, mel);
	binary("Whisper: range of the spectrum", ACCEL_BINARY_MAX, mel, T(ACCEL_F32, 1, 1), mel);
	u.conv.flags = ACCEL_CONV_NHWC;
	u.conv.a = T(ACCEL_F32, 1, 3000, 80);
	u.conv.b = T(ACCEL_F32, 384, 80, 3);
	u.conv.d = T(ACCEL_F32, 1, 3000, 384);
	u.conv.pad_before[0] = u.conv.pad_after[0] = 1;
	u.conv.epilogue.bias = T(ACCEL_F32, 384);
	u.conv.epilogue.act = ACCEL_ACT_GELU;
	step("Whisper: first convolution", &u, NULL);
	u.conv.a = T(ACCEL_F32, 1, 3000, 384);
	u.conv.b = T(ACCEL_F32, 384, 384, 3);
	u.conv.d = T(ACCEL_F32, 1, 1500, 384);
	u.conv.stride[0] = 2;
	step("Whisper: second convolution", &u, NULL);
	binary("Whisper: positions", ACCEL_BINARY_ADD, x, x, x);
	norm("Whisper: norm", ACCEL_NORM_LAYER, x, x, none, 0, NULL);
	attention("Whisper: attention", 0, q, q, q, none);
	rows("Whisper: token embeddings", ACCEL_F32, 51865, 384, 4);
	attention("Whisper: attention to the sound", 0, T(ACCEL_F32, 1, 1, 6, 64), q,
		  T(ACCEL_F32, 1, 1, 6, 64), none);
	product("Whisper: logits", T(ACCEL_F32, 1, 384), T(ACCEL_F32, 51865, 384),
		T(ACCEL_F32, 1, 51865), none, 0, ACCEL_GEMM_TRANS_B);
	softmax("Whisper: log-softmax of logits", ACCEL_SOFTMAX_LOG, T(ACCEL_F32, 1, 51865), NULL);
	best("Whisper: arg-max", "Whisper: top-40", 51865);
}

/* Group norms: with factors of channels, channels last, and of a piece of a picture's volume. */
static void diffusion(void)
{
	struct accel_tensor x = T(ACCEL_F32, 2, 320, 64, 64);
	struct accel_tensor v = T(ACCEL_F32, 1, 128, 3, 30, 52);

	norm("diffusion: group norm", ACCEL_NORM_GROUP, x, x, none, 0, NULL);
	x.flags |= ACCEL_TENSOR_STRIDES;
	x.strides[0] = 64 * 64 * 320;
	x.strides[1] = 1;
	x.strides[2] = 64 * 320;
	x.strides[3] = 320;
	norm("diffusion: group norm, channels last", ACCEL_NORM_GROUP, x, x, none, 0, NULL);
	v.flags |= ACCEL_TENSOR_STRIDES;
	v.strides[4] = 1;
	v.strides[3] = 60;
	v.strides[2] = 64 * 60;
	v.strides[1] = 4 * 64 * 60;
	v.strides[0] = 128 * 4 * 64 * 60;
	norm("diffusion: group norm of a volume", ACCEL_NORM_GROUP, v, v, none, 0, NULL);
}

/* --- tests ---------------------------------------------------------------------------- */

static bool open_ctx(uint32_t threads)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_device *dev;

	opts.threads = threads;
	if (accel_device_open("sw", &opts, &dev))
		return false;
	assert_int_equal(accel_ctx_create(dev, NULL, &ctx), 0);
	cpu = ((struct sw_device *)dev)->cpu;
	accel_device_unref(dev);
	return true;
}

/* Are there kernels for these? Without any the device has not found what it was built with. */
static bool has(uint32_t isa)
{
#if defined(__x86_64__)
	const char *level = getenv("ACCEL_SW_KERNELS");

	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && (!level || !*level))
		assert_true(cpu.isa & FAST_AVX2);
#endif
	return (cpu.isa & isa) == isa;
}

/* By the kernels of each processor, whichever this one is. */
static void test_reference(void **state)
{
	static const uint32_t more[] = {
		FAST_AVX2, FAST_AVX512, FAST_VNNI, FAST_BF16, FAST_AMX_INT8 | FAST_AMX_BF16
	};
	uint32_t i;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	assert_true(open_ctx(2));
	for (i = 0, cpu.isa = 0; i < ARRAY_SIZE(more); i++) {
		cpu.isa |= more[i];
		print_message("# FAST_* 0x%x:\n", cpu.isa);
		bert();
		resnet();
		gpt2();
		llama();
		whisper();
		diffusion();
	}
	accel_ctx_destroy(ctx);
	print_message("# %u operations\n", asked);
	assert_int_equal(missed, 0);
}

/* fp32 by weights of 16 bits, with each processor's kernels, for few rows and for many. */
static void test_halves(void **state)
{
	static const char *const level[] = { "avx2", "avx512", "avx512-bf16", "amx" };
	static const uint32_t way[] = { 0, ACCEL_GEMM_PACK_B, ACCEL_GEMM_TRANS_B };
	union desc u = { .gemm = ACCEL_GEMM_DESC_INIT };
	uint32_t i, j, type;
	struct accel_bo *bo;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(level); i++) {
		setenv("ACCEL_SW_KERNELS", level[i], 1);
		if (!open_ctx(2))
			continue;
		assert_int_equal(accel_bo_create(ctx, 3 * 64 * 64 * 2, NULL, &bo), 0);
		for (j = 0; j < 36; j++) {
			type = j % 2 ? ACCEL_F16 : ACCEL_BF16;
			u.gemm.a = u.gemm.d = T(ACCEL_F32, 1 << j / 2 % 3 * 3, 64);
			u.gemm.b = j < 18 ? T(type, 64, 64) : T(type, 3, 64, 64);
			u.gemm.b.bo = bo;
			u.gemm.rows = j < 18 ? none : T(ACCEL_S32, 3);
			u.gemm.flags = way[j / 6 % 3];
			step(level[i], &u, NULL);
		}
		accel_bo_unref(bo);
		accel_ctx_destroy(ctx);
	}
	unsetenv("ACCEL_SW_KERNELS");
	assert_int_equal(missed, 0);
}

/* Norms and softmax of usual size are worth two threads, and have tiles for both. */
static void test_shared(void **state)
{
	const struct accel_tensor x = T(ACCEL_F32, 512, 768);
	struct fast_prog prog[4];
	uint32_t i;

	(void)state;
	assert_true(open_ctx(2));
	if (has(FAST_AVX2)) {
		norm("layer norm", ACCEL_NORM_LAYER, x, x, none, 0, &prog[0]);
		norm("RMS norm", ACCEL_NORM_RMS, x, x, none, 0, &prog[1]);
		norm("norm of two results", ACCEL_NORM_LAYER, x, T(ACCEL_S8, 512, 768), x,
		     ACCEL_NORM_DYNQUANT, &prog[2]);
		softmax("softmax", ACCEL_SOFTMAX_PLAIN, x, &prog[3]);
		for (i = 0; i < ARRAY_SIZE(prog); i++) {
			assert_true(prog[i].ns >= 2 * SW_SHARE_NS);
			assert_true(prog[i].tiles[0] >= 2);
			assert_true(!prog[i].max_threads || prog[i].max_threads >= 2);
		}
	}
	accel_ctx_destroy(ctx);
}

/* What so many runs have had is there for the next ones, without fresh pages. */
static void test_work(void **state)
{
	struct sw_work *work[24];
	struct sw_team team = { 0 };
	uint32_t i, kept = 0;

	(void)state;
	pthread_mutex_init(&team.work_lock, NULL);
	for (i = 0; i < ARRAY_SIZE(work); i++)
		work[i] = sw_work_get(&team, 1 << 20);
	for (i = 0; i < ARRAY_SIZE(work); i++)
		sw_work_put(&team, work[i]);
	for (work[0] = team.works; work[0]; work[0] = work[0]->next)
		kept++;
	assert_int_equal(kept, ARRAY_SIZE(work));
	sw_work_exit(&team);
}

/* A little is no large page, and runs of nearly as much share it. */
static void test_little_work(void **state)
{
	struct sw_team team = { 0 };
	struct sw_work *work;

	(void)state;
	pthread_mutex_init(&team.work_lock, NULL);
	work = sw_work_get(&team, 37632);
	assert_non_null(work);
	assert_int_equal(work->size, 65536);
	sw_work_put(&team, work);
	assert_ptr_equal(sw_work_get(&team, 60000), work);
	sw_work_put(&team, work);
	work = sw_work_get(&team, (2 << 20) + 1);
	assert_non_null(work);
	assert_int_equal(work->size, 4 << 20);
	sw_work_put(&team, work);
	sw_work_exit(&team);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work), cmocka_unit_test(test_little_work),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_reference), cmocka_unit_test(test_shared),
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
