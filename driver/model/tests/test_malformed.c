// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hostile descriptors: see malformed.h. Here is what holds for all operations,
 * shown on those of matrices and elements; convolutions, attention and operations
 * along dimensions have files of their own.
 */
#include "malformed.h"

static void operands(struct mt_task *t, int a, int b, int d)
{
	const uint32_t da[] = { 3, 5, 40 }, db[] = { 3, 40, 24 }, dd[] = { 3, 5, 24 };

	mt_operand(t, UMA_SLOT_DST, d, 3, dd, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, a, 3, da, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, b, 3, db, MT_PLAIN);
	mf_set(t, 0, mt_bits(1));
}

static void gemm_f32(struct mt_task *t)
{
	operands(t, F32, F32, F32);
}

static void gemm_s8(struct mt_task *t)
{
	operands(t, S8, U8, S8);
	mt_quant(t, UMA_SLOT_DST, UMA_QUANT_TENSOR, 0, 0, 1);
	mt_quant(t, UMA_SLOT_A, UMA_QUANT_TENSOR, 0, 0, 1);
	mt_quant(t, UMA_SLOT_B, UMA_QUANT_CHANNEL, 2, 0, 1);
}

static void gemm_exact(struct mt_task *t)
{
	operands(t, U8, S8, S32);
	t->task.epilogue.flags = UMA_EPI_BIAS;
	mt_operand(t, UMA_SLOT_BIAS, S32, 3, t->task.op[UMA_SLOT_DST].dims, MT_PLAIN);
}

static void gemm_w4(struct mt_task *t)
{
	operands(t, F16, S4, F32);
	mt_quant(t, UMA_SLOT_B, UMA_QUANT_GROUP, 1, 16, 1);
}

static void gemm_w4_min(struct mt_task *t)
{
	operands(t, F16, S4, F32);
	mt_quant(t, UMA_SLOT_B, UMA_QUANT_GROUP_MIN, 1, 16, 0);
}

/* Weights of a file: rows of blocks, read transposed. */
static void gemm_blocks(struct mt_task *t)
{
	const uint32_t da[] = { 5, 512 }, db[] = { 512, 24 }, dd[] = { 5, 24 };

	mt_operand(t, UMA_SLOT_DST, F32, 2, dd, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 2, da, MT_PLAIN);
	mt_blocks(t, UMA_SLOT_B, Q4_K, 2, db, 0, MT_PLAIN);
	mf_set(t, 0, mt_bits(1));
}

static void copy_blocks(struct mt_task *t)
{
	const uint32_t all[] = { 3, 4, 64 };

	mt_operand(t, UMA_SLOT_DST, F32, 3, all, MT_PLAIN);
	mt_blocks(t, UMA_SLOT_A, Q8_0, 3, all, 2, MT_PLAIN);
}

static void gemm_full(struct mt_task *t)
{
	int slot;

	operands(t, F32, F32, F16);
	mf_set(t, 1, mt_bits(0.5f));
	t->task.epilogue.flags = UMA_EPI_BIAS | UMA_EPI_SCALE | UMA_EPI_RESIDUAL;
	t->task.epilogue.act = UMA_ACT_CLAMP;
	t->task.epilogue.p1 = mt_bits(6);
	for (slot = UMA_SLOT_C; slot <= UMA_SLOT_RESIDUAL; slot++)
		mt_operand(t, slot, F32, 3, t->task.op[UMA_SLOT_DST].dims, MT_PLAIN);
}

/* The last two matrices ask for more rows than there are. */
static void gemm_experts(struct mt_task *t)
{
	const uint32_t da[] = { 1, 20, 40 }, db[] = { 4, 40, 24 }, dd[] = { 1, 20, 24 };
	const uint32_t own[] = { 4, 20, 24 }, experts[] = { 4 };
	const int32_t rows[] = { 7, -3, INT32_MAX, INT32_MAX };

	mt_operand(t, UMA_SLOT_DST, F32, 3, dd, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 3, da, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, F32, 3, db, MT_PLAIN);
	mt_operand(t, UMA_SLOT_BIAS, F32, 3, own, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX0, S32, 1, experts, MT_PLAIN);
	mf_store(t, UMA_SLOT_AUX0, rows, sizeof(rows));
	t->task.epilogue.flags = UMA_EPI_BIAS;
	mf_set(t, 0, mt_bits(1));
	mf_set(t, 3, UMA_GEMM_EXPERTS);
}

static void gemm_packed(struct mt_task *t)
{
	const struct uma_packed_header header = {
		.magic = UMA_PACKED_MAGIC, .version = UMA_PACKED_VERSION,
		.layout = UMA_LAYOUT_GEMM_B, .engine_class = UMA_ENGINE_MATRIX,
		.dtype = F32, .block_k = 1, .block_n = 16, .dims = { 3, 40, 24 }, .rank = 3,
	};

	operands(t, F32, F32, F32);
	mt_packed(t, UMA_SLOT_B, 64 + 3 * 40 * 32 * 4);
	mf_store(t, UMA_SLOT_B, &header, sizeof(header));
}

static void gemm_dynamic(struct mt_task *t)
{
	uint8_t *shapes;
	int i;

	operands(t, F32, F32, F32);
	t->task.flags = UMA_TASK_DYNAMIC;
	t->task.shape_addr = mt_alloc(t, 240, 4);
	shapes = mf_image + (t->task.shape_addr - MT_BASE);
	memset(shapes, 0, 240);
	for (i = 0; i < 3; i++)
		memcpy(shapes + 20 * i, t->task.op[i].dims, 20);
}

/* The rows of A and of the result. */
static void gemm_length(struct mt_task *t)
{
	uint8_t *length;

	operands(t, F32, F32, F32);
	t->task.flags = UMA_TASK_DYNAMIC | UMA_TASK_LENGTH;
	t->task.shape_addr = mt_alloc(t, 4, 4);
	length = mf_image + (t->task.shape_addr - MT_BASE);
	memcpy(length, &t->task.op[0].dims[1], 4);
	t->task.length_dims[0] = 2;
	t->task.length_dims[1] = 2;
}

