// SPDX-License-Identifier: MIT
/*
 * Models as callers have them.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "../families/families.h"
#include "onnx.h"

/* An import of a file, whose model is there, NULL: no memory */
struct import *import_create(const char *path)
{
	struct import *im = calloc(1, sizeof(*im));

	if (!im)
		return NULL;
	im->path = path;
	im->model = calloc(1, sizeof(*im->model));
	if (!im->model) {
		free(im);
		return NULL;
	}
	return im;
}

/* What the import had goes, but for its model; @ret is told. */
int import_end(struct import *im, int ret, struct accel_error *error)
{
	struct mapping *map, *next;

	for (map = im->maps; map; map = next) {
		next = map->next;
		mapping_unref(map);
	}
	free_names(im);
	free_sequences(im);
	free(im->made);
	free(im->halves);
	if (!im->parent)
		free(im->functions);
	if (ret && error && error->size >= sizeof(*error)) {
		im->error.code = ret;
		im->error.size = error->size;
		*error = im->error;
	}
	free(im);
	return ret;
}

static int bad_opts(struct accel_error *error, int code, const char *field, const char *text)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	e.code = code;
	e.op_index = UINT32_MAX;
	snprintf(e.field, sizeof(e.field), "opts.%s", field);
	snprintf(e.text, sizeof(e.text), "%s", text);
	if (error && error->size >= sizeof(*error)) {
		e.size = error->size;
		*error = e;
	}
	return code;
}

/* Options that are known, those that are missing filled in; 0, or the error that is told */
static int take_opts(const struct accel_model_opts *opts, struct accel_model_opts *o,
		     struct accel_error *error)
{
	static const char unknown[] = "options that this library does not know";
	const unsigned char *p = (const unsigned char *)opts;
	uint32_t i;

	*o = (struct accel_model_opts)ACCEL_MODEL_OPTS_INIT;
	if (!opts)
		return 0;
	/* Those who know of no adapters have a smaller structure. */
	if (opts->size < offsetof(struct accel_model_opts, loras))
		return bad_opts(error, -EINVAL, "size", unknown);
	for (i = sizeof(*opts); i < opts->size; i++)
		if (p[i])
			return bad_opts(error, -E2BIG, "size", unknown);
	memcpy(o, opts, opts->size < sizeof(*o) ? opts->size : sizeof(*o));
	if (o->flags)
		return bad_opts(error, -EINVAL, "flags", unknown);
	for (i = 0; i < o->input_count; i++)
		if (!o->inputs || o->inputs[i].size != sizeof(*o->inputs) || !o->inputs[i].name ||
		    o->inputs[i].flags & ~ACCEL_MODEL_ABSENT || o->inputs[i].pad ||
		    (o->inputs[i].flags && o->inputs[i].count))
			return bad_opts(error, -EINVAL, "inputs",
					"an input has no name or size, or is absent with values");
	if (o->lora_count > ACCEL_LORAS_MAX)
		return bad_opts(error, -E2BIG, "lora_count", "more adapters than 16");
	for (i = 0; i < o->lora_count; i++)
		if (!o->loras || o->loras[i].size != sizeof(*o->loras) || !o->loras[i].path ||
		    !isfinite(o->loras[i].scale))
			return bad_opts(error, -EINVAL, "loras",
					"an adapter has no path, no finite scale or no size");
	return 0;
}

/* All that is said is said of inputs that there are. */
static int check_inputs(struct import *im)
{
	const struct accel_model_input *in;
	const struct name *n;
	uint32_t i;

	for (i = 0; i < im->input_count; i++) {
		in = &im->inputs[i];
		n = im_name(im, (struct slice) { (const uint8_t *)in->name, strlen(in->name) });
		if (!n || !n->text || !n->input)
			return im_fail(im, -EINVAL, "opts.inputs: no input is called %.100s",
				       in->name);
	}
	return 0;
}

static int open_family(struct import *im, const char *path, const struct accel_model_opts *o)
{
	static const struct family_form whole = FAMILY_FORM_INIT;
	int ret = family_open(path, &im->model->family, &im->error);

	if (!ret)
		ret = adapters_open(im->model->family, o->loras, o->lora_count, &im->error);
	return ret ? ret : family_build(im, im->model->family, &whole);
}

