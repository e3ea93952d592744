// SPDX-License-Identifier: MIT
/*
 * From the sums of a block of outputs to DST. Where outputs lie side by side in
 * memory and channels do not, the block is turned first.
 */
#include <string.h>
#include "conv_fast.h"

/* Most channels of a block */
#define CHANNELS	64u

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
