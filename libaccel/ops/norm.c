// SPDX-License-Identifier: MIT
/*
 * Norms. A task knows lines, with statistics of their own or given; groups and
 * channels are dimensions here: that of the channels is cut in two for groups,
 * and vectors along it are broadcast by strides of 0.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lines.h"

#define FLAGS_MASK	(ACCEL_NORM_KEEP_SUM | ACCEL_NORM_DYNQUANT | ACCEL_NORM_ASYMMETRIC)
/* Elements of a line of a norm whose statistics are given, where that matters not */
#define GIVEN_K		(1 << 20)
/* Most norms that a group norm becomes */
#define MOST_PIECES	64u

/**
 * struct norm - a norm being lowered
 * @desc: descriptor
 * @req: request
 * @axes: mask of dimensions of a line
 * @channel: dimension of the channels, where there are some
 * @func: &enum uma_norm
 * @flags: UMA_NORM_*
 */
struct norm {
	const struct accel_norm_desc *desc;
	struct request *req;
	uint32_t axes;
	uint32_t channel;
	uint32_t func;
	uint32_t flags;
};

static bool has_channels(uint32_t func)
{
	return func >= ACCEL_NORM_GROUP;
}

static int check_scalars(const struct accel_norm_desc *d, struct accel_error *e)
{
	if (d->func >= ACCEL_NORM_COUNT)
		return bad(e, -EINVAL, "norm", "func", "%u is not a function", d->func);
	if (has_channels(d->func) && d->axes)
		return bad(e, -EINVAL, "norm", "axes",
			   "0x%x: the function says which dimensions it goes along",
			   d->axes);
	if (d->func != ACCEL_NORM_GROUP && d->groups)
		return bad(e, -EINVAL, "norm", "groups",
			   "is set, but the function does not use it");
	if (!isfinite(d->eps) || d->eps < 0)
		return bad(e, -EINVAL, "norm", "eps",
			   "%g is not finite or below 0", (double)d->eps);
	if (d->flags & ~FLAGS_MASK)
		return bad(e, -EINVAL, "norm", "flags", "unknown flags 0x%x",
			   d->flags & ~FLAGS_MASK);
	if (has_channels(d->func) && d->flags)
		return bad(e, -EINVAL, "norm", "flags", "0x%x: only layer and RMS norms have flags",
			   d->flags);
	if ((d->flags & ACCEL_NORM_ASYMMETRIC) && !(d->flags & ACCEL_NORM_DYNQUANT))
		return bad(e, -EINVAL, "norm", "flags",
			   "there are no zero points without ACCEL_NORM_DYNQUANT");
	return 0;
}

/* A vector with an element for each channel, as wide as D by strides of 0. */
static int vector(struct norm *n, struct operand *t, struct accel_error *e)
{
	const struct operand *d = &n->req->t[UMA_SLOT_DST];
	int64_t size = t->dims[0], stride = t->strides[0];
	uint32_t i;

	if (t->rank != 1)
		return bad(e, -EINVAL, t->name, "rank",
			   "rank %u: it is a vector of channels", t->rank);
	if (size != d->dims[n->channel])
		return bad_at(e, -EINVAL, t->name, "dims", 0,
			      "%lld, but there are %lld channels", (long long)size,
			      (long long)d->dims[n->channel]);
	if (t->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EOPNOTSUPP, t->name, "quant.scheme",
			   "a vector of channels has one scale");
	t->rank = d->rank;
	for (i = 0; i < d->rank; i++) {
		t->dims[i] = d->dims[i];
		t->strides[i] = i == n->channel ? stride : 0;
	}
	return operand_extent(t, e);
}

static int operand(struct norm *n, uint32_t slot, uint32_t arg,
		   const struct accel_tensor *from, const char *name, bool is_vector,
		   struct accel_error *e)
{
	struct operand *t = &n->req->t[slot];
	int ret;

	if (!is_vector)
		return input_init(n->req, slot, arg, from, name, e);
	ret = operand_init(t, from, arg, name, e);
	if (ret)
		return ret;
	n->req->slots |= 1u << slot;
	return vector(n, t, e);
}

