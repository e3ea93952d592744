// SPDX-License-Identifier: MIT
/*
 * Operators on windows and at places: columns as images, deformed convolutions, resampling by
 * regions and by proportions. The answers are those of ONNX's cases, of ONNX Runtime's tests
 * where it says so, or what loops over definitions give.
 */
#include "onnxop.h"

/* --- columns ---------------------------------------------------------------------------------- */

/* What ONNX's five cases give */
static void test_columns(void **arg)
{
	static const float image[25] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
		24, 25
	};
	static const float apart[25] = {
		0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 2, 1, 2, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0
	};
	static const float padded[25] = {
		8, 21, 24, 27, 24, 38, 66, 69, 72, 54, 68, 111, 114, 117, 84, 98, 156, 159, 162,
		114, 128, 201, 204, 207, 144
	};
	static const float wide[36] = {
		1, 0, 0, 0, 0, 2, 8, 0, 0, 0, 0, 10, 16, 0, 0, 0, 0, 18, 24, 0, 0, 0, 0, 26, 32, 0,
		0, 0, 0, 34, 19, 0, 0, 0, 0, 20
	};
	static const uint8_t ones[9] = { 0, 1, 1, 1, 0, 0, 0, 1, 0 };
	float x[120], volume[120];
	struct tested *t;
	struct bytes n;
	int i, k;

	for (i = 0; i < 5; i++)
		for (k = 0; k < 5; k++)
			x[i * 5 + k] = image[k * 5 + i];
	t = BEGIN(*arg, IO("x", F32, x, 1, 5, 5), CONST("image", S64, DIMS(5, 5), 2),
		  CONST("block", S64, DIMS(1, 5), 2));
	ONE(t, NULL, "Col2Im", "x image block", "y");
	GIVES(t, IO("y", F32, image, 1, 1, 5, 5));
	for (i = 0; i < 36; i++) /* NOLINTNEXTLINE(bugprone-integer-division) */
		x[i] = ones[i / 4];
	t = BEGIN(*arg, IO("x", F32, x, 1, 9, 4), CONST("image", S64, DIMS(5, 5), 2),
		  CONST("block", S64, DIMS(3, 3), 2));
	n = op(NULL, "Col2Im", "x image block", "y");
	attr_ints(&n, "strides", 2, DIMS(2, 2));
	add_op(t, &n);
	GIVES(t, IO("y", F32, apart, 1, 1, 5, 5));
	for (i = 0; i < 75; i++) /* NOLINTNEXTLINE(bugprone-integer-division) */
		x[i] = (float)(i % 15 * 5 + i / 15 + 1);
	t = BEGIN(*arg, IO("x", F32, x, 1, 5, 15), CONST("image", S64, DIMS(5, 5), 2),
		  CONST("block", S64, DIMS(1, 5), 2));
	n = op(NULL, "Col2Im", "x image block", "y");
	attr_ints(&n, "pads", 4, DIMS(0, 1, 0, 1));
	add_op(t, &n);
	GIVES(t, IO("y", F32, padded, 1, 1, 5, 5));
	for (i = 0; i < 20; i++) /* NOLINTNEXTLINE(bugprone-integer-division) */
		x[i] = (float)(i % 5 * 4 + i / 5 + 1);
	t = BEGIN(*arg, IO("x", F32, x, 1, 4, 5), CONST("image", S64, DIMS(6, 6), 2),
		  CONST("block", S64, DIMS(2, 2), 2));
	n = op(NULL, "Col2Im", "x image block", "y");
	attr_ints(&n, "dilations", 2, DIMS(1, 5));
	add_op(t, &n);
	GIVES(t, IO("y", F32, wide, 1, 1, 6, 6));
	for (i = 0; i < 120; i++) { /* NOLINTNEXTLINE(bugprone-integer-division) */
		x[i] = (float)(i / 60 * 60 + i % 12 * 5 + i / 12 % 5 + 1);
		volume[i] = (float)(i + 1);
	}
	t = BEGIN(*arg, { "x", F32, 3, { -1, 10, 12 }, x, false, DIMS(1, 10, 12) },
		  CONST("image", S64, DIMS(3, 4, 5), 3), CONST("block", S64, DIMS(1, 1, 5), 3));
	ONE(t, NULL, "Col2Im", "x image block", "y");
	GIVES(t, IO("y", F32, volume, 1, 2, 3, 4, 5));
}

