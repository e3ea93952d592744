/* SPDX-License-Identifier: MIT */
/* Strip kernels by instruction set; fast_gemm_kernel() selects them. */
#ifndef LIBACCEL_SW_FAST_GEMM_ISA_H
#define LIBACCEL_SW_FAST_GEMM_ISA_H

#include "gemm_kernel.h"

void fast_gemm_f32_avx512(const struct fast_gemm_strip *s);
void fast_gemm_s16_avx512(const struct fast_gemm_strip *s);
void fast_gemm_bf16_avx512(const struct fast_gemm_strip *s);
void fast_gemm_i8s_avx512(const struct fast_gemm_strip *s);
void fast_gemm_i8u_avx512(const struct fast_gemm_strip *s);
void fast_gemm_f32_avx2(const struct fast_gemm_strip *s);
void fast_gemm_i8s_avx2(const struct fast_gemm_strip *s);
void fast_gemm_i8u_avx2(const struct fast_gemm_strip *s);
void fast_gemm_i8ss_avx2(const struct fast_gemm_strip *s);
void fast_gemm_i8uu_avx2(const struct fast_gemm_strip *s);

void fast_gemm_bf16_amx(const struct fast_gemm_strip *s);
void fast_gemm_i8s_amx(const struct fast_gemm_strip *s);
void fast_gemm_i8u_amx(const struct fast_gemm_strip *s);
void fast_gemm_i8ss_amx(const struct fast_gemm_strip *s);
void fast_gemm_i8uu_amx(const struct fast_gemm_strip *s);
void fast_gemm_f32_neon(const struct fast_gemm_strip *s);
void fast_gemm_s16_neon(const struct fast_gemm_strip *s);
void fast_gemm_i8ss_dotprod(const struct fast_gemm_strip *s);
void fast_gemm_i8uu_dotprod(const struct fast_gemm_strip *s);

/* fast_gemm_pack_b(); false: these strides are not supported. */
bool fast_gemm_pack_avx512(enum fast_gemm_kind kind, const struct fast_gemm_source *from,
			   uint32_t k, uint32_t n, void *out, uint64_t vector);
/*
 * Unpack rows of 16 columns of packed blocks, @step bytes apart; without @scale the numbers are
 * not scaled; @min may be NULL.
 */
typedef void (*fast_gemm_unpack_fn)(uint32_t dtype, const void *blocks, int64_t step, uint32_t k,
				    const float *scale, const int32_t *zero, const float *min,
				    float *out);
void fast_gemm_unpack_avx2(uint32_t dtype, const void *blocks, int64_t step, uint32_t k,
			   const float *scale, const int32_t *zero, const float *min, float *out);
void fast_gemm_unpack_avx512(uint32_t dtype, const void *blocks, int64_t step, uint32_t k,
			     const float *scale, const int32_t *zero, const float *min, float *out);
/* Only for 16-bit types, which have no scales. */
void fast_gemm_unpack_portable(uint32_t dtype, const void *blocks, int64_t step, uint32_t k,
			       const float *scale, const int32_t *zero, const float *min,
			       float *out);
/* The same for 4-bit numbers, to groups of bytes. */
typedef void (*fast_gemm_nibbles_fn)(bool is_signed, const void *blocks, int64_t step, uint32_t k,
				     void *out);
void fast_gemm_nibbles_avx2(bool is_signed, const void *blocks, int64_t step, uint32_t k,
			    void *out);
void fast_gemm_nibbles_avx512(bool is_signed, const void *blocks, int64_t step, uint32_t k,
			      void *out);
void fast_gemm_row_sums_avx512(const void *a, int64_t a_ms, uint32_t m, uint32_t k,
			       bool is_signed, int32_t factor, int32_t plus, int32_t *sums);

#endif /* LIBACCEL_SW_FAST_GEMM_ISA_H */
