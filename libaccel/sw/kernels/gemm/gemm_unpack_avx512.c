// SPDX-License-Identifier: MIT
/*
 * Small packed weights for kernels, in registers of 512 bits.
 */
#include "libaccel/sw/kernels/vec/vec512.h"

#define UNPACK	fast_gemm_unpack_avx512
#define NIBBLES	fast_gemm_nibbles_avx512

#include "gemm_unpack.h"
