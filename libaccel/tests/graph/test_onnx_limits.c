// SPDX-License-Identifier: MIT
/*
 * Indices that are none, and numbers at the ends of what there is: they are refused in the words
 * of who made the file, or do what they say.
 */
#include <float.h>
#include "onnxop.h"

static const float x[64];

/* An engine says where an index lies; what it is, and whose, is said too, in the file's words. */
static void test_index(void **arg)
{
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 4, 4), IO("i", S64, DIMS(1, 9), 2));

	ONE(t, NULL, "Gather", "x i", "y");
	must_fail(t, -EFAULT, "node y (Gather): index 9 is not within 4 elements");
	t = BEGIN(*arg, IO("x", F32, x, 4, 4), IO("i", S64, DIMS(1, -5), 2, 1),
		  IO("u", F32, x, 2, 1));
	ONE(t, NULL, "ScatterElements", "x i u", "y");
	must_fail(t, -EFAULT, "node y (ScatterElements): index -5 is not within 4 elements");
	/* A sum along an axis that there is not */
	t = BEGIN(*arg, IO("x", F32, x, 4, 4), IO("i", S64, DIMS(2), 1));
	ONE(t, NULL, "CumSum", "x i", "y");
	must_fail(t, -EFAULT, "node y (CumSum): index 2 is not within 2 elements");
}

/* Regions of images that there are not: none counts from the end, nor with its low bits alone. */
static void test_images(void **arg)
{
	static const int64_t wrong[] = { 2, -1, 1LL << 32, 1 << 28 };
	static const float roi[4] = { 0, 0, 3, 3 };
	struct tested *t;
	struct bytes n;
	size_t i;

	for (i = 0; i < COUNT(wrong); i++) {
		const float of[5] = { (float)wrong[i], 0, 0, 3, 3 };

		t = BEGIN(*arg, IO("x", F32, x, 2, 1, 4, 4), IO("roi", F32, roi, 1, 4),
			  IO("of", S64, &wrong[i], 1));
		ONE(t, NULL, "RoiAlign", "x roi of", "y");
		must_fail(t, -EFAULT, "node y (RoiAlign): index");
		t = BEGIN(*arg, IO("x", F32, x, 2, 1, 4, 4), IO("roi", F32, of, 1, 5));
		n = op(NULL, "MaxRoiPool", "x roi", "y");
		attr_ints(&n, "pooled_shape", 2, DIMS(2, 2));
		add_op(t, &n);
		must_fail(t, -EFAULT, "node y (MaxRoiPool): index");
	}
}

/* What is new has no room: it is longer than all, or too far behind. */
static void test_update(void **arg)
{
	static const int64_t at[] = { 2, -1 };
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 4; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 3, 2), IO("u", F32, x, 1, i < 2 ? 2 : 4, 2),
			  IO("at", S64, i < 2 ? &at[i] : &at[0], 1));
		n = op(NULL, "TensorScatter", i == 2 ? "x u" : "x u at", "y");
		if (i == 3)
			attr_text(&n, "mode", "circular");
		add_op(t, &n);
		t->opset = 24;
		must_fail(t, -EFAULT, "node y (TensorScatter): index 2147483647 is not within");
	}
}

/* A mask of a deformed convolution is as large as the offsets are. */
static void test_mask(void **arg)
{
	static const int64_t real[] = { 1, 1, 3, 2 };
	struct tested *t;
	int i;

	/* As many elements in other dimensions, one for all, other sizes that symbols have */
	for (i = 0; i < 3; i++) {
		struct io mask = IO("m", F32, x, 1, 1, 3, 2);

		if (i == 1)
			mask.dims[2] = mask.dims[3] = 1;
		if (i == 2) {
			mask.given = real;
			mask.dims[2] = -1;
			mask.dims[3] = -2;
		}
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 3), CONST("w", F32, x, 1, 1, 1, 1),
			  IO("o", F32, x, 1, 2, 2, 3), mask);
		t->opset = 22;
		ONE(t, NULL, "DeformConv", "x w o - m", "y");
		if (i < 2)
			must_refuse(t, -EBADMSG, "a mask of");
		else
			must_fail(t, -EINVAL, "node y");
	}
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 3), CONST("w", F32, x, 2, 1, 1, 1),
		  IO("o", F32, x, 1, 2, 2, 3), CONST("b", F32, x, 1));
	t->opset = 22;
	ONE(t, NULL, "DeformConv", "x w o b", "y");
	must_refuse(t, -EBADMSG, "a bias that is not of 2 numbers");
}

