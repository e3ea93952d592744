/* SPDX-License-Identifier: MIT */
/*
 * What the files of the key-value cache share.
 *
 *	kv.c		the books: pages and sequences
 *	kv_plan.c	plans of operations on rows
 *	kv_job.c	operations that copy and write rows
 *	kv_file.c	sequences in files
 */
#ifndef LIBACCEL_KV_H
#define LIBACCEL_KV_H

#include <pthread.h>
#include <stdbool.h>
#include <accel/accel.h>

/* A sequence's number: index, and how often the index was used */
#define KV_SEQ_BITS	20
#define KV_SEQ_MAX	(1u << KV_SEQ_BITS)

#define KV_NO_PAGE	UINT32_MAX

/**
 * struct kv_gap - tokens that were evicted from one place
 * @at: tokens of the sequence that lie before them
 * @tokens: how many were evicted
 */
struct kv_gap {
	uint64_t at;
	uint64_t tokens;
};

/**
 * struct kv_seq - a sequence
 * @used: it exists
 * @generation: how often this place was used
 * @mark: for looking whether one is named twice
 * @length: tokens
 * @count: pages
 * @cap: room for pages
 * @pages: pages
 * @gap_count: places that tokens were evicted from
 * @gap_cap: room for those
 * @gaps: by @at, each in another place
 */
struct kv_seq {
	bool used;
	uint32_t generation;
	uint64_t mark;
	uint64_t length;
	uint32_t count;
	uint32_t cap;
	uint32_t *pages;
	uint32_t gap_count;
	uint32_t gap_cap;
	struct kv_gap *gaps;
};

/**
 * enum kv_part - the arrays of a page: a buffer for each, [layers, pages, ...]
 * @KV_K: keys
 * @KV_V: values
 * @KV_K_SCALES: their scales
 * @KV_V_SCALES: likewise
 * @KV_PARTS: number of values
 */
enum kv_part {
	KV_K,
	KV_V,
	KV_K_SCALES,
	KV_V_SCALES,
	KV_PARTS
};

/**
 * enum kv_plan_kind - operations on rows
 * @KV_PLAN_COPY: rows of a page to another page, in all layers
 * @KV_PLAN_WRITE: rows from the caller into pages
 */
enum kv_plan_kind {
	KV_PLAN_COPY,
	KV_PLAN_WRITE
};

/**
 * struct kv_plan_key - what a plan is for
 * @kind: &enum kv_plan_kind
 * @part: KV_PLAN_COPY: &enum kv_part, else KV_K or KV_V
 * @rows: tokens
 * @dtype: of the caller's tensor
 * @strides: of the caller's tensor
 */
struct kv_plan_key {
	uint32_t kind;
	uint32_t part;
	uint32_t rows;
	uint32_t dtype;
	int64_t strides[3];
};

/* Plans that are kept: those of a few lengths of rows, a handful each */
#define KV_PLANS	64

struct kv_plan {
	struct kv_plan_key key;
	struct accel_plan *plan;
	uint64_t used;
};

struct accel_kv {
	struct accel_ctx *ctx;
	/* as asked for, defaults filled in; label is NULL */
	struct accel_kv_opts o;
	/* KV_*_SCALES: NULL without quantisation */
	struct accel_bo *bo[KV_PARTS];
	/* bytes of a token in a layer */
	uint64_t row_bytes[KV_PARTS];
	/* protects what follows */
	pthread_mutex_t lock;
	/* sequences that have each page */
	uint32_t *refs;
	uint32_t used_pages;
	uint32_t used_peak;
	uint32_t shared_pages;
	/* where the search for a free page starts */
	uint32_t hint;
	struct kv_seq *seqs;
	uint32_t seq_cap;
	uint32_t seq_count;
	uint64_t marks;
	uint64_t copied_pages;
	uint64_t evicted_tokens;
	struct kv_plan plans[KV_PLANS];
	uint64_t plan_clock;
};

static inline bool kv_quantised(const struct accel_kv *kv)
{
	return kv->o.dtype == ACCEL_S8;
}

/* Elements of a row of keys or values. */
static inline uint32_t kv_dim(const struct accel_kv *kv, uint32_t part)
{
	return part == KV_K || part == KV_K_SCALES ? kv->o.head_dim : kv->o.v_dim;
}

/* Bytes to a token of a page in a layer. */
static inline uint64_t kv_offset(const struct accel_kv *kv, uint32_t part, uint32_t layer,
				 uint32_t page, uint32_t slot)
{
	return (((uint64_t)layer * kv->o.pages + page) * kv->o.page_size + slot) *
	       kv->row_bytes[part];
}

/* kv.c: with the lock held */
struct kv_seq *kv_seq(struct accel_kv *kv, uint32_t seq);
int kv_no_seq(struct accel_kv *kv, const char *field, uint32_t seq);
int kv_seq_add(struct accel_kv *kv, uint32_t *seq);
int kv_seq_room(struct accel_kv *kv, struct kv_seq *s, uint64_t pages);
int kv_seq_gap_room(struct kv_seq *s, uint64_t gaps);
int kv_claim(struct accel_kv *kv, uint32_t after, uint32_t *page);
void kv_ref(struct accel_kv *kv, uint32_t page);
void kv_unref(struct accel_kv *kv, uint32_t page);

/* kv_plan.c: with the lock held */
int kv_plan(struct accel_kv *kv, const struct kv_plan_key *key, struct accel_plan **plan);
void kv_plans_free(struct accel_kv *kv);

#endif /* LIBACCEL_KV_H */
