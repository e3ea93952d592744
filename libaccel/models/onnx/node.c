// SPDX-License-Identifier: MIT
/*
 * What the functions of operators share: attributes, inputs, results, constants of a node.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

int im_read_attr(struct import *im, struct slice s, struct attr *a)
{
	struct field f;
	uint32_t bits;
	int ret;

	memset(a, 0, sizeof(*a));
	a->raw = s;
	while ((ret = wire_next(&s, &f)) > 0) {
		switch (f.id) {
		case 1:
			a->name = f.bytes;
			break;
		case 2:
			bits = (uint32_t)f.number;
			memcpy(&a->f, &bits, sizeof(a->f));
			break;
		case 3:
			a->i = (int64_t)f.number;
			break;
		case 4:
		case 5:
		case 6:
		case 22:
			a->s = f.bytes;
			break;
		case 7:
			if (f.has_bytes && f.bytes.n / 4 <= MAX_INTS - a->float_count) {
				memcpy(a->floats + a->float_count, f.bytes.p, f.bytes.n / 4 * 4);
				a->float_count += (uint32_t)(f.bytes.n / 4);
			} else if (!f.has_bytes && a->float_count < MAX_INTS) {
				bits = (uint32_t)f.number;
				memcpy(&a->floats[a->float_count++], &bits, sizeof(bits));
			} else {
				a->more = true;
			}
			break;
		case 8:
			ret = wire_ints(&f, a->ints, &a->int_count, MAX_INTS);
			if (ret == -EBADMSG)
				return im_fail(im, ret, "an attribute cannot be read");
			a->more |= ret == -E2BIG;
			break;
		case 9:
			if (a->string_count == MAX_STRINGS)
				return im_fail(im, -EOPNOTSUPP, "an attribute of too many words");
			a->strings[a->string_count++] = f.bytes;
			break;
		case 20:
			a->type = (uint32_t)f.number;
			break;
		case 21:
			a->ref = f.bytes;
			break;
		}
	}
	return ret ? im_fail(im, -EBADMSG, "an attribute cannot be read") : 0;
}

/* What has another type is not there for the operator, but its node is refused then. */
const struct attr *im_attr(struct import *im, const char *name, uint32_t type)
{
	const struct attr *mistyped = NULL;
	uint32_t i;

	for (i = 0; i < im->attr_count; i++) {
		if (!slice_is(im->attrs[i].name, name))
			continue;
		if (im->attrs[i].type == type)
			return &im->attrs[i];
		mistyped = &im->attrs[i];
	}
	im->mistyped = mistyped ? mistyped : im->mistyped;
	return NULL;
}

/* Was there an attribute of another type than the operator reads? @ret is what it gave. */
int im_well_typed(struct import *im, int ret)
{
	static const char *const types[] = {
		[ATTR_FLOAT] = "FLOAT", [ATTR_INT] = "INT", [ATTR_STRING] = "STRING",
		[ATTR_TENSOR] = "TENSOR", [ATTR_GRAPH] = "GRAPH", [ATTR_FLOATS] = "FLOATS",
		[ATTR_INTS] = "INTS", [ATTR_STRINGS] = "STRINGS"
	};
	const struct attr *a = im->mistyped;

	return !a ? ret :
	       im_fail(im, -EBADMSG, "attribute %.*s is of type %s, which it cannot be",
		       slice_shown(a->name), a->name.p,
		       a->type < ARRAY_SIZE(types) && types[a->type] ? types[a->type] :
		       "UNDEFINED");
}

int64_t im_int(struct import *im, const char *name, int64_t otherwise)
{
	const struct attr *a = im_attr(im, name, ATTR_INT);

	return a ? a->i : otherwise;
}

float im_float(struct import *im, const char *name, float otherwise)
{
	const struct attr *a = im_attr(im, name, ATTR_FLOAT);

	return a ? a->f : otherwise;
}

bool im_string(struct import *im, const char *name, const char *text)
{
	const struct attr *a = im_attr(im, name, ATTR_STRING);

	return a && slice_is(a->s, text);
}