/* Diagonals as far away as numbers go, and frames as far apart */
static void test_far(void **arg)
{
	static const float one[4] = { 1, 1, 1, 1 }, none[4], frame[4] = { 2 };
	static const char *const names[] = { "a", "b", "c", "d" };
	static const int64_t far[] = { INT64_MAX, INT64_MIN };
	struct tested *t = BEGIN(*arg, IO("x", F32, one, 2, 2), SCALAR("far", S64, &far[0]),
				 SCALAR("low", S64, &far[1]), IO("s", F32, one, 1, 4),
				 CONST("w", F32, one, 2));
	struct bytes n;
	int i;

	for (i = 0; i < 4; i++) {
		n = op(NULL, "Trilu", i & 1 ? "x low" : "x far", names[i]);
		attr_int(&n, "upper", i < 2);
		add_op(t, &n);
	}
	for (i = 0; i < 2; i++) {
		n = op(NULL, "EyeLike", "x", i ? "f" : "e");
		attr_int(&n, "k", far[i]);
		add_op(t, &n);
	}
	t->bound = 0.000000001;
	n = op(NULL, "STFT", "s far w", "g");
	add_op(t, &n);
	GIVES(t, IO("a", F32, none, 2, 2), IO("b", F32, one, 2, 2), IO("c", F32, one, 2, 2),
	      IO("d", F32, none, 2, 2), IO("e", F32, none, 2, 2), IO("f", F32, none, 2, 2),
	      IO("g", F32, frame, 1, 1, 2, 2));
}

/* Bounds of Clip that nobody gives are, before version 11, those of fp32 for doubles too. */
static void test_bounds(void **arg)
{
	static const double d[3] = { 1e300, -1e300, 1 };
	const double y[3] = { (double)FLT_MAX, -(double)FLT_MAX, 1 };
	static const int64_t whole[3] = { -1, 3, 9 }, least[3] = { 0, 3, 9 };
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 2; i++) {
		t = BEGIN(*arg, IO("x", F64, d, 3));
		t->opset = i ? 13 : 10;
		ONE(t, NULL, "Clip", "x", "y");
		GIVES(t, IO("y", F64, i ? d : y, 3));
	}
	/* A bound that is not there is none of integers. */
	t = BEGIN(*arg, IO("x", S64, whole, 3));
	t->opset = 10;
	n = op(NULL, "Clip", "x", "y");
	attr_float(&n, "min", 0);
	add_op(t, &n);
	GIVES(t, IO("y", S64, least, 3));
}

/* Do two elements lie in one line along the dimensions of @axes? */
static bool in_line(uint32_t rank, const int64_t *dims, uint32_t axes, int64_t a, int64_t b)
{
	while (rank--) {
		const int64_t n = dims[rank] > 1 ? dims[rank] : 1;

		if (!(axes >> rank & 1) && a % n != b % n)
			return false;
		a /= n;
		b /= n;
	}
	return true;
}

