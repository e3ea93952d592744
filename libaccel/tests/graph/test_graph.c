// SPDX-License-Identifier: MIT
/*
 * Graphs from building to running: what comes out, that a second run makes nothing,
 * shapes by symbols, several states at once, and what is said of mistakes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <json-c/json.h>
#include "counted.h"
#include "graphtest.h"

/* --- products ---------------------------------------------------------------------- */

#define M 5
#define K 37
#define N 19

static void product(const float *a, const float *b, int64_t m, int64_t n, int64_t k, bool relu,
		    float *d)
{
	int64_t i, j, l;
	double sum;

	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++) {
			for (l = 0, sum = 0; l < k; l++)
				sum += (double)a[i * k + l] * (double)b[l * n + j];
			d[i * n + j] = relu && sum < 0 ? 0 : (float)sum;
		}
}

static void test_gemm_relu(void **arg)
{
	struct bed *bed = *arg;
	float *w = noise_floats(1, K * N), *a = noise_floats(2, M * K), want[M * N];
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	const float *got;
	uint32_t level, x, nodes[4];

	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(M, K));
	x = add_gemm(bed, "product", x, add_const(bed, ACCEL_F32, 2, DIMS(K, N), w));
	add_output(bed, "y", add_act(bed, "relu", ACCEL_ACT_RELU, x));
	product(a, w, M, N, K, true, want);
	for (level = 0; level <= 3; level++) {
		program = compile(bed, level, 0);
		s = new_state(bed, program);
		fill_input(s, 0, a, M * K * sizeof(float));
		MUST(accel_state_run(s));
		got = output(bed, s, 0, &v);
		assert_string_equal(v.name, "y");
		assert_dims(&v, 2, DIMS(M, N));
		assert_close(got, want, M * N, 0.00001);
		nodes[level] = node_count(bed, s);
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	assert_int_equal(nodes[0], 2);
	assert_int_equal(nodes[3], 1);
	free(a);
	free(w);
}

static void test_second_run_makes_nothing(void **arg)
{
	struct bed *bed = *arg;
	float *w = noise_floats(1, K * N), *a = noise_floats(2, M * K);
	struct accel_program *program;
	struct accel_state *s;
	uint32_t x, before;

	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(M, K));
	x = add_gemm(bed, "product", x, add_const(bed, ACCEL_F32, 2, DIMS(K, N), w));
	add_output(bed, "y", add_unary(bed, "exp", ACCEL_UNARY_EXP, x));
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	fill_input(s, 0, a, M * K * sizeof(float));
	MUST(accel_state_run(s));
	MUST(accel_state_run(s));
	before = atomic_load(&allocations);
	if (COUNTED)
		assert_int_not_equal(before, 0);
	MUST(accel_state_run(s));
	if (COUNTED)
		assert_int_equal(atomic_load(&allocations) - before, FENCES);
	accel_state_destroy(s);
	accel_program_unref(program);
	free(a);
	free(w);
}

/* --- symbols ----------------------------------------------------------------------- */

static void run_batch(struct bed *bed, struct accel_state *s, const float *w, int64_t batch)
{
	float *a = noise_floats((uint64_t)batch, (uint64_t)batch * K);
	float *want = malloc((size_t)batch * N * sizeof(float));
	struct accel_value v;
	const float *got;

	assert_non_null(want);
	product(a, w, batch, N, K, false, want);
	MUST(accel_state_set_input(s, 0, 2, DIMS(batch, K), NULL, 0));
	fill_input(s, 0, a, (uint64_t)batch * K * sizeof(float));
	MUST(accel_state_run(s));
	got = output(bed, s, 0, &v);
	/* The result is flattened by its own shape. */
	assert_dims(&v, 1, DIMS(batch * N));
	assert_close(got, want, (uint64_t)batch * N, 0.00001);
	free(want);
	free(a);
}

