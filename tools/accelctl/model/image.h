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
 * struct image_plan - what is done to a picture
 * @width: of the result
 * @height: of the result
 * @channels: of the result, 1 or 3
 * @shorter: pixels that the shorter side has before the middle is cut out; 0: the
 *	picture is brought to the result's size as it is
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
	uint32_t shorter;
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
 * Scaling is by a triangle as wide as a pixel of the coarser one of both, as imaging
 * libraries do it.
 *
 * Return: 0; -EINVAL: the middle is larger than the picture would be; -ENOMEM.
 */
int image_make(const struct picture *p, const struct image_plan *plan, double *out);

#endif /* ACCELCTL_MODEL_IMAGE_H */
