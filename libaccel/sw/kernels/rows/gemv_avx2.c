// SPDX-License-Identifier: MIT
/*
 * Products with few rows: AVX2 with FMA and F16C.
 */
#include "libaccel/sw/kernels/vec/vec256.h"
#include "gemv_kernel.h"
#include "gemv_all.h"

SET_4(F32, 2, 4, 4, 3);
SET_4(BF16, 2, 4, 4, 3);
SET_4(F16, 2, 2, 2, 2);
SET_4(W8, 2, 4, 3, 2);
SET_4(W8_ZERO, 2, 4, 3, 2);
SET_4(W4, 2, 4, 3, 2);
SET_4(W4_ZERO, 2, 4, 3, 2);
SET_4(I8_MADD, 2, 4, 3, 2);
SET_4(I4_MADD, 2, 4, 3, 2);

#define GEMV_TABLE	gemv_avx2
#include "gemv_table.h"
