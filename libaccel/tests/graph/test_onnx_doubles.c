// SPDX-License-Identifier: MIT
/*
 * Operators on doubles, and on integers of 64 bits, which the CPU computes: against loops over
 * their definitions, and against engines where numbers are exact in both.
 */
#include "onnxop.h"

/* More than a double holds, and less than a float does */
#define BIG	(INT64_C(1) << 60)
#define TINY	0.000000001
#define LEAST	0.000000000001

/* Vectors on either side, and on both */
static void test_vectors(void **arg)
{
	static const double m[2][3] = { { 1, 2, TINY }, { 4, 5, 6 } }, v[3] = { 1, 10, 100 };
	static const double w[2] = { 1, -1 }, mv[2] = { 21 + 100 * TINY, 654 }, dot = 10101;
	static const double wm[3] = { -3, -3, TINY - 6 };
	static const float f[3] = { 1, 2, 3 }, square = 14, gf[2] = { 14, 32 };
	static const float g[6] = { 1, 2, 3, 4, 5, 6 };
	static const int64_t s[2][1][3] = { { { BIG, 1, 1 } }, { { 1, 1, BIG } } };
	static const int64_t u[3] = { 1, 2, 3 };
	static const int64_t su[2] = { BIG + 5, 3 + 3 * BIG };
	struct tested *t = BEGIN(*arg, IO("m", F64, m, 2, 3), IO("v", F64, v, 3),
				 IO("w", F64, w, 2), IO("s", S64, s, 2, 1, 3),
				 CONST("u", S64, u, 3), IO("f", F32, f, 3), IO("g", F32, g, 2, 3));

	ONE(t, NULL, "MatMul", "m v", "mv");
	ONE(t, NULL, "MatMul", "w m", "wm");
	ONE(t, NULL, "MatMul", "v v", "dot");
	ONE(t, NULL, "MatMul", "s u", "su");
	ONE(t, NULL, "MatMul", "f f", "square");
	ONE(t, NULL, "MatMul", "g f", "gf");
	GIVES(t, IO("mv", F64, mv, 2), IO("wm", F64, wm, 3),
	      { "dot", F64, 0, { 0 }, &dot, false, NULL }, IO("su", S64, su, 2, 1),
	      { "square", F32, 0, { 0 }, &square, false, NULL }, IO("gf", F32, gf, 2));
}

