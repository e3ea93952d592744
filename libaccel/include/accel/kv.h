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
	/** @layers: number of layers of the model, 1 to 4096 */
	uint32_t layers;
	/** @kv_heads: number of heads of keys and values */
	uint32_t kv_heads;
	/** @head_dim: elements of a key */
	uint32_t head_dim;
	/** @v_dim: elements of a value, 0: @head_dim */
	uint32_t v_dim;
	/** @dtype: ACCEL_F32, ACCEL_F16, ACCEL_BF16; ACCEL_S8: a scale for each row and head */
	uint32_t dtype;
	/** @scale_dtype: ACCEL_S8: ACCEL_F32 (also 0) or ACCEL_F16; else 0 */
	uint32_t scale_dtype;
	/** @page_size: number of tokens of a page, 1 to 4096; 0: 16 */
	uint32_t page_size;
	/** @pages: number of pages of the pool, which has at most INT32_MAX tokens */
	uint32_t pages;
	/**
	 * @engine: &enum accel_engine that writes rows, ACCEL_ENGINE_AUTO: the fastest that
	 * supports it
	 */
	uint32_t engine;
	/** @label: name shown by tools, NULL: none */
	const char *label;
};

/** ACCEL_KV_OPTS_INIT: default options; the shape is to be set */
#define ACCEL_KV_OPTS_INIT	{ sizeof(struct accel_kv_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL }

/**
 * accel_kv_create - create a cache of keys and values for attention
 * @ctx: context
 * @opts: shape
 * @kv: out
 *
 * A cache has a pool of pages, each with the keys and values of page_size tokens in all
 * layers, and sequences, which are lists of pages. Sequences may share pages; a shared page
 * is copied before it is written. All memory of the pool is allocated by this function.
 *
 * The CPU assigns pages when a function is called, but rows are written by jobs. So jobs that
 * use the pages of a cache must run in the order in which they were built: in one queue, or
 * with fences between them. This also applies to pages that were released, because the next
 * reservation may use them.
 *
 * Int8: the scale of a row (a token's key or value in one head) is the largest
 * magnitude in it divided by 127, 1 for a row of zeros, and elements are rounded to
 * nearest even. A row with an infinity or a NaN becomes NaN.
 *
 * Threads: any, several at once; but a sequence may be changed by one thread at a time only.
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_kv_create(struct accel_ctx *ctx,
			      const struct accel_kv_opts *opts,
			      struct accel_kv **kv);

/**
 * accel_kv_destroy - release a cache; jobs that use it keep its memory
 * @kv: cache, or NULL
 */
ACCEL_API void accel_kv_destroy(struct accel_kv *kv);

/**
 * accel_kv_seq_create - create an empty sequence
 * @kv: cache
 * @seq: out: its number, which is not reused soon after its release
 *
 * Return: 0; -ENOSPC 2^20 sequences; -ENOMEM.
 */
ACCEL_API int accel_kv_seq_create(struct accel_kv *kv, uint32_t *seq);

/**
 * accel_kv_seq_destroy - release a sequence and its pages
 * @kv: cache
 * @seq: sequence
 *
 * Return: 0; -ENOENT no such sequence.
 */
ACCEL_API int accel_kv_seq_destroy(struct accel_kv *kv, uint32_t seq);

/**
 * accel_kv_seq_fork - create a sequence with the first tokens of another
 * @kv: cache
 * @seq: sequence
 * @length: number of tokens of the new one, at most that of @seq
 * @child: out: the new sequence
 *
 * Nothing is copied: both share pages until one of them grows. The next position is the same
 * as after accel_kv_seq_truncate() to @length.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @length; -ENOSPC 2^20 sequences;
 * -ENOMEM.
 */
ACCEL_API int accel_kv_seq_fork(struct accel_kv *kv, uint32_t seq,
				uint64_t length, uint32_t *child);

