// SPDX-License-Identifier: MIT
/*
 * See newfile.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "newfile.h"

char *newfile_name(const char *path)
{
	static atomic_uint count;
	size_t n = strlen(path);
	char *part;

	while (n > 1 && path[n - 1] == '/')
		n--;
	return asprintf(&part, "%.*s.%d.%u", (int)n, path, (int)getpid(),
			atomic_fetch_add(&count, 1)) < 0 ? NULL : part;
}

int newfile_open(struct newfile *n, const char *path)
{
	struct stat old;
	int fd, ret;

	/* A device or a folder is not replaced. */
	*n = (struct newfile) { 0 };
	if (!stat(path, &old) && !S_ISREG(old.st_mode))
		return -EEXIST;
	n->path = strdup(path);
	/* Nobody else has a file of this name, or it is left alone. */
	do {
		free(n->part);
		n->part = n->path ? newfile_name(path) : NULL;
		fd = n->part ? open(n->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
		ret = fd >= 0 ? 0 : n->part ? -errno : -ENOMEM;
	} while (ret == -EEXIST);
	if (!ret) {
		n->file = fdopen(fd, "wb");
		if (!n->file) {
			ret = -errno;
			close(fd);
			unlink(n->part);
		}
	}
	if (ret) {
		free(n->part);
		free(n->path);
		*n = (struct newfile) { 0 };
	}
	return ret;
}

void newfile_write(struct newfile *n, const void *p, size_t bytes)
{
	if (n->error || !bytes)
		return;
	errno = 0;
	if (fwrite(p, 1, bytes, n->file) != bytes)
		n->error = errno ? -errno : -EIO;
	n->bytes += bytes;
}

void newfile_align(struct newfile *n, uint64_t align)
{
	static const char zeros[64];
	uint64_t rest = (align - n->bytes % align) % align, part;

	for (; rest; rest -= part) {
		part = rest < sizeof(zeros) ? rest : sizeof(zeros);
		newfile_write(n, zeros, part);
	}
}

int newfile_sync(struct newfile *n)
{
	if (!n->error && (fflush(n->file) || fsync(fileno(n->file))))
		n->error = -errno;
	return n->error;
}

int newfile_close(struct newfile *n, int ret)
{
	if (!n->file)
		return ret;
	/* All of it is on the disk before the name says so. */
	ret = ret ? ret : newfile_sync(n);
	if (fclose(n->file) && !ret)
		ret = -errno;
	if (!ret && rename(n->part, n->path))
		ret = -errno;
	if (ret)
		unlink(n->part);
	free(n->part);
	free(n->path);
	*n = (struct newfile) { 0 };
	return ret;
}
