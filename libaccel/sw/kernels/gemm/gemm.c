// SPDX-License-Identifier: MIT
/*
 * GEMM: tiles of DST, each computed in strips of 32 columns.
 *
 * A block of rows of A should stay in the second-level cache: mt rows of kt elements of K take
 * half of it. A strip of B, packed at this point unless it was before, is multiplied with all
 * of them, 14 rows at a time, and the epilogue follows while the sums are in the first-level
 * cache. A tile that packs B has several blocks, which reuse what was packed for the first; so
 * a run needs no memory beyond that of its threads. If K is divided, the sums of the tile stay
 * in DST, if it has their type, or in scratch memory. Each element has one accumulator, so
 * dividing K does not affect the result. The order of the loops is that of Goto and van de
 * Geijn, "Anatomy of high-performance matrix multiplication" (2008), with A unpacked where its
 * strides allow it.
 */
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "gemm.h"

/* Minimum number of ways of a second-level cache */
#define L2_WAYS		16u
/* Size of a way of a first-level cache */
#define PAGE		4096u

/* --- plans ------------------------------------------------------------------------- */

/*
 * Would the rows of an unpacked strip of B evict each other from the second-level cache? Rows
 * whose distance is the size of a way map to the same sets.
 */
static bool too_many(const struct gemm_plan *g, uint32_t l2)
{
	const uint64_t low = (uint64_t)g->b_ks & -(uint64_t)g->b_ks;

	return g->kt * UMA_MIN(low, l2 / L2_WAYS) > l2;
}

/* Columns at such distances would map to the same sets of the first-level cache. */
static bool must_pack_a(const struct gemm_plan *g, const struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const int64_t ks = a->strides[a->rank - 1];

	if (g->kind == FAST_GEMM_S16 ||
	    (g->kind == FAST_GEMM_F32 && a->dtype != UMA_DTYPE_F32))
		return true;
	if (fast_gemm_group(g->kind) > 1 && ks != 1)
		return true;
	/* AMX reads rows directly. */
	if (g->kind != FAST_GEMM_F32 && (p->cpu->isa & FAST_AMX_INT8))
		return false;
	if (g->m < GEMM_ROWS || g->n <= 4 * FAST_GEMM_N)
		return false;
	return ks != 1 && fast_bytes(a->dtype, ks) % 1024 == 0;
}

/*
 * Rows at a distance of a multiple of pages map to the same sets of the first-level cache,
 * whose ways are as many as it has pages; B passes through it, too.
 */
static uint8_t rows_at_once(const struct gemm_plan *g, const struct fast_prog *p)
{
	const uint64_t low = (uint64_t)g->a_ms & -(uint64_t)g->a_ms;
	const uint32_t sets = low && low < PAGE ? (uint32_t)(PAGE / low) : 1;
	const uint32_t lines = UMA_MAX(p->cpu->l1d / PAGE, 4u) - 2;

	return (uint8_t)UMA_MIN(lines * sets, GEMM_ROWS);
}

static void moved(struct fast_prog *p)
{
	struct gemm_plan *g = (struct gemm_plan *)p->priv;
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];

	g->a0 = fast_ptr(&p->op->t[UMA_SLOT_A]);
	g->d0 = fast_ptr(&p->op->t[UMA_SLOT_DST]);
	g->b0 = fast_ptr(b);
	if (b->layout != UMA_LAYOUT_STRIDED)
		g->b0 += sizeof(struct uma_packed_header);
}

static void distances(struct gemm_plan *g, struct fast_prog *p)
{
	const struct uma_op *op = p->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];

	moved(p);
	g->a_ms = fast_bytes(a->dtype, a->strides[a->rank - 2]);
	g->a_ks = fast_bytes(a->dtype, a->strides[a->rank - 1]);
	g->d_ms = fast_bytes(d->dtype, d->strides[d->rank - 2]);
	g->ahead = (uint64_t)g->k * g->n * 4 / fast_gemm_group(g->kind) > p->cpu->l2 / 4;
	g->far = (uint64_t)g->m * g->n * 4 > p->cpu->l2 / 2;
	if (b->layout == UMA_LAYOUT_STRIDED) {
		g->b_ks = fast_bytes(b->dtype, b->strides[b->rank - 2]);
		g->b_ns = fast_bytes(b->dtype, b->strides[b->rank - 1]);
		return;
	}
	g->b_panel = uma_packed_panel_blocks(b, p->cap);
	g->b_matrix = (g->n + g->block_n - 1) / g->block_n * g->b_panel;
}

