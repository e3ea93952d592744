// SPDX-License-Identifier: MIT
/*
 * Attention of a few queries: each key and value is used by no more than eight
 * rows, so what counts is how fast they come from memory. A tile takes a piece
 * of the keys, of all heads where these lie side by side, in the order in which
 * they lie, and prefetches what comes next; a second phase puts the pieces of a
 * sequence together (T. Dao et al., "Flash-Decoding", 2023).
 *
 * How the keys are cut does not depend on the number of threads.
 */
#include <string.h>
#include "attn.h"

/* Tiles of a task with enough keys */
#define STREAM_TILES	32u
/* Keys and values of a piece at least: what a piece costs beside them is half a microsecond */
#define PIECE_BYTES	(512u * 1024u)
/* Words that the rows of a tile may take */
#define STREAM_WORDS	(160u * 1024u)
/* What follows the sums of a row in a piece: shift and sum of weights */
#define TAIL		16u
/* Keys that are prefetched ahead of time at most, and bytes */
#define AHEAD		64u
#define AHEAD_BYTES	(12 * 1024)
/* Words of a row's partial sums */
#define PART		64u
/* Largest head of bytes: their sums have to fit */
#define BYTES_DIM	256u

/**
 * struct stream - a tile at hand
 * @c: context
 * @g0: first head of K
 * @heads: heads
 * @rows: rows of a head that have a query
 * @careful: some value may be no number
 * @kp: keys of the block, of the first head; then what comes after them
 * @vp: values, likewise
 * @kt: their places in the table of scales
 * @vt: likewise
 * @limits: what the rows see
 * @kscale: scales of the keys, ATTN_KEYS a head
 * @vscale: scales of the values
 * @q: rows, head by head
 * @part: partial sums
 * @s: scores of the block
 * @w: weights that are narrow
 * @acc: sums of a block of them
 * @copy: as in &struct attn_lines
 * @o: sums
 * @shift: as in &struct attn_line
 * @sum: likewise
 * @narrow_k: as in &struct attn_plan, or NULL for this tile
 * @narrow_v: likewise
 */
struct stream {
	struct attn_ctx c;
	uint32_t g0;
	uint32_t heads;
	uint32_t rows;
	bool careful;
	const uint8_t *kp[ATTN_KEYS + AHEAD];
	const uint8_t *vp[ATTN_KEYS + AHEAD];
	int64_t kt[ATTN_KEYS];
	int64_t vt[ATTN_KEYS];
	float *kscale;
	float *vscale;
	struct attn_limits limits[ATTN_LINE_ROWS];
	float *q;
	float *part;
	float *s;
	uint32_t *w;
	void *acc;
	uint8_t *copy;
	float *o;
	float *shift;
	float *sum;
	const struct attn_narrow *narrow_k;
	const struct attn_narrow *narrow_v;
};

/* Where each key or value of a block is, of head g0, and its scale in the table. */
static int find(struct stream *s, uint32_t slot, uint64_t key, uint32_t n, const uint8_t **p,
		int64_t *table)
{
	const struct uma_tensor_view *t = attn_view(&s->c, slot);
	const bool tabled = slot == UMA_SLOT_B ? s->c.p->k_tabled : s->c.p->v_tabled;
	const int64_t step = fast_bytes(t->dtype, t->strides[1]);
	const int64_t table_step = tabled ? uma_table_stride(t, 1) : 0;
	uint32_t idx[UMA_MAX_RANK] = { 0 }, j, i, run = n;
	int64_t first;

	s->c.q.g = s->g0;
	for (j = 0; j < n; j += run) {
		const uint8_t *at;

		if (attn_key_at(&s->c, slot, key + j, idx))
			return -1;
		run = n - j;
		if (uma_has(s->c.r->prog->op, UMA_SLOT_AUX1))
			run = UMA_MIN(run, t->dims[1] - idx[1]);
		at = (const uint8_t *)fast_ptr(t) +
		     fast_bytes(t->dtype, uma_tensor_offset(t, idx));
		for (i = 0; i < run; i++)
			p[j + i] = at + step * i;
		if (!tabled)
			continue;
		first = (int64_t)uma_table_index(t, idx);
		for (i = 0; i < run; i++)
			table[j + i] = first + table_step * i;
	}
	return 0;
}

