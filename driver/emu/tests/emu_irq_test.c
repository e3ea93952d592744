// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The interrupt latch and its line, with a handler behind it.
 */
#include <kunit/test.h>

#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>

#include "../emu_compat.h"
#include "../emu_device.h"

struct emu_irq_test {
	struct emu_irq irq;
	atomic_t calls;
	u32 seen;
	u32 ack;	/* what the handler acknowledges */
	u32 extra;	/* events that are raised while the handler runs */
};

static irqreturn_t emu_irq_test_handler(int virq, void *data)
{
	struct emu_irq_test *t = data;
	u32 status = READ_ONCE(t->irq.status);

	atomic_inc(&t->calls);
	t->seen |= status;
	if (t->extra) {
		emu_irq_raise(&t->irq, t->extra);
		t->extra = 0;
	}
	emu_irq_ack(&t->irq, status & t->ack);
	/* An interrupt that is not acknowledged recurs for ever: end the test instead. */
	if (atomic_read(&t->calls) >= 10)
		emu_irq_enable(&t->irq, 0);
	return IRQ_HANDLED;
}

/* Wait for a number of calls, as irq_work may be delayed for a moment. */
static int emu_irq_test_calls(struct emu_irq_test *t, int want)
{
	int i;

	for (i = 0; i < 100 && atomic_read(&t->calls) < want; i++)
		usleep_range(1000, 2000);
	/* Give unexpected interrupts time to arrive. */
	usleep_range(5000, 6000);
	irq_work_sync(&t->irq.work);
	return atomic_read(&t->calls);
}

static int emu_irq_test_init(struct kunit *test)
{
	struct emu_irq_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->ack = U32_MAX;
	KUNIT_ASSERT_EQ(test, emu_irq_init(&t->irq), 0);
	test->priv = t;
	KUNIT_ASSERT_EQ(test, 0, request_irq(t->irq.virq, emu_irq_test_handler, 0,
					     "emu_irq_test", t));
	return 0;
}

static void emu_irq_test_exit(struct kunit *test)
{
	struct emu_irq_test *t = test->priv;

	free_irq(t->irq.virq, t);
	emu_irq_fini(&t->irq);
}

static void emu_irq_latches(struct kunit *test)
{
	struct emu_irq_test *t = test->priv;

	emu_irq_raise(&t->irq, BIT(3));
	KUNIT_EXPECT_FALSE(test, emu_irq_line(&t->irq));
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 0), 0);

	emu_irq_enable(&t->irq, BIT(3) | BIT(4));
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 1), 1);
	KUNIT_EXPECT_EQ(test, t->seen, BIT(3));
	KUNIT_EXPECT_FALSE(test, emu_irq_line(&t->irq));

	emu_irq_raise(&t->irq, BIT(5));
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 1), 1);
	emu_irq_raise(&t->irq, BIT(4));
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 2), 2);
	KUNIT_EXPECT_EQ(test, t->seen, BIT(3) | BIT(4) | BIT(5));
}

/* An event that is raised while the handler runs is not lost. */
static void emu_irq_level(struct kunit *test)
{
	struct emu_irq_test *t = test->priv;

	t->extra = BIT(1);
	emu_irq_enable(&t->irq, BIT(0) | BIT(1));
	emu_irq_raise(&t->irq, BIT(0));
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 2), 2);
	KUNIT_EXPECT_EQ(test, t->seen, BIT(0) | BIT(1));
}

static void emu_irq_unacknowledged(struct kunit *test)
{
	struct emu_irq_test *t = test->priv;

	t->ack = 0;
	emu_irq_enable(&t->irq, BIT(0));
	emu_irq_raise(&t->irq, BIT(0));
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 10), 10);
	KUNIT_EXPECT_FALSE(test, emu_irq_line(&t->irq));
	emu_irq_ack(&t->irq, BIT(0));
}

static void emu_irq_masked(struct kunit *test)
{
	struct emu_irq_test *t = test->priv;

	emu_irq_enable(&t->irq, BIT(0));
	disable_irq(t->irq.virq);
	emu_irq_raise(&t->irq, BIT(0));
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 0), 0);
	KUNIT_EXPECT_TRUE(test, emu_irq_line(&t->irq));
	enable_irq(t->irq.virq);
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 1), 1);
}

static void emu_irq_pulses(struct kunit *test)
{
	struct emu_irq_test *t = test->priv;

	emu_irq_spurious(&t->irq, 3);
	KUNIT_EXPECT_EQ(test, emu_irq_test_calls(t, 3), 3);
	KUNIT_EXPECT_EQ(test, t->seen, 0);
	KUNIT_EXPECT_FALSE(test, emu_irq_line(&t->irq));
}

static struct kunit_case emu_irq_tests[] = {
	KUNIT_CASE(emu_irq_latches),
	KUNIT_CASE(emu_irq_level),
	KUNIT_CASE(emu_irq_unacknowledged),
	KUNIT_CASE(emu_irq_masked),
	KUNIT_CASE(emu_irq_pulses),
	{}
};

static struct kunit_suite emu_irq_suite = {
	.name = "uma_emu_irq",
	.init = emu_irq_test_init,
	.exit = emu_irq_test_exit,
	.test_cases = emu_irq_tests,
};

kunit_test_suite(emu_irq_suite);