/* Rows of a packed vector of A, divided evenly. */
static uint32_t block_rows(uint32_t m)
{
	return gemm_count(m, gemm_count(m, GEMM_ROWS));
}

static int prepare(struct fast_prog *p)
{
	const struct uma_op *op = p->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *a = &op->t[UMA_SLOT_A];
	struct gemm_plan *g = (struct gemm_plan *)p->priv;
	uint64_t tiles;
	uint32_t i;

	if (uma_tensor_empty(d) || !a->dims[a->rank - 1])
		return 0;
	g->m = d->dims[d->rank - 2];
	g->n = d->dims[d->rank - 1];
	g->k = a->dims[a->rank - 1];
	g->batches = 1;
	for (i = 0; i + 2 < d->rank; i++)
		g->batches *= d->dims[i];
	fast_epi_init(&g->epi, p, d->rank - 2u, d->rank - 1u, uma_is_int8(a->dtype));
	if (!gemm_plan_types(g, p))
		return fast_leave(p, "no kernel has these types and layouts");
	/* Sums of columns are applied in the epilogue. */
	if (g->col_sums || g->zeros)
		g->epi.direct = false;
	g->pack_a = must_pack_a(g, p) || (p->hint.variant & 1);
	distances(g, p);
	gemm_cut_k(g, p);
	g->raw_far = g->fused && g->ahead && too_many(g, p->cpu->l2);
	g->rows = g->pack_a ? 0 : rows_at_once(g, p);
	g->unit = !g->pack_a && g->kind != FAST_GEMM_F32 && (p->cpu->isa & FAST_AMX_INT8) ?
		  GEMM_TILES : 1;
	gemm_cut_tiles(g, p);
	tiles = g->batches * g->mtiles * g->ntiles;
	if (tiles > UINT32_MAX)
		return 0;
	if (!gemm_place(g))
		return fast_leave(p, "a tile does not fit into the memory of a thread");
	g->block_rows = block_rows(g->mt);
	p->tiles[p->phase_count++] = (uint32_t)tiles;
	p->max_threads = tiles == 1 ? 1 : 0;
	return 1;
}

/* --- a tile ------------------------------------------------------------------------ */

static void *scratch(const struct gemm_tile *t, uint64_t at)
{
	return (char *)t->r->scratch + at;
}

/* Select the matrix of the batch. */
static void open_batch(struct gemm_tile *t, uint64_t batch)
{
	const struct uma_op *op = t->r->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_dtype_block least = uma_dtype_block(b->dtype);
	int64_t a_off = 0, b_off = 0, d_off = 0;
	uint32_t i;

	t->b += batch * t->plan->b_matrix;
	for (i = d->rank - 2u; i-- > 0;) {
		t->idx[i] = (uint32_t)(batch % d->dims[i]);
		batch /= d->dims[i];
		a_off += t->idx[i] * a->strides[i];
		b_off += t->idx[i] * b->strides[i];
		d_off += t->idx[i] * d->strides[i];
	}
	t->a += fast_bytes(a->dtype, a_off);
	t->b += (b_off >> least.shift) * (int64_t)least.bytes;
	t->d += fast_bytes(d->dtype, d_off);
}

/* Returns the number of rows of the tile. */
static uint32_t open_tile(struct gemm_tile *t, const struct fast_run *r, uint32_t phase,
			  uint32_t tile)
{
	const struct gemm_plan *g = (const void *)r->prog->priv;
	uint64_t batch = 0;
	uint32_t m0 = 0, n0 = 0;

	t->r = r;
	t->plan = g;
	t->a = g->a0;
	t->b = g->b0;
	t->d = g->d0;
	memset(t->idx, 0, sizeof(t->idx));
	if (r->prog->tiles[phase] > 1) {
		batch = tile / (g->mtiles * g->ntiles);
		tile -= (uint32_t)batch * g->mtiles * g->ntiles;
		/* Consecutive tiles have the same columns, so that threads share B. */
		n0 = tile / g->mtiles * g->nt;
		m0 = tile % g->mtiles * g->tm;
		if (g->batches > 1)
			open_batch(t, batch);
	}
	t->idx[g->epi.row] = m0;
	t->idx[g->epi.col] = n0;
	t->a += m0 * g->a_ms;
	t->d += m0 * g->d_ms + n0 * 4ll;
	t->n = UMA_MIN(g->nt, g->n - n0);
	t->again = false;
	return UMA_MIN(g->tm, g->m - m0);
}

