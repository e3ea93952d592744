// SPDX-License-Identifier: MIT
/*
 * The reference: a simple GEMM in float64, from the bytes that the device read, and the error
 * bound of each element.
 *
 * For an element with x = sum of K products, with arithmetic in binary32 (unit roundoff u =
 * 2^-24) in any order:
 *
 *	|result - reference| <= L (K + 8) u T + e max(|x|, |reference|) + v |reference|
 *
 * T: sum of the magnitudes of all terms (products, addend, bias); K + 8: each term is part of
 * at most K roundings of sums and products and a few for dequantisation, alpha, beta and bias;
 * L: largest slope of the activation; e: accuracy required of the activation, 16 u, or 0
 * without one and for ReLU; v: unit roundoff of result types narrower than binary32. Rounding
 * of subnormal numbers is absolute: T and |reference| count as at least the smallest normal
 * number. Integer results are exact.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "gemm.h"
#include "interrupt.h"
#include "libaccel/tests/oracle/oracle.h"

#define MAX_THREADS	16

/* Unit roundoffs of the types */
#define ROUNDOFF_F32	(1 / 0x1p24)
#define ROUNDOFF_F16	(1 / 0x1p11)
#define ROUNDOFF_BF16	(1 / 0x1p8)

/* Products that are worth a thread */
#define THREAD_WORK	(1u << 20)

struct type_limits {
	double roundoff;
	double min_normal;
};

struct check {
	const struct gemm *g;
	const struct npy *other;
	const double *a;
	const double *b;
	int64_t batch;
	struct type_limits lim;
	double accumulate;
	double activate;
	double slope;
	bool exact;
	atomic_llong next_row;
	atomic_int error;
	pthread_mutex_t lock;
	struct gemm_verdict *v;
};

static struct type_limits limits_of(uint32_t dtype)
{
	switch (dtype) {
	case ACCEL_F16:
		return (struct type_limits){ ROUNDOFF_F16, 1 / 0x1p14 };
	case ACCEL_BF16:
		return (struct type_limits){ ROUNDOFF_BF16, FLT_MIN };
	default:
		return (struct type_limits){ 0, FLT_MIN };
	}
}

/* One number against the reference; @terms is T, @x the argument of the activation */
static void judge(const struct check *c, double got, double ref, double want, double terms,
		  double x, double *err, double *bound)
{
	double limit;

	*bound = 0;
	if (c->exact || !isfinite(ref)) {
		*err = oracle_apart(got, want);
		return;
	}
	*bound = c->slope * c->accumulate * fmax(terms, FLT_MIN) +
		 c->activate * fmax(fabs(x), fabs(ref)) +
		 c->lim.roundoff * fmax(fabs(ref), c->lim.min_normal);
	if (c->other)
		*bound *= 2;
	if (!(terms <= FLT_MAX)) {
		/* A sum may have overflowed: no check is possible */
		*bound = INFINITY;
		*err = 0;
		return;
	}
	limit = value_max(c->g->d.dtype);
	if (fabs(ref) + *bound >= limit) {
		/* Infinity matches anything beyond the largest number; NaN matches nothing */
		got = fabs(got) > limit ? copysign(limit, got) : got;
		want = fabs(want) > limit ? copysign(limit, want) : want;
	}
	*err = oracle_apart(got, want);
}

static void check_row(struct check *c, int64_t row, double *sum, double *mag,
		      struct gemm_verdict *v)
{
	const struct gemm *g = c->g;
	const double scale = g->kind == GEMM_INT8 && !c->exact ?
			     GEMM_INT8_SCALE * GEMM_INT8_SCALE : 1;
	const double alpha = (float)g->alpha * scale, beta = (float)g->beta;
	const double p0 = (float)g->opts->p0, p1 = (float)g->opts->p1;
	uint64_t base = ((uint64_t)c->batch * (uint64_t)g->m + (uint64_t)row) * (uint64_t)g->n;
	int64_t i, j;

	for (j = 0; j < g->n; j++)
		sum[j] = mag[j] = 0;
	for (i = 0; i < g->k; i++) {
		const double *restrict b = c->b + i * g->n;
		const double a = c->a[row * g->k + i];

		for (j = 0; j < g->n; j++) {
			double product = a * b[j];

			sum[j] += product;
			mag[j] += fabs(product);
		}
	}
	for (j = 0; j < g->n; j++) {
		double x = alpha * sum[j], terms = fabs(alpha) * mag[j];
		double ref, want, got, err, bound, ratio, rel;

		if (g->c.dtype) {
			double add = beta * value_get(g->c.dtype, g->c.ptr, base + (uint64_t)j);

			x += add;
			terms += fabs(add);
		}
		if (g->bias.dtype) {
			double add = value_get(g->bias.dtype, g->bias.ptr, (uint64_t)j);

			x += add;
			terms += fabs(add);
		}
		ref = act_apply(g->opts->act, x, p0, p1);
		if (c->exact)
			ref = value_round(g->d.dtype, ref);
		want = c->other ? npy_get(c->other, base + (uint64_t)j, g->d.dtype == ACCEL_BF16) :
		       ref;
		got = value_get(g->d.dtype, g->d.ptr, base + (uint64_t)j);
		judge(c, got, ref, want, terms, x, &err, &bound);

		ratio = err == 0 ? 0 : bound > 0 ? err / bound : INFINITY;
		rel = err == 0 ? 0 : err / fmax(fmax(terms, fabs(ref)), c->lim.min_normal);
		v->max_abs = fmax(v->max_abs, err);
		v->max_rel = fmax(v->max_rel, rel);
		want = c->other ? want : value_round(g->d.dtype, ref);
		if (got != want && !(isnan(got) && isnan(want)))
			v->differing++;
		if (ratio > v->ratio) {
			v->ratio = ratio;
			v->batch = c->batch;
			v->row = row;
			v->col = j;
			v->got = got;
			v->want = want;
		}
	}
}

