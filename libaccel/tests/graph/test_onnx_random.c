// SPDX-License-Identifier: MIT
/*
 * Random numbers of ONNX: with a seed those of numpy.random.RandomState, whose first ones are
 * written here; without one other ones each time, of which shares are counted.
 */
#include "onnxrun.h"

#define MANY	20000

static const float uniform[10] = {
	0.5488135039f, 0.7151893664f, 0.6027633761f, 0.5448831830f, 0.4236547993f, 0.6458941131f,
	0.4375872113f, 0.8917730008f, 0.9636627605f, 0.3834415188f
};

static const float normal[10] = {
	1.7640523460f, 0.4001572084f, 0.9787379841f, 2.2408931992f, 1.8675579901f, -0.9772778799f,
	0.9500884175f, -0.1513572083f, -0.1032188518f, 0.4105985019f
};

/* A node of random numbers with @shape, or like its inputs, of seed 0 if @seeded */
static void add_random(struct tested *t, const char *type, const char *in, const char *out,
		       bool seeded, int64_t dtype, uint32_t rank, const int64_t *shape)
{
	struct bytes n = op(NULL, type, in, out);

	if (shape)
		attr_ints(&n, "shape", rank, shape);
	if (seeded)
		attr_float(&n, "seed", 0);
	if (dtype)
		attr_int(&n, "dtype", dtype);
	add_op(t, &n);
}

/* Seeds give the numbers of another implementation, in all types. */
static void test_seeded(void **arg)
{
	static const int64_t shape[] = { 2, 5 }, given[] = { 5, 2 };
	double wide[10];
	float x[10] = { 0 }, range[10];
	struct tested *t;
	struct bytes n;
	int i;

	for (i = 0; i < 10; i++) {
		wide[i] = (double)normal[i];
		range[i] = uniform[i] * 6 - 2;
	}
	t = BEGIN(*arg, { "x", F32, 2, { -1, 2 }, x, false, given });
	t->bound = 0.000001;
	add_random(t, "RandomUniform", "", "u", true, 0, 2, shape);
	add_random(t, "RandomNormal", "", "n", true, F64, 2, shape);
	add_random(t, "RandomNormalLike", "x", "l", true, 0, 0, NULL);
	n = op(NULL, "RandomUniformLike", "x", "r");
	attr_float(&n, "low", -2);
	attr_float(&n, "high", 4);
	attr_float(&n, "seed", 0);
	add_op(t, &n);
	GIVES(t, IO("u", F32, uniform, 2, 5), IO("n", F64, wide, 2, 5), IO("l", F32, normal, 5, 2),
	      IO("r", F32, range, 5, 2));
}

static const float *floats(struct runner *r, uint32_t index)
{
	struct accel_value v;
	const float *x = output(r->bed, r->state, index, &v);

	assert_int_equal(v.type, ACCEL_F32);
	assert_int_equal(elements(&v), MANY);
	return x;
}

/* Mean and deviation are near what they should be: five deviations of these themselves. */
static void spreads(const float *x, double mean, double deviation)
{
	double sum = 0, square = 0;
	int i;

	for (i = 0; i < MANY; i++) {
		sum += (double)x[i] / MANY;
		square += ((double)x[i] - mean) * ((double)x[i] - mean) / MANY;
	}
	assert_true(fabs(sum - mean) < 5 * deviation / sqrt(MANY));
	assert_true(fabs(sqrt(square) - deviation) < 5 * deviation / sqrt(MANY));
}

/* Without a seed no two nodes have the same numbers, and no two runs. */
static void test_unseeded(void **arg)
{
	static const int64_t shape[] = { MANY };
	float before[MANY];
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 1));
	struct runner r;
	uint32_t level;
	int i;

	add_random(t, "RandomUniform", "", "a", false, 0, 1, shape);
	add_random(t, "RandomUniform", "", "b", false, 0, 1, shape);
	add_random(t, "RandomNormal", "", "c", false, 0, 1, shape);
	for (i = 0; i < 3; i++)
		put_name(&t->g, 12, i == 0 ? "a" : i == 1 ? "b" : "c");
	for (level = 0; level <= 3; level += 3) {
		r = start(t, level);
		run(&r);
		assert_true(memcmp(floats(&r, 0), floats(&r, 1), sizeof(before)) != 0);
		spreads(floats(&r, 0), 0.5, sqrt(1.0 / 12));
		spreads(floats(&r, 2), 0, 1);
		for (i = 0; i < MANY; i++)
			assert_true(floats(&r, 0)[i] >= 0 && floats(&r, 0)[i] <= 1);
		memcpy(before, floats(&r, 0), sizeof(before));
		run(&r);
		assert_true(memcmp(floats(&r, 0), before, sizeof(before)) != 0);
		stop(&r);
	}
}

