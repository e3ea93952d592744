// SPDX-License-Identifier: MIT
/*
 * The file of what was measured. Read as a whole, without a lock: it is only ever
 * replaced at once. Written under a lock, so that of two processes that add an
 * entry neither loses the other's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libaccel/core/crc64.h"
#include "tune.h"

/* Another process writes for milliseconds; one that hangs is not waited for */
#define LOCK_TRIES	400
#define LOCK_STEP_NS	5000000

/* "checksum hash " */
#define SUM_LEN		16u
#define JSON_AT		(2 * SUM_LEN + 2)

/**
 * tune_file_read - the whole file
 * @path: file
 * @text: out: to be given to free(), NULL without a file
 * @size: out: bytes
 *
 * Return: 0, also without a file; -EFBIG; errors of open() and read(); -ENOMEM.
 */
int tune_file_read(const char *path, char **text, size_t *size)
{
	struct stat st;
	ssize_t n = 0;
	size_t at = 0;
	int fd, ret = 0;

	*text = NULL;
	*size = 0;
	if (!*path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!S_ISREG(st.st_mode))
		ret = -EINVAL;
	else if (st.st_size > TUNE_MAX_BYTES)
		ret = -EFBIG;
	if (!ret && st.st_size) {
		*text = malloc((size_t)st.st_size);
		ret = *text ? 0 : -ENOMEM;
	}
	while (!ret && at < (size_t)st.st_size) {
		n = read(fd, *text + at, (size_t)st.st_size - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			ret = -errno;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(fd);
	if (ret) {
		free(*text);
		*text = NULL;
	}
	*size = ret ? 0 : at;
	return ret;
}

static bool get_hex(const char *p, uint64_t *out)
{
	uint32_t i;

	*out = 0;
	for (i = 0; i < SUM_LEN; i++) {
		if (p[i] >= '0' && p[i] <= '9')
			*out = *out << 4 | (uint64_t)(p[i] - '0');
		else if (p[i] >= 'a' && p[i] <= 'f')
			*out = *out << 4 | (uint64_t)(p[i] - 'a' + 10);
		else
			return false;
	}
	return p[SUM_LEN] == ' ';
}

/* Nothing of a line is looked at before its checksum is right. */
static void check_line(struct tune_line *line)
{
	struct crc64 c;
	uint64_t sum;

	line->json = NULL;
	line->hash = 0;
	if (line->size <= JSON_AT || !get_hex(line->text, &sum))
		return;
	crc64_begin(&c);
	crc64_add(&c, line->text + SUM_LEN + 1, line->size - SUM_LEN - 1);
	if (~c.value != sum || !get_hex(line->text + SUM_LEN + 1, &line->hash))
		return;
	line->json = line->text + JSON_AT;
	line->json_size = line->size - JSON_AT;
}

/**
 * tune_file_next - the next line
 * @text: file
 * @size: bytes of it
 * @at: where it starts; moves to the next. 0 at first
 * @line: out; before the first its number is 0
 *
 * Return: whether there is one.
 */
bool tune_file_next(const char *text, size_t size, size_t *at, struct tune_line *line)
{
	const char *end;

	if (*at >= size)
		return false;
	line->text = text + *at;
	end = memchr(line->text, '\n', size - *at);
	line->size = end ? (size_t)(end - line->text) : size - *at;
	line->number++;
	*at += line->size + 1;
	/* Without its newline it was cut short, and may be as a whole. */
	line->json = NULL;
	if (end)
		check_line(line);
	return true;
}

/**
 * tune_file_find - look an operation up
 * @path: file
 * @e: in: key; out: the rest. As it was if there is nothing
 *
 * Return: 0; -ENOENT nothing is known; errors of tune_file_read().
 */
int tune_file_find(const char *path, struct tune_entry *e)
{
	const uint64_t hash = tune_entry_hash(e);
	struct tune_line line = { 0 };
	struct tune_entry *found;
	size_t size, at = 0;
	char *text;
	int ret;

	ret = tune_file_read(path, &text, &size);
	if (ret)
		return ret;
	found = malloc(sizeof(*found));
	ret = found ? -ENOENT : -ENOMEM;
	/* Of two the later one is newer. */
	while (found && tune_file_next(text, size, &at, &line)) {
		if (!line.json || line.hash != hash ||
		    tune_entry_parse(line.json, line.json_size, found) ||
		    !tune_entry_same(found, e))
			continue;
		*e = *found;
		ret = 0;
	}
	free(found);
	free(text);
	return ret;
}

/* Returns a descriptor to be closed. */
static int lock(const char *path)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_NS };
	char *name;
	int fd, i, ret;

	if (asprintf(&name, "%s.lock", path) < 0)
		return -ENOMEM;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	ret = fd < 0 ? -errno : fd;
	free(name);
	if (fd < 0)
		return ret;
	for (i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return fd;
		if (errno != EWOULDBLOCK && errno != EINTR) {
			ret = -errno;
			close(fd);
			return ret;
		}
		nanosleep(&step, NULL);
	}
	close(fd);
	return -EBUSY;
}

