// SPDX-License-Identifier: MIT
/*
 * Attention: two products with a softmax between them become one operation, whose scores
 * are never in memory. Scales of the queries, of the keys and of the scores come
 * together, so do masks that are added and numbers that hide scores, and keys that were
 * repeated for groups of heads, or copied for a matrix with fewer dimensions, are read
 * where they were. Batch and heads may be one dimension in the products.
 *
 * Newer exporters put zeros where a softmax is NaN, as in ONNX it is if all scores of a
 * row are -infinity. That goes: the softmax of such a row is zeros here. Rows with a NaN
 * or +infinity among the scores remain NaN.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Most sums and selections between the scores and the softmax */
#define MAX_LAYERS	3
/* Most masks that several softmaxes of a graph may share */
#define MAX_MADE	8
/* A number instead of a score is as good as added to it, if it is at most this: the sum is it. */
#define HIDDEN		-1e30

/**
 * struct layer - what scores go through
 * @value: what is added; or a condition
 * @number: NO_VALUE: a sum; else what is taken where the condition is not @seen
 * @seen: of a condition: where scores are taken
 * @flat: batch and heads are one dimension there
 */
struct layer {
	uint32_t value;
	uint32_t number;
	bool seen;
	bool flat;
};

/**
 * struct scores - what a softmax is taken of
 * @q: [batch, heads, queries, size], or without the batch
 * @k: [batch, heads, size, keys]
 * @v: [batch, heads, keys, size]
 * @layer: masks, the one next to the product first
 * @layers: number of @layer
 * @lead: batch and heads, where they are two dimensions; 0: nowhere
 * @scale: of the scores
 */
struct scores {
	uint32_t q;
	uint32_t k;
	uint32_t v;
	struct layer layer[MAX_LAYERS];
	uint32_t layers;
	int64_t lead[2];
	double scale;
};

/**
 * struct made - masks that were made of several
 * @layer: of what
 * @layers: number of @layer
 * @lead: as of &struct scores
 * @mask: value
 */
struct made {
	struct {
		struct layer layer[MAX_LAYERS];
		uint32_t layers;
		int64_t lead[2];
		uint32_t mask;
	} of[MAX_MADE];
	uint32_t count;
};

/* A product and no more: neither transposed nor with anything behind it */
static bool is_plain(const struct node *n)
{
	const struct accel_gemm_desc *g = &n->desc->any.gemm;

	return !(g->flags & ~ACCEL_GEMM_ALPHA) && g->beta == 0 && !g->epilogue.act &&
	       n->arg_count == 3;
}

/* Are these the same matrices, with batch and heads as one dimension or as two? */
static bool same_matrices(const struct net *net, const struct value *a, const struct value *b)
{
	if (same_place(a, b))
		return true;
	return a->store == b->store && a->type == b->type && (a->rank == 3 || a->rank == 4) &&
	       (b->rank == 3 || b->rank == 4) && value_whole(net, a) && value_whole(net, b) &&
	       a->dims[a->rank - 1] == b->dims[b->rank - 1] &&
	       a->dims[a->rank - 2] == b->dims[b->rank - 2];
}

/* As value_maker(), of the same matrices */
static const struct node *matrices_maker(const struct net *net, uint32_t value, uint32_t op)
{
	uint32_t from = value_node(net, value);
	const struct node *n = from == NO_VALUE ? NULL : &net->nodes[from];
	uint32_t d = n && !n->dead && n->desc->hdr.op == op ? node_result(n) : NO_VALUE;

	return d != NO_VALUE && same_matrices(net, &net->values[d], &net->values[value]) ? n : NULL;
}

/* The product that a value is, if nobody else reads it; NULL: it is none. */
static const struct node *product(const struct net *net, uint32_t value)
{
	const struct node *n = matrices_maker(net, value, ACCEL_OP_GEMM);

	return n && value_uses(net, value, NULL) == 1 && is_plain(n) && !is_quantised(n) ? n : NULL;
}

/* A value without the constant that it is multiplied or divided by */
static uint32_t unscaled(const struct net *net, uint32_t value, double *scale)
{
	const struct node *n = matrices_maker(net, value, ACCEL_OP_BINARY);
	const struct value *d;
	uint32_t a, b, func;
	double number;

	if (!n || n->desc->any.binary.epilogue.act || is_quantised(n))
		return value;
	d = &net->values[node_result(n)];
	func = n->desc->any.binary.func;
	a = node_value(n, ACCEL_ARG_A);
	b = node_value(n, ACCEL_ARG_B);
	if (func == ACCEL_BINARY_MUL && value_scalar(net, a, &number) &&
	    same_dims(&net->values[b], d)) {
		*scale *= number;
		return b;
	}
	if ((func != ACCEL_BINARY_MUL && func != ACCEL_BINARY_DIV) ||
	    !value_scalar(net, b, &number) || !same_dims(&net->values[a], d))
		return value;
	*scale = func == ACCEL_BINARY_MUL ? *scale * number : *scale / number;
	return a;
}