/* What is sure is sure; the rest happens as often as it should. */
static void test_chances(void **arg)
{
	static const float p[6] = { 0, 1, 0, 1, 1, 0 };
	static const uint8_t bools[6] = { 0, 1, 0, 1, 1, 0 };
	static const float log_p[2 * 3] = { -INFINITY, -INFINITY, 7, 1000, -INFINITY, 0 };
	static const int32_t classes[2 * 4] = { 2, 2, 2, 2, 0, 0, 0, 0 };
	static float half[MANY];
	static const float shares[3] = { 0, 1.0986123f, -INFINITY };
	const int64_t *drawn;
	struct accel_value v;
	struct tested *t;
	struct runner r;
	struct bytes n;
	int i, first = 0;

	t = BEGIN(*arg, IO("p", F32, p, 2, 3), IO("l", F32, log_p, 2, 3));
	add_random(t, "Bernoulli", "p", "y", false, BOOL, 0, NULL);
	add_random(t, "Bernoulli", "p", "z", true, 0, 0, NULL);
	n = op(NULL, "Multinomial", "l", "m");
	attr_int(&n, "sample_size", 4);
	add_op(t, &n);
	GIVES(t, IO("y", BOOL, bools, 2, 3), IO("z", F32, p, 2, 3), IO("m", S32, classes, 2, 4));

	for (i = 0; i < MANY; i++)
		half[i] = i % 2 ? 0.3f : 0.7f;
	t = BEGIN(*arg, IO("p", F32, half, MANY), IO("l", F32, shares, 1, 3));
	add_random(t, "Bernoulli", "p", "y", false, 0, 0, NULL);
	n = op(NULL, "Multinomial", "l", "m");
	attr_int(&n, "sample_size", MANY);
	attr_int(&n, "dtype", S64);
	add_op(t, &n);
	put_name(&t->g, 12, "y");
	put_name(&t->g, 12, "m");
	r = start(t, 3);
	set(&r, 0, 1, (const int64_t[]) { MANY }, half, sizeof(half));
	set(&r, 1, 2, (const int64_t[]) { 1, 3 }, shares, sizeof(shares));
	run(&r);
	spreads(floats(&r, 0), 0.5, 0.5);
	/* One of four is of the first class, three are of the second. */
	drawn = output(r.bed, r.state, 1, &v);
	for (i = 0; i < MANY; i++) {
		assert_in_range(drawn[i], 0, 1);
		first += drawn[i] == 0;
	}
	assert_true(abs(first - MANY / 4) < 5 * sqrt(MANY * 3.0 / 16));
	stop(&r);
}

/* Dropped where the numbers of the seed are below the share, as long as it is training. */
static void test_dropout(void **arg)
{
	static const uint8_t no = 0, yes = 1;
	const float ratio = 0.5f;
	float x[10], dropped[10];
	uint8_t mask[10], ones[10];
	struct tested *t;
	struct bytes n;
	int i, k;

	for (i = 0; i < 10; i++) {
		x[i] = (float)(i + 1);
		mask[i] = uniform[i] >= ratio;
		dropped[i] = mask[i] ? x[i] * 2 : 0;
		ones[i] = 1;
	}
	for (k = 0; k < 2; k++) {
		t = BEGIN(*arg, IO("x", F32, x, 2, 5), SCALAR("r", F32, &ratio),
			  { "t", BOOL, 0, { 0 }, k ? &yes : &no, false, NULL });
		n = op(NULL, "Dropout", "x r t", "y m");
		attr_int(&n, "seed", 0);
		add_op(t, &n);
		GIVES(t, IO("y", F32, k ? dropped : x, 2, 5), IO("m", BOOL, k ? mask : ones, 2, 5));
	}
}

/* Such a program needs nothing but its file. */
static void test_saved(void **arg)
{
	static const int64_t shape[] = { 10 };
	char path[] = "/tmp/test_onnx_random.XXXXXX";
	struct tested *t = BEGIN(*arg, IO("x", F32, NULL, 1));
	struct accel_program *again = NULL;
	struct bed *bed = *arg;
	struct accel_value v;
	const float *got;
	struct runner r;
	int i, fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	add_random(t, "RandomNormal", "", "y", true, 0, 1, shape);
	put_name(&t->g, 12, "y");
	r = start(t, 3);
	run(&r);
	MUST(accel_program_save(r.program, path, 0));
	stop(&r);
	MUST(accel_program_load(bed->ctx, path, NULL, &again));
	unlink(path);
	r.program = again;
	r.state = new_state(bed, again);
	run(&r);
	got = output(bed, r.state, 0, &v);
	for (i = 0; i < 10; i++)
		assert_true(fabsf(got[i] - normal[i]) < 0.000001f);
	stop(&r);
}

static void test_refused(void **arg)
{
	static const int64_t shape[] = { 2 }, negative[] = { 2, -1 };
	struct tested *t = BEGIN(*arg, IO("x", S32, NULL, 2));

	add_random(t, "RandomUniform", "", "y", false, S32, 1, shape);
	must_refuse(t, 0, "int32, which are no floating-point ones");
	t = BEGIN(*arg, IO("x", S32, NULL, 2));
	ONE(t, NULL, "RandomNormal", "", "y");
	must_refuse(t, 0, "it has no shape");
	t = BEGIN(*arg, IO("x", S32, NULL, 2));
	add_random(t, "RandomNormal", "", "y", false, 0, 2, negative);
	must_refuse(t, -EINVAL, "dimension -1");
	t = BEGIN(*arg, IO("x", S32, NULL, 2));
	ONE(t, NULL, "Bernoulli", "x", "y");
	must_refuse(t, -EINVAL, "no floating-point numbers to draw by");
	t = BEGIN(*arg, IO("x", F32, NULL, 2));
	ONE(t, NULL, "Multinomial", "x", "y");
	must_refuse(t, -EINVAL, "1 of each row of 1 dimensions cannot be drawn");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_seeded),  TEST(test_unseeded), TEST(test_chances),
		TEST(test_dropout), TEST(test_saved),    TEST(test_refused),
	};

	return cmocka_run_group_tests_name("onnx_random", tests, NULL, NULL);
}
