// SPDX-License-Identifier: MIT
/*
 * Encoders: all rows see all. BERT and those like it have norms behind what they add, and a mask
 * of rows that are only there to fill; ViT and CLIP's vision have norms before, and rows that are
 * pieces of a picture.
 */
#include <errno.h>
#include <string.h>

#include "../onnx/attend.h"
#include "encoder.h"

#define BERT_NAMES(base) \
	.embed = base ".embeddings.word_embeddings", \
	.places = base ".embeddings.position_embeddings", \
	.types = base ".embeddings.token_type_embeddings", \
	.first = base ".embeddings.LayerNorm", .layers = base ".encoder.layer", \
	.q = "attention.self.query", .k = "attention.self.key", .v = "attention.self.value", \
	.o = "attention.output.dense", .norms = { "attention.output.LayerNorm", \
						  "output.LayerNorm" }, \
	.up = "intermediate.dense", .down = "output.dense", .eps = 0.000000000001

const struct encoder_traits encoder_bert = {
	BERT_NAMES("bert"), .pooler = "bert.pooler.dense", .classifier = "classifier",
};

const struct encoder_traits encoder_bert_gguf = {
	.embed = "token_embd", .places = "position_embd", .types = "token_types",
	.first = "token_embd_norm", .layers = "blk", .q = "attn_q", .k = "attn_k", .v = "attn_v",
	.o = "attn_output", .norms = { "attn_output_norm", "layer_output_norm" }, .up = "ffn_up",
	.down = "ffn_down", .pooler = "cls", .classifier = "cls.output", .eps = 0.000000000001,
};

const struct encoder_traits encoder_roberta = { BERT_NAMES("roberta"), .beyond = true };

const struct encoder_traits encoder_distilbert = {
	.embed = "distilbert.embeddings.word_embeddings",
	.places = "distilbert.embeddings.position_embeddings",
	.first = "distilbert.embeddings.LayerNorm", .layers = "distilbert.transformer.layer",
	.q = "attention.q_lin", .k = "attention.k_lin", .v = "attention.v_lin",
	.o = "attention.out_lin", .norms = { "sa_layer_norm", "output_layer_norm" },
	.up = "ffn.lin1", .down = "ffn.lin2", .eps = 0.000000000001,
};

const struct encoder_traits encoder_vit = {
	.places = "vit.embeddings.position_embeddings", .cls = "vit.embeddings.cls_token",
	.patch = "vit.embeddings.patch_embeddings.projection", .layers = "vit.encoder.layer",
	.q = "attention.attention.query", .k = "attention.attention.key",
	.v = "attention.attention.value", .o = "attention.output.dense",
	.norms = { "layernorm_before", "layernorm_after" }, .up = "intermediate.dense",
	.down = "output.dense", .last = "vit.layernorm", .classifier = "classifier",
	.before = true, .eps = 0.000000000001,
};

const struct encoder_traits encoder_clip = {
	.places = "vision_model.embeddings.position_embedding.weight",
	.cls = "vision_model.embeddings.class_embedding",
	.patch = "vision_model.embeddings.patch_embedding",
	.first = "vision_model.pre_layrnorm", .layers = "vision_model.encoder.layers",
	.q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj",
	.o = "self_attn.out_proj", .norms = { "layer_norm1", "layer_norm2" },
	.up = "mlp.fc1", .down = "mlp.fc2", .pooled = "vision_model.post_layernorm",
	.before = true, .eps = 0.00001,
};

/**
 * struct encoder - one in work
 * @b: build
 * @im: its import
 * @t: traits
 * @hidden: elements of a row
 * @heads: heads
 * @act: activation
 * @eps: of norms
 * @mask: of rows, or NO_VALUE
 */
struct encoder {
	struct family_build *b;
	struct import *im;
	const struct encoder_traits *t;
	int64_t hidden;
	int64_t heads;
	uint32_t act;
	float eps;
	uint32_t mask;
};

