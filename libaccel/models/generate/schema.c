// SPDX-License-Identifier: MIT
/*
 * A JSON schema as rules of an automaton. Texts are built from their ends: what makes a part is
 * told where the text goes on behind it.
 */
#include <errno.h>
#include <json-c/json_pointer.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "constraint.h"

#define STATES_MAX	(1u << 18)
#define RULES_MAX	(1u << 14)
/* Repetitions of a schema: elements, characters */
#define REPEAT_MAX	4096
/* Values of an enum, types of one, and so on */
#define CHOICES_MAX	1000
#define SPACES		20

/* State 0 is none: what follows after an error does nothing. */
static uint32_t add(struct accel_constraint *c, struct state s)
{
	uint32_t cap = c->cap ? 2 * c->cap : 1024;
	struct state *more;

	if (c->failed)
		return 0;
	if (c->count == STATES_MAX)
		return constraint_fail(c, -E2BIG, "it has more than %u states", STATES_MAX);
	if (c->count == c->cap) {
		more = realloc(c->states, cap * sizeof(*more));
		if (!more)
			return constraint_fail(c, -ENOMEM, "out of memory");
		c->states = more;
		c->cap = cap;
	}
	c->states[c->count] = s;
	return c->count++;
}

/* Each gives the state that its text begins in; @next is where that goes on. */
static uint32_t range(struct accel_constraint *c, uint8_t low, uint8_t high, uint32_t next)
{
	return add(c, (struct state) { BYTE, low, high, next, 0 });
}

static uint32_t either(struct accel_constraint *c, uint32_t a, uint32_t b)
{
	return add(c, (struct state) { SPLIT, 0, 0, a, b });
}

static uint32_t call(struct accel_constraint *c, uint32_t rule, uint32_t next)
{
	return add(c, (struct state) { CALL, 0, 0, next, rule });
}

static uint32_t text_n(struct accel_constraint *c, const char *text, size_t n, uint32_t next)
{
	while (n-- > 0)
		next = range(c, (uint8_t)text[n], (uint8_t)text[n], next);
	return next;
}

static uint32_t text(struct accel_constraint *c, const char *s, uint32_t next)
{
	return text_n(c, s, strlen(s), next);
}

static uint32_t digits(struct accel_constraint *c, uint32_t most, uint32_t next)
{
	uint32_t at = next;

	while (most--)
		at = either(c, range(c, '0', '9', at), next);
	return at;
}

static uint32_t hex(struct accel_constraint *c, uint32_t n, uint32_t next)
{
	while (n--)
		next = either(c, range(c, '0', '9', next),
			      either(c, range(c, 'A', 'F', next), range(c, 'a', 'f', next)));
	return next;
}

static uint32_t one_of(struct accel_constraint *c, const char *bytes, uint32_t next)
{
	uint32_t at = range(c, (uint8_t)*bytes, (uint8_t)*bytes, next);

	while (*++bytes)
		at = either(c, range(c, (uint8_t)*bytes, (uint8_t)*bytes, next), at);
	return at;
}

/* Bytes behind the first of a character */
static uint32_t tail(struct accel_constraint *c, uint32_t n, uint32_t next)
{
	while (n--)
		next = range(c, 0x80, 0xbf, next);
	return next;
}

