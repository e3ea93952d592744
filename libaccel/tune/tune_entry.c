// SPDX-License-Identifier: MIT
/*
 * An entry as a line of the file: checksum, hash of the key, one JSON object.
 *
 *	0123456789abcdef 0123456789abcdef {"op":"gemm",...}
 *
 * A line stands for itself: what happens to one does not matter to the others.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/crc64.h"
#include "tune.h"

/**
 * tune_entry_hash - hash of the key of an entry
 * @e: entry
 *
 * Return: hash; keys that are the same have the same.
 */
uint64_t tune_entry_hash(const struct tune_entry *e)
{
	struct crc64 c;

	crc64_begin(&c);
	crc64_add(&c, e->cpu, strlen(e->cpu) + 1);
	crc64_add(&c, e->version, strlen(e->version) + 1);
	crc64_add(&c, e->device, strlen(e->device) + 1);
	crc64_add(&c, &e->threads, sizeof(e->threads));
	crc64_add(&c, e->desc, strlen(e->desc));
	return ~c.value;
}

/* Have they the same key? */
bool tune_entry_same(const struct tune_entry *a, const struct tune_entry *b)
{
	return a->threads == b->threads && !strcmp(a->desc, b->desc) && !strcmp(a->cpu, b->cpu) &&
	       !strcmp(a->version, b->version) && !strcmp(a->device, b->device);
}

static void add_str(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

static void add_num(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)v));
}

static struct json_object *candidate_json(const struct tune_candidate *c)
{
	const uint16_t hint[] = {
		c->hint.variant, c->hint.mt, c->hint.nt, c->hint.kt, c->hint.threads
	};
	struct json_object *o = json_object_new_object(), *h = json_object_new_array();
	uint32_t i;

	add_str(o, "algorithm", c->algorithm);
	for (i = 0; i < sizeof(hint) / sizeof(hint[0]); i++)
		json_object_array_add(h, json_object_new_int(hint[i]));
	json_object_object_add(o, "hint", h);
	add_num(o, "pieces", c->pieces);
	add_num(o, "ns", c->ns);
	add_num(o, "samples", c->samples);
	add_num(o, "flags", c->flags);
	return o;
}

static struct json_object *entry_json(const struct tune_entry *e)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	uint32_t i;

	add_str(o, "op", accel_op_name(e->op));
	add_str(o, "words", e->words);
	add_str(o, "cpu", e->cpu);
	add_str(o, "version", e->version);
	add_str(o, "device", e->device);
	add_num(o, "threads", e->threads);
	add_str(o, "desc", e->desc);
	add_num(o, "time", e->time);
	add_num(o, "spent_ns", e->spent_ns);
	for (i = 0; i < e->count; i++)
		json_object_array_add(list, candidate_json(&e->c[i]));
	json_object_object_add(o, "candidates", list);
	return o;
}

/**
 * tune_entry_line - an entry as a line of the file
 * @e: entry
 *
 * Return: line with its newline, to be given to free(); NULL without memory.
 */
char *tune_entry_line(const struct tune_entry *e)
{
	struct json_object *o = entry_json(e);
	const char *json = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							  JSON_C_TO_STRING_NOSLASHESCAPE);
	char *text = NULL, *line = NULL;
	struct crc64 c;

	if (json && asprintf(&text, "%016" PRIx64 " %s", tune_entry_hash(e), json) >= 0) {
		crc64_begin(&c);
		crc64_add(&c, text, strlen(text));
		if (asprintf(&line, "%016" PRIx64 " %s\n", ~c.value, text) < 0)
			line = NULL;
		free(text);
	}
	json_object_put(o);
	return line;
}

static bool get_str(struct json_object *o, const char *key, char *out, size_t size)
{
	struct json_object *v;
	const char *s;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_string))
		return false;
	s = json_object_get_string(v);
	if (strlen(s) >= size)
		return false;
	memcpy(out, s, strlen(s) + 1);
	return true;
}

static bool get_num(struct json_object *o, const char *key, uint64_t max, uint64_t *out)
{
	struct json_object *v;
	int64_t n;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_int))
		return false;
	n = json_object_get_int64(v);
	*out = (uint64_t)n;
	return n >= 0 && (uint64_t)n <= max;
}

