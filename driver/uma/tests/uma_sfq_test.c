// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which request is dispatched next. All are in one file, as all need the same clients and clock.
 */
#include <kunit/test.h>

#include "uma_job_sfq.h"

#define LOW	0
#define NORMAL	1
#define HIGH	2
#define REAL	3

#define MS	1000000ULL

/* A client that keeps a number of jobs queued. */
struct client {
	struct uma_share share;
	struct uma_request request[4];
	/* Time that it had the engine. */
	u64 used;
	/* Times that it had the engine. */
	u32 runs;
};

struct sfq_test {
	struct uma_sfq sfq;
	struct client client[8];
	struct uma_request *running;
	u64 now;
};

static int uma_sfq_test_init(struct kunit *test)
{
	struct sfq_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	size_t i;

	if (!t)
		return -ENOMEM;
	uma_sfq_init(&t->sfq);
	for (i = 0; i < ARRAY_SIZE(t->client); i++)
		uma_share_init(&t->client[i].share);
	t->now = 1000 * MS;
	test->priv = t;
	return 0;
}

/* Each request is that of a queue of its own. */
static bool enter(struct sfq_test *t, u32 client, u32 n, u32 level)
{
	struct client *c = &t->client[client];
	struct uma_request *request = &c->request[n];
	LIST_HEAD(ready);

	request->state = UMA_REQUEST_NONE;
	if (uma_sfq_enqueue(&t->sfq, &c->share, level, request, t->now, &ready)) {
		t->running = request;
		return true;
	}
	return false;
}

/* The job that runs ends after @ns; returns who is next. */
static struct uma_request *done(struct kunit *test, u64 ns, bool hung)
{
	struct sfq_test *t = test->priv;
	struct uma_request *request, *next = NULL;
	LIST_HEAD(ready);

	KUNIT_ASSERT_NOT_NULL(test, t->running);
	t->now += ns;
	uma_sfq_charge(&t->sfq, t->running->flow, ns, t->now);
	if (hung)
		uma_sfq_penalize(&t->sfq, t->running->flow->share, ns, t->now);
	uma_sfq_release(&t->sfq, t->now, &ready);
	list_for_each_entry(request, &ready, node) {
		if (request->state != UMA_REQUEST_DISPATCHED)
			continue;
		KUNIT_EXPECT_NULL(test, next);
		next = request;
	}
	t->running = next;
	return next;
}

static u32 client_of(struct sfq_test *t, const struct uma_request *request)
{
	return ((char *)request - (char *)t->client) / sizeof(t->client[0]);
}

static void uma_sfq_test_idle(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	int i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, enter(t, 0, 0, NORMAL));
		KUNIT_EXPECT_EQ(test, t->client[0].request[0].state, UMA_REQUEST_DISPATCHED);
		KUNIT_EXPECT_NULL(test, done(test, MS, false));
	}
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), U64_MAX);
}

/* Jobs of one client, in the order in which they came. */
static void uma_sfq_test_order(struct kunit *test)
{
	struct sfq_test *t = test->priv;

	KUNIT_EXPECT_TRUE(test, enter(t, 0, 0, NORMAL));
	KUNIT_EXPECT_FALSE(test, enter(t, 0, 1, NORMAL));
	KUNIT_EXPECT_FALSE(test, enter(t, 0, 2, NORMAL));
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[0].request[1]);
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[0].request[2]);
	KUNIT_EXPECT_NULL(test, done(test, MS, false));
}

/* Clients that always want it, with jobs of very different lengths. */
static void uma_sfq_test_weights(struct kunit *test)
{
	static const struct {
		u32 level;
		u64 ns;
		u64 share;
	} clients[] = {
		{ LOW, 3 * MS, 1 }, { NORMAL, MS, 4 }, { NORMAL, 7 * MS, 4 },
		{ HIGH, 2 * MS, 16 }, { HIGH, MS / 2, 16 },
	};
	struct sfq_test *t = test->priv;
	struct uma_request *request;
	u64 total = 0;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(clients); i++)
		enter(t, i, 0, clients[i].level);
	request = t->running;
	for (n = 0; n < 40000; n++) {
		struct client *c;

		KUNIT_ASSERT_NOT_NULL(test, request);
		i = client_of(t, request);
		c = &t->client[i];
		/* The next one waits before this one ends. */
		enter(t, i, request == &c->request[0], clients[i].level);
		c->used += clients[i].ns;
		total += clients[i].ns;
		request = done(test, clients[i].ns, false);
	}
	for (i = 0; i < ARRAY_SIZE(clients); i++) {
		u64 due = total * clients[i].share / 41;

		KUNIT_EXPECT_GT(test, t->client[i].used * 100, due * 98);
		KUNIT_EXPECT_LT(test, t->client[i].used * 100, due * 102);
	}
}

