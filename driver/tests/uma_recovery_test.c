// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What is done when something goes wrong: every engine, every job, every way in
 * which resets can end.
 */
#include <kunit/test.h>

#include <drm/uma_accel.h>

#include "uma_job.h"

static void uma_recovery_test_diagnose(struct kunit *test)
{
	int i;

	for (i = 0; i < 4; i++) {
		const struct uma_symptoms s = { .halted = i & 1, .late = i & 2 };

		KUNIT_EXPECT_EQ(test, uma_recovery_diagnose(&s),
				s.halted ? UMA_FAILURE_FAULT :
				s.late ? UMA_FAILURE_TIMEOUT : UMA_FAILURE_NONE);
	}
}

/* One way that things can go. */
struct walk {
	/* Engine resets work. */
	bool engine_works;
	/* Device resets work. */
	bool device_works;
	/* Has the engine let go of the job? */
	bool quiet;
	/* Resets done. */
	u32 engine_resets;
	u32 device_resets;
	/* The device is lost. */
	bool lost;
	/* The job has ended with this. */
	bool ended;
	struct uma_verdict verdict;
};

/* Do what is said, as uma_job_reset.c does, until there is nothing to do. */
static void walk(struct kunit *test, struct walk *w, struct uma_case c)
{
	enum uma_reset reset = UMA_RESET_NOT_TRIED;
	int steps;

	w->quiet = !c.pushed;
	for (steps = 0; steps < 10; steps++) {
		switch (uma_recovery_remedy(&c, reset)) {
		case UMA_REMEDY_NONE:
		case UMA_REMEDY_WATCH:
			return;
		case UMA_REMEDY_RESET_ENGINE:
			w->engine_resets++;
			w->quiet |= w->engine_works;
			reset = w->engine_works ? UMA_RESET_WORKED : UMA_RESET_FAILED;
			break;
		case UMA_REMEDY_RESET_DEVICE:
			w->device_resets++;
			/* One that does not come back is cut off from memory. */
			w->quiet = true;
			w->lost = !w->device_works;
			uma_recovery_device_reset(&c);
			break;
		case UMA_REMEDY_GIVE_UP:
			KUNIT_EXPECT_TRUE(test, c.job);
			KUNIT_EXPECT_FALSE(test, w->ended);
			KUNIT_EXPECT_TRUE_MSG(test, w->quiet, "given up while it may run");
			w->verdict = uma_recovery_verdict(c.failure, w->lost);
			w->ended = true;
			c = (struct uma_case) {};
			reset = UMA_RESET_NOT_TRIED;
			break;
		}
	}
	KUNIT_FAIL(test, "does not come to an end");
}

/* All states of an engine, whether resets work or not. */
static void uma_recovery_test_engine(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 2 * 2 * 2 * 2 * UMA_FAILURE_COUNT; i++) {
		const struct uma_case c = {
			.job = i & 1, .pushed = i & 2, .failure = i / 16,
		};
		struct walk w = { .engine_works = i & 4, .device_works = i & 8 };
		bool failed = c.job && c.failure;

		walk(test, &w, c);
		/* What failed is ended, and nothing else is touched. */
		KUNIT_EXPECT_EQ(test, w.ended, failed);
		KUNIT_EXPECT_EQ(test, w.engine_resets, failed && c.pushed);
		KUNIT_EXPECT_EQ(test, w.device_resets, failed && c.pushed && !w.engine_works);
		KUNIT_EXPECT_EQ(test, w.lost, w.device_resets && !w.device_works);
		if (!w.ended)
			continue;
		KUNIT_EXPECT_EQ(test, !!(w.verdict.flags & DRM_UMA_QUEUE_GUILTY),
				c.failure != UMA_FAILURE_LOST);
		KUNIT_EXPECT_NE(test, w.verdict.error, 0);
	}
}

/* A reset of the device finds an engine in any state. */
static void uma_recovery_test_device(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 2 * 2 * UMA_FAILURE_COUNT; i++) {
		struct uma_case c = { .job = i & 1, .pushed = i & 2, .failure = i / 4 }, was = c;

		uma_recovery_device_reset(&c);
		KUNIT_EXPECT_EQ(test, c.job, was.job);
		if (!was.job || !was.pushed) {
			/* One that has not begun is pushed later. */
			KUNIT_EXPECT_EQ(test, c.pushed, was.pushed);
			KUNIT_EXPECT_EQ(test, c.failure, was.failure);
			continue;
		}
		/* Whoever was on a ring never runs again; who was guilty stays it. */
		KUNIT_EXPECT_FALSE(test, c.pushed);
		KUNIT_EXPECT_EQ(test, c.failure, was.failure ?: UMA_FAILURE_LOST);
		KUNIT_EXPECT_EQ(test, uma_recovery_remedy(&c, UMA_RESET_NOT_TRIED),
				UMA_REMEDY_GIVE_UP);
	}
}

static void uma_recovery_test_drain(struct kunit *test)
{
	int i;

	for (i = 0; i < 16; i++) {
		const struct uma_drain d = {
			.settled = i & 1, .broken = i & 2, .late = i & 4, .going = i & 8,
		};

		KUNIT_EXPECT_EQ(test, uma_recovery_drained(&d),
				d.settled || d.going || (d.broken && d.late));
		/* Jobs on other engines are innocent: a device that is well waits for them. */
		if (!d.settled && !d.broken && !d.going)
			KUNIT_EXPECT_FALSE(test, uma_recovery_drained(&d));
	}
}

static void uma_recovery_test_verdict(struct kunit *test)
{
	static const struct {
		enum uma_failure failure;
		bool lost;
		struct uma_verdict verdict;
	} rows[] = {
		{ UMA_FAILURE_FAULT, false,
		  { -EFAULT, DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED, true } },
		{ UMA_FAILURE_FAULT, true,
		  { -EFAULT, DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED, true } },
		{ UMA_FAILURE_TIMEOUT, false,
		  { -ETIME, DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT, false } },
		{ UMA_FAILURE_TIMEOUT, true,
		  { -ETIME, DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT, false } },
		{ UMA_FAILURE_LOST, false, { -ECANCELED, 0, false } },
		{ UMA_FAILURE_LOST, true, { -ENODEV, 0, false } },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct uma_verdict v = uma_recovery_verdict(rows[i].failure, rows[i].lost);

		KUNIT_EXPECT_EQ(test, v.error, rows[i].verdict.error);
		KUNIT_EXPECT_EQ(test, v.flags, rows[i].verdict.flags);
		KUNIT_EXPECT_EQ(test, v.fault, rows[i].verdict.fault);
	}
}

static struct kunit_case uma_recovery_cases[] = {
	KUNIT_CASE(uma_recovery_test_diagnose),
	KUNIT_CASE(uma_recovery_test_engine),
	KUNIT_CASE(uma_recovery_test_device),
	KUNIT_CASE(uma_recovery_test_drain),
	KUNIT_CASE(uma_recovery_test_verdict),
	{}
};

static struct kunit_suite uma_recovery_suite = {
	.name = "uma_recovery",
	.test_cases = uma_recovery_cases,
};

kunit_test_suite(uma_recovery_suite);
