// SPDX-License-Identifier: MIT
/*
 * Depthwise convolutions of 3 x 3 taps, channels last. The inputs of a row of
 * outputs are brought into the thread's memory with their padding, each row once
 * for a tile, binary32 or bytes, in as many channels as fill vectors.
 */
#include <string.h>
#include "classes.h"
#include "depthwise.h"

/* Kept for a tile: weights, start, scales and bias take 16 numbers a channel. */
#define CHANNELS_MAX	4096u

/* May the kernels finish their results? */
static bool is_fused(const struct dw_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];

	if (c->epi.steps & ~(EPI_BIAS | EPI_RELU) || d->strides[1] != 1)
		return false;
	if (c->epi.steps & EPI_BIAS && !conv_plain_bias(&p->op->t[UMA_SLOT_BIAS]))
		return false;
	if (!c->epi.integer)
		return d->dtype == UMA_DTYPE_F32 || d->dtype == UMA_DTYPE_BF16;
	return uma_is_int8(d->dtype) && d->quant == UMA_QUANT_TENSOR && !c->epi.divide &&
	       d->zero >= -256 && d->zero <= 256;
}

static bool choose_type(struct dw_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];

	if (a->dtype == UMA_DTYPE_F32 || a->dtype == UMA_DTYPE_BF16)
		return b->dtype == a->dtype && !a->quant && !b->quant;
	if (!uma_is_int8(a->dtype) || b->dtype != UMA_DTYPE_S8 || !(p->cpu->isa & FAST_VNNI) ||
	    a->quant > UMA_QUANT_TENSOR || b->zero || b->zero_addr)
		return false;
	c->za = a->quant ? a->zero : 0;
	if (a->dtype == UMA_DTYPE_S8) {
		c->za += 128;
		c->flip = 0x80;
	}
	return true;
}

/* Bytes of an input in the thread's memory. */
static uint64_t pixel_bytes(const struct dw_prog *c)
{
	return c->es == 1 ? (c->pairs ? c->channels : c->lanes) : 4ul * c->lanes;
}

/* Of a row, and what the last vector reads beyond it. */
static uint64_t row_bytes(const struct dw_prog *c)
{
	return (c->width * pixel_bytes(c) + 127) / 64 * 64;
}

static int dw_prepare(struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];
	struct dw_prog *c = (struct dw_prog *)p->priv;
	const uint32_t threads = p->cpu->threads ? p->cpu->threads : 1;
	struct conv_plan *g = &c->g;
	uint32_t vector;

	if (p->op->u.conv.func >= UMA_CONV_WINOGRAD_2 || uma_tensor_empty(d) ||
	    !(p->cpu->isa & FAST_AVX512) || d->rank != 4 || b->layout != UMA_LAYOUT_STRIDED)
		return 0;
	conv_geometry(p->op, g);
	if (g->transposed || g->c != 1 || g->m != 1 || g->kernel[0] != DW_TAPS ||
	    g->kernel[1] != DW_TAPS || g->dilation[0] != 1 || g->dilation[1] != 1 ||
	    g->stride[0] > 2 || g->stride[1] > 2 || g->groups > CHANNELS_MAX || g->groups < 8 ||
	    a->strides[1] != 1 || b->strides[0] != 1 || b->quant > UMA_QUANT_CHANNEL ||
	    g->out[1] > 1u << 16 || g->out[0] > 1u << 16 || g->in[1] > 1u << 16)
		return 0;
	c->es = uma_dtype_bits(a->dtype) / 8;
	c->channels = g->groups;
	if (!choose_type(c, p))
		return 0;
	vector = c->es == 1 ? 64 : 16;
	c->lanes = (c->channels + vector - 1) / vector * vector;
	c->pairs = c->es == 1 && c->channels == 32 && g->stride[1] == 1;
	c->width = (g->out[1] - 1) * g->stride[1] + DW_TAPS;
	/* Weights and the like, rows of inputs, a row of sums. */
	if (64ul * c->lanes + DW_TAPS * row_bytes(c) + 4ul * c->lanes * g->out[1] >
	    FAST_SCRATCH - 4096)
		return 0;
	fast_epi_init(&c->epi, p, 3, 1, c->es == 1);
	c->relu = c->epi.steps & EPI_RELU;
	c->fused = is_fused(c, p);
	/* Pairs are dense, in and out. */
	c->pairs = c->pairs && c->fused && a->strides[3] == 32 && d->strides[3] == 32;
	c->direct = c->lanes == c->channels || c->pairs;
	c->dst = d->dtype;
	c->dst_zero = d->zero;
	memcpy(&c->dst_scale, &d->scale, sizeof(c->dst_scale));
	/* Rows that are shared by two tiles are brought in twice. */
	c->rows = p->hint.mt ? p->hint.mt : threads == 1 ? g->out[0] :
		  (g->out[0] + 4 * threads - 1) / (4 * threads);
	c->rows = UMA_MIN(UMA_MAX(c->rows, 7u), g->out[0]);
	c->yblocks = (g->out[0] + c->rows - 1) / c->rows;
	if ((uint64_t)g->images * c->yblocks > 0x7fffffffu)
		return 0;
	p->phase_count = 1;
	p->tiles[0] = g->images * c->yblocks;
	p->macs = p->program->macs;
	return 1;
}

