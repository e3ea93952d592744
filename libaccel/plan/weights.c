// SPDX-License-Identifier: MIT
/*
 * A constant B: read once, while planning, into memory of the plan. The engine
 * that will use it packs it into its own layout; where it has none, or B is
 * repeated over the batch, the plan holds a dense copy. Tables come along.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/objects.h"
#include "libaccel/quant/reader.h"
#include "planner.h"

/* Parts of the plan's memory start at multiples of this */
#define PART_ALIGN	64

static uint64_t part_up(uint64_t bytes)
{
	return (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

/* Run a plan whose arguments are A and D, and wait. */
static int run_pair(struct accel_plan *plan, struct accel_bo *a, uint64_t a_offset,
		    struct accel_bo *d)
{
	const struct accel_binding bindings[2] = {
		{ .arg = ACCEL_ARG_A, .bo = a, .offset = a_offset },
		{ .arg = ACCEL_ARG_D, .bo = d },
	};

	const struct job_bindings bound = { bindings, 2, NULL };

	return plan_run(plan, &bound);
}

/* Copy elements as they are. */
static int copy_plain(struct accel_ctx *ctx, const struct accel_tensor *from,
		      const struct accel_tensor *to)
{
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;

	copy.a = *from;
	copy.d = *to;
	return accel_run(ctx, &copy.hdr);
}

static int copy_table(struct accel_plan *plan, struct accel_bo *from,
		      uint64_t offset, uint32_t dtype, uint64_t entries,
		      uint64_t to)
{
	const int64_t dims[1] = { (int64_t)entries };
	struct accel_tensor a = accel_tensor_dense(from, dtype, 1, dims);
	struct accel_tensor d = accel_tensor_dense(plan->packed, dtype, 1, dims);

	a.offset = offset;
	d.offset = to;
	return copy_plain(plan->ctx, &a, &d);
}

/*
 * Dense strides with the dimensions in the order in which they lie in memory, or
 * in one that is given, those that repeat repeating. Rows of nibbles end at a
 * byte.
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
		if (dtype_is_int4(b->dtype))
			step += step & 1;
	}
	b->lo = 0;
	b->hi = (step * accel_dtype_bits(b->dtype) + 7) / 8;
}

/* The stored numbers of an operand, without their meaning. */
static void stored(const struct operand *b, struct accel_tensor *t)
{
	uint32_t i;

	*t = (struct accel_tensor) {
		.dtype = b->dtype, .rank = b->rank, .flags = ACCEL_TENSOR_STRIDES
	};
	for (i = 0; i < b->rank; i++) {
		t->strides[i] = b->strides[i];
		/* One of those that are repeated. */
		t->dims[i] = b->dims[i] && !b->strides[i] ? 1 : b->dims[i];
	}
}

static int hold_copy(struct accel_plan *plan, const struct operand *src,
		     const struct operand *dense)
{
	struct accel_tensor a, d;

	stored(src, &a);
	stored(dense, &d);
	a.bo = src->from->bo;
	a.offset = src->from->offset;
	d.bo = plan->packed;
	return copy_plain(plan->ctx, &a, &d);
}

static int hold_packed(struct accel_plan *plan, const struct operand *src, struct accel_bo *bo,
		       uint64_t offset, const struct placement *p, uint64_t bytes)
{
	static const struct op_class class = {
		.opcode = UMA_OP_PACK, .outputs = SLOT(DST),
	};
	struct request req = {
		.class = &class,
		.opcode = UMA_OP_PACK,
		.slots = 1u << UMA_SLOT_DST | 1u << UMA_SLOT_A,
	};
	struct accel_plan *pack;
	int ret;

	req.t[UMA_SLOT_A] = *src;
	req.t[UMA_SLOT_A].arg = ACCEL_ARG_A;
	memset(&req.t[UMA_SLOT_A].quant, 0, sizeof(req.t[UMA_SLOT_A].quant));
	req.t[UMA_SLOT_DST] = req.t[UMA_SLOT_A];
	req.t[UMA_SLOT_DST].arg = ACCEL_ARG_D;
	req.t[UMA_SLOT_DST].lo = 0;
	req.t[UMA_SLOT_DST].hi = bytes;
	pack = plan_alloc(plan->ctx, &req);
	if (!pack)
		return ctx_fail(plan->ctx, -ENOMEM, NULL, "out of memory");
	pack->info.engine = plan->info.engine;
	pack->instances = plan->instances;
	ret = emit_plan(pack, &req, p->pack, NULL, p->layout);
	if (ret)
		ctx_fail(plan->ctx, ret, NULL, "out of memory");
	else
		ret = run_pair(pack, bo, offset, plan->packed);
	accel_plan_unref(pack);
	return ret;
}

/* Transformed weights, in blocks if the engine has some for them. */
static int hold_winograd(struct accel_plan *plan, const struct request *req,
			 const struct operand *src, const struct placement *p, uint64_t bytes)
{
	struct accel_bo *plain;
	int ret;

	if (!p->pack)
		return winograd_weights(plan->ctx, src->from, req->winograd, plan->packed);
	ret = accel_bo_create(plan->ctx, src->hi ? src->hi : 1, NULL, &plain);
	if (ret)
		return ret;
	ret = winograd_weights(plan->ctx, src->from, req->winograd, plain);
	if (!ret)
		ret = hold_packed(plan, src, plain, 0, p, bytes);
	accel_bo_unref(plain);
	return ret;
}

static int hold_tables(struct accel_plan *plan, const struct operand *b,
		       const struct held_b *held)
{
	const struct accel_quant *q = &b->from->quant;
	int ret;

	if (b->quant.scheme < ACCEL_QUANT_CHANNEL)
		return 0;
	ret = copy_table(plan, q->scales, q->scales_offset, b->quant.scale_dtype,
			 b->quant.entries, held->scales);
	if (!ret && b->quant.zeros)
		ret = copy_table(plan, q->zeros, q->zeros_offset, ACCEL_S32,
				 b->quant.entries, held->zeros);
	return ret;
}

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

/* All of B as the caller has it, and of its tables, is read. */
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
				  n * (int64_t)sizeof(int32_t), e);
	return ret;
}

