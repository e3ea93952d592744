// SPDX-License-Identifier: MIT
/*
 * Weights in fewer bits.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

static float element(const struct matrix *w, uint64_t row, uint64_t col)
{
	float x;

	memcpy(&x, w->data + (row * w->row_step + col * w->col_step) * sizeof(x), sizeof(x));
	return isfinite(x) ? x : 0;
}

/**
 * bits_scales - scales that bring the largest element to 127
 * @w: matrix
 * @one: one for all
 * @scales: out: of each row, or one
 */
void bits_scales(const struct matrix *w, bool one, float *scales)
{
	float largest = 0, x;
	uint64_t i, k;

	for (i = 0; i < w->rows; i++) {
		if (!one)
			largest = 0;
		for (k = 0; k < w->cols; k++) {
			x = fabsf(element(w, i, k));
			largest = x > largest ? x : largest;
		}
		if (!one || i + 1 == w->rows)
			scales[one ? 0 : i] = largest > FLT_MIN * 127 ? largest / 127 : 1;
	}
}

/* The elements in the order in which they lie, or @across: row by row of what is multiplied */
void bits_bytes(const struct matrix *w, const float *scales, bool one, bool across, int8_t *out)
{
	uint64_t i, k;
	float x;

	for (i = 0; i < w->rows; i++)
		for (k = 0; k < w->cols; k++) {
			x = rintf(element(w, i, k) / scales[one ? 0 : i]);
			x = x > 127 ? 127 : x < -127 ? -127 : x;
			out[across ? k * w->rows + i : i * w->row_step + k * w->col_step] =
				(int8_t)x;
		}
}

/* Half bytes of some elements by a range; the sum of squares of what is lost */
static float try_range(const float *x, uint32_t n, float min, float max, uint8_t *q, float *scale,
		       float *zero)
{
	float lost = 0, y;
	uint32_t k;

	*scale = max - min > FLT_MIN * 15 ? (max - min) / 15 : 1;
	*zero = rintf(-min / *scale);
	*zero = *zero > 15 ? 15 : *zero < 0 ? 0 : *zero;
	for (k = 0; k < n; k++) {
		y = rintf(x[k] / *scale) + *zero;
		y = y > 15 ? 15 : y < 0 ? 0 : y;
		q[k] = (uint8_t)y;
		y = (y - *zero) * *scale - x[k];
		lost += y * y;
	}
	return lost;
}

#define MAX_BLOCK	32
#define TRIES		6

/*
 * Half bytes of a block. A range that is cut a little may lose less in all than it loses at
 * its ends.
 */
static void take_block(const float *x, uint32_t n, uint8_t *best, float *scale, uint8_t *zero)
{
	float min = 0, max = 0, lost, least = INFINITY, s, z, cut;
	uint8_t q[MAX_BLOCK];
	uint32_t k, t;

	for (k = 0; k < n; k++) {
		min = x[k] < min ? x[k] : min;
		max = x[k] > max ? x[k] : max;
	}
	for (t = 0; t < TRIES; t++) {
		cut = 1 - 0.04f * (float)t;
		lost = try_range(x, n, min * cut, max * cut, q, &s, &z);
		if (lost >= least)
			continue;
		least = lost;
		memcpy(best, q, n);
		*scale = s;
		*zero = (uint8_t)z;
	}
}

static void put_half(uint8_t *p, uint64_t at, uint8_t half)
{
	p[at / 2] |= (uint8_t)(at & 1 ? half << 4 : half);
}

/**
 * bits_halves - 4 bits for each element, in blocks
 * @w: matrix
 * @block: elements of a row that share a scale, at most 32
 * @out: out, zeroed: rows of whole blocks
 * @scales: out: one for each block
 * @zeros: out, zeroed: 4 bits for each block, rows of whole bytes
 */
