// SPDX-License-Identifier: MIT
/*
 * Operators on types that only the CPU has, and operators that become many: volumes, windows,
 * regions, transforms; against what loops over their definitions give.
 */
#include "onnxop.h"

#define PI	3.14159265358979323846
/* More than a float, or a double, holds: only whole numbers of 64 bits tell them apart. */
#define BIG	(INT64_C(1) << 60)
#define TINY	0.000000001

/* --- types of the CPU --------------------------------------------------------------------- */

static void test_lines(void **arg)
{
	static const int64_t x[6] = { BIG, 1, 3, -BIG, 7, 7 }, axis = 1, two = 2;
	static const double r[6] = { 1, NAN, 0.5, -2, 1e300, 1e300 };
	static const int64_t sums[6] = { BIG, BIG + 1, BIG + 4, -BIG, 7 - BIG, 14 - BIG };
	static const int64_t after[6] = { 4, 3, 0, 14, 7, 0 };
	static const int64_t top[4] = { BIG, 3, 7, 7 }, where[4] = { 0, 2, 1, 2 };
	static const double low[4] = { 0.5, 1, -2, 1e300 };
	static const int64_t low_at[4] = { 2, 0, 0, 1 };
	static const int64_t most[2] = { 0, 2 }, least[2] = { 1, 0 };
	static const double length[2] = { 5, 13 }, xs[4] = { 3, 4, 5, 12 };
	static const double logs[2] = { 1000 + 0.6931471805599453, -1000 + 0.6931471805599453 };
	static const double large[4] = { 1000, 1000, -1000, -1000 };
	static const int64_t ints[4] = { 3, 5, 2, 3 }, roots[2] = { 5, 3 };
	struct tested *t;
	struct bytes n;

	t = BEGIN(*arg, IO("x", S64, x, 2, 3), IO("r", F64, r, 2, 3), CONST("k", S64, &two, 1),
		  SCALAR("axis", S64, &axis), IO("xs", F64, xs, 2, 2),
		  IO("large", F64, large, 2, 2), IO("ints", S64, ints, 2, 2),
		  CONST("one", S64, &axis, 1));
	ONE(t, NULL, "CumSum", "x axis", "sums");
	n = op(NULL, "CumSum", "x axis", "after");
	attr_int(&n, "exclusive", 1);
	attr_int(&n, "reverse", 1);
	add_op(t, &n);
	ONE(t, NULL, "TopK", "x k", "top where");
	n = op(NULL, "TopK", "r k", "low low_at");
	attr_int(&n, "largest", 0);
	add_op(t, &n);
	n = op(NULL, "ArgMax", "x", "most");
	attr_int(&n, "axis", -1);
	attr_int(&n, "select_last_index", 1);
	attr_int(&n, "keepdims", 0);
	add_op(t, &n);
	n = op(NULL, "ArgMin", "r", "least");
	attr_int(&n, "axis", 1);
	attr_int(&n, "keepdims", 0);
	add_op(t, &n);
	ONE(t, NULL, "ReduceL2", "xs one", "length");
	ONE(t, NULL, "ReduceLogSumExp", "large one", "logs");
	ONE(t, NULL, "ReduceL2", "ints one", "roots");
	GIVES(t, IO("sums", S64, sums, 2, 3), IO("after", S64, after, 2, 3),
	      IO("top", S64, top, 2, 2), IO("where", S64, where, 2, 2), IO("low", F64, low, 2, 2),
	      IO("low_at", S64, low_at, 2, 2), IO("most", S64, most, 2), IO("least", S64, least, 2),
	      IO("length", F64, length, 2, 1), IO("logs", F64, logs, 2, 1),
	      IO("roots", S64, roots, 2, 1));
}

