// SPDX-License-Identifier: MIT
/*
 * What finds things, as many as there are: elements that are not 0, unlike ones, boxes.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

static int64_t count_of(const struct host_tensor *t)
{
	int64_t n = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n *= t->dims[i];
	return n;
}

/* Element @n in order */
static int64_t place_of(const struct host_tensor *t, int64_t n)
{
	int64_t at = 0;
	uint32_t i;

	for (i = t->rank; i-- > 0; n /= t->dims[i])
		at += n % t->dims[i] * t->strides[i];
	return at;
}

static bool is_zero(struct host_number n)
{
	return n.real ? n.f == 0 : !n.i;
}

/* A list of S64, NULL: no memory */
static int64_t *make_list(struct host_tensor *t, int64_t rows, int64_t cols)
{
	t->type = ACCEL_HOST_S64;
	t->rank = cols ? 2 : 1;
	t->dims[0] = rows;
	t->dims[1] = cols;
	t->data = calloc((size_t)(rows * (cols ? cols : 1)) + 1, sizeof(int64_t));
	return t->data;
}

static int nonzero(const struct host_tensor *a, struct host_tensor *out)
{
	int64_t n = count_of(a), i, k, rest, found = 0, *list;
	uint32_t d, rank = a->rank ? a->rank : 1;

	for (i = 0; i < n; i++)
		found += !is_zero(host_get(a->type, a->data, place_of(a, i)));
	/* A number without dimensions is taken for a list of one. */
	list = make_list(out, rank, found);
	if (!list)
		return -ENOMEM;
	out->rank = 2;
	out->dims[1] = found;
	for (i = k = 0; i < n; i++) {
		if (is_zero(host_get(a->type, a->data, place_of(a, i))))
			continue;
		for (rest = i, d = a->rank; d-- > 0; rest /= a->dims[d])
			list[d * found + k] = rest % a->dims[d];
		k++;
	}
	return 0;
}

/* --- unlike slices ----------------------------------------------------------------------- */

/**
 * struct slices - a tensor as slices along a dimension
 * @t: tensor
 * @count: slices
 * @outer: elements before the dimension
 * @inner: elements behind it
 */
struct slices {
	const struct host_tensor *t;
	int64_t count;
	int64_t outer;
	int64_t inner;
};

static struct host_number slice_get(const struct slices *s, int64_t slice, int64_t i)
{
	int64_t at = (i / s->inner * s->count + slice) * s->inner + i % s->inner;

	return host_get(s->t->type, s->t->data, place_of(s->t, at));
}

static int compare_slices(const void *x, const void *y, void *arg)
{
	const struct slices *s = arg;
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y, i;
	int order = 0;

	for (i = 0; i < s->outer * s->inner && !order; i++)
		order = host_compare(slice_get(s, a, i), slice_get(s, b, i));
	return order ? order : (a > b) - (a < b);
}

static bool same_slice(const struct slices *s, int64_t a, int64_t b)
{
	int64_t i;

	for (i = 0; i < s->outer * s->inner; i++)
		if (host_compare(slice_get(s, a, i), slice_get(s, b, i)))
			return false;
	return true;
}

static int compare_first(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return (a[0] > b[0]) - (a[0] < b[0]);
}

/* The slices that were found, in their order, as a tensor */
static int copy_slices(const struct slices *s, const struct host_tensor *first, int64_t found,
		       bool axis, uint32_t at, struct host_tensor *out)
{
	const int64_t *list = first->data;
	int64_t i, k;

	out->type = s->t->type;
	out->rank = axis ? s->t->rank : 1;
	memcpy(out->dims, s->t->dims, sizeof(out->dims));
	out->dims[axis ? at : 0] = found;
	out->data = calloc((size_t)(found * s->outer * s->inner) + 1, 8);
	if (!out->data)
		return -ENOMEM;
	for (k = 0; k < found; k++)
		for (i = 0; i < s->outer * s->inner; i++)
			host_put(out->type, out->data,
				 (i / s->inner * found + k) * s->inner + i % s->inner,
				 slice_get(s, list[k], i));
	return 0;
}