void bits_halves(const struct matrix *w, uint32_t block, uint8_t *out, float *scales,
		 uint8_t *zeros)
{
	const uint64_t blocks = (w->cols + block - 1) / block, zero_bytes = (blocks + 1) / 2;
	uint64_t i, b;
	uint32_t k, n;

	for (i = 0; i < w->rows; i++)
		for (b = 0; b < blocks; b++) {
			uint8_t q[MAX_BLOCK] = { 0 }, zero = 0;
			float x[MAX_BLOCK];

			n = w->cols - b * block < block ? (uint32_t)(w->cols - b * block) : block;
			for (k = 0; k < n; k++)
				x[k] = element(w, i, b * block + k);
			take_block(x, n, q, &scales[i * blocks + b], &zero);
			for (k = 0; k < n; k++)
				put_half(out, (i * blocks + b) * block + k, q[k]);
			put_half(zeros + i * zero_bytes, b, zero);
		}
}

/* --- two of four ------------------------------------------------------------------------- */

/**
 * bits_prune - of each four elements the two smallest become 0
 * @w: matrix
 * @step: from an element of a row to the next of its four: those between are of others
 * @out: out: all elements where they lay; of the last ones of a row, if they are fewer than
 *	four, two stay too
 *
 * What a row loses in sum is spread over the elements that stay: inputs that have a mean, as those
 * behind a ReLU, then keep that of the result.
 */
void bits_prune(const struct matrix *w, uint64_t step, float *out)
{
	uint64_t i, k, c, at, kept;
	uint32_t n, a, b, larger;
	double lost;
	float x[4];
	bool keeps;

	for (i = 0; i < w->rows; i++) {
		lost = 0;
		kept = 0;
		for (k = 0; k < w->cols; k++) {
			c = k / step;
			if (c % 4)
				continue;
			n = w->cols / step - c < 4 ? (uint32_t)(w->cols / step - c) : 4;
			for (a = 0; a < n; a++) {
				at = i * w->row_step + (k + a * step) * w->col_step;
				memcpy(&x[a], w->data + at * sizeof(*x), sizeof(*x));
			}
			for (a = 0; a < n; a++) {
				for (b = larger = 0; b < n; b++)
					larger += fabsf(x[b]) > fabsf(x[a]) ||
						  (fabsf(x[b]) == fabsf(x[a]) && b < a);
				keeps = larger < 2 && x[a] != 0;
				kept += keeps;
				lost += keeps ? 0 : (double)x[a];
				out[i * w->row_step + (k + a * step) * w->col_step] =
					keeps ? x[a] : 0;
			}
		}
		for (k = 0; k < w->cols && kept; k++) {
			float *y = &out[i * w->row_step + k * w->col_step];

			*y += *y != 0 ? (float)(lost / (double)kept) : 0;
		}
	}
}

/* --- palettes ---------------------------------------------------------------------------- */

#define CELLS	65536u

/**
 * struct cells - elements by their upper 16 bits, which are in the order of the numbers
 * @count: elements of those before a cell; cells that have none are left out
 * @sum: their sum
 * @square: that of their squares
 * @cost: of the cells up to each, in one group less than now, and in as many
 * @from: for each number of groups and each cell, the first cell of the last group
 * @n: cells
 * @group: of each of all CELLS its place among those, then its group
 */
struct cells {
	double count[CELLS + 1];
	double sum[CELLS + 1];
	double square[CELLS + 1];
	double cost[2][CELLS + 1];
	uint16_t *from;
	uint32_t n;
	uint16_t group[CELLS];
};

static uint32_t cell_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits >> 31 ? CELLS / 2 - 1 - (bits >> 16 & 0x7fff) : CELLS / 2 + (bits >> 16);
}

/* What a group of the cells from @a up to @b, without it, loses by being one number */
static double loss(const struct cells *c, uint32_t a, uint32_t b)
{
	double sum = c->sum[b] - c->sum[a];

	return c->square[b] - c->square[a] - sum * sum / (c->count[b] - c->count[a]);
}

/*
 * The best last group for each number of cells from @low to @high: it begins between @first
 * and @last, for it begins no earlier where there are more cells.
 */
