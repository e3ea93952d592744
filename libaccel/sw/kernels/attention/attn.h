/* SPDX-License-Identifier: MIT */
/*
 * Attention in process: what its files share.
 *
 *	attn.c		the class: what it takes, how it is cut, a tile of rows
 *	attn_seq.c	sequences: lengths, positions, pages
 *	attn_rows.c	rows of Q, K, V, mask in, rows of the result out
 *	attn_stream.c	sequences of few rows, many keys: K and V at the speed of memory
 *	attn_kern.h	kernels, for attn_avx2.c, attn_avx512.c, attn_bf16.c, attn_amx.c
 *	attn_tiles.h	the products of the last
 *	attn_lines.h	kernels of attn_stream.c
 *	attn_bytes.c	those for bytes that are not widened
 *
 * Everything is turned by a quarter: a lane of a vector is a row, that is a
 * query and a head. So keys and values are read as scalars from where they are,
 * nothing is ever added up across lanes, and the weights are where the second
 * product wants them.
 */
#ifndef LIBACCEL_SW_FAST_ATTN_H
#define LIBACCEL_SW_FAST_ATTN_H

#include <string.h>
#include "libaccel/sw/kernels/fast.h"

/** ATTN_SUB: most rows of a group that goes along a block of keys at once */
#define ATTN_SUB	48u
/** ATTN_KEYS: most keys of a block */
#define ATTN_KEYS	128u
/** ATTN_ROWS: most rows of a tile */
#define ATTN_ROWS	(11u * ATTN_SUB)
/** ATTN_LINE_ROWS: most rows of attn_stream.c */
#define ATTN_LINE_ROWS	8u
/** ATTN_PIECES: most pieces of a sequence, if a hint asks for them */
#define ATTN_PIECES	128u
/** ATTN_HEAD: words that precede a row of Q, or of weights, that is narrow */
#define ATTN_HEAD	16u

#define ATTN_LOG2E	1.44269502f

/**
 * struct attn_group - a group of rows against a block of keys
 *
 * Arrays of rows have @nv vectors, arrays of several such lines are that far
 * apart. Words are binary32 numbers or pairs of bf16.
 */
struct attn_group {
	/** @nv: vectors of rows, 1 to 3 */
	uint32_t nv;
	/** @nk: keys */
	uint32_t nk;
	/** @kw: words of a key */
	uint32_t kw;
	/** @dv: elements of a value, rounded up */
	uint32_t dv;
	/** @ldk: distance of keys in words */
	uint32_t ldk;
	/** @ldv: distance of values, of pairs of them, or of elements in words */
	uint32_t ldv;
	/** @k: keys; after the last come zeros for as many as are taken at once */
	const uint32_t *k;
	/** @v: values, or pairs of them element by element; of tiles each element's pairs */
	const uint32_t *v;
	/** @q: words of the rows, word by word */
	const uint32_t *q;
	/** @s: scores, then weights, key by key */
	float *s;
	/** @o: sums, element by element */
	float *o;
	/** @top: largest score of the block */
	float *top;
	/** @shift: largest score so far, as it is in @s */
	float *shift;
	/** @sum: of the weights */
	float *sum;
	/** @rescale: what older sums are to be multiplied by */
	float *rescale;
	/** @c: what makes differences of scores exponents of 2 */
	float c;
	/** @unit: what makes scores those of sinks */
	float unit;
	/** @kscale: of each key, or NULL */
	const float *kscale;
	/** @vscale: of each value, or NULL */
	const float *vscale;
	/** @vall: of all values */
	float vall;

	/* The rest is for what is not plain. */

	/** @key: number of the first key */
	int32_t key;
	/** @keep: keys below it are seen whatever @lo is */
	int32_t keep;
	/** @lo: first key that a row sees */
	const int32_t *lo;
	/** @hi: last key that a row sees */
	const int32_t *hi;
	/** @hk: the same of keys below @keep */
	const int32_t *hk;
	/** @pos: positions of the rows */
	const int32_t *pos;
	/** @scale: of the scores, 1 if @c and @unit have it */
	float scale;
	/** @softcap: or 0 */
	float softcap;
	/** @slope: of each row, or NULL */
	const float *slope;
	/** @mask: what is added, key by key, or NULL */
	const float *mask;
	/** @mask_ld: distance of keys in it */
	uint32_t mask_ld;
};

