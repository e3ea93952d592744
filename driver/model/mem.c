// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Access to device memory by &struct uma_mem_ops.map. Ranges that it maps contiguously are
 * used in place, others are accessed piece by piece. Elements of 4 bits are unpacked to
 * bytes when they are read, and packed when they are written.
 */
#include "uma_internal.h"

static int mem_fault(struct uma_run *run, __u32 slot, __u64 addr,
		     enum uma_access access)
{
	*run->fault = run->mem->fault;
	if (!run->fault->reason) {
		run->fault->reason = access == UMA_ACCESS_WRITE ?
			UMA_FAULT_WRITE : UMA_FAULT_READ;
		run->fault->addr = addr;
	}
	run->fault->slot = slot;
	run->fault->field = "addr";
	return -1;
}

/* Map at least one and at most *len bytes; NULL with the fault set */
static __u8 *map_piece(struct uma_run *run, __u32 slot, __u64 addr, __u64 *len,
		       enum uma_access access)
{
	__u64 want = *len;
	__u8 *p;

	p = run->mem->ops->map(run->mem, addr, len, access);
	if (!p) {
		mem_fault(run, slot, addr, access);
		return 0;
	}
	if (*len < 1 || *len > want) {
		uma_set_fault(run->fault, UMA_FAULT_INTERNAL, slot, "map");
		return 0;
	}
	return p;
}

/*
 * uma_map_span - map a range contiguously
 * @run: context of the step
 * @addr: device address
 * @bytes: size of the range
 * @access: direction
 *
 * Sets no fault: callers then access the range piece by piece, which does.
 *
 * Return: the mapped range, or NULL if that is not possible.
 */
void *uma_map_span(struct uma_run *run, __u64 addr, __u64 bytes,
		   enum uma_access access)
{
	__u64 len = bytes;
	void *p;

	if (!bytes)
		return 0;
	p = run->mem->ops->map(run->mem, addr, &len, access);
	if (!p) {
		run->mem->fault.reason = UMA_FAULT_NONE;
		run->mem->fault.addr = 0;
		return 0;
	}
	if (len < bytes)
		return 0;
	if (access == UMA_ACCESS_WRITE)
		run->mem->write_bytes += bytes;
	else
		run->mem->read_bytes += bytes;
	return p;
}

/*
 * uma_mem_in - read a range, in place or copied to @tmp
 * @run: context of the step
 * @slot: operand, for the fault
 * @addr: device address
 * @bytes: size of the range
 * @tmp: room for the range
 *
 * Return: the bytes, or NULL with the fault set.
 */
const void *uma_mem_in(struct uma_run *run, __u32 slot, __u64 addr,
		       __u64 bytes, void *tmp)
{
	__u8 *out = tmp;
	__u64 len = bytes;
	const __u8 *p;

	if (!bytes)
		return tmp;
	run->mem->read_bytes += bytes;
	p = map_piece(run, slot, addr, &len, UMA_ACCESS_READ);
	if (!p || len == bytes)
		return p;
	for (;;) {
		__builtin_memcpy(out, p, len);
		out += len;
		addr += len;
		bytes -= len;
		if (!bytes)
			return tmp;
		len = bytes;
		p = map_piece(run, slot, addr, &len, UMA_ACCESS_READ);
		if (!p)
			return 0;
	}
}

int uma_mem_out(struct uma_run *run, __u32 slot, __u64 addr, __u64 bytes,
		const void *src)
{
	const __u8 *in = src;

	run->mem->write_bytes += bytes;
	while (bytes) {
		__u64 len = bytes;
		__u8 *p = map_piece(run, slot, addr, &len, UMA_ACCESS_WRITE);

		if (!p)
			return -1;
		__builtin_memmove(p, in, len);
		in += len;
		addr += len;
		bytes -= len;
	}
	return 0;
}

