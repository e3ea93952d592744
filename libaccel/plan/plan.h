/* SPDX-License-Identifier: MIT */
/*
 * A plan as seen by the rest of the library: task templates, and the relocations that put the
 * addresses of bound buffers into them.
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
 * @PLAN_SHAPE_ADDR: uma_task.shape_addr, which belongs to no operand
 */
enum plan_field {
	PLAN_ADDR,
	PLAN_SCALE_ADDR,
	PLAN_ZERO_ADDR,
	PLAN_SHAPE_ADDR
};

/**
 * struct plan_reloc - relocation of an address
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

/* Address of packed weights that do not exist, in a plan that is only examined */
#define PLAN_UNMADE	(1ull << 39)

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

/**
 * struct plan_tensor - a tensor of the descriptor that a plan was created from
 * @arg: &enum accel_arg, ACCEL_ARG_COUNT: there is no argument for it
 * @at: bytes from the start of the descriptor
 * @path: the caller's name: "attention.k"
 */
struct plan_tensor {
	uint32_t arg;
	uint32_t at;
	const char *path;
};

/* One for each argument, and one that is checked but not read */
#define PLAN_MAX_TENSORS	(ACCEL_ARG_COUNT + 1)

/* Each argument has two tables; one more for the number of dynamic dimensions */
#define PLAN_MAX_ARGS	(3 * ACCEL_ARG_COUNT + 1)

/* Used as an argument: the workspace that a job has for the plan */
#define PLAN_WORKSPACE	UINT32_MAX

struct accel_plan;

/**
 * struct plan_part - a plan that is part of another plan
 * @plan: a plan of one task
 * @arg: for each of its arguments: index in the whole plan's, or PLAN_WORKSPACE
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
	/* slots of its task that are written, and inputs that may be the same memory as D */
	uint32_t outputs;
	uint32_t in_place;
	/* names of the arguments by &enum accel_arg, NULL: those of a GEMM */
	const char *const *arg_names;
	/* algorithm, as accel_plan_explain() reports it: a static string */
	const char *algorithm;
	/* how the in-process device divides the operation */
	struct fast_hint hint;
	/* packed weights, or NULL; and the owner of memory that they may be in, or NULL */
	struct accel_bo *packed;
	struct accel_weights *weights;
	/* parts of an operation of several tasks, which has no tasks and relocations of its own */
	uint32_t part_count;
	struct plan_part *parts;
	/* each part writes a piece of its own of the results */
	bool pieces;
	/* the descriptor, without buffers, and its tensors; NULL for parts */
	union any_desc *desc;
	uint32_t tensor_count;
	struct plan_tensor tensors[PLAN_MAX_TENSORS];
	/* tuning results, or NULL; number of tuned tasks if there are several */
	struct tune_entry *known;
	uint32_t tuned;
};

/**
 * struct plan_host - how the in-process device runs a plan
 * @work_bytes: memory that the threads of a run share: the maximum of all tasks
 * @kernel: kernel classes of its tasks: "gemv", "gemm, model"
 * @text: why the model runs the first task that it runs; empty if it runs none
 */
struct plan_host {
	uint64_t work_bytes;
	char kernel[64];
	char text[128];
};

/* 128-bit digest of contents: protects from accidental changes, not from malicious ones */
struct store_digest {
	uint64_t v[2];
};

/**
 * struct file_place - location of data in a file
 * @file: zeros: no known file
 * @offset: first byte
 */
struct file_place {
	struct accel_file_stamp file;
	uint64_t offset;
};

/**
 * struct weights_sum - digest of the contents of a buffer from which forms were created
 * @offset: first byte
 * @bytes: number of bytes
 * @digest: their digest
 */
struct weights_sum {
	uint64_t offset;
	uint64_t bytes;
	struct store_digest digest;
};

struct store_digest store_sum(struct store_digest d, const void *data, uint64_t bytes);
struct accel_file_stamp store_stamp(int fd);
struct store_digest weights_read(struct accel_weights *w, const struct file_place *at,
				 const void *data, uint64_t bytes);
void weights_place(struct accel_bo *bo, const struct file_place *place);
uint64_t weights_source(const struct accel_bo *bo);
uint32_t weights_sums(struct accel_weights *w, uint64_t source, struct weights_sum *list,
		      uint32_t max);
void weights_rename(struct accel_weights *w, uint64_t from, uint64_t to);
void weights_tell(struct accel_weights *w, const struct accel_bo *bo,
		  const struct weights_sum *sum);
int weights_write(struct accel_weights *w, int fd, uint64_t offset, uint64_t *bytes);
int weights_map(struct accel_weights *w, int fd, uint64_t offset, uint64_t bytes);

void plan_part_addrs(const struct plan_part *part, const uint64_t *addrs,
		     uint64_t workspace, uint64_t *out);
int plan_parts_overlap(const struct accel_plan *plan, const uint64_t *addrs,
		       uint64_t workspace);
void plan_relocate(const struct accel_plan *plan, uint32_t first, uint32_t count,
		   const uint64_t *addrs, struct uma_task *tasks);
uint64_t plan_reloc_addr(const struct accel_plan *plan, const struct plan_reloc *r,
			 const uint64_t *addrs);
int plan_find_overlap(const struct accel_plan *plan, const uint64_t *addrs);

#endif /* LIBACCEL_PLAN_H */