/* Norms along any dimensions: of images if it says none, along all if it says that they are none */
static void test_norms(void **arg)
{
	static const struct {
		uint32_t rank, axes, count;
		bool given;
		int64_t dims[5], list[4];
	} cases[] = {
		{ 5, 13, 0, false, { 2, 3, 2, 2, 2 }, { 0 } },
		{ 4, 13, 0, false, { 2, 3, 2, 4 }, { 0 } },
		{ 3, 7, 0, true, { 2, 3, 4 }, { 0 } },
		{ 3, 5, 2, true, { 2, 3, 4 }, { 0, -1 } },
		{ 3, 2, 1, true, { 2, 3, 4 }, { 1 } },
		{ 2, 1, 1, true, { 5, 3 }, { 0 } },
		{ 1, 1, 1, true, { 7 }, { 0 } },
		{ 4, 10, 2, true, { 2, 3, 2, 4 }, { 1, 3 } },
		{ 4, 15, 4, true, { 2, 3, 2, 4 }, { 0, 1, 2, 3 } },
		{ 5, 21, 3, true, { 2, 3, 2, 2, 2 }, { 0, 2, 4 } },
	};
	double sum, squares;
	float a[48], y[48];
	struct tested *t;
	struct bytes n;
	struct io in;
	int64_t k, m, all, line;
	uint32_t i;

	for (i = 0; i < COUNT(cases); i++) {
		in = (struct io){ .name = "x", .type = F32, .rank = cases[i].rank, .data = a };
		memcpy(in.dims, cases[i].dims, sizeof(cases[i].dims));
		all = (int64_t)io_count(&in);
		for (k = 0; k < all; k++)
			a[k] = (float)(k * 7 % 11) - 3;
		for (k = 0; k < all; k++) {
			for (m = line = 0, sum = squares = 0; m < all; m++) {
				if (!in_line(in.rank, in.dims, cases[i].axes, k, m))
					continue;
				sum += (double)a[m];
				squares += (double)a[m] * (double)a[m];
				line++;
			}
			sum /= (double)line;
			y[k] = (float)(((double)a[k] - sum) /
				       (sqrt(squares / (double)line - sum * sum) + 0.000000001));
		}
		t = begin(*arg, &in, 1);
		n = op(NULL, "MeanVarianceNormalization", "x", "y");
		if (cases[i].given)
			attr_ints(&n, "axes", cases[i].count, cases[i].list);
		add_op(t, &n);
		t->bound = 0.00001;
		in.name = "y";
		in.data = y;
		gives(t, &in, 1);
	}
	t = BEGIN(*arg, IO("x", F32, a, 2, 3, 4));
	ONE(t, NULL, "MeanVarianceNormalization", "x", "y");
	must_refuse(t, -EBADMSG, "axis 3 of 3 dimensions");
}

/*
 * Activations of a layer that engines have not, each with parameters of its own; what is as large
 * as the threshold passes, unlike with the operator of that name.
 */
static void test_acts(void **arg)
{
	static const float in[] = { 2, 0.5f }, w[] = { 1, 1 }, r[2], alpha[] = { 0.5f, 3 };
	static const float y[] = { 2, 1.38635147f, 0.5f, 0.37305901f }, beta = 0.25f;
	struct tested *t = BEGIN(*arg, IO("x", F32, in, 2, 1, 1), CONST("w", F32, w, 2, 1, 1),
				 CONST("r", F32, r, 2, 1, 1));
	struct bytes n = op(NULL, "RNN", "x w r", "y"), a = { .n = 0 };

	attr_text(&n, "direction", "bidirectional");
	put_text(&a, 1, "activations");
	put_text(&a, 9, "ThresholdedRelu");
	put_text(&a, 9, "ScaledTanh");
	put_int(&a, 20, 8);
	put_message(&n, 5, &a);
	a.n = 0;
	put_text(&a, 1, "activation_alpha");
	put_bytes(&a, 7, alpha, sizeof(alpha));
	put_int(&a, 20, 6);
	put_message(&n, 5, &a);
	a.n = 0;
	put_text(&a, 1, "activation_beta");
	put_bytes(&a, 7, &beta, sizeof(beta));
	put_int(&a, 20, 6);
	put_message(&n, 5, &a);
	add_op(t, &n);
	t->bound = 0.000001;
	GIVES(t, IO("y", F32, y, 2, 2, 1, 1));
}

/* Numbers that are known before are written all the same where they are outputs. */
static void test_known(void **arg)
{
	static const int8_t q[4] = { 1, -2, 3, 4 };
	static const float s[1] = { 0.5f }, y[4] = { 0.5f, -1, 1.5f, 2 };
	struct tested *t = BEGIN(*arg, CONST("q", S8, q, 2, 2), SCALAR("s", F32, s));

	ONE(t, NULL, "DequantizeLinear", "q s", "y");
	GIVES(t, IO("y", F32, y, 2, 2));
}

