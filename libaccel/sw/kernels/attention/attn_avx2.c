// SPDX-License-Identifier: MIT
/*
 * Attention in binary32 with AVX2.
 */
#include "attn_v256.h"

#define KERN_NAME	attn_avx2
#include "attn_kern.h"
