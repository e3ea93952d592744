/* SPDX-License-Identifier: MIT */
/*
 * A GEMM from the command line: its sizes, its data, its reference.
 */
#ifndef ACCELCTL_GEMM_H
#define ACCELCTL_GEMM_H

#include "accelctl.h"
#include "npy.h"

/**
 * enum gemm_kind - values of --dtype
 * @GEMM_FP32: fp32 x fp32
 * @GEMM_FP16: fp16 x fp16
 * @GEMM_BF16: bf16 x bf16
 * @GEMM_INT8: int8 or uint8 x int8 or uint8, summed in int32
 * @GEMM_INT4: fp16 x 4-bit weights with group scales
 * @GEMM_KINDS: number of values
 * @GEMM_UNSET: not given
 */
enum gemm_kind {
	GEMM_FP32 = 0,
	GEMM_FP16 = 1,
	GEMM_BF16 = 2,
	GEMM_INT8 = 3,
	GEMM_INT4 = 4,
	GEMM_KINDS = 5,
	GEMM_UNSET = 0xff
};

/** gemm_kind_names - names of enum gemm_kind, NULL-terminated */
extern const char *const gemm_kind_names[];
/** gemm_out_names - choices of --out-dtype, NULL-terminated; see gemm_out_dtypes */
extern const char *const gemm_out_names[];
/** gemm_out_dtypes - enum accel_dtype of each */
extern const uint32_t gemm_out_dtypes[];

/** gemm_table - options of run gemm and explain gemm */
extern const struct ctl_opt gemm_table[];
/** gemm_run_table - further options of run gemm */
extern const struct ctl_opt gemm_run_table[];

/**
 * struct gemm_opts - options of run gemm and explain gemm
 */
struct gemm_opts {
	uint64_t m, n, k, batch, group, seed, repeat, threads, timeout_ms;
	double alpha, beta, p0, p1;
	uint32_t dtype, out_dtype, engine, act;
	uint32_t trans_a, trans_b, bias, pack, check, brief;
	const char *a, *b, *scales, *out, *compare;
};

/** gemm_opts_init - defaults */
void gemm_opts_init(void *data);

/**
 * struct gemm_mat - a matrix, or a batch of them, in a buffer
 */
struct gemm_mat {
	/** @dtype: &enum accel_dtype, ACCEL_NONE: there is none */
	uint32_t dtype;
	/** @batch: matrices */
	int64_t batch;
	/** @rows: as stored */
	int64_t rows;
	/** @cols: as stored */
	int64_t cols;
	/** @ld: elements from row to row */
	int64_t ld;
	/** @bytes: size */
	uint64_t bytes;
	/** @bo: buffer */
	struct accel_bo *bo;
	/** @ptr: address for the CPU */
	void *ptr;
};

/**
 * struct gemm - a GEMM
 */
struct gemm {
	/** @opts: options */
	const struct gemm_opts *opts;
	/** @kind: &enum gemm_kind */
	uint32_t kind;
	/** @m: rows of the result */
	int64_t m;
	/** @n: columns of the result */
	int64_t n;
	/** @k: length of the sums */
	int64_t k;
	/** @batch: matrices of the result */
	int64_t batch;
	/** @rank: 2, or 3 with batches */
	uint32_t rank;
	/** @group: 4-bit weights: indices that share a scale */
	uint32_t group;
	/** @alpha: factor */
	double alpha;
	/** @beta: factor of c */
	double beta;
	/** @file_a: contents of --a */
	struct npy file_a;
	/** @file_b: contents of --b */
	struct npy file_b;
	/** @file_scales: contents of --scales */
	struct npy file_scales;
	/** @a: left matrix */
	struct gemm_mat a;
	/** @b: right matrix */
	struct gemm_mat b;
	/** @scales: of b */
	struct gemm_mat scales;
	/** @c: addend */
	struct gemm_mat c;
	/** @bias: one row */
	struct gemm_mat bias;
	/** @d: result */
	struct gemm_mat d;
	/** @desc: descriptor */
	struct accel_gemm_desc desc;
};

/** GEMM_INT8_SCALE: quantisation of int8 operands whose result is floating point */
#define GEMM_INT8_SCALE	(1.0 / 128)

