// SPDX-License-Identifier: MIT
/*
 * Attention by tiles of rows: a tile holds its rows of Q and their sums, turned,
 * and goes along the keys in blocks. A block of keys and values is brought in
 * once, converted and dense, for all groups of rows of the tile: what it costs
 * is shared by up to 528 rows.
 *
 * Method: T. Dao et al., "FlashAttention", 2022.
 */
#include <string.h>
#include "attn.h"

/* Words that the rows of a tile, and a block, may take */
#define TILE_WORDS	(96u * 1024u)
#define BLOCK_WORDS	(32u * 1024u)
/*
 * Tiles that give a thread something to do beside others; and where it would
 * show in the result, in the order of sums, whatever the threads.
 */
#define THREAD_TILES	3u
#define FEW_TILES	16u
/* Rows of Q that are fetched ahead: each is in a page of its own */
#define Q_AHEAD		16u

/**
 * struct tile - a tile at hand: places in the scratch memory
 * @c: context
 * @rows: rows that have a query
 * @odd_on: some value may be no number: look at each
 * @odd: those of the block
 * @odd_count: their number
 * @q: Q, turned, group by group
 * @o: sums, likewise
 * @k: keys of the block
 * @v: values of the block
 * @turned: pairs of them for tiles of a processor: where @v has no pairs
 * @s: scores
 * @tmp: rows of a group before they are turned
 * @mask: mask of a group
 * @kscale: of the block's keys
 * @vscale: of its values
 * @shift: of each row, and so on: see &struct attn_group
 */
struct tile {
	struct attn_ctx c;
	uint32_t rows;
	bool odd_on;
	uint32_t odd[ATTN_KEYS];
	uint32_t odd_count;
	uint32_t *q;
	float *o;
	uint32_t *k;
	uint32_t *v;
	uint32_t *turned;
	float *s;
	uint32_t *tmp;
	float *mask;
	float *kscale;
	float *vscale;
	float *top;
	float *rescale;
	float *shift;
	float *sum;
	float *slope;
	float *sink;
	int32_t *lo;
	int32_t *hi;
	int32_t *hk;
	int32_t *pos;
};

/* --- scratch memory ----------------------------------------------------------------- */

static void *take(uintptr_t *at, uint64_t words)
{
	void *p = (void *)*at;

	*at += uma_roundup(words * 4, 64);
	return p;
}

/* Places in @base; returns the bytes taken. */
static uint64_t lay_out(const struct attn_plan *p, struct tile *t, void *base)
{
	const uint32_t most = UMA_MAX(p->ldv, (uint32_t)uma_roundup(p->kw, 16));
	uintptr_t at = (uintptr_t)base;

	t->q = take(&at, (uint64_t)p->mt * p->kw);
	t->o = take(&at, (uint64_t)p->mt * p->ldv);
	t->k = take(&at, (uint64_t)(p->nb + 8) * p->kw);
	t->v = take(&at, (uint64_t)p->nb * p->ldv);
	t->turned = t->v + (size_t)p->nb / 2 * p->ldv;
	t->s = take(&at, (p->nb + 8) * ATTN_SUB);
	t->tmp = take(&at, ATTN_SUB * (uint64_t)UMA_MAX(most, ATTN_KEYS));
	t->mask = take(&at, p->features ? p->nb * ATTN_SUB : 0);
	t->kscale = take(&at, p->nb + 8);
	t->vscale = take(&at, p->nb + 8);
	t->top = take(&at, ATTN_SUB);
	t->rescale = take(&at, ATTN_SUB);
	t->shift = take(&at, p->mt);
	t->sum = take(&at, p->mt);
	t->slope = take(&at, p->mt);
	t->sink = take(&at, p->mt);
	t->lo = take(&at, p->mt);
	t->hi = take(&at, p->mt);
	t->hk = take(&at, p->mt);
	t->pos = take(&at, p->mt);
	return at - (uintptr_t)base;
}

/* --- a group of rows ------------------------------------------------------------------ */

/* Lanes of the group that starts at @row. */
static uint32_t lanes_of(const struct tile *t, uint32_t row)
{
	const uint32_t n = UMA_MIN(t->rows - row, t->c.p->sub);

	return (uint32_t)uma_roundup(n, t->c.p->kern->vl);
}

static struct attn_group group_at(const struct tile *t, uint32_t row)
{
	const struct attn_plan *p = t->c.p;

