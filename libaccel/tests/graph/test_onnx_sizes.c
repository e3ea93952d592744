// SPDX-License-Identifier: MIT
/*
 * Operators whose sizes are symbols, or what running finds: nothing of them may be a guess. Those
 * of more dimensions than engines have.
 */
#include "onnxop.h"

/* A dimension of symbols, and what it is */
#define SYMBOLIC(name, type, data, real, ...) \
	{ \
		name, type, RANK(__VA_ARGS__), { __VA_ARGS__ }, data, false, real \
	}

/*
 * Queries, keys and values beside each other, as wide as a symbol says. Queries of zeros see all
 * keys alike: what comes out is the mean of the values up to each place.
 */
static void test_packed(void **arg)
{
	enum { N = 2, KV = 1, H = 40, COLS = (N + 2 * KV) * H };
	static const int64_t real[] = { 1, 2, COLS };
	static float qkv[2 * COLS], y[2 * N * H];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < COLS; i++) {
		qkv[i] = i < N * H ? 0 : (float)i;
		qkv[COLS + i] = i < N * H ? 0 : (float)(i + 4);
	}
	for (i = 0; i < N * H; i++) {
		y[i] = (float)((N + KV) * H + i % H);
		y[N * H + i] = y[i] + 2;
	}
	t = BEGIN(*arg, SYMBOLIC("x", F32, qkv, real, 1, -1, -2),
		  IO("lens", S32, ((int32_t[]){ 1 }), 1), SCALAR("all", S32, ((int32_t[]){ 2 })));
	n = op(MS, "GroupQueryAttention", "x - - - - lens all", "y");
	attr_int(&n, "num_heads", N);
	attr_int(&n, "kv_num_heads", KV);
	add_op(t, &n);
	t->bound = 0.0001;
	GIVES(t, IO("y", F32, y, 1, 2, N * H));
}

/* Heads are as wide as the tables: each is turned by a quarter. */
static void test_turned(void **arg)
{
	enum { H = 4, COLS = 128 };
	static const float cosines[H / 2], sines[H / 2] = { 1, 1 };
	static const int64_t real[] = { 1, 1, COLS }, at[1] = { 0 };
	float x[COLS], y[COLS];
	int i;

	for (i = 0; i < COLS; i++) {
		x[i] = (float)i;
		y[i] = (float)(i % H < H / 2 ? -(i + H / 2) : i - H / 2);
	}
	struct tested *t = BEGIN(*arg, SYMBOLIC("x", F32, x, real, 1, -1, -2),
				 CONST("at", S64, at, 1), CONST("c", F32, cosines, 1, H / 2),
				 CONST("s", F32, sines, 1, H / 2));

	ONE(t, MS, "RotaryEmbedding", "x at c s", "y");
	GIVES(t, IO("y", F32, y, 1, 1, COLS));
}

/* Weights of all three as wide as a symbol says, and those that are no whole heads */
static void test_projected(void **arg)
{
	static const float x[2] = { 1, 1 }, w[28] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4 };
	static const float y[4] = { 1, 2, 3, 4 };
	static const int64_t real[] = { 1, 12 }, sizes[] = { 4, 4, 2 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 1, 1),
				 SYMBOLIC("w", F32, w, real, 1, -1));
	struct bytes n = op(MS, "Attention", "x w", "y");
	int i;

	attr_int(&n, "num_heads", 2);
	add_op(t, &n);
	GIVES(t, IO("y", F32, y, 1, 1, 4));
	for (i = 0; i < 2; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2), CONST("w", F32, w, 2, 14));
		n = op(MS, "Attention", "x w", "y");
		attr_int(&n, "num_heads", 1);
		if (i)
			attr_ints(&n, "qkv_hidden_sizes", 3, sizes);
		add_op(t, &n);
		must_refuse(t, -EBADMSG, "14 columns for 3 heads");
	}
}

/* A bias of all three whose parts lie where symbols say; a past of which there is nothing */
static void test_bias(void **arg)
{
	enum { N = 2, H = 36, COLS = N * H };
	static const int64_t real[] = { 1, 1, COLS }, width[] = { 3 * COLS };
	static float x[COLS], bias[3 * COLS], y[COLS];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < COLS; i++) {
		x[i] = (float)i;
		bias[2 * COLS + i] = (float)(2 * i);
		y[i] = (float)(3 * i);
	}
	t = BEGIN(*arg, SYMBOLIC("x", F32, x, real, 1, 1, -1),
		  SYMBOLIC("b", F32, bias, width, -2), SCALAR("past", S32, ((int32_t[]){ 0 })));
	n = op(MS, "MultiHeadAttention", "x x x b - - - - past", "y");
	attr_int(&n, "num_heads", N);
	add_op(t, &n);
	GIVES(t, IO("y", F32, y, 1, 1, COLS));
}

