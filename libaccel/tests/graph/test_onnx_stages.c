// SPDX-License-Identifier: MIT
/*
 * Shapes that only running tells: what is found, and what inputs, branches and loops say.
 */
#include <pthread.h>
#include "onnxrun.h"

/* What is found says how large what follows is; wanted numbers are computed, or given. */
static void test_found(void **arg)
{
	static const int64_t all = -1, zero;
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, -1), IO("k", S64, NULL, 1),
				 CONST("all", S64, &all, 1), CONST("zero", S64, &zero, 1));
	static const struct {
		float x[4];
		int64_t k;
		uint32_t found;
		float y[4];
		float z[4];
	} cases[] = {
		{ { 0, 5, 0, -7 }, 2, 2, { 5, -7 }, { 5, -7 } },
		{ { 1, 2, 3, 4 }, 3, 4, { 1, 2, 3, 4 }, { 1, 2, 3 } },
		{ { 0, 6, 0, -8 }, 2, 2, { 6, -8 }, { 6, -8 } },
		{ { 0, 0, 0, 0 }, 3, 0, { 0 }, { 0 } },
		{ { 9, 0, 0, 0 }, 1, 1, { 9 }, { 9 } },
	};
	uint32_t i, level;

	ONE(t, NULL, "Add", "x x", "xx");
	ONE(t, NULL, "NonZero", "xx", "n");
	ONE(t, NULL, "Reshape", "n all", "at");
	ONE(t, NULL, "Gather", "x at", "y");
	ONE(t, NULL, "Slice", "y zero k", "z");
	put_name(&t->g, 12, "y");
	put_name(&t->g, 12, "z");
	for (level = 0; level <= 3; level++) {
		struct runner r = start(t, level);

		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			uint32_t cut = (uint32_t)cases[i].k;

			if (cases[i].found < cut)
				cut = cases[i].found;
			set(&r, 0, 1, DIMS(4), cases[i].x, 16);
			set(&r, 1, 1, DIMS(1), &cases[i].k, 8);
			run(&r);
			has(&r, 0, 1, cases[i].found, cases[i].y);
			has(&r, 1, 1, cut, cases[i].z);
		}
		stop(&r);
	}
}

static int join(void *user, const char *text, uint64_t bytes)
{
	char *to = user;

	snprintf(to + strlen(to), 16384 - strlen(to), "%.*s", (int)bytes, text);
	return 0;
}

static int sum_up(void *user, const struct accel_node_profile *p)
{
	char *to = user;

	snprintf(to + strlen(to), 16384 - strlen(to), "%u %s\n", p->index, p->name);
	return 0;
}

/* People are told what happens between the parts, and of all parts. */
static void test_told(void **arg)
{
	static const float x[4] = { 0, 5, 0, -7 };
	static char text[16384];
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 4));
	struct bytes n = op(NULL, "NonZero", "e", "n");
	struct bed *bed = *arg;
	struct runner r;

	put_text(&n, 3, "finder");
	ONE(t, NULL, "Exp", "x", "e");
	add_op(t, &n);
	ONE(t, NULL, "Add", "n n", "y");
	put_name(&t->g, 12, "y");
	r = start(t, 3);
	set(&r, 0, 1, DIMS(4), x, 16);
	run(&r);
	text[0] = 0;
	MUST(accel_state_explain(r.state, ACCEL_TEXT_PLAIN, join, text));
	assert_non_null(strstr(text, "then finder (nonzero)"));
	assert_non_null(strstr(text, "binary"));
	text[0] = 0;
	MUST(accel_state_explain(r.state, ACCEL_TEXT_JSON, join, text));
	assert_non_null(strstr(text, "\"stages\":["));
	text[0] = 0;
	MUST(accel_state_profile(r.state, 1, sum_up, text));
	assert_string_equal(text, "0 e\n1 finder\n2 y\n");
	stop(&r);
}

