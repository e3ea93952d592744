// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hostile descriptors of operations along dimensions: fields with values that
 * they must not have, and what is reported; every bit flipped, and run.
 */
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], work[MT_SIZE];

enum base {
	NORM, SOFTMAX, REDUCE, TOPK, SCAN, BASES
};

static const char *const base_name[BASES] = { "norm", "softmax", "reduce", "top-k", "scan" };

static struct mt_task bases[BASES];

static void set(struct mt_task *t, int word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

/* Along dimension 1 of three. */
static void make_lines(void)
{
	static const int opcodes[BASES] = {
		UMA_OP_NORM, UMA_OP_SOFTMAX, UMA_OP_REDUCE, UMA_OP_TOPK, UMA_OP_SCAN
	};
	const uint32_t dims[] = { 3, 20, 4 }, sums[] = { 3, 1, 4 }, k[] = { 3, 5, 4 };
	int i;

	for (i = NORM; i <= SCAN; i++) {
		mt_task_init(&bases[i], image, (uint64_t)i + 1, opcodes[i]);
		/* Separate memory for each. */
		bases[i].used = (uint32_t)i * 65536;
		mt_operand(&bases[i], UMA_SLOT_DST, i == REDUCE ? S32 : F32, 3,
			   i == REDUCE ? sums : i == TOPK ? k : dims, MT_PLAIN);
		mt_operand(&bases[i], UMA_SLOT_A, F32, 3, dims, MT_PLAIN);
		set(&bases[i], 1, i == NORM || i == REDUCE ? 2 : 1);
	}
	set(&bases[NORM], 0, UMA_NORM_GIVEN);
	set(&bases[NORM], 2, mt_bits(0.001f));
	bases[NORM].task.epilogue.flags = UMA_EPI_BIAS | UMA_EPI_SCALE;
	mt_operand(&bases[NORM], UMA_SLOT_AUX0, F32, 3, dims, MT_PLAIN);
	mt_operand(&bases[NORM], UMA_SLOT_AUX1, F32, 3, dims, MT_PLAIN);
	mt_operand(&bases[NORM], UMA_SLOT_BIAS, F32, 3, dims, MT_PLAIN);
	mt_operand(&bases[NORM], UMA_SLOT_SCALE, F32, 3, dims, MT_PLAIN);
	set(&bases[REDUCE], 0, UMA_REDUCE_ARG_MAX);
	mt_operand(&bases[TOPK], UMA_SLOT_AUX0, S32, 3, k, MT_PLAIN);
}

/* --- one field at a time -------------------------------------------------- */

struct mutation {
	enum base base;
	uint32_t offset;
	uint32_t size;
	uint64_t value;
	uint32_t reason;
	uint32_t slot;
	const char *field;
};

#define NONE		UMA_FAULT_NO_SLOT
#define AT(member)	offsetof(struct uma_task, member), \
			sizeof(((struct uma_task *)0)->member)
#define OP(s, member)	AT(op[s].member)
#define PAR(word)	offsetof(struct uma_task, params) + 4 * (word), 4
#define EPI(member)	AT(epilogue.member)

static const struct mutation mutations[] = {
	{ NORM, PAR(0), UMA_NORM_COUNT, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ NORM, PAR(0), UMA_NORM_RMS, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ NORM, PAR(1), 0, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ NORM, PAR(1), 8, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ NORM, PAR(1), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ NORM, PAR(2), 0x7f800000, UMA_FAULT_PARAMS, NONE, "params.eps" },
	{ NORM, PAR(2), 0x7fc00000, UMA_FAULT_PARAMS, NONE, "params.eps" },
	{ NORM, PAR(2), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.eps" },
	{ NORM, PAR(3), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ NORM, OP(1, dims[2]), 3, UMA_FAULT_DIMS, 1, "dims" },
	{ NORM, OP(4, dims[0]), 2, UMA_FAULT_DIMS, 4, "dims" },
	{ NORM, OP(7, dims[1]), 19, UMA_FAULT_DIMS, 7, "dims" },
	{ NORM, OP(8, dims[1]), 19, UMA_FAULT_DIMS, 8, "dims" },
	{ NORM, OP(8, rank), 0, UMA_FAULT_RANK, 8, "rank" },
	{ SOFTMAX, PAR(0), UMA_SOFTMAX_COUNT, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ SOFTMAX, PAR(1), 3, UMA_FAULT_PARAMS, NONE, "params.axis" },
	{ SOFTMAX, PAR(1), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.axis" },
	{ SOFTMAX, PAR(2), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ SOFTMAX, EPI(act), UMA_ACT_RELU, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ SOFTMAX, EPI(flags), 1, UMA_FAULT_EPILOGUE, NONE, "epilogue.flags" },
	{ SOFTMAX, OP(0, dtype), U4, UMA_FAULT_DTYPE, 0, "dtype" },
	{ SOFTMAX, OP(1, dims[1]), 19, UMA_FAULT_DIMS, 1, "dims" },
	{ REDUCE, PAR(0), UMA_REDUCE_COUNT, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ REDUCE, PAR(1), 0, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ REDUCE, PAR(1), 8, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ REDUCE, PAR(1), 6, UMA_FAULT_DIMS, 0, "dims" },
	{ REDUCE, PAR(2), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ REDUCE, PAR(3), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ REDUCE, OP(0, dtype), F32, UMA_FAULT_DTYPE, 0, "dtype" },
	{ REDUCE, OP(0, dims[1]), 2, UMA_FAULT_DIMS, 0, "dims" },
	{ REDUCE, OP(0, dims[1]), 0, UMA_FAULT_DIMS, 0, "dims" },
	{ REDUCE, OP(0, dims[2]), 3, UMA_FAULT_DIMS, 0, "dims" },
	{ REDUCE, OP(1, dims[1]), 0, UMA_FAULT_DIMS, 1, "dims" },
	{ TOPK, PAR(0), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ TOPK, PAR(1), 3, UMA_FAULT_PARAMS, NONE, "params.axis" },
	{ TOPK, PAR(2), 5, UMA_FAULT_PAD, NONE, "params.pad" },
	{ TOPK, AT(slots), 3, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ TOPK, OP(1, dims[1]), 4, UMA_FAULT_DIMS, 0, "dims" },
	{ TOPK, OP(1, dims[2]), 3, UMA_FAULT_DIMS, 0, "dims" },
	{ TOPK, OP(7, dims[1]), 4, UMA_FAULT_DIMS, 7, "dims" },
	{ TOPK, OP(7, dtype), F32, UMA_FAULT_DTYPE, 7, "dtype" },
	{ TOPK, OP(7, strides[2]), 0, UMA_FAULT_STRIDES, 7, "strides" },
	{ SCAN, PAR(0), 4, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ SCAN, PAR(1), 5, UMA_FAULT_PARAMS, NONE, "params.axis" },
	{ SCAN, PAR(2), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ SCAN, OP(0, dtype), S4, UMA_FAULT_DTYPE, 0, "dtype" },
	{ SCAN, OP(1, dims[1]), 21, UMA_FAULT_DIMS, 1, "dims" },
};

static int try_mutation(const struct mutation *m)
{
	struct uma_task task = bases[m->base].task;
	struct uma_fault_info f = { 0 };
	static struct uma_op op;

	memcpy((uint8_t *)&task + m->offset, &m->value, m->size);
	if (!uma_task_decode(&task, &op, &f)) {
		printf("# accepted\n");
		return 0;
	}
	if (f.reason == m->reason && f.slot == m->slot && !strcmp(f.field, m->field))
		return 1;
	printf("# fault %s slot %u field %s\n", uma_fault_name(f.reason), f.slot, f.field);
	return 0;
}

/* --- what needs more than one field --------------------------------------- */

static void expect(const char *what, const struct uma_task *t, uint32_t reason,
		   uint32_t slot, const char *field)
{
	static struct uma_op op;
	struct uma_fault_info f = { .field = "" };
	int r = uma_task_decode(t, &op, &f);

	if (!r)
		r = uma_op_check(&op, mt_engine("full", UMA_ENGINE_MATRIX), &f) < 0 ? -1 : 0;
	tap_ok(r == (reason ? -1 : 0) && f.reason == reason &&
	       (!reason || (f.slot == slot && !strcmp(f.field, field))), "%s: %s", what,
	       uma_fault_name(f.reason));
}

static void test_together(void)
{
	struct uma_task t = bases[TOPK].task;

	t.op[7].addr = t.op[0].addr;
	expect("indices where the values are", &t, UMA_FAULT_OVERLAP, 7, "addr");
	t = bases[TOPK].task;
	t.op[7].addr = t.op[1].addr;
	expect("indices where A is", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t = bases[SOFTMAX].task;
	t.op[0].addr = t.op[1].addr;
	expect("softmax in place", &t, UMA_FAULT_NONE, 0, "");
	t.op[0].addr += 4;
	expect("softmax one element beside", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t = bases[REDUCE].task;
	t.op[0].addr = t.op[1].addr;
	expect("a reduction in place", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t = bases[SOFTMAX].task;
	t.op[1].dims[1] = 1 << 25;
	t.op[0].dims[1] = 1 << 25;
	t.op[1].strides[0] = 1ull << 30;
	t.op[0].strides[0] = 1ull << 30;
	t.op[0].addr += 1ull << 40;
	expect("a dimension that is too long", &t, UMA_FAULT_UNSUPPORTED, 0, "dims");
	/* 2^12 x 2^13 elements of one: each dimension is within bounds, the line is not. */
	t = bases[REDUCE].task;
	memset(t.params, 0, 12);
	t.params[4] = 6;
	t.op[0].dtype = F32;
	t.op[0].dims[2] = 1;
	t.op[1].dims[1] = 1 << 12;
	t.op[1].dims[2] = 1 << 13;
	memset(t.op[1].strides, 0, sizeof(t.op[1].strides));
	expect("a line that is too long", &t, UMA_FAULT_UNSUPPORTED, 1, "dims");
}

/* --- every bit ------------------------------------------------------------ */

/* What is still valid runs, unless it is a lot; nothing of that must go wrong. */
static void flip(enum base base)
{
	const struct mt_variant v = { .kernels = mt_kernels()[0], .step_work = 3000, .page = 4096 };
	struct uma_fault_info f = { 0 };
	static struct uma_op op;
	struct uma_task t;
	uint32_t i, ran = 0, bad = 0;

	for (i = 0; i < sizeof(t) * 8; i++) {
		t = bases[base].task;
		((uint8_t *)&t)[i / 8] ^= (uint8_t)(1u << (i % 8));
		f = (struct uma_fault_info){ 0 };
		if (uma_task_decode(&t, &op, &f)) {
			bad += !f.reason || !f.field;
			continue;
		}
		if (op.t[UMA_SLOT_A].dims[0] > 64 || op.t[UMA_SLOT_A].dims[1] > 4096 ||
		    op.t[UMA_SLOT_A].dims[2] > 64)
			continue;
		memcpy(work, image, MT_SIZE);
		if (mt_run(&t, mt_engine("full", UMA_ENGINE_GPU), &v, work, &f))
			bad += !f.reason || !f.field;
		else
			ran++;
	}
	tap_ok(!bad && ran, "%s: every bit flipped, %u run all the same", base_name[base], ran);
}

int main(void)
{
	uint32_t i;

	make_lines();
	for (i = 0; i < BASES; i++)
		expect(base_name[i], &bases[i].task, UMA_FAULT_NONE, 0, "");
	for (i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++)
		tap_ok(try_mutation(&mutations[i]), "%s: byte %u becomes %llx: %s %s",
		       base_name[mutations[i].base], mutations[i].offset,
		       (unsigned long long)mutations[i].value,
		       uma_fault_name(mutations[i].reason), mutations[i].field);
	test_together();
	for (i = 0; i < BASES; i++)
		flip((enum base)i);
	return tap_done();
}