/* Nothing that running finds: of all batches those are taken whose number is not 0. */
static void test_nothing(void **arg)
{
	static const float x[24], none[2];
	struct tested *t = BEGIN(*arg, IO("which", F32, none, 2), CONST("x", F32, x, 2, 2, 4),
				 CONST("w", F32, x, 4, 6), CONST("s", F32, x, 2, 5, 1),
				 CONST("flat", S64, DIMS(-1), 1),
				 CONST("c", F32, x, 1, 2), CONST("at", S64, DIMS(0), 1),
				 SCALAR("step", S64, DIMS(2)), CONST("win", F32, x, 3));
	struct bytes n;

	ONE(t, NULL, "NonZero", "which", "found");
	ONE(t, NULL, "Reshape", "found flat", "of");
	ONE(t, NULL, "Gather", "x of", "q");
	ONE(t, NULL, "Gather", "s of", "signal");
	n = op(MS, "MultiHeadAttention", "q q q", "a");
	attr_int(&n, "num_heads", 2);
	add_op(t, &n);
	n = op(NULL, "Attention", "q q q", "b - - scores");
	attr_int(&n, "q_num_heads", 2);
	attr_int(&n, "kv_num_heads", 2);
	add_op(t, &n);
	n = op(MS, "Attention", "q w", "c2");
	attr_int(&n, "num_heads", 1);
	add_op(t, &n);
	ONE(t, MS, "RotaryEmbedding", "q at c c", "d");
	ONE(t, NULL, "DFT", "signal", "e");
	ONE(t, NULL, "STFT", "signal step win", "f");
	t->opset = 23;
	GIVES(t, IO("a", F32, x, 0, 2, 4), IO("b", F32, x, 0, 2, 4),
	      IO("scores", F32, x, 0, 2, 2, 2), IO("c2", F32, x, 0, 2, 2), IO("d", F32, x, 0, 2, 4),
	      IO("e", F32, x, 0, 5, 2), IO("f", F32, x, 0, 2, 2, 2));
}

/* As many blocks as symbols say, each with its scale, of which the last is a part of one */
static void test_blocks(void **arg)
{
	static const int64_t rows[] = { 2, 5 }, scales[] = { 2, 2 };
	static const uint8_t q[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	static const float s[6] = { 1, 2, 4, 8 };
	static const float y[10] = { 1, 2, 3, 8, 10, 24, 28, 32, 72, 80 };
	struct tested *t = BEGIN(*arg, SYMBOLIC("q", U8, q, rows, -1, -2),
				 SYMBOLIC("s", F32, s, scales, -1, -3),
				 SYMBOLIC("y", F32, y, rows, -1, -2));
	struct bytes n;
	int i;

	for (i = 0; i < 2; i++) {
		n = op(NULL, i ? "QuantizeLinear" : "DequantizeLinear", i ? "y s" : "q s",
		       i ? "back" : "there");
		attr_int(&n, "axis", 1);
		attr_int(&n, "block_size", 3);
		add_op(t, &n);
	}
	GIVES(t, IO("there", F32, y, 2, 5), IO("back", U8, q, 2, 5));
	t = BEGIN(*arg, IO("q", U8, q, 2, 5), IO("s", F32, s, 2, 3));
	n = op(NULL, "DequantizeLinear", "q s", "y");
	attr_int(&n, "axis", 1);
	attr_int(&n, "block_size", 3);
	add_op(t, &n);
	must_refuse(t, -EINVAL, "6 elements become 4");
}

/* Windows that are as large as weights whose size is a symbol */
static void test_windows(void **arg)
{
	static const char *const types[] = { "Conv", "ConvTranspose" };
	static const float x[4];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 4; i++) {
		if (i < 2)
			t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4), IO("w", F32, x, 1, 1, -1));
		else
			t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 1, 1),
				  IO("w", F32, x, 1, 1, -1, 1, 1));
		n = op(NULL, types[i & 1], "x w", "y");
		if (i < 2)
			attr_text(&n, "auto_pad", "SAME_UPPER");
		add_op(t, &n);
		must_refuse(t, -EOPNOTSUPP, "weights whose size is a symbol");
	}
}

