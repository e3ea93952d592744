// SPDX-License-Identifier: MIT
/*
 * Networks in binary64, and how far the device may be from that: see net.h.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net.h"
#include "libaccel/tests/oracle/oracle.h"

#define U	ORACLE_U
/* How far something is moved. */
#define STEP	(1.0 / (1 << 20))

/* --- operations ----------------------------------------------------------------------- */

/* Of an element: its value is returned, its rounding goes to @r. */
typedef double element_fn(const struct net *n, const struct net_node *x, uint32_t row,
			  uint32_t col, double *r);

static double at(const struct net *n, int i, uint32_t row, uint32_t col)
{
	return n->node[i].w[(uint64_t)row * n->node[i].cols + col];
}

static double gemm(const struct net *n, const struct net_node *x, uint32_t row, uint32_t col,
		   double *r)
{
	const struct accel_epilogue epilogue = { .act = x->arg };
	uint32_t k = n->node[x->in[0]].cols, i;
	double sum = 0, mag = 0, p;
	struct oracle_num y;

	for (i = 0; i < k; i++) {
		p = at(n, x->in[0], row, i) * at(n, x->in[1], i, col);
		sum += p;
		mag += isfinite(p) ? fabs(p) : 0;
	}
	y = (struct oracle_num){ sum, (k + 1) * 1.001 * U * mag };
	/* It may overflow on its way, in one order and not in another. */
	if (mag * 1.001 > FLT_MAX && !isnan(sum) && !(isfinite(sum) && fabs(sum) > mag * 0.999))
		y.e = INFINITY;
	y = oracle_seen(y);
	if (x->in[2] >= 0)
		y = oracle_add(y, at(n, x->in[2], 0, col));
	y = oracle_activation(y, &epilogue);
	if (x->in[3] >= 0)
		y = oracle_add(y, at(n, x->in[3], row, col));
	*r = y.e;
	return y.v;
}

static double norm(const struct net *n, const struct net_node *x, uint32_t row, uint32_t col,
		   double *r)
{
	double mean = 0, mags = 0, var = (double)0.00001f, d, s, sure;
	struct oracle_num y;
	uint32_t i;

	for (i = 0; i < x->cols && x->arg == ACCEL_NORM_LAYER; i++) {
		mean += at(n, x->in[0], row, i) / x->cols;
		mags += fabs(at(n, x->in[0], row, i)) / x->cols;
	}
	for (i = 0; i < x->cols; i++) {
		d = at(n, x->in[0], row, i) - mean;
		var += d * d / x->cols;
	}
	s = 1 / sqrt(var);
	/* A difference from the mean is known to a part of the numbers. */
	y.v = (at(n, x->in[0], row, col) - mean) * s;
	y.e = isfinite(y.v) ? 5 * U * fabs(y.v) + 8 * U * U * mags * s : 0;
	sure = (x->cols + 16) * U * U * mags;
	if (isfinite(mags) && 4 * sure * sure > var)
		y.e = INFINITY;
	y = oracle_mul(y, at(n, x->in[1], 0, col));
	if (x->in[2] >= 0)
		y = oracle_add(y, at(n, x->in[2], 0, col));
	*r = y.e;
	return y.v;
}

/* A product is rounded, and may be beyond the largest number. */
static double times(double a, double b)
{
	return oracle_seen((struct oracle_num){ a * b, 0 }).v;
}

static double rotary(const struct net *n, const struct net_node *x, uint32_t row, uint32_t col,
		     double *r)
{
	uint32_t i = col % x->dim, half = x->dim / 2, position = x->arg;
	uint32_t other = i < half ? col + half : col - half;
	struct oracle_num y;
	double own, across;

	position += row % (x->rows / n->seqs);
	own = times(at(n, x->in[0], row, col), at(n, x->in[1], position, i % half));
	across = times(at(n, x->in[0], row, other), at(n, x->in[2], position, i % half));
	y.v = i < half ? own - across : own + across;
	y.e = isfinite(y.v) ? U * (fabs(own) + fabs(across)) + 2 * ORACLE_TINY : 0;
	y = oracle_step(y);
	*r = y.e;
	return y.v;
}

