// SPDX-License-Identifier: MIT
/*
 * Wrong descriptors of operations along dimensions.
 */
#include "misuse.h"

static void base_softmax(union desc *d)
{
	d->softmax = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
	d->softmax.a = TENSOR_OF(0, ACCEL_F32, 4, 6);
	d->softmax.d = TENSOR_OF(1, ACCEL_F32, 4, 6);
}

static const struct row softmax_rows[] = {
	HEADER(softmax), NEEDED(softmax, a, "softmax.a"), OUTPUT(softmax, d, "softmax.d"),
	BAD("softmax.func", P(softmax, func, ACCEL_SOFTMAX_COUNT)),
	BAD("softmax.axis", P(softmax, axis, 2)),
	BAD("softmax.axis", P(softmax, axis, (uint32_t)-3)),
	BAD("softmax.axis", P(softmax, axis, INT32_MIN)),
	BAD("softmax.a.dims[0]", P(softmax, a.dims[0], 3)),
	BAD("softmax.a.rank", P(softmax, a.rank, 3), P(softmax, a.dims[2], 6)),
	BAD("softmax.d.dtype", P(softmax, d.dtype, ACCEL_S4)),
	CODE(-EOPNOTSUPP, "softmax.d.dtype", P(softmax, d.dtype, ACCEL_S32)),
};

static void base_reduce(union desc *d)
{
	d->reduce = (struct accel_reduce_desc)ACCEL_REDUCE_DESC_INIT;
	d->reduce.axes = ACCEL_AXIS(1);
	d->reduce.a = TENSOR_OF(0, ACCEL_F32, 4, 6, 5);
	d->reduce.d = TENSOR_OF(1, ACCEL_F32, 4, 1, 5);
}

static const struct row reduce_rows[] = {
	HEADER(reduce), NEEDED(reduce, a, "reduce.a"), OUTPUT(reduce, d, "reduce.d"),
	BAD("reduce.func", P(reduce, func, ACCEL_REDUCE_COUNT)),
	BAD("reduce.flags", P(reduce, flags, ACCEL_REDUCE_LAST_INDEX)),
	BAD("reduce.flags", P(reduce, func, ACCEL_REDUCE_ARG_MAX), P(reduce, flags, 2)),
	BAD("reduce.pad", P(reduce, pad, 1)),
	BAD("reduce.axes", P(reduce, axes, 8)),
	BAD("reduce.axes", P(reduce, axes, 1u << 31)),
	BAD("reduce.d.dims[0]", P(reduce, axes, 0)),
	BAD("reduce.d.dims[1]", P(reduce, d.dims[1], 6)),
	BAD("reduce.d.dims[2]", P(reduce, d.dims[2], 1)),
	BAD("reduce.d.rank", P(reduce, d.rank, 2), P(reduce, d.dims[2], 0)),
	BAD("reduce.d.dtype", P(reduce, d.dtype, ACCEL_U4), P(reduce, d.dims[2], 4)),
	BAD("reduce.d.dtype", P(reduce, func, ACCEL_REDUCE_ARG_MAX)),
	BAD("reduce.axes", P(reduce, func, ACCEL_REDUCE_ARG_MIN), P(reduce, axes, 3),
	    P(reduce, d.dims[0], 1), P(reduce, d.dtype, ACCEL_S32)),
	BAD("reduce.d.quant.scheme", P(reduce, func, ACCEL_REDUCE_ARG_MAX),
	    P(reduce, d.dtype, ACCEL_S32), P(reduce, d.quant.scheme, ACCEL_QUANT_TENSOR),
	    P(reduce, d.quant.scale, ONE32)),
	BAD("reduce.a.dims[1]", P(reduce, func, ACCEL_REDUCE_ARG_MAX),
	    P(reduce, d.dtype, ACCEL_S32), P(reduce, a.dims[1], 0)),
};

static void base_topk(union desc *d)
{
	d->topk = (struct accel_topk_desc)ACCEL_TOPK_DESC_INIT;
	d->topk.a = TENSOR_OF(0, ACCEL_F32, 4, 6);
	d->topk.d = TENSOR_OF(1, ACCEL_F32, 4, 3);
	d->topk.indices = TENSOR_OF(2, ACCEL_S32, 4, 3);
}

