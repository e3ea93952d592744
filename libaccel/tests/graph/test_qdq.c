// SPDX-License-Identifier: MIT
/*
 * Operations between copies that read and write bytes, with the pass that joins them and
 * without: results differ by a step at most, and what is joined is one node.
 */
#include "onnxrun.h"

#define OFF (1u << ACCEL_PASS_QDQ)
/* It would copy where a picture becomes a line. */
#define LAYOUT (1u << ACCEL_PASS_LAYOUT)

static void fill_bytes(void *p, uint32_t n, uint32_t seed)
{
	uint8_t *u = p;
	uint32_t i;

	for (i = 0; i < n; i++)
		u[i] = (uint8_t)(int)(127 * noise(seed, i));
}

/* Numbers that bytes stand for; @scales: a table by channel, or NO_VALUE */
static uint32_t real(struct bed *bed, uint32_t a, float scale, int32_t zero, uint32_t scales)
{
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;
	struct accel_graph_arg args[3] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW },
					   { ACCEL_ARG_A, a },
					   { ACCEL_ARG_A | ACCEL_ARG_SCALES, scales } };
	bool table = scales != ACCEL_VALUE_NEW;

	d.d.dtype = ACCEL_F32;
	d.a.quant.scheme = table ? ACCEL_QUANT_CHANNEL : ACCEL_QUANT_TENSOR;
	d.a.quant.scale = table ? 0 : scale;
	d.a.quant.zero = zero;
	MUST_GRAPH(accel_graph_add(bed->graph, "real", &d.hdr, args, table ? 3 : 2));
	return args[0].value;
}

static uint32_t bytes(struct bed *bed, uint32_t a, float scale, int32_t zero)
{
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;

	d.d.dtype = ACCEL_U8;
	d.d.quant.scheme = ACCEL_QUANT_TENSOR;
	d.d.quant.scale = scale;
	d.d.quant.zero = zero;
	return add_node(bed, "bytes", &d.hdr, 1, &a);
}

/* With and without the pass; the bytes differ by a step at most. Nodes with it. */
static uint32_t both(struct bed *bed, uint32_t result, const void *in, uint32_t in_bytes)
{
	struct accel_program *program;
	struct accel_state *s[2];
	struct accel_value v;
	uint32_t i, nodes[2];
	const uint8_t *got[2];

	add_output(bed, "y", result);
	for (i = 0; i < 2; i++) {
		program = compile(bed, 3, (i ? 0 : OFF) | LAYOUT);
		s[i] = new_state(bed, program);
		accel_program_unref(program);
		fill_input(s[i], 0, in, in_bytes);
		MUST(accel_state_run(s[i]));
		got[i] = output(bed, s[i], 0, &v);
		nodes[i] = node_count(bed, s[i]);
	}
	for (i = 0; i < elements(&v); i++)
		if (abs(got[0][i] - got[1][i]) > 1)
			fail_msg("byte %u is %u, should be %u", i, got[1][i], got[0][i]);
	assert_true(nodes[1] < nodes[0]);
	accel_state_destroy(s[0]);
	accel_state_destroy(s[1]);
	return nodes[1];
}

#define C    8
#define F    16
#define SIZE 6