/* How many keys or values ahead to prefetch */
static uint32_t ahead_of(const struct stream *s, uint32_t slot)
{
	const struct uma_tensor_view *t = attn_view(&s->c, slot);
	const int64_t line = fast_bytes(t->dtype, t->dims[3]) * s->heads;

	/* Those that are narrow are taken 16 at a time. */
	if (slot == UMA_SLOT_B ? s->narrow_k : s->narrow_v)
		return 16;
	return (uint32_t)UMA_MAX(UMA_MIN(AHEAD_BYTES / line, (int64_t)AHEAD), 1);
}

/* What is read after a block: keys, values, the next block's keys. */
static void foresee(struct stream *s, uint32_t n)
{
	const uint32_t most = UMA_MAX(ahead_of(s, UMA_SLOT_B), ahead_of(s, UMA_SLOT_C));
	const struct uma_tensor_view *t = attn_view(&s->c, UMA_SLOT_B);
	const bool paged = uma_has(s->c.r->prog->op, UMA_SLOT_AUX1);
	const int64_t step = paged ? 0 : fast_bytes(t->dtype, t->strides[1]);
	uint32_t i;

	for (i = 0; i < most; i++) {
		s->kp[n + i] = s->vp[UMA_MIN(i, n - 1)];
		s->vp[n + i] = s->kp[n - 1] + step * (i + 1);
	}
}

/* Scales are read after all keys of the block. */
static void fetch_scales(const struct stream *s, uint32_t slot, const int64_t *table, uint32_t n)
{
	const struct uma_tensor_view *t = attn_view(&s->c, slot);
	const int64_t size = uma_dtype_bits(t->scale_dtype) / 8;
	const uint8_t *base = (const uint8_t *)(uintptr_t)t->scale_addr;
	uint32_t j;

	for (j = 0; j < n; j++)
		__builtin_prefetch(base + table[j] * size, 0, 3);
}

/* Are 16 places in a table evenly apart? Pages may lie in any order. */
static bool evenly(const int64_t *table, int64_t along)
{
	int64_t off = 0;
	uint32_t i;

	for (i = 1; i < 16; i++)
		off |= (table[i] - table[i - 1]) ^ along;
	return !off;
}

/* Scales of the block's keys or values, head by head. */
static void scales(const struct stream *s, uint32_t slot, const int64_t *table, uint32_t n,
		   float *x)
{
	const struct uma_tensor_view *t = attn_view(&s->c, slot);
	const int64_t size = uma_dtype_bits(t->scale_dtype) / 8, step = uma_table_stride(t, 2);
	const int64_t along = uma_table_stride(t, 1);
	const uint8_t *base = (const uint8_t *)(uintptr_t)t->scale_addr;
	uint32_t h, j, i;

	for (j = 0; j < n; j += i) {
		/* Keys side by side in the table, their heads too */
		if (t->scale_dtype == UMA_DTYPE_F32 && step == 1 && j + 16 <= n &&
		    along >= 0 && along <= UINT32_MAX && evenly(table + j, along)) {
			s->c.p->kern->turn((uint32_t *)x + j, ATTN_KEYS,
					   (const uint32_t *)(base + table[j] * 4),
					   (uint32_t)along, 16, s->heads);
			i = 16;
			continue;
		}
		for (h = 0; h < s->heads; h++)
			s->c.run.k->to_f32[t->scale_dtype](&x[h * ATTN_KEYS + j], base +
							   (table[j] + step * h) * size, 1);
		i = 1;
	}
}

static void hide(const struct stream *s, float *x, uint32_t row, uint64_t key, uint32_t n)
{
	const struct attn_limits *l = &s->limits[row];
	const int64_t keep = (int64_t)s->c.q.keep;
	int64_t at = (int64_t)key;
	uint32_t j;

	if (at >= keep && l->lo <= at && l->hi >= at + n - 1)
		return;
	for (j = 0; j < n; j++, at++)
		if (at < keep ? at > l->hk : at < l->lo || at > l->hi)
			x[j] = -__builtin_inff();
}

static struct attn_line line_of(const struct stream *s, uint32_t n)
{
	const struct attn_plan *p = s->c.p;