/* Other types are added as well; sizes that do not go together are refused. */
static void test_column_types(void **arg)
{
	static const struct {
		int64_t image[2], block[2], stride;
		const char *text;
	} bad[] = {
		{ { 0, 3 }, { 1, 2 }, 1, "an image of 0" },
		{ { 3, INT64_MAX }, { 1, 2 }, 1, "an image of" },
		{ { 3, 3 }, { 1, 0 }, 1, "in blocks of 0" },
		{ { 3, 3 }, { 1, -1 }, 1, "in blocks of -1" },
		{ { 3, 3 }, { 1, 4 }, 1, "reaches 4 of 3" },
		{ { 1 << 20, 1 << 20 }, { 1, 2 }, 1, "of more than" },
		{ { 5000, 5000 }, { 1, 1 }, 1, "of more than 16777216" },
		{ { 3, 3 }, { 1, 2 }, 0, "of 0" },
		{ { 3, 4 }, { 1, 2 }, 1, "2 rows of 6 columns" },
	};
	static const double d[12] = { 1, 2, 3, 4, 5, 6, 0.5, 0.5, 0.5, 0.5, 0.5, 0.125 };
	static const double sums[9] = { 1, 2.5, 0.5, 3, 4.5, 0.5, 5, 6.5, 0.125 };
	static const int64_t s[12] = { 1, 2, 3, 4, 5, 6, 10, 10, 10, 10, 10, 10 };
	static const int64_t whole[9] = { 1, 12, 10, 3, 14, 10, 5, 16, 10 };
	struct tested *t;
	struct bytes n;
	uint32_t i;

	t = BEGIN(*arg, IO("d", F64, d, 1, 2, 6), IO("s", S64, s, 1, 2, 6),
		  CONST("image", S64, DIMS(3, 3), 2), CONST("block", S64, DIMS(1, 2), 2));
	ONE(t, NULL, "Col2Im", "d image block", "sums");
	ONE(t, NULL, "Col2Im", "s image block", "whole");
	GIVES(t, IO("sums", F64, sums, 1, 1, 3, 3), IO("whole", S64, whole, 1, 1, 3, 3));
	for (i = 0; i < COUNT(bad); i++) {
		t = BEGIN(*arg, IO("d", F64, d, 1, 2, 6), CONST("image", S64, bad[i].image, 2),
			  CONST("block", S64, bad[i].block, 2));
		n = op(NULL, "Col2Im", "d image block", "y");
		attr_ints(&n, "strides", 2, (int64_t[]){ bad[i].stride, bad[i].stride });
		add_op(t, &n);
		must_refuse(t, 0, bad[i].text);
	}
	/* A kernel that is not that of the blocks */
	t = BEGIN(*arg, IO("d", F64, d, 1, 2, 6), CONST("image", S64, DIMS(3, 3), 2),
		  CONST("block", S64, DIMS(1, 2), 2));
	n = op(NULL, "Col2Im", "d image block", "y");
	attr_ints(&n, "kernel_shape", 2, DIMS(3, 3));
	add_op(t, &n);
	must_refuse(t, 0, "kernel_shape");
	t = BEGIN(*arg, IO("d", F64, d, 1, 2, 6), IO("image", S64, NULL, -1),
		  CONST("block", S64, DIMS(1, 2), 2));
	ONE(t, NULL, "Col2Im", "d image block", "y");
	must_refuse(t, -EOPNOTSUPP, "input 1 is not a list of up to 3 sizes");
}

/* --- deformed convolutions ---------------------------------------------------------------- */

