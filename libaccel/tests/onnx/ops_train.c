// SPDX-License-Identifier: MIT
/*
 * Steps of optimisers: rate R, count of steps T, then all X, all gradients, and
 * for each state all of it.
 */
#include "run.h"

#define ADD(r, a, b)	lib_binary(r, ACCEL_BINARY_ADD, a, b)
#define MUL(r, a, b)	lib_binary(r, ACCEL_BINARY_MUL, a, b)
#define SUB(r, a, b)	lib_binary(r, ACCEL_BINARY_SUB, a, b)
#define DIV(r, a, b)	lib_binary(r, ACCEL_BINARY_DIV, a, b)

enum optimiser { ADAGRAD, ADAM, MOMENTUM };

/* g + norm x */
static struct value *gradient(struct run *r, struct value *x, struct value *g)
{
	return ADD(r, g, lib_times(r, x, (double)attr_float(r, "norm_coefficient", 0)));
}

/* Output @n and the state of a tensor */
static void adagrad(struct run *r, uint32_t n, uint32_t count)
{
	double decay = (double)attr_float(r, "decay_factor", 0), t = get(r->in[1], 0);
	double eps = (double)attr_float(r, "epsilon", 0);
	struct value *x = r->in[2 + n], *h = r->in[2 + 2 * count + n];
	struct value *g = gradient(r, x, r->in[2 + count + n]);
	struct value *rate = lib_times(r, r->in[0], 1 / (1 + t * decay)), *step;

	h = ADD(r, h, lib_unary(r, ACCEL_UNARY_SQUARE, g));
	step = DIV(r, MUL(r, g, rate),
		   lib_plus(r, lib_unary(r, ACCEL_UNARY_SQRT, h), eps));
	give(r, n, SUB(r, x, step));
	give(r, count + n, h);
}

static void momentum(struct run *r, uint32_t n, uint32_t count)
{
	double alpha = (double)attr_float(r, "alpha", 0), beta = (double)attr_float(r, "beta", 0);
	struct value *x = r->in[2 + n], *v = r->in[2 + 2 * count + n];
	struct value *g = gradient(r, x, r->in[2 + count + n]), *step;

	if (get(r->in[1], 0) == 0)
		beta = 1;
	v = ADD(r, lib_times(r, v, alpha), lib_times(r, g, beta));
	step = attr_is(r, "mode", "nesterov", false) ? ADD(r, g, lib_times(r, v, alpha)) : v;
	give(r, n, SUB(r, x, MUL(r, step, r->in[0])));
	give(r, count + n, v);
}

/* The rate of step t is corrected by powers of the two decays, which the CPU multiplies out. */
static double power(double x, uint32_t n)
{
	double p = 1;

	while (n--)
		p *= x;
	return p;
}

static void adam(struct run *r, uint32_t n, uint32_t count)
{
	double alpha = (double)attr_float(r, "alpha", 0.9f);
	double beta = (double)attr_float(r, "beta", 0.999f), t = get(r->in[1], 0);
	double eps = (double)attr_float(r, "epsilon", 0.000001f);
	double post = 1 - (double)attr_float(r, "norm_coefficient_post", 0);
	struct value *x = r->in[2 + n], *v = r->in[2 + 2 * count + n];
	struct value *h = r->in[2 + 3 * count + n], *g = gradient(r, x, r->in[2 + count + n]);
	struct value *rate = r->in[0], *step;

	v = ADD(r, lib_times(r, v, alpha), lib_times(r, g, 1 - alpha));
	h = ADD(r, lib_times(r, h, beta),
		lib_times(r, lib_unary(r, ACCEL_UNARY_SQUARE, g), 1 - beta));
	if (t > 0) {
		rate = MUL(r, rate, lib_unary(r, ACCEL_UNARY_SQRT,
					      constant(r, T_FLOAT, 1 - power(beta, (uint32_t)t))));
		rate = lib_times(r, rate, 1 / (1 - power(alpha, (uint32_t)t)));
	}
	step = DIV(r, MUL(r, v, rate), lib_plus(r, lib_unary(r, ACCEL_UNARY_SQRT, h), eps));
	give(r, n, lib_times(r, SUB(r, x, step), post));
	give(r, count + n, v);
	give(r, 2 * count + n, h);
}

static int do_optimiser(struct run *r, const struct op_map *m)
{
	static void (*const fn[])(struct run *r, uint32_t n, uint32_t count) = {
		adagrad, adam, momentum
	};
	uint32_t each = m->arg == ADAM ? 4 : 3, count = (r->n_in - 2) / each, n;

	if (r->n_in < 2 + each || r->n_in != 2 + count * each || !usable(r, r->in[0]) ||
	    !usable(r, r->in[1]))
		return r->ret ? r->ret : broken(r, "%u inputs", r->n_in);
	if (!(get(r->in[1], 0) < 1e6))
		return unsupported(r, "more than a million steps");
	for (n = 0; n < count && !r->ret; n++)
		fn[m->arg](r, n, count);
	return r->ret;
}

const struct op_map ops_train[] = {
	{ "Adagrad", do_optimiser, BY_LIBRARY, ADAGRAD, 0 },
	{ "Adam", do_optimiser, BY_LIBRARY, ADAM, 0 },
	{ "Momentum", do_optimiser, BY_LIBRARY, MOMENTUM, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
