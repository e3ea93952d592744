// SPDX-License-Identifier: MIT
/*
 * Passes against graphs that nobody wrote: random ones of what the passes look for, of what is
 * nearly that, of views, results that are read, and values that are read twice. Level 0 says
 * what is right; each other level, and each pass left out, has to say the same.
 *
 *	ACCEL_TEST_SEED=n	the first graph
 *	ACCEL_TEST_COUNT=n	number of graphs
 */
#include <malloc.h>
#include "libaccel/tests/oracle/oracle.h"
#include "randomgraph.h"

#define BOUND		0.002
#define PASSES		(1u << ACCEL_PASS_CSE | 1u << ACCEL_PASS_EPILOGUE | \
			 1u << ACCEL_PASS_LAYOUT | 1u << ACCEL_PASS_IDIOM | \
			 1u << ACCEL_PASS_ATTENTION | \
			 1u << ACCEL_PASS_BATCHNORM | 1u << ACCEL_PASS_COPY | \
			 1u << ACCEL_PASS_TRANSPOSED | \
			 1u << ACCEL_PASS_JOIN | 1u << ACCEL_PASS_CONCAT)

/* --- running ------------------------------------------------------------------------------ */

/**
 * struct form - a graph that was compiled and run
 * @program: program
 * @s: state
 */
struct form {
	struct accel_program *program;
	struct accel_state *s;
};

static bool run_form(struct maker *m, uint32_t level, uint32_t off, struct form *f)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	uint64_t bytes, k;
	float *p;

	opts.level = level;
	opts.off = off;
	opts.precision = m->precision;
	*f = (struct form) { NULL, NULL };
	if (accel_graph_compile(m->bed->ctx, m->bed->graph, &opts, &f->program) ||
	    accel_state_create(f->program, &f->s))
		goto failed;
	p = accel_state_get_input(f->s, 0, &bytes);
	assert_non_null(p);
	for (k = 0; k < bytes / sizeof(float); k++)
		p[k] = noise(m->seed + 5000, k);
	if (!accel_state_run(f->s))
		return true;
failed:
	accel_ctx_get_error(m->bed->ctx, &e);
	print_message("graph %llu, level %u, off 0x%x: %s: %s\n", (unsigned long long)m->seed,
		      level, off, e.field, e.text);
	return false;
}

/* A mask of the passes that made some node */
static int find_passes(void *user, const char *text, uint64_t bytes)
{
	uint32_t i, *seen = user;
	char quoted[32];

	for (i = 0; i < ACCEL_PASS_COUNT; i++) {
		snprintf(quoted, sizeof(quoted), "\"%s\"", accel_pass_name(i));
		*seen |= strstr(text, quoted) ? 1u << i : 0;
	}
	(void)bytes;
	return 0;
}

static void end_form(struct form *f)
{
	accel_state_destroy(f->s);
	accel_program_unref(f->program);
}

/*
 * The largest difference, or with @mean their mean, as a part of the largest number; differences
 * in what is no number are 1.
 */
