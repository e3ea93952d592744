/* SPDX-License-Identifier: MIT */
/*
 * Element types, engines and operations, and what every header needs.
 */
#ifndef ACCEL_TYPES_H
#define ACCEL_TYPES_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** ACCEL_API: marks the functions that the shared library exports */
#define ACCEL_API __attribute__((visibility("default")))

/** ACCEL_VERSION_MAJOR: changes when the ABI does */
#define ACCEL_VERSION_MAJOR	0
/** ACCEL_VERSION_MINOR: changes with additions */
#define ACCEL_VERSION_MINOR	1

/**
 * accel_version - version of the library that runs
 *
 * Return: major << 16 | minor.
 */
ACCEL_API uint32_t accel_version(void);

/** ACCEL_MAX_RANK: largest number of dimensions of a tensor */
#define ACCEL_MAX_RANK		5

/**
 * enum accel_dtype - element types
 * @ACCEL_NONE: none
 * @ACCEL_F32: IEEE 754 binary32
 * @ACCEL_F16: IEEE 754 binary16
 * @ACCEL_BF16: bfloat16
 * @ACCEL_S32: signed, 32 bit
 * @ACCEL_S8: signed, 8 bit
 * @ACCEL_U8: unsigned, 8 bit
 * @ACCEL_S4: signed, 4 bit, two in a byte, the even element in the low nibble
 * @ACCEL_U4: unsigned, 4 bit, stored like ACCEL_S4
 * @ACCEL_Q8_0: blocks of 32 elements in 34 bytes: a binary16 scale, 8 bits for each element
 * @ACCEL_Q4_0: blocks of 32 elements in 18 bytes: a scale, 4 bits for each element
 * @ACCEL_Q4_1: blocks of 32 elements in 20 bytes: a scale, a minimum, 4 bits for each element
 * @ACCEL_Q4_K: blocks of 256 elements in 144 bytes: a scale and a minimum for each 32, 4 bits
 *	for each element
 * @ACCEL_Q6_K: blocks of 256 elements in 210 bytes: a scale for each 16, 6 bits for each
 *	element
 * @ACCEL_DTYPE_COUNT: number of values
 *
 * The types of blocks have the format of GGUF files, byte for byte; uma_task.h defines them.
 * They are for constant data that is read in place: the right matrix of a GEMM, the table of
 * a gather, the input of a copy. Such a tensor is described like any other: one dimension has
 * stride 1 and a size that is a multiple of the block, the other strides are multiples of the
 * block, and the offset is even. It has no &struct accel_quant.
 */
enum accel_dtype {
	ACCEL_NONE = 0,
	ACCEL_F32 = 1,
	ACCEL_F16 = 2,
	ACCEL_BF16 = 3,
	ACCEL_S32 = 4,
	ACCEL_S8 = 5,
	ACCEL_U8 = 6,
	ACCEL_S4 = 7,
	ACCEL_U4 = 8,
	ACCEL_Q8_0 = 9,
	ACCEL_Q4_0 = 10,
	ACCEL_Q4_1 = 11,
	ACCEL_Q4_K = 12,
	ACCEL_Q6_K = 13,
	ACCEL_DTYPE_COUNT = 14
};

/**
 * enum accel_engine - kinds of engine
 * @ACCEL_ENGINE_AUTO: the library chooses
 * @ACCEL_ENGINE_MATRIX: matrix unit
 * @ACCEL_ENGINE_GPU: GPU
 * @ACCEL_ENGINE_NEURAL: neural engine
 * @ACCEL_ENGINE_COUNT: number of values
 */
enum accel_engine {
	ACCEL_ENGINE_AUTO = 0,
	ACCEL_ENGINE_MATRIX = 1,
	ACCEL_ENGINE_GPU = 2,
	ACCEL_ENGINE_NEURAL = 3,
	ACCEL_ENGINE_COUNT = 4
};