static double product(const struct net *n, const struct net_node *x, uint32_t row,
		      uint32_t col, double *r)
{
	const struct oracle_num y = oracle_mul((struct oracle_num){ at(n, x->in[0], row, col), 0 },
					       at(n, x->in[1], row, col));

	*r = y.e;
	return y.v;
}

/* Element of a key or a value: of the cache, or of a node. */
static double cached(const struct net *n, const struct net_node *x, uint32_t part,
		     uint32_t seq, uint32_t key, uint32_t head, uint32_t i)
{
	const struct net_node *from = &n->node[x->in[1 + part]];
	uint32_t heads = from->cols / x->dim;

	if (x->kind == NET_CACHED)
		return n->cached[x->arg][part][(((uint64_t)seq * n->keys + key) * heads + head) *
					       x->dim + i];
	return at(n, x->in[1 + part], seq * (from->rows / n->seqs) + key, head * x->dim + i);
}

static bool sees(const struct net *n, uint32_t seq, uint32_t query, uint32_t queries,
		 uint32_t key, uint32_t keys)
{
	const int64_t idx[4] = { seq, 0, 0, key };

	if (n->mask.rank)
		return oracle_load_int(&n->mask, idx);
	return key <= keys - queries + query;
}

static double attention(const struct net *n, const struct net_node *x, uint32_t row,
			uint32_t col, double *r)
{
	uint32_t queries = x->rows / n->seqs, seq = row / queries, head = col / x->dim;
	uint32_t group = (x->cols / x->dim) / (n->node[x->in[1]].cols / x->dim);
	uint32_t keys = x->kind == NET_CACHED ? n->keys : queries, first = 0, j, i;
	double score[512], error[512], top = -INFINITY, sum = 0, more = 0, y = 0, mag = 0;
	double scale = 1 / sqrt(x->dim), s, m, p, w, off, moved = 0;

	assert_true(keys <= 512);
	for (j = 0; j < keys; j++) {
		score[j] = -INFINITY;
		if (!sees(n, seq, row % queries, queries, j, keys))
			continue;
		for (i = 0, s = 0, m = 0; i < x->dim; i++) {
			p = at(n, x->in[0], row, head * x->dim + i) *
			    cached(n, x, 0, seq, j, head / group, i);
			s += p;
			m += fabs(p);
		}
		score[j] = times(s, scale);
		error[j] = ((x->dim + 1) * 1.001 * m + 2 * fabs(s)) * scale * U;
		if (score[j] > top || isnan(score[j])) {
			top = score[j];
			first = j;
		}
		if (isnan(top))
			break;
	}
	*r = 0;
	/* Without a key that is seen it is 0. */
	if (!isfinite(top))
		return top == -INFINITY ? 0 : NAN;
	for (j = 0; j < keys; j++) {
		if (score[j] == -INFINITY) /* NOLINT: all of them are set */
			continue;
		w = exp(score[j] - top);
		/*
		 * Only differences from the largest count. What is far below it is nothing, by
		 * however much of itself it may be off.
		 */
		off = j == first ? 0 : error[first] + error[j]; /* NOLINT: all of them are set */
		off += 2 * U * (top - score[j]) + (4 * (keys / 64.0 + 4) + 8) * U;
		off = exp(score[j] - top + off) - w;
		p = cached(n, x, 1, seq, j, head / group, col % x->dim);
		sum += w;
		more += off;
		y += w * p;
		mag += w * fabs(p);
		moved += off * fabs(p);
	}
	/* The divisor is off likewise. */
	if (isinf(more))
		*r = INFINITY;
	else if (isfinite(y))
		*r = (moved + more / sum * mag + (2 * keys + keys / 8.0 + 16) * U * mag) / sum;
	return y / sum;
}

static double gather(const struct net *n, const struct net_node *x, uint32_t row, uint32_t col,
		     double *r)
{
	*r = 0;
	return at(n, x->in[0], (uint32_t)x->ids[row], col);
}

static element_fn *const elements[] = {
	[NET_GEMM] = gemm, [NET_NORM] = norm, [NET_ROTARY] = rotary, [NET_MUL] = product,
	[NET_GATHER] = gather, [NET_ATTENTION] = attention, [NET_CACHED] = attention,
};

