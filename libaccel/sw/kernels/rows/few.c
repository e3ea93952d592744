// SPDX-License-Identifier: MIT
/*
 * Products of few rows of floating-point numbers by weights that are not packed: floating-point
 * numbers, blocks, and 4-bit integers along K with group scales.
 *
 * The time is that of reading B, of which each element is used for few rows only: it is read
 * once, in memory order, without rearranging it. A strip of 32 columns, as for larger products,
 * would use two cache lines of each page: 3.4 GFLOP/s for 1x4096x4096 in binary32, while the
 * memory bandwidth allows 20.
 */
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "libaccel/sw/kernels/ends/epilogue.h"
#include "libaccel/sw/kernels/gemm/gemm.h"
#include "few.h"
#include "gemv.h"

/* Minimum number of elements of B; smaller products are dominated by setup */
#define LEAST_B		(4u * 1024u)
/* Bytes of B in a tile, for contiguous columns */
#define TILE_BYTES	(512u * 1024u)
/* Maximum size of the rearranged A */
#define WORK_MAX	(64ull << 20)
/* Elements of A that are converted at a time, whole lines */
#define LINES		512u

/**
 * struct few_plan - a prepared operation
 * @fn: kernel
 * @m: rows of A
 * @n: columns
 * @k: length of the sums
 * @rows: rows of the kernel
 * @tile: columns of a tile
 * @tiles: tiles of a matrix
 * @type: of B
 * @line: number of elements of A that are rearranged as a unit, 0: A is not rearranged
 * @sums: number of sums that follow each line
 * @in_place: A is used without a copy
 * @step: bytes from a row of B to the next, or from a column to the next
 * @b_ns: bytes from a column of B to the next
 * @a_row: bytes of a row of A
 * @epi: epilogue
 */
struct few_plan {
	few_fn fn;
	uint32_t m, n, k;
	uint32_t rows;
	uint32_t tile;
	uint32_t tiles;
	enum few_type type;
	uint32_t line;
	uint32_t sums;
	bool in_place;
	int64_t step;
	int64_t b_ns;
	int64_t a_row;
	struct fast_epi epi;
};