/* Words that are none of those there are */
static void test_words(void **arg)
{
	static const uint8_t b[1];
	struct tested *t = BEGIN(*arg, IO("x", U8, b, 1));
	struct bytes n = op(NULL, "BitShift", "x x", "y");

	attr_text(&n, "direction", "UP");
	add_op(t, &n);
	must_refuse(t, -EBADMSG, "its direction");
	t = BEGIN(*arg, IO("x", F32, x, 1, 4, 1, 1));
	n = op(NULL, "DepthToSpace", "x", "y");
	attr_int(&n, "blocksize", 2);
	attr_text(&n, "mode", "RCD");
	add_op(t, &n);
	must_refuse(t, -EOPNOTSUPP, "its mode");
}

static void refused(struct tested *t, const struct bytes *n, int64_t opset, const char *words)
{
	t->opset = opset;
	add_op(t, n);
	must_refuse(t, 0, words);
}

/* What would be ignored, or be a guess */
static void test_ignored(void **arg)
{
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 2), CONST("w", F32, x, 1, 1, 1, 1));
	struct bytes n = op(NULL, "Conv", "x w", "y");
	int i;

	attr_text(&n, "auto_pad", "SAME");
	refused(t, &n, 11, "its auto_pad");
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 2), CONST("w", F32, x, 1, 1, 1, 1));
	n = op(NULL, "ConvTranspose", "x w", "y");
	attr_ints(&n, "output_shape", 1, DIMS(3));
	refused(t, &n, 11, "output_shape");
	for (i = 0; i < 3; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2), CONST("w", F32, x, 1, 2, 2),
			  IO("v", F32, x, 1, 2, -1));
		n = op(NULL, "RNN", i == 2 ? "x w v" : "x w w", "y");
		if (i == 1)
			attr_text(&n, "direction", "backward");
		if (i < 2)
			attr_int(&n, "hidden_size", i ? 2 : 3);
		refused(t, &n, 14, i == 2 ? "weights whose size" : i ? "its direction" :
			"weights of another size");
	}
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2), CONST("w", F32, x, 1, 2, 2));
	n = op(NULL, "RNN", "x w w", "y");
	attr_int(&n, "hidden_size", 0);
	refused(t, &n, 14, "a hidden_size of 0");
	t = BEGIN(*arg, IO("x", F32, x, 2, 2, 1), CONST("s", F32, x, 2, 1));
	n = op(NULL, "BatchNormalization", "x s s s s", "y");
	attr_int(&n, "spatial", 0);
	refused(t, &n, 8, "moments of each element");
	t = BEGIN(*arg, IO("x", S32, x, 2, 2));
	n = op(NULL, "Gemm", "x x x", "y");
	attr_float(&n, "beta", 0.5f);
	refused(t, &n, 13, "integers times");
	t = BEGIN(*arg, IO("x", F32, x, 5));
	n = op(NULL, "Split", "x", "y z");
	attr_int(&n, "num_outputs", 3);
	refused(t, &n, 18, "its num_outputs");
	t = BEGIN(*arg, IO("x", F32, x, 5));
	n = op(NULL, "Split", "x", "y z");
	refused(t, &n, 13, "2 pieces of 5");
	t = BEGIN(*arg, IO("x", F32, x, 2, 2), IO("of", S64, DIMS(0, 0), 2));
	n = op(NULL, "NegativeLogLikelihoodLoss", "x of", "y");
	attr_text(&n, "reduction", "product");
	refused(t, &n, 13, "its reduction");
	t = BEGIN(*arg, IO("i", S32, x, 1, 2), CONST("w", F32, x, 2, 4), CONST("g", F32, x, 4));
	n = op(MS, "EmbedLayerNormalization", "i i w w - g g", "y");
	refused(t, &n, 13, "segments without their table");
	t = BEGIN(*arg, IO("a", U8, x, 2, 2), CONST("s", F32, x, 2), CONST("one", F32, x, 1));
	n = op(MS, "MatMulIntegerToFloat", "a a s one", "y");
	refused(t, &n, 13, "more than one scale");
	t = BEGIN(*arg, IO("a", U8, x, 2, 2), CONST("s", F32, x, 1), CONST("z", U8, x, 1));
	n = op(MS, "QLinearConcat", "s z a s z a", "y");
	attr_int(&n, "axis", 0);
	refused(t, &n, 13, "4 inputs are not three for each");
}

