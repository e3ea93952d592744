// SPDX-License-Identifier: MIT
/*
 * Wrong descriptors of operations that move elements.
 */
#include "misuse.h"

static void base_select(union desc *d)
{
	d->select = (struct accel_select_desc)ACCEL_SELECT_DESC_INIT;
	d->select.a = TENSOR_OF(0, ACCEL_U8, 4, 6);
	d->select.b = TENSOR_OF(1, ACCEL_F32, 4, 6);
	d->select.c = TENSOR_OF(2, ACCEL_F32, 4, 6);
	d->select.d = TENSOR_OF(3, ACCEL_F32, 4, 6);
}

static const struct row select_rows[] = {
	HEADER(select), NEEDED(select, a, "select.a"), NEEDED(select, b, "select.b"),
	NEEDED(select, c, "select.c"), OUTPUT(select, d, "select.d"),
	BAD("select.a.dims[0]", P(select, a.dims[0], 3)),
	BAD("select.b.dims[1]", P(select, b.dims[1], 5)),
	BAD("select.c.rank", P(select, c.rank, 3), P(select, c.dims[2], 6)),
};

static void base_concat(union desc *d)
{
	d->concat = (struct accel_concat_desc)ACCEL_CONCAT_DESC_INIT;
	d->concat.axis = 1;
	d->concat.count = 2;
	d->concat.a[0] = TENSOR_OF(0, ACCEL_F32, 4, 6);
	d->concat.a[1] = TENSOR_OF(1, ACCEL_F32, 4, 3);
	d->concat.d = TENSOR_OF(2, ACCEL_F32, 4, 9);
}

static const struct row concat_rows[] = {
	HEADER(concat), NEEDED(concat, a[0], "concat.a[0]"), NEEDED(concat, a[1], "concat.a[1]"),
	OUTPUT(concat, d, "concat.d"), ABSENT(concat, a[2], "concat.a[2]"),
	ABSENT(concat, a[7], "concat.a[7]"),
	BAD("concat.axis", P(concat, axis, 2)),
	BAD("concat.count", P(concat, count, 0)),
	BAD("concat.count", P(concat, count, ACCEL_CONCAT_MAX + 1)),
	BAD("concat.a[2].rank", P(concat, count, 3), P(concat, a[2].dtype, 1)),
	BAD("concat.a[0].dims[0]", P(concat, a[0].dims[0], 3)),
	BAD("concat.a[1].dims[0]", P(concat, a[1].dims[0], 5)),
	BAD("concat.a[1].rank", P(concat, a[1].rank, 1), P(concat, a[1].dims[1], 0)),
	BAD("concat.d.dims[1]", P(concat, d.dims[1], 8)),
	BAD("concat.d.dims[1]", P(concat, a[1].dims[1], 4)),
};

static void base_split(union desc *d)
{
	d->split = (struct accel_split_desc)ACCEL_SPLIT_DESC_INIT;
	d->split.axis = 0;
	d->split.count = 2;
	d->split.a = TENSOR_OF(0, ACCEL_F32, 4, 6);
	d->split.d[0] = TENSOR_OF(1, ACCEL_F32, 2, 6);
	d->split.d[1] = TENSOR_OF(2, ACCEL_F32, 2, 6);
}

static const struct row split_rows[] = {
	HEADER(split), NEEDED(split, a, "split.a"), OUTPUT(split, d[0], "split.d[0]"),
	OUTPUT(split, d[1], "split.d[1]"), ABSENT(split, d[2], "split.d[2]"),
	BAD("split.axis", P(split, axis, 2)),
	BAD("split.count", P(split, count, 0)),
	BAD("split.count", P(split, count, 9)),
	BAD("split.a.dims[0]", P(split, d[0].dims[0], 1)),
	BAD("split.d[1].dims[1]", P(split, d[1].dims[1], 5)),
	BAD("split.d[1].rank", P(split, count, 1), P(split, d[0].dims[0], 4)),
};

static void base_pad(union desc *d)
{
	d->pad = (struct accel_pad_desc)ACCEL_PAD_DESC_INIT;
	d->pad.before[1] = 1;
	d->pad.after[0] = 2;
	d->pad.a = TENSOR_OF(0, ACCEL_F32, 4, 6);
	d->pad.d = TENSOR_OF(1, ACCEL_F32, 6, 7);
}

static const struct row pad_rows[] = {
	HEADER(pad), NEEDED(pad, a, "pad.a"), OUTPUT(pad, d, "pad.d"),
	BAD("pad.mode", P(pad, mode, ACCEL_PAD_COUNT)),
	BAD("pad.pad", P(pad, pad, 1)),
	BAD("pad.value", P(pad, mode, ACCEL_PAD_EDGE), P(pad, value, ONE64)),
	BAD("pad.before[0]", P(pad, before[0], -1)),
	BAD("pad.after[1]", P(pad, after[1], -1)),
	BAD("pad.before[2]", P(pad, before[2], 1)),
	BAD("pad.after[4]", P(pad, after[4], 1)),
	BAD("pad.d.dims[0]", P(pad, before[0], 1)),
	BAD("pad.d.dims[0]", P(pad, before[0], INT64_MAX)),
	BAD("pad.d.dims[1]", P(pad, d.dims[1], 6)),
	BAD("pad.a.rank", P(pad, a.rank, 1), P(pad, a.dims[1], 0)),
	BAD("pad.after[0]", P(pad, mode, ACCEL_PAD_REFLECT), P(pad, after[0], 4),
	    P(pad, d.dims[0], 8)),
	BAD("pad.after[0]", P(pad, mode, ACCEL_PAD_WRAP), P(pad, after[0], 5),
	    P(pad, d.dims[0], 9)),
	BAD("pad.value", P(pad, value, NAN64), P(pad, d.dtype, ACCEL_S32)),
};

