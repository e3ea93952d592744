// SPDX-License-Identifier: MIT
/*
 * Graphs at their edges: results in the place of inputs that are read twice, constants that
 * come and go with symbols, long chains, sizes that no memory has.
 */
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>
#include "libaccel/graph/graph.h"
#include "graphtest.h"

static struct accel_program *compile_cached(struct bed *bed, uint32_t cache)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_program *program = NULL;

	opts.cache = cache;
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
	return program;
}

static uint32_t add_transpose(struct bed *bed, const char *name, uint32_t a)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_TRANSPOSE);

	return add_node(bed, name, &d.hdr, 1, &a);
}

static uint32_t add_copy(struct bed *bed, const char *name, uint32_t type, uint32_t a)
{
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;

	d.d.dtype = type;
	return add_node(bed, name, &d.hdr, 1, &a);
}

/* --- many symbols ---------------------------------------------------------------------- */

/* Where no numbers help, that takes a look at few of the pairs of symbols. */
static void test_many_symbols(void **arg)
{
	enum { SYMBOLS = 1000 };
	static const float list[5 * 7 * 11 * 13];
	struct bed *bed = *arg;
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t i, looks, some = 0;
	char name[16];
	int64_t dim;

	for (i = 0; i < SYMBOLS; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		MUST_GRAPH(accel_graph_symbol(bed->graph, name, 1, 1 << 20, &dim));
		v = (struct accel_value)ACCEL_VALUE_INIT;
		some = add_input(bed, name, ACCEL_F32, 1, DIMS(dim));
	}
	i = add_binary(bed, "fits", ACCEL_BINARY_MUL, some, some);
	assert_int_equal(accel_graph_get_value(bed->graph, i, &v), 0);
	looks = bed->graph->looks;
	i = add_binary(bed, "never", ACCEL_BINARY_ADD,
		       add_const(bed, ACCEL_F32, 4, DIMS(3, 5, 7, 11), list),
		       add_const(bed, ACCEL_F32, 4, DIMS(5, 7, 11, 13), list));
	assert_int_equal(accel_graph_get_value(bed->graph, i, &v), -EINVAL);
	assert_in_range(looks - bed->graph->looks, 1, 20 * SYMBOLS);
}

/* --- results in the place of inputs --------------------------------------------------- */

#define SIDE 67

/* abs(x) + transpose(abs(x)): the same elements, in another order */
static void test_read_twice(void **arg)
{
	struct bed *bed = *arg;
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(SIDE, SIDE)), a, i, k, level;
	float *in = noise_floats(1, SIDE * SIDE), want;
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	const float *got;

	a = add_unary(bed, "abs", ACCEL_UNARY_ABS, x);
	add_output(bed, "y", add_binary(bed, "sum", ACCEL_BINARY_ADD, a,
					add_transpose(bed, "turned", a)));
	for (level = 0; level < 4; level++) {
		program = compile(bed, level, 0);
		s = new_state(bed, program);
		fill_input(s, 0, in, SIDE * SIDE * sizeof(*in));
		MUST(accel_state_run(s));
		got = output(bed, s, 0, &v);
		for (i = 0; i < SIDE; i++)
			for (k = 0; k < SIDE; k++) {
				want = fabsf(in[i * SIDE + k]) + fabsf(in[k * SIDE + i]);
				if (got[i * SIDE + k] != want)
					fail_msg("level %u: (%u, %u) is %g, should be %g", level, i,
						 k, (double)got[i * SIDE + k], (double)want);
			}
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	free(in);
}

/* The same with a line of its own, which the first one overwrites */
static void test_read_line(void **arg)
{
	struct bed *bed = *arg;
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(SIDE, SIDE)), a, line, i;
	float *in = noise_floats(2, SIDE * SIDE), want;
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	const float *got;

	a = add_unary(bed, "abs", ACCEL_UNARY_ABS, x);
	line = add_node(bed, "line", &cut.hdr, 3, (uint32_t[]) { a, LIST(0), LIST(1) });
	add_output(bed, "y", add_binary(bed, "sum", ACCEL_BINARY_SUB, a, line));
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	fill_input(s, 0, in, SIDE * SIDE * sizeof(*in));
	MUST(accel_state_run(s));
	got = output(bed, s, 0, &v);
	for (i = 0; i < SIDE * SIDE; i++) {
		want = fabsf(in[i]) - fabsf(in[i % SIDE]);
		if (got[i] != want)
			fail_msg("%u is %g, should be %g", i, (double)got[i], (double)want);
	}
	accel_state_destroy(s);
	accel_program_unref(program);
	free(in);
}