static const struct row topk_rows[] = {
	HEADER(topk), NEEDED(topk, a, "topk.a"), OUTPUT(topk, d, "topk.d"),
	OUTPUT(topk, indices, "topk.indices"),
	BAD("topk.flags", P(topk, flags, 2)),
	BAD("topk.axis", P(topk, axis, 2)),
	BAD("topk.axis", P(topk, axis, (uint32_t)-3)),
	BAD("topk.d.dims[1]", P(topk, d.dims[1], 7), P(topk, indices.dims[1], 7)),
	BAD("topk.d.dims[0]", P(topk, d.dims[0], 3)),
	BAD("topk.indices.dims[1]", P(topk, indices.dims[1], 2)),
	BAD("topk.indices.dtype", P(topk, indices.dtype, ACCEL_F32)),
	BAD("topk.indices.dtype", P(topk, indices.dtype, ACCEL_S8)),
	BAD("topk.d.dtype", P(topk, d.dtype, ACCEL_S4), P(topk, d.dims[1], 2)),
	BAD("topk.d.rank", P(topk, d.rank, 1), P(topk, d.dims[1], 0)),
	BAD("topk.indices.rank", P(topk, indices.rank, 1), P(topk, indices.dims[1], 0)),
	BAD("topk.indices.quant.scheme", P(topk, indices.quant.scheme, ACCEL_QUANT_TENSOR),
	    P(topk, indices.quant.scale, ONE32)),
};

static void base_scan(union desc *d)
{
	d->scan = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
	d->scan.a = TENSOR_OF(0, ACCEL_F32, 4, 6);
	d->scan.d = TENSOR_OF(1, ACCEL_F32, 4, 6);
}

static const struct row scan_rows[] = {
	HEADER(scan), NEEDED(scan, a, "scan.a"), OUTPUT(scan, d, "scan.d"),
	BAD("scan.flags", P(scan, flags, 4)),
	BAD("scan.axis", P(scan, axis, 2)),
	BAD("scan.a.dims[1]", P(scan, a.dims[1], 5)),
	BAD("scan.d.dtype", P(scan, d.dtype, ACCEL_U4)),
};

static void base_norm(union desc *d)
{
	d->norm = (struct accel_norm_desc)ACCEL_NORM_DESC_INIT;
	d->norm.a = TENSOR_OF(0, ACCEL_F32, 2, 4, 6);
	d->norm.d = TENSOR_OF(1, ACCEL_F32, 2, 4, 6);
}