/* A character of a string: UTF-8 as it has to be, or escaped; no half of a pair */
static uint32_t character(struct accel_constraint *c, uint32_t end)
{
	static const struct {
		uint8_t low, high, from, to, more;
	} wide[] = {
		{ 0xe0, 0xe0, 0xa0, 0xbf, 1 }, { 0xe1, 0xec, 0x80, 0xbf, 1 },
		{ 0xed, 0xed, 0x80, 0x9f, 1 }, { 0xee, 0xef, 0x80, 0xbf, 1 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 2 }, { 0xf1, 0xf3, 0x80, 0xbf, 2 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 2 }
	};
	uint32_t at, i;

	at = either(c, one_of(c, "0123456789abcefABCEF", hex(c, 3, end)),
		    one_of(c, "dD", range(c, '0', '7', hex(c, 2, end))));
	at = either(c, one_of(c, "\"\\/bfnrt", end), range(c, 'u', 'u', at));
	at = range(c, '\\', '\\', at);
	at = either(c, at, range(c, 0xc2, 0xdf, tail(c, 1, end)));
	for (i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		at = either(c, at, range(c, wide[i].low, wide[i].high,
					 range(c, wide[i].from, wide[i].to,
					       tail(c, wide[i].more, end))));
	at = either(c, at, range(c, 0x5d, 0x7e, end));
	at = either(c, at, range(c, 0x23, 0x5b, end));
	return either(c, range(c, 0x20, 0x21, end), at);
}

/* @rule from @least times on, at most @most times (UINT32_MAX: any), with @between */
static uint32_t repeat(struct accel_constraint *c, uint32_t rule, uint32_t least, uint32_t most,
		       const char *between, uint32_t next)
{
	uint32_t loop, i, at = next;

	if (most == UINT32_MAX) {
		loop = either(c, 0, next);
		at = text(c, between, *between ? call(c, SPACE, call(c, rule, loop)) :
			  call(c, rule, loop));
		if (!c->failed)
			c->states[loop].next = at;
		at = loop;
		most = least ? least : 1;
	}
	for (i = most; i > 1; i--) {
		loop = call(c, rule, at);
		loop = *between ? text(c, between, call(c, SPACE, loop)) : loop;
		at = i > least ? either(c, loop, next) : loop;
	}
	if (!most)
		return next;
	at = call(c, rule, at);
	return least ? at : either(c, at, next);
}

static uint32_t integer(struct accel_constraint *c, uint32_t next)
{
	uint32_t at = either(c, range(c, '0', '0', next),
			     range(c, '1', '9', digits(c, 17, next)));

	return either(c, range(c, '-', '-', at), at);
}

static uint32_t number(struct accel_constraint *c, uint32_t next)
{
	uint32_t e = range(c, '0', '9', digits(c, 2, next));

	e = either(c, one_of(c, "+-", e), e);
	e = either(c, one_of(c, "eE", e), next);
	e = either(c, range(c, '.', '.', range(c, '0', '9', digits(c, 16, e))), e);
	return integer(c, e);
}

static uint32_t string(struct accel_constraint *c, uint32_t least, uint32_t most, uint32_t next)
{
	return text(c, "\"", repeat(c, CHARACTER, least, most, "", text(c, "\"", next)));
}

static uint32_t spaces(struct accel_constraint *c, uint32_t next)
{
	uint32_t at = next, i;

	for (i = 0; i < SPACES; i++)
		at = either(c, range(c, ' ', ' ', at), next);
	at = range(c, '\n', '\n', at);
	return either(c, at, either(c, range(c, ' ', ' ', next), next));
}

/* Within brackets, with room */
static uint32_t within(struct accel_constraint *c, char open, uint32_t inner)
{
	return range(c, (uint8_t)open, (uint8_t)open, call(c, SPACE, inner));
}

static uint32_t closing(struct accel_constraint *c, char close, uint32_t next)
{
	return call(c, SPACE, range(c, (uint8_t)close, (uint8_t)close, next));
}

static uint32_t any_value(struct accel_constraint *c, uint32_t next)
{
	uint32_t at = either(c, text(c, "true", next), text(c, "false", next));

	at = either(c, at, text(c, "null", next));
	at = either(c, at, call(c, STRING, next));
	at = either(c, at, call(c, NUMBER, next));
	at = either(c, at, within(c, '{', repeat(c, MEMBERS, 0, UINT32_MAX, ",",
						 closing(c, '}', next))));
	return either(c, at, within(c, '[', repeat(c, ELEMENTS, 0, UINT32_MAX, ",",
						   closing(c, ']', next))));
}

static uint32_t member(struct accel_constraint *c, uint32_t rule, uint32_t next)
{
	return call(c, STRING, range(c, ':', ':', call(c, SPACE, call(c, rule, next))));
}

static void build_in(struct accel_constraint *c)
{
	uint32_t end;

	c->rule_count = BUILT_IN;
	add(c, (struct state) { RETURN, 0, 0, 0, 0 });
	end = add(c, (struct state) { RETURN, 0, 0, 0, 0 });
	if (c->failed)
		return;
	c->rules[SPACE].start = spaces(c, end);
	c->rules[CHARACTER].start = character(c, end);
	c->rules[STRING].start = string(c, 0, UINT32_MAX, end);
	c->rules[INTEGER].start = integer(c, end);
	c->rules[NUMBER].start = number(c, end);
	c->rules[ANY].start = any_value(c, end);
	c->rules[ELEMENTS].start = call(c, ANY, end);
	c->rules[MEMBERS].start = member(c, ANY, end);
}

/* --- schemas ----------------------------------------------------------------------- */

/* The rule of a schema; it is made later. */
static uint32_t rule_of(struct accel_constraint *c, struct json_object *schema)
{
	uint32_t i, cap = c->rule_cap * 2;
	struct rule *more;

	for (i = BUILT_IN; i < c->rule_count; i++)
		if (c->rules[i].of == schema)
			return i;
	if (c->rule_count == RULES_MAX)
		return constraint_fail(c, -E2BIG, "it has more than %u parts", RULES_MAX);
	if (c->rule_count == c->rule_cap) {
		more = realloc(c->rules, cap * sizeof(*more));
		if (!more)
			return constraint_fail(c, -ENOMEM, "out of memory");
		c->rules = more;
		c->rule_cap = cap;
	}
	c->rules[c->rule_count] = (struct rule) { schema, 0 };
	return c->rule_count++;
}

/* A number that a schema may have */
static uint32_t limit(struct accel_constraint *c, struct json_object *schema, const char *name,
		      uint32_t otherwise)
{
	struct json_object *o;
	int64_t n;

	if (!json_object_object_get_ex(schema, name, &o))
		return otherwise;
	n = json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : -1;
	if (n < 0 || n > REPEAT_MAX)
		return constraint_fail(c, n < 0 ? -EINVAL : -E2BIG, "%s is not from 0 to %u", name,
			    REPEAT_MAX);
	return (uint32_t)n;
}

static bool is_required(struct json_object *schema, const char *name)
{
	struct json_object *list;
	size_t i;

	if (!json_object_object_get_ex(schema, "required", &list) ||
	    !json_object_is_type(list, json_type_array))
		return false;
	for (i = 0; i < json_object_array_length(list); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(list, i)) ?: "", name))
			return true;
	return false;
}