/* Gamma, beta, and what the epilogue adds and applies. */
static int norm_epilogue(struct norm *n, struct accel_error *e)
{
	const struct accel_norm_desc *d = n->desc;
	const struct accel_epilogue *epi = &d->epilogue;
	const struct {
		const struct accel_tensor *t;
		uint32_t flag, slot, arg;
		const char *name;
		bool vector, refused;
	} part[] = {
		{ &d->scale, UMA_EPI_SCALE, UMA_SLOT_SCALE, ACCEL_ARG_SCALE,
		  "norm.scale", has_channels(d->func), false },
		{ &d->bias, UMA_EPI_BIAS, UMA_SLOT_BIAS, ACCEL_ARG_BIAS,
		  "norm.bias", has_channels(d->func), false },
		{ &epi->scale, 0, 0, 0, "norm.epilogue.scale", false, true },
		{ &epi->bias, 0, 0, 0, "norm.epilogue.bias", false, true },
		{ &epi->residual, UMA_EPI_RESIDUAL, UMA_SLOT_RESIDUAL,
		  ACCEL_ARG_RESIDUAL, "norm.epilogue.residual", false, false },
		{ &epi->residual_post, UMA_EPI_RESIDUAL_POST, UMA_SLOT_RESIDUAL,
		  ACCEL_ARG_RESIDUAL, "norm.epilogue.residual_post", false, false },
	};
	uint32_t i;
	int ret;

	ret = check_activation(epi, "norm.epilogue", n->req, e);
	for (i = 0; !ret && i < sizeof(part) / sizeof(part[0]); i++) {
		if (!part[i].t->rank) {
			ret = tensor_absent(part[i].t, part[i].name, e);
			continue;
		}
		if (part[i].refused)
			return bad(e, -EINVAL, part[i].name, "rank",
				   "a norm has a scale and a bias of its own");
		if (n->req->slots & (1u << part[i].slot))
			return bad(e, -EINVAL, part[i].name, "",
				   "there is a residual before the activation already");
		n->req->epilogue |= part[i].flag;
		ret = operand(n, part[i].slot, part[i].arg, part[i].t, part[i].name,
			      part[i].vector, e);
	}
	return ret;
}

static int lower_statistics(struct norm *n, struct accel_error *e)
{
	const struct accel_norm_desc *d = n->desc;
	int ret;

	if (d->func != ACCEL_NORM_BATCH) {
		if (d->mean.rank)
			return bad(e, -EINVAL, "norm.mean", "rank",
				   "only a batch norm is given statistics");
		if (d->variance.rank)
			return bad(e, -EINVAL, "norm.variance", "rank",
				   "only a batch norm is given statistics");
		ret = tensor_absent(&d->mean, "norm.mean", e);
		return ret ? ret : tensor_absent(&d->variance, "norm.variance", e);
	}
	ret = operand(n, UMA_SLOT_AUX0, ACCEL_ARG_AUX0, &d->mean, "norm.mean", true, e);
	if (!ret)
		ret = operand(n, UMA_SLOT_AUX1, ACCEL_ARG_AUX1, &d->variance,
			      "norm.variance", true, e);
	return ret;
}

