// SPDX-License-Identifier: MIT
/*
 * Attention: two products with a softmax between them become one operation, whose scores
 * are never in memory. Scales of the queries, of the keys and of the scores come
 * together, a mask may be added, and keys that were repeated for groups of heads are
 * read where they were.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/**
 * struct scores - what a softmax is taken of
 * @q: [batch, heads, queries, size], or without the batch
 * @k: [batch, heads, size, keys]
 * @v: [batch, heads, keys, size]
 * @mask: NO_VALUE: none
 * @scale: of the scores
 */
struct scores {
	uint32_t q;
	uint32_t k;
	uint32_t v;
	uint32_t mask;
	double scale;
};

/* A product and no more: neither transposed nor with anything behind it */
static bool is_plain(const struct node *n)
{
	const struct accel_gemm_desc *g = &n->desc->any.gemm;

	return !(g->flags & ~ACCEL_GEMM_ALPHA) && g->beta == 0 && !g->epilogue.act &&
	       n->arg_count == 3;
}

/* The product that a value is, if nobody else reads it; NULL: it is none. */
static const struct node *product(const struct net *net, uint32_t value)
{
	const struct node *n = value_maker(net, value, ACCEL_OP_GEMM);

	return n && value_uses(net, value, NULL) == 1 && is_plain(n) && !is_quantised(n) ? n : NULL;
}

/* A value without the constant that it is multiplied or divided by */
static uint32_t unscaled(const struct net *net, uint32_t value, double *scale)
{
	const struct node *n = value_maker(net, value, ACCEL_OP_BINARY);
	uint32_t a, b, func;
	double number;

	if (!n || n->desc->any.binary.epilogue.act || is_quantised(n))
		return value;
	func = n->desc->any.binary.func;
	a = node_value(n, ACCEL_ARG_A);
	b = node_value(n, ACCEL_ARG_B);
	if (func == ACCEL_BINARY_MUL && value_scalar(net, a, &number) &&
	    same_dims(&net->values[b], &net->values[value])) {
		*scale *= number;
		return b;
	}
	if ((func != ACCEL_BINARY_MUL && func != ACCEL_BINARY_DIV) ||
	    !value_scalar(net, b, &number) || !same_dims(&net->values[a], &net->values[value]))
		return value;
	*scale = func == ACCEL_BINARY_MUL ? *scale * number : *scale / number;
	return a;
}

/* Does a mask broadcast to the scores? */
static bool is_mask(const struct net *net, uint32_t value, const struct value *scores)
{
	const struct value *v = &net->values[value];
	uint32_t i, skip;

	if (v->rank > scores->rank || !is_real(v->type))
		return false;
	skip = scores->rank - v->rank;
	for (i = 0; i < v->rank; i++)
		if (v->dims[i] != 1 && v->dims[i] != scores->dims[skip + i])
			return false;
	return true;
}

static bool find_scores(const struct net *net, uint32_t value, struct scores *s)
{
	const struct node *n = value_maker(net, value, ACCEL_OP_BINARY);
	uint32_t a, b;

	s->mask = NO_VALUE;
	s->scale = 1;
	if (value_uses(net, value, NULL) != 1)
		return false;
	if (n && n->desc->any.binary.func == ACCEL_BINARY_ADD &&
	    !n->desc->any.binary.epilogue.act) {
		a = node_value(n, ACCEL_ARG_A);
		b = node_value(n, ACCEL_ARG_B);
		/* The scores are the operand that is computed by a product. */
		if (product(net, unscaled(net, b, &s->scale))) {
			s->mask = a;
			value = b;
		} else {
			s->mask = b;
			value = a;
		}
		if (!is_mask(net, s->mask, &net->values[value]))
			return false;
		s->scale = 1;
	}
	if (value_uses(net, value, NULL) != 1)
		return false;
	n = product(net, unscaled(net, value, &s->scale));
	if (!n)
		return false;
	if (n->desc->any.gemm.flags & ACCEL_GEMM_ALPHA)
		s->scale *= n->desc->any.gemm.alpha;
	s->q = unscaled(net, node_value(n, ACCEL_ARG_A), &s->scale);
	s->k = unscaled(net, node_value(n, ACCEL_ARG_B), &s->scale);
	return true;
}

/*
 * Keys or values [batch, heads, keys, size] that a copy has repeated for groups of heads:
 * those that it read.
 */
static void unrepeat(const struct net *net, struct value *v)
{
	uint32_t from = net->stores[v->store].node;
	const struct node *n = from == NO_VALUE ? NULL : &net->nodes[from];
	const struct value *a, *d;
	int64_t dims[4];
	struct value whole;
	uint32_t i;

	if (!n || n->desc->hdr.op != ACCEL_OP_COPY)
		return;
	a = &net->values[node_value(n, ACCEL_ARG_A)];
	d = &net->values[node_result(n)];
	if (a->rank != 5 || a->strides[2] || a->type != d->type || d->store != v->store)
		return;
	dims[0] = a->dims[0];
	dims[1] = a->dims[1] * a->dims[2];
	dims[2] = a->dims[3];
	dims[3] = a->dims[4];
	whole = *d;
	if (!reshape_view(&whole, 4, dims) || !same_place(&whole, v))
		return;
	*v = *a;
	v->rank = 4;
	for (i = 2; i < 4; i++) {
		v->dims[i] = a->dims[i + 1];
		v->strides[i] = a->strides[i + 1];
	}
	v->dims[4] = 0;
	v->strides[4] = 0;
}