/* A convolution with a bias and an activation, its weights by channel */
static void test_conv(void **arg)
{
	struct bed *bed = *arg;
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct accel_graph_arg args[4] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	uint8_t x[C * SIZE * SIZE];
	int8_t w[F * C * 9];
	float *scales = noise_floats(3, F), *bias = noise_floats(4, F);
	uint32_t i, a, b, y;

	fill_bytes(x, sizeof(x), 1);
	fill_bytes(w, sizeof(w), 2);
	for (i = 0; i < F; i++)
		scales[i] = 0.01f + 0.005f * scales[i];
	a = add_input(bed, "x", ACCEL_U8, 4, DIMS(1, C, SIZE, SIZE));
	a = real(bed, a, 0.02f, 120, ACCEL_VALUE_NEW);
	b = real(bed, add_const(bed, ACCEL_S8, 4, DIMS(F, C, 3, 3), w), 0, 0,
		 add_const(bed, ACCEL_F32, 1, DIMS(F), scales));
	d.pad_before[0] = d.pad_before[1] = d.pad_after[0] = d.pad_after[1] = 1;
	args[1] = (struct accel_graph_arg){ ACCEL_ARG_A, a };
	args[2] = (struct accel_graph_arg){ ACCEL_ARG_B, b };
	args[3] = (struct accel_graph_arg){ ACCEL_ARG_BIAS,
					    add_const(bed, ACCEL_F32, 1, DIMS(F), bias) };
	MUST_GRAPH(accel_graph_add(bed->graph, "conv", &d.hdr, args, 4));
	y = add_act(bed, "relu", ACCEL_ACT_RELU, args[0].value);
	assert_int_equal(both(bed, bytes(bed, y, 0.11f, 3), x, sizeof(x)), 1);
	free(scales);
	free(bias);
}

/* A sum of bytes of two scales, the largest of windows by one scale, and the same bytes again */
static void test_moves(void **arg)
{
	struct bed *bed = *arg;
	struct accel_pool_desc pool = ACCEL_POOL_DESC_INIT;
	struct accel_shape_desc flat = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_FLATTEN);
	uint8_t x[C * SIZE * SIZE];
	uint32_t in, a, b;

	fill_bytes(x, sizeof(x), 5);
	in = add_input(bed, "x", ACCEL_U8, 4, DIMS(1, C, SIZE, SIZE));
	a = real(bed, in, 0.02f, 120, ACCEL_VALUE_NEW);
	b = real(bed, in, 0.03f, 90, ACCEL_VALUE_NEW);
	a = bytes(bed, add_binary(bed, "sum", ACCEL_BINARY_ADD, a, b), 0.06f, 100);
	pool.func = ACCEL_POOL_MAX;
	pool.kernel[0] = pool.kernel[1] = 2;
	pool.stride[0] = pool.stride[1] = 2;
	a = real(bed, a, 0.06f, 100, ACCEL_VALUE_NEW);
	a = bytes(bed, add_node(bed, "pool", &pool.hdr, 1, &a), 0.06f, 100);
	a = real(bed, a, 0.06f, 100, ACCEL_VALUE_NEW);
	flat.axis = 1;
	a = bytes(bed, add_node(bed, "flat", &flat.hdr, 1, &a), 0.06f, 100);
	a = real(bed, a, 0.06f, 100, ACCEL_VALUE_NEW);
	a = bytes(bed, add_act(bed, "relu", ACCEL_ACT_RELU, a), 0.05f, 3);
	/* The sum, the pooling, the activation */
	assert_int_equal(both(bed, a, x, sizeof(x)), 3);
}

#define M 7
#define K 64
#define N 32

/* Weights without zero points, with one for each column, or what only looks like that */
enum scaled_kind { SCALED, ZEROS, OTHER_ROWS, SUMS_REVERSED, ZEROS_REVERSED };

/* A view that has the rows in reverse */
static uint32_t reversed(struct bed *bed, uint32_t x)
{
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	static const int64_t list[4] = { -1, INT64_MIN, 0, -1 };
	uint32_t args[5] = { x }, i;

	for (i = 0; i < 4; i++)
		args[i + 1] = add_const(bed, ACCEL_HOST_S64, 1, DIMS(1), &list[i]);
	return add_node(bed, "reversed", &cut.hdr, 5, args);
}

