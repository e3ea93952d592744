// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Random valid convolutions. */
#include <string.h>

#include "gen.h"

static uint32_t pick(struct mt_rng *r, const uint8_t *list, uint32_t n)
{
	return list[mt_below(r, n)];
}

#define PICK(r, ...) \
	pick(r, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static int is_float(int t)
{
	return t >= F32 && t <= BF16;
}

static int style(struct mt_rng *r, int output)
{
	return (int)(output ? PICK(r, MT_PLAIN, MT_STRIDED) :
			      PICK(r, MT_PLAIN, MT_STRIDED, MT_BROADCAST));
}

static void quants(struct mt_task *t, const struct gen_types *c, int exact, int axis)
{
	struct mt_rng *r = &t->rng;

	if ((c->d == S8 || c->d == U8 || (c->d == S32 && !exact)) &&
	    (c->d == S32 || !mt_one_in(r, 4)))
		mt_quant(t, UMA_SLOT_DST, UMA_QUANT_TENSOR, 0, 0, 1);
	if (!is_float(c->a) && mt_one_in(r, 2))
		mt_quant(t, UMA_SLOT_A, UMA_QUANT_TENSOR, 0, 0, 1);
	if (!is_float(c->b))
		mt_quant(t, UMA_SLOT_B, (int)mt_below(r, exact ? 2 : 3), axis, 0,
			 mt_one_in(r, 2));
	if (!exact)
		return;
	if (t->task.op[UMA_SLOT_A].quant)
		t->task.op[UMA_SLOT_A].scale = mt_bits(1);
	if (t->task.op[UMA_SLOT_B].quant)
		t->task.op[UMA_SLOT_B].scale = mt_bits(1);
}

/* Winograd's functions: weights that have been transformed, whatever they were. */
static void gen_winograd(struct mt_task *t, const struct gen_types *c)
{
	struct mt_rng *r = &t->rng;
	struct uma_conv_params p = {
		.func = UMA_CONV_WINOGRAD_2 + mt_below(r, 3), .groups = 1,
		.stride = { 1, 1 }, .dilation = { PICK(r, 1, 1, 2, 7), PICK(r, 1, 1, 3, 200) },
		.pad = { PICK(r, 0, 1, 2, 20), PICK(r, 0, 1, 2, 20) },
	};
	uint32_t points = 4 + 2 * (p.func - UMA_CONV_WINOGRAD_2);
	uint32_t in = mt_one_in(r, 30) ? 0 : PICK(r, 1, 2, 7, 50), out = PICK(r, 1, 3, 16, 33);
	const uint32_t da[] = { 2, in, PICK(r, 1, 6, 9), PICK(r, 1, 5, 13) };
	const uint32_t db[] = { points, points, in, out };
	const uint32_t dd[] = { 2, out, PICK(r, 1, 6, 9), PICK(r, 1, 5, 13) };

	mt_operand(t, UMA_SLOT_DST, c->d, 4, dd, style(r, 1));
	mt_operand(t, UMA_SLOT_A, c->a, 4, da, style(r, 0));
	mt_operand(t, UMA_SLOT_B, F32, 4, db, style(r, 0));
	if ((c->d == S8 || c->d == U8) && mt_one_in(r, 2))
		mt_quant(t, UMA_SLOT_DST, UMA_QUANT_TENSOR, 0, 0, 1);
	memcpy(t->task.params, &p, sizeof(p));
	if (mt_one_in(r, 2))
		gen_epilogue(t, 0);
}

void gen_conv(struct mt_task *t, const struct gen_types *c)
{
	struct mt_rng *r = &t->rng;
	uint32_t da[4] = { 0 }, db[4] = { 0 }, dd[4] = { 0 };
	struct uma_conv_params p = { .func = mt_below(r, 2) };
	int rank = mt_one_in(r, 4) ? 3 : 4, i, exact;
	int transposed = mt_one_in(r, 3);
	uint32_t in, out;

	/* 6 x 6 is for binary32, so the others stand for all. */
	if (c->a == F32 && c->b == F32 && mt_one_in(r, 2)) {
		gen_winograd(t, c);
		return;
	}
	p.flags = transposed ? UMA_CONV_TRANSPOSED : 0;
	p.groups = PICK(r, 1, 1, 1, 2, 5);
	in = mt_one_in(r, 50) ? 0 : PICK(r, 1, 1, 2, 3, 7, 9);
	out = mt_one_in(r, 50) ? 0 : PICK(r, 1, 1, 2, 3, 9, 17);
	da[0] = dd[0] = mt_one_in(r, 50) ? 0 : PICK(r, 1, 1, 2);
	da[1] = in * p.groups;
	dd[1] = out * p.groups;
	db[0] = transposed ? da[1] : dd[1];
	db[1] = transposed ? out : in;
	for (i = 2; i < rank; i++) {
		da[i] = mt_one_in(r, 50) ? 0 : PICK(r, 1, 3, 5, 8, 11);
		db[i] = PICK(r, 1, 1, 2, 3, 3, 4);
		/* Not what the formula says: what is left out or padded varies. */
		dd[i] = PICK(r, 1, 2, 5, 7, 9, 12);
		p.stride[i - 2] = PICK(r, 1, 1, 2, 3);
		p.dilation[i - 2] = PICK(r, 1, 1, 2, 3);
		p.pad[i - 2] = PICK(r, 0, 0, 1, 2, 9);
	}
	if (rank == 3 && mt_one_in(r, 3)) {
		da[2] *= 60;
		dd[2] *= 60;
	}
	exact = c->d == S32 && !is_float(c->a) && !mt_one_in(r, 4);
	mt_operand(t, UMA_SLOT_DST, c->d, rank, dd, style(r, 1));
	mt_operand(t, UMA_SLOT_A, c->a, rank, da, style(r, 0));
	mt_operand(t, UMA_SLOT_B, c->b, rank, db, style(r, 0));
	quants(t, c, exact, transposed);
	memcpy(t->task.params, &p, sizeof(p));
	if (mt_one_in(r, 2))
		gen_epilogue(t, exact);
}
