/* SPDX-License-Identifier: MIT */
/*
 * Internal interfaces of the planner.
 *
 *	request -> variants of each algorithm (variant.c)
 *		-> candidates, and the best of them (place.c, cost.c, choose.c)
 *		-> plan: tasks and relocations (emit.c, weights.c, plan.c)
 *
 * variant.c, place.c, cost.c and choose.c are functions of their arguments; the other files use
 * contexts, buffers and jobs.
 */
#ifndef LIBACCEL_PLANNER_H
#define LIBACCEL_PLANNER_H

#include "libaccel/ops/ops.h"
#include "plan.h"

struct choices;

/* --- variant.c: the same operation with other dimensions -------------------- */

/* The simplified form, and the one of the caller */
#define MAX_VARIANTS	2

uint32_t make_variants(const struct request *req, struct request *v);

/* --- place.c ---------------------------------------------------------------- */

/**
 * enum weights_form - form in which a plan holds a constant B
 * @WEIGHTS_PLAIN: not held: it is bound like the other operands
 * @WEIGHTS_DENSE: a dense copy
 * @WEIGHTS_PACKED: packed in the engine's blocks
 * @WEIGHTS_SPARSE: packed in the engine's blocks, 2:4 sparse
 * @WEIGHTS_WINOGRAD: transformed weights of a convolution, packed if the engine has blocks for
 *	them
 */
enum weights_form {
	WEIGHTS_PLAIN,
	WEIGHTS_DENSE,
	WEIGHTS_PACKED,
	WEIGHTS_SPARSE,
	WEIGHTS_WINOGRAD
};

/**
 * struct placement - result of matching a request with an engine
 * @row: capability row of the operation
 * @pack: capability row of the packing, or NULL
 * @form: form in which B is held
 * @variant: index of the variant
 * @estimate_ns: estimated time: @start_ns plus the larger of the next two
 * @start_ns: launch
 * @compute_ns: arithmetic
 * @memory_ns: memory traffic
 * @host_ns: arithmetic and what else the kernels in process do, to compare ways of an engine
 * @bytes: bytes read and written
 * @field: field because of which it was refused
 * @text: reason
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
	uint64_t host_ns;
	uint64_t bytes;
	char field[64];
	char text[256];
};

/**
 * struct plan_candidates - the answer of accel_plan_explain()
 * @count: number of @c
 * @c: one for each group of identical engines
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
 * struct weights - a constant B that a plan holds
 * @bo: memory, or NULL
 * @layout: its &enum uma_layout
 * @scales: offset of its table of scales
 * @zeros: offset of its table of zero points
 * @bytes: total size
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

/* --- parts.c: operations that consist of several tasks ------------------------ */

/**
 * struct choice - an algorithm on a group of identical engines
 * @engine: the first of them
 * @instances: mask of their instances
 * @way: index of the algorithm
 * @ok: supported
 * @p: placement, or the reason for a refusal
 */
struct choice {
	const struct device_engine *engine;
	uint32_t instances;
	uint32_t way;
	bool ok;
	struct placement p;
};

/**
 * struct choices - the answers of all engines of a device
 * @ways: algorithms for the request
 * @way_count: number of @ways
 * @variants: variants of each algorithm
 * @variant_count: number of variants
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
