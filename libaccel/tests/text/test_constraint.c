// SPDX-License-Identifier: MIT
/*
 * Texts of JSON schemas: which may be, byte by byte; what is written at random is of the schema;
 * schemas that are made to take long, or that say what is not known.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <accel/generate.h>

static struct accel_constraint *make(const char *schema)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_constraint *c = NULL;
	int ret = accel_constraint_create(schema, strlen(schema), &e, &c);

	if (ret)
		fail_msg("%.200s: %d: %s", schema, ret, e.text);
	return c;
}

/* Is a text one of a schema? By single bytes, and by pieces as tokens are. */
static bool is_text(const char *schema, const char *text)
{
	struct accel_constraint *c = make(schema);
	size_t i, n = strlen(text), piece;
	bool good = true;

	for (i = 0; i < n && good; i += piece) {
		piece = 1 + (i * 7 + n) % 4;
		piece = piece < n - i ? piece : n - i;
		good = accel_constraint_allows(c, text + i, piece);
		assert_int_equal(accel_constraint_take(c, text + i, piece), good ? 0 : -EINVAL);
	}
	good = good && accel_constraint_whole(c);
	accel_constraint_destroy(c);
	return good;
}

#define PERSON	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}," \
		"\"age\":{\"type\":\"integer\"},\"tags\":{\"type\":\"array\",\"items\":" \
		"{\"enum\":[\"a\",\"b/c\",3]},\"maxItems\":3}},\"required\":[\"name\",\"tags\"]}"
#define TREE	"{\"$ref\":\"#/$defs/node\",\"$defs\":{\"node\":{\"type\":\"object\",\"properties\":" \
		"{\"v\":{\"type\":\"number\"},\"next\":{\"anyOf\":[{\"$ref\":\"#/$defs/node\"}," \
		"{\"type\":\"null\"}]}},\"required\":[\"v\",\"next\"]}}}"

static const struct {
	const char *schema;
	const char *text;
	bool good;
} texts[] = {
	{ PERSON, "{\"name\":\"Emma\",\"age\":21,\"tags\":[]}", true },
	{ PERSON, "{ \"name\": \"Emma\",\n  \"tags\": [\"a\", 3, \"b/c\"] }", true },
	{ PERSON, "{\"name\":\"Emma\",\"age\":21.5,\"tags\":[]}", false },
	{ PERSON, "{\"name\":\"Emma\",\"age\":21}", false },
	{ PERSON, "{\"age\":21,\"name\":\"Emma\",\"tags\":[]}", false },
	{ PERSON, "{\"name\":\"Emma\",\"tags\":[\"a\",\"a\",\"a\",\"a\"]}", false },
	{ PERSON, "{\"name\":\"Emma\",\"tags\":[\"c\"]}", false },
	{ PERSON, "{\"name\":\"Emma\",\"tags\":[]", false },
	{ PERSON, "{\"name\":\"Emma\",\"tags\":[]}}", false },
	{ PERSON, "{\"name\":\"Em\\\"ma \\u00e9 \xc3\xa9 \xf0\x9f\x98\x80\",\"tags\":[]}", true },
	{ PERSON, "{\"name\":\"\xc3\",\"tags\":[]}", false },
	{ PERSON, "{\"name\":\"\xed\xa0\x80\",\"tags\":[]}", false },
	{ PERSON, "{\"name\":\"\\ud800\",\"tags\":[]}", false },
	{ PERSON, "{\"name\":\"\\x\",\"tags\":[]}", false },
	{ PERSON, "{\"name\":\"a\nb\",\"tags\":[]}", false },
	{ TREE, "{\"v\":-1.5e+3,\"next\":{\"v\":0,\"next\":null}}", true },
	{ TREE, "{\"v\":01,\"next\":null}", false },
	{ TREE, "{\"v\":1.,\"next\":null}", false },
	{ TREE, "{\"v\":1,\"next\":3}", false },
	{ "true", "[1,{\"a\":[true,false,null]},\"x\",[],{}]", true },
	{ "true", "[1,]", false },
	{ "true", "{\"a\" 1}", false },
	{ "{}", "3", true },
	{ "{\"type\":[\"integer\",\"null\"]}", "null", true },
	{ "{\"type\":[\"integer\",\"null\"]}", "-0", true },
	{ "{\"type\":[\"integer\",\"null\"]}", "true", false },
	{ "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\xc3\xa9x\"", true },
	{ "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"x\"", false },
	{ "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"abcd\"", false },
	{ "{\"type\":\"string\",\"minLength\":2}", "\"abcdefgh\"", true },
	{ "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":2}", "[1,2,3]", true },
	{ "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":2}", "[1]", false },
	{ "{\"type\":\"array\",\"maxItems\":0}", "[]", true },
	{ "{\"type\":\"array\",\"maxItems\":0}", "[1]", false },
	{ "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"boolean\"}}",
	  "{\"a\":true,\"b\":false}", true },
	{ "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"boolean\"}}",
	  "{\"a\":1}", false },
	{ "{\"type\":\"object\",\"additionalProperties\":false}", "{ }", true },
	{ "{\"type\":\"object\",\"additionalProperties\":false}", "{\"a\":1}", false },
	/* Words that say of which type a value is, without one */
	{ "{\"minLength\":2}", "\"x\"", false },
	{ "{\"minLength\":2}", "\"xy\"", true },
	{ "{\"maxItems\":1}", "[1,2]", false },
	{ "{\"additionalProperties\":false}", "{\"a\":1}", false },
	{ "{\"additionalProperties\":false}", "{}", true },
	{ "{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}", "\"b\"", true },
	{ "{\"type\":[\"number\",\"null\"],\"enum\":[1,2.5,null]}", "2.5", true },
	{ "{\"const\":{\"a\":[1,\"\xc3\xa9\"]}}", "{\"a\":[1,\"\xc3\xa9\"]}", true },
	{ "{\"const\":{\"a\":[1,\"\xc3\xa9\"]}}", "{\"a\":[1,\"e\"]}", false },
};

