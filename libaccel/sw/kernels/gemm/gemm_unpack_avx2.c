// SPDX-License-Identifier: MIT
/*
 * Small packed weights for kernels, in registers of 256 bits.
 */
#include "libaccel/sw/kernels/vec/vec256.h"

#define UNPACK	fast_gemm_unpack_avx2
#define NIBBLES	fast_gemm_nibbles_avx2

#include "gemm_unpack.h"
