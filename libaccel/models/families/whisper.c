// SPDX-License-Identifier: MIT
/*
 * Whisper: an encoder of pictures of sound, and a decoder that writes what it hears. As a whole,
 * or as two halves: the encoder gives keys and values for all layers of the decoder, once for a
 * window, and the decoder takes them beside a cache of its own.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../onnx/attend.h"
#include "families.h"

/**
 * struct whisper - one in work
 * @b: build
 * @im: its import
 * @side: "model.encoder" or "model.decoder"
 * @heads: heads of that side
 * @act: activation
 * @cache: cache of the decoder, NULL: it attends to the rows of the run
 */
struct whisper {
	struct family_build *b;
	struct import *im;
	const char *side;
	int64_t heads;
	uint32_t act;
	const struct accel_decoder *cache;
};

int whisper_shape(const struct family_model *m, struct family_shape *s, struct accel_error *error)
{
	static const struct {
		const char *name;
		size_t to;
		int64_t max;
	} numbers[] = {
		{ "hidden_size", offsetof(struct family_shape, hidden), 1 << 20 },
		{ "decoder_layers", offsetof(struct family_shape, layers), 4096 },
		{ "decoder_attention_heads", offsetof(struct family_shape, heads), 1 << 16 },
		{ "decoder_ffn_dim", offsetof(struct family_shape, inner), 1 << 24 },
		{ "vocab_size", offsetof(struct family_shape, vocab), 1 << 24 },
		{ "max_target_positions", offsetof(struct family_shape, positions), 1 << 16 },
	};
	int64_t n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		n = config_whole(&m->config, numbers[i].name, 0);
		if (n < 1 || n > numbers[i].max)
			return stored_fail(error, -EBADMSG, "%s is %lld, not from 1 to %lld",
					   numbers[i].name, (long long)n,
					   (long long)numbers[i].max);
		*(int64_t *)((char *)s + numbers[i].to) = n;
	}
	if (s->hidden % s->heads)
		return stored_fail(error, -EBADMSG, "%lld heads of %lld elements",
				   (long long)s->heads, (long long)s->hidden);
	s->kv_heads = s->heads;
	s->head_dim = s->hidden / s->heads;
	return 0;
}

/* --- parts of both sides ------------------------------------------------------------------- */

static void use_side(struct whisper *w, const char *side, const char *heads)
{
	const int64_t hidden = w->b->model->shape.hidden;

	w->side = side;
	w->heads = part_size(w->b, heads, 0, 1 << 16);
	if (!w->im->error.code && hidden % w->heads)
		im_fail(w->im, -EBADMSG, "%s is %lld, of %lld elements", heads,
			(long long)w->heads, (long long)hidden);
}

static const char *name_of(struct whisper *w, int layer, const char *name)
{
	char full[96];

	if (layer < 0)
		snprintf(full, sizeof(full), "%s.%s", w->side, name);
	else
		snprintf(full, sizeof(full), "%s.layers.%d.%s", w->side, layer, name);
	return part_name(w->b, NULL, 0, full);
}

static uint32_t linear(struct whisper *w, int layer, const char *name, uint32_t x, uint32_t act,
		       uint32_t residual)
{
	return part_linear(w->b, name_of(w, layer, name), x, act, residual, false);
}

static uint32_t norm(struct whisper *w, int layer, const char *name, uint32_t x)
{
	return part_norm(w->b, name_of(w, layer, name), x, true, 0.00001f, 0);
}

/* Of an attention one of the three, [batch, rows, heads, dim] */
static uint32_t project(struct whisper *w, int layer, const char *kind, char which, uint32_t x)
{
	char name[40];

	snprintf(name, sizeof(name), "%s.%c_proj", kind, which);
	return split_heads(w->im, linear(w, layer, name, x, 0, NO_VALUE), w->heads);
}

