// SPDX-License-Identifier: MIT
/*
 * POOL, maximum and average, where channels lie side by side: a line of channels of
 * the result from as many of A as the window has positions in it, in their order.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Multiply-adds, so to speak, of a tile */
#define TILE	32768u
#define SPATIAL	2u	/* first dimension that a window has */
/* Positions of a window */
#define TAPS_MAX	4096u

/**
 * struct window_plan - how it is done
 * @k: kernels
 * @in: A's form
 * @out: the result's form
 * @bytes: maxima of bytes as they are stored
 * @taps: positions of a window
 * @outputs: lines
 * @tile: of a tile
 */
struct window_plan {
	const struct line_kernels *k;
	struct line_form in;
	struct line_form out;
	bool bytes;
	uint32_t taps;
	uint64_t outputs;
	uint32_t tile;
};

static int window_prepare(struct fast_prog *f)
{
	struct window_plan *p = (struct window_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	uint64_t taps = 1, tiles;
	uint32_t i;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(d) || uma_tensor_empty(a))
		return 0;
	if (op->func != UMA_POOL_MAX && op->func != UMA_POOL_AVERAGE)
		return fast_leave(f, "only the maximum and the average have a kernel");
	if (!line_form_init(&p->in, a, false, f->cpu) ||
	    !line_form_init(&p->out, d, true, f->cpu))
		return fast_leave(f, FAST_NO_FORM);
	if (d->dims[1] > 1 && (a->strides[1] != 1 || d->strides[1] != 1))
		return fast_leave(f, "channels are not side by side");
	p->outputs = d->dims[0];
	for (i = 0; i < op->u.pool.spatial; i++) {
		taps *= op->u.pool.kernel[i];
		p->outputs *= d->dims[SPATIAL + i];
	}
	if (taps > TAPS_MAX)
		return fast_leave(f, "the window is too large");
	p->bytes = op->func == UMA_POOL_MAX && uma_is_int8(a->dtype) && line_same_bits(a, d);
	p->taps = (uint32_t)taps;
	p->tile = (uint32_t)UMA_MAX(TILE / (taps * d->dims[1]), 1u);
	tiles = uma_divup(p->outputs, p->tile);
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles;
	f->max_threads = (uint32_t)UMA_MIN(tiles, 1024);
	f->ns = uma_tensor_elements(d) * taps / (p->bytes ? 100 : 20) + 1;
	return 1;
}

/*
 * The elements of A that the window of an output has, along dimension @i and those
 * behind it, row-major. Returns how many positions count for an average.
 */
static uint64_t find_taps(const struct uma_op *op, const uint32_t *idx, uint32_t i,
			  const uint8_t *at, const uint8_t **taps, uint32_t *count)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_pool_op *u = &op->u.pool;
	const int64_t size = a->dims[SPATIAL + i], pad = u->flags & UMA_POOL_COUNT_PAD ? 1 : 0;
	const int64_t bytes = fast_bytes(a->dtype, a->strides[SPATIAL + i]);
	const int64_t first = (int64_t)idx[SPATIAL + i] * u->stride[i] - u->begin[i];
	uint64_t counted = 0, inner = 1;
	uint32_t k;

	for (k = 0; k < u->kernel[i]; k++) {
		const int64_t x = first + (int64_t)k * u->dilation[i];

		if (x < -pad * (int64_t)u->begin[i] || x >= size + pad * (int64_t)u->end[i])
			continue;
		/* Three at most, as a compiler that unrolls the calls has to be told. */
		if (i + 1 < UMA_MIN(u->spatial, UMA_POOL_SPATIAL)) {
			uint32_t none = *count;

			/* Outside, only what counts is of interest. */
			inner = find_taps(op, idx, i + 1, at + x * bytes, taps,
					  x >= 0 && x < size ? count : &none);
		} else if (x >= 0 && x < size) {
			taps[(*count)++] = at + x * bytes;
		}
		counted += inner;
	}
	return counted;
}

/* Outputs behind @o whose windows are inside of A along a dimension, if that of @o is. */
static uint32_t followers(const struct uma_op *op, uint32_t dim, uint32_t o)
{
	const struct uma_pool_op *u = &op->u.pool;
	const uint32_t i = dim - SPATIAL;
	const int64_t room = (int64_t)op->t[UMA_SLOT_A].dims[dim] + u->begin[i] -
			     (int64_t)(u->kernel[i] - 1) * u->dilation[i] - 1;

	return (uint32_t)UMA_MIN(room / u->stride[i], op->t[UMA_SLOT_DST].dims[dim] - 1ll) - o;
}

static void output(const struct window_plan *p, const struct uma_op *op, uint8_t *to,
		   const uint8_t *const *taps, uint32_t count, uint64_t counted)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];

	if (p->bytes)
		p->k->most(to, taps, count, d->dims[1], d->dtype == UMA_DTYPE_S8);
	else
		p->k->window(&p->out, to, &p->in, taps, count, d->dims[1],
			     op->func == UMA_POOL_MAX ? 0 : (float)UMA_MAX(counted, 1u));
}

static int window_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct window_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const uint64_t first = (uint64_t)tile * p->tile;
	const uint64_t end = UMA_MIN(first + p->tile, p->outputs);
	const uint8_t **taps = r->scratch;
	uint32_t idx[UMA_MAX_RANK] = { 0 };
	const uint32_t last = SPATIAL + op->u.pool.spatial - 1;
	const int64_t step = fast_bytes(a->dtype, op->u.pool.stride[last - SPATIAL] *
						  a->strides[last]);
	const int64_t to_step = fast_bytes(d->dtype, d->strides[last]);
	uint32_t count, more, i;
	uint64_t at, counted;
	uint8_t *to;

	(void)phase;
	for (at = first; at < end; at++) {
		uint64_t rest = at;

		for (i = SPATIAL + op->u.pool.spatial; i-- > SPATIAL; rest /= d->dims[i])
			idx[i] = (uint32_t)(rest % d->dims[i]);
		idx[0] = (uint32_t)rest;
		count = 0;
		counted = find_taps(op, idx, 0, (const uint8_t *)fast_ptr(a) +
				    fast_bytes(a->dtype, idx[0] * a->strides[0]), taps, &count);
		to = (uint8_t *)fast_ptr(d) + fast_bytes(d->dtype, uma_tensor_offset(d, idx));
		output(p, op, to, taps, count, counted);
		if (count < p->taps)
			continue;
		/* Windows that follow, and are inside as well, have theirs so much further on. */
		for (more = followers(op, last, idx[last]); more && at + 1 < end; more--, at++) {
			for (i = 0; i < count; i++)
				taps[i] += step;
			to += to_step;
			output(p, op, to, taps, count, counted);
		}
	}
	return 0;
}

const struct fast_class fast_window = {
	.name = "window",
	.prepare = window_prepare,
	.tile = window_tile,
};
