// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Loads blocks of the operands of a convolution for the block products, in the same
 * format as gemm_load.c.
 */
#include "conv.h"

/* Go to the next segment of the tile; @g is zeroed before the first. */
int conv_next_segment(const struct conv_tile *t, struct conv_segment *g)
{
	__u64 pos;

	g->at += g->n;
	if (g->at >= t->m)
		return 0;
	pos = t->p0 + g->at;
	g->y = (__u32)(pos / t->p->out[1]);
	g->x = (__u32)(pos % t->p->out[1]);
	g->n = UMA_MIN(t->m - g->at, t->p->out[1] - g->x);
	return 1;
}

/* The input channels of one tap, at most @left, from index @k of the sums on */
struct conv_piece conv_piece_at(const struct conv_plan *p, __u32 k, __u32 left)
{
	__u32 tap = k / p->c, c = k % p->c;

	return (struct conv_piece){
		.y = tap / p->kernel[1],
		.x = tap % p->kernel[1],
		.c = c,
		.n = UMA_MIN(left, p->c - c),
	};
}

static __u64 magnitude(__s64 v)
{
	return v < 0 ? -(__u64)v : (__u64)v;
}

static __s32 byte_at(const void *raw, __u32 dtype, __u32 i)
{
	return dtype == UMA_DTYPE_S8 ? ((const __s8 *)raw)[i] :
				       ((const __u8 *)raw)[i];
}

/* --- A -------------------------------------------------------------------- */

/* Are channels closer in memory than columns? */
int conv_along_channels(const struct conv_plan *p)
{
	return magnitude(p->a_stride[CONV_C]) < magnitude(p->a_stride[CONV_X]);
}

/* Offset in A of the first input of @x, for channel @c of the group */
__s64 conv_a_offset(const struct conv_tile *t, const struct conv_span *y,
		    const struct conv_span *x, __u32 c)
{
	const struct conv_plan *p = t->p;

	return (__s64)t->image * p->a_stride[CONV_N] +
	       ((__s64)t->group * p->c + c) * p->a_stride[CONV_C] +
	       (__s64)y->in * p->a_stride[CONV_Y] + (__s64)x->in * p->a_stride[CONV_X];
}

/*
 * Load the inputs of @x as binary32 into the block of A: rows from @row0 on, @step apart,
 * columns from @q->at on. With @along_c a row of the block is contiguous, else a column.
 */
int conv_load_f32(struct conv_tile *t, const struct conv_piece *q, const struct conv_span *y,
		  const struct conv_span *x, __u32 row0, __u32 step, int along_c)
{
	const struct conv_plan *p = t->p;
	__s64 pixel = (__s64)x->in_step * p->a_stride[CONV_X];
	__s64 off = conv_a_offset(t, y, x, q->c);
	struct uma_row row = { .slot = UMA_SLOT_A };
	__u32 *a = t->s->a;
	__u32 i, j;

	row.n = along_c ? q->n : x->count;
	row.stride = along_c ? p->a_stride[CONV_C] : pixel;
	for (i = 0; i < (along_c ? x->count : q->n); i++) {
		__u32 *dst = along_c ?
			a + (row0 + i * step) * UMA_GEMM_LDA_K + q->at :
			a + (q->at + i) * UMA_GEMM_LDA_M + row0;
		const __u32 *v;

		row.off = off + (__s64)i * (along_c ? pixel : p->a_stride[CONV_C]);
		if (along_c || step == 1) {
			v = (const __u32 *)uma_row_f32(t->run, &row, &t->s->buf,
						       (float *)dst);
			if (!v)
				return -1;
			if (v != dst)
				__builtin_memcpy(dst, v, 4ul * row.n);
			continue;
		}
		v = (const __u32 *)uma_row_f32(t->run, &row, &t->s->buf,
					       (float *)t->s->row);
		if (!v)
			return -1;
		for (j = 0; j < row.n; j++)
			dst[j * step] = v[j];
	}
	return 0;
}

