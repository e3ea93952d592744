/* SPDX-License-Identifier: MIT */
/*
 * Unpacks packed weights of 16, 8 and 4 bits to dequantised f32, and nibbles to bytes for the
 * byte kernels; included after vec256.h or vec512.h. A vector of 16 columns has 2, 4 or 8 rows,
 * each of which takes a shift, a conversion, a subtraction and a multiplication.
 */
#include "gemm_isa.h"

/* Largest zero point whose difference to a byte is within s32 */
#define ZERO_MAX	(1 << 30)

/* (float)(v - z), computed as in 64 bits. */
V_INLINE vf difference(vi v, vi z, bool far)
{
	if (!far)
		return v_of_ints(vi_sub(v, z));
	return v_of_halves(vd_sub(vd_low_ints(v), vd_low_ints(z)),
			   vd_sub(vd_high_ints(v), vd_high_ints(z)));
}

/* Row @i of a block as integers; all arguments except @v are constants. */
V_INLINE vi integers(vi v, uint32_t i, const uint32_t dtype)
{
	const uint32_t bits = dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_U8 ? 8 : 4;
	const uint32_t at = bits == 8 ? 8 * i : 8 * (i % 4) + 4 * (i / 4);
	const vi high = vi_shl(v, (int)(32 - bits - at));

	if (dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_S4)
		return vi_sar(high, (int)(32 - bits));
	return vi_shr(high, (int)(32 - bits));
}

V_INLINE vf halves(vi v, uint32_t i, const uint32_t dtype)
{
	if (dtype == UMA_DTYPE_F16)
		return v_half_words(i ? vi_shr(v, 16) : v);
	return v_of(i ? vi_shl(vi_shr(v, 16), 16) : vi_shl(v, 16));
}

/* @k rows of VL columns of a type; @quant: apply scales and zero points, and @min. */
V_INLINE void columns(const uint32_t dtype, const bool quant, const char *blocks, int64_t step,
		      uint32_t k, const float *scale, const int32_t *zero, const float *min,
		      float *out)
{
	const uint32_t rows = dtype == UMA_DTYPE_F16 || dtype == UMA_DTYPE_BF16 ? 2 :
			      dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_U8 ? 4 : 8;
	const vf s = quant ? v_load(scale) : v_set(0), m = min ? v_load(min) : v_set(0);
	const vi z = quant ? vi_load(zero) : vi_set(0);
	const bool far = vm_any(vi_greater(z, vi_set(ZERO_MAX))) ||
			 vm_any(vi_greater(vi_set(-ZERO_MAX), z));
	uint32_t i;

	for (; k; blocks += step) {
		const vi v = vi_load(blocks);

#pragma GCC unroll 8
		for (i = 0; i < rows; i++) {
			vf x;

			if (i >= k)
				return;
			if (rows == 2)
				x = halves(v, i, dtype);
			else if (quant)
				x = v_mul(s, difference(integers(v, i, dtype), z, far));
			else
				x = v_of_ints(integers(v, i, dtype));
			/* Without minima, zeros keep their sign. */
			if (min)
				x = v_add(x, m);
			v_store(out + i * 16, x);
		}
		out += rows * 16;
		k -= rows;
	}
}

V_INLINE void all_columns(const uint32_t dtype, const bool quant, const char *blocks, int64_t step,
			  uint32_t k, const float *scale, const int32_t *zero, const float *min,
			  float *out)
{
	uint32_t j;

	for (j = 0; j < 16; j += VL)
		columns(dtype, quant, blocks + 4 * j, step, k, quant ? scale + j : NULL,
			quant ? zero + j : NULL, min ? min + j : NULL, out + j);
}

#define TYPE(t)								\
	case UMA_DTYPE_##t:						\
		if (scale)						\
			all_columns(UMA_DTYPE_##t, true, blocks, step, k, scale, zero, min, out); \
		else							\
			all_columns(UMA_DTYPE_##t, false, blocks, step, k, NULL, NULL, NULL, out); \
		break

void UNPACK(uint32_t dtype, const void *blocks, int64_t step, uint32_t k, const float *scale,
	    const int32_t *zero, const float *min, float *out)
{
	switch (dtype) {
	TYPE(F16);
	TYPE(BF16);
	TYPE(S8);
	TYPE(U8);
	TYPE(S4);
	TYPE(U4);
	default:
		break;
	}
}

void NIBBLES(bool is_signed, const void *blocks, int64_t step, uint32_t k, void *out)
{
	const vi mask = vi_bits(0x0f0f0f0f), sign = vi_bits(is_signed ? 0x08080808 : 0);
	const char *p = blocks;
	char *o = out;
	uint32_t i, j;

	/* A block of 8 rows becomes two groups of four. */
	for (i = 0; i < k; i += 8, p += step, o += 128)
		for (j = 0; j < 64; j += 4 * VL) {
			const vi v = vi_load(p + j), lo = vi_field(v, mask, sign);
			const vi hi = vi_field(vi_shr(v, 4), mask, sign);

			v_store(o + j, v_of(vi_sub_bytes(lo, sign)));
			if (k - i > 4)
				v_store(o + 64 + j, v_of(vi_sub_bytes(hi, sign)));
		}
}
