/* SPDX-License-Identifier: MIT */
/*
 * The kernels of dynquant.h for an instruction set. The file that includes this one defines
 * vectors of VL numbers. A line is read twice, the second time from the cache; the division
 * takes longer than everything else. The last elements are padded with zeros, which are part of
 * every range.
 */
#include <string.h>
#include "dynquant.h"

/* Largest relevant quotient: beyond it every byte is saturated */
#define QUOTIENT_MAX	65536.0f

static inline vf load(const void *x, uint32_t dtype, uint32_t i)
{
	switch (dtype) {
	case UMA_DTYPE_F32:
		return v_load((const float *)x + i);
	case UMA_DTYPE_F16:
		return v_load_f16((const uint16_t *)x + i);
	default:
		return v_load_bf16((const uint16_t *)x + i);
	}
}

static inline vf load_last(const void *x, uint32_t dtype, uint32_t i, uint32_t n)
{
	const uint32_t size = dtype == UMA_DTYPE_F32 ? 4 : 2;
	float tmp[VL] = { 0 };

	memcpy(tmp, (const uint8_t *)x + (size_t)i * size, (size_t)(n - i) * size);
	return load(tmp, dtype, 0);
}

static inline __attribute__((always_inline)) void
range_of(struct dynquant_range *r, const void *x, uint32_t dtype, uint32_t n)
{
	vf max[4], min[4], nan[4];
	uint32_t i = 0;
	int j;

	for (j = 0; j < 4; j++)
		max[j] = min[j] = nan[j] = v_set(0);
	for (; i + 4 * VL <= n; i += 4 * VL) {
		_Pragma("GCC unroll 4")
		for (j = 0; j < 4; j++) {
			const vf v = load(x, dtype, i + (uint32_t)j * VL);

			max[j] = v_max(v, max[j]);
			min[j] = v_min(v, min[j]);
			nan[j] = v_or_nan(nan[j], v);
		}
	}
	for (; i < n; i += VL) {
		const vf v = i + VL <= n ? load(x, dtype, i) : load_last(x, dtype, i, n);

		max[0] = v_max(v, max[0]);
		min[0] = v_min(v, min[0]);
		nan[0] = v_or_nan(nan[0], v);
	}
	for (j = 1; j < 4; j++) {
		max[0] = v_max(max[j], max[0]);
		min[0] = v_min(min[j], min[0]);
		nan[0] = v_or_nan(nan[0], nan[j]);
	}
	r->max = v_largest(max[0]);
	r->min = v_smallest(min[0]);
	r->nan = v_any_nan(nan[0]);
}

static inline __attribute__((always_inline)) void
store_of(uint8_t *to, bool is_signed, const void *x, uint32_t dtype, float scale, int32_t zero,
	 uint32_t n)
{
	uint8_t tmp[VL];
	uint32_t i;

	for (i = 0; i + VL <= n; i += VL)
		v_store_bytes(to + i, load(x, dtype, i), scale, zero, is_signed);
	if (i < n) {
		v_store_bytes(tmp, load_last(x, dtype, i, n), scale, zero, is_signed);
		memcpy(to + i, tmp, n - i);
	}
}

/* Instantiates the loops for each type. */
static void find_range(struct dynquant_range *r, const void *x, uint32_t dtype, uint32_t n)
{
	switch (dtype) {
	case UMA_DTYPE_F32:
		range_of(r, x, UMA_DTYPE_F32, n);
		break;
	case UMA_DTYPE_F16:
		range_of(r, x, UMA_DTYPE_F16, n);
		break;
	default:
		range_of(r, x, UMA_DTYPE_BF16, n);
		break;
	}
}

static void store_bytes(uint8_t *to, bool is_signed, const void *x, uint32_t dtype, float scale,
			int32_t zero, uint32_t n)
{
	switch (dtype) {
	case UMA_DTYPE_F32:
		store_of(to, is_signed, x, UMA_DTYPE_F32, scale, zero, n);
		break;
	case UMA_DTYPE_F16:
		store_of(to, is_signed, x, UMA_DTYPE_F16, scale, zero, n);
		break;
	default:
		store_of(to, is_signed, x, UMA_DTYPE_BF16, scale, zero, n);
		break;
	}
}
