// SPDX-License-Identifier: MIT
/*
 * Forms of constant weights that plans share. A form is identified by a digest of the contents
 * that it was created from, so it is found whichever buffer has them. Its memory belongs to the
 * context that created it, and is imported by others, or is part of a mapped file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "planner.h"
#include "store.h"

/* Each bit of the result depends on all bits of @v. */
static uint64_t stir(uint64_t v, uint64_t by)
{
	v = (v ^ v >> 32) * by;
	v = (v ^ v >> 29) * 0xd6e8feb86659fd93ull;
	return v ^ v >> 32;
}

/* Two 64-bit numbers, and their number in a block */
typedef uint64_t pair __attribute__((vector_size(16)));

#define BLOCK_PAIRS	8u
#define BLOCK_BYTES	(BLOCK_PAIRS * sizeof(pair))

/*
 * The lower half of each number times the upper one, as a vector: scalar multiplication is too
 * slow.
 */
static inline pair halves(pair v)
{
#ifdef __SSE2__
	return (pair)_mm_mul_epu32((__m128i)v, (__m128i)(v >> 32));
#else
	return (v & 0xffffffff) * (v >> 32);
#endif
}

/*
 * Each number is used twice: it is added unchanged to the sum of its neighbour, so that a
 * change of one number always changes the digest, and its own sum gets a product that depends
 * on the position. After XXH3 (Y. Collet).
 */
static inline void sum_block(pair *sums, const uint8_t *data, pair place)
{
	uint32_t i;
	pair w;

#pragma GCC unroll 8
	for (i = 0; i < BLOCK_PAIRS; i++) {
		memcpy(&w, data + i * sizeof(w), sizeof(w));
		sums[i] += halves(w ^ place);
		sums[i] += (pair){ w[1], w[0] };
	}
}

/**
 * store_sum - compute a digest
 * @d: digest of the preceding data
 * @data: bytes
 * @bytes: number of bytes
 *
 * It is as fast as the memory.
 *
 * Return: digest of both.
 */
struct store_digest store_sum(struct store_digest d, const void *data, uint64_t bytes)
{
	static const uint64_t odd[2] = { 0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full };
	const pair step = { odd[0], odd[1] };
	pair sums[BLOCK_PAIRS], place = { bytes, ~bytes };
	uint8_t rest[BLOCK_BYTES] = { 0 };
	const uint8_t *p = data;
	uint64_t left = bytes;
	uint32_t i;

	for (i = 0; i < BLOCK_PAIRS; i++)
		sums[i] = (pair){ d.v[0] + i, d.v[1] ^ i };
	for (; left >= BLOCK_BYTES; left -= BLOCK_BYTES, p += BLOCK_BYTES) {
		place += step;
		sum_block(sums, p, place);
	}
	if (left)
		memcpy(rest, p, left);
	sum_block(sums, rest, place + step);
	d.v[0] = bytes;
	d.v[1] = ~bytes;
	for (i = 0; i < 2 * BLOCK_PAIRS; i++) {
		d.v[0] = stir(d.v[0] ^ sums[i / 2][i % 2], odd[0]);
		d.v[1] = stir(d.v[1] + sums[i / 2][i % 2], odd[1]);
	}
	return d;
}

/* If there is no memory to record it, the data are read again. */
static void know(struct accel_weights *w, const struct accel_bo *bo, const struct weights_sum *sum,
		 bool recalled)
{
	const uint32_t cap = w->known_cap ? 2 * w->known_cap : 64;
	struct store_known *grown;

	grown = w->known_count < w->known_cap || w->known_cap >= STORE_MAX ? NULL :
		realloc(w->known, cap * sizeof(*grown));
	if (grown) {
		w->known = grown;
		w->known_cap = cap;
	}
	if (w->known_count < w->known_cap)
		w->known[w->known_count++] = (struct store_known) {
			bo->id, sum->offset, sum->bytes, sum->digest, recalled
		};
}