/**
 * struct attn_lines - rows of some heads along a run of keys
 * @heads: heads of K
 * @rows: rows of each, at most ATTN_LINE_ROWS
 * @n: keys, at most ATTN_KEYS
 * @d: elements of a key
 * @dv: elements of a value
 * @dtype: of keys or values
 * @ahead: how many keys ahead to prefetch
 * @skip_zero: leave out values of weight 0
 * @zero: what is subtracted from integers
 * @p: keys or values of the first head, and @ahead more, which are only prefetched
 * @step: bytes from a head to the next
 * @ldq: words from a row of Q to the next
 * @q: rows, in the order of line_order(), or as &struct attn_narrow has them
 * @part: VL / 4 vectors for each row: partial sums
 * @s: scores, then weights, ATTN_KEYS a row
 * @w: weights as &struct attn_narrow has them, ATTN_HEAD + ATTN_KEYS words a row
 * @acc: sums of a block as it has them
 * @copy: room for 16 keys or values
 * @o: sums, dense, in that order too
 */
struct attn_lines {
	uint32_t heads;
	uint32_t rows;
	uint32_t n;
	uint32_t d;
	uint32_t dv;
	uint32_t dtype;
	uint32_t ahead;
	bool skip_zero;
	float zero;
	const uint8_t *const *p;
	int64_t step;
	uint32_t ldq;
	const float *q;
	float *part;
	float *s;
	uint32_t *w;
	void *acc;
	uint8_t *copy;
	float *o;
};

/**
 * struct attn_line - scores of some keys
 * @rows: rows
 * @group: rows that share scales
 * @n: keys
 * @dv: elements of a value
 * @c: what makes differences of scores exponents of 2
 * @kscale: of each key, ATTN_KEYS a group, or NULL
 * @vscale: of each value, or NULL
 * @s: scores, then weights, ATTN_KEYS a row
 * @o: sums, dense
 * @shift: largest score of a row so far, as it is in @s; @shift and @sum have room for
 *	a multiple of 16 rows
 * @sum: of the weights
 */
struct attn_line {
	uint32_t rows;
	uint32_t group;
	uint32_t n;
	uint32_t dv;
	float c;
	const float *kscale;
	const float *vscale;
	float *s;
	float *o;
	float *shift;
	float *sum;
};

/**
 * struct attn_merge - a row in pieces
 * @pieces: number, at most ATTN_PIECES
 * @dv: elements of a value
 * @from: of the first: sums, then the largest score and the sum of the weights
 * @step: words from a piece to the next
 * @c: as in &struct attn_line
 * @unit: as in &struct attn_group
 * @sink: one more score, or NULL
 * @scale: of all values
 */
struct attn_merge {
	uint32_t pieces;
	uint32_t dv;
	const float *from;
	size_t step;
	float c;
	float unit;
	const float *sink;
	float scale;
};

/**
 * struct attn_narrow - kernels of attn_stream.c for keys and values of a type
 */
struct attn_narrow {
	/**
	 * @row: a row of Q, of @d elements, as @scores wants it, in ATTN_HEAD words and
	 * as many as 64-byte lines of two bytes an element have; @bias is what keys are less
	 * than what is multiplied. Returns false: it cannot be put so
	 */
	bool (*row)(uint32_t *to, const float *x, uint32_t d, int32_t bias);
	/** @scores: as line_scores() of &struct attn_kernels */
	void (*scores)(const struct attn_lines *l);
	/** @weights: weights as @values wants them. Returns false: they cannot be put so */
	bool (*weights)(const struct attn_lines *l);
	/** @values: as line_values(), but that sums are in their order */
	void (*values)(const struct attn_lines *l);
};

extern const struct attn_narrow attn_bytes;

/**
 * struct attn_kernels - of an instruction set
 */