static void clear_f32(struct conv_tile *t, const struct conv_piece *q, __u32 at, __u32 n,
		      int along_c)
{
	__u32 i;

	for (i = 0; i < (along_c ? n : q->n); i++)
		__builtin_memset(along_c ? t->s->a + (at + i) * UMA_GEMM_LDA_K + q->at :
				 t->s->a + (q->at + i) * UMA_GEMM_LDA_M + at, 0,
				 4ul * (along_c ? q->n : n));
}

/* Load the inputs of @x as s16, UMA_GEMM_LDA_K apart. */
static int load_s16(struct conv_tile *t, const struct conv_piece *q, const struct conv_span *y,
		    const struct conv_span *x, __u32 row0, int along_c)
{
	const struct uma_tensor_view *v = &t->run->prog->op.t[UMA_SLOT_A];
	const struct conv_plan *p = t->p;
	__s64 pixel = (__s64)x->in_step * p->a_stride[CONV_X];
	__s64 off = conv_a_offset(t, y, x, q->c);
	__s16 *a = (__s16 *)t->s->a + (__u64)row0 * UMA_GEMM_LDA_K + q->at;
	const __u32 ld = UMA_GEMM_LDA_K * x->step;
	__u32 i, j;

	if (along_c) {
		for (i = 0; i < x->count; i++, off += pixel, a += ld) {
			const void *raw = uma_gather(t->run, UMA_SLOT_A, v, off,
						     p->a_stride[CONV_C], q->n,
						     t->s->buf.raw);

			if (!raw)
				return -1;
			for (j = 0; j < q->n; j++)
				a[j] = (__s16)byte_at(raw, v->dtype, j);
		}
		return 0;
	}
	for (i = 0; i < q->n; i++, off += p->a_stride[CONV_C], a++) {
		const void *raw = uma_gather(t->run, UMA_SLOT_A, v, off, pixel,
					     x->count, t->s->buf.raw);

		if (!raw)
			return -1;
		for (j = 0; j < x->count; j++)
			a[j * ld] = (__s16)byte_at(raw, v->dtype, j);
	}
	return 0;
}

static void clear_s16(struct conv_tile *t, const struct conv_piece *q, __u32 at, __u32 n)
{
	__s16 zero = (__s16)t->run->prog->op.t[UMA_SLOT_A].zero;
	__s16 *a = (__s16 *)t->s->a + (__u64)at * UMA_GEMM_LDA_K + q->at;
	__u32 i, j;

	for (i = 0; i < n; i++, a += UMA_GEMM_LDA_K)
		for (j = 0; j < q->n; j++)
			a[j] = zero;
}

/* Load the channels of one tap for all positions of the tile. */
static int load_piece(struct conv_tile *t, const struct conv_piece *q)
{
	const struct conv_plan *p = t->p;
	int along_c = conv_along_channels(p);
	struct conv_segment g = { 0 };

	while (conv_next_segment(t, &g)) {
		struct conv_span y = conv_span_of(p, 0, g.y, 1, q->y);
		struct conv_span x = conv_span_of(p, 1, g.x, g.n, q->x);
		int ret;

		if (!y.count)
			x.count = 0;
		if (x.count != g.n) {
			if (p->integer)
				clear_s16(t, q, g.at, g.n);
			else
				clear_f32(t, q, g.at, g.n, along_c);
		}
		if (!x.count)
			continue;
		ret = p->integer ? load_s16(t, q, &y, &x, g.at + x.first, along_c) :
			conv_load_f32(t, q, &y, &x, g.at + x.first, x.step, along_c);
		if (ret)
			return -1;
	}
	return 0;
}

int conv_load_a(struct conv_tile *t, __u32 k0, __u32 kc, struct uma_gemm_block *g)
{
	const struct conv_plan *p = t->p;
	int along_c = conv_along_channels(p);
	const __s16 *a = (const __s16 *)t->s->a;
	__u32 k, i;

	for (k = 0; k < kc; ) {
		struct conv_piece q = conv_piece_at(p, k0 + k, kc - k);

		q.at = k;
		if (load_piece(t, &q))
			return -1;
		k += q.n;
	}
	g->a = t->s->a;
	if (!p->integer) {
		g->a_ms = along_c ? UMA_GEMM_LDA_K : 1;
		g->a_ks = along_c ? 1 : UMA_GEMM_LDA_M;
		return 0;
	}
	g->a_ms = UMA_GEMM_LDA_K / 2;
	g->a_ks = 1;
	for (i = 0; p->row_sums && i < t->m; i++)
		for (k = 0; k < kc; k++)
			t->s->row_sum[i] += a[i * UMA_GEMM_LDA_K + k];
	return 0;
}

