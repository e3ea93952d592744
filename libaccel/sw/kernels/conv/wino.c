// SPDX-License-Identifier: MIT
/*
 * Winograd's minimal filtering F(m x m, 3 x 3): S. Winograd, "Arithmetic Complexity of
 * Computations", 1980; A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural
 * Networks", 2016.
 *
 * A group of tiles is transformed, multiplied for a panel of output channels point by point,
 * and transformed back, all in the second-level cache. If a task has too few groups for the
 * threads, or if tiles of many channels make groups so small that the weights would be read
 * many times, all inputs are transformed in a separate phase, and the second phase is also
 * divided along the output channels.
 */
#include <stdlib.h>
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "conv_fast.h"

/* Output channels of a panel */
#define PANEL		64u
/* Tiles that are transformed at once in a separate phase */
#define IN_TILES	4u

/* Bytes of a transformed tile at a point: an odd number of cache lines, to use all cache sets. */
static int64_t row_bytes(uint32_t channels)
{
	return (int64_t)(((channels + 15) / 16) | 1) * 64;
}

static uint32_t points_of(const struct conv_prog *c)
{
	return (c->g.edge + 2u) * (c->g.edge + 2u);
}

/*
 * Tiles of a group: they, of @v_ms bytes at a point, and their sums take most of the second-level
 * cache; weights are streamed once for each group.
 */
static uint32_t group_of(const struct conv_prog *c, const struct fast_prog *p, uint32_t tiles,
			 uint64_t v_ms)
{
	const uint64_t tile = points_of(c) * (v_ms + 4ul * PANEL);
	uint64_t n = p->cpu->l2 / 4 * 3 / tile, groups, parts;
	const uint32_t mr = CONV_MR, threads = p->cpu->threads ? p->cpu->threads : 1;

	if (p->hint.mt)
		n = p->hint.mt;
	n = UMA_MAX(n, mr);
	n = UMA_MIN(n, FAST_SCRATCH * 7ul / 8 / tile);
	if (!n)
		return 0;
	groups = (tiles + n - 1) / n;
	parts = groups * c->g.images * ((c->g.m + PANEL - 1) / PANEL);
	/* Small operations: the same number of tiles for each thread. */
	if (parts % threads && parts < 4 * threads &&
	    tiles / ((groups + threads - 1) / threads * threads) >= mr) {
		groups = (groups + threads - 1) / threads * threads;
		return (uint32_t)((tiles + groups - 1) / groups);
	}
	n = (tiles + groups - 1) / groups;
	/* Whole blocks, if there is room. */
	if (n > mr && n % mr && n + mr - n % mr <= FAST_SCRATCH * 7ul / 8 / tile)
		n += mr - n % mr;
	return (uint32_t)n;
}

/* Bytes of the weights of a point, for whole panels. */
static uint64_t weights_bytes(const struct conv_prog *c)
{
	return ((uint64_t)c->g.m + PANEL - 1) / PANEL * PANEL * c->g.c * 4;
}

/* May transformed inputs lie in the work memory? It is at most twice as large as the weights. */
static bool may_lie_apart(const struct conv_prog *c, uint32_t tiles)
{
	uint64_t inputs;

	return !__builtin_mul_overflow((uint64_t)c->g.images * tiles, (uint64_t)c->v_ms,
				       &inputs) && inputs <= 2 * weights_bytes(c);
}

/*
 * Is less read then, as groups are larger that have only their sums in the cache? Inputs are
 * written once, and read for each panel.
 */
static bool apart_reads_less(const struct conv_prog *c, uint32_t tiles, uint32_t apart)
{
	const uint64_t panels = ((uint64_t)c->g.m + PANEL - 1) / PANEL;
	const uint64_t inputs = tiles * (uint64_t)c->v_ms;
	const uint64_t groups = (tiles + c->group - 1) / c->group;
	const uint64_t fewer = (tiles + apart - 1) / apart;

	return groups > fewer &&
	       (groups - fewer) * weights_bytes(c) > (panels + 1) * inputs;
}

static uint64_t zeros_bytes(const struct conv_prog *c)
{
	return ((uint64_t)c->g.c * c->es + 127) / 64 * 64;
}

/* Bytes of the input with channels last, in the work memory; too many for any memory if so. */
static uint64_t in_bytes(const struct conv_prog *c)
{
	const uint64_t rows = (uint64_t)c->g.images * c->g.in[0];
	uint64_t bytes;

	if (!c->turns_in)
		return 0;
	if (__builtin_mul_overflow(rows, (uint64_t)c->g.in[1] * c->px, &bytes) || bytes >> 62)
		return 1ull << 62;
	return (bytes + 63) / 64 * 64;
}

