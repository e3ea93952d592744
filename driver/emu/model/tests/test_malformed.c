// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hostile descriptors: every field with a value that it must not have, and the
 * fault, the slot and the field that are reported; every single bit flipped,
 * with memory that refuses whatever does not belong to the task. One table, a
 * line for each rule.
 */
#include <string.h>

#include "gen.h"
#include "tap.h"

static uint8_t image[MT_SIZE], work[MT_SIZE];

enum base {
	GEMM_F32, GEMM_S8, GEMM_EXACT, GEMM_W4, GEMM_FULL, COPY, COPY_S4, FILL,
	UNARY, BINARY, BINARY_S32, PACK, PACKED, NOP, DYNAMIC, SELECT, ROTARY,
	CONV, CONV_S8, CONV_WINO, CONV_1D, CONV_BACK, CONV_PACKED,
	ATTENTION, RAGGED, BASES
};

static const char *const base_name[BASES] = {
	"gemm f32", "gemm s8 requantised", "gemm s8 exact", "gemm 4-bit weights",
	"gemm with everything", "copy", "copy s4", "fill", "unary", "binary",
	"binary s32", "pack", "gemm packed", "nop", "dynamic gemm", "select",
	"rotary",
	"conv", "conv s8 exact", "conv winograd", "conv of one dimension", "conv transposed",
	"conv packed",
	"attention with everything", "ragged attention",
};

static struct mt_task bases[BASES];

static void set(struct mt_task *t, int word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

static void operands(struct mt_task *t, int a, int b, int d)
{
	const uint32_t da[] = { 3, 5, 40 }, db[] = { 3, 40, 24 }, dd[] = { 3, 5, 24 };

	mt_operand(t, UMA_SLOT_DST, d, 3, dd, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, a, 3, da, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, b, 3, db, MT_PLAIN);
	set(t, 0, mt_bits(1));
}

static void make_rotary(struct mt_task *t)
{
	const uint32_t dims[] = { 2, 3, 4, 10 }, tables[] = { 7, 4 };

	mt_operand(t, UMA_SLOT_DST, F32, 4, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_A, F32, 4, dims, MT_PLAIN);
	mt_operand(t, UMA_SLOT_B, F32, 2, tables, MT_PLAIN);
	mt_operand(t, UMA_SLOT_C, F32, 2, tables, MT_PLAIN);
	mt_operand(t, UMA_SLOT_AUX0, S32, 2, dims, MT_PLAIN);
	memset(image + (t->task.op[UMA_SLOT_AUX0].addr - MT_BASE), 0, 24);
	set(t, 0, UMA_ROTARY_POSITIONS);
}

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

/* Pages of 4 keys, of int8, and whatever else there may be. */
static void make_attention(struct mt_task *t)
{
	const uint32_t q[] = { 2, 3, 4, 8 }, k[] = { 5, 4, 2, 8 }, v[] = { 5, 4, 2, 6 };
	const uint32_t d[] = { 2, 3, 4, 6 }, mask[] = { 2, 4, 3, 12 }, table[] = { 2, 3 };
	const uint32_t heads[] = { 2, 4 }, parts[] = { 3, 2, 3, 4, 8 };

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
	memset(image + (t->task.op[UMA_SLOT_AUX1].addr - MT_BASE), 0, 24);
	memset(image + (t->task.op[UMA_SLOT_AUX2].addr - MT_BASE), 0, 16);
	image[t->task.op[UMA_SLOT_AUX2].addr - MT_BASE] = 12;
	image[t->task.op[UMA_SLOT_AUX2].addr - MT_BASE + 4] = 3;
	set(t, 0, UMA_ATTN_FLAGS_MASK & ~UMA_ATTN_RAGGED);
	set(t, 1, mt_bits(0.5f));
	set(t, 2, mt_bits(9));
	set(t, 3, 7);
	set(t, 4, 2);
	set(t, 5, 1);
	set(t, 6, 5);
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
	memcpy(image + (t->task.op[UMA_SLOT_AUX2].addr - MT_BASE), lengths, sizeof(lengths));
	set(t, 0, UMA_ATTN_RAGGED | UMA_ATTN_LENGTHS | UMA_ATTN_CAUSAL);
	set(t, 1, mt_bits(0.5f));
	set(t, 7, 3);
}

static void conv_winograd(struct mt_task *t)
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
static void conv_packed(struct mt_task *t)
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
	memcpy(image + (t->task.op[UMA_SLOT_B].addr - MT_BASE), &header, sizeof(header));
	memcpy(t->task.params, &p, sizeof(p));
}

