// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Whose turn it is.
 */
#include <kunit/test.h>

#include "uma_job_fair.h"

#define LOW	0
#define NORMAL	1
#define HIGH	2
#define REAL	3

#define MS	1000000ULL

/* A client that keeps a number of jobs queued. */
struct client {
	struct uma_share share;
	struct uma_turn turn[4];
	/* Time that it had the engine. */
	u64 used;
	/* Times that it had the engine. */
	u32 runs;
};

struct fair_test {
	struct uma_fair fair;
	struct client client[8];
	struct uma_turn *running;
	u64 now;
};

static int uma_fair_test_init(struct kunit *test)
{
	struct fair_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	size_t i;

	if (!t)
		return -ENOMEM;
	uma_fair_init(&t->fair);
	for (i = 0; i < ARRAY_SIZE(t->client); i++)
		uma_share_init(&t->client[i].share);
	t->now = 1000 * MS;
	test->priv = t;
	return 0;
}

/* Each turn is that of a queue of its own, unless the test says otherwise. */
static bool enter(struct fair_test *t, u32 client, u32 n, u32 level)
{
	struct client *c = &t->client[client];
	struct uma_turn *turn = &c->turn[n];
	LIST_HEAD(ready);

	turn->owner = turn;
	turn->state = UMA_TURN_NONE;
	if (uma_fair_enter(&t->fair, &c->share, level, turn, t->now, &ready)) {
		t->running = turn;
		return true;
	}
	return false;
}

/* The job that runs ends after @ns; returns who is next. */
static struct uma_turn *done(struct kunit *test, u64 ns, bool hung)
{
	struct fair_test *t = test->priv;
	struct uma_turn *turn, *next = NULL;
	LIST_HEAD(ready);

	KUNIT_ASSERT_NOT_NULL(test, t->running);
	t->now += ns;
	uma_fair_charge(&t->fair, t->running->flow, ns);
	if (hung)
		uma_fair_punish(&t->fair, t->running->flow->share, ns, t->now);
	uma_fair_leave(&t->fair, t->now, &ready);
	list_for_each_entry(turn, &ready, node) {
		if (turn->state != UMA_TURN_GRANTED)
			continue;
		KUNIT_EXPECT_NULL(test, next);
		next = turn;
	}
	t->running = next;
	return next;
}

static u32 client_of(struct fair_test *t, const struct uma_turn *turn)
{
	return ((char *)turn - (char *)t->client) / sizeof(t->client[0]);
}

static void uma_fair_test_idle(struct kunit *test)
{
	struct fair_test *t = test->priv;
	int i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, enter(t, 0, 0, NORMAL));
		KUNIT_EXPECT_EQ(test, t->client[0].turn[0].state, UMA_TURN_GRANTED);
		KUNIT_EXPECT_NULL(test, done(test, MS, false));
	}
	KUNIT_EXPECT_EQ(test, uma_fair_wake(&t->fair), U64_MAX);
}

/* Jobs of one client, in the order in which they came. */
static void uma_fair_test_order(struct kunit *test)
{
	struct fair_test *t = test->priv;

	KUNIT_EXPECT_TRUE(test, enter(t, 0, 0, NORMAL));
	KUNIT_EXPECT_FALSE(test, enter(t, 0, 1, NORMAL));
	KUNIT_EXPECT_FALSE(test, enter(t, 0, 2, NORMAL));
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[0].turn[1]);
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[0].turn[2]);
	KUNIT_EXPECT_NULL(test, done(test, MS, false));
}

/* Clients that always want it, with jobs of very different lengths. */
static void uma_fair_test_weights(struct kunit *test)
{
	static const struct {
		u32 level;
		u64 ns;
		u64 share;
	} clients[] = {
		{ LOW, 3 * MS, 1 }, { NORMAL, MS, 4 }, { NORMAL, 7 * MS, 4 },
		{ HIGH, 2 * MS, 16 }, { HIGH, MS / 2, 16 },
	};
	struct fair_test *t = test->priv;
	struct uma_turn *turn;
	u64 total = 0;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(clients); i++)
		enter(t, i, 0, clients[i].level);
	turn = t->running;
	for (n = 0; n < 40000; n++) {
		struct client *c;

		KUNIT_ASSERT_NOT_NULL(test, turn);
		i = client_of(t, turn);
		c = &t->client[i];
		/* The next one waits before this one ends. */
		enter(t, i, turn == &c->turn[0], clients[i].level);
		c->used += clients[i].ns;
		total += clients[i].ns;
		turn = done(test, clients[i].ns, false);
	}
	for (i = 0; i < ARRAY_SIZE(clients); i++) {
		u64 due = total * clients[i].share / 41;

		KUNIT_EXPECT_GT(test, t->client[i].used * 100, due * 98);
		KUNIT_EXPECT_LT(test, t->client[i].used * 100, due * 102);
	}
}

