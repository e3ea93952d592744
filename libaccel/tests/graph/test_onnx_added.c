// SPDX-License-Identifier: MIT
/*
 * Operators that users add: what their functions are told, what comes out at all levels, several
 * states at once, files of programs, and what is said of mistakes. In one file, for all of them
 * share the operators at its head.
 */
#include <pthread.h>
#include "counted.h"
#include "onnxrun.h"

#define OWN	"test.ops"

static atomic_uint released;
static atomic_uint computed;

static void release(void *user)
{
	(void)user;
	atomic_fetch_add(&released, 1);
}

/* --- Spread: each attribute there can be, two results ------------------------------ */

static int spread_infer(void *user, struct accel_call *call)
{
	const struct accel_call_value *x = accel_call_input(call, 0);

	(void)user;
	if (x->type != ACCEL_F32 || x->rank != 2)
		return accel_call_fail(call, -EINVAL, "its input is %s of %u dimensions",
				       accel_type_name(x->type), x->rank);
	if (x->data)
		return accel_call_fail(call, -EINVAL, "elements that nobody asked for");
	accel_call_give(call, 0, ACCEL_F32, 2, x->dims);
	return accel_call_outputs(call) == 1 ? 0 :
	       accel_call_give(call, 1, ACCEL_HOST_S64, 1, x->dims);
}

/* y[i][k] = x scale + shift + table[k mod 3] + list[0] + ints[1] + absent; z[i] = i + letters */
static int spread(void *user, struct accel_call *call)
{
	const struct accel_call_value *x = accel_call_input(call, 0), *table = NULL;
	const struct accel_call_value *y = accel_call_output(call, 0), *z;
	const struct accel_call_value *absent = accel_call_input(call, 1);
	int64_t shift = 0, other = 5, i, k;
	const float *in = x->data, *list = NULL;
	const int64_t *ints = NULL;
	uint64_t floats = 0, numbers = 0, letters = 0;
	const char *mode = "";
	float scale = 0, *out = y->data;

	(void)user;
	atomic_fetch_add(&computed, 1);
	if ((uintptr_t)x->data % 4 || (uintptr_t)y->data % 4)
		return accel_call_fail(call, -EFAULT, "elements that are not aligned");
	if (accel_call_int(call, "shift", &shift) || accel_call_float(call, "scale", &scale) ||
	    accel_call_string(call, "mode", &mode, &letters) ||
	    accel_call_ints(call, "ints", &ints, &numbers) ||
	    accel_call_floats(call, "list", &list, &floats) ||
	    accel_call_tensor(call, "table", &table) || strlen(mode) != letters || floats != 2 ||
	    numbers != 3 || table->type != ACCEL_F32 || table->rank != 1 || table->count != 3 ||
	    (uintptr_t)table->data % 4)
		return accel_call_fail(call, -EINVAL, "attributes that do not come");
	if (accel_call_int(call, "nowhere", &other) != -ENOENT || other != 5)
		return accel_call_fail(call, -EINVAL, "an attribute that is not there");
	if (absent || accel_call_inputs(call) > 3)
		return accel_call_fail(call, -EINVAL, "an input that is not there");
	for (i = 0; i < x->dims[0]; i++)
		for (k = 0; k < x->dims[1]; k++)
			out[i * x->dims[1] + k] = in[i * x->dims[1] + k] * scale + (float)shift +
						  ((const float *)table->data)[k % 3] + list[0] +
						  (float)ints[1];
	z = accel_call_output(call, 1);
	for (i = 0; z && i < z->dims[0]; i++)
		((int64_t *)z->data)[i] = i + (int64_t)letters;
	return 0;
}

static const float spread_table[] = { 100, 200, 300 };

static float spread_of(float x, int64_t k)
{
	return x * 2.5f - 7 + spread_table[k % 3] + 0.5f + 20;
}

static struct bytes spread_node(const char *in, const char *out)
{
	struct bytes n = op(OWN, "Spread", in, out), a = { .n = 0 }, t;
	const float list[] = { 0.5f, 9 };

