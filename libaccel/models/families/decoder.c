// SPDX-License-Identifier: MIT
/*
 * Decoders: layers of attention and a feed-forward network, each behind a norm, around a stream
 * that they add to. What one has more than another shows in the names of its tensors.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../onnx/attend.h"
#include "decoder.h"

const struct decoder_traits decoder_gpt2 = {
	.names = {
		.embed = "transformer.wte", .places = "transformer.wpe", .layers = "transformer.h",
		.before = { "ln_1", "ln_2" }, .qkv = "attn.c_attn", .o = "attn.c_proj",
		.up = "mlp.c_fc", .down = "mlp.c_proj", .last = "transformer.ln_f",
		.head = "lm_head",
	},
	.act = "gelu_new", .layer = true, .columns = true,
};

const struct decoder_traits decoder_neox = {
	.names = {
		.embed = "gpt_neox.embed_in", .layers = "gpt_neox.layers",
		.before = { "input_layernorm", "post_attention_layernorm" },
		.qkv = "attention.query_key_value", .o = "attention.dense",
		.up = "mlp.dense_h_to_4h", .down = "mlp.dense_4h_to_h",
		.last = "gpt_neox.final_layer_norm", .head = "embed_out",
	},
	.act = "gelu", .layer = true, .by_heads = true, .rotary = true, .parallel = true,
};

#define LLAMA_NAMES \
	.embed = "model.embed_tokens", .layers = "model.layers", \
	.qkv = "self_attn.qkv_proj", .q = "self_attn.q_proj", .k = "self_attn.k_proj", \
	.v = "self_attn.v_proj", .norms = { "self_attn.q_norm", "self_attn.k_norm" }, \
	.o = "self_attn.o_proj", .gate_up = "mlp.gate_up_proj", .gate = "mlp.gate_proj", \
	.up = "mlp.up_proj", .down = "mlp.down_proj", \
	.experts = { "block_sparse_moe.gate", "block_sparse_moe.experts.%u.w1", \
		     "block_sparse_moe.experts.%u.w3", "block_sparse_moe.experts.%u.w2" }, \
	.last = "model.norm", .head = "lm_head"

const struct decoder_traits decoder_llama = {
	.names = { LLAMA_NAMES, .before = { "input_layernorm", "post_attention_layernorm" } },
	.act = "silu", .rotary = true, .pairs = true,
};

/* Of the LLaMA kind, but that GGUF has their heads in order */
const struct decoder_traits decoder_like_llama = {
	.names = { LLAMA_NAMES, .before = { "input_layernorm", "post_attention_layernorm" } },
	.act = "silu", .rotary = true,
};

const struct decoder_traits decoder_gemma2 = {
	.names = {
		LLAMA_NAMES, .before = { "input_layernorm", "pre_feedforward_layernorm" },
		.behind = { "post_attention_layernorm", "post_feedforward_layernorm" },
	},
	.act = "gelu_pytorch_tanh", .rotary = true, .embed_scale = true, .every = 2, .more = 1,
};

/* GGUF has one set of names for all. */
const struct names gguf_names = {
	.embed = "token_embd", .places = "position_embd", .layers = "blk",
	.before = { "attn_norm", "ffn_norm" }, .behind = { "post_attention_norm", "post_ffw_norm" },
	.qkv = "attn_qkv", .q = "attn_q", .k = "attn_k", .v = "attn_v",
	.norms = { "attn_q_norm", "attn_k_norm" }, .o = "attn_output", .gate = "ffn_gate",
	.up = "ffn_up", .down = "ffn_down",
	.experts = { "ffn_gate_inp", "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps" },
	.last = "output_norm", .head = "output",
};

/**
 * struct decoder - one in work
 * @b: build
 * @im: its import
 * @t: traits
 * @n: names
 * @s: its numbers
 * @act: activation
 * @eps: of norms
 * @more: added to factors of norms
 * @columns: weights are [in, out]
 * @rotary: tables
 * @attend: attention without a window
 * @window: keys that a query sees at most in layers that have a window, 0: all
 */
struct decoder {
	struct family_build *b;
	struct import *im;
	const struct decoder_traits *t;
	const struct names *n;
	const struct family_shape *s;
	uint32_t act;
	float eps;
	double more;
	bool columns;
	struct rotary rotary;
	struct accel_attention_desc attend;
	int64_t window;
};

/* --- its numbers ----------------------------------------------------------------------------- */

static int64_t number(const struct family_model *m, const char *name, int64_t otherwise,
		      int64_t max, struct accel_error *error)
{
	int64_t n = config_whole(&m->config, name, otherwise);

	if (n >= 1 && n <= max)
		return n;
	if (!error->code)
		stored_fail(error, -EBADMSG, "%s is %lld, not from 1 to %lld", name, (long long)n,
			    (long long)max);
	return 1;
}

