// SPDX-License-Identifier: MIT
/*
 * Products with few rows.
 *
 * What takes time here is bringing in B, so B is read once, panel after panel, and
 * each of its vectors meets all rows while it is in registers. With more rows than
 * a kernel has room for, a stretch of K of a few vectors stays in the first-level
 * cache while block after block of rows passes over it; meanwhile the stretch
 * behind it is fetched, so that the memory works all the time too.
 *
 * Weights of 8 and 4 bits meet binary32 activations as exact numbers q - zero; the
 * sum over a group is multiplied by its scale, and its minimum by the sum of A's
 * group. Bytes by bytes are summed as unsigned by signed, with the highest bit of B
 * turned over where that is needed, which moves B's zero point. The sums of B's
 * columns that a zero point of A asks for are those of a row of ones.
 */
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "libaccel/sw/kernels/gemm/gemm.h"
#include "gemv.h"

/* Rows from which on tiles of both operands are the better way */
#define MAX_ROWS	32u
/* Of B for a tile, and at least for each thread */
#define TILE_BYTES	(512u * 1024u)
#define THREAD_BYTES	(32u * 1024u)
/* Most memory for A */
#define WORK_MAX	(64ull << 20)
/* Longest sums of u8 by u8 with zero points that s32 holds */
#define K_EXACT		33025u
/* Bytes of B between a step and what is fetched meanwhile */
#define AHEAD		4096u
#define AHEAD_ONE	8192u

/* --- products -------------------------------------------------------------------- */

/**
 * struct gemv_tile - the tile at hand
 * @batch: matrix
 * @n0: first column
 * @n: columns
 * @a: rows of A in their form
 * @b: B's matrix
 * @panel: bytes of a panel
 * @c: sums
 * @scales: of the first column
 * @zeros: of the first column
 * @mins: likewise
 * @scale_row: distance of groups there, in entries
 * @half_scales: scales are binary16
 * @table: values of 4-bit numbers
 */
struct gemv_tile {
	uint32_t batch;
	uint32_t n0;
	uint32_t n;
	const uint8_t *a;
	const uint8_t *b;
	size_t panel;
	uint32_t *c;
	const uint8_t *scales;
	const int32_t *zeros;
	const uint8_t *mins;
	size_t scale_row;
	bool half_scales;
	float table[16];
};

static const uint8_t *vector_at(const struct gemv_plan *p, const struct gemv_tile *t, uint32_t col)
{
	return t->b + (col / p->bn) * t->panel + (col % p->bn) * 4ul;
}

/*
 * Vectors of columns at once: one row reads B as it lies, but for the nibbles, which
 * want all that can be done at once (1.8 ns instead of 2 for a line from the
 * second-level cache, with groups of 32); of others as many as there is room for, or,
 * where all of B comes from memory, no more streams than two.
 */
static uint32_t vectors(const struct gemv_plan *p)
{
	uint32_t first;
	const uint32_t mr = gemv_block_rows(p, 0, &first);

	if (p->rows == 1)
		return p->bn == 2u * p->set->vl || p->kind == GEMV_W4 ? 2 : 1;
	if (p->blocks == 1 && p->set->panel[mr - 1])
		return 2;
	return p->set->wide[mr - 1];
}

static gemv_fn kernel(const struct gemv_plan *p, uint32_t mr, uint32_t nv)
{
	if (nv == 1)
		return p->set->fn[mr - 1][0];
	return nv == p->set->wide[mr - 1] ? p->set->fn[mr - 1][1] : p->set->panel[mr - 1];
}

/*
 * Where the vectors of a call lie in panels behind each other, what follows the first
 * one's end is being read as the second: what is read next lies that much further.
 */
static size_t beyond(const struct gemv_plan *p, const struct gemv_tile *t, uint32_t nv)
{
	const uint32_t cols = nv * p->set->vl;

	return cols > p->bn && cols % p->bn == 0 ? (cols / p->bn - 1) * t->panel : 0;
}

