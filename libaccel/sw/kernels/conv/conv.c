// SPDX-License-Identifier: MIT
/*
 * Convolutions as sums over taps: which ones are supported, and how they are divided. A tile
 * copies the inputs of a few rows of outputs to scratch memory, and multiplies them by panels
 * of output channels.
 */
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "conv_fast.h"

/* Bytes of a patch that leave room for weights in the second-level cache */
#define PATCH_MAX	(320u * 1024u)
/* Minimum number of output channels for which blocks are worthwhile */
#define MIN_CHANNELS	8u
/* With fewer input channels than this, the taps of a row are merged */
#define MERGE_CHANNELS	16u
/* Minimum number of rows of a GEMM for which blocks are worthwhile */
#define MIN_PIXELS	16u
/* Maximum bytes of a row of A for which the epilogue matters */
#define POINTWISE_K	4096
/* Lines of the first-level cache at this distance map to the same set; number of lines of a set */
#define SET_BYTES	4096
#define SET_LINES	12u
/* Minimum number of output channels for which copying the inputs is worthwhile */
#define COPY_CHANNELS	128u
/* Number of products of bytes whose sum is certainly within s32 */
#define K_BYTES		32768u

static uint64_t patch_bytes(const struct conv_prog *c, uint32_t rows)
{
	return conv_patch_size(&c->g, 0, rows) * conv_patch_size(&c->g, 1, c->cols) * c->px;
}

/* --- types and weights ------------------------------------------------------------ */

/*
 * Bytes: with A' = A + 128 where inputs are inverted, B' = B +- 128 where the products invert
 * weights, za' and zb' likewise,
 *
 *	sum (A - za) (B - zb) = sum A' B' - za' sum (B' - zb') - zb' sum A'
 *
 * Only the VNNI instruction needs this. AMX multiplies bytes of any signedness, but the sums of
 * weights and inputs are computed with @k.
 */
static bool choose_bytes(struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const bool us = b->dtype == UMA_DTYPE_U8;
	const bool vnni = p->cpu->isa & FAST_VNNI;
	bool ua = a->dtype == UMA_DTYPE_U8, flips;

	if (!(p->cpu->isa & FAST_AVX2) || !uma_is_int8(b->dtype) ||
	    (uint64_t)c->g.c * c->g.kernel[0] * c->g.kernel[1] > K_BYTES)
		return false;
	c->za = a->quant ? a->zero : 0;
	c->zb = b->quant == UMA_QUANT_TENSOR ? b->zero : 0;
	if (vnni && c->merged && !ua) {
		c->flip = 0x80;
		c->za += 128;
		ua = true;
	}
	c->zero = (uint8_t)c->za;
	if (vnni)
		c->k = ua ? us ? &conv_u8u8_avx512 : &conv_u8s8_avx512 :
			    us ? &conv_s8u8_avx512 : &conv_s8s8_avx512;
	else
		c->k = ua ? us ? &conv_u8u8_avx2 : &conv_u8s8_avx2 :
			    us ? &conv_s8u8_avx2 : &conv_s8s8_avx2;
	flips = vnni && ua == us;
	if (p->cpu->isa & FAST_AMX_INT8 && !c->merged)
		c->taps = ua ? us ? conv_taps_u8u8_amx : conv_taps_u8s8_amx :
			       us ? conv_taps_s8u8_amx : conv_taps_s8s8_amx;
	if (flips && c->taps)
		c->b_off = us ? -128 : 128;
	else if (flips)
		c->zb += us ? -128 : 128;
	c->b_none = flips ? 0x80 : 0;
	c->b_one = flips ? 0x81 : 1;
	/* Sums of inputs need whole steps. */
	c->zeros = b->zero_addr != 0;
	return !c->merged || !(c->zb || c->zeros);
}

static bool choose_type(struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];

	c->es = uma_dtype_bits(a->dtype) / 8;
	c->merged = b->layout == UMA_LAYOUT_STRIDED && c->g.dilation[1] == 1 &&
		    c->g.c < MERGE_CHANNELS;
	if (uma_is_int8(a->dtype)) {
		if (!choose_bytes(c, p))
			return false;
	} else if (b->dtype != a->dtype || b->quant) {
		return false;
	} else if (a->dtype == UMA_DTYPE_F32 && p->cpu->isa & FAST_AVX512) {
		c->k = &conv_f32_avx512;
	} else if (a->dtype == UMA_DTYPE_F32 && p->cpu->isa & FAST_AVX2) {
		c->k = &conv_f32_avx2;
	} else if (a->dtype == UMA_DTYPE_BF16 && p->cpu->isa & FAST_BF16) {
		c->k = &conv_bf16_avx512;
		if (p->cpu->isa & FAST_AMX_BF16)
			c->taps = conv_taps_bf16_amx;
	} else {
		return false;
	}
	c->px = c->g.c * c->es;
	if (!c->merged)
		c->px = (c->px + 3) / 4 * 4;
	c->steps = ((c->merged ? c->g.kernel[1] : 1) * c->px + 3) / 4;
	if (c->merged && c->es == 2 && c->g.kernel[1] * c->g.c % 2)
		c->tail = 0xffff;
	return true;
}

