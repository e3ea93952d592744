// SPDX-License-Identifier: MIT
/*
 * The strips of AMX with the tile instructions in C, for test_strips.
 */
#include <immintrin.h>
#include "amx_soft.h"

#define fast_gemm_bf16_amx	soft_gemm_bf16
#define fast_gemm_i8s_amx	soft_gemm_i8s
#define fast_gemm_i8u_amx	soft_gemm_i8u
#define fast_gemm_i8ss_amx	soft_gemm_i8ss
#define fast_gemm_i8uu_amx	soft_gemm_i8uu
/* The same lines, with what a tile instruction is replaced */
#include "libaccel/sw/kernels/gemm/gemm_amx.c" /* NOLINT(bugprone-suspicious-include) */
