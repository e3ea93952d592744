// SPDX-License-Identifier: MIT
/*
 * From logits to a token. Candidates are a list that each step of the chain makes shorter or
 * changes; it is put into order only as far as a step needs it.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "generate.h"

#define LAST_DEFAULT	64
#define LAST_MAX	65536
/* The most likely ones that are put in order first; eight times as many if they are too few */
#define SOME		128

/**
 * struct candidate - a token that may be chosen
 * @token: token
 * @logit: what it has become
 * @p: probability, when it was computed
 */
struct candidate {
	uint32_t token;
	float logit;
	double p;
};

/**
 * struct accel_sampler - what chooses tokens
 * @opts: options; @opts.bias is the sampler's
 * @vocabulary: logits
 * @list: candidates
 * @count: how many
 * @ordered: so many of them are the most likely ones, in order
 * @counts: how often a token is among the last ones, NULL: no penalties
 * @ring: the last ones
 * @ring_count: how many there are
 * @ring_at: where the next one goes
 * @allowed: asked about tokens, or NULL
 * @user: for @allowed
 * @random: state of the generator
 */
struct accel_sampler {
	struct accel_sampler_opts opts;
	uint32_t vocabulary;
	struct candidate *list;
	uint32_t count;
	uint32_t ordered;
	uint32_t *counts;
	uint32_t *ring;
	uint32_t ring_count;
	uint32_t ring_at;
	int (*allowed)(void *user, uint32_t token);
	void *user;
	uint64_t random;
};

/* --- the list ---------------------------------------------------------------------- */

static int before(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->logit != y->logit)
		return x->logit > y->logit ? -1 : 1;
	return x->token < y->token ? -1 : x->token > y->token;
}

static void swap(struct candidate *a, struct candidate *b)
{
	struct candidate c = *a;

	*a = *b;
	*b = c;
}

/* The first @n come to the front (C. Hoare, "Algorithm 65: FIND", 1961). */
static void select_first(struct candidate *list, uint32_t count, uint32_t n)
{
	uint32_t low = 0, high = count, i, k;
	struct candidate pivot;

	/* Up to low all are among the first, from high on none. */
	while (low < n && n < high) {
		pivot = list[low + (high - low - 1) / 2];
		for (i = low, k = high - 1;; i++, k--) {
			while (before(&list[i], &pivot) < 0)
				i++;
			while (before(&pivot, &list[k]) < 0)
				k--;
			if (i >= k)
				break;
			swap(&list[i], &list[k]);
		}
		/* Those up to k, with it, are not behind the pivot. */
		if (n <= k + 1)
			high = k + 1;
		else
			low = k + 1;
	}
}

/* The first @n are the most likely ones, in order. */
static void order(struct accel_sampler *s, uint32_t n)
{
	if (n > s->count)
		n = s->count;
	if (n <= s->ordered)
		return;
	select_first(s->list, s->count, n);
	qsort(s->list, n, sizeof(*s->list), before);
	s->ordered = n;
}

static float largest(const struct accel_sampler *s)
{
	float most = -INFINITY;
	uint32_t i;

	if (s->ordered)
		return s->list[0].logit;
	for (i = 0; i < s->count; i++)
		most = s->list[i].logit > most ? s->list[i].logit : most;
	return most;
}

/* Probabilities, of logits over @temperature */
static void softmax(struct accel_sampler *s, double temperature)
{
	double sum = 0, most = largest(s);
	uint32_t i;

	for (i = 0; i < s->count; i++) {
		s->list[i].p = exp(((double)s->list[i].logit - most) / temperature);
		sum += s->list[i].p;
	}
	for (i = 0; i < s->count; i++)
		s->list[i].p /= sum;
}

/* --- steps ------------------------------------------------------------------------- */

static float penalised(const struct accel_sampler *s, uint32_t token, float logit)
{
	const struct accel_sampler_opts *o = &s->opts;
	uint32_t n = s->counts ? s->counts[token] : 0;

	if (!n)
		return logit;
	logit = logit > 0 ? logit / o->repeat_penalty : logit * o->repeat_penalty;
	return logit - (float)n * o->frequency_penalty - o->presence_penalty;
}