	return (struct attn_group){
		.nv = lanes_of(t, row) / p->kern->vl,
		.kw = p->kw,
		.dv = (uint32_t)uma_roundup(p->dv, p->kern->mr),
		.ldk = p->kw,
		.ldv = p->kern->open ? p->nb / 2 : p->ldv,
		.k = t->k,
		.v = p->kern->open ? t->turned : t->v,
		.q = t->q + (size_t)row * p->kw,
		.s = t->s,
		.o = t->o + (size_t)row * p->ldv,
		.top = t->top,
		.shift = t->shift + row,
		.sum = t->sum + row,
		.rescale = t->rescale,
		.c = p->c,
		.unit = p->unit,
		.kscale = p->k_tabled && p->kern->bf16 ? t->kscale : NULL,
		.vscale = p->v_tabled && p->kern->bf16 ? t->vscale : NULL,
		.vall = p->vscale,
		.lo = t->lo + row,
		.hi = t->hi + row,
		.hk = t->hk + row,
		.pos = t->pos + row,
		.scale = p->scale,
	};
}

/* Rows of the group at @row, turned, and all that is known of each. */
static int open_group(struct tile *t, uint32_t row)
{
	const struct attn_plan *p = t->c.p;
	const uint32_t flags = attn_params(&t->c)->flags;
	const uint32_t ld = lanes_of(t, row), kw16 = (uint32_t)uma_roundup(p->kw, 16);
	uint32_t i, at;

	for (i = 0; i < ld; i++) {
		struct attn_limits l;

		/* Lanes without a row do as the last row does. */
		at = UMA_MIN(row + i, t->rows - 1);
		if (row + i == at) {
			if (at + Q_AHEAD < t->rows)
				attn_prefetch_q(&t->c, at + Q_AHEAD);
			if (attn_load_q(&t->c, at, t->tmp + i * kw16))
				return -1;
		} else {
			memset(t->tmp + i * kw16, 0, 4ul * p->kw);
		}
		attn_row_limits(&t->c, at, &l);
		t->lo[row + i] = l.lo;
		t->hi[row + i] = l.hi;
		t->hk[row + i] = l.hk;
		t->pos[row + i] = l.pos;
		t->shift[row + i] = -__builtin_inff();
		t->sum[row + i] = 0;
		if (flags & UMA_ATTN_ALIBI && attn_load_slope(&t->c, at, &t->slope[row + i]))
			return -1;
		if (flags & UMA_ATTN_SINKS && attn_load_sink(&t->c, at, &t->sink[row + i]))
			return -1;
	}
	p->kern->turn(t->q + (size_t)row * p->kw, ld, t->tmp, kw16, ld, p->kw);
	memset(t->o + (size_t)row * p->ldv, 0, 4ul * ld * p->ldv);
	return 0;
}

/* A mask for the group at @row. */
static int open_mask(struct tile *t, struct attn_group *g, uint32_t row)
{
	const struct uma_tensor_view *m = attn_view(&t->c, UMA_SLOT_AUX0);
	const uint32_t ld = lanes_of(t, row), nk16 = (uint32_t)uma_roundup(g->nk, 16);
	const uint64_t key = (uint64_t)g->key;
	uint32_t i;

	g->mask = t->mask;
	g->mask_ld = 0;
	/* One for all queries and heads */
	if ((!m->strides[1] || m->dims[1] == 1) && (!m->strides[2] || m->dims[2] == 1))
		return attn_load_mask(&t->c, 0, key, g->nk, t->mask);
	for (i = 0; i < ld; i++)
		if (attn_load_mask(&t->c, UMA_MIN(row + i, t->rows - 1), key, g->nk,
				   (float *)t->tmp + i * nk16))
			return -1;
	g->mask_ld = ld;
	t->c.p->kern->turn((uint32_t *)t->mask, ld, t->tmp, nk16, ld, g->nk);
	return 0;
}

/* Scores that are more than products, or not all seen. */
static int finish(struct tile *t, struct attn_group *g, uint32_t row)
{
	const struct attn_plan *p = t->c.p;
	const struct uma_attention *a = attn_params(&t->c);

	if (p->features) {
		if (a->flags & UMA_ATTN_SOFTCAP)
			memcpy(&g->softcap, &a->softcap, 4);
		if (a->flags & UMA_ATTN_ALIBI)
			g->slope = t->slope + row;
		if (a->flags & UMA_ATTN_MASK && open_mask(t, g, row))
			return -1;
	}
	p->kern->finish(g);
	return 0;
}

