// SPDX-License-Identifier: MIT
/*
 * May the result of an operation lie where its inputs do? Devices refuse what
 * would make the outcome depend on the order of work; saying so when buffers
 * are bound is kinder than a fault.
 */
#include <endian.h>

#include "planner.h"

/**
 * struct view - an operand in memory
 * @addr: address of element 0
 * @lo: first byte
 * @hi: one past the last
 * @bits: width of an element
 * @op: shape
 */
struct view {
	uint64_t addr;
	uint64_t lo;
	uint64_t hi;
	uint32_t bits;
	const struct uma_operand *op;
};

static int64_t stride_of(const struct view *v, uint32_t i)
{
	return (int64_t)le64toh(v->op->strides[i]);
}

static uint64_t step_bits(const struct view *v, uint32_t i)
{
	int64_t s = stride_of(v, i);

	return (s < 0 ? -(uint64_t)s : (uint64_t)s) * v->bits;
}

/* Element by element the same: each is read before it is replaced. */
static bool same_place(const struct view *a, const struct view *b)
{
	uint32_t i;

	if (a->addr != b->addr || a->op->dtype != b->op->dtype ||
	    a->op->rank != b->op->rank)
		return false;
	for (i = 0; i < le16toh(a->op->rank); i++)
		if (a->op->dims[i] != b->op->dims[i] ||
		    (le32toh(a->op->dims[i]) > 1 &&
		     a->op->strides[i] != b->op->strides[i]))
			return false;
	return true;
}

/*
 * Bytes modulo @period that an operand can touch: from *at on, *len of them.
 * Dimensions that step by multiples of the period come back to the same place.
 */
static void residue(const struct view *v, uint64_t period, uint64_t *at,
		    uint64_t *len)
{
	int64_t first = 0, last = 0, reach;
	uint32_t i;

	for (i = 0; i < le16toh(v->op->rank); i++) {
		if (le32toh(v->op->dims[i]) < 2 ||
		    step_bits(v, i) % (8 * period) == 0)
			continue;
		reach = stride_of(v, i) * ((int64_t)le32toh(v->op->dims[i]) - 1);
		if (reach < 0)
			first += reach;
		else
			last += reach;
	}
	if (v->bits < 8) {
		*len = (uint64_t)((last >> 1) - (first >> 1)) + 1;
		first >>= 1;
	} else {
		*len = (uint64_t)(last - first + 1) * (v->bits / 8);
		first *= v->bits / 8;
	}
	*at = (v->addr + (uint64_t)first) % period;
}

/* Slices of one array that repeat at the same distance and never meet. */
static bool apart(const struct view *a, const struct view *b, uint64_t period)
{
	uint64_t at_a, len_a, at_b, len_b, gap;

	residue(a, period, &at_a, &len_a);
	residue(b, period, &at_b, &len_b);
	if (len_a >= period || len_b >= period || len_a + len_b > period)
		return false;
	gap = at_b >= at_a ? at_b - at_a : at_b + period - at_a;
	return gap >= len_a && period - gap >= len_b;
}

static bool conflict(const struct view *dst, const struct view *in, bool in_place)
{
	const struct view *side[2] = { dst, in };
	uint32_t s, i;

	if (in_place && same_place(dst, in))
		return false;
	for (s = 0; s < 2; s++)
		for (i = 0; i < le16toh(side[s]->op->rank); i++) {
			uint64_t step = step_bits(side[s], i);

			if (le32toh(side[s]->op->dims[i]) > 1 && step >= 16 &&
			    step % 8 == 0 && apart(dst, in, step / 8))
				return false;
		}
	return true;
}

static void view_of(const struct accel_plan *plan, const struct plan_reloc *r,
		    const uint64_t *addrs, struct view *v)
{
	const struct plan_arg *arg = &plan->args[r->arg];

	v->addr = addrs[r->arg] + (uint64_t)r->addend;
	v->lo = v->addr + (uint64_t)arg->lo;
	v->hi = v->addr + (uint64_t)arg->hi;
	v->op = &plan->tasks[r->task].op[r->slot];
	v->bits = accel_dtype_bits(le16toh(v->op->dtype));
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

/* Does what @w of @a writes lie over what @r of @b reads or writes? */
static bool overlaps(const struct bound *a, const struct plan_reloc *w,
		     const struct bound *b, const struct plan_reloc *r)
{
	bool in_place = a == b && w->slot == UMA_SLOT_DST &&
			(b->plan->in_place >> r->slot & 1);
	struct view dst, in;

	view_of(a->plan, w, a->addrs, &dst);
	view_of(b->plan, r, b->addrs, &in);
	if (dst.lo >= dst.hi || in.lo >= in.hi || in.hi <= dst.lo || dst.hi <= in.lo)
		return false;
	return r->field != PLAN_ADDR || dst.op->layout || in.op->layout ||
	       conflict(&dst, &in, in_place);
}

/**
 * plan_find_overlap - does the result lie over an input?
 * @plan: plan
 * @addrs: address of each of its arguments
 *
 * Element by element in place is allowed where the task allows it.
 *
 * Return: index of the argument that it lies over, -1 if there is none.
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
 * @workspace: address of the job's memory for it
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

/* What @a writes must not be what @b, after it, reads of another argument. */
static int cross(const struct plan_part *pa, const struct bound *a,
		 const struct plan_part *pb, const struct bound *b)
{
	const struct plan_reloc *w, *r;

	for (w = a->plan->relocs; w < a->plan->relocs + a->plan->reloc_count; w++) {
		if (w->field != PLAN_ADDR || !(a->plan->outputs >> w->slot & 1) ||
		    pa->arg[w->arg] == PLAN_WORKSPACE)
			continue;
		for (r = b->plan->relocs; r < b->plan->relocs + b->plan->reloc_count; r++)
			if (r->arg != PLAN_NO_ARG && pb->arg[r->arg] != PLAN_WORKSPACE &&
			    pb->arg[r->arg] != pa->arg[w->arg] && overlaps(a, w, b, r))
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
 * A part may overwrite what parts before it have read, and what it reads itself
 * where its task may be in place.
 *
 * Return: index of the argument that is written over, -1 if there is none.
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
			found = cross(&plan->parts[j], &a, part, &b);
			if (found >= 0)
				return found;
		}
	}
	return -1;
}
