// SPDX-License-Identifier: MIT
/*
 * Candidates measured in turns. After each round the slower half goes, and what
 * is clearly slower goes at once: successive halving, as K. Jamieson and
 * A. Talwalkar have it in "Non-stochastic Best Arm Identification and
 * Hyperparameter Optimization", 2016, arXiv:1502.07943.
 *
 * The time is up when it is up: nothing is started that would not end before, and
 * what takes longer than thought is stopped by the timeout of its queue.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/backend/backend.h"
#include "tune.h"

/* A measurement takes at least that long, by repetition */
#define SAMPLE_NS	20000u
#define MAX_REPS	32u
#define MAX_SAMPLES	48u
/* More than that over the best, in the first run and later: it is dropped */
#define FIRST_FACTOR	3
#define DROP_FACTOR	1.25
/* The last ones have this many measurements, and the time is enough */
#define ENOUGH		15u
/* Alive after the last halving, beside the default */
#define FINALISTS	2u

/**
 * struct trial - a candidate that is being measured
 * @c: its entry
 * @plan: plan
 * @job: @reps times the plan
 * @choice: of the engine's
 * @reps: operations in @job
 * @alive: still measured
 * @first_ns: time of the first run, with its cold caches
 * @samples: number of @ns
 * @ns: times of an operation
 */
struct trial {
	struct tune_candidate *c;
	struct accel_plan *plan;
	struct accel_job *job;
	uint32_t choice;
	uint32_t reps;
	bool alive;
	uint64_t first_ns;
	uint32_t samples;
	uint64_t ns[MAX_SAMPLES];
};

/**
 * struct measuring - all of them
 * @ctx: context
 * @req: request with buffers
 * @all: choices of the engines
 * @e: entry that is made
 * @queue: for runs whose time is known
 * @deadline: CLOCK_MONOTONIC
 * @count: number of @t
 * @t: trials; the first is the default
 */
struct measuring {
	struct accel_ctx *ctx;
	struct request req;
	struct choices *all;
	struct tune_entry *e;
	struct accel_queue *queue;
	uint64_t deadline;
	uint32_t count;
	struct trial t[TUNE_MAX];
};

