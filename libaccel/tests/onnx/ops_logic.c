// SPDX-License-Identifier: MIT
/*
 * Comparisons, logic, bits, and what chooses by them.
 */
#include <math.h>
#include <string.h>

#include "run.h"

static int do_compare(struct run *r, const struct op_map *m)
{
	return give(r, 0, lib_binary_as(r, m->arg, r->in[0], r->in[1], T_BOOL));
}

/* Functions of one number whose result is a truth value. */
static struct value *test_of(struct run *r, uint32_t func, struct value *a)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;
	struct value *v;
	struct view w[2];

	if (!usable(r, a))
		return NULL;
	v = new_value(r, T_BOOL, a->rank, a->dims);
	if (!v)
		return NULL;
	w[0] = view_of(v);
	w[1] = view_of(a);
	d.func = func;
	if (!squash(r, w, 2) || !fill_tensor(r, &d.d, &w[0]) || !fill_tensor(r, &d.a, &w[1]) ||
	    lib_run(r, &d.hdr))
		return NULL;
	return v;
}

static int do_test(struct run *r, const struct op_map *m)
{
	return give(r, 0, test_of(r, m->arg, r->in[0]));
}

static int do_is_inf(struct run *r, const struct op_map *m)
{
	struct value *v = test_of(r, m->arg, r->in[0]);
	bool positive = attr_int(r, "detect_positive", 1);
	bool negative = attr_int(r, "detect_negative", 1);
	struct value *zero = constant(r, T_FLOAT, 0);

	if (v && !positive)
		v = lib_binary(r, ACCEL_BINARY_AND, v,
			       lib_binary_as(r, ACCEL_BINARY_LT, r->in[0], zero, T_BOOL));
	if (v && !negative)
		v = lib_binary(r, ACCEL_BINARY_AND, v,
			       lib_binary_as(r, ACCEL_BINARY_GT, r->in[0], zero, T_BOOL));
	return give(r, 0, v);
}

/* Shifts of types that are stored as they are; of others what is shifted out would stay. */
static int do_shift(struct run *r, const struct op_map *m)
{
	bool left = attr_is(r, "direction", "LEFT", false);
	struct value *a = r->in[0];
	uint64_t n;

	(void)m;
	if (!usable(r, a) || !usable(r, r->in[1]))
		return r->ret;
	for (n = 0; left && a->type != T_UINT8 && n < r->in[1]->count; n++)
		if (get(r->in[1], n) > 15)
			return unsupported(r, "%s to the left by more than 15", type_name(a->type));
	for (n = 0; left && a->type != T_UINT8 && n < a->count; n++)
		if (get(a, n) > 255)
			return unsupported(r, "numbers of %s above 255 to the left",
					   type_name(a->type));
	return give(r, 0, lib_binary(r, left ? ACCEL_BINARY_SHL : ACCEL_BINARY_SHR, a, r->in[1]));
}

/* --- choosing ---------------------------------------------------------------------- */

/* @a ? @b : @c with the type of @b */
struct value *lib_select(struct run *r, struct value *a, struct value *b, struct value *c)
{
	struct accel_select_desc d = ACCEL_SELECT_DESC_INIT;
	struct value shape = { 0 }, *v;
	int64_t dims[MAX_RANK];
	struct view w[4];
	uint32_t rank;

	if (!usable(r, a) || !usable(r, b) || !usable(r, c) ||
	    !broadcast(r, b, c, &shape.rank, shape.dims))
		return NULL;
	/* That of three is that of the first and what the other two became. */
	if (!broadcast(r, a, &shape, &rank, dims))
		return NULL;
	v = new_value(r, b->type, rank, dims);
	if (!v)
		return NULL;
	w[0] = view_of(v);
	w[1] = view_of(a);
	w[2] = view_of(b);
	w[3] = view_of(c);
	if (!squash(r, w, 4) || !fill_tensor(r, &d.d, &w[0]) || !fill_tensor(r, &d.a, &w[1]) ||
	    !fill_tensor(r, &d.b, &w[2]) || !fill_tensor(r, &d.c, &w[3]) || lib_run(r, &d.hdr))
		return NULL;
	return v;
}

static int do_where(struct run *r, const struct op_map *m)
{
	(void)m;
	return give(r, 0, lib_select(r, r->in[0], r->in[1], r->in[2]));
}

static int do_thresholded_relu(struct run *r, const struct op_map *m)
{
	struct value *alpha = constant(r, T_FLOAT, (double)attr_float(r, "alpha", 1));
	struct value *x = r->in[0];

	(void)m;
	if (!usable(r, x))
		return r->ret;
	return give(r, 0, lib_select(r, lib_binary_as(r, ACCEL_BINARY_GT, x, alpha, T_BOOL), x,
				     constant(r, x->type, 0)));
}

