// SPDX-License-Identifier: MIT
/*
 * Operators of ONNX whose answers ONNX's own vectors do not have: integers that wrap around,
 * symbols that have to be equal.
 */
#include "onnxop.h"

/* --- symbols ----------------------------------------------------------------------- */

/* Two names for one number, a number that a later node wants, and what follows from both */
static void test_symbols(void **arg)
{
	float x[12], y[12], sum[12];
	struct tested *t;
	int i;

	for (i = 0; i < 12; i++) {
		x[i] = (float)i;
		y[i] = (float)(100 * i);
		sum[i] = x[i] + y[i];
	}
	t = BEGIN(*arg, { "x", F32, 2, { -1, 4 }, x, false, DIMS(3, 4) },
		  { "y", F32, 2, { -2, 4 }, y, false, DIMS(3, 4) });
	ONE(t, NULL, "Add", "x y", "z");
	GIVES(t, IO("z", F32, sum, 3, 4));
	t = BEGIN(*arg, { "x", F32, 1, { -1 }, x, false, DIMS(10) },
		  CONST("to", S64, DIMS(2, 5), 2));
	ONE(t, NULL, "Reshape", "x to", "z");
	GIVES(t, IO("z", F32, x, 2, 5));
	/* Rows of 5, joined with others, and as many as those of a third */
	t = BEGIN(*arg, { "x", F32, 1, { -1 }, x, false, DIMS(5) },
		  { "y", F32, 2, { -2, -3 }, y, false, DIMS(1, 5) },
		  { "w", F32, 2, { -4, 5 }, sum, false, DIMS(2, 5) },
		  CONST("to", S64, DIMS(-1, 5), 2));
	ONE(t, NULL, "Reshape", "x to", "row");
	{
		struct bytes n = op(NULL, "Concat", "row y", "both");

		attr_int(&n, "axis", 0);
		add_op(t, &n);
	}
	ONE(t, NULL, "Sub", "both w", "z");
	{
		float want[10];

		for (i = 0; i < 10; i++)
			want[i] = (i < 5 ? x[i] : y[i - 5]) - sum[i];
		GIVES(t, IO("z", F32, want, 2, 5));
	}
}

/* What no numbers can make right is refused, with the operation's own words. */
static void test_no_symbols(void **arg)
{
	struct accel_model *m;
	struct accel_error e;
	struct tested *t;

	t = BEGIN(*arg, { "x", F32, 2, { -1, 4 }, NULL, false, NULL },
		  { "y", F32, 2, { -2, 3 }, NULL, false, NULL });
	ONE(t, NULL, "Add", "x y", "z");
	assert_int_equal(open_tested(t, &e, &m), -EINVAL);
	assert_non_null(strstr(e.text, "broadcast"));
}

/* --- integers ------------------------------------------------------------------------ */

static void one_cast(struct bed *bed, int from, const void *in, int to, const void *want)
{
	struct tested *t = BEGIN(bed, IO("x", from, in, 4));
	struct bytes n = op(NULL, "Cast", "x", "y");

	attr_int(&n, "to", to);
	add_op(t, &n);
	GIVES(t, IO("y", to, want, 4));
}