static uint64_t left(const struct measuring *m)
{
	uint64_t now = tune_now();

	return now < m->deadline ? m->deadline - now : 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sorted(const struct trial *t, uint64_t *ns)
{
	memcpy(ns, t->ns, t->samples * sizeof(ns[0]));
	qsort(ns, t->samples, sizeof(ns[0]), compare_u64);
}

static uint64_t median(const struct trial *t)
{
	uint64_t ns[MAX_SAMPLES];

	if (!t->samples)
		return UINT64_MAX;
	sorted(t, ns);
	return (ns[t->samples / 2] + ns[(t->samples - 1) / 2]) / 2;
}

/*
 * Whom to drop is told by the lower quartile: what else runs on the machine makes
 * some runs longer, and none shorter.
 */
static uint64_t quartile(const struct trial *t)
{
	uint64_t ns[MAX_SAMPLES];

	if (!t->samples)
		return UINT64_MAX;
	sorted(t, ns);
	return ns[t->samples / 4];
}

/* --- runs ---------------------------------------------------------------------- */

static int make_job(struct measuring *m, struct trial *t, uint32_t reps)
{
	struct accel_binding bindings[PLAN_MAX_ARGS];
	uint32_t i, count = plan_bindings(t->plan, &m->req, bindings);
	int ret;

	accel_job_destroy(t->job);
	t->job = NULL;
	ret = accel_job_create(m->ctx, NULL, &t->job);
	for (i = 0; !ret && i < reps; i++)
		ret = accel_job_add(t->job, t->plan, bindings, count, NULL, 0, NULL);
	t->reps = reps;
	return ret;
}

static int make_queue(struct measuring *m, uint64_t ns, struct accel_queue **queue)
{
	struct accel_queue_opts opts = ACCEL_QUEUE_OPTS_INIT;
	uint64_t ms = ns / 1000000 + 1;
	uint32_t max = m->ctx->dev->info.max_timeout_ms;

	opts.timeout_ms = ms < max ? (uint32_t)ms : max;
	return accel_queue_create(m->ctx, &opts, queue);
}

/* Returns 0 and the time of the job, or why it did not end. */
static int run(struct trial *t, struct accel_queue *queue, uint64_t *ns)
{
	struct accel_fence *fence;
	uint64_t from = tune_now();
	int ret;

	ret = accel_queue_submit(queue, t->job, NULL, &fence);
	if (ret)
		return ret;
	ret = accel_fence_wait(fence, -1);
	*ns = tune_now() - from;
	accel_fence_unref(fence);
	return ret;
}

/* The first run, whose time nobody knows: it may not take much more than others. */
static int first_run(struct measuring *m, struct trial *t, uint64_t best)
{
	uint64_t limit = left(m), ns = 0;
	struct accel_queue *queue;
	int ret;

	if (best < UINT64_MAX / 16 && 16 * best + 1000000 < limit)
		limit = 16 * best + 1000000;
	ret = limit ? make_job(m, t, 1) : -ETIME;
	if (!ret)
		ret = make_queue(m, limit, &queue);
	if (ret)
		return ret;
	ret = run(t, queue, &ns);
	accel_queue_destroy(queue);
	if (ret)
		return ret;
	t->first_ns = ns ? ns : 1;
	return 0;
}

/* Short ones are repeated. */
static int repeat(struct measuring *m, struct trial *t)
{
	uint32_t reps = t->first_ns < SAMPLE_NS ? (uint32_t)(SAMPLE_NS / t->first_ns) + 1 : 1;

	return reps > 1 ? make_job(m, t, reps < MAX_REPS ? reps : MAX_REPS) : 0;
}

/* Is there time for another one? Its first run tells how long that takes. */
static bool affordable(const struct measuring *m, const struct trial *t)
{
	uint64_t once = t->samples ? median(t) : t->first_ns;

	return left(m) > once * t->reps + once * t->reps / 8;
}

/* The better of two counts. */
static void second_run(struct measuring *m, struct trial *t)
{
	uint64_t ns = 0;

	if (!run(t, m->queue, &ns) && ns / t->reps < t->first_ns)
		t->first_ns = ns / t->reps ? ns / t->reps : 1;
}

static int sample(struct measuring *m, struct trial *t)
{
	uint64_t ns = 0;
	int ret;

	ret = run(t, m->queue, &ns);
	if (ret)
		return ret;
	ns /= t->reps;
	t->ns[t->samples++] = ns ? ns : 1;
	return 0;
}

/* --- who is measured --------------------------------------------------------------- */

/* The same plan with another hint; what is packed is shared. */
static struct accel_plan *plan_copy(const struct accel_plan *plan)
{
	struct accel_plan *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	memcpy(copy, plan, sizeof(*copy));
	atomic_init(&copy->refs, 1);
	copy->desc = NULL;
	copy->known = NULL;
	copy->packed = plan->packed ? accel_bo_ref(plan->packed) : NULL;
	copy->weights = plan->weights ? accel_weights_ref(plan->weights) : NULL;
	copy->tasks = malloc((plan->task_count + 1) * sizeof(*copy->tasks));
	copy->relocs = malloc((plan->reloc_count + 1) * sizeof(*copy->relocs));
	ctx_ref(copy->ctx);
	if (!copy->tasks || !copy->relocs) {
		accel_plan_unref(copy);
		return NULL;
	}
	memcpy(copy->tasks, plan->tasks, plan->task_count * sizeof(*copy->tasks));
	memcpy(copy->relocs, plan->relocs, plan->reloc_count * sizeof(*copy->relocs));
	return copy;
}

/* Takes over the reference of the plan. */
static struct trial *add_trial(struct measuring *m, struct accel_plan *plan, uint32_t choice)
{
	struct trial *t = &m->t[m->count];

	t->c = &m->e->c[m->count++];
	memset(t->c, 0, sizeof(*t->c));
	snprintf(t->c->algorithm, sizeof(t->c->algorithm), "%s",
		 choice_algorithm(m->all, &m->all->c[choice]));
	t->c->hint = plan->hint;
	t->plan = plan;
	t->choice = choice;
	return t;
}

static bool hinted(const struct fast_hint *h)
{
	return h->variant || h->mt || h->nt || h->kt || h->threads;
}

/* What the kernel offers, once its first run has shown which kernel it is. */
static void add_hints(struct measuring *m, const struct trial *t)
{
	const struct backend_ops *ops = m->ctx->dev->ops;
	struct fast_hint hints[TUNE_MAX];
	struct accel_plan *other;
	uint32_t i, n = 0;

	if (ops->job_hints && !t->c->pieces && !hinted(&t->plan->hint))
		n = ops->job_hints(t->job, hints, TUNE_MAX - m->count);
	for (i = 0; i < n && m->count < TUNE_MAX; i++) {
		other = hinted(&hints[i]) ? plan_copy(t->plan) : NULL;
		if (!other)
			continue;
		other->hint = hints[i];
		add_trial(m, other, t->choice);
	}
}

/* Fewer pieces of the keys than there is memory for. */
static int add_pieces(struct measuring *m, uint32_t choice)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan;
	int64_t most, n;
	int ret;

	if (m->req.op != ACCEL_OP_ATTENTION || !(m->req.slots >> UMA_SLOT_RESIDUAL & 1))
		return 0;
	most = m->req.t[UMA_SLOT_RESIDUAL].dims[0];
	for (n = 1; n < most && m->count < TUNE_MAX; n *= 2) {
		m->all->chosen = choice;
		ret = plan_make(m->ctx, &m->req, m->all, (uint32_t)n, &plan, &e);
		if (ret)
			return ret;
		add_trial(m, plan, choice)->c->pieces = (uint32_t)n;
	}
	return 0;
}

