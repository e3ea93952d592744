// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The epilogue: processes and stores a row of results. Shared by all operations that
 * have one; they describe the row by struct uma_epi_row.
 */
#include "uma_internal.h"

static struct uma_row row_of(const struct uma_epi_row *e, __u32 slot)
{
	const struct uma_tensor_view *t = &e->run->prog->op.t[slot];

	return (struct uma_row){
		.slot = slot,
		.off = uma_tensor_offset(t, e->idx),
		.stride = t->strides[e->axis],
		.n = e->n,
		.idx = e->idx,
		.axis = e->axis,
	};
}

/* x[i] = f(x[i], operand[i]) */
static int combine(const struct uma_epi_row *e, __u32 slot, __u32 func, float *x)
{
	struct uma_row row = row_of(e, slot);
	const float *v;

	v = uma_row_f32(e->run, &row, e->buf, e->tmp);
	if (!v)
		return -1;
	e->run->k->binary[func](x, x, v, e->n);
	return 0;
}

/*
 * uma_epilogue_f32 - apply scale, bias, residual, activation, post residual; store
 * @e: position of the row in DST
 * @x: results; overwritten
 */
int uma_epilogue_f32(const struct uma_epi_row *e, float *x)
{
	const struct uma_op *op = &e->run->prog->op;
	struct uma_row row = row_of(e, UMA_SLOT_DST);

	if ((op->epi_flags & UMA_EPI_SCALE) &&
	    combine(e, UMA_SLOT_SCALE, UMA_BINARY_MUL, x))
		return -1;
	if ((op->epi_flags & UMA_EPI_BIAS) &&
	    combine(e, UMA_SLOT_BIAS, UMA_BINARY_ADD, x))
		return -1;
	if ((op->epi_flags & UMA_EPI_RESIDUAL) &&
	    combine(e, UMA_SLOT_RESIDUAL, UMA_BINARY_ADD, x))
		return -1;
	if (op->act)
		e->run->k->act[op->act](x, op->p0, op->p1, e->n);
	if ((op->epi_flags & UMA_EPI_RESIDUAL_POST) &&
	    combine(e, UMA_SLOT_RESIDUAL, UMA_BINARY_ADD, x))
		return -1;
	return uma_row_store_f32(e->run, &row, e->buf, x);
}

static int exact_add(const struct uma_epi_row *e, __u32 slot, __s64 *x)
{
	struct uma_row row = row_of(e, slot);
	const __s32 *v = uma_row_s32(e->run, &row, e->buf);
	__u32 i;

	if (!v)
		return -1;
	for (i = 0; i < e->n; i++)
		x[i] += v[i];
	return 0;
}

/*
 * uma_epilogue_exact - apply bias, residual, ReLU, post residual in integers; store with
 * saturation
 * @e: position of the row in DST
 * @x: sums; overwritten
 */
int uma_epilogue_exact(const struct uma_epi_row *e, __s64 *x)
{
	const struct uma_op *op = &e->run->prog->op;
	struct uma_row row = row_of(e, UMA_SLOT_DST);
	__u32 i;

	if ((op->epi_flags & UMA_EPI_BIAS) && exact_add(e, UMA_SLOT_BIAS, x))
		return -1;
	if ((op->epi_flags & UMA_EPI_RESIDUAL) && exact_add(e, UMA_SLOT_RESIDUAL, x))
		return -1;
	if (op->act == UMA_ACT_RELU)
		for (i = 0; i < e->n; i++)
			x[i] = UMA_MAX(x[i], 0);
	if ((op->epi_flags & UMA_EPI_RESIDUAL_POST) &&
	    exact_add(e, UMA_SLOT_RESIDUAL, x))
		return -1;
	return uma_row_store_s64(e->run, &row, e->buf, x);
}
