// SPDX-License-Identifier: MIT
/*
 * Copies, constants and functions of one and two tensors, an element at a time.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY
/* Computed in binary64 and rounded once, in units of U */
#define ONCE	1.0001

/* Functions of the C library. */
static struct oracle_num smooth(struct oracle_num in, uint32_t f)
{
	static double (*const functions[ACCEL_UNARY_COUNT])(double) = {
		[ACCEL_UNARY_SIN] = sin, [ACCEL_UNARY_COS] = cos,
		[ACCEL_UNARY_TAN] = tan, [ACCEL_UNARY_ASIN] = asin,
		[ACCEL_UNARY_ACOS] = acos, [ACCEL_UNARY_ATAN] = atan,
		[ACCEL_UNARY_SINH] = sinh, [ACCEL_UNARY_COSH] = cosh,
		[ACCEL_UNARY_ASINH] = asinh, [ACCEL_UNARY_ACOSH] = acosh,
		[ACCEL_UNARY_ATANH] = atanh,
	};

	return functions[f] ? oracle_func(in, functions[f](in.v), 0, ONCE) : in;
}

static struct oracle_num unary(double x, uint32_t f)
{
	struct oracle_num in = { x, 0 };

	switch (f) {
	case ACCEL_UNARY_ABS:
		in.v = fabs(x);
		return in;
	case ACCEL_UNARY_NEG:
		in.v = -x;
		return in;
	case ACCEL_UNARY_SQRT:
		in.v = (float)sqrt(x);
		return in;
	case ACCEL_UNARY_RSQRT:
		return oracle_func(in, 1 / sqrt(x), 0, 3);
	case ACCEL_UNARY_RECIP:
		in.v = (float)(1 / x);
		return in;
	case ACCEL_UNARY_EXP:
		return oracle_func(in, exp(x), 0, 3);
	case ACCEL_UNARY_LOG:
		return oracle_func(in, log(x), 0, 3);
	case ACCEL_UNARY_ERF:
		return oracle_func(in, erf(x), 0, 4);
	case ACCEL_UNARY_SQUARE:
		in.v = (float)(x * x);
		return in;
	case ACCEL_UNARY_FLOOR:
		in.v = floor(x);
		return in;
	case ACCEL_UNARY_CEIL:
		in.v = ceil(x);
		return in;
	case ACCEL_UNARY_ROUND:
		in.v = nearbyint(x);
		return in;
	case ACCEL_UNARY_SIGN:
		in.v = x > 0 ? 1 : x < 0 ? -1 : x;
		return in;
	case ACCEL_UNARY_TRUNC:
		in.v = trunc(x);
		return in;
	case ACCEL_UNARY_IS_NAN:
		in.v = isnan(x) ? 1 : 0;
		return in;
	case ACCEL_UNARY_IS_INF:
		in.v = isinf(x) ? 1 : 0;
		return in;
	case ACCEL_UNARY_NOT:
		in.v = x == 0 ? 1 : 0;
		return in;
	default:
		return smooth(in, f);
	}
}

/* Comparisons and logic. */
static bool holds(double a, double b, uint32_t f)
{
	switch (f) {
	case ACCEL_BINARY_EQ:
		return a == b;
	case ACCEL_BINARY_NE:
		return a != b;
	case ACCEL_BINARY_LT:
		return a < b;
	case ACCEL_BINARY_LE:
		return a <= b;
	case ACCEL_BINARY_GT:
		return a > b;
	case ACCEL_BINARY_GE:
		return a >= b;
	case ACCEL_BINARY_AND:
		return a != 0 && b != 0;
	case ACCEL_BINARY_OR:
		return a != 0 || b != 0;
	default:
		return (a != 0) != (b != 0);
	}
}

static double modulo(double a, double b)
{
	double r = fmod(a, b);

	if (r == 0)
		return copysign(0, b);
	return (r < 0) != (b < 0) ? (float)(r + b) : r;
}

