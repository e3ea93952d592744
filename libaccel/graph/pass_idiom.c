// SPDX-License-Identifier: MIT
/*
 * Idioms: what exporters take apart becomes one node again: GELU by erf and by tanh,
 * SiLU, layer and RMS norm. A product is looked at as a list of factors, so that it does
 * not matter in which order it was written. The last node of what was found changes;
 * those before it go if nobody else reads them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define MAX_FACTORS	6
/* Constants are rounded by exporters, some to four digits. */
#define ROUNDED		0.001

/**
 * struct factor - part of a product
 * @value: what is multiplied
 * @inverse: what is divided by
 */
struct factor {
	uint32_t value;
	bool inverse;
};

/**
 * struct product - a value as a product
 * @scale: of all constant factors
 * @count: number of @f
 * @f: other factors
 */
struct product {
	double scale;
	uint32_t count;
	struct factor f[MAX_FACTORS];
};

static bool near(double a, double b)
{
	return fabs(a - b) <= ROUNDED * fabs(b);
}

static bool same(const struct net *net, uint32_t a, uint32_t b)
{
	return a != NO_VALUE && b != NO_VALUE && same_place(&net->values[a], &net->values[b]);
}

/* The binary operation that a value is the result of, NULL: it is none */
static const struct node *binary_of(const struct net *net, uint32_t value, uint32_t func)
{
	const struct node *n = value_maker(net, value, ACCEL_OP_BINARY);

	return n && n->desc->any.binary.func == func && !n->desc->any.binary.epilogue.act &&
		       !is_quantised(n) ? n : NULL;
}

/* The input of the unary operation or the activation, NO_VALUE: it is neither. */
static uint32_t unary_of(const struct net *net, uint32_t value, uint32_t func, uint32_t act)
{
	const struct node *n = value_maker(net, value, ACCEL_OP_UNARY);
	const struct accel_unary_desc *d = n ? &n->desc->any.unary : NULL;

	if (!d || d->func != func || d->epilogue.act != act)
		return NO_VALUE;
	return node_value(n, ACCEL_ARG_A);
}

/* The other operand of a node with two, if one of them is the number; NO_VALUE: none is */
static uint32_t beside(const struct net *net, const struct node *n, double *number)
{
	uint32_t a = node_value(n, ACCEL_ARG_A), b = node_value(n, ACCEL_ARG_B);

	if (value_scalar(net, a, number))
		return b;
	return value_scalar(net, b, number) ? a : NO_VALUE;
}

/* @value as a product; what is at the place of @stop is not looked into. */
static bool spread(const struct net *net, uint32_t value, uint32_t stop, bool inverse,
		   uint32_t depth, struct product *p)
{
	const struct node *n;
	double number;

	if (value_scalar(net, value, &number)) {
		p->scale = inverse ? p->scale / number : p->scale * number;
		return true;
	}
	n = depth && !same(net, value, stop) ? binary_of(net, value, ACCEL_BINARY_MUL) : NULL;
	if (n)
		return spread(net, node_value(n, ACCEL_ARG_A), stop, inverse, depth - 1, p) &&
		       spread(net, node_value(n, ACCEL_ARG_B), stop, inverse, depth - 1, p);
	n = depth && !same(net, value, stop) ? binary_of(net, value, ACCEL_BINARY_DIV) : NULL;
	if (n)
		return spread(net, node_value(n, ACCEL_ARG_A), stop, inverse, depth - 1, p) &&
		       spread(net, node_value(n, ACCEL_ARG_B), stop, !inverse, depth - 1, p);
	if (p->count == MAX_FACTORS)
		return false;
	p->f[p->count++] = (struct factor) { value, inverse };
	return true;
}

static bool product_of(const struct net *net, uint32_t value, uint32_t stop, struct product *p)
{
	*p = (struct product) { .scale = 1 };
	return spread(net, value, stop, false, 4, p);
}

/* scale * x^power? A power of x is one, too. */
static bool is_power(const struct net *net, uint32_t value, uint32_t x, double scale,
		     uint32_t power)
{
	const struct node *n;
	struct product p;
	uint32_t i, found = 0;
	double number;

	if (!product_of(net, value, x, &p) || !near(p.scale, scale))
		return false;
	for (i = 0; i < p.count; i++) {
		if (p.f[i].inverse)
			return false;
		n = binary_of(net, p.f[i].value, ACCEL_BINARY_POW);
		if (same(net, p.f[i].value, x))
			found++;
		else if (same(net, unary_of(net, p.f[i].value, ACCEL_UNARY_SQUARE, 0), x))
			found += 2;
		else if (n && same(net, node_value(n, ACCEL_ARG_A), x) &&
			 value_scalar(net, node_value(n, ACCEL_ARG_B), &number) && number > 0 &&
			 number < 8 && number == floor(number))
			found += (uint32_t)number;
		else
			return false;
	}
	return found == power;
}

