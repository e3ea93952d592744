// SPDX-License-Identifier: MIT
/* Products of few rows by weights that are not packed: AVX2, FMA and F16C. */
#include "libaccel/sw/kernels/vec/vec256.h"

#define FEW_TABLE	few_avx2
#include "few_kernel.h"
