// SPDX-License-Identifier: MIT
/*
 * Gathering and scattering, an element at a time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

static int64_t index_at(const struct accel_tensor *b, const int64_t *idx, int64_t dim)
{
	int64_t v = oracle_load_int(b, idx);

	return v < 0 ? v + dim : v;
}

static bool plain_s32(const struct accel_tensor *t)
{
	return t->dtype == ACCEL_S32 && !t->quant.scheme;
}

/* What is moved to @d: as it is stored where nothing changes, else as binary32. */
static double moved(const struct accel_tensor *t, const int64_t *idx,
		    const struct accel_tensor *d)
{
	return plain_s32(t) && plain_s32(d) ? (double)oracle_load_int(t, idx) :
					      oracle_load(t, idx);
}

/* --- gather -------------------------------------------------------------------------- */

static const struct accel_tensor *gather_result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_gather_desc *)desc)->d;
}

/* Index of A for an index of D. */
static void source(const struct accel_gather_desc *g, const int64_t *idx, int64_t *at)
{
	uint32_t outer = g->b.rank - 1, i, k;
	int64_t bi[ACCEL_MAX_RANK] = { 0 };

	switch (g->func) {
	case ACCEL_GATHER_AXIS:
		for (i = 0; i < g->axis; i++)
			at[i] = idx[i];
		at[g->axis] = index_at(&g->b, idx + g->axis, g->a.dims[g->axis]);
		for (i = g->axis + 1; i < g->a.rank; i++)
			at[i] = idx[i + outer];
		break;
	case ACCEL_GATHER_ELEMENTS:
		for (i = 0; i < g->a.rank; i++)
			at[i] = idx[i];
		at[g->axis] = index_at(&g->b, idx, g->a.dims[g->axis]);
		break;
	default:
		k = (uint32_t)g->b.dims[outer];
		for (i = 0; i < outer; i++)
			bi[i] = idx[i];
		for (i = 0; i < g->batch; i++)
			at[i] = idx[i];
		for (i = 0; i < k; i++) {
			bi[outer] = i;
			at[g->batch + i] = index_at(&g->b, bi, g->a.dims[g->batch + i]);
		}
		for (i = g->batch + k; i < g->a.rank; i++)
			at[i] = idx[outer + i - g->batch - k];
		break;
	}
}

static int gather_compute(const struct accel_desc *desc, uint32_t index,
			  struct oracle_result *r)
{
	const struct accel_gather_desc *g = (const void *)desc;
	bool exact = oracle_plain_int(&g->a) && oracle_plain_int(&g->d);
	int64_t idx[ACCEL_MAX_RANK] = { 0 }, at[ACCEL_MAX_RANK];
	uint64_t n;

	(void)index;
	if (oracle_begin(r, &g->d, exact))
		return -1;
	for (n = 0; n < r->count; n++, oracle_next(&g->d, idx)) {
		source(g, idx, at);
		if (exact)
			r->exact[n] = oracle_saturate(oracle_load_int(&g->a, at), g->d.dtype);
		else
			r->num[n] = (struct oracle_num){ oracle_load(&g->a, at), 0 };
	}
	return 0;
}

static void gather_say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_gather_desc *g = (const void *)desc;

	op_say_text(buf, size, " func %u axis %u batch %u", g->func, g->axis, g->batch);
	op_say_tensor("a", &g->a, buf, size);
	op_say_tensor("b", &g->b, buf, size);
	op_say_tensor("d", &g->d, buf, size);
}

const struct oracle_op oracle_gather = {
	.result = gather_result, .compute = gather_compute, .say = gather_say,
};

/* --- scatter ----------------------------------------------------------------------------- */

static const struct accel_tensor *scatter_result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_scatter_desc *)desc)->d;
}

static double reduce(uint32_t how, double a, double b)
{
	switch (how) {
	case ACCEL_SCATTER_ADD:
		return a + b;
	case ACCEL_SCATTER_MUL:
		return a * b;
	case ACCEL_SCATTER_MAX:
		return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
	case ACCEL_SCATTER_MIN:
		return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
	default:
		return b;
	}
}