int decoder_shape(const struct family_model *m, struct family_shape *s, struct accel_error *error)
{
	const struct decoder_traits *t = m->family->traits;
	const struct names *n = m->config.gguf ? &gguf_names : &t->names;
	struct family_build b = { .model = m };
	const struct stored *embed = part_find(&b, n->embed, ".weight");
	const struct stored *places = n->places ? part_find(&b, n->places, ".weight") : NULL;

	*error = (struct accel_error)ACCEL_ERROR_INIT;
	s->hidden = number(m, "hidden_size", 0, 1 << 20, error);
	s->layers = number(m, "num_hidden_layers", 0, 4096, error);
	s->heads = number(m, "num_attention_heads", 0, 1 << 16, error);
	s->kv_heads = number(m, "num_key_value_heads", s->heads, s->heads, error);
	s->head_dim = number(m, "head_dim", s->hidden / s->heads, 1 << 16, error);
	s->inner = number(m, "intermediate_size", 4 * s->hidden, 1 << 24, error);
	s->positions = number(m, "max_position_embeddings", 0, 1 << 24, error);
	if (!error->code && s->heads % s->kv_heads)
		stored_fail(error, -EBADMSG, "%lld heads, %lld of keys", (long long)s->heads,
			    (long long)s->kv_heads);
	if (!error->code && (!embed || embed->rank != 2 || embed->dims[1] != s->hidden))
		stored_fail(error, -EBADMSG, "%s: no table of tokens with rows of %lld", n->embed,
			    (long long)s->hidden);
	if (!error->code && places && places->rank && places->dims[0] < s->positions)
		stored_fail(error, -EBADMSG, "max_position_embeddings is %lld, %s has %lld",
			    (long long)s->positions, n->places, (long long)places->dims[0]);
	s->vocab = embed ? embed->dims[0] : 0;
	return error->code;
}

/* Does a layer have a window? */
static bool has_window(const struct decoder *d, uint32_t layer)
{
	const struct config *c = &d->b->model->config;
	const char *type = config_item(c, "layer_types", layer);

	if (!d->window || !config_bool(c, "use_sliding_window", true))
		return false;
	if (type)
		return !strcmp(type, "sliding_attention");
	if (d->t->every)
		return layer % d->t->every == 0;
	/* Where it has to be switched on only the last layers have one. */
	return !config_bool(c, "use_sliding_window", false) ||
	       layer >= config_whole(c, "max_window_layers", 0);
}

static void set_attention(struct decoder *d)
{
	const struct config *c = &d->b->model->config;
	double scalar = config_real(c, "query_pre_attn_scalar", 0);
	char how[16];

	config_text(c, "_attn_implementation", how, sizeof(how));
	/* GGUF files do not say it: the model of 46 layers is the one whose heads are larger. */
	if (c->gguf && d->t == &decoder_gemma2 && d->s->layers == 46)
		scalar = (double)d->s->hidden / (double)d->s->heads;
	d->attend = (struct accel_attention_desc)ACCEL_ATTENTION_DESC_INIT;
	d->attend.flags = ACCEL_ATTENTION_CAUSAL;
	/*
	 * The answers of transformers are without this cap, unless it is told to attend eagerly;
	 * those of GGUF files are with it.
	 */
	if (c->gguf || !strcmp(how, "eager"))
		d->attend.softcap = (float)config_real(c, "attn_logit_softcapping", 0);
	if (scalar > 0) {
		d->attend.flags |= ACCEL_ATTENTION_SCALE;
		d->attend.scale = (float)(1 / sqrt(scalar));
	}
	d->window = config_whole(c, "sliding_window", 0);
	if (d->window < 0 || d->window > INT32_MAX)
		d->window = 0;
}

/* --- its parts ------------------------------------------------------------------------------- */

static bool has(struct decoder *d, uint32_t layer, const char *name)
{
	char full[256];

	if (!name)
		return false;
	snprintf(full, sizeof(full), "%s.%u.%s", d->n->layers, layer, name);
	return part_find(d->b, full, ".weight");
}

static uint32_t linear(struct decoder *d, uint32_t layer, const char *name, uint32_t x,
		       uint32_t act, uint32_t residual)
{
	return part_linear(d->b, part_name(d->b, d->n->layers, layer, name), x, act, residual,
			   d->columns);
}

static uint32_t norm(struct decoder *d, uint32_t layer, const char *name, uint32_t x)
{
	return part_norm(d->b, part_name(d->b, d->n->layers, layer, name), x, d->t->layer, d->eps,
			 d->more);
}

