// SPDX-License-Identifier: MIT
/*
 * GGUF: metadata, then where tensors are, then these. All is little-endian; version 2 and 3 are
 * the same but for files of big-endian machines, which are refused.
 */
#include <accel/quant.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../stored.h"

/* What an entry of the metadata, and one of the tensors, has at least */
#define LEAST_META	13u
#define LEAST_TENSOR	24u
#define MAX_NAME	65535u
#define MAX_DEPTH	4

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * struct cursor - what is not read yet
 * @p: next byte
 * @n: bytes that are left
 */
struct cursor {
	const uint8_t *p;
	uint64_t n;
};

static bool take(struct cursor *c, void *to, uint64_t bytes)
{
	if (bytes > c->n)
		return false;
	if (to)
		memcpy(to, c->p, bytes);
	c->p += bytes;
	c->n -= bytes;
	return true;
}

static bool take_u32(struct cursor *c, uint32_t *x)
{
	bool good = take(c, x, 4);

	if (good)
		*x = le32toh(*x);
	return good;
}

static bool take_u64(struct cursor *c, uint64_t *x)
{
	bool good = take(c, x, 8);

	if (good)
		*x = le64toh(*x);
	return good;
}

static bool take_string(struct cursor *c, const uint8_t **text, uint64_t *length)
{
	if (!take_u64(c, length))
		return false;
	*text = c->p;
	return take(c, NULL, *length);
}

/* --- metadata ------------------------------------------------------------------------------ */

/* Bytes of a number, 0: it is none */
static uint32_t number_bytes(uint32_t type)
{
	static const uint8_t bytes[] = {
		[GGUF_U8] = 1, [GGUF_S8] = 1, [GGUF_U16] = 2, [GGUF_S16] = 2, [GGUF_U32] = 4,
		[GGUF_S32] = 4, [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_S64] = 8,
		[GGUF_F64] = 8
	};

	return type < sizeof(bytes) ? bytes[type] : 0;
}

static bool skip_array(struct cursor *c, uint32_t type, uint64_t count, uint32_t depth)
{
	const uint8_t *text;
	uint64_t bytes, i;
	uint32_t inner;

	if (number_bytes(type))
		return !__builtin_mul_overflow(count, number_bytes(type), &bytes) &&
		       take(c, NULL, bytes);
	/* A string has 8 bytes, an array 12: what cannot be there is not looked for. */
	if ((type != GGUF_STRING && type != GGUF_ARRAY) || count > c->n / 8 || depth == MAX_DEPTH)
		return false;
	for (i = 0; i < count; i++) {
		if (type == GGUF_STRING ? !take_string(c, &text, &bytes) :
		    !take_u32(c, &inner) || !take_u64(c, &bytes) ||
		    !skip_array(c, inner, bytes, depth + 1))
			return false;
	}
	return true;
}

static bool read_meta(struct cursor *c, struct meta *m)
{
	const uint8_t *key;

	if (!take_string(c, &key, &m->length) || m->length > MAX_NAME || !take_u32(c, &m->type))
		return false;
	m->key = (const char *)key;
	m->data = c->p;
	if (number_bytes(m->type))
		return take(c, NULL, number_bytes(m->type));
	if (m->type == GGUF_STRING)
		return take_string(c, &m->data, &m->count);
	if (m->type != GGUF_ARRAY || !take_u32(c, &m->element) || !take_u64(c, &m->count))
		return false;
	m->data = c->p;
	return skip_array(c, m->element, m->count, 0);
}

const struct meta *meta_find(const struct store *store, const char *key)
{
	uint64_t n = strlen(key);
	uint32_t i;

	for (i = 0; i < store->meta_count; i++)
		if (store->meta[i].length == n && !memcmp(store->meta[i].key, key, n))
			return &store->meta[i];
	return NULL;
}

bool meta_number(const struct meta *meta, uint64_t index, double *number)
{
	uint32_t type = meta ? meta->type : GGUF_STRING;
	uint64_t large;
	int64_t whole;
	float f;

	if (type == GGUF_ARRAY ? index >= meta->count : index)
		return false;
	if (type == GGUF_ARRAY)
		type = meta->element;
	if (type == GGUF_F32) {
		memcpy(&f, meta->data + 4 * index, 4);
		*number = (double)f;
		return true;
	}
	if (type == GGUF_F64) {
		memcpy(number, meta->data + 8 * index, 8);
		return true;
	}
	if (type == GGUF_U64) {
		memcpy(&large, meta->data + 8 * index, 8);
		*number = (double)le64toh(large);
		return true;
	}
	if (!meta_whole(meta, index, &whole))
		return false;
	*number = (double)whole;
	return true;
}