/* Runs of equal slices in @order become groups: where each is first, and how often it is. */
static int64_t find_groups(const struct slices *s, const int64_t *order, int64_t (*groups)[3])
{
	int64_t i, found = 0;

	for (i = 0; i < s->count; i++) {
		if (!i || !same_slice(s, order[i - 1], order[i])) {
			groups[found][0] = order[i];
			groups[found][1] = 0;
			groups[found++][2] = i;
		}
		groups[found - 1][1]++;
	}
	return found;
}

static int unique(const struct accel_dynamic_desc *d, const struct host_tensor *a,
		  struct host_tensor *out, char *why, size_t size)
{
	bool axis = d->flags & ACCEL_DYNAMIC_AXIS;
	int64_t at = d->axis < 0 ? d->axis + (int64_t)a->rank : d->axis;
	struct slices s = { a, count_of(a), 1, 1 };
	int64_t *order, (*groups)[3], *first, *inverse, *counts, found, i, k;
	int ret = -ENOMEM;
	uint32_t n;

	if (axis && (at < 0 || at >= (int64_t)a->rank)) {
		snprintf(why, size, "axis %d of %u dimensions", d->axis, a->rank);
		return -EINVAL;
	}
	if (axis) {
		s.count = a->dims[at];
		for (n = 0; n < a->rank; n++)
			*(n < at ? &s.outer : &s.inner) *= n == at ? 1 : a->dims[n];
	}
	order = malloc((size_t)(s.count + 1) * sizeof(*order));
	groups = malloc((size_t)(s.count + 1) * sizeof(*groups));
	if (!order || !groups)
		goto out;
	for (i = 0; i < s.count; i++)
		order[i] = i;
	if (s.inner)
		qsort_r(order, (size_t)s.count, sizeof(*order), compare_slices, &s);
	found = s.inner ? find_groups(&s, order, groups) : 0;
	if (!(d->flags & ACCEL_DYNAMIC_SORTED))
		qsort(groups, (size_t)found, sizeof(*groups), compare_first);
	first = make_list(&out[1], found, 0);
	inverse = make_list(&out[2], s.count, 0);
	counts = make_list(&out[3], found, 0);
	if (!first || !inverse || !counts)
		goto out;
	for (k = 0; k < found; k++) {
		first[k] = groups[k][0];
		counts[k] = groups[k][1];
		for (i = 0; i < counts[k]; i++)
			inverse[order[groups[k][2] + i]] = k;
	}
	ret = copy_slices(&s, &out[1], found, axis, (uint32_t)at, &out[0]);
out:
	free(order);
	free(groups);
	return ret;
}

/* --- boxes --------------------------------------------------------------------------------- */

/**
 * struct box - a box with a score
 * @score: score
 * @index: number of the box
 * @x0: left
 * @y0: upper
 * @x1: right
 * @y1: lower
 */
struct box {
	float score;
	int64_t index;
	float x0, y0, x1, y1;
};

static float box_get(const struct host_tensor *t, int64_t batch, int64_t row, int64_t col)
{
	return (float)host_get(t->type, t->data, batch * t->strides[0] + row * t->strides[1] +
			       col * t->strides[2]).f;
}

static void read_box(const struct host_tensor *boxes, int64_t batch, int64_t i, bool centre,
		     struct box *b)
{
	float v[4];
	int k;

	for (k = 0; k < 4; k++)
		v[k] = box_get(boxes, batch, i, k);
	if (centre) {
		b->x0 = v[0] - v[2] / 2;
		b->x1 = v[0] + v[2] / 2;
		b->y0 = v[1] - v[3] / 2;
		b->y1 = v[1] + v[3] / 2;
	} else {
		b->y0 = fminf(v[0], v[2]);
		b->y1 = fmaxf(v[0], v[2]);
		b->x0 = fminf(v[1], v[3]);
		b->x1 = fmaxf(v[1], v[3]);
	}
}

static bool covers(const struct box *a, const struct box *b, double share)
{
	float w = fminf(a->x1, b->x1) - fmaxf(a->x0, b->x0);
	float h = fminf(a->y1, b->y1) - fmaxf(a->y0, b->y0);
	float both = fmaxf(w, 0) * fmaxf(h, 0);
	float all = (a->x1 - a->x0) * (a->y1 - a->y0) + (b->x1 - b->x0) * (b->y1 - b->y0) - both;

	return all > 0 && (double)(both / all) > share;
}