/* Queries, keys and values, [batch, rows, heads, dim] */
static void project(struct decoder *d, uint32_t layer, uint32_t x, uint32_t *out)
{
	const char *const names[] = { d->n->q, d->n->k, d->n->v };
	const int64_t heads[] = { d->s->heads, d->s->kv_heads, d->s->kv_heads };
	const bool by_heads = d->t->by_heads && !d->b->model->config.gguf;
	const bool joined = has(d, layer, d->n->qkv);
	const int64_t size = d->s->head_dim;
	int64_t from = 0;
	uint32_t i;

	if (joined)
		x = linear(d, layer, d->n->qkv, x, 0, NO_VALUE);
	if (joined && by_heads)
		x = split_heads(d->im, x, d->s->heads);
	for (i = 0; i < 3; i++) {
		if (joined && by_heads) {
			out[i] = v_slice(d->im, x, 3, i * size, (i + 1) * size, 1);
			continue;
		}
		out[i] = joined ? v_slice(d->im, x, 2, from, from + heads[i] * size, 1) :
			 linear(d, layer, names[i], x, 0, NO_VALUE);
		out[i] = split_heads(d->im, out[i], heads[i]);
		from += heads[i] * size;
	}
}

static uint32_t attention(struct decoder *d, uint32_t layer, uint32_t x, uint32_t residual)
{
	struct accel_attention_desc desc = d->attend;
	const struct accel_decoder *decoder = d->b->form->decoder;
	uint32_t h[3], i, y = NO_VALUE;

	project(d, layer, x, h);
	for (i = 0; i < 2; i++) {
		if (has(d, layer, d->n->norms[i]))
			h[i] = norm(d, layer, d->n->norms[i], h[i]);
		part_name(d->b, d->n->layers, layer, i ? "keys" : "queries");
		h[i] = part_rotate(d->b, &d->rotary, h[i]);
	}
	if (has_window(d, layer)) {
		desc.flags |= ACCEL_ATTENTION_WINDOW;
		desc.window_left = (uint32_t)d->window - 1;
	}
	part_name(d->b, d->n->layers, layer, "attention");
	if (!decoder)
		y = part_attend(d->b, &desc, h[0], h[1], h[2], NO_VALUE);
	else if (!d->im->error.code)
		im_graph(d->im, accel_decoder_attend(d->im->model->graph, decoder, layer, &desc,
						     h[0], h[1], h[2], &y));
	return linear(d, layer, d->n->o, join_heads(d->im, y), 0, residual);
}

/* A gate and what it is for, in one product */
static uint32_t gated(struct decoder *d, uint32_t layer, const char *name, uint32_t x)
{
	const int64_t inner = d->s->inner;
	uint32_t both = linear(d, layer, name, x, 0, NO_VALUE);
	uint32_t gate = v_slice(d->im, both, 2, 0, inner, 1);

	return v_binary(d->im, ACCEL_BINARY_MUL, part_activate(d->b, d->act, gate),
			v_slice(d->im, both, 2, inner, 2 * inner, 1));
}

static uint32_t network(struct decoder *d, uint32_t layer, uint32_t x, uint32_t residual)
{
	const struct stored *up;
	uint32_t y;

	if (has(d, layer, d->n->experts[0])) {
		y = experts_of(d->b, d->n->layers, layer, d->n->experts, d->act, x);
		return residual == NO_VALUE ? y : v_binary(d->im, ACCEL_BINARY_ADD, y, residual);
	}
	up = part_find(d->b, part_name(d->b, d->n->layers, layer, d->n->up), ".weight");
	if (has(d, layer, d->n->gate_up)) {
		x = gated(d, layer, d->n->gate_up, x);
	} else if (has(d, layer, d->n->gate)) {
		y = linear(d, layer, d->n->gate, x, d->act, NO_VALUE);
		x = linear(d, layer, d->n->up, x, 0, NO_VALUE);
		x = v_binary(d->im, ACCEL_BINARY_MUL, y, x);
	} else if (up && up->rank == 2 && !d->columns && up->dims[0] == 2 * d->s->inner) {
		x = gated(d, layer, d->n->up, x);
	} else {
		x = linear(d, layer, d->n->up, x, d->act, NO_VALUE);
	}
	return linear(d, layer, d->n->down, x, 0, residual);
}

static uint32_t layer_of(struct decoder *d, uint32_t layer, uint32_t x)
{
	const struct names *n = d->n;
	uint32_t y, i;

	if (d->t->parallel && config_bool(&d->b->model->config, "use_parallel_residual", true)) {
		y = attention(d, layer, norm(d, layer, n->before[0], x), x);
		return network(d, layer, norm(d, layer, n->before[1], x), y);
	}
	for (i = 0; i < 2; i++) {
		bool behind = has(d, layer, n->behind[i]);

		y = norm(d, layer, n->before[i], x);
		y = i ? network(d, layer, y, behind ? NO_VALUE : x) :
		    attention(d, layer, y, behind ? NO_VALUE : x);
		if (behind)
			y = v_binary(d->im, ACCEL_BINARY_ADD, norm(d, layer, n->behind[i], y), x);
		x = y;
	}
	return x;
}