static void test_texts(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is_text(texts[i].schema, texts[i].text) != texts[i].good)
			fail_msg("%s: %s should%s be", texts[i].schema, texts[i].text,
				 texts[i].good ? "" : " not");
}

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

/* Bytes at random, of those that may come; those that end something are taken more often. */
static void walk(const char *schema, char *text, uint32_t most)
{
	struct accel_constraint *c = make(schema);
	static const char ends[] = "\"]},:0";
	uint32_t n = 0, tries, i;
	char byte;

	while (!accel_constraint_whole(c) || random_below(4)) {
		for (tries = 0; tries < 2000; tries++) {
			byte = tries < 500 && (n > most / 2 || random_below(2)) ?
			       ends[random_below(6)] : (char)random_below(256);
			if (byte && accel_constraint_allows(c, &byte, 1))
				break;
		}
		if (tries == 2000) {
			for (i = 1; i < 256; i++) {
				byte = (char)i;
				if (accel_constraint_allows(c, &byte, 1))
					break;
			}
			if (i == 256)
				break;
		}
		assert_int_equal(accel_constraint_take(c, &byte, 1), 0);
		text[n++] = byte;
		assert_true(n < most);
	}
	assert_true(accel_constraint_whole(c));
	text[n] = 0;
	accel_constraint_destroy(c);
}

/* What is written at random is JSON, with what is required and of its type. */
static void test_random(void **state)
{
	enum { MOST = 100000 };
	struct json_object *o, *name, *tags, *age;
	char *text = malloc(MOST + 1);
	uint32_t i;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < 200; i++) {
		walk(i & 1 ? PERSON : TREE, text, MOST);
		o = json_tokener_parse(text);
		if (!json_object_is_type(o, json_type_object))
			fail_msg("no object: %s", text);
		if (i & 1) {
			assert_true(json_object_object_get_ex(o, "name", &name) &&
				    json_object_is_type(name, json_type_string));
			assert_true(json_object_object_get_ex(o, "tags", &tags) &&
				    json_object_is_type(tags, json_type_array) &&
				    json_object_array_length(tags) <= 3);
			assert_true(!json_object_object_get_ex(o, "age", &age) ||
				    json_object_is_type(age, json_type_int));
		} else {
			assert_true(json_object_object_get_ex(o, "next", NULL));
		}
		json_object_put(o);
	}
	free(text);
}

static void refused(const char *schema, int code, const char *says)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_constraint *c = NULL;
	int ret = accel_constraint_create(schema, strlen(schema), &e, &c);

	accel_constraint_destroy(c);
	if (ret != code || !strstr(e.text, says))
		fail_msg("%.80s: %d, %s", schema, ret, e.text);
}