/* x < -lambd ? x + bias : x > lambd ? x - bias : 0 */
static int do_shrink(struct run *r, const struct op_map *m)
{
	double lambd = (double)attr_float(r, "lambd", 0.5f);
	double bias = (double)attr_float(r, "bias", 0);
	struct value *x = r->in[0], *up, *down;

	(void)m;
	if (!usable(r, x))
		return r->ret;
	down = lib_binary_as(r, ACCEL_BINARY_LT, x, constant(r, T_FLOAT, -lambd), T_BOOL);
	up = lib_binary_as(r, ACCEL_BINARY_GT, x, constant(r, T_FLOAT, lambd), T_BOOL);
	return give(r, 0, lib_select(r, down, lib_plus(r, x, bias),
				     lib_select(r, up, lib_plus(r, x, -bias),
						constant(r, x->type, 0))));
}

/*
 * Indices along the axis compared with 0, 1, ..., negative ones from the end:
 * on where they are equal.
 */
static int do_one_hot(struct run *r, const struct op_map *m)
{
	int64_t axis = attr_int(r, "axis", -1), dims[MAX_RANK], depth, i;
	struct value *x = r->in[0], *v, *low;
	uint32_t k, n = 0;

	(void)m;
	if (!usable(r, x) || !usable(r, r->in[1]) || !usable(r, r->in[2]))
		return r->ret;
	if (x->rank >= MAX_RANK || r->in[2]->count != 2)
		return unsupported(r, "%u dimensions", x->rank);
	axis += axis < 0 ? x->rank + 1 : 0;
	depth = (int64_t)get(r->in[1], 0);
	if (depth < 0 || depth > 1 << 20)
		return unsupported(r, "a depth of %ld", (long)depth);
	low = lib_binary_as(r, ACCEL_BINARY_LT, x, constant(r, x->type, 0), T_BOOL);
	x = lib_select(r, low, lib_plus(r, lib_convert(r, x, T_FLOAT), (double)depth),
		       lib_convert(r, x, T_FLOAT));
	if (!x)
		return r->ret;
	for (k = 0; k <= x->rank; k++) {
		if (k == axis)
			dims[n++] = 1;
		if (k < x->rank)
			dims[n++] = x->dims[k];
	}
	x = relabel(r, x, x->type, n, dims);
	for (k = 0; k < n; k++)
		dims[k] = k == axis ? depth : 1;
	v = new_value(r, T_FLOAT, n, dims);
	for (i = 0; v && i < depth; i++)
		put(v, (uint64_t)i, (double)i);
	v = v ? lib_binary_as(r, ACCEL_BINARY_EQ, x, v, T_BOOL) : NULL;
	return give(r, 0, lib_select(r, v, lib_slice(r, r->in[2], 0, 1, 1),
				     lib_slice(r, r->in[2], 0, 0, 1)));
}

const struct op_map ops_logic[] = {
	{ "Equal", do_compare, BY_LIBRARY, ACCEL_BINARY_EQ, 7 },
	{ "Less", do_compare, BY_LIBRARY, ACCEL_BINARY_LT, 7 },
	{ "LessOrEqual", do_compare, BY_LIBRARY, ACCEL_BINARY_LE, 0 },
	{ "Greater", do_compare, BY_LIBRARY, ACCEL_BINARY_GT, 7 },
	{ "GreaterOrEqual", do_compare, BY_LIBRARY, ACCEL_BINARY_GE, 0 },
	{ "And", do_compare, BY_LIBRARY, ACCEL_BINARY_AND, 7 },
	{ "Or", do_compare, BY_LIBRARY, ACCEL_BINARY_OR, 7 },
	{ "Xor", do_compare, BY_LIBRARY, ACCEL_BINARY_XOR, 7 },
	{ "Not", do_test, BY_LIBRARY, ACCEL_UNARY_NOT, 0 },
	{ "IsNaN", do_test, BY_LIBRARY, ACCEL_UNARY_IS_NAN, 0 },
	{ "IsInf", do_is_inf, BY_LIBRARY, ACCEL_UNARY_IS_INF, 0 },
	{ "BitShift", do_shift, BY_LIBRARY, 0, 0 },
	{ "Where", do_where, BY_LIBRARY, 0, 0 },
	{ "ThresholdedRelu", do_thresholded_relu, BY_LIBRARY, 0, 0 },
	{ "Shrink", do_shrink, BY_LIBRARY, 0, 0 },
	{ "OneHot", do_one_hot, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