/* --- all of it -------------------------------------------------------------------------------- */

static uint32_t embed(struct decoder *d)
{
	const struct accel_decoder *decoder = d->b->form->decoder;
	uint32_t ids = decoder ? decoder->tokens : NO_VALUE, x, at;
	int64_t dims[2];

	if (!decoder) {
		dims[0] = part_symbol(d->b, "batch", 1 << 16);
		dims[1] = part_symbol(d->b, "sequence", d->s->positions);
		part_name(d->b, NULL, 0, "input_ids");
		ids = part_s32(d->b, part_input(d->b, "input_ids", ACCEL_HOST_S64, 2, dims));
	}
	x = part_rows(d->b, part_name(d->b, NULL, 0, d->n->embed), ids);
	if (d->t->embed_scale)
		x = v_with(d->im, ACCEL_BINARY_MUL, x, sqrt((double)d->s->hidden));
	if (!d->n->places || !part_find(d->b, d->n->places, ".weight"))
		return x;
	part_name(d->b, NULL, 0, d->n->places);
	if (decoder)
		at = decoder->positions;
	else
		at = part_s32(d->b, v_iota(d->im, length_of(d->im, ids, 1)));
	return v_binary(d->im, ACCEL_BINARY_ADD, x, part_rows(d->b, d->n->places, at));
}

static int logits(struct decoder *d, uint32_t x)
{
	double cap = config_real(&d->b->model->config, "final_logit_softcapping", 0);
	const struct accel_decoder *decoder = d->b->form->decoder;
	const char *head = d->n->head;
	const struct stored *s;
	uint32_t hidden;

	if (decoder && !d->im->error.code && x != NO_VALUE)
		im_graph(d->im, accel_decoder_rows(d->im->model->graph, decoder, x, &x));
	x = part_norm(d->b, part_name(d->b, NULL, 0, d->n->last), x, d->t->layer, d->eps, d->more);
	if (d->im->error.code)
		return d->im->error.code;
	hidden = x;
	if (d->b->form->hidden)
		return part_output(d->b, "hidden", hidden);
	/* Tables are [tokens, hidden], whatever other weights are. */
	if (part_find(d->b, head, ".weight")) {
		x = part_linear(d->b, part_name(d->b, NULL, 0, head), x, 0, NO_VALUE, false);
	} else {
		/* The table of tokens, with what adapters have for the one that is not there */
		s = part_find(d->b, d->n->embed, ".weight");
		part_name(d->b, NULL, 0, d->n->embed);
		part_probe(d->b, s, x, NO_VALUE, 0);
		x = part_product(d->b, x, part_raw(d->b, s),
				 part_maybe(d->b, d->n->embed, ".bias"), 0,
				 part_adapt(d->b, head, s, false, x, NO_VALUE), false);
	}
	if (d->b->form->probes)
		return d->im->error.code;
	if (cap > 0) {
		x = v_act(d->im, ACCEL_ACT_TANH, 0, 0, v_with(d->im, ACCEL_BINARY_MUL, x, 1 / cap));
		x = v_with(d->im, ACCEL_BINARY_MUL, x, cap);
	}
	part_output(d->b, "logits", x);
	return decoder ? part_output(d->b, "hidden", hidden) : d->im->error.code;
}

int decoder_build(struct family_build *b)
{
	const struct decoder_traits *t = b->model->family->traits;
	const struct config *c = &b->model->config;
	bool gguf = c->gguf;
	struct decoder d = {
		.b = b, .im = b->im, .t = t, .n = gguf ? &gguf_names : &t->names,
		.s = &b->model->shape, .columns = t->columns && !gguf, .more = gguf ? 0 : t->more,
		.rotary = { NO_VALUE, NO_VALUE, gguf && t->pairs },
	};
	char act[40];
	uint32_t i, x;

	config_text(c, "hidden_act", act, sizeof(act));
	d.act = part_act(b, act[0] ? act : t->act);
	d.eps = (float)config_real(c, t->layer ? "layer_norm_eps" : "rms_norm_eps", 0.00001);
	set_attention(&d);
	if (t->rotary)
		part_rotary(b, d.s->head_dim, d.s->positions, &d.rotary);
	x = embed(&d);
	for (i = 0; i < d.s->layers && !b->im->error.code; i++)
		x = layer_of(&d, i, x);
	return logits(&d, x);
}
