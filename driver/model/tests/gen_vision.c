// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Random valid tasks: GATHER, SCATTER, POOL, RESIZE. */
#include <string.h>

#include "gen.h"

static uint32_t params[64];

static void write_params(struct mt_task *t, uint32_t words)
{
	memcpy(t->task.params, params, 4 * words);
}

static uint32_t some(struct mt_rng *r, uint32_t rank)
{
	if (rank == 1 && mt_one_in(r, 4))
		return 1100;
	return 1 + mt_below(r, rank > 3 ? 5 : rank > 2 ? 9 : 40);
}

static int style(struct mt_rng *r, int output)
{
	int s = (int)mt_below(r, output ? 2 : 3);

	return s == 0 ? MT_PLAIN : s == 1 ? MT_STRIDED : MT_BROADCAST;
}

/* Write indices over the random numbers of slot B: all fit the smallest dimension. */
static void indices(struct mt_task *t, uint32_t least)
{
	struct uma_operand *o = &t->task.op[UMA_SLOT_B];
	int64_t lo = 0, hi = 0, i;

	for (i = 0; i < o->rank; i++) {
		int64_t reach = (int64_t)o->strides[i] * ((int64_t)o->dims[i] - 1);

		if (!o->dims[i])
			return;
		lo += reach < 0 ? reach : 0;
		hi += reach < 0 ? 0 : reach;
	}
	for (i = lo; i <= hi; i++) {
		int32_t v = (int32_t)mt_below(&t->rng, least);

		if (mt_one_in(&t->rng, 3))
			v -= (int32_t)least;
		memcpy(t->image + (o->addr - MT_BASE) + i * 4, &v, 4);
	}
}

static void quantise(struct mt_task *t, int slot, uint32_t schemes)
{
	struct uma_operand *o = &t->task.op[slot];

	if (o->dtype >= UMA_DTYPE_S32 && mt_one_in(&t->rng, 2))
		mt_quant(t, slot, (int)mt_below(&t->rng, schemes),
			 (int)mt_below(&t->rng, o->rank), 16u << mt_below(&t->rng, 3),
			 mt_one_in(&t->rng, 2));
}

static void gen_index(struct mt_task *t, int a, int d)
{
	uint32_t da[UMA_MAX_RANK], db[UMA_MAX_RANK], rank = 1 + mt_below(&t->rng, 4), i;
	uint32_t least = 0xffffffff, func = mt_below(&t->rng, 2), axis = mt_below(&t->rng, rank);
	int scatter = t->task.opcode == UMA_OP_SCATTER;

	for (i = 0; i < rank; i++) {
		da[i] = some(&t->rng, rank);
		least = da[i] < least ? da[i] : least;
		db[i] = i == axis ? some(&t->rng, rank) : 1 + mt_below(&t->rng, da[i]);
	}
	mt_operand(t, UMA_SLOT_A, a, (int)rank, da, style(&t->rng, 0));
	if (func) {
		/* Tuples of all indices: an element each. */
		db[0] = some(&t->rng, 2);
		db[1] = rank;
		mt_operand(t, UMA_SLOT_B, UMA_DTYPE_S32, 2, db, style(&t->rng, 1));
		func = scatter ? UMA_SCATTER_ND : UMA_GATHER_ND;
		axis = 0;
	} else {
		mt_operand(t, UMA_SLOT_B, UMA_DTYPE_S32, (int)rank, db, style(&t->rng, 1));
		func = scatter ? UMA_SCATTER_ELEMENTS : UMA_GATHER_ELEMENTS;
		least = da[axis];
	}
	indices(t, least);
	i = func == (scatter ? UMA_SCATTER_ND : UMA_GATHER_ND) ? 1 : rank;
	if (scatter) {
		mt_operand(t, UMA_SLOT_DST, d, (int)rank, da, style(&t->rng, 1));
		mt_operand(t, UMA_SLOT_C, mt_one_in(&t->rng, 2) ? d : a, (int)i, db,
			   style(&t->rng, 0));
		quantise(t, UMA_SLOT_C, UMA_QUANT_GROUP_MIN);
	} else {
		mt_operand(t, UMA_SLOT_DST, d, (int)i, db, style(&t->rng, 1));
	}
	quantise(t, UMA_SLOT_A, scatter ? UMA_QUANT_GROUP_MIN : UMA_QUANT_COUNT);
	quantise(t, UMA_SLOT_DST, UMA_QUANT_GROUP_MIN);
	params[0] = func;
	params[1] = axis;
	params[2] = scatter ? mt_below(&t->rng, UMA_SCATTER_REDUCE_COUNT) : 0;
	write_params(t, 3);
}