/* ONNX's cases: a window of 2 x 2 over 3 x 3, two of whose elements are moved */
static void test_deform_cases(void **arg)
{
	static const float y[4] = { 9.5f, 11.9f, 20, 24 }, masked[4] = { 10.5f, 12.9f, 21, 19.4f };
	static const float parts[4] = { 33.5f, 32.1f, 32, 32 };
	static const float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	static const float padded[16] = {
		0, 1, 3, 2, 3, 8, 11.9f, 7, 9, 20, 24, 13, 6, 13, 15, 8
	};
	float x[18], off[128] = { 0 }, mask[16];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 18; i++)
		x[i] = (float)(i < 9 ? i : 17 - i);
	for (i = 0; i < 16; i++)
		mask[i] = i == 2 * 4 + 3 ? 0.2f : 1;
	off[0] = 0.5f;
	off[5 * 16 + 1 * 4 + 2] = -0.1f;
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 3, 3), CONST("w", F32, ones, 1, 1, 2, 2),
		  IO("off", F32, off, 1, 8, 4, 4));
	n = op(NULL, "DeformConv", "x w off", "y");
	attr_ints(&n, "kernel_shape", 2, DIMS(2, 2));
	attr_ints(&n, "pads", 4, DIMS(1, 1, 1, 1));
	add_op(t, &n);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, padded, 1, 1, 4, 4));
	memset(off, 0, sizeof(off));
	off[0] = 0.5f;
	off[5 * 4 + 1] = -0.1f;
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 3, 3), IO("w", F32, ones, 1, 1, 2, 2),
		  IO("off", F32, off, 1, 8, 2, 2), IO("b", F32, ones, 1),
		  IO("mask", F32, mask, 1, 4, 2, 2));
	ONE(t, NULL, "DeformConv", "x w off", "y");
	ONE(t, NULL, "DeformConv", "x w off b mask", "masked");
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, y, 1, 1, 2, 2), IO("masked", F32, masked, 1, 1, 2, 2));
	off[5 * 4 + 1] = 0;
	off[13 * 4 + 1] = -0.1f;
	t = BEGIN(*arg, IO("x", F32, x, 1, 2, 3, 3), CONST("w", F32, ones, 1, 2, 2, 2),
		  IO("off", F32, off, 1, 16, 2, 2));
	n = op(NULL, "DeformConv", "x w off", "y");
	attr_int(&n, "offset_group", 2);
	add_op(t, &n);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, parts, 1, 1, 2, 2));
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 3, 3), IO("w", F32, ones, 1, 1, 2, 2),
		  IO("off", F32, off, 1, 8, 2, 3));
	ONE(t, NULL, "DeformConv", "x w off", "y");
	must_refuse(t, -EBADMSG, "offsets of 3 windows along dimension 3, which has 2");
}

enum { DN = 2, DC = 4, DM = 6, DH = 6, DW = 5, DOH = 3, DOW = 4, DK = 6, DG = 2, DP = 2 };

static double pixel(const double *x, double at, double across)
{
	const int y = (int)floor(at), z = (int)floor(across);
	double sum = 0;
	int i, k;

	for (i = y; i < y + 2; i++)
		for (k = z; k < z + 2; k++)
			if (i >= 0 && i < DH && k >= 0 && k < DW)
				sum += x[i * DW + k] * (1 - fabs(at - i)) * (1 - fabs(across - k));
	return sum;
}

/* Groups, parts, steps, padding and offsets all over, in fp32 and fp64, against loops */
static void test_deform(void **arg)
{
	/* A kernel of 3 x 2, strides 2 and 1, dilations 1 and 2, padding of 1 before */
	static double x[DN * DC * DH * DW], w[DM * DC / DG * DK], off[DN * DP * DK * 2 * DOH * DOW];
	static double mask[DN * DP * DK * DOH * DOW], y[DN * DM * DOH * DOW];
	static float fx[COUNT(x)], fw[COUNT(w)], foff[COUNT(off)], fmask[COUNT(mask)], fy[COUNT(y)];
	int n, m, c, p, q, k;
	struct tested *t;
	struct bytes b;
	size_t i;

#define FILL(a, f, seed) \
	for (i = 0; i < COUNT(a); i++) { \
		f[i] = 4 * noise(seed, i); \
		a[i] = (double)f[i]; \
	}
	FILL(x, fx, 1)
	FILL(w, fw, 2)
	FILL(off, foff, 3)
	FILL(mask, fmask, 4)
	for (i = 0; i < COUNT(y); i++) {
		q = (int)i % DOW;
		p = (int)i / DOW % DOH;
		m = (int)i / (DOW * DOH) % DM;
		n = (int)i / (DOW * DOH * DM);
		for (c = 0; c < DC / DG; c++)
			for (k = 0; k < DK; k++) {
				const int ch = m / (DM / DG) * (DC / DG) + c, part = ch / (DC / DP);
				const int at = ((n * DP + part) * DK + k) * DOH * DOW + p * DOW + q;
				const int o = (((n * DP + part) * DK + k) * 2 * DOH + p) * DOW + q;

				y[i] += w[(m * (DC / DG) + c) * DK + k] * mask[at] *
					pixel(x + (n * DC + ch) * DH * DW,
					      p * 2 - 1 + k / 2 + off[o], /* NOLINT: whole */
					      q - 1 + k % 2 * 2 + off[o + DOH * DOW]);
			}
		fy[i] = (float)y[i];
	}
	t = BEGIN(*arg, IO("x", F64, x, DN, DC, DH, DW), IO("w", F64, w, DM, DC / DG, 3, 2),
		  IO("off", F64, off, DN, DP * DK * 2, DOH, DOW),
		  IO("mask", F64, mask, DN, DP * DK, DOH, DOW),
		  IO("fx", F32, fx, DN, DC, DH, DW), CONST("fw", F32, fw, DM, DC / DG, 3, 2),
		  IO("foff", F32, foff, DN, DP * DK * 2, DOH, DOW),
		  IO("fmask", F32, fmask, DN, DP * DK, DOH, DOW));
	for (k = 0; k < 2; k++) {
		b = op(NULL, "DeformConv", k ? "fx fw foff - fmask" : "x w off - mask",
		       k ? "fy" : "y");
		attr_int(&b, "group", DG);
		attr_int(&b, "offset_group", DP);
		attr_ints(&b, "strides", 2, DIMS(2, 1));
		attr_ints(&b, "dilations", 2, DIMS(1, 2));
		attr_ints(&b, "pads", 4, DIMS(1, 1, 0, 0));
		add_op(t, &b);
	}
	t->bound = 0.001;
	GIVES(t, IO("y", F64, y, DN, DM, DOH, DOW), IO("fy", F32, fy, DN, DM, DOH, DOW));
}

