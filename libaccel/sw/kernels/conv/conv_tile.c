// SPDX-License-Identifier: MIT
/*
 * A tile of a convolution: a few rows of outputs, some of their channels. Rows of taps in the
 * padding are skipped.
 */
#include <string.h>
#include "conv_fast.h"
#include "libaccel/sw/kernels/lines/lines.h"

/**
 * struct conv_at - the tile that is processed
 * @r: this thread
 * @c: convolution
 * @patch: inputs
 * @pitch: bytes from an input of @patch to the next, along each dimension
 * @step: inputs from an output to the next, along each dimension
 * @sums: room for a block of results
 * @last: room for results, and residuals, with channels last, or NULL: DST has them last
 * @row_add: for each output, added to its sums, or NULL; see &struct conv_block.col_times
 * @image: image
 * @group: group of channels
 * @y0: first row of outputs
 * @rows: number of rows
 * @x0: first output of each
 * @cols: number of outputs
 */
struct conv_at {
	const struct fast_run *r;
	const struct conv_prog *c;
	uint8_t *patch;
	int64_t pitch[2];
	uint32_t step[2];
	float *sums;
	uint8_t *last;
	int32_t *row_add;
	uint32_t image;
	uint32_t group;
	uint32_t y0;
	uint32_t rows;
	uint32_t x0;
	uint32_t cols;
};

/* Bytes of a call's results with channels last */
#define LAST_ROOM	(4u * CONV_FINISH * CONV_CHANNELS)

/* Number of rows of taps that overlap the input, from *@lo on. */
static uint32_t tap_rows(const struct conv_prog *c, uint32_t y, uint32_t *lo)
{
	const struct conv_plan *g = &c->g;
	int64_t first = (int64_t)y * g->stride[0] - g->pad[0], d = g->dilation[0];
	int64_t from = first < 0 ? (-first + d - 1) / d : 0;
	int64_t to = first >= g->in[0] ? 0 : (g->in[0] - first + d - 1) / d;

	*lo = 0;
	/* Padding of bytes has a value that is not 0. */
	if (c->za)
		return g->kernel[0];
	from = UMA_MIN(from, (int64_t)g->kernel[0]);
	to = UMA_MIN(to, (int64_t)g->kernel[0]);
	*lo = (uint32_t)from;
	return to > from ? (uint32_t)(to - from) : 0;
}

/* Strides of a patch, in inputs. */
static uint32_t step_of(const struct conv_plan *g, uint32_t axis)
{
	return g->kernel[axis] == 1 ? 1 : g->stride[axis];
}

/* Sums of inputs, multiplied by the zero point of the weights. */
static void sum_inputs(const struct conv_at *t, int32_t *pixel)
{
	const struct conv_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const uint32_t width = (uint32_t)conv_patch_size(g, 1, t->cols);
	const uint32_t all = (uint32_t)conv_patch_size(g, 0, t->rows) * width;
	const uint32_t sy = step_of(g, 0), sx = step_of(g, 1);
	int32_t acc[CONV_MR * CONV_LANES];
	uint8_t ones[4 * CONV_LANES];
	struct conv_block k = {
		.a_ms = c->px, .b = ones, .acc = (uint8_t *)acc, .acc_ms = 4 * CONV_LANES,
		.rows = 1, .cols = 1, .k = c->steps, .mask = 0xffff, .blocks = 1,
	};
	uint32_t i, j, n, y, x, ky, kx;

	memset(ones, c->b_one, sizeof(ones));
	for (i = 0; i < all; i += n) {
		n = UMA_MIN(c->k->mr[0], all - i);
		k.a = t->patch + (uint64_t)i * c->px;
		c->k->fn[0][n - 1](&k);
		for (j = 0; j < n; j++)
			pixel[i + j] = (c->zeros ? 1 : -c->zb) * acc[j * CONV_LANES];
	}
	for (y = 0; y < t->rows; y++) {
		int32_t *to = t->row_add + (uint64_t)y * t->cols;

		memset(to, 0, 4ul * t->cols);
		for (ky = 0; ky < g->kernel[0]; ky++)
			for (kx = 0; kx < g->kernel[1]; kx++) {
				const int32_t *from = pixel + kx * g->dilation[1] +
					(uint64_t)(y * sy + ky * g->dilation[0]) * width;

				for (x = 0; x < t->cols; x++)
					to[x] += from[x * sx];
			}
	}
}

