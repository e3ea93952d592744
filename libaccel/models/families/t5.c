// SPDX-License-Identifier: MIT
/*
 * T5: an encoder and a decoder that sees what it made. Where rows are is said by numbers that are
 * added to scores, one for each head and bucket of distances. As a whole, or as two halves: the
 * encoder gives keys and values for all layers of the decoder, and the decoder takes them beside a
 * cache of its own, one token of a sequence at a time, so that what is added is a row for each.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../generate/generate.h"
#include "../onnx/attend.h"
#include "families.h"

/* Distances have no end: those of graphs do. */
#define MAX_ROWS	(1 << 15)

/**
 * struct t5 - one in work
 * @b: build
 * @im: its import
 * @heads: heads
 * @act: activation
 * @gated: with a gate
 * @eps: of norms
 * @mask: rows of the encoder, U8 [batch, 1, 1, rows]; NO_VALUE: all are seen
 * @cache: cache of the decoder, NULL: it attends to the rows of the run
 * @source: symbol of the encoder's rows, with @cache
 */
struct t5 {
	struct family_build *b;
	struct import *im;
	int64_t heads;
	uint32_t act;
	bool gated;
	float eps;
	uint32_t mask;
	const struct accel_decoder *cache;
	int64_t source;
};

/* The bucket of a key that is so far behind its query, as those who trained them have it */
static int32_t bucket(int64_t distance, int64_t buckets, int64_t most, bool both)
{
	int64_t n = both ? distance : distance < 0 ? distance : 0, base = 0, exact, far;

	if (both) {
		buckets /= 2;
		base = n > 0 ? buckets : 0;
	}
	n = n < 0 ? -n : n;
	exact = buckets / 2;
	if (n < exact)
		return (int32_t)(base + n);
	far = exact + (int64_t)(logf((float)n / (float)exact) /
				(float)log((double)most / (double)exact) *
				(float)(buckets - exact));
	return (int32_t)(base + (far < buckets ? far : buckets - 1));
}

/* The largest distance that has a bucket of its own */
static int64_t distance_max(struct t5 *t)
{
	return part_size(t->b, "relative_attention_max_distance", 128, 1 << 16);
}

/*
 * What is added for each distance, from the largest one before to that behind:
 * F32 [2 * largest + 1, heads]
 */
static uint32_t distances(struct t5 *t, const char *name, bool both)
{
	const int64_t buckets = part_size(t->b, "relative_attention_num_buckets", 32, 1 << 16);
	const int64_t most = distance_max(t), count = 2 * most + 1;
	int32_t *list = t->im->error.code ? NULL : calloc((size_t)count, sizeof(*list));
	struct import *im = t->im;
	uint32_t table;
	int64_t i;

	if (t->im->error.code || buckets < 4 || most <= buckets / (both ? 4 : 2) || !list) {
		free(list);
		if (!im->error.code)
			im_fail(im, list ? -EBADMSG : -ENOMEM, "%lld buckets up to %lld",
				(long long)buckets, (long long)most);
		return NO_VALUE;
	}
	/* Beyond the largest distance all are in the last bucket. */
	for (i = 0; i < count; i++)
		list[i] = bucket(i - most, buckets, most, both);
	table = part_rows(t->b, name, part_constant(t->b, ACCEL_S32, 1, &count, list));
	free(list);
	return table;
}

/* Distances as rows of their table */
static uint32_t bounded(struct t5 *t, uint32_t at)
{
	const double most = (double)distance_max(t);

	at = v_binary(t->im, ACCEL_BINARY_MAX, at, v_number(t->im, v_type(t->im, at), -most));
	at = v_binary(t->im, ACCEL_BINARY_MIN, at, v_number(t->im, v_type(t->im, at), most));
	return v_with(t->im, ACCEL_BINARY_ADD, at, most);
}

/* What is added to scores, F32 [heads, rows, rows] */
static uint32_t places(struct t5 *t, const char *name, uint32_t rows, bool both)
{
	static const uint32_t order[] = { 2, 0, 1 };
	uint32_t table = distances(t, name, both), at;

	if (t->im->error.code)
		return NO_VALUE;
	at = v_binary(t->im, ACCEL_BINARY_SUB, count_up(t->im, rows, false),
		      count_up(t->im, rows, true));
	at = part_s32(t->b, bounded(t, at));
	return v_transpose(t->im, v_gather(t->im, ACCEL_GATHER_AXIS, 0, table, at), order);
}