/* Activations, norms and softmax, further than floats go */
static void test_elements(void **arg)
{
	enum { COLS = 6 };
	static const double x[2][COLS] = {
		{ -700, -3, -TINY, 0, TINY, 2 }, { 1 + LEAST, 1, 1 - LEAST, 40, -40, 700 }
	};
	static const struct {
		const char *name;
		float alpha, beta;
	} acts[] = {
		{ "LeakyRelu", 0.5f, 0 }, { "Elu", 2, 0 }, { "Celu", 2, 0 }, { "Selu", 2, 0 },
		{ "HardSigmoid", 0.25f, 0.5f }, { "HardSwish", 0, 0 }, { "Softplus", 0, 0 },
		{ "Softsign", 0, 0 }, { "Mish", 0, 0 }, { "Gelu", 0, 0 }, { "Swish", 2, 0 },
		{ "Swish", 1, 0 },
	};
	double y[12][2][COLS], soft[2][COLS], logs[2][COLS], norm[2][COLS], rms[2][COLS];
	static const double rows[2][COLS] = {
		{ 1, 2, 3, 4, 5, TINY }, { 1000, 1001, 999, -10000, 0, 7 }
	};
	static const double scale[COLS] = { 1, 2, 3, 4, 5, 6 }, bias[COLS] = { 6, 5, 4, 3, 2, 1 };
	double batch[2][COLS];
	double mean, var, sq, sum, z, s;
	struct tested *t;
	struct bytes n;
	static char names[12][16];
	struct io want[17];
	int i, k, r;

	t = BEGIN(*arg, IO("x", F64, x, 2, COLS), IO("r", F64, rows, 2, COLS),
		  CONST("scale", F64, scale, COLS), CONST("bias", F64, bias, COLS),
		  CONST("mean", F64, bias, COLS));
	t->opset = 24;
	t->bound = 10 * LEAST;
	for (k = 0; k < 12; k++) {
		for (i = 0; i < 2 * COLS; i++) {
			const double a = (double)acts[k].alpha, b = (double)acts[k].beta;
			const double u = x[i / COLS][i % COLS];
			const double soft_plus = u > 0 ? u + log1p(exp(-u)) : log1p(exp(u));
			const double e = expm1(u);
			const double all[] = {
				u < 0 ? a * u : u, u < 0 ? a * e : u, u < 0 ? a * expm1(u / a) : u,
				1.05070102214813232421875 * (u > 0 ? u : a * e),
				fmin(fmax(a * u + b, 0), 1), u * fmin(fmax(u / 6 + 0.5, 0), 1),
				soft_plus, u / (1 + fabs(u)), u * tanh(soft_plus),
				u / 2 * erfc(-u / sqrt(2)), u / (1 + exp(-a * u)),
				u / (1 + exp(-u)),
			};

			y[k][i / COLS][i % COLS] = all[k];
		}
		snprintf(names[k], sizeof(names[k]), "y%d", k);
		n = op(NULL, acts[k].name, "x", names[k]);
		if (acts[k].alpha != 0)
			attr_float(&n, "alpha", acts[k].alpha);
		if (acts[k].beta != 0)
			attr_float(&n, "beta", acts[k].beta);
		add_op(t, &n);
	}
	for (r = 0; r < 2; r++) {
		mean = var = sq = sum = 0;
		for (i = 0; i < COLS; i++)
			mean += rows[r][i] / COLS;
		for (i = 0; i < COLS; i++) {
			var += (rows[r][i] - mean) * (rows[r][i] - mean) / COLS;
			sq += rows[r][i] * rows[r][i] / COLS;
			sum += exp(rows[r][i] - (r ? 1001 : 5));
		}
		for (i = 0; i < COLS; i++) {
			z = rows[r][i] - (r ? 1001 : 5);
			s = (double)0.00001f;
			soft[r][i] = exp(z) / sum;
			logs[r][i] = z - log(sum);
			norm[r][i] = (rows[r][i] - mean) / sqrt(var + s) * scale[i] + bias[i];
			rms[r][i] = rows[r][i] / sqrt(sq + s) * scale[i];
			z = (rows[r][i] - bias[i]) / sqrt(scale[i] + s);
			batch[r][i] = z * scale[i] + bias[i];
		}
	}
	ONE(t, NULL, "Softmax", "r", "soft");
	ONE(t, NULL, "LogSoftmax", "r", "logs");
	ONE(t, NULL, "LayerNormalization", "r scale bias", "norm");
	ONE(t, NULL, "RMSNormalization", "r scale", "rms");
	ONE(t, NULL, "BatchNormalization", "r scale bias mean scale", "batch");
	for (k = 0; k < 12; k++)
		want[k] = (struct io)IO(names[k], F64, y[k], 2, COLS);
	want[12] = (struct io)IO("soft", F64, soft, 2, COLS);
	want[13] = (struct io)IO("logs", F64, logs, 2, COLS);
	want[14] = (struct io)IO("norm", F64, norm, 2, COLS);
	want[15] = (struct io)IO("rms", F64, rms, 2, COLS);
	want[16] = (struct io)IO("batch", F64, batch, 2, COLS);
	gives(t, want, 17);
}

/* Norms of groups and of channels alone */
static void test_groups(void **arg)
{
	enum { CH = 4, LINE = 3, PAIR = 2 };
	/* What ONNX adds to a deviation as what is added to a variance here */
	const double eps = 0.000000001 * 0.000000001;
	static const double scale[CH] = { 1, 2, 3, 4 }, bias[CH] = { 4, 3, 2, 1 };
	double x[2 * CH * LINE], y[2][2 * CH * LINE], whole[2 * CH * LINE], mean, var;
	struct tested *t;
	struct bytes n;
	int i, k, g, size;

	for (i = 0; i < 2 * CH * LINE; i++)
		x[i] = 1 + TINY * (i * 7 % 11);
	for (g = 0; g < 2; g++) {
		size = g ? PAIR * LINE : LINE;
		for (i = 0; i < 2 * CH * LINE; i++) {
			const double *line = x + i / size * size;

			for (k = 0, mean = var = 0; k < size; k++)
				mean += line[k] / size;
			for (k = 0; k < size; k++)
				var += (line[k] - mean) * (line[k] - mean) / size;
			k = i / LINE % CH;
			y[g][i] = (x[i] - mean) / sqrt(var) * scale[k] + bias[k];
			if (!g)
				whole[i] = (x[i] - mean) / sqrt(var + eps);
		}
	}
	t = BEGIN(*arg, IO("x", F64, x, 2, CH, LINE), CONST("scale", F64, scale, CH),
		  IO("bias", F64, bias, CH));
	for (g = 0; g < 2; g++) {
		n = op(NULL, g ? "GroupNormalization" : "InstanceNormalization", "x scale bias",
		       g ? "group" : "alone");
		attr_float(&n, "epsilon", 0);
		if (g)
			attr_int(&n, "num_groups", CH / PAIR);
		add_op(t, &n);
	}
	n = op(NULL, "MeanVarianceNormalization", "x", "whole");
	attr_ints(&n, "axes", 1, DIMS(2));
	add_op(t, &n);
	t->bound = 0.00001;
	GIVES(t, IO("whole", F64, whole, 2, CH, LINE), IO("alone", F64, y[0], 2, CH, LINE),
	      IO("group", F64, y[1], 2, CH, LINE));
}

