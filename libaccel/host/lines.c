// SPDX-License-Identifier: MIT
/*
 * Operations on the CPU along a dimension, around tensors and between matrices: running sums,
 * the largest elements, padding, scattering, products.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

static int find_axis(int32_t axis, uint32_t rank, uint32_t *out)
{
	if (axis < -(int32_t)rank || axis >= (int32_t)rank)
		return -EINVAL;
	*out = (uint32_t)(axis < 0 ? axis + (int32_t)rank : axis);
	return 0;
}

static bool same_dims(const struct host_tensor *a, const struct host_tensor *b, uint32_t but)
{
	uint32_t i;

	for (i = 0; i < a->rank && a->rank == b->rank; i++)
		if (i != but && a->dims[i] != b->dims[i])
			return false;
	return a->rank == b->rank;
}

static struct host_number sum_of(struct host_number a, struct host_number b)
{
	struct accel_binary_desc add = { .func = ACCEL_BINARY_ADD };

	return host_binary(&add, a, b);
}

int host_scan(const struct accel_scan_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *a = host_arg(t, count, ACCEL_ARG_A);
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D);
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, dims[ACCEL_GRAPH_MAX_RANK], from, to, i, k, n;
	struct host_number sum, x;
	uint32_t axis;

	if (!a || find_axis(desc->axis, d->rank, &axis) || !same_dims(a, d, d->rank))
		return -EINVAL;
	if (host_is_empty(d))
		return 0;
	memcpy(dims, d->dims, sizeof(dims));
	n = dims[axis];
	dims[axis] = 1;
	do {
		from = host_place(a, at);
		to = host_place(d, at);
		sum = (struct host_number) {
			host_type_real(d->type), d->type == ACCEL_HOST_U64, 0, 0
		};
		for (i = 0; i < n; i++) {
			k = desc->flags & ACCEL_SCAN_REVERSE ? n - 1 - i : i;
			x = host_get(a->type, a->data, from + k * a->strides[axis]);
			if (!(desc->flags & ACCEL_SCAN_EXCLUSIVE))
				sum = sum_of(sum, x);
			host_put(d->type, d->data, to + k * d->strides[axis], sum);
			if (desc->flags & ACCEL_SCAN_EXCLUSIVE)
				sum = sum_of(sum, x);
		}
	} while (host_next(d->rank, dims, at));
	return 0;
}

/* --- the largest elements -------------------------------------------------------------- */

/**
 * struct ranked - an element and where it was
 * @x: element
 * @at: index
 */
struct ranked {
	struct host_number x;
	int64_t at;
};

static int by_size(const void *p, const void *q)
{
	const struct ranked *a = p, *b = q;
	int c = host_compare(a->x, b->x);

	return c ? c : (a->at > b->at) - (a->at < b->at);
}

static int by_size_down(const void *p, const void *q)
{
	const struct ranked *a = p, *b = q;
	int c = host_compare(b->x, a->x);

	return c ? c : (a->at > b->at) - (a->at < b->at);
}

int host_topk(const struct accel_topk_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *indices = host_arg(t, count, ACCEL_ARG_AUX0);
	const struct host_tensor *a = host_arg(t, count, ACCEL_ARG_A);
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D);
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, dims[ACCEL_GRAPH_MAX_RANK], from, i, n, k;
	struct ranked *list;
	uint32_t axis;

	if (!a || find_axis(desc->axis, d->rank, &axis) || !same_dims(a, d, axis) ||
	    d->dims[axis] > a->dims[axis] || (indices && !same_dims(indices, d, d->rank)))
		return -EINVAL;
	if (host_is_empty(d))
		return 0;
	memcpy(dims, d->dims, sizeof(dims));
	k = dims[axis];
	dims[axis] = 1;
	n = a->dims[axis];
	list = malloc((size_t)n * sizeof(*list));
	if (!list)
		return -ENOMEM;
	do {
		from = host_place(a, at);
		for (i = 0; i < n; i++)
			list[i] = (struct ranked) {
				host_get(a->type, a->data, from + i * a->strides[axis]), i
			};
		qsort(list, (size_t)n, sizeof(*list),
		      desc->flags & ACCEL_TOPK_SMALLEST ? by_size : by_size_down);
		for (i = 0; i < k; i++) {
			host_put(d->type, d->data, host_place(d, at) + i * d->strides[axis],
				 list[i].x);
			if (indices)
				host_put(indices->type, indices->data,
					 host_place(indices, at) + i * indices->strides[axis],
					 (struct host_number) { .i = list[i].at });
		}
	} while (host_next(d->rank, dims, at));
	free(list);
	return 0;
}

