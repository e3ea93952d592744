// SPDX-License-Identifier: MIT
/*
 * Averages and maxima of regions of images, and windows over quantised ones. The answers are those
 * of ONNX Runtime's tests where it says so, or what loops over definitions give.
 */
#include "onnxrun.h"

enum { RN = 2, RC = 2, RH = 7, RW = 6, R = 5, PH = 3, PW = 2 };

static double between(const float *x, double at, double across, double *most)
{
	int low[2], high[2], k, size[] = { RH, RW };
	double t[2], *at2[] = { &at, &across }, v[4];

	*most = 0;
	if (at < -1 || at > RH || across < -1 || across > RW)
		return 0;
	for (k = 0; k < 2; k++) {
		double p = fmin(fmax(*at2[k], 0), size[k] - 1);

		low[k] = (int)p;
		high[k] = low[k] + 1 < size[k] ? low[k] + 1 : low[k];
		t[k] = p - low[k];
	}
	v[0] = (double)x[low[0] * RW + low[1]] * (1 - t[0]) * (1 - t[1]);
	v[1] = (double)x[low[0] * RW + high[1]] * (1 - t[0]) * t[1];
	v[2] = (double)x[high[0] * RW + low[1]] * t[0] * (1 - t[1]);
	v[3] = (double)x[high[0] * RW + high[1]] * t[0] * t[1];
	*most = fmax(fmax(v[0], v[1]), fmax(v[2], v[3]));
	return v[0] + v[1] + v[2] + v[3];
}

static const float regions[R][4] = {
	{ 0.5f, 1, 4.5f, 6.2f }, { -3, -2, 9, 8 }, { 2, 2, 2, 2 }, { 1, 1, 2.5f, 11 },
	{ 4, 5, 1, 2 }
};

static const int64_t images[R] = { 0, 1, 1, 0, 1 };

/* As many samples as elements lie in a bin, averages and maxima; also those of no regions */
static void test_regions(void **arg)
{
	static float x[RN * RC * RH * RW], y[2][R * RC * PH * PW];
	struct tested *t;
	struct bytes b;
	int i, k, r, c, p, q, u, v, n, m;

	for (i = 0; i < (int)COUNT(x); i++)
		x[i] = noise(1, (uint32_t)i);
	for (i = 0; i < 2 * R * RC * PH * PW; i++) {
		const int half = i / (R * RC * PH * PW), at = i % (R * RC * PH * PW);
		double off = half ? 0.5 : 0, wide, high, most = -INFINITY, sum = 0, one, x0, y0;

		q = at % PW;
		p = at / PW % PH;
		c = at / (PW * PH) % RC;
		r = at / (PW * PH * RC);
		x0 = (double)regions[r][0] - off;
		y0 = (double)regions[r][1] - off;
		wide = (double)regions[r][2] - off - x0;
		high = (double)regions[r][3] - off - y0;
		if (!half) {
			wide = fmax(wide, 1);
			high = fmax(high, 1);
		}
		n = (int)ceil(high / PH);
		m = (int)ceil(wide / PW);
		for (u = 0; u < n; u++)
			for (v = 0; v < m; v++) {
				sum += between(x + (images[r] * RC + c) * RH * RW,
					       y0 + (p + (u + 0.5) / n) * high / PH,
					       x0 + (q + (v + 0.5) / m) * wide / PW, &one);
				most = fmax(most, one);
			}
		/* Averages at halves, maxima at whole numbers */
		y[half][at] = (float)(half ? sum / fmax(n > 0 && m > 0 ? n * m : 1, 1) :
				      n > 0 && m > 0 ? most : 0);
	}
	t = BEGIN(*arg, IO("x", F32, x, RN, RC, RH, RW),
		  { "rois", F32, 2, { -1, 4 }, regions, false, DIMS(R, 4) },
		  { "at", S64, 1, { -1 }, images, false, DIMS(R) });
	for (k = 0; k < 2; k++) {
		b = op(NULL, "RoiAlign", "x rois at", k ? "mean" : "most");
		attr_int(&b, "output_height", PH);
		attr_int(&b, "output_width", PW);
		attr_text(&b, "mode", k ? "avg" : "max");
		attr_text(&b, "coordinate_transformation_mode",
			  k ? "half_pixel" : "output_half_pixel");
		add_op(t, &b);
	}
	t->bound = 0.00002;
	GIVES(t, IO("mean", F32, y[1], R, RC, PH, PW), IO("most", F32, y[0], R, RC, PH, PW));
	t = BEGIN(*arg, IO("x", F32, x, RN, RC, RH, RW), IO("rois", F32, regions, 0, 4),
		  IO("at", S64, images, 0));
	ONE(t, NULL, "RoiAlign", "x rois at", "none");
	GIVES(t, IO("none", F32, y, 0, RC, 1, 1));
}

