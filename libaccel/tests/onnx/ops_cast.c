// SPDX-License-Identifier: MIT
/*
 * Operators between types: casts and quantisation.
 */
#include <math.h>
#include <string.h>

#include "run.h"

/* --- casts ------------------------------------------------------------------------- */

static bool fits(const struct value *v, double lo, double hi)
{
	uint64_t n;

	for (n = 0; n < v->count; n++)
		if (!(get(v, n) >= lo && get(v, n) <= hi))
			return false;
	return true;
}

/* Integers into a type that is stored as int32 but has fewer values. */
static struct value *to_wide_int(struct run *r, struct value *a, uint32_t type)
{
	static const double limits[][2] = {
		[T_INT16] = { INT16_MIN, INT16_MAX }, [T_UINT16] = { 0, UINT16_MAX },
		[T_UINT32] = { 0, INT32_MAX }, [T_UINT64] = { 0, INT32_MAX },
		[T_INT32] = { INT32_MIN, INT32_MAX }, [T_INT64] = { INT32_MIN, INT32_MAX },
	};

	if (!fits(a, limits[type][0], limits[type][1])) {
		unsupported(r, "numbers that %s as int32 does not have", type_name(type));
		return NULL;
	}
	return lib_convert(r, a, type);
}

/* The vectors cut bits off, the library rounds to nearest: the same only where nothing is lost. */
static struct value *to_bf16(struct run *r, struct value *a)
{
	struct value *v = lib_convert(r, a, T_BFLOAT16);
	uint64_t n;

	for (n = 0; v && n < v->count; n++)
		if (get(v, n) != get(a, n) && !isnan(get(a, n))) {
			unsupported(r, "bfloat16 by truncation; the library rounds to nearest");
			return NULL;
		}
	return v;
}

static struct value *cast(struct run *r, struct value *a, uint32_t type)
{
	if (!usable(r, a))
		return NULL;
	if (!type_dtype(type)) {
		unsupported(r, "no engine has %s", type_name(type));
		return NULL;
	}
	if (a->type == type)
		return a;
	if (type == T_BOOL)
		return lib_binary_as(r, ACCEL_BINARY_NE, a, constant(r, a->type, 0), T_BOOL);
	if (type_is_float(type)) {
		/* An integer that binary32 rounds is no double. */
		if (type == T_DOUBLE && a->dtype == ACCEL_S32 && !fits(a, -0x1p24, 0x1p24)) {
			unsupported(r, "integers beyond 2^24 to double");
			return NULL;
		}
		return type == T_BFLOAT16 ? to_bf16(r, a) : lib_convert(r, a, type);
	}
	if (type_is_float(a->type)) {
		a = lib_unary(r, ACCEL_UNARY_TRUNC, lib_convert(r, a, T_FLOAT));
		if (!a)
			return NULL;
		/* The largest float below 2^31 */
		if (!fits(a, INT32_MIN, 0x1.fffffep30)) {
			unsupported(r, "numbers beyond int32, or NaN, to %s", type_name(type));
			return NULL;
		}
		a = lib_convert(r, a, T_INT32);
	}
	if (r->ret)
		return NULL;
	if (type_dtype(type) == ACCEL_S32)
		return to_wide_int(r, a, type);
	if (a->dtype == ACCEL_S32 && !fits(a, -0x1p24, 0x1p24)) {
		unsupported(r, "integers beyond 2^24 to %s", type_name(type));
		return NULL;
	}
	return lib_wrap(r, a, type);
}

static int do_cast(struct run *r, const struct op_map *m)
{
	(void)m;
	return give(r, 0, cast(r, r->in[0], (uint32_t)attr_int(r, "to", 0)));
}

static int do_cast_like(struct run *r, const struct op_map *m)
{
	(void)m;
	return give(r, 0, r->in[1] ? cast(r, r->in[0], r->in[1]->type) : NULL);
}

/* --- quantisation ------------------------------------------------------------------ */

static bool one_number(struct run *r, const struct value *v, const char *what)
{
	if (v->count == 1)
		return true;
	unsupported(r, "%s of %lu numbers", what, (unsigned long)v->count);
	return false;
}

/*
 * What scale and zero point say of @t, whose channels are those of @axis. The
 * CPU reads a single pair; tables stay where they are.
 */
