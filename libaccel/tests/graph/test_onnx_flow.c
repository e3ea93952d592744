// SPDX-License-Identifier: MIT
/*
 * Control flow: files written here, run again and again with other numbers in one state.
 * One file, as the graphs within graphs are written by the same functions.
 */
#include "counted.h"
#include "onnxrun.h"
#include "libaccel/tests/guest.h"

/* A graph within a graph takes values from both around it. */
static void test_if(void **arg)
{
	static const float x[2] = { 1, -2 }, w[2] = { 10, 100 };
	struct bytes yes = { .n = 0 }, no, inner, other;
	struct tested *t = BEGIN(*arg, IO("c", BOOL, NULL, 1), IO("d", BOOL, NULL, 1),
				 IO("x", F32, NULL, 2), CONST("w", F32, w, 2));
	static const struct {
		uint8_t c, d;
		float y[2];
	} cases[] = {
		{ 1, 1, { 22, -404 } }, { 0, 1, { -2, 4 } }, { 1, 0, { 0, 0 } },
		{ 1, 1, { 22, -404 } }, { 0, 0, { -2, 4 } },
	};
	uint32_t i, level;

	/* p = x2 w; yes: d ? p + x2 : p - p */
	inner = lone("Add", "p x2", "i");
	other = lone("Sub", "p p", "j");
	in_body(&yes, "Mul", "x2 w", "p");
	add_if(&yes, "d", "k", &inner, &other);
	put_name(&yes, 12, "k");
	no = lone("Neg", "x2", "q");
	ONE(t, NULL, "Add", "x x", "x2");
	add_if(&t->g, "c", "y", &yes, &no);
	put_name(&t->g, 12, "y");
	for (level = 0; level <= 3; level++) {
		struct runner r = start(t, level);

		set(&r, 2, 1, DIMS(2), x, sizeof(x));
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			set(&r, 0, 1, DIMS(1), &cases[i].c, 1);
			set(&r, 1, 1, DIMS(1), &cases[i].d, 1);
			run(&r);
			has(&r, 0, 1, 2, cases[i].y);
		}
		stop(&r);
	}
}

/* What is carried grows, lists are made, and the condition ends it. */
static void add_grower(struct tested *t)
{
	struct bytes body = { .n = 0 }, n, yes, no;

	put_name(&body, 11, "i");
	put_name(&body, 11, "go");
	put_name(&body, 11, "v");
	/* v, x; its sum is a list; go on while it is below a limit; the step is chosen. */
	yes = lone("Neg", "x", "p");
	no = lone("Identity", "x", "p2");
	add_if(&body, "turn", "s", &yes, &no);
	n = op(NULL, "Concat", "v s", "u");
	attr_int(&n, "axis", 0);
	put_message(&body, 1, &n);
	n = op(NULL, "ReduceSum", "u", "z");
	attr_int(&n, "keepdims", 0);
	put_message(&body, 1, &n);
	in_body(&body, "Less", "z limit", "on");
	put_name(&body, 12, "on");
	put_name(&body, 12, "u");
	put_name(&body, 12, "z");
	n = op(NULL, "Loop", "m - a", "b c");
	attr_graph(&n, "body", &body);
	add_op(t, &n);
	put_name(&t->g, 12, "b");
	put_name(&t->g, 12, "c");
}

