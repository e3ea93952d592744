// SPDX-License-Identifier: MIT
/* Kernels of lines: AVX-512. */
#include "libaccel/sw/kernels/vec/vec512.h"

#define LINE_TABLE	line_avx512
#include "lines_kernel.h"