static void test_moves(void **arg)
{
	static const int64_t x[3] = { BIG + 1, 2, 3 }, ends[2] = { 2, 1 }, cut[2] = { -1, 2 };
	static const int64_t around[6] = { 3, 2, BIG + 1, 2, 3, 2 };
	static const int64_t wrapped[6] = { 2, 3, BIG + 1, 2, 3, BIG + 1 };
	static const int16_t s[3] = { -30000, 5, 6 }, minus = -7, padded[4] = { 5, 6, -7, -7 };
	static const int64_t at[2] = { -1, 0 }, nd[2][1] = { { 1 }, { 1 } }, add[2] = { 5, BIG };
	static const int64_t put[3] = { BIG, 2, 5 }, sums[3] = { BIG + 1, 7 + BIG, 3 };
	static const double d[2] = { 1.5, 2.5 }, more[3] = { 1, 2, 4 };
	static const int64_t same[3] = { 0, 0, 1 };
	static const double product[2] = { 3, 10 };
	struct tested *t;
	struct bytes n;

	t = BEGIN(*arg, IO("x", S64, x, 3), CONST("ends", S64, ends, 2), IO("s", S16, s, 3),
		  CONST("cut", S64, cut, 2), SCALAR("minus", S16, &minus),
		  IO("at", S64, at, 2), IO("nd", S64, nd, 2, 1), IO("add", S64, add, 2),
		  IO("d", F64, d, 2), IO("same", S64, same, 3), IO("more", F64, more, 3));
	n = op(NULL, "Pad", "x ends", "around");
	attr_text(&n, "mode", "reflect");
	add_op(t, &n);
	n = op(NULL, "Pad", "x ends", "wrapped");
	attr_text(&n, "mode", "wrap");
	add_op(t, &n);
	ONE(t, NULL, "Pad", "s cut minus", "padded");
	ONE(t, NULL, "ScatterElements", "x at add", "put");
	n = op(NULL, "ScatterND", "x nd add", "sums");
	attr_text(&n, "reduction", "add");
	add_op(t, &n);
	n = op(NULL, "ScatterElements", "d same more", "product");
	attr_text(&n, "reduction", "mul");
	add_op(t, &n);
	GIVES(t, IO("around", S64, around, 6), IO("wrapped", S64, wrapped, 6),
	      IO("padded", S16, padded, 4), IO("put", S64, put, 3), IO("sums", S64, sums, 3),
	      IO("product", F64, product, 2));
}

/* Products: of large integers, whose low bits stay, and of doubles, which floats are not */
static void test_products(void **arg)
{
	static const int64_t a[2][1][2] = { { { BIG, 1 } }, { { 3, BIG } } };
	static const int64_t b[2][2] = { { 16, 1 }, { 5, -1 } };
	static const int64_t ab[2][1][2] = { { { 5, BIG - 1 } }, { { 48 + 5 * BIG, 3 - BIG } } };
	static const int32_t i[2][2] = { { 65536, 1 }, { 2, 3 } }, ii[2][2] = {
		{ 2, 65539 }, { 131078, 11 }
	};
	static const double x[2][2] = { { 1, TINY }, { 2, 4 } }, c[2] = { 8, 1 };
	/* 2 x^T x + c / 2 */
	static const double y[2][2] = { { 14, 16.5 + 2 * TINY }, { 20 + 2 * TINY, 32.5 } };
	struct tested *t;
	struct bytes n;

	t = BEGIN(*arg, IO("a", S64, a, 2, 1, 2), IO("b", S64, b, 2, 2), IO("i", S32, i, 2, 2),
		  IO("x", F64, x, 2, 2), IO("c", F64, c, 2));
	ONE(t, NULL, "MatMul", "a b", "ab");
	ONE(t, NULL, "MatMul", "i i", "ii");
	n = op(NULL, "Gemm", "x x c", "y");
	attr_int(&n, "transA", 1);
	attr_float(&n, "alpha", 2);
	attr_float(&n, "beta", 0.5f);
	add_op(t, &n);
	GIVES(t, IO("ab", S64, ab, 2, 1, 2), IO("ii", S32, ii, 2, 2), IO("y", F64, y, 2, 2));
}

/* --- volumes -------------------------------------------------------------------------------- */

enum { C = 4, M = 6, D = 5, HIGH = 4, W = 6, G = 2 };

enum { KD = 2, KH = 3, KW = 2, OD = 2, OH = 3, OW = 3 };

/* What a filter sees of one channel: steps 2, 1, 3, padding 1, 0, 2 before, planes 2 apart */
static double seen_by(const float *x, const float *f, int z, int i, int j)
{
	double sum = 0;
	int k, p, q, r;

	for (k = 0; k < KD * KH * KW; k++) {
		p = z * 2 + k / (KH * KW) * 2 - 1;
		q = i + k / KW % KH;
		r = j * 3 + k % KW - 2;
		if (p >= 0 && p < D && q < HIGH && r >= 0 && r < W)
			sum += (double)x[(p * HIGH + q) * W + r] * (double)f[k];
	}
	return sum;
}

