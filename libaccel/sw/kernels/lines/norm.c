// SPDX-License-Identifier: MIT
/*
 * NORM with statistics of the line, and SOFTMAX, for lines whose elements are contiguous: a
 * line is read once from memory, and then from the nearest cache. Lines of a NORM may consist
 * of stretches with gaps between them, or with a factor for each, like the channels of a group.
 *
 * Sum and sum of squares are computed in one pass, in binary64. If the mean is large compared
 * with the deviation, the sum of squares is computed again, from the differences.
 */
#include <math.h>
#include "libaccel/sw/kernels/classes.h"
#include "dynquant.h"
#include "lines.h"

/* Elements of a tile, unless a line has more */
#define TILE	16384u
/* Range of deviations, and of their reciprocals, that is safe in binary32 */
#define RANGE	1e18
/* Minimum number of contiguous elements in lines of several stretches */
#define STRETCH		8u
/* Elements that the model's functions process at once */
#define CHUNK	4096u
/* Maximum elements of a line whose sum, or results, are in scratch memory, after a chunk */
#define KEPT_MAX	((FAST_SCRATCH / (uint32_t)sizeof(float) - CHUNK) / 2)

/**
 * struct norm_plan - a prepared operation
 * @k: kernels
 * @nest: lines
 * @quant: kernels for bytes with computed scales, or NULL
 * @out: form of the result
 * @second: form of the second result
 * @more: first operand of the nest that is not used by steps; those that exist, in this order:
 *	addend, second result, scales, zero points
 */
struct norm_plan {
	const struct line_kernels *k;
	const struct dynquant_kernels *quant;
	struct line_nest nest;
	struct line_form out;
	struct line_form second;
	uint32_t more;
};

_Static_assert(sizeof(struct norm_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/* Create the steps after the statistics, and add their operands. */
static bool make_steps(struct line_map *m, struct line_nest *nest, const struct fast_prog *f)
{
	*nest = (struct line_nest){ .count = 2, .slot = { UMA_SLOT_DST, UMA_SLOT_A } };
	m->count = 0;
	m->integers = false;
	return line_form_init(&m->form[1], &f->op->t[UMA_SLOT_A], false, f->cpu) &&
	       line_step_alone(m, f, LINE_AFFINE) && line_epilogue(m, nest, f);
}

/* Slots that are not used by steps, in the order of the nest. */
static const uint8_t more_slots[] = {
	UMA_SLOT_C, UMA_SLOT_AUX2, UMA_SLOT_AUX3, UMA_SLOT_AUX4,
};

/* The number of one of them in the nest. */
static uint32_t more_operand(const struct norm_plan *p, const struct uma_op *op, uint32_t slot)
{
	uint32_t o = p->more, i;

	for (i = 0; more_slots[i] != slot; i++)
		o += uma_has(op, more_slots[i]) ? 1 : 0;
	return o;
}

/* Add an addend, a second result, computed scales. */
static bool add_more(struct fast_prog *f)
{
	struct norm_plan *p = (struct norm_plan *)f->priv;
	const struct uma_op *op = f->op;
	struct line_form addend;
	uint32_t i;

	p->more = p->nest.count;
	if (!op->u.lines.flags)
		return true;
	for (i = 0; i < sizeof(more_slots); i++)
		if (uma_has(op, more_slots[i]))
			p->nest.slot[p->nest.count++] = more_slots[i];
	p->quant = dynquant_kernels_of(f->cpu);
	return (!uma_has(op, UMA_SLOT_C) ||
		line_form_init(&addend, &op->t[UMA_SLOT_C], false, f->cpu)) &&
	       (!uma_has(op, UMA_SLOT_AUX2) ||
		line_form_init(&p->second, &op->t[UMA_SLOT_AUX2], true, f->cpu));
}

/* Common part of prepare(); @cost: approximate picoseconds per element. */
static bool prepare(struct fast_prog *f, uint64_t cost)
{
	struct norm_plan *p = (struct norm_plan *)f->priv;
	const struct uma_op *op = f->op;
	struct line_map m;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(&op->t[UMA_SLOT_DST]))
		return false;
	if (!line_form_init(&p->out, &op->t[UMA_SLOT_DST], true, f->cpu) ||
	    !make_steps(&m, &p->nest, f) || !add_more(f))
		return fast_leave(f, FAST_NO_FORM);
	if (!line_nest_stretches(&p->nest, op, op->u.lines.axes) || p->nest.one & 2 ||
	    !line_nest_tiles(&p->nest, f, TILE))
		return fast_leave(f, FAST_NOT_NEAR);
	f->ns = uma_tensor_elements(&op->t[UMA_SLOT_DST]) * cost / 1000 + 1;
	return true;
}

static int norm_prepare(struct fast_prog *f)
{
	const struct norm_plan *p = (const void *)f->priv;

	if (f->op->func == UMA_NORM_GIVEN)
		return fast_leave(f, "statistics that are given have no kernel");
	if (!prepare(f, 150))
		return 0;
	if (p->nest.inner && (f->op->u.lines.flags || p->nest.n < STRETCH))
		return fast_leave(f, FAST_NOT_NEAR);
	return (!f->op->u.lines.flags || p->nest.n <= KEPT_MAX) || fast_leave(f, FAST_TOO_LONG);
}

/* Mean and 1 / deviation of a line, stretch by stretch; @at is restored. */
static void statistics(const struct norm_plan *p, const struct line_form *f, struct line_at *at,
		       const struct uma_op *op, double *mean, double *rstd)
{
	const double n = (double)line_elements(&p->nest), eps = (double)line_float(op->u.lines.eps);
	double all[2] = { 0 }, sums[2], variance;

	do {
		p->k->sums(f, at->at[1], at->n, sums);
		all[0] += sums[0];
		all[1] += sums[1];
	} while (line_nest_stretch(&p->nest, at));
	*mean = 0;
	variance = all[1] / n;
	if (op->func == UMA_NORM_LAYER) {
		*mean = all[0] / n;
		variance -= *mean * *mean;
		if (!(*mean * *mean <= 4 * variance)) {
			variance = 0;
			do
				variance += p->k->squares(f, at->at[1], at->n, *mean);
			while (line_nest_stretch(&p->nest, at));
			variance /= n;
		}
	}
	*rstd = 1 / sqrt(variance + eps);
}

/* Numbers at the ends of the range: in binary64, with the model's function. */
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
		for (o = 0; o < plan->more; o++)
			at[o] = line->at[o] + (m->one >> o & 1 ? 0 :
					       fast_bytes(m->form[o].dtype, i));
		to[1] = at[1];
		plan->k->map(&load, to, n);
		r->prog->rows->affine(r->scratch, affine, n);
		at[1] = r->scratch;
		plan->k->map(&rest, at, n);
	}
}

