// SPDX-License-Identifier: MIT
/*
 * RESIZE, nearest and linear, one line of the result at a time: weighted sums of lines of A,
 * rounded as in the model. If the line's own dimension is resampled, as for rows of images with
 * channels first, the elements that it uses are gathered first, once for each line of A; the
 * same applies if only the result is contiguous.
 */
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Maximum elements of a line of A and of the result */
#define LINE_MAX	16384u
/* Elements of a tile, unless a line has more */
#define TILE		16384u
/* Lines of A that are kept */
#define KEPT		4u

/**
 * struct sample_plan - a prepared operation
 * @k: kernels
 * @in: form of A
 * @out: form of the result
 * @line: dimension of a line
 * @n: its elements
 * @rows: lines of the result
 * @tile: lines of a tile
 * @taps: neighbours along each dimension
 * @step: bytes from an element of A's line to the next
 * @turns: the line's dimension is resampled
 * @raw: elements are copied unchanged
 */
struct sample_plan {
	const struct line_kernels *k;
	struct line_form in;
	struct line_form out;
	uint32_t line;
	uint32_t n;
	uint64_t rows;
	uint32_t tile;
	int64_t step;
	uint8_t taps[UMA_MAX_RANK];
	bool turns;
	bool raw;
};

_Static_assert(sizeof(struct sample_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static bool is_plain(const struct uma_resize_op *u, uint32_t d)
{
	return u->num[d] == 1 && u->den[d] == 1 && !u->off[d];
}

/* The longest contiguous dimension, if possible in both; -1: there is none. */
static int line_of(const struct uma_op *op, bool both)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	int best = -1;
	uint32_t i;

	for (i = 0; i < d->rank; i++)
		if (d->strides[i] == 1 && (!both || a->strides[i] == 1 || a->dims[i] == 1) &&
		    (best < 0 || d->dims[i] > d->dims[best]))
			best = (int)i;
	return best < 0 && both ? line_of(op, false) : best;
}

static int sample_prepare(struct fast_prog *f)
{
	struct sample_plan *p = (struct sample_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const int line = line_of(op, true);
	uint64_t taps = 1, tiles;
	uint32_t i;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(d) || uma_tensor_empty(a))
		return 0;
	if (op->func == UMA_RESIZE_CUBIC)
		return fast_leave(f, "cubic convolution has no kernel");
	if (!line_form_init(&p->in, a, false, f->cpu) ||
	    !line_form_init(&p->out, d, true, f->cpu))
		return fast_leave(f, FAST_NO_FORM);
	if (line < 0)
		return fast_leave(f, FAST_NOT_NEAR);
	p->line = (uint32_t)line;
	p->n = d->dims[line];
	p->step = fast_bytes(a->dtype, a->dims[line] > 1 ? a->strides[line] : 1);
	p->turns = !is_plain(&op->u.resize, p->line);
	if (p->n > LINE_MAX || a->dims[line] > LINE_MAX)
		return fast_leave(f, FAST_TOO_LONG);
	for (i = 0; i < d->rank; i++) {
		p->taps[i] = op->func == UMA_RESIZE_LINEAR && !is_plain(&op->u.resize, i) ? 2 : 1;
		taps *= p->taps[i];
		/* Neighbours must be summed in the order of dimensions. */
		if (p->turns && i > p->line && p->taps[i] > 1)
			return fast_leave(f, FAST_NOT_NEAR);
	}
	p->raw = op->func == UMA_RESIZE_NEAREST && uma_same_format(a, d);
	p->rows = uma_tensor_elements(d) / p->n;
	p->tile = UMA_MAX(TILE / p->n, 1u);
	tiles = uma_divup(p->rows, p->tile);
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles;
	f->max_threads = (uint32_t)UMA_MIN(tiles, 1024);
	f->ns = uma_tensor_elements(d) * taps / 8 + 1;
	return 1;
}

/**
 * struct sample - the tile that is processed
 * @p: plan
 * @op: operation
 * @idx: of the line of the result
 * @at: positions of neighbours along the other dimensions
 * @weight: their weights
 * @places: positions of neighbours along the line
 * @along: their weights
 * @line: a line of A, contiguous
 * @wide: the same, as binary32
 * @sum: a line of the result
 * @kept: gathered neighbours along the line, for lines of A
 * @from: these lines, or NULL
 * @next: next entry of @kept to replace
 */
struct sample {
	const struct sample_plan *p;
	const struct uma_op *op;
	uint32_t idx[UMA_MAX_RANK];
	uint32_t at[UMA_MAX_RANK][2];
	float weight[UMA_MAX_RANK][2];
	uint32_t *places[2];
	float *along[2];
	uint8_t *line;
	float *wide;
	float *sum;
	float *kept[KEPT][2];
	const uint8_t *from[KEPT];
	uint32_t next;
};

static uint32_t inside(int64_t x, uint32_t dim)
{
	return x < 0 ? 0 : x >= dim ? dim - 1 : (uint32_t)x;
}

/* Neighbours of element @o along dimension @d, and their weights */
static void neighbours(const struct sample *s, uint32_t d, uint32_t o, uint32_t *at, float *weight)
{
	const struct uma_resize_op *u = &s->op->u.resize;
	const uint32_t dim = s->op->t[UMA_SLOT_A].dims[d];
	const int64_t v = (int64_t)o * u->num[d] + u->off[d], den = u->den[d];
	int64_t x = v / den, rest = v % den;

	if (rest < 0) {
		rest += den;
		x--;
	}
	weight[0] = 1;
	weight[1] = 0;
	if (s->p->taps[d] == 2) {
		weight[1] = (float)rest / (float)den;
		weight[0] = 1 - weight[1];
	} else if (is_plain(u, d) || u->nearest == UMA_NEAREST_FLOOR) {
		;
	} else if (u->nearest == UMA_NEAREST_CEIL) {
		x += rest != 0;
	} else if (u->nearest == UMA_NEAREST_HALF_UP) {
		x += 2 * rest >= den;
	} else {
		x += 2 * rest > den;
	}
	at[0] = inside(x, dim);
	at[1] = inside(x + 1, dim);
}

/* @n elements as binary32 */
static const float *numbers(const struct sample *s, const uint8_t *from, uint32_t n)
{
	const struct line_map m = { .form = { { .dtype = UMA_DTYPE_F32, .scale = 1 }, s->p->in } };
	uint8_t *at[LINE_OPERANDS] = { (uint8_t *)s->wide, (uint8_t *)(uintptr_t)from };
	const int64_t bytes = fast_bytes(s->p->in.dtype, 1);

	if (s->p->step != bytes) {
		line_spread(s->line, bytes, from, s->p->step, bytes, n);
		at[1] = s->line;
	}
	if (s->p->in.dtype == UMA_DTYPE_F32)
		return (const float *)(const void *)at[1];
	s->p->k->map(&m, at, n);
	return s->wide;
}

/* Gather what the elements of a line use of line @from of A: returns its number in @kept. */
static uint32_t see(struct sample *s, const uint8_t *from)
{
	const struct sample_plan *p = s->p;
	const float *x;
	uint32_t i, j, k;

	for (k = 0; k < KEPT; k++)
		if (s->from[k] == from)
			return k;
	k = s->next++ % KEPT;
	s->from[k] = from;
	x = numbers(s, from, s->op->t[UMA_SLOT_A].dims[p->line]);
	for (j = 0; j < p->taps[p->line]; j++)
		for (i = 0; i < p->n; i++)
			s->kept[k][j][i] = x[s->places[j][i]];
	return k;
}

/* Copy elements unchanged */
static void move_line(const struct sample *s, uint8_t *to, const uint8_t *from)
{
	const int64_t bytes = fast_bytes(s->p->in.dtype, 1), step = s->p->step;
	uint32_t i;

	if (!s->p->turns) {
		if (step == bytes)
			memcpy(to, from, (size_t)(s->p->n * bytes));
		else
			line_spread(to, bytes, from, step, bytes, s->p->n);
		return;
	}
	for (i = 0; i < s->p->n; i++) {
		const uint8_t *x = from + s->places[0][i] * step;

		if (bytes == 4)
			memcpy(to + 4ul * i, x, 4);
		else if (bytes == 2)
			memcpy(to + 2ul * i, x, 2);
		else
			to[i] = *x;
	}
}

/* Sum the lines of A for a line of the result, in the order of dimensions */
static void sum_line(struct sample *s, uint8_t *to)
{
	const struct line_map m = { .form = { s->p->out, { .dtype = UMA_DTYPE_F32, .scale = 1 } } };
	uint8_t *const ends[LINE_OPERANDS] = { to, (uint8_t *)s->sum };
	const struct uma_tensor_view *a = &s->op->t[UMA_SLOT_A];
	const struct sample_plan *p = s->p;
	uint32_t tap[UMA_MAX_RANK] = { 0 }, d, j, k, before = 0;

	for (;;) {
		const uint8_t *from = fast_ptr(a);
		int64_t off = 0;
		float w = 1;

		for (d = 0; d < a->rank; d++) {
			if (d == p->line)
				continue;
			off += (int64_t)s->at[d][tap[d]] * a->strides[d];
			w *= s->weight[d][tap[d]];
		}
		from += fast_bytes(a->dtype, off);
		if (p->raw) {
			move_line(s, to, from);
			return;
		}
		if (p->turns) {
			k = see(s, from);
			for (j = 0; j < p->taps[p->line]; j++)
				p->k->blend(s->sum, s->kept[k][j], s->along[j], w, before++, p->n);
		} else {
			p->k->blend(s->sum, numbers(s, from, p->n), NULL, w, before++, p->n);
		}
		for (d = a->rank; d-- > 0;) {
			if (d != p->line && ++tap[d] < p->taps[d])
				break;
			tap[d] = 0;
			if (!d) {
				p->k->map(&m, ends, p->n);
				return;
			}
		}
	}
}

static void find_along(struct sample *s)
{
	uint32_t i, at[2];
	float weight[2];

	for (i = 0; i < s->p->n && s->p->turns; i++) {
		neighbours(s, s->p->line, i, at, weight);
		s->places[0][i] = at[0];
		s->places[1][i] = at[1];
		s->along[0][i] = weight[0];
		s->along[1][i] = weight[1];
	}
}

static int sample_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct sample_plan *p = (const void *)r->prog->priv;
	const struct uma_tensor_view *d = &r->prog->op->t[UMA_SLOT_DST];
	const uint64_t first = (uint64_t)tile * p->tile, end = UMA_MIN(first + p->tile, p->rows);
	struct sample s = { .p = p, .op = r->prog->op };
	float *memory = r->scratch;
	uint64_t row, rest;
	uint32_t i, k;

	(void)phase;
	for (i = 0; i < 2; i++, memory += 2 * LINE_MAX) {
		s.places[i] = (uint32_t *)(void *)memory;
		s.along[i] = memory + LINE_MAX;
	}
	s.wide = memory;
	s.sum = memory + LINE_MAX;
	s.line = (uint8_t *)(memory + 2 * LINE_MAX);
	for (k = 0, memory += 3 * LINE_MAX; k < KEPT; k++, memory += 2 * LINE_MAX) {
		s.kept[k][0] = memory;
		s.kept[k][1] = memory + LINE_MAX;
	}
	find_along(&s);
	for (row = first; row < end; row++) {
		for (i = d->rank, rest = row; i-- > 0;) {
			const uint32_t old = s.idx[i];

			if (i == p->line)
				continue;
			s.idx[i] = (uint32_t)(rest % d->dims[i]);
			rest /= d->dims[i];
			if (row == first || s.idx[i] != old)
				neighbours(&s, i, s.idx[i], s.at[i], s.weight[i]);
		}
		sum_line(&s, (uint8_t *)fast_ptr(d) +
			     fast_bytes(d->dtype, uma_tensor_offset(d, s.idx)));
	}
	return 0;
}

const struct fast_class fast_sample = {
	.name = "sample",
	.prepare = sample_prepare,
	.tile = sample_tile,
};