/* --- what is the same for all outputs ----------------------------------------------- */

/**
 * struct dw_at - the tile at hand
 * @r: this thread
 * @c: convolution
 * @weights: as the kernels want them
 * @start: likewise
 * @scale: likewise
 * @bias: likewise
 * @rows: inputs, a ring
 * @sums: a row of them
 * @image: image
 */
struct dw_at {
	const struct fast_run *r;
	const struct dw_prog *c;
	uint8_t *weights;
	uint8_t *start;
	float *scale;
	float *bias;
	uint8_t *rows;
	uint8_t *sums;
	uint32_t image;
};

static const float *bias_of(const struct dw_at *t)
{
	return t->c->fused && t->c->epi.steps & EPI_BIAS ?
	       fast_ptr(&t->r->prog->op->t[UMA_SLOT_BIAS]) : NULL;
}

static void load_floats(const struct dw_at *t)
{
	const struct dw_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const uint8_t *b = fast_ptr(&t->r->prog->op->t[UMA_SLOT_B]);
	const float *bias = bias_of(t);
	uint32_t k;

	memset(t->weights, 0, 36ul * c->lanes);
	memset(t->start, 0, 4ul * c->lanes);
	for (k = 0; k < DW_TAPS * DW_TAPS; k++) {
		const uint8_t *w = b + (k / DW_TAPS * g->b_stride[CONV_Y] +
					k % DW_TAPS * g->b_stride[CONV_X]) * c->es;
		float *to = (float *)t->weights + (uint64_t)k * c->lanes;

		if (c->es == 4)
			memcpy(to, w, 4ul * c->channels);
		else
			dw_widen_bf16_avx512(to, (const uint16_t *)w, c->channels);
	}
	if (bias)
		memcpy(t->start, bias, 4ul * c->channels);
}

/* Lanes of both outputs of a pair are the same channels. */
static void twice(const struct dw_prog *c, float *x)
{
	if (c->pairs)
		memcpy(x + c->channels, x, 4ul * c->channels);
}

static void load_bytes(const struct dw_at *t)
{
	const struct dw_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const bool each = fast_epi_by_channel(t->r->prog);
	const int8_t *w = fast_ptr(&t->r->prog->op->t[UMA_SLOT_B]);
	const float *bias = bias_of(t);
	float *x = (float *)t->sums;
	uint32_t i;

	dw_int8_weights_avx512(c, w, g->b_stride[CONV_Y], g->b_stride[CONV_X], t->weights,
			       (int32_t *)t->start);
	if (c->pairs) {
		/* 32 channels are the lower two quarters of the vectors. */
		for (i = 0; i < 12; i++)
			memcpy(t->weights + 64 * i + 32, t->weights + 64 * i, 32);
		for (i = 0; i < 4; i++)
			memcpy(t->start + 64 * i + 32, t->start + 64 * i, 32);
	}
	if (!c->fused)
		return;
	memset(x, 0, 4ul * c->lanes);
	fast_epi_scales(t->r->prog, 0, each ? c->channels : 1, x);
	for (i = 1; !each && i < c->channels; i++)
		x[i] = x[0];
	twice(c, x);
	dw_int8_order_avx512(x, c->lanes, t->scale);
	memset(x, 0, 4ul * c->lanes);
	if (bias)
		memcpy(x, bias, 4ul * c->channels);
	twice(c, x);
	dw_int8_order_avx512(x, c->lanes, t->bias);
}

/* --- inputs ------------------------------------------------------------------------ */