/* An exact product less zero point times columns' sums, scaled, with a bias */
static void scaled(struct bed *bed, enum scaled_kind kind)
{
	static const int32_t zero = 117;
	struct accel_gemm_desc gemm = ACCEL_GEMM_DESC_INIT;
	struct accel_reduce_desc sum_of = ACCEL_REDUCE_DESC_INIT;
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	float *scales = noise_floats(7, N), *bias = noise_floats(8, N), want[M * N];
	uint8_t x[M * K];
	int8_t w[K * N];
	int32_t off[N] = { 0 }, zeros[N];
	uint32_t i, m, n, k, v, in, rows, level;
	struct accel_value out;

	fill_bytes(x, sizeof(x), 9);
	fill_bytes(w, sizeof(w), 10);
	for (n = 0; n < N; n++)
		zeros[n] = kind == SCALED ? 0 : (int32_t)n * 7 - 20;
	for (k = 0; k < K; k++)
		for (n = 0; n < N; n++)
			off[n] += zero * (w[k * N + n] - zeros[n]);
	for (n = 0; n < N; n++)
		scales[n] = 0.002f + 0.001f * scales[n];
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++) {
			const uint32_t from = kind >= SUMS_REVERSED ? M - 1 - m : m;
			int32_t sum = -off[n];

			for (k = 0; k < K; k++)
				sum += x[m * K + k] * w[k * N + n] - x[from * K + k] * zeros[n];
			want[m * N + n] =
				(float)((double)sum * (double)scales[n] + (double)bias[n]);
		}
	in = add_input(bed, "x", ACCEL_U8, 2, DIMS(M, K));
	gemm.d.dtype = ACCEL_S32;
	v = add_node(bed, "product", &gemm.hdr, 2,
		     (uint32_t[]){ in, add_const(bed, ACCEL_S8, 2, DIMS(K, N), w) });
	if (kind != SCALED) {
		rows = in;
		if (kind == OTHER_ROWS)
			rows = add_input(bed, "same", ACCEL_U8, 2, DIMS(M, K));
		sum_of.func = ACCEL_REDUCE_SUM;
		sum_of.axes = ACCEL_AXIS(1);
		sum_of.d.dtype = ACCEL_S32;
		rows = add_node(bed, "rows", &sum_of.hdr, 1, &rows);
		if (kind == SUMS_REVERSED)
			rows = reversed(bed, rows);
		rows = add_binary(bed, "zeros", ACCEL_BINARY_MUL, rows,
				  add_const(bed, ACCEL_S32, 1, DIMS(N), zeros));
		if (kind == ZEROS_REVERSED)
			rows = reversed(bed, rows);
		v = add_binary(bed, "zeros off", ACCEL_BINARY_SUB, v, rows);
	}
	v = add_binary(bed, "less", ACCEL_BINARY_SUB, v,
		       add_const(bed, ACCEL_S32, 2, DIMS(1, N), off));
	copy.d.dtype = ACCEL_F32;
	v = add_node(bed, "number", &copy.hdr, 1, &v);
	v = add_binary(bed, "scaled", ACCEL_BINARY_MUL, v,
		       add_const(bed, ACCEL_F32, 1, DIMS(N), scales));
	v = add_binary(bed, "bias", ACCEL_BINARY_ADD, add_const(bed, ACCEL_F32, 1, DIMS(N), bias),
		       v);
	add_output(bed, "y", v);
	for (i = 0; i < 3; i++) {
		struct accel_program *program;
		struct accel_state *s;

		level = i ? 3 : 0;
		program = compile(bed, level, i == 1 ? OFF : 0);
		s = new_state(bed, program);
		fill_input(s, 0, x, sizeof(x));
		if (kind == OTHER_ROWS)
			fill_input(s, 1, x, sizeof(x));
		MUST(accel_state_run(s));
		assert_close(output(bed, s, 0, &out), want, M * N, 0.001);
		if (i == 2)
			assert_int_equal(node_count(bed, s) == 1, kind <= ZEROS);
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	free(scales);
	free(bias);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
}

static void test_scaled(void **arg)
{
	enum scaled_kind kind;

	for (kind = SCALED; kind <= ZEROS_REVERSED; kind++)
		scaled(*arg, kind);
}

