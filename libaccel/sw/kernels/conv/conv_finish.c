// SPDX-License-Identifier: MIT
/*
 * From the sums of a block of outputs to DST, with the general epilogue. If outputs are
 * contiguous in memory and channels are not, the block is transposed first. For most
 * convolutions the products compute the epilogue while the sums are in registers; the constants
 * for that are prepared here. With few input channels, storing and reloading sums would take as
 * long as the products.
 */
#include <math.h>
#include <string.h>
#include "conv_fast.h"
#include "libaccel/sw/kernels/lines/lines.h"
#include "libaccel/sw/kernels/vec/quotient.h"

/* Largest 32-bit integers, with a margin for rounding */
#define UNITS_MAX	1073741824.0f

/* One contiguous binary32 number for each channel. */
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

/* The largest magnitude of an element of a byte operand. */
static float magnitude(const struct uma_tensor_view *t)
{
	const float zero = t->quant ? (float)t->zero : 0;
	const float least = t->dtype == UMA_DTYPE_U8 ? 0 : -128;

	return UMA_MAX(fabsf(least - zero), fabsf(least + 255 - zero));
}

/* Contiguous along @dim as DST, and of its type; bytes of either signedness, with one scale. */
static bool plain_residual(const struct uma_tensor_view *t, const struct uma_tensor_view *d,
			   uint32_t dim)
{
	if (t->strides[dim] != 1)
		return false;
	return uma_is_int8(d->dtype) ? uma_is_int8(t->dtype) && t->quant == UMA_QUANT_TENSOR :
				       t->dtype == d->dtype && !t->quant;
}

/* Bytes: can results be divided by the scale with a product, and what is the largest sum? */
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
	/* An activation before the residual may only have a lower bound. */
	if (c->epi.steps & EPI_POST && c->epi.steps & EPI_ACT)
		return false;
	return fast_quotient(scale, &c->times, &c->rest);
}

/* Is it an activation that is more than bounds? */
static bool has_function(const struct conv_prog *c, const struct uma_op *op)
{
	return c->epi.steps & EPI_ACT && op->act != UMA_ACT_CLAMP;
}

/* Can the products compute the epilogue? */
static bool has_end(struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];
	const uint32_t dim = c->turned ? d->rank - 1u : 1;

	if (c->taps || d->strides[dim] != 1 || c->epi.divide ||
	    c->epi.steps & ~(EPI_BIAS | EPI_RELU | EPI_ACT | EPI_RESIDUAL | EPI_POST))
		return false;
	if (has_function(c, p->op) && (c->epi.steps & EPI_POST || c->epi.integer ||
				       d->dtype != UMA_DTYPE_F32 || !c->k->has_act ||
				       !c->k->has_act(p->op->act)))
		return false;
	if (c->epi.steps & EPI_BIAS && !conv_plain_bias(&p->op->t[UMA_SLOT_BIAS]))
		return false;
	if (c->epi.steps & (EPI_RESIDUAL | EPI_POST) &&
	    !plain_residual(&p->op->t[UMA_SLOT_RESIDUAL], d, dim))
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

	c->lines = line_kernels_of(p->cpu);
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

/* Repeat a byte four times, or a half twice. */
static int32_t spread(int32_t v, uint32_t bits)
{
	const uint32_t low = (uint32_t)v & ((1u << bits) - 1);

	return (int32_t)(bits == 8 ? low * 0x01010101u : low * 0x00010001u);
}

static float number(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Bounds of ReLU or a clamp; a bound of NaN is none. */
void conv_bounds(const struct uma_op *op, float *least, float *most)
{
	*least = op->act == UMA_ACT_RELU ? 0 : -INFINITY;
	*most = INFINITY;
	if (op->act != UMA_ACT_CLAMP)
		return;
	if (!isnan(number(op->p0)))
		*least = number(op->p0);
	if (!isnan(number(op->p1)))
		*most = number(op->p1);
}

/* A bound as a byte of s8, or of u8 minus 128. */
static int32_t byte_of(const struct uma_tensor_view *d, float v)
{
	const float q = UMA_MAX(UMA_MIN(v / number(d->scale), 1000.0f), -1000.0f);
	const int32_t zero = d->dtype == UMA_DTYPE_U8 ? d->zero - 128 : d->zero;

	return UMA_MAX(UMA_MIN((int32_t)lrintf(q) + zero, 127), -128);
}

/* Bytes: bounds, and constants for quantisation. */
static void byte_end(const struct conv_prog *c, const struct uma_op *op, struct conv_end *e)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *r = &op->t[UMA_SLOT_RESIDUAL];
	const bool u8 = d->dtype == UMA_DTYPE_U8, post = c->epi.steps & EPI_POST;
	float least, most;

	conv_bounds(op, &least, &most);
	e->times = c->times;
	e->rest = c->rest;
	e->zero = spread(u8 ? d->zero - 128 : d->zero, 16);
	e->floor = spread(byte_of(d, post ? -INFINITY : least), 8);
	e->ceiling = spread(byte_of(d, post ? INFINITY : most), 8);
	e->flip = u8 ? spread(128, 8) : 0;
	e->least = post ? least : -INFINITY;
	e->is_signed = r->dtype == UMA_DTYPE_S8;
	e->unit = number(r->scale);
	e->none = (float)r->zero;
}

