// SPDX-License-Identifier: MIT
/*
 * Ordinary numbers raise no exception but "inexact" and "underflow", in no lane of a vector
 * either: whoever lets exceptions trap would be stopped by what is behind the end of a line.
 * Looks at each tile by itself, as threads leave with the flags that they came with.
 */
#include <errno.h>
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/sw/kernels/fast.h"
#include "libaccel/tests/guest.h"
#include "libaccel/tests/ops/samples.h"
#include "libaccel/tests/oracle/oracle.h"

#define WRONG		(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW)
/* Classes that there are at most */
#define CLASSES		64

/**
 * struct seen_class - a class of kernels, and what takes its place
 * @real: class
 * @seen: the same, whose tiles are looked at
 */
struct seen_class {
	const struct fast_class *real;
	struct fast_class seen;
};

static struct seen_class classes[CLASSES];
static int flags;
static unsigned int seen_tiles, seen_steps;

/*
 * Nothing of a tile is kept for the next: what is left there may be no number. Copies of a page,
 * as this is most of what the test does.
 */
static void poison(void *scratch, size_t size)
{
	const size_t page = 4096;
	uint32_t *word = scratch;
	size_t i;

	for (i = 0; i < page / sizeof(*word); i++)
		word[i] = i & 1 ? 0x7f800000 : 0x7f807f80;
	for (i = page; i < size; i += page)
		memcpy((char *)scratch + i, scratch, size - i < page ? size - i : page);
}

static int seen_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct seen_class *c = (const void *)((const char *)r->prog->class -
						    offsetof(struct seen_class, seen));
	int ret;

	poison(r->scratch, FAST_SCRATCH);
	poison(r->rows_scratch, UMA_SCRATCH_SIZE);
	feclearexcept(FE_ALL_EXCEPT);
	ret = c->real->tile(r, phase, tile);
	flags |= fetestexcept(WRONG);
	seen_tiles++;
	return ret;
}

/* The linker lets these stand before the library's own: see tests.mk. */
void __real_fast_prepare(struct fast_prog *p, const struct uma_program *program,
			 const struct fast_cpu *cpu, const struct fast_hint *hint);
void __wrap_fast_prepare(struct fast_prog *p, const struct uma_program *program,
			 const struct fast_cpu *cpu, const struct fast_hint *hint);
int __real_uma_run_step(const struct uma_program *prog, __u32 phase, __u32 tile, __u32 *step,
			struct uma_mem *mem, void *scratch, struct uma_fault_info *fault);
int __wrap_uma_run_step(const struct uma_program *prog, __u32 phase, __u32 tile, __u32 *step,
			struct uma_mem *mem, void *scratch, struct uma_fault_info *fault);

void __wrap_fast_prepare(struct fast_prog *p, const struct uma_program *program,
			 const struct fast_cpu *cpu, const struct fast_hint *hint)
{
	struct seen_class *c = classes;

	__real_fast_prepare(p, program, cpu, hint);
	if (!p->class)
		return;
	while (c->real && c->real != p->class)
		c++;
	assert_true(c < classes + CLASSES - 1);
	c->real = p->class;
	c->seen = *p->class;
	c->seen.tile = seen_tile;
	p->class = &c->seen;
}

int __wrap_uma_run_step(const struct uma_program *prog, __u32 phase, __u32 tile, __u32 *step,
			struct uma_mem *mem, void *scratch, struct uma_fault_info *fault)
{
	int ret;

	feclearexcept(FE_ALL_EXCEPT);
	ret = __real_uma_run_step(prog, phase, tile, step, mem, scratch, fault);
	flags |= fetestexcept(WRONG);
	seen_steps++;
	return ret;
}

/* --- operations ------------------------------------------------------------------------ */

static struct accel_device *dev;
static struct accel_ctx *ctx;
static const char *const levels[] = {
	"portable", "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx", "neon",
	"neon-dotprod",
};

static const char *level;
/* Its number */
static uint32_t turn;
static uint32_t wrong;

static const uint32_t types[] = { ACCEL_F32, ACCEL_F16, ACCEL_BF16 };

/* Blocks whose scales are numbers; what is between them is none, taken for one. */
static void fill_blocks(uint8_t *p, uint32_t dtype, uint64_t bytes)
{
	static const uint32_t halves[][2] = {
		{ 0, 0 }, { 0, 0 }, { 0, 2 }, { 0, 2 }, { 208, 208 }
	};
	const uint16_t half = 0x3c00;
	uint32_t count, block, i;
	uint64_t at;

	block = accel_dtype_block(dtype, &count);
	for (at = 0; at < bytes; at++)
		p[at] = at & 1 ? 0x7d : 0x88;
	for (at = 0; at < bytes; at += block)
		for (i = 0; i < 2; i++)
			memcpy(p + at + halves[dtype - ACCEL_Q8_0][i], &half, sizeof(half));
}