/* [batch, heads, rows, size], as it is or with the last two the other way, without a copy */
static bool heads_first(const struct net *net, uint32_t value, bool turned, struct value *v)
{
	static const uint32_t turn[2][MAX_RANK] = { { 0, 1, 2, 3 }, { 0, 1, 3, 2 } };
	uint32_t i;

	*v = net->values[value];
	if (v->rank < 3 || v->rank > 4)
		return false;
	if (v->rank == 3) {
		for (i = 3; i > 0; i--) {
			v->dims[i] = v->dims[i - 1];
			v->strides[i] = v->strides[i - 1];
		}
		v->dims[0] = 1;
		v->strides[0] = 0;
		v->rank = 4;
	}
	permute_view(v, turn[turned]);
	return true;
}

/* An argument of attention: [batch, rows, heads, size] */
static bool add_rows(struct net *net, struct node *node, uint32_t arg, uint32_t like,
		     const struct value *v, bool result)
{
	static const uint32_t order[MAX_RANK] = { 0, 2, 1, 3 };
	uint32_t view = net_view(net, like);

	if (view == NO_VALUE)
		return false;
	net->values[view] = *v;
	permute_view(&net->values[view], order);
	return !node_arg(node, arg, view, result);
}

/* Put it together at @index, where the second product was; false: it stays. */
static bool build(struct net *net, uint32_t index, const struct scores *s)
{
	struct accel_attention_desc *d = calloc(1, sizeof(*d));
	struct node trial = net->nodes[index];
	struct value q, k, v, out;
	uint32_t result = node_result(&trial), mask;

	if (!d)
		return false;
	if (!heads_first(net, s->q, false, &q) || !heads_first(net, s->k, true, &k) ||
	    !heads_first(net, s->v, false, &v) || !heads_first(net, result, false, &out))
		goto keep;
	unrepeat(net, &k);
	unrepeat(net, &v);
	if (k.dims[1] != v.dims[1] || q.dims[0] != k.dims[0] || q.dims[0] != v.dims[0])
		goto keep;
	*d = (struct accel_attention_desc)ACCEL_ATTENTION_DESC_INIT;
	d->flags = ACCEL_ATTENTION_SCALE;
	d->scale = (float)s->scale;
	trial.desc = (union node_desc *)d;
	trial.arg_count = 0;
	if (!add_rows(net, &trial, ACCEL_ARG_A, s->q, &q, false) ||
	    !add_rows(net, &trial, ACCEL_ARG_B, s->k, &k, false) ||
	    !add_rows(net, &trial, ACCEL_ARG_C, s->v, &v, false) ||
	    !add_rows(net, &trial, ACCEL_ARG_D, result, &out, true))
		goto keep;
	if (s->mask != NO_VALUE) {
		mask = s->mask;
		if (!net->values[mask].rank) {
			mask = net_view(net, mask);
			if (mask == NO_VALUE || !reshape_view(&net->values[mask], 1,
							      (const int64_t[]) { 1 }))
				goto keep;
		}
		if (node_arg(&trial, ACCEL_ARG_AUX0, mask, false))
			goto keep;
	}
	if (!net_can_run(net, &trial))
		goto keep;
	free(net->nodes[index].desc);
	trial.rules |= 1u << ACCEL_PASS_ATTENTION;
	trial.fused += 2;
	net->nodes[index] = trial;
	return true;
keep:
	free(d);
	return false;
}

int pass_attention(struct net *net)
{
	uint32_t i, at, a, d, count = net->node_count;
	const struct node *node, *last;
	struct scores s;

	for (i = 0; i < count; i++) {
		node = &net->nodes[i];
		if (node->dead || node->desc->hdr.op != ACCEL_OP_SOFTMAX ||
		    node->desc->any.softmax.func != ACCEL_SOFTMAX_PLAIN)
			continue;
		a = node_value(node, ACCEL_ARG_A);
		d = node_result(node);
		if (!is_real(net->values[d].type) || net->values[d].type != net->values[a].type ||
		    (node->desc->any.softmax.axis != -1 &&
		     node->desc->any.softmax.axis != (int32_t)net->values[a].rank - 1) ||
		    value_uses(net, d, &at) != 1 || at == NO_VALUE)
			continue;
		last = &net->nodes[at];
		if (last->desc->hdr.op != ACCEL_OP_GEMM || !is_plain(last) ||
		    is_quantised(last) || last->desc->any.gemm.flags ||
		    !same_place(&net->values[node_value(last, ACCEL_ARG_A)], &net->values[d]) ||
		    !find_scores(net, a, &s))
			continue;
		s.v = node_value(last, ACCEL_ARG_B);
		build(net, at, &s);
	}
	return 0;
}
