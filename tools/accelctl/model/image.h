/* SPDX-License-Identifier: MIT */
/*
 * Pictures as inputs of networks.
 */
#ifndef ACCELCTL_MODEL_IMAGE_H
#define ACCELCTL_MODEL_IMAGE_H

#include <stdbool.h>

#include "picture.h"

/** IMAGE_CHANNELS: most channels of a picture */
#define IMAGE_CHANNELS	3u

/**
 * enum image_filter - how pictures are scaled
 * @IMAGE_TRIANGLE: by a triangle as wide as two pixels of the coarser one of both
 * @IMAGE_CUBIC: by a cubic spline as wide as four of them
 * @IMAGE_NEAREST: by the pixel that lies there
 */
enum image_filter {
	IMAGE_TRIANGLE, IMAGE_CUBIC, IMAGE_NEAREST
};

/**
 * struct image_plan - what is done to a picture
 * @width: of the result
 * @height: of the result
 * @channels: of the result, 1 or 3
 * @whole_width: what all of the picture is scaled to, before its middle becomes the result
 * @whole_height: the same
 * @filter: how, &enum image_filter
 * @bytes: what is scaled is bytes again, after either direction, as imaging libraries keep it
 * @bgr: blue first
 * @last: channels are the last dimension, not the first
 * @scale: a byte is multiplied by it
 * @mean: then this is subtracted, for each channel
 * @std: then it is divided by this
 */
struct image_plan {
	uint32_t width;
	uint32_t height;
	uint32_t channels;
	uint32_t whole_width;
	uint32_t whole_height;
	uint32_t filter;
	bool bytes;
	bool bgr;
	bool last;
	double scale;
	double mean[IMAGE_CHANNELS];
	double std[IMAGE_CHANNELS];
};

/**
 * image_make - elements of a picture
 * @p: picture
 * @plan: what is done to it
 * @out: width * height * channels numbers
 *
 * Return: 0; -EINVAL: the middle is larger than the picture would be; -ENOMEM.
 */
int image_make(const struct picture *p, const struct image_plan *plan, double *out);

#endif /* ACCELCTL_MODEL_IMAGE_H */
