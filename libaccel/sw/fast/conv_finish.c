// SPDX-License-Identifier: MIT
/*
 * From the sums of a block of outputs to DST: the usual cases vectorised, all
 * others through the model's rows.
 */
#include <string.h>
#include "conv_fast.h"

/* Element (image, channel, y, x) of an operand of DST's shape, in elements. */
static int64_t element_at(const struct uma_tensor_view *t, const struct conv_result *b)
{
	const uint32_t y = t->rank - 2, x = t->rank - 1;
	int64_t off = (int64_t)b->image * t->strides[0] + (int64_t)b->n0 * t->strides[1] +
		      (int64_t)b->at * t->strides[x];

	return t->rank == 4 ? off + (int64_t)b->y * t->strides[y] : off;
}

static bool plain_float(const struct uma_tensor_view *t)
{
	return (t->dtype == UMA_DTYPE_F32 || t->dtype == UMA_DTYPE_BF16) && !t->quant;
}

/* The same for all outputs, and binary32 side by side for the channels. */
static bool plain_bias(const struct uma_tensor_view *t)
{
	uint32_t i;

	if (t->dtype != UMA_DTYPE_F32 || t->quant || t->strides[1] != 1)
		return false;
	for (i = 0; i < t->rank; i++)
		if (i != 1 && t->strides[i])
			return false;
	return true;
}

void conv_finish_init(struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_op *op = p->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *res = &op->t[UMA_SLOT_RESIDUAL];

	c->fin.dst = (uint8_t)d->dtype;
	if (!plain_float(d) || d->strides[1] != 1 || op->epi_flags & UMA_EPI_SCALE ||
	    (op->act && op->act != UMA_ACT_RELU))
		return;
	if (op->epi_flags & UMA_EPI_BIAS && !plain_bias(&op->t[UMA_SLOT_BIAS]))
		return;
	if (op->epi_flags & (UMA_EPI_RESIDUAL | UMA_EPI_RESIDUAL_POST)) {
		if (!plain_float(res) || res->strides[1] != 1)
			return;
		c->fin.res = (uint8_t)res->dtype;
		c->fin.res_post = !!(op->epi_flags & UMA_EPI_RESIDUAL_POST);
	}
	c->fin.relu = op->act == UMA_ACT_RELU;
	if (p->cpu->isa & FAST_AVX512)
		c->finish = conv_finish_avx512;
}

static int finish_rows(const struct fast_run *r, const struct conv_result *b)
{
	struct uma_run run = fast_model_run(r);
	struct uma_gemm_scratch *s = r->rows_scratch;
	const uint32_t rank = r->prog->op->t[UMA_SLOT_DST].rank;
	uint32_t idx[UMA_MAX_RANK] = { 0 };
	struct uma_epi_row e = {
		.run = &run,
		.buf = &s->buf,
		.tmp = (float *)s->row2,
		.idx = idx,
		.axis = 1,
		.n = b->n,
	};
	uint32_t i;

	idx[0] = b->image;
	idx[1] = b->n0;
	for (i = 0; i < b->outputs; i++) {
		idx[2] = b->y;
		idx[rank - 1] = b->at + i;
		memcpy(s->row, b->x + (int64_t)i * b->x_ms, 4ul * b->n);
		if (uma_epilogue_f32(&e, (float *)s->row))
			return -1;
	}
	return 0;
}

/**
 * conv_finish_block - finish a block of results
 * @r: this thread
 * @b: at most 64 channels
 *
 * Return: 0, or -1 with the fault set.
 */
int conv_finish_block(const struct fast_run *r, const struct conv_result *b)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const struct uma_op *op = r->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *res = &op->t[UMA_SLOT_RESIDUAL];
	struct conv_line l;

	if (!c->finish)
		return finish_rows(r, b);
	l = (struct conv_line){
		.dst = (uint8_t *)fast_ptr(d) + fast_bytes(d->dtype, element_at(d, b)),
		.dst_ms = fast_bytes(d->dtype, d->strides[d->rank - 1]),
		.x = b->x,
		.x_ms = b->x_ms,
		.outputs = b->outputs,
		.n = b->n,
	};
	if (op->epi_flags & UMA_EPI_BIAS)
		l.bias = (const float *)fast_ptr(&op->t[UMA_SLOT_BIAS]) + b->n0;
	if (op->epi_flags & (UMA_EPI_RESIDUAL | UMA_EPI_RESIDUAL_POST)) {
		l.res = (const uint8_t *)fast_ptr(res) +
			fast_bytes(res->dtype, element_at(res, b));
		l.res_ms = fast_bytes(res->dtype, res->strides[res->rank - 1]);
	}
	c->finish(&c->fin, &l);
	return 0;
}
