/* SPDX-License-Identifier: MIT */
/*
 * A plan as the rest of the library sees it: task templates, and the places in
 * them where the addresses of bound buffers go.
 */
#ifndef LIBACCEL_PLAN_H
#define LIBACCEL_PLAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <accel/accel.h>
#include "hint.h"
#include "uma_task.h"

/**
 * enum plan_field - address fields of an operand
 * @PLAN_ADDR: uma_operand.addr
 * @PLAN_SCALE_ADDR: uma_operand.scale_addr
 * @PLAN_ZERO_ADDR: uma_operand.zero_addr
 */
enum plan_field {
	PLAN_ADDR,
	PLAN_SCALE_ADDR,
	PLAN_ZERO_ADDR
};

/**
 * struct plan_reloc - where an address goes
 * @task: task of the plan
 * @slot: &enum uma_slot
 * @field: &enum plan_field
 * @arg: index in &accel_plan.args, PLAN_NO_ARG: the plan's packed weights
 * @addend: bytes added to the binding's address
 */
struct plan_reloc {
	uint16_t task;
	uint8_t slot;
	uint8_t field;
	uint32_t arg;
	int64_t addend;
};

#define PLAN_NO_ARG	UINT32_MAX

/**
 * struct plan_arg - an argument that a job must bind
 * @arg: &enum accel_arg, with ACCEL_ARG_SCALES or ACCEL_ARG_ZEROS for tables
 * @align: alignment that its address needs
 * @lo: first byte touched, relative to the binding; negative for negative strides
 * @hi: one past the last byte touched; @lo if there is none
 * @write: the operation writes it
 */
struct plan_arg {
	uint32_t arg;
	uint32_t align;
	int64_t lo;
	int64_t hi;
	bool write;
};

/* Each argument has two tables */
#define PLAN_MAX_ARGS	(3 * ACCEL_ARG_COUNT)

/* In the place of an argument: the workspace that a job has for the plan */
#define PLAN_WORKSPACE	UINT32_MAX

struct accel_plan;

/**
 * struct plan_part - a plan that a plan consists of
 * @plan: a plan of one task
 * @arg: for each of its arguments: index in the whole's, or PLAN_WORKSPACE
 * @at: bytes added to the address of that
 */
struct plan_part {
	struct accel_plan *plan;
	uint32_t arg[PLAN_MAX_ARGS];
	int64_t at[PLAN_MAX_ARGS];
};

union any_desc;
struct tune_entry;

struct accel_plan {
	atomic_uint refs;
	struct accel_ctx *ctx;
	struct accel_plan_info info;
	/* mask of instances of info.engine that can run it */
	uint32_t instances;
	uint32_t task_count;
	struct uma_task *tasks;
	uint32_t reloc_count;
	struct plan_reloc *relocs;
	uint32_t arg_count;
	struct plan_arg args[PLAN_MAX_ARGS];
	/* slots of its task that are written, and inputs that may be D itself */
	uint32_t outputs;
	uint32_t in_place;
	/* names of the arguments by &enum accel_arg, NULL: those of a GEMM */
	const char *const *arg_names;
	/* how the in-process device is to cut it */
	struct fast_hint hint;
	/* packed weights, or NULL */
	struct accel_bo *packed;
	/* of several tasks: then there are no tasks and relocations of its own */
	uint32_t part_count;
	struct plan_part *parts;
	/* what it was asked for, without buffers; of parts NULL */
	union any_desc *desc;
	/* what was measured and decided, or NULL; of several tasks: of how many */
	struct tune_entry *known;
	uint32_t tuned;
};

void plan_part_addrs(const struct plan_part *part, const uint64_t *addrs,
		     uint64_t workspace, uint64_t *out);
int plan_parts_overlap(const struct accel_plan *plan, const uint64_t *addrs,
		       uint64_t workspace);
void plan_relocate(const struct accel_plan *plan, const uint64_t *addrs, struct uma_task *tasks);
int plan_find_overlap(const struct accel_plan *plan, const uint64_t *addrs);

#endif /* LIBACCEL_PLAN_H */
