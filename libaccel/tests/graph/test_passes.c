// SPDX-License-Identifier: MIT
/*
 * Passes: a graph means the same with each of them and without, and each finds what it
 * is for. Level 0 is what the others are compared with; it is compared with loops in
 * test_graph. One file, for they share how forms of a graph are compared.
 */
#include <json-c/json.h>
#include "graphtest.h"

#define MAX_INPUTS	8

/* --- what became of a graph -------------------------------------------------------- */

static int take_text(void *user, const char *text, uint64_t bytes)
{
	*(struct json_object **)user = json_tokener_parse(text);
	(void)bytes;
	return 0;
}

static const char *text_of(struct json_object *node, const char *key)
{
	struct json_object *v = NULL;

	assert_true(json_object_object_get_ex(node, key, &v));
	return json_object_get_string(v);
}

/* Nodes of operation @op that pass @pass made and kernel @kernel computes; NULL: any */
static uint32_t count_each(struct bed *bed, struct accel_state *s, const char *op,
			   const char *pass, const char *kernel)
{
	struct json_object *doc = NULL, *nodes = NULL, *node;
	char quoted[64];
	uint32_t n = 0;
	size_t i;

	MUST(accel_state_explain(s, ACCEL_TEXT_JSON, take_text, &doc));
	assert_non_null(doc);
	assert_true(json_object_object_get_ex(doc, "nodes", &nodes));
	snprintf(quoted, sizeof(quoted), "\"%s\"", pass ? pass : "");
	for (i = 0; i < json_object_array_length(nodes); i++) {
		node = json_object_array_get_idx(nodes, i);
		if ((op && strcmp(text_of(node, "op"), op)) ||
		    (kernel && strcmp(text_of(node, "kernel"), kernel)))
			continue;
		n += !pass || strstr(text_of(node, "passes"), quoted);
	}
	json_object_put(doc);
	return n;
}

static uint32_t count_nodes(struct bed *bed, struct accel_state *s, const char *op,
			    const char *pass)
{
	return count_each(bed, s, op, pass, NULL);
}

/* Those of an operation whose code is the model's */
static uint32_t count_slow(struct bed *bed, struct accel_state *s, const char *op)
{
	return count_each(bed, s, op, NULL, "model");
}

/**
 * struct form - a graph that was compiled and run once
 * @program: program
 * @s: state
 */
struct form {
	struct accel_program *program;
	struct accel_state *s;
};

static struct form run_form(struct bed *bed, uint32_t level, uint32_t off)
{
	struct form f = { compile(bed, level, off), NULL };
	struct accel_value v = ACCEL_VALUE_INIT;
	uint64_t bytes, k;
	uint32_t i;
	float *p;

	f.s = new_state(bed, f.program);
	for (i = 0; !accel_program_get_input(f.program, i, &v); i++) {
		p = accel_state_get_input(f.s, i, &bytes);
		assert_non_null(p);
		assert_int_equal(v.type, ACCEL_F32);
		for (k = 0; k < bytes / sizeof(float); k++)
			p[k] = noise(100 + i, k);
	}
	MUST(accel_state_run(f.s));
	return f;
}

static void end_form(struct form *f)
{
	accel_state_destroy(f->s);
	accel_program_unref(f->program);
}

static void assert_same(struct bed *bed, struct form *a, struct form *b, double bound)
{
	struct accel_value v, w;
	const float *x, *y;
	double most = 1;
	uint64_t k;
	uint32_t i;
	const void *data;

	for (i = 0; ; i++) {
		v = (struct accel_value)ACCEL_VALUE_INIT;
		if (accel_state_get_output(a->s, i, &v, &data))
			break;
		x = data;
		y = output(bed, b->s, i, &w);
		assert_dims(&v, w.rank, w.dims);
		for (k = 0; k < elements(&v); k++)
			most = fabs((double)y[k]) > most ? fabs((double)y[k]) : most;
		assert_close(x, y, elements(&v), bound * most);
	}
	assert_int_not_equal(i, 0);
}

/* All passes, all but @pass, none: alike. The first is left for a closer look. */
static struct form with_and_without(struct bed *bed, uint32_t pass, double bound)
{
	struct form all = run_form(bed, 3, 0), less = run_form(bed, 3, 1u << pass);
	struct form none = run_form(bed, 0, 0);

	assert_int_equal(count_nodes(bed, less.s, NULL, accel_pass_name(pass)), 0);
	assert_int_not_equal(count_nodes(bed, all.s, NULL, accel_pass_name(pass)), 0);
	assert_same(bed, &less, &none, bound);
	assert_same(bed, &all, &none, bound);
	end_form(&less);
	end_form(&none);
	return all;
}

/* --- layouts ----------------------------------------------------------------------- */

static float *weights[8];
static uint32_t weight_count;

static uint32_t add_noise(struct bed *bed, uint32_t rank, const int64_t *dims)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < rank; i++)
		n *= (uint64_t)dims[i];
	assert_in_range(weight_count, 0, 7);
	weights[weight_count] = noise_floats(7 + weight_count, n);
	return add_const(bed, ACCEL_F32, rank, dims, weights[weight_count++]);
}

#define NOISE(...)	add_noise(bed, RANK(__VA_ARGS__), DIMS(__VA_ARGS__))
static void drop_noise(void)
{
	while (weight_count)
		free(weights[--weight_count]);
}

static uint32_t add_conv(struct bed *bed, const char *name, uint32_t x, uint32_t w, uint32_t groups,
			 uint32_t pad)
{
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	uint32_t i;

	d.groups = groups;
	for (i = 0; i < 2; i++) {
		d.pad_before[i] = pad;
		d.pad_after[i] = pad;
	}
	return add_node(bed, name, &d.hdr, 2, (uint32_t[]) { x, w });
}

static uint32_t add_slice(struct bed *bed, uint32_t x, int64_t from, int64_t to, int64_t axis,
			  int64_t step)
{
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);

	return add_node(bed, "cut", &cut.hdr, 5, (uint32_t[]) { x, LIST(from), LIST(to),
								 LIST(axis), LIST(step) });
}

static uint32_t add_shape(struct bed *bed, uint32_t op, uint32_t x, uint32_t list)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);

	return add_node(bed, "shape", &d.hdr, 2, (uint32_t[]) { x, list });
}

static uint32_t add_order(struct bed *bed, uint32_t x, uint32_t rank, const uint32_t *order)
{
	struct accel_shape_desc move = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_TRANSPOSE);

	memcpy(move.order, order, rank * sizeof(*order));
	return add_node(bed, "order", &move.hdr, 1, &x);
}

/*
 * Pictures that are cut, put together, multiplied channel by channel, pooled, taken for
 * a sequence of pixels (which channels last make a view) and for one line (which is a copy).
 */
