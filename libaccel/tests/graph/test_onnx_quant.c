// SPDX-License-Identifier: MIT
/*
 * Quantised operators of ONNX and of com.microsoft, against what their definitions give in
 * binary64. Scales are such that no number lies halfway between two steps.
 */
#include "onnxop.h"

static double clamp(double x, double min, double max)
{
	return x < min ? min : x > max ? max : x;
}

static double u8_of(double x, double scale, int zero)
{
	return clamp(nearbyint(x / scale) + zero, 0, 255);
}

/* Bytes that depend on their place */
static void fill_u8(uint8_t *p, uint32_t n, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)(128 + 127 * noise(seed, i));
}

static void fill_s8(int8_t *p, uint32_t n, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		p[i] = (int8_t)(127 * noise(seed, i));
}

/* --- single numbers ------------------------------------------------------------------------ */

static void put_axis(struct tested *t, const char *type, const char *in, const char *out,
		     int64_t axis, int64_t block)
{
	struct bytes n = op(NULL, type, in, out);

	attr_int(&n, "axis", axis);
	if (block)
		attr_int(&n, "block_size", block);
	add_op(t, &n);
}

/* Of a tensor, of channels and of blocks; the last block is a part of one. */
static void test_linear(void **arg)
{
	static const float scale = 0.037f, scales[3] = { 0.03f, 0.5f, 0.011f };
	static const float blocks[6] = { 0.03f, 0.5f, 0.011f, 0.2f, 0.07f, 1.3f };
	static const uint8_t zero = 113, zeros[3] = { 3, 128, 200 };
	float x[12], back[12], back_s[12], back_b[12];
	uint8_t q[12], qs[12], qb[12];
	struct tested *t;
	int i;

	for (i = 0; i < 12; i++) {
		const float s = scales[i / 4], b = blocks[i / 4 * 2 + i % 4 / 3];

		x[i] = 4 * noise(1, (uint32_t)i);
		q[i] = (uint8_t)u8_of((double)(x[i] / scale), 1, zero);
		back[i] = (float)(q[i] - zero) * scale;
		qs[i] = (uint8_t)u8_of((double)(x[i] / s), 1, zeros[i / 4]);
		back_s[i] = (float)(qs[i] - zeros[i >> 2]) * s;
		qb[i] = (uint8_t)u8_of((double)(x[i] / b), 1, 0);
		back_b[i] = (float)qb[i] * b;
	}
	t = BEGIN(*arg, IO("x", F32, x, 3, 4), SCALAR("s", F32, &scale), SCALAR("z", U8, &zero));
	put_axis(t, "QuantizeLinear", "x s z", "q", 0, 0);
	put_axis(t, "DequantizeLinear", "q s z", "y", 0, 0);
	GIVES(t, IO("q", U8, q, 3, 4), IO("y", F32, back, 3, 4));
	t = BEGIN(*arg, IO("x", F32, x, 3, 4), CONST("s", F32, scales, 3),
		  CONST("z", U8, zeros, 3));
	put_axis(t, "QuantizeLinear", "x s z", "q", 0, 0);
	put_axis(t, "DequantizeLinear", "q s z", "y", -2, 0);
	GIVES(t, IO("q", U8, qs, 3, 4), IO("y", F32, back_s, 3, 4));
	/* The same with scales that come when it runs */
	t = BEGIN(*arg, IO("x", F32, x, 3, 4), IO("s", F32, scales, 3), IO("z", U8, zeros, 3));
	put_axis(t, "QuantizeLinear", "x s z", "q", 0, 0);
	put_axis(t, "DequantizeLinear", "q s z", "y", 0, 0);
	GIVES(t, IO("q", U8, qs, 3, 4), IO("y", F32, back_s, 3, 4));
	t = BEGIN(*arg, IO("x", F32, x, 3, 4), CONST("s", F32, blocks, 3, 2));
	put_axis(t, "QuantizeLinear", "x s", "q", 1, 3);
	put_axis(t, "DequantizeLinear", "q s", "y", 1, 3);
	GIVES(t, IO("q", U8, qb, 3, 4), IO("y", F32, back_b, 3, 4));
}

