// SPDX-License-Identifier: MIT
/* Depthwise convolutions with any window: AVX2 and FMA. */
#include "libaccel/sw/kernels/vec/vec256.h"

#define TAPS_TABLE	taps_avx2
#include "taps_kernel.h"