static void test_casts(void **arg)
{
	static const int32_t s32[4] = { 300, -1, -129, 70000 };
	static const int64_t s64[4] = { 0x123456789, -1, 0x80000000, -0x80000001LL };
	static const uint8_t u8[4] = { 200, 127, 128, 255 };
	static const uint64_t u64[4] = { UINT64_MAX, 1ull << 63, 5, 0x1ffffffff };
	static const float f32[4] = { 2.9f, -2.9f, 0, 100 };

	one_cast(*arg, S32, s32, U8, (uint8_t[]){ 44, 255, 127, 112 });
	one_cast(*arg, S32, s32, S8, (int8_t[]){ 44, -1, 127, 112 });
	one_cast(*arg, S32, s32, S16, (int16_t[]){ 300, -1, -129, 4464 });
	one_cast(*arg, S32, s32, U32, (uint32_t[]){ 300, UINT32_MAX, UINT32_MAX - 128, 70000 });
	one_cast(*arg, S32, s32, U64, (uint64_t[]){ 300, UINT64_MAX, UINT64_MAX - 128, 70000 });
	one_cast(*arg, S64, s64, S32, (int32_t[]){ 0x23456789, -1, INT32_MIN, INT32_MAX });
	one_cast(*arg, S64, s64, U8, (uint8_t[]){ 0x89, 255, 0, 255 });
	one_cast(*arg, U8, u8, S8, (int8_t[]){ -56, 127, -128, -1 });
	one_cast(*arg, U64, u64, S64, (int64_t[]){ -1, INT64_MIN, 5, 0x1ffffffff });
	one_cast(*arg, U64, u64, S32, (int32_t[]){ -1, 0, 5, -1 });
	one_cast(*arg, U64, u64, F64, (double[]){ 0x1p64, 0x1p63, 5, 0x1ffffffff });
	one_cast(*arg, U64, u64, BOOL, (uint8_t[]){ 1, 1, 1, 1 });
	one_cast(*arg, F32, f32, S8, (int8_t[]){ 2, -2, 0, 100 });
	one_cast(*arg, F64, (double[]){ 0x1p63, 0x1.8p63, 3.7, 0 }, U64,
		 (uint64_t[]){ 1ull << 63, 3ull << 62, 3, 0 });
}

static void one_binary(struct bed *bed, const char *name, int ta, const void *a, int tb,
		       const void *b, int to, const void *want)
{
	struct tested *t = BEGIN(bed, IO("a", ta, a, 4), IO("b", tb, b, 4));

	ONE(t, NULL, name, "a b", "y");
	GIVES(t, IO("y", to, want, 4));
}

static void test_integers(void **arg)
{
	static const uint8_t a[4] = { 200, 1, 16, 255 }, b[4] = { 100, 2, 16, 255 };
	static const int8_t c[4] = { 100, -100, 127, -128 }, d[4] = { 100, -100, 1, -1 };
	static const uint64_t e[4] = { UINT64_MAX, 1ull << 63, 7, 10 },
			      f[4] = { 2, 1ull << 63, UINT64_MAX, 3 };
	static const int32_t base[4] = { 2, 3, -2, 10 };
	static const float power[4] = { 0.5f, 2, 3, -1 };

	one_binary(*arg, "Add", U8, a, U8, b, U8, (uint8_t[]){ 44, 3, 32, 254 });
	one_binary(*arg, "Sub", U8, b, U8, a, U8, (uint8_t[]){ 156, 1, 0, 0 });
	one_binary(*arg, "Mul", U8, a, U8, b, U8, (uint8_t[]){ 32, 2, 0, 1 });
	one_binary(*arg, "Add", S8, c, S8, d, S8, (int8_t[]){ -56, 56, -128, 127 });
	one_binary(*arg, "Pow", U8, a, U8, b, U8, (uint8_t[]){ 0, 1, 0, 255 });
	one_binary(*arg, "Add", U64, e, U64, f, U64, (uint64_t[]){ 1, 0, 6, 13 });
	one_binary(*arg, "Div", U64, e, U64, f, U64, (uint64_t[]){ INT64_MAX, 1, 0, 3 });
	one_binary(*arg, "Mod", U64, e, U64, f, U64, (uint64_t[]){ 1, 0, 7, 1 });
	one_binary(*arg, "Less", U64, e, U64, f, BOOL, (uint8_t[]){ 0, 0, 1, 0 });
	one_binary(*arg, "Max", U64, e, U64, f, U64,
		   (uint64_t[]){ UINT64_MAX, 1ull << 63, UINT64_MAX, 10 });
	one_binary(*arg, "Pow", S32, base, F32, power, S32, (int32_t[]){ 1, 9, -8, 0 });
	one_binary(*arg, "Pow", F32, power, S32, base, F32, (float[]){ 0.25f, 8, 1.0f / 9, 1 });
}

static void one_unary(struct bed *bed, const char *name, int type, const void *x, const void *want)
{
	struct tested *t = BEGIN(bed, IO("x", type, x, 4));

	ONE(t, NULL, name, "x", "y");
	GIVES(t, IO("y", type, want, 4));
}

