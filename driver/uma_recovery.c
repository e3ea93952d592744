// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What to do when something goes wrong: the decisions of uma_reset.c, which
 * knows how to do it.
 *
 *	runs --fault, timeout--> failed --engine reset works--> given up
 *	  |                        |
 *	  |                        +-----engine reset fails---+
 *	  |                                                   |
 *	  +--device broken----> the others end by themselves <+
 *	                                |
 *	                           device reset: what is left on a ring is lost
 *	                             |        |
 *	                          works     fails: the device is lost, and all
 *	                             |        jobs with it
 *	                        given up
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>

#include <drm/uma_accel.h>

#include <kunit/visibility.h>

#include "uma_recovery.h"

/**
 * uma_recovery_diagnose - is there something wrong with a job on a ring?
 * @symptoms: how it is doing; it has not ended
 *
 * Return: what is wrong. A fault is one however late it is found.
 */
enum uma_failure uma_recovery_diagnose(const struct uma_symptoms *symptoms)
{
	if (symptoms->halted)
		return UMA_FAILURE_FAULT;
	return symptoms->late ? UMA_FAILURE_TIMEOUT : UMA_FAILURE_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(uma_recovery_diagnose);

/**
 * uma_recovery_remedy - what to do about an engine
 * @c: the engine and its job
 * @reset: what became of resetting it for this
 *
 * A job is given up only when nothing works on it any more: its memory may be
 * used for something else once its fence has signalled.
 *
 * Return: what is to be done next.
 */
enum uma_remedy uma_recovery_remedy(const struct uma_case *c, enum uma_reset reset)
{
	/* One that is not on the ring has not begun; it waits for better times. */
	if (!c->job || (!c->pushed && !c->failure))
		return UMA_REMEDY_NONE;
	if (!c->failure)
		return UMA_REMEDY_WATCH;
	if (!c->pushed || reset == UMA_RESET_WORKED)
		return UMA_REMEDY_GIVE_UP;
	return reset == UMA_RESET_FAILED ? UMA_REMEDY_RESET_DEVICE : UMA_REMEDY_RESET_ENGINE;
}
EXPORT_SYMBOL_IF_KUNIT(uma_recovery_remedy);

/**
 * uma_recovery_drained - may the device be reset now?
 * @drain: how it is doing
 *
 * What a job has done cannot be undone and is not done again, so a reset waits
 * for those on other engines, each of which has a timeout. But who knows what a
 * device still gets done that is broken.
 *
 * Return: true if it may.
 */
bool uma_recovery_drained(const struct uma_drain *drain)
{
	return drain->settled || drain->going || (drain->broken && drain->late);
}
EXPORT_SYMBOL_IF_KUNIT(uma_recovery_drained);

/**
 * uma_recovery_device_reset - the whole device has been reset, or is beyond that
 * @c: an engine and its job; becomes what is left of it
 */
void uma_recovery_device_reset(struct uma_case *c)
{
	if (!c->job || !c->pushed)
		return;
	c->pushed = false;
	if (!c->failure)
		c->failure = UMA_FAILURE_LOST;
}
EXPORT_SYMBOL_IF_KUNIT(uma_recovery_device_reset);

/**
 * uma_recovery_verdict - how a job ends
 * @failure: what was wrong with it
 * @lost: the device is lost
 *
 * Return: verdict.
 */
struct uma_verdict uma_recovery_verdict(enum uma_failure failure, bool lost)
{
	switch (failure) {
	case UMA_FAILURE_FAULT:
		return (struct uma_verdict) {
			.error = -EFAULT,
			.flags = DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED,
			.fault = true,
		};
	case UMA_FAILURE_TIMEOUT:
		return (struct uma_verdict) {
			.error = -ETIME,
			.flags = DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT,
		};
	default:
		return (struct uma_verdict) { .error = lost ? -ENODEV : -ECANCELED };
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_recovery_verdict);