/* Three dimensions, groups, steps and padding that differ along each */
static void test_volume(void **arg)
{
	static const int64_t pads[] = { 1, 0, 2, 0, 1, 1 }, steps[] = { 2, 1, 3 };
	static const int64_t apart[] = { 2, 1, 1 };
	float *x = noise_floats(1, 2 * C * D * HIGH * W);
	float *f = noise_floats(2, M * C * KD * KH * KW);
	float bias[M] = { 1, 2, 3, 4, 5, 6 }, y[2 * M * OD * OH * OW];
	struct tested *t;
	struct bytes b;
	int at, c;

	for (at = 0; at < 2 * M * OD * OH * OW; at++) {
		int m = at / (OD * OH * OW) % M, n = at / (M * OD * OH * OW);
		double sum = (double)bias[m];

		for (c = 0; c < C / G; c++)
			sum += seen_by(x + (n * C + m / (M / G) * (C / G) + c) * D * HIGH * W,
				       f + (m * (C / G) + c) * KD * KH * KW, at / (OH * OW) % OD,
				       at / OW % OH, at % OW);
		y[at] = (float)sum;
	}
	t = BEGIN(*arg, IO("x", F32, x, 2, C, D, HIGH, W),
		  CONST("f", F32, f, M, C / G, KD, KH, KW), CONST("b", F32, bias, M));
	b = op(NULL, "Conv", "x f b", "y");
	attr_ints(&b, "pads", 6, pads);
	attr_ints(&b, "strides", 3, steps);
	attr_ints(&b, "dilations", 3, apart);
	attr_int(&b, "group", G);
	add_op(t, &b);
	t->bound = 0.00002;
	GIVES(t, IO("y", F32, y, 2, M, OD, OH, OW));
	free(x);
	free(f);
}

/* The other way: every element of the input is added to all that a filter reaches. */
static void test_transposed(void **arg)
{
	static const int64_t pads[] = { 1, 0, 1, 0, 1, 0 }, steps[] = { 3, 2, 1 };
	static const int64_t apart[] = { 2, 1, 1 }, more[] = { 2, 1, 0 };
	/* (in - 1) step + (kernel - 1) apart + 1 - padding + more */
	enum { ID = 2, IH = 3, TD = 7, TH = 7, TW = 6, TM = 2 };
	float *x = noise_floats(1, 2 * C * ID * IH * W);
	float *f = noise_floats(2, C * TM * KD * KH * KW);
	float bias[G * TM] = { 1, 2, 3, 4 }, y[2 * G * TM * TD * TH * TW];
	struct tested *t;
	struct bytes b;
	int i, k;

	for (i = 0; i < 2 * G * TM * TD * TH * TW; i++)
		y[i] = bias[i / (TD * TH * TW) % (G * TM)];
	for (i = 0; i < 2 * C * ID * IH * W; i++)
		for (k = 0; k < TM * KD * KH * KW; k++) {
			int c = i / (ID * IH * W) % C, n = i / (C * ID * IH * W);
			int m = c / (C / G) * TM + k / (KD * KH * KW);
			int p = i / (IH * W) % ID * 3 + k / (KH * KW) % KD * 2 - 1;
			int q = i / W % IH * 2 + k / KW % KH, r = i % W + k % KW - 1;

			if (p >= 0 && p < TD && q < TH && r >= 0 && r < TW)
				y[(((n * G * TM + m) * TD + p) * TH + q) * TW + r] +=
					x[i] * f[c * TM * KD * KH * KW + k];
		}
	t = BEGIN(*arg, IO("x", F32, x, 2, C, ID, IH, W),
		  CONST("f", F32, f, C, TM, KD, KH, KW), CONST("b", F32, bias, G * TM));
	b = op(NULL, "ConvTranspose", "x f b", "y");
	attr_ints(&b, "pads", 6, pads);
	attr_ints(&b, "strides", 3, steps);
	attr_ints(&b, "dilations", 3, apart);
	attr_ints(&b, "output_padding", 3, more);
	attr_int(&b, "group", G);
	add_op(t, &b);
	t->bound = 0.00002;
	GIVES(t, IO("y", F32, y, 2, G * TM, TD, TH, TW));
	free(x);
	free(f);
}

