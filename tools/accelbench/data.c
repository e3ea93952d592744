// SPDX-License-Identifier: MIT
/*
 * Random operands, and errors of results.
 */
#include <math.h>
#include <string.h>

#include "libaccel/tests/oracle/oracle.h"
#include "perf.h"

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators" */
static uint64_t next(uint64_t *rng)
{
	*rng ^= *rng >> 12;
	*rng ^= *rng << 25;
	*rng ^= *rng >> 27;
	return *rng * 2685821657736338717ull;
}

static uint16_t to_bf16(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The 16-bit numbers in blocks: magnitudes between 1/128 and 1/64, of either sign. */
static void fill_scales(uint32_t dtype, uint8_t *p, uint64_t bytes)
{
	uint32_t elements, size = accel_dtype_block(dtype, &elements);
	uint64_t at;

	for (at = 0; at < bytes; at += size) {
		uint8_t *half = p + at + (dtype == ACCEL_Q6_K ? size - 2 : 0);

		half[1] = (half[1] & 0x83) | 0x20;
		if (dtype == ACCEL_Q4_1 || dtype == ACCEL_Q4_K)
			half[3] = (half[3] & 0x83) | 0x20;
	}
}

void data_fill(uint64_t *rng, uint32_t dtype, void *data, uint64_t count)
{
	uint64_t i, bytes = data_bytes(dtype, count), word;

	for (i = 0; (dtype == ACCEL_F32 || dtype == ACCEL_BF16) && i < count; i++) {
		float x = (float)((double)(next(rng) >> 40) / (1 << 23) - 1);

		if (dtype == ACCEL_F32)
			((float *)data)[i] = x;
		else
			((uint16_t *)data)[i] = to_bf16(x);
	}
	for (i = 0; dtype != ACCEL_F32 && dtype != ACCEL_BF16 && i < bytes; i += 8) {
		word = next(rng);
		memcpy((char *)data + i, &word, bytes - i < 8 ? bytes - i : 8);
	}
	if (!accel_dtype_bits(dtype))
		fill_scales(dtype, data, bytes);
}

double data_get(uint32_t dtype, const void *data, uint64_t i)
{
	uint32_t bits, elements, size = accel_dtype_block(dtype, &elements);
	float x;

	switch (dtype) {
	case ACCEL_Q8_0:
	case ACCEL_Q4_0:
	case ACCEL_Q4_1:
	case ACCEL_Q4_K:
	case ACCEL_Q6_K:
		return oracle_block_value(dtype, (const char *)data + i / elements * size,
					  (int)(i % elements));
	case ACCEL_F32:
		return ((const float *)data)[i];
	case ACCEL_BF16:
		bits = (uint32_t)((const uint16_t *)data)[i] << 16;
		memcpy(&x, &bits, sizeof(x));
		return x;
	case ACCEL_S32:
		return ((const int32_t *)data)[i];
	case ACCEL_S8:
		return ((const int8_t *)data)[i];
	case ACCEL_U8:
		return ((const uint8_t *)data)[i];
	case ACCEL_S4:
		bits = ((const uint8_t *)data)[i / 2] >> (i & 1 ? 4 : 0) & 15;
		return bits < 8 ? (double)bits : (double)bits - 16;
	default:
		return NAN;
	}
}

const char *data_name(uint32_t dtype)
{
	switch (dtype) {
	case ACCEL_S8:
		return "s8";
	case ACCEL_U8:
		return "u8";
	case ACCEL_S4:
		return "s4";
	default:
		return accel_dtype_name(dtype);
	}
}

uint64_t data_bytes(uint32_t dtype, uint64_t count)
{
	uint32_t elements, size = accel_dtype_block(dtype, &elements);

	return (count + elements - 1) / elements * size;
}

void data_compare(struct data_errors *e, double got, double want)
{
	e->diff = fmax(e->diff, oracle_apart(got, want));
	/* Of an infinity any difference is nothing. */
	if (isfinite(want))
		e->size = fmax(e->size, fabs(want));
}

double data_error(const struct data_errors *e)
{
	return e->size > 0 ? e->diff / e->size : e->diff;
}
