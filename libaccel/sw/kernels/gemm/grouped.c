// SPDX-License-Identifier: MIT
/*
 * GEMM of bytes with scales for rows of A, or for groups along K; and of bf16 by small
 * integers. The first phase converts the rows of A, each followed by the sums, zero points and
 * scales of its groups. The second expands two vectors of columns of B for some groups of K,
 * and multiplies them with all rows of the tile. The bits of a row depend neither on the number
 * of rows, except for bf16 with AMX, nor on the number of threads.
 *
 * If it is permitted to round to bf16 instead, class grouped-bf16 does so for many rows with
 * AMX: scaling the sums of each group takes longer there than the products of its tiles.
 */
#include <stdlib.h>
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "gemm.h"
#include "grouped_plan.h"

/* Elements of K that are expanded at a time, unless a group is longer */
#define BLOCK_K		1024u
/*
 * Maximum number of rows of a tile. Their bytes of A take most of the second-level cache: columns
 * are expanded once for each tile of rows. To expand them and round them to bf16 takes as long as
 * 100 rows of tiles, so as much is used as does not displace A.
 */
#define TILE_ROWS	512u
#define TILE_A(l2, bf16)	((l2) / 8 * ((bf16) ? 6 : 5))
/* Maximum size of few rows in the order of their kernels */
#define FEW_MAX		(1u << 20)
/* Maximum size of the converted A */
#define WORK_MAX	(64ull << 20)
/* Minimum number of rows for bf16: fewer are bound by reading B */
#define BF16_ROWS	9u

/* --- tiles ------------------------------------------------------------------------- */

/* Set up the data of row @row of A from group @g0 on. */
static void call_of_row(const struct grouped_plan *p, const uint8_t *row, uint32_t g0,
			struct grouped_call *call)
{
	if (p->bf16) {
		call->a = row + 2ul * g0 * p->group;
		return;
	}
	call->a = row + 4ul * g0 * words_of(p, p->group);
	row += p->meta + 4ul * g0;
	call->a_sum = row + 4ul * p->groups * SUM;
	call->a_raw = row + 4ul * p->groups * RAW;
	call->a_zero = row + 4ul * p->groups * ZERO;
	call->a_scale = p->group_scales ? row + 4ul * p->groups * SCALE : NULL;
	call->a_min = row + 4ul * p->groups * MIN;
}

#if defined(__x86_64__)
#define multiply_tiles		grouped_tiles_amx
#define multiply_strips		grouped_strips_bf16
#else
#define multiply_tiles(call, m, bf16)	((void)(call), (void)(m))
#define multiply_strips(call, strip, m)	((void)(call), (void)(strip), (void)(m))
#endif

/* All rows of the tile by bf16: the strip of another class. */
static void multiply_bf16(const struct fast_run *r, const struct grouped_call *call, uint32_t m)
{
	const struct grouped_plan *p = plan_of(r);
	const uint32_t nb = 2 * p->k->vl;
	uint8_t *b = (uint8_t *)r->scratch + p->bf16_at;
	const struct fast_gemm_strip s = {
		.a = call->a, .a_ms = (int64_t)p->row, .a_ks = 4,
		.b = { b, b + 64 }, .b_ks = 4 * nb, .c = call->c, .c_ms = 4 * nb,
		.m = m, .n = nb, .k = call->groups * p->group,
		.accumulate = call->accumulate,
	};

	grouped_words_bf16(call, b);
	fast_gemm_kernel(FAST_GEMM_BF16, r->prog->cpu->isa)(&s);
}