static void test_layout(void **arg)
{
	struct accel_concat_desc concat = ACCEL_CONCAT_DESC_INIT;
	struct accel_pool_desc pool = ACCEL_POOL_DESC_INIT, global = ACCEL_POOL_DESC_INIT;
	struct bed *bed = *arg;
	uint32_t x, y, z, copies, i;
	struct form f;

	x = add_input(bed, "x", ACCEL_F32, 4, DIMS(2, 3, 10, 9));
	x = add_conv(bed, "first", x, NOISE(8, 3, 3, 3), 1, 1);
	x = add_act(bed, "relu", ACCEL_ACT_RELU, x);
	y = add_conv(bed, "deep", x, NOISE(8, 1, 3, 3), 8, 1);
	x = add_binary(bed, "sum", ACCEL_BINARY_ADD, y, x);
	concat.count = 3;
	concat.axis = 1;
	x = add_node(bed, "concat", &concat.hdr, 3,
		     (uint32_t[]) { x, add_slice(bed, x, 1, 8, 1, 3),
				    add_slice(bed, y, 2, 5, 1, 1) });
	x = add_conv(bed, "wide", x, NOISE(6, 14, 1, 1), 1, 0);
	global.func = ACCEL_POOL_AVERAGE;
	global.flags = ACCEL_POOL_GLOBAL;
	y = add_unary(bed, "gate", ACCEL_UNARY_SIN, add_node(bed, "mean", &global.hdr, 1, &x));
	x = add_binary(bed, "times", ACCEL_BINARY_MUL, x, y);
	pool.func = ACCEL_POOL_MAX;
	for (i = 0; i < 2; i++) {
		pool.kernel[i] = 2;
		pool.stride[i] = 2;
	}
	x = add_node(bed, "pool", &pool.hdr, 1, &x);
	y = add_shape(bed, ACCEL_SHAPE_RESHAPE, add_slice(bed, x, 0, 4, 3, 1), LIST(2, 6, 20));
	z = add_slice(bed, x, 1, 5, 2, 2);
	x = add_shape(bed, ACCEL_SHAPE_RESHAPE, x, LIST(2, 6, 20));
	x = add_order(bed, x, 3, (uint32_t[]) { 0, 2, 1 });
	add_output(bed, "pixels", add_gemm(bed, "product", x, NOISE(6, 5)));
	add_output(bed, "line", add_unary(bed, "sin", ACCEL_UNARY_SIN, y));
	add_output(bed, "rows", add_unary(bed, "sin", ACCEL_UNARY_SIN, z));
	f = with_and_without(bed, ACCEL_PASS_LAYOUT, 0.00001);
	copies = count_nodes(bed, f.s, "copy", NULL);
	end_form(&f);
	f = run_form(bed, 3, 1u << ACCEL_PASS_LAYOUT);
	/* The line is the one that needs the old order. */
	assert_in_range(copies, 0, count_nodes(bed, f.s, "copy", NULL) + 1);
	end_form(&f);
	drop_noise();
}

/*
 * What is made of the transpose of a picture lies as it says: channels last are side by side
 * for a line of them, and nothing has to be moved.
 */
static void test_layout_transposed(void **arg)
{
	struct accel_softmax_desc soft = ACCEL_SOFTMAX_DESC_INIT;
	struct accel_conv_desc conv = ACCEL_CONV_DESC_INIT;
	struct bed *bed = *arg;
	uint32_t x = add_input(bed, "x", ACCEL_F32, 3, DIMS(2, 3, 90));
	struct form f;

	conv.pad_before[0] = 1;
	conv.pad_after[0] = 1;
	x = add_node(bed, "conv", &conv.hdr, 2, (uint32_t[]) { x, NOISE(8, 3, 3) });
	x = add_order(bed, x, 3, (uint32_t[]) { 0, 2, 1 });
	x = add_binary(bed, "places", ACCEL_BINARY_ADD, x, NOISE(90, 8));
	soft.axis = 2;
	add_output(bed, "y", add_node(bed, "soft", &soft.hdr, 1, &x));
	f = with_and_without(bed, ACCEL_PASS_LAYOUT, 0.00001);
	assert_int_equal(count_nodes(bed, f.s, "softmax", NULL), 1);
	assert_int_equal(count_nodes(bed, f.s, "softmax", "layout"), 0);
	assert_int_equal(count_nodes(bed, f.s, "copy", NULL), 0);
	end_form(&f);
	drop_noise();
}

/* A norm of each pixel over its channels, or of each channel over its pixels */
static uint32_t add_norm(struct bed *bed, uint32_t func, uint32_t x, int64_t n)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, x },
		{ ACCEL_ARG_SCALE, NOISE(n) }, { ACCEL_ARG_BIAS, NOISE(n) },
	};

	d.func = func;
	d.channel = 1;
	d.eps = 0.001f;
	MUST_GRAPH(accel_graph_add(bed->graph, "norm", &d.hdr, args, 4));
	return args[0].value;
}

/*
 * Norms between convolutions: of channels, which lie side by side, as transposes have them,
 * and with a sum of what was transposed; of pixels, which have to be put side by side.
 */