bool meta_whole(const struct meta *meta, uint64_t index, int64_t *number)
{
	uint32_t type = meta ? meta->type : GGUF_STRING, bytes;
	uint64_t x = 0;

	if (type == GGUF_ARRAY ? index >= meta->count : index)
		return false;
	if (type == GGUF_ARRAY)
		type = meta->element;
	bytes = number_bytes(type);
	if (!bytes || type == GGUF_F32 || type == GGUF_F64)
		return false;
	memcpy(&x, meta->data + bytes * index, bytes);
	x = le64toh(x);
	if ((type == GGUF_S8 || type == GGUF_S16 || type == GGUF_S32) && x >> (8 * bytes - 1))
		x |= ~0ull << 8 * bytes;
	if (type == GGUF_U64 && x > INT64_MAX)
		return false;
	*number = (int64_t)x;
	return true;
}

int meta_count(const struct store *store, const char *key, int64_t *number,
	       struct accel_error *error)
{
	const struct meta *meta = meta_find(store, key);

	*number = -1;
	if (meta && (meta->type == GGUF_ARRAY || meta->type == GGUF_BOOL ||
		     !meta_whole(meta, 0, number) || *number < 0))
		return stored_fail(error, -EBADMSG, "%s is no whole number from 0 on", key);
	return 0;
}

bool meta_string(const struct meta *meta, const uint8_t **at, const char **text,
		 uint64_t *length)
{
	if (!meta || (at ? meta->type != GGUF_ARRAY || meta->element != GGUF_STRING :
		      meta->type != GGUF_STRING))
		return false;
	if (!at) {
		*text = (const char *)meta->data;
		*length = meta->count;
		return true;
	}
	/* All of them were found to be there when the file was read. */
	memcpy(length, *at, 8);
	*length = le64toh(*length);
	*text = (const char *)*at + 8;
	*at += 8 + *length;
	return true;
}

/* --- tensors ------------------------------------------------------------------------------ */

/**
 * struct kind - a type of tensors
 * @number: in files
 * @type: &enum accel_dtype or &enum accel_host_type, 0: none
 * @elements: of a block
 * @bytes: of a block
 */
static const struct kind {
	uint8_t number;
	uint8_t type;
	uint16_t elements;
	uint16_t bytes;
} kinds[] = {
	{ 0, ACCEL_F32, 1, 4 }, { 1, ACCEL_F16, 1, 2 }, { 2, ACCEL_Q4_0, 32, 18 },
	{ 3, ACCEL_Q4_1, 32, 20 }, { ACCEL_GGUF_Q5_0, 0, 32, 22 }, { ACCEL_GGUF_Q5_1, 0, 32, 24 },
	{ 8, ACCEL_Q8_0, 32, 34 }, { ACCEL_GGUF_Q2_K, 0, 256, 84 },
	{ ACCEL_GGUF_Q3_K, 0, 256, 110 }, { 12, ACCEL_Q4_K, 256, 144 },
	{ ACCEL_GGUF_Q5_K, 0, 256, 176 }, { 14, ACCEL_Q6_K, 256, 210 }, { 24, ACCEL_S8, 1, 1 },
	{ 25, ACCEL_HOST_S16, 1, 2 }, { 26, ACCEL_S32, 1, 4 }, { 27, ACCEL_HOST_S64, 1, 8 },
	{ 28, ACCEL_HOST_F64, 1, 8 }, { 30, ACCEL_BF16, 1, 2 },
};

static const struct kind *find_kind(uint32_t number)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].number == number)
			return &kinds[i];
	return NULL;
}

uint32_t gguf_number(uint32_t type, uint32_t format)
{
	size_t i;

	for (i = 0; type && i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].type == type)
			return kinds[i].number;
	return type ? GGUF_NO_TYPE : format;
}

/* How much of a name is told */
static int shown(uint64_t length)
{
	return length < 100 ? (int)length : 100;
}

static int read_tensor(struct cursor *c, struct store *store, struct mapping *map,
		       struct accel_error *error)
{
	struct stored s = { .mapping = map, .count = 1 };
	uint64_t length, dim, offset;
	const struct kind *kind;
	const uint8_t *name;
	uint32_t i, number;