/* GGUF has one that it calls so, BERT. */
static const struct encoder_traits *traits_of(const struct family_model *m)
{
	return m->config.gguf ? &encoder_bert_gguf : m->family->traits;
}

static uint32_t linear(struct encoder *e, uint32_t layer, const char *name, uint32_t x,
		       uint32_t act, uint32_t residual)
{
	return part_linear(e->b, part_name(e->b, e->t->layers, layer, name), x, act, residual,
			   false);
}

static uint32_t layer_norm(struct encoder *e, const char *layers, uint32_t layer, const char *name,
			   uint32_t x)
{
	return name ? part_norm(e->b, part_name(e->b, layers, layer, name), x, true, e->eps, 0) : x;
}

static uint32_t attention(struct encoder *e, uint32_t layer, uint32_t x, uint32_t residual)
{
	const char *const names[] = { e->t->q, e->t->k, e->t->v };
	const struct accel_attention_desc desc = ACCEL_ATTENTION_DESC_INIT;
	uint32_t h[3], i;

	for (i = 0; i < 3; i++)
		h[i] = split_heads(e->im, linear(e, layer, names[i], x, 0, NO_VALUE), e->heads);
	part_name(e->b, e->t->layers, layer, "attention");
	x = part_attend(e->b, &desc, h[0], h[1], h[2], e->mask);
	return linear(e, layer, e->t->o, join_heads(e->im, x), 0, residual);
}

static uint32_t layer_of(struct encoder *e, uint32_t layer, uint32_t x)
{
	const struct encoder_traits *t = e->t;
	uint32_t y;

	y = t->before ? layer_norm(e, t->layers, layer, t->norms[0], x) : x;
	x = attention(e, layer, y, x);
	y = layer_norm(e, t->layers, layer, t->norms[t->before], x);
	x = t->before ? x : y;
	x = linear(e, layer, t->down, linear(e, layer, t->up, y, e->act, NO_VALUE), 0, x);
	return t->before ? x : layer_norm(e, t->layers, layer, t->norms[1], x);
}

/* --- what goes in ---------------------------------------------------------------------------- */

/* Positions of tokens that do not fill are counted from behind the number of the one that does. */
static uint32_t beyond(struct encoder *e, uint32_t ids, int64_t fill)
{
	struct accel_scan_desc scan = ACCEL_SCAN_DESC_INIT;
	uint32_t real, at = NO_VALUE;

	real = v_cast(e->im, v_with(e->im, ACCEL_BINARY_NE, ids, (double)fill), ACCEL_S32);
	if (e->im->error.code || real == NO_VALUE || im_one(e->im, &scan.hdr, real, &at))
		return NO_VALUE;
	at = v_binary(e->im, ACCEL_BINARY_MUL, at, real);
	return v_with(e->im, ACCEL_BINARY_ADD, at, (double)fill);
}

static uint32_t tokens(struct encoder *e)
{
	const struct encoder_traits *t = e->t;
	struct import *im = e->im;
	const struct stored *table = part_find(e->b, t->places, ".weight");
	int64_t positions = part_size(e->b, "max_position_embeddings", 0, 1 << 24), dims[2];
	int64_t fill = t->beyond ? config_whole(&e->b->model->config, "pad_token_id", 1) : -1;
	uint32_t ids, x, at;

	if (!im->error.code && table && table->rank && table->dims[0] < positions)
		im_fail(im, -EBADMSG, "max_position_embeddings is %lld, %s has %lld",
			(long long)positions, t->places, (long long)table->dims[0]);
	/* Of those that begin behind it there are fewer. */
	if (!im->error.code && (fill < -!t->beyond || fill > positions - 2))
		im_fail(im, -EBADMSG, "pad_token_id is %lld, of %lld positions", (long long)fill,
			(long long)positions);
	if (im->error.code)
		return NO_VALUE;
	positions -= fill + 1;
	dims[0] = part_symbol(e->b, "batch", 1 << 16);
	dims[1] = part_symbol(e->b, "sequence", positions);
	part_name(e->b, NULL, 0, "input_ids");
	ids = part_s32(e->b, part_input(e->b, "input_ids", ACCEL_HOST_S64, 2, dims));
	part_name(e->b, NULL, 0, "attention_mask");
	e->mask = part_mask(e->b, part_input(e->b, "attention_mask", ACCEL_HOST_S64, 2, dims));
	x = part_rows(e->b, part_name(e->b, NULL, 0, t->embed), ids);
	part_name(e->b, NULL, 0, t->places);
	at = t->beyond ? beyond(e, ids, fill) : part_s32(e->b, v_iota(im, length_of(im, ids, 1)));
	x = v_binary(im, ACCEL_BINARY_ADD, x, part_rows(e->b, t->places, at));
	if (t->types)
		x = v_binary(im, ACCEL_BINARY_ADD, x,
			     v_slice(im, part_tensor(e->b, t->types, ".weight"), 0, 0, 1, 1));
	return layer_norm(e, NULL, 0, t->first, x);
}

