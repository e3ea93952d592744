/* SPDX-License-Identifier: MIT */
/*
 * The table of a level's kernels, GEMV_TABLE, behind those of gemv_all.h.
 */
const struct gemv_set *const GEMV_TABLE[GEMV_KINDS] = {
#if HAS_DOT_BYTES
	[GEMV_I8] = &set_I8,
	[GEMV_I8_U] = &set_I8_U,
	[GEMV_I4] = &set_I4,
	[GEMV_I4_U] = &set_I4_U,
#elif HAS_DOT_BF16
	[GEMV_BF16_DOT] = &set_BF16_DOT,
#else
	[GEMV_F32] = &set_F32,
	[GEMV_BF16] = &set_BF16,
	[GEMV_F16] = &set_F16,
	[GEMV_W8] = &set_W8,
	[GEMV_W8_ZERO] = &set_W8_ZERO,
	[GEMV_W4] = &set_W4,
	[GEMV_W4_ZERO] = &set_W4_ZERO,
	[GEMV_I8_MADD] = &set_I8_MADD,
	[GEMV_I4_MADD] = &set_I4_MADD,
#endif
};
