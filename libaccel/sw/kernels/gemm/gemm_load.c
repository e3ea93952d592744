// SPDX-License-Identifier: MIT
/* GEMM: selects kernels by types, and provides B for them. */
#include <string.h>
#include "gemm.h"
#include "gemm_isa.h"
#include "pack.h"

#if defined(__x86_64__)
#define unpack_for(isa) \
	((isa) & FAST_AVX512 ? fast_gemm_unpack_avx512 : fast_gemm_unpack_avx2)
#define nibbles_for(isa) \
	((isa) & FAST_AVX512 ? fast_gemm_nibbles_avx512 : fast_gemm_nibbles_avx2)
#define pack_words		fast_pack_words_avx2
#else
#define unpack_for(isa)		((void)(isa), fast_gemm_unpack_portable)
/* can_unpack() never returns true. */
#define nibbles_for(isa)	((void)(isa), (fast_gemm_nibbles_fn)NULL)
#define pack_words(from, k, steps, n, panels, out, step, panel) ((void)(from), (void)(out))
#endif

/* Bytes of a strip of packed B that are copied to apply @flip, and the minimum rows for that */
#define KEPT_STRIP	(128u * 1024u)
#define KEPT_ROWS	28u
/* Rows that are packed at a time; whole groups of any kernel */
#define PACK_ROWS	64u
/*
 * Rows of small weights that become blocks at a time: a multiple of every group, or a part of
 * one
 */
#define BLOCK_ROWS	512u

/* Rows of blocks that are decoded at a time: one block of the largest type */
#define DECODE_ROWS	256u

/* Largest magnitude of a byte minus its zero point. */
static uint64_t reach(const struct uma_tensor_view *t, int64_t zero)
{
	const uint32_t wide = uma_wide_dtype(t->dtype);
	const int64_t lo = wide == UMA_DTYPE_S8 ? -128 : 0, hi = lo + 255;

	return (uint64_t)UMA_MAX(hi - zero, zero - lo);
}

/* AMX needs time for its configuration. */
static bool pays(const struct gemm_plan *g, const struct fast_prog *p)
{
	return !(p->cpu->isa & FAST_AMX_INT8) || (uint64_t)g->m * g->k >= 4096;
}

/* Choose the kernel for bytes, with the corrections for zero points and signedness. */
static int plan_bytes(struct gemm_plan *g, const struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A], *b = &p->op->t[UMA_SLOT_B];
	const int64_t za = a->quant ? a->zero : 0, zb = b->quant == UMA_QUANT_TENSOR ? b->zero : 0;
	const bool is_signed = a->dtype == UMA_DTYPE_S8;
	const bool equal = (uma_wide_dtype(b->dtype) == UMA_DTYPE_S8) == is_signed;
	/*
	 * 16-bit words in wide registers are faster than bytes in narrow ones, unless B is
	 * packed.
	 */
	const bool words = (p->cpu->isa & (FAST_AVX512 | FAST_VNNI)) == FAST_AVX512 &&
			   b->layout == UMA_LAYOUT_STRIDED && !uma_is_int4(b->dtype);

	/*
	 * All sums must fit in 32 bits; zero points of columns must be in the range of bytes,
	 * or the model runs the operation.
	 */
	g->zeros = b->quant == UMA_QUANT_CHANNEL && b->zero_addr;
	if (za < -1024 || za > 1024 || zb < -1024 || zb > 1024 ||
	    reach(a, za) * (g->zeros ? 255 : reach(b, zb)) * g->k > INT32_MAX)
		return 0;
	g->kind = is_signed ? FAST_GEMM_I8SS : FAST_GEMM_I8UU;
	g->sums = words ? NULL : fast_gemm_kernel(g->kind, p->cpu->isa);
	if (equal && g->sums && a->strides[a->rank - 1] == 1 && pays(g, p)) {
		g->flip = 0;
	} else if (!words && fast_gemm_kernel(FAST_GEMM_I8S, p->cpu->isa)) {
		g->kind = is_signed ? FAST_GEMM_I8S : FAST_GEMM_I8U;
		g->sums = fast_gemm_kernel(is_signed ? FAST_GEMM_I8U : FAST_GEMM_I8S, p->cpu->isa);
		if (equal) {
			g->flip = 0x80;
			g->row_factor = is_signed ? -128 : 128;
		}
	} else {
		g->kind = FAST_GEMM_S16;
		g->sums = fast_gemm_kernel(FAST_GEMM_S16, p->cpu->isa);
	}
	if (g->zeros) {
		g->zero_shift = g->row_factor;
		g->row_factor = 1;
	}
	g->row_factor -= (int32_t)zb;
	g->row_const = (int32_t)((int64_t)g->k * za * zb);
	g->col_factor = (int32_t)-za;
	g->row_sums = g->row_factor || g->row_const;
	g->col_sums = g->col_factor != 0;
	return 1;
}