/* What is added before, and the second result. */
static int lower_second(struct norm *n, struct accel_error *e)
{
	const struct accel_norm_desc *d = n->desc;
	const struct operand *dst = &n->req->t[UMA_SLOT_DST], *t = &n->req->t[UMA_SLOT_AUX2];
	uint32_t i;
	int ret;

	if (has_channels(d->func) && (d->addend.rank || d->second.rank))
		return bad(e, -EINVAL, d->addend.rank ? "norm.addend" : "norm.second", "rank",
			   "only layer and RMS norms have one");
	if ((d->flags & ACCEL_NORM_KEEP_SUM) && !(d->addend.rank && d->second.rank))
		return bad(e, -EINVAL, "norm", "flags",
			   "a sum is kept with an addend, in the second result");
	ret = d->addend.rank ? input_init(n->req, UMA_SLOT_C, ACCEL_ARG_C, &d->addend,
					  "norm.addend", e) :
			       tensor_absent(&d->addend, "norm.addend", e);
	if (!ret && d->addend.rank)
		n->flags |= UMA_NORM_ADD;
	if (ret || !d->second.rank)
		return ret ? ret : tensor_absent(&d->second, "norm.second", e);
	ret = lines_output(n->req, UMA_SLOT_AUX2, ACCEL_ARG_AUX2, &d->second, "norm.second", e);
	if (ret)
		return ret;
	if (t->rank != dst->rank)
		return bad(e, -EINVAL, "norm.second", "rank",
			   "rank %u, but norm.d has rank %u", t->rank, dst->rank);
	for (i = 0; i < dst->rank; i++)
		if (t->dims[i] != dst->dims[i])
			return bad_at(e, -EINVAL, "norm.second", "dims", i,
				      "%lld, but that of norm.d is %lld",
				      (long long)t->dims[i], (long long)dst->dims[i]);
	n->flags |= UMA_NORM_SECOND | (d->flags & ACCEL_NORM_KEEP_SUM ? UMA_NORM_SUM : 0);
	return 0;
}

/* Scales of D's own, once the lines are known. */
static int lower_scales(struct norm *n, struct accel_error *e)
{
	const struct accel_norm_desc *d = n->desc;
	const struct operand *dst = &n->req->t[UMA_SLOT_DST];
	const bool asymmetric = d->flags & ACCEL_NORM_ASYMMETRIC;
	int ret;

	if (!(d->flags & ACCEL_NORM_DYNQUANT) && d->scales.rank)
		return bad(e, -EINVAL, "norm.scales", "rank",
			   "there are no scales without ACCEL_NORM_DYNQUANT");
	if (!asymmetric && d->zeros.rank)
		return bad(e, -EINVAL, "norm.zeros", "rank",
			   "there are no zero points without ACCEL_NORM_ASYMMETRIC");
	if (!asymmetric) {
		ret = tensor_absent(&d->zeros, "norm.zeros", e);
		if (ret)
			return ret;
	}
	if (!(d->flags & ACCEL_NORM_DYNQUANT))
		return tensor_absent(&d->scales, "norm.scales", e);
	if (!uma_is_int8(dst->dtype))
		return bad(e, -EINVAL, "norm.d", "dtype", "%s is not int8 or uint8",
			   accel_dtype_name(dst->dtype));
	if (dst->quant.scheme)
		return bad(e, -EINVAL, "norm.d", "quant.scheme",
			   "the scales are results: norm.scales");
	ret = lower_scale_table(n->req, UMA_SLOT_AUX3, ACCEL_ARG_AUX3, &d->scales, "norm.scales",
				ACCEL_F32, n->axes, e);
	if (!ret && asymmetric)
		ret = lower_scale_table(n->req, UMA_SLOT_AUX4, ACCEL_ARG_AUX4, &d->zeros,
					"norm.zeros", ACCEL_S32, n->axes, e);
	if (!ret && operand_empty(dst) && !operand_empty(&n->req->t[UMA_SLOT_AUX3]))
		ret = bad(e, -EINVAL, "norm.a", "dims", "there is nothing to take a scale from");
	n->flags |= UMA_NORM_DYNQUANT | (asymmetric ? UMA_NORM_ASYMMETRIC : 0);
	return ret;
}

/* Dimension @at of an operand as @outer times the rest. */
static void cut(struct operand *t, uint32_t at, int64_t outer)
{
	size_t tail = (t->rank - at - 1) * sizeof(t->dims[0]);

	memmove(t->dims + at + 2, t->dims + at + 1, tail);
	memmove(t->strides + at + 2, t->strides + at + 1, tail);
	t->dims[at + 1] = t->dims[at] / outer;
	t->strides[at + 1] = t->strides[at];
	/* Within the extent of the operand, unless that is empty. */
	if (__builtin_mul_overflow(t->strides[at], t->dims[at + 1], &t->strides[at]))
		t->strides[at] = 0;
	t->dims[at] = outer;
	t->rank++;
}

