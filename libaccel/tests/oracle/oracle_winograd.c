// SPDX-License-Identifier: MIT
/*
 * How wrong Winograd's algorithms may be, an output at a time, from the numbers of its tile: the
 * componentwise analysis of B. Barabasz, A. Anderson, K. M. Soodhalter and D. Gregg, "Error
 * Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks", 2020, for
 * roundings all in one direction; and for independent ones, as in N. J. Higham and T. Mary, "A New
 * Approach to Probabilistic Rounding Error Analysis", 2019, each with the standard deviation of a
 * uniform error. Documentation/numerics.rst has the formulas.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

#define MOST	8
/* Standard deviations that an error may have */
#define SIGMAS	4
/* Roundings of a number of a kernel's transform: a product, nine sums, a division, the divisor */
#define KERNEL	12
/* Numbers below this are rounded by ORACLE_TINY, not by a part of them. */
#define LEAST	(ORACLE_TINY / ORACLE_U)

/**
 * struct transforms - of an algorithm, along a dimension, in binary64
 * @bt: B', as the model's conv_wino.c has it
 * @g: G
 * @at: A'
 * @inputs: products in a row of B', at most
 * @outputs: in one of A'
 */
static const struct transforms {
	double bt[MOST][MOST], g[MOST][3], at[MOST][MOST];
	uint32_t inputs, outputs;
} all[] = {
	{
		{ { 1, 0, -1 }, { 0, 1, 1 }, { 0, -1, 1 }, { 0, 1, 0, -1 } },
		{ { 1 }, { .5, .5, .5 }, { .5, -.5, .5 }, { 0, 0, 1 } },
		{ { 1, 1, 1 }, { 0, 1, -1, -1 } },
		2, 3,
	}, {
		{ { 4, 0, -5, 0, 1 }, { 0, -4, -4, 1, 1 }, { 0, 4, -4, -1, 1 }, { 0, -2, -1, 2, 1 },
		  { 0, 2, -1, -2, 1 }, { 0, 4, 0, -5, 0, 1 } },
		{ { 1. / 4 }, { -1. / 6, -1. / 6, -1. / 6 }, { -1. / 6, 1. / 6, -1. / 6 },
		  { 1. / 24, 1. / 12, 1. / 6 }, { 1. / 24, -1. / 12, 1. / 6 }, { 0, 0, 1 } },
		{ { 1, 1, 1, 1, 1 }, { 0, 1, -1, 2, -2 }, { 0, 1, 1, 4, 4 },
		  { 0, 1, -1, 8, -8, 1 } },
		4, 5,
	}, {
		{ { 1, 0, -5.25, 0, 5.25, 0, -1 }, { 0, 1, 1, -4.25, -4.25, 1, 1 },
		  { 0, -1, 1, 4.25, -4.25, -1, 1 }, { 0, .5, .25, -2.5, -1.25, 2, 1 },
		  { 0, -.5, .25, 2.5, -1.25, -2, 1 }, { 0, 2, 4, -2.5, -5, .5, 1 },
		  { 0, -2, 4, 2.5, -5, -.5, 1 }, { 0, -1, 0, 5.25, 0, -5.25, 0, 1 } },
		{ { 1 }, { -2. / 9, -2. / 9, -2. / 9 }, { -2. / 9, 2. / 9, -2. / 9 },
		  { 1. / 90, 1. / 45, 2. / 45 }, { 1. / 90, -1. / 45, 2. / 45 },
		  { 32. / 45, 16. / 45, 8. / 45 }, { 32. / 45, -16. / 45, 8. / 45 }, { 0, 0, 1 } },
		{ { 1, 1, 1, 1, 1, 1, 1 }, { 0, 1, -1, 2, -2, 1. / 2, -1. / 2 },
		  { 0, 1, 1, 4, 4, 1. / 4, 1. / 4 }, { 0, 1, -1, 8, -8, 1. / 8, -1. / 8 },
		  { 0, 1, 1, 16, 16, 1. / 16, 1. / 16 },
		  { 0, 1, -1, 32, -32, 1. / 32, -1. / 32, 1 } },
		6, 7,
	},
};

/**
 * struct number - a transformed one
 * @v: value
 * @mag: sum of the magnitudes of what it is made of
 */
struct number {
	double v, mag;
};

/**
 * struct sums - of a point of a tile over the channels
 * @v: magnitude of the sum
 * @mag: magnitudes of what the sum is made of
 * @var: variance of its error, in units of ORACLE_U squared, three times
 */
struct sums {
	double v, mag, var;
};

/* Transform @size by @size numbers, @m of @rows by @size, either way. */
static void transform(const double *m, uint32_t ld, uint32_t rows, uint32_t size, const double *x,
		      struct number *out)
{
	uint32_t i, j, y, k;

	for (i = 0; i < rows; i++)
		for (j = 0; j < rows; j++, out++) {
			*out = (struct number){ 0, LEAST };
			for (y = 0; y < size; y++)
				for (k = 0; k < size; k++) {
					double p = m[i * ld + y] * m[j * ld + k] * x[y * size + k];

					out->v += p;
					out->mag += fabs(p);
				}
		}
}

static void sum(const struct number *u, const struct number *v, int64_t channels, uint32_t step,
		uint32_t inputs, struct sums *s)
{
	double total = 0, most = 0, squares = 0, mag;
	int64_t c;

	s->mag = 0;
	for (c = 0; c < channels; c++, u += step, v += step) {
		total += u->v * v->v;
		most = fmax(most, fabs(total));
		mag = u->mag * v->mag + LEAST;
		s->mag += mag;
		squares += mag * mag;
		/* What overflows or is no number shows all over the tile. */
		if (!(fmax(u->mag, v->mag) <= (double)__FLT_MAX__) || isnan(mag))
			s->mag = INFINITY;
	}
	s->v = fabs(total);
	s->var = (KERNEL + 2. * inputs) * squares + (double)channels * most * most;
}

