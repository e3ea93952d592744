// SPDX-License-Identifier: MIT
/*
 * Address space of a context of the in-process device: device addresses are those of the
 * process, but a task can only access memory that the context has bound.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "sw.h"

/* Index of the first range that ends after @addr. */
static uint32_t find(const struct sw_ranges *t, uint64_t addr)
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

static void *sw_map(struct uma_mem *base, __u64 addr, __u64 *len,
		    enum uma_access access)
{
	struct sw_mem *mem = (struct sw_mem *)base;
	const struct sw_ranges *t = mem->ranges;
	const bool write = access == UMA_ACCESS_WRITE;
	uint32_t i = mem->last;
	uint64_t end;

	if (i >= t->count || addr < t->r[i].lo || addr >= t->r[i].hi) {
		i = find(t, addr);
		if (i == t->count || addr < t->r[i].lo)
			goto fault;
		mem->last = i;
	}
	if (write && !t->r[i].write)
		goto fault;
	/* Adjacent ranges are contiguous for the CPU, too. */
	end = t->r[i].hi;
	while (end - addr < *len && ++i < t->count && t->r[i].lo == end &&
	       (t->r[i].write || !write))
		end = t->r[i].hi;
	if (end - addr < *len)
		*len = end - addr;
	return (void *)(uintptr_t)addr;

fault:
	base->fault.reason = write ? UMA_FAULT_WRITE : UMA_FAULT_READ;
	base->fault.slot = UMA_FAULT_NO_SLOT;
	base->fault.addr = addr;
	return NULL;
}

static const struct uma_mem_ops mem_ops = { .map = sw_map };

void sw_mem_init(struct sw_mem *mem, const struct sw_ranges *ranges)
{
	memset(mem, 0, sizeof(*mem));
	mem->base.ops = &mem_ops;
	mem->ranges = ranges;
}

int sw_ranges_init(struct sw_ctx *ctx)
{
	ctx->ranges = calloc(1, sizeof(*ctx->ranges));
	if (!ctx->ranges)
		return -ENOMEM;
	ctx->ranges->refs = 1;
	ctx->ranges->age = 1;
	pthread_mutex_init(&ctx->lock, NULL);
	return 0;
}

/* Drop a reference; returns the tables, and their memory, that are no longer used. */
static struct sw_ranges *put_locked(struct sw_ranges *t)
{
	struct sw_ranges *dead = NULL, *newer;

	while (t && !--t->refs) {
		newer = t->newer;
		t->newer = dead;
		dead = t;
		t = newer;
	}
	return dead;
}

static void free_retired(struct sw_retired *retired)
{
	struct sw_retired *next;

	for (; retired; retired = next) {
		next = retired->next;
		munmap(retired->addr, retired->size);
		free(retired);
	}
}

static void free_tables(struct sw_ranges *t)
{
	struct sw_ranges *next;

	for (; t; t = next) {
		next = t->newer;
		free_retired(t->retired);
		free(t->r);
		free(t);
	}
}

void sw_ranges_exit(struct sw_ctx *ctx)
{
	free_tables(put_locked(ctx->ranges));
	pthread_mutex_destroy(&ctx->lock);
}

struct sw_ranges *sw_ranges_get(struct sw_ctx *ctx)
{
	struct sw_ranges *t;

	pthread_mutex_lock(&ctx->lock);
	t = ctx->ranges;
	t->refs++;
	pthread_mutex_unlock(&ctx->lock);
	return t;
}

void sw_ranges_put(struct sw_ctx *ctx, struct sw_ranges *ranges)
{
	struct sw_ranges *dead;

	pthread_mutex_lock(&ctx->lock);
	dead = put_locked(ranges);
	pthread_mutex_unlock(&ctx->lock);
	free_tables(dead);
}

/*
 * Make the current table changeable, with room for @more ranges. A table without other users is
 * changed in place.
 */
static int own_table(struct sw_ctx *ctx, uint32_t more)
{
	struct sw_ranges *t = ctx->ranges, *copy;
	uint32_t cap = t->cap;
	struct sw_range *r;

	if (more > cap - t->count)
		cap = cap ? 2 * cap : 16;
	if (t->refs == 1) {
		if (cap == t->cap) {
			t->age++;
			return 0;
		}
		r = realloc(t->r, cap * sizeof(*r));
		if (!r)
			return -ENOMEM;
		t->r = r;
		t->cap = cap;
		t->age++;
		return 0;
	}
	copy = calloc(1, sizeof(*copy));
	r = malloc((cap ? cap : 1) * sizeof(*r));
	if (!copy || !r) {
		free(copy);
		free(r);
		return -ENOMEM;
	}
	if (t->count)
		memcpy(r, t->r, t->count * sizeof(*r));
	copy->r = r;
	copy->cap = cap;
	copy->count = t->count;
	copy->age = t->age + 1;
	/* One reference is the context's, the other the older table's. */
	copy->refs = 2;
	t->newer = copy;
	t->refs--;
	ctx->ranges = copy;
	return 0;
}

static void put_in(struct sw_ranges *t, struct sw_range r)
{
	uint32_t i = find(t, r.lo);

	memmove(&t->r[i + 1], &t->r[i], (t->count - i) * sizeof(*t->r));
	t->r[i] = r;
	t->count++;
}

/* Remove lo .. hi from all ranges; adds at most one range. */
static void take_out(struct sw_ranges *t, uint64_t lo, uint64_t hi)
{
	uint32_t i = find(t, lo), j;
	struct sw_range tail;

	if (i < t->count && t->r[i].lo < lo) {
		tail = t->r[i];
		t->r[i++].hi = lo;
		if (tail.hi > hi) {
			tail.lo = hi;
			put_in(t, tail);
			return;
		}
	}
	for (j = i; j < t->count && t->r[j].hi <= hi; j++)
		;
	if (j < t->count && t->r[j].lo < hi)
		t->r[j].lo = hi;
	memmove(&t->r[i], &t->r[j], (t->count - j) * sizeof(*t->r));
	t->count -= j - i;
}

/* Bind, replacing overlapping ranges. */
int sw_bind(struct sw_ctx *ctx, uint64_t addr, uint64_t size, bool write)
{
	int ret;

	pthread_mutex_lock(&ctx->lock);
	ret = own_table(ctx, 2);
	if (!ret) {
		take_out(ctx->ranges, addr, addr + size);
		put_in(ctx->ranges, (struct sw_range){ addr, addr + size, write });
	}
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}

/*
 * Unbinding cannot fail. If a table that runs still hold cannot be copied because there is no
 * memory, the range remains bound, and memory to be unmapped remains mapped.
 */
void sw_unbind(struct sw_ctx *ctx, uint64_t addr, uint64_t size, bool unmap)
{
	struct sw_retired *retired = NULL;
	struct sw_ranges *old;
	bool now;

	if (unmap)
		retired = malloc(sizeof(*retired));
	pthread_mutex_lock(&ctx->lock);
	old = ctx->ranges;
	now = old->refs == 1;
	if ((unmap && !retired && !now) || own_table(ctx, 1)) {
		pthread_mutex_unlock(&ctx->lock);
		free(retired);
		return;
	}
	take_out(ctx->ranges, addr, addr + size);
	if (unmap && !now) {
		retired->addr = (void *)(uintptr_t)addr;
		retired->size = size;
		retired->next = old->retired;
		old->retired = retired;
		retired = NULL;
	}
	pthread_mutex_unlock(&ctx->lock);
	if (unmap && now)
		munmap((void *)(uintptr_t)addr, size);
	free(retired);
}
