/* SPDX-License-Identifier: MIT */
/*
 * CRC-64 of ECMA-182 as xz has it: reflected, all ones before and after.
 */
#ifndef LIBACCEL_CRC64_H
#define LIBACCEL_CRC64_H

#include <stddef.h>
#include <stdint.h>

#define CRC64_POLY	0xc96c5795d7870f42ull

/**
 * struct crc64 - a sum that grows
 * @table: for a byte
 * @value: so far; its complement is the sum
 */
struct crc64 {
	uint64_t table[256];
	uint64_t value;
};

static inline void crc64_begin(struct crc64 *c)
{
	uint64_t v;
	uint32_t i, bit;

	for (i = 0; i < 256; i++) {
		v = i;
		for (bit = 0; bit < 8; bit++)
			v = v & 1 ? v >> 1 ^ CRC64_POLY : v >> 1;
		c->table[i] = v;
	}
	c->value = UINT64_MAX;
}

static inline void crc64_add(struct crc64 *c, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t v = c->value;

	while (bytes--)
		v = c->table[(v ^ *p++) & 255] ^ v >> 8;
	c->value = v;
}

#endif /* LIBACCEL_CRC64_H */
