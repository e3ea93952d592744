// SPDX-License-Identifier: MIT
/*
 * Files: the model, and data outside of it, which has to be in the model's folder.
 */
#include <errno.h>
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