static int replace(const char *path, const char *text, size_t size)
{
	size_t at = 0;
	ssize_t n;
	char *temp;
	int fd, ret = 0;

	if (asprintf(&temp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(temp);
		return ret;
	}
	while (!ret && at < size) {
		n = write(fd, text + at, size - at);
		if (n >= 0)
			at += (size_t)n;
		else if (errno != EINTR)
			ret = -errno;
	}
	/* Not synced: of what a crash leaves, the checksums tell what is whole. */
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(temp, path))
		ret = -errno;
	if (ret)
		unlink(temp);
	free(temp);
	return ret;
}

/* What stays of a file: the last lines, if there are too many. */
static size_t filter(const char *text, size_t size, tune_keep_fn *keep, void *user, char *out)
{
	struct tune_line line = { 0 };
	uint64_t kept = 0, skip;
	size_t at = 0, len = 0;

	while (tune_file_next(text, size, &at, &line)) {
		if (!keep(user, &line))
			continue;
		memcpy(out + len, line.text, line.size);
		len += line.size;
		out[len++] = '\n';
		kept++;
	}
	skip = kept < TUNE_MAX_ENTRIES ? 0 : kept - TUNE_MAX_ENTRIES + 1;
	for (at = 0; skip; skip--)
		at = (size_t)((char *)memchr(out + at, '\n', len - at) - out) + 1;
	memmove(out, out + at, len - at);
	return len - at;
}

/**
 * tune_file_edit - change the file
 * @path: file
 * @keep: asked for each line
 * @user: passed on
 * @add: line that comes last, with its newline, or NULL
 * @create: make the file and its directory
 *
 * Return: 0; without @create -ENOENT; -ENOTDIR there is no place for it;
 * -EBUSY another process holds the lock;
 * errors of reading, mkdir(), open(), write() and rename().
 */
int tune_file_edit(const char *path, tune_keep_fn *keep, void *user, const char *add,
		   bool create)
{
	size_t size = 0, extra = add ? strlen(add) : 0, len;
	char *text = NULL, *out = NULL;
	int fd, ret;

	if (!*path)
		return create ? -ENOTDIR : -ENOENT;
	ret = create ? file_make_dirs(path) : access(path, F_OK) ? -errno : 0;
	if (ret)
		return ret;
	fd = lock(path);
	if (fd < 0)
		return fd;
	ret = tune_file_read(path, &text, &size);
	/* What cannot be one is replaced. */
	if (ret == -EFBIG)
		ret = 0;
	/* The last line may lack its newline. */
	out = ret ? NULL : malloc(size + extra + 2);
	if (!ret && !out)
		ret = -ENOMEM;
	if (!ret) {
		len = filter(text, size, keep, user, out);
		if (add)
			memcpy(out + len, add, extra + 1);
		ret = replace(path, out, len + extra);
	}
	free(out);
	free(text);
	close(fd);
	return ret;
}

struct storing {
	const struct tune_entry *e;
	struct tune_entry *other;
	uint64_t hash;
};

/* Not what is corrupt, and not what the new entry replaces. */
static bool keep_others(void *user, const struct tune_line *line)
{
	const struct storing *s = user;

	return line->json &&
	       (line->hash != s->hash ||
		tune_entry_parse(line->json, line->json_size, s->other) ||
		!tune_entry_same(s->other, s->e));
}

/**
 * tune_file_store - remember an entry, in the place of an older one
 * @path: file; made if there is none
 * @e: entry
 *
 * Return: as tune_file_edit().
 */
int tune_file_store(const char *path, const struct tune_entry *e)
{
	struct storing s = { .e = e, .hash = tune_entry_hash(e) };
	char *line = tune_entry_line(e);
	int ret = -ENOMEM;

	s.other = malloc(sizeof(*s.other));
	if (line && s.other)
		ret = tune_file_edit(path, keep_others, &s, line, true);
	free(s.other);
	free(line);
	return ret;
}