/* Each but the power is rounded once, or not at all: so known. */
static struct oracle_num binary(double a, double b, uint32_t f)
{
	struct oracle_num x = { 0, 0 };

	switch (f) {
	case ACCEL_BINARY_ADD:
		x.v = (float)(a + b);
		break;
	case ACCEL_BINARY_SUB:
		x.v = (float)(a - b);
		break;
	case ACCEL_BINARY_MUL:
		x.v = (float)(a * b);
		break;
	case ACCEL_BINARY_DIV:
		x.v = (float)(a / b);
		break;
	case ACCEL_BINARY_MAX:
		x.v = isnan(a) || isnan(b) ? NAN : a > b ? a : b;
		break;
	case ACCEL_BINARY_MIN:
		x.v = isnan(a) || isnan(b) ? NAN : a < b ? a : b;
		break;
	case ACCEL_BINARY_MOD:
		x.v = modulo(a, b);
		break;
	case ACCEL_BINARY_REM:
		x.v = fmod(a, b);
		break;
	case ACCEL_BINARY_QUOT:
		x.v = trunc((float)(a / b));
		break;
	case ACCEL_BINARY_POW:
		return oracle_func(x, pow(a, b), 0, ONCE);
	case ACCEL_BINARY_PRELU:
		x.v = a < 0 ? (float)(b * a) : a;
		break;
	default:
		x.v = holds(a, b, f);
		break;
	}
	return x;
}

/* A power of integers: what has no place is cut to it. */
static int64_t power_exact(int64_t a, int64_t b)
{
	double y = trunc(pow((double)a, (double)b));

	return (int64_t)fmin(fmax(y, INT32_MIN), INT32_MAX);
}

static int64_t modulo_exact(int64_t a, int64_t b)
{
	int64_t r = a % b;

	return r && (r < 0) != (b < 0) ? r + b : r;
}

/* The low bits of @v as a number of the type. */
static int64_t low_bits(int64_t v, uint32_t dtype)
{
	uint32_t bits = accel_dtype_bits(dtype);
	int64_t low = (int64_t)((uint64_t)v & ((1ull << bits) - 1));

	if (dtype != ACCEL_U8 && dtype != ACCEL_U4 && low >> (bits - 1))
		low -= 1ll << bits;
	return low;
}

static int64_t bits_exact(int64_t a, int64_t b, uint32_t f, uint32_t dtype)
{
	switch (f) {
	case ACCEL_BINARY_BIT_AND:
		return low_bits(a & b, dtype);
	case ACCEL_BINARY_BIT_OR:
		return low_bits(a | b, dtype);
	case ACCEL_BINARY_BIT_XOR:
		return low_bits(a ^ b, dtype);
	case ACCEL_BINARY_SHL:
		return b < 0 || b > 31 ? 0 : low_bits((int64_t)((uint64_t)a << b), dtype);
	default:
		return b < 0 || b > 31 ? (a < 0 ? -1 : 0) : a >> b;
	}
}

static int64_t unary_exact(int64_t a, uint32_t f, uint32_t dtype)
{
	switch (f) {
	case ACCEL_UNARY_ABS:
		return a < 0 ? -a : a;
	case ACCEL_UNARY_NEG:
		return -a;
	case ACCEL_UNARY_SQUARE:
		return a * a;
	case ACCEL_UNARY_SIGN:
		return a > 0 ? 1 : a < 0 ? -1 : 0;
	case ACCEL_UNARY_NOT:
		return a == 0;
	default:
		return low_bits(~a, dtype);
	}
}

static int64_t binary_exact(int64_t a, int64_t b, uint32_t f)
{
	switch (f) {
	case ACCEL_BINARY_ADD:
		return a + b;
	case ACCEL_BINARY_SUB:
		return a - b;
	case ACCEL_BINARY_MUL:
		return a * b;
	case ACCEL_BINARY_MAX:
		return a > b ? a : b;
	case ACCEL_BINARY_MIN:
		return a < b ? a : b;
	case ACCEL_BINARY_MOD:
		return b ? modulo_exact(a, b) : 0;
	case ACCEL_BINARY_REM:
		return b ? a % b : 0;
	case ACCEL_BINARY_QUOT:
		return b ? a / b : 0;
	case ACCEL_BINARY_POW:
		return power_exact(a, b);
	case ACCEL_BINARY_PRELU:
		return a < 0 ? a * b : a;
	default:
		return holds((double)a, (double)b, f);
	}
}

