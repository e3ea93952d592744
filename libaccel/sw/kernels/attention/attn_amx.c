// SPDX-License-Identifier: MIT
/*
 * Attention of bf16 with AMX tiles: their products, the rest with AVX512_BF16.
 */
#include "attn_bf16.h"

#define KERN_TILES
#define KERN_NAME	attn_amx
#include "attn_kern.h"