/* What does not fit is only known when it runs. */
static void test_runs_out(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 4), IO("s", S64, NULL, 2));
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bed *bed = *arg;
	struct runner r;

	ONE(t, NULL, "Reshape", "x s", "y");
	put_name(&t->g, 12, "y");
	r = start(t, 3);
	set(&r, 0, 1, DIMS(4), x, 16);
	set(&r, 1, 1, DIMS(2), DIMS(3, 2), 16);
	assert_int_equal(accel_state_run(r.state), -EINVAL);
	MUST(accel_ctx_get_error(bed->ctx, &e));
	assert_non_null(strstr(e.text, "node y (Reshape): 4 elements become 6"));
	set(&r, 1, 1, DIMS(2), DIMS(2, 2), 16);
	run(&r);
	has(&r, 0, 2, 4, x);
	stop(&r);
}

/* What control flow gives is a shape by itself. */
static void test_given_shapes(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	static const int64_t two[2] = { 2, 2 }, one[2] = { -1, 1 };
	struct tested *t = BEGIN(*arg, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 4),
				 CONST("two", S64, two, 2), CONST("one", S64, one, 2));
	const struct bytes yes = lone("Identity", "two", "p"), no = lone("Identity", "one", "q");
	const uint8_t conditions[] = { 1, 0, 1 };
	uint32_t level, i;

	add_if(&t->g, "c", "s", &yes, &no);
	ONE(t, NULL, "Reshape", "x s", "y");
	put_name(&t->g, 12, "y");
	for (level = 0; level <= 3; level++) {
		struct runner r = start(t, level);

		set(&r, 1, 1, DIMS(4), x, sizeof(x));
		for (i = 0; i < 3; i++) {
			struct accel_value v;

			set(&r, 0, 1, DIMS(1), &conditions[i], 1);
			run(&r);
			has(&r, 0, 2, 4, x);
			output(r.bed, r.state, 0, &v);
			assert_int_equal(v.dims[0], conditions[i] ? 2 : 4);
		}
		stop(&r);
	}
}

/*
 * Branches of unlike ranks: what is behind was described for one of them, and counts its axis
 * from the end. The other is refused where it is read, and is a result like any other.
 */
static void test_unlike_ranks(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	static const int64_t flat = -1;
	struct tested *t = BEGIN(*arg, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 2, 2),
				 CONST("flat", S64, &flat, 1));
	const struct bytes yes = lone("Reshape", "x flat", "p"), no = lone("Identity", "x", "q");
	struct bytes n = op(NULL, "Concat", "s s", "y");
	struct accel_error e = ACCEL_ERROR_INIT;
	const uint8_t on = 1, off = 0;
	struct bed *bed = *arg;
	struct runner r;

	attr_int(&n, "axis", -1);
	add_if(&t->g, "c", "s", &yes, &no);
	put_name(&t->g, 12, "s");
	r = start(t, 3);
	set(&r, 0, 1, DIMS(1), &off, 1);
	set(&r, 1, 2, DIMS(2, 2), x, sizeof(x));
	run(&r);
	has(&r, 0, 2, 4, x);
	stop(&r);
	add_op(t, &n);
	put_name(&t->g, 12, "y");
	r = start(t, 3);
	set(&r, 1, 2, DIMS(2, 2), x, sizeof(x));
	set(&r, 0, 1, DIMS(1), &off, 1);
	assert_int_equal(accel_state_run(r.state), -EOPNOTSUPP);
	MUST(accel_ctx_get_error(bed->ctx, &e));
	assert_non_null(strstr(e.text, "(If): result 0 is fp32 of 2 dimensions"));
	set(&r, 0, 1, DIMS(1), &on, 1);
	run(&r);
	has(&r, 1, 1, 8, (float[]){ 1, 2, 3, 4, 1, 2, 3, 4 });
	stop(&r);
}

