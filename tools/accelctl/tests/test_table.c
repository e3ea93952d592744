// SPDX-License-Identifier: MIT
/*
 * The reader of debugfs tables.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "table.h"

static const char gems[] =
	"refs mappings         size     resident    flags label\n"
	"   1        1        65536        65536      0x1 \"weights of \\\"layer\\\" 1\"\n"
	"   2        0         4096            0        0 \"\"\n"
	"   1        1         8192         8192   0x1002 \"a\\012b\\\\c\\tz\"\n";

static const char queues[] =
	"    pid queue  engines prio status  submitted  completed\n"
	"    204     1     0x3    1 ok            450        449\n"
	"  70000    12    0x30    0 banned          7          7\n";

static int parse(const char *text, struct table *table, char why[128])
{
	*why = 0;
	return table_parse(text, table, why, 128);
}

static void test_gems(void **state)
{
	struct table t;
	char why[128];
	uint64_t n;

	(void)state;
	assert_int_equal(parse(gems, &t, why), 0);
	assert_int_equal(t.rows, 3);
	assert_int_equal(t.col_count, 6);
	assert_true(table_number(&t, 0, "size", &n));
	assert_int_equal(n, 65536);
	assert_true(table_number(&t, 0, "flags", &n));
	assert_int_equal(n, 1);
	assert_string_equal(table_cell(&t, 0, "label"), "weights of \"layer\" 1");
	assert_string_equal(table_cell(&t, 1, "label"), "");
	assert_true(table_number(&t, 2, "flags", &n));
	assert_int_equal(n, 0x1002);
	/* Escapes are undone, and what is then no text for a terminal is taken out */
	assert_string_equal(table_cell(&t, 2, "label"), "a?b\\c?z");
	assert_null(table_cell(&t, 0, "colour"));
	assert_null(table_cell(&t, 3, "size"));
	assert_false(table_number(&t, 0, "label", &n));
	assert_false(table_number(&t, 0, "colour", &n));
	table_free(&t);
}

static void test_queues(void **state)
{
	struct table t;
	char why[128];
	uint64_t n;

	(void)state;
	assert_int_equal(parse(queues, &t, why), 0);
	assert_int_equal(t.rows, 2);
	assert_true(table_number(&t, 1, "pid", &n));
	assert_int_equal(n, 70000);
	assert_string_equal(table_cell(&t, 1, "status"), "banned");
	assert_false(table_number(&t, 1, "status", &n));
	assert_true(table_number(&t, 0, "completed", &n));
	assert_int_equal(n, 449);
	table_free(&t);
}

static void test_short_rows_and_free_text(void **state)
{
	struct table t;
	char why[128];

	(void)state;
	assert_int_equal(parse("\n a  b c\n\n1\n1 2\n1 2 all the rest\n\"q q\" 2 3\n", &t, why),
			 0);
	assert_int_equal(t.rows, 4);
	assert_string_equal(table_cell(&t, 0, "a"), "1");
	assert_null(table_cell(&t, 0, "b"));
	assert_null(table_cell(&t, 1, "c"));
	assert_string_equal(table_cell(&t, 2, "c"), "all the rest");
	assert_string_equal(table_cell(&t, 3, "a"), "q q");
	table_free(&t);
	/* A head and nothing else is an empty table */
	assert_int_equal(parse("a b\n", &t, why), 0);
	assert_int_equal(t.rows, 0);
	assert_null(table_cell(&t, 0, "a"));
	table_free(&t);
}

static void test_remarks(void **state)
{
	struct table t;
	char why[128];
	uint64_t n;

	(void)state;
	assert_int_equal(parse("a b\n1 2\n3 rows, 4\n0 5\n", &t, why), 0);
	table_keep(&t, "c");
	assert_int_equal(t.rows, 3);
	table_keep(&t, "b");
	assert_int_equal(t.rows, 2);
	assert_true(table_number(&t, 1, "b", &n));
	assert_int_equal(n, 5);
	table_free(&t);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} bad[] = {
		{ "", "no line that names the columns" },
		{ "\n\t\n\n", "no line that names the columns" },
		{ "a b\n1 \"open\n", "line 2: the quotes are not closed" },
		{ "a b\n1 \"open\\", "line 2: the quotes are not closed" },
		{ "a b\n\n1 \"x\"y\n", "line 3: the quotes are not closed" },
		{ "a b\n1 \"x\" 3\n", "line 2 has more cells than there are columns" },
		{ "a\n\"x\" \"y\"\n", "line 2 has more cells than there are columns" },
	};
	struct table t;
	unsigned int i;
	char why[128];

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].text, &t, why), -EBADMSG);
		assert_string_equal(why, bad[i].why);
		assert_null(t.cells);
	}
}

static void test_numbers(void **state)
{
	static const char *const bad[] = {
		"-1", "+1", "0x", "0xg", "0x-1", "1x", "18446744073709551616",
		"0x10000000000000000", "."
	};
	char text[64], why[128];
	struct table t;
	unsigned int i;
	uint64_t n;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "n x\n%s 1\n", bad[i]);
		assert_int_equal(parse(text, &t, why), 0);
		if (table_number(&t, 0, "n", &n))
			fail_msg("'%s' is no number", bad[i]);
		table_free(&t);
	}
	assert_int_equal(parse("n x\n18446744073709551615 0xffffffffffffffff\n", &t, why), 0);
	assert_true(table_number(&t, 0, "n", &n) && n == UINT64_MAX);
	assert_true(table_number(&t, 0, "x", &n) && n == UINT64_MAX);
	table_free(&t);
}

static void test_wide(void **state)
{
	char text[1024] = "", why[128];
	struct table t;
	unsigned int i;

	(void)state;
	for (i = 0; i <= TABLE_COLS; i++) {
		if (i == TABLE_COLS) {
			assert_int_equal(parse(text, &t, why), 0);
			assert_int_equal(t.col_count, TABLE_COLS);
			table_free(&t);
		}
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "c%u ", i);
	}
	assert_int_equal(parse(text, &t, why), -EBADMSG);
}

static void test_mutations(void **state)
{
	static const char bytes[] = { '\n', '"', '\\', ' ', '\t', '0', 'x', '\x1b', '\xff' };
	char text[sizeof(gems)], why[128];
	struct table t;
	uint64_t n;
	size_t i, b, row;
	int ret;

	(void)state;
	for (i = 0; i < sizeof(gems); i++)
		for (b = 0; b <= sizeof(bytes); b++) {
			memcpy(text, gems, sizeof(gems));
			text[i] = b == sizeof(bytes) || i + 1 == sizeof(gems) ? 0 : bytes[b];
			ret = parse(text, &t, why);
			assert_true(ret == 0 || ret == -EBADMSG);
			for (row = 0; row < t.rows; row++)
				table_number(&t, row, "size", &n);
			table_free(&t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gems),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_short_rows_and_free_text),
		cmocka_unit_test(test_remarks),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_mutations),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