/* --- activations ------------------------------------------------------------------- */

/* x, if @value is 1 + erf(x / sqrt(2)); else NO_VALUE */
static uint32_t erf_of(const struct net *net, uint32_t value)
{
	const struct node *n = binary_of(net, value, ACCEL_BINARY_ADD);
	struct product p;
	double one;
	uint32_t t;

	t = n ? beside(net, n, &one) : NO_VALUE;
	if (t == NO_VALUE || one != 1)
		return NO_VALUE;
	t = unary_of(net, t, ACCEL_UNARY_ERF, 0);
	if (t == NO_VALUE)
		return NO_VALUE;
	p = (struct product) { .scale = 1 };
	if (!spread(net, t, NO_VALUE, false, 1, &p) || p.count != 1 || p.f[0].inverse ||
	    !near(p.scale, sqrt(0.5)))
		return NO_VALUE;
	return p.f[0].value;
}

/* Is @value sqrt(2 / pi) * (x + 0.044715 * x^3)? */
static bool is_cubic(const struct net *net, uint32_t value, uint32_t x)
{
	const struct node *n;
	struct product p;
	uint32_t i, a, b, beyond = NO_VALUE, xs = 0;
	double one;

	if (!product_of(net, value, x, &p) || !near(p.scale, sqrt(2 / M_PI)))
		return false;
	for (i = 0; i < p.count; i++) {
		if (p.f[i].inverse)
			return false;
		if (same(net, p.f[i].value, x))
			xs++;
		else
			beyond = p.f[i].value;
	}
	n = beyond == NO_VALUE ? NULL : binary_of(net, beyond, ACCEL_BINARY_ADD);
	if (!n || p.count != 1 + xs || xs > 1)
		return false;
	a = node_value(n, ACCEL_ARG_A);
	b = node_value(n, ACCEL_ARG_B);
	if (!xs)
		return (same(net, a, x) && is_power(net, b, x, 0.044715, 3)) ||
		       (same(net, b, x) && is_power(net, a, x, 0.044715, 3));
	a = beside(net, n, &one);
	return a != NO_VALUE && one == 1 && is_power(net, a, x, 0.044715, 2);
}

/* Is @value 1 + tanh(the above)? */
static bool is_tanh_of(const struct net *net, uint32_t value, uint32_t x)
{
	const struct node *n = binary_of(net, value, ACCEL_BINARY_ADD);
	double one;
	uint32_t t = n ? beside(net, n, &one) : NO_VALUE;

	if (t == NO_VALUE || one != 1)
		return false;
	t = unary_of(net, t, ACCEL_UNARY_ACT, ACCEL_ACT_TANH);
	return t != NO_VALUE && is_cubic(net, t, x);
}

/* The activation of x that a product of x and @factor is, ACCEL_ACT_NONE: none */
static uint32_t act_by(const struct net *net, uint32_t factor, uint32_t x, double *scale)
{
	*scale = 0.5;
	if (same(net, erf_of(net, factor), x))
		return ACCEL_ACT_GELU;
	if (is_tanh_of(net, factor, x))
		return ACCEL_ACT_GELU_TANH;
	*scale = 1;
	if (same(net, unary_of(net, factor, ACCEL_UNARY_ACT, ACCEL_ACT_SIGMOID), x))
		return ACCEL_ACT_SILU;
	return ACCEL_ACT_NONE;
}

/* Two factors, and one of them is a function of the other. */
static uint32_t find_act(const struct net *net, uint32_t value, uint32_t factor, uint32_t *x)
{
	struct product p;
	uint32_t i, act, k;
	double scale;

	/* What x is made of is not looked into: it is what @factor says. */
	*x = erf_of(net, factor);
	if (*x == NO_VALUE)
		*x = unary_of(net, factor, ACCEL_UNARY_ACT, ACCEL_ACT_SIGMOID);
	if (!product_of(net, value, *x, &p) || p.count != 2)
		return ACCEL_ACT_NONE;
	for (i = 0; i < 2; i++) {
		k = 1 - i;
		if (p.f[i].inverse || p.f[k].inverse || p.f[k].value != factor)
			continue;
		act = act_by(net, factor, p.f[i].value, &scale);
		*x = p.f[i].value;
		if (act && near(p.scale, scale))
			return act;
	}
	return ACCEL_ACT_NONE;
}