static bool choose_weights(struct conv_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];

	if (b->layout != UMA_LAYOUT_STRIDED)
		return conv_blocks_init(c, p, c->g.kernel[1]);
	if (b->dtype == UMA_DTYPE_F32 && c->g.b_stride[CONV_N] == 1 && !c->merged) {
		c->b_ks = c->g.b_stride[CONV_C] * 4;
		c->b_ns = 4 * CONV_LANES;
		c->b_y = c->g.b_stride[CONV_Y] * 4;
		c->b_x = c->g.b_stride[CONV_X] * 4;
		c->b_group = c->g.b_group * 4;
		return true;
	}
	c->packs = true;
	c->b_full = true;
	c->b_ks = 4 * CONV_LANES;
	c->b_x = c->steps * c->b_ks;
	c->b_y = c->merged ? c->b_x : c->b_x * c->g.kernel[1];
	c->b_ns = c->b_y * c->g.kernel[0];
	c->b_group = c->b_ns * ((c->g.m + CONV_LANES - 1) / CONV_LANES);
	return true;
}

/* --- tiles ---------------------------------------------------------------------- */

/* Can rows of outputs be merged to one? Only if taps see as many inputs. */
static bool is_flat(const struct conv_prog *c, const struct uma_op *op)
{
	const uint32_t rank = op->t[UMA_SLOT_DST].rank;
	uint32_t s;

	if (c->gemm)
		return true;
	if (c->g.kernel[0] != 1 || c->g.kernel[1] != 1 || c->g.pad[0] || c->g.pad[1] || rank != 4)
		return false;
	for (s = 0; s <= UMA_SLOT_RESIDUAL; s++)
		if (s != UMA_SLOT_A && s != UMA_SLOT_B && uma_has(op, s) &&
		    op->t[s].strides[2] != op->t[s].strides[3] * c->g.out[1])
			return false;
	return (c->g.out[0] - 1ull) * c->g.stride[0] < c->g.in[0] &&
	       (c->g.out[1] - 1ull) * c->g.stride[1] < c->g.in[1];
}

/* Windows inside of the input, whose channels are whole steps without padding. */
static bool is_in_place(const struct conv_prog *c)
{
	const struct conv_plan *g = &c->g;
	uint32_t i;

	if (c->flip || c->zb || c->zeros || c->merged || (g->c > 1 && g->a_stride[CONV_C] != 1) ||
	    g->c * c->es != c->px)
		return false;
	for (i = 0; i < 2; i++)
		if (g->pad[i] || (g->out[i] - 1ull) * g->stride[i] +
				 (g->kernel[i] - 1ull) * g->dilation[i] >= g->in[i])
			return false;
	return true;
}

/* Do inputs of adjacent outputs map to the same set of the first-level cache? */
static bool meets(const struct conv_prog *c)
{
	const int64_t stride = c->g.a_stride[c->gemm ? CONV_Y : CONV_X] * c->g.stride[1];

	return stride * c->es % SET_BYTES == 0;
}

/* Choose the outputs and vectors of a block. */
static void choose_block(struct conv_prog *c, uint32_t l2)
{
	const uint32_t width = c->flat ? c->cols * c->rows : c->cols;
	const uint64_t panel = (uint64_t)c->g.kernel[0] * c->g.kernel[1] * c->px * 64;
	const bool few = width <= CONV_MR4;
	uint32_t blocks, most;

	c->nv = c->k->nv == 1 ? 1 : few && c->g.m > 32 && panel < l2 / 2 ? 4 : 2;
	if (c->taps)
		c->nv = 2;
	most = c->k->mr[c->nv - 1];
	if (c->in_place && meets(c))
		most = UMA_MIN(most, SET_LINES - c->nv);
	blocks = (width + most - 1) / most;
	c->mr = (width + blocks - 1) / blocks;
}

/*
 * Rows of a tile, such that every thread has some tiles. A row with too many inputs, as for
 * audio or distant taps, is divided, too.
 */