/* A condition that sizes tell: the branch that they choose says what is behind. */
static void test_known_branch(void **arg)
{
	static const float x[6] = { 1, 2, 3, 4, 5, 6 };
	static const int64_t flat = -1, one = 1, first;
	struct tested *t = BEGIN(*arg, { "x", F32, 2, { -1, 3 }, x, false, DIMS(2, 3) },
				 CONST("flat", S64, &flat, 1), CONST("one", S64, &one, 1),
				 CONST("first", S64, &first, 1));
	const struct bytes yes = lone("Reshape", "x flat", "p"), no = lone("Identity", "x", "q");
	struct bytes n = op(NULL, "Concat", "s s", "y");

	attr_int(&n, "axis", -1);
	ONE(t, NULL, "Shape", "x", "sizes");
	ONE(t, NULL, "Gather", "sizes first", "rows");
	ONE(t, NULL, "Equal", "rows one", "c");
	add_if(&t->g, "c", "s", &yes, &no);
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6 }), 2, 6));
}

/* A stage that could not be made is not asked for what it has. */
static void test_half_way(void **arg)
{
	static const float x[4] = { 1, 0, 3, 4 }, y[4] = { 1, 2, 3, 4 };
	struct accel_program_info info = { .size = sizeof(info) };
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 4), IO("two", S64, NULL, 2));
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bed *bed = *arg;
	struct runner r;

	ONE(t, NULL, "NonZero", "x", "n");
	ONE(t, NULL, "Reshape", "n two", "m");
	put_name(&t->g, 12, "m");
	r = start(t, 3);
	set(&r, 0, 1, DIMS(4), x, sizeof(x));
	set(&r, 1, 1, DIMS(2), DIMS(2, 2), 16);
	assert_int_equal(accel_state_run(r.state), -EINVAL);
	MUST(accel_ctx_get_error(bed->ctx, &e));
	assert_non_null(strstr(e.text, "3 elements become 4"));
	MUST(accel_state_get_info(r.state, &info));
	set(&r, 0, 1, DIMS(4), y, sizeof(y));
	run(&r);
	stop(&r);
}

/* Other sizes than those that were guessed for an example: only running tells whether they fit. */
static void test_guess(void **arg)
{
	static const int64_t shape[3] = { 7, -1, 1 }, found[8] = { 0, 1, 2, 3, 4, 5, 6 };
	static const float x[8] = { 1, 1, 1, 1, 1, 1, 1, 0 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 8), CONST("shape", S64, shape, 3));

	ONE(t, NULL, "NonZero", "x", "n");
	ONE(t, NULL, "Reshape", "n shape", "y");
	GIVES(t, IO("y", S64, found, 7, 1, 1));
}

/* Unlike elements and slices, where each is first, and how often; a NaN is like another. */
static void test_unique(void **arg)
{
	static const float some[6] = { 2, 1, 1, 3, 4, 3 }, rows[6] = { 3, 1, 3, 4, 2, 4 };
	static const float nans[4] = { NAN, 1, NAN, 0 };
	struct tested *t = BEGIN(*arg, IO("x", F32, some, 6));
	struct bytes n = op(NULL, "Unique", "x", "y i v c");

	attr_int(&n, "sorted", 0);
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ 2, 1, 3, 4 }), 4), IO("i", S64, DIMS(0, 1, 3, 4), 4),
	      IO("v", S64, DIMS(0, 1, 1, 2, 3, 2), 6), IO("c", S64, DIMS(1, 2, 2, 1), 4));
	t = BEGIN(*arg, IO("x", F32, rows, 2, 3));
	n = op(NULL, "Unique", "x", "y i v c");
	attr_int(&n, "axis", -1);
	add_op(t, &n);
	GIVES(t, IO("y", F32, ((float[]){ 1, 3, 2, 4 }), 2, 2), IO("i", S64, DIMS(1, 0), 2),
	      IO("v", S64, DIMS(1, 0, 1), 3), IO("c", S64, DIMS(1, 2), 2));
	t = BEGIN(*arg, IO("x", F32, nans, 4));
	ONE(t, NULL, "Unique", "x", "y i v c");
	GIVES(t, IO("y", F32, ((float[]){ 0, 1, NAN }), 3), IO("i", S64, DIMS(3, 1, 0), 3),
	      IO("v", S64, DIMS(2, 1, 2, 0), 4), IO("c", S64, DIMS(1, 1, 2), 3));
}