static void put_pixels(const struct dw_prog *c, uint8_t *to, const uint8_t *from, int64_t xs,
		       uint32_t n)
{
	const uint32_t bytes = c->channels * (c->es == 1 ? 1 : 4);
	const uint64_t px = pixel_bytes(c);
	uint32_t i;

	if (c->es != 2 && xs == (int64_t)px && bytes == px) {
		memcpy(to, from, n * px);
		return;
	}
	if (c->es == 2 && c->channels == c->lanes && xs == 2 * (int64_t)c->channels) {
		dw_widen_bf16_avx512((float *)to, (const uint16_t *)from, (uint64_t)n * c->lanes);
		return;
	}
	for (i = 0; i < n; i++, to += px, from += xs) {
		if (c->es == 2)
			dw_widen_bf16_avx512((float *)to, (const uint16_t *)from, c->channels);
		else
			memcpy(to, from, bytes);
		memset(to + bytes, 0, px - bytes);
	}
}

/* Inputs @ix .. of row @iy, where there may be padding. */
static void bring(const struct dw_at *t, int64_t iy, int64_t ix, uint32_t count, uint8_t *to)
{
	const struct dw_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const int64_t xs = g->a_stride[CONV_X] * c->es;
	const uint64_t px = pixel_bytes(c), all = count * px;
	/* Before it is flipped: what the zero point is made of. */
	const int zero = c->es == 1 ? (uint8_t)(c->za ^ c->flip) : 0;
	const uint32_t left = (uint32_t)UMA_MIN(ix < 0 ? -ix : 0, (int64_t)count);
	const int64_t there = (int64_t)g->in[1] - (ix + left);
	const uint32_t n = there < 0 ? 0 : (uint32_t)UMA_MIN(there, (int64_t)(count - left));

	if (iy < 0 || iy >= g->in[0]) {
		memset(to, zero, all);
		return;
	}
	memset(to, zero, left * px);
	if (n)
		put_pixels(c, to + left * px,
			   (const uint8_t *)fast_ptr(&t->r->prog->op->t[UMA_SLOT_A]) +
			   (t->image * g->a_stride[CONV_N] + iy * g->a_stride[CONV_Y] +
			    (ix + left) * g->a_stride[CONV_X]) * c->es, xs, n);
	memset(to + (left + n) * px, zero, (count - left - n) * px);
}

/* Where row @iy is kept. */
static uint8_t *ring(const struct dw_at *t, int64_t iy)
{
	/* Padding is at most UMA_CONV_PAD_MAX. */
	return t->rows + (uint64_t)(iy + 3 * UMA_CONV_PAD_MAX) % DW_TAPS * row_bytes(t->c);
}

/* --- tiles ---------------------------------------------------------------------- */

/* A row of sums through the epilogue. */
static int finish(const struct dw_at *t, uint32_t y)
{
	const struct dw_prog *c = t->c;
	const bool each = fast_epi_by_channel(t->r->prog);
	struct fast_epi_block b = {
		.ld = c->channels, .m = c->g.out[1], .idx = { t->image, 0, y },
		.scale_ns = each,
	};
	float scale[64];

	for (b.idx[1] = 0; b.idx[1] < c->channels; b.idx[1] += b.n) {
		b.n = UMA_MIN(64u, c->channels - b.idx[1]);
		b.acc = (float *)t->sums + b.idx[1];
		if (c->epi.integer && !c->epi.exact) {
			fast_epi_scales(t->r->prog, b.idx[1], each ? b.n : 1, scale);
			b.scale = scale;
		}
		if (fast_epi_block(t->r, &c->epi, &b))
			return -1;
	}
	return 0;
}

/* @n outputs from @x on; their inputs are in place. */
static void run_row(const struct dw_at *t, struct dw_row *row, uint32_t y, uint32_t x, uint32_t n)
{
	const struct dw_prog *c = t->c;
	const struct uma_tensor_view *d = &t->r->prog->op->t[UMA_SLOT_DST];
	uint8_t *const out = row->out;

	if (c->fused) {
		row->out_ms = fast_bytes(d->dtype, d->strides[3]);
		row->out = (uint8_t *)fast_ptr(d) +
			   fast_bytes(d->dtype, t->image * d->strides[0] +
				      (int64_t)y * d->strides[2] + x * d->strides[3]);
	} else {
		row->out_ms = 4l * c->channels;
		row->out = t->sums + x * row->out_ms;
	}
	row->stride = c->g.stride[1];
	row->n = c->channels;
	row->outputs = n;
	if (c->pairs && n > 1) {
		row->stride = 2;
		row->n = 2 * c->channels;
		row->outputs = n / 2;
		row->out_ms *= 2;
	}
	if (c->es == 1)
		dw_int8_avx512(c, row);
	else
		dw_f32_avx512(c, row);
	row->out = out;
	if (c->pairs && n > 1 && n % 2) {
		struct dw_row last = *row;
		uint32_t k;

		for (k = 0; k < DW_TAPS; k++)
			last.in[k] += (int64_t)(n - 1) * row->px;
		run_row(t, &last, y, x + n - 1, 1);
	}
}

