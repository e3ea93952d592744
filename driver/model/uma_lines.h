/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Common code of the operations along lines: softmax, norms, reductions, scans and
 * top-k.
 *
 * A line consists of all elements of A whose indices differ only in the dimensions
 * of a mask; there is one line for each index in the other dimensions. A line is
 * divided into chunks of at most UMA_ROW_MAX elements along its innermost dimension,
 * in row-major order of the operand's dimensions. One worker processes all chunks of
 * a line, as often as the operation needs. Its state between two such units of work
 * is in the worker's scratch memory.
 */
#ifndef _UMA_LINES_H_
#define _UMA_LINES_H_

#include "uma_internal.h"

/**
 * struct uma_lines - division of a task into lines and chunks, in the program
 * @size: size of each dimension after adjacent ones are merged
 * @along: mask of the dimensions of a line
 * @inner: dimension that chunks go along
 * @chunk: number of elements of a chunk, except for the last one of its dimension
 * @cost: work per element, in multiply-adds
 * @cuts: number of chunks of the inner dimension
 * @chunks: number of chunks of a line, 1 for a line without elements
 * @n: number of elements of a line
 * @units: number of units of work of a line
 * @count: number of lines
 * @tile_lines: number of lines of a tile
 * @step_units: number of units of a step
 */
struct uma_lines {
	__u32 size[UMA_MAX_RANK];
	__u32 along;
	__u32 inner;
	__u32 chunk;
	__u32 cost;
	__u64 cuts;
	__u64 chunks;
	__u64 n;
	__u64 units;
	__u64 count;
	__u64 tile_lines;
	__u64 step_units;
};

_Static_assert(sizeof(struct uma_lines) <= sizeof(((struct uma_program *)0)->priv),
	       "priv");

/**
 * struct uma_line - a unit of work
 * @run: the current step
 * @lines: division of the task
 * @unit: index of the unit within the line
 * @idx: logical index of the line's first element, or of a chunk's
 * @n: number of elements of the chunk, 0 if the line has none
 * @at: position of the chunk's first element in the line
 */
struct uma_line {
	struct uma_run *run;
	const struct uma_lines *lines;
	__u64 unit;
	__u32 idx[UMA_MAX_RANK];
	__u32 n;
	__u64 at;
};

typedef int uma_line_fn(struct uma_line *l);

__u64 uma_line_k(const struct uma_op *op);
int uma_line_decode_axis(__u32 axis, struct uma_op *op, struct uma_fault_info *fault);
int uma_line_match(const struct uma_op *op, const char *field, struct uma_fault_info *fault);
void uma_lines_prepare(struct uma_program *prog, __u32 slots, __u32 cost);
void uma_lines_units(struct uma_program *prog, __u64 units);
int uma_lines_step(struct uma_run *run, __u32 tile, __u32 *step, uma_line_fn *fn);
void uma_line_chunk(struct uma_line *l, __u64 chunk);
int uma_line_plain(const struct uma_op *op, __u32 slot);
int uma_line_load(struct uma_line *l, __u32 slot, struct uma_rowbuf *buf, float *x);
const __s32 *uma_line_ints(struct uma_line *l, __u32 slot, struct uma_rowbuf *buf);
struct uma_row uma_line_row(const struct uma_line *l, __u32 slot);
int uma_line_combine(struct uma_line *l, __u32 slot, __u32 func, struct uma_rowbuf *buf,
		     float *x, float *tmp);
int uma_line_finish(struct uma_line *l, struct uma_rowbuf *buf, float *x, float *tmp);
int uma_line_epilogue(struct uma_line *l, struct uma_rowbuf *buf, float *x, float *tmp);

/* --- order ---------------------------------------------------------------- */

/* Maps binary32 to integers of the same order, with -0 below +0; its own inverse. */
static inline __s32 uma_f32_key(__u32 bits)
{
	return (__s32)(bits & UMA_F32_SIGN ? bits ^ ~UMA_F32_SIGN : bits);
}

static inline int uma_f32_is_nan(__u32 bits)
{
	return (bits & ~UMA_F32_SIGN) > UMA_F32_INF;
}

/**
 * struct uma_best - the largest number so far
 * @key: uma_f32_key() of that number
 * @nan: there was a NaN
 */
struct uma_best {
	__s32 key;
	__u32 nan;
};

/**
 * struct uma_line_range - range of a line, and its quantisation
 * @max: the largest number so far
 * @min: the smallest number so far
 * @scale: scale of the line, binary32 bits
 * @zero: zero point of the line
 * @ints: scratch memory
 * @bytes: scratch memory
 */
struct uma_line_range {
	struct uma_best max;
	struct uma_best min;
	__u32 scale;
	__s32 zero;
	__s32 ints[UMA_ROW_MAX];
	__u8 bytes[UMA_ROW_MAX];
};

void uma_range_add(struct uma_line_range *r, const float *x, __u32 n, int first);
void uma_range_scale(struct uma_run *run, struct uma_line_range *r, __u32 scales, int asymmetric);
int uma_range_close(struct uma_line *l, struct uma_line_range *r, __u32 scales, int asymmetric,
		    struct uma_rowbuf *buf);
int uma_range_store(struct uma_run *run, struct uma_line_range *r, const struct uma_row *row,
		    const float *x);
/* Store a chunk as 8-bit integers. */
static inline int uma_line_store_range(struct uma_line *l, struct uma_line_range *r, const float *x)
{
	const struct uma_row row = uma_line_row(l, UMA_SLOT_DST);

	return uma_range_store(l->run, r, &row, x);
}

int uma_range_match(const struct uma_op *op, __u32 scales, int asymmetric,
		    struct uma_fault_info *fault);

void uma_best_open(struct uma_best *b, int smallest);
void uma_best_row(struct uma_best *b, const float *x, __u32 n, int smallest);
__u32 uma_best_bits(const struct uma_best *b);

#endif /* _UMA_LINES_H_ */
