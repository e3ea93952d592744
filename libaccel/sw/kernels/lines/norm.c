// SPDX-License-Identifier: MIT
/*
 * NORM by a line's own statistics, and SOFTMAX, of lines whose elements lie side by
 * side: a line is read from memory once, and from the nearest cache after that.
 *
 * Sum and sum of squares are formed in one go, in binary64. Where the mean is large
 * against the deviation the squares' sum is formed once more, of the differences.
 */
#include <math.h>
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Elements of a tile, unless a line has more */
#define TILE	16384u
/* Deviations, and their reciprocals, that binary32 has no trouble with */
#define RANGE	1e18
/* Elements that go through the model's functions at once */
#define CHUNK	4096u

/**
 * struct norm_plan - how it is done
 * @k: kernels
 * @nest: lines
 * @out: the result's form
 */
struct norm_plan {
	const struct line_kernels *k;
	struct line_nest nest;
	struct line_form out;
};

_Static_assert(sizeof(struct norm_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/* What follows the statistics, and the operands that it has. */
static bool make_steps(struct line_map *m, struct line_nest *nest, const struct fast_prog *f)
{
	*nest = (struct line_nest){ .count = 2, .slot = { UMA_SLOT_DST, UMA_SLOT_A } };
	m->count = 0;
	return line_form_init(&m->form[1], &f->op->t[UMA_SLOT_A], false, f->cpu) &&
	       line_step_alone(m, f, LINE_AFFINE) && line_epilogue(m, nest, f);
}

/* What both need; picoseconds of an element, about. */
static bool prepare(struct fast_prog *f, uint64_t cost)
{
	struct norm_plan *p = (struct norm_plan *)f->priv;
	const struct uma_op *op = f->op;
	struct line_map m;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(&op->t[UMA_SLOT_DST]) ||
	    !line_form_init(&p->out, &op->t[UMA_SLOT_DST], true, f->cpu) ||
	    !make_steps(&m, &p->nest, f) ||
	    !line_nest_init(&p->nest, op, op->u.lines.axes) || p->nest.one & 2 ||
	    !line_nest_tiles(&p->nest, f, TILE))
		return false;
	f->ns = uma_tensor_elements(&op->t[UMA_SLOT_DST]) * cost / 1000 + 1;
	return true;
}

static int norm_prepare(struct fast_prog *f)
{
	return f->op->func != UMA_NORM_GIVEN && prepare(f, 150);
}

/* Mean and 1 / deviation of a line. */
static void statistics(const struct norm_plan *p, const struct line_form *f, const void *x,
		       const struct uma_op *op, double *mean, double *rstd)
{
	const double n = p->nest.n, eps = (double)line_float(op->u.lines.eps);
	double sums[2], variance;

	p->k->sums(f, x, p->nest.n, sums);
	*mean = 0;
	variance = sums[1] / n;
	if (op->func == UMA_NORM_LAYER) {
		*mean = sums[0] / n;
		variance -= *mean * *mean;
		if (!(*mean * *mean <= 4 * variance))
			variance = p->k->squares(f, x, p->nest.n, *mean) / n;
	}
	*rstd = 1 / sqrt(variance + eps);
}

/* Numbers at the ends of the range: in binary64, by the model's function. */
static void far_line(const struct fast_run *r, const struct line_map *m,
		     const struct line_at *line, const double *p)
{
	const struct norm_plan *plan = (const void *)r->prog->priv;
	const double affine[3] = { p[0], 0, p[1] };
	struct line_map load = { .form = { { .dtype = UMA_DTYPE_F32, .scale = 1 }, m->form[1] } };
	struct line_map rest = *m;
	uint32_t i, n, o;

	/* Without the first step. */
	rest.form[1] = load.form[0];
	rest.count--;
	memmove(&rest.step[0], &rest.step[1], sizeof(rest.step) - sizeof(rest.step[0]));
	for (i = 0; i < line->n; i += n) {
		uint8_t *to[LINE_OPERANDS] = { r->scratch, line->at[1] };
		uint8_t *at[LINE_OPERANDS] = { NULL };

		n = UMA_MIN(line->n - i, CHUNK);
		for (o = 0; o < plan->nest.count; o++)
			at[o] = line->at[o] + (m->one >> o & 1 ? 0 :
					       fast_bytes(m->form[o].dtype, i));
		to[1] = at[1];
		plan->k->map(&load, to, n);
		r->prog->rows->affine(r->scratch, affine, n);
		at[1] = r->scratch;
		plan->k->map(&rest, at, n);
	}
}

static void norm_line(const struct fast_run *r, struct line_map *m, const struct line_at *at)
{
	const struct norm_plan *p = (const void *)r->prog->priv;
	float *const affine = m->step[0].p;
	double s[2];

	statistics(p, &m->form[1], at->at[1], r->prog->op, &s[0], &s[1]);
	if (!(s[1] > 1 / RANGE && s[1] < RANGE)) {
		far_line(r, m, at, s);
		return;
	}
	/* The mean in two parts: the second takes what its rounding has left. */
	affine[0] = (float)s[0];
	affine[1] = (float)s[1];
	affine[2] = (float)(((double)affine[0] - s[0]) * s[1]);
	p->k->map(m, at->at, at->n);
}

/* Each line of a tile. */
static int tile_lines(const struct fast_run *r, uint32_t tile,
		      void (*line)(const struct fast_run *r, struct line_map *m,
				   const struct line_at *at))
{
	const struct norm_plan *p = (const void *)r->prog->priv;
	struct line_nest nest;
	struct line_map m;
	struct line_at at;
	uint64_t count;

	if (!make_steps(&m, &nest, r->prog))
		return -1;
	m.form[0] = p->out;
	m.one = p->nest.one;
	for (count = line_nest_seek(&p->nest, r->prog->op, tile, &at); count; count--) {
		line(r, &m, &at);
		line_nest_next(&p->nest, &at);
	}
	return 0;
}

static int norm_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	(void)phase;
	return tile_lines(r, tile, norm_line);
}

