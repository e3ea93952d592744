// SPDX-License-Identifier: MIT
/*
 * Blocks are read: formats of GGUF files, of which some are element types, and what they stand
 * for.
 */
#include <errno.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "blocks.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static float half(const uint8_t *p)
{
	return (float)half_value((uint16_t)(p[0] | p[1] << 8));
}

/* Q8_0: d, bytes. */
static void take_q8_0(const uint8_t *p, struct packed *b)
{
	memcpy(b->q, p + 2, 32);
	b->scale[0] = b->scale[1] = half(p);
	b->add[0] = b->add[1] = 0;
}

/* Q4_0: d, nibbles; Q4_1 has a minimum behind d. */
static void take_q4(const uint8_t *p, bool with_min, struct packed *b)
{
	const uint8_t *low = p + (with_min ? 4 : 2);
	uint32_t i;

	for (i = 0; i < 32; i++)
		b->q[i] = (int8_t)((low[i % 16] >> (i < 16 ? 0 : 4) & 15) - (with_min ? 0 : 8));
	for (i = 0; i < 2; i++) {
		b->scale[i] = half(p);
		b->add[i] = with_min ? half(p + 2) : 0;
	}
}

static void take_q4_0(const uint8_t *p, struct packed *b)
{
	take_q4(p, false, b);
}

static void take_q4_1(const uint8_t *p, struct packed *b)
{
	take_q4(p, true, b);
}

/* Q5_0: d, 32 high bits, nibbles; Q5_1 has a minimum behind d. */
static void take_q5(const uint8_t *p, bool with_min, struct packed *b)
{
	const uint8_t *high = p + (with_min ? 4 : 2), *low = high + 4;
	uint32_t i;

	for (i = 0; i < 32; i++)
		b->q[i] = (int8_t)((low[i % 16] >> (i < 16 ? 0 : 4) & 15) |
				   (high[i / 8] >> i % 8 & 1) << 4);
	for (i = 0; i < 32 && !with_min; i++)
		b->q[i] -= 16;
	memcpy(&b->d, p, sizeof(b->d));
	for (i = 0; i < 2; i++) {
		b->scale[i] = half(p);
		b->add[i] = with_min ? half(p + 2) : 0;
	}
}

static void take_q5_0(const uint8_t *p, struct packed *b)
{
	take_q5(p, false, b);
}

static void take_q5_1(const uint8_t *p, struct packed *b)
{
	take_q5(p, true, b);
}