	return (struct attn_line){
		.rows = s->heads * s->rows,
		.group = s->rows,
		.n = n,
		.dv = p->dv,
		.c = p->c,
		.kscale = p->k_tabled ? s->kscale : NULL,
		.vscale = p->v_tabled ? s->vscale : NULL,
		.s = s->s,
		.o = s->o,
		.shift = s->shift,
		.sum = s->sum,
	};
}

/* The scores of a block become weights. */
static void soften(struct stream *s, uint64_t key, uint32_t n)
{
	const struct attn_plan *p = s->c.p;
	const struct attn_line l = line_of(s, n);
	uint32_t i;

	/* Before keys are hidden: minus infinity times a scale of 0 would be no number. */
	if (p->k_tabled) {
		scales(s, UMA_SLOT_B, s->kt, n, s->kscale);
		p->kern->line_scale(&l);
	}
	if (p->v_tabled)
		scales(s, UMA_SLOT_C, s->vt, n, s->vscale);
	for (i = 0; i < l.rows; i++)
		hide(s, l.s + i * ATTN_KEYS, i % s->rows, key, n);
	p->kern->line_soften(&l);
}

static struct attn_lines lines_of(const struct stream *s, uint32_t slot, uint32_t n)
{
	const struct attn_plan *p = s->c.p;
	const struct uma_tensor_view *t = attn_view(&s->c, slot);
	const int64_t step = fast_bytes(t->dtype, t->strides[2]);

	return (struct attn_lines){
		.heads = s->heads,
		.rows = s->rows,
		.n = n,
		.d = p->d,
		.dv = p->dv,
		.dtype = t->dtype,
		.ahead = ahead_of(s, slot),
		.skip_zero = s->careful,
		.zero = t->quant == UMA_QUANT_TENSOR ? (float)t->zero : 0,
		.p = slot == UMA_SLOT_B ? s->kp : s->vp,
		.step = step,
		.ldq = p->ldq,
		.q = s->q,
		.part = s->part,
		.s = s->s,
		.w = s->w,
		.acc = s->acc,
		.copy = s->copy,
		.o = s->o,
	};
}

/* Keys @key .. @key + @n against all heads of the tile. */
static int run_block(struct stream *s, uint64_t key, uint32_t n)
{
	const struct attn_kernels *k = s->c.p->kern;
	struct attn_lines l;

	if (find(s, UMA_SLOT_B, key, n, s->kp, s->kt) ||
	    find(s, UMA_SLOT_C, key, n, s->vp, s->vt))
		return -1;
	foresee(s, n);
	if (s->c.p->k_tabled)
		fetch_scales(s, UMA_SLOT_B, s->kt, n);
	if (s->c.p->v_tabled)
		fetch_scales(s, UMA_SLOT_C, s->vt, n);
	l = lines_of(s, UMA_SLOT_B, n);
	if (s->narrow_k)
		s->narrow_k->scores(&l);
	else
		k->line_scores(&l);
	soften(s, key, n);
	l = lines_of(s, UMA_SLOT_C, n);
	/* What cannot be put so is bytes: they have their sums in the same order here. */
	if (s->narrow_v && s->narrow_v->weights(&l))
		s->narrow_v->values(&l);
	else
		k->line_values(&l);
	return 0;
}

static int run_range(struct stream *s, uint64_t from, uint64_t to)
{
	for (; from < to; from += ATTN_KEYS)
		if (run_block(s, from, (uint32_t)UMA_MIN(ATTN_KEYS, to - from)))
			return -1;
	return 0;
}

/* The piece's part of the keys that are seen. */
static int run_piece(struct stream *s, uint32_t piece)
{
	const struct attn_plan *p = s->c.p;
	const struct attn_seq *q = &s->c.q;
	const uint64_t each = uma_roundup(uma_divup(q->kv_len, p->pieces), ATTN_KEYS);
	const uint64_t from = UMA_MIN(each * piece, q->kv_len);
	const uint64_t to = UMA_MIN(from + each, q->kv_len);
	uint32_t i;

	for (i = 0; i < uma_roundup(s->heads * s->rows, 16); i++) {
		s->shift[i] = -__builtin_inff();
		s->sum[i] = 0;
	}
	memset(s->o, 0, 4ul * s->heads * s->rows * p->dv);
	return run_range(s, from, UMA_MIN(to, q->keep)) ||
	       run_range(s, UMA_MAX(from, q->lo), UMA_MIN(to, q->hi)) ? -1 : 0;
}

