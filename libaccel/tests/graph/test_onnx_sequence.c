// SPDX-License-Identifier: MIT
/*
 * Sequences and optional values of ONNX, which are gone when a file has been read; sizes that are
 * inputs, which are known when it runs.
 */
#include "onnxrun.h"

static const float a[2] = { 1, 2 }, b[2] = { 3, 4 }, c[2] = { 5, 6 };
static const int64_t zero, minus = -1, two = 2;

static struct tested *three(void **arg)
{
	return BEGIN(*arg, IO("a", F32, a, 2), IO("b", F32, b, 2), IO("c", F32, c, 2),
		     SCALAR("zero", S64, &zero), SCALAR("minus", S64, &minus),
		     SCALAR("two", S64, &two));
}

/* ConcatFromSequence, with a new dimension or along one */
static void add_join(struct tested *t, const char *in, const char *out, int64_t axis, bool add)
{
	struct bytes n = op(NULL, "ConcatFromSequence", in, out);

	attr_int(&n, "axis", axis);
	attr_int(&n, "new_axis", add);
	add_op(t, &n);
}

/* Values come to the places that are meant, from both ends. */
static void test_places(void **arg)
{
	static const float order[] = { 3, 4, 5, 6, 1, 2 }, stacked[] = { 1, 5, 2, 6 };
	static const int64_t lengths[] = { 3, 0 };
	struct tested *t = three(arg);

	ONE(t, NULL, "SequenceEmpty", "", "s0");
	ONE(t, NULL, "SequenceInsert", "s0 a", "s1");
	ONE(t, NULL, "SequenceInsert", "s1 b zero", "s2");
	/* Before the last one */
	ONE(t, NULL, "SequenceInsert", "s2 c minus", "s3");
	add_join(t, "s3", "order", 0, false);
	ONE(t, NULL, "SequenceLength", "s3", "length");
	ONE(t, NULL, "SequenceLength", "s0", "none");
	ONE(t, NULL, "SequenceAt", "s3 minus", "last");
	ONE(t, NULL, "SequenceConstruct", "a b c", "abc");
	ONE(t, NULL, "SequenceErase", "abc", "ab");
	ONE(t, NULL, "SequenceAt", "ab minus", "b2");
	ONE(t, NULL, "SequenceErase", "s3 zero", "ca");
	ONE(t, NULL, "SequenceAt", "ca zero", "c2");
	ONE(t, NULL, "SequenceConstruct", "last c2", "ac");
	add_join(t, "ac", "stacked", -1, true);
	GIVES(t, IO("order", F32, order, 6), SCALAR("length", S64, &lengths[0]),
	      SCALAR("none", S64, &lengths[1]), IO("last", F32, a, 2), IO("b2", F32, b, 2),
	      IO("stacked", F32, stacked, 2, 2));
}