/* Heads and parts of them that would not be read */
static void test_heads(void **arg)
{
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 3; i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, i == 1 ? 3 : 2, i ? 3 : 4, 2),
			  IO("k", F32, x, 1, 1, 2, 3, 2), IO("q", F32, x, 1, 1, 4));
		n = op(MS, "MultiHeadAttention", i < 2 ? "x" : "q k", "y");
		attr_int(&n, "num_heads", 2);
		refused(t, &n, 13, i ? "3 of" : "4 of 2 heads are packed, not 3 of 2");
		t = BEGIN(*arg, IO("x", F32, x, 1, 1, 4), CONST("c", F32, x, 1, 1),
			  CONST("at", S64, DIMS(0), 1));
		n = op(MS, "RotaryEmbedding", "x at c c", "y");
		attr_int(&n, "num_heads", i == 2 ? 0 : 1);
		attr_int(&n, "rotary_embedding_dim", i == 2 ? 2 : 4);
		refused(t, &n, 13, "are not those of its tables");
	}
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2), CONST("w", F32, x, 2, 6),
		  IO("past", F32, x, 3, 1, 1, 1, 2));
	n = op(MS, "Attention", "x w - - past", "y");
	attr_int(&n, "num_heads", 1);
	refused(t, &n, 13, "a past that is not");
	t = BEGIN(*arg, IO("x", F32, x, 1, 1, 6), IO("lens", S32, x, 1), SCALAR("all", S32, x));
	n = op(MS, "GroupQueryAttention", "x - x - - lens all", "y");
	attr_int(&n, "num_heads", 1);
	attr_int(&n, "kv_num_heads", 1);
	refused(t, &n, 13, "its values");
}

/* Without axes nothing is reduced, but the rest is done. */
static void test_no_axes(void **arg)
{
	static const struct {
		const char *type;
		float y[2];
	} cases[] = {
		{ "ReduceSum", { -2, 1 } }, { "ReduceL1", { 2, 1 } }, { "ReduceL2", { 2, 1 } },
		{ "ReduceSumSquare", { 4, 1 } }, { "ReduceLogSum", { NAN, 0 } },
		{ "ReduceLogSumExp", { -2, 1 } },
	};
	static const char *const inputs[] = { "x", "x none" };
	static const float numbers[2] = { -2, 1 };
	struct tested *t;
	struct bytes n;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		t = BEGIN(*arg, IO("x", F32, numbers, 2), IO("none", S64, DIMS(0), 0));
		n = op(NULL, cases[i].type, inputs[i % 2], "y");
		attr_int(&n, "noop_with_empty_axes", 1);
		add_op(t, &n);
		t->bound = 0.000001;
		GIVES(t, IO("y", F32, cases[i].y, 2));
	}
}

/* Numbers that no double is, numbers of 16 bits; what multiplies a product multiplies its bias. */
static void test_exact(void **arg)
{
	static const uint8_t a[1] = { 2 }, b[1] = { 3 };
	static const int64_t large[] = { (1LL << 53) + 1, (1LL << 53) + 1 };
	static const uint16_t half[] = { 0x3e00, 0x3e00 };
	static const float one = 1, third = 3;
	const double window[3] = { 0, 0.75, 0.75 };
	struct tested *t = BEGIN(*arg, CONST("two", S64, DIMS(2), 1));
	struct bytes n, value, in;
	int i;

	for (i = 0; i < 2; i++) {
		n = op(NULL, "ConstantOfShape", "two", i ? "half" : "large");
		in = tensor(NULL, i ? F16 : S64, 1, DIMS(1), i ? (const void *)half : large,
			    i ? 2 : 8);
		value = (struct bytes){ .n = 0 };
		put_text(&value, 1, "value");
		put_message(&value, 5, &in);
		put_int(&value, 20, 4);
		put_message(&n, 5, &value);
		add_op(t, &n);
	}
	GIVES(t, IO("large", S64, large, 2), IO("half", F16, half, 2));
	t = BEGIN(*arg, IO("a", U8, a, 1, 1),
		  SCALAR("one", F32, &one), SCALAR("zero", U8, ((uint8_t[]){ 0 })),
		  CONST("b", U8, b, 1, 1), CONST("c", S32, ((int32_t[]){ 4 }), 1),
		  SCALAR("three", S64, ((int64_t[]){ 3 })));
	n = op(MS, "QGemm", "a one zero b one zero c", "y");
	attr_float(&n, "alpha", third);
	add_op(t, &n);
	n = op(NULL, "HannWindow", "three", "w");
	attr_int(&n, "output_datatype", F64);
	add_op(t, &n);
	t->bound = 1 / 1e15;
	GIVES(t, IO("y", F32, ((float[]){ 3 * (2 * 3 + 4) }), 1, 1), IO("w", F64, window, 3));
}

