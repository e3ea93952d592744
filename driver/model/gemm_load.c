// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Loads blocks of the operands of a GEMM in the format of the kernels: binary32 for
 * floating point, pairs of s16 for 8-bit products. A contiguous binary32 operand is used
 * in place.
 */
#include "uma_internal.h"

#define F32_ONE		0x3f800000u
#define F32_SIGN	0x80000000u

__s64 uma_gemm_offset(const struct uma_gemm_ctx *c, __u32 slot, __u32 row,
		      __u32 col)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, slot);

	return uma_tensor_offset(t, c->idx) +
	       (__s64)row * t->strides[t->rank - 2] +
	       (__s64)col * t->strides[t->rank - 1];
}

static __u64 magnitude(__s64 v)
{
	return v < 0 ? -(__u64)v : (__u64)v;
}

/*
 * A block of binary32 in place, or NULL if that is not possible: @rows, @row_stride apart,
 * of @cols elements, @col_stride apart, from offset @off on.
 */
const float *uma_block_in_place(struct uma_run *run, const struct uma_tensor_view *t,
				__s64 off, __u32 rows, __s64 row_stride, __u32 cols,
				__s64 col_stride)
{
	__s64 reach_r = row_stride * (__s64)(rows - 1);
	__s64 reach_c = col_stride * (__s64)(cols - 1);
	__s64 lo = UMA_MIN(reach_r, 0) + UMA_MIN(reach_c, 0);
	const float *p;

	p = uma_map_span(run, t->addr + (__u64)((off + lo) * 4),
			 (magnitude(reach_r) + magnitude(reach_c) + 1) * 4,
			 UMA_ACCESS_READ);
	return p ? p - lo : 0;
}

/*
 * Round @n values to 8 bits as DYNQUANT does, and scale them back. Bits without the sign
 * are ordered like magnitudes, with NaN above all numbers.
 */
static void round_to_bytes(struct uma_gemm_ctx *c, float *x, __u32 n)
{
	static const __u32 f32_127 = 0x42fe0000u;
	const struct uma_kernels *k = c->run->k;
	const __s32 zero = 0;
	__u32 scale = 0, bits, i;

	for (i = 0; i < n; i++) {
		__builtin_memcpy(&bits, x + i, 4);
		scale = UMA_MAX(scale, bits & ~F32_SIGN);
	}
	k->binary[UMA_BINARY_DIV]((float *)&scale, (const float *)&scale,
				  (const float *)&f32_127, 1);
	if (!scale)
		scale = F32_ONE;
	k->quant(c->s->buf.ints, x, &zero, 0, (const float *)&scale, 0, -128, 127, n);
	k->dequant(x, c->s->buf.ints, &zero, 0, (const float *)&scale, 0, n);
}

static int load_a_f32(struct uma_gemm_ctx *c, __u32 k0, __u32 kc,
		      struct uma_gemm_block *g)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_A);
	const __u32 group = c->run->prog->op.a_group;
	__s64 sm = t->strides[t->rank - 2], sk = t->strides[t->rank - 1];
	__s64 off = uma_gemm_offset(c, UMA_SLOT_A, c->m0, k0);
	int along_k = magnitude(sk) <= magnitude(sm) || c->m == 1 || group;
	__u32 count = along_k ? c->m : kc;
	__u32 idx[UMA_MAX_RANK];
	struct uma_row row = {
		.slot = UMA_SLOT_A,
		.idx = idx,
		.axis = along_k ? t->rank - 1u : t->rank - 2u,
	};
	__u32 ld = along_k ? UMA_GEMM_LDA_K : UMA_GEMM_LDA_M;
	float *dst = (float *)c->s->a;
	__u32 i;

	if (t->dtype == UMA_DTYPE_F32 && !group) {
		g->a = uma_block_in_place(c->run, t, off, c->m, sm, kc, sk);
		g->a_ms = sm;
		g->a_ks = sk;
		if (g->a)
			return 0;
	}
	row.stride = along_k ? sk : sm;
	__builtin_memcpy(idx, c->idx, sizeof(idx));
	for (i = 0; i < count; i++, dst += ld, off += along_k ? sm : sk) {
		__u32 done, all = along_k ? kc : c->m;

		/* A run consists of whole quantisation groups or is part of one. */
		for (done = 0; done < all; done += row.n) {
			const float *p;

			row.n = all - done;
			if (along_k && t->quant == UMA_QUANT_GROUP)
				row.n = UMA_MIN(row.n, t->quant_group -
						       (k0 + done) % t->quant_group);
			row.off = off + (__s64)done * row.stride;
			idx[t->rank - 2] = c->m0 + (along_k ? i : done);
			idx[t->rank - 1] = k0 + (along_k ? done : i);
			p = uma_row_f32(c->run, &row, &c->s->buf, dst + done);
			if (!p)
				return -1;
			if (p != dst + done)
				__builtin_memcpy(dst + done, p, 4ul * row.n);
		}
		for (done = 0; group && done < all; done += group)
			round_to_bytes(c, dst + done, UMA_MIN(group, all - done));
	}
	g->a = c->s->a;
	g->a_ms = along_k ? ld : 1;
	g->a_ks = along_k ? 1 : ld;
	return 0;
}

