// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The B operand of a GEMM with 2:4 sparsity: of each four elements along K, beginning at a
 * multiple of four, two are stored.
 *
 * A panel of block_n columns begins with blocks as in packed.c, of a matrix of half as
 * many rows: its rows 2 g and 2 g + 1 have the two elements that are kept of rows 4 g to
 * 4 g + 3. They are followed by the positions: for each g, block_n nibbles, that of an
 * even column the low one of its byte. Bits 0 and 1 are the row, of the four, of the
 * first element, bits 2 and 3 that of the second. The padding to 64 bytes is not written.
 * All nibbles are valid: if both rows are equal, the second element is used.
 */
#include "uma_internal.h"

/* Number of elements of which two are kept */
#define FOUR	4u

/* Magnitude of an element; for floating point its bits, which have the same order */
static __u32 magnitude(__u32 dtype, const void *rows, __u64 i)
{
	switch (dtype) {
	case UMA_DTYPE_F32:
		return ((const __u32 *)rows)[i] & 0x7fffffffu;
	case UMA_DTYPE_F16:
	case UMA_DTYPE_BF16:
		return ((const __u16 *)rows)[i] & 0x7fffu;
	case UMA_DTYPE_S8:
	case UMA_DTYPE_S4: {
		__s32 v = ((const __s8 *)rows)[i];

		return (__u32)(v < 0 ? -v : v);
	}
	default:
		return ((const __u8 *)rows)[i];
	}
}

/* Choose the two largest of four, the first of equal ones; returns the nibble. */
static __u32 choose(const __u32 *m)
{
	__u32 best = 0, second, i;

	for (i = 1; i < FOUR; i++)
		if (m[i] > m[best])
			best = i;
	second = !best;
	for (i = second + 1; i < FOUR; i++)
		if (i != best && m[i] > m[second])
			second = i;
	return best < second ? best | second << 2 : second | best << 2;
}

/*
 * uma_packed24_choose - keep two of each four rows
 * @dtype: type of the operand
 * @rows: rows of elements, 4-bit ones as bytes; a multiple of four rows
 * @bn: number of elements of a row, even
 * @groups: number of groups of four rows
 * @half: out: two rows for each group
 * @positions: out: bn / 2 bytes for each group
 */
void uma_packed24_choose(__u32 dtype, const void *rows, __u32 bn, __u32 groups,
			 void *half, __u8 *positions)
{
	__u32 es = uma_wide_size(dtype);
	__u32 g, i, j;

	for (g = 0; g < groups; g++) {
		const __u8 *from = (const __u8 *)rows + (__u64)g * FOUR * bn * es;
		__u8 *to = (__u8 *)half + (__u64)g * 2 * bn * es;

		for (j = 0; j < bn; j++) {
			__u32 m[FOUR], nibble;
			__u8 *byte = &positions[(g * bn + j) / 2];

			for (i = 0; i < FOUR; i++)
				m[i] = magnitude(dtype, from, (__u64)i * bn + j);
			nibble = choose(m);
			*byte = j & 1 ? (__u8)(*byte | nibble << 4) : (__u8)nibble;
			__builtin_memcpy(to + (__u64)j * es,
					 from + ((__u64)(nibble & 3) * bn + j) * es, es);
			__builtin_memcpy(to + ((__u64)bn + j) * es,
					 from + ((__u64)(nibble >> 2) * bn + j) * es, es);
		}
	}
}

/* Address of the positions of rows @k to @k + 3, for @k a multiple of four */
__u64 uma_packed24_addr(const struct uma_tensor_view *t,
			const struct uma_op_cap *cap, __u64 batch, __u32 k, __u32 n)
{
	return uma_packed_addr(t, cap, batch, 0, n) + uma_packed_panel_blocks(t, cap) +
	       (__u64)(k / FOUR) * (uma_le16(cap->block_n) / 2);
}