/* Can dimensions @at and @at + 1 of an operand be walked as one? */
static bool nests(const struct operand *t, uint32_t at)
{
	int64_t step;

	/* An empty tensor may have dimensions of any size. */
	if (__builtin_mul_overflow(t->dims[at], t->dims[at + 1], &step))
		return false;
	if (operand_empty(t) || t->dims[at] == 1 || t->dims[at + 1] == 1)
		return true;
	return !__builtin_mul_overflow(t->strides[at + 1], t->dims[at + 1], &step) &&
	       step == t->strides[at];
}

/* Take dimension @at out. */
static void drop(struct operand *t, uint32_t at)
{
	uint32_t i;

	t->rank--;
	for (i = at; i < t->rank; i++) {
		t->dims[i] = t->dims[i + 1];
		t->strides[i] = t->strides[i + 1];
	}
	t->dims[t->rank] = 0;
	t->strides[t->rank] = 0;
}

/* Dimensions @at and @at + 1 of all operands as one. Returns whether they are. */
static bool merge(struct request *req, uint32_t at)
{
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++)
		if ((req->slots >> s & 1) && !nests(&req->t[s], at))
			return false;
	for (s = 0; s < REQUEST_SLOTS; s++) {
		struct operand *t = &req->t[s];

		if (!(req->slots >> s & 1))
			continue;
		if (t->dims[at + 1] != 1)
			t->strides[at] = t->strides[at + 1];
		t->dims[at] *= t->dims[at + 1];
		drop(t, at + 1);
	}
	return true;
}

/* Room for one dimension more. @batch: the first is none of a line's, cleared with it. */
static int make_room(struct norm *n, bool *batch)
{
	struct operand *d = &n->req->t[UMA_SLOT_DST];
	uint32_t at, s;

	if (d->rank < ACCEL_MAX_RANK)
		return 0;
	if (*batch && d->dims[0] == 1) {
		for (s = 0; s < REQUEST_SLOTS; s++)
			if (n->req->slots >> s & 1)
				drop(&n->req->t[s], 0);
		n->channel--;
		*batch = false;
		return 0;
	}
	for (at = d->rank - 1; at-- > 0;) {
		if (at == 0 || at == n->channel || at + 1 == n->channel)
			continue;
		if (!merge(n->req, at))
			continue;
		n->channel -= n->channel > at;
		return 0;
	}
	return -EOPNOTSUPP;
}

/* Operand @s of the part that is the piece @i of @count along @axis of D. */
static int take_piece(const struct norm *n, uint32_t s, struct accel_tensor *t, uint32_t axis,
		      int64_t i, int64_t count, struct accel_error *e)
{
	const struct operand *d = &n->req->t[UMA_SLOT_DST];
	uint32_t at = axis - (d->rank - t->rank);
	int ret;

	if (s == UMA_SLOT_SCALE || s == UMA_SLOT_BIAS)
		at = axis == n->channel ? 0 : t->rank;
	/* A residual may be the same in all pieces. */
	if (at >= t->rank || (t->dims[at] == 1 && d->dims[axis] > 1))
		return 0;
	ret = tensor_closed(n->req->t[s].from, n->req->t[s].name, e);
	if (ret)
		return ret;
	count = t->dims[at] / count;
	if (!accel_tensor_slice(t, at, i * count, count, 1, t))
		return 0;
	return bad(e, -EOPNOTSUPP, n->req->t[s].name, "dims",
		   "a piece of a group norm of rank %u cannot be told apart", d->rank);
}

/*
 * A sixth dimension is more than a task has: several norms, one an image or one a group,
 * whichever are fewer.
 */
