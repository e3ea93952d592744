// SPDX-License-Identifier: MIT
/*
 * What a model says of itself. Families ask by one name; what others call it, and what GGUF
 * calls it behind the architecture's name, is in the table.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/errno_text.h"
#include "../json_end.h"
#include "families.h"

#define MAX_CONFIG	(16u << 20)
#define DEPTH		16

static const struct config_alias aliases[] = {
	{ "hidden_size", { "n_embd", "d_model", "dim" }, "embedding_length" },
	{ "num_hidden_layers", { "n_layer", "num_layers", "n_layers" }, "block_count" },
	{ "num_attention_heads", { "n_head", "num_heads", "n_heads" }, "attention.head_count" },
	{ "num_key_value_heads", { NULL }, "attention.head_count_kv" },
	{ "head_dim", { "d_kv" }, "attention.key_length" },
	{ "intermediate_size", { "n_inner", "d_ff", "hidden_dim" }, "feed_forward_length" },
	{ "max_position_embeddings", { "n_positions", "n_ctx" }, "context_length" },
	{ "rms_norm_eps", { NULL }, "attention.layer_norm_rms_epsilon" },
	{ "layer_norm_eps", { "layer_norm_epsilon" }, "attention.layer_norm_epsilon" },
	{ "hidden_act", { "activation_function", "hidden_activation", "activation",
			  "dense_act_fn" }, NULL },
	{ "rope_theta", { "rope_parameters.rope_theta", "rotary_emb_base" }, "rope.freq_base" },
	{ "rope_type", { "rope_parameters.rope_type", "rope_scaling.rope_type",
			 "rope_scaling.type" }, "rope.scaling.type" },
	{ "rope_factor", { "rope_parameters.factor", "rope_scaling.factor" },
	  "rope.scaling.factor" },
	{ "rope_low", { "rope_parameters.low_freq_factor", "rope_scaling.low_freq_factor" }, NULL },
	{ "rope_high", { "rope_parameters.high_freq_factor", "rope_scaling.high_freq_factor" },
	  NULL },
	{ "rope_slow", { "rope_parameters.beta_slow", "rope_scaling.beta_slow" },
	  "rope.scaling.yarn_beta_slow" },
	{ "rope_fast", { "rope_parameters.beta_fast", "rope_scaling.beta_fast" },
	  "rope.scaling.yarn_beta_fast" },
	{ "rope_amplitude", { "rope_parameters.attention_factor", "rope_scaling.attention_factor" },
	  "rope.scaling.attn_factor" },
	{ "rope_trained", { "rope_parameters.original_max_position_embeddings",
			    "rope_scaling.original_max_position_embeddings",
			    "original_max_position_embeddings" },
	  "rope.scaling.original_context_length" },
	{ "rope_short", { "rope_parameters.short_factor", "rope_scaling.short_factor" }, NULL },
	{ "rope_long", { "rope_parameters.long_factor", "rope_scaling.long_factor" }, NULL },
	{ "rotary_share", { "rope_parameters.partial_rotary_factor", "partial_rotary_factor",
			    "rotary_pct" }, NULL },
	{ "rotary_dim", { NULL }, "rope.dimension_count" },
	{ "sliding_window", { NULL }, "attention.sliding_window" },
	{ "attn_logit_softcapping", { NULL }, "attn_logit_softcapping" },
	{ "final_logit_softcapping", { NULL }, "final_logit_softcapping" },
	{ "num_local_experts", { "num_experts" }, "expert_count" },
	{ "num_experts_per_tok", { NULL }, "expert_used_count" },
	{ "use_parallel_residual", { NULL }, "use_parallel_residual" },
};

const struct config_alias *config_alias(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].name, name))
			return &aliases[i];
	return NULL;
}

const struct config_alias *config_aliases(uint32_t *count)
{
	*count = ARRAY_SIZE(aliases);
	return aliases;
}

/* A field, of an object within the document if there is a point in its name; no null */
static struct json_object *field(struct json_object *o, const char *name)
{
	const char *point = strchr(name, '.');
	struct json_object *inner = NULL;
	char first[64];

	if (!point)
		return json_object_object_get_ex(o, name, &inner) ? inner : NULL;
	snprintf(first, sizeof(first), "%.*s", (int)(point - name), name);
	return json_object_object_get_ex(o, first, &inner) &&
	       json_object_is_type(inner, json_type_object) ? field(inner, point + 1) : NULL;
}