/* Bytes with zero points that are constant, or known when it runs, one or one for each filter */
static void one_integer(struct bed *bed, bool constant, bool each)
{
	static const uint8_t zero = 100;
	static const int8_t zeros[3] = { 5, -7, 0 }, one = 5;
	static const int64_t pads[] = { 1, 1, 1, 1 };
	enum { H = 4, F = 3 };
	uint8_t x[2 * H * H];
	int8_t f[F * 2 * 3 * 3];
	int32_t y[F * H * H];
	struct tested *t;
	struct bytes n;
	int i, j, k, at;

	for (i = 0; i < 2 * H * H; i++)
		x[i] = (uint8_t)(127 + 120 * noise(1, (uint32_t)i));
	for (i = 0; i < F * 2 * 9; i++)
		f[i] = (int8_t)(120 * noise(2, (uint32_t)i));
	for (at = 0; at < F * H * H; at++) {
		int zf = each ? zeros[at / (H * H)] : one;

		for (y[at] = 0, k = 0; k < 2 * 9; k++) {
			i = at / H % H + k / 3 % 3 - 1;
			j = at % H + k % 3 - 1;
			if (i >= 0 && i < H && j >= 0 && j < H)
				y[at] += (x[(k / 9 * H + i) * H + j] - zero) *
					 (f[at / (H * H) * 18 + k] - zf);
		}
	}
	struct io in[] = {
		IO("x", U8, x, 1, 2, H, H), CONST("f", S8, f, F, 2, 3, 3), SCALAR("p", U8, &zero),
		SCALAR("q", S8, &one), CONST("each", S8, zeros, F)
	};
	in[2].constant = in[3].constant = in[4].constant = constant;
	t = begin(bed, in, 5);
	n = op(NULL, "ConvInteger", each ? "x f p each" : "x f p q", "y");
	attr_ints(&n, "pads", 4, pads);
	add_op(t, &n);
	GIVES(t, IO("y", S32, y, 1, F, H, H));
}

static void test_integer(void **arg)
{
	int i;

	for (i = 0; i < 4; i++)
		one_integer(*arg, i & 1, i & 2);
}

/* --- windows --------------------------------------------------------------------------------- */

/* Where maxima are, rounded up at the end, counted by rows or by columns; norms of windows */
static void test_pools(void **arg)
{
	static const int64_t kernel[] = { 3, 2 }, steps[] = { 2, 2 }, pads[] = { 1, 0, 0, 0 };
	enum { H = 5, V = 5, ROWS = 3, OV = 3 };
	float x[2 * H * V], y[2 * ROWS * OV], norm[2 * ROWS * OV], all[2] = { 0, 0 };
	int64_t rows[2 * ROWS * OV], cols[2 * ROWS * OV];
	int n, i, k, p, q, at;
	struct tested *t;
	struct bytes b;

	for (i = 0; i < 2 * H * V; i++) {
		x[i] = noise(1, (uint32_t)i) - 1;
		all[i / (H * V)] += fabsf(x[i]);
	}
	for (at = 0; at < 2 * ROWS * OV; at++) {
		double sum = 0;

		n = at / (ROWS * OV);
		y[at] = -INFINITY;
		for (k = 0; k < 6; k++) {
			p = at / OV % ROWS * 2 - 1 + k / 2;
			q = at % OV * 2 + k % 2;
			if (p < 0 || p >= H || q >= V)
				continue;
			sum += pow(fabs((double)x[(n * H + p) * V + q]), 3);
			if (!(x[(n * H + p) * V + q] > y[at]))
				continue;
			y[at] = x[(n * H + p) * V + q];
			rows[at] = (n * H + p) * V + q;
			cols[at] = (n * V + q) * H + p;
		}
		norm[at] = (float)cbrt(sum);
	}
	t = BEGIN(*arg, IO("x", F32, x, 1, 2, H, V));
	for (i = 0; i < 3; i++) {
		b = op(NULL, i < 2 ? "MaxPool" : "LpPool", "x", i == 0 ? "y rows" : i == 1 ?
		       "z cols" : "norm");
		attr_ints(&b, "kernel_shape", 2, kernel);
		attr_ints(&b, "strides", 2, steps);
		attr_ints(&b, "pads", 4, pads);
		attr_int(&b, "ceil_mode", 1);
		attr_int(&b, i < 2 ? "storage_order" : "p", i < 2 ? i : 3);
		add_op(t, &b);
	}
	b = op(NULL, "GlobalLpPool", "x", "all");
	attr_int(&b, "p", 1);
	add_op(t, &b);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, y, 1, 2, ROWS, OV), IO("rows", S64, rows, 1, 2, ROWS, OV),
	      IO("cols", S64, cols, 1, 2, ROWS, OV), IO("norm", F32, norm, 1, 2, ROWS, OV),
	      IO("all", F32, all, 1, 2, 1, 1));
}

