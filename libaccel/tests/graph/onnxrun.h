/* SPDX-License-Identifier: MIT */
/*
 * Models with graphs within graphs, run again and again with other numbers in one state.
 */
#ifndef LIBACCEL_TESTS_ONNXRUN_H
#define LIBACCEL_TESTS_ONNXRUN_H

#include "onnxop.h"

static inline void attr_graph(struct bytes *n, const char *name, const struct bytes *g)
{
	static struct bytes a;

	a.n = 0;
	put_text(&a, 1, name);
	put_message(&a, 6, g);
	put_int(&a, 20, 5);
	put_message(n, 5, &a);
}

static inline void in_body(struct bytes *g, const char *type, const char *in, const char *out)
{
	const struct bytes n = op(NULL, type, in, out);

	put_message(g, 1, &n);
}

/* A value of a graph of a node, with no more said than its name */
static inline void put_name(struct bytes *g, uint32_t id, const char *name)
{
	struct bytes v = { .n = 0 };

	put_text(&v, 1, name);
	put_message(g, id, &v);
}

/* A graph of one node with one result */
static inline struct bytes lone(const char *type, const char *in, const char *out)
{
	struct bytes g = { .n = 0 };

	in_body(&g, type, in, out);
	put_name(&g, 12, out);
	return g;
}

static inline void add_if(struct bytes *g, const char *condition, const char *out,
			  const struct bytes *yes, const struct bytes *no)
{
	struct bytes n = op(NULL, "If", condition, out);

	attr_graph(&n, "then_branch", yes);
	attr_graph(&n, "else_branch", no);
	put_message(g, 1, &n);
}

/**
 * struct runner - a model in one state
 * @bed: bed
 * @model: model
 * @program: program
 * @state: state
 */
struct runner {
	struct bed *bed;
	struct accel_model *model;
	struct accel_program *program;
	struct accel_state *state;
};

static inline struct runner start(struct tested *t, uint32_t level)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct runner r = { .bed = t->bed };
	struct accel_error e;
	struct bed *bed = t->bed;

	if (open_tested(t, &e, &r.model))
		fail_msg("%s: %s", e.field, e.text);
	opts.level = level;
	MUST(accel_graph_compile(bed->ctx, accel_model_graph(r.model), &opts, &r.program));
	accel_model_close(r.model);
	r.state = new_state(bed, r.program);
	return r;
}

static inline void stop(struct runner *r)
{
	accel_state_destroy(r->state);
	accel_program_unref(r->program);
}

static inline void set(struct runner *r, uint32_t index, uint32_t rank, const int64_t *dims,
		       const void *data, size_t bytes)
{
	struct bed *bed = r->bed;

	MUST(accel_state_set_input(r->state, index, rank, dims, NULL, 0));
	fill_input(r->state, index, data, bytes);
}

/* Result @index has these floats, and so many dimensions. */
static inline void has(struct runner *r, uint32_t index, uint32_t rank, uint32_t count,
		       const float *want)
{
	struct accel_value v;
	const float *got = output(r->bed, r->state, index, &v);
	uint32_t i;

	assert_int_equal(v.type, ACCEL_F32);
	assert_int_equal(v.rank, rank);
	assert_int_equal(elements(&v), count);
	for (i = 0; i < count; i++)
		if (got[i] != want[i])
			fail_msg("result %u, element %u: %g, not %g", index, i, (double)got[i],
				 (double)want[i]);
}

static inline void run(struct runner *r)
{
	struct bed *bed = r->bed;

	MUST(accel_state_run(r->state));
}

#endif /* LIBACCEL_TESTS_ONNXRUN_H */