/* 16 bits, four bits, and 32 into numbers */
static void test_other_types(void **arg)
{
	static const float x[4] = { -3.3f, 0.26f, 700, 0.0101f }, s = 0.01f, one = 0.5f;
	static const int16_t want[4] = { -330, 26, 32767, 1 };
	static const float back[4] = { -3.3f, 0.26f, 327.67f, 0.01f };
	static const uint16_t z16 = 1000, want_u[4] = { 670, 1026, 65535, 1001 };
	static const int32_t wide[4] = { 1 << 24, -5, 7, 16777217 };
	static const float wide_back[4] = { 8388608, -2.5f, 3.5f, 8388608 };
	static const int16_t none;
	static const uint8_t nibbles[2] = { 0x1f, 0x87 };
	struct tested *t;

	t = BEGIN(*arg, IO("x", F32, x, 4), SCALAR("s", F32, &s), SCALAR("z", S16, &none));
	put_axis(t, "QuantizeLinear", "x s z", "q", 0, 0);
	put_axis(t, "DequantizeLinear", "q s z", "y", 0, 0);
	t->bound = 0.0001;
	GIVES(t, IO("q", S16, want, 4), IO("y", F32, back, 4));
	t = BEGIN(*arg, IO("x", F32, x, 4), SCALAR("s", F32, &s), SCALAR("z", U16, &z16));
	put_axis(t, "QuantizeLinear", "x s z", "q", 0, 0);
	{
		const float two = 2 * s;
		const float doubled[4] = { -6.6f, 0.52f, 1290.7f, 0.02f };
		struct bytes c = tensor("two", F32, 0, NULL, &two, sizeof(two));

		put_message(&t->g, 5, &c);
		put_axis(t, "DequantizeLinear", "q two z", "y", 0, 0);
		t->bound = 0.001;
		GIVES(t, IO("q", U16, want_u, 4), IO("y", F32, doubled, 4));
	}
	t = BEGIN(*arg, IO("x", S32, wide, 4), SCALAR("s", F32, &one));
	put_axis(t, "DequantizeLinear", "x s", "y", 0, 0);
	GIVES(t, IO("y", F32, wide_back, 4));
	t = BEGIN(*arg, CONST("x", U4, nibbles, 4), SCALAR("s", F32, &one));
	put_axis(t, "DequantizeLinear", "x s", "y", 0, 0);
	GIVES(t, IO("y", F32, ((float[]){ 7.5f, 0.5f, 3.5f, 4 }), 4));
	t = BEGIN(*arg, CONST("x", S4, nibbles, 4), SCALAR("s", F32, &one));
	put_axis(t, "DequantizeLinear", "x s", "y", 0, 0);
	GIVES(t, IO("y", F32, ((float[]){ -0.5f, 0.5f, 3.5f, -4 }), 4));
}

/* --- products -------------------------------------------------------------------------------- */

#define M 5
#define K 24
#define N 6

/* One product with each kind of zero points: none, one, one of each row or column, given late */
static void one_product(struct bed *bed, int kind_a, int kind_b, bool late)
{
	uint8_t a[M * K], za[M];
	int8_t b[K * N], zb[N];
	int32_t want[M * N];
	struct tested *t;
	struct io in[4] = { IO("a", U8, a, M, K), CONST("b", S8, b, K, N), CONST("za", U8, za, M),
			    CONST("zb", S8, zb, N) };
	int m, n, k;

	fill_u8(a, M * K, 1);
	fill_s8(b, K * N, 2);
	fill_u8(za, M, 3);
	fill_s8(zb, N, 4);
	for (m = 0; m < M; m++)
		za[m] = !kind_a ? 0 : za[kind_a == 1 ? 0 : m];
	for (n = 0; n < N; n++)
		zb[n] = !kind_b ? 0 : zb[kind_b == 1 ? 0 : n];
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++)
			for (k = 0, want[m * N + n] = 0; k < K; k++)
				want[m * N + n] += (a[m * K + k] - za[m]) * (b[k * N + n] - zb[n]);
	in[2].rank = kind_a == 2;
	in[3].rank = kind_b == 2;
	in[2].constant = in[3].constant = !late;
	t = begin(bed, in, 4);
	ONE(t, NULL, "MatMulInteger", kind_a || kind_b ? "a b za zb" : "a b", "y");
	if (!kind_a && !kind_b && late)
		return;
	GIVES(t, IO("y", S32, want, M, N));
}