/* Integers that are no numbers of fp32, nor of fp64 */
static void test_exact(void **arg)
{
	static const int32_t a[4] = { 16777217, -16777217, INT32_MAX, -INT32_MAX };
	static const int64_t b[4] = { (1LL << 53) + 1, -(1LL << 53) - 1, INT64_MAX, INT64_MIN };
	static const uint64_t c[4] = { (1ull << 53) + 1, (1ull << 63) + 1, UINT64_MAX, 0 };
	static const int32_t one = 1;
	struct tested *t;

	one_unary(*arg, "Relu", S64, b, (int64_t[]){ (1LL << 53) + 1, 0, INT64_MAX, 0 });
	one_unary(*arg, "Relu", S32, a, (int32_t[]){ 16777217, 0, INT32_MAX, 0 });
	one_unary(*arg, "Abs", S32, a, (int32_t[]){ 16777217, 16777217, INT32_MAX, INT32_MAX });
	one_unary(*arg, "Neg", S32, a, (int32_t[]){ -16777217, 16777217, -INT32_MAX, INT32_MAX });
	one_unary(*arg, "Abs", S64, b,
		  (int64_t[]){ (1LL << 53) + 1, (1LL << 53) + 1, INT64_MAX, INT64_MIN });
	one_unary(*arg, "Neg", S64, b,
		  (int64_t[]){ -(1LL << 53) - 1, (1LL << 53) + 1, -INT64_MAX, INT64_MIN });
	one_unary(*arg, "Abs", U64, c, c);
	one_unary(*arg, "Sign", S32, a, (int32_t[]){ 1, -1, 1, -1 });
	one_binary(*arg, "PRelu", S32, a, S32, (int32_t[]){ 2, 1, 2, 1 }, S32, a);
	one_binary(*arg, "PRelu", S64, b, S64, (int64_t[]){ 2, 1, 2, 1 }, S64, b);
	one_binary(*arg, "Max", S32, a, S32, (int32_t[]){ 0, -16777219, 0, 0 }, S32,
		   (int32_t[]){ 16777217, -16777217, INT32_MAX, 0 });
	one_binary(*arg, "Div", S32, a, S32, (int32_t[]){ 1, 1, 2, 2 }, S32,
		   (int32_t[]){ 16777217, -16777217, INT32_MAX / 2, -INT32_MAX / 2 });
	one_binary(*arg, "Mod", S32, a, S32, (int32_t[]){ 16777216, 16777216, 10, 10 }, S32,
		   (int32_t[]){ 1, 16777215, 7, 3 });
	t = BEGIN(*arg, IO("a", S32, a, 4), IO("b", S64, b, 4), SCALAR("low", S32, &a[1]),
		  SCALAR("high", S32, &a[0]), CONST("at", S64, DIMS(0), 1),
		  SCALAR("axis", S64, DIMS(0)));
	ONE(t, NULL, "Clip", "a low high", "clip");
	ONE(t, NULL, "ReduceMin", "a at", "min");
	ONE(t, NULL, "ReduceMax", "b at", "max");
	ONE(t, NULL, "ReduceSum", "a at", "sum");
	ONE(t, NULL, "CumSum", "a axis", "sums");
	ONE(t, NULL, "Relu", "b", "r");
	ONE(t, NULL, "Min", "r b", "least");
	GIVES(t, IO("clip", S32, ((int32_t[]){ 16777217, -16777217, 16777217, -16777217 }), 4),
	      IO("min", S32, ((int32_t[]){ -INT32_MAX }), 1),
	      IO("max", S64, ((int64_t[]){ INT64_MAX }), 1),
	      IO("sum", S32, ((int32_t[]){ 0 }), 1),
	      IO("sums", S32, ((int32_t[]){ 16777217, 0, INT32_MAX, 0 }), 4),
	      IO("least", S64, b, 4));
	/* Behind another one they might become part of it. */
	t = BEGIN(*arg, IO("a", S32, a, 4), IO("b", S64, b, 4), SCALAR("one", S32, &one));
	ONE(t, NULL, "Add", "b b", "sum");
	ONE(t, NULL, "Relu", "sum", "y");
	ONE(t, NULL, "Mul", "a one", "product");
	ONE(t, NULL, "Relu", "product", "z");
	GIVES(t, IO("y", S64, ((int64_t[]){ (1LL << 54) + 2, 0, 0, 0 }), 4),
	      IO("z", S32, ((int32_t[]){ 16777217, 0, INT32_MAX, 0 }), 4));
}

