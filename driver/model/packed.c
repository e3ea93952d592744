// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The blocked layout of the B operand of a GEMM.
 *
 * The header is followed by the matrices of the batch. A matrix is a sequence of panels
 * of block_n columns, a panel is a sequence of blocks of block_k rows. A block has the
 * block_k elements of its first column, then those of the next, and so on. So a block is
 * the operand of one step of a dot-product instruction or of an outer product. In a block
 * of 4-bit elements, byte j of a column has element j in the low nibble and element
 * j + block_k / 2 in the high one, so that a mask and a shift give two runs of
 * consecutive elements. Elements beyond the matrix are zero.
 */
#include "uma_internal.h"

/* Can the operand have the block size of the row? Returns 0 or -1. */
int uma_packed_blocks(const struct uma_tensor_view *t,
		      const struct uma_op_cap *cap)
{
	__u32 bk = uma_le16(cap->block_k), bn = uma_le16(cap->block_n);
	__u32 bits = uma_dtype_bits(t->dtype);

	if (!bk || !bn || bk > UMA_PACKED_K || bn > UMA_PACKED_N_MAX)
		return -1;
	if (UMA_PACKED_K % bk || bk * bn * bits % 512 ||
	    bk * bn * bits / 8 > UMA_PACKED_BLOCK_MAX)
		return -1;
	if (t->layout == UMA_LAYOUT_GEMM_B24 && (UMA_PACKED_K / 2 % bk || bn % 2))
		return -1;
	return bits == 4 && bk % 2 ? -1 : 0;
}

/* Size of the blocks of a panel in bytes, without positions */
__u64 uma_packed_panel_blocks(const struct uma_tensor_view *t,
			      const struct uma_op_cap *cap)
{
	__u32 k = t->dims[t->rank - 2];
	__u64 rows = t->layout == UMA_LAYOUT_GEMM_B24 ? uma_packed24_rows(k) : k;

	return uma_roundup(rows, uma_le16(cap->block_k)) * uma_le16(cap->block_n) *
	       uma_dtype_bits(t->dtype) / 8;
}

static __u64 panel_bytes(const struct uma_tensor_view *t,
			 const struct uma_op_cap *cap)
{
	__u64 bytes = uma_packed_panel_blocks(t, cap);

	if (t->layout == UMA_LAYOUT_GEMM_B24)
		bytes += uma_packed24_positions(t->dims[t->rank - 2],
						uma_le16(cap->block_n));
	return bytes;
}

/*
 * Address of the block that holds row @k and column @n of a matrix. With
 * UMA_LAYOUT_GEMM_B24 @k is the index among the stored rows.
 */
__u64 uma_packed_addr(const struct uma_tensor_view *t,
		      const struct uma_op_cap *cap, __u64 batch, __u32 k,
		      __u32 n)
{
	__u32 bk = uma_le16(cap->block_k), bn = uma_le16(cap->block_n);
	__u64 panels = uma_divup(t->dims[t->rank - 1], bn);

	return t->addr + sizeof(struct uma_packed_header) +
	       (batch * panels + n / bn) * panel_bytes(t, cap) +
	       (__u64)(k / bk) * (bk * bn * uma_dtype_bits(t->dtype) / 8);
}

void uma_packed_header_make(const struct uma_tensor_view *t,
			    const struct uma_engine_desc *engine,
			    const struct uma_op_cap *cap,
			    struct uma_packed_header *header)
{
	__u32 d;

	*header = (struct uma_packed_header){
		.magic = UMA_LE32(UMA_PACKED_MAGIC),
		.version = UMA_LE16(UMA_PACKED_VERSION),
		.layout = UMA_LE16(t->layout),
		.engine_class = UMA_LE16(engine->engine_class),
		.dtype = UMA_LE16(t->dtype),
		.block_k = cap->block_k,
		.block_n = cap->block_n,
		.rank = UMA_LE32(t->rank),
	};
	for (d = 0; d < t->rank; d++)
		header->dims[d] = UMA_LE32(t->dims[d]);
}

/*
 * uma_packed_header_check - check that an operand was packed for this engine and shape
 * @run: context of the step
 * @slot: operand
 * @cap: capability row of the engine
 *
 * Detects mistakes, not attacks: others may write to the header afterwards, so nothing
 * relies on its content.
 *
 * Return: 0, or -1 with the fault set.
 */
int uma_packed_header_check(struct uma_run *run, __u32 slot,
			    const struct uma_op_cap *cap)
{
	const struct uma_tensor_view *t = &run->prog->op.t[slot];
	struct uma_packed_header want, tmp;
	const struct uma_packed_header *got;
	const char *field = 0;

	got = uma_mem_in(run, slot, t->addr, sizeof(tmp), &tmp);
	if (!got)
		return -1;
	uma_packed_header_make(t, run->prog->engine, cap, &want);
	if (got->magic != want.magic)
		field = "packed.magic";
	else if (got->version != want.version)
		field = "packed.version";
	else if (got->layout != want.layout)
		field = "packed.layout";
	else if (got->engine_class != want.engine_class)
		field = "packed.engine_class";
	else if (got->dtype != want.dtype)
		field = "packed.dtype";
	else if (got->block_k != want.block_k)
		field = "packed.block_k";
	else if (got->block_n != want.block_n)
		field = "packed.block_n";
	else if (got->rank != want.rank)
		field = "packed.rank";
	else if (__builtin_memcmp(got->dims, want.dims, sizeof(want.dims)))
		field = "packed.dims";
	else if (got->pad[0] || got->pad[1] || got->pad[2])
		field = "packed.pad";
	if (!field)
		return 0;
	uma_set_fault(run->fault, UMA_FAULT_LAYOUT, slot, field);
	run->fault->addr = t->addr;
	return -1;
}

