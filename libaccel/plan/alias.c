// SPDX-License-Identifier: MIT
/*
 * Checks whether the result of an operation overlaps its inputs. Devices reject overlaps that
 * would make the result depend on the order of execution; an error when buffers are bound is
 * more helpful than a fault.
 */
#include <endian.h>

#include "planner.h"

/* View of an operand at its bound address. */
static void view_of(const struct accel_plan *plan, const struct plan_reloc *r,
		    const uint64_t *addrs, struct uma_tensor_view *v)
{
	const struct uma_operand *op = &plan->tasks[r->task].op[r->slot];
	uint32_t i;

	*v = (struct uma_tensor_view) {
		.addr = addrs[r->arg] + (uint64_t)r->addend,
		.dtype = le16toh(op->dtype), .rank = le16toh(op->rank),
		.layout = le16toh(op->layout),
	};
	for (i = 0; i < v->rank; i++) {
		v->dims[i] = le32toh(op->dims[i]);
		v->strides[i] = (int64_t)le64toh(op->strides[i]);
	}
}

/* Range of bytes from *lo to *hi that an operand accesses. */
static void bytes_of(const struct accel_plan *plan, const struct plan_reloc *r,
		     const uint64_t *addrs, uint64_t *lo, uint64_t *hi)
{
	const uint64_t addr = addrs[r->arg] + (uint64_t)r->addend;

	*lo = addr + (uint64_t)plan->args[r->arg].lo;
	*hi = addr + (uint64_t)plan->args[r->arg].hi;
}

/**
 * struct bound - a plan with addresses
 * @plan: plan of one task
 * @addrs: address of each of its arguments
 */
struct bound {
	const struct accel_plan *plan;
	const uint64_t *addrs;
};

/* Does the output @w of @a overlap the operand @r of @b? */
static bool overlaps(const struct bound *a, const struct plan_reloc *w,
		     const struct bound *b, const struct plan_reloc *r)
{
	bool in_place = a == b && w->slot == UMA_SLOT_DST &&
			(b->plan->in_place >> r->slot & 1);
	struct uma_tensor_view dst, in;
	uint64_t dst_lo, dst_hi, in_lo, in_hi;

	bytes_of(a->plan, w, a->addrs, &dst_lo, &dst_hi);
	bytes_of(b->plan, r, b->addrs, &in_lo, &in_hi);
	if (dst_lo >= dst_hi || in_lo >= in_hi || in_hi <= dst_lo || dst_hi <= in_lo)
		return false;
	view_of(a->plan, w, a->addrs, &dst);
	view_of(b->plan, r, b->addrs, &in);
	return r->field != PLAN_ADDR || dst.layout || in.layout ||
	       uma_views_conflict(&dst, &in, in_place);
}

/**
 * plan_find_overlap - find an input that the result overlaps
 * @plan: plan
 * @addrs: address of each of its arguments
 *
 * Results in place of an input, element by element, are allowed where the task allows them.
 *
 * Return: index of the argument that is overlapped, -1 if there is none.
 */
int plan_find_overlap(const struct accel_plan *plan, const uint64_t *addrs)
{
	const struct plan_reloc *w, *r, *end = plan->relocs + plan->reloc_count;
	const struct bound b = { plan, addrs };
	int found = -1;

	for (w = plan->relocs; w < end && found < 0; w++) {
		if (w->field != PLAN_ADDR || !(plan->outputs >> w->slot & 1))
			continue;
		for (r = plan->relocs; r < end && found < 0; r++)
			if (r != w && r->arg != PLAN_NO_ARG && overlaps(&b, w, &b, r))
				found = (int)r->arg;
	}
	return found;
}

/**
 * plan_part_addrs - addresses of the arguments of a part
 * @part: part
 * @addrs: address of each argument of the whole
 * @workspace: address of the job's workspace for it
 * @out: out: PLAN_MAX_ARGS
 */
void plan_part_addrs(const struct plan_part *part, const uint64_t *addrs,
		     uint64_t workspace, uint64_t *out)
{
	uint32_t i;

	for (i = 0; i < part->plan->arg_count; i++)
		out[i] = (part->arg[i] == PLAN_WORKSPACE ? workspace :
			  addrs[part->arg[i]]) + (uint64_t)part->at[i];
}

/* Is the operand @r the very elements that its task writes? */
static bool is_result(const struct bound *b, const struct plan_reloc *r)
{
	const struct plan_reloc *w, *end = b->plan->relocs + b->plan->reloc_count;
	struct uma_tensor_view dst, in;
	uint32_t i;

	if (r->field != PLAN_ADDR || !(b->plan->in_place >> r->slot & 1))
		return false;
	for (w = b->plan->relocs; w < end; w++)
		if (w->field == PLAN_ADDR && w->slot == UMA_SLOT_DST)
			break;
	if (w == end)
		return false;
	view_of(b->plan, w, b->addrs, &dst);
	view_of(b->plan, r, b->addrs, &in);
	if (dst.addr != in.addr || dst.dtype != in.dtype || dst.rank != in.rank)
		return false;
	for (i = 0; i < dst.rank; i++)
		if (dst.dims[i] != in.dims[i] ||
		    (dst.dims[i] > 1 && dst.strides[i] != in.strides[i]))
			return false;
	return !dst.layout && !in.layout;
}

/*
 * An output of @a must not overlap what @b, which runs later, reads of another argument. If both
 * write @pieces of one result, @a writes nothing that @b writes, whatever lies between.
 */
static int cross(const struct plan_part *pa, const struct bound *a,
		 const struct plan_part *pb, const struct bound *b, bool pieces)
{
	const struct plan_reloc *w, *r;

	for (w = a->plan->relocs; w < a->plan->relocs + a->plan->reloc_count; w++) {
		if (w->field != PLAN_ADDR || !(a->plan->outputs >> w->slot & 1) ||
		    pa->arg[w->arg] == PLAN_WORKSPACE)
			continue;
		for (r = b->plan->relocs; r < b->plan->relocs + b->plan->reloc_count; r++)
			if (r->arg != PLAN_NO_ARG && pb->arg[r->arg] != PLAN_WORKSPACE &&
			    pb->arg[r->arg] != pa->arg[w->arg] &&
			    !(pieces && is_result(b, r)) && overlaps(a, w, b, r))
				return (int)pb->arg[r->arg];
	}
	return -1;
}

/**
 * plan_parts_overlap - plan_find_overlap() for a plan of several tasks
 * @plan: plan
 * @addrs: address of each of its arguments
 * @workspace: address of its workspace
 *
 * A part may overwrite inputs of earlier parts, and its own inputs where its task may run in
 * place.
 *
 * Return: index of the argument that is overwritten, -1 if there is none.
 */
int plan_parts_overlap(const struct accel_plan *plan, const uint64_t *addrs,
		       uint64_t workspace)
{
	uint64_t at[PLAN_MAX_ARGS], before[PLAN_MAX_ARGS];
	uint32_t i, j;
	int found;

	for (i = 0; i < plan->part_count; i++) {
		const struct plan_part *part = &plan->parts[i];
		const struct bound b = { part->plan, at };

		plan_part_addrs(part, addrs, workspace, at);
		found = plan_find_overlap(part->plan, at);
		if (found >= 0)
			return (int)part->arg[found];
		for (j = 0; j < i; j++) {
			const struct bound a = { plan->parts[j].plan, before };

			plan_part_addrs(&plan->parts[j], addrs, workspace, before);
			found = cross(&plan->parts[j], &a, part, &b, plan->pieces);
			if (found >= 0)
				return found;
		}
	}
	return -1;
}