/* Padding as wide as windows may be costs nothing: as elements it would take hours. */
static void test_wide_padding(void **arg)
{
	enum { WIDE = 46001 };
	static double x[1] = { 5 }, mean[1] = { 5.0 / ((double)WIDE * WIDE) };
	struct tested *t = BEGIN(*arg, IO("x", F64, x, 1, 1, 1, 1));
	struct bytes n;
	int i;

	for (i = 0; i < 2; i++) {
		n = op(NULL, i ? "MaxPool" : "AveragePool", "x", i ? "most" : "mean");
		attr_ints(&n, "kernel_shape", 2, DIMS(WIDE, WIDE));
		attr_ints(&n, "pads", 4, DIMS(WIDE / 2, WIDE / 2, WIDE / 2, WIDE / 2));
		if (!i)
			attr_int(&n, "count_include_pad", 1);
		add_op(t, &n);
	}
	t->bound = 1 / 1e18;
	GIVES(t, IO("mean", F64, mean, 1, 1, 1, 1), IO("most", F64, x, 1, 1, 1, 1));
}

/* What does not fit is refused, as norms of other types do: each line is one operator's. */
static void test_misfits(void **arg)
{
	static const struct {
		const char *op;
		int64_t x[3];
		int64_t scale[3];
		uint32_t rank;
		uint32_t scale_rank;
		int64_t groups;
	} bad[] = {
		{ "InstanceNormalization", { 2, 1, 3 }, { 4 }, 3, 1, 0 },
		{ "InstanceNormalization", { 2, 4, 3 }, { 1 }, 3, 1, 0 },
		{ "GroupNormalization", { 1, 3, 2 }, { 3 }, 3, 1, 2 },
		{ "GroupNormalization", { 1, 4, 2 }, { 1 }, 3, 1, 2 },
		{ "BatchNormalization", { 2, 1, 3 }, { 4 }, 3, 1, 0 },
		{ "BatchNormalization", { 2, 4 }, { 1 }, 2, 1, 0 },
		{ "BatchNormalization", { 2, 4 }, { 1, 4 }, 2, 2, 0 },
		{ "LayerNormalization", { 2, 1 }, { 3, 1, 4 }, 2, 3, 0 },
		{ "LayerNormalization", { 2, 1 }, { 4 }, 2, 1, 0 },
		{ "LayerNormalization", { 2, 1 }, { 1, 2, 1 }, 2, 3, 0 },
	};
	static const double ones[24];
	static const float fones[24];
	struct accel_model *m;
	struct accel_error e;
	struct tested *t;
	struct bytes n;
	uint32_t i, k;
	int ret;

	for (i = 0; i < 2 * sizeof(bad) / sizeof(bad[0]); i++) {
		const int type = i % 2 ? F32 : F64;
		const void *data = i % 2 ? (const void *)fones : ones;
		struct io in[5] = { { "x", type, bad[i / 2].rank, { 0 }, data, false, NULL } };

		memcpy(in[0].dims, bad[i / 2].x, sizeof(bad[i / 2].x));
		for (k = 1; k < 5; k++) {
			static const char *const names[] = { "x", "s", "b", "m", "v" };

			in[k] = (struct io){ names[k], type, bad[i / 2].scale_rank, { 0 }, data,
					     false, NULL };
			memcpy(in[k].dims, bad[i / 2].scale, sizeof(bad[i / 2].scale));
		}
		t = begin(*arg, in, 5);
		n = op(NULL, bad[i / 2].op, *bad[i / 2].op == 'B' ? "x s b m v" : "x s b", "y");
		if (bad[i / 2].groups)
			attr_int(&n, "num_groups", bad[i / 2].groups);
		add_op(t, &n);
		ret = open_tested(t, &e, &m);
		if (!ret)
			accel_model_close(m);
		if (ret != -EBADMSG && ret != -EINVAL)
			fail_msg("line %u: %s of %s: %d", i / 2, bad[i / 2].op,
				 type == F64 ? "fp64" : "fp32", ret);
	}
}

