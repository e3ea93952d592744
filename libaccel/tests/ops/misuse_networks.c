// SPDX-License-Identifier: MIT
/*
 * Wrong descriptors of what networks are made of: convolution, attention,
 * rotary embedding, pooling, resampling.
 */
#include "misuse.h"

static void base_conv(union desc *d)
{
	d->conv = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
	d->conv.a = TENSOR_OF(0, ACCEL_F32, 2, 4, 7, 9);
	d->conv.b = TENSOR_OF(1, ACCEL_F32, 6, 4, 3, 3);
	d->conv.d = TENSOR_OF(2, ACCEL_F32, 2, 6, 5, 7);
}

static const struct row conv_rows[] = {
	HEADER(conv), NEEDED(conv, a, "conv.a"), NEEDED(conv, b, "conv.b"),
	OUTPUT(conv, d, "conv.d"), ABSENT(conv, epilogue.bias, "conv.epilogue.bias"),
	ABSENT(conv, epilogue.scale, "conv.epilogue.scale"),
	ABSENT(conv, epilogue.residual, "conv.epilogue.residual"),
	BAD("conv.flags", P(conv, flags, 1u << 31)),
	BAD("conv.algorithm", P(conv, algorithm, 99)),
	BAD("conv.algorithm", P(conv, algorithm, ACCEL_CONV_GEMM)),
	BAD("conv.pad", P(conv, pad, 1)),
	BAD("conv.stride[0]", P(conv, stride[0], 65537)),
	BAD("conv.stride[1]", P(conv, stride[1], UINT32_MAX)),
	BAD("conv.dilation[1]", P(conv, dilation[1], 65537)),
	BAD("conv.pad_before[0]", P(conv, pad_before[0], 65537)),
	BAD("conv.pad_after[1]", P(conv, pad_after[1], 65537)),
	BAD("conv.a.dims[1]", P(conv, groups, 3)),
	BAD("conv.b.dims[1]", P(conv, groups, 2)),
	BAD("conv.b.dims[1]", P(conv, b.dims[1], 3)),
	BAD("conv.b.dims[0]", P(conv, b.dims[0], 5)),
	BAD("conv.b.dims[2]", P(conv, b.dims[2], 0)),
	BAD("conv.d.dims[0]", P(conv, d.dims[0], 1)),
	BAD("conv.d.dims[2]", P(conv, d.dims[2], 6)),
	BAD("conv.d.dims[3]", P(conv, stride[1], 2)),
	BAD("conv.d.dims[2]", P(conv, pad_before[0], 1)),
	BAD("conv.d.dims[2]", P(conv, dilation[0], 2)),
	BAD("conv.a.rank", P(conv, a.rank, 2), P(conv, a.dims[2], 0), P(conv, a.dims[3], 0)),
	BAD("conv.b.rank", P(conv, b.rank, 3), P(conv, b.dims[3], 0)),
	BAD("conv.d.rank", P(conv, d.rank, 3), P(conv, d.dims[3], 0)),
	BAD("conv.a.dtype", P(conv, a.dtype, ACCEL_S32)),
	BAD("conv.b.dtype", P(conv, b.dtype, ACCEL_F16)),
	BAD("conv.b.quant.scheme", P(conv, b.dtype, ACCEL_S8)),
	BAD("conv.d.dtype", P(conv, d.dtype, ACCEL_S32)),
	BAD("conv.epilogue.act", P(conv, epilogue.act, ACCEL_ACT_COUNT)),
	BAD("conv.epilogue.p0", P(conv, epilogue.p0, ONE32)),
	BAD("conv.epilogue.pad", P(conv, epilogue.pad, 1)),
	BAD("conv.epilogue.bias.dims[0]", P(conv, epilogue.bias.rank, 1),
	    P(conv, epilogue.bias.dims[0], 5), P(conv, epilogue.bias.dtype, ACCEL_F32)),
};