/*
 * Sequence, heads and rows of a tile, and its places in the scratch memory; 1: a sequence with
 * more rows.
 */
static int open_tile(struct stream *s, uint32_t tile)
{
	const struct attn_plan *p = s->c.p;
	struct attn_seq *q = &s->c.q;
	uint8_t *at = s->c.r->scratch;
	uint32_t r, words;

	s->g0 = tile % p->htiles * p->heads;
	s->heads = UMA_MIN(p->heads, p->kv_heads - s->g0);
	q->b = tile / p->htiles;
	q->g = s->g0;
	q->row0 = 0;
	if (attn_seq_open(&s->c))
		return -1;
	if ((uint64_t)q->q_len * p->group > p->rows)
		return 1;
	s->rows = q->q_len * p->group;
	attn_seq_limits(&s->c, s->rows);
	for (r = 0; r < s->rows; r++)
		attn_row_limits(&s->c, r, &s->limits[r]);
	words = p->heads * (uint32_t)p->rows;
	s->q = (float *)at;
	at += uma_roundup(4ul * words * p->ldq, 64);
	s->o = (float *)at;
	at += uma_roundup(4ul * words * p->dv, 64);
	s->s = (float *)at;
	at += 4ul * words * ATTN_KEYS;
	s->w = (uint32_t *)at;
	at += p->narrow_v ? 4ul * words * (ATTN_HEAD + ATTN_KEYS) : 0;
	s->acc = at;
	at += p->narrow_v ? 4ul * words * uma_roundup(p->dv, 64) : 0;
	s->part = (float *)at;
	at += 4ul * words * PART;
	s->kscale = (float *)at;
	at += p->k_tabled ? 4ul * p->heads * ATTN_KEYS : 0;
	s->vscale = (float *)at;
	at += p->v_tabled ? 4ul * p->heads * ATTN_KEYS : 0;
	s->shift = (float *)at;
	at += uma_roundup(4ul * words, 64);
	s->sum = (float *)at;
	at += uma_roundup(4ul * words, 64);
	s->copy = at;
	s->narrow_k = p->narrow_k;
	s->narrow_v = p->narrow_v;
	return 0;
}

/* What is multiplied by a row of Q is as much more than a key. */
static int32_t bias_of(const struct uma_tensor_view *t)
{
	return (t->quant == UMA_QUANT_TENSOR ? t->zero : 0) +
	       (t->dtype == UMA_DTYPE_S8 ? 128 : 0);
}

/*
 * All rows, in the order of the sums; one that cannot be put as keys that are narrow want
 * it widens these.
 */
static int load_rows(struct stream *s)
{
	const struct uma_tensor_view *k = attn_view(&s->c, UMA_SLOT_B);
	const struct attn_plan *p = s->c.p;
	float row[UMA_ATTN_DIM_MAX], *x = s->q;
	uint32_t h, r;

	for (h = 0; h < s->heads; h++)
		for (r = 0; r < s->rows; r++, x += p->ldq) {
			float *to = s->narrow_k ? row : x;

			s->c.q.g = s->g0 + h;
			if (attn_load_q(&s->c, r, (uint32_t *)to))
				return -1;
			if (!s->narrow_k) {
				p->kern->line_order(x, p->d, k->dtype, false);
			} else if (!s->narrow_k->row((uint32_t *)x, row, p->d, bias_of(k))) {
				s->narrow_k = NULL;
				return load_rows(s);
			}
		}
	return 0;
}

/* Where a piece leaves row @row of head @g. */
static float *partial(const struct attn_ctx *c, uint32_t piece, uint32_t g, uint32_t row)
{
	const struct attn_plan *p = c->p;
	const uint64_t at = (((uint64_t)piece * p->batch + c->q.b) * p->kv_heads + g) * p->rows;

	return (float *)c->r->work + (at + row) * (p->dv + TAIL);
}