static void test_loop(void **arg)
{
	static const float x[1] = { 2 }, a[1] = { 1 }, limit = 7;
	struct tested *t = BEGIN(*arg, IO("m", S64, NULL, 1), IO("turn", BOOL, NULL, 1),
				 IO("a", F32, NULL, -1), CONST("x", F32, x, 1),
				 SCALAR("limit", F32, &limit));
	const uint8_t no = 0, yes = 1;
	uint32_t level;
	int64_t m;

	add_grower(t);
	for (level = 0; level <= 3; level++) {
		struct runner r = start(t, level);

		set(&r, 1, 1, DIMS(1), &no, 1);
		set(&r, 2, 1, DIMS(1), a, sizeof(a));
		m = 2;
		set(&r, 0, 1, DIMS(1), &m, 8);
		run(&r);
		has(&r, 0, 1, 3, (float[]){ 1, 2, 2 });
		has(&r, 1, 1, 2, (float[]){ 3, 5 });
		m = 100;
		set(&r, 0, 1, DIMS(1), &m, 8);
		run(&r);
		has(&r, 0, 1, 4, (float[]){ 1, 2, 2, 2 });
		has(&r, 1, 1, 3, (float[]){ 3, 5, 7 });
		m = 3;
		set(&r, 0, 1, DIMS(1), &m, 8);
		set(&r, 1, 1, DIMS(1), &yes, 1);
		run(&r);
		has(&r, 0, 1, 4, (float[]){ 1, -2, -2, -2 });
		m = 0;
		set(&r, 0, 1, DIMS(1), &m, 8);
		run(&r);
		has(&r, 0, 1, 1, (float[]){ 1 });
		has(&r, 1, 1, 0, NULL);
		stop(&r);
	}
}

/* Slices along other dimensions, from either end, into lists of either order */
static void test_scan(void **arg)
{
	static const float x[6] = { 1, 2, 3, 10, 20, 30 }, s[2] = { 0, 0 };
	struct bytes body = { .n = 0 }, n = op(NULL, "Scan", "s x x", "e l r");
	struct tested *t = BEGIN(*arg, IO("s", F32, s, 2), IO("x", F32, x, 2, 3));

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
	attr_int(&n, "num_scan_inputs", 2);
	attr_ints(&n, "scan_input_axes", 2, (int64_t[]){ 1, -1 });
	attr_ints(&n, "scan_input_directions", 2, (int64_t[]){ 0, 1 });
	attr_ints(&n, "scan_output_axes", 2, (int64_t[]){ 1, 0 });
	attr_ints(&n, "scan_output_directions", 2, (int64_t[]){ 0, 1 });
	add_op(t, &n);
	GIVES(t, IO("e", F32, ((float[]){ 6, 60 }), 2),
	      IO("l", F32, ((float[]){ 1, 3, 6, 10, 30, 60 }), 2, 3),
	      IO("r", F32, ((float[]){ 2, 20, 0, 0, -2, -20 }), 3, 2));
}

/* Whichever allocation is refused, nothing is held then: no graph of a node that is not added. */
static void test_no_memory(void **arg)
{
	struct bytes yes = lone("Neg", "x", "p"), no = lone("Exp", "x", "q");
	struct tested *t = BEGIN(*arg, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 2));
	struct accel_model *m;
	struct accel_error e;
	uint32_t i, count = 0;
	int ret, held;

	add_if(&t->g, "c", "y", &yes, &no);
	put_name(&t->g, 12, "y");
	for (i = 0; i <= count; i++) {
		const uint32_t before = atomic_load(&allocations);

		held = atomic_load(&held_allocations);
		atomic_store(&refused_allocation, i ? before + i : 0);
		ret = open_tested(t, &e, &m);
		atomic_store(&refused_allocation, 0);
		if (!ret)
			accel_model_close(m);
		/* The first one takes them all, and what is made once. */
		if (!i)
			count = atomic_load(&allocations) - before;
		else if (!(ret == 0 || ret == -ENOMEM))
			fail_msg("allocation %u is refused: %d, %s", i, ret, e.text);
		else if (atomic_load(&held_allocations) != held)
			fail_msg("allocation %u is refused: %d are held", i,
				 atomic_load(&held_allocations) - held);
	}
	assert_true(count > 50 || !COUNTED);
}

