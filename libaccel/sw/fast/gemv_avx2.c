// SPDX-License-Identifier: MIT
/*
 * Products with few rows: AVX2 with FMA and F16C.
 */
#include "gemv_vec256.h"
#include "gemv_kernel.h"
#include "gemv_all.h"

SET_4(F32, 2, 4, 4, 3);
SET_4(BF16, 2, 4, 4, 3);
SET_4(F16, 2, 2, 2, 2);
SET_4(W8, 2, 4, 3, 2);
SET_4(W8_ZERO, 2, 4, 3, 2);
SET_4(W4, 2, 4, 3, 2);
SET_4(W4_ZERO, 2, 4, 3, 2);
SET_4(I8_MADD, 2, 4, 3, 2);
SET_4(I4_MADD, 2, 4, 3, 2);

const struct gemv_set *gemv_avx2(enum gemv_kind kind)
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
