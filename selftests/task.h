/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Task descriptors for tests: the plainest of each kind.
 */
#ifndef _TASK_H_
#define _TASK_H_

#include <endian.h>
#include <string.h>

#include "uapi/drm/uma_task.h"

static inline void task_init(struct uma_task *t, unsigned int opcode, unsigned int slots)
{
	memset(t, 0, sizeof(*t));
	t->version = htole16(UMA_TASK_VERSION);
	t->opcode = htole16((__u16)opcode);
	t->slots = htole32(slots);
}

static inline __u32 float_bits(float f)
{
	__u32 bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* A dense row-major matrix of @rows x @cols. */
static inline void task_matrix(struct uma_task *t, unsigned int slot, unsigned int dtype,
			       __u64 addr, __u32 rows, __u32 cols)
{
	struct uma_operand *op = &t->op[slot];

	op->addr = htole64(addr);
	op->dtype = htole16((__u16)dtype);
	op->rank = htole16(2);
	op->dims[0] = htole32(rows);
	op->dims[1] = htole32(cols);
	op->strides[0] = htole64(cols);
	op->strides[1] = htole64(1);
}

static inline void task_vector(struct uma_task *t, unsigned int slot, unsigned int dtype,
			       __u64 addr, __u32 n)
{
	struct uma_operand *op = &t->op[slot];

	op->addr = htole64(addr);
	op->dtype = htole16((__u16)dtype);
	op->rank = htole16(1);
	op->dims[0] = htole32(n);
	op->strides[0] = htole64(1);
}

static inline void task_nop(struct uma_task *t)
{
	task_init(t, UMA_OP_NOP, 0);
}

static inline void task_fill(struct uma_task *t, unsigned int dtype, __u64 dst, __u32 n, __u32 bits)
{
	struct uma_fill_params p = { .value = htole32(bits) };

	task_init(t, UMA_OP_FILL, 1u << UMA_SLOT_DST);
	memcpy(t->params, &p, sizeof(p));
	task_vector(t, UMA_SLOT_DST, dtype, dst, n);
}

static inline void task_copy(struct uma_task *t, unsigned int dtype, __u64 dst, __u64 src, __u32 n)
{
	task_init(t, UMA_OP_COPY, 1u << UMA_SLOT_DST | 1u << UMA_SLOT_A);
	task_vector(t, UMA_SLOT_DST, dtype, dst, n);
	task_vector(t, UMA_SLOT_A, dtype, src, n);
}

/* DST[m, n] = A[m, k] x B[k, n], all dense. */
static inline void task_gemm(struct uma_task *t, unsigned int d_dtype, unsigned int ab_dtype,
			     __u64 dst, __u64 a, __u64 b, __u32 m, __u32 n, __u32 k)
{
	struct uma_gemm_params p = { .alpha = htole32(float_bits(1.0f)) };

	task_init(t, UMA_OP_GEMM, 1u << UMA_SLOT_DST | 1u << UMA_SLOT_A | 1u << UMA_SLOT_B);
	memcpy(t->params, &p, sizeof(p));
	task_matrix(t, UMA_SLOT_DST, d_dtype, dst, m, n);
	task_matrix(t, UMA_SLOT_A, ab_dtype, a, m, k);
	task_matrix(t, UMA_SLOT_B, ab_dtype, b, k, n);
}

static inline void task_gemm_f32(struct uma_task *t, __u64 dst, __u64 a, __u64 b, __u32 m, __u32 n,
				 __u32 k)
{
	task_gemm(t, UMA_DTYPE_F32, UMA_DTYPE_F32, dst, a, b, m, n, k);
}

static inline void task_gemm_s8(struct uma_task *t, __u64 dst, __u64 a, __u64 b, __u32 m, __u32 n,
				__u32 k)
{
	task_gemm(t, UMA_DTYPE_S32, UMA_DTYPE_S8, dst, a, b, m, n, k);
}

#endif /* _TASK_H_ */