static void test_layout_norms(void **arg)
{
	static const uint32_t to_last[] = { 0, 2, 3, 1 }, to_first[] = { 0, 3, 1, 2 };
	struct bed *bed = *arg;
	uint32_t way, x, y;
	struct form f;

	for (way = 0; way < 2; way++) {
		x = add_input(bed, "x", ACCEL_F32, 4, DIMS(2, 3, 9, 10));
		x = add_conv(bed, "first", x, NOISE(32, 3, 3, 3), 1, 1);
		if (way) {
			x = add_norm(bed, ACCEL_NORM_INSTANCE, x, 32);
			x = add_conv(bed, "second", x, NOISE(8, 32, 3, 3), 1, 1);
		} else {
			x = add_norm(bed, ACCEL_NORM_LAYER, add_order(bed, x, 4, to_last), 32);
			y = add_gemm(bed, "mix", x, NOISE(32, 32));
			x = add_binary(bed, "sum", ACCEL_BINARY_ADD, add_order(bed, x, 4, to_first),
				       add_order(bed, y, 4, to_first));
			x = add_norm(bed, ACCEL_NORM_LAYER, add_order(bed, x, 4, to_last), 32);
			x = add_conv(bed, "second", add_order(bed, x, 4, to_first),
				     NOISE(8, 32, 2, 2), 1, 0);
		}
		add_output(bed, "y", x);
		f = with_and_without(bed, ACCEL_PASS_LAYOUT, 0.00001);
		assert_int_equal(count_nodes(bed, f.s, "norm", NULL), way ? 1 : 2);
		assert_int_equal(count_nodes(bed, f.s, "copy", NULL), way);
		assert_int_equal(count_slow(bed, f.s, "norm"), 0);
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
}

/* --- idioms ------------------------------------------------------------------------ */

static float numbers[16];
static uint32_t number_count;

static uint32_t number(struct bed *bed, double x)
{
	assert_in_range(number_count, 0, 15);
	numbers[number_count] = (float)x;
	return add_const(bed, ACCEL_F32, 0, DIMS(0), &numbers[number_count++]);
}

#define ADD(a, b)	add_binary(bed, "add", ACCEL_BINARY_ADD, a, b)
#define SUB(a, b)	add_binary(bed, "sub", ACCEL_BINARY_SUB, a, b)
#define MUL(a, b)	add_binary(bed, "mul", ACCEL_BINARY_MUL, a, b)
#define DIV(a, b)	add_binary(bed, "div", ACCEL_BINARY_DIV, a, b)
#define POW(a, b)	add_binary(bed, "pow", ACCEL_BINARY_POW, a, b)
#define N(x)		number(bed, x)

/* 1 + erf(x / sqrt(2)) and 1 + tanh(...), in some of the ways that it is written */
static uint32_t bend(struct bed *bed, uint32_t way, uint32_t x)
{
	uint32_t t;

	if (way < 3) {
		t = way ? MUL(N(0.70710678), x) : DIV(x, N(1.41421356));
		return ADD(add_unary(bed, "erf", ACCEL_UNARY_ERF, t), N(1));
	}
	if (way == 3)
		t = MUL(N(0.79788456), ADD(x, MUL(N(0.044715), POW(x, N(3)))));
	else if (way == 4)
		t = MUL(ADD(MUL(MUL(MUL(x, x), x), N(0.044715)), x), N(0.79788456));
	else
		t = MUL(MUL(x, N(0.79788456)), ADD(N(1), MUL(MUL(N(0.044715), x), x)));
	return ADD(N(1), add_act(bed, "tanh", ACCEL_ACT_TANH, t));
}

static void test_gelu(void **arg)
{
	struct bed *bed = *arg;
	uint32_t way, x, g;
	struct form f;

	for (way = 0; way < 6; way++) {
		number_count = 0;
		x = add_gemm(bed, "product", add_input(bed, "x", ACCEL_F32, 2, DIMS(3, 17)),
			     NOISE(17, 40));
		g = bend(bed, way, x);
		if (way % 3 == 0)
			x = MUL(MUL(x, g), N(0.5));
		else if (way % 3 == 1)
			x = MUL(MUL(N(0.5), x), g);
		else
			x = MUL(x, MUL(N(0.5), g));
		add_output(bed, "y", x);
		f = with_and_without(bed, ACCEL_PASS_IDIOM, 0.00001);
		/* It is the product's end now. */
		assert_int_equal(count_nodes(bed, f.s, NULL, NULL), 1);
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
}

static void test_not_gelu(void **arg)
{
	struct bed *bed = *arg;
	struct form all, none;
	uint32_t x, y;

	number_count = 0;
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(3, 17));
	y = add_input(bed, "y", ACCEL_F32, 2, DIMS(3, 17));
	add_output(bed, "other", MUL(MUL(y, bend(bed, 0, x)), N(0.5)));
	add_output(bed, "whole", MUL(x, bend(bed, 1, x)));
	add_output(bed, "twice", MUL(MUL(x, x), MUL(bend(bed, 1, x), N(0.5))));
	add_output(bed, "gate", MUL(y, add_act(bed, "sigmoid", ACCEL_ACT_SIGMOID, x)));
	all = run_form(bed, 3, 0);
	none = run_form(bed, 0, 0);
	assert_int_equal(count_nodes(bed, all.s, NULL, "idiom"), 0);
	assert_same(bed, &all, &none, 0.000001);
	end_form(&all);
	end_form(&none);
}

static void test_silu(void **arg)
{
	struct bed *bed = *arg;
	struct form f;
	uint32_t x, y;

	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(3, 17));
	y = add_input(bed, "y", ACCEL_F32, 2, DIMS(3, 17));
	/* What goes in is a product itself, and so is what comes out. */
	x = MUL(x, y);
	x = MUL(add_act(bed, "sigmoid", ACCEL_ACT_SIGMOID, x), x);
	add_output(bed, "z", MUL(x, y));
	f = with_and_without(bed, ACCEL_PASS_IDIOM, 0.00001);
	end_form(&f);
}

static uint32_t mean(struct bed *bed, uint32_t x, uint32_t axis)
{
	struct accel_reduce_desc d = ACCEL_REDUCE_DESC_INIT;

	d.func = ACCEL_REDUCE_MEAN;
	d.axes = ACCEL_AXIS(axis);
	return add_node(bed, "mean", &d.hdr, 1, &x);
}

#define SQRT(x)		add_unary(bed, "sqrt", ACCEL_UNARY_SQRT, x)