static void test_split(void **arg)
{
	static const float x[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	static const float ends[6] = { 1, 6, 4, 9, 5, 10 }, rest[2] = { 5, 10 };
	static const int64_t sizes[] = { 3, 0, 2 }, halves[] = { 1, 1 }, count = 3;
	static const int64_t given[] = { 2 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 2, 5),
				 { "s", F32, 1, { -1 }, a, false, given },
				 CONST("halves", S64, halves, 2), CONST("sizes", S64, sizes, 3),
				 CONST("axes", S64, &zero, 1), SCALAR("two", S64, &two),
				 SCALAR("zero", S64, &zero), SCALAR("minus", S64, &minus));
	struct bytes n = op(NULL, "SplitToSequence", "x", "one");

	attr_int(&n, "axis", 1);
	attr_int(&n, "keepdims", 0);
	add_op(t, &n);
	n = op(NULL, "SplitToSequence", "x two", "twos");
	attr_int(&n, "axis", -1);
	/* This is for pieces of one element alone. */
	attr_int(&n, "keepdims", 0);
	add_op(t, &n);
	n = op(NULL, "SplitToSequence", "x sizes", "parts");
	attr_int(&n, "axis", 1);
	add_op(t, &n);
	/* Sizes in a list say how many there are, if a dimension does not. */
	ONE(t, NULL, "SplitToSequence", "s halves", "symbol");
	ONE(t, NULL, "SequenceAt", "symbol minus", "end");
	ONE(t, NULL, "SequenceAt", "one zero", "p");
	ONE(t, NULL, "SequenceAt", "parts minus", "q");
	ONE(t, NULL, "SequenceAt", "twos minus", "r");
	ONE(t, NULL, "SequenceLength", "twos", "len");
	ONE(t, NULL, "Transpose", "q", "turned");
	ONE(t, NULL, "Unsqueeze", "p axes", "first");
	ONE(t, NULL, "SequenceConstruct", "first turned", "both");
	add_join(t, "both", "ends", 0, false);
	GIVES(t, IO("end", F32, &a[1], 1), IO("ends", F32, ends, 3, 2), IO("r", F32, rest, 2, 1),
	      SCALAR("len", S64, &count));
}

/* What is optional is there or not, which the file says. */
static void test_optional(void **arg)
{
	const uint8_t yes = 1, no = 0;
	struct tested *t = three(arg);

	ONE(t, NULL, "Optional", "a", "o");
	ONE(t, NULL, "OptionalHasElement", "o", "has");
	ONE(t, NULL, "OptionalGetElement", "o", "a2");
	ONE(t, NULL, "Optional", "", "nothing");
	ONE(t, NULL, "OptionalHasElement", "nothing", "lacks");
	ONE(t, NULL, "SequenceConstruct", "a b", "ab");
	ONE(t, NULL, "Optional", "ab", "p");
	ONE(t, NULL, "OptionalGetElement", "p", "s");
	ONE(t, NULL, "SequenceAt", "s minus", "b2");
	GIVES(t, SCALAR("has", BOOL, &yes), SCALAR("lacks", BOOL, &no), IO("a2", F32, a, 2),
	      IO("b2", F32, b, 2));
}

static void test_refused(void **arg)
{
	static const struct {
		const char *op, *in, *words;
	} bad[] = {
		{ "SequenceAt", "ab two", "position 2 of 2" },
		{ "SequenceAt", "ab at", "a position that is not constant" },
		{ "SequenceAt", "a zero", "its first input is no sequence" },
		{ "SequenceInsert", "ab ab", "a value of another type" },
		{ "SequenceInsert", "ab zero", "a value of another type" },
		{ "SequenceConstruct", "a zero", "input 1 is of another type" },
		{ "ConcatFromSequence", "none", "nothing to be joined" },
		{ "SequenceErase", "none", "position -1 of 0" },
		{ "OptionalGetElement", "nothing", "its input is nothing" },
		{ "SequenceLength", "nothing", "its first input is no sequence" },
		{ "Relu", "ab", "input 0 is a sequence" },
		{ "SplitToSequence", "s", "which is a symbol" },
		{ "SplitToSequence", "a minus", "2 in pieces of -1" },
		{ "SplitToSequence", "long", "in pieces of 1" },
		{ "SplitToSequence", "a ab", "an input is a sequence" },
	};
	static const int64_t uneven[] = { 2, 1 };
	struct tested *t;
	char name[8];
	uint32_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		t = BEGIN(*arg, IO("a", F32, a, 2), IO("b", F32, b, 2), IO("s", F32, a, -1),
			  IO("long", F32, NULL, 513), IO("at", S64, NULL, 1),
			  SCALAR("zero", S64, &zero), SCALAR("minus", S64, &minus),
			  SCALAR("two", S64, &two));
		ONE(t, NULL, "SequenceConstruct", "a b", "ab");
		ONE(t, NULL, "SequenceEmpty", "", "none");
		ONE(t, NULL, "Optional", "", "nothing");
		ONE(t, NULL, bad[i].op, bad[i].in, "y");
		put_name(&t->g, 12, "y");
		must_refuse(t, 0, bad[i].words);
	}
	/* Pieces that do not add up are looked at later, and are those of who made them. */
	t = BEGIN(*arg, IO("x", F32, NULL, 4), CONST("sizes", S64, uneven, 2));
	ONE(t, NULL, "SplitToSequence", "x sizes", "all");
	ONE(t, NULL, "ConcatFromSequence", "all", "y");
	put_name(&t->g, 12, "y");
	must_refuse(t, -EINVAL, "node all (SplitToSequence): its pieces are not those of 4");
	/* Few words of a file join many values: not without end. */
	t = BEGIN(*arg, IO("x", F32, NULL, 512));
	ONE(t, NULL, "SplitToSequence", "x", "all");
	for (i = 0; i < 128; i++) {
		snprintf(name, sizeof(name), "y%u", i);
		ONE(t, NULL, "ConcatFromSequence", "all", name);
	}
	put_name(&t->g, 12, "y0");
	must_refuse(t, 0, "more than 65536 pieces in all");
}