/* Groups @g0 .. @g0 + @count of a strip, for all rows of the tile. */
static int multiply(const struct fast_run *r, struct grouped_strip *s, uint32_t g0, uint32_t count,
		    const uint8_t *a, uint32_t m, float *c)
{
	const struct grouped_plan *p = plan_of(r);
	const uint8_t *scratch = r->scratch;
	const uint32_t nb = 2 * p->k->vl;
	struct grouped_call call = {
		.a_row = p->row, .b = scratch + p->words_at, .groups = count,
		.words = words_of(p, p->group), .b_scale = (const float *)(scratch + p->scale_at),
		.b_zero = (const int32_t *)(scratch + p->zero_at),
		.b_sum = (const int32_t *)(scratch + p->sum_at), .c_row = nb, .accumulate = g0 > 0,
		.b_min = p->mins ? (const float *)(scratch + p->min_at) : NULL,
	};
	const enum grouped_way way = p->zeros ? GROUPED_ZEROS :
				     p->mins ? GROUPED_MINS : GROUPED_PLAIN;
	const uint32_t whole = p->bf16 || p->strips ? m :
			       p->tiles ? m / GROUPED_TILE * GROUPED_TILE : 0;
	const uint32_t parts = gemm_count(m, p->k->mr);
	struct grouped_ahead ahead;
	uint32_t i, rows, part = 0;

	if (grouped_load_columns(r, s, g0, count))
		return -1;
	ahead = grouped_ahead_of(r, s, g0 + count);
	call.last = words_of(p, (uint32_t)uma_roundup(group_len(p, g0 + count - 1), 4));
	if (whole) {
		grouped_fetch(&ahead, 0, 1);
		call_of_row(p, a, g0, &call);
		call.c = c;
		if (p->bf16)
			multiply_bf16(r, &call, m);
		else if (p->strips)
			multiply_strips(&call,
					fast_gemm_kernel(FAST_GEMM_BF16, r->prog->cpu->isa), m);
		else
			multiply_tiles(&call, whole, p->k == &grouped_bf16);
	}
	for (i = whole; i < m; i += rows) {
		const uint32_t blocks = gemm_count(m - i, p->k->mr);

		rows = gemm_count(m - i, blocks);
		grouped_fetch(&ahead, part++, parts);
		call_of_row(p, a + i * p->row, g0, &call);
		call.c = c + (size_t)i * nb;
		p->k->fn[rows - 1][way](&call);
	}
	return 0;
}

/* Rows of the next kernel if @m of few rows are left: about as many as those of the others. */
static uint32_t few_rows(const struct fast_run *r, uint32_t m)
{
	const uint32_t type = view(r, UMA_SLOT_B)->dtype - UMA_DTYPE_Q8_0;
	uint32_t most = 1;

	while (most < GROUPED_FEW && plan_of(r)->k->few[type][most])
		most++;
	return gemm_count(m, gemm_count(m, most));
}

/* Bytes of a group of a row in the order of kernels of few rows */
static uint32_t few_bytes(const struct grouped_plan *p)
{
	return 4 * words_of(p, p->group) + (p->mins ? 12 : 8);
}

/*
 * Few rows in the order in which their kernels read them: addresses are then one register and
 * constants. (With a register for each row and table, a sixth of the instructions moved these.)
 */
static void order_rows(const struct fast_run *r, uint8_t *a, uint32_t m)
{
	const struct grouped_plan *p = plan_of(r);
	const uint32_t words = 4 * words_of(p, p->group);
	uint8_t *to = (uint8_t *)r->scratch + p->few_at;
	const float one = 1;
	uint32_t rows, i, g;

	for (; m; m -= rows, a += rows * p->row) {
		rows = few_rows(r, m);
		for (g = 0; g < p->groups; g++, to += rows * few_bytes(p)) {
			uint8_t *sum = to + rows * words;

			for (i = 0; i < rows; i++, sum += 4) {
				uint8_t *row = a + i * p->row;

				memcpy(to + i * words, row + g * words, words);
				memcpy(sum, (int32_t *)meta(p, row, SUM) + g, 4);
				memcpy(sum + 4 * rows, p->group_scales ?
				       (float *)meta(p, row, SCALE) + g : &one, 4);
				if (p->mins)
					memcpy(sum + 8 * rows, (float *)meta(p, row, MIN) + g, 4);
			}
		}
	}
}

/* All groups of a strip of columns of blocks, for few rows */
static void multiply_few(const struct fast_run *r, struct grouped_strip *s, uint32_t m, float *c)
{
	const struct grouped_plan *p = plan_of(r);
	const uint32_t nb = 2 * p->k->vl, dtype = view(r, UMA_SLOT_B)->dtype;
	struct grouped_call call = {
		.groups = p->groups, .c_row = nb, .flip = p->flip,
		.factor = tensor_scale(view(r, UMA_SLOT_A)),
	};
	const uint8_t *col[GROUPED_STRIP];
	uint32_t v, i, rows;

	/* Consecutive columns are read as one stream, prefetched half a strip ahead. */
	call.ahead = grouped_columns_of(r, s, col) / 2;
	call.col_step = call.ahead / p->k->vl;
	for (v = 0; v < s->n; v += p->k->vl) {
		call.b = col[v];
		call.a = (const uint8_t *)r->scratch + p->few_at;
		for (i = 0; i < m; i += rows) {
			rows = few_rows(r, m - i);
			call.c = c + (size_t)i * nb + v;
			p->k->few[dtype - UMA_DTYPE_Q8_0][rows - 1](&call);
			call.a += (size_t)p->groups * rows * few_bytes(p);
		}
	}
}