/* Sums of constant bytes along each dimension, also of more columns than are taken in one go */
static void test_sums(void **arg)
{
	static const uint32_t types[2] = { ACCEL_S8, ACCEL_U8 };
	static const int64_t dims[3] = { 3, 5, 600 }, strides[3] = { 3000, 600, 1 };
	struct accel_reduce_desc sum = ACCEL_REDUCE_DESC_INIT;
	struct bed *bed = *arg;
	uint32_t t, axis, x;
	int8_t w[9000];

	fill_bytes(w, sizeof(w), 10);
	sum.func = ACCEL_REDUCE_SUM;
	sum.d.dtype = ACCEL_S32;
	for (t = 0; t < 2; t++)
		for (axis = 0; axis < 3; axis++) {
			struct accel_program *program;
			struct accel_state *s;
			struct accel_value v;
			const int32_t *got;
			int64_t i, k;

			sum.axes = ACCEL_AXIS(axis);
			x = add_const(bed, types[t], 3, dims, w);
			add_output(bed, "y", add_node(bed, "sum", &sum.hdr, 1, &x));
			program = compile(bed, 3, 0);
			s = new_state(bed, program);
			MUST(accel_state_run(s));
			got = output(bed, s, 0, &v);
			assert_int_equal(elements(&v), 9000 / dims[axis]);
			for (i = 0; i < 9000 / dims[axis]; i++) {
				/* The first of those that are summed */
				int64_t at = i / strides[axis] * strides[axis] * dims[axis] +
					     i % strides[axis], want = 0;

				for (k = 0; k < dims[axis]; k++, at += strides[axis])
					want += t ? (uint8_t)w[at] : w[at];
				assert_int_equal(got[i], want);
			}
			accel_state_destroy(s);
			accel_program_unref(program);
			accel_graph_destroy(bed->graph);
			assert_int_equal(accel_graph_create(&bed->graph), 0);
		}
}

/* All levels say what level 0 does, of numbers. */
static void levels_agree(struct bed *bed, const void *in, uint32_t in_bytes)
{
	struct accel_program *program;
	struct accel_state *s[2];
	struct accel_value v;
	const float *want;
	uint32_t level;

	for (level = 0; level < 4; level++) {
		program = compile(bed, level, 0);
		s[!!level] = new_state(bed, program);
		accel_program_unref(program);
		fill_input(s[!!level], 0, in, in_bytes);
		MUST(accel_state_run(s[!!level]));
		want = output(bed, s[0], 0, &v);
		assert_close(output(bed, s[!!level], 0, &v), want, elements(&v), 0.001);
		if (level)
			accel_state_destroy(s[1]);
	}
	accel_state_destroy(s[0]);
}

/* What comes before the scale is not what comes after it. */
static void test_scaled_act(void **arg)
{
	struct accel_gemm_desc gemm = ACCEL_GEMM_DESC_INIT;
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	struct bed *bed = *arg;
	float *bias = noise_floats(8, N), scale = 0.001f;
	uint8_t x[M * K];
	int8_t w[K * N];
	uint32_t v;

	fill_bytes(x, sizeof(x), 9);
	fill_bytes(w, sizeof(w), 10);
	v = add_input(bed, "x", ACCEL_S8, 2, DIMS(M, K));
	gemm.d.dtype = ACCEL_S32;
	gemm.epilogue.act = ACCEL_ACT_RELU;
	v = add_node(bed, "product", &gemm.hdr, 2,
		     (uint32_t[]){ v, add_const(bed, ACCEL_S8, 2, DIMS(K, N), w) });
	copy.d.dtype = ACCEL_F32;
	v = add_node(bed, "number", &copy.hdr, 1, &v);
	v = add_binary(bed, "scaled", ACCEL_BINARY_MUL, v,
		       add_const(bed, ACCEL_F32, 0, DIMS(0), &scale));
	v = add_binary(bed, "bias", ACCEL_BINARY_ADD, add_const(bed, ACCEL_F32, 1, DIMS(N), bias),
		       v);
	add_output(bed, "y", v);
	levels_agree(bed, x, sizeof(x));
	free(bias);
}