/* The first step, of a group too, from which on what lies @ahead is behind the end of B. */
static uint32_t last_steps(const struct gemv_plan *p, size_t ahead)
{
	const uint32_t steps = (uint32_t)(ahead / (p->bn * 4ul));
	const uint32_t first = p->steps > steps ? p->steps - steps : 0;

	return p->groups > 1 ? first - first % p->group_steps : first;
}

/* Columns @col .. of the tile, @nv vectors, all rows and all of K. */
static void columns(const struct fast_run *r, const struct gemv_tile *t, uint32_t col,
		    uint32_t nv)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	const uint32_t unit = gemv_a_bytes(p->kind, p->bk);
	const size_t step = p->bn * 4ul, ahead = p->rows > 1 ? AHEAD : AHEAD_ONE;
	const size_t far = beyond(p, t, nv);
	const uint32_t last = far ? last_steps(p, ahead) : p->steps;
	/* With so little to do for a line the processor is far enough ahead by itself. */
	const bool fetch = p->rows > 1 || p->kind != GEMV_F32;
	uint32_t s, block, first, v, mr;
	struct gemv_call g = {
		.b_step = step,
		.group_steps = p->group_steps,
		.flip = p->flip,
		.is_signed = uma_wide_dtype(gemv_view(r, UMA_SLOT_B)->dtype) == UMA_DTYPE_S8,
		.c_row = p->tile,
		.table = t->table,
		.zero = p->has_zeros ? 0 : (float)gemv_view(r, UMA_SLOT_B)->zero,
		.scale_row = t->scale_row,
		.half_scales = t->half_scales,
	};

	for (s = 0; s < p->steps; s += g.steps) {
		const size_t entry = (p->groups > 1 ? s / p->group_steps : 0) * t->scale_row + col;

		if (p->blocks > 1)
			g.steps = UMA_MIN(p->kc, p->steps - s);
		else
			g.steps = (s < last ? last : p->steps) - s;
		g.accumulate = s != 0;
		if (p->groups) {
			g.scales = t->scales + entry * (t->half_scales ? 2 : 4);
			g.zeros = p->has_zeros ? t->zeros + entry : NULL;
		}
		for (v = 0; v < nv; v++)
			g.b[v] = vector_at(p, t, t->n0 + col + v * p->set->vl) + s * step;
		for (block = 0; block < p->blocks; block++) {
			mr = gemv_block_rows(p, block, &first);
			g.a = t->a + ((size_t)first * p->steps + (size_t)s * mr) * unit;
			g.c = t->c + (size_t)first * p->tile + col;
			g.ahead_count = 0;
			/* Each block of rows fetches its share of the next stretch. */
			for (v = p->blocks == 1 ? 0 : block; v < nv && fetch; v += p->blocks)
				g.ahead[g.ahead_count++] = g.b[v] +
					(p->blocks > 1 ? g.steps * step :
					 ahead + (s < last ? 0 : far));
			kernel(p, mr, nv)(&g);
		}
	}
}

/*
 * Zero points into the sums: sum (a - za)(b - zb) = sum a b - za sum b - zb (sum a -
 * k za), modulo 2^32. B is what has been multiplied, so zb has the bit that was
 * turned over.
 */