static void base_attention(union desc *d)
{
	d->attention = (struct accel_attention_desc)ACCEL_ATTENTION_DESC_INIT;
	d->attention.q = TENSOR_OF(0, ACCEL_F32, 2, 3, 4, 8);
	d->attention.k = TENSOR_OF(1, ACCEL_F32, 2, 5, 2, 8);
	d->attention.v = TENSOR_OF(2, ACCEL_F32, 2, 5, 2, 6);
	d->attention.d = TENSOR_OF(3, ACCEL_F32, 2, 3, 4, 6);
}

static const struct row attention_rows[] = {
	HEADER(attention), NEEDED(attention, q, "attention.q"),
	NEEDED(attention, k, "attention.k"), NEEDED(attention, v, "attention.v"),
	OUTPUT(attention, d, "attention.d"), ABSENT(attention, mask, "attention.mask"),
	ABSENT(attention, pages, "attention.pages"),
	ABSENT(attention, lengths, "attention.lengths"),
	ABSENT(attention, slopes, "attention.slopes"),
	ABSENT(attention, sinks, "attention.sinks"),
	ABSENT(attention, partials, "attention.partials"),
	BAD("attention.flags", P(attention, flags, 1u << 31)),
	BAD("attention.scale", P(attention, scale, ONE32)),
	BAD("attention.scale", P(attention, flags, ACCEL_ATTENTION_SCALE),
	    P(attention, scale, NAN32)),
	BAD("attention.softcap", P(attention, softcap, MINUS32)),
	BAD("attention.softcap", P(attention, softcap, INF32)),
	BAD("attention.window_left", P(attention, window_left, 1)),
	BAD("attention.window_right", P(attention, window_right, 1)),
	BAD("attention.keep", P(attention, keep, 1)),
	BAD("attention.q_offset", P(attention, q_offset, 1)),
	BAD("attention.q_max", P(attention, q_max, 1)),
	BAD("attention.lengths.rank", P(attention, flags, ACCEL_ATTENTION_RAGGED)),
	BAD("attention.q.rank", P(attention, q.rank, 3), P(attention, q.dims[3], 0)),
	BAD("attention.k.rank", P(attention, k.rank, 3), P(attention, k.dims[3], 0)),
	BAD("attention.d.rank", P(attention, d.rank, 3), P(attention, d.dims[3], 0)),
	BAD("attention.q.dtype", P(attention, q.dtype, ACCEL_S32)),
	BAD("attention.d.dtype", P(attention, d.dtype, ACCEL_S4)),
	BAD("attention.q.quant.scheme", P(attention, q.dtype, ACCEL_S8)),
	BAD("attention.d.quant.scheme", P(attention, d.dtype, ACCEL_U8)),
	BAD("attention.k.dtype", P(attention, k.dtype, ACCEL_S32)),
	BAD("attention.v.quant.scheme", P(attention, v.dtype, ACCEL_S8)),
	BAD("attention.d.dims[0]", P(attention, d.dims[0], 3)),
	BAD("attention.d.dims[2]", P(attention, d.dims[2], 2)),
	BAD("attention.d.dims[3]", P(attention, d.dims[3], 8)),
	BAD("attention.k.dims[0]", P(attention, k.dims[0], 1), P(attention, v.dims[0], 1)),
	BAD("attention.k.dims[2]", P(attention, k.dims[2], 3), P(attention, v.dims[2], 3)),
	BAD("attention.k.dims[3]", P(attention, k.dims[3], 6)),
	BAD("attention.v.dims[1]", P(attention, v.dims[1], 4)),
	BAD("attention.v.dims[2]", P(attention, v.dims[2], 1)),
	BAD("attention.mask.dtype", P(attention, mask.rank, 1), P(attention, mask.dims[0], 5),
	    P(attention, mask.dtype, ACCEL_S8)),
	BAD("attention.mask.dims[0]", P(attention, mask.rank, 1), P(attention, mask.dims[0], 4),
	    P(attention, mask.dtype, ACCEL_F32)),
	BAD("attention.slopes.dims[0]", P(attention, slopes.rank, 1),
	    P(attention, slopes.dims[0], 3), P(attention, slopes.dtype, ACCEL_F32)),
	BAD("attention.sinks.rank", P(attention, sinks.rank, 2), P(attention, sinks.dims[0], 1),
	    P(attention, sinks.dims[1], 4), P(attention, sinks.dtype, ACCEL_F32)),
	BAD("attention.lengths.dtype", P(attention, lengths.rank, 1),
	    P(attention, lengths.dims[0], 2), P(attention, lengths.dtype, ACCEL_F32)),
	BAD("attention.lengths.dims[0]", P(attention, lengths.rank, 1),
	    P(attention, lengths.dims[0], 3), P(attention, lengths.dtype, ACCEL_S32)),
};