static uint32_t self_attention(struct whisper *w, int layer, uint32_t x)
{
	struct accel_attention_desc desc = ACCEL_ATTENTION_DESC_INIT;
	uint32_t y = norm(w, layer, "self_attn_layer_norm", x), q, k, v;

	q = project(w, layer, "self_attn", 'q', y);
	k = project(w, layer, "self_attn", 'k', y);
	v = project(w, layer, "self_attn", 'v', y);
	if (!strcmp(w->side, "model.decoder"))
		desc.flags = ACCEL_ATTENTION_CAUSAL;
	name_of(w, layer, "self_attn");
	if (!w->cache)
		y = part_attend(w->b, &desc, q, k, v, NO_VALUE);
	else if (!w->im->error.code)
		im_graph(w->im, accel_decoder_attend(w->im->model->graph, w->cache,
						     (uint32_t)layer, &desc, q, k, v, &y));
	return linear(w, layer, "self_attn.out_proj", join_heads(w->im, y), 0, x);
}

static uint32_t network(struct whisper *w, int layer, uint32_t x)
{
	uint32_t y = norm(w, layer, "final_layer_norm", x);

	return linear(w, layer, "fc2", linear(w, layer, "fc1", y, w->act, NO_VALUE), 0, x);
}

/* The table of positions, which has to have @rows rows */
static const char *places(struct whisper *w, int64_t rows)
{
	const char *name = name_of(w, -1, "embed_positions");
	const struct stored *s = part_find(w->b, name, ".weight");

	if (!w->im->error.code && s && (s->rank != 2 || s->dims[0] < rows))
		im_fail(w->im, -EBADMSG, "%s has %lld rows of %lld", name,
			(long long)(s->rank ? s->dims[0] : 0), (long long)rows);
	return name;
}

/* --- the encoder ----------------------------------------------------------------------------- */

/* A convolution along time by three columns, and GELU */
static uint32_t convolve(struct whisper *w, const char *name, uint32_t x, uint32_t stride)
{
	const char *full = name_of(w, -1, name);
	uint32_t weight = part_tensor(w->b, full, ".weight"), out = NO_VALUE;
	uint32_t bias = part_tensor(w->b, full, ".bias");
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;

	d.stride[0] = stride;
	d.pad_before[0] = 1;
	d.pad_after[0] = 1;
	if (w->im->error.code || x == NO_VALUE ||
	    im_node(w->im, &d.hdr, ARGS({ ACCEL_ARG_A, x }, { ACCEL_ARG_B, weight },
					{ ACCEL_ARG_BIAS, bias }), 4, &out))
		return NO_VALUE;
	return part_activate(w->b, ACCEL_ACT_GELU, out);
}

static uint32_t encoder(struct whisper *w, int64_t batch)
{
	static const uint32_t order[] = { 0, 2, 1 };
	const int64_t rows = part_size(w->b, "max_source_positions", 0, 1 << 16);
	const int64_t layers = part_size(w->b, "encoder_layers", 0, 4096);
	const int64_t dims[] = { batch, part_size(w->b, "num_mel_bins", 0, 1 << 12), 2 * rows };
	uint32_t x;
	int i;

	use_side(w, "model.encoder", "encoder_attention_heads");
	part_name(w->b, NULL, 0, "input_features");
	x = part_input(w->b, "input_features", ACCEL_F32, 3, dims);
	x = convolve(w, "conv2", convolve(w, "conv1", x, 1), 2);
	x = v_transpose(w->im, x, order);
	x = v_binary(w->im, ACCEL_BINARY_ADD, x,
		     v_slice(w->im, part_tensor(w->b, places(w, rows), ".weight"), 0, 0, rows, 1));
	for (i = 0; i < layers && !w->im->error.code; i++)
		x = network(w, i, self_attention(w, i, x));
	return norm(w, -1, "layer_norm", x);
}

/* --- the decoder ----------------------------------------------------------------------------- */

/**
 * struct heard - keys and values of what was heard, as a layer of the decoder sees them
 * @k: [batch, rows, heads, dim]
 * @v: the same
 */
struct heard {
	uint32_t k;
	uint32_t v;
};

static struct heard hear(struct whisper *w, int layer, uint32_t encoded)
{
	const struct heard h = {
		project(w, layer, "encoder_attn", 'k', encoded),
		project(w, layer, "encoder_attn", 'v', encoded)
	};

	return h;
}

/* They are given to the decoder over a cache. */
static struct heard given(struct whisper *w, int layer)
{
	const struct family_shape *s = &w->b->model->shape;
	const int64_t dims[] = {
		1, part_size(w->b, "max_source_positions", 0, 1 << 16), s->heads, s->head_dim
	};
	struct heard h;
	char name[32];

