// SPDX-License-Identifier: MIT
/* Depthwise convolutions with any window: AVX-512. */
#include "libaccel/sw/kernels/vec/vec512.h"

#define TAPS_TABLE	taps_avx512
#include "taps_kernel.h"