static uint32_t pictures(struct encoder *e)
{
	static const uint32_t order[] = { 0, 2, 1 };
	const int64_t flat[] = { 0, 0, -1 }, one[] = { 1, 1, e->hidden };
	const struct encoder_traits *t = e->t;
	const int64_t size = part_size(e->b, "image_size", 0, 1 << 14);
	const int64_t patch = part_size(e->b, "patch_size", 0, size), dims[] = {
		part_symbol(e->b, "batch", 1 << 16),
		part_size(e->b, "num_channels", 3, 64), size, size
	};
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct import *im = e->im;
	uint32_t in = part_input(e->b, "pixel_values", ACCEL_F32, 4, dims), w, bias, x = NO_VALUE;
	uint32_t rows[2], shape[2];

	part_name(e->b, NULL, 0, t->patch);
	w = part_tensor(e->b, t->patch, ".weight");
	bias = part_maybe(e->b, t->patch, ".bias");
	d.stride[0] = (uint32_t)patch;
	d.stride[1] = (uint32_t)patch;
	if (im->error.code || im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, in }, { ACCEL_ARG_B, w },
						       { ACCEL_ARG_BIAS, bias }),
				      bias == NO_VALUE ? 3 : 4, &x))
		return NO_VALUE;
	x = v_transpose(im, v_shaped_to(im, ACCEL_SHAPE_RESHAPE, x, 3, flat), order);
	rows[0] = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, part_tensor(e->b, t->cls, ""), 3, one);
	shape[0] = v_shape_of(im, x, 0, 1);
	shape[1] = v_ints(im, 2, one + 1);
	rows[0] = v_shaped(im, ACCEL_SHAPE_EXPAND, rows[0], v_concat(im, 0, 2, shape));
	rows[1] = x;
	x = v_concat(im, 1, 2, rows);
	x = v_binary(im, ACCEL_BINARY_ADD, x, part_tensor(e->b, t->places, ""));
	return layer_norm(e, NULL, 0, t->first, x);
}

/* --- what comes out -------------------------------------------------------------------------- */

/* Logits of each row's token, by the table of tokens */
static int masked_tokens(struct encoder *e, uint32_t x)
{
	const struct stored *table = part_find(e->b, e->t->embed, ".weight");

	part_name(e->b, NULL, 0, "cls.predictions.transform.dense");
	x = part_linear(e->b, e->im->name, x, e->act, NO_VALUE, false);
	x = layer_norm(e, NULL, 0, "cls.predictions.transform.LayerNorm", x);
	if (e->im->error.code || !table)
		return e->im->error.code;
	part_name(e->b, NULL, 0, "cls.predictions");
	x = part_product(e->b, x, part_raw(e->b, table),
			 part_tensor(e->b, "cls.predictions", ".bias"), 0, NO_VALUE, false);
	return part_output(e->b, "logits", x);
}

static uint32_t first_row(struct encoder *e, uint32_t x)
{
	const int64_t one = 1;

	return v_shaped_to(e->im, ACCEL_SHAPE_SQUEEZE, v_slice(e->im, x, 1, 0, 1, 1), 1, &one);
}

