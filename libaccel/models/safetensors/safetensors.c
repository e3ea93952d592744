// SPDX-License-Identifier: MIT
/*
 * safetensors: the length of a JSON document, that, and the elements. An index, a JSON document
 * too, says which tensor is in which file.
 */
#include <endian.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/errno_text.h"
#include "../json_end.h"
#include "../stored.h"

/* Longest document, as the format has it; and most files */
#define MAX_HEADER	(100u << 20)
#define MAX_FILES	4096u
/* Documents are no deeper than this. */
#define DEPTH		8

static const struct {
	char name[10];
	uint8_t bits;
	uint8_t type;
} types[] = {
	{ "F64", 64, ACCEL_HOST_F64 }, { "F32", 32, ACCEL_F32 }, { "F16", 16, ACCEL_F16 },
	{ "BF16", 16, ACCEL_BF16 }, { "I64", 64, ACCEL_HOST_S64 }, { "I32", 32, ACCEL_S32 },
	{ "I16", 16, ACCEL_HOST_S16 }, { "I8", 8, ACCEL_S8 }, { "U64", 64, ACCEL_HOST_U64 },
	{ "U32", 32, ACCEL_HOST_U32 }, { "U16", 16, ACCEL_HOST_U16 }, { "U8", 8, ACCEL_U8 },
	{ "BOOL", 8, ACCEL_HOST_BOOL }, { "C64", 64, 0 }, { "F8_E5M2", 8, 0 }, { "F8_E4M3", 8, 0 },
	{ "F8_E8M0", 8, 0 }, { "F6_E2M3", 6, 0 }, { "F6_E3M2", 6, 0 }, { "F4", 4, 0 },
};

const char *safetensors_type(uint32_t type)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (type && types[i].type == type)
			return types[i].name;
	return NULL;
}

static uint64_t header_length(const struct mapping *map)
{
	uint64_t length;

	memcpy(&length, map->data, 8);
	return le64toh(length);
}

bool safetensors_is(const struct mapping *map)
{
	return map->bytes > 9 && map->data[8] == '{' && header_length(map) <= map->bytes - 8 &&
	       header_length(map) <= MAX_HEADER;
}

static struct json_object *parse(const uint8_t *text, uint64_t length)
{
	struct json_tokener *tok = json_tokener_new_ex(DEPTH);
	struct json_object *doc = NULL;
	bool whole = false;

	if (tok) {
		doc = json_tokener_parse_ex(tok, (const char *)text, (int)length);
		whole = json_is_end(tok, text, length);
	}
	json_tokener_free(tok);
	if (whole && json_object_is_type(doc, json_type_object))
		return doc;
	json_object_put(doc);
	return NULL;
}

/* A number of a list that is not negative, else -1 */
static int64_t number_at(struct json_object *list, size_t i)
{
	struct json_object *o = json_object_array_get_idx(list, i);
	int64_t n = json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : -1;

	/* Larger numbers than there are become the largest. */
	return n == INT64_MAX ? -1 : n;
}

static int read_shape(struct stored *s, const char *name, struct json_object *shape,
		      struct accel_error *error)
{
	size_t i, rank = json_object_array_length(shape);

	if (rank > ACCEL_GRAPH_MAX_RANK)
		return stored_fail(error, -EOPNOTSUPP, "%.100s: more than %d dimensions", name,
				   ACCEL_GRAPH_MAX_RANK);
	s->rank = (uint32_t)rank;
	s->count = 1;
	for (i = 0; i < rank; i++) {
		s->dims[i] = number_at(shape, i);
		if (s->dims[i] < 0 ||
		    __builtin_mul_overflow(s->count, (uint64_t)s->dims[i], &s->count))
			return stored_fail(error, -EBADMSG, "%.100s: a bad dimension", name);
	}
	return 0;
}

static int read_entry(struct store *store, const char *name, struct json_object *o,
		      struct stored *s, uint64_t bytes, struct accel_error *error)
{
	struct json_object *type = NULL, *shape = NULL, *place = NULL;
	const uint8_t *data = s->data;
	const char *text;
	uint64_t bits;
	int64_t from, to;
	size_t i;
	int ret;

	json_object_object_get_ex(o, "dtype", &type);
	json_object_object_get_ex(o, "shape", &shape);
	json_object_object_get_ex(o, "data_offsets", &place);
	if (!json_object_is_type(type, json_type_string) ||
	    !json_object_is_type(shape, json_type_array) ||
	    !json_object_is_type(place, json_type_array) || json_object_array_length(place) != 2)
		return stored_fail(error, -EBADMSG, "%.100s: no type, shape or place", name);
	text = json_object_get_string(type);
	for (i = 0; i < sizeof(types) / sizeof(types[0]) && strcmp(text, types[i].name); i++)
		;
	if (i == sizeof(types) / sizeof(types[0]))
		return stored_fail(error, -EOPNOTSUPP, "%.100s: type %.20s is not known", name,
				   text);
	ret = read_shape(s, name, shape, error);
	if (ret)
		return ret;
	from = number_at(place, 0);
	to = number_at(place, 1);
	if (from >= 0 && to >= from && (uint64_t)to > bytes)
		return stored_fail(error, -EBADMSG, "%.100s: the file ends before its data", name);
	if (from < 0 || to < from ||
	    __builtin_mul_overflow(s->count, types[i].bits, &bits) || bits % 8 ||
	    bits / 8 != (uint64_t)(to - from))
		return stored_fail(error, -EBADMSG, "%.100s: its data are not where they should be",
				   name);
	s->type = types[i].type;
	s->bytes = bits / 8;
	s->data = data + from;
	return stored_add(store, name, strlen(name), s, error);
}