static bool has_exact_unary(uint32_t f)
{
	return f == ACCEL_UNARY_ABS || f == ACCEL_UNARY_NEG || f == ACCEL_UNARY_SQUARE ||
	       f == ACCEL_UNARY_SIGN || f == ACCEL_UNARY_NOT;
}

static bool of_bits(uint32_t f)
{
	return f >= ACCEL_BINARY_BIT_AND && f <= ACCEL_BINARY_SHR;
}

static bool plain_s32(const struct accel_tensor *t)
{
	return t->dtype == ACCEL_S32 && !t->quant.scheme;
}

/* Formed in integers from beginning to end? */
static bool is_exact(const struct accel_desc *desc)
{
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_unary_desc *u = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;
	const struct accel_select_desc *s = (const void *)desc;

	switch (desc->op) {
	case ACCEL_OP_COPY:
		return oracle_plain_int(&c->a) && oracle_plain_int(&c->d);
	case ACCEL_OP_FILL:
		return f->d.dtype > ACCEL_BF16;
	case ACCEL_OP_SELECT:
		/* Anything else goes through binary32. */
		return oracle_plain_int(&s->b) && oracle_plain_int(&s->c) &&
		       oracle_plain_int(&s->d) &&
		       s->b.dtype == s->d.dtype && s->c.dtype == s->d.dtype;
	case ACCEL_OP_UNARY:
		return u->func == ACCEL_UNARY_BIT_NOT ||
		       (plain_s32(&u->a) && plain_s32(&u->d) &&
			has_exact_unary(u->func) && u->epilogue.act <= ACCEL_ACT_RELU);
	case ACCEL_OP_BINARY:
		if (of_bits(b->func))
			return true;
		return plain_s32(&b->a) && plain_s32(&b->b) && plain_s32(&b->d);
	default:
		return false;
	}
}

/* What a selection takes: NaN is not zero. */
static const struct accel_tensor *chosen(const struct accel_select_desc *s,
					 const int64_t *idx)
{
	return oracle_load_broadcast(&s->a, &s->d, idx) == 0 ? &s->c : &s->b;
}

static int64_t element_exact(const struct accel_desc *desc, const int64_t *idx)
{
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_unary_desc *u = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;
	const struct accel_select_desc *s = (const void *)desc;
	int64_t v;

	if (desc->op == ACCEL_OP_COPY)
		return oracle_saturate(oracle_load_int_broadcast(&c->a, &c->d, idx), c->d.dtype);
	if (desc->op == ACCEL_OP_FILL)
		return oracle_whole(f->value, f->d.dtype);
	if (desc->op == ACCEL_OP_SELECT)
		return oracle_load_int_broadcast(chosen(s, idx), &s->d, idx);
	if (desc->op == ACCEL_OP_UNARY) {
		v = unary_exact(oracle_load_int_broadcast(&u->a, &u->d, idx), u->func,
				u->d.dtype);
		v = oracle_saturate(v, u->d.dtype);
		return u->epilogue.act == ACCEL_ACT_RELU && v < 0 ? 0 : v;
	}
	if (of_bits(b->func))
		return bits_exact(oracle_load_int_broadcast(&b->a, &b->d, idx),
				  oracle_load_int_broadcast(&b->b, &b->d, idx), b->func,
				  b->d.dtype);
	v = binary_exact(oracle_load_int_broadcast(&b->a, &b->d, idx),
			 oracle_load_int_broadcast(&b->b, &b->d, idx), b->func);
	v = oracle_saturate(v, ACCEL_S32);
	return b->epilogue.act == ACCEL_ACT_RELU && v < 0 ? 0 : v;
}

