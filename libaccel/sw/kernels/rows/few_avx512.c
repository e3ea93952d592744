// SPDX-License-Identifier: MIT
/* Products of few rows by weights that are not packed: AVX-512. */
#include "libaccel/sw/kernels/vec/vec512.h"

#define FEW_TABLE	few_avx512
#include "few_kernel.h"