static void make_bases(void)
{
	const uint32_t dims[] = { 4, 6, 10 }, dd[] = { 3, 5, 24 };
	static const uint32_t base_opcode[BASES] = {
		UMA_OP_GEMM, UMA_OP_GEMM, UMA_OP_GEMM, UMA_OP_GEMM, UMA_OP_GEMM,
		UMA_OP_COPY, UMA_OP_COPY, UMA_OP_FILL, UMA_OP_UNARY, UMA_OP_BINARY,
		UMA_OP_BINARY, UMA_OP_PACK, UMA_OP_GEMM, UMA_OP_NOP, UMA_OP_GEMM,
		UMA_OP_SELECT,
		UMA_OP_ROTARY,
		UMA_OP_CONV, UMA_OP_CONV, UMA_OP_CONV, UMA_OP_CONV, UMA_OP_CONV, UMA_OP_CONV,
		UMA_OP_ATTENTION, UMA_OP_ATTENTION,
	};
	struct uma_packed_header header;
	struct mt_task *t;
	uint32_t i;

	for (i = 0; i < BASES; i++) {
		t = &bases[i];
		mt_task_init(t, image, i + 1, (int)base_opcode[i]);
		/* Separate memory for each. */
		t->used = i * (MT_SIZE / BASES) & ~4095u;
	}
	operands(&bases[GEMM_F32], F32, F32, F32);
	operands(&bases[GEMM_S8], S8, U8, S8);
	mt_quant(&bases[GEMM_S8], 0, UMA_QUANT_TENSOR, 0, 0, 1);
	mt_quant(&bases[GEMM_S8], 1, UMA_QUANT_TENSOR, 0, 0, 1);
	mt_quant(&bases[GEMM_S8], 2, UMA_QUANT_CHANNEL, 2, 0, 1);
	operands(&bases[GEMM_EXACT], U8, S8, S32);
	bases[GEMM_EXACT].task.epilogue.flags = UMA_EPI_BIAS;
	mt_operand(&bases[GEMM_EXACT], UMA_SLOT_BIAS, S32, 3, dd, MT_PLAIN);
	operands(&bases[GEMM_W4], F16, S4, F32);
	mt_quant(&bases[GEMM_W4], 2, UMA_QUANT_GROUP, 1, 16, 1);
	t = &bases[GEMM_FULL];
	operands(t, F32, F32, F16);
	set(t, 1, mt_bits(0.5f));
	t->task.epilogue.flags = UMA_EPI_BIAS | UMA_EPI_SCALE | UMA_EPI_RESIDUAL;
	t->task.epilogue.act = UMA_ACT_CLAMP;
	t->task.epilogue.p1 = mt_bits(6);
	for (i = UMA_SLOT_C; i <= UMA_SLOT_RESIDUAL; i++)
		mt_operand(t, (int)i, F32, 3, dd, MT_PLAIN);
	mt_operand(&bases[COPY], 0, S8, 3, dims, MT_PLAIN);
	mt_operand(&bases[COPY], 1, F32, 3, dims, MT_PLAIN);
	mt_quant(&bases[COPY], 0, UMA_QUANT_TENSOR, 0, 0, 1);
	mt_operand(&bases[COPY_S4], 0, F32, 3, dims, MT_PLAIN);
	mt_operand(&bases[COPY_S4], 1, S4, 3, dims, MT_PLAIN);
	mt_operand(&bases[FILL], 0, U8, 3, dims, MT_PLAIN);
	set(&bases[FILL], 0, 0x7f);
	mt_operand(&bases[UNARY], 0, F32, 3, dims, MT_PLAIN);
	mt_operand(&bases[UNARY], 1, F16, 3, dims, MT_PLAIN);
	set(&bases[UNARY], 0, UMA_UNARY_EXP);
	for (i = 0; i < 3; i++) {
		mt_operand(&bases[BINARY], (int)i, F32, 3, dims, MT_PLAIN);
		mt_operand(&bases[BINARY_S32], (int)i, S32, 3, dims, MT_PLAIN);
	}
	for (i = 0; i < 4; i++)
		mt_operand(&bases[SELECT], (int)i, i == 1 ? U8 : F32, 3, dims, MT_PLAIN);
	mt_operand(&bases[PACK], 1, S8, 3, dims, MT_PLAIN);
	mt_operand(&bases[PACK], 0, S8, 3, dims, MT_PLAIN);
	mt_packed(&bases[PACK], 0, 64 + 4 * 8 * 16);
	operands(&bases[PACKED], F32, F32, F32);
	mt_packed(&bases[PACKED], 2, 64 + 3 * 40 * 32 * 4);
	header = (struct uma_packed_header){
		.magic = UMA_PACKED_MAGIC, .version = UMA_PACKED_VERSION,
		.layout = UMA_LAYOUT_GEMM_B, .engine_class = UMA_ENGINE_MATRIX,
		.dtype = F32, .block_k = 1, .block_n = 16, .dims = { 3, 40, 24 }, .rank = 3,
	};
	memcpy(image + (bases[PACKED].task.op[2].addr - MT_BASE), &header, sizeof(header));
	conv(&bases[CONV], F16, F16, F32, 4, 0);
	conv(&bases[CONV_S8], U8, S8, S32, 4, 0);
	bases[CONV_S8].task.epilogue.flags = UMA_EPI_BIAS;
	mt_operand(&bases[CONV_S8], UMA_SLOT_BIAS, S32, 4,
		   bases[CONV_S8].task.op[UMA_SLOT_DST].dims, MT_PLAIN);
	conv_winograd(&bases[CONV_WINO]);
	conv(&bases[CONV_1D], F32, S8, F32, 3, 0);
	mt_quant(&bases[CONV_1D], UMA_SLOT_B, UMA_QUANT_CHANNEL, 0, 0, 1);
	conv(&bases[CONV_BACK], S8, S8, S8, 4, UMA_CONV_TRANSPOSED);
	mt_quant(&bases[CONV_BACK], UMA_SLOT_B, UMA_QUANT_CHANNEL, 1, 0, 1);
	conv_packed(&bases[CONV_PACKED]);
	make_attention(&bases[ATTENTION]);
	make_ragged(&bases[RAGGED]);
	operands(&bases[DYNAMIC], F32, F32, F32);
	t = &bases[DYNAMIC];
	t->task.flags = UMA_TASK_DYNAMIC;
	t->task.shape_addr = mt_alloc(t, 240, 4);
	memset(image + (t->task.shape_addr - MT_BASE), 0, 240);
	for (i = 0; i < 3; i++)
		memcpy(image + (t->task.shape_addr - MT_BASE) + 20 * i,
		       t->task.op[i].dims, 20);
	make_rotary(&bases[ROTARY]);
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
#define NEG(x)		((uint64_t)-(int64_t)(x))

static const struct mutation mutations[] = {
	{ GEMM_F32, AT(version), 0, UMA_FAULT_VERSION, NONE, "version" },
	{ GEMM_F32, AT(version), 2, UMA_FAULT_VERSION, NONE, "version" },
	{ GEMM_F32, AT(opcode), UMA_OP_COUNT, UMA_FAULT_OPCODE, NONE, "opcode" },
	{ GEMM_F32, AT(opcode), 0xffff, UMA_FAULT_OPCODE, NONE, "opcode" },
	{ GEMM_F32, AT(flags), 2, UMA_FAULT_FLAGS, NONE, "flags" },
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
	{ GEMM_F32, AT(pad1[0]), 1, UMA_FAULT_PAD, NONE, "pad1" },
	{ GEMM_F32, AT(pad1[11]), 1ULL << 63, UMA_FAULT_PAD, NONE, "pad1" },
	{ GEMM_F32, AT(pad2[0]), 1, UMA_FAULT_PAD, NONE, "pad2" },
	{ GEMM_F32, AT(pad2[7]), 1ULL << 63, UMA_FAULT_PAD, NONE, "pad2" },
	/* parameters */
	{ GEMM_F32, PAR(2), 1, UMA_FAULT_PAD, NONE, "params.pad" },
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
	{ CONV_WINO, PAR(7), 2, UMA_FAULT_PARAMS, NONE, "params.dilation" },
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
	{ GEMM_F32, OP(2, dtype), UMA_DTYPE_BF16, UMA_FAULT_DTYPE, 2, "dtype" },
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
	{ ATTENTION, OP(0, dtype), UMA_DTYPE_S8, UMA_FAULT_DTYPE, 0, "dtype" },
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
	struct uma_fault_info f = { 0 };
	int r = uma_task_decode(t, &op, &f);

	if (!r)
		r = uma_op_check(&op, mt_engine("full", UMA_ENGINE_MATRIX), &f);
	if (reason == UMA_FAULT_NONE) {
		tap_ok(r >= 0, "%s is accepted", what);
		if (r < 0)
			printf("# fault %s slot %u field %s\n", uma_fault_name(f.reason),
			       f.slot, f.field);
		return;
	}
	tap_ok(r < 0 && f.reason == reason && f.slot == slot && !strcmp(f.field, field),
	       "%s: %s", what, uma_fault_name(reason));
	if (tap_failed && r < 0 && f.reason != reason)
		printf("# fault %s slot %u field %s\n", uma_fault_name(f.reason), f.slot,
		       f.field);
}

static void test_overlap(void)
{
	struct uma_task t;
	uint64_t d;

	t = bases[GEMM_F32].task;
	d = t.op[0].addr;
	t.op[1].addr = d;
	expect("A where DST is", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t.op[1].addr = d + 359 * 4;
	expect("A from the last element of DST", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t.op[1].addr = d + 360 * 4;
	expect("A right behind DST", &t, UMA_FAULT_NONE, 0, "");
	t.op[1].addr = d - 600 * 4;
	expect("A right before DST", &t, UMA_FAULT_NONE, 0, "");

	t = bases[GEMM_FULL].task;
	t.op[0].dtype = F32;
	t.op[0].addr = t.op[3].addr;
	expect("DST in place of C", &t, UMA_FAULT_NONE, 0, "");
	t.op[0].addr += 4;
	expect("DST one element beside C", &t, UMA_FAULT_OVERLAP, 3, "addr");
	t.op[0].addr = t.op[6].addr;
	expect("DST in place of the residual", &t, UMA_FAULT_NONE, 0, "");
	t.op[0].addr = t.op[4].addr;
	expect("DST in place of the bias", &t, UMA_FAULT_OVERLAP, 4, "addr");
	t = bases[GEMM_FULL].task;
	t.op[0].addr = t.op[3].addr;
	expect("DST on C of another type", &t, UMA_FAULT_OVERLAP, 3, "addr");

	t = bases[BINARY].task;
	t.op[1] = t.op[0];
	expect("binary in place", &t, UMA_FAULT_NONE, 0, "");
	t.op[2] = t.op[0];
	expect("binary in place of both", &t, UMA_FAULT_NONE, 0, "");
	t.op[1].strides[0] = 0;
	expect("in place of a broadcast", &t, UMA_FAULT_OVERLAP, 1, "addr");

	/* Column slices of one matrix. */
	t = bases[BINARY].task;
	t.op[0].strides[0] = t.op[1].strides[0] = t.op[2].strides[0] = 600;
	t.op[0].strides[1] = t.op[1].strides[1] = t.op[2].strides[1] = 100;
	t.op[1].addr = t.op[0].addr + 40;
	t.op[2].addr = t.op[0].addr + 80;
	expect("column slices side by side", &t, UMA_FAULT_NONE, 0, "");
	t.op[2].addr = t.op[0].addr + 36;
	expect("column slices that touch", &t, UMA_FAULT_OVERLAP, 2, "addr");
	t.op[2].addr = t.op[0].addr + 364;
	expect("a slice that wraps to the next row", &t, UMA_FAULT_OVERLAP, 2, "addr");

	t = bases[GEMM_S8].task;
	t.op[0].addr = t.op[2].scale_addr;
	expect("DST on the scales", &t, UMA_FAULT_OVERLAP, 2, "scale_addr");
	t.op[0].addr = t.op[2].zero_addr;
	expect("DST on the zero points", &t, UMA_FAULT_OVERLAP, 2, "zero_addr");
	t = bases[DYNAMIC].task;
	t.op[0].addr = t.shape_addr;
	expect("DST on the shapes", &t, UMA_FAULT_OVERLAP, NONE, "shape_addr");
	/* The padding of the last panel, which only the engine knows. */
	t = bases[PACKED].task;
	t.op[0].addr = t.op[2].addr + 64 + 3 * 40 * 32 * 4 - 4;
	expect("DST on the padding of B", &t, UMA_FAULT_OVERLAP, 2, "addr");
	t.op[0].addr += 4;
	expect("DST behind the padding of B", &t, UMA_FAULT_NONE, 0, "");
	t = bases[PACK].task;
	t.op[1].addr = t.op[0].addr + 64 + 4 * 8 * 16 - 1;
	expect("A on the padding of DST", &t, UMA_FAULT_OVERLAP, 1, "addr");
	t.op[0].addr = (1ULL << 48) - 512;
	expect("padding beyond the address width", &t, UMA_FAULT_RANGE, 0, "addr");
}

static void refused(const char *what, const char *profile, uint32_t class,
		    enum base base, uint32_t slot, const char *field)
{
	static struct uma_op op;
	struct uma_fault_info f = { 0 };
	int r = uma_task_decode(&bases[base].task, &op, &f);

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

static void test_engines(void)
{
	struct mt_task keep = bases[GEMM_F32];
	int i;

	for (i = 0; i < 3; i++)
		bases[GEMM_F32].task.op[i].dtype = BF16;
	refused("bf16 on m1's MATRIX", "m1", UMA_ENGINE_MATRIX, GEMM_F32, 1, "dtype");
	refused("bf16 on m2's MATRIX", "m2", UMA_ENGINE_MATRIX, GEMM_F32, 1, "dtype");
	refused("bf16 on m3's MATRIX", "m3", UMA_ENGINE_MATRIX, GEMM_F32, 1, NULL);
	refused("bf16 on m1's GPU", "m1", UMA_ENGINE_GPU, GEMM_F32, 1, NULL);
	refused("bf16 on m3's NEURAL", "m3", UMA_ENGINE_NEURAL, GEMM_F32, 1, "dtype");
	bases[GEMM_F32] = keep;
	refused("f32 on m1's NEURAL", "m1", UMA_ENGINE_NEURAL, GEMM_F32, 1, "dtype");
	bases[GEMM_W4].task.op[0].dtype = F16;
	refused("4-bit weights on m2's NEURAL", "m2", UMA_ENGINE_NEURAL, GEMM_W4, 2, "dtype");
	bases[GEMM_W4].task.op[0].addr = (bases[GEMM_W4].task.op[0].addr + 63) & ~63ULL;
	bases[GEMM_W4].task.op[1].addr = bases[GEMM_W4].task.op[0].addr + 4096;
	bases[GEMM_W4].task.op[2].addr = bases[GEMM_W4].task.op[0].addr + 8192;
	refused("4-bit weights on m3's NEURAL", "m3", UMA_ENGINE_NEURAL, GEMM_W4, 2, NULL);
	bases[GEMM_W4].task.op[1].addr += 2;
	refused("misaligned on m3's NEURAL", "m3", UMA_ENGINE_NEURAL, GEMM_W4, 1, "addr");
	refused("dynamic shapes on m1", "m1", UMA_ENGINE_GPU, DYNAMIC, NONE, "flags");
	refused("dynamic shapes on m2", "m2", UMA_ENGINE_GPU, DYNAMIC, NONE, NULL);
	refused("binary on MATRIX", "m1", UMA_ENGINE_MATRIX, BINARY, NONE, "opcode");
	keep = bases[GEMM_FULL];
	bases[GEMM_FULL].task.epilogue.act = UMA_ACT_GELU;
	bases[GEMM_FULL].task.epilogue.p1 = 0;
	refused("gelu on m1's MATRIX", "m1", UMA_ENGINE_MATRIX, GEMM_FULL, NONE,
		"epilogue.act");
	bases[GEMM_FULL] = keep;
	keep = bases[GEMM_F32];
	bases[GEMM_F32].task.op[1].dims[2] = bases[GEMM_F32].task.op[2].dims[1] = 65537;
	memset(bases[GEMM_F32].task.op[1].strides, 0, 40);
	memset(bases[GEMM_F32].task.op[2].strides, 0, 40);
	refused("K of 65537", "full", UMA_ENGINE_MATRIX, GEMM_F32, 1, "dims");
	bases[GEMM_F32] = keep;
	tap_ok(!uma_profile_find("m4") && !uma_profile_find("m") && !uma_profile_find("m1x") &&
	       !uma_profile_get(5) && uma_profile_find("ultra")->node_count == 2,
	       "profiles by name");
}

/* Positions that the tables do not have, wherever they are. */
static void test_positions(void)
{
	static const int32_t bad[] = { -1, 7, 8, INT32_MAX, INT32_MIN };
	static const struct mt_variant v = { NULL, 3000, 4096 };
	struct mt_task *t = &bases[ROTARY];
	uint64_t addr = t->task.op[UMA_SLOT_AUX0].addr;
	struct uma_task start = t->task;
	struct mt_variant with = v;
	struct uma_fault_info f;
	uint32_t i, at, wrong = 0;
	int r;

	with.kernels = uma_kernels_portable();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (at = 0; at < 6; at++) {
			memcpy(work, image, MT_SIZE);
			memcpy(work + (addr - MT_BASE) + 4 * at, &bad[i], 4);
			memset(&f, 0, sizeof(f));
			r = mt_run(&t->task, mt_engine("full", UMA_ENGINE_GPU), &with, work, &f);
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
	expect("the last position", &start, UMA_FAULT_NONE, 0, "");
	start.params[4] = 5;
	expect("one position more", &start, UMA_FAULT_PARAMS, NONE, "params.start");
	memset(start.params + 4, 0xff, 4);
	expect("positions that wrap", &start, UMA_FAULT_PARAMS, NONE, "params.start");
	start.params[4] = start.params[5] = start.params[6] = start.params[7] = 0;
	start.op[0].addr = start.op[1].addr;
	expect("rotary in place", &start, UMA_FAULT_NONE, 0, "");
	start.op[0].addr += 4;
	expect("rotary beside itself", &start, UMA_FAULT_OVERLAP, 1, "addr");
	start.op[0].addr = start.op[3].addr;
	expect("rotary over its sines", &start, UMA_FAULT_OVERLAP, 3, "addr");
	start = t->task;
	start.op[0].dtype = S8;
	start.op[0].quant = UMA_QUANT_CHANNEL;
	start.op[0].scale_addr = start.op[0].addr + 1024;
	start.op[0].scale_dtype = F32;
	expect("rotary with scales", &start, UMA_FAULT_QUANT, 0, "quant");
}

/* --- single bits ---------------------------------------------------------- */

/* Decode, check and run what is left of a task; memory ends where it ends. */
static int attempt(const struct uma_task *task, uint64_t lo, uint64_t hi, uint32_t page,
		   const char **why)
{
	static struct uma_program prog;
	static struct uma_op op;
	static uint8_t scratch[UMA_SCRATCH_SIZE] __attribute__((aligned(64)));
	const struct uma_engine_desc *e = mt_engine("full", UMA_ENGINE_MATRIX);
	struct uma_fault_info f = { 0 };
	struct mt_rng rng = { .s = 7 };
	uint32_t phase, tile, step, budget = 300;
	struct mt_home home;
	int r;

	*why = NULL;
	if (uma_task_decode(task, &op, &f))
		goto fault;
	if (uma_op_check(&op, e, &f) < 0)
		goto fault;
	mt_home_open(&home, work, page, &rng);
	home.lo = lo;
	home.hi = hi;
	r = uma_prepare(&prog, &op, e, uma_kernels_portable(), 20000, &home.mem, &f);
	for (phase = 0; !r && phase < prog.phase_count; phase++) {
		for (tile = 0; !r && budget && tile < prog.tiles[phase]; tile++) {
			step = 0;
			do {
				r = uma_run_step(&prog, phase, tile, &step, &home.mem,
						 scratch, &f);
			} while (r > 0 && --budget);
			r = r > 0 ? 0 : r;
		}
	}
	/* A step's memory accesses are bounded. */
	if (home.maps > 300 * 20000)
		*why = "too much work in a step";
	mt_home_close(&home, work);
	if (r < 0)
		goto fault;
	return 0;
fault:
	if (f.reason == UMA_FAULT_NONE || f.reason >= UMA_FAULT_COUNT || !f.field ||
	    (f.slot >= UMA_TASK_SLOTS && f.slot != UMA_FAULT_NO_SLOT))
		*why = "fault without reason, slot or field";
	return -1;
}

static void flip_bits(enum base base)
{
	struct uma_task *t = &bases[base].task;
	uint64_t lo = MT_BASE + (base * (MT_SIZE / BASES) & ~4095u);
	uint64_t hi = MT_BASE + bases[base].used;
	uint32_t word, bit, accepted = 0, bad = 0;
	const char *why;

	memcpy(work, image, MT_SIZE);
	for (word = 0; word < UMA_TASK_SIZE / 4; word++) {
		for (bit = 0; bit < 32; bit++) {
			uint32_t v;

			memcpy(&v, (uint8_t *)t + 4 * word, 4);
			v ^= 1u << bit;
			memcpy((uint8_t *)t + 4 * word, &v, 4);
			accepted += !attempt(t, lo, hi, bit & 1 ? 0 : 4096, &why);
			if (why && !bad++)
				printf("# word %u bit %u: %s\n", word, bit, why);
			v ^= 1u << bit;
			memcpy((uint8_t *)t + 4 * word, &v, 4);
		}
	}
	tap_ok(!bad, "%s with every bit flipped: faults or runs (%u ran)", base_name[base],
	       accepted);
}

int main(void)
{
	struct uma_fault_info f = { 0 };
	static struct uma_op op;
	uint32_t i, b;
	int ok;

	make_bases();
	for (b = 0; b < BASES; b++) {
		ok = !uma_task_decode(&bases[b].task, &op, &f) &&
		     uma_op_check(&op, mt_engine("full", UMA_ENGINE_MATRIX), &f) >= 0;
		tap_ok(ok, "%s is valid", base_name[b]);
		if (!ok)
			printf("# fault %s slot %u field %s\n", uma_fault_name(f.reason),
			       f.slot, f.field);
	}
	for (i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++) {
		const struct mutation *m = &mutations[i];

		tap_ok(try_mutation(m), "%s: byte %u becomes %llx: %s %u %s",
		       base_name[m->base], m->offset, (unsigned long long)m->value,
		       uma_fault_name(m->reason), m->slot, m->field);
	}
	test_overlap();
	test_positions();
	for (b = 0; b < BASES; b++)
		flip_bits((enum base)b);
	test_engines();
	for (i = 0; i < UMA_FAULT_COUNT; i++)
		if (!uma_fault_name(i) || !strcmp(uma_fault_name(i), "unknown"))
			break;
	tap_ok(i == UMA_FAULT_COUNT && !strcmp(uma_fault_name(UMA_FAULT_COUNT), "unknown"),
	       "every fault has a name");
	return tap_done();
}