/**
 * enum accel_op - operations
 * @ACCEL_OP_NONE: none
 * @ACCEL_OP_COPY: copy, with layout and type conversion: &struct accel_copy_desc
 * @ACCEL_OP_FILL: fill with a constant: &struct accel_fill_desc
 * @ACCEL_OP_UNARY: elementwise function: &struct accel_unary_desc
 * @ACCEL_OP_BINARY: elementwise function of two: &struct accel_binary_desc
 * @ACCEL_OP_GEMM: matrix product: &struct accel_gemm_desc
 * @ACCEL_OP_CONV: convolution
 * @ACCEL_OP_ATTENTION: scaled dot-product attention
 * @ACCEL_OP_ROTARY: rotary position embedding
 * @ACCEL_OP_NORM: normalisation
 * @ACCEL_OP_SOFTMAX: softmax and its logarithm
 * @ACCEL_OP_REDUCE: reduction along dimensions
 * @ACCEL_OP_POOL: pooling
 * @ACCEL_OP_RESIZE: resampling
 * @ACCEL_OP_GATHER: elements by index
 * @ACCEL_OP_SCATTER: elements to an index
 * @ACCEL_OP_TOPK: the largest or smallest elements
 * @ACCEL_OP_SCAN: cumulative sums
 * @ACCEL_OP_SELECT: one of two tensors, element by element
 * @ACCEL_OP_CONCAT: concatenation
 * @ACCEL_OP_SPLIT: division into pieces along a dimension
 * @ACCEL_OP_PAD: a border around a tensor
 * @ACCEL_OP_FFN: feed-forward network of a transformer
 * @ACCEL_OP_DYNQUANT: quantisation to 8 bits, with scales computed from the values
 * @ACCEL_OP_KV_WRITE: rows into the pages of a key-value cache
 * @ACCEL_OP_COUNT: number of values
 */
enum accel_op {
	ACCEL_OP_NONE = 0,
	ACCEL_OP_COPY = 1,
	ACCEL_OP_FILL = 2,
	ACCEL_OP_UNARY = 3,
	ACCEL_OP_BINARY = 4,
	ACCEL_OP_GEMM = 5,
	ACCEL_OP_CONV = 6,
	ACCEL_OP_ATTENTION = 7,
	ACCEL_OP_ROTARY = 8,
	ACCEL_OP_NORM = 9,
	ACCEL_OP_SOFTMAX = 10,
	ACCEL_OP_REDUCE = 11,
	ACCEL_OP_POOL = 12,
	ACCEL_OP_RESIZE = 13,
	ACCEL_OP_GATHER = 14,
	ACCEL_OP_SCATTER = 15,
	ACCEL_OP_TOPK = 16,
	ACCEL_OP_SCAN = 17,
	ACCEL_OP_SELECT = 18,
	ACCEL_OP_CONCAT = 19,
	ACCEL_OP_SPLIT = 20,
	ACCEL_OP_PAD = 21,
	ACCEL_OP_FFN = 22,
	ACCEL_OP_DYNQUANT = 23,
	ACCEL_OP_KV_WRITE = 24,
	ACCEL_OP_COUNT = 25
};

/**
 * accel_dtype_name - name of an element type: "fp32", "fp16", "bf16", "int32",
 * "int8", "uint8", "int4", "uint4", "q8_0", "q4_0", "q4_1", "q4_k", "q6_k"
 * @dtype: &enum accel_dtype
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_dtype_name(uint32_t dtype);

/**
 * accel_dtype_bits - bits of an element
 * @dtype: &enum accel_dtype
 *
 * Return: bits, 0 for a value out of range and for types of blocks.
 */
ACCEL_API uint32_t accel_dtype_bits(uint32_t dtype);

/**
 * accel_dtype_block - smallest addressable unit of a type
 * @dtype: &enum accel_dtype
 * @elements: out: number of elements: those of a block, 2 for 4-bit types, else 1;
 *	may be NULL
 *
 * Return: size in bytes, 0 for a value out of range.
 */
ACCEL_API uint32_t accel_dtype_block(uint32_t dtype, uint32_t *elements);

/**
 * accel_engine_name - name of a kind of engine: "auto", "matrix", "gpu", "neural"
 * @engine: &enum accel_engine
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_engine_name(uint32_t engine);

/**
 * accel_op_name - name of an operation: "copy", "gemm", "attention"
 * @op: &enum accel_op
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_op_name(uint32_t op);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_TYPES_H */
