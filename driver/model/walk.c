// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Divides operands into rows along one of their dimensions, for operations whose tiles are
 * runs of rows. The other dimensions are in row-major order.
 */
#include "uma_internal.h"

/* Number of elements of a tile */
#define TILE_ELEMENTS	65536u

static __u64 magnitude(__s64 v)
{
	return v < 0 ? -(__u64)v : (__u64)v;
}

/*
 * uma_walk_dim - find the dimension with the smallest stride
 * @t: operand
 *
 * Return: the dimension, the last one if all have size 1 or less.
 */
__u32 uma_walk_dim(const struct uma_tensor_view *t)
{
	__u32 best = t->rank - 1u, d;

	for (d = t->rank; d-- > 0;)
		if (t->dims[d] > 1 &&
		    (t->dims[best] < 2 ||
		     magnitude(t->strides[d]) < magnitude(t->strides[best])))
			best = d;
	return best;
}

/*
 * uma_walk_init - divide an operand that is not empty into rows
 * @w: out; uma_walk_tiles() sets tile_rows and step_rows
 * @dims: dimensions
 * @rank: number of dimensions
 * @dim: dimension that rows go along
 * @row: largest number of elements of a row, at least 1
 *
 * Return: 0, or -1 if there are too many rows.
 */
int uma_walk_init(struct uma_walk *w, const __u32 *dims, __u32 rank, __u32 dim, __u32 row)
{
	__u32 d;

	w->rank = rank;
	w->dim = dim;
	w->row = UMA_MAX(UMA_MIN(dims[dim], row), 1);
	w->cuts = uma_divup(dims[dim], w->row);
	w->rows = w->cuts;
	for (d = 0; d < rank; d++) {
		w->dims[d] = dims[d];
		if (d != dim && __builtin_mul_overflow(w->rows, (__u64)dims[d], &w->rows))
			return -1;
	}
	return w->rows >> 50 ? -1 : 0;
}

/*
 * uma_walk_tiles - divide rows into tiles and steps
 * @w: rows
 * @unit: number of rows that must be in one tile; tiles have a multiple of it
 * @cost: cost of a complete row
 * @step_work: UMA_STEP_WORK_*
 * @tiles: out: number of tiles
 *
 * Return: 0, or -1 if there are too many rows in a tile.
 */
int uma_walk_tiles(struct uma_walk *w, __u64 unit, __u64 cost, __u32 step_work, __u32 *tiles)
{
	__u64 rows = UMA_MAX(TILE_ELEMENTS / w->row, uma_divup(w->rows, 0xfffffffeu));

	rows = uma_divup(UMA_MAX(rows, 1), unit) * unit;
	rows = UMA_MIN(rows, w->rows);
	if (rows > 0xfffffffeu)
		return -1;
	w->tile_rows = UMA_MAX((__u32)rows, 1);
	w->step_rows = step_work == UMA_STEP_WORK_UNBOUND ? w->tile_rows :
		(__u32)UMA_MIN(UMA_MAX(step_work / UMA_MAX(cost, 1), 1), rows);
	*tiles = (__u32)uma_divup(w->rows, w->tile_rows);
	return 0;
}

/*
 * uma_walk_step - find the rows of a step
 * @w: rows
 * @tile: tile
 * @step: in: step of the tile; out: the next one
 * @stop: out: one past the last row of the step
 * @more: out: there are more steps
 *
 * Return: the first row.
 */
__u64 uma_walk_step(const struct uma_walk *w, __u32 tile, __u32 *step, __u64 *stop, int *more)
{
	__u64 first = (__u64)tile * w->tile_rows;
	__u64 end = UMA_MIN(first + w->tile_rows, w->rows);
	__u64 row = first + (__u64)*step * w->step_rows;

	(*step)++;
	*stop = UMA_MIN(row + w->step_rows, end);
	*more = *stop < end;
	return row;
}

/*
 * uma_walk_row - find the elements of a row
 * @w: rows
 * @row: index of the row
 * @idx: out: logical index of the first element
 *
 * Return: the number of elements.
 */
__u32 uma_walk_row(const struct uma_walk *w, __u64 row, __u32 *idx)
{
	__u64 at = row % w->cuts * w->row;
	__u32 d;

	row /= w->cuts;
	for (d = w->rank; d-- > 0;) {
		if (d == w->dim)
			continue;
		idx[d] = (__u32)(row % w->dims[d]);
		row /= w->dims[d];
	}
	idx[w->dim] = (__u32)at;
	return (__u32)UMA_MIN((__u64)w->row, w->dims[w->dim] - at);
}

/*
 * uma_walk_at - describe a row of an operand with the dimensions of @w
 * @w: rows
 * @op: decoded task
 * @slot: operand
 * @idx: logical index of the first element
 * @n: number of elements
 *
 * Return: the run.
 */
struct uma_row uma_walk_at(const struct uma_walk *w, const struct uma_op *op, __u32 slot,
			   const __u32 *idx, __u32 n)
{
	const struct uma_tensor_view *t = &op->t[slot];

	return (struct uma_row){
		.slot = slot,
		.off = uma_tensor_offset(t, idx),
		.stride = t->strides[w->dim],
		.n = n,
		.idx = t->quant >= UMA_QUANT_CHANNEL ? idx : 0,
		.axis = w->dim,
	};
}

/*
 * uma_row_move - copy a run of an input to a run of DST
 * @run: context of the step
 * @from: run of the input
 * @to: run of DST, of the same length
 * @buf: temporary memory
 * @x: room for UMA_ROW_MAX values
 *
 * Elements of the same format are copied unchanged, others are converted.
 *
 * Return: 0, or -1 with the fault set.
 */
int uma_row_move(struct uma_run *run, const struct uma_row *from, const struct uma_row *to,
		 struct uma_rowbuf *buf, __u32 *x)
{
	const struct uma_tensor_view *a = &run->prog->op.t[from->slot];
	const struct uma_tensor_view *d = &run->prog->op.t[to->slot];
	const void *raw;
	const float *v;

	if (uma_same_format(a, d)) {
		raw = uma_gather(run, from->slot, a, from->off, from->stride, from->n, buf->raw);
		return raw ? uma_scatter(run, to->slot, d, to->off, to->stride, to->n, raw) : -1;
	}
	v = uma_row_f32(run, from, buf, (float *)x);
	return v ? uma_row_store_f32(run, to, buf, v) : -1;
}
