// SPDX-License-Identifier: MIT
/*
 * Dimensions that one number in memory is. Which dimensions of the operands these are
 * need not be known of each operation: the descriptor is lowered once more with a number
 * that is one less, by the same rules, and what is one less is what the number replaces.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ops.h"

/**
 * struct marked - what the tensors of a descriptor say of the number
 * @req: request
 * @most: the largest that it may be
 */
struct marked {
	struct request *req;
	int64_t most;
};

/* Tables by group lie as the dimensions do: what is outside must not move. */
static bool tables_stay(const struct accel_tensor *t)
{
	uint32_t d = 0;

	if (t->quant.scheme < ACCEL_QUANT_GROUP)
		return true;
	while (d < t->rank && t->dims[d] == 1 && !(t->dynamic >> d & 1))
		d++;
	return !(t->dynamic >> d >> 1);
}

static int look_at(struct marked *m, const struct accel_tensor *t, const char *name,
		   struct accel_error *e)
{
	struct request *req = m->req;
	uint32_t d;

	if (!t->dynamic)
		return 0;
	if (!req->class->dynamic)
		return bad(e, -EOPNOTSUPP, name, "dynamic",
			   "%s reads no dimensions from memory", accel_op_name(req->op));
	if (!tables_stay(t))
		return bad(e, -EOPNOTSUPP, name, "dynamic",
			   "0x%x: of a tensor with scales by group only the outermost dimension can be read from memory",
			   t->dynamic);
	for (d = 0; d < t->rank; d++) {
		if (!(t->dynamic >> d & 1))
			continue;
		if (m->most < 0)
			m->most = t->dims[d];
		if (!m->most || t->dims[d] != m->most)
			return bad_at(e, -EINVAL, name, "dims", d,
				      "%lld: what is read from memory is of one size, at least 1, and it is %lld elsewhere",
				      (long long)t->dims[d], (long long)m->most);
	}
	if (!req->length || (t->length && !req->length->length)) {
		req->length = t;
		req->length_name = name;
	} else if (t->length && (t->length != req->length->length ||
				 t->length_offset != req->length->length_offset)) {
		return bad(e, -EINVAL, name, "length",
			   "is another number than that of %s: an operation reads one",
			   req->length_name);
	}
	return 0;
}

static int look_at_all(struct marked *m, struct accel_error *e)
{
	const struct request *req = m->req;
	uint32_t s;
	int ret = 0;

	for (s = 0; !req->parts && !ret && s < REQUEST_SLOTS; s++)
		if (req->slots >> s & 1)
			ret = look_at(m, req->t[s].from, req->t[s].name, e);
	if (!ret && req->unread)
		ret = look_at(m, req->unread, "gemm.c", e);
	for (s = 0; req->parts && !ret && s < ACCEL_ARG_COUNT; s++)
		if (req->parts->tensor[s])
			ret = look_at(m, req->parts->tensor[s], request_path(req, s), e);
	if (!ret && req->length && req->pack && req->t[UMA_SLOT_B].from->dynamic)
		ret = bad(e, -EOPNOTSUPP, req->t[UMA_SLOT_B].name, "dynamic",
			  "what is packed is packed whole");
	return ret;
}

/* The tensor with a number that is one less, and where its elements were. */
static int shrink(const struct request *req, const struct accel_tensor *from,
		  union any_desc *copy)
{
	struct accel_tensor *t = desc_tensor(req, from, copy);
	uint32_t d, dynamic = from->dynamic;

	if (!t || !dynamic || !t->dynamic)
		return 0;
	t->dynamic = 0;
	t->length = NULL;
	t->length_offset = 0;
	if (tensor_explicit(t, t))
		return -EINVAL;
	for (d = 0; d < t->rank; d++)
		t->dims[d] -= dynamic >> d & 1;
	return 0;
}

static int mark(struct operand *t, const struct operand *less, struct accel_error *e)
{
	uint32_t d;

	for (d = 0; d < t->rank; d++) {
		if (t->rank != less->rank || t->dims[d] - less->dims[d] > 1)
			return bad_at(e, -EOPNOTSUPP, t->name, "dims", d,
				      "%lld is not the number itself that would be read from memory",
				      (long long)t->dims[d]);
		if (t->dims[d] != less->dims[d])
			t->dynamic |= 1u << d;
	}
	return 0;
}

static bool same_but_dims(const struct request *a, const struct request *b)
{
	return a->slots == b->slots && a->func == b->func && a->funcs == b->funcs &&
	       a->epilogue == b->epilogue && !memcmp(a->params, b->params, sizeof(a->params));
}

/**
 * length_lower - which dimensions of the operands are read from memory
 * @req: request, lowered with the largest dimensions
 * @e: filled on failure
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP, -ENOMEM.
 */
int length_lower(struct request *req, struct accel_error *e)
{
	struct marked m = { .req = req, .most = -1 };
	struct request less;
	union any_desc copy;
	char text[160];
	uint32_t s;
	int ret;

	ret = look_at_all(&m, e);
	if (ret || !req->length)
		return ret;
	copy = *req->desc;
	for (s = 0; s < REQUEST_SLOTS; s++)
		if ((req->slots >> s & 1) && shrink(req, req->t[s].from, &copy))
			return bad(e, -EINVAL, req->t[s].name, "dims", "are out of range");
	if (req->unread && shrink(req, req->unread, &copy))
		return bad(e, -EINVAL, "gemm.c", "dims", "are out of range");
	ret = request_lower(&copy, &less, e);
	if (ret) {
		snprintf(text, sizeof(text), "%.150s", e->text);
		snprintf(e->text, sizeof(e->text), "with %lld of the %lld in memory: %s",
			 (long long)m.most - 1, (long long)m.most, text);
		return ret;
	}
	if (!same_but_dims(req, &less))
		ret = bad(e, -EOPNOTSUPP, req->length_name, "dynamic",
			  "how the operation is done follows from the dimension");
	for (s = 0; !ret && s < REQUEST_SLOTS; s++)
		if (req->slots >> s & 1)
			ret = mark(&req->t[s], &less.t[s], e);
	request_release(&less);
	return ret;
}
