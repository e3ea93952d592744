// SPDX-License-Identifier: MIT
/*
 * Memory of kernels: scratch memory of a thread, and memory that the threads of a run share.
 * The latter is kept when a run ends, because new memory costs a page fault every 4 KiB.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "sw.h"

#define PAGE		4096ul
#define HUGE_PAGE	(2ul << 20)
/* Maximum of kept memory: runs in flight that need less get no new pages, which must be cleared */
#define MAX_KEPT_BYTES	(256ul << 20)

_Static_assert(UMA_SCRATCH_SIZE + FAST_SCRATCH <= HUGE_PAGE, "2 MiB a thread");

static void *alloc(size_t size)
{
	void *mem = aligned_alloc(size < HUGE_PAGE ? PAGE : HUGE_PAGE, size);

	/* Reduces TLB misses, if the system has huge pages. */
	if (mem && size >= HUGE_PAGE)
		madvise(mem, size, MADV_HUGEPAGE);
	return mem;
}

/*
 * Round sizes up so that runs can reuse each other's memory: to whole huge pages, and below one
 * to a power of two, of which only the used part is resident.
 */
static size_t work_size(size_t size)
{
	size_t up = PAGE;

	while (up < size && up < HUGE_PAGE)
		up *= 2;
	return size > HUGE_PAGE ? (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : up;
}

void *sw_scratch_new(void)
{
	return alloc(HUGE_PAGE);
}

void sw_scratch_free(void *scratch)
{
	free(scratch);
}

static void work_free(struct sw_work *work)
{
	free(work->mem);
	free(work);
}

/* Memory of @size bytes, 64-byte aligned, with any contents. NULL: out of memory. */
struct sw_work *sw_work_get(struct sw_team *team, size_t size)
{
	struct sw_work **at, **best = NULL, *work = NULL;

	pthread_mutex_lock(&team->work_lock);
	for (at = &team->works; *at; at = &(*at)->next)
		if ((*at)->size >= size && (!best || (*at)->size < (*best)->size))
			best = at;
	if (best) {
		work = *best;
		*best = work->next;
	}
	pthread_mutex_unlock(&team->work_lock);
	if (work)
		return work;
	if (size > SIZE_MAX - HUGE_PAGE)
		return NULL;
	work = malloc(sizeof(*work));
	if (!work)
		return NULL;
	work->size = work_size(size);
	work->mem = alloc(work->size);
	if (!work->mem) {
		free(work);
		return NULL;
	}
	return work;
}

void sw_work_put(struct sw_team *team, struct sw_work *work)
{
	struct sw_work *old, **at;
	size_t bytes = 0;

	pthread_mutex_lock(&team->work_lock);
	work->next = team->works;
	team->works = work;
	for (at = &team->works; *at; at = &(*at)->next) {
		bytes += (*at)->size;
		if (bytes > MAX_KEPT_BYTES)
			break;
	}
	old = *at;
	*at = NULL;
	pthread_mutex_unlock(&team->work_lock);
	while (old) {
		work = old->next;
		work_free(old);
		old = work;
	}
}

void sw_work_exit(struct sw_team *team)
{
	struct sw_work *work;

	while ((work = team->works)) {
		team->works = work->next;
		work_free(work);
	}
	pthread_mutex_destroy(&team->work_lock);
}