static void test_refused(void **arg)
{
	struct bytes good = lone("Neg", "x", "p"), two = lone("Neg", "x", "q"), bad, n;
	struct tested *t;
	int i;

#define MODEL() BEGIN(*arg, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 2))
	t = MODEL();
	bad = lone("Blur", "x", "q");
	add_if(&t->g, "c", "y", &good, &bad);
	must_refuse(t, -EOPNOTSUPP, "operators that are not known: Blur");
	t = MODEL();
	bad = lone("Neg", "nowhere", "q");
	add_if(&t->g, "c", "y", &good, &bad);
	must_refuse(t, -EBADMSG, "(Neg): its input nowhere is not there");
	t = MODEL();
	put_name(&two, 12, "x");
	add_if(&t->g, "c", "y", &good, &two);
	must_refuse(t, -EBADMSG, "node y (If): 1 results, or 2");
	t = MODEL();
	n = op(NULL, "If", "c", "y");
	attr_graph(&n, "then_branch", &good);
	add_op(t, &n);
	must_refuse(t, -EBADMSG, "node y (If): it has no else_branch");
	t = MODEL();
	n = op(NULL, "Loop", "- c x", "y");
	attr_graph(&n, "body", &good);
	add_op(t, &n);
	must_refuse(t, -EBADMSG, "node y (Loop): body has not the inputs that it gets");
	/* Graphs within graphs, for ever */
	t = MODEL();
	for (good = lone("Neg", "x", "p"), i = 0; i < 18; i++) {
		bad.n = 0;
		n = op(NULL, "Loop", "- c", "y");
		attr_graph(&n, "body", &good);
		put_message(&bad, 1, &n);
		good = bad;
	}
	add_op(t, &n);
	must_refuse(t, -EOPNOTSUPP, "more than 16 graphs within graphs");
}

/* A loop that takes one from @in for each iteration, gives how often, and a list of it */
static struct bytes counter(void)
{
	struct bytes body = { .n = 0 };

	put_name(&body, 11, "i");
	put_name(&body, 11, "go");
	put_name(&body, 11, "v");
	in_body(&body, "Identity", "go", "on");
	in_body(&body, "Add", "v v", "u");
	in_body(&body, "Identity", "u", "w");
	put_name(&body, 12, "on");
	put_name(&body, 12, "u");
	put_name(&body, 12, "w");
	return body;
}

/* No iteration, and a first value that is a number repeated */
static void test_no_iteration(void **arg)
{
	static const int64_t three = 3;
	static const float f = 1.5f;
	struct tested *t = BEGIN(*arg, IO("m", S64, NULL, 1), CONST("three", S64, &three, 1),
				 SCALAR("f", F32, &f));
	struct bytes n, body = counter();
	struct accel_value v;
	uint32_t level;
	int64_t m;

	ONE(t, NULL, "Expand", "f three", "v0");
	n = op(NULL, "Loop", "m - v0", "b c");
	attr_graph(&n, "body", &body);
	add_op(t, &n);
	put_name(&t->g, 12, "b");
	put_name(&t->g, 12, "c");
	for (level = 0; level <= 3; level++) {
		struct runner r = start(t, level);

		m = 1;
		set(&r, 0, 1, DIMS(1), &m, 8);
		run(&r);
		has(&r, 0, 1, 3, (float[]){ 3, 3, 3 });
		m = 0;
		set(&r, 0, 1, DIMS(1), &m, 8);
		run(&r);
		has(&r, 0, 1, 3, (float[]){ 1.5f, 1.5f, 1.5f });
		/* Elements of the list would have that size, if there were any. */
		output(*arg, r.state, 1, &v);
		assert_true(v.rank == 2 && !v.dims[0] && v.dims[1] == 3);
		stop(&r);
	}
}

/* How often is in the file: a list is added to others of that length, in either order. */
static void test_known_length(void **arg)
{
	static const int64_t m = 3;
	static const float x[2] = { 1, -1 }, w[6] = { 10, 20, 30, 40, 50, 60 };
	const char *const names[] = { "c w", "w c" };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct tested *t = BEGIN(*arg, IO("x", F32, x, 2), CONST("w", F32, w, 3, 2),
					 SCALAR("m", S64, &m));
		struct bytes n = op(NULL, "Loop", "m - x", "b c"), body = counter();

		attr_graph(&n, "body", &body);
		add_op(t, &n);
		ONE(t, NULL, "Add", names[i], "y");
		GIVES(t, IO("y", F32, ((float[]){ 12, 18, 34, 36, 58, 52 }), 3, 2));
	}
}

