// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Loads rows of operands as binary32 or integers, with dequantisation, and stores them. */
#include "uma_internal.h"

#define F32_ONE		0x3f800000u

static const struct uma_tensor_view *view_of(struct uma_run *run,
					     const struct uma_row *row)
{
	return &run->prog->op.t[row->slot];
}

/* Stride of a group table along dimension @dim; 0 if its indices share their entries */
__s64 uma_table_stride(const struct uma_tensor_view *t, __u32 dim)
{
	__u32 last = t->rank - 1u;
	__s64 stride = 1;
	__u32 d;

	if (t->quant_flags & UMA_QUANT_SHARED(dim))
		return 0;
	if ((t->quant_flags & UMA_QUANT_SWAPPED) && dim + 1 >= last) {
		/* The last dimension is the outer one of the last two. */
		return dim == last ? (__s64)uma_table_dim(t, last - 1) : 1;
	}
	for (d = last; d > dim; d--)
		stride *= (__s64)uma_table_dim(t, d);
	return stride;
}

/* Index of the table entry of an element, for channels or groups */
__u64 uma_table_index(const struct uma_tensor_view *t, const __u32 *idx)
{
	__u64 at = 0;
	__u32 d;

	if (t->quant == UMA_QUANT_CHANNEL)
		return idx[t->quant_axis];
	for (d = 0; d < t->rank; d++) {
		__u64 i = idx[d];

		if (d == t->quant_axis)
			i /= t->quant_group;
		at += i * (__u64)uma_table_stride(t, d);
	}
	return at;
}

/*
 * Load table entries for a run of elements: from index @first on, @step apart, each for
 * @every elements. A run either starts at the start of a group or is within one, since
 * runs start at multiples of UMA_ROW_MAX and group sizes are powers of two.
 */
static int table_entries(struct uma_run *run, const struct uma_row *row,
			 __u64 addr, __u32 dtype, __u64 first, __s64 step,
			 __u32 every, struct uma_rowbuf *buf, void *out)
{
	struct uma_tensor_view table = {
		.addr = addr,
		.dtype = (__u16)dtype,
	};
	__u32 es = uma_dtype_bits(dtype) / 8;
	__u32 n = (row->n + every - 1) / every;
	const __u8 *p;
	__u32 i;

	p = uma_gather(run, row->slot, &table, (__s64)first, step, n, buf->raw);
	if (!p)
		return -1;
	if (every == 1 && dtype == UMA_DTYPE_S32) {
		__builtin_memcpy(out, p, 4ul * n);
		return 0;
	}
	if (dtype != UMA_DTYPE_S32) {
		run->k->to_f32[dtype]((float *)buf->ints, p, n);
		if (every == 1) {
			__builtin_memcpy(out, buf->ints, 4ul * n);
			return 0;
		}
		p = (const __u8 *)buf->ints;
		es = 4;
	}
	for (i = 0; i < row->n; i++)
		__builtin_memcpy((__u8 *)out + 4ul * i,
				 p + (__u64)(i / every) * es, 4);
	return 0;
}

/*
 * uma_table_row - load scales and zero points, or minima, of a run of an operand that is
 * quantised by channels or groups
 * @run: context of the step
 * @row: run
 * @buf: out: in its members scale and zero; raw and ints are overwritten
 *
 * Return: 0, or -1 with the fault set.
 */
int uma_table_row(struct uma_run *run, const struct uma_row *row,
		  struct uma_rowbuf *buf)
{
	const struct uma_tensor_view *t = view_of(run, row);
	__u64 first = uma_table_index(t, row->idx);
	__u32 every = 1;
	__s64 step;

	if (t->quant == UMA_QUANT_CHANNEL) {
		step = row->axis == t->quant_axis;
	} else {
		step = uma_table_stride(t, row->axis);
		if (row->axis == t->quant_axis && step)
			every = t->quant_group;
	}
	if (table_entries(run, row, t->scale_addr, t->scale_dtype, first, step,
			  every, buf, buf->scale))
		return -1;
	if (t->min_addr)
		return table_entries(run, row, t->min_addr, t->scale_dtype, first, step,
				     every, buf, buf->zero);
	if (!t->zero_addr) {
		__builtin_memset(buf->zero, 0, 4ul * row->n);
		return 0;
	}
	return table_entries(run, row, t->zero_addr, UMA_DTYPE_S32, first, step,
			     every, buf, buf->zero);
}

