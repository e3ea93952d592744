/* SPDX-License-Identifier: MIT */
/*
 * Key-value caches: the paged memory of attention.
 */
#ifndef ACCEL_KV_H
#define ACCEL_KV_H

#include <stddef.h>
#include <stdint.h>
#include <accel/context.h>
#include <accel/job.h>
#include <accel/tensor.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_kv;

/**
 * struct accel_kv_opts - options of accel_kv_create()
 */
struct accel_kv_opts {
	/** @size: sizeof(struct accel_kv_opts) */
	uint32_t size;
	/** @layers: layers of the model, 1 to 4096 */
	uint32_t layers;
	/** @kv_heads: heads of keys and values */
	uint32_t kv_heads;
	/** @head_dim: elements of a key */
	uint32_t head_dim;
	/** @v_dim: elements of a value, 0: @head_dim */
	uint32_t v_dim;
	/** @dtype: ACCEL_F32, ACCEL_F16, ACCEL_BF16; ACCEL_S8: a scale for each row and head */
	uint32_t dtype;
	/** @scale_dtype: ACCEL_S8: ACCEL_F32 (also 0) or ACCEL_F16; else 0 */
	uint32_t scale_dtype;
	/** @page_size: tokens of a page, 1 to 4096; 0: 16 */
	uint32_t page_size;
	/** @pages: pages of the pool, which has at most INT32_MAX tokens */
	uint32_t pages;
	/** @engine: &enum accel_engine that writes rows, ACCEL_ENGINE_AUTO: the fastest that can */
	uint32_t engine;
	/** @label: name shown by tools, NULL: none */
	const char *label;
};

/** ACCEL_KV_OPTS_INIT: default options; the shape is to be set */
#define ACCEL_KV_OPTS_INIT	{ sizeof(struct accel_kv_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL }

/**
 * accel_kv_create - a cache of keys and values for attention
 * @ctx: context
 * @opts: shape
 * @kv: out
 *
 * A pool of pages, each with the keys and values of page_size tokens in all
 * layers, and sequences that are lists of pages. Sequences may share pages: one
 * that is shared is copied before it is written. The memory of the pool is
 * allocated here, at once.
 *
 * The books are kept by the CPU when a function is called; rows are written by
 * jobs. So jobs that use the pages of a cache run in the order in which they
 * were built: in one queue, or with fences between them. That holds for pages
 * that were given up too, because the next reservation may hand them out.
 *
 * Int8: the scale of a row (a token's key or value in one head) is the largest
 * magnitude in it divided by 127, 1 for a row of zeros, and elements are rounded to
 * nearest even. A row with an infinity or a NaN becomes NaN.
 *
 * Threads: any may call, also at the same time; one sequence is changed by one
 * thread at a time.
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_kv_create(struct accel_ctx *ctx,
			      const struct accel_kv_opts *opts,
			      struct accel_kv **kv);

/**
 * accel_kv_destroy - give up a cache; jobs that use it keep its memory
 * @kv: cache, or NULL
 */
ACCEL_API void accel_kv_destroy(struct accel_kv *kv);

/**
 * accel_kv_seq_create - an empty sequence
 * @kv: cache
 * @seq: out: its number, not used again soon after it was given up
 *
 * Return: 0; -ENOSPC 2^20 sequences; -ENOMEM.
 */
ACCEL_API int accel_kv_seq_create(struct accel_kv *kv, uint32_t *seq);

/**
 * accel_kv_seq_destroy - give up a sequence and its share of its pages
 * @kv: cache
 * @seq: sequence
 *
 * Return: 0; -ENOENT no such sequence.
 */
ACCEL_API int accel_kv_seq_destroy(struct accel_kv *kv, uint32_t seq);

/**
 * accel_kv_seq_fork - another sequence with the same first tokens
 * @kv: cache
 * @seq: sequence
 * @length: tokens that the new one has, at most those of @seq
 * @child: out: the new one
 *
 * Nothing is copied: they share pages until one of them grows. The next position
 * is what it would be after accel_kv_seq_truncate() to @length.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @length; -ENOSPC 2^20 sequences;
 * -ENOMEM.
 */
ACCEL_API int accel_kv_seq_fork(struct accel_kv *kv, uint32_t seq,
				uint64_t length, uint32_t *child);

/**
 * accel_kv_seq_truncate - give up the last tokens
 * @kv: cache
 * @seq: sequence
 * @length: tokens that stay, at most those that there are
 *
 * If any are given up, the next one has the position behind the last that stays,
 * and counts as never evicted what was evicted from there on.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @length.
 */
ACCEL_API int accel_kv_seq_truncate(struct accel_kv *kv, uint32_t seq,
				    uint64_t length);