/**
 * struct panel - values for a panel of output channels
 * @k: block product
 * @b: results
 * @end: epilogue in the products
 * @scale: of the channels
 */
struct panel {
	struct conv_block k;
	struct conv_result b;
	struct conv_end end;
	float scale[CONV_CHANNELS];
};

/* Number of consecutive outputs. */
static uint32_t width_of(const struct conv_at *t)
{
	return t->c->flat ? t->cols * t->rows : t->cols;
}

/* Number of blocks of them. */
static uint32_t blocks_of(const struct conv_at *t)
{
	return (width_of(t) + t->c->mr - 1) / t->c->mr;
}

/*
 * Set up @vecs vectors, @n channels from @n0 on; the next weights are @next vectors further on.
 * Nothing has prefetched the weights of a tile's first panel; single blocks do not prefetch.
 */
static void open_panel(const struct conv_at *t, uint32_t n0, uint32_t vecs, uint32_t n,
		       int32_t next, bool first, struct panel *p)
{
	const bool single = (t->c->flat ? 1 : t->rows) * blocks_of(t) == 1;
	struct conv_block *k = &p->k;
	struct conv_result *b = &p->b;
	const struct conv_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const int32_t *col_add = conv_col_add(c, t->r->work);
	const int32_t *col_times = conv_col_times(c, t->r->work);

	*k = (struct conv_block){
		.a_ms = t->step[1] * t->pitch[1],
		.a_y = g->dilation[0] * t->pitch[0],
		.a_x = g->dilation[1] * t->pitch[1],
		.b = c->packs ? (const uint8_t *)t->r->work + conv_col_bytes(c) :
				conv_weights(&t->r->prog->op->t[UMA_SLOT_B]),
		.b_ks = c->b_ks, .b_ns = c->b_ns, .b_y = c->b_y, .b_x = c->b_x,
		.acc_ms = vecs * 64, .cols = c->merged ? 1 : g->kernel[1], .k = c->steps,
		.tail = c->tail, .mask = conv_mask(c, n, vecs),
		.last = n < vecs * CONV_LANES ? (1u << n % CONV_LANES) - 1 : 0xffff,
		.col_add = col_add ? col_add + t->group * g->m + n0 : NULL,
		.col_times = col_times ? col_times + t->group * g->m + n0 : NULL,
		.dst_ms = conv_pitch(t->r, UMA_SLOT_DST),
		.res_ms = conv_pitch(t->r, UMA_SLOT_RESIDUAL),
		.res_vec = (uint32_t)fast_bytes(t->r->prog->op->t[UMA_SLOT_DST].dtype, CONV_LANES),
		.blocks = 1,
		.fetch = next * c->b_ns, .part = single ? CONV_MR : first ? UINT32_MAX : 0,
	};
	k->b += t->group * c->b_group + n0 / CONV_LANES * c->b_ns;
	/* Contiguous taps are treated as channels. */
	if (k->a_x == (int64_t)k->k * 4 && k->b_x == k->b_ks * k->k) {
		k->k *= k->cols;
		k->cols = 1;
	}
	*b = (struct conv_result){
		.x = t->sums, .ld = vecs * CONV_LANES, .image = t->image,
		.n0 = t->group * g->m + n0, .n = n,
		.scale = p->scale,
	};
	if (c->epi.integer && !c->epi.exact)
		fast_epi_scales(t->r->prog, b->n0, fast_epi_by_channel(t->r->prog) ? n : 1,
				p->scale);
	k->end = conv_end_init(t->r, b, &p->end) ? &p->end : NULL;
}