/* All groups of a strip of packed columns of 4-bit numbers, for few rows. */
static void multiply_nibbles(const struct fast_run *r, struct grouped_strip *s, const uint8_t *a,
			     uint32_t m, float *c)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	const uint32_t vl = p->k->vl, bytes = b->scale_dtype == UMA_DTYPE_F16 ? 2 : 4;
	const uint8_t *col[2];
	struct grouped_call call = {
		.a_row = p->row, .groups = p->groups, .words = words_of(p, p->group),
		.last = words_of(p, (uint32_t)uma_roundup(group_len(p, p->groups - 1), 4)),
		.c = c, .c_row = 2ul * vl, .col = col, .col_step = 4ul * p->bn, .flip = p->flip,
		.factor = tensor_scale(view(r, UMA_SLOT_A)), .half = bytes == 2,
	};
	uint32_t v, n;

	for (v = 0; v < 2; v++) {
		n = s->n0 + v * vl;
		col[v] = (const uint8_t *)(uintptr_t)uma_packed_addr(b, r->prog->cap, s->batch, 0,
								     n) + n % p->bn * 4;
	}
	s->idx[b->rank - 1] = s->n0;
	s->idx[b->rank - 2] = 0;
	call.table = (const uint8_t *)(uintptr_t)b->scale_addr + uma_table_index(b, s->idx) * bytes;
	call.table_row = (int64_t)uma_table_stride(b, b->rank - 2u) * bytes;
	call_of_row(p, a, 0, &call);
	p->k->nibbles[m - 1](&call);
}

/* Is a row's zero point out of the kernels' range? @a: the row */
static bool wild_row(const struct fast_run *r, uint8_t *a)
{
	const struct grouped_plan *p = plan_of(r);
	const int32_t *zero = meta(p, a, ZERO);
	uint32_t g;

	/* If adding the shift wraps, it is out of range, too. */
	for (g = 0; p->zeros && view(r, UMA_SLOT_A)->zero_addr && g < p->groups; g++)
		if (llabs((int64_t)zero[g] - p->a_shift) > GROUPED_ZERO)
			return true;
	return false;
}

/* Row @m if zero points are out of range of their type: element by element. */
static void slowly(const struct fast_run *r, const struct grouped_strip *s, uint32_t m, float *c)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *b = view(r, UMA_SLOT_B);
	uint32_t ia[UMA_MAX_RANK], ib[UMA_MAX_RANK], j, k;
	float x;

	batch_index(r, s->batch, ia);
	memcpy(ib, ia, sizeof(ib));
	ia[b->rank - 2] = m;
	memset(c, 0, 8ul * p->k->vl);
	for (k = 0; k < p->depth; k++) {
		ia[b->rank - 1] = k;
		ib[b->rank - 2] = k;
		x = grouped_load_element(r, UMA_SLOT_A, s->batch, ia);
		for (j = 0; j < s->n; j++) {
			ib[b->rank - 1] = s->n0 + j;
			c[j] += x * grouped_load_element(r, UMA_SLOT_B, s->batch, ib);
		}
	}
}

/* Complete each row by itself: its bits do not depend on the zero points of its neighbours. */
static void finish_rows(const struct fast_run *r, const struct grouped_strip *s, uint32_t m0,
			uint32_t m, uint8_t *a, float *c)
{
	const struct grouped_plan *p = plan_of(r);
	const uint32_t nb = 2 * p->k->vl;
	uint32_t i, j;

	for (i = 0; i < m; i++, a += p->row, c += nb) {
		const float *scale = meta(p, a, SCALE);

		if (s->wild || wild_row(r, a))
			slowly(r, s, m0 + i, c);
		else
			for (j = 0; p->row_scales && j < nb; j++)
				c[j] *= *scale;
	}
}

