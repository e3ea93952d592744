// SPDX-License-Identifier: MIT
/*
 * Depthwise convolutions with 3 x 3 taps, channels last. Inputs are read without a copy: rows
 * of padding use one pixel of zeros repeatedly, as do the first and the last column. Rows are
 * only copied to scratch memory if there is more padding than that.
 */
#include <math.h>
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "depthwise.h"

/* Their weights are kept for a tile. */
#define CHANNELS_MAX	4096u
/* From the second-level or the last-level cache; see Documentation/performance-results.rst. */
#define OUTPUTS_PER_NS	8u

/* Can the kernels compute the epilogue? */
static bool is_fused(const struct dw_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];

	if (c->epi.steps & ~(EPI_BIAS | EPI_RELU | (c->clamp ? EPI_ACT : 0)) || d->strides[1] != 1)
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

/* Bytes of a row that is copied to scratch memory. */
static uint64_t row_bytes(const struct dw_prog *c)
{
	return ((uint64_t)c->width * c->es * c->slice + 63) / 64 * 64;
}

static uint64_t weights_bytes(const struct dw_prog *c)
{
	/* The weights may turn out to be unsuitable for AVX512_BF16. */
	const uint64_t floats = c->lanes / 16 * DW_FLOATS, halves = c->lanes / 32 * DW_HALVES;

	return c->es == 1 ? c->lanes / 64 * sizeof(struct dw_bytes) :
			    UMA_MAX(floats, halves) * sizeof(float);
}

/* Sums of a row of outputs, also for tiles that find that they need them at run time. */
static uint64_t sums_bytes(const struct dw_prog *c)
{
	return 4ul * c->slice * c->g.out[1];
}

static uint64_t scratch_bytes(const struct dw_prog *c)
{
	/* Weights, a pixel of padding, scales, and the ends of rows. */
	return weights_bytes(c) + 8ul * c->lanes + 128 * DW_LINES +
	       (c->apart ? 2 * DW_RESULTS : 0) +
	       (c->direct ? 0 : c->lines * row_bytes(c)) + c->band * sums_bytes(c);
}

/* Bytes that @rows rows of outputs read and write. */
static uint64_t moved(const struct dw_prog *c, uint32_t channels, uint32_t rows)
{
	const struct conv_plan *g = &c->g;

	return (uint64_t)rows * channels *
	       ((uint64_t)g->stride[0] * g->in[1] * c->es +
		(uint64_t)g->out[1] * (uma_dtype_bits(c->dst) / 8));
}

/*
 * Choose the tiles. Each tile reorders weights, and the next tile reads two rows of inputs
 * again: so a small image, whose inputs and outputs fit in a core's cache, is one tile for each
 * slice of channels.
 */
static void choose_tiles(const struct fast_prog *p, struct dw_prog *c)
{
	const uint32_t threads = p->cpu->threads ? p->cpu->threads : 1, out = c->g.out[0];
	uint32_t tiles = threads == 1 ? 1 : (4 * threads + c->g.images - 1) / c->g.images;
	/* At least two cache lines of an input */
	const uint32_t least = UMA_MAX(c->vector, 128 / c->es);
	const uint32_t most = c->channels / least;

	c->rows = out;
	c->slice = c->channels;
	if (p->hint.mt) {
		c->rows = p->hint.mt;
	} else if (tiles > 1 && 2 * most >= tiles &&
		   moved(c, c->channels, out) / threads <= p->cpu->l2 / 2) {
		tiles = UMA_MIN(tiles, most);
		c->slice = (c->channels + tiles * c->vector - 1) / (tiles * c->vector) * c->vector;
	} else if (tiles > 1) {
		c->rows = UMA_MAX((out + tiles - 1) / tiles, 4u);
	}
	c->rows = UMA_MIN((c->rows + 1) / 2 * 2, out);
	c->yblocks = (out + c->rows - 1) / c->rows;
	c->slices = (c->channels + c->slice - 1) / c->slice;
	c->lanes = (c->slice + c->vector - 1) / c->vector * c->vector;
}

/* Rows of inputs for @rows rows of outputs. */
static uint32_t lines_of(const struct dw_prog *c, uint32_t rows)
{
	return (rows - 1) * c->g.stride[0] + DW_TAPS;
}