/* Windows: what engines give for numbers that are whole in both, and more than these */
static void test_windows(void **arg)
{
	static const struct {
		const char *op;
		int64_t dims[4];
		const char *flag;
	} ops[] = {
		{ "Conv", { 1, 6, 2, 6 }, NULL }, { "ConvTranspose", { 1, 6, 10, 6 }, NULL },
		{ "MaxPool", { 1, 4, 3, 3 }, NULL }, { "AveragePool", { 1, 4, 3, 3 }, NULL },
		{ "AveragePool", { 1, 4, 3, 3 }, "count_include_pad" },
		{ "LpPool", { 1, 4, 3, 3 }, NULL }, { "GlobalMaxPool", { 1, 4, 1, 1 }, NULL },
		{ "GlobalAveragePool", { 1, 4, 1, 1 }, NULL },
	};
	static const double small[4] = { 1, 1 + TINY, 1 - TINY, 1 }, ones[2] = { 1, 1 }, sums[3] = {
		2 + TINY, 2, 2 - TINY
	};
	double x[120], w[72], b[6];
	float fx[120], fw[72], fb[6], zeros[360] = { 0 };
	char in[24], out[4][8];
	struct io want[10];
	struct tested *t;
	struct bytes n;
	uint32_t i, k;

	for (i = 0; i < 120; i++) {
		fx[i] = floorf(16 * noise(1, i));
		x[i] = (double)fx[i];
	}
	for (i = 0; i < 72; i++) {
		fw[i] = floorf(16 * noise(2, i));
		w[i] = (double)fw[i];
	}
	for (i = 0; i < 6; i++) {
		b[i] = i;
		fb[i] = (float)b[i];
	}
	t = BEGIN(*arg, IO("x", F64, x, 1, 4, 5, 6), IO("fx", F32, fx, 1, 4, 5, 6),
		  IO("w", F64, w, 6, 2, 3, 2), IO("fw", F32, fw, 6, 2, 3, 2),
		  IO("v", F64, w, 4, 3, 3, 2), IO("fv", F32, fw, 4, 3, 3, 2), CONST("b", F64, b, 6),
		  CONST("fb", F32, fb, 6));
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (k = 0; k < 2; k++) {
			snprintf(in, sizeof(in), i < 2 ? "%sx %s%s %sb" : "%sx", k ? "f" : "",
				 k ? "f" : "", i ? "v" : "w", k ? "f" : "");
			snprintf(out[k], sizeof(out[k]), "%s%u", k ? "f" : "d", i);
			n = op(NULL, ops[i].op, in, out[k]);
			if (i < 6) {
				attr_ints(&n, "kernel_shape", 2, DIMS(3, 2));
				attr_ints(&n, "strides", 2, i < 2 ? DIMS(2, 1) : DIMS(2, 2));
				attr_ints(&n, "pads", 4, i < 2 ? DIMS(1, 1, 0, 1) :
					  DIMS(1, 0, 0, 0));
			}
			if (i < 2) {
				attr_int(&n, "group", 2);
				attr_ints(&n, "dilations", 2, DIMS(1, 2));
			} else if (i < 6) {
				attr_int(&n, "ceil_mode", 1);
			}
			if (ops[i].flag)
				attr_int(&n, ops[i].flag, 1);
			add_op(t, &n);
		}
		snprintf(out[2], sizeof(out[2]), "c%u", i);
		n = op(NULL, "Cast", out[0], out[2]);
		attr_int(&n, "to", F32);
		add_op(t, &n);
		snprintf(in, sizeof(in), "%s %s", out[2], out[1]);
		snprintf(out[3], sizeof(out[3]), "z%u", i);
		ONE(t, NULL, "Sub", in, out[3]);
		want[i] = (struct io){ "z", F32, 4, { 0 }, zeros, false, NULL };
		memcpy(want[i].dims, ops[i].dims, sizeof(ops[i].dims));
		want[i].name = strdup(out[3]);
		assert_non_null(want[i].name);
	}
	t->bound = 0.00002;
	gives(t, want, i);
	want[i] = (struct io)IO("sums", F64, sums, 1, 1, 3);
	t = BEGIN(*arg, IO("small", F64, small, 1, 1, 4), IO("ones", F64, ones, 1, 1, 2));
	t->bound = LEAST / 1000;
	ONE(t, NULL, "Conv", "small ones", "sums");
	gives(t, &want[i], 1);
	while (i-- > 0)
		free((void *)(uintptr_t)want[i].name);
}