static void plan_floats(struct gemm_plan *g, const struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A], *b = &p->op->t[UMA_SLOT_B];

	g->kind = FAST_GEMM_F32;
	if (a->dtype == UMA_DTYPE_BF16 && b->dtype == UMA_DTYPE_BF16 &&
	    fast_gemm_kernel(FAST_GEMM_BF16, p->cpu->isa))
		g->kind = FAST_GEMM_BF16;
}

/* Is an element of the operand one of the kernel? */
static bool same_element(enum fast_gemm_kind kind, uint32_t dtype)
{
	switch (kind) {
	case FAST_GEMM_F32:
		return dtype == UMA_DTYPE_F32;
	case FAST_GEMM_BF16:
		return dtype == UMA_DTYPE_BF16;
	case FAST_GEMM_S16:
		return false;
	default:
		return uma_is_int8(dtype);
	}
}

static enum gemm_b source_of_b(const struct gemm_plan *g, const struct fast_prog *p)
{
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const bool same = same_element(g->kind, b->dtype);
	const uint64_t bytes = (uint64_t)g->k * g->n * 4;

	if (b->layout != UMA_LAYOUT_STRIDED)
		return same && uma_le16(p->cap->block_k) == fast_gemm_group(g->kind) &&
		       (g->block_n == 16 || g->block_n % 32 == 0) ? GEMM_B_PACKED : GEMM_B_DEQUANT;
	if (uma_is_int4(b->dtype) || (!g->epi.integer && !uma_is_float(b->dtype)))
		return GEMM_B_DEQUANT;
	/* Only the wide kernel supports masked columns. */
	if (g->kind == FAST_GEMM_F32 && same && (p->cpu->isa & FAST_AVX512) &&
	    b->strides[b->rank - 1] == 1 && !(p->hint.variant & 2) &&
	    (g->m <= 4 * GEMM_ROWS || bytes <= p->cpu->l1d))
		return GEMM_B_PLAIN;
	return GEMM_B_COPY;
}

bool gemm_whole_bytes(const struct uma_tensor_view *b)
{
	uint32_t i;

	for (i = 0; i + 2 < b->rank; i++)
		if (uma_is_int4(b->dtype) && b->dims[i] > 1 && (b->strides[i] & 1))
			return false;
	return true;
}

/* Weights of fewer bits than the kernel's; the model runs others. */
static bool can_unpack(const struct gemm_plan *g, const struct fast_prog *p)
{
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const uint32_t bits = uma_dtype_bits(b->dtype);

	/* Blocks must be columns, not rows of columns with one element. */
	if (uma_is_block(b->dtype))
		return b->strides[b->rank - 2] == 1 && g->k > 1;
	/* 16-bit numbers are also unpacked by portable code. */
	if (!(p->cpu->isa & FAST_AVX2) && bits != 16)
		return false;
	if (b->layout == UMA_LAYOUT_STRIDED ? !gemm_whole_bytes(b) :
	    uma_le16(p->cap->block_k) != 32 / bits || g->block_n % 16)
		return false;
	return g->kind == FAST_GEMM_F32 ? bits < 32 : g->kind != FAST_GEMM_S16 && bits == 4;
}

/* Can the products of the first rows pack B, or apply @flip? */
static bool can_fuse(const struct gemm_plan *g, const struct fast_prog *p)
{
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const uint64_t strip = ((uint64_t)g->k + 3) / fast_gemm_group(g->kind) * 4 * FAST_GEMM_N;

	/* Sums of columns need packed ones. */
	if (!fast_gemm_keeps(g->kind, p->cpu->isa) || g->col_sums)
		return false;
	if (g->b == GEMM_B_COPY)
		return same_element(g->kind, b->dtype) && b->strides[b->rank - 1] == 1;
	return g->b == GEMM_B_PACKED && g->flip && strip <= KEPT_STRIP;
}

