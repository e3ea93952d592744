// SPDX-License-Identifier: MIT
/*
 * Constants of a file. Raw data and data outside are used where they lie; numbers in
 * fields of their own are unpacked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

#define MAX_ELEMENTS	(1LL << 40)
/* Bytes that tensors may become: for each of the file, and at least */
#define GROWTH		64
#define MIN_GROWTH	(256ull << 20)

/* The graph's type, 0: none. */
uint32_t type_of(int64_t onnx)
{
	static const uint8_t types[] = {
		[ONNX_FLOAT] = ACCEL_F32, [ONNX_UINT8] = ACCEL_U8, [ONNX_INT8] = ACCEL_S8,
		[ONNX_UINT16] = ACCEL_HOST_U16, [ONNX_INT16] = ACCEL_HOST_S16,
		[ONNX_INT32] = ACCEL_S32, [ONNX_INT64] = ACCEL_HOST_S64,
		[ONNX_BOOL] = ACCEL_HOST_BOOL, [ONNX_FLOAT16] = ACCEL_F16,
		[ONNX_DOUBLE] = ACCEL_HOST_F64, [ONNX_UINT32] = ACCEL_HOST_U32,
		[ONNX_UINT64] = ACCEL_HOST_U64, [ONNX_BFLOAT16] = ACCEL_BF16,
		[ONNX_UINT4] = ACCEL_U4, [ONNX_INT4] = ACCEL_S4,
	};

	return onnx >= 0 && onnx < (int64_t)ARRAY_SIZE(types) ? types[onnx] : 0;
}

/* Refuse a type, which has a name, of what the format says */
int no_type(struct import *im, int64_t onnx, const char *fmt, ...)
{
	static const char *const names[] = {
		"UNDEFINED", "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING",
		"BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128",
		"BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
		"UINT4", "INT4", "FLOAT4E2M1", "FLOAT8E8M0", "UINT2", "INT2",
	};
	char what[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (onnx >= 0 && onnx < (int64_t)ARRAY_SIZE(names))
		return im_fail(im, -EOPNOTSUPP, "%s: type %s is not supported", what, names[onnx]);
	return im_fail(im, -EOPNOTSUPP, "%s: type %" PRId64 " is not supported", what, onnx);
}

/**
 * struct raw - a tensor's fields
 * @onnx: type
 * @has_raw: @data is there
 * @data: raw data
 * @fields: packed or single numbers of the typed fields, by their field
 * @external: data is outside
 * @location: file
 * @offset: in it
 * @length: bytes, UINT64_MAX: to what the dimensions say
 */
struct raw {
	int64_t onnx;
	bool has_raw;
	struct slice data;
	struct slice whole;
	bool external;
	struct slice location;
	uint64_t offset;
	uint64_t length;
};

static int parse_number(struct slice s, uint64_t *number)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, s.p[i] - '0', &n))
			return -EBADMSG;
	}
	*number = n;
	return s.n ? 0 : -EBADMSG;
}

/* A key of external data, and what it says. */
static int read_entry(struct slice s, struct raw *raw)
{
	struct slice key = { 0 }, value = { 0 };
	struct field f;
	int ret;

	while ((ret = wire_next(&s, &f)) > 0) {
		if (f.id == 1)
			key = f.bytes;
		else if (f.id == 2)
			value = f.bytes;
	}
	if (ret)
		return ret;
	if (slice_is(key, "location"))
		raw->location = value;
	else if (slice_is(key, "offset"))
		return parse_number(value, &raw->offset);
	else if (slice_is(key, "length"))
		return parse_number(value, &raw->length);
	return 0;
}

