// SPDX-License-Identifier: MIT
/*
 * From the sums of a block of outputs to DST. Where outputs lie side by side in
 * memory and channels do not, the block is turned first.
 */
#include <string.h>
#include "conv_fast.h"

/* Most channels of a block */
#define CHANNELS	64u

/* A number for each channel, side by side in binary32. */
bool conv_plain_bias(const struct uma_tensor_view *t)
{
	uint32_t i;

	if (t->dtype != UMA_DTYPE_F32 || t->quant || t->strides[1] != 1)
		return false;
	for (i = 0; i < t->rank; i++)
		if (i != 1 && t->strides[i])
			return false;
	return true;
}

static bool is_bytes(const struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];

	if (!c->epi.integer || !(p->cpu->isa & FAST_AVX512) || c->turned || c->epi.divide ||
	    c->epi.steps & ~(EPI_BIAS | EPI_RELU) || !uma_is_int8(d->dtype) ||
	    d->quant != UMA_QUANT_TENSOR || d->strides[1] != 1)
		return false;
	if (c->epi.steps & EPI_BIAS && !conv_plain_bias(&p->op->t[UMA_SLOT_BIAS]))
		return false;
	return d->zero >= -256 && d->zero <= 256;
}

void conv_finish_init(struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];
	const uint32_t x = d->rank - 1u;
	const bool integer = uma_is_int8(p->op->t[UMA_SLOT_A].dtype);

	c->turned = (p->cpu->isa & FAST_AVX512) && d->strides[1] != 1 && d->strides[x] == 1;
	if (c->turned)
		fast_epi_init(&c->epi, p, 1, x, integer);
	else
		fast_epi_init(&c->epi, p, x, 1, integer);
	c->bytes = is_bytes(c, p);
}

static void finish_bytes(const struct fast_run *r, const struct conv_result *b)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const struct uma_tensor_view *d = &r->prog->op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *bias = &r->prog->op->t[UMA_SLOT_BIAS];
	const uint32_t x = d->rank - 1u;
	struct conv_bytes f = {
		.dst = (uint8_t *)fast_ptr(d) + b->image * d->strides[0] + b->n0 +
		       (d->rank == 4 ? b->y * d->strides[2] : 0) + b->at * d->strides[x],
		.dst_ms = d->strides[x],
		.bias = c->epi.steps & EPI_BIAS ? (const float *)fast_ptr(bias) + b->n0 : NULL,
		.zero = d->zero,
		.relu = c->epi.steps & EPI_RELU,
		.each = fast_epi_by_channel(r->prog),
		.is_signed = d->dtype == UMA_DTYPE_S8,
	};

	memcpy(&f.scale, &d->scale, sizeof(f.scale));
	conv_bytes_avx512(&f, b);
}

/**
 * conv_finish_block - finish a block of results
 * @r: this thread
 * @b: block
 *
 * Return: 0, or -1 with the fault set.
 */
int conv_finish_block(const struct fast_run *r, const struct conv_result *b)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const uint32_t rank = r->prog->op->t[UMA_SLOT_DST].rank;
	float turned[CHANNELS * CONV_LANES] __attribute__((aligned(64)));
	struct fast_epi_block e = {
		.acc = b->x, .ld = b->ld, .m = b->outputs, .n = b->n,
		.row_add = b->row_add, .col_add = b->col_add, .scale = b->scale,
		.scale_ns = fast_epi_by_channel(r->prog),
	};
	uint32_t i;

	if (c->bytes) {
		finish_bytes(r, b);
		return 0;
	}
	e.idx[0] = b->image;
	e.idx[1] = b->n0;
	e.idx[2] = b->y;
	e.idx[rank - 1] = b->at;
	if (!c->turned)
		return fast_epi_block(r, &c->epi, &e);
	e.acc = turned;
	e.ld = CONV_LANES;
	e.m = b->n;
	e.row_add = b->col_add;
	e.scale_ms = e.scale_ns;
	e.scale_ns = 0;
	for (i = 0; i < b->outputs; i += e.n) {
		e.n = UMA_MIN(CONV_LANES, b->outputs - i);
		e.col_add = b->row_add ? b->row_add + i : NULL;
		e.idx[rank - 1] = b->at + i;
		conv_turn_avx512(b->x + i * b->ld, b->ld, e.n, b->n, turned, CONV_LANES);
		if (fast_epi_block(r, &c->epi, &e))
			return -1;
	}
	return 0;
}