static void base_rotary(union desc *d)
{
	d->rotary = (struct accel_rotary_desc)ACCEL_ROTARY_DESC_INIT;
	d->rotary.a = TENSOR_OF(0, ACCEL_F32, 2, 3, 4, 8);
	d->rotary.cosines = TENSOR_OF(1, ACCEL_F32, 10, 4);
	d->rotary.sines = TENSOR_OF(2, ACCEL_F32, 10, 4);
	d->rotary.d = TENSOR_OF(3, ACCEL_F32, 2, 3, 4, 8);
}

static const struct row rotary_rows[] = {
	HEADER(rotary), NEEDED(rotary, a, "rotary.a"),
	NEEDED(rotary, cosines, "rotary.cosines"), NEEDED(rotary, sines, "rotary.sines"),
	OUTPUT(rotary, d, "rotary.d"), ABSENT(rotary, positions, "rotary.positions"),
	BAD("rotary.flags", P(rotary, flags, 2)),
	BAD("rotary.start", P(rotary, start, 8)),
	BAD("rotary.start", P(rotary, start, UINT32_MAX)),
	BAD("rotary.start", P(rotary, start, 1), P(rotary, positions.rank, 1),
	    P(rotary, positions.dims[0], 3), P(rotary, positions.dtype, ACCEL_S32)),
	BAD("rotary.a.rank", P(rotary, a.rank, 3), P(rotary, a.dims[3], 0)),
	BAD("rotary.a.dims[1]", P(rotary, a.dims[1], 2)),
	BAD("rotary.cosines.rank", P(rotary, cosines.rank, 1), P(rotary, cosines.dims[1], 0)),
	BAD("rotary.cosines.dtype", P(rotary, cosines.dtype, ACCEL_S32)),
	BAD("rotary.cosines.dims[1]", P(rotary, cosines.dims[1], 5), P(rotary, sines.dims[1], 5)),
	BAD("rotary.sines.dims[0]", P(rotary, sines.dims[0], 9)),
	BAD("rotary.positions.dtype", P(rotary, positions.rank, 1),
	    P(rotary, positions.dims[0], 3), P(rotary, positions.dtype, ACCEL_F32)),
	BAD("rotary.positions.dims[0]", P(rotary, positions.rank, 1),
	    P(rotary, positions.dims[0], 4), P(rotary, positions.dtype, ACCEL_S32)),
};

static void base_pool(union desc *d)
{
	d->pool = (struct accel_pool_desc)ACCEL_POOL_DESC_INIT;
	d->pool.kernel[0] = d->pool.kernel[1] = 2;
	d->pool.a = TENSOR_OF(0, ACCEL_F32, 2, 3, 6, 8);
	d->pool.d = TENSOR_OF(1, ACCEL_F32, 2, 3, 5, 7);
}

