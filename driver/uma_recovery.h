/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_RECOVERY_H_
#define _UMA_RECOVERY_H_

#include <linux/types.h>

/**
 * enum uma_failure - why a job on the device has to be given up
 * @UMA_FAILURE_NONE: it has not
 * @UMA_FAILURE_FAULT: the device reported a fault
 * @UMA_FAILURE_TIMEOUT: it ran too long, or did not let go of its address space
 * @UMA_FAILURE_LOST: a reset of the whole device took it along
 * @UMA_FAILURE_COUNT: number of values
 */
enum uma_failure {
	UMA_FAILURE_NONE,
	UMA_FAILURE_FAULT,
	UMA_FAILURE_TIMEOUT,
	UMA_FAILURE_LOST,
	UMA_FAILURE_COUNT,
};

/**
 * enum uma_reset - what became of the last attempt to reset an engine
 * @UMA_RESET_NOT_TRIED: there was none
 * @UMA_RESET_WORKED: it has let go of its job
 * @UMA_RESET_FAILED: it has not
 */
enum uma_reset {
	UMA_RESET_NOT_TRIED,
	UMA_RESET_WORKED,
	UMA_RESET_FAILED,
};

/**
 * enum uma_remedy - what to do about an engine
 * @UMA_REMEDY_NONE: nothing
 * @UMA_REMEDY_WATCH: look again later
 * @UMA_REMEDY_RESET_ENGINE: reset it
 * @UMA_REMEDY_RESET_DEVICE: reset the whole device
 * @UMA_REMEDY_GIVE_UP: end its job
 */
enum uma_remedy {
	UMA_REMEDY_NONE,
	UMA_REMEDY_WATCH,
	UMA_REMEDY_RESET_ENGINE,
	UMA_REMEDY_RESET_DEVICE,
	UMA_REMEDY_GIVE_UP,
};

/**
 * struct uma_case - an engine and its job
 */
struct uma_case {
	/** @job: there is one */
	bool job;
	/** @pushed: it is on the ring: the engine may be working on it */
	bool pushed;
	/** @failure: it is to be given up */
	enum uma_failure failure;
};

/**
 * struct uma_symptoms - how a job on a ring is doing
 */
struct uma_symptoms {
	/** @halted: the engine stopped with a fault */
	bool halted;
	/** @late: it has run for longer than it may */
	bool late;
};

/**
 * struct uma_drain - when the rest of the device is waited for before it is reset
 */
struct uma_drain {
	/** @settled: no engine simply runs a job */
	bool settled;
	/** @broken: the device says of itself that it is broken */
	bool broken;
	/** @late: one that is broken has had its time */
	bool late;
	/** @going: the device is about to be taken away */
	bool going;
};

/**
 * struct uma_verdict - how a job that is given up ends
 */
struct uma_verdict {
	/** @error: of its fence */
	int error;
	/** @flags: what its queue is, DRM_UMA_QUEUE_GUILTY and why; 0 if it goes on */
	u32 flags;
	/** @fault: the fault that the device reported is the reason */
	bool fault;
};

enum uma_failure uma_recovery_diagnose(const struct uma_symptoms *symptoms);
enum uma_remedy uma_recovery_remedy(const struct uma_case *c, enum uma_reset reset);
bool uma_recovery_drained(const struct uma_drain *drain);
void uma_recovery_device_reset(struct uma_case *c);
struct uma_verdict uma_recovery_verdict(enum uma_failure failure, bool lost);

#endif /* _UMA_RECOVERY_H_ */