/* A result that is a sequence is an output for each of its values, what is not there is none. */
static void test_outputs(void **arg)
{
	struct accel_model_info info = { .size = sizeof(info) };
	struct tested *t = three(arg);
	struct accel_model *m = NULL;
	struct accel_error e = ACCEL_ERROR_INIT;

	ONE(t, NULL, "SequenceConstruct", "a b", "ab");
	ONE(t, NULL, "Optional", "", "nothing");
	put_name(&t->g, 12, "ab");
	put_name(&t->g, 12, "nothing");
	put_name(&t->g, 12, "c");
	if (open_tested(t, &e, &m))
		fail_msg("%s", e.text);
	assert_int_equal(accel_model_get_info(m, &info), 0);
	assert_int_equal(info.output_count, 3);
	accel_model_close(m);
}

/* Scan of version 8: c + f, and f - b, of @lens steps of batches, b from the last on */
static struct tested *batches(struct bed *bed, const int64_t *lens, const char *in, int64_t parts,
			      const float *x)
{
	static const float s[4] = { 0, 0, 100, 200 };
	static const int64_t sizes[] = { 2, 2 }, all[] = { 2, 3, 2 };
	struct bytes body = { .n = 0 }, n = op(NULL, "Scan", in, "e l r");
	struct tested *t = BEGIN(bed, { "n", S64, 1, { -3 }, lens, false, sizes },
				 { "s", F32, 2, { -3, 2 }, s, false, sizes },
				 { "x", F32, 3, { -3, -4, 2 }, x, false, all });

	t->opset = 8;
	put_name(&body, 11, "c");
	put_name(&body, 11, "f");
	put_name(&body, 11, "b");
	in_body(&body, "Add", "c f", "d");
	in_body(&body, "Sub", "f b", "g");
	in_body(&body, "Identity", "d", "h");
	put_name(&body, 12, "d");
	put_name(&body, 12, "h");
	put_name(&body, 12, "g");
	attr_graph(&n, "body", &body);
	attr_int(&n, "num_scan_inputs", parts);
	attr_ints(&n, "directions", 2, (int64_t[]){ 0, 1 });
	add_op(t, &n);
	return t;
}

