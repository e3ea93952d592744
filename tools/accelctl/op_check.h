/* SPDX-License-Identifier: MIT */
/*
 * Results of run op against the reference, which is that of the library's tests.
 */
#ifndef ACCELCTL_OP_CHECK_H
#define ACCELCTL_OP_CHECK_H

#include "op.h"
#include "libaccel/tests/oracle/oracle.h"

/**
 * struct op_verdict - results against the reference
 * @max_abs: largest error, of integers in their steps
 * @ratio: largest quotient of error and bound
 * @differing: elements that are not the reference, rounded
 * @worst: element that is furthest from it
 */
struct op_verdict {
	double max_abs;
	double ratio;
	uint64_t differing;
	struct oracle_verdict worst;
};

/**
 * op_judge - compare an element with the reference
 * @d: result
 * @ref: reference
 * @n: number of the element, row-major
 * @v: accumulated verdict, zeroed before the first
 */
void op_judge(const struct accel_tensor *d, const struct oracle_result *ref, uint64_t n,
	      struct op_verdict *v);

#endif /* ACCELCTL_OP_CHECK_H */
