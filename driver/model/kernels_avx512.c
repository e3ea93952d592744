// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Inner kernels for AVX-512 F, BW, VL, DQ. */
#if !defined(__AVX512F__) || !defined(__AVX512BW__)
#error "compile with -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma"
#endif
#define UMA_KERNELS		uma_kernels_avx512
#define UMA_KERNELS_NAME	"avx512"
#include "kernels_impl.h"
