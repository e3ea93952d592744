// SPDX-License-Identifier: MIT
/*
 * Sequences of a key-value cache in files: a header, then where tokens were
 * evicted, then the keys, their scales, the values and their scales of each layer,
 * row after row. Little-endian. The header and what follows have a CRC-64 each; a
 * file is read as a whole before anything of it counts.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libaccel/core/crc64.h"
#include "kv.h"
#include "libaccel/core/objects.h"

#define FILE_MAGIC	"ACCELKV\n"
/* Without and with gaps: a library that knows none of them refuses the latter. */
#define FILE_VERSION	1u
#define FILE_VERSION_GAPS	2u

/**
 * struct file_header - the first bytes of a file, all fields little-endian
 * @magic: FILE_MAGIC
 * @version: FILE_VERSION, FILE_VERSION_GAPS
 * @size: sizeof(struct file_header)
 * @layers: of the cache
 * @kv_heads: likewise
 * @head_dim: likewise
 * @v_dim: likewise
 * @dtype: likewise
 * @scale_dtype: likewise
 * @length: tokens
 * @evicted: tokens that were evicted before it was saved
 * @rows_bytes: rows
 * @rows_crc: CRC-64 of what follows the header
 * @gaps: in version 2 how many &struct kv_gap follow the header, little-endian; 0 in 1
 * @reserved: 0
 * @crc: CRC-64 of what comes before
 */
struct file_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t size;
	uint32_t layers;
	uint32_t kv_heads;
	uint32_t head_dim;
	uint32_t v_dim;
	uint32_t dtype;
	uint32_t scale_dtype;
	uint64_t length;
	uint64_t evicted;
	uint64_t rows_bytes;
	uint64_t rows_crc;
	uint64_t gaps;
	uint64_t reserved[5];
	uint64_t crc;
};

_Static_assert(sizeof(struct file_header) == 128, "struct file_header");

/* --- checksum ------------------------------------------------------------------ */

static uint64_t header_crc(const struct file_header *h)
{
	struct crc64 c;

	crc64_begin(&c);
	crc64_add(&c, h, offsetof(struct file_header, crc));
	return ~c.value;
}

/* --- files ------------------------------------------------------------------------ */