static uint32_t literal(struct accel_constraint *c, struct json_object *value, uint32_t next)
{
	const char *s = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
						       JSON_C_TO_STRING_NOSLASHESCAPE);

	return s ? text(c, s, next) : constraint_fail(c, -ENOMEM, "out of memory");
}

/* "name": value */
static uint32_t property(struct accel_constraint *c, const char *name, uint32_t rule, uint32_t next)
{
	struct json_object *key = json_object_new_string(name);
	uint32_t at = range(c, ':', ':', call(c, SPACE, call(c, rule, next)));

	at = key ? literal(c, key, at) : constraint_fail(c, -ENOMEM, "out of memory");
	json_object_put(key);
	return at;
}

/*
 * In their order; those that are not required may be missing. @states: where the text goes on
 * behind each, with and without one before.
 */
static uint32_t properties(struct accel_constraint *c, struct json_object *schema,
			   struct json_object *props, uint32_t end)
{
	uint32_t count = (uint32_t)json_object_object_length(props), i = 0, first, later, at;
	struct json_object_iterator it = json_object_iter_begin(props);
	const struct json_object_iterator stop = json_object_iter_end(props);
	const char **names = calloc(count + 1, sizeof(*names));
	struct json_object *value;

	if (!names)
		return constraint_fail(c, -ENOMEM, "out of memory");
	for (; !json_object_iter_equal(&it, &stop); json_object_iter_next(&it))
		names[i++] = json_object_iter_peek_name(&it);
	first = end;
	later = end;
	while (i-- > 0 && !c->failed) {
		json_object_object_get_ex(props, names[i], &value);
		at = property(c, names[i], rule_of(c, value), later);
		first = is_required(schema, names[i]) ? at : either(c, at, first);
		at = range(c, ',', ',', call(c, SPACE, at));
		later = is_required(schema, names[i]) ? at : either(c, at, later);
	}
	free(names);
	return first;
}

static uint32_t object(struct accel_constraint *c, struct json_object *schema, uint32_t next)
{
	struct json_object *props = NULL, *more = NULL, *list = NULL;
	uint32_t end = closing(c, '}', next), rule = ANY, at;
	size_t i, n;

	json_object_object_get_ex(schema, "additionalProperties", &more);
	json_object_object_get_ex(schema, "required", &list);
	if (json_object_object_get_ex(schema, "properties", &props) &&
	    !json_object_is_type(props, json_type_object))
		return constraint_fail(c, -EINVAL, "properties is no object");
	n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	for (i = 0; i < n; i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(list, i));

		if (!name || !props || !json_object_object_get_ex(props, name, NULL))
			return constraint_fail(c, -EOPNOTSUPP, "%.60s is required and no property",
				    name ? name : "null");
	}
	if (props && json_object_object_length(props))
		return within(c, '{', properties(c, schema, props, end));
	if (json_object_is_type(more, json_type_boolean) && !json_object_get_boolean(more))
		return within(c, '{', end);
	if (!json_object_is_type(more, json_type_object))
		return within(c, '{', repeat(c, MEMBERS, 0, UINT32_MAX, ",", end));
	/* A rule of its own for a member: it is a loop. */
	rule = rule_of(c, more);
	at = either(c, 0, end);
	end = member(c, rule, at);
	if (!c->failed)
		c->states[at].next = range(c, ',', ',', call(c, SPACE, end));
	return within(c, '{', either(c, end, closing(c, '}', next)));
}