/* Scores of bytes have a scale that is the product's, and so have numbers beside them. */
static void test_attention(void **arg)
{
	struct accel_softmax_desc softmax = ACCEL_SOFTMAX_DESC_INIT;
	struct accel_gemm_desc gemm = ACCEL_GEMM_DESC_INIT;
	struct accel_binary_desc times = ACCEL_BINARY_DESC_INIT;
	struct bed *bed = *arg;
	float *v = noise_floats(12, 2 * 9 * 16), *k = noise_floats(13, 2 * 9 * 16);
	int8_t x[2 * 7 * 16], w[2 * 9 * 16], two = 2;
	uint32_t y, way, q;

	fill_bytes(x, sizeof(x), 9);
	fill_bytes(w, sizeof(w), 10);
	for (way = 0; way < 2; way++) {
		q = add_input(bed, "x", ACCEL_S8, 3, DIMS(2, 7, 16));
		if (way) {
			q = real(bed, q, 0.02f, 0, ACCEL_VALUE_NEW);
			times.func = ACCEL_BINARY_MUL;
			times.b.quant.scheme = ACCEL_QUANT_TENSOR;
			times.b.quant.scale = 0.25f;
			q = add_node(bed, "times", &times.hdr, 2, (uint32_t[]) {
				     q, add_const(bed, ACCEL_S8, 1, DIMS(1), &two) });
			gemm = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
			y = add_const(bed, ACCEL_F32, 3, DIMS(2, 16, 9), k);
		} else {
			gemm.d.dtype = ACCEL_F32;
			gemm.a.quant.scheme = ACCEL_QUANT_TENSOR;
			gemm.a.quant.scale = 0.02f;
			gemm.b.quant.scheme = ACCEL_QUANT_TENSOR;
			gemm.b.quant.scale = 0.03f;
			y = add_const(bed, ACCEL_S8, 3, DIMS(2, 16, 9), w);
		}
		y = add_node(bed, "scores", &gemm.hdr, 2, (uint32_t[]) { q, y });
		y = add_node(bed, "softmax", &softmax.hdr, 1, &y);
		add_output(bed, "y", add_gemm(bed, "values", y,
					      add_const(bed, ACCEL_F32, 3, DIMS(2, 9, 16), v)));
		levels_agree(bed, x, sizeof(x));
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
	}
	free(v);
	free(k);
}

/* Constants whose scales are not there are refused, and nothing behind them is read. */
static void test_tables(void **arg)
{
	static const struct {
		uint32_t axis;
		uint32_t count;
	} bad[] = { { 0, 2 }, { 2, F }, { 100, F }, { 0, 0 } };
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;
	struct bed *bed = *arg;
	float *scales;
	int8_t w[F * C];
	uint32_t i, x;

	fill_bytes(w, sizeof(w), 2);
	for (i = 0; i < COUNT(bad); i++) {
		struct accel_graph_arg args[] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW },
						  { ACCEL_ARG_A, 0 },
						  { ACCEL_ARG_A | ACCEL_ARG_SCALES, 0 } };

		/* As much memory as there are scales, for a checker of addresses */
		scales = malloc(bad[i].count * sizeof(*scales) + !bad[i].count);
		assert_non_null(scales);
		for (x = 0; x < bad[i].count; x++)
			scales[x] = 0.5f;
		d.d.dtype = ACCEL_F32;
		d.a.quant.scheme = ACCEL_QUANT_CHANNEL;
		d.a.quant.axis = bad[i].axis;
		args[1].value = add_const(bed, ACCEL_S8, 2, DIMS(F, C), w);
		args[2].value = add_const(bed, ACCEL_F32, 1, DIMS(bad[i].count), scales);
		MUST_GRAPH(accel_graph_add(bed->graph, "real", &d.hdr, args,
					   bad[i].count ? 3 : 2));
		x = add_input(bed, "x", ACCEL_F32, 2, DIMS(F, C));
		add_output(bed, "y", add_binary(bed, "sum", ACCEL_BINARY_ADD, x, args[0].value));
		for (opts.level = 0; opts.level < 4; opts.level++) {
			struct accel_program *program = NULL;
			struct accel_state *s;
			int ret = accel_graph_compile(bed->ctx, bed->graph, &opts, &program);

			if (!ret) {
				s = new_state(bed, program);
				ret = accel_state_run(s);
				accel_state_destroy(s);
			}
			accel_program_unref(program);
			assert_int_equal(ret, -EINVAL);
		}
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
		free(scales);
	}
}