	attr_int(&n, "shift", -7);
	attr_float(&n, "scale", 2.5f);
	attr_text(&n, "mode", "four");
	attr_ints(&n, "ints", 3, DIMS(10, 20, 30));
	put_text(&a, 1, "list");
	put_bytes(&a, 7, list, sizeof(list));
	put_int(&a, 20, 6);
	put_message(&n, 5, &a);
	a.n = 0;
	t = tensor("odd", F32, 1, DIMS(3), spread_table, sizeof(spread_table));
	put_text(&a, 1, "table");
	put_message(&a, 5, &t);
	put_int(&a, 20, 4);
	put_message(&n, 5, &a);
	return n;
}

/* --- Cut: the first elements, as many as an input says; Picky: what fails ---------- */

static int cut_infer(void *user, struct accel_call *call)
{
	const struct accel_call_value *x = accel_call_input(call, 0);
	const struct accel_call_value *n = accel_call_input(call, 1);
	int64_t count = *(const int64_t *)n->data;

	(void)user;
	if (count < 0 || count > x->dims[0])
		return accel_call_fail(call, -EDOM, "%lld of %lld", (long long)count,
				       (long long)x->dims[0]);
	return accel_call_give(call, 0, x->type, 1, &count);
}

static int cut(void *user, struct accel_call *call)
{
	const struct accel_call_value *y = accel_call_output(call, 0);

	(void)user;
	memcpy(y->data, accel_call_input(call, 0)->data, y->count * sizeof(float));
	return 0;
}

static int same_infer(void *user, struct accel_call *call)
{
	const struct accel_call_value *x = accel_call_input(call, 0);

	(void)user;
	return accel_call_give(call, 0, x->type, x->rank, x->dims);
}

static int picky(void *user, struct accel_call *call)
{
	const struct accel_call_value *x = accel_call_input(call, 0);
	const struct accel_call_value *y = accel_call_output(call, 0);
	uint64_t i;

	(void)user;
	for (i = 0; i < x->count; i++) {
		((float *)y->data)[i] = 2 * ((const float *)x->data)[i];
		if (((const float *)x->data)[i] < 0)
			return accel_call_fail(call, -ERANGE, "element %llu is negative",
					       (unsigned long long)i);
	}
	return 0;
}

/* Numbers that no errors are, no words, no result, a type of no whole bytes */
static int odd_infer(void *user, struct accel_call *call)
{
	const struct accel_call_value *x = accel_call_input(call, 0);
	int64_t what = 0;

	(void)user;
	accel_call_int(call, "what", &what);
	switch (what) {
	case 0:
		return 3;
	case 1:
		return -EDOM;
	case 2:
		return 0;
	case 3:
		return accel_call_give(call, 0, ACCEL_S4, 1, x->dims);
	case 4:
		return accel_call_give(call, 7, ACCEL_F32, 1, x->dims);
	case 5:
		return accel_call_give(call, 0, ACCEL_F32, 1, DIMS(-1));
	case 6:
		return accel_call_give(call, 0, ACCEL_F32, 2, DIMS(1LL << 40, 1LL << 40));
	default:
		return accel_call_float(call, "what", &(float) { 0 });
	}
}

/* --- sets -------------------------------------------------------------------------- */

static struct accel_operator an_operator(const char *domain, const char *name,
					 int (*infer)(void *user, struct accel_call *call),
					 int (*compute)(void *user, struct accel_call *call))
{
	struct accel_operator o = ACCEL_OPERATOR_INIT;

	o.domain = domain;
	o.name = name;
	o.infer = infer;
	o.compute = compute;
	o.release = release;
	return o;
}

static void must_add(struct accel_operators *ops, const struct accel_operator *o)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (accel_model_register_op(ops, o, &e))
		fail_msg("%s: %s", e.field, e.text);
}

static struct accel_operators *all(void)
{
	struct accel_operators *ops = NULL;
	struct accel_operator o;

	assert_int_equal(accel_operators_create(&ops), 0);
	o = an_operator(OWN, "Spread", spread_infer, spread);
	o.min_inputs = 1;
	o.max_inputs = 3;
	o.max_outputs = 2;
	must_add(ops, &o);
	o = an_operator(OWN, "Cut", cut_infer, cut);
	o.min_inputs = o.max_inputs = 2;
	o.max_outputs = 1;
	o.known_inputs = 2;
	must_add(ops, &o);
	o = an_operator(OWN, "Picky", same_infer, picky);
	must_add(ops, &o);
	o = an_operator(OWN, "Odd", odd_infer, picky);
	must_add(ops, &o);
	return ops;
}

