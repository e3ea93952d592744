// SPDX-License-Identifier: MIT
/*
 * Keeps forms for later starts: each in its own file in a directory of the user, named by the
 * digest of its key, chip, driver and kernel level. Files are created under another name and
 * renamed, so processes need no lock; rejected files are created again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store.h"

/* Smaller forms take less time to pack than to read. */
#define KEPT_MIN	65536u

/* Size of a file name, including the suffix of a temporary one */
#define NAME_MAX_KEPT	64

enum { DIR_UNKNOWN = -1, DIR_NONE = -2 };

/**
 * struct kept - a file of the directory
 * @name: its name
 * @bytes: its size
 * @used: time of its last use
 */
struct kept {
	char name[NAME_MAX_KEPT];
	uint64_t bytes;
	struct timespec used;
};

/* Can only the user write it? */
static bool is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 0022);
}

static void dir_open(struct accel_weights *w)
{
	const char *path = w->ctx->weights_dir;
	struct stat st;
	char *made;
	int ret = 0;

	w->dir = DIR_NONE;
	if (!path || !*path || asprintf(&made, "%s/", path) < 0)
		return;
	ret = file_make_dirs(made);
	free(made);
	w->dir = ret ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dir < 0) {
		w->dir = DIR_NONE;
		device_log(w->ctx->dev, ACCEL_LOG_INFO, "no weights are kept in %s: %s", path,
			   errno_text(ret ? -ret : errno));
	} else if (fstat(w->dir, &st) || !is_own(&st)) {
		device_log(w->ctx->dev, ACCEL_LOG_WARN,
			   "no weights are kept in %s: others than this user may write there",
			   path);
		close(w->dir);
		w->dir = DIR_NONE;
	}
}

/* Is there a directory? */
bool store_dir_is(struct accel_weights *w)
{
	if (w->dir == DIR_UNKNOWN)
		dir_open(w);
	return w->dir >= 0;
}

/* Open a file of the directory that only the user can write; the caller closes it. */
int store_dir_read(const struct accel_weights *w, const char *name)
{
	struct stat st;
	int fd = openat(w->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && is_own(&st))
		return fd;
	close(fd);
	return -EPERM;
}

/**
 * store_dir_find - look for a form in the directory
 * @w: weights
 * @key: key of the form
 *
 * Return: valid form, or NULL.
 */
struct store_form *store_dir_find(struct accel_weights *w, const struct store_key *key)
{
	static const struct timespec used[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };
	struct store_form *f = NULL;
	char name[STORE_NAME];
	struct stat st;
	int fd;

	if (key->bytes < KEPT_MIN || !store_dir_is(w))
		return NULL;
	store_form_name(w, key, name);
	fd = store_dir_read(w, name);
	if (fd >= 0) {
		if (!fstat(fd, &st)) {
			/*
			 * At most once a day, because it changes the file's stamp, so that it
			 * is read again.
			 */
			if (time(NULL) - st.st_atim.tv_sec > 24 * 60 * 60)
				futimens(fd, used);
			f = store_form_map(w, fd, (uint64_t)st.st_size, key);
		}
		close(fd);
	} else if (fd != -EPERM) {
		return NULL;
	}
	if (f) {
		if (!store_whole(w, f))
			return NULL;
		w->dir_bytes += key->bytes;
		return f;
	}
	w->info.refused++;
	device_log(w->ctx->dev, ACCEL_LOG_WARN, "%s in %s is refused, and made anew", name,
		   w->ctx->weights_dir);
	return NULL;
}

/**
 * store_dir_write - create or replace a file of the directory
 * @w: weights
 * @name: its name
 * @fill: writes it
 * @user: for @fill
 *
 * Return: 0, or the error, which was logged.
 */