static int one_strip(const struct fast_run *r, struct grouped_strip *s, uint32_t m0, uint32_t m)
{
	const struct grouped_plan *p = plan_of(r);
	const struct uma_tensor_view *d = view(r, UMA_SLOT_DST);
	uint8_t *a = row_at(r, s->batch * p->m + m0);
	struct fast_epi_block e = {
		.acc = r->scratch, .ld = 2 * p->k->vl, .m = m, .n = s->n,
	};
	const bool nibbles = p->nibbles && s->n == 2 * p->k->vl;
	const bool few = p->few && s->n % p->k->vl == 0;
	uint32_t g;

	if (few)
		multiply_few(r, s, m, r->scratch);
	else if (nibbles)
		multiply_nibbles(r, s, a, m, r->scratch);
	for (g = 0; g < p->groups && !few && !nibbles; g += p->block)
		if (multiply(r, s, g, UMA_MIN(p->block, p->groups - g), a, m, r->scratch))
			return -1;
	finish_rows(r, s, m0, m, a, r->scratch);
	batch_index(r, s->batch, e.idx);
	e.idx[d->rank - 2] = m0;
	e.idx[d->rank - 1] = s->n0;
	return fast_epi_block(r, &p->epi, &e);
}

static int grouped_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct grouped_plan *p = plan_of(r);
	const uint32_t nb = 2 * p->k->vl;
	const uint32_t m0 = tile % p->mtiles * p->tm, m = UMA_MIN(p->tm, p->m - m0);
	const uint32_t n0 = tile / p->mtiles % p->ntiles * p->nt, end = UMA_MIN(n0 + p->nt, p->n);
	struct grouped_strip s = { .batch = tile / ((uint64_t)p->mtiles * p->ntiles) };
	uint32_t i;

	if (!phase && !p->in_tile)
		return grouped_load_rows(r, tile);
	for (i = 0; p->in_tile && i * GROUPED_ROWS < p->rows; i++)
		if (grouped_load_rows(r, i))
			return -1;
	if (p->few)
		order_rows(r, row_at(r, s.batch * p->m + m0), m);
	batch_index(r, s.batch, s.idx);
	for (s.n0 = n0; s.n0 < end; s.n0 += nb) {
		s.n = UMA_MIN(nb, end - s.n0);
		s.wild = false;
		s.found = false;
		if (one_strip(r, &s, m0, m))
			return -1;
	}
	return 0;
}

/* --- plans ------------------------------------------------------------------------- */

/* Columns of blocks that are contiguous along K, multiplied by bytes. */
static bool choose_blocks(const struct fast_prog *f, struct grouped_plan *p)
{
	const struct uma_tensor_view *a = &f->op->t[UMA_SLOT_A], *b = &f->op->t[UMA_SLOT_B];

	if (!uma_is_block(b->dtype) || (!uma_is_int8(a->dtype) && !f->op->a_group) ||
	    p->depth == 1 ||
	    b->strides[b->rank - 2] != 1)
		return false;
	p->size = 1u << uma_dtype_block(b->dtype).shift;
	p->own = b->dtype == UMA_DTYPE_Q6_K ? 16 : 32;
	p->mins = b->dtype == UMA_DTYPE_Q4_1 || b->dtype == UMA_DTYPE_Q4_K;
	return true;
}

static bool choose(const struct fast_prog *f, struct grouped_plan *p)
{
	const struct uma_tensor_view *a = &f->op->t[UMA_SLOT_A], *b = &f->op->t[UMA_SLOT_B];
	const bool is_signed = uma_wide_dtype(b->dtype) == UMA_DTYPE_S8;
	const bool four = uma_is_int4(b->dtype);
	const int32_t half = four ? 8 : 128;
	bool turn;

	if (!uma_is_int8(b->dtype) && !four && !choose_blocks(f, p))
		return false;
	if (a->dtype == UMA_DTYPE_BF16 && !f->op->a_group) {
		if (!(f->cpu->isa & FAST_BF16) ||
		    (p->m < BF16_ROWS && !fast_reproducible(f)))
			return false;
		p->k = &grouped_bf16;
		turn = !is_signed;
	} else if (!f->op->a_group && (!uma_is_int8(a->dtype) || uma_gemm_integer(f->op))) {
		return false;
	} else if ((f->cpu->isa & FAST_AVX512) && (f->cpu->isa & FAST_VNNI)) {
		p->k = &grouped_vnni;
		turn = is_signed;
		p->a_shift = a->dtype == UMA_DTYPE_U8 ? -128 : 0;
	} else if (f->cpu->isa & FAST_AVX2) {
		p->k = &grouped_avx2;
		turn = four ? is_signed : !is_signed;
	} else {
		return false;
	}
	p->bits = four ? 4 : 8;
	p->mins |= !!b->min_addr;
	if (p->size) {
		const bool flip = p->k == &grouped_vnni && b->dtype == UMA_DTYPE_Q8_0;

		p->flip = flip ? 0x80808080u : 0;
		p->b_shift = flip ? 128 : b->dtype == UMA_DTYPE_Q4_0 ? 8 :
			     b->dtype == UMA_DTYPE_Q6_K ? 32 : 0;
	} else if (turn) {
		p->flip = four ? 0x88888888u : 0x80808080u;
		p->b_shift = is_signed ? half : -half;
	}
	return true;
}