static int setup(void **state)
{
	atomic_store(&released, 0);
	return bed_setup(state);
}

#define WRONG(error_, words, change) \
	do { \
		struct accel_operator wrong_ = an_operator(OWN, "Good", same_infer, picky); \
		change; \
		e = (struct accel_error)ACCEL_ERROR_INIT; \
		assert_int_equal(accel_model_register_op(ops, &wrong_, &e), error_); \
		if (e.code != (error_) || !strstr(e.text, words)) \
			fail_msg("%d: %s; should be %s", e.code, e.text, words); \
	} while (0)

static void test_sets(void **arg)
{
	struct accel_operators *ops = all();
	struct accel_operator o = an_operator(NULL, "Relu", same_infer, picky);
	struct accel_error e;
	uint32_t flags = 9;

	(void)arg;
	WRONG(-EEXIST, OWN ".Picky of version 1 is there", wrong_.name = "Picky");
	WRONG(-EEXIST, "Relu is built in", wrong_.name = "Relu"; wrong_.domain = "ai.onnx");
	WRONG(-EINVAL, "\"a b\" is no name", wrong_.name = "a b");
	WRONG(-EINVAL, "\"\" is no name", wrong_.name = NULL);
	WRONG(-EINVAL, "\"\"\" is none", wrong_.domain = "\"");
	WRONG(-EINVAL, "NULL", wrong_.compute = NULL);
	WRONG(-EINVAL, "unknown flags", wrong_.flags = 4);
	WRONG(-EINVAL, "from 3 to 2 inputs", wrong_.min_inputs = 3; wrong_.max_inputs = 2);
	WRONG(-EINVAL, "of 11 at most", wrong_.max_inputs = 12);
	WRONG(-EINVAL, "0x4, of 2 inputs", wrong_.max_inputs = 2; wrong_.known_inputs = 4);
	WRONG(-EINVAL, "size", wrong_.size = 8);
	o.flags = ACCEL_OPERATOR_REPLACE;
	o.since = 14;
	must_add(ops, &o);
	o.since = 16;
	must_add(ops, &o);
	assert_int_equal(accel_operators_find(ops, "ai.onnx", "Relu", 13, &flags), 0);
	assert_int_equal(flags, 9);
	assert_int_equal(accel_operators_find(ops, NULL, "Relu", 15, &flags), 14);
	assert_int_equal(accel_operators_find(ops, "", "Relu", 99, NULL), 16);
	assert_int_equal(flags, ACCEL_OPERATOR_REPLACE);
	assert_int_equal(accel_operators_find(ops, "else", "Relu", 99, NULL), 0);
	accel_operators_unref(ops);
	assert_int_equal(atomic_load(&released), 6);
}

/* --- what comes out ---------------------------------------------------------------- */

#define ROWS	5
#define COLS	4

static void fill(float *x, float *y, int64_t *z, int64_t rows, int64_t cols)
{
	int64_t i, k;

	for (i = 0; i < cols; i++)
		for (k = 0; k < rows; k++)
			x[i * rows + k] = noise(3, (uint64_t)(i * rows + k));
	for (i = 0; i < rows; i++) {
		z[i] = i + 4;
		for (k = 0; k < cols; k++)
			y[i * cols + k] = spread_of(fmaxf(x[k * rows + i], 0), k);
	}
}

