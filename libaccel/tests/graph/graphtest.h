/* SPDX-License-Identifier: MIT */
/*
 * What the tests of graphs share.
 */
#ifndef LIBACCEL_TESTS_GRAPHTEST_H
#define LIBACCEL_TESTS_GRAPHTEST_H

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <accel/accel.h>

#define DIMS(...)	(const int64_t[]){ __VA_ARGS__ }
#define RANK(...)	((uint32_t)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)))

struct bed {
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_graph *graph;
};

static inline int bed_setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	const char *name = getenv("ACCEL_TEST_DEVICE");

	assert_non_null(bed);
	assert_int_equal(accel_device_open(name ? name : "sw", NULL, &bed->dev), 0);
	assert_int_equal(accel_ctx_create(bed->dev, NULL, &bed->ctx), 0);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	*state = bed;
	return 0;
}

static inline int bed_teardown(void **state)
{
	struct bed *bed = *state;

	accel_graph_destroy(bed->graph);
	accel_ctx_destroy(bed->ctx);
	accel_device_unref(bed->dev);
	free(bed);
	return 0;
}

/*
 * The time that @build takes grows with its size and hardly faster: eight times as much takes
 * eight times as long, not 64. Of this process alone, the least of two: other programs,
 * sanitizers and emulators slow both sizes down. The second finds the pages that the first had:
 * where a hypervisor makes new ones slowly, only the larger size would wait for them.
 */
static inline void assert_linear(struct bed *bed,
				 void (*build)(struct bed *bed, uint32_t size), uint32_t size)
{
	clock_t least[2], took;
	int i;

	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	for (i = 0; i < 4; i++) {
		took = clock();
		build(bed, i & 1 ? size : size / 8);
		took = clock() - took;
		if (i < 2 || took < least[i & 1])
			least[i & 1] = took;
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
	}
	print_message("%u: %.3f s, %u: %.3f s\n", size / 8, (double)least[0] / CLOCKS_PER_SEC, size,
		      (double)least[1] / CLOCKS_PER_SEC);
	assert_true((double)least[1] < 24 * (double)least[0] + 0.1 * CLOCKS_PER_SEC);
}

static inline void must_graph(struct bed *bed, int ret, const char *what)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (!ret)
		return;
	accel_graph_get_error(bed->graph, &e);
	fail_msg("%s: %d: %s: %s", what, ret, e.field, e.text);
}

static inline void must_ctx(struct bed *bed, int ret, const char *what)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (!ret)
		return;
	accel_ctx_get_error(bed->ctx, &e);
	fail_msg("%s: %d: %s: %s", what, ret, e.field, e.text);
}

#define MUST_GRAPH(call)	must_graph(bed, call, #call)
#define MUST(call)		must_ctx(bed, call, #call)

static inline struct accel_value value_of(const char *name, uint32_t type, uint32_t rank,
					  const int64_t *dims)
{
	struct accel_value v = ACCEL_VALUE_INIT;

	v.type = type;
	v.rank = rank;
	v.name = name;
	if (rank)
		memcpy(v.dims, dims, rank * sizeof(*dims));
	return v;
}

static inline uint32_t add_input(struct bed *bed, const char *name, uint32_t type, uint32_t rank,
				 const int64_t *dims)
{
	struct accel_value v = value_of(name, type, rank, dims);
	uint32_t value = 0;

	MUST_GRAPH(accel_graph_input(bed->graph, &v, &value));
	return value;
}

/* @data is the test's until the graph and its programs are gone. */
static inline uint32_t add_const(struct bed *bed, uint32_t type, uint32_t rank,
				 const int64_t *dims, const void *data)
{
	struct accel_value v = value_of(NULL, type, rank, dims);
	uint32_t value = 0;

	MUST_GRAPH(accel_graph_constant(bed->graph, &v, data, NULL, NULL, &value));
	return value;
}

/* A copy of a list of numbers */
static inline uint32_t add_list(struct bed *bed, uint32_t count, const int64_t *list)
{
	struct accel_value v = value_of(NULL, ACCEL_HOST_S64, 1, DIMS(count));
	int64_t *data = malloc((count + 1) * sizeof(*data));
	uint32_t value = 0;

	assert_non_null(data);
	memcpy(data, list, count * sizeof(*data));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, data, free, data, &value));
	return value;
}

#define LIST(...)	add_list(bed, RANK(__VA_ARGS__), DIMS(__VA_ARGS__))

