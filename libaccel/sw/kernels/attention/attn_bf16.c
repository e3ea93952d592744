// SPDX-License-Identifier: MIT
/*
 * Attention of bf16 with AVX512_BF16: products of pairs, binary32 sums.
 */
#include "attn_bf16.h"

#define KERN_NAME	attn_bf16
#include "attn_kern.h"