/* One that waits for each job is served every other time beside one that queues many. */
static void uma_sfq_test_alternate(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	struct uma_request *request;
	int i;

	enter(t, 0, 0, NORMAL);
	for (i = 0; i < 100; i++) {
		enter(t, 0, 1 - i % 2, NORMAL);
		enter(t, 1, 0, NORMAL);
		request = done(test, MS, false);
		KUNIT_EXPECT_PTR_EQ(test, request, &t->client[1].request[0]);
		request = done(test, MS, false);
		KUNIT_EXPECT_PTR_EQ(test, request, &t->client[0].request[1 - i % 2]);
	}
}

/* Not having used the engine for long gives no right to have it for long. */
static void uma_sfq_test_no_credit(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	struct uma_request *request;
	u32 i, n;

	enter(t, 0, 0, NORMAL);
	for (i = 0; i < 1000; i++) {
		enter(t, 0, (i + 1) % 2, NORMAL);
		done(test, MS, false);
	}
	/* Two come anew: all three get the same from here on. */
	enter(t, 1, 0, NORMAL);
	enter(t, 2, 0, NORMAL);
	request = t->running;
	for (i = 0; i < 300; i++) {
		n = client_of(t, request);
		t->client[n].runs++;
		enter(t, n, request == &t->client[n].request[0], NORMAL);
		request = done(test, MS, false);
	}
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_GE(test, t->client[i].runs, 98);
		KUNIT_EXPECT_LE(test, t->client[i].runs, 102);
	}
}

/* Also after the engine was idle: the clock does not go back. */
static void uma_sfq_test_idle_clock(struct kunit *test)
{
	struct sfq_test *t = test->priv;

	enter(t, 0, 0, NORMAL);
	done(test, 1000 * MS, false);
	enter(t, 1, 0, NORMAL);
	enter(t, 0, 0, NORMAL);
	KUNIT_EXPECT_EQ(test, t->client[1].share.flow[NORMAL].vtime,
			t->client[0].share.flow[NORMAL].vtime);
}

static void uma_sfq_test_realtime(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	int i;

	enter(t, 0, 0, HIGH);
	enter(t, 1, 0, HIGH);
	enter(t, 2, 0, REAL);
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[2].request[0]);
	/* However much it has had. */
	for (i = 0; i < 20; i++) {
		enter(t, 2, (i + 1) % 2, REAL);
		KUNIT_EXPECT_PTR_EQ(test, done(test, 100 * MS, false),
				    &t->client[2].request[(i + 1) % 2]);
	}
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[1].request[0]);
}

/* A job that takes no time has a price. */
static void uma_sfq_test_empty_jobs(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	int i;

	enter(t, 1, 0, NORMAL);
	enter(t, 0, 0, NORMAL);
	done(test, MS, false);
	enter(t, 1, 0, NORMAL);
	for (i = 0; i < 1000; i++) {
		enter(t, 0, (i + 1) % 2, NORMAL);
		if (done(test, 0, false) == &t->client[1].request[0])
			break;
	}
	KUNIT_EXPECT_LE(test, i, 1 + (int)(MS / UMA_SFQ_MIN_NS));
}

/* A request that waits is taken back, as when its queue is closed. */
static void uma_sfq_test_remove(struct kunit *test)
{
	struct sfq_test *t = test->priv;

	enter(t, 0, 0, NORMAL);
	enter(t, 1, 0, NORMAL);
	enter(t, 1, 1, NORMAL);
	enter(t, 2, 0, NORMAL);
	uma_sfq_remove(&t->sfq, &t->client[1].request[0]);
	KUNIT_EXPECT_EQ(test, t->client[1].request[0].state, UMA_REQUEST_NONE);
	uma_sfq_remove(&t->sfq, &t->client[2].request[0]);
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[1].request[1]);
	KUNIT_EXPECT_NULL(test, done(test, MS, false));
}

/* The job that runs was stopped, and waits again. */
static void requeue(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	struct uma_flow *flow = t->running->flow;
	LIST_HEAD(ready);

	KUNIT_EXPECT_FALSE(test, uma_sfq_enqueue(&t->sfq, flow->share, flow->level, t->running,
						 t->now, &ready));
	KUNIT_EXPECT_TRUE(test, list_empty(&ready));
	KUNIT_EXPECT_EQ(test, t->running->state, UMA_REQUEST_QUEUED);
}

