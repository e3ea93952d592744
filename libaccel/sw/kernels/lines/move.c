// SPDX-License-Identifier: MIT
/*
 * COPY of elements without conversion, for any order of dimensions, and FILL. If A and the
 * result are contiguous along different dimensions, squares of the two dimensions are
 * transposed in registers.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Bytes of a tile */
#define TILE	65536u
/* Elements of a tile along A's contiguous dimension */
#define SQUARE	64u

/**
 * struct move_plan - a prepared operation
 * @k: kernels
 * @nest: lines of the result
 * @bytes: of an element
 * @turned: A's elements are contiguous along another loop, which is removed from the nest
 * @size: its iterations
 * @to: its stride in the result
 * @from: bytes of A between a line's elements
 * @parts: its number of parts
 */
struct move_plan {
	const struct line_kernels *k;
	struct line_nest nest;
	uint32_t bytes;
	bool turned;
	uint32_t size;
	int64_t to;
	int64_t from;
	uint32_t parts;
};

_Static_assert(sizeof(struct move_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static bool same_line(struct move_plan *p, struct fast_prog *f)
{
	struct line_nest *nest = &p->nest;

	if (!line_nest_init(nest, f->op, 0) || nest->one & 2)
		return false;
	nest->cut = UMA_MIN(nest->n, TILE / p->bytes);
	nest->cuts = (uint32_t)uma_divup(nest->n, nest->cut);
	return line_nest_tiles(nest, f, TILE / p->bytes);
}

static bool turned_line(struct move_plan *p, struct fast_prog *f)
{
	struct line_nest *nest = &p->nest;
	uint32_t i;

	line_nest_loops(nest, f->op);
	if (!nest->loops || nest->stride[nest->loops - 1][0] != p->bytes)
		return false;
	nest->n = nest->size[nest->loops - 1];
	p->from = nest->stride[nest->loops - 1][1];
	line_nest_drop(nest, nest->loops - 1);
	for (i = nest->loops; i-- > 0;)
		if (nest->stride[i][1] == p->bytes)
			break;
	if (i >= nest->loops)
		return false;
	p->turned = true;
	p->size = nest->size[i];
	p->to = nest->stride[i][0];
	line_nest_drop(nest, i);
	nest->lines = 1;
	for (i = 0; i < nest->loops; i++)
		nest->lines *= nest->size[i];
	p->parts = (p->size + SQUARE - 1) / SQUARE;
	if (nest->lines * p->parts > UINT32_MAX)
		return false;
	nest->one = 0;
	nest->cut = nest->n;
	nest->cuts = 1;
	nest->tile = 1;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)(nest->lines * p->parts);
	f->max_threads = UMA_MIN(f->tiles[0], 1024u);
	return true;
}

static int move_prepare(struct fast_prog *f)
{
	struct move_plan *p = (struct move_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const bool copy = op->opcode == UMA_OP_COPY;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(d))
		return 0;
	if (uma_dtype_bits(d->dtype) < 8)
		return fast_leave(f, "elements have 4 bits");
	/* Left to class map. */
	if (copy && !line_same_bits(&op->t[UMA_SLOT_A], d))
		return 0;
	p->bytes = uma_dtype_bits(d->dtype) / 8;
	p->nest = (struct line_nest){
		.count = copy ? 2 : 1, .slot = { UMA_SLOT_DST, UMA_SLOT_A },
	};
	if (!same_line(p, f) && (!copy || !turned_line(p, f)))
		return fast_leave(f, FAST_NOT_NEAR);
	f->ns = uma_tensor_elements(d) * p->bytes / 20 + 1;
	return 1;
}

/* Elements of 1, 2 or 4 bytes. */
static void fill_line(uint8_t *to, uint32_t value, uint32_t bytes, uint32_t n)
{
	uint64_t pattern = value;
	uint64_t left = (uint64_t)n * bytes;

	if (bytes == 1)
		pattern = (value & 0xff) * 0x01010101u;
	else if (bytes == 2)
		pattern = (value & 0xffff) * 0x00010001u;
	pattern |= pattern << 32;
	for (; left >= 32; left -= 32, to += 32) {
		memcpy(to, &pattern, 8);
		memcpy(to + 8, &pattern, 8);
		memcpy(to + 16, &pattern, 8);
		memcpy(to + 24, &pattern, 8);
	}
	for (; left >= 8; left -= 8, to += 8)
		memcpy(to, &pattern, 8);
	memcpy(to, &pattern, left);
}

static int move_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct move_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	struct line_at at;
	uint64_t count;
	uint32_t first;

	(void)phase;
	if (p->turned) {
		line_nest_seek(&p->nest, op, tile / p->parts, &at);
		first = tile % p->parts * SQUARE;
		p->k->turn(at.at[0] + first * p->to, p->to, at.at[1] + (uint64_t)first * p->bytes,
			   p->from, UMA_MIN(SQUARE, p->size - first), p->nest.n, p->bytes);
		return 0;
	}
	for (count = line_nest_seek(&p->nest, op, tile, &at);; line_nest_next(&p->nest, &at)) {
		if (op->opcode == UMA_OP_FILL)
			fill_line(at.at[0], op->value, p->bytes, at.n);
		else if (at.at[0] != at.at[1])
			memcpy(at.at[0], at.at[1], (size_t)at.n * p->bytes);
		if (!--count)
			return 0;
	}
}

const struct fast_class fast_move = {
	.name = "move",
	.prepare = move_prepare,
	.tile = move_tile,
};
