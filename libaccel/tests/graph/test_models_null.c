// SPDX-License-Identifier: MIT
/*
 * Every function that the library of models exports, called with nothing at all: no crash, and
 * -EINVAL from those that return an error. The functions come from the library's own table of
 * symbols, so that none is forgotten.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <accel/accel.h>
#include <accel/model.h>
#include "../symbols.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* What returns no error, by name or by how the name ends */
static const char *const others[] = {
	"accel_model_graph", "accel_model_get_op", "accel_model_has_op",
	"accel_constraint_allows", "accel_constraint_whole", "accel_sampler_uniform",
	"accel_tokenizer_chat_template", "accel_tokenizer_find",
};

static const char *const ends[] = { "_close", "_destroy", "_free", "_unref", "_ref", "_name" };

static bool is_other(const char *name)
{
	size_t n = strlen(name), k;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(name, others[i]))
			return true;
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		k = strlen(ends[i]);
		if (n > k && !strcmp(name + n - k, ends[i]))
			return true;
	}
	return false;
}

static uint32_t wrong;

static void call(const char *name, fn_t *fn)
{
	int ret;

	printf("# %s\n", name);
	fflush(stdout);
	ret = (int)fn(0, 0, 0, 0, 0, 0, 0, 0);
	if (is_other(name) || ret == -EINVAL)
		return;
	printf("# %s gives %d\n", name, ret);
	wrong++;
}

static void test_all(void **state)
{
	(void)state;
	assert_true(each_symbol((void *)(uintptr_t)accel_model_open, call) >= 10);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
