// SPDX-License-Identifier: MIT
/*
 * See op_args.h.
 */
#include <math.h>

#include "op_args.h"

/* --- tensors --- */

static struct accel_tensor dense(const struct op *op, uint32_t dtype, uint32_t rank,
				 const int64_t *dims)
{
	struct accel_tensor t = accel_tensor_dense(NULL, dtype, rank, dims);

	if ((dtype == ACCEL_S8 || dtype == ACCEL_U8) && !isnan(op->opts->scale)) {
		t.quant.scheme = ACCEL_QUANT_TENSOR;
		t.quant.scale = (float)op->opts->scale;
	}
	return t;
}

void op_take(struct op *op, uint32_t input, uint32_t arg, struct accel_tensor *t)
{
	const struct op_input *in = &op->in[input];

	*t = in->role == OP_DATA ? dense(op, in->dtype, in->rank, in->dims) :
	     accel_tensor_dense(NULL, in->dtype, in->rank, in->dims);
	op->tensors[op->count++] = (struct op_tensor){ .arg = arg, .input = in, .t = t };
}

/* A result of a type that is not up to the caller */
void op_give_plain(struct op *op, uint32_t arg, struct accel_tensor *t, uint32_t dtype,
		   uint32_t rank, const int64_t *dims)
{
	*t = accel_tensor_dense(NULL, dtype, rank, dims);
	op->tensors[op->count++] = (struct op_tensor){ .arg = arg, .t = t };
	op->results++;
}

void op_give(struct op *op, uint32_t arg, struct accel_tensor *t, uint32_t rank,
	     const int64_t *dims)
{
	op_give_plain(op, arg, t, op->out_dtype ? op->out_dtype : op->dtype, rank, dims);
	*t = dense(op, t->dtype, rank, dims);
}

/* --- options --- */

/* The one dimension of --axis, counted from the start */
int op_one_axis(struct op *op, uint32_t rank, int64_t axis, uint32_t *out)
{
	const struct ctl_ints *list = &op->opts->axis;

	if (list->count > 1)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--axis", "%s takes one dimension",
				op->name);
	if (list->count)
		axis = list->v[0];
	if (axis < -(int64_t)rank || axis >= (int64_t)rank)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--axis", "%lld is no dimension of %u",
				(long long)axis, rank);
	*out = (uint32_t)(axis < 0 ? axis + rank : axis);
	return CTL_OK;
}

/* --axis as a mask, 0 without it */
int op_many_axes(struct op *op, uint32_t rank, uint32_t *mask)
{
	const struct ctl_ints *list = &op->opts->axis;
	uint32_t i;

	*mask = 0;
	for (i = 0; i < list->count; i++) {
		int64_t axis = list->v[i] < 0 ? list->v[i] + rank : list->v[i];

		if (axis < 0 || axis >= (int64_t)rank)
			return ctl_fail(op->ctl, CTL_USAGE, 0, "--axis",
					"%lld is no dimension of %u", (long long)list->v[i], rank);
		if (*mask & ACCEL_AXIS(axis))
			return ctl_fail(op->ctl, CTL_USAGE, 0, "--axis",
					"has dimension %lld twice", (long long)axis);
		*mask |= ACCEL_AXIS(axis);
	}
	return CTL_OK;
}

/* Expand a single number to one for each dimension */
int op_spread(struct op *op, const char *option, const struct ctl_ints *list, uint32_t count,
	      uint32_t *to)
{
	uint32_t i;

	if (list->count > 1 && list->count != count)
		return ctl_fail(op->ctl, CTL_USAGE, 0, option, "has %u numbers, not 1 or %u",
				list->count, count);
	for (i = 0; i < count && list->count; i++)
		to[i] = (uint32_t)list->v[list->count == 1 ? 0 : i];
	return CTL_OK;
}

/* --pad: one number, one for each dimension, or those before and those after */
int op_spread_pad(struct op *op, uint32_t rank, int64_t *before, int64_t *after)
{
	const struct ctl_ints *list = &op->opts->pad;
	uint32_t i;

	if (list->count > 1 && list->count != rank && list->count != 2 * rank)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--pad", "has %u numbers, not 1, %u or %u",
				list->count, rank, 2 * rank);
	for (i = 0; i < rank && list->count; i++) {
		before[i] = list->v[list->count == 1 ? 0 : i];
		after[i] = list->v[list->count == 1 ? 0 : list->count == rank ? i : rank + i];
	}
	return CTL_OK;
}

int op_mode_of(struct op *op, uint32_t first, uint32_t count, uint32_t *mode)
{
	*mode = 0;
	if (op->opts->mode == UINT32_MAX)
		return CTL_OK;
	if (op->opts->mode < first || op->opts->mode >= first + count)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--mode", "%s has no such mode", op->name);
	*mode = op->opts->mode - first;
	return CTL_OK;
}

/* The shape that all inputs broadcast to */
int op_broadcast(struct op *op, uint32_t *rank, int64_t *dims)
{
	uint32_t n, i;

	*rank = 0;
	for (n = 0; n < op->inputs; n++)
		if (op->in[n].rank > *rank)
			*rank = op->in[n].rank;
	for (i = 0; i < *rank; i++)
		dims[i] = 1;
	for (n = 0; n < op->inputs; n++)
		for (i = 0; i < op->in[n].rank; i++) {
			int64_t *to = &dims[*rank - op->in[n].rank + i], dim = op->in[n].dims[i];

			if (dim != *to && dim != 1 && *to != 1)
				return ctl_fail(op->ctl, CTL_USAGE, 0, "--in",
						"dimensions of %lld and %lld do not go together",
						(long long)*to, (long long)dim);
			if (*to == 1)
				*to = dim;
		}
	return CTL_OK;
}
