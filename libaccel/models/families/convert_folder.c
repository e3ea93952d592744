// SPDX-License-Identifier: MIT
/*
 * Models are written as folders.
 */
#include <accel/embed.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libaccel/core/errno_text.h"
#include "convert.h"

static struct json_object *header(struct job *j, struct json_object *meta)
{
	struct json_object *doc = json_object_new_object(), *o, *list;
	uint64_t offset = 0;
	uint32_t i, k;

	json_object_object_add(doc, "__metadata__", meta);
	for (i = 0; i < j->t.count; i++) {
		const struct target *t = &j->t.list[i];

		o = json_object_new_object();
		json_object_object_add(o, "dtype",
				       json_object_new_string(safetensors_type(t->type)));
		list = json_object_new_array();
		for (k = 0; k < t->rank; k++)
			json_object_array_add(list, json_object_new_int64(t->dims[k]));
		json_object_object_add(o, "shape", list);
		list = json_object_new_array();
		json_object_array_add(list, json_object_new_int64((int64_t)offset));
		offset += t->bytes;
		json_object_array_add(list, json_object_new_int64((int64_t)offset));
		json_object_object_add(o, "data_offsets", list);
		json_object_object_add(doc, t->name, o);
	}
	return doc;
}

int job_safetensors(struct job *j, const char *path, struct json_object *meta)
{
	struct json_object *doc = header(j, meta);
	const char *text = doc ? json_object_to_json_string_ext(doc, 0) : NULL;
	const uint64_t n = text ? strlen(text) : 0, length = htole64((n + 7) / 8 * 8);
	int ret = text ? job_begin(j, path) : stored_fail(j->error, -ENOMEM, "out of memory");

	if (!ret) {
		newfile_write(&j->file, &length, sizeof(length));
		newfile_write(&j->file, text, n);
		newfile_write(&j->file, "        ", (8 - n % 8) % 8);
		j->align = 1;
		ret = job_end(j, path, job_tensors(j));
	}
	json_object_put(doc);
	return ret;
}

static int write_text(struct job *j, const char *path, const void *text, size_t n)
{
	int ret = job_begin(j, path);

	if (ret)
		return ret;
	newfile_write(&j->file, text, n);
	return job_end(j, path, 0);
}

/* What lies beside the weights, config.json first */
static const char *const beside[] = {
	"config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json",
	"preprocessor_config.json", "vocab.txt", "chat_template.jinja", "1_Pooling/config.json",
	"model.safetensors"
};

/* A text of the folder that is written, which may lie in another one in it */
static int write_in(struct job *j, const char *folder, const char *name, const void *text, size_t n)
{
	const char *slash = strchr(name, '/');
	char path[4200];

	if (slash) {
		snprintf(path, sizeof(path), "%.4000s/%.*s", folder, (int)(slash - name), name);
		if (mkdir(path, 0777) && errno != EEXIST)
			return stored_fail(j->error, -errno, "%.200s: cannot be made: %s", path,
					   errno_text(errno));
	}
	snprintf(path, sizeof(path), "%.4000s/%s", folder, name);
	return write_text(j, path, text, n);
}

/* A document; it is given up. NULL: there was no memory */
static int write_json(struct job *j, const char *folder, const char *name, struct json_object *doc)
{
	const char *text = doc ? json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PRETTY) :
			   NULL;
	int ret = text ? write_in(j, folder, name, text, strlen(text)) :
		  stored_fail(j->error, -ENOMEM, "out of memory");

	json_object_put(doc);
	return ret;
}

/* What metadata say */
static int write_said(struct job *j, const char *folder)
{
	uint32_t pooling = ACCEL_POOL_DEFAULT;
	struct json_object *doc;
	int ret = describe_json(j->m, &doc, j->error);

	if (!ret)
		ret = write_json(j, folder, "config.json", doc);
	if (!ret)
		ret = family_pooling(j->m, &pooling, j->error);
	if (!ret && pooling != ACCEL_POOL_DEFAULT)
		ret = write_json(j, folder, "1_Pooling/config.json",
				 family_pooling_json(pooling, j->m->shape.hidden));
	return ret;
}

static int write_beside(struct job *j, const char *folder)
{
	struct mapping *map;
	char from[4200];
	size_t i;
	int ret = 0;

	if (j->m->config.gguf)
		return write_said(j, folder);
	for (i = 0; i + 1 < ARRAY_SIZE(beside) && !ret; i++) {
		snprintf(from, sizeof(from), "%.4000s/%s", j->m->path, beside[i]);
		ret = mapping_open(from, NULL, &map);
		if (!ret) {
			ret = write_in(j, folder, beside[i], map->data, map->bytes);
			mapping_unref(map);
		} else {
			ret = ret == -ENOENT || ret == -ENOTDIR ? 0 :
			      stored_fail(j->error, ret, "%.200s: %s", from, errno_text(-ret));
		}
	}
	return ret;
}

/* All of a folder or nothing: it gets its name when everything is in it. */
int job_folder(struct job *j)
{
	struct json_object *meta = json_object_new_object();
	char *part = newfile_name(j->out), path[4200];
	size_t i;
	int ret;

	ret = part ? 0 : -ENOMEM;
	if (!ret && mkdir(part, 0777))
		ret = -errno;
	if (ret) {
		free(part);
		json_object_put(meta);
		return stored_fail(j->error, ret, "%.200s: cannot be made: %s", j->out,
				   errno_text(-ret));
	}
	snprintf(path, sizeof(path), "%.4000s/model.safetensors", part);
	json_object_object_add(meta, "format", json_object_new_string("pt"));
	ret = job_safetensors(j, path, meta);
	if (!ret)
		ret = write_beside(j, part);
	if (!ret && rename(part, j->out))
		ret = stored_fail(j->error, errno == ENOTEMPTY ? -EEXIST : -errno,
				  "%.200s: %s", j->out, errno == ENOTEMPTY ?
				  "a folder with something in it" : errno_text(errno));
	for (i = 0; i < ARRAY_SIZE(beside) && ret; i++) {
		snprintf(path, sizeof(path), "%.4000s/%s", part, beside[i]);
		unlink(path);
	}
	if (ret) {
		snprintf(path, sizeof(path), "%.4000s/1_Pooling", part);
		rmdir(path);
		rmdir(part);
	}
	free(part);
	return ret;
}
