/* SPDX-License-Identifier: MIT */
/*
 * SIGINT.
 */
#ifndef ACCELCTL_INTERRUPT_H
#define ACCELCTL_INTERRUPT_H

#include <stdbool.h>

/**
 * ctl_catch_interrupt - from now on SIGINT is noted, unless it is ignored
 */
void ctl_catch_interrupt(void);

/**
 * ctl_catch_each_interrupt - from now on every SIGINT is noted, and none ends the program
 *
 * For programs that go on behind what was interrupted; where SIGINT is ignored it stays so.
 *
 * Return: 0, or a negative error.
 */
int ctl_catch_each_interrupt(void);

/**
 * ctl_forget_interrupt - those that came ended what they were for
 */
void ctl_forget_interrupt(void);

/**
 * ctl_wait_input - wait until there is something to read, or SIGINT comes
 * @fd: file
 *
 * After ctl_catch_each_interrupt().
 *
 * Return: 0: a read does not wait; -EINTR SIGINT came since ctl_forget_interrupt(); other errors.
 */
int ctl_wait_input(int fd);

/**
 * ctl_catch_end - SIGTERM and SIGHUP are noted like SIGINT, by who has to clean up
 */
void ctl_catch_end(void);

/**
 * ctl_interrupted - was SIGINT received, or what ctl_catch_end() is for?
 *
 * Return: true if so.
 */
bool ctl_interrupted(void);

#endif /* ACCELCTL_INTERRUPT_H */
