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
 * @unit: what the filter's width is counted in, in pixels that there are
 * @filter: &enum image_filter
 * @bytes: the scaled pixels are bytes
 */
struct line {
	uint32_t from;
	double step;
	uint32_t first;
	double unit;
	uint32_t filter;
	bool bytes;
};

static struct line make_line(const struct image_plan *plan, uint32_t from, uint32_t scaled,
			     uint32_t taken)
{
	const double step = (double)from / scaled;

	return (struct line) { from, step, (scaled - taken) / 2, step > 1 ? step : 1, plan->filter,
			       plan->bytes };
}

/* Weight at a distance of @x units; the cubic one is that of R. Keys with a = -0.5. */
static double weight(uint32_t filter, double x)
{
	x = fabs(x);
	if (filter == IMAGE_TRIANGLE)
		return x < 1 ? 1 - x : 0;
	return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((2.5 - 0.5 * x) * x - 4) * x + 2 : 0;
}

/* Pixel @i of the result, of pixels that are @stride apart */
static double sample(const struct line *l, uint32_t i, const double *in, size_t stride)
{
	const double middle = (i + l->first + 0.5) * l->step;
	const double reach = (l->filter == IMAGE_CUBIC ? 2 : 1) * l->unit;
	int64_t at = (int64_t)floor(middle - reach), end = (int64_t)ceil(middle + reach);
	double sum = 0, weights = 0, w;

	if (l->filter == IMAGE_NEAREST)
		return in[(size_t)middle * stride];
	for (at = at < 0 ? 0 : at; at < end && at < l->from; at++) {
		w = weight(l->filter, ((double)at + 0.5 - middle) / l->unit);
		sum += w * in[(size_t)at * stride];
		weights += w;
	}
	sum /= weights;
	return l->bytes ? fmin(fmax(floor(sum + 0.5), 0), 255) : sum;
}

/* A channel of a picture; grey is repeated for all channels, and colours are converted to grey. */
static double pixel(const struct picture *p, size_t at, uint32_t channels, uint32_t c)
{
	const unsigned char *v = p->data + at * p->channels;

	if (p->channels == 1)
		return v[0];
	return channels == 1 ? 0.299 * v[0] + 0.587 * v[1] + 0.114 * v[2] : v[c];
}

int image_make(const struct picture *p, const struct image_plan *plan, double *out)
{
	const uint32_t w = plan->width, h = plan->height;
	struct line across, down;
	double *full, *half, v;
	uint32_t c, x, y, to;
	size_t i;

	if (plan->whole_width < w || plan->whole_height < h)
		return -EINVAL;
	across = make_line(plan, p->width, plan->whole_width, w);
	down = make_line(plan, p->height, plan->whole_height, h);
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
