// SPDX-License-Identifier: MIT
/*
 * KV_WRITE of rows with contiguous elements, with the model's bits.
 *
 * A tile is some heads of all rows, in order, so that the last of several rows with the same
 * slot is kept. A slot is checked after reading it once, because memory may change.
 */
#include "libaccel/sw/kernels/classes.h"
#include "dynquant.h"
#include "lines.h"

/* Minimum number of elements of a tile */
#define TILE_ELEMENTS	16384u

/**
 * struct kv_write_plan - a prepared operation
 * @k: kernels of lines
 * @quant: kernels for quantisation
 * @in: form of A
 * @out: form of the result
 * @moves: elements are copied unchanged
 * @heads: heads of a tile
 */
struct kv_write_plan {
	const struct line_kernels *k;
	const struct dynquant_kernels *quant;
	struct line_form in;
	struct line_form out;
	bool moves;
	uint32_t heads;
};

_Static_assert(sizeof(struct kv_write_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static int kv_write_prepare(struct fast_prog *f)
{
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	struct kv_write_plan *p = (struct kv_write_plan *)f->priv;
	const uint64_t row = (uint64_t)a->dims[0] * a->dims[2];

	p->k = line_kernels_of(f->cpu);
	p->quant = dynquant_kernels_of(f->cpu);
	if (!p->k || !p->quant || uma_tensor_empty(a) || uma_tensor_empty(d))
		return 0;
	if (a->dims[2] > 1 && (a->strides[2] != 1 || d->strides[3] != 1))
		return 0;
	p->moves = line_same_bits(a, d);
	if (!(op->u.lines.flags & UMA_KV_WRITE_QUANTISED) && !p->moves &&
	    (!line_form_init(&p->in, a, false, f->cpu) ||
	     !line_form_init(&p->out, d, true, f->cpu)))
		return 0;
	p->heads = (uint32_t)UMA_MIN(UMA_MAX(TILE_ELEMENTS / row, 1u), a->dims[1]);
	f->phase_count = 1;
	f->tiles[0] = f->max_threads = (uint32_t)uma_divup(a->dims[1], p->heads);
	/* The time depends on the rows, not on the size of the cache. */
	f->ns = row * a->dims[1] / 8 + 1;
	return 1;
}

/* The slot of a row; -1: none, -2: a fault. */
static int64_t slot_of(const struct fast_run *r, uint32_t row)
{
	const struct uma_tensor_view *t = &r->prog->op->t[UMA_SLOT_AUX2];
	const struct uma_tensor_view *d = &r->prog->op->t[UMA_SLOT_DST];
	const int64_t off = 4 * t->strides[0] * (int64_t)row;
	int32_t v;

	memcpy(&v, (const uint8_t *)fast_ptr(t) + off, sizeof(v));
	if (v == UMA_KV_WRITE_SKIP)
		return -1;
	if (v >= 0 && (uint64_t)v < (uint64_t)d->dims[0] * d->dims[1])
		return v;
	uma_set_fault(r->fault, UMA_FAULT_RANGE, UMA_SLOT_AUX2, "index");
	r->fault->addr = t->addr + (uint64_t)off;
	return -2;
}

static uint8_t *element(const struct uma_tensor_view *t, const uint32_t *idx)
{
	return (uint8_t *)fast_ptr(t) + fast_bytes(t->dtype, uma_tensor_offset(t, idx));
}

/* Write a row of a head to its slot. */
static void write_head(const struct fast_run *r, const uint8_t *from, const uint32_t *at)
{
	const struct kv_write_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	uint8_t *to = element(d, at);

	if (op->u.lines.flags & UMA_KV_WRITE_QUANTISED) {
		const struct dynquant_form form = {
			d->dtype, op->t[UMA_SLOT_AUX0].dtype, r->prog->rows
		};

		dynquant_line(p->quant, &form, to, from, a->dtype, a->dims[2],
			      element(&op->t[UMA_SLOT_AUX0], at),
			      op->u.lines.flags & UMA_KV_WRITE_ASYMMETRIC ?
			      element(&op->t[UMA_SLOT_AUX1], at) : NULL);
	} else if (p->moves) {
		memcpy(to, from, (size_t)fast_bytes(d->dtype, a->dims[2]));
	} else {
		const struct line_map m = { .form = { p->out, p->in } };
		/* Inputs of a map are not written, so the cast is safe. */
		uint8_t *const both[LINE_OPERANDS] = { to, (uint8_t *)(uintptr_t)from };

		p->k->map(&m, both, a->dims[2]);
	}
}

static int kv_write_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct kv_write_plan *p = (const void *)r->prog->priv;
	const struct uma_tensor_view *a = &r->prog->op->t[UMA_SLOT_A];
	const uint32_t page = r->prog->op->t[UMA_SLOT_DST].dims[1];
	const uint32_t first = tile * p->heads, end = UMA_MIN(first + p->heads, a->dims[1]);
	uint32_t row, head;

	(void)phase;
	for (row = 0; row < a->dims[0]; row++) {
		const int64_t slot = slot_of(r, row);

		if (slot == -1)
			continue;
		if (slot < 0)
			return -1;
		for (head = first; head < end; head++) {
			const uint32_t from[UMA_MAX_RANK] = { row, head };
			const uint32_t at[UMA_MAX_RANK] = {
				(uint32_t)slot / page, (uint32_t)slot % page, head
			};

			write_head(r, element(a, from), at);
		}
	}
	return 0;
}

const struct fast_class fast_kv_write = {
	.name = "kv_write",
	.prepare = kv_write_prepare,
	.tile = kv_write_tile,
};