/*
 * uma_dequant - dequantise integers
 * @k: inner kernels
 * @t: operand
 * @x: out: values
 * @ints: integers
 * @scale: scales
 * @second: zero points or minima, as uma_table_row() loads them
 * @step: 1: each element has its own scale, 0: all have the same
 * @n: number of elements, at most UMA_ROW_MAX
 */
void uma_dequant(const struct uma_kernels *k, const struct uma_tensor_view *t, float *x,
		 const __s32 *ints, const __u32 *scale, const __s32 *second, __u32 step, __u32 n)
{
	static const __s32 none;

	if (!t->min_addr) {
		k->dequant(x, ints, second, step, (const float *)scale, step, n);
		return;
	}
	k->dequant(x, ints, &none, 0, (const float *)scale, step, n);
	k->add(x, (const float *)second, step, n);
}

static void widen_s32(__s32 *dst, const void *raw, __u32 dtype, __u32 n)
{
	const __s8 *s8 = raw;
	const __u8 *u8 = raw;
	__u32 i;

	switch (dtype) {
	case UMA_DTYPE_S8:
		for (i = 0; i < n; i++)
			dst[i] = s8[i];
		break;
	case UMA_DTYPE_U8:
		for (i = 0; i < n; i++)
			dst[i] = u8[i];
		break;
	default:
		__builtin_memcpy(dst, raw, 4ul * n);
		break;
	}
}

/* Store integers that are in the range of the operand's type. */
static int store_ints(struct uma_run *run, const struct uma_row *row,
		      struct uma_rowbuf *buf, const __s32 *ints)
{
	const struct uma_tensor_view *t = view_of(run, row);
	__u8 *bytes = (__u8 *)buf->raw;
	__u32 i;

	if (t->dtype == UMA_DTYPE_S32)
		return uma_scatter(run, row->slot, t, row->off, row->stride,
				   row->n, ints);
	for (i = 0; i < row->n; i++)
		bytes[i] = (__u8)ints[i];
	return uma_scatter(run, row->slot, t, row->off, row->stride, row->n,
			   bytes);
}

/*
 * uma_row_s32 - load a run of an integer operand, without dequantisation
 * @run: context of the step
 * @row: run
 * @buf: temporary memory
 *
 * Return: the integers, valid until the next use of @buf; NULL with the fault set.
 */
const __s32 *uma_row_s32(struct uma_run *run, const struct uma_row *row,
			 struct uma_rowbuf *buf)
{
	const struct uma_tensor_view *t = view_of(run, row);
	const void *raw;

	raw = uma_gather(run, row->slot, t, row->off, row->stride, row->n,
			 buf->raw);
	if (!raw)
		return 0;
	if (t->dtype == UMA_DTYPE_S32)
		return raw;
	widen_s32(buf->ints, raw, uma_wide_dtype(t->dtype), row->n);
	return buf->ints;
}

/*
 * uma_row_blocks - load the values of a run of an operand of a type of blocks
 * @run: context of the step
 * @row: run
 * @buf: temporary memory; its scales and zero points are not changed
 * @out: room for the values
 *
 * Return: @out, or NULL with the fault set.
 */
const float *uma_row_blocks(struct uma_run *run, const struct uma_row *row,
			    struct uma_rowbuf *buf, float *out)
{
	const struct uma_tensor_view *t = view_of(run, row);
	struct uma_dtype_block b = uma_dtype_block(t->dtype);
	__u32 size = 1u << b.shift, i, some;
	float *x = (float *)buf->ints;
	__s64 off = row->off, last = 0;
	const void *p;

	for (i = 0; i < row->n; i += some, off += row->stride * (__s64)some) {
		__u32 first = (__u32)(__u64)off & (size - 1);

		some = row->stride == 1 ? UMA_MIN(row->n - i, size - first) : 1;
		if (!i || off >> b.shift != last) {
			last = off >> b.shift;
			p = uma_mem_in(run, row->slot, t->addr + (__u64)(last * (__s64)b.bytes),
				       b.bytes, buf->raw);
			if (!p)
				return 0;
			run->k->to_f32[t->dtype](x, p, size);
		}
		__builtin_memcpy(out + i, x + first, 4ul * some);
	}
	return out;
}