static void test_symbols(void **arg)
{
	struct accel_shape_desc of = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_OF);
	struct accel_shape_desc reshape = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	struct accel_reduce_desc prod = ACCEL_REDUCE_DESC_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bed *bed = *arg;
	float *w = noise_floats(1, K * N);
	struct accel_program *program;
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_state *s;
	int64_t batch, min, max;
	uint32_t x, n, before;

	MUST_GRAPH(accel_graph_symbol(bed->graph, "batch", 1, 16, &batch));
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(batch, K));
	x = add_gemm(bed, "product", x, add_const(bed, ACCEL_F32, 2, DIMS(K, N), w));
	n = add_node(bed, "shape", &of.hdr, 1, &x);
	prod.func = ACCEL_REDUCE_PROD;
	n = add_node(bed, "elements", &prod.hdr, 1, &n);
	add_output(bed, "y", add_node(bed, "flat", &reshape.hdr, 2, (uint32_t[]) { x, n }));
	program = compile(bed, 3, 0);
	assert_int_equal(accel_program_get_input(program, 0, &v), 0);
	assert_string_equal(accel_program_get_symbol(program, v.dims[0], &min, &max), "batch");
	assert_int_equal(min, 1);
	assert_int_equal(max, 16);
	assert_null(accel_program_get_symbol(program, -2, NULL, NULL));
	s = new_state(bed, program);
	assert_int_equal(accel_state_run(s), -EINVAL);
	run_batch(bed, s, w, 3);
	run_batch(bed, s, w, 16);
	run_batch(bed, s, w, 1);
	/* What was seen is there still: setting it again makes no plan. */
	MUST(accel_state_set_input(s, 0, 2, DIMS(3, K), NULL, 0));
	before = atomic_load(&allocations);
	MUST(accel_state_run(s));
	if (COUNTED)
		assert_in_range(atomic_load(&allocations) - before, 0, 64);
	MUST(accel_state_set_input(s, 0, 2, DIMS(17, K), NULL, 0));
	assert_int_equal(accel_state_run(s), -EINVAL);
	accel_ctx_get_error(bed->ctx, &e);
	assert_string_equal(e.field, "batch");
	assert_int_equal(accel_state_set_input(s, 0, 2, DIMS(3, K + 1), NULL, 0), -EINVAL);
	accel_state_destroy(s);
	accel_program_unref(program);
	free(w);
}

/* --- views ------------------------------------------------------------------------- */

/* y = exp(slice(transpose(x))) of 6 dimensions, moved by hand */
static void test_views(void **arg)
{
	struct accel_shape_desc move = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_TRANSPOSE);
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	struct accel_shape_desc flat = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	static const uint32_t order[] = { 0, 3, 1, 4, 2, 5 };
	const int64_t in[6] = { 2, 3, 4, 2, 5, 3 };
	struct bed *bed = *arg;
	float *a = noise_floats(3, 720), want[720];
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	uint32_t x, level, cuts[5];
	int64_t n, from;

	x = add_input(bed, "x", ACCEL_F32, 6, in);
	memcpy(move.order, order, sizeof(order));
	x = add_node(bed, "move", &move.hdr, 1, &x);
	/* [2, 2, 3, 5, 4, 3]: every second of dimension 3 backwards */
	from = 0;
	cuts[from++] = x;
	cuts[from++] = LIST(-1);
	cuts[from++] = LIST(INT64_MIN);
	cuts[from++] = LIST(3);
	cuts[from++] = LIST(-2);
	x = add_node(bed, "cut", &cut.hdr, 5, cuts);
	x = add_unary(bed, "exp", ACCEL_UNARY_EXP, x);
	x = add_node(bed, "flat", &flat.hdr, 2, (uint32_t[]) { x, LIST(0, -1) });
	add_output(bed, "y", x);
	/* Place @n of the result, [2, 2, 3, 3, 4, 3], by its own indices */
	for (n = 0; n < 432; n++) {
		from = n / 216 * 3 + n / 36 % 3;
		from = (from * 4 + n / 3 % 4) * 2 + n / 108 % 2;
		from = (from * 5 + 4 - 2 * (n / 12 % 3)) * 3 + n % 3;
		want[n] = expf(a[from]);
	}
	for (level = 0; level <= 3; level += 3) {
		program = compile(bed, level, 0);
		s = new_state(bed, program);
		fill_input(s, 0, a, 720 * sizeof(float));
		MUST(accel_state_run(s));
		assert_close(output(bed, s, 0, &v), want, (uint64_t)n, 0.000001);
		assert_dims(&v, 2, DIMS(2, n / 2));
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	free(a);
}

