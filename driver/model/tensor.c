// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Shapes, strides and byte ranges of operands.
 *
 * Handles untrusted input: dimensions up to 2^32 - 1 and any strides. Nothing overflows,
 * and no loop has more iterations than operands have dimensions.
 */
#include "uma_internal.h"

static const struct uma_dtype_block blocks[UMA_DTYPE_COUNT] = {
	[UMA_DTYPE_F32] = { 0, 4 },
	[UMA_DTYPE_F16] = { 0, 2 },
	[UMA_DTYPE_BF16] = { 0, 2 },
	[UMA_DTYPE_S32] = { 0, 4 },
	[UMA_DTYPE_S8] = { 0, 1 },
	[UMA_DTYPE_U8] = { 0, 1 },
	[UMA_DTYPE_S4] = { 1, 1 },
	[UMA_DTYPE_U4] = { 1, 1 },
	[UMA_DTYPE_Q8_0] = { 5, 34 },
	[UMA_DTYPE_Q4_0] = { 5, 18 },
	[UMA_DTYPE_Q4_1] = { 5, 20 },
	[UMA_DTYPE_Q4_K] = { 8, 144 },
	[UMA_DTYPE_Q6_K] = { 8, 210 },
};

struct uma_dtype_block uma_dtype_block(__u32 dtype)
{
	return blocks[dtype < UMA_DTYPE_COUNT ? dtype : UMA_DTYPE_NONE];
}

__u32 uma_dtype_bits(__u32 dtype)
{
	struct uma_dtype_block b = uma_dtype_block(dtype);

	return uma_is_block(dtype) ? 0 : b.bytes * 8 >> b.shift;
}

/* Alignment of addresses in bytes; types of blocks contain binary16 numbers. */
__u32 uma_dtype_align(__u32 dtype)
{
	return uma_is_block(dtype) ? 2 : UMA_MAX(uma_dtype_bits(dtype) / 8, 1u);
}

/*
 * Check the shape of an operand of a type of blocks: blocks extend along one dimension,
 * which is a multiple of them and has stride 1; the other strides are multiples of a
 * block. Returns 0, UMA_FAULT_DIMS or UMA_FAULT_STRIDES.
 */
int uma_blocks_check(const struct uma_tensor_view *t)
{
	__u32 rest = (1u << uma_dtype_block(t->dtype).shift) - 1;
	__u32 d, along = 0;

	if (uma_tensor_empty(t))
		return 0;
	for (d = 0; d < t->rank; d++) {
		if (t->dims[d] < 2 || !((__u64)t->strides[d] & rest))
			continue;
		if (t->strides[d] != 1 || along++)
			return UMA_FAULT_STRIDES;
		if (t->dims[d] & rest)
			return UMA_FAULT_DIMS;
	}
	return along ? 0 : UMA_FAULT_DIMS;
}

/* Range of an integer type; returns -1 for other types. */
int uma_dtype_limits(__u32 dtype, __s64 *lo, __s64 *hi)
{
	switch (dtype) {
	case UMA_DTYPE_S32:
		*lo = -(1LL << 31);
		*hi = (1LL << 31) - 1;
		return 0;
	case UMA_DTYPE_S8:
		*lo = -128;
		*hi = 127;
		return 0;
	case UMA_DTYPE_U8:
		*lo = 0;
		*hi = 255;
		return 0;
	case UMA_DTYPE_S4:
		*lo = -8;
		*hi = 7;
		return 0;
	case UMA_DTYPE_U4:
		*lo = 0;
		*hi = 15;
		return 0;
	default:
		return -1;
	}
}

int uma_tensor_empty(const struct uma_tensor_view *t)
{
	__u32 d;

	for (d = 0; d < t->rank; d++)
		if (!t->dims[d])
			return 1;
	return 0;
}

/* Number of elements; saturates at 2^64 - 1 */
__u64 uma_tensor_elements(const struct uma_tensor_view *t)
{
	__u64 n = 1;
	__u32 d;

	if (uma_tensor_empty(t))
		return 0;
	for (d = 0; d < t->rank; d++)
		if (__builtin_mul_overflow(n, (__u64)t->dims[d], &n))
			return ~0ULL;
	return n;
}

/* Is [addr, addr + bytes) within the address width? */
int uma_span_ok(__u64 addr, __u64 bytes)
{
	return addr < UMA_ADDR_END && bytes <= UMA_ADDR_END - addr;
}