static void test_matmul_integer(void **arg)
{
	int a, b, late;

	for (a = 0; a < 3; a++)
		for (b = 0; b < 3; b++)
			for (late = 0; late < 2; late++)
				one_product(*arg, a, b, late);
}

/*
 * What dynamic quantisation makes of x by b, which has zero points for its columns or none, scaled
 * and with a bias; half a step of x off
 */
static void dynamic(struct bed *bed, bool zeros)
{
	static const float scale = 0.02f;
	float *x = noise_floats(5, M * K), *bias = noise_floats(6, N), want[M * N], min = 0,
	      max = 0;
	float columns[N];
	uint8_t zero, q;
	struct tested *t;
	int8_t b[K * N], zb[N];
	double step;
	int m, n, k;

	fill_s8(b, K * N, 7);
	for (n = 0; n < N; n++)
		zb[n] = zeros ? (int8_t)(9 * n - 30) : 0;
	for (m = 0; m < M * K; m++) {
		x[m] = 3 * x[m] + 0.4f;
		min = fminf(min, x[m]);
		max = fmaxf(max, x[m]);
	}
	step = (double)((max - min) / 255);
	zero = (uint8_t)nearbyint((double)-min / step);
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++) {
			double sum = 0;

			for (k = 0; k < K; k++) {
				q = (uint8_t)u8_of((double)x[m * K + k], step, zero);
				sum += (q - zero) * (b[k * N + n] - zb[n]);
			}
			want[m * N + n] = (float)(sum * step * (double)scale + (double)bias[n]);
		}
	t = BEGIN(bed, IO("x", F32, x, M, K), CONST("b", S8, b, K, N), SCALAR("bs", F32, &scale),
		  CONST("bias", F32, bias, N), CONST("zb", S8, zb, N));
	ONE(t, MS, "DynamicQuantizeMatMul", zeros ? "x b bs zb bias" : "x b bs - bias", "y");
	t->bound = 0.0001;
	GIVES(t, IO("y", F32, want, M, N));
	/* As exporters take it apart, with a scale for each column */
	for (n = 0; n < N; n++)
		columns[n] = scale;
	t = BEGIN(bed, IO("x", F32, x, M, K), CONST("b", S8, b, K, N),
		  CONST("bs", F32, columns, N), CONST("bias", F32, bias, N),
		  CONST("zb", S8, zb, N));
	ONE(t, NULL, "DynamicQuantizeLinear", "x", "q qs qz");
	ONE(t, NULL, "MatMulInteger", zeros ? "q b qz zb" : "q b qz", "p");
	{
		struct bytes cast = op(NULL, "Cast", "p", "r");

		attr_int(&cast, "to", F32);
		add_op(t, &cast);
	}
	ONE(t, NULL, "Mul", "qs bs", "scale");
	ONE(t, NULL, "Mul", "r scale", "s");
	ONE(t, NULL, "Add", "bias s", "y");
	t->bound = 0.0001;
	GIVES(t, IO("y", F32, want, M, N));
	free(x);
	free(bias);
}

static void test_dynamic(void **arg)
{
	dynamic(*arg, false);
	dynamic(*arg, true);
}

static void test_to_float(void **arg)
{
	static const float sa = 0.01f, sb[N] = { 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f };
	static const uint8_t za = 120;
	uint8_t a[M * K];
	int8_t b[K * N];
	float want[M * N];
	struct tested *t;
	int m, n, k;

	fill_u8(a, M * K, 11);
	fill_s8(b, K * N, 12);
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++) {
			int sum = 0;

			for (k = 0; k < K; k++)
				sum += (a[m * K + k] - za) * b[k * N + n];
			want[m * N + n] = (float)sum * sa * sb[n];
		}
	t = BEGIN(*arg, IO("a", U8, a, M, K), CONST("b", S8, b, K, N), SCALAR("as", F32, &sa),
		  CONST("bs", F32, sb, N), SCALAR("az", U8, &za));
	ONE(t, MS, "MatMulIntegerToFloat", "a b as bs az", "y");
	t->bound = 0.001;
	GIVES(t, IO("y", F32, want, M, N));
}