/* What is written with another type is not written over what is read. */
static void test_types(void **arg)
{
	struct bed *bed = *arg;
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;
	float *x = noise_floats(3, 24);
	uint32_t a;

	a = add_input(bed, "x", ACCEL_F32, 2, DIMS(4, 6));
	d.d.dtype = ACCEL_S8;
	d.d.quant.scheme = ACCEL_QUANT_TENSOR;
	d.d.quant.scale = 0.01f;
	a = add_node(bed, "bytes", &d.hdr, 1, &a);
	a = add_act(bed, "relu", ACCEL_ACT_RELU, real(bed, a, 0.01f, 0, ACCEL_VALUE_NEW));
	a = bytes(bed, a, 0.01f, 0);
	add_output(bed, "y", real(bed, a, 0.01f, 0, ACCEL_VALUE_NEW));
	levels_agree(bed, x, 24 * sizeof(*x));
	free(x);
}

static void long_chain(struct bed *bed, uint32_t size)
{
	uint32_t i, x;

	x = add_input(bed, "x", ACCEL_U8, 1, DIMS(8));
	for (i = 0; i < size; i++) {
		x = real(bed, x, 0.01f + 0.001f * (float)(i % 3), 3, ACCEL_VALUE_NEW);
		x = bytes(bed, add_act(bed, "relu", ACCEL_ACT_RELU, x), 0.01f, (int)i % 5);
	}
	add_output(bed, "y", x);
	accel_program_unref(compile(bed, 3, 0));
}

static void test_long(void **arg)
{
	assert_linear(*arg, long_chain, 20000);
}

/* --- weights of few bits of ONNX files --------------------------------------------------- */

/*
 * As weights of products they stay what they are: [4, 16] by way of a transposition or transB, and
 * [16, 4], with scales of blocks of 16 or of columns, or one.
 */
static void one_halves(struct bed *bed, int type, bool across, int scales, bool zeros, int way)
{
	static const float scale[4] = { 0.5f, 1, 2, 0.25f };
	static const uint8_t zero[2] = { 0x51, 0x3e };
	static float x[3 * 16], y[3 * 4];
	const int64_t r = across ? 4 : 16, c = across ? 16 : 4;
	static uint8_t w[32];
	struct tested *t;
	struct bytes n;
	struct runner m;
	int i, k, v, z;

	for (i = 0; i < 48; i++)
		x[i] = (float)(int)(noise(1, (uint32_t)i) * 9);
	for (i = 0; i < 32; i++)
		w[i] = (uint8_t)(noise(2, (uint32_t)i) * 127.9f + 128);
	for (i = 0; i < 12; i++)
		for (y[i] = 0, k = 0; k < 16; k++) {
			const int at = across ? i % 4 * 16 + k : k * 4 + i % 4;
			const int s = scales ? i % 4 : 0;

			v = w[at / 2] >> at % 2 * 4 & 15;
			z = zeros ? zero[s / 2] >> s % 2 * 4 & 15 : 0;
			v -= type == S4 ? (v & 8) * 2 : 0;
			z -= type == S4 ? (z & 8) * 2 : 0;
			y[i] += x[i / 4 * 16 + k] * (float)(v - z) * scale[s];
		}
	t = BEGIN(bed, { "x", F32, 2, { -1, 16 }, x, false, DIMS(3, 16) },
		  CONST("w", type, w, r, c),
		  { "s", F32, (uint32_t)scales, { scales == 1 || across ? 4 : 1, across ? 1 : 4 },
		    scale, true, NULL },
		  { "z", type, (uint32_t)scales, { scales == 1 || across ? 4 : 1, across ? 1 : 4 },
		    zero, true, NULL });
	n = op(NULL, "DequantizeLinear", zeros ? "w s z" : "w s", "real");
	attr_int(&n, "axis", scales == 1 ? !across : across);
	attr_int(&n, "block_size", scales == 2 ? 16 : 0);
	add_op(t, &n);
	if (across && way)
		ONE(t, NULL, "Transpose", "real", "turned");
	n = op(NULL, across && !way ? "Gemm" : "MatMul", across && way ? "x turned" : "x real",
	       "y");
	if (across && !way)
		attr_int(&n, "transB", 1);
	add_op(t, &n);
	GIVES(t, IO("y", F32, y, 3, 4));
	m = start(t, 3);
	set(&m, 0, 2, DIMS(3, 16), x, sizeof(x));
	assert_int_equal(node_count(bed, m.state), 1);
	stop(&m);
}

