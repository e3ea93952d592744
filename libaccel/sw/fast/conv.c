// SPDX-License-Identifier: MIT
/*
 * Convolutions as sums over taps: a tile brings in the inputs of a few rows of
 * outputs, in its own memory, and multiplies them by panels of output channels. A
 * row of taps that lies in the padding is left out.
 */
#include <string.h>
#include "classes.h"
#include "conv_fast.h"

/* Bytes of a patch that leave room for weights in the second-level cache. */
#define PATCH_MAX	(320u * 1024u)
/* Output channels that blocks pay for */
#define MIN_CHANNELS	8u

static uint64_t patch_bytes(const struct conv_prog *c, uint32_t rows)
{
	return conv_patch_size(&c->g, 0, rows) * conv_patch_size(&c->g, 1, c->g.out[1]) * c->px;
}

/* Outputs and vectors of a block. */
static void choose_block(struct conv_prog *c, uint32_t l2)
{
	const uint32_t width = c->g.out[1];
	uint32_t blocks;

	c->nv = width <= CONV_MR4 && c->g.m > 32 &&
		(uint64_t)c->g.kernel[0] * c->g.kernel[1] * c->px * 64 < l2 / 2 ? 4 : 2;
	blocks = (width + c->k->mr[c->nv - 1] - 1) / c->k->mr[c->nv - 1];
	c->mr = (width + blocks - 1) / blocks;
}

/* Rows of a tile, and channels, so that every thread has some. */
static int choose_tiles(struct conv_prog *c, struct fast_prog *p)
{
	const uint32_t threads = p->cpu->threads ? p->cpu->threads : 1;
	const uint32_t want = threads == 1 ? 1 : 4 * threads, panel = c->nv * 16;
	uint32_t rows = p->hint.mt ? p->hint.mt : c->g.out[0], panels;
	uint64_t tiles;

	rows = UMA_MIN(rows, c->g.out[0]);
	while (rows > 1 && patch_bytes(c, rows) > PATCH_MAX)
		rows = (rows + 1) / 2;
	if (patch_bytes(c, rows) > FAST_SCRATCH - 64 * 1024)
		return 0;
	/* Rows that are shared by two tiles are brought in twice. */
	while (rows > 4 * c->g.kernel[0] &&
	       (uint64_t)c->g.images * c->g.groups * ((c->g.out[0] + rows - 1) / rows) < want)
		rows = (rows + 1) / 2;
	c->yblocks = (c->g.out[0] + rows - 1) / rows;
	c->rows = (c->g.out[0] + c->yblocks - 1) / c->yblocks;
	c->yblocks = (c->g.out[0] + c->rows - 1) / c->rows;
	tiles = (uint64_t)c->g.images * c->g.groups * c->yblocks;
	panels = (c->g.m + panel - 1) / panel;
	c->nblocks = (uint32_t)UMA_MIN((want + tiles - 1) / tiles, (uint64_t)panels);
	c->nblock = (panels + c->nblocks - 1) / c->nblocks * panel;
	c->nblocks = (c->g.m + c->nblock - 1) / c->nblock;
	tiles *= c->nblocks;
	if (tiles > 0x7fffffffu)
		return 0;
	p->phase_count = 1;
	p->tiles[0] = (uint32_t)tiles;
	return 1;
}

static int conv_prepare(struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	struct conv_prog *c = (struct conv_prog *)p->priv;

	if (p->op->u.conv.func >= UMA_CONV_WINOGRAD_2 ||
	    uma_tensor_empty(&p->op->t[UMA_SLOT_DST]))
		return 0;
	conv_geometry(p->op, &c->g);
	if (c->g.transposed || !c->g.c || c->g.m < MIN_CHANNELS ||
	    !c->g.kernel[0] || !c->g.kernel[1] || !(p->cpu->isa & FAST_AVX512))
		return 0;
	if (a->dtype != UMA_DTYPE_F32 || b->dtype != UMA_DTYPE_F32 || a->quant || b->quant ||
	    !conv_weights_init(c, p, c->g.b_stride[CONV_C], c->g.b_stride[CONV_N]))
		return 0;
	c->k = &conv_f32_avx512;
	c->es = 4;
	c->px = c->g.c * c->es;
	conv_finish_init(c, p);
	choose_block(c, p->cpu->l2);
	p->macs = p->program->macs;
	return choose_tiles(c, p);
}

/**
 * struct conv_at - the tile at hand
 * @r: this thread
 * @c: convolution
 * @patch: inputs
 * @sums: room for a block of results
 * @image: image
 * @group: group of channels
 * @y0: first row of outputs
 */