static void *check_rows(void *user)
{
	struct check *c = user;
	const struct gemm *g = c->g;
	struct gemm_verdict v = { 0 };
	double *sum = malloc((size_t)g->n * sizeof(*sum));
	double *mag = malloc((size_t)g->n * sizeof(*mag));
	int64_t row;

	if (!sum || !mag) {
		atomic_store(&c->error, -ENOMEM);
		goto out;
	}
	while ((row = atomic_fetch_add(&c->next_row, 1)) < g->m) {
		if (ctl_interrupted()) {
			atomic_store(&c->error, -EINTR);
			goto out;
		}
		check_row(c, row, sum, mag, &v);
	}
	pthread_mutex_lock(&c->lock);
	c->v->max_abs = fmax(c->v->max_abs, v.max_abs);
	c->v->max_rel = fmax(c->v->max_rel, v.max_rel);
	c->v->differing += v.differing;
	if (v.ratio > c->v->ratio) {
		c->v->ratio = v.ratio;
		c->v->batch = v.batch;
		c->v->row = v.row;
		c->v->col = v.col;
		c->v->got = v.got;
		c->v->want = v.want;
	}
	pthread_mutex_unlock(&c->lock);
out:
	free(sum);
	free(mag);
	return NULL;
}

/* Float64 copies of the operands of one batch, transposition undone, weights dequantised */
static void unpack_a(const struct gemm *g, int64_t batch, double *a)
{
	uint64_t base = (uint64_t)(g->a.batch > 1 ? batch : 0) * (uint64_t)(g->a.rows * g->a.ld);
	int64_t i, j;

	for (i = 0; i < g->m; i++)
		for (j = 0; j < g->k; j++)
			a[i * g->k + j] = value_get(g->a.dtype, g->a.ptr, base +
				(uint64_t)(g->opts->trans_a ? j * g->a.ld + i : i * g->a.ld + j));
}

static void unpack_b(const struct gemm *g, int64_t batch, double *b)
{
	const bool trans = g->opts->trans_b;
	uint64_t base, sbase;
	int64_t i, j;

	batch = g->b.batch > 1 ? batch : 0;
	base = (uint64_t)batch * (uint64_t)(g->b.rows * g->b.ld);
	sbase = (uint64_t)batch * (uint64_t)(g->scales.rows * g->scales.ld);
	for (i = 0; i < g->k; i++) {
		for (j = 0; j < g->n; j++) {
			double value = value_get(g->b.dtype, g->b.ptr, base +
				(uint64_t)(trans ? j * g->b.ld + i : i * g->b.ld + j));

			if (g->scales.dtype) {
				int64_t group = i / g->group;

				value *= value_get(g->scales.dtype, g->scales.ptr, sbase +
					(uint64_t)(trans ? j * g->scales.ld + group :
							   group * g->scales.ld + j));
			}
			b[i * g->n + j] = value;
		}
	}
}

static unsigned int thread_count(const struct gemm *g)
{
	double work = (double)g->m * (double)g->n * (double)g->k / THREAD_WORK;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores > MAX_THREADS)
		cores = MAX_THREADS;
	if (cores > work)
		cores = (long)work;
	if (cores > g->m)
		cores = (long)g->m;
	return cores > 1 ? (unsigned int)cores : 1;
}

static int run_check(const struct gemm *g, const struct npy *other, struct gemm_verdict *v)
{
	pthread_t threads[MAX_THREADS];
	struct check c = { .g = g, .other = other, .v = v };
	unsigned int count = thread_count(g), i, started;
	const uint32_t act = g->opts->act;
	double *a, *b;

	*v = (struct gemm_verdict){ 0 };
	c.lim = limits_of(g->d.dtype);
	c.exact = g->d.dtype == ACCEL_S32;
	c.accumulate = c.exact ? 0 : (double)(g->k + 8) * ROUNDOFF_F32;
	c.slope = act_slope(act, g->opts->p0, g->opts->p1);
	c.activate = c.exact || act <= ACCEL_ACT_RELU ? 0 : 16 * ROUNDOFF_F32;
	v->bound = c.slope * c.accumulate + c.activate + c.lim.roundoff;
	if (other)
		v->bound *= 2;

	a = malloc((size_t)(g->m * g->k) * sizeof(*a));
	b = malloc((size_t)(g->k * g->n) * sizeof(*b));
	pthread_mutex_init(&c.lock, NULL);
	if (!a || !b) {
		atomic_store(&c.error, -ENOMEM);
		goto out;
	}
	c.a = a;
	c.b = b;
	for (c.batch = 0; c.batch < g->batch && !atomic_load(&c.error); c.batch++) {
		if (c.batch == 0 || g->a.batch > 1)
			unpack_a(g, c.batch, a);
		if (c.batch == 0 || g->b.batch > 1)
			unpack_b(g, c.batch, b);
		atomic_store(&c.next_row, 0);
		/* If threads cannot be created, this one does the rest */
		for (started = 0; started + 1 < count; started++)
			if (pthread_create(&threads[started], NULL, check_rows, &c))
				break;
		check_rows(&c);
		for (i = 0; i < started; i++)
			pthread_join(threads[i], NULL);
	}
out:
	pthread_mutex_destroy(&c.lock);
	free(a);
	free(b);
	return atomic_load(&c.error);
}

int gemm_check(const struct gemm *g, struct gemm_verdict *v)
{
	return run_check(g, NULL, v);
}

int gemm_compare(const struct gemm *g, const struct npy *other, struct gemm_verdict *v)
{
	return run_check(g, other, v);
}