/*
 * uma_row_f32 - load the values of a run
 * @run: context of the step
 * @row: run
 * @buf: temporary memory
 * @tmp: room for the values
 *
 * Return: the values, in @tmp or in place; NULL with the fault set.
 */
const float *uma_row_f32(struct uma_run *run, const struct uma_row *row,
			 struct uma_rowbuf *buf, float *tmp)
{
	const struct uma_tensor_view *t = view_of(run, row);
	__u32 tabled = t->quant == UMA_QUANT_CHANNEL || t->quant == UMA_QUANT_GROUP;
	const void *raw;

	if (uma_is_block(t->dtype))
		return uma_row_blocks(run, row, buf, tmp);
	/* First the tables, since they overwrite buf->raw and buf->ints. */
	if (tabled && uma_table_row(run, row, buf))
		return 0;
	raw = uma_gather(run, row->slot, t, row->off, row->stride, row->n,
			 t->dtype == UMA_DTYPE_F32 ? (void *)tmp : buf->raw);
	if (!raw || t->dtype == UMA_DTYPE_F32)
		return raw;
	if (!t->quant) {
		run->k->to_f32[uma_wide_dtype(t->dtype)](tmp, raw, row->n);
		return tmp;
	}
	widen_s32(buf->ints, raw, uma_wide_dtype(t->dtype), row->n);
	if (tabled)
		uma_dequant(run->k, t, tmp, buf->ints, buf->scale, buf->zero, 1, row->n);
	else
		run->k->dequant(tmp, buf->ints, &t->zero, 0,
				(const float *)&t->scale, 0, row->n);
	return tmp;
}

/*
 * uma_row_store_f32 - convert or quantise values and store them to a run
 * @run: context of the step
 * @row: run
 * @buf: temporary memory
 * @x: values
 *
 * Return: 0, or -1 with the fault set.
 */
int uma_row_store_f32(struct uma_run *run, const struct uma_row *row,
		      struct uma_rowbuf *buf, const float *x)
{
	static const __u32 one = F32_ONE;
	static const __s32 none;
	const struct uma_tensor_view *t = view_of(run, row);
	__s64 lo, hi;

	if (t->dtype == UMA_DTYPE_F32)
		return uma_scatter(run, row->slot, t, row->off, row->stride,
				   row->n, x);
	if (uma_is_float(t->dtype)) {
		run->k->from_f32[t->dtype](buf->raw, x, row->n);
		return uma_scatter(run, row->slot, t, row->off, row->stride,
				   row->n, buf->raw);
	}
	uma_dtype_limits(t->dtype, &lo, &hi);
	switch (t->quant) {
	case UMA_QUANT_NONE:
		run->k->quant(buf->ints, x, &none, 0, (const float *)&one, 0,
			      (__s32)lo, (__s32)hi, row->n);
		break;
	case UMA_QUANT_TENSOR:
		run->k->quant(buf->ints, x, &t->zero, 0, (const float *)&t->scale,
			      0, (__s32)lo, (__s32)hi, row->n);
		break;
	default:
		if (uma_table_row(run, row, buf))
			return -1;
		run->k->quant(buf->ints, x, buf->zero, 1,
			      (const float *)buf->scale, 1, (__s32)lo, (__s32)hi,
			      row->n);
		break;
	}
	return store_ints(run, row, buf, buf->ints);
}

/*
 * uma_row_store_s64 - saturate integers and store them to a run of an unquantised operand
 * @run: context of the step
 * @row: run
 * @buf: temporary memory
 * @x: integers
 *
 * Return: 0, or -1 with the fault set.
 */
int uma_row_store_s64(struct uma_run *run, const struct uma_row *row,
		      struct uma_rowbuf *buf, const __s64 *x)
{
	__s64 lo, hi;
	__u32 i;

	uma_dtype_limits(view_of(run, row)->dtype, &lo, &hi);
	for (i = 0; i < row->n; i++)
		buf->ints[i] = (__s32)UMA_MIN(UMA_MAX(x[i], lo), hi);
	return store_ints(run, row, buf, buf->ints);
}