static bool get_u32(struct json_object *o, const char *key, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;
	bool ok = get_num(o, key, max, &v);

	*out = (uint32_t)v;
	return ok;
}

static bool get_hint(struct json_object *o, struct fast_hint *hint)
{
	uint16_t *const field[] = {
		&hint->variant, &hint->mt, &hint->nt, &hint->kt, &hint->threads
	};
	struct json_object *list, *v;
	int64_t n;
	uint32_t i;

	if (!json_object_object_get_ex(o, "hint", &list) ||
	    !json_object_is_type(list, json_type_array) ||
	    json_object_array_length(list) != sizeof(field) / sizeof(field[0]))
		return false;
	for (i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		v = json_object_array_get_idx(list, i);
		if (!json_object_is_type(v, json_type_int))
			return false;
		n = json_object_get_int64(v);
		if (n < 0 || n > UINT16_MAX)
			return false;
		*field[i] = (uint16_t)n;
	}
	return true;
}

static bool get_candidate(struct json_object *o, struct tune_candidate *c)
{
	const uint32_t flags = ACCEL_TUNE_WINNER | ACCEL_TUNE_DEFAULT | ACCEL_TUNE_DROPPED |
			       ACCEL_TUNE_FAILED;

	return json_object_is_type(o, json_type_object) &&
	       get_str(o, "algorithm", c->algorithm, sizeof(c->algorithm)) &&
	       get_hint(o, &c->hint) && get_u32(o, "pieces", UINT32_MAX, &c->pieces) &&
	       get_num(o, "ns", INT64_MAX, &c->ns) &&
	       get_u32(o, "samples", UINT32_MAX, &c->samples) &&
	       get_u32(o, "flags", flags, &c->flags);
}

static bool get_candidates(struct json_object *o, struct tune_entry *e)
{
	struct json_object *list;
	uint32_t i, winners = 0, defaults = 0;

	if (!json_object_object_get_ex(o, "candidates", &list) ||
	    !json_object_is_type(list, json_type_array) ||
	    json_object_array_length(list) > TUNE_MAX)
		return false;
	e->count = (uint32_t)json_object_array_length(list);
	for (i = 0; i < e->count; i++) {
		if (!get_candidate(json_object_array_get_idx(list, i), &e->c[i]))
			return false;
		winners += !!(e->c[i].flags & ACCEL_TUNE_WINNER);
		defaults += !!(e->c[i].flags & ACCEL_TUNE_DEFAULT);
	}
	return winners == 1 && defaults == 1;
}

static bool get_op(struct json_object *o, uint32_t *op)
{
	char name[32];

	if (!get_str(o, "op", name, sizeof(name)))
		return false;
	for (*op = 1; *op < ACCEL_OP_COUNT; ++*op)
		if (!strcmp(name, accel_op_name(*op)))
			return true;
	return false;
}

/**
 * tune_entry_parse - an entry of its JSON text
 * @json: text, not ended by NUL
 * @size: bytes of it
 * @e: out
 *
 * Return: 0; -EBADMSG it is not one; -ENOMEM.
 */
int tune_entry_parse(const char *json, size_t size, struct tune_entry *e)
{
	struct json_tokener *tok;
	struct json_object *o;
	bool ok;

	memset(e, 0, sizeof(*e));
	if (size > INT32_MAX)
		return -EBADMSG;
	tok = json_tokener_new();
	if (!tok)
		return -ENOMEM;
	o = json_tokener_parse_ex(tok, json, (int)size);
	ok = json_object_is_type(o, json_type_object) && get_op(o, &e->op) &&
	     get_str(o, "words", e->words, sizeof(e->words)) &&
	     get_str(o, "cpu", e->cpu, sizeof(e->cpu)) &&
	     get_str(o, "version", e->version, sizeof(e->version)) &&
	     get_str(o, "device", e->device, sizeof(e->device)) &&
	     get_u32(o, "threads", UINT32_MAX, &e->threads) &&
	     get_str(o, "desc", e->desc, sizeof(e->desc)) &&
	     get_num(o, "time", INT64_MAX, &e->time) &&
	     get_num(o, "spent_ns", INT64_MAX, &e->spent_ns) && get_candidates(o, e);
	e->cached = true;
	json_object_put(o);
	json_tokener_free(tok);
	return ok ? 0 : -EBADMSG;
}