static int split(struct norm *n, struct accel_error *e)
{
	const struct operand *d = &n->req->t[UMA_SLOT_DST];
	const bool by_image = n->channel && d->dims[0] <= n->desc->groups;
	const uint32_t axis = by_image ? 0 : n->channel;
	const int64_t count = by_image ? d->dims[0] : n->desc->groups;
	const char *names[REQUEST_SLOTS] = { NULL };
	uint32_t args[REQUEST_SLOTS] = { 0 }, s;
	struct parts *parts;
	int ret = 0;

	/* None at all: an empty norm whose other dimensions are beyond any memory */
	for (s = 0; s < REQUEST_SLOTS && count && count <= MOST_PIECES; s++)
		if ((n->req->slots >> s & 1) && n->req->t[s].from->dynamic)
			break;
	if (s < REQUEST_SLOTS)
		return bad(e, -EOPNOTSUPP, "norm.d", "rank",
			   "a group norm of rank %u with more than %u images and groups, or dimensions read from memory, needs two neighbours beside the channels that are one in memory",
			   d->rank, MOST_PIECES);
	parts = parts_alloc(n->req, (uint32_t)count);
	if (!parts)
		return bad(e, -ENOMEM, "", "", "out of memory");
	parts->pieces = true;
	while (!ret && parts->count < count) {
		struct part *part = &parts->part[parts->count];

		part->desc.norm = *n->desc;
		part->desc.norm.groups = by_image ? n->desc->groups : 1;
		for (s = 0; s < REQUEST_SLOTS && !ret; s++) {
			const struct operand *t = &n->req->t[s];

			if (!(n->req->slots >> s & 1))
				continue;
			names[s] = t->name;
			args[s] = t->arg;
			parts->tensor[t->arg] = t->from;
			ret = take_piece(n, s, desc_tensor(n->req, t->from, &part->desc), axis,
					 parts->count, count, e);
		}
		if (!ret)
			ret = part_lower(parts, ACCEL_OP_NORM, names, args, e);
	}
	n->req->opcode = UMA_OP_NOP;
	n->req->epilogue = 0;
	n->req->slots = 0;
	return ret;
}

/* Of 4-bit elements a group starts at a byte, or they all lie apart. */
static bool nibbles_apart(const struct operand *t, uint32_t channel)
{
	return !uma_is_int4(t->dtype) || t->dims[channel] < 2 ||
	       t->dims[channel + 1] < 2 || !(t->strides[channel] & 1);
}

/* The channels become groups of channels. */
static int cut_groups(struct norm *n, struct accel_error *e)
{
	const struct operand *d = &n->req->t[UMA_SLOT_DST];
	int64_t channels = d->dims[n->channel];
	uint32_t groups = n->desc->groups, s;
	bool batch = n->channel != 0;

	if (!groups || channels % groups)
		return bad(e, -EINVAL, "norm", "groups",
			   "%u groups of %lld channels", groups, (long long)channels);
	for (s = 0; s < REQUEST_SLOTS; s++)
		if ((n->req->slots >> s & 1) &&
		    n->req->t[s].quant.scheme > ACCEL_QUANT_TENSOR)
			return bad(e, -EOPNOTSUPP, n->req->t[s].name, "quant.scheme",
				   "a group norm takes one scale for a tensor");
	if (d->rank == ACCEL_MAX_RANK && (groups == 1 || groups == channels)) {
		/* Nothing is cut: a line has all channels, or one. */
		n->axes = ((1u << d->rank) - 1) & ~(uint32_t)batch;
		if (groups > 1)
			n->axes &= ~(1u << n->channel);
		return 0;
	}
	if (make_room(n, &batch))
		return split(n, e);
	for (s = 0; s < REQUEST_SLOTS; s++) {
		struct operand *t = &n->req->t[s];

		if (!(n->req->slots >> s & 1))
			continue;
		cut(t, n->channel, groups);
		if (!nibbles_apart(t, n->channel))
			return bad(e, -EOPNOTSUPP, t->name, "dtype",
				   "%s: a group of %lld channels ends within a byte",
				   accel_dtype_name(t->dtype),
				   (long long)t->dims[n->channel + 1]);
	}
	/* Of the two, the channels of a group belong to the line. */
	n->axes = (1u << d->rank) - 1;
	n->axes &= ~(1u << n->channel | (uint32_t)batch);
	return 0;
}