/* Windows of weights whose size is a symbol, and that kernel_shape says: they have it. */
static void test_kernel_shape(void **arg)
{
	static const char *const types[] = { "Conv", "ConvTranspose" };
	static const float x[] = { 1, 2, 3, 4 }, w[] = { 1, 10, 100 };
	static const int64_t real[] = { 1, 1, 2, 1, 1 }, other[] = { 1, 1, 3 };
	static const float same[2][4] = { { 21, 32, 43, 4 }, { 1, 12, 23, 34 } };
	static const float planes[2][5] = { { 21, 32, 43 }, { 1, 12, 23, 34, 40 } };
	struct tested *t;
	struct bytes n;
	int i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < 2; k++) {
			t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4),
				  SYMBOLIC("w", F32, w, k ? other : real, 1, 1, -1));
			n = op(NULL, types[i], "x w", "y");
			attr_text(&n, "auto_pad", "SAME_UPPER");
			attr_ints(&n, "kernel_shape", 1, DIMS(2));
			add_op(t, &n);
			if (k)
				must_fail(t, -EINVAL, "its pieces are not those of 3 elements");
			else
				GIVES(t, IO("y", F32, same[i], 1, 1, 4));
		}
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4, 1, 1),
			  SYMBOLIC("w", F32, w, real, 1, 1, -1, -2, 1));
		n = op(NULL, types[i], "x w", "y");
		attr_ints(&n, "kernel_shape", 3, DIMS(2, 1, 1));
		add_op(t, &n);
		GIVES(t, IO("y", F32, planes[i], 1, 1, i ? 5 : 3, 1, 1));
	}
}

/* As much padding as sizes that are symbols need, behind or before */
static void test_same(void **arg)
{
	static const struct {
		const char *type;
		int64_t all;
		float want[2][2];
	} cases[] = {
		{ "Conv", 0, { { -321, -43 }, { -210, -432 } } },
		{ "MaxPool", 0, { { -1, -3 }, { -1, -2 } } },
		{ "AveragePool", 0, { { -2, -3.5f }, { -1.5f, -3 } } },
		{ "AveragePool", 1, { { -2, -7.f / 3 }, { -1, -3 } } },
		{ "LpPool", 0, { { 6, 7 }, { 3, 9 } } },
	};
	static const float x[] = { -1, -2, -3, -4, -5 }, w[] = { 1, 10, 100 };
	static const float odd[] = { -210, -432, -54 }, each[] = { -210, -321, -432, -43 };
	static const float spread[] = { -1, -10, -102, -20, -203, -30, -304, -40 };
	static const int64_t four[] = { 1, 1, 4 }, five[] = { 1, 1, 5 };
	const char *in;
	struct tested *t;
	struct bytes n;
	uint32_t i;
	int lower;

	for (i = 0; i < COUNT(cases); i++) {
		for (lower = 0; lower < 2; lower++) {
			t = BEGIN(*arg, SYMBOLIC("x", F32, x, four, 1, 1, -1),
				  CONST("w", F32, w, 1, 1, 3));
			in = i ? "x" : "x w";
			n = op(NULL, cases[i].type, in, "y");
			attr_text(&n, "auto_pad", lower ? "SAME_LOWER" : "SAME_UPPER");
			attr_ints(&n, "kernel_shape", 1, DIMS(3));
			attr_ints(&n, "strides", 1, DIMS(2));
			if (cases[i].all)
				attr_int(&n, "count_include_pad", cases[i].all);
			if (!strcmp(cases[i].type, "LpPool"))
				attr_int(&n, "p", 1);
			add_op(t, &n);
			t->bound = 0.000001;
			GIVES(t, IO("y", F32, cases[i].want[lower], 1, 1, 2));
		}
	}
	t = BEGIN(*arg, SYMBOLIC("x", F32, x, five, 1, 1, -1), CONST("w", F32, w, 1, 1, 3));
	n = op(NULL, "Conv", "x w", "y");
	attr_text(&n, "auto_pad", "SAME_UPPER");
	attr_ints(&n, "strides", 1, DIMS(2));
	add_op(t, &n);
	GIVES(t, IO("y", F32, odd, 1, 1, 3));
	/* Steps of one, and results that are more than inputs, need the same of each size. */
	t = BEGIN(*arg, SYMBOLIC("x", F32, x, four, 1, 1, -1), CONST("w", F32, w, 1, 1, 3));
	n = op(NULL, "Conv", "x w", "y");
	attr_text(&n, "auto_pad", "SAME_LOWER");
	add_op(t, &n);
	n = op(NULL, "ConvTranspose", "x w", "z");
	attr_text(&n, "auto_pad", "SAME_UPPER");
	attr_ints(&n, "strides", 1, DIMS(2));
	add_op(t, &n);
	GIVES(t, IO("y", F32, each, 1, 1, 4), IO("z", F32, spread, 1, 1, 8));
}

