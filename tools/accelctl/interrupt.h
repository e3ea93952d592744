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
 * ctl_catch_each_interrupt - from now on SIGINT is recorded and never ends the program
 *
 * For programs that continue after an interrupted operation; if SIGINT is ignored, it remains
 * so.
 *
 * Return: 0, or a negative error.
 */
int ctl_catch_each_interrupt(void);

/** ctl_forget_interrupt - clear recorded interrupts, which have had their effect */
void ctl_forget_interrupt(void);

/**
 * ctl_wait_input - wait until there is input, or SIGINT arrives
 * @fd: file
 *
 * After ctl_catch_each_interrupt().
 *
 * Return: 0: a read does not block; -EINTR SIGINT came since ctl_forget_interrupt(); other
 * errors.
 */
int ctl_wait_input(int fd);

/** ctl_catch_end - also record SIGTERM and SIGHUP, for programs that have to clean up */
void ctl_catch_end(void);

/**
 * ctl_interrupted - was SIGINT received, or a signal of ctl_catch_end()?
 *
 * Return: true if so.
 */
bool ctl_interrupted(void);

#endif /* ACCELCTL_INTERRUPT_H */
