// SPDX-License-Identifier: MIT
/*
 * Operations that move elements: concatenation, splitting, padding. Each is a
 * list of copies between slices; conversion is what a copy does.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ops.h"

const char *const concat_names[ACCEL_CONCAT_MAX] = {
	"concat.a[0]", "concat.a[1]", "concat.a[2]", "concat.a[3]", "concat.a[4]",
	"concat.a[5]", "concat.a[6]", "concat.a[7]"
};

const char *const split_names[ACCEL_CONCAT_MAX] = {
	"split.d[0]", "split.d[1]", "split.d[2]", "split.d[3]", "split.d[4]",
	"split.d[5]", "split.d[6]", "split.d[7]"
};

/**
 * struct end - one side of a copy
 * @t: slice
 * @arg: &enum accel_arg of the whole
 * @name: path in the descriptor
 */
struct end {
	struct accel_tensor t;
	uint32_t arg;
	const char *name;
};

static int add_copy(struct parts *parts, const struct end *a, const struct end *d,
		    struct accel_error *e)
{
	const char * const names[REQUEST_SLOTS] = {
		[UMA_SLOT_DST] = d->name, [UMA_SLOT_A] = a->name
	};
	const uint32_t args[REQUEST_SLOTS] = {
		[UMA_SLOT_DST] = d->arg, [UMA_SLOT_A] = a->arg
	};
	struct part *part = &parts->part[parts->count];

	part->desc.copy = (struct accel_copy_desc)ACCEL_COPY_DESC_INIT;
	part->desc.copy.a = a->t;
	part->desc.copy.d = d->t;
	return part_lower(parts, ACCEL_OP_COPY, names, args, e);
}

/* A slice of a tensor that has been checked. */
static int cut(const struct accel_tensor *t, const char *name, uint32_t axis,
	       int64_t start, int64_t count, int64_t step, struct accel_tensor *out,
	       struct accel_error *e)
{
	int ret = tensor_closed(t, name, e);

	if (ret)
		return ret;
	ret = accel_tensor_slice(t, axis, start, count, step, out);
	if (ret == -EOPNOTSUPP && accel_dtype_bits(t->dtype) < 8)
		return bad(e, ret, name, "dims",
			   "a piece of 4-bit elements does not begin at a byte");
	if (ret == -EOPNOTSUPP)
		return bad(e, ret, name, "quant.scheme",
			   "a piece has scales that do not lie together: use one scale for the tensor");
	return ret ? bad(e, ret, name, "dims", "has no such piece") : 0;
}

/*
 * The tensors of a list and the one that they are pieces of: equal but for the
 * axis, where they add up.
 */
static int check_pieces(const struct accel_tensor *list, const char *const *names,
			uint32_t count, const struct operand *whole, uint32_t axis,
			struct accel_error *e)
{
	struct operand t;
	int64_t sum = 0;
	uint32_t i, d;
	int ret;

