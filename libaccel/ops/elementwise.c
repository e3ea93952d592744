// SPDX-License-Identifier: MIT
/*
 * Copies, constants, functions of one and two tensors, and selection.
 */
#include <errno.h>

#include "ops.h"

static int output(struct request *req, const struct accel_tensor *from,
		  const char *name, struct accel_error *e)
{
	struct operand *d = &req->t[UMA_SLOT_DST];
	int ret;

	ret = operand_init(d, from, ACCEL_ARG_D, name, e);
	if (ret)
		return ret;
	req->slots |= 1u << UMA_SLOT_DST;
	req->macs = operand_elements(d);
	return operand_check_output(d, e);
}

/* Elementwise operations have an activation and no more. */
static int activation(const struct accel_epilogue *epi, const char *const names[5],
		      struct request *req, struct accel_error *e)
{
	const struct accel_tensor *t[] = {
		&epi->scale, &epi->bias, &epi->residual, &epi->residual_post
	};
	uint32_t i;
	int ret;

	ret = check_activation(epi, names[0], req, e);
	for (i = 0; !ret && i < 4; i++) {
		if (t[i]->rank)
			return bad(e, -EINVAL, names[i + 1], "rank",
				   "an elementwise operation has no operands in its epilogue");
		ret = tensor_absent(t[i], names[i + 1], e);
	}
	return ret;
}

int lower_copy(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_copy_desc *desc = &any->copy;
	int ret;

	ret = output(req, &desc->d, "copy.d", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_A, ACCEL_ARG_A, &desc->a, "copy.a", e);
	return ret;
}

int lower_fill(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_fill_desc *desc = &any->fill;
	const struct operand *d = &req->t[UMA_SLOT_DST];
	int ret;

	ret = output(req, &desc->d, "fill.d", e);
	if (ret)
		return ret;
	if (d->quant.scheme)
		return bad(e, -EINVAL, "fill.d", "quant.scheme",
			   "the result of a fill is not quantised");
	if (fill_bits(desc->value, d->dtype, &req->value))
		return bad(e, -EINVAL, "fill", "value", "not a number has no %s",
			   accel_dtype_name(d->dtype));
	return 0;
}

static bool plain_s32(const struct operand *t)
{
	return t->dtype == ACCEL_S32 && !t->quant.scheme;
}

/* Functions of bits take integers of one type, as they are stored. */
static int check_bits(const struct request *req, const char *name, struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	uint32_t s;

	for (s = UMA_SLOT_DST; s <= UMA_SLOT_B; s++) {
		const struct operand *t = &req->t[s];

		if (!(req->slots & (1u << s)))
			continue;
		if (uma_is_float(t->dtype))
			return bad(e, -EINVAL, t->name, "dtype",
				   "%s has no function of bits",
				   accel_dtype_name(t->dtype));
		if (t->dtype != d->dtype)
			return bad(e, -EINVAL, t->name, "dtype",
				   "%s, but the operands of a function of bits have one type and %s is %s",
				   accel_dtype_name(t->dtype), d->name,
				   accel_dtype_name(d->dtype));
		if (t->quant.scheme)
			return bad(e, -EINVAL, t->name, "quant.scheme",
				   "a function of bits takes numbers as they are stored");
	}
	if (req->act)
		return bad(e, -EINVAL, name, "act",
			   "a function of bits has no activation");
	return 0;
}

int lower_unary(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_unary_desc *desc = &any->unary;
	static const char * const names[5] = {
		"unary.epilogue", "unary.epilogue.scale", "unary.epilogue.bias",
		"unary.epilogue.residual", "unary.epilogue.residual_post"
	};
	int ret;

	if (desc->func >= ACCEL_UNARY_COUNT)
		return bad(e, -EINVAL, "unary", "func", "%u is not a function",
			   desc->func);
	if (desc->pad)
		return bad(e, -EINVAL, "unary", "pad", "must be zero");
	req->func = desc->func;
	req->funcs = 1u << desc->func;
	ret = output(req, &desc->d, "unary.d", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_A, ACCEL_ARG_A, &desc->a, "unary.a", e);
	if (!ret)
		ret = activation(&desc->epilogue, names, req, e);
	if (!ret && desc->func == ACCEL_UNARY_BIT_NOT)
		ret = check_bits(req, names[0], e);
	return ret;
}

static bool divides(const struct operand *t)
{
	return uma_is_float(t->dtype) || t->quant.scheme;
}

int lower_binary(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_binary_desc *desc = &any->binary;
	static const char * const names[5] = {
		"binary.epilogue", "binary.epilogue.scale",
		"binary.epilogue.bias", "binary.epilogue.residual",
		"binary.epilogue.residual_post"
	};
	const struct operand *a = &req->t[UMA_SLOT_A], *b = &req->t[UMA_SLOT_B];
	int ret;

	if (desc->func >= ACCEL_BINARY_COUNT)
		return bad(e, -EINVAL, "binary", "func", "%u is not a function",
			   desc->func);
	if (desc->pad)
		return bad(e, -EINVAL, "binary", "pad", "must be zero");
	req->func = desc->func;
	req->funcs = 1u << desc->func;
	ret = output(req, &desc->d, "binary.d", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_A, ACCEL_ARG_A, &desc->a, "binary.a", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_B, ACCEL_ARG_B, &desc->b, "binary.b", e);
	if (!ret)
		ret = activation(&desc->epilogue, names, req, e);
	if (!ret && desc->func >= ACCEL_BINARY_BIT_AND && desc->func <= ACCEL_BINARY_SHR)
		return check_bits(req, names[0], e);
	if (ret)
		return ret;
	if (desc->func == ACCEL_BINARY_DIV && (!divides(a) || !divides(b)))
		return bad(e, -EINVAL, "binary", "func",
			   "numbers are divided if they are floating-point or quantised");
	if (plain_s32(a) && plain_s32(b) && plain_s32(&req->t[UMA_SLOT_DST]) &&
	    req->act != ACCEL_ACT_NONE && req->act != ACCEL_ACT_RELU)
		return bad(e, -EINVAL, "binary.epilogue", "act",
			   "a function of int32 into int32 is exact: the activation is none or ReLU");
	return 0;
}

int lower_select(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_select_desc *desc = &any->select;
	int ret;

	ret = output(req, &desc->d, "select.d", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_A, ACCEL_ARG_A, &desc->a, "select.a", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_B, ACCEL_ARG_B, &desc->b, "select.b", e);
	if (!ret)
		ret = input_init(req, UMA_SLOT_C, ACCEL_ARG_C, &desc->c, "select.c", e);
	return ret;
}
