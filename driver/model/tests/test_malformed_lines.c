// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hostile descriptors of operations along dimensions: see malformed.h.
 */
#include "malformed.h"

/* Along dimension 1 of three. */
static const uint32_t dims[] = { 3, 20, 4 };

static void norm(struct mt_task *t)
{
	static const int slots[] = {
		UMA_SLOT_DST, UMA_SLOT_A, UMA_SLOT_AUX0, UMA_SLOT_AUX1,
		UMA_SLOT_BIAS, UMA_SLOT_SCALE
	};
	uint32_t i;

	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		mt_operand(t, slots[i], F32, 3, dims, MT_PLAIN);
	mf_set(t, 0, UMA_NORM_GIVEN);
	mf_set(t, 1, 1 << 1);
	mf_set(t, 2, mt_bits(0.001f));
	t->task.epilogue.flags = UMA_EPI_BIAS | UMA_EPI_SCALE;
}

/* With all that there may be beside. */
static void norm_two(struct mt_task *t)
{
	const uint32_t one[] = { 3, 1, 4 };

	mt_operand(t, UMA_SLOT_DST, U8, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_C, F32, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX2, F32, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX3, F32, 3, one, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX4, S32, 3, one, MT_PLAIN);
	mf_set(t, 0, UMA_NORM_RMS);
	mf_set(t, 1, 1 << 1);
	mf_set(t, 2, mt_bits(0.001f));
	mf_set(t, 3, UMA_NORM_FLAGS_MASK);
}

/* Softmax and scan. */
static void along(struct mt_task *t)
{
	mt_operand(t, UMA_SLOT_DST, F32, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 3, dims, MT_PLAIN);
	mf_set(t, 1, 1);
}

static void reduce(struct mt_task *t)
{
	const uint32_t sums[] = { 3, 1, 4 };

	mt_operand(t, UMA_SLOT_DST, S32, 3, sums, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 3, dims, MT_PLAIN);
	mf_set(t, 0, UMA_REDUCE_ARG_MAX);
	mf_set(t, 1, 1 << 1);
}

static void topk(struct mt_task *t)
{
	const uint32_t k[] = { 3, 5, 4 };

	mt_operand(t, UMA_SLOT_DST, F32, 3, k, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX0, S32, 3, k, MT_PLAIN);
	mf_set(t, 1, 1);
}

enum { NORM, TWO, SOFTMAX, REDUCE, TOPK, SCAN, BASES };

static struct mf_base bases[BASES] = {
	[NORM] = { "norm", UMA_OP_NORM, norm },
	[TWO] = { "norm of two results", UMA_OP_NORM, norm_two },
	[SOFTMAX] = { "softmax", UMA_OP_SOFTMAX, along },
	[REDUCE] = { "reduce", UMA_OP_REDUCE, reduce },
	[TOPK] = { "top-k", UMA_OP_TOPK, topk },
	[SCAN] = { "scan", UMA_OP_SCAN, along },
};

/* --- one field at a time -------------------------------------------------- */

