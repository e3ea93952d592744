/* SPDX-License-Identifier: MIT */
/*
 * What a model says of the pictures that it wants: metadata of an ONNX file, or
 * preprocessor_config.json beside the model, as image processors of transformers write it.
 */
#ifndef ACCELCTL_MODEL_RECIPE_H
#define ACCELCTL_MODEL_RECIPE_H

#include "accelctl.h"
#include "image.h"

/**
 * struct recipe - what is done to pictures, as the model has it
 * @from: file that says so
 * @sized: it says something of sizes: the next six
 * @width: what all of a picture is scaled to; 0: see @shorter
 * @height: the same
 * @shorter: pixels of the shorter side, the other one in proportion; 0: nothing is scaled
 * @cut_width: of the middle that is taken; 0: all of it is
 * @cut_height: the same
 * @filter: &enum image_filter
 * @valued: it says something of what bytes become: the next three
 * @scale: a byte is multiplied by it
 * @mean: then this is subtracted, for red, green and blue; of grey pictures the first
 * @std: then it is divided by this
 * @mean_count: numbers of @mean, 0: one for all
 * @std_count: of @std, the same
 * @bgr: blue first
 */
struct recipe {
	char *from;
	bool sized;
	uint32_t width;
	uint32_t height;
	uint32_t shorter;
	uint32_t cut_width;
	uint32_t cut_height;
	uint32_t filter;
	bool valued;
	double scale;
	double mean[IMAGE_CHANNELS];
	double std[IMAGE_CHANNELS];
	uint32_t mean_count;
	uint32_t std_count;
	bool bgr;
};

/**
 * recipe_load - what a model says
 * @ctl: invocation
 * @path: of the model; a compiled program is one too
 * @whole: false: only the order of channels, which metadata of an ONNX file have
 * @r: out: recipe_free() it, also when this fails
 *
 * Return: an exit status; what is wrong with which key is told. A model that says nothing is
 * none of it.
 */
int recipe_load(struct ctl *ctl, const char *path, bool whole, struct recipe *r);

void recipe_free(struct recipe *r);

#endif /* ACCELCTL_MODEL_RECIPE_H */
