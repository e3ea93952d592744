// SPDX-License-Identifier: MIT
/*
 * Reader of .npz: a zip with an array in each member, stored or deflated. Lengths are
 * those of the central directory, which is at the end.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "npz.h"

/* Maximum size of a member: more than any array of a test needs */
#define MAX_MEMBER	(1ull << 34)

static uint32_t le16_at(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le32_at(const unsigned char *p)
{
	return le16_at(p) | le16_at(p + 2) << 16;
}

static uint64_t le64_at(const unsigned char *p)
{
	return le32_at(p) | (uint64_t)le32_at(p + 4) << 32;
}

static int inflate_all(const unsigned char *in, uint64_t n, unsigned char *out, uint64_t size)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)in, .avail_in = (uInt)n,
		       .next_out = out, .avail_out = (uInt)size };
	int ret;

	if (n > UINT32_MAX || size > UINT32_MAX || inflateInit2(&z, -15) != Z_OK)
		return -EOPNOTSUPP;
	ret = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return ret == Z_STREAM_END && z.total_out == size ? 0 : -EINVAL;
}

/**
 * struct member - a member of the zip
 * @method: 0 stored, 8 deflated
 * @packed: bytes in the file
 * @size: bytes of the array
 * @at: of its local header
 */
struct member {
	uint32_t method;
	uint64_t packed;
	uint64_t size;
	uint64_t at;
};

static int read_member(const unsigned char *file, uint64_t bytes, const struct member *m,
		       struct npy *npy, char *error)
{
	unsigned char *own = NULL;
	const unsigned char *data;
	uint64_t start;
	int ret = -EINVAL;
	FILE *f;

	snprintf(error, NPY_ERROR, "a member is malformed");
	if (m->at > bytes || bytes - m->at < 30 || le32_at(file + m->at) != 0x04034b50)
		return -EINVAL;
	start = m->at + 30 + le16_at(file + m->at + 26) + le16_at(file + m->at + 28);
	if (start > bytes || m->packed > bytes - start || m->size > MAX_MEMBER)
		return -EINVAL;
	data = file + start;
	if (m->method == 8) {
		/* Deflate compresses to no less than about a thousandth. */
		if (m->size / 1040 > m->packed)
			return -EINVAL;
		own = malloc(m->size + 1);
		if (!own)
			return -ENOMEM;
		ret = inflate_all(data, m->packed, own, m->size);
		data = own;
	} else if (!m->method && m->packed == m->size) {
		ret = 0;
	}
	f = ret || !m->size ? NULL : fmemopen((void *)(uintptr_t)data, m->size, "rb");
	if (f) {
		ret = npy_read(f, npy, error);
		fclose(f);
	} else if (!ret) {
		ret = -EINVAL;
	}
	free(own);
	return ret;
}

/* Sizes beyond 32 bits are in an extra field. */
static void read_wide(const unsigned char *extra, uint32_t n, struct member *m)
{
	uint64_t *want[3] = { &m->size, &m->packed, &m->at };
	uint32_t i, at, len;

	for (at = 0; at + 4 <= n; at += 4 + len) {
		len = le16_at(extra + at + 2);
		if (at + 4 + len > n || le16_at(extra + at) != 1)
			continue;
		for (i = 0, at += 4; i < 3; i++)
			if (*want[i] == UINT32_MAX && len >= 8) {
				*want[i] = le64_at(extra + at);
				at += 8;
				len -= 8;
			}
		return;
	}
}

static int add_entry(struct npz *npz, const unsigned char *file, uint64_t bytes,
		     const unsigned char *dir, char *error)
{
	struct npz_entry *more = realloc(npz->entries, (npz->count + 1) * sizeof(*more)), *e;
	struct member m = { le16_at(dir + 10), le32_at(dir + 20), le32_at(dir + 24),
			   le32_at(dir + 42) };
	uint32_t len = le16_at(dir + 28);
	int ret;

	if (!more)
		return -ENOMEM;
	npz->entries = more;
	e = &more[npz->count];
	memset(e, 0, sizeof(*e));
	read_wide(dir + 46 + len, le16_at(dir + 30), &m);
	if (len > 4 && !memcmp(dir + 46 + len - 4, ".npy", 4))
		len -= 4;
	e->name = strndup((const char *)dir + 46, len);
	if (!e->name)
		return -ENOMEM;
	npz->count++;
	ret = read_member(file, bytes, &m, &e->npy, error);
	return ret;
}

static int read_all(struct npz *npz, const unsigned char *file, uint64_t bytes, char *error)
{
	uint64_t end, at, size;
	uint32_t i, count;
	int ret = 0;

	snprintf(error, NPY_ERROR, "not an npz file");
	if (bytes < 22)
		return -EINVAL;
	for (end = bytes - 22; le32_at(file + end) != 0x06054b50; end--)
		if (!end || bytes - end > 65557)
			return -EINVAL;
	count = le16_at(file + end + 10);
	at = le32_at(file + end + 16);
	for (i = 0; i < count && !ret; i++) {
		if (at > end || end - at < 46 || le32_at(file + at) != 0x02014b50)
			return -EINVAL;
		size = 46 + le16_at(file + at + 28) + le16_at(file + at + 30) + le16_at(file + at +
											32);
		if (size > end - at)
			return -EINVAL;
		ret = add_entry(npz, file, bytes, file + at, error);
		at += size;
	}
	return ret;
}