/* Of a transposed value, between operations of engines, for sizes that are symbols */
static void test_results(void **arg)
{
	float x[ROWS * COLS], y[ROWS * COLS];
	const float most = 250;
	struct tested *t = BEGIN(*arg, { "x", F32, 2, { -1, -2 }, x, false, DIMS(COLS, ROWS) },
				 SCALAR("most", F32, &most));
	struct accel_operators *ops = all();
	struct bytes n;
	int64_t z[ROWS];
	uint32_t i;

	t->operators = ops;
	fill(x, y, z, ROWS, COLS);
	for (i = 0; i < ROWS * COLS; i++)
		y[i] = fminf(y[i], most);
	ONE(t, NULL, "Relu", "x", "a");
	ONE(t, NULL, "Transpose", "a", "b");
	n = spread_node("b - -", "c z");
	add_op(t, &n);
	n = op(NULL, "Clip", "c - most", "y");
	add_op(t, &n);
	t->bound = 0.0001;
	GIVES(t, IO("y", F32, y, ROWS, COLS), IO("z", S64, z, ROWS));
	accel_operators_unref(ops);
	assert_int_equal(atomic_load(&released), 4);
}

/* Constants lie in files at any place; what nobody reads does not run. */
static void test_constants(void **arg)
{
	static const char *const names[] = { "c", "cc", "ccc", "cccc" };
	const float data[] = { 1, -2, 3, 4, 5, 6, 7, 8 }, x[] = { 0, 1 };
	struct accel_operators *ops = all();
	float y[8];
	uint32_t i;

	for (i = 0; i < 8; i++)
		y[i] = spread_of(data[i], i % 4);
	for (i = 0; i < 4; i++) {
		struct tested *t = BEGIN(*arg, IO("x", F32, x, 2),
					 CONST(names[i], F32, data, 2, 4));
		struct bytes n = spread_node(names[i], "y");

		t->operators = ops;
		add_op(t, &n);
		ONE(t, OWN, "Picky", names[i], "unread");
		t->bound = 0.0001;
		GIVES(t, IO("y", F32, y, 2, 4));
	}
	accel_operators_unref(ops);
}

/* Between convolutions, which have their channels last among themselves */
static void test_pictures(void **arg)
{
	struct accel_operators *ops = all();
	float x[4 * 6 * 6], w[4 * 4], y[4 * 6 * 6], sum;
	uint32_t i, k, m, step;
	struct tested *t;

	for (i = 0; i < 4 * 6 * 6; i++)
		x[i] = fabsf(noise(1, i));
	for (i = 0; i < 16; i++)
		w[i] = fabsf(noise(2, i));
	memcpy(y, x, sizeof(y));
	for (step = 0; step < 2; step++)
		for (k = 0; k < 36; k++) {
			float in[4];

			for (i = 0; i < 4; i++)
				in[i] = y[i * 36 + k];
			for (i = 0; i < 4; i++) {
				for (m = 0, sum = 0; m < 4; m++)
					sum += w[i * 4 + m] * in[m];
				y[i * 36 + k] = sum * (step ? 1 : 2);
			}
		}
	t = BEGIN(*arg, IO("x", F32, x, 1, 4, 6, 6), CONST("w", F32, w, 4, 4, 1, 1));
	t->operators = ops;
	ONE(t, NULL, "Conv", "x w", "a");
	ONE(t, OWN, "Picky", "a", "b");
	ONE(t, NULL, "Conv", "b w", "y");
	t->bound = 0.001;
	GIVES(t, IO("y", F32, y, 1, 4, 6, 6));
	accel_operators_unref(ops);
}

/* As many as a computed number says: planned when that is known */
static void test_known(void **arg)
{
	const float x[] = { 1, 2, 3, 4, 5, 6 };
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 6), IO("n", S64, NULL, 1));
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_operators *ops = all();
	struct runner r;
	int64_t n;

	t->operators = ops;
	ONE(t, NULL, "Abs", "n", "many");
	ONE(t, OWN, "Cut", "x many", "a");
	ONE(t, NULL, "Neg", "a", "y");
	put_io(&t->g, 12, &(struct io)IO("y", F32, NULL, 2));
	r = start(t, 3);
	accel_operators_unref(ops);
	for (n = -5; n <= 6; n++) {
		float want[6];
		uint32_t i, count = (uint32_t)llabs(n);

		for (i = 0; i < 6; i++)
			want[i] = -x[i];
		set(&r, 0, 1, DIMS(6), x, sizeof(x));
		set(&r, 1, 1, DIMS(1), &n, sizeof(n));
		run(&r);
		has(&r, 0, 1, count, want);
	}
	n = 7;
	set(&r, 1, 1, DIMS(1), &n, sizeof(n));
	assert_int_equal(accel_state_run(r.state), -EDOM);
	accel_ctx_get_error(r.bed->ctx, &e);
	assert_non_null(strstr(e.text, "node a (" OWN ".Cut): 7 of 6"));
	stop(&r);
	assert_int_equal(atomic_load(&released), 4);
}

