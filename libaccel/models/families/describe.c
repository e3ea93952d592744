// SPDX-License-Identifier: MIT
/*
 * What config.json says as metadata of GGUF, and the other way round.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "encoder.h"
#include "../tokenizers/inside.h"

double describe_divisor(double base, int64_t pair, int64_t turn, double factor, double low,
			double high, double trained)
{
	double wave = 2 * M_PI * pow(base, 2.0 * (double)pair / (double)turn), smooth;

	if (wave < trained / high)
		return 1;
	if (wave > trained / low)
		return factor;
	smooth = (trained / wave - low) / (high - low);
	return 1 / ((1 - smooth) / factor + smooth);
}

/**
 * struct note - metadata in work
 * @m: model
 * @arch: architecture
 * @out: entries
 * @count: their number
 */
struct note {
	const struct family_model *m;
	const char *arch;
	struct message *out;
	uint64_t *count;
};

static const char *key_of(const struct note *n, const char *name, char *key, size_t size)
{
	const struct config_alias *alias = config_alias(name);

	snprintf(key, size, "%s.%s", n->arch, alias && alias->gguf ? alias->gguf : name);
	return key;
}

static void note_whole(struct note *n, const char *name, int64_t value)
{
	char key[160];

	if (value >= 0 && value <= UINT32_MAX)
		gguf_put_u32(n->out, n->count, key_of(n, name, key, sizeof(key)), (uint32_t)value);
}

static void note_real(struct note *n, const char *name, double otherwise)
{
	double value = config_real(&n->m->config, name, otherwise);
	char key[160];

	if (!isnan(value))
		gguf_put_f32(n->out, n->count, key_of(n, name, key, sizeof(key)), (float)value);
}

static int note_rope(struct note *n, struct accel_error *error)
{
	static const char *const yarn[] = { "rope_slow", "rope_fast", "rope_amplitude" };
	const struct config *c = &n->m->config;
	double share = config_real(c, "rotary_share", 1);
	char type[32], key[160];
	size_t i;

	config_text(c, "rope_type", type, sizeof(type));
	note_real(n, "rope_theta", 10000);
	note_whole(n, "rotary_dim", (int64_t)((double)n->m->shape.head_dim *
					      (share > 0 && share <= 1 ? share : 1)));
	if (type[0] && strcmp(type, "default"))
		note_whole(n, "rope_trained",
			   config_whole(c, "rope_trained", n->m->shape.positions));
	if (!type[0] || !strcmp(type, "default") || !strcmp(type, "llama3"))
		return 0;
	if (strcmp(type, "linear") && strcmp(type, "yarn"))
		return stored_fail(error, -EOPNOTSUPP, "rope_type %s has no name in GGUF", type);
	gguf_put_text(n->out, n->count, key_of(n, "rope_type", key, sizeof(key)), type);
	note_real(n, "rope_factor", 1);
	for (i = 0; i < ARRAY_SIZE(yarn) && !strcmp(type, "yarn"); i++)
		note_real(n, yarn[i], (double)NAN);
	return 0;
}

/* Windows are those of all layers, or of every second one where the family has it so. */
static int note_window(struct note *n, struct accel_error *error)
{
	const struct decoder_traits *t = n->m->family->traits;
	const struct config *c = &n->m->config;
	int64_t window = config_whole(c, "sliding_window", 0), i;
	const char *type;
	bool has;

	if (window < 1 || !config_bool(c, "use_sliding_window", true))
		return 0;
	for (i = 0; i < n->m->shape.layers; i++) {
		type = config_item(c, "layer_types", (uint32_t)i);
		has = t->every ? i % t->every == 0 : true;
		if (type ? has != !strcmp(type, "sliding_attention") :
		    !t->every && config_bool(c, "use_sliding_window", false) &&
		    i < config_whole(c, "max_window_layers", 0))
			return stored_fail(error, -EOPNOTSUPP,
					   "sliding_window of some layers has no name in GGUF");
	}
	note_whole(n, "sliding_window", window);
	return 0;
}

