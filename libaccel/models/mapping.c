// SPDX-License-Identifier: MIT
/*
 * See mapping.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapping.h"

struct mapping *mapping_ref(struct mapping *map)
{
	atomic_fetch_add_explicit(&map->refs, 1, memory_order_relaxed);
	return map;
}

void mapping_unref(void *arg)
{
	struct mapping *map = arg;

	if (!map || atomic_fetch_sub_explicit(&map->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (map->bytes)
		munmap((void *)(uintptr_t)map->data, map->bytes);
	free(map->name);
	free(map);
}

bool mapping_is(const struct mapping *map, const char *path)
{
	struct stat st;

	return !stat(path, &st) && st.st_dev == map->dev && st.st_ino == map->ino;
}

int mapping_constant(struct mapping *map, struct accel_graph *graph, struct accel_value *v,
		     const void *data, uint32_t *value)
{
	int ret;

	v->flags = ACCEL_VALUE_MAPPED;
	ret = accel_graph_constant(graph, v, data, mapping_unref, mapping_ref(map), value);
	if (ret)
		mapping_unref(map);
	else
		accel_graph_constant_file(graph, *value, &map->stamp,
					  (uint64_t)((const uint8_t *)data - map->data));
	return ret;
}

/*
 * A path that goes nowhere but down, opened folder by folder so that no symbolic link
 * leads out.
 */
static int open_below(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	char *copy = strdup(name), *part, *save = NULL, *next;
	int dir = -1, fd, ret = -ENOMEM;

	if (!folder || !copy)
		goto out;
	ret = -EPERM;
	if (!*name || *name == '/' || strchr(name, '\\'))
		goto out;
	dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		ret = -errno;
		goto out;
	}
	for (part = strtok_r(copy, "/", &save); part; part = next) {
		next = strtok_r(NULL, "/", &save);
		ret = -EPERM;
		if (!strcmp(part, ".."))
			goto out;
		fd = openat(dir, part, O_NOFOLLOW | O_CLOEXEC | (next ? O_PATH | O_DIRECTORY :
								O_RDONLY | O_NONBLOCK));
		if (fd < 0) {
			ret = errno == ELOOP ? -EPERM : -errno;
			goto out;
		}
		close(dir);
		dir = fd;
	}
	ret = dir;
	dir = -1;
out:
	if (dir >= 0)
		close(dir);
	free(folder);
	free(copy);
	return ret;
}

int mapping_open(const char *path, const char *below, struct mapping **out)
{
	/* Of a pipe it is known, and not waited for, that it is no file. */
	int fd = below ? open_below(path, below) : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct mapping *map;
	struct stat st;
	int ret = 0;

	if (fd < 0)
		return below ? fd : -errno;
	map = calloc(1, sizeof(*map));
	if (!map)
		ret = -ENOMEM;
	else if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		ret = -EBADMSG;
	if (!ret && below) {
		map->name = strdup(below);
		if (!map->name)
			ret = -ENOMEM;
	}
	if (!ret && st.st_size) {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED) {
			ret = -errno;
		} else {
			map->data = p;
			map->bytes = (uint64_t)st.st_size;
			accel_file_stamp_read(fd, &map->stamp);
		}
	}
	close(fd);
	if (ret) {
		if (map)
			free(map->name);
		free(map);
		return ret;
	}
	map->dev = st.st_dev;
	map->ino = st.st_ino;
	atomic_init(&map->refs, 1);
	*out = map;
	return 0;
}