/* The same for the last token of each sequence of a cache, F32 [sequences, heads, 1, keys] */
static uint32_t last_places(struct t5 *t, const char *name)
{
	static const uint32_t order[] = { 0, 2, 1 };
	static const int64_t axis = 2;
	const struct accel_decoder *c = t->cache;
	uint32_t table = distances(t, name, false), at;

	if (t->im->error.code)
		return NO_VALUE;
	at = v_with(t->im, ACCEL_BINARY_MUL, length_of(t->im, c->pages, 1), c->opts.page_size);
	at = part_s32(t->b, count_up(t->im, at, false));
	/* Its own place is one before the length. */
	at = v_binary(t->im, ACCEL_BINARY_SUB, at, v_slice(t->im, c->lengths, 1, 0, 1, 1));
	at = bounded(t, v_with(t->im, ACCEL_BINARY_ADD, at, 1));
	at = v_gather(t->im, ACCEL_GATHER_AXIS, 0, table, at);
	return v_shaped_to(t->im, ACCEL_SHAPE_UNSQUEEZE, v_transpose(t->im, at, order), 1, &axis);
}

static uint32_t linear(struct t5 *t, const char *block, const char *name, uint32_t x, uint32_t act,
		       uint32_t residual)
{
	char full[128];

	snprintf(full, sizeof(full), "%s.%s", block, name);
	return part_linear(t->b, part_name(t->b, NULL, 0, full), x, act, residual, false);
}

static uint32_t norm(struct t5 *t, const char *block, const char *name, uint32_t x)
{
	char full[128];

	snprintf(full, sizeof(full), "%s.%s", block, name);
	return part_norm(t->b, part_name(t->b, NULL, 0, full), x, false, t->eps, 0);
}

/* Of an attention one of the three, [batch, rows, heads, dim] */
static uint32_t project(struct t5 *t, const char *block, const char *kind, char which, uint32_t x)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%c", kind, which);
	return split_heads(t->im, linear(t, block, name, x, 0, NO_VALUE), t->heads);
}

/**
 * struct seen - keys and values
 * @k: [batch, rows, heads, dim]
 * @v: the same
 */
struct seen {
	uint32_t k;
	uint32_t v;
};

static struct seen see(struct t5 *t, const char *block, const char *kind, uint32_t x)
{
	const struct seen s = { project(t, block, kind, 'k', x), project(t, block, kind, 'v', x) };

	return s;
}

/* x + attention of @y, its norm, to @s; @mask: of the operation */
static uint32_t attention(struct t5 *t, const char *block, const char *kind, uint32_t x,
			  uint32_t y, struct seen s, uint32_t mask, uint32_t flags)
{
	struct accel_attention_desc desc = ACCEL_ATTENTION_DESC_INIT;
	char name[64];

	y = project(t, block, kind, 'q', y);
	desc.flags = ACCEL_ATTENTION_SCALE | flags;
	desc.scale = 1;
	snprintf(name, sizeof(name), "%s.%s", block, kind);
	part_name(t->b, NULL, 0, name);
	y = part_attend(t->b, &desc, y, s.k, s.v, mask);
	snprintf(name, sizeof(name), "%s.o", kind);
	return linear(t, block, name, join_heads(t->im, y), 0, x);
}

/* The same to itself, over a cache */
static uint32_t cached_attention(struct t5 *t, const char *block, uint32_t layer, uint32_t x,
				 uint32_t mask)
{
	const char *const kind = "SelfAttention";
	struct accel_attention_desc desc = ACCEL_ATTENTION_DESC_INIT;
	uint32_t y = norm(t, block, "layer_norm", x), q = project(t, block, kind, 'q', y);
	struct seen s = see(t, block, kind, y);

	desc.flags = ACCEL_ATTENTION_SCALE;
	desc.scale = 1;
	if (!t->im->error.code)
		im_graph(t->im, decoder_attend(t->im->model->graph, t->cache, layer, &desc, &mask,
					       q, s.k, s.v, &y));
	return linear(t, block, "SelfAttention.o", join_heads(t->im, y), 0, x);
}

