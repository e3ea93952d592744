// SPDX-License-Identifier: MIT
/*
 * Forms of weights in a file: a header that identifies the users, a table of keys, and the
 * forms at multiples of a page, as they are in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

/* Incremented when keys, forms or the conversion change. */
#define FILE_VERSION	3u
#define FILE_MAGIC	0x53544847494557a5ull
#define FILE_ALIGN	4096u

/**
 * struct file_header - header of a file; in native byte order
 * @magic: FILE_MAGIC, also checks the byte order
 * @version: FILE_VERSION
 * @key_size: of a key
 * @count: number of entries
 * @pad: 0
 * @profile: chip
 * @kernels: kernel level, which affects the last bits of computed forms
 * @driver: kernel driver, or "sw"
 * @sum: digest of the header with zeros here, and of the entries
 */
struct file_header {
	uint64_t magic;
	uint32_t version;
	uint32_t key_size;
	uint32_t count;
	uint32_t pad;
	char profile[32];
	char kernels[32];
	char driver[32];
	struct store_digest sum;
};

/**
 * struct file_entry - a form
 * @key: its key
 * @offset: its position
 * @digest: digest of its bytes
 */
struct file_entry {
	struct store_key key;
	uint64_t offset;
	struct store_digest digest;
};

static uint64_t align_up(uint64_t v)
{
	return (v + FILE_ALIGN - 1) / FILE_ALIGN * FILE_ALIGN;
}

static void make_header(const struct accel_weights *w, struct file_header *h)
{
	const struct accel_device_info *info = &w->ctx->dev->info;

	memset(h, 0, sizeof(*h));
	h->magic = FILE_MAGIC;
	h->version = FILE_VERSION;
	h->key_size = sizeof(struct store_key);
	snprintf(h->profile, sizeof(h->profile), "%s", info->profile);
	snprintf(h->kernels, sizeof(h->kernels), "%s", info->kernels);
	snprintf(h->driver, sizeof(h->driver), "%s", info->driver);
}

static struct store_digest sum_of(const struct file_header *h, const struct file_entry *e)
{
	struct file_header copy = *h;
	struct store_digest d = { { 0 } };

	memset(&copy.sum, 0, sizeof(copy.sum));
	d = store_sum(d, &copy, sizeof(copy));
	return store_sum(d, e, h->count * sizeof(*e));
}

/* The data of a form as the CPU sees them. */
static int form_bytes(const struct store_form *f, const void **bytes)
{
	if (f->mapped) {
		*bytes = f->mapped;
		return 0;
	}
	*bytes = f->bos[0]->ptr;
	return accel_bo_cpu_begin(f->bos[0], 0, f->key.bytes, ACCEL_CPU_READ);
}