/* Longer here, shorter there; the odd one behind */
static void test_center(void **arg)
{
	static const int64_t sizes[2] = { 5, 2 };
	static const float x[2][5] = { { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 } };
	static const float y[5][2] = { { 0, 0 }, { 2, 3 }, { 7, 8 }, { 0, 0 }, { 0, 0 } };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 2, 5), CONST("sizes", S64, sizes, 2));

	ONE(t, NULL, "CenterCropPad", "x sizes", "y");
	GIVES(t, IO("y", F32, y, 5, 2));
}

/* A shift and a scale of the places of an image, by edges or by corners */
static void test_affine(void **arg)
{
	static const float theta[2][3] = { { 2, 0, 0.5f }, { 0, 1, 0 } };
	static const int64_t size[4] = { 1, 1, 2, 3 };
	float edges[2][3][2], corners[2][3][2];
	struct tested *t;
	struct bytes n;
	int i, j;

	for (i = 0; i < 2; i++)
		for (j = 0; j < 3; j++) {
			edges[i][j][0] = 2 * ((2 * (float)j + 1) / 3 - 1) + 0.5f;
			edges[i][j][1] = (2 * (float)i + 1) / 2 - 1;
			corners[i][j][0] = 2 * ((float)j - 1) + 0.5f;
			corners[i][j][1] = 2 * (float)i - 1;
		}
	t = BEGIN(*arg, IO("theta", F32, theta, 1, 2, 3), CONST("size", S64, size, 4));
	ONE(t, NULL, "AffineGrid", "theta size", "edges");
	n = op(NULL, "AffineGrid", "theta size", "corners");
	attr_int(&n, "align_corners", 1);
	add_op(t, &n);
	t->bound = 0.000001;
	GIVES(t, IO("edges", F32, edges, 1, 2, 3, 2), IO("corners", F32, corners, 1, 2, 3, 2));
}

/* --- transforms ------------------------------------------------------------------------------ */

static void test_stft(void **arg)
{
	enum { L = 20, N = 6, STEP = 4, FRAMES = 4, BINS = 4 };
	static const int64_t step = STEP, longer = 8;
	float x[2 * L], w[N], y[2 * FRAMES * BINS * 2], z[2 * 8 * 2];
	int b, f, k, i, at = 0;
	struct tested *t;
	struct bytes n;

	for (i = 0; i < 2 * L; i++)
		x[i] = noise(1, (uint32_t)i);
	for (i = 0; i < N; i++)
		w[i] = noise(2, (uint32_t)i);
	for (b = 0; b < 2; b++)
		for (f = 0; f < FRAMES; f++)
			for (k = 0; k < BINS; k++) {
				double re = 0, im = 0;

				for (i = 0; i < N; i++) {
					double v = (double)x[b * L + f * STEP + i] * (double)w[i];

					re += v * cos(2 * PI * i * k / N);
					im -= v * sin(2 * PI * i * k / N);
				}
				y[at++] = (float)re;
				y[at++] = (float)im;
			}
	/* The window as a signal of 6, with two zeros behind it, there and back */
	for (k = 0; k < 8; k++) {
		z[2 * k] = k < N ? w[k] : 0;
		z[2 * k + 1] = 0;
	}
	t = BEGIN(*arg, IO("x", F32, x, 2, L, 1), SCALAR("step", S64, &step),
		  CONST("w", F32, w, N), IO("v", F32, w, 1, N, 1), SCALAR("longer", S64, &longer));
	ONE(t, NULL, "STFT", "x step w", "y");
	ONE(t, NULL, "DFT", "v longer", "there");
	n = op(NULL, "DFT", "there", "z");
	attr_int(&n, "inverse", 1);
	add_op(t, &n);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, y, 2, FRAMES, BINS, 2), IO("z", F32, z, 1, 8, 2));
}