/* Numbers from @from to @to; integers are 0, of which one can be an index. */
static void fill(struct accel_tensor *t, double from, double to)
{
	uint64_t bytes, i;
	uint16_t *h;
	float *f, x;

	assert_int_equal(accel_tensor_bytes(t, &bytes), 0);
	assert_int_equal(accel_bo_create(ctx, bytes + 4096, NULL, &t->bo), 0);
	f = accel_bo_ptr(t->bo);
	h = accel_bo_ptr(t->bo);
	memset(f, 0, bytes);
	if (t->dtype >= ACCEL_Q8_0)
		fill_blocks(accel_bo_ptr(t->bo), t->dtype, bytes);
	for (i = 0; t->dtype <= ACCEL_BF16 && i < bytes / (t->dtype == ACCEL_F32 ? 4 : 2); i++) {
		x = (float)(from + (to - from) * (double)(i * 7 % 16) / 15);
		if (t->dtype == ACCEL_F32) {
			f[i] = x;
		} else if (t->dtype == ACCEL_F16) {
			h[i] = oracle_f16_bits((double)x);
		} else {
			uint32_t bits;

			memcpy(&bits, &x, 4);
			h[i] = (uint16_t)(bits >> 16);
		}
	}
}

static void run(const char *what, union desc *d, const uint32_t *at, double from, double to)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t i;
	int ret;

	for (i = 0; i < MAX_TENSORS && at[i]; i++)
		if (sample_tensor(d, at[i])->rank)
			fill(sample_tensor(d, at[i]), from, to);
	flags = 0;
	seen_tiles = 0;
	seen_steps = 0;
	ret = accel_run(ctx, &d->hdr);
	/* Or nobody looked, and nothing is known. */
	assert_true(ret || seen_tiles || seen_steps);
	if (ret && ret != -EOPNOTSUPP) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("%s: %s: %d, %s %s", level, what, ret, e.field, e.text);
	}
	if (flags)
		print_error("%s: %s raises%s%s%s\n", level, what,
			    flags & FE_INVALID ? " invalid" : "",
			    flags & FE_DIVBYZERO ? " division by zero" : "",
			    flags & FE_OVERFLOW ? " overflow" : "");
	wrong += flags != 0;
	for (i = 0; i < MAX_TENSORS && at[i]; i++) {
		accel_bo_unref(sample_tensor(d, at[i])->bo);
		sample_tensor(d, at[i])->bo = NULL;
	}
}

#define DIMS(...)	((const int64_t[]) { __VA_ARGS__ })
#define T(type, ...)	\
	accel_tensor_dense(NULL, type, ARRAY_SIZE(DIMS(__VA_ARGS__)), DIMS(__VA_ARGS__))
#define AT(op, f)	offsetof(struct accel_##op##_desc, f)
#define NEW(op, OP)	d.op = (struct accel_##op##_desc)ACCEL_##OP##_DESC_INIT
/* The operation with tensors at these places, of numbers between @from and @to */
#define RUN(what, from, to, ...)	\
	run(what, &d, (const uint32_t[MAX_TENSORS]) { __VA_ARGS__ }, from, to)

static void test_samples(void **state)
{
	uint32_t i;

	(void)state;
	wrong = 0;
	for (i = 0; i < sample_count; i++) {
		union desc d;

		sample_make(&samples[i], &d);
		run(samples[i].name, &d, samples[i].at, 0.25, 2);
	}
	assert_int_equal(wrong, 0);
}

static void softmax(uint32_t type, int64_t n, int32_t axis)
{
	union desc d;

	NEW(softmax, SOFTMAX);
	for (; d.softmax.func < ACCEL_SOFTMAX_COUNT; d.softmax.func++) {
		d.softmax.axis = axis;
		d.softmax.a = d.softmax.d = T(type, 3, n);
		RUN("softmax", -3, 3, AT(softmax, d), AT(softmax, a));
		RUN("softmax far below 0", -300, -200, AT(softmax, d), AT(softmax, a));
	}
}

static void reduce(uint32_t type, int64_t n)
{
	union desc d;

	NEW(reduce, REDUCE);
	d.reduce.axes = ACCEL_AXIS(1);
	for (; d.reduce.func < ACCEL_REDUCE_COUNT; d.reduce.func++) {
		d.reduce.a = T(type, 3, n);
		d.reduce.d = T(d.reduce.func < ACCEL_REDUCE_ARG_MAX ? type : (uint32_t)ACCEL_S32,
			       3, 1);
		RUN("reduce", 0.25, 1, AT(reduce, d), AT(reduce, a));
		if (d.reduce.func == ACCEL_REDUCE_LOG_SUM_EXP)
			RUN("reduce far below 0", -300, -200, AT(reduce, d), AT(reduce, a));
	}
}

