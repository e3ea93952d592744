// SPDX-License-Identifier: MIT
/*
 * Operators of com.microsoft, against what their definitions give in binary64.
 */
#include "onnxop.h"

/* --- weights of few bits ---------------------------------------------------------------- */

#define M    3
#define N    5
#define MOST 160

/* A product with @n columns of @k weights, in blocks of 32 */
static void add_nbits(struct tested *t, const char *in, int k, int n, int bits, int level)
{
	struct bytes node = op(MS, "MatMulNBits", in, "y");

	attr_int(&node, "K", k);
	attr_int(&node, "N", n);
	attr_int(&node, "bits", bits);
	attr_int(&node, "block_size", 32);
	if (level)
		attr_int(&node, "accuracy_level", level);
	add_op(t, &node);
}

/* Blocks of 32 elements of a row, as bytes */
static void round_blocks(const float *x, int k, float *to)
{
	float most, step;
	int i, j;

	for (i = 0; i < k; i += 32) {
		const int end = i + 32 < k ? i + 32 : k;

		for (most = 0, j = i; j < end; j++)
			most = fmaxf(most, fabsf(x[j]));
		step = most / 127;
		for (j = i; j < end; j++)
			to[j] = rintf(x[j] / step) * step;
	}
}

/*
 * Weights of @bits in blocks of 32; the last block of a row may be a part of one. @level is the
 * operator's accuracy_level; with @rounded activations are expected to be bytes.
 */
static void one_nbits(struct bed *bed, int bits, int k, bool zeros, bool bias, int level,
		      bool rounded)
{
	uint8_t w[N * MOST], packed[N * MOST] = { 0 }, z[N * 5], packed_z[N * 5] = { 0 };
	int blocks = (k + 31) / 32, row = blocks * 32, zrow = (blocks * bits + 7) / 8, m, n, i;
	float *x = noise_floats(1, M * MOST), *scales = noise_floats(2, N * 5), add[N], want[M * N];
	float used[M * MOST], apart = 0;
	struct tested *t;

	for (m = 0; m < M; m++)
		round_blocks(x + m * k, k, used + m * k);
	for (n = 0; n < N; n++) {
		add[n] = (float)n;
		for (i = 0; i < blocks; i++) {
			z[n * blocks + i] =
				zeros ? (uint8_t)(8 + 7 * noise(3, (uint32_t)(n * 5 + i)))
				      : 1 << (bits - 1);
			packed_z[n * zrow + i * bits / 8] |=
				(uint8_t)(z[n * blocks + i] << (bits == 4 && i % 2 ? 4 : 0));
		}
		for (i = 0; i < row; i++) {
			w[n * row + i] = (uint8_t)((noise(4, (uint32_t)(n * row + i)) + 1) *
						   (bits == 4 ? 7.9f : 127.9f));
			packed[(n * row + i) * bits / 8] |=
				(uint8_t)(w[n * row + i] << (bits == 4 && i % 2 ? 4 : 0));
		}
	}
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++) {
			double sum[2] = { bias ? (double)add[n] : 0, bias ? (double)add[n] : 0 };

			for (i = 0; i < k; i++) {
				const double b = (double)scales[n * blocks + i / 32] *
						 (w[n * row + i] - z[n * blocks + (i >> 5)]);

				sum[0] += (double)x[m * k + i] * b;
				sum[1] += (double)used[m * k + i] * b;
			}
			want[m * N + n] = (float)sum[rounded];
			apart = fmaxf(apart, fabsf((float)(sum[1] - sum[0])));
		}
	t = BEGIN(bed, IO("x", F32, x, M, k), CONST("w", U8, packed, N, blocks, 4 * bits),
		  CONST("s", F32, scales, N * blocks), CONST("z", U8, packed_z, N * zrow),
		  CONST("b", F32, add, N));
	add_nbits(t, bias ? zeros ? "x w s z - b" : "x w s - - b" : zeros ? "x w s z" : "x w s",
		  k, N, bits, level);
	t->bound = bits == 4 ? 0.0005 : 0.005;
	assert_true((double)apart > 4 * t->bound);
	GIVES(t, IO("y", F32, want, M, N));
	free(x);
	free(scales);
}

