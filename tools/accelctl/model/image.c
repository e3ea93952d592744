// SPDX-License-Identifier: MIT
/*
 * See image.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "image.h"

/**
 * struct line - how a line of pixels becomes one of another length
 * @from: pixels that there are
 * @step: of these, for one of the scaled line
 * @first: the scaled pixel that comes first
 * @reach: half of the triangle's base, in pixels that there are
 */
struct line {
	uint32_t from;
	double step;
	uint32_t first;
	double reach;
};

static struct line make_line(uint32_t from, uint32_t scaled, uint32_t taken)
{
	const double step = (double)from / scaled;

	return (struct line) { from, step, (scaled - taken) / 2, step > 1 ? step : 1 };
}

/* Pixel @i of the result, of pixels that are @stride apart */
static double sample(const struct line *l, uint32_t i, const double *in, size_t stride)
{
	const double middle = (i + l->first + 0.5) * l->step;
	int64_t at = (int64_t)floor(middle - l->reach), end = (int64_t)ceil(middle + l->reach);
	double sum = 0, weights = 0, w;

	for (at = at < 0 ? 0 : at; at < end && at < l->from; at++) {
		w = 1 - fabs((double)at + 0.5 - middle) / l->reach;
		if (w <= 0)
			continue;
		sum += w * in[(size_t)at * stride];
		weights += w;
	}
	return weights > 0 ? sum / weights : 0;
}

/* A channel of a picture; a grey one has them all, and grey is made of colours. */
static double pixel(const struct picture *p, size_t at, uint32_t channels, uint32_t c)
{
	const unsigned char *v = p->data + at * p->channels;

	if (p->channels == 1)
		return v[0];
	return channels == 1 ? 0.299 * v[0] + 0.587 * v[1] + 0.114 * v[2] : v[c];
}

/* What a side becomes: @otherwise, or in proportion to the shorter one */
static uint32_t scaled(const struct picture *p, uint32_t side, uint32_t shorter, uint32_t otherwise)
{
	const uint32_t less = p->width < p->height ? p->width : p->height;

	return shorter ? (uint32_t)((uint64_t)side * shorter / less) : otherwise;
}

int image_make(const struct picture *p, const struct image_plan *plan, double *out)
{
	const uint32_t w = plan->width, h = plan->height;
	const uint32_t rw = scaled(p, p->width, plan->shorter, w);
	const uint32_t rh = scaled(p, p->height, plan->shorter, h);
	struct line across, down;
	double *full, *half, v;
	uint32_t c, x, y, to;
	size_t i;

	if (rw < w || rh < h)
		return -EINVAL;
	across = make_line(p->width, rw, w);
	down = make_line(p->height, rh, h);
	full = calloc((size_t)p->width * p->height, sizeof(*full));
	half = calloc((size_t)w * p->height, sizeof(*half));
	if (!full || !half) {
		free(full);
		free(half);
		return -ENOMEM;
	}
	for (c = 0; c < plan->channels; c++) {
		to = plan->bgr ? plan->channels - 1 - c : c;
		for (i = 0; i < (size_t)p->width * p->height; i++)
			full[i] = pixel(p, i, plan->channels, c);
		for (y = 0; y < p->height; y++) {
			const double *row = full + (size_t)y * p->width;

			for (x = 0; x < w; x++)
				half[(size_t)y * w + x] = sample(&across, x, row, 1);
		}
		for (y = 0; y < h; y++)
			for (x = 0; x < w; x++) {
				v = sample(&down, y, half + x, w);
				i = (size_t)y * w + x;
				i = plan->last ? i * plan->channels + to : (size_t)to * w * h + i;
				out[i] = (v * plan->scale - plan->mean[to]) / plan->std[to];
			}
	}
	free(full);
	free(half);
	return 0;
}