/* One that waits for each job is served every other time beside one that queues many. */
static void uma_fair_test_alternate(struct kunit *test)
{
	struct fair_test *t = test->priv;
	struct uma_turn *turn;
	int i;

	enter(t, 0, 0, NORMAL);
	for (i = 0; i < 100; i++) {
		enter(t, 0, 1 - i % 2, NORMAL);
		enter(t, 1, 0, NORMAL);
		turn = done(test, MS, false);
		KUNIT_EXPECT_PTR_EQ(test, turn, &t->client[1].turn[0]);
		turn = done(test, MS, false);
		KUNIT_EXPECT_PTR_EQ(test, turn, &t->client[0].turn[1 - i % 2]);
	}
}

/* Not having used the engine for long gives no right to have it for long. */
static void uma_fair_test_no_credit(struct kunit *test)
{
	struct fair_test *t = test->priv;
	struct uma_turn *turn;
	u32 i, n;

	enter(t, 0, 0, NORMAL);
	for (i = 0; i < 1000; i++) {
		enter(t, 0, (i + 1) % 2, NORMAL);
		done(test, MS, false);
	}
	/* Two come anew: all three get the same from here on. */
	enter(t, 1, 0, NORMAL);
	enter(t, 2, 0, NORMAL);
	turn = t->running;
	for (i = 0; i < 300; i++) {
		n = client_of(t, turn);
		t->client[n].runs++;
		enter(t, n, turn == &t->client[n].turn[0], NORMAL);
		turn = done(test, MS, false);
	}
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_GE(test, t->client[i].runs, 98);
		KUNIT_EXPECT_LE(test, t->client[i].runs, 102);
	}
}

/* Also after the engine was idle: the clock does not go back. */
static void uma_fair_test_idle_clock(struct kunit *test)
{
	struct fair_test *t = test->priv;

	enter(t, 0, 0, NORMAL);
	done(test, 1000 * MS, false);
	enter(t, 1, 0, NORMAL);
	enter(t, 0, 0, NORMAL);
	KUNIT_EXPECT_EQ(test, t->client[1].share.flow[NORMAL].vtime,
			t->client[0].share.flow[NORMAL].vtime);
}

static void uma_fair_test_realtime(struct kunit *test)
{
	struct fair_test *t = test->priv;
	int i;

	enter(t, 0, 0, HIGH);
	enter(t, 1, 0, HIGH);
	enter(t, 2, 0, REAL);
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[2].turn[0]);
	/* However much it has had. */
	for (i = 0; i < 20; i++) {
		enter(t, 2, (i + 1) % 2, REAL);
		KUNIT_EXPECT_PTR_EQ(test, done(test, 100 * MS, false),
				    &t->client[2].turn[(i + 1) % 2]);
	}
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[1].turn[0]);
}

/* A job that takes no time has a price. */
static void uma_fair_test_empty_jobs(struct kunit *test)
{
	struct fair_test *t = test->priv;
	int i;

	enter(t, 1, 0, NORMAL);
	enter(t, 0, 0, NORMAL);
	done(test, MS, false);
	enter(t, 1, 0, NORMAL);
	for (i = 0; i < 1000; i++) {
		enter(t, 0, (i + 1) % 2, NORMAL);
		if (done(test, 0, false) == &t->client[1].turn[0])
			break;
	}
	KUNIT_EXPECT_LE(test, i, 1 + (int)(MS / UMA_FAIR_MIN_NS));
}

static void uma_fair_test_pass(struct kunit *test)
{
	struct fair_test *t = test->priv;
	struct uma_turn *own = &t->client[0].turn[1], *other = &t->client[1].turn[1];
	struct uma_turn many = {};
	LIST_HEAD(ready);
	u32 i;

	enter(t, 0, 0, NORMAL);
	enter(t, 1, 0, NORMAL);
	/* Not before the job that runs, if it is of the same queue. */
	own->owner = t->running->owner;
	KUNIT_EXPECT_FALSE(test, uma_fair_pass(&t->fair, own));
	KUNIT_EXPECT_EQ(test, own->state, UMA_TURN_PASSING);
	for (i = 0; i < UMA_FAIR_PASSES; i++) {
		many = (struct uma_turn) { .owner = &many };
		KUNIT_ASSERT_TRUE(test, uma_fair_pass(&t->fair, &many));
		KUNIT_ASSERT_EQ(test, many.state, UMA_TURN_PASSED);
	}
	other->owner = other;
	KUNIT_EXPECT_FALSE(test, uma_fair_pass(&t->fair, other));

	uma_fair_leave(&t->fair, t->now, &ready);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&ready), 3);
	KUNIT_EXPECT_EQ(test, own->state, UMA_TURN_PASSED);
	KUNIT_EXPECT_EQ(test, other->state, UMA_TURN_PASSED);
	KUNIT_EXPECT_EQ(test, t->client[1].turn[0].state, UMA_TURN_GRANTED);
}