/* What a mode is called wrong is refused, not taken for another. */
static void test_modes(void **arg)
{
	static const struct {
		const char *domain, *op, *in, *attr, *words;
	} cases[] = {
		{ NULL, "RoiAlign", "x b i", "mode", "node y (RoiAlign): its mode is not known" },
		{ NULL, "RoiAlign", "x b i", "coordinate_transformation_mode",
		  "node y (RoiAlign): its coordinate_transformation_mode is not known" },
		{ "ai.onnx.preview.training", "Momentum", "r r r r r", "mode",
		  "node y (Momentum): its mode is not known" },
		{ NULL, "Gelu", "x", "approximate", "node y (Gelu): its approximate is not known" },
	};
	static const float x[16], r[1];
	static const int64_t i[4];
	struct tested *t;
	struct bytes n;
	uint32_t k;

	for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), IO("b", F32, x, 4, 4),
			  IO("i", S64, i, 4), IO("r", F32, r, 1));
		n = op(cases[k].domain, cases[k].op, cases[k].in, "y");
		attr_text(&n, cases[k].attr, "middle");
		add_op(t, &n);
		must_refuse(t, -EOPNOTSUPP, cases[k].words);
	}
}

/* One large region among small ones: these have one sample each, and no room for 4096. */
static void test_one_large(void **arg)
{
	enum { SIDE = 64, COUNTED = 201, LARGE = 77, MEDIUM = 5 };
	static float x[SIDE * SIDE], rois[COUNTED * 4], y[COUNTED];
	struct accel_program_info info = { .size = sizeof(info) };
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	static const int64_t at[COUNTED];
	struct accel_program *program;
	struct bed *bed = *arg;
	struct accel_model *m;
	struct accel_state *s;
	struct accel_error e;
	struct tested *t;
	int i, size;

	for (i = 0; i < SIDE * SIDE; i++) /* NOLINTNEXTLINE(bugprone-integer-division) */
		x[i] = (float)(i / SIDE + i % SIDE);
	for (i = 0; i < COUNTED; i++) {
		const int from = i == LARGE ? 0 : i % 50;

		/* Samples are at elements, and the mean is that of what is in the middle. */
		size = i == LARGE ? SIDE : i == MEDIUM ? 5 : 1;
		rois[4 * i] = (float)from;
		rois[4 * i + 1] = (float)from;
		rois[4 * i + 2] = (float)(from + size);
		rois[4 * i + 3] = (float)(from + size);
		y[i] = (float)(2 * from + size - 1);
	}
	t = BEGIN(bed, IO("x", F32, x, 1, 1, SIDE, SIDE), IO("r", F32, rois, COUNTED, 4),
		  IO("at", S64, at, COUNTED));
	ONE(t, NULL, "RoiAlign", "x r at", "y");
	t->bound = 0.001;
	GIVES(t, IO("y", F32, y, COUNTED, 1, 1, 1));
	assert_int_equal(open_tested(t, &e, &m), 0);
	MUST(accel_graph_compile(bed->ctx, accel_model_graph(m), &opts, &program));
	accel_model_close(m);
	s = new_state(bed, program);
	fill_input(s, 0, x, sizeof(x));
	fill_input(s, 1, rois, sizeof(rois));
	fill_input(s, 2, at, sizeof(at));
	MUST(accel_state_run(s));
	MUST(accel_state_get_info(s, &info));
	if (!(info.arena_bytes < COUNTED * SIDE * SIDE))
		fail_msg("%llu bytes in between", (unsigned long long)info.arena_bytes);
	accel_state_destroy(s);
	accel_program_unref(program);
}