static int by_score(const void *x, const void *y)
{
	const struct box *a = x, *b = y;

	if (a->score != b->score)
		return a->score < b->score ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

/* Those of one class that are taken come first; how many */
static int64_t choose(struct box *b, int64_t count, int64_t max, double share)
{
	int64_t i, k, kept = 0;

	for (i = 0; i < count && kept < max; i++) {
		for (k = 0; k < kept && !covers(&b[k], &b[i], share); k++)
			;
		if (k == kept)
			b[kept++] = b[i];
	}
	return kept;
}

static double number_of(const struct host_tensor *t, double otherwise)
{
	struct host_number n;

	if (!count_of(t))
		return otherwise;
	n = host_get(t->type, t->data, 0);
	return n.real ? n.f : (double)n.i;
}

static int nms(const struct accel_dynamic_desc *d, const struct host_tensor *in,
	       struct host_tensor *out, char *why, size_t size)
{
	const struct host_tensor *boxes = &in[0], *scores = &in[1];
	double max = number_of(&in[2], 0), share = number_of(&in[3], 0), least;
	int64_t batch, class, i, n, kept, have = 0, cap = 64, *list, *more;
	struct box *b;

	least = number_of(&in[4], (double)-INFINITY);
	if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
	    boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2] ||
	    boxes->type != ACCEL_F32 || scores->type != ACCEL_F32) {
		snprintf(why, size, "boxes and scores that do not fit");
		return -EINVAL;
	}
	b = malloc((size_t)(boxes->dims[1] + 1) * sizeof(*b));
	list = malloc((size_t)cap * 3 * sizeof(*list));
	for (batch = 0; b && list && batch < scores->dims[0]; batch++)
		for (class = 0; list && class < scores->dims[1]; class++) {
			for (i = n = 0; i < boxes->dims[1]; i++) {
				b[n].score = box_get(scores, batch, class, i);
				b[n].index = i;
				if (!((double)b[n].score > least))
					continue;
				read_box(boxes, batch, i, d->flags & ACCEL_DYNAMIC_CENTRE, &b[n]);
				n++;
			}
			qsort(b, (size_t)n, sizeof(*b), by_score);
			kept = choose(b, n, max > 0x1p40 ? 1LL << 40 : (int64_t)max, share);
			for (; list && cap < have + kept; cap *= 2) {
				more = realloc(list, (size_t)cap * 6 * sizeof(*list));
				if (!more)
					free(list);
				list = more;
			}
			for (i = 0; list && i < kept; i++, have++) {
				list[3 * have] = batch;
				list[3 * have + 1] = class;
				list[3 * have + 2] = b[i].index;
			}
		}
	free(b);
	out->type = ACCEL_HOST_S64;
	out->rank = 2;
	out->dims[0] = have;
	out->dims[1] = 3;
	out->data = list;
	return b && list ? 0 : -ENOMEM;
}

/**
 * host_find - an operation that has as many results as it finds
 * @desc: descriptor
 * @in: what it reads
 * @out: out: results, dense; their data are the caller's to free, also if this fails
 * @why: out: what is wrong
 * @size: of @why
 *
 * Return: 0; -EINVAL sizes or types; -ENOMEM.
 */
int host_find(const struct accel_dynamic_desc *desc, const struct host_tensor *in,
	      struct host_tensor *out, char *why, size_t size)
{
	uint32_t i;

	snprintf(why, size, "out of memory");
	for (i = 0; i < (desc->op == ACCEL_DYNAMIC_NMS ? 5u : 1u); i++)
		if (accel_type_bits(in[i].type) < 8) {
			snprintf(why, size, "elements of half a byte");
			return -EINVAL;
		}
	switch (desc->op) {
	case ACCEL_DYNAMIC_NONZERO:
		return nonzero(in, out);
	case ACCEL_DYNAMIC_UNIQUE:
		return unique(desc, in, out, why, size);
	default:
		return nms(desc, in, out, why, size);
	}
}