static void test_nbits(void **arg)
{
	int bits;

	for (bits = 4; bits <= 8; bits += 4) {
		one_nbits(*arg, bits, 64, false, false, 0, false);
		one_nbits(*arg, bits, 96, true, false, 1, false);
		one_nbits(*arg, bits, 80, true, true, 0, false);
		one_nbits(*arg, bits, 160, false, true, 3, false);
	}
}

static void test_nbits_rounded(void **arg)
{
	int bits;

	for (bits = 4; bits <= 8; bits += 4) {
		one_nbits(*arg, bits, 64, false, false, 4, true);
		one_nbits(*arg, bits, 96, true, false, 4, true);
		one_nbits(*arg, bits, 80, true, true, 4, true);
	}
}

/* What is read as numbers first: odd rows, 2 bits, blocks by number, real zero points */
static void one_parts(struct bed *bed, int bits, int k, int zeros, bool order)
{
	uint8_t packed[N * MOST] = { 0 }, packed_z[N * 5] = { 0 };
	int blocks = (k + 31) / 32, row = blocks * 32 * bits / 8, zrow = (blocks * bits + 7) / 8;
	float *x = noise_floats(1, M * MOST), *scales = noise_floats(2, N * 5);
	float z[N * 5], want[M * N];
	int q[N * MOST], m, n, i, at;
	int32_t group[MOST];
	struct tested *t;

	for (i = 0; i < k; i++)
		group[i] = order ? i * 7 % blocks : i / 32;
	for (n = 0; n < N; n++) {
		for (i = 0; i < blocks; i++) {
			at = (n * 5 + i * 3) % (1 << bits);
			packed_z[n * zrow + i * bits / 8] |= (uint8_t)(at << i * bits % 8);
			z[n * blocks + i] = zeros == 0 ? (float)(1 << (bits - 1)) : zeros == 1 ?
					    (float)at : (float)at + 0.25f;
		}
		for (i = 0; i < k; i++) {
			q[n * k + i] = (n * 31 + i * 17) % (1 << bits);
			packed[n * row + i * bits / 8] |= (uint8_t)(q[n * k + i] << i * bits % 8);
		}
	}
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++) {
			double sum = n;

			for (i = 0; i < k; i++)
				sum += (double)x[m * k + i] *
				       (double)scales[n * blocks + group[i]] *
				       (q[n * k + i] - (double)z[n * blocks + group[i]]);
			want[m * N + n] = (float)sum;
		}
	t = BEGIN(bed, IO("x", F32, x, M, k), CONST("w", U8, packed, N, blocks, 4 * bits),
		  CONST("s", F32, scales, N * blocks), CONST("z", U8, packed_z, N * zrow),
		  CONST("real", F32, z, N, blocks), CONST("group", S32, group, k),
		  CONST("b", F32, ((float[]){ 0, 1, 2, 3, 4 }), N));
	add_nbits(t, zeros == 0 ? order ? "x w s - group b" : "x w s - - b" :
		  zeros == 1 ? order ? "x w s z group b" : "x w s z - b" :
		  order ? "x w s real group b" : "x w s real - b", k, N, bits, 0);
	t->bound = bits == 8 ? 0.01 : 0.001;
	GIVES(t, IO("y", F32, want, M, N));
	free(x);
	free(scales);
}

static void test_nbits_parts(void **arg)
{
	static const uint8_t w[64];
	static const float x[32], s[2] = { 1, 1 };
	static const int32_t far[32] = { 0, 0, 7 };
	struct tested *t;
	int bits, i;

	for (bits = 2; bits <= 8; bits *= 2)
		for (i = 0; i < 6; i++)
			one_parts(*arg, bits, i & 1 ? 77 : 96, i / 2, i % 3 != 1);
	/* Too few numbers of blocks */
	t = BEGIN(*arg, IO("x", F32, x, 1, 32), CONST("w", U8, w, 2, 1, 16), CONST("s", F32, s, 2),
		  CONST("group", S32, far, 31));
	add_nbits(t, "x w s - group", 32, 2, 4, 0);
	must_refuse(t, -EBADMSG, "g_idx");
}