/* --- types that no engine has ------------------------------------------------------ */

static void test_host_types(void **arg)
{
	struct accel_gather_desc rows = ACCEL_GATHER_DESC_INIT;
	struct accel_copy_desc cast = ACCEL_COPY_DESC_INIT;
	struct bed *bed = *arg;
	const int64_t ids[4] = { 2, -1, 0, 2 }, one = 1;
	float *table = noise_floats(4, 4 * 8), want[32];
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_program *program;
	const int64_t far[4] = { 0, 1, 5000000000, 3 };
	struct accel_state *s;
	struct accel_value v;
	uint32_t x, y;
	int i;

	/* rows of a table by 64-bit numbers, and those numbers times 2 plus 1 as they are */
	x = add_input(bed, "ids", ACCEL_HOST_S64, 1, DIMS(4));
	y = add_const(bed, ACCEL_F32, 2, DIMS(4, 8), table);
	add_output(bed, "rows", add_node(bed, "gather", &rows.hdr, 2, (uint32_t[]) { y, x }));
	y = add_binary(bed, "twice", ACCEL_BINARY_ADD, x, x);
	y = add_binary(bed, "more", ACCEL_BINARY_ADD, y, add_const(bed, ACCEL_HOST_S64, 0, DIMS(0),
								   &one));
	add_output(bed, "numbers", y);
	cast.d.dtype = ACCEL_F32;
	add_output(bed, "real", add_node(bed, "cast", &cast.hdr, 1, &y));
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	fill_input(s, 0, ids, sizeof(ids));
	MUST(accel_state_run(s));
	for (i = 0; i < 32; i++)
		want[i] = table[(ids[i / 8] < 0 ? ids[i / 8] + 4 : ids[i / 8]) * 8 + i % 8];
	assert_close(output(bed, s, 0, &v), want, 32, 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(((const int64_t *)output(bed, s, 1, &v))[i], 2 * ids[i] + 1);
	assert_int_equal(v.type, ACCEL_HOST_S64);
	assert_true(((const float *)output(bed, s, 2, &v))[1] == -1);
	MUST(accel_state_get_info(s, &info));
	assert_int_equal(info.node_count, 1);
	assert_int_equal(info.host_count, 4);
	/* One that is no row fails the run, by its name, and the next run is right again. */
	fill_input(s, 0, far, sizeof(far));
	assert_int_equal(accel_state_run(s), -EFAULT);
	accel_ctx_get_error(bed->ctx, &e);
	assert_string_equal(e.field, "gather");
	fill_input(s, 0, ids, sizeof(ids));
	MUST(accel_state_run(s));
	assert_close(output(bed, s, 0, &v), want, 32, 0);
	accel_state_destroy(s);
	accel_program_unref(program);
	free(table);
}

/* --- memory ------------------------------------------------------------------------ */

static void test_arena(void **arg)
{
	struct bed *bed = *arg;
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_program *program;
	struct accel_state *s;
	uint32_t x, i, level;
	uint64_t bytes[4];

	x = add_input(bed, "x", ACCEL_F32, 1, DIMS(16384));
	for (i = 0; i < 12; i++)
		x = add_unary(bed, "step", ACCEL_UNARY_SIN, x);
	add_output(bed, "y", x);
	for (level = 0; level <= 1; level++) {
		program = compile(bed, level, 0);
		s = new_state(bed, program);
		MUST(accel_state_get_info(s, &info));
		assert_int_equal(info.arena_bytes, info.arena_bound);
		bytes[level] = info.arena_bytes;
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	/* Two take turns; in place one is enough. */
	assert_int_equal(bytes[0], 2 * 65536);
	assert_int_equal(bytes[1], 65536);
}

/* f(x) + x w, or a convolution of x; @size is of x, whose channels or rows are as many as w's. */
static int to_nobody(void *user, const struct accel_node_profile *p)
{
	(void)user;
	(void)p;
	return 0;
}

static void check_residual(struct bed *bed, bool conv, uint32_t rank, const int64_t *size,
			   int64_t kernel)
{
	struct accel_program_info info = { .size = sizeof(info) };
	const int64_t n = size[1], pixels = rank == 4 ? size[2] * size[3] : 1;
	const uint64_t count = (uint64_t)(size[0] * n * pixels);
	float *w = noise_floats(11, (uint64_t)(n * n * kernel * kernel)), *want = NULL;
	float *a = noise_floats(12, count);
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	uint32_t x, y, both[2], level, i;
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;

	x = add_input(bed, "x", ACCEL_F32, rank, size);
	for (i = 0; i < 2; i++)
		d.pad_before[i] = d.pad_after[i] = (uint32_t)(kernel / 2);
	both[0] = x;
	both[1] = conv ? add_const(bed, ACCEL_F32, 4, DIMS(n, n, kernel, kernel), w) :
		  add_const(bed, ACCEL_F32, 2, DIMS(n, n), w);
	y = conv ? add_node(bed, "conv", &d.hdr, 2, both) : add_gemm(bed, "gemm", x, both[1]);
	y = add_binary(bed, "sum", ACCEL_BINARY_ADD, add_unary(bed, "f", ACCEL_UNARY_SIN, x), y);
	add_output(bed, "y", add_act(bed, "relu", ACCEL_ACT_RELU, y));
	for (level = 0; level <= 3; level += 3) {
		program = compile(bed, level, level ? 1u << ACCEL_PASS_LAYOUT : 0);
		s = new_state(bed, program);
		fill_input(s, 0, a, count * sizeof(float));
		MUST(accel_state_run(s));
		MUST(accel_state_get_info(s, &info));
		if (!level) {
			want = malloc(count * sizeof(float));
			assert_non_null(want);
			memcpy(want, output(bed, s, 0, &v), count * sizeof(float));
		} else {
			/* f(x), and over it the result */
			assert_int_equal(info.node_count, 2);
			assert_int_equal(info.arena_bytes, (count * sizeof(float) + 63) / 64 * 64);
			assert_close(output(bed, s, 0, &v), want, count, 0.001);
			/* Nor is it added again where nodes are repeated to be measured. */
			MUST(accel_state_profile(s, 3, to_nobody, NULL));
			assert_close(output(bed, s, 0, &v), want, count, 0.001);
		}
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	free(want);
	free(a);
	free(w);
}

/* What is added to a product is read once, and the result takes its place. */
static void test_residual(void **arg)
{
	static const int64_t edges[] = { 5, 7, 13, 14, 28 }, rows[] = { 1, 3, 8, 33, 100 };
	static const int64_t channels[] = { 16, 40, 67 };
	uint32_t i, k;

	for (i = 0; i < 5; i++)
		for (k = 0; k < 3; k++) {
			check_residual(*arg, true, 4, DIMS(1, channels[k], edges[i], edges[i]), 1);
			check_residual(*arg, true, 4, DIMS(2, channels[k], edges[i], edges[i]), 3);
			check_residual(*arg, false, 2, DIMS(rows[i], channels[k]), 1);
		}
}

static void test_cse(void **arg)
{
	struct bed *bed = *arg;
	float *a = noise_floats(5, 64), want[64];
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	uint32_t x, y, i, n[2];

	x = add_input(bed, "x", ACCEL_F32, 1, DIMS(64));
	y = add_binary(bed, "sum", ACCEL_BINARY_ADD, add_unary(bed, "one", ACCEL_UNARY_EXP, x),
		       add_unary(bed, "two", ACCEL_UNARY_EXP, x));
	add_output(bed, "y", y);
	for (i = 0; i < 64; i++)
		want[i] = 2 * expf(a[i]);
	for (i = 0; i < 2; i++) {
		program = compile(bed, 3, i ? 0 : 1u << ACCEL_PASS_CSE);
		s = new_state(bed, program);
		fill_input(s, 0, a, 64 * sizeof(float));
		MUST(accel_state_run(s));
		assert_close(output(bed, s, 0, &v), want, 64, 0.00001);
		n[i] = node_count(bed, s);
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	assert_int_equal(n[0], 3);
	assert_int_equal(n[1], 2);
	free(a);
}

/*
 * relu(reshape(x w) + b + r): one node, and two where what is in between is a result too, or
 * the pass is off
 */
static void epilogue(struct bed *bed, uint32_t off, bool middle, uint32_t nodes)
{
	struct accel_shape_desc flat = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	float *w = noise_floats(1, K * N), *b = noise_floats(6, N), *r = noise_floats(7, M * N);
	float *a = noise_floats(2, M * K), want[M * N];
	struct accel_program *program;
	struct accel_state *s;
	struct accel_value v;
	uint32_t x, y, i;

	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(M, K));
	y = add_input(bed, "r", ACCEL_F32, 3, DIMS(1, M, N));
	x = add_gemm(bed, "product", x, add_const(bed, ACCEL_F32, 2, DIMS(K, N), w));
	x = add_node(bed, "flat", &flat.hdr, 2, (uint32_t[]) { x, LIST(1, M, N) });
	x = add_binary(bed, "bias", ACCEL_BINARY_ADD, add_const(bed, ACCEL_F32, 1, DIMS(N), b), x);
	if (middle)
		add_output(bed, "middle", x);
	x = add_binary(bed, "sum", ACCEL_BINARY_ADD, x, y);
	add_output(bed, "y", add_act(bed, "relu", ACCEL_ACT_RELU, x));
	product(a, w, M, N, K, false, want);
	for (i = 0; i < M * N; i++)
		want[i] = fmaxf(want[i] + b[i % N] + r[i], 0);
	program = compile(bed, 3, off);
	s = new_state(bed, program);
	fill_input(s, 0, a, M * K * sizeof(float));
	fill_input(s, 1, r, M * N * sizeof(float));
	MUST(accel_state_run(s));
	assert_close(output(bed, s, middle, &v), want, M * N, 0.00001);
	assert_dims(&v, 3, DIMS(1, M, N));
	assert_int_equal(node_count(bed, s), nodes);
	accel_state_destroy(s);
	accel_program_unref(program);
	free(w);
	free(b);
	free(r);
	free(a);
}

static void test_epilogue(void **arg)
{
	epilogue(*arg, 0, false, 1);
}

static void test_epilogue_read(void **arg)
{
	epilogue(*arg, 0, true, 2);
}

static void test_epilogue_off(void **arg)
{
	epilogue(*arg, 1u << ACCEL_PASS_EPILOGUE, false, 4);
}

/* --- what is told ------------------------------------------------------------------ */

static int keep_text(void *user, const char *text, uint64_t bytes)
{
	*(char **)user = strndup(text, bytes);
	return 0;
}

static int count_nodes(void *user, const struct accel_node_profile *p)
{
	uint32_t *n = user;

	assert_int_equal(p->index, *n);
	assert_true(p->ns > 0);
	assert_non_null(p->name);
	(*n)++;
	return 0;
}

static void test_explain(void **arg)
{
	struct bed *bed = *arg;
	float *w = noise_floats(1, K * N), *a = noise_floats(2, M * K), want[M * N];
	struct accel_program *program;
	struct json_object *doc, *nodes, *node;
	struct accel_state *s;
	struct accel_value v;
	char *text = NULL;
	uint32_t x, n = 0;

	x = add_input(bed, "x\"1", ACCEL_F32, 2, DIMS(M, K));
	x = add_gemm(bed, "the \"product\"", x, add_const(bed, ACCEL_F32, 2, DIMS(K, N), w));
	add_output(bed, "y", x);
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	MUST(accel_state_explain(s, ACCEL_TEXT_JSON, keep_text, &text));
	doc = json_tokener_parse(text);
	assert_non_null(doc);
	assert_true(json_object_object_get_ex(doc, "nodes", &nodes));
	assert_int_equal(json_object_array_length(nodes), 1);
	node = json_object_array_get_idx(nodes, 0);
	assert_string_equal(json_object_get_string(json_object_object_get(node, "name")),
			    "the \"product\"");
	assert_int_equal(json_object_get_int64(json_object_object_get(doc, "macs")), M * N * K);
	json_object_put(doc);
	free(text);
	MUST(accel_state_explain(s, ACCEL_TEXT_PLAIN, keep_text, &text));
	assert_non_null(strstr(text, "the \"product\""));
	assert_non_null(strstr(text, "fp32[5,37]"));
	free(text);
	MUST(accel_state_explain(s, ACCEL_TEXT_DOT, keep_text, &text));
	assert_non_null(strstr(text, "digraph"));
	assert_non_null(strstr(text, "5x37"));
	free(text);
	assert_int_equal(accel_state_explain(s, 3, keep_text, &text), -EINVAL);
	fill_input(s, 0, a, M * K * sizeof(float));
	MUST(accel_state_profile(s, 3, count_nodes, &n));
	assert_int_equal(n, 1);
	product(a, w, M, N, K, false, want);
	assert_close(output(bed, s, 0, &v), want, M * N, 0.00001);
	accel_state_destroy(s);
	accel_program_unref(program);
	free(a);
	free(w);
}

/* --- mistakes ---------------------------------------------------------------------- */

static void test_mistakes(void **arg)
{
	struct bed *bed = *arg;
	struct accel_graph_arg args[4] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, 0 } };
	struct accel_unary_desc unary = ACCEL_UNARY_DESC_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_desc none = { sizeof(none), 99, 0, 0 };
	struct accel_value v = value_of("v", ACCEL_F32, 1, DIMS(-5));
	struct accel_program *program;
	struct accel_state *s;
	uint32_t x, y;
	int64_t dim;

	assert_int_equal(accel_graph_compile(bed->ctx, bed->graph, NULL, &program), -EINVAL);
	assert_int_equal(accel_graph_input(bed->graph, &v, &x), -EINVAL);
	v.dims[0] = 4;
	v.type = 77;
	assert_int_equal(accel_graph_input(bed->graph, &v, &x), -EINVAL);
	v.type = ACCEL_F32;
	v.rank = 9;
	assert_int_equal(accel_graph_input(bed->graph, &v, &x), -EINVAL);
	assert_int_equal(accel_graph_symbol(bed->graph, "n", 5, 4, &dim), -EINVAL);
	assert_int_equal(accel_graph_symbol(bed->graph, "n", 1, 4, &dim), 0);
	assert_int_equal(accel_graph_symbol(bed->graph, "n", 5, 9, &dim), -EINVAL);
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(3, 4));
	y = add_input(bed, "y", ACCEL_F32, 2, DIMS(3, 5));
	assert_int_equal(accel_graph_add(bed->graph, NULL, &none, args, 2), -EINVAL);
	args[1].value = 17;
	assert_int_equal(accel_graph_add(bed->graph, NULL, &unary.hdr, args, 2), -EINVAL);
	args[1] = (struct accel_graph_arg) { ACCEL_ARG_C, x };
	assert_int_equal(accel_graph_add(bed->graph, NULL, &unary.hdr, args, 2), -EINVAL);
	args[1] = (struct accel_graph_arg) { ACCEL_ARG_A, x };
	args[2] = (struct accel_graph_arg) { ACCEL_ARG_A, x };
	assert_int_equal(accel_graph_add(bed->graph, NULL, &unary.hdr, args, 3), -EINVAL);
	assert_int_equal(accel_graph_add(bed->graph, NULL, &unary.hdr, args + 1, 1), -EINVAL);
	accel_graph_get_error(bed->graph, &e);
	assert_non_null(strstr(e.text, "no result"));
	assert_int_equal(accel_graph_output(bed->graph, "z", 1000), -EINVAL);
	/* Dimensions are looked at when it is compiled; the message names the node. */
	add_output(bed, "sum", add_binary(bed, "the sum", ACCEL_BINARY_ADD, x, y));
	assert_int_equal(accel_graph_compile(bed->ctx, bed->graph, NULL, &program), 0);
	s = new_state(bed, program);
	assert_int_equal(accel_state_run(s), -EINVAL);
	accel_ctx_get_error(bed->ctx, &e);
	assert_string_equal(e.field, "the sum");
	assert_non_null(strstr(e.text, "4 and 5"));
	accel_state_destroy(s);
	accel_program_unref(program);
	assert_int_equal(accel_graph_output(bed->graph, "z", x), -EBUSY);
}

