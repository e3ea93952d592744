/* SPDX-License-Identifier: MIT */
/*
 * One operation on a device: opened, planned, bound, run and measured.
 */
#ifndef ACCELCTL_RUNJOB_H
#define ACCELCTL_RUNJOB_H

#include "accelctl.h"

/**
 * struct runjob - a device with a job
 * @ctl: invocation
 * @dev: device
 * @ctx: context
 * @device: what it is
 * @info: of the plan
 * @algorithm: that the plan chose
 * @repeats: measured runs
 * @median_s: their median
 * @min_s: the shortest
 */
struct runjob {
	struct ctl *ctl;
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_device_info device;
	struct accel_plan_info info;
	char algorithm[64];
	uint64_t repeats;
	double median_s;
	double min_s;
};

/**
 * runjob_open - open the device that -d names
 * @ctl: invocation
 * @threads: of the in-process device, 0: as many as there are cores
 * @r: out; runjob_close() it also after a failure
 *
 * Return: an exit status.
 */
int runjob_open(struct ctl *ctl, uint32_t threads, struct runjob *r);

/**
 * runjob_buffer - a buffer that the CPU may write
 * @r: open
 * @label: what it is for
 * @bytes: size, at least 1
 * @bo: out
 *
 * Return: an exit status.
 */
int runjob_buffer(struct runjob *r, const char *label, uint64_t bytes, struct accel_bo **bo);

/**
 * runjob_measure - plan, run once, run again and measure
 * @r: open
 * @desc: first field of a descriptor
 * @bindings: buffers
 * @count: of them
 * @repeat: measured runs, 0: as many as fit into 0.1 s, from 3 to 100
 * @timeout_ms: longest run, 0: the device's
 *
 * Return: an exit status.
 */
int runjob_measure(struct runjob *r, const struct accel_desc *desc,
		   const struct accel_binding *bindings, uint32_t count, uint64_t repeat,
		   uint32_t timeout_ms);

/**
 * runjob_read - before the CPU looks at a result; accel_bo_cpu_end() follows
 * @r: measured
 * @bo: buffer of the result
 * @bytes: of it
 *
 * Return: an exit status.
 */
int runjob_read(struct runjob *r, struct accel_bo *bo, uint64_t bytes);

/**
 * runjob_wrong - say that the check found the result wrong
 * @r: measured
 * @got: element that is furthest off
 * @want: what it should be
 *
 * Return: an exit status.
 */
int runjob_wrong(struct runjob *r, double got, double want);

/**
 * runjob_json - what was measured, and where
 * @r: measured
 * @doc: document that gets the keys
 */
void runjob_json(const struct runjob *r, struct json_object *doc);

/** runjob_close - give everything up */
void runjob_close(struct runjob *r);

#endif /* ACCELCTL_RUNJOB_H */