/* Are the first @count inputs there? */
int im_need(struct import *im, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (i >= im->in_count || !im->in[i].here)
			return im_fail(im, -EBADMSG, "input %u is missing", i);
	return im->out_count ? 0 : im_fail(im, -EBADMSG, "it has no output");
}

/* An input, which may not be there. */
const struct ref *im_input(const struct import *im, uint32_t index)
{
	static const struct ref absent;

	return index < im->in_count ? &im->in[index] : &absent;
}

int im_ref(struct import *im, uint32_t value, struct ref *ref)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	int ret = im_graph(im, accel_graph_get_value(im->model->graph, value, &v));

	if (ret)
		return ret;
	*ref = (struct ref) { .here = true, .value = value, .type = v.type, .rank = v.rank };
	memcpy(ref->dims, v.dims, sizeof(ref->dims));
	return 0;
}

/* @value is what the node's output is. */
int im_give(struct import *im, uint32_t index, uint32_t value)
{
	return im_give_data(im, index, value, NULL);
}

/* Errors of nodes that are added say the operator that they are for; families have none. */
int im_source(struct import *im)
{
	const char *op = im->op[0] && !im->model->family ? im->op : NULL;

	return im_graph(im, accel_graph_set_source(im->model->graph, op));
}

/* Add a node; args[0] is its result. */
int im_node(struct import *im, const struct accel_desc *desc, struct accel_graph_arg *args,
	    uint32_t count, uint32_t *out)
{
	int ret = im_source(im);

	if (!ret)
		ret = im_graph(im, accel_graph_add(im->model->graph, im->name, desc, args, count));
	*out = args[0].value;
	return ret;
}

int im_one(struct import *im, const struct accel_desc *desc, uint32_t a, uint32_t *out)
{
	return im_node(im, desc, ARGS({ ACCEL_ARG_A, a }), 2, out);
}

/* The node's result is that of one operation on its first input. */
int im_give_one(struct import *im, const struct accel_desc *desc)
{
	uint32_t out;
	int ret = im_one(im, desc, im->in[0].value, &out);

	return ret ? ret : im_give(im, 0, out);
}

int im_two(struct import *im, const struct accel_desc *desc, uint32_t a, uint32_t b, uint32_t *out)
{
	return im_node(im, desc, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, b }), 3, out);
}

/* A function of two values; a comparison gives bool. */
int im_binary(struct import *im, uint32_t func, uint32_t a, uint32_t b, uint32_t *out)
{
	struct accel_binary_desc d = ACCEL_BINARY_DESC_INIT;

	d.func = func;
	if (func >= ACCEL_BINARY_EQ && func <= ACCEL_BINARY_XOR)
		d.d.dtype = ACCEL_HOST_BOOL;
	return im_two(im, &d.hdr, a, b, out);
}

static int add_constant(struct import *im, uint32_t type, uint32_t rank, int64_t dim, void *data,
			uint32_t *out)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	int ret;

	v.type = type;
	v.rank = rank;
	v.dims[0] = rank ? dim : 0;
	ret = im_graph(im, accel_graph_constant(im->model->graph, &v, data, free, data, out));
	if (ret)
		free(data);
	return ret;
}

/* A number that is known while the file is read: S64, or bool */
int im_known(struct import *im, uint32_t type, int64_t number, struct ref *ref)
{
	int64_t *data = malloc(sizeof(*data));
	int ret;

	if (!data)
		return im_fail(im, -ENOMEM, "out of memory");
	*data = number;
	ret = add_constant(im, type, 0, 0, data, &ref->value);
	if (!ret)
		ret = im_ref(im, ref->value, ref);
	ref->data = ret ? NULL : data;
	return ret;
}

int im_list(struct import *im, uint32_t count, const int64_t *list, uint32_t *out)
{
	int64_t *data = calloc(count + 1, sizeof(*data));

	if (!data)
		return im_fail(im, -ENOMEM, "out of memory");
	if (count)
		memcpy(data, list, count * sizeof(*data));
	return add_constant(im, ACCEL_HOST_S64, 1, count, data, out);
}

