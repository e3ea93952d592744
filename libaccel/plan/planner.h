/* SPDX-License-Identifier: MIT */
/*
 * What the files of the planner share.
 *
 *	request -> variants of each way to do it (variant.c)
 *		-> candidates, the best of them (place.c, cost.c, choose.c)
 *		-> plan: tasks and relocations (emit.c, weights.c, plan.c)
 *
 * Only plan.c, weights.c, winograd.c and run.c know contexts, buffers and jobs;
 * the rest are functions of their arguments.
 */
#ifndef LIBACCEL_PLANNER_H
#define LIBACCEL_PLANNER_H

#include "libaccel/ops/ops.h"
#include "plan.h"

struct choices;

/* --- variant.c: the same operation with other dimensions -------------------- */

/* Simplified, and as the caller described it */
#define MAX_VARIANTS	2

uint32_t make_variants(const struct request *req, struct request *v);

/* --- place.c ---------------------------------------------------------------- */

/**
 * enum weights_form - what a plan holds of a constant B
 * @WEIGHTS_PLAIN: nothing: it is bound like the rest
 * @WEIGHTS_DENSE: a dense copy
 * @WEIGHTS_PACKED: the engine's blocks
 * @WEIGHTS_SPARSE: the engine's blocks of two of four
 * @WEIGHTS_WINOGRAD: transformed weights of a convolution, in blocks if there are some
 */
enum weights_form {
	WEIGHTS_PLAIN,
	WEIGHTS_DENSE,
	WEIGHTS_PACKED,
	WEIGHTS_SPARSE,
	WEIGHTS_WINOGRAD
};

/**
 * struct placement - what became of a request on an engine
 * @row: capability row of the operation
 * @pack: row of the packing, NULL without
 * @form: what is held of B
 * @variant: index of the variant
 * @estimate_ns: modelled time: @start_ns and the larger of the next two
 * @start_ns: launch
 * @compute_ns: arithmetic
 * @memory_ns: traffic
 * @bytes: bytes moved
 * @field: where it was refused
 * @text: why
 */
struct placement {
	const struct uma_op_cap *row;
	const struct uma_op_cap *pack;
	enum weights_form form;
	uint32_t variant;
	uint64_t estimate_ns;
	uint64_t start_ns;
	uint64_t compute_ns;
	uint64_t memory_ns;
	uint64_t bytes;
	char field[64];
	char text[256];
};

/**
 * struct plan_candidates - the answer to accel_plan_explain()
 * @count: number of @c
 * @c: one for each kind of engine that answers alike
 */
struct plan_candidates {
	uint32_t count;
	struct accel_candidate c[];
};

bool place_on(const struct device_engine *engine, const char *chip,
	      const struct request *v, uint32_t count, struct placement *p);

/* --- cost.c ------------------------------------------------------------------ */

void cost(const struct device_engine *engine, uint64_t bandwidth,
	  const struct request *req, struct placement *p);
uint64_t request_read_bytes(const struct request *req);
uint64_t request_write_bytes(const struct request *req);
uint64_t packed_bytes(const struct operand *b, const struct uma_op_cap *row,
		      uint32_t layout);

/* --- emit.c ------------------------------------------------------------------- */

/**
 * struct weights - a constant B that is held
 * @bo: memory, or NULL
 * @layout: &enum uma_layout of it
 * @scales: offset of its table of scales
 * @zeros: offset of its table of zero points
 * @bytes: of all
 */
struct weights {
	struct accel_bo *bo;
	uint32_t layout;
	uint64_t scales;
	uint64_t zeros;
	uint64_t bytes;
};

int emit_plan(struct accel_plan *plan, const struct request *req,
	      const struct uma_op_cap *row, const struct weights *held,
	      uint32_t dst_layout);

/* --- weights.c, winograd.c ---------------------------------------------------- */

struct choice;