/* Boxes that cover others of less score; without a number of them there are none. */
static void test_boxes(void **arg)
{
	static const float b[24] = {
		0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f,
		0, 100, 1, 101
	};
	static const float s[6] = { 0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f }, half = 0.5f;
	static const int64_t three = 3;
	struct tested *t = BEGIN(*arg, IO("b", F32, b, 1, 6, 4), IO("s", F32, s, 1, 1, 6),
				 SCALAR("m", S64, &three), SCALAR("h", F32, &half));

	ONE(t, NULL, "NonMaxSuppression", "b s m h", "y");
	ONE(t, NULL, "NonMaxSuppression", "b s", "z");
	ONE(t, NULL, "NonMaxSuppression", "b s m - h", "w");
	GIVES(t, IO("y", S64, DIMS(0, 0, 3, 0, 0, 0, 0, 0, 5), 3, 3), IO("z", S64, DIMS(0), 0, 3),
	      IO("w", S64, DIMS(0, 0, 3, 0, 0, 0), 2, 3));
}

/* Where a condition holds, along a dimension or of all; one number without dimensions */
static void test_places(void **arg)
{
	static const float x[6] = { 1, 2, 3, 4, 5, 6 }, one = 7;
	static const uint8_t c[2] = { 0, 1 };
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 3, 2), IO("c", BOOL, c, 2),
				 IO("one", F32, &one, 1));
	struct bytes n = op(NULL, "Compress", "x c", "y");

	attr_int(&n, "axis", 1);
	add_op(t, &n);
	ONE(t, NULL, "Compress", "x c", "z");
	ONE(t, NULL, "Squeeze", "one", "scalar");
	ONE(t, NULL, "NonZero", "scalar", "w");
	GIVES(t, IO("y", F32, ((float[]){ 2, 4, 6 }), 3, 1), IO("z", F32, x + 1, 1),
	      IO("w", S64, DIMS(0), 0, 1));
}

/* What a part made is there for all those behind it, and so are views of it. */
static void test_kept(void **arg)
{
	static const float x[4] = { 0, 5, 0, -7 };
	static const int64_t all = -1;
	struct tested *t = BEGIN(*arg, IO("x", F32, x, 2, 2), CONST("all", S64, &all, 1));

	/* Every line but the last two ends a part, or lives through one. */
	ONE(t, NULL, "Add", "x x", "a");
	ONE(t, NULL, "Transpose", "a", "b");
	ONE(t, NULL, "Exp", "a", "e");
	ONE(t, NULL, "NonZero", "b", "n");
	ONE(t, NULL, "Neg", "b", "c");
	ONE(t, NULL, "Reshape", "b all", "flat");
	ONE(t, NULL, "NonZero", "c", "o");
	ONE(t, NULL, "Sub", "n o", "zero");
	ONE(t, NULL, "NonZero", "flat", "p");
	ONE(t, NULL, "Reshape", "p all", "at");
	ONE(t, NULL, "Gather", "flat at", "y");
	ONE(t, NULL, "Add", "b c", "z");
	ONE(t, NULL, "Log", "e", "w");
	GIVES(t, IO("y", F32, ((float[]){ 10, -14 }), 2), IO("z", F32, ((float[4]){ 0 }), 2, 2),
	      IO("zero", S64, DIMS(0, 0, 0, 0), 2, 2), IO("n", S64, DIMS(1, 1, 0, 1), 2, 2),
	      IO("b", F32, ((float[]){ 0, 0, 10, -14 }), 2, 2));
}

/* What has no room once has none the next time, and what is smaller has. */
static void test_no_room(void **arg)
{
	static const float x[1] = { 1 };
	struct tested *t = BEGIN(*arg, IO("s", S64, NULL, 4), IO("x", F32, NULL, 1));
	const int64_t large[4] = { 1024, 1024, 1024, 1024 };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bed *bed = *arg;
	struct runner r;
	int i;

	ONE(t, NULL, "Expand", "x s", "e");
	ONE(t, NULL, "Exp", "e", "y");
	put_name(&t->g, 12, "y");
	r = start(t, 0);
	set(&r, 1, 1, DIMS(1), x, sizeof(x));
	set(&r, 0, 1, DIMS(4), large, 32);
	for (i = 0; i < 2; i++) {
		assert_int_equal(accel_state_run(r.state), -EINVAL);
		MUST(accel_ctx_get_error(bed->ctx, &e));
		assert_string_equal(e.field, "bytes");
	}
	set(&r, 0, 1, DIMS(4), DIMS(1, 1, 1, 2), 32);
	run(&r);
	has(&r, 0, 4, 2, (float[]){ expf(1), expf(1) });
	stop(&r);
}