/* --- real operators between ----------------------------------------------------- */

#define ELEMENTS 24

/* Operators of one or two inputs on each element; the integers in the end are exact. */
static void one_linear(struct bed *bed, const char *name, double (*fn)(double a, double b),
		       int inputs)
{
	static const float sa = 0.043f, sb = 0.027f, sy = 0.0811f;
	static const uint8_t za = 119, zb = 131, zy = 77;
	uint8_t a[ELEMENTS], b[ELEMENTS], want[ELEMENTS];
	struct tested *t;
	int i;

	fill_u8(a, ELEMENTS, 21);
	fill_u8(b, ELEMENTS, 22);
	for (i = 0; i < ELEMENTS; i++)
		want[i] = (uint8_t)u8_of(fn((a[i] - za) * (double)sa, (b[i] - zb) * (double)sb),
					 (double)sy, zy);
	if (inputs == 2)
		t = BEGIN(bed, IO("a", U8, a, 4, 6), SCALAR("as", F32, &sa), SCALAR("az", U8, &za),
			  IO("b", U8, b, 4, 6), SCALAR("bs", F32, &sb), SCALAR("bz", U8, &zb),
			  SCALAR("ys", F32, &sy), SCALAR("yz", U8, &zy));
	else
		t = BEGIN(bed, IO("a", U8, a, 4, 6), SCALAR("as", F32, &sa), SCALAR("az", U8, &za),
			  SCALAR("ys", F32, &sy), SCALAR("yz", U8, &zy));
	ONE(t, MS, name, inputs == 2 ? "a as az b bs bz ys yz" : "a as az ys yz", "y");
	GIVES(t, IO("y", U8, want, 4, 6));
}

static double add(double a, double b)
{
	return a + b;
}

static double multiply(double a, double b)
{
	return a * b;
}

static double sigmoid(double a, double b)
{
	(void)b;
	return 1 / (1 + exp(-a));
}

static double leaky(double a, double b)
{
	(void)b;
	return a < 0 ? 0.01 * a : a;
}

static void test_elements(void **arg)
{
	one_linear(*arg, "QLinearAdd", add, 2);
	one_linear(*arg, "QLinearMul", multiply, 2);
	one_linear(*arg, "QLinearSigmoid", sigmoid, 1);
	one_linear(*arg, "QLinearLeakyRelu", leaky, 1);
}

static void test_concat(void **arg)
{
	static const float sa = 0.043f, sb = 0.027f, sy = 0.0511f;
	static const uint8_t za = 119, zb = 131, zy = 77;
	uint8_t a[6], b[6], want[12];
	struct tested *t;
	struct bytes n;
	int i;

	fill_u8(a, 6, 31);
	fill_u8(b, 6, 32);
	for (i = 0; i < 12; i++) {
		const uint32_t at = i - i / 6 * 3;

		want[i] = (uint8_t)u8_of(i % 6 < 3 ? (a[at] - za) * (double)sa
						   : (b[at - 3] - zb) * (double)sb,
					 (double)sy, zy);
	}
	t = BEGIN(*arg, IO("a", U8, a, 2, 3), SCALAR("as", F32, &sa), SCALAR("az", U8, &za),
		  IO("b", U8, b, 2, 3), SCALAR("bs", F32, &sb), SCALAR("bz", U8, &zb),
		  SCALAR("ys", F32, &sy), SCALAR("yz", U8, &zy));
	n = op(MS, "QLinearConcat", "ys yz a as az b bs bz", "y");
	attr_int(&n, "axis", 1);
	add_op(t, &n);
	GIVES(t, IO("y", U8, want, 2, 6));
}