_Static_assert(sizeof(struct few_plan) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static const struct few_plan *plan_of(const struct fast_run *r)
{
	return (const void *)r->prog->priv;
}

/* Bytes of @count elements, whole blocks for types that have blocks. */
static int64_t bytes_of(uint32_t dtype, int64_t count)
{
	const struct uma_dtype_block b = uma_dtype_block(dtype);

	return (count >> b.shift) * b.bytes;
}

/* The matrix of a batch, as bytes. */
static const uint8_t *matrix(const struct fast_run *r, uint32_t slot, const uint32_t *idx)
{
	const struct uma_tensor_view *t = gemv_view(r, slot);

	return (const uint8_t *)fast_ptr(t) + bytes_of(t->dtype, uma_tensor_offset(t, idx));
}

/* --- tiles ------------------------------------------------------------------------- */

/* Write a line of A, with @n elements, in the order of the nibbles. */
static void put_line(const struct few_plan *p, float *to, const float *x, uint32_t n)
{
	const uint32_t vl = p->line / 8, step = p->rows * vl;
	uint32_t lane, i;

	for (lane = 0; lane < vl; lane++) {
		float sum = 0;

		for (i = 0; i < 8; i++) {
			const uint32_t k = p->type == FEW_NIBBLES ? 8 * lane + i :
					   32 * (lane / 4) + 4 * (lane % 4) + i / 2 + 16 * (i & 1);
			const float y = k < n ? x[k] : 0;

			to[i * step + lane] = y;
			sum += y;
		}
		if (p->sums)
			to[8 * step + lane] = sum;
	}
}

/* Convert row @row of A (of all batches) to binary32; rows beyond the last repeat it. */
static int bring_row(const struct fast_run *r, uint32_t row)
{
	const struct few_plan *p = plan_of(r);
	const struct uma_tensor_view *a = gemv_view(r, UMA_SLOT_A);
	float *to = (float *)((char *)r->work + (uint64_t)row * p->a_row), some[LINES];
	const uint32_t i = row % p->rows;
	struct uma_run run = fast_model_run(r);
	uint32_t idx[UMA_MAX_RANK], k, j, n;
	const float *x;

	if (p->line)
		to = (float *)((char *)r->work + (uint64_t)(row - i) * p->a_row) + i * p->line / 8;
	gemv_matrix_index(r, row / p->rows, idx);
	idx[a->rank - 2] = UMA_MIN(i, p->m - 1);
	for (k = 0; k < p->k; k += n) {
		const struct uma_row part = {
			.slot = UMA_SLOT_A,
			.off = uma_tensor_offset(a, idx) + (int64_t)k * a->strides[a->rank - 1],
			.stride = a->strides[a->rank - 1],
			.n = n = UMA_MIN(p->k - k, LINES),
		};

		x = uma_row_f32(&run, &part, r->rows_scratch, some);
		if (!x)
			return -1;
		if (!p->line)
			memcpy(to + k, x, 4ul * n);
		for (j = 0; p->line && j < n; j += p->line, to += p->rows * (p->line + p->sums))
			put_line(p, to, x + j, n - j);
	}
	return 0;
}

/* Description of 4-bit numbers, and their scales from column @idx on. */
static void numbers(const struct fast_run *r, const uint32_t *idx, struct few_call *g)
{
	const struct uma_tensor_view *b = gemv_view(r, UMA_SLOT_B);
	uint32_t at[UMA_MAX_RANK];
	int64_t bytes;

	g->zero = b->dtype == UMA_DTYPE_Q4_0 ? 8 : b->dtype == UMA_DTYPE_Q4_1 ? 0 : (float)b->zero;
	g->is_signed = b->dtype == UMA_DTYPE_S4;
	if (plan_of(r)->type != FEW_NIBBLES)
		return;
	memcpy(at, idx, sizeof(at));
	at[b->rank - 2] = 0;
	g->half = b->scale_dtype == UMA_DTYPE_F16;
	bytes = g->half ? 2 : 4;
	g->scales = (const uint8_t *)(uintptr_t)b->scale_addr +
		    uma_table_index(b, at) * (uint64_t)bytes;
	g->scales_step = uma_table_stride(b, b->rank - 1u) * bytes;
	while (1u << g->group_shift < b->quant_group)
		g->group_shift++;
}

static int few_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct few_plan *p = plan_of(r);
	const struct uma_tensor_view *d = gemv_view(r, UMA_SLOT_DST);
	const uint32_t batch = tile / p->tiles, n0 = tile % p->tiles * p->tile;
	struct fast_epi_block e = { .acc = r->scratch, .ld = p->tile, .m = p->m };
	struct few_call g = {
		.step = p->step, .c = r->scratch, .c_row = p->tile, .k = p->k,
		.n = UMA_MIN(p->tile, p->n - n0),
	};
	const uint8_t *a;
	uint32_t i;

	if (phase + 1 < r->prog->phase_count)
		return bring_row(r, tile);
	gemv_matrix_index(r, batch, e.idx);
	a = p->in_place ? matrix(r, UMA_SLOT_A, e.idx) :
			  (const uint8_t *)r->work + (uint64_t)batch * p->rows * p->a_row;
	for (i = 0; i < p->rows; i++)
		g.a[i] = (const void *)(a + UMA_MIN(i, p->m - 1) * p->a_row);
	g.b = matrix(r, UMA_SLOT_B, e.idx) + n0 * p->b_ns;
	e.idx[d->rank - 1] = n0;
	if (p->line)
		numbers(r, e.idx, &g);
	memset(g.c, 0, 4ul * p->rows * p->tile);
	p->fn(&g);
	e.n = g.n;
	return fast_epi_block(r, &p->epi, &e);
}

/* --- plans ------------------------------------------------------------------------- */

static const struct few_kernels *kernels_of(uint32_t isa)
{
#if defined(__x86_64__)
	return isa & FAST_AVX512 ? &few_avx512 : isa & FAST_AVX2 ? &few_avx2 : NULL;
#else
	(void)isa;
	return NULL;
#endif
}

static int type_of(uint32_t dtype)
{
	switch (dtype) {
	case UMA_DTYPE_F32:
		return FEW_F32;
	case UMA_DTYPE_BF16:
		return FEW_BF16;
	case UMA_DTYPE_F16:
		return FEW_F16;
	case UMA_DTYPE_S4:
	case UMA_DTYPE_U4:
		return FEW_NIBBLES;
	case UMA_DTYPE_Q8_0:
		return FEW_Q8_0;
	case UMA_DTYPE_Q4_0:
		return FEW_Q4_0;
	case UMA_DTYPE_Q4_1:
		return FEW_Q4_1;
	case UMA_DTYPE_Q4_K:
		return FEW_Q4_K;
	case UMA_DTYPE_Q6_K:
		return FEW_Q6_K;
	default:
		return -1;
	}
}

/*
 * Columns of a tile: several tiles for each thread; sums fit in the first-level cache, dot
 * products have a minimum total length.
 */