/* Samples outside are 0 whatever the first element is, and of no others whatever an edge is. */
static void test_nowhere(void **arg)
{
	const float x[4] = { NAN, 1, 2, 3 }, y[4] = { 0, 0, 0, 3 };
	const float rois[16] = {
		10, 10, 11, 11, NAN, 1, 2, 2, -INFINITY, 1, INFINITY, 2, 1, 1, 2, 2
	};
	static const char *const names[] = { "a", "b", "c", "d" };
	struct tested *t;
	struct bytes n;
	int i;

	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 2), IO("r", F32, rois, 4, 4),
		  IO("at", S64, DIMS(0, 0, 0, 0), 4));
	for (i = 0; i < 4; i++) {
		n = op(NULL, "RoiAlign", "x r at", names[i]);
		attr_int(&n, "sampling_ratio", i / 2);
		attr_text(&n, "mode", i % 2 ? "max" : "avg");
		add_op(t, &n);
	}
	GIVES(t, IO("a", F32, y, 4, 1, 1, 1), IO("b", F32, y, 4, 1, 1, 1),
	      IO("c", F32, y, 4, 1, 1, 1), IO("d", F32, y, 4, 1, 1, 1));
}

/* The maximum of nothing but -inf is that, of nothing 0 */
static void test_least(void **arg)
{
	const float x[9] = {
		-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY,
		-INFINITY, -INFINITY
	};
	const float rois[8] = { 0.5f, 0.5f, 1.2f, 1.2f, 1, 1, 1, 1 };
	const float edges[10] = { 0, 0, 0, 1, 1, 0, 7, 7, 8, 8 };
	static float y[2] = { -INFINITY, 0 };
	struct tested *t;
	struct bytes n;

	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 3, 3), IO("r", F32, rois, 2, 4),
		  IO("at", S64, DIMS(0, 0), 2), IO("e", F32, edges, 2, 5));
	n = op(NULL, "RoiAlign", "x r at", "align");
	attr_text(&n, "mode", "max");
	add_op(t, &n);
	n = op(NULL, "MaxRoiPool", "x e", "pool");
	attr_ints(&n, "pooled_shape", 2, DIMS(1, 1));
	add_op(t, &n);
	GIVES(t, IO("align", F32, y, 2, 1, 1, 1), IO("pool", F32, y, 2, 1, 1, 1));
}

/* Of types of 16 bits, images wider than their whole numbers go: the second row and image */
static void test_wide_regions(void **arg)
{
	static const struct {
		int type;
		int64_t wide;
	} of[] = { { F16, 2049 }, { BF16, 257 } };
	static float x[2 * 2 * 2049];
	float rois[2][4], y[2];
	struct tested *t;
	struct bytes n;
	uint32_t i;
	int k;

	for (i = 0; i < COUNT(of); i++) {
		const int wide = (int)of[i].wide;

		for (k = 0; k < 4 * wide; k++)
			x[k] = (float)(k % 101);
		for (k = 0; k < 2; k++) {
			/* The middle is that of two elements, which the types cannot tell. */
			const int at = k ? 16 : wide - 3;

			rois[k][0] = (float)(at - 1);
			rois[k][1] = 1;
			rois[k][2] = (float)(at + 1);
			rois[k][3] = 2;
			y[k] = (x[(3 - 2 * k) * wide + at - 1] + x[(3 - 2 * k) * wide + at]) / 2;
		}
		t = BEGIN(*arg, IO("x", F32, x, 2, 1, 2, of[i].wide), IO("r", F32, rois, 2, 4),
			  IO("at", S64, DIMS(1, 0), 2));
		for (k = 0; k < 2; k++) {
			n = op(NULL, "Cast", k ? "r" : "x", k ? "rh" : "xh");
			attr_int(&n, "to", of[i].type);
			add_op(t, &n);
		}
		n = op(NULL, "RoiAlign", "xh rh at", "yh");
		attr_int(&n, "sampling_ratio", 1);
		add_op(t, &n);
		n = op(NULL, "Cast", "yh", "y");
		attr_int(&n, "to", F32);
		add_op(t, &n);
		GIVES(t, IO("y", F32, y, 2, 1, 1, 1));
	}
}