/* Backwards: steps below 0 */
static void test_backwards(void **arg)
{
	struct bed *bed = *arg;
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(3, 5)), i;
	static const float in[15] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };
	static const float want[6] = { 14, 12, 10, 4, 2, 0 };
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;

	x = add_node(bed, "cut", &cut.hdr, 5, (uint32_t[]) {
		     x, LIST(-1, INT64_MAX), LIST(INT64_MIN, INT64_MIN), LIST(0, 1),
		     LIST(-2, -2) });
	add_output(bed, "cut", x);
	add_output(bed, "abs", add_unary(bed, "abs", ACCEL_UNARY_ABS, x));
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	fill_input(s, 0, in, sizeof(in));
	MUST(accel_state_run(s));
	for (i = 0; i < 2; i++) {
		const float *got = output(bed, s, i, &v);

		assert_dims(&v, 2, DIMS(2, 3));
		assert_close(got, want, 6, 0);
	}
	accel_state_destroy(s);
	accel_program_unref(program);
}

/* More pieces than values have dimensions */
static void test_pieces(void **arg)
{
	struct bed *bed = *arg;
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_PIECE);
	uint32_t x = add_input(bed, "x", ACCEL_F32, 1, DIMS(45)), sizes;
	struct accel_value v = ACCEL_VALUE_INIT;

	sizes = LIST(1, 2, 3, 4, 5, 6, 7, 8, 9);
	cut.count = 9;
	for (cut.index = 0; cut.index < 9; cut.index++) {
		const uint32_t piece = add_node(bed, "cut", &cut.hdr, 2, (uint32_t[]) { x, sizes });

		MUST_GRAPH(accel_graph_get_value(bed->graph, piece, &v));
		assert_dims(&v, 1, DIMS(cut.index + 1));
	}
}

/* --- constants -------------------------------------------------------------------------- */

/* The numbers that follow from symbols are those of this run, not of one that is gone. */
static void test_constants_of_symbols(void **arg)
{
	struct bed *bed = *arg;
	struct accel_shape_desc of = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_OF);
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	const float *got;
	float in[64] = { 0 };
	int64_t n, dim;
	uint32_t x;

	MUST_GRAPH(accel_graph_symbol(bed->graph, "n", 1, 64, &dim));
	x = add_input(bed, "x", ACCEL_F32, 1, &dim);
	add_output(bed, "y", add_binary(bed, "sum", ACCEL_BINARY_ADD, x,
					add_copy(bed, "length", ACCEL_F32,
						 add_node(bed, "shape", &of.hdr, 1, &x))));
	program = compile_cached(bed, 1);
	s = new_state(bed, program);
	for (n = 1; n <= 64; n++) {
		MUST(accel_state_set_input(s, 0, 1, &n, NULL, 0));
		fill_input(s, 0, in, (uint64_t)n * sizeof(in[0]));
		MUST(accel_state_run(s));
		got = output(bed, s, 0, &v);
		if (got[n - 1] != (float)n)
			fail_msg("%lld is %g", (long long)n, (double)got[n - 1]);
	}
	accel_state_destroy(s);
	accel_program_unref(program);
}

/* An input is every result: more values come while the first is looked at. */
static void test_many_results(void **arg)
{
	struct bed *bed = *arg;
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(2, 3)), i;
	static const float in[6] = { 1, 2, 3, 4, 5, 6 };
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;

	for (i = 0; i < 300; i++)
		add_output(bed, "y", x);
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	fill_input(s, 0, in, sizeof(in));
	MUST(accel_state_run(s));
	for (i = 0; i < 300; i++) {
		const float *got = output(bed, s, i, &v);

		assert_dims(&v, 2, DIMS(2, 3));
		assert_close(got, in, 6, 0);
	}
	accel_state_destroy(s);
	accel_program_unref(program);
}

/* --- sizes ------------------------------------------------------------------------------- */

#define CHAIN 6000

static void *compile_chain(void *arg)
{
	struct bed *bed = arg;
	struct accel_program *program = NULL;
	int ret = accel_graph_compile(bed->ctx, bed->graph, NULL, &program);

	accel_program_unref(program);
	return ret ? bed : NULL;
}

/* What nodes need of each other is followed without a stack frame for each. */
static void test_long_chain(void **arg)
{
	struct bed *bed = *arg;
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(2, 2)), w, y, r, i;
	static const float eye[4] = { 1, 0, 0, 1 };
	pthread_attr_t attr;
	pthread_t thread;
	void *failed;

	w = add_const(bed, ACCEL_F32, 2, DIMS(2, 2), eye);
	/* The product takes the end of the chain in, and so runs behind it. */
	y = add_gemm(bed, "product", x, w);
	for (i = 0, r = x; i < CHAIN; i++)
		r = add_unary(bed, "chain", ACCEL_UNARY_NEG, r);
	add_output(bed, "y", add_binary(bed, "sum", ACCEL_BINARY_ADD, y, r));
	/* These are the CPU's, but wait for an engine. */
	for (i = 0, r = add_copy(bed, "cast", ACCEL_HOST_S64, r); i < CHAIN; i++)
		r = add_unary(bed, "chain", ACCEL_UNARY_NEG, r);
	add_output(bed, "z", r);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, 256 << 10), 0);
	assert_int_equal(pthread_create(&thread, &attr, compile_chain, bed), 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	pthread_attr_destroy(&attr);
	assert_null(failed);
}

