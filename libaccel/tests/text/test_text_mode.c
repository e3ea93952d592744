// SPDX-License-Identifier: MIT
/*
 * Numbers in tokenizers, templates and schemas are what their digits say in whatever mode of
 * floating-point arithmetic the calling thread is, and nothing traps.
 */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <accel/chat.h>
#include <accel/generate.h>
#include <accel/tokenizer.h>

#define TRAPS	(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW)

/* "ab" is better than "a" and "b" by the last bit of the sum of their scores. */
static const char pieces[] =
	"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-0.1],[\"b\",-0.2],[\"ab\",-0.3]]}}";
static const char sums[] = "{{ 0.1 + 0.2 }} {{ 0.1 * 3 }} {{ '2.675' | float }} {{ more }}";
static const char schema[] = "{\"enum\":[0.1,1e999]}";

/* What becomes of numbers, as a text */
static void tell(char *text, size_t size)
{
	struct accel_encode_args encode = ACCEL_ENCODE_ARGS_INIT;
	struct accel_chat_args chat = ACCEL_CHAT_ARGS_INIT;
	struct accel_constraint *constraint = NULL;
	struct accel_chat_template *t;
	struct accel_tokenizer *tok;
	struct accel_token *tokens;
	size_t count;
	char *said;
	int ret;

	assert_int_equal(accel_tokenizer_parse(pieces, strlen(pieces), NULL, &tok), 0);
	encode.text = "ab";
	encode.bytes = 2;
	assert_int_equal(accel_tokenizer_encode(tok, &encode, &tokens, &count), 0);
	accel_tokenizer_close(tok);
	assert_int_equal(accel_chat_template_parse(sums, strlen(sums), NULL, &t), 0);
	chat.messages = "[]";
	chat.variables = "{\"more\":0.3}";
	assert_int_equal(accel_chat_template_apply(t, &chat, NULL, &said, NULL), 0);
	accel_chat_template_destroy(t);
	ret = accel_constraint_create(schema, strlen(schema), NULL, &constraint);
	accel_constraint_destroy(constraint);
	snprintf(text, size, "%u of %zu: %s: %d", tokens[0].id, count, said, ret);
	free(tokens);
	free(said);
}

static void test_rounding(void **state)
{
	static const int rounding[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	const char *want = "2 of 1: 0.30000000000000004 0.30000000000000004 2.675 0.3: ";
	char text[200], got[200];
	uint32_t i;

	(void)state;
	tell(text, sizeof(text));
	assert_memory_equal(text, want, strlen(want));
	for (i = 0; i < sizeof(rounding) / sizeof(rounding[0]); i++) {
		assert_int_equal(fesetround(rounding[i]), 0);
		tell(got, sizeof(got));
		assert_int_equal(fegetround(), rounding[i]);
		fesetround(FE_TONEAREST);
		assert_string_equal(got, text);
	}
}

static void test_traps(void **state)
{
	char text[200], got[200];

	(void)state;
	tell(text, sizeof(text));
	feclearexcept(FE_ALL_EXCEPT);
	/* Not every processor has traps that can be turned on. */
	if (feenableexcept(TRAPS) < 0)
		skip();
	tell(got, sizeof(got));
	assert_int_equal(fegetexcept(), TRAPS);
	fedisableexcept(TRAPS);
	assert_int_equal(fetestexcept(TRAPS), 0);
	assert_string_equal(got, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_traps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