static void test_halves_as_weights(void **arg)
{
	int i;

	for (i = 0; i < 48; i++)
		if (i & 2 || !(i & 8))
			one_halves(*arg, i & 1 ? U4 : S4, i & 2, i / 16, i & 4, i & 8);
}

/* Two matrices at one place of a file, one of which has twice as many bytes for a row */
static void test_rows_of_one_place(void **arg)
{
	static const float x[16] = { 1 }, y[2][2] = { { 1, 2 }, { 1, 3 } };
	static const uint8_t w[32] = { 0x09, [8] = 0x0a, [16] = 0x0b };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 16),
				 CONST("s", F32, ((float[]) { 1, 1 }), 2));
	char path[] = "/tmp/test_onnx_rows.XXXXXX";
	const int fd = mkstemp(path);
	struct bytes n;
	int i;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, w, sizeof(w)), (ssize_t)sizeof(w));
	close(fd);
	for (i = 0; i < 2; i++) {
		n = tensor(i ? "w1" : "w0", U8, 3, DIMS(2, 1, 8 << i), NULL, 0);
		put_external(&n, path + 5, "0");
		put_message(&t->g, 5, &n);
		n = op(MS, "MatMulNBits", i ? "x w1 s" : "x w0 s", i ? "y1" : "y0");
		attr_int(&n, "K", 16);
		attr_int(&n, "N", 2);
		attr_int(&n, "block_size", 16 << i);
		add_op(t, &n);
	}
	GIVES(t, IO("y0", F32, y[0], 1, 2), IO("y1", F32, y[1], 1, 2));
	unlink(path);
}

/* Scales of one matrix, which has no zero points, and zero points of another at one place */
static void test_zeros_at_scales(void **arg)
{
	static const float x[16] = { 1 }, y0[2] = { 7.0000275f, 5.25f }, y1[2] = { 6, 1 };
	static const uint32_t s[2] = { 0x3f800021, 0x3fe00000 };
	static const uint8_t w[16] = { 0x37 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 16), CONST("w", U4, w, 16, 2),
				 CONST("s1", F32, ((float[]) { 1, 1 }), 2));
	char path[] = "/tmp/test_onnx_rows.XXXXXX";
	const int fd = mkstemp(path);
	struct bytes n;
	int i;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, s, sizeof(s)), (ssize_t)sizeof(s));
	close(fd);
	for (i = 0; i < 2; i++) {
		n = tensor(i ? "z" : "s0", i ? U4 : F32, 1, DIMS(2), NULL, 0);
		put_external(&n, path + 5, "0");
		put_message(&t->g, 5, &n);
		n = op(NULL, "DequantizeLinear", i ? "w s1 z" : "w s0", i ? "r1" : "r0");
		add_op(t, &n);
		ONE(t, NULL, "MatMul", i ? "x r1" : "x r0", i ? "y1" : "y0");
	}
	GIVES(t, IO("y0", F32, y0, 1, 2), IO("y1", F32, y1, 1, 2));
	unlink(path);
}

/* The number below which a share @p of a normal distribution lies */
static double quantile(double p)
{
	double x = 0, step = 8;

	for (; step * 1e12 > 1; step /= 2)
		x += erfc(-x * M_SQRT1_2) / 2 < p ? step : -step;
	return x;
}