/* Back from half of the bins, as ONNX's case has it: what was there; also of an odd length */
static void test_half(void **arg)
{
	enum { L = 10, BINS = 6, ODD = 7 };
	float x[BINS * L * 2], y[L * L];
	static const int64_t axis = 1, odd = ODD;
	double re, im;
	struct tested *t;
	struct bytes n;
	int i, k, c;

	for (i = 0; i < L * L; i++)
		y[i] = (float)i;
	for (k = 0; k < BINS; k++)
		for (c = 0; c < L; c++) {
			for (i = 0, re = im = 0; i < L; i++) {
				re += (double)y[i * L + c] * cos(2 * PI * i * k / L);
				im -= (double)y[i * L + c] * sin(2 * PI * i * k / L);
			}
			x[(k * L + c) * 2] = (float)re;
			x[(k * L + c) * 2 + 1] = (float)im;
		}
	t = BEGIN(*arg, IO("x", F32, x, 1, BINS, L, 2), SCALAR("axis", S64, &axis),
		  IO("u", F32, y + 1, 1, ODD, 1), SCALAR("odd", S64, &odd));
	n = op(NULL, "DFT", "x - axis", "y");
	attr_int(&n, "inverse", 1);
	attr_int(&n, "onesided", 1);
	add_op(t, &n);
	n = op(NULL, "DFT", "u", "half");
	attr_int(&n, "onesided", 1);
	add_op(t, &n);
	n = op(NULL, "DFT", "half odd", "z");
	attr_int(&n, "inverse", 1);
	attr_int(&n, "onesided", 1);
	add_op(t, &n);
	t->bound = 0.0001;
	GIVES(t, IO("y", F32, y, 1, L, L, 1), IO("z", F32, y + 1, 1, ODD, 1));
}

/* To and from a length that only running tells, of all bins and of half of them */
static void test_lengths(void **arg)
{
	static const float x[6] = { 1, 2, -3, 4, 0.5f, -1 };
	static const int64_t lengths[] = { 6, 8, 5 };
	float there[16], back[16];
	struct tested *t;
	struct bytes n;
	int i, k, m;

	for (i = 0; i < 6; i++) {
		const int64_t length = lengths[i / 2], half = i % 2;
		const int64_t bins = half ? length / 2 + 1 : length;

		memset(there, 0, sizeof(there));
		memset(back, 0, sizeof(back));
		for (k = 0; k < length; k++) {
			double angle = 2 * PI * k / (double)length;

			back[half ? k : 2 * k] = k < 6 ? x[k] : 0;
			for (m = 0; m < bins; m++) {
				there[2 * m] += back[half ? k : 2 * k] * (float)cos(angle * m);
				there[2 * m + 1] -= back[half ? k : 2 * k] * (float)sin(angle * m);
			}
		}
		t = BEGIN(*arg, IO("x", F32, x, 1, 6, 1), IO("y", F32, there, 1, bins, 2),
			  { "length", S64, 0, { 0 }, &length, false, NULL });
		for (k = 0; k < 2; k++) {
			n = op(NULL, "DFT", k ? "y length" : "x length", k ? "back" : "there");
			attr_int(&n, "inverse", k);
			attr_int(&n, "onesided", half);
			add_op(t, &n);
		}
		t->bound = 0.00001;
		GIVES(t, IO("there", F32, there, 1, bins, 2),
		      IO("back", F32, back, 1, length, half ? 1 : 2));
	}
}

static void test_mel(void **arg)
{
	enum { BANDS = 8, SIZE = 32, BINS = SIZE / 2 + 1 };
	static const int64_t bands = BANDS, size = SIZE, rate = 8000;
	static const float from = 100, to = 3900;
	double low = 2595 * log10(1 + 100.0 / 700), high = 2595 * log10(1 + 3900.0 / 700);
	float y[BINS][BANDS] = { { 0 } };
	int edge[BANDS + 2], i, k;
	struct tested *t;

	for (i = 0; i < BANDS + 2; i++) {
		double mel = low + i * (high - low) / (BANDS + 2);

		edge[i] = (int)floor((SIZE + 1) * 700 * (pow(10, mel / 2595) - 1) / 8000);
	}
	for (i = 0; i < BANDS; i++) {
		if (edge[i] == edge[i + 1])
			y[edge[i + 1]][i] = 1;
		for (k = edge[i]; k <= edge[i + 1] && edge[i] != edge[i + 1]; k++)
			y[k][i] = (float)(k - edge[i]) / (float)(edge[i + 1] - edge[i]);
		for (k = edge[i + 1]; k < edge[i + 2]; k++)
			y[k][i] = (float)(edge[i + 2] - k) / (float)(edge[i + 2] - edge[i + 1]);
	}
	t = BEGIN(*arg, SCALAR("bands", S64, &bands), SCALAR("size", S64, &size),
		  SCALAR("rate", S64, &rate), SCALAR("from", F32, &from), SCALAR("to", F32, &to));
	ONE(t, NULL, "MelWeightMatrix", "bands size rate from to", "y");
	t->bound = 0.000001;
	GIVES(t, IO("y", F32, y, BINS, BANDS));
}

