/* SPDX-License-Identifier: MIT */
/*
 * Blocks of numbers that have a scale together.
 */
#ifndef LIBACCEL_BLOCKS_H
#define LIBACCEL_BLOCKS_H

#include "reader.h"

/* Elements of the largest block */
#define MOST	256u

/**
 * struct packed - a block, taken apart: x = scale q + add
 * @d: its scale
 * @q: numbers
 * @s: K formats: of each group of 16 elements what @d is multiplied by
 * @scale: of each group
 * @add: of each group
 */
struct packed {
	uint16_t d;
	int8_t q[MOST];
	int8_t s[MOST / 16];
	float scale[MOST / 16];
	float add[MOST / 16];
};

/* Of @d, @q and @s */
void put_q6_k(const struct packed *b, uint8_t *to);

#endif /* LIBACCEL_BLOCKS_H */