/* Products that @n outputs from @at on may skip: those with padding that is zero. */
static uint32_t skip_of(const struct conv_prog *c, uint32_t cols, uint32_t at, uint32_t n)
{
	const struct conv_plan *g = &c->g;
	const uint64_t last = (g->out[1] - 1ull) * g->stride[1] +
			      (g->kernel[1] - 1ull) * g->dilation[1];

	if (c->za || cols == 1)
		return 0;
	return (at || !g->pad[1] ? 0 : CONV_SKIP_FIRST) |
	       (at + n < g->out[1] || last < (uint64_t)g->in[1] + g->pad[1] ? 0 : CONV_SKIP_LAST);
}

/*
 * Run @k->blocks of @n outputs from @at on, by @vecs vectors. Returns the number of completed
 * blocks.
 */
static uint32_t run_blocks(const struct conv_prog *c, struct conv_block *k, uint32_t vecs,
			   uint32_t n, uint32_t at)
{
	const conv_block_fn skip = c->k->skip[vecs - 1][n - 1];

	k->skip = skip_of(c, k->cols, at, n * k->blocks);
	return k->skip && skip ? skip(k) : c->k->fn[vecs - 1][n - 1](k);
}

/* Advance by @blocks times @n outputs. */
static void advance(struct conv_block *k, uint32_t n, uint32_t blocks)
{
	k->a += (int64_t)n * blocks * k->a_ms;
	k->dst += (int64_t)n * blocks * k->dst_ms;
	if (k->res)
		k->res += (int64_t)n * blocks * k->res_ms;
	k->part += blocks;
	if (k->row_add)
		k->row_add += n * blocks;
}

/* Consecutive blocks; false: some are not completed. */
static bool all_blocks(const struct conv_at *t, struct conv_block k, const struct conv_result *b)
{
	uint32_t i, n;

	for (i = 0; i < b->outputs; i += n * k.blocks) {
		n = UMA_MIN(t->c->mr, b->outputs - i);
		k.blocks = (b->outputs - i) / n;
		k.acc = (uint8_t *)t->sums + i * k.acc_ms;
		if (run_blocks(t->c, &k, (uint32_t)b->ld / CONV_LANES, n, b->at + i) < k.blocks)
			return false;
		advance(&k, n, k.blocks);
	}
	return true;
}

/* Sums of consecutive blocks, then their epilogue. */
static int sum_blocks(const struct conv_at *t, struct conv_block k, const struct conv_result *b)
{
	k.end = NULL;
	all_blocks(t, k, b);
	return conv_finish_block(t->r, b);
}

/* Set up a row of outputs from @at on, or all rows if they are merged. */
static void open_row(const struct conv_at *t, uint32_t y, uint32_t at, struct conv_block *k,
		     struct conv_result *b)
{
	uint32_t lo;

	k->rows = tap_rows(t->c, t->y0 + y, &lo);
	k->b += lo * k->b_y;
	k->a = t->patch + (int64_t)y * t->step[0] * t->pitch[0] + lo * k->a_y + at * k->a_ms;
	k->row_add = t->row_add ? t->row_add + (uint64_t)y * t->cols + at : NULL;
	k->part += y * blocks_of(t) + at / t->c->mr;
	b->y = t->y0 + y;
	b->at = t->x0 + at;
}

/* A row of outputs. */
static int conv_row(const struct conv_at *t, uint32_t y, struct conv_block k,
		    struct conv_result b)
{
	const uint32_t end = t->x0 + width_of(t), mr = t->c->mr;
	uint32_t n, done;

	open_row(t, y, 0, &k, &b);
	k.dst = conv_place(t->r, &b, UMA_SLOT_DST);
	k.res = k.end && k.end->residual ? conv_place(t->r, &b, UMA_SLOT_RESIDUAL) : NULL;
	while (b.at < end) {
		n = UMA_MIN(mr, end - b.at);
		k.blocks = (end - b.at) / n;
		done = !k.end ? 0 :
		       run_blocks(t->c, &k, (uint32_t)b.ld / CONV_LANES, n, b.at);
		advance(&k, n, done);
		b.at += n * done;
		if (done == k.blocks)
			continue;
		b.outputs = k.end ? n : UMA_MIN(CONV_FINISH / mr * mr, end - b.at);
		if (sum_blocks(t, k, &b))
			return -1;
		advance(&k, b.outputs, 1);
		b.at += b.outputs;
	}
	return 0;
}

