// SPDX-License-Identifier: MIT
/*
 * The epilogue of the operations that have one with operands, and what an exact
 * result allows in it.
 */
#include <errno.h>
#include <string.h>

#include "ops.h"

/* A vector lies along the channels of D, wherever these are. */
static void along_axis(struct operand *t, const struct operand *d, uint32_t axis)
{
	uint32_t i;

	if (t->rank != 1 || axis >= d->rank)
		return;
	t->rank = d->rank - axis;
	for (i = 1; i < t->rank; i++) {
		t->dims[i] = 1;
		t->strides[i] = 0;
	}
}

/**
 * lower_addend - what is added to or multiplied with a result
 * @req: request; D is there
 * @slot: &enum uma_slot
 * @arg: &enum accel_arg
 * @from: tensor
 * @name: its path
 * @fixed: trailing dimensions that must be D's
 * @axis: dimension of D that a vector runs along
 * @e: filled on failure
 *
 * Of the matrices of a product of experts scale and bias are [E, 1, N], and become [E, M, N].
 *
 * Return: 0, -EINVAL.
 */
int lower_addend(struct request *req, uint32_t slot, uint32_t arg,
		 const struct accel_tensor *from, const char *name,
		 uint32_t fixed, uint32_t axis, struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	struct operand *t = &req->t[slot], own;
	uint32_t i;
	int ret;

	ret = operand_init(t, from, arg, name, e);
	if (ret)
		return ret;
	if (uma_is_int4(t->dtype))
		return bad(e, -EINVAL, name, "dtype",
			   "%s: elements of 4 bits are for weights",
			   accel_dtype_name(t->dtype));
	if (t->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, name, "quant.scheme",
			   "an addend or factor has one scale");
	if (t->rank < fixed)
		return bad(e, -EINVAL, name, "rank",
			   "rank %u is less than %u", t->rank, fixed);
	for (i = 1; i <= fixed; i++)
		if (t->dims[t->rank - i] != d->dims[d->rank - i])
			return bad_at(e, -EINVAL, name, "dims", t->rank - i,
				      "%lld, but %s.dims[%u] is %lld",
				      (long long)t->dims[t->rank - i], d->name,
				      d->rank - i,
				      (long long)d->dims[d->rank - i]);
	along_axis(t, d, axis);
	if (req->experts && t->rank == 3 && (slot == UMA_SLOT_BIAS || slot == UMA_SLOT_SCALE)) {
		if (t->dims[0] != req->experts)
			return bad_at(e, -EINVAL, name, "dims", 0,
				      "%lld, but there are %lld matrices",
				      (long long)t->dims[0], (long long)req->experts);
		if (t->dims[1] != 1)
			return bad_at(e, -EINVAL, name, "dims", 1,
				      "%lld: what a matrix has of its own is the same for all rows",
				      (long long)t->dims[1]);
		own = *d;
		operand_insert_dim(&own, 0);
		own.dims[0] = req->experts;
		d = &own;
	}
	ret = broadcast(t, d, 0, e);
	if (ret)
		return ret;
	req->slots |= 1u << slot;
	return 0;
}

/**
 * epilogue_lower - activation, scale, bias and residuals
 * @epi: epilogue
 * @names: paths of it, of scale, bias, residual and residual_post
 * @axis: dimension of D that a vector runs along
 * @req: request; D is there
 * @e: filled on failure
 *
 * Return: 0, -EINVAL.
 */
int epilogue_lower(const struct accel_epilogue *epi, const char *const names[5],
		   uint32_t axis, struct request *req, struct accel_error *e)
{
	const struct {
		const struct accel_tensor *t;
		uint32_t flag, slot, arg;
	} part[] = {
		{ &epi->scale, UMA_EPI_SCALE, UMA_SLOT_SCALE, ACCEL_ARG_SCALE },
		{ &epi->bias, UMA_EPI_BIAS, UMA_SLOT_BIAS, ACCEL_ARG_BIAS },
		{ &epi->residual, UMA_EPI_RESIDUAL, UMA_SLOT_RESIDUAL,
		  ACCEL_ARG_RESIDUAL },
		{ &epi->residual_post, UMA_EPI_RESIDUAL_POST, UMA_SLOT_RESIDUAL,
		  ACCEL_ARG_RESIDUAL },
	};
	uint32_t i;
	int ret;

	ret = check_activation(epi, names[0], req, e);
	if (ret)
		return ret;
	for (i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if (!part[i].t->rank) {
			ret = tensor_absent(part[i].t, names[i + 1], e);
			if (ret)
				return ret;
			continue;
		}
		if (req->slots & (1u << part[i].slot))
			return bad(e, -EINVAL, names[i + 1], "",
				   "there is a residual before the activation already");
		ret = lower_addend(req, part[i].slot, part[i].arg, part[i].t,
				   names[i + 1], 0, axis, e);
		if (ret)
			return ret;
		req->epilogue |= part[i].flag;
	}
	return 0;
}

/* What devices refuse of an operand, by the field that the caller has. */
static int operand_not_exact(const struct operand *t, const char *field, struct accel_error *e)
{
	if (!strcmp(field, "scale"))
		return bad(e, -EINVAL, t->name, "quant.scale",
			   "%g: a result of type int32 is exact: the scale is 1",
			   (double)t->quant.scale);
	if (!strcmp(field, "dtype") && t->dtype != ACCEL_S32)
		return bad(e, -EINVAL, t->name, "dtype",
			   "%s: what is added to a result of type int32 is int32",
			   accel_dtype_name(t->dtype));
	return bad(e, -EINVAL, t->name, "quant.scheme",
		   "a result of type int32 is exact: there are no scales");
}

/**
 * check_exact - bytes into int32: nothing that is no integer fits in
 * @req: request, lowered
 * @names: as of epilogue_lower()
 * @e: filled on failure
 *
 * Return: 0, -EINVAL.
 */
int check_exact(const struct request *req, const char *const names[5],
		struct accel_error *e)
{
	const float alpha = req->opcode == UMA_OP_GEMM ? req->alpha : 1;
	struct uma_op op = {
		.slots = req->slots, .epi_flags = req->epilogue, .act = req->act,
	};
	struct uma_fault_info fault;
	uint32_t s;

	memcpy(&op.alpha, &alpha, sizeof(alpha));
	memcpy(&op.beta, &req->beta, sizeof(req->beta));
	/* Types and scales count here, no dimension. */
	for (s = 0; s < REQUEST_SLOTS; s++)
		operand_view(&req->t[s], &op.t[s]);
	if (!uma_match_exact(&op, &fault))
		return 0;
	if (fault.slot < REQUEST_SLOTS)
		return operand_not_exact(&req->t[fault.slot], fault.field, e);
	if (!strcmp(fault.field, "params.alpha"))
		return bad(e, -EINVAL, accel_op_name(req->op), "alpha",
			   "%g: a result of type int32 is exact: alpha is 1",
			   (double)req->alpha);
	if (!strcmp(fault.field, "params.beta"))
		return bad(e, -EINVAL, accel_op_name(req->op), "beta",
			   "%g: a result of type int32 is exact: beta is 0 or 1",
			   (double)req->beta);
	if (!strcmp(fault.field, "epilogue.flags"))
		return bad(e, -EINVAL, names[1], "",
			   "a result of type int32 is exact: there is no scale");
	return bad(e, -EINVAL, names[0], "act",
		   "a result of type int32 is exact: the activation is none or ReLU");
}