/* Q2_K: 16 scales and minima of 4 bits, numbers of 2, d, e. */
static void take_q2_k(const uint8_t *p, struct packed *b)
{
	uint32_t i;

	for (i = 0; i < 256; i++)
		b->q[i] = p[16 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
	for (i = 0; i < 16; i++) {
		b->scale[i] = half(p + 80) * (float)(p[i] & 15);
		b->add[i] = -(half(p + 82) * (float)(p[i] >> 4));
	}
}

/* Q3_K: 256 high bits, numbers of 2, 16 scales of 6 bits in 12 bytes, d. */
static void take_q3_k(const uint8_t *p, struct packed *b)
{
	const uint8_t *s = p + 96;
	uint32_t i;

	for (i = 0; i < 256; i++)
		b->q[i] = (int8_t)((p[32 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) -
				   (p[i % 32] >> i / 32 & 1 ? 0 : 4));
	memcpy(&b->d, p + 108, sizeof(b->d));
	for (i = 0; i < 16; i++) {
		b->s[i] = (int8_t)(((s[i % 8] >> i / 8 * 4 & 15) |
				    (s[8 + i % 4] >> i / 4 * 2 & 3) << 4) - 32);
		b->scale[i] = half(p + 108) * (float)b->s[i];
		b->add[i] = 0;
	}
}

/* Q4_K, Q5_K: d, e, eight scales and minima of 6 bits in 12 bytes. */
static void take_six_bits(const uint8_t *p, struct packed *b)
{
	const uint8_t *s = p + 4;
	uint32_t i, scale, min;

	for (i = 0; i < 8; i++) {
		if (i < 4) {
			scale = s[i] & 63;
			min = s[i + 4] & 63;
		} else {
			scale = (s[i + 4] & 15) | s[i - 4] >> 6 << 4;
			min = s[i + 4] >> 4 | s[i] >> 6 << 4;
		}
		b->scale[2 * i] = b->scale[2 * i + 1] = half(p) * (float)scale;
		b->add[2 * i] = b->add[2 * i + 1] = -(half(p + 2) * (float)min);
	}
}

static void take_q4_k(const uint8_t *p, struct packed *b)
{
	uint32_t i;

	for (i = 0; i < 256; i++)
		b->q[i] = p[16 + i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15;
	take_six_bits(p, b);
}

/* Q5_K: as Q4_K, with 256 high bits before the nibbles. */
static void take_q5_k(const uint8_t *p, struct packed *b)
{
	const uint8_t *high = p + 16, *low = p + 48;
	uint32_t i;

	for (i = 0; i < 256; i++)
		b->q[i] = (int8_t)((low[i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15) |
				   (high[i % 32] >> i / 32 & 1) << 4);
	take_six_bits(p, b);
}

/* Q6_K: 256 nibbles, 256 high pairs of bits, 16 scales, d. */
static void take_q6_k(const uint8_t *p, struct packed *b)
{
	uint32_t i, run;

	for (i = 0; i < 256; i++) {
		run = i % 128 / 32;
		b->q[i] = (int8_t)(((p[i / 128 * 64 + run % 2 * 32 + i % 32] >> run / 2 * 4 & 15) |
				    (p[128 + i / 128 * 32 + i % 32] >> 2 * run & 3) << 4) - 32);
	}
	for (i = 0; i < 16; i++) {
		b->scale[i] = half(p + 208) * (float)(int8_t)p[192 + i];
		b->add[i] = 0;
	}
}

static void put_q8_0(const struct packed *b, uint8_t *to)
{
	memcpy(to, &b->d, sizeof(b->d));
	memcpy(to + 2, b->q, 32);
}

void put_q6_k(const struct packed *b, uint8_t *to)
{
	uint32_t i, run, v;

	memset(to, 0, 192);
	for (i = 0; i < 256; i++) {
		run = i % 128 / 32;
		v = (uint32_t)(b->q[i] + 32);
		to[i / 128 * 64 + run % 2 * 32 + i % 32] |= (uint8_t)((v & 15) << run / 2 * 4);
		to[128 + i / 128 * 32 + i % 32] |= (uint8_t)(v >> 4 << 2 * run);
	}
	memcpy(to + 192, b->s, 16);
	memcpy(to + 208, &b->d, sizeof(b->d));
}

static void put_floats(const struct packed *b, uint32_t count, uint8_t *to)
{
	float x;
	uint32_t i;

	for (i = 0; i < count; i++) {
		x = b->scale[i / 16] * (float)b->q[i] + b->add[i / 16];
		memcpy(to + 4ul * i, &x, sizeof(x));
	}
}

/**
 * struct format - a format of blocks
 * @number: &enum accel_gguf or &enum accel_dtype
 * @count: elements of a block
 * @bytes: of a block
 * @take: takes it apart
 */
struct format {
	uint32_t number;
	uint32_t count;
	uint32_t bytes;
	void (*take)(const uint8_t *p, struct packed *b);
};

static const struct format others[] = {
	{ ACCEL_GGUF_Q5_0, 32, 22, take_q5_0 }, { ACCEL_GGUF_Q5_1, 32, 24, take_q5_1 },
	{ ACCEL_GGUF_Q2_K, 256, 84, take_q2_k }, { ACCEL_GGUF_Q3_K, 256, 110, take_q3_k },
	{ ACCEL_GGUF_Q5_K, 256, 176, take_q5_k },
};

static const struct format types[] = {
	{ ACCEL_Q8_0, 32, 34, take_q8_0 }, { ACCEL_Q4_0, 32, 18, take_q4_0 },
	{ ACCEL_Q4_1, 32, 20, take_q4_1 }, { ACCEL_Q4_K, 256, 144, take_q4_k },
	{ ACCEL_Q6_K, 256, 210, take_q6_k },
};

static const struct format *find(const struct format *list, size_t count, uint32_t number)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (list[i].number == number)
			return &list[i];
	return NULL;
}

int accel_blocks_convert(uint32_t format, const void *from, uint64_t elements,
			 uint32_t dtype, void *to)
{
	FP_MODE_SCOPE();
	const struct format *f = find(others, ARRAY_SIZE(others), format);
	const uint8_t *p = from;
	uint8_t *d = to;
	struct packed b;
	uint32_t out, step = accel_dtype_block(dtype, &out);

	if (!f || !from || !to || elements % f->count)
		return -EINVAL;
	if (dtype != ACCEL_F32 && !(format == ACCEL_GGUF_Q5_0 && dtype == ACCEL_Q8_0) &&
	    !(format == ACCEL_GGUF_Q3_K && dtype == ACCEL_Q6_K))
		return -EOPNOTSUPP;
	for (; elements; elements -= f->count, p += f->bytes) {
		f->take(p, &b);
		if (dtype == ACCEL_Q8_0)
			put_q8_0(&b, d);
		else if (dtype == ACCEL_Q6_K)
			put_q6_k(&b, d);
		else
			put_floats(&b, f->count, d);
		d += step * (f->count / out);
	}
	return 0;
}

int accel_blocks_read(uint32_t dtype, const void *from, uint64_t elements, float *to)
{
	FP_MODE_SCOPE();
	const struct format *f = find(types, ARRAY_SIZE(types), dtype);
	const uint8_t *p = from;
	struct packed b;
	uint64_t i;

	if (!from || !to || (f && elements % f->count))
		return -EINVAL;
	if (!f && dtype != ACCEL_F32 && dtype != ACCEL_F16 && dtype != ACCEL_BF16)
		return -EOPNOTSUPP;
	if (dtype == ACCEL_F32)
		memcpy(to, from, elements * sizeof(*to));
	for (i = 0; i < elements && dtype == ACCEL_F16; i++)
		to[i] = half(p + 2 * i);
	for (i = 0; i < elements && dtype == ACCEL_BF16; i++) {
		uint32_t bits = (uint32_t)p[2 * i] << 16 | (uint32_t)p[2 * i + 1] << 24;

		memcpy(&to[i], &bits, sizeof(bits));
	}
	for (i = 0; f && i < elements; i += f->count, p += f->bytes) {
		f->take(p, &b);
		put_floats(&b, f->count, (uint8_t *)(to + i));
	}
	return 0;
}