/* Integers are compared as they are. */
static bool compares_integers(const struct accel_binary_desc *b)
{
	return oracle_plain_int(&b->a) && oracle_plain_int(&b->b) && b->func >= ACCEL_BINARY_EQ &&
	       b->func <= ACCEL_BINARY_XOR;
}

static struct oracle_num compared(const struct accel_binary_desc *b, const int64_t *idx)
{
	double x = (double)oracle_load_int_broadcast(&b->a, &b->d, idx);
	double y = (double)oracle_load_int_broadcast(&b->b, &b->d, idx);

	return (struct oracle_num){ holds(x, y, b->func), 0 };
}

static struct oracle_num element(const struct accel_desc *desc, const int64_t *idx)
{
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_unary_desc *u = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;
	const struct accel_select_desc *s = (const void *)desc;

	switch (desc->op) {
	case ACCEL_OP_SELECT:
		return (struct oracle_num){
			oracle_load_broadcast(chosen(s, idx), &s->d, idx), 0
		};
	case ACCEL_OP_COPY:
		return (struct oracle_num){ oracle_load_broadcast(&c->a, &c->d, idx), 0 };
	case ACCEL_OP_FILL:
		return (struct oracle_num){ f->value, 0 };
	case ACCEL_OP_UNARY:
		return oracle_activation(unary(oracle_load_broadcast(&u->a, &u->d, idx), u->func),
				  &u->epilogue);
	default:
		if (compares_integers(b))
			return oracle_activation(compared(b, idx), &b->epilogue);
		return oracle_activation(binary(oracle_load_broadcast(&b->a, &b->d, idx),
					 oracle_load_broadcast(&b->b, &b->d, idx), b->func),
				  &b->epilogue);
	}
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	if (index)
		return NULL;
	switch (desc->op) {
	case ACCEL_OP_COPY:
		return &((const struct accel_copy_desc *)desc)->d;
	case ACCEL_OP_FILL:
		return &((const struct accel_fill_desc *)desc)->d;
	case ACCEL_OP_UNARY:
		return &((const struct accel_unary_desc *)desc)->d;
	case ACCEL_OP_SELECT:
		return &((const struct accel_select_desc *)desc)->d;
	default:
		return &((const struct accel_binary_desc *)desc)->d;
	}
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_tensor *d = result(desc, index);
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	uint64_t n;

	if (oracle_begin(r, d, is_exact(desc)))
		return -1;
	for (n = 0; n < r->count; n++, oracle_next(d, idx)) {
		if (r->exact)
			r->exact[n] = element_exact(desc, idx);
		else
			r->num[n] = element(desc, idx);
	}
	return 0;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_unary_desc *u = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;
	const struct accel_select_desc *s = (const void *)desc;

	switch (desc->op) {
	case ACCEL_OP_SELECT:
		op_say_tensor("a", &s->a, buf, size);
		op_say_tensor("b", &s->b, buf, size);
		op_say_tensor("c", &s->c, buf, size);
		break;
	case ACCEL_OP_COPY:
		op_say_tensor("a", &c->a, buf, size);
		break;
	case ACCEL_OP_FILL:
		op_say_text(buf, size, " %.17g", f->value);
		break;
	case ACCEL_OP_UNARY:
		op_say_text(buf, size, " func %u", u->func);
		op_say_tensor("a", &u->a, buf, size);
		op_say_epilogue(&u->epilogue, buf, size);
		break;
	default:
		op_say_text(buf, size, " func %u", b->func);
		op_say_tensor("a", &b->a, buf, size);
		op_say_tensor("b", &b->b, buf, size);
		op_say_epilogue(&b->epilogue, buf, size);
		break;
	}
	op_say_tensor("d", result(desc, 0), buf, size);
}

const struct oracle_op oracle_elementwise = {
	.result = result, .compute = compute, .say = say,
};