/* A list of a scan is added to what it went over, of a length that is not known. */
static void test_scan_residual(void **arg)
{
	static const float x[6] = { 1, 2, 3, 4, 5, 6 }, s[2] = { 0, 0 };
	const char *const names[] = { "l x", "x l" };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct bytes body = { .n = 0 }, n = op(NULL, "Scan", "s x", "e l");
		struct tested *t = BEGIN(*arg, IO("s", F32, s, 2),
					 { "x", F32, 2, { -1, 2 }, x, false, DIMS(3, 2) });

		put_name(&body, 11, "c");
		put_name(&body, 11, "f");
		in_body(&body, "Add", "c f", "d");
		in_body(&body, "Identity", "d", "h");
		put_name(&body, 12, "d");
		put_name(&body, 12, "h");
		attr_graph(&n, "body", &body);
		attr_int(&n, "num_scan_inputs", 1);
		add_op(t, &n);
		ONE(t, NULL, "Add", names[i], "y");
		GIVES(t, IO("y", F32, ((float[]){ 2, 4, 7, 10, 14, 18 }), 3, 2));
	}
}

/* A few bytes that are loops within loops end, with words; a run after that counts from 0. */
static void test_budget(void **arg)
{
	struct tested *t = BEGIN(*arg, IO("m", S64, NULL, 1), CONST("x", F32, ((float[]){ 1 }), 1));
	struct bytes body = { .n = 0 }, outer, n;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct runner r;
	int64_t m;
	int i;

	put_name(&body, 11, "i");
	put_name(&body, 11, "go");
	put_name(&body, 11, "v");
	put_name(&body, 12, "go");
	put_name(&body, 12, "v");
	for (i = 0; i < 3; i++) {
		outer.n = 0;
		put_name(&outer, 11, "i");
		put_name(&outer, 11, "go");
		put_name(&outer, 11, "v");
		n = op(NULL, "Loop", "m go v", "w");
		attr_graph(&n, "body", &body);
		put_message(&outer, 1, &n);
		put_name(&outer, 12, "go");
		put_name(&outer, 12, "w");
		body = outer;
	}
	n = op(NULL, "Loop", "m - x", "y");
	attr_graph(&n, "body", &body);
	add_op(t, &n);
	put_io(&t->g, 12, &(struct io)IO("y", F32, NULL, 1));
	r = start(t, 3);
	/* 40 of 40 of 40 of 40 are too many, none of which is. */
	for (m = 40; m > 0; m -= 37) {
		set(&r, 0, 1, DIMS(1), &m, sizeof(m));
		if (m == 3) {
			run(&r);
			continue;
		}
		assert_int_equal(accel_state_run(r.state), -E2BIG);
		accel_ctx_get_error(r.bed->ctx, &e);
		assert_non_null(strstr(e.text, "more than 1048576 iterations in all loops"));
	}
	has(&r, 0, 1, 1, (float[]) { 1 });
	stop(&r);
}

/* A list that begins empty, by a loop within a loop whose number of trips is carried */
static void test_loops_in_loops(void **arg)
{
	struct tested *t = BEGIN(*arg, IO("m", S64, NULL, 1), CONST("empty", F32, "", 0),
				 CONST("one", S64, DIMS(1), 1));
	struct bytes inner = { .n = 0 }, outer = { .n = 0 }, n;
	const int64_t trips[] = { 3, 0, 1, 3 };
	uint32_t level, i;
	int64_t m;

	/* v = v, i for i below k; then k = k + 1: 0, 0 1, 0 1 2, ... */
	put_name(&inner, 11, "i");
	put_name(&inner, 11, "go");
	put_name(&inner, 11, "v");
	n = op(NULL, "Cast", "i", "f");
	attr_int(&n, "to", F32);
	put_message(&inner, 1, &n);
	n = op(NULL, "Reshape", "f one", "g");
	put_message(&inner, 1, &n);
	n = op(NULL, "Concat", "v g", "u");
	attr_int(&n, "axis", 0);
	put_message(&inner, 1, &n);
	put_name(&inner, 12, "go");
	put_name(&inner, 12, "u");
	put_name(&outer, 11, "j");
	put_name(&outer, 11, "on");
	put_name(&outer, 11, "k");
	put_name(&outer, 11, "w");
	n = op(NULL, "Loop", "k on w", "w2");
	attr_graph(&n, "body", &inner);
	put_message(&outer, 1, &n);
	in_body(&outer, "Add", "k one", "k2");
	put_name(&outer, 12, "on");
	put_name(&outer, 12, "k2");
	put_name(&outer, 12, "w2");
	put_name(&outer, 12, "k");
	n = op(NULL, "Loop", "m - one empty", "last y all");
	attr_graph(&n, "body", &outer);
	add_op(t, &n);
	put_name(&t->g, 12, "y");
	n = op(NULL, "Cast", "all", "z");
	attr_int(&n, "to", F32);
	add_op(t, &n);
	ONE(t, NULL, "Transpose", "z", "z2");
	put_name(&t->g, 12, "z2");
	for (level = 0; level <= 3; level++) {
		struct runner r = start(t, level);

		for (i = 0; i < 4; i++) {
			m = trips[i];
			set(&r, 0, 1, DIMS(1), &m, 8);
			run(&r);
			has(&r, 0, 1, (uint32_t)(m * (m + 1) / 2), (float[]){ 0, 0, 1, 0, 1, 2 });
			has(&r, 1, 2, (uint32_t)m, (float[]){ 1, 2, 3 });
		}
		stop(&r);
	}
}