	for (i = 0; i < count; i++) {
		ret = operand_init(&t, &list[i], 0, names[i], e);
		if (ret)
			return ret;
		if (t.rank != whole->rank)
			return bad(e, -EINVAL, names[i], "rank",
				   "rank %u, but %s has rank %u", t.rank, whole->name,
				   whole->rank);
		for (d = 0; d < t.rank; d++)
			if (d != axis && t.dims[d] != whole->dims[d])
				return bad_at(e, -EINVAL, names[i], "dims", d,
					      "%lld, but %s.dims[%u] is %lld",
					      (long long)t.dims[d], whole->name, d,
					      (long long)whole->dims[d]);
		if (__builtin_add_overflow(sum, t.dims[axis], &sum))
			sum = INT64_MAX;
	}
	if (sum != whole->dims[axis])
		return bad_at(e, -EINVAL, whole->name, "dims", axis,
			      "%lld, but the pieces have %lld together",
			      (long long)whole->dims[axis], (long long)sum);
	for (; i < ACCEL_CONCAT_MAX; i++) {
		if (list[i].rank)
			return bad(e, -EINVAL, names[i], "rank",
				   "is set, but there are %u tensors", count);
		ret = tensor_absent(&list[i], names[i], e);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * check_list - the number of pieces and the dimension that they lie along
 * @name: the operation
 * @count: pieces
 * @axis: dimension
 * @rank: of the tensors
 * @e: filled on failure
 *
 * Return: 0, -EINVAL.
 */
int check_list(const char *name, uint32_t count, uint32_t axis, uint32_t rank,
	       struct accel_error *e)
{
	if (!count || count > ACCEL_CONCAT_MAX)
		return bad(e, -EINVAL, name, "count", "%u is not from 1 to %u", count,
			   ACCEL_CONCAT_MAX);
	if (axis >= rank)
		return bad(e, -EINVAL, name, "axis", "%u, but the tensors have rank %u",
			   axis, rank);
	return 0;
}

int lower_concat(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_concat_desc *desc = &any->concat;
	struct operand d;
	struct parts *parts;
	int64_t start = 0;
	uint32_t i;
	int ret;

	req->opcode = UMA_OP_NOP;
	ret = operand_init(&d, &desc->d, ACCEL_ARG_D, "concat.d", e);
	if (!ret)
		ret = operand_check_output(&d, e);
	if (!ret)
		ret = check_list("concat", desc->count, desc->axis, d.rank, e);
	if (!ret)
		ret = check_pieces(desc->a, concat_names, desc->count, &d, desc->axis, e);
	if (ret)
		return ret;
	parts = parts_alloc(req, desc->count);
	if (!parts)
		return bad(e, -ENOMEM, "", "", "out of memory");
	parts->tensor[ACCEL_ARG_D] = &desc->d;
	for (i = 0; !ret && i < desc->count; i++) {
		struct end from = { desc->a[i], ACCEL_ARG_A + i, concat_names[i] };
		struct end to = { desc->d, ACCEL_ARG_D, "concat.d" };
		int64_t n = from.t.dims[desc->axis];

		parts->tensor[from.arg] = &desc->a[i];
		ret = cut(&desc->d, "concat.d", desc->axis, start, n, 1, &to.t, e);
		if (!ret)
			ret = add_copy(parts, &from, &to, e);
		start += n;
	}
	return ret;
}

int lower_split(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_split_desc *desc = &any->split;
	struct operand a, d;
	struct parts *parts;
	int64_t start = 0;
	uint32_t i;
	int ret;

	req->opcode = UMA_OP_NOP;
	ret = operand_init(&a, &desc->a, ACCEL_ARG_A, "split.a", e);
	if (!ret)
		ret = check_list("split", desc->count, desc->axis, a.rank, e);
	if (!ret)
		ret = check_pieces(desc->d, split_names, desc->count, &a, desc->axis, e);
	if (ret)
		return ret;
	parts = parts_alloc(req, desc->count);
	if (!parts)
		return bad(e, -ENOMEM, "", "", "out of memory");
	parts->tensor[ACCEL_ARG_A] = &desc->a;
	for (i = 0; !ret && i < desc->count; i++) {
		struct end from = { desc->a, ACCEL_ARG_A, "split.a" };
		struct end to = {
			desc->d[i], i ? ACCEL_ARG_B + i - 1 : (uint32_t)ACCEL_ARG_D,
			split_names[i]
		};
		int64_t n = to.t.dims[desc->axis];

		parts->tensor[to.arg] = &desc->d[i];
		ret = operand_init(&d, &desc->d[i], to.arg, to.name, e);
		if (!ret)
			ret = operand_check_output(&d, e);
		if (!ret)
			ret = cut(&desc->a, "split.a", desc->axis, start, n, 1, &from.t, e);
		if (!ret)
			ret = add_copy(parts, &from, &to, e);
		start += n;
	}
	return ret;
}

/* --- padding --------------------------------------------------------------------- */

/* A number as it is stored in D. */
static int stored_value(const struct accel_pad_desc *desc, const struct operand *d,
			uint32_t *bits, struct accel_error *e)
{
	double v = desc->value;

	if (d->quant.scheme == ACCEL_QUANT_TENSOR) {
		if (isnan(v))
			return bad(e, -EINVAL, "pad", "value", "not a number has no %s",
				   accel_dtype_name(d->dtype));
		/* As the device does: a quotient of binary32, nearest even. */
		v = nearbyint((double)((float)v / d->quant.scale)) + d->quant.zero;
	} else if (d->quant.scheme) {
		if (v != 0 || d->quant.zeros)
			return bad(e, -EOPNOTSUPP, "pad.d", "quant.scheme",
				   "with tables of scales only 0 is filled in, and without zero points");
	}
	if (fill_bits(v, d->dtype, bits))
		return bad(e, -EINVAL, "pad", "value", "not a number has no %s",
			   accel_dtype_name(d->dtype));
	return 0;
}

static int add_fill(struct parts *parts, const struct accel_pad_desc *desc,
		    const struct operand *d, struct accel_error *e)
{
	static const char * const names[REQUEST_SLOTS] = { [UMA_SLOT_DST] = "pad.d" };
	static const uint32_t args[REQUEST_SLOTS] = { [UMA_SLOT_DST] = ACCEL_ARG_D };
	struct part *part = &parts->part[parts->count];
	uint32_t bits = 0;
	int ret;

	ret = stored_value(desc, d, &bits, e);
	if (ret)
		return ret;
	part->desc.fill = (struct accel_fill_desc)ACCEL_FILL_DESC_INIT;
	part->desc.fill.d = desc->d;
	memset(&part->desc.fill.d.quant, 0, sizeof(part->desc.fill.d.quant));
	ret = part_lower(parts, ACCEL_OP_FILL, names, args, e);
	if (!ret)
		part->req.value = bits;
	return ret;
}

/**
 * enum side - where a piece of D lies along a dimension
 */
enum side {
	INSIDE,
	BEFORE,
	AFTER,
	SIDES
};

/* Which of A is at a side of D along a dimension: cut both down to it. */
static int cut_side(const struct accel_pad_desc *desc, uint32_t axis, enum side side,
		    struct accel_tensor *a, struct accel_tensor *d, struct accel_error *e)
{
	int64_t low = desc->before[axis], high = desc->after[axis];
	int64_t n = desc->a.dims[axis], at = low, count = n, from = 0, step = 1;
	int ret;

	if (side != INSIDE) {
		at = side == BEFORE ? 0 : low + n;
		count = side == BEFORE ? low : high;
		switch (desc->mode) {
		case ACCEL_PAD_EDGE:
			from = side == BEFORE ? 0 : n - 1;
			break;
		case ACCEL_PAD_REFLECT:
			from = side == BEFORE ? low : n - 2;
			step = -1;
			break;
		default:
			from = side == BEFORE ? n - low : 0;
			break;
		}
	}
	ret = cut(d, "pad.d", axis, at, count, 1, d, e);
	/* One element at the edge is repeated by the copy. */
	if (side != INSIDE && desc->mode == ACCEL_PAD_EDGE)
		count = 1;
	return ret ? ret : cut(a, "pad.a", axis, from, count, step, a, e);
}

/* Is there anything at this side? */
static bool has_side(const struct accel_pad_desc *desc, uint32_t axis, enum side side)
{
	return side == INSIDE || (side == BEFORE ? desc->before : desc->after)[axis];
}

/* A and all that surrounds it: a copy for each edge, corner, ... of it. */
static int add_sides(struct parts *parts, const struct accel_pad_desc *desc,
		     struct accel_error *e)
{
	enum side side[ACCEL_MAX_RANK] = { INSIDE };
	uint32_t rank = desc->d.rank, i = 0;
	int ret = 0;

	while (!ret && i < rank) {
		struct end a = { desc->a, ACCEL_ARG_A, "pad.a" };
		struct end d = { desc->d, ACCEL_ARG_D, "pad.d" };

		for (i = 0; !ret && i < rank; i++)
			ret = cut_side(desc, i, side[i], &a.t, &d.t, e);
		if (!ret)
			ret = add_copy(parts, &a, &d, e);
		/* The next combination of sides that there are. */
		for (i = 0; i < rank; i++) {
			do
				side[i]++;
			while (side[i] < SIDES && !has_side(desc, i, side[i]));
			if (side[i] < SIDES)
				break;
			side[i] = INSIDE;
		}
	}
	return ret;
}

static uint32_t count_sides(const struct accel_pad_desc *desc)
{
	uint32_t i, n = 1;

	for (i = 0; i < desc->d.rank; i++)
		n *= 1 + !!desc->before[i] + !!desc->after[i];
	return n;
}

static int check_border(const struct accel_pad_desc *desc, uint32_t axis,
			struct accel_error *e)
{
	int64_t n = desc->a.dims[axis], most = n;
	const int64_t *side[2] = { desc->before, desc->after };
	static const char * const name[2] = { "before", "after" };
	uint32_t i;

	if (desc->mode == ACCEL_PAD_CONSTANT)
		return 0;
	if (desc->mode == ACCEL_PAD_REFLECT)
		most = n - 1;
	for (i = 0; i < 2; i++) {
		if (!side[i][axis])
			continue;
		if (!n || (desc->mode != ACCEL_PAD_EDGE && side[i][axis] > most))
			return bad_at(e, -EINVAL, "pad", name[i], axis,
				      "%lld elements cannot be had from a dimension of %lld",
				      (long long)side[i][axis], (long long)n);
	}
	return 0;
}

static int check_pad(const struct accel_pad_desc *desc, const struct operand *a,
		     const struct operand *d, struct accel_error *e)
{
	int64_t sum;
	uint32_t i;
	int ret;

	if (desc->mode >= ACCEL_PAD_COUNT)
		return bad(e, -EINVAL, "pad", "mode", "%u is not a mode", desc->mode);
	if (desc->pad)
		return bad(e, -EINVAL, "pad", "pad", "must be zero");
	if (desc->mode != ACCEL_PAD_CONSTANT && desc->value != 0)
		return bad(e, -EINVAL, "pad", "value",
			   "is set, but the mode does not use it");
	if (a->rank != d->rank)
		return bad(e, -EINVAL, "pad.a", "rank", "rank %u, but pad.d has rank %u",
			   a->rank, d->rank);
	for (i = 0; i < ACCEL_MAX_RANK; i++) {
		if (desc->before[i] < 0 || (i >= d->rank && desc->before[i]))
			return bad_at(e, -EINVAL, "pad", "before", i,
				      "%lld: %s", (long long)desc->before[i],
				      i < d->rank ? "slice to take elements away" :
				      "there is no such dimension");
		if (desc->after[i] < 0 || (i >= d->rank && desc->after[i]))
			return bad_at(e, -EINVAL, "pad", "after", i,
				      "%lld: %s", (long long)desc->after[i],
				      i < d->rank ? "slice to take elements away" :
				      "there is no such dimension");
		if (i >= d->rank)
			continue;
		if (__builtin_add_overflow(a->dims[i], desc->before[i], &sum) ||
		    __builtin_add_overflow(sum, desc->after[i], &sum) ||
		    sum != d->dims[i])
			return bad_at(e, -EINVAL, "pad.d", "dims", i,
				      "%lld is not the %lld of pad.a and what is added",
				      (long long)d->dims[i], (long long)a->dims[i]);
		ret = check_border(desc, i, e);
		if (ret)
			return ret;
	}
	return 0;
}

int lower_pad(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_pad_desc *desc = &any->pad;
	struct end from = { desc->a, ACCEL_ARG_A, "pad.a" };
	struct end to = { desc->d, ACCEL_ARG_D, "pad.d" };
	bool constant = desc->mode == ACCEL_PAD_CONSTANT;
	struct operand a, d;
	struct parts *parts;
	uint32_t i;
	int ret;

	req->opcode = UMA_OP_NOP;
	ret = operand_init(&d, &desc->d, ACCEL_ARG_D, "pad.d", e);
	if (!ret)
		ret = operand_check_output(&d, e);
	if (!ret)
		ret = operand_init(&a, &desc->a, ACCEL_ARG_A, "pad.a", e);
	if (!ret)
		ret = check_pad(desc, &a, &d, e);
	if (ret)
		return ret;
	parts = parts_alloc(req, constant ? 2 : count_sides(desc));
	if (!parts)
		return bad(e, -ENOMEM, "", "", "out of memory");
	parts->tensor[ACCEL_ARG_A] = &desc->a;
	parts->tensor[ACCEL_ARG_D] = &desc->d;
	if (!constant)
		return add_sides(parts, desc, e);
	ret = add_fill(parts, desc, &d, e);
	for (i = 0; !ret && i < d.rank; i++)
		ret = cut(&to.t, "pad.d", i, desc->before[i], a.dims[i], 1, &to.t, e);
	return ret ? ret : add_copy(parts, &from, &to, e);
}
