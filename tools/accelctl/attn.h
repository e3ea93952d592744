/* SPDX-License-Identifier: MIT */
/*
 * An attention from the command line: its sizes, its data, its reference.
 */
#ifndef ACCELCTL_ATTN_H
#define ACCELCTL_ATTN_H

#include "accelctl.h"
#include "npy.h"

/** ATTN_UNSET: --kv-dtype was not given */
#define ATTN_UNSET	0xffu
/** ATTN_NO_WINDOW: --window was not given */
#define ATTN_NO_WINDOW	UINT64_MAX

/** attn_dtype_names - choices of --dtype, NULL-terminated */
extern const char *const attn_dtype_names[];
/** attn_kv_names - choices of --kv-dtype, NULL-terminated; begins like attn_dtype_names */
extern const char *const attn_kv_names[];
/** attn_table - options of run attention and explain attention */
extern const struct ctl_opt attn_table[];
/** attn_run_table - further options of run attention */
extern const struct ctl_opt attn_run_table[];

/**
 * struct attn_opts - options of run attention and explain attention; sizes of 0 were not given
 */
struct attn_opts {
	uint64_t batch, queries, keys, heads, kv_heads, dim, window, keep, page_size, pieces;
	uint64_t seed, repeat, threads, timeout_ms;
	double scale, softcap;
	uint32_t dtype, kv_dtype, engine, causal, alibi, sinks, check;
	const char *q, *k, *v, *mask, *out;
};

/** attn_opts_init - defaults */
void attn_opts_init(void *data);

/**
 * enum attn_part - tensors of an attention, and the tables of their scales
 * @ATTN_Q: queries
 * @ATTN_K: keys, or a pool of their pages
 * @ATTN_V: values, likewise
 * @ATTN_D: result
 * @ATTN_K_SCALES: of keys in int8, one a row
 * @ATTN_V_SCALES: of values
 * @ATTN_MASK: of --mask
 * @ATTN_PAGES: page table
 * @ATTN_LENGTHS: keys of each sequence, where pages have room for more
 * @ATTN_SLOPES: of --alibi
 * @ATTN_SINKS: of --sinks
 * @ATTN_PARTIALS: memory of --pieces
 * @ATTN_PARTS: number of values
 */
enum attn_part {
	ATTN_Q = 0,
	ATTN_K = 1,
	ATTN_V = 2,
	ATTN_D = 3,
	ATTN_K_SCALES = 4,
	ATTN_V_SCALES = 5,
	ATTN_MASK = 6,
	ATTN_PAGES = 7,
	ATTN_LENGTHS = 8,
	ATTN_SLOPES = 9,
	ATTN_SINKS = 10,
	ATTN_PARTIALS = 11,
	ATTN_PARTS = 12
};

/**
 * struct attn_tensor - a dense tensor in a buffer
 * @dtype: &enum accel_dtype; ACCEL_NONE: there is none
 * @rank: dimensions
 * @dims: sizes
 * @bytes: size
 * @bo: buffer
 */
struct attn_tensor {
	uint32_t dtype;
	uint32_t rank;
	int64_t dims[5];
	uint64_t bytes;
	struct accel_bo *bo;
};

/**
 * struct attn - an attention
 * @opts: what was asked for
 * @file_q: of --q
 * @file_k: of --k
 * @file_v: of --v
 * @file_mask: of --mask
 * @batch: sequences
 * @queries: of each
 * @keys: of each
 * @heads: of the queries
 * @kv_heads: of keys and values
 * @dim: elements of a head of queries and keys
 * @v_dim: of values and result
 * @pages: pages of a sequence; 0: keys lie one after the other
 * @group: elements that share a scale, at least a row
 * @table: which page is where
 * @t: tensors
 * @desc: descriptor
 */
struct attn {
	const struct attn_opts *opts;
	struct npy file_q;
	struct npy file_k;
	struct npy file_v;
	struct npy file_mask;
	int64_t batch;
	int64_t queries;
	int64_t keys;
	int64_t heads;
	int64_t kv_heads;
	int64_t dim;
	int64_t v_dim;
	int64_t pages;
	uint32_t group;
	int32_t *table;
	struct attn_tensor t[ATTN_PARTS];
	struct accel_attention_desc desc;
};

/**
 * struct attn_verdict - the result against the reference
 * @max_abs: largest error
 * @ratio: largest quotient of error and bound: at most 1 is right
 * @differing: elements that are not the reference, rounded
 * @got: worst element
 * @want: what it should be
 */
struct attn_verdict {
	double max_abs;
	double ratio;
	uint64_t differing;
	double got;
	double want;
};

/** attn_init - read files, settle sizes and types, fill the descriptor; an exit status */
int attn_init(struct ctl *ctl, const struct attn_opts *opts, struct attn *a);
/** attn_label - what a buffer is for */
const char *attn_label(enum attn_part part);
/** attn_fill - write the inputs, once the buffers are there */
void attn_fill(struct attn *a);
/** attn_describe - the descriptor, of the buffers that are there */
void attn_describe(struct attn *a);
/** attn_bind - bindings of the buffers, at most ATTN_PARTS; returns their number */
uint32_t attn_bind(const struct attn *a, struct accel_binding *bindings);
/** attn_check - hold the result against the reference; returns 0, -ENOMEM, -EINTR */
int attn_check(const struct attn *a, struct attn_verdict *v);
/** attn_fini - give everything up */
void attn_fini(struct attn *a);

int cmd_run_attention(struct ctl *ctl, void *data, const char *operand);
int cmd_explain_attention(struct ctl *ctl, void *data, const char *operand);

#endif /* ACCELCTL_ATTN_H */