/* Means of windows of two by two and of all; shares of a row */
static void test_pools(void **arg)
{
	static const float sa = 0.043f, sy = 0.0311f, ss = 1.0f / 256;
	static const uint8_t za = 119, zy = 77, none, pick[4] = { 1, 0, 0, 1 };
	uint8_t a[16], want[4], whole;
	struct tested *t;
	struct bytes n;
	double sum = 0;
	int i;

	fill_u8(a, 16, 41);
	for (i = 0; i < 4; i++) {
		const uint8_t *p = a + i / 2 * 8 + i % 2 * 2;
		int four = p[0] + p[1] + p[4] + p[5] - 4 * za;

		want[i] = (uint8_t)u8_of(four * (double)sa / 4, (double)sy, zy);
		sum += four * (double)sa;
	}
	whole = (uint8_t)u8_of(sum / 16, (double)sy, zy);
	t = BEGIN(*arg, IO("a", U8, a, 1, 1, 4, 4), SCALAR("as", F32, &sa), SCALAR("az", U8, &za),
		  SCALAR("ys", F32, &sy), SCALAR("yz", U8, &zy));
	n = op(MS, "QLinearAveragePool", "a as az ys yz", "y");
	attr_ints(&n, "kernel_shape", 2, DIMS(2, 2));
	attr_ints(&n, "strides", 2, DIMS(2, 2));
	add_op(t, &n);
	ONE(t, MS, "QLinearGlobalAveragePool", "a as az ys yz", "z");
	GIVES(t, IO("y", U8, want, 1, 1, 2, 2), IO("z", U8, &whole, 1, 1, 1, 1));
	t = BEGIN(*arg, IO("a", U8, a, 4, 4), SCALAR("as", F32, &sa), SCALAR("az", U8, &za),
		  SCALAR("ys", F32, &ss), SCALAR("yz", U8, &none));
	n = op(MS, "QLinearSoftmax", "a as az ys yz", "y");
	attr_int(&n, "axis", -1);
	attr_int(&n, "opset", 13);
	add_op(t, &n);
	{
		uint8_t shares[16], both[16];
		int k;

		for (i = 0; i < 4; i++) {
			for (k = 0, sum = 0; k < 4; k++)
				sum += exp((a[4 * i + k] - za) * (double)sa);
			for (k = 0; k < 4; k++) {
				double e = exp((a[4 * i + k] - za) * (double)sa);

				shares[4 * i + k] = (uint8_t)u8_of(e / sum, (double)ss, 0);
			}
		}
		GIVES(t, IO("y", U8, shares, 4, 4));
		t = BEGIN(*arg, IO("c", BOOL, pick, 4), IO("a", U8, a, 4, 4),
			  SCALAR("as", F32, &sa), SCALAR("az", U8, &za),
			  IO("b", U8, shares, 4, 4), SCALAR("bs", F32, &ss),
			  SCALAR("ys", F32, &sy), SCALAR("yz", U8, &zy));
		ONE(t, MS, "QLinearWhere", "c a as az b bs - ys yz", "y");
		for (i = 0; i < 16; i++)
			both[i] = (uint8_t)u8_of(pick[i % 4] ? (a[i] - za) * (double)sa :
						 shares[i] * (double)ss, (double)sy, zy);
		GIVES(t, IO("y", U8, both, 4, 4));
	}
}

/* --- files with fewer numbers ---------------------------------------------------------- */

/* Does a product by @w[k][n], written with a palette, give what that by @back gives? */
static void looks_up(void **arg, uint32_t scheme, const float *w, const float *back, int k, int n)
{
	float x[2 * 64] = { 0 }, y[2 * 64];
	struct tested *t;
	int i, j, at;

	for (i = 0; i < 2 * k; i++)
		x[i] = nearbyintf(4 * noise(41, (uint32_t)i));
	for (i = 0; i < 2; i++)
		for (j = 0; j < n; j++)
			for (at = 0, y[i * n + j] = 0; at < k; at++)
				y[i * n + j] += x[i * k + at] * back[at * n + j];
	t = BEGIN(*arg, IO("x", F32, x, 2, k), CONST("w", F32, w, k, n));
	t->scheme = scheme;
	t->bound = 0.001;
	ONE(t, NULL, "MatMul", "x w", "y");
	GIVES(t, IO("y", F32, y, 2, n));
}