__s64 uma_tensor_offset(const struct uma_tensor_view *t, const __u32 *idx)
{
	__s64 off = 0;
	__u32 d;

	for (d = 0; d < t->rank; d++)
		off += (__s64)idx[d] * t->strides[d];
	return off;
}

static __u64 magnitude(__s64 v)
{
	return v < 0 ? -(__u64)v : (__u64)v;
}

/*
 * Compute the offsets of the lowest and the highest element from the first one, in
 * elements. Returns -1 if one of them is out of the address width in any case.
 */
static int element_extent(const struct uma_tensor_view *t, __s64 *lo, __s64 *hi)
{
	__u32 d;

	*lo = 0;
	*hi = 0;
	for (d = 0; d < t->rank; d++) {
		__s64 reach;

		if (t->dims[d] < 2)
			continue;
		if (__builtin_mul_overflow((__s64)(t->dims[d] - 1),
					   t->strides[d], &reach))
			return -1;
		if (__builtin_add_overflow(reach < 0 ? *lo : *hi, reach,
					   reach < 0 ? lo : hi))
			return -1;
	}
	/* An address width of 48 bits is 2^49 elements of 4 bits; callers check exactly. */
	if (*lo < -(1LL << 50) || *hi > (1LL << 50))
		return -1;
	return 0;
}

static __u64 logical_bytes(const struct uma_tensor_view *t)
{
	__u64 n = uma_tensor_elements(t);

	if (n > (1ULL << 50))
		return ~0ULL;
	if (t->layout == UMA_LAYOUT_GEMM_B24)
		n /= 2;
	return (n * uma_dtype_bits(t->dtype) + 7) / 8;
}

int uma_tensor_range(const struct uma_tensor_view *t, __u64 *lo, __u64 *hi)
{
	struct uma_dtype_block b = uma_dtype_block(t->dtype);
	__s64 first, last, from, to;

	*lo = t->addr;
	*hi = t->addr;
	if (t->addr >= UMA_ADDR_END)
		return -1;
	if (t->layout != UMA_LAYOUT_STRIDED) {
		/* A lower bound: padding depends on the block size of the engine. */
		__u64 bytes = logical_bytes(t);

		if (bytes > UMA_ADDR_END ||
		    !uma_span_ok(t->addr, bytes + sizeof(struct uma_packed_header)))
			return -1;
		*hi = t->addr + bytes + sizeof(struct uma_packed_header);
		return 0;
	}
	if (uma_tensor_empty(t))
		return 0;
	if (element_extent(t, &first, &last))
		return -1;
	from = (first >> b.shift) * b.bytes;
	to = ((last >> b.shift) + 1) * b.bytes;
	from += (__s64)t->addr;
	to += (__s64)t->addr;
	if (from < 0 || to > (__s64)UMA_ADDR_END)
		return -1;
	*lo = (__u64)from;
	*hi = (__u64)to;
	return 0;
}

/* Size of a group table along a dimension */
__u64 uma_table_dim(const struct uma_tensor_view *t, __u32 dim)
{
	if (t->quant_flags & UMA_QUANT_SHARED(dim))
		return 1;
	return dim == t->quant_axis ? uma_divup(t->dims[dim], t->quant_group) :
				      t->dims[dim];
}

/*
 * Check the ranges of the tables of a quantised operand and compute their number of
 * entries. Returns -1 if one of them is not within the address width.
 */
int uma_table_ranges(const struct uma_tensor_view *t, __u64 *entries)
{
	__u64 n = 1;
	__u32 d;

	*entries = 0;
	if (t->quant != UMA_QUANT_CHANNEL && t->quant != UMA_QUANT_GROUP)
		return 0;
	if (t->quant == UMA_QUANT_CHANNEL) {
		n = t->dims[t->quant_axis];
	} else if (uma_tensor_empty(t)) {
		n = 0;
	} else {
		for (d = 0; d < t->rank; d++)
			if (__builtin_mul_overflow(n, uma_table_dim(t, d), &n))
				return -1;
	}
	if (n > UMA_ADDR_END / 4)
		return -1;
	if (!uma_span_ok(t->scale_addr, n * (uma_dtype_bits(t->scale_dtype) / 8)))
		return -1;
	if (!uma_span_ok(t->zero_addr, n * 4) ||
	    !uma_span_ok(t->min_addr, n * (uma_dtype_bits(t->scale_dtype) / 8)))
		return -1;
	*entries = n;
	return 0;
}

