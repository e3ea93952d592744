// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Inner kernels for AVX2, FMA and F16C. */
#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__)
#error "compile with -mavx2 -mfma -mf16c"
#endif
#define UMA_KERNELS		uma_kernels_avx2
#define UMA_KERNELS_NAME	"avx2"
#include "kernels_impl.h"