/**
 * hold_b - read B into the plan
 * @plan: plan; its engine is set
 * @req: request in the form that was placed; B becomes what is held
 * @p: placement
 * @held: out: where the parts are
 * @e: filled on failure, unless the context's record has it already: code 0
 *
 * Return: 0, -EINVAL B has no buffer, or what running it gives.
 */
int hold_b(struct accel_plan *plan, struct request *req,
	   const struct placement *p, struct held_b *held,
	   struct accel_error *e)
{
	const struct accel_bo_opts opts = {
		sizeof(opts), ACCEL_BO_NO_MAP, "packed weights"
	};
	struct operand *b = &req->t[UMA_SLOT_B], src = *b;
	int ret;

	ret = check_buffers(plan->ctx, b, e);
	if (ret)
		return ret;
	if (req->sparse) {
		ret = sparse_check(b->from, req->sparse_axis, e);
		if (ret)
			return ret;
	}
	if (p->pack) {
		held->layout = p->layout;
		b->lo = 0;
		b->hi = packed_bytes(b, p->pack, p->layout);
	} else if (p->held == HELD_COPY) {
		make_dense(b, req->b_ordered ? req->b_order : NULL);
	}
	held->scales = part_up(b->hi);
	held->zeros = held->scales;
	if (b->quant.scheme >= ACCEL_QUANT_CHANNEL)
		held->zeros = part_up(held->scales + b->quant.entries *
				      accel_dtype_bits(b->quant.scale_dtype) / 8);
	held->bytes = held->zeros;
	if (b->quant.zeros)
		held->bytes += b->quant.entries * sizeof(int32_t);
	ret = accel_bo_create(plan->ctx, held->bytes ? held->bytes : 1, &opts,
			      &plan->packed);
	if (ret)
		return ret;
	ret = p->held == HELD_WINOGRAD ?
	      hold_winograd(plan, req, &src, p, b->hi) :
	      p->held == HELD_PACKED ?
	      hold_packed(plan, &src, src.from->bo, src.from->offset, p, b->hi) :
	      operand_empty(&src) ? 0 : hold_copy(plan, &src, b);
	return ret ? ret : hold_tables(plan, &src, held);
}