/* --- B -------------------------------------------------------------------- */

/* A run of the weights of a tap, from output channel @n and input channel @c on */
struct uma_row conv_b_row(const struct conv_tile *t, const struct conv_piece *q, __u32 c,
			  __u32 n, int along_n, __u32 *idx)
{
	const struct conv_plan *p = t->p;
	const struct uma_tensor_view *b = &t->run->prog->op.t[UMA_SLOT_B];
	__u32 axis_n = p->packed ? b->rank - 1u : p->transposed;
	__u32 axis_c = p->packed ? b->rank - 2u : !p->transposed;

	__builtin_memset(idx, 0, UMA_MAX_RANK * sizeof(*idx));
	idx[axis_n] = t->n0 + n;
	idx[axis_c] = q->c + c;
	idx[p->packed ? axis_n : 0] += t->group * (p->transposed ? p->c : p->m);
	return (struct uma_row){
		.slot = UMA_SLOT_B,
		.off = (__s64)t->group * p->b_group +
		       ((__s64)t->n0 + n) * p->b_stride[CONV_N] +
		       ((__s64)q->c + c) * p->b_stride[CONV_C] +
		       (__s64)q->y * p->b_stride[CONV_Y] +
		       (__s64)q->x * p->b_stride[CONV_X],
		.stride = p->b_stride[along_n ? CONV_N : CONV_C],
		.n = along_n ? t->n : q->n,
		.idx = b->quant == UMA_QUANT_CHANNEL ? idx : 0,
		.axis = along_n ? axis_n : axis_c,
	};
}

static int b_along_channels(const struct conv_plan *p)
{
	return magnitude(p->b_stride[CONV_N]) <= magnitude(p->b_stride[CONV_C]);
}

static int copy_b_f32(struct conv_tile *t, const struct conv_piece *q)
{
	int along_n = b_along_channels(t->p);
	__u32 idx[UMA_MAX_RANK];
	__u32 i, j;

	for (i = 0; i < (along_n ? q->n : t->n); i++) {
		struct uma_row row = conv_b_row(t, q, along_n ? i : 0, along_n ? 0 : i,
					   along_n, idx);
		__u32 *dst = along_n ? t->s->b + (q->at + i) * UMA_GEMM_LDB : t->s->raw;
		const __u32 *v;

		v = (const __u32 *)uma_row_f32(t->run, &row, &t->s->buf, (float *)dst);
		if (!v)
			return -1;
		if (along_n && v != dst)
			__builtin_memcpy(dst, v, 4ul * t->n);
		for (j = 0; !along_n && j < q->n; j++)
			t->s->b[(q->at + j) * UMA_GEMM_LDB + i] = v[j];
	}
	return 0;
}

static int copy_b_s16(struct conv_tile *t, const struct conv_piece *q)
{
	const struct uma_tensor_view *v = &t->run->prog->op.t[UMA_SLOT_B];
	int along_n = b_along_channels(t->p);
	__s16 *b = (__s16 *)t->s->b;
	__u32 idx[UMA_MAX_RANK];
	__u32 i, j;

	for (i = 0; i < (along_n ? q->n : t->n); i++) {
		struct uma_row row = conv_b_row(t, q, along_n ? i : 0, along_n ? 0 : i,
					   along_n, idx);
		const void *raw = uma_gather(t->run, UMA_SLOT_B, v, row.off, row.stride,
					     row.n, t->s->buf.raw);

		if (!raw)
			return -1;
		for (j = 0; j < row.n; j++) {
			__u32 k = q->at + (along_n ? i : j), n = along_n ? j : i;

			b[(k / 2) * UMA_GEMM_LDB * 2 + k % 2 + 2 * n] =
				(__s16)byte_at(raw, v->dtype, j);
		}
	}
	return 0;
}

/* Number of columns that are unpacked at once */
#define PACKED_COLUMNS	64u

