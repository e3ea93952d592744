/* SPDX-License-Identifier: MIT */
/*
 * Other libraries, found when accelbench runs (or, if they are archives, when it
 * is built). Without them there is nothing to compare with, and no more.
 */
#ifndef PEERS_H
#define PEERS_H

#include "perf.h"

/**
 * struct peer_gemm - D = A x B, dense and row-major
 */
struct peer_gemm {
	/** @m: rows of A and D */
	int64_t m;
	/** @n: columns of B and D */
	int64_t n;
	/** @k: columns of A */
	int64_t k;
	/** @a_dtype: of A: ACCEL_F32, ACCEL_BF16, ACCEL_S8, ACCEL_U8 */
	uint32_t a_dtype;
	/** @b_dtype: of B: ACCEL_F32, ACCEL_BF16, ACCEL_S8 */
	uint32_t b_dtype;
	/** @d_dtype: of D: ACCEL_F32, ACCEL_S32 */
	uint32_t d_dtype;
	/** @packed: B may be rearranged before */
	bool packed;
	/** @ops: products in a run, each with an own D */
	uint32_t ops;
	/** @sets: matrices B that are used in turn */
	uint32_t sets;
	/** @a: A */
	const void *a;
	/** @b: matrices B one after the other; NULL: A and B are of no interest */
	const void *b;
	/** @error: error of a product */
	double (*error)(const void *d, void *arg);
	/** @error_arg: passed on */
	void *error_arg;
};

/**
 * struct peer_conv - a convolution; activations NHWC, weights [M, C / groups, h, w]
 */
struct peer_conv {
	/** @c: input channels */
	int64_t c;
	/** @m: output channels */
	int64_t m;
	/** @groups: of channels */
	int64_t groups;
	/** @in: height and width of the input */
	int64_t in;
	/** @out: of the output */
	int64_t out;
	/** @kernel: of the window */
	int64_t kernel;
	/** @stride: distance of windows */
	int64_t stride;
	/** @before: padding */
	int64_t before;
	/** @after: padding */
	int64_t after;
	/** @a_dtype: of activations and results: ACCEL_F32, ACCEL_BF16, ACCEL_U8 */
	uint32_t a_dtype;
	/** @b_dtype: of weights */
	uint32_t b_dtype;
	/** @scale: ACCEL_U8: results are multiplied by it */
	float scale;
	/** @a: input */
	const void *a;
	/** @b: weights */
	const void *b;
	/** @bias: float for each output channel */
	const float *bias;
	/** @winograd: with Winograd's algorithm; -EOPNOTSUPP where there is none */
	bool winograd;
	/** @error: error of a result, NHWC */
	double (*error)(const void *d, void *arg);
	/** @error_arg: passed on */
	void *error_arg;
};

/**
 * peers_load - load the other libraries
 * @threads: threads that they may use from now on
 *
 * To be called again when that changes; the first time with the maximum, and before the calling
 * thread is pinned, because they check its affinity.
 */
void peers_load(uint32_t threads);

/** peers_print - list on stderr the libraries that were found */
void peers_print(void);

/* peer_blas.c */

/**
 * openblas_load - find OpenBLAS
 * @threads: threads
 *
 * Return: what it is, or NULL.
 */
const char *openblas_load(uint32_t threads);

/**
 * openblas_gemm - a product
 * @g: product
 * @impl: out
 *
 * Return: 0; -EOPNOTSUPP; -ENOMEM.
 */
int openblas_gemm(const struct peer_gemm *g, struct perf_impl *impl);

/* peer_xsmm.c, peer_none.c */

/**
 * xsmm_load - start libxsmm
 *
 * Return: what it is, or NULL.
 */
const char *xsmm_load(void);

/**
 * xsmm_gemm - a product
 * @g: product
 * @impl: out
 *
 * Return: as openblas_gemm().
 */
int xsmm_gemm(const struct peer_gemm *g, struct perf_impl *impl);

/* peer_dnnl.c, peer_none.c */

/**
 * onednn_load - find oneDNN
 * @threads: threads
 *
 * Return: what it is, or NULL.
 */
const char *onednn_load(uint32_t threads);

/**
 * onednn_gemm - a product
 * @g: product
 * @impl: out
 *
 * Return: as openblas_gemm().
 */
int onednn_gemm(const struct peer_gemm *g, struct perf_impl *impl);

/**
 * onednn_conv - a convolution, in the layouts that it likes best
 * @c: convolution
 * @impl: out
 *
 * Return: as openblas_gemm().
 */
int onednn_conv(const struct peer_conv *c, struct perf_impl *impl);

#endif /* PEERS_H */
