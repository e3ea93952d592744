// SPDX-License-Identifier: MIT
/*
 * DYNQUANT of rows: the same bits as the model's.
 *
 * Every step is defined to the bit (Documentation/numerics.rst): the extremes of a
 * line, a subtraction and a division for its scale, a division for each byte.
 */
#include <math.h>
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "dynquant.h"

/* Elements that are worth a tile */
#define TILE_ELEMENTS	16384u

/**
 * struct dynquant_plan - how it is done
 * @k: kernels
 * @lines: rows
 * @n: elements of a row
 * @tile: rows of a tile
 */
struct dynquant_plan {
	const struct dynquant_kernels *k;
	uint64_t lines;
	uint32_t n;
	uint32_t tile;
};

static int dynquant_prepare(struct fast_prog *f)
{
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	struct dynquant_plan *p = (struct dynquant_plan *)f->priv;
	const uint32_t last = a->rank - 1u;
	uint64_t tiles;
	uint32_t i;

#if defined(__x86_64__)
	p->k = f->cpu->isa & FAST_AVX512 ? &dynquant_avx512 :
	       f->cpu->isa & FAST_AVX2 ? &dynquant_avx2 : NULL;
#endif
	if (!p->k || op->u.lines.axes != 1u << last || uma_tensor_empty(a))
		return 0;
	if (a->dims[last] > 1 && (a->strides[last] != 1 || d->strides[last] != 1))
		return 0;
	p->n = a->dims[last];
	p->lines = 1;
	for (i = 0; i < last; i++)
		p->lines *= a->dims[i];
	p->tile = UMA_MAX(TILE_ELEMENTS / p->n, 1u);
	tiles = uma_divup(p->lines, p->tile);
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = f->max_threads = (uint32_t)tiles;
	return 1;
}

/* An element of an operand, its last index 0. */
static void *element(const struct uma_tensor_view *t, const uint32_t *idx)
{
	return (uint8_t *)fast_ptr(t) + fast_bytes(t->dtype, uma_tensor_offset(t, idx));
}

/* Scale and zero point of a line, the latter as the model's functions have it. */
static float find_scale(const struct dynquant_range *r, bool asymmetric, int32_t lo, int32_t *zero)
{
	float scale, first;

	if (r->nan) {
		*zero = asymmetric ? lo : lo + 128;
		return NAN;
	}
	scale = asymmetric ? (r->max - r->min) / 255 :
		(r->max > -r->min ? r->max : -r->min) / 127;
	if (scale == 0)
		scale = 1;
	*zero = lo + 128;
	if (!asymmetric)
		return scale;
	first = rintf(-r->min / scale);
	/* Infinity by infinity counts as 0. */
	*zero = lo + (first > 255 ? 255 : first > 0 ? (int32_t)first : 0);
	return scale;
}

static int dynquant_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct dynquant_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const bool asymmetric = op->u.lines.flags & UMA_DYNQUANT_ASYMMETRIC;
	const int32_t lo = d->dtype == UMA_DTYPE_S8 ? -128 : 0;
	uint64_t line = (uint64_t)tile * p->tile;
	const uint64_t end = UMA_MIN(line + p->tile, p->lines);
	static const uint32_t nan_bits = UMA_F32_NAN;
	uint32_t idx[UMA_MAX_RANK], i;
	struct dynquant_range range;
	int32_t zero;
	float scale;

	(void)phase;
	for (; line < end; line++) {
		uint64_t rest = line;

		memset(idx, 0, sizeof(idx));
		for (i = a->rank - 1u; i-- > 0; rest /= a->dims[i])
			idx[i] = (uint32_t)(rest % a->dims[i]);
		p->k->range(&range, element(a, idx), a->dtype, p->n);
		scale = find_scale(&range, asymmetric, lo, &zero);
		p->k->store(element(d, idx), lo < 0, element(a, idx), a->dtype, scale, zero, p->n);
		memcpy(element(&op->t[UMA_SLOT_AUX0], idx),
		       range.nan ? (const void *)&nan_bits : &scale, sizeof(scale));
		if (asymmetric)
			memcpy(element(&op->t[UMA_SLOT_AUX1], idx), &zero, sizeof(zero));
	}
	return 0;
}

const struct fast_class fast_dynquant = {
	.prepare = dynquant_prepare,
	.tile = dynquant_tile,
};