static int resolve(struct bed *bed, uint32_t value)
{
	struct accel_value v = ACCEL_VALUE_INIT;

	return accel_graph_get_value(bed->graph, value, &v);
}

/* Products of dimensions have an end, also beside a dimension of nothing. */
static void test_huge(void **arg)
{
	struct bed *bed = *arg;
	const int64_t most = 1LL << 46;
	struct accel_shape_desc expand = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_EXPAND);
	struct accel_shape_desc fill = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_FILL);
	struct accel_shape_desc reshape = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	struct accel_value v = value_of("x", ACCEL_F32, 3, DIMS(0, most, most));
	static const float one = 1, far = 1e30f;
	uint32_t x, list, none;

	assert_int_equal(accel_graph_input(bed->graph, &v, &x), -EOVERFLOW);
	assert_int_equal(accel_graph_constant(bed->graph, &v, &one, NULL, NULL, &x), -EOVERFLOW);
	/* 2^64 + 1 elements are one, if nobody looks. */
	list = LIST(274177, 67280421310721);
	x = add_const(bed, ACCEL_F32, 0, DIMS(0), &one);
	x = add_node(bed, "expand", &expand.hdr, 2, (uint32_t[]) { x, list });
	assert_int_equal(resolve(bed, x), -EINVAL);
	accel_graph_destroy(bed->graph);
	MUST(accel_graph_create(&bed->graph));
	list = LIST(most, most, 0);
	x = add_node(bed, "fill", &fill.hdr, 1, &list);
	assert_int_equal(resolve(bed, x), -EINVAL);
	accel_graph_destroy(bed->graph);
	MUST(accel_graph_create(&bed->graph));
	none = add_const(bed, ACCEL_F32, 1, DIMS(0), &one);
	list = LIST(INT64_MAX, INT64_MAX, 0);
	reshape.flags = ACCEL_SHAPE_ZERO;
	x = add_node(bed, "reshape", &reshape.hdr, 2, (uint32_t[]) { none, list });
	assert_int_equal(resolve(bed, x), -EINVAL);
	accel_graph_destroy(bed->graph);
	MUST_GRAPH(accel_graph_create(&bed->graph));
	/* Dimensions are integers: this one would be none. */
	none = add_const(bed, ACCEL_F32, 1, DIMS(1), &far);
	x = add_node(bed, "fill", &fill.hdr, 1, &none);
	assert_int_equal(resolve(bed, x), -EOPNOTSUPP);
}

/* Few bytes do not become many because they are constant. */
static void test_folding_ends(void **arg)
{
	struct bed *bed = *arg;
	struct accel_shape_desc fill = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_FILL);
	struct accel_shape_desc range = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RANGE);
	static const int64_t numbers[3] = { 0, 1 << 22, 1 };
	struct mallinfo2 before = mallinfo2(), after;
	uint32_t list = LIST(1 << 22), x, i, in[3];
	size_t more;

	x = add_node(bed, "fill", &fill.hdr, 1, &list);
	for (i = 0; i < 40; i++)
		x = add_unary(bed, "neg", ACCEL_UNARY_NEG, x);
	MUST_GRAPH(resolve(bed, x));
	after = mallinfo2();
	more = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
	if (more > 300u << 20)
		fail_msg("%zu bytes for a graph of two numbers", more);
	for (i = 0; i < 3; i++)
		in[i] = add_const(bed, ACCEL_HOST_S64, 0, DIMS(0), &numbers[i]);
	for (i = 0; i < 40; i++)
		x = add_node(bed, "range", &range.hdr, 3, in);
	assert_int_equal(resolve(bed, x), -EINVAL);
}

/* A graph that gives its one input */
static struct accel_graph *small_body(void)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_graph *g;
	uint32_t x;

	v.type = ACCEL_F32;
	assert_int_equal(accel_graph_create(&g), 0);
	assert_int_equal(accel_graph_input(g, &v, &x), 0);
	assert_int_equal(accel_graph_output(g, "y", x), 0);
	return g;
}