/* A layer whose weights' size is a symbol is as large as it says, without a bias too. */
static void test_layer(void **arg)
{
	static const int64_t steps[] = { 2, 1, 1 }, rows[] = { 1, 2, 1 };
	static const float in[] = { 1, 3 }, w[] = { 1, 2 }, r[4];
	static const float y[] = { 0.76159416f, 0.96402758f, 0.99505475f, 0.99998771f };
	struct tested *t = BEGIN(*arg, SYMBOLIC("x", F32, in, steps, -1, 1, 1),
				 SYMBOLIC("w", F32, w, rows, 1, -2, 1),
				 CONST("r", F32, r, 1, 2, 2));
	struct bytes n = op(NULL, "RNN", "x w r", "y");

	attr_int(&n, "hidden_size", 2);
	add_op(t, &n);
	t->bound = 0.000001;
	GIVES(t, IO("y", F32, y, 2, 1, 1, 2));
}

/* Operators that want several symbols to be what they are, each of a name of its own */
static void test_several(void **arg)
{
	static const float x[] = { 1, 2, 3, 4, 5, 6 }, ones[] = { 1, 1, 1, 1, 1, 1 };
	static const float lines[] = { -1.4638501f, -0.8783101f, -0.2927700f, 0.2927700f,
				       0.8783101f, 1.4638501f };
	static const float y[] = { 8, 11 };
	static const int64_t three[] = { 1, 2, 3, 1, 1 }, two[] = { 2, 2, 2 };
	static const int64_t row[] = { 1, 2, 1, 1, 2 };
	struct tested *t;
	struct bytes n;

	t = BEGIN(*arg, SYMBOLIC("x", F32, x, three, -1, -2, -3), CONST("s", F32, ones, 2, 3));
	n = op(NULL, "LayerNormalization", "x s", "y");
	attr_int(&n, "axis", 1);
	add_op(t, &n);
	t->bound = 0.00001;
	GIVES(t, IO("y", F32, lines, 1, 2, 3));
	t = BEGIN(*arg, SYMBOLIC("a", F32, x, row, -1, -2), SYMBOLIC("b", F32, x, two, -3, -4),
		  SYMBOLIC("c", F32, ones, two, -5));
	ONE(t, NULL, "Gemm", "a b c", "y");
	GIVES(t, IO("y", F32, y, 1, 2));
	t = BEGIN(*arg, SYMBOLIC("x", F32, x, row, -1, -2, -3, -4, -5),
		  CONST("at", S64, DIMS(2), 1));
	ONE(t, NULL, "Squeeze", "x at", "y");
	GIVES(t, IO("y", F32, x, 1, 2, 1, 2));
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 5), SYMBOLIC("w", F32, ones, two, -1, -2, 2),
		  CONST("b", F32, x, 2));
	ONE(t, NULL, "Conv", "x w b", "y");
	t->in[1].given = (const int64_t[]){ 2, 1, 2 };
	GIVES(t, IO("y", F32, ((float[]){ 4, 6, 8, 10, 5, 7, 9, 11 }), 1, 2, 4));
	t = BEGIN(*arg, SYMBOLIC("x", F32, x, two, -1, -2), CONST("w", F32, x, 2, 2));
	ONE(t, NULL, "Add", "x w", "a");
	ONE(t, NULL, "MatMul", "x w", "b");
	GIVES(t, IO("b", F32, ((float[]){ 7, 10, 15, 22 }), 2, 2));
}