static bool choose_rows(struct conv_prog *c, struct fast_prog *p, uint32_t want)
{
	uint32_t rows = p->hint.mt ? p->hint.mt : c->g.out[0];

	rows = UMA_MIN(rows, c->g.out[0]);
	c->cols = c->g.out[1];
	while (rows > 1 && patch_bytes(c, rows) > PATCH_MAX)
		rows = (rows + 1) / 2;
	while (c->cols > CONV_MR && patch_bytes(c, rows) > PATCH_MAX)
		c->cols = (c->cols + 1) / 2;
	if (patch_bytes(c, rows) > FAST_SCRATCH / 4)
		return fast_leave(p, "the inputs of a few outputs are too many");
	/* Rows of inputs that two tiles need are copied twice. */
	while (rows > 4 * c->g.kernel[0] &&
	       (uint64_t)c->g.images * c->g.groups * conv_xblocks(c) *
	       ((c->g.out[0] + rows - 1) / rows) < want)
		rows = (rows + 1) / 2;
	c->yblocks = (c->g.out[0] + rows - 1) / rows;
	c->rows = (c->g.out[0] + c->yblocks - 1) / c->yblocks;
	c->yblocks = (c->g.out[0] + c->rows - 1) / c->rows;
	return true;
}

/* Inputs that are not copied, and fewer than weights: tiles should share inputs. */
static bool has_few_inputs(const struct conv_plan *g)
{
	return (uint64_t)g->in[0] * g->in[1] <
	       (uint64_t)g->m * g->kernel[0] * g->kernel[1];
}

/* Work before the sums: reading weights, and @patches patches to share. */
static void first_phase(struct conv_prog *c, struct fast_prog *p, uint64_t patches)
{
	const uint64_t before = (conv_col_bytes(c) + conv_weights_bytes(c) + 63) / 64 * 64;
	uint64_t tiles = conv_weights_tiles(c);

	/* Steps of merged taps read a little beyond the last input. */
	c->patch_room = (uint32_t)((patch_bytes(c, c->rows) + 127) / 64 * 64);
	c->patches = (uint32_t)(before / 64);
	c->shares = !c->in_place && c->nblocks > 1 && before / 64 <= UINT32_MAX &&
		    tiles + patches * conv_pieces(c) <= 0x7fffffffu;
	if (c->shares)
		tiles += patches * conv_pieces(c);
	p->work_bytes = before + (c->shares ? patches * c->patch_room : 0);
	if (tiles)
		p->tiles[p->phase_count++] = (uint32_t)tiles;
}

static bool choose_tiles(struct conv_prog *c, struct fast_prog *p)
{
	const uint32_t threads = p->cpu->threads ? p->cpu->threads : 1;
	const uint32_t want = threads == 1 ? 1 : 4 * threads;
	uint32_t panel, panels;
	uint64_t tiles;

	if (!choose_rows(c, p, c->in_place && has_few_inputs(&c->g) ? 1 : want))
		return false;
	c->flat = c->flat && conv_xblocks(c) == 1;
	choose_block(c, p->cpu->l2);
	panel = c->nv * CONV_LANES;
	tiles = (uint64_t)c->g.images * c->g.groups * c->yblocks * conv_xblocks(c);
	panels = (c->g.m + panel - 1) / panel;
	c->nblocks = (uint32_t)UMA_MIN((want + tiles - 1) / tiles, (uint64_t)panels);
	c->nblock = (panels + c->nblocks - 1) / c->nblocks * panel;
	c->nblocks = (c->g.m + c->nblock - 1) / c->nblock;
	if (tiles * c->nblocks > 0x7fffffffu)
		return false;
	first_phase(c, p, tiles);
	p->tiles[p->phase_count++] = (uint32_t)tiles * c->nblocks;
	return true;
}

/*
 * Inputs that could be read directly are copied if rows of outputs are short and cannot be
 * merged, but would be mergeable in a copy, and if there are enough channels. Pixels of the
 * copy are padded by a cache line if they would map to the same sets.
 */
static void choose_pitch(struct conv_prog *c)
{
	const struct conv_plan *g = &c->g;
	const uint32_t step = g->kernel[1] == 1 ? 1 : g->stride[1];

	c->in_place = is_in_place(c);
	if (c->in_place && g->stride[1] > 1 && g->out[1] < CONV_MR && g->m >= COPY_CHANNELS)
		c->in_place = false;
	if (!c->in_place && !c->merged && (int64_t)c->px * step % SET_BYTES == 0)
		c->px += 64;
}