static int by_place(const void *a, const void *b)
{
	const struct stored *s = *(const struct stored *const *)a;
	const struct stored *t = *(const struct stored *const *)b;

	return s->data != t->data ? (s->data > t->data) - (s->data < t->data) :
	       (s->bytes > t->bytes) - (s->bytes < t->bytes);
}

/*
 * Tensors lie one behind the other, without holes: what the format says, and what finds a name
 * that is given twice.
 */
static int check_places(const struct store *store, uint32_t first, const uint8_t *data,
			uint64_t bytes, struct accel_error *error)
{
	uint32_t i, n = store->count - first;
	const struct stored **list = calloc(n + 1, sizeof(struct stored *));
	const uint8_t *at = data;

	if (!list)
		return stored_fail(error, -ENOMEM, "out of memory");
	for (i = 0; i < n; i++)
		list[i] = &store->list[first + i];
	qsort(list, n, sizeof(struct stored *), by_place);
	for (i = 0; i < n && list[i]->data == at; i++)
		at += list[i]->bytes;
	free(list);
	if (i < n || at != data + bytes)
		return stored_fail(error, -EBADMSG, "its tensors leave holes, or lie twice");
	return 0;
}

int safetensors_read(struct store *store, struct mapping *map, struct accel_error *error)
{
	const uint32_t first = store->count;
	struct json_object *doc;
	uint64_t length, bytes;
	int ret = 0;

	if (!safetensors_is(map))
		return stored_fail(error, -EBADMSG, "%.100s: not a safetensors file",
				   map->name ? map->name : "");
	length = header_length(map);
	bytes = map->bytes - 8 - length;
	doc = parse(map->data + 8, length);
	if (!doc)
		return stored_fail(error, -EBADMSG, "its header is no JSON document");
	json_object_object_foreach(doc, name, o) {
		struct stored s = { .mapping = map, .data = map->data + 8 + length };

		if (!ret && strcmp(name, "__metadata__"))
			ret = read_entry(store, name, o, &s, bytes, error);
	}
	json_object_put(doc);
	return ret ? ret : check_places(store, first, map->data + 8 + length, bytes, error);
}

static int read_file(struct store *store, const char *path, const char *name, uint32_t *files,
		     struct accel_error *error)
{
	struct mapping *map;
	int ret;

	for (map = store->maps; map; map = map->next)
		if (map->name && !strcmp(map->name, name))
			return 0;
	if (++*files > MAX_FILES)
		return stored_fail(error, -EOPNOTSUPP, "more than %u files", MAX_FILES);
	ret = mapping_open(path, name, &map);
	if (ret)
		return stored_fail(error, ret, "%.150s: %s", name, ret == -EPERM ?
				   "not in the folder of the model" : errno_text(-ret));
	map->next = store->maps;
	store->maps = map;
	store->file_bytes += map->bytes;
	return stored_about(error, safetensors_read(store, map, error), name);
}

/* The index says which tensors there are: a file may have others. */
static void keep_listed(struct store *store, struct json_object *files)
{
	uint32_t i, n = 0;

	for (i = 0; i < store->count; i++) {
		struct stored *s = &store->list[i];

		if (json_object_object_get_ex(files, s->name, NULL))
			store->list[n++] = *s;
		else
			free(s->name);
	}
	store->count = n;
}

int safetensors_index(struct store *store, const char *path, struct mapping *map,
		      struct accel_error *error)
{
	struct json_object *doc = map->bytes <= MAX_HEADER ? parse(map->data, map->bytes) : NULL;
	struct json_object *files = NULL;
	uint32_t count = 0;
	int ret = 0;

	if (!json_object_object_get_ex(doc, "weight_map", &files) ||
	    !json_object_is_type(files, json_type_object)) {
		json_object_put(doc);
		return stored_fail(error, -EBADMSG, "%.200s: not an index of safetensors", path);
	}
	json_object_object_foreach(files, name, o) {
		(void)name;
		/* A name ends where it ends, not at a zero in it. */
		if (!ret && (!json_object_is_type(o, json_type_string) ||
			     strlen(json_object_get_string(o)) !=
			     (size_t)json_object_get_string_len(o)))
			ret = stored_fail(error, -EBADMSG, "%.100s: no file", name);
		if (!ret)
			ret = read_file(store, path, json_object_get_string(o), &count, error);
	}
	if (!ret) {
		keep_listed(store, files);
		ret = stored_sort(store, error);
	}
	json_object_object_foreach(files, wanted, file) {
		const struct stored *s = ret ? NULL : stored_find(store, wanted);

		if (!ret && (!s || strcmp(s->mapping->name, json_object_get_string(file))))
			ret = stored_fail(error, -EBADMSG, "%.100s: not in %.100s as the index says",
					  wanted, json_object_get_string(file));
	}
	json_object_put(doc);
	return ret;
}