/* Of nothing that the file says: no images, no examples */
static void test_none(void **arg)
{
	static const float x[8];
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 0, 2, 3, 3, 3),
				 IO("w", F32, x, 2, 2, 1, 1, 1), IO("y", F32, x, 0, 2, 3),
				 IO("of", S64, DIMS(0), 0, 3),
				 CONST("v", F32, x, 1, 2, 3), CONST("r", F32, x, 1, 2, 2));
	struct bytes n;

	ONE(t, NULL, "Conv", "x w", "a");
	ONE(t, NULL, "ConvTranspose", "x w", "b");
	n = op(NULL, "LRN", "x", "c");
	attr_int(&n, "size", 3);
	add_op(t, &n);
	n = op(NULL, "NegativeLogLikelihoodLoss", "y of", "d");
	attr_text(&n, "reduction", "none");
	add_op(t, &n);
	n = op(NULL, "Einsum", "y y", "e");
	attr_text(&n, "equation", "nij,nkj->nik");
	add_op(t, &n);
	/* No steps of time */
	ONE(t, NULL, "RNN", "y v r", "f g");
	GIVES(t, IO("a", F32, x, 0, 2, 3, 3, 3), IO("b", F32, x, 0, 2, 3, 3, 3),
	      IO("c", F32, x, 0, 2, 3, 3, 3), IO("d", F32, x, 0, 3), IO("e", F32, x, 0, 2, 2),
	      IO("f", F32, x, 0, 1, 2, 2), IO("g", F32, x, 1, 2, 2));
}

/* Numbers that a symbol says are real or complex; more parts than two there are not. */
static void test_parts(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	static const float real[4] = { 3, 0, -1, 0 }, both[4] = { 4, 6, -2, -2 };
	static const int64_t sizes[][3] = { { 1, 2, 1 }, { 1, 2, 2 }, { 1, 1, 3 } };
	struct tested *t;
	int i;

	for (i = 0; i < 3; i++) {
		t = BEGIN(*arg, SYMBOLIC("x", F32, x, sizes[i], 1, -2, -1));
		ONE(t, NULL, "DFT", "x", "y");
		t->opset = 17;
		t->bound = 0.000001;
		if (i < 2)
			GIVES(t, IO("y", F32, i ? both : real, 1, 2, 2));
		else
			must_fail(t, -EINVAL, "node y (DFT)");
	}
	t = BEGIN(*arg, SYMBOLIC("x", F32, x, sizes[0], 1, -2, -1),
		  SCALAR("step", S64, DIMS(2)), SCALAR("length", S64, DIMS(2)));
	struct bytes n = op(NULL, "STFT", "x step - length", "y");

	attr_int(&n, "onesided", 0);
	add_op(t, &n);
	t->bound = 0.000001;
	GIVES(t, IO("y", F32, real, 1, 1, 2, 2));
	t = BEGIN(*arg, SYMBOLIC("x", F32, x, sizes[1], 1, -2, -1),
		  SCALAR("step", S64, DIMS(2)), SCALAR("length", S64, DIMS(2)));
	ONE(t, NULL, "STFT", "x step - length", "y");
	must_fail(t, -EINVAL, "node y (STFT)");
}

static void one_axis(struct tested *t, const char *type, const char *in, const char *out,
		     int64_t axis)
{
	struct bytes n = op(NULL, type, in, out);

	attr_int(&n, "axis", axis);
	add_op(t, &n);
}

/* A symbol of which two inputs say other numbers; one that is 0, as that of an empty cache */
static void test_unlike(void **arg)
{
	static const int64_t three[] = { 3, 1 }, two[] = { 2, 1 }, none[] = { 0, 1 };
	static const float x[3], new[] = { 3, -2 };
	struct tested *t = BEGIN(*arg, SYMBOLIC("a", F32, x, three, -1, 1),
				 SYMBOLIC("b", F32, x, two, -1, 1));

	ONE(t, NULL, "Add", "a b", "y");
	must_fail(t, -EINVAL, "it is 3, but dimension 0 of b is 2");
	t = BEGIN(*arg, SYMBOLIC("a", F32, x, none, -1, 1), SYMBOLIC("b", F32, new, two, -2, 1));
	ONE(t, NULL, "Neg", "a", "y");
	one_axis(t, "Concat", "a b", "z", 0);
	one_axis(t, "Softmax", "a", "q", 1);
	GIVES(t, IO("y", F32, new, 0, 1), IO("z", F32, new, 2, 1), IO("q", F32, new, 0, 1));
	/* Dimensions that do not fit are told by the node and the operator of the file. */
	t = BEGIN(*arg, SYMBOLIC("a", F32, x, three, -1, 1), SYMBOLIC("b", F32, x, two, -2, 1));
	ONE(t, NULL, "Add", "a b", "y");
	must_fail(t, -EINVAL, "node y (Add): dimensions 3 and 2 do not broadcast");
}