static int zero_points(const struct fast_run *r, const struct gemv_tile *t, const int32_t *sums,
		       int32_t *row_add, int32_t *col_add)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	const struct uma_tensor_view *a = gemv_view(r, UMA_SLOT_A), *b = gemv_view(r, UMA_SLOT_B);
	const uint32_t *of_ones = t->c + (size_t)p->m * p->tile;
	struct uma_rowbuf *buf = r->rows_scratch;
	struct uma_run run = fast_model_run(r);
	uint32_t idx[UMA_MAX_RANK] = { 0 }, i, j, n;

	for (i = 0; i < p->m; i++)
		row_add[i] = (int32_t)(0u - (uint32_t)(b->zero + p->zero) *
				       ((uint32_t)sums[i] - p->k * (uint32_t)a->zero));
	for (j = 0; j < t->n; j++)
		col_add[j] = a->zero ? (int32_t)(0u - (uint32_t)a->zero * of_ones[j]) : 0;
	if (!b->zero_addr)
		return 0;
	/* A zero point for each column: it meets the sums of all rows. */
	for (j = 0; j < t->n; j += n) {
		struct uma_row row = {
			.slot = UMA_SLOT_B,
			.n = n = UMA_MIN(t->n - j, UMA_ROW_MAX),
			.idx = idx,
			.axis = b->rank - 1u,
		};

		idx[b->rank - 1] = t->n0 + j;
		if (uma_table_row(&run, &row, buf))
			return -1;
		for (i = 0; i < p->m; i++) {
			const uint32_t sum = (uint32_t)sums[i] - p->k * (uint32_t)a->zero;
			uint32_t *c = t->c + (size_t)i * p->tile + j, z;

			for (z = 0; z < n; z++)
				c[z] -= (uint32_t)buf->zero[z] * sum;
		}
	}
	return 0;
}

static int finish(const struct fast_run *r, const struct gemv_tile *t, const int32_t *sums)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	const struct uma_tensor_view *d = gemv_view(r, UMA_SLOT_DST);
	int32_t row_add[MAX_ROWS], col_add[UMA_ROW_MAX];
	float scale[UMA_ROW_MAX];
	struct fast_epi_block e = {
		.acc = t->c,
		.ld = p->tile,
		.m = p->m,
		.n = t->n,
	};

	gemv_matrix_index(r, t->batch, e.idx);
	e.idx[d->rank - 1] = t->n0;
	if (p->kind >= GEMV_I8) {
		if (zero_points(r, t, sums, row_add, col_add))
			return -1;
		e.row_add = row_add;
		e.col_add = col_add;
		if (!p->epi.exact) {
			e.scale_ns = fast_epi_by_channel(r->prog);
			fast_epi_scales(r->prog, t->n0, e.scale_ns ? t->n : 1, scale);
			e.scale = scale;
		}
	}
	return fast_epi_block(r, &p->epi, &e);
}

/* Scales and zero points of the tile's columns: whole vectors, or a copy of them. */
static int tables(const struct fast_run *r, struct gemv_tile *t)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	const struct uma_tensor_view *b = gemv_view(r, UMA_SLOT_B);
	const uint8_t *scratch = r->scratch;
	uint32_t idx[UMA_MAX_RANK];
	uint64_t first;

	if (!p->tables_in_place || t->n % p->set->vl) {
		t->scales = scratch + p->scales_at;
		t->zeros = (const int32_t *)(scratch + p->zeros_at);
		t->mins = scratch + p->zeros_at;
		t->scale_row = p->tile;
		return gemv_bring_tables(r, t->batch, t->n0, t->n);
	}
	gemv_matrix_index(r, t->batch, idx);
	idx[b->rank - 1] = t->n0;
	first = uma_table_index(b, idx);
	t->half_scales = b->scale_dtype == UMA_DTYPE_F16;
	t->scales = (const uint8_t *)(uintptr_t)b->scale_addr + first * (t->half_scales ? 2 : 4);
	t->zeros = (const int32_t *)(uintptr_t)b->zero_addr + (b->zero_addr ? first : 0);
	t->mins = (const uint8_t *)(uintptr_t)b->min_addr + first * (t->half_scales ? 2 : 4);
	t->scale_row = (size_t)uma_table_stride(b, b->rank - 2u);
	return 0;
}