/* The next block of a tile with @left rows left. */
static void open_block(struct gemm_tile *t, uint32_t left)
{
	t->m = UMA_MIN(t->plan->mt, left);
	t->block_rows = t->m == t->plan->mt ? t->plan->block_rows : block_rows(t->m);
}

static void leave_block(struct gemm_tile *t)
{
	t->idx[t->plan->epi.row] += t->m;
	t->a += t->m * t->plan->a_ms;
	t->d += t->m * t->plan->d_ms;
	t->again = true;
}

static uint64_t vector_bytes(const struct gemm_plan *g, uint32_t k)
{
	return fast_gemm_pack_bytes(g->kind, k);
}

/* Pack rows of A like columns of a strip: the groups of K of all rows are 64 bytes. */
static void pack_a(const struct gemm_tile *t, uint32_t k0, uint32_t k)
{
	const struct uma_tensor_view *a = gemm_view(t, UMA_SLOT_A);
	const int64_t ms = a->strides[a->rank - 2], ks = a->strides[a->rank - 1];
	struct fast_gemm_source from = {
		.p = t->a + k0 * t->plan->a_ks, .ks = ks, .ns = ms, .dtype = a->dtype,
	};
	char *out = scratch(t, t->plan->a_at);
	uint32_t i;

	for (i = 0; i < t->m; i += t->block_rows) {
		fast_gemm_pack_b(t->r->prog->cpu->isa, t->plan->kind, &from, k,
				 UMA_MIN(t->block_rows, t->m - i), out, 0);
		from.p = (const char *)from.p + t->block_rows * t->plan->a_ms;
		out += vector_bytes(t->plan, k);
	}
}

/* 1 in every element of a group, for all types */
static const uint8_t one_bytes[4] __attribute__((aligned(4))) = { 1, 1, 1, 1 };
static const uint16_t one_words[2] __attribute__((aligned(4))) = { 1, 1 };

static const void *ones(const struct gemm_plan *g)
{
	return g->kind == FAST_GEMM_S16 ? (const void *)one_words : one_bytes;
}

/*
 * Sums of the rows, which are the initial values of their products, or are multiplied by zero
 * points of columns.
 */
static const int32_t *row_sums(const struct gemm_tile *t)
{
	const struct gemm_plan *g = t->plan;
	const struct uma_tensor_view *a = gemm_view(t, UMA_SLOT_A);
	int32_t *sums = scratch(t, g->sum_at);
	uint32_t i;

	if (!g->row_sums)
		return NULL;
	if (!g->pack_a) {
		fast_gemm_row_sums(t->r->prog->cpu->isa, t->a, g->a_ms, t->m, g->k,
				   a->dtype == UMA_DTYPE_S8, g->row_factor, g->row_const, sums);
		return sums;
	}
	for (i = 0; i < t->m; i += t->block_rows) {
		const char *rows = scratch(t, g->a_at);
		const struct fast_gemm_strip s = {
			.a = ones(g), .b = { rows + i / t->block_rows * vector_bytes(g, g->k) },
			.b_ks = 64, .c = sums + i, .c_ms = 0, .m = 1, .k = g->k,
			.n = UMA_MIN(t->block_rows, t->m - i),
		};

		g->sums(&s);
	}
	for (i = 0; i < t->m; i++)
		sums[i] = (int32_t)((uint32_t)sums[i] * (uint32_t)g->row_factor +
				    (uint32_t)g->row_const);
	return sums;
}

/* Added to the columns of a strip: -(zero of A) x (their sums - K x their zero points). */
static void column_sums(const struct gemm_plan *g, const struct fast_gemm_strip *strip,
			int32_t *sums, const int32_t *zeros)
{
	const int32_t init = (int32_t)g->k * (!g->flip ? 0 : g->kind == FAST_GEMM_I8S ? -128 : 128);
	struct fast_gemm_strip s = *strip;
	uint32_t j;

	s.a = ones(g);
	s.a_ks = 0;
	s.c = sums;
	s.init = &init;
	s.m = 1;
	g->fn(&s);
	for (j = 0; j < s.n; j++) {
		const uint32_t off = zeros ? g->k * ((uint32_t)zeros[j] + (uint32_t)g->zero_shift) :
					     0;

		sums[j] = (int32_t)(((uint32_t)sums[j] - off) * (uint32_t)g->col_factor);
	}
}

