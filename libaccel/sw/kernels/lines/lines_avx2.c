// SPDX-License-Identifier: MIT
/* Kernels of lines: AVX2, FMA and F16C. */
#include "libaccel/sw/kernels/vec/vec256.h"

#define LINE_TABLE	line_avx2
#include "lines_kernel.h"