/* The sum of group @g of row @i of a block of @rows rows in their form. */
static float group_sum(const struct gemv_plan *p, const uint8_t *a, uint32_t rows, uint32_t i,
		       uint32_t g)
{
	const uint32_t end = UMA_MIN((g + 1) * p->group_steps, p->steps);
	float sum[4] = { 0 };
	uint32_t s, j;

	for (s = g * p->group_steps; s < end; s++) {
		const float *x = (const float *)a + ((size_t)s * rows + i) * p->bk;

		for (j = 0; j < p->bk; j++)
			sum[j % 4] += x[j];
	}
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Minima of groups of columns, times the sums of A's groups. */
static void add_minima(const struct fast_run *r, const struct gemv_tile *t)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	const struct uma_kernels *rows = r->prog->rows;
	uint32_t g, block, first, i, mr, bits;
	float wide[UMA_ROW_MAX], sum;

	for (g = 0; g < p->groups; g++) {
		const size_t at = g * t->scale_row * (t->half_scales ? 2 : 4);
		const float *min = (const void *)(t->mins + at);

		if (t->half_scales) {
			rows->to_f32[UMA_DTYPE_F16](wide, t->mins + at, t->n);
			min = wide;
		}
		for (block = 0; block < p->blocks; block++) {
			mr = gemv_block_rows(p, block, &first);
			for (i = 0; i < mr; i++) {
				sum = group_sum(p, t->a + (size_t)first * p->steps *
						gemv_a_bytes(p->kind, p->bk), mr, i, g);
				memcpy(&bits, &sum, sizeof(bits));
				rows->axpy((float *)t->c + (size_t)(first + i) * p->tile, bits,
					   min, t->n);
			}
		}
	}
}

static int products(const struct fast_run *r, uint32_t tile)
{
	const struct gemv_plan *p = gemv_plan_of(r);
	const struct uma_tensor_view *b = gemv_view(r, UMA_SLOT_B);
	struct gemv_tile t = {
		.batch = tile / p->tiles,
		.n0 = tile % p->tiles * p->tile,
		.c = r->scratch,
	};
	const uint32_t wide = vectors(p);
	uint32_t col, i;
	int32_t in_place_sum;
	uint8_t *a;

	t.n = UMA_MIN(p->tile, p->n - t.n0);
	t.b = (const uint8_t *)(uintptr_t)uma_packed_addr(b, r->prog->cap, t.batch, 0, 0);
	t.panel = p->steps * p->bn * 4ul;
	if (p->in_place) {
		uint32_t idx[UMA_MAX_RANK];

		gemv_matrix_index(r, t.batch, idx);
		a = (uint8_t *)fast_ptr(gemv_view(r, UMA_SLOT_A)) +
		    fast_bytes(gemv_view(r, UMA_SLOT_A)->dtype,
			       uma_tensor_offset(gemv_view(r, UMA_SLOT_A), idx));
		in_place_sum = p->kind >= GEMV_I8 ? gemv_sum_of(r, a, p->k) : 0;
	} else if (p->in_tile) {
		a = (uint8_t *)r->scratch + p->a_at;
		for (i = 0; i < p->blocks; i++)
			if (gemv_bring_a(r, t.batch, i, a))
				return -1;
	} else {
		a = (uint8_t *)r->work + t.batch * p->a_size;
	}
	t.a = a;
	for (i = 0; i < 16; i++)
		t.table[i] = (float)(b->dtype == UMA_DTYPE_S4 && i > 7 ? (int)i - 16 : (int)i) -
			     (p->has_zeros ? 0 : (float)b->zero);
	if (p->groups && tables(r, &t))
		return -1;
	for (col = 0; col < t.n;) {
		const uint32_t left = (uint32_t)uma_divup(t.n - col, p->set->vl);
		const uint32_t nv = left >= wide ? wide : 1;

		columns(r, &t, col, nv);
		col += nv * p->set->vl;
	}
	if (p->has_mins)
		add_minima(r, &t);
	return finish(r, &t, p->in_place ? &in_place_sum : gemv_sums(p, a));
}

static int gemv_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct uma_tensor_view *b = gemv_view(r, UMA_SLOT_B);
	const struct gemv_plan *p = gemv_plan_of(r);

	if (phase + 1 < r->prog->phase_count) {
		uint8_t *a = (uint8_t *)r->work + tile / p->blocks * p->a_size;

		return gemv_bring_a(r, tile / p->blocks, tile % p->blocks, a);
	}
	if (p->kind >= GEMV_I8 && b->zero_addr && !fast_zeros_near(b, p->n))
		return tile ? 0 : fast_whole_model(r);
	return products(r, tile);
}

