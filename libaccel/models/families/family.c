// SPDX-License-Identifier: MIT
/*
 * The families, and models of folders and GGUF files.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libaccel/core/fpmode.h"
#include "families.h"

static const struct family families[] = {
	{ "gpt2", "gpt2", &decoder_gpt2, decoder_build },
	{ "gpt_neox", "gptneox", &decoder_neox, decoder_build },
	{ "llama", "llama", &decoder_llama, decoder_build },
	{ "mistral", NULL, &decoder_llama, decoder_build },
	{ "mixtral", NULL, &decoder_llama, decoder_build },
	{ "phi3", "phi3", &decoder_like_llama, decoder_build },
	{ "qwen2", "qwen2", &decoder_like_llama, decoder_build },
	{ "qwen3", "qwen3", &decoder_like_llama, decoder_build },
	{ "gemma2", "gemma2", &decoder_gemma2, decoder_build },
	{ "bert", "bert", &encoder_bert, encoder_build },
	{ "roberta", NULL, &encoder_roberta, encoder_build },
	{ "distilbert", NULL, &encoder_distilbert, encoder_build },
	{ "vit", NULL, &encoder_vit, encoder_build },
	{ "clip_vision_model", NULL, &encoder_clip, encoder_build },
	{ "t5", NULL, NULL, t5_build },
	{ "whisper", NULL, NULL, whisper_build },
	{ "resnet", NULL, NULL, resnet_build },
};

static const struct family *find_family(const struct config *c)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		const char *name = c->gguf ? families[i].gguf : families[i].type;

		if (name && !strcmp(name, c->type))
			return &families[i];
	}
	return NULL;
}

bool family_is(const char *path)
{
	struct mapping *map;
	struct stat st;
	bool is;

	if (stat(path, &st))
		return false;
	if (S_ISDIR(st.st_mode))
		return true;
	if (mapping_open(path, NULL, &map))
		return false;
	is = map->bytes >= 4 && !memcmp(map->data, "GGUF", 4);
	mapping_unref(map);
	return is;
}

static int open_folder(struct family_model *m, struct accel_error *error)
{
	char path[PATH_MAX];
	struct stat st;
	int ret = config_open(&m->config, m->path, "config.json", error);

	if (ret)
		return ret;
	if (strlen(m->path) >= sizeof(path) - sizeof("/model.safetensors.index.json"))
		return stored_fail(error, -ENAMETOOLONG, "%.100s...: too long", m->path);
	sprintf(path, "%s/model.safetensors", m->path);
	if (stat(path, &st))
		sprintf(path, "%s/model.safetensors.index.json", m->path);
	return stored_open(path, &m->store, error);
}

static int open_gguf(struct family_model *m, struct accel_error *error)
{
	int ret = stored_open(m->path, &m->store, error);
	const char *text = "";
	uint64_t n = 0;
	int64_t parts;

	if (ret)
		return ret;
	if (meta_whole(meta_find(&m->store, "split.count"), 0, &parts) && parts > 1)
		return stored_fail(error, -EOPNOTSUPP,
				   "%.200s: one of %lld files: a GGUF model is a single one",
				   m->path, (long long)parts);
	m->config.gguf = &m->store;
	meta_string(meta_find(&m->store, "general.architecture"), NULL, &text, &n);
	if (!n || n >= sizeof(m->config.type))
		return stored_fail(error, -EBADMSG, "%.200s: no architecture", m->path);
	memcpy(m->config.type, text, n);
	return 0;
}

/* What the files say; the family may be NULL then. */
static int open_files(const char *path, struct family_model **out, struct accel_error *error)
{
	struct family_model *m = calloc(1, sizeof(*m));
	struct stat st;
	int ret;

	if (m)
		m->path = strdup(path);
	if (!m || !m->path) {
		free(m);
		stored_fail(error, -ENOMEM, "out of memory");
		return -ENOMEM;
	}
	ret = !stat(path, &st) && S_ISDIR(st.st_mode) ? open_folder(m, error) : open_gguf(m, error);
	if (ret) {
		family_close(m);
		return ret;
	}
	m->family = find_family(&m->config);
	*out = m;
	return 0;
}

int family_open(const char *path, struct family_model **out, struct accel_error *error)
{
	struct family_model *m;
	int ret = open_files(path, &m, error);

	if (ret)
		return ret;
	if (!m->family)
		ret = stored_fail(error, -EOPNOTSUPP, "%.60s is no family that is known",
				  m->config.type[0] ? m->config.type : "what has none");
	else if (m->family->build == decoder_build)
		ret = decoder_shape(m, &m->shape, error);
	else if (m->family->build == encoder_build && m->config.gguf)
		ret = encoder_check(m, error);
	else if (m->family->build == whisper_build)
		ret = whisper_shape(m, &m->shape, error);
	else if (m->family->build == t5_build)
		ret = t5_shape(m, &m->shape, error);
	if (ret)
		family_close(m);
	else
		*out = m;
	return ret;
}

int family_scan(const char *path, int (*fn)(void *user, const struct accel_model_item *item),
		void *user)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_model_item item = { .size = sizeof(item), .kind = ACCEL_MODEL_FAMILY };
	struct family_model *m;
	int ret = open_files(path, &m, &error);

	if (ret)
		return ret;
	item.domain = "";
	item.name = m->config.type;
	item.text = m->family ? m->config.type : "";
	item.type = "";
	item.count = m->store.count;
	ret = fn(user, &item);
	family_close(m);
	return ret;
}