/* Rows of a table. */
static void gen_rows(struct mt_task *t, int a, int d)
{
	uint32_t da[2], db[2], dd[3];

	da[0] = some(&t->rng, 2);
	da[1] = mt_one_in(&t->rng, 4) ? 1100 : some(&t->rng, 2);
	if (mt_one_in(&t->rng, 3)) {
		a = Q8_0 + (int)mt_below(&t->rng, Q6_K - Q8_0 + 1);
		da[1] = (uint32_t)mt_block_size(a) * (1 + mt_below(&t->rng, 5));
	}
	db[0] = dd[0] = 1 + mt_below(&t->rng, 5);
	db[1] = dd[1] = 1 + mt_below(&t->rng, 6);
	dd[2] = da[1];
	if (mt_block_size(a))
		mt_blocks(t, UMA_SLOT_A, a, 2, da, 1, style(&t->rng, 0));
	else
		mt_operand(t, UMA_SLOT_A, a, 2, da, style(&t->rng, 0));
	mt_operand(t, UMA_SLOT_B, UMA_DTYPE_S32, 2, db, style(&t->rng, 0));
	mt_operand(t, UMA_SLOT_DST, d, 3, dd, style(&t->rng, 1));
	indices(t, da[0]);
	if (!mt_block_size(a))
		quantise(t, UMA_SLOT_A, UMA_QUANT_COUNT);
	params[0] = UMA_GATHER_AXIS;
	params[1] = params[2] = 0;
	write_params(t, 3);
}

static void gen_pool(struct mt_task *t, int a, int d)
{
	uint32_t dims[UMA_MAX_RANK], to[UMA_MAX_RANK], n = 1 + mt_below(&t->rng, 3), i;

	memset(params, 0, sizeof(params));
	params[0] = mt_below(&t->rng, UMA_POOL_COUNT);
	params[1] = mt_below(&t->rng, params[0] == UMA_POOL_AVERAGE ? 4 : 2);
	params[2] = params[0] == UMA_POOL_LP ? 1 + mt_below(&t->rng, 4) : 0;
	params[3] = n;
	dims[0] = to[0] = 1 + mt_below(&t->rng, 2);
	dims[1] = to[1] = 1 + mt_below(&t->rng, 6);
	for (i = 0; i < n; i++) {
		uint32_t k = 1 + mt_below(&t->rng, 4), s = 1 + mt_below(&t->rng, 3);
		uint32_t dil = 1 + mt_below(&t->rng, 2), b = mt_below(&t->rng, 3);
		uint32_t e = mt_below(&t->rng, 3), extent = dil * (k - 1) + 1, room;

		dims[2 + i] = extent + mt_below(&t->rng, n > 1 ? 9 : 60);
		room = dims[2 + i] + b + e - extent;
		to[2 + i] = room / s + 1;
		if ((params[1] & UMA_POOL_CEIL) && room % s && to[2 + i] * s < dims[2 + i] + b)
			to[2 + i]++;
		params[4 + i] = k;
		params[7 + i] = s;
		params[10 + i] = dil;
		params[13 + i] = b;
		params[16 + i] = e;
	}
	mt_operand(t, UMA_SLOT_A, a, (int)n + 2, dims, style(&t->rng, 0));
	mt_operand(t, UMA_SLOT_DST, d, (int)n + 2, to, style(&t->rng, 1));
	quantise(t, UMA_SLOT_A, 2);
	quantise(t, UMA_SLOT_DST, 2);
	write_params(t, 19);
}

static void gen_resize(struct mt_task *t, int a, int d)
{
	uint32_t dims[UMA_MAX_RANK], to[UMA_MAX_RANK], rank = 1 + mt_below(&t->rng, 4), i, left = 2;
	int64_t off;

	memset(params, 0, sizeof(params));
	params[0] = mt_below(&t->rng, UMA_RESIZE_COUNT);
	params[1] = params[0] == UMA_RESIZE_CUBIC ? mt_below(&t->rng, 2) : 0;
	params[2] = params[0] == UMA_RESIZE_NEAREST ? mt_below(&t->rng, UMA_NEAREST_COUNT) : 0;
	params[3] = params[0] == UMA_RESIZE_CUBIC ? mt_bits(-0.75f) : 0;
	for (i = 0; i < rank; i++) {
		dims[i] = to[i] = 1 + mt_below(&t->rng, rank > 2 ? 7 : 30);
		params[4 + i] = params[9 + i] = 1;
		if (!left || mt_one_in(&t->rng, 2))
			continue;
		left--;
		to[i] = rank == 1 && mt_one_in(&t->rng, 3) ? 700 : 1 + mt_below(&t->rng, 20);
		params[4 + i] = 2 * dims[i];
		params[9 + i] = 2 * to[i];
		off = (int64_t)dims[i] - to[i];
		memcpy(&params[14 + 2 * i], &off, 8);
	}
	mt_operand(t, UMA_SLOT_A, a, (int)rank, dims, style(&t->rng, 0));
	mt_operand(t, UMA_SLOT_DST, d, (int)rank, to, style(&t->rng, 1));
	quantise(t, UMA_SLOT_A, 2);
	quantise(t, UMA_SLOT_DST, 2);
	write_params(t, 24);
}

void gen_vision(struct mt_task *t)
{
	static const int wide[] = { F32, F16, BF16, S8, U8, S32, S4, U4 };
	int a = wide[mt_below(&t->rng, 5)], d = wide[mt_below(&t->rng, 5)];

	switch (t->task.opcode) {
	case UMA_OP_POOL:
		gen_pool(t, a, d);
		break;
	case UMA_OP_RESIZE:
		gen_resize(t, a, d);
		break;
	default:
		a = wide[mt_below(&t->rng, 8)];
		d = mt_one_in(&t->rng, 2) && a < S4 ? a : wide[mt_below(&t->rng, 6)];
		if (t->task.opcode == UMA_OP_GATHER && mt_one_in(&t->rng, 3))
			gen_rows(t, a, d);
		else
			gen_index(t, a, d);
		break;
	}
}
