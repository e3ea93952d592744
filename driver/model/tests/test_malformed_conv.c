// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hostile descriptors of convolutions: see malformed.h.
 */
#include "malformed.h"

static void conv(struct mt_task *t, int a, int b, int d, int rank, uint32_t flags)
{
	const uint32_t da[] = { 2, 6, 5, 7 }, dd[] = { 2, 4, 5, 4 };
	const uint32_t db[] = { flags ? 6 : 4, flags ? 2 : 3, 3, 3 };
	struct uma_conv_params p = {
		.func = UMA_CONV_IMPLICIT, .flags = flags, .groups = 2,
		.stride = { 1, 2 }, .dilation = { 1, 1 }, .pad = { 1, 1 },
	};

	if (rank == 3)
		p.stride[1] = p.dilation[1] = p.pad[1] = 0;
	mt_operand(t, UMA_SLOT_DST, d, rank, dd, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, a, rank, da, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, b, rank, db, MT_PLAIN);
	memcpy(t->task.params, &p, sizeof(p));
}

static void make_f16(struct mt_task *t)
{
	conv(t, F16, F16, F32, 4, 0);
}

static void make_s8(struct mt_task *t)
{
	conv(t, U8, S8, S32, 4, 0);
	t->task.epilogue.flags = UMA_EPI_BIAS;
	mt_operand(t, UMA_SLOT_BIAS, S32, 4, t->task.op[UMA_SLOT_DST].dims, MT_PLAIN);
}

static void make_1d(struct mt_task *t)
{
	conv(t, F32, S8, F32, 3, 0);
	mt_quant(t, UMA_SLOT_B, UMA_QUANT_CHANNEL, 0, 0, 1);
}

static void make_transposed(struct mt_task *t)
{
	conv(t, S8, S8, S8, 4, UMA_CONV_TRANSPOSED);
	mt_quant(t, UMA_SLOT_B, UMA_QUANT_CHANNEL, 1, 0, 1);
}

static void make_winograd(struct mt_task *t)
{
	const uint32_t da[] = { 2, 3, 5, 7 }, db[] = { 6, 6, 3, 4 }, dd[] = { 2, 4, 5, 7 };
	const struct uma_conv_params p = {
		.func = UMA_CONV_WINOGRAD_4, .groups = 1,
		.stride = { 1, 1 }, .dilation = { 1, 1 }, .pad = { 1, 1 },
	};

	mt_operand(t, UMA_SLOT_DST, F32, 4, dd, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F16, 4, da, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, F32, 4, db, MT_PLAIN);
	memcpy(t->task.params, &p, sizeof(p));
}

/* Weights in blocks: [height, width, C, M]. */
static void make_packed(struct mt_task *t)
{
	const uint32_t da[] = { 2, 5, 5, 7 }, db[] = { 3, 2, 5, 20 }, dd[] = { 2, 20, 5, 7 };
	const struct uma_conv_params p = {
		.func = UMA_CONV_IMPLICIT, .groups = 1,
		.stride = { 1, 1 }, .dilation = { 1, 1 }, .pad = { 1, 1 },
	};
	const struct uma_packed_header header = {
		.magic = UMA_PACKED_MAGIC, .version = UMA_PACKED_VERSION,
		.layout = UMA_LAYOUT_GEMM_B, .engine_class = UMA_ENGINE_MATRIX,
		.dtype = S8, .block_k = 4, .block_n = 16, .dims = { 3, 2, 5, 20 }, .rank = 4,
	};

	mt_operand(t, UMA_SLOT_DST, F32, 4, dd, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, U8, 4, da, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, S8, 4, db, MT_PLAIN);
	mt_quant(t, UMA_SLOT_B, UMA_QUANT_CHANNEL, 3, 0, 1);
	mt_packed(t, UMA_SLOT_B, 64 + 6 * 8 * 32);
	mf_store(t, UMA_SLOT_B, &header, sizeof(header));
	memcpy(t->task.params, &p, sizeof(p));
}

