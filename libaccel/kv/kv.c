// SPDX-License-Identifier: MIT
/*
 * The books of a key-value cache: which pages are free, and which sequence has
 * which. What is in the pages is the business of jobs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"
#include "libaccel/core/objects.h"

#define LAYERS_MAX	4096u
#define PAGE_SIZE_MAX	4096u
#define PAGE_SIZE	16u
/* What attention takes, and a group of scales may be */
#define DIM_MAX		1024u
#define HEADS_MAX	65536u

/* --- pages ------------------------------------------------------------------ */

/**
 * kv_claim - take a free page
 * @kv: cache
 * @after: page that it should follow, KV_NO_PAGE: any
 * @page: out
 *
 * Neighbours make fewer operations of an append.
 *
 * Return: 0, -ENOSPC.
 */
int kv_claim(struct accel_kv *kv, uint32_t after, uint32_t *page)
{
	uint32_t i;

	if (kv->used_pages == kv->o.pages)
		return -ENOSPC;
	if (after != KV_NO_PAGE && after + 1 < kv->o.pages && !kv->refs[after + 1]) {
		i = after + 1;
	} else {
		for (i = kv->hint; kv->refs[i]; )
			i = i + 1 == kv->o.pages ? 0 : i + 1;
		kv->hint = i;
	}
	kv->refs[i] = 1;
	kv->used_pages++;
	if (kv->used_pages > kv->used_peak)
		kv->used_peak = kv->used_pages;
	*page = i;
	return 0;
}

void kv_ref(struct accel_kv *kv, uint32_t page)
{
	if (++kv->refs[page] == 2)
		kv->shared_pages++;
}

void kv_unref(struct accel_kv *kv, uint32_t page)
{
	switch (--kv->refs[page]) {
	case 0:
		kv->used_pages--;
		/* The lowest first: memory that is warm. */
		if (page < kv->hint)
			kv->hint = page;
		break;
	case 1:
		kv->shared_pages--;
		break;
	default:
		break;
	}
}

/* --- sequences -------------------------------------------------------------- */

/* NULL: there is no such sequence. */
struct kv_seq *kv_seq(struct accel_kv *kv, uint32_t seq)
{
	uint32_t index = seq & (KV_SEQ_MAX - 1);

	if (index >= kv->seq_cap || !kv->seqs[index].used ||
	    kv->seqs[index].generation != seq >> KV_SEQ_BITS)
		return NULL;
	return &kv->seqs[index];
}

int kv_no_seq(struct accel_kv *kv, const char *field, uint32_t seq)
{
	return ctx_fail(kv->ctx, -ENOENT, field, "there is no sequence 0x%x", seq);
}

/* A new sequence. -ENOSPC, -ENOMEM without a record. */
int kv_seq_add(struct accel_kv *kv, uint32_t *seq)
{
	struct kv_seq *more, *s;
	uint32_t i, cap;

	if (kv->seq_count == kv->seq_cap) {
		if (kv->seq_cap == KV_SEQ_MAX)
			return -ENOSPC;
		cap = kv->seq_cap ? 2 * kv->seq_cap : 16;
		more = realloc(kv->seqs, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + kv->seq_cap, 0, (cap - kv->seq_cap) * sizeof(*more));
		kv->seqs = more;
		kv->seq_cap = cap;
	}
	for (i = 0; kv->seqs[i].used; i++)
		;
	s = &kv->seqs[i];
	*s = (struct kv_seq){ .used = true, .generation = s->generation };
	kv->seq_count++;
	*seq = s->generation << KV_SEQ_BITS | i;
	return 0;
}

static void seq_remove(struct accel_kv *kv, struct kv_seq *s)
{
	uint32_t i;

	for (i = 0; i < s->count; i++)
		kv_unref(kv, s->pages[i]);
	free(s->pages);
	free(s->gaps);
	*s = (struct kv_seq){
		.generation = (s->generation + 1) & (UINT32_MAX >> KV_SEQ_BITS)
	};
	kv->seq_count--;
}

