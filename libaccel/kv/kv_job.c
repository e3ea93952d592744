// SPDX-License-Identifier: MIT
/*
 * Operations of jobs on the pages of a key-value cache: copies of shared pages,
 * and new rows, converted or quantised.
 *
 * Rows of neighbouring pages are one operation. To quantise them takes four:
 * their magnitudes, the largest of each row, the scales, and a conversion that
 * finds the scales in their table.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"
#include "libaccel/core/objects.h"
#include "libaccel/ops/ops.h"

/**
 * struct chain - operations being added, each after the one before
 * @kv: cache
 * @job: job
 * @deps: what the first waits for
 * @dep_count: likewise
 * @first: operations that the job had
 * @index: the last that was added, UINT32_MAX: none
 * @work: magnitudes, and the largest of each row: quantisation
 */
struct chain {
	struct accel_kv *kv;
	struct accel_job *job;
	const uint32_t *deps;
	uint32_t dep_count;
	uint32_t first;
	uint32_t index;
	struct accel_bo *work;
};

/**
 * struct piece - rows that lie in pages one after the other
 * @part: KV_K, KV_V
 * @layer: layer
 * @page: page of the first
 * @slot: its place there
 * @rows: tokens
 * @from: the caller's tensor
 * @skip: rows of it that come before
 */
struct piece {
	uint32_t part;
	uint32_t layer;
	uint32_t page;
	uint32_t slot;
	uint32_t rows;
	const struct operand *from;
	uint64_t skip;
};

/* --- chains of operations ----------------------------------------------------- */

static int add(struct chain *c, const struct kv_plan_key *key,
	       const struct accel_binding *bindings, uint32_t count)
{
	bool begun = c->index != UINT32_MAX;
	struct accel_plan *plan;
	int ret;

	ret = kv_plan(c->kv, key, &plan);
	if (ret)
		return ret;
	return accel_job_add(c->job, plan, bindings, count, begun ? &c->index : c->deps,
			     begun ? 1 : c->dep_count, &c->index);
}

static void begin(struct chain *c, struct accel_kv *kv, struct accel_job *job,
		  const uint32_t *deps, uint32_t dep_count)
{
	*c = (struct chain){
		.kv = kv, .job = job, .deps = deps, .dep_count = dep_count,
		.first = job->op_count, .index = UINT32_MAX
	};
}

static struct accel_binding bind(uint32_t arg, struct accel_bo *bo, uint64_t offset)
{
	return (struct accel_binding){ arg, 0, bo, offset };
}

/* --- reservation ---------------------------------------------------------------- */

static int bad_rows(struct accel_kv *kv, int code, uint32_t i, const char *member,
		    const char *text)
{
	char field[48];

	snprintf(field, sizeof(field), "rows[%u].%s", i, member);
	return ctx_fail(kv->ctx, code, field, "%s", text);
}

/* Must the last page of a sequence be copied before it grows? */
static bool copies(const struct accel_kv *kv, const struct kv_seq *s)
{
	return s->length % kv->o.page_size && kv->refs[s->pages[s->count - 1]] > 1;
}