/* Does a mask broadcast to the scores? */
static bool is_mask(const struct net *net, uint32_t value, const struct value *scores)
{
	const struct value *v = &net->values[value];
	uint32_t i, skip;

	if (v->rank > scores->rank)
		return false;
	skip = scores->rank - v->rank;
	for (i = 0; i < v->rank; i++)
		if (v->dims[i] != 1 && v->dims[i] != scores->dims[skip + i])
			return false;
	return true;
}

static bool find_scores(const struct net *net, uint32_t value, struct scores *s);

/* Behind one more layer, whose scores are @from */
static bool find_below(const struct net *net, uint32_t value, uint32_t from, struct layer layer,
		       struct scores *s)
{
	const struct value *d = &net->values[value];

	s->layers++;
	layer.flat = d->rank == 3;
	if (!same_dims(&net->values[from], d) || net->values[from].type != d->type ||
	    !is_mask(net, layer.value, d) || !find_scores(net, from, s)) {
		s->layers--;
		return false;
	}
	s->layer[s->layers++] = layer;
	return true;
}

/*
 * The product that scores are, under sums with masks and numbers that hide them. On the way
 * there layers are counted, on the way back they are written down.
 */
static bool find_scores(const struct net *net, uint32_t value, struct scores *s)
{
	struct layer layer = { .value = NO_VALUE, .number = NO_VALUE };
	double scale = 1, number;
	const struct node *n;
	uint32_t a, b;

	if (value_uses(net, value, NULL) != 1)
		return false;
	if (net->values[value].rank == 4) {
		if (s->lead[0] && memcmp(s->lead, net->values[value].dims, sizeof(s->lead)))
			return false;
		memcpy(s->lead, net->values[value].dims, sizeof(s->lead));
	}
	n = product(net, unscaled(net, value, &scale));
	if (n) {
		if (n->desc->any.gemm.flags & ACCEL_GEMM_ALPHA)
			scale *= n->desc->any.gemm.alpha;
		s->q = unscaled(net, node_value(n, ACCEL_ARG_A), &scale);
		s->k = unscaled(net, node_value(n, ACCEL_ARG_B), &scale);
		s->scale = scale;
		s->layers = 0;
		return true;
	}
	if (s->layers == MAX_LAYERS)
		return false;
	n = matrices_maker(net, value, ACCEL_OP_BINARY);
	if (n && n->desc->any.binary.func == ACCEL_BINARY_ADD &&
	    !n->desc->any.binary.epilogue.act) {
		value = node_result(n);
		a = node_value(n, ACCEL_ARG_A);
		b = node_value(n, ACCEL_ARG_B);
		layer.value = a;
		if (is_real(net->values[a].type) && find_below(net, value, b, layer, s))
			return true;
		layer.value = b;
		return is_real(net->values[b].type) && find_below(net, value, a, layer, s);
	}
	n = matrices_maker(net, value, ACCEL_OP_SELECT);
	if (!n)
		return false;
	value = node_result(n);
	a = node_value(n, ACCEL_ARG_B);
	layer.value = node_value(n, ACCEL_ARG_A);
	layer.number = node_value(n, ACCEL_ARG_C);
	layer.seen = value_scalar(net, layer.number, &number);
	if (!layer.seen) {
		a = layer.number;
		layer.number = node_value(n, ACCEL_ARG_B);
		if (!value_scalar(net, layer.number, &number))
			return false;
	}
	return number <= HIDDEN && find_below(net, value, a, layer, s);
}

/* A node that is computed from masks alone, of the dimensions that they broadcast to */
static uint32_t mask_node(struct net *net, const struct node *of, uint32_t op, uint32_t count,
			  const uint32_t *in)
{
	struct node *n = net_node(net, of, op);
	const uint32_t index = n ? (uint32_t)(n - net->nodes) : NO_VALUE;
	int64_t dims[MAX_RANK] = { 0 };
	const struct value *v;
	uint32_t i, k, d, rank = 0;

	if (!n)
		return NO_VALUE;
	for (i = 0; i < count; i++)
		if (net->values[in[i]].rank > rank)
			rank = net->values[in[i]].rank;
	for (k = 0; k < rank; k++) {
		dims[k] = 1;
		for (i = 0; i < count; i++) {
			v = &net->values[in[i]];
			if (k + v->rank >= rank && v->dims[k + v->rank - rank] != 1)
				dims[k] = v->dims[k + v->rank - rank];
		}
	}
	for (i = 0; i < count; i++)
		node_arg(n, ACCEL_ARG_A + i, in[i], false);
	if (op == ACCEL_OP_BINARY)
		n->desc->any.binary.func = ACCEL_BINARY_ADD;
	n->rules |= 1u << ACCEL_PASS_ATTENTION;
	d = net_new_value(net, net->values[in[count - 1]].type, rank, dims);
	if (node_arg(&net->nodes[index], ACCEL_ARG_D, d, true)) {
		net->nodes[index].dead = true;
		return NO_VALUE;
	}
	net->stores[net->values[d].store].node = index;
	return d;
}

