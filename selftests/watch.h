/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What a test announces that it will do to the device. Without a word from it
 * no reset, no fault and no kernel message of level warning or above is right.
 */
#ifndef _WATCH_H_
#define _WATCH_H_

#include "client.h"

/** expect_resets - the test causes @n engine or device resets, -1: any number */
void expect_resets(int n);
/** expect_faults - the test makes @n jobs fault, -1: any number; each costs its engine a reset */
void expect_faults(int n);
/** expect_log - kernel messages are in order */
void expect_log(void);
/** counter - the number in a file of the device in debugfs, -1 without one */
long long counter(const char *file);
/** lines - how many a file of the device in debugfs has, -1 without one */
int lines(const char *file);
/** expect_gone - the device itself comes and goes */
void expect_gone(void);

#endif /* _WATCH_H_ */