/* What scores are divided by the root of: the largest of the family has other heads. */
static int64_t usual_scalar(const struct family_model *m)
{
	return m->family->traits == &decoder_gemma2 && m->shape.layers == 46 ?
	       m->shape.hidden / m->shape.heads : m->shape.head_dim;
}

/* What GGUF leaves to the architecture has to be as that has it. */
static int check_silent(const struct family_model *m, struct accel_error *error)
{
	const struct decoder_traits *t = m->family->traits;
	double scalar = config_real(&m->config, "query_pre_attn_scalar", 0);
	double usual = (double)usual_scalar(m);
	char act[40];

	config_text(&m->config, "hidden_act", act, sizeof(act));
	if (act[0] && strcmp(act, t->act))
		return stored_fail(error, -EOPNOTSUPP, "hidden_act %s: in GGUF it is %s", act,
				   t->act);
	if (scalar > 0 && scalar != usual)
		return stored_fail(error, -EOPNOTSUPP,
				   "query_pre_attn_scalar is %g: in GGUF it is %g", scalar, usual);
	return 0;
}

/* --- encoders --------------------------------------------------------------------------------- */

/* Classes of a file that tells texts apart, by their names */
static int note_classes(struct note *n, struct accel_error *error)
{
	const struct encoder_traits *t = n->m->family->traits;
	struct family_build b = { .model = n->m };
	const struct stored *s = part_find(&b, t->classifier, ".weight");
	const int64_t count = s && s->rank == 2 ? s->dims[0] : 0, most = 1 << 16;
	char key[160], name[32];
	struct json_object *o;
	const char **list;
	int64_t i;
	bool bad;

	if (!count)
		return 0;
	if (count > most)
		return stored_fail(error, -EOPNOTSUPP, "%lld classes, more than %lld",
				   (long long)count, (long long)most);
	list = calloc((size_t)count, sizeof(*list));
	o = json_object_new_array();
	for (i = 0; list && o && i < count; i++) {
		char text[256];

		snprintf(name, sizeof(name), "id2label.%lld", (long long)i);
		if (!*config_text(&n->m->config, name, text, sizeof(text)))
			snprintf(text, sizeof(text), "LABEL_%lld", (long long)i);
		/* It may have been cut. */
		if (strlen(text) + 1 == sizeof(text) ||
		    !utf8_valid((const uint8_t *)text, strlen(text)))
			break;
		json_object_array_add(o, json_object_new_string(text));
		list[i] = json_object_get_string(json_object_array_get_idx(o, (size_t)i));
	}
	if (i == count)
		gguf_put_texts(n->out, n->count, key_of(n, "classifier.output_labels", key,
							sizeof(key)), list, (uint64_t)count);
	bad = list && o && i < count;
	free(list);
	json_object_put(o);
	if (bad)
		return stored_fail(error, -EOPNOTSUPP, "%s is no UTF-8, or longer than 254 bytes",
				   name);
	return i == count ? 0 : stored_fail(error, -ENOMEM, "out of memory");
}

static int describe_encoder(struct note *n, struct accel_error *error)
{
	const struct encoder_traits *t = n->m->family->traits;
	const struct family_shape *s = &n->m->shape;
	struct family_build b = { .model = n->m };
	const struct stored *types = part_find(&b, t->types, ".weight");
	const char *kind = config_item(&n->m->config, "architectures", 0);
	char act[40], key[160];

	if (kind && strstr(kind, "ForTokenClassification"))
		return stored_fail(error, -EOPNOTSUPP, "architectures: %.80s has no name in GGUF",
				   kind);
	config_text(&n->m->config, "hidden_act", act, sizeof(act));
	if (strcmp(act, "gelu"))
		return stored_fail(error, -EOPNOTSUPP, "hidden_act %s: in GGUF it is gelu", act);
	gguf_put_text(n->out, n->count, "general.architecture", n->arch);
	note_whole(n, "hidden_size", s->hidden);
	note_whole(n, "num_hidden_layers", s->layers);
	note_whole(n, "num_attention_heads", s->heads);
	note_whole(n, "intermediate_size", s->inner);
	note_whole(n, "max_position_embeddings", s->positions);
	note_whole(n, "vocab_size", s->vocab);
	note_real(n, "layer_norm_eps", t->eps);
	gguf_put_bool(n->out, n->count, key_of(n, "attention.causal", key, sizeof(key)), false);
	if (types && types->rank)
		gguf_put_u32(n->out, n->count, "tokenizer.ggml.token_type_count",
			     (uint32_t)types->dims[0]);
	return note_classes(n, error);
}