/* All tokens, or those that may be chosen; negative: the mask failed */
static int fill(struct accel_sampler *s, const float *logits, bool masked)
{
	uint32_t i;
	float x;
	int ok;

	s->count = 0;
	s->ordered = 0;
	for (i = 0; i < s->vocabulary; i++)
		s->list[i] = (struct candidate) { .token = i, .logit = logits[i] };
	for (i = 0; i < s->opts.bias_count; i++)
		s->list[s->opts.bias[i].token].logit += s->opts.bias[i].bias;
	for (i = 0; i < s->vocabulary; i++) {
		x = penalised(s, i, s->list[i].logit);
		if (x == -INFINITY || isnan(x))
			continue;
		ok = masked && s->allowed ? s->allowed(s->user, i) : 1;
		if (ok < 0)
			return ok;
		if (!ok)
			continue;
		/* Infinities would have no sum. */
		s->list[s->count++] = (struct candidate) {
			.token = i, .logit = x > 1e30f ? 1e30f : x
		};
	}
	return s->count ? 0 : -ENODATA;
}

static void top_k(struct accel_sampler *s)
{
	if (!s->opts.top_k || s->opts.top_k >= s->count)
		return;
	order(s, s->opts.top_k);
	s->count = s->opts.top_k;
}

/* How many of the most likely ones have @share of the probability together; they are in order. */
static uint32_t head(struct accel_sampler *s, double share)
{
	uint32_t i, n = 0;
	double sum = 0;

	for (i = 0; i < s->count; i++) {
		if (i >= n) {
			n = n ? n <= s->count / 8 ? n * 8 : s->count : SOME;
			order(s, n);
		}
		sum += s->list[i].p;
		if (sum >= share)
			return i + 1;
	}
	return s->count;
}

static void top_p(struct accel_sampler *s)
{
	if (s->opts.top_p >= 1)
		return;
	softmax(s, 1);
	s->count = head(s, s->opts.top_p);
	s->ordered = s->count;
}

static void min_p(struct accel_sampler *s)
{
	uint32_t i, n = 0;
	double least;

	if (s->opts.min_p <= 0)
		return;
	least = (double)largest(s) + log(s->opts.min_p);
	for (i = 0; i < s->count; i++)
		if ((double)s->list[i].logit >= least)
			s->list[n++] = s->list[i];
	s->ordered = s->ordered < n ? s->ordered : n;
	s->count = n;
}

/* By distance from the entropy, which takes the place of logits meanwhile */
static void typical(struct accel_sampler *s)
{
	double entropy = 0;
	uint32_t i, k;

	if (s->opts.typical_p >= 1)
		return;
	softmax(s, 1);
	for (i = 0; i < s->count; i++)
		if (s->list[i].p > 0)
			entropy -= s->list[i].p * log(s->list[i].p);
	for (i = 0; i < s->count; i++)
		s->list[i].logit = s->list[i].p > 0 ?
				   -(float)fabs(-log(s->list[i].p) - entropy) : -INFINITY;
	s->ordered = 0;
	s->count = head(s, s->opts.typical_p);
	for (i = 0, k = 0; i < s->count; i++)
		if (s->list[i].p > 0) {
			s->list[k] = s->list[i];
			s->list[k++].logit = (float)log(s->list[i].p);
		}
	s->count = k;
	s->ordered = 0;
	order(s, s->count);
}

/* The chain up to the draw: probabilities of those that are left */
static int chain(struct accel_sampler *s, const float *logits, bool masked)
{
	int ret = fill(s, logits, masked);

	if (ret)
		return ret;
	if (s->opts.temperature <= 0) {
		order(s, 1);
		s->count = 1;
		s->list[0].p = 1;
		return 0;
	}
	top_k(s);
	typical(s);
	top_p(s);
	min_p(s);
	softmax(s, s->opts.temperature);
	return 0;
}

