// SPDX-License-Identifier: MIT
/*
 * Operations of jobs on the pages of a key-value cache: copies of shared pages,
 * and new rows, converted or quantised. All keys are one operation and all values
 * another; where they go is in memory.
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
 */
struct chain {
	struct accel_kv *kv;
	struct accel_job *job;
	const uint32_t *deps;
	uint32_t dep_count;
	uint32_t first;
	uint32_t index;
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

	if (!kv)
		return -EINVAL;
	if (!job)
		return ctx_fail(kv->ctx, -EINVAL, "job", "NULL");
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

static int write_rows(struct chain *c, uint32_t layer, uint32_t part, const struct operand *from,
		      const struct accel_tensor *slots)
{
	struct accel_kv *kv = c->kv;
	const struct accel_tensor *t = from->from;
	uint32_t scales = part + KV_K_SCALES;
	struct kv_plan_key key = {
		.kind = KV_PLAN_WRITE, .part = part, .rows = (uint32_t)from->dims[0],
		.dtype = from->dtype,
	};
	struct accel_binding b[4] = {
		bind(ACCEL_ARG_D, kv->bo[part], kv_offset(kv, part, layer, 0, 0)),
		bind(ACCEL_ARG_A, t->bo, t->offset),
		bind(ACCEL_ARG_AUX2, slots->bo, slots->offset),
	};

	memcpy(key.strides, from->strides, sizeof(key.strides));
	if (!kv_quantised(kv))
		return add(c, &key, b, 3);
	b[3] = bind(ACCEL_ARG_AUX0, kv->bo[scales], kv_offset(kv, scales, layer, 0, 0));
	return add(c, &key, b, 4);
}

/* The slots of the last tokens of sequences. */
static void find_slots(struct accel_kv *kv, const struct accel_kv_rows *rows, uint32_t count,
		       int32_t *slots)
{
	const struct kv_seq *s;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < count; i++) {
		s = kv_seq(kv, rows[i].seq);
		for (at = s->length - rows[i].tokens; at < s->length; at++)
			*slots++ = (int32_t)(s->pages[at / kv->o.page_size] * kv->o.page_size +
					     at % kv->o.page_size);
	}
}

/* A buffer with the slots of an append. */
static int make_slots(struct accel_kv *kv, const struct accel_kv_append *a, uint64_t tokens,
		      struct accel_tensor *slots)
{
	const int64_t dim = (int64_t)tokens;
	struct accel_bo *bo = NULL;
	int ret;

	if (tokens > UINT32_MAX)
		return ctx_fail(kv->ctx, -EINVAL, "rows", "more rows than an operation has");
	ret = accel_bo_create(kv->ctx, tokens * sizeof(int32_t), NULL, &bo);
	if (ret)
		return ret;
	find_slots(kv, a->rows, a->count, accel_bo_ptr(bo));
	ret = accel_bo_cpu_end(bo, 0, tokens * sizeof(int32_t), ACCEL_CPU_WRITE);
	if (ret)
		accel_bo_unref(bo);
	else
		*slots = accel_tensor_dense(bo, ACCEL_S32, 1, &dim);
	return ret;
}

/* A caller's slots: plain and dense, with a buffer. */
static int check_slots(struct accel_kv *kv, const struct accel_tensor *slots, const char *name)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct operand o;
	int ret;

	ret = operand_init(&o, slots, ACCEL_ARG_AUX2, name, &e);
	if (!ret && (o.dtype != ACCEL_S32 || o.quant.scheme))
		ret = bad(&e, -EINVAL, name, "dtype", "slots are plain int32");
	if (!ret && o.rank != 1)
		ret = bad(&e, -EINVAL, name, "rank", "rank %u: it is [tokens]", o.rank);
	if (!ret && o.dims[0] > 1 && o.strides[0] != 1)
		ret = bad_at(&e, -EINVAL, name, "strides", 0, "slots are side by side");
	if (!ret && !slots->bo)
		ret = bad(&e, -EINVAL, name, "bo", "the tensor has no buffer");
	if (!ret && slots->offset % sizeof(int32_t))
		ret = bad(&e, -EINVAL, name, "offset", "%llu: slots are aligned to %zu bytes",
			  (unsigned long long)slots->offset, sizeof(int32_t));
	return ret ? ctx_set_error(kv->ctx, &e) : 0;
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
static int check_rows(struct accel_kv *kv, const struct accel_kv_rows *rows, uint32_t count,
		      uint64_t *tokens)
{
	const struct kv_seq *s;
	uint64_t at;
	uint32_t i;
	int ret;

	*tokens = 0;
	ret = find_seqs(kv, rows, count, NULL);
	for (i = 0; !ret && i < count; i++) {
		s = kv_seq(kv, rows[i].seq);
		if (rows[i].tokens > s->length)
			return bad_rows(kv, -EINVAL, i, "tokens",
					"more than the sequence has");
		*tokens += rows[i].tokens;
		at = s->length - rows[i].tokens;
		for (at -= at % kv->o.page_size; at < s->length; at += kv->o.page_size)
			if (rows[i].tokens &&
			    kv->refs[s->pages[at / kv->o.page_size]] > 1)
				return bad_rows(kv, -EBUSY, i, "tokens",
						"the sequence shares a page of these tokens: they were not reserved");
	}
	return ret;
}

