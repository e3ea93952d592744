// SPDX-License-Identifier: MIT
/*
 * Imported user memory. The device binds whole pages, while callers import any
 * bytes: two imports may share pages, and overlap in any way. A context keeps
 * the pages that are imported as sorted ranges with counts; ranges are cut
 * where an import starts or ends, so that an import is always a number of whole
 * ranges. What nobody uses any more is unbound at once, so that the process may
 * unmap it and import other memory at the same address. The pages of one
 * import are pinned together and stay so while any of them is in use.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/backend/backend.h"

/* Pages that were pinned by one call. */
struct pin {
	uint32_t refs;
	uint64_t addr;
	uint64_t handle;
};

struct irange {
	uint64_t lo;
	uint64_t hi;
	uint32_t refs;
	bool write;
	struct pin *pin;
};

struct import_table {
	pthread_mutex_t lock;
	uint32_t count;
	uint32_t cap;
	struct irange *r;
};

int import_init(struct accel_ctx *ctx)
{
	ctx->imports = calloc(1, sizeof(*ctx->imports));
	if (!ctx->imports)
		return -ENOMEM;
	pthread_mutex_init(&ctx->imports->lock, NULL);
	return 0;
}

void import_exit(struct accel_ctx *ctx)
{
	pthread_mutex_destroy(&ctx->imports->lock);
	free(ctx->imports->r);
	free(ctx->imports);
}

