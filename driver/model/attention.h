/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Declarations of the attention's files.
 *
 *	attention.c	the task: parameters, operands, division into tiles
 *	attention_tile.c a tile: sequence, positions, rows in and out, pieces
 *	attention_keys.c a run of keys: scores, masks, weights, values
 */
#ifndef _UMA_ATTENTION_H_
#define _UMA_ATTENTION_H_

#include "uma_internal.h"

/** UMA_ATTN_ROWS: largest number of rows of a tile */
#define UMA_ATTN_ROWS		32u
/**
 * UMA_ATTN_BLOCK: number of keys whose scores are added to the softmax at once:
 * blocks start at a multiple of it, so that the result does not depend on the
 * division into tiles and steps
 */
#define UMA_ATTN_BLOCK		64u

/**
 * struct uma_attn_plan - a prepared attention, in the program
 *
 * The rows of a sequence and a head of K are its queries times the heads of Q that
 * use that head of K: row r is query r / group, head r % group of the group. So
 * all queries and heads of a tile share the keys and values that it loads.
 */
struct uma_attn_plan {
	/** @rows: number of rows of a sequence and head of K */
	__u64 rows;
	/** @keys: largest number of keys of a sequence */
	__u64 keys;
	/** @batch: number of sequences */
	__u32 batch;
	/** @kv_heads: number of heads of K and V */
	__u32 kv_heads;
	/** @group: number of heads of Q that use the same head of K */
	__u32 group;
	/** @queries: largest number of queries of a sequence */
	__u32 queries;
	/** @d: head dimension of Q and K */
	__u32 d;
	/** @dv: head dimension of V and DST */
	__u32 dv;
	/** @pieces: number of pieces of the keys, 1 if they are not divided */
	__u32 pieces;
	/** @mt: number of rows of a tile */
	__u32 mt;
	/** @rtiles: number of tiles of @rows */
	__u32 rtiles;
	/** @nt: number of keys loaded at once */
	__u32 nt;
	/** @load_rows: number of rows of Q that a step loads */
	__u32 load_rows;
	/** @store_rows: number of rows that a step stores */
	__u32 store_rows;
	/** @merge_rows: number of partial rows that a step merges */
	__u32 merge_rows;
	/** @ldk: row stride of the transposed keys and of their products */
	__u32 ldk;
	/** @ldv: row stride of the values and of the sums */
	__u32 ldv;
	/** @at_q: offset of the rows of Q in &uma_attn_scratch.data, in words */
	__u32 at_q;
	/** @at_kv: offset of keys or values */
	__u32 at_kv;
	/** @at_qk: offset of the products of rows and keys */
	__u32 at_qk;
	/** @at_s: offset of the scores, and later weights, of a block */
	__u32 at_s;
	/** @at_o: offset of the sums */
	__u32 at_o;
	/** @unbounded: a tile is one step */
	__u8 unbounded;
	/** @ragged: the queries of all sequences are concatenated */
	__u8 ragged;
	/** @kv_ragged: the keys and values of all sequences are concatenated */
	__u8 kv_ragged;
};

/**
 * enum uma_attn_stage - the next step of a tile
 * @UMA_ATTN_LOAD: load rows of Q, or partial results
 * @UMA_ATTN_KEYS: compute the scores of keys
 * @UMA_ATTN_VALUES: sum up the weighted values
 * @UMA_ATTN_STORE: store rows of DST, or partial results
 */
enum uma_attn_stage {
	UMA_ATTN_LOAD,
	UMA_ATTN_KEYS,
	UMA_ATTN_VALUES,
	UMA_ATTN_STORE
};

/**
 * struct uma_attn_scratch - scratch memory of a tile
 *
 * Lengths, in memory that others may write, are read once and kept here with the
 * rest of the tile's state.
 */