static int read_fields(struct import *im, struct slice s, struct tensor *t, struct raw *raw)
{
	struct field f;
	int ret;

	raw->whole = s;
	raw->length = UINT64_MAX;
	while ((ret = wire_next(&s, &f)) > 0) {
		switch (f.id) {
		case 1:
			if (wire_ints(&f, t->dims, &t->rank, ACCEL_GRAPH_MAX_RANK))
				return im_fail(im, -EOPNOTSUPP,
					       "a tensor of more than %d dimensions",
					       ACCEL_GRAPH_MAX_RANK);
			break;
		case 2:
			raw->onnx = (int64_t)f.number;
			break;
		case 8:
			t->name = f.bytes;
			break;
		case 9:
			raw->has_raw = f.has_bytes;
			raw->data = f.bytes;
			break;
		case 13:
			if (read_entry(f.bytes, raw))
				return im_fail(im, -EBADMSG, "external data cannot be read");
			break;
		case 14:
			raw->external = f.number == 1;
			break;
		}
	}
	return ret ? im_fail(im, -EBADMSG, "a tensor cannot be read") : 0;
}

static int use_external(struct import *im, struct tensor *t, const struct raw *raw)
{
	const char *location = raw->location.p ? (const char *)raw->location.p : "";
	struct mapping *map;
	char *name;
	int ret;

	if (memchr(location, 0, raw->location.n))
		return im_fail(im, -EPERM, "a location with a zero in it");
	name = strndup(location, raw->location.n);
	if (!name)
		return im_fail(im, -ENOMEM, "out of memory");
	ret = map_file(im, name, &map);
	free(name);
	if (ret)
		return ret;
	if (raw->length != UINT64_MAX && raw->length != t->bytes)
		return im_fail(im, -EBADMSG, "%.*s: %" PRIu64 " bytes, its dimensions say %" PRIu64,
			       slice_shown(t->name), t->name.p, raw->length, t->bytes);
	if (raw->offset > map->bytes || t->bytes > map->bytes - raw->offset)
		return im_fail(im, -EBADMSG, "%.*s: its data ends behind the file",
			       slice_shown(t->name), t->name.p);
	t->data = map->data + raw->offset;
	t->mapping = map;
	return 0;
}

/* The field that has numbers of a type, and whether they are varints. */
static uint32_t typed_field(int64_t onnx, bool *varints, size_t *wide)
{
	*varints = true;
	*wide = 0;
	switch (onnx) {
	case ONNX_FLOAT:
		*varints = false;
		*wide = 4;
		return 4;
	case ONNX_DOUBLE:
		*varints = false;
		*wide = 8;
		return 10;
	case ONNX_INT64:
		return 7;
	case ONNX_UINT32:
	case ONNX_UINT64:
		return 11;
	default:
		return 5;
	}
}

/* Numbers in fields of their own, each stored in its low bytes; half bytes are there as bytes. */
static int unpack(struct import *im, struct tensor *t, const struct raw *raw)
{
	bool halves = accel_type_bits(t->type) < 8;
	size_t size = halves ? 1 : accel_type_bits(t->type) / 8, wide, step;
	uint64_t n = 0, x, count = halves ? t->bytes : t->count;
	struct slice s = raw->whole, list;
	bool varints;
	uint32_t id = typed_field(raw->onnx, &varints, &wide);
	struct field f;
	uint8_t *p;

	p = calloc(count + 1, size);
	if (!p)
		return im_fail(im, -ENOMEM, "out of memory");
	t->own = p;
	t->data = p;
	while (wire_next(&s, &f) > 0) {
		if (f.id != id)
			continue;
		list = f.bytes;
		do {
			if (n == count)
				return im_fail(im, -EBADMSG, "%.*s: too many numbers",
					       slice_shown(t->name), t->name.p);
			if (!f.has_bytes) {
				memcpy(p + n++ * size, &f.number, size);
			} else if (varints) {
				if (!list.n)
					break;
				if (!wire_varint(&list, &x))
					return im_fail(im, -EBADMSG, "a number cannot be read");
				memcpy(p + n++ * size, &x, size);
			} else {
				step = list.n / wide;
				if (list.n % wide || step > count - n)
					return im_fail(im, -EBADMSG, "%.*s: too many numbers",
						       slice_shown(t->name), t->name.p);
				memcpy(p + n * size, list.p, list.n);
				n += step;
				list.n = 0;
			}
		} while (list.n);
	}
	if (n != count)
		return im_fail(im, -EBADMSG,
			       "%.*s: %" PRIu64 " numbers, its dimensions say %" PRIu64,
			       slice_shown(t->name), t->name.p, n, count);
	return 0;
}

