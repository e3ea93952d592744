// SPDX-License-Identifier: MIT
/*
 * Files: tensors of ONNX as plain numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/tests/oracle/oracle.h"
#include "read.h"

static const char *const type_names[] = {
	"undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
	"bool", "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16",
	[T_UINT4] = "uint4", [T_INT4] = "int4"
};

const char *type_name(uint32_t type)
{
	return type < ARRAY_SIZE(type_names) && type_names[type] ? type_names[type] : "unknown";
}

/* Contents of a file, NULL with errno if it cannot be read; free() it. */
void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *buf = NULL, *more;
	size_t have = 0, n;

	if (!f)
		return NULL;
	for (;;) {
		more = realloc(buf, have + 65536);
		if (!more)
			break;
		buf = more;
		n = fread(buf + have, 1, 65536, f);
		have += n;
		if (!n)
			break;
	}
	if (!more || ferror(f)) {
		free(buf);
		buf = NULL;
	}
	fclose(f);
	*size = have;
	return buf;
}

static size_t type_size(uint32_t type)
{
	switch (type) {
	case T_UINT8:
	case T_INT8:
	case T_BOOL:
	case T_UINT4:
	case T_INT4:
		return 1;
	case T_UINT16:
	case T_INT16:
	case T_FLOAT16:
	case T_BFLOAT16:
		return 2;
	case T_FLOAT:
	case T_INT32:
	case T_UINT32:
		return 4;
	case T_DOUBLE:
	case T_INT64:
	case T_UINT64:
		return 8;
	default:
		return 0;
	}
}

static double bf16_value(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float f;

	memcpy(&f, &wide, sizeof(f));
	return f;
}

/* One element of raw data, little-endian as this machine is. */
static void from_bytes(struct raw *raw, uint64_t n, const uint8_t *p)
{
	uint64_t bits = 0;
	double d;
	float f;

	memcpy(&bits, p, type_size(raw->type));
	switch (raw->type) {
	case T_FLOAT:
		memcpy(&f, p, sizeof(f));
		raw->f[n] = f;
		break;
	case T_DOUBLE:
		memcpy(&d, p, sizeof(d));
		raw->f[n] = d;
		break;
	case T_FLOAT16:
		raw->f[n] = oracle_f16_value((uint16_t)bits);
		break;
	case T_BFLOAT16:
		raw->f[n] = bf16_value((uint16_t)bits);
		break;
	case T_INT8:
		raw->i[n] = (int8_t)bits;
		break;
	case T_INT16:
		raw->i[n] = (int16_t)bits;
		break;
	case T_INT32:
		raw->i[n] = (int32_t)bits;
		break;
	default:
		raw->i[n] = (int64_t)bits;
	}
}

/* Numbers in the field that the type asks for. */
static int from_fields(const Onnx__TensorProto *t, struct raw *raw)
{
	size_t have = 0;
	uint64_t n;

	switch (raw->type) {
	case T_FLOAT:
		have = t->n_float_data;
		break;
	case T_DOUBLE:
		have = t->n_double_data;
		break;
	case T_INT64:
		have = t->n_int64_data;
		break;
	case T_UINT32:
	case T_UINT64:
		have = t->n_uint64_data;
		break;
	default:
		have = t->n_int32_data;
	}
	if (have != (is_half(raw->type) ? (raw->count + 1) / 2 : raw->count))
		return -EBADMSG;
	for (n = 0; n < raw->count; n++)
		switch (raw->type) {
		case T_FLOAT:
			raw->f[n] = t->float_data[n];
			break;
		case T_DOUBLE:
			raw->f[n] = t->double_data[n];
			break;
		case T_FLOAT16:
			raw->f[n] = oracle_f16_value((uint16_t)t->int32_data[n]);
			break;
		case T_BFLOAT16:
			raw->f[n] = bf16_value((uint16_t)t->int32_data[n]);
			break;
		case T_INT64:
			raw->i[n] = t->int64_data[n];
			break;
		case T_UINT32:
		case T_UINT64:
			raw->i[n] = (int64_t)t->uint64_data[n];
			break;
		case T_UINT4:
		case T_INT4:
			raw->i[n] = half_at(raw->type,
					    (const uint8_t[]){ (uint8_t)t->int32_data[n / 2] },
					    n % 2);
			break;
		default:
			raw->i[n] = t->int32_data[n];
		}
	return 0;
}