/**
 * accel_kv_seq_truncate - remove the last tokens
 * @kv: cache
 * @seq: sequence
 * @length: number of tokens to keep, at most the current number
 *
 * If any are removed, the next token has the position after the last one that is kept;
 * evictions after that position are forgotten.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @length.
 */
ACCEL_API int accel_kv_seq_truncate(struct accel_kv *kv, uint32_t seq,
				    uint64_t length);

/**
 * accel_kv_seq_evict - remove tokens in the middle
 * @kv: cache
 * @seq: sequence
 * @first: number of tokens to keep at the beginning
 * @last: number of tokens to keep at the end
 *
 * Removes whole pages only: those between the page of the last of the @first tokens and that
 * of the first of the @last tokens. The remaining tokens are neither moved nor changed: keys
 * with a rotary embedding keep their positions. For windows that keep the first tokens: G.
 * Xiao et al., "Efficient Streaming Language Models with Attention Sinks", 2023,
 * arXiv:2309.17453.
 *
 * Return: 0; -ENOENT no such sequence; -ENOMEM.
 */
ACCEL_API int accel_kv_seq_evict(struct accel_kv *kv, uint32_t seq,
				 uint64_t first, uint64_t last);

/**
 * struct accel_kv_seq_info - description of a sequence
 */