static double differs(struct bed *bed, struct form *got, struct form *want, bool mean)
{
	struct accel_value v, w;
	double most, diff, one, worst = 0;
	const float *x, *y;
	const void *data;
	uint32_t i;
	uint64_t k;

	for (i = 0; ; i++) {
		v = (struct accel_value)ACCEL_VALUE_INIT;
		if (accel_state_get_output(want->s, i, &v, &data))
			return worst;
		y = data;
		x = output(bed, got->s, i, &w);
		assert_dims(&w, v.rank, v.dims);
		assert_int_equal(w.type, v.type);
		for (k = 0, most = 1, diff = 0; k < elements(&v); k++) {
			if (isfinite(y[k]) && fabs((double)y[k]) > most)
				most = fabs((double)y[k]);
			one = oracle_apart((double)x[k], (double)y[k]);
			if (isinf(one))
				return 1;
			if (mean)
				diff += one / (double)elements(&v);
			else
				diff = fmax(diff, one);
		}
		worst = fmax(worst, diff / most);
	}
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

/* How far a graph that is made otherwise is from @want; 1: it does not run */
static double compare(struct maker *m, uint32_t level, uint32_t off, struct form *want, bool mean,
		      double bound, uint32_t *seen)
{
	struct bed *bed = m->bed;
	struct form got;
	double diff = 1;

	if (run_form(m, level, off, &got)) {
		MUST(accel_state_explain(got.s, ACCEL_TEXT_JSON, find_passes, seen));
		diff = differs(bed, &got, want, mean);
		if (!(diff <= bound))
			print_message("graph %llu, level %u, off 0x%x, precision %u: %g\n",
				      (unsigned long long)m->seed, level, off, m->precision, diff);
	}
	end_form(&got);
	return diff;
}

static void test_random(struct bed *bed, bool bytes, double bound)
{
	const uint32_t want_passes = PASSES | (bytes ? 1u << ACCEL_PASS_QDQ : 0);
	const uint64_t first = setting("ACCEL_TEST_SEED", 1);
	const uint64_t count = setting("ACCEL_TEST_COUNT", 150);
	uint32_t i, bad = 0, broken = 0, seen = 0;
	struct form want;
	uint64_t seed;

	for (seed = first; seed < first + count; seed++) {
		struct maker m = { .bed = bed, .seed = seed };

		make(&m, bytes);
		want = (struct form) { NULL, NULL };
		if (m.broken) {
			broken++;
		} else if (!run_form(&m, 0, 0, &want)) {
			bad++;
		} else {
			for (i = 0; i < ACCEL_PASS_COUNT + 3; i++) {
				uint32_t level = i < 3 ? i + 1 : 3, off = i < 3 ? 0 : 1u << (i - 3);

				bad += !(compare(&m, level, off, &want, bytes, bound, &seen) <=
					 bound);
			}
		}
		end_form(&want);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
	}
	assert_int_equal(bad, 0);
	/* Each of them has found something. */
	if (count >= 150)
		assert_int_equal(seen & want_passes, want_passes);
	assert_in_range(broken, 0, count / 3);
}

static void test_real(void **arg)
{
	test_random(*arg, false, BOUND);
}

/* A number may become another byte: it is the mean that counts. */
static void test_bytes(void **arg)
{
	test_random(*arg, true, 0.01);
}

/* 16 bits of the significand's 24 are gone: most numbers are near, whatever the graph. */
static void test_precision(void **arg)
{
	const uint64_t first = setting("ACCEL_TEST_SEED", 1);
	const uint64_t count = setting("ACCEL_TEST_COUNT", 60);
	struct bed *bed = *arg;
	uint32_t i, bad = 0, changed = 0, seen = 0;
	struct form want;
	double diff;
	uint64_t seed;

	for (seed = first; seed < first + count; seed++) {
		struct maker m = { .bed = bed, .seed = seed };

		make(&m, seed % 4 == 3);
		if (!m.broken && run_form(&m, 0, 0, &want)) {
			for (i = 1; i < ACCEL_PRECISION_COUNT; i++) {
				m.precision = i;
				diff = compare(&m, seed % 4, 0, &want, true, 0.02, &seen);
				bad += !(diff <= 0.02);
				changed += diff > 0.0001;
			}
			end_form(&want);
		}
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
	}
	assert_int_equal(bad, 0);
	assert_true(changed > count / 3);
}

static void test_no_precision(void **arg)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_program *program = NULL;
	struct bed *bed = *arg;

	add_output(bed, "y", add_input(bed, "x", ACCEL_F32, 2, DIMS(2, 2)));
	opts.precision = ACCEL_PRECISION_COUNT;
	assert_int_equal(accel_graph_compile(bed->ctx, bed->graph, &opts, &program), -EINVAL);
	assert_null(program);
}

/* Lists of values grow while norms become part of convolutions, whatever they had before. */
static void test_many(void **arg)
{
	struct bed *bed = *arg;
	struct accel_value v;
	struct form want, got;
	uint32_t i, n, x;

	for (n = 6; n < 20; n++) {
		struct maker m = { .bed = bed, .seed = n };

		x = add_input(bed, "x", ACCEL_F32, 4, DIMS(1, 3, 4, 4));
		for (i = 0; i < n; i++) {
			v = shape_of(&m, x);
			x = conv(&m, x, &v);
			v = shape_of(&m, x);
			x = batchnorm(&m, x, &v);
		}
		add_output(bed, "y", x);
		assert_true(run_form(&m, 0, 0, &want));
		assert_true(run_form(&m, 3, 0, &got));
		assert_true(differs(bed, &got, &want, false) < BOUND);
		end_form(&want);
		end_form(&got);
		accel_graph_destroy(bed->graph);
		assert_int_equal(accel_graph_create(&bed->graph), 0);
	}
}

/* Of nothing there is no second column, and nothing is where it would be. */
static void test_empty(void **arg)
{
	struct accel_concat_desc d = ACCEL_CONCAT_DESC_INIT;
	struct maker m = { .bed = *arg };
	struct form f;
	uint32_t x, y;

	y = cut(&m, add_input(m.bed, "none", ACCEL_F32, 2, DIMS(0, 3)), 1, 3, 1, 1);
	x = add_input(m.bed, "x", ACCEL_F32, 2, DIMS(2, 2));
	d.count = 2;
	add_output(m.bed, "none", act(&m, ACCEL_ACT_RELU, y));
	add_output(m.bed, "all", add_node(m.bed, "concat", &d.hdr, 2, (uint32_t[]) { y, x }));
	assert_true(run_form(&m, 0, 0, &f));
	end_form(&f);
	assert_true(run_form(&m, 3, 0, &f));
	end_form(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_empty, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_precision, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_no_precision, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_real, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_bytes, bed_setup, bed_teardown),
	};

	/* What was given back is not what it was. */
	mallopt(M_PERTURB, 0x5a);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