/* Room for a number of pages. */
int kv_seq_room(struct accel_kv *kv, struct kv_seq *s, uint64_t pages)
{
	uint64_t cap = s->cap ? s->cap : 8;
	uint32_t *more;

	(void)kv;
	if (pages <= s->cap)
		return 0;
	while (cap < pages)
		cap *= 2;
	more = realloc(s->pages, cap * sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->pages = more;
	s->cap = (uint32_t)cap;
	return 0;
}

/* Room for a number of gaps. */
int kv_seq_gap_room(struct kv_seq *s, uint64_t gaps)
{
	uint64_t cap = s->gap_cap ? s->gap_cap : 2;
	struct kv_gap *more;

	if (gaps <= s->gap_cap)
		return 0;
	while (cap < gaps)
		cap *= 2;
	more = realloc(s->gaps, cap * sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->gaps = more;
	s->gap_cap = (uint32_t)cap;
	return 0;
}

static uint64_t evicted(const struct kv_seq *s)
{
	uint64_t tokens = 0;
	uint32_t i;

	for (i = 0; i < s->gap_count; i++)
		tokens += s->gaps[i].tokens;
	return tokens;
}

/*
 * Gaps of the first @length tokens. What was evicted behind the last of them does not
 * count: the next token follows it. Of all tokens these are all gaps.
 */
static uint32_t gaps_before(const struct kv_seq *s, uint64_t length)
{
	uint32_t n = s->gap_count;

	while (n && length < s->length && s->gaps[n - 1].at >= length)
		n--;
	return n;
}

/* Tokens are evicted: one gap, for what was missing among them or beside them, too. */
static void widen_gap(struct kv_seq *s, uint64_t at, uint64_t tokens)
{
	struct kv_gap gap = { at, tokens };
	uint32_t first = 0, end, i;

	while (first < s->gap_count && s->gaps[first].at < at)
		first++;
	for (end = first; end < s->gap_count && s->gaps[end].at <= at + tokens; end++)
		gap.tokens += s->gaps[end].tokens;
	for (i = end; i < s->gap_count; i++)
		s->gaps[i].at -= tokens;
	memmove(s->gaps + first + 1, s->gaps + end, (s->gap_count - end) * sizeof(gap));
	s->gaps[first] = gap;
	s->gap_count -= end - first;
	s->gap_count++;
}

/* Why there is no new sequence, in the context's record. */
static int no_room(struct accel_kv *kv, int ret)
{
	if (ret == -ENOSPC)
		return ctx_fail(kv->ctx, ret, "kv", "there are %u sequences", KV_SEQ_MAX);
	return ctx_fail(kv->ctx, ret, NULL, "out of memory");
}

int accel_kv_seq_create(struct accel_kv *kv, uint32_t *seq)
{
	int ret;

	if (!kv)
		return -EINVAL;
	if (!seq)
		return ctx_fail(kv->ctx, -EINVAL, "seq", "NULL");
	pthread_mutex_lock(&kv->lock);
	ret = kv_seq_add(kv, seq);
	pthread_mutex_unlock(&kv->lock);
	return ret ? no_room(kv, ret) : 0;
}

int accel_kv_seq_destroy(struct accel_kv *kv, uint32_t seq)
{
	struct kv_seq *s;

	if (!kv)
		return -EINVAL;
	pthread_mutex_lock(&kv->lock);
	s = kv_seq(kv, seq);
	if (s)
		seq_remove(kv, s);
	pthread_mutex_unlock(&kv->lock);
	return s ? 0 : kv_no_seq(kv, "seq", seq);
}

static uint32_t pages_of(const struct accel_kv *kv, uint64_t length)
{
	return (uint32_t)((length + kv->o.page_size - 1) / kv->o.page_size);
}

static int too_long(struct accel_kv *kv, uint64_t length, uint64_t has)
{
	return ctx_fail(kv->ctx, -EINVAL, "length",
			"%" PRIu64 " is more than the %" PRIu64 " tokens of the sequence",
			length, has);
}

int accel_kv_seq_fork(struct accel_kv *kv, uint32_t seq, uint64_t length, uint32_t *child)
{
	struct kv_seq *s, *c;
	uint64_t has = 0;
	uint32_t i, n, gaps;
	int ret;

	if (!kv)
		return -EINVAL;
	if (!child)
		return ctx_fail(kv->ctx, -EINVAL, "child", "NULL");
	pthread_mutex_lock(&kv->lock);
	s = kv_seq(kv, seq);
	has = s ? s->length : 0;
	if (!s || length > has) {
		pthread_mutex_unlock(&kv->lock);
		return s ? too_long(kv, length, has) : kv_no_seq(kv, "seq", seq);
	}
	ret = kv_seq_add(kv, child);
	if (ret)
		goto out_unlock;
	/* Adding one may have moved them. */
	s = kv_seq(kv, seq);
	c = kv_seq(kv, *child);
	n = pages_of(kv, length);
	gaps = gaps_before(s, length);
	ret = kv_seq_room(kv, c, n);
	if (!ret)
		ret = kv_seq_gap_room(c, gaps);
	if (ret) {
		seq_remove(kv, c);
		goto out_unlock;
	}
	for (i = 0; i < n; i++) {
		c->pages[i] = s->pages[i];
		kv_ref(kv, c->pages[i]);
	}
	c->count = n;
	c->length = length;
	c->gap_count = gaps;
	for (i = 0; i < gaps; i++)
		c->gaps[i] = s->gaps[i];
out_unlock:
	pthread_mutex_unlock(&kv->lock);
	return ret ? no_room(kv, ret) : 0;
}

int accel_kv_seq_truncate(struct accel_kv *kv, uint32_t seq, uint64_t length)
{
	struct kv_seq *s;
	uint64_t has = 0;

	if (!kv)
		return -EINVAL;
	pthread_mutex_lock(&kv->lock);
	s = kv_seq(kv, seq);
	if (s)
		has = s->length;
	if (s && length <= has) {
		while (s->count > pages_of(kv, length))
			kv_unref(kv, s->pages[--s->count]);
		s->gap_count = gaps_before(s, length);
		s->length = length;
	}
	pthread_mutex_unlock(&kv->lock);
	if (!s)
		return kv_no_seq(kv, "seq", seq);
	return length > has ? too_long(kv, length, has) : 0;
}

/* Pages @from to @to. */
static int evict_pages(struct accel_kv *kv, struct kv_seq *s, uint32_t from, uint32_t to)
{
	const uint64_t tokens = (uint64_t)(to - from) * kv->o.page_size;
	uint32_t i;

	if (kv_seq_gap_room(s, s->gap_count + 1ull))
		return -ENOMEM;
	for (i = from; i < to; i++)
		kv_unref(kv, s->pages[i]);
	memmove(s->pages + from, s->pages + to, (s->count - to) * sizeof(*s->pages));
	s->count -= to - from;
	widen_gap(s, (uint64_t)from * kv->o.page_size, tokens);
	s->length -= tokens;
	kv->evicted_tokens += tokens;
	return 0;
}

int accel_kv_seq_evict(struct accel_kv *kv, uint32_t seq, uint64_t first, uint64_t last)
{
	uint32_t from = 0, to = 0;
	struct kv_seq *s;
	int ret = 0;

	if (!kv)
		return -EINVAL;
	pthread_mutex_lock(&kv->lock);
	s = kv_seq(kv, seq);
	if (s && first < s->length && last < s->length - first) {
		from = pages_of(kv, first);
		to = (uint32_t)((s->length - last) / kv->o.page_size);
	}
	if (from < to)
		ret = evict_pages(kv, s, from, to);
	pthread_mutex_unlock(&kv->lock);
	if (!s)
		return kv_no_seq(kv, "seq", seq);
	return ret ? ctx_fail(kv->ctx, ret, NULL, "out of memory") : 0;
}

/* --- what there is ---------------------------------------------------------- */

int accel_kv_seq_get_info(struct accel_kv *kv, uint32_t seq, struct accel_kv_seq_info *info)
{
	struct accel_kv_seq_info out = { .size = sizeof(out) };
	const struct kv_seq *s;
	uint32_t i;

	if (!kv || !info)
		return -EINVAL;
	pthread_mutex_lock(&kv->lock);
	s = kv_seq(kv, seq);
	if (s) {
		out.pages = s->count;
		out.length = s->length;
		out.evicted = evicted(s);
		for (i = 0; i < s->count; i++)
			out.shared_pages += kv->refs[s->pages[i]] > 1;
	}
	pthread_mutex_unlock(&kv->lock);
	return s ? struct_out(info, &out, sizeof(out), sizeof(out)) :
		   kv_no_seq(kv, "seq", seq);
}

int accel_kv_get_stats(struct accel_kv *kv, struct accel_kv_stats *stats)
{
	struct accel_kv_stats out = { .size = sizeof(out) };
	uint32_t i;

	if (!kv || !stats)
		return -EINVAL;
	out.pages = kv->o.pages;
	for (i = 0; i < KV_PARTS; i++)
		out.page_bytes += kv->row_bytes[i] * kv->o.page_size * kv->o.layers;
	out.bytes = out.page_bytes * kv->o.pages;
	pthread_mutex_lock(&kv->lock);
	out.sequences = kv->seq_count;
	out.used_pages = kv->used_pages;
	out.used_pages_peak = kv->used_peak;
	out.shared_pages = kv->shared_pages;
	out.copied_pages = kv->copied_pages;
	out.evicted_tokens = kv->evicted_tokens;
	for (i = 0; i < kv->seq_cap; i++)
		out.tokens += kv->seqs[i].length;
	pthread_mutex_unlock(&kv->lock);
	return struct_out(stats, &out, sizeof(out), sizeof(out));
}

static uint32_t group_of(uint32_t dim)
{
	uint32_t group = 16;

	while (group < dim)
		group *= 2;
	return group;
}

static struct accel_tensor pool_tensor(struct accel_kv *kv, uint32_t layer, uint32_t part)
{
	const int64_t dims[4] = {
		kv->o.pages, kv->o.page_size, kv->o.kv_heads, kv_dim(kv, part)
	};
	struct accel_tensor t = accel_tensor_dense(kv->bo[part], kv->o.dtype, 4, dims);

	t.offset = kv_offset(kv, part, layer, 0, 0);
	if (!kv_quantised(kv))
		return t;
	t.quant.scheme = ACCEL_QUANT_GROUP;
	t.quant.axis = 3;
	t.quant.group = group_of(kv_dim(kv, part));
	t.quant.scale_dtype = kv->o.scale_dtype;
	t.quant.scales = kv->bo[part + KV_K_SCALES];
	t.quant.scales_offset = kv_offset(kv, part + KV_K_SCALES, layer, 0, 0);
	return t;
}

int accel_kv_tensors(struct accel_kv *kv, uint32_t layer, struct accel_tensor *k,
		     struct accel_tensor *v)
{
	if (!kv)
		return -EINVAL;
	if (!k)
		return ctx_fail(kv->ctx, -EINVAL, "k", "NULL");
	if (!v)
		return ctx_fail(kv->ctx, -EINVAL, "v", "NULL");
	if (layer >= kv->o.layers)
		return ctx_fail(kv->ctx, -EINVAL, "layer", "%u, but there are %u", layer,
				kv->o.layers);
	*k = pool_tensor(kv, layer, KV_K);
	*v = pool_tensor(kv, layer, KV_V);
	return 0;
}

/* The largest number of pages, or -ENOENT with the index at fault in @columns. */
static int longest(struct accel_kv *kv, const uint32_t *seqs, uint32_t count,
		   uint32_t *columns)
{
	const struct kv_seq *s;
	uint32_t i, most = 1;

	for (i = 0; i < count; i++) {
		s = kv_seq(kv, seqs[i]);
		if (!s) {
			*columns = i;
			return -ENOENT;
		}
		most = s->count > most ? s->count : most;
	}
	*columns = most;
	return 0;
}

static void write_table(struct accel_kv *kv, const uint32_t *seqs, uint32_t count,
			uint32_t columns, int32_t *table)
{
	int32_t *lengths = table + (uint64_t)count * columns;
	const struct kv_seq *s;
	uint32_t i, j;

	for (i = 0; i < count; i++) {
		s = kv_seq(kv, seqs[i]);
		for (j = 0; j < columns; j++)
			*table++ = j < s->count ? (int32_t)s->pages[j] : -1;
		lengths[i] = (int32_t)s->length;
	}
}

int accel_kv_table(struct accel_kv *kv, const uint32_t *seqs, uint32_t count,
		   uint32_t columns, struct accel_tensor *pages, struct accel_tensor *lengths)
{
	int64_t dims[2] = { count, 0 };
	struct accel_bo *bo = NULL;
	uint32_t most = 0;
	uint64_t bytes = 0;
	int32_t *table;
	int ret;

	if (!kv)
		return -EINVAL;
	if (!pages)
		return ctx_fail(kv->ctx, -EINVAL, "pages", "NULL");
	if (!lengths)
		return ctx_fail(kv->ctx, -EINVAL, "lengths", "NULL");
	if (!count || !seqs)
		return ctx_fail(kv->ctx, -EINVAL, "count", "there are no sequences");
	pthread_mutex_lock(&kv->lock);
	ret = longest(kv, seqs, count, &most);
	if (!ret && !(columns && columns < most)) {
		columns = columns ? columns : most;
		bytes = (uint64_t)count * (columns + 1ull) * sizeof(*table);
		table = malloc(bytes);
		if (table)
			write_table(kv, seqs, count, columns, table);
	}
	pthread_mutex_unlock(&kv->lock);
	if (ret)
		return kv_no_seq(kv, "seqs", seqs[most]);
	if (!bytes)
		return ctx_fail(kv->ctx, -EINVAL, "columns",
				"%u, but a sequence has %u pages", columns, most);
	if (!table)
		return ctx_fail(kv->ctx, -ENOMEM, NULL, "out of memory");
	ret = accel_bo_create(kv->ctx, bytes, NULL, &bo);
	if (!ret) {
		memcpy(accel_bo_ptr(bo), table, bytes);
		ret = accel_bo_cpu_end(bo, 0, bytes, ACCEL_CPU_WRITE);
		if (ret)
			accel_bo_unref(bo);
	}
	free(table);
	if (ret)
		return ret;
	dims[1] = columns;
	*pages = accel_tensor_dense(bo, ACCEL_S32, 2, dims);
	*lengths = accel_tensor_dense(bo, ACCEL_S32, 1, dims);
	lengths->offset = (uint64_t)count * columns * sizeof(*table);
	return 0;
}

/* --- the cache -------------------------------------------------------------- */

static int bad_opt(struct accel_ctx *ctx, const char *field, uint32_t v)
{
	return ctx_fail(ctx, -EINVAL, field, "%u is out of range", v);
}

static int read_opts(struct accel_ctx *ctx, const struct accel_kv_opts *opts,
		     struct accel_kv_opts *o)
{
	int ret = opts ? struct_in(o, sizeof(*o), opts, sizeof(*o)) : -EINVAL;

	if (ret)
		return ctx_fail(ctx, ret, "kv.size", ret == -EINVAL ?
				"no options, or shorter than the first version" :
				"options that this library does not know are set");
	if (!o->layers || o->layers > LAYERS_MAX)
		return bad_opt(ctx, "kv.layers", o->layers);
	if (!o->kv_heads || o->kv_heads > HEADS_MAX)
		return bad_opt(ctx, "kv.kv_heads", o->kv_heads);
	if (!o->head_dim || o->head_dim > DIM_MAX)
		return bad_opt(ctx, "kv.head_dim", o->head_dim);
	if (o->v_dim > DIM_MAX)
		return bad_opt(ctx, "kv.v_dim", o->v_dim);
	if (o->dtype != ACCEL_S8 && (o->dtype < ACCEL_F32 || o->dtype > ACCEL_BF16))
		return ctx_fail(ctx, -EINVAL, "kv.dtype",
				"%u: it is fp32, fp16, bf16 or int8", o->dtype);
	if (o->scale_dtype && (o->dtype != ACCEL_S8 || (o->scale_dtype != ACCEL_F32 &&
							o->scale_dtype != ACCEL_F16)))
		return ctx_fail(ctx, -EINVAL, "kv.scale_dtype",
				"%u: int8 has scales of fp32 or fp16, other types have none",
				o->scale_dtype);
	if (o->page_size > PAGE_SIZE_MAX)
		return bad_opt(ctx, "kv.page_size", o->page_size);
	if (!o->pages || o->pages > INT32_MAX)
		return bad_opt(ctx, "kv.pages", o->pages);
	if (o->engine >= ACCEL_ENGINE_COUNT)
		return bad_opt(ctx, "kv.engine", o->engine);
	o->v_dim = o->v_dim ? o->v_dim : o->head_dim;
	o->page_size = o->page_size ? o->page_size : PAGE_SIZE;
	/* Slots are numbers of 32 bits. */
	if ((uint64_t)o->pages * o->page_size > INT32_MAX)
		return ctx_fail(ctx, -EINVAL, "kv.pages", "%u pages of %u tokens are more than INT32_MAX",
				o->pages, o->page_size);
	if (o->dtype == ACCEL_S8 && !o->scale_dtype)
		o->scale_dtype = ACCEL_F32;
	return 0;
}

static int make_pool(struct accel_kv *kv)
{
	/* Each layer has a part of it, where a short sequence needs a page or two. */
	struct accel_bo_opts opts = { sizeof(opts), ACCEL_BO_LAZY, kv->o.label };
	uint64_t rows = (uint64_t)kv->o.pages * kv->o.page_size, bytes;
	uint32_t i;
	int ret;

	for (i = 0; i < KV_PARTS; i++) {
		bool scales = i >= KV_K_SCALES;

		if (scales && !kv_quantised(kv))
			break;
		kv->row_bytes[i] = (uint64_t)kv->o.kv_heads *
			(scales ? accel_dtype_bits(kv->o.scale_dtype) :
			 accel_dtype_bits(kv->o.dtype) * kv_dim(kv, i)) / 8;
		if (__builtin_mul_overflow(rows * kv->o.layers, kv->row_bytes[i], &bytes))
			return ctx_fail(kv->ctx, -EINVAL, "kv.pages",
					"the pool does not fit into an address space");
		ret = accel_bo_create(kv->ctx, bytes, &opts, &kv->bo[i]);
		if (ret)
			return ret;
	}
	return 0;
}

int accel_kv_create(struct accel_ctx *ctx, const struct accel_kv_opts *opts,
		    struct accel_kv **out)
{
	struct accel_kv_opts o = { 0 };
	struct accel_kv *kv;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!opts)
		return ctx_fail(ctx, -EINVAL, "opts", "NULL");
	if (!out)
		return ctx_fail(ctx, -EINVAL, "kv", "NULL");
	ret = read_opts(ctx, opts, &o);
	if (ret)
		return ret;
	kv = calloc(1, sizeof(*kv));
	if (!kv)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	pthread_mutex_init(&kv->lock, NULL);
	kv->ctx = ctx_ref(ctx);
	kv->o = o;
	kv->refs = calloc(o.pages, sizeof(*kv->refs));
	ret = kv->refs ? make_pool(kv) : ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	/* The caller's string. */
	kv->o.label = NULL;
	if (ret) {
		accel_kv_destroy(kv);
		return ret;
	}
	*out = kv;
	return 0;
}

void accel_kv_destroy(struct accel_kv *kv)
{
	uint32_t i;

	if (!kv)
		return;
	kv_plans_free(kv);
	for (i = 0; i < KV_PARTS; i++)
		accel_bo_unref(kv->bo[i]);
	for (i = 0; i < kv->seq_cap; i++) {
		free(kv->seqs[i].pages);
		free(kv->seqs[i].gaps);
	}
	free(kv->seqs);
	free(kv->refs);
	pthread_mutex_destroy(&kv->lock);
	ctx_unref(kv->ctx);
	free(kv);
}