static __u8 widen(__u8 nibble, int is_signed)
{
	return is_signed && nibble & 8 ? nibble | 0xf0 : nibble;
}

/* Unpack @count columns of a block, from column @n on, to rows of elements. */
static void block_rows(__u32 dtype, __u32 bk, const __u8 *block, __u32 n,
		       __u32 count, __u32 rows, void *out, __u32 ld)
{
	__u32 k, j;

	switch (uma_dtype_bits(dtype)) {
	case 32: {
		const __u32 *b = (const __u32 *)block + (__u64)n * bk;
		__u32 *o = out;

		for (k = 0; k < rows; k++)
			for (j = 0; j < count; j++)
				o[(__u64)k * ld + j] = b[j * bk + k];
		break;
	}
	case 16: {
		const __u16 *b = (const __u16 *)block + (__u64)n * bk;
		__u16 *o = out;

		for (k = 0; k < rows; k++)
			for (j = 0; j < count; j++)
				o[(__u64)k * ld + j] = b[j * bk + k];
		break;
	}
	case 8: {
		const __u8 *b = block + (__u64)n * bk;
		__u8 *o = out;

		for (k = 0; k < rows; k++)
			for (j = 0; j < count; j++)
				o[(__u64)k * ld + j] = b[j * bk + k];
		break;
	}
	default: {
		const __u8 *b = block + (__u64)n * bk / 2;
		__u32 half = bk / 2;
		__u8 *o = out;

		for (k = 0; k < rows; k++) {
			__u32 byte = k % half, shift = k < half ? 0 : 4;

			for (j = 0; j < count; j++)
				o[(__u64)k * ld + j] =
					widen((b[j * half + byte] >> shift) & 15,
					      dtype == UMA_DTYPE_S4);
		}
		break;
	}
	}
}

/*
 * uma_packed_rows - unpack rows of a packed operand
 * @run: context of the step
 * @slot: operand
 * @cap: capability row of the engine, for the block size
 * @batch: index of the matrix
 * @k: first row, a multiple of UMA_PACKED_K
 * @kc: number of rows, at most UMA_PACKED_K
 * @n: first column
 * @count: number of columns
 * @out: rows of elements, 4-bit ones as bytes
 * @ld: row stride of @out, in elements
 *
 * Return: 0, or -1 with the fault set.
 */
int uma_packed_rows(struct uma_run *run, __u32 slot,
		    const struct uma_op_cap *cap, __u64 batch, __u32 k,
		    __u32 kc, __u32 n, __u32 count, void *out, __u32 ld)
{
	const struct uma_tensor_view *t = &run->prog->op.t[slot];
	__u32 bk = uma_le16(cap->block_k), bn = uma_le16(cap->block_n);
	__u32 block = bk * bn * uma_dtype_bits(t->dtype) / 8;
	__u32 es = uma_wide_size(t->dtype);
	__u32 blocks = (kc + bk - 1) / bk;
	__u32 tmp[UMA_PACKED_BLOCK_MAX / 4];
	__u32 b;

	if (t->layout == UMA_LAYOUT_GEMM_B24)
		return uma_packed24_read(run, slot, cap, batch, k, kc, n, count, out, ld);
	while (count) {
		__u32 cols = UMA_MIN(count, bn - n % bn);
		__u64 addr = uma_packed_addr(t, cap, batch, k, n);

		/* Block by block, to limit the size of @tmp */
		for (b = 0; b < blocks; b++, addr += block) {
			__u32 rows = UMA_MIN(bk, kc - b * bk);
			const void *p;

			p = uma_mem_in(run, slot, addr, block, tmp);
			if (!p)
				return -1;
			block_rows(t->dtype, bk, p, n % bn, cols, rows,
				   (__u8 *)out + (__u64)b * bk * ld * es, ld);
		}
		out = (__u8 *)out + (__u64)cols * es;
		n += cols;
		count -= cols;
	}
	return 0;
}

/*
 * uma_packed_fill - pack a block
 * @dtype: type of the operand
 * @cap: capability row of the engine, for the block size
 * @kc: number of rows; further rows of the block become zero
 * @rows: rows of block_n elements, 4-bit ones as bytes
 * @ld: row stride of @rows, in elements
 * @block: out: packed block
 */
void uma_packed_fill(__u32 dtype, const struct uma_op_cap *cap, __u32 kc,
		     const void *rows, __u32 ld, void *block)
{
	__u32 bk = uma_le16(cap->block_k), bn = uma_le16(cap->block_n);
	__u32 bits = uma_dtype_bits(dtype);
	__u32 k, j;

	__builtin_memset(block, 0, (__u64)bk * bn * bits / 8);
	for (k = 0; k < kc; k++) {
		for (j = 0; j < bn; j++) {
			__u64 from = (__u64)k * ld + j, to = (__u64)j * bk + k;
			__u8 *byte;

			switch (bits) {
			case 32:
				((__u32 *)block)[to] = ((const __u32 *)rows)[from];
				break;
			case 16:
				((__u16 *)block)[to] = ((const __u16 *)rows)[from];
				break;
			case 8:
				((__u8 *)block)[to] = ((const __u8 *)rows)[from];
				break;
			default:
				byte = (__u8 *)block + j * (bk / 2) + k % (bk / 2);
				*byte |= (((const __u8 *)rows)[from] & 15)
					 << (k < bk / 2 ? 0 : 4);
				break;
			}
		}
	}
}