static void norm_alone(const struct fast_run *r, struct line_map *m, const struct line_at *line)
{
	const struct norm_plan *p = (const void *)r->prog->priv;
	float *const affine = m->step[0].p;
	struct line_at at = *line;
	double s[2];

	statistics(p, &m->form[1], &at, r->prog->op, &s[0], &s[1]);
	if (!(s[1] > 1 / RANGE && s[1] < RANGE)) {
		do
			far_line(r, m, &at, s);
		while (line_nest_stretch(&p->nest, &at));
		return;
	}
	/* The mean in two parts: the second is the rounding error of the first. */
	affine[0] = (float)s[0];
	affine[1] = (float)s[1];
	affine[2] = (float)(((double)affine[0] - s[0]) * s[1]);
	do
		p->k->map(m, at.at, at.n);
	while (line_nest_stretch(&p->nest, &at));
}

static const struct line_form plain = { .dtype = UMA_DTYPE_F32, .scale = 1 };

/* Convert binary32 to another type, unless it is the same. */
static void convert(const struct norm_plan *p, const struct line_form *form, uint8_t *to,
		    uint8_t *x, uint32_t n)
{
	const struct line_map m = { .form = { *form, plain } };
	uint8_t *const at[LINE_OPERANDS] = { to, x };

	if (to != x)
		p->k->map(&m, at, n);
}

/* A + C. */
static void add_line(const struct fast_run *r, const struct line_map *m, const struct line_at *at,
		     uint8_t *to)
{
	const struct norm_plan *p = (const void *)r->prog->priv;
	uint8_t *const line[LINE_OPERANDS] = { to, at->at[1], at->at[p->more] };
	struct line_map sum = {
		.form = { plain, m->form[1] }, .count = 1,
		.one = p->nest.one >> p->more & 1 ? 4 : 0,
		.step = { { .func = LINE_BINARY(UMA_BINARY_ADD), .operand = 2 } },
	};

	line_form_init(&sum.form[2], &r->prog->op->t[UMA_SLOT_C], false, r->prog->cpu);
	p->k->map(&sum, line, at->n);
}

/*
 * With an addend, two results, or computed scales: values that are read more than once, or
 * stored in two types, are kept in the second result if that is binary32, else in scratch
 * memory.
 */
