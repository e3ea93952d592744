// SPDX-License-Identifier: MIT
/* GEMM: chooses the sizes of tiles, blocks and strips, and assigns scratch memory. */
#include "gemm.h"

/* Multiply-adds below which work is not divided between threads */
#define SMALL_WORK	(1ull << 20)
/* Maximum multiply-adds of a tile, which limits the delay of more urgent work */
#define TILE_WORK	(1ull << 29)
/* Bytes of B that are packed at a time, and that are kept for other blocks of the tile */
#define PACKED_B	(256u * 1024u)
#define KEPT_B		(768u * 1024u)
/* Bytes of A that are packed, and of sums if K is divided */
#define PACKED_A	(512u * 1024u)
#define SUMS		(512u * 1024u)

/* Divide into equal parts of at most @most, each a multiple of @unit. */
static uint32_t even(uint32_t all, uint32_t most, uint32_t unit)
{
	const uint32_t parts = (all + most - 1) / most;
	const uint32_t part = (all + parts - 1) / parts;

	return (part + unit - 1) / unit * unit;
}

static uint32_t limit(uint32_t hint, uint32_t otherwise, uint32_t most)
{
	return UMA_MIN(hint ? hint : otherwise, most);
}

void gemm_cut_k(struct gemm_plan *g, const struct fast_prog *p)
{
	const uint32_t group = g->b == GEMM_B_DEQUANT ? 16 : fast_gemm_group(g->kind);
	const uint32_t most = p->hint.kt ? UMA_MAX(p->hint.kt, 64u) :
			      (g->b == GEMM_B_COPY ? 768 : 1024) * fast_gemm_group(g->kind);

	g->kt = (g->k + group - 1) / group * group;
	/* Sums of rows and columns need all of K. */
	if (!g->epi.integer && g->k > most)
		g->kt = even(g->k, p->hint.kt ? most : 512 * fast_gemm_group(g->kind), group);
}

/* Blocks of rows, and as many of them in a tile as possible, for a single thread. */
static void cut_blocks(struct gemm_plan *g, const struct fast_prog *p)
{
	const uint64_t row = (uint64_t)g->kt / fast_gemm_group(g->kind) * 4;
	const bool sums = !g->epi.direct && g->kt < g->k;
	uint64_t mt = UMA_MIN(p->cpu->l2 / 2, PACKED_A) / row, nt = 4096;

	mt = UMA_MIN(UMA_MAX(mt, GEMM_ROWS), 1024u);
	g->mt = UMA_MIN(even(g->m, limit(p->hint.mt, (uint32_t)mt, g->m), g->unit), g->m);
	g->tm = g->mt;
	if (sums) {
		nt = SUMS / 4 / g->mt;
	} else if (g->b >= GEMM_B_COPY && g->mt < g->m) {
		nt = KEPT_B / row;
		g->tm = g->m;
	}
	nt = UMA_MAX(nt / FAST_GEMM_N * FAST_GEMM_N, FAST_GEMM_N);
	g->nt = even(g->n, limit(p->hint.nt, (uint32_t)nt, g->n), FAST_GEMM_N);
}

/*
 * Cost of a row or column of a tile in addition to its products, in multiply-adds of one column
 * or row: packing and sums are repeated in each tile, and reading is from a farther cache.
 */
#define COST_READ	2u
#define COST_SUMS	3u
#define COST_PACK	11u
/* Cost of packing bytes in the products of a strip's first rows; half of that for 16 bits */
#define COST_JOIN	6u

/**
 * struct cut - a way to divide the result
 * @mt: rows of a block
 * @tm: rows of a tile
 * @nt: columns of a tile
 * @tiles: number of tiles
 * @time: time until the last thread is done
 */
struct cut {
	uint32_t mt;
	uint32_t tm;
	uint32_t nt;
	uint64_t tiles;
	uint64_t time;
};

static void weigh(struct cut *c, const struct gemm_plan *g, uint32_t threads)
{
	const uint32_t row = COST_READ + (g->pack_a ? COST_PACK : 0) +
			     (g->row_sums ? COST_SUMS : 0);
	const uint32_t join = g->kind == FAST_GEMM_F32 ? 0 :
			      g->kind == FAST_GEMM_BF16 ? COST_JOIN / 2 : COST_JOIN;
	const uint32_t pack = g->b < GEMM_B_COPY ? 0 : g->fused ? join : COST_PACK;
	const uint32_t col = COST_READ + pack + (g->col_sums ? COST_SUMS : 0);

	c->tiles = g->batches * gemm_count(g->m, c->tm) * gemm_count(g->n, c->nt);
	c->time = (c->tiles + threads - 1) / threads *
		  ((uint64_t)c->tm * c->nt + (uint64_t)c->tm * row + (uint64_t)c->nt * col);
}