static int run_keys(struct stream *s, uint32_t piece)
{
	const uint32_t dtype = attn_view(&s->c, UMA_SLOT_C)->dtype;
	const struct attn_plan *p = s->c.p;
	const float *o = s->o;
	uint32_t i;

	if (load_rows(s) || run_piece(s, piece))
		return -1;
	if (!p->kern->line_finite(o, s->heads * s->rows * p->dv)) {
		/* Once more, with care: the product with a weight of 0 may not be 0. */
		s->careful = true;
		s->narrow_v = NULL;
		if (run_piece(s, piece))
			return -1;
	}
	for (i = 0; i < s->heads * s->rows; i++, o += p->dv) {
		float *to = partial(&s->c, piece, s->g0 + i / s->rows, i % s->rows);

		memcpy(to, o, 4ul * p->dv);
		if (!s->narrow_v)
			p->kern->line_order(to, p->dv, dtype, true);
		to[p->dv] = s->shift[i];
		to[p->dv + 1] = s->sum[i];
	}
	return 0;
}

/* A row of the result from its pieces and the sink. */
static int merge_row(struct stream *s, uint32_t g, uint32_t row, float *x)
{
	const struct attn_plan *p = s->c.p;
	const bool sinks = attn_params(&s->c)->flags & UMA_ATTN_SINKS;
	float sink;
	const struct attn_merge m = {
		.pieces = p->pieces,
		.dv = p->dv,
		.from = partial(&s->c, 0, g, row),
		.step = (size_t)p->batch * p->kv_heads * p->rows * (p->dv + TAIL),
		.c = p->c,
		.unit = p->unit,
		.sink = sinks ? &sink : NULL,
		.scale = p->vscale,
	};

	if (sinks && attn_load_sink(&s->c, row, &sink))
		return -1;
	p->kern->line_merge(&m, x);
	return attn_store(&s->c, row, x);
}

static int merge(struct stream *s)
{
	const struct attn_plan *p = s->c.p;
	const float none[UMA_ATTN_DIM_MAX] = { 0 };
	uint32_t h, r;

	for (h = 0; h < s->heads; h++) {
		s->c.q.g = s->g0 + h;
		for (r = 0; r < s->rows; r++)
			if (merge_row(s, s->g0 + h, r, s->o))
				return -1;
		/* Rows of no query are zeros, in a ragged batch those of somebody else. */
		for (; r < p->rows && !p->ragged; r++)
			if (attn_store(&s->c, r, none))
				return -1;
	}
	return 0;
}

/**
 * attn_stream_tile - run a tile
 * @r: thread
 * @phase: 0: a piece of some heads; 1: their results
 * @tile: tile
 */
int attn_stream_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct attn_plans *plans = (const void *)r->prog->priv;
	const struct attn_plan *p = &plans->few;
	struct stream s = { .c = { .r = r, .p = p, .run = fast_model_run(r) } };
	const uint32_t piece = phase ? 0 : tile % p->pieces;
	const int ret = open_tile(&s, phase ? tile : tile / p->pieces);

	if (ret)
		return ret < 0 ? ret : 0;
	return phase ? merge(&s) : run_keys(&s, piece);
}

/* --- preparing ---------------------------------------------------------------------- */

static bool line_type(const struct uma_tensor_view *t, uint32_t vl, bool *tabled, float *scale)
{
	*tabled = false;
	*scale = 1;
	if (t->dims[3] % vl)
		return false;
	if (uma_is_float(t->dtype))
		return !t->quant && t->strides[3] == 1;
	if (!attn_table_ok(t, tabled))
		return false;
	if (!*tabled)
		*scale = attn_scale(t);
	return true;
}

#if defined(__x86_64__)

/* Bytes need not be widened beside a Q of 16 bits or of bytes. */
static const struct attn_narrow *narrow_of(const struct fast_prog *prog, uint32_t slot)
{
	const struct uma_tensor_view *t = &prog->op->t[slot];
	const uint32_t q = prog->op->t[UMA_SLOT_A].dtype;

	return (q == UMA_DTYPE_BF16 || q == UMA_DTYPE_F16 || uma_is_int8(q)) &&
	       uma_is_int8(t->dtype) && t->dims[3] <= BYTES_DIM && prog->cpu->isa & FAST_VNNI ?
	       &attn_bytes : NULL;
}

static void plan_narrow(const struct fast_prog *prog, struct attn_plan *p)
{
	p->narrow_k = narrow_of(prog, UMA_SLOT_B);
	p->narrow_v = narrow_of(prog, UMA_SLOT_C);
}