static void test_batches(void **arg)
{
	static const int64_t lens[3][2] = { { 3, 3 }, { 1, 2 }, { 0, 9 } };
	static const float x[12] = { 1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60 };
	static const float first[4] = { 0, 0, 100, 200 };
	float e[4], l[12], r[12];
	struct tested *t;
	int64_t i, k, n, at;
	uint32_t way;

	/* The first way has no lengths; longer than the list is as long as that. */
	for (way = 0; way < 4; way++) {
		memset(l, 0, sizeof(l));
		memset(r, 0, sizeof(r));
		memcpy(e, first, sizeof(e));
		for (at = 0; at < 2; at++) {
			n = way ? lens[way - 1][at] : 3;
			n = n > 3 ? 3 : n;
			for (i = 0; i < n; i++)
				for (k = 0; k < 2; k++) {
					e[at * 2 + k] += x[(at * 3 + i) * 2 + k];
					l[(at * 3 + i) * 2 + k] = e[at * 2 + k];
					r[(at * 3 + i) * 2 + k] = x[(at * 3 + i) * 2 + k] -
								 x[(at * 3 + n - 1 - i) * 2 + k];
				}
		}
		t = batches(*arg, lens[way ? way - 1 : 0], way ? "n s x x" : "- s x x", 2, x);
		GIVES(t, IO("e", F32, e, 2, 2), IO("l", F32, l, 2, 3, 2), IO("r", F32, r, 2, 3, 2));
	}
	must_refuse(batches(*arg, NULL, "- s x x", 4, x), -EBADMSG,
		    "node e (Scan): num_scan_inputs of 3 inputs");
	must_refuse(batches(*arg, NULL, "- s x n", 2, x), -EBADMSG,
		    "node e (Scan): input 3 is missing, or has no batches");
	must_refuse(batches(*arg, NULL, "- s - x", 2, x), -EBADMSG,
		    "node e (Scan): input 2 is missing, or has no batches");
	must_refuse(batches(*arg, NULL, "- x x", 2, x), -EBADMSG, "its graph has more inputs");
	must_refuse(batches(*arg, NULL, "", 1, x), -EBADMSG, "num_scan_inputs of 0 inputs");
}