static void norm_line(const struct fast_run *r, struct line_map *m, const struct line_at *at)
{
	const struct norm_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const uint32_t flags = op->u.lines.flags;
	uint8_t *sum = (uint8_t *)r->scratch + CHUNK * sizeof(float);
	uint8_t *results = sum + KEPT_MAX * sizeof(float), *second = NULL;
	const struct dynquant_form form = {
		op->t[UMA_SLOT_DST].dtype, UMA_DTYPE_F32, r->prog->rows
	};
	struct line_map norm = *m;
	struct line_at line = *at;

	if (!flags) {
		norm_alone(r, m, at);
		return;
	}
	if (flags & UMA_NORM_SECOND)
		second = at->at[more_operand(p, op, UMA_SLOT_AUX2)];
	if (second && p->second.dtype == UMA_DTYPE_F32) {
		if (flags & UMA_NORM_SUM)
			sum = second;
		else
			results = second;
	}
	if (flags & UMA_NORM_ADD) {
		add_line(r, m, at, sum);
		norm.form[1] = plain;
		line.at[1] = sum;
	}
	if (flags & UMA_NORM_SUM)
		convert(p, &p->second, second, sum, at->n);
	if (!(flags & UMA_NORM_DYNQUANT) && !(second && !(flags & UMA_NORM_SUM))) {
		norm_alone(r, &norm, &line);
		return;
	}
	norm.form[0] = plain;
	line.at[0] = results;
	norm_alone(r, &norm, &line);
	if (second && !(flags & UMA_NORM_SUM))
		convert(p, &p->second, second, results, at->n);
	if (flags & UMA_NORM_DYNQUANT)
		dynquant_line(p->quant, &form, at->at[0], results, UMA_DTYPE_F32,
			      at->n, at->at[more_operand(p, op, UMA_SLOT_AUX3)],
			      flags & UMA_NORM_ASYMMETRIC ?
			      at->at[more_operand(p, op, UMA_SLOT_AUX4)] : NULL);
	else
		convert(p, &p->out, at->at[0], results, at->n);
}

/* Run each line of a tile. */
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
	.name = "norm",
	.prepare = norm_prepare,
	.tile = norm_tile,
};

/* --- softmax ----------------------------------------------------------------------- */

static int softmax_prepare(struct fast_prog *f)
{
	const struct norm_plan *p = (const void *)f->priv;

	if (!prepare(f, 400))
		return 0;
	if (p->nest.inner)
		return fast_leave(f, FAST_NOT_NEAR);
	/* The exponentials are stored in the result, or in scratch memory. */
	return (p->out.dtype == UMA_DTYPE_F32 && f->op->func == UMA_SOFTMAX_PLAIN) ||
	       p->nest.n <= FAST_SCRATCH / sizeof(float) || fast_leave(f, FAST_TOO_LONG);
}

/*
 * The logarithm: x minus that of the sum. The exponentials are only summed; the difference is
 * computed in binary64, and so rounded once, by the model's function.
 */
static void log_line(const struct fast_run *r, const struct line_map *m, const struct line_at *at,
		     float top)
{
	const struct norm_plan *p = (const void *)r->prog->priv;
	const struct line_map load = { .form = { plain, m->form[1] } };
	const struct line_map store = { .form = { p->out, plain } };
	uint8_t *x[LINE_OPERANDS] = { r->scratch, at->at[1] };
	uint8_t *const to[LINE_OPERANDS] = { at->at[0], r->scratch };
	double affine[3] = { top, 0, 1 };
	uint32_t i;

	if (top - top != 0) {
		for (i = 0; i < at->n; i++)
			((float *)r->scratch)[i] = top == -INFINITY ? -INFINITY : NAN;
	} else {
		affine[1] = log(p->k->exps(&m->form[1], at->at[1], at->n, top, r->scratch));
		p->k->map(&load, x, at->n);
		r->prog->rows->affine(r->scratch, affine, at->n);
	}
	p->k->map(&store, to, at->n);
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

	if (r->prog->op->func == UMA_SOFTMAX_LOG) {
		log_line(r, m, at, top);
		return;
	}
	scale.form[1] = plain;
	scale.step[0].p[0] = 0;
	scale.step[0].p[2] = 0;
	if (top - top != 0) {
		uint32_t i;

		/* All -infinity: zeros. Otherwise all of it is NaN. */
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
	.name = "softmax",
	.prepare = softmax_prepare,
	.tile = softmax_tile,
};
