// SPDX-License-Identifier: MIT
/*
 * The operations of run op: from inputs and options to a descriptor. Only checks that are
 * needed for that are done here; the library does the rest.
 */
#include <math.h>
#include <string.h>

#include "gemm.h"
#include "op_args.h"

#define BIT(param)	(1u << (param))

/* --- elementwise --- */

static int build_unary(struct op *op)
{
	struct accel_unary_desc *d = &op->desc.unary;

	*d = (struct accel_unary_desc)ACCEL_UNARY_DESC_INIT;
	d->func = op->func;
	op_give(op, ACCEL_ARG_D, &d->d, op->in[0].rank, op->in[0].dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return CTL_OK;
}

static int build_act(struct op *op)
{
	double p0 = op->opts->p0, p1 = op->opts->p1;
	uint32_t act = op->func, count;

	count = act_parameters(act, &p0, &p1);
	if ((count < 1 && !isnan(op->opts->p0)) || (count < 2 && !isnan(op->opts->p1)))
		return ctl_fail(op->ctl, CTL_USAGE, 0, count ? "--p1" :
				isnan(op->opts->p0) ? "--p1" : "--p0",
				"%s has no such parameter", op->name);
	op->func = ACCEL_UNARY_ACT;
	build_unary(op);
	op->desc.unary.epilogue.act = act;
	op->desc.unary.epilogue.p0 = count > 0 ? (float)p0 : 0;
	op->desc.unary.epilogue.p1 = count > 1 ? (float)p1 : 0;
	return CTL_OK;
}

static int build_binary(struct op *op)
{
	struct accel_binary_desc *d = &op->desc.binary;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t rank;
	int ret = op_broadcast(op, &rank, dims);

	*d = (struct accel_binary_desc)ACCEL_BINARY_DESC_INIT;
	d->func = op->func;
	op_give(op, ACCEL_ARG_D, &d->d, rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	op_take(op, 1, ACCEL_ARG_B, &d->b);
	return ret;
}

static int build_select(struct op *op)
{
	struct accel_select_desc *d = &op->desc.select;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t rank;
	int ret = op_broadcast(op, &rank, dims);

	*d = (struct accel_select_desc)ACCEL_SELECT_DESC_INIT;
	op_give(op, ACCEL_ARG_D, &d->d, rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	op_take(op, 1, ACCEL_ARG_B, &d->b);
	op_take(op, 2, ACCEL_ARG_C, &d->c);
	return ret;
}

/* Dimensions in another order, by strides; the type may change on the way */
static int build_copy(struct op *op)
{
	struct accel_copy_desc *d = &op->desc.copy;
	const struct ctl_ints *perm = &op->opts->perm;
	const struct op_input *in = &op->in[0];
	int64_t dims[ACCEL_MAX_RANK], strides[ACCEL_MAX_RANK];
	uint32_t rank = in->rank, seen = 0, i;

	*d = (struct accel_copy_desc)ACCEL_COPY_DESC_INIT;
	if (perm->count && perm->count != rank)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--perm", "has %u dimensions, %s has %u",
				perm->count, in->text, rank);
	for (i = rank; i-- > 0; )
		strides[i] = i + 1 < rank ? strides[i + 1] * in->dims[i + 1] : 1;
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	d->a.flags = ACCEL_TENSOR_STRIDES;
	for (i = 0; i < rank; i++) {
		/* transpose alone turns all of them around */
		int64_t from = perm->count ? perm->v[i] : op->func ? (int64_t)(rank - 1 - i) : i;

		if (from < 0 || from >= (int64_t)rank || (seen & 1u << from))
			return ctl_fail(op->ctl, CTL_USAGE, 0, "--perm",
					"is not each dimension from 0 to %u once", rank - 1);
		seen |= 1u << from;
		dims[i] = d->a.dims[i] = in->dims[from];
		d->a.strides[i] = strides[from];
	}
	op_give(op, ACCEL_ARG_D, &d->d, rank, dims);
	return CTL_OK;
}

static int build_fill(struct op *op)
{
	struct accel_fill_desc *d = &op->desc.fill;
	const struct ctl_ints *size = &op->opts->size;

	*d = (struct accel_fill_desc)ACCEL_FILL_DESC_INIT;
	if (!size->count || size->count > ACCEL_MAX_RANK)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--size", "has to be 1 to %d dimensions",
				ACCEL_MAX_RANK);
	d->value = isnan(op->opts->value) ? 0 : op->opts->value;
	op_give(op, ACCEL_ARG_D, &d->d, size->count, size->v);
	return CTL_OK;
}

/* --- along dimensions --- */

static int build_softmax(struct op *op)
{
	struct accel_softmax_desc *d = &op->desc.softmax;
	uint32_t axis;
	int ret = op_one_axis(op, op->in[0].rank, -1, &axis);

	*d = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
	d->func = op->func;
	d->axis = (int32_t)axis;
	op_give(op, ACCEL_ARG_D, &d->d, op->in[0].rank, op->in[0].dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return ret;
}

static int build_norm(struct op *op)
{
	struct accel_norm_desc *d = &op->desc.norm;
	bool lines = op->func == ACCEL_NORM_LAYER || op->func == ACCEL_NORM_RMS;
	uint32_t rank = op->in[0].rank, axis = 0;
	int ret;

	*d = (struct accel_norm_desc)ACCEL_NORM_DESC_INIT;
	d->func = op->func;
	if (lines)
		ret = op_many_axes(op, rank, &d->axes);
	else
		ret = op_one_axis(op, rank, rank > 1 ? 1 : 0, &axis);
	d->channel = (int32_t)axis;
	if (op->opts->groups != UINT64_MAX)
		d->groups = (uint32_t)op->opts->groups;
	if (!isnan(op->opts->eps))
		d->eps = (float)op->opts->eps;
	op_give(op, ACCEL_ARG_D, &d->d, rank, op->in[0].dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	if (op->inputs > 1)
		op_take(op, 1, ACCEL_ARG_SCALE, &d->scale);
	if (op->inputs > 2)
		op_take(op, 2, ACCEL_ARG_BIAS, &d->bias);
	if (op->inputs > 3) {
		op_take(op, 3, ACCEL_ARG_AUX0, &d->mean);
		op_take(op, 4, ACCEL_ARG_AUX1, &d->variance);
	}
	return ret;
}

/* The shape after dimensions are reduced to one element */
static void reduced(const struct op_input *in, uint32_t axes, int64_t *dims)
{
	uint32_t i;

	for (i = 0; i < in->rank; i++)
		dims[i] = !axes || (axes & ACCEL_AXIS(i)) ? 1 : in->dims[i];
}

static int build_reduce(struct op *op)
{
	bool arg = op->func == ACCEL_REDUCE_ARG_MAX || op->func == ACCEL_REDUCE_ARG_MIN;
	struct accel_reduce_desc *d = &op->desc.reduce;
	const struct op_input *in = &op->in[0];
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t axis;
	int ret;

	*d = (struct accel_reduce_desc)ACCEL_REDUCE_DESC_INIT;
	d->func = op->func;
	d->flags = op->opts->last_index ? ACCEL_REDUCE_LAST_INDEX : 0;
	if (arg) {
		ret = op_one_axis(op, in->rank, -1, &axis);
		d->axes = ret ? 0 : ACCEL_AXIS(axis);
		/* Indices of bytes do not fit into bytes */
		if (!op->out_dtype)
			op->out_dtype = ACCEL_S32;
	} else {
		ret = op_many_axes(op, in->rank, &d->axes);
		/* Nor do sums of these; with a scale the caller chooses the type */
		if (!op->out_dtype && isnan(op->opts->scale) &&
		    (op->dtype == ACCEL_S8 || op->dtype == ACCEL_U8))
			op->out_dtype = ACCEL_S32;
	}
	reduced(in, d->axes, dims);
	op_give(op, ACCEL_ARG_D, &d->d, in->rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return ret;
}

static int build_scan(struct op *op)
{
	struct accel_scan_desc *d = &op->desc.scan;
	uint32_t axis;
	int ret = op_one_axis(op, op->in[0].rank, -1, &axis);

	*d = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
	d->flags = (op->opts->exclusive ? ACCEL_SCAN_EXCLUSIVE : 0) |
		   (op->opts->reverse ? ACCEL_SCAN_REVERSE : 0);
	d->axis = (int32_t)axis;
	if (!op->out_dtype && isnan(op->opts->scale) &&
	    (op->dtype == ACCEL_S8 || op->dtype == ACCEL_U8))
		op->out_dtype = ACCEL_S32;
	op_give(op, ACCEL_ARG_D, &d->d, op->in[0].rank, op->in[0].dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return ret;
}

static int build_topk(struct op *op)
{
	struct accel_topk_desc *d = &op->desc.topk;
	const struct op_input *in = &op->in[0];
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t axis;
	int ret = op_one_axis(op, in->rank, -1, &axis);

	if (ret)
		return ret;
	*d = (struct accel_topk_desc)ACCEL_TOPK_DESC_INIT;
	if (op->opts->k == UINT64_MAX)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "-k", "is needed");
	d->flags = op->opts->smallest ? ACCEL_TOPK_SMALLEST : 0;
	d->axis = (int32_t)axis;
	memcpy(dims, in->dims, sizeof(dims));
	dims[axis] = (int64_t)op->opts->k;
	op_give(op, ACCEL_ARG_D, &d->d, in->rank, dims);
	op_give_plain(op, ACCEL_ARG_AUX0, &d->indices, ACCEL_S32, in->rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return CTL_OK;
}

static int build_dynquant(struct op *op)
{
	struct accel_dynquant_desc *d = &op->desc.dynquant;
	const struct op_input *in = &op->in[0];
	int64_t dims[ACCEL_MAX_RANK];
	int ret = op_many_axes(op, in->rank, &d->axes);
	uint32_t axes = d->axes;

	*d = (struct accel_dynquant_desc)ACCEL_DYNQUANT_DESC_INIT;
	d->axes = axes;
	d->flags = op->opts->asymmetric ? ACCEL_DYNQUANT_ASYMMETRIC : 0;
	reduced(in, axes, dims);
	op_give_plain(op, ACCEL_ARG_D, &d->d, op->out_dtype ? op->out_dtype : ACCEL_S8, in->rank,
		      in->dims);
	op_give_plain(op, ACCEL_ARG_AUX0, &d->scales, ACCEL_F32, in->rank, dims);
	if (op->opts->asymmetric)
		op_give_plain(op, ACCEL_ARG_AUX1, &d->zeros, ACCEL_S32, in->rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return ret;
}

/* --- windows and samples --- */

static int windows(struct op *op, const struct accel_pool_desc *d, uint32_t i, int64_t in,
		   int64_t *out)
{
	int64_t stride = d->stride[i] ? d->stride[i] : 1;
	int64_t dilation = d->dilation[i] ? d->dilation[i] : 1;
	int64_t room = in + d->pad_begin[i] + d->pad_end[i] - dilation * (d->kernel[i] - 1ll) - 1;

	if (room < 0)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--kernel",
				"a window of %u is larger than the input and its padding",
				d->kernel[i]);
	*out = room / stride + 1;
	/* An incomplete window, unless it starts in the padding at the end */
	if (op->opts->ceil && room % stride && *out * stride < in + d->pad_begin[i])
		++*out;
	return CTL_OK;
}

static int build_pool(struct op *op)
{
	int64_t dims[ACCEL_MAX_RANK], before[3] = { 0 }, after[3] = { 0 };
	struct accel_pool_desc *d = &op->desc.pool;
	const struct op_opts *o = op->opts;
	const struct op_input *in = &op->in[0];
	uint32_t spatial = in->rank - 2, i;
	int ret;

	*d = (struct accel_pool_desc)ACCEL_POOL_DESC_INIT;
	d->func = op->func;
	if (in->rank < 3 || in->rank > 5)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--in",
				"%s: has %u dimensions, not N, C and 1 to 3 of space", in->text,
				in->rank);
	if (op->func == ACCEL_POOL_LP)
		d->norm = o->norm == UINT64_MAX ? 2 : (uint32_t)o->norm;
	d->flags = (o->ceil ? ACCEL_POOL_CEIL : 0) | (o->count_pad ? ACCEL_POOL_COUNT_PAD : 0) |
		   (o->kernel.count ? 0 : ACCEL_POOL_GLOBAL);
	memcpy(dims, in->dims, sizeof(dims));
	ret = op_spread(op, "--kernel", &o->kernel, spatial, d->kernel);
	if (!ret)
		ret = op_spread(op, "--stride", &o->stride, spatial, d->stride);
	if (!ret)
		ret = op_spread(op, "--dilation", &o->dilation, spatial, d->dilation);
	if (!ret)
		ret = op_spread_pad(op, spatial, before, after);
	for (i = 0; i < spatial && !ret; i++) {
		d->pad_begin[i] = (uint32_t)before[i];
		d->pad_end[i] = (uint32_t)after[i];
		dims[2 + i] = 1;
		if (o->kernel.count)
			ret = windows(op, d, i, in->dims[2 + i], &dims[2 + i]);
	}
	op_give(op, ACCEL_ARG_D, &d->d, in->rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return ret;
}

static int build_resize(struct op *op)
{
	struct accel_resize_desc *d = &op->desc.resize;
	const struct op_opts *o = op->opts;
	const struct op_input *in = &op->in[0];
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t i;
	int ret;

	*d = (struct accel_resize_desc)ACCEL_RESIZE_DESC_INIT;
	if (!o->size.count || o->size.count > in->rank)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--size",
				"has to be the last 1 to %u dimensions of the result", in->rank);
	ret = op_mode_of(op, OP_MODE_RESIZE, ACCEL_RESIZE_COUNT, &d->func);
	d->coord = o->coord == UINT32_MAX ? 0 : o->coord;
	d->nearest = o->nearest == UINT32_MAX ? 0 : o->nearest;
	if (!isnan(o->cubic)) {
		d->flags |= ACCEL_RESIZE_CUBIC_A;
		d->cubic = (float)o->cubic;
	}
	memcpy(dims, in->dims, sizeof(dims));
	for (i = 0; i < o->size.count; i++)
		dims[in->rank - o->size.count + i] = o->size.v[i];
	op_give(op, ACCEL_ARG_D, &d->d, in->rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return ret;
}

/* --- by index --- */

static int index_limits(struct op *op, struct op_input *index, const struct op_input *data,
			uint32_t first, uint32_t count)
{
	uint32_t i;

	if (!count || first + count > data->rank)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--in",
				"%s: %u indices from dimension %u on, the data has %u dimensions",
				index->text, count, first, data->rank);
	for (i = 0; i < count; i++)
		index->limits[i] = data->dims[first + i];
	index->limit_count = count;
	return CTL_OK;
}

/* The last dimension of indices that name several at once */
static uint32_t tuple(const struct op_input *index)
{
	int64_t n = index->dims[index->rank - 1];

	return n > 0 && n <= ACCEL_MAX_RANK ? (uint32_t)n : 0;
}

static int build_gather(struct op *op)
{
	struct accel_gather_desc *d = &op->desc.gather;
	const struct op_input *a = &op->in[0];
	struct op_input *b = &op->in[1];
	int64_t dims[2 * ACCEL_MAX_RANK];
	uint32_t rank = 0, from, i;
	int ret;

	*d = (struct accel_gather_desc)ACCEL_GATHER_DESC_INIT;
	d->func = op->func;
	d->batch = op->opts->batch == UINT64_MAX ? 0 : (uint32_t)op->opts->batch;
	if (op->func == ACCEL_GATHER_ND) {
		from = d->batch + tuple(b);
		ret = index_limits(op, b, a, d->batch, tuple(b));
		for (i = 0; i + 1 < b->rank; i++)
			dims[rank++] = b->dims[i];
	} else {
		ret = op_one_axis(op, a->rank, 0, &d->axis);
		if (!ret)
			ret = index_limits(op, b, a, d->axis, 1);
		from = op->func == ACCEL_GATHER_ELEMENTS ? a->rank : d->axis + 1;
		for (i = 0; i < d->axis && op->func == ACCEL_GATHER_AXIS; i++)
			dims[rank++] = a->dims[i];
		for (i = 0; i < b->rank; i++)
			dims[rank++] = b->dims[i];
	}
	if (ret)
		return ret;
	for (i = from; i < a->rank; i++)
		dims[rank++] = a->dims[i];
	if (!rank || rank > ACCEL_MAX_RANK)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--in",
				"the result has %u dimensions, not 1 to %d", rank, ACCEL_MAX_RANK);
	op_give(op, ACCEL_ARG_D, &d->d, rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	op_take(op, 1, ACCEL_ARG_B, &d->b);
	return CTL_OK;
}

static int build_scatter(struct op *op)
{
	struct accel_scatter_desc *d = &op->desc.scatter;
	const struct op_input *a = &op->in[0];
	struct op_input *b = &op->in[1];
	int ret;

	*d = (struct accel_scatter_desc)ACCEL_SCATTER_DESC_INIT;
	d->func = op->func;
	ret = op_mode_of(op, OP_MODE_SCATTER, ACCEL_SCATTER_REDUCE_COUNT, &d->reduce);
	if (!ret && op->func == ACCEL_SCATTER_ELEMENTS)
		ret = op_one_axis(op, a->rank, 0, &d->axis);
	if (!ret)
		ret = index_limits(op, b, a, d->axis,
				   op->func == ACCEL_SCATTER_ND ? tuple(b) : 1);
	op_give(op, ACCEL_ARG_D, &d->d, a->rank, a->dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	op_take(op, 1, ACCEL_ARG_B, &d->b);
	op_take(op, 2, ACCEL_ARG_C, &d->c);
	return ret;
}

static int build_rotary(struct op *op)
{
	struct accel_rotary_desc *d = &op->desc.rotary;
	int ret = CTL_OK;

	*d = (struct accel_rotary_desc)ACCEL_ROTARY_DESC_INIT;
	d->flags = op->opts->interleaved ? ACCEL_ROTARY_INTERLEAVED : 0;
	d->start = op->opts->start == UINT64_MAX ? 0 : (uint32_t)op->opts->start;
	op_give(op, ACCEL_ARG_D, &d->d, op->in[0].rank, op->in[0].dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	op_take(op, 1, ACCEL_ARG_B, &d->cosines);
	op_take(op, 2, ACCEL_ARG_C, &d->sines);
	if (op->inputs > 3) {
		ret = index_limits(op, &op->in[3], &op->in[1], 0, 1);
		op_take(op, 3, ACCEL_ARG_AUX0, &d->positions);
	}
	return ret;
}

/* --- pieces --- */

static int build_concat(struct op *op)
{
	struct accel_concat_desc *d = &op->desc.concat;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t i;
	int ret;

	*d = (struct accel_concat_desc)ACCEL_CONCAT_DESC_INIT;
	ret = op_one_axis(op, op->in[0].rank, 0, &d->axis);
	if (ret)
		return ret;
	d->count = op->inputs;
	memcpy(dims, op->in[0].dims, sizeof(dims));
	for (i = 1; i < op->inputs; i++)
		if (d->axis < op->in[i].rank)
			dims[d->axis] += op->in[i].dims[d->axis];
	op_give(op, ACCEL_ARG_D, &d->d, op->in[0].rank, dims);
	for (i = 0; i < op->inputs; i++)
		op_take(op, i, ACCEL_ARG_A + i, &d->a[i]);
	return CTL_OK;
}

static int build_split(struct op *op)
{
	struct accel_split_desc *d = &op->desc.split;
	const struct ctl_ints *size = &op->opts->size;
	const struct op_input *in = &op->in[0];
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t i;
	int ret;

	*d = (struct accel_split_desc)ACCEL_SPLIT_DESC_INIT;
	ret = op_one_axis(op, in->rank, 0, &d->axis);
	if (ret)
		return ret;
	if (!size->count || size->count > ACCEL_CONCAT_MAX)
		return ctl_fail(op->ctl, CTL_USAGE, 0, "--size", "has to be 1 to %d pieces",
				ACCEL_CONCAT_MAX);
	d->count = size->count;
	memcpy(dims, in->dims, sizeof(dims));
	for (i = 0; i < size->count; i++) {
		dims[d->axis] = size->v[i];
		op_give(op, i ? ACCEL_ARG_B + i - 1 : ACCEL_ARG_D, &d->d[i], in->rank, dims);
	}
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return CTL_OK;
}

static int build_pad(struct op *op)
{
	struct accel_pad_desc *d = &op->desc.pad;
	const struct op_input *in = &op->in[0];
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t i;
	int ret;

	*d = (struct accel_pad_desc)ACCEL_PAD_DESC_INIT;
	ret = op_mode_of(op, OP_MODE_PAD, ACCEL_PAD_COUNT, &d->mode);
	if (!ret)
		ret = op_spread_pad(op, in->rank, d->before, d->after);
	d->value = isnan(op->opts->value) ? 0 : op->opts->value;
	for (i = 0; i < in->rank; i++)
		dims[i] = in->dims[i] + d->before[i] + d->after[i];
	op_give(op, ACCEL_ARG_D, &d->d, in->rank, dims);
	op_take(op, 0, ACCEL_ARG_A, &d->a);
	return ret;
}

/* --- the table --- */

#define INDEXED		{ OP_DATA, OP_INDEX, OP_DATA }
#define NORMED		{ OP_DATA, OP_FLOAT, OP_FLOAT, OP_FLOAT, OP_POSITIVE }
#define LINES		(BIT(OP_AXIS) | BIT(OP_EPS))
#define WINDOWS		(BIT(OP_KERNEL) | BIT(OP_STRIDE) | BIT(OP_DILATION) | BIT(OP_PAD) | \
			 BIT(OP_CEIL))
#define REDUCE(name, func) \
	{ name, func, 1, 1, BIT(OP_AXIS), { 0 }, build_reduce }

const struct op_kind op_kinds[] = {
	{ NULL, 0, 1, 1, 0, { 0 }, build_unary },
	{ NULL, 1, 2, 2, 0, { 0 }, build_binary },
	{ NULL, 2, 1, 1, BIT(OP_P0) | BIT(OP_P1), { 0 }, build_act },
	{ "select", 0, 3, 3, 0, { OP_CONDITION }, build_select },
	{ "copy", 0, 1, 1, BIT(OP_PERM), { 0 }, build_copy },
	{ "transpose", 1, 1, 1, BIT(OP_PERM), { 0 }, build_copy },
	{ "fill", 0, 0, 0, BIT(OP_SIZE) | BIT(OP_VALUE), { 0 }, build_fill },
	{ "softmax", ACCEL_SOFTMAX_PLAIN, 1, 1, BIT(OP_AXIS), { 0 }, build_softmax },
	{ "log-softmax", ACCEL_SOFTMAX_LOG, 1, 1, BIT(OP_AXIS), { 0 }, build_softmax },
	{ "layer-norm", ACCEL_NORM_LAYER, 1, 3, LINES, NORMED, build_norm },
	{ "rms-norm", ACCEL_NORM_RMS, 1, 3, LINES, NORMED, build_norm },
	{ "group-norm", ACCEL_NORM_GROUP, 1, 3, LINES | BIT(OP_GROUPS), NORMED, build_norm },
	{ "instance-norm", ACCEL_NORM_INSTANCE, 1, 3, LINES, NORMED, build_norm },
	{ "batch-norm", ACCEL_NORM_BATCH, 5, 5, LINES, NORMED, build_norm },
	REDUCE("reduce-sum", ACCEL_REDUCE_SUM),
	REDUCE("reduce-mean", ACCEL_REDUCE_MEAN),
	REDUCE("reduce-max", ACCEL_REDUCE_MAX),
	REDUCE("reduce-min", ACCEL_REDUCE_MIN),
	REDUCE("reduce-prod", ACCEL_REDUCE_PROD),
	REDUCE("reduce-l1", ACCEL_REDUCE_L1),
	REDUCE("reduce-l2", ACCEL_REDUCE_L2),
	REDUCE("reduce-sum-square", ACCEL_REDUCE_SUM_SQUARE),
	REDUCE("reduce-log-sum", ACCEL_REDUCE_LOG_SUM),
	REDUCE("reduce-log-sum-exp", ACCEL_REDUCE_LOG_SUM_EXP),
	{ "arg-max", ACCEL_REDUCE_ARG_MAX, 1, 1, BIT(OP_AXIS) | BIT(OP_LAST_INDEX), { 0 },
	  build_reduce },
	{ "arg-min", ACCEL_REDUCE_ARG_MIN, 1, 1, BIT(OP_AXIS) | BIT(OP_LAST_INDEX), { 0 },
	  build_reduce },
	{ "scan", 0, 1, 1, BIT(OP_AXIS) | BIT(OP_EXCLUSIVE) | BIT(OP_REVERSE), { 0 }, build_scan },
	{ "topk", 0, 1, 1, BIT(OP_AXIS) | BIT(OP_K) | BIT(OP_SMALLEST), { 0 }, build_topk },
	{ "dynquant", 0, 1, 1, BIT(OP_AXIS) | BIT(OP_ASYMMETRIC), { 0 }, build_dynquant },
	{ "max-pool", ACCEL_POOL_MAX, 1, 1, WINDOWS, { 0 }, build_pool },
	{ "average-pool", ACCEL_POOL_AVERAGE, 1, 1, WINDOWS | BIT(OP_COUNT_PAD), { 0 },
	  build_pool },
	{ "lp-pool", ACCEL_POOL_LP, 1, 1, WINDOWS | BIT(OP_NORM), { 0 }, build_pool },
	{ "resize", 0, 1, 1, BIT(OP_SIZE) | BIT(OP_MODE) | BIT(OP_COORD) | BIT(OP_NEAREST) |
	  BIT(OP_CUBIC), { 0 }, build_resize },
	{ "gather", ACCEL_GATHER_AXIS, 2, 2, BIT(OP_AXIS), INDEXED, build_gather },
	{ "gather-elements", ACCEL_GATHER_ELEMENTS, 2, 2, BIT(OP_AXIS), INDEXED, build_gather },
	{ "gather-nd", ACCEL_GATHER_ND, 2, 2, BIT(OP_BATCH), INDEXED, build_gather },
	{ "scatter-elements", ACCEL_SCATTER_ELEMENTS, 3, 3, BIT(OP_AXIS) | BIT(OP_MODE), INDEXED,
	  build_scatter },
	{ "scatter-nd", ACCEL_SCATTER_ND, 3, 3, BIT(OP_MODE), INDEXED, build_scatter },
	{ "rotary", 0, 3, 4, BIT(OP_INTERLEAVED) | BIT(OP_START),
	  { OP_DATA, OP_FLOAT, OP_FLOAT, OP_INDEX }, build_rotary },
	{ "concat", 0, 1, ACCEL_CONCAT_MAX, BIT(OP_AXIS), { 0 }, build_concat },
	{ "split", 0, 1, 1, BIT(OP_AXIS) | BIT(OP_SIZE), { 0 }, build_split },
	{ "pad", 0, 1, 1, BIT(OP_PAD) | BIT(OP_MODE) | BIT(OP_VALUE), { 0 }, build_pad },
	{ NULL, 0, 0, 0, 0, { 0 }, NULL }
};