/* Lists of a loop without iterations are of what an iteration would find, also behind an If. */
static void test_no_iteration(void **arg)
{
	static const int64_t sizes[] = { 3, 0, 5, 1 };
	struct tested *t = BEGIN(*arg, IO("m", S64, NULL, 1), IO("d", BOOL, NULL, 1),
				 IO("x", F32, NULL, -1, 2), IO("k", S64, NULL, 1));
	struct bytes body = { .n = 0 }, yes = lone("Neg", "v", "p"), no = lone("Identity", "v", "q");
	struct bytes n;
	const float x[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	struct accel_value v;
	uint32_t i, level;
	int64_t m, k;

	put_name(&body, 11, "i");
	put_name(&body, 11, "go");
	put_name(&body, 11, "v");
	in_body(&body, "Identity", "go", "on");
	add_if(&body, "d", "w", &yes, &no);
	n = op(NULL, "Concat", "w w", "twice");
	attr_int(&n, "axis", 0);
	put_message(&body, 1, &n);
	in_body(&body, "Expand", "one k", "wide");
	put_name(&body, 12, "on");
	put_name(&body, 12, "w");
	put_name(&body, 12, "twice");
	put_name(&body, 12, "wide");
	n = tensor("one", F32, 1, DIMS(1), x, 4);
	put_message(&body, 5, &n);
	n = op(NULL, "Loop", "m - x", "last list all");
	attr_graph(&n, "body", &body);
	add_op(t, &n);
	put_name(&t->g, 12, "last");
	put_name(&t->g, 12, "list");
	put_name(&t->g, 12, "all");
	for (level = 0; level <= 3; level++) {
		struct runner r = start(t, level);

		for (i = 0; i < 2 * COUNT(sizes); i++) {
			const int64_t rows = sizes[i / 2];

			m = i % 2;
			k = 4 + rows;
			set(&r, 0, 1, DIMS(1), &m, sizeof(m));
			set(&r, 1, 1, DIMS(1), &(const uint8_t){ 1 }, 1);
			set(&r, 2, 2, DIMS(rows, 2), x, (size_t)rows * 2 * sizeof(*x));
			set(&r, 3, 1, DIMS(1), &k, sizeof(k));
			run(&r);
			output(*arg, r.state, 0, &v);
			assert_true(v.rank == 2 && v.dims[0] == rows && v.dims[1] == 2);
			output(*arg, r.state, 1, &v);
			assert_true(v.rank == 3 && v.dims[0] == m && v.dims[1] == 2 * rows &&
				    v.dims[2] == 2);
			output(*arg, r.state, 2, &v);
			assert_true(v.rank == 2 && v.dims[0] == m && v.dims[1] == k);
		}
		stop(&r);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

/* --- sizes that are inputs ---------------------------------------------------------------- */

/* Columns of images whose sizes are inputs, others in the next run; a border is cut off. */
static void test_columns(void **arg)
{
	static const struct {
		int64_t image[2];
		int32_t block[2];
		int64_t columns;
		float want[4];
	} runs[] = {
		{ { 1, 3 }, { 1, 2 }, 3, { 6, 8, 6 } },
		{ { 2, 2 }, { 2, 1 }, 3, { 2, 3, 5, 6 } },
		{ { 1, 4 }, { 1, 2 }, 4, { 7, 9, 14, 20 } },
	};
	static const float x[8] = { 1, 2, 3, 4, 5, 6, 10, 20 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 2, -1), IO("image", S64, NULL, 2),
				 IO("block", S32, NULL, 2));
	struct bytes n = op(NULL, "Col2Im", "x image block", "y");
	struct runner r;
	uint32_t level, i;

	attr_ints(&n, "pads", 4, DIMS(0, 1, 0, 0));
	add_op(t, &n);
	put_name(&t->g, 12, "y");
	for (level = 0; level <= 3; level += 3) {
		r = start(t, level);
		for (i = 0; i < COUNT(runs); i++) {
			const int64_t *image = runs[i].image;

			set(&r, 0, 3, (int64_t[]){ 1, 2, runs[i].columns }, x,
			    (size_t)runs[i].columns * 2 * sizeof(*x));
			set(&r, 1, 1, DIMS(2), image, sizeof(runs[i].image));
			set(&r, 2, 1, DIMS(2), runs[i].block, sizeof(runs[i].block));
			run(&r);
			has(&r, 0, 4, (uint32_t)(image[0] * image[1]), runs[i].want);
		}
		stop(&r);
	}
}

/* The result's floats are as good as these. */
static void near(struct runner *r, uint32_t count, const float *want)
{
	struct accel_value v;
	const float *got = output(r->bed, r->state, 0, &v);
	uint32_t i;

	assert_int_equal(elements(&v), count);
	for (i = 0; i < count; i++)
		if (fabsf(got[i] - want[i]) > 0.00001f)
			fail_msg("element %u: %g, not %g", i, (double)got[i], (double)want[i]);
}

/* Sizes that do not go together are found when they are known. */
static void test_columns_wrong(void **arg)
{
	static const int64_t bad[][4] = {
		{ 0, 3, 1, 2 }, { 3, INT64_MAX, 1, 2 }, { 3, 3, 1, 0 }, { 3, 3, 1, -1 },
		{ 3, 3, 1, 4 }, { 3, -1, 1, 2 }, { 1 << 30, 1 << 30, 1, 2 }, { 3, 4, 1, 2 },
		{ 6, 1, 1, 4 }, { 5, 40, -1, -2 }, { 0, 7, 1, 2 },
	};
	static const float x[12];
	struct tested *t;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < COUNT(bad); i++) {
		t = BEGIN(*arg, IO("x", F32, x, 1, 2, 6), IO("image", S64, bad[i], 2),
			  IO("block", S64, bad[i] + 2, 2));
		n = op(NULL, "Col2Im", "x image block", "y");
		/* With these the last ones would fit. */
		if (i == COUNT(bad) - 2)
			attr_ints(&n, "strides", 2, DIMS(8, 8));
		if (i == COUNT(bad) - 1)
			attr_ints(&n, "pads", 4, DIMS(1, 0, 0, 0));
		add_op(t, &n);
		must_fail(t, -EINVAL, "node y (Col2Im)");
	}
}

/* Transforms along a dimension that is an input, of a length that is one; there is no third. */
static void test_axis(void **arg)
{
	static const float x[4] = { 1, 2, 3, 5 };
	static const struct {
		int64_t axis;
		int64_t length;
		float want[16];
	} runs[] = {
		{ 1, 2, { 3, 0, -1, 0, 8, 0, -2, 0 } },
		{ 0, 2, { 4, 0, 7, 0, -2, 0, -3, 0 } },
		{ -3, 1, { 1, 0, 2, 0 } },
		{ -2, 4, { 3, 0, 1, -2, -1, 0, 1, 2, 8, 0, 3, -5, -2, 0, 3, 5 } },
	};
	const struct io length = { "length", S64, 0, { 0 }, NULL, false, NULL };
	const struct io axis = { "axis", S64, 0, { 0 }, &(int64_t){ 2 }, false, NULL };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 2, -1, 1), length, axis);
	struct runner r;
	uint32_t i, level;

	ONE(t, NULL, "DFT", "x length axis", "y");
	put_name(&t->g, 12, "y");
	for (level = 0; level <= 3; level += 3) {
		r = start(t, level);
		for (i = 0; i < COUNT(runs); i++) {
			set(&r, 0, 3, DIMS(2, 2, 1), x, sizeof(x));
			set(&r, 1, 0, NULL, &runs[i].length, sizeof(int64_t));
			set(&r, 2, 0, NULL, &runs[i].axis, sizeof(int64_t));
			run(&r);
			near(&r, 4 * (uint32_t)runs[i].length, runs[i].want);
		}
		stop(&r);
	}
	t = BEGIN(*arg, IO("x", F32, x, 2, 2, 1), axis);
	ONE(t, NULL, "DFT", "x - axis", "y");
	must_fail(t, -EINVAL, "node y (DFT)");
}

