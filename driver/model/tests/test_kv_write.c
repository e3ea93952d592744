// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * KV_WRITE: the same bits with any kernels, steps and pages, against the definition
 * element by element; slots that are nowhere; and each rule that a task can break.
 */
#include <math.h>
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], first[MT_SIZE], result[MT_SIZE];

/* --- the definition ---------------------------------------------------------- */

static int32_t slot_of(const struct uma_task *t, uint32_t row)
{
	return (int32_t)ref_load(image, &t->op[UMA_SLOT_AUX2], &row);
}

/* The last row that has a slot, -1: none. */
static int owner(const struct uma_task *t, int32_t slot)
{
	int row;

	for (row = (int)t->op[UMA_SLOT_A].dims[0] - 1; row >= 0; row--)
		if (slot_of(t, (uint32_t)row) == slot)
			return row;
	return -1;
}

/* To the nearest of the type, ties to even. */
static double rounded(double v, int dtype)
{
	float f = (float)v;
	uint32_t bits;
	double step;

	if (dtype == F16 && f != 0 && isfinite(f)) {
		if (fabsf(f) >= 65520)
			return copysign(INFINITY, v);
		step = ldexp(1, (ilogbf(f) > -14 ? ilogbf(f) : -14) - 10);
		return copysign(nearbyint((double)f / step) * step, v);
	}
	if (dtype != BF16 || isnan(f))
		return (double)f;
	memcpy(&bits, &f, 4);
	bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
	memcpy(&f, &bits, 4);
	return (double)f;
}

static int same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static int element_kept(const struct uma_operand *o, const uint32_t *at)
{
	return same(ref_load(first, o, at), ref_load(image, o, at));
}

/* Scale, zero point and bytes of a head of a row. */
static int bytes_fit(const struct uma_task *t, uint32_t *from, uint32_t *at, int asym)
{
	const struct uma_operand *a = &t->op[UMA_SLOT_A], *d = &t->op[UMA_SLOT_DST];
	const struct uma_operand *scales = &t->op[UMA_SLOT_AUX0];
	double lo = d->dtype == S8 ? -128 : 0, max = 0, min = 0, zero = lo + 128, q, v;
	uint32_t n = a->dims[2], i;
	int nan = 0;
	float scale;

	for (i = 0; i < n; i++) {
		from[2] = i;
		v = ref_load(image, a, from);
		nan |= isnan(v);
		max = fmax(max, v);
		min = fmin(min, v);
	}
	scale = asym ? (float)((float)(max - min) / 255.0) : (float)(fmax(max, -min) / 127.0);
	scale = (float)rounded((double)scale, scales->dtype);
	scale = nan ? NAN : scale == 0 ? 1 : scale;
	at[3] = 0;
	if (asym) {
		q = nearbyint((float)(-min / scale));
		zero = fmin(fmax((isnan(q) ? 0 : q) + lo, lo), lo + 255);
		if (ref_load(first, &t->op[UMA_SLOT_AUX1], at) != zero)
			return 0;
	}
	if (!same(ref_load(first, scales, at), (double)scale))
		return 0;
	for (i = 0; i < n; i++) {
		from[2] = at[3] = i;
		q = nearbyint((float)(ref_load(image, a, from) / scale));
		q = fmin(fmax((isnan(q) ? 0 : q) + zero, lo), lo + 255);
		if (ref_load(first, d, at) != q)
			return 0;
	}
	return 1;
}

static int place_fits(const struct uma_task *t, uint32_t flags, int row, uint32_t *at)
{
	const struct uma_operand *a = &t->op[UMA_SLOT_A], *d = &t->op[UMA_SLOT_DST];
	uint32_t from[UMA_MAX_RANK] = { (uint32_t)row, at[2] }, i;
	int ok = 1;

	if (row >= 0 && flags)
		return bytes_fit(t, from, at, flags & UMA_KV_WRITE_ASYMMETRIC);
	for (i = 0; i < a->dims[2]; i++) {
		from[2] = at[3] = i;
		ok &= row < 0 ? element_kept(d, at) :
			same(ref_load(first, d, at), rounded(ref_load(image, a, from), d->dtype));
	}
	at[3] = 0;
	if (flags)
		ok &= element_kept(&t->op[UMA_SLOT_AUX0], at);
	if (flags & UMA_KV_WRITE_ASYMMETRIC)
		ok &= element_kept(&t->op[UMA_SLOT_AUX1], at);
	return ok;
}

