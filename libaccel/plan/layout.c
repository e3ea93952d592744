// SPDX-License-Identifier: MIT
/*
 * Layouts that a descriptor leaves to the plan: the possible layouts of the operation are tried
 * one after the other, and the strides of the fastest are written to the descriptor, as if the
 * caller had set them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/objects.h"
#include "planner.h"

/*
 * Rows of a matrix are aligned to cache lines, unless they are too short to be worth the
 * padding; rows at a distance of a page share a few cache sets, so such distances are avoided.
 */
#define ROW_ALIGN	64
#define ROW_LEAST	256
#define ROW_ALIAS	4096

/* The given order of dimensions, the last one innermost. */
static void row_major(const struct accel_tensor *t, uint8_t *order)
{
	uint32_t i;

	for (i = 0; i < t->rank && i < ACCEL_MAX_RANK; i++)
		order[i] = (uint8_t)(t->rank - 1 - i);
}

/* Dimension @d innermost, the others in the given order. */
static void innermost(uint8_t *order, uint32_t d)
{
	uint32_t i = 0;

	while (i < ACCEL_MAX_RANK - 1 && order[i] != d)
		i++;
	memmove(order + 1, order, i);
	order[0] = (uint8_t)d;
}

/*
 * Rows are contiguous along K, except for B: along N in the first layout, along K in the
 * second.
 */
static void order_matrix(const struct request *req, uint32_t slot, const struct accel_tensor *t,
			 uint32_t choice, uint8_t *order)
{
	const uint32_t flags = req->desc->gemm.flags;
	bool turned = false;

	if (slot == UMA_SLOT_A)
		turned = flags & ACCEL_GEMM_TRANS_A;
	else if (slot == UMA_SLOT_B)
		turned = !(flags & ACCEL_GEMM_TRANS_B) != !choice;
	if (turned && t->rank > 1 && !uma_is_block(t->dtype))
		innermost(order, t->rank - 2);
}

/* Channels last, then channels first. */
static void order_image(const struct request *req, uint32_t slot, const struct accel_tensor *t,
			uint32_t choice, uint8_t *order)
{
	const bool conv = req->op == ACCEL_OP_CONV;
	const uint32_t flags = conv ? req->desc->conv.flags : 0;
	const uint32_t full = req->t[UMA_SLOT_DST].rank;
	uint32_t channel = conv && flags & ACCEL_CONV_NHWC ? full - 1 : 1, i;

	if (slot == UMA_SLOT_B && conv) {
		/*
		 * As algorithms arrange constant weights: output channels innermost, then input
		 * channels.
		 */
		channel = flags & ACCEL_CONV_TRANSPOSED ? 1 : 0;
		if (!choice && !uma_is_int4(t->dtype)) {
			innermost(order, 1 - channel);
			innermost(order, channel);
		}
		return;
	}
	if (t->rank != full)
		return;
	innermost(order, channel);
	/* Channels first: between the images and the pixels. */
	for (i = 0; choice && i + 2 < full; i++) {
		order[i] = order[i + 1];
		order[i + 1] = (uint8_t)channel;
	}
}

static int64_t padded_row(const struct accel_tensor *t, int64_t elements)
{
	const int64_t size = accel_dtype_bits(t->dtype) / 8;
	int64_t bytes;

	if (!size || uma_is_block(t->dtype) || elements > INT64_MAX / 16 ||
	    elements * size < ROW_LEAST)
		return elements;
	bytes = (elements * size + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
	if (bytes % ROW_ALIAS == 0)
		bytes += ROW_ALIGN;
	return bytes / size;
}

static int lay_out(struct accel_tensor *t, const uint8_t *order, bool pad, const char *name,
		   struct accel_error *e)
{
	int64_t stride = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++) {
		t->strides[order[i]] = stride;
		if (t->dims[order[i]] > 1 &&
		    __builtin_mul_overflow(stride, t->dims[order[i]], &stride))
			return bad_at(e, -EINVAL, name, "dims", 0,
				      "the tensor does not fit into an address space");
		if (!i && pad)
			stride = padded_row(t, stride);
	}
	t->flags |= ACCEL_TENSOR_STRIDES;
	return 0;
}