/* One index of one element: what is taken has no dimensions. */
static void test_element(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 2, 2), IO("at", S64, DIMS(1, -2), 2));

	ONE(t, NULL, "GatherND", "x at", "y");
	GIVES(t, { "y", F32, 0, { 0 }, &x[2], false, NULL });
}

static void test_dropout(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 }, ratio = 0.5f, none;
	static const uint8_t yes = 1, no, ones[4] = { 1, 1, 1, 1 };
	struct accel_model *m;
	struct accel_error e;
	struct tested *t;

	t = BEGIN(*arg, IO("x", F32, x, 4), SCALAR("ratio", F32, &ratio),
		  SCALAR("mode", BOOL, &no));
	ONE(t, NULL, "Dropout", "x ratio mode", "y mask");
	GIVES(t, IO("y", F32, x, 4), IO("mask", BOOL, ones, 4));
	t = BEGIN(*arg, IO("x", F32, x, 4), SCALAR("ratio", F32, &none),
		  SCALAR("mode", BOOL, &yes));
	ONE(t, NULL, "Dropout", "x ratio mode", "y");
	GIVES(t, IO("y", F32, x, 4));
	/* A mode that is no boolean, or none at all */
	t = BEGIN(*arg, IO("x", F32, x, 4), SCALAR("ratio", F32, &ratio),
		  SCALAR("mode", F32, &x[0]));
	ONE(t, NULL, "Dropout", "x ratio mode", "y");
	assert_int_equal(open_tested(t, &e, &m), -EBADMSG);
	t = BEGIN(*arg, IO("x", F32, x, 4), SCALAR("ratio", F32, &ratio),
		  { "mode", BOOL, 1, { 0 }, &no, true, NULL });
	ONE(t, NULL, "Dropout", "x ratio mode", "y");
	assert_int_equal(open_tested(t, &e, &m), -EBADMSG);
}

/* Dimensions that are not there are no dimensions. */
static void test_no_dims(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	struct bed *bed = *arg;
	struct accel_program *program;
	struct accel_state *s;
	uint32_t v;

	v = add_input(bed, "x", ACCEL_F32, 1, DIMS(4));
	add_output(bed, "y", add_act(bed, "relu", ACCEL_ACT_RELU, v));
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	assert_int_equal(accel_state_set_input(s, 0, 1, NULL, NULL, 0), -EINVAL);
	fill_input(s, 0, x, sizeof(x));
	MUST(accel_state_run(s));
	accel_state_destroy(s);
	accel_program_unref(program);
}

static void one_shift(struct bed *bed, const char *way, int type, const void *a, const void *b,
		      const void *want)
{
	struct tested *t = BEGIN(bed, IO("a", type, a, 4), IO("b", type, b, 4));
	struct bytes n = op(NULL, "BitShift", "a b", "y");

	attr_text(&n, "direction", way);
	add_op(t, &n);
	GIVES(t, IO("y", type, want, 4));
}

/* Bits that are shifted out are gone, and those of small types are no more than these. */
static void test_bits(void **arg)
{
	static const uint8_t u8[4] = { 0, 5, 200, 255 }, by8[4] = { 1, 7, 1, 4 };
	static const uint16_t u16[4] = { 0, 5, 40000, 65535 }, by16[4] = { 1, 15, 1, 8 };
	static const uint32_t u32[4] = { 0, 5, 3000000000u, UINT32_MAX };
	static const uint32_t by32[4] = { 1, 31, 1, 16 };
	static const int8_t s8[4] = { 0, 5, -128, 127 };

	one_unary(*arg, "BitwiseNot", U8, u8, (uint8_t[]){ 255, 250, 55, 0 });
	one_unary(*arg, "BitwiseNot", U16, u16, (uint16_t[]){ 65535, 65530, 25535, 0 });
	one_unary(*arg, "BitwiseNot", U32, u32,
		  (uint32_t[]){ UINT32_MAX, UINT32_MAX - 5, 1294967295, 0 });
	one_unary(*arg, "BitwiseNot", S8, s8, (int8_t[]){ -1, -6, 127, -128 });
	one_shift(*arg, "LEFT", U8, u8, by8, (uint8_t[]){ 0, 128, 144, 240 });
	one_shift(*arg, "LEFT", U16, u16, by16, (uint16_t[]){ 0, 32768, 14464, 65280 });
	one_shift(*arg, "LEFT", U32, u32, by32,
		  (uint32_t[]){ 0, 1u << 31, 1705032704, 0xffff0000 });
	one_shift(*arg, "RIGHT", U8, u8, by8, (uint8_t[]){ 0, 0, 100, 15 });
	one_shift(*arg, "RIGHT", U32, u32, by32, (uint32_t[]){ 0, 0, 1500000000, 0xffff });
}

