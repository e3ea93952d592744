// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Operations along dimensions: one task with every set of kernels, in steps of
 * any size, through pages of any size, gives the same bits; and some results
 * that are known to the last one. That they are right is held against an oracle
 * by the library's tests.
 *
 * Cases are drawn from a seed: "test_lines CASE" repeats one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], first[MT_SIZE], result[MT_SIZE];
static uint32_t only, counter;

static const struct {
	uint32_t opcode;
	const char *name;
} operations[] = {
	{ UMA_OP_NORM, "NORM" }, { UMA_OP_SOFTMAX, "SOFTMAX" }, { UMA_OP_REDUCE, "REDUCE" },
	{ UMA_OP_TOPK, "TOPK" }, { UMA_OP_SCAN, "SCAN" },
};

static int run_case(const struct mt_task *t, struct mt_rng *rng)
{
	static const uint32_t steps[] = {
		UMA_STEP_WORK_UNBOUND, 1, 3000, UMA_STEP_WORK_KERNEL, 1u << 21,
	};
	static const uint32_t pages[] = { 0, 64, 4096 };
	const struct uma_engine_desc *engine = mt_engine("full", mt_below(rng, 3));
	const struct uma_kernels *const *k;
	struct uma_fault_info fault = { 0 };
	struct mt_variant v;
	int i, started = 0;

	for (k = mt_kernels(); *k; k++)
		for (i = 0; i < 4; i++) {
			v = (struct mt_variant){
				.kernels = *k,
				.step_work = i ? steps[mt_below(rng, 5)] : steps[0],
				.page = i ? pages[mt_below(rng, 3)] : 0,
				.size = mt_size(t),
			};
			memcpy(result, image, v.size);
			if (mt_run(&t->task, engine, &v, result, &fault)) {
				printf("# fault %s slot %u field %s\n",
				       uma_fault_name(fault.reason), fault.slot, fault.field);
				return 1;
			}
			if (!started++)
				memcpy(first, result, v.size);
			if (!memcmp(first, result, v.size))
				continue;
			printf("# other bits with %s, steps of %u and pages of %u\n",
			       (*k)->name, v.step_work, v.page);
			return 1;
		}
	return 0;
}

static int one(uint32_t opcode, const struct gen_types *c)
{
	static struct mt_task t;
	struct mt_rng rng;

	if (++counter != only && only)
		return 0;
	rng.s = 0x5eed0000ULL + counter;
	memset(image, 0x5a, sizeof(image));
	mt_task_init(&t, image, rng.s * 104729, (int)opcode);
	gen_lines(&t, c);
	if (!run_case(&t, &rng))
		return 0;
	printf("# reproduce: test_lines %u\n", counter);
	return 1;
}

static void test_bits(void)
{
	int a, d, bad;
	uint32_t i;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		for (a = F32; a <= U4; a++) {
			for (d = F32, bad = 0; d <= U8; d++) {
				struct gen_types c = { a, a, d };

				bad += one(operations[i].opcode, &c);
				bad += one(operations[i].opcode, &c);
			}
			tap_ok(!bad, "%s of type %d: the same bits in any way",
			       operations[i].name, a);
		}
}

/* --- results that are known ----------------------------------------------- */

static void put(const struct mt_task *t, int slot, const float *x, uint32_t n)
{
	memcpy(t->image + (t->task.op[slot].addr - MT_BASE), x, 4ul * n);
}

static const void *get(const struct mt_task *t, int slot)
{
	return result + (t->task.op[slot].addr - MT_BASE);
}

static void begin(struct mt_task *t, uint32_t opcode, int rank, const uint32_t *dims,
		  const uint32_t *out, int type)
{
	mt_task_init(t, image, opcode, (int)opcode);
	mt_operand(t, UMA_SLOT_A, F32, rank, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_DST, type, rank, out, MT_PLAIN);
}

