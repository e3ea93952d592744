// SPDX-License-Identifier: MIT
/*
 * Random numbers: the Mersenne Twister (MT19937) with one word as its seed, and what is made of
 * it as numpy.random.RandomState does, whose numbers the definitions of ONNX are.
 */
#include <math.h>

#include "host.h"

#define WORDS	624u
#define AHEAD	397u

/**
 * host_random_seed - begin a sequence
 * @r: out
 * @seed: seed
 */
void host_random_seed(struct host_random *r, uint32_t seed)
{
	uint32_t i;

	r->words[0] = seed;
	for (i = 1; i < WORDS; i++)
		r->words[i] = 1812433253u * (r->words[i - 1] ^ r->words[i - 1] >> 30) + i;
	r->at = WORDS;
	r->has_spare = false;
}

static uint32_t next_word(struct host_random *r)
{
	uint32_t i, x;

	if (r->at == WORDS) {
		for (i = 0; i < WORDS; i++) {
			x = (r->words[i] & 0x80000000) | (r->words[(i + 1) % WORDS] & 0x7fffffff);
			r->words[i] = r->words[(i + AHEAD) % WORDS] ^ x >> 1 ^
				      (x & 1 ? 0x9908b0df : 0);
		}
		r->at = 0;
	}
	x = r->words[r->at++];
	x ^= x >> 11;
	x ^= x << 7 & 0x9d2c5680;
	x ^= x << 15 & 0xefc60000;
	return x ^ x >> 18;
}

/* From 0 on and below 1, in steps of 2^-53 */
double host_random_uniform(struct host_random *r)
{
	const uint32_t a = next_word(r) >> 5, b = next_word(r) >> 6;

	return (a * 0x1p26 + b) / 0x1p53;
}

/* Of the mean 0 and the deviation 1: a point in the circle gives two of them (Marsaglia). */
double host_random_normal(struct host_random *r)
{
	double x, y, square, f;

	if (r->has_spare) {
		r->has_spare = false;
		return r->spare;
	}
	do {
		x = 2 * host_random_uniform(r) - 1;
		y = 2 * host_random_uniform(r) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square == 0);
	f = sqrt(-2 * log(square) / square);
	r->spare = f * x;
	r->has_spare = true;
	return f * y;
}