/* Blurred to sizes or by scales that are inputs, of a size that is a symbol; to its own at last */
static void test_blurred(void **arg)
{
	static const float x[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	static const float scales[][2] = { { 0.6f, 0.6f }, { 1, 1 } };
	static const int64_t sizes[][2] = { { 2, 2 }, { 4, 4 } };
	/* As test_antialias in test_onnx_ops.c has them; with one proportion 2 x 4 become 2 x 2. */
	static const float want[3][4] = {
		{ 2.5180721f, 4.2858863f, 9.589329f, 11.357142f },
		{ 4.125f, 5.875f, 11.125f, 12.875f },
		{ 4.125f, 5.875f, 11.125f, 12.875f },
	};
	struct tested *t;
	struct runner r;
	struct bytes n;
	uint32_t i, k;

	for (i = 0; i < 3; i++) {
		const bool by = !i;

		t = BEGIN(*arg, IO("x", F32, x, 1, 1, -1, -2), IO("to", by ? F32 : S64, NULL, 2));
		n = op(NULL, "Resize", by ? "x - to" : "x - - to", "y");
		attr_text(&n, "mode", by ? "cubic" : "linear");
		attr_int(&n, "antialias", 1);
		attr_ints(&n, "axes", 2, DIMS(2, -1));
		if (i == 2)
			attr_text(&n, "keep_aspect_ratio_policy", "not_larger");
		add_op(t, &n);
		put_name(&t->g, 12, "y");
		r = start(t, i);
		for (k = 0; k < 2; k++) {
			const int64_t bound[] = { 4 * k + 2, 4 };

			set(&r, 0, 4, DIMS(1, 1, 4, 4), x, sizeof(x));
			if (by)
				set(&r, 1, 1, DIMS(2), scales[k], sizeof(scales[k]));
			else
				set(&r, 1, 1, DIMS(2), i == 2 ? bound : sizes[k], sizeof(bound));
			run(&r);
			near(&r, k ? 16 : 4, k ? x : want[i]);
		}
		stop(&r);
	}
	/* There is nothing to make something of. */
	t = BEGIN(*arg, { "x", F32, 1, { -1 }, x, false, DIMS(0) }, IO("to", S64, DIMS(2), 1));
	n = op(NULL, "Resize", "x - - to", "y");
	attr_text(&n, "mode", "linear");
	attr_int(&n, "antialias", 1);
	add_op(t, &n);
	must_fail(t, -EINVAL, "node y (Resize)");
}

/* Along a dimension that keeps its size, as running tells, nothing is added up. */
static void test_kept_sizes(void **arg)
{
	static const float x[12] = { 1, 2, 3, 4, INFINITY, NAN, 7, 8, 5, 6, 7, 8 };
	static const float half[6] = { 1.625f, 3.375f, NAN, NAN, 5.625f, 7.375f };
	static const double between[6] = { 1.5, 3.5, NAN, 7.5, 5.5, 7.5 };
	static const float line[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct tested *t;
	struct bytes n;
	double wide[12];
	uint32_t i;

	for (i = 0; i < 12; i++)
		wide[i] = (double)x[i];
	t = BEGIN(*arg, IO("x", F32, x, 3, 4), IO("to", S64, DIMS(3, 2), 2),
		  IO("wide", F64, wide, 3, 4));
	n = op(NULL, "Resize", "x - - to", "y");
	attr_text(&n, "mode", "linear");
	attr_int(&n, "antialias", 1);
	add_op(t, &n);
	n = op(NULL, "Resize", "wide - - to", "z");
	attr_text(&n, "mode", "linear");
	add_op(t, &n);
	GIVES(t, IO("y", F32, half, 3, 2), IO("z", F64, between, 3, 2));
	/* Bounds of one scale are no sizes: 2 x 4 become 1 x 2. */
	t = BEGIN(*arg, IO("x", F32, line, 2, 4), CONST("to", S64, DIMS(2, 2), 2));
	n = op(NULL, "Resize", "x - - to", "y");
	attr_text(&n, "mode", "linear");
	attr_text(&n, "keep_aspect_ratio_policy", "not_larger");
	attr_int(&n, "antialias", 1);
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ 3.625f, 5.375f }), 1, 2));
}

