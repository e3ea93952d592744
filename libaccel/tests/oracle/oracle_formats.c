// SPDX-License-Identifier: MIT
/*
 * Elements of blocks, as GGUF's descriptions of its formats have them: a block is a
 * list of fields, and bit b of field f of element i is found by counting.
 */
#include <stdlib.h>

#include "oracle.h"

static double f16_at(const unsigned char *p)
{
	return oracle_f16_value((uint16_t)(p[0] | p[1] << 8));
}

static int s8_at(const unsigned char *p)
{
	return *p < 128 ? *p : *p - 256;
}

/* 16 numbers in the low nibbles, the next 16 in the high ones; so @run of them. */
static int nibble(const unsigned char *p, int i, int run)
{
	const unsigned char byte = p[i / (2 * run) * run + i % run];

	return i / run % 2 ? byte / 16 : byte % 16;
}

/*
 * Number @which of the twelve bytes that hold eight scales, then eight minima, of 6
 * bits: the first four of each have bytes of their own, the others' low nibbles share
 * a byte, and their high bits are on top of the first ones.
 */
static int six_bits(const unsigned char *s, int which, int is_min)
{
	const unsigned char *own = s + (is_min ? 4 : 0), *shared = s + 8;

	if (which < 4)
		return own[which] % 64;
	which -= 4;
	return (is_min ? shared[which] / 16 : shared[which] % 16) + own[which] / 64 * 16;
}

static double q4_k(const unsigned char *p, int i)
{
	const int group = i / 32;
	const double scale = f16_at(p) * six_bits(p + 4, group, 0);

	return scale * nibble(p + 16, i, 32) - f16_at(p + 2) * six_bits(p + 4, group, 1);
}

static double q6_k(const unsigned char *p, int i)
{
	const unsigned char *low = p, *high = p + 128, *scales = p + 128 + 64;
	/* Two halves of 128: four runs of 32, which a byte of the high bits has one each of. */
	const int half = i / 128, run = i % 128 / 32, at = i % 32;
	const unsigned char l = low[64 * half + run % 2 * 32 + at];
	static const int place[] = { 1, 4, 16, 64 };
	const int q = (run < 2 ? l % 16 : l / 16) + high[32 * half + at] / place[run] % 4 * 16;

	return f16_at(p + 128 + 64 + 16) * s8_at(scales + i / 16) * (q - 32);
}

double oracle_block_value(uint32_t dtype, const void *block, int i)
{
	const unsigned char *p = block;

	switch (dtype) {
	case ACCEL_Q8_0:
		return f16_at(p) * s8_at(p + 2 + i);
	case ACCEL_Q4_0:
		return f16_at(p) * (nibble(p + 2, i, 16) - 8);
	case ACCEL_Q4_1:
		return f16_at(p) * nibble(p + 4, i, 16) + f16_at(p + 2);
	case ACCEL_Q4_K:
		return q4_k(p, i);
	case ACCEL_Q6_K:
		return q6_k(p, i);
	default:
		abort();
	}
}

double oracle_block_min(uint32_t dtype, const void *block, int i)
{
	const unsigned char *p = block;

	if (dtype == ACCEL_Q4_1)
		return f16_at(p + 2);
	return dtype == ACCEL_Q4_K ? -f16_at(p + 2) * six_bits(p + 4, i / 32, 1) : 0;
}

/* A bit of a field. */
static int bit(const unsigned char *p, int i)
{
	return p[i / 8] >> i % 8 & 1;
}

/* Two bits each: a byte has those of elements 32 apart, of each 128. */
static int two_bits(const unsigned char *p, int i)
{
	static const int place[] = { 1, 4, 16, 64 };

	return p[i / 128 * 32 + i % 32] / place[i % 128 / 32] % 4;
}

double oracle_gguf_value(uint32_t format, const void *block, int i)
{
	const unsigned char *p = block;
	int s, q;

	switch (format) {
	case ACCEL_GGUF_Q5_0:
		return f16_at(p) * (nibble(p + 6, i, 16) + 16 * bit(p + 2, i) - 16);
	case ACCEL_GGUF_Q5_1:
		return f16_at(p) * (nibble(p + 8, i, 16) + 16 * bit(p + 4, i)) + f16_at(p + 2);
	case ACCEL_GGUF_Q2_K:
		s = p[i / 16] % 16;
		q = p[i / 16] / 16;
		return f16_at(p + 80) * s * two_bits(p + 16, i) - f16_at(p + 82) * q;
	case ACCEL_GGUF_Q3_K:
		/* The mask's byte is that of the place in 32, its bit that of the 32. */
		q = two_bits(p + 32, i) - (bit(p + i % 32, i / 32) ? 0 : 4);
		s = i / 16;
		s = (s < 8 ? p[96 + s] % 16 : p[96 + s - 8] / 16) +
		    16 * (p[104 + s % 4] >> 2 * (s / 4) & 3) - 32;
		return f16_at(p + 108) * s * q;
	case ACCEL_GGUF_Q5_K:
		q = nibble(p + 48, i, 32) + 16 * bit(p + 16 + i % 32, i / 32);
		return f16_at(p) * six_bits(p + 4, i / 32, 0) * q -
		       f16_at(p + 2) * six_bits(p + 4, i / 32, 1);
	default:
		abort();
	}
}
