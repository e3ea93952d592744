// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Inner kernels for the compiler's baseline: SSE2 on x86-64, NEON on aarch64. */
#define UMA_KERNELS		uma_kernels_portable
#define UMA_KERNELS_NAME	"portable"
#include "kernels_impl.h"
