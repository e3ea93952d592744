// SPDX-License-Identifier: MIT
/*
 * Files: the model, what it is if it is none, and data outside of it, which has to be in the
 * model's folder.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "onnx.h"

/**
 * map_file - map the model, or a file beside it
 * @im: import
 * @name: as the model calls it, NULL: the model itself
 * @out: out: borrowed
 *
 * Return: 0, or the error that @im has.
 */
int map_file(struct import *im, const char *name, struct mapping **out)
{
	const char *shown = name ? name : im->path;
	struct mapping *map;
	int ret;

	for (map = im->maps; map; map = map->next)
		if (name && map->name && !strcmp(map->name, name)) {
			*out = map;
			return 0;
		}
	ret = mapping_open(im->path, name, &map);
	if (ret == -EPERM && name)
		return im_fail(im, ret, "%.200s: not in the folder of the model", shown);
	if (ret)
		return im_fail(im, ret, ret == -EBADMSG ? "%.200s: not a file" :
			       "%.200s: cannot be opened", shown);
	map->next = im->maps;
	im->maps = map;
	im->model->info.file_bytes += map->bytes;
	*out = map;
	return 0;
}

#define BEGINS(at, begin, kind)	{ begin, sizeof(begin) - 1, at, kind }

/* What a file is that begins like this, NULL: that is not known */
static const char *kind_of(struct slice file)
{
	static const struct {
		const char *begin;
		size_t n, at;
		const char *kind;
	} kinds[] = {
		BEGINS(0, "version https://git-lfs", "a pointer of git-lfs to the model"),
		BEGINS(0, "PK\3\4", "a ZIP archive"), BEGINS(0, "\x1f\x8b", "compressed by gzip"),
		BEGINS(0, "GGUF", "GGUF"), BEGINS(4, "ORTM", "of ONNX Runtime's own format"),
		BEGINS(4, "TFL3", "of TensorFlow Lite"), BEGINS(0, "\x89HDF", "HDF5"),
		BEGINS(5, "\0\0\0{\"", "safetensors"), BEGINS(0, "\177ELF", "a program"),
		BEGINS(0, "<", "HTML or XML"), BEGINS(0, "{", "JSON"),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (file.n >= kinds[i].at + kinds[i].n &&
		    !memcmp(file.p + kinds[i].at, kinds[i].begin, kinds[i].n))
			return kinds[i].kind;
	for (i = 0; i < file.n && i < 64; i++)
		if ((file.p[i] < ' ' && file.p[i] != '\t' && file.p[i] != '\n' &&
		     file.p[i] != '\r') || file.p[i] == 127)
			return NULL;
	return "text";
}

/* The name of a field of a model that is no number, NULL: it has none of that number */
static const char *field_name(uint64_t id)
{
	static const char *const names[] = {
		[2] = "producer_name", [3] = "producer_version", [4] = "domain",
		[6] = "doc_string", [7] = "graph", [8] = "opset_import",
		[14] = "metadata_props", [20] = "training_info", [25] = "functions",
	};

	return id < ARRAY_SIZE(names) ? names[id] : NULL;
}

/**
 * no_model - tell that a file is no model, and what it is instead
 * @im: import
 * @file: all of it
 *
 * Return: the error that @im has.
 */
int no_model(struct import *im, struct slice file)
{
	const char *kind = kind_of(file), *name;
	struct slice s = file, rest;
	uint64_t key, len;
	struct field f;
	int ret;

	if (!file.n)
		return im_fail(im, -EBADMSG, "%.200s: not an ONNX model, the file is empty",
			       im->path);
	/* One that was cut off begins with fields of a model, the last of which goes on. */
	do {
		rest = s;
		ret = wire_next(&s, &f);
	} while (ret > 0 && (f.has_bytes ? !!field_name(f.id) : f.id == 1 || f.id == 5));
	name = ret < 0 && rest.n < file.n && wire_varint(&rest, &key) && (key & 7) == 2 ?
	       field_name(key >> 3) : NULL;
	if (name && wire_varint(&rest, &len) && len > rest.n && len < UINT64_MAX / 2)
		return im_fail(im, -EBADMSG,
			       "%.200s: ends within its field %s, at byte %zu of %" PRIu64,
			       im->path, name, file.n, file.n - rest.n + len);
	if (!ret)
		return im_fail(im, -EBADMSG, "%.200s: not an ONNX model, it has no graph",
			       im->path);
	return im_fail(im, -EBADMSG, "%.200s: not an ONNX model%s%s", im->path,
		       kind ? ", it is " : "", kind ? kind : "");
}

int find_graph(struct import *im, struct slice model, struct slice *graph)
{
	const char *twice;
	int ret = wire_graph(model, graph, &twice);

	if (ret)
		return im_fail(im, ret, "%.200s: %s comes in several pieces", im->path, twice);
	return graph->n ? 0 : no_model(im, model);
}