#else

static void plan_narrow(const struct fast_prog *prog, struct attn_plan *p)
{
	(void)prog;
	(void)p;
}

#endif

/* Bytes of a key of a head and its value */
static uint64_t key_bytes(const struct uma_op *op)
{
	const struct uma_tensor_view *k = &op->t[UMA_SLOT_B], *v = &op->t[UMA_SLOT_C];

	return (uint64_t)(fast_bytes(k->dtype, k->dims[3]) + fast_bytes(v->dtype, v->dims[3]));
}

/**
 * attn_stream_prepare - take an attention of few rows, or the sequences of a ragged one with few
 * @prog: operation
 * @p: plan, with sizes and the kernels of binary32
 */
bool attn_stream_prepare(struct fast_prog *prog, struct attn_plan *p)
{
	const struct uma_op *op = prog->op;
	const struct uma_tensor_view *k = &op->t[UMA_SLOT_B];
	const int64_t across = k->strides[2] < 0 ? -k->strides[2] : k->strides[2];
	const int64_t along = k->strides[1] < 0 ? -k->strides[1] : k->strides[1];
	uint64_t words, tiles, most, each;

	if (p->rows > ATTN_LINE_ROWS && p->ragged)
		p->rows = ATTN_LINE_ROWS / p->group * p->group;
	if (!p->rows || p->rows > ATTN_LINE_ROWS || p->features ||
	    !line_type(k, p->kern->vl, &p->k_tabled, &p->kscale) ||
	    !line_type(&op->t[UMA_SLOT_C], p->kern->vl, &p->v_tabled, &p->vscale) ||
	    !attn_set_scale(op, p, p->kscale))
		return false;
	plan_narrow(prog, p);
	p->ldq = p->d;
	if (p->narrow_k)
		p->ldq = UMA_MAX(p->d, ATTN_HEAD + (uint32_t)uma_roundup(p->d, 64) / 2);
	/* All heads of a key, if they lie side by side. */
	words = p->rows * (p->ldq + p->dv + ATTN_KEYS + PART + 2) +
		(p->narrow_v ? p->rows * (ATTN_HEAD + ATTN_KEYS + uma_roundup(p->dv, 64)) : 0) +
		(p->k_tabled + p->v_tabled) * ATTN_KEYS;
	p->heads = across < along ? p->kv_heads : 1;
	p->heads = (uint32_t)UMA_MIN(p->heads, UMA_MAX(STREAM_WORDS / words, 1u));
	p->htiles = (uint32_t)uma_divup(p->kv_heads, p->heads);
	tiles = (uint64_t)p->batch * p->htiles;
	each = uma_divup(PIECE_BYTES, key_bytes(op) * p->heads);
	most = prog->hint.kt ? uma_divup(p->keys, prog->hint.kt) :
	       UMA_MIN(uma_divup(STREAM_TILES, tiles), uma_divup(p->keys, each));
	most = UMA_MIN(most, ATTN_PIECES);
	p->pieces = (uint32_t)UMA_MIN(most, uma_divup(p->keys, ATTN_KEYS));
	if (tiles * p->pieces > UINT32_MAX)
		return false;
	p->stream = true;
	p->kw = p->d;
	prog->phase_count = 2;
	prog->tiles[0] = (uint32_t)tiles * p->pieces;
	prog->tiles[1] = (uint32_t)tiles;
	prog->work_bytes = 4ull * p->pieces * p->batch * p->kv_heads * p->rows * (p->dv + TAIL);
	return true;
}

/**
 * attn_stream_candidates - pieces of the keys: 1, 2, 4, ...
 * @p: plan that attn_stream_prepare() took
 * @out: hints, with the keys of a piece
 * @max: room in @out
 *
 * Return: number of hints.
 */
uint32_t attn_stream_candidates(const struct attn_plan *p, struct fast_hint *out, uint32_t max)
{
	uint64_t keys = uma_roundup(p->keys, ATTN_KEYS);
	uint32_t n = 0;

	for (; keys >= ATTN_KEYS && n < max; keys = uma_divup(keys, 2))
		if (keys <= UINT16_MAX)
			out[n++] = (struct fast_hint){ .kt = (uint16_t)keys };
	return n;
}
