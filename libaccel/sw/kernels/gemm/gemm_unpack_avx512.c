// SPDX-License-Identifier: MIT
/* Unpacking of packed weights, 512-bit vectors. */
#include "libaccel/sw/kernels/vec/vec512.h"

#define UNPACK	fast_gemm_unpack_avx512
#define NIBBLES	fast_gemm_nibbles_avx512

#include "gemm_unpack.h"