/* In the graph of a node, and in a function of the file; before a function of its name */
static void test_inner(void **arg)
{
	const float up[] = { 1, 2 }, want[] = { 2, 4 }, off[] = { -1, -2 };
	struct accel_operators *ops = all();
	struct bytes yes = { .n = 0 }, no = lone("Neg", "x", "q"), n;
	struct bytes f = { .n = 0 }, o = { .n = 0 };
	struct tested *t = BEGIN(*arg, IO("c", BOOL, NULL, 1), IO("x", F32, NULL, 2));
	struct runner r;

	/* Picky of the file is another one. */
	n = op(NULL, "Exp", "u", "v");
	put_text(&f, 1, "Picky");
	put_text(&f, 4, "u");
	put_text(&f, 5, "v");
	put_message(&f, 7, &n);
	put_int(&o, 2, 17);
	put_message(&f, 9, &o);
	put_text(&f, 10, OWN);
	put_message(&t->functions, 25, &f);
	f.n = 0;
	n = op(OWN, "Picky", "u", "v");
	put_text(&f, 1, "Calls");
	put_text(&f, 4, "u");
	put_text(&f, 5, "v");
	put_message(&f, 7, &n);
	put_message(&f, 9, &o);
	put_text(&f, 10, "own");
	put_message(&t->functions, 25, &f);

	t->operators = ops;
	n = op("own", "Calls", "x", "p");
	put_message(&yes, 1, &n);
	put_name(&yes, 12, "p");
	add_if(&t->g, "c", "y", &yes, &no);
	put_io(&t->g, 12, &(struct io)IO("y", F32, NULL, 2));
	r = start(t, 3);
	set(&r, 0, 1, DIMS(1), &(uint8_t) { 1 }, 1);
	set(&r, 1, 1, DIMS(2), up, sizeof(up));
	run(&r);
	has(&r, 0, 1, 2, want);
	set(&r, 0, 1, DIMS(1), &(uint8_t) { 0 }, 1);
	run(&r);
	has(&r, 0, 1, 2, off);
	stop(&r);
	accel_operators_unref(ops);
}

static int negate(void *user, struct accel_call *call)
{
	const struct accel_call_value *x = accel_call_input(call, 0);
	const struct accel_call_value *y = accel_call_output(call, 0);
	uint64_t i;

	for (i = 0; i < x->count; i++)
		((float *)y->data)[i] = ((const float *)x->data)[i] - *(const float *)user;
	return 0;
}

/* The version of the domain chooses, and one that is built in is replaced if that is said. */
static void test_versions(void **arg)
{
	float first = 1, second = 10, third = 100;
	const float x[] = { -1, 2 }, old[] = { 0, 2 }, one[] = { -2, 1 }, ten[] = { -11, -8 };
	struct accel_operator o = an_operator(NULL, "Relu", same_infer, negate);
	struct accel_operators *ops = NULL;
	struct tested *t;

	assert_int_equal(accel_operators_create(&ops), 0);
	o.flags = ACCEL_OPERATOR_REPLACE;
	o.since = 15;
	o.user = &first;
	must_add(ops, &o);
	o.since = 18;
	o.user = &second;
	must_add(ops, &o);
	o.since = 22;
	o.user = &third;
	must_add(ops, &o);
#define RELU(version, want) \
	do { \
		t = BEGIN(*arg, IO("x", F32, x, 2)); \
		t->operators = ops; \
		t->opset = version; \
		ONE(t, NULL, "Relu", "x", "y"); \
		GIVES(t, IO("y", F32, want, 2)); \
	} while (0)
	RELU(14, old);
	RELU(15, one);
	RELU(18, ten);
	RELU(21, ten);
	accel_operators_unref(ops);
}

/* --- runs -------------------------------------------------------------------------- */

