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

uint64_t oracle_count(const struct accel_tensor *t);
void oracle_strides(const struct accel_tensor *t, int64_t *strides);
int64_t oracle_offset(const struct accel_tensor *t, const int64_t *idx);
void oracle_index(const struct accel_tensor *t, uint64_t n, int64_t *idx);

/* Read an element: as it is stored, or what it stands for, in binary32. */
int64_t oracle_load_int(const struct accel_tensor *t, const int64_t *idx);
double oracle_load(const struct accel_tensor *t, const int64_t *idx);

double oracle_round(double v, uint32_t dtype);
double oracle_f16_value(uint16_t bits);
uint16_t oracle_f16_bits(double v);

int oracle_compute(const struct accel_desc *desc, struct oracle_result *r);
void oracle_free(struct oracle_result *r);

/*
 * Hold the result against what is in memory. Returns the number of elements
 * that are wrong; @why tells the first of them.
 */
uint64_t oracle_compare(const struct accel_tensor *d,
			const struct oracle_result *r, char *why, size_t size);

#endif /* LIBACCEL_TESTS_ORACLE_H */