/* Weights that no fp32 has, of a triangle that blurs: three elements of four */
static void test_blur(void **arg)
{
	static const double x[4] = { 1, 10, -100, 1000 };
	double y[3] = { 0 }, w, sum, at;
	struct tested *t;
	struct bytes n;
	int i, k;

	for (i = 0; i < 3; i++) {
		at = (i + 0.5) / 0.75 - 0.5;
		for (k = -2, sum = 0; k < 6; k++)
			sum += fmax(1 - fabs(k - at) * 0.75, 0);
		for (k = -2; k < 6; k++) {
			w = fmax(1 - fabs(k - at) * 0.75, 0) / sum;
			y[i] += w * x[k < 0 ? 0 : k > 3 ? 3 : k];
		}
	}
	t = BEGIN(*arg, IO("x", F64, x, 1, 1, 1, 4), CONST("to", S64, DIMS(1, 1, 1, 3), 4));
	n = op(NULL, "Resize", "x - - to", "y");
	attr_text(&n, "mode", "linear");
	attr_int(&n, "antialias", 1);
	add_op(t, &n);
	t->bound = 1 / 1e12;
	GIVES(t, IO("y", F64, y, 1, 1, 1, 3));
	/* Of no images, by scales and by sizes */
	t = BEGIN(*arg, IO("x", F64, x, 0, 1, 1, 4), CONST("to", S64, DIMS(0, 1, 1, 3), 4),
		  CONST("by", F32, ((float[]){ 1, 1, 1, 0.75f }), 4));
	for (i = 0; i < 2; i++) {
		n = op(NULL, "Resize", i ? "x - by" : "x - - to", i ? "z" : "y");
		attr_text(&n, "mode", "linear");
		attr_int(&n, "antialias", 1);
		add_op(t, &n);
	}
	GIVES(t, IO("y", F64, y, 0, 1, 1, 3), IO("z", F64, y, 0, 1, 1, 3));
}

/* Sizes whose ratio is no double: places that are an element's stay so. */
static void test_resized_exactly(void **arg)
{
	static const char *const modes[] = { "half_pixel", "asymmetric", "half_pixel_symmetric" };
	double x[9], y[18];
	struct tested *t;
	struct bytes n;
	int i, k;

	for (i = 0; i < 9; i++)
		x[i] = i;
	for (k = 0; k < 3; k++) {
		/* Of 7 elements 9 by their middles, or 18 by their beginnings */
		const int64_t out = k == 1 ? 18 : 9;

		for (i = 0; i < out; i++)
			y[i] = k == 1 ? fmin(ceil(7.0 * i / 18 - 0.5 - 1 / 1e9), 6) :
			       floor((14 * i + 7 - 9) / 18.0 + 1 / 1e9);
		y[0] = 0;
		t = BEGIN(*arg, IO("x", F64, x, 1, 7), CONST("to", S64, DIMS(1, out), 2));
		n = op(NULL, "Resize", "x - - to", "y");
		attr_text(&n, "coordinate_transformation_mode", modes[k]);
		if (k != 1)
			attr_text(&n, "nearest_mode", "floor");
		add_op(t, &n);
		GIVES(t, IO("y", F64, y, 1, out));
	}
}

/* Scales of doubles are not rounded. */
static void test_scales(void **arg)
{
	static const int8_t q[4] = { 1, -2, 100, 5 }, zero = 1;
	const double s = 1 / 3.0, y[4] = { 0, -3 * s, 99 * s, 4 * s };
	struct tested *t = BEGIN(*arg, IO("q", S8, q, 4), SCALAR("s", F64, &s),
				 SCALAR("z", S8, &zero));

	ONE(t, NULL, "DequantizeLinear", "q s z", "y");
	GIVES(t, IO("y", F64, y, 4));
}