/* --- norms ------------------------------------------------------------------------------ */

#define ROWS 4
#define COLS 16

static const float gamma_[COLS] = { 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8 };
static const float beta_[COLS] = { 0, 1, 0, 1, 0, 1, 0, 1, -1, 0, -1, 0, -1, 0, -1, 0 };

/* The norm of a line; @beta NULL: by the root of its mean square alone */
static void normed(const float *x, const float *beta, double eps, float *y)
{
	double mean = 0, var = 0;
	int i;

	for (i = 0; beta && i < COLS; i++)
		mean += (double)x[i] / COLS;
	for (i = 0; i < COLS; i++)
		var += ((double)x[i] - mean) * ((double)x[i] - mean) / COLS;
	for (i = 0; i < COLS; i++)
		y[i] = (float)(((double)x[i] - mean) / sqrt(var + eps) * (double)gamma_[i] +
			       (double)(beta ? beta[i] : 0));
}

/* The mean of a line, and what its deviations, or its elements, are multiplied by */
static void moments(const float *x, double eps, float *mean, float *inverse, float *root)
{
	double sum = 0, squares = 0;
	int i;

	for (i = 0; i < COLS; i++) {
		sum += (double)x[i] / COLS;
		squares += (double)x[i] * (double)x[i] / COLS;
	}
	*mean = (float)sum;
	*inverse = (float)(1 / sqrt(squares - sum * sum + eps));
	*root = (float)(1 / sqrt(squares + eps));
}

static void test_skip(void **arg)
{
	float *x = noise_floats(1, ROWS * COLS), *skip = noise_floats(2, ROWS * COLS);
	float *bias = noise_floats(3, COLS), sum[ROWS * COLS], y[ROWS * COLS], rms[ROWS * COLS];
	float mean[ROWS] = { 0 }, inverse[ROWS], root[ROWS];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < ROWS * COLS; i++)
		sum[i] = x[i] + skip[i] + bias[i % COLS];
	for (i = 0; i < ROWS; i++) {
		normed(sum + i * COLS, beta_, 0.001, y + i * COLS);
		normed(sum + i * COLS, NULL, 0.001, rms + i * COLS);
		moments(sum + i * COLS, 0.001, &mean[i], &inverse[i], &root[i]);
	}
	t = BEGIN(*arg, IO("x", F32, x, 1, ROWS, COLS), IO("s", F32, skip, 1, ROWS, COLS),
		  CONST("g", F32, gamma_, COLS), CONST("b", F32, beta_, COLS),
		  CONST("bias", F32, bias, COLS));
	n = op(MS, "SkipLayerNormalization", "x s g b bias", "y mean inverse sum");
	attr_float(&n, "epsilon", 0.001f);
	add_op(t, &n);
	n = op(MS, "SkipSimplifiedLayerNormalization", "x s g bias", "z - root");
	attr_float(&n, "epsilon", 0.001f);
	add_op(t, &n);
	t->bound = 0.0001;
	GIVES(t, IO("y", F32, y, 1, ROWS, COLS), IO("sum", F32, sum, 1, ROWS, COLS),
	      IO("z", F32, rms, 1, ROWS, COLS), IO("mean", F32, mean, 1, ROWS, 1),
	      IO("inverse", F32, inverse, 1, ROWS, 1), IO("root", F32, root, 1, ROWS, 1));
	free(x);
	free(skip);
	free(bias);
}