/* Divide into @nparts along N, and along M as necessary for @want tiles. */
static struct cut cut_by(const struct gemm_plan *g, const struct fast_prog *p, uint32_t nparts,
			 uint64_t want)
{
	struct cut c = {
		.mt = g->mt, .tm = g->tm,
		.nt = gemm_count(gemm_count(g->n, FAST_GEMM_N), nparts) * FAST_GEMM_N,
	};
	const uint64_t others = g->batches * gemm_count(g->n, c.nt);
	const uint64_t parts = UMA_MIN((want + others - 1) / others, g->m);
	const uint32_t blocks = gemm_count(g->m, g->mt);

	if (parts > blocks && !p->hint.mt) {
		const uint32_t rows = even(g->m, gemm_count(g->m, (uint32_t)parts), g->unit);

		c.tm = c.mt = UMA_MIN(UMA_MAX(rows, GEMM_ROWS), g->m);
	} else if (parts > gemm_count(g->m, g->tm)) {
		c.tm = UMA_MAX(blocks / (uint32_t)parts, 1u) * g->mt;
	}
	return c;
}

/* Tiles for all threads, small enough not to delay urgent work for too long. */
void gemm_cut_tiles(struct gemm_plan *g, const struct fast_prog *p)
{
	const uint64_t work = g->batches * g->m * g->n * g->k;
	const uint32_t threads = p->hint.threads ? p->hint.threads : p->cpu->threads;
	const uint32_t strips = gemm_count(g->n, FAST_GEMM_N);
	uint64_t want = work / TILE_WORK, all;
	struct cut best, c;
	uint32_t nparts, most;

	cut_blocks(g, p);
	if (work >= SMALL_WORK && threads > 1)
		want = UMA_MAX(want, work >= 16 * SMALL_WORK ? 4 * threads : 2 * threads);
	best = (struct cut){ .mt = g->mt, .tm = g->tm, .nt = g->nt };
	weigh(&best, g, threads);
	nparts = gemm_count(g->n, g->nt);
	most = p->hint.nt ? nparts : (uint32_t)UMA_MIN(UMA_MAX(want, nparts), strips);
	for (all = best.tiles; all < want && nparts <= most; nparts++) {
		c = cut_by(g, p, nparts, want);
		weigh(&c, g, threads);
		/* First criterion: enough tiles; second: time. */
		if (UMA_MIN(c.tiles, want) > UMA_MIN(best.tiles, want) ||
		    (UMA_MIN(c.tiles, want) == UMA_MIN(best.tiles, want) && c.time < best.time))
			best = c;
	}
	g->mt = best.mt;
	g->tm = best.tm;
	g->nt = best.nt;
	g->mtiles = gemm_count(g->m, g->tm);
	g->ntiles = gemm_count(g->n, g->nt);
}

/* Assign scratch memory; false: there is not enough. */
bool gemm_place(struct gemm_plan *g)
{
	const uint64_t groups = g->kt / fast_gemm_group(g->kind);
	const uint32_t chunk = UMA_MAX(GEMM_CHUNK * GEMM_ROWS, GEMM_TILES_CHUNK);
	uint64_t acc = 0, at = 0;

	g->a_at = at;
	at += g->pack_a ? (uint64_t)(g->mt + GEMM_ROWS - 1) / GEMM_ROWS * groups * 64 : 0;
	g->b_at = at;
	g->strips = (uint32_t)UMA_MIN(UMA_MAX(PACKED_B / (FAST_GEMM_N * 4 * groups), 1u), 8u);
	/*
	 * Prefetching what is packed next, while these are multiplied, takes a line of each
	 * row.
	 */
	if (g->b == GEMM_B_COPY && g->ahead && g->mt > GEMM_AHEAD_ROWS)
		g->strips = fast_gemm_group(g->kind) == 4 ? 2 : 1;
	if (g->fused)
		g->strips = 1;
	if (g->fused || g->b >= GEMM_B_COPY)
		at += (g->tm > g->mt ? g->nt : g->strips * FAST_GEMM_N) / 16 * groups * 64;
	if (!g->epi.direct)
		acc = g->kt < g->k ? (uint64_t)g->mt * g->nt : chunk * FAST_GEMM_N;
	g->acc_at = at;
	at += gemm_round(acc * 4);
	g->sum_at = at;
	at += gemm_round(g->mt * 4) + (g->zeros ? 3u : 2u) * gemm_round(g->nt * 4);
	return at <= FAST_SCRATCH;
}