static const struct row pool_rows[] = {
	HEADER(pool), NEEDED(pool, a, "pool.a"), OUTPUT(pool, d, "pool.d"),
	BAD("pool.func", P(pool, func, ACCEL_POOL_COUNT)),
	BAD("pool.flags", P(pool, flags, 8)),
	BAD("pool.flags", P(pool, flags, ACCEL_POOL_COUNT_PAD)),
	BAD("pool.norm", P(pool, norm, 2)),
	BAD("pool.norm", P(pool, func, ACCEL_POOL_LP)),
	BAD("pool.norm", P(pool, func, ACCEL_POOL_LP), P(pool, norm, 17)),
	BAD("pool.pad", P(pool, pad, 1)),
	BAD("pool.pad1", P(pool, pad1, 1)),
	BAD("pool.kernel[0]", P(pool, kernel[0], 0)),
	BAD("pool.kernel[2]", P(pool, kernel[2], 1)),
	BAD("pool.kernel[1]", P(pool, kernel[1], UINT32_MAX)),
	BAD("pool.stride[2]", P(pool, stride[2], 1)),
	BAD("pool.stride[0]", P(pool, stride[0], UINT32_MAX)),
	BAD("pool.dilation[2]", P(pool, dilation[2], 1)),
	BAD("pool.pad_begin[2]", P(pool, pad_begin[2], 1)),
	BAD("pool.pad_end[0]", P(pool, pad_end[0], UINT32_MAX)),
	BAD("pool.kernel[0]", P(pool, flags, ACCEL_POOL_GLOBAL)),
	BAD("pool.a.dims[2]", P(pool, kernel[0], 7)),
	BAD("pool.d.dims[2]", P(pool, d.dims[2], 6)),
	BAD("pool.d.dims[3]", P(pool, stride[1], 2)),
	BAD("pool.a.dims[1]", P(pool, d.dims[1], 4)),
	BAD("pool.a.rank", P(pool, a.rank, 3), P(pool, a.dims[3], 0)),
	BAD("pool.d.rank", P(pool, a.rank, 2), P(pool, a.dims[2], 0), P(pool, a.dims[3], 0),
	    P(pool, d.rank, 2), P(pool, d.dims[2], 0), P(pool, d.dims[3], 0)),
	BAD("pool.a.dtype", P(pool, a.dtype, ACCEL_S32)),
	BAD("pool.d.dtype", P(pool, d.dtype, ACCEL_S4), P(pool, d.dims[3], 6)),
};

static void base_resize(union desc *d)
{
	d->resize = (struct accel_resize_desc)ACCEL_RESIZE_DESC_INIT;
	d->resize.a = TENSOR_OF(0, ACCEL_F32, 2, 3, 4, 5);
	d->resize.d = TENSOR_OF(1, ACCEL_F32, 2, 3, 8, 10);
}

static const struct row resize_rows[] = {
	HEADER(resize), NEEDED(resize, a, "resize.a"), OUTPUT(resize, d, "resize.d"),
	BAD("resize.func", P(resize, func, ACCEL_RESIZE_COUNT)),
	BAD("resize.flags", P(resize, flags, 4)),
	BAD("resize.flags", P(resize, flags, ACCEL_RESIZE_EXCLUDE)),
	BAD("resize.coord", P(resize, coord, ACCEL_COORD_COUNT)),
	BAD("resize.nearest", P(resize, nearest, ACCEL_NEAREST_COUNT)),
	BAD("resize.nearest", P(resize, func, ACCEL_RESIZE_LINEAR), P(resize, nearest, 1)),
	BAD("resize.cubic", P(resize, cubic, ONE32)),
	BAD("resize.cubic", P(resize, func, ACCEL_RESIZE_CUBIC),
	    P(resize, flags, ACCEL_RESIZE_CUBIC_A), P(resize, cubic, NAN32)),
	BAD("resize.pad", P(resize, pad, 1)),
	BAD("resize.scale[2]", P(resize, scale[2], TEN64)),
	BAD("resize.scale[2]", P(resize, scale[2], NAN64)),
	BAD("resize.scale[4]", P(resize, scale[4], ONE64)),
	BAD("resize.a.dims[2]", P(resize, a.dims[2], 0)),
	BAD("resize.a.rank", P(resize, a.rank, 3), P(resize, a.dims[3], 0)),
	BAD("resize.d.dtype", P(resize, d.dtype, ACCEL_U4)),
	BAD("resize.d.dims", P(resize, func, ACCEL_RESIZE_LINEAR), P(resize, d.dims[0], 1),
	    P(resize, d.dims[1], 6)),
};