/* A number of type F32, S32, S64 or F64; one that integers do not reach is the last of them. */
int im_scalar(struct import *im, uint32_t type, double number, uint32_t *out)
{
	union { float f; double d; int64_t i; int32_t s; } *data = calloc(1, sizeof(*data));

	if (!data)
		return im_fail(im, -ENOMEM, "out of memory");
	if (type == ACCEL_HOST_S64)
		data->i = number >= 0x1p63 ? INT64_MAX : number > -0x1p63 ? (int64_t)number :
			  number <= -0x1p63 ? INT64_MIN : 0;
	else if (type == ACCEL_S32)
		data->s = number >= INT32_MAX ? INT32_MAX : number > INT32_MIN ? (int32_t)number :
			  number <= INT32_MIN ? INT32_MIN : 0;
	else if (type == ACCEL_HOST_F64)
		data->d = number;
	else
		data->f = (float)number;
	if (type != ACCEL_HOST_S64 && type != ACCEL_HOST_F64 && type != ACCEL_S32)
		type = ACCEL_F32;
	return add_constant(im, type, 0, 0, data, out);
}

int im_axis(struct import *im, int64_t axis, uint32_t rank, uint32_t *out)
{
	if (axis < -(int64_t)rank || axis >= (int64_t)rank)
		return im_fail(im, -EBADMSG, "axis %" PRId64 " of %u dimensions", axis, rank);
	*out = (uint32_t)(axis < 0 ? axis + rank : axis);
	return 0;
}

/* May a dimension of an input stand for several numbers? */
bool im_is_symbol(const struct import *im, uint32_t index, uint32_t axis)
{
	return accel_graph_varies(im->model->graph, im->in[index].value, axis) != 0;
}

bool type_is_real(uint32_t type)
{
	return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16 ||
	       type == ACCEL_HOST_F64;
}

/* Bits of an integer, negative if it has a sign; 0: it is none. */
static int int_bits(uint32_t type)
{
	switch (type) {
	case ACCEL_S4:
	case ACCEL_S8:
	case ACCEL_HOST_S16:
	case ACCEL_S32:
	case ACCEL_HOST_S64:
		return -(int)accel_type_bits(type);
	case ACCEL_U4:
	case ACCEL_U8:
	case ACCEL_HOST_U16:
	case ACCEL_HOST_U32:
	case ACCEL_HOST_U64:
		return (int)accel_type_bits(type);
	default:
		return type == ACCEL_HOST_BOOL;
	}
}

/* Are all numbers of one type of integers among those of another? */
static bool int_fits(uint32_t from, uint32_t to)
{
	int f = int_bits(from), t = int_bits(to);

	return f < 0 ? t <= f : t < 0 ? -t > f : t >= f;
}

static int with_number(struct import *im, uint32_t func, uint32_t type, double number,
		       uint32_t *value)
{
	uint32_t n = NO_VALUE;
	int ret = im_scalar(im, type, number, &n);

	return ret ? ret : im_binary(im, func, *value, n, value);
}

/* Integers into smaller ones: the low bits stay, where copies would saturate. */
static int wrap(struct import *im, uint32_t from, uint32_t type, uint32_t *value)
{
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	int bits = int_bits(type), n = bits < 0 ? -bits : bits, ret = 0;
	uint32_t wide = n <= 16 && int_fits(from, ACCEL_S32) ? ACCEL_S32 : ACCEL_HOST_S64;

	copy.d.dtype = wide;
	if (from != wide)
		ret = im_one(im, &copy.hdr, *value, value);
	if (!ret)
		ret = with_number(im, ACCEL_BINARY_BIT_AND, wide, (double)((1LL << n) - 1), value);
	if (!ret && bits < 0)
		ret = with_number(im, ACCEL_BINARY_BIT_XOR, wide, (double)(1LL << (n - 1)), value);
	if (!ret && bits < 0)
		ret = with_number(im, ACCEL_BINARY_SUB, wide, (double)(1LL << (n - 1)), value);
	return ret;
}