/* --- decoders --------------------------------------------------------------------------------- */

int describe_gguf(const struct family_model *m, struct message *meta, uint64_t *entries,
		  struct accel_error *error)
{
	const struct decoder_traits *t = m->family->traits;
	const struct family_shape *s = &m->shape;
	const struct config *c = &m->config;
	struct note n = {
		.m = m, .arch = m->family->gguf ? m->family->gguf : "llama", .out = meta,
		.count = entries,
	};
	char key[160];
	int ret;

	if (m->family->build == encoder_build)
		return describe_encoder(&n, error);
	ret = check_silent(m, error);
	gguf_put_text(meta, entries, "general.architecture", n.arch);
	note_whole(&n, "hidden_size", s->hidden);
	note_whole(&n, "num_hidden_layers", s->layers);
	note_whole(&n, "num_attention_heads", s->heads);
	note_whole(&n, "num_key_value_heads", s->kv_heads);
	note_whole(&n, "head_dim", s->head_dim);
	note_whole(&n, "attention.value_length", s->head_dim);
	note_whole(&n, "intermediate_size", s->inner);
	note_whole(&n, "max_position_embeddings", s->positions);
	note_whole(&n, "vocab_size", s->vocab);
	note_whole(&n, "num_local_experts", config_whole(c, "num_local_experts", -1));
	note_whole(&n, "num_experts_per_tok", config_whole(c, "num_experts_per_tok", -1));
	note_real(&n, t->layer ? "layer_norm_eps" : "rms_norm_eps", 0.00001);
	note_real(&n, "attn_logit_softcapping", (double)NAN);
	note_real(&n, "final_logit_softcapping", (double)NAN);
	if (t->parallel)
		gguf_put_bool(meta, entries, key_of(&n, "use_parallel_residual", key, sizeof(key)),
			      config_bool(c, "use_parallel_residual", true));
	if (!ret && t->rotary)
		ret = note_rope(&n, error);
	return ret ? ret : note_window(&n, error);
}

/* --- the other way round ---------------------------------------------------------------------- */

/* A field, of an object within the document if there is a point in its name */
static void put_field(struct json_object *doc, const char *name, struct json_object *value)
{
	const char *point = strchr(name, '.');
	struct json_object *inner = NULL;
	char first[64];

	if (!point) {
		json_object_object_add(doc, name, value);
		return;
	}
	snprintf(first, sizeof(first), "%.*s", (int)(point - name), name);
	if (!json_object_object_get_ex(doc, first, &inner)) {
		inner = json_object_new_object();
		json_object_object_add(doc, first, inner);
	}
	put_field(inner, point + 1, value);
}

static struct json_object *value_of(const struct meta *meta)
{
	const char *text;
	uint64_t n;
	int64_t whole;
	double real;

	if (meta->type == GGUF_BOOL && meta_whole(meta, 0, &whole))
		return json_object_new_boolean(whole != 0);
	if (meta->type != GGUF_ARRAY && meta_whole(meta, 0, &whole))
		return json_object_new_int64(whole);
	if (meta->type != GGUF_ARRAY && meta_number(meta, 0, &real))
		return json_object_new_double(real);
	if (meta_string(meta, NULL, &text, &n) && n < 4096)
		return json_object_new_string_len(text, (int)n);
	return NULL;
}

