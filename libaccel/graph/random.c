// SPDX-License-Identifier: MIT
/*
 * Random numbers as an operator like those that users add, which is always there.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "graph.h"

/**
 * struct drawing - what a node says
 * @kind: &enum accel_random_kind
 * @type: of the result
 * @a: least number, or mean
 * @b: what all are below, or deviation
 * @count: drawn from each row
 */
struct drawing {
	int64_t kind;
	int64_t type;
	float a;
	float b;
	int64_t count;
};

static int read_drawing(struct accel_call *call, struct drawing *d)
{
	int ret;

	*d = (struct drawing) { ACCEL_RANDOM_UNIFORM, ACCEL_F32, 0, 1, 1 };
	ret = accel_call_int(call, "kind", &d->kind);
	if (!ret || ret == -ENOENT)
		ret = accel_call_int(call, "type", &d->type);
	if (!ret || ret == -ENOENT)
		ret = accel_call_float(call, "a", &d->a);
	if (!ret || ret == -ENOENT)
		ret = accel_call_float(call, "b", &d->b);
	if (!ret || ret == -ENOENT)
		ret = accel_call_int(call, "count", &d->count);
	return ret == -ENOENT ? 0 : ret;
}

static int infer(void *user, struct accel_call *call)
{
	const struct accel_call_value *in = accel_call_input(call, 0);
	const bool reads = in;
	const int64_t *dims = NULL;
	int64_t rows[2];
	uint64_t rank = 0;
	struct drawing d;
	uint32_t type;
	int ret = read_drawing(call, &d);

	(void)user;
	if (ret)
		return ret;
	type = d.type < 0 || d.type > UINT32_MAX ? 0 : (uint32_t)d.type;
	if (d.kind < ACCEL_RANDOM_UNIFORM || d.kind > ACCEL_RANDOM_CLASS)
		return accel_call_fail(call, -EINVAL, "%" PRId64 " is no kind of random numbers",
				       d.kind);
	if (!operator_type_bytes(type) ||
	    (d.kind <= ACCEL_RANDOM_NORMAL && !host_type_real(type)))
		return accel_call_fail(call, -EINVAL, "type %" PRId64 " is none of such numbers",
				       d.type);
	if (d.kind >= ACCEL_RANDOM_CHANCE && (!in || !host_type_real(in->type)))
		return accel_call_fail(call, -EINVAL, "no floating-point numbers to draw by");
	ret = accel_call_ints(call, "dims", &dims, &rank);
	if (ret && ret != -ENOENT)
		return ret;
	if (reads == !ret || rank > ACCEL_GRAPH_MAX_RANK)
		return accel_call_fail(call, -EINVAL, "dimensions of %" PRIu64 ", and %s input",
				       rank, reads ? "an" : "no");
	if (!in)
		return accel_call_give(call, 0, type, (uint32_t)rank, dims);
	if (d.kind != ACCEL_RANDOM_CLASS)
		return accel_call_give(call, 0, type, in->rank, in->dims);
	if (in->rank != 2 || (in->dims[0] && !in->dims[1]) || d.count < 1)
		return accel_call_fail(call, -EINVAL,
				       "%" PRId64 " of each row of %u dimensions cannot be drawn",
				       d.count, in->rank);
	rows[0] = in->dims[0];
	rows[1] = d.count;
	return accel_call_give(call, 0, type, 2, rows);
}

/* The node's own seed, or another one each time */
static int begin(struct accel_call *call, struct host_random *r)
{
	struct timespec now;
	int64_t number = 0;
	uint32_t seed;
	int ret = accel_call_int(call, "seed", &number);

	if (ret && ret != -ENOENT)
		return ret;
	seed = (uint32_t)number;
	if (ret && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		seed = (uint32_t)now.tv_nsec;
	}
	host_random_seed(r, seed);
	return 0;
}

static double number_at(const struct accel_call_value *v, uint64_t i)
{
	return host_get(v->type, v->data, (int64_t)i).f;
}

static struct host_number integer(int64_t i)
{
	return (struct host_number) { .i = i };
}

/* One draw decides, which is none if it cannot happen: as numpy's binomial() with n = 1 does it. */
static int happens(struct host_random *r, double chance)
{
	double u;

	if (!(chance > 0))
		return 0;
	u = host_random_uniform(r);
	return chance <= 0.5 ? u > 1 - chance : u <= chance;
}

/* Classes of a row, of which the logarithms of shares are known, up to a number for all */
static void draw_classes(struct host_random *r, const struct accel_call_value *in, uint64_t row,
			 const struct accel_call_value *out)
{
	const uint64_t classes = (uint64_t)in->dims[1], count = (uint64_t)out->dims[1];
	double largest = (double)-INFINITY, all = 0, u, x;
	uint64_t i, k;

	for (k = 0; k < classes; k++)
		largest = fmax(largest, number_at(in, row * classes + k));
	for (k = 0; k < classes; k++) {
		x = exp(number_at(in, row * classes + k) - largest);
		all += x > 0 ? x : 0;
	}
	for (i = 0; i < count; i++) {
		u = host_random_uniform(r) * all;
		for (k = 0; k + 1 < classes; k++) {
			x = exp(number_at(in, row * classes + k) - largest);
			u -= x > 0 ? x : 0;
			if (u < 0)
				break;
		}
		host_put(out->type, out->data, (int64_t)(row * count + i), integer((int64_t)k));
	}
}

static int compute(void *user, struct accel_call *call)
{
	const struct accel_call_value *in = accel_call_input(call, 0);
	const struct accel_call_value *out = accel_call_output(call, 0);
	struct host_number n = { .real = true };
	struct host_random r;
	struct drawing d;
	uint64_t i;
	int ret = read_drawing(call, &d);

	(void)user;
	if (!ret)
		ret = begin(call, &r);
	if (ret)
		return ret;
	if (d.kind == ACCEL_RANDOM_CLASS) {
		for (i = 0; i < (uint64_t)out->dims[0]; i++)
			draw_classes(&r, in, i, out);
		return 0;
	}
	for (i = 0; i < out->count; i++) {
		if (d.kind == ACCEL_RANDOM_CHANCE) {
			host_put(out->type, out->data, (int64_t)i,
				 integer(happens(&r, number_at(in, i))));
			continue;
		}
		n.f = d.kind == ACCEL_RANDOM_NORMAL ?
		      (double)d.a + (double)d.b * host_random_normal(&r) :
		      (double)d.a + ((double)d.b - (double)d.a) * host_random_uniform(&r);
		host_put(out->type, out->data, (int64_t)i, n);
	}
	return 0;
}

/**
 * operator_built_in - an operator that is there without a set
 * @domain: domain
 * @name: name
 *
 * Return: it, with a reference that nobody gives up; NULL: there is none.
 */
struct operator *operator_built_in(const char *domain, const char *name)
{
	static char label[] = ACCEL_RANDOM_DOMAIN "." ACCEL_RANDOM;
	static struct operator random = {
		.refs = 1, .label = label,
		.d = {
			.size = sizeof(random.d), .domain = ACCEL_RANDOM_DOMAIN,
			.name = ACCEL_RANDOM, .since = 1, .max_inputs = 1, .min_outputs = 1,
			.max_outputs = 1, .infer = infer, .compute = compute
		}
	};

	return !strcmp(name, ACCEL_RANDOM) && domain && !strcmp(domain, ACCEL_RANDOM_DOMAIN) ?
	       &random : NULL;
}