static void test_embed(void **arg)
{
	static const int32_t words[6] = { 3, 0, 2, 1, 1, 3 }, kinds[6] = { 0, 1, 0, 1, 1, 0 };
	static const int32_t mask[6] = { 1, 1, 0, 1, 1, 1 }, counts[2] = { 2, 3 };
	float *word = noise_floats(1, 4 * COLS), *place = noise_floats(2, 8 * COLS);
	float *kind = noise_floats(3, 2 * COLS), sum[6 * COLS], y[6 * COLS];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 6 * COLS; i++)
		sum[i] = word[words[i / COLS] * COLS + i % COLS] +
			 place[i / COLS % 3 * COLS + i % COLS] +
			 kind[kinds[i / COLS] * COLS + i % COLS];
	for (i = 0; i < 6; i++)
		normed(sum + i * COLS, beta_, 0.001, y + i * COLS);
	t = BEGIN(*arg, IO("ids", S32, words, 2, 3), IO("kinds", S32, kinds, 2, 3),
		  CONST("w", F32, word, 4, COLS), CONST("p", F32, place, 8, COLS),
		  CONST("k", F32, kind, 2, COLS), CONST("g", F32, gamma_, COLS),
		  CONST("b", F32, beta_, COLS), IO("mask", S32, mask, 2, 3));
	n = op(MS, "EmbedLayerNormalization", "ids kinds w p k g b mask", "y counts sum");
	attr_float(&n, "epsilon", 0.001f);
	add_op(t, &n);
	t->bound = 0.0001;
	GIVES(t, IO("y", F32, y, 2, 3, COLS), IO("counts", S32, counts, 2),
	      IO("sum", F32, sum, 2, 3, COLS));
	free(word);
	free(place);
	free(kind);
}

/* --- activations -------------------------------------------------------------------------- */

static void test_gelus(void **arg)
{
	float *x = noise_floats(1, ROWS * COLS), *bias = noise_floats(2, COLS);
	float gelu[ROWS * COLS], with[ROWS * COLS], fast[ROWS * COLS], quick[ROWS * COLS];
	float silu[ROWS * COLS];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < ROWS * COLS; i++) {
		double a, b;

		x[i] *= 4;
		a = (double)x[i];
		b = (double)(x[i] + bias[i % COLS]);
		gelu[i] = (float)(a / 2 * (1 + erf(a / sqrt(2))));
		with[i] = (float)(b / 2 * (1 + erf(b / sqrt(2))));
		fast[i] = (float)(b / 2 *
				  (1 + tanh(0.7978845608028654 * (b + 0.044715 * b * b * b))));
		quick[i] = (float)(a / (1 + exp(-1.702 * a)));
		silu[i] = (float)(a / (1 + exp(-a)));
	}
	t = BEGIN(*arg, IO("x", F32, x, ROWS, COLS), CONST("b", F32, bias, COLS));
	ONE(t, MS, "Gelu", "x", "gelu");
	ONE(t, MS, "BiasGelu", "x b", "with");
	ONE(t, MS, "FastGelu", "x b", "fast");
	ONE(t, MS, "QuickGelu", "x", "quick");
	n = op(MS, "QuickGelu", "x", "silu");
	attr_float(&n, "alpha", 1);
	add_op(t, &n);
	t->bound = 0.00001;
	GIVES(t, IO("gelu", F32, gelu, ROWS, COLS), IO("with", F32, with, ROWS, COLS),
	      IO("fast", F32, fast, ROWS, COLS), IO("quick", F32, quick, ROWS, COLS),
	      IO("silu", F32, silu, ROWS, COLS));
	free(x);
	free(bias);
}