/* Record that the contents of a buffer are in a file. */
void weights_place(struct accel_bo *bo, const struct file_place *place)
{
	bo->place = *place;
}

/* Number that identifies the contents of a buffer, also after its release. */
uint64_t weights_source(const struct accel_bo *bo)
{
	return bo->id;
}

/**
 * weights_sums - known digests of a buffer
 * @w: weights
 * @source: weights_source()
 * @list: out
 * @max: size of @list
 *
 * Return: number of entries in @list.
 */
uint32_t weights_sums(struct accel_weights *w, uint64_t source, struct weights_sum *list,
		      uint32_t max)
{
	uint32_t i, count = 0;

	pthread_mutex_lock(&w->lock);
	for (i = 0; i < w->known_count && count < max; i++)
		if (w->known[i].bo == source)
			list[count++] = (struct weights_sum) {
				w->known[i].offset, w->known[i].bytes, w->known[i].digest
			};
	pthread_mutex_unlock(&w->lock);
	return count;
}

/* Copy the known digests of a buffer to another one with the same contents. */
void weights_rename(struct accel_weights *w, uint64_t from, uint64_t to)
{
	uint32_t i;

	pthread_mutex_lock(&w->lock);
	for (i = 0; i < w->known_count; i++)
		if (w->known[i].bo == from)
			w->known[i].bo = to;
	pthread_mutex_unlock(&w->lock);
}

/**
 * weights_tell - record the digest of a buffer, so that it need not be read
 * @w: weights
 * @bo: buffer
 * @sum: digest
 */
void weights_tell(struct accel_weights *w, const struct accel_bo *bo,
		  const struct weights_sum *sum)
{
	pthread_mutex_lock(&w->lock);
	know(w, bo, sum, true);
	pthread_mutex_unlock(&w->lock);
}

/**
 * store_content - compute the digest of a part of a buffer
 * @w: weights
 * @bo: buffer that the CPU can access
 * @offset: first byte
 * @bytes: number of bytes
 * @sum: in: digest of the preceding data; out: of both
 *
 * Return: 0, or the error of a lost device.
 */
int store_content(struct accel_weights *w, struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		  struct store_digest *sum)
{
	struct file_place at = bo->place;
	struct store_digest d;
	bool recalled;
	uint32_t i;
	int ret;

	for (i = 0; i < w->known_count && !w->doubted; i++)
		if (w->known[i].bo == bo->id && w->known[i].offset == offset &&
		    w->known[i].bytes == bytes)
			break;
	if (i == w->known_count || w->doubted) {
		ret = bytes ? accel_bo_cpu_begin(bo, offset, bytes, ACCEL_CPU_READ) : 0;
		if (ret)
			return ret;
		at.offset += offset;
		recalled = w->recalled;
		w->recalled = false;
		d = store_read(w, &at, (const uint8_t *)bo->ptr + offset, bytes);
		if (!w->doubted)
			know(w, bo, &(struct weights_sum) { offset, bytes, d }, w->recalled);
		w->recalled |= recalled;
	} else {
		d = w->known[i].digest;
		w->recalled |= w->known[i].recalled;
	}
	*sum = store_sum(*sum, &d, sizeof(d));
	return 0;
}

/* The same for data that are not in a buffer */
struct store_digest weights_read(struct accel_weights *w, const struct file_place *at,
				 const void *data, uint64_t bytes)
{
	struct store_digest d;

	pthread_mutex_lock(&w->lock);
	d = store_read(w, at, data, bytes);
	pthread_mutex_unlock(&w->lock);
	return d;
}

static void form_release(struct accel_weights *w, struct store_form *f)
{
	uint32_t i;

	for (i = 0; i < f->bo_count; i++)
		accel_bo_unref(f->bos[i]);
	free(f->bos);
	w->info.bytes -= f->key.bytes;
	*f = w->forms[--w->info.forms];
}

