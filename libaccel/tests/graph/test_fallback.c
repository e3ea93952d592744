// SPDX-License-Identifier: MIT
/*
 * Programs in fp16 whose numbers are larger than that: products that become fp32 and stay so, in
 * all states and for all sizes; and what a run allocates then. Programs that make bytes of
 * activations, and say so.
 */
#include "counted.h"
#include "onnxrun.h"

#define ROWS	6
#define WIDTH	48
#define LAYERS	5

/**
 * struct chain - products one behind the other, with a function between two of them
 * @factors: what each multiplies the magnitudes by
 * @symbol: rows are a symbol
 * @named: products have names
 * @act: function
 */
struct chain {
	float factors[LAYERS];
	bool symbol;
	bool named;
	uint32_t act;
};

static float *weights[LAYERS];

/* Programs use them where they are: those that were made of others are gone. */
static void make_weights(const float *factors)
{
	uint32_t i, k;

	for (i = 0; i < LAYERS; i++) {
		free(weights[i]);
		weights[i] = noise_floats(i + 1, WIDTH * WIDTH);
		for (k = 0; k < WIDTH * WIDTH; k++)
			weights[i][k] *= factors[i] / 4;
	}
}

static struct accel_program *make(struct bed *bed, const struct chain *c, uint32_t precision)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_program *program = NULL;
	int64_t rows = ROWS;
	uint32_t i, x;
	char name[16];

	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	if (c->symbol)
		MUST_GRAPH(accel_graph_symbol(bed->graph, "rows", 1, 64, &rows));
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(rows, WIDTH));
	for (i = 0; i < LAYERS; i++) {
		snprintf(name, sizeof(name), "layer %u", i);
		x = add_gemm(bed, c->named ? name : NULL, x,
			     add_const(bed, ACCEL_F32, 2, DIMS(WIDTH, WIDTH), weights[i]));
		if (c->act && i + 1 < LAYERS)
			x = add_act(bed, NULL, c->act, x);
	}
	add_output(bed, "y", x);
	opts.precision = precision;
	MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
	return program;
}

static uint32_t fallbacks(struct bed *bed, struct accel_state *s)
{
	struct accel_program_info info = { .size = sizeof(info) };

	MUST(accel_state_get_info(s, &info));
	return info.fallback_count;
}

static void put(struct accel_state *s, uint32_t rows, uint64_t seed)
{
	float *x = noise_floats(seed, (uint64_t)rows * WIDTH), *to;

	assert_int_equal(accel_state_set_input(s, 0, 2, DIMS(rows, WIDTH), NULL, 0), 0);
	to = accel_state_get_input(s, 0, NULL);
	assert_non_null(to);
	memcpy(to, x, (uint64_t)rows * WIDTH * sizeof(*x));
	free(x);
}

/* Largest error of a run, as a share of the largest number */
static double off_by(struct bed *bed, struct accel_state *s, struct accel_state *right,
		     uint32_t rows, uint64_t seed)
{
	struct accel_value v, w;
	const float *y, *want;
	double error = 0, most = 0;
	uint64_t i;

	put(s, rows, seed);
	put(right, rows, seed);
	MUST(accel_state_run(s));
	MUST(accel_state_run(right));
	y = output(bed, s, 0, &v);
	want = output(bed, right, 0, &w);
	for (i = 0; i < elements(&w); i++) {
		assert_true(isfinite(want[i]));
		if (!isfinite(y[i]))
			return INFINITY;
		error = fmax(error, fabs((double)y[i] - (double)want[i]));
		most = fmax(most, fabs((double)want[i]));
	}
	return error / most;
}

static void check(struct bed *bed, const struct chain *c, uint32_t want)
{
	struct accel_state *s, *other, *right;
	struct accel_program *half, *full;
	unsigned int before;
	double error;
	uint32_t i;

	make_weights(c->factors);
	half = make(bed, c, ACCEL_PRECISION_F16);
	s = new_state(bed, half);
	other = new_state(bed, half);
	full = make(bed, c, ACCEL_PRECISION_KEEP);
	right = new_state(bed, full);
	for (i = 0; i < 3; i++) {
		error = off_by(bed, s, right, ROWS, 7 + i);
		if (!(error < 0.004) || fallbacks(bed, s) != want)
			fail_msg("run %u: %g, %u products in fp32, not %u", i, error,
				 fallbacks(bed, s), want);
	}
	/* Another state of the program has nothing to find out. */
	assert_true(off_by(bed, other, right, ROWS, 1) < 0.004);
	assert_int_equal(fallbacks(bed, other), want);
	if (COUNTED && !getenv("ACCEL_TEST_DEVICE")) {
		MUST(accel_state_run(s));
		before = atomic_load(&allocations);
		MUST(accel_state_run(s));
		assert_int_equal(atomic_load(&allocations) - before, FENCES);
	}
	accel_state_destroy(s);
	accel_state_destroy(other);
	accel_state_destroy(right);
	accel_program_unref(half);
	accel_program_unref(full);
}

