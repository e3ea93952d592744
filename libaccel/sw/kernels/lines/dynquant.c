// SPDX-License-Identifier: MIT
/*
 * DYNQUANT of lines, with the model's bits.
 *
 * Every step is defined exactly (Documentation/numerics.rst): the extremes of a line, a
 * subtraction and a division for its scale, a division for each byte.
 */
#include <math.h>
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "dynquant.h"

/* Minimum number of elements of a tile */
#define TILE_ELEMENTS	16384u

/**
 * struct dynquant_plan - a prepared operation
 * @k: kernels
 * @lines: number of lines, each with a scale
 * @outer: dimensions before those of a line
 * @n: elements of a line
 * @tile: lines of a tile; 0: lines are divided into pieces, which are tiles, also for their
 *	extremes
 * @pieces: pieces of a line
 */
struct dynquant_plan {
	const struct dynquant_kernels *k;
	uint64_t lines;
	uint32_t outer;
	uint32_t n;
	uint32_t tile;
	uint32_t pieces;
};

const struct dynquant_kernels *dynquant_kernels_of(const struct fast_cpu *cpu)
{
#if defined(__x86_64__)
	if (cpu->isa & FAST_AVX512)
		return &dynquant_avx512;
	if (cpu->isa & FAST_AVX2)
		return &dynquant_avx2;
#endif
	(void)cpu;
	return NULL;
}

/* Are the elements from dimension @from on contiguous? */
static bool is_dense(const struct uma_tensor_view *t, uint32_t from)
{
	int64_t step = 1;
	uint32_t i;

	for (i = t->rank; i-- > from; step *= t->dims[i])
		if (t->dims[i] > 1 && t->strides[i] != step)
			return false;
	return true;
}

/*
 * The last dimensions share a scale, and no other dimension with several elements does; false
 * otherwise.
 */
static bool find_lines(struct dynquant_plan *p, const struct uma_op *op)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	bool apart = false;
	uint64_t n = 1;
	uint32_t i;

	p->outer = a->rank;
	p->lines = 1;
	for (i = a->rank; i-- > 0;) {
		const bool shares = op->u.lines.axes >> i & 1;

		if (shares && p->outer == i + 1) {
			p->outer = i;
			n *= a->dims[i];
			continue;
		}
		apart |= shares && a->dims[i] > 1;
		p->lines *= a->dims[i];
	}
	p->n = (uint32_t)n;
	return !apart && n <= UINT32_MAX;
}

static int dynquant_prepare(struct fast_prog *f)
{
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	struct dynquant_plan *p = (struct dynquant_plan *)f->priv;
	uint64_t tiles;

	p->k = dynquant_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(a))
		return 0;
	if (!find_lines(p, op))
		return fast_leave(f, "elements that share a scale are not of the last dimensions");
	if (!is_dense(a, p->outer) || !is_dense(d, p->outer))
		return fast_leave(f, FAST_NOT_NEAR);
	p->tile = TILE_ELEMENTS / p->n;
	p->pieces = (uint32_t)uma_divup(p->n, TILE_ELEMENTS);
	tiles = p->tile ? uma_divup(p->lines, p->tile) : p->lines * p->pieces;
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = f->max_threads = (uint32_t)tiles;
	if (p->tile)
		return 1;
	f->phase_count = 2;
	f->tiles[1] = f->tiles[0];
	f->work_bytes = tiles * sizeof(struct dynquant_range);
	return 1;
}

/* Address of an element of an operand. */
static void *element(const struct uma_tensor_view *t, const uint32_t *idx)
{
	return (uint8_t *)fast_ptr(t) + fast_bytes(t->dtype, uma_tensor_offset(t, idx));
}

/* Scale and zero point of a line, the latter computed as in the model's functions. */
static float find_scale(const struct dynquant_form *f, const struct dynquant_range *r,
			bool asymmetric, int32_t lo, int32_t *zero)
{
	uint16_t half;
	float scale, first;

	if (r->nan) {
		*zero = asymmetric ? lo : lo + 128;
		return NAN;
	}
	scale = asymmetric ? (r->max - r->min) / 255 :
		(r->max > -r->min ? r->max : -r->min) / 127;
	if (f->scale_dtype == UMA_DTYPE_F16) {
		f->rows->from_f32[UMA_DTYPE_F16](&half, &scale, 1);
		f->rows->to_f32[UMA_DTYPE_F16](&scale, &half, 1);
	}
	if (scale == 0)
		scale = 1;
	*zero = lo + 128;
	if (!asymmetric)
		return scale;
	first = rintf(-r->min / scale);
	/* Infinity divided by infinity is treated as 0. */
	*zero = lo + (first > 255 ? 255 : first > 0 ? (int32_t)first : 0);
	return scale;
}