	if (!take_string(c, &name, &length) || length > MAX_NAME || !take_u32(c, &s.rank))
		return stored_fail(error, -EBADMSG, "a tensor's name cannot be read");
	if (s.rank > 4)
		return stored_fail(error, -EBADMSG, "%.*s: %u dimensions", shown(length), name,
				   s.rank);
	for (i = 0; i < s.rank; i++) {
		if (!take_u64(c, &dim) || dim > INT64_MAX ||
		    __builtin_mul_overflow(s.count, dim, &s.count))
			return stored_fail(error, -EBADMSG, "%.*s: a bad dimension",
					   shown(length), name);
		s.dims[s.rank - 1 - i] = (int64_t)dim;
	}
	if (!take_u32(c, &number) || !take_u64(c, &offset))
		return stored_fail(error, -EBADMSG, "%.*s: no type or place", shown(length), name);
	kind = find_kind(number);
	if (!kind)
		return stored_fail(error, -EOPNOTSUPP, "%.*s: type %u is not known",
				   shown(length), name, number);
	if ((s.rank ? (uint64_t)s.dims[s.rank - 1] : 1) % kind->elements ||
	    __builtin_mul_overflow(s.count / kind->elements, kind->bytes, &s.bytes))
		return stored_fail(error, -EBADMSG, "%.*s: its rows end within blocks",
				   shown(length), name);
	s.type = kind->type;
	s.format = kind->type ? 0 : number;
	/* Where tensors begin is known when all of these were read. */
	s.data = (const uint8_t *)(uintptr_t)offset;
	return stored_add(store, (const char *)name, length, &s, error);
}

static int place_tensors(struct store *store, const struct cursor *c, struct mapping *map,
			 struct accel_error *error)
{
	const struct meta *m = meta_find(store, "general.alignment");
	uint64_t begin = map->bytes - c->n, offset;
	int64_t align = 32;
	uint32_t i;

	if (m && (!meta_whole(m, 0, &align) || align < 8 || align > 1 << 20 || align & (align - 1)))
		return stored_fail(error, -EBADMSG, "its alignment is no power of two from 8 on");
	begin = (begin + (uint64_t)align - 1) & ~((uint64_t)align - 1);
	for (i = 0; i < store->count; i++) {
		struct stored *s = &store->list[i];

		offset = (uint64_t)(uintptr_t)s->data;
		if (offset % (uint64_t)align)
			return stored_fail(error, -EBADMSG,
					   "%.100s: its data are not where they should be",
					   s->name);
		if (begin > map->bytes || offset > map->bytes - begin ||
		    s->bytes > map->bytes - begin - offset)
			return stored_fail(error, -EBADMSG, "%.100s: the file ends before its data",
					   s->name);
		s->data = map->data + begin + offset;
	}
	return 0;
}

int gguf_read(struct store *store, struct mapping *map, struct accel_error *error)
{
	struct cursor c = { map->data, map->bytes };
	uint64_t tensors = 0, entries = 0, i;
	uint32_t version = 0;
	int ret = 0;

	take(&c, NULL, 4);
	if (!take_u32(&c, &version) || !take_u64(&c, &tensors) || !take_u64(&c, &entries))
		return stored_fail(error, -EBADMSG, "a GGUF file that ends in its first bytes");
	if (version != 2 && version != 3)
		return stored_fail(error, -EOPNOTSUPP, version >> 16 ?
				   "a GGUF file of a big-endian machine" :
				  "version %u of GGUF is not known", version);
	if (entries > c.n / LEAST_META || tensors > c.n / LEAST_TENSOR || entries > UINT32_MAX ||
	    tensors > UINT32_MAX)
		return stored_fail(error, -EBADMSG, "%" PRIu64 " tensors, %" PRIu64
				   " entries: more than the file has room for", tensors, entries);
	store->meta = calloc(entries + 1, sizeof(*store->meta));
	if (!store->meta)
		return stored_fail(error, -ENOMEM, "out of memory");
	for (i = 0; i < entries; i++) {
		if (!read_meta(&c, &store->meta[i]))
			return stored_fail(error, -EBADMSG, "entry %" PRIu64
					   " of its metadata cannot be read", i);
		store->meta_count++;
	}
	store->meta_bytes = (uint64_t)(c.p - map->data) - GGUF_HEAD;
	for (i = 0; i < tensors && !ret; i++)
		ret = read_tensor(&c, store, map, error);
	return ret ? ret : place_tensors(store, &c, map, error);
}
