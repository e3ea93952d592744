// SPDX-License-Identifier: MIT
/*
 * Products with few rows: dot products of pairs of bf16.
 */
#define HAS_DOT_BF16	1
#include "libaccel/sw/kernels/vec/vec512.h"

V_INLINE vf v_dot_bf16(vf acc, vi a, vi b)
{
	return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b);
}

#include "gemv_kernel.h"
#include "gemv_all.h"

SET_8_PANEL(BF16_DOT, 2, 4, 4, 4, 4, 4, 3, 3);

#define GEMV_TABLE	gemv_bf16
#include "gemv_table.h"
