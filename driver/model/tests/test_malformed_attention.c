// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hostile descriptors of attention and of the rotary embedding before it: see
 * malformed.h.
 */
#include "malformed.h"

/* Pages of 4 keys, of int8, and whatever else there may be. */
static void make_attention(struct mt_task *t)
{
	const uint32_t q[] = { 2, 3, 4, 8 }, k[] = { 5, 4, 2, 8 }, v[] = { 5, 4, 2, 6 };
	const uint32_t d[] = { 2, 3, 4, 6 }, mask[] = { 2, 4, 3, 12 }, table[] = { 2, 3 };
	const uint32_t heads[] = { 2, 4 }, parts[] = { 3, 2, 3, 4, 8 };
	static const int32_t pages[2][3], lengths[2][2] = { { 12, 3 }, { 0, 0 } };

	mt_operand(t, UMA_SLOT_DST, F16, 4, d, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 4, q, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, S8, 4, k, MT_PLAIN);
	mt_quant(t, UMA_SLOT_B, UMA_QUANT_GROUP, 3, 16, 0);
	mt_operand(t, UMA_SLOT_C, BF16, 4, v, MT_PLAIN);
	mt_operand(t, UMA_SLOT_RESIDUAL, F32, 5, parts, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX0, F32, 4, mask, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX1, S32, 2, table, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX2, S32, 2, (const uint32_t[]){ 2, 2 }, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX3, F32, 2, heads, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX4, F16, 1, heads + 1, MT_PLAIN);
	mf_store(t, UMA_SLOT_AUX1, pages, sizeof(pages));
	mf_store(t, UMA_SLOT_AUX2, lengths, sizeof(lengths));
	mf_set(t, 0, UMA_ATTN_FLAGS_MASK & ~UMA_ATTN_RAGGED);
	mf_set(t, 1, mt_bits(0.5f));
	mf_set(t, 2, mt_bits(9));
	mf_set(t, 3, 7);
	mf_set(t, 4, 2);
	mf_set(t, 5, 1);
	mf_set(t, 6, 5);
}

static void make_ragged(struct mt_task *t)
{
	const uint32_t q[] = { 1, 6, 2, 8 }, kv[] = { 1, 20, 2, 8 };
	static const int32_t lengths[2][4] = { { 9, 3, 0, 0 }, { 11, 2, 3, 9 } };

	mt_operand(t, UMA_SLOT_DST, F32, 4, q, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 4, q, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, F32, 4, kv, MT_PLAIN);
	mt_operand(t, UMA_SLOT_C, F32, 4, kv, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX2, S32, 2, (const uint32_t[]){ 2, 4 }, MT_PLAIN);
	mf_store(t, UMA_SLOT_AUX2, lengths, sizeof(lengths));
	mf_set(t, 0, UMA_ATTN_RAGGED | UMA_ATTN_LENGTHS | UMA_ATTN_CAUSAL);
	mf_set(t, 1, mt_bits(0.5f));
	mf_set(t, 7, 3);
}

static void make_rotary(struct mt_task *t)
{
	const uint32_t dims[] = { 2, 3, 4, 10 }, tables[] = { 7, 4 };
	static const int32_t positions[2][3];

	mt_operand(t, UMA_SLOT_DST, F32, 4, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 4, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, F32, 2, tables, MT_PLAIN);
	mt_operand(t, UMA_SLOT_C, F32, 2, tables, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX0, S32, 2, dims, MT_PLAIN);
	mf_store(t, UMA_SLOT_AUX0, positions, sizeof(positions));
	mf_set(t, 0, UMA_ROTARY_POSITIONS);
}

enum { ATTENTION, RAGGED, ROTARY, BASES };

static struct mf_base bases[BASES] = {
	[ATTENTION] = { "attention with everything", UMA_OP_ATTENTION, make_attention },
	[RAGGED] = { "ragged attention", UMA_OP_ATTENTION, make_ragged },
	[ROTARY] = { "rotary", UMA_OP_ROTARY, make_rotary },
};

/* --- one field at a time -------------------------------------------------- */