static uint32_t array(struct accel_constraint *c, struct json_object *schema, uint32_t next)
{
	uint32_t least = limit(c, schema, "minItems", 0), rule = ELEMENTS;
	uint32_t most = limit(c, schema, "maxItems", UINT32_MAX);
	struct json_object *items = NULL;

	if (json_object_object_get_ex(schema, "items", &items))
		rule = rule_of(c, items);
	if (most < least)
		return constraint_fail(c, -EINVAL, "maxItems is below minItems");
	return within(c, '[', repeat(c, rule, least, most, ",", closing(c, ']', next)));
}

static uint32_t of_type(struct accel_constraint *c, struct json_object *schema, const char *type,
			uint32_t next)
{
	uint32_t least, most;

	if (!strcmp(type, "object"))
		return object(c, schema, next);
	if (!strcmp(type, "array"))
		return array(c, schema, next);
	if (!strcmp(type, "integer"))
		return call(c, INTEGER, next);
	if (!strcmp(type, "number"))
		return call(c, NUMBER, next);
	if (!strcmp(type, "boolean"))
		return either(c, text(c, "true", next), text(c, "false", next));
	if (!strcmp(type, "null"))
		return text(c, "null", next);
	if (strcmp(type, "string"))
		return constraint_fail(c, -EINVAL, "%.60s is no type", type);
	least = limit(c, schema, "minLength", 0);
	most = limit(c, schema, "maxLength", UINT32_MAX);
	if (most < least)
		return constraint_fail(c, -EINVAL, "maxLength is below minLength");
	return string(c, least, most, next);
}

/* One of a list of schemas, values or types */
static uint32_t choice(struct accel_constraint *c, struct json_object *schema,
		       struct json_object *list, const char *what, uint32_t next)
{
	size_t i, n = 0;
	uint32_t at = 0, one;

	if (json_object_is_type(list, json_type_array))
		n = json_object_array_length(list);
	if (!n)
		return constraint_fail(c, -EINVAL, "%s is empty, or no list", what);
	if (n > CHOICES_MAX)
		return constraint_fail(c, -E2BIG, "%s has more than %u entries", what, CHOICES_MAX);
	for (i = n; i-- > 0;) {
		struct json_object *o = json_object_array_get_idx(list, i);

		if (!strcmp(what, "enum"))
			one = literal(c, o, next);
		else if (!strcmp(what, "type"))
			one = of_type(c, schema, json_object_get_string(o) ?: "", next);
		else
			one = call(c, rule_of(c, o), next);
		at = i + 1 < n ? either(c, one, at) : one;
	}
	return at;
}

/* What is not known might not hold: it is refused, unless it says nothing of texts. */
static void check_words(struct accel_constraint *c, struct json_object *schema)
{
	static const char *const words[] = {
		"type", "properties", "required", "additionalProperties", "items", "minItems",
		"maxItems", "enum", "const", "anyOf", "oneOf", "$ref", "minLength", "maxLength",
		"$defs", "definitions", "title", "description", "default", "examples", "$schema",
		"$id", "$comment", "format", "deprecated", "readOnly", "writeOnly"
	};
	struct json_object_iterator it = json_object_iter_begin(schema);
	const struct json_object_iterator stop = json_object_iter_end(schema);
	size_t i;

	for (; !json_object_iter_equal(&it, &stop); json_object_iter_next(&it)) {
		const char *name = json_object_iter_peek_name(&it);

		for (i = 0; i < sizeof(words) / sizeof(words[0]) && strcmp(words[i], name); i++)
			;
		if (i == sizeof(words) / sizeof(words[0]))
			constraint_fail(c, -EOPNOTSUPP, "%.60s is not known", name);
	}
}

static uint32_t reference(struct accel_constraint *c, struct json_object *ref, uint32_t next)
{
	const char *s = json_object_get_string(ref);
	struct json_object *to = c->root;

	if (!s || s[0] != '#' || (s[1] && (s[1] != '/' || json_pointer_get(c->root, s + 1, &to))))
		return constraint_fail(c, -EOPNOTSUPP, "$ref %.60s is nothing within it", s ? s : "null");
	return call(c, rule_of(c, to), next);
}