/* --- what falls back ----------------------------------------------------------------------- */

static void test_none(void **arg)
{
	check(*arg, &(struct chain) { { 1, 1, 1, 1, 1 }, .named = true }, 0);
}

/* The second product gives numbers of 10^5: the third reads them in fp32, no other does. */
static void test_one(void **arg)
{
	check(*arg, &(struct chain) { { 1, 200000, 0.00001f, 1, 1 }, .named = true }, 1);
	check(*arg, &(struct chain) { { 1, 200000, 0.00001f, 1, 1 } }, 1);
}

/* Large numbers stay until the last but one; each is found behind the other. */
static void test_several(void **arg)
{
	check(*arg, &(struct chain) { { 200000, 1, 1, 0.00001f, 1 }, .named = true }, 3);
	check(*arg, &(struct chain) { { 200000, 1, 1, 0.00001f, 1 } }, 3);
	/* Behind the first, which fell, what was wrong because of it alone is fp16 again. */
	check(*arg, &(struct chain) { { 2e5f, 0.00001f, 1, 2e5f, 0.00001f }, .named = true }, 2);
}

/* Behind a function that is part of the product */
static void test_act(void **arg)
{
	const struct chain c = { { 200000, 0.00001f, 1, 1, 1 }, .act = ACCEL_ACT_RELU };

	check(*arg, &c, 1);
}

/* Weights that fp16 has not are known before anything runs. */
static void test_weights(void **arg)
{
	struct bed *bed = *arg;
	const struct chain c = { { 0.001f, 1000000, 0.001f, 1, 1 }, .named = true };
	struct accel_program *program;
	struct accel_state *s;

	make_weights(c.factors);
	program = make(bed, &c, ACCEL_PRECISION_F16);
	s = new_state(bed, program);
	assert_int_equal(fallbacks(bed, s), 1);
	accel_state_destroy(s);
	accel_program_unref(program);
	check(bed, &c, 1);
}