static const struct row norm_rows[] = {
	HEADER(norm), NEEDED(norm, a, "norm.a"), OUTPUT(norm, d, "norm.d"),
	ABSENT(norm, scale, "norm.scale"), ABSENT(norm, bias, "norm.bias"),
	ABSENT(norm, mean, "norm.mean"), ABSENT(norm, variance, "norm.variance"),
	ABSENT(norm, epilogue.residual, "norm.epilogue.residual"),
	ABSENT(norm, epilogue.residual_post, "norm.epilogue.residual_post"),
	BAD("norm.func", P(norm, func, ACCEL_NORM_COUNT)),
	BAD("norm.axes", P(norm, axes, 8)),
	BAD("norm.axes", P(norm, axes, 2), P(norm, func, ACCEL_NORM_INSTANCE)),
	BAD("norm.groups", P(norm, groups, 2)),
	BAD("norm.groups", P(norm, func, ACCEL_NORM_GROUP), P(norm, groups, 3)),
	BAD("norm.groups", P(norm, func, ACCEL_NORM_GROUP), P(norm, groups, 0)),
	BAD("norm.channel", P(norm, func, ACCEL_NORM_INSTANCE), P(norm, channel, 3)),
	BAD("norm.channel", P(norm, func, ACCEL_NORM_INSTANCE), P(norm, channel, (uint32_t)-4)),
	BAD("norm.eps", P(norm, eps, NAN32)),
	BAD("norm.eps", P(norm, eps, INF32)),
	BAD("norm.eps", P(norm, eps, MINUS32)),
	BAD("norm.flags", P(norm, flags, 8)),
	BAD("norm.flags", P(norm, flags, ACCEL_NORM_KEEP_SUM)),
	BAD("norm.flags", P(norm, flags, ACCEL_NORM_ASYMMETRIC)),
	BAD("norm.flags", P(norm, flags, ACCEL_NORM_DYNQUANT),
	    P(norm, func, ACCEL_NORM_INSTANCE)),
	BAD("norm.d.dtype", P(norm, flags, ACCEL_NORM_DYNQUANT)),
	BAD("norm.scales.rank", P(norm, scales.rank, 3)),
	BAD("norm.zeros.rank", P(norm, zeros.rank, 3)),
	BAD("norm.addend.dims[1]", P(norm, addend.rank, 2), P(norm, addend.dims[0], 4),
	    P(norm, addend.dims[1], 5), P(norm, addend.dtype, ACCEL_F32)),
	BAD("norm.addend.rank", P(norm, addend.rank, 1), P(norm, addend.dims[0], 6),
	    P(norm, addend.dtype, ACCEL_F32), P(norm, func, ACCEL_NORM_INSTANCE)),
	BAD("norm.second.rank", P(norm, second.rank, 1), P(norm, second.dims[0], 6),
	    P(norm, second.dtype, ACCEL_F32)),
	BAD("norm.second.rank", P(norm, second.rank, 1), P(norm, second.dims[0], 6),
	    P(norm, second.dtype, ACCEL_F32), P(norm, func, ACCEL_NORM_INSTANCE)),
	ABSENT(norm, addend, "norm.addend"), ABSENT(norm, second, "norm.second"),
	ABSENT(norm, scales, "norm.scales"), ABSENT(norm, zeros, "norm.zeros"),
	BAD("norm.a.dims[1]", P(norm, a.dims[1], 3)),
	BAD("norm.a.rank", P(norm, a.rank, 2), P(norm, a.dims[2], 0)),
	BAD("norm.d.dtype", P(norm, d.dtype, ACCEL_S4)),
	BAD("norm.mean.rank", P(norm, mean.rank, 1), P(norm, mean.dims[0], 4),
	    P(norm, mean.dtype, ACCEL_F32)),
	BAD("norm.mean.dtype", P(norm, func, ACCEL_NORM_BATCH)),
	BAD("norm.mean.rank", P(norm, func, ACCEL_NORM_BATCH), P(norm, mean.dtype, ACCEL_F32)),
	BAD("norm.scale.rank", P(norm, func, ACCEL_NORM_INSTANCE), P(norm, scale.rank, 2),
	    P(norm, scale.dims[0], 1), P(norm, scale.dims[1], 4),
	    P(norm, scale.dtype, ACCEL_F32)),
	BAD("norm.scale.dims[0]", P(norm, func, ACCEL_NORM_INSTANCE), P(norm, scale.rank, 1),
	    P(norm, scale.dims[0], 6), P(norm, scale.dtype, ACCEL_F32)),
	BAD("norm.bias.dims[0]", P(norm, bias.rank, 1), P(norm, bias.dims[0], 4),
	    P(norm, bias.dtype, ACCEL_F32)),
	BAD("norm.epilogue.scale.rank", P(norm, epilogue.scale.rank, 1),
	    P(norm, epilogue.scale.dims[0], 6), P(norm, epilogue.scale.dtype, ACCEL_F32)),
	BAD("norm.epilogue.bias.rank", P(norm, epilogue.bias.rank, 1),
	    P(norm, epilogue.bias.dims[0], 6), P(norm, epilogue.bias.dtype, ACCEL_F32)),
	BAD("norm.epilogue.act", P(norm, epilogue.act, ACCEL_ACT_COUNT)),
	BAD("norm.epilogue.p0", P(norm, epilogue.p0, ONE32)),
	BAD("norm.epilogue.pad", P(norm, epilogue.pad, 1)),
};

/* All that a norm may give: two results, the first in bytes of their own scale. */
static void base_norm_two(union desc *d)
{
	base_norm(d);
	d->norm.flags = ACCEL_NORM_DYNQUANT | ACCEL_NORM_ASYMMETRIC;
	d->norm.d = TENSOR_OF(1, ACCEL_U8, 2, 4, 6);
	d->norm.addend = TENSOR_OF(2, ACCEL_F32, 2, 4, 6);
	d->norm.second = TENSOR_OF(3, ACCEL_F32, 2, 4, 6);
	d->norm.scales = TENSOR_OF(4, ACCEL_F32, 2, 4, 1);
	d->norm.zeros = TENSOR_OF(5, ACCEL_S32, 2, 4, 1);
}

