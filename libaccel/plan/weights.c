// SPDX-License-Identifier: MIT
/*
 * Converts a constant B to the form that an engine needs: it is read once, during planning, and
 * written to memory of the plan. All steps of a conversion are operations of one job.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/objects.h"
#include "libaccel/quant/reader.h"
#include "planner.h"
#include "store.h"

/* Alignment of the parts of the held weights */
#define PART_ALIGN	64

static uint64_t part_up(uint64_t bytes)
{
	return (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

/*
 * Dense strides with the dimensions in their order in memory, or in a given one; broadcast
 * dimensions remain so. Rows of 4-bit numbers end at a byte boundary.
 */
static void make_dense(struct operand *b, const uint8_t *given)
{
	uint32_t order[ACCEL_MAX_RANK], n = 0, i, j, d;
	int64_t step = 1;

	for (i = 0; i < b->rank; i++) {
		d = given ? given[i] : i;
		if (!b->strides[d] || b->dims[d] < 2) {
			b->strides[d] = 0;
			continue;
		}
		for (j = n++; !given && j > 0 &&
		     llabs(b->strides[order[j - 1]]) > llabs(b->strides[d]); j--)
			order[j] = order[j - 1];
		order[j] = d;
	}
	for (i = 0; i < n; i++) {
		b->strides[order[i]] = step;
		step *= b->dims[order[i]];
		if (uma_is_int4(b->dtype))
			step += step & 1;
	}
	b->lo = 0;
	b->hi = (step * accel_dtype_bits(b->dtype) + 7) / 8;
}

/* The stored numbers of an operand, without quantisation. */
static void stored(const struct operand *b, struct accel_tensor *t)
{
	uint32_t i;

	*t = (struct accel_tensor) {
		.dtype = b->dtype, .rank = b->rank, .flags = ACCEL_TENSOR_STRIDES
	};
	for (i = 0; i < b->rank; i++) {
		t->strides[i] = b->strides[i];
		/* Broadcast elements are stored once. */
		t->dims[i] = b->dims[i] && !b->strides[i] ? 1 : b->dims[i];
	}
}

/* --- steps ---------------------------------------------------------------------- */

/* Copy elements without conversion. */
static int add_copy(struct accel_job *job, const struct accel_tensor *from,
		    const struct accel_tensor *to)
{
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;

	copy.a = *from;
	copy.d = *to;
	return accel_job_add_desc(job, NULL, &copy.hdr, NULL, 0, NULL);
}

/* Make @dense a dense copy of @src. */
static int add_dense(struct accel_job *job, const struct operand *src, const struct operand *dense,
		     struct accel_bo *to)
{
	struct accel_tensor a, d;

	if (operand_empty(src))
		return 0;
	stored(src, &a);
	stored(dense, &d);
	a.bo = src->from->bo;
	a.offset = src->from->offset;
	d.bo = to;
	return add_copy(job, &a, &d);
}

/* Pack @src, which is at @offset of @bo, in the blocks of the chosen engine. */
static int add_packed(struct accel_job *job, const struct choice *c, const struct operand *src,
		      struct accel_bo *bo, uint64_t offset, const struct weights *w)
{
	const struct accel_binding bindings[2] = {
		{ .arg = ACCEL_ARG_A, .bo = bo, .offset = offset },
		{ .arg = ACCEL_ARG_D, .bo = w->bo },
	};
	const struct job_bindings bound = { bindings, 2, NULL };
	struct accel_plan *plan;
	struct request req;
	int ret;

	pack_request(src, packed_bytes(src, c->p.pack, w->layout), &req);
	plan = plan_alloc(job->ctx, &req);
	if (!plan)
		return ctx_fail(job->ctx, -ENOMEM, NULL, "out of memory");
	plan->info.engine = c->engine->info.engine;
	plan->instances = c->instances;
	ret = emit_plan(plan, &req, c->p.pack, NULL, w->layout);
	if (ret)
		ctx_fail(job->ctx, ret, NULL, "out of memory");
	else
		ret = job_add(job, plan, &bound, NULL, 0, NULL);
	accel_plan_unref(plan);
	return ret;
}

/* Transform weights, and pack them if the engine has blocks for them. */
static int add_winograd(struct accel_job *job, const struct choice *c, uint32_t edge,
			const struct operand *src, const struct weights *w)
{
	struct accel_bo *plain = NULL;
	int ret;

	if (!c->p.pack)
		return winograd_add(job, src->from, edge, w->bo);
	ret = accel_bo_create(job->ctx, src->hi ? src->hi : 1, NULL, &plain);
	if (!ret)
		ret = winograd_add(job, src->from, edge, plain);
	if (!ret)
		ret = add_packed(job, c, src, plain, 0, w);
	accel_bo_unref(plain);
	return ret;
}

/*
 * Copy a table in its order; one of groups with the scales of neighbouring columns contiguous,
 * as products read them, for any order of B.
 */
static int add_table(struct accel_job *job, const struct operand *b, struct accel_bo *from,
		     uint64_t offset, uint32_t dtype, struct accel_bo *to, uint64_t at)
{
	const bool turn = b->quant.flags & UMA_QUANT_SWAPPED;
	const int64_t n = turn ? b->dims[b->rank - 1] : 1;
	const int64_t k = turn ? b->dims[b->rank - 2] : 1;
	const int64_t groups = turn ? (k + b->quant.group - 1) / b->quant.group : 1;
	const int64_t dims[3] = { (int64_t)b->quant.entries / (n * groups), groups, n };
	struct accel_tensor a = accel_tensor_dense(from, dtype, 3, dims);
	struct accel_tensor d = accel_tensor_dense(to, dtype, 3, dims);

	a.flags = ACCEL_TENSOR_STRIDES;
	a.strides[0] = groups * n;
	a.strides[1] = 1;
	a.strides[2] = groups;
	a.offset = offset;
	d.offset = at;
	return add_copy(job, &a, &d);
}

static int add_tables(struct accel_job *job, const struct operand *b, const struct weights *w)
{
	const struct accel_quant *q = &b->from->quant;
	int ret;

	if (b->quant.scheme < ACCEL_QUANT_CHANNEL || !b->quant.entries)
		return 0;
	ret = add_table(job, b, q->scales, q->scales_offset, b->quant.scale_dtype, w->bo,
			w->scales);
	if (!ret && b->quant.zeros)
		ret = add_table(job, b, q->zeros, q->zeros_offset, b->quant.zeros, w->bo,
				w->zeros);
	return ret;
}

/* --- forms ---------------------------------------------------------------------- */

static int check_range(const struct accel_ctx *ctx, const struct operand *b, const char *field,
		       const struct accel_bo *bo, uint64_t offset, int64_t lo, int64_t hi,
		       struct accel_error *e)
{
	char name[32];

	if (!bo)
		return bad(e, -EINVAL, b->name, field, "a right matrix that is packed needs it");
	if (bo->ctx != ctx)
		return bad(e, -EINVAL, b->name, field, "belongs to another context");
	if (bo_holds(bo, offset, lo, hi))
		return 0;
	if (!strcmp(field, "bo"))
		snprintf(name, sizeof(name), "offset");
	else
		snprintf(name, sizeof(name), "%s_offset", field);
	return bad(e, -EINVAL, b->name, name, BO_TOO_SMALL, "it", lo, hi, offset, bo->size);
}

/* Check that all of B, and of its tables, is within the caller's buffers. */
static int check_buffers(const struct accel_ctx *ctx, const struct operand *b,
			 struct accel_error *e)
{
	const struct accel_quant *q = &b->from->quant;
	const int64_t n = (int64_t)b->quant.entries;
	struct operand whole;
	int ret;

	ret = operand_init(&whole, b->from, b->arg, b->name, e);
	if (!ret)
		ret = check_range(ctx, b, "bo", b->from->bo, b->from->offset, whole.lo, whole.hi,
				  e);
	if (!ret && b->quant.scheme >= ACCEL_QUANT_CHANNEL)
		ret = check_range(ctx, b, "quant.scales", q->scales, q->scales_offset, 0,
				  n * (accel_dtype_bits(b->quant.scale_dtype) / 8), e);
	if (!ret && b->quant.zeros)
		ret = check_range(ctx, b, "quant.zeros", q->zeros, q->zeros_offset, 0,
				  n * quant_zero_bytes(&b->quant), e);
	return ret;
}

/* Compute the offsets of the parts, and the layout of B. */
static void lay_out(struct request *req, const struct placement *p, struct weights *w)
{
	struct operand *b = &req->t[UMA_SLOT_B];

	*w = (struct weights) { .layout = weights_layout(p) };
	if (p->pack) {
		b->lo = 0;
		b->hi = packed_bytes(b, p->pack, w->layout);
	} else if (p->form == WEIGHTS_DENSE) {
		make_dense(b, req->b_ordered ? req->b_order : NULL);
	}
	w->scales = part_up(b->hi);
	w->zeros = w->scales;
	if (b->quant.scheme >= ACCEL_QUANT_CHANNEL)
		w->zeros = part_up(w->scales + b->quant.entries *
				   accel_dtype_bits(b->quant.scale_dtype) / 8);
	w->bytes = w->zeros + b->quant.entries * quant_zero_bytes(&b->quant);
}

/* Run the job that creates the form in new memory. */
static int make_form(struct accel_ctx *ctx, const struct choice *c, const struct request *req,
		     const struct operand *src, struct weights *w, struct accel_error *e)
{
	/* Shared forms are also written to files, so the CPU must see them. */
	const struct accel_bo_opts opts = {
		sizeof(opts), req->weights ? 0 : ACCEL_BO_NO_MAP, "packed weights"
	};
	const struct operand *b = &req->t[UMA_SLOT_B];
	struct accel_job *job = NULL;
	int ret = 0;

	if (req->sparse)
		ret = sparse_check(b->from, req->sparse_axis, e);
	if (!ret)
		ret = accel_bo_create(ctx, w->bytes ? w->bytes : 1, &opts, &w->bo);
	if (!ret)
		ret = accel_job_create(ctx, NULL, &job);
	if (!ret)
		ret = c->p.form == WEIGHTS_DENSE ? add_dense(job, src, b, w->bo) :
		      c->p.form == WEIGHTS_WINOGRAD ?
		      add_winograd(job, c, req->winograd, src, w) :
		      add_packed(job, c, src, src->from->bo, src->from->offset, w);
	if (!ret)
		ret = add_tables(job, src, w);
	if (!ret)
		ret = job_run(job);
	accel_job_destroy(job);
	if (ret) {
		accel_bo_unref(w->bo);
		w->bo = NULL;
	}
	return ret;
}

/* --- shared forms ------------------------------------------------------------------ */

/* Compute a digest of all data that are read. */
static int sum_source(struct accel_weights *weights, const struct operand *b, struct store_key *key)
{
	const struct accel_quant *q = &b->from->quant;
	struct accel_error none = ACCEL_ERROR_INIT;
	struct operand whole;
	int ret;

	ret = operand_init(&whole, b->from, b->arg, b->name, &none);
	if (ret)
		return ret;
	key->lo = -whole.lo;
	ret = store_content(weights, b->from->bo, b->from->offset + (uint64_t)whole.lo,
			    (uint64_t)(whole.hi - whole.lo), &key->content);
	if (!ret && b->quant.scheme >= ACCEL_QUANT_CHANNEL)
		ret = store_content(weights, q->scales, q->scales_offset, b->quant.entries *
				    accel_dtype_bits(b->quant.scale_dtype) / 8, &key->content);
	if (!ret && b->quant.zeros)
		ret = store_content(weights, q->zeros, q->zeros_offset,
				    b->quant.entries * quant_zero_bytes(&b->quant), &key->content);
	return ret;
}

static void fill_key(const struct choice *c, const struct request *req, const struct operand *src,
		     const struct weights *w, struct store_key *key)
{
	const struct operand_quant *q = &src->quant;
	uint32_t i;

	memset(key, 0, sizeof(*key));
	key->bytes = w->bytes;
	key->rank = src->rank;
	for (i = 0; i < src->rank; i++) {
		key->dims[i] = src->dims[i];
		key->strides[i] = src->strides[i];
	}
	key->dtype = src->dtype;
	key->form = c->p.form;
	key->layout = w->layout;
	if (c->p.pack) {
		key->block_k = le16toh(c->p.pack->block_k);
		key->block_n = le16toh(c->p.pack->block_n);
	}
	key->engine = c->engine->info.engine;
	key->winograd = req->winograd;
	if (q->scheme >= ACCEL_QUANT_CHANNEL) {
		key->scheme = quant_scheme(q);
		key->axis = q->axis;
		key->group = q->group;
		key->quant_flags = q->flags;
		key->scale_dtype = q->scale_dtype;
		key->zeros = !!q->zeros;
	}
	key->sparse = req->sparse ? 1 + req->sparse_axis : 0;
	for (i = 0; req->b_ordered && i < src->rank; i++)
		key->order[i] = 1 + req->b_order[i];
}

/* Can the CPU access all data that are read? */
static bool is_seen(const struct operand *b)
{
	const struct accel_quant *q = &b->from->quant;

	/* The digest of absent data is either known, or the operation is refused. */
	if (b->from->bo->kind == BO_ABSENT)
		return true;
	return b->from->bo->ptr &&
	       (b->quant.scheme < ACCEL_QUANT_CHANNEL || q->scales->ptr) &&
	       (!b->quant.zeros || q->zeros->ptr);
}

/*
 * Does the source still have the digest of the key? If that came from the table of files, the file
 * may have been overwritten since its stamp was read, although that is forbidden; to keep the form
 * under the old digest would give wrong results in all later starts.
 */
static bool is_of(struct accel_weights *weights, const struct operand *src,
		  const struct store_key *key)
{
	struct store_key now = *key;
	int ret;

	if (!weights->recalled)
		return true;
	memset(&now.content, 0, sizeof(now.content));
	weights->doubted = true;
	ret = sum_source(weights, src, &now);
	weights->doubted = false;
	return !ret && !memcmp(&now, key, sizeof(now));
}

/* Use an existing form, or create one for all plans. */
static int share_form(struct accel_ctx *ctx, const struct choice *c, const struct request *req,
		      const struct operand *src, struct weights *w, struct accel_error *e)
{
	struct accel_weights *weights = req->weights;
	struct store_key key;
	int ret;

	fill_key(c, req, src, w, &key);
	pthread_mutex_lock(&weights->lock);
	weights->recalled = false;
	ret = sum_source(weights, src, &key);
	if (!ret)
		w->bo = store_find(weights, ctx, &key);
	if (!ret && !w->bo && src->from->bo->kind == BO_ABSENT)
		ret = ctx_fail(ctx, -ENODATA, "weights",
			       "they are not there in the form that is wanted, nor as they were");
	if (!ret && !w->bo) {
		ret = make_form(ctx, c, req, src, w, e);
		if (!ret && is_of(weights, src, &key))
			store_keep(weights, &key, w->bo);
	}
	pthread_mutex_unlock(&weights->lock);
	return ret;
}

/**
 * weights_prepare - convert a constant B
 * @ctx: context
 * @c: choice: engine, form, blocks
 * @req: request in the variant that was placed; its B is replaced by the converted one
 * @w: out: what is held; nothing on failure
 * @e: filled on failure, unless the context has the error already: code 0
 *
 * Return: 0, -EINVAL: B has no buffer, or an error of running the steps.
 */
int weights_prepare(struct accel_ctx *ctx, const struct choice *c, struct request *req,
		    struct weights *w, struct accel_error *e)
{
	struct operand *b = &req->t[UMA_SLOT_B], src = *b;
	int ret;

	ret = req->dry ? 0 : check_buffers(ctx, b, e);
	if (ret)
		return ret;
	lay_out(req, &c->p, w);
	b->quant.flags &= ~(uint32_t)UMA_QUANT_SWAPPED;
	if (req->dry)
		return 0;
	if (req->weights && w->bytes && is_seen(b))
		return share_form(ctx, c, req, &src, w, e);
	return make_form(ctx, c, req, &src, w, e);
}
