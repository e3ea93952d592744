// SPDX-License-Identifier: MIT
/*
 * Products with few rows: dot products of bytes, unsigned by signed.
 */
#define HAS_DOT_BYTES	1
#include "gemv_vec512.h"

VEC vi vi_dot(vi acc, vi u, vi s)
{
	return _mm512_dpbusd_epi32(acc, u, s);
}

#include "gemv_kernel.h"
#include "gemv_all.h"

SET_8(I8, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8(I8_U, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8(I4, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8(I4_U, 2, 4, 4, 4, 4, 4, 3, 3);

const struct gemv_set *gemv_vnni(enum gemv_kind kind)
{
	switch (kind) {
	case GEMV_I8:
		return &set_I8;
	case GEMV_I8_U:
		return &set_I8_U;
	case GEMV_I4:
		return &set_I4;
	case GEMV_I4_U:
		return &set_I4_U;
	default:
		return NULL;
	}
}