static int wino_prepare(struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	struct conv_prog *c = (struct conv_prog *)p->priv;
	const uint32_t func = p->op->u.conv.func;
	uint32_t tiles, apart, threads = p->cpu->threads ? p->cpu->threads : 1;
	bool fused, room;

	if (func < UMA_CONV_WINOGRAD_2 || uma_tensor_empty(&p->op->t[UMA_SLOT_DST]))
		return 0;
	conv_geometry(p->op, &c->g);
	c->g.edge = (uint8_t)(2 + 2 * (func - UMA_CONV_WINOGRAD_2));
	if (!(p->cpu->isa & (FAST_AVX512 | FAST_AVX2)))
		return fast_leave(p, "Winograd has no kernel for this processor");
	c->k = p->cpu->isa & FAST_AVX512 ? &conv_f32_avx512 : &conv_f32_avx2;
	c->wino = p->cpu->isa & FAST_AVX512 ? &wino_avx512 : &wino_avx2;
	if (!c->g.c || (a->dtype != UMA_DTYPE_F32 && a->dtype != UMA_DTYPE_BF16) ||
	    a->quant || b->quant)
		return fast_leave(p, "Winograd has kernels for fp32 and bf16");
	if (b->layout == UMA_LAYOUT_STRIDED) {
		if (b->strides[3] != 1)
			return 0;
		c->b_ks = b->strides[2] * 4;
		c->b_ns = 4 * CONV_LANES;
		c->b_y = b->strides[0] * 4;
		c->b_x = b->strides[1] * 4;
	} else if (!conv_blocks_init(c, p, c->g.edge + 2u)) {
		return 0;
	}
	conv_finish_init(c, p);
	c->es = a->dtype == UMA_DTYPE_F32 ? 4 : 2;
	c->v_ms = row_bytes(c->g.c);
	c->g.tiles[0] = uma_wino_tiles(c->g.out[0], c->g.dilation[0], c->g.edge);
	c->g.tiles[1] = uma_wino_tiles(c->g.out[1], c->g.dilation[1], c->g.edge);
	if (__builtin_mul_overflow(c->g.tiles[0], c->g.tiles[1], &tiles))
		return 0;
	c->group = group_of(c, p, tiles, c->v_ms);
	apart = group_of(c, p, tiles, 0);
	room = may_lie_apart(c, tiles);
	if (!apart || zeros_bytes(c) > FAST_SCRATCH / 16 || (!c->group && !room))
		return 0;
	fused = c->group && !(room && apart_reads_less(c, tiles, apart));
	if (!fused)
		c->group = apart;
	c->tgroups = (tiles + c->group - 1) / c->group;
	c->nblocks = 1;
	c->nblock = c->g.m;
	c->px = c->g.c * c->es;
	c->turns_in = a->strides[1] != 1;
	if (fast_wino_copies_repeats(a->dims, a->strides, c->es))
		return fast_leave(p, "Winograd would copy an input that repeats elements");
	if (c->turns_in) {
		/* A row of an image is a tile. */
		p->tiles[p->phase_count++] = c->g.images * c->g.in[0];
		p->work_bytes = in_bytes(c);
	}
	c->fused = fused &&
		   (threads == 1 || (uint64_t)c->tgroups * c->g.images >= 3ul * threads);
	if (!c->fused) {
		/* Four tiles for each thread. */
		uint32_t panels = (c->g.m + PANEL - 1) / PANEL, want;

		want = (uint32_t)(4ul * threads / ((uint64_t)c->tgroups * c->g.images)) + 1;
		c->nblock = (panels + want - 1) / want * PANEL;
		c->nblocks = (c->g.m + c->nblock - 1) / c->nblock;
		p->work_bytes += (uint64_t)c->g.images * points_of(c) * tiles * (uint64_t)c->v_ms;
		p->tiles[p->phase_count++] = c->g.images * ((tiles + IN_TILES - 1) / IN_TILES);
	}
	if ((uint64_t)c->g.images * tiles * c->nblocks > 0x7fffffffu ||
	    (uint64_t)c->g.images * c->g.in[0] > 0x7fffffffu)
		return 0;
	p->tiles[p->phase_count++] = c->g.images * c->tgroups * c->nblocks;
	return 1;
}

/* --- input ------------------------------------------------------------------ */

