// SPDX-License-Identifier: MIT
/*
 * GATHER of whole rows: elements along the last dimension are contiguous in both, and an index
 * selects a row, or a matrix of rows. Each index is read once, and then checked.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Bytes of a tile */
#define TILE	65536u

/**
 * struct rows_plan - a prepared operation
 * @k: kernels
 * @in: form of A
 * @out: form of the result
 * @moves: elements are copied unchanged
 * @rows: runs of the result along its last dimension
 * @tile: rows of a tile
 */
struct rows_plan {
	const struct line_kernels *k;
	struct line_form in;
	struct line_form out;
	bool moves;
	uint64_t rows;
	uint64_t tile;
};

static int rows_prepare(struct fast_prog *f)
{
	struct rows_plan *p = (struct rows_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const uint32_t last = d->rank - 1u;
	uint64_t tiles;
	uint32_t i;

	p->k = line_kernels_of(f->cpu);
	/* A row is a contiguous run of A if the last dimension is after the axis. */
	if (!p->k || uma_tensor_empty(d))
		return 0;
	if (op->func != UMA_GATHER_AXIS || op->u.gather.axis + 1u >= a->rank)
		return fast_leave(f, "what is gathered are elements, not rows");
	if (uma_dtype_bits(d->dtype) < 8 || uma_dtype_bits(a->dtype) < 8)
		return fast_leave(f, "elements have 4 bits");
	if (d->dims[last] > 1 && (d->strides[last] != 1 || a->strides[a->rank - 1] != 1))
		return fast_leave(f, FAST_NOT_NEAR);
	p->moves = line_same_bits(a, d);
	if (!p->moves && (!line_form_init(&p->in, a, false, f->cpu) ||
			  !line_form_init(&p->out, d, true, f->cpu)))
		return fast_leave(f, FAST_NO_FORM);
	p->rows = 1;
	for (i = 0; i < last; i++)
		p->rows *= d->dims[i];
	p->tile = UMA_MAX(TILE / fast_bytes(d->dtype, d->dims[last]), 1);
	tiles = uma_divup(p->rows, p->tile);
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles;
	f->max_threads = (uint32_t)UMA_MIN(tiles, 1024);
	f->ns = p->rows * (uint64_t)fast_bytes(d->dtype, d->dims[last]) / 10 + 1;
	return 1;
}

/* The index for a row, checked against the size of A; -1: out of range. */
static int64_t index_of(const struct fast_run *r, const uint32_t *idx)
{
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const int64_t dim = op->t[UMA_SLOT_A].dims[op->u.gather.axis];
	const int64_t off = 4 * uma_tensor_offset(b, idx + op->u.gather.axis);
	int64_t at;
	int32_t v;

	/* Memory may change: check the copy. */
	memcpy(&v, (const uint8_t *)fast_ptr(b) + off, sizeof(v));
	at = v < 0 ? v + dim : v;
	if (at >= 0 && at < dim)
		return at;
	uma_set_fault(r->fault, UMA_FAULT_RANGE, UMA_SLOT_B, "index");
	r->fault->addr = b->addr + (uint64_t)off;
	return -1;
}

static int rows_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct rows_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const uint32_t axis = op->u.gather.axis, ranks = op->t[UMA_SLOT_B].rank;
	const struct line_map m = { .form = { p->out, p->in } };
	uint64_t row = tile * p->tile;
	const uint64_t end = UMA_MIN(row + p->tile, p->rows);
	uint32_t i;

	(void)phase;
	for (; row < end; row++) {
		/*
		 * B may have so many dimensions that A has none before or after the axis: room
		 * for both.
		 */
		uint32_t idx[2 * UMA_MAX_RANK] = { 0 };
		uint64_t rest = row;
		uint8_t *at[LINE_OPERANDS];
		int64_t off, place;

		for (i = d->rank - 1u; i-- > 0; rest /= d->dims[i])
			idx[i] = (uint32_t)(rest % d->dims[i]);
		place = index_of(r, idx);
		if (place < 0)
			return -1;
		off = place * a->strides[axis];
		for (i = 0; i < axis; i++)
			off += idx[i] * a->strides[i];
		for (i = axis + 1; i < a->rank; i++)
			off += idx[i + ranks - 1] * a->strides[i];
		at[0] = (uint8_t *)fast_ptr(d) + fast_bytes(d->dtype, uma_tensor_offset(d, idx));
		at[1] = (uint8_t *)fast_ptr(a) + fast_bytes(a->dtype, off);
		if (p->moves)
			memcpy(at[0], at[1], (size_t)fast_bytes(d->dtype, d->dims[d->rank - 1]));
		else
			p->k->map(&m, at, d->dims[d->rank - 1]);
	}
	return 0;
}

const struct fast_class fast_rows = {
	.name = "rows",
	.prepare = rows_prepare,
	.tile = rows_tile,
};
