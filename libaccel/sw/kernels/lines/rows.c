// SPDX-License-Identifier: MIT
/*
 * GATHER of whole rows: elements along the last dimension are contiguous in both, and an index
 * selects a row, or a matrix of rows. Each index is read once, and then checked. COPY of rows
 * of blocks, which other classes cannot read.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Bytes of a tile */
#define TILE	65536u
/* Elements of a row of blocks that are read at once: blocks of all types are divisors */
#define PIECE	4096u

/**
 * struct rows_plan - a prepared operation
 * @k: kernels
 * @in: form of A
 * @out: form of the result
 * @moves: elements are copied unchanged
 * @pieces: of a row: one, unless it has blocks
 * @count: pieces of the result
 * @tile: pieces of a tile
 */
struct rows_plan {
	const struct line_kernels *k;
	struct line_form in;
	struct line_form out;
	bool moves;
	uint32_t pieces;
	uint64_t count;
	uint64_t tile;
};

static int rows_prepare(struct fast_prog *f)
{
	struct rows_plan *p = (struct rows_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view values = { .dtype = UMA_DTYPE_F32 };
	const bool blocks = uma_is_block(a->dtype);
	const uint32_t last = d->rank - 1u;
	int64_t bytes;
	uint64_t tiles;
	uint32_t i;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(d) || (op->opcode == UMA_OP_COPY && !blocks))
		return 0;
	/* A row is a contiguous run of A if the last dimension is after the axis. */
	if (op->opcode == UMA_OP_GATHER &&
	    (op->func != UMA_GATHER_AXIS || op->u.gather.axis + 1u >= a->rank))
		return fast_leave(f, "what is gathered are elements, not rows");
	if (uma_is_int4(d->dtype) || uma_is_int4(a->dtype))
		return fast_leave(f, "elements have 4 bits");
	if (d->dims[last] > 1 && (d->strides[last] != 1 || a->strides[a->rank - 1] != 1))
		return fast_leave(f, FAST_NOT_NEAR);
	/* Blocks may be along another dimension, beside one of a single element. */
	if (blocks && d->dims[last] & ((1u << uma_dtype_block(a->dtype).shift) - 1))
		return fast_leave(f, FAST_NOT_NEAR);
	p->moves = line_same_bits(a, d);
	if (!p->moves && (!line_form_init(&p->in, blocks ? &values : a, false, f->cpu) ||
			  !line_form_init(&p->out, d, true, f->cpu)))
		return fast_leave(f, FAST_NO_FORM);
	p->pieces = blocks ? (uint32_t)uma_divup(d->dims[last], PIECE) : 1;
	p->count = p->pieces;
	for (i = 0; i < last; i++)
		p->count *= d->dims[i];
	bytes = fast_bytes(d->dtype, p->pieces > 1 ? PIECE : d->dims[last]);
	p->tile = UMA_MAX(TILE / bytes, 1);
	tiles = uma_divup(p->count, p->tile);
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles;
	f->max_threads = (uint32_t)UMA_MIN(tiles, 1024);
	f->ns = p->count * (uint64_t)bytes / 10 + 1;
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

/* The offset of an element of A, by the indices of one of the result; false: a fault */
static bool offset_of(const struct fast_run *r, const uint32_t *idx, int64_t *off)
{
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const uint32_t axis = op->u.gather.axis, ranks = op->t[UMA_SLOT_B].rank;
	int64_t place;
	uint32_t i;

	if (op->opcode == UMA_OP_COPY) {
		*off = uma_tensor_offset(a, idx);
		return true;
	}
	place = index_of(r, idx);
	if (place < 0)
		return false;
	*off = place * a->strides[axis];
	for (i = 0; i < axis; i++)
		*off += idx[i] * a->strides[i];
	for (i = axis + 1; i < a->rank; i++)
		*off += idx[i + ranks - 1] * a->strides[i];
	return true;
}

/* @n elements from @off on, in whole blocks */
static void piece_of_blocks(const struct fast_run *r, const struct line_map *m, int64_t off,
			    uint8_t *to, uint32_t n)
{
	const struct rows_plan *p = (const void *)r->prog->priv;
	const struct uma_tensor_view *a = &r->prog->op->t[UMA_SLOT_A];
	const struct uma_dtype_block b = uma_dtype_block(a->dtype);
	const uint8_t *from = (const uint8_t *)fast_ptr(a) + (off >> b.shift) * b.bytes;
	uint8_t *at[LINE_OPERANDS] = { to, r->scratch };

	if (p->out.dtype == UMA_DTYPE_F32) {
		r->prog->rows->to_f32[a->dtype]((float *)to, from, n);
		return;
	}
	r->prog->rows->to_f32[a->dtype](r->scratch, from, n);
	p->k->map(m, at, n);
}

static int rows_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct rows_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const uint32_t last = d->rank - 1u;
	const struct line_map m = { .form = { p->out, p->in } };
	uint64_t piece = tile * p->tile;
	const uint64_t end = UMA_MIN(piece + p->tile, p->count);
	uint32_t i, n;

	(void)phase;
	for (; piece < end; piece++) {
		/*
		 * B may have so many dimensions that A has none before or after the axis: room
		 * for both.
		 */
		uint32_t idx[2 * UMA_MAX_RANK] = { 0 };
		uint64_t rest = piece / p->pieces;
		uint8_t *at[LINE_OPERANDS];
		int64_t off;

		for (i = last; i-- > 0; rest /= d->dims[i])
			idx[i] = (uint32_t)(rest % d->dims[i]);
		idx[last] = (uint32_t)(piece % p->pieces) * PIECE;
		n = d->dims[last] - idx[last];
		if (!offset_of(r, idx, &off))
			return -1;
		at[0] = (uint8_t *)fast_ptr(d) + fast_bytes(d->dtype, uma_tensor_offset(d, idx));
		if (uma_is_block(a->dtype)) {
			piece_of_blocks(r, &m, off, at[0], UMA_MIN(n, PIECE));
			continue;
		}
		at[1] = (uint8_t *)fast_ptr(a) + fast_bytes(a->dtype, off);
		if (p->moves)
			memcpy(at[0], at[1], (size_t)fast_bytes(d->dtype, n));
		else
			p->k->map(&m, at, n);
	}
	return 0;
}

const struct fast_class fast_rows = {
	.name = "rows",
	.prepare = rows_prepare,
	.tile = rows_tile,
};