static int read_append(struct accel_kv *kv, struct accel_job *job,
		       const struct accel_kv_append *append, struct accel_kv_append *a)
{
	const size_t first = offsetof(struct accel_kv_append, slots);
	int ret = append ? struct_in(a, sizeof(*a), append, first) : -EINVAL;

	if (ret)
		return ctx_fail(kv->ctx, ret, "append.size", ret == -EINVAL ?
				"no arguments, or shorter than the first version" :
				"arguments that this library does not know are set");
	if (a->layer >= kv->o.layers)
		return ctx_fail(kv->ctx, -EINVAL, "append.layer", "%u, but there are %u",
				a->layer, kv->o.layers);
	if (a->pad)
		return ctx_fail(kv->ctx, -EINVAL, "append.pad", "must be 0");
	if (a->slots.rank && a->count)
		return ctx_fail(kv->ctx, -EINVAL, "append.count",
				"where rows go is said by append.slots");
	return check_job(kv, job, a->rows, a->count);
}

/* Where the rows go, and how many there are: the caller's slots, or those of the books. */
static int read_slots(struct accel_kv *kv, const struct accel_kv_append *a,
		      struct accel_tensor *slots, uint64_t *tokens)
{
	int ret;

	if (a->slots.rank) {
		ret = check_slots(kv, &a->slots, "append.slots");
		*slots = a->slots;
		*tokens = ret ? 0 : (uint64_t)a->slots.dims[0];
		return ret;
	}
	return check_rows(kv, a->rows, a->count, tokens);
}

int accel_kv_append(struct accel_kv *kv, struct accel_job *job,
		    const struct accel_kv_append *append, const uint32_t *deps,
		    uint32_t dep_count, uint32_t *index)
{
	struct accel_tensor slots = ACCEL_TENSOR_INIT;
	struct accel_kv_append a = { 0 };
	struct operand from[2];
	uint64_t tokens = 0;
	struct chain c;
	uint32_t part;
	int ret;

	if (!kv)
		return -EINVAL;
	if (!job)
		return ctx_fail(kv->ctx, -EINVAL, "job", "NULL");
	if (!append)
		return ctx_fail(kv->ctx, -EINVAL, "append", "NULL");
	ret = read_append(kv, job, append, &a);
	if (ret)
		return ret;
	begin(&c, kv, job, deps, dep_count);
	pthread_mutex_lock(&kv->lock);
	ret = read_slots(kv, &a, &slots, &tokens);
	if (!ret)
		ret = read_tensor(kv, &a.k, KV_K, tokens, &from[KV_K]);
	if (!ret)
		ret = read_tensor(kv, &a.v, KV_V, tokens, &from[KV_V]);
	if (!ret && tokens && !a.slots.rank)
		ret = make_slots(kv, &a, tokens, &slots);
	for (part = KV_K; !ret && tokens && part <= KV_V; part++)
		ret = write_rows(&c, a.layer, part, &from[part], &slots);
	if (ret)
		job_cut(job, c.first);
	pthread_mutex_unlock(&kv->lock);
	/* The job keeps it. */
	if (!a.slots.rank)
		accel_bo_unref(slots.bo);
	if (!ret && index)
		*index = c.index;
	return ret;
}

int accel_kv_slots(struct accel_kv *kv, const struct accel_kv_rows *rows, uint32_t count,
		   const struct accel_tensor *slots)
{
	uint64_t tokens = 0, bytes;
	int ret;

	if (!kv)
		return -EINVAL;
	if (!slots)
		return ctx_fail(kv->ctx, -EINVAL, "slots", "NULL");
	if (count && !rows)
		return ctx_fail(kv->ctx, -EINVAL, "rows", "NULL");
	ret = check_slots(kv, slots, "slots");
	if (ret)
		return ret;
	bytes = (uint64_t)slots->dims[0] * sizeof(int32_t);
	pthread_mutex_lock(&kv->lock);
	ret = check_rows(kv, rows, count, &tokens);
	if (!ret && tokens != (uint64_t)slots->dims[0])
		ret = ctx_fail(kv->ctx, -EINVAL, "slots.dims[0]", "%lld, but there are %llu tokens",
			       (long long)slots->dims[0], (unsigned long long)tokens);
	if (!ret)
		ret = accel_bo_cpu_begin(slots->bo, slots->offset, bytes, ACCEL_CPU_WRITE);
	if (!ret) {
		find_slots(kv, rows, count,
			   (int32_t *)((char *)accel_bo_ptr(slots->bo) + slots->offset));
		ret = accel_bo_cpu_end(slots->bo, slots->offset, bytes, ACCEL_CPU_WRITE);
	}
	pthread_mutex_unlock(&kv->lock);
	return ret;
}
