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

void ctx_unref(struct accel_ctx *ctx)
{
	struct accel_device *dev = ctx->dev;

	if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
		return;
	dev->ops->ctx_destroy(ctx);
	import_exit(ctx);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx->tune_path);
	free(ctx);
	accel_device_unref(dev);
}

int accel_ctx_create(struct accel_device *dev, const struct accel_ctx_opts *opts,
		     struct accel_ctx **out)
{
	struct accel_ctx_opts o = ACCEL_CTX_OPTS_INIT;
	struct accel_ctx *ctx;
	int ret;

	if (opts) {
		ret = struct_in(&o, sizeof(o), opts, offsetof(struct accel_ctx_opts, tune_dir));
		if (ret)
			return ret;
	}
	if (o.flags)
		return -EINVAL;

	ctx = calloc(1, dev->ops->ctx_size);
	if (!ctx)
		return -ENOMEM;
	atomic_init(&ctx->refs, 1);
	ctx->dev = accel_device_ref(dev);
	ctx->id = device_next_id(dev);
	ctx->error.size = sizeof(ctx->error);
	ctx->error.op_index = UINT32_MAX;
	ctx->stats.size = sizeof(ctx->stats);
	pthread_mutex_init(&ctx->lock, NULL);
	ret = tune_path_create(o.tune_dir, &ctx->tune_path);
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
	return ctx->dev;
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

	pthread_mutex_lock(&ctx->lock);
	stats = ctx->stats;
	pthread_mutex_unlock(&ctx->lock);
	return struct_out(out, &stats, sizeof(stats), sizeof(stats));
}