/* Transpose results from @last, or residuals to @to if it is not NULL. */
static void turn(const struct conv_at *t, const struct conv_result *b, int64_t pitch, uint8_t *to)
{
	const uint32_t slot = to ? UMA_SLOT_RESIDUAL : UMA_SLOT_DST;
	const struct uma_tensor_view *v = &t->r->prog->op->t[slot];
	const uint32_t bytes = uma_dtype_bits(v->dtype) / 8;
	uint8_t *place = conv_place(t->r, b, slot);

	if (to)
		t->c->lines->turn(to, pitch, place, v->strides[1] * bytes, b->outputs, b->n, bytes);
	else
		t->c->lines->turn(place, v->strides[1] * bytes, t->last, pitch, b->n, b->outputs,
				  bytes);
}

/*
 * @n rows from @y on, outputs @at .. @at + @width, with their epilogue, which needs channels
 * last: results, and residuals, are transposed while they are in the cache.
 */
static int turned_rows(const struct conv_at *t, const struct panel *p, uint32_t y, uint32_t n,
		       uint32_t at, uint32_t width)
{
	const int64_t pitch = p->b.ld * p->k.res_vec / CONV_LANES;
	struct conv_result b = p->b;
	bool done = true;
	uint32_t i;

	b.y = t->y0 + y;
	b.at = t->x0 + at;
	b.outputs = n * width;
	if (p->end.residual)
		turn(t, &b, pitch, t->last + LAST_ROOM);
	for (i = 0; i < n && done; i++) {
		struct conv_block k = p->k;

		b.outputs = width;
		open_row(t, y + i, at, &k, &b);
		k.dst = t->last + i * width * pitch;
		k.dst_ms = pitch;
		k.res = p->end.residual ? k.dst + LAST_ROOM : NULL;
		k.res_ms = pitch;
		done = all_blocks(t, k, &b);
	}
	b.y = t->y0 + y;
	b.outputs = n * width;
	if (done)
		turn(t, &b, pitch, NULL);
	b.outputs = width;
	for (i = 0; i < n && !done; i++) {
		struct conv_block k = p->k;

		open_row(t, y + i, at, &k, &b);
		if (sum_blocks(t, k, &b))
			return -1;
	}
	return 0;
}

/* Do rows of outputs follow each other in an operand? */
static bool rows_join(const struct conv_at *t, uint32_t slot)
{
	const struct uma_tensor_view *v = &t->r->prog->op->t[slot];

	return v->rank == 4 && t->cols == t->c->g.out[1] &&
	       v->strides[2] == v->strides[3] * t->cols;
}

/* A panel of outputs that are contiguous in DST, which channels are not. */
static int turned_panel(const struct conv_at *t, const struct panel *p)
{
	const uint32_t width = width_of(t), rows = t->c->flat ? 1 : t->rows;
	const uint32_t most = CONV_FINISH / t->c->mr * t->c->mr;
	const bool join = rows_join(t, UMA_SLOT_DST) &&
			  (!p->end.residual || rows_join(t, UMA_SLOT_RESIDUAL));
	uint32_t y, at, n;

	for (y = 0; y < rows; y += n) {
		n = join && width <= most ? UMA_MIN(CONV_FINISH / width, rows - y) : 1;
		for (at = 0; at < width; at += most)
			if (turned_rows(t, p, y, n, at, UMA_MIN(most, width - at)))
				return -1;
	}
	return 0;
}

/* Number of outputs by two vectors that fit */
#define TAPS_ROOM	(CONV_FINISH * CONV_CHANNELS / (2 * CONV_LANES))

/* Initial values of the sums of outputs; rows are @pitch apart. */
static void start_sums(const struct conv_at *t, const struct panel *p, uint32_t y, uint32_t at,
		       uint32_t outputs, uint32_t pitch)
{
	const uint32_t width = width_of(t);
	int32_t *to = (int32_t *)t->sums;
	uint32_t i, j;

	if (!p->k.col_add && !t->row_add) {
		memset(to, 0, outputs * p->b.ld * 4ul);
		return;
	}
	for (i = 0; i < outputs; i++, to += p->b.ld) {
		const uint32_t x = at + i % pitch, o = (y + i / pitch) * width + x;
		const int32_t row = t->row_add && x < width ? t->row_add[o] : 0;

		for (j = 0; j < p->b.n; j++)
			to[j] = (int32_t)((uint32_t)row *
					  (uint32_t)(p->k.col_times ? p->k.col_times[j] : 1) +
					  (uint32_t)(p->k.col_add ? p->k.col_add[j] : 0));
	}
}

