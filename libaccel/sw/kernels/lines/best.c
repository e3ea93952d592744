// SPDX-License-Identifier: MIT
/*
 * REDUCE to extremes, their positions, sums and means, and TOPK of few, along lines
 * whose elements lie side by side.
 */
#include <math.h>
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Elements of a tile, unless a line has more */
#define TILE	16384u
/* Most results of TOPK */
#define TOP_MAX	128u

/**
 * struct best_plan - how it is done
 * @k: kernels
 * @nest: lines; A is their first operand
 * @in: A's form
 * @out: the result's form
 */
struct best_plan {
	const struct line_kernels *k;
	struct line_nest nest;
	struct line_form in;
	struct line_form out;
};

_Static_assert(sizeof(struct best_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static bool prepare(struct fast_prog *f, uint64_t cost)
{
	struct best_plan *p = (struct best_plan *)f->priv;
	const struct uma_op *op = f->op;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(&op->t[UMA_SLOT_DST]) ||
	    uma_tensor_empty(&op->t[UMA_SLOT_A]) ||
	    !line_form_init(&p->in, &op->t[UMA_SLOT_A], false, f->cpu) ||
	    !line_nest_init(&p->nest, op, op->u.lines.axes) ||
	    !line_nest_tiles(&p->nest, f, TILE))
		return false;
	f->ns = uma_tensor_elements(&op->t[UMA_SLOT_A]) * cost / 1000 + 1;
	return true;
}

static bool is_arg(uint32_t func)
{
	return func == UMA_REDUCE_ARG_MAX || func == UMA_REDUCE_ARG_MIN;
}

static bool is_sum(uint32_t func)
{
	return func == UMA_REDUCE_SUM || func == UMA_REDUCE_MEAN;
}

static int reduce_prepare(struct fast_prog *f)
{
	struct best_plan *p = (struct best_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];

	if (!is_arg(op->func) && !is_sum(op->func) && op->func != UMA_REDUCE_MAX &&
	    op->func != UMA_REDUCE_MIN)
		return 0;
	/* Sums of integers are the model's. */
	if (is_sum(op->func) && uma_is_int8(a->dtype) && !a->quant)
		return 0;
	if (!is_arg(op->func) && !line_form_init(&p->out, d, true, f->cpu))
		return 0;
	p->nest = (struct line_nest){ .count = 2, .slot = { UMA_SLOT_A, UMA_SLOT_DST } };
	return prepare(f, 60);
}

/* The order of zeros counts: -0 is below +0. */
static float extreme(const struct best_plan *p, const void *x, uint32_t n, bool smallest)
{
	float top = p->k->top(&p->in, x, n, smallest);

	if (top == 0)
		top = p->k->find(&p->in, x, n, smallest ? -0.0f : 0.0f, LINE_FIND_BITS) < n ?
		      (smallest ? -0.0f : 0.0f) : (smallest ? 0.0f : -0.0f);
	return top;
}

static void store(const struct best_plan *p, uint8_t *to, float x)
{
	const struct line_map m = { .form = { p->out, { .dtype = UMA_DTYPE_F32, .scale = 1 } } };
	const uint32_t nan_bits = UMA_F32_NAN;
	uint8_t *const at[LINE_OPERANDS] = { to, (uint8_t *)&x };

	if (x != x)
		memcpy(&x, &nan_bits, sizeof(x));
	p->k->map(&m, at, 1);
}

static void reduce_line(const struct best_plan *p, const struct uma_op *op,
			const struct line_at *at)
{
	const bool smallest = op->func == UMA_REDUCE_MIN || op->func == UMA_REDUCE_ARG_MIN;
	double sums[2];
	int32_t index;
	float top;

	if (is_sum(op->func)) {
		p->k->sums(&p->in, at->at[0], at->n, sums);
		if (op->func == UMA_REDUCE_MEAN)
			sums[0] /= at->n;
		store(p, at->at[1], (float)sums[0]);
	} else if (is_arg(op->func)) {
		top = p->k->top(&p->in, at->at[0], at->n, smallest);
		index = (int32_t)p->k->find(&p->in, at->at[0], at->n, top,
					    op->u.lines.flags & UMA_REDUCE_LAST_INDEX ?
					    LINE_FIND_LAST : LINE_FIND_FIRST);
		memcpy(at->at[1], &index, sizeof(index));
	} else {
		store(p, at->at[1], extreme(p, at->at[0], at->n, smallest));
	}
}

static int reduce_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct best_plan *p = (const void *)r->prog->priv;
	struct line_at at;
	uint64_t count;

	(void)phase;
	for (count = line_nest_seek(&p->nest, r->prog->op, tile, &at); count; count--) {
		reduce_line(p, r->prog->op, &at);
		line_nest_next(&p->nest, &at);
	}
	return 0;
}

const struct fast_class fast_reduce = {
	.prepare = reduce_prepare,
	.tile = reduce_tile,
};

/* --- the best of many -------------------------------------------------------------- */

static uint32_t results(const struct uma_op *op)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	uint32_t i;

	for (i = 0; i + 1 < d->rank; i++)
		if (op->u.lines.axes >> i & 1)
			break;
	return d->dims[i];
}

static int topk_prepare(struct fast_prog *f)
{
	struct best_plan *p = (struct best_plan *)f->priv;
	const struct uma_op *op = f->op;

	if (op->u.lines.flags & UMA_TOPK_SMALLEST || results(op) > TOP_MAX ||
	    !line_form_init(&p->out, &op->t[UMA_SLOT_DST], true, f->cpu))
		return 0;
	p->nest = (struct line_nest){
		.count = 3, .slot = { UMA_SLOT_A, UMA_SLOT_DST, UMA_SLOT_AUX0 },
	};
	return prepare(f, 100);
}

/* Is @a before @b? A NaN is before all numbers; of equal ones the first stays. */
static bool before(float a, float b)
{
	return a > b || (a != a && b == b);
}

static void topk_line(const struct best_plan *p, uint32_t want, const struct line_at *at)
{
	const struct line_map m = { .form = { p->out, { .dtype = UMA_DTYPE_F32, .scale = 1 } } };
	uint8_t *to[LINE_OPERANDS] = { at->at[1] };
	uint32_t count = 0, from = 0, n, i, j;
	float best[TOP_MAX], x[LINE_BLOCK_MAX];
	int32_t where[TOP_MAX];

	while ((n = p->k->above(&p->in, at->at[0], at->n, count < want ? -INFINITY : best[want - 1],
				count < want, &from, x))) {
		for (i = 0; i < n; i++) {
			if (count == want && !before(x[i], best[count - 1]))
				continue;
			j = count < want ? count++ : count - 1;
			for (; j > 0 && before(x[i], best[j - 1]); j--) {
				best[j] = best[j - 1];
				where[j] = where[j - 1];
			}
			best[j] = x[i];
			where[j] = (int32_t)(from + i);
		}
		from += n;
	}
	to[1] = (uint8_t *)best;
	p->k->map(&m, to, want);
	memcpy(at->at[2], where, sizeof(*where) * want);
}

static int topk_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct best_plan *p = (const void *)r->prog->priv;
	const uint32_t want = results(r->prog->op);
	struct line_at at;
	uint64_t count;

	(void)phase;
	for (count = line_nest_seek(&p->nest, r->prog->op, tile, &at); count; count--) {
		if (want)
			topk_line(p, want, &at);
		line_nest_next(&p->nest, &at);
	}
	return 0;
}

const struct fast_class fast_topk = {
	.prepare = topk_prepare,
	.tile = topk_tile,
};