/* Rows that have to change places, one that is a sum of others, one number alone */
static void test_det(void **arg)
{
	static const float a[2][3][3] = {
		{ { 0, 2, 1 }, { 0, 0, 3 }, { 4, 5, 6 } }, { { 1, 2, 3 }, { 4, 5, 6 }, { 5, 7, 9 } }
	};
	static const double d[1][1] = { { -7.25 } };
	static const float want[2] = { 24, 0 };
	static const double alone = -7.25;
	struct tested *t = BEGIN(*arg, IO("a", F32, a, 2, 3, 3), IO("d", F64, d, 1, 1));
	const struct io out[] = {
		IO("y", F32, want, 2), { "z", F64, 0, { 0 }, &alone, false, NULL }
	};

	ONE(t, NULL, "Det", "a", "y");
	ONE(t, NULL, "Det", "d", "z");
	t->bound = 0.00001;
	gives(t, out, 2);
}

/* What is ignored does not count, also where it is infinite. */
static void test_ignored(void **arg)
{
	static const float x[4] = { -INFINITY, -1, -2, -3 }, loss = 3;
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 2, 2), IO("t", S64, DIMS(-100, 1), 2));
	struct bytes n = op(NULL, "NegativeLogLikelihoodLoss", "x t", "y");
	struct io y = { "y", F32, 0, { 0 }, &loss, false, NULL };

	attr_int(&n, "ignore_index", -100);
	add_op(t, &n);
	gives(t, &y, 1);
}

/* Frames that are longer than the signal, or not apart; no signals */
static void test_no_frames(void **arg)
{
	static const float x[5] = { 1, 2, 3, 4, 5 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 5, 1), CONST("step", S64, DIMS(4), 1),
				 IO("long", S64, DIMS(8), 1), IO("none", F32, x, 0, 6, 1));

	ONE(t, NULL, "STFT", "x step - long", "y");
	ONE(t, NULL, "DFT", "none", "z");
	GIVES(t, IO("y", F32, x, 1, 0, 5, 2), IO("z", F32, x, 0, 6, 2));
	t = BEGIN(*arg, IO("x", F32, x, 1, 5, 1), SCALAR("step", S64, DIMS(0)),
		  IO("length", S64, DIMS(2), 1));
	ONE(t, NULL, "STFT", "x step - length", "y");
	must_refuse(t, -EBADMSG, "frames that are 0 apart");
}

/* Numbers of 4 bits meet types that only the CPU has; the low bits of what does not fit stay. */
static void test_four_bits(void **arg)
{
	static const uint8_t packed[8] = { 0x91, 0xb6, 0xdb, 0x70, 0x8f, 0x25, 0xc3, 0x4e };
	static const char *const names[] = { "d", "l", "ul", "s", "us", "ui", "b" };
	static const int types[] = { F64, S64, U64, S16, U16, U32, BOOL };
	double d[16], wide[16];
	int64_t l[16], far[16];
	uint64_t ul[16];
	int16_t sh[16];
	uint16_t us[16];
	uint32_t ui[16], k;
	uint8_t bools[16], bytes[16];
	struct tested *t;
	struct bytes n;
	int i, to;

	for (i = 0; i < 16; i++) {
		const int bits = packed[i / 2] >> i % 2 * 4 & 15, x = bits - (bits & 8) * 2;

		d[i] = x;
		l[i] = x;
		ul[i] = (uint64_t)(int64_t)x;
		sh[i] = (int16_t)x;
		us[i] = (uint16_t)x;
		ui[i] = (uint32_t)x;
		bools[i] = x != 0;
		bytes[i] = (uint8_t)x;
		far[i] = x + 16 * (i % 3);
		wide[i] = x + (x < 0 ? -0.25 : 0.25);
	}
	t = BEGIN(*arg, CONST("x", S4, packed, 4, 4), IO("far", S64, far, 4, 4),
		  IO("wide", F64, wide, 4, 4), CONST("odd", S4, packed, 16));
	for (k = 0; k < sizeof(types) / sizeof(*types); k++) {
		n = op(NULL, "Cast", "x", names[k]);
		attr_int(&n, "to", types[k]);
		add_op(t, &n);
	}
	n = op(NULL, "Cast", "x", "u8");
	attr_int(&n, "to", U8);
	add_op(t, &n);
	for (to = 0; to < 2; to++) {
		n = op(NULL, "Cast", to ? "wide" : "far", to ? "fq" : "lq");
		attr_int(&n, "to", S4);
		add_op(t, &n);
		n = op(NULL, "Cast", to ? "fq" : "lq", to ? "f2" : "l2");
		attr_int(&n, "to", S64);
		add_op(t, &n);
	}
	n = op(NULL, "Cast", "odd", "line");
	attr_int(&n, "to", S64);
	add_op(t, &n);
	GIVES(t, IO("d", F64, d, 4, 4), IO("l", S64, l, 4, 4), IO("ul", U64, ul, 4, 4),
	      IO("s", S16, sh, 4, 4), IO("us", U16, us, 4, 4), IO("ui", U32, ui, 4, 4),
	      IO("b", BOOL, bools, 4, 4), IO("u8", U8, bytes, 4, 4), IO("l2", S64, l, 4, 4),
	      IO("f2", S64, l, 4, 4), IO("line", S64, l, 16));
}