static struct json_object *find_json(const struct config *c, const char *name)
{
	const struct config_alias *alias = config_alias(name);
	struct json_object *o = c->json ? field(c->json, name) : NULL;
	size_t i;

	for (i = 0; c->json && !o && alias && i < ARRAY_SIZE(alias->others) && alias->others[i];
	     i++)
		o = field(c->json, alias->others[i]);
	return o;
}

static const struct meta *find_gguf(const struct config *c, const char *name)
{
	const struct config_alias *alias = config_alias(name);
	char key[160];

	if (!c->gguf || !alias || !alias->gguf)
		return NULL;
	snprintf(key, sizeof(key), "%s.%s", c->type, alias->gguf);
	return meta_find(c->gguf, key);
}

int64_t config_whole(const struct config *c, const char *name, int64_t otherwise)
{
	struct json_object *o = find_json(c, name);
	int64_t n;

	if (o)
		return json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : otherwise;
	return meta_whole(find_gguf(c, name), 0, &n) ? n : otherwise;
}

double config_real(const struct config *c, const char *name, double otherwise)
{
	struct json_object *o = find_json(c, name);
	double n;

	if (o)
		return json_object_is_type(o, json_type_int) ||
		       json_object_is_type(o, json_type_double) ? json_object_get_double(o) :
		       otherwise;
	return meta_number(find_gguf(c, name), 0, &n) ? n : otherwise;
}

bool config_bool(const struct config *c, const char *name, bool otherwise)
{
	struct json_object *o = find_json(c, name);
	int64_t n;

	if (o)
		return json_object_is_type(o, json_type_boolean) ? json_object_get_boolean(o) :
		       otherwise;
	return meta_whole(find_gguf(c, name), 0, &n) ? n : otherwise;
}

const char *config_text(const struct config *c, const char *name, char *text, size_t size)
{
	struct json_object *o = find_json(c, name);
	const char *p = "";
	uint64_t n = 0;

	if (json_object_is_type(o, json_type_string)) {
		p = json_object_get_string(o);
		n = strlen(p);
	} else if (!o) {
		meta_string(find_gguf(c, name), NULL, &p, &n);
	}
	snprintf(text, size, "%.*s", (int)(n < size ? n : size - 1), p);
	return text;
}

bool config_has(const struct config *c, const char *name)
{
	return find_json(c, name) || find_gguf(c, name);
}

static struct json_object *item(const struct config *c, const char *name, uint32_t index)
{
	struct json_object *o = find_json(c, name);

	return json_object_is_type(o, json_type_array) && index < json_object_array_length(o) ?
	       json_object_array_get_idx(o, index) : NULL;
}

const char *config_item(const struct config *c, const char *name, uint32_t index)
{
	struct json_object *o = item(c, name, index);

	return json_object_is_type(o, json_type_string) ? json_object_get_string(o) : NULL;
}

double config_fraction(const struct config *c, const char *name, uint32_t index)
{
	struct json_object *o = item(c, name, index);

	return json_object_is_type(o, json_type_int) || json_object_is_type(o, json_type_double) ?
	       json_object_get_double(o) : NAN;
}

int64_t config_number(const struct config *c, const char *name, uint32_t index, int64_t otherwise)
{
	struct json_object *o = item(c, name, index);

	return json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : otherwise;
}

int config_open(struct config *c, const char *folder, const char *name, struct accel_error *error)
{
	struct json_tokener *tok;
	struct mapping *map;
	bool whole = false;
	char path[PATH_MAX];
	int ret;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return stored_fail(error, -ENAMETOOLONG, "%.100s...: too long", folder);
	ret = mapping_open(path, NULL, &map);
	if (ret)
		return stored_fail(error, ret, "%.200s: %s", path, errno_text(-ret));
	tok = json_tokener_new_ex(DEPTH);
	if (tok && map->bytes <= MAX_CONFIG) {
		c->json = json_tokener_parse_ex(tok, (const char *)map->data, (int)map->bytes);
		whole = json_is_end(tok, map->data, map->bytes);
	}
	json_tokener_free(tok);
	mapping_unref(map);
	if (!json_object_is_type(c->json, json_type_object))
		ret = stored_fail(error, -EBADMSG, "%.200s: no JSON document", path);
	else if (!whole)
		ret = stored_fail(error, -EBADMSG, "%.200s: more than a JSON document", path);
	if (ret)
		config_close(c);
	else
		config_text(c, "model_type", c->type, sizeof(c->type));
	return ret;
}

void config_close(struct config *c)
{
	json_object_put(c->json);
	c->json = NULL;
}