/* --- padding --------------------------------------------------------------------------- */

/* Where element @i lies in @n elements; -1: outside of them. */
static int64_t padded(uint32_t mode, int64_t i, int64_t n)
{
	int64_t span = 2 * (n - 1);

	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case ACCEL_PAD_EDGE:
		return i < 0 ? 0 : n - 1;
	case ACCEL_PAD_REFLECT:
		if (!span)
			return 0;
		i = (i % span + span) % span;
		return i < n ? i : span - i;
	case ACCEL_PAD_WRAP:
		return (i % n + n) % n;
	default:
		return -1;
	}
}

/* The constant of a padding as an element: exact for integers that are exact as double. */
static struct host_number constant(uint32_t type, double value)
{
	struct host_number n = { host_type_real(type), false, value, 0 };

	if (!n.real && value >= -0x1p63 && value < 0x1p63)
		n.i = (int64_t)value;
	return n;
}

int host_pad(const struct accel_pad_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *a = host_arg(t, count, ACCEL_ARG_A);
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D);
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, from[ACCEL_GRAPH_MAX_RANK];
	bool outside;
	uint32_t i;

	if (!a || a->rank != d->rank || a->rank > ACCEL_MAX_RANK)
		return -EINVAL;
	for (i = 0; i < a->rank; i++)
		if (d->dims[i] != a->dims[i] + desc->before[i] + desc->after[i] ||
		    (desc->mode != ACCEL_PAD_CONSTANT && d->dims[i] && !a->dims[i]))
			return -EINVAL;
	if (host_is_empty(d))
		return 0;
	do {
		outside = false;
		for (i = 0; i < a->rank; i++) {
			from[i] = padded(desc->mode, at[i] - desc->before[i], a->dims[i]);
			outside |= from[i] < 0;
		}
		host_put(d->type, d->data, host_place(d, at),
			 outside ? constant(d->type, desc->value) :
			 host_get(a->type, a->data, host_place(a, from)));
	} while (host_next(d->rank, d->dims, at));
	return 0;
}

/* --- scattering ------------------------------------------------------------------------ */

static struct host_number updated(uint32_t reduce, struct host_number old, struct host_number x)
{
	static const uint32_t funcs[] = {
		[ACCEL_SCATTER_ADD] = ACCEL_BINARY_ADD, [ACCEL_SCATTER_MUL] = ACCEL_BINARY_MUL,
		[ACCEL_SCATTER_MAX] = ACCEL_BINARY_MAX, [ACCEL_SCATTER_MIN] = ACCEL_BINARY_MIN
	};
	struct accel_binary_desc op = { 0 };

	if (reduce == ACCEL_SCATTER_PUT || reduce >= ACCEL_SCATTER_REDUCE_COUNT)
		return x;
	op.func = funcs[reduce];
	return host_binary(&op, old, x);
}

/* Index @at of the updates in D; the dimension that has no such element, or D's rank. */
static uint32_t target(const struct accel_scatter_desc *desc, const struct host_tensor *b,
		       const struct host_tensor *d, const int64_t *at, int64_t *to,
		       struct host_number *index)
{
	bool nd = desc->func == ACCEL_SCATTER_ND;
	uint32_t head = b->rank - 1, n = nd ? (uint32_t)b->dims[head] : 1, i, axis;
	int64_t key[ACCEL_GRAPH_MAX_RANK];

	memcpy(key, at, sizeof(key));
	memcpy(to, at, d->rank * sizeof(*to));
	for (i = 0; i < n; i++) {
		if (nd)
			key[head] = i;
		axis = nd ? i : desc->axis;
		*index = host_get(b->type, b->data, host_place(b, key));
		to[axis] = host_index(*index, d->dims[axis]);
		if (to[axis] < 0)
			return axis;
	}
	for (i = n; nd && i < d->rank; i++)
		to[i] = at[head + i - n];
	return d->rank;
}