/* Write one of the possible layouts to a copy of the descriptor. */
static int lay_out_all(const struct request *req, uint32_t choice, union any_desc *copy,
		       struct accel_error *e)
{
	const bool matrix = req->class->shape == SHAPE_MATRIX;
	uint8_t order[ACCEL_MAX_RANK] = { 0 };
	struct accel_tensor *t;
	uint32_t s;
	int ret = 0;

	for (s = 0; s < REQUEST_SLOTS && !ret; s++) {
		if (!(req->slots >> s & 1))
			continue;
		t = desc_tensor(req, req->t[s].from, copy);
		if (!t || !tensor_open(t))
			continue;
		row_major(t, order);
		if (matrix)
			order_matrix(req, s, t, choice, order);
		else
			order_image(req, s, t, choice, order);
		ret = lay_out(t, order, matrix && t->rank > 1, req->t[s].name, e);
	}
	return ret;
}

/* Estimated time of the fastest eligible engine. */
static int time_of(struct accel_device *dev, const struct request *req, uint64_t *ns)
{
	struct choices *all;

	*ns = UINT64_MAX;
	if (ask_engines(dev, req, false, &all))
		return -ENOMEM;
	if (all->chosen != all->count)
		*ns = all->c[all->chosen].p.estimate_ns;
	free(all);
	return 0;
}

static bool any_open(const struct request *req)
{
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++)
		if ((req->slots >> s & 1) && tensor_open(req->t[s].from))
			return true;
	return false;
}

/* The first of several equally fast layouts is used. */
static int choose_layout(struct accel_device *dev, union any_desc *copy, struct request *req,
			 struct accel_error *e)
{
	uint64_t ns, best_ns = 0;
	union any_desc trial, best;
	bool found = false;
	struct request r;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < req->class->layouts; i++) {
		trial = *copy;
		ret = lay_out_all(req, i, &trial, e);
		if (!ret)
			ret = request_lower(&trial, &r, e);
		if (ret)
			continue;
		ret = time_of(dev, &r, &ns);
		request_release(&r);
		if (ret)
			return bad(e, ret, "", "", "out of memory");
		if (found && ns >= best_ns)
			continue;
		found = true;
		best_ns = ns;
		best = trial;
	}
	if (!found)
		return ret;
	*copy = best;
	request_release(req);
	return request_lower(copy, req, e);
}

/**
 * request_settle - check a descriptor and choose the layouts that it leaves to the plan
 * @dev: device that the plan is for
 * @desc: the caller's descriptor
 * @copy: out: the fields known to this version, with all strides; the request points into it
 * @req: out, for request_release()
 * @e: filled on failure
 *
 * Return: 0, -EINVAL, -E2BIG, -EOPNOTSUPP, -ENOMEM.
 */
int request_settle(struct accel_device *dev, const struct accel_desc *desc, union any_desc *copy,
		   struct request *req, struct accel_error *e)
{
	int ret = desc_in(desc, copy, e);

	memset(req, 0, sizeof(*req));
	if (!ret)
		ret = request_lower(copy, req, e);
	if (ret || !any_open(req))
		return ret;
	ret = choose_layout(dev, copy, req, e);
	if (ret)
		request_release(req);
	return ret;
}

/**
 * layout_words - describe the layouts that were chosen
 * @req: request
 * @text: string to append to
 * @size: its size
 */
void layout_words(const struct request *req, char *text, size_t size)
{
	const uint32_t both = ACCEL_TENSOR_ANY | ACCEL_TENSOR_STRIDES;
	uint32_t s, i;
	size_t len;

	for (s = 0; s < REQUEST_SLOTS; s++) {
		const struct accel_tensor *t = req->t[s].from;

		if (!(req->slots >> s & 1) || (t->flags & both) != both)
			continue;
		len = strlen(text);
		snprintf(text + len, size - len, "; %s has strides", req->t[s].name);
		for (i = 0; i < t->rank; i++) {
			len = strlen(text);
			snprintf(text + len, size - len, "%s%lld", i ? ", " : " ",
				 (long long)t->strides[i]);
		}
	}
}