static bool same_layers(const struct net *net, const struct layer *a, const struct layer *b,
			uint32_t count)
{
	double x, y;
	uint32_t i;

	for (i = 0; i < count; i++) {
		x = 0;
		y = 0;
		/* None but a sum's is 0. */
		if (a[i].number != NO_VALUE && !value_scalar(net, a[i].number, &x))
			return false;
		if (b[i].number != NO_VALUE && !value_scalar(net, b[i].number, &y))
			return false;
		if (!same_place(&net->values[a[i].value], &net->values[b[i].value]) ||
		    a[i].seen != b[i].seen || a[i].flat != b[i].flat || x != y)
			return false;
	}
	return true;
}

/* A mask with batch and heads as two dimensions, as others may have them */
static uint32_t unflattened(struct net *net, const struct layer *l, const int64_t *lead)
{
	const struct value v = net->values[l->value];
	const int64_t dims[] = { lead[0], lead[1], v.dims[1], v.dims[2] };
	uint32_t view;

	if (!l->flat || !lead[0] || v.rank != 3 || v.dims[0] == 1)
		return l->value;
	view = net_view(net, l->value);
	return view != NO_VALUE && reshape_view(&net->values[view], 4, dims) ? view : NO_VALUE;
}

/* What all layers together add to scores; NO_VALUE: that is not known, or no memory. */
static uint32_t one_mask(struct net *net, const struct node *of, const struct scores *s,
			 struct made *made)
{
	uint32_t i, mask = NO_VALUE, value, in[3];
	float *zero;

	for (i = 0; i < made->count; i++)
		if (made->of[i].layers == s->layers &&
		    !memcmp(made->of[i].lead, s->lead, sizeof(s->lead)) &&
		    same_layers(net, made->of[i].layer, s->layer, s->layers))
			return made->of[i].mask;
	for (i = 0; i < s->layers; i++) {
		const struct layer *l = &s->layer[i];

		value = unflattened(net, l, s->lead);
		if (value == NO_VALUE)
			return NO_VALUE;
		if (l->number == NO_VALUE && mask == NO_VALUE) {
			mask = value;
		} else if (l->number == NO_VALUE) {
			if (net->values[value].type != net->values[mask].type)
				return NO_VALUE;
			in[0] = value;
			in[1] = mask;
			mask = mask_node(net, of, ACCEL_OP_BINARY, 2, in);
		} else {
			if (mask == NO_VALUE) {
				zero = calloc(1, sizeof(*zero));
				if (zero)
					mask = net_constant(net, ACCEL_F32, 0, NULL, zero);
			}
			if (mask == NO_VALUE ||
			    net->values[mask].type != net->values[l->number].type)
				return NO_VALUE;
			in[0] = value;
			in[1] = l->seen ? mask : l->number;
			in[2] = l->seen ? l->number : mask;
			mask = mask_node(net, of, ACCEL_OP_SELECT, 3, in);
		}
		if (mask == NO_VALUE)
			return NO_VALUE;
	}
	if (made->count < MAX_MADE && s->layers) {
		memcpy(made->of[made->count].layer, s->layer, sizeof(s->layer));
		memcpy(made->of[made->count].lead, s->lead, sizeof(s->lead));
		made->of[made->count].layers = s->layers;
		made->of[made->count++].mask = mask;
	}
	return mask;
}

/*
 * Keys or values [batch, heads, keys, size] that were copied, perhaps repeated for groups
 * of heads: those that the copy read.
 */