static int fits(const struct uma_task *t, uint32_t flags)
{
	const struct uma_operand *d = &t->op[UMA_SLOT_DST];
	uint32_t at[UMA_MAX_RANK] = { 0 }, slot;

	for (slot = 0; slot < d->dims[0] * d->dims[1]; slot++)
		for (at[2] = 0; at[2] < d->dims[2]; at[2]++) {
			at[0] = slot / d->dims[1];
			at[1] = slot % d->dims[1];
			if (!place_fits(t, flags, owner(t, (int32_t)slot), at))
				return 0;
		}
	return 1;
}

static void test_flags(uint32_t flags)
{
	static const uint32_t steps[] = { UMA_STEP_WORK_UNBOUND, 1, 3000, UMA_STEP_WORK_KERNEL };
	static const uint32_t pages[] = { 0, 64, 4096 };
	const struct uma_kernels *const *k;
	struct uma_fault_info f = { 0 };
	static struct mt_task t;
	int i, bad = 0;

	for (i = 0; i < 120; i++) {
		int reference = 1;

		memset(image, 0x3c, sizeof(image));
		mt_task_init(&t, image, 1000 * flags + (uint64_t)i, UMA_OP_KV_WRITE);
		gen_kv_write(&t, flags);
		if (i % 4 == 3)
			mt_contents(&t, UMA_SLOT_A, 1);
		for (k = mt_kernels(); *k; k++) {
			struct mt_variant v = {
				*k, steps[mt_below(&t.rng, 4)], pages[mt_below(&t.rng, 3)]
			};

			memcpy(result, image, MT_SIZE);
			bad += mt_run(&t.task, mt_engine("full", (uint32_t)i % 3), &v, result,
				      &f) != 0;
			if (reference) {
				memcpy(first, result, MT_SIZE);
				bad += !fits(&t.task, flags);
				reference = 0;
			}
			bad += memcmp(first, result, MT_SIZE) != 0;
		}
	}
	tap_ok(!bad, "flags %u: %d %s", flags, bad, uma_fault_name(f.reason));
}

/* --- slots ----------------------------------------------------------------------- */

/* A cache of 4 pages of 2 places, 3 heads of 10, and 5 rows. */
static void make(struct mt_task *t)
{
	static const uint32_t pool[] = { 4, 2, 3, 10 }, rows[] = { 5, 3, 10 };
	static const uint32_t table[] = { 4, 2, 3, 1 };
	const uint32_t flags = UMA_KV_WRITE_QUANTISED | UMA_KV_WRITE_ASYMMETRIC;
	int32_t slots[5] = { 0, 7, -1, 3, 3 };

	memset(image, 0, sizeof(image));
	mt_task_init(t, image, 1, UMA_OP_KV_WRITE);
	mt_operand(t, UMA_SLOT_DST, S8, 4, pool, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 3, rows, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX0, F16, 4, table, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX1, S32, 4, table, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX2, S32, 1, rows, MT_PLAIN);
	memcpy(image + (t->task.op[UMA_SLOT_AUX2].addr - MT_BASE), slots, sizeof(slots));
	memcpy(t->task.params, &flags, sizeof(flags));
}