static uint32_t network(struct t5 *t, const char *block, uint32_t x)
{
	uint32_t y = norm(t, block, "layer_norm", x), gate;

	if (t->gated) {
		gate = linear(t, block, "DenseReluDense.wi_0", y, t->act, NO_VALUE);
		y = linear(t, block, "DenseReluDense.wi_1", y, 0, NO_VALUE);
		y = v_binary(t->im, ACCEL_BINARY_MUL, gate, y);
	} else {
		y = linear(t, block, "DenseReluDense.wi", y, t->act, NO_VALUE);
	}
	return linear(t, block, "DenseReluDense.wo", y, 0, x);
}

static const char *block_of(char name[64], const char *side, uint32_t layer, uint32_t part)
{
	snprintf(name, 64, "%s.block.%u.layer.%u", side, layer, part);
	return name;
}

static void bias_name(struct t5 *t, const char *side, char table[128])
{
	char name[64];

	snprintf(table, 128, "%s.SelfAttention.relative_attention_bias",
		 block_of(name, side, 0, 0));
	part_name(t->b, NULL, 0, table);
}

/* Rows of the encoder, from tokens */
static uint32_t encode(struct t5 *t, int64_t layers, uint32_t ids)
{
	uint32_t x = part_rows(t->b, part_name(t->b, NULL, 0, "shared"), ids), y, mask, i;
	char name[64], table[128];

	bias_name(t, "encoder", table);
	mask = places(t, table, length_of(t->im, ids, 1), true);
	/* Rows that only fill are not seen: [batch, heads, rows, rows]. */
	if (t->mask != NO_VALUE)
		mask = v_select(t->im, v_with(t->im, ACCEL_BINARY_NE, t->mask, 0), mask,
				v_number(t->im, ACCEL_F32, -INFINITY));
	for (i = 0; i < layers && !t->im->error.code; i++) {
		block_of(name, "encoder", i, 0);
		y = norm(t, name, "layer_norm", x);
		x = attention(t, name, "SelfAttention", x, y, see(t, name, "SelfAttention", y),
			      mask, 0);
		x = network(t, block_of(name, "encoder", i, 1), x);
	}
	return norm(t, "encoder", "final_layer_norm", x);
}

/* Of a layer of the decoder what it sees of the encoder; over a cache that is given. */
static struct seen see_encoder(struct t5 *t, const char *block, uint32_t layer, uint32_t encoded)
{
	const struct family_shape *s = &t->b->model->shape;
	const int64_t dims[] = { 1, t->source, s->heads, s->head_dim };
	struct seen seen;
	char name[32];

	if (!t->cache)
		return see(t, block, "EncDecAttention", encoded);
	snprintf(name, sizeof(name), "cross.k.%u", layer);
	seen.k = part_input(t->b, name, ACCEL_F32, 4, dims);
	snprintf(name, sizeof(name), "cross.v.%u", layer);
	seen.v = part_input(t->b, name, ACCEL_F32, 4, dims);
	return seen;
}

static uint32_t decode(struct t5 *t, int64_t layers, uint32_t ids, uint32_t encoded)
{
	uint32_t x = part_rows(t->b, part_name(t->b, NULL, 0, "shared"), ids), y, mask, i;
	char name[64], table[128];
	struct seen seen;

	bias_name(t, "decoder", table);
	mask = t->cache ? last_places(t, table) :
	       places(t, table, length_of(t->im, ids, 1), false);
	for (i = 0; i < layers && !t->im->error.code; i++) {
		block_of(name, "decoder", i, 0);
		if (t->cache) {
			x = cached_attention(t, name, i, x, mask);
		} else {
			y = norm(t, name, "layer_norm", x);
			x = attention(t, name, "SelfAttention", x, y,
				      see(t, name, "SelfAttention", y), mask,
				      ACCEL_ATTENTION_CAUSAL);
		}
		block_of(name, "decoder", i, 1);
		seen = see_encoder(t, name, i, encoded);
		x = attention(t, name, "EncDecAttention", x, norm(t, name, "layer_norm", x), seen,
			      t->mask, 0);
		x = network(t, block_of(name, "decoder", i, 2), x);
	}
	if (t->cache && !t->im->error.code)
		im_graph(t->im, accel_decoder_rows(t->im->model->graph, t->cache, x, &x));
	return norm(t, "decoder", "final_layer_norm", x);
}

static uint32_t ids_of(struct t5 *t, const char *name, const int64_t *dims)
{
	part_name(t->b, NULL, 0, name);
	return part_s32(t->b, part_input(t->b, name, ACCEL_HOST_S64, 2, dims));
}

