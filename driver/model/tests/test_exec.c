// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Every opcode with every combination of types, over edge shapes, strides,
 * quantisation and epilogues, against the reference; and the same task with
 * other kernels, step sizes and pages, against the first result bit for bit.
 *
 * Cases are drawn from a seed: "test_exec CASE" repeats one, "test_exec 0 F" tries F times as
 * many, "test_exec 0 1 N" one of N.
 */
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], first[MT_SIZE], result[MT_SIZE];

static const char *const type_name[] = {
	"none", "f32", "f16", "bf16", "s32", "s8", "u8", "s4", "u4",
	"q8_0", "q4_0", "q4_1", "q4_k", "q6_k",
};

/* --- one case ------------------------------------------------------------- */

static void describe(const struct uma_task *t, int slot)
{
	const struct uma_operand *o = &t->op[slot];
	int i;

	if (!(t->slots >> slot & 1))
		return;
	printf("#   slot %d: %s @%llx", slot, type_name[o->dtype],
	       (unsigned long long)o->addr);
	for (i = 0; i < o->rank; i++)
		printf(" %u*%lld", o->dims[i], (long long)o->strides[i]);
	printf(" quant %u axis %u group %u flags %x scale %g zero %d tables %llx %llx\n", o->quant,
	       o->quant_axis, o->quant_group, o->quant_flags,
	       (double)mt_float(o->scale), (int)o->zero,
	       (unsigned long long)o->scale_addr, (unsigned long long)o->zero_addr);
}

static int run_case(const struct mt_task *t, uint32_t number, uint64_t seed)
{
	static const uint32_t steps[] = {
		UMA_STEP_WORK_UNBOUND, 1, 3000, UMA_STEP_WORK_KERNEL, 1u << 21,
	};
	static const uint32_t pages[] = { 0, 64, 4096 };
	const struct uma_engine_desc *engine = mt_engine("full", (uint32_t)(seed % 3));
	const struct uma_kernels *const *k;
	const uint32_t size = mt_size(t);
	struct uma_fault_info fault;
	struct mt_rng rng = { .s = seed };
	char why[200];
	int i, bad = 0;

	for (k = mt_kernels(); *k && !bad; k++) {
		struct mt_variant v = {
			.kernels = *k, .step_work = UMA_STEP_WORK_UNBOUND, .size = size,
		};

		memcpy(first, image, size);
		if (mt_run(&t->task, engine, &v, first, &fault)) {
			printf("# fault %s slot %u field %s\n", uma_fault_name(fault.reason),
			       fault.slot, fault.field);
			bad = 1;
			break;
		}
		if (ref_check(&t->task, image, first, size, why, sizeof(why))) {
			printf("# %s: %s\n", (*k)->name, why);
			bad = 1;
			break;
		}
		for (i = 0; i < 2; i++) {
			v.step_work = steps[mt_below(&rng, 5)];
			v.page = pages[mt_below(&rng, 3)];
			memcpy(result, image, size);
			if (mt_run(&t->task, engine, &v, result, &fault) ||
			    memcmp(first, result, size)) {
				printf("# %s: other bits with steps of %u and pages of %u\n",
				       (*k)->name, v.step_work, v.page);
				bad = 1;
			}
		}
	}
	if (bad) {
		printf("# reproduce: test_exec %u (opcode %u epilogue %x act %u)\n", number,
		       t->task.opcode, t->task.epilogue.flags, t->task.epilogue.act);
		for (i = 0; i <= UMA_SLOT_RESIDUAL; i++)
			describe(&t->task, i);
	}
	return bad;
}

static uint32_t only, counter;
static uint64_t factor = 1, every = 1;

/* By its bits: tables are as regular as numbers. */
static int left_out(uint64_t number)
{
	return (number * 0x9e3779b97f4a7c15ull >> 40) % every;
}

static int one(int opcode, const struct gen_types *c, uint32_t func)
{
	static struct mt_task t;
	uint64_t seed = 0x5eed0000ULL + ++counter;

	if (only ? counter != only : left_out(counter))
		return 0;
	memset(image, 0x5a, sizeof(image));
	mt_task_init(&t, image, seed * 7919, opcode);
	if (opcode == UMA_OP_GEMM)
		gen_gemm(&t, c);
	else
		gen_elementwise(&t, c, func);
	return run_case(&t, counter, seed);
}

static void gemms(int a, int b, int d)
{
	struct gen_types c = { a, b, d };
	int i, bad = 0;

	for (i = 0; i < (int)(8 * factor); i++)
		bad += one(UMA_OP_GEMM, &c, 0);
	tap_ok(!bad, "GEMM %s x %s -> %s", type_name[a], type_name[b], type_name[d]);
}

static void copies(int opcode, const char *name, uint32_t functions)
{
	int a, d, bad;
	uint32_t f;

	for (a = F32; a <= (opcode == UMA_OP_COPY ? Q6_K : U4); a++) {
		for (d = F32, bad = 0; d <= U4; d++) {
			struct gen_types c = { a, a, d };

			for (f = 0; f < functions * factor; f++) {
				/* The other type of a binary operation varies. */
				if (opcode != UMA_OP_UNARY && f & 1)
					c.b = F32 + (int)((f + (uint32_t)d) % 8);
				bad += one(opcode, &c, f % functions);
			}
		}
		tap_ok(!bad, "%s of %s into every type", name, type_name[a]);
	}
}

int main(int argc, char **argv)
{
	static const int floats[] = { F32, F16, BF16 };
	static const int outs[] = { F32, F16, BF16, S8, U8, S32 };
	int i, j, o;

	only = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	factor = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	every = argc > 3 ? strtoul(argv[3], NULL, 0) : 1;
	for (o = 0; o < 6; o++) {
		for (i = 0; i < 3 && o < 5; i++) {
			gemms(floats[i], floats[i], outs[o]);
			/* binary32 meets all of them as they lie. */
			if (i)
				gemms(F32, floats[i], outs[o]);
			for (j = S8; j <= Q6_K; j++)
				gemms(floats[i], j, outs[o]);
		}
		for (i = S8; i <= U8; i++)
			for (j = S8; j <= (o < 5 ? Q6_K : U4); j++)
				gemms(i, j, outs[o]);
	}
	copies(UMA_OP_COPY, "COPY", 2);
	copies(UMA_OP_FILL, "FILL", 1);
	copies(UMA_OP_UNARY, "UNARY", UMA_UNARY_COUNT);
	copies(UMA_OP_BINARY, "BINARY", UMA_BINARY_COUNT);
	copies(UMA_OP_SELECT, "SELECT", 6);
	return tap_done();
}
