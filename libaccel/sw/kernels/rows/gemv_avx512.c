// SPDX-License-Identifier: MIT
/*
 * Products with few rows: AVX-512 without dot products.
 */
#include "libaccel/sw/kernels/vec/vec512.h"
#include "gemv_kernel.h"
#include "gemv_all.h"

SET_8_PANEL(F32, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8_PANEL(BF16, 2, 4, 4, 4, 4, 4, 3, 3);
SET_6(F16, 2, 2, 2, 2, 2, 2);
SET_8(W8, 2, 4, 4, 4, 4, 3, 3, 2);
SET_8(W8_ZERO, 2, 4, 4, 4, 4, 3, 3, 2);
SET_8(W4, 2, 4, 4, 4, 4, 3, 3, 2);
SET_8(W4_ZERO, 2, 4, 4, 4, 4, 3, 3, 2);
SET_8(I8_MADD, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8(I4_MADD, 2, 4, 4, 4, 4, 4, 3, 3);

#define GEMV_TABLE	gemv_avx512
#include "gemv_table.h"