static int outputs(struct encoder *e, uint32_t x)
{
	const struct encoder_traits *t = e->t;
	const char *head = t->classifier;
	const char *kind = config_item(&e->b->model->config, "architectures", 0);
	uint32_t pooled = NO_VALUE;
	bool classifies;

	if (e->b->form->hidden)
		return part_output(e->b, "hidden", x);
	if (part_find(e->b, "cls.predictions.transform.dense", ".weight"))
		return masked_tokens(e, x);
	classifies = head && part_find(e->b, head, ".weight");
	/* Each token has a class, BertForTokenClassification says. */
	if (classifies && kind && strstr(kind, "ForTokenClassification"))
		return part_output(e->b, "logits",
				   part_linear(e->b, part_name(e->b, NULL, 0, head), x, 0,
					       NO_VALUE, false));
	if (t->pooler && part_find(e->b, t->pooler, ".weight"))
		pooled = part_linear(e->b, part_name(e->b, NULL, 0, t->pooler), first_row(e, x),
				     ACCEL_ACT_TANH, NO_VALUE, false);
	else if (t->pooled)
		pooled = layer_norm(e, NULL, 0, t->pooled, first_row(e, x));
	if (classifies) {
		pooled = pooled == NO_VALUE ? first_row(e, x) : pooled;
		return part_output(e->b, "logits",
				   part_linear(e->b, part_name(e->b, NULL, 0, head), pooled, 0,
					       NO_VALUE, false));
	}
	part_output(e->b, "last_hidden_state", x);
	return pooled == NO_VALUE ? e->im->error.code : part_output(e->b, "pooler", pooled);
}

/* --- metadata of GGUF files ------------------------------------------------------------------ */

/* Numbers of layers, and of rows within them, that tensors have as well */
static int check_layers(const struct store *store, struct accel_error *error)
{
	const char *const keys[] = { "bert.block_count", "bert.feed_forward_length" };
	int64_t layers, inner;
	unsigned int layer;
	uint32_t i;
	int n, ret = meta_count(store, keys[0], &layers, error);

	if (!ret)
		ret = meta_count(store, keys[1], &inner, error);
	for (i = 0; i < store->count && !ret; i++) {
		const struct stored *s = &store->list[i];

		n = 0;
		if (sscanf(s->name, "blk.%u.%n", &layer, &n) != 1 || !n)
			continue;
		if (layers >= 0 && layer >= layers)
			ret = stored_fail(error, -EBADMSG, "%s is %lld, but there is %.100s",
					  keys[0], (long long)layers, s->name);
		else if (inner >= 0 && !strcmp(s->name + n, "ffn_up.weight") && s->rank &&
			 s->dims[0] != inner)
			ret = stored_fail(error, -EBADMSG, "%s is %lld, %.100s has %lld", keys[1],
					  (long long)inner, s->name, (long long)s->dims[0]);
	}
	return ret;
}

