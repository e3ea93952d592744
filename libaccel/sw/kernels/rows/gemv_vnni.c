// SPDX-License-Identifier: MIT
/*
 * Products with few rows: dot products of bytes, unsigned by signed.
 */
#define HAS_DOT_BYTES	1
#include "libaccel/sw/kernels/vec/vec512.h"

V_INLINE vi vi_dot(vi acc, vi u, vi s)
{
	return _mm512_dpbusd_epi32(acc, u, s);
}

#include "gemv_kernel.h"
#include "gemv_all.h"

SET_8_PANEL(I8, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8_PANEL(I8_U, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8(I4, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8(I4_U, 2, 4, 4, 4, 4, 4, 3, 3);

#define GEMV_TABLE	gemv_vnni
#include "gemv_table.h"