/* B is only packed once. */
static void product(const struct gemm_plan *g, struct fast_gemm_strip *s)
{
	g->fn(s);
	if (s->keep[0])
		fast_gemm_kept(s);
}

/* Rows @i .. @i + @m of the strip. */
static void multiply(const struct gemm_tile *t, struct fast_gemm_strip *s, uint32_t i, uint32_t m,
		     const int32_t *init)
{
	const struct gemm_plan *g = t->plan;
	const void *next[FAST_GEMM_AHEAD];
	uint32_t j;

	if (!g->pack_a) {
		s->m = m;
		s->a_ms = g->a_ms;
		s->init = init ? init + i : NULL;
		product(g, s);
		return;
	}
	memcpy(next, s->next, sizeof(next));
	s->a_ms = 4;
	s->a_ks = 64;
	for (j = 0; j < m; j += t->block_rows) {
		s->next[0] = i || j >= FAST_GEMM_AHEAD * t->block_rows ? NULL :
			     next[j / t->block_rows];
		s->a = (const char *)scratch(t, g->a_at) +
		       (i + j) / t->block_rows * vector_bytes(g, s->k);
		s->m = UMA_MIN(t->block_rows, m - j);
		s->init = init ? init + i + j : NULL;
		product(g, s);
		s->c = (char *)s->c + t->block_rows * s->c_ms;
	}
}

/**
 * struct sums - values for the rows and columns of a tile
 * @init: initial values of rows, or NULL
 * @cols: added to columns, or NULL
 * @scale: products of scales, or NULL
 * @rows: sums of rows, multiplied by @zeros
 * @zeros: zero points of columns, or NULL
 */
struct sums {
	const int32_t *init;
	int32_t *cols;
	float *scale;
	const int32_t *rows;
	int32_t *zeros;
};

static int finish(const struct gemm_tile *t, const struct fast_gemm_strip *s, void *acc, uint32_t i,
		  uint32_t m, uint32_t j, const struct sums *sums)
{
	const uint32_t by_channel = fast_epi_by_channel(t->r->prog);
	struct fast_epi_block b = {
		.acc = acc, .ld = s->c_ms / 4, .m = m, .n = s->n,
		.col_add = sums->cols ? sums->cols + j : NULL,
		.col_zero = sums->zeros ? sums->zeros + j : NULL,
		.row_sum = sums->zeros ? sums->rows + i : NULL,
		.scale = sums->scale ? sums->scale + (by_channel ? j : 0) : NULL,
		.scale_ns = by_channel,
	};

	memcpy(b.idx, t->idx, sizeof(b.idx));
	b.idx[t->plan->epi.row] += i;
	b.idx[t->plan->epi.col] += j;
	return fast_epi_block(t->r, &t->plan->epi, &b);
}

/*
 * Sets single members: clearing the whole struct takes longer than a small operation can
 * afford.
 */
static void open_strip(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t j,
		       struct fast_gemm_strip *s)
{
	const struct gemm_plan *g = t->plan;
	uint32_t i;

	for (i = 0; i < FAST_GEMM_AHEAD; i++)
		s->next[i] = NULL;
	s->next_ks = 0;
	s->raw = NULL;
	s->keep[0] = NULL;
	s->far = false;
	s->c_ms = 0;
	s->a_ms = g->a_ms;
	s->a_ks = g->a_ks * fast_gemm_group(g->kind);
	s->n = UMA_MIN(FAST_GEMM_N, t->n - j);
	s->k = k;
	s->flip = g->flip;
	s->rows = g->rows;
	s->accumulate = k0 > 0;
	s->b_masked = false;
}

/* Columns from @j on of the tile, rows @k0 to @k0 + @k of B. */
static int strip(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t j, struct sums *sums)
{
	const struct gemm_plan *g = t->plan;
	const uint32_t chunk = g->epi.direct ? t->m :
			       g->unit > 1 ? GEMM_TILES_CHUNK : GEMM_CHUNK * t->block_rows;
	const bool last = k0 + k == g->k;
	struct fast_gemm_strip s;
	char *dst = NULL;
	uint32_t i, m;

	open_strip(t, k0, k, j, &s);
	if (gemm_load_strip(t, k0, k, t->idx[g->epi.col] + j, s.n, &s))
		return -1;
	if (sums->cols)
		column_sums(g, &s, sums->cols + j, sums->zeros ? sums->zeros + j : NULL);
	if (g->epi.direct) {
		dst = t->d + 4ll * j;
		s.c_ms = g->d_ms;
		s.far = g->far;
	} else {
		s.far = g->kt < g->k;
		s.c_ms = g->kt < g->k ? g->nt * 4 : FAST_GEMM_N * 4;
	}
	for (i = 0; i < t->m; i += m) {
		char *acc = scratch(t, g->acc_at);

		m = UMA_MIN(chunk, t->m - i);
		if (g->kt < g->k)
			acc += i * s.c_ms + j * 4;
		s.a = t->a + i * g->a_ms + k0 * g->a_ks;
		s.c = dst ? dst + i * s.c_ms : acc;
		multiply(t, &s, i, m, k0 ? NULL : sums->init);
		if (last && !dst && finish(t, &s, acc, i, m, j, sums))
			return -1;
	}
	return 0;
}