/* LLaMA 3's numbers, which GGUF has as what comes of them */
static int put_llama3(const struct family_model *m, struct json_object *doc,
		      struct accel_error *error)
{
	const struct stored *s = stored_find(&m->store, "rope_freqs.weight");
	const double base = config_real(&m->config, "rope_theta", 10000);
	double trained = (double)config_whole(&m->config, "rope_trained", 8192), factor = 1, want;
	uint64_t i;
	float f;

	if (!s)
		return 0;
	for (i = 0; s->type == ACCEL_F32 && i < s->count; i++) {
		memcpy(&f, s->data + i * sizeof(f), sizeof(f));
		factor = (double)f > factor ? (double)f : factor;
	}
	for (i = 0; s->type == ACCEL_F32 && i < s->count; i++) {
		memcpy(&f, s->data + i * sizeof(f), sizeof(f));
		want = describe_divisor(base, (int64_t)i, 2 * (int64_t)s->count, factor, 1, 4,
					trained);
		if (!(fabs((double)f - want) <= 0.0001 * want))
			break;
	}
	if (!s->count || i < s->count)
		return stored_fail(error, -EOPNOTSUPP,
				   "rope_freqs.weight: not LLaMA 3's numbers of %g positions",
				   trained);
	put_field(doc, "rope_parameters.rope_type", json_object_new_string("llama3"));
	put_field(doc, "rope_parameters.factor", json_object_new_double(factor));
	put_field(doc, "rope_parameters.low_freq_factor", json_object_new_double(1));
	put_field(doc, "rope_parameters.high_freq_factor", json_object_new_double(4));
	put_field(doc, "rope_parameters.original_max_position_embeddings",
		  json_object_new_int64((int64_t)trained));
	return 0;
}

/* What both have by a name; GPT-2 has names of its own */
static void put_known(const struct family_model *m, struct json_object *doc, bool own)
{
	const struct config_alias *a;
	struct json_object *value;
	const struct meta *meta;
	const char *name;
	char key[160];
	uint32_t count, i;

	a = config_aliases(&count);
	for (i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "%s.%s", m->config.type, a[i].gguf ? a[i].gguf : "");
		meta = a[i].gguf ? meta_find(&m->store, key) : NULL;
		value = meta ? value_of(meta) : NULL;
		if (!value)
			continue;
		/* Angles are told in an object. */
		name = a[i].others[0] && (own || !strncmp(a[i].name, "rope_", 5)) ?
		       a[i].others[0] : a[i].name;
		if (!strcmp(a[i].name, "rope_theta"))
			put_field(doc, a[i].name, json_object_get(value));
		put_field(doc, name, value);
	}
}

static void put_id(const struct family_model *m, struct json_object *doc, const char *name,
		   const char *key)
{
	int64_t id;

	if (meta_whole(meta_find(&m->store, key), 0, &id))
		json_object_object_add(doc, name, json_object_new_int64(id));
}

/* The names of classes */
static int put_classes(const struct family_model *m, struct json_object *doc,
		       struct accel_error *error)
{
	const char *const key = "bert.classifier.output_labels";
	const struct stored *s = stored_find(&m->store, "cls.output.weight");
	const struct meta *labels = meta_find(&m->store, key);
	const uint8_t *at = labels ? labels->data : NULL;
	struct json_object *names;
	const char *text = NULL;
	char number[24];
	uint64_t n, i;

