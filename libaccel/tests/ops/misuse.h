/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that are wrong, as tables: a base that is right, and for each rule
 * a row that changes few of its fields and says which error and which field
 * planning, explaining and running it must give.
 */
#ifndef LIBACCEL_TESTS_MISUSE_H
#define LIBACCEL_TESTS_MISUSE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <accel/accel.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Bits of binary32 and binary64 */
#define NAN32		0x7fc00000u
#define INF32		0x7f800000u
#define ONE32		0x3f800000u
#define MINUS32		0xbf800000u
#define ONE64		0x3ff0000000000000ull
#define TEN64		0x4024000000000000ull
#define NAN64		0x7ff8000000000000ull

/**
 * struct poke - a field to set
 */
struct poke {
	uint16_t offset;
	uint16_t size;
	uint64_t value;
};

/**
 * struct row - changes, and what they must lead to
 */
struct row {
	int line;
	int code;
	const char *field;
	struct poke pokes[8];
};

union desc {
	struct accel_desc hdr;
	struct accel_gemm_desc gemm;
	struct accel_copy_desc copy;
	struct accel_conv_desc conv;
	struct accel_softmax_desc softmax;
	struct accel_norm_desc norm;
	struct accel_reduce_desc reduce;
	struct accel_topk_desc topk;
	struct accel_scan_desc scan;
	struct accel_dynquant_desc dynquant;
	struct accel_kv_write_desc kv_write;
	struct accel_select_desc select;
	struct accel_attention_desc attention;
	struct accel_rotary_desc rotary;
	struct accel_gather_desc gather;
	struct accel_scatter_desc scatter;
	struct accel_pool_desc pool;
	struct accel_resize_desc resize;
	struct accel_concat_desc concat;
	struct accel_split_desc split;
	struct accel_pad_desc pad;
};

/**
 * struct table - an operation and what can be wrong with it
 * @name: of the table
 * @base: sets up a descriptor that is right
 * @rows: rows
 * @count: their number
 */
struct table {
	const char *name;
	void (*base)(union desc *d);
	const struct row *rows;
	uint32_t count;
};

#define P(op, f, v) \
	{ offsetof(struct accel_##op##_desc, f), \
	  sizeof(((struct accel_##op##_desc *)0)->f), (uint64_t)(v) }
#define BAD(field, ...)		{ __LINE__, -EINVAL, field, { __VA_ARGS__ } }
#define CODE(code, field, ...)	{ __LINE__, code, field, { __VA_ARGS__ } }

/* What all descriptors have */
#define HEADER(x)							\
	BAD("desc.size", P(x, hdr.size, 0)),				\
	BAD("desc.size", P(x, hdr.size, 15)),				\
	BAD(#x ".hdr.size", P(x, hdr.size, sizeof(struct accel_##x##_desc) - 8)), \
	BAD("desc.op", P(x, hdr.op, ACCEL_OP_COUNT)),			\
	BAD("desc.op", P(x, hdr.op, 0)),				\
	BAD(#x ".hdr.engine", P(x, hdr.engine, ACCEL_ENGINE_COUNT)),	\
	BAD(#x ".hdr.pad", P(x, hdr.pad, 1))

/* What all tensors have, if they are of a floating-point type and dense */
#define TENSOR(op, t, name)						\
	BAD(name ".dtype", P(op, t.dtype, 0)),				\
	BAD(name ".dtype", P(op, t.dtype, ACCEL_DTYPE_COUNT)),		\
	BAD(name ".rank", P(op, t.rank, ACCEL_MAX_RANK + 1)),		\
	BAD(name ".flags", P(op, t.flags, 4)),				\
	BAD(name ".length_offset", P(op, t.length_offset, 4)),	\
	BAD(name ".reserved[0]", P(op, t.reserved[0], 1)),		\
	BAD(name ".reserved[1]", P(op, t.reserved[1], 1)),		\
	BAD(name ".dims[0]", P(op, t.dims[0], -1)),			\
	BAD(name ".dims[0]", P(op, t.dims[0], INT64_MAX)),		\
	BAD(name ".strides[0]", P(op, t.strides[0], 1)),		\
	BAD(name ".quant.scheme", P(op, t.quant.scheme, ACCEL_QUANT_COUNT)), \
	BAD(name ".quant.axis", P(op, t.quant.axis, 1)),		\
	BAD(name ".quant.group", P(op, t.quant.group, 16)),		\
	BAD(name ".quant.scale_dtype", P(op, t.quant.scale_dtype, ACCEL_F16)), \
	BAD(name ".quant.scale", P(op, t.quant.scale, ONE32)),		\
	BAD(name ".quant.zero", P(op, t.quant.zero, 1)),		\
	BAD(name ".quant.scales_offset", P(op, t.quant.scales_offset, 4)), \
	BAD(name ".quant.zeros_offset", P(op, t.quant.zeros_offset, 4))

/* Beside that, one that has to be there */
#define NEEDED(op, t, name)						\
	TENSOR(op, t, name),						\
	BAD(name ".rank", P(op, t.rank, 0))

/* One that is absent: rank 0, and nothing else is set */
#define ABSENT(op, t, name)						\
	BAD(name ".rank", P(op, t.dtype, ACCEL_F32)),			\
	BAD(name ".rank", P(op, t.dims[0], 1)),				\
	BAD(name ".rank", P(op, t.offset, 4))

/* A result: no two elements share memory; the shape has more than one row */
#define OUTPUT(op, t, name)						\
	NEEDED(op, t, name),						\
	BAD(name ".strides[0]", P(op, t.flags, ACCEL_TENSOR_STRIDES))

/**
 * misuse_tensor - a tensor in a buffer of its own, of zeros
 * @i: number of the buffer
 * @dtype: type
 * @rank: dimensions
 * @dims: dimensions
 *
 * Return: the tensor.
 */
struct accel_tensor misuse_tensor(uint32_t i, uint32_t dtype, uint32_t rank,
				  const int64_t *dims);

#define TENSOR_OF(i, dtype, ...)					\
	misuse_tensor(i, dtype, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
		      (const int64_t[]){ __VA_ARGS__ })

extern const struct table misuse_lines[];
extern const uint32_t misuse_lines_count;
extern const struct table misuse_networks[];
extern const uint32_t misuse_networks_count;
extern const struct table misuse_moves[];
extern const uint32_t misuse_moves_count;

#endif /* LIBACCEL_TESTS_MISUSE_H */