void family_close(struct family_model *model)
{
	if (!model)
		return;
	adapters_close(model);
	config_close(&model->config);
	stored_close(&model->store);
	free(model->path);
	free(model);
}

int family_build(struct import *im, const struct family_model *model,
		 const struct family_form *form)
{
	struct family_build b = { .im = im, .model = model, .form = form };
	struct accel_model_info *info = &im->model->info;
	char version[32];
	uint32_t i;
	int ret;

	b.values = malloc((model->store.count + 1) * sizeof(*b.values));
	b.adapted = calloc(adapters_count(model) + 1, sizeof(*b.adapted));
	if (!b.values || !b.adapted) {
		free(b.values);
		free(b.adapted);
		return im_fail(im, -ENOMEM, "out of memory");
	}
	for (i = 0; i < model->store.count; i++)
		b.values[i] = NO_VALUE;
	snprintf(im->op, sizeof(im->op), "%s", model->family->type);
	config_text(&model->config, "transformers_version", version, sizeof(version));
	snprintf(info->producer, sizeof(info->producer), "%s%.16s (%.24s)",
		 model->config.gguf ? "GGUF" : "transformers ", version, model->config.type);
	info->file_bytes = model->store.file_bytes;
	for (i = 0; i < model->adapter_count; i++)
		info->file_bytes += model->adapters[i].store.file_bytes;
	ret = model->family->build(&b);
	/* Graphs of hidden states have no product for logits; this one has all there is. */
	if (!ret && !form->decoder && !form->encoder && !form->hidden)
		ret = adapters_check(&b);
	free(b.values);
	free(b.adapted);
	return ret;
}

uint32_t family_page_size(const struct family_shape *s)
{
	uint32_t size;

	for (size = 16; size > 8 && s->positions % size; size--)
		;
	if (s->positions % size)
		size = 16;
	return size < s->positions ? size : (uint32_t)s->positions;
}

/* The numbers that were left out are the model's. */
static int take_opts(const struct family_shape *s, const struct accel_decoder_opts *opts,
		     struct accel_decoder_opts *o)
{
	uint32_t most;

	*o = (struct accel_decoder_opts)ACCEL_DECODER_OPTS_INIT;
	if (opts && opts->size < sizeof(*o))
		return -EINVAL;
	if (opts && opts->size > sizeof(*o))
		return -E2BIG;
	if (opts)
		*o = *opts;
	if ((o->layers && o->layers != s->layers) || (o->kv_heads && o->kv_heads != s->kv_heads) ||
	    (o->head_dim && o->head_dim != s->head_dim) || (o->v_dim && o->v_dim != s->head_dim))
		return -EINVAL;
	o->layers = (uint32_t)s->layers;
	o->kv_heads = (uint32_t)s->kv_heads;
	o->head_dim = (uint32_t)s->head_dim;
	if (!o->context || o->context > s->positions)
		o->context = (uint32_t)s->positions;
	if (!o->page_size)
		o->page_size = family_page_size(s);
	if (o->page_size > s->positions)
		o->page_size = (uint32_t)s->positions;
	/* Whole pages, as many as the model has positions for */
	most = (uint32_t)s->positions / o->page_size * o->page_size;
	o->context = o->context < most ? o->context : most;
	return 0;
}

static int build_decoder(struct import *im, const struct family_model *family,
			 const struct accel_decoder_opts *opts)
{
	struct accel_decoder decoder = { .size = sizeof(decoder) };
	struct family_form form = FAMILY_FORM_INIT;
	struct accel_decoder_opts o;
	int ret;

	if (take_opts(&family->shape, opts, &o))
		return im_fail(im, -EINVAL, "options that the model does not have");
	ret = im_graph(im, accel_decoder_inputs(im->model->graph, &o, &decoder));
	form.decoder = &decoder;
	form.positions = decoder.opts.context;
	return ret ? ret : family_build(im, family, &form);
}

int family_graph(const struct family_model *family, const struct family_form *form,
		 const struct accel_decoder_opts *opts, struct accel_error *error,
		 struct accel_graph **graph)
{
	struct import *im = import_create("");
	struct accel_model *made;
	int ret;

	if (!im)
		return -ENOMEM;
	made = im->model;
	ret = accel_graph_create(&made->graph);
	if (!ret)
		ret = form ? family_build(im, family, form) : build_decoder(im, family, opts);
	ret = import_end(im, ret, error);
	if (!ret) {
		*graph = made->graph;
		made->graph = NULL;
	}
	accel_model_close(made);
	return ret;
}

int accel_model_decoder(struct accel_model *model, const struct accel_decoder_opts *opts,
			struct accel_error *error, struct accel_graph **graph)
{
	FP_MODE_SCOPE();
	struct accel_error unheard;

	if (!model || !graph)
		return -EINVAL;
	if (!model->family || (model->family->family->build != decoder_build &&
			       model->family->family->build != t5_build))
		return stored_fail(error ? error : &unheard, -EOPNOTSUPP,
				   "not a decoder of a folder or a GGUF file");
	return family_graph(model->family, NULL, opts, error, graph);
}

int accel_model_encoder(struct accel_model *model, struct accel_error *error,
			struct accel_graph **graph)
{
	FP_MODE_SCOPE();
	const struct family_form form = { .encoder = true };
	struct accel_error unheard;

	if (!model || !graph)
		return -EINVAL;
	if (!model->family || model->family->family->build != t5_build)
		return stored_fail(error ? error : &unheard, -EOPNOTSUPP,
				   "not a model with an encoder of texts");
	return family_graph(model->family, &form, NULL, error, graph);
}
