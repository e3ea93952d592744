// SPDX-License-Identifier: MIT
/*
 * ResNet: stages of layers of two convolutions, or of three of which the outer ones are narrow.
 */
#include <errno.h>
#include <string.h>

#include "families.h"

/* act(norm(x convolved) + residual), NAME.convolution and NAME.normalization */
static uint32_t convolve(struct family_build *b, const char *name, uint32_t x, uint32_t stride,
			 uint32_t residual, bool act)
{
	struct accel_norm_desc norm = ACCEL_NORM_DESC_INIT;
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	uint32_t w, scale, bias, mean, variance, i;
	struct import *im = b->im;
	const struct stored *s;
	char part[160];

	snprintf(part, sizeof(part), "%s.convolution", name);
	part_name(b, NULL, 0, part);
	s = part_find(b, part, ".weight");
	w = part_tensor(b, part, ".weight");
	for (i = 0; i < 2 && s && s->rank == 4; i++) {
		d.stride[i] = stride;
		d.pad_before[i] = (uint32_t)(s->dims[2 + i] / 2);
		d.pad_after[i] = d.pad_before[i];
	}
	if (im->error.code || x == NO_VALUE || im_two(im, &d.hdr, x, w, &x))
		return NO_VALUE;
	snprintf(part, sizeof(part), "%s.normalization", name);
	part_name(b, NULL, 0, part);
	norm.func = ACCEL_NORM_BATCH;
	norm.eps = 0.00001f;
	scale = part_tensor(b, part, ".weight");
	bias = part_tensor(b, part, ".bias");
	mean = part_tensor(b, part, ".running_mean");
	variance = part_tensor(b, part, ".running_var");
	if (im->error.code || im_node(im, &norm.hdr, ARGS({ ACCEL_ARG_A, x },
							  { ACCEL_ARG_SCALE, scale },
							  { ACCEL_ARG_BIAS, bias },
							  { ACCEL_ARG_AUX0, mean },
							  { ACCEL_ARG_AUX1, variance }), 6, &x))
		return NO_VALUE;
	if (residual != NO_VALUE)
		x = v_binary(im, ACCEL_BINARY_ADD, x, residual);
	return act ? v_act(im, ACCEL_ACT_RELU, 0, 0, x) : x;
}

static uint32_t layer_of(struct family_build *b, uint32_t stage, uint32_t layer, uint32_t x,
			 uint32_t stride, bool narrow)
{
	const uint32_t last = narrow ? 2 : 1;
	const bool early = config_bool(&b->model->config, "downsample_in_bottleneck", false);
	/* The convolution that leaves pixels out */
	const uint32_t where = narrow && !early ? 1 : 0;
	uint32_t i, y = x, rest = x;
	char at[96], name[128];

	snprintf(at, sizeof(at), "resnet.encoder.stages.%u.layers.%u", stage, layer);
	snprintf(name, sizeof(name), "%s.shortcut", at);
	if (part_find(b, name, ".convolution.weight"))
		rest = convolve(b, name, x, stride, NO_VALUE, false);
	for (i = 0; i <= last; i++) {
		snprintf(name, sizeof(name), "%s.layer.%u", at, i);
		y = convolve(b, name, y, i == where ? stride : 1, i == last ? rest : NO_VALUE,
			     true);
	}
	return y;
}

int resnet_build(struct family_build *b)
{
	const struct config *c = &b->model->config;
	const int64_t dims[] = {
		part_symbol(b, "batch", 1 << 16), part_size(b, "num_channels", 3, 64),
		part_symbol(b, "height", 1 << 14), part_symbol(b, "width", 1 << 14)
	};
	const bool first = config_bool(c, "downsample_in_first_stage", false);
	static const char stem[] = "resnet.embedder.embedder";
	struct accel_pool_desc pool = ACCEL_POOL_DESC_INIT;
	static const int64_t flat[] = { 0, -1 };
	uint32_t x, stage, layer, i;
	struct import *im = b->im;
	int64_t layers;
	char type[32];

	config_text(c, "layer_type", type, sizeof(type));
	if (strcmp(type, "basic") && strcmp(type, "bottleneck"))
		return im_fail(im, -EOPNOTSUPP, "layers of type %.20s", type);
	x = part_input(b, "pixel_values", ACCEL_F32, 4, dims);
	x = convolve(b, stem, x, 2, NO_VALUE, true);
	pool.func = ACCEL_POOL_MAX;
	for (i = 0; i < 2; i++) {
		pool.kernel[i] = 3;
		pool.stride[i] = 2;
		pool.pad_begin[i] = 1;
		pool.pad_end[i] = 1;
	}
	part_name(b, NULL, 0, "resnet.embedder.pooler");
	if (im->error.code || x == NO_VALUE || im_one(im, &pool.hdr, x, &x))
		return im->error.code;
	for (stage = 0; (layers = config_number(c, "depths", stage, 0)) > 0; stage++)
		for (layer = 0; layer < layers && !im->error.code; layer++)
			x = layer_of(b, stage, layer, x, !layer && (stage || first) ? 2 : 1,
				     type[1] == 'o');
	part_name(b, NULL, 0, "resnet.pooler");
	x = v_reduce(im, ACCEL_REDUCE_MEAN, 0, ACCEL_AXIS(2) | ACCEL_AXIS(3), x);
	x = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, x, 2, flat);
	x = part_linear(b, part_name(b, NULL, 0, "classifier.1"), x, 0, NO_VALUE, false);
	return part_output(b, "logits", x);
}