/* Two heads of queries over one of keys, each query sees those before it, which a mask adds to. */
static void test_attention(void **arg)
{
	enum { S = 3, H = 2, D = 2 };
	double q[S * H * D], k[S * D], v[S * D], mask[S * S], y[S * H * D] = { 0 }, p[S], sum;
	struct tested *t;
	struct bytes n;
	int i, m, c, capped;

	for (i = 0; i < S * H * D; i++)
		q[i] = (double)noise(1, (uint32_t)i);
	for (i = 0; i < S * D; i++) {
		k[i] = (double)noise(2, (uint32_t)i);
		v[i] = (double)noise(3, (uint32_t)i);
	}
	for (i = 0; i < S * S; i++)
		mask[i] = (double)noise(4, (uint32_t)i);
	for (capped = 0; capped < 2; capped++) {
		memset(y, 0, sizeof(y));
		for (i = 0; i < S * H; i++) {
			const int row = i / H, at = i * D;

			for (m = 0, sum = 0; m <= row; m++) {
				double s = (q[at] * k[m * D] + q[at + 1] * k[m * D + 1]) / sqrt(D) +
					   mask[row * S + m];

				p[m] = exp(capped ? 0.5 * tanh(s / 0.5) : s);
				sum += p[m];
			}
			for (m = 0; m <= row; m++)
				for (c = 0; c < D; c++)
					y[at + c] += p[m] / sum * v[m * D + c];
		}
		t = BEGIN(*arg, IO("q", F64, q, 1, S, H * D), IO("k", F64, k, 1, S, D),
			  IO("v", F64, v, 1, S, D), IO("mask", F64, mask, S, S));
		t->opset = 23;
		n = op(NULL, "Attention", "q k v mask", "y");
		attr_int(&n, "q_num_heads", H);
		attr_int(&n, "kv_num_heads", 1);
		attr_int(&n, "is_causal", 1);
		if (capped)
			attr_float(&n, "softcap", 0.5f);
		add_op(t, &n);
		t->bound = 1 / 1e14;
		GIVES(t, IO("y", F64, y, 1, S, H * D));
	}
	t = BEGIN(*arg, IO("q", F64, q, 1, S, H * D), IO("k", F64, k, 1, S, D),
		  IO("v", F64, v, 1, S, D), IO("lens", S32, ((int32_t[]){ S - 1 }), 1),
		  SCALAR("total", S32, ((int32_t[]){ S })));
	n = op(MS, "GroupQueryAttention", "q k v - - lens total", "y");
	attr_int(&n, "num_heads", H);
	attr_int(&n, "kv_num_heads", 1);
	add_op(t, &n);
	must_refuse(t, -EOPNOTSUPP, "it is not of doubles");
}

/* Bounds that no fp32 is, and what is larger than any */
static void test_clip(void **arg)
{
	static const double x[5] = { 1e300, -1e300, 0.05, 0.1, INFINITY }, low = 0.1, high = 1e200;
	static const double least[5] = { 1e300, 0.1, 0.1, 0.1, INFINITY };
	static const double both[5] = { 1e200, 0.1, 0.1, 0.1, 1e200 };
	struct tested *t = BEGIN(*arg, IO("x", F64, x, 5), SCALAR("low", F64, &low),
				 SCALAR("high", F64, &high));

	ONE(t, NULL, "Clip", "x low", "least");
	ONE(t, NULL, "Clip", "x low high", "both");
	ONE(t, NULL, "Clip", "x", "none");
	GIVES(t, IO("least", F64, least, 5), IO("both", F64, both, 5), IO("none", F64, x, 5));
}

/* Keys' cubic at place @at of five numbers */
static double cubic(const double *x, double at, double a, bool exclude)
{
	double low = floor(at), sum = 0, all = 0, t, w;
	int i, k;

	for (i = -1; i <= 2; i++) {
		t = fabs(at - (low + i));
		w = t <= 1 ? (a + 2) * t * t * t - (a + 3) * t * t + 1 :
		    a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a;
		k = (int)low + i;
		if (exclude && (k < 0 || k > 4))
			continue;
		all += w;
		sum += w * x[k < 0 ? 0 : k > 4 ? 4 : k];
	}
	return exclude ? sum / all : sum;
}