/* Six dimensions, which engines do not have: numbers, all different, and where each of them is */
enum { MANY = 48 };
static const int64_t many[6] = { 2, 1, 3, 2, 2, 2 };
static float numbers[MANY];

static void place_of(uint32_t i, uint32_t place[6])
{
	uint32_t k;

	for (k = 6; k-- > 0; i /= (uint32_t)many[k])
		place[k] = i % (uint32_t)many[k];
}

static uint32_t index_of(const uint32_t place[6], const int64_t *dims)
{
	uint32_t i = 0, k;

	for (k = 0; k < 6; k++)
		i = i * (uint32_t)dims[k] + place[k];
	return i;
}

static struct tested *many_dims(struct bed *bed, bool symbols, uint32_t count,
				const struct io *more)
{
	struct io in[8] = { { "x", F32, 6, { 2, 1, 3, 2, 2, 2 }, numbers, false, many } };
	uint32_t i;

	for (i = 0; i < MANY; i++)
		numbers[i] = (float)(i * 7 % MANY) - 20;
	if (symbols)
		in[0].dims[0] = in[0].dims[3] = -1;
	memcpy(in + 1, more, count * sizeof(*in));
	return begin(bed, in, count + 1);
}

#define MANY_DIMS(bed, symbols, ...) \
	many_dims(bed, symbols, sizeof((const struct io[]){ __VA_ARGS__ }) / sizeof(struct io), \
		  (const struct io[]){ __VA_ARGS__ })

/* Along dimension 2, which has 3 */
static void test_many_along(void **arg)
{
	static const int64_t axis = 2, one[] = { 1 }, pair[] = { 2, 0 };
	static const int64_t twice[] = { 2, 1, 6, 2, 2, 2 }, two[] = { 2, 1, 2, 2, 2, 2 };
	static const uint8_t some[] = { 0, 1, 1 };
	static float sums[MANY], soft[MANY], joined[2 * MANY], most[MANY / 3], taken[MANY / 3 * 2];
	static float last[MANY / 3], left[MANY / 3 * 2];
	static int64_t where[MANY / 3];
	uint32_t i, k, at, to, p[6], way;
	struct tested *t;

	for (way = 0; way < 2; way++) {
		t = MANY_DIMS(*arg, way, SCALAR("axis", S64, &axis), CONST("one", S64, one, 1),
			      CONST("pair", S64, pair, 1, 2), CONST("some", BOOL, some, 3));
		for (i = 0; i < MANY / 3; i++) {
			double sum = 0;

			place_of(i / 8 * 24 + i % 8, p);
			for (k = 0; k < 3; k++)
				sum += exp((double)numbers[i / 8 * 24 + k * 8 + i % 8]);
			to = i;
			most[to] = -100;
			for (k = 0; k < 3; k++) {
				p[2] = k;
				at = index_of(p, many);
				sums[at] = (k ? sums[at - 8] : 0) + numbers[at];
				soft[at] = (float)(exp((double)numbers[at]) / sum);
				where[to] = numbers[at] > most[to] ? k : where[to];
				most[to] = fmaxf(most[to], numbers[at]);
				joined[index_of(p, twice)] = numbers[at];
				p[2] = k + 3;
				joined[index_of(p, twice)] = numbers[at];
				p[2] = k == 2 ? 0 : 1;
				if (k != 1)
					taken[index_of(p, two)] = numbers[at];
				p[2] = k - 1;
				if (k)
					left[index_of(p, two)] = numbers[at];
				if (k == 2)
					last[to] = numbers[at];
			}
		}
		ONE(t, NULL, "CumSum", "x axis", "sums");
		one_axis(t, "Softmax", "x", "soft", 2);
		one_axis(t, "Concat", "x x", "joined", -4);
		one_axis(t, "TopK", "x one", "most where", 2);
		one_axis(t, "ArgMax", "x", "arg", -4);
		one_axis(t, "Gather", "x pair", "taken", 2);
		one_axis(t, "Compress", "x some", "left", 2);
		t->bound = 0.000001;
		GIVES(t, { "sums", F32, 6, { 2, 1, 3, 2, 2, 2 }, sums, false, NULL },
		      { "soft", F32, 6, { 2, 1, 3, 2, 2, 2 }, soft, false, NULL },
		      { "joined", F32, 6, { 2, 1, 6, 2, 2, 2 }, joined, false, NULL },
		      { "most", F32, 6, { 2, 1, 1, 2, 2, 2 }, most, false, NULL },
		      { "where", S64, 6, { 2, 1, 1, 2, 2, 2 }, where, false, NULL },
		      { "arg", S64, 6, { 2, 1, 1, 2, 2, 2 }, where, false, NULL },
		      { "taken", F32, 7, { 2, 1, 1, 2, 2, 2, 2 }, taken, false, NULL },
		      { "left", F32, 6, { 2, 1, 2, 2, 2, 2 }, left, false, NULL });
	}
	/* An index without dimensions takes one away; what is no axis is said. */
	t = MANY_DIMS(*arg, true, SCALAR("two", S64, &axis));
	one_axis(t, "Gather", "x two", "y", 2);
	GIVES(t, IO("y", F32, last, 2, 1, 2, 2, 2));
	t = MANY_DIMS(*arg, true, SCALAR("two", S64, &axis));
	one_axis(t, "Softmax", "x", "y", 6);
	must_refuse(t, -EBADMSG, "node y (Softmax): axis 6 of 6 dimensions");
}