/* Channels that are moved apart are no more operations than all of them together. */
static void test_deform_parts(void **arg)
{
	enum { C = 32 };
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	static float x[C * 9], w[C * 4], off[C * 8 * 4], mask[C * 16], y[4];
	struct accel_program *program;
	struct bed *bed = *arg;
	struct accel_model *m;
	struct accel_state *s;
	struct accel_error e;
	uint32_t nodes[2];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 2; i++) {
		const int64_t parts = i ? C : 1;

		t = BEGIN(bed, IO("x", F32, x, 1, C, 3, 3), IO("w", F32, w, 1, C, 2, 2),
			  IO("off", F32, off, 1, parts * 8, 2, 2),
			  IO("mask", F32, mask, 1, parts * 4, 2, 2));
		n = op(NULL, "DeformConv", "x w off - mask", "y");
		attr_int(&n, "offset_group", parts);
		add_op(t, &n);
		put_io(&t->g, 12, &(const struct io)IO("y", F32, y, 1, 1, 2, 2));
		assert_int_equal(open_tested(t, &e, &m), 0);
		MUST(accel_graph_compile(bed->ctx, accel_model_graph(m), &opts, &program));
		accel_model_close(m);
		s = new_state(bed, program);
		nodes[i] = node_count(bed, s);
		accel_state_destroy(s);
		accel_program_unref(program);
	}
	assert_in_range(nodes[1], 1, nodes[0]);
}

/* What lies infinitely far away is 0 */
static void test_far(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 }, one[1] = { 1 }, y[4] = { 0, 0, 3, 0 };
	const float off[8] = { INFINITY, -INFINITY, 0, 0, 0, 0, 0, INFINITY };
	const float grid[8] = { -INFINITY, -0.5f, INFINITY, 0, -0.5f, 0.5f, 0, -INFINITY };
	static const char *const modes[] = { "linear", "cubic" };
	struct tested *t;
	struct bytes n;
	int i;

	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 2), IO("w", F32, one, 1, 1, 1, 1),
		  IO("off", F32, off, 1, 2, 2, 2), IO("grid", F32, grid, 1, 2, 2, 2));
	ONE(t, NULL, "DeformConv", "x w off", "y");
	for (i = 0; i < 2; i++) {
		n = op(NULL, "GridSample", "x grid", modes[i]);
		attr_text(&n, "mode", modes[i]);
		add_op(t, &n);
	}
	GIVES(t, IO("y", F32, y, 1, 1, 2, 2), IO("linear", F32, y, 1, 1, 2, 2),
	      IO("cubic", F32, y, 1, 1, 2, 2));
}