/* Cubic resampling along one dimension: of doubles by all coordinates, of others by a region */
static void test_cubic(void **arg)
{
	static const char *const coords[] = {
		"half_pixel", "asymmetric", "half_pixel_symmetric", "pytorch_half_pixel",
		"align_corners", "tf_crop_and_resize",
	};
	static const double x[10] = { 1, -2, 4, 3, 0, 7, 5, 5, -6, 2 };
	static const double region[2] = { 0.1, 1.2 };
	static const float scale = 1.7f, part[2] = { 0.1f, 1.2f };
	const double span = (region[1] - region[0]) * 4;
	float one[10], single[16];
	double y[16], at, s;
	const double *r;
	struct tested *t;
	struct bytes n;
	uint32_t way, i, c;
	int64_t to;

	for (i = 0; i < 10; i++)
		one[i] = (float)x[i];
	for (way = 0; way < 4 * COUNT(coords); way++) {
		const bool sizes = way & 1, exclude = way & 2;
		const double a = exclude ? -0.5 : -0.75;

		c = way / 4;
		if (!sizes && c > 4)
			continue;
		to = sizes ? 3 : 8;
		s = sizes ? 3.0 / 5 : (double)scale;
		for (i = 0; i < 2 * to; i++) {
			const double o = (double)(i % to);

			/* Corners are those of 8.5 elements. */
			at = c == 1 ? o / s : c == 4 ? o * 4 / (sizes ? 2 : 5 * s - 1) :
			     c == 5 ? region[0] * 4 + o * span / (double)(to - 1) :
			     (o + 0.5) / s - 0.5;
			at += c == 2 ? (5 - (double)to / s) / 2 : 0;
			r = x + i / to * 5;
			y[i] = c == 5 && (at < 0 || at > 4) ? 9 : cubic(r, at, a, exclude);
			single[i] = (float)y[i];
		}
		t = BEGIN(*arg, { "x", F64, 2, { -1, -2 }, x, false, DIMS(2, 5) },
			  { "f", F32, 2, { -1, -2 }, one, false, DIMS(2, 5) },
			  CONST("r", F64, region, 2), CONST("p", F32, part, 2),
			  CONST("s", F32, &scale, 1), CONST("to", S64, DIMS(3), 1));
		for (i = 0; i < 2; i++) {
			n = op(NULL, "Resize", sizes ? (i ? "f p - to" : "x r - to") :
			       i ? "f - s" : "x - s", i ? "z" : "y");
			attr_text(&n, "mode", "cubic");
			attr_text(&n, "coordinate_transformation_mode", coords[c]);
			attr_ints(&n, "axes", 1, DIMS(1));
			attr_float(&n, "cubic_coeff_a", (float)a);
			attr_float(&n, "extrapolation_value", 9);
			attr_int(&n, "exclude_outside", exclude);
			add_op(t, &n);
		}
		t->bound = 0.00001;
		GIVES(t, IO("y", F64, y, 2, to), IO("z", F32, single, 2, to));
	}
}

/* Pictures and spectra of nothing: sizes that are known, that an input says, that follow from it */
static void test_nothing(void **arg)
{
	static const float none[2];
	struct tested *t = BEGIN(*arg, IO("x", F32, none, 0, 1, 2, 2),
				 IO("bins", F32, none, 2, 0, 2),
				 IO("late", S64, DIMS(0, 1, 4, 4), 4),
				 CONST("known", S64, DIMS(0, 1, 4, 4), 4));
	struct bytes n = op(NULL, "DFT", "bins", "signal");

	ONE(t, NULL, "Resize", "x - - late", "a");
	ONE(t, NULL, "Resize", "x - - known", "b");
	attr_int(&n, "onesided", 1);
	attr_int(&n, "inverse", 1);
	add_op(t, &n);
	GIVES(t, IO("a", F32, none, 0, 1, 4, 4), IO("b", F32, none, 0, 1, 4, 4),
	      IO("signal", F32, none, 2, 0, 1));
	t = BEGIN(*arg, { "x", F32, 2, { -1, 2 }, none, false, DIMS(1, 2) },
		  IO("to", S64, DIMS(0, 2), 2));
	ONE(t, NULL, "Resize", "x - - to", "y");
	must_fail(t, -EINVAL, "a size of 0");
}