static __s32 byte_at(const void *raw, __u32 dtype, __u32 i)
{
	return dtype == UMA_DTYPE_S8 ? ((const __s8 *)raw)[i] :
				       ((const __u8 *)raw)[i];
}

/*
 * Load rows of @kc s16. If @kc is odd, the element after the last is undefined; it is
 * multiplied by a zero of B.
 */
static int load_a_s16(struct uma_gemm_ctx *c, __u32 k0, __u32 kc,
		      struct uma_gemm_block *g)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_A);
	__s64 sm = t->strides[t->rank - 2], sk = t->strides[t->rank - 1];
	__s64 off = uma_gemm_offset(c, UMA_SLOT_A, c->m0, k0);
	int along_k = magnitude(sk) <= magnitude(sm) || c->m == 1;
	__u32 count = along_k ? c->m : kc, n = along_k ? kc : c->m;
	__s16 *dst = (__s16 *)c->s->a;
	const __u32 ld = UMA_GEMM_LDA_K;
	__u32 i, j;

	for (i = 0; i < count; i++, off += along_k ? sm : sk) {
		const void *p = uma_gather(c->run, UMA_SLOT_A, t, off,
					   along_k ? sk : sm, n, c->s->buf.raw);

		if (!p)
			return -1;
		for (j = 0; j < n; j++)
			dst[along_k ? i * ld + j : j * ld + i] =
				(__s16)byte_at(p, t->dtype, j);
	}
	for (i = 0; i < c->m; i++) {
		__s32 sum = 0;

		if (!c->plan->row_sums)
			continue;
		for (j = 0; j < kc; j++)
			sum += dst[i * ld + j];
		c->s->row_sum[i] += sum;
	}
	g->a = dst;
	g->a_ms = ld / 2;
	g->a_ks = 1;
	return 0;
}

int uma_gemm_load_a(struct uma_gemm_ctx *c, __u32 k0, __u32 kc,
		    struct uma_gemm_block *g)
{
	return c->plan->integer ? load_a_s16(c, k0, kc, g) :
				  load_a_f32(c, k0, kc, g);
}

/*
 * Load scales, and zero points or minima, of the block: a row of c->n for each group that
 * overlaps the block, a single row if there are no groups.
 */
static int load_scales(struct uma_gemm_ctx *c, __u32 k0, __u32 kc)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	__u32 group = t->quant == UMA_QUANT_GROUP ? t->quant_group : 1u << 31;
	__u32 g, first = k0 / group, last = (k0 + kc - 1) / group;
	__u32 idx[UMA_MAX_RANK];
	struct uma_row row = {
		.slot = UMA_SLOT_B,
		.n = c->n,
		.idx = idx,
		.axis = t->rank - 1,
	};

	if (t->quant != UMA_QUANT_CHANNEL && t->quant != UMA_QUANT_GROUP)
		return 0;
	__builtin_memcpy(idx, c->idx, sizeof(idx));
	idx[t->rank - 1] = c->n0;
	for (g = first; g <= last; g++) {
		__u32 at = (g - first) * UMA_GEMM_NT;

		idx[t->rank - 2] = g * group;
		if (uma_table_row(c->run, &row, &c->s->buf))
			return -1;
		__builtin_memcpy(c->s->scale + at, c->s->buf.scale, 4ul * c->n);
		__builtin_memcpy(c->s->zero + at, c->s->buf.zero, 4ul * c->n);
	}
	return 0;
}

