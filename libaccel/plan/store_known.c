// SPDX-License-Identifier: MIT
/*
 * Digests of what lies in files, kept for later starts in a file of the weights directory: a file
 * that has not changed since is not read again only to know what it has.
 *
 * A file is recognised by its mount, inode, size and times. Times are too coarse to tell a change
 * right after another, and are those of the begin of a write, so nothing is remembered of a file
 * that changed a moment ago, or that somebody may write just now. Nor is anything taken from before
 * the system was booted: if that was a crash, data may be lost although size and times are right.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "store.h"

#define KNOWN_MAGIC	0x534d5553454c4946ull
#define KNOWN_VERSION	1u
/* Entries of the file at most: the newest */
#define KNOWN_MAX	8192u
/* Smaller ones are read in less time than they are looked for. */
#define KNOWN_MIN	4096u
/* Seconds after which another change has another time, on any file system */
#define SETTLED		2
/* STATX_MNT_ID_UNIQUE, since Linux 6.8: no other mount ever has the number. */
#define MOUNT_UNIQUE	0x4000u

/**
 * struct known_header - how the file begins; entries follow
 * @magic: KNOWN_MAGIC, also the order of bytes
 * @version: KNOWN_VERSION
 * @count: entries
 * @boot: digest of the system's boot ID
 * @sum: digest of the entries
 */
struct known_header {
	uint64_t magic;
	uint32_t version;
	uint32_t count;
	struct store_digest boot;
	struct store_digest sum;
};

/* What a file is recognised by */
struct file_id {
	uint64_t mount;
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	struct statx_timestamp modified;
	struct statx_timestamp changed;
};

/*
 * Do inode and times say which file it is, and whether it changed? Others make them up, or, as
 * tmpfs, have no time of what is written through a shared mapping.
 */
