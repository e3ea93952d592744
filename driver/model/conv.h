/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Declarations of the convolution's files.
 *
 * All of them handle two spatial dimensions: the first one of a one-dimensional
 * operand is 1. A sum runs over taps, row by row, and within a tap over the input
 * channels of the group, independent of the layout in memory.
 */
#ifndef _UMA_MODEL_CONV_H_
#define _UMA_MODEL_CONV_H_

#include "uma_conv.h"
#include "uma_internal.h"

_Static_assert(sizeof(struct conv_plan) <= sizeof(((struct uma_program *)0)->priv),
	       "priv");

/**
 * struct conv_span - outputs of a run for which a tap has an input
 * @first: the first output, relative to the start of the run
 * @count: number of outputs
 * @step: stride of the outputs
 * @in: input of the first output
 * @in_step: stride of the inputs
 */
struct conv_span {
	__u32 first;
	__u32 count;
	__u32 step;
	__u32 in;
	__u32 in_step;
};

/**
 * struct conv_tile - the current tile
 * @run: the current step
 * @p: division of the task into tiles
 * @s: the worker's scratch memory
 * @image: index of the image
 * @group: index of the group of channels
 * @p0: first position
 * @n0: first channel of the tile within the group
 * @m: number of positions
 * @n: number of channels
 */
struct conv_tile {
	struct uma_run *run;
	const struct conv_plan *p;
	struct uma_gemm_scratch *s;
	__u32 image;
	__u32 group;
	__u64 p0;
	__u32 n0;
	__u32 m;
	__u32 n;
};

/**
 * struct conv_segment - positions of a tile that are in one row of the output
 * @y: row
 * @x: first column
 * @at: row of the tile
 * @n: number of positions
 */
struct conv_segment {
	__u32 y;
	__u32 x;
	__u32 at;
	__u32 n;
};

/**
 * struct conv_piece - input channels of a tap
 * @y: row of the tap
 * @x: column of the tap
 * @c: first channel within the group
 * @n: number of channels
 * @at: index of the first channel in the block
 */
struct conv_piece {
	__u32 y;
	__u32 x;
	__u32 c;
	__u32 n;
	__u32 at;
};

static inline const struct conv_plan *conv_plan_of(const struct uma_run *run)
{
	return (const void *)run->prog->priv;
}

/* The index of an element of DST, for the epilogue. */
static inline void conv_index(const struct uma_run *run, __u32 n, __u32 c, __u32 y,
			      __u32 x, __u32 *idx)
{
	const struct uma_tensor_view *d = &run->prog->op.t[UMA_SLOT_DST];

	__builtin_memset(idx, 0, UMA_MAX_RANK * sizeof(*idx));
	idx[0] = n;
	idx[1] = c;
	idx[d->rank - 1] = x;
	if (d->rank == 4)
		idx[2] = y;
}

struct conv_span conv_span_of(const struct conv_plan *p, __u32 axis, __u32 o, __u32 n,
			      __u32 k);

/* conv_load.c */
int conv_next_segment(const struct conv_tile *t, struct conv_segment *g);
struct conv_piece conv_piece_at(const struct conv_plan *p, __u32 k, __u32 left);
int conv_along_channels(const struct conv_plan *p);
__s64 conv_a_offset(const struct conv_tile *t, const struct conv_span *y,
		    const struct conv_span *x, __u32 c);
int conv_load_f32(struct conv_tile *t, const struct conv_piece *q, const struct conv_span *y,
		  const struct conv_span *x, __u32 row0, __u32 step, int along_c);
int conv_load_a(struct conv_tile *t, __u32 k0, __u32 kc, struct uma_gemm_block *g);
struct uma_row conv_b_row(const struct conv_tile *t, const struct conv_piece *q, __u32 c,
			  __u32 n, int along_n, __u32 *idx);
int conv_load_b(struct conv_tile *t, __u32 k0, __u32 kc, struct uma_gemm_block *g);
/* conv_gemm.c */
void conv_gemm_tiles(struct uma_program *prog, struct conv_plan *p);
int conv_gemm_step(struct uma_run *run, __u32 tile, __u32 *step);
/* conv_wino.c */
void conv_wino_tiles(struct uma_program *prog, struct conv_plan *p);
int conv_wino_step(struct uma_run *run, __u32 tile, __u32 *step);
/* conv_rows.c */
void conv_rows_tiles(struct uma_program *prog, struct conv_plan *p);
int conv_rows_step(struct uma_run *run, __u32 tile, __u32 *step);

#endif /* _UMA_MODEL_CONV_H_ */