/* So are those of a part of a constant, which does not lie in one piece. */
static void test_part(void **arg)
{
	struct accel_shape_desc half = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	float *w = noise_floats(1, 2 * WIDTH * WIDTH);
	struct accel_program *program;
	struct bed *bed = *arg;
	struct accel_state *s;
	struct accel_value v;
	uint32_t from, i, x;
	const float *y;

	for (i = 0; i < 2 * WIDTH * WIDTH; i++)
		w[i] *= i % (2 * WIDTH) < WIDTH ? 1 : 1e6f;
	opts.precision = ACCEL_PRECISION_F16;
	for (from = 0; from <= WIDTH; from += WIDTH) {
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		x = add_input(bed, "x", ACCEL_F32, 2, DIMS(ROWS, WIDTH));
		x = add_gemm(bed, NULL, x,
			     add_node(bed, NULL, &half.hdr, 4, (uint32_t []) {
				      add_const(bed, ACCEL_F32, 2, DIMS(WIDTH, 2 * WIDTH), w),
				      LIST(from), LIST(from + WIDTH), LIST(1) }));
		add_output(bed, "y", x);
		MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
		s = new_state(bed, program);
		put(s, ROWS, 1);
		MUST(accel_state_run(s));
		assert_int_equal(fallbacks(bed, s), from ? 1 : 0);
		y = output(bed, s, 0, &v);
		for (i = 0; i < ROWS * WIDTH; i++)
			assert_true(isfinite(y[i]));
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	free(w);
}

/* What is said for six rows holds for any. */
static void test_sizes(void **arg)
{
	const struct chain c = { { 1, 200000, 0.00001f, 1, 1 }, .named = true, .symbol = true };
	struct bed *bed = *arg;
	struct accel_program *half, *full;
	struct accel_state *s, *right;
	uint32_t rows;

	make_weights(c.factors);
	half = make(bed, &c, ACCEL_PRECISION_F16);
	s = new_state(bed, half);
	full = make(bed, &c, ACCEL_PRECISION_KEEP);
	right = new_state(bed, full);
	assert_true(off_by(bed, s, right, 6, 3) < 0.004);
	for (rows = 1; rows < 20; rows += 9) {
		put(s, rows, 1);
		assert_int_equal(fallbacks(bed, s), 1);
		assert_true(off_by(bed, s, right, rows, 5) < 0.004);
	}
	accel_state_destroy(s);
	accel_state_destroy(right);
	accel_program_unref(half);
	accel_program_unref(full);
}

/* What is not finite in fp32 either comes to an end, and out. */
static void test_nan(void **arg)
{
	const struct chain c = { { 1, 1, 1, 1, 1 }, .named = true };
	struct bed *bed = *arg;
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	float *x;

	make_weights(c.factors);
	program = make(bed, &c, ACCEL_PRECISION_F16);
	s = new_state(bed, program);
	put(s, ROWS, 1);
	x = accel_state_get_input(s, 0, NULL);
	assert_non_null(x);
	x[3] = NAN;
	MUST(accel_state_run(s));
	x = (float *)(uintptr_t)output(bed, s, 0, &v);
	assert_true(isnan(x[0]));
	assert_true(isfinite(x[WIDTH]));
	assert_int_equal(fallbacks(bed, s), LAYERS);
	accel_state_destroy(s);
	accel_program_unref(program);
}

static int find(void *user, const char *text, size_t bytes)
{
	const char *what = user;

	(void)bytes;
	return strstr(text, what) ? 0 : -ENOENT;
}

static void test_explained(void **arg)
{
	const struct chain c = { { 1, 200000, 0.00001f, 1, 1 }, .named = true };
	struct bed *bed = *arg;
	struct accel_program *program;
	struct accel_state *s;
	char kept[] = "stays fp32: beyond fp16", json[] = "\"fallback\":true";

	make_weights(c.factors);
	program = make(bed, &c, ACCEL_PRECISION_F16);
	s = new_state(bed, program);
	put(s, ROWS, 1);
	assert_int_equal(accel_state_explain(s, ACCEL_TEXT_PLAIN, find, kept), -ENOENT);
	MUST(accel_state_run(s));
	MUST(accel_state_explain(s, ACCEL_TEXT_PLAIN, find, kept));
	MUST(accel_state_explain(s, ACCEL_TEXT_JSON, find, json));
	accel_state_destroy(s);
	accel_program_unref(program);
}

static int find_rounds(void *user, const char *text, uint64_t bytes)
{
	*(bool *)user = memmem(text, bytes, "\"rounds\":true", 13);
	return 0;
}

/* In a branch, if it ran; in products that may; where they are quantised, but no constants */
static void test_rounds(void **arg)
{
	static const float x[16] = { 1 }, s = 0.5f;
	struct bytes yes = { .n = 0 }, no = lone("Neg", "x", "v"), n;
	struct bed *bed = *arg;
	uint8_t i;

	in_body(&yes, "DynamicQuantizeLinear", "x", "p q r");
	in_body(&yes, "DequantizeLinear", "p q r", "v");
	put_name(&yes, 12, "v");
	for (i = 0; i < 12; i++) {
		struct tested *t = BEGIN(bed, IO("c", BOOL, NULL, 1), IO("x", F32, x, 1, 16),
					 CONST("k", F32, x, 1, 16), CONST("w", U8, x, 1, 1, 8),
					 CONST("s", F32, &s, 1));
		const uint8_t on = i % 2;
		bool rounds = !on;
		struct runner r;

		n = op(MS, "MatMulNBits", "x w s", "y");
		attr_int(&n, "K", 16);
		attr_int(&n, "N", 1);
		attr_int(&n, "block_size", 16);
		attr_int(&n, "accuracy_level", on ? 4 : 1);
		if (i < 4)
			add_if(&t->g, "c", "y", &yes, &no);
		else if (i < 8)
			add_op(t, &n);
		else
			ONE(t, NULL, "QuantizeLinear", on ? "x s" : "k s", "y");
		put_name(&t->g, 12, "y");
		r = start(t, i & 2 ? 3 : 0);
		set(&r, 0, 1, DIMS(1), &on, 1);
		set(&r, 1, 2, DIMS(1, 16), x, sizeof(x));
		run(&r);
		MUST(accel_state_explain(r.state, ACCEL_TEXT_JSON, find_rounds, &rounds));
		if (rounds != on)
			fail_msg("%u: %s", i, rounds ? "rounds" : "does not round");
		stop(&r);
	}
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_none), TEST(test_one), TEST(test_several), TEST(test_act),
		TEST(test_weights), TEST(test_part), TEST(test_sizes), TEST(test_nan),
		TEST(test_explained), TEST(test_rounds),
	};
	int ret = cmocka_run_group_tests_name("fallback", tests, NULL, NULL);
	uint32_t i;

	for (i = 0; i < LAYERS; i++)
		free(weights[i]);
	return ret;
}