static void cut(const struct fast_prog *f, struct few_plan *p, enum few_order order, uint64_t bytes)
{
	uint64_t tile = order == FEW_N ? UMA_ROW_MAX : TILE_BYTES / bytes + 1;

	if (f->cpu->threads > 1)
		tile = UMA_MIN(tile, p->n / (4 * f->cpu->threads) + 1);
	if (f->hint.nt)
		tile = f->hint.nt;
	tile = uma_roundup(UMA_MIN(tile, p->n), 16);
	/* A tile must have at least several cache lines of a row. */
	p->tile = (uint32_t)UMA_MIN(UMA_MAX(tile, order == FEW_N ? 128u : 16u), UMA_ROW_MAX);
	p->tiles = (uint32_t)uma_divup(p->n, p->tile);
}

/* 4-bit integers: whole bytes, and scales of groups that are contiguous along K. */
static bool has_scales_along(const struct uma_tensor_view *b)
{
	return gemm_whole_bytes(b) && !(b->strides[b->rank - 1] & 1) &&
	       b->quant == UMA_QUANT_GROUP && !b->zero_addr && !b->min_addr &&
	       uma_table_stride(b, b->rank - 2u) == 1;
}

static int few_prepare(struct fast_prog *f)
{
	const struct uma_tensor_view *a = &f->op->t[UMA_SLOT_A], *b = &f->op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &f->op->t[UMA_SLOT_DST];
	const struct few_kernels *kernels = kernels_of(f->cpu->isa);
	struct few_plan *p = (struct few_plan *)f->priv;
	const int type = type_of(b->dtype);
	uint64_t batches = 1;
	enum few_order order;
	int64_t ks, ns;
	uint32_t i;

	p->m = d->dims[d->rank - 2];
	p->n = d->dims[d->rank - 1];
	p->k = a->dims[a->rank - 1];
	ks = b->strides[b->rank - 2];
	ns = b->strides[b->rank - 1];
	if (fast_reproducible(f))
		return 0;
	if (!kernels || type < 0 || b->layout != UMA_LAYOUT_STRIDED || !uma_is_float(a->dtype) ||
	    uma_tensor_empty(d) || p->m > FEW_ROWS || (uint64_t)p->k * p->n < LEAST_B ||
	    (ks != 1 && (ns != 1 || type >= FEW_NIBBLES)) || (type >= FEW_NIBBLES && p->k == 1) ||
	    (type == FEW_NIBBLES && !has_scales_along(b)))
		return 0;
	for (i = 0; i + 2 < d->rank; i++)
		batches *= d->dims[i];
	order = ks == 1 ? FEW_K : FEW_N;
	p->step = bytes_of(b->dtype, order == FEW_K ? ns : ks);
	p->b_ns = order == FEW_K ? p->step : bytes_of(b->dtype, ns);
	for (i = 0; 1u << i < p->m; i++)
		;
	p->rows = 1u << i;
	p->fn = kernels->fn[type][order][i];
	p->type = (enum few_type)type;
	p->line = few_is_lines(p->type) ? 8 * kernels->vl : 0;
	p->sums = type == FEW_Q4_1 ? kernels->vl : 0;
	p->in_place = a->dtype == UMA_DTYPE_F32 && a->strides[a->rank - 1] == 1 && !p->line;
	p->a_row = p->in_place ? fast_bytes(a->dtype, a->strides[a->rank - 2]) :
		   p->line ? (int64_t)(4 * uma_divup(p->k, p->line) * (p->line + p->sums)) :
		   4ll * p->k;
	cut(f, p, order, (uint64_t)bytes_of(b->dtype, p->k));
	if (batches * p->tiles > UINT32_MAX || batches * p->rows > UINT32_MAX)
		return 0;
	fast_epi_init(&p->epi, f, d->rank - 2u, d->rank - 1u, false);
	if (!p->in_place) {
		f->work_bytes = batches * p->rows * (uint64_t)p->a_row;
		if (f->work_bytes > WORK_MAX)
			return 0;
		f->tiles[f->phase_count++] = (uint32_t)(batches * p->rows);
	}
	f->tiles[f->phase_count++] = (uint32_t)(batches * p->tiles);
	return 1;
}

static uint32_t few_candidates(const struct fast_prog *f, struct fast_hint *out, uint32_t max)
{
	const struct few_plan *p = (const void *)f->priv;
	uint32_t n = 0, nt;

	for (nt = 32; nt < p->n && nt <= UMA_ROW_MAX && n < max; nt *= 2)
		out[n++] = (struct fast_hint){ .nt = (uint16_t)nt };
	return n;
}

const struct fast_class fast_few = {
	.name = "few",
	.prepare = few_prepare,
	.tile = few_tile,
	.candidates = few_candidates,
};