static void bytes_to_s32(__s32 *dst, const void *raw, __u32 dtype, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		dst[i] = byte_at(raw, dtype, i);
}

/* Convert row @k of the block to binary32: @n columns from the first on. */
static void convert_row(struct uma_gemm_ctx *c, const void *raw, __u32 k0,
			__u32 k, __u32 n, float *dst)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	const struct uma_kernels *kern = c->run->k;
	__u32 wide = uma_wide_dtype(t->dtype);
	__s32 *ints = c->s->buf.ints;
	__u32 at = 0;

	if (!t->quant) {
		kern->to_f32[wide](dst, raw, n);
		return;
	}
	bytes_to_s32(ints, raw, wide, n);
	if (t->quant == UMA_QUANT_TENSOR) {
		kern->dequant(dst, ints, &t->zero, 0, (const float *)&t->scale, 0, n);
		return;
	}
	if (t->quant == UMA_QUANT_GROUP)
		at = (k / t->quant_group - k0 / t->quant_group) * UMA_GEMM_NT;
	uma_dequant(kern, t, dst, ints, c->s->scale + at, c->s->zero + at, 1, n);
}

/* Convert column @col of the block, rows k0 .. k0 + kc, to binary32. */
static void convert_column(struct uma_gemm_ctx *c, const void *raw, __u32 k0,
			   __u32 kc, __u32 col, float *dst)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	const struct uma_kernels *kern = c->run->k;
	__u32 wide = uma_wide_dtype(t->dtype);
	__s32 *ints = c->s->buf.ints;
	__u32 group = t->quant == UMA_QUANT_GROUP ? t->quant_group : 1u << 31;
	__u32 done, run;

	if (t->quant < UMA_QUANT_CHANNEL) {
		convert_row(c, raw, k0, k0, kc, dst);
		return;
	}
	bytes_to_s32(ints, raw, wide, kc);
	for (done = 0; done < kc; done += run) {
		__u32 k = k0 + done;
		__u32 at = (k / group - k0 / group) * UMA_GEMM_NT + col;

		run = UMA_MIN(kc - done, group - k % group);
		uma_dequant(kern, t, dst + done, ints + done, c->s->scale + at, c->s->zero + at, 0,
			    run);
	}
}

/*
 * Copy columns @from .. c->n of the block, converted, padded to a multiple of the
 * kernels' nr.
 */
static int copy_b_f32(struct uma_gemm_ctx *c, __u32 k0, __u32 kc, __u32 from)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	__s64 sk = t->strides[t->rank - 2], sn = t->strides[t->rank - 1];
	__s64 off = uma_gemm_offset(c, UMA_SLOT_B, k0, c->n0 + from);
	int along_n = magnitude(sn) <= magnitude(sk) || kc == 1;
	int blocks = uma_is_block(t->dtype);
	__u32 n = c->n - from;
	__u32 padded = (__u32)uma_roundup(n, c->run->k->nr);
	float *b = (float *)c->s->b;
	__u32 i, j;

	for (i = 0; i < (along_n ? kc : n); i++, off += along_n ? sk : sn) {
		float *dst = along_n ? b + i * UMA_GEMM_LDB : (float *)c->s->buf.scale;
		struct uma_row row = {
			.slot = UMA_SLOT_B,
			.off = off,
			.stride = along_n ? sn : sk,
			.n = along_n ? n : kc,
		};
		const void *p = blocks ? uma_row_blocks(c->run, &row, &c->s->buf, dst) :
				uma_gather(c->run, UMA_SLOT_B, t, off, row.stride, row.n,
					   c->s->buf.raw);

		if (!p)
			return -1;
		if (along_n) {
			if (!blocks)
				convert_row(c, p, k0, k0 + i, n, dst);
			continue;
		}
		/* Copied as bits: floating point is left to the kernels. */
		if (t->dtype != UMA_DTYPE_F32 && !blocks) {
			convert_column(c, p, k0, kc, from + i, dst);
			p = dst;
		}
		for (j = 0; j < kc; j++)
			c->s->b[j * UMA_GEMM_LDB + i] = ((const __u32 *)p)[j];
	}
	if (padded != n)
		for (i = 0; i < kc; i++)
			__builtin_memset(b + i * UMA_GEMM_LDB + n, 0, 4ul * (padded - n));
	c->parts[c->part_count++] = (struct uma_gemm_part){
		.b = b, .b_ks = UMA_GEMM_LDB, .col = from, .n = padded,
	};
	return 0;
}