/* Half bytes are carried, in whole bytes; there are no lists of them. */
static void test_half_bytes(void **arg)
{
	struct bytes body = { .n = 0 }, n;
	static uint8_t v[1000];
	static float want[2000];
	struct tested *t;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bed *bed = *arg;
	struct runner r;
	int64_t m = 3;
	int i, list;

	for (i = 0; i < 2000; i++) {
		want[i] = (float)(i * 7 % 16);
		v[i / 2] |= (uint8_t)(i * 7 % 16 << (i & 1 ? 4 : 0));
	}
	put_name(&body, 11, "i");
	put_name(&body, 11, "go");
	put_name(&body, 11, "v");
	put_name(&body, 12, "go");
	put_name(&body, 12, "v");
	for (list = 0; list < 2; list++) {
		t = BEGIN(*arg, IO("m", S64, NULL, 1), CONST("v0", U4, v, 2000));
		if (list)
			put_name(&body, 12, "v");
		n = op(NULL, "Loop", "m - v0", list ? "b c" : "b");
		attr_graph(&n, "body", &body);
		add_op(t, &n);
		n = op(NULL, "Cast", "b", "y");
		attr_int(&n, "to", F32);
		add_op(t, &n);
		put_name(&t->g, 12, "y");
		if (list)
			put_name(&t->g, 12, "c");
		r = start(t, 3);
		set(&r, 0, 1, DIMS(1), &m, 8);
		if (!list) {
			run(&r);
			has(&r, 0, 1, 2000, want);
		} else {
			assert_int_equal(accel_state_run(r.state), -EOPNOTSUPP);
			MUST(accel_ctx_get_error(bed->ctx, &e));
			assert_non_null(strstr(e.text, "list 0 is of half bytes"));
		}
		stop(&r);
	}
}

/* As many graphs within graphs as there may be, each with some results: that takes no time. */
static void test_deep(void **arg)
{
	struct tested *t = BEGIN(*arg, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 2));
	static struct bytes g, n, no;
	clock_t took = clock();
	struct accel_model *m;
	struct accel_error e;
	int i;

	g.n = no.n = 0;
	for (i = 0; i < 4; i++) {
		const char *const names[] = { "p", "q", "r", "s" };

		in_body(&g, "Neg", "x", names[i]);
		put_name(&g, 12, names[i]);
	}
	no = g;
	for (i = 0; i < 15; i++) {
		char out[4][32], all[160];
		int k;

		for (k = 0; k < 4; k++)
			snprintf(out[k], sizeof(out[k]), "y%d.%d", i, k);
		snprintf(all, sizeof(all), "%s %s %s %s", out[0], out[1], out[2], out[3]);
		n = op(NULL, "If", "c", all);
		attr_graph(&n, "then_branch", &g);
		attr_graph(&n, "else_branch", &no);
		g.n = 0;
		put_message(&g, 1, &n);
		for (k = 0; k < 4; k++)
			put_name(&g, 12, out[k]);
	}
	put_bytes(&t->g, 1, n.p, n.n);
	put_name(&t->g, 12, "y14.0");
	if (open_tested(t, &e, &m))
		fail_msg("%s: %s", e.field, e.text);
	accel_model_close(m);
	took = clock() - took;

	assert_true(took < 10 * CLOCKS_PER_SEC);
}