/* What is given in a form that old exporters had, or that a file may leave out */
static void test_forms(void **arg)
{
	static const int64_t none[1], full[] = { 1, 1, 3, 3 }, wide[] = { 4 }, odd[] = { 3 };
	static const int64_t places[2], later[] = { 0, 0, 1, 2 };
	static const float one[4] = { 1, 2, 3, 4 }, w[4] = { 1, 1, 1, 1 };
	static const float grown[9] = { 1, 3, 2, 4, 10, 6, 3, 7, 4 };
	static const float halves[4] = { 0.5f, 1, 1.5f, 2 }, half = 0.5f;
	static const uint8_t q[4] = { 1, 2, 3, 4 };
	struct tested *t;
	struct bytes n;
	int i;

	/* Sizes of all dimensions, batch and channels too */
	t = BEGIN(*arg, IO("x", F32, one, 1, 1, 2, 2), CONST("w", F32, w, 1, 1, 2, 2));
	n = op(NULL, "ConvTranspose", "x w", "y");
	attr_ints(&n, "output_shape", 4, full);
	add_op(t, &n);
	GIVES(t, IO("y", F32, grown, 1, 1, 3, 3));
	t = BEGIN(*arg, IO("x", F32, one, 1, 1, 2, 2), CONST("w", F32, w, 1, 1, 2, 2));
	n = op(NULL, "ConvTranspose", "x w", "y");
	attr_ints(&n, "output_shape", 4, DIMS(1, 2, 3, 3));
	refused(t, &n, 11, "output_shape");
	/* The one element that an index says, and as many places as a number has dimensions */
	t = BEGIN(*arg, IO("x", F32, one, 2, 2), CONST("at", S64, DIMS(1, -2), 2),
		  SCALAR("u", F32, &half), SCALAR("n", F32, &half));
	ONE(t, NULL, "ScatterND", "x at u", "y");
	ONE(t, NULL, "NonZero", "n", "z");
	GIVES(t, IO("y", F32, ((float[]){ 1, 2, 0.5f, 4 }), 2, 2), IO("z", S64, none, 0, 1));
	/* An empty list of sizes is none. */
	t = BEGIN(*arg, IO("x", F32, one, 4));
	n = op(NULL, "Split", "x", "y z");
	attr_ints(&n, "split", 0, none);
	t->opset = 11;
	add_op(t, &n);
	GIVES(t, IO("y", F32, one, 2), IO("z", F32, one + 2, 2));
	/* Pieces are alike before version 18, of whatever a symbol is. */
	t = BEGIN(*arg, IO("x", F32, one, -1));
	t->in[0].given = (const int64_t[]){ 3 };
	ONE(t, NULL, "Split", "x", "y z");
	t->opset = 13;
	must_fail(t, -EINVAL, "node y (Split)");
	t = BEGIN(*arg, IO("x", F32, one, 4));
	n = op(NULL, "Split", "x", "y z");
	attr_ints(&n, "split", 2, DIMS(2, 1));
	t->opset = 11;
	add_op(t, &n);
	must_refuse(t, -EINVAL, "its pieces are not those of 4 elements");
	t = BEGIN(*arg, IO("x", F32, one, -1));
	t->in[0].given = wide;
	ONE(t, NULL, "Split", "x", "y z");
	t->opset = 13;
	GIVES(t, IO("y", F32, one, 2), IO("z", F32, one + 2, 2));
	/* Sizes whose sum only running can tell */
	t = BEGIN(*arg, IO("x", F32, one, -1));
	t->in[0].given = odd;
	n = op(NULL, "Split", "x", "y z");
	attr_ints(&n, "split", 2, DIMS(1, 2));
	t->opset = 11;
	add_op(t, &n);
	GIVES(t, IO("y", F32, one, 1), IO("z", F32, one + 1, 2));
	t = BEGIN(*arg, IO("x", F32, one, 1, 3));
	ONE(t, NULL, "NonZero", "x", "at");
	n = op(NULL, "Split", "at", "y z");
	attr_int(&n, "axis", 1);
	attr_ints(&n, "split", 2, DIMS(1, 2));
	t->opset = 11;
	add_op(t, &n);
	GIVES(t, IO("y", S64, places, 2, 1), IO("z", S64, later, 2, 2));
	/* One scale for all has no axis, in whatever dimensions there are. */
	for (i = 0; i < 2; i++) {
		t = BEGIN(*arg, IO("q", U8, q, 4), CONST("s", F32, &half, 1));
		if (i)
			t = BEGIN(*arg, IO("q", U8, q, 1, 1, 1, 1, 1, 1, 2, 2),
				  SCALAR("s", F32, &half));
		n = op(NULL, "DequantizeLinear", "q s", "y");
		attr_int(&n, "axis", 1);
		add_op(t, &n);
		n = op(NULL, "QuantizeLinear", "y s", "z");
		attr_int(&n, "axis", 1);
		add_op(t, &n);
		if (i)
			GIVES(t, IO("y", F32, halves, 1, 1, 1, 1, 1, 1, 2, 2),
			      IO("z", U8, q, 1, 1, 1, 1, 1, 1, 2, 2));
		else
			GIVES(t, IO("y", F32, halves, 4), IO("z", U8, q, 4));
	}
	/* Products of vectors are numbers. */
	t = BEGIN(*arg, IO("q", U8, q, 4));
	ONE(t, NULL, "MatMulInteger", "q q", "y");
	t->opset = 10;
	GIVES(t, SCALAR("y", S32, ((int32_t[]){ 30 })));
}

