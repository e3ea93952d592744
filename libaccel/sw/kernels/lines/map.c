// SPDX-License-Identifier: MIT
/*
 * COPY from one type to another, UNARY, BINARY, SELECT: an element of the result from those
 * of the inputs in the same place.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Elements of a tile: all operands of it are in the second-level cache at once */
#define TILE	16384u

/**
 * struct map_plan - how it is done
 * @k: kernels
 * @nest: lines
 * @out: the result's form, which takes long to find out
 */
struct map_plan {
	const struct line_kernels *k;
	struct line_nest nest;
	struct line_form out;
};

_Static_assert(sizeof(struct map_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/* One step with two operands. 16-bit numbers that only move keep what a NaN says. */
static bool make_select(struct line_map *m, struct line_nest *nest, const struct fast_prog *f)
{
	const struct uma_tensor_view *t = f->op->t;
	const bool moves = uma_same_format(&t[UMA_SLOT_B], &t[UMA_SLOT_DST]) &&
			   uma_same_format(&t[UMA_SLOT_C], &t[UMA_SLOT_DST]);

	if (moves && uma_dtype_bits(t[UMA_SLOT_DST].dtype) == 16)
		return false;
	if (!line_step_operand(m, nest, f, LINE_SELECT, UMA_SLOT_B) ||
	    !line_form_init(&m->form[nest->count], &t[UMA_SLOT_C], false, f->cpu))
		return false;
	nest->slot[nest->count++] = UMA_SLOT_C;
	return true;
}

/* The steps of the operation; the operands go into the nest. */
static bool make_steps(struct line_map *m, struct line_nest *nest, const struct fast_prog *f)
{
	const struct uma_op *op = f->op;
	const uint32_t binary = LINE_BINARY(op->func);

	m->count = 0;
	*nest = (struct line_nest){ .count = 2, .slot = { UMA_SLOT_DST, UMA_SLOT_A } };
	if (!line_form_init(&m->form[1], &op->t[UMA_SLOT_A], false, f->cpu))
		return false;
	if (op->opcode == UMA_OP_BINARY &&
	    (!line_kernels_of(f->cpu)->has_step(binary) ||
	     !line_step_operand(m, nest, f, binary, UMA_SLOT_B)))
		return false;
	if (op->opcode == UMA_OP_SELECT)
		return make_select(m, nest, f);
	if (op->opcode == UMA_OP_UNARY && op->func != UMA_UNARY_ACT &&
	    !line_step_alone(m, f, LINE_UNARY(op->func)))
		return false;
	return !op->act || line_step_alone(m, f, LINE_ACT(op->act));
}

/* Picoseconds of an element, about */
static uint64_t cost_of(const struct uma_op *op)
{
	return op->act > UMA_ACT_LEAKY_RELU ? 200 : 100;
}

static int map_prepare(struct fast_prog *f)
{
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	struct map_plan *p = (struct map_plan *)f->priv;
	struct line_nest *nest = &p->nest;
	struct line_map m;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(d) ||
	    (op->opcode == UMA_OP_COPY && line_same_bits(&op->t[UMA_SLOT_A], d)) ||
	    !line_form_init(&p->out, d, true, f->cpu) || !make_steps(&m, nest, f) ||
	    !line_nest_init(nest, op, 0) || nest->one & 2)
		return 0;
	nest->cut = UMA_MIN(nest->n, TILE);
	nest->cuts = (uint32_t)uma_divup(nest->n, nest->cut);
	if (!line_nest_tiles(nest, f, TILE))
		return 0;
	f->ns = uma_tensor_elements(d) * cost_of(op) / 1000 + 1;
	return 1;
}

static int map_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct map_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	struct line_nest nest;
	struct line_map m;
	struct line_at at;
	uint64_t count;

	(void)phase;
	if (!make_steps(&m, &nest, r->prog))
		return -1;
	m.form[0] = p->out;
	m.one = p->nest.one;
	for (count = line_nest_seek(&p->nest, op, tile, &at);; line_nest_next(&p->nest, &at)) {
		p->k->map(&m, at.at, at.n);
		if (!--count)
			return 0;
	}
}

const struct fast_class fast_map = {
	.prepare = map_prepare,
	.tile = map_tile,
};
