// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How much of an engine a well-behaved client keeps, whoever else wants it. Its
 * share is what it has beside another one like it, in the same run. The device
 * of this test does nothing for most of the time that a job takes, so the
 * processors of the machine matter little.
 */
#include "instance.h"
#include "rival.h"
#include "watch.h"

#define MEASURE_MS	5000
#define PERCENT		60
#define TRIES		3

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
	instance_set(&self->in, "latency_us", "10000");
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
	unsigned long same, rate = 0;
	unsigned int kind, i;

	rival_arm(self->in.node);
	rival_rate(self->in.node, self->engine, RIVAL_NONE, variant->depth, MEASURE_MS);
	for (kind = RIVAL_HOG; kind < RIVAL_KINDS; kind++) {
		/* The two are compared while the machine has as much to do: else once more. */
		for (i = 0; i < TRIES; i++) {
			same = rival_rate(self->in.node, self->engine, RIVAL_SAME, variant->depth,
					  MEASURE_MS);
			rate = rival_rate(self->in.node, self->engine, (enum rival_kind)kind,
					  variant->depth, MEASURE_MS);
			harness_diag("%s: %lu %% of its share", rival_names[kind],
				     rate * 100 / same);
			if (rate * 100 >= same * PERCENT)
				break;
		}
		EXPECT_LT(i, TRIES);
	}
}

HARNESS_MAIN