/* The mean of integers is one, towards zero. */
static void test_mean(void **arg)
{
	static const int64_t wide[4] = { 1, 2, -3, -4 };
	static const int32_t x[4] = { 3, 4, -1, -2 };
	struct tested *t = BEGIN(*arg, IO("x", S64, wide, 2, 2), CONST("at", S64, DIMS(1), 1));

	ONE(t, NULL, "ReduceMean", "x at", "y");
	GIVES(t, IO("y", S64, ((int64_t[]){ 1, -3 }), 2, 1));
	t = BEGIN(*arg, IO("x", S32, x, 2, 2), CONST("at", S64, DIMS(1), 1));
	ONE(t, NULL, "ReduceMean", "x at", "y");
	GIVES(t, IO("y", S32, ((int32_t[]){ 3, -1 }), 2, 1));
}

/* A number without dimensions stays one. */
static void test_scalar(void **arg)
{
	static const float x = 3;
	struct tested *t = BEGIN(*arg, { "x", F32, 0, { 0 }, &x, false, NULL });

	ONE(t, NULL, "ReduceSum", "x", "y");
	GIVES(t, { "y", F32, 0, { 0 }, &x, false, NULL });
}

static void refused(struct tested *t)
{
	struct accel_model *m;
	struct accel_error e;
	int ret = open_tested(t, &e, &m);

	if (!ret) {
		accel_model_close(m);
		fail_msg("it is not refused");
	}
	assert_true(ret == -EOPNOTSUPP || ret == -EBADMSG || ret == -EINVAL || ret == -EOVERFLOW);
	assert_true(e.text[0]);
}

static void refused_einsum(struct bed *bed, const char *equation)
{
	static const float x[4] = { 1, 2, 3, 4 };
	struct tested *t = BEGIN(bed, IO("x", F32, x, 4));
	struct bytes n = op(NULL, "Einsum", "x", "y");

	if (equation) {
		attr_text(&n, "equation", equation);
	} else {
		struct bytes a = { .n = 0 };

		put_text(&a, 1, "equation");
		put_int(&a, 20, 3);
		put_message(&n, 5, &a);
	}
	add_op(t, &n);
	refused(t);
}

/* A result has a dimension once. */
static void test_equations(void **arg)
{
	refused_einsum(*arg, "i->ii");
	refused_einsum(*arg, "...->......");
	refused_einsum(*arg, "i->j");
	refused_einsum(*arg, NULL);
}

/* What is cut off from both ends is less than there is, also where its sum is no number. */
static void test_cut(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	static const int64_t all[] = { INT64_MIN, INT64_MIN }, one[] = { INT64_MIN, 0 };
	static const int64_t more[] = { INT64_MAX, INT64_MAX };
	const int64_t *const lists[] = { all, one, more };
	struct tested *t;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 4), CONST("pads", S64, lists[i], 2));
		ONE(t, NULL, "Pad", "x pads", "y");
		refused(t);
	}
}

static void test_transposed(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	static const struct { const char *name; int64_t n; } bad[] = {
		{ "output_padding", INT64_MAX }, { "output_padding", INT64_MIN },
		{ "output_shape", INT64_MIN }, { "output_shape", INT64_MAX },
		{ "kernel_shape", 3 },
	};
	struct tested *t;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4), CONST("k", F32, x, 1, 1, 2));
		n = op(NULL, "ConvTranspose", "x k", "y");
		attr_ints(&n, bad[i].name, 1, &bad[i].n);
		add_op(t, &n);
		refused(t);
	}
}