	snprintf(name, sizeof(name), "cross.k.%d", layer);
	h.k = part_input(w->b, name, ACCEL_F32, 4, dims);
	snprintf(name, sizeof(name), "cross.v.%d", layer);
	h.v = part_input(w->b, name, ACCEL_F32, 4, dims);
	return h;
}

static uint32_t cross_attention(struct whisper *w, int layer, uint32_t x, struct heard h)
{
	const struct accel_attention_desc desc = ACCEL_ATTENTION_DESC_INIT;
	uint32_t y = norm(w, layer, "encoder_attn_layer_norm", x);

	y = project(w, layer, "encoder_attn", 'q', y);
	name_of(w, layer, "encoder_attn");
	y = part_attend(w->b, &desc, y, h.k, h.v, NO_VALUE);
	return linear(w, layer, "encoder_attn.out_proj", join_heads(w->im, y), 0, x);
}

/* Rows of tokens and of where they are */
static uint32_t embed(struct whisper *w, int64_t batch)
{
	const struct family_shape *s = &w->b->model->shape;
	uint32_t ids, at, x;

	if (w->cache) {
		ids = w->cache->tokens;
		at = w->cache->positions;
	} else {
		const int64_t dims[] = {
			batch, part_symbol(w->b, "decoder_sequence", s->positions)
		};

		part_name(w->b, NULL, 0, "decoder_input_ids");
		ids = part_s32(w->b, part_input(w->b, "decoder_input_ids", ACCEL_HOST_S64, 2,
						dims));
		at = part_s32(w->b, v_iota(w->im, length_of(w->im, ids, 1)));
	}
	x = part_rows(w->b, name_of(w, -1, "embed_tokens"), ids);
	if (config_bool(&w->b->model->config, "scale_embedding", false))
		x = v_with(w->im, ACCEL_BINARY_MUL, x, sqrt((double)s->hidden));
	return v_binary(w->im, ACCEL_BINARY_ADD, x, part_rows(w->b, places(w, s->positions), at));
}

static int decoder(struct whisper *w, int64_t batch, uint32_t encoded)
{
	const struct family_shape *s = &w->b->model->shape;
	uint32_t x;
	int i;

	use_side(w, "model.decoder", "decoder_attention_heads");
	x = embed(w, batch);
	for (i = 0; i < s->layers && !w->im->error.code; i++) {
		x = self_attention(w, i, x);
		x = cross_attention(w, i, x, w->cache ? given(w, i) : hear(w, i, encoded));
		x = network(w, i, x);
	}
	if (w->cache && !w->im->error.code && x != NO_VALUE)
		im_graph(w->im, accel_decoder_rows(w->im->model->graph, w->cache, x, &x));
	x = norm(w, -1, "layer_norm", x);
	if (part_find(w->b, "proj_out", ".weight"))
		x = part_linear(w->b, part_name(w->b, NULL, 0, "proj_out"), x, 0, NO_VALUE, false);
	else
		x = linear(w, -1, "embed_tokens", x, 0, NO_VALUE);
	return part_output(w->b, "logits", x);
}

/* What the decoder over a cache takes */
static int encoder_alone(struct whisper *w)
{
	const struct family_shape *s = &w->b->model->shape;
	uint32_t x = encoder(w, 1);
	struct heard h;
	char name[32];
	int i;

	use_side(w, "model.decoder", "decoder_attention_heads");
	for (i = 0; i < s->layers && !w->im->error.code; i++) {
		h = hear(w, i, x);
		snprintf(name, sizeof(name), "cross.k.%d", i);
		part_output(w->b, name, h.k);
		snprintf(name, sizeof(name), "cross.v.%d", i);
		part_output(w->b, name, h.v);
	}
	return w->im->error.code;
}

int whisper_build(struct family_build *b)
{
	struct whisper w = { .b = b, .im = b->im, .cache = b->form->decoder };
	int64_t batch;
	uint32_t x;
	char act[40];

	config_text(&b->model->config, "hidden_act", act, sizeof(act));
	w.act = part_act(b, act[0] ? act : "gelu");
	if (b->form->encoder)
		return encoder_alone(&w);
	if (w.cache)
		return decoder(&w, 1, NO_VALUE);
	batch = part_symbol(b, "batch", 1 << 16);
	x = encoder(&w, batch);
	decoder(&w, batch, x);
	return part_output(b, "encoder", x);
}
