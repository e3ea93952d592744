// SPDX-License-Identifier: MIT
/*
 * Files that are written whole or not at all.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "internal.h"

int file_write(int fd, const void *data, uint64_t bytes, uint64_t offset)
{
	const uint8_t *p = data;
	ssize_t n;

	while (bytes) {
		n = pwrite(fd, p, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		bytes -= (uint64_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int file_read(int fd, void *data, uint64_t bytes, uint64_t offset)
{
	uint8_t *p = data;
	ssize_t n;

	while (bytes) {
		n = pread(fd, p, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EBADMSG;
		p += n;
		bytes -= (uint64_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int file_cache_path(const char *name, char **path)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	/* Paths that are not absolute are to be ignored, says the XDG specification. */
	if (cache && *cache == '/')
		n = asprintf(path, "%s/accel/%s", cache, name);
	else if (home && *home == '/')
		n = asprintf(path, "%s/.cache/accel/%s", home, name);
	else
		n = asprintf(path, "%s", "");
	if (n >= 0)
		return 0;
	*path = NULL;
	return -ENOMEM;
}

int file_make_dirs(const char *path)
{
	char *dir = strdup(path), *p;
	int ret = 0;

	if (!dir)
		return -ENOMEM;
	for (p = strchr(dir + 1, '/'); p && !ret; p = strchr(p + 1, '/')) {
		*p = 0;
		if (mkdir(dir, 0700) && errno != EEXIST)
			ret = -errno;
		*p = '/';
	}
	free(dir);
	return ret;
}

/* A new file beside @path, with the mode that the process gives its files. */
static int open_beside(const char *path, char **temp)
{
	static atomic_uint count;
	struct stat old;
	int fd, ret;

	/* A device or a folder is not replaced. */
	*temp = NULL;
	if (!stat(path, &old) && !S_ISREG(old.st_mode))
		return -EEXIST;
	do {
		if (asprintf(temp, "%s.%d.%u", path, (int)getpid(),
			     atomic_fetch_add(&count, 1)) < 0) {
			*temp = NULL;
			return -ENOMEM;
		}
		fd = open(*temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			return fd;
		ret = -errno;
		free(*temp);
		*temp = NULL;
	} while (ret == -EEXIST);
	return ret;
}

int file_replace(struct accel_ctx *ctx, const char *path, int (*fill)(void *user, int fd),
		 void *user)
{
	char *temp;
	int fd, ret;

	fd = open_beside(path, &temp);
	if (fd < 0 || !temp)
		return ctx_fail(ctx, fd, "path", "no file can be made beside %s", path);
	ret = fill(user, fd);
	if (!ret && (fsync(fd) || rename(temp, path)))
		ret = -errno;
	if (ret) {
		unlink(temp);
		ctx_fail(ctx, ret, "path", "%s cannot be written: %s", path,
			 errno_text(-ret));
	}
	close(fd);
	free(temp);
	return ret;
}
