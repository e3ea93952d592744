// SPDX-License-Identifier: MIT
/*
 * Pools: many small buffers in one. Free ranges are kept sorted by offset and
 * merged with their neighbours; the first that is large enough is taken.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/backend/backend.h"

#define POOL_ALIGN	64

struct range {
	uint64_t offset;
	uint64_t size;
};

struct accel_pool {
	atomic_uint refs;
	struct accel_bo *bo;
	pthread_mutex_t lock;
	uint32_t parts;
	/* There is always room for one range more than there are parts. */
	uint32_t free_count;
	uint32_t free_cap;
	struct range *free;
};

struct accel_bo *pool_bo(struct accel_pool *pool)
{
	return pool->bo;
}

static void pool_unref(struct accel_pool *pool)
{
	if (atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_destroy(&pool->lock);
	accel_bo_unref(pool->bo);
	free(pool->free);
	free(pool);
}

int accel_pool_create(struct accel_ctx *ctx, uint64_t bytes,
		      const struct accel_bo_opts *opts, struct accel_pool **out)
{
	struct accel_pool *pool;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!out)
		return ctx_fail(ctx, -EINVAL, "pool", "NULL");
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		goto err_nomem;
	pool->free_cap = 16;
	pool->free = malloc(pool->free_cap * sizeof(*pool->free));
	if (!pool->free)
		goto err_pool;
	ret = accel_bo_create(ctx, bytes, opts, &pool->bo);
	if (ret) {
		free(pool->free);
		free(pool);
		return ret;
	}
	atomic_init(&pool->refs, 1);
	pthread_mutex_init(&pool->lock, NULL);
	pool->free[0] = (struct range){ 0, pool->bo->map_size };
	pool->free_count = 1;
	*out = pool;
	return 0;

err_pool:
	free(pool);
err_nomem:
	return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
}

void accel_pool_destroy(struct accel_pool *pool)
{
	if (pool)
		pool_unref(pool);
}

/* Each part may split a free range and so add one; room is made when it is taken. */
static int pool_reserve(struct accel_pool *pool)
{
	struct range *grown;

	if (pool->parts + 2 < pool->free_cap)
		return 0;
	grown = realloc(pool->free, 2 * (size_t)pool->free_cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	pool->free = grown;
	pool->free_cap *= 2;
	return 0;
}

static void range_remove(struct accel_pool *pool, uint32_t i)
{
	pool->free_count--;
	memmove(&pool->free[i], &pool->free[i + 1],
		(pool->free_count - i) * sizeof(*pool->free));
}

static void range_insert(struct accel_pool *pool, uint32_t i, struct range r)
{
	memmove(&pool->free[i + 1], &pool->free[i],
		(pool->free_count - i) * sizeof(*pool->free));
	pool->free[i] = r;
	pool->free_count++;
}

static int pool_take(struct accel_pool *pool, uint64_t size, uint64_t align,
		     uint64_t *offset)
{
	struct range *r, head, tail;
	uint32_t i;

	for (i = 0; i < pool->free_count; i++) {
		r = &pool->free[i];
		*offset = (r->offset + align - 1) & ~(align - 1);
		if (*offset - r->offset <= r->size &&
		    size <= r->size - (*offset - r->offset))
			break;
	}
	if (i == pool->free_count)
		return -ENOSPC;
	head = (struct range){ r->offset, *offset - r->offset };
	tail = (struct range){ *offset + size, r->size - head.size - size };
	if (head.size && tail.size) {
		*r = head;
		range_insert(pool, i + 1, tail);
	} else if (head.size) {
		*r = head;
	} else if (tail.size) {
		*r = tail;
	} else {
		range_remove(pool, i);
	}
	pool->parts++;
	return 0;
}

static void pool_give(struct accel_pool *pool, struct range r)
{
	uint32_t lo = 0, hi = pool->free_count, mid;
	struct range *f = pool->free;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (f[mid].offset < r.offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	pool->parts--;
	if (lo && f[lo - 1].offset + f[lo - 1].size == r.offset) {
		f[lo - 1].size += r.size;
		if (lo < pool->free_count &&
		    f[lo - 1].offset + f[lo - 1].size == f[lo].offset) {
			f[lo - 1].size += f[lo].size;
			range_remove(pool, lo);
		}
	} else if (lo < pool->free_count && r.offset + r.size == f[lo].offset) {
		f[lo].offset = r.offset;
		f[lo].size += r.size;
	} else {
		range_insert(pool, lo, r);
	}
}

/* Parts take whole units, so that no two share a cache line. */
static uint64_t part_size(uint64_t bytes)
{
	return page_up(bytes, POOL_ALIGN);
}

int accel_pool_alloc(struct accel_pool *pool, uint64_t bytes, uint64_t align,
		     struct accel_bo **out)
{
	struct accel_ctx *ctx;
	uint64_t page, offset;
	struct accel_bo *bo;
	int ret;

	if (!pool)
		return -EINVAL;
	ctx = pool->bo->ctx;
	page = ctx->dev->info.page_size;
	if (!out)
		return ctx_fail(ctx, -EINVAL, "bo", "NULL");
	if (!bytes)
		return ctx_fail(ctx, -EINVAL, "bytes", "0");
	if ((align & (align - 1)) || align > page)
		return ctx_fail(ctx, -EINVAL, "align",
				"%" PRIu64 " is not a power of two up to %" PRIu64,
				align, page);
	if (align < POOL_ALIGN)
		align = POOL_ALIGN;
	bo = calloc(1, ctx->dev->ops->bo_size);
	if (!bo)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");

	pthread_mutex_lock(&pool->lock);
	ret = bytes > pool->bo->map_size ? -ENOSPC : pool_reserve(pool);
	if (!ret)
		ret = pool_take(pool, part_size(bytes), align, &offset);
	pthread_mutex_unlock(&pool->lock);
	if (ret) {
		free(bo);
		return ctx_fail(ctx, ret, ret == -ENOSPC ? "bytes" : NULL,
				ret == -ENOSPC ?
				"no free range of the pool is large enough" :
				"out of memory");
	}

	atomic_init(&bo->refs, 1);
	atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed);
	bo->kind = BO_PART;
	bo->ctx = ctx_ref(ctx);
	bo->id = device_next_id(ctx->dev);
	bo->pool = pool;
	bo->size = bytes;
	bo->flags = pool->bo->flags;
	bo->addr = pool->bo->addr + offset;
	bo->ptr = pool->bo->ptr ? (char *)pool->bo->ptr + offset : NULL;
	bo->map_addr = bo->addr;
	bo->map_size = part_size(bytes);
	ctx_account(ctx, bo, true);
	*out = bo;
	return 0;
}

/* The last reference of a part is gone; the caller frees @bo. */
void pool_part_release(struct accel_bo *bo)
{
	struct accel_pool *pool = bo->pool;
	struct range r = { bo->addr - pool->bo->addr, bo->map_size };

	pthread_mutex_lock(&pool->lock);
	pool_give(pool, r);
	pthread_mutex_unlock(&pool->lock);
	pool_unref(pool);
}
