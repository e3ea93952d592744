// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Random valid tasks that work along dimensions: NORM, SOFTMAX, REDUCE, TOPK, SCAN. */
#include <string.h>

#include "gen.h"

static int is_float(int t)
{
	return t >= F32 && t <= BF16;
}

/* Mostly short, one dimension long now and then, now and then empty. */
static int random_dims(struct mt_rng *r, uint32_t *dims)
{
	int rank = 1 + (int)mt_below(r, UMA_MAX_RANK), i, longest = -1;
	uint32_t n = 1;

	if (mt_one_in(r, 3))
		longest = (int)mt_below(r, (uint32_t)rank);
	for (i = 0; i < rank; i++) {
		do
			dims[i] = mt_one_in(r, 60) ? 0 : i == longest ?
				1000 + mt_below(r, 2000) : 1 + mt_below(r, 9);
		while (dims[i] * n > 5000);
		n *= dims[i] ? dims[i] : 1;
	}
	return rank;
}

static void random_quant(struct mt_task *t, int slot)
{
	struct uma_operand *o = &t->task.op[slot];

	if (!is_float(o->dtype) && mt_one_in(&t->rng, 2))
		mt_quant(t, slot, (int)mt_below(&t->rng, UMA_QUANT_GROUP_MIN),
			 (int)mt_below(&t->rng, o->rank), 16u << mt_below(&t->rng, 7),
			 mt_one_in(&t->rng, 2));
}

static void set(struct mt_task *t, int word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

/* An addend, a second result, scales of its own; returns DST's type. */
static int norm_two(struct mt_task *t, int rank, const uint32_t *dims, uint32_t axes, int d)
{
	uint32_t flags = mt_below(&t->rng, UMA_NORM_FLAGS_MASK + 1), one[UMA_MAX_RANK], i;
	int empty = 0;

	for (i = 0; i < (uint32_t)rank; i++) {
		one[i] = axes >> i & 1 ? 1 : dims[i];
		empty |= !dims[i];
	}
	if (!(flags & UMA_NORM_ADD) || !(flags & UMA_NORM_SECOND))
		flags &= ~UMA_NORM_SUM;
	if (empty)
		flags &= ~UMA_NORM_DYNQUANT;
	if (!(flags & UMA_NORM_DYNQUANT))
		flags &= ~UMA_NORM_ASYMMETRIC;
	set(t, 3, flags);
	if (flags & UMA_NORM_ADD)
		mt_operand(t, UMA_SLOT_C, F32, rank, dims, MT_BROADCAST);
	if (flags & UMA_NORM_SECOND)
		mt_operand(t, UMA_SLOT_AUX2, mt_below(&t->rng, 2) ? F32 : S8, rank, dims,
			   MT_STRIDED);
	if (!(flags & UMA_NORM_DYNQUANT))
		return d;
	mt_operand(t, UMA_SLOT_AUX3, F32, rank, one, MT_STRIDED);
	if (flags & UMA_NORM_ASYMMETRIC)
		mt_operand(t, UMA_SLOT_AUX4, S32, rank, one, MT_PLAIN);
	return mt_below(&t->rng, 2) ? S8 : U8;
}

static int norm(struct mt_task *t, int rank, const uint32_t *dims, uint32_t axes, int d)
{
	static const struct {
		uint32_t flag;
		int slot;
	} part[] = {
		{ UMA_EPI_BIAS, UMA_SLOT_BIAS }, { UMA_EPI_SCALE, UMA_SLOT_SCALE },
		{ UMA_EPI_RESIDUAL, UMA_SLOT_RESIDUAL },
	};
	uint32_t func = mt_below(&t->rng, UMA_NORM_COUNT), i;

	set(t, 0, func);
	set(t, 1, axes);
	set(t, 2, mt_bits(mt_one_in(&t->rng, 4) ? 0 : 0.001f));
	if (func == UMA_NORM_GIVEN) {
		mt_operand(t, UMA_SLOT_AUX0, F32, rank, dims, MT_BROADCAST);
		mt_operand(t, UMA_SLOT_AUX1, F32, rank, dims, MT_BROADCAST);
	}
	for (i = 0; i < 3; i++) {
		if (mt_one_in(&t->rng, 2))
			continue;
		t->task.epilogue.flags |= part[i].flag;
		mt_operand(t, part[i].slot, F32, rank, dims, MT_BROADCAST);
	}
	t->task.epilogue.act = mt_below(&t->rng, 2) ? UMA_ACT_GELU : UMA_ACT_NONE;
	d = d == S32 ? F32 : d;
	return func == UMA_NORM_GIVEN || mt_one_in(&t->rng, 2) ? d :
	       norm_two(t, rank, dims, axes, d);
}

/* The task has its opcode; DST of 4 bits becomes s8. */
void gen_lines(struct mt_task *t, const struct gen_types *c)
{
	int style = (int)mt_below(&t->rng, 3), d = c->d >= S4 ? S8 : c->d, rank, arg = 0, plain = 0;
	uint32_t dims[UMA_MAX_RANK] = { 0 }, out[UMA_MAX_RANK], axes, axis, i;
	uint32_t func;

	rank = random_dims(&t->rng, dims);
	axis = mt_below(&t->rng, (uint32_t)rank);
	axes = 1 + mt_below(&t->rng, (1u << rank) - 1);
	memcpy(out, dims, sizeof(out));
	switch (t->task.opcode) {
	case UMA_OP_REDUCE:
		func = mt_below(&t->rng, UMA_REDUCE_COUNT);
		arg = func >= UMA_REDUCE_ARG_MAX;
		if (arg) {
			axes = 1u << axis;
			dims[axis] += !dims[axis];
		}
		for (i = 0; i < (uint32_t)rank; i++)
			out[i] = axes >> i & 1 ? 1 : dims[i];
		set(t, 0, func);
		set(t, 1, axes);
		set(t, 2, arg ? mt_below(&t->rng, 2) : 0);
		break;
	case UMA_OP_NORM:
		d = norm(t, rank, dims, axes, d);
		plain = t->task.params[12] & UMA_NORM_DYNQUANT;
		break;
	case UMA_OP_SOFTMAX:
		set(t, 0, mt_below(&t->rng, UMA_SOFTMAX_COUNT));
		set(t, 1, axis);
		d = d == S32 ? F32 : d;
		break;
	case UMA_OP_TOPK:
		set(t, 0, mt_below(&t->rng, 2));
		set(t, 1, axis);
		out[axis] = mt_below(&t->rng, dims[axis] + 1);
		mt_operand(t, UMA_SLOT_AUX0, S32, rank, out, style ? MT_STRIDED : MT_PLAIN);
		break;
	default:
		set(t, 0, mt_below(&t->rng, 4));
		set(t, 1, axis);
		break;
	}
	mt_operand(t, UMA_SLOT_A, c->a, rank, dims, style);
	random_quant(t, UMA_SLOT_A);
	if (mt_one_in(&t->rng, 4))
		mt_contents(t, UMA_SLOT_A, 1);
	mt_operand(t, UMA_SLOT_DST, arg ? S32 : d, rank, out, style ? MT_STRIDED : MT_PLAIN);
	if (!arg && !plain)
		random_quant(t, UMA_SLOT_DST);
}
