// SPDX-License-Identifier: MIT
/*
 * Beginnings of sequences that are kept, in whole pages. They are found by hashes, each of a page
 * and all before it; what is found is held against the tokens, so that a hash that two texts
 * share does no harm.
 */
#include <stdlib.h>
#include <string.h>

#include "generate.h"

/* Of some tokens behind those that have the hash @before */
uint64_t kept_hash(uint64_t before, const int32_t *tokens, uint32_t count)
{
	uint64_t h = before;
	uint32_t i;

	for (i = 0; i < count; i++) {
		h = (h ^ (uint32_t)tokens[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

/* Hashes that two have in common: those are the first ones. */
uint32_t kept_common(const uint64_t *a, uint32_t a_pages, const uint64_t *b, uint32_t b_pages)
{
	uint32_t low = 0, high = a_pages < b_pages ? a_pages : b_pages, mid;

	while (low < high) {
		mid = low + (high - low + 1) / 2;
		if (a[mid - 1] == b[mid - 1])
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/**
 * kept_find - the beginning that has most pages of a text
 * @kept: beginnings
 * @hash: of the text's pages, with its salt
 * @pages: how many
 * @tokens: the text
 * @page_size: tokens of a page
 * @common: out: pages that they share
 *
 * Return: it, NULL: there is none.
 */
struct beginning *kept_find(struct kept *kept, const uint64_t *hash, uint32_t pages,
			    const int32_t *tokens, uint32_t page_size, uint32_t *common)
{
	struct beginning *best = NULL;
	uint32_t i, n;

	*common = 0;
	for (i = 0; i < kept->count; i++) {
		struct beginning *b = &kept->list[i];

		n = kept_common(hash, pages, b->hash, b->count / page_size);
		if (n <= *common || memcmp(tokens, b->tokens, n * page_size * sizeof(*tokens)))
			continue;
		*common = n;
		best = b;
	}
	if (best)
		best->used = ++kept->clock;
	return best;
}

static void drop(struct kept *kept, struct engine *e, uint32_t index)
{
	struct beginning *b = &kept->list[index];

	engine_seq_drop(e, &b->seq);
	free(b->tokens);
	free(b->hash);
	*b = kept->list[--kept->count];
}

/* The one that was not found for longest goes; false: there is none. */
bool kept_evict(struct kept *kept, struct engine *e)
{
	uint32_t i, oldest = 0;

	if (!kept->count)
		return false;
	for (i = 1; i < kept->count; i++)
		if (kept->list[i].used < kept->list[oldest].used)
			oldest = i;
	drop(kept, e, oldest);
	return true;
}

/**
 * kept_add - keep a beginning
 * @kept: beginnings
 * @e: engine
 * @what: it, which is @kept's from now on
 *
 * Those that it goes on from are not needed beside it, nor is it beside one that goes on from it.
 */
void kept_add(struct kept *kept, struct engine *e, const struct beginning *what)
{
	uint32_t i, n, pages = what->count / e->page_size;
	struct beginning add = *what;
	bool there = false;

	/* The last one takes the place of one that goes: it has been looked at. */
	for (i = kept->count; i-- > 0 && !there;) {
		struct beginning *b = &kept->list[i];

		n = kept_common(b->hash, b->count / e->page_size, add.hash, pages);
		there = n == pages;
		if (!there && n == b->count / e->page_size)
			drop(kept, e, i);
	}
	if (there || !kept->max || !pages) {
		engine_seq_drop(e, &add.seq);
		free(add.tokens);
		free(add.hash);
		return;
	}
	if (kept->count == kept->max)
		kept_evict(kept, e);
	add.used = ++kept->clock;
	kept->list[kept->count++] = add;
}

void kept_free(struct kept *kept, struct engine *e)
{
	while (kept->count)
		drop(kept, e, 0);
	free(kept->list);
}