/* Products with what follows: a transposed right side, a factor, an addend, an activation */
static void test_fused(void **arg)
{
	float *a = noise_floats(1, 2 * 3), *b = noise_floats(2, 4 * 3), *c = noise_floats(3, 2 * 4);
	float product[8], gemm[8], conv[8], elu[8], all[8], least[8];
	struct tested *t;
	struct bytes n;
	int i, k;

	for (i = 0; i < 8; i++) {
		double sum = 0, other = 0;

		for (k = 0; k < 3; k++) {
			sum += (double)a[i / 4 * 3 + k] * (double)b[i % 4 * 3 + k];
			/* The same numbers as three channels of two pixels, and four filters */
			other += (double)a[k * 2 + i % 2] * (double)b[i / 2 * 3 + k];
		}
		product[i] = (float)(0.5 * sum);
		gemm[i] = (float)(sum < 0 ? 0.1 * sum : sum);
		elu[i] = (float)(sum < 0 ? expm1(sum) : sum);
		all[i] = (float)sum;
		least[i] = (float)fmax(sum, 0.25);
		conv[i] = (float)fmax(other + (double)c[i], 0);
	}
	t = BEGIN(*arg, IO("a", F32, a, 2, 3), CONST("b", F32, b, 4, 3),
		  IO("image", F32, a, 1, 3, 1, 2), CONST("filters", F32, b, 4, 3, 1, 1),
		  IO("add", F32, c, 1, 4, 1, 2));
	n = op(MS, "FusedMatMul", "a b", "product");
	attr_int(&n, "transB", 1);
	attr_float(&n, "alpha", 0.5f);
	add_op(t, &n);
	n = op(MS, "FusedGemm", "a b", "gemm");
	attr_int(&n, "transB", 1);
	attr_text(&n, "activation", "LeakyRelu");
	attr_float(&n, "activation_alpha", 0.1f);
	add_op(t, &n);
	/* Without numbers, or with one of two */
	n = op(MS, "FusedGemm", "a b", "elu");
	attr_int(&n, "transB", 1);
	attr_text(&n, "activation", "Elu");
	add_op(t, &n);
	for (i = 0; i < 2; i++) {
		n = op(MS, "FusedGemm", "a b", i ? "least" : "all");
		attr_int(&n, "transB", 1);
		attr_text(&n, "activation", "Clip");
		if (i)
			attr_float(&n, "activation_alpha", 0.25f);
		add_op(t, &n);
	}
	n = op(MS, "FusedConv", "image filters - add", "conv");
	attr_text(&n, "activation", "Relu");
	add_op(t, &n);
	t->bound = 0.00001;
	GIVES(t, IO("product", F32, product, 2, 4), IO("gemm", F32, gemm, 2, 4),
	      IO("conv", F32, conv, 1, 4, 1, 2), IO("elu", F32, elu, 2, 4),
	      IO("all", F32, all, 2, 4), IO("least", F32, least, 2, 4));
	free(a);
	free(b);
	free(c);
}

/* Factors whose rows lie before their batches, transposed or not */
static void test_batches(void **arg)
{
	enum { B = 2, C = 3, R = 4, K = 5 };
	/* Rows, or elements of them, then batches: [R, B, C, K], [COLS, B, C, K] */
	float *a = noise_floats(1, B * C * R * K), *b = noise_floats(2, B * C * K * COLS);
	float y[B * C * R * COLS], z[B * C * R * COLS];
	struct tested *t;
	struct bytes n;
	int i, k;

	for (i = 0; i < B * C * R * COLS; i++) {
		const int at = i / (R * COLS), row = i / COLS % R, col = i % COLS;
		double sum = 0, other = 0;

		for (k = 0; k < K; k++) {
			sum += (double)a[(row * B * C + at) * K + k] *
			       (double)b[(col * B * C + at) * K + k];
			other += (double)a[(k * B * C + at) * R + row] *
				 (double)b[(k * B * C + at) * COLS + col];
		}
		y[i] = (float)sum;
		z[i] = (float)other;
	}
	t = BEGIN(*arg, IO("a", F32, a, R, B, C, K), CONST("b", F32, b, COLS, B, C, K),
		  IO("c", F32, a, K, B, C, R), IO("d", F32, b, K, B, C, COLS));
	for (i = 0; i < 2; i++) {
		n = op(MS, "FusedMatMul", i ? "c d" : "a b", i ? "z" : "y");
		attr_int(&n, "transBatchA", 1);
		attr_int(&n, "transBatchB", 1);
		attr_int(&n, i ? "transA" : "transB", 1);
		add_op(t, &n);
	}
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, y, B, C, R, COLS), IO("z", F32, z, B, C, R, COLS));
	t = BEGIN(*arg, IO("a", F32, a, R, K), IO("b", F32, b, K, COLS));
	n = op(MS, "FusedMatMul", "a b", "y");
	attr_int(&n, "transBatchA", 1);
	add_op(t, &n);
	must_refuse(t, -EBADMSG, "transBatchA of 2 dimensions");
	free(a);
	free(b);
}