/* What 4 bits stand for: a sign and one of eight numbers, or quantiles to either side of 0 */
static double bnb4(bool nf4, int bits)
{
	static const double twelfths[8] = { 0, 0.0625, 8, 12, 4, 6, 2, 3 };
	const double e = 0.9677083, part = bits < 7 ? bits / 7.0 : (15 - bits) / 8.0;

	if (!nf4)
		return twelfths[bits & 7] / (bits & 8 ? -12 : 12);
	return bits == 7 ? 0 : quantile(e + (0.5 - e) * part) / quantile(bits < 7 ? 1 - e : e);
}

static void add_bnb4(struct tested *t, const int64_t *attrs)
{
	static const char *const names[] = { "N", "K", "block_size", "quant_type", "transB" };
	struct bytes node = op(MS, "MatMulBnb4", "x w m", "y");
	uint32_t i;

	for (i = 0; i < COUNT(names); i++)
		attr_int(&node, names[i], attrs[i]);
	add_op(t, &node);
}

/* @turned: rows and columns of the [@n, @k] weights are exchanged, as usual */
static void one_bnb4(struct bed *bed, bool nf4, bool turned, int n, int k, int block)
{
	const int cols = turned ? k : n, out = turned ? n : k;
	float *x = noise_floats(1, 128), *most = noise_floats(2, 128), y[128];
	uint8_t w[80] = { 0 };
	struct tested *t;
	int i, c, at;

	for (i = 0; i < n * k; i++)
		w[i / 2] |= (uint8_t)((i * 7 + i / 16) % 16 << (i % 2 ? 0 : 4));
	for (i = 0; i < 3 * out; i++)
		for (y[i] = 0, c = 0; c < cols; c++) {
			at = turned ? i % out * k + c : c * k + i % out;
			y[i] += x[i / out * cols + c] * most[at / block] *
				(float)bnb4(nf4, (at * 7 + at / 16) % 16);
		}
	t = BEGIN(bed, IO("x", F32, x, 3, cols), CONST("w", U8, w, (n * k + 1) / 2),
		  CONST("m", F32, most, (n * k + block - 1) / block));
	add_bnb4(t, (const int64_t[]) { n, k, block, nf4, turned });
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, y, 3, out));
	free(x);
	free(most);
}

static void test_bnb4(void **arg)
{
	static const struct {
		int64_t attrs[5];
		const char *words;
	} bad[] = { { { 2, 16, 16, 2, 1 }, "its quant_type is 2, not 0 (FP4) or 1 (NF4)" },
		    { { 2, 16, 24, 1, 1 }, "16 by 2 in blocks of 24" },
		    { { 2, 1 << 25, 16, 0, 1 }, "33554432 by 2 in blocks of 16" },
		    { { 2, 17, 16, 0, 1 }, "weights that are not constant bytes of its size" },
		    { { 2, 16, 32, 0, 1 }, "not as many factors as blocks" } };
	static const float x[32];
	struct tested *t;
	uint32_t i;

	for (i = 0; i < 8; i++)
		one_bnb4(*arg, i & 1, i & 2, i & 4 ? 4 : 5, i & 4 ? 32 : 13, i & 4 ? 64 : 16);
	for (i = 0; i < COUNT(bad); i++) {
		t = BEGIN(*arg, IO("x", F32, x, 16), CONST("w", U8, x, 16), CONST("m", F32, x, 2));
		add_bnb4(t, bad[i].attrs);
		must_refuse(t, 0, bad[i].words);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_conv), TEST(test_moves), TEST(test_scaled), TEST(test_scaled_act),
		TEST(test_sums), TEST(test_attention), TEST(test_tables), TEST(test_types),
		TEST(test_long), TEST(test_halves_as_weights), TEST(test_rows_of_one_place),
		TEST(test_zeros_at_scales), TEST(test_bnb4),
	};

	return cmocka_run_group_tests_name("qdq", tests, NULL, NULL);
}
