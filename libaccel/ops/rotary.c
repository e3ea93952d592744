// SPDX-License-Identifier: MIT
/*
 * Rotary position embedding.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ops.h"

/* Tables of [positions, pairs]. */
static int table(struct request *req, uint32_t slot, uint32_t arg,
		 const struct accel_tensor *from, const char *name, struct accel_error *e)
{
	struct operand *t = &req->t[slot];
	int ret;

	ret = operand_init(t, from, arg, name, e);
	if (ret)
		return ret;
	if (t->rank != 2)
		return bad(e, -EINVAL, name, "rank",
			   "rank %u: tables are [positions, rot_dim / 2]", t->rank);
	if (!uma_is_float(t->dtype))
		return bad(e, -EINVAL, name, "dtype", "%s: tables are floating-point",
			   accel_dtype_name(t->dtype));
	req->slots |= 1u << slot;
	return 0;
}

static int heads(struct request *req, uint32_t slot, uint32_t arg,
		 const struct accel_tensor *from, const char *name, struct accel_error *e)
{
	struct operand *t = &req->t[slot];
	int ret;

	ret = operand_init(t, from, arg, name, e);
	if (ret)
		return ret;
	if (t->rank != 4)
		return bad(e, -EINVAL, name, "rank",
			   "rank %u: it is [batch, seq, heads, head_dim]", t->rank);
	if (t->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, name, "quant.scheme",
			   "heads have no scale but one for the tensor");
	req->slots |= 1u << slot;
	return 0;
}

static int positions(struct request *req, const struct accel_rotary_desc *desc,
		     struct accel_error *e)
{
	struct operand *t = &req->t[UMA_SLOT_AUX0];
	/* What they are broadcast to: the first dimensions of D. */
	struct operand rows = req->t[UMA_SLOT_DST];
	int ret;

	ret = operand_init(t, &desc->positions, ACCEL_ARG_AUX0, "rotary.positions", e);
	if (ret)
		return ret;
	if (t->dtype != ACCEL_S32)
		return bad(e, -EINVAL, t->name, "dtype", "%s: positions are int32",
			   accel_dtype_name(t->dtype));
	if (t->quant.scheme)
		return bad(e, -EINVAL, t->name, "quant.scheme",
			   "positions are not quantised");
	if (desc->start)
		return bad(e, -EINVAL, "rotary", "start",
			   "is set, but there are positions");
	rows.rank = 2;
	req->slots |= 1u << UMA_SLOT_AUX0;
	return broadcast(t, &rows, 0, e);
}

/* Without a tensor of positions the tables must have all of them. */
static int check_start(const struct request *req, const struct accel_rotary_desc *desc,
		       struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST], *b = &req->t[UMA_SLOT_B];
	int ret;

	ret = tensor_absent(&desc->positions, "rotary.positions", e);
	if (ret || operand_empty(d))
		return ret;
	if (d->dims[1] > b->dims[0] || desc->start > b->dims[0] - d->dims[1])
		return bad(e, -EINVAL, "rotary", "start",
			   "the tables have %lld positions, fewer than %lld from %u on",
			   (long long)b->dims[0], (long long)d->dims[1], desc->start);
	return 0;
}

static int check_dims(const struct request *req, struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST], *a = &req->t[UMA_SLOT_A];
	const struct operand *b = &req->t[UMA_SLOT_B], *c = &req->t[UMA_SLOT_C];
	uint32_t i;

	for (i = 0; i < 4; i++)
		if (a->dims[i] != d->dims[i])
			return bad_at(e, -EINVAL, a->name, "dims", i,
				      "%lld, but the result has %lld",
				      (long long)a->dims[i], (long long)d->dims[i]);
	if (b->dims[1] > d->dims[3] / 2)
		return bad_at(e, -EINVAL, b->name, "dims", 1,
			      "%lld pairs are more than half of the %lld elements of a head",
			      (long long)b->dims[1], (long long)d->dims[3]);
	for (i = 0; i < 2; i++)
		if (c->dims[i] != b->dims[i])
			return bad_at(e, -EINVAL, c->name, "dims", i,
				      "%lld, but the cosines have %lld",
				      (long long)c->dims[i], (long long)b->dims[i]);
	return 0;
}

int lower_rotary(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_rotary_desc *desc = &any->rotary;
	const struct operand *d = &req->t[UMA_SLOT_DST];
	struct uma_rotary_params params = { 0 };
	uint32_t flags = 0, i;
	int ret;

	if (desc->flags & ~ACCEL_ROTARY_INTERLEAVED)
		return bad(e, -EINVAL, "rotary", "flags", "unknown flags 0x%x",
			   desc->flags & ~ACCEL_ROTARY_INTERLEAVED);
	ret = heads(req, UMA_SLOT_DST, ACCEL_ARG_D, &desc->d, "rotary.d", e);
	if (!ret)
		ret = operand_check_output(d, e);
	if (!ret)
		ret = heads(req, UMA_SLOT_A, ACCEL_ARG_A, &desc->a, "rotary.a", e);
	if (!ret)
		ret = table(req, UMA_SLOT_B, ACCEL_ARG_B, &desc->cosines, "rotary.cosines", e);
	if (!ret)
		ret = table(req, UMA_SLOT_C, ACCEL_ARG_C, &desc->sines, "rotary.sines", e);
	if (!ret)
		ret = check_dims(req, e);
	if (!ret)
		ret = desc->positions.rank ? positions(req, desc, e) :
					     check_start(req, desc, e);
	if (ret)
		return ret;
	/* No two elements of it share memory, so their number is bounded. */
	req->macs = !operand_empty(d);
	for (i = 0; i < d->rank; i++)
		req->macs *= (uint64_t)d->dims[i];
	if (desc->flags & ACCEL_ROTARY_INTERLEAVED)
		flags |= UMA_ROTARY_INTERLEAVED;
	if (desc->positions.rank)
		flags |= UMA_ROTARY_POSITIONS;
	req->funcs = flags;
	params.flags = htole32(flags);
	params.start = htole32(desc->start);
	memcpy(req->params, &params, sizeof(params));
	return 0;
}