static void set(struct mt_task *t, int word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

static int go(const struct mt_task *t)
{
	struct mt_variant v = { .kernels = mt_kernels()[0], .step_work = 1 };
	struct uma_fault_info fault = { 0 };

	memcpy(result, image, MT_SIZE);
	return mt_run(&t->task, mt_engine("full", UMA_ENGINE_GPU), &v, result, &fault);
}

static void test_softmax(void)
{
	const float x[] = { -INFINITY, -INFINITY, 3e38f, -3e38f, INFINITY, 0 };
	const uint32_t dims[] = { 3, 2 };
	static struct mt_task t;
	const float *y;

	begin(&t, UMA_OP_SOFTMAX, 2, dims, dims, F32);
	put(&t, UMA_SLOT_A, x, 6);
	set(&t, 1, 1);
	y = get(&t, UMA_SLOT_DST);
	tap_ok(!go(&t) && y[0] == 0 && y[1] == 0, "softmax of -infinity alone is zeros");
	tap_ok(y[2] == 1 && y[3] == 0, "softmax of the largest numbers");
	tap_ok(isnan(y[4]) && isnan(y[5]), "softmax of +infinity is NaN");
	set(&t, 0, UMA_SOFTMAX_LOG);
	tap_ok(!go(&t) && y[0] == -INFINITY && y[1] == -INFINITY && y[2] == 0 &&
	       y[3] == -INFINITY, "their logarithms");
}

/* 2^24 and 2^24 - 1 ones: a sum in binary32 would stop at 2^24. */
static void test_sums(void)
{
	const uint32_t dims[] = { 1 << 24 }, out[] = { 1 };
	const float ones[] = { 1, 0x1p24f, 1, -0x1p24f };
	static struct mt_task t;
	const uint32_t four[] = { 4 };
	const float *y;

	begin(&t, UMA_OP_REDUCE, 1, four, out, F32);
	put(&t, UMA_SLOT_A, ones, 4);
	set(&t, 1, 1);
	y = get(&t, UMA_SLOT_DST);
	tap_ok(!go(&t) && *y == 2, "a sum loses nothing to a number that goes again");
	t.task.op[UMA_SLOT_A].dims[0] = dims[0];
	t.task.op[UMA_SLOT_A].strides[0] = 0;
	tap_ok(!go(&t) && *y == 0x1p24f, "2^24 ones are 2^24");
	set(&t, 0, UMA_REDUCE_MEAN);
	tap_ok(!go(&t) && *y == 1, "their mean is 1");
}

static void test_order(void)
{
	const float x[] = { 0.0f, NAN, -0.0f, 5, 5, -NAN };
	const uint32_t dims[] = { 6 }, one_[] = { 1 }, k[] = { 6 };
	static const int32_t largest[] = { 1, 5, 3, 4, 0, 2 }, smallest[] = { 0, 2, 3, 4, 1, 5 };
	static struct mt_task t;
	const int32_t *at;

	begin(&t, UMA_OP_REDUCE, 1, dims, one_, S32);
	put(&t, UMA_SLOT_A, x, 6);
	set(&t, 0, UMA_REDUCE_ARG_MAX);
	set(&t, 1, 1);
	at = get(&t, UMA_SLOT_DST);
	tap_ok(!go(&t) && *at == 1, "arg-max: the first NaN");
	set(&t, 2, UMA_REDUCE_LAST_INDEX);
	tap_ok(!go(&t) && *at == 5, "arg-max: the last NaN");
	set(&t, 0, UMA_REDUCE_ARG_MIN);
	set(&t, 2, 0);
	tap_ok(!go(&t) && *at == 1, "arg-min: the first NaN");

	begin(&t, UMA_OP_TOPK, 1, dims, k, F32);
	mt_operand(&t, UMA_SLOT_AUX0, S32, 1, k, MT_PLAIN);
	put(&t, UMA_SLOT_A, x, 6);
	at = get(&t, UMA_SLOT_AUX0);
	tap_ok(!go(&t) && !memcmp(at, largest, sizeof(largest)), "top-k: largest first");
	set(&t, 0, UMA_TOPK_SMALLEST);
	tap_ok(!go(&t) && !memcmp(at, smallest, sizeof(smallest)), "top-k: smallest first");
}

int main(int argc, char **argv)
{
	only = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	test_bits();
	if (!only) {
		test_softmax();
		test_sums();
		test_order();
	}
	return tap_done();
}