/* Is a value of a type, as far as types have names? */
static bool is_of(struct json_object *value, const char *type)
{
	static const char *const names[] = {
		[json_type_null] = "null", [json_type_boolean] = "boolean",
		[json_type_double] = "number", [json_type_int] = "integer",
		[json_type_object] = "object", [json_type_array] = "array",
		[json_type_string] = "string"
	};
	enum json_type of = json_object_get_type(value);

	return type && (!strcmp(names[of], type) ||
			(of == json_type_int && !strcmp(type, "number")));
}

/* Is a value of the types that a schema has beside it? */
static bool fits_type(struct json_object *schema, struct json_object *value)
{
	struct json_object *type;
	size_t i;

	if (!json_object_object_get_ex(schema, "type", &type))
		return true;
	if (!json_object_is_type(type, json_type_array))
		return is_of(value, json_object_get_string(type));
	for (i = 0; i < json_object_array_length(type); i++)
		if (is_of(value, json_object_get_string(json_object_array_get_idx(type, i))))
			return true;
	return false;
}

/*
 * What stands for the whole text leaves no word beside it that constrains; but values may be
 * said to be of the types that they have.
 */
static void check_alone(struct accel_constraint *c, struct json_object *schema, const char *word)
{
	static const char *const others[] = {
		"$ref", "const", "enum", "anyOf", "oneOf", "properties", "required",
		"additionalProperties", "items", "minItems", "maxItems", "minLength", "maxLength"
	};
	struct json_object *value = json_object_object_get(schema, word);
	const bool list = !strcmp(word, "enum"), values = list || !strcmp(word, "const");
	size_t i, n;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(others[i], word) && json_object_object_get_ex(schema, others[i], NULL))
			constraint_fail(c, -EOPNOTSUPP, "%s beside %s is not known", others[i],
					word);
	if (!values && json_object_object_get_ex(schema, "type", NULL))
		constraint_fail(c, -EOPNOTSUPP, "type beside %s is not known", word);
	n = list && json_object_is_type(value, json_type_array) ?
	    json_object_array_length(value) : 0;
	for (i = 0; i < n; i++)
		if (!fits_type(schema, json_object_array_get_idx(value, i)))
			constraint_fail(c, -EOPNOTSUPP, "a value of enum is not of its type");
	if (values && !list && !fits_type(schema, value))
		constraint_fail(c, -EOPNOTSUPP, "the value of const is not of its type");
}

/* Of no type, but with words that say something of one: texts of that type are of it. */
static uint32_t of_words(struct accel_constraint *c, struct json_object *schema, uint32_t next)
{
	static const struct {
		const char *word, *type;
	} words[] = {
		{ "properties", "object" }, { "required", "object" },
		{ "additionalProperties", "object" }, { "items", "array" },
		{ "minItems", "array" }, { "maxItems", "array" }, { "minLength", "string" },
		{ "maxLength", "string" }
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (json_object_object_get_ex(schema, words[i].word, NULL))
			return of_type(c, schema, words[i].type, next);
	return call(c, ANY, next);
}

static uint32_t schema_states(struct accel_constraint *c, struct json_object *schema, uint32_t next)
{
	static const char *const whole[] = { "$ref", "const", "enum", "anyOf", "oneOf" };
	struct json_object *o;
	size_t i;

	if (json_object_is_type(schema, json_type_boolean) && json_object_get_boolean(schema))
		return call(c, ANY, next);
	if (!json_object_is_type(schema, json_type_object))
		return constraint_fail(c, -EINVAL, "a schema is an object, or true");
	check_words(c, schema);
	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (!json_object_object_get_ex(schema, whole[i], &o))
			continue;
		check_alone(c, schema, whole[i]);
		if (!i)
			return reference(c, o, next);
		return i == 1 ? literal(c, o, next) : choice(c, schema, o, whole[i], next);
	}
	if (json_object_object_get_ex(schema, "type", &o))
		return json_object_is_type(o, json_type_array) ?
		       choice(c, schema, o, "type", next) :
		       of_type(c, schema, json_object_get_string(o) ?: "", next);
	return of_words(c, schema, next);
}

/* Rules are made until none is new. */
void schema_build(struct accel_constraint *c)
{
	uint32_t i, start, end;

	build_in(c);
	rule_of(c, c->root);
	for (i = BUILT_IN; i < c->rule_count && !c->failed; i++) {
		end = add(c, (struct state) { RETURN, 0, 0, 0, 0 });
		start = schema_states(c, c->rules[i].of, end);
		c->rules[i].start = start;
	}
}