struct accel_kv_seq_info {
	/** @size: sizeof(struct accel_kv_seq_info) */
	uint32_t size;
	/** @pages: number of pages */
	uint32_t pages;
	/** @shared_pages: number of pages that are shared */
	uint32_t shared_pages;
	/** @pad: 0 */
	uint32_t pad;
	/** @length: number of tokens in the cache */
	uint64_t length;
	/**
	 * @evicted: number of tokens that were evicted before, between or after those in the
	 * cache; @length + @evicted is the next position
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
 * accel_kv_reserve - reserve pages for further tokens of sequences
 * @kv: cache
 * @job: job of the same context that was not submitted yet
 * @rows: sequences and their numbers of new tokens; no sequence twice
 * @count: number of @rows
 * @deps: as for accel_job_add()
 * @dep_count: as for accel_job_add()
 * @index: out: operation that comes last, UINT32_MAX if there is none; may be NULL
 *
 * Takes pages from the pool. If the last page of a sequence is shared and not full, an
 * operation that copies it is added to the job. The new rows of each layer must then be
 * written with accel_kv_append(), in this job or a later one; until that has run, their
 * contents are undefined.
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
 * struct accel_kv_append - rows of the last tokens of sequences, in one layer
 */
struct accel_kv_append {
	/** @size: sizeof(struct accel_kv_append) */
	uint32_t size;
	/** @layer: layer */
	uint32_t layer;
	/** @rows: sequences and numbers of tokens, as reserved; NULL with @slots */
	const struct accel_kv_rows *rows;
	/** @count: number of @rows */
	uint32_t count;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @k: keys [all tokens, kv_heads, head_dim], in the order of @rows; F32, F16, BF16,
	 * any strides, with a buffer
	 */
	struct accel_tensor k;
	/** @v: values [all tokens, kv_heads, v_dim], the same */
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
 * accel_kv_append - add operations to a job that write rows to pages
 * @kv: cache
 * @job: job of the same context that was not submitted yet
 * @append: rows and their destination
 * @deps: as for accel_job_add()
 * @dep_count: as for accel_job_add()
 * @index: out: operation that comes last, UINT32_MAX if there is none; may be NULL
 *
 * Adds two operations, ACCEL_OP_KV_WRITE of keys and of values. The second waits for the
 * first, so an operation that waits for @index waits for both. They convert to the type of
 * the cache, or quantise.
 *
 * With append.slots the job reads the slots when it runs, and may be submitted again,
 * unchanged or after accel_job_rebind(): a step of a decoder reserves a token for each
 * sequence, calls accel_kv_slots(), and submits the same job.
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
 * accel_kv_slots - compute the slots of the last tokens of sequences
 * @kv: cache
 * @rows: sequences and numbers of tokens, as reserved; no sequence twice
 * @count: number of @rows
 * @slots: int32 [all tokens], dense, with a buffer, which this function writes in the order
 *	of @rows. A slot is the page times page_size plus the index in the page
 *
 * For &struct accel_kv_append.slots and &struct accel_kv_write_desc.slots. No job that reads
 * the buffer may be pending.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @slots, more tokens than the
 * sequence has; -EBUSY a page of these tokens is shared: they were not reserved.
 */
ACCEL_API int accel_kv_slots(struct accel_kv *kv, const struct accel_kv_rows *rows,
			     uint32_t count, const struct accel_tensor *slots);

/**
 * accel_kv_tensors - get the pool of a layer, for &struct accel_attention_desc
 * @kv: cache
 * @layer: layer
 * @k: out: [pages, page_size, kv_heads, head_dim]
 * @v: out: [pages, page_size, kv_heads, v_dim]
 *
 * The tensors have borrowed references to the buffers of the cache.
 *
 * Return: 0; -EINVAL no such layer.
 */
ACCEL_API int accel_kv_tensors(struct accel_kv *kv, uint32_t layer,
			       struct accel_tensor *k, struct accel_tensor *v);

/**
 * accel_kv_table - create a page table and lengths of the current sequences
 * @kv: cache
 * @seqs: sequences; may repeat
 * @count: their number, not 0
 * @columns: number of pages of a row, at least that of the longest sequence; 0: that number
 * @pages: out: int32 [count, columns]; -1 where a sequence has no page
 * @lengths: out: int32 [count]: number of tokens of each
 *
 * Both are in a new buffer that the caller releases: accel_bo_unref(pages->bo).
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
 * @path: file, replaced atomically when everything is written
 *
 * The file has a version and checksums (CRC-64 of ECMA-182), is little-endian, and does not
 * depend on pages: a cache with other pages can load it. It has version 2 if tokens were
 * evicted, with their positions; else version 1. Jobs that write the rows must have ended.
 *
 * Return: 0; -ENOENT no such sequence, or directory; errors of open(), write(),
 * fsync() and rename().
 */
ACCEL_API int accel_kv_save(struct accel_kv *kv, uint32_t seq, const char *path);

/**
 * accel_kv_load - read a sequence from a file
 * @kv: cache of the same shape and types; page_size and pages may differ
 * @path: file of accel_kv_save()
 * @seq: out: a new sequence
 *
 * The contents of the file are used only if the checksums match; else the cache does not
 * change. A file of version 1 may have a number of evicted tokens without their positions:
 * they count as evicted before the first one. Jobs that use released pages must have ended.
 *
 * Return: 0; -EINVAL the file is of another shape, with the field in the error record;
 * -EBADMSG not such a file, truncated or corrupt; -EPROTO a version that this library does
 * not support; -ENOSPC too few pages; errors of open() and read(); -ENOMEM.
 */
ACCEL_API int accel_kv_load(struct accel_kv *kv, const char *path, uint32_t *seq);

/**
 * struct accel_kv_stats - statistics of a cache
 */
struct accel_kv_stats {
	/** @size: sizeof(struct accel_kv_stats) */
	uint32_t size;
	/** @sequences: number of sequences */
	uint32_t sequences;
	/** @pages: number of pages of the pool */
	uint32_t pages;
	/** @used_pages: number of pages of sequences */
	uint32_t used_pages;
	/** @used_pages_peak: largest value of @used_pages */
	uint32_t used_pages_peak;
	/** @shared_pages: number of pages of more than one sequence */
	uint32_t shared_pages;
	/** @tokens: sum of the lengths of all sequences, with shared tokens counted for each */
	uint64_t tokens;
	/** @bytes: size of the pool */
	uint64_t bytes;
	/** @page_bytes: size of a page in all layers, including scales */
	uint64_t page_bytes;
	/** @copied_pages: number of pages that were copied because they were shared */
	uint64_t copied_pages;
	/** @evicted_tokens: number of evicted tokens */
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
