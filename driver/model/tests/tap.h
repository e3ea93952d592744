/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Test Anything Protocol, as much of it as the model's tests need. */
#ifndef _MODEL_TAP_H_
#define _MODEL_TAP_H_

#include <stdio.h>
#include <stdlib.h>

/* Tests so far, and those that failed; of the whole program. */
extern int tap_count, tap_failed;

__attribute__((format(printf, 2, 3)))
int tap_ok(int ok, const char *fmt, ...);
/* The plan. Returns the exit status. */
int tap_done(void);

#endif /* _MODEL_TAP_H_ */