static int add_odd(struct tile *t, const struct attn_group *g)
{
	float *x = (float *)t->tmp;
	uint32_t i;

	for (i = 0; i < t->odd_count && t->odd[i] < g->nk; i++) {
		if (attn_load_value(&t->c, (uint64_t)g->key + t->odd[i], x))
			return -1;
		t->c.p->kern->odd(g, t->odd[i], x, t->c.p->dv);
	}
	return 0;
}

/* The group at @row against @n keys from @key on, some of which it may see. */
static int run_group(struct tile *t, uint32_t row, uint64_t key, uint32_t n)
{
	const struct attn_plan *p = t->c.p;
	const struct attn_kernels *k = p->kern;
	struct attn_group g = group_at(t, row);
	const uint32_t last = row + g.nv * k->vl - 1;
	const bool kept = key < t->c.q.keep;
	const int64_t from = kept ? 0 : t->lo[row], to = kept ? t->hk[last] : t->hi[last];
	bool plain;

	if (from >= (int64_t)(key + n) || to < (int64_t)key)
		return 0;
	g.nk = (uint32_t)UMA_MIN((int64_t)n, to - (int64_t)key + 1);
	g.key = (int32_t)key;
	g.keep = (int32_t)t->c.q.keep;
	plain = !p->features && (k->open || g.nk % k->mr == 0) &&
		(kept || t->lo[last] <= (int64_t)key) &&
		(kept ? t->hk[row] : t->hi[row]) >= (int64_t)(key + g.nk - 1);
	k->scores(&g);
	if (!plain && finish(t, &g, row))
		return -1;
	k->soften(&g);
	k->values(&g);
	return t->odd_count ? add_odd(t, &g) : 0;
}

/* --- blocks of keys ------------------------------------------------------------------- */

static bool all_finite(const float *x, uint32_t n)
{
	uint32_t any = 0, bits, i;

	for (i = 0; i < n; i++) {
		memcpy(&bits, &x[i], 4);
		any |= (bits & 0x7f800000u) == 0x7f800000u;
	}
	return !any;
}

/*
 * Values that are not finite leave the block: a product with the weight 0 of a
 * key that is not seen would not be 0.
 */
static int find_odd(struct tile *t, uint64_t key, uint32_t n)
{
	const struct attn_plan *p = t->c.p;
	float *x = (float *)t->tmp;
	uint32_t j, e;

	for (j = 0; j < n; j++) {
		if (attn_load_value(&t->c, key + j, x))
			return -1;
		if (all_finite(x, p->dv))
			continue;
		t->odd[t->odd_count++] = j;
		t->vscale[j] = 1;
		if (!p->kern->bf16) {
			memset(t->v + (size_t)j * p->ldv, 0, 4ul * p->dv);
			continue;
		}
		for (e = 0; e < p->dv; e++)
			t->v[(size_t)(j / 2) * p->ldv + e] &= j & 1 ? 0xffffu : 0xffff0000u;
	}
	return 0;
}

/* The pairs of each element of @n values side by side, and zeros behind the last. */
static void turn_values(struct tile *t, uint32_t n)
{
	const struct attn_plan *p = t->c.p;
	const uint32_t pairs = (n + 1) / 2, all = (uint32_t)uma_roundup(pairs, p->kern->vl);

	memset(t->v + (size_t)pairs * p->ldv, 0, 4ul * (all - pairs) * p->ldv);
	p->kern->turn(t->turned, p->nb / 2, t->v, p->ldv, all, p->ldv);
}

/* @next: keys that come after the block */
static int run_block(struct tile *t, uint64_t key, uint32_t n, uint32_t next)
{
	const struct attn_plan *p = t->c.p;
	const uint32_t slice = (uint32_t)uma_divup((uint64_t)next * p->sub, UMA_MAX(t->rows, 1u));
	uint32_t row, at = 0;

	if (attn_load_keys(&t->c, key, n, t->k, p->kw, t->kscale) ||
	    attn_load_values(&t->c, key, n, t->v, p->ldv, t->vscale))
		return -1;
	t->odd_count = 0;
	if (t->odd_on && find_odd(t, key, n))
		return -1;
	if (p->kern->open)
		turn_values(t, n);
	for (row = 0; row < t->rows; row += p->sub) {
		if (at < next)
			attn_prefetch(&t->c, key + n + at, UMA_MIN(slice, next - at));
		at += slice;
		if (run_group(t, row, key, n))
			return -1;
	}
	return 0;
}

