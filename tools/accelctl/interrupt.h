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