/* As few numbers as there are lose nothing; of more, those side by side become their mean. */
static void test_palettes(void **arg)
{
	float w[33 * 33], back[33 * 33];
	int i;

	for (i = 0; i < 33 * 33; i++)
		w[i] = (float)(i * 7 % 256 - 128) * 0.25f;
	looks_up(arg, ACCEL_MODEL_PALETTE256, w, w, 33, 33);
	for (i = 0; i < 33 * 33; i++)
		w[i] = (float)(i * 7 % 16 - 5) * 0.25f;
	looks_up(arg, ACCEL_MODEL_PALETTE16, w, w, 33, 33);
	looks_up(arg, ACCEL_MODEL_PALETTE16, w, w, 32, 33);
	looks_up(arg, ACCEL_MODEL_PALETTE256, w, w, 32, 33);
	/* Pairs that lie closer than others, once in the middle of numbers and once at an end */
	for (i = 0; i < 32 * 33; i++) {
		const int step = i * 7 % 32, pair = step / 2 - 8;

		back[i] = (float)pair;
		w[i] = back[i] + (step % 2 ? 0.25f : -0.25f);
	}
	looks_up(arg, ACCEL_MODEL_PALETTE16, w, back, 32, 33);
}

/* Two of four stay, by magnitude; what the others were is added to them. */
static void test_pruned(void **arg)
{
	static const float w[6 * 2] = { 1, -8, -2, 8, 3, 2, -4, 1, 5, 3, 0, -1 };
	static const float eye[6 * 6] = { 1, [7] = 1, [14] = 1, [21] = 1, [28] = 1, [35] = 1 };
	/* Columns: 1 -2 3 -4, 5 0: lost is -1 of 3 that stay; -8 8 2 1, 3 -1: lost are 3 of 4. */
	static const float back[6 * 2] = {
		0, -7.25f, 0, 8.75f, 3 - 1 / 3.f, 0, -4 - 1 / 3.f, 0, 5 - 1 / 3.f, 3.75f, 0, -0.25f
	};
	/* Filters of 3 channels and two places, whose places are apart; a third has one. */
	static const float f[2 * 3 * 2] = { 1, 9, 2, 4, 4, -6, 0, 0, 0, 0, 0, 5 };
	static const float x[3 * 2] = { 1, 10, 100, 1000, 10000, 100000 };
	float y[2];
	struct tested *t;

	t = BEGIN(*arg, IO("x", F32, eye, 6, 6), CONST("w", F32, w, 6, 2));
	t->scheme = ACCEL_MODEL_PRUNE24;
	t->bound = 0.000001;
	ONE(t, NULL, "MatMul", "x w", "y");
	GIVES(t, IO("y", F32, back, 6, 2));
	/* Of the first place 1 is lost, of the second 4: 5 for four that stay. */
	y[0] = 10.25f * 10 + 3.25f * 100 + 5.25f * 10000 - 4.75f * 100000;
	y[1] = 5 * 100000;
	t = BEGIN(*arg, IO("x", F32, x, 1, 3, 1, 2), CONST("f", F32, f, 2, 3, 1, 2));
	t->scheme = ACCEL_MODEL_PRUNE24;
	t->bound = 0.1;
	ONE(t, NULL, "Conv", "x f", "y");
	GIVES(t, IO("y", F32, y, 1, 2, 1, 1));
}