/**
 * struct worker - a thread with a state of its own
 * @r: state
 * @seed: of its numbers
 * @wrong: runs that failed, or gave something else
 */
struct worker {
	struct runner r;
	int seed;
	int wrong;
};

/* y = x[x != 0] + 10 or - 10 */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct accel_state *s = w->r.state;
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t i, k, n;
	float *x, want;
	const void *y;

	for (i = 0; i < 60; i++) {
		x = accel_state_get_input(s, 0, NULL);
		for (k = n = 0; k < 8; k++) {
			x[k] = (i * 7 + (uint32_t)w->seed * 5 + k * k) % 3 ? (float)(k + 1) : 0;
			n += x[k] != 0;
		}
		*(uint8_t *)accel_state_get_input(s, 1, NULL) = i & 1;
		if (accel_state_run(s) || accel_state_get_output(s, 0, &v, &y) ||
		    v.rank != 1 || v.dims[0] != n) {
			w->wrong++;
			continue;
		}
		for (k = n = 0; k < 8; k++) {
			want = i & 1 ? x[k] + 10 : x[k] - 10;
			w->wrong += x[k] != 0 && ((const float *)y)[n++] != want;
		}
	}
	return NULL;
}

/* States of one program run at once, each with sizes and branches of its own. */
static void test_threads(void **arg)
{
	static const int64_t all = -1;
	static const float ten[1] = { 10 };
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 8), IO("c", BOOL, NULL, 1),
				 CONST("all", S64, &all, 1), CONST("w", F32, ten, 1));
	const struct bytes yes = lone("Add", "g w", "p"), no = lone("Sub", "g w", "q");
	struct worker w[4] = { 0 };
	struct bed *bed = *arg;
	pthread_t threads[4];
	struct runner r;
	int i;

	ONE(t, NULL, "NonZero", "x", "n");
	ONE(t, NULL, "Reshape", "n all", "at");
	ONE(t, NULL, "Gather", "x at", "g");
	add_if(&t->g, "c", "y", &yes, &no);
	put_name(&t->g, 12, "y");
	r = start(t, 3);
	for (i = 0; i < 4; i++) {
		w[i] = (struct worker) { .r = r, .seed = i };
		w[i].r.state = new_state(bed, r.program);
		assert_int_equal(pthread_create(&threads[i], NULL, work, &w[i]), 0);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		accel_state_destroy(w[i].r.state);
		assert_int_equal(w[i].wrong, 0);
	}
	stop(&r);
}

/* Shapes that inputs say are looked at one by one; what was made for them is there again. */
static void test_many_shapes(void **arg)
{
	static const float x[4] = { 1, 2, 3, 4 };
	struct io in[13] = { IO("x", F32, NULL, 4) };
	clock_t took, first = 0, least = 0;
	char names[12][16], from[16] = "x", ins[256];
	struct tested *t;
	struct runner r;
	int i, k;

	for (i = 0; i < 12; i++) {
		snprintf(names[i], sizeof(names[i]), "s%d", i);
		in[1 + i] = (struct io)IO(names[i], S64, NULL, 2);
	}
	t = begin(*arg, in, 13);
	for (i = 0; i < 12; i++) {
		char neg[16], out[16];

		snprintf(ins, sizeof(ins), "%s %s", from, names[i]);
		snprintf(out, sizeof(out), "y%d", i);
		snprintf(neg, sizeof(neg), "z%d", i);
		ONE(t, NULL, "Reshape", ins, out);
		ONE(t, NULL, "Neg", out, neg);
		memcpy(from, neg, sizeof(from));
	}
	put_name(&t->g, 12, "z11");
	r = start(t, 3);
	set(&r, 0, 1, DIMS(4), x, sizeof(x));
	for (i = 0; i < 12; i++)
		set(&r, 1 + (uint32_t)i, 1, DIMS(2), i & 1 ? DIMS(2, 2) : DIMS(4, 1), 16);
	for (k = 0; k < 8; k++) {
		took = clock();
		run(&r);
		took = clock() - took;
		if (!k)
			first = took;
		else if (k == 1 || took < least)
			least = took;
		has(&r, 0, 2, 4, x);
	}

	assert_true(8 * least < first);
	stop(&r);
}