enum { CONV, CONV_S8, CONV_WINO, CONV_1D, CONV_BACK, CONV_PACKED, BASES };

static struct mf_base bases[BASES] = {
	[CONV] = { "conv", UMA_OP_CONV, make_f16 },
	[CONV_S8] = { "conv s8 exact", UMA_OP_CONV, make_s8 },
	[CONV_WINO] = { "conv winograd", UMA_OP_CONV, make_winograd },
	[CONV_1D] = { "conv of one dimension", UMA_OP_CONV, make_1d },
	[CONV_BACK] = { "conv transposed", UMA_OP_CONV, make_transposed },
	[CONV_PACKED] = { "conv packed", UMA_OP_CONV, make_packed },
};

/* --- one field at a time -------------------------------------------------- */

static const struct mf_mutation mutations[] = {
	{ CONV, PAR(0), UMA_CONV_COUNT, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ CONV, PAR(0), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ CONV, PAR(1), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ CONV, PAR(1), UMA_CONV_TRANSPOSED, UMA_FAULT_DIMS, UMA_SLOT_B, "dims" },
	{ CONV, PAR(2), 0, UMA_FAULT_PARAMS, NONE, "params.groups" },
	{ CONV, PAR(2), 4, UMA_FAULT_DIMS, UMA_SLOT_A, "dims" },
	{ CONV, PAR(2), 3, UMA_FAULT_DIMS, UMA_SLOT_DST, "dims" },
	{ CONV, PAR(2), 0xffffffff, UMA_FAULT_DIMS, UMA_SLOT_A, "dims" },
	{ CONV, PAR(3), 1, UMA_FAULT_PAD, NONE, "params.pad0" },
	{ CONV_PACKED, PAR(1), UMA_CONV_TRANSPOSED, UMA_FAULT_PARAMS, NONE, "params.flags" },
	{ CONV_PACKED, PAR(2), 5, UMA_FAULT_PARAMS, NONE, "params.groups" },
	{ CONV_PACKED, OP(2, dims[2]), 6, UMA_FAULT_DIMS, 2, "dims" },
	{ CONV_PACKED, OP(2, dims[3]), 21, UMA_FAULT_DIMS, 2, "dims" },
	{ CONV_PACKED, OP(2, quant_axis), 2, UMA_FAULT_QUANT, 2, "quant_axis" },
	{ CONV_PACKED, OP(2, layout), UMA_LAYOUT_GEMM_B24, UMA_FAULT_LAYOUT, 2, "layout" },
	{ CONV, PAR(4), 0, UMA_FAULT_PARAMS, NONE, "params.stride" },
	{ CONV, PAR(5), 65537, UMA_FAULT_PARAMS, NONE, "params.stride" },
	{ CONV, PAR(7), 0, UMA_FAULT_PARAMS, NONE, "params.dilation" },
	{ CONV, PAR(6), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.dilation" },
	{ CONV, PAR(8), 65537, UMA_FAULT_PARAMS, NONE, "params.pad" },
	{ CONV, PAR(10), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ CONV_WINO, PAR(0), UMA_CONV_WINOGRAD_2, UMA_FAULT_DIMS, UMA_SLOT_B, "dims" },
	{ CONV_WINO, PAR(0), UMA_CONV_DIRECT, UMA_FAULT_DTYPE, UMA_SLOT_B, "dtype" },
	{ CONV_WINO, PAR(1), UMA_CONV_TRANSPOSED, UMA_FAULT_PARAMS, NONE, "params.flags" },
	{ CONV_WINO, PAR(2), 3, UMA_FAULT_PARAMS, NONE, "params.groups" },
	{ CONV_WINO, PAR(4), 2, UMA_FAULT_PARAMS, NONE, "params.stride" },
	{ CONV_WINO, PAR(7), 0, UMA_FAULT_PARAMS, NONE, "params.dilation" },
	{ CONV_WINO, OP(2, dtype), F16, UMA_FAULT_DTYPE, UMA_SLOT_B, "dtype" },
	{ CONV_WINO, OP(2, dims[0]), 5, UMA_FAULT_DIMS, UMA_SLOT_B, "dims" },
	{ CONV_WINO, OP(2, dims[2]), 2, UMA_FAULT_DIMS, UMA_SLOT_B, "dims" },
	{ CONV_WINO, OP(0, dims[1]), 3, UMA_FAULT_DIMS, UMA_SLOT_B, "dims" },
	{ CONV_1D, PAR(5), 1, UMA_FAULT_PAD, NONE, "params.stride" },
	{ CONV_1D, PAR(7), 1, UMA_FAULT_PAD, NONE, "params.dilation" },
	{ CONV_1D, PAR(9), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ CONV_1D, OP(2, quant_axis), 1, UMA_FAULT_QUANT, UMA_SLOT_B, "quant_axis" },
	{ CONV_BACK, OP(2, quant_axis), 0, UMA_FAULT_QUANT, UMA_SLOT_B, "quant_axis" },
	{ CONV, OP(0, rank), 3, UMA_FAULT_PAD, UMA_SLOT_DST, "dims" },
	{ CONV, OP(0, dims[0]), 1, UMA_FAULT_DIMS, UMA_SLOT_A, "dims" },
	{ CONV, OP(2, dims[1]), 2, UMA_FAULT_DIMS, UMA_SLOT_B, "dims" },
	{ CONV, OP(2, dims[0]), 3, UMA_FAULT_DIMS, UMA_SLOT_B, "dims" },
	{ CONV_1D, OP(1, dtype), S32, UMA_FAULT_DTYPE, UMA_SLOT_A, "dtype" },
	{ CONV, OP(2, dtype), BF16, UMA_FAULT_DTYPE, UMA_SLOT_B, "dtype" },
	{ CONV, OP(0, dtype), S32, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype" },
	{ CONV_S8, EPI(act), UMA_ACT_TANH, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ CONV_S8, OP(4, dims[1]), 3, UMA_FAULT_DIMS, UMA_SLOT_BIAS, "dims" },
};

/* An engine whose Winograd does not have it */
static void dilation(void)
{
	const struct uma_engine_desc *full = mt_engine("full", UMA_ENGINE_MATRIX);
	struct uma_op_cap caps[64];
	struct uma_engine_desc engine = *full;
	struct uma_conv_params *p = (void *)bases[CONV_WINO].t.task.params;
	struct uma_fault_info f = { 0 };
	static struct uma_op op;
	uint32_t i;

	if (full->cap_count > sizeof(caps) / sizeof(caps[0]))
		abort();
	memcpy(caps, full->caps, full->cap_count * sizeof(*caps));
	for (i = 0; i < full->cap_count; i++)
		if (caps[i].opcode == UMA_OP_CONV)
			caps[i].funcs &= ~UMA_CONV_CAP_DILATION;
	engine.caps = caps;
	tap_ok(!uma_task_decode(&bases[CONV_WINO].t.task, &op, &f) &&
	       uma_op_check(&op, &engine, &f) >= 0, "Winograd without dilation is accepted");
	p->dilation[1] = 2;
	p->pad[1] = 2;
	tap_ok(!uma_task_decode(&bases[CONV_WINO].t.task, &op, &f) &&
	       uma_op_check(&op, full, &f) >= 0, "Winograd with dilation is accepted");
	tap_ok(uma_op_check(&op, &engine, &f) < 0 && f.reason == UMA_FAULT_UNSUPPORTED &&
	       !strcmp(f.field, "params.func"), "an engine without it refuses dilation");
}

int main(void)
{
	mf_make(bases, BASES);
	mf_mutate(bases, mutations, sizeof(mutations) / sizeof(mutations[0]));
	mf_flip(bases, BASES);
	dilation();
	return tap_done();
}
