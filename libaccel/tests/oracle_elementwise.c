// SPDX-License-Identifier: MIT
/*
 * Copies, constants and functions of one and two tensors, an element at a time.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"
#include "optest.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY

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
	default:
		return in;
	}
}

/* Each is a single operation of binary32: rounded once, so known. */
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
	default:
		x.v = isnan(a) || isnan(b) ? NAN : a < b ? a : b;
		break;
	}
	return x;
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
	default:
		return a < b ? a : b;
	}
}

static bool plain_int(const struct accel_tensor *t)
{
	return t->dtype > ACCEL_BF16 && !t->quant.scheme;
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
	const struct accel_binary_desc *b = (const void *)desc;

	switch (desc->op) {
	case ACCEL_OP_COPY:
		return plain_int(&c->a) && plain_int(&c->d);
	case ACCEL_OP_FILL:
		return f->d.dtype > ACCEL_BF16;
	case ACCEL_OP_BINARY:
		return plain_s32(&b->a) && plain_s32(&b->b) && plain_s32(&b->d);
	default:
		return false;
	}
}

static int64_t element_exact(const struct accel_desc *desc, const int64_t *idx)
{
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;
	int64_t v;

	if (desc->op == ACCEL_OP_COPY)
		return oracle_saturate(oracle_load_int_broadcast(&c->a, &c->d, idx), c->d.dtype);
	if (desc->op == ACCEL_OP_FILL)
		return oracle_saturate((int64_t)fmin(fmax(nearbyint(f->value), -1e18), 1e18),
				f->d.dtype);
	v = oracle_saturate(binary_exact(oracle_load_int_broadcast(&b->a, &b->d, idx),
				  oracle_load_int_broadcast(&b->b, &b->d, idx), b->func),
		     ACCEL_S32);
	return b->epilogue.act == ACCEL_ACT_RELU && v < 0 ? 0 : v;
}

static struct oracle_num element(const struct accel_desc *desc, const int64_t *idx)
{
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_unary_desc *u = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;

	switch (desc->op) {
	case ACCEL_OP_COPY:
		return (struct oracle_num){ oracle_load_broadcast(&c->a, &c->d, idx), 0 };
	case ACCEL_OP_FILL:
		return (struct oracle_num){ f->value, 0 };
	case ACCEL_OP_UNARY:
		return oracle_activation(unary(oracle_load_broadcast(&u->a, &u->d, idx), u->func),
				  &u->epilogue);
	default:
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
	default:
		return &((const struct accel_binary_desc *)desc)->d;
	}
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_tensor *d = result(desc, index);
	int64_t idx[ACCEL_MAX_RANK];
	uint64_t n;

	if (oracle_begin(r, d, is_exact(desc)))
		return -1;
	for (n = 0; n < r->count; n++) {
		oracle_index(d, n, idx);
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

	switch (desc->op) {
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
