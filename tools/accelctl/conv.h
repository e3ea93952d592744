/* SPDX-License-Identifier: MIT */
/*
 * A convolution from the command line: its sizes, its data, its reference.
 */
#ifndef ACCELCTL_CONV_H
#define ACCELCTL_CONV_H

#include "accelctl.h"
#include "npy.h"
#include "picture.h"

/**
 * enum conv_filter - filters for pictures
 * @CONV_FILTER_NONE: weights come from --b or the seed
 * @CONV_FILTER_BLUR: binomial, 5 x 5
 * @CONV_FILTER_SHARPEN: the picture and what it differs from its neighbours
 * @CONV_FILTER_EDGE: what a pixel differs from its eight neighbours
 * @CONV_FILTERS: number of values
 */
enum conv_filter {
	CONV_FILTER_NONE = 0,
	CONV_FILTER_BLUR = 1,
	CONV_FILTER_SHARPEN = 2,
	CONV_FILTER_EDGE = 3,
	CONV_FILTERS = 4
};

/** conv_kind_names - choices of --dtype, NULL-terminated */
extern const char *const conv_kind_names[];
/** conv_filter_names - names of enum conv_filter, NULL-terminated */
extern const char *const conv_filter_names[];
/** conv_algorithm_names - names of enum accel_conv_algorithm, NULL-terminated */
extern const char *const conv_algorithm_names[];

/** conv_table - options of run conv and explain conv */
extern const struct ctl_opt conv_table[];
/** conv_run_table - further options of run conv */
extern const struct ctl_opt conv_run_table[];

/**
 * struct conv_opts - options of run conv and explain conv
 */
struct conv_opts {
	uint64_t batch, channels, height, width, filters, size, stride, dilation, pad, groups;
	uint64_t seed, repeat, threads, timeout_ms;
	uint32_t dtype, engine, filter, algorithm, check;
	const char *a, *b, *out;
};

/** conv_opts_init - defaults */
void conv_opts_init(void *data);

/**
 * struct conv_tensor - four dimensions in a buffer
 * @dtype: &enum accel_dtype
 * @dims: as the convolution sees them: [N, C, H, W], [M, C / groups, H, W]
 * @last: channels run fastest: a picture
 * @bytes: size
 * @bo: buffer
 */
struct conv_tensor {
	uint32_t dtype;
	int64_t dims[4];
	bool last;
	uint64_t bytes;
	struct accel_bo *bo;
};

/**
 * struct conv - a convolution
 * @opts: what was asked for
 * @picture: of --a, if it is one
 * @file_a: of --a, if it is an array
 * @file_b: of --b
 * @weight_scale: of integer weights of a picture's filter
 * @a: input
 * @b: weights
 * @d: result
 * @desc: descriptor
 */
struct conv {
	const struct conv_opts *opts;
	struct picture picture;
	struct npy file_a;
	struct npy file_b;
	double weight_scale;
	struct conv_tensor a;
	struct conv_tensor b;
	struct conv_tensor d;
	struct accel_conv_desc desc;
};

/**
 * struct conv_verdict - the result against the reference
 * @max_abs: largest error
 * @ratio: largest quotient of error and bound
 * @differing: elements that are not the reference, rounded
 * @got: worst element
 * @want: what it should be
 */
struct conv_verdict {
	double max_abs;
	double ratio;
	uint64_t differing;
	double got;
	double want;
};

/** conv_init - read files, settle sizes and types; an exit status */
int conv_init(struct ctl *ctl, const struct conv_opts *opts, struct conv *c);
/** conv_describe - the descriptor, once the buffers are there */
void conv_describe(struct conv *c);
/** conv_fill - write input and weights */
void conv_fill(struct conv *c);
/** conv_check - float64 reference; returns 0, -EINTR */
int conv_check(const struct conv *c, struct conv_verdict *v);
/** conv_at - number of an element in memory */
uint64_t conv_at(const struct conv_tensor *t, int64_t n, int64_t c, int64_t y, int64_t x);
/** conv_fini - give everything up */
void conv_fini(struct conv *c);

int cmd_run_conv(struct ctl *ctl, void *data, const char *operand);
int cmd_explain_conv(struct ctl *ctl, void *data, const char *operand);

#endif /* ACCELCTL_CONV_H */