/* The job that runs is stopped after @ns, for somebody else; returns who is next. */
static struct uma_request *preempted(struct kunit *test, u64 ns)
{
	struct sfq_test *t = test->priv;
	struct uma_request *next;
	LIST_HEAD(ready);

	t->now += ns;
	KUNIT_EXPECT_TRUE(test, uma_sfq_preempt(&t->sfq, t->now));
	KUNIT_EXPECT_FALSE(test, uma_sfq_preempt(&t->sfq, t->now));
	uma_sfq_charge(&t->sfq, t->running->flow, ns, t->now);
	requeue(test);
	uma_sfq_release(&t->sfq, t->now, &ready);
	KUNIT_ASSERT_TRUE(test, list_is_singular(&ready));
	next = list_first_entry(&ready, struct uma_request, node);
	KUNIT_EXPECT_EQ(test, next->state, UMA_REQUEST_DISPATCHED);
	t->running = next;
	return next;
}

#define SLICE	(10 * MS)

static void begin(struct sfq_test *t)
{
	uma_sfq_start(&t->sfq, t->running, SLICE, t->now);
}

/* Nobody makes room for nobody, and before a slice is over only for real time. */
static void uma_sfq_test_slice(struct kunit *test)
{
	struct sfq_test *t = test->priv;

	enter(t, 0, 0, NORMAL);
	begin(t);
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), U64_MAX);
	KUNIT_EXPECT_FALSE(test, uma_sfq_preempt(&t->sfq, t->now + 1000 * SLICE));
	/* Whoever comes while it runs waits for what is left of the slice, */
	t->now += 4 * MS;
	enter(t, 1, 0, NORMAL);
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), t->now + 6 * MS);
	KUNIT_EXPECT_FALSE(test, uma_sfq_preempt(&t->sfq, t->now + 6 * MS - 1));
	t->now -= 4 * MS;
	KUNIT_EXPECT_PTR_EQ(test, preempted(test, SLICE), &t->client[1].request[0]);
	begin(t);
	/* and who had one waits for one. */
	KUNIT_EXPECT_PTR_EQ(test, preempted(test, SLICE), &t->client[0].request[0]);
	begin(t);
	enter(t, 2, 0, REAL);
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), t->now);
	KUNIT_EXPECT_PTR_EQ(test, preempted(test, MS), &t->client[2].request[0]);
	begin(t);
	/* The others do not count for it. */
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), U64_MAX);
	done(test, MS, false);
	/* One that cannot be stopped is not asked to. */
	KUNIT_EXPECT_FALSE(test, uma_sfq_preempt(&t->sfq, t->now + 1000 * SLICE));
}

/* Who wants no engine, but what a job has besides, waits for a slice, and nobody is in the way. */
static void uma_sfq_test_wanted(struct kunit *test)
{
	struct sfq_test *t = test->priv;

	enter(t, 0, 0, NORMAL);
	begin(t);
	uma_sfq_want(&t->sfq, true);
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), t->now + SLICE);
	KUNIT_EXPECT_FALSE(test, uma_sfq_preempt(&t->sfq, t->now + SLICE - 1));
	/* Its own engine has nobody else to give to. */
	KUNIT_EXPECT_PTR_EQ(test, preempted(test, SLICE), &t->client[0].request[0]);
	begin(t);
	uma_sfq_want(&t->sfq, false);
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), U64_MAX);
	/* Real time is before both, */
	uma_sfq_want(&t->sfq, true);
	enter(t, 1, 0, REAL);
	KUNIT_EXPECT_PTR_EQ(test, preempted(test, MS), &t->client[1].request[0]);
	begin(t);
	/* and makes room for those all the same. */
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), t->now + SLICE);
	/* It is not said of a job that cannot be stopped. */
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[0].request[0]);
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), U64_MAX);
}

/* The job that runs does so until it has to make room, and to the end of its task. */
static u64 turn(struct kunit *test, u64 task)
{
	struct sfq_test *t = test->priv;
	u64 ns;

	begin(t);
	ns = uma_sfq_next_event(&t->sfq) - t->now + task;
	t->client[client_of(t, t->running)].used += ns;
	preempted(test, ns);
	return ns;
}