	if (!s || !labels)
		return 0;
	if (labels->type != GGUF_ARRAY || labels->element != GGUF_STRING)
		return stored_fail(error, -EBADMSG, "%s is no list of texts", key);
	if (!s->rank || labels->count != (uint64_t)s->dims[0])
		return stored_fail(error, -EBADMSG, "%s has %llu, %s has %lld rows", key,
				   (unsigned long long)labels->count, s->name,
				   (long long)s->dims[0]);
	names = json_object_new_object();
	json_object_object_add(doc, "id2label", names);
	for (i = 0; i < labels->count && meta_string(labels, &at, &text, &n); i++) {
		if (n > INT32_MAX || !utf8_valid((const uint8_t *)text, n))
			return stored_fail(error, -EBADMSG, "%s: entry %llu is no UTF-8", key,
					   (unsigned long long)i);
		snprintf(number, sizeof(number), "%llu", (unsigned long long)i);
		json_object_object_add(names, number, json_object_new_string_len(text, (int)n));
	}
	return 0;
}

static int put_encoder(const struct family_model *m, struct json_object *doc,
		       struct accel_error *error)
{
	const bool classifies = stored_find(&m->store, "cls.output.weight");
	const struct stored *types = stored_find(&m->store, "token_types.weight");
	struct json_object *list = json_object_new_array();

	json_object_array_add(list, json_object_new_string(classifies ?
			      "BertForSequenceClassification" : "BertModel"));
	json_object_object_add(doc, "architectures", list);
	put_known(m, doc, false);
	json_object_object_add(doc, "hidden_act", json_object_new_string("gelu"));
	json_object_object_add(doc, "vocab_size", json_object_new_int64(m->shape.vocab));
	if (types && types->rank)
		json_object_object_add(doc, "type_vocab_size",
				       json_object_new_int64(types->dims[0]));
	put_id(m, doc, "pad_token_id", "tokenizer.ggml.padding_token_id");
	return put_classes(m, doc, error);
}

int describe_json(const struct family_model *m, struct json_object **out,
		  struct accel_error *error)
{
	const struct decoder_traits *t = m->family->traits;
	struct json_object *doc = json_object_new_object();
	const struct config *c = &m->config;
	const char *type = m->family->type;
	int64_t turn;
	int ret;

	if (!doc)
		return stored_fail(error, -ENOMEM, "out of memory");
	if (t == &decoder_llama && config_whole(c, "num_local_experts", 0) > 0)
		type = "mixtral";
	else if (t == &decoder_llama && config_whole(c, "sliding_window", 0) > 0)
		type = "mistral";
	json_object_object_add(doc, "model_type", json_object_new_string(type));
	if (m->family->build == encoder_build) {
		ret = put_encoder(m, doc, error);
		goto end;
	}
	put_known(m, doc, t->columns);
	json_object_object_del(doc, "rotary_dim");
	turn = config_whole(c, "rotary_dim", m->shape.head_dim);
	if (t->rotary && turn < m->shape.head_dim) {
		put_field(doc, "rope_parameters.partial_rotary_factor",
			  json_object_new_double((double)turn / (double)m->shape.head_dim));
		put_field(doc, "rotary_pct",
			  json_object_new_double((double)turn / (double)m->shape.head_dim));
	}
	json_object_object_add(doc, "hidden_act", json_object_new_string(t->act));
	json_object_object_add(doc, "vocab_size", json_object_new_int64(m->shape.vocab));
	json_object_object_add(doc, "tie_word_embeddings",
			       json_object_new_boolean(!stored_find(&m->store, "output.weight")));
	/* The cap of scores is there, which folders have where attention is told to be eager. */
	if (config_real(c, "attn_logit_softcapping", 0) > 0)
		json_object_object_add(doc, "_attn_implementation",
				       json_object_new_string("eager"));
	put_id(m, doc, "bos_token_id", "tokenizer.ggml.bos_token_id");
	put_id(m, doc, "eos_token_id", "tokenizer.ggml.eos_token_id");
	if (t == &decoder_gemma2)
		json_object_object_add(doc, "query_pre_attn_scalar",
				       json_object_new_int64(usual_scalar(m)));
	ret = put_llama3(m, doc, error);
end:
	if (ret)
		json_object_put(doc);
	else
		*out = doc;
	return ret;
}