/* Sums, means and norms over dimensions that are no neighbours, and places among several */
static void test_many_apart(void **arg)
{
	static const int64_t axes[] = { 0, 2, -1 }, pads[] = { 1, 0, 0, 2 }, ends[] = { 0, 4 };
	static const int64_t at[] = { 1, 0, 2, 0, 0, 1 };
	static const int64_t few[12] = { 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1 };
	static const float new[16] = { 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8 };
	static const int64_t wide[] = { 3, 1, 3, 2, 4, 2 }, least[] = { 1, 1, 3, 1, 2, 2 };
	static float sums[4], means[MANY], padded[144], got[16], set[MANY], cells[12];
	uint32_t i, k, p[6], q[6], way;
	struct tested *t;
	struct bytes n;

	for (way = 0; way < 2; way++) {
		double sum[4] = { 0 }, squares[4] = { 0 };

		n = op(NULL, "MeanVarianceNormalization", "x", "mean");
		attr_ints(&n, "axes", 3, axes);
		t = MANY_DIMS(*arg, way, CONST("axes", S64, axes, 3), CONST("pads", S64, pads, 4),
			      CONST("ends", S64, ends, 2), CONST("at", S64, at, 2, 3),
			      CONST("few", S64, few, 1, 1, 3, 1, 2, 2),
			      CONST("new", F32, new, 2, 2, 2, 2));
		memset(padded, 0, sizeof(padded));
		memcpy(set, numbers, sizeof(set));
		for (i = 0; i < MANY; i++) {
			place_of(i, p);
			sum[p[3] * 2 + p[4]] += (double)numbers[i];
			squares[p[3] * 2 + p[4]] += (double)numbers[i] * (double)numbers[i];
		}
		for (i = 0; i < MANY; i++) {
			place_of(i, p);
			k = p[3] * 2 + p[4];
			sums[k] = (float)sum[k];
			means[i] = (float)(((double)numbers[i] - sum[k] / 12) /
					   sqrt(squares[k] / 12 - sum[k] * sum[k] / 144));
			memcpy(q, p, sizeof(q));
			q[0]++;
			padded[index_of(q, wide)] = numbers[i];
			/* Rows at 1, 0, 2 and at 0, 0, 1 */
			if (p[0] == 1 && p[2] == 2)
				got[i % 8] = numbers[i];
			if (p[0] == 0 && p[2] == 1)
				got[8 + i % 8] = numbers[i];
			if ((p[0] == 1 && p[2] == 2) || (p[0] == 0 && p[2] == 1))
				set[i] = new[(p[0] ? 0 : 8) + i % 8];
			/* The index along dimension 3, for the first of its places */
			if (!p[0] && !p[3]) {
				k = index_of(p, least);
				memcpy(q, p, sizeof(q));
				q[3] = (uint32_t)few[k];
				cells[k] = numbers[index_of(q, many)];
			}
		}
		ONE(t, NULL, "ReduceSum", "x axes", "sums");
		add_op(t, &n);
		n = op(NULL, "ReduceSum", "x axes", "flat");
		attr_int(&n, "keepdims", 0);
		add_op(t, &n);
		ONE(t, NULL, "Pad", "x pads - ends", "padded");
		ONE(t, NULL, "GatherND", "x at", "got");
		ONE(t, NULL, "ScatterND", "x at new", "set");
		one_axis(t, "GatherElements", "x few", "cells", 3);
		t->bound = 0.00001;
		GIVES(t, { "sums", F32, 6, { 1, 1, 1, 2, 2, 1 }, sums, false, NULL },
		      { "mean", F32, 6, { 2, 1, 3, 2, 2, 2 }, means, false, NULL },
		      { "flat", F32, 3, { 1, 2, 2 }, sums, false, NULL },
		      { "padded", F32, 6, { 3, 1, 3, 2, 4, 2 }, padded, false, NULL },
		      { "got", F32, 4, { 2, 2, 2, 2 }, got, false, NULL },
		      { "set", F32, 6, { 2, 1, 3, 2, 2, 2 }, set, false, NULL },
		      { "cells", F32, 6, { 1, 1, 3, 1, 2, 2 }, cells, false, NULL });
	}
}

