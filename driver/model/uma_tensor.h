/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Operands: types, ranges, tables, and whether operands fit each other. Pure functions,
 * for the model and for code that has to agree with it.
 */
#ifndef _UMA_TENSOR_H_
#define _UMA_TENSOR_H_

#include "uma_model.h"

#ifdef __CHECKER__
#define UMA_FORCE	__attribute__((force))
#else
#define UMA_FORCE
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define UMA_LE16(x)	((UMA_FORCE __le16)(__u16)(x))
#define UMA_LE32(x)	((UMA_FORCE __le32)(__u32)(x))
#else
#error "rows and packed operands are used in place: little-endian only"
#endif

#define UMA_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define UMA_MIN(a, b)		((a) < (b) ? (a) : (b))
#define UMA_MAX(a, b)		((a) > (b) ? (a) : (b))

static inline __u32 uma_le16(__le16 v)
{
	return (UMA_FORCE __u16)v;
}

static inline __u32 uma_le32(__le32 v)
{
	return (UMA_FORCE __u32)v;
}

static inline __u64 uma_le64(__le64 v)
{
	return (UMA_FORCE __u64)v;
}

static inline __u64 uma_roundup(__u64 v, __u32 to)
{
	return (v + to - 1) / to * to;
}

/* @by is never 0. */
static inline __u64 uma_divup(__u64 v, __u64 by)
{
	return v / by + (v % by != 0);
}

static inline int uma_is_float(__u32 dtype)
{
	return dtype >= UMA_DTYPE_F32 && dtype <= UMA_DTYPE_BF16;
}

static inline int uma_is_int8(__u32 dtype)
{
	return dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_U8;
}

static inline int uma_is_int4(__u32 dtype)
{
	return dtype == UMA_DTYPE_S4 || dtype == UMA_DTYPE_U4;
}

static inline int uma_is_block(__u32 dtype)
{
	return dtype >= UMA_DTYPE_Q8_0 && dtype < UMA_DTYPE_COUNT;
}

/* Type of an element after it is loaded: nibbles become bytes. */
static inline __u32 uma_wide_dtype(__u32 dtype)
{
	return dtype == UMA_DTYPE_S4 ? UMA_DTYPE_S8 :
	       dtype == UMA_DTYPE_U4 ? UMA_DTYPE_U8 : dtype;
}

/* Size of an element after it is loaded, in bytes */
static inline __u32 uma_wide_size(__u32 dtype)
{
	return (uma_dtype_bits(uma_wide_dtype(dtype))) / 8;
}

static inline int uma_has(const struct uma_op *op, __u32 slot)
{
	return (op->slots >> slot) & 1;
}

/* Number of bytes at @shape_addr that a task with dynamic dimensions reads */
static inline __u32 uma_shape_size(const struct uma_op *op)
{
	return op->flags & UMA_TASK_LENGTH ? 4 : UMA_TASK_SLOTS * UMA_MAX_RANK * 4;
}

static inline int uma_set_fault(struct uma_fault_info *fault, __u32 reason,
				__u32 slot, const char *field)
{
	fault->reason = reason;
	fault->slot = slot;
	fault->addr = 0;
	fault->field = field;
	return -1;
}

/* --- bits of binary32 ------------------------------------------------------ */

#define UMA_F32_ONE	0x3f800000u
#define UMA_F32_INF	0x7f800000u
#define UMA_F32_NAN	0x7fc00000u
#define UMA_F32_SIGN	0x80000000u

/* --- tensor.c ------------------------------------------------------------- */

/** UMA_ADDR_BITS: width of device addresses */
#define UMA_ADDR_BITS		48
#define UMA_ADDR_END		(1ULL << UMA_ADDR_BITS)
/** UMA_STRIDE_MAX: largest magnitude of a stride, in elements */
#define UMA_STRIDE_MAX		(1LL << 50)

__u32 uma_dtype_align(__u32 dtype);
int uma_blocks_check(const struct uma_tensor_view *t);
int uma_dtype_limits(__u32 dtype, __s64 *lo, __s64 *hi);
int uma_tensor_empty(const struct uma_tensor_view *t);
__u64 uma_tensor_elements(const struct uma_tensor_view *t);
int uma_span_ok(__u64 addr, __u64 bytes);
__u64 uma_table_dim(const struct uma_tensor_view *t, __u32 dim);
int uma_table_ranges(const struct uma_tensor_view *t, __u64 *entries);
int uma_self_overlap(const struct uma_tensor_view *t);
int uma_views_conflict(const struct uma_tensor_view *dst,
		       const struct uma_tensor_view *in, int in_place);
__s64 uma_tensor_offset(const struct uma_tensor_view *t, const __u32 *idx);

/* The quantisation scheme as in the descriptor */
static inline __u32 uma_quant_scheme(const struct uma_tensor_view *t)
{
	return t->min_addr ? UMA_QUANT_GROUP_MIN : t->quant;
}

/* Do the stored elements of the two have the same meaning? */
static inline int uma_same_format(const struct uma_tensor_view *a,
				  const struct uma_tensor_view *b)
{
	return a->dtype == b->dtype && !a->quant && !b->quant;
}

/* --- match.c -------------------------------------------------------------- */

int uma_match_product_types(const struct uma_op *op, struct uma_fault_info *fault);
int uma_match_exact(const struct uma_op *op, struct uma_fault_info *fault);
int uma_op_exact(const struct uma_op *op);
int uma_gemm_integer(const struct uma_op *op);

/* --- gemm_experts.c ------------------------------------------------------- */

__u32 uma_expert_rows(__s32 count, __u32 left);
void uma_expert_op(struct uma_op *op, const struct uma_op_cap *cap, __u32 expert, __u32 first,
		   __u32 rows);

#endif /* _UMA_TENSOR_H_ */