/* Write forms at @base */
static int write_forms(struct accel_weights *w, const struct store_form *forms, uint32_t count,
		       int fd, uint64_t base, uint64_t *end)
{
	struct file_entry *entries;
	struct file_header h;
	const void *bytes;
	uint64_t offset;
	uint32_t i;
	int ret = 0;

	make_header(w, &h);
	h.count = count;
	entries = calloc(h.count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	offset = align_up(sizeof(h) + h.count * sizeof(*entries));
	for (i = 0; i < h.count && !ret; i++) {
		entries[i].key = forms[i].key;
		entries[i].offset = offset;
		ret = form_bytes(&forms[i], &bytes);
		if (ret)
			break;
		entries[i].digest = store_sum(entries[i].digest, bytes, entries[i].key.bytes);
		/*
		 * The mapped file was modified by someone else: do not write a valid digest for
		 * it.
		 */
		if (forms[i].mapped && memcmp(&entries[i].digest, &forms[i].digest,
					      sizeof(forms[i].digest)) != 0) {
			ret = ctx_fail(w->ctx, -EBADMSG, "path",
				       "a form of weights has changed in the file that it was loaded from");
			break;
		}
		ret = file_write(fd, bytes, entries[i].key.bytes, base + offset);
		offset = align_up(offset + entries[i].key.bytes);
	}
	/* Pad the last page, so that the whole file can be mapped. */
	if (!ret && ftruncate(fd, (off_t)(base + offset)))
		ret = -errno;
	*end = base + offset;
	h.sum = sum_of(&h, entries);
	if (!ret)
		ret = file_write(fd, entries, h.count * sizeof(*entries), base + sizeof(h));
	if (!ret)
		ret = file_write(fd, &h, sizeof(h), base);
	free(entries);
	return ret;
}

struct place {
	struct accel_weights *weights;
	uint64_t offset;
	uint64_t end;
};

static int fill_file(void *user, int fd)
{
	struct place *place = user;
	struct accel_weights *w = place->weights;
	uint32_t i;
	int ret;

	pthread_mutex_lock(&w->lock);
	/* Drop damaged forms, which would get a valid digest now. */
	for (i = 0; i < w->info.forms;)
		i += store_whole(w, &w->forms[i]);
	ret = write_forms(w, w->forms, w->info.forms, fd, place->offset, &place->end);
	pthread_mutex_unlock(&w->lock);
	return ret;
}

/**
 * weights_write - write all forms into a file
 * @w: weights
 * @fd: file
 * @offset: multiple of a page where they begin
 * @bytes: out: their total size
 *
 * Return: 0, errors of writing, -ENOMEM.
 */
int weights_write(struct accel_weights *w, int fd, uint64_t offset, uint64_t *bytes)
{
	struct place place = { w, offset, 0 };
	int ret = fill_file(&place, fd);

	*bytes = place.end - offset;
	return ret;
}

int accel_weights_save(struct accel_weights *w, const char *path)
{
	struct place place = { w, 0, 0 };

	if (!w)
		return -EINVAL;
	if (!path)
		return ctx_fail(w->ctx, -EINVAL, "path", "NULL");
	return file_replace(w->ctx, path, fill_file, &place);
}

/* Is the header valid, and the file for this device? */
static int check_header(struct accel_weights *w, const struct file_header *h, uint64_t size)
{
	struct file_header want;
	const char *field = NULL, *is = "", *wanted = "";
	struct store_digest sum;

	make_header(w, &want);
	if (size < sizeof(*h) || h->magic != want.magic)
		return ctx_fail(w->ctx, -EBADMSG, "path", "it is no file of weights");
	if (h->version != want.version || h->key_size != want.key_size)
		return ctx_fail(w->ctx, -ESTALE, "version",
				"the file was made by another version of the library");
	if (memcmp(h->profile, want.profile, sizeof(h->profile)) != 0) {
		field = "profile";
		is = h->profile;
		wanted = want.profile;
	} else if (memcmp(h->driver, want.driver, sizeof(h->driver)) != 0) {
		field = "driver";
		is = h->driver;
		wanted = want.driver;
	} else if (memcmp(h->kernels, want.kernels, sizeof(h->kernels)) != 0) {
		field = "kernels";
		is = h->kernels;
		wanted = want.kernels;
	}
	if (field)
		return ctx_fail(w->ctx, -ESTALE, field, "the file was made for %.32s, this is %s",
				is, wanted);
	if (h->count > STORE_MAX ||
	    h->count > (size - sizeof(*h)) / sizeof(struct file_entry))
		return ctx_fail(w->ctx, -EBADMSG, "path", "the file is cut");
	sum = sum_of(h, (const struct file_entry *)(h + 1));
	if (memcmp(&sum, &h->sum, sizeof(sum)) != 0)
		return ctx_fail(w->ctx, -EBADMSG, "path", "its table is damaged");
	return 0;
}

static bool entry_fits(const struct file_entry *e, uint64_t size)
{
	return e->offset % FILE_ALIGN == 0 && e->key.bytes && e->offset <= size &&
	       e->key.bytes <= size - e->offset;
}

static bool has_form(const struct accel_weights *w, const struct store_key *key)
{
	uint32_t i;

	for (i = 0; i < w->info.forms; i++)
		if (!memcmp(&w->forms[i].key, key, sizeof(*key)))
			return true;
	return false;
}

static int add_forms(struct accel_weights *w, const struct file_header *h, uint64_t size,
		     const struct file_place *at)
{
	const struct file_entry *e = (const struct file_entry *)(h + 1);
	struct store_form *f;
	uint32_t i;

	for (i = 0; i < h->count; i++)
		if (!entry_fits(&e[i], size))
			return ctx_fail(w->ctx, -EBADMSG, "path", "the file is cut");
	for (i = 0; i < h->count && w->info.forms < STORE_MAX; i++) {
		if (has_form(w, &e[i].key))
			continue;
		f = store_add(w, &e[i].key);
		if (!f)
			return ctx_fail(w->ctx, -ENOMEM, NULL, "out of memory");
		f->mapped = (const uint8_t *)h + e[i].offset;
		f->place = (struct file_place) { at->file, at->offset + e[i].offset };
		f->digest = e[i].digest;
		/* The first forms are the oldest, so of a large file the last ones remain. */
		store_trim(w, NULL);
	}
	return 0;
}

/* The store owns the mapping from here on, if there is memory. */
static bool keep_map(struct accel_weights *w, void *addr, uint64_t size)
{
	struct store_map *grown = realloc(w->maps, (w->map_count + 1) * sizeof(*grown));

	if (!grown)
		return false;
	w->maps = grown;
	w->maps[w->map_count++] = (struct store_map) { addr, size };
	return true;
}

/* The store owns the mapping on success; forms that were added before an error remain. */
static int take_map(struct accel_weights *w, void *addr, uint64_t size,
		    const struct file_place *at)
{
	int ret = check_header(w, addr, size);

	if (!ret && !keep_map(w, addr, size))
		ret = ctx_fail(w->ctx, -ENOMEM, NULL, "out of memory");
	if (!ret)
		return add_forms(w, addr, size, at);
	munmap(addr, size);
	return ret;
}

/**
 * weights_map - also use the forms in a part of a file
 * @w: weights
 * @fd: file
 * @offset: multiple of a page where they begin
 * @bytes: their total size; the file is at least as long
 *
 * Return: as accel_weights_load().
 */
int weights_map(struct accel_weights *w, int fd, uint64_t offset, uint64_t bytes)
{
	const struct file_place at = { store_stamp(fd), offset };
	void *addr;
	int ret;

	if (bytes < sizeof(struct file_header) || offset % FILE_ALIGN)
		return ctx_fail(w->ctx, -EBADMSG, "path", "it is no file of weights");
	addr = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	if (addr == MAP_FAILED)
		return ctx_fail(w->ctx, -errno, "path", "the file cannot be mapped");
	pthread_mutex_lock(&w->lock);
	ret = take_map(w, addr, bytes, &at);
	pthread_mutex_unlock(&w->lock);
	return ret;
}

int accel_weights_load(struct accel_weights *w, const char *path)
{
	struct stat st = { 0 };
	int fd, ret;

	if (!w)
		return -EINVAL;
	if (!path)
		return ctx_fail(w->ctx, -EINVAL, "path", "NULL");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		ret = ctx_fail(w->ctx, -errno, "path", "%s: %s", path, errno_text(errno));
	else if (!S_ISREG(st.st_mode))
		ret = ctx_fail(w->ctx, -EBADMSG, "path", "%s is no file of weights", path);
	else
		ret = weights_map(w, fd, 0, (uint64_t)st.st_size);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* --- files with one form -------------------------------------------------------------- */

/**
 * store_form_name - file name of a form, which also identifies its users
 * @w: weights
 * @key: key of the form
 * @name: out
 */
void store_form_name(const struct accel_weights *w, const struct store_key *key,
		     char name[STORE_NAME])
{
	struct store_digest d = { { 0 } };
	struct file_header h;

	make_header(w, &h);
	d = store_sum(store_sum(d, &h, sizeof(h)), key, sizeof(*key));
	snprintf(name, STORE_NAME, "%016" PRIx64 "%016" PRIx64 ".w", d.v[0], d.v[1]);
}

/**
 * store_form_write - write the file of a form
 * @w: weights
 * @f: form
 * @fd: file
 *
 * Return: 0, errors of writing, -ENOMEM.
 */
int store_form_write(struct accel_weights *w, const struct store_form *f, int fd)
{
	uint64_t end;

	return write_forms(w, f, 1, fd, 0, &end);
}

/**
 * store_form_map - use the form in such a file
 * @w: weights
 * @fd: file
 * @size: of the file
 * @key: key of the form
 *
 * Return: form whose contents have not been checked; NULL if the file does not have it for this
 * device, or if out of memory.
 */
struct store_form *store_form_map(struct accel_weights *w, int fd, uint64_t size,
				  const struct store_key *key)
{
	struct accel_file_stamp stamp;
	const struct file_entry *e;
	struct store_form *f = NULL;
	const struct file_header *h;
	struct file_header want;
	struct store_digest sum;
	void *addr;

	if (size < sizeof(*h) + sizeof(*e))
		return NULL;
	stamp = store_stamp(fd);
	/* Pages that could not be written back read as they were, until memory is short. */
	if ((stamp.v[0] || stamp.v[1]) &&
	    sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER))
		return NULL;
	addr = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		return NULL;
	h = addr;
	e = (const struct file_entry *)(h + 1);
	make_header(w, &want);
	want.count = 1;
	want.sum = h->sum;
	if (!memcmp(h, &want, sizeof(want)) && !memcmp(&e->key, key, sizeof(*key)) &&
	    entry_fits(e, size)) {
		sum = sum_of(h, e);
		if (!memcmp(&sum, &h->sum, sizeof(sum)) && keep_map(w, addr, size)) {
			addr = NULL;
			f = store_add(w, key);
		}
	}
	if (addr)
		munmap(addr, size);
	if (!f)
		return NULL;
	f->mapped = (const uint8_t *)h + e->offset;
	f->place = (struct file_place) { stamp, e->offset };
	f->digest = e->digest;
	return f;
}
