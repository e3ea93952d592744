// SPDX-License-Identifier: MIT
/*
 * Sums by subscripts, as products of matrices.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

#define MAX_SUBSCRIPTS	16

/**
 * struct term - subscripts of a tensor
 * @rank: their number
 * @sub: each: a letter, or 1 and up: dimensions of the ellipsis
 */
struct term {
	uint32_t rank;
	uint8_t sub[MAX_SUBSCRIPTS];
};

/* One side's term; @extra: dimensions that an ellipsis stands for. */
static bool read_term(const uint8_t **p, const uint8_t *end, uint32_t extra, struct term *t)
{
	uint32_t i;

	t->rank = 0;
	for (; *p < end && **p != ',' && **p != '-'; (*p)++) {
		if (**p == ' ')
			continue;
		if (**p == '.') {
			if (end - *p < 3 || (*p)[1] != '.' || (*p)[2] != '.')
				return false;
			*p += 2;
			for (i = 0; i < extra && t->rank < MAX_SUBSCRIPTS; i++)
				t->sub[t->rank++] = (uint8_t)(1 + i);
			continue;
		}
		if (!((**p | 32) >= 'a' && (**p | 32) <= 'z') || t->rank == MAX_SUBSCRIPTS)
			return false;
		t->sub[t->rank++] = **p;
	}
	return true;
}

static int find_sub(const struct term *t, uint8_t sub)
{
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (t->sub[i] == sub)
			return (int)i;
	return -1;
}

/* A subscript that occurs twice: the diagonal, by masking and a sum. */
static uint32_t diagonals(struct import *im, uint32_t v, struct term *t)
{
	uint32_t i, k, mask;
	int64_t axis;

	for (i = 0; i < t->rank; i++)
		for (k = i + 1; k < t->rank; k++) {
			if (t->sub[i] != t->sub[k])
				continue;
			mask = v_binary(im, ACCEL_BINARY_EQ, v_iota_along(im, v, i),
					v_iota_along(im, v, k));
			v = v_select(im, mask, v, v_number(im, v_type(im, v), 0));
			v = v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(k), v);
			axis = k;
			v = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v, 1, &axis);
			memmove(t->sub + k, t->sub + k + 1, t->rank - k - 1);
			t->rank--;
			k--;
		}
	return v;
}

/* The dimensions of @v in the order of @want; those that it has not are 1. */
static uint32_t align(struct import *im, uint32_t v, const struct term *t, const struct term *want)
{
	uint32_t order[ACCEL_GRAPH_MAX_RANK], i, n = 0, missing = 0;
	int64_t list[ACCEL_GRAPH_MAX_RANK];
	int at;

	for (i = 0; i < want->rank; i++) {
		at = find_sub(t, want->sub[i]);
		if (at < 0)
			list[missing++] = i;
		else
			order[n++] = (uint32_t)at;
	}
	for (i = 0, at = 0; i < n; i++)
		at |= order[i] != i;
	if (at)
		v = v_transpose(im, v, order);
	return missing ? v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v, missing, list) : v;
}

/* Sum over the subscripts that neither @want, @other nor a later term has. */
static uint32_t sum_out(struct import *im, uint32_t v, struct term *t, const struct term *want,
			const struct term *other, const struct term *later, uint32_t count)
{
	uint32_t i, k, n = 0, axes = 0, rank = 0;
	int64_t list[MAX_SUBSCRIPTS];
	bool used;

	for (i = 0; i < t->rank; i++) {
		used = find_sub(want, t->sub[i]) >= 0 || (other && find_sub(other, t->sub[i]) >= 0);
		for (k = 0; k < count; k++)
			used |= find_sub(&later[k], t->sub[i]) >= 0;
		if (used) {
			t->sub[rank++] = t->sub[i];
		} else {
			axes |= ACCEL_AXIS(i);
			list[n++] = i;
		}
	}
	t->rank = rank;
	if (!n)
		return v;
	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_reduce(im, ACCEL_REDUCE_SUM, 0, axes, v), n,
			   list);
}

/*
 * Two terms as one product of matrices: subscripts that both have and the result too are
 * batches, those that only one has are its rows or columns, the others are summed over.
 */
