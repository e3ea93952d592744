// SPDX-License-Identifier: MIT
/* The vector form of the epilogue: AVX2 and F16C. */
#include "libaccel/sw/kernels/vec/vec256.h"

#define ALL		8u
#define EPILOGUE	fast_epi_vector_avx2

/* So many lanes; less than all of them are at the end of rows, through memory. */
typedef uint32_t e_lanes;

V_INLINE e_lanes e_first(uint32_t n)
{
	return n;
}

V_INLINE const void *some(const void *p, e_lanes lanes, uint32_t size, void *room)
{
	memset(room, 0, 32);
	memcpy(room, p, lanes * size);
	return room;
}

V_INLINE vi e_words(const void *p, e_lanes lanes)
{
	int32_t room[8];

	return vi_load(lanes == ALL ? p : some(p, lanes, 4, room));
}

V_INLINE vi e_halves(const void *p, e_lanes lanes)
{
	int32_t room[8];

	return _mm256_cvtepu16_epi32(_mm_loadu_si128(lanes == ALL ? p : some(p, lanes, 2, room)));
}

V_INLINE vf e_f16(const void *p, e_lanes lanes)
{
	int32_t room[8];

	return v_load_f16(lanes == ALL ? p : some(p, lanes, 2, room));
}

V_INLINE vi e_bytes(const void *p, e_lanes lanes, bool is_signed)
{
	int32_t room[8];
	const __m128i v = _mm_loadl_epi64(lanes == ALL ? p : some(p, lanes, 1, room));

	return is_signed ? _mm256_cvtepi8_epi32(v) : _mm256_cvtepu8_epi32(v);
}

V_INLINE void e_put_words(void *p, e_lanes lanes, vi v)
{
	int32_t room[8];

	_mm256_storeu_si256(lanes == ALL ? p : (void *)room, v);
	if (lanes != ALL)
		memcpy(p, room, 4 * lanes);
}

V_INLINE void e_put_f16(void *p, e_lanes lanes, vf x)
{
	int16_t room[8];

	v_store_f16(lanes == ALL ? p : (void *)room, x);
	if (lanes != ALL)
		memcpy(p, room, 2 * lanes);
}

V_INLINE void e_put_bf16(void *p, e_lanes lanes, vf x)
{
	int16_t room[8];

	v_store_bf16(lanes == ALL ? p : (void *)room, x);
	if (lanes != ALL)
		memcpy(p, room, 2 * lanes);
}

V_INLINE void e_put_native(void *p, e_lanes lanes, vf x)
{
	e_put_bf16(p, lanes, x);
}

/* Numbers from -128 to 255: the lower bytes of words */
V_INLINE void e_put_bytes(void *p, e_lanes lanes, vi v)
{
	const __m256i pick = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
					      -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1,
					      -1, -1, -1, -1);
	const __m256i r = _mm256_shuffle_epi8(v, pick);
	const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(r),
						_mm256_extracti128_si256(r, 1));
	int8_t room[8];

	_mm_storel_epi64(lanes == ALL ? p : (void *)room, both);
	if (lanes != ALL)
		memcpy(p, room, lanes);
}

/**
 * struct e_exact - 64-bit sums
 * @lo: of the lower half
 * @hi: of the upper half
 */
struct e_exact {
	__m256i lo;
	__m256i hi;
};

V_INLINE struct e_exact e_exact(vi v)
{
	return (struct e_exact){
		_mm256_cvtepi32_epi64(_mm256_castsi256_si128(v)),
		_mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1)),
	};
}

V_INLINE void e_exact_add(struct e_exact *x, vi v)
{
	const struct e_exact y = e_exact(v);

	x->lo = _mm256_add_epi64(x->lo, y.lo);
	x->hi = _mm256_add_epi64(x->hi, y.hi);
}

V_INLINE __m256i not_negative(__m256i x)
{
	return _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), x), x);
}

V_INLINE void e_exact_relu(struct e_exact *x)
{
	x->lo = not_negative(x->lo);
	x->hi = not_negative(x->hi);
}

V_INLINE __m256i saturate(__m256i x)
{
	const __m256i most = _mm256_set1_epi64x(INT32_MAX), least = _mm256_set1_epi64x(INT32_MIN);

	x = _mm256_blendv_epi8(x, most, _mm256_cmpgt_epi64(x, most));
	return _mm256_blendv_epi8(x, least, _mm256_cmpgt_epi64(least, x));
}

V_INLINE vi e_exact_end(const struct e_exact *x)
{
	const __m256 lo = v_of(saturate(x->lo)), hi = v_of(saturate(x->hi));
	const __m256i even = vi_of(_mm256_shuffle_ps(lo, hi, 0x88));

	return _mm256_permute4x64_epi64(even, 0xd8);
}

#include "epilogue_kernel.h"
