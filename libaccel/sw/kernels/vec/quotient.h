/* SPDX-License-Identifier: MIT */
/*
 * Quotients by a constant without a division.
 */
#ifndef LIBACCEL_SW_VEC_QUOTIENT_H
#define LIBACCEL_SW_VEC_QUOTIENT_H

#include <stdbool.h>

bool fast_quotient(float scale, float *times, float *rest);

#endif /* LIBACCEL_SW_VEC_QUOTIENT_H */