struct attn_kernels {
	/** @vl: lanes */
	uint32_t vl;
	/** @mr: keys, or elements of a value, taken at once */
	uint32_t mr;
	/** @bf16: words are pairs of bf16 */
	bool bf16;
	/** @open: what a thread does before a tile of rows, or NULL: these have no tiles */
	void (*open)(void);
	/** @close: and behind it */
	void (*close)(void);
	/** @turn: dst[j * ldd + i] = src[i * lds + j], @n multiples of vl, @m not */
	void (*turn)(uint32_t *dst, uint32_t ldd, const uint32_t *src, uint32_t lds,
		     uint32_t n, uint32_t m);
	/** @scores: products of rows and keys, their largest in @top */
	void (*scores)(const struct attn_group *g);
	/** @finish: scale, bounds, masks; the largest in @top */
	void (*finish)(const struct attn_group *g);
	/** @soften: scores become weights */
	void (*soften)(const struct attn_group *g);
	/** @values: o = o * rescale + products of weights and values */
	void (*values)(const struct attn_group *g);
	/** @odd: add value @j, @x, which is not finite, where its weight is not 0 */
	void (*odd)(const struct attn_group *g, uint32_t j, const float *x, uint32_t dv);
	/** @end: take in sinks (or NULL), divide; are @rows of them finite? */
	bool (*end)(const struct attn_group *g, const float *sinks, uint32_t rows, uint32_t dv);
	/** @copy: @n rows of @bytes */
	void (*copy)(void *dst, int64_t dst_stride, const void *src, int64_t src_stride,
		     uint32_t n, uint32_t bytes);
	/** @dequant: x[i] = scale * (p[i] - zero) of s8 or u8 */
	void (*dequant)(float *x, const void *p, bool is_signed, float zero, float scale,
			uint32_t n);
	/** @narrow: the same without a scale, exactly, as bf16 */
	void (*narrow)(uint16_t *x, const void *p, bool is_signed, float zero, uint32_t n);
	/** @quantise: p[i] = x[i] / scale + zero, rounded and saturated, of NaN zero */
	void (*quantise)(void *p, const float *x, bool is_signed, int32_t zero, float scale,
			 uint32_t n);
	/** @pair: dst[i] = a[i] | b[i] << 16 */
	void (*pair)(uint32_t *dst, const uint16_t *a, const uint16_t *b, uint32_t n);
	/** @line_finite: are @n numbers, a multiple of vl, finite? */
	bool (*line_finite)(const float *x, uint32_t n);
	/** @line_order: the order of elements in which a row meets @dtype, or @back */
	void (*line_order)(float *x, uint32_t n, uint32_t dtype, bool back);
	/** @line_scores: products of rows and keys */
	void (*line_scores)(const struct attn_lines *l);
	/** @line_scale: scores get the scales of their keys */
	void (*line_scale)(const struct attn_line *l);
	/** @line_soften: scores become weights, the sums are rescaled */
	void (*line_soften)(const struct attn_line *l);
	/** @line_values: add products of weights and values */
	void (*line_values)(const struct attn_lines *l);
	/** @line_merge: the row @x from its pieces */
	void (*line_merge)(const struct attn_merge *m, float *x);
};

extern const struct attn_kernels attn_avx2, attn_avx512, attn_bf16, attn_amx;

/**
 * struct attn_plan - a prepared attention, in the program
 */
struct attn_plan {
	/** @rows: most rows of a sequence and head of K: queries times heads */
	uint64_t rows;
	/** @keys: keys that a sequence has room for */
	uint64_t keys;
	/** @kern: kernels */
	const struct attn_kernels *kern;
	/** @narrow_k: those for keys as they are, or NULL; streams */
	const struct attn_narrow *narrow_k;
	/** @narrow_v: likewise for values */
	const struct attn_narrow *narrow_v;
	/** @batch: sequences */
	uint32_t batch;
	/** @kv_heads: heads of K */
	uint32_t kv_heads;
	/** @group: heads of Q that read one of K */
	uint32_t group;
	/** @queries: most of a sequence */
	uint32_t queries;
	/** @d: elements of a key */
	uint32_t d;
	/** @dv: elements of a value */
	uint32_t dv;
	/** @mt: rows of a tile */
	uint32_t mt;
	/** @rtiles: tiles of @rows */
	uint32_t rtiles;
	/** @nb: keys of a block */
	uint32_t nb;
	/** @sub: rows of a group */
	uint32_t sub;
	/** @kw: words of a key */
	uint32_t kw;
	/** @ldv: elements of a value, rounded up */
	uint32_t ldv;
	/** @pieces: of the keys of a sequence; streams */
	uint32_t pieces;
	/** @ldq: words of a row of Q; streams */
	uint32_t ldq;
	/** @tiles: number of tiles; not streams */
	uint32_t tiles;
	/** @heads: of K that a tile takes; streams */
	uint32_t heads;
	/** @htiles: tiles of them */
	uint32_t htiles;
	/** @c: as in &struct attn_group */
	float c;
	/** @unit: likewise */
	float unit;
	/** @scale: likewise */
	float scale;
	/** @kscale: of all keys: K's scale if it is one */
	float kscale;
	/** @vscale: V's */
	float vscale;
	/** @ragged: sequences lie one after the other */
	bool ragged;
	/** @kv_ragged: keys too */
	bool kv_ragged;
	/** @features: scores are more than products */
	bool features;
	/** @negate: Q is negated, since the scale is */
	bool negate;
	/** @k_tabled: each key of a head has a scale */
	bool k_tabled;
	/** @v_tabled: each value */
	bool v_tabled;
	/** @blocks_alike: blocks of keys are the same for any rows */
	bool blocks_alike;
	/** @stream: attn_stream.c does it */
	bool stream;
};