struct uma_attn_scratch {
	/** @b: index of the sequence */
	__u32 b;
	/** @g: index of the head of K */
	__u32 g;
	/** @piece: index of the piece of the keys */
	__u32 piece;
	/** @m: number of rows of the tile */
	__u32 m;
	/** @row0: first row of the tile */
	__u64 row0;
	/** @valid: number of rows with a query; the others are zero, or not stored */
	__u32 valid;
	/** @stage: &enum uma_attn_stage */
	__u32 stage;
	/** @next: next row of the stage */
	__u32 next;
	/** @page_entry: entry of the page table that @page was read from, ~0: none */
	__u32 page_entry;
	/** @page: number of the page */
	__u32 page;
	/** @kv_len: number of keys of the sequence */
	__u32 kv_len;
	/** @q_len: number of queries of the sequence */
	__u32 q_len;
	/** @q_start: row of Q of the sequence's first query */
	__u32 q_start;
	/** @kv_start: row of K of the sequence's first key */
	__u32 kv_start;
	/** @pos0: position of the sequence's first query */
	__s64 pos0;
	/** @keep: rows of the tile may see keys in [0, @keep) */
	__u64 keep;
	/** @lo: rows of the tile may see keys in [@lo, @hi), in this piece */
	__u64 lo;
	/** @hi: end of that range */
	__u64 hi;
	/** @from: first key of the piece */
	__u64 from;
	/** @key: next key */
	__u64 key;
	/** @block: first key of the current block */
	__u64 block;
	/** @state: softmax of each row */
	struct uma_soft_state state[UMA_ATTN_ROWS];
	/** @ramp: distances of the keys from a query */
	__s32 ramp[UMA_ATTN_BLOCK];
	/** @tmp: a row of values */
	__u32 tmp[UMA_ROW_MAX];
	/** @tmp2: another row of values */
	__u32 tmp2[UMA_ROW_MAX];
	/** @buf: temporary memory of row.c */
	struct uma_rowbuf buf;
	/** @data: Q, K or V, products, scores, sums */
	__u32 data[] __attribute__((aligned(64)));
};

/** UMA_ATTN_DATA: number of words of &uma_attn_scratch.data */
#define UMA_ATTN_DATA \
	((UMA_SCRATCH_SIZE - (__u32)sizeof(struct uma_attn_scratch)) / 4)

_Static_assert(sizeof(struct uma_attn_plan) <=
	       sizeof(((struct uma_program *)0)->priv), "priv");
_Static_assert(sizeof(struct uma_attn_scratch) <= UMA_SCRATCH_SIZE / 4, "scratch");

#define UMA_F32_MINUS_INF 0xff800000u

/**
 * struct uma_attn_ctx - the current tile
 */
struct uma_attn_ctx {
	/** @run: the current step */
	struct uma_run *run;
	/** @p: division of the task into tiles */
	const struct uma_attn_plan *p;
	/** @s: the worker's scratch memory */
	struct uma_attn_scratch *s;
};

/* Read an integer that others may write, so that the value that is checked is used. */
static inline __s32 uma_attn_read(const void *p)
{
	__s32 v;

	__builtin_memcpy(&v, p, sizeof(v));
	/* Keeps the compiler from reading it again. */
	__asm__("" : "+r" (v));
	return v;
}

static inline const struct uma_tensor_view *
uma_attn_view(const struct uma_attn_ctx *c, __u32 slot)
{
	return &c->run->prog->op.t[slot];
}

static inline float *uma_attn_q(const struct uma_attn_ctx *c, __u32 r)
{
	return (float *)(c->s->data + c->p->at_q + r * c->p->d);
}

static inline float *uma_attn_products(const struct uma_attn_ctx *c, __u32 r)
{
	return (float *)(c->s->data + c->p->at_qk + r * c->p->ldk);
}

static inline float *uma_attn_scores(const struct uma_attn_ctx *c, __u32 r)
{
	return (float *)(c->s->data + c->p->at_s + r * UMA_ATTN_BLOCK);
}

static inline float *uma_attn_sums(const struct uma_attn_ctx *c, __u32 r)
{
	return (float *)(c->s->data + c->p->at_o + r * c->p->ldv);
}

/* A factor of 0 clears the sums, even if values were infinite or NaN. */
static inline void uma_attn_rescale(struct uma_attn_ctx *c, __u32 r, __u32 factor)
{
	if (factor & ~UMA_F32_SIGN)
		c->run->k->scale(uma_attn_sums(c, r), factor, c->p->ldv);
	else
		__builtin_memset(uma_attn_sums(c, r), 0, 4ul * c->p->ldv);
}

/* Query of a row of the tile. */
static inline __u32 uma_attn_query(const struct uma_attn_ctx *c, __u32 r)
{
	return (__u32)((c->s->row0 + r) / c->p->group);
}

/* Head of a row of the tile. */
static inline __u32 uma_attn_head(const struct uma_attn_ctx *c, __u32 r)
{
	return c->s->g * c->p->group + (__u32)((c->s->row0 + r) % c->p->group);
}

/* Is there another key that a row of the tile may see? */
static inline int uma_attn_left(const struct uma_attn_scratch *s)
{
	return s->key < s->keep || (s->key >= s->lo && s->key < s->hi);
}

void uma_attn_open_block(struct uma_attn_ctx *c, __u64 key);
int uma_attn_keys(struct uma_attn_ctx *c);
int uma_attn_values(struct uma_attn_ctx *c);
int uma_attn_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step);

#endif /* _UMA_ATTENTION_H_ */