static void test_norms(void **arg)
{
	struct bed *bed = *arg;
	uint32_t way, x, m, d, v, y;
	struct form f;

	for (way = 0; way < 6; way++) {
		number_count = 0;
		x = add_input(bed, "x", ACCEL_F32, 3, DIMS(2, 5, 24));
		if (way < 3) {
			v = ADD(mean(bed, way ? MUL(x, x) : POW(x, N(2)), 2), N(0.001));
			if (way == 0)
				y = MUL(x, add_unary(bed, "recip", ACCEL_UNARY_RECIP, SQRT(v)));
			else
				y = way == 1 ? MUL(DIV(N(1), SQRT(v)), x) : DIV(x, SQRT(v));
			y = MUL(NOISE(24), y);
		} else {
			m = mean(bed, x, 2);
			d = SUB(x, m);
			v = way == 4 ? SUB(x, m) : d;
			v = ADD(mean(bed, POW(v, N(2)), 2), N(0.001));
			y = DIV(d, SQRT(v));
			if (way > 3)
				y = ADD(MUL(y, NOISE(24)), NOISE(24));
		}
		add_output(bed, "y", y);
		f = with_and_without(bed, ACCEL_PASS_IDIOM, 0.00001);
		assert_int_equal(count_nodes(bed, f.s, NULL, NULL), 1);
		assert_int_equal(count_nodes(bed, f.s, "norm", "idiom"), 1);
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
	/* Along another dimension it is something else. */
	number_count = 0;
	x = add_input(bed, "x", ACCEL_F32, 3, DIMS(2, 5, 24));
	add_output(bed, "y", DIV(x, SQRT(ADD(mean(bed, MUL(x, x), 1), N(0.001)))));
	f = run_form(bed, 3, 0);
	assert_int_equal(count_nodes(bed, f.s, "norm", NULL), 0);
	end_form(&f);
}

/* --- attention --------------------------------------------------------------------- */

static uint32_t heads(struct bed *bed, uint32_t x, int64_t rows, int64_t count, bool turned)
{
	x = add_shape(bed, ACCEL_SHAPE_RESHAPE, x, LIST(2, rows, count, 16));
	return turned ? add_order(bed, x, 4, (uint32_t[]) { 0, 2, 3, 1 }) :
			add_order(bed, x, 4, (uint32_t[]) { 0, 2, 1, 3 });
}

/* Keys of 2 heads for 6 */
static uint32_t repeat(struct bed *bed, uint32_t x)
{
	x = heads(bed, x, 9, 2, false);
	x = add_shape(bed, ACCEL_SHAPE_UNSQUEEZE, x, LIST(2));
	x = add_shape(bed, ACCEL_SHAPE_EXPAND, x, LIST(2, 2, 3, 9, 16));
	return add_shape(bed, ACCEL_SHAPE_RESHAPE, x, LIST(2, 6, 9, 16));
}

/* What is not NaN, and @zero instead of the rest */
static uint32_t guard(struct bed *bed, uint32_t x, uint32_t of, uint32_t zero)
{
	struct accel_select_desc select = ACCEL_SELECT_DESC_INIT;

	of = add_unary(bed, "isnan", ACCEL_UNARY_IS_NAN, of);
	return add_node(bed, "where", &select.hdr, 3, (uint32_t[]) { of, zero, x });
}

/*
 * What newer exporters write: keys turned as matrices without heads, a factor for each side,
 * a softmax behind a guard. All scores of row 3 are minus infinity.
 */
static void test_guarded_attention(void **arg)
{
	struct accel_softmax_desc softmax = ACCEL_SOFTMAX_DESC_INIT;
	struct bed *bed = *arg;
	uint32_t way, q, k, v, s, i;
	struct form f;

	softmax.axis = -1;
	for (way = 0; way < 5; way++) {
		number_count = 0;
		q = heads(bed, add_input(bed, "q", ACCEL_F32, 3, DIMS(2, 7, 96)), 7, 6, false);
		k = heads(bed, add_input(bed, "k", ACCEL_F32, 3, DIMS(2, 9, 96)), 9, 6, false);
		v = heads(bed, add_input(bed, "v", ACCEL_F32, 3, DIMS(2, 9, 96)), 9, 6, false);
		k = add_shape(bed, ACCEL_SHAPE_RESHAPE, k, LIST(12, 9, 16));
		k = add_order(bed, k, 3, (uint32_t[]) { 0, 2, 1 });
		k = add_shape(bed, ACCEL_SHAPE_RESHAPE, k, LIST(2, 6, 16, 9));
		s = add_gemm(bed, "scores", MUL(q, N(0.5)), MUL(k, N(0.5)));
		s = ADD(s, NOISE(7, 9));
		for (i = 0; i < 9; i++)
			weights[0][3 * 9 + i] = -INFINITY;
		q = add_node(bed, "softmax", &softmax.hdr, 1, &s);
		/* Zeros, but for another softmax, another number, not where it is NaN, seen. */
		if (way == 1)
			s = add_node(bed, "softmax", &softmax.hdr, 1, (uint32_t[]) { ADD(s, q) });
		else if (way != 3)
			s = q;
		s = guard(bed, q, s, N(way == 2));
		if (way == 4)
			add_output(bed, "weights", s);
		s = add_gemm(bed, "values", s, v);
		s = add_order(bed, s, 4, (uint32_t[]) { 0, 2, 1, 3 });
		add_output(bed, "y", add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(14, 96)));
		if (way) {
			f = run_form(bed, 3, 0);
			assert_int_equal(count_nodes(bed, f.s, "attention", NULL), 0);
			assert_int_equal(count_nodes(bed, f.s, "select", NULL), 1);
		} else {
			f = with_and_without(bed, ACCEL_PASS_ATTENTION, 0.00001);
			assert_int_equal(count_nodes(bed, f.s, NULL, NULL), 1);
		}
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
}

/* Scores hidden by numbers and shifted by several masks, in two layers that share them */
static void test_hidden_scores(void **arg)
{
	static const double hidden[] = { -INFINITY, -3e38, -3e38, 0, -10000 };
	struct accel_softmax_desc softmax = ACCEL_SOFTMAX_DESC_INIT;
	struct accel_select_desc select = ACCEL_SELECT_DESC_INIT;
	struct bed *bed = *arg;
	uint32_t way, layer, x, k, v, s, seen, bias;
	struct form f;

	softmax.axis = -1;
	for (way = 0; way < 5; way++) {
		number_count = 0;
		x = heads(bed, add_input(bed, "q", ACCEL_F32, 3, DIMS(2, 7, 96)), 7, 6, false);
		k = heads(bed, add_input(bed, "k", ACCEL_F32, 3, DIMS(2, 9, 96)), 9, 6, true);
		v = heads(bed, add_input(bed, "v", ACCEL_F32, 3, DIMS(2, 9, 96)), 9, 6, false);
		seen = add_input(bed, "seen", ACCEL_F32, 4, DIMS(2, 1, 7, 9));
		seen = add_binary(bed, "seen", ACCEL_BINARY_GT, seen, N(way == 1 ? 2 : 0));
		bias = NOISE(6, 1, 9);
		for (layer = 0; layer < 2; layer++) {
			s = MUL(add_gemm(bed, "scores", x, k), N(0.25));
			if (way == 0)
				s = ADD(s, bias);
			if (way == 3)
				s = ADD(ADD(bias, s), NOISE(2, 1, 1, 9));
			else if (way == 2)
				s = add_node(bed, "where", &select.hdr, 3,
					     (uint32_t[]) { seen, N(hidden[way]), s });
			else
				s = add_node(bed, "where", &select.hdr, 3,
					     (uint32_t[]) { seen, s, N(hidden[way]) });
			if (way == 2)
				s = ADD(bias, s);
			s = add_node(bed, "softmax", &softmax.hdr, 1, &s);
			x = add_gemm(bed, "values", s, v);
		}
		add_output(bed, "y", x);
		if (way == 4) {
			/* Not far enough away to be the same as a sum */
			f = run_form(bed, 3, 0);
			assert_int_equal(count_nodes(bed, f.s, "attention", NULL), 0);
		} else {
			f = with_and_without(bed, ACCEL_PASS_ATTENTION, 0.00001);
			assert_int_equal(count_nodes(bed, f.s, "attention", NULL), 2);
			assert_int_equal(count_nodes(bed, f.s, "softmax", NULL), 0);
			/* What is made of the masks is made once, and small. */
			assert_int_equal(count_nodes(bed, f.s, "select", NULL), way < 3);
			assert_int_equal(count_nodes(bed, f.s, "gemm", NULL), 0);
		}
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
}

/* [2, 6, rows, 16] as matrices [12, rows, 16], copied to be so */
static uint32_t flat(struct bed *bed, uint32_t x, int64_t rows)
{
	return add_shape(bed, ACCEL_SHAPE_RESHAPE, heads(bed, x, rows, 6, false),
			 LIST(12, rows, 16));
}

/* Products of matrices without heads, with masks there, and for batch and heads apart */
static void test_flat_heads(void **arg)
{
	struct accel_softmax_desc softmax = ACCEL_SOFTMAX_DESC_INIT;
	struct bed *bed = *arg;
	uint32_t way, q, k, v, s;
	struct form f;

	softmax.axis = -1;
	for (way = 0; way < 6; way++) {
		number_count = 0;
		q = flat(bed, add_input(bed, "q", ACCEL_F32, 3, DIMS(2, 7, 96)), 7);
		k = flat(bed, add_input(bed, "k", ACCEL_F32, 3, DIMS(2, 9, 96)), 9);
		v = flat(bed, add_input(bed, "v", ACCEL_F32, 3, DIMS(2, 9, 96)), 9);
		k = add_order(bed, k, 3, (uint32_t[]) { 0, 2, 1 });
		s = MUL(add_gemm(bed, "scores", q, k), N(0.25));
		if (way == 1)
			s = ADD(s, NOISE(12, 1, 9));
		if (way == 2)
			s = ADD(NOISE(1, 7, 9), s);
		if (way) {
			s = add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(2, 6, 7, 9));
			s = ADD(s, NOISE(2, 1, 1, 9));
		}
		/* Rows of several heads as one matrix, and other heads, are something else. */
		if (way == 4)
			s = add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(2, 42, 9));
		else if (way == 5)
			s = ADD(add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(3, 4, 7, 9)),
				NOISE(3, 1, 1, 9));
		else if (way == 3)
			s = add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(12, 7, 9));
		s = add_node(bed, "softmax", &softmax.hdr, 1, &s);
		if (way != 3)
			s = add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(12, 7, 9));
		s = add_gemm(bed, "values", s, v);
		s = add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(2, 6, 7, 16));
		s = add_order(bed, s, 4, (uint32_t[]) { 0, 2, 1, 3 });
		add_output(bed, "y", add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(14, 96)));
		f = way > 3 ? run_form(bed, 3, 0) :
			      with_and_without(bed, ACCEL_PASS_ATTENTION, 0.00001);
		assert_int_equal(count_nodes(bed, f.s, "attention", NULL), way < 4);
		assert_int_equal(count_nodes(bed, f.s, "softmax", NULL), way > 3);
		assert_int_equal(count_nodes(bed, f.s, "gemm", NULL), way > 3 ? 2 : 0);
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
}