/* A row of outputs whose inputs are read where they lie, but for its ends. */
static void direct_row(const struct dw_at *t, struct dw_row *row, uint32_t y)
{
	const struct dw_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const int64_t top = (int64_t)y * g->stride[0] - g->pad[0], s = g->stride[1];
	const int64_t xs = g->a_stride[CONV_X] * c->es, px = pixel_bytes(c);
	const uint8_t *a = (const uint8_t *)fast_ptr(&t->r->prog->op->t[UMA_SLOT_A]) +
			   (t->image * g->a_stride[CONV_N] + top * g->a_stride[CONV_Y]) * c->es;
	/* The first output without padding, and the first one behind those. */
	const int64_t lo = UMA_MIN((g->pad[1] + s - 1) / s, (int64_t)g->out[1]);
	const int64_t last = (int64_t)g->in[1] + g->pad[1] - DW_TAPS;
	const int64_t some = UMA_MAX(UMA_MIN(last < 0 ? 0 : last / s + 1, (int64_t)g->out[1]), lo);
	/* A pair, or what would read like one, stays within the row. */
	const int64_t hi = c->pairs ? some - (some - lo) % 2 : some;
	const int64_t ends[2][2] = { { 0, lo }, { hi, g->out[1] } };
	uint32_t e, k;

	for (e = 0; e < 2; e++) {
		const uint32_t n = (uint32_t)(ends[e][1] - ends[e][0]);
		const uint32_t count = (n - 1) * (uint32_t)s + DW_TAPS;

		if (!n)
			continue;
		for (k = 0; k < DW_TAPS; k++) {
			row->in[k] = t->rows + k * row_bytes(c);
			bring(t, top + k, ends[e][0] * s - g->pad[1], count,
			      t->rows + k * row_bytes(c));
		}
		row->px = px;
		row->in16 = false;
		run_row(t, row, y, (uint32_t)ends[e][0], n);
	}
	if (lo == hi)
		return;
	for (k = 0; k < DW_TAPS; k++)
		row->in[k] = a + k * g->a_stride[CONV_Y] * c->es + (lo * s - g->pad[1]) * xs;
	row->px = xs;
	row->in16 = c->es == 2;
	run_row(t, row, y, (uint32_t)lo, (uint32_t)(hi - lo));
}

static int dw_rows(const struct dw_at *t, uint32_t y0, uint32_t rows)
{
	const struct dw_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	int64_t have = INT64_MIN, k;
	struct dw_row row = {
		.weights = t->weights, .start = t->start, .scale = t->scale, .bias = t->bias,
		.flip = c->flip,
	};
	uint32_t y;

	for (y = y0; y < y0 + rows; y++) {
		const int64_t top = (int64_t)y * g->stride[0] - g->pad[0];

		if (c->direct && top >= 0 && top + DW_TAPS <= g->in[0]) {
			have = INT64_MIN;
			direct_row(t, &row, y);
		} else {
			for (have = UMA_MAX(have, top); have < top + DW_TAPS; have++)
				bring(t, have, -(int64_t)g->pad[1], c->width, ring(t, have));
			for (k = 0; k < DW_TAPS; k++)
				row.in[k] = ring(t, top + k);
			row.px = pixel_bytes(c);
			row.in16 = false;
			run_row(t, &row, y, 0, g->out[1]);
		}
		if (!c->fused && finish(t, y))
			return -1;
	}
	return 0;
}

static int dw_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct dw_prog *c = (const struct dw_prog *)r->prog->priv;
	const uint32_t y0 = tile % c->yblocks * c->rows;
	uint8_t *rest = r->scratch;
	struct dw_at t = { .r = r, .c = c, .image = tile / c->yblocks };

	(void)phase;
	t.weights = rest;
	t.start = t.weights + 36ul * c->lanes;
	t.scale = (float *)(t.start + 4ul * c->lanes);
	t.bias = t.scale + c->lanes;
	t.rows = (uint8_t *)(t.bias + c->lanes);
	t.sums = t.rows + DW_TAPS * row_bytes(c);
	if (c->es == 1)
		load_bytes(&t);
	else
		load_floats(&t);
	return dw_rows(&t, y0, UMA_MIN(c->rows, c->g.out[0] - y0));
}

const struct fast_class fast_depthwise = {
	.name = "depthwise",
	.prepare = dw_prepare,
	.tile = dw_tile,
};
