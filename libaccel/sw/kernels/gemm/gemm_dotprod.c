// SPDX-License-Identifier: MIT
/* Strips of bytes with SDOT and UDOT: both operands signed, or both unsigned. */
#include <arm_neon.h>
#include "gemm_kernel.h"
#include "gemm_isa.h"

#define STRIP			fast_gemm_i8ss_dotprod
#define GROUP			4
#define VEC			int32x4_t
#define LOAD_C(p)		vld1q_s32((const int32_t *)(p))
#define STORE_C(p, v)		vst1q_s32((int32_t *)(p), v)
#define SPLAT(w)		vdupq_n_s32(w)
#define B_TYPE			int8x16x4_t
#define LOAD_B(p)		vld1q_s8_x4((const int8_t *)(p))
#define A_TYPE			int8x8_t
#define LOAD_A(p)		vreinterpret_s8_s32((int32x2_t){ (int32_t)neon_part(p, 4), 0 })
#define PART_A(w)		vreinterpret_s8_u32(vdup_n_u32(w))
#define STEP(acc, b, j, a)	vdotq_lane_s32(acc, (b).val[j], a, 0)
#define B_MASKED		0
#include "gemm_strip_neon.h"

#define STRIP			fast_gemm_i8uu_dotprod
#define GROUP			4
#define VEC			uint32x4_t
#define LOAD_C(p)		vld1q_u32((const uint32_t *)(p))
#define STORE_C(p, v)		vst1q_u32((uint32_t *)(p), v)
#define SPLAT(w)		vdupq_n_u32((uint32_t)(w))
#define B_TYPE			uint8x16x4_t
#define LOAD_B(p)		vld1q_u8_x4((const uint8_t *)(p))
#define A_TYPE			uint8x8_t
#define LOAD_A(p)		vreinterpret_u8_s32((int32x2_t){ (int32_t)neon_part(p, 4), 0 })
#define PART_A(w)		vreinterpret_u8_u32(vdup_n_u32(w))
#define STEP(acc, b, j, a)	vdotq_lane_u32(acc, (b).val[j], a, 0)
#define B_MASKED		0
#include "gemm_strip_neon.h"