/* Convert row @tile of all images to channels last. */
static void turn_in(const struct fast_run *r, uint32_t tile)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const struct conv_plan *g = &c->g;
	const int64_t off = tile / g->in[0] * g->a_stride[CONV_N] +
			    tile % g->in[0] * g->a_stride[CONV_Y];

	conv_turn_row(c, (uint8_t *)r->work + (uint64_t)tile * g->in[1] * c->px,
		      (const uint8_t *)fast_ptr(&r->prog->op->t[UMA_SLOT_A]) + off * c->es,
		      g->a_stride[CONV_X] * c->es, g->a_stride[CONV_C] * c->es, g->in[1]);
}

/* The first output of a tile along a dimension */
static int64_t first_of(const struct conv_prog *c, uint32_t axis, uint32_t tile)
{
	return (int64_t)conv_wino_first(&c->g, axis, tile);
}

/* Transform tiles from @t0 on of an image; the first point of the first one is written to @v. */
static void transform_in(const struct fast_run *r, uint32_t image, uint32_t t0, uint32_t count,
			 uint8_t *v, int64_t v_ps, const uint8_t *zeros)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const struct uma_tensor_view *t = &r->prog->op->t[UMA_SLOT_A];
	const int64_t xs = c->turns_in ? c->px : c->g.a_stride[CONV_X] * c->es;
	const int64_t ys = c->turns_in ? xs * c->g.in[1] : c->g.a_stride[CONV_Y] * c->es;
	const uint8_t *a = c->turns_in ? (const uint8_t *)r->work + image * ys * c->g.in[0] :
		(const uint8_t *)fast_ptr(t) + image * c->g.a_stride[CONV_N] * c->es;
	const uint32_t points = c->g.edge + 2u;
	struct wino_in w = {
		.v_ps = v_ps, .channels = c->g.c, .bf16 = t->dtype == UMA_DTYPE_BF16,
	};
	uint32_t i, y, x;

	for (i = 0; i < count; i++) {
		const int64_t y0 = first_of(c, 0, (t0 + i) / c->g.tiles[1]) - c->g.pad[0];
		const int64_t x0 = first_of(c, 1, (t0 + i) % c->g.tiles[1]) - c->g.pad[1];

		for (y = 0; y < points; y++)
			for (x = 0; x < points; x++) {
				const int64_t iy = y0 + (int64_t)y * c->g.dilation[0];
				const int64_t ix = x0 + (int64_t)x * c->g.dilation[1];
				bool out = iy < 0 || iy >= c->g.in[0] ||
					   ix < 0 || ix >= c->g.in[1];

				w.px[y * points + x] = out ? zeros : a + iy * ys + ix * xs;
			}
		w.v = v + i * c->v_ms;
		c->wino->in[c->g.edge / 2 - 1](&w);
	}
}

/* --- products ----------------------------------------------------------------- */

/* Weights of a point for the channels from @n0 on. */
static const uint8_t *weights_at(const struct fast_run *r, uint32_t point, uint32_t n0)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const uint32_t points = c->g.edge + 2u;

	return conv_weights(&r->prog->op->t[UMA_SLOT_B]) + point / points * c->b_y +
	       point % points * c->b_x + n0 / CONV_LANES * c->b_ns;
}

/*
 * Sums of a point for @tiles tiles and @n channels with weights @b; the weights at @next are
 * prefetched.
 */
static void multiply(const struct conv_prog *c, const uint8_t *b, const uint8_t *next,
		     const uint8_t *v, uint32_t tiles, uint32_t n, uint8_t *m)
{
	const uint32_t nv = c->k->nv == 1 ? 1 : tiles <= CONV_MR4 ? 4 : 2, most = c->k->mr[nv - 1];
	const uint32_t blocks = (tiles + most - 1) / most, mr = (tiles + blocks - 1) / blocks;
	struct conv_block g = {
		.a_ms = c->v_ms, .b_ks = c->b_ks, .b_ns = c->b_ns,
		.acc_ms = PANEL * 4, .rows = 1, .cols = 1, .k = c->g.c,
	};
	uint32_t at, t, now, vecs;

	for (at = 0; at < n; at += vecs * 16) {
		const uint32_t left = n - at;

		/* Three vectors are processed as two and one. */
		vecs = (left + 15) / 16;
		vecs = vecs >= nv ? nv : vecs == 3 ? 2 : vecs;
		g.mask = conv_mask(c, left, vecs);
		g.b = b + at / CONV_LANES * c->b_ns;
		g.fetch = vecs * 16 < left ? vecs * c->b_ns : next - g.b;
		g.part = blocks == 1 ? CONV_MR : 0;
		for (t = 0; t < tiles; t += now * g.blocks) {
			now = UMA_MIN(mr, tiles - t);
			g.blocks = (tiles - t) / now;
			g.a = v + t * c->v_ms;
			g.acc = m + (t * PANEL + at) * 4ul;
			c->k->fn[vecs - 1][now - 1](&g);
			g.part += g.blocks;
		}
	}
}