static const uint32_t dims[] = { 4, 6, 10 };

static void copy(struct mt_task *t)
{
	mt_operand(t, UMA_SLOT_DST, S8, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 3, dims, MT_PLAIN);
	mt_quant(t, UMA_SLOT_DST, UMA_QUANT_TENSOR, 0, 0, 1);
}

static void copy_s4(struct mt_task *t)
{
	mt_operand(t, UMA_SLOT_DST, F32, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, S4, 3, dims, MT_PLAIN);
}

static void fill(struct mt_task *t)
{
	mt_operand(t, UMA_SLOT_DST, U8, 3, dims, MT_PLAIN);
	mf_set(t, 0, 0x7f);
}

static void unary(struct mt_task *t)
{
	mt_operand(t, UMA_SLOT_DST, F32, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F16, 3, dims, MT_PLAIN);
	mf_set(t, 0, UMA_UNARY_EXP);
}

static void binary(struct mt_task *t)
{
	int slot;

	for (slot = UMA_SLOT_DST; slot <= UMA_SLOT_B; slot++)
		mt_operand(t, slot, F32, 3, dims, MT_PLAIN);
}

static void binary_s32(struct mt_task *t)
{
	int slot;

	for (slot = UMA_SLOT_DST; slot <= UMA_SLOT_B; slot++)
		mt_operand(t, slot, S32, 3, dims, MT_PLAIN);
}

static void select_op(struct mt_task *t)
{
	int slot;

	for (slot = UMA_SLOT_DST; slot <= UMA_SLOT_C; slot++)
		mt_operand(t, slot, slot == UMA_SLOT_A ? U8 : F32, 3, dims, MT_PLAIN);
}

static void pack(struct mt_task *t)
{
	mt_operand(t, UMA_SLOT_A, S8, 3, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_DST, S8, 3, dims, MT_PLAIN);
	mt_packed(t, UMA_SLOT_DST, 64 + 4 * 8 * 16);
}

enum {
	GEMM_F32, GEMM_S8, GEMM_EXACT, GEMM_W4, GEMM_W4_MIN, GEMM_FULL, PACKED, DYNAMIC, COPY,
	COPY_S4, BLOCKS, COPY_BLOCKS, FILL, UNARY, BINARY, BINARY_S32, SELECT, PACK, NOP, EXPERTS,
	LENGTH, BASES
};

static struct mf_base bases[BASES] = {
	[GEMM_F32] = { "gemm f32", UMA_OP_GEMM, gemm_f32 },
	[GEMM_S8] = { "gemm s8 requantised", UMA_OP_GEMM, gemm_s8 },
	[GEMM_EXACT] = { "gemm s8 exact", UMA_OP_GEMM, gemm_exact },
	[EXPERTS] = { "gemm of experts", UMA_OP_GEMM, gemm_experts },
	[GEMM_W4] = { "gemm 4-bit weights", UMA_OP_GEMM, gemm_w4 },
	[GEMM_W4_MIN] = { "gemm 4-bit weights with minima", UMA_OP_GEMM, gemm_w4_min },
	[GEMM_FULL] = { "gemm with everything", UMA_OP_GEMM, gemm_full },
	[PACKED] = { "gemm packed", UMA_OP_GEMM, gemm_packed },
	[DYNAMIC] = { "dynamic gemm", UMA_OP_GEMM, gemm_dynamic },
	[LENGTH] = { "gemm of a length", UMA_OP_GEMM, gemm_length },
	[COPY] = { "copy", UMA_OP_COPY, copy },
	[COPY_S4] = { "copy s4", UMA_OP_COPY, copy_s4 },
	[BLOCKS] = { "gemm of blocks", UMA_OP_GEMM, gemm_blocks },
	[COPY_BLOCKS] = { "copy of blocks", UMA_OP_COPY, copy_blocks },
	[FILL] = { "fill", UMA_OP_FILL, fill },
	[UNARY] = { "unary", UMA_OP_UNARY, unary },
	[BINARY] = { "binary", UMA_OP_BINARY, binary },
	[BINARY_S32] = { "binary s32", UMA_OP_BINARY, binary_s32 },
	[SELECT] = { "select", UMA_OP_SELECT, select_op },
	[PACK] = { "pack", UMA_OP_PACK, pack },
	[NOP] = { "nop", UMA_OP_NOP },
};

/* --- one field at a time -------------------------------------------------- */