/* Long jobs of different weights share the engine as short ones do. */
static void uma_sfq_test_slices_by_weight(struct kunit *test)
{
	static const u32 levels[] = { LOW, NORMAL, HIGH };
	struct sfq_test *t = test->priv;
	u64 total = 0, ns;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(levels); i++)
		enter(t, i, 0, levels[i]);
	for (n = 0; n < 20000; n++) {
		ns = turn(test, 0);
		KUNIT_ASSERT_GE(test, ns, SLICE);
		/* Nobody waits for longer than its part is. */
		KUNIT_ASSERT_LE(test, ns, 17 * SLICE);
		total += ns;
	}
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		u64 due = total * (i ? i == 1 ? 4 : 16 : 1) / 21;

		KUNIT_EXPECT_GT(test, t->client[i].used * 100, due * 98);
		KUNIT_EXPECT_LT(test, t->client[i].used * 100, due * 102);
	}
}

#define TASK	(3 * MS)

/* All clients have had nothing so far. */
static void forget(struct sfq_test *t)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t->client); i++)
		t->client[i].used = 0;
}

/* The first client's job is done when it has had the engine for @ns in all; returns when. */
static u64 until_done(struct kunit *test, u64 ns, u64 task)
{
	struct sfq_test *t = test->priv;
	struct client *c = &t->client[0];
	u64 start = t->now;

	while (t->running != &c->request[0] || c->used + SLICE < ns)
		turn(test, task);
	done(test, ns - c->used, false);
	c->used = ns;
	return t->now - start;
}

/* What a client may have had of the engine while another of normal priority had @ns of it. */
static u64 part(u64 ns, u32 weight)
{
	return ns * weight / 4 + SLICE + TASK;
}

/*
 * Whoever waits for a job that is stopped again and again waits for what it takes, for as much of
 * each other client at each of its priorities, by their weights, and for a slice and a task
 * of each.
 */
static void uma_sfq_test_slices_until_done(struct kunit *test)
{
	static const u32 levels[] = { NORMAL, NORMAL, NORMAL, LOW, HIGH };
	static const u32 weights[] = { 4, 4, 4, 1, 16 };
	const u64 ns = 20 * SLICE + 1;
	struct sfq_test *t = test->priv;
	u32 i, n;

	for (i = 1; i < ARRAY_SIZE(levels); i++)
		enter(t, i, 0, levels[i]);
	/* One that wants it at two priorities counts as two. */
	enter(t, 1, 1, HIGH);
	for (n = 0; n < 100; n++) {
		/* They have been at it for a while, longer each time. */
		for (i = 0; i < 50 + 7 * n; i++)
			turn(test, i % 2 ? TASK : 0);
		forget(t);
		enter(t, 0, 0, NORMAL);
		until_done(test, ns, n % 2 ? TASK : 0);
		for (i = 2; i < ARRAY_SIZE(levels); i++)
			KUNIT_EXPECT_LE(test, t->client[i].used, part(ns, weights[i]));
		KUNIT_EXPECT_LE(test, t->client[1].used, part(ns, 4) + part(ns, 16));
	}
}

/* What the client has had before counts, while others have not had as much. */
static void uma_sfq_test_slices_after_long(struct kunit *test)
{
	const u64 before = 100 * SLICE, ns = before + 5 * SLICE;
	struct sfq_test *t = test->priv;
	u32 i;

	enter(t, 0, 0, NORMAL);
	enter(t, 1, 0, NORMAL);
	enter(t, 2, 0, NORMAL);
	t->client[0].used = before;
	done(test, before, false);
	enter(t, 0, 0, NORMAL);
	until_done(test, ns, TASK);
	for (i = 1; i < 3; i++) {
		KUNIT_EXPECT_LE(test, t->client[i].used, part(ns, 4));
		KUNIT_EXPECT_GE(test, t->client[i].used, before);
	}
}

/* Clients of one priority: there is a slice and a task of each of the others. */
static void uma_sfq_test_slices_of_equals(struct kunit *test)
{
	const u64 ns = 20 * SLICE + 1;
	struct sfq_test *t = test->priv;
	u64 took, most = 0;
	u32 i, n;

	for (i = 1; i < 4; i++)
		enter(t, i, 0, NORMAL);
	for (n = 0; n < 100; n++) {
		for (i = 0; i < 50 + n; i++)
			turn(test, 0);
		forget(t);
		enter(t, 0, 0, NORMAL);
		took = until_done(test, ns, 0);
		KUNIT_EXPECT_LE(test, took, 4 * ns + 3 * SLICE);
		most = max(most, took);
	}
	/* One of all would not do. */
	KUNIT_EXPECT_GT(test, most, 4 * ns + 2 * SLICE);
}

