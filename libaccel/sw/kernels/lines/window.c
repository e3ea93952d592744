// SPDX-License-Identifier: MIT
/*
 * POOL, maximum and average, with contiguous channels: a line of channels of the result is
 * computed from one line of A for each position in the window, in their order. If columns are
 * contiguous instead, some rows of 64 channels are transposed to scratch memory, and the
 * results transposed back: so the order, and each bit, is the same.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Work of a tile, in operations */
#define TILE	32768u
#define SPATIAL	2u	/* first dimension of a window */
/* Maximum number of positions of a window */
#define TAPS_MAX	4096u
/* Channels that are transposed at once: one or two blocks of the kernels */
#define PLANES		64u
/* With so few channels the model's rows are as fast. */
#define PLANES_LEAST	4u
#define TURNED_MAX	(FAST_SCRATCH - TAPS_MAX * sizeof(void *))

/**
 * struct window_plan - a prepared operation
 * @k: kernels
 * @in: form of A
 * @out: form of the result
 * @bytes: maxima of bytes without conversion
 * @taps: positions of a window
 * @outputs: number of lines
 * @tile: lines of a tile
 * @turned: columns are contiguous; the following members are for this case
 * @images: number of images
 * @planes: channels of each image, or of all images if the stride is the same
 * @blocks: blocks of PLANES channels of each image
 * @rows: rows of results of a tile, along the first dimension of a window
 * @slabs: tiles for all rows
 * @size: bytes of an element of DST and of A
 * @image: bytes from image to image, of DST and of A
 * @plane: bytes from channel to channel, of DST and of A
 */
struct window_plan {
	const struct line_kernels *k;
	struct line_form in;
	struct line_form out;
	bool bytes;
	uint32_t taps;
	uint64_t outputs;
	uint32_t tile;
	bool turned;
	uint32_t images;
	uint32_t planes;
	uint32_t blocks;
	uint32_t rows;
	uint32_t slabs;
	uint32_t size[2];
	int64_t image[2];
	int64_t plane[2];
};

/* --- plans ------------------------------------------------------------------------- */

/* Elements of a row, along the first dimension of a window */
static uint64_t row_elements(const struct uma_tensor_view *t)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = SPATIAL + 1; i < t->rank; i++)
		n *= t->dims[i];
	return n;
}

/* Bytes of @rows rows of results, and of the rows of A for these, with contiguous channels */
static uint64_t turned_bytes(const struct window_plan *p, const struct uma_op *op, uint32_t rows)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const struct uma_pool_op *u = &op->u.pool;
	const uint64_t seen = (uint64_t)(rows - 1) * u->stride[0] +
			      (uint64_t)(u->kernel[0] - 1) * u->dilation[0] + 1;

	return PLANES * (UMA_MIN(seen, a->dims[SPATIAL]) * row_elements(a) * p->size[1] +
			 rows * row_elements(d) * p->size[0]);
}