/* --- plans ----------------------------------------------------------------------- */

static const struct gemv_set *find_set(enum gemv_kind kind, uint32_t isa)
{
#if defined(__x86_64__)
	const struct gemv_set *set = NULL;

	if (!(isa & FAST_AVX512))
		return isa & FAST_AVX2 ? gemv_avx2[kind] : NULL;
	if (isa & FAST_VNNI)
		set = gemv_vnni[kind];
	if (!set && isa & FAST_BF16)
		set = gemv_bf16[kind];
	return set ? set : gemv_avx512[kind];
#else
	(void)kind;
	(void)isa;
	return NULL;
#endif
}

/* Rows for blocks that all take as many columns at once; those beyond are not used. */
static uint32_t even_rows(const struct gemv_set *set, uint32_t rows, uint32_t blocks)
{
	const uint32_t more = (uint32_t)uma_divup(rows, blocks);

	if (rows % blocks && set->wide[more - 1] != set->wide[more - 2])
		return more * blocks;
	return rows;
}

/* What is multiplied, and with which kernels. */
static int choose_kind(const struct fast_prog *f, struct gemv_plan *p)
{
	const struct uma_tensor_view *a = &f->op->t[UMA_SLOT_A], *b = &f->op->t[UMA_SLOT_B];
	const bool four = uma_is_int4(b->dtype);
	const uint32_t flip = four ? 0x88888888u : 0x80808080u;

	if (uma_is_int8(a->dtype)) {
		const bool b_signed = uma_wide_dtype(b->dtype) == UMA_DTYPE_S8;
		bool turn;

		if (!(f->cpu->isa & FAST_AVX512) || !(f->cpu->isa & FAST_VNNI)) {
			/* 8 bits count as signed, 4 as unsigned. */
			p->kind = four ? GEMV_I4_MADD : GEMV_I8_MADD;
			turn = four ? b_signed : !b_signed;
		} else if (a->dtype == UMA_DTYPE_S8) {
			p->kind = four ? GEMV_I4 : GEMV_I8;
			turn = b_signed;
		} else {
			p->kind = four ? GEMV_I4_U : GEMV_I8_U;
			turn = four ? b_signed : !b_signed;
		}
		if (turn) {
			p->flip = flip;
			p->zero = b_signed ? four ? 8 : 128 : -128;
		}
	} else if (four) {
		p->kind = p->has_zeros ? GEMV_W4_ZERO : GEMV_W4;
	} else if (uma_is_int8(b->dtype)) {
		p->kind = p->has_zeros ? GEMV_W8_ZERO : GEMV_W8;
	} else if (b->dtype == UMA_DTYPE_BF16) {
		/* With one row exact products cost nothing. */
		p->kind = f->cpu->isa & FAST_BF16 && a->dtype == UMA_DTYPE_BF16 && p->m > 1 ?
			  GEMV_BF16_DOT : GEMV_BF16;
	} else {
		p->kind = b->dtype == UMA_DTYPE_F16 ? GEMV_F16 : GEMV_F32;
	}
	p->set = find_set(p->kind, f->cpu->isa);
	return p->set && p->bn % p->set->vl == 0;
}

/* Bytes of B's columns and of all of B */
static uint64_t column_bytes(const struct gemv_plan *p)
{
	return 4ull * p->steps;
}

static uint32_t clamp_u32(uint64_t x, uint32_t lo, uint32_t hi)
{
	return x < lo ? lo : x > hi ? hi : (uint32_t)x;
}

/*
 * Columns of which tiles are made: whole panels, and as many as kernels take at once.
 * Those that remain are summed in another order: which they are must follow from the
 * shape, not from how many threads there are tiles for.
 */
static uint32_t tile_unit(const struct gemv_plan *p)
{
	const uint32_t at_once = vectors(p) * p->set->vl;
	uint32_t unit = p->bn;

	while (unit % at_once)
		unit += p->bn;
	return unit;
}