static void test_attention(void **arg)
{
	struct accel_softmax_desc softmax = ACCEL_SOFTMAX_DESC_INIT;
	struct bed *bed = *arg;
	uint32_t way, q, k, v, s;
	struct form f;

	softmax.axis = -1;
	for (way = 0; way < 4; way++) {
		number_count = 0;
		q = heads(bed, add_input(bed, "q", ACCEL_F32, 3, DIMS(2, 7, 96)), 7, 6, false);
		k = add_input(bed, "k", ACCEL_F32, 3, DIMS(2, 9, way == 3 ? 32 : 96));
		v = add_input(bed, "v", ACCEL_F32, 3, DIMS(2, 9, way == 3 ? 32 : 96));
		if (way == 3) {
			k = add_order(bed, repeat(bed, k), 4, (uint32_t[]) { 0, 1, 3, 2 });
			v = repeat(bed, v);
		} else {
			k = heads(bed, k, 9, 6, true);
			v = heads(bed, v, 9, 6, false);
		}
		if (way == 1) {
			q = MUL(q, N(0.5));
			k = MUL(k, N(0.5));
		}
		s = add_gemm(bed, "scores", q, k);
		if (way != 1)
			s = DIV(s, N(4));
		if (way == 2)
			s = ADD(s, add_input(bed, "mask", ACCEL_F32, 4, DIMS(2, 1, 7, 9)));
		if (way == 3)
			s = ADD(NOISE(9), s);
		s = add_gemm(bed, "values", add_node(bed, "softmax", &softmax.hdr, 1, &s), v);
		s = add_order(bed, s, 4, (uint32_t[]) { 0, 2, 1, 3 });
		s = add_shape(bed, ACCEL_SHAPE_RESHAPE, s, LIST(14, 96));
		add_output(bed, "y", add_gemm(bed, "last", s, NOISE(96, 8)));
		f = with_and_without(bed, ACCEL_PASS_ATTENTION, 0.00001);
		/* Neither is anything put into order, nor repeated, nor scaled. */
		assert_int_equal(count_nodes(bed, f.s, NULL, NULL), 2);
		end_form(&f);
		if (!way) {
			f = with_and_without(bed, ACCEL_PASS_COPY, 0.00001);
			end_form(&f);
		}
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
}

/* --- batch norms ------------------------------------------------------------------- */

static uint32_t add_batchnorm(struct bed *bed, uint32_t x, int64_t n)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, x },
		{ ACCEL_ARG_SCALE, add_noise(bed, 1, &n) },
		{ ACCEL_ARG_BIAS, add_noise(bed, 1, &n) },
		{ ACCEL_ARG_AUX0, add_noise(bed, 1, &n) }, { ACCEL_ARG_AUX1, 0 },
	};
	int64_t i;

	args[5].value = add_noise(bed, 1, &n);
	for (i = 0; i < n; i++)
		weights[weight_count - 1][i] += 1.5f;
	d.func = ACCEL_NORM_BATCH;
	d.channel = 1;
	d.eps = 0.001f;
	MUST_GRAPH(accel_graph_add(bed->graph, "norm", &d.hdr, args, 6));
	return args[0].value;
}

static void test_batchnorm(void **arg)
{
	struct bed *bed = *arg;
	struct form f;
	uint32_t x;

	x = add_input(bed, "x", ACCEL_F32, 4, DIMS(2, 3, 8, 9));
	x = add_batchnorm(bed, add_conv(bed, "conv", x, NOISE(6, 3, 3, 3), 1, 1), 6);
	add_output(bed, "y", add_act(bed, "relu", ACCEL_ACT_RELU, x));
	f = with_and_without(bed, ACCEL_PASS_BATCHNORM, 0.00001);
	assert_int_equal(count_nodes(bed, f.s, NULL, NULL), 1);
	end_form(&f);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	drop_noise();
	/* Before a convolution there is an activation in between. */
	x = add_input(bed, "x", ACCEL_F32, 4, DIMS(2, 6, 8, 9));
	x = add_act(bed, "relu", ACCEL_ACT_RELU, add_batchnorm(bed, x, 6));
	add_output(bed, "y", add_conv(bed, "conv", x, NOISE(5, 6, 1, 1), 1, 0));
	f = with_and_without(bed, ACCEL_PASS_BATCHNORM, 0.00001);
	assert_int_equal(count_nodes(bed, f.s, NULL, NULL), 3);
	assert_int_equal(count_nodes(bed, f.s, "norm", NULL), 0);
	end_form(&f);
	drop_noise();
}

/* --- transposed convolutions -------------------------------------------------------- */

/**
 * struct back - a transposed convolution
 * @rank: of the input
 * @kernel: dimensions
 * @stride: likewise
 * @before: results cut off
 * @after: likewise
 * @bias: whether there is one
 */
struct back {
	uint32_t rank;
	int64_t kernel[2];
	uint32_t stride[2];
	uint32_t before[2];
	uint32_t after[2];
	bool bias;
};

static uint32_t add_back(struct bed *bed, const struct back *b, uint32_t x, uint32_t w,
			 uint32_t groups, uint32_t dilation)
{
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, x }, { ACCEL_ARG_B, w },
		{ ACCEL_ARG_BIAS, b->bias ? NOISE(6) : 0 },
	};
	uint32_t i;

	d.flags = ACCEL_CONV_TRANSPOSED;
	d.groups = groups;
	for (i = 0; i + 2 < b->rank; i++) {
		d.stride[i] = b->stride[i];
		d.dilation[i] = dilation;
		d.pad_before[i] = b->before[i];
		d.pad_after[i] = b->after[i];
	}
	MUST_GRAPH(accel_graph_add(bed->graph, "back", &d.hdr, args, 3 + b->bias));
	return args[0].value;
}