static int reserve(struct import_table *t, uint32_t more)
{
	struct irange *grown;
	size_t cap = t->cap;

	if (more <= t->cap - t->count)
		return 0;
	while (cap < (size_t)t->count + more)
		cap = cap ? 2 * cap : 16;
	grown = realloc(t->r, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->r = grown;
	t->cap = cap;
	return 0;
}

/* Index of the first range that ends after @addr. */
static uint32_t find(const struct import_table *t, uint64_t addr)
{
	uint32_t lo = 0, hi = t->count, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (t->r[mid].hi <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void insert(struct import_table *t, uint32_t i, struct irange r)
{
	memmove(&t->r[i + 1], &t->r[i], (t->count - i) * sizeof(*t->r));
	t->r[i] = r;
	t->count++;
}

static void cut(struct import_table *t, uint64_t addr)
{
	uint32_t i = find(t, addr);
	struct irange tail;

	if (i == t->count || t->r[i].lo >= addr)
		return;
	tail = t->r[i];
	tail.lo = addr;
	t->r[i].hi = addr;
	if (tail.pin)
		tail.pin->refs++;
	insert(t, i + 1, tail);
}

static void pin_put(struct accel_ctx *ctx, struct pin *pin)
{
	if (--pin->refs)
		return;
	ctx->dev->ops->user_unpin(ctx, pin->handle);
	free(pin);
}

static int pin_and_map(struct accel_ctx *ctx, uint64_t lo, uint64_t hi,
		       uint32_t flags, bool replace, const char *label,
		       struct pin **out)
{
	const struct backend_ops *ops = ctx->dev->ops;
	struct pin *pin;
	int ret;

	pin = malloc(sizeof(*pin));
	if (!pin)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	pin->refs = 1;
	pin->addr = lo;
	ret = ops->user_pin(ctx, lo, hi - lo, flags, label, &pin->handle);
	if (ret)
		goto err_free;
	ret = ops->user_map(ctx, pin->handle, 0, lo, hi - lo, !(flags & ACCEL_BO_READONLY),
			    replace);
	if (ret)
		goto err_unpin;
	*out = pin;
	return 0;

err_unpin:
	ops->user_unpin(ctx, pin->handle);
err_free:
	free(pin);
	return ret;
}

/* Unbind the ranges within lo .. hi that nobody uses. */
static void drop_unused(struct accel_ctx *ctx, uint64_t lo, uint64_t hi)
{
	struct import_table *t = ctx->imports;
	uint32_t i = find(t, lo);
	struct irange r;

	while (i < t->count && t->r[i].lo < hi) {
		r = t->r[i];
		if (r.refs) {
			i++;
			continue;
		}
		ctx->dev->ops->user_unmap(ctx, r.lo, r.hi - r.lo);
		pin_put(ctx, r.pin);
		t->count--;
		memmove(&t->r[i], &t->r[i + 1],
			(t->count - i) * sizeof(*t->r));
	}
}

static int fill_gaps(struct accel_ctx *ctx, uint64_t lo, uint64_t hi,
		     uint32_t flags, const char *label)
{
	struct import_table *t = ctx->imports;
	struct irange r = { .write = !(flags & ACCEL_BO_READONLY) };
	uint64_t pos = lo;
	uint32_t i;
	int ret;

	for (i = find(t, lo); pos < hi; i++) {
		if (i == t->count || t->r[i].lo > pos) {
			r.lo = pos;
			r.hi = i < t->count && t->r[i].lo < hi ? t->r[i].lo : hi;
			ret = pin_and_map(ctx, r.lo, r.hi, flags, false, label,
					  &r.pin);
			if (ret)
				return ret;
			insert(t, i, r);
		}
		pos = t->r[i].hi;
	}
	return 0;
}

/* Pages that were imported to be read only are needed for writing. */
static int make_writable(struct accel_ctx *ctx, uint64_t lo, uint64_t hi,
			 const char *label)
{
	struct import_table *t = ctx->imports;
	struct pin *pin = NULL;
	uint32_t i;
	int ret;

	for (i = find(t, lo); i < t->count && t->r[i].lo < hi; i++) {
		if (t->r[i].write)
			continue;
		ret = pin_and_map(ctx, t->r[i].lo, t->r[i].hi, 0, true,
				  label, &pin);
		if (ret)
			return ret;
		pin_put(ctx, t->r[i].pin);
		t->r[i].pin = pin;
		t->r[i].write = true;
	}
	return 0;
}

int import_add(struct accel_ctx *ctx, uint64_t addr, uint64_t size, uint32_t flags,
	       const char *label)
{
	struct import_table *t = ctx->imports;
	uint64_t hi = addr + size;
	uint32_t i, first, last;
	int ret;

	pthread_mutex_lock(&t->lock);
	/* Two cuts, and a gap beside every range that is touched. */
	first = find(t, addr);
	for (last = first; last < t->count && t->r[last].lo < hi; last++)
		;
	ret = reserve(t, 2 + (last - first + 1));
	if (ret) {
		ctx_fail(ctx, ret, NULL, "out of memory");
		goto out;
	}
	cut(t, addr);
	cut(t, hi);
	ret = fill_gaps(ctx, addr, hi, flags, label);
	if (!ret && !(flags & ACCEL_BO_READONLY))
		ret = make_writable(ctx, addr, hi, label);
	if (ret) {
		drop_unused(ctx, addr, hi);
		goto out;
	}
	for (i = find(t, addr); i < t->count && t->r[i].lo < hi; i++)
		t->r[i].refs++;
out:
	pthread_mutex_unlock(&t->lock);
	return ret;
}

void import_remove(struct accel_ctx *ctx, uint64_t addr, uint64_t size)
{
	struct import_table *t = ctx->imports;
	uint32_t i;

	pthread_mutex_lock(&t->lock);
	for (i = find(t, addr); i < t->count && t->r[i].lo < addr + size; i++)
		t->r[i].refs--;
	drop_unused(ctx, addr, addr + size);
	pthread_mutex_unlock(&t->lock);
}

int import_for_each(struct accel_ctx *ctx, uint64_t addr, uint64_t size,
		    int (*fn)(void *user, uint64_t handle, uint64_t offset,
			      uint64_t size),
		    void *user)
{
	struct import_table *t = ctx->imports;
	const uint64_t end = addr + size;
	uint64_t lo, hi;
	uint32_t i;
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	for (i = find(t, addr); i < t->count && t->r[i].lo < end && !ret; i++) {
		lo = t->r[i].lo < addr ? addr : t->r[i].lo;
		hi = t->r[i].hi > end ? end : t->r[i].hi;
		ret = fn(user, t->r[i].pin->handle, lo - t->r[i].pin->addr,
			 hi - lo);
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}