/* Of sizes that keep proportions those that are no sizes are errors when they are known. */
static void test_bounds_wrong(void **arg)
{
	static const int64_t bad[][2] = { { 7, -1 }, { 0, 7 }, { -1, -1 } };
	static const float x[4];
	uint32_t i, smooth;

	for (i = 0; i < COUNT(bad); i++)
		for (smooth = 0; smooth < 2; smooth++) {
			struct tested *t = BEGIN(*arg, IO("x", F32, x, 2, 2),
						 IO("to", S64, bad[i], 2));
			struct bytes n = op(NULL, "Resize", "x - - to", "y");

			attr_text(&n, "mode", "linear");
			attr_int(&n, "antialias", smooth);
			attr_text(&n, "keep_aspect_ratio_policy",
				  i ? "not_larger" : "not_smaller");
			add_op(t, &n);
			must_fail(t, -EINVAL, "node y (Resize)");
		}
}

/* --- images whose proportions are kept, and what is no size ---------------------------------- */

static void add_resize(struct tested *t, const char *in, const char *out, const char *mode,
		       bool smooth)
{
	struct bytes n = op(NULL, "Resize", in, out);

	attr_text(&n, "mode", mode);
	attr_int(&n, "antialias", smooth);
	attr_text(&n, "coordinate_transformation_mode", "pytorch_half_pixel");
	attr_text(&n, "keep_aspect_ratio_policy", "not_smaller");
	attr_int(&n, "exclude_outside", smooth);
	add_op(t, &n);
}