/**
 * store_trim - release the least recently used forms until the others are within the limits
 * @w: weights
 * @stays: key of a form that is kept; NULL: all may be released
 */
void store_trim(struct accel_weights *w, const struct store_key *stays)
{
	struct store_form *oldest;
	uint32_t i;

	while (w->info.forms > !!stays &&
	       (w->info.forms > STORE_MAX || (w->max_bytes && w->info.bytes > w->max_bytes))) {
		oldest = NULL;
		for (i = 0; i < w->info.forms; i++)
			if ((!stays || memcmp(&w->forms[i].key, stays, sizeof(*stays)) != 0) &&
			    (!oldest || w->forms[i].used < oldest->used))
				oldest = &w->forms[i];
		form_release(w, oldest);
	}
}

/**
 * store_add - add a new form
 * @w: weights
 * @key: its key
 *
 * Return: form without memory, NULL if out of memory.
 */
struct store_form *store_add(struct accel_weights *w, const struct store_key *key)
{
	const uint32_t cap = w->form_cap ? 2 * w->form_cap : 16;
	struct store_form *grown;

	if (w->info.forms == w->form_cap) {
		grown = realloc(w->forms, cap * sizeof(*grown));
		if (!grown)
			return NULL;
		w->forms = grown;
		w->form_cap = cap;
	}
	w->forms[w->info.forms] = (struct store_form) { .key = *key, .used = ++w->uses };
	w->info.bytes += key->bytes;
	return &w->forms[w->info.forms++];
}

static bool form_join(struct store_form *f, struct accel_bo *bo)
{
	struct accel_bo **grown = realloc(f->bos, (f->bo_count + 1) * sizeof(*grown));

	if (!grown)
		return false;
	f->bos = grown;
	f->bos[f->bo_count++] = accel_bo_ref(bo);
	return true;
}

/* The form's memory in a context: existing, from the file, or imported from another context. */
static struct accel_bo *form_in(struct accel_weights *w, struct store_form *f,
				struct accel_ctx *ctx)
{
	const struct accel_bo_opts opts = { sizeof(opts), ACCEL_BO_READONLY, "shared weights" };
	const struct accel_bo_opts mapped = {
		sizeof(mapped), ACCEL_BO_READONLY | ACCEL_BO_LAZY, "mapped weights"
	};
	struct accel_bo *bo = NULL;
	uint32_t i;
	int fd, ret;

	for (i = 0; i < f->bo_count; i++)
		if (f->bos[i]->ctx == ctx)
			return accel_bo_ref(f->bos[i]);
	if (f->mapped) {
		/*
		 * The file has at least this length, because its digest was checked or is
		 * known.
		 */
		ret = accel_bo_import_ptr(ctx, (void *)(uintptr_t)f->mapped, f->key.bytes, &mapped,
					  &bo);
	} else {
		ret = accel_bo_export_dmabuf(f->bos[0], &fd);
		if (!ret) {
			ret = accel_bo_import_dmabuf(ctx, fd, &opts, &bo);
			close(fd);
		}
	}
	if (ret)
		device_log(ctx->dev, ACCEL_LOG_WARN,
			   "weights cannot be shared with context %" PRIu64, ctx->id);
	else if (!form_join(f, bo))
		device_log(w->ctx->dev, ACCEL_LOG_WARN, "out of memory for shared weights");
	return bo;
}

/**
 * store_whole - check, once, that the data in a file match their digest
 * @w: weights
 * @f: form; a damaged one is released and replaced by the last one
 *
 * Return: true if they match, or if the form is not in a file.
 */
bool store_whole(struct accel_weights *w, struct store_form *f)
{
	struct store_digest d;

	if (!f->mapped || f->checked)
		return true;
	d = store_read(w, &f->place, f->mapped, f->key.bytes);
	f->checked = !memcmp(&d, &f->digest, sizeof(d));
	if (f->checked)
		return true;
	device_log(w->ctx->dev, ACCEL_LOG_WARN, "a form of weights in a file is damaged");
	w->info.refused++;
	form_release(w, f);
	return false;
}