static void test_transposed(void **arg)
{
	static const struct back cases[] = {
		{ 4, { 2, 2 }, { 2, 2 }, { 0, 0 }, { 0, 0 }, true },
		{ 4, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 0, 0 }, false },
		{ 4, { 4, 4 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, true },
		{ 4, { 5, 3 }, { 3, 1 }, { 2, 0 }, { 0, 1 }, true },
		{ 4, { 3, 3 }, { 1, 1 }, { 1, 2 }, { 2, 1 }, true },
		/* Results that no input reaches; all phases of the first row cut off */
		{ 4, { 1, 2 }, { 2, 3 }, { 0, 0 }, { 0, 0 }, true },
		{ 4, { 2, 7 }, { 2, 2 }, { 2, 6 }, { 3, 5 }, false },
		{ 3, { 16 }, { 8 }, { 4 }, { 4 }, true },
		{ 3, { 3 }, { 1 }, { 1 }, { 1 }, false },
		{ 3, { 4 }, { 3 }, { 0 }, { 2 }, true },
	};
	static const struct back rare[] = {
		{ 4, { 1, 4 }, { 4, 4 }, { 0, 0 }, { 0, 0 }, true },
		{ 4, { 2, 2 }, { 8, 2 }, { 0, 0 }, { 0, 0 }, false },
		{ 4, { 8, 8 }, { 8, 8 }, { 20, 24 }, { 24, 24 }, true },
		{ 3, { 4 }, { 4 }, { 8 }, { 14 }, true },
	};
	struct bed *bed = *arg;
	int64_t dims[] = { 2, 5, 6, 7 }, kernel[4] = { 5, 6 };
	uint32_t i, way, x;
	struct form f;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(kernel + 2, cases[i].kernel, sizeof(cases[i].kernel));
		x = add_input(bed, "x", ACCEL_F32, cases[i].rank, dims);
		x = add_back(bed, &cases[i], x, add_noise(bed, cases[i].rank, kernel), 1, i & 1);
		add_output(bed, "y", add_act(bed, "relu", ACCEL_ACT_RELU, x));
		f = with_and_without(bed, ACCEL_PASS_TRANSPOSED, 0.00001);
		end_form(&f);
		f = run_form(bed, 3, 1u << ACCEL_PASS_LAYOUT);
		assert_int_not_equal(count_nodes(bed, f.s, "conv", "transposed"), 0);
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
	/* What is mostly zeros, or mostly cut off, stays. */
	for (i = 0; i < sizeof(rare) / sizeof(rare[0]); i++) {
		memcpy(kernel + 2, rare[i].kernel, sizeof(rare[i].kernel));
		x = add_input(bed, "x", ACCEL_F32, rare[i].rank, dims);
		x = add_back(bed, &rare[i], x, add_noise(bed, rare[i].rank, kernel), 1, 1);
		add_output(bed, "y", x);
		f = run_form(bed, 3, 0);
		assert_int_equal(count_nodes(bed, f.s, "conv", NULL), 1);
		assert_int_equal(count_nodes(bed, f.s, NULL, "transposed"), 0);
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
	/* Groups, taps apart, and weights that are computed stay. */
	memcpy(kernel + 2, cases[1].kernel, sizeof(cases[1].kernel));
	kernel[0] = 4;
	kernel[1] = 3;
	dims[1] = 4;
	for (way = 0; way < 3; way++) {
		x = add_noise(bed, 4, kernel);
		if (way == 2)
			x = add_unary(bed, "w", ACCEL_UNARY_SIN,
				      add_input(bed, "w", ACCEL_F32, 4, kernel));
		x = add_back(bed, &cases[1], add_input(bed, "x", ACCEL_F32, 4, dims), x,
			     1 + !way, 1 + (way == 1));
		add_output(bed, "y", x);
		f = run_form(bed, 3, 0);
		assert_int_equal(count_nodes(bed, f.s, "conv", NULL), 1);
		assert_int_equal(count_nodes(bed, f.s, NULL, "transposed"), 0);
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		drop_noise();
	}
}

/* --- products side by side --------------------------------------------------------- */

/* Heads of queries, keys and values: one product and attention read its columns. */
static void test_join(void **arg)
{
	struct bed *bed = *arg;
	static const uint32_t orders[2][4] = { { 0, 2, 1, 3 }, { 0, 2, 3, 1 } };
	struct accel_softmax_desc softmax = ACCEL_SOFTMAX_DESC_INIT;
	uint32_t x = add_input(bed, "x", ACCEL_F32, 3, DIMS(2, 5, 8)), y[3], i;
	struct form f;

	softmax.axis = -1;
	for (i = 0; i < 3; i++) {
		y[i] = add_gemm(bed, "product", x, NOISE(8, 12));
		if (i != 1)
			y[i] = ADD(y[i], NOISE(12));
		y[i] = add_shape(bed, ACCEL_SHAPE_RESHAPE, y[i], LIST(2, 5, 3, 4));
		y[i] = add_order(bed, y[i], 4, orders[i == 1]);
	}
	number_count = 0;
	x = add_gemm(bed, "scores", y[0], y[1]);
	x = MUL(x, N(0.5));
	x = add_node(bed, "softmax", &softmax.hdr, 1, &x);
	add_output(bed, "y", add_gemm(bed, "sums", x, y[2]));
	f = with_and_without(bed, ACCEL_PASS_JOIN, 0.00001);
	assert_int_equal(count_nodes(bed, f.s, "gemm", NULL), 1);
	assert_int_equal(count_nodes(bed, f.s, "attention", NULL), 1);
	assert_int_equal(count_nodes(bed, f.s, NULL, NULL), 2);
	end_form(&f);
	drop_noise();
}

/* Results of the graph are by themselves, other activations and other left sides as well. */
static void test_not_joined(void **arg)
{
	struct bed *bed = *arg;
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(5, 8)), i, y;
	uint32_t other = add_input(bed, "other", ACCEL_F32, 2, DIMS(5, 8));
	struct form f;

	for (i = 0; i < 4; i++) {
		y = add_gemm(bed, "product", i == 3 ? other : x, NOISE(8, 12));
		if (i == 2)
			y = add_act(bed, "relu", ACCEL_ACT_RELU, y);
		add_output(bed, "y", i ? add_unary(bed, "sin", ACCEL_UNARY_SIN, y) : y);
	}
	f = run_form(bed, 3, 0);
	assert_int_equal(count_nodes(bed, f.s, NULL, "join"), 0);
	end_form(&f);
	drop_noise();
}

/* Constants of as many bytes as are asked for, which the graph frees */
static uint32_t add_bits(struct bed *bed, uint32_t type, int64_t rows, int64_t cols)
{
	struct accel_value v = value_of(NULL, type, cols ? 2 : 1, DIMS(rows, cols));
	const uint64_t count = (uint64_t)(rows * (cols ? cols : 1));
	uint8_t *data = malloc((size_t)count * 4 + 4);
	static uint32_t salt, value;
	uint64_t i;

	assert_non_null(data);
	for (i = 0, salt++; i < count * 4; i++)
		data[i] = (uint8_t)((i * 2654435761u >> 13) + salt * 97);
	for (i = 0; type == ACCEL_F32 && i < count; i++)
		((float *)(void *)data)[i] = 0.01f + (float)(data[4 * i] % 64) / 640;
	for (i = 0; type == ACCEL_S32 && i < count; i++)
		((int32_t *)(void *)data)[i] = data[4 * i] % 16 - 8;
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, data, free, data, &value));
	return value;
}