/* Copy elements of size @es, @step bytes apart, to a dense array. */
static void pick(__u8 *dst, const __u8 *p, __u64 step, __u32 es, __u32 n,
		 int backwards)
{
	__s64 move = backwards ? -1 : 1;
	__u32 i;

	if (es == 4) {
		__u32 *d = (__u32 *)dst;

		for (i = 0; i < n; i++, d += move)
			__builtin_memcpy(d, p + i * step, 4);
	} else if (es == 2) {
		__u16 *d = (__u16 *)dst;

		for (i = 0; i < n; i++, d += move)
			__builtin_memcpy(d, p + i * step, 2);
	} else {
		for (i = 0; i < n; i++, dst += move)
			*dst = p[i * step];
	}
}

static void place(__u8 *p, const __u8 *src, __u64 step, __u32 es, __u32 n,
		  int backwards)
{
	__s64 move = backwards ? -1 : 1;
	__u32 i;

	if (es == 4) {
		const __u32 *s = (const __u32 *)src;

		for (i = 0; i < n; i++, s += move)
			__builtin_memcpy(p + i * step, s, 4);
	} else if (es == 2) {
		const __u16 *s = (const __u16 *)src;

		for (i = 0; i < n; i++, s += move)
			__builtin_memcpy(p + i * step, s, 2);
	} else {
		for (i = 0; i < n; i++, src += move)
			p[i * step] = *src;
	}
}

static __u8 widen(__u8 nibble, int is_signed)
{
	return is_signed && nibble & 8 ? nibble | 0xf0 : nibble;
}

static int gather_nibbles(struct uma_run *run, __u32 slot,
			  const struct uma_tensor_view *t, __s64 off,
			  __s64 stride, __u32 n, __u8 *out)
{
	int is_signed = t->dtype == UMA_DTYPE_S4;
	const __u8 *p = 0;
	__u64 left = 0;
	__u32 i;

	/* Bytes are mapped in runs if the stride is 1, else one by one. */
	for (i = 0; i < n; i++, off += stride) {
		__u64 addr = t->addr + (__u64)(off >> 1);

		if (stride != 1 || !p) {
			left = stride == 1 ? ((__u64)(n - i) + (off & 1) + 1) / 2 : 1;
			p = map_piece(run, slot, addr, &left, UMA_ACCESS_READ);
			if (!p)
				return -1;
			run->mem->read_bytes += left;
		}
		out[i] = widen((off & 1 ? *p >> 4 : *p) & 15, is_signed);
		if (off & 1)
			p = --left ? p + 1 : 0;
	}
	return 0;
}

static int scatter_nibbles(struct uma_run *run, __u32 slot,
			   const struct uma_tensor_view *t, __s64 off,
			   __s64 stride, __u32 n, const __u8 *in)
{
	__u8 *p = 0;
	__u64 left = 0;
	__u32 i;

	for (i = 0; i < n; i++, off += stride) {
		__u64 addr = t->addr + (__u64)(off >> 1);

		if (stride != 1 || !p) {
			left = stride == 1 ? ((__u64)(n - i) + (off & 1) + 1) / 2 : 1;
			p = map_piece(run, slot, addr, &left, UMA_ACCESS_WRITE);
			if (!p)
				return -1;
			run->mem->write_bytes += left;
		}
		if (off & 1) {
			*p = (*p & 0x0f) | (__u8)(in[i] << 4);
			p = --left ? p + 1 : 0;
		} else {
			*p = (*p & 0xf0) | (in[i] & 0x0f);
		}
	}
	return 0;
}

/* Number of elements of size @es, @step bytes apart, that are completely within @len bytes */
static __u32 whole_elements(__u64 len, __u64 step, __u32 es, __u32 n)
{
	__u64 fit;

	if (len < es)
		return 0;
	fit = (len - es) / step + 1;
	return fit < n ? (__u32)fit : n;
}

/*
 * uma_gather - read a run of elements, in place if it is dense and contiguously mapped
 * @run: context of the step
 * @slot: operand, for the fault
 * @t: operand
 * @off: linear offset of the first element
 * @stride: stride, in elements
 * @n: number of elements, at least 1
 * @tmp: room for the elements, 4-byte aligned
 *
 * Return: the elements, dense, 4-bit ones as bytes; NULL with the fault set.
 */