/* Element in row @k and column @n of a block, 4-bit ones extended */
static __u32 element(__u32 dtype, __u32 bk, const void *block, __u32 k, __u32 n)
{
	__u32 half = bk / 2, nibble;

	switch (uma_dtype_bits(dtype)) {
	case 32:
		return ((const __u32 *)block)[n * bk + k];
	case 16:
		return ((const __u16 *)block)[n * bk + k];
	case 8:
		return ((const __u8 *)block)[n * bk + k];
	default:
		nibble = ((const __u8 *)block)[n * half + k % half] >> (k < half ? 0 : 4) & 15;
		return dtype == UMA_DTYPE_S4 && nibble & 8 ? nibble | 0xf0 : nibble;
	}
}

/**
 * struct spread - where the elements of blocks belong
 * @positions: positions of the first four rows, from the first column of the panel on
 * @bn: number of columns of a panel
 * @n: first column within the panel
 * @cols: number of columns
 * @kc: number of rows of @out
 * @out: rows of elements
 * @ld: row stride of @out
 */
struct spread {
	const __u8 *positions;
	__u32 bn;
	__u32 n;
	__u32 cols;
	__u32 kc;
	void *out;
	__u32 ld;
};

/* Move row @r of the block, which is stored row @at, to the rows that it belongs to. */
static void spread_row(const struct spread *s, __u32 dtype, __u32 bk,
		       const void *block, __u32 r, __u32 at)
{
	const __u8 *positions = s->positions + (__u64)(at / 2) * (s->bn / 2);
	__u32 j;

	for (j = 0; j < s->cols; j++) {
		__u32 n = s->n + j;
		__u32 nibble = positions[n / 2] >> (n & 1 ? 4 : 0);
		__u32 k = at / 2 * FOUR + (nibble >> (at & 1 ? 2 : 0) & 3);
		__u32 v = element(dtype, bk, block, r, n);
		__u64 to = (__u64)k * s->ld + j;

		if (k >= s->kc)
			continue;
		switch (uma_wide_size(dtype)) {
		case 4:
			((__u32 *)s->out)[to] = v;
			break;
		case 2:
			((__u16 *)s->out)[to] = (__u16)v;
			break;
		default:
			((__u8 *)s->out)[to] = (__u8)v;
			break;
		}
	}
}

/* The part of uma_packed_rows() for this layout */
int uma_packed24_read(struct uma_run *run, __u32 slot,
		      const struct uma_op_cap *cap, __u64 batch, __u32 k,
		      __u32 kc, __u32 n, __u32 count, void *out, __u32 ld)
{
	const struct uma_tensor_view *t = &run->prog->op.t[slot];
	__u32 bk = uma_le16(cap->block_k), bn = uma_le16(cap->block_n);
	__u32 block = bk * bn * uma_dtype_bits(t->dtype) / 8;
	__u32 es = uma_wide_size(t->dtype);
	__u32 rows = (__u32)uma_packed24_rows(kc);
	__u8 positions[UMA_PACKED_K / FOUR * UMA_PACKED_N_MAX / 2];
	__u32 tmp[UMA_PACKED_BLOCK_MAX / 4];
	struct spread s = { .bn = bn, .kc = kc, .ld = ld };
	__u32 i, r;

	for (i = 0; i < kc; i++)
		__builtin_memset((__u8 *)out + (__u64)i * ld * es, 0, (__u64)count * es);
	while (count) {
		__u64 addr = uma_packed_addr(t, cap, batch, k / 2, n);

		s.n = n % bn;
		s.cols = UMA_MIN(count, bn - s.n);
		s.out = out;
		s.positions = uma_mem_in(run, slot, uma_packed24_addr(t, cap, batch, k, n),
					 (__u64)(rows / 2) * (bn / 2), positions);
		if (!s.positions)
			return -1;
		for (r = 0; r < rows; addr += block) {
			const void *p = uma_mem_in(run, slot, addr, block, tmp);

			if (!p)
				return -1;
			for (i = 0; i < bk && r < rows; i++, r++)
				spread_row(&s, t->dtype, bk, p, i, r);
		}
		out = (__u8 *)out + (__u64)s.cols * es;
		n += s.cols;
		count -= s.cols;
	}
	return 0;
}