static bool scatter_fits(const struct accel_scatter_desc *desc, const struct host_tensor *b,
			 const struct host_tensor *c, const struct host_tensor *d)
{
	uint32_t i, n;

	if (!b->rank)
		return false;
	if (desc->func != ACCEL_SCATTER_ND) {
		for (i = 0; i < d->rank && d->rank == c->rank; i++)
			if (i != desc->axis && c->dims[i] > d->dims[i])
				return false;
		return desc->axis < d->rank && d->rank == c->rank && same_dims(b, c, c->rank);
	}
	if (b->dims[b->rank - 1] < 1 || b->dims[b->rank - 1] > d->rank)
		return false;
	n = (uint32_t)b->dims[b->rank - 1];
	if (c->rank != b->rank - 1 + d->rank - n)
		return false;
	for (i = 0; i < c->rank; i++)
		if (c->dims[i] != (i < b->rank - 1 ? b->dims[i] : d->dims[i - b->rank + 1 + n]))
			return false;
	return true;
}

int host_scatter(const struct accel_scatter_desc *desc, const struct host_tensor *t,
		 uint32_t count, char *why, size_t size)
{
	const struct host_tensor *a = host_arg(t, count, ACCEL_ARG_A);
	const struct host_tensor *b = host_arg(t, count, ACCEL_ARG_B);
	const struct host_tensor *c = host_arg(t, count, ACCEL_ARG_C);
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D);
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, to[ACCEL_GRAPH_MAX_RANK], pos;
	struct host_number index = { 0 }, old, x;
	uint32_t axis;

	if (!a || !b || !c || !same_dims(a, d, d->rank) || !scatter_fits(desc, b, c, d))
		return -EINVAL;
	if (host_is_empty(d) && !host_is_empty(c))
		return host_out_of_range(why, size, index, 0);
	if (a->data != d->data && !host_is_empty(d)) {
		do {
			host_put(d->type, d->data, host_place(d, at),
				 host_get(a->type, a->data, host_place(a, at)));
		} while (host_next(d->rank, d->dims, at));
	}
	if (host_is_empty(c))
		return 0;
	memset(at, 0, sizeof(at));
	do {
		axis = target(desc, b, d, at, to, &index);
		if (axis < d->rank)
			return host_out_of_range(why, size, index, d->dims[axis]);
		pos = host_place(d, to);
		x = host_get(c->type, c->data, host_place(c, at));
		old = host_get(d->type, d->data, pos);
		host_put(d->type, d->data, pos, updated(desc->reduce, old, x));
	} while (host_next(c->rank, c->dims, at));
	return 0;
}

/* --- products -------------------------------------------------------------------------- */

/* The last two dimensions, and where batch @at, of the dimensions of D, begins */
struct matrix {
	const struct host_tensor *t;
	int64_t rows;
	int64_t cols;
	int64_t down;
	int64_t right;
};

static struct matrix matrix_of(const struct host_tensor *t, bool turned)
{
	struct matrix m = { t, t->dims[t->rank - 2], t->dims[t->rank - 1], t->strides[t->rank - 2],
			    t->strides[t->rank - 1] };

	return turned ? (struct matrix) { t, m.cols, m.rows, m.right, m.down } : m;
}

/* The first element for the leading dimensions of D; those of 1 are repeated. */
static int64_t broadcast_place(const struct host_tensor *t, const struct host_tensor *d,
			       const int64_t *at, uint32_t leave)
{
	uint32_t i, skip = d->rank - t->rank;
	int64_t n = 0;

	for (i = 0; i + leave < t->rank; i++)
		n += t->dims[i] == 1 ? 0 : at[i + skip] * t->strides[i];
	return n;
}

static struct host_number dot(const struct matrix *a, const struct matrix *b, int64_t x, int64_t y)
{
	struct host_number sum = { host_type_real(a->t->type) || host_type_real(b->t->type),
				   a->t->type == ACCEL_HOST_U64 || b->t->type == ACCEL_HOST_U64, 0,
				   0 };
	struct host_number p, q;
	int64_t k;

	for (k = 0; k < a->cols; k++, x += a->right, y += b->down) {
		p = host_get(a->t->type, a->t->data, x);
		q = host_get(b->t->type, b->t->data, y);
		if (sum.real)
			sum.f += (p.real ? p.f : (double)p.i) * (q.real ? q.f : (double)q.i);
		else
			sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)p.i * (uint64_t)q.i);
	}
	return sum;
}