/* Maxima of whole elements, as ONNX Runtime's test has them, and of more bins by loops */
static void test_maxima(void **arg)
{
	static const float same[15] = { 0, 1, 1, 2, 3, 0, 1, 1, 2, 3, 0, 1, 1, 2, 3 };
	static const float most[9] = { 2, 5.6f, 9.2f, 2, 5.6f, 9.2f, 2, 5.6f, 9.2f };
	static float x[RN * RC * RH * RW], rois[R][5], y[R * RC * PH * PW], tenths[108];
	struct tested *t;
	struct bytes b;
	int i, u, v;

	for (i = 0; i < 108; i++)
		tenths[i] = (float)i / 10;
	t = BEGIN(*arg, IO("x", F32, tenths, 1, 3, 6, 6), IO("rois", F32, same, 3, 5));
	b = op(NULL, "MaxRoiPool", "x rois", "y");
	attr_ints(&b, "pooled_shape", 2, DIMS(1, 1));
	add_op(t, &b);
	GIVES(t, IO("y", F32, most, 3, 3, 1, 1));
	for (i = 0; i < (int)COUNT(x); i++)
		x[i] = noise(1, (uint32_t)i) - 3;
	for (i = 0; i < R; i++) {
		rois[i][0] = (float)images[i];
		/* Halves are rounded away from 0; the scale is 1/2. */
		for (u = 0; u < 4; u++)
			rois[i][1 + u] = 2 * regions[i][u];
	}
	for (i = 0; i < R * RC * PH * PW; i++) {
		const int r = i / (PW * PH * RC), c = i / (PW * PH) % RC, p = i / PW % PH;
		const int q = i % PW;
		const float *from = x + (images[r] * RC + c) * RH * RW;
		const double x0 = round((double)regions[r][0]), y0 = round((double)regions[r][1]);
		const double wide = fmax(round((double)regions[r][2]) - x0 + 1, 1) / PW;
		const double high = fmax(round((double)regions[r][3]) - y0 + 1, 1) / PH;

		y[i] = -INFINITY;
		for (u = 0; u < RH; u++)
			for (v = 0; v < RW; v++)
				if (u >= y0 + floor(p * high) && u < y0 + ceil((p + 1) * high) &&
				    v >= x0 + floor(q * wide) && v < x0 + ceil((q + 1) * wide) &&
				    from[u * RW + v] > y[i])
					y[i] = from[u * RW + v];
		if (isinf(y[i]))
			y[i] = 0;
	}
	t = BEGIN(*arg, IO("x", F32, x, RN, RC, RH, RW), IO("rois", F32, rois, R, 5));
	b = op(NULL, "MaxRoiPool", "x rois", "y");
	attr_ints(&b, "pooled_shape", 2, DIMS(PH, PW));
	attr_float(&b, "spatial_scale", 0.5f);
	add_op(t, &b);
	GIVES(t, IO("y", F32, y, R, RC, PH, PW));
	for (i = 0; i < 2; i++) {
		t = BEGIN(*arg, IO("x", F32, x, RN, RC, RH, RW), IO("rois", F32, rois, R, 5));
		b = op(NULL, "MaxRoiPool", "x rois", "y");
		attr_ints(&b, "pooled_shape", 2, i ? DIMS(1, INT64_MAX) : DIMS(0, 1));
		add_op(t, &b);
		must_refuse(t, 0, "bins");
	}
}

/* Images of no channels */
static void test_empty(void **arg)
{
	static const float x[1], roi[4] = { 0, 0, 3, 3 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 2, 0, 4, 4), IO("roi", F32, roi, 1, 4),
				 IO("of", S64, DIMS(1), 1));

	ONE(t, NULL, "RoiAlign", "x roi of", "y");
	GIVES(t, IO("y", F32, x, 1, 0, 1, 1));
}