/* Error of output (@y, @x) of a tile */
static double error_of(const struct transforms *t, const struct sums *s, int64_t channels,
		       uint32_t points, uint32_t y, uint32_t x)
{
	double mag = 0, var = 0, made = 0, n = (double)channels + 1 + KERNEL +
		2 * (t->inputs + t->outputs);
	uint32_t i, j;

	for (i = 0; i < points; i++)
		for (j = 0; j < points; j++, s++) {
			double f = fabs(t->at[y][i] * t->at[x][j]);

			if (f == 0)
				continue;
			mag += f * s->mag;
			var += f * f * s->var;
			made += f * s->v;
		}
	if (!(mag <= (double)__FLT_MAX__))
		return INFINITY;
	var += 2 * t->outputs * made * made;
	return ORACLE_U * fmin(n * mag * 1.001, SIGMAS * sqrt(var / 3) + LEAST * n);
}

/* The first output of a tile along a dimension: those of a tile are the dilation apart. */
static int64_t first_of(int64_t tile, int64_t dilation, uint32_t edge)
{
	if (!dilation)
		dilation = 1;
	return tile % dilation + tile / dilation * edge * dilation;
}

/**
 * struct tile - of the output, with the transforms that it needs
 * @d: descriptor
 * @t: the algorithm's
 * @edge: outputs along a dimension
 * @u: transformed kernels, indexed by output channel, input channel, point
 * @v: transformed inputs, indexed by input channel, point
 * @n: image
 * @first: its first output along each dimension
 */
struct tile {
	const struct accel_conv_desc *d;
	const struct transforms *t;
	uint32_t edge;
	struct number *u, *v;
	int64_t n, first[2];
};

/* Index of number @i of a tile in channel @c of @x, -1 outside; @size of them are in a row. */
static int64_t place(const struct tile *t, const struct accel_tensor *x, int64_t c, uint32_t i,
		     uint32_t size, const uint32_t *pad)
{
	const bool last = t->d->flags & ACCEL_CONV_NHWC;
	const int64_t *dims = &x->dims[last ? 1 : 2];
	int64_t at[2], k;

	for (k = 0; k < 2; k++) {
		const int64_t gap = t->d->dilation[k] ? t->d->dilation[k] : 1;

		at[k] = t->first[k] + (k ? i % size : i / size) * gap - (pad ? pad[k] : 0);
		if (at[k] < 0 || at[k] >= dims[k])
			return -1;
	}
	return last ? ((t->n * dims[0] + at[0]) * dims[1] + at[1]) * x->dims[3] + c :
		      ((t->n * x->dims[1] + c) * dims[0] + at[0]) * dims[1] + at[1];
}

static void tile_errors(struct tile *t, const double *a, double *error)
{
	const uint32_t points = t->edge + 2, step = points * points;
	const int64_t channels = t->d->b.dims[1];
	struct sums s[MOST * MOST] = { 0 };
	int64_t c, m, at;
	uint32_t p;

	for (c = 0; c < channels; c++) {
		double px[MOST * MOST] = { 0 };

		for (p = 0; p < step; p++) {
			at = place(t, &t->d->a, c, p, points, t->d->pad_before);
			px[p] = at < 0 ? 0 : a[at];
		}
		transform(&t->t->bt[0][0], MOST, points, points, px, t->v + c * step);
	}
	for (m = 0; m < t->d->b.dims[0]; m++) {
		for (p = 0; p < step; p++)
			sum(t->u + m * channels * step + p, t->v + p, channels, step, t->t->inputs,
			    &s[p]);
		for (p = 0; p < t->edge * t->edge; p++) {
			at = place(t, &t->d->d, m, p, t->edge, NULL);
			if (at >= 0)
				error[at] = fmax(error[at],
						 error_of(t->t, s, channels, points, p / t->edge,
							  p % t->edge));
		}
	}
}

int oracle_winograd(const struct accel_conv_desc *d, uint32_t edge, const double *a,
		    const double *b, double *error)
{
	const int64_t pairs = d->b.dims[0] * d->b.dims[1], *out;
	const uint32_t points = edge + 2, step = points * points;
	struct tile t = { .d = d, .edge = edge };
	int64_t i, y, x;

	if (edge < 2 || edge > 2 * sizeof(all) / sizeof(all[0]))
		return -1;
	t.t = &all[edge / 2 - 1];
	out = &d->d.dims[d->flags & ACCEL_CONV_NHWC ? 1 : 2];
	t.u = calloc((size_t)(pairs * step) + 1, sizeof(*t.u));
	t.v = calloc((size_t)(d->b.dims[1] * step) + 1, sizeof(*t.v));
	if (!t.u || !t.v) {
		free(t.u);
		free(t.v);
		return -1;
	}
	for (i = 0; i < pairs; i++)
		transform(&t.t->g[0][0], 3, points, 3, b + i * 9, t.u + i * step);
	for (t.n = 0; t.n < d->d.dims[0]; t.n++)
		for (y = 0; (t.first[0] = first_of(y, d->dilation[0], edge)) < out[0]; y++)
			for (x = 0; (t.first[1] = first_of(x, d->dilation[1], edge)) < out[1]; x++)
				tile_errors(&t, a, error);
	free(t.u);
	free(t.v);
	return 0;
}