bool quantise(struct run *r, struct accel_tensor *t, struct value *scale, struct value *zero,
	      int64_t axis)
{
	if (!usable(r, scale) || (zero && !usable(r, zero)))
		return false;
	memset(&t->quant, 0, sizeof(t->quant));
	if (scale->count == 1) {
		t->quant.scheme = ACCEL_QUANT_TENSOR;
		t->quant.scale = (float)get(scale, 0);
		if (zero && !one_number(r, zero, "zero points"))
			return false;
		t->quant.zero = zero ? (int32_t)get(zero, 0) : 0;
		return true;
	}
	if (axis < 0)
		axis += t->rank;
	if (axis < 0 || axis >= t->rank || scale->count != (uint64_t)t->dims[axis]) {
		broken(r, "%lu scales for axis %ld", (unsigned long)scale->count, (long)axis);
		return false;
	}
	t->quant.scheme = ACCEL_QUANT_CHANNEL;
	t->quant.axis = (uint32_t)axis;
	t->quant.scale_dtype = scale->dtype;
	t->quant.scales = scale->bo;
	if (!zero)
		return true;
	zero = lib_convert(r, zero, T_INT32);
	if (!zero)
		return false;
	t->quant.zeros = zero->bo;
	return true;
}

static int do_quantize(struct run *r, const struct op_map *m)
{
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;
	struct value *a = r->in[0], *v;
	int64_t axis = attr_int(r, "axis", 1);

	(void)m;
	if (!usable(r, a))
		return r->ret;
	v = new_value(r, r->in[2] ? r->in[2]->type : T_UINT8, a->rank, a->dims);
	if (!tensor_of(r, &d.a, a) || !tensor_of(r, &d.d, v) ||
	    !quantise(r, &d.d, r->in[1], r->in[2], axis) || lib_run(r, &d.hdr))
		return r->ret;
	return give(r, 0, v);
}

static int do_dequantize(struct run *r, const struct op_map *m)
{
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;
	struct value *a = r->in[0], *v;
	int64_t axis = attr_int(r, "axis", 1);

	(void)m;
	if (!usable(r, a))
		return r->ret;
	v = new_value(r, T_FLOAT, a->rank, a->dims);
	if (!tensor_of(r, &d.a, a) || !tensor_of(r, &d.d, v) ||
	    !quantise(r, &d.a, r->in[1], r->in[2], axis) || lib_run(r, &d.hdr))
		return r->ret;
	return give(r, 0, v);
}

/* Scale and zero point from the smallest and the largest, 0 between them. */
static int do_dynamic_quantize(struct run *r, const struct op_map *m)
{
	struct accel_copy_desc d = ACCEL_COPY_DESC_INIT;
	struct value *a = r->in[0], *lo, *hi, *scale, *zero, *v;
	uint32_t all;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	all = (1u << a->rank) - 1;
	hi = lib_reduce(r, ACCEL_REDUCE_MAX, 0, a, all, T_FLOAT);
	lo = lib_reduce(r, ACCEL_REDUCE_MIN, 0, a, all, T_FLOAT);
	hi = lib_binary(r, ACCEL_BINARY_MAX, hi, constant(r, T_FLOAT, 0));
	lo = lib_binary(r, ACCEL_BINARY_MIN, lo, constant(r, T_FLOAT, 0));
	scale = lib_binary(r, ACCEL_BINARY_DIV, lib_binary(r, ACCEL_BINARY_SUB, hi, lo),
			   constant(r, T_FLOAT, 255));
	zero = lib_unary(r, ACCEL_UNARY_NEG, lib_binary(r, ACCEL_BINARY_DIV, lo, scale));
	zero = zero ? lib_convert(r, lib_unary(r, ACCEL_UNARY_ROUND, zero), T_UINT8) : NULL;
	if (!zero)
		return r->ret;
	scale = relabel(r, scale, T_FLOAT, 0, NULL);
	zero = relabel(r, zero, T_UINT8, 0, NULL);
	if (scale && !(get(scale, 0) > 0))
		return unsupported(r, "nothing but zeros");
	v = new_value(r, T_UINT8, a->rank, a->dims);
	if (tensor_of(r, &d.a, a) && tensor_of(r, &d.d, v) && quantise(r, &d.d, scale, zero, 0))
		lib_run(r, &d.hdr);
	give(r, 1, scale);
	give(r, 2, zero);
	return give(r, 0, v);
}

const struct op_map ops_cast[] = {
	{ "Cast", do_cast, BY_LIBRARY, 0, 6 },
	{ "CastLike", do_cast_like, BY_LIBRARY, 0, 0 },
	{ "QuantizeLinear", do_quantize, BY_LIBRARY, 0, 0 },
	{ "DequantizeLinear", do_dequantize, BY_LIBRARY, 0, 0 },
	{ "DynamicQuantizeLinear", do_dynamic_quantize, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
