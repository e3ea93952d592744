/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Random valid tasks: shapes, strides, quantisation and epilogues from the
 * task's random numbers. The task has been through mt_task_init().
 */
#ifndef _MODEL_GEN_H_
#define _MODEL_GEN_H_

#include "mt.h"

#define F32	UMA_DTYPE_F32
#define F16	UMA_DTYPE_F16
#define BF16	UMA_DTYPE_BF16
#define S32	UMA_DTYPE_S32
#define S8	UMA_DTYPE_S8
#define U8	UMA_DTYPE_U8
#define S4	UMA_DTYPE_S4
#define U4	UMA_DTYPE_U4
#define Q8_0	UMA_DTYPE_Q8_0
#define Q4_K	UMA_DTYPE_Q4_K
#define Q6_K	UMA_DTYPE_Q6_K

struct gen_types {
	int a, b, d;
};

void gen_epilogue(struct mt_task *t, int exact);
/* Slots A, B, DST; the function and the shape at random. */
void gen_conv(struct mt_task *t, const struct gen_types *c);
void gen_gemm(struct mt_task *t, const struct gen_types *c);
/* COPY, FILL, UNARY, BINARY: the task has its opcode. */
void gen_elementwise(struct mt_task *t, const struct gen_types *c, uint32_t func);
/* ROTARY: the type of b is that of the tables. */
void gen_rotary(struct mt_task *t, const struct gen_types *c);
/* NORM, SOFTMAX, REDUCE, TOPK, SCAN: the task has its opcode. */
void gen_lines(struct mt_task *t, const struct gen_types *c);

/* GATHER, SCATTER, POOL, RESIZE: the task has its opcode. */
void gen_vision(struct mt_task *t);

/* ATTENTION with features UMA_ATTN_*, less those that do not go together. */
void gen_attention(struct mt_task *t, uint32_t flags);
/* KV_WRITE with UMA_KV_WRITE_*: rows of a random type, some of them skipped, some to one slot. */
void gen_kv_write(struct mt_task *t, uint32_t flags);

#endif /* _MODEL_GEN_H_ */
