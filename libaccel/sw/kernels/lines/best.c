// SPDX-License-Identifier: MIT
/*
 * REDUCE to extremes, their positions, sums and means, TOPK of few, and SCAN, for lines whose
 * elements are contiguous.
 */
#include <math.h>
#include "libaccel/sw/kernels/classes.h"
#include "lines.h"

/* Elements of a tile, unless a line has more */
#define TILE	16384u
/* Columns of a tile for sums across lines */
#define COLUMNS	1024u
/* Maximum number of results of TOPK */
#define TOP_MAX	128u
/* Maximum number of integers whose sum in binary64 is exact */
#define TOTAL_MAX	(1u << 21)

/**
 * struct best_plan - a prepared operation
 * @k: kernels
 * @nest: lines; A is their first operand
 * @in: form of A
 * @out: form of the result
 * @columns: sums across lines: elements of one of them, contiguous in both; 0: along them
 * @parts: parts of a line
 * @lines: lines of a sum
 * @step: elements from one line to the next
 * @inner: dimensions that a line consists of
 * @exact: integer sums of integers, which saturate
 */
struct best_plan {
	const struct line_kernels *k;
	struct line_nest nest;
	struct line_form in;
	struct line_form out;
	uint32_t columns;
	uint32_t parts;
	uint32_t lines;
	int64_t step;
	uint32_t inner;
	bool exact;
};

