// SPDX-License-Identifier: MIT
/*
 * Medians and spreads, and errors.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../accelbench.h"
#include "../perf.h"

static void test_median(void **state)
{
	double one[] = { 7 }, odd[] = { 9, 1, 5 }, even[] = { 4, 1, 3, 2 }, zero[] = { 0, 0, 0 };
	double nine[] = { 9, 8, 7, 6, 5, 4, 3, 2, 1 };
	double spread = -1;

	(void)state;
	assert_true(stats_median(one, 1, &spread) == 7 && spread == 0);
	assert_true(stats_median(odd, 3, NULL) == 5);
	assert_true(odd[0] == 1 && odd[2] == 9);
	assert_true(stats_median(even, 4, NULL) == 2.5);
	/* Quartiles 3 and 7 */
	assert_true(stats_median(nine, 9, &spread) == 5 && spread == 0.8);
	assert_true(stats_median(zero, 3, &spread) == 0 && spread == 0);
}

static void test_outliers(void **state)
{
	double calm[] = { 10, 10, 10, 10, 10, 10, 10, 10, 10 };
	double rough[] = { 10, 10, 10, 1000, 10, 10, 10, 10, 10 };
	double a, b;

	(void)state;
	/* What happens once in nine times moves neither */
	assert_true(stats_median(calm, 9, &a) == stats_median(rough, 9, &b));
	assert_true(a == b);
}

/* The error of a result of two, the second of which should be 4 */
static double error_of(double got, double want, double second)
{
	struct data_errors e = { 0 };

	data_compare(&e, got, want);
	data_compare(&e, second, 4);
	return data_error(&e);
}

static void test_errors(void **state)
{
	(void)state;
	assert_true(error_of(1, 1, 4) == 0);
	assert_true(error_of(1, 1, 3) == 0.25);
	/* What is no number has to be none; in another place it is off by any size */
	assert_true(error_of(NAN, NAN, 4) == 0);
	assert_true(error_of(NAN, NAN, 3) == 0.25);
	assert_true(isinf(error_of(NAN, 1, 4)));
	assert_true(isinf(error_of(1, NAN, 4)));
	/* An infinity hides no error of another */
	assert_true(error_of(INFINITY, INFINITY, 3) == 0.25);
	assert_true(isinf(error_of(-INFINITY, INFINITY, 4)));
	assert_true(isinf(error_of(1, INFINITY, 4)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median),
		cmocka_unit_test(test_outliers),
		cmocka_unit_test(test_errors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