/* Vectors, which are not transposed: their product is a number, a row or a column */
static void test_vectors(void **arg)
{
	static const float a[2] = { 2, 3 }, m[4] = { 1, 2, 3, 4 }, dot = 26, row[2] = { 22, 32 };
	static const float column[2] = { 16, 36 };
	struct io y = { "y", F32, 0, { 0 }, &dot, false, NULL };
	struct tested *t = BEGIN(*arg, IO("a", F32, a, 2), IO("m", F32, m, 2, 2));
	static const char *const in[] = { "a a", "a m", "m a" }, *const out[] = { "y", "r", "c" };
	struct bytes n;
	int i;

	for (i = 0; i < 3; i++) {
		n = op(MS, "FusedMatMul", in[i], out[i]);
		attr_int(&n, i == 2 ? "transB" : "transA", 1);
		attr_float(&n, "alpha", 2);
		add_op(t, &n);
	}
	gives(t, (const struct io[]){ y, IO("r", F32, row, 2), IO("c", F32, column, 2) }, 3);
}

/* What attention is not told of, or would not read */
static void test_refused(void **arg)
{
	static const float x[28];
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 2, 4),
				 SCALAR("past", S32, ((int32_t[]){ 1 })));
	struct bytes n = op(MS, "MultiHeadAttention", "x x x - - - - - past", "y");

	attr_int(&n, "num_heads", 2);
	add_op(t, &n);
	must_refuse(t, -EOPNOTSUPP, "input 8 is not supported");
	t = BEGIN(*arg, IO("x", F32, x, 1, 2, 14), IO("lens", S32, ((int32_t[]){ 1 }), 1),
		  SCALAR("total", S32, ((int32_t[]){ 2 })));
	n = op(MS, "GroupQueryAttention", "x - - - - lens total", "y");
	attr_int(&n, "num_heads", 1);
	attr_int(&n, "kv_num_heads", 1);
	add_op(t, &n);
	must_refuse(t, -EBADMSG, "14 columns for 3 heads");
}

/* No batches, whose rows do not tell what is left; each query sees the keys up to its place. */
static void test_heads(void **arg)
{
	static const float zero[15], v[10] = { 1, 1, 2, 2, 3, 3, 4, 4, 5, 5 };
	struct tested *t = BEGIN(*arg, IO("x", F32, zero, 0, 2, 4));
	struct bytes n = op(MS, "MultiHeadAttention", "x x x", "y");
	int i, k, rows, keys;
	float y[10];

	attr_int(&n, "num_heads", 2);
	add_op(t, &n);
	GIVES(t, IO("y", F32, zero, 0, 2, 4));
	for (k = 0; k < 4; k++) {
		rows = k & 1 ? 3 : 5;
		keys = 8 - rows;
		/* All scores are alike: what comes out is the mean of what is seen. */
		for (i = 0; i < 2 * rows; i++)
			y[i] = (float)((i / 2 < keys ? i / 2 : keys - 1) + 2) / 2;
		t = BEGIN(*arg, IO("q", F32, zero, 1, 1, rows, 2),
			  IO("k", F32, zero, 1, 1, keys, 2), IO("v", F32, v, 1, 1, keys, 2));
		t->opset = 23;
		t->bound = 0.000001;
		/* As one operation, and by parts */
		n = op(NULL, "Attention", "q k v", k & 2 ? "y - - s" : "y");
		attr_int(&n, "is_causal", 1);
		add_op(t, &n);
		if (k & 2)
			GIVES(t, IO("y", F32, y, 1, 1, rows, 2),
			      IO("s", F32, zero, 1, 1, rows, keys));
		else
			GIVES(t, IO("y", F32, y, 1, 1, rows, 2));
	}
}

/* A cache that has no rows yet is none, whose length is a symbol as later. */
static void test_no_past(void **arg)
{
	static const int64_t sizes[] = { 1, 2, 0, 4 }, three[] = { 1, 3, 8 };
	static float x[24], rows[24], none[24];
	struct bytes n;
	struct tested *t;
	uint32_t i;

	for (i = 0; i < 24; i++) {
		x[i] = (float)(i * 11 % 24) / 12 - 1;
		rows[i / 8 * 4 + i % 8 / 4 * 12 + i % 4] = x[i];
	}
	t = BEGIN(*arg, { "x", F32, 3, { -1, -2, 8 }, x, false, three },
		  { "p", F32, 4, { -1, 2, -3, 4 }, x, false, sizes });
	for (i = 0; i < 2; i++) {
		n = op(MS, "MultiHeadAttention", i ? "x x x - - - p p" : "x x x",
		       i ? "b keys values" : "a");
		attr_int(&n, "num_heads", 2);
		add_op(t, &n);
	}
	ONE(t, NULL, "Sub", "a b", "none");
	t->bound = 0.000001;
	GIVES(t, IO("none", F32, none, 1, 3, 8), IO("keys", F32, rows, 1, 2, 3, 4),
	      IO("values", F32, rows, 1, 2, 3, 4));
}