/* Dimensions that become one are as many each, and no more become one than have to. */
static void test_folded(void **arg)
{
	static const int64_t zero = 0, given[4] = { 2, 2, 2, 3 };
	float x[24], u[12], y[24];
	struct io in = IO("x", F32, x, -1, -2, -3, 3);
	struct tested *t;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < 24; i++) {
		x[i] = (float)i;
		u[i % 12] = (float)(100 + i % 12);
		y[i] = i < 12 ? u[i] : x[i];
	}
	in.given = given;
	t = BEGIN(*arg, in, CONST("i", S64, &zero, 1, 1, 1), IO("u", F32, u, 1, 1, 2, 2, 3));
	ONE(t, NULL, "ScatterND", "x i u", "y");
	GIVES(t, IO("y", F32, y, 2, 2, 2, 3));
	t = BEGIN(*arg, IO("x", F32, x, 2, 3, 1, 1, 1, 2), IO("u", F32, u, 3, 2, 1, 1, 1, 1));
	n = op(NULL, "Concat", "x u", "y");
	attr_int(&n, "axis", 5);
	add_op(t, &n);
	must_refuse(t, -EBADMSG, "input 1 has other dimensions");
	t = BEGIN(*arg, IO("x", F32, x, 2, 2, 3, 1, 1, 1), CONST("i", S64, &zero, 1, 1),
		  IO("u", F32, u, 1, 3, 2, 1, 1, 1));
	ONE(t, NULL, "ScatterND", "x i u", "y");
	must_refuse(t, -EBADMSG, "updates of other dimensions");
}

/* Dimensions that become one, of which each has a name in one input and a number in another */
static void test_folded_names(void **arg)
{
	static const int64_t first[6] = { 2, 3, 5, 7, 1, 2 }, second[6] = { 2, 3, 5, 7, 1, 1 };
	static const int64_t wrong[6] = { 3, 2, 5, 7, 1, 1 }, at[210], zero;
	struct io in = IO("x", F32, NULL, -1, -2, -3, 7, -4, 2);
	struct io u = IO("u", F32, NULL, 2, 3, 5, 7, 1, 1);
	struct io i = IO("i", S64, at, 2, 3, 5, 7, 1, 1);
	struct io v = IO("v", F32, NULL, 1, 3, -8, -9, -13, 2);
	float x[420], y[630], z[210], w[420];
	struct tested *t;
	struct bytes n;
	uint32_t k;

	for (k = 0; k < 630; k++)
		y[k] = (float)(k % 3 < 2 ? k / 3 * 2 + k % 3 : k / 3);
	for (k = 0; k < 420; k++) {
		x[k] = (float)k;
		z[k / 2] = x[k - k % 2];
		w[k] = (float)(k % 210);
	}
	in.data = u.data = v.data = x;
	in.given = first;
	u.given = i.given = second;
	v.given = (const int64_t[]){ 1, 3, 5, 7, 1, 2 };
	t = begin(*arg, (const struct io[]){ in, u }, 2);
	n = op(NULL, "Concat", "x u", "y");
	attr_int(&n, "axis", 5);
	add_op(t, &n);
	GIVES(t, IO("y", F32, y, 2, 3, 5, 7, 1, 3));
	u.dims[0] = -10;
	u.dims[1] = -14;
	u.given = wrong;
	t = begin(*arg, (const struct io[]){ in, u }, 2);
	add_op(t, &n);
	must_fail(t, -EINVAL, "node y (Concat): 2 elements become 3");
	t = begin(*arg, (const struct io[]){ in, i }, 2);
	n = op(NULL, "GatherElements", "x i", "y");
	attr_int(&n, "axis", 5);
	add_op(t, &n);
	GIVES(t, IO("y", F32, z, 2, 3, 5, 7, 1, 1));
	t = begin(*arg, (const struct io[]){ in, CONST("i", S64, &zero, 1, 1), v }, 3);
	ONE(t, NULL, "ScatterND", "x i v", "y");
	for (k = 210; k < 420; k++)
		w[k] = x[k];
	GIVES(t, IO("y", F32, w, 2, 3, 5, 7, 1, 2));
}