const struct fast_class fast_norm = {
	.prepare = norm_prepare,
	.tile = norm_tile,
};

/* --- softmax ----------------------------------------------------------------------- */

static int softmax_prepare(struct fast_prog *f)
{
	const struct norm_plan *p = (const void *)f->priv;

	if (f->op->func != UMA_SOFTMAX_PLAIN || !prepare(f, 400))
		return 0;
	/* The exponentials stand where the result does, or in scratch memory. */
	return p->out.dtype == UMA_DTYPE_F32 || p->nest.n <= FAST_SCRATCH / sizeof(float);
}

static void softmax_line(const struct fast_run *r, struct line_map *m, const struct line_at *at)
{
	const struct norm_plan *p = (const void *)r->prog->priv;
	const bool direct = p->out.dtype == UMA_DTYPE_F32;
	const struct line_form from = m->form[1];
	struct line_map scale = *m;
	uint8_t *line[LINE_OPERANDS] = { at->at[0], direct ? at->at[0] : r->scratch };
	float top = p->k->top(&from, at->at[1], at->n, false);
	double sum;

	scale.form[1] = (struct line_form){ .dtype = UMA_DTYPE_F32, .scale = 1 };
	scale.step[0].p[0] = 0;
	scale.step[0].p[2] = 0;
	if (top - top != 0) {
		uint32_t i;

		/* Nothing but -infinity: zeros. Else all of it is NaN. */
		for (i = 0; i < at->n; i++)
			((float *)(void *)line[1])[i] = top == -INFINITY ? 0 : NAN;
		scale.step[0].p[1] = 1;
	} else {
		sum = p->k->exps(&from, at->at[1], at->n, top, (void *)line[1]);
		scale.step[0].p[1] = (float)(1 / sum);
	}
	p->k->map(&scale, line, at->n);
}

static int softmax_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	(void)phase;
	return tile_lines(r, tile, softmax_line);
}

const struct fast_class fast_softmax = {
	.prepare = softmax_prepare,
	.tile = softmax_tile,
};