/* Attention over projections of bytes, with a scale and a zero point of each column, and a past */
static void test_exact_attention(void **arg)
{
	enum { B = 2, S = 3, X = 5, H = 2, D = 4, P = 2, T = P + S, C = 3 * H * D };
	static const uint8_t zx = 120;
	static const float sx = 1 / 64.f;
	static const int32_t ends[B] = { T, T - 1 };
	static double all[B][S][C], key[B][H][T][D], value[B][H][T][D];
	static float bias[C], sw[C], past[2][B][H][P][D], y[B][S][H][D], present[2][B][H][T][D];
	static uint8_t x[B][S][X];
	static int8_t w[X][C], zw[C];
	int b, s, h, d, c, k, causal;
	struct tested *t;
	struct bytes n;

	for (c = 0; c < B * S * X; c++)
		(&x[0][0][0])[c] = (uint8_t)(noise(1, (uint32_t)c) * 127.9f + 128);
	for (c = 0; c < X * C; c++)
		(&w[0][0])[c] = (int8_t)(noise(2, (uint32_t)c) * 127.9f);
	for (c = 0; c < C; c++) {
		zw[c] = (int8_t)(c % 7 - 3);
		sw[c] = (float)(1 + c % 5) / 256;
		bias[c] = noise(3, (uint32_t)c);
	}
	for (c = 0; c < 2 * B * H * P * D; c++)
		(&past[0][0][0][0][0])[c] = noise(4, (uint32_t)c);
	for (b = 0; b < B; b++)
		for (s = 0; s < S; s++)
			for (c = 0; c < C; c++) {
				int sum = 0;

				for (k = 0; k < X; k++)
					sum += (x[b][s][k] - zx) * (w[k][c] - zw[c]);
				all[b][s][c] = sum * (double)sx * (double)sw[c] + (double)bias[c];
			}
	for (b = 0; b < B; b++)
		for (h = 0; h < H; h++)
			for (k = 0; k < T; k++)
				for (d = 0; d < D; d++) {
					key[b][h][k][d] = k < P ? (double)past[0][b][h][k][d] :
						all[b][k - P][(H + h) * D + d];
					value[b][h][k][d] = k < P ? (double)past[1][b][h][k][d] :
						all[b][k - P][(2 * H + h) * D + d];
					present[0][b][h][k][d] = (float)key[b][h][k][d];
					present[1][b][h][k][d] = (float)value[b][h][k][d];
				}
	for (causal = 0; causal < 2; causal++) {
		memset(y, 0, sizeof(y));
		for (c = 0; c < B * S * H; c++) {
			double p[T], sum = 0, o[D] = { 0 };

			b = c / (S * H);
			s = c / H % S;
			h = c % H;
			for (k = 0; k < T; k++) {
				for (d = 0, p[k] = 0; d < D; d++)
					p[k] += all[b][s][h * D + d] * key[b][h][k][d] / 2;
				p[k] = k >= ends[b] || (causal && k > P + s) ? 0 : exp(p[k]);
				sum += p[k];
			}
			for (k = 0; k < T; k++)
				for (d = 0; d < D; d++)
					o[d] += p[k] / sum * value[b][h][k][d];
			for (d = 0; d < D; d++)
				y[b][s][h][d] = (float)o[d];
		}
		t = BEGIN(*arg, IO("x", U8, x, B, S, X), CONST("w", S8, w, X, C),
			  CONST("b", F32, bias, C), SCALAR("sx", F32, &sx), CONST("sw", F32, sw, C),
			  IO("ends", S32, ends, B), SCALAR("zx", U8, &zx), CONST("zw", S8, zw, C),
			  IO("past", F32, past, 2, B, H, P, D));
		n = op(MS, "QAttention", "x w b sx sw ends zx zw past", "y present");
		attr_int(&n, "num_heads", H);
		attr_int(&n, "unidirectional", causal);
		add_op(t, &n);
		t->bound = 0.00001;
		GIVES(t, IO("y", F32, y, B, S, H * D), IO("present", F32, present, 2, B, H, T, D));
	}
	t = BEGIN(*arg, IO("x", U8, x, B, S, X), CONST("w", S8, w, X, C), CONST("b", F32, bias, C));
	ONE(t, MS, "QAttention", "x w b", "y");
	must_refuse(t, -EBADMSG, "input 3 is missing");
}