int gemm_plan_types(struct gemm_plan *g, const struct fast_prog *p)
{
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];

	if (b->layout == UMA_LAYOUT_GEMM_B24)
		return 0;
	/* For class grouped, or none. */
	if (uma_is_int8(p->op->t[UMA_SLOT_A].dtype) && !uma_gemm_integer(p->op) &&
	    !fast_epi_rows(p->op))
		return 0;
	if (!g->epi.integer)
		plan_floats(g, p);
	else if (!plan_bytes(g, p))
		return 0;
	g->fn = fast_gemm_kernel(g->kind, p->cpu->isa);
	if (!g->fn || (g->epi.integer && !g->sums))
		return 0;
	g->block_n = uma_le16(p->cap->block_n);
	g->b = source_of_b(g, p);
	g->fused = can_fuse(g, p);
	return g->b != GEMM_B_DEQUANT || can_unpack(g, p);
}

/* --- a strip -------------------------------------------------------------------- */

/* Vectors of a packed operand: block_n / 16 of them are interleaved. */
static void packed_strip(const struct gemm_tile *t, uint32_t k0, uint32_t n0,
			 struct fast_gemm_strip *s)
{
	const struct gemm_plan *g = t->plan;
	const uint64_t at = (uint64_t)(k0 / fast_gemm_group(g->kind)) * g->block_n * 4;

	s->b_ks = 4 * g->block_n;
	if (g->block_n == 16) {
		s->b[0] = t->b + n0 / 16 * g->b_panel + at;
		s->b[1] = (const char *)s->b[0] + (s->n > 16 ? g->b_panel : 0);
		return;
	}
	/* Wider panels are multiples of a strip. */
	s->b[0] = t->b + n0 / g->block_n * g->b_panel + at + n0 % g->block_n * 4;
	s->b[1] = (const char *)s->b[0] + 64;
}

/* Prefetch the next strip while this one is multiplied. */
static void look_ahead(const struct gemm_tile *t, uint32_t k0, uint32_t n0,
		       struct fast_gemm_strip *s)
{
	const struct uma_tensor_view *b = gemm_view(t, UMA_SLOT_B);
	const struct gemm_plan *g = t->plan;
	const int64_t ks = g->b_ks;
	const uint32_t group = fast_gemm_group(g->kind);
	struct fast_gemm_strip then = { .n = FAST_GEMM_N };
	const char *p;
	uint32_t i;

	n0 += FAST_GEMM_N;
	if (n0 + FAST_GEMM_N > g->n)
		return;
	/* It was packed recently and is in a cache. */
	if (g->b >= GEMM_B_COPY && t->again)
		return;
	if (g->b == GEMM_B_COPY && (n0 - t->idx[g->epi.col]) % (g->strips * FAST_GEMM_N))
		return;
	if (g->b == GEMM_B_PACKED) {
		packed_strip(t, k0, n0, &then);
		for (i = 0; i < FAST_GEMM_N / 16; i++)
			s->next[i] = then.b[i];
		s->next_ks = then.b_ks;
		return;
	}
	if (b->strides[b->rank - 1] != 1 || g->b == GEMM_B_DEQUANT)
		return;
	if (g->raw_far) {
		/* Prefetch its beginning; its own products prefetch the rest. */
		p = t->b + k0 * ks + n0 * g->b_ns;
		for (i = 0; i < FAST_GEMM_NEAR * group; i++, p += ks) {
			__builtin_prefetch(p, 0, 2);
			if (group == 1)
				__builtin_prefetch(p + 64, 0, 2);
		}
		return;
	}
	/* Rows of a line, of two for 4-byte elements. */
	p = t->b + k0 * ks + n0 * g->b_ns;
	s->next_ks = ks * group;
	for (i = 0; i < group; i++)
		s->next[i] = p + i * ks;
	if (group == 1)
		s->next[1] = p + 64;
}

/* Load scales and zero points, or minima, of 16 columns in row @k; false: with the fault set. */
static bool load_tables(const struct gemm_tile *t, uint32_t k, uint32_t n0, uint32_t n,
			float *scale, int32_t *zero, float *min)
{
	const struct uma_tensor_view *b = gemm_view(t, UMA_SLOT_B);
	const struct uma_kernels *rows = t->r->prog->rows;
	struct uma_run run = fast_model_run(t->r);
	struct uma_rowbuf *buf = t->r->rows_scratch;
	uint32_t idx[UMA_MAX_RANK], i;
	const struct uma_row row = {
		.slot = UMA_SLOT_B, .n = n, .idx = idx, .axis = b->rank - 1u,
	};

	if (b->quant == UMA_QUANT_TENSOR) {
		rows->fill(scale, b->scale, 16);
		for (i = 0; i < 16; i++)
			zero[i] = b->zero;
		return true;
	}
	memcpy(idx, t->idx, sizeof(idx));
	idx[b->rank - 2] = k;
	idx[b->rank - 1] = n0;
	if (uma_table_row(&run, &row, buf))
		return false;
	memcpy(scale, buf->scale, n * 4);
	memcpy(b->min_addr ? (void *)min : zero, buf->zero, n * 4);
	return true;
}

