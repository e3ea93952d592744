// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DYNQUANT: the same bits with any kernels, steps and pages, against the
 * definition element by element; and each rule that a task can break.
 */
#include <math.h>
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], first[MT_SIZE], result[MT_SIZE];

static void set(struct mt_task *t, int word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

static void make(struct mt_task *t, uint64_t seed, int a, int d, int rank,
		 const uint32_t *dims, uint32_t axes, uint32_t flags, int style)
{
	uint32_t one[UMA_MAX_RANK];
	int i;

	for (i = 0; i < rank; i++)
		one[i] = axes >> i & 1 ? 1 : dims[i];
	mt_task_init(t, image, seed, UMA_OP_DYNQUANT);
	mt_operand(t, UMA_SLOT_DST, d, rank, dims, style ? MT_STRIDED : MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, a, rank, dims, style);
	mt_operand(t, UMA_SLOT_AUX0, F32, rank, one, style ? MT_STRIDED : MT_PLAIN);
	if (flags)
		mt_operand(t, UMA_SLOT_AUX1, S32, rank, one, style ? MT_STRIDED : MT_PLAIN);
	set(t, 0, axes);
	set(t, 1, flags);
}

/* --- the definition ---------------------------------------------------------- */

static int next(const struct uma_operand *o, uint32_t *idx, uint32_t axes, int along)
{
	int d;

	for (d = o->rank; d-- > 0;) {
		if ((int)(axes >> d & 1) != along)
			continue;
		if (++idx[d] < o->dims[d])
			return 1;
		idx[d] = 0;
	}
	return 0;
}

/* A line: scale, zero point and bytes are what they should be. */
static int line_fits(const struct uma_task *t, uint32_t *idx, uint32_t axes, int asym)
{
	const struct uma_operand *a = &t->op[UMA_SLOT_A], *d = &t->op[UMA_SLOT_DST];
	double lo = d->dtype == S8 ? -128 : 0, max = 0, min = 0, zero = lo + 128, q;
	uint32_t at[UMA_MAX_RANK];
	int nan = 0;
	float scale;

	memcpy(at, idx, sizeof(at));
	do {
		double v = ref_load(first, a, idx);

		nan |= isnan(v);
		max = fmax(max, v);
		min = fmin(min, v);
	} while (next(a, idx, axes, 1));
	scale = asym ? (float)((float)(max - min) / 255.0) :
		       (float)(fmax(max, -min) / 127.0);
	scale = nan ? NAN : scale == 0 ? 1 : scale;
	if (asym) {
		q = nearbyint((float)(-min / scale));
		zero = fmin(fmax((isnan(q) ? 0 : q) + lo, lo), lo + 255);
		if (ref_load(first, &t->op[UMA_SLOT_AUX1], at) != zero)
			return 0;
	}
	q = ref_load(first, &t->op[UMA_SLOT_AUX0], at);
	if (nan ? !isnan(q) : q != scale)
		return 0;
	do {
		q = nearbyint((float)(ref_load(first, a, idx) / scale));
		q = fmin(fmax((isnan(q) ? 0 : q) + zero, lo), lo + 255);
		if (ref_load(first, d, idx) != q)
			return 0;
	} while (next(a, idx, axes, 1));
	return 1;
}

static int fits(const struct uma_task *t, uint32_t axes, int asym)
{
	uint32_t idx[UMA_MAX_RANK] = { 0 };

	do {
		if (!line_fits(t, idx, axes, asym))
			return 0;
	} while (next(&t->op[UMA_SLOT_A], idx, axes, 0));
	return 1;
}

static void one_shape(int a, int d, int rank, const uint32_t *dims, uint32_t axes)
{
	static const uint32_t steps[] = { UMA_STEP_WORK_UNBOUND, 1, 3000, UMA_STEP_WORK_KERNEL };
	static const uint32_t pages[] = { 0, 64, 4096 };
	const struct uma_kernels *const *k;
	struct uma_fault_info f = { 0 };
	static struct mt_task t;
	int i, bad = 0;

	for (i = 0; i < 24; i++) {
		const struct uma_engine_desc *e = mt_engine("full", (uint32_t)(i % 3));
		int asym = i & 1, reference = 1;

		memset(image, 0x3c, sizeof(image));
		make(&t, 100 * axes + (uint64_t)i, a, d, rank, dims, axes, (uint32_t)asym,
		     i % 4 < 2 ? MT_PLAIN : MT_STRIDED);
		if (i % 6 == 5)
			mt_contents(&t, UMA_SLOT_A, 1);
		for (k = mt_kernels(); *k; k++) {
			struct mt_variant v = {
				*k, steps[mt_below(&t.rng, 4)], pages[mt_below(&t.rng, 3)]
			};

			memcpy(result, image, MT_SIZE);
			bad += mt_run(&t.task, e, &v, result, &f) != 0;
			if (reference) {
				memcpy(first, result, MT_SIZE);
				bad += dims[0] && !fits(&t.task, axes, asym);
				reference = 0;
			}
			bad += memcmp(first, result, MT_SIZE) != 0;
		}
	}
	tap_ok(!bad, "type %d to %d, %u x %u x %u along %x %s", a, d, dims[0], dims[1], dims[2],
	       axes, uma_fault_name(f.reason));
}

/* --- rules ---------------------------------------------------------------------- */

#define AT(f)		offsetof(struct uma_task, f), sizeof(((struct uma_task *)0)->f)
#define OP(i, f)	offsetof(struct uma_task, op[i].f), \
			sizeof(((struct uma_task *)0)->op[i].f)
#define PAR(i)		offsetof(struct uma_task, params) + 4 * (i), 4
#define NONE		UMA_FAULT_NO_SLOT

static const struct {
	uint32_t offset;
	uint32_t size;
	uint64_t value;
	uint32_t reason;
	uint32_t slot;
	const char *field;
} rules[] = {
	{ AT(slots), 0x183, UMA_FAULT_NONE, 0, "" },
	{ AT(slots), 0x83, UMA_FAULT_SLOT, 8, "slots" },
	{ AT(slots), 0x103, UMA_FAULT_SLOT, 7, "slots" },
	{ AT(slots), 0x182, UMA_FAULT_SLOT, 0, "slots" },
	{ AT(slots), 0x181, UMA_FAULT_SLOT, 1, "slots" },
	{ AT(slots), 0x187, UMA_FAULT_SLOT, 2, "slots" },
	{ PAR(0), 0, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ PAR(0), 8, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ PAR(0), 0x80000004, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ PAR(0), 2, UMA_FAULT_DIMS, 7, "dims" },
	{ PAR(1), 0, UMA_FAULT_SLOT, 8, "slots" },
	{ PAR(1), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ PAR(2), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ PAR(63), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ AT(epilogue.act), UMA_ACT_RELU, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ OP(0, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 0, "dtype" },
	{ OP(0, dtype), UMA_DTYPE_S4, UMA_FAULT_DTYPE, 0, "dtype" },
	{ OP(1, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 1, "dtype" },
	{ OP(7, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 7, "dtype" },
	{ OP(8, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 8, "dtype" },
	{ OP(1, dims[0]), 3, UMA_FAULT_DIMS, 1, "dims" },
	{ OP(7, dims[1]), 5, UMA_FAULT_DIMS, 7, "dims" },
	{ OP(8, dims[2]), 2, UMA_FAULT_DIMS, 8, "dims" },
	{ OP(7, rank), 2, UMA_FAULT_PAD, 7, "dims" },
	{ OP(7, rank), 0, UMA_FAULT_RANK, 7, "rank" },
	{ OP(0, strides[2]), 0, UMA_FAULT_STRIDES, 0, "strides" },
	{ OP(7, strides[1]), 0, UMA_FAULT_STRIDES, 7, "strides" },
	{ OP(8, strides[0]), 5, UMA_FAULT_STRIDES, 8, "strides" },
	{ OP(8, addr), MT_BASE + 2, UMA_FAULT_ALIGN, 8, "addr" },
	{ OP(7, addr), 1ULL << 48, UMA_FAULT_RANGE, 7, "addr" },
};

static void test_rules(void)
{
	const uint32_t dims[] = { 4, 6, 10 };
	struct mt_variant v = { uma_kernels_portable(), UMA_STEP_WORK_UNBOUND, 0 };
	struct uma_fault_info f;
	static struct mt_task t;
	struct uma_task m;
	uint32_t i;
	int r;

	make(&t, 1, F32, S8, 3, dims, 4, UMA_DYNQUANT_ASYMMETRIC, MT_PLAIN);
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		m = t.task;
		memcpy((uint8_t *)&m + rules[i].offset, &rules[i].value, rules[i].size);
		memcpy(result, image, MT_SIZE);
		f = (struct uma_fault_info){ 0 };
		r = mt_run(&m, mt_engine("full", UMA_ENGINE_GPU), &v, result, &f);
		if (rules[i].reason == UMA_FAULT_NONE)
			tap_ok(!r, "the task itself is right");
		else
			tap_ok(r && f.reason == rules[i].reason && f.slot == rules[i].slot &&
			       !strcmp(f.field, rules[i].field) &&
			       !memcmp(result, image, MT_SIZE),
			       "byte %u becomes %llx: %s %u %s (%s %u %s)", rules[i].offset,
			       (unsigned long long)rules[i].value,
			       uma_fault_name(rules[i].reason), rules[i].slot,
			       rules[i].field, uma_fault_name(f.reason), f.slot,
			       f.field ? f.field : "");
	}
	/* Results over each other, and over the input */
	m = t.task;
	m.op[8].addr = m.op[7].addr + 4;
	tap_ok(mt_run(&m, mt_engine("full", UMA_ENGINE_GPU), &v, image, &f) &&
	       f.reason == UMA_FAULT_OVERLAP, "scales over zero points");
	m = t.task;
	m.op[7].addr = m.op[1].addr;
	tap_ok(mt_run(&m, mt_engine("full", UMA_ENGINE_GPU), &v, image, &f) &&
	       f.reason == UMA_FAULT_OVERLAP, "scales over the input");
	m = t.task;
	m.op[0].addr = m.op[1].addr;
	tap_ok(mt_run(&m, mt_engine("full", UMA_ENGINE_GPU), &v, image, &f) &&
	       f.reason == UMA_FAULT_OVERLAP, "the result over the input");
	/* A line of nothing */
	m = t.task;
	m.op[0].dims[2] = m.op[1].dims[2] = 0;
	tap_ok(mt_run(&m, mt_engine("full", UMA_ENGINE_GPU), &v, image, &f) &&
	       f.reason == UMA_FAULT_DIMS && f.slot == 1, "a line without elements: dims 1");
}

int main(void)
{
	static const struct {
		uint32_t dims[3], axes;
	} shapes[] = {
		{ { 1, 1, 1 }, 4 }, { { 3, 5, 7 }, 4 }, { { 3, 5, 7 }, 7 }, { { 3, 5, 7 }, 2 },
		{ { 3, 5, 7 }, 5 }, { { 2, 3, 1500 }, 4 }, { { 2, 40, 70 }, 6 },
		{ { 1100, 2, 3 }, 1 }, { { 0, 3, 4 }, 4 },
	};
	uint32_t i;
	int a;

	for (a = F32; a <= BF16; a++)
		for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
			one_shape(a, i & 1 ? U8 : S8, 3, shapes[i].dims, shapes[i].axes);
	test_rules();
	return tap_done();
}