/* --- threads ----------------------------------------------------------------------- */

struct worker {
	struct bed *bed;
	struct accel_program *program;
	const float *w;
	int64_t batch;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct accel_state *s;
	int i;

	if (accel_state_create(w->program, &s))
		return "state";
	for (i = 0; i < 20; i++)
		run_batch(w->bed, s, w->w, w->batch + i % 3);
	accel_state_destroy(s);
	return NULL;
}

static void test_threads(void **arg)
{
	struct accel_shape_desc reshape = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	struct bed *bed = *arg;
	float *w = noise_floats(1, K * N);
	struct worker workers[4];
	pthread_t threads[4];
	int64_t batch;
	uint32_t x;
	void *ret;
	int i;

	MUST_GRAPH(accel_graph_symbol(bed->graph, "batch", 1, 64, &batch));
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(batch, K));
	x = add_gemm(bed, "product", x, add_const(bed, ACCEL_F32, 2, DIMS(K, N), w));
	add_output(bed, "y", add_node(bed, "flat", &reshape.hdr, 2, (uint32_t[]) { x, LIST(-1) }));
	for (i = 0; i < 4; i++) {
		workers[i] = (struct worker) { bed, i ? workers[0].program : compile(bed, 3, 0), w,
					      3 + 4 * i };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &ret);
		assert_null(ret);
	}
	accel_program_unref(workers[0].program);
	free(w);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