/**
 * accel_kv_seq_evict - give up tokens in the middle
 * @kv: cache
 * @seq: sequence
 * @first: tokens at the beginning that stay
 * @last: tokens at the end that stay
 *
 * Whole pages only: what lies between the page of the last of the @first and
 * that of the first of the @last tokens. The remaining ones follow one another
 * and are neither moved nor changed: with keys that have a rotary embedding
 * they keep the positions that they had. For windows with the first tokens
 * kept: G. Xiao et al., "Efficient Streaming Language Models with Attention
 * Sinks", 2023, arXiv:2309.17453.
 *
 * Return: 0; -ENOENT no such sequence; -ENOMEM.
 */
ACCEL_API int accel_kv_seq_evict(struct accel_kv *kv, uint32_t seq,
				 uint64_t first, uint64_t last);

/**
 * struct accel_kv_seq_info - a sequence
 */
struct accel_kv_seq_info {
	/** @size: sizeof(struct accel_kv_seq_info) */
	uint32_t size;
	/** @pages: pages */
	uint32_t pages;
	/** @shared_pages: those that it shares */
	uint32_t shared_pages;
	/** @pad: 0 */
	uint32_t pad;
	/** @length: tokens in the cache */
	uint64_t length;
	/**
	 * @evicted: tokens that were evicted among those that are there, or behind the last
	 * one; @length + @evicted is the next position
	 */
	uint64_t evicted;
};

/**
 * accel_kv_seq_get_info - describe a sequence
 * @kv: cache
 * @seq: sequence
 * @info: out
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL size.
 */
ACCEL_API int accel_kv_seq_get_info(struct accel_kv *kv, uint32_t seq,
				    struct accel_kv_seq_info *info);

/**
 * struct accel_kv_rows - tokens of a sequence
 */
struct accel_kv_rows {
	/** @seq: sequence */
	uint32_t seq;
	/** @tokens: number of its last tokens */
	uint32_t tokens;
};

/**
 * accel_kv_reserve - make sequences longer
 * @kv: cache
 * @job: job of the same context that was not submitted yet
 * @rows: how many tokens which sequence gets; no sequence twice
 * @count: number of @rows
 * @deps: as of accel_job_add()
 * @dep_count: likewise
 * @index: out: operation that comes last, UINT32_MAX if there is none; may be NULL
 *
 * Takes pages from the pool. Where the last page of a sequence is shared and has
 * room, the job gets an operation that copies it. The new rows of every layer
 * are then written by accel_kv_append(), in this job or a later one; until that
 * has run their contents are undefined.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL a sequence twice, more than
 * INT32_MAX tokens; -ENOSPC too few pages; errors of accel_job_add() and
 * accel_plan_create(). A failed call changes neither the cache nor the job.
 */
ACCEL_API int accel_kv_reserve(struct accel_kv *kv, struct accel_job *job,
			       const struct accel_kv_rows *rows, uint32_t count,
			       const uint32_t *deps, uint32_t dep_count,
			       uint32_t *index);

/**
 * struct accel_kv_append - rows for the last tokens of sequences, in one layer
 */
struct accel_kv_append {
	/** @size: sizeof(struct accel_kv_append) */
	uint32_t size;
	/** @layer: layer */
	uint32_t layer;
	/** @rows: sequences and tokens of each, as they were reserved; NULL with @slots */
	const struct accel_kv_rows *rows;
	/** @count: number of @rows */
	uint32_t count;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @k: keys [all tokens, kv_heads, head_dim], those of the first sequence
	 * first; F32, F16, BF16, any strides, with a buffer
	 */
	struct accel_tensor k;
	/** @v: values [all tokens, kv_heads, v_dim], likewise */
	struct accel_tensor v;
	/**
	 * @slots: rank 0, or S32 [all tokens], dense, with a buffer: where rows go when
	 * the job runs, see accel_kv_slots(). Then there are no @rows
	 */
	struct accel_tensor slots;
};

/** ACCEL_KV_APPEND_INIT: to be filled in */
#define ACCEL_KV_APPEND_INIT \
	{ sizeof(struct accel_kv_append), 0, NULL, 0, 0, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT }

/**
 * accel_kv_append - add operations to a job that write rows into pages
 * @kv: cache
 * @job: job of the same context that was not submitted yet
 * @append: what goes where
 * @deps: as of accel_job_add()
 * @dep_count: likewise
 * @index: out: operation that comes last, UINT32_MAX if there is none; may be NULL
 *
 * Two operations, ACCEL_OP_KV_WRITE of keys and of values, of which the second
 * waits for the first, so one that waits for @index waits for both. They convert to
 * the type of the cache, or quantise.
 *
 * With append.slots the job reads them when it runs and may be submitted again,
 * as it is or after accel_job_rebind(): a step of a decoder reserves a token for
 * each sequence, calls accel_kv_slots(), and submits the same job.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @append, more tokens than the
 * sequence has; -EBUSY a page of these tokens is shared: they were not reserved;
 * errors of accel_job_add(), accel_plan_create() and accel_bo_create(). A failed
 * call changes neither the cache nor the job.
 */