static int add_choice(struct measuring *m, uint32_t choice)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan;
	int ret;

	m->all->chosen = choice;
	ret = plan_make(m->ctx, &m->req, m->all, 0, &plan, &e);
	if (ret)
		return ret;
	add_trial(m, plan, choice);
	return add_pieces(m, choice);
}

/* The default first; the other ways of its engine as long as there is time. */
static int add_all(struct measuring *m)
{
	struct choices *all = m->all;
	uint32_t i, first = all->chosen, limit;
	int ret;

	if (first == all->count)
		return -EOPNOTSUPP;
	ret = add_choice(m, first);
	if (ret)
		return ret;
	m->t[0].c->flags |= ACCEL_TUNE_DEFAULT;
	limit = left(m) > 0 ? all->count : 0;
	for (i = 0; i < limit && m->count < TUNE_MAX; i++) {
		if (i == first || !choice_eligible(all, &all->c[i], &m->req) ||
		    all->c[i].engine->info.engine != all->c[first].engine->info.engine)
			continue;
		/* Weights are being packed: that takes time too. */
		if (!left(m))
			break;
		ret = add_choice(m, i);
		if (ret)
			return ret;
	}
	all->chosen = first;
	return 0;
}

/* --- rounds ------------------------------------------------------------------------ */

static uint64_t best_of(const struct measuring *m)
{
	uint64_t best = UINT64_MAX, ns;
	uint32_t i;

	for (i = 0; i < m->count; i++) {
		ns = m->t[i].alive ? quartile(&m->t[i]) : UINT64_MAX;
		best = ns < best ? ns : best;
	}
	return best;
}

static void fail(struct trial *t)
{
	t->alive = false;
	t->c->flags |= ACCEL_TUNE_FAILED;
}

static void drop(struct trial *t)
{
	t->alive = false;
	t->c->flags |= ACCEL_TUNE_DROPPED;
}

/* Everyone once. Returns -ENOENT if the default is alone, or why it could not be run. */
static int warm_up(struct measuring *m)
{
	uint64_t best = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < m->count; i++) {
		struct trial *t = &m->t[i];
		int ret = first_run(m, t, best);

		if (!ret) {
			add_hints(m, t);
			ret = repeat(m, t);
		}
		t->alive = !ret;
		if (ret)
			fail(t);
		if (ret && !i)
			return ret;
		if (!ret && t->first_ns < best)
			best = t->first_ns;
	}
	if (m->count == 1)
		return -ENOENT;
	/* The default stays: the gain is told against it. */
	for (i = 1; i < m->count; i++) {
		struct trial *t = &m->t[i];

		/* Once more: something else may have had the processor. */
		if (t->alive && t->first_ns / FIRST_FACTOR > best && affordable(m, t))
			second_run(m, t);
		if (t->alive && t->first_ns / FIRST_FACTOR > best)
			drop(t);
	}
	return 0;
}

/* Measure everyone who is alive until they have @want measurements. */
static bool measure_round(struct measuring *m, uint32_t want)
{
	bool again = true;
	uint32_t i;

	while (again) {
		again = false;
		for (i = 0; i < m->count; i++) {
			struct trial *t = &m->t[i];

			if (!t->alive || t->samples >= want)
				continue;
			if (!affordable(m, t))
				return false;
			if (sample(m, t)) {
				/* The queue is of no use any more. */
				fail(t);
				return false;
			}
			again |= t->samples < want;
		}
	}
	return true;
}

