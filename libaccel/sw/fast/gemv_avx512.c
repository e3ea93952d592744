// SPDX-License-Identifier: MIT
/*
 * Products with few rows: AVX-512 without dot products.
 */
#include "gemv_vec512.h"
#include "gemv_kernel.h"
#include "gemv_all.h"

SET_8(F32, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8(BF16, 2, 4, 4, 4, 4, 4, 3, 3);
SET_6(F16, 2, 2, 2, 2, 2, 2);
SET_8(W8, 2, 4, 4, 4, 4, 3, 3, 2);
SET_8(W8_ZERO, 2, 4, 4, 4, 4, 3, 3, 2);
SET_8(W4, 2, 4, 4, 4, 4, 3, 3, 2);
SET_8(W4_ZERO, 2, 4, 4, 4, 4, 3, 3, 2);
SET_8(I8_MADD, 2, 4, 4, 4, 4, 4, 3, 3);
SET_8(I4_MADD, 2, 4, 4, 4, 4, 4, 3, 3);

const struct gemv_set *gemv_avx512(enum gemv_kind kind)
{
	switch (kind) {
	case GEMV_F32:
		return &set_F32;
	case GEMV_BF16:
		return &set_BF16;
	case GEMV_F16:
		return &set_F16;
	case GEMV_W8:
		return &set_W8;
	case GEMV_W8_ZERO:
		return &set_W8_ZERO;
	case GEMV_W4:
		return &set_W4;
	case GEMV_W4_ZERO:
		return &set_W4_ZERO;
	case GEMV_I8_MADD:
		return &set_I8_MADD;
	case GEMV_I4_MADD:
		return &set_I4_MADD;
	default:
		return NULL;
	}
}