ACCEL_API int accel_kv_append(struct accel_kv *kv, struct accel_job *job,
			      const struct accel_kv_append *append,
			      const uint32_t *deps, uint32_t dep_count,
			      uint32_t *index);

/**
 * accel_kv_slots - where the last tokens of sequences are
 * @kv: cache
 * @rows: how many of which sequence, as they were reserved; no sequence twice
 * @count: number of @rows
 * @slots: int32 [all tokens], dense, with a buffer; written here. Those of the first
 *	sequence come first: page times page_size plus the place in the page
 *
 * For &struct accel_kv_append.slots and &struct accel_kv_write_desc.slots. No job
 * that reads the buffer may be on the way.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @slots, more tokens than the
 * sequence has; -EBUSY a page of these tokens is shared: they were not reserved.
 */
ACCEL_API int accel_kv_slots(struct accel_kv *kv, const struct accel_kv_rows *rows,
			     uint32_t count, const struct accel_tensor *slots);

/**
 * accel_kv_tensors - the pool of a layer, for &struct accel_attention_desc
 * @kv: cache
 * @layer: layer
 * @k: out: [pages, page_size, kv_heads, head_dim]
 * @v: out: [pages, page_size, kv_heads, v_dim]
 *
 * The tensors borrow the buffers of the cache.
 *
 * Return: 0; -EINVAL no such layer.
 */
ACCEL_API int accel_kv_tensors(struct accel_kv *kv, uint32_t layer,
			       struct accel_tensor *k, struct accel_tensor *v);

/**
 * accel_kv_table - page table and lengths of sequences as they are now
 * @kv: cache
 * @seqs: sequences, one may be there more than once
 * @count: their number, not 0
 * @columns: pages of a row, at least those of the longest sequence; 0: as many
 * @pages: out: int32 [count, columns]; -1 where a sequence has no page
 * @lengths: out: int32 [count]: tokens of each
 *
 * Both lie in a new buffer that the caller gives up: accel_bo_unref(pages->bo).
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @count, @columns; errors of
 * accel_bo_create().
 */
ACCEL_API int accel_kv_table(struct accel_kv *kv, const uint32_t *seqs,
			     uint32_t count, uint32_t columns,
			     struct accel_tensor *pages,
			     struct accel_tensor *lengths);

/**
 * accel_kv_save - write a sequence to a file
 * @kv: cache
 * @seq: sequence
 * @path: file, replaced at once when all is written
 *
 * The file has a version and checksums (CRC-64 of ECMA-182), is little-endian,
 * and knows nothing of pages: a cache with other pages can load it. It has
 * version 2 if tokens were evicted, for it says where; else version 1. Jobs that
 * write the rows must have ended.
 *
 * Return: 0; -ENOENT no such sequence, or directory; errors of open(), write(),
 * fsync() and rename().
 */
ACCEL_API int accel_kv_save(struct accel_kv *kv, uint32_t seq, const char *path);

/**
 * accel_kv_load - read a sequence from a file
 * @kv: cache of the same shape, types included; page_size and pages may differ
 * @path: file of accel_kv_save()
 * @seq: out: a new sequence
 *
 * Nothing in the file is believed before the checksums are right; the cache is
 * as it was if they are not. A file of version 1 may have evicted tokens, but not
 * where they were: they count as evicted before the first one. Jobs that use pages
 * which were given up must have ended.
 *
 * Return: 0; -EINVAL the file is of another shape: the error record says which
 * field; -EBADMSG not such a file, truncated or corrupt; -EPROTO a version that
 * this library does not know; -ENOSPC too few pages; errors of open() and
 * read(); -ENOMEM.
 */
ACCEL_API int accel_kv_load(struct accel_kv *kv, const char *path, uint32_t *seq);

/**
 * struct accel_kv_stats - a cache
 */
struct accel_kv_stats {
	/** @size: sizeof(struct accel_kv_stats) */
	uint32_t size;
	/** @sequences: sequences */
	uint32_t sequences;
	/** @pages: pages of the pool */
	uint32_t pages;
	/** @used_pages: those that sequences have */
	uint32_t used_pages;
	/** @used_pages_peak: largest value of @used_pages */
	uint32_t used_pages_peak;
	/** @shared_pages: those that more than one sequence has */
	uint32_t shared_pages;
	/** @tokens: lengths of all sequences, shared ones counted for each */
	uint64_t tokens;
	/** @bytes: memory of the pool */
	uint64_t bytes;
	/** @page_bytes: that of a page in all layers, scales included */
	uint64_t page_bytes;
	/** @copied_pages: pages copied because they were shared */
	uint64_t copied_pages;
	/** @evicted_tokens: tokens evicted */
	uint64_t evicted_tokens;
};

/**
 * accel_kv_get_stats - statistics of a cache
 * @kv: cache
 * @stats: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_kv_get_stats(struct accel_kv *kv,
				 struct accel_kv_stats *stats);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_KV_H */