static int write_all(int fd, const void *data, size_t bytes)
{
	const char *p = data;
	ssize_t n;

	while (bytes) {
		n = write(fd, p, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int read_all(int fd, void *data, size_t bytes)
{
	char *p = data;
	ssize_t n;

	while (bytes) {
		n = read(fd, p, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EBADMSG;
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/**
 * struct transfer - rows on their way
 * @kv: cache
 * @pages: pages of the sequence
 * @length: tokens
 * @gaps: where tokens were evicted
 * @gap_count: their number
 * @fd: file
 * @crc: of what went by
 */
struct transfer {
	struct accel_kv *kv;
	uint32_t *pages;
	uint64_t length;
	struct kv_gap *gaps;
	uint32_t gap_count;
	int fd;
	struct crc64 crc;
};

/* Rows of a page in one array. */
static int save_rows(struct transfer *t, struct accel_bo *bo, uint64_t offset, uint64_t bytes)
{
	const char *p = (const char *)accel_bo_ptr(bo) + offset;
	int ret;

	ret = accel_bo_cpu_begin(bo, offset, bytes, ACCEL_CPU_READ);
	if (ret)
		return ret;
	crc64_add(&t->crc, p, bytes);
	ret = write_all(t->fd, p, bytes);
	accel_bo_cpu_end(bo, offset, bytes, ACCEL_CPU_READ);
	return ret;
}

static int load_rows(struct transfer *t, struct accel_bo *bo, uint64_t offset, uint64_t bytes)
{
	char *p = (char *)accel_bo_ptr(bo) + offset;
	int ret;

	ret = accel_bo_cpu_begin(bo, offset, bytes, ACCEL_CPU_WRITE);
	if (ret)
		return ret;
	ret = read_all(t->fd, p, bytes);
	if (!ret)
		crc64_add(&t->crc, p, bytes);
	accel_bo_cpu_end(bo, offset, bytes, ACCEL_CPU_WRITE);
	return ret;
}

static int transfer(struct transfer *t, int (*fn)(struct transfer *t, struct accel_bo *bo,
						  uint64_t offset, uint64_t bytes))
{
	static const uint32_t order[KV_PARTS] = { KV_K, KV_K_SCALES, KV_V, KV_V_SCALES };
	const struct accel_kv *kv = t->kv;
	uint32_t layer, i, part, page;
	uint64_t at, n;
	int ret;

	for (layer = 0; layer < kv->o.layers; layer++)
		for (i = 0; i < KV_PARTS; i++) {
			part = order[i];
			for (at = 0; kv->bo[part] && at < t->length; at += n) {
				n = t->length - at;
				n = n < kv->o.page_size ? n : kv->o.page_size;
				page = t->pages[at / kv->o.page_size];
				ret = fn(t, kv->bo[part], kv_offset(kv, part, layer, page, 0),
					 n * kv->row_bytes[part]);
				if (ret)
					return ret;
			}
		}
	return 0;
}

/* Where tokens were evicted, in the file's order of bytes. */
static int save_gaps(struct transfer *t)
{
	struct kv_gap gap;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < t->gap_count && !ret; i++) {
		gap = (struct kv_gap){ htole64(t->gaps[i].at), htole64(t->gaps[i].tokens) };
		crc64_add(&t->crc, &gap, sizeof(gap));
		ret = write_all(t->fd, &gap, sizeof(gap));
	}
	return ret;
}

static int load_gaps(struct transfer *t)
{
	struct kv_gap *gap;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < t->gap_count && !ret; i++) {
		gap = &t->gaps[i];
		ret = read_all(t->fd, gap, sizeof(*gap));
		crc64_add(&t->crc, gap, sizeof(*gap));
		*gap = (struct kv_gap){ le64toh(gap->at), le64toh(gap->tokens) };
	}
	return ret;
}

static uint64_t token_bytes(const struct accel_kv *kv)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < KV_PARTS; i++)
		bytes += kv->row_bytes[i];
	return bytes * kv->o.layers;
}

static int file_error(struct accel_kv *kv, const char *path, const char *what, int ret)
{
	return ctx_fail(kv->ctx, ret, "path", "%s of %s: %s", what, path,
			ret == -EBADMSG ? "the file is truncated or corrupt" : errno_text(-ret));
}

/* --- saving ------------------------------------------------------------------------- */

static void fill_header(struct accel_kv *kv, const struct transfer *t, struct file_header *h)
{
	uint64_t evicted = 0;
	uint32_t i;

	for (i = 0; i < t->gap_count; i++)
		evicted += t->gaps[i].tokens;
	*h = (struct file_header){
		.version = htole32(t->gap_count ? FILE_VERSION_GAPS : FILE_VERSION),
		.size = htole32(sizeof(*h)),
		.layers = htole32(kv->o.layers),
		.kv_heads = htole32(kv->o.kv_heads),
		.head_dim = htole32(kv->o.head_dim),
		.v_dim = htole32(kv->o.v_dim),
		.dtype = htole32(kv->o.dtype),
		.scale_dtype = htole32(kv->o.scale_dtype),
		.length = htole64(t->length),
		.evicted = htole64(evicted),
		.rows_bytes = htole64(t->length * token_bytes(kv)),
		.rows_crc = htole64(~t->crc.value),
		.gaps = htole64(t->gap_count),
	};
	memcpy(h->magic, FILE_MAGIC, sizeof(h->magic));
	h->crc = htole64(header_crc(h));
}

/* The header is known last: a file without it is none. */
static int write_file(struct transfer *t)
{
	struct file_header h;
	int ret;

	memset(&h, 0, sizeof(h));
	ret = write_all(t->fd, &h, sizeof(h));
	crc64_begin(&t->crc);
	if (!ret)
		ret = save_gaps(t);
	if (!ret)
		ret = transfer(t, save_rows);
	if (ret)
		return ret;
	fill_header(t->kv, t, &h);
	if (lseek(t->fd, 0, SEEK_SET) < 0)
		return -errno;
	ret = write_all(t->fd, &h, sizeof(h));
	return ret ? ret : fsync(t->fd) ? -errno : 0;
}

/* A file beside @path that was not there. */
static int open_beside(struct accel_kv *kv, const char *path, char *name, size_t size)
{
	uint32_t i;
	int fd = -1;

	for (i = 0; fd < 0 && i < 100; i++) {
		snprintf(name, size, "%s.%ld.%llu", path, (long)getpid(),
			 (unsigned long long)device_next_id(kv->ctx->dev));
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* Written beside the file, and in its place when it is complete. */
static int replace_file(struct transfer *t, const char *path)
{
	size_t size = strlen(path) + 48;
	char *name = malloc(size);
	int ret;

	if (!name)
		return -ENOMEM;
	t->fd = open_beside(t->kv, path, name, size);
	if (t->fd < 0) {
		free(name);
		return t->fd;
	}
	ret = write_file(t);
	if (close(t->fd) && !ret)
		ret = -errno;
	if (!ret && rename(name, path))
		ret = -errno;
	if (ret)
		unlink(name);
	free(name);
	return ret;
}

/* Its pages, held so that nobody writes or gives them away meanwhile. */
static int hold_pages(struct accel_kv *kv, uint32_t seq, struct transfer *t, uint32_t *count)
{
	const struct kv_seq *s;
	int ret = -ENOENT;
	uint32_t i;

	pthread_mutex_lock(&kv->lock);
	s = kv_seq(kv, seq);
	if (s) {
		ret = -ENOMEM;
		t->pages = malloc((s->count + 1ull) * sizeof(*t->pages));
		t->gaps = malloc((s->gap_count + 1ull) * sizeof(*t->gaps));
	}
	if (s && t->pages && t->gaps) {
		ret = 0;
		*count = s->count;
		for (i = 0; i < s->count; i++) {
			t->pages[i] = s->pages[i];
			kv_ref(kv, s->pages[i]);
		}
		t->length = s->length;
		t->gap_count = s->gap_count;
		for (i = 0; i < s->gap_count; i++)
			t->gaps[i] = s->gaps[i];
	}
	pthread_mutex_unlock(&kv->lock);
	if (ret == -ENOENT)
		return kv_no_seq(kv, "seq", seq);
	return ret ? ctx_fail(kv->ctx, ret, NULL, "out of memory") : 0;
}

static void release_pages(struct accel_kv *kv, uint32_t *pages, uint32_t count)
{
	pthread_mutex_lock(&kv->lock);
	while (count)
		kv_unref(kv, pages[--count]);
	pthread_mutex_unlock(&kv->lock);
	free(pages);
}

int accel_kv_save(struct accel_kv *kv, uint32_t seq, const char *path)
{
	struct transfer t = { .kv = kv };
	uint32_t count = 0;
	int ret;

	if (!kv)
		return -EINVAL;
	if (!path)
		return ctx_fail(kv->ctx, -EINVAL, "path", "NULL");
	ret = hold_pages(kv, seq, &t, &count);
	if (!ret) {
		ret = replace_file(&t, path);
		if (ret)
			ret = file_error(kv, path, "writing", ret);
	}
	release_pages(kv, t.pages, count);
	free(t.gaps);
	return ret;
}

/* --- loading -------------------------------------------------------------------------- */

static int other_shape(struct accel_kv *kv, const char *field, uint32_t has, uint32_t wants)
{
	return ctx_fail(kv->ctx, -EINVAL, field, "the file has %u, the cache %u", has, wants);
}

static int check_shape(struct accel_kv *kv, const struct file_header *h)
{
	const struct {
		const char *field;
		uint32_t has, wants;
	} fields[] = {
		{ "kv.layers", le32toh(h->layers), kv->o.layers },
		{ "kv.kv_heads", le32toh(h->kv_heads), kv->o.kv_heads },
		{ "kv.head_dim", le32toh(h->head_dim), kv->o.head_dim },
		{ "kv.v_dim", le32toh(h->v_dim), kv->o.v_dim },
		{ "kv.dtype", le32toh(h->dtype), kv->o.dtype },
		{ "kv.scale_dtype", le32toh(h->scale_dtype), kv->o.scale_dtype },
	};
	uint32_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].has != fields[i].wants)
			return other_shape(kv, fields[i].field, fields[i].has,
					   fields[i].wants);
	return 0;
}

static int read_header(struct accel_kv *kv, int fd, const char *path, struct file_header *h)
{
	struct stat st;
	uint64_t bytes;
	int ret;

	ret = fstat(fd, &st) ? -errno : !S_ISREG(st.st_mode) ? -EBADMSG : 0;
	if (!ret)
		ret = read_all(fd, h, sizeof(*h));
	if (!ret && memcmp(h->magic, FILE_MAGIC, sizeof(h->magic)) != 0)
		ret = -EBADMSG;
	if (!ret && le32toh(h->version) != FILE_VERSION &&
	    le32toh(h->version) != FILE_VERSION_GAPS)
		return ctx_fail(kv->ctx, -EPROTO, "path", "%s has version %u, not %u or %u", path,
				le32toh(h->version), FILE_VERSION, FILE_VERSION_GAPS);
	if (!ret && (le32toh(h->size) != sizeof(*h) || le64toh(h->crc) != header_crc(h)))
		ret = -EBADMSG;
	if (ret)
		return file_error(kv, path, "reading", ret);
	ret = check_shape(kv, h);
	if (ret)
		return ret;
	/* What the checksum says is right may still be nonsense. */
	bytes = le64toh(h->rows_bytes);
	if (le64toh(h->length) > INT32_MAX || le64toh(h->evicted) > INT64_MAX ||
	    bytes != le64toh(h->length) * token_bytes(kv) ||
	    le64toh(h->gaps) > le64toh(h->length) + 1 ||
	    !le64toh(h->gaps) != (le32toh(h->version) == FILE_VERSION) ||
	    (uint64_t)st.st_size != sizeof(*h) + le64toh(h->gaps) * sizeof(struct kv_gap) + bytes)
		return file_error(kv, path, "reading", -EBADMSG);
	return 0;
}

static int no_pages(struct accel_kv *kv)
{
	return ctx_fail(kv->ctx, -ENOSPC, "kv.pages", "too few of the %u pages are free",
			kv->o.pages);
}

/* Pages for a number of tokens. */
static int take_pages(struct accel_kv *kv, uint64_t length, uint32_t **pages, uint32_t *count)
{
	uint64_t n = (length + kv->o.page_size - 1) / kv->o.page_size;
	uint32_t *list = NULL, last = KV_NO_PAGE, i;

	if (n > kv->o.pages)
		return no_pages(kv);
	list = malloc((n + 1) * sizeof(*list));
	if (!list)
		return ctx_fail(kv->ctx, -ENOMEM, NULL, "out of memory");
	pthread_mutex_lock(&kv->lock);
	for (i = 0; i < n && !kv_claim(kv, last, &list[i]); i++)
		last = list[i];
	pthread_mutex_unlock(&kv->lock);
	if (i == n) {
		*pages = list;
		*count = n;
		return 0;
	}
	release_pages(kv, list, i);
	return no_pages(kv);
}

/* Each behind another token than the one before, and as many tokens as the header says? */
static bool gaps_right(const struct transfer *t, uint64_t evicted)
{
	uint32_t i;

	for (i = 0; i < t->gap_count; i++) {
		if (t->gaps[i].at > t->length || (i && t->gaps[i].at <= t->gaps[i - 1].at) ||
		    !t->gaps[i].tokens || t->gaps[i].tokens > evicted)
			return false;
		evicted -= t->gaps[i].tokens;
	}
	return !evicted;
}

/* The sequence has the pages and gaps of @t from then on. */
static int make_seq(struct accel_kv *kv, const struct transfer *t, uint32_t count, uint32_t *seq)
{
	struct kv_seq *s;
	int ret;

	pthread_mutex_lock(&kv->lock);
	ret = kv_seq_add(kv, seq);
	if (!ret) {
		s = kv_seq(kv, *seq);
		s->pages = t->pages;
		s->count = count;
		s->cap = count;
		s->gaps = t->gaps;
		s->gap_count = t->gap_count;
		s->gap_cap = t->gap_count;
		s->length = t->length;
	}
	pthread_mutex_unlock(&kv->lock);
	return ret ? ctx_fail(kv->ctx, ret, "kv", "there is no room for a sequence") : 0;
}

/* What follows the header. */
static int load_body(struct transfer *t, const struct file_header *h)
{
	const uint64_t evicted = le64toh(h->evicted);
	int ret;

	crc64_begin(&t->crc);
	ret = load_gaps(t);
	if (!ret)
		ret = transfer(t, load_rows);
	if (ret)
		return ret;
	if (~t->crc.value != le64toh(h->rows_crc))
		return -EBADMSG;
	/* Version 1 does not say where. */
	if (!t->gap_count && evicted)
		t->gaps[t->gap_count++] = (struct kv_gap){ 0, evicted };
	return gaps_right(t, evicted) ? 0 : -EBADMSG;
}

static int load_file(struct accel_kv *kv, int fd, const char *path, uint32_t *seq)
{
	struct transfer t = { .kv = kv, .fd = fd };
	struct file_header h = { 0 };
	uint32_t count = 0;
	int ret;

	ret = read_header(kv, fd, path, &h);
	if (ret)
		return ret;
	t.length = le64toh(h.length);
	t.gap_count = (uint32_t)le64toh(h.gaps);
	t.gaps = malloc((t.gap_count + 1ull) * sizeof(*t.gaps));
	if (!t.gaps)
		return ctx_fail(kv->ctx, -ENOMEM, NULL, "out of memory");
	ret = take_pages(kv, t.length, &t.pages, &count);
	if (ret)
		goto err_gaps;
	ret = load_body(&t, &h);
	ret = ret ? file_error(kv, path, "reading", ret) : make_seq(kv, &t, count, seq);
	if (ret)
		goto err_pages;
	return 0;
err_pages:
	release_pages(kv, t.pages, count);
err_gaps:
	free(t.gaps);
	return ret;
}

int accel_kv_load(struct accel_kv *kv, const char *path, uint32_t *seq)
{
	int fd, ret;

	if (!kv)
		return -EINVAL;
	if (!seq)
		return ctx_fail(kv->ctx, -EINVAL, "seq", "NULL");
	if (!path)
		return ctx_fail(kv->ctx, -EINVAL, "path", "NULL");
	/* A pipe is no such file either, and is not waited for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return file_error(kv, path, "opening", -errno);
	ret = load_file(kv, fd, path, seq);
	close(fd);
	return ret;
}