/*
 * binary32: number of rows for which the inputs of a strip fit in half of the first-level
 * cache, because the next vector of channels is adjacent.
 */
static uint32_t strip_rows(const struct fast_prog *p, const struct dw_prog *c)
{
	const uint32_t vectors = UMA_MIN(c->lanes / c->vector, DW_GROUP);
	const uint32_t line = (6 * c->g.stride[1] + DW_TAPS) * vectors * 64;
	const uint32_t lines = p->cpu->l1d / 2 / line;

	return lines < DW_TAPS ? 1 : (lines - DW_TAPS) / c->g.stride[0] + 1;
}

/* Number of rows that are computed at a time. */
static bool choose_band(const struct fast_prog *p, struct dw_prog *c)
{
	uint32_t bands;

	c->band = UMA_MIN(c->rows, c->apart ? DW_APART : DW_BAND);
	if (c->es != 1 && !c->halves)
		c->band = UMA_MIN(c->band, UMA_MAX(strip_rows(p, c), 4u));
	bands = (c->rows + c->band - 1) / c->band;
	c->band = (c->rows + bands - 1) / bands;
	for (;;) {
		c->lines = lines_of(c, c->band);
		if (scratch_bytes(c) <= FAST_SCRATCH)
			return true;
		if (c->band == 1)
			return false;
		c->band /= 2;
	}
}

/*
 * Are outputs at distances for which adjacent ones and their inputs map to one or two sets of
 * the first-level cache? If so each write of a line takes as long as the second-level cache,
 * and results are written for a few pixels after each other.
 */
static bool is_apart(const struct dw_prog *c, const struct uma_tensor_view *d)
{
	const int64_t bytes = fast_bytes(d->dtype, d->strides[3]);

	return c->es != 1 && c->fused && bytes && !(bytes % (c->halves ? 4096 : 2048));
}

/*
 * With few byte channels most lanes of a vector would be empty. If adjacent outputs are
 * contiguous, like their inputs, several of them fill a vector.
 */
static uint32_t outputs_of_vector(const struct dw_prog *c, const struct uma_tensor_view *a,
				  const struct uma_tensor_view *d)
{
	if (c->es != 1 || c->channels > c->vector / 2 || c->g.stride[1] != 1 || !c->direct ||
	    a->strides[3] != c->channels || (c->fused && d->strides[3] != c->channels))
		return 1;
	return c->vector / c->channels;
}

static int dw_prepare(struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];
	struct dw_prog *c = (struct dw_prog *)p->priv;
	struct conv_plan *g = &c->g;

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
	conv_bounds(p->op, &c->least, &c->most);
	/* The instruction that converts results to bf16 flushes subnormal bounds to zero. */
	c->halves = c->es == 2 && p->cpu->isa & FAST_BF16 &&
		    fpclassify(c->least) != FP_SUBNORMAL && fpclassify(c->most) != FP_SUBNORMAL;
	c->vector = c->es == 1 ? 64 : c->halves ? 32 : 16;
	c->width = (g->out[1] - 1) * g->stride[1] + DW_TAPS;
	c->direct = g->pad[1] <= 1 && c->width - 1 <= g->in[1] + g->pad[1];
	fast_epi_init(&c->epi, p, 3, 1, c->es == 1);
	c->relu = c->epi.steps & EPI_RELU;
	c->clamp = c->es != 1 && p->op->act == UMA_ACT_CLAMP;
	c->fused = is_fused(c, p);
	c->side = outputs_of_vector(c, a, d);
	c->dst = d->dtype;
	c->dst_zero = d->zero;
	memcpy(&c->dst_scale, &d->scale, sizeof(c->dst_scale));
	c->apart = is_apart(c, d);
	choose_tiles(p, c);
	if (!choose_band(p, c) ||
	    (uint64_t)g->images * c->yblocks * c->slices > 0x7fffffffu)
		return 0;
	p->phase_count = 1;
	p->tiles[0] = g->images * c->yblocks * c->slices;
	p->ns = uma_tensor_elements(d) / OUTPUTS_PER_NS;
	return 1;
}