/* @n rows from @y on, or a part of one: sums, then the epilogue. */
static int sum_taps(const struct conv_at *t, struct panel *p, uint32_t y, uint32_t n,
		    uint32_t at, uint32_t width, uint32_t pitch)
{
	const uint32_t outputs = (n - 1) * pitch + width;
	struct conv_result b = p->b;
	struct conv_block k = p->k;
	uint32_t i;

	start_sums(t, p, y, at, outputs, pitch);
	k.rows = t->c->g.kernel[0];
	k.a = t->patch + (int64_t)y * t->step[0] * t->pitch[0] + at * k.a_ms;
	k.acc = (uint8_t *)t->sums;
	t->c->taps(&k, outputs);
	for (i = 0; i < n; i++) {
		b.x = t->sums + (uint64_t)i * pitch * b.ld;
		b.y = t->y0 + y + i;
		for (b.at = t->x0 + at; b.at < t->x0 + at + width; b.at += b.outputs) {
			b.outputs = UMA_MIN(CONV_FINISH, t->x0 + at + width - b.at);
			if (conv_finish_block(t->r, &b))
				return -1;
			b.x += (uint64_t)b.outputs * b.ld;
		}
	}
	return 0;
}

/*
 * A panel with AMX. The rows of a patch have the same distance as outputs, so several rows of
 * outputs are processed as one, including some that do not exist between them.
 */
static int panel_by_taps(const struct conv_at *t, struct panel *p)
{
	const struct conv_prog *c = t->c;
	const int64_t row = t->step[0] * t->pitch[0];
	const uint32_t width = width_of(t);
	const uint32_t rows = c->flat ? 1 : t->rows;
	uint32_t pitch = width, most = 1, y, n, at, piece;

	if (!c->in_place && rows > 1 && row % p->k.a_ms == 0 &&
	    row / p->k.a_ms <= width + width / 2 && row / p->k.a_ms <= TAPS_ROOM) {
		pitch = (uint32_t)(row / p->k.a_ms);
		most = TAPS_ROOM / pitch;
	}
	for (y = 0; y < rows; y += n) {
		n = UMA_MIN(most, rows - y);
		for (at = 0; at < width; at += piece) {
			piece = UMA_MIN(TAPS_ROOM, width - at);
			if (sum_taps(t, p, y, n, at, piece, n > 1 ? pitch : piece))
				return -1;
		}
	}
	return 0;
}

static uint8_t *carve(uint8_t **from, uint64_t bytes)
{
	uint8_t *p = *from;

	*from += (bytes + 63) / 64 * 64;
	return p;
}

static uint8_t *shared_patch(const struct fast_run *r, uint32_t patch)
{
	const struct conv_prog *c = conv_prog_of(r->prog);

	return (uint8_t *)r->work + c->patches * 64ull + (uint64_t)patch * c->patch_room;
}

/* Determine the outputs of a tile. */
static void place_tile(struct conv_at *t, uint32_t tile)
{
	const struct conv_prog *c = t->c;

	t->x0 = tile % conv_xblocks(c) * c->cols;
	tile /= conv_xblocks(c);
	t->y0 = tile % c->yblocks * c->rows;
	tile /= c->yblocks;
	t->group = tile % c->g.groups;
	t->image = tile / c->g.groups;
	t->rows = UMA_MIN(c->rows, c->g.out[0] - t->y0);
	t->cols = UMA_MIN(c->cols, c->g.out[1] - t->x0);
}

/* Copy rows of its patch. */
static void bring(const struct conv_at *t, uint32_t first, uint32_t count, uint8_t *to)
{
	conv_patch(t->c, &t->r->prog->op->t[UMA_SLOT_A], t->image, t->group, t->y0, t->rows,
		   t->x0, t->cols, first, count, to);
}