/**
 * store_find - find a form for a context
 * @w: weights
 * @ctx: context
 * @key: its key
 *
 * Return: buffer with a reference for the caller, NULL: the form must be created.
 */
struct accel_bo *store_find(struct accel_weights *w, struct accel_ctx *ctx,
			    const struct store_key *key)
{
	struct store_form *f = NULL;
	struct accel_bo *bo;
	uint32_t i;

	for (i = 0; i < w->info.forms && !f; i++)
		if (!memcmp(&w->forms[i].key, key, sizeof(*key)))
			f = &w->forms[i];
	if (!f)
		f = store_dir_find(w, key);
	if (!f || !store_whole(w, f))
		return NULL;
	f->used = ++w->uses;
	bo = form_in(w, f, ctx);
	w->info.found += !!bo;
	return bo;
}

/**
 * store_keep - add a form that was created
 * @w: weights
 * @key: its key
 * @bo: its memory, of which another reference is taken
 *
 * If out of memory, only the caller uses the form.
 */
void store_keep(struct accel_weights *w, const struct store_key *key, struct accel_bo *bo)
{
	struct store_form *f = NULL;
	uint32_t i;

	w->info.made++;
	for (i = 0; i < w->info.forms && !f; i++)
		if (!memcmp(&w->forms[i].key, key, sizeof(*key)))
			f = &w->forms[i];
	if (!f)
		f = store_add(w, key);
	if (!f)
		return;
	/* Without memory it cannot be used; a mapped form has memory. */
	if (!form_join(f, bo) && !f->bo_count && !f->mapped)
		form_release(w, f);
	else
		store_dir_keep(w, f);
	store_trim(w, key);
}

int accel_weights_create(struct accel_ctx *ctx, const struct accel_weights_opts *opts,
			 struct accel_weights **weights)
{
	struct accel_weights_opts o = ACCEL_WEIGHTS_OPTS_INIT;
	struct accel_weights *w;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!weights)
		return ctx_fail(ctx, -EINVAL, "weights", "NULL");
	if (opts) {
		ret = opts_in(ctx, &o, sizeof(o), opts);
		if (ret)
			return ret;
	}
	if (o.flags)
		return ctx_fail(ctx, -EINVAL, "opts.flags", "unknown flags 0x%x", o.flags);
	w = calloc(1, sizeof(*w));
	if (!w)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	atomic_init(&w->refs, 1);
	pthread_mutex_init(&w->lock, NULL);
	w->ctx = ctx_ref(ctx);
	w->dir = -1;
	w->max_bytes = o.max_bytes;
	w->info.size = sizeof(w->info);
	*weights = w;
	return 0;
}

/* The device whose plans may use the forms. */
const struct accel_device *weights_device(const struct accel_weights *weights)
{
	return weights->ctx->dev;
}

struct accel_weights *accel_weights_ref(struct accel_weights *w)
{
	if (w)
		atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
	return w;
}

void accel_weights_unref(struct accel_weights *w)
{
	uint32_t i;

	if (!w || atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) != 1)
		return;
	while (w->info.forms)
		form_release(w, &w->forms[w->info.forms - 1]);
	for (i = 0; i < w->map_count; i++)
		munmap(w->maps[i].addr, w->maps[i].size);
	store_dir_close(w);
	pthread_mutex_destroy(&w->lock);
	free(w->maps);
	free(w->known);
	free(w->sums);
	free(w->forms);
	ctx_unref(w->ctx);
	free(w);
}

int accel_weights_get_info(struct accel_weights *w, struct accel_weights_info *info)
{
	struct accel_weights_info all;

	if (!w || !info)
		return -EINVAL;
	pthread_mutex_lock(&w->lock);
	all = w->info;
	pthread_mutex_unlock(&w->lock);
	return struct_out(info, &all, sizeof(all), sizeof(all));
}
