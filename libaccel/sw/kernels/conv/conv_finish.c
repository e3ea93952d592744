// SPDX-License-Identifier: MIT
/*
 * From the sums of a block of outputs to DST: by the epilogue that all operations
 * have. Where outputs lie side by side in memory and channels do not, the block is
 * turned first. What most convolutions end with the products do themselves while
 * their sums are in registers, and what that needs is made here: few input channels
 * are soon multiplied, and writing sums and reading them again would take as long.
 */
#include <math.h>
#include <string.h>
#include "conv_fast.h"
#include "libaccel/sw/kernels/vec/quotient.h"

/* Integers of 32 bits with room for what roundings add */
#define UNITS_MAX	1073741824.0f

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

/* The largest that an element of an operand of bytes may be. */
static float magnitude(const struct uma_tensor_view *t)
{
	const float zero = t->quant ? (float)t->zero : 0;
	const float least = t->dtype == UMA_DTYPE_U8 ? 0 : -128;

	return UMA_MAX(fabsf(least - zero), fabsf(least + 255 - zero));
}

/* Bytes: with what are results divided by their scale, and what are sums at most? */
static bool has_byte_end(struct conv_prog *c, const struct uma_op *op)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	float scale;

	if (!uma_is_int8(d->dtype) || d->quant != UMA_QUANT_TENSOR || d->zero < -256 ||
	    d->zero > 256)
		return false;
	memcpy(&scale, &d->scale, sizeof(scale));
	c->most = (float)((uint64_t)c->g.c * c->g.kernel[0] * c->g.kernel[1]) * magnitude(a) *
		  magnitude(b);
	return fast_quotient(scale, &c->times, &c->rest);
}

/* May the products make the results? */
static bool has_end(struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];

	if (c->taps || c->turned || d->strides[1] != 1 || c->epi.divide ||
	    c->epi.steps & ~(EPI_BIAS | EPI_RELU))
		return false;
	if (c->epi.steps & EPI_BIAS && !conv_plain_bias(&p->op->t[UMA_SLOT_BIAS]))
		return false;
	if (!c->epi.integer) {
		c->end = d->dtype == UMA_DTYPE_BF16 ? CONV_END_BF16 : CONV_END_F32;
		return (d->dtype == UMA_DTYPE_F32 || d->dtype == UMA_DTYPE_BF16) &&
		       c->k->ends >> c->end & 1;
	}
	c->end = CONV_END_BYTES;
	return c->k->ends >> c->end & 1 && has_byte_end(c, p->op);
}

void conv_finish_init(struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];
	const uint32_t x = d->rank - 1u;
	const bool integer = uma_is_int8(p->op->t[UMA_SLOT_A].dtype);

	c->turned = !c->gemm && (p->cpu->isa & FAST_AVX512) && d->strides[1] != 1 &&
		    d->strides[x] == 1;
	if (c->gemm)
		fast_epi_init(&c->epi, p, 0, 1, integer);
	else if (c->turned)
		fast_epi_init(&c->epi, p, 1, x, integer);
	else
		fast_epi_init(&c->epi, p, x, 1, integer);
	c->ends = has_end(c, p);
}

/* Four bytes, or two halves, that are the same. */
static int32_t spread(int32_t v, uint32_t bits)
{
	const uint32_t low = (uint32_t)v & ((1u << bits) - 1);

	return (int32_t)(bits == 8 ? low * 0x01010101u : low * 0x00010001u);
}

/**
 * conv_end_init - how the products make the results of a panel
 * @r: this thread
 * @b: its first block
 * @e: out
 *
 * Return: false: they cannot.
 */
bool conv_end_init(const struct fast_run *r, const struct conv_result *b, struct conv_end *e)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const struct uma_tensor_view *d = &r->prog->op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *bias = &r->prog->op->t[UMA_SLOT_BIAS];
	const bool relu = c->epi.steps & EPI_RELU, each = fast_epi_by_channel(r->prog);
	bool within = true;
	int32_t zero;
	float scale;
	uint32_t i;

	if (!c->ends)
		return false;
	memset(e, 0, sizeof(*e));
	e->kind = c->end;
	e->least = relu ? 0 : -INFINITY;
	if (c->epi.steps & EPI_BIAS)
		memcpy(e->bias, (const float *)fast_ptr(bias) + b->n0, b->n * sizeof(float));
	if (c->end != CONV_END_BYTES)
		return true;
	memcpy(&scale, &d->scale, sizeof(scale));
	zero = d->dtype == UMA_DTYPE_U8 ? d->zero - 128 : d->zero;
	e->times = c->times;
	e->rest = c->rest;
	e->zero = spread(zero, 16);
	e->floor = spread(relu ? UMA_MAX(UMA_MIN(zero, 127), -128) : -128, 8);
	e->flip = d->dtype == UMA_DTYPE_U8 ? spread(128, 8) : 0;
	for (i = 0; i < b->n; i++) {
		e->scale[i] = b->scale[each ? i : 0];
		/* Of what is no number nothing is true. */
		within &= fabsf(e->scale[i]) * c->most + fabsf(e->bias[i]) <= scale * UNITS_MAX;
	}
	return within;
}

/**
 * conv_dst - the first result of a block
 * @r: this thread
 * @b: block
 *
 * Return: its address.
 */
uint8_t *conv_dst(const struct fast_run *r, const struct conv_result *b)
{
	const struct uma_tensor_view *d = &r->prog->op->t[UMA_SLOT_DST];

	if (conv_prog_of(r->prog)->gemm)
		return (uint8_t *)fast_ptr(d) +
		       fast_bytes(d->dtype, (b->y + b->at) * d->strides[0] + b->n0);
	return (uint8_t *)fast_ptr(d) +
	       fast_bytes(d->dtype, b->image * d->strides[0] + b->n0 * d->strides[1] +
				    (d->rank == 4 ? b->y * d->strides[2] : 0) +
				    b->at * d->strides[d->rank - 1]);
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
	float turned[CONV_CHANNELS * CONV_LANES] __attribute__((aligned(64)));
	struct fast_epi_block e = {
		.acc = b->x, .ld = b->ld, .m = b->outputs, .n = b->n,
		.scale = b->scale,
		.scale_ns = fast_epi_by_channel(r->prog),
	};
	uint32_t i;

	e.idx[0] = c->gemm ? b->y + b->at : b->image;
	e.idx[1] = b->n0;
	if (c->gemm)
		return fast_epi_block(r, &c->epi, &e);
	e.idx[2] = b->y;
	e.idx[rank - 1] = b->at;
	if (!c->turned)
		return fast_epi_block(r, &c->epi, &e);
	e.acc = turned;
	e.ld = CONV_LANES;
	e.m = b->n;
	e.scale_ms = e.scale_ns;
	e.scale_ns = 0;
	for (i = 0; i < b->outputs; i += e.n) {
		e.n = UMA_MIN(CONV_LANES, b->outputs - i);
		e.idx[rank - 1] = b->at + i;
		conv_turn_avx512(b->x + i * b->ld, b->ld, e.n, b->n, turned, CONV_LANES);
		if (fast_epi_block(r, &c->epi, &e))
			return -1;
	}
	return 0;
}