static void test_refused(void **state)
{
	struct accel_constraint *c;

	(void)state;
	refused("{", -EBADMSG, "JSON");
	refused("", -EBADMSG, "JSON");
	refused("3", -EINVAL, "object");
	refused("false", -EINVAL, "object");
	refused("{\"type\":\"text\"}", -EINVAL, "no type");
	refused("{\"type\":\"string\",\"pattern\":\"a*\"}", -EOPNOTSUPP, "pattern");
	refused("{\"allOf\":[]}", -EOPNOTSUPP, "allOf");
	refused("{\"items\":{\"minimum\":3}}", -EOPNOTSUPP, "minimum");
	refused("{\"enum\":[]}", -EINVAL, "enum");
	refused("{\"$ref\":\"http://x/y\"}", -EOPNOTSUPP, "$ref");
	refused("{\"$ref\":\"#/nowhere\"}", -EOPNOTSUPP, "$ref");
	refused("{\"type\":\"array\",\"minItems\":5,\"maxItems\":4}", -EINVAL, "maxItems");
	refused("{\"type\":\"array\",\"minItems\":1000000000}", -E2BIG, "minItems");
	refused("{\"type\":\"array\",\"minItems\":-1}", -EINVAL, "minItems");
	refused("{\"type\":\"object\",\"required\":[\"x\"]}", -EOPNOTSUPP, "required");
	refused("{\"type\":\"string\"} {", -EBADMSG, "JSON");
	refused("true false", -EBADMSG, "JSON");
	/* What one word allows may not be what another wants. */
	refused("{\"type\":\"string\",\"enum\":[\"a\",3]}", -EOPNOTSUPP, "type");
	refused("{\"const\":1.5,\"type\":\"integer\"}", -EOPNOTSUPP, "type");
	refused("{\"const\":1,\"enum\":[2]}", -EOPNOTSUPP, "enum");
	refused("{\"enum\":[\"a\"],\"minLength\":2}", -EOPNOTSUPP, "minLength");
	refused("{\"anyOf\":[true],\"required\":[\"a\"]}", -EOPNOTSUPP, "required");
	refused("{\"$ref\":\"#/$defs/a\",\"type\":\"null\",\"$defs\":{\"a\":true}}", -EOPNOTSUPP,
		"type");
	assert_int_equal(accel_constraint_create(NULL, 0, NULL, &c), -EINVAL);
	assert_int_equal(accel_constraint_create("{}", 2, NULL, NULL), -EINVAL);
	assert_int_equal(accel_constraint_create("{}", 1u << 30, NULL, &c), -E2BIG);
	assert_int_equal(accel_constraint_allows(NULL, "", 0), 0);
	assert_int_equal(accel_constraint_take(NULL, "", 0), -EINVAL);
	assert_int_equal(accel_constraint_whole(NULL), 0);
}

/* None takes long, or much memory; some have no text, some are too large. */
static void test_hostile(void **state)
{
	enum { DEEP = 60000 };
	char *deep = malloc(4 * DEEP), *at;
	struct accel_constraint *c;
	clock_t start = clock();
	uint32_t i;

	(void)state;
	assert_non_null(deep);
	/* Itself, at once */
	refused("{\"$ref\":\"#\"}", -EINVAL, "no text begins");
	refused("{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", -EINVAL, "no text begins");
	refused("{\"$ref\":\"#/a\",\"a\":{\"$ref\":\"#/b\"},\"b\":{\"$ref\":\"#/a\"}}",
		-EOPNOTSUPP, "is not known");
	refused("{\"$ref\":\"#/$defs\",\"$defs\":{\"$ref\":\"#\"}}", -EINVAL, "no text begins");
	/* Itself, and something */
	c = make("{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}");
	assert_int_equal(accel_constraint_take(c, "null", 4), 0);
	assert_true(accel_constraint_whole(c));
	accel_constraint_destroy(c);
	/* Brackets, in the schema and in a text */
	for (i = 0, at = deep; i < DEEP; i++)
		*at++ = '[';
	*at = 0;
	refused(deep, -EBADMSG, "JSON");
	c = make("true");
	for (i = 0; i < DEEP && !accel_constraint_take(c, deep + i, 1); i++)
		;
	assert_true(i > 20 && i < 200);
	accel_constraint_destroy(c);
	/* Repetitions of repetitions */
	at = deep;
	for (i = 0; i < 20; i++)
		at += sprintf(at, "{\"type\":\"array\",\"minItems\":4000,\"items\":");
	at += sprintf(at, "true");
	for (i = 0; i < 20; i++)
		*at++ = '}';
	*at = 0;
	c = make(deep);
	assert_int_equal(accel_constraint_take(c, "[[[[", 4), 0);
	accel_constraint_destroy(c);
	at = deep + sprintf(deep, "{\"anyOf\":[");
	for (i = 0; i < 1500; i++)
		at += sprintf(at, "%s{\"const\":\"%u\"}", i ? "," : "", i);
	sprintf(at, "]}");
	refused(deep, -E2BIG, "entries");
	/* Many that begin alike */
	at = deep + sprintf(deep, "{\"enum\":[");
	for (i = 0; i < 1000; i++)
		at += sprintf(at, "%s\"value %u\"", i ? "," : "", i);
	sprintf(at, "]}");
	assert_true(is_text(deep, "\"value 777\""));
	assert_false(is_text(deep, "\"value 1000\""));
	/* What is asked for one token has a limit, and begins anew with the next. */
	c = make("true");
	memset(deep, 'a', DEEP);
	deep[0] = '"';
	for (i = 0; i < 100000 && accel_constraint_allows(c, deep, 1000) == 1; i++)
		;
	assert_true(i > 100 && i < 100000);
	assert_int_equal(accel_constraint_allows(c, deep, 1000), -E2BIG);
	assert_int_equal(accel_constraint_take(c, deep, 1), 0);
	assert_int_equal(accel_constraint_allows(c, deep + 1, 1000), 1);
	accel_constraint_destroy(c);
	free(deep);
	print_message("%.2f s\n", (double)(clock() - start) / CLOCKS_PER_SEC);
	assert_true((double)(clock() - start) < 60.0 * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests_name("constraint", tests, NULL, NULL);
}