/**
 * struct attn_plans - for sequences of few and of more rows
 * @few: with @stream: for up to its number of rows
 * @more: with @tiles: for others, whose tiles come first
 */
struct attn_plans {
	struct attn_plan few;
	struct attn_plan more;
};

_Static_assert(sizeof(struct attn_plans) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/**
 * struct attn_seq - a sequence, and where a tile's rows are
 * @b: sequence
 * @g: head of K
 * @kv_len: keys
 * @q_len: queries
 * @q_start: row of Q of the first query
 * @kv_start: row of K of the first key
 * @pos0: position of the first query
 * @row0: first row of the tile
 * @keep: some row may see the keys below it,
 * @lo: those from here on,
 * @hi: and none from here on
 */
struct attn_seq {
	uint32_t b;
	uint32_t g;
	uint32_t kv_len;
	uint32_t q_len;
	uint32_t q_start;
	uint32_t kv_start;
	int64_t pos0;
	uint64_t row0;
	uint64_t keep;
	uint64_t lo;
	uint64_t hi;
};

/**
 * struct attn_limits - what a row sees
 * @lo: first key
 * @hi: last key
 * @hk: last of those that are kept
 * @pos: position of the row
 */
struct attn_limits {
	int32_t lo;
	int32_t hi;
	int32_t hk;
	int32_t pos;
};

/**
 * struct attn_ctx - a tile at hand
 * @r: thread and operation
 * @p: how it is cut
 * @run: for the model's functions of rows
 * @q: sequence
 * @page_entry: of the page table that @page was read from, ~0: none
 * @page: page
 */
struct attn_ctx {
	const struct fast_run *r;
	const struct attn_plan *p;
	struct uma_run run;
	struct attn_seq q;
	uint32_t page_entry;
	uint32_t page;
};

static inline float attn_scale(const struct uma_tensor_view *t)
{
	float scale;

	memcpy(&scale, &t->scale, sizeof(scale));
	return scale;
}

static inline const struct uma_tensor_view *attn_view(const struct attn_ctx *c,
						      uint32_t slot)
{
	return &c->r->prog->op->t[slot];
}

static inline const struct uma_attention *attn_params(const struct attn_ctx *c)
{
	return &c->r->prog->op->u.attention;
}

/* Query of a row of the tile. */
static inline uint32_t attn_query(const struct attn_ctx *c, uint32_t row)
{
	return (uint32_t)((c->q.row0 + row) / c->p->group);
}

/* Head of a row of the tile. */
static inline uint32_t attn_head(const struct attn_ctx *c, uint32_t row)
{
	return c->q.g * c->p->group + (uint32_t)((c->q.row0 + row) % c->p->group);
}

/* --- attn_seq.c ------------------------------------------------------------------- */

int attn_seq_open(struct attn_ctx *c);
void attn_seq_limits(struct attn_ctx *c, uint32_t rows);
void attn_row_limits(const struct attn_ctx *c, uint32_t row, struct attn_limits *l);
int attn_key_at(struct attn_ctx *c, uint32_t slot, uint64_t key, uint32_t *idx);

/* --- attn_rows.c ------------------------------------------------------------------ */

int attn_load_q(struct attn_ctx *c, uint32_t row, uint32_t *x);
int attn_load_keys(struct attn_ctx *c, uint64_t key, uint32_t n, uint32_t *x, uint32_t ld,
		   float *scale);
int attn_load_values(struct attn_ctx *c, uint64_t key, uint32_t n, uint32_t *x,
		     uint32_t ld, float *scale);
void attn_prefetch(const struct attn_ctx *c, uint64_t key, uint32_t n);
int attn_load_value(struct attn_ctx *c, uint64_t key, float *x);
int attn_load_mask(struct attn_ctx *c, uint32_t row, uint64_t key, uint32_t n, float *x);
int attn_load_slope(struct attn_ctx *c, uint32_t row, float *x);
int attn_load_sink(struct attn_ctx *c, uint32_t row, float *x);
void attn_prefetch_q(const struct attn_ctx *c, uint32_t row);
int attn_store(struct attn_ctx *c, uint32_t row, const float *x);
bool attn_table_ok(const struct uma_tensor_view *t, bool *tabled);

/* --- attn.c, attn_stream.c ------------------------------------------------------------ */

bool attn_set_scale(const struct uma_op *op, struct attn_plan *p, float k);
bool attn_stream_prepare(struct fast_prog *prog, struct attn_plan *p);
uint32_t attn_stream_candidates(const struct attn_plan *p, struct fast_hint *out, uint32_t max);
int attn_stream_tile(const struct fast_run *r, uint32_t phase, uint32_t tile);

#endif /* LIBACCEL_SW_FAST_ATTN_H */
