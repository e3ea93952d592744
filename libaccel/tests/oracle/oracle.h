/* SPDX-License-Identifier: MIT */
/*
 * What the operations of libaccel mean, written as plainly as possible, in
 * binary64 and 64-bit integers. Knows the public header and nothing else.
 *
 * Of a result that is defined to the last bit, the oracle knows that bit. Of
 * any other it knows a value and a bound of the error that Documentation/
 * numerics.rst allows, carried along step by step.
 */
#ifndef LIBACCEL_TESTS_ORACLE_H
#define LIBACCEL_TESTS_ORACLE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <accel/accel.h>

/**
 * struct oracle_num - a number before it is stored
 * @v: value
 * @e: bound of the error; 0: @v is the binary32 that is stored
 */
struct oracle_num {
	double v;
	double e;
};

/**
 * struct oracle_result - what an operation should give
 * @count: elements of the result
 * @num: each of them, in row-major order
 * @exact: each of them as an integer, or NULL; then @num does not count
 * @sums: GEMM: largest sum of the magnitudes of products, for reports
 */
struct oracle_result {
	uint64_t count;
	struct oracle_num *num;
	int64_t *exact;
	double sums;
};

/*
 * How far a number is from what it should be: 0 where they are the same, NaN too; infinitely
 * where one of them alone is NaN or infinite. It is a number in any case: fmax() leaves no
 * difference out, and one that is beyond a bound is above it.
 */
static inline double oracle_apart(double got, double want)
{
	if (got == want || (isnan(got) && isnan(want)))
		return 0;
	return isfinite(got) && isfinite(want) ? fabs(got - want) : INFINITY;
}

uint64_t oracle_count(const struct accel_tensor *t);
void oracle_strides(const struct accel_tensor *t, int64_t *strides);
int64_t oracle_offset(const struct accel_tensor *t, const int64_t *idx);
void oracle_index(const struct accel_tensor *t, uint64_t n, int64_t *idx);
/* From an index to the one that follows, row-major; from the last to the first. No division. */
void oracle_next(const struct accel_tensor *t, int64_t *idx);

/* Read an element: as it is stored, or what it stands for, in binary32. */
int64_t oracle_load_int(const struct accel_tensor *t, const int64_t *idx);
double oracle_load_min(const struct accel_tensor *t, const int64_t *idx);
double oracle_load(const struct accel_tensor *t, const int64_t *idx);
/* Element @i of a block, exact in binary64, oracle_formats.c. */
double oracle_block_value(uint32_t dtype, const void *block, int i);
/* What element @i of a block has added to a product: a part of its value. */
double oracle_block_min(uint32_t dtype, const void *block, int i);
double oracle_gguf_value(uint32_t format, const void *block, int i);

/* Scale and zero point of an element; 1 and 0 if it has none. */
void oracle_quant(const struct accel_tensor *t, const int64_t *idx, double *scale,
		  int64_t *zero);

/* What an element is worth once the binary32 @v has been stored in it. */
double oracle_stored(const struct accel_tensor *t, const int64_t *idx, double v);
bool oracle_plain_int(const struct accel_tensor *t);

double oracle_round(double v, uint32_t dtype);
bool oracle_float_ok(double got, const struct oracle_num *want, uint32_t dtype,
		     double *expect, double *bound);
double oracle_f16_value(uint16_t bits);
uint16_t oracle_f16_bits(double v);

/* --- numbers with a bound of their error, oracle_num.c ------------------------------ */

/* Rounding to binary32: half a unit in the last place, relative: 2^-24 */
#define ORACLE_U	(1.0 / (1 << 24))
/* Smallest binary32: what underflow may cost: 2^-149 */
#define ORACLE_TINY	((double)__FLT_DENORM_MIN__)

struct oracle_num oracle_step(struct oracle_num x);
struct oracle_num oracle_seen(struct oracle_num x);
struct oracle_num oracle_add(struct oracle_num x, double y);
struct oracle_num oracle_mul(struct oracle_num x, double y);
struct oracle_num oracle_func(struct oracle_num x, double v, double slope, double units);
struct oracle_num oracle_activation(struct oracle_num x, const struct accel_epilogue *epi);
double oracle_load_broadcast(const struct accel_tensor *t, const struct accel_tensor *d,
			     const int64_t *idx);
int64_t oracle_load_int_broadcast(const struct accel_tensor *t,
				  const struct accel_tensor *d, const int64_t *idx);
int64_t oracle_saturate(int64_t v, uint32_t dtype);
int64_t oracle_whole(double v, uint32_t dtype);
/*
 * Errors of Winograd's F(@edge x @edge, 3x3), oracle_winograd.c: @a, @b and @error are row-major,
 * and an element of the latter grows to what it may be.
 */
int oracle_winograd(const struct accel_conv_desc *d, uint32_t edge, const double *a,
		    const double *b, double *error);
int oracle_begin(struct oracle_result *r, const struct accel_tensor *d, bool exact);

/* --- operations ---------------------------------------------------------------------- */

/**
 * struct oracle_op - what an operation means; oracle_<name>.c has one or more
 * @result: a tensor that it writes, NULL past the last; one that is absent has
 *	rank 0
 * @compute: what should be in it
 * @say: add the operands to a line that names the operation
 */
struct oracle_op {
	const struct accel_tensor *(*result)(const struct accel_desc *desc, uint32_t index);
	int (*compute)(const struct accel_desc *desc, uint32_t index,
		       struct oracle_result *r);
	void (*say)(const struct accel_desc *desc, char *buf, size_t size);
};

extern const struct oracle_op oracle_softmax;
extern const struct oracle_op oracle_norm;
extern const struct oracle_op oracle_reduce;
extern const struct oracle_op oracle_scan;
extern const struct oracle_op oracle_topk;
extern const struct oracle_op oracle_dynquant;
extern const struct oracle_op oracle_kv_write;
extern const struct oracle_op oracle_elementwise;
extern const struct oracle_op oracle_gemm;
extern const struct oracle_op oracle_gather;
extern const struct oracle_op oracle_scatter;
extern const struct oracle_op oracle_pool;
extern const struct oracle_op oracle_resize;
extern const struct oracle_op oracle_rotary;
extern const struct oracle_op oracle_attention;
extern const struct oracle_op oracle_conv;
extern const struct oracle_op oracle_move;
extern const struct oracle_op oracle_ffn;

const struct oracle_op *oracle_op(uint32_t op);
const struct accel_tensor *oracle_tensor(const struct accel_desc *desc, uint32_t index);
int oracle_compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r);
void oracle_free(struct oracle_result *r);

/**
 * struct oracle_verdict - an element of a result against what it should be
 * @got: what is there; of integers as it is stored
 * @expect: what should be
 * @bound: how far they may be apart
 * @ok: they are not further; both are NaN; it overflowed as it may
 */
struct oracle_verdict {
	double got;
	double expect;
	double bound;
	bool ok;
};

/* Element @n of the result. */
void oracle_judge(const struct accel_tensor *d, const struct oracle_result *r, uint64_t n,
		  struct oracle_verdict *v);

/*
 * Hold the result against what is in memory. Returns the number of elements
 * that are wrong; @why tells the first of them.
 */
uint64_t oracle_compare(const struct accel_tensor *d,
			const struct oracle_result *r, char *why, size_t size);

#endif /* LIBACCEL_TESTS_ORACLE_H */