double accel_sampler_uniform(struct accel_sampler *sampler)
{
	FP_MODE_SCOPE();
	uint64_t z;

	if (!sampler)
		return 0;
	z = sampler->random += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(z >> 11) / 9007199254740992.0;
}

static uint32_t draw(struct accel_sampler *s)
{
	double u, sum = 0;
	uint32_t i;

	if (s->opts.temperature <= 0)
		return s->list[0].token;
	u = accel_sampler_uniform(s);
	for (i = 0; i + 1 < s->count; i++) {
		sum += s->list[i].p;
		if (sum > u)
			break;
	}
	return s->list[i].token;
}

/* Logarithm of the sum of exponentials of logits as they come, NaN: some are NaN or INFINITY */
double logits_log_sum(const float *logits, uint32_t count)
{
	double sum = 0;
	float most = -INFINITY;
	uint32_t i;

	for (i = 0; i < count; i++)
		most = logits[i] > most ? logits[i] : most;
	if (most == -INFINITY)
		most = 0;
	for (i = 0; i < count; i++)
		sum += exp((double)logits[i] - (double)most);
	return sum == 0 ? 0 : (double)most + log(sum);
}

/* --- the sampler ------------------------------------------------------------------- */

static bool in_range(float x, float low, float high)
{
	return x >= low && x <= high;
}

static int take_opts(struct accel_sampler_opts *o, const struct accel_sampler_opts *opts,
		     uint32_t vocabulary)
{
	uint32_t i;

	if (opts) {
		if (opts->size < sizeof(*o))
			return -EINVAL;
		if (opts->size > sizeof(*o))
			return -E2BIG;
		*o = *opts;
	}
	o->last = o->last ? o->last : LAST_DEFAULT;
	o->repeat_penalty = o->repeat_penalty != 0 ? o->repeat_penalty : 1;
	if (!vocabulary || o->pad || o->last > LAST_MAX || (o->bias_count && !o->bias) ||
	    !in_range(o->temperature, 0, 1e6f) || !in_range(o->top_p, 0, 1) ||
	    !in_range(o->min_p, 0, 1) || !in_range(o->typical_p, 0, 1) ||
	    !in_range(o->repeat_penalty, 0.000001f, 1e6f) ||
	    !in_range(o->frequency_penalty, -1e6f, 1e6f) ||
	    !in_range(o->presence_penalty, -1e6f, 1e6f))
		return -EINVAL;
	for (i = 0; i < o->bias_count; i++)
		if (o->bias[i].token >= vocabulary || isnan(o->bias[i].bias))
			return -EINVAL;
	return 0;
}

int accel_sampler_create(const struct accel_sampler_opts *opts, uint32_t vocabulary,
			 struct accel_sampler **out)
{
	FP_MODE_SCOPE();
	struct accel_sampler_opts o = ACCEL_SAMPLER_OPTS_INIT;
	struct accel_token_bias *bias;
	struct accel_sampler *s;
	bool penalties;
	int ret;

	if (!out)
		return -EINVAL;
	ret = take_opts(&o, opts, vocabulary);
	if (ret)
		return ret;
	penalties = o.repeat_penalty != 1 || o.frequency_penalty != 0 || o.presence_penalty != 0;
	s = calloc(1, sizeof(*s));
	bias = malloc((o.bias_count + 1ull) * sizeof(*bias));
	if (!s || !bias)
		goto err;
	if (o.bias_count)
		memcpy(bias, o.bias, o.bias_count * sizeof(*bias));
	o.bias = bias;
	s->opts = o;
	s->vocabulary = vocabulary;
	s->random = o.seed;
	s->list = malloc((uint64_t)vocabulary * sizeof(*s->list));
	if (penalties) {
		s->counts = calloc(vocabulary, sizeof(*s->counts));
		s->ring = malloc(o.last * sizeof(*s->ring));
	}
	if (!s->list || (penalties && (!s->counts || !s->ring)))
		goto err_lists;
	*out = s;
	return 0;

err_lists:
	free(s->list);
	free(s->counts);
	free(s->ring);
err:
	free(bias);
	free(s);
	return -ENOMEM;
}