struct conv_at {
	const struct fast_run *r;
	const struct conv_prog *c;
	const uint8_t *patch;
	uint8_t *sums;
	uint32_t image;
	uint32_t group;
	uint32_t y0;
};

/* Rows of taps that meet the input: *@lo .. of them, *@lo + the result not. */
static uint32_t tap_rows(const struct conv_plan *g, uint32_t y, uint32_t *lo)
{
	int64_t first = (int64_t)y * g->stride[0] - g->pad[0], d = g->dilation[0];
	int64_t from = first < 0 ? (-first + d - 1) / d : 0;
	int64_t to = first >= g->in[0] ? 0 : (g->in[0] - first + d - 1) / d;

	from = UMA_MIN(from, (int64_t)g->kernel[0]);
	to = UMA_MIN(to, (int64_t)g->kernel[0]);
	*lo = (uint32_t)from;
	return to > from ? (uint32_t)(to - from) : 0;
}

/* A row of outputs by a panel of @vecs vectors from channel @n0 of the group on. */
static int conv_row(const struct conv_at *t, uint32_t y, uint32_t n0, uint32_t vecs, uint32_t n)
{
	const struct conv_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const int64_t width = (int64_t)conv_patch_size(g, 1, g->out[1]) * c->px;
	const uint32_t ystep = g->kernel[0] == 1 ? 1 : g->stride[0];
	const uint32_t xstep = g->kernel[1] == 1 ? 1 : g->stride[1];
	struct conv_block k = {
		.a_ms = (int64_t)xstep * c->px,
		.a_y = (int64_t)g->dilation[0] * width,
		.a_x = (int64_t)g->dilation[1] * c->px,
		.b_ks = c->b_ks,
		.b_ns = c->b_ns,
		.b_y = c->b_tap ? c->b_tap * g->kernel[1] : g->b_stride[CONV_Y] * 4,
		.b_x = c->b_tap ? c->b_tap : g->b_stride[CONV_X] * 4,
		.acc = t->sums,
		.acc_ms = vecs * 64,
		.cols = g->kernel[1],
		.k = c->px / 4,
		.mask = conv_mask(c, n, vecs),
	};
	struct conv_result b = {
		.x = t->sums, .x_ms = k.acc_ms, .image = t->image, .y = t->y0 + y,
		.n0 = t->group * g->m + n0, .n = n,
	};
	uint32_t at, lo;

	k.rows = tap_rows(g, t->y0 + y, &lo);
	k.b = conv_weights(&t->r->prog->op->t[UMA_SLOT_B]) + t->group * g->b_group * 4 +
	      n0 / CONV_LANES * c->b_ns + lo * k.b_y;
	/* Taps side by side are more channels. */
	if (k.a_x == (int64_t)k.k * 4 && k.b_x == k.b_ks * k.k) {
		k.k *= k.cols;
		k.cols = 1;
	}
	for (at = 0; at < g->out[1]; at += c->mr) {
		b.at = at;
		b.outputs = UMA_MIN(c->mr, g->out[1] - at);
		k.a = t->patch + (int64_t)y * ystep * width + lo * k.a_y + at * k.a_ms;
		c->k->fn[vecs - 1][b.outputs - 1](&k);
		if (conv_finish_block(t->r, &b))
			return -1;
	}
	return 0;
}

static int conv_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const uint32_t n0 = tile % c->nblocks * c->nblock;
	const uint32_t end = UMA_MIN(n0 + c->nblock, c->g.m);
	struct conv_at t = { .r = r, .c = c, .sums = r->scratch };
	uint8_t *patch = (uint8_t *)r->scratch + CONV_MR * 64 * 4 * 4;
	uint32_t rows, y, n, vecs;

	(void)phase;
	tile /= c->nblocks;
	t.y0 = tile % c->yblocks * c->rows;
	tile /= c->yblocks;
	t.group = tile % c->g.groups;
	t.image = tile / c->g.groups;
	t.patch = patch;
	rows = UMA_MIN(c->rows, c->g.out[0] - t.y0);
	conv_patch(c, &r->prog->op->t[UMA_SLOT_A], t.image, t.group, t.y0, rows, patch);
	for (n = n0; n < end; n += vecs * 16) {
		vecs = (end - n + 15) / 16;
		vecs = vecs >= c->nv ? c->nv : vecs == 3 ? 2 : vecs;
		for (y = 0; y < rows; y++)
			if (conv_row(&t, y, n, vecs, UMA_MIN(vecs * 16, end - n)))
				return -1;
	}
	return 0;
}

const struct fast_class fast_conv = {
	.name = "convolution",
	.prepare = conv_prepare,
	.tile = conv_tile,
};
