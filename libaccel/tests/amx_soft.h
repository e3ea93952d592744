/* SPDX-License-Identifier: MIT */
/*
 * The tile instructions in C, as the manual has them, so that what uses them can
 * be tested on any processor. What the processor would refuse ends the program.
 */
#ifndef LIBACCEL_TESTS_AMX_SOFT_H
#define LIBACCEL_TESTS_AMX_SOFT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct soft_tile - a tile register
 * @rows: configured rows, 0: not configured
 * @colsb: configured bytes of a row
 * @b: the rest stays zero
 */
struct soft_tile {
	uint32_t rows;
	uint32_t colsb;
	uint8_t b[16][64];
};

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#undef _tile_dpbf16ps
#define _tile_loadconfig	soft_loadconfig
#define _tile_release		soft_release
#define _tile_zero		soft_zero
#define _tile_loadd		soft_loadd
#define _tile_stored		soft_stored

static struct soft_tile soft_tiles[8];

static struct soft_tile *soft_tile(int i)
{
	if (!soft_tiles[i].rows) {
		printf("Bail out! tile %d is not configured\n", i);
		exit(1);
	}
	return &soft_tiles[i];
}

static void _tile_loadconfig(const void *config)
{
	const uint8_t *c = config;
	uint32_t i;

	for (i = 0; i < 8; i++) {
		struct soft_tile *t = &soft_tiles[i];

		memset(t, 0, sizeof(*t));
		t->rows = c[48 + i];
		t->colsb = c[16 + 2 * i] | c[17 + 2 * i] << 8;
		if (c[0] != 1 || t->rows > 16 || t->colsb > 64 || !t->rows != !t->colsb) {
			printf("Bail out! tile %d: %u rows of %u bytes\n", i, t->rows, t->colsb);
			exit(1);
		}
	}
}

static void _tile_release(void)
{
	memset(soft_tiles, 0, sizeof(soft_tiles));
}

static void _tile_zero(int i)
{
	memset(soft_tile(i)->b, 0, sizeof(soft_tiles[i].b));
}

static void _tile_loadd(int i, const void *p, int64_t stride)
{
	struct soft_tile *t = soft_tile(i);
	uint32_t r;

	memset(t->b, 0, sizeof(t->b));
	for (r = 0; r < t->rows; r++)
		memcpy(t->b[r], (const uint8_t *)p + r * stride, t->colsb);
}

static void _tile_stored(int i, void *p, int64_t stride)
{
	const struct soft_tile *t = soft_tile(i);
	uint32_t r;

	for (r = 0; r < t->rows; r++)
		memcpy((uint8_t *)p + r * stride, t->b[r], t->colsb);
}

/* Do the shapes of a product fit? */
static void soft_fit(int c, int a, int b)
{
	const struct soft_tile *tc = soft_tile(c), *ta = soft_tile(a), *tb = soft_tile(b);

	if (tc->rows == ta->rows && tc->colsb == tb->colsb && ta->colsb == 4 * tb->rows)
		return;
	printf("Bail out! tiles %d, %d, %d do not fit\n", c, a, b);
	exit(1);
}

static int32_t soft_byte(uint8_t b, int is_signed)
{
	return is_signed ? (int8_t)b : b;
}

static void soft_bytes(int c, int a, int b, int as, int bs)
{
	uint32_t i, j, k, d;

	soft_fit(c, a, b);
	for (i = 0; i < soft_tiles[c].rows; i++) {
		for (j = 0; j < soft_tiles[c].colsb / 4; j++) {
			uint32_t sum;

			memcpy(&sum, &soft_tiles[c].b[i][4 * j], 4);
			for (k = 0; k < soft_tiles[b].rows; k++) {
				const uint8_t *pa = &soft_tiles[a].b[i][4 * k];
				const uint8_t *pb = &soft_tiles[b].b[k][4 * j];

				for (d = 0; d < 4; d++)
					sum += (uint32_t)(soft_byte(pa[d], as) *
							  soft_byte(pb[d], bs));
			}
			memcpy(&soft_tiles[c].b[i][4 * j], &sum, 4);
		}
	}
}

static float soft_bf16(const uint8_t *p)
{
	uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
	float f;

	/* Subnormal numbers count as zero. */
	if (!(bits & 0x7f800000))
		bits &= 0x80000000;
	memcpy(&f, &bits, 4);
	return f;
}

static void soft_halves(int c, int a, int b)
{
	uint32_t i, j, k;

	soft_fit(c, a, b);
	for (i = 0; i < soft_tiles[c].rows; i++) {
		for (j = 0; j < soft_tiles[c].colsb / 4; j++) {
			float sum, even = 0, odd = 0;

			for (k = 0; k < soft_tiles[b].rows; k++) {
				const uint8_t *pa = &soft_tiles[a].b[i][4 * k];
				const uint8_t *pb = &soft_tiles[b].b[k][4 * j];

				even = __builtin_fmaf(soft_bf16(pa), soft_bf16(pb), even);
				odd = __builtin_fmaf(soft_bf16(pa + 2), soft_bf16(pb + 2), odd);
			}
			memcpy(&sum, &soft_tiles[c].b[i][4 * j], 4);
			sum += even + odd;
			memcpy(&soft_tiles[c].b[i][4 * j], &sum, 4);
		}
	}
}

#define _tile_dpbssd(c, a, b)	soft_bytes(c, a, b, 1, 1)
#define _tile_dpbsud(c, a, b)	soft_bytes(c, a, b, 1, 0)
#define _tile_dpbusd(c, a, b)	soft_bytes(c, a, b, 0, 1)
#define _tile_dpbuud(c, a, b)	soft_bytes(c, a, b, 0, 0)
#define _tile_dpbf16ps(c, a, b)	soft_halves(c, a, b)

#endif /* LIBACCEL_TESTS_AMX_SOFT_H */