static const struct mf_mutation mutations[] = {
	/* attention */
	{ ATTENTION, PAR(0), 0x800, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ ATTENTION, PAR(0), UMA_ATTN_RAGGED, UMA_FAULT_PARAMS, NONE, "params.flags" },
	{ ATTENTION, PAR(1), 0x7f800000, UMA_FAULT_PARAMS, NONE, "params.scale" },
	{ ATTENTION, PAR(1), 0xffc00000, UMA_FAULT_PARAMS, NONE, "params.scale" },
	{ ATTENTION, PAR(2), 0, UMA_FAULT_PARAMS, NONE, "params.softcap" },
	{ ATTENTION, PAR(2), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.softcap" },
	{ ATTENTION, PAR(2), 0xbf800000, UMA_FAULT_PARAMS, NONE, "params.softcap" },
	{ ATTENTION, PAR(2), 0x7f800000, UMA_FAULT_PARAMS, NONE, "params.softcap" },
	{ ATTENTION, PAR(7), 1, UMA_FAULT_PAD, NONE, "params.q_max" },
	{ ATTENTION, PAR(8), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ RAGGED, PAR(2), 1, UMA_FAULT_PAD, NONE, "params.softcap" },
	{ RAGGED, PAR(3), 1, UMA_FAULT_PAD, NONE, "params.window_left" },
	{ RAGGED, PAR(4), 1, UMA_FAULT_PAD, NONE, "params.window_right" },
	{ RAGGED, PAR(5), 1, UMA_FAULT_PAD, NONE, "params.keep" },
	{ RAGGED, PAR(6), 1, UMA_FAULT_PAD, NONE, "params.q_offset" },
	{ RAGGED, PAR(7), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.q_max" },
	{ ATTENTION, AT(slots), 0xf0f, UMA_FAULT_SLOT, UMA_SLOT_RESIDUAL, "slots" },
	{ ATTENTION, AT(slots), 0xf4f, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ RAGGED, AT(slots), 0x28f, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ ATTENTION, EPI(flags), 1, UMA_FAULT_EPILOGUE, NONE, "epilogue.flags" },
	{ ATTENTION, EPI(act), UMA_ACT_RELU, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ ATTENTION, OP(0, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 0, "dtype" },
	{ ATTENTION, OP(0, dtype), UMA_DTYPE_S8, UMA_FAULT_QUANT, 0, "quant" },
	{ ATTENTION, OP(1, dtype), UMA_DTYPE_U8, UMA_FAULT_QUANT, 1, "quant" },
	{ ATTENTION, OP(1, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 1, "dtype" },
	{ RAGGED, OP(2, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 2, "dtype" },
	{ ATTENTION, OP(3, dtype), UMA_DTYPE_U8, UMA_FAULT_QUANT, 3, "quant" },
	{ ATTENTION, OP(6, dtype), UMA_DTYPE_F16, UMA_FAULT_DTYPE, 6, "dtype" },
	{ ATTENTION, OP(7, dtype), UMA_DTYPE_S8, UMA_FAULT_DTYPE, 7, "dtype" },
	{ ATTENTION, OP(8, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 8, "dtype" },
	{ ATTENTION, OP(9, dtype), UMA_DTYPE_U8, UMA_FAULT_DTYPE, 9, "dtype" },
	{ ATTENTION, OP(10, dtype), UMA_DTYPE_F16, UMA_FAULT_DTYPE, 10, "dtype" },
	{ ATTENTION, OP(11, dtype), UMA_DTYPE_S8, UMA_FAULT_DTYPE, 11, "dtype" },
	{ ATTENTION, OP(2, quant_axis), 2, UMA_FAULT_QUANT, 2, "quant_axis" },
	{ RAGGED, OP(9, rank), 3, UMA_FAULT_RANK, 9, "rank" },
	{ ATTENTION, OP(0, dims[0]), 1, UMA_FAULT_DIMS, 1, "dims" },
	{ ATTENTION, OP(1, dims[1]), 2, UMA_FAULT_DIMS, 1, "dims" },
	{ ATTENTION, OP(1, dims[3]), 7, UMA_FAULT_DIMS, 2, "dims" },
	{ ATTENTION, OP(2, dims[1]), 3, UMA_FAULT_DIMS, 3, "dims" },
	{ ATTENTION, OP(2, dims[2]), 0, UMA_FAULT_DIMS, 2, "dims" },
	{ RAGGED, OP(2, dims[0]), 2, UMA_FAULT_DIMS, 2, "dims" },
	{ ATTENTION, OP(3, dims[3]), 5, UMA_FAULT_DIMS, 3, "dims" },
	{ ATTENTION, OP(6, dims[0]), 0, UMA_FAULT_DIMS, 6, "dims" },
	{ ATTENTION, OP(6, dims[2]), 2, UMA_FAULT_DIMS, 6, "dims" },
	{ ATTENTION, OP(7, dims[3]), 11, UMA_FAULT_DIMS, 7, "dims" },
	{ ATTENTION, OP(8, dims[0]), 1, UMA_FAULT_DIMS, 8, "dims" },
	{ ATTENTION, OP(9, dims[0]), 1, UMA_FAULT_DIMS, 9, "dims" },
	{ ATTENTION, OP(9, dims[1]), 3, UMA_FAULT_DIMS, 9, "dims" },
	{ RAGGED, OP(9, dims[1]), 2, UMA_FAULT_DIMS, 9, "dims" },
	{ ATTENTION, OP(10, dims[1]), 3, UMA_FAULT_DIMS, 10, "dims" },
	{ ATTENTION, OP(11, dims[0]), 2, UMA_FAULT_DIMS, 11, "dims" },
	{ ATTENTION, OP(6, strides[0]), 0, UMA_FAULT_STRIDES, 6, "strides" },
	/* rotary embedding */
	{ ROTARY, PAR(0), 6, UMA_FAULT_PARAMS, NONE, "params.flags" },
	{ ROTARY, PAR(0), 0, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ ROTARY, PAR(1), 1, UMA_FAULT_PARAMS, NONE, "params.start" },
	{ ROTARY, PAR(2), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ ROTARY, AT(slots), 0xf, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ ROTARY, AT(slots), 0x87, UMA_FAULT_SLOT, UMA_SLOT_C, "slots" },
	{ ROTARY, EPI(act), UMA_ACT_RELU, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ ROTARY, EPI(flags), 1, UMA_FAULT_EPILOGUE, NONE, "epilogue.flags" },
	{ ROTARY, OP(0, rank), 5, UMA_FAULT_RANK, 0, "rank" },
	{ ROTARY, OP(1, rank), 5, UMA_FAULT_RANK, 1, "rank" },
	{ ROTARY, OP(2, rank), 3, UMA_FAULT_RANK, 2, "rank" },
	{ ROTARY, OP(3, rank), 3, UMA_FAULT_RANK, 3, "rank" },
	{ ROTARY, OP(7, rank), 3, UMA_FAULT_RANK, 7, "rank" },
	{ ROTARY, OP(1, dims[2]), 3, UMA_FAULT_DIMS, 1, "dims" },
	{ ROTARY, OP(2, dims[1]), 6, UMA_FAULT_DIMS, 2, "dims" },
	{ ROTARY, OP(2, dims[1]), 0x80000005, UMA_FAULT_DIMS, 2, "dims" },
	{ ROTARY, OP(2, dims[1]), 3, UMA_FAULT_DIMS, 3, "dims" },
	{ ROTARY, OP(3, dims[0]), 8, UMA_FAULT_DIMS, 3, "dims" },
	{ ROTARY, OP(7, dims[1]), 2, UMA_FAULT_DIMS, 7, "dims" },
	{ ROTARY, OP(7, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 7, "dtype" },
	{ ROTARY, OP(0, strides[2]), 9, UMA_FAULT_STRIDES, 0, "strides" },
	{ ROTARY, OP(1, layout), 1, UMA_FAULT_STRIDES, 1, "strides" },
};

/* --- what needs more than one field --------------------------------------- */

/* Positions that the tables do not have, wherever they are. */
static void test_positions(void)
{
	static const int32_t bad[] = { -1, 7, 8, INT32_MAX, INT32_MIN };
	static const struct mt_variant v = { NULL, 3000, 4096 };
	struct mt_task *t = &bases[ROTARY].t;
	uint64_t addr = t->task.op[UMA_SLOT_AUX0].addr;
	struct uma_task start = t->task;
	struct mt_variant with = v;
	struct uma_fault_info f;
	uint32_t i, at, wrong = 0;
	int r;

	with.kernels = uma_kernels_portable();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (at = 0; at < 6; at++) {
			memcpy(mf_work, mf_image, MT_SIZE);
			memcpy(mf_work + (addr - MT_BASE) + 4 * at, &bad[i], 4);
			memset(&f, 0, sizeof(f));
			r = mt_run(&t->task, mt_engine("full", UMA_ENGINE_GPU), &with, mf_work, &f);
			wrong += !(r < 0 && f.reason == UMA_FAULT_RANGE &&
				   f.slot == UMA_SLOT_AUX0 && f.addr == addr + 4 * at &&
				   !strcmp(f.field, "index"));
		}
	tap_ok(!wrong, "positions beyond the tables fault where they are");
	/* Without positions what is read is known beforehand. */
	start.slots &= ~(1u << UMA_SLOT_AUX0);
	memset(&start.op[UMA_SLOT_AUX0], 0, sizeof(start.op[0]));
	memset(start.params, 0, 8);
	start.params[4] = 4;
	mf_expect("the last position", &start, UMA_FAULT_NONE, 0, "");
	start.params[4] = 5;
	mf_expect("one position more", &start, UMA_FAULT_PARAMS, NONE, "params.start");
	memset(start.params + 4, 0xff, 4);
	mf_expect("positions that wrap", &start, UMA_FAULT_PARAMS, NONE, "params.start");
	start.params[4] = start.params[5] = start.params[6] = start.params[7] = 0;
	start.op[0].addr = start.op[1].addr;
	mf_expect("rotary in place", &start, UMA_FAULT_NONE, 0, "");
	start.op[0].addr += 4;
	mf_expect("rotary beside itself", &start, UMA_FAULT_OVERLAP, 1, "addr");
	start.op[0].addr = start.op[3].addr;
	mf_expect("rotary over its sines", &start, UMA_FAULT_OVERLAP, 3, "addr");
	start = t->task;
	start.op[0].dtype = S8;
	start.op[0].quant = UMA_QUANT_CHANNEL;
	start.op[0].scale_addr = start.op[0].addr + 1024;
	start.op[0].scale_dtype = F32;
	mf_expect("rotary with scales", &start, UMA_FAULT_QUANT, 0, "quant");
}

int main(void)
{
	mf_make(bases, BASES);
	mf_mutate(bases, mutations, sizeof(mutations) / sizeof(mutations[0]));
	test_positions();
	mf_flip(bases, BASES);
	return tap_done();
}