static int run_range(struct tile *t, uint64_t from, uint64_t to)
{
	const uint32_t nb = t->c.p->nb;
	uint64_t key;
	uint32_t n;

	for (key = from; key < to; key += n) { /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
		n = (uint32_t)UMA_MIN(t->c.p->blocks_alike ? nb - key % nb : nb, to - key);
		if (run_block(t, key, n, (uint32_t)UMA_MIN(nb, to - key - n)))
			return -1;
	}
	return 0;
}

static int run_keys(struct tile *t)
{
	const struct attn_plan *p = t->c.p;
	struct attn_seq *q = &t->c.q;
	uint64_t from = q->lo;
	uint32_t row;

	/* Blocks begin where they do for any rows. */
	if (p->blocks_alike && q->lo < q->hi)
		from = UMA_MAX(from / p->nb * p->nb, q->keep);
	if (q->lo < q->hi)
		attn_prefetch(&t->c, q->lo, (uint32_t)UMA_MIN(p->nb, q->hi - q->lo));
	for (row = 0; row < UMA_MIN(t->rows, Q_AHEAD); row++)
		attn_prefetch_q(&t->c, row);
	for (row = 0; row < t->rows; row += p->sub)
		if (open_group(t, row))
			return -1;
	/* Elements that fill up the last step of a value are multiplied, too. */
	for (row = 0; row < p->nb && p->ldv > p->dv; row++)
		memset(t->v + (size_t)row * p->ldv + p->dv, 0, 4ul * (p->ldv - p->dv));
	return run_range(t, 0, q->keep) || run_range(t, from, q->hi) ? -1 : 0;
}

/* --- tiles ---------------------------------------------------------------------------- */

static bool divide(struct tile *t)
{
	const bool sinks = attn_params(&t->c)->flags & UMA_ATTN_SINKS;
	const struct attn_plan *p = t->c.p;
	bool finite = true;
	uint32_t row;

	for (row = 0; row < t->rows; row += p->sub) {
		const struct attn_group g = group_at(t, row);

		finite &= p->kern->end(&g, sinks ? t->sink + row : NULL, t->rows - row, p->dv);
	}
	return finite;
}

static int store(struct tile *t, uint32_t rows)
{
	const struct attn_plan *p = t->c.p;
	uint32_t row, i;

	for (row = 0; row < t->rows; row += p->sub) {
		const uint32_t ld = lanes_of(t, row);

		p->kern->turn(t->tmp, p->ldv, (uint32_t *)t->o + (size_t)row * p->ldv, ld,
			      p->ldv, ld);
		for (i = 0; i < ld && row + i < t->rows; i++)
			if (attn_store(&t->c, row + i, (float *)t->tmp + i * p->ldv))
				return -1;
	}
	/* Rows of no query are zeros, in a ragged batch those of somebody else. */
	memset(t->tmp, 0, 4ul * p->ldv);
	for (row = t->rows; row < rows && !p->ragged; row++)
		if (attn_store(&t->c, row, (float *)t->tmp))
			return -1;
	return 0;
}

static int run_tile(struct tile *t, uint32_t rows)
{
	if (run_keys(t))
		return -1;
	if (!divide(t)) {
		/* Once more, with care. */
		t->odd_on = true;
		if (run_keys(t))
			return -1;
		divide(t);
	}
	return store(t, rows);
}

static int attn_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct attn_plans *plans = (const void *)r->prog->priv;
	const struct attn_plan *p = &plans->more;
	struct tile t = { .c = { .r = r, .p = p, .run = fast_model_run(r) } };
	struct attn_seq *q = &t.c.q;
	uint64_t valid;
	uint32_t rows;
	int ret;

	if (phase || tile >= p->tiles)
		return attn_stream_tile(r, phase, phase ? tile : tile - p->tiles);
	/* The last rows see most keys: they come first. */
	q->row0 = (uint64_t)(p->rtiles - 1 - tile % p->rtiles) * p->mt;
	tile /= p->rtiles;
	q->g = tile % p->kv_heads;
	q->b = tile / p->kv_heads;
	if (attn_seq_open(&t.c))
		return -1;
	rows = (uint32_t)UMA_MIN(p->mt, p->rows - q->row0);
	valid = (uint64_t)q->q_len * p->group;
	if (plans->few.stream && valid <= plans->few.rows)
		return 0;
	t.rows = valid > q->row0 ? (uint32_t)UMA_MIN(rows, valid - q->row0) : 0;
	lay_out(p, &t, r->scratch);
	attn_seq_limits(&t.c, t.rows);
	if (p->kern->open)
		p->kern->open();
	ret = run_tile(&t, rows);
	if (p->kern->open)
		p->kern->close();
	return ret;
}