static bool is_kept_well(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	switch (fs.f_type) {
	case BTRFS_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/*
 * Opens the file of @fd once more, with a lease: that is granted only to its owner, and only while
 * nobody has the file open for writing, or mapped so. A lease and its signal belong to the open
 * file description, so those of @fd are left alone. Who opens the file for writing waits until the
 * lease is given up, and this process receives the signal: SIGURG, since SIGIO would terminate it.
 */
static int lease(int fd)
{
	struct stat given, opened;
	char path[40];
	int own;

	/* The table of this thread: it may have one of its own. */
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (own < 0)
		return -1;
	if (!fstat(fd, &given) && !fstat(own, &opened) && given.st_dev == opened.st_dev &&
	    given.st_ino == opened.st_ino && !fcntl(own, F_SETSIG, SIGURG) &&
	    !fcntl(own, F_SETLEASE, F_RDLCK))
		return own;
	close(own);
	return -1;
}

/**
 * store_stamp - accel_file_stamp_read()
 * @fd: file
 *
 * Return: stamp, zeros if it has none.
 */
struct accel_file_stamp store_stamp(int fd)
{
	const uint32_t wanted = STATX_BASIC_STATS | MOUNT_UNIQUE;
	struct accel_file_stamp stamp = { { 0 } };
	struct store_digest d = { { 0 } };
	struct file_id id;
	struct timespec now;
	struct statx st;
	int64_t last;
	int own, ret;

	if (!is_kept_well(fd))
		return stamp;
	own = lease(fd);
	if (own < 0)
		return stamp;
	/* A write after the lease is given up sets a time that is too recent for a stamp now. */
	ret = clock_gettime(CLOCK_REALTIME, &now) || statx(own, "", AT_EMPTY_PATH, wanted, &st) ||
	      (st.stx_mask & wanted) != wanted || !S_ISREG(st.stx_mode);
	/* Closing is not enough: a process that was forked meanwhile has it open. */
	if (fcntl(own, F_SETLEASE, F_UNLCK))
		ret = -1;
	close(own);
	if (ret)
		return stamp;
	last = st.stx_mtime.tv_sec > st.stx_ctime.tv_sec ? st.stx_mtime.tv_sec :
							    st.stx_ctime.tv_sec;
	if (now.tv_sec - last <= SETTLED)
		return stamp;
	memset(&id, 0, sizeof(id));
	id.mount = st.stx_mnt_id;
	/* A mount of Btrfs may show several volumes, each with inodes of its own. */
	id.dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	id.ino = st.stx_ino;
	id.size = st.stx_size;
	id.modified = st.stx_mtime;
	id.changed = st.stx_ctime;
	d = store_sum(d, &id, sizeof(id));
	memcpy(&stamp, &d, sizeof(stamp));
	return stamp;
}

int accel_file_stamp_read(int fd, struct accel_file_stamp *stamp)
{
	struct stat st;

	if (!stamp)
		return -EINVAL;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*stamp = store_stamp(fd);
	return 0;
}

static bool is_none(const uint64_t v[2])
{
	return !v[0] && !v[1];
}

/* Zeros: the system does not say. */
static struct store_digest boot_digest(void)
{
	struct store_digest d = { { 0 } };
	char id[64];
	ssize_t n;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return d;
	n = read(fd, id, sizeof(id));
	close(fd);
	return n > 0 ? store_sum(d, id, (uint64_t)n) : d;
}

/* Entries of the file; *list is to be given to free(). */
static uint32_t read_known(const struct accel_weights *w, struct file_sum **list)
{
	const struct store_digest boot = boot_digest(), zero = { { 0 } };
	int fd = store_dir_read(w, STORE_KNOWN);
	struct known_header h;
	struct store_digest sum;
	uint64_t bytes;

	*list = NULL;
	if (fd < 0)
		return 0;
	if (file_read(fd, &h, sizeof(h), 0) || h.magic != KNOWN_MAGIC ||
	    h.version != KNOWN_VERSION || h.count > KNOWN_MAX || is_none(boot.v) ||
	    memcmp(&h.boot, &boot, sizeof(boot)) != 0)
		goto out;
	bytes = h.count * sizeof(**list);
	*list = malloc(bytes + 1);
	if (!*list)
		goto out;
	if (!file_read(fd, *list, bytes, sizeof(h))) {
		sum = store_sum(zero, *list, bytes);
		if (!memcmp(&sum, &h.sum, sizeof(sum))) {
			close(fd);
			return h.count;
		}
	}
	free(*list);
	*list = NULL;
out:
	close(fd);
	return 0;
}

static const struct file_sum *find(const struct file_sum *list, uint32_t count,
				   const struct accel_file_stamp *file, uint64_t offset,
				   uint64_t bytes)
{
	uint32_t i = count;

	while (i--)
		if (list[i].file.v[0] == file->v[0] && list[i].file.v[1] == file->v[1] &&
		    list[i].offset == offset && list[i].bytes == bytes)
			return &list[i];
	return NULL;
}

/* Without room for it, it is read again next time. */
static void learn(struct accel_weights *w, const struct file_sum *sum)
{
	const uint32_t cap = w->sum_cap ? 2 * w->sum_cap : 64;
	struct file_sum *grown;

	if (w->sum_count == w->sum_cap) {
		grown = w->sum_cap >= STORE_MAX ? NULL : realloc(w->sums, cap * sizeof(*grown));
		if (!grown)
			return;
		w->sums = grown;
		w->sum_cap = cap;
	}
	w->sums[w->sum_count++] = *sum;
}

/**
 * store_read - digest of data that may lie in a file
 * @w: weights, locked
 * @at: where; NULL or without a file: nowhere that is known
 * @data: it
 * @bytes: how many
 *
 * Return: digest, for which it was read unless it is known.
 */
struct store_digest store_read(struct accel_weights *w, const struct file_place *at,
			       const void *data, uint64_t bytes)
{
	const struct store_digest zero = { { 0 } };
	const struct file_sum *known;
	struct file_sum sum;

	if (!at || w->doubted || is_none(at->file.v) || bytes < KNOWN_MIN || !store_dir_is(w)) {
		w->info.read += bytes;
		return store_sum(zero, data, bytes);
	}
	if (!w->sums_read) {
		w->sum_count = read_known(w, &w->sums);
		w->sum_cap = w->sum_count;
		w->sum_old = w->sum_count;
		w->sums_read = true;
	}
	known = find(w->sums, w->sum_count, &at->file, at->offset, bytes);
	if (known) {
		w->recalled = true;
		return known->digest;
	}
	sum = (struct file_sum) { at->file, at->offset, bytes, store_sum(zero, data, bytes) };
	w->info.read += bytes;
	learn(w, &sum);
	return sum.digest;
}

struct known_list {
	const struct file_sum *list;
	uint32_t count;
};

static int fill_known(void *user, int fd)
{
	const struct known_list *k = user;
	const struct store_digest zero = { { 0 } };
	const uint64_t bytes = k->count * sizeof(*k->list);
	struct known_header h;
	int ret;

	memset(&h, 0, sizeof(h));
	h.magic = KNOWN_MAGIC;
	h.version = KNOWN_VERSION;
	h.count = k->count;
	h.boot = boot_digest();
	h.sum = store_sum(zero, k->list, bytes);
	ret = file_write(fd, &h, sizeof(h), 0);
	return ret ? ret : file_write(fd, k->list, bytes, sizeof(h));
}

/**
 * store_known_save - keep what was learnt, beside what other processes have learnt meanwhile
 * @w: weights, with a directory
 */
void store_known_save(struct accel_weights *w)
{
	const uint32_t fresh = w->sum_count - w->sum_old;
	struct file_sum *list, *grown;
	uint32_t i, count;

	if (!fresh)
		return;
	count = read_known(w, &list);
	grown = realloc(list, (count + fresh) * sizeof(*list));
	if (grown) {
		list = grown;
		for (i = w->sum_old; i < w->sum_count; i++) {
			const struct file_sum *s = &w->sums[i];

			if (!find(list, count, &s->file, s->offset, s->bytes))
				list[count++] = *s;
		}
		i = count > KNOWN_MAX ? count - KNOWN_MAX : 0;
		store_dir_write(w, STORE_KNOWN, fill_known,
				&(struct known_list) { list + i, count - i });
	}
	free(list);
}
