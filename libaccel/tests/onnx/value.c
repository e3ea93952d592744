// SPDX-License-Identifier: MIT
/*
 * Values of a graph in memory of the library, and the judgement of results.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/tests/oracle/oracle.h"
#include "run.h"

/* What ONNX's own runner allows. */
#define RTOL	0.001
#define ATOL	0.0000001

bool type_is_float(uint32_t type)
{
	return type == T_FLOAT || type == T_FLOAT16 || type == T_BFLOAT16 || type == T_DOUBLE;
}

/* How a type is stored; numbers that do not fit are another matter. */
uint32_t type_dtype(uint32_t type)
{
	switch (type) {
	case T_FLOAT:
	case T_DOUBLE:
		return ACCEL_F32;
	case T_FLOAT16:
		return ACCEL_F16;
	case T_BFLOAT16:
		return ACCEL_BF16;
	case T_UINT8:
	case T_BOOL:
		return ACCEL_U8;
	case T_INT8:
		return ACCEL_S8;
	case T_INT16:
	case T_UINT16:
	case T_INT32:
	case T_UINT32:
	case T_INT64:
	case T_UINT64:
		return ACCEL_S32;
	default:
		return ACCEL_NONE;
	}
}

static struct value *alloc_value(struct run *r, uint32_t type, uint32_t rank,
				 const int64_t *dims)
{
	struct value *v = calloc(1, sizeof(*v));
	uint32_t i;

	if (!v) {
		r->ret = -ENOMEM;
		return NULL;
	}
	v->type = type;
	v->rank = rank;
	v->count = 1;
	for (i = 0; i < rank; i++) {
		v->dims[i] = dims[i];
		v->count *= (uint64_t)dims[i];
	}
	v->next = r->values;
	r->values = v;
	return v;
}

/* A dense tensor of zeros. */
struct value *new_value(struct run *r, uint32_t type, uint32_t rank, const int64_t *dims)
{
	struct value *v;
	uint32_t i;

	if (r->ret)
		return NULL;
	if (rank > MAX_RANK) {
		unsupported(r, "%u dimensions", rank);
		return NULL;
	}
	for (i = 0; i < rank; i++)
		if (dims[i] < 0 || dims[i] > 1 << 28) {
			broken(r, "a dimension of %" PRId64, dims[i]);
			return NULL;
		}
	v = alloc_value(r, type, rank, dims);
	if (!v)
		return NULL;
	v->dtype = type_dtype(type);
	r->ret = accel_bo_create(r->ctx, (v->count + 1) * 4, NULL, &v->bo);
	if (r->ret) {
		broken(r, "a buffer of %" PRIu64 " elements", v->count);
		return NULL;
	}
	v->data = accel_bo_ptr(v->bo);
	return v;
}

struct value *new_like(struct run *r, const struct value *v)
{
	return v ? new_value(r, v->type, v->rank, v->dims) : NULL;
}

/* The same elements under another shape or type that is stored alike. */
struct value *relabel(struct run *r, struct value *v, uint32_t type, uint32_t rank,
		      const int64_t *dims)
{
	struct value *w;

	if (r->ret || !v)
		return NULL;
	if (rank > MAX_RANK) {
		unsupported(r, "%u dimensions", rank);
		return NULL;
	}
	w = alloc_value(r, type, rank, dims);
	if (!w)
		return NULL;
	if (w->count != v->count) {
		broken(r, "%" PRIu64 " elements relabelled as %" PRIu64, v->count, w->count);
		return NULL;
	}
	w->dtype = v->dtype;
	w->bo = v->bo ? accel_bo_ref(v->bo) : NULL;
	w->data = v->data;
	return w;
}

/* Element @n as a number; for shapes, axes and results, which the CPU reads. */
double get(const struct value *v, uint64_t n)
{
	uint32_t wide;
	float f;

	switch (v->dtype) {
	case ACCEL_F32:
		return ((const float *)v->data)[n];
	case ACCEL_F16:
		return oracle_f16_value(((const uint16_t *)v->data)[n]);
	case ACCEL_BF16:
		wide = (uint32_t)((const uint16_t *)v->data)[n] << 16;
		memcpy(&f, &wide, sizeof(f));
		return f;
	case ACCEL_S32:
		return ((const int32_t *)v->data)[n];
	case ACCEL_S8:
		return ((const int8_t *)v->data)[n];
	default:
		return ((const uint8_t *)v->data)[n];
	}
}