/* Scales of binary64 by numbers of 4 bits in even rows */
static void test_four_bit_scales(void **arg)
{
	static const uint8_t packed[8] = { 0x91, 0xb6, 0xdb, 0x70, 0x8f, 0x25, 0xc3, 0x4e };
	static const double scale = 0.1;
	double want[16];
	struct tested *t;
	int i;

	for (i = 0; i < 16; i++) {
		const int bits = packed[i / 2] >> i % 2 * 4 & 15;

		want[i] = 0.1 * (bits - (bits & 8) * 2);
	}
	t = BEGIN(*arg, CONST("x", S4, packed, 4, 4), SCALAR("scale", F64, &scale));
	ONE(t, NULL, "DequantizeLinear", "x scale", "y");
	GIVES(t, IO("y", F64, want, 4, 4));
}

static void cast(struct tested *t, const char *from, const char *to, int64_t type)
{
	struct bytes n = op(NULL, "Cast", from, to);

	attr_int(&n, "to", type);
	add_op(t, &n);
}

/* No operation has such rows, but casts take all elements as one; a name may have any size. */
static void test_odd_rows(void **arg)
{
	static const float x[12] = { 1, -2, 3, -4, 5, -6, 7, -8, 0, 2, 4, 6 };
	static const uint8_t odd[5] = { 0x87, 0x19, 0xf2, 0x3e, 0x0c };
	static const float whole[9] = { 7, -8, -7, 1, 2, -1, -2, 3, -4 };
	static const float wide[9] = { 23.5f, -8, -7, 17, -14, -1, -2, 3, 12 };
	static const int64_t sizes[3] = { 1, 3, 4 };
	struct tested *t = BEGIN(*arg, IO("x", S4, odd, 3, 3));

	cast(t, "x", "y", F32);
	GIVES(t, IO("y", F32, whole, 3, 3));
	/* The low bits of what is too large */
	t = BEGIN(*arg, IO("x", F32, wide, 3, 3));
	cast(t, "x", "q", S4);
	cast(t, "q", "y", F32);
	GIVES(t, IO("y", F32, whole, 3, 3));
	t = BEGIN(*arg, CONST("x", F32, x, 3), IO("one", F32, ((float[]){ 1, 1, 1 }), 3));
	cast(t, "x", "q", S4);
	cast(t, "q", "f", F32);
	ONE(t, NULL, "Mul", "f one", "y");
	GIVES(t, IO("y", F32, x, 3));
	t = BEGIN(*arg, IO("x", F32, x, 1, -1, -2));
	t->in[0].given = sizes;
	cast(t, "x", "q", S4);
	cast(t, "q", "y", F32);
	GIVES(t, IO("y", F32, x, 1, 3, 4));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lines), TEST(test_moves), TEST(test_products), TEST(test_volume),
		TEST(test_transposed), TEST(test_integer), TEST(test_pools), TEST(test_center),
		TEST(test_affine), TEST(test_stft), TEST(test_half), TEST(test_lengths),
		TEST(test_mel), TEST(test_det), TEST(test_ignored), TEST(test_no_frames),
		TEST(test_four_bits), TEST(test_four_bit_scales), TEST(test_odd_rows),
	};

	return cmocka_run_group_tests_name("onnx_host", tests, NULL, NULL);
}