/* Numbers without dimensions stay such, of types that engines have and of others. */
static void test_no_dims(void **arg)
{
	static const double x = -3, none, nan = NAN;
	static const float f = -3, zero, scale = 3.0f / 255;
	static const uint8_t q = 0, point = 255;
	struct bytes n[2] = { op(NULL, "MeanVarianceNormalization", "x", "mvn"),
			      op(NULL, "MeanVarianceNormalization", "nan", "mvn2") };
	struct tested *t = BEGIN(*arg, { "x", F64, 0, { 0 }, &x, false, NULL },
				 { "nan", F64, 0, { 0 }, &nan, false, NULL },
				 { "f", F32, 0, { 0 }, &f, false, NULL }, CONST("p", S64, NULL, 0),
				 CONST("two", S64, ((int64_t[]){ 1, 1 }), 2));

	for (int i = 0; i < 2; i++) {
		attr_ints(&n[i], "axes", 0, NULL);
		add_op(t, &n[i]);
	}
	n[0] = op(NULL, "MeanVarianceNormalization", "f", "mvn1");
	attr_ints(&n[0], "axes", 0, NULL);
	add_op(t, &n[0]);
	ONE(t, NULL, "Pad", "x p", "px");
	ONE(t, NULL, "Pad", "f p", "pf");
	ONE(t, NULL, "DynamicQuantizeLinear", "f", "q s z");
	GIVES(t, SCALAR("mvn", F64, &none), SCALAR("mvn2", F64, &nan), SCALAR("mvn1", F32, &zero),
	      SCALAR("px", F64, &x), SCALAR("pf", F32, &f), SCALAR("q", U8, &q),
	      SCALAR("s", F32, &scale), SCALAR("z", U8, &point));
	t = BEGIN(*arg, { "f", F32, 0, { 0 }, &f, false, NULL },
		  CONST("two", S64, ((int64_t[]){ 1, 1 }), 2));
	ONE(t, NULL, "Pad", "f two", "y");
	must_refuse(t, -EBADMSG, "node y (Pad): it pads a number without dimensions");
}

/* Reductions of numbers without dimensions, and sums of products of integers */
static void test_numbers(void **arg)
{
	static const double x = -3, three = 3, nine = 9;
	static const int64_t n = -BIG, positive = BIG;
	static const int32_t a[4] = { 1 << 20, 2, -3, 4 }, b[4] = { 5, 6, 1 << 11, -8 };
	static const int32_t ab[4] = {
		(5 << 20) + (1 << 12), (6 << 20) - 16, -15 + (1 << 13), -18 - 32
	};
	struct tested *t = BEGIN(*arg, { "x", F64, 0, { 0 }, &x, false, NULL },
				 { "n", S64, 0, { 0 }, &n, false, NULL },
				 IO("a", S32, a, 2, 2), IO("b", S32, b, 2, 2));
	struct bytes node = op(NULL, "ReduceMax", "n", "flat");

	attr_int(&node, "keepdims", 0);
	add_op(t, &node);
	ONE(t, NULL, "ReduceSum", "x", "sum");
	ONE(t, NULL, "ReduceMean", "x", "mean");
	ONE(t, NULL, "ReduceL2", "x", "two");
	ONE(t, NULL, "ReduceSumSquare", "x", "square");
	ONE(t, NULL, "ReduceLogSumExp", "x", "lse");
	ONE(t, NULL, "ReduceL1", "n", "one");
	ONE(t, NULL, "ReduceProd", "n", "all");
	node = op(NULL, "Einsum", "a b", "ab");
	attr_text(&node, "equation", "ij,jk->ik");
	add_op(t, &node);
	GIVES(t, SCALAR("flat", S64, &n), SCALAR("sum", F64, &x), SCALAR("mean", F64, &x),
	      SCALAR("two", F64, &three), SCALAR("square", F64, &nine), SCALAR("lse", F64, &x),
	      SCALAR("one", S64, &positive), SCALAR("all", S64, &n), IO("ab", S32, ab, 2, 2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_vectors), TEST(test_elements), TEST(test_groups), TEST(test_misfits),
		TEST(test_wide_padding), TEST(test_windows), TEST(test_blur),
		TEST(test_attention), TEST(test_clip), TEST(test_cubic), TEST(test_numbers),
		TEST(test_nothing), TEST(test_no_dims), TEST(test_resized_exactly),
		TEST(test_scales),
	};

	return cmocka_run_group_tests_name("onnx_doubles", tests, NULL, NULL);
}