/* Another operation with the same result. */
static bool become(struct net *net, struct node *node, uint32_t op, uint32_t a)
{
	union node_desc *desc = calloc(1, desc_size(op));
	uint32_t d = node_result(node);

	if (!desc)
		return false;
	desc->hdr.size = desc_size(op);
	desc->hdr.op = op;
	free(node->desc);
	node->desc = desc;
	node->arg_count = 0;
	node_arg(node, ACCEL_ARG_A, a, false);
	node_arg(node, ACCEL_ARG_D, d, true);
	node->rules |= 1u << ACCEL_PASS_IDIOM;
	(void)net;
	return true;
}

static bool activation(struct net *net, struct node *node)
{
	uint32_t i, x, act = ACCEL_ACT_NONE, d = node_result(node);
	struct product p;

	if (!product_of(net, d, NO_VALUE, &p) || p.count < 2)
		return false;
	for (i = 0; i < p.count && !act; i++)
		act = find_act(net, d, p.f[i].value, &x);
	if (!act || net->values[x].type != net->values[d].type ||
	    !same_dims(&net->values[x], &net->values[d]) ||
	    !become(net, node, ACCEL_OP_UNARY, x))
		return false;
	node->desc->any.unary.func = ACCEL_UNARY_ACT;
	node->desc->any.unary.epilogue.act = act;
	return true;
}

/* --- norms ------------------------------------------------------------------------- */

/* The mean of what along the last dimension? NO_VALUE: it is none. */
static uint32_t mean_of(const struct net *net, uint32_t value)
{
	const struct node *n = value_maker(net, value, ACCEL_OP_REDUCE);
	const struct value *v;
	uint32_t a;

	if (!n || n->desc->any.reduce.func != ACCEL_REDUCE_MEAN)
		return NO_VALUE;
	a = node_value(n, ACCEL_ARG_A);
	v = &net->values[a];
	return v->rank > 1 && n->desc->any.reduce.axes == ACCEL_AXIS(v->rank - 1) ? a : NO_VALUE;
}

/* x, if the factor is 1 / sqrt(mean(x^2) + eps); else NO_VALUE */
static uint32_t spread_of(const struct net *net, const struct factor *f, double *eps)
{
	const struct node *n;
	struct product p;
	uint32_t v, x;
	double half;

	v = unary_of(net, f->value, f->inverse ? ACCEL_UNARY_SQRT : ACCEL_UNARY_RSQRT, 0);
	if (v == NO_VALUE && !f->inverse) {
		v = unary_of(net, f->value, ACCEL_UNARY_RECIP, 0);
		v = v == NO_VALUE ? v : unary_of(net, v, ACCEL_UNARY_SQRT, 0);
	}
	n = binary_of(net, f->value, ACCEL_BINARY_POW);
	if (v == NO_VALUE && n && value_scalar(net, node_value(n, ACCEL_ARG_B), &half) &&
	    half == (f->inverse ? 0.5 : -0.5))
		v = node_value(n, ACCEL_ARG_A);
	n = v == NO_VALUE ? NULL : binary_of(net, v, ACCEL_BINARY_ADD);
	v = n ? beside(net, n, eps) : NO_VALUE;
	v = v == NO_VALUE ? v : mean_of(net, v);
	if (v == NO_VALUE)
		return v;
	n = binary_of(net, v, ACCEL_BINARY_POW);
	x = n ? node_value(n, ACCEL_ARG_A) : unary_of(net, v, ACCEL_UNARY_SQUARE, 0);
	if (x == NO_VALUE && product_of(net, v, NO_VALUE, &p) && p.count)
		x = p.f[0].value;
	if (x == NO_VALUE && binary_of(net, v, ACCEL_BINARY_MUL))
		x = node_value(binary_of(net, v, ACCEL_BINARY_MUL), ACCEL_ARG_A);
	return x != NO_VALUE && is_power(net, v, x, 1, 2) ? x : NO_VALUE;
}

/* What its mean was taken from, NO_VALUE: nothing was */
static uint32_t centred(const struct net *net, uint32_t value)
{
	const struct node *n = binary_of(net, value, ACCEL_BINARY_SUB);
	uint32_t a = n ? node_value(n, ACCEL_ARG_A) : NO_VALUE;

	return n && same(net, mean_of(net, node_value(n, ACCEL_ARG_B)), a) ? a : NO_VALUE;
}