/* --- what is the same for all outputs ----------------------------------------------- */

/**
 * struct dw_at - the tile that is processed
 * @r: this thread
 * @c: convolution
 * @a: first row of the image, first channel of the tile
 * @weights: in the kernels' order
 * @none: a pixel of padding
 * @ends: ends of rows, if a vector there has several pixels, one of which is padding
 * @rows: ring of inputs, if they are copied
 * @sums: sums of a band
 * @buf: results, if @apart
 * @px: bytes from an input to the next in its row
 * @pad: columns of padding before a row
 * @in: inputs of a row
 * @edge: see dw_int8_weights_avx512()
 * @image: image
 * @ch: first channel
 * @n: number of channels
 * @fused: the kernel computes the epilogue
 * @halves: @weights are DW_HALVES
 */
struct dw_at {
	const struct fast_run *r;
	const struct dw_prog *c;
	const uint8_t *a;
	uint8_t *weights;
	uint8_t *none;
	uint8_t *ends;
	uint8_t *rows;
	uint8_t *sums;
	uint8_t *buf;
	int64_t px;
	int64_t pad;
	int64_t in;
	float edge;
	uint32_t image;
	uint32_t ch;
	uint32_t n;
	bool fused;
	bool halves;
};

static void load_weights(struct dw_at *t, float *scale)
{
	const struct dw_prog *c = t->c;
	const struct fast_prog *p = t->r->prog;
	const bool each = fast_epi_by_channel(p);
	const uint8_t *w = fast_ptr(&p->op->t[UMA_SLOT_B]);
	const float *bias = NULL;
	uint32_t i;

	w += (uint64_t)t->ch * c->es;
	if (c->fused && c->epi.steps & EPI_BIAS)
		bias = (const float *)fast_ptr(&p->op->t[UMA_SLOT_BIAS]) + t->ch;
	t->fused = c->fused;
	t->halves = c->halves &&
		    dw_bf16_weights_avx512(c, t->n, w, bias, (float *)t->weights);
	if (t->halves)
		return;
	if (c->es != 1) {
		dw_f32_weights_avx512(c, t->n, w, bias, (float *)t->weights);
		return;
	}
	if (c->fused) {
		fast_epi_scales(p, t->ch, each ? t->n : 1, scale);
		for (i = 1; !each && i < t->n; i++)
			scale[i] = scale[0];
	}
	t->edge = dw_int8_weights_avx512(c, t->n, (const int8_t *)w, c->fused ? scale : NULL, bias,
					 (struct dw_bytes *)t->weights);
	/* Sums that are too large for the kernel, or NaN */
	t->fused = t->edge > 0;
}

/* --- inputs ------------------------------------------------------------------------ */

static uint8_t padding(const struct dw_prog *c)
{
	/* Before the exclusive or: the byte that becomes the zero point. */
	return c->es == 1 ? (uint8_t)(c->za ^ c->flip) : 0;
}

/* Copy row @iy with all its padding. */
static void bring(const struct dw_at *t, int64_t iy, uint8_t *to)
{
	const struct dw_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const int64_t xs = g->a_stride[CONV_X] * c->es;
	const uint64_t px = (uint64_t)c->es * t->n;
	const uint8_t *from = t->a + iy * g->a_stride[CONV_Y] * c->es;
	const uint32_t left = UMA_MIN(g->pad[1], c->width);
	const uint32_t n = UMA_MIN(c->width - left, g->in[1]);
	uint32_t i;

	memset(to, padding(c), left * px);
	to += left * px;
	for (i = 0; i < n; i++, to += px, from += xs)
		memcpy(to, from, px);
	memset(to, padding(c), (c->width - left - n) * px);
}

/* Address of row @iy of the inputs; NULL: it is padding. */
static const uint8_t *line(const struct dw_at *t, int64_t iy)
{
	const struct dw_prog *c = t->c;

	if (iy < 0 || iy >= c->g.in[0])
		return NULL;
	return c->direct ? t->a + iy * c->g.a_stride[CONV_Y] * c->es :
			   t->rows + (uint64_t)iy % c->lines * row_bytes(c);
}