/* Any lines do where the statistics are given: the longest that are not too long. */
static uint32_t given_axes(const struct operand *d, uint32_t channel)
{
	uint32_t last = d->rank - 1, axes = 1u << last, i;
	int64_t k = d->dims[last];

	for (i = last; i-- > channel + 1;) {
		if (__builtin_mul_overflow(k, d->dims[i], &k) || k > GIVEN_K)
			break;
		axes |= 1u << i;
	}
	return axes;
}

static int find_axes(struct norm *n, struct accel_error *e)
{
	const struct operand *d = &n->req->t[UMA_SLOT_DST];
	uint32_t all = (1u << d->rank) - 1;

	switch (n->desc->func) {
	case ACCEL_NORM_LAYER:
	case ACCEL_NORM_RMS:
		if (!d->rank)
			return bad(e, -EINVAL, "norm", "d.rank", "0: there is nothing to go along");
		n->func = n->desc->func == ACCEL_NORM_RMS ? UMA_NORM_RMS : UMA_NORM_LAYER;
		n->axes = n->desc->axes ? n->desc->axes : 1u << (d->rank - 1);
		if (n->axes & ~all)
			return bad(e, -EINVAL, "norm", "axes",
				   "0x%x: norm.d has %u dimensions", n->axes, d->rank);
		return 0;
	case ACCEL_NORM_GROUP:
		return cut_groups(n, e);
	case ACCEL_NORM_INSTANCE:
		n->axes = all & ~(1u << n->channel | 1u);
		if (!n->axes)
			return bad(e, -EINVAL, "norm.d", "rank",
				   "rank %u: an instance has dimensions of its own beside the channels",
				   d->rank);
		return 0;
	default:
		n->func = UMA_NORM_GIVEN;
		n->axes = given_axes(d, n->channel);
		return 0;
	}
}

int lower_norm(const union any_desc *any, struct request *req, struct accel_error *e)
{
	struct norm n = { .desc = &any->norm, .req = req, .func = UMA_NORM_LAYER };
	struct uma_norm_params params = { 0 };
	const struct operand *a = &req->t[UMA_SLOT_A], *d = &req->t[UMA_SLOT_DST];
	float eps = n.desc->eps + 0.0f;
	uint32_t bits, i;
	int ret;

	ret = check_scalars(n.desc, e);
	if (!ret)
		ret = lines_output(req, UMA_SLOT_DST, ACCEL_ARG_D, &n.desc->d, "norm.d", e);
	if (!ret && has_channels(n.desc->func))
		ret = lines_axis(req, n.desc->channel, "norm", "channel", &n.channel, e);
	if (!ret)
		ret = operand_init(&req->t[UMA_SLOT_A], &n.desc->a, ACCEL_ARG_A, "norm.a", e);
	if (ret)
		return ret;
	if (a->rank != d->rank)
		return bad(e, -EINVAL, "norm.a", "rank",
			   "rank %u, but norm.d has rank %u", a->rank, d->rank);
	for (i = 0; i < d->rank; i++)
		if (a->dims[i] != d->dims[i])
			return bad_at(e, -EINVAL, "norm.a", "dims", i,
				      "%lld, but that of norm.d is %lld",
				      (long long)a->dims[i], (long long)d->dims[i]);
	req->slots |= UMA_SLOT_BIT(A);
	ret = norm_epilogue(&n, e);
	if (!ret)
		ret = lower_statistics(&n, e);
	if (!ret)
		ret = lower_second(&n, e);
	if (!ret)
		ret = find_axes(&n, e);
	if (ret || req->parts)
		return ret;
	ret = lower_scales(&n, e);
	if (ret)
		return ret;
	lines_k(req, n.axes, has_channels(n.desc->func) ? "norm.channel" : "norm.axes");
	req->funcs = 1u << n.func | UMA_NORM_CAP_FLAGS(n.flags);
	memcpy(&bits, &eps, sizeof(bits));
	params.func = htole32(n.func);
	params.axes = htole32(n.axes);
	params.eps = htole32(bits);
	params.flags = htole32(n.flags);
	memcpy(req->params, &params, sizeof(params));
	return 0;
}