static const struct mf_mutation mutations[] = {
	{ GEMM_F32, AT(version), 0, UMA_FAULT_VERSION, NONE, "version" },
	{ GEMM_F32, AT(version), 2, UMA_FAULT_VERSION, NONE, "version" },
	{ GEMM_F32, AT(opcode), UMA_OP_COUNT, UMA_FAULT_OPCODE, NONE, "opcode" },
	{ GEMM_F32, AT(opcode), 0xffff, UMA_FAULT_OPCODE, NONE, "opcode" },
	{ GEMM_F32, AT(flags), 4, UMA_FAULT_FLAGS, NONE, "flags" },
	{ GEMM_F32, AT(flags), 0x80000001, UMA_FAULT_FLAGS, NONE, "flags" },
	{ NOP, AT(flags), 1, UMA_FAULT_FLAGS, NONE, "flags" },
	{ GEMM_F32, AT(slots), 0x87, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ GEMM_F32, AT(slots), 0x1007, UMA_FAULT_FLAGS, NONE, "slots" },
	{ GEMM_F32, AT(slots), 0x80000007, UMA_FAULT_FLAGS, NONE, "slots" },
	{ GEMM_F32, AT(slots), 3, UMA_FAULT_SLOT, UMA_SLOT_B, "slots" },
	{ GEMM_F32, AT(slots), 15, UMA_FAULT_SLOT, UMA_SLOT_C, "slots" },
	{ GEMM_F32, AT(slots), 6, UMA_FAULT_SLOT, UMA_SLOT_DST, "slots" },
	{ NOP, AT(slots), 1, UMA_FAULT_SLOT, UMA_SLOT_DST, "slots" },
	{ COPY, AT(slots), 7, UMA_FAULT_SLOT, UMA_SLOT_B, "slots" },
	{ GEMM_F32, AT(pad0), 1, UMA_FAULT_PAD, NONE, "pad0" },
	{ GEMM_F32, AT(shape_addr), 4, UMA_FAULT_PAD, NONE, "shape_addr" },
	{ DYNAMIC, AT(shape_addr), 2, UMA_FAULT_ALIGN, NONE, "shape_addr" },
	{ DYNAMIC, AT(shape_addr), (1ULL << 48) - 236, UMA_FAULT_RANGE, NONE, "shape_addr" },
	{ DYNAMIC, AT(shape_addr), NEG(4), UMA_FAULT_RANGE, NONE, "shape_addr" },
	{ GEMM_F32, AT(flags), 2, UMA_FAULT_FLAGS, NONE, "flags" },
	{ GEMM_F32, AT(length_dims[1]), 1, UMA_FAULT_PAD, NONE, "length_dims" },
	{ GEMM_F32, AT(pad3), 1, UMA_FAULT_PAD, NONE, "pad3" },
	{ DYNAMIC, AT(flags), 3, UMA_FAULT_FLAGS, NONE, "length_dims" },
	{ DYNAMIC, AT(length_dims[1]), 1, UMA_FAULT_PAD, NONE, "length_dims" },
	{ LENGTH, AT(flags), 2, UMA_FAULT_FLAGS, NONE, "flags" },
	{ LENGTH, AT(flags), 1, UMA_FAULT_PAD, NONE, "length_dims" },
	{ LENGTH, AT(length_dims[1]), 8, UMA_FAULT_FLAGS, 1, "length_dims" },
	{ LENGTH, AT(length_dims[1]), 32, UMA_FAULT_FLAGS, 1, "length_dims" },
	{ LENGTH, AT(length_dims[3]), 1, UMA_FAULT_FLAGS, 3, "length_dims" },
	{ LENGTH, AT(length_dims[11]), 1, UMA_FAULT_FLAGS, 11, "length_dims" },
	{ LENGTH, AT(shape_addr), 0x10002, UMA_FAULT_ALIGN, NONE, "shape_addr" },
	{ LENGTH, AT(shape_addr), (1ULL << 48), UMA_FAULT_RANGE, NONE, "shape_addr" },
	{ GEMM_F32, AT(pad1[0]), 1, UMA_FAULT_PAD, NONE, "pad1" },
	{ GEMM_F32, AT(pad1[9]), 1ULL << 63, UMA_FAULT_PAD, NONE, "pad1" },
	{ GEMM_F32, AT(pad2[0]), 1, UMA_FAULT_PAD, NONE, "pad2" },
	{ GEMM_F32, AT(pad2[7]), 1ULL << 63, UMA_FAULT_PAD, NONE, "pad2" },
	/* parameters */
	{ GEMM_F32, PAR(2), 32, UMA_FAULT_DTYPE, 2, "dtype" },
	{ GEMM_S8, PAR(2), 32, UMA_FAULT_DTYPE, 1, "dtype" },
	{ GEMM_W4, PAR(2), 8, UMA_FAULT_PARAMS, NONE, "params.a_group" },
	{ GEMM_W4, PAR(2), 48, UMA_FAULT_PARAMS, NONE, "params.a_group" },
	{ BLOCKS, PAR(2), 256, UMA_FAULT_PARAMS, NONE, "params.a_group" },
	{ BLOCKS, PAR(2), 0x80000000, UMA_FAULT_PARAMS, NONE, "params.a_group" },
	{ GEMM_F32, PAR(3), 1, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ GEMM_F32, PAR(3), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ GEMM_W4, PAR(3), 2, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ GEMM_F32, PAR(3), 4, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ EXPERTS, PAR(3), 0x80000001, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ EXPERTS, PAR(3), 0, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ EXPERTS, AT(slots), 0x17, UMA_FAULT_SLOT, UMA_SLOT_AUX0, "slots" },
	{ EXPERTS, OP(7, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 7, "dtype" },
	{ EXPERTS, OP(7, dims[0]), 5, UMA_FAULT_DIMS, 7, "dims" },
	{ EXPERTS, OP(2, dims[0]), 5, UMA_FAULT_DIMS, 4, "dims" },
	{ EXPERTS, OP(2, dims[0]), 1025, UMA_FAULT_DIMS, 2, "dims" },
	{ EXPERTS, OP(4, dims[0]), 2, UMA_FAULT_DIMS, 4, "dims" },
	{ EXPERTS, OP(4, dims[1]), 2, UMA_FAULT_DIMS, 4, "dims" },
	{ EXPERTS, OP(7, addr), NEG(2), UMA_FAULT_ALIGN, 7, "addr" },
	{ EXPERTS, OP(7, quant), 1, UMA_FAULT_QUANT, 7, "scale" },
	{ GEMM_F32, PAR(4), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ GEMM_F32, PAR(63), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ GEMM_F32, PAR(1), 0x3f800000, UMA_FAULT_SLOT, UMA_SLOT_C, "slots" },
	{ GEMM_EXACT, PAR(0), 0x40000000, UMA_FAULT_PARAMS, NONE, "params.alpha" },
	{ FILL, PAR(0), 0x100, UMA_FAULT_PARAMS, NONE, "params.value" },
	{ FILL, PAR(1), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ UNARY, PAR(0), UMA_UNARY_COUNT, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ UNARY, PAR(0), 0xffffffff, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ UNARY, PAR(1), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ BINARY, PAR(0), UMA_BINARY_COUNT, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ BINARY_S32, PAR(0), UMA_BINARY_DIV, UMA_FAULT_PARAMS, NONE, "params.func" },
	{ UNARY, PAR(0), UMA_UNARY_BIT_NOT, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype" },
	{ BINARY, PAR(0), UMA_BINARY_SHL, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype" },
	{ SELECT, PAR(0), 1, UMA_FAULT_FLAGS, NONE, "params.flags" },
	{ SELECT, PAR(1), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ SELECT, AT(slots), 7, UMA_FAULT_SLOT, UMA_SLOT_C, "slots" },
	{ SELECT, EPI(act), UMA_ACT_RELU, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ SELECT, OP(1, dims[2]), 9, UMA_FAULT_DIMS, 1, "dims" },
	{ SELECT, OP(2, dims[0]), 5, UMA_FAULT_DIMS, 2, "dims" },
	{ SELECT, OP(3, dims[1]), 1, UMA_FAULT_DIMS, 3, "dims" },
	{ SELECT, OP(3, layout), UMA_LAYOUT_GEMM_B, UMA_FAULT_STRIDES, 3, "strides" },
	{ COPY, PAR(0), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ NOP, PAR(0), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	{ PACK, PAR(63), 1, UMA_FAULT_PAD, NONE, "params.pad" },
	/* epilogue */
	{ GEMM_F32, EPI(flags), 0x10, UMA_FAULT_FLAGS, NONE, "epilogue.flags" },
	{ GEMM_F32, EPI(flags), 1, UMA_FAULT_SLOT, UMA_SLOT_BIAS, "slots" },
	{ GEMM_F32, EPI(flags), 8, UMA_FAULT_SLOT, UMA_SLOT_RESIDUAL, "slots" },
	{ GEMM_FULL, EPI(flags), 15, UMA_FAULT_EPILOGUE, NONE, "epilogue.flags" },
	{ GEMM_FULL, EPI(act), UMA_ACT_COUNT, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ GEMM_FULL, EPI(act), UMA_ACT_RELU, UMA_FAULT_PAD, NONE, "epilogue.p1" },
	{ GEMM_FULL, EPI(p0), 0x7fc00000, UMA_FAULT_EPILOGUE, NONE, "epilogue.p0" },
	{ GEMM_FULL, EPI(p1), 0xffc00001, UMA_FAULT_EPILOGUE, NONE, "epilogue.p1" },
	{ GEMM_FULL, EPI(p1), 0xbf800000, UMA_FAULT_EPILOGUE, NONE, "epilogue.p1" },
	{ GEMM_FULL, EPI(act), UMA_ACT_CELU, UMA_FAULT_EPILOGUE, NONE, "epilogue.p0" },
	{ GEMM_FULL, EPI(act), UMA_ACT_ELU, UMA_FAULT_PAD, NONE, "epilogue.p1" },
	{ GEMM_FULL, EPI(act), UMA_ACT_MISH, UMA_FAULT_PAD, NONE, "epilogue.p1" },
	{ GEMM_F32, EPI(p0), 0x3f800000, UMA_FAULT_PAD, NONE, "epilogue.p0" },
	{ GEMM_F32, EPI(p1), 1, UMA_FAULT_PAD, NONE, "epilogue.p1" },
	{ GEMM_F32, EPI(pad[0]), 1, UMA_FAULT_PAD, NONE, "epilogue.pad" },
	{ GEMM_F32, EPI(pad[5]), 1, UMA_FAULT_PAD, NONE, "epilogue.pad" },
	{ GEMM_EXACT, EPI(act), UMA_ACT_TANH, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ BINARY_S32, EPI(act), UMA_ACT_TANH, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ COPY, EPI(act), UMA_ACT_RELU, UMA_FAULT_EPILOGUE, NONE, "epilogue.act" },
	{ UNARY, EPI(flags), 1, UMA_FAULT_EPILOGUE, NONE, "epilogue.flags" },
	{ PACK, EPI(flags), 2, UMA_FAULT_EPILOGUE, NONE, "epilogue.flags" },
	/* operands */
	{ GEMM_F32, OP(7, addr), 1, UMA_FAULT_PAD, 7, "op" },
	{ GEMM_F32, OP(11, pad3), 1, UMA_FAULT_PAD, 11, "op" },
	{ GEMM_F32, OP(3, dtype), 1, UMA_FAULT_PAD, 3, "op" },
	{ GEMM_F32, OP(0, addr), MT_BASE + 2, UMA_FAULT_ALIGN, 0, "addr" },
	{ GEMM_F32, OP(1, addr), 1ULL << 48, UMA_FAULT_RANGE, 1, "addr" },
	{ GEMM_F32, OP(1, addr), (1ULL << 48) - 4, UMA_FAULT_RANGE, 1, "addr" },
	{ GEMM_F32, OP(2, addr), NEG(4), UMA_FAULT_RANGE, 2, "addr" },
	{ GEMM_F32, OP(0, dtype), 0, UMA_FAULT_DTYPE, 0, "dtype" },
	{ GEMM_F32, OP(0, dtype), UMA_DTYPE_COUNT, UMA_FAULT_DTYPE, 0, "dtype" },
	{ GEMM_F32, OP(1, dtype), 0xffff, UMA_FAULT_DTYPE, 1, "dtype" },
	{ GEMM_F32, OP(0, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 0, "dtype" },
	{ GEMM_F32, OP(0, dtype), UMA_DTYPE_U4, UMA_FAULT_DTYPE, 0, "dtype" },
	{ GEMM_F32, OP(1, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 1, "dtype" },
	{ GEMM_F32, OP(1, dtype), UMA_DTYPE_F16, UMA_FAULT_DTYPE, 2, "dtype" },
	{ GEMM_F32, OP(1, dtype), UMA_DTYPE_BF16, UMA_FAULT_DTYPE, 2, "dtype" },
	{ GEMM_EXACT, OP(2, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 2, "dtype" },
	{ GEMM_EXACT, OP(4, dtype), UMA_DTYPE_F32, UMA_FAULT_DTYPE, 4, "dtype" },
	{ GEMM_FULL, OP(5, dtype), UMA_DTYPE_S4, UMA_FAULT_DTYPE, 5, "dtype" },
	{ PACK, OP(1, dtype), UMA_DTYPE_U8, UMA_FAULT_DTYPE, 0, "dtype" },
	{ GEMM_F32, OP(0, rank), 0, UMA_FAULT_RANK, 0, "rank" },
	{ GEMM_F32, OP(0, rank), 6, UMA_FAULT_RANK, 0, "rank" },
	{ GEMM_F32, OP(1, rank), 0xffff, UMA_FAULT_RANK, 1, "rank" },
	{ GEMM_F32, OP(1, rank), 4, UMA_FAULT_RANK, 1, "rank" },
	{ GEMM_F32, OP(1, rank), 2, UMA_FAULT_PAD, 1, "dims" },
	{ GEMM_F32, OP(1, layout), UMA_LAYOUT_COUNT, UMA_FAULT_LAYOUT, 1, "layout" },
	{ GEMM_F32, OP(1, layout), 0xffff, UMA_FAULT_LAYOUT, 1, "layout" },
	{ GEMM_F32, OP(2, layout), 1, UMA_FAULT_STRIDES, 2, "strides" },
	{ PACK, OP(0, layout), 0, UMA_FAULT_LAYOUT, 0, "layout" },
	{ PACKED, OP(2, addr), MT_BASE + 32, UMA_FAULT_ALIGN, 2, "addr" },
	{ PACKED, OP(2, strides[2]), 1, UMA_FAULT_STRIDES, 2, "strides" },
	{ GEMM_F32, OP(1, pad0), 1, UMA_FAULT_PAD, 1, "pad0" },
	{ GEMM_F32, OP(1, pad1), 1, UMA_FAULT_PAD, 1, "pad1" },
	{ GEMM_F32, OP(1, pad2[0]), 1, UMA_FAULT_PAD, 1, "pad2" },
	{ GEMM_F32, OP(1, pad2[1]), 1, UMA_FAULT_PAD, 1, "pad2" },
	{ GEMM_F32, OP(2, pad3), 1, UMA_FAULT_PAD, 2, "pad3" },
	{ GEMM_F32, OP(1, dims[3]), 1, UMA_FAULT_PAD, 1, "dims" },
	{ GEMM_F32, OP(1, dims[4]), 1, UMA_FAULT_PAD, 1, "dims" },
	{ GEMM_F32, OP(1, strides[3]), 1, UMA_FAULT_PAD, 1, "strides" },
	{ GEMM_F32, OP(0, dims[0]), 2, UMA_FAULT_DIMS, 1, "dims" },
	{ GEMM_F32, OP(1, dims[1]), 6, UMA_FAULT_DIMS, 1, "dims" },
	{ GEMM_F32, OP(1, dims[2]), 39, UMA_FAULT_DIMS, 2, "dims" },
	{ GEMM_F32, OP(2, dims[2]), 23, UMA_FAULT_DIMS, 2, "dims" },
	{ GEMM_FULL, OP(4, dims[1]), 4, UMA_FAULT_DIMS, 4, "dims" },
	{ COPY, OP(1, dims[0]), 3, UMA_FAULT_DIMS, 1, "dims" },
	{ BINARY, OP(2, dims[2]), 9, UMA_FAULT_DIMS, 2, "dims" },
	{ COPY, OP(0, dims[0]), 0xffffffff, UMA_FAULT_DIMS, 1, "dims" },
	{ GEMM_F32, OP(1, strides[0]), 1ULL << 63, UMA_FAULT_STRIDES, 1, "strides" },
	{ GEMM_F32, OP(1, strides[0]), (1ULL << 63) - 1, UMA_FAULT_STRIDES, 1, "strides" },
	{ GEMM_F32, OP(1, strides[0]), 1ULL << 49, UMA_FAULT_RANGE, 1, "addr" },
	{ GEMM_F32, OP(1, strides[0]), NEG(1ULL << 49), UMA_FAULT_RANGE, 1, "addr" },
	{ GEMM_F32, OP(0, strides[0]), 119, UMA_FAULT_STRIDES, 0, "strides" },
	{ GEMM_F32, OP(0, strides[0]), 0, UMA_FAULT_STRIDES, 0, "strides" },
	{ GEMM_F32, OP(0, strides[2]), 2, UMA_FAULT_STRIDES, 0, "strides" },
	{ COPY_S4, OP(1, strides[1]), 11, UMA_FAULT_STRIDES, 1, "strides" },
	{ COPY_S4, OP(1, strides[2]), 3, UMA_FAULT_STRIDES, 1, "strides" },
	{ COPY_S4, OP(1, strides[2]), NEG(1), UMA_FAULT_STRIDES, 1, "strides" },
	{ COPY_S4, OP(1, strides[1]), 1, UMA_FAULT_STRIDES, 1, "strides" },
	/* blocks */
	{ BLOCKS, OP(2, addr), MT_BASE + 40001, UMA_FAULT_ALIGN, 2, "addr" },
	{ BLOCKS, OP(2, addr), (1ULL << 48) - 24 * 288 + 2, UMA_FAULT_RANGE, 2, "addr" },
	{ BLOCKS, OP(2, strides[1]), 511, UMA_FAULT_STRIDES, 2, "strides" },
	{ BLOCKS, OP(2, strides[1]), 1, UMA_FAULT_STRIDES, 2, "strides" },
	{ BLOCKS, OP(2, strides[1]), 520, UMA_FAULT_STRIDES, 2, "strides" },
	{ BLOCKS, OP(2, strides[0]), 256, UMA_FAULT_DIMS, 2, "dims" },
	{ BLOCKS, OP(2, strides[0]), NEG(1), UMA_FAULT_STRIDES, 2, "strides" },
	{ BLOCKS, OP(2, strides[1]), 1ULL << 50, UMA_FAULT_RANGE, 2, "addr" },
	{ BLOCKS, OP(2, dims[0]), 510, UMA_FAULT_DIMS, 2, "dims" },
	{ BLOCKS, OP(2, dims[0]), 256, UMA_FAULT_DIMS, 2, "dims" },
	{ BLOCKS, OP(2, quant), UMA_QUANT_TENSOR, UMA_FAULT_QUANT, 2, "quant" },
	{ BLOCKS, OP(2, quant), UMA_QUANT_GROUP, UMA_FAULT_QUANT, 2, "quant" },
	{ BLOCKS, OP(2, layout), UMA_LAYOUT_GEMM_B, UMA_FAULT_STRIDES, 2, "strides" },
	{ BLOCKS, OP(1, dtype), UMA_DTYPE_S32, UMA_FAULT_DTYPE, 1, "dtype" },
	{ BLOCKS, OP(1, dtype), UMA_DTYPE_Q4_K, UMA_FAULT_DTYPE, 1, "dtype" },
	{ BLOCKS, OP(0, dtype), UMA_DTYPE_Q8_0, UMA_FAULT_DTYPE, 0, "dtype" },
	{ COPY_BLOCKS, AT(opcode), UMA_OP_UNARY, UMA_FAULT_DTYPE, 1, "dtype" },
	{ COPY_BLOCKS, OP(1, dtype), UMA_DTYPE_Q6_K, UMA_FAULT_STRIDES, 1, "strides" },
	{ COPY_BLOCKS, OP(0, dtype), UMA_DTYPE_Q8_0, UMA_FAULT_DTYPE, 0, "dtype" },
	{ COPY_BLOCKS, OP(1, strides[1]), 16, UMA_FAULT_STRIDES, 1, "strides" },
	/* quantisation */
	{ GEMM_F32, OP(1, quant), 1, UMA_FAULT_QUANT, 1, "quant" },
	{ GEMM_S8, OP(1, quant), UMA_QUANT_COUNT, UMA_FAULT_QUANT, 1, "quant" },
	{ GEMM_S8, OP(1, quant), 0xffff, UMA_FAULT_QUANT, 1, "quant" },
	{ GEMM_S8, OP(1, quant), 0, UMA_FAULT_PAD, 1, "scale" },
	{ GEMM_S8, OP(1, scale), 0, UMA_FAULT_QUANT, 1, "scale" },
	{ GEMM_S8, OP(1, scale), 0xbf800000, UMA_FAULT_QUANT, 1, "scale" },
	{ GEMM_S8, OP(1, scale), 0x7f800000, UMA_FAULT_QUANT, 1, "scale" },
	{ GEMM_S8, OP(1, scale), 0x7fc00000, UMA_FAULT_QUANT, 1, "scale" },
	{ GEMM_S8, OP(1, zero), 128, UMA_FAULT_QUANT, 1, "zero" },
	{ GEMM_S8, OP(1, zero), 0x80000000, UMA_FAULT_QUANT, 1, "zero" },
	{ GEMM_S8, OP(1, quant_axis), 1, UMA_FAULT_PAD, 1, "quant_axis" },
	{ GEMM_S8, OP(1, quant_group), 16, UMA_FAULT_PAD, 1, "quant_group" },
	{ GEMM_S8, OP(1, scale_addr), 64, UMA_FAULT_PAD, 1, "scale_addr" },
	{ GEMM_S8, OP(1, zero_addr), 64, UMA_FAULT_PAD, 1, "zero_addr" },
	{ GEMM_S8, OP(1, scale_dtype), 1, UMA_FAULT_PAD, 1, "scale_dtype" },
	{ GEMM_S8, OP(2, quant_axis), 3, UMA_FAULT_QUANT, 2, "quant_axis" },
	{ GEMM_S8, OP(2, quant_axis), 0xffff, UMA_FAULT_QUANT, 2, "quant_axis" },
	{ GEMM_S8, OP(2, quant_axis), 1, UMA_FAULT_QUANT, 2, "quant_axis" },
	{ GEMM_S8, OP(2, scale), 1, UMA_FAULT_PAD, 2, "scale" },
	{ GEMM_S8, OP(2, zero), 1, UMA_FAULT_PAD, 2, "zero" },
	{ GEMM_S8, OP(2, scale_dtype), 0, UMA_FAULT_QUANT, 2, "scale_dtype" },
	{ GEMM_S8, OP(2, scale_dtype), UMA_DTYPE_BF16, UMA_FAULT_QUANT, 2, "scale_dtype" },
	{ GEMM_S8, OP(2, scale_addr), 0, UMA_FAULT_QUANT, 2, "scale_addr" },
	{ GEMM_S8, OP(2, scale_addr), MT_BASE + 1, UMA_FAULT_ALIGN, 2, "scale_addr" },
	{ GEMM_S8, OP(2, zero_addr), MT_BASE + 2, UMA_FAULT_ALIGN, 2, "zero_addr" },
	{ GEMM_S8, OP(2, scale_addr), NEG(4), UMA_FAULT_RANGE, 2, "scale_addr" },
	{ GEMM_S8, OP(2, zero_addr), (1ULL << 48) - 4, UMA_FAULT_RANGE, 2, "scale_addr" },
	{ GEMM_W4, OP(2, quant_group), 8, UMA_FAULT_QUANT, 2, "quant_group" },
	{ GEMM_W4, OP(2, quant_group), 24, UMA_FAULT_QUANT, 2, "quant_group" },
	{ GEMM_W4, OP(2, quant_group), 8192, UMA_FAULT_QUANT, 2, "quant_group" },
	{ GEMM_W4, OP(2, quant_group), 0, UMA_FAULT_QUANT, 2, "quant_group" },
	{ GEMM_W4, OP(2, quant_flags), 0x200, UMA_FAULT_FLAGS, 2, "quant_flags" },
	{ GEMM_W4, OP(2, quant_flags), 0x20, UMA_FAULT_FLAGS, 2, "quant_flags" },
	{ GEMM_W4, OP(2, quant_flags), 0x08, UMA_FAULT_QUANT, 2, "quant_flags" },
	{ GEMM_S8, OP(2, quant_flags), 0x100, UMA_FAULT_PAD, 2, "quant_flags" },
	{ GEMM_W4, OP(2, quant_axis), 2, UMA_FAULT_QUANT, 2, "quant_axis" },
	{ GEMM_W4_MIN, OP(2, zero_addr), 0, UMA_FAULT_QUANT, 2, "zero_addr" },
	{ GEMM_W4_MIN, OP(2, zero_addr), MT_BASE + 1, UMA_FAULT_ALIGN, 2, "zero_addr" },
	{ GEMM_W4_MIN, OP(2, zero_addr), (1ULL << 48) - 4, UMA_FAULT_RANGE, 2, "scale_addr" },
	{ GEMM_W4_MIN, OP(2, zero_addr), NEG(4), UMA_FAULT_RANGE, 2, "scale_addr" },
	{ GEMM_W4_MIN, OP(2, quant_group), 8, UMA_FAULT_QUANT, 2, "quant_group" },
	{ GEMM_W4_MIN, OP(2, quant_axis), 2, UMA_FAULT_QUANT, 2, "quant_axis" },
	{ GEMM_W4_MIN, OP(2, scale), 1, UMA_FAULT_PAD, 2, "scale" },
	{ GEMM_W4_MIN, OP(2, scale_dtype), UMA_DTYPE_BF16, UMA_FAULT_QUANT, 2, "scale_dtype" },
	{ GEMM_W4_MIN, OP(0, quant), UMA_QUANT_GROUP_MIN, UMA_FAULT_QUANT, 0, "quant" },
	{ GEMM_S8, OP(1, quant), UMA_QUANT_GROUP_MIN, UMA_FAULT_QUANT, 1, "scale_dtype" },
};

/* --- what needs more than one field --------------------------------------- */

static void test_overlap(void)
{
	struct uma_task t;
	uint64_t d;

	t = bases[GEMM_F32].t.task;
	d = t.op[0].addr;
	t.op[1].addr = d;
	mf_expect("A where DST is", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t.op[1].addr = d + 359 * 4;
	mf_expect("A from the last element of DST", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t.op[1].addr = d + 360 * 4;
	mf_expect("A right behind DST", &t, UMA_FAULT_NONE, 0, "");
	t.op[1].addr = d - 600 * 4;
	mf_expect("A right before DST", &t, UMA_FAULT_NONE, 0, "");

	t = bases[GEMM_FULL].t.task;
	t.op[0].dtype = F32;
	t.op[0].addr = t.op[3].addr;
	mf_expect("DST in place of C", &t, UMA_FAULT_NONE, 0, "");
	t.op[0].addr += 4;
	mf_expect("DST one element beside C", &t, UMA_FAULT_OVERLAP, 3, "addr");
	t.op[0].addr = t.op[6].addr;
	mf_expect("DST in place of the residual", &t, UMA_FAULT_NONE, 0, "");
	t.op[0].addr = t.op[4].addr;
	mf_expect("DST in place of the bias", &t, UMA_FAULT_OVERLAP, 4, "addr");
	t = bases[GEMM_FULL].t.task;
	t.op[0].addr = t.op[3].addr;
	mf_expect("DST on C of another type", &t, UMA_FAULT_OVERLAP, 3, "addr");

	t = bases[BINARY].t.task;
	t.op[1] = t.op[0];
	mf_expect("binary in place", &t, UMA_FAULT_NONE, 0, "");
	t.op[2] = t.op[0];
	mf_expect("binary in place of both", &t, UMA_FAULT_NONE, 0, "");
	t.op[1].strides[0] = 0;
	mf_expect("in place of a broadcast", &t, UMA_FAULT_OVERLAP, 1, "addr");

	/* Column slices of one matrix. */
	t = bases[BINARY].t.task;
	t.op[0].strides[0] = t.op[1].strides[0] = t.op[2].strides[0] = 600;
	t.op[0].strides[1] = t.op[1].strides[1] = t.op[2].strides[1] = 100;
	t.op[1].addr = t.op[0].addr + 40;
	t.op[2].addr = t.op[0].addr + 80;
	mf_expect("column slices side by side", &t, UMA_FAULT_NONE, 0, "");
	t.op[2].addr = t.op[0].addr + 36;
	mf_expect("column slices that touch", &t, UMA_FAULT_OVERLAP, 2, "addr");
	t.op[2].addr = t.op[0].addr + 364;
	mf_expect("a slice that wraps to the next row", &t, UMA_FAULT_OVERLAP, 2, "addr");

	t = bases[GEMM_S8].t.task;
	t.op[0].addr = t.op[2].scale_addr;
	mf_expect("DST on the scales", &t, UMA_FAULT_OVERLAP, 2, "scale_addr");
	t.op[0].addr = t.op[2].zero_addr;
	mf_expect("DST on the zero points", &t, UMA_FAULT_OVERLAP, 2, "zero_addr");
	t = bases[GEMM_W4_MIN].t.task;
	t.op[0].addr = t.op[2].zero_addr;
	mf_expect("DST on the minima", &t, UMA_FAULT_OVERLAP, 2, "zero_addr");
	t = bases[DYNAMIC].t.task;
	t.op[0].addr = t.shape_addr;
	mf_expect("DST on the shapes", &t, UMA_FAULT_OVERLAP, NONE, "shape_addr");
	t = bases[LENGTH].t.task;
	t.op[0].addr = t.shape_addr;
	mf_expect("DST on the length", &t, UMA_FAULT_OVERLAP, NONE, "shape_addr");
	t.op[0].addr = t.shape_addr + 4;
	mf_expect("DST behind the length", &t, UMA_FAULT_NONE, 0, "");
	/* The padding of the last panel, which only the engine knows. */
	t = bases[PACKED].t.task;
	t.op[0].addr = t.op[2].addr + 64 + 3 * 40 * 32 * 4 - 4;
	mf_expect("DST on the padding of B", &t, UMA_FAULT_OVERLAP, 2, "addr");
	t.op[0].addr += 4;
	mf_expect("DST behind the padding of B", &t, UMA_FAULT_NONE, 0, "");
	t = bases[PACK].t.task;
	t.op[1].addr = t.op[0].addr + 64 + 4 * 8 * 16 - 1;
	mf_expect("A on the padding of DST", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t.op[0].addr = (1ULL << 48) - 512;
	mf_expect("padding beyond the address width", &t, UMA_FAULT_RANGE, 0, "addr");
}

static void refused(const char *what, const char *profile, uint32_t class,
		    uint32_t base, uint32_t slot, const char *field)
{
	static struct uma_op op;
	struct uma_fault_info f = { 0 };
	int r = uma_task_decode(&bases[base].t.task, &op, &f);

	if (!r)
		r = uma_op_check(&op, mt_engine(profile, class), &f);
	if (!field) {
		tap_ok(r >= 0, "%s", what);
		return;
	}
	tap_ok(r < 0 && f.slot == slot && !strcmp(f.field, field) &&
	       (f.reason == UMA_FAULT_UNSUPPORTED || f.reason == UMA_FAULT_ALIGN),
	       "%s: refused for slot %u %s", what, slot, field);
	if (tap_failed && r < 0)
		printf("# fault %s slot %u field %s\n", uma_fault_name(f.reason), f.slot, f.field);
}

/* Sums of so many products, of the same elements again and again. */
static void deep_sum(const char *what, uint32_t base, uint32_t k, const char *field)
{
	const struct mf_base keep = bases[base];
	struct uma_task *t = &bases[base].t.task;

	t->op[1].dims[2] = k;
	t->op[2].dims[1] = k;
	memset(t->op[1].strides, 0, sizeof(t->op[1].strides));
	memset(t->op[2].strides, 0, sizeof(t->op[2].strides));
	refused(what, "full", UMA_ENGINE_MATRIX, base, 1, field);
	bases[base] = keep;
}

static void test_engines(void)
{
	struct mf_base keep = bases[GEMM_F32];
	int i;

	for (i = 0; i < 3; i++)
		bases[GEMM_F32].t.task.op[i].dtype = BF16;
	refused("bf16 on m1's MATRIX", "m1", UMA_ENGINE_MATRIX, GEMM_F32, 1, "dtype");
	refused("bf16 on m2's MATRIX", "m2", UMA_ENGINE_MATRIX, GEMM_F32, 1, "dtype");
	refused("bf16 on m3's MATRIX", "m3", UMA_ENGINE_MATRIX, GEMM_F32, 1, NULL);
	refused("bf16 on m1's GPU", "m1", UMA_ENGINE_GPU, GEMM_F32, 1, NULL);
	refused("bf16 on m3's NEURAL", "m3", UMA_ENGINE_NEURAL, GEMM_F32, 1, "dtype");
	bases[GEMM_F32] = keep;
	bases[GEMM_F32].t.task.op[2].dtype = BF16;
	refused("f32 by bf16 on m1's MATRIX", "m1", UMA_ENGINE_MATRIX, GEMM_F32, 2, "dtype");
	refused("f32 by bf16 on m1's GPU", "m1", UMA_ENGINE_GPU, GEMM_F32, 2, NULL);
	bases[GEMM_F32] = keep;
	refused("f32 on m1's NEURAL", "m1", UMA_ENGINE_NEURAL, GEMM_F32, 1, "dtype");
	bases[GEMM_W4].t.task.op[0].dtype = F16;
	refused("4-bit weights on m2's NEURAL", "m2", UMA_ENGINE_NEURAL, GEMM_W4, 2, "dtype");
	bases[GEMM_W4].t.task.op[0].addr = (bases[GEMM_W4].t.task.op[0].addr + 63) & ~63ULL;
	bases[GEMM_W4].t.task.op[1].addr = bases[GEMM_W4].t.task.op[0].addr + 4096;
	bases[GEMM_W4].t.task.op[2].addr = bases[GEMM_W4].t.task.op[0].addr + 8192;
	refused("4-bit weights on m3's NEURAL", "m3", UMA_ENGINE_NEURAL, GEMM_W4, 2, NULL);
	bases[GEMM_W4].t.task.op[1].addr += 2;
	refused("misaligned on m3's NEURAL", "m3", UMA_ENGINE_NEURAL, GEMM_W4, 1, "addr");
	refused("dynamic shapes on m1", "m1", UMA_ENGINE_GPU, DYNAMIC, NONE, "flags");
	refused("dynamic shapes on m2", "m2", UMA_ENGINE_GPU, DYNAMIC, NONE, NULL);
	refused("a length on m1", "m1", UMA_ENGINE_GPU, LENGTH, NONE, "flags");
	refused("a length on m2", "m2", UMA_ENGINE_GPU, LENGTH, NONE, NULL);
	keep = bases[GEMM_W4];
	bases[GEMM_W4].t.task.params[8] = 32;
	refused("a_group on m1's MATRIX", "m1", UMA_ENGINE_MATRIX, GEMM_W4, NONE, "params.a_group");
	bases[GEMM_W4] = keep;
	refused("binary on MATRIX", "m1", UMA_ENGINE_MATRIX, BINARY, NONE, "opcode");
	keep = bases[GEMM_FULL];
	bases[GEMM_FULL].t.task.epilogue.act = UMA_ACT_GELU;
	bases[GEMM_FULL].t.task.epilogue.p1 = 0;
	refused("gelu on m1's MATRIX", "m1", UMA_ENGINE_MATRIX, GEMM_FULL, NONE,
		"epilogue.act");
	bases[GEMM_FULL] = keep;
	deep_sum("bytes, K of 65537", GEMM_EXACT, 65537, "dims");
	deep_sum("K of 65537", GEMM_F32, 65537, NULL);
	deep_sum("K of 2^24 + 1", GEMM_F32, (1u << 24) + 1, "dims");
	tap_ok(!uma_profile_find("m4") && !uma_profile_find("m") && !uma_profile_find("m1x") &&
	       !uma_profile_get(5) && uma_profile_find("ultra")->node_count == 2,
	       "profiles by name");
}

static void test_names(void)
{
	uint32_t i;

	for (i = 0; i < UMA_FAULT_COUNT; i++)
		if (!uma_fault_name(i) || !strcmp(uma_fault_name(i), "unknown"))
			break;
	tap_ok(i == UMA_FAULT_COUNT && !strcmp(uma_fault_name(UMA_FAULT_COUNT), "unknown"),
	       "every fault has a name");
}

int main(void)
{
	mf_make(bases, BASES);
	mf_mutate(bases, mutations, sizeof(mutations) / sizeof(mutations[0]));
	test_overlap();
	mf_flip(bases, BASES);
	test_engines();
	test_names();
	return tap_done();
}