/* Queues of one client alternate. */
static void uma_sfq_test_slices_of_queues(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	struct client *c = &t->client[0];

	enter(t, 0, 0, NORMAL);
	begin(t);
	enter(t, 0, 1, NORMAL);
	KUNIT_EXPECT_PTR_EQ(test, preempted(test, SLICE), &c->request[1]);
	begin(t);
	enter(t, 0, 2, NORMAL);
	KUNIT_EXPECT_PTR_EQ(test, preempted(test, SLICE), &c->request[0]);
	begin(t);
	KUNIT_EXPECT_PTR_EQ(test, preempted(test, SLICE), &c->request[2]);
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &c->request[1]);
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &c->request[0]);
	/* One that is given up while it waits. */
	requeue(test);
	uma_sfq_remove(&t->sfq, t->running);
	KUNIT_EXPECT_NULL(test, done(test, MS, false));
}

/*
 * Three of the clients close their files after each job and open others: who keeps his has the
 * engine as often as each of them, be a file closed before its job is done, or after.
 */
static void uma_sfq_test_files_for_a_job_each(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	u32 i, n, other;

	for (i = 0; i < 4; i++)
		enter(t, i, 0, NORMAL);
	for (i = 0; i < 400; i++) {
		n = client_of(t, t->running);
		t->client[n].runs++;
		other = t->running == &t->client[n].request[0];
		if (!n)
			enter(t, 0, other, NORMAL);
		else if (i % 2)
			uma_sfq_leave(&t->sfq, &t->client[n].share);
		KUNIT_ASSERT_NOT_NULL(test, done(test, SLICE, false));
		if (!n)
			continue;
		uma_sfq_leave(&t->sfq, &t->client[n].share);
		uma_share_init(&t->client[n].share);
		enter(t, n, other, NORMAL);
	}
	KUNIT_EXPECT_GE(test, t->client[0].runs, 98);
	KUNIT_EXPECT_LE(test, t->client[0].runs, 102);
}

/* Who comes anew need not wait for what others had who have left before the engine was idle. */
static void uma_sfq_test_left_and_idle(struct kunit *test)
{
	struct sfq_test *t = test->priv;

	enter(t, 0, 0, NORMAL);
	KUNIT_EXPECT_NULL(test, done(test, 100 * SLICE, false));
	uma_sfq_leave(&t->sfq, &t->client[0].share);
	enter(t, 1, 0, NORMAL);
	enter(t, 2, 0, NORMAL);
	enter(t, 1, 1, NORMAL);
	KUNIT_EXPECT_PTR_EQ(test, done(test, SLICE, false), &t->client[2].request[0]);
	/* Nor for those of another priority. */
	uma_sfq_leave(&t->sfq, &t->client[1].share);
	enter(t, 3, 0, LOW);
	KUNIT_EXPECT_EQ(test, t->client[3].share.flow[LOW].vtime,
			t->client[2].share.flow[NORMAL].vtime);
}

/*
 * Nor for what one who has left had while nobody else wanted the engine, though one who waits came
 * at its end.
 */
static void uma_sfq_test_left_after_long(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	u64 begin = t->now;

	enter(t, 0, 0, NORMAL);
	enter(t, 0, 1, NORMAL);
	uma_sfq_remove(&t->sfq, &t->client[0].request[1]);
	t->now = begin + 99 * SLICE;
	enter(t, 1, 0, NORMAL);
	t->now = begin;
	KUNIT_EXPECT_PTR_EQ(test, done(test, 100 * SLICE, false), &t->client[1].request[0]);
	uma_sfq_leave(&t->sfq, &t->client[0].share);
	enter(t, 1, 1, NORMAL);
	enter(t, 2, 0, NORMAL);
	KUNIT_EXPECT_PTR_EQ(test, done(test, 2 * SLICE, false), &t->client[2].request[0]);
}