/* A row of a network, among @rows, of the context's kind */
static void network_of(struct bed *bed, int64_t rows, float *first)
{
	enum { DEEP = 256, WIDE = 64 };
	struct accel_state *state;
	struct accel_program *program;
	struct accel_value v;
	float *w = noise_floats(1, DEEP * WIDE), *x = noise_floats(2, (uint64_t)rows * DEEP);
	uint32_t a, t;

	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	a = add_input(bed, "x", ACCEL_F32, 2, DIMS(rows, DEEP));
	t = add_act(bed, "gelu", ACCEL_ACT_GELU,
		    add_gemm(bed, "up", a, add_const(bed, ACCEL_F32, 2, DIMS(DEEP, WIDE), w)));
	t = add_gemm(bed, "down", t, add_const(bed, ACCEL_F32, 2, DIMS(WIDE, WIDE), w));
	add_output(bed, "y", t);
	program = compile(bed, 3, 0);
	state = new_state(bed, program);
	fill_input(state, 0, x, (uint64_t)rows * DEEP * sizeof(*x));
	MUST(accel_state_run(state));
	memcpy(first, output(bed, state, 0, &v), WIDE * sizeof(*first));
	accel_state_destroy(state);
	accel_program_unref(program);
	free(x);
	free(w);
}

/* What a graph becomes is as reproducible as its context. */
static void test_reproducible(void **state)
{
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	struct bed *bed = *state;
	float alone[64], among[64];

	accel_ctx_destroy(bed->ctx);
	opts.flags = ACCEL_CTX_REPRODUCIBLE;
	assert_int_equal(accel_ctx_create(bed->dev, &opts, &bed->ctx), 0);
	network_of(bed, 1, alone);
	network_of(bed, 64, among);
	assert_memory_equal(alone, among, sizeof(alone));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gemm_relu),
		TEST(test_second_run_makes_nothing),
		TEST(test_symbols),
		TEST(test_views),
		TEST(test_host_types),
		TEST(test_arena),
		TEST(test_residual),
		TEST(test_cse),
		TEST(test_epilogue),
		TEST(test_epilogue_read),
		TEST(test_epilogue_off),
		TEST(test_explain),
		TEST(test_mistakes),
		TEST(test_threads),
		TEST(test_reproducible),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