/* Numbers that only the CPU has as 32-bit integers, as it has none of 4 bits */
static int as_engine_integers(struct import *im, uint32_t *value)
{
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;

	if (v_type(im, *value) < ACCEL_HOST_S64)
		return 0;
	copy.d.dtype = ACCEL_S32;
	return im_one(im, &copy.hdr, *value, value);
}

/*
 * Another type for the same numbers: towards zero into integers, the low bits of larger ones,
 * "not zero" into bool.
 */
int im_cast(struct import *im, uint32_t value, uint32_t type, uint32_t *out)
{
	struct accel_unary_desc trunc = ACCEL_UNARY_DESC_INIT;
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	struct ref ref;
	uint32_t zero = 0;
	int ret = im_ref(im, value, &ref);

	*out = value;
	if (ret || ref.type == type)
		return ret;
	if (accel_type_bits(ref.type) < 8 && type >= ACCEL_HOST_S64) {
		copy.d.dtype = ACCEL_S32;
		ret = im_one(im, &copy.hdr, value, &value);
		return ret ? ret : im_cast(im, value, type, out);
	}
	if (type == ACCEL_HOST_BOOL) {
		ret = im_scalar(im, type_is_real(ref.type) ? ACCEL_F32 : ACCEL_HOST_S64, 0, &zero);
		return ret ? ret : im_binary(im, ACCEL_BINARY_NE, value, zero, out);
	}
	if (type_is_real(ref.type) && !type_is_real(type)) {
		trunc.func = ACCEL_UNARY_TRUNC;
		ret = im_one(im, &trunc.hdr, value, &value);
		if (ret)
			return ret;
	}
	if (int_bits(ref.type) && int_bits(type) && accel_type_bits(type) < 64 &&
	    !int_fits(ref.type, type)) {
		ret = wrap(im, ref.type, type, &value);
		if (ret)
			return ret;
	}
	if (accel_type_bits(type) < 8)
		ret = as_engine_integers(im, &value);
	if (ret)
		return ret;
	copy.d.dtype = type;
	return im_one(im, &copy.hdr, value, out);
}

/* The numbers of a constant list of integers; false: it is none. */
bool im_numbers(const struct ref *ref, int64_t *list, uint32_t *count, uint32_t max)
{
	uint32_t i, n = ref->rank ? (uint32_t)ref->dims[0] : 1;
	int32_t x;

	if (!ref->here || !ref->data || ref->rank > 1 || (ref->rank && ref->dims[0] > max))
		return false;
	for (i = 0; i < n; i++) {
		if (ref->type == ACCEL_HOST_S64) {
			memcpy(&list[i], (const char *)ref->data + i * sizeof(int64_t),
			       sizeof(int64_t));
		} else if (ref->type == ACCEL_S32) {
			memcpy(&x, (const char *)ref->data + i * sizeof(x), sizeof(x));
			list[i] = x;
		} else {
			return false;
		}
	}
	*count = n;
	return true;
}

/* Integers that stand for themselves less a number. */
void im_less(struct accel_tensor *t, int32_t zero)
{
	if (!zero)
		return;
	t->quant.scheme = ACCEL_QUANT_TENSOR;
	t->quant.scale = 1;
	t->quant.zero = zero;
}

/* A constant of one floating-point number or integer; false: it is none. */
bool im_real(const struct ref *ref, double *number)
{
	uint32_t i, count;
	int64_t n;
	float f;

	if (!ref->here || !ref->data)
		return false;
	for (i = 0; i < ref->rank; i++)
		if (ref->dims[i] != 1)
			return false;
	if (ref->type == ACCEL_F32) {
		memcpy(&f, ref->data, sizeof(f));
		*number = f;
		return true;
	}
	if (ref->type == ACCEL_HOST_F64) {
		memcpy(number, ref->data, sizeof(*number));
		return true;
	}
	if (!im_numbers(ref, &n, &count, 1))
		return false;
	*number = (double)n;
	return true;
}