/* An axis that is known stays so where dimensions become one: there are no sums along others. */
static void test_folded_sum(void **arg)
{
	static const int64_t axis = -2;
	float x[64], y[64];
	struct tested *t;
	struct runner r;
	uint32_t i;

	for (i = 0; i < 64; i++) {
		x[i] = (float)(i * 7 % 11);
		y[i] = i / 2 % 2 ? x[i] + y[i - 2] : x[i];
	}
	t = BEGIN(*arg, IO("x", F32, x, 2, 2, 2, 2, 2, 2), SCALAR("axis", S64, &axis));
	ONE(t, NULL, "CumSum", "x axis", "y");
	GIVES(t, IO("y", F32, y, 2, 2, 2, 2, 2, 2));
	r = start(t, 3);
	set(&r, 0, 6, DIMS(2, 2, 2, 2, 2, 2), x, sizeof(x));
	run(&r);
	assert_true(node_count(*arg, r.state) <= 2);
	stop(&r);
}

/* Weights that are nothing in all, or no numbers, are divided by their sum as others. */
static void test_no_weights(void **arg)
{
	static const float x[] = { 1, 2 }, two[] = { 1, 2 }, none[] = { NAN, NAN };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 1), CONST("s", F32, two, 2));
		struct bytes n = op(NULL, "Resize", "x - s", "y");

		attr_text(&n, "mode", "cubic");
		attr_int(&n, "antialias", 1);
		attr_int(&n, "exclude_outside", 1);
		attr_float(&n, "cubic_coeff_a", i ? NAN : 18);
		add_op(t, &n);
		GIVES(t, IO("y", F32, none, 1, 2));
	}
}

/* A line of one number stays so, whatever its neighbours' weights are in binary. */
static void test_one_number(void **arg)
{
	static const char *const modes[] = { "linear", "cubic" };
	int64_t x[4] = { 15, 15, 15, 15 }, y[12];
	uint32_t i;

	for (i = 0; i < 12; i++)
		y[i] = 15;
	for (i = 0; i < 2; i++) {
		struct tested *t = BEGIN(*arg, IO("x", S64, x, 1, 1, 1, 4),
					 CONST("s", F32, ((float[]){ 1, 1, 1, 3 }), 4));
		struct bytes n = op(NULL, "Resize", "x - s", "y");

		attr_text(&n, "mode", modes[i]);
		add_op(t, &n);
		GIVES(t, IO("y", S64, y, 1, 1, 1, 12));
	}
}

/* --- weights of few bits that several nodes read ---------------------------------------------- */

/* How many values of so many elements the graph of a model has */
static uint32_t values_like(struct tested *t, uint32_t type, int64_t rows, int64_t cols)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_model *m;
	struct accel_error e;
	uint32_t i, n = 0;

	assert_int_equal(open_tested(t, &e, &m), 0);
	for (i = 0; !accel_graph_get_value(accel_model_graph(m), i, &v); i++)
		n += v.type == type && v.rank == 2 && v.dims[0] == rows && v.dims[1] == cols;
	accel_model_close(m);
	return n;
}

static const uint8_t half_bytes[8] = { 0x91, 0xb6, 0xdb, 0x70, 0x8f, 0x25, 0xc3, 0x4e };

/* They are made real once, when a program is compiled, and widened once, when a file is read. */
static void test_half_bytes(void **arg)
{
	static const float x[8] = { 1, -2, 3, 4, 0, 5, 1, -1 }, scale[4] = { 1, 0.5f, 2, 4 };
	int64_t cols, i, k, at;
	struct tested *t;
	struct runner r;
	uint32_t level;
	float y[8];

	for (cols = 3; cols < 5; cols++) {
		for (i = 0; i < 2 * cols; i++)
			for (y[i] = 0, k = 0; k < 4; k++) {
				at = k * cols + i % cols;
				at = half_bytes[at / 2] >> at % 2 * 4 & 15;
				at -= (at & 8) * 2;
				y[i] += x[i / cols * 4 + k] * scale[i % cols] * (float)at;
			}
		t = BEGIN(*arg, IO("x", F32, x, 2, 4), CONST("s", F32, scale, cols),
			  CONST("w", S4, half_bytes, 4, cols));
		ONE(t, NULL, "DequantizeLinear", "w s", "one");
		ONE(t, NULL, "DequantizeLinear", "w s", "two");
		ONE(t, NULL, "MatMul", "x one", "y");
		ONE(t, NULL, "MatMul", "x two", "z");
		GIVES(t, IO("y", F32, y, 2, cols), IO("z", F32, y, 2, cols));
		for (level = 0; level < 4; level += 3) {
			r = start(t, level);
			assert_int_equal(node_count(*arg, r.state), 2);
			stop(&r);
		}
		if (cols == 3)
			assert_int_equal(values_like(t, ACCEL_S8, 4, 3), 1);
	}
}

