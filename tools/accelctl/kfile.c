// SPDX-License-Identifier: MIT
/*
 * Small files of the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfile.h"

static int read_all(int fd, char **text)
{
	size_t len = 0, cap = 4096;
	char *buf, *grown;
	ssize_t got;

	buf = malloc(cap);
	if (!buf)
		return -ENOMEM;
	while ((got = read(fd, buf + len, cap - len - 1)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			got = -errno;
			free(buf);
			return got ? (int)got : -EIO;
		}
		len += (size_t)got;
		if (len + 1 < cap)
			continue;
		cap *= 2;
		grown = cap <= KFILE_MAX ? realloc(buf, cap) : NULL;
		if (!grown) {
			free(buf);
			return cap <= KFILE_MAX ? -ENOMEM : -EFBIG;
		}
		buf = grown;
	}
	buf[len] = 0;
	if (memchr(buf, 0, len)) {
		free(buf);
		return -EBADMSG;
	}
	*text = buf;
	return 0;
}

int kfile_read(const char *path, char **text)
{
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		ret = -errno;
		return ret ? ret : -EIO;
	}
	ret = read_all(fd, text);
	close(fd);
	return ret;
}

static int join(char path[PATH_MAX], const char *dir, const char *name)
{
	int len = snprintf(path, PATH_MAX, "%s/%s", dir, name);

	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int kfile_line(const char *dir, const char *name, char *line, size_t size)
{
	char path[PATH_MAX], *text;
	size_t len;
	int ret;

	ret = join(path, dir, name);
	if (!ret)
		ret = kfile_read(path, &text);
	if (ret)
		return ret;
	len = strcspn(text, "\n");
	if (len < size) {
		memcpy(line, text, len);
		line[len] = 0;
		text_clean(line);
	} else {
		ret = -ENAMETOOLONG;
	}
	free(text);
	return ret;
}

int kfile_number(const char *dir, const char *name, int64_t *value)
{
	char line[64];
	const char *end;
	bool negative;
	uint64_t n;
	int ret;

	ret = kfile_line(dir, name, line, sizeof(line));
	if (ret)
		return ret == -ENAMETOOLONG ? -EBADMSG : ret;
	negative = *line == '-';
	if (!number_parse(line + negative, &n, &end) || *end || n > INT64_MAX)
		return -EBADMSG;
	*value = negative ? -(int64_t)n : (int64_t)n;
	return 0;
}

int kfile_write(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	ssize_t put;
	int fd, ret;

	ret = join(path, dir, name);
	if (ret)
		return ret;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	put = write(fd, text, strlen(text));
	ret = put < 0 ? -errno : (size_t)put == strlen(text) ? 0 : -EIO;
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

bool number_parse(const char *text, uint64_t *value, const char **end)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &stop, 10);
	*end = stop;
	return !errno;
}

/* Bytes of the UTF-8 sequence; 0 if it is none, overlong, a surrogate, a control character */
static unsigned int sequence(const unsigned char *p)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int len, i;
	uint32_t code;

	if (*p < 0x80)
		return *p >= 0x20 && *p != 0x7f;
	len = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc0 ? 2 : 0;
	if (!len || *p > 0xf4)
		return 0;
	code = *p & (0xff >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	/* The controls above ASCII are here too */
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
	    code < 0xa0)
		return 0;
	return len;
}

char *text_clean(char *text)
{
	unsigned char *p = (unsigned char *)text;
	unsigned int len;

	while (*p) {
		len = sequence(p);
		if (!len) {
			*p = '?';
			len = 1;
		}
		p += len;
	}
	return text;
}