/* Of no images there are none, of which nothing but their shape is seen. */
static void test_empty(void **arg)
{
	static const float none[1], w[8];
	struct tested *t;

	t = BEGIN(*arg, IO("x", F32, none, 0, 2, 3, 3), IO("w", F32, w, 1, 2, 2, 2),
		  IO("off", F32, none, 0, 8, 2, 2), IO("mask", F32, none, 0, 4, 2, 2),
		  IO("grid", F32, none, 0, 5, 4, 2), IO("c", F32, none, 0, 8, 4),
		  CONST("image", S64, DIMS(3, 3), 2), CONST("block", S64, DIMS(2, 2), 2));
	ONE(t, NULL, "DeformConv", "x w off", "deform");
	ONE(t, NULL, "DeformConv", "x w off - mask", "masked");
	ONE(t, NULL, "GridSample", "x grid", "sample");
	ONE(t, NULL, "Col2Im", "c image block", "col");
	GIVES(t, IO("deform", F32, none, 0, 1, 2, 2), IO("masked", F32, none, 0, 1, 2, 2),
	      IO("sample", F32, none, 0, 2, 5, 4), IO("col", F32, none, 0, 2, 3, 3));
}

static void test_deform_refused(void **arg)
{
	static const struct {
		const char *name;
		int64_t number;
		const char *text;
	} bad[] = {
		{ "group", 0, "groups" }, { "group", INT64_MIN, "groups" },
		{ "group", 2, "groups" }, { "offset_group", 0, "are moved" },
		{ "offset_group", INT64_MAX, "are moved" },
	};
	static const float x[9], w[4], off[32];
	struct tested *t;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < COUNT(bad); i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 3, 3), IO("w", F32, w, 1, 1, 2, 2),
			  IO("off", F32, off, 1, 8, 2, 2));
		n = op(NULL, "DeformConv", "x w off", "y");
		attr_int(&n, bad[i].name, bad[i].number);
		add_op(t, &n);
		must_refuse(t, 0, bad[i].text);
	}
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 3, 3), IO("w", F32, w, 1, 1, 2, 2),
		  IO("off", F32, off, 1, 6, 2, 2));
	ONE(t, NULL, "DeformConv", "x w off", "y");
	must_refuse(t, 0, "offsets 6");
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 3, 3), IO("w", F32, w, 1, 1, 0, 2),
		  IO("off", F32, off, 1, 8, 2, 2));
	ONE(t, NULL, "DeformConv", "x w off", "y");
	must_refuse(t, 0, "or none");
}

/* --- resampling ----------------------------------------------------------------------------- */

/* ONNX's cases of a part of an image, and of sizes in proportion */
static void test_parts(void **arg)
{
	static const float region[8] = { 0, 0, 0.4f, 0.6f, 1, 1, 0.6f, 0.8f };
	static const float beyond[8] = { 0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f };
	static const float inside[9] = { 7.6f, 7.9f, 8.2f, 8.8f, 9.1f, 9.4f, 10, 10.3f, 10.6f };
	static const float outside[9] = { 7.6f, 10, 10, 12.4f, 10, 10, 10, 10, 10 };
	float x[16], larger[64];
	double d[16];
	struct tested *t;
	struct bytes n;
	int i, k, size;

	for (i = 0; i < 16; i++) {
		d[i] = i + 1;
		x[i] = (float)d[i];
	}
	for (i = 0; i < 4; i++) {
		const float *r = i % 2 ? beyond : region;
		const float turned[4] = { r[3], r[2], r[7], r[6] };

		t = i < 2 ? BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), IO("r", F32, r, 8),
				  IO("to", S64, DIMS(1, 1, 3, 3), 4)) :
		    BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), CONST("r", F32, turned, 4),
			  CONST("to", S64, DIMS(3, 3), 2));
		n = op(NULL, "Resize", "x r - to", "y");
		attr_text(&n, "mode", "linear");
		attr_text(&n, "coordinate_transformation_mode", "tf_crop_and_resize");
		if (i % 2)
			attr_float(&n, "extrapolation_value", 10);
		if (i > 1)
			attr_ints(&n, "axes", 2, DIMS(-1, 2));
		add_op(t, &n);
		t->bound = 0.00001;
		GIVES(t, IO("y", F32, i % 2 ? outside : inside, 1, 1, 3, 3));
	}
	/* 2 x 2 as at most, and at least, 7 x 8 */
	for (i = 0; i < 4; i++) {
		size = i % 2 ? 8 : 7;
		for (k = 0; k < size * size; k++)
			larger[k] = x[(k / size < 4 ? 0 : 2) + (k % size < 4 ? 0 : 1)];
		t = i < 2 ? BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 2), IO("to", S64, DIMS(7, 8), 2)) :
		    BEGIN(*arg, { "x", F32, 4, { 1, 1, -1, -2 }, x, false, DIMS(1, 1, 2, 2) },
			  CONST("to", S64, DIMS(7, 8), 2));
		n = op(NULL, "Resize", "x - - to", "y");
		attr_text(&n, "keep_aspect_ratio_policy", i % 2 ? "not_smaller" : "not_larger");
		attr_ints(&n, "axes", 2, DIMS(2, 3));
		add_op(t, &n);
		GIVES(t, IO("y", F32, larger, 1, 1, size, size));
	}
	/* In fp64 blurred all the same; the nearest is not. */
	t = BEGIN(*arg, IO("x", F64, d, 1, 1, 4, 4),
		  CONST("s", F32, ((float[]){ 1, 1, 0.6f, 0.6f }), 4), IO("f", F32, x, 1, 1, 4, 4));
	for (i = 0; i < 2; i++) {
		n = op(NULL, "Resize", i ? "f - s" : "x - s", i ? "z" : "y");
		attr_text(&n, "mode", i ? "nearest" : "linear");
		attr_int(&n, "antialias", 1);
		add_op(t, &n);
	}
	t->bound = 0.00001;
	GIVES(t, IO("y", F64, ((double[]){ 2.875, 4.5, 9.375, 11 }), 1, 1, 2, 2),
	      IO("z", F32, ((float[]){ 1, 3, 9, 11 }), 1, 1, 2, 2));
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), IO("r", F32, region, 4),
		  IO("to", S64, DIMS(1, 1, 3, 3), 4));
	n = op(NULL, "Resize", "x r - to", "y");
	attr_text(&n, "coordinate_transformation_mode", "tf_crop_and_resize");
	add_op(t, &n);
	must_refuse(t, 0, "region");
}