static struct tested *two_results(void **arg, struct accel_operators *ops)
{
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, -1, -2));
	struct bytes n;

	t->operators = ops;
	ONE(t, NULL, "Relu", "x", "a");
	ONE(t, NULL, "Transpose", "a", "b");
	n = spread_node("b", "y z");
	add_op(t, &n);
	put_io(&t->g, 12, &(struct io)IO("y", F32, NULL, -2, -1));
	put_io(&t->g, 12, &(struct io)IO("z", S64, NULL, -2));
	return t;
}

static void check_run(struct bed *bed, struct accel_state *s, int64_t rows, int64_t cols)
{
	float *x = noise_floats(3, (uint64_t)(rows * cols));
	float *y = noise_floats(0, (uint64_t)(rows * cols));
	int64_t *z = malloc((size_t)rows * sizeof(*z));
	struct accel_value v;

	fill(x, y, z, rows, cols);
	MUST(accel_state_set_input(s, 0, 2, DIMS(cols, rows), NULL, 0));
	fill_input(s, 0, x, (uint64_t)(rows * cols) * sizeof(*x));
	MUST(accel_state_run(s));
	assert_close(output(bed, s, 0, &v), y, (uint64_t)(rows * cols), 0.0001);
	assert_dims(&v, 2, DIMS(rows, cols));
	assert_memory_equal(output(bed, s, 1, &v), z, (size_t)rows * sizeof(*z));
	assert_dims(&v, 1, DIMS(rows));
	free(x);
	free(y);
	free(z);
}

static int all_text(void *user, const char *text, uint64_t bytes)
{
	strncat(user, text, bytes < 8000 ? bytes : 8000);
	return 0;
}

static int see_node(void *user, const struct accel_node_profile *n)
{
	bool *seen = user;

	*seen |= n->op == ACCEL_OP_ADDED && !strcmp(n->operation, OWN ".Spread") &&
		 !strcmp(n->name, "y") && n->code == ACCEL_CODE_HOST;
	return 0;
}

/* The second run makes nothing; explain and profile know the operator by its name. */
static void test_again(void **arg)
{
	struct accel_operators *ops = all();
	struct tested *t = two_results(arg, ops);
	struct runner r = start(t, 3);
	struct bed *bed = r.bed;
	char text[8192] = "";
	bool seen = false;
	unsigned int before;

	accel_operators_unref(ops);
	check_run(bed, r.state, 3, 7);
	before = atomic_load(&allocations);
	MUST(accel_state_run(r.state));
	if (COUNTED)
		assert_int_equal(atomic_load(&allocations) - before, FENCES);
	check_run(bed, r.state, 64, 2);
	MUST(accel_state_explain(r.state, ACCEL_TEXT_PLAIN, all_text, text));
	assert_non_null(strstr(text, "cpu    " OWN ".Spread  y"));
	text[0] = 0;
	MUST(accel_state_explain(r.state, ACCEL_TEXT_JSON, all_text, text));
	assert_non_null(strstr(text, "\"op\":\"" OWN ".Spread\""));
	MUST(accel_state_profile(r.state, 2, see_node, &seen));
	assert_true(seen);
	assert_int_equal(atomic_load(&released), 3);
	stop(&r);
	assert_int_equal(atomic_load(&released), 4);
}

struct worker {
	struct bed *bed;
	struct accel_state *state;
	int64_t rows;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	int i;

	for (i = 0; i < 50; i++)
		check_run(w->bed, w->state, w->rows + i % 2, 5);
	return NULL;
}

static void test_threads(void **arg)
{
	struct accel_operators *ops = all();
	struct runner r = start(two_results(arg, ops), 3);
	struct worker w[3];
	pthread_t threads[3];
	uint32_t i, before = atomic_load(&computed);

	for (i = 0; i < 3; i++) {
		w[i] = (struct worker) { r.bed, new_state(r.bed, r.program), 9 + i };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &w[i]), 0);
	}
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		accel_state_destroy(w[i].state);
	}
	assert_int_equal(atomic_load(&computed) - before, 150);
	stop(&r);
	accel_operators_unref(ops);
}

/* --- mistakes ---------------------------------------------------------------------- */