static void test_slots(void)
{
	static const int32_t nowhere[] = { 8, -2, INT32_MIN, INT32_MAX };
	struct mt_variant v = { uma_kernels_portable(), UMA_STEP_WORK_UNBOUND, 0 };
	struct uma_fault_info f;
	static struct mt_task t;
	uint64_t addr;
	uint32_t i, row, wrong = 0;

	make(&t);
	addr = t.task.op[UMA_SLOT_AUX2].addr;
	for (i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
		for (row = 0; row < 5; row++) {
			memcpy(result, image, MT_SIZE);
			memcpy(result + (addr - MT_BASE) + 4ul * row, &nowhere[i], 4);
			wrong += !(mt_run(&t.task, mt_engine("full", 1), &v, result, &f) < 0 &&
				   f.reason == UMA_FAULT_RANGE && f.slot == UMA_SLOT_AUX2 &&
				   f.addr == addr + 4ul * row && !strcmp(f.field, "index"));
		}
	tap_ok(!wrong, "slots outside of the cache fault where they are");
	/* No page at all: only what is skipped is right. */
	t.task.op[0].dims[0] = t.task.op[7].dims[0] = t.task.op[8].dims[0] = 0;
	memcpy(result, image, MT_SIZE);
	tap_ok(mt_run(&t.task, mt_engine("full", 1), &v, result, &f) < 0 &&
	       f.reason == UMA_FAULT_RANGE, "a slot of a cache without pages");
	memset(result + (addr - MT_BASE), 0xff, 20);
	memcpy(first, result, MT_SIZE);
	tap_ok(!mt_run(&t.task, mt_engine("full", 1), &v, result, &f) &&
	       !memcmp(first, result, MT_SIZE), "all rows skipped");
}

/* --- rules ----------------------------------------------------------------------- */

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
	{ AT(slots), 0x383, UMA_FAULT_NONE, 0, "" },
	{ AT(slots), 0x183, UMA_FAULT_SLOT, 9, "slots" },
	{ AT(slots), 0x283, UMA_FAULT_SLOT, 8, "slots" },
	{ AT(slots), 0x303, UMA_FAULT_SLOT, 7, "slots" },
	{ AT(slots), 0x382, UMA_FAULT_SLOT, 0, "slots" },
	{ AT(slots), 0x381, UMA_FAULT_SLOT, 1, "slots" },
	{ AT(slots), 0x387, UMA_FAULT_SLOT, 2, "slots" },
	{ PAR(0), 0, UMA_FAULT_SLOT, 7, "slots" },
	{ PAR(0), 1, UMA_FAULT_SLOT, 8, "slots" },
	{ PAR(0), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ PAR(0), 7, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ PAR(1), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ PAR(63), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ AT(epilogue.act), UMA_ACT_RELU, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ OP(0, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 0, "dtype" },
	{ OP(0, dtype), UMA_DTYPE_S4, UMA_FAULT_DTYPE, 0, "dtype" },
	{ OP(1, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 1, "dtype" },
	{ OP(7, dtype), UMA_DTYPE_BF16, UMA_FAULT_DTYPE, 7, "dtype" },
	{ OP(7, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 7, "dtype" },
	{ OP(8, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 8, "dtype" },
	{ OP(9, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 9, "dtype" },
	{ OP(1, dims[0]), 4, UMA_FAULT_DIMS, 9, "dims" },
	{ OP(1, dims[1]), 2, UMA_FAULT_DIMS, 1, "dims" },
	{ OP(1, dims[2]), 9, UMA_FAULT_DIMS, 1, "dims" },
	{ OP(7, dims[0]), 3, UMA_FAULT_DIMS, 7, "dims" },
	{ OP(7, dims[3]), 10, UMA_FAULT_DIMS, 7, "dims" },
	{ OP(8, dims[1]), 1, UMA_FAULT_DIMS, 8, "dims" },
	{ OP(9, dims[0]), 6, UMA_FAULT_DIMS, 9, "dims" },
	{ OP(0, strides[1]), 0, UMA_FAULT_STRIDES, 0, "strides" },
	{ OP(7, strides[2]), 0, UMA_FAULT_STRIDES, 7, "strides" },
	{ OP(8, strides[0]), 0, UMA_FAULT_STRIDES, 8, "strides" },
	{ OP(8, addr), MT_BASE + 2, UMA_FAULT_ALIGN, 8, "addr" },
	{ OP(9, addr), 1ULL << 48, UMA_FAULT_RANGE, 9, "addr" },
};

static void test_rules(void)
{
	struct mt_variant v = { uma_kernels_portable(), UMA_STEP_WORK_UNBOUND, 0 };
	struct uma_fault_info f;
	static struct mt_task t;
	struct uma_task m;
	uint32_t i;
	int r;

	make(&t);
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
	for (i = 7; i < 10; i++) {
		m = t.task;
		m.op[i].addr = m.op[i == 9 ? 0 : 1].addr;
		tap_ok(mt_run(&m, mt_engine("full", UMA_ENGINE_GPU), &v, image, &f) &&
		       f.reason == UMA_FAULT_OVERLAP, "operand %u over another", i);
	}
	/* A head that is longer than attention's. */
	m = t.task;
	m.op[0].dims[3] = m.op[1].dims[2] = UMA_ATTN_DIM_MAX + 1;
	m.op[0].strides[2] = m.op[1].strides[1] = 2000;
	m.op[0].strides[1] = m.op[1].strides[0] = 6000;
	m.op[0].strides[0] = 12000;
	tap_ok(mt_run(&m, mt_engine("full", UMA_ENGINE_GPU), &v, image, &f) &&
	       f.reason == UMA_FAULT_DIMS && f.slot == 1, "a head that is too long");
}

int main(void)
{
	test_flags(0);
	test_flags(UMA_KV_WRITE_QUANTISED);
	test_flags(UMA_KV_WRITE_QUANTISED | UMA_KV_WRITE_ASYMMETRIC);
	test_slots();
	test_rules();
	return tap_done();
}