/* Unpack and dequantise rows of packed columns, @step bytes apart, for the kernel. */
static int unpack_rows(const struct gemm_tile *t, const char *p, int64_t step, uint32_t k0,
		       uint32_t k, uint32_t n0, uint32_t n, char *out)
{
	const struct uma_tensor_view *b = gemm_view(t, UMA_SLOT_B);
	const uint32_t rows = 32 / uma_dtype_bits(b->dtype);
	const uint32_t isa = t->r->prog->cpu->isa;
	float scale[16] = { 0 }, min[16] = { 0 };
	int32_t zero[16] = { 0 };
	uint32_t i, some = k;

	if (t->plan->kind != FAST_GEMM_F32) {
		nibbles_for(isa)(b->dtype == UMA_DTYPE_S4, p, step, k, out);
		return 0;
	}
	for (i = 0; i < k; i += some, p += some / rows * step) {
		if (b->quant == UMA_QUANT_GROUP)
			some = UMA_MIN(b->quant_group - (k0 + i) % b->quant_group, k - i);
		if (b->quant && !load_tables(t, k0 + i, n0, n, scale, zero, min))
			return -1;
		unpack_for(isa)(b->dtype, p, step, some, b->quant ? scale : NULL, zero,
				b->min_addr ? min : NULL, (float *)out + (uint64_t)i * 16);
	}
	return 0;
}

/*
 * Decode a vector of columns of a block type, for the whole blocks around a part of K at a
 * time.
 */
static void decode_vector(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t n0,
			  uint32_t n, char *out)
{
	const struct uma_tensor_view *b = gemm_view(t, UMA_SLOT_B);
	const struct uma_dtype_block least = uma_dtype_block(b->dtype);
	const struct gemm_plan *g = t->plan;
	float x[16 * DECODE_ROWS];
	uint32_t i, j, first, some;

	for (i = 0; i < k; i += some) {
		const uint32_t from = (k0 + i) & ~(DECODE_ROWS - 1);
		const uint32_t rows = UMA_MIN(DECODE_ROWS, g->k - from);

		first = k0 + i - from;
		some = UMA_MIN(rows - first, k - i);
		for (j = 0; j < n; j++) {
			const int64_t at = from + (int64_t)(n0 + j) * b->strides[b->rank - 1];

			t->r->prog->rows->to_f32[b->dtype](x + j * DECODE_ROWS, t->b +
				(at >> least.shift) * (int64_t)least.bytes, rows);
		}
		fast_gemm_pack_b(t->r->prog->cpu->isa, FAST_GEMM_F32,
				 &(struct fast_gemm_source){
					.p = x + first, .ks = 1, .ns = DECODE_ROWS,
					.dtype = UMA_DTYPE_F32,
				 }, some, n, out + (uint64_t)i * 64, 0);
	}
}

/* Unpack a vector of columns for the kernel, from blocks, or from rows packed to blocks first. */
static int unpack_vector(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t n0,
			 uint32_t n, char *out)
{
	const struct uma_tensor_view *b = gemm_view(t, UMA_SLOT_B);
	const struct gemm_plan *g = t->plan;
	const uint32_t bits = uma_dtype_bits(b->dtype), rows = bits ? 32 / bits : 1;
	const int64_t step = 4 * (int64_t)g->block_n;
	const struct fast_pack_source from = {
		.p = (const uint8_t *)t->b, .ks = b->strides[b->rank - 2],
		.ns = b->strides[b->rank - 1], .k = g->k, .n = g->n, .bits = bits,
	};
	uint8_t blocks[BLOCK_ROWS / 2 * 64] __attribute__((aligned(64)));
	uint32_t i, some;

	if (uma_is_block(b->dtype)) {
		decode_vector(t, k0, k, n0, n, out);
		return 0;
	}
	if (b->layout != UMA_LAYOUT_STRIDED)
		return unpack_rows(t, t->b + n0 / g->block_n * g->b_panel +
				   n0 % g->block_n * 4 + k0 / rows * step, step, k0, k, n0, n, out);
	for (i = 0; i < k; i += some) {
		some = UMA_MIN(BLOCK_ROWS, k - i);
		pack_words(&from, k0 + i, (some + rows - 1) / rows, n0, 1, blocks, 64, 0);
		if (unpack_rows(t, (const char *)blocks, 64, k0 + i, some, n0, n,
				out + (uint64_t)i / fast_gemm_group(g->kind) * 64))
			return -1;
	}
	return 0;
}