static void best_last(struct cells *c, uint16_t *from, uint32_t low, uint32_t high,
		      uint32_t first, uint32_t last)
{
	uint32_t mid, at, best;
	double cost, least;

	while (low <= high) {
		mid = low + (high - low) / 2;
		least = INFINITY;
		best = first;
		for (at = first; at <= last && at < mid; at++) {
			cost = c->cost[0][at] + loss(c, at, mid);
			if (cost < least) {
				least = cost;
				best = at;
			}
		}
		c->cost[1][mid] = least;
		from[mid - 1] = (uint16_t)best;
		if (mid > low)
			best_last(c, from, low, mid - 1, first, best);
		low = mid + 1;
		first = best;
	}
}

static void count_cells(struct cells *c, const struct matrix *w)
{
	double count, sum, square, x;
	uint32_t i, cell;
	uint64_t k;

	for (k = 0; k < w->cols; k++) {
		x = (double)element(w, 0, k);
		cell = cell_of((float)x);
		c->count[cell + 1] += 1;
		c->sum[cell + 1] += x;
		c->square[cell + 1] += x * x;
	}
	for (i = 0; i < CELLS; i++) {
		count = c->count[i + 1];
		sum = c->sum[i + 1];
		square = c->square[i + 1];
		if (count == 0)
			continue;
		c->group[i] = (uint16_t)c->n++;
		c->count[c->n] = c->count[c->n - 1] + count;
		c->sum[c->n] = c->sum[c->n - 1] + sum;
		c->square[c->n] = c->square[c->n - 1] + square;
	}
}

/* The means of groups, and for each cell which one it is of; groups that are not needed are 0. */
static int find_groups(struct cells *c, uint32_t count, float *palette)
{
	const uint32_t groups = count < c->n ? count : c->n;
	uint32_t g, i, end, at;
	uint16_t *of;

	c->from = calloc((size_t)groups * c->n + 1, sizeof(*c->from));
	of = calloc((size_t)c->n + 1, sizeof(*of));
	if (!c->from || !of) {
		free(c->from);
		free(of);
		return -ENOMEM;
	}
	for (i = 1; i <= c->n; i++)
		c->cost[1][i] = loss(c, 0, i);
	for (g = 1; g < groups; g++) {
		memcpy(c->cost[0], c->cost[1], sizeof(c->cost[0]));
		best_last(c, c->from + (size_t)g * c->n, g + 1, c->n, g, c->n - 1);
	}
	for (g = groups, end = c->n; g-- > 0; end = at) {
		at = c->from[(size_t)g * c->n + end - 1];
		palette[g] = (float)((c->sum[end] - c->sum[at]) / (c->count[end] - c->count[at]));
		for (i = at; i < end; i++)
			of[i] = (uint16_t)g;
	}
	for (i = 0; i < CELLS; i++)
		c->group[i] = c->n ? of[c->group[i]] : 0;
	free(c->from);
	free(of);
	return 0;
}

/**
 * bits_palette - the numbers that stand for all, with the least sum of squares of what is lost
 * @data: elements, binary32, any alignment
 * @n: their number, not 0
 * @count: numbers in the palette, at most 256
 * @out: out: for each element its place in the palette
 * @palette: out, zeroed
 *
 * Groups of numbers that lie side by side, the best ones there are (so the result of k-means
 * where it ends best), but that numbers with the same upper 16 bits are in the same.
 *
 * Return: 0 or -ENOMEM.
 */
int bits_palette(const uint8_t *data, uint64_t n, uint32_t count, uint8_t *out, float *palette)
{
	const struct matrix w = { data, 1, n, n, 1 };
	struct cells *c = calloc(1, sizeof(*c));
	uint64_t k;
	int ret;

	if (!c)
		return -ENOMEM;
	count_cells(c, &w);
	ret = find_groups(c, count, palette);
	for (k = 0; k < n && !ret; k++)
		out[k] = (uint8_t)c->group[cell_of(element(&w, 0, k))];
	free(c);
	return ret;
}