/* A turn that waits is released, as when its queue is closed. */
static void uma_fair_test_release(struct kunit *test)
{
	struct fair_test *t = test->priv;

	enter(t, 0, 0, NORMAL);
	enter(t, 1, 0, NORMAL);
	enter(t, 1, 1, NORMAL);
	enter(t, 2, 0, NORMAL);
	KUNIT_EXPECT_TRUE(test, uma_fair_pass(&t->fair, &t->client[1].turn[0]));
	KUNIT_EXPECT_TRUE(test, uma_fair_pass(&t->fair, &t->client[2].turn[0]));
	KUNIT_EXPECT_PTR_EQ(test, done(test, MS, false), &t->client[1].turn[1]);
	KUNIT_EXPECT_NULL(test, done(test, MS, false));
}

static void uma_fair_test_punish(struct kunit *test)
{
	struct fair_test *t = test->priv;
	LIST_HEAD(ready);

	enter(t, 0, 0, NORMAL);
	enter(t, 0, 1, HIGH);
	/* Nobody else wants it, but they wait. */
	KUNIT_EXPECT_NULL(test, done(test, 500 * MS, true));
	KUNIT_EXPECT_EQ(test, uma_fair_wake(&t->fair), t->now + 500 * MS);
	KUNIT_EXPECT_FALSE(test, enter(t, 0, 2, NORMAL));
	/* Others do not. */
	KUNIT_EXPECT_TRUE(test, enter(t, 1, 0, LOW));
	KUNIT_EXPECT_NULL(test, done(test, 100 * MS, false));
	t->now += 300 * MS;
	uma_fair_expire(&t->fair, t->now, &ready);
	KUNIT_EXPECT_TRUE(test, list_empty(&ready));
	/* A queue of it that is closed need not wait. */
	KUNIT_EXPECT_TRUE(test, uma_fair_pass(&t->fair, &t->client[0].turn[1]));
	t->now += 100 * MS;
	uma_fair_expire(&t->fair, t->now, &ready);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&ready));
	KUNIT_EXPECT_EQ(test, t->client[0].turn[2].state, UMA_TURN_GRANTED);
	KUNIT_EXPECT_EQ(test, uma_fair_wake(&t->fair), U64_MAX);
}

/* The time is up, and a job comes before the timer: what waited goes first and is told. */
static void uma_fair_test_punish_race(struct kunit *test)
{
	struct fair_test *t = test->priv;
	struct client *c = &t->client[0];
	LIST_HEAD(ready);

	enter(t, 0, 0, NORMAL);
	enter(t, 0, 1, NORMAL);
	done(test, MS, true);
	t->now += 2 * MS;
	c->turn[2].owner = &c->turn[2];
	KUNIT_EXPECT_FALSE(test, uma_fair_enter(&t->fair, &c->share, NORMAL, &c->turn[2], t->now,
						&ready));
	KUNIT_ASSERT_TRUE(test, list_is_singular(&ready));
	KUNIT_EXPECT_PTR_EQ(test, list_first_entry(&ready, struct uma_turn, node), &c->turn[1]);
	KUNIT_EXPECT_EQ(test, c->turn[1].state, UMA_TURN_GRANTED);
	KUNIT_EXPECT_EQ(test, c->turn[2].state, UMA_TURN_WAITING);
}

/*
 * A client whose jobs all hang, beside one that waits for each of its own before
 * it submits the next: that one has the engine for half of the time.
 */
static void uma_fair_test_hang_beside(struct kunit *test)
{
	struct fair_test *t = test->priv;
	u64 start = t->now, good = 0;
	struct uma_turn *turn;

	enter(t, 0, 0, NORMAL);
	turn = t->running;
	while (t->now < start + 100000 * MS) {
		bool bad;

		/* The good one submits when its last job is done, and finds the engine free. */
		if (!turn && enter(t, 1, 0, NORMAL))
			turn = t->running;
		KUNIT_ASSERT_NOT_NULL(test, turn);
		bad = client_of(t, turn) == 0;
		/* Or not. */
		if (bad)
			enter(t, 1, 0, NORMAL);
		else
			good += 10 * MS;
		turn = done(test, bad ? 1000 * MS : 10 * MS, bad);
		if (bad)
			enter(t, 0, 0, NORMAL);
	}
	KUNIT_EXPECT_GE(test, good * 100, (t->now - start) * 48);
}

static struct kunit_case uma_fair_cases[] = {
	KUNIT_CASE(uma_fair_test_idle),
	KUNIT_CASE(uma_fair_test_order),
	KUNIT_CASE(uma_fair_test_weights),
	KUNIT_CASE(uma_fair_test_alternate),
	KUNIT_CASE(uma_fair_test_no_credit),
	KUNIT_CASE(uma_fair_test_idle_clock),
	KUNIT_CASE(uma_fair_test_realtime),
	KUNIT_CASE(uma_fair_test_empty_jobs),
	KUNIT_CASE(uma_fair_test_pass),
	KUNIT_CASE(uma_fair_test_release),
	KUNIT_CASE(uma_fair_test_punish),
	KUNIT_CASE(uma_fair_test_punish_race),
	KUNIT_CASE(uma_fair_test_hang_beside),
	{}
};

static struct kunit_suite uma_fair_suite = {
	.name = "uma_fair",
	.init = uma_fair_test_init,
	.test_cases = uma_fair_cases,
};

kunit_test_suite(uma_fair_suite);