/* Keys and values of the encoder's rows for each layer of the decoder */
static int give_seen(struct t5 *t, int64_t layers, uint32_t encoded)
{
	char name[64];
	struct seen s;
	uint32_t i;

	for (i = 0; i < layers && !t->im->error.code; i++) {
		s = see(t, block_of(name, "decoder", i, 1), "EncDecAttention", encoded);
		snprintf(name, sizeof(name), "cross.k.%u", i);
		part_output(t->b, name, s.k);
		snprintf(name, sizeof(name), "cross.v.%u", i);
		part_output(t->b, name, s.v);
	}
	return t->im->error.code;
}

static int give_logits(struct t5 *t, uint32_t x)
{
	const int64_t hidden = part_size(t->b, "hidden_size", 0, 1 << 20);
	const struct config *c = &t->b->model->config;
	const char *head = "lm_head";

	if (config_bool(c, "scale_decoder_outputs", config_bool(c, "tie_word_embeddings", true)))
		x = v_with(t->im, ACCEL_BINARY_MUL, x, 1 / sqrt((double)hidden));
	if (!part_find(t->b, head, ".weight"))
		head = "shared";
	x = part_linear(t->b, part_name(t->b, NULL, 0, head), x, 0, NO_VALUE, false);
	return part_output(t->b, "logits", x);
}

/* The decoder's numbers; positions have no end but that of graphs. */
int t5_shape(const struct family_model *m, struct family_shape *s, struct accel_error *error)
{
	const int64_t layers = config_whole(&m->config, "num_hidden_layers", 0);
	const struct {
		const char *name;
		int64_t *to;
		int64_t otherwise;
		int64_t max;
	} numbers[] = {
		{ "hidden_size", &s->hidden, 0, 1 << 20 },
		{ "num_decoder_layers", &s->layers, layers, 4096 },
		{ "num_attention_heads", &s->heads, 0, 1 << 16 },
		{ "head_dim", &s->head_dim, 64, 1 << 16 },
		{ "vocab_size", &s->vocab, 0, 1 << 24 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		*numbers[i].to = config_whole(&m->config, numbers[i].name, numbers[i].otherwise);
		if (*numbers[i].to < 1 || *numbers[i].to > numbers[i].max)
			return stored_fail(error, -EBADMSG, "%s is %lld, not from 1 to %lld",
					   numbers[i].name, (long long)*numbers[i].to,
					   (long long)numbers[i].max);
	}
	s->kv_heads = s->heads;
	s->positions = MAX_ROWS;
	return 0;
}

int t5_build(struct family_build *b)
{
	const struct config *c = &b->model->config;
	struct t5 t = { .b = b, .im = b->im, .cache = b->form->decoder, .mask = NO_VALUE };
	const int64_t layers = part_size(b, "num_hidden_layers", 0, 4096);
	const int64_t behind = part_size(b, "num_decoder_layers", layers, 4096);
	uint32_t ids, from, encoded;
	int64_t dims[2] = { 1, 0 };
	char act[40];

	t.heads = part_size(b, "num_attention_heads", 0, 1 << 16);
	config_text(c, "feed_forward_proj", act, sizeof(act));
	t.gated = config_bool(c, "is_gated_act", !strncmp(act, "gated-", 6));
	config_text(c, "dense_act_fn", act, sizeof(act));
	t.act = part_act(b, act[0] ? act : t.gated ? "gelu_new" : "relu");
	t.eps = (float)config_real(c, "layer_norm_eps", 0.000001);
	if (t.cache) {
		t.source = part_symbol(b, "source", MAX_ROWS);
		return give_logits(&t, decode(&t, behind, t.cache->tokens, NO_VALUE));
	}
	if (!b->form->encoder)
		dims[0] = part_symbol(b, "batch", 1 << 16);
	dims[1] = part_symbol(b, "sequence", MAX_ROWS);
	ids = ids_of(&t, "input_ids", dims);
	if (b->form->encoder)
		return give_seen(&t, behind, encode(&t, layers, ids));
	part_name(b, NULL, 0, "attention_mask");
	t.mask = part_mask(b, part_input(b, "attention_mask", ACCEL_HOST_S64, 2, dims));
	dims[1] = part_symbol(b, "decoder_sequence", MAX_ROWS);
	from = ids_of(&t, "decoder_input_ids", dims);
	encoded = encode(&t, layers, ids);
	give_logits(&t, decode(&t, behind, from, encoded));
	return part_output(b, "encoder", encoded);
}