/* Columns of a tile, and where everything lies in scratch memory. */
static int plan_tile(const struct fast_prog *f, struct gemv_plan *p)
{
	const bool second = p->has_zeros || p->has_mins;
	const uint64_t tables = 4ull * p->groups * (1 + second);
	const uint64_t a = p->in_tile ? p->a_size : 0;
	const uint32_t unit = tile_unit(p);
	uint64_t most, want;

	if (a + 4096 > FAST_SCRATCH)
		return 0;
	most = (FAST_SCRATCH - a - 4096) / (4ull * p->rows + tables) / p->bn * p->bn;
	most = UMA_MIN(most, UMA_ROW_MAX);
	if (!most)
		return 0;
	if (most >= unit)
		most -= most % unit;
	want = TILE_BYTES / column_bytes(p);
	if (f->cpu->threads > 1)
		want = UMA_MIN(want, p->n / (2 * f->cpu->threads));
	if (f->hint.nt)
		want = f->hint.nt;
	want = uma_roundup(clamp_u32(want, unit, UMA_ROW_MAX), unit);
	p->tile = (uint32_t)UMA_MIN(UMA_MIN(want, most), uma_roundup(p->n, p->bn));
	p->tiles = (uint32_t)uma_divup(p->n, p->tile);
	p->scales_at = (uint32_t)uma_roundup(4ull * p->rows * p->tile, 64);
	p->zeros_at = (uint32_t)uma_roundup(p->scales_at + 4ull * p->groups * p->tile, 64);
	p->a_at = (uint32_t)uma_roundup(p->zeros_at + 4ull * second * p->groups * p->tile, 64);
	return p->a_at + a <= FAST_SCRATCH;
}

static void plan_groups(const struct fast_prog *f, struct gemv_plan *p)
{
	const struct uma_tensor_view *b = &f->op->t[UMA_SLOT_B];

	p->group_steps = p->steps;
	if (uma_is_float(b->dtype) || uma_is_int8(f->op->t[UMA_SLOT_A].dtype))
		return;
	p->groups = 1;
	p->has_zeros = !!b->zero_addr;
	p->has_mins = !!b->min_addr;
	if (b->quant == UMA_QUANT_GROUP) {
		p->groups = (uint32_t)uma_divup(p->k, b->quant_group);
		p->group_steps = b->quant_group / p->bk;
		p->tables_in_place = uma_table_stride(b, b->rank - 1u) == 1;
	}
}

/* Steps of a stretch of K: a few vectors of it in a part of the first-level cache. */
static uint32_t plan_stretch(const struct fast_prog *f, const struct gemv_plan *p)
{
	uint64_t kc = f->cpu->l1d / 3 / (4ull * p->set->vl * p->set->wide[p->set->mr - 1]);

	if (f->hint.kt)
		kc = f->hint.kt / p->bk;
	kc = clamp_u32(kc, 16, p->steps);
	/* Whole groups, or parts of one. */
	if (p->groups > 1 && kc > p->group_steps)
		kc -= kc % p->group_steps;
	else if (p->groups > 1)
		kc = p->group_steps;
	return (uint32_t)kc;
}

static bool is_in_place(const struct fast_prog *f, const struct gemv_plan *p)
{
	const struct uma_tensor_view *a = &f->op->t[UMA_SLOT_A];
	const bool same = a->dtype == UMA_DTYPE_F32 || (p->kind >= GEMV_I8 && p->kind <= GEMV_I4_U);

	return p->rows == 1 && same && a->strides[a->rank - 1] == 1 && p->k % p->bk == 0;
}

/* Does class gemm take it, and have enough rows to look ahead meanwhile? */
static bool better_as_gemm(const struct fast_prog *f, const struct gemv_plan *p)
{
	const struct uma_tensor_view *b = &f->op->t[UMA_SLOT_B];

	if (p->m <= GEMM_AHEAD_ROWS || (p->bn != 16 && p->bn % FAST_GEMM_N))
		return false;
	if (p->kind == GEMV_I8 || p->kind == GEMV_I8_U)
		return !b->zero_addr;
	return p->kind == GEMV_BF16_DOT;
}