/* Lines that end in a vector, at its end and behind it. */
static void test_lengths(void **state)
{
	uint32_t i, n;
	union desc d;

	(void)state;
	wrong = 0;
	for (i = 0; i < 3 * 68; i++) {
		const uint32_t type = types[i % 3];

		if (test_left_out(i, turn))
			continue;
		n = i / 3 + 1;
		softmax(type, n, 0);
		softmax(type, n, 1);
		reduce(type, n);
		NEW(norm, NORM);
		for (; d.norm.func <= ACCEL_NORM_RMS; d.norm.func++) {
			d.norm.a = d.norm.d = T(type, 3, n);
			RUN("norm", -3, 3, AT(norm, d), AT(norm, a));
		}
		NEW(scan, SCAN);
		d.scan.a = d.scan.d = T(type, 3, n);
		RUN("scan", -3, 3, AT(scan, d), AT(scan, a));
		NEW(topk, TOPK);
		d.topk.a = T(type, 3, n);
		d.topk.d = T(type, 3, 1);
		d.topk.indices = T(ACCEL_S32, 3, 1);
		RUN("topk", -3, 3, AT(topk, d), AT(topk, indices), AT(topk, a));
		NEW(dynquant, DYNQUANT);
		d.dynquant.axes = ACCEL_AXIS(1);
		d.dynquant.a = T(type, 3, n);
		d.dynquant.d = T(ACCEL_S8, 3, n);
		d.dynquant.scales = T(ACCEL_F32, 3, 1);
		RUN("dynquant", -3, 3, AT(dynquant, d), AT(dynquant, scales), AT(dynquant, a));
	}
	assert_int_equal(wrong, 0);
}

/* Does an activation have parameters? */
static bool has_p(uint32_t act, uint32_t which)
{
	const bool both = act == ACCEL_ACT_CLAMP || act == ACCEL_ACT_HARD_SIGMOID ||
			  act == ACCEL_ACT_SELU;

	return both || (!which && (act == ACCEL_ACT_LEAKY_RELU || act == ACCEL_ACT_ELU ||
				   act == ACCEL_ACT_CELU));
}

static void test_functions(void **state)
{
	uint32_t i;
	union desc d;

	(void)state;
	wrong = 0;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		NEW(unary, UNARY);
		for (; d.unary.func < ACCEL_UNARY_BIT_NOT; d.unary.func++) {
			/* Where all of them but one have a value */
			const double least = d.unary.func == ACCEL_UNARY_ACOSH ? 1.25 : 0.25;

			d.unary.a = d.unary.d = T(types[i], 3, 37);
			RUN(accel_unary_name(d.unary.func), least, least + 0.5, AT(unary, d),
			    AT(unary, a));
		}
		NEW(unary, UNARY);
		for (; d.unary.epilogue.act < ACCEL_ACT_COUNT; d.unary.epilogue.act++) {
			d.unary.epilogue.p0 = has_p(d.unary.epilogue.act, 0) ? 0.5f : 0;
			d.unary.epilogue.p1 = has_p(d.unary.epilogue.act, 1) ? 1 : 0;
			d.unary.a = d.unary.d = T(types[i], 3, 37);
			RUN("an activation", -3, 3, AT(unary, d), AT(unary, a));
			RUN("an activation far from 0", -1000, 1000, AT(unary, d), AT(unary, a));
		}
		NEW(binary, BINARY);
		for (; d.binary.func < ACCEL_BINARY_BIT_AND; d.binary.func++) {
			d.binary.a = d.binary.b = d.binary.d = T(types[i], 3, 37);
			RUN(accel_binary_name(d.binary.func), 0.25, 2, AT(binary, d), AT(binary, a),
			    AT(binary, b));
		}
	}
	assert_int_equal(wrong, 0);
}

static void narrow(struct accel_tensor *t)
{
	t->dtype = ACCEL_S8;
	t->quant.scheme = ACCEL_QUANT_TENSOR;
	t->quant.scale = 0.5f;
}