/*
 * Sort the dimensions larger than 1 by the magnitude of their strides, in ascending order.
 * Returns their number.
 */
static __u32 sorted_dims(const struct uma_tensor_view *t, __u32 *order)
{
	__u32 d, i, n = 0;

	for (d = 0; d < t->rank; d++) {
		if (t->dims[d] < 2)
			continue;
		for (i = n; i > 0; i--) {
			if (magnitude(t->strides[order[i - 1]]) <=
			    magnitude(t->strides[d]))
				break;
			order[i] = order[i - 1];
		}
		order[i] = d;
		n++;
	}
	return n;
}

/*
 * May two elements overlap in memory? Exact if the dimensions nest, that is, each stride
 * is at least the extent of the dimensions with smaller strides; else returns 1. The
 * range of the operand has been checked.
 */
int uma_self_overlap(const struct uma_tensor_view *t)
{
	__u32 order[UMA_MAX_RANK];
	__u64 extent = 1;
	__u32 i, n;

	if (uma_tensor_empty(t))
		return 0;
	n = sorted_dims(t, order);
	for (i = 0; i < n; i++) {
		__u64 stride = magnitude(t->strides[order[i]]);

		if (stride < extent)
			return 1;
		extent += stride * (t->dims[order[i]] - 1);
	}
	return 0;
}

/*
 * Compute an interval, of *len bytes from *base on, that has the addresses of all elements
 * modulo @period bytes. Dimensions with a stride that is a multiple of the period do not
 * matter.
 */
static void residues(const struct uma_tensor_view *t, __u64 period,
		     __u64 *base, __u64 *len)
{
	__u32 bits = uma_dtype_bits(t->dtype);
	__s64 lo = 0, hi = 0;
	__u32 d;

	for (d = 0; d < t->rank; d++) {
		__s64 reach;

		if (t->dims[d] < 2 || !(magnitude(t->strides[d]) * bits % (period * 8)))
			continue;
		reach = t->strides[d] * (__s64)(t->dims[d] - 1);
		if (reach < 0)
			lo += reach;
		else
			hi += reach;
	}
	if (bits < 8) {
		*base = t->addr + (__u64)(lo >> 1);
		*len = (__u64)((hi >> 1) - (lo >> 1)) + 1;
	} else {
		*base = t->addr + (__u64)(lo * (bits / 8));
		*len = (__u64)(hi - lo + 1) * (bits / 8);
	}
	*base %= period;
}

/*
 * Do two views use disjoint intervals of each period, like column slices of a matrix? Their
 * ranges have been checked.
 */
static int interleaved(const struct uma_tensor_view *a,
		       const struct uma_tensor_view *b, __u64 period)
{
	__u64 base_a, len_a, base_b, len_b, dist;

	residues(a, period, &base_a, &len_a);
	residues(b, period, &base_b, &len_b);
	if (len_a >= period || len_b >= period || len_a + len_b > period)
		return 0;
	dist = base_b >= base_a ? base_b - base_a : base_b + period - base_a;
	return dist >= len_a && period - dist >= len_b;
}

static int same_place(const struct uma_tensor_view *a,
		      const struct uma_tensor_view *b)
{
	__u32 d;

	if (a->addr != b->addr || a->dtype != b->dtype || a->rank != b->rank)
		return 0;
	for (d = 0; d < a->rank; d++) {
		if (a->dims[d] != b->dims[d])
			return 0;
		if (a->dims[d] > 1 && a->strides[d] != b->strides[d])
			return 0;
	}
	return 1;
}

/*
 * Can writing @dst modify @in? Both are strided and their ranges have been checked. With
 * @in_place they may be the same view, as elements are replaced one by one.
 */
