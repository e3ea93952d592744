/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Geometry of a convolution, for two spatial dimensions.
 */
#ifndef _UMA_CONV_H_
#define _UMA_CONV_H_

#include "uma_tensor.h"

/**
 * enum conv_path - how the sums are formed
 * @CONV_ROWS: a row of one output channel, one tap at a time: for few channels
 * @CONV_TAPS: block products, one tap at a time, with A in place
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
	/** @a_stride: strides of A: image, channel, row, column */
	__s64 a_stride[4];
	/** @b_stride: strides of B: output channel, input channel, row, column */
	__s64 b_stride[4];
	/** @b_group: stride of the groups of weights */
	__s64 b_group;
	/** @positions: number of outputs of a channel, or of tiles of Winograd */
	__u64 positions;
	/** @mtiles: number of tiles along the positions, or along the rows */
	__u64 mtiles;
	/** @images: number of images */
	__u32 images;
	/** @groups: number of groups */
	__u32 groups;
	/** @c: number of input channels of a group */
	__u32 c;
	/** @m: number of output channels of a group */
	__u32 m;
	/** @in: size of the input */
	__u32 in[2];
	/** @out: size of the output */
	__u32 out[2];
	/** @kernel: number of taps */
	__u32 kernel[2];
	/** @stride: stride of the windows; transposed: of the outputs */
	__u32 stride[2];
	/** @dilation: distance between taps */
	__u32 dilation[2];
	/** @pad: padding before the input */
	__u32 pad[2];
	/** @k: length of the sums */
	__u32 k;
	/** @mt: positions of a tile; CONV_ROWS: segments of a tile */
	__u32 mt;
	/** @nt: channels of a tile; CONV_ROWS: elements of a segment */
	__u32 nt;
	/** @kc: indices of the sums in a step; CONV_ROWS: lines in a step */
	__u32 kc;
	/** @ntiles: tiles along the output channels; CONV_ROWS: segments of a row */
	__u32 ntiles;
	/** @ksteps: number of steps along the sums */
	__u32 ksteps;
	/** @erows: positions of a step of the epilogue; CONV_ROWS: segments of a step */
	__u32 erows;
	/** @tiles: Winograd: number of tiles of the output along each dimension */
	__u32 tiles[2];
	/** @path: &enum conv_path */
	__u8 path;
	/** @edge: Winograd: number of outputs of a tile along a dimension */
	__u8 edge;
	/** @transposed: a transposed convolution */
	__u8 transposed;
	/** @integer: products of 8-bit integers */
	__u8 integer;
	/** @exact: results are exact, in s32 */
	__u8 exact;
	/** @unbounded: a tile is one step */
	__u8 unbounded;
	/** @packed: B is in blocks, with a matrix for each tap */
	__u8 packed;
	/** @uniform: taps and channels of B are equidistant in memory, as one dimension */
	__u8 uniform;
	/** @row_sums: B has zero points */
	__u8 row_sums;
	/** @col_sums: A has a zero point */
	__u8 col_sums;
};

/*
 * Number of Winograd's tiles, of @edge outputs, along a dimension of @out. Outputs that are as
 * far apart as the taps see only such inputs: tiles are those of as many convolutions without
 * dilation, which take turns. In the last turn fewer of them may have outputs left.
 */
static inline __u32 uma_wino_tiles(__u32 out, __u32 dilation, __u32 edge)
{
	__u32 turn = edge * dilation;

	return out / turn * dilation + UMA_MIN(out % turn, dilation);
}

/* The first output of tile @tile; the next ones, and its inputs, are the dilation apart. */
static inline __u64 conv_wino_first(const struct conv_plan *p, __u32 axis, __u32 tile)
{
	__u32 d = p->dilation[axis];

	return tile % d + (__u64)(tile / d) * p->edge * d;
}

/* Set all members that depend only on the operation. */
void conv_geometry(const struct uma_op *op, struct conv_plan *p);

#endif /* _UMA_CONV_H_ */