static int unpack_block(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t n0, uint32_t n,
			char *out, uint64_t vector)
{
	uint32_t j;

	for (j = 0; j < n; j += 16, out += vector)
		if (unpack_vector(t, k0, k, n0 + j, UMA_MIN(16u, n - j), out))
			return -1;
	return 0;
}

static void pack_block(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t n0, uint32_t n,
		       char *out, uint64_t vector)
{
	const struct uma_tensor_view *b = gemm_view(t, UMA_SLOT_B);
	const struct gemm_plan *g = t->plan;
	const uint32_t group = fast_gemm_group(g->kind);
	struct fast_gemm_source from = {
		.ks = b->strides[b->rank - 2], .ns = b->strides[b->rank - 1], .dtype = b->dtype,
	};
	uint32_t i, some;

	/* A few rows of all columns at a time, so that each line or page is only read once. */
	for (i = 0; i < k; i += some) {
		some = UMA_MIN(PACK_ROWS, k - i);
		from.p = t->b + (k0 + i) * g->b_ks + n0 * g->b_ns;
		fast_gemm_pack_b(t->r->prog->cpu->isa, g->kind, &from, some, n,
				 out + (uint64_t)i / group * 64, vector);
	}
}

/* Apply @flip to packed vectors. */
static void turn(void *p, uint64_t bytes, uint8_t flip)
{
	const uint64_t mask = flip * 0x0101010101010101ull;
	uint64_t *word = p, i;

	for (i = 0; i < bytes / 8; i++)
		word[i] ^= mask;
}

/* Pack columns from @j on of the tile. */
static int pack_strips(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t n0, uint32_t n,
		       char *out, struct fast_gemm_strip *s)
{
	const struct gemm_plan *g = t->plan;
	const uint64_t vector = fast_gemm_pack_bytes(g->kind, k);

	if (g->b == GEMM_B_DEQUANT)
		return unpack_block(t, k0, k, n0, n, out, vector);
	if (g->fused && n == FAST_GEMM_N && t->m >= FAST_GEMM_FIRST) {
		s->raw = t->b + k0 * g->b_ks + n0 * g->b_ns;
		s->raw_ks = g->b_ks;
		s->keep[0] = out;
		s->keep[1] = out + vector;
		return 0;
	}
	pack_block(t, k0, k, n0, n, out, vector);
	if (g->fused && g->flip) {
		turn(out, (n + 15) / 16 * vector, g->flip);
		s->flip = 0;
	}
	return 0;
}

int gemm_load_strip(const struct gemm_tile *t, uint32_t k0, uint32_t k, uint32_t n0, uint32_t n,
		    struct fast_gemm_strip *s)
{
	const struct gemm_plan *g = t->plan;
	const uint64_t vector = fast_gemm_pack_bytes(g->kind, k);
	const uint32_t j = n0 - t->idx[g->epi.col], all = g->strips * FAST_GEMM_N;
	char *out = (char *)t->r->scratch + g->b_at;

	if (g->ahead && t->m > GEMM_AHEAD_ROWS)
		look_ahead(t, k0, n0, s);
	s->raw_far = g->raw_far;
	if (g->b == GEMM_B_PACKED) {
		packed_strip(t, k0, n0, s);
		if (g->fused && n == FAST_GEMM_N && t->m >= KEPT_ROWS) {
			s->keep[0] = out;
			s->keep[1] = out + vector;
		}
		return 0;
	}
	if (g->b == GEMM_B_PLAIN) {
		s->b[0] = t->b + k0 * g->b_ks + n0 * g->b_ns;
		s->b[1] = (const char *)s->b[0] + 64;
		s->b_ks = g->b_ks;
		s->b_masked = true;
		return 0;
	}
	/* Kept for the tile's other blocks, or for this one only */
	out += (g->tm > g->mt ? j : j % all) / 16 * vector;
	if (g->fused && t->again)
		s->flip = 0;
	if (j % all == 0 && !t->again &&
	    pack_strips(t, k0, k, n0, UMA_MIN(all, t->n - j), out, s))
		return -1;
	s->b[0] = out;
	s->b[1] = (const char *)s->b[0] + (n > 16 ? vector : 0);
	s->b_ks = 64;
	/* Data packed for the tile's first rows may no longer be in a near cache. */
	if (t->again && g->ahead && j + FAST_GEMM_N < t->n && t->m > GEMM_AHEAD_ROWS) {
		s->next[0] = out + 2 * vector;
		s->next[1] = t->n - j > FAST_GEMM_N + 16 ? out + 3 * vector : NULL;
		s->next_ks = 64;
	}
	return 0;
}
