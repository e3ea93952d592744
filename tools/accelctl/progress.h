/* SPDX-License-Identifier: MIT */
/*
 * How far something is that takes long.
 */
#ifndef ACCELCTL_PROGRESS_H
#define ACCELCTL_PROGRESS_H

#include <stdint.h>

/**
 * ctl_progress - tell how far it is, from two seconds on, if stderr is a terminal
 * @what: what is done, for people; another one starts anew
 * @done: of @total; all of it takes the bar away
 * @total: how much there is
 */
void ctl_progress(const char *what, uint64_t done, uint64_t total);

/**
 * ctl_repacking - progress of struct accel_compile_opts: a bar; SIGINT ends it
 * @user: unused
 * @done: of @total
 * @total: bytes of weights
 *
 * Return: was SIGINT received?
 */
int ctl_repacking(void *user, uint64_t done, uint64_t total);

#endif /* ACCELCTL_PROGRESS_H */