/* Lists and axes that do not go together, of all that computes places or proportions */
static void test_parts_refused(void **arg)
{
	static const struct {
		int64_t sizes[3];
		int64_t count;
		int64_t axes[2];
		const char *text;
	} bad[] = {
		{ { 3, 3, 3 }, 3, { 2, 3 }, "sizes that are not one for each of 2 axes" },
		{ { 3 }, 1, { 2, 3 }, "sizes that are not one for each of 2 axes" },
		{ { 3, 3 }, 2, { 2, -2 }, "axis 2 twice" },
		{ { 3, 0 }, 2, { 2, 3 }, "a size of 0" },
		{ { -3, 3 }, 2, { 2, 3 }, "a size of -3" },
	};
	static const float x[16], region[4] = { 0, 0, 1, 1 }, scales[3] = { 1, 1, 2 };
	static const char *const coords[] = { "tf_crop_and_resize", "tf_half_pixel_for_nn", NULL };
	struct tested *t;
	struct bytes n;
	uint32_t i, k;

	for (i = 0; i < COUNT(bad) * 3; i++) {
		k = i / 3;
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), IO("r", F32, region, 4),
			  CONST("to", S64, bad[k].sizes, bad[k].count));
		n = op(NULL, "Resize", "x r - to", "y");
		if (coords[i % 3])
			attr_text(&n, "coordinate_transformation_mode", coords[i % 3]);
		else
			attr_text(&n, "keep_aspect_ratio_policy", "not_larger");
		attr_ints(&n, "axes", 2, bad[k].axes);
		add_op(t, &n);
		must_refuse(t, 0, bad[k].text);
	}
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), IO("s", F32, scales, 3));
	n = op(NULL, "Resize", "x - s", "y");
	attr_text(&n, "coordinate_transformation_mode", "tf_half_pixel_for_nn");
	add_op(t, &n);
	must_refuse(t, 0, "scales that are not one for each of 4 axes");
}

/* Half an element further, but along dimensions that stay as they are */
static void test_for_nearest(void **arg)
{
	static const float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const float near[16] = { 2, 2, 3, 3, 4, 4, 4, 4, 6, 6, 7, 7, 8, 8, 8, 8 };
	static const float scales[4] = { 1, 1, 1, 2 };
	struct tested *t;
	struct bytes n;
	int i;

	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 4), IO("s", F32, scales, 4),
		  IO("to", S64, DIMS(1, 1, 2, 8), 4));
	for (i = 0; i < 2; i++) {
		n = op(NULL, "Resize", i ? "x - - to" : "x - s", i ? "z" : "y");
		attr_text(&n, "coordinate_transformation_mode", "tf_half_pixel_for_nn");
		attr_text(&n, "nearest_mode", "ceil");
		add_op(t, &n);
	}
	GIVES(t, IO("y", F32, near, 1, 1, 2, 8), IO("z", F32, near, 1, 1, 2, 8));
}

/* --- caches --------------------------------------------------------------------------------- */

