// SPDX-License-Identifier: MIT
/* Unpacking of packed weights, 256-bit vectors. */
#include "libaccel/sw/kernels/vec/vec256.h"

#define UNPACK	fast_gemm_unpack_avx2
#define NIBBLES	fast_gemm_nibbles_avx2

#include "gemm_unpack.h"