static int load_b_f32(struct uma_gemm_ctx *c, __u32 k0, __u32 kc)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	__s64 sk = t->strides[t->rank - 2], sn = t->strides[t->rank - 1];
	__u32 whole = c->n - c->n % c->run->k->nr;
	const float *p = 0;

	/*
	 * Use the rows in place if they are contiguous, and are either close to each other or
	 * used too few times to be worth copying.
	 */
	if (t->dtype == UMA_DTYPE_F32 && sn == 1 && whole &&
	    (c->m <= 16 || magnitude(sk) <= 256))
		p = uma_block_in_place(c->run, t, uma_gemm_offset(c, UMA_SLOT_B, k0, c->n0),
				       kc, sk, whole, 1);
	if (!p)
		return copy_b_f32(c, k0, kc, 0);
	c->parts[c->part_count++] = (struct uma_gemm_part){
		.b = p, .b_ks = sk, .col = 0, .n = whole,
	};
	return whole < c->n ? copy_b_f32(c, k0, kc, whole) : 0;
}

/* Use the panels of a packed binary32 operand in place. */
static int panels_in_place(struct uma_gemm_ctx *c, __u32 k0, __u32 kc)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	__u32 bn = uma_le16(c->cap->block_n);
	__u32 col;

	if (t->dtype != UMA_DTYPE_F32 || t->layout != UMA_LAYOUT_GEMM_B ||
	    uma_le16(c->cap->block_k) != 1 ||
	    bn % c->run->k->nr || c->n0 % bn || uma_divup(c->n, bn) > UMA_GEMM_PARTS)
		return 0;
	for (col = 0; col < c->n; col += bn) {
		const void *p = uma_map_span(c->run,
				uma_packed_addr(t, c->cap, c->batch, k0, c->n0 + col),
				(__u64)kc * bn * 4, UMA_ACCESS_READ);

		if (!p) {
			c->part_count = 0;
			return 0;
		}
		c->parts[c->part_count++] = (struct uma_gemm_part){
			.b = p, .b_ks = bn, .col = col,
			.n = (__u32)uma_roundup(UMA_MIN(bn, c->n - col),
						c->run->k->nr),
		};
	}
	return 1;
}

static int load_packed_f32(struct uma_gemm_ctx *c, __u32 k0, __u32 kc)
{
	__u32 padded = (__u32)uma_roundup(c->n, c->run->k->nr);
	float *b = (float *)c->s->b;
	__u32 k, i;

	if (panels_in_place(c, k0, kc))
		return 0;
	for (k = 0; k < kc; k += UMA_PACKED_K) {
		const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
		__u32 rows = UMA_MIN(UMA_PACKED_K, kc - k);
		__u32 es = uma_wide_size(t->dtype);
		float *dst = b + (__u64)k * UMA_GEMM_LDB;
		int plain = t->dtype == UMA_DTYPE_F32;

		if (uma_packed_rows(c->run, UMA_SLOT_B, c->cap, c->batch, k0 + k,
				    rows, c->n0, c->n,
				    plain ? (void *)dst : c->s->raw,
				    plain ? UMA_GEMM_LDB : UMA_GEMM_NT))
			return -1;
		for (i = 0; i < rows; i++, dst += UMA_GEMM_LDB) {
			if (!plain)
				convert_row(c, (__u8 *)c->s->raw +
					    (__u64)i * UMA_GEMM_NT * es,
					    k0, k0 + k + i, c->n, dst);
			if (padded != c->n)
				__builtin_memset(dst + c->n, 0, 4ul * (padded - c->n));
		}
	}
	c->parts[c->part_count++] = (struct uma_gemm_part){
		.b = b, .b_ks = UMA_GEMM_LDB, .col = 0, .n = padded,
	};
	return 0;
}