/*
 * The numbers of a tensor; @declared: the type that the graph gives it, 0 if
 * none. Some writers have no bfloat16 and use uint16 for its bits.
 *
 * Returns 0; -EOPNOTSUPP a type that is not numbers; -EBADMSG it contradicts
 * itself; -ENOMEM.
 */
int raw_from_proto(const Onnx__TensorProto *t, uint32_t declared, struct raw *raw)
{
	uint64_t n;
	size_t size;
	uint32_t i;
	int ret;

	memset(raw, 0, sizeof(*raw));
	raw->type = (uint32_t)t->data_type;
	if (declared == T_BFLOAT16 && raw->type == T_UINT16)
		raw->type = declared;
	size = type_size(raw->type);
	if (t->n_dims > MAX_RANK)
		return -EOPNOTSUPP;
	raw->rank = (uint32_t)t->n_dims;
	raw->count = 1;
	for (i = 0; i < raw->rank; i++) {
		raw->dims[i] = t->dims[i];
		if (t->dims[i] < 0 || t->dims[i] > 1 << 28)
			return -EBADMSG;
		raw->count *= (uint64_t)t->dims[i];
		if (raw->count > 1 << 28)
			return -EBADMSG;
	}
	if (!size)
		return -EOPNOTSUPP;
	raw->f = calloc(raw->count + 1, sizeof(*raw->f));
	raw->i = calloc(raw->count + 1, sizeof(*raw->i));
	if (!raw->f || !raw->i) {
		raw_free(raw);
		return -ENOMEM;
	}
	if (!t->has_raw_data)
		ret = from_fields(t, raw);
	else
		ret = t->raw_data.len == (is_half(raw->type) ? (raw->count + 1) / 2 :
					  size * raw->count) ? 0 : -EBADMSG;
	for (n = 0; !ret && t->has_raw_data && n < raw->count; n++)
		if (is_half(raw->type))
			raw->i[n] = half_at(raw->type, t->raw_data.data, n);
		else
			from_bytes(raw, n, t->raw_data.data + n * size);
	if (ret)
		raw_free(raw);
	return ret;
}

static bool varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	uint32_t shift;

	*v = 0;
	for (shift = 0; *p < end && shift < 64; shift += 7) {
		*v |= (uint64_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80))
			return true;
	}
	return false;
}

/*
 * The tensors of a sequence, or of an optional value: of both messages, which the package does not
 * describe, field 3 is a tensor, and field 5 a message in which they are.
 */
bool tensors_from(const uint8_t *p, size_t n, struct tensors *list)
{
	const uint8_t *end = p + n;
	uint64_t tag, v;

	while (p < end) {
		if (!varint(&p, end, &tag) || !varint(&p, end, &v))
			return false;
		/* The others are a name, and a type that is a number. */
		if ((tag & 7) == 2) {
			if (v > (uint64_t)(end - p))
				return false;
			if (tag >> 3 == 5 && !tensors_from(p, v, list))
				return false;
			if (tag >> 3 == 3) {
				if (list->count == MAX_TENSORS)
					return false;
				list->v[list->count] = onnx__tensor_proto__unpack(NULL, v, p);
				if (!list->v[list->count])
					return false;
				list->count++;
			}
			p += v;
		} else if (tag & 7) {
			return false;
		}
	}
	return true;
}

void tensors_free(struct tensors *list)
{
	while (list->count)
		onnx__tensor_proto__free_unpacked(list->v[--list->count], NULL);
}

void raw_free(struct raw *raw)
{
	free(raw->f);
	free(raw->i);
	raw->f = NULL;
	raw->i = NULL;
}
