// SPDX-License-Identifier: MIT
/* Depthwise convolutions with any window: AVX-512 with VNNI. */
#include "libaccel/sw/kernels/vec/vec512.h"

#define TAPS_TABLE	taps_vnni
#define TAPS_VNNI
#include "taps_kernel.h"