/* Drop what is clearly slower, then the slower half. Returns how many are left. */
static uint32_t halve(struct measuring *m)
{
	uint64_t best = best_of(m), ns[TUNE_MAX], limit;
	uint32_t i, n = 0, stay, alive = 0;

	for (i = 1; i < m->count; i++)
		if (m->t[i].alive)
			ns[n++] = quartile(&m->t[i]);
	qsort(ns, n, sizeof(ns[0]), compare_u64);
	stay = (n + 1) / 2 > FINALISTS ? (n + 1) / 2 : FINALISTS;
	limit = n > stay ? ns[stay - 1] : UINT64_MAX;
	for (i = 1; i < m->count; i++) {
		struct trial *t = &m->t[i];

		if (!t->alive)
			continue;
		if (quartile(t) > limit || (double)quartile(t) > DROP_FACTOR * (double)best)
			drop(t);
		alive += t->alive;
	}
	return alive;
}

static void rounds(struct measuring *m)
{
	uint32_t want = TUNE_MIN_SAMPLES, alive;

	while (measure_round(m, want)) {
		alive = halve(m);
		/* Alone, the default is measured on all the same: its time is told. */
		if (want >= ENOUGH && alive <= FINALISTS)
			break;
		want = 2 * want < MAX_SAMPLES ? 2 * want : MAX_SAMPLES;
		/* All are as they were. */
		if (m->t[0].samples >= want)
			break;
	}
}

/* Returns -ETIME if there is too little to tell. */
static int judge(struct measuring *m)
{
	uint64_t own, best;
	uint32_t i, winner = 0, measured = 0;

	for (i = 0; i < m->count; i++) {
		struct trial *t = &m->t[i];

		t->c->samples = t->samples;
		t->c->ns = t->samples ? median(t) : t->c->flags & ACCEL_TUNE_FAILED ? 0 :
						    t->first_ns;
		measured += t->samples >= TUNE_MIN_SAMPLES ||
			    (t->c->flags & (ACCEL_TUNE_DROPPED | ACCEL_TUNE_FAILED));
	}
	/* Of each it has to be known that it is slow, or how fast it is. */
	if (m->t[0].samples < TUNE_MIN_SAMPLES || measured < m->count)
		return -ETIME;
	own = best = median(&m->t[0]);
	for (i = 1; i < m->count; i++)
		if (m->t[i].alive && m->t[i].samples >= TUNE_MIN_SAMPLES &&
		    median(&m->t[i]) < best) {
			best = median(&m->t[i]);
			winner = i;
		}
	if ((double)best > TUNE_GAIN * (double)own)
		winner = 0;
	m->t[winner].c->flags |= ACCEL_TUNE_WINNER;
	return 0;
}

static void clean_up(struct measuring *m)
{
	uint32_t i;

	for (i = 0; i < m->count; i++) {
		accel_job_destroy(m->t[i].job);
		accel_plan_unref(m->t[i].plan);
	}
	accel_queue_destroy(m->queue);
	free(m->all);
	request_release(&m->req);
}

/**
 * tune_measure - measure the candidates of an operation
 * @ctx: context
 * @desc: of tune_desc_make()
 * @deadline: CLOCK_MONOTONIC nanoseconds: when it has to end
 * @e: out: spent_ns, count and c
 *
 * Return: 0; -ENOENT there is one candidate only; -ETIME the time did not suffice;
 * errors of plans, buffers and jobs.
 */
int tune_measure(struct accel_ctx *ctx, const union any_desc *desc, uint64_t deadline,
		 struct tune_entry *e)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct tune_scratch scratch = { 0 };
	uint64_t start = tune_now();
	struct measuring *m = calloc(1, sizeof(*m));
	union any_desc copy;
	int ret;

	if (!m)
		return -ENOMEM;
	m->ctx = ctx;
	m->e = e;
	m->deadline = deadline;
	e->count = 0;
	ret = request_create(&desc->hdr, &copy, &m->req, &error);
	if (ret) {
		free(m);
		return ret;
	}
	ret = left(m) ? tune_scratch_create(ctx, &m->req, &scratch) : -ETIME;
	if (!ret)
		ret = ask_engines(ctx->dev, &m->req, false, &m->all);
	if (!ret)
		ret = add_all(m);
	if (!ret)
		ret = make_queue(m, left(m), &m->queue);
	if (!ret)
		ret = warm_up(m);
	if (!ret) {
		rounds(m);
		ret = judge(m);
	}
	e->count = m->count;
	clean_up(m);
	tune_scratch_destroy(&scratch);
	free(m);
	e->spent_ns = tune_now() - start;
	return ret;
}