static void test_failing(void **arg)
{
	struct accel_operators *ops = all();
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 3));
	const float bad[] = { 1, 2, -3 }, good[] = { 1, 2, 3 }, want[] = { -2, -4, -6 };
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t level;
	struct runner r;

	t->operators = ops;
	ONE(t, OWN, "Picky", "x", "a");
	ONE(t, NULL, "Neg", "a", "y");
	put_io(&t->g, 12, &(struct io)IO("y", F32, NULL, 3));
	for (level = 0; level <= 3; level += 3) {
		r = start(t, level);
		set(&r, 0, 1, DIMS(3), bad, sizeof(bad));
		assert_int_equal(accel_state_run(r.state), -ERANGE);
		accel_ctx_get_error(r.bed->ctx, &e);
		assert_string_equal(e.text, "node a (" OWN ".Picky): element 2 is negative");
		assert_string_equal(e.field, "a");
		set(&r, 0, 1, DIMS(3), good, sizeof(good));
		run(&r);
		has(&r, 0, 1, 3, want);
		stop(&r);
	}
	accel_operators_unref(ops);
}

static void test_refused(void **arg)
{
	static const struct {
		int code;
		const char *words;
	} odd[] = {
		{ -EINVAL, "its function of dimensions returned 3, which is no error" },
		{ -EDOM, "its function of dimensions failed: Numerical argument" },
		{ -EINVAL, "its function of dimensions said nothing of result 0" },
		{ -EINVAL, "result 0 has type " },
		{ -EINVAL, "result 7 is not there" },
		{ -EINVAL, "result 0 has dimension -1" },
		{ -EINVAL, "result 0 is too large" },
		{ -EINVAL, "attribute what is an integer, not a number" },
	};
	struct accel_operators *ops = all();
	struct tested *t;
	struct bytes n, a = { .n = 0 }, v = { .n = 0 };
	uint32_t i;

#define MODEL(...) \
	do { \
		t = BEGIN(*arg, __VA_ARGS__); \
		t->operators = ops; \
	} while (0)
	MODEL(IO("x", F32, NULL, 2));
	ONE(t, OWN, "Blur", "x", "a");
	ONE(t, OWN, "Picky", "a", "b");
	ONE(t, "else", "Picky", "b", "c");
	ONE(t, NULL, "Blur", "c", "y");
	must_refuse(t, -EOPNOTSUPP, "operators that are not known: " OWN ".Blur, else.Picky, Blur");
	t->operators = NULL;
	must_refuse(t, -EOPNOTSUPP, OWN ".Blur, " OWN ".Picky, else.Picky, Blur");
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		MODEL(IO("x", F32, NULL, 2));
		n = op(OWN, "Odd", "x", "y");
		attr_int(&n, "what", i);
		add_op(t, &n);
		must_refuse(t, odd[i].code, odd[i].words);
		must_refuse(t, odd[i].code, "node y (" OWN ".Odd)");
	}
	MODEL(IO("x", F32, NULL, 2));
	ONE(t, OWN, "Cut", "x", "y");
	must_refuse(t, -EINVAL, "1 inputs and 1 results, it takes 2 to 2 and gives 1 to 1");
	MODEL(IO("x", F32, NULL, 2));
	ONE(t, OWN, "Cut", "- x", "y");
	must_refuse(t, -EINVAL, "input 0 is absent");
	MODEL(IO("x", S64, NULL, 2, 2));
	n = spread_node("x", "y");
	add_op(t, &n);
	must_refuse(t, -EINVAL, "its input is int64 of 2 dimensions");
	MODEL(IO("x", F32, NULL, 2), IO("n", S64, NULL, 1, 1));
	ONE(t, OWN, "Cut", "x n", "y");
	must_refuse(t, -EOPNOTSUPP, "the elements of input 1 have to be known");
	MODEL(IO("x", F32, NULL, 2));
	n = op(OWN, "Picky", "x", "y");
	put_text(&a, 1, "words");
	put_text(&a, 9, "one");
	put_int(&a, 20, 8);
	put_message(&n, 5, &a);
	add_op(t, &n);
	must_refuse(t, -EOPNOTSUPP, "attribute words is of type 8");
	/* A domain of a version before it was meant */
	put_text(&v, 1, OWN);
	put_int(&v, 2, 1);
	{
		struct accel_operator o = an_operator(OWN, "New", same_infer, picky);

		o.since = 2;
		must_add(ops, &o);
	}
	MODEL(IO("x", F32, NULL, 2));
	ONE(t, OWN, "New", "x", "y");
	put_message(&t->functions, 8, &v);
	must_refuse(t, -EOPNOTSUPP, "operators that are not known: " OWN ".New");
	accel_operators_unref(ops);
}