_Static_assert(sizeof(struct best_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/* 32-bit integers are only supported for REDUCE. */
static bool in_form(struct best_plan *p, const struct fast_prog *f)
{
	const struct uma_tensor_view *a = &f->op->t[UMA_SLOT_A];

	return f->op->opcode == UMA_OP_REDUCE ? line_form_any(&p->in, a, false, f->cpu) :
						line_form_init(&p->in, a, false, f->cpu);
}

static bool prepare(struct fast_prog *f, uint64_t cost)
{
	struct best_plan *p = (struct best_plan *)f->priv;
	const struct uma_op *op = f->op;

	p->k = line_kernels_of(f->cpu);
	if (!p->k || uma_tensor_empty(&op->t[UMA_SLOT_DST]) ||
	    uma_tensor_empty(&op->t[UMA_SLOT_A]))
		return false;
	if (!in_form(p, f))
		return fast_leave(f, FAST_NO_FORM);
	if (!line_nest_init(&p->nest, op, op->u.lines.axes) ||
	    !line_nest_tiles(&p->nest, f, TILE))
		return fast_leave(f, FAST_NOT_NEAR);
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

static bool is_plain(const struct uma_tensor_view *t)
{
	return !uma_is_float(t->dtype) && !t->quant;
}

/* The dimension in @mask with the smallest stride of A, or -1: all have one element. */
static int nearest(const struct uma_tensor_view *a, uint32_t mask)
{
	int best = -1;
	uint32_t i;

	for (i = 0; i < a->rank; i++)
		if (mask >> i & 1 && a->dims[i] > 1 &&
		    (best < 0 || a->strides[i] < a->strides[best]))
			best = (int)i;
	return best;
}

/* Dimensions that are contiguous in both, and not in @axes: the elements of a line. */
static uint32_t side_by_side(struct best_plan *p, const struct uma_tensor_view *a,
			     const struct uma_tensor_view *d, uint32_t axes)
{
	uint64_t n = 1;
	int i;

	while ((i = nearest(a, ~(axes | p->inner))) >= 0 && a->strides[i] == (int64_t)n &&
	       d->strides[i] == (int64_t)n && n * a->dims[i] <= UINT32_MAX) {
		n *= a->dims[i];
		p->inner |= 1u << i;
	}
	return n > 1 ? (uint32_t)n : 0;
}

/* Can the dimensions of @axes be merged to one, of lines at a constant distance? */
static bool find_lines(struct best_plan *p, const struct uma_tensor_view *a, uint32_t axes)
{
	uint64_t n = 1;
	int i;

	for (; (i = nearest(a, axes)) >= 0; axes &= ~(1u << i)) {
		if (n == 1)
			p->step = a->strides[i];
		if (a->strides[i] != p->step * (int64_t)n || n * a->dims[i] > UINT32_MAX)
			return false;
		n *= a->dims[i];
	}
	p->lines = (uint32_t)n;
	return true;
}

/* Sums across lines, for any order of dimensions */
static int columns_prepare(struct fast_prog *f)
{
	struct best_plan *p = (struct best_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	uint64_t tiles = 1;
	uint32_t i;

	if (!is_sum(op->func) || !p->k || uma_tensor_empty(a) || uma_tensor_empty(d) ||
	    !in_form(p, f) || !find_lines(p, a, op->u.lines.axes) ||
	    (p->exact && p->lines > TOTAL_MAX))
		return 0;
	p->columns = side_by_side(p, a, d, op->u.lines.axes);
	if (!p->columns)
		return 0;
	p->parts = (uint32_t)uma_divup(p->columns, COLUMNS);
	for (i = 0; i < a->rank; i++)
		if (!((op->u.lines.axes | p->inner) >> i & 1))
			tiles *= a->dims[i];
	tiles *= p->parts;
	if (tiles > UINT32_MAX)
		return 0;
	f->phase_count = 1;
	f->tiles[0] = (uint32_t)tiles;
	f->max_threads = (uint32_t)UMA_MIN(tiles, 1024);
	f->ns = uma_tensor_elements(a) / 10 + 1;
	return 1;
}

static int reduce_prepare(struct fast_prog *f)
{
	struct best_plan *p = (struct best_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];

	if (!is_arg(op->func) && !is_sum(op->func) && op->func != UMA_REDUCE_MAX &&
	    op->func != UMA_REDUCE_MIN)
		return fast_leave(f, "the function has no kernel");
	p->exact = !is_arg(op->func) && op->func != UMA_REDUCE_MEAN && is_plain(a) && is_plain(d);
	/* The model runs sums that are not stored as integers, and positions. */
	if ((a->dtype == UMA_DTYPE_S32 && !p->exact) ||
	    (!is_arg(op->func) && !line_form_any(&p->out, d, true, f->cpu)))
		return fast_leave(f, FAST_NO_FORM);
	p->nest = (struct line_nest){ .count = 2, .slot = { UMA_SLOT_A, UMA_SLOT_DST } };
	if (prepare(f, 60) && (!p->exact || p->nest.n <= TOTAL_MAX))
		return 1;
	return columns_prepare(f);
}

/* The order of zeros matters: -0 is less than +0. */
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

/* Stored as an integer, with saturation */
static void store_integer(uint8_t *to, uint32_t dtype, int64_t v)
{
	const int64_t lo = dtype == UMA_DTYPE_S32 ? INT32_MIN : dtype == UMA_DTYPE_S8 ? -128 : 0;
	const int64_t hi = dtype == UMA_DTYPE_S32 ? INT32_MAX : dtype == UMA_DTYPE_S8 ? 127 : 255;
	const int32_t number = (int32_t)UMA_MIN(UMA_MAX(v, lo), hi);

	memcpy(to, &number, dtype == UMA_DTYPE_S32 ? 4 : 1);
}

static void exact_line(const struct best_plan *p, const struct uma_op *op,
		       const struct line_at *at)
{
	const bool wide = p->in.dtype == UMA_DTYPE_S32, smallest = op->func == UMA_REDUCE_MIN;
	double sums[2];
	int64_t v;

	if (wide && is_sum(op->func)) {
		v = p->k->total(at->at[0], at->n);
	} else if (wide) {
		v = p->k->bound(at->at[0], at->n, smallest);
	} else if (is_sum(op->func)) {
		p->k->sums(&p->in, at->at[0], at->n, sums);
		v = (int64_t)sums[0];
	} else {
		v = (int64_t)p->k->top(&p->in, at->at[0], at->n, smallest);
	}
	store_integer(at->at[1], p->out.dtype, v);
}

static void reduce_line(const struct best_plan *p, const struct uma_op *op,
			const struct line_at *at)
{
	const bool smallest = op->func == UMA_REDUCE_MIN || op->func == UMA_REDUCE_ARG_MIN;
	double sums[2];
	int32_t index;
	float top;

	if (p->exact) {
		exact_line(p, op, at);
	} else if (is_sum(op->func)) {
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

static void columns_tile(const struct fast_run *r, uint32_t tile)
{
	const struct best_plan *p = (const void *)r->prog->priv;
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];
	const struct line_map m = { .form = { p->out, { .dtype = UMA_DTYPE_F32, .scale = 1 } } };
	const uint32_t first = tile % p->parts * COLUMNS, nan_bits = UMA_F32_NAN;
	const uint32_t n = UMA_MIN(p->columns - first, COLUMNS);
	uint32_t idx[UMA_MAX_RANK] = { 0 }, rest = tile / p->parts, i;
	double *const sums = r->scratch;
	float *const x = (float *)(void *)(sums + COLUMNS);
	uint8_t *at[LINE_OPERANDS] = { NULL, (uint8_t *)x };

	for (i = a->rank; i-- > 0;)
		if (!((op->u.lines.axes | p->inner) >> i & 1)) {
			idx[i] = rest % a->dims[i];
			rest /= a->dims[i];
		}
	p->k->columns(&p->in, (const uint8_t *)fast_ptr(a) +
		      fast_bytes(a->dtype, uma_tensor_offset(a, idx) + first),
		      fast_bytes(a->dtype, p->step), p->lines, n, sums);
	at[0] = (uint8_t *)fast_ptr(d) + fast_bytes(d->dtype, uma_tensor_offset(d, idx) + first);
	for (i = 0; p->exact && i < n; i++)
		store_integer(at[0] + fast_bytes(d->dtype, i), d->dtype, (int64_t)sums[i]);
	if (p->exact)
		return;
	for (i = 0; i < n; i++) {
		x[i] = (float)(op->func == UMA_REDUCE_MEAN ? sums[i] / p->lines : sums[i]);
		if (x[i] != x[i])
			memcpy(&x[i], &nan_bits, sizeof(x[i]));
	}
	p->k->map(&m, at, n);
}

static int reduce_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct best_plan *p = (const void *)r->prog->priv;
	struct line_at at;
	uint64_t count;

	(void)phase;
	if (p->columns) {
		columns_tile(r, tile);
		return 0;
	}
	for (count = line_nest_seek(&p->nest, r->prog->op, tile, &at); count; count--) {
		reduce_line(p, r->prog->op, &at);
		line_nest_next(&p->nest, &at);
	}
	return 0;
}

const struct fast_class fast_reduce = {
	.name = "reduce",
	.prepare = reduce_prepare,
	.tile = reduce_tile,
};

/* --- TOPK --------------------------------------------------------------------------- */

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

	if (op->u.lines.flags & UMA_TOPK_SMALLEST || results(op) > TOP_MAX)
		return fast_leave(f, "only a few of the largest have a kernel");
	if (!line_form_init(&p->out, &op->t[UMA_SLOT_DST], true, f->cpu))
		return fast_leave(f, FAST_NO_FORM);
	p->nest = (struct line_nest){
		.count = 3, .slot = { UMA_SLOT_A, UMA_SLOT_DST, UMA_SLOT_AUX0 },
	};
	return prepare(f, 100);
}

/* Does @a precede @b? A NaN precedes all numbers; of equal ones the first is kept. */
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
	.name = "topk",
	.prepare = topk_prepare,
	.tile = topk_tile,
};

/* --- running sums -------------------------------------------------------------------- */

/* Elements that are summed before adding the sum of the previous ones */
#define GROUP	8u

static int scan_prepare(struct fast_prog *f)
{
	struct best_plan *p = (struct best_plan *)f->priv;
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *d = &op->t[UMA_SLOT_DST];

	/* The model runs sums of integers. */
	if (uma_is_int8(a->dtype) && !a->quant)
		return fast_leave(f, "sums of integers have no kernel");
	if (!line_form_init(&p->out, d, true, f->cpu))
		return fast_leave(f, FAST_NO_FORM);
	p->nest = (struct line_nest){ .count = 2, .slot = { UMA_SLOT_DST, UMA_SLOT_A } };
	if (!prepare(f, 700))
		return 0;
	return (!(p->nest.one & 2) && p->nest.n <= FAST_SCRATCH / sizeof(float)) ||
	       fast_leave(f, FAST_TOO_LONG);
}

/* Replace @n numbers, at most a group, by their running sums, in their order or in reverse. */
static inline __attribute__((always_inline)) double
scan_group(float *x, uint32_t n, bool reverse, bool exclusive, double sum)
{
	double part[GROUP + 1];
	uint32_t i;

	part[0] = 0;
	_Pragma("GCC unroll 8")
	for (i = 0; i < n; i++)
		part[i + 1] = part[i] + (double)x[reverse ? n - 1 - i : i];
	_Pragma("GCC unroll 8")
	for (i = 0; i < n; i++)
		x[reverse ? n - 1 - i : i] = (float)(sum + part[i + !exclusive]);
	return sum + part[n];
}

/*
 * The next group depends on a single addition, instead of eight; the other additions of several
 * groups are independent.
 */
static inline __attribute__((always_inline)) double
scan_way(float *x, uint32_t n, bool reverse, bool exclusive)
{
	const uint32_t whole = n / GROUP * GROUP;
	double sum = 0;
	uint32_t i;

	if (!reverse) {
		for (i = 0; i < whole; i += GROUP)
			sum = scan_group(x + i, GROUP, false, exclusive, sum);
		return scan_group(x + whole, n - whole, false, exclusive, sum);
	}
	sum = scan_group(x + whole, n - whole, true, exclusive, sum);
	for (i = whole; i > 0; i -= GROUP)
		sum = scan_group(x + i - GROUP, GROUP, true, exclusive, sum);
	return sum;
}

static void scan_line(const struct fast_run *r, const struct line_at *at)
{
	const struct best_plan *p = (const void *)r->prog->priv;
	const struct line_form plain = { .dtype = UMA_DTYPE_F32, .scale = 1 };
	const struct line_map load = { .form = { plain, p->in } };
	const struct line_map store = { .form = { p->out, plain } };
	uint8_t *const from[LINE_OPERANDS] = { r->scratch, at->at[1] };
	uint8_t *const to[LINE_OPERANDS] = { at->at[0], r->scratch };
	const uint32_t flags = r->prog->op->u.lines.flags;
	const uint32_t nan_bits = UMA_F32_NAN;
	float *const x = r->scratch;
	double sum;
	uint32_t i;

	p->k->map(&load, from, at->n);
	if (flags & UMA_SCAN_EXCLUSIVE)
		sum = scan_way(x, at->n, flags & UMA_SCAN_REVERSE, true);
	else if (flags & UMA_SCAN_REVERSE)
		sum = scan_way(x, at->n, true, false);
	else
		sum = scan_way(x, at->n, false, false);
	/* Once a sum is NaN it remains so to the end. */
	for (i = 0; sum != sum && i < at->n; i++)
		if (x[i] != x[i])
			memcpy(&x[i], &nan_bits, sizeof(nan_bits));
	p->k->map(&store, to, at->n);
}

static int scan_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct best_plan *p = (const void *)r->prog->priv;
	struct line_at at;
	uint64_t count;

	(void)phase;
	for (count = line_nest_seek(&p->nest, r->prog->op, tile, &at); count; count--) {
		scan_line(r, &at);
		line_nest_next(&p->nest, &at);
	}
	return 0;
}

const struct fast_class fast_scan = {
	.name = "scan",
	.prepare = scan_prepare,
	.tile = scan_tile,
};
