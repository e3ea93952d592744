// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Convolutions: the same bits whatever the step, the page and, for integers, the
 * way the sums are formed; that they are the right ones is for libaccel's
 * oracle to say. "test_conv CASE" repeats one.
 */
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], first[MT_SIZE], result[MT_SIZE];
static uint32_t only, counter;
static uint64_t factor = 1;

static int same(const struct mt_task *t, const struct uma_engine_desc *engine,
		const struct mt_variant *v, const char *what)
{
	struct uma_fault_info fault;

	memcpy(result, image, v->size);
	if (mt_run(&t->task, engine, v, result, &fault)) {
		printf("# %s: fault %s slot %u field %s\n", v->kernels->name,
		       uma_fault_name(fault.reason), fault.slot, fault.field);
		return -1;
	}
	if (!memcmp(first, result, v->size))
		return 0;
	printf("# %s: other bits with %s: steps of %u, pages of %u\n", v->kernels->name,
	       what, v->step_work, v->page);
	return -1;
}

static int run_case(struct mt_task *t, uint64_t seed)
{
	static const uint32_t steps[] = { 1, 3000, UMA_STEP_WORK_KERNEL, 1u << 21 };
	static const uint32_t pages[] = { 0, 64, 4096 };
	const struct uma_engine_desc *engine = mt_engine("full", (uint32_t)(seed % 3));
	int integer = t->task.op[UMA_SLOT_A].dtype >= S8, i;
	const struct uma_kernels *const *k;
	struct mt_rng rng = { .s = seed };
	struct uma_fault_info fault;

	for (k = mt_kernels(); *k; k++) {
		struct mt_variant v = {
			.kernels = *k, .step_work = UMA_STEP_WORK_UNBOUND, .size = mt_size(t),
		};

		memcpy(first, image, v.size);
		if (mt_run(&t->task, engine, &v, first, &fault)) {
			printf("# fault %s slot %u field %s\n", uma_fault_name(fault.reason),
			       fault.slot, fault.field);
			return -1;
		}
		for (i = 0; i < 3; i++) {
			v.step_work = steps[mt_below(&rng, 4)];
			v.page = pages[mt_below(&rng, 3)];
			if (same(t, engine, &v, "steps"))
				return -1;
		}
		if (!integer)
			continue;
		t->task.params[0] ^= UMA_CONV_DIRECT ^ UMA_CONV_IMPLICIT;
		if (same(t, engine, &v, "the other function"))
			return -1;
		t->task.params[0] ^= UMA_CONV_DIRECT ^ UMA_CONV_IMPLICIT;
	}
	return 0;
}

static void convs(int a, int b, int d)
{
	static const char *const name[] = {
		"none", "f32", "f16", "bf16", "s32", "s8", "u8", "s4", "u4",
	};
	struct gen_types c = { a, b, d };
	static struct mt_task t;
	int i, bad = 0;

	for (i = 0; i < (int)(20 * factor); i++) {
		uint64_t seed = 0xc0de0000ULL + ++counter;

		if (only && counter != only)
			continue;
		memset(image, 0x5a, sizeof(image));
		mt_task_init(&t, image, seed * 7919, UMA_OP_CONV);
		gen_conv(&t, &c);
		if (run_case(&t, seed)) {
			printf("# reproduce: test_conv %u\n", counter);
			bad++;
		}
	}
	tap_ok(!bad, "CONV %s x %s -> %s", name[a], name[b], name[d]);
}

int main(int argc, char **argv)
{
	int i, j;

	only = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	factor = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	for (i = F32; i <= BF16; i++) {
		convs(i, i, F32);
		convs(i, i, S8);
		for (j = S8; j <= U4; j++)
			convs(i, j, i);
	}
	for (i = S8; i <= U8; i++)
		for (j = S8; j <= U8; j++) {
			convs(i, j, S32);
			convs(i, j, i);
			convs(i, j, F32);
		}
	return tap_done();
}