static uint32_t multiply(struct import *im, uint32_t a, struct term *ta, uint32_t b,
			 const struct term *tb, const struct term *want, const struct term *later,
			 uint32_t count)
{
	struct term order_a = { 0 }, order_b = { 0 }, out = { 0 }, group[4] = { 0 };
	uint32_t i, k, v, shape[4], all[4];

	for (i = 0; i < ta->rank; i++) {
		uint8_t sub = ta->sub[i];
		bool kept = find_sub(want, sub) >= 0, both = find_sub(tb, sub) >= 0;

		for (k = 0; k < count; k++)
			kept |= find_sub(&later[k], sub) >= 0;
		k = !both ? 1 : kept ? 0 : 2;
		group[k].sub[group[k].rank++] = sub;
	}
	for (i = 0; i < tb->rank; i++)
		if (find_sub(ta, tb->sub[i]) < 0)
			group[3].sub[group[3].rank++] = tb->sub[i];
	if (group[0].rank + group[1].rank + group[3].rank > ACCEL_GRAPH_MAX_RANK) {
		im_fail(im, -EOPNOTSUPP, "too many dimensions");
		return NO_VALUE;
	}
	for (k = 0; k < 4; k++)
		for (i = 0; i < group[k].rank; i++) {
			if (k != 3)
				order_a.sub[order_a.rank++] = group[k].sub[i];
			if (k != 1)
				order_b.sub[order_b.rank++] = group[k].sub[i];
			if (k != 2)
				out.sub[out.rank++] = group[k].sub[i];
		}
	a = align(im, a, ta, &order_a);
	b = align(im, b, tb, &order_b);
	/* Sizes that are kept, by group */
	shape[0] = v_shape_of(im, a, 0, group[0].rank);
	shape[1] = v_shape_of(im, a, group[0].rank, group[0].rank + group[1].rank);
	shape[2] = v_shape_of(im, a, group[0].rank + group[1].rank, INT64_MAX);
	shape[3] = v_shape_of(im, b, group[0].rank + group[2].rank, INT64_MAX);
	/* The product of no sizes is 1. */
	for (i = 0; i < 4; i++)
		all[i] = v_reduce(im, ACCEL_REDUCE_PROD, 0, 1, shape[i]);
	a = v_reshape(im, a, 3, (uint32_t[]) { all[0], all[1], all[2] });
	b = v_reshape(im, b, 3, (uint32_t[]) { all[0], all[2], all[3] });
	v = v_product(im, 0, 0, a, b, NO_VALUE, NO_VALUE);
	v = v_reshape(im, v, 3, (uint32_t[]) { shape[0], shape[1], shape[3] });
	*ta = out;
	return v;
}

static int einsum(struct import *im, uint32_t arg)
{
	const struct attr *a = im_attr(im, "equation", ATTR_STRING);
	struct term t[MAX_SUBSCRIPTS] = { 0 }, want = { 0 };
	uint32_t i, k, v, letters, extra = 0, seen[256] = { 0 };
	const uint8_t *p, *end, *q;
	int ret = im_need(im, im->in_count ? im->in_count : 1);

	(void)arg;
	if (ret)
		return ret;
	if (!a || !a->s.n || im->in_count > MAX_SUBSCRIPTS)
		return im_fail(im, -EBADMSG, "it has no equation, or more than %d inputs",
			       MAX_SUBSCRIPTS);
	end = a->s.p + a->s.n;
	/* How many dimensions an ellipsis stands for: the most that one has beside its letters */
	for (p = a->s.p, i = 0; i < im->in_count; i++, p += p < end) {
		for (letters = 0, q = p, k = 0; q < end && *q != ',' && *q != '-'; q++) {
			letters += (*q | 32) >= 'a' && (*q | 32) <= 'z';
			k |= *q == '.';
		}
		if (k && im->in[i].rank > letters && im->in[i].rank - letters > extra)
			extra = im->in[i].rank - letters;
		p = q;
	}
	for (p = a->s.p, i = 0; i < im->in_count; i++) {
		if (!read_term(&p, end, extra, &t[i]) || t[i].rank != im->in[i].rank)
			return im_fail(im, -EOPNOTSUPP, "its equation does not fit input %u", i);
		for (k = 0; k < t[i].rank; k++)
			seen[t[i].sub[k]]++;
		p += p < end && *p == ',';
	}
	if (end - p >= 2 && p[0] == '-' && p[1] == '>') {
		p += 2;
		if (!read_term(&p, end, extra, &want) || p != end)
			return im_fail(im, -EBADMSG, "its equation cannot be read");
	} else {
		/* Without a right side: the ellipsis, then letters that occur once. */
		for (i = 1; i < 256 && want.rank < MAX_SUBSCRIPTS; i++)
			if (seen[i] == 1 || (i <= extra && seen[i]))
				want.sub[want.rank++] = (uint8_t)i;
	}
	for (k = 0; k < want.rank; k++)
		if (!seen[want.sub[k]] || find_sub(&want, want.sub[k]) != (int)k ||
		    want.rank > ACCEL_GRAPH_MAX_RANK)
			return im_fail(im, -EBADMSG, "its equation makes dimensions of nothing, or twice");
	v = v_in(im, 0);
	for (i = 0; i < im->in_count; i++) {
		uint32_t b = v_in(im, i);

		/* Products of other integers are sums of bytes. */
		if (!type_is_real(v_type(im, b)) && v_type(im, b) != ACCEL_HOST_U64)
			b = v_cast(im, b, ACCEL_HOST_S64);
		b = diagonals(im, b, &t[i]);
		b = sum_out(im, b, &t[i], &want, i ? &t[0] : NULL, &t[i + 1], im->in_count - i - 1);
		if (!i) {
			v = b;
			continue;
		}
		v = multiply(im, v, &t[0], b, &t[i], &want, &t[i + 1], im->in_count - i - 1);
	}
	return v_give(im, 0, v_cast(im, align(im, v, &t[0], &want), im->in[0].type));
}

const struct op onnx_einsum[] = {
	{ "Einsum", einsum, 0 }, { 0 }
};