/**
 * conv_end_init - prepare the epilogue of the products of a panel
 * @r: this thread
 * @b: its first block
 * @e: out
 *
 * Return: false: the products cannot compute it.
 */
bool conv_end_init(const struct fast_run *r, const struct conv_result *b, struct conv_end *e)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const struct uma_tensor_view *d = &r->prog->op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *bias = &r->prog->op->t[UMA_SLOT_BIAS];
	const bool each = fast_epi_by_channel(r->prog), post = c->epi.steps & EPI_POST;
	bool within = true;
	float scale, more;
	uint32_t i;

	if (!c->ends)
		return false;
	memset(e, 0, sizeof(*e));
	e->kind = c->end;
	e->residual = c->epi.steps & (EPI_RESIDUAL | EPI_POST);
	/* Vectors of residuals are read as a whole. */
	if (e->residual && b->n % CONV_LANES)
		return false;
	/* A block of bf16 may be computed again, so the residual must not be overwritten. */
	if (e->residual && c->end == CONV_END_BF16 &&
	    fast_ptr(d) == fast_ptr(&r->prog->op->t[UMA_SLOT_RESIDUAL]))
		return false;
	e->least = e->last_least = -INFINITY;
	e->most = e->last_most = INFINITY;
	if (e->residual && !post)
		conv_bounds(r->prog->op, &e->last_least, &e->last_most);
	else
		conv_bounds(r->prog->op, &e->least, &e->most);
	if (has_function(c, r->prog->op)) {
		e->act = r->prog->op->act;
		e->p[0] = number(r->prog->op->p0);
		e->p[1] = number(r->prog->op->p1);
	}
	if (c->epi.steps & EPI_BIAS)
		memcpy(e->bias, (const float *)fast_ptr(bias) + b->n0, b->n * sizeof(float));
	/* ReLU of -0 is +0, but a maximum keeps -0: without biases of -0 no sum is -0. */
	for (i = 0; c->epi.steps & EPI_RELU && i < b->n; i++)
		e->bias[i] += 0.0f;
	if (c->end != CONV_END_BYTES)
		return true;
	byte_end(c, r->prog->op, e);
	scale = number(d->scale);
	more = e->residual ? magnitude(&r->prog->op->t[UMA_SLOT_RESIDUAL]) * fabsf(e->unit) : 0;
	for (i = 0; i < b->n; i++) {
		e->scale[i] = b->scale[each ? i : 0];
		/* Comparisons with NaN are false. */
		within &= fabsf(e->scale[i]) * c->most + fabsf(e->bias[i]) + more <=
			  scale * UNITS_MAX;
	}
	return within;
}

/**
 * conv_place - address of the first result of a block, or of its residual
 * @r: this thread
 * @b: block
 * @slot: UMA_SLOT_DST or UMA_SLOT_RESIDUAL
 *
 * Return: the address.
 */
uint8_t *conv_place(const struct fast_run *r, const struct conv_result *b, uint32_t slot)
{
	const struct uma_tensor_view *t = &r->prog->op->t[slot];
	const uint32_t rank = r->prog->op->t[UMA_SLOT_DST].rank;

	if (conv_prog_of(r->prog)->gemm)
		return (uint8_t *)fast_ptr(t) +
		       fast_bytes(t->dtype, (b->y + b->at) * t->strides[0] + b->n0);
	return (uint8_t *)fast_ptr(t) +
	       fast_bytes(t->dtype, b->image * t->strides[0] + b->n0 * t->strides[1] +
				    (rank == 4 ? b->y * t->strides[2] : 0) +
				    b->at * t->strides[rank - 1]);
}

/**
 * conv_finish_block - run the epilogue of a block
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
