/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A test as a caller that is killed.
 */
#ifndef _UMA_TEST_KILLED_H_
#define _UMA_TEST_KILLED_H_

#include <linux/sched/signal.h>

/* What is called until uma_test_revive() has a fatal signal pending: no place for expectations. */
static inline void uma_test_kill(void)
{
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
}

static inline void uma_test_revive(void)
{
	flush_signals(current);
	disallow_signal(SIGKILL);
}

#endif /* _UMA_TEST_KILLED_H_ */