/* Scales along an axis in as many dimensions as there may be, and one zero point for all filters */
static void test_scales(void **arg)
{
	static const uint8_t q[4] = { 1, 2, 3, 4 }, zero = 1;
	static const float s[2] = { 0.5f, 2 }, one = 1, by[4] = { 0.5f, 1, 6, 8 };
	static const int8_t f[2] = { 3, 5 }, off = 1;
	struct tested *t = BEGIN(*arg, IO("q", U8, q, 1, 1, 1, 1, 1, 1, 2, 2),
				 CONST("s", F32, s, 2));
	struct bytes n = op(NULL, "DequantizeLinear", "q s", "y");
	int lone;

	attr_int(&n, "axis", 6);
	add_op(t, &n);
	n = op(NULL, "QuantizeLinear", "y s", "z");
	attr_int(&n, "axis", 6);
	add_op(t, &n);
	GIVES(t, IO("y", F32, by, 1, 1, 1, 1, 1, 1, 2, 2), IO("z", U8, q, 1, 1, 1, 1, 1, 1, 2, 2));
	for (lone = 0; lone < 2; lone++) {
		struct io w_zero = CONST("wz", S8, &off, 1);

		w_zero.rank = lone ? 0 : 1;
		t = BEGIN(*arg, IO("x", U8, q, 1, 1, 2), SCALAR("one", F32, &one),
			  SCALAR("z", U8, &zero), CONST("w", S8, f, 2, 1, 1), CONST("s", F32, s, 2),
			  w_zero);
		ONE(t, NULL, "QLinearConv", "x one z w s wz one z", "y");
		/* (x - 1) (w - 1) s + 1 */
		GIVES(t, IO("y", U8, ((uint8_t[]){ 1, 2, 1, 9 }), 1, 2, 2));
	}
}