/* --- recurrent layers ----------------------------------------------------------------- */

/* A layer of two directions over three steps of a batch of two, some of them shorter */
struct recurrent {
	const char *op;
	uint32_t gates;
	const char *out;
	const char *direction;
	bool layout;
	bool lens;
};

static const float *numbers(uint32_t count, uint32_t seed)
{
	static float data[4][512];
	uint32_t i;

	assert_true(count <= 512 && seed < 4);
	for (i = 0; i < count; i++)
		data[seed][i] = noise(seed, i);
	return data[seed];
}

static struct runner start_recurrent(struct bed *bed, const struct recurrent *r, int64_t steps,
				     int64_t batch, uint32_t level)
{
	uint32_t d = r->direction[0] == 'b' ? 2 : 1, g = r->gates * 4;
	struct tested *t = BEGIN(bed,
				 IO("x", F32, NULL, r->layout ? batch : steps,
				    r->layout ? steps : batch, 3),
				 IO("n", S32, NULL, batch),
				 CONST("W", F32, numbers(d * g * 3, 0), d, g, 3),
				 CONST("R", F32, numbers(d * g * 4, 1), d, g, 4),
				 CONST("B", F32, numbers(d * g * 2, 2), d, 2 * g));
	struct bytes n = op(NULL, r->op, r->lens ? "x W R B n" : "x W R B", r->out);

	attr_int(&n, "hidden_size", 4);
	attr_int(&n, "layout", r->layout);
	if (r->gates == 3)
		attr_int(&n, "linear_before_reset", 1);
	attr_text(&n, "direction", r->direction);
	add_op(t, &n);
	put_name(&t->g, 12, "y");
	put_name(&t->g, 12, "h");
	if (r->gates == 4)
		put_name(&t->g, 12, "c");
	return start(t, level);
}

static void same_result(struct runner *a, struct runner *b, uint32_t index, const char *what)
{
	struct accel_value v, w;
	const float *x = output(a->bed, a->state, index, &v);
	const float *y = output(b->bed, b->state, index, &w);
	uint32_t i;

	assert_int_equal(v.rank, w.rank);
	assert_memory_equal(v.dims, w.dims, v.rank * sizeof(v.dims[0]));
	for (i = 0; i < elements(&v); i++)
		if (!(fabsf(x[i] - y[i]) <= 0.00001f))
			fail_msg("%s, result %u, element %u: %g, not %g", what, index, i,
				 (double)x[i], (double)y[i]);
}

/* Steps that only running tells are a loop, which computes what as many nodes do. */
static void test_recurrent(void **arg)
{
	static const struct recurrent cases[] = {
		{ "LSTM", 4, "y h c", "forward", false, false },
		{ "LSTM", 4, "y h c", "bidirectional", false, true },
		{ "LSTM", 4, "y h c", "reverse", true, false },
		{ "GRU", 3, "y h", "bidirectional", true, true },
		{ "GRU", 3, "y h", "forward", false, false },
		{ "RNN", 1, "y h", "reverse", false, true },
	};
	static const int64_t sizes[][2] = { { 3, 2 }, { 1, 1 }, { 5, 2 }, { 3, 2 } };
	static const int32_t lens[2] = { 1, 3 };
	uint32_t i, k, o;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct recurrent *c = &cases[i];
		struct runner loop = start_recurrent(*arg, c, -1, -2, i & 1 ? 3 : 0);

		for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			int64_t steps = sizes[k][0], batch = sizes[k][1];
			struct runner known = start_recurrent(*arg, c, steps, batch, 3);
			struct runner *both[2] = { &loop, &known };
			const int64_t dims[3] = { c->layout ? batch : steps,
						  c->layout ? steps : batch, 3 };

			for (o = 0; o < 2; o++) {
				set(both[o], 0, 3, dims, numbers((uint32_t)(steps * batch * 3), 3),
				    (size_t)(steps * batch) * 12);
				set(both[o], 1, 1, &batch, lens, (size_t)batch * 4);
				run(both[o]);
			}
			for (o = 0; o < (c->gates == 4 ? 3 : 2); o++)
				same_result(&loop, &known, o, c->op);
			stop(&known);
		}
		stop(&loop);
	}
}