static void uma_sfq_test_penalize(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	LIST_HEAD(ready);

	enter(t, 0, 0, NORMAL);
	enter(t, 0, 1, HIGH);
	/* Nobody else wants it, but they wait. */
	KUNIT_EXPECT_NULL(test, done(test, 500 * MS, true));
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), t->now + 500 * MS);
	KUNIT_EXPECT_FALSE(test, enter(t, 0, 2, NORMAL));
	/* Others do not. */
	KUNIT_EXPECT_TRUE(test, enter(t, 1, 0, LOW));
	KUNIT_EXPECT_NULL(test, done(test, 100 * MS, false));
	t->now += 300 * MS;
	uma_sfq_advance(&t->sfq, t->now, &ready);
	KUNIT_EXPECT_TRUE(test, list_empty(&ready));
	/* A queue of it that is closed need not wait. */
	uma_sfq_remove(&t->sfq, &t->client[0].request[1]);
	t->now += 100 * MS;
	uma_sfq_advance(&t->sfq, t->now, &ready);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&ready));
	KUNIT_EXPECT_EQ(test, t->client[0].request[2].state, UMA_REQUEST_DISPATCHED);
	KUNIT_EXPECT_EQ(test, uma_sfq_next_event(&t->sfq), U64_MAX);
}

/* The time is up, and a job comes before the timer: what waited goes first and is told. */
static void uma_sfq_test_penalize_race(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	struct client *c = &t->client[0];
	LIST_HEAD(ready);

	enter(t, 0, 0, NORMAL);
	enter(t, 0, 1, NORMAL);
	done(test, MS, true);
	t->now += 2 * MS;
	KUNIT_EXPECT_FALSE(test, uma_sfq_enqueue(&t->sfq, &c->share, NORMAL, &c->request[2],
						 t->now, &ready));
	KUNIT_ASSERT_TRUE(test, list_is_singular(&ready));
	KUNIT_EXPECT_PTR_EQ(test, list_first_entry(&ready, struct uma_request, node),
			    &c->request[1]);
	KUNIT_EXPECT_EQ(test, c->request[1].state, UMA_REQUEST_DISPATCHED);
	KUNIT_EXPECT_EQ(test, c->request[2].state, UMA_REQUEST_QUEUED);
}

/*
 * A client whose jobs all hang, beside one that waits for each of its own before
 * it submits the next: that one has the engine for half of the time.
 */
static void uma_sfq_test_hang_beside(struct kunit *test)
{
	struct sfq_test *t = test->priv;
	u64 start = t->now, good = 0;
	struct uma_request *request;

	enter(t, 0, 0, NORMAL);
	request = t->running;
	while (t->now < start + 100000 * MS) {
		bool bad;

		/* The good one submits when its last job is done, and finds the engine free. */
		if (!request && enter(t, 1, 0, NORMAL))
			request = t->running;
		KUNIT_ASSERT_NOT_NULL(test, request);
		bad = client_of(t, request) == 0;
		/* Or not. */
		if (bad)
			enter(t, 1, 0, NORMAL);
		else
			good += 10 * MS;
		request = done(test, bad ? 1000 * MS : 10 * MS, bad);
		if (bad)
			enter(t, 0, 0, NORMAL);
	}
	KUNIT_EXPECT_GE(test, good * 100, (t->now - start) * 48);
}

static struct kunit_case uma_sfq_cases[] = {
	KUNIT_CASE(uma_sfq_test_idle),
	KUNIT_CASE(uma_sfq_test_order),
	KUNIT_CASE(uma_sfq_test_weights),
	KUNIT_CASE(uma_sfq_test_alternate),
	KUNIT_CASE(uma_sfq_test_no_credit),
	KUNIT_CASE(uma_sfq_test_idle_clock),
	KUNIT_CASE(uma_sfq_test_realtime),
	KUNIT_CASE(uma_sfq_test_empty_jobs),
	KUNIT_CASE(uma_sfq_test_remove),
	KUNIT_CASE(uma_sfq_test_slice),
	KUNIT_CASE(uma_sfq_test_wanted),
	KUNIT_CASE(uma_sfq_test_slices_by_weight),
	KUNIT_CASE(uma_sfq_test_slices_until_done),
	KUNIT_CASE(uma_sfq_test_slices_after_long),
	KUNIT_CASE(uma_sfq_test_slices_of_equals),
	KUNIT_CASE(uma_sfq_test_slices_of_queues),
	KUNIT_CASE(uma_sfq_test_files_for_a_job_each),
	KUNIT_CASE(uma_sfq_test_left_and_idle),
	KUNIT_CASE(uma_sfq_test_left_after_long),
	KUNIT_CASE(uma_sfq_test_penalize),
	KUNIT_CASE(uma_sfq_test_penalize_race),
	KUNIT_CASE(uma_sfq_test_hang_beside),
	{}
};

static struct kunit_suite uma_sfq_suite = {
	.name = "uma_sfq",
	.init = uma_sfq_test_init,
	.test_cases = uma_sfq_cases,
};

kunit_test_suite(uma_sfq_suite);