/* Types, weights, epilogue and tiles, once the geometry is known. */
static int plan(struct conv_prog *c, struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];

	if (a->quant > UMA_QUANT_TENSOR || b->quant > UMA_QUANT_CHANNEL || !choose_type(c, p))
		return fast_leave(p, "no kernel has these types");
	if (!choose_weights(c, p))
		return fast_leave(p, "no kernel has weights that lie like this");
	conv_finish_init(c, p);
	choose_pitch(c);
	c->flat = (!c->turned || c->ends) && is_flat(c, p->op);
	if (c->in_place && (c->g.stride[0] != 1 || c->g.stride[1] != 1 ||
			    c->g.a_stride[CONV_Y] != c->g.a_stride[CONV_X] * c->g.out[1]))
		c->flat = false;
	return choose_tiles(c, p);
}

static int conv_prepare(struct fast_prog *p)
{
	struct conv_prog *c = (struct conv_prog *)p->priv;

	if (p->op->u.conv.func >= UMA_CONV_WINOGRAD_2 ||
	    uma_tensor_empty(&p->op->t[UMA_SLOT_DST]))
		return 0;
	conv_geometry(p->op, &c->g);
	if (c->g.transposed)
		return fast_leave(p, "transposed convolutions have no kernel");
	if (!c->g.c || c->g.m < MIN_CHANNELS || !c->g.kernel[0] || !c->g.kernel[1])
		return fast_leave(p, "a group has too few output channels");
	/* Sizes must be small numbers. */
	if (c->g.c > 1u << 16 || c->g.out[1] > 1u << 16 || c->g.stride[1] > 1u << 10 ||
	    (uint64_t)c->g.kernel[1] * c->g.dilation[1] > 1u << 16 ||
	    (uint64_t)c->g.kernel[0] * c->g.dilation[0] > 1u << 16 || c->g.out[0] > 1u << 16 ||
	    c->g.stride[0] > 1u << 10)
		return fast_leave(p, "a dimension or stride is too large");
	return plan(c, p);
}

/* A GEMM's rows are pixels of a column, its columns are output channels. */
static void gemm_geometry(const struct uma_op *op, struct conv_plan *g)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *a = &op->t[UMA_SLOT_A];
	uint32_t i;

	g->images = 1;
	g->groups = 1;
	g->c = a->dims[1];
	g->m = d->dims[1];
	for (i = 0; i < 2; i++) {
		g->in[i] = i ? 1 : d->dims[0];
		g->out[i] = g->in[i];
		g->kernel[i] = 1;
		g->stride[i] = 1;
		g->dilation[i] = 1;
		g->a_stride[CONV_Y + i] = a->strides[0];
	}
	g->a_stride[CONV_C] = 1;
}

/*
 * A GEMM with constant weights is a convolution with one tap. It is run as one if the epilogue
 * can be computed in registers, and sums are short enough for that to matter: the separate
 * epilogue of a GEMM takes as long as 64 to 100 multiply-adds for 16 results.
 */
static int pointwise_prepare(struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST], *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	struct conv_prog *c = (struct conv_prog *)p->priv;
	const struct fast_hint none = { .threads = p->hint.threads };

	if (d->rank != 2 || uma_tensor_empty(d) || b->layout == UMA_LAYOUT_STRIDED ||
	    b->layout == UMA_LAYOUT_GEMM_B24 || a->strides[1] != 1 || a->strides[0] < 0 ||
	    memcmp(&p->hint, &none, sizeof(none)) ||
	    d->dims[0] < MIN_PIXELS || d->dims[1] < MIN_CHANNELS || !a->dims[1] ||
	    fast_bytes(a->dtype, a->dims[1]) > POINTWISE_K)
		return 0;
	c->gemm = true;
	gemm_geometry(p->op, &c->g);
	return plan(c, p) && c->ends && !c->epi.direct;
}

static uint32_t pointwise_candidates(const struct fast_prog *p, struct fast_hint *out,
				     uint32_t max)
{
	/* Hints are also for the same operation as a GEMM. */
	const struct fast_hint all[] = {
		{ .mt = 112 }, { .mt = 224 }, { .nt = 64 }, { .nt = 256 },
	};
	uint32_t i;

	(void)p;
	for (i = 0; i < UMA_ARRAY_SIZE(all) && i < max; i++)
		out[i] = all[i];
	return i;
}

static uint32_t conv_candidates(const struct fast_prog *p, struct fast_hint *out, uint32_t max)
{
	const struct conv_prog *c = (const void *)p->priv;

	return fast_row_hints(out, max, 1, c->g.out[0]);
}

const struct fast_class fast_conv = {
	.name = "conv",
	.prepare = conv_prepare,
	.tile = conv_tile,
	.candidates = conv_candidates,
};

const struct fast_class fast_pointwise = {
	.name = "pointwise",
	.prepare = pointwise_prepare,
	.tile = conv_tile,
	.candidates = pointwise_candidates,
};