int uma_views_conflict(const struct uma_tensor_view *dst,
		       const struct uma_tensor_view *in, int in_place)
{
	const struct uma_tensor_view *side[2] = { dst, in };
	__u64 dlo, dhi, ilo, ihi;
	__u32 s, d;

	if (uma_tensor_range(dst, &dlo, &dhi) || uma_tensor_range(in, &ilo, &ihi))
		return 1;
	if (dlo >= dhi || ilo >= ihi || dhi <= ilo || ihi <= dlo)
		return 0;
	if (in_place && same_place(dst, in))
		return 0;
	if (uma_is_block(dst->dtype) || uma_is_block(in->dtype))
		return 1;
	for (s = 0; s < 2; s++) {
		__u32 bits = uma_dtype_bits(side[s]->dtype);

		for (d = 0; d < side[s]->rank; d++) {
			__u64 step = magnitude(side[s]->strides[d]) * bits;

			if (side[s]->dims[d] < 2 || step < 16 || step % 8)
				continue;
			if (interleaved(dst, in, step / 8))
				return 0;
		}
	}
	return 1;
}

/* Compute the size in bytes of a matrix of a packed operand. */
static int packed_matrix(const struct uma_tensor_view *t, __u32 layout,
			 __u32 block_k, __u32 block_n, __u64 *bytes)
{
	__u64 k = t->dims[t->rank - 2], n = uma_roundup(t->dims[t->rank - 1], block_n);
	__u64 rows = layout == UMA_LAYOUT_GEMM_B ? k : uma_packed24_rows(t->dims[t->rank - 2]);
	__u64 elements, positions;

	if (__builtin_mul_overflow(uma_roundup(rows, block_k), n, &elements))
		return -1;
	if (elements > (1ULL << 50))
		return -1;
	*bytes = uma_roundup((elements * uma_dtype_bits(t->dtype) + 7) / 8, 64);
	if (layout == UMA_LAYOUT_GEMM_B)
		return 0;
	/* Panels need no padding: blocks and positions are multiples of 64 bytes. */
	if (__builtin_mul_overflow(n / block_n,
				   uma_packed24_positions(t->dims[t->rank - 2], block_n),
				   &positions))
		return -1;
	if (positions > UMA_ADDR_END)
		return -1;
	*bytes += positions;
	return 0;
}

__u64 uma_packed_size(const struct uma_tensor_view *t, __u32 layout,
		      __u32 block_k, __u32 block_n)
{
	__u64 size;
	__u32 d;

	if ((layout != UMA_LAYOUT_GEMM_B && layout != UMA_LAYOUT_GEMM_B24) ||
	    t->rank < 2 || t->rank > UMA_MAX_RANK || !block_k || !block_n ||
	    !uma_dtype_bits(t->dtype))
		return 0;
	if (packed_matrix(t, layout, block_k, block_n, &size))
		return 0;
	for (d = 0; d + 2 < t->rank; d++)
		if (__builtin_mul_overflow(size, (__u64)t->dims[d], &size))
			return 0;
	if (size > UMA_ADDR_END)
		return 0;
	return size + sizeof(struct uma_packed_header);
}

const char *uma_fault_name(__u32 reason)
{
	static const char * const name[UMA_FAULT_COUNT] = {
		[UMA_FAULT_NONE] = "none",
		[UMA_FAULT_VERSION] = "version",
		[UMA_FAULT_OPCODE] = "opcode",
		[UMA_FAULT_FLAGS] = "flags",
		[UMA_FAULT_PAD] = "pad",
		[UMA_FAULT_SLOT] = "slot",
		[UMA_FAULT_DTYPE] = "dtype",
		[UMA_FAULT_RANK] = "rank",
		[UMA_FAULT_DIMS] = "dims",
		[UMA_FAULT_STRIDES] = "strides",
		[UMA_FAULT_LAYOUT] = "layout",
		[UMA_FAULT_QUANT] = "quant",
		[UMA_FAULT_EPILOGUE] = "epilogue",
		[UMA_FAULT_PARAMS] = "params",
		[UMA_FAULT_ALIGN] = "align",
		[UMA_FAULT_RANGE] = "range",
		[UMA_FAULT_OVERLAP] = "overlap",
		[UMA_FAULT_UNSUPPORTED] = "unsupported",
		[UMA_FAULT_READ] = "read",
		[UMA_FAULT_WRITE] = "write",
		[UMA_FAULT_TABLE] = "table",
		[UMA_FAULT_BUS] = "bus",
		[UMA_FAULT_ABORT] = "abort",
		[UMA_FAULT_STALE] = "stale",
		[UMA_FAULT_RING] = "ring",
		[UMA_FAULT_INTERNAL] = "internal",
	};

	return reason < UMA_FAULT_COUNT ? name[reason] : "unknown";
}