/* Is it @x, or less its mean the same as @x? */
static bool is_it(const struct net *net, uint32_t value, uint32_t x)
{
	uint32_t a = centred(net, value);

	return same(net, value, x) || (a != NO_VALUE && same(net, a, centred(net, x)));
}

/* A constant vector along the last dimension, as one of one dimension; NO_VALUE: it is none. */
static uint32_t as_line(struct net *net, uint32_t value, const struct value *d)
{
	struct value v = net->values[value];
	int64_t n = d->dims[d->rank - 1];

	if (!value_const(net, value) || !v.rank || v.rank > d->rank || v.type != d->type ||
	    v.dims[v.rank - 1] != n || value_count(&v) != (uint64_t)n || !reshape_view(&v, 1, &n))
		return NO_VALUE;
	value = net_view(net, value);
	if (value != NO_VALUE)
		net->values[value] = v;
	return value;
}

/**
 * struct norm - parts of a norm
 * @x: normed
 * @scale: constant factor, NO_VALUE: none
 * @eps: added to the variance
 */
struct norm {
	uint32_t x;
	uint32_t scale;
	double eps;
};

static bool find_norm(const struct net *net, uint32_t value, struct norm *norm)
{
	struct product p;
	uint32_t i, k, xs = 0, others = 0;

	if (!product_of(net, value, NO_VALUE, &p))
		return false;
	for (i = 0, norm->x = NO_VALUE; i < p.count && norm->x == NO_VALUE; i++)
		norm->x = spread_of(net, &p.f[i], &norm->eps);
	if (norm->x == NO_VALUE || !product_of(net, value, norm->x, &p) || p.scale != 1)
		return false;
	norm->scale = NO_VALUE;
	for (k = 0; k < p.count; k++) {
		double eps = 0;

		if (!p.f[k].inverse && !xs && is_it(net, p.f[k].value, norm->x)) {
			xs++;
		} else if (!others && same(net, spread_of(net, &p.f[k], &eps), norm->x)) {
			others++;
		} else if (!p.f[k].inverse && norm->scale == NO_VALUE &&
			   value_const(net, p.f[k].value)) {
			norm->scale = p.f[k].value;
		} else {
			return false;
		}
	}
	return xs && others && norm->eps >= 0;
}

static bool norm(struct net *net, struct node *node)
{
	const struct node *sum = binary_of(net, node_result(node), ACCEL_BINARY_ADD);
	uint32_t d = node_result(node), top = d, x, scale = NO_VALUE, bias = NO_VALUE;
	struct norm found;

	if (sum) {
		top = node_value(sum, ACCEL_ARG_A);
		bias = node_value(sum, ACCEL_ARG_B);
		if (value_const(net, top)) {
			top = bias;
			bias = node_value(sum, ACCEL_ARG_A);
		}
		if (!value_const(net, bias))
			return false;
	}
	if (!find_norm(net, top, &found))
		return false;
	x = centred(net, found.x);
	/* A root mean square has no addend. */
	if ((x == NO_VALUE && sum) || net->values[found.x].type != net->values[d].type ||
	    !same_dims(&net->values[found.x], &net->values[d]))
		return false;
	if (found.scale != NO_VALUE) {
		scale = as_line(net, found.scale, &net->values[d]);
		if (scale == NO_VALUE)
			return false;
	}
	if (sum) {
		bias = as_line(net, bias, &net->values[d]);
		if (bias == NO_VALUE)
			return false;
	}
	if (!become(net, node, ACCEL_OP_NORM, x == NO_VALUE ? found.x : x))
		return false;
	node->desc->any.norm.func = x == NO_VALUE ? ACCEL_NORM_RMS : ACCEL_NORM_LAYER;
	node->desc->any.norm.eps = (float)found.eps;
	if (scale != NO_VALUE)
		node_arg(node, ACCEL_ARG_SCALE, scale, false);
	if (bias != NO_VALUE)
		node_arg(node, ACCEL_ARG_BIAS, bias, false);
	return true;
}

int pass_idiom(struct net *net)
{
	uint32_t i;

	/* The last node of what belongs together is seen first. */
	for (i = net->node_count; i-- > 0;) {
		struct node *node = &net->nodes[i];

		if (node->dead || node->desc->hdr.op != ACCEL_OP_BINARY ||
		    !is_real(net->values[node_result(node)].type))
			continue;
		if (!norm(net, node))
			activation(net, node);
	}
	return 0;
}