/* --- preparing ------------------------------------------------------------------------ */

static void sizes(const struct uma_op *op, struct attn_plan *p)
{
	const uint32_t flags = op->u.attention.flags;
	const struct uma_tensor_view *q = &op->t[UMA_SLOT_A], *k = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *len = &op->t[UMA_SLOT_AUX2];

	p->ragged = flags & UMA_ATTN_RAGGED;
	p->kv_ragged = p->ragged && len->rank > 1 && len->dims[1] > UMA_ATTN_LEN_KV_START;
	p->batch = p->ragged ? len->dims[0] : q->dims[0];
	p->queries = p->ragged ? op->u.attention.q_max : q->dims[1];
	p->kv_heads = k->dims[2];
	p->group = p->kv_heads ? q->dims[2] / p->kv_heads : 0;
	p->d = q->dims[3];
	p->dv = op->t[UMA_SLOT_DST].dims[3];
	p->keys = k->dims[1];
	if (flags & UMA_ATTN_PAGED)
		p->keys *= op->t[UMA_SLOT_AUX1].dims[1];
	p->rows = (uint64_t)p->queries * p->group;
}

/* Numbers that stay far from the ends of their types. */
static bool sane(const struct uma_op *op, const struct attn_plan *p)
{
	const struct uma_attention *a = &op->u.attention;
	const int64_t most = 1 << 30;

	return p->rows && p->batch && p->keys && p->d && p->dv &&
	       p->keys <= (uint64_t)most && p->rows <= (uint64_t)most &&
	       a->q_offset <= most && a->q_offset >= -most;
}

/* Scale of the scores; @k is what K's scale puts into it. */
bool attn_set_scale(const struct uma_op *op, struct attn_plan *p, float k)
{
	float scale;

	memcpy(&scale, &op->u.attention.scale, 4);
	p->negate = scale < 0;
	p->scale = (p->negate ? -scale : scale) * k;
	if (!(p->scale * 1e18f > 1 && p->scale < 1e18f))
		return false;
	p->features = op->u.attention.flags & (UMA_ATTN_SOFTCAP | UMA_ATTN_ALIBI |
					       UMA_ATTN_MASK);
	p->c = ATTN_LOG2E;
	p->unit = 1;
	if (!p->features) {
		p->c = p->scale * ATTN_LOG2E;
		p->unit = p->scale;
		p->scale = 1;
	}
	return true;
}

#if defined(__x86_64__)

/* Are K and V of a type that becomes bf16 without loss? */
static bool narrow_type(const struct uma_tensor_view *t, bool *tabled, float *scale)
{
	*tabled = false;
	*scale = 1;
	if (t->dtype == UMA_DTYPE_BF16)
		return !t->quant && (t->strides[3] == 1 || t->dims[3] == 1);
	if (!attn_table_ok(t, tabled))
		return false;
	if (!*tabled)
		*scale = attn_scale(t);
	return true;
}

static bool plan_bf16(const struct fast_prog *prog, struct attn_plan *p)
{
	const struct uma_op *op = prog->op;
	const struct uma_tensor_view *q = &op->t[UMA_SLOT_A];
	float qscale = 1;

	if (!(prog->cpu->isa & FAST_BF16) ||
	    (q->dtype != UMA_DTYPE_BF16 && !uma_is_int8(q->dtype)) ||
	    !narrow_type(&op->t[UMA_SLOT_B], &p->k_tabled, &p->kscale) ||
	    !narrow_type(&op->t[UMA_SLOT_C], &p->v_tabled, &p->vscale))
		return false;
	p->kern = prog->cpu->isa & FAST_AMX_BF16 ? &attn_amx : &attn_bf16;
	/* Bytes less their zero point are bf16 as they are: their scale is the scores'. */
	if (uma_is_int8(q->dtype))
		qscale = attn_scale(q);
	return attn_set_scale(op, p, p->kscale * qscale);
}