const void *uma_gather(struct uma_run *run, __u32 slot,
		       const struct uma_tensor_view *t, __s64 off,
		       __s64 stride, __u32 n, void *tmp)
{
	__u32 es = uma_dtype_bits(t->dtype) / 8;
	int backwards = stride < 0;
	__u8 *dst = tmp;
	__u64 addr, step;

	if (!es) {
		if (gather_nibbles(run, slot, t, off, stride, n, dst))
			return 0;
		return tmp;
	}
	if (stride == 1)
		return uma_mem_in(run, slot, t->addr + (__u64)(off * es),
				  (__u64)n * es, tmp);
	if (!stride) {
		const void *p = uma_mem_in(run, slot, t->addr + (__u64)(off * es),
					   es, tmp);
		__u32 word = 0;
		__u32 i;

		if (!p)
			return 0;
		__builtin_memcpy(&word, p, es);
		for (i = 0; i < n; i++)
			__builtin_memcpy(dst + (__u64)i * es, &word, es);
		return tmp;
	}
	run->mem->read_bytes += (__u64)n * es;
	/* A piece extends upwards from an address, so begin with the lowest one. */
	if (backwards) {
		off += stride * (__s64)(n - 1);
		stride = -stride;
		dst += (__u64)(n - 1) * es;
	}
	step = (__u64)stride * es;
	addr = t->addr + (__u64)(off * es);
	while (n) {
		__u64 len = (__u64)(n - 1) * step + es;
		const __u8 *p = map_piece(run, slot, addr, &len, UMA_ACCESS_READ);
		__u32 fit;

		if (!p)
			return 0;
		fit = whole_elements(len, step, es, n);
		if (fit) {
			pick(dst, p, step, es, fit, backwards);
		} else {
			/* The element is in two pieces. */
			const void *one = uma_mem_in(run, slot, addr, es, dst);

			if (!one)
				return 0;
			if (one != dst)
				__builtin_memcpy(dst, one, es);
			fit = 1;
		}
		addr += fit * step;
		n -= fit;
		if (backwards)
			dst -= (__u64)fit * es;
		else
			dst += (__u64)fit * es;
	}
	return tmp;
}

/*
 * uma_scatter - write a run of elements
 * @run: context of the step
 * @slot: operand, for the fault
 * @t: operand
 * @off: linear offset of the first element
 * @stride: stride, in elements
 * @n: number of elements
 * @raw: the elements, dense, 4-bit ones as bytes
 *
 * Return: 0, or -1 with the fault set.
 */
int uma_scatter(struct uma_run *run, __u32 slot,
		const struct uma_tensor_view *t, __s64 off, __s64 stride,
		__u32 n, const void *raw)
{
	__u32 es = uma_dtype_bits(t->dtype) / 8;
	int backwards = stride < 0;
	const __u8 *src = raw;
	__u64 addr, step;

	if (!es)
		return scatter_nibbles(run, slot, t, off, stride, n, src);
	if (stride == 1 || n == 1)
		return uma_mem_out(run, slot, t->addr + (__u64)(off * es),
				   (__u64)n * es, src);
	run->mem->write_bytes += (__u64)n * es;
	if (backwards) {
		off += stride * (__s64)(n - 1);
		stride = -stride;
		src += (__u64)(n - 1) * es;
	}
	step = (__u64)stride * es;
	addr = t->addr + (__u64)(off * es);
	while (n) {
		__u64 len = (__u64)(n - 1) * step + es;
		__u8 *p = map_piece(run, slot, addr, &len, UMA_ACCESS_WRITE);
		__u32 fit;

		if (!p)
			return -1;
		fit = whole_elements(len, step, es, n);
		if (fit) {
			place(p, src, step, es, fit, backwards);
		} else {
			if (uma_mem_out(run, slot, addr, es, src))
				return -1;
			fit = 1;
		}
		addr += fit * step;
		n -= fit;
		if (backwards)
			src -= (__u64)fit * es;
		else
			src += (__u64)fit * es;
	}
	return 0;
}