/* --- output ------------------------------------------------------------------- */

static int transform_out(const struct fast_run *r, uint32_t image, uint32_t tile, uint32_t n0,
			 uint32_t n, const uint8_t *m, int64_t m_ps, uint8_t *out)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const uint32_t edge = c->g.edge, ydil = c->g.dilation[0], xdil = c->g.dilation[1];
	const int64_t y0 = first_of(c, 0, tile / c->g.tiles[1]);
	const int64_t x0 = first_of(c, 1, tile % c->g.tiles[1]);
	const struct wino_out w = {
		.m = m, .m_ps = m_ps, .out = out, .out_ms = PANEL * 4,
		.channels = (n + 15) / 16 * 16,
	};
	struct conv_result b = { .ld = PANEL, .image = image, .n0 = n0, .n = n };
	uint32_t y, x;

	c->wino->out[edge / 2 - 1](&w);
	/* A row of outputs side by side at a time, or an output of those that are not */
	for (y = 0; y < edge && y0 + (int64_t)y * ydil < c->g.out[0]; y++) {
		b.y = (uint32_t)(y0 + (int64_t)y * ydil);
		for (x = 0; x < edge && x0 + (int64_t)x * xdil < c->g.out[1]; x += b.outputs) {
			b.at = (uint32_t)(x0 + (int64_t)x * xdil);
			b.outputs = xdil > 1 ? 1 : UMA_MIN(edge, c->g.out[1] - b.at);
			b.x = (float *)(out + (uint64_t)(y * edge + x) * PANEL * 4);
			if (conv_finish_block(r, &b))
				return -1;
		}
	}
	return 0;
}

static int wino_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const uint32_t points = points_of(c), tiles = c->g.tiles[0] * c->g.tiles[1];
	uint8_t *out = r->scratch, *zeros = out + 36 * PANEL * 4, *m = zeros + zeros_bytes(c);
	uint32_t image, t0, count, n0, end, i, p;
	int64_t v_ps, m_ps;
	uint8_t *v;

	if (c->turns_in) {
		if (!phase) {
			turn_in(r, tile);
			return 0;
		}
		phase--;
	}
	if (!c->fused && !phase) {
		const uint32_t pieces = (tiles + IN_TILES - 1) / IN_TILES;

		image = tile / pieces;
		t0 = tile % pieces * IN_TILES;
		memset(zeros, 0, zeros_bytes(c));
		v_ps = tiles * c->v_ms;
		v = (uint8_t *)r->work + in_bytes(c) + image * points * v_ps + t0 * c->v_ms;
		transform_in(r, image, t0, UMA_MIN(IN_TILES, tiles - t0), v, v_ps, zeros);
		return 0;
	}
	n0 = tile % c->nblocks * c->nblock;
	end = UMA_MIN(n0 + c->nblock, c->g.m);
	tile /= c->nblocks;
	t0 = tile % c->tgroups * c->group;
	image = tile / c->tgroups;
	count = UMA_MIN(c->group, tiles - t0);
	m_ps = count * PANEL * 4l;
	if (c->fused) {
		v = m + points * m_ps;
		v_ps = count * c->v_ms;
		memset(zeros, 0, zeros_bytes(c));
		transform_in(r, image, t0, count, v, v_ps, zeros);
	} else {
		v_ps = tiles * c->v_ms;
		v = (uint8_t *)r->work + in_bytes(c) + image * points * v_ps + t0 * c->v_ms;
	}
	for (; n0 < end; n0 += PANEL) {
		const uint32_t n = UMA_MIN(PANEL, end - n0);

		for (p = 0; p < points; p++)
			multiply(c, weights_at(r, p, n0), p + 1 < points ?
				 weights_at(r, p + 1, n0) : weights_at(r, 0, n0 + PANEL),
				 v + p * v_ps, count, n, m + p * m_ps);
		for (i = 0; i < count; i++)
			if (transform_out(r, image, t0 + i, n0, n, m + i * PANEL * 4, m_ps, out))
				return -1;
	}
	return 0;
}

/* The rows of hints are the tiles of a group. */
static uint32_t wino_candidates(const struct fast_prog *p, struct fast_hint *out, uint32_t max)
{
	const struct conv_prog *c = (const void *)p->priv;

	return fast_row_hints(out, max, CONV_MR, (uint64_t)c->g.tiles[0] * c->g.tiles[1]);
}

const struct fast_class fast_wino = {
	.name = "wino",
	.prepare = wino_prepare,
	.tile = wino_tile,
	.candidates = wino_candidates,
};