/* Half bytes with scales and zero points of blocks of any size, also if rows end within a byte */
static void test_half_blocks(void **arg)
{
	static const int64_t shapes[][2] = { { 4, 6 }, { 3, 5 }, { 5, 4 } };
	static const float one = 1;
	uint8_t x[12], zeros[12];
	float y[24], scales[24];
	int64_t dims[2], b[2];
	struct tested *t;
	struct bytes n;
	uint32_t way, i, at;
	int k, z;

	for (i = 0; i < sizeof(x); i++) {
		x[i] = (uint8_t)(i * 37 + 0x9c);
		zeros[i] = (uint8_t)(i * 91 + 0x7e);
	}
	for (i = 0; i < COUNT(scales); i++)
		scales[i] = 0.25f * (float)(1 + i % 7);
	for (way = 0; way < 2 * 2 * 2 * COUNT(shapes) * 6; way++) {
		const bool sign = way & 1, zero = way & 2;
		const uint32_t axis = way >> 2 & 1;
		const int64_t block = 1 + way / 8 % 6;

		memcpy(dims, shapes[way / 48], sizeof(dims));
		if (block > dims[axis])
			continue;
		memcpy(b, dims, sizeof(b));
		b[axis] = (dims[axis] + block - 1) / block;
		for (i = 0; i < dims[0] * dims[1]; i++) {
			int64_t p[2] = { i / dims[1], i % dims[1] };

			p[axis] /= block;
			at = (uint32_t)(p[0] * b[1] + p[1]);
			k = x[i / 2] >> i % 2 * 4 & 15;
			z = zero ? zeros[at / 2] >> at % 2 * 4 & 15 : 0;
			if (sign) {
				k -= k > 7 ? 16 : 0;
				z -= z > 7 ? 16 : 0;
			}
			y[i] = (float)(k - z) * scales[at];
		}
		t = BEGIN(*arg, CONST("x", sign ? S4 : U4, x, dims[0], dims[1]),
			  CONST("s", F32, scales, b[0], b[1]),
			  CONST("z", sign ? S4 : U4, zeros, b[0], b[1]), SCALAR("one", F32, &one));
		n = op(NULL, "DequantizeLinear", zero ? "x s z" : "x s", "d");
		attr_int(&n, "axis", axis);
		attr_int(&n, "block_size", block);
		add_op(t, &n);
		ONE(t, NULL, "Mul", "d one", "y");
		GIVES(t, IO("y", F32, y, dims[0], dims[1]));
	}
}

/* Zero points whose rows end within a byte have the type of the file: what is written saturates. */
static void test_half_zeros(void **arg)
{
	static const float x[2 * 6] = { 100, 5, -7, 3, -100, 1, 2, 99, 4, -3, 9, -20 };
	static const float ones[6] = { 1, 1, 1, 1, 1, 1 };
	/* Low halves first: 1 2 3, 4 5 6; as signed ones they are the same. */
	static const uint8_t zeros[3] = { 0x21, 0x43, 0x65 };
	static const float wide[6] = { 1, 2, 3, 4, 5, 6 };
	static const int8_t bytes[6] = { 1, 2, 3, 4, 5, 6 };
	float y[2 * 6];
	struct tested *t;
	struct bytes n;
	uint32_t i, way;

	for (way = 0; way < 2; way++) {
		const int type = way ? S4 : U4;
		const float min = way ? -8 : 0, max = way ? 7 : 15;

		for (i = 0; i < 12; i++) {
			y[i] = x[i] + wide[i / 2];
			y[i] = y[i] < min ? min : y[i] > max ? max : y[i];
		}
		t = BEGIN(*arg, IO("x", F32, x, 2, 6), CONST("s", F32, ones, 2, 3),
			  CONST("z", type, zeros, 2, 3));
		n = op(NULL, "QuantizeLinear", "x s z", "q");
		attr_int(&n, "axis", 1);
		attr_int(&n, "block_size", 2);
		add_op(t, &n);
		n = op(NULL, "Cast", "q", "y");
		attr_int(&n, "to", F32);
		add_op(t, &n);
		n = op(NULL, "Cast", "z", "f");
		attr_int(&n, "to", F32);
		add_op(t, &n);
		n = op(NULL, "Cast", "z", "b");
		attr_int(&n, "to", S8);
		add_op(t, &n);
		GIVES(t, IO("y", F32, y, 2, 6), IO("f", F32, wide, 2, 3), IO("b", S8, bytes, 2, 3));
	}
}