static void product(uint32_t type, int64_t m, int64_t n, int64_t k)
{
	static const uint32_t acts[] = {
		ACCEL_ACT_NONE, ACCEL_ACT_RELU, ACCEL_ACT_TANH, ACCEL_ACT_GELU, ACCEL_ACT_GELU_TANH,
		ACCEL_ACT_SILU, ACCEL_ACT_MISH,
	};
	union desc d;

	NEW(gemm, GEMM);
	d.gemm.a = T(type, m, k);
	d.gemm.b = T(type, k, n);
	d.gemm.d = T(type, m, n);
	d.gemm.epilogue.act = acts[(m + n + k) % (int64_t)ARRAY_SIZE(acts)];
	RUN("gemm", -2, 3, AT(gemm, d), AT(gemm, a), AT(gemm, b));
	narrow(&d.gemm.b);
	RUN("gemm by bytes", -2, 3, AT(gemm, d), AT(gemm, a), AT(gemm, b));
	NEW(gemm, GEMM);
	d.gemm.flags = ACCEL_GEMM_TRANS_B;
	d.gemm.a = T(type, m, 256);
	d.gemm.b = T(ACCEL_Q8_0 + (uint32_t)k % 5, n, 256);
	d.gemm.d = T(type, m, n);
	RUN("gemm by blocks", -2, 3, AT(gemm, d), AT(gemm, a), AT(gemm, b));
	NEW(conv, CONV);
	d.conv.pad_before[0] = d.conv.pad_before[1] = 1;
	d.conv.pad_after[0] = d.conv.pad_after[1] = 1;
	d.conv.a = T(type, 1, m, 9, n);
	d.conv.b = T(type, k, m, 3, 3);
	d.conv.d = T(type, 1, k, 9, n);
	RUN("conv", -2, 3, AT(conv, d), AT(conv, a), AT(conv, b));
}

/* @n of them, one each row. */
static struct accel_bo *scales(int64_t n)
{
	struct accel_bo *bo;

	assert_int_equal(accel_bo_create(ctx, (uint64_t)n * 4 + 4096, NULL, &bo), 0);
	while (n--)
		((float *)accel_bo_ptr(bo))[n] = 0.5f;
	return bo;
}

static void attention(uint32_t type, int64_t m, int64_t n, int64_t k)
{
	union desc d;

	NEW(attention, ATTENTION);
	d.attention.flags = n & 4 ? ACCEL_ATTENTION_CAUSAL : 0;
	d.attention.softcap = m & 4 ? 2 : 0;
	d.attention.q = d.attention.d = T(type, 1, m, 2, k);
	d.attention.k = d.attention.v = T(type, 1, n, 1, k);
	RUN("attention", -2, 3, AT(attention, d), AT(attention, q), AT(attention, k),
	    AT(attention, v));
	RUN("attention of large scores", -40, 60, AT(attention, d), AT(attention, q),
	    AT(attention, k), AT(attention, v));
	narrow(&d.attention.k);
	narrow(&d.attention.v);
	RUN("attention with bytes", -2, 3, AT(attention, d), AT(attention, q), AT(attention, k),
	    AT(attention, v));
	d.attention.k.quant = d.attention.v.quant = (struct accel_quant){
		.scheme = ACCEL_QUANT_GROUP, .axis = 3, .group = 256,
		.scales = scales(n),
	};
	RUN("attention with bytes and their scales", -2, 3, AT(attention, d), AT(attention, q),
	    AT(attention, k), AT(attention, v));
	accel_bo_unref(d.attention.k.quant.scales);
}

static void test_products(void **state)
{
	static const int64_t sizes[] = { 1, 5, 16, 39, 130 };
	uint32_t i;

	(void)state;
	wrong = 0;
	for (i = 0; i < ARRAY_SIZE(types) * 125; i++) {
		const int64_t m = sizes[i / 3 % 5], n = sizes[i / 15 % 5], k = sizes[i / 75];

		if (test_left_out(i, turn))
			continue;
		product(types[i % 3], m, n, k);
		attention(types[i % 3], m, n, k);
	}
	assert_int_equal(wrong, 0);
}

/* The device with the kernels of a level. */
static int open_level(void **state)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;

	turn = (uint32_t)((const char *const *)*state - levels);
	level = levels[turn];
	setenv("ACCEL_SW_KERNELS", level, 1);
	/* What is looked at is the thread that runs the tiles. */
	opts.threads = 1;
	return accel_device_open("sw:full", &opts, &dev) || accel_ctx_create(dev, NULL, &ctx);
}

static int close_level(void **state)
{
	(void)state;
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_samples, open_level, close_level),
		cmocka_unit_test_setup_teardown(test_lengths, open_level, close_level),
		cmocka_unit_test_setup_teardown(test_functions, open_level, close_level),
		cmocka_unit_test_setup_teardown(test_products, open_level, close_level),
	};
	struct CMUnitTest all[ARRAY_SIZE(levels) * ARRAY_SIZE(tests)];
	char names[ARRAY_SIZE(all)][64];
	uint32_t i, j, n = 0;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		void *state = (void *)&levels[i];

		if (open_level(&state)) {
			printf("# %s: not on this processor\n", level);
			continue;
		}
		close_level(&state);
		for (j = 0; j < ARRAY_SIZE(tests); j++, n++) {
			snprintf(names[n], sizeof(names[n]), "%s with %s", tests[j].name, level);
			all[n] = tests[j];
			all[n].name = names[n];
			all[n].initial_state = state;
		}
	}
	return _cmocka_run_group_tests("flags", all, n, NULL, NULL);
}