void accel_sampler_destroy(struct accel_sampler *sampler)
{
	if (!sampler)
		return;
	free((void *)sampler->opts.bias);
	free(sampler->list);
	free(sampler->counts);
	free(sampler->ring);
	free(sampler);
}

int accel_sampler_set_mask(struct accel_sampler *sampler,
			   int (*allowed)(void *user, uint32_t token), void *user)
{
	if (!sampler)
		return -EINVAL;
	sampler->allowed = allowed;
	sampler->user = user;
	return 0;
}

int accel_sampler_sample(struct accel_sampler *sampler, const float *logits,
			 struct accel_chosen *chosen)
{
	FP_MODE_SCOPE();
	uint32_t token;
	double sum;
	int ret, ok;

	if (!sampler || !logits || !chosen)
		return -EINVAL;
	sum = logits_log_sum(logits, sampler->vocabulary);
	if (isnan(sum))
		return -EDOM;
	ret = chain(sampler, logits, false);
	if (ret)
		return ret;
	token = draw(sampler);
	ok = sampler->allowed ? sampler->allowed(sampler->user, token) : 1;
	if (ok < 0)
		return ok;
	if (!ok) {
		ret = chain(sampler, logits, true);
		if (ret)
			return ret;
		token = draw(sampler);
	}
	chosen->token = token;
	chosen->logprob = (float)((double)logits[token] - sum);
	return 0;
}

int accel_sampler_accept(struct accel_sampler *sampler, uint32_t token)
{
	if (!sampler || token >= sampler->vocabulary)
		return -EINVAL;
	if (!sampler->counts)
		return 0;
	if (sampler->ring_count == sampler->opts.last)
		sampler->counts[sampler->ring[sampler->ring_at]]--;
	else
		sampler->ring_count++;
	sampler->ring[sampler->ring_at] = token;
	sampler->ring_at = (sampler->ring_at + 1) % sampler->opts.last;
	sampler->counts[token]++;
	return 0;
}

int accel_sampler_probabilities(struct accel_sampler *sampler, const float *logits,
				double *probabilities)
{
	FP_MODE_SCOPE();
	struct accel_sampler *s = sampler;
	double refused = 0;
	uint32_t i;
	int ret, ok;

	if (!s || !logits || !probabilities)
		return -EINVAL;
	memset(probabilities, 0, s->vocabulary * sizeof(*probabilities));
	if (isnan(logits_log_sum(logits, s->vocabulary)))
		return -EDOM;
	ret = chain(s, logits, false);
	for (i = 0; i < s->count && !ret; i++) {
		ok = s->allowed ? s->allowed(s->user, s->list[i].token) : 1;
		ret = ok < 0 ? ok : 0;
		if (ok)
			probabilities[s->list[i].token] = s->list[i].p;
		else
			refused += s->list[i].p;
	}
	if (ret || refused == 0)
		return ret;
	/* What may not come is drawn again, from those that may. */
	ret = chain(s, logits, true);
	for (i = 0; i < s->count && !ret; i++)
		probabilities[s->list[i].token] += refused * s->list[i].p;
	return ret;
}

int accel_sampler_top(struct accel_sampler *sampler, const float *logits,
		      struct accel_chosen *top, uint32_t count)
{
	FP_MODE_SCOPE();
	double sum;
	uint32_t i;

	if (!sampler || !logits || (count && !top) || count > sampler->vocabulary)
		return -EINVAL;
	if (!count)
		return 0;
	sum = logits_log_sum(logits, sampler->vocabulary);
	if (isnan(sum))
		return -EDOM;
	sampler->count = sampler->vocabulary;
	sampler->ordered = 0;
	for (i = 0; i < sampler->vocabulary; i++)
		sampler->list[i] = (struct candidate) { .token = i, .logit = logits[i] };
	order(sampler, count);
	for (i = 0; i < count; i++)
		top[i] = (struct accel_chosen) {
			sampler->list[i].token, (float)((double)sampler->list[i].logit - sum)
		};
	return 0;
}