/* Unpack rows of a tap: converted to binary32, or as pairs of s16. */
static int copy_b_packed(struct conv_tile *t, const struct conv_piece *q)
{
	const struct uma_tensor_view *v = &t->run->prog->op.t[UMA_SLOT_B];
	const struct uma_op_cap *cap = &t->run->prog->engine->caps[t->run->prog->row];
	__u64 tap = (__u64)q->y * t->p->kernel[1] + q->x;
	__u32 es = uma_wide_size(v->dtype), c, from, rows, n, j, i, k;
	__s16 *pairs = (__s16 *)t->s->b;

	for (c = q->c; c < q->c + q->n; c = from + UMA_PACKED_K)
		for (from = c / UMA_PACKED_K * UMA_PACKED_K, n = 0; n < t->n; n += PACKED_COLUMNS) {
			__u32 count = UMA_MIN(PACKED_COLUMNS, t->n - n);

			rows = UMA_MIN(UMA_PACKED_K, q->c + q->n - from);
			if (uma_packed_rows(t->run, UMA_SLOT_B, cap, tap, from, rows, t->n0 + n,
					    count, t->s->raw, PACKED_COLUMNS))
				return -1;
			for (i = c - from; i < rows; i++) {
				const __u8 *raw = (const __u8 *)t->s->raw +
						  (__u64)i * PACKED_COLUMNS * es;

				k = q->at + from + i - q->c;
				if (!t->p->integer) {
					float *dst = (float *)(t->s->b + k * UMA_GEMM_LDB + n);

					t->run->k->to_f32[v->dtype](dst, raw, count);
					continue;
				}
				for (j = 0; j < count; j++)
					pairs[(k / 2) * UMA_GEMM_LDB * 2 + k % 2 + 2 * (n + j)] =
						(__s16)byte_at(raw, v->dtype, j);
			}
		}
	return 0;
}

/*
 * Clear the padding: the second of the last pair if @kc is odd, and columns up to
 * @padded. Add up the columns if A has a zero point.
 */
static void finish_b(struct conv_tile *t, __u32 kc, __u32 padded)
{
	const struct conv_plan *p = t->p;
	__u32 rows = p->integer ? (kc + 1) / 2 : kc;
	__u32 k, j;

	for (k = 0; k < rows; k++) {
		__u32 *row = t->s->b + k * UMA_GEMM_LDB;
		__s16 *pair = (__s16 *)row;

		if (p->integer && 2 * k + 1 == kc)
			for (j = 0; j < t->n; j++)
				pair[2 * j + 1] = 0;
		if (padded != t->n)
			__builtin_memset(row + t->n, 0, 4ul * (padded - t->n));
		for (j = 0; p->col_sums && j < t->n; j++)
			t->s->col_sum[j] += pair[2 * j] + pair[2 * j + 1];
	}
}

int conv_load_b(struct conv_tile *t, __u32 k0, __u32 kc, struct uma_gemm_block *g)
{
	const struct uma_tensor_view *v = &t->run->prog->op.t[UMA_SLOT_B];
	const struct conv_plan *p = t->p;
	struct conv_piece q = conv_piece_at(p, k0, kc);
	__u32 idx[UMA_MAX_RANK];
	__u32 k;

	g->n = (__u32)uma_roundup(t->n, t->run->k->nr);
	if (v->dtype == UMA_DTYPE_F32 && p->b_stride[CONV_N] == 1 && g->n == t->n &&
	    (q.n == kc || p->uniform)) {
		struct uma_row row = conv_b_row(t, &q, 0, 0, 1, idx);

		g->b_ks = p->b_stride[CONV_C];
		g->b = uma_block_in_place(t->run, v, row.off, kc, g->b_ks, t->n, 1);
		if (g->b)
			return 0;
	}
	for (k = 0; k < kc; k += q.n) {
		q = conv_piece_at(p, k0 + k, kc - k);
		q.at = k;
		if (p->packed ? copy_b_packed(t, &q) :
		    p->integer ? copy_b_s16(t, &q) : copy_b_f32(t, &q))
			return -1;
	}
	finish_b(t, kc, g->n);
	g->b = t->s->b;
	g->b_ks = UMA_GEMM_LDB;
	return 0;
}

