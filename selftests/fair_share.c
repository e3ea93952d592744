// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How much of an engine a well-behaved client keeps, whoever else wants it: of the time in
 * which the engine is busy, so that it does not matter what else the machine does. Jobs
 * are long for somebody who has to submit the next within one of them.
 */
#include "instance.h"
#include "rival.h"
#include "watch.h"

#define MEASURE_MS	5000
#define PERCENT		40
/* Of five seconds one may be of a job that hung before, or hangs on after. */
#define PERCENT_HANGS	30

FIXTURE(fair_share) {
	struct instance in;
	unsigned int engine;
};

FIXTURE_VARIANT(fair_share) {
	unsigned int depth;
};

FIXTURE_VARIANT_ADD(fair_share, one_by_one) { .depth = 1 };
FIXTURE_VARIANT_ADD(fair_share, four_queued) { .depth = 4 };

FIXTURE_SETUP(fair_share)
{
	instance_make(&self->in, "share");
	instance_set(&self->in, "profile", "m1");
	instance_set(&self->in, "task_us", "50000");
	instance_enable(&self->in);
	self->engine = rival_engine(self->in.node);
	expect_log();
}

FIXTURE_TEARDOWN(fair_share)
{
	instance_drop(&self->in);
}

TEST_F_TIMEOUT(fair_share, is_kept, 300)
{
	unsigned int kind, share;

	rival_arm(self->in.node);
	for (kind = RIVAL_SAME; kind < RIVAL_KINDS; kind++) {
		share = rival_share(self->in.node, self->engine, (enum rival_kind)kind,
				    variant->depth, MEASURE_MS);
		EXPECT_GE(share, kind < RIVAL_HANG ? PERCENT : PERCENT_HANGS);
		if (kind == RIVAL_SAME || kind == RIVAL_LONG)
			EXPECT_LE(share, 100 - PERCENT);
	}
}

HARNESS_MAIN