int npz_load(const char *path, struct npz *npz, char error[NPY_ERROR])
{
	struct stat st;
	void *file;
	int fd, ret;

	memset(npz, 0, sizeof(*npz));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		ret = -errno;
		snprintf(error, NPY_ERROR, "%s", strerror(-ret));
		if (fd >= 0)
			close(fd);
		return ret;
	}
	file = st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) :
	       MAP_FAILED;
	close(fd);
	if (file == MAP_FAILED) {
		snprintf(error, NPY_ERROR, "it is empty, or cannot be mapped");
		return -EINVAL;
	}
	ret = read_all(npz, file, (uint64_t)st.st_size, error);
	munmap(file, (size_t)st.st_size);
	if (ret)
		npz_free(npz);
	return ret;
}

void npz_free(struct npz *npz)
{
	uint32_t i;

	for (i = 0; i < npz->count; i++) {
		free(npz->entries[i].name);
		npy_free(&npz->entries[i].npy);
	}
	free(npz->entries);
	memset(npz, 0, sizeof(*npz));
}

const struct npy *npz_find(const struct npz *npz, const char *prefix, const char *name)
{
	size_t n = strlen(prefix);
	uint32_t i;

	for (i = 0; i < npz->count; i++)
		if (!strncmp(npz->entries[i].name, prefix, n) &&
		    !strcmp(npz->entries[i].name + n, name))
			return &npz->entries[i].npy;
	return NULL;
}

/* --- writing --- */

static void le(unsigned char **p, uint64_t value, uint32_t bytes)
{
	for (; bytes; bytes--, value >>= 8)
		*(*p)++ = (unsigned char)value;
}

/* The common part of local header and directory, from the version on */
static void put_member(unsigned char **p, uint32_t crc, uint64_t size, size_t name)
{
	le(p, 20, 2);
	/* No flags, stored, 1 January 1980 */
	le(p, 0, 2);
	le(p, 0, 2);
	le(p, 0, 2);
	le(p, 33, 2);
	le(p, crc, 4);
	le(p, size, 4);
	le(p, size, 4);
	le(p, name, 2);
	le(p, 0, 2);
}

static uint32_t crc_of(uint32_t crc, const void *data, uint64_t bytes)
{
	const unsigned char *p = data;
	uint64_t n;

	for (; bytes; bytes -= n, p += n) {
		n = bytes < 1u << 30 ? bytes : 1u << 30;
		crc = (uint32_t)crc32(crc, p, (uInt)n);
	}
	return crc;
}

static int put(struct npz_writer *w, const void *data, uint64_t bytes)
{
	errno = ENOSPC;
	if (bytes && fwrite(data, 1, bytes, w->f) != bytes)
		return -errno;
	w->at += bytes;
	return 0;
}

int npz_open(const char *path, struct npz_writer *w)
{
	memset(w, 0, sizeof(*w));
	w->f = fopen(path, "we");
	return w->f ? 0 : -errno;
}

int npz_put(struct npz_writer *w, const char *name, const char *descr, uint32_t itemsize,
	    uint32_t rank, const uint64_t *dims, const void *data)
{
	unsigned char local[30], *p = local, *more;
	size_t len = strlen(name) + 4, head_bytes;
	uint64_t bytes = itemsize, size, at = w->at;
	char head[NPY_HEADER];
	uint32_t i, crc;
	int ret;

	if (rank > NPY_MAX_RANK || len > 65535)
		return -EINVAL;
	for (i = 0; i < rank; i++)
		bytes *= dims[i];
	head_bytes = npy_header(head, descr, rank, dims);
	size = head_bytes + bytes;
	/* Without extra fields places and sizes have 32 bits. */
	if (size >= UINT32_MAX || at + size >= UINT32_MAX - 65536 || w->count == 65534)
		return -EFBIG;
	crc = crc_of(crc_of(0, head, head_bytes), data, bytes);
	le(&p, 0x04034b50, 4);
	put_member(&p, crc, size, len);
	ret = put(w, local, 30);
	if (!ret)
		ret = put(w, name, len - 4);
	if (!ret)
		ret = put(w, ".npy", 4);
	if (!ret)
		ret = put(w, head, head_bytes);
	if (!ret)
		ret = put(w, data, bytes);
	more = ret ? NULL : realloc(w->dir, w->dir_bytes + 46 + len);
	if (!more)
		return ret ? ret : -ENOMEM;
	w->dir = more;
	p = more + w->dir_bytes;
	le(&p, 0x02014b50, 4);
	le(&p, 20, 2);
	put_member(&p, crc, size, len);
	le(&p, 0, 2);
	le(&p, 0, 2);
	le(&p, 0, 2);
	le(&p, 0, 4);
	le(&p, at, 4);
	memcpy(p, name, len - 4);
	/* No zero follows it. */
	p += len - 4;
	*p++ = '.';
	*p++ = 'n';
	*p++ = 'p';
	*p = 'y';
	w->dir_bytes += 46 + len;
	w->count++;
	return 0;
}

int npz_close(struct npz_writer *w)
{
	unsigned char end[22], *p = end;
	uint64_t at = w->at;
	int ret;

	le(&p, 0x06054b50, 4);
	le(&p, 0, 4);
	le(&p, w->count, 2);
	le(&p, w->count, 2);
	le(&p, w->dir_bytes, 4);
	le(&p, at, 4);
	le(&p, 0, 2);
	ret = put(w, w->dir, w->dir_bytes);
	if (!ret)
		ret = put(w, end, 22);
	if (fclose(w->f) && !ret)
		ret = -errno;
	free(w->dir);
	return ret;
}