static int copy_page(struct chain *c, uint32_t rows, uint32_t from, uint32_t to)
{
	struct accel_kv *kv = c->kv;
	uint32_t part;
	int ret;

	for (part = 0; part < KV_PARTS && kv->bo[part]; part++) {
		const struct kv_plan_key key = {
			.kind = KV_PLAN_COPY, .part = part, .rows = rows
		};
		const struct accel_binding b[] = {
			bind(ACCEL_ARG_D, kv->bo[part], kv_offset(kv, part, 0, to, 0)),
			bind(ACCEL_ARG_A, kv->bo[part], kv_offset(kv, part, 0, from, 0)),
		};

		ret = add(c, &key, b, 2);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * struct growth - what a reservation does to a sequence, to be undone
 * @seq: sequence
 * @pages: that it had
 * @shared: last page that was copied, KV_NO_PAGE: none
 */
struct growth {
	struct kv_seq *seq;
	uint32_t pages;
	uint32_t shared;
};

/* Pages for a sequence. On failure shrink() takes back what was done. */
static int grow(struct chain *c, struct growth *g, uint32_t tokens)
{
	struct accel_kv *kv = c->kv;
	struct kv_seq *s = g->seq;
	uint64_t pages = (s->length + tokens + kv->o.page_size - 1) / kv->o.page_size;
	uint32_t page;
	int ret;

	if (kv_seq_room(kv, s, pages))
		return ctx_fail(kv->ctx, -ENOMEM, NULL, "out of memory");
	if (tokens && copies(kv, s)) {
		if (kv_claim(kv, KV_NO_PAGE, &page))
			goto full;
		g->shared = s->pages[s->count - 1];
		s->pages[s->count - 1] = page;
		/* The next that shares it may find itself alone. */
		kv_unref(kv, g->shared);
		kv->copied_pages++;
		ret = copy_page(c, (uint32_t)(s->length % kv->o.page_size), g->shared, page);
		if (ret)
			return ret;
	}
	while (s->count < pages) {
		if (kv_claim(kv, s->count ? s->pages[s->count - 1] : KV_NO_PAGE, &page))
			goto full;
		s->pages[s->count++] = page;
	}
	return 0;
full:
	return ctx_fail(kv->ctx, -ENOSPC, "kv.pages", "all %u pages are in use", kv->o.pages);
}

/* As it was before grow(). */
static void shrink(struct accel_kv *kv, const struct growth *g)
{
	struct kv_seq *s = g->seq;

	while (s->count > g->pages)
		kv_unref(kv, s->pages[--s->count]);
	if (g->shared == KV_NO_PAGE)
		return;
	kv_unref(kv, s->pages[s->count - 1]);
	s->pages[s->count - 1] = g->shared;
	kv_ref(kv, g->shared);
	kv->copied_pages--;
}

/* The sequences of @rows, each once. */
static int find_seqs(struct accel_kv *kv, const struct accel_kv_rows *rows, uint32_t count,
		     struct growth *g)
{
	uint64_t mark = ++kv->marks;
	struct kv_seq *s;
	uint32_t i;

	for (i = 0; i < count; i++) {
		s = kv_seq(kv, rows[i].seq);
		if (!s)
			return bad_rows(kv, -ENOENT, i, "seq", "there is no such sequence");
		if (s->mark == mark)
			return bad_rows(kv, -EINVAL, i, "seq", "the sequence is named twice");
		s->mark = mark;
		if (g && rows[i].tokens > INT32_MAX - s->length)
			return bad_rows(kv, -EINVAL, i, "tokens",
					"a sequence has at most INT32_MAX tokens");
		if (g)
			g[i] = (struct growth){ s, s->count, KV_NO_PAGE };
	}
	return 0;
}

static int check_job(struct accel_kv *kv, const struct accel_job *job,
		     const struct accel_kv_rows *rows, uint32_t count)
{
	if (!job || job->ctx != kv->ctx)
		return ctx_fail(kv->ctx, -EINVAL, "job",
				"belongs to another context than the cache");
	if (count && !rows)
		return ctx_fail(kv->ctx, -EINVAL, "rows", "NULL");
	return 0;
}

int accel_kv_reserve(struct accel_kv *kv, struct accel_job *job,
		     const struct accel_kv_rows *rows, uint32_t count, const uint32_t *deps,
		     uint32_t dep_count, uint32_t *index)
{
	struct growth *g;
	struct chain c;
	uint32_t i, peak;
	int ret;

	ret = check_job(kv, job, rows, count);
	if (ret)
		return ret;
	g = calloc(count + 1ull, sizeof(*g));
	if (!g)
		return ctx_fail(kv->ctx, -ENOMEM, NULL, "out of memory");
	begin(&c, kv, job, deps, dep_count);
	pthread_mutex_lock(&kv->lock);
	peak = kv->used_peak;
	ret = find_seqs(kv, rows, count, g);
	for (i = 0; !ret && i < count; i++)
		ret = grow(&c, &g[i], rows[i].tokens);
	if (ret) {
		job_cut(job, c.first);
		while (i-- > 0)
			shrink(kv, &g[i]);
		kv->used_peak = peak;
	}
	for (i = 0; !ret && i < count; i++)
		g[i].seq->length += rows[i].tokens;
	pthread_mutex_unlock(&kv->lock);
	free(g);
	if (!ret && index)
		*index = c.index;
	return ret;
}

/* --- rows -------------------------------------------------------------------------- */

static struct kv_plan_key key_of(const struct piece *p, uint32_t kind)
{
	struct kv_plan_key key = { .kind = kind, .part = p->part, .rows = p->rows };

	if (kind == KV_PLAN_WRITE || kind == KV_PLAN_ABS) {
		key.dtype = p->from->dtype;
		memcpy(key.strides, p->from->strides, sizeof(key.strides));
	}
	return key;
}

static struct accel_binding bind_rows(const struct piece *p)
{
	const struct accel_tensor *t = p->from->from;
	int64_t es = accel_dtype_bits(t->dtype) / 8;

	return bind(ACCEL_ARG_A, t->bo, t->offset +
		    (uint64_t)((int64_t)p->skip * p->from->strides[0] * es));
}

/* Bytes of the magnitudes of rows; the largest of each follow. */
static uint64_t magnitude_bytes(const struct accel_kv *kv, uint32_t part, uint64_t rows)
{
	return rows * kv->o.kv_heads * kv_dim(kv, part) * sizeof(float);
}

/* Scales of rows into their table. */
static int scale_rows(struct chain *c, const struct piece *p)
{
	struct accel_kv *kv = c->kv;
	uint32_t part = p->part + KV_K_SCALES;
	const struct kv_plan_key abs = key_of(p, KV_PLAN_ABS), max = key_of(p, KV_PLAN_MAX);
	const struct kv_plan_key scale = key_of(p, KV_PLAN_SCALE);
	uint64_t at = magnitude_bytes(kv, p->part, p->rows);
	const struct accel_binding b[3][3] = {
		{ bind(ACCEL_ARG_D, c->work, 0), bind_rows(p) },
		{ bind(ACCEL_ARG_D, c->work, at), bind(ACCEL_ARG_A, c->work, 0) },
		{ bind(ACCEL_ARG_D, kv->bo[part],
		       kv_offset(kv, part, p->layer, p->page, p->slot)),
		  bind(ACCEL_ARG_A, c->work, at), bind(ACCEL_ARG_B, kv->most, 0) },
	};
	int ret;

	ret = add(c, &abs, b[0], 2);
	if (!ret)
		ret = add(c, &max, b[1], 2);
	return ret ? ret : add(c, &scale, b[2], 3);
}

static int write_rows(struct chain *c, const struct piece *p)
{
	struct accel_kv *kv = c->kv;
	const struct kv_plan_key key = key_of(p, KV_PLAN_WRITE);
	uint32_t part = p->part + KV_K_SCALES;
	struct accel_binding b[3] = {
		bind(ACCEL_ARG_D, kv->bo[p->part],
		     kv_offset(kv, p->part, p->layer, p->page, p->slot)),
		bind_rows(p),
	};
	int ret = 0;

	if (!kv_quantised(kv))
		return add(c, &key, b, 2);
	ret = scale_rows(c, p);
	b[2] = bind(ACCEL_ARG_D | ACCEL_ARG_SCALES, kv->bo[part],
		    kv_offset(kv, part, p->layer, p->page, p->slot));
	return ret ? ret : add(c, &key, b, 3);
}

/* The next rows of a sequence that lie one after the other; @at: its token. */
static uint32_t together(const struct accel_kv *kv, const struct kv_seq *s, uint64_t at)
{
	uint32_t i = (uint32_t)(at / kv->o.page_size);
	uint64_t n = kv->o.page_size - at % kv->o.page_size;

	for (; at + n < s->length && s->pages[i + 1] == s->pages[i] + 1; i++)
		n += kv->o.page_size;
	return (uint32_t)(n < s->length - at ? n : s->length - at);
}

/* The pieces of all sequences, K and V. */
static int write_all(struct chain *c, const struct accel_kv_append *a,
		     const struct operand *from)
{
	struct accel_kv *kv = c->kv;
	uint64_t skip = 0, at;
	struct kv_seq *s;
	struct piece p;
	uint32_t i;
	int ret;

	for (i = 0; i < a->count; i++) {
		s = kv_seq(kv, a->rows[i].seq);
		for (at = s->length - a->rows[i].tokens; at < s->length; at += p.rows) {
			p = (struct piece){
				.layer = a->layer, .skip = skip,
				.page = s->pages[at / kv->o.page_size],
				.slot = (uint32_t)(at % kv->o.page_size),
				.rows = together(kv, s, at),
			};
			for (p.part = KV_K; p.part <= KV_V; p.part++) {
				p.from = &from[p.part];
				ret = write_rows(c, &p);
				if (ret)
					return ret;
			}
			skip += p.rows;
		}
	}
	return 0;
}

/* One memory for the work of all: they follow one another. */
static int make_work(struct chain *c, const struct accel_kv_append *a)
{
	struct accel_kv *kv = c->kv;
	uint64_t most = 0, bytes, at;
	const struct kv_seq *s;
	uint32_t i, part, n;

	for (i = 0; i < a->count; i++) {
		s = kv_seq(kv, a->rows[i].seq);
		for (at = s->length - a->rows[i].tokens; at < s->length; at += n) {
			n = together(kv, s, at);
			for (part = KV_K; part <= KV_V; part++) {
				bytes = magnitude_bytes(kv, part, n) +
					(uint64_t)n * kv->o.kv_heads * sizeof(float);
				most = bytes > most ? bytes : most;
			}
		}
	}
	return most ? accel_bo_create(kv->ctx, most, NULL, &c->work) : 0;
}

static int read_tensor(struct accel_kv *kv, const struct accel_tensor *t, uint32_t part,
		       uint64_t tokens, struct operand *o)
{
	const char *name = part == KV_K ? "append.k" : "append.v";
	const int64_t dims[3] = { (int64_t)tokens, kv->o.kv_heads, kv_dim(kv, part) };
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t i;
	int ret;

	ret = operand_init(o, t, ACCEL_ARG_A, name, &e);
	if (!ret && !uma_is_float(o->dtype))
		ret = bad(&e, -EINVAL, name, "dtype", "%s: rows are floating-point",
			  accel_dtype_name(o->dtype));
	if (!ret && o->rank != 3)
		ret = bad(&e, -EINVAL, name, "rank",
			  "rank %u: it is [tokens, kv_heads, dim]", o->rank);
	for (i = 0; !ret && i < 3; i++)
		if (o->dims[i] != dims[i])
			ret = bad_at(&e, -EINVAL, name, "dims", i, "%lld instead of %lld",
				     (long long)o->dims[i], (long long)dims[i]);
	if (!ret && !t->bo)
		ret = bad(&e, -EINVAL, name, "bo", "the tensor has no buffer");
	return ret ? ctx_set_error(kv->ctx, &e) : 0;
}

/* Are the tokens there, and the pages theirs alone? */
static int check_rows(struct accel_kv *kv, const struct accel_kv_append *a, uint64_t *tokens)
{
	const struct kv_seq *s;
	uint64_t at;
	uint32_t i;
	int ret;

	*tokens = 0;
	ret = find_seqs(kv, a->rows, a->count, NULL);
	for (i = 0; !ret && i < a->count; i++) {
		s = kv_seq(kv, a->rows[i].seq);
		if (a->rows[i].tokens > s->length)
			return bad_rows(kv, -EINVAL, i, "tokens",
					"more than the sequence has");
		*tokens += a->rows[i].tokens;
		at = s->length - a->rows[i].tokens;
		for (at -= at % kv->o.page_size; at < s->length; at += kv->o.page_size)
			if (a->rows[i].tokens &&
			    kv->refs[s->pages[at / kv->o.page_size]] > 1)
				return bad_rows(kv, -EBUSY, i, "tokens",
						"the sequence shares a page of these tokens: they were not reserved");
	}
	return ret;
}

static int read_append(struct accel_kv *kv, struct accel_job *job,
		       const struct accel_kv_append *append, struct accel_kv_append *a)
{
	int ret = append ? struct_in(a, sizeof(*a), append, sizeof(*a)) : -EINVAL;

	if (ret)
		return ctx_fail(kv->ctx, ret, "append.size", ret == -EINVAL ?
				"no arguments, or shorter than the first version" :
				"arguments that this library does not know are set");
	if (a->layer >= kv->o.layers)
		return ctx_fail(kv->ctx, -EINVAL, "append.layer", "%u, but there are %u",
				a->layer, kv->o.layers);
	if (a->pad)
		return ctx_fail(kv->ctx, -EINVAL, "append.pad", "must be 0");
	return check_job(kv, job, a->rows, a->count);
}

int accel_kv_append(struct accel_kv *kv, struct accel_job *job,
		    const struct accel_kv_append *append, const uint32_t *deps,
		    uint32_t dep_count, uint32_t *index)
{
	struct accel_kv_append a = { 0 };
	struct operand from[2];
	uint64_t tokens = 0;
	struct chain c;
	int ret;

	ret = read_append(kv, job, append, &a);
	if (ret)
		return ret;
	begin(&c, kv, job, deps, dep_count);
	pthread_mutex_lock(&kv->lock);
	ret = check_rows(kv, &a, &tokens);
	if (!ret)
		ret = read_tensor(kv, &a.k, KV_K, tokens, &from[KV_K]);
	if (!ret)
		ret = read_tensor(kv, &a.v, KV_V, tokens, &from[KV_V]);
	if (!ret && kv_quantised(kv))
		ret = make_work(&c, &a);
	if (!ret)
		ret = write_all(&c, &a, from);
	if (ret)
		job_cut(job, c.first);
	pthread_mutex_unlock(&kv->lock);
	accel_bo_unref(c.work);
	if (!ret && index)
		*index = c.index;
	return ret;
}