void put(struct value *v, uint64_t n, double number)
{
	float f = (float)number;
	uint32_t wide;

	memcpy(&wide, &f, sizeof(wide));
	switch (v->dtype) {
	case ACCEL_F32:
		((float *)v->data)[n] = f;
		break;
	case ACCEL_F16:
		((uint16_t *)v->data)[n] = oracle_f16_bits(number);
		break;
	case ACCEL_BF16:
		((uint16_t *)v->data)[n] = (uint16_t)(wide >> 16);
		break;
	case ACCEL_S32:
		((int32_t *)v->data)[n] = (int32_t)number;
		break;
	case ACCEL_S8:
		((int8_t *)v->data)[n] = (int8_t)number;
		break;
	default:
		((uint8_t *)v->data)[n] = (uint8_t)number;
	}
}

/* Numbers of a file; one that does not fit leaves the value without a dtype. */
struct value *value_from_raw(struct run *r, const struct raw *raw)
{
	struct value *v = new_value(r, raw->type, raw->rank, raw->dims);
	uint64_t n;

	for (n = 0; v && n < raw->count; n++) {
		if (type_is_float(raw->type)) {
			if (raw->type == T_DOUBLE && !isnan(raw->f[n]) &&
			    (double)(float)raw->f[n] != raw->f[n])
				v->dtype = ACCEL_NONE;
			put(v, n, raw->f[n]);
		} else {
			if (v->dtype == ACCEL_S32 &&
			    (raw->i[n] < INT32_MIN || raw->i[n] > INT32_MAX))
				v->dtype = ACCEL_NONE;
			else
				put(v, n, (double)raw->i[n]);
		}
		if (!v->dtype)
			break;
	}
	return v;
}

struct value *value_from_proto(struct run *r, const Onnx__TensorProto *t)
{
	struct value *v = NULL;
	struct raw raw;
	int ret;

	if (r->ret)
		return NULL;
	ret = raw_from_proto(t, 0, &raw);
	if (ret == -EOPNOTSUPP) {
		/* It may be that nobody looks into it. */
		return alloc_value(r, (uint32_t)t->data_type, 0, NULL);
	}
	if (ret) {
		broken(r, "the tensor %s cannot be read", t->name ? t->name : "");
		return NULL;
	}
	v = value_from_raw(r, &raw);
	raw_free(&raw);
	return v;
}

struct value *constant(struct run *r, uint32_t type, double number)
{
	struct value *v = new_value(r, type, 0, NULL);

	if (v)
		put(v, 0, number);
	return v;
}

struct value *constants(struct run *r, uint32_t type, uint32_t n, const int64_t *numbers)
{
	const int64_t dims[1] = { n };
	struct value *v = new_value(r, type, 1, dims);
	uint32_t i;

	for (i = 0; v && i < n; i++)
		put(v, i, (double)numbers[i]);
	return v;
}

/* A list of shapes, axes, ...; 0 also if it is left out. */
uint32_t get_ints(struct run *r, struct value *v, int64_t *list, uint32_t max)
{
	uint32_t i;

	if (!v || r->ret)
		return 0;
	if (!v->dtype || v->count > max) {
		unsupported(r, "a list of numbers beyond 32 bits, or more than %u", max);
		return 0;
	}
	for (i = 0; i < v->count; i++)
		list[i] = (int64_t)get(v, i);
	return (uint32_t)v->count;
}

static bool close_enough(double got, double want)
{
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got);
	if (isinf(want) || isinf(got))
		return want == got;
	return fabs(got - want) <= ATOL + RTOL * fabs(want);
}

/* Is it what the vector says: type, shape, every element? */
bool compare(const struct value *got, const struct raw *want, char *why, size_t size)
{
	bool real = type_is_float(want->type);
	uint32_t i;
	uint64_t n;

	if (got->type != want->type) {
		snprintf(why, size, "the type is %s, should be %s", type_name(got->type),
			 type_name(want->type));
		return false;
	}
	if (got->rank != want->rank) {
		snprintf(why, size, "%u dimensions, should be %u", got->rank, want->rank);
		return false;
	}
	for (i = 0; i < got->rank; i++)
		if (got->dims[i] != want->dims[i]) {
			snprintf(why, size, "dimension %u is %" PRId64 ", should be %" PRId64, i,
				 got->dims[i], want->dims[i]);
			return false;
		}
	for (n = 0; n < want->count; n++) {
		double w = real ? want->f[n] : (double)want->i[n], g = get(got, n);

		if (real ? !close_enough(g, w) : g != w) {
			snprintf(why, size, "element %" PRIu64 " is %.9g, should be %.9g", n, g, w);
			return false;
		}
	}
	return true;
}

void free_values(struct run *r)
{
	struct value *v, *next;

	for (v = r->values; v; v = next) {
		next = v->next;
		accel_bo_unref(v->bo);
		free(v);
	}
	r->values = NULL;
}