/* Neither are weights and zero points of several products changed more than once. */
static void test_rows_once(void **arg)
{
	static const float x[16] = { 1 }, y[2] = { 1 - 1, 6 - 1 };
	static const uint8_t w[16] = { 0x01, [8] = 0x06 }, zero[2] = { 0x01, 0x01 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 16), CONST("w", U8, w, 2, 1, 8),
				 CONST("s", F32, ((float[]){ 1, 1 }), 2), CONST("z", U8, zero, 2));
	struct bytes n;
	int i;

	for (i = 0; i < 2; i++) {
		n = op(MS, "MatMulNBits", "x w s z", i ? "z1" : "y");
		attr_int(&n, "K", 16);
		attr_int(&n, "N", 2);
		attr_int(&n, "block_size", 16);
		add_op(t, &n);
	}
	GIVES(t, IO("y", F32, y, 1, 2), IO("z1", F32, y, 1, 2));
	assert_int_equal(values_like(t, ACCEL_S4, 2, 16), 1);
	assert_int_equal(values_like(t, ACCEL_S32, 2, 1), 1);
}

/* --- quantised images, whose channels may be last -------------------------------------------- */

enum { QN = 2, QC = 4, QH = 4, QW = 3, QG = 2, QM = 6, QK = 2 };

static const float q_as = 0.043f, q_ys = 0.0511f, q_ms = 0.0311f;
static const uint8_t q_az = 119, q_yz = 77;

static int q_at(bool last, int n, int c, int y, int x, int channels, int height, int width)
{
	return last ? ((n * height + y) * width + x) * channels + c :
		      ((n * channels + c) * height + y) * width + x;
}

static uint8_t q_byte(double v, float scale)
{
	return (uint8_t)fmin(fmax(nearbyint(v / (double)scale) + q_yz, 0), 255);
}

/* In bytes less their zero point; false outside of the image */
static bool q_pixel(const uint8_t *a, bool last, int n, int c, int y, int x, int *out)
{
	const bool inside = y >= 0 && y < QH && x >= 0 && x < QW;

	*out = inside ? a[q_at(last, n, c, y, x, QC, QH, QW)] - q_az : 0;
	return inside;
}

/* Two rows of padding before, a column behind; weights of the one layout that there is */
static void one_conv(void **arg, const uint8_t *a, bool last)
{
	static const float scales[QM] = { 0.011f, 0.013f, 0.007f, 0.0093f, 0.0121f, 0.0057f };
	enum { OH = QH + 2 - QK + 1, OW = QW + 1 - QK + 1, PER = QC / QG };
	static int8_t w[QM * PER * QK * QK];
	static const int8_t none;
	static const int32_t bias[QM] = { 5, -700, 90, 1000, -3, 41 };
	uint8_t want[QN * QM * OH * OW];
	struct bytes n = op(MS, "QLinearConv", "a as az w ws wz ys yz b", "y");
	struct tested *t;
	int i, m, y, x, k, sum, v;

	for (i = 0; i < (int)COUNT(w); i++)
		w[i] = (int8_t)(127 * noise(52, (uint32_t)i));
	for (i = 0; i < QN * QM * OH * OW; i++) {
		m = i / (OH * OW) % QM;
		y = i / OW % OH;
		x = i % OW;
		for (sum = bias[m], k = 0; k < PER * QK * QK; k++) {
			q_pixel(a, last, i / (QM * OH * OW), m / (QM / QG) * PER + k / (QK * QK),
				y - 2 + k / QK % QK, x + k % QK, &v);
			sum += v * w[m * PER * QK * QK + k];
		}
		want[q_at(last, i / (QM * OH * OW), m, y, x, QM, OH, OW)] =
			q_byte(sum * (double)q_as * (double)scales[m], q_ys);
	}
	t = BEGIN(*arg, IO("a", U8, a, QN, last ? QH : QC, last ? QW : QH, last ? QC : QW),
		  SCALAR("as", F32, &q_as), SCALAR("az", U8, &q_az),
		  CONST("w", S8, w, QM, PER, QK, QK), CONST("ws", F32, scales, QM),
		  SCALAR("wz", S8, &none), SCALAR("ys", F32, &q_ys), SCALAR("yz", U8, &q_yz),
		  CONST("b", S32, bias, QM));
	attr_ints(&n, "pads", 4, DIMS(2, 0, 0, 1));
	attr_int(&n, "group", QG);
	attr_int(&n, "channels_last", last);
	add_op(t, &n);
	GIVES(t, IO("y", U8, want, QN, last ? OH : QM, last ? OW : OH, last ? QM : OW));
}