/**
 * gemm_init - read files, settle sizes and types, fill the descriptor
 * @ctl: invocation
 * @opts: options; must outlive @g
 * @g: out; gemm_fini() it also after a failure
 *
 * Return: an exit status.
 */
int gemm_init(struct ctl *ctl, const struct gemm_opts *opts, struct gemm *g);

/**
 * gemm_fill - allocate buffers and write the inputs
 * @ctl: invocation
 * @ctx: context
 * @g: initialised
 *
 * Return: an exit status.
 */
int gemm_fill(struct ctl *ctl, struct accel_ctx *ctx, struct gemm *g);

/**
 * gemm_fini - release everything
 * @g: zeroed or initialised
 */
void gemm_fini(struct gemm *g);

/**
 * struct gemm_verdict - outcome of a comparison
 */
struct gemm_verdict {
	/** @max_abs: largest |result - reference|, infinite for a NaN that should not be */
	double max_abs;
	/** @max_rel: largest |result - reference| / (sum of the magnitudes of the terms) */
	double max_rel;
	/** @bound: bound of @max_rel, from types and K */
	double bound;
	/** @ratio: largest |result - reference| / (bound of that element): at most 1 is right */
	double ratio;
	/** @batch: place of the largest ratio */
	int64_t batch;
	/** @row: place of the largest ratio */
	int64_t row;
	/** @col: place of the largest ratio */
	int64_t col;
	/** @got: result there */
	double got;
	/** @want: reference there */
	double want;
	/** @differing: elements that differ from the correctly rounded reference */
	uint64_t differing;
};

/**
 * gemm_check - compare the result with a float64 reference
 * @g: filled, and run
 * @v: out
 *
 * Return: 0; -ENOMEM; -EINTR.
 */
int gemm_check(const struct gemm *g, struct gemm_verdict *v);

/**
 * gemm_compare - compare the result with another device's
 * @g: run
 * @other: values, of the same dimensions
 * @v: out: @bound and @ratio are for two results that are both within the bound; @want is the
 *	other
 *
 * Return: 0; -ENOMEM; -EINTR.
 */
int gemm_compare(const struct gemm *g, const struct npy *other,
		 struct gemm_verdict *v);

/**
 * act_parameters - defaults of the parameters of an activation
 * @act: &enum accel_act
 * @p0: in: first parameter or NaN; out: NaN is replaced by the default
 * @p1: second parameter, likewise
 *
 * Return: number of parameters.
 */
uint32_t act_parameters(uint32_t act, double *p0, double *p1);

/* values.c */

/**
 * value_get - read an element
 * @dtype: &enum accel_dtype
 * @base: element 0
 * @index: which
 *
 * Return: its stored number.
 */
double value_get(uint32_t dtype, const void *base, uint64_t index);

/**
 * value_put - write an element, rounded to nearest even; integers saturate
 * @dtype: &enum accel_dtype
 * @base: element 0
 * @index: which
 * @value: number
 */
void value_put(uint32_t dtype, void *base, uint64_t index, double value);

/**
 * value_round - convert a number to a type and back
 * @dtype: &enum accel_dtype
 * @value: number
 *
 * Return: the stored number.
 */
double value_round(uint32_t dtype, double value);

/* The largest number of a floating-point type */
double value_max(uint32_t dtype);

/**
 * value_random - a number that depends only on the arguments
 * @seed: seed
 * @stream: number of the tensor
 * @index: number of the element
 *
 * Return: 64 random bits.
 */
uint64_t value_random(uint64_t seed, uint32_t stream, uint64_t index);

/**
 * act_apply - activation in float64
 * @act: &enum accel_act
 * @x: argument
 * @p0: first parameter
 * @p1: second parameter
 *
 * Return: its value.
 */
double act_apply(uint32_t act, double x, double p0, double p1);

/**
 * act_slope - Lipschitz constant of an activation
 * @act: &enum accel_act
 * @p0: first parameter
 * @p1: second parameter
 *
 * Return: the constant.
 */
double act_slope(uint32_t act, double p0, double p1);

#endif /* ACCELCTL_GEMM_H */
