// SPDX-License-Identifier: MIT
/*
 * Tensors read by the CPU: what they stand for, in binary64. For the tools
 * around quantisation, which look at each number once; nothing here is fast.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "libaccel/core/objects.h"
#include "reader.h"

/* Range of the stored numbers of a type that may be quantised. */
double half_value(uint16_t bits)
{
	uint32_t exp = bits >> 10 & 0x1f, mant = bits & 0x3ff;
	double v;

	if (exp == 0x1f)
		v = mant ? NAN : INFINITY;
	else if (exp)
		v = ldexp(mant + 1024.0, (int)exp - 25);
	else
		v = ldexp(mant, -24);
	return bits & 0x8000 ? -v : v;
}

/* Bytes lo .. hi around @offset: where the CPU sees them. */
static const uint8_t *look_at(struct accel_bo *bo, uint64_t offset, int64_t lo,
			      int64_t hi, const char *name, const char *field,
			      const char *offset_field, struct accel_error *e)
{
	if (!bo) {
		bad(e, -EINVAL, name, field, "there is no buffer");
		return NULL;
	}
	if (!bo->ptr) {
		bad(e, -EINVAL, name, field, "the CPU does not see the buffer");
		return NULL;
	}
	/* An operand's extent is bounded by 2^48: nothing here overflows. */
	if (offset > bo->size || hi > (int64_t)(bo->size - offset) ||
	    lo < -(int64_t)offset) {
		bad(e, -EINVAL, name, offset_field,
		    "%llu: the tensor needs the bytes from %lld to %lld around it, the buffer has %llu",
		    (unsigned long long)offset, (long long)lo, (long long)hi,
		    (unsigned long long)bo->size);
		return NULL;
	}
	if (accel_bo_cpu_begin(bo, offset + (uint64_t)lo, (uint64_t)(hi - lo),
			       ACCEL_CPU_READ)) {
		bad(e, -ENODEV, name, field, "the buffer cannot be read");
		return NULL;
	}
	return (const uint8_t *)bo->ptr + offset;
}

/**
 * reader_open - check a tensor that the CPU is going to read
 * @r: out
 * @t: tensor
 * @name: its name, for messages
 * @e: filled on failure
 *
 * Return: 0; -EINVAL a bad tensor, no buffer, one that the CPU does not see or
 * that is too small; -ENODEV.
 */
int reader_open(struct reader *r, const struct accel_tensor *t, const char *name,
		struct accel_error *e)
{
	const struct accel_quant *q = &t->quant;
	struct operand *o = &r->t;
	int ret;

	memset(r, 0, sizeof(*r));
	ret = operand_init(o, t, 0, name, e);
	if (ret || operand_empty(o))
		return ret;
	r->first = look_at(t->bo, t->offset, o->lo, o->hi, name, "bo", "offset", e);
	if (!r->first)
		return e->code;
	if (o->quant.scheme < ACCEL_QUANT_CHANNEL)
		return 0;
	r->scales = look_at(q->scales, q->scales_offset, 0,
			    (int64_t)(o->quant.entries *
				      accel_dtype_bits(o->quant.scale_dtype) / 8),
			    name, "quant.scales", "quant.scales_offset", e);
	if (!r->scales)
		return e->code;
	if (!o->quant.zeros)
		return 0;
	r->zeros = look_at(q->zeros, q->zeros_offset, 0,
			   (int64_t)(o->quant.entries * quant_zero_bytes(&o->quant)), name,
			   "quant.zeros", "quant.zeros_offset", e);
	return r->zeros ? 0 : e->code;
}

/**
 * reader_entry - entry of the tables that an element belongs to
 * @t: the tensor's shape
 * @scheme: &enum accel_quant_scheme
 * @axis: as in &struct accel_quant
 * @group: likewise
 * @idx: index of the element
 *
 * Return: linear index into the tables.
 */
uint64_t reader_entry(const struct operand *t, uint32_t scheme, uint32_t axis,
		      uint32_t group, const int64_t *idx)
{
	uint64_t n = 0;
	uint32_t i;

	if (scheme == ACCEL_QUANT_CHANNEL)
		return (uint64_t)idx[axis];
	if (scheme != ACCEL_QUANT_GROUP)
		return 0;
	for (i = 0; i < t->rank; i++) {
		uint64_t dim = (uint64_t)t->dims[i], at = (uint64_t)idx[i];

		if (i == axis) {
			dim = (dim + group - 1) / group;
			at /= group;
		}
		n = n * dim + at;
	}
	return n;
}

static int64_t offset_of(const struct operand *t, const int64_t *idx)
{
	int64_t off = 0;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		off += idx[i] * t->strides[i];
	return off;
}

/* An element of one of the integer types as it is stored. */
int32_t reader_stored(const struct reader *r, const int64_t *idx)
{
	int64_t off = offset_of(&r->t, idx);
	int32_t v;

	switch (r->t.dtype) {
	case ACCEL_S32:
		memcpy(&v, r->first + off * 4, 4);
		return v;
	case ACCEL_S8:
		return (int8_t)r->first[off];
	case ACCEL_U8:
		return r->first[off];
	default:
		v = r->first[off >> 1] >> (off & 1 ? 4 : 0) & 15;
		return r->t.dtype == ACCEL_S4 && v > 7 ? v - 16 : v;
	}
}

static double float_value(const struct reader *r, const int64_t *idx)
{
	int64_t off = offset_of(&r->t, idx);
	uint16_t half;
	uint32_t bits;
	float f;

	if (r->t.dtype == ACCEL_F32) {
		memcpy(&f, r->first + off * 4, 4);
		return f;
	}
	memcpy(&half, r->first + off * 2, 2);
	if (r->t.dtype == ACCEL_F16)
		return half_value(half);
	bits = (uint32_t)half << 16;
	memcpy(&f, &bits, 4);
	return f;
}

/* A scale or a minimum. */
static double entry_value(const uint8_t *table, uint32_t dtype, uint64_t at)
{
	uint16_t half;
	float f;

	if (dtype == ACCEL_F16) {
		memcpy(&half, table + at * 2, 2);
		return half_value(half);
	}
	memcpy(&f, table + at * 4, 4);
	return f;
}

/* What an element stands for. */
double reader_value(const struct reader *r, const int64_t *idx)
{
	const struct operand_quant *q = &r->t.quant;
	const bool mins = quant_scheme(q) == ACCEL_QUANT_GROUP_MIN;
	double scale = q->scale, min = 0;
	int32_t zero = q->zero;
	uint64_t n;

	if (uma_is_float(r->t.dtype))
		return float_value(r, idx);
	if (q->scheme == ACCEL_QUANT_NONE)
		return reader_stored(r, idx);
	if (q->scheme != ACCEL_QUANT_TENSOR) {
		n = reader_entry(&r->t, q->scheme, q->axis, q->group, idx);
		scale = entry_value(r->scales, q->scale_dtype, n);
		if (mins)
			min = entry_value(r->zeros, q->zeros, n);
		else if (r->zeros)
			memcpy(&zero, r->zeros + n * 4, 4);
	}
	return scale * ((double)reader_stored(r, idx) - zero) + min;
}

/* The next element in row-major order; false after the last. */
bool reader_next(const struct operand *t, int64_t *idx)
{
	uint32_t i;

	for (i = t->rank; i-- > 0; ) {
		if (++idx[i] < t->dims[i])
			return true;
		idx[i] = 0;
	}
	return false;
}