/* Does @t broadcast to the dimensions of @d, but for the last @leave? */
static bool broadcasts(const struct host_tensor *t, const struct host_tensor *d, uint32_t leave)
{
	uint32_t i;

	if (t->rank > d->rank)
		return false;
	for (i = 0; i + leave < t->rank; i++)
		if (t->dims[i] != 1 && t->dims[i] != d->dims[i + d->rank - t->rank])
			return false;
	return true;
}

/* One more dimension, of 1, before dimension @at */
static void insert_dim(struct host_tensor *t, uint32_t at)
{
	memmove(t->dims + at + 1, t->dims + at, (t->rank - at) * sizeof(t->dims[0]));
	memmove(t->strides + at + 1, t->strides + at, (t->rank - at) * sizeof(t->strides[0]));
	t->dims[at] = 1;
	t->strides[at] = 0;
	t->rank++;
}

/* A vector on the left is a row and one on the right a column, which the result lacks. */
static int gemm_of_vectors(const struct accel_gemm_desc *desc, const struct host_tensor *a,
			   const struct host_tensor *b, const struct host_tensor *d)
{
	const bool row = a->rank == 1, column = b->rank == 1;
	const uint32_t turned = (row ? ACCEL_GEMM_TRANS_A : 0) | (column ? ACCEL_GEMM_TRANS_B : 0);
	struct host_tensor m[] = { *a, *b, *d };

	if (!a->rank || !b->rank || d->rank + row + column < 2 ||
	    d->rank + 2 > ACCEL_GRAPH_MAX_RANK || desc->flags & turned)
		return -EINVAL;
	if (column) {
		insert_dim(&m[1], 1);
		insert_dim(&m[2], m[2].rank);
	}
	if (row) {
		insert_dim(&m[0], 0);
		insert_dim(&m[2], m[2].rank - 1);
	}
	return host_gemm(desc, m, 3);
}

int host_gemm(const struct accel_gemm_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *extra[] = {
		host_arg(t, count, ACCEL_ARG_BIAS), host_arg(t, count, ACCEL_ARG_RESIDUAL)
	};
	const struct host_tensor *a = host_arg(t, count, ACCEL_ARG_A);
	const struct host_tensor *b = host_arg(t, count, ACCEL_ARG_B);
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D);
	const struct accel_unary_desc act = { .epilogue = desc->epilogue };
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 };
	struct matrix x, y;
	struct host_number n;
	uint32_t i;

	if (a && b && count == 3 && (a->rank < 2 || b->rank < 2))
		return gemm_of_vectors(desc, a, b, d);
	if (!a || !b || a->rank < 2 || b->rank < 2 || d->rank < 2 || !broadcasts(a, d, 2) ||
	    !broadcasts(b, d, 2) || host_arg(t, count, ACCEL_ARG_C) ||
	    host_arg(t, count, ACCEL_ARG_SCALE))
		return -EINVAL;
	x = matrix_of(a, desc->flags & ACCEL_GEMM_TRANS_A);
	y = matrix_of(b, desc->flags & ACCEL_GEMM_TRANS_B);
	if (x.cols != y.rows || x.rows != d->dims[d->rank - 2] || y.cols != d->dims[d->rank - 1])
		return -EINVAL;
	for (i = 0; i < 2; i++)
		if (extra[i] && !broadcasts(extra[i], d, 0))
			return -EINVAL;
	if (host_is_empty(d))
		return 0;
	do {
		n = dot(&x, &y, broadcast_place(a, d, at, 2) + at[d->rank - 2] * x.down,
			broadcast_place(b, d, at, 2) + at[d->rank - 1] * y.right);
		if (desc->flags & ACCEL_GEMM_ALPHA) {
			n.f = (n.real ? n.f : (double)n.i) * (double)desc->alpha;
			n.real = true;
		}
		for (i = 0; i < 2; i++)
			if (extra[i])
				n = sum_of(n, host_get(extra[i]->type, extra[i]->data,
						       broadcast_place(extra[i], d, at, 0)));
		if (desc->epilogue.act != ACCEL_ACT_NONE)
			n = host_unary(&act, n);
		host_put(d->type, d->data, host_place(d, at), n);
	} while (host_next(d->rank, d->dims, at));
	return 0;
}