static void cut(const struct fast_prog *f, struct grouped_plan *p, uint64_t batches)
{
	const uint32_t nb = 2 * p->k->vl;
	/* Sums of groups, and what else is read of a row */
	const uint32_t metas = 1u + p->group_scales + p->mins + 2u * p->zeros;
	const uint64_t row = p->meta + (p->bf16 ? 0 : 4ull * p->groups * metas);
	const uint32_t rows = (uint32_t)(TILE_A(f->cpu->l2, p->bf16) / row);
	uint32_t strips = gemm_count(p->n, nb), each;

	p->tm = UMA_MIN(p->m, UMA_MAX(UMA_MIN(TILE_ROWS, rows), p->k->mr));
	p->mtiles = gemm_count(p->m, p->tm);
	p->tm = gemm_count(p->m, p->mtiles);
	each = f->cpu->threads > 1 ? 4 * f->cpu->threads : 1;
	each = gemm_count(each, (uint32_t)UMA_MIN(batches * p->mtiles, 1u << 16));
	/* Limits the delay of more urgent work. */
	strips = UMA_MIN(gemm_count(strips, each), 32u);
	p->nt = f->hint.nt ? UMA_MIN((uint32_t)uma_roundup(f->hint.nt, nb), 1u << 16) : strips * nb;
	p->ntiles = gemm_count(p->n, p->nt);
}

static bool place(struct grouped_plan *p)
{
	const uint32_t nb = 2 * p->k->vl, tables = p->block * nb * 4;
	const uint64_t words = (uint64_t)p->block * words_of(p, p->group) * 4 * nb;
	uint64_t at = 4ull * p->tm * nb;

	p->words_at = (uint32_t)at;
	at += words + 256;
	p->bf16_at = (uint32_t)at;
	at += p->bf16 ? 2 * words : 0;
	p->blocks_at = (uint32_t)at;
	at += p->size || p->along ? 0 : (uint64_t)p->block * p->group * p->bits / 32 * 64;
	p->scale_at = (uint32_t)at;
	p->zero_at = p->scale_at + tables;
	p->sum_at = p->zero_at + tables;
	p->min_at = p->sum_at + tables;
	p->few_at = (uint32_t)uma_roundup(p->min_at + (p->mins ? tables : 0), 64);
	p->a_at = p->few_at;
	if (p->few)
		p->a_at += (uint32_t)uma_roundup(few_bytes(p) * p->groups * p->m, 64);
	return p->a_at <= FAST_SCRATCH;
}

/* May A and B be rounded to bf16 instead of A to bytes? Few rows gain nothing. */
static bool suits_bf16(const struct fast_prog *f, const struct grouped_plan *p)
{
	return f->op->bf16 && p->k == &grouped_vnni && f->cpu->isa & FAST_AMX_BF16 &&
	       p->m >= GROUPED_BF16 && p->depth % p->group == 0 && !fast_reproducible(f);
}

/*
 * Whole tiles along K: with shorter groups of bytes what follows the sums takes as long without.
 * Long groups of bf16 are worth configuring the tiles for each.
 */
static void choose_tiles(struct grouped_plan *p)
{
	const bool floats = p->k == &grouped_bf16;

	p->strips = floats && p->m >= GROUPED_BF16 && p->group >= GROUPED_LONG && !p->mins;
	p->tiles = p->m >= GROUPED_TILE && !p->zeros && p->group % (floats ? 32 : 64) == 0 &&
		   p->depth % p->group == 0;
}