/* A row into w; roundings too if they are wanted. */
static void evaluate_row(struct net *n, struct net_node *x, uint32_t row, bool roundings)
{
	struct oracle_num y;
	uint32_t col;

	for (col = 0; col < x->cols; col++) {
		uint64_t k = (uint64_t)row * x->cols + col;

		y.v = elements[x->kind](n, x, row, col, &y.e);
		y = oracle_seen(y);
		/* It may have become infinite. */
		if (isfinite(y.v) && fabs(y.v) + y.e > FLT_MAX)
			y.e = INFINITY;
		x->w[k] = y.v;
		if (roundings)
			x->r[k] = y.e;
	}
}

/* All nodes. */
static void evaluate(struct net *n)
{
	uint32_t row;
	int i;

	for (i = 0; i < n->count; i++) {
		struct net_node *x = &n->node[i];

		for (row = 0; row < x->rows && x->kind != NET_INPUT; row++)
			evaluate_row(n, x, row, true);
	}
}

/* Which rows of an input a row is computed from. */
static void seen_by(const struct net *n, const struct net_node *x, uint32_t i, uint32_t row,
		    uint32_t *from, uint32_t *to)
{
	const uint32_t each = n->node[x->in[i]].rows / n->seqs;

	*from = row;
	if (!i || x->kind == NET_MUL || (i == 3 && x->kind == NET_GEMM)) {
		if (x->kind == NET_GATHER)
			*from = (uint32_t)x->ids[row];
		*to = *from + 1;
	} else if (x->kind == NET_ATTENTION) {
		*from = row / (x->rows / n->seqs) * each;
		*to = *from + each;
	} else {
		*from = 0;
		/* What the cache has is there. */
		*to = x->kind == NET_CACHED ? 0 : n->node[x->in[i]].rows;
	}
}

/* Is a row computed from one that was moved? */
static bool follows(const struct net *n, const struct net_node *x, uint32_t row)
{
	uint32_t i, from, to;

	for (i = 0; i < 4; i++) {
		if (x->in[i] < 0)
			continue;
		for (seen_by(n, x, i, row, &from, &to); from < to; from++)
			if (n->node[x->in[i]].moved[from])
				return true;
	}
	return false;
}

/* What follows from the rows of node @i that were moved: others have the values they had. */
static void evaluate_moved(struct net *n, int i)
{
	const uint64_t size = sizeof(double);
	uint32_t row;

	for (i++; i < n->count; i++) {
		struct net_node *x = &n->node[i];

		for (row = 0; row < x->rows && x->kind != NET_INPUT; row++) {
			const uint64_t k = (uint64_t)row * x->cols;

			if (!follows(n, x, row))
				continue;
			evaluate_row(n, x, row, false);
			x->moved[row] = memcmp(x->w + k, x->v + k, x->cols * size) != 0;
		}
	}
}

/* --- the cache --------------------------------------------------------------------------- */

/* Keys and values of a layer as they are in the pages. */
static void read_cache(struct net *n, const struct net_node *x)
{
	struct accel_tensor pages, lengths, pool[2];
	uint32_t part, seq, key, head, i;
	int64_t idx[4], entry[2];
	double *out;

	assert_int_equal(accel_kv_tensors(n->kv, x->arg, &pool[0], &pool[1]), 0);
	assert_int_equal(accel_kv_table(n->kv, n->seq, n->seqs, 0, &pages, &lengths), 0);
	for (part = 0; part < 2; part++) {
		uint32_t heads = (uint32_t)pool[part].dims[2];

		out = calloc((uint64_t)n->seqs * n->keys * heads * x->dim, sizeof(*out));
		assert_non_null(out);
		n->cached[x->arg][part] = out;
		for (seq = 0; seq < n->seqs; seq++)
			for (key = 0; key < n->keys; key++)
				for (head = 0; head < heads; head++)
					for (i = 0; i < x->dim; i++) {
						entry[0] = seq;
						entry[1] = key / pool[part].dims[1];
						idx[0] = oracle_load_int(&pages, entry);
						idx[1] = key % pool[part].dims[1];
						idx[2] = head;
						idx[3] = i;
						*out++ = oracle_load(&pool[part], idx);
					}
	}
	accel_bo_unref(pages.bo);
}