/* Set up the tile's memory, and its inputs. */
static void open_tile(struct conv_at *t, uint32_t tile)
{
	const struct conv_prog *c = t->c;
	uint8_t *rest = t->r->scratch;
	int32_t *pixel;

	place_tile(t, tile);
	t->sums = (float *)carve(&rest, CONV_FINISH * 64 * 4);
	t->last = c->turned && c->ends ? carve(&rest, 2ul * LAST_ROOM) : NULL;
	if (c->in_place) {
		const struct conv_plan *g = &c->g;

		t->patch = (uint8_t *)fast_ptr(&t->r->prog->op->t[UMA_SLOT_A]) +
			   (t->image * g->a_stride[CONV_N] +
			    (int64_t)t->group * g->c * g->a_stride[CONV_C] +
			    (int64_t)t->y0 * g->stride[0] * g->a_stride[CONV_Y] +
			    (int64_t)t->x0 * g->stride[1] * g->a_stride[CONV_X]) * c->es;
		t->pitch[0] = g->a_stride[CONV_Y] * c->es;
		t->pitch[1] = g->a_stride[CONV_X] * c->es;
		t->step[0] = g->stride[0];
		t->step[1] = g->stride[1];
		return;
	}
	t->pitch[0] = (int64_t)conv_patch_size(&c->g, 1, t->cols) * c->px;
	t->pitch[1] = c->px;
	t->step[0] = step_of(&c->g, 0);
	t->step[1] = step_of(&c->g, 1);
	if (c->shares) {
		t->patch = shared_patch(t->r, tile);
	} else {
		t->patch = carve(&rest, c->patch_room);
		bring(t, 0, UINT32_MAX, t->patch);
	}
	if (!c->zb && !c->zeros)
		return;
	t->row_add = (int32_t *)carve(&rest, 4ul * t->rows * t->cols);
	pixel = (int32_t *)rest;
	sum_inputs(t, pixel);
}

/* Copy a few rows of a shared patch. */
static void share_patch(const struct fast_run *r, uint32_t tile)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const uint32_t piece = tile % conv_pieces(c), patch = tile / conv_pieces(c);
	struct conv_at t = { .r = r, .c = c };

	place_tile(&t, patch);
	bring(&t, piece * CONV_PIECE, CONV_PIECE, shared_patch(r, patch));
}

int conv_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const uint32_t n0 = tile % c->nblocks * c->nblock;
	const uint32_t end = UMA_MIN(n0 + c->nblock, c->g.m);
	struct conv_at t = { .r = r, .c = c };
	uint32_t y, n, vecs;
	struct panel p;

	if (!phase && r->prog->phase_count > 1) {
		if (tile < conv_weights_tiles(c))
			conv_weights_tile(r, tile);
		else
			share_patch(r, tile - conv_weights_tiles(c));
		return 0;
	}
	if (c->zeros && !fast_zeros_near(&r->prog->op->t[UMA_SLOT_B], c->g.m * c->g.groups))
		return tile ? 0 : fast_whole_model(r);
	open_tile(&t, tile / c->nblocks);
	for (n = n0; n < end; n += vecs * CONV_LANES) {
		vecs = (end - n + CONV_LANES - 1) / CONV_LANES;
		vecs = vecs >= c->nv ? c->nv : vecs == 3 ? 2 : vecs;
		open_panel(&t, n, vecs, UMA_MIN(vecs * CONV_LANES, end - n),
			   n + vecs * CONV_LANES < end ? (int32_t)vecs :
			   -(int32_t)((n - n0) / CONV_LANES), n == n0, &p);
		if (c->taps) {
			if (panel_by_taps(&t, &p))
				return -1;
			continue;
		}
		if (c->turned && p.k.end) {
			if (turned_panel(&t, &p))
				return -1;
			continue;
		}
		for (y = 0; y < (c->flat ? 1 : t.rows); y++)
			if (conv_row(&t, y, p.k, p.b))
				return -1;
	}
	return 0;
}