static void base_gather(union desc *d)
{
	d->gather = (struct accel_gather_desc)ACCEL_GATHER_DESC_INIT;
	d->gather.a = TENSOR_OF(0, ACCEL_F32, 10, 6);
	d->gather.b = TENSOR_OF(1, ACCEL_S32, 3);
	d->gather.d = TENSOR_OF(2, ACCEL_F32, 3, 6);
}

static const struct row gather_rows[] = {
	HEADER(gather), NEEDED(gather, a, "gather.a"), NEEDED(gather, b, "gather.b"),
	OUTPUT(gather, d, "gather.d"),
	BAD("gather.func", P(gather, func, ACCEL_GATHER_COUNT)),
	BAD("gather.axis", P(gather, axis, 2)),
	BAD("gather.axis", P(gather, func, ACCEL_GATHER_ND), P(gather, axis, 1)),
	BAD("gather.batch", P(gather, batch, 1)),
	BAD("gather.batch", P(gather, func, ACCEL_GATHER_ND), P(gather, batch, 1)),
	BAD("gather.pad", P(gather, pad, 1)),
	BAD("gather.b.dtype", P(gather, b.dtype, ACCEL_F32)),
	BAD("gather.b.dtype", P(gather, b.dtype, ACCEL_U8)),
	BAD("gather.b.quant.scheme", P(gather, b.quant.scheme, ACCEL_QUANT_TENSOR),
	    P(gather, b.quant.scale, ONE32)),
	BAD("gather.d.dtype", P(gather, d.dtype, ACCEL_S4)),
	BAD("gather.d.rank", P(gather, d.rank, 1), P(gather, d.dims[1], 0)),
	BAD("gather.d.dims[0]", P(gather, d.dims[0], 4)),
	BAD("gather.d.dims[1]", P(gather, d.dims[1], 5)),
	BAD("gather.b.rank", P(gather, func, ACCEL_GATHER_ELEMENTS)),
	BAD("gather.b.dims[0]", P(gather, func, ACCEL_GATHER_ND)),
	BAD("gather.b.dims[0]", P(gather, func, ACCEL_GATHER_ND), P(gather, b.dims[0], 0)),
};

static void base_scatter(union desc *d)
{
	d->scatter = (struct accel_scatter_desc)ACCEL_SCATTER_DESC_INIT;
	d->scatter.a = TENSOR_OF(0, ACCEL_F32, 10, 6);
	d->scatter.b = TENSOR_OF(1, ACCEL_S32, 3, 6);
	d->scatter.c = TENSOR_OF(2, ACCEL_F32, 3, 6);
	d->scatter.d = TENSOR_OF(3, ACCEL_F32, 10, 6);
}

static const struct row scatter_rows[] = {
	HEADER(scatter), NEEDED(scatter, a, "scatter.a"), NEEDED(scatter, b, "scatter.b"),
	NEEDED(scatter, c, "scatter.c"), OUTPUT(scatter, d, "scatter.d"),
	BAD("scatter.func", P(scatter, func, ACCEL_SCATTER_COUNT)),
	BAD("scatter.axis", P(scatter, axis, 2)),
	BAD("scatter.axis", P(scatter, func, ACCEL_SCATTER_ND), P(scatter, axis, 1)),
	BAD("scatter.reduce", P(scatter, reduce, ACCEL_SCATTER_REDUCE_COUNT)),
	BAD("scatter.pad", P(scatter, pad, 1)),
	BAD("scatter.b.dtype", P(scatter, b.dtype, ACCEL_BF16)),
	BAD("scatter.d.dtype", P(scatter, d.dtype, ACCEL_U4)),
	BAD("scatter.a.dims[0]", P(scatter, a.dims[0], 9)),
	BAD("scatter.a.rank", P(scatter, a.rank, 1), P(scatter, a.dims[1], 0)),
	BAD("scatter.b.rank", P(scatter, b.rank, 1), P(scatter, b.dims[1], 0)),
	BAD("scatter.b.dims[1]", P(scatter, b.dims[1], 7)),
	BAD("scatter.c.dims[0]", P(scatter, c.dims[0], 2)),
	BAD("scatter.c.rank", P(scatter, c.rank, 1), P(scatter, c.dims[1], 0)),
	BAD("scatter.b.dims[1]", P(scatter, func, ACCEL_SCATTER_ND)),
};

#define TABLE(name) { #name, base_##name, name##_rows, ARRAY_SIZE(name##_rows) }

const struct table misuse_moves[] = {
	TABLE(select), TABLE(concat), TABLE(split), TABLE(pad), TABLE(gather), TABLE(scatter),
};

const uint32_t misuse_moves_count = ARRAY_SIZE(misuse_moves);