/* Bounds beyond what a type has are its ends; targets below 0 may be ignored. */
static void test_ends(void **arg)
{
	static const int64_t whole[3] = { INT64_MIN, 3, INT64_MAX };
	static const int8_t s8[] = { INT8_MIN, INT8_MAX }, inside[] = { -1, 1 };
	static const uint8_t u8[] = { 0, UINT8_MAX };
	static const int16_t s16[] = { INT16_MIN, INT16_MAX };
	static const uint16_t u16[] = { 0, UINT16_MAX };
	static const uint32_t u32[] = { 0, UINT32_MAX };
	static const uint64_t u64[] = { 0, UINT64_MAX };
	static const struct {
		int type;
		const void *ends, *want;
		float min, max;
	} types[] = {
		{ S8, s8, s8, -300, 300 }, { S8, s8, inside, -1.5f, 1.5f },
		{ U8, u8, u8, -1, 300 }, { S16, s16, s16, -70000, 70000 },
		{ U16, u16, u16, -1, 70000 }, { U32, u32, u32, -1, 1e10f },
		{ U64, u64, u64, -1, 1e30f },
	};
	static const int64_t of[3] = { 1, -1, 0 };
	static const float row[6] = { 1, 2, 3, 4, 5, 6 }, skip[2] = { 1, 2 }, ones[2] = { 1, 1 };
	static const float sums[2][8] = { { 2, 4, 6, 8, 6, 8, 10, 12 },
					  { 2, 4, 4, 6, 6, 8, 8, 10 } };
	static const float in[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct tested *t;
	struct bytes n;
	int i;

	t = BEGIN(*arg, IO("x", S64, whole, 3));
	n = op(NULL, "Clip", "x", "y");
	attr_float(&n, "min", -1e30f);
	attr_float(&n, "max", 1e30f);
	t->opset = 10;
	add_op(t, &n);
	GIVES(t, IO("y", S64, whole, 3));
	for (i = 0; i < (int)COUNT(types); i++) {
		t = BEGIN(*arg, IO("x", types[i].type, types[i].ends, 2));
		n = op(NULL, "Clip", "x", "y");
		attr_float(&n, "min", types[i].min);
		attr_float(&n, "max", types[i].max);
		t->opset = 10;
		add_op(t, &n);
		GIVES(t, IO("y", types[i].type, types[i].want, 2));
	}
	t = BEGIN(*arg, IO("x", F32, row, 3, 2), IO("of", S64, of, 3));
	n = op(NULL, "NegativeLogLikelihoodLoss", "x of", "y");
	attr_text(&n, "reduction", "none");
	attr_int(&n, "ignore_index", -1);
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ -2, 0, -5 }), 3));
	/* What is skipped lies in each line of the batch, or in each. */
	for (i = 0; i < 2; i++) {
		struct io s = IO("s", F32, i ? skip : in, 1, 2, 2);

		if (i) {
			s.rank = 2;
			s.dims[0] = 1;
		}
		t = BEGIN(*arg, IO("x", F32, in, 2, 2, 2), s, CONST("g", F32, ones, 2));
		ONE(t, MS, "SkipLayerNormalization", "x s g", "y - - sum");
		GIVES(t, IO("sum", F32, sums[i], 2, 2, 2));
		t = BEGIN(*arg, IO("x", F32, in, 1, 2, 2),
			  IO("s", F32, in, 2, 2, 2), CONST("g", F32, ones, 2));
		if (i)
			t = BEGIN(*arg, IO("x", F32, in, 2, 2), IO("s", F32, in, 1, 2, 2),
				  CONST("g", F32, ones, 2));
		n = op(MS, "SkipLayerNormalization", "x s g", "y");
		refused(t, &n, 13, i ? "a skip of 3 dimensions" : "a skip that is larger");
	}
}

/* The newest version, and one after it */
static void test_newest(void **arg)
{
	static const float line[3] = { 1, -2, 3 };
	struct tested *t = BEGIN(*arg, IO("x", F32, line, 3));
	struct bytes n = op(NULL, "Neg", "x", "y");

	t->opset = 25;
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ -1, 2, -3 }), 3));
	t = BEGIN(*arg, IO("x", F32, line, 3));
	n = op(NULL, "Neg", "x", "y");
	refused(t, &n, 26, "version 26 of the operators");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_index), TEST(test_images), TEST(test_update), TEST(test_mask),
		TEST(test_far), TEST(test_bounds), TEST(test_norms), TEST(test_acts),
		TEST(test_known), TEST(test_words), TEST(test_ignored), TEST(test_heads),
		TEST(test_no_axes), TEST(test_exact), TEST(test_forms), TEST(test_scales),
		TEST(test_ends), TEST(test_newest),
	};

	return cmocka_run_group_tests_name("onnx_limits", tests, NULL, NULL);
}