/* A block, rows @k0 to @k0 + @k of B. */
static int block(const struct gemm_tile *t, uint32_t k0, uint32_t k, struct sums *sums)
{
	uint32_t j;

	if (t->plan->pack_a)
		pack_a(t, k0, k);
	if (sums->zeros)
		sums->rows = row_sums(t);
	else
		sums->init = k0 ? NULL : row_sums(t);
	for (j = 0; j < t->n; j += FAST_GEMM_N)
		if (strip(t, k0, k, j, sums))
			return -1;
	return 0;
}

static int tile(const struct fast_run *r, uint32_t phase, uint32_t index)
{
	const struct gemm_plan *g = (const void *)r->prog->priv;
	struct gemm_tile first, t;
	struct sums sums = { 0 };
	uint32_t k0, k, rows, i;
	char *at;

	if (g->zeros && !fast_zeros_near(&r->prog->op->t[UMA_SLOT_B], g->n))
		return index ? 0 : fast_whole_model(r);
	rows = open_tile(&t, r, phase, index);
	open_block(&t, rows);
	/* The most frequent case: one block, K undivided. */
	if (g->kt >= g->k && t.m == rows && g->epi.direct)
		return block(&t, 0, g->k, &sums);
	first = t;
	at = (char *)scratch(&first, g->sum_at) + gemm_round(g->mt * 4);
	if (g->col_sums)
		sums.cols = (int32_t *)at;
	if (g->epi.integer && !g->epi.exact) {
		sums.scale = (float *)(at + gemm_round(g->nt * 4));
		fast_epi_scales(r->prog, first.idx[g->epi.col],
				fast_epi_by_channel(r->prog) ? first.n : 1, sums.scale);
	}
	if (g->zeros) {
		const struct uma_tensor_view *b = &r->prog->op->t[UMA_SLOT_B];
		const int32_t *zero = (const int32_t *)(uintptr_t)b->zero_addr;

		sums.zeros = (int32_t *)(at + 2 * gemm_round(g->nt * 4));
		for (i = 0; i < first.n; i++)
			sums.zeros[i] = (int32_t)((uint32_t)zero[first.idx[g->epi.col] + i] -
						  (uint32_t)g->zero_shift);
	}
	for (k0 = 0; k0 < g->k; k0 += k) {
		k = UMA_MIN(g->kt, g->k - k0);
		t = first;
		for (i = 0; i < rows; i += t.m, leave_block(&t)) {
			open_block(&t, rows - i);
			if (block(&t, k0, k, &sums))
				return -1;
		}
	}
	return 0;
}

static uint32_t candidates(const struct fast_prog *p, struct fast_hint *out, uint32_t max)
{
	const struct gemm_plan *g = (const void *)p->priv;
	const struct fast_hint all[] = {
		{ .kt = 256 }, { .kt = 512 }, { .kt = 1024 },
		{ .mt = 56 }, { .mt = 112 }, { .mt = 224 },
		{ .nt = 64 }, { .nt = 128 }, { .nt = 256 }, { .nt = 512 },
		{ .variant = 1 }, { .variant = 2 }, { .variant = 1, .kt = 512, .mt = 224 },
	};
	uint32_t i, count = 0;

	for (i = 0; i < UMA_ARRAY_SIZE(all) && count < max; i++) {
		if (all[i].kt >= g->k || all[i].mt >= g->m || all[i].nt >= g->n)
			continue;
		if (all[i].kt && g->epi.integer)
			continue;
		out[count++] = all[i];
	}
	return count;
}

const struct fast_class fast_gemm = {
	.name = "gemm",
	.prepare = prepare,
	.moved = moved,
	.tile = tile,
	.candidates = candidates,
};