static inline uint32_t weights_layout(const struct placement *p)
{
	return !p->pack ? (uint32_t)UMA_LAYOUT_STRIDED :
	       p->form == WEIGHTS_SPARSE ? UMA_LAYOUT_GEMM_B24 : UMA_LAYOUT_GEMM_B;
}

const struct accel_device *weights_device(const struct accel_weights *weights);
int weights_prepare(struct accel_ctx *ctx, const struct choice *c, struct request *req,
		    struct weights *w, struct accel_error *e);
int winograd_add(struct accel_job *job, const struct accel_tensor *from, uint32_t edge,
		 struct accel_bo *to);

/* --- run.c -------------------------------------------------------------------- */

struct job_bindings;

int job_run(struct accel_job *job);
void plan_note_tensors(struct accel_plan *plan, const struct request *req);
int plan_run(struct accel_plan *plan, const struct job_bindings *bound);
uint32_t plan_bindings(const struct accel_plan *plan, const struct request *req,
		       struct accel_binding *bindings);

/* --- parts.c: operations that are several tasks ------------------------------- */

int parts_ask(struct accel_device *dev, const struct request *req, struct choices **out);
int parts_place(struct accel_ctx *ctx, const struct request *req,
		struct accel_plan **out, struct accel_error *e);
int parts_tune(struct accel_ctx *ctx, const struct request *req, struct accel_error *e);

/* --- choose.c ----------------------------------------------------------------- */

/**
 * struct choice - engines of a kind that answer alike
 * @engine: the first of them
 * @instances: mask of their instances
 * @way: index of the way
 * @ok: they can do it so
 * @p: how, or why not
 */
struct choice {
	const struct device_engine *engine;
	uint32_t instances;
	uint32_t way;
	bool ok;
	struct placement p;
};

/**
 * struct choices - all engines of a device
 * @ways: ways to do the request
 * @way_count: their number
 * @variants: forms of each way
 * @variant_count: their number
 * @chosen: index in @c, or @count
 * @count: number of @c
 * @c: choices, in the order of the engines
 */
struct choices {
	struct way ways[MAX_WAYS];
	uint32_t way_count;
	struct request variants[MAX_WAYS][MAX_VARIANTS];
	uint32_t variant_count[MAX_WAYS];
	uint32_t chosen;
	uint32_t count;
	struct choice c[];
};

int ask_engines(struct accel_device *dev, const struct request *req, bool words,
		struct choices **out);
void choose(struct choices *all, const struct request *req);
bool choice_eligible(const struct choices *all, const struct choice *c,
		     const struct request *req);
const char *choice_algorithm(const struct choices *all, const struct choice *c);
int refuse_request(struct accel_device *dev, const struct request *req, struct accel_error *e);

/* --- layout.c ------------------------------------------------------------------ */

int request_settle(struct accel_device *dev, const struct accel_desc *desc, union any_desc *copy,
		   struct request *req, struct accel_error *e);
void layout_words(const struct request *req, char *text, size_t size);

/* --- explain.c ---------------------------------------------------------------- */

int plan_keep_desc(struct accel_plan *plan, const struct request *req);

/* --- plan.c ------------------------------------------------------------------- */

int fill_plan(struct accel_plan *plan, struct choices *all,
	      const struct request *req, struct accel_error *e);
struct accel_plan *plan_alloc(struct accel_ctx *ctx, const struct request *req);
int plan_fill_tuned(struct accel_plan *plan, struct choices *all,
		    const struct request *req, struct accel_error *e);
int plan_make(struct accel_ctx *ctx, const struct request *req, struct choices *all,
	      uint32_t pieces, struct accel_plan **out, struct accel_error *e);
int plan_tune(struct accel_ctx *ctx, const struct request *req, struct accel_error *e);
void request_tune(struct request *req, struct tuning *tuning);
void plan_host(const struct accel_plan *plan, struct plan_host *host);
int plan_place(struct accel_ctx *ctx, const struct request *req,
	       struct accel_plan **plan, struct accel_error *e);

#endif /* LIBACCEL_PLANNER_H */
