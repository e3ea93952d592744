// SPDX-License-Identifier: MIT
/*
 * Simplifies an operation to fewer dimensions: those of size 1 are dropped, nested ones are
 * merged, and batches that share B become rows of A. The elements that are combined, and the
 * order of summation, do not change.
 */
#include <endian.h>
#include <string.h>

#include "planner.h"

static bool used(const struct request *req, uint32_t slot)
{
	return req->slots & (1u << slot);
}

static bool has_tables(const struct operand *t)
{
	return t->quant.scheme >= ACCEL_QUANT_CHANNEL;
}

/* Remove bit @d from a mask. */
static uint32_t drop_bit(uint32_t mask, uint32_t d)
{
	uint32_t low = (1u << d) - 1;

	return (mask & low) | ((mask & ~low & ~(1u << d)) >> 1);
}

static void drop_dim(struct operand *t, uint32_t d)
{
	struct operand_quant *q = &t->quant;
	uint32_t shared = q->flags & UMA_QUANT_SHARED_MASK;
	size_t tail = (t->rank - d - 1) * sizeof(t->dims[0]);

	memmove(t->dims + d, t->dims + d + 1, tail);
	memmove(t->strides + d, t->strides + d + 1, tail);
	t->rank--;
	t->dims[t->rank] = 0;
	t->strides[t->rank] = 0;
	if (has_tables(t) && q->axis > d)
		q->axis--;
	q->flags = (q->flags & ~UMA_QUANT_SHARED_MASK) | drop_bit(shared, d);
	t->dynamic = drop_bit(t->dynamic, d);
}

/* A dimension that is read from memory at run time cannot be merged. */
static bool is_dynamic(const struct request *req, uint32_t d)
{
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++)
		if (used(req, s) && (req->t[s].dynamic >> d & 1))
			return true;
	return false;
}

/* Dimension @d has size 1 in all operands, and no table refers to it. */
static bool can_drop(const struct request *req, uint32_t d)
{
	uint32_t s;

	if (req->t[UMA_SLOT_DST].dims[d] != 1 || is_dynamic(req, d))
		return false;
	for (s = 0; s < REQUEST_SLOTS; s++)
		if (used(req, s) && has_tables(&req->t[s]) &&
		    req->t[s].quant.axis == d)
			return false;
	return true;
}

/* Can dimensions @d and @d + 1 of an operand be merged? */
static bool nests(const struct operand *t, uint32_t d)
{
	int64_t step;

	if (t->dims[d] == 1 || t->dims[d + 1] == 1)
		return true;
	return !__builtin_mul_overflow(t->strides[d + 1], t->dims[d + 1], &step) &&
	       step == t->strides[d];
}

static bool tables_nest(const struct operand *t, uint32_t d)
{
	const struct operand_quant *q = &t->quant;
	uint32_t shared = q->flags & UMA_QUANT_SHARED_MASK;

	if (!has_tables(t))
		return true;
	if (q->axis == d || q->axis == d + 1)
		return false;
	if (q->scheme == ACCEL_QUANT_CHANNEL)
		return true;
	if ((q->flags & UMA_QUANT_SWAPPED) && d + 2 >= t->rank - 1)
		return false;
	return !(((shared >> d) ^ (shared >> (d + 1))) & 1);
}

static void merge(struct operand *t, uint32_t d)
{
	if (t->dims[d + 1] == 1)
		t->strides[d + 1] = t->strides[d];
	t->dims[d + 1] *= t->dims[d];
	drop_dim(t, d);
}

static bool merged_fits(const struct operand *t, uint32_t d)
{
	int64_t n;

	return !__builtin_mul_overflow(t->dims[d], t->dims[d + 1], &n) &&
	       n <= UINT32_MAX;
}

static bool can_merge(const struct request *req, uint32_t d)
{
	uint32_t s;

	if (is_dynamic(req, d) || is_dynamic(req, d + 1))
		return false;
	for (s = 0; s < REQUEST_SLOTS; s++)
		if (used(req, s) &&
		    (!nests(&req->t[s], d) || !tables_nest(&req->t[s], d)))
			return false;
	return merged_fits(&req->t[UMA_SLOT_DST], d);
}