/* Products by weights of few bits with scales, zero points or minima of channels and groups */
static void test_join_bits(void **arg)
{
	struct bed *bed = *arg;
	static const struct {
		uint32_t type, scheme, joined;
		bool trans;
		uint32_t zeros;
	} ways[] = {
		{ ACCEL_S4, ACCEL_QUANT_GROUP, 1, true, 0 },
		{ ACCEL_U4, ACCEL_QUANT_GROUP, 1, true, ACCEL_S32 },
		{ ACCEL_U4, ACCEL_QUANT_GROUP_MIN, 1, true, ACCEL_F32 },
		{ ACCEL_S4, ACCEL_QUANT_GROUP, 1, false, ACCEL_S32 },
		{ ACCEL_S8, ACCEL_QUANT_CHANNEL, 1, false, 0 },
		{ ACCEL_U4, ACCEL_QUANT_CHANNEL, 1, true, ACCEL_S32 },
		{ ACCEL_S8, ACCEL_QUANT_GROUP_MIN, 1, false, ACCEL_F32 },
		/* Only some have zero points. */
		{ ACCEL_S8, ACCEL_QUANT_CHANNEL, 0, false, ACCEL_S32 },
	};
	static const int64_t n[3] = { 12, 6, 20 };
	uint32_t i, k;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const bool trans = ways[i].trans, channel = ways[i].scheme == ACCEL_QUANT_CHANNEL;
		uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(5, 64)), count = 4;
		struct form f;

		for (k = 0; k < 3; k++) {
			struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
			const int64_t rows = trans || channel ? n[k] : 2;
			const int64_t cols = channel ? 0 : trans ? 2 : n[k];
			struct accel_graph_arg args[6] = {
				{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, x },
				{ ACCEL_ARG_B, add_bits(bed, ways[i].type, trans ? n[k] : 64,
							trans ? 64 : n[k]) },
				{ ACCEL_ARG_B | ACCEL_ARG_SCALES,
				  add_bits(bed, ACCEL_F32, rows, cols) },
			};

			d.flags = trans ? ACCEL_GEMM_TRANS_B : 0;
			d.b.quant.scheme = ways[i].scheme;
			/* Channels are columns of the matrix, groups run along K. */
			d.b.quant.axis = trans != channel;
			d.b.quant.group = channel ? 0 : 32;
			if (ways[i].zeros && (ways[i].joined || k))
				args[count++] = (struct accel_graph_arg){
					ACCEL_ARG_B | ACCEL_ARG_ZEROS,
					add_bits(bed, ways[i].zeros, rows, cols)
				};
			if (k == 1)
				args[count++] = (struct accel_graph_arg){
					ACCEL_ARG_BIAS, add_bits(bed, ACCEL_F32, n[k], 0)
				};
			MUST_GRAPH(accel_graph_add(bed->graph, "product", &d.hdr, args, count));
			add_output(bed, "y", add_unary(bed, "sin", ACCEL_UNARY_SIN, args[0].value));
			count = 4;
		}
		f = with_and_without(bed, ACCEL_PASS_JOIN, 0.00002);
		assert_int_equal(count_nodes(bed, f.s, "gemm", NULL), ways[i].joined ? 1 : 2);
		end_form(&f);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
	}
}

/* --- concatenations ---------------------------------------------------------------- */

static uint32_t add_concat(struct bed *bed, uint32_t axis, uint32_t count, const uint32_t *in)
{
	struct accel_concat_desc d = ACCEL_CONCAT_DESC_INIT;

	d.axis = axis;
	d.count = count;
	return add_node(bed, "concat", &d.hdr, count, in);
}

#define CONCAT(axis, ...)	add_concat(bed, axis, sizeof((uint32_t[]) { __VA_ARGS__ }) / \
					   sizeof(uint32_t), (uint32_t[]) { __VA_ARGS__ })
#define SIN(x)			add_unary(bed, "sin", ACCEL_UNARY_SIN, x)
#define PRODUCT(x, ...)		add_gemm(bed, "product", x, NOISE(__VA_ARGS__))

static int find_concat(void *user, const struct accel_node_profile *p)
{
	*(uint32_t *)user += p->op == ACCEL_OP_CONCAT;
	return 0;
}

/* So many concatenations have nothing to do, so many copy; the same bits come with them all. */
static void assert_concats(struct bed *bed, uint32_t idle, uint32_t copies)
{
	struct form all = run_form(bed, 3, 0), less = run_form(bed, 3, 1u << ACCEL_PASS_CONCAT);
	struct form none = run_form(bed, 0, 0), first = run_form(bed, 1, 0);
	uint32_t found = 0;

	assert_int_equal(count_nodes(bed, all.s, "concat", "concat"), idle);
	assert_int_equal(count_nodes(bed, all.s, "concat", NULL), idle + copies);
	assert_int_equal(count_nodes(bed, less.s, NULL, "concat"), 0);
	assert_int_equal(count_nodes(bed, none.s, NULL, "concat"), 0);
	assert_same(bed, &all, &less, 0);
	/* Winograd's algorithms are not as near. */
	assert_same(bed, &all, &none, 0.001);
	assert_same(bed, &first, &none, 0.00001);
	/* Where nothing is done, there is nothing to measure; measuring does not change it. */
	MUST(accel_state_profile(all.s, 3, find_concat, &found));
	assert_int_equal(found, copies);
	assert_same(bed, &all, &less, 0);
	end_form(&all);
	end_form(&less);
	end_form(&none);
	end_form(&first);
	drop_noise();
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
}

/* Each convolution reads all before it, and its result is put behind them. */
static void test_dense_block(void **arg)
{
	struct bed *bed = *arg;
	uint32_t f[5], i, x = add_input(bed, "x", ACCEL_F32, 4, DIMS(2, 3, 9, 8));

	for (i = 0; i < 5; i++) {
		f[i] = add_conv(bed, "grow", x, NOISE(i ? 8 : 16, i ? 8 + 8 * i : 3, 3, 3), 1, 1);
		x = i ? add_concat(bed, 1, i + 1, f) : f[0];
		/* Some read columns of the rows that they write. */
		x = i % 2 ? x : SIN(x);
	}
	add_output(bed, "y", add_conv(bed, "last", x, NOISE(4, 48, 1, 1), 1, 0));
	assert_concats(bed, 4, 0);
}

/* The same where lists are too long for one: they are put together of some that others have too. */
static void test_dense_lists(void **arg)
{
	struct bed *bed = *arg;
	uint32_t f[5], i, two, three, x = add_input(bed, "x", ACCEL_F32, 2, DIMS(7, 8));

	f[0] = x;
	for (i = 0; i < 5; i++)
		f[i] = PRODUCT(SIN(i ? f[i - 1] : x), i ? 16 : 8, 16);
	two = CONCAT(1, f[0], f[1]);
	three = CONCAT(1, two, CONCAT(1, f[2], f[3]));
	add_output(bed, "two", PRODUCT(two, 32, 5));
	add_output(bed, "three", SIN(three));
	add_output(bed, "all", SIN(CONCAT(1, two, CONCAT(1, f[2], f[3], f[4]))));
	assert_concats(bed, 5, 0);
}