/**
 * tensor_read - a tensor of the file
 * @im: import
 * @s: message
 * @t: out: own memory, if there is, is the caller's to free
 *
 * Return: 0, or the error that @im has.
 */
int tensor_read(struct import *im, struct slice s, struct tensor *t)
{
	struct raw raw = { 0 };
	uint32_t i;
	int ret;

	memset(t, 0, sizeof(*t));
	ret = read_fields(im, s, t, &raw);
	if (ret)
		return ret;
	if (!raw.onnx)
		return im_fail(im, -EBADMSG, "%.*s: a tensor without a type", slice_shown(t->name),
			       t->name.p);
	t->type = type_of(raw.onnx);
	if (!t->type)
		return no_type(im, raw.onnx, "%.*s", slice_shown(t->name), t->name.p);
	t->count = 1;
	for (i = 0; i < t->rank; i++)
		if (t->dims[i] < 0 ||
		    __builtin_mul_overflow(t->count, (uint64_t)t->dims[i], &t->count) ||
		    t->count > MAX_ELEMENTS)
			return im_fail(im, -EBADMSG, "%.*s: dimension %u is %" PRId64,
				       slice_shown(t->name), t->name.p, i, t->dims[i]);
	t->bytes = (t->count * accel_type_bits(t->type) + 7) / 8;
	if (raw.external)
		return use_external(im, t, &raw);
	if (raw.has_raw) {
		if (raw.data.n != t->bytes)
			return im_fail(im, -EBADMSG, "%.*s: %zu bytes, its dimensions say %" PRIu64,
				       slice_shown(t->name), t->name.p, raw.data.n, t->bytes);
		t->data = raw.data.p;
		for (t->mapping = im->maps; t->mapping->name; t->mapping = t->mapping->next)
			;
		return 0;
	}
	/* Before memory is taken for them: a number has a byte at least. */
	if ((accel_type_bits(t->type) < 8 ? t->bytes : t->count) > raw.whole.n)
		return im_fail(im, -EBADMSG, "%.*s: numbers are missing", slice_shown(t->name),
			       t->name.p);
	ret = unpack(im, t, &raw);
	if (ret) {
		free(t->own);
		t->own = NULL;
	}
	return ret;
}

/**
 * tensor_add - make a tensor a constant of the graph
 * @im: import
 * @t: tensor; its own memory is the graph's from now on
 * @value: out
 *
 * Return: 0, or the error that @im has.
 */
int tensor_add(struct import *im, struct tensor *t, uint32_t *value)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	char *name = strndup(t->name.p ? (const char *)t->name.p : "", t->name.n);
	int ret;

	if (!name) {
		free(t->own);
		return im_fail(im, -ENOMEM, "out of memory");
	}
	v.type = t->type;
	v.rank = t->rank;
	memcpy(v.dims, t->dims, sizeof(v.dims));
	v.name = name;
	if (t->mapping)
		ret = mapping_constant(t->mapping, im->model->graph, &v, t->data, value);
	else
		ret = accel_graph_constant(im->model->graph, &v, t->data, free, t->own, value);
	if (ret && !t->mapping)
		free(t->own);
	free(name);
	im->model->info.constant_count++;
	im->model->info.constant_bytes += t->bytes;
	return im_graph(im, ret);
}

/**
 * tensor_grows - data of the file needs more memory than it has bytes
 * @im: import
 * @name: of the tensor
 * @bytes: how many
 *
 * A few bytes can ask for any number of zeros, or for the same again and again: all of a file has
 * what is in proportion to it, and is no trouble anywhere.
 *
 * Return: 0, or the error that @im has.
 */