static void test_opts(void **arg)
{
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m;

	(void)arg;
	opts.flags = 1;
	assert_int_equal(accel_model_open_opts("/nowhere", &opts, &e, &m), -EINVAL);
	assert_string_equal(e.field, "opts.flags");
	opts.size = 4;
	assert_int_equal(accel_model_open_opts("/nowhere", &opts, &e, &m), -EINVAL);
	assert_string_equal(e.field, "opts.size");
	assert_int_equal(accel_model_open_opts("/nowhere", NULL, &e, &m), -ENOENT);
}

/* --- files ------------------------------------------------------------------------- */

static void load_fails(struct bed *bed, const char *path, struct accel_operators *ops, int code,
		       const char *words)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_program *p = NULL;

	assert_int_equal(accel_program_load_operators(bed->ctx, path, NULL, ops, &p), code);
	accel_ctx_get_error(bed->ctx, &e);
	if (e.code != code || !strstr(e.text, words))
		fail_msg("%d: %s; should be %d: %s", e.code, e.text, code, words);
}

/* A program in a file has names of operators; who loads it brings the functions. */
static void test_files(void **arg)
{
	struct accel_operators *ops = all(), *other = NULL, *empty = NULL;
	struct tested *t = two_results(arg, ops);
	char path[] = "/tmp/test_onnx_added.XXXXXX";
	struct accel_program *again = NULL;
	struct accel_operator o;
	struct accel_state *s;
	struct bed *bed = *arg;
	uint32_t flags;
	struct runner r;
	int fd;

	ONE(t, OWN, "Picky", "z", "w");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	r = start(t, 3);
	check_run(bed, r.state, 3, 7);
	assert_int_equal(accel_operators_create(&empty), 0);
	assert_int_equal(accel_operators_create(&other), 0);
	o = an_operator(OWN, "Spread", spread_infer, spread);
	o.since = 1;
	must_add(other, &o);
	for (flags = 0; flags <= ACCEL_PROGRAM_SEEN; flags += ACCEL_PROGRAM_SEEN) {
		MUST(accel_program_save(r.program, path, flags));
		/* What nobody reads is in the graph, and not in what was seen. */
		load_fails(bed, path, NULL, -EOPNOTSUPP, flags ?
			   "operators that were not added: " OWN ".Spread" :
			   "operators that were not added: " OWN ".Spread, " OWN ".Picky");
		load_fails(bed, path, empty, -EOPNOTSUPP, OWN ".Spread");
		if (!flags)
			load_fails(bed, path, other, -EOPNOTSUPP, "not added: " OWN ".Picky");
		MUST(accel_program_load_operators(bed->ctx, path, NULL, ops, &again));
		s = new_state(bed, again);
		check_run(bed, s, 3, 7);
		if (!flags)
			check_run(bed, s, 11, 2);
		accel_state_destroy(s);
		accel_program_unref(again);
	}
	accel_operators_unref(other);
	assert_int_equal(accel_operators_create(&other), 0);
	o.since = 2;
	must_add(other, &o);
	load_fails(bed, path, other, -ESTALE, OWN ".Spread since version 1, this one is since 2");
	unlink(path);
	stop(&r);
	accel_operators_unref(ops);
	accel_operators_unref(other);
	accel_operators_unref(empty);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sets), TEST(test_results), TEST(test_constants), TEST(test_pictures),
		TEST(test_known), TEST(test_inner), TEST(test_versions), TEST(test_again),
		TEST(test_threads), TEST(test_failing), TEST(test_refused), TEST(test_opts),
		TEST(test_files),
	};

	return cmocka_run_group_tests_name("onnx_added", tests, NULL, NULL);
}
