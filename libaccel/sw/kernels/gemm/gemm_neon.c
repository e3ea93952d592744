// SPDX-License-Identifier: MIT
/*
 * Strips of f32 and of pairs of s16 with NEON.
 */
#include <arm_neon.h>
#include "gemm_kernel.h"
#include "gemm_isa.h"

#define STRIP			fast_gemm_f32_neon
#define GROUP			1
#define VEC			float32x4_t
#define LOAD_C(p)		vld1q_f32((const float *)(p))
#define STORE_C(p, v)		vst1q_f32((float *)(p), v)
#define SPLAT(w)		vreinterpretq_f32_s32(vdupq_n_s32(w))
#define B_TYPE			float32x4x4_t
#define LOAD_B(p)		vld1q_f32_x4((const float *)(p))
#define A_TYPE			float
#define LOAD_A(p)		(*(const float *)(p))
#define PART_A(w)		((float)(w))
#define STEP(acc, b, j, a)	vfmaq_n_f32(acc, (b).val[j], a)
#define B_MASKED		1
#include "gemm_strip_neon.h"

/* The even and the odd rows of K of eight columns, and of the next eight. */
static inline int16x8x4_t load_pairs(const char *p)
{
	const int16x8x2_t lo = vld2q_s16((const int16_t *)p);
	const int16x8x2_t hi = vld2q_s16((const int16_t *)(p + 32));

	return (int16x8x4_t){ { lo.val[0], lo.val[1], hi.val[0], hi.val[1] } };
}

static inline __attribute__((always_inline))
int32x4_t step_pairs(int32x4_t acc, const int16x8x4_t *b, uint32_t j, int16x4_t a)
{
	const int16x8_t even = b->val[j & 2], odd = b->val[(j & 2) + 1];

	if (j & 1) {
		acc = vmlal_high_lane_s16(acc, even, a, 0);
		return vmlal_high_lane_s16(acc, odd, a, 1);
	}
	acc = vmlal_lane_s16(acc, vget_low_s16(even), a, 0);
	return vmlal_lane_s16(acc, vget_low_s16(odd), a, 1);
}

#define STRIP			fast_gemm_s16_neon
#define GROUP			2
#define VEC			int32x4_t
#define LOAD_C(p)		vld1q_s32((const int32_t *)(p))
#define STORE_C(p, v)		vst1q_s32((int32_t *)(p), v)
#define SPLAT(w)		vdupq_n_s32(w)
#define B_TYPE			int16x8x4_t
#define LOAD_B(p)		load_pairs(p)
#define A_TYPE			int16x4_t
#define LOAD_A(p)		vreinterpret_s16_s32((int32x2_t){ (int32_t)neon_part(p, 4), 0 })
#define PART_A(w)		vreinterpret_s16_u32(vdup_n_u32(w))
#define STEP(acc, b, j, a)	step_pairs(acc, &(b), j, a)
#define B_MASKED		0
#include "gemm_strip_neon.h"