/* --- functions that a file has ------------------------------------------------------------- */

/* A function of the domain "own", of nodes that are fields 7 of @body */
static void add_function(struct tested *t, const char *name, const char *in, const char *out,
			 const struct bytes *body)
{
	struct bytes f = *body, sorted = { .n = 0 };
	struct bytes names = op(NULL, name, in, out);
	struct bytes set = { .n = 0 };
	size_t at;

	/* Inputs, outputs and name of a node are fields 1, 2 and 4, of a function 4, 5 and 1. */
	for (at = 0; at < names.n;) {
		static const uint8_t ids[] = { 0, 4, 5, 0, 1 };
		const uint8_t id = names.p[at] >> 3, n = names.p[at + 1];

		if (id <= 4 && ids[id])
			put_bytes(&sorted, ids[id], names.p + at + 2, n);
		at += 2u + n;
	}
	put_text(&sorted, 10, "own");
	put_int(&set, 2, 17);
	put_message(&sorted, 9, &set);
	memcpy(sorted.p + sorted.n, f.p, f.n);
	sorted.n += f.n;
	put_message(&t->functions, 25, &sorted);
}

static void in_function(struct bytes *f, const char *domain, const char *type, const char *in,
			const char *out)
{
	const struct bytes n = op(domain, type, in, out);

	put_message(f, 7, &n);
}

/* LeakyRelu by the function's slope, 0.5 if it is not given; then not below @least */
static void add_leaky(struct tested *t)
{
	struct bytes f = { .n = 0 }, n = op(NULL, "LeakyRelu", "x", "y"), a = { .n = 0 };
	const float half = 0.5f;

	put_text(&a, 1, "alpha");
	put_text(&a, 21, "slope");
	put_int(&a, 20, 1);
	put_message(&n, 5, &a);
	put_message(&f, 7, &n);
	in_function(&f, NULL, "Clip", "y least", "z");
	a.n = 0;
	put_text(&a, 1, "slope");
	put_varint(&a, 2 << 3 | 5);
	memcpy(a.p + a.n, &half, sizeof(half));
	a.n += sizeof(half);
	put_int(&a, 20, 1);
	put_message(&f, 11, &a);
	add_function(t, "Leaky", "x least", "z", &f);
}

static void test_functions(void **arg)
{
	static const float x[3] = { -4, 2, -8 }, least = -3;
	static const float once[3] = { -1, 2, -2 }, both[3] = { -4, 4, -7 }, no[3] = { 4, -4, 7 };
	struct bytes f = { .n = 0 }, n, yes, neg;
	struct tested *t = BEGIN(*arg, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 3),
				 SCALAR("least", F32, &least));
	uint32_t level;
	uint8_t c;

	/* Both(z): Leaky(z, least), which is given, plus Leaky(z) */
	add_leaky(t);
	in_function(&f, "own", "Leaky", "z x", "y");
	in_function(&f, "own", "Leaky", "z", "x2");
	in_function(&f, NULL, "Add", "y x2", "least");
	add_function(t, "Both", "z x", "least", &f);
	n = op("own", "Leaky", "x", "y");
	attr_float(&n, "slope", 0.25f);
	add_op(t, &n);
	ONE(t, "own", "Both", "x least", "b");
	yes = lone("Identity", "b", "p");
	neg.n = 0;
	n = op("own", "Both", "x least", "q1");
	put_message(&neg, 1, &n);
	in_body(&neg, "Neg", "q1", "q");
	put_name(&neg, 12, "q");
	add_if(&t->g, "c", "r", &yes, &neg);
	put_name(&t->g, 12, "y");
	put_name(&t->g, 12, "b");
	put_name(&t->g, 12, "r");
	for (level = 0; level <= 3; level++) {
		struct runner r = start(t, level);

		set(&r, 1, 1, DIMS(3), x, sizeof(x));
		for (c = 0; c < 2; c++) {
			set(&r, 0, 1, DIMS(1), &c, 1);
			run(&r);
			has(&r, 0, 1, 3, once);
			has(&r, 1, 1, 3, both);
			has(&r, 2, 1, 3, c ? both : no);
		}
		stop(&r);
	}
}