/* Element @i of numbers of @bits, which lie one after the other */
static int few(const uint8_t *p, int bits, int64_t i)
{
	return p[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

/* Rows of a table [R, 3, cols] in blocks of 16 along the last dimension, by some way of indices */
static void one_gather(struct bed *bed, int type, int bits, bool zeros, int64_t cols, bool lone)
{
	enum { R = 5, MOST_BLOCKS = 3 };
	const int64_t along = type == U8 ? 0 : 1, per = type == U8 ? 8 / bits : 1;
	const int64_t at[4] = { 1, -1, 0, 2 }, rows = along ? 3 : R, count = lone ? 1 : 4;
	const int64_t outer = along ? R : 1, inner = along ? 1 : 3, blocks = (cols + 15) / 16;
	const int64_t width = (blocks + per - 1) / per, line = type == U8 ? width * per : blocks;
	static uint8_t data[R * 3 * 40], z[R * 3 * MOST_BLOCKS];
	static float scales[R * 3 * MOST_BLOCKS], y[R * 4 * 3 * 40];
	struct bytes n = op(MS, "GatherBlockQuantized", zeros ? "x at s z" : "x at s", "y");
	struct io out = { "y", F32, 0, { 0 }, y, false, NULL };
	struct tested *t;
	int64_t i, c, from;
	int v, zero;

	for (i = 0; i < R * 3 * 40; i++)
		data[i] = (uint8_t)(noise(1, (uint32_t)i) * 127.9f + 128);
	for (i = 0; i < R * 3 * MOST_BLOCKS; i++) {
		z[i] = (uint8_t)(noise(2, (uint32_t)i) * 127.9f + 128);
		scales[i] = noise(3, (uint32_t)i);
	}
	for (i = 0; i < outer * count * inner * cols; i++) {
		from = at[i / (inner * cols) % count];
		from = (i / (count * inner * cols) * rows + (from < 0 ? from + rows : from)) *
		       inner + i / cols % inner;
		c = i % cols;
		v = few(data, bits, from * cols + c);
		zero = zeros ? few(z, bits, from * line + c / 16) :
		       type == U8 ? 1 << (bits - 1) : 0;
		if (type == S4) {
			v -= v > 7 ? 16 : 0;
			zero -= zero > 7 ? 16 : 0;
		}
		y[i] = (float)(v - zero) * scales[from * blocks + c / 16];
	}
	t = BEGIN(bed, CONST("x", type, data, R, 3, cols / per),
		  CONST("s", F32, scales, R, 3, blocks),
		  CONST("z", type, z, R, 3, type == U8 ? width : blocks),
		  { "at", S64, lone ? 0 : 2, { 2, 2 }, at, false, NULL });
	attr_int(&n, "bits", bits);
	attr_int(&n, "block_size", 16);
	attr_int(&n, "gather_axis", along);
	attr_int(&n, "quantize_axis", -1);
	add_op(t, &n);
	if (along)
		out.dims[out.rank++] = R;
	for (i = 0; i < 2 && !lone; i++)
		out.dims[out.rank++] = 2;
	if (!along)
		out.dims[out.rank++] = 3;
	out.dims[out.rank++] = cols;
	gives(t, &out, 1);
}

static void test_gather_quantized(void **arg)
{
	static const struct {
		int type, bits;
	} kinds[] = {
		{ S4, 4 }, { U4, 4 }, { U8, 2 }, { U8, 4 }, { U8, 8 },
	};
	static const uint8_t none[16];
	uint32_t i, way;
	struct tested *t;
	struct bytes n;

	for (i = 0; i < COUNT(kinds); i++)
		for (way = 0; way < 8; way++)
			one_gather(*arg, kinds[i].type, kinds[i].bits, way & 1,
				   way & 2 ? 32 : kinds[i].type == U8 ? 40 : 35, way & 4);
	t = BEGIN(*arg, CONST("x", U8, none, 1, 16),
		  CONST("s", F32, ((float[]){ 1 }), 1, 1), IO("at", S64, NULL, 1));
	n = op(MS, "GatherBlockQuantized", "x at s", "y");
	attr_int(&n, "gather_axis", 1);
	add_op(t, &n);
	must_refuse(t, -EOPNOTSUPP, "it gathers along its blocks");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_linear),  TEST(test_other_types), TEST(test_matmul_integer),
		TEST(test_dynamic), TEST(test_to_float),    TEST(test_elements),
		TEST(test_concat),  TEST(test_pools),
		TEST(test_palettes), TEST(test_pruned), TEST(test_half_blocks),
		TEST(test_half_zeros), TEST(test_gather_quantized),
	};

	return cmocka_run_group_tests_name("onnx_quant", tests, NULL, NULL);
}
