// SPDX-License-Identifier: MIT
/*
 * Contexts: an address space, an error record, the accounts of memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/backend/backend.h"
#include "libaccel/tune/tune.h"

struct accel_ctx *ctx_ref(struct accel_ctx *ctx)
{
	atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
	return ctx;
}

bool ctx_reproducible(const struct accel_ctx *ctx)
{
	return ctx->reproducible;
}

void ctx_unref(struct accel_ctx *ctx)
{
	struct accel_device *dev = ctx->dev;

	if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
		return;
	dev->ops->ctx_destroy(ctx);
	import_exit(ctx);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx->weights_dir);
	free(ctx->tune_path);
	free(ctx);
	accel_device_unref(dev);
}

/* Where packed weights are kept, as the caller says */
static int take_weights_dir(struct accel_ctx *ctx, const struct accel_ctx_opts *o)
{
	ctx->weights_bytes = o->weights_bytes ? o->weights_bytes : 4ull << 30;
	if (!o->weights_dir)
		return 0;
	if (!*o->weights_dir)
		return file_cache_path("weights", &ctx->weights_dir);
	ctx->weights_dir = strdup(o->weights_dir);
	return ctx->weights_dir ? 0 : -ENOMEM;
}

int accel_ctx_create(struct accel_device *dev, const struct accel_ctx_opts *opts,
		     struct accel_ctx **out)
{
	static _Atomic uint64_t numbers = 1;
	struct accel_ctx_opts o = ACCEL_CTX_OPTS_INIT;
	struct accel_ctx *ctx;
	int ret;

	if (!dev || !out)
		return -EINVAL;
	if (opts) {
		ret = struct_in(&o, sizeof(o), opts, offsetof(struct accel_ctx_opts, tune_dir));
		if (ret)
			return ret;
	}
	if (o.flags & ~ACCEL_CTX_REPRODUCIBLE)
		return -EINVAL;

	ctx = calloc(1, dev->ops->ctx_size);
	if (!ctx)
		return -ENOMEM;
	atomic_init(&ctx->refs, 1);
	ctx->dev = accel_device_ref(dev);
	ctx->reproducible = o.flags & ACCEL_CTX_REPRODUCIBLE;
	ctx->id = device_next_id(dev);
	ctx->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
	ctx->stats.size = sizeof(ctx->stats);
	pthread_mutex_init(&ctx->lock, NULL);
	ret = tune_path_create(o.tune_dir, &ctx->tune_path);
	if (!ret)
		ret = take_weights_dir(ctx, &o);
	if (ret)
		goto err_free;
	ret = import_init(ctx);
	if (ret)
		goto err_free;
	ret = dev->ops->ctx_create(ctx);
	if (ret)
		goto err_imports;
	*out = ctx;
	return 0;

err_imports:
	import_exit(ctx);
err_free:
	pthread_mutex_destroy(&ctx->lock);
	free(ctx->weights_dir);
	free(ctx->tune_path);
	free(ctx);
	accel_device_unref(dev);
	return ret;
}

void accel_ctx_destroy(struct accel_ctx *ctx)
{
	if (ctx)
		ctx_unref(ctx);
}

struct accel_device *accel_ctx_device(struct accel_ctx *ctx)
{
	return ctx ? ctx->dev : NULL;
}

void ctx_account(struct accel_ctx *ctx, const struct accel_bo *bo, bool add)
{
	struct accel_memory_stats *stats = &ctx->stats;
	uint64_t *bytes;

	pthread_mutex_lock(&ctx->lock);
	stats->bo_count += add ? 1 : -1;
	/* A part is counted with its pool. */
	if (bo->kind != BO_PART) {
		bytes = bo->kind == BO_CREATED ? &stats->bo_bytes :
						 &stats->imported_bytes;
		*bytes += add ? bo->size : -bo->size;
	}
	if (stats->bo_bytes > stats->bo_bytes_peak)
		stats->bo_bytes_peak = stats->bo_bytes;
	pthread_mutex_unlock(&ctx->lock);
}

int accel_ctx_get_memory(struct accel_ctx *ctx, struct accel_memory_stats *out)
{
	struct accel_memory_stats stats;

	if (!ctx)
		return -EINVAL;
	pthread_mutex_lock(&ctx->lock);
	stats = ctx->stats;
	pthread_mutex_unlock(&ctx->lock);
	return struct_out(out, &stats, sizeof(stats), sizeof(stats));
}
