/* SPDX-License-Identifier: MIT */
/*
 * Which engine takes an operation, and why the others do not.
 */
#ifndef ACCELCTL_EXPLAIN_H
#define ACCELCTL_EXPLAIN_H

#include "accelctl.h"

/**
 * struct explain - what is explained
 * @ctx: context
 * @device: of it
 * @desc: first field of a descriptor
 * @plan: a descriptor that says why, when no engine takes @desc: itself, or without what
 *	a plan needs buffers for
 * @describe: adds what the operation is to the document
 * @data: for @describe
 */
struct explain {
	struct accel_ctx *ctx;
	const struct accel_device_info *device;
	const struct accel_desc *desc;
	const struct accel_desc *plan;
	void (*describe)(struct json_object *doc, const void *data);
	const void *data;
};

/**
 * explain_show - list the engines with their verdicts
 * @ctl: invocation
 * @what: is explained
 *
 * Return: an exit status: CTL_UNSUPPORTED if no engine takes it.
 */
int explain_show(struct ctl *ctl, const struct explain *what);

#endif /* ACCELCTL_EXPLAIN_H */