int accel_model_open_opts(const char *path, const struct accel_model_opts *opts,
			  struct accel_error *error, struct accel_model **out)
{
	FP_MODE_SCOPE();
	struct accel_model_opts o;
	struct accel_model *model;
	struct mapping *map;
	struct import *im;
	int ret = path && out ? take_opts(opts, &o, error) : -EINVAL;

	if (ret)
		return ret;
	im = import_create(path);
	if (!im)
		return -ENOMEM;
	im->operators = o.operators;
	im->inputs = o.inputs;
	im->input_count = o.input_count;
	model = im->model;
	ret = accel_graph_create(&model->graph);
	if (!ret && family_is(path)) {
		ret = open_family(im, path, &o);
	} else if (!ret && o.lora_count) {
		ret = im_fail(im, -EOPNOTSUPP, "adapters are for decoders of folders and GGUF files");
	} else if (!ret) {
		ret = map_file(im, NULL, &map);
		if (!ret)
			ret = read_model(im, (struct slice) { map->data, map->bytes });
	}
	if (!ret)
		ret = check_inputs(im);
	ret = import_end(im, ret, error);
	if (ret)
		accel_model_close(model);
	else
		*out = model;
	return ret;
}

int accel_model_open(const char *path, struct accel_error *error, struct accel_model **out)
{
	return accel_model_open_opts(path, NULL, error, out);
}

int accel_model_tensor(const char *path, struct accel_error *error, struct accel_value *value,
		       void **data)
{
	bool good = path && value && data && value->size >= sizeof(*value);
	struct import *im = good ? import_create(path) : NULL;
	struct accel_model *model;
	struct tensor t = { 0 };
	struct mapping *map;
	char *copy = NULL;
	int ret;

	if (!im)
		return good ? -ENOMEM : -EINVAL;
	model = im->model;
	ret = map_file(im, NULL, &map);
	if (!ret)
		ret = tensor_read(im, (struct slice) { map->data, map->bytes }, &t);
	if (!ret) {
		copy = malloc(t.bytes + t.name.n + 1);
		if (!copy)
			ret = im_fail(im, -ENOMEM, "out of memory");
	}
	if (copy) {
		if (t.bytes)
			memcpy(copy, t.data, t.bytes);
		if (t.name.n)
			memcpy(copy + t.bytes, t.name.p, t.name.n);
		copy[t.bytes + t.name.n] = 0;
		value->type = t.type;
		value->rank = t.rank;
		value->flags = 0;
		memcpy(value->dims, t.dims, sizeof(value->dims));
		value->name = copy + t.bytes;
		*data = copy;
	}
	free(t.own);
	ret = import_end(im, ret, error);
	free(model);
	return ret;
}

void accel_model_close(struct accel_model *model)
{
	uint32_t i;

	if (!model)
		return;
	for (i = 0; i < model->op_count; i++)
		free(model->ops[i].name);
	free(model->ops);
	for (i = 0; i < model->result_count; i++) {
		free(model->results[i].name);
		free(model->results[i].node);
		free(model->results[i].op);
	}
	free(model->results);
	accel_graph_destroy(model->graph);
	family_close(model->family);
	free(model);
}

struct accel_graph *accel_model_graph(struct accel_model *model)
{
	return model ? model->graph : NULL;
}

int accel_model_get_info(struct accel_model *model, struct accel_model_info *info)
{
	uint32_t size = model && info ? info->size : 0;

	if (size < sizeof(*info))
		return -EINVAL;
	memset(info, 0, size);
	*info = model->info;
	info->size = size;
	return 0;
}

const char *accel_model_get_op(struct accel_model *model, uint32_t index, uint32_t *count)
{
	if (!model || !count || index >= model->op_count)
		return NULL;
	*count = model->ops[index].count;
	return model->ops[index].name;
}

int accel_model_get_result(struct accel_model *model, uint32_t index,
			   struct accel_model_result *result)
{
	const struct result *r;

	if (!model || !result || result->size < sizeof(*result))
		return -EINVAL;
	if (index >= model->result_count)
		return -ENOENT;
	r = &model->results[index];
	result->value = r->value;
	result->name = r->name;
	result->node = r->node;
	result->op = r->op;
	return 0;
}

int accel_model_has_op(const char *domain, const char *name)
{
	const struct slice in = { (const uint8_t *)domain, domain ? strlen(domain) : 0 };

	return name && find_op((struct slice) { (const uint8_t *)name, strlen(name) }, in);
}