static int gemv_prepare(struct fast_prog *f)
{
	const struct uma_op *op = f->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	struct gemv_plan *p = (struct gemv_plan *)f->priv;
	uint64_t batches = 1, bytes;
	uint32_t i;

	p->m = d->dims[d->rank - 2];
	p->n = d->dims[d->rank - 1];
	p->k = a->dims[a->rank - 1];
	if (b->layout != UMA_LAYOUT_GEMM_B || uma_tensor_empty(d) || !p->k || p->m > MAX_ROWS ||
	    (uma_is_int8(a->dtype) && !uma_gemm_integer(op) && !fast_epi_rows(op)))
		return 0;
	p->bk = uma_le16(f->cap->block_k);
	p->bn = uma_le16(f->cap->block_n);
	/* A vector is as many words of B as it has columns. */
	if (p->bk * uma_dtype_bits(b->dtype) != 32)
		return 0;
	for (i = 0; i + 2 < d->rank; i++)
		batches *= d->dims[i];
	p->steps = (uint32_t)uma_divup(p->k, p->bk);
	plan_groups(f, p);
	if (!choose_kind(f, p))
		return 0;
	/* Sums of integers are the same in any order. */
	if (p->kind < GEMV_I8 && fast_reproducible(f))
		return 0;
	if (p->kind >= GEMV_I8 && p->k > K_EXACT)
		return 0;
	if (better_as_gemm(f, p))
		return 0;
	p->rows = p->m + (p->kind >= GEMV_I8 && a->zero);
	/* B that stays in the caches is as well off in strips. */
	bytes = batches * p->n * column_bytes(p);
	if (p->rows > p->set->mr && bytes <= f->cpu->l2 / 2)
		return 0;
	p->blocks = (uint32_t)uma_divup(p->rows, p->set->mr);
	p->rows = even_rows(p->set, p->rows, p->blocks);
	p->kc = plan_stretch(f, p);
	p->in_place = is_in_place(f, p);
	p->in_tile = !p->in_place && p->rows == 1;
	p->a_size = uma_roundup((uint64_t)p->rows * p->steps * gemv_a_bytes(p->kind, p->bk), 64) +
		    uma_roundup(4ul * p->rows, 64);
	if (!plan_tile(f, p) || batches * p->a_size > WORK_MAX ||
	    batches * UMA_MAX(p->tiles, p->blocks) > UINT32_MAX)
		return 0;
	fast_epi_init(&p->epi, f, d->rank - 2u, d->rank - 1u, p->kind >= GEMV_I8);
	if (!p->in_place && !p->in_tile) {
		f->tiles[f->phase_count++] = (uint32_t)batches * p->blocks;
		f->work_bytes = batches * p->a_size;
	}
	f->tiles[f->phase_count++] = (uint32_t)batches * p->tiles;
	bytes *= p->blocks;
	f->max_threads = clamp_u32(bytes / THREAD_BYTES, 1, UINT32_MAX);
	return 1;
}

static uint32_t gemv_candidates(const struct fast_prog *f, struct fast_hint *out, uint32_t max)
{
	const struct gemv_plan *p = (const void *)f->priv;
	uint32_t i, n = 0;

	for (i = 2; i <= 16 && n < max; i *= 2)
		if (i * p->bn < p->n && i * p->bn <= UINT16_MAX)
			out[n++] = (struct fast_hint){ .nt = (uint16_t)(i * p->bn) };
	for (i = 32; i < p->steps && i <= 512 && n < max; i *= 2)
		out[n++] = (struct fast_hint){ .kt = (uint16_t)(i * p->bk) };
	return n;
}

const struct fast_class fast_gemv = {
	.name = "gemv",
	.prepare = gemv_prepare,
	.tile = gemv_tile,
	.candidates = gemv_candidates,
};