static const struct mf_mutation mutations[] = {
	{ NORM, PAR(0), UMA_NORM_COUNT, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ NORM, PAR(0), UMA_NORM_RMS, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ NORM, PAR(1), 0, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ NORM, PAR(1), 8, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ NORM, PAR(1), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.axes" },
	{ NORM, PAR(2), 0x7f800000, UMA_FAULT_PARAMS, NONE, "params.eps" },
	{ NORM, PAR(2), 0x7fc00000, UMA_FAULT_PARAMS, NONE, "params.eps" },
	{ NORM, PAR(2), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.eps" },
	{ NORM, PAR(3), UMA_NORM_ADD, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ NORM, PAR(4), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ TWO, PAR(3), 0x3f, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ TWO, PAR(3), UMA_NORM_SUM | UMA_NORM_SECOND, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ TWO, PAR(3), UMA_NORM_SUM | UMA_NORM_ADD, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ TWO, PAR(3), UMA_NORM_ASYMMETRIC, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ TWO, PAR(3), 0xf, UMA_FAULT_SLOT, UMA_SLOT_AUX4, "slots" },
	{ TWO, PAR(3), 0x1a, UMA_FAULT_SLOT, UMA_SLOT_C, "slots" },
	{ TWO, PAR(0), UMA_NORM_GIVEN, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ TWO, PAR(1), 1 << 2, UMA_FAULT_DIMS, UMA_SLOT_AUX3, "dims" },
	{ TWO, OP(0, dtype), F16, UMA_FAULT_DTYPE, 0, "dtype" },
	{ TWO, OP(3, dims[1]), 19, UMA_FAULT_DIMS, 3, "dims" },
	{ TWO, OP(9, dims[1]), 19, UMA_FAULT_DIMS, 9, "dims" },
	{ TWO, OP(9, strides[1]), 0, UMA_FAULT_STRIDES, 9, "strides" },
	{ TWO, OP(10, dims[1]), 2, UMA_FAULT_DIMS, 10, "dims" },
	{ TWO, OP(10, dtype), F16, UMA_FAULT_DTYPE, 10, "dtype" },
	{ TWO, OP(10, strides[0]), 0, UMA_FAULT_STRIDES, 10, "strides" },
	{ TWO, OP(11, dtype), F32, UMA_FAULT_DTYPE, 11, "dtype" },
	{ TWO, OP(11, dims[0]), 2, UMA_FAULT_DIMS, 11, "dims" },
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

/* --- what needs more than one field --------------------------------------- */

static void test_together(void)
{
	struct uma_task t = bases[TOPK].t.task;

	t.op[7].addr = t.op[0].addr;
	mf_expect("indices where the values are", &t, UMA_FAULT_OVERLAP, 7, "addr");
	t = bases[TOPK].t.task;
	t.op[7].addr = t.op[1].addr;
	mf_expect("indices where A is", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t = bases[TWO].t.task;
	t.op[9].addr = t.op[1].addr;
	mf_expect("a sum where A is", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t = bases[TWO].t.task;
	t.op[10].addr = t.op[11].addr;
	mf_expect("scales where the zero points are", &t, UMA_FAULT_OVERLAP, 11, "addr");
	t = bases[TWO].t.task;
	t.op[9].dtype = S4;
	t.op[9].dims[1] = 20;
	mf_expect("a second result of 4 bits", &t, UMA_FAULT_DTYPE, 9, "dtype");
	t = bases[SOFTMAX].t.task;
	t.op[0].addr = t.op[1].addr;
	mf_expect("softmax in place", &t, UMA_FAULT_NONE, 0, "");
	t.op[0].addr += 4;
	mf_expect("softmax one element beside", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t = bases[REDUCE].t.task;
	t.op[0].addr = t.op[1].addr;
	mf_expect("a reduction in place", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t = bases[SOFTMAX].t.task;
	t.op[1].dims[1] = 1 << 25;
	t.op[0].dims[1] = 1 << 25;
	t.op[1].strides[0] = 1ull << 30;
	t.op[0].strides[0] = 1ull << 30;
	t.op[0].addr += 1ull << 40;
	mf_expect("a dimension that is too long", &t, UMA_FAULT_UNSUPPORTED, 0, "dims");
	/* 2^20 x 2^13 elements of one: each dimension is within bounds, the line is not. */
	t = bases[REDUCE].t.task;
	memset(t.params, 0, 12);
	t.params[4] = 6;
	t.op[0].dtype = F32;
	t.op[0].dims[2] = 1;
	t.op[1].dims[1] = 1 << 20;
	t.op[1].dims[2] = 1 << 13;
	memset(t.op[1].strides, 0, sizeof(t.op[1].strides));
	mf_expect("a line that is too long", &t, UMA_FAULT_UNSUPPORTED, 1, "dims");
}

int main(void)
{
	mf_make(bases, BASES);
	mf_mutate(bases, mutations, sizeof(mutations) / sizeof(mutations[0]));
	test_together();
	mf_flip(bases, BASES);
	return tap_done();
}
