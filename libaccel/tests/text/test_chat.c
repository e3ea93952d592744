// SPDX-License-Identifier: MIT
/*
 * Templates of conversations against what the reference of Jinja makes of them (chat.js), those
 * that never
 * end, and those that are none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <accel/chat.h>
#include "libaccel/tests/data.h"

static struct accel_chat_template *parse(const char *text)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_chat_template *t;

	if (accel_chat_template_parse(text, strlen(text), &e, &t))
		fail_msg("%s", e.text);
	return t;
}

static int apply(const char *template, const char *messages, char **text)
{
	struct accel_chat_args a = ACCEL_CHAT_ARGS_INIT;
	struct accel_chat_template *t = parse(template);
	int ret;

	a.messages = messages;
	a.now = 86400;
	ret = accel_chat_template_apply(t, &a, NULL, text, NULL);
	accel_chat_template_destroy(t);
	return ret;
}

static const char *plain(struct json_object *o)
{
	return o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN) : NULL;
}

static void test_answers(void **state)
{
	const char *path = getenv("CHAT_ANSWERS") ? getenv("CHAT_ANSWERS") : TEXT_DATA "/chat.json";
	struct json_object *root = json_object_from_file(path), *talks, *list;
	size_t i, j;

	(void)state;
	assert_non_null(root);
	talks = json_object_object_get(root, "talks");
	list = json_object_object_get(root, "templates");
	assert_true(json_object_array_length(list) > 15);
	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		const char *name = json_object_get_string(json_object_object_get(one, "name"));
		struct json_object *answers = json_object_object_get(one, "answers");
		struct accel_chat_template *t;

		t = parse(json_object_get_string(json_object_object_get(one, "text")));
		for (j = 0; j < json_object_array_length(talks); j++) {
			struct json_object *talk = json_object_array_get_idx(talks, j);
			struct json_object *want = json_object_array_get_idx(answers, j);
			struct accel_chat_args a = ACCEL_CHAT_ARGS_INIT;
			struct accel_error e = ACCEL_ERROR_INIT;
			char *text = NULL;
			int ret;

			a.messages = plain(json_object_object_get(talk, "messages"));
			a.tools = plain(json_object_object_get(talk, "tools"));
			if (json_object_object_get(talk, "add_generation_prompt"))
				a.flags = ACCEL_CHAT_ADD_GENERATION_PROMPT;
			a.bos = "<s>";
			a.eos = "</s>";
			ret = accel_chat_template_apply(t, &a, &e, &text, NULL);
			if (!want && ret != -EPROTO)
				fail_msg("%s, talk %zu: %d, not refused", name, j, ret);
			if (want && ret)
				fail_msg("%s, talk %zu: %s", name, j, e.text);
			if (want && strcmp(text, json_object_get_string(want)))
				fail_msg("%s, talk %zu:\n%s\n--- not\n%s", name, j, text,
					 json_object_get_string(want));
			free(text);
		}
		accel_chat_template_destroy(t);
	}
	json_object_put(root);
}

/* Where the reference for node is another than Python's, it is Python's. */
static void test_python(void **state)
{
	static const struct {
		const char *template, *text;
	} cases[] = {
		{ "{{ true }} {{ none }} {{ [1, 'a', none] }} {{ {'k': 1.5} }}",
		  "True None [1, 'a', None] {'k': 1.5}" },
		{ "{{ 1.0 }} {{ 0.1 + 0.2 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }}",
		  "1.0 0.30000000000000004 3.5 -4 2 1024" },
		{ "{{ strftime_now('%d %b %Y') }}", "02 Jan 1970" },
		{ "{% generation %}a{% endgeneration %}{{ [1, 2, 3] | tojson }}", "a[1, 2, 3]" },
		{ "{{ '\xc3\xa9t\xc3\xa9'[1:] }} {{ 'a b  c'.split() }} {{ 'a b c'.split(' ', 1) }}",
		  "t\xc3\xa9 ['a', 'b', 'c'] ['a', 'b c']" },
		{ "{{ {'b': 1, 'a': {}} | tojson }} {{ {'b': 1, 'a': 2} | dictsort }}",
		  "{\"b\": 1, \"a\": {}} [('a', 2), ('b', 1)]" },
		{ "{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ (1, 2)[1] }} {{ 'x' * 3 }}",
		  "True False 2 xxx" },
	};
	size_t i;
	char *text;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(apply(cases[i].template, "[]", &text), 0);
		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

/* Steps, depth, memory and text have an end. */
static void test_hostile(void **state)
{
	static const struct {
		const char *template;
		int code;
	} cases[] = {
		{ "{% for a in range(99999999) %}{% endfor %}", -E2BIG },
		{ "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
		  -E2BIG },
		{ "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", -E2BIG },
		{ "{% set ns = namespace(s='x') %}{% for a in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
		  -E2BIG },
		{ "{{ 'x' * 999999999 }}", -E2BIG },
		{ "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", -E2BIG },
		{ "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns | tojson }}", -E2BIG },
		{ "{{ 1 // 0 }}", -EPROTO }, { "{{ 1 / 0 }}", -EPROTO }, { "{{ 1 % 0 }}", -EPROTO },
		{ "{{ 999999999999999999 * 999999999999999999 }}", -EPROTO },
		{ "{{ f() }}", -EPROTO }, { "{{ 1 | f }}", -EPROTO }, { "{{ 1 is f }}", -EPROTO },
		{ "{{ a.b }}", -EPROTO }, { "{{ [] < 1 }}", -EPROTO },
			{ "{{ raise_exception('no') }}", -EPROTO },
	};
	static const char *const broken[] = {
		"{{", "{{ }}", "{{ 'a }}", "{% if %}{% endif %}", "{% if true %}", "{% endif %}",
			"{% for %}",
		"{% for a in b %}{% endif %}", "{{ a b }}", "{% set %}", "{# ", "{{ (1 }}",
			"{{ [1 }}",
		"{{ {1 }}", "{% x %}", "{{ a. }}", "{{ a | }}", "{{ a is }}",
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_chat_template *t;
	char *text, *deep;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret = apply(cases[i].template, "[]", &text);

		if (ret != cases[i].code)
			fail_msg("%s: %d", cases[i].template, ret);
	}
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		if (accel_chat_template_parse(broken[i], strlen(broken[i]), &e, &t) != -EBADMSG)
			fail_msg("%s is read", broken[i]);
		assert_true(e.text[0]);
	}
	deep = malloc(60000);
	memset(deep, '(', 60000);
	memcpy(deep, "{{", 2);
	assert_int_equal(accel_chat_template_parse(deep, 60000, &e, &t), -E2BIG);
	free(deep);
	assert_int_equal(apply("a", "{", &text), -EBADMSG);
	assert_int_equal(apply("a", "{}", &text), -EBADMSG);
	assert_int_equal(apply("a", "[] [", &text), -EBADMSG);
}

static void test_null(void **state)
{
	struct accel_chat_args a = ACCEL_CHAT_ARGS_INIT;
	struct accel_chat_template *t = parse("a");
	char *text;

	(void)state;
	assert_int_equal(accel_version() >> 16, ACCEL_VERSION_MAJOR);
	assert_int_equal(accel_chat_template_parse(NULL, 0, NULL, NULL), -EINVAL);
	assert_int_equal(accel_chat_template_apply(NULL, &a, NULL, &text, NULL), -EINVAL);
	assert_int_equal(accel_chat_template_apply(t, NULL, NULL, &text, NULL), -EINVAL);
	assert_int_equal(accel_chat_template_apply(t, &a, NULL, &text, NULL), -EINVAL);
	a.messages = "[]";
	a.flags = 1u << 31;
	assert_int_equal(accel_chat_template_apply(t, &a, NULL, &text, NULL), -EINVAL);
	accel_chat_template_destroy(t);
	accel_chat_template_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_python),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
