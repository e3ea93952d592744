// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Random valid tasks. */
#include <string.h>

#include "gen.h"

static int is_float(int t)
{
	return t >= F32 && t <= BF16;
}

static int pick(struct mt_rng *r, const int *list, uint32_t n)
{
	return list[mt_below(r, n)];
}

#define PICK(r, ...) \
	pick(r, (const int[]){ __VA_ARGS__ }, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* --- epilogues ------------------------------------------------------------ */

static void random_act(struct mt_task *t, int simple)
{
	struct uma_epilogue *e = &t->task.epilogue;

	if (mt_one_in(&t->rng, 3))
		return;
	e->act = simple ? UMA_ACT_RELU : mt_below(&t->rng, UMA_ACT_COUNT);
	if (e->act == UMA_ACT_CLAMP) {
		e->p0 = mt_bits(-0.5f);
		e->p1 = mt_bits(0.75f);
	} else if (e->act == UMA_ACT_LEAKY_RELU) {
		e->p0 = mt_bits(0.125f);
	} else if (e->act == UMA_ACT_ELU || e->act == UMA_ACT_CELU) {
		e->p0 = mt_bits(0.75f);
	} else if (e->act == UMA_ACT_HARD_SIGMOID) {
		e->p0 = mt_bits(0.2f);
		e->p1 = mt_bits(0.5f);
	} else if (e->act == UMA_ACT_SELU) {
		e->p0 = mt_bits(1.6732632f);
		e->p1 = mt_bits(1.0507010f);
	}
}

static int other_type(struct mt_task *t, int exact)
{
	/* s32 is among the results of products of bytes only. */
	return exact ? S32 : PICK(&t->rng, F32, F32, F16, BF16, S8, U8,
				  is_float(t->task.op[UMA_SLOT_A].dtype) ? F32 : S32);
}

static void add_other(struct mt_task *t, int slot, int exact)
{
	struct uma_operand *d = &t->task.op[UMA_SLOT_DST];
	int type = other_type(t, exact);

	/* On the spot, where that is allowed. */
	if ((slot == UMA_SLOT_C || slot == UMA_SLOT_RESIDUAL) && mt_one_in(&t->rng, 4) &&
	    (!exact || d->dtype == S32)) {
		t->task.op[slot] = *d;
		t->task.slots |= 1u << slot;
		return;
	}
	mt_operand(t, slot, type, d->rank, d->dims, MT_BROADCAST);
	if (!exact && (type == S8 || type == U8) && mt_one_in(&t->rng, 2))
		mt_quant(t, slot, UMA_QUANT_TENSOR, 0, 0, 1);
}

void gen_epilogue(struct mt_task *t, int exact)
{
	struct uma_epilogue *e = &t->task.epilogue;

	random_act(t, exact);
	if (mt_one_in(&t->rng, 2)) {
		e->flags |= UMA_EPI_BIAS;
		add_other(t, UMA_SLOT_BIAS, exact);
	}
	if (!exact && mt_one_in(&t->rng, 4)) {
		e->flags |= UMA_EPI_SCALE;
		add_other(t, UMA_SLOT_SCALE, exact);
	}
	if (mt_one_in(&t->rng, 3)) {
		e->flags |= mt_one_in(&t->rng, 2) ? UMA_EPI_RESIDUAL : UMA_EPI_RESIDUAL_POST;
		add_other(t, UMA_SLOT_RESIDUAL, exact);
	}
}

static void no_quant(struct mt_task *t, int slot)
{
	memset(&t->task.op[slot].quant, 0, sizeof(t->task.op[slot]) -
	       offsetof(struct uma_operand, quant));
}

/* --- GEMM ----------------------------------------------------------------- */

static uint32_t edge(struct mt_rng *r, uint32_t big)
{
	static const uint32_t sizes[] = {
		1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 15, 16, 17, 31, 32, 33, 47, 49,
		63, 64, 65, 97, 100, 127, 129, 161, 257,
	};
	uint32_t v;

	if (mt_one_in(r, 60))
		return 0;
	do
		v = sizes[mt_below(r, sizeof(sizes) / sizeof(sizes[0]))];
	while (v > big);
	return v;
}

/*
 * Rows of each matrix: what a router gives, and what a hostile one does. Bias and scale
 * are sometimes the matrices' own.
 */
static void gen_experts(struct mt_task *t, uint32_t m, uint32_t experts)
{
	static const int32_t hostile[] = { -1, INT32_MIN, INT32_MAX, 0x40000000, 97 };
	struct mt_rng *r = &t->rng;
	int32_t count;
	uint32_t s, e, flags;
	struct uma_operand *o;
	int64_t at;

	mt_operand(t, UMA_SLOT_AUX0, S32, 1, &experts, MT_STRIDED);
	o = &t->task.op[UMA_SLOT_AUX0];
	for (e = 0; e < experts; e++) {
		count = mt_one_in(r, 6) ? hostile[mt_below(r, 5)] :
					  (int32_t)mt_below(r, 2 * m / experts + 2);
		at = (int64_t)(o->addr - MT_BASE) + 4 * (int64_t)e * (int64_t)o->strides[0];
		memcpy(t->image + at, &count, 4);
	}
	/* Each matrix begins with a byte; groups of A do not lie swapped. */
	o = &t->task.op[UMA_SLOT_B];
	if ((o->dtype == S4 || o->dtype == U4) && o->strides[0] & 1) {
		no_quant(t, UMA_SLOT_B);
		mt_operand(t, UMA_SLOT_B, o->dtype, 3, o->dims, MT_PLAIN);
		if (is_float(t->task.op[UMA_SLOT_A].dtype))
			mt_quant(t, UMA_SLOT_B, UMA_QUANT_GROUP_MIN, 1, 32, 1);
	}
	t->task.op[UMA_SLOT_A].quant_flags &= (uint16_t)~UMA_QUANT_SWAPPED;
	for (s = UMA_SLOT_BIAS; s <= UMA_SLOT_SCALE; s++) {
		uint32_t own[3] = { experts, m, t->task.op[UMA_SLOT_DST].dims[2] };
		int exact = t->task.op[s].dtype == S32;
		uint64_t bytes = 16ull * own[0] * own[1] * own[2];

		/* Strides take more than elements, and others want room, too. */
		if (t->task.slots >> s & 1 && mt_one_in(r, 2) && t->used + bytes < MT_SIZE / 2) {
			no_quant(t, (int)s);
			mt_operand(t, (int)s, exact ? S32 : F32, 3, own, MT_BROADCAST);
		}
	}
	memcpy(&flags, t->task.params + 12, 4);
	flags |= UMA_GEMM_EXPERTS;
	memcpy(t->task.params + 12, &flags, 4);
}

void gen_gemm(struct mt_task *t, const struct gen_types *c)
{
	struct mt_rng *r = &t->rng;
	int rank = 2 + (int)mt_below(r, 4), i, experts;
	uint32_t da[UMA_MAX_RANK], db[UMA_MAX_RANK], dd[UMA_MAX_RANK];
	int exact = 0, style = PICK(r, MT_PLAIN, MT_STRIDED, MT_BROADCAST);
	uint32_t limit = rank == 2 ? 257 : 33;
	uint32_t m, n, k, blocks = (uint32_t)mt_block_size(c->b);
	float alpha = 1, beta = 0;

	if (mt_one_in(r, 3))
		rank = 2, limit = 257;
	experts = rank == 3 && mt_one_in(r, 2);
	if (experts)
		limit = 129;
	do {
		m = edge(r, limit);
		n = edge(r, limit);
		k = edge(r, limit);
		/* Not always a block: with nothing to add up there is none. */
		if (blocks && k)
			k = blocks * (1 + k % (512 / blocks));
	} while ((uint64_t)m * n * k > 600000 || m * n > 20000 ||
		 (blocks && (m + n) * k > (rank > 2 ? 4000 : 60000)));
	for (i = 0; i + 2 < rank; i++)
		da[i] = db[i] = dd[i] = mt_one_in(r, 40) ? 0 : 1 + mt_below(r, 3);
	if (experts) {
		da[0] = dd[0] = 1;
		db[0] = mt_one_in(r, 40) ? 0 : 1 + mt_below(r, 9);
	}
	da[rank - 2] = dd[rank - 2] = m;
	db[rank - 1] = dd[rank - 1] = n;
	da[rank - 1] = db[rank - 2] = k;
	mt_operand(t, UMA_SLOT_DST, c->d, rank, dd, mt_one_in(r, 2) ? MT_PLAIN : MT_STRIDED);
	mt_operand(t, UMA_SLOT_A, c->a, rank, da, style);
	if (blocks)
		mt_blocks(t, UMA_SLOT_B, c->b, rank, db, rank - 2, style);
	else
		mt_operand(t, UMA_SLOT_B, c->b, rank, db, style);
	if (c->d == S8 || c->d == U8) {
		if (!mt_one_in(r, 4))
			mt_quant(t, UMA_SLOT_DST, UMA_QUANT_TENSOR, 0, 0, 1);
	} else if (c->d == S32) {
		exact = !mt_one_in(r, 4);
		if (!exact)
			mt_quant(t, UMA_SLOT_DST, UMA_QUANT_TENSOR, 0, 0, 1);
	}
	if (!is_float(c->a)) {
		int q = (int)mt_below(r, exact ? 2 : 4);

		if (q)
			mt_quant(t, UMA_SLOT_A, q, q == UMA_QUANT_CHANNEL ? rank - 2 : rank - 1,
				 16u << mt_below(r, 3), q == UMA_QUANT_TENSOR || mt_one_in(r, 2));
	}
	if (!is_float(c->b) && !blocks) {
		int q = (int)mt_below(r, exact ? 2 : UMA_QUANT_COUNT);

		mt_quant(t, UMA_SLOT_B, q, q == UMA_QUANT_CHANNEL ? rank - 1 : rank - 2,
			 16u << mt_below(r, 3), mt_one_in(r, 2));
	}
	if (exact) {
		if (t->task.op[UMA_SLOT_A].quant)
			t->task.op[UMA_SLOT_A].scale = mt_bits(1);
		if (t->task.op[UMA_SLOT_B].quant)
			t->task.op[UMA_SLOT_B].scale = mt_bits(1);
	} else if (mt_one_in(r, 3)) {
		alpha = 0.375f;
	}
	if (mt_one_in(r, 3)) {
		beta = exact ? 1.0f : -0.75f;
		add_other(t, UMA_SLOT_C, exact);
	}
	memcpy(t->task.params, &alpha, 4);
	memcpy(t->task.params + 4, &beta, 4);
	if (is_float(c->a) && !is_float(c->b) && mt_one_in(r, 3)) {
		const uint32_t a_group = 16u << mt_below(r, 4);
		const uint32_t flags = mt_one_in(r, 2) ? UMA_GEMM_BF16 : 0;

		memcpy(t->task.params + 8, &a_group, 4);
		memcpy(t->task.params + 12, &flags, 4);
	}
	if (mt_one_in(r, 2))
		gen_epilogue(t, exact);
	if (experts)
		gen_experts(t, m, db[0]);
}

/* --- element by element --------------------------------------------------- */

static int random_dims(struct mt_rng *r, uint32_t *dims)
{
	int rank = 1 + (int)mt_below(r, UMA_MAX_RANK), i;
	uint32_t n = 1;

	for (i = 0; i < rank; i++) {
		do
			dims[i] = mt_one_in(r, 60) ? 0 : mt_one_in(r, 12) ?
				1000 + mt_below(r, 2000) : 1 + mt_below(r, 9);
		while (dims[i] * n > 6000);
		n *= dims[i];
	}
	return rank;
}

static void random_quant(struct mt_task *t, int slot)
{
	const int copied = t->task.opcode == UMA_OP_COPY && slot == UMA_SLOT_A;
	struct uma_operand *o = &t->task.op[slot];

	if (!is_float(o->dtype) && mt_one_in(&t->rng, 2))
		mt_quant(t, slot,
			 (int)mt_below(&t->rng, copied ? UMA_QUANT_COUNT : UMA_QUANT_GROUP_MIN),
			 (int)mt_below(&t->rng, o->rank),
			 (uint32_t)PICK(&t->rng, 16, 32, 1024, 2048),
			 mt_one_in(&t->rng, 2));
}

static int function_of_bits(int opcode, uint32_t func)
{
	if (opcode == UMA_OP_UNARY)
		return func == UMA_UNARY_BIT_NOT;
	return opcode == UMA_OP_BINARY && func >= UMA_BINARY_BIT_AND && func <= UMA_BINARY_SHR;
}

/* C of a selection; conditions of numbers are often zero. */
static void gen_third(struct mt_task *t, int type, int rank, const uint32_t *dims, int style)
{
	mt_operand(t, UMA_SLOT_C, type, rank, dims, style);
	random_quant(t, UMA_SLOT_C);
	if (mt_one_in(&t->rng, 3)) {
		no_quant(t, UMA_SLOT_B);
		no_quant(t, UMA_SLOT_C);
		no_quant(t, UMA_SLOT_DST);
	}
}

void gen_elementwise(struct mt_task *t, const struct gen_types *c, uint32_t func)
{
	uint32_t dims[UMA_MAX_RANK];
	int rank = random_dims(&t->rng, dims);
	int binary = t->task.opcode == UMA_OP_BINARY || t->task.opcode == UMA_OP_SELECT;
	int style = PICK(&t->rng, MT_PLAIN, MT_STRIDED, MT_BROADCAST);
	int bits = function_of_bits(t->task.opcode, func);
	int along = (int)mt_below(&t->rng, (uint32_t)rank);
	int exact, simple, blocks = mt_block_size(c->a);

	/* No dimension of a few elements, and no other of thousands. */
	if (blocks)
		for (exact = 0; exact < rank; exact++)
			dims[exact] = exact == along ? (uint32_t)blocks * (1 + dims[exact] % 3) :
						       dims[exact] % 5;
	if (bits && (c->d < S32 || c->a != c->d || (binary && c->b != c->d))) {
		func = UMA_BINARY_SUB;
		bits = 0;
	}
	mt_operand(t, UMA_SLOT_DST, c->d, rank, dims,
		   style == MT_PLAIN ? MT_PLAIN : MT_STRIDED);
	random_quant(t, UMA_SLOT_DST);
	if (t->task.opcode == UMA_OP_FILL) {
		static const int width[] = { 0, 32, 16, 16, 32, 8, 8, 4, 4 };
		uint32_t v = mt_rand(&t->rng) >> (32 - width[c->d]);

		no_quant(t, UMA_SLOT_DST);
		memcpy(t->task.params, &v, 4);
		return;
	}
	if (blocks) {
		mt_blocks(t, UMA_SLOT_A, c->a, rank, dims, along, style);
	} else if (c->a == c->d && mt_one_in(&t->rng, 5)) {
		t->task.op[UMA_SLOT_A] = t->task.op[UMA_SLOT_DST];
		t->task.slots |= 1u << UMA_SLOT_A;
	} else {
		mt_operand(t, UMA_SLOT_A, c->a, rank, dims, style);
		random_quant(t, UMA_SLOT_A);
		if (mt_one_in(&t->rng, 4))
			mt_contents(t, UMA_SLOT_A, 1);
	}
	if (binary) {
		mt_operand(t, UMA_SLOT_B, c->b, rank, dims, style);
		random_quant(t, UMA_SLOT_B);
		if (mt_one_in(&t->rng, 4))
			mt_contents(t, UMA_SLOT_B, 1);
	}
	if (t->task.opcode == UMA_OP_SELECT)
		gen_third(t, mt_one_in(&t->rng, 2) ? c->b : c->d, rank, dims, style);
	if (t->task.opcode == UMA_OP_COPY || t->task.opcode == UMA_OP_SELECT)
		return;
	if (bits) {
		no_quant(t, UMA_SLOT_DST);
		no_quant(t, UMA_SLOT_A);
		no_quant(t, UMA_SLOT_B);
		memcpy(t->task.params, &func, 4);
		return;
	}
	exact = binary && c->a == S32 && c->b == S32 && c->d == S32;
	simple = exact && !t->task.op[0].quant && !t->task.op[1].quant &&
		 !t->task.op[2].quant;
	if (simple && func == UMA_BINARY_DIV)
		func = UMA_BINARY_SUB;
	memcpy(t->task.params, &func, 4);
	random_act(t, simple);
}

/* --- rotary embedding ------------------------------------------------------ */

void gen_rotary(struct mt_task *t, const struct gen_types *c)
{
	struct mt_rng *r = &t->rng;
	uint32_t dims[4], tables[2], flags = mt_below(r, 4), start = 0, i, pos;
	struct uma_operand *aux = &t->task.op[UMA_SLOT_AUX0];
	int style = PICK(r, MT_PLAIN, MT_STRIDED, MT_BROADCAST);
	const uint32_t one[1] = { 1 };

	for (i = 0; i < 3; i++)
		dims[i] = mt_one_in(r, 40) ? 0 : 1 + mt_below(r, 5);
	dims[3] = mt_one_in(r, 12) ? 1000 + mt_below(r, 600) : 1 + mt_below(r, 40);
	tables[0] = dims[1] + 1 + mt_below(r, 6);
	tables[1] = mt_one_in(r, 2) ? dims[3] / 2 : mt_below(r, dims[3] / 2 + 1);
	mt_operand(t, UMA_SLOT_DST, c->d, 4, dims, style == MT_PLAIN ? MT_PLAIN : MT_STRIDED);
	if (c->a == c->d && mt_one_in(r, 4)) {
		t->task.op[UMA_SLOT_A] = t->task.op[UMA_SLOT_DST];
		t->task.slots |= 1u << UMA_SLOT_A;
	} else {
		mt_operand(t, UMA_SLOT_A, c->a, 4, dims, style);
	}
	mt_operand(t, UMA_SLOT_B, c->b, 2, tables, style);
	mt_operand(t, UMA_SLOT_C, c->b, 2, tables, style);
	for (i = 0; i < 2; i++)
		if (!is_float(t->task.op[i].dtype) && mt_one_in(r, 2))
			mt_quant(t, (int)i, UMA_QUANT_TENSOR, 0, 0, 1);
	if (flags & UMA_ROTARY_POSITIONS) {
		/* One for all rows, which is easily made a good one. */
		mt_operand(t, UMA_SLOT_AUX0, S32, 1, one, MT_PLAIN);
		aux->rank = 2;
		aux->dims[0] = dims[0];
		aux->dims[1] = dims[1];
		memset(aux->strides, 0, sizeof(aux->strides));
		pos = mt_below(r, tables[0]);
		memcpy(t->image + (aux->addr - MT_BASE), &pos, 4);
	} else {
		start = mt_below(r, tables[0] - dims[1] + 1);
	}
	memcpy(t->task.params, &flags, 4);
	memcpy(t->task.params + 4, &start, 4);
}