static void uncopy(const struct net *net, struct value *v)
{
	uint32_t from = net->stores[v->store].node;
	const struct node *n = from == NO_VALUE ? NULL : &net->nodes[from];
	const struct value *a, *d;
	int64_t dims[4];
	struct value whole;
	uint32_t i;

	if (!n || n->desc->hdr.op != ACCEL_OP_COPY || is_quantised(n))
		return;
	a = &net->values[node_value(n, ACCEL_ARG_A)];
	d = &net->values[node_result(n)];
	if (a->type != d->type || d->store != v->store)
		return;
	if (a->rank == 4 && a->strides[3] == 1 && same_dims(a, d) && same_place(d, v)) {
		*v = *a;
		return;
	}
	if (a->rank != 5 || a->strides[2])
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
static bool heads_first(const struct net *net, uint32_t value, const int64_t *lead, bool turned,
			struct value *v)
{
	static const uint32_t turn[2][MAX_RANK] = { { 0, 1, 2, 3 }, { 0, 1, 3, 2 } };
	int64_t dims[4] = { lead[0], lead[1] };
	uint32_t i;

	*v = net->values[value];
	if (v->rank < 3 || v->rank > 4)
		return false;
	dims[2] = v->dims[1];
	dims[3] = v->dims[2];
	if (v->rank == 3 && lead[0] && !reshape_view(v, 4, dims))
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
static bool build(struct net *net, uint32_t index, const struct scores *s, struct made *made)
{
	struct accel_attention_desc *d = calloc(1, sizeof(*d));
	struct node trial = net->nodes[index];
	struct value q, k, v, out;
	uint32_t result = node_result(&trial), mask;

	if (!d)
		return false;
	if (!heads_first(net, s->q, s->lead, false, &q) ||
	    !heads_first(net, s->k, s->lead, true, &k) ||
	    !heads_first(net, s->v, s->lead, false, &v) ||
	    !heads_first(net, result, s->lead, false, &out))
		goto keep;
	uncopy(net, &q);
	uncopy(net, &k);
	uncopy(net, &v);
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
	if (s->layers) {
		mask = one_mask(net, &trial, s, made);
		if (mask == NO_VALUE)
			goto keep;
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

/* The softmax itself, where a node takes zeros instead of what is NaN in it */
static void unguard(struct net *net, struct node *node)
{
	const struct node *isnan = value_maker(net, node_value(node, ACCEL_ARG_A), ACCEL_OP_UNARY);
	uint32_t from = node_value(node, ACCEL_ARG_C), result = node_result(node), i, store;
	const struct node *softmax = value_maker(net, from, ACCEL_OP_SOFTMAX);
	double number;

	if (!isnan || !softmax || isnan->desc->any.unary.func != ACCEL_UNARY_IS_NAN ||
	    isnan->desc->any.unary.epilogue.act ||
	    softmax->desc->any.softmax.func != ACCEL_SOFTMAX_PLAIN ||
	    !same_place(&net->values[node_value(isnan, ACCEL_ARG_A)], &net->values[from]) ||
	    !value_scalar(net, node_value(node, ACCEL_ARG_B), &number) || number != 0 ||
	    net->values[from].type != net->values[result].type ||
	    !same_dims(&net->values[from], &net->values[result]))
		return;
	store = net->values[result].store;
	for (i = 0; i < net->output_count; i++)
		if (net->values[net->outputs[i]].store == store)
			return;
	for (i = 0; i < net->value_count; i++)
		if (net->values[i].store == store)
			net->values[i].store = net->values[from].store;
	node->dead = true;
}

int pass_attention(struct net *net)
{
	uint32_t i, at, a, d, count = net->node_count;
	const struct node *node, *last;
	struct made made = { .count = 0 };
	struct scores s;
	int ret;

	for (i = 0; i < count; i++)
		if (!net->nodes[i].dead && net->nodes[i].desc->hdr.op == ACCEL_OP_SELECT)
			unguard(net, &net->nodes[i]);
	ret = pass_dead(net);
	if (ret)
		return ret;
	net_count_uses(net);
	for (i = 0; i < count; i++) {
		node = &net->nodes[i];
		if (node->dead || node->desc->hdr.op != ACCEL_OP_SOFTMAX ||
		    node->desc->any.softmax.func != ACCEL_SOFTMAX_PLAIN)
			continue;
		a = node_value(node, ACCEL_ARG_A);
		d = node_result(node);
		s = (struct scores) { .layers = 0 };
		if (!is_real(net->values[d].type) || net->values[d].type != net->values[a].type ||
		    (node->desc->any.softmax.axis != -1 &&
		     node->desc->any.softmax.axis != (int32_t)net->values[a].rank - 1) ||
		    value_uses(net, d, &at) != 1 || at == NO_VALUE)
			continue;
		last = &net->nodes[at];
		if (last->desc->hdr.op != ACCEL_OP_GEMM || !is_plain(last) ||
		    is_quantised(last) || last->desc->any.gemm.flags ||
		    !same_matrices(net, &net->values[node_value(last, ACCEL_ARG_A)],
				   &net->values[d]) ||
		    !find_scores(net, a, &s))
			continue;
		s.v = node_value(last, ACCEL_ARG_B);
		build(net, at, &s, &made);
	}
	return 0;
}