/* Store the bytes of a piece of a line with known extremes; the first piece stores the scale. */
static void store_line(const struct dynquant_kernels *k, const struct dynquant_form *f, uint8_t *to,
		       const void *from, uint32_t dtype, uint32_t n,
		       const struct dynquant_range *range, bool asymmetric, void *scales,
		       void *zeros)
{
	const int32_t lo = f->dtype == UMA_DTYPE_S8 ? -128 : 0;
	static const uint32_t nan_bits = UMA_F32_NAN;
	int32_t zero;
	float scale;

	scale = find_scale(f, range, asymmetric, lo, &zero);
	k->store(to, lo < 0, from, dtype, scale, zero, n);
	if (range->nan)
		memcpy(&scale, &nan_bits, sizeof(scale));
	if (scales && f->scale_dtype == UMA_DTYPE_F16)
		f->rows->from_f32[UMA_DTYPE_F16](scales, &scale, 1);
	else if (scales)
		memcpy(scales, &scale, sizeof(scale));
	if (zeros)
		memcpy(zeros, &zero, sizeof(zero));
}

/**
 * dynquant_line - quantise a line of binary32, binary16 or bf16
 * @k: kernels
 * @f: form of the result
 * @to: bytes
 * @from: numbers
 * @dtype: their type
 * @n: number of elements
 * @scales: receives the scale
 * @zeros: receives the zero point, NULL: symmetric
 */
void dynquant_line(const struct dynquant_kernels *k, const struct dynquant_form *f, uint8_t *to,
		   const void *from, uint32_t dtype, uint32_t n, void *scales, void *zeros)
{
	struct dynquant_range range;

	k->range(&range, from, dtype, n);
	store_line(k, f, to, from, dtype, n, &range, zeros, scales, zeros);
}

/* A piece of a long line: first phase its extremes, second phase its bytes. */
static void long_line(const struct fast_run *r, uint32_t phase, uint32_t piece, const uint32_t *idx,
		      struct dynquant_range *ranges)
{
	const struct dynquant_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const bool asymmetric = op->u.lines.flags & UMA_DYNQUANT_ASYMMETRIC;
	const struct dynquant_form form = { d->dtype, UMA_DTYPE_F32, r->prog->rows };
	const uint32_t at = piece * TILE_ELEMENTS, n = UMA_MIN(TILE_ELEMENTS, p->n - at);
	const uint8_t *from = (uint8_t *)element(a, idx) + fast_bytes(a->dtype, at);
	struct dynquant_range all;
	uint32_t i;

	if (!phase) {
		p->k->range(&ranges[piece], from, a->dtype, n);
		return;
	}
	all = ranges[0];
	for (i = 1; i < p->pieces; i++) {
		all.max = ranges[i].max > all.max ? ranges[i].max : all.max;
		all.min = ranges[i].min < all.min ? ranges[i].min : all.min;
		all.nan |= ranges[i].nan;
	}
	store_line(p->k, &form, (uint8_t *)element(d, idx) + at, from, a->dtype, n, &all,
		   asymmetric, piece ? NULL : element(&op->t[UMA_SLOT_AUX0], idx),
		   piece || !asymmetric ? NULL : element(&op->t[UMA_SLOT_AUX1], idx));
}

/* The index of the first element of a line. */
static void index_of(const struct dynquant_plan *p, const struct uma_tensor_view *a, uint64_t line,
		     uint32_t *idx)
{
	uint32_t i;

	memset(idx, 0, UMA_MAX_RANK * sizeof(*idx));
	for (i = p->outer; i-- > 0; line /= a->dims[i])
		idx[i] = (uint32_t)(line % a->dims[i]);
}

static int dynquant_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct dynquant_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const bool asymmetric = op->u.lines.flags & UMA_DYNQUANT_ASYMMETRIC;
	const struct dynquant_form form = { d->dtype, UMA_DTYPE_F32, r->prog->rows };
	uint64_t line = (uint64_t)tile * p->tile;
	const uint64_t end = UMA_MIN(line + p->tile, p->lines);
	uint32_t idx[UMA_MAX_RANK];

	if (!p->tile) {
		line = tile / p->pieces;
		index_of(p, a, line, idx);
		long_line(r, phase, tile % p->pieces, idx,
			  (struct dynquant_range *)r->work + line * p->pieces);
		return 0;
	}
	for (; line < end; line++) {
		index_of(p, a, line, idx);
		dynquant_line(p->k, &form, element(d, idx), element(a, idx), a->dtype, p->n,
			      element(&op->t[UMA_SLOT_AUX0], idx),
			      asymmetric ? element(&op->t[UMA_SLOT_AUX1], idx) : NULL);
	}
	return 0;
}

const struct fast_class fast_dynquant = {
	.name = "dynquant",
	.prepare = dynquant_prepare,
	.tile = dynquant_tile,
};
