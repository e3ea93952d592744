/* SPDX-License-Identifier: MIT */
/*
 * Tensors of files as plain numbers.
 */
#ifndef LIBACCEL_TESTS_ONNX_READ_H
#define LIBACCEL_TESTS_ONNX_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <onnx.pb-c.h>

#define MAX_RANK	8
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* enum Onnx__TensorProto__DataType is long to write. */
enum onnx_type {
	T_NONE = 0, T_FLOAT = 1, T_UINT8 = 2, T_INT8 = 3, T_UINT16 = 4, T_INT16 = 5,
	T_INT32 = 6, T_INT64 = 7, T_STRING = 8, T_BOOL = 9, T_FLOAT16 = 10, T_DOUBLE = 11,
	T_UINT32 = 12, T_UINT64 = 13, T_COMPLEX64 = 14, T_COMPLEX128 = 15, T_BFLOAT16 = 16,
	T_UINT4 = 21, T_INT4 = 22
};

/**
 * struct raw - numbers of a file
 * @type: ONNX's type
 * @rank: dimensions
 * @dims: their sizes
 * @count: elements
 * @f: numbers of floating-point types
 * @i: numbers of integer types, uint64 by its bits
 */
struct raw {
	uint32_t type;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	uint64_t count;
	double *f;
	int64_t *i;
};

/* In all inputs, or outputs, of a vector */
#define MAX_TENSORS	64

struct tensors {
	struct Onnx__TensorProto *v[MAX_TENSORS];
	uint32_t count;
};

/* Half bytes, the first of a byte in its low bits, whatever the dimensions are */
static inline bool is_half(uint32_t type)
{
	return type == T_UINT4 || type == T_INT4;
}

static inline int64_t half_at(uint32_t type, const uint8_t *p, uint64_t n)
{
	const int64_t half = p[n / 2] >> n % 2 * 4 & 15;

	return type == T_INT4 && half > 7 ? half - 16 : half;
}

bool tensors_from(const uint8_t *p, size_t n, struct tensors *list);
void tensors_free(struct tensors *list);
void *read_file(const char *path, size_t *size);
int raw_from_proto(const Onnx__TensorProto *t, uint32_t declared, struct raw *raw);
void raw_free(struct raw *raw);
const char *type_name(uint32_t type);

#endif /* LIBACCEL_TESTS_ONNX_READ_H */