/* Column @j of a row, counting padding. */
static const uint8_t *pixel(const struct dw_at *t, const uint8_t *line, int64_t j)
{
	j -= t->pad;
	return j < 0 || j >= t->in ? t->none : line + j * t->px;
}

/* Columns from @j on, as many as a vector has; at @end if one of them is padding. */
static const uint8_t *pixels(const struct dw_at *t, const uint8_t *line, int64_t j, uint8_t *end)
{
	const uint32_t side = t->c->side;
	uint32_t k;

	if (j >= t->pad && j + side <= t->in + t->pad)
		return pixel(t, line, j);
	for (k = 0; k < side; k++)
		memcpy(end + (size_t)k * t->n, pixel(t, line, j + k), t->n);
	return end;
}

/*
 * Set up the inputs of @outputs vectors of @b->side outputs from column @j on, in rows from @iy
 * on.
 */
static void look(const struct dw_at *t, struct dw_band *b, int64_t iy, int64_t j,
		 uint32_t outputs)
{
	const struct dw_prog *c = t->c;
	const int64_t stride = b->side > 1 ? b->side : c->g.stride[1];
	const int64_t last = j + (int64_t)(outputs - 1) * stride + DW_TAPS - 1;
	uint32_t k;

	for (k = 0; k < lines_of(c, b->rows); k++) {
		uint8_t *const ends = t->ends + 128ul * k;
		struct dw_line *l = &b->lines[k];
		const uint8_t *at = line(t, iy + k);

		l->none = !at;
		l->px = at ? t->px : 0;
		if (!at) {
			l->first = l->mid = l->last = t->none;
		} else if (b->side > 1) {
			l->first = pixels(t, at, j, ends);
			l->mid = pixel(t, at, j + 1);
			l->last = pixels(t, at, last, ends + 64);
		} else {
			l->first = pixel(t, at, j);
			l->mid = pixel(t, at, j + 1);
			l->last = pixel(t, at, last);
		}
	}
	b->xstride = (uint32_t)stride;
	b->outputs = outputs;
}

/* --- tiles ---------------------------------------------------------------------- */

/* Run the epilogue on a row of sums. */
static int finish(const struct dw_at *t, uint32_t y, const uint8_t *sums)
{
	const struct dw_prog *c = t->c;
	const bool each = fast_epi_by_channel(t->r->prog);
	struct fast_epi_block b = {
		.ld = t->n, .m = c->g.out[1], .idx = { t->image, 0, y }, .scale_ns = each,
	};
	float scale[64];
	uint32_t ch;

	for (ch = 0; ch < t->n; ch += b.n) {
		b.n = UMA_MIN(64u, t->n - ch);
		b.idx[1] = t->ch + ch;
		b.acc = (float *)sums + ch;
		if (c->epi.integer && !c->epi.exact) {
			fast_epi_scales(t->r->prog, b.idx[1], each ? b.n : 1, scale);
			b.scale = scale;
		}
		if (fast_epi_block(t->r, &c->epi, &b))
			return -1;
	}
	return 0;
}

/* @outputs outputs from @x on, @side in a vector; the first row's inputs begin at row @top. */
static void run_part(const struct dw_at *t, struct dw_band *b, int64_t top, uint32_t x,
		     uint32_t outputs, uint32_t side)
{
	const struct dw_prog *c = t->c;
	uint8_t *const out = b->out;

	b->side = side;
	look(t, b, top, (int64_t)x * c->g.stride[1], outputs / side);
	b->n = t->n * side;
	b->out += x * b->out_ms;
	b->out_ms *= side;
	if (c->es == 1)
		dw_int8_avx512(b);
	else if (b->halves)
		dw_bf16_avx512(b);
	else
		dw_f32_avx512(b);
	b->out_ms /= side;
	b->out = out;
}