/* Prepare for contiguous columns. */
static int turned_prepare(struct fast_prog *f, struct window_plan *p)
{
	const struct uma_op *op = f->op;
	const uint32_t last = op->t[UMA_SLOT_DST].rank - 1u;
	const uint32_t channels = op->t[UMA_SLOT_DST].dims[1];
	const uint64_t close = UMA_MIN((uint64_t)f->cpu->l2 / 2, TURNED_MAX);
	uint64_t tiles, planes;
	bool alike = true;
	uint32_t s;

	p->turned = true;
	p->images = op->t[UMA_SLOT_DST].dims[0];
	for (s = 0; s < 2; s++) {
		const struct uma_tensor_view *t = &op->t[s ? UMA_SLOT_A : UMA_SLOT_DST];

		if (t->dims[last] > 1 && t->strides[last] != 1)
			return fast_leave(f, "neither channels nor columns are side by side");
		if (row_elements(t) > TURNED_MAX)
			return fast_leave(f, FAST_TOO_LONG);
		p->size[s] = uma_dtype_bits(t->dtype) / 8;
		p->image[s] = fast_bytes(t->dtype, t->strides[0]);
		p->plane[s] = channels > 1 ? fast_bytes(t->dtype, t->strides[1]) : p->image[s];
		alike = alike && p->image[s] == (int64_t)channels * p->plane[s];
	}
	planes = (uint64_t)channels * p->images;
	if (alike && planes <= UINT32_MAX)
		p->images = 1;
	else
		planes = channels;
	if (planes < PLANES_LEAST)
		return fast_leave(f, "too few channels are beside each other");
	p->planes = (uint32_t)planes;
	p->blocks = (uint32_t)uma_divup(planes, PLANES);
	p->rows = op->t[UMA_SLOT_DST].dims[SPATIAL];
	while (p->rows > 1 && (turned_bytes(p, op, p->rows) > close ||
			       (uint64_t)p->images * p->blocks *
			       uma_divup(op->t[UMA_SLOT_DST].dims[SPATIAL], p->rows) <
			       f->cpu->threads))
		p->rows = (p->rows + 1) / 2;
	if (turned_bytes(p, op, p->rows) > TURNED_MAX)
		return fast_leave(f, FAST_TOO_LONG);
	p->slabs = (uint32_t)uma_divup(op->t[UMA_SLOT_DST].dims[SPATIAL], p->rows);
	tiles = (uint64_t)p->images * p->blocks;
	if (tiles > UINT32_MAX / p->slabs)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles * p->slabs;
	f->max_threads = UMA_MIN(f->tiles[0], 1024u);
	f->ns += uma_tensor_elements(&op->t[UMA_SLOT_A]) / 4;
	return 1;
}

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
	p->outputs = d->dims[0];
	for (i = 0; i < op->u.pool.spatial; i++) {
		taps *= op->u.pool.kernel[i];
		p->outputs *= d->dims[SPATIAL + i];
	}
	if (taps > TAPS_MAX)
		return fast_leave(f, "the window is too large");
	p->bytes = op->func == UMA_POOL_MAX && uma_is_int8(a->dtype) && line_same_bits(a, d);
	p->taps = (uint32_t)taps;
	f->ns = uma_tensor_elements(d) * taps / (p->bytes ? 100 : 20) + 1;
	if (d->dims[1] > 1 && (a->strides[1] != 1 || d->strides[1] != 1))
		return turned_prepare(f, p);
	p->tile = (uint32_t)UMA_MAX(TILE / (taps * d->dims[1]), 1u);
	tiles = uma_divup(p->outputs, p->tile);
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles;
	f->max_threads = (uint32_t)UMA_MIN(tiles, 1024);
	return 1;
}

/* --- lines of channels ------------------------------------------------------------- */

/*
 * Find the elements of A in the window of an output, along dimension @i and the following ones,
 * in row-major order. Returns the number of positions that an average counts.
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
		/* At most three; tells this to compilers that unroll the calls. */
		if (i + 1 < UMA_MIN(u->spatial, UMA_POOL_SPATIAL)) {
			uint32_t none = *count;

			/* Outside of A, only the count matters. */
			inner = find_taps(op, idx, i + 1, at + x * bytes, taps,
					  x >= 0 && x < size ? count : &none);
		} else if (x >= 0 && x < size) {
			taps[(*count)++] = at + x * bytes;
		}
		counted += inner;
	}
	return counted;
}

/*
 * Number of following outputs whose windows are inside of A along a dimension, if that of @o
 * is.
 */
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

/* Outputs @at .. @end, with contiguous channels. */
static void outputs(const struct window_plan *p, const struct uma_op *op, const uint8_t **taps,
		    uint64_t at, uint64_t end)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const uint32_t last = SPATIAL + op->u.pool.spatial - 1;
	const int64_t step = fast_bytes(a->dtype, op->u.pool.stride[last - SPATIAL] *
						  a->strides[last]);
	const int64_t to_step = fast_bytes(d->dtype, d->strides[last]);
	uint32_t idx[UMA_MAX_RANK] = { 0 };
	uint32_t count, more, i;
	uint64_t counted;
	uint8_t *to;

	for (; at < end; at++) {
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
		/* For following windows inside of A, the addresses only advance. */
		for (more = followers(op, last, idx[last]); more && at + 1 < end; more--, at++) {
			for (i = 0; i < count; i++)
				taps[i] += step;
			to += to_step;
			output(p, op, to, taps, count, counted);
		}
	}
}

/* --- planes that are turned -------------------------------------------------------- */

/*
 * Transpose rows @y0 .. @y1 of @n channels of the operand, the first of which is at @plane, to
 * contiguous channels. Contiguous rows are one line.
 */