/* Store a run of bytes to the pairs, along a row or along a column. */
static void put_s16(struct uma_gemm_ctx *c, const void *raw, __u32 dtype,
		    __u32 k, __u32 col, int along_n, __u32 n)
{
	__s16 *b = (__s16 *)c->s->b;
	__u32 i;

	if (along_n) {
		b += (__u64)(k / 2) * UMA_GEMM_LDB * 2 + k % 2 + 2 * col;
		for (i = 0; i < n; i++)
			b[2 * i] = (__s16)byte_at(raw, dtype, i);
	} else {
		b += 2 * col;
		for (i = 0; i < n; i++)
			b[(__u64)((k + i) / 2) * UMA_GEMM_LDB * 2 + (k + i) % 2] =
				(__s16)byte_at(raw, dtype, i);
	}
}

static int copy_b_s16(struct uma_gemm_ctx *c, __u32 k0, __u32 kc)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	__s64 sk = t->strides[t->rank - 2], sn = t->strides[t->rank - 1];
	__s64 off = uma_gemm_offset(c, UMA_SLOT_B, k0, c->n0);
	int along_n = magnitude(sn) <= magnitude(sk) || kc == 1;
	__u32 i;

	for (i = 0; i < (along_n ? kc : c->n); i++, off += along_n ? sk : sn) {
		__u32 n = along_n ? c->n : kc;
		const void *p = uma_gather(c->run, UMA_SLOT_B, t, off,
					   along_n ? sn : sk, n, c->s->buf.raw);

		if (!p)
			return -1;
		put_s16(c, p, uma_wide_dtype(t->dtype), along_n ? i : 0,
			along_n ? 0 : i, along_n, n);
	}
	return 0;
}

static int copy_packed_s16(struct uma_gemm_ctx *c, __u32 k0, __u32 kc)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	__u32 k, i;

	for (k = 0; k < kc; k += UMA_PACKED_K) {
		__u32 rows = UMA_MIN(UMA_PACKED_K, kc - k);

		if (uma_packed_rows(c->run, UMA_SLOT_B, c->cap, c->batch, k0 + k,
				    rows, c->n0, c->n, c->s->raw, UMA_GEMM_NT))
			return -1;
		for (i = 0; i < rows; i++)
			put_s16(c, (__u8 *)c->s->raw + i * UMA_GEMM_NT,
				uma_wide_dtype(t->dtype), k + i, 0, 1, c->n);
	}
	return 0;
}

static int load_b_s16(struct uma_gemm_ctx *c, __u32 k0, __u32 kc)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	__u32 padded = (__u32)uma_roundup(c->n, c->run->k->nr);
	__s16 *b = (__s16 *)c->s->b;
	__u32 pairs = (kc + 1) / 2;
	__u32 k, j;

	if (t->layout == UMA_LAYOUT_STRIDED ? copy_b_s16(c, k0, kc) :
					      copy_packed_s16(c, k0, kc))
		return -1;
	for (k = 0; k < pairs; k++) {
		__s16 *row = b + (__u64)k * UMA_GEMM_LDB * 2;

		if (2 * k + 1 == kc)
			for (j = 0; j < c->n; j++)
				row[2 * j + 1] = 0;
		if (padded != c->n)
			__builtin_memset(row + 2 * c->n, 0, 4ul * (padded - c->n));
		if (c->plan->col_sums)
			for (j = 0; j < c->n; j++)
				c->s->col_sum[j] += row[2 * j] + row[2 * j + 1];
	}
	c->parts[c->part_count++] = (struct uma_gemm_part){
		.b = b, .b_ks = UMA_GEMM_LDB, .col = 0, .n = padded,
	};
	return 0;
}

int uma_gemm_load_b(struct uma_gemm_ctx *c, __u32 k0, __u32 kc)
{
	c->part_count = 0;
	if (c->plan->integer)
		return load_b_s16(c, k0, kc);
	if (load_scales(c, k0, kc))
		return -1;
	if (uma_gemm_view(c, UMA_SLOT_B)->layout != UMA_LAYOUT_STRIDED)
		return load_packed_f32(c, k0, kc);
	return load_b_f32(c, k0, kc);
}
