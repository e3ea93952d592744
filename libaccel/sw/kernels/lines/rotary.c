// SPDX-License-Identifier: MIT
/*
 * ROTARY of heads with contiguous floating-point elements, with the model's bits: each product
 * and each sum is rounded.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Elements of a tile */
#define TILE	16384u

/**
 * struct rotary_plan - a prepared operation
 * @k: kernels
 * @turn: description for the kernel
 * @rows: heads of all positions
 * @tile: heads of a tile
 */
struct rotary_plan {
	const struct line_kernels *k;
	struct line_rotary turn;
	uint64_t rows;
	uint32_t tile;
};

static bool is_near(const struct uma_tensor_view *t)
{
	return uma_is_float(t->dtype) &&
	       (t->dims[t->rank - 1] <= 1 || t->strides[t->rank - 1] == 1);
}

static int rotary_prepare(struct fast_prog *f)
{
	struct rotary_plan *p = (struct rotary_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *b = &op->t[UMA_SLOT_B];
	uint64_t tiles;
	uint32_t s;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(d))
		return 0;
	for (s = UMA_SLOT_DST; s <= UMA_SLOT_C; s++)
		if (!is_near(&op->t[s]))
			return fast_leave(f, "an operand is not of near floating-point numbers");
	p->turn = (struct line_rotary){
		.a = op->t[UMA_SLOT_A].dtype, .d = d->dtype, .cosine = b->dtype,
		.sine = op->t[UMA_SLOT_C].dtype, .half = b->dims[1], .head = d->dims[3],
		.interleaved = op->u.rotary.flags & UMA_ROTARY_INTERLEAVED,
	};
	p->rows = (uint64_t)d->dims[0] * d->dims[1] * d->dims[2];
	p->tile = UMA_MAX(TILE / d->dims[3], 1u);
	tiles = uma_divup(p->rows, p->tile);
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles;
	f->max_threads = (uint32_t)UMA_MIN(tiles, 1024);
	f->ns = uma_tensor_elements(d) / 8 + 1;
	return 1;
}

/* The position of a row, checked against the size of the tables. */
static int position_of(const struct fast_run *r, const uint32_t *idx, uint32_t *position)
{
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *t = &op->t[UMA_SLOT_AUX0];
	int64_t off;

	*position = op->u.rotary.start + idx[1];
	if (!uma_has(op, UMA_SLOT_AUX0))
		return 0;
	off = 4 * uma_tensor_offset(t, idx);
	/* Memory may change: check the copy. */
	memcpy(position, (const uint8_t *)fast_ptr(t) + off, sizeof(*position));
	if (*position < op->t[UMA_SLOT_B].dims[0])
		return 0;
	uma_set_fault(r->fault, UMA_FAULT_RANGE, UMA_SLOT_AUX0, "index");
	r->fault->addr = t->addr + (uint64_t)off;
	return -1;
}

static uint8_t *row_of(const struct uma_tensor_view *t, const uint32_t *idx)
{
	return (uint8_t *)fast_ptr(t) + fast_bytes(t->dtype, uma_tensor_offset(t, idx));
}

static const uint8_t *table_row(const struct uma_tensor_view *t, uint32_t position)
{
	return (const uint8_t *)fast_ptr(t) + fast_bytes(t->dtype, position * t->strides[0]);
}

static int rotary_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct rotary_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	uint64_t row = (uint64_t)tile * p->tile;
	const uint64_t end = UMA_MIN(row + p->tile, p->rows);
	uint32_t idx[UMA_MAX_RANK] = { 0 };
	uint32_t position;

	(void)phase;
	for (; row < end; row++) {
		idx[2] = (uint32_t)(row % d->dims[2]);
		idx[1] = (uint32_t)(row / d->dims[2] % d->dims[1]);
		idx[0] = (uint32_t)(row / d->dims[2] / d->dims[1]);
		if (position_of(r, idx, &position))
			return -1;
		p->k->rotary(&p->turn, row_of(d, idx), row_of(&op->t[UMA_SLOT_A], idx),
			     table_row(&op->t[UMA_SLOT_B], position),
			     table_row(&op->t[UMA_SLOT_C], position));
	}
	return 0;
}

const struct fast_class fast_rotary = {
	.name = "rotary",
	.prepare = rotary_prepare,
	.tile = rotary_tile,
};