/* @b->rows rows of outputs from @y on. */
static int run_band(const struct dw_at *t, struct dw_band *b, uint32_t y, int64_t top)
{
	const struct dw_prog *c = t->c;
	const struct uma_tensor_view *d = &t->r->prog->op->t[UMA_SLOT_DST];
	const uint32_t n = c->g.out[1], full = c->side > 1 ? n / c->side * c->side : 0;
	uint32_t k;

	if (t->fused) {
		b->out_ms = fast_bytes(d->dtype, d->strides[3]);
		b->out_row = fast_bytes(d->dtype, d->strides[2]);
		b->out = (uint8_t *)fast_ptr(d) +
			 fast_bytes(d->dtype, t->image * d->strides[0] + y * d->strides[2] +
					      t->ch);
	} else {
		b->out_ms = 4l * t->n;
		b->out_row = (int64_t)sums_bytes(c);
		b->out = t->sums;
	}
	if (full)
		run_part(t, b, top, 0, full, c->side);
	if (full < n)
		run_part(t, b, top, full, n - full, 1);
	for (k = 0; !t->fused && k < b->rows; k++)
		if (finish(t, y + k, t->sums + k * sums_bytes(c)))
			return -1;
	return 0;
}

static int run_rows(const struct dw_at *t, uint32_t y0, uint32_t rows)
{
	const struct dw_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	struct dw_band b = {
		.weights = t->weights, .flip = c->flip, .edge = t->edge,
		.dst_scale = c->dst_scale, .dst_zero = c->dst_zero,
		.dst_u8 = c->dst == UMA_DTYPE_U8, .in16 = c->es == 2,
		.halves = t->halves, .ystride = g->stride[0],
		.out16 = t->fused && c->dst == UMA_DTYPE_BF16, .fused = t->fused,
		.relu = t->fused && c->relu, .clamp = t->fused && c->clamp,
		.least = t->fused ? c->least : -INFINITY, .most = t->fused ? c->most : INFINITY,
		.buf = t->buf, .apart = c->apart && t->fused,
	};
	int64_t have = INT64_MIN;
	uint32_t y;

	for (y = y0; y < y0 + rows; y += b.rows) {
		const int64_t top = (int64_t)y * g->stride[0] - g->pad[0];

		b.rows = UMA_MIN(c->band, y0 + rows - y);
		if (!c->direct)
			for (have = UMA_MAX(have, top); have < top + lines_of(c, b.rows); have++)
				if (line(t, have))
					bring(t, have, (uint8_t *)(uintptr_t)line(t, have));
		if (run_band(t, &b, y, top))
			return -1;
	}
	return 0;
}

static int dw_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct dw_prog *c = (const struct dw_prog *)r->prog->priv;
	const uint32_t block = tile / c->slices, y0 = block % c->yblocks * c->rows;
	struct dw_at t = {
		.r = r, .c = c, .image = block / c->yblocks, .weights = r->scratch,
		.ch = tile % c->slices * c->slice,
		.px = c->g.a_stride[CONV_X] * c->es, .pad = c->g.pad[1], .in = c->g.in[1],
	};

	(void)phase;
	t.n = UMA_MIN(c->slice, c->channels - t.ch);
	if (!c->direct) {
		t.px = (int64_t)t.n * c->es;
		t.pad = 0;
		t.in = c->width;
	}
	t.a = (const uint8_t *)fast_ptr(&r->prog->op->t[UMA_SLOT_A]) +
	      (t.image * c->g.a_stride[CONV_N] + t.ch) * c->es;
	t.none = t.weights + weights_bytes(c);
	t.ends = t.none + 4ul * c->lanes;
	t.buf = t.ends + 128 * DW_LINES + 4ul * c->lanes;
	t.sums = t.buf + (c->apart ? 2 * DW_RESULTS : 0);
	t.rows = t.sums + c->band * sums_bytes(c);
	load_weights(&t, (float *)(t.ends + 128 * DW_LINES));
	memset(t.none, padding(c), 4ul * c->lanes);
	return run_rows(&t, y0, UMA_MIN(c->rows, c->g.out[0] - y0));
}

static uint32_t dw_candidates(const struct fast_prog *p, struct fast_hint *out, uint32_t max)
{
	const struct dw_prog *c = (const void *)p->priv;

	return fast_row_hints(out, max, 2, c->g.out[0]);
}

const struct fast_class fast_depthwise = {
	.name = "depthwise",
	.prepare = dw_prepare,
	.tile = dw_tile,
	.candidates = dw_candidates,
};