/* Groups of channels that are the last dimension, or the second */
static void test_groups(void **arg)
{
	enum { B = 2, HW = 6, C = 4, G = 2, ALL = HW * C / G };
	static float x[B * HW * C], gamma[C], beta[C], y[B * HW * C];
	int i, k, way;

	for (i = 0; i < B * HW * C; i++)
		x[i] = noise(1, (uint32_t)i);
	for (i = 0; i < C; i++) {
		gamma[i] = 1 + noise(2, (uint32_t)i);
		beta[i] = noise(3, (uint32_t)i);
	}
	for (way = 0; way < 4; way++) {
		const bool first = way & 1, silu = way & 2;
		struct bytes n = op(MS, "GroupNorm", "x g b", "y");
		struct tested *t;

		for (i = 0; i < B * HW * C; i++) {
			const int c = first ? i / HW % C : i % C;
			double sum = 0, squares = 0, v;

			for (k = 0; k < B * HW * C; k++)
				if (k / (HW * C) == i / (HW * C) &&
				    (first ? k / HW % C : k % C) / (C / G) == c / (C / G)) {
					sum += (double)x[k];
					squares += (double)x[k] * (double)x[k];
				}
			sum /= ALL;
			v = ((double)x[i] - sum) / sqrt(squares / ALL - sum * sum + 0.001);
			v = v * (double)gamma[c] + (double)beta[c];
			y[i] = (float)(silu ? v / (1 + exp(-v)) : v);
		}
		t = BEGIN(*arg, IO("x", F32, x, B, first ? C : 2, first ? 2 : 3, first ? 3 : C),
			  CONST("g", F32, gamma, C), CONST("b", F32, beta, C));
		attr_int(&n, "groups", G);
		attr_int(&n, "activation", silu);
		attr_float(&n, "epsilon", 0.001f);
		if (first)
			attr_int(&n, "channels_last", 0);
		add_op(t, &n);
		t->bound = 0.00001;
		GIVES(t, IO("y", F32, y, B, first ? C : 2, first ? 2 : 3, first ? 3 : C));
	}
}

/* A scale of fp32 that fp16 does not have, of an image of fp16; off by its half step */
static void test_wide_scales(void **arg)
{
	static const float x[] = { 0.25f, -1, -0.25f, 1 }, gamma[] = { 1e5f, 1 }, beta[] = { 9, 0 };
	static const uint16_t half;
	struct bytes n = op(MS, "GroupNorm", "h g b", "n");
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 2), CONST("g", F32, gamma, 2),
				 CONST("b", F32, beta, 2), CONST("like", F16, &half, 1));
	float y[4];
	int i;

	for (i = 0; i < 4; i++)
		y[i] = x[i] / sqrtf(0.53125f) * gamma[i % 2] + beta[i % 2];
	ONE(t, NULL, "CastLike", "x like", "h");
	attr_int(&n, "groups", 1);
	add_op(t, &n);
	ONE(t, NULL, "CastLike", "n x", "y");
	t->bound = 17;
	GIVES(t, IO("y", F32, y, 1, 1, 2, 2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nbits), TEST(test_nbits_rounded), TEST(test_nbits_parts), TEST(test_skip),
		TEST(test_embed), TEST(test_gelus), TEST(test_fused), TEST(test_batches),
		TEST(test_vectors), TEST(test_refused), TEST(test_heads), TEST(test_no_past),
		TEST(test_exact_attention), TEST(test_groups), TEST(test_wide_scales),
	};

	return cmocka_run_group_tests_name("onnx_ms", tests, NULL, NULL);
}