/* A node with inputs A, B, C, ... as many as there are (after C come those of a slice); gives D. */
static inline uint32_t add_node(struct bed *bed, const char *name, const struct accel_desc *desc,
				uint32_t count, const uint32_t *in)
{
	struct accel_graph_arg args[ACCEL_ARG_COUNT] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	uint32_t i;

	for (i = 0; i < count; i++)
		args[i + 1] = (struct accel_graph_arg) {
			desc->op == ACCEL_SHAPE_SLICE && i > 2 ? ACCEL_ARG_AUX0 + i - 3 :
				    ACCEL_ARG_A + i, in[i]
		};
	MUST_GRAPH(accel_graph_add(bed->graph, name, desc, args, count + 1));
	return args[0].value;
}

static inline uint32_t add_gemm(struct bed *bed, const char *name, uint32_t a, uint32_t b)
{
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;

	return add_node(bed, name, &d.hdr, 2, (uint32_t[]) { a, b });
}

static inline uint32_t add_act(struct bed *bed, const char *name, uint32_t act, uint32_t a)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;

	d.epilogue.act = act;
	return add_node(bed, name, &d.hdr, 1, &a);
}

static inline uint32_t add_unary(struct bed *bed, const char *name, uint32_t func, uint32_t a)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;

	d.func = func;
	return add_node(bed, name, &d.hdr, 1, &a);
}

static inline uint32_t add_binary(struct bed *bed, const char *name, uint32_t func, uint32_t a,
				  uint32_t b)
{
	struct accel_binary_desc d = ACCEL_BINARY_DESC_INIT;

	d.func = func;
	return add_node(bed, name, &d.hdr, 2, (uint32_t[]) { a, b });
}

static inline void add_output(struct bed *bed, const char *name, uint32_t value)
{
	MUST_GRAPH(accel_graph_output(bed->graph, name, value));
}

static inline struct accel_program *compile(struct bed *bed, uint32_t level, uint32_t off)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_program *program = NULL;

	opts.level = level;
	opts.off = off;
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
	return program;
}

static inline struct accel_state *new_state(struct bed *bed, struct accel_program *program)
{
	struct accel_state *s = NULL;

	MUST(accel_state_create(program, &s));
	return s;
}

/* Numbers from -1 to 1 that depend on their place and @seed alone. */
static inline float noise(uint64_t seed, uint64_t i)
{
	uint64_t z = seed * 0x100000000u + i + 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (float)(z >> 40) / 8388608 - 1;
}

static inline float *noise_floats(uint64_t seed, uint64_t count)
{
	float *f = malloc((count + 1) * sizeof(*f));
	uint64_t i;

	assert_non_null(f);
	for (i = 0; i < count; i++)
		f[i] = noise(seed, i);
	return f;
}

static inline void fill_input(struct accel_state *s, uint32_t index, const void *data,
			      uint64_t bytes)
{
	uint64_t have = 0;
	void *p = accel_state_get_input(s, index, &have);

	assert_non_null(p);
	assert_int_equal(have, bytes);
	memcpy(p, data, bytes);
}

static inline const void *output(struct bed *bed, struct accel_state *s, uint32_t index,
				 struct accel_value *v)
{
	const void *data = NULL;

	*v = (struct accel_value)ACCEL_VALUE_INIT;
	MUST(accel_state_get_output(s, index, v, &data));
	return data;
}

static inline uint64_t elements(const struct accel_value *v)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < v->rank; i++)
		n *= (uint64_t)v->dims[i];
	return n;
}

static inline void assert_dims(const struct accel_value *v, uint32_t rank, const int64_t *dims)
{
	uint32_t i;

	assert_int_equal(v->rank, rank);
	for (i = 0; i < rank; i++)
		assert_int_equal(v->dims[i], dims[i]);
}

static inline void assert_close(const float *got, const float *want, uint64_t count, double bound)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		if (!(fabs((double)got[i] - (double)want[i]) <= bound))
			fail_msg("element %llu is %g, should be %g", (unsigned long long)i,
				 (double)got[i], (double)want[i]);
}

/* Nodes on engines, in a state that is ready */
static inline uint32_t node_count(struct bed *bed, struct accel_state *s)
{
	struct accel_program_info info = { .size = sizeof(info) };

	MUST(accel_state_get_info(s, &info));
	return info.node_count;
}

#endif /* LIBACCEL_TESTS_GRAPHTEST_H */