/* A channel of one number has no variance: it is its mean. */
static void test_variance(void **arg)
{
	static const float x[8] = { 7, 7, 7, 7, 1, 3, 1, 3 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 2, 2, 2));

	ONE(t, NULL, "MeanVarianceNormalization", "x", "y");
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, ((float[]){ 0, 0, 0, 0, -1, 1, -1, 1 }), 1, 2, 2, 2));
}

static void test_groups(void **arg)
{
	static const float x[4] = { 1, 3, 5, 9 }, scale[4] = { 1, 2, 3, 4 };
	static const int64_t bad[] = { 0, -1, (1LL << 32) + 2, 3 };
	struct tested *t;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 4, 1), CONST("s", F32, scale, 4));
		n = op(NULL, "GroupNormalization", "x s s", "y");
		attr_int(&n, "num_groups", bad[i]);
		add_op(t, &n);
		refused(t);
	}
}

/* Before version 21 there is a scale for each group, since then for each channel. */
static void test_group_scales(void **arg)
{
	static const float x[8] = { 1, 3, 1, 3, 2, 6, 2, 6 }, two[2] = { 1, 10 }, add[2] = { 0, 5 };
	static const float four[4] = { 1, 2, 3, 4 }, none[4];
	struct bytes n = op(NULL, "GroupNormalization", "x s b", "y");
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 4, 2), CONST("s", F32, two, 2),
				 CONST("b", F32, add, 2));

	attr_int(&n, "num_groups", 2);
	attr_float(&n, "epsilon", 0.000000001f);
	t->opset = 18;
	t->bound = 0.00001;
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ -1, 1, -1, 1, -5, 15, -5, 15 }), 1, 4, 2));
	t = BEGIN(*arg, IO("x", F32, x, 1, 4, 2), CONST("s", F32, four, 4),
		  CONST("b", F32, none, 4));
	t->bound = 0.00001;
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ -1, 1, -2, 2, -3, 3, -4, 4 }), 1, 4, 2));
}

/* Numbers of more than 32 bits are not cut. */
static void test_wide(void **arg)
{
	static const struct { const char *op, *in, *name; } ops[] = {
		{ "Flatten", "x", "axis" }, { "Split", "x", "axis" },
		{ "GatherND", "x i", "batch_dims" },
	};
	static const float x[4] = { 1, 2, 3, 4 };
	struct tested *t;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 2, 2), CONST("i", S64, DIMS(0, 1), 2, 1));
		n = op(NULL, ops[i].op, ops[i].in, "y");
		attr_int(&n, ops[i].name, (1LL << 32) + 1);
		add_op(t, &n);
		refused(t);
	}
}

/* The answers of ONNX's reference, as its page has them, and two that were reckoned by hand */
static void test_antialias(void **arg)
{
	static const float x[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	static const float scales[4] = { 1, 1, 0.6f, 0.6f }, twice[5] = { 2, 2, 2, 2, 2 };
	static const float want[4][4] = {
		{ 2.875f, 4.5f, 9.375f, 11 },
		{ 2.5180721f, 4.2858863f, 9.589329f, 11.357142f },
		{ 4.125f, 5.875f, 11.125f, 12.875f },
		{ 3.451171875f, 5.470703125f, 11.529296875f, 13.548828125f },
	};
	struct tested *t;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 4), CONST("s", F32, scales, 4),
			  CONST("to", S64, DIMS(2, 2), 2));
		t->opset = 18;
		t->bound = 0.00001;
		n = op(NULL, "Resize", i < 2 ? "x - s" : "x - - to", "y");
		attr_text(&n, "mode", i % 2 ? "cubic" : "linear");
		attr_int(&n, "antialias", 1);
		if (i > 1)
			attr_ints(&n, "axes", 2, DIMS(3, 2));
		add_op(t, &n);
		GIVES(t, IO("y", F32, want[i], 1, 1, 2, 2));
	}
	/* Of no elements none is made, and no dimension is resampled again. */
	for (i = 0; i < 2; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, i ? 4 : 0), CONST("s", F32, twice, 5),
			  CONST("to", S64, DIMS(1, 1, 2, 2), 4));
		t->opset = 18;
		n = op(NULL, "Resize", i ? "x - s" : "x - - to", "y");
		attr_text(&n, "mode", "linear");
		attr_int(&n, "antialias", 1);
		if (i)
			attr_ints(&n, "axes", 5, DIMS(3, 3, 3, 3, 3));
		add_op(t, &n);
		refused(t);
	}
}