int tensor_grows(struct import *im, struct slice name, uint64_t bytes)
{
	const struct mapping *map;
	uint64_t most = MIN_GROWTH;

	for (map = im->maps; map; map = map->next)
		most += GROWTH * map->bytes;
	if (bytes <= most && im->grown <= most - bytes) {
		im->grown += bytes;
		return 0;
	}
	return im_fail(im, -EOPNOTSUPP, "%.*s: tensors become more than %" PRIu64
		       " bytes, %d for each of the file", slice_shown(name), name.p, most, GROWTH);
}

/* More are made once for each node. */
#define MAX_MADE	4096u

/* Was a constant like this made before? */
bool tensor_made(const struct import *im, const struct made *like, uint32_t *value)
{
	const struct made *m;

	for (m = im->made; m && m < im->made + im->made_count; m++)
		if (m->from == like->from && m->bits == like->bits && m->row == like->row &&
		    m->type == like->type && m->rank == like->rank &&
		    !memcmp(m->dims, like->dims, m->rank * sizeof(m->dims[0]))) {
			*value = m->value;
			return true;
		}
	return false;
}

/**
 * tensor_make - make a constant of another one, which other nodes may read, too
 * @im: import
 * @made: what it is, without the value
 * @data: of malloc(), the graph's from now on; NULL: there was no memory
 * @value: out
 *
 * Return: 0, or the error that @im has.
 */
int tensor_make(struct import *im, struct made *made, void *data, uint32_t *value)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct made *more;
	int ret;

	if (!data)
		return im_fail(im, -ENOMEM, "out of memory");
	v.type = made->type;
	v.rank = made->rank;
	memcpy(v.dims, made->dims, sizeof(v.dims));
	ret = im_graph(im, accel_graph_constant(im->model->graph, &v, data, free, data, value));
	if (ret) {
		free(data);
		return ret;
	}
	made->value = *value;
	if (im->made_count == MAX_MADE)
		return 0;
	/* A power of two is full. */
	if (!(im->made_count & (im->made_count - 1))) {
		more = reallocarray(im->made, 2 * im->made_count + 1, sizeof(*more));
		if (!more)
			return im_fail(im, -ENOMEM, "out of memory");
		im->made = more;
	}
	im->made[im->made_count++] = *made;
	return 0;
}

/**
 * tensor_bytes - a constant of half bytes as operations can read it
 * @im: import
 * @ref: input of the node in work; what it is does not change
 * @value: out: its value, or where rows end within a byte, which no operation reads, another
 *	with a byte for each element
 *
 * Return: 0, or the error that @im has.
 */
int tensor_bytes(struct import *im, const struct ref *ref, uint32_t *value)
{
	const uint8_t *from = ref->data;
	const struct slice name = { (const uint8_t *)"a constant", 10 };
	struct made made = { .from = from, .bits = 4, .rank = ref->rank };
	uint64_t i, n = 1;
	uint8_t *to, half;
	int ret;

	*value = ref->value;
	if (!from || (ref->type != ACCEL_S4 && ref->type != ACCEL_U4) || ref->rank < 2 ||
	    !(ref->dims[ref->rank - 1] % 2))
		return 0;
	made.type = ref->type == ACCEL_S4 ? ACCEL_S8 : ACCEL_U8;
	memcpy(made.dims, ref->dims, sizeof(made.dims));
	if (tensor_made(im, &made, value))
		return 0;
	for (i = 0; i < ref->rank; i++)
		n *= (uint64_t)ref->dims[i];
	ret = tensor_grows(im, name, n);
	if (ret)
		return ret;
	to = malloc(n + 1);
	for (i = 0; to && i < n; i++) {
		half = from[i / 2] >> i % 2 * 4 & 15;
		to[i] = ref->type == ACCEL_S4 && half > 7 ? half | 0xf0 : half;
	}
	return tensor_make(im, &made, to, value);
}