static void base_kv_write(union desc *d)
{
	d->kv_write = (struct accel_kv_write_desc)ACCEL_KV_WRITE_DESC_INIT;
	d->kv_write.flags = ACCEL_KV_WRITE_ASYMMETRIC;
	d->kv_write.a = TENSOR_OF(0, ACCEL_F32, 3, 2, 6);
	d->kv_write.slots = TENSOR_OF(6, ACCEL_S32, 3);
	d->kv_write.d = TENSOR_OF(1, ACCEL_U8, 4, 5, 2, 6);
	d->kv_write.scales = TENSOR_OF(2, ACCEL_F32, 4, 5, 2, 1);
	d->kv_write.zeros = TENSOR_OF(3, ACCEL_S32, 4, 5, 2, 1);
}

static const struct row kv_write_rows[] = {
	HEADER(kv_write), NEEDED(kv_write, a, "kv_write.a"), OUTPUT(kv_write, d, "kv_write.d"),
	NEEDED(kv_write, slots, "kv_write.slots"),
	OUTPUT(kv_write, scales, "kv_write.scales"), OUTPUT(kv_write, zeros, "kv_write.zeros"),
	BAD("kv_write.flags", P(kv_write, flags, 2)),
	BAD("kv_write.flags", P(kv_write, d.dtype, ACCEL_F16)),
	BAD("kv_write.pad", P(kv_write, pad, 1)),
	BAD("kv_write.a.dtype", P(kv_write, a.dtype, ACCEL_S8)),
	BAD("kv_write.a.rank", P(kv_write, a.rank, 2), P(kv_write, a.dims[2], 0)),
	BAD("kv_write.a.dims[1]", P(kv_write, a.dims[1], 1)),
	BAD("kv_write.a.dims[2]", P(kv_write, a.dims[2], 5)),
	BAD("kv_write.slots.dtype", P(kv_write, slots.dtype, ACCEL_F32)),
	BAD("kv_write.slots.dims[0]", P(kv_write, slots.dims[0], 2)),
	BAD("kv_write.d.dtype", P(kv_write, d.dtype, ACCEL_S32)),
	BAD("kv_write.d.quant.scheme", P(kv_write, d.quant.scheme, ACCEL_QUANT_TENSOR),
	    P(kv_write, d.quant.scale, ONE32)),
	BAD("kv_write.d.rank", P(kv_write, d.rank, 3), P(kv_write, d.dims[3], 0)),
	BAD("kv_write.scales.dtype", P(kv_write, scales.dtype, ACCEL_BF16)),
	BAD("kv_write.scales.rank", P(kv_write, scales.rank, 3), P(kv_write, scales.dims[3], 0)),
	BAD("kv_write.scales.dims[1]", P(kv_write, scales.dims[1], 4)),
	BAD("kv_write.scales.dims[3]", P(kv_write, scales.dims[3], 6)),
	BAD("kv_write.scales.rank", P(kv_write, d.dtype, ACCEL_F16), P(kv_write, flags, 0)),
	BAD("kv_write.zeros.dtype", P(kv_write, zeros.dtype, ACCEL_F32)),
	BAD("kv_write.zeros.dims[0]", P(kv_write, zeros.dims[0], 3)),
	BAD("kv_write.zeros.rank", P(kv_write, flags, 0)),
};

#define TABLE(name) { #name, base_##name, name##_rows, ARRAY_SIZE(name##_rows) }

const struct table misuse_networks[] = {
	TABLE(conv), TABLE(attention), TABLE(rotary), TABLE(pool), TABLE(resize),
	TABLE(kv_write),
};

const uint32_t misuse_networks_count = ARRAY_SIZE(misuse_networks);