static void turn_rows(const struct window_plan *p, const struct uma_tensor_view *t, uint32_t s,
		      uint8_t *plane, uint8_t *turned, uint32_t y0, uint32_t y1, uint32_t n)
{
	const bool line = t->rank == SPATIAL + 1;
	const uint32_t mid = t->rank == SPATIAL + 3 ? t->dims[SPATIAL + 1] : 1;
	uint64_t lines = line ? 1 : (uint64_t)(y1 - y0) * mid, i;
	uint32_t width = line ? y1 - y0 : t->dims[t->rank - 1];
	const uint64_t near = (uint64_t)width * lines;
	const int64_t pixel = (int64_t)PLANES * p->size[s];

	if (!line && near <= UINT32_MAX && t->strides[SPATIAL] == (int64_t)width * mid &&
	    (mid == 1 || t->strides[SPATIAL + 1] == width)) {
		width = (uint32_t)near;
		lines = 1;
	}
	plane += (int64_t)y0 * fast_bytes(t->dtype, t->strides[SPATIAL]);
	for (i = 0; i < lines; i++, turned += width * pixel) {
		uint8_t *at = plane;

		at += (int64_t)(i / mid) * fast_bytes(t->dtype, t->strides[SPATIAL]);
		if (mid > 1)
			at += (int64_t)(i % mid) * fast_bytes(t->dtype, t->strides[SPATIAL + 1]);
		if (s)
			p->k->turn(turned, pixel, at, p->plane[s], width, n, p->size[s]);
		else
			p->k->turn(at, p->plane[s], turned, pixel, n, width, p->size[s]);
	}
}

/* The operand as it is in scratch memory, where row @y0 is at @turned. */
static void as_turned(struct uma_tensor_view *t, const uint8_t *turned, uint32_t y0)
{
	int64_t step = PLANES;
	uint32_t i;

	t->dims[0] = 1;
	t->dims[1] = PLANES;
	t->strides[0] = 0;
	t->strides[1] = 1;
	for (i = t->rank; i-- > SPATIAL; step *= t->dims[i])
		t->strides[i] = step;
	t->addr = (uint64_t)(uintptr_t)turned -
		  (uint64_t)fast_bytes(t->dtype, y0 * t->strides[SPATIAL]);
}

static void turned_tile(const struct fast_run *r, const struct window_plan *p, uint32_t tile)
{
	struct uma_op op = *r->prog->op;
	struct uma_tensor_view *a = &op.t[UMA_SLOT_A], *d = &op.t[UMA_SLOT_DST];
	const struct uma_pool_op *u = &op.u.pool;
	const uint32_t o0 = tile % p->slabs * p->rows, o1 = UMA_MIN(o0 + p->rows, d->dims[SPATIAL]);
	const uint32_t block = tile / p->slabs % p->blocks, image = tile / p->slabs / p->blocks;
	const uint32_t n = UMA_MIN(PLANES, p->planes - block * PLANES);
	const int64_t from = (int64_t)o0 * u->stride[0] - u->begin[0];
	const int64_t to = (int64_t)(o1 - 1) * u->stride[0] - u->begin[0] +
			   (int64_t)(u->kernel[0] - 1) * u->dilation[0] + 1;
	const uint32_t y0 = (uint32_t)UMA_MIN(UMA_MAX(from, 0), (int64_t)a->dims[SPATIAL]);
	const uint32_t y1 = (uint32_t)UMA_MIN(UMA_MAX(to, y0), (int64_t)a->dims[SPATIAL]);
	const uint64_t in_bytes = PLANES * p->size[1] * (y1 - y0) * row_elements(a);
	const uint64_t row = row_elements(d);
	uint8_t *in = (uint8_t *)r->scratch + TAPS_MAX * sizeof(void *), *out = in + in_bytes;
	const struct uma_tensor_view result = *d;

	/* Missing channels do not affect the result, but must not be slow. */
	if (n < PLANES)
		memset(in, 0, in_bytes);
	turn_rows(p, a, 1, (uint8_t *)fast_ptr(a) + image * p->image[1] +
		  (int64_t)block * PLANES * p->plane[1], in, y0, y1, n);
	as_turned(a, in, y0);
	as_turned(d, out, o0);
	outputs(p, &op, r->scratch, o0 * row, o1 * row);
	turn_rows(p, &result, 0, (uint8_t *)fast_ptr(&result) + image * p->image[0] +
		  (int64_t)block * PLANES * p->plane[0], out, o0, o1, n);
}

static int window_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct window_plan *p = (const void *)r->prog->priv;
	const uint64_t first = (uint64_t)tile * p->tile;

	(void)phase;
	if (p->turned)
		turned_tile(r, p, tile);
	else
		outputs(p, r->prog->op, r->scratch, first, UMA_MIN(first + p->tile, p->outputs));
	return 0;
}

const struct fast_class fast_window = {
	.name = "window",
	.prepare = window_prepare,
	.tile = window_tile,
};