/* Is B the same for all of the innermost batch dimension @d? */
static bool can_fold(const struct request *req, uint32_t d)
{
	const struct operand *b = &req->t[UMA_SLOT_B];
	uint32_t s;

	if (b->strides[d] || is_dynamic(req, d) || is_dynamic(req, d + 1) ||
	    (b->quant.scheme == ACCEL_QUANT_GROUP &&
	     !(b->quant.flags & UMA_QUANT_SHARED(d))))
		return false;
	for (s = 0; s < REQUEST_SLOTS; s++)
		if (s != UMA_SLOT_B && used(req, s) &&
		    (!nests(&req->t[s], d) || !tables_nest(&req->t[s], d)))
			return false;
	return merged_fits(&req->t[UMA_SLOT_DST], d);
}

static void each(struct request *req, void (*fn)(struct operand *, uint32_t),
		 uint32_t d)
{
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++)
		if (used(req, s))
			fn(&req->t[s], d);
}

/* Fold batches with the same B into the rows. */
static void fold(struct request *req, uint32_t d)
{
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++) {
		if (!used(req, s))
			continue;
		if (s == UMA_SLOT_B)
			drop_dim(&req->t[s], d);
		else
			merge(&req->t[s], d);
	}
}

static void simplify(struct request *req)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	/* The last two dimensions of a GEMM have different meanings. */
	uint32_t own = req->class->shape == SHAPE_MATRIX ? 2 : 0;
	uint32_t least = own ? 2 : 1;
	uint32_t i;

	for (i = d->rank - own; i-- > 0 && d->rank > least; )
		if (can_drop(req, i))
			each(req, drop_dim, i);
	for (i = d->rank - own; i-- > 1; )
		if (can_merge(req, i - 1))
			each(req, merge, i - 1);
	while (own && d->rank > 2 && can_fold(req, d->rank - 3))
		fold(req, d->rank - 3);
}

/* Fewer input or output channels than this waste most of a block. */
#define LEAST_PACKED	16

/* Constant weights of a convolution that an engine may support in packed form. */
static bool packs_taps(const struct request *req)
{
	const struct operand *b = &req->t[UMA_SLOT_B], *a = &req->t[UMA_SLOT_A];
	const struct uma_conv_params *w = (const void *)req->params;

	return req->opcode == UMA_OP_CONV && req->pack && !req->winograd &&
	       le32toh(w->groups) == 1 && !(le32toh(w->flags) & UMA_CONV_TRANSPOSED) &&
	       (uma_is_float(a->dtype) ? b->dtype == a->dtype : !uma_is_int4(b->dtype)) &&
	       b->dims[0] >= LEAST_PACKED && b->dims[1] >= LEAST_PACKED;
}

/* [M, C, height, width] becomes [height, width, C, M] for packing. */
static void tap_matrices(const struct request *req, struct request *v)
{
	const struct operand *from = &req->t[UMA_SLOT_B];
	struct operand *b = &v->t[UMA_SLOT_B];
	uint32_t i, spatial = from->rank - 2;

	*v = *req;
	v->only_packed = true;
	for (i = 0; i < spatial; i++) {
		b->dims[i] = from->dims[2 + i];
		b->strides[i] = from->strides[2 + i];
	}
	for (i = 0; i < 2; i++) {
		b->dims[spatial + i] = from->dims[1 - i];
		b->strides[spatial + i] = from->strides[1 - i];
	}
	if (b->quant.scheme == ACCEL_QUANT_CHANNEL)
		b->quant.axis = b->rank - 1;
}

/**
 * make_variants - make equivalent forms of a request
 * @req: request
 * @v: out: MAX_VARIANTS, best first; the last is the request itself
 *
 * Return: number of variants.
 */
uint32_t make_variants(const struct request *req, struct request *v)
{
	uint32_t s, n = 0;
	bool empty = false;

	for (s = 0; s < REQUEST_SLOTS; s++)
		empty |= used(req, s) && operand_empty(&req->t[s]);
	if (!empty && req->class->shape != SHAPE_OWN && !req->experts) {
		v[n] = *req;
		simplify(&v[n]);
		n += v[0].t[UMA_SLOT_DST].rank != req->t[UMA_SLOT_DST].rank;
	}
	if (packs_taps(req))
		tap_matrices(req, &v[n++]);
	v[n++] = *req;
	return n;
}