/* --- numbers for symbols ---------------------------------------------------------------- */

/* What is halved twice and doubled meets what was halved once, in two dimensions at once. */
static void test_halvings(void **arg)
{
	static const float x[16] = { 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4 }, w[4] = { 1, 1, 1, 1 };
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, -1, 1, -2, -3),
				 CONST("w", F32, w, 1, 1, 2, 2));
	const char *const at[2][2] = { { "x", "d1" }, { "d1", "d2" } };
	struct runner r;
	struct bytes n;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		n = op(NULL, "MaxPool", at[i][0], at[i][1]);
		attr_ints(&n, "kernel_shape", 2, (int64_t[]){ 1, 1 });
		attr_ints(&n, "strides", 2, (int64_t[]){ 2, 2 });
		add_op(t, &n);
	}
	n = op(NULL, "ConvTranspose", "d2 w", "u");
	attr_ints(&n, "strides", 2, (int64_t[]){ 2, 2 });
	add_op(t, &n);
	ONE(t, NULL, "Add", "u d1", "y");
	put_name(&t->g, 12, "y");
	r = start(t, 3);
	set(&r, 0, 4, DIMS(1, 1, 4, 4), x, sizeof(x));
	run(&r);
	has(&r, 0, 4, 4, (float[]){ 2, 3, 4, 5 });
	stop(&r);
}

/* A window that is larger than unlike numbers are, and a branch for the one that is left */
static void test_large_window(void **arg)
{
	static const int64_t last = 2, one = 1;
	static float w[300], x[400];
	struct tested *t;
	struct bytes n = op(NULL, "Conv", "x w", "c"), yes = lone("Squeeze", "c last", "p");
	struct bytes no = lone("Identity", "c", "q");
	struct runner r;
	uint32_t i;

	for (i = 0; i < 300; i++)
		w[i] = 1;
	for (i = 0; i < 400; i++)
		x[i] = (float)(i & 1);
	t = BEGIN(*arg, IO("x", F32, NULL, -1, 1, -2),
		  CONST("w", F32, w, 1, 1, 300),
		  CONST("last", S64, &last, 1), CONST("one", S64, &one, 1));
	attr_ints(&n, "strides", 1, (int64_t[]){ 200 });
	add_op(t, &n);
	ONE(t, NULL, "Shape", "c", "s");
	ONE(t, NULL, "Gather", "s last", "k");
	ONE(t, NULL, "Equal", "k one", "e");
	add_if(&t->g, "e", "y", &yes, &no);
	put_name(&t->g, 12, "y");
	r = start(t, 3);
	set(&r, 0, 3, DIMS(1, 1, 400), x, sizeof(x));
	run(&r);
	has(&r, 0, 2, 1, (float[]){ 150 });
	stop(&r);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_found), TEST(test_told), TEST(test_runs_out), TEST(test_given_shapes),
		TEST(test_unlike_ranks), TEST(test_known_branch), TEST(test_half_way),
		TEST(test_no_room), TEST(test_guess), TEST(test_unique),
		TEST(test_boxes), TEST(test_places), TEST(test_kept),
		TEST(test_threads), TEST(test_many_shapes), TEST(test_recurrent),
		TEST(test_halvings), TEST(test_large_window),
	};

	return cmocka_run_group_tests_name("onnx_stages", tests, NULL, NULL);
}
