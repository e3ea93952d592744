/* SPDX-License-Identifier: MIT */
/*
 * tune: measures operations, and looks after the file of what was measured.
 */
#ifndef ACCELCTL_TUNING_H
#define ACCELCTL_TUNING_H

#include "attn.h"
#include "conv.h"
#include "gemm.h"
#include "op.h"

/**
 * struct tune_opts - options of the tune commands
 * @op: what tune run measures: the options of run; comes first
 * @dir: directory of the file
 * @threads: of the in-process device, 0: one a core
 * @budget_ms: time to measure an operation, 0: the default
 * @again: measure also what is known
 * @dry: write nothing
 * @pack: of a convolution: weights are constant
 * @winograd: of a convolution: ways that are less exact may be taken too
 * @sample: verify: entries to measure again
 * @older: prune: days, 0: not asked for
 * @devices: prune: entries of other devices and thread counts too
 * @all: prune: everything
 */
struct tune_opts {
	union {
		struct gemm_opts gemm;
		struct conv_opts conv;
		struct attn_opts attn;
		struct op_opts op;
	} op;
	const char *dir;
	uint64_t threads;
	uint64_t budget_ms;
	uint32_t again;
	uint32_t dry;
	uint32_t pack;
	uint32_t winograd;
	uint64_t sample;
	uint64_t older;
	uint32_t devices;
	uint32_t all;
};

/** TUNE_SAMPLE: entries that verify measures unless it is told otherwise */
#define TUNE_SAMPLE	4

void tune_init(void *data);
void tune_gemm_init(void *data);
void tune_conv_init(void *data);
void tune_attn_init(void *data);
void tune_op_init(void *data);

extern const struct ctl_opt tune_dir_table[];
extern const struct ctl_opt tune_run_table[];
extern const struct ctl_opt tune_conv_table[];
extern const struct ctl_opt tune_prune_table[];
extern const struct ctl_opt tune_verify_table[];

/**
 * struct tune_session - a device with a context whose file is looked at
 */
struct tune_session {
	/** @ctl: invocation */
	struct ctl *ctl;
	/** @opts: options */
	const struct tune_opts *opts;
	/** @dev: device */
	struct accel_device *dev;
	/** @ctx: context */
	struct accel_ctx *ctx;
	/** @info: of the device */
	struct accel_device_info info;
};

/** tune_open - open the device of -d; an exit status */
int tune_open(struct ctl *ctl, const struct tune_opts *opts, struct tune_session *s);
/** tune_close - give it up */
void tune_close(struct tune_session *s);
/** tune_fail - report what a call of the library gave */
int tune_fail(struct tune_session *s, int ret);
/** tune_json - an entry as an object of a list */
struct json_object *tune_json(struct json_object *list, const struct accel_tune_entry *e);
/** tune_state_name - "valid", "other device", ... */
const char *tune_state_name(uint32_t state);
/** tune_find - the candidate of an entry with a flag, NULL: there is none */
const struct accel_tune_candidate *tune_find(const struct accel_tune_entry *e, uint32_t flag);
/** tune_way - "direct, tile 8x32" into a buffer; returns it */
const char *tune_way(const struct accel_tune_candidate *c, char buf[136]);

int cmd_tune_list(struct ctl *ctl, void *data, const char *operand);
int cmd_tune_export(struct ctl *ctl, void *data, const char *operand);
int cmd_tune_prune(struct ctl *ctl, void *data, const char *operand);
int cmd_tune_verify(struct ctl *ctl, void *data, const char *operand);
int cmd_tune_gemm(struct ctl *ctl, void *data, const char *operand);
int cmd_tune_conv(struct ctl *ctl, void *data, const char *operand);
int cmd_tune_attention(struct ctl *ctl, void *data, const char *operand);
int cmd_tune_op(struct ctl *ctl, void *data, const char *operand);

#endif /* ACCELCTL_TUNING_H */
