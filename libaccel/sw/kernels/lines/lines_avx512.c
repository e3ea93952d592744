// SPDX-License-Identifier: MIT
/*
 * Lines of numbers: AVX-512.
 */
#include "libaccel/sw/kernels/vec/vec512.h"

#define LINE_TABLE	line_avx512
#include "lines_kernel.h"