/* Few nodes, but each call looks at all that the function has: as long as the bound allows. */
static void test_functions_costly(void **arg)
{
	struct bytes f = { .n = 0 };
	struct tested *t;
	char name[8], next[8];
	uint32_t i, k;

	if (test_every() > 1)
		skip();
	t = BEGIN(*arg, IO("x", F32, NULL, 2));
	for (i = 0; i < 6; i++) {
		f.n = 0;
		snprintf(next, sizeof(next), "F%u", i + 1);
		for (k = 0; k < (i == 5 ? 1 : 7); k++) {
			snprintf(name, sizeof(name), "b%u", k);
			in_function(&f, i == 5 ? NULL : "own", i == 5 ? "Neg" : next, "a", name);
		}
		for (k = 0; i == 5 && k < 16000; k++)
			put_int(&f, 15, 1);
		snprintf(name, sizeof(name), "F%u", i);
		add_function(t, name, "a", "b0", &f);
	}
	ONE(t, "own", "F0", "x", "y");
	must_refuse(t, -EOPNOTSUPP, "functions of more than 268435456 fields");
}

static void test_functions_refused(void **arg)
{
	struct bytes f = { .n = 0 };
	struct tested *t;
	char name[8], next[8];
	uint32_t i, k;

	t = BEGIN(*arg, IO("x", F32, NULL, 2));
	in_function(&f, "own", "Again", "a", "b");
	add_function(t, "Again", "a", "b", &f);
	ONE(t, "own", "Again", "x", "y");
	must_refuse(t, -EOPNOTSUPP, "more than 16 functions within functions");
	/* Twice as many in each of them */
	t = BEGIN(*arg, IO("x", F32, NULL, 2));
	for (i = 0; i < 15; i++) {
		f.n = 0;
		snprintf(next, sizeof(next), "F%u", i + 1);
		for (k = 0; k < 8; k++) {
			snprintf(name, sizeof(name), "b%u", k);
			in_function(&f, i == 14 ? NULL : "own", i == 14 ? "Neg" : next, "a", name);
		}
		snprintf(name, sizeof(name), "F%u", i);
		add_function(t, name, "a", "b0", &f);
	}
	ONE(t, "own", "F0", "x", "y");
	must_refuse(t, -EOPNOTSUPP, "functions of more than 65536 nodes");
	/* Names of the graph around are not a function's. */
	t = BEGIN(*arg, IO("x", F32, NULL, 2));
	f.n = 0;
	in_function(&f, NULL, "Neg", "x", "b");
	add_function(t, "Own", "a", "b", &f);
	ONE(t, "own", "Own", "x", "y");
	must_refuse(t, -EBADMSG, "its input x is not there");
	t = BEGIN(*arg, IO("x", F32, NULL, 2));
	add_function(t, "Own", "a", "c", &f);
	ONE(t, "own", "Own", "x x", "y");
	must_refuse(t, -EBADMSG, "more inputs than its function has");
	t = BEGIN(*arg, IO("x", F32, NULL, 2));
	ONE(t, "own", "Own", "x", "y");
	must_refuse(t, -EOPNOTSUPP, "operators that are not known: own.Own");
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_if), TEST(test_loop), TEST(test_scan), TEST(test_refused),
		TEST(test_no_memory), TEST(test_no_iteration), TEST(test_known_length),
		TEST(test_scan_residual), TEST(test_loops_in_loops), TEST(test_budget),
		TEST(test_half_bytes), TEST(test_deep), TEST(test_functions),
		TEST(test_functions_costly), TEST(test_functions_refused),
	};

	return cmocka_run_group_tests_name("onnx_flow", tests, NULL, NULL);
}