static const struct row norm_two_rows[] = {
	NEEDED(norm, addend, "norm.addend"), OUTPUT(norm, second, "norm.second"),
	OUTPUT(norm, scales, "norm.scales"), OUTPUT(norm, zeros, "norm.zeros"),
	BAD("norm.second.dims[1]", P(norm, second.dims[1], 3)),
	BAD("norm.second.dtype", P(norm, second.dtype, ACCEL_U4)),
	BAD("norm.d.quant.scheme", P(norm, d.quant.scheme, ACCEL_QUANT_TENSOR),
	    P(norm, d.quant.scale, ONE32)),
	BAD("norm.d.dtype", P(norm, d.dtype, ACCEL_BF16)),
	BAD("norm.scales.dtype", P(norm, scales.dtype, ACCEL_F16)),
	BAD("norm.scales.dims[2]", P(norm, scales.dims[2], 6)),
	BAD("norm.scales.dims[1]", P(norm, axes, 6)),
	BAD("norm.zeros.dtype", P(norm, zeros.dtype, ACCEL_U8)),
	BAD("norm.zeros.rank", P(norm, flags, ACCEL_NORM_DYNQUANT)),
	BAD("norm.a.dims", P(norm, a.dims[2], 0), P(norm, d.dims[2], 0),
	    P(norm, addend.dims[2], 0), P(norm, second.dims[2], 0)),
};

static void base_dynquant(union desc *d)
{
	d->dynquant = (struct accel_dynquant_desc)ACCEL_DYNQUANT_DESC_INIT;
	d->dynquant.axes = ACCEL_AXIS(1);
	d->dynquant.flags = ACCEL_DYNQUANT_ASYMMETRIC;
	d->dynquant.a = TENSOR_OF(0, ACCEL_F32, 4, 6);
	d->dynquant.d = TENSOR_OF(1, ACCEL_U8, 4, 6);
	d->dynquant.scales = TENSOR_OF(2, ACCEL_F32, 4, 1);
	d->dynquant.zeros = TENSOR_OF(3, ACCEL_S32, 4, 1);
}

static const struct row dynquant_rows[] = {
	HEADER(dynquant), NEEDED(dynquant, a, "dynquant.a"), OUTPUT(dynquant, d, "dynquant.d"),
	OUTPUT(dynquant, scales, "dynquant.scales"), OUTPUT(dynquant, zeros, "dynquant.zeros"),
	BAD("dynquant.flags", P(dynquant, flags, 2)),
	BAD("dynquant.axes", P(dynquant, axes, 4)),
	BAD("dynquant.axes", P(dynquant, axes, 1u << 31)),
	BAD("dynquant.a.dtype", P(dynquant, a.dtype, ACCEL_S8)),
	BAD("dynquant.a.dtype", P(dynquant, a.dtype, ACCEL_S32)),
	BAD("dynquant.d.dtype", P(dynquant, d.dtype, ACCEL_F16)),
	BAD("dynquant.d.dtype", P(dynquant, d.dtype, ACCEL_U4)),
	BAD("dynquant.d.quant.scheme", P(dynquant, d.quant.scheme, ACCEL_QUANT_TENSOR),
	    P(dynquant, d.quant.scale, ONE32)),
	BAD("dynquant.a.dims[1]", P(dynquant, a.dims[1], 5)),
	BAD("dynquant.a.rank", P(dynquant, a.rank, 1), P(dynquant, a.dims[1], 0)),
	BAD("dynquant.scales.dtype", P(dynquant, scales.dtype, ACCEL_F16)),
	BAD("dynquant.scales.dims[0]", P(dynquant, axes, 0)),
	BAD("dynquant.scales.dims[1]", P(dynquant, scales.dims[1], 6)),
	BAD("dynquant.scales.rank", P(dynquant, scales.rank, 1), P(dynquant, scales.dims[1], 0)),
	BAD("dynquant.zeros.dtype", P(dynquant, zeros.dtype, ACCEL_U8)),
	BAD("dynquant.zeros.dims[0]", P(dynquant, zeros.dims[0], 1)),
	BAD("dynquant.zeros.rank", P(dynquant, flags, 0)),
	BAD("dynquant.a.dims[1]", P(dynquant, a.dims[1], 0), P(dynquant, d.dims[1], 0)),
};

#define TABLE(name) { #name, base_##name, name##_rows, ARRAY_SIZE(name##_rows) }

const struct table misuse_lines[] = {
	TABLE(softmax), TABLE(reduce), TABLE(topk), TABLE(scan), TABLE(norm), TABLE(norm_two),
	TABLE(dynquant),
};

const uint32_t misuse_lines_count = ARRAY_SIZE(misuse_lines);