/* What was appended is within half a step, and the bound, of what it should be. */
static void check_cache(const struct net *n, const struct net_node *x)
{
	uint32_t part, row, col, i;

	for (part = 0; part < 2; part++) {
		const struct net_node *from = &n->node[x->in[1 + part]];
		uint32_t rows = from->rows / n->seqs;

		for (row = 0; row < from->rows; row++)
			for (col = 0; col < from->cols; col++) {
				const double *v = from->v + (uint64_t)row * from->cols;
				const double *b = from->b + (uint64_t)row * from->cols;
				uint32_t head = col / x->dim;
				double most = 0, got, limit;

				for (i = 0; i < x->dim; i++)
					most = fmax(most, fabs(v[head * x->dim + i]) +
						    b[head * x->dim + i]);
				got = cached(n, x, part, row / rows,
					     n->keys - rows + row % rows, head, col % x->dim);
				limit = b[col] + most / 127 * (0.5 + 256 * U);
				if (!(fabs(got - v[col]) <= limit))
					fail_msg("layer %u, %s, row %u, element %u: %.9g in the cache, want %.9g within %.3g",
						 x->arg, part ? "value" : "key", row, col, got,
						 v[col], limit);
			}
	}
}

/* --- bounds ------------------------------------------------------------------------------- */

/* What moving an element by @r does to all that is checked. */
static void spread(struct net *n, int i, uint64_t k)
{
	struct net_node *x = &n->node[i];
	const bool finite = isfinite(x->v[k]);
	double h = finite ? STEP * (1 + fabs(x->v[k])) : 1, slope;
	uint32_t row;
	uint64_t e;
	int j;

	if (x->check)
		x->b[k] += x->r[k];
	x->w[k] = finite ? x->v[k] + h : 0;
	x->moved[k / x->cols] = true;
	evaluate_moved(n, i);
	for (j = i; j < n->count; j++) {
		struct net_node *y = &n->node[j];

		for (row = 0; row < y->rows; row++) {
			const uint64_t end = (row + 1ull) * y->cols;

			if (!y->moved[row])
				continue;
			for (e = end - y->cols; j > i && y->check && e < end; e++) {
				slope = oracle_apart(y->w[e], y->v[e]) / h;
				/* Nothing may be known of it, but of this. */
				y->b[e] += slope > 0 ? slope * x->r[k] : 0;
			}
			/* The next element is moved alone. */
			memcpy(y->w + end - y->cols, y->v + end - y->cols,
			       y->cols * sizeof(double));
			y->moved[row] = false;
		}
	}
}

double net_check(struct net *n, double *bound)
{
	double worst = 0, most = 0;
	uint64_t k;
	int i;

	for (i = 0; i < n->count; i++) {
		struct net_node *x = &n->node[i];

		if (x->kind == NET_INPUT)
			memcpy(x->w, x->v, (uint64_t)x->rows * x->cols * sizeof(double));
		if (x->kind == NET_CACHED) {
			read_cache(n, x);
			n->node[x->in[1]].check = true;
			n->node[x->in[2]].check = true;
		}
	}
	evaluate(n);
	for (i = 0; i < n->count; i++)
		memcpy(n->node[i].v, n->node[i].w,
		       (uint64_t)n->node[i].rows * n->node[i].cols * sizeof(double));
	for (i = 0; i < n->count; i++) {
		struct net_node *x = &n->node[i];

		for (k = 0; k < (uint64_t)x->rows * x->cols; k++)
			if (x->r[k] > 0)
				spread(n, i, k);
	}
	for (i = 0; i < n->count; i++) {
		struct net_node *x = &n->node[i];
		const float *got = accel_bo_ptr(x->t.bo);

		if (x->kind == NET_CACHED)
			check_cache(n, x);
		for (k = 0; x->check && k < (uint64_t)x->rows * x->cols; k++) {
			/* Second order, and the error of the slopes. */
			double limit = 1.01 * x->b[k] + 4 * U * U;
			double off = oracle_apart((double)got[k], x->v[k]);

			if (!(off <= limit))
				fail_msg("node %d, element %llu: %.9g, want %.9g within %.3g", i,
					 (unsigned long long)k, (double)got[k], x->v[k], limit);
			if (isinf(limit))
				continue;
			worst = fmax(worst, off / limit);
			most = fmax(most, limit);
		}
	}
	*bound = most;
	return worst;
}