static double reduce_exact(uint32_t how, int64_t a, int64_t b)
{
	int64_t v = how == ACCEL_SCATTER_ADD ? a + b : how == ACCEL_SCATTER_MUL ? a * b :
		    how == ACCEL_SCATTER_MAX ? (a > b ? a : b) : a < b ? a : b;

	return (double)oracle_saturate(v, ACCEL_S32);
}

/* Where an update goes, as an index of D. */
static void target(const struct accel_scatter_desc *s, const int64_t *idx, int64_t *at)
{
	uint32_t outer = s->b.rank - 1, i, k;
	int64_t bi[ACCEL_MAX_RANK] = { 0 };

	if (s->func == ACCEL_SCATTER_ELEMENTS) {
		for (i = 0; i < s->d.rank; i++)
			at[i] = idx[i];
		at[s->axis] = index_at(&s->b, idx, s->d.dims[s->axis]);
		return;
	}
	k = (uint32_t)s->b.dims[outer];
	for (i = 0; i < outer; i++)
		bi[i] = idx[i];
	for (i = 0; i < k; i++) {
		bi[outer] = i;
		at[i] = index_at(&s->b, bi, s->d.dims[i]);
	}
	for (i = k; i < s->d.rank; i++)
		at[i] = idx[outer + i - k];
}

static uint64_t number(const struct accel_tensor *t, const int64_t *idx)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n = n * (uint64_t)t->dims[i] + (uint64_t)idx[i];
	return n;
}

/* All of D in @v: what each element is worth. */
static void run_scatter(const struct accel_scatter_desc *s, double *v)
{
	bool exact = plain_s32(&s->c) && plain_s32(&s->d), raw = s->c.dtype == s->d.dtype;
	uint64_t count = oracle_count(&s->d), updates = oracle_count(&s->c), n, to;
	int64_t idx[ACCEL_MAX_RANK] = { 0 }, at[ACCEL_MAX_RANK];
	double u;

	for (n = 0; n < count; n++, oracle_next(&s->d, idx)) {
		u = moved(&s->a, idx, &s->d);
		v[n] = plain_s32(&s->a) && plain_s32(&s->d) ? u :
		       oracle_stored(&s->d, idx, u);
	}
	raw &= !s->c.quant.scheme && !s->d.quant.scheme;
	for (n = 0; n < updates; n++, oracle_next(&s->c, idx)) {
		target(s, idx, at);
		to = number(&s->d, at);
		u = moved(&s->c, idx, &s->d);
		if (raw && !s->reduce)
			v[to] = u;
		else if (exact)
			v[to] = reduce_exact(s->reduce, (int64_t)v[to], (int64_t)u);
		else
			v[to] = oracle_stored(&s->d, at,
					      (float)reduce(s->reduce, (float)v[to], u));
	}
}

static int scatter_compute(const struct accel_desc *desc, uint32_t index,
			   struct oracle_result *r)
{
	const struct accel_scatter_desc *s = (const void *)desc;
	double *v = calloc(oracle_count(&s->d) + 1, sizeof(*v));
	uint64_t n;

	(void)index;
	if (!v || oracle_begin(r, &s->d, oracle_plain_int(&s->d))) {
		free(v);
		return -1;
	}
	run_scatter(s, v);
	for (n = 0; n < r->count; n++) {
		if (r->exact)
			r->exact[n] = (int64_t)v[n];
		else
			r->num[n] = (struct oracle_num){ v[n], 0 };
	}
	free(v);
	return 0;
}

static void scatter_say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_scatter_desc *s = (const void *)desc;

	op_say_text(buf, size, " func %u axis %u reduce %u", s->func, s->axis, s->reduce);
	op_say_tensor("a", &s->a, buf, size);
	op_say_tensor("b", &s->b, buf, size);
	op_say_tensor("c", &s->c, buf, size);
	op_say_tensor("d", &s->d, buf, size);
}

const struct oracle_op oracle_scatter = {
	.result = scatter_result, .compute = scatter_compute, .say = scatter_say,
};