#else

static bool plan_bf16(const struct fast_prog *prog, struct attn_plan *p)
{
	(void)prog;
	(void)p;
	return false;
}

#endif

static bool plan_f32(const struct fast_prog *prog, struct attn_plan *p)
{
	p->k_tabled = false;
	p->v_tabled = false;
	p->vscale = 1;
#if defined(__x86_64__)
	if (prog->cpu->isa & FAST_AVX512)
		p->kern = &attn_avx512;
	else if (prog->cpu->isa & FAST_AVX2)
		p->kern = &attn_avx2;
#endif
	return p->kern && attn_set_scale(prog->op, p, 1);
}

/* Rows and keys that are held at once. */
static bool cut(struct fast_prog *prog, struct attn_plan *p)
{
	const uint64_t heads = (uint64_t)p->batch * p->kv_heads;
	const uint32_t few = prog->op->u.attention.flags & UMA_ATTN_WINDOW ? FEW_TILES :
			     THREAD_TILES * prog->cpu->threads;
	struct tile t;
	uint64_t most, tiles;

	p->sub = UMA_MIN((p->kern->open ? 2 : 3) * p->kern->vl, ATTN_SUB);
	p->kw = p->kern->bf16 ? (p->d + 1) / 2 : p->d;
	if (p->kern->open)
		p->kw = (uint32_t)uma_roundup(p->kw, p->kern->vl);
	p->ldv = (uint32_t)uma_roundup(p->dv, 16);
	most = UMA_MIN(TILE_WORDS / (p->kw + p->ldv), ATTN_ROWS) / p->sub * p->sub;
	most = UMA_MAX(most, p->sub);
	if (prog->hint.mt)
		most = UMA_MIN(most, uma_roundup(prog->hint.mt, p->sub));
	p->nb = ATTN_KEYS;
	/* Pairs of as many keys as there are lanes are what a tile has. */
	while (p->nb > (p->kern->open ? 32 : 16) && p->nb * (p->kw + p->ldv) > BLOCK_WORDS)
		p->nb /= 2;
	while (most > 2 * p->sub && heads * uma_divup(p->rows, most) < few)
		most -= p->sub;
	/* Tiles of about the same size */
	tiles = uma_divup(p->rows, most);
	p->mt = (uint32_t)uma_roundup(uma_divup(p->rows, tiles), p->sub);
	p->rtiles = (uint32_t)uma_divup(p->rows, p->mt);
	if (__builtin_mul_overflow(heads, p->rtiles, &tiles) || tiles > UINT32_MAX)
		return false;
	p->tiles = (uint32_t)tiles;
	return lay_out(p, &t, NULL) <= FAST_SCRATCH;
}

static int attn_prepare(struct fast_prog *prog)
{
	struct attn_plans *plans = (struct attn_plans *)prog->priv;
	struct attn_plan *p = &plans->more, *few = &plans->few;

	sizes(prog->op, p);
	if (!sane(prog->op, p))
		return fast_leave(prog, "a dimension is 0 or above 2^30");
	p->blocks_alike = fast_reproducible(prog);
	*few = *p;
	if (!p->blocks_alike && plan_f32(prog, few) && attn_stream_prepare(prog, few) &&
	    few->rows == p->rows)
		return 1;
	if (!plan_bf16(prog, p) && !plan_f32(prog, p))
		return fast_leave(prog, "no kernel has these types");
	if (!cut(prog, p))
		return fast_leave(prog, "a tile does not fit into the memory of a thread");
	if (few->stream && !__builtin_add_overflow(prog->tiles[0], p->tiles, &prog->tiles[0]))
		return 1;
	few->stream = false;
	prog->phase_count = 1;
	prog->tiles[0] = p->tiles;
	return 1;
}

static uint32_t attn_candidates(const struct fast_prog *prog, struct fast_hint *out, uint32_t max)
{
	const struct attn_plans *plans = (const void *)prog->priv;
	const struct attn_plan *p = &plans->more;

	return !p->tiles ? attn_stream_candidates(&plans->few, out, max) :
			   fast_row_hints(out, max, p->sub, UMA_MIN(p->rows, (uint64_t)ATTN_ROWS));
}

const struct fast_class fast_attention = {
	.name = "attention",
	.prepare = attn_prepare,
	.tile = attn_tile,
	.candidates = attn_candidates,
};