static void test_sizes(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	static const int64_t bad[] = { -1, 0, INT64_MIN, INT64_MAX };
	struct tested *t;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 2),
			  CONST("s", S64, DIMS(1, 1, bad[i], 4), 4));
		ONE(t, NULL, "Resize", "x - - s", "y");
		refused(t);
	}
}

/* Layers of many steps each are too many together. */
static void test_steps(void **arg)
{
	static const float one = 1;
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 4096, 1, 1),
				 CONST("w", F32, &one, 1, 1, 1), CONST("r", F32, &one, 1, 1, 1));
	char name[16];
	int i;

	for (i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "y%d", i);
		ONE(t, NULL, "RNN", "x w r", name);
	}
	refused(t);
}

/* Steps and batches may be symbols. */
static void test_known_steps(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 }, w[1] = { 1 }, r[1] = { 1 };
	static const int64_t given[] = { 2, 2, 1 };
	struct io in = IO("x", F32, x, 2, -1, 1);
	struct tested *t;
	uint32_t i;

	in.given = given;
	for (i = 0; i < 2; i++) {
		struct bytes n = op(NULL, "RNN", "x w r", "y"), a = { .n = 0 };

		t = BEGIN(*arg, in, CONST("w", F32, w, 1, 1, 1), CONST("r", F32, r, 1, 1, 1),
			  CONST("ends", F32, ((float[]){ -9, 9 }), 2));
		put_text(&a, 1, "activations");
		put_text(&a, 9, "Relu");
		put_int(&a, 20, 8);
		put_message(&n, 5, &a);
		add_op(t, &n);
		GIVES(t, IO("y", F32, ((float[]){ 1, 2, 4, 6 }), 2, 1, 2, 1));
		in.dims[0] = -2;
	}
	/* Images of a known size, as many as there are */
	in = (struct io)IO("x", F32, x, -1, 1, 2, 1);
	in.given = (const int64_t[]){ 2, 1, 2, 1 };
	t = BEGIN(*arg, in, CONST("w", F32, ((float[]){ 1, 10 }), 1, 1, 2, 1));
	{
		struct bytes n = op(NULL, "ConvTranspose", "x w", "y");

		attr_text(&n, "auto_pad", "SAME_UPPER");
		add_op(t, &n);
	}
	GIVES(t, IO("y", F32, ((float[]){ 1, 12, 3, 34 }), 2, 1, 2, 1));
}

/* Which dimensions are one follows from the version that the node says. */
static void test_softmax(void **arg)
{
	static const uint8_t x[4] = { 10, 10, 10, 10 }, zero;
	static const float one = 1, small = 1.0f / 256;
	struct bytes n = op(MS, "QLinearSoftmax", "x s z t z", "y");
	struct tested *t = BEGIN(*arg, IO("x", U8, x, 1, 2, 2), SCALAR("s", F32, &one),
				 SCALAR("z", U8, &zero), SCALAR("t", F32, &small));

	attr_int(&n, "axis", 1);
	attr_int(&n, "opset", 12);
	add_op(t, &n);
	GIVES(t, IO("y", U8, ((uint8_t[]){ 64, 64, 64, 64 }), 1, 2, 2));
}

/* Parameters go to the activations that have some. */
static void test_activations(void **arg)
{
	static const float x[1] = { -1 }, w[2] = { 1, 1 }, r[2] = { 0, 0 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 1, 1), CONST("w", F32, w, 2, 1, 1),
				 CONST("r", F32, r, 2, 1, 1));
	struct bytes n = op(NULL, "RNN", "x w r", "y"), a = { .n = 0 };
	float slope = 0.5f;

	attr_text(&n, "direction", "bidirectional");
	put_text(&a, 1, "activations");
	put_text(&a, 9, "Relu");
	put_text(&a, 9, "LeakyRelu");
	put_int(&a, 20, 8);
	put_message(&n, 5, &a);
	a.n = 0;
	put_text(&a, 1, "activation_alpha");
	put_bytes(&a, 7, &slope, sizeof(slope));
	put_int(&a, 20, 6);
	put_message(&n, 5, &a);
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ 0, -0.5f }), 1, 2, 1, 1));
}