/* Graphs of nodes are theirs alone: each once, where the operation has one, and not that around. */
static void test_bodies(void **state)
{
	struct accel_dynamic_desc d = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_IF);
	uint32_t in[3], out[4], i;
	struct bed *bed = *state;

	for (i = 0; i < 3; i++)
		in[i] = add_input(bed, NULL, i ? ACCEL_F32 : ACCEL_HOST_BOOL, 0, DIMS(0));
	d.body = d.other = small_body();
	assert_int_equal(accel_graph_dynamic(bed->graph, NULL, &d, in, 3, out, 1), -EINVAL);
	d.body = bed->graph;
	d.other = small_body();
	assert_int_equal(accel_graph_dynamic(bed->graph, NULL, &d, in, 3, out, 1), -EINVAL);
	d = (struct accel_dynamic_desc)ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_NONZERO);
	d.body = small_body();
	assert_int_equal(accel_graph_dynamic(bed->graph, NULL, &d, in, 1, out, 1), -EINVAL);
	d = (struct accel_dynamic_desc)ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_IF);
	d.body = small_body();
	d.other = small_body();
	assert_int_equal(accel_graph_dynamic(bed->graph, NULL, &d, in, 3, out, 1), 0);
	add_output(bed, "y", out[0]);
	accel_program_unref(compile(bed, 3, 0));
}

/* --- results without elements ------------------------------------------------------------ */

/* They lie anyhow, and a program with them is saved and loaded as others. */
static void test_empty_results(void **arg)
{
	struct bed *bed = *arg;
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	char path[] = "/tmp/test_edges.XXXXXX";
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	uint32_t x, y;

	x = add_unary(bed, "abs", ACCEL_UNARY_ABS, add_input(bed, "x", ACCEL_F32, 2, DIMS(0, 6)));
	y = add_unary(bed, "all", ACCEL_UNARY_ABS, add_input(bed, "y", ACCEL_F32, 2, DIMS(3, 6)));
	add_output(bed, "turned", add_transpose(bed, "turn", x));
	add_output(bed, "none", add_node(bed, "cut", &cut.hdr, 3,
					 (uint32_t[]) { y, LIST(1), LIST(1) }));
	close(mkstemp(path));
	program = compile(bed, 3, 0);
	MUST(accel_program_save(program, path, 0));
	accel_program_unref(program);
	MUST(accel_program_load(bed->ctx, path, NULL, &program));
	unlink(path);
	s = new_state(bed, program);
	MUST(accel_state_run(s));
	output(bed, s, 0, &v);
	assert_true(v.rank == 2 && v.dims[0] == 6 && !v.dims[1]);
	output(bed, s, 1, &v);
	assert_true(v.rank == 2 && !v.dims[0] && v.dims[1] == 6);
	accel_state_destroy(s);
	accel_program_unref(program);
}

static void assert_none(struct bed *bed, int ret, const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	assert_int_equal(ret, -EINVAL);
	assert_int_equal(accel_graph_get_error(bed->graph, &e), 0);
	assert_string_equal(e.field, field);
}

/* Dimensions that are symbols, or come from some; a program is there until the last reference. */
static void test_varies(void **arg)
{
	static const float w[8 * 4];
	struct bed *bed = *arg;
	struct accel_program *p;
	struct accel_state *s;
	int64_t rows, one;
	uint32_t x, y;

	MUST_GRAPH(accel_graph_symbol(bed->graph, "rows", 2, 64, &rows));
	MUST_GRAPH(accel_graph_symbol(bed->graph, "one", 3, 3, &one));
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(rows, 8));
	y = add_gemm(bed, "y", x, add_const(bed, ACCEL_F32, 2, DIMS(8, 4), w));
	assert_int_equal(accel_graph_varies(bed->graph, y, 0), 1);
	assert_int_equal(accel_graph_varies(bed->graph, y, 1), 0);
	assert_none(bed, accel_graph_varies(bed->graph, y, 2), "dim");
	assert_none(bed, accel_graph_varies(bed->graph, y + 1, 0), "value");
	/* A symbol of one number is that number. */
	x = add_input(bed, "z", ACCEL_F32, 1, &one);
	assert_int_equal(accel_graph_varies(bed->graph, x, 0), 0);
	add_output(bed, "y", y);
	p = compile(bed, 3, 0);
	assert_ptr_equal(accel_program_ref(p), p);
	accel_program_unref(p);
	s = new_state(bed, p);
	accel_program_unref(p);
	MUST(accel_state_set_input(s, 0, 2, DIMS(2, 8), NULL, 0));
	MUST(accel_state_set_input(s, 1, 1, DIMS(3), NULL, 0));
	MUST(accel_state_run(s));
	accel_state_destroy(s);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_read_twice),
		TEST(test_read_line),
		TEST(test_backwards),
		TEST(test_pieces),
		TEST(test_constants_of_symbols),
		TEST(test_many_symbols),
		TEST(test_varies),
		TEST(test_many_results),
		TEST(test_long_chain),
		TEST(test_huge),
		TEST(test_folding_ends),
		TEST(test_bodies),
		TEST(test_empty_results),
	};

	return cmocka_run_group_tests_name("edges", tests, NULL, NULL);
}