/* Layers: of the last two dimensions, of channels; products by one matrix, and by one of each */
static void test_many_layers(void **arg)
{
	static const float w[4] = { 1, 2, 3, 4 }, one[1] = { 2 }, half[1] = { 0.5f };
	static float norm[MANY], mean[MANY / 4], rate[MANY / 4], scaled[MANY], by[MANY], like[MANY];
	struct tested *t;
	struct bytes n;
	uint32_t i, k, m, way;

	for (way = 0; way < 2; way++) {
		t = MANY_DIMS(*arg, way, CONST("w", F32, w, 2, 2), CONST("two", F32, one, 1),
			      CONST("shift", F32, one, 1), CONST("half", F32, half, 1));
		for (i = 0; i < MANY / 4; i++) {
			const float *x = numbers + (size_t)i * 4;
			double sum = 0, square = 0;

			for (k = 0; k < 4; k++) {
				sum += (double)x[k] / 4;
				square += (double)x[k] * (double)x[k] / 4;
			}
			mean[i] = (float)sum;
			rate[i] = (float)(1 / sqrt(square - sum * sum + 0.00001));
			for (k = 0; k < 4; k++) {
				norm[i * 4 + k] = (x[k] - mean[i]) * rate[i] * w[k] + w[k];
				scaled[i * 4 + k] = (x[k] - 0.5f) / sqrtf(2 + 0.00001f) * 2 + 2;
				by[i * 4 + k] = like[i * 4 + k] = 0;
				for (m = 0; m < 2; m++) {
					by[i * 4 + k] += x[k / 2 * 2 + m] * w[m * 2 + k % 2];
					like[i * 4 + k] += x[k / 2 * 2 + m] * x[m * 2 + k % 2];
				}
			}
		}
		/* Elements of one dimension more than scales, which stay theirs */
		n = op(NULL, "LayerNormalization", "x w w", "norm mean rate");
		attr_int(&n, "axis", -2);
		add_op(t, &n);
		ONE(t, NULL, "BatchNormalization", "x two shift half two", "scaled");
		ONE(t, NULL, "MatMul", "x w", "by");
		if (!way)
			ONE(t, NULL, "MatMul", "x x", "like");
		else
			ONE(t, NULL, "Identity", "by", "like");
		t->bound = 0.0001;
		GIVES(t, { "norm", F32, 6, { 2, 1, 3, 2, 2, 2 }, norm, false, NULL },
		      { "mean", F32, 6, { 2, 1, 3, 2, 1, 1 }, mean, false, NULL },
		      { "rate", F32, 6, { 2, 1, 3, 2, 1, 1 }, rate, false, NULL },
		      { "scaled", F32, 6, { 2, 1, 3, 2, 2, 2 }, scaled, false, NULL },
		      { "by", F32, 6, { 2, 1, 3, 2, 2, 2 }, by, false, NULL },
		      { "like", F32, 6, { 2, 1, 3, 2, 2, 2 }, way ? by : like, false, NULL });
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_packed), TEST(test_turned), TEST(test_projected), TEST(test_bias),
		TEST(test_nothing), TEST(test_blocks), TEST(test_windows), TEST(test_layer),
		TEST(test_kernel_shape), TEST(test_same), TEST(test_several), TEST(test_none),
		TEST(test_unlike), TEST(test_many_along),
		TEST(test_many_apart), TEST(test_many_layers), TEST(test_parts),
	};

	return cmocka_run_group_tests_name("onnx_sizes", tests, NULL, NULL);
}
