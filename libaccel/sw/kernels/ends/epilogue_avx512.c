// SPDX-License-Identifier: MIT
/* The vector form of the epilogue: AVX-512, and AVX512_BF16 where there is that. */
#include "libaccel/sw/kernels/vec/vec512.h"

#define ALL		((__mmask16)0xffff)
#define EPILOGUE	fast_epi_vector_avx512

typedef __mmask16 e_lanes;

V_INLINE e_lanes e_first(uint32_t n)
{
	return (__mmask16)((1u << n) - 1);
}

V_INLINE vi e_words(const void *p, e_lanes lanes)
{
	return _mm512_maskz_loadu_epi32(lanes, p);
}

V_INLINE vi e_halves(const void *p, e_lanes lanes)
{
	return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, p));
}

V_INLINE vf e_f16(const void *p, e_lanes lanes)
{
	return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, p));
}

V_INLINE vi e_bytes(const void *p, e_lanes lanes, bool is_signed)
{
	const __m128i v = _mm_maskz_loadu_epi8(lanes, p);

	return is_signed ? _mm512_cvtepi8_epi32(v) : _mm512_cvtepu8_epi32(v);
}

V_INLINE void e_put_words(void *p, e_lanes lanes, vi v)
{
	_mm512_mask_storeu_epi32(p, lanes, v);
}

/* A masked store is slower than a full one. */
V_INLINE void put_halves(void *p, e_lanes lanes, __m256i v)
{
	if (lanes == ALL)
		_mm256_storeu_si256(p, v);
	else
		_mm256_mask_storeu_epi16(p, lanes, v);
}

V_INLINE void e_put_f16(void *p, e_lanes lanes, vf x)
{
	put_halves(p, lanes, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Round to nearest even; a NaN becomes quiet. vcvtneps2bf16 would flush subnormal numbers. */
V_INLINE void e_put_bf16(void *p, e_lanes lanes, vf x)
{
	const __m512i bits = _mm512_castps_si512(x);
	const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
	__m512i r = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));

	r = _mm512_mask_or_epi32(r, nan, bits, _mm512_set1_epi32(0x400000));
	put_halves(p, lanes, _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16)));
}

/* With AVX512_BF16: vcvtneps2bf16, unless there are subnormal numbers. */
V_INLINE void e_put_native(void *p, e_lanes lanes, vf x)
{
	__m256i r;

	if (_mm512_fpclass_ps_mask(x, 0x20)) {
		e_put_bf16(p, lanes, x);
		return;
	}
	__asm__("vcvtneps2bf16 %1, %0" : "=v"(r) : "v"(x));
	put_halves(p, lanes, r);
}

V_INLINE void e_put_bytes(void *p, e_lanes lanes, vi v)
{
	const __m128i r = _mm512_cvtepi32_epi8(v);

	if (lanes == ALL)
		_mm_storeu_si128(p, r);
	else
		_mm_mask_storeu_epi8(p, lanes, r);
}

/**
 * struct e_exact - 64-bit sums
 * @lo: of the lower half
 * @hi: of the upper half
 */
struct e_exact {
	__m512i lo;
	__m512i hi;
};

V_INLINE struct e_exact e_exact(vi v)
{
	return (struct e_exact){
		_mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)),
		_mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1)),
	};
}

V_INLINE void e_exact_add(struct e_exact *x, vi v)
{
	const struct e_exact y = e_exact(v);

	x->lo = _mm512_add_epi64(x->lo, y.lo);
	x->hi = _mm512_add_epi64(x->hi, y.hi);
}

V_INLINE void e_exact_relu(struct e_exact *x)
{
	x->lo = _mm512_max_epi64(x->lo, _mm512_setzero_si512());
	x->hi = _mm512_max_epi64(x->hi, _mm512_setzero_si512());
}

V_INLINE vi e_exact_end(const struct e_exact *x)
{
	return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtsepi64_epi32(x->lo)),
				  _mm512_cvtsepi64_epi32(x->hi), 1);
}

#include "epilogue_kernel.h"