int encoder_check(const struct family_model *m, struct accel_error *error)
{
	static const struct {
		const char *key;
		const char *tensor;
		uint32_t dim;
	} numbers[] = {
		{ "bert.embedding_length", "token_embd.weight", 1 },
		{ "bert.vocab_size", "token_embd.weight", 0 },
		{ "bert.context_length", "position_embd.weight", 0 },
		{ "tokenizer.ggml.token_type_count", "token_types.weight", 0 },
		{ "bert.attention.head_count", NULL, 0 },
	};
	const struct meta *causal = meta_find(&m->store, "bert.attention.causal");
	const struct meta *eps = meta_find(&m->store, "bert.attention.layer_norm_epsilon");
	const struct stored *s;
	double small = 0;
	int64_t n;
	size_t i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(numbers) && !ret; i++) {
		ret = meta_count(&m->store, numbers[i].key, &n, error);
		s = numbers[i].tensor ? stored_find(&m->store, numbers[i].tensor) : NULL;
		if (!ret && n >= 0 && s && s->rank == 2 && s->dims[numbers[i].dim] != n)
			ret = stored_fail(error, -EBADMSG, "%s is %lld, %s has %lld",
					  numbers[i].key, (long long)n, s->name,
					  (long long)s->dims[numbers[i].dim]);
	}
	if (ret)
		return ret;
	if (eps && ((eps->type != GGUF_F32 && eps->type != GGUF_F64) ||
		    !meta_number(eps, 0, &small) || !(small >= 0 && small < 1)))
		return stored_fail(error, -EBADMSG,
				   "bert.attention.layer_norm_epsilon is no real number from 0 to 1");
	if (causal && (causal->type != GGUF_BOOL || !meta_whole(causal, 0, &n)))
		return stored_fail(error, -EBADMSG,
				   "bert.attention.causal is neither true nor false");
	if (causal && n)
		return stored_fail(error, -EOPNOTSUPP,
				   "bert.attention.causal: rows that do not see those behind them");
	return check_layers(&m->store, error);
}

int encoder_shape(const struct family_model *m, struct family_shape *s, struct accel_error *error)
{
	const struct encoder_traits *t = traits_of(m);
	struct family_build b = { .model = m };
	const struct stored *embed = t->embed ? part_find(&b, t->embed, ".weight") : NULL;

	if (!embed || embed->rank != 2)
		return stored_fail(error, -EOPNOTSUPP, "%s has no table of tokens", m->config.type);
	s->hidden = embed->dims[1];
	s->vocab = embed->dims[0];
	s->positions = config_whole(&m->config, "max_position_embeddings", 0);
	if (t->beyond)
		s->positions -= config_whole(&m->config, "pad_token_id", 1) + 1;
	s->layers = config_whole(&m->config, "num_hidden_layers", 0);
	s->heads = config_whole(&m->config, "num_attention_heads", 0);
	s->inner = config_whole(&m->config, "intermediate_size", 4 * s->hidden);
	if (s->positions < 1 || s->positions > 1 << 24 || s->hidden < 1 || s->hidden > 1 << 20)
		return stored_fail(error, -EBADMSG, "%lld positions, rows of %lld",
				   (long long)s->positions, (long long)s->hidden);
	if (s->layers < 1 || s->layers > 4096)
		return stored_fail(error, -EBADMSG, "num_hidden_layers is %lld",
				   (long long)s->layers);
	return 0;
}

int encoder_build(struct family_build *b)
{
	const struct encoder_traits *t = traits_of(b->model);
	struct encoder e = { .b = b, .im = b->im, .t = t, .mask = NO_VALUE };
	const int64_t layers = part_size(b, "num_hidden_layers", 0, 4096);
	char act[40], places[40];
	uint32_t i, x;

	e.hidden = part_size(b, "hidden_size", 0, 1 << 20);
	e.heads = part_size(b, "num_attention_heads", 0, 1 << 16);
	if (!b->im->error.code && e.hidden % e.heads)
		return im_fail(b->im, -EBADMSG, "%lld heads of %lld elements", (long long)e.heads,
			       (long long)e.hidden);
	config_text(&b->model->config, "position_embedding_type", places, sizeof(places));
	if (config_has(&b->model->config, "position_embedding_type") && strcmp(places, "absolute"))
		return im_fail(b->im, -EOPNOTSUPP, "position_embedding_type \"%s\" is not absolute",
			       places);
	config_text(&b->model->config, "hidden_act", act, sizeof(act));
	e.act = part_act(b, act[0] || !b->model->config.gguf ? act : "gelu");
	e.eps = (float)config_real(&b->model->config, "layer_norm_eps", t->eps);
	if (b->im->error.code)
		return b->im->error.code;
	x = t->embed ? tokens(&e) : pictures(&e);
	for (i = 0; i < layers && !b->im->error.code; i++)
		x = layer_of(&e, i, x);
	return outputs(&e, layer_norm(&e, NULL, 0, t->last, x));
}
