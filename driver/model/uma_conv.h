/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A convolution's geometry: what its descriptor says, for two spatial dimensions.
 */
#ifndef _UMA_CONV_H_
#define _UMA_CONV_H_

#include "uma_model.h"

/**
 * enum conv_path - how the sums are formed
 * @CONV_ROWS: a row of one output channel, a tap at a time: few channels
 * @CONV_TAPS: block products, one tap at a time, A where it lies
 * @CONV_BLOCKS: block products of gathered taps
 * @CONV_WINOGRAD: block products of transformed tiles
 */
enum conv_path {
	CONV_ROWS,
	CONV_TAPS,
	CONV_BLOCKS,
	CONV_WINOGRAD
};

/* Indices of the arrays of strides. */
#define CONV_N	0
#define CONV_C	1
#define CONV_Y	2
#define CONV_X	3

/**
 * struct conv_plan - a prepared convolution, in the program
 */
struct conv_plan {
	/** @a_stride: of A: image, channel, row, column */
	__s64 a_stride[4];
	/** @b_stride: of B: output channel, input channel, row, column */
	__s64 b_stride[4];
	/** @b_group: from the weights of one group to those of the next */
	__s64 b_group;
	/** @positions: outputs of a channel, or tiles of Winograd */
	__u64 positions;
	/** @mtiles: tiles along the positions, or along the rows */
	__u64 mtiles;
	/** @images: batch */
	__u32 images;
	/** @groups: groups */
	__u32 groups;
	/** @c: input channels of a group */
	__u32 c;
	/** @m: output channels of a group */
	__u32 m;
	/** @in: input */
	__u32 in[2];
	/** @out: output */
	__u32 out[2];
	/** @kernel: taps */
	__u32 kernel[2];
	/** @stride: of the window, transposed: of the outputs of an input */
	__u32 stride[2];
	/** @dilation: distance of taps */
	__u32 dilation[2];
	/** @pad: before the input */
	__u32 pad[2];
	/** @k: length of the sums */
	__u32 k;
	/** @mt: positions of a tile; rows: segments of one */
	__u32 mt;
	/** @nt: channels of a tile; rows: elements of a segment */
	__u32 nt;
	/** @kc: of the sums in a step; rows: lines */
	__u32 kc;
	/** @ntiles: tiles along the output channels; rows: segments of a row */
	__u32 ntiles;
	/** @ksteps: steps along the sums */
	__u32 ksteps;
	/** @erows: positions of a step of the epilogue; rows: segments of a step */
	__u32 erows;
	/** @tiles: Winograd: tiles of the output along each dimension */
	__u32 tiles[2];
	/** @path: &enum conv_path */
	__u8 path;
	/** @edge: Winograd: outputs of a tile along a dimension */
	__u8 edge;
	/** @transposed: every input spreads over the outputs */
	__u8 transposed;
	/** @integer: sums of bytes */
	__u8 integer;
	/** @exact: into s32 */
	__u8 exact;
	/** @unbounded: a tile is one step */
	__u8 unbounded;
	/** @packed: B is in blocks, a matrix for each tap */
	__u8 packed;
	/** @uniform: the taps of B follow each other like its channels */
	__u8 uniform;
	/** @row_sums: B has zero points */
	__u8 row_sums;
	/** @col_sums: A has a zero point */
	__u8 col_sums;
};

/* Fill all that follows from the operation alone. */
void conv_geometry(const struct uma_op *op, struct conv_plan *p);

#endif /* _UMA_CONV_H_ */