int store_dir_write(struct accel_weights *w, const char *name, int (*fill)(void *user, int fd),
		    void *user)
{
	static atomic_uint count;
	char temp[NAME_MAX_KEPT];
	int fd, ret;

	/* A killed process may have had the same PID, such as the first process of a container. */
	do {
		snprintf(temp, sizeof(temp), "%s.%d.%u", name, (int)getpid(),
			 atomic_fetch_add(&count, 1));
		fd = openat(w->dir, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	} while (fd < 0 && errno == EEXIST);
	ret = fd < 0 ? -errno : fill(user, fd);
	if (fd >= 0)
		close(fd);
	if (!ret && renameat(w->dir, temp, w->dir, name))
		ret = -errno;
	if (!ret)
		return 0;
	if (fd >= 0)
		unlinkat(w->dir, temp, 0);
	device_log(w->ctx->dev, ACCEL_LOG_INFO, "weights cannot be kept in %s: %s",
		   w->ctx->weights_dir, errno_text(-ret));
	return ret;
}

struct to_keep {
	struct accel_weights *w;
	const struct store_form *f;
};

static int fill_form(void *user, int fd)
{
	const struct to_keep *keep = user;

	return store_form_write(keep->w, keep->f, fd);
}

/**
 * store_dir_keep - write a new form to the directory
 * @w: weights
 * @f: form, in memory
 */
void store_dir_keep(struct accel_weights *w, const struct store_form *f)
{
	char name[STORE_NAME];

	/* Do not replace forms that are in use: otherwise each start would write as much again. */
	if (w->dir < 0 || f->key.bytes < KEPT_MIN || w->dir_bytes >= w->ctx->weights_bytes ||
	    f->key.bytes > w->ctx->weights_bytes - w->dir_bytes)
		return;
	store_form_name(w, &f->key, name);
	if (!store_dir_write(w, name, fill_form, &(struct to_keep) { w, f }))
		w->dir_bytes += f->key.bytes;
}

/* A form (digest, ".w"), or a temporary file that a killed process left behind */
static bool is_kept(const char *name)
{
	return strlen(name) < NAME_MAX_KEPT &&
	       ((strspn(name, "0123456789abcdef") == STORE_NAME - 4 &&
		 !strncmp(name + STORE_NAME - 4, ".w", 2)) ||
		!strncmp(name, STORE_KNOWN ".", sizeof(STORE_KNOWN)));
}

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->used;
	const struct timespec *y = &((const struct kept *)b)->used;

	return x->tv_sec != y->tv_sec ? (x->tv_sec > y->tv_sec) - (x->tv_sec < y->tv_sec) :
	       (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* List all files of the directory; the list is for free(). */
static size_t list_kept(DIR *dir, struct kept **list, uint64_t *bytes)
{
	struct kept *grown;
	struct dirent *d;
	struct stat st;
	size_t n = 0;

	while ((d = readdir(dir))) {
		if (!is_kept(d->d_name) ||
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		grown = n & (n - 1) ? *list : realloc(*list, (2 * n + 1) * sizeof(*grown));
		if (!grown)
			break;
		*list = grown;
		memcpy(grown[n].name, d->d_name, strlen(d->d_name) + 1);
		grown[n].bytes = (uint64_t)st.st_size;
		grown[n++].used = st.st_atim;
		*bytes += (uint64_t)st.st_size;
	}
	return n;
}

/* Delete the least recently used files until the others are within the limit. */
static void dir_trim(const struct accel_weights *w)
{
	struct kept *list = NULL;
	uint64_t bytes = 0;
	DIR *dir = NULL;
	size_t i, n;
	int fd = openat(w->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		dir = fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	n = list_kept(dir, &list, &bytes);
	if (n)
		qsort(list, n, sizeof(*list), by_use);
	for (i = 0; i < n && bytes > w->ctx->weights_bytes; i++)
		if (!unlinkat(w->dir, list[i].name, 0))
			bytes -= list[i].bytes;
	closedir(dir);
	free(list);
}

/**
 * store_dir_close - close the directory, and trim it to its limit
 * @w: weights
 */
void store_dir_close(struct accel_weights *w)
{
	if (w->dir < 0)
		return;
	store_known_save(w);
	if (w->dir_bytes)
		dir_trim(w);
	close(w->dir);
}