/* Rows behind rows are one piece, columns are not; and a result of the graph may be the whole. */
static void test_concat_axes(void **arg)
{
	struct bed *bed = *arg;
	uint32_t axis, x, y;

	for (axis = 0; axis < 2; axis++) {
		x = add_input(bed, "x", ACCEL_F32, 2, DIMS(5, 8));
		y = SIN(PRODUCT(x, 8, 24));
		x = PRODUCT(SIN(x), 8, 24);
		add_output(bed, "y", CONCAT(axis, y, x));
		assert_concats(bed, 1, 0);
	}
	/* Of batches of rows, the columns */
	x = SIN(add_input(bed, "x", ACCEL_F32, 4, DIMS(3, 2, 5, 8)));
	add_output(bed, "y", SIN(CONCAT(2, x, add_unary(bed, "cos", ACCEL_UNARY_COS, x))));
	assert_concats(bed, 1, 0);
}

/* Who reads the whole last must not write over what of it is read once more. */
static void test_concat_lives(void **arg)
{
	struct bed *bed = *arg;
	uint32_t x = add_input(bed, "x", ACCEL_F32, 2, DIMS(5, 8)), y, z;

	y = PRODUCT(x, 8, 24);
	z = CONCAT(1, y, SIN(PRODUCT(SIN(x), 8, 24)));
	z = PRODUCT(SIN(z), 48, 24);
	add_output(bed, "y", add_binary(bed, "sum", ACCEL_BINARY_ADD, SIN(z), y));
	assert_concats(bed, 1, 0);
}

/* Who reads the whole and a part of it writes in the place of neither. */
static void test_concat_whole(void **arg)
{
	struct bed *bed = *arg;
	uint32_t x, y, z;

	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(1, 48));
	y = SIN(x);
	z = CONCAT(0, y, SIN(add_input(bed, "more", ACCEL_F32, 2, DIMS(6, 48))));
	add_output(bed, "y", SIN(add_binary(bed, "rows", ACCEL_BINARY_MUL, z, y)));
	assert_concats(bed, 1, 0);
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(40, 24));
	y = PRODUCT(x, 24, 24);
	z = CONCAT(1, y, SIN(PRODUCT(SIN(x), 24, 24)));
	z = add_binary(bed, "sum", ACCEL_BINARY_ADD, PRODUCT(y, 24, 48), z);
	add_output(bed, "y", SIN(z));
	assert_concats(bed, 1, 0);
}

/* What has to be copied is: all of what it is put together with, then. */
static void test_not_in_place(void **arg)
{
	struct bed *bed = *arg;
	uint32_t i, x, y, z;

	for (i = 0; i < 8; i++) {
		x = add_input(bed, "x", ACCEL_F32, 2, DIMS(5, 24));
		y = SIN(x);
		z = PRODUCT(add_unary(bed, "cos", ACCEL_UNARY_COS, x), 24, 24);
		switch (i) {
		case 0:	/* the caller's memory */
			y = x;
			break;
		case 1:	/* a constant */
			y = NOISE(5, 24);
			break;
		case 2:	/* the same twice */
			y = z;
			break;
		case 3:	/* a result of the graph */
			add_output(bed, "z", z);
			break;
		case 4:	/* read as one line */
			z = SIN(z);
			add_output(bed, "line", PRODUCT(add_shape(bed, ACCEL_SHAPE_RESHAPE, z,
								  LIST(1, 120)), 120, 3));
			break;
		case 5:	/* in another order */
			z = add_shape(bed, ACCEL_SHAPE_RESHAPE, z, LIST(24, 5));
			z = add_order(bed, PRODUCT(z, 5, 5), 2, (uint32_t[]) { 1, 0 });
			break;
		case 6:	/* a piece of something */
			z = PRODUCT(z, 24, 48);
			z = add_slice(bed, z, 3, 27, 1, 1);
			break;
		default: /* in the reverse order elsewhere: one of both is in place */
			add_output(bed, "other", SIN(CONCAT(1, z, y)));
		}
		add_output(bed, "y", SIN(CONCAT(1, y, z)));
		assert_concats(bed, i == 7, 1);
	}
	/* Pieces of another axis are no rows of the outer one's rows. */
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(4, 24));
	y = CONCAT(0, SIN(x), PRODUCT(SIN(x), 24, 24));
	add_output(bed, "y", SIN(CONCAT(1, y, PRODUCT(SIN(SIN(y)), 24, 24))));
	assert_concats(bed, 1, 1);
}

/* The neural engine writes to multiples of 64 bytes only. */
static void test_concat_neural(void **arg)
{
	struct accel_shape_desc rows = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct bed *bed = *arg;
	struct accel_program *program;
	struct accel_state *s;
	uint32_t n, x, y, z;

	opts.engine = ACCEL_ENGINE_NEURAL;
	for (n = 24; n <= 40; n += 8) {
		x = add_input(bed, "x", ACCEL_F16, 2, DIMS(5, n == 40 ? 32 : n));
		y = add_binary(bed, "twice", ACCEL_BINARY_ADD, x, x);
		if (n == 40) {
			/* Rows of 64 bytes are apart by 80 then, and one of them is read. */
			z = add_node(bed, "rows", &rows.hdr, 5, (uint32_t[]) {
				y, LIST(1), LIST(5), LIST(0), LIST(1)
			});
			add_output(bed, "rows", add_binary(bed, "rows", ACCEL_BINARY_ADD, z, z));
			x = add_node(bed, "cut", &rows.hdr, 5, (uint32_t[]) {
				x, LIST(0), LIST(8), LIST(1), LIST(1)
			});
		}
		x = add_binary(bed, "square", ACCEL_BINARY_MUL, x, x);
		add_output(bed, "y", CONCAT(1, y, x));
		program = NULL;
		MUST(accel_graph_compile(bed->ctx, bed->graph, &opts, &program));
		s = new_state(bed, program);
		MUST(accel_state_run(s));
		assert_int_equal(count_nodes(bed, s, NULL, "concat"), n == 32);
		accel_state_destroy(s);
		accel_program_unref(program);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
	}
}

/* --- large graphs ------------------------------------------------------------------ */

/* Chains that fuse, are in place, and are the same, and many values that live to the end. */
static void large(struct bed *bed, uint32_t nodes)
{
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	uint32_t x, y, i, c, kept[8];
	const float *got;

	number_count = 0;
	x = add_input(bed, "x", ACCEL_F32, 1, DIMS(8));
	c = N(0.001);
	for (i = 0; i < nodes / 4; i++) {
		x = add_act(bed, "relu", ACCEL_ACT_RELU, ADD(x, c));
		/* Every other one is there already. */
		y = add_unary(bed, "sin", ACCEL_UNARY_SIN, i > 8 && i % 2 ? kept[i % 8] : x);
		kept[i % 8] = x;
		x = ADD(x, MUL(y, c));
	}
	add_output(bed, "y", x);
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	MUST(accel_state_run(s));
	got = output(bed, s, 0, &v);
	assert_true(got[0] > 1 && got[0] < 20);
	accel_state_destroy(s);
	accel_program_unref(program);
}

static void test_large(void **arg)
{
	assert_linear(*arg, large, 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_layout, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_layout_transposed, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_layout_norms, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_gelu, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_not_gelu, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_silu, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_norms, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_attention, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_guarded_attention, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_hidden_scores, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_flat_heads, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_batchnorm, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_transposed, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_join, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_not_joined, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_join_bits, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_dense_block, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_dense_lists, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_concat_axes, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_concat_lives, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_concat_whole, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_not_in_place, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_concat_neural, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_large, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