/* ONNX's cases: rows of a cache that are replaced, from a place of each batch on */
static void test_cache(void **arg)
{
	static const float past[20] = {
		1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 4, 3, 2, 1, 0
	};
	float both[40], one[10], two[20], line[40], circle[40];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 40; i++) {
		both[i] = line[i] = circle[i] = past[i % 20];
		if (i / 20 ? i / 5 % 4 == 2 : i / 5 % 4 == 1)
			line[i] = i / 20 ? 1 : 5;
		if (i / 20 ? i / 5 % 4 == 3 || i / 5 % 4 == 0 : i / 5 % 4 == 1 || i / 5 % 4 == 2)
			circle[i] = i / 20 ? (i / 5 % 4 ? 1 : 2) : (i / 5 % 4 == 1 ? 5 : 6);
	}
	for (i = 0; i < 10; i++)
		one[i] = i < 5 ? 5 : 1;
	for (i = 0; i < 20; i++)
		two[i] = (float)(i < 10 ? 5 + i / 5 : i / 5 - 1);
	t = BEGIN(*arg, IO("past", F32, both, 2, 1, 4, 5), IO("one", F32, one, 2, 1, 1, 5),
		  IO("two", F32, two, 2, 1, 2, 5), IO("at", S64, DIMS(1, 2), 2),
		  IO("round", S64, DIMS(1, 3), 2), IO("flat", F32, both, 2, 4, 5),
		  IO("rows", F32, two, 2, 2, 5));
	t->opset = 24;
	n = op(NULL, "TensorScatter", "past one at", "line");
	attr_text(&n, "mode", "linear");
	add_op(t, &n);
	for (i = 0; i < 2; i++) {
		n = op(NULL, "TensorScatter", i ? "flat rows round" : "past two round",
		       i ? "third" : "circle");
		attr_text(&n, "mode", "circular");
		attr_int(&n, "axis", i ? 1 : -2);
		add_op(t, &n);
	}
	GIVES(t, IO("line", F32, line, 2, 1, 4, 5), IO("circle", F32, circle, 2, 1, 4, 5),
	      IO("third", F32, circle, 2, 4, 5));
	/* At the beginning; of integers */
	t = BEGIN(*arg, IO("past", S64, DIMS(1, 2, 3, 4), 1, 2, 2),
		  IO("x", S64, DIMS(9, 8), 1, 1, 2));
	t->opset = 24;
	ONE(t, NULL, "TensorScatter", "past x", "y");
	GIVES(t, IO("y", S64, DIMS(9, 8, 3, 4), 1, 2, 2));
	t = BEGIN(*arg, IO("past", S64, DIMS(1, 2, 3, 4), 2, 2), IO("x", S64, DIMS(9, 8), 1, 2));
	t->opset = 24;
	ONE(t, NULL, "TensorScatter", "past x", "y");
	must_refuse(t, 0, "axis 0");
}

/* Numbers that no engine resamples, and corners of a size that is not rounded */
static void test_types(void **arg)
{
	static const struct {
		const char *coord;
		float scale;
		uint32_t count;
		double want[4];
	} cases[] = {
		{ "half_pixel", 2, 4, { 0, 1, 3, 4 } },
		{ "pytorch_half_pixel", 0.5f, 1, { 0 } },
		{ "asymmetric", 2, 4, { 0, 2, 4, 4 } },
		{ "align_corners", 1.75f, 3, { 0, 1.6, 3.2 } },
		{ "half_pixel_symmetric", 1.25f, 2, { 0.4, 3.6 } },
	};
	static const double x[] = { 0, 4 };
	static const float single[] = { 0, 4 };
	static const int64_t whole[] = { -(1LL << 40), 1LL << 40 };
	static const int64_t twice[] = { -(1LL << 40), -(1LL << 40), 1LL << 40, 1LL << 40 };
	float want[4];
	struct tested *t;
	struct bytes n;
	uint32_t i, k;

	for (i = 0; i < COUNT(cases); i++) {
		for (k = 0; k < 4; k++)
			want[k] = (float)cases[i].want[k];
		t = BEGIN(*arg, IO("x", F64, x, 2), IO("f", F32, single, 2),
			  CONST("s", F32, &cases[i].scale, 1));
		for (k = 0; k < 2; k++) {
			n = op(NULL, "Resize", k ? "f - s" : "x - s", k ? "z" : "y");
			attr_text(&n, "mode", "linear");
			attr_text(&n, "coordinate_transformation_mode", cases[i].coord);
			add_op(t, &n);
		}
		t->bound = 0.000001;
		GIVES(t, IO("y", F64, cases[i].want, cases[i].count),
		      IO("z", F32, want, cases[i].count));
	}
	t = BEGIN(*arg, IO("x", S64, whole, 1, 1, 1, 2),
		  CONST("s", F32, ((float[]){ 1, 1, 1, 2 }), 4));
	n = op(NULL, "Resize", "x - s", "y");
	add_op(t, &n);
	GIVES(t, IO("y", S64, twice, 1, 1, 1, 4));
}