static int prepare(struct fast_prog *f, bool bf16)
{
	const struct uma_tensor_view *a = &f->op->t[UMA_SLOT_A], *b = &f->op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &f->op->t[UMA_SLOT_DST];
	struct grouped_plan *p = (struct grouped_plan *)f->priv;
	uint64_t batches = 1, tiles;
	uint32_t i;

	p->m = d->dims[d->rank - 2];
	p->n = d->dims[d->rank - 1];
	p->depth = a->dims[a->rank - 1];
	if (uma_tensor_empty(d) || !p->depth || !choose(f, p) || b->layout == UMA_LAYOUT_GEMM_B24)
		return 0;
	p->bn = uma_le16(f->cap->block_n);
	if (b->layout == UMA_LAYOUT_STRIDED ? !p->size && !gemm_whole_bytes(b) :
	    uma_le16(f->cap->block_k) * p->bits != 32 || p->bn % 16)
		return 0;
	for (i = 0; i + 2 < d->rank; i++)
		batches *= d->dims[i];
	p->along = b->layout == UMA_LAYOUT_STRIDED && !p->size && p->k->columns &&
		   b->strides[b->rank - 2] == 1 && p->depth % (128 / p->bits) == 0;
	p->even_odd = p->along && p->bits == 4;
	p->group = GROUPED_MAX;
	p->a_group = a->quant == UMA_QUANT_GROUP ? a->quant_group : f->op->a_group;
	if (p->a_group)
		p->group = UMA_MIN(p->group, p->a_group);
	if (b->quant == UMA_QUANT_GROUP)
		p->group = UMA_MIN(p->group, b->quant_group);
	if (p->size)
		p->group = UMA_MIN(p->group, p->own);
	while (p->group > 16 && p->group / 2 >= p->depth)
		p->group /= 2;
	p->groups = gemm_count(p->depth, p->group);
	p->block = UMA_MIN(UMA_MAX(BLOCK_K / p->group, 1u), p->groups);
	p->row_scales = a->quant == UMA_QUANT_CHANNEL;
	p->group_scales = p->a_group;
	p->zeros = p->k != &grouped_bf16 &&
		   (a->zero_addr || b->zero_addr ||
		    (a->quant == UMA_QUANT_TENSOR ? a->zero : 0) + p->a_shift);
	p->meta = (uint32_t)uma_roundup((uma_roundup(p->depth, 8) * 4 / p->k->word), 64);
	/* Rows at a distance of a page would map to the same sets of a cache. */
	p->row = uma_roundup(p->meta + 4ul * METAS * p->groups, 64) | 64;
	p->rows = batches * p->m;
	p->few = p->size && p->m <= GROUPED_FEW && !p->zeros && p->group == p->own &&
		 (uint64_t)few_bytes(p) * p->groups * p->m <= FEW_MAX;
	p->nibbles = p->bits == 4 && b->layout != UMA_LAYOUT_STRIDED && p->k->nibbles[0] &&
		     p->m <= GROUPED_NIBBLES && !p->zeros && !p->mins &&
		     b->quant == UMA_QUANT_GROUP && p->group == b->quant_group &&
		     p->group % 8 == 0 && uma_table_stride(b, b->rank - 1u) == 1;
	if (bf16 && !suits_bf16(f, p))
		return 0;
	p->bf16 = bf16;
	if (bf16) {
		p->zeros = false;
		p->meta = (uint32_t)uma_roundup(2ull * p->depth, 64);
		p->row = p->meta | 64;
	}
	if (p->k == &grouped_bf16 ? f->cpu->isa & FAST_AMX_BF16 && !fast_reproducible(f) :
				    !bf16 && p->k == &grouped_vnni && f->cpu->isa & FAST_AMX_INT8)
		choose_tiles(p);
	p->room = p->rows + 1;
	if (batches > UINT32_MAX ||
	    (p->room * p->row > WORK_MAX && !fast_reproducible(f)))
		return 0;
	cut(f, p, batches);
	tiles = batches * p->mtiles * p->ntiles;
	if (!place(p) || tiles > UINT32_MAX)
		return 0;
	fast_epi_init(&p->epi, f, d->rank - 2u, d->rank - 1u, false);
	p->in_tile = tiles == 1 && p->a_at + p->room * p->row <= FAST_SCRATCH;
	if (!p->in_tile) {
		f->work_bytes = p->room * p->row;
		f->tiles[f->phase_count++] = (uint32_t)uma_divup(p->rows, GROUPED_ROWS);
	}
	f->tiles[f->phase_count++] = (uint32_t)tiles;
	return 1;
}

static int grouped_prepare(struct fast_prog *f)
{
	return prepare(f, false);
}

static int grouped_bf16_prepare(struct fast_prog *f)
{
	return prepare(f, true);
}

const struct fast_class fast_grouped_bf16 = {
	.name = "grouped-bf16",
	.prepare = grouped_bf16_prepare,
	.tile = grouped_tile,
};

const struct fast_class fast_grouped = {
	.name = "grouped",
	.prepare = grouped_prepare,
	.tile = grouped_tile,
};
