// SPDX-License-Identifier: MIT
/*
 * See stored.h.
 */
#include <accel/quant.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/errno_text.h"
#include "stored.h"

/* Bytes of a path that are left before what is wrong with the file */
#define PATH_SHOWN	80u

int stored_fail(struct accel_error *error, int code, const char *fmt, ...)
{
	va_list ap;

	*error = (struct accel_error)ACCEL_ERROR_INIT;
	error->code = code;
	error->op_index = UINT32_MAX;
	va_start(ap, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, ap);
	va_end(ap);
	return code;
}

int stored_about(struct accel_error *error, int ret, const char *path)
{
	const size_t n = strlen(path), k = n < PATH_SHOWN ? n : PATH_SHOWN;
	char text[sizeof(error->text)];

	if (ret >= 0 || (!strncmp(error->text, path, k) && (k < n || error->text[k] == ':')))
		return ret;
	memcpy(text, error->text, sizeof(text));
	snprintf(error->text, sizeof(error->text), "%.80s: %.170s", path + n - k, text);
	return ret;
}

int stored_add(struct store *store, const char *name, size_t length, const struct stored *stored,
	       struct accel_error *error)
{
	struct stored *more = store->list;
	uint32_t room = store->room ? 2 * store->room : 64;

	if (store->count == store->room) {
		more = reallocarray(store->list, room, sizeof(*more));
		if (!more)
			return stored_fail(error, -ENOMEM, "out of memory");
		store->list = more;
		store->room = room;
	}
	if (memchr(name, 0, length))
		return stored_fail(error, -EBADMSG, "a name with a zero in it");
	more[store->count] = *stored;
	more[store->count].name = strndup(name, length);
	if (!more[store->count].name)
		return stored_fail(error, -ENOMEM, "out of memory");
	store->count++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct stored *)a)->name, ((const struct stored *)b)->name);
}

int stored_sort(struct store *store, struct accel_error *error)
{
	uint32_t i;

	if (store->count)
		qsort(store->list, store->count, sizeof(*store->list), by_name);
	for (i = 1; i < store->count; i++)
		if (!strcmp(store->list[i - 1].name, store->list[i].name))
			return stored_fail(error, -EBADMSG, "the tensor %.100s is there twice",
					   store->list[i].name);
	return 0;
}

const struct stored *stored_find(const struct store *store, const char *name)
{
	const struct stored key = { .name = (char *)(uintptr_t)name };

	return store->count ? bsearch(&key, store->list, store->count, sizeof(key), by_name) : NULL;
}

int stored_open(const char *path, struct store *store, struct accel_error *error)
{
	struct mapping *map;
	int ret;

	memset(store, 0, sizeof(*store));
	ret = mapping_open(path, NULL, &map);
	if (ret)
		return stored_fail(error, ret, "%.200s: cannot be opened: %s", path,
				   errno_text(-ret));
	store->maps = map;
	store->file_bytes = map->bytes;
	if (map->bytes >= 4 && !memcmp(map->data, "GGUF", 4))
		ret = gguf_read(store, map, error);
	else if (safetensors_is(map))
		ret = safetensors_read(store, map, error);
	else if (map->bytes && map->data[0] == '{')
		ret = safetensors_index(store, path, map, error);
	else
		ret = stored_fail(error, -EBADMSG, "%.200s: neither safetensors nor GGUF", path);
	if (!ret)
		ret = stored_sort(store, error);
	if (ret)
		stored_close(store);
	return ret;
}

void stored_close(struct store *store)
{
	struct mapping *map, *next;
	uint32_t i;

	for (i = 0; i < store->count; i++)
		free(store->list[i].name);
	for (map = store->maps; map; map = next) {
		next = map->next;
		mapping_unref(map);
	}
	free(store->list);
	free(store->meta);
	memset(store, 0, sizeof(*store));
}

/* The type that blocks become which are no element type: the same values, where there is one. */
static uint32_t type_for(uint32_t format)
{
	switch (format) {
	case ACCEL_GGUF_Q5_0:
		return ACCEL_Q8_0;
	case ACCEL_GGUF_Q3_K:
		return ACCEL_Q6_K;
	case ACCEL_GGUF_Q5_1:
	case ACCEL_GGUF_Q2_K:
	case ACCEL_GGUF_Q5_K:
		return ACCEL_F32;
	default:
		return 0;
	}
}

/* Its size was held against the file's: an element of a file has at least two bits. */
static int converted(const struct stored *s, uint32_t type, void **out, struct accel_error *error)
{
	uint32_t elements;
	uint64_t bytes = accel_dtype_block(type, &elements);
	int ret;

	*out = malloc(s->count / elements * bytes + 1);
	if (!*out)
		return stored_fail(error, -ENOMEM, "out of memory for %.100s", s->name);
	ret = accel_blocks_convert(s->format, s->data, s->count, type, *out);
	if (!ret)
		return 0;
	free(*out);
	*out = NULL;
	stored_fail(error, ret, "%.100s: its blocks cannot be converted", s->name);
	return ret;
}

int stored_constant(const struct stored *s, struct accel_graph *graph, uint32_t *value,
		    struct accel_error *error)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	void *own = NULL;
	int ret;

	v.type = s->type ? s->type : type_for(s->format);
	v.rank = s->rank;
	v.name = s->name;
	memcpy(v.dims, s->dims, sizeof(v.dims));
	if (!v.type)
		return stored_fail(error, -EOPNOTSUPP, "%.100s: its type is not supported",
				   s->name);
	if (!s->type) {
		ret = converted(s, v.type, &own, error);
		if (ret)
			return ret;
		ret = accel_graph_constant(graph, &v, own, free, own, value);
	} else {
		ret = mapping_constant(s->mapping, graph, &v, s->data, value);
	}
	if (!ret)
		return 0;
	free(own);
	accel_graph_get_error(graph, &e);
	return stored_fail(error, ret, "%.60s: %.150s", s->name, e.text);
}