/* Averages of what lies inside of windows, and of all */
static void one_pool(void **arg, const uint8_t *a, bool last)
{
	enum { OH = QH + 1 - QK + 1, OW = QW - QK + 1 };
	uint8_t want[QN * QC * OH * OW], whole[QN * QC];
	struct bytes n = op(MS, "QLinearAveragePool", "a as az ys yz", "y");
	struct tested *t;
	int i, k, c, count, sum, v;

	for (i = 0; i < QN * QC * OH * OW; i++) {
		c = i / (OH * OW) % QC;
		for (sum = count = k = 0; k < QK * QK; k++) {
			count += q_pixel(a, last, i / (QC * OH * OW), c, i / OW % OH - 1 + k / QK,
					 i % OW + k % QK, &v);
			sum += v;
		}
		want[q_at(last, i / (QC * OH * OW), c, i / OW % OH, i % OW, QC, OH, OW)] =
			q_byte(sum * (double)q_as / count, q_ms);
	}
	for (i = 0; i < QN * QC; i++) {
		for (sum = k = 0; k < QH * QW; k++) {
			q_pixel(a, last, i / QC, i % QC, k / QW, k % QW, &v);
			sum += v;
		}
		whole[i] = q_byte(sum * (double)q_as / (QH * QW), q_ms);
	}
	t = BEGIN(*arg, IO("a", U8, a, QN, last ? QH : QC, last ? QW : QH, last ? QC : QW),
		  SCALAR("as", F32, &q_as), SCALAR("az", U8, &q_az), SCALAR("ys", F32, &q_ms),
		  SCALAR("yz", U8, &q_yz));
	attr_ints(&n, "kernel_shape", 2, DIMS(QK, QK));
	attr_ints(&n, "pads", 4, DIMS(1, 0, 0, 0));
	attr_int(&n, "channels_last", last);
	add_op(t, &n);
	n = op(MS, "QLinearGlobalAveragePool", "a as az ys yz", "z");
	attr_int(&n, "channels_last", last);
	add_op(t, &n);
	GIVES(t, IO("y", U8, want, QN, last ? OH : QC, last ? OW : OH, last ? QC : OW),
	      IO("z", U8, whole, QN, last ? 1 : QC, 1, last ? QC : 1));
}

static void test_channels_last(void **arg)
{
	uint8_t a[QN * QC * QH * QW];
	int i;

	for (i = 0; i < (int)COUNT(a); i++)
		a[i] = (uint8_t)(128 + 127 * noise(51, (uint32_t)i));
	for (i = 0; i < 2; i++) {
		one_conv(arg, a, i);
		one_pool(arg, a, i);
	}
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_regions), TEST(test_modes), TEST(test_one_large), TEST(test_nowhere),
		TEST(test_least), TEST(test_wide_regions), TEST(test_maxima),
		TEST(test_empty),
		TEST(test_folded), TEST(test_folded_names), TEST(test_folded_sum),
		TEST(test_no_weights), TEST(test_one_number), TEST(test_half_bytes),
		TEST(test_rows_once), TEST(test_channels_last),
	};

	return cmocka_run_group_tests_name("onnx_regions", tests, NULL, NULL);
}