/* Halves of bytes as numbers of their own: two in each. */
static void test_halves(void **arg)
{
	struct tested *t = BEGIN(*arg, CONST("s", F32, ((float[]){ 1 }), 1));
	struct bytes c = { .n = 0 };
	float want[600];
	int i;

	put_int(&c, 1, 600);
	put_int(&c, 2, S4);
	put_text(&c, 8, "x");
	for (i = 0; i < 300; i++)
		put_int(&c, 5, 0x9a);
	for (i = 0; i < 600; i++)
		want[i] = i % 2 ? -7 : -6;
	put_message(&t->g, 5, &c);
	ONE(t, NULL, "DequantizeLinear", "x s", "y");
	GIVES(t, IO("y", F32, want, 600));
}

/* Sums over what a file repeats are not made while it is read. */
static void test_large(void **arg)
{
	static const int64_t large = 1LL << 40;
	struct tested *t = BEGIN(*arg, CONST("n", S64, &large, 1));
	struct accel_model *m;
	struct accel_error e;

	ONE(t, NULL, "ConstantOfShape", "n", "x");
	ONE(t, NULL, "ReduceSum", "x", "y");
	alarm(20);
	if (!open_tested(t, &e, &m))
		accel_model_close(m);
	alarm(0);
}

/* Indices are integers. */
static void test_indices(void **arg)
{
	static const double at[2] = { 0x1p80, 1 };
	static const float x[4] = { 1, 2, 3, 4 };
	struct tested *t = BEGIN(*arg, CONST("x", F32, x, 4), CONST("at", F64, at, 2));

	ONE(t, NULL, "Gather", "x at", "y");
	refused(t);
}

static void test_quantized(void **arg)
{
	static const int32_t x[4] = { 100, -3, 5, 1000 };
	static const float two = 2, real[4] = { 1, 2, 3, 4 };
	static const uint8_t ten = 10;
	struct tested *t = BEGIN(*arg, IO("x", S32, x, 4), SCALAR("s", F32, &two),
				 SCALAR("z", U8, &ten));
	struct bytes n;

	ONE(t, NULL, "QuantizeLinear", "x s z", "y");
	GIVES(t, IO("y", U8, ((uint8_t[]){ 60, 8, 12, 255 }), 4));
	/* An input that is not there is none of the others. */
	t = BEGIN(*arg, IO("x", F32, real, 4), SCALAR("s", F32, &two), SCALAR("z", U8, &ten));
	ONE(t, NULL, "QuantizeLinear", "x s z", "q");
	n = op(MS, "QLinearConcat", "s z q s z - s z", "y");
	attr_int(&n, "axis", 0);
	add_op(t, &n);
	refused(t);
	t = BEGIN(*arg, IO("x", F32, real, 4), SCALAR("s", F32, &two), SCALAR("z", U8, &ten));
	ONE(t, NULL, "QuantizeLinear", "x s z", "q");
	n = op(MS, "QLinearConcat", "s z q s z q - z", "y");
	attr_int(&n, "axis", 0);
	add_op(t, &n);
	refused(t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_symbols), TEST(test_no_symbols), TEST(test_casts),   TEST(test_integers),
		TEST(test_exact), TEST(test_element), TEST(test_dropout),    TEST(test_no_dims),
		TEST(test_bits), TEST(test_mean), TEST(test_scalar), TEST(test_equations),
		TEST(test_cut), TEST(test_transposed), TEST(test_variance), TEST(test_groups),
		TEST(test_activations), TEST(test_halves), TEST(test_large), TEST(test_indices),
		TEST(test_quantized), TEST(test_group_scales), TEST(test_wide), TEST(test_sizes),
		TEST(test_antialias),
		TEST(test_steps), TEST(test_softmax), TEST(test_known_steps),
	};

	return cmocka_run_group_tests_name("onnx_ops", tests, NULL, NULL);
}