/* A dimension that has the size of its bound changes if the proportions want it. */
static void test_bounds(void **arg)
{
	float x[24];
	struct tested *t;
	uint32_t i;

	for (i = 0; i < 24; i++)
		x[i] = 1;
	t = BEGIN(*arg, IO("x", F32, x, 2, 3), CONST("to", S64, DIMS(2, 6), 2));
	t->bound = 0.00001;
	add_resize(t, "x - - to", "y", "linear", true);
	GIVES(t, IO("y", F32, x, 4, 6));
}

/* Neighbours outside do not count, of a blurred line as of others. */
static void test_outside(void **arg)
{
	static const float x[] = { 1, 2, 3, 4 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 4), CONST("to", S64, DIMS(2), 1));

	t->bound = 0.00001;
	add_resize(t, "x - - to", "y", "linear", true);
	GIVES(t, IO("y", F32, ((float[]){ 12.f / 7, 23.f / 7 }), 2));
}

/* One alone is at place 0, whoever computes it. */
static void test_one_place(void **arg)
{
	static const float x[] = { 0, 1, 4, 2 };
	static const double d[] = { 0, 1, 4, 2 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 4), IO("d", F64, d, 4),
				 CONST("to", S64, DIMS(1), 1));

	add_resize(t, "x - - to", "y", "cubic", false);
	add_resize(t, "d - - to", "z", "cubic", false);
	GIVES(t, IO("y", F32, x, 1), IO("z", F64, d, 1));
}

/* So small a part of an image has no rows. */
static void test_no_rows(void **arg)
{
	static const char *const modes[] = { "nearest", "linear", "cubic" };
	static const float x[4], part[] = { 1, 1, 0.25f, 1 };
	uint32_t i, late;

	for (i = 0; i < 3; i++)
		for (late = 0; late < 2; late++) {
			struct tested *t = BEGIN(*arg, IO("x", F32, x, 1, 1, 2, 2),
						 { "s", F32, 1, { 4 }, part, !late, NULL });
			struct bytes n = op(NULL, "Resize", "x - s", "y");

			attr_text(&n, "mode", modes[i]);
			add_op(t, &n);
			GIVES(t, IO("y", F32, x, 1, 1, 0, 2));
		}
}

/* Numbers that are no scales and no sizes are errors, also where places are computed. */
static void test_no_scales(void **arg)
{
	static const float x[4], scales[][4] = { { 1, 1, -1, 1 }, { 1, 1, NAN, 1 } };
	static const double d[4];
	uint32_t i, smooth;

	for (i = 0; i < 3; i++)
		for (smooth = 0; smooth < 2; smooth++) {
			struct tested *t = BEGIN(*arg, IO("x", smooth ? F32 : F64,
						 smooth ? (const void *)x : d, 1, 1, 2, 2),
						 IO("s", F32, scales[i % 2], 4),
						 IO("to", S64, DIMS(1, 1, -1, 2), 4));
			struct bytes n = op(NULL, "Resize", i < 2 ? "x - s" : "x - - to", "y");

			attr_text(&n, "mode", "linear");
			attr_int(&n, "antialias", smooth);
			add_op(t, &n);
			must_fail(t, -EINVAL, "node y (Resize)");
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_places), TEST(test_split), TEST(test_optional), TEST(test_refused),
		TEST(test_outputs), TEST(test_batches), TEST(test_no_iteration),
		TEST(test_columns), TEST(test_columns_wrong), TEST(test_axis),
		TEST(test_blurred), TEST(test_kept_sizes),
		TEST(test_bounds_wrong),
		TEST(test_bounds), TEST(test_outside), TEST(test_one_place), TEST(test_no_rows),
		TEST(test_no_scales),
	};

	return cmocka_run_group_tests_name("onnx_sequence", tests, NULL, NULL);
}