/* The nearest of numbers that no engine has is the one that it is in fp32. */
static void test_nearest(void **arg)
{
	static const struct {
		const char *nearest;
		float scale;
		int64_t count, to;
		double want[13];
	} cases[] = {
		{ "ceil", 1.5f, 3, 4, { 0, 1, 2, 2 } },
		{ "floor", 1.5f, 5, 7, { 0, 0, 1, 2, 2, 3, 4 } },
		{ "round_prefer_floor", 0.75f, 6, 4, { 0, 2, 3, 4 } },
		{ "ceil", 1.5f, 9, 13, { 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8 } },
	};
	static const double x[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
	float single[9], want[13];
	struct tested *t;
	struct bytes n;
	uint32_t i, k;

	for (i = 0; i < COUNT(cases); i++) {
		for (k = 0; k < 9; k++)
			single[k] = (float)k;
		for (k = 0; k < cases[i].to; k++)
			want[k] = (float)cases[i].want[k];
		t = BEGIN(*arg, IO("x", F64, x, cases[i].count),
			  IO("f", F32, single, cases[i].count),
			  CONST("s", F32, &cases[i].scale, 1));
		for (k = 0; k < 2; k++) {
			n = op(NULL, "Resize", k ? "f - s" : "x - s", k ? "z" : "y");
			attr_text(&n, "nearest_mode", cases[i].nearest);
			attr_text(&n, "coordinate_transformation_mode", "half_pixel_symmetric");
			add_op(t, &n);
		}
		GIVES(t, IO("y", F64, cases[i].want, cases[i].to),
		      IO("z", F32, want, cases[i].to));
	}
}

/* Integers of 32 bits between two elements, in each of the dimensions */
static void test_whole(void **arg)
{
	static const int32_t x[] = { 0, 40, 400, 440 };
	static const int32_t y[] = {
		0, 10, 30, 40, 100, 110, 130, 140, 300, 310, 330, 340, 400, 410, 430, 440
	};
	struct tested *t = BEGIN(*arg, IO("x", S32, x, 1, 1, 2, 2),
				 CONST("s", F32, ((float[]){ 1, 1, 2, 2 }), 4));
	struct bytes n = op(NULL, "Resize", "x - s", "y");

	attr_text(&n, "mode", "linear");
	add_op(t, &n);
	GIVES(t, IO("y", S32, y, 1, 1, 4, 4));
}

/* Scales are fp32: four bytes are not read of each that has one, behind what a file ends with. */
static void test_scale_types(void **arg)
{
	static const float x[16];
	static const double wide[4] = { 1, 1, 2, 2 };
	static const uint8_t bytes[4] = { 1, 1, 2, 2 };
	struct tested *t;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < 6; i++) {
		if (i % 2)
			t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), CONST("s", F64, wide, 4));
		else
			t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), CONST("s", U8, bytes, 4));
		t->opset = i / 2 == 2 ? 9 : i / 2 ? 10 : 13;
		n = op(NULL, i / 2 == 2 ? "Upsample" : "Resize", i / 2 ? "x s" : "x - s", "y");
		attr_text(&n, "mode", "nearest");
		if (!(i / 2))
			attr_text(&n, "coordinate_transformation_mode", "align_corners");
		add_op(t, &n);
		must_refuse(t, -EBADMSG, i % 2 ? "of fp64, not fp32" : "of uint8, not fp32");
	}
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_columns), TEST(test_column_types), TEST(test_deform_cases),
		TEST(test_deform), TEST(test_deform_parts), TEST(test_far), TEST(test_empty),
		TEST(test_deform_refused),
		TEST(test_parts), TEST(test_parts_refused), TEST(test_for_nearest),
		TEST(test_cache), TEST(test_types), TEST(test_nearest), TEST(test_whole),
		TEST(test_scale_types),
	};

	return cmocka_run_group_tests_name("onnx_window", tests, NULL, NULL);
}
