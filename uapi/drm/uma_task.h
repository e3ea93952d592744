/* SPDX-License-Identifier: MIT */
/*
 * Task descriptors of unified-memory accelerators: what a device executes.
 *
 * A job names a list of tasks in device memory. A task is one operation on
 * tensors: fixed size, little-endian, versioned. The kernel driver never reads
 * a task; the device does, through its MMU, and every bit that it does not
 * know is a fault. Nothing is guessed.
 *
 * One header for all operations: it is the whole contract.
 */
#ifndef _UMA_TASK_H_
#define _UMA_TASK_H_

#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: conventions
 *
 * - All fields are little-endian. Floating-point immediates are the bits of
 *   an IEEE 754 binary32 value in a __le32.
 * - Every pad, every unknown flag, every field that the opcode, the layout or
 *   the quantisation scheme does not use must be zero; the device faults with
 *   the offending slot and field otherwise.
 * - Strides and dimensions count elements, not bytes. Dimensions run from the
 *   outermost (index 0) to the innermost (index rank - 1).
 * - Tasks of one list run in order; a task sees every byte that the tasks
 *   before it wrote.
 */

/** UMA_TASK_VERSION: version of the descriptor defined by this header */
#define UMA_TASK_VERSION	1

/** UMA_MAX_RANK: largest number of dimensions of an operand */
#define UMA_MAX_RANK		5

/** UMA_TASK_SLOTS: operand slots in a task */
#define UMA_TASK_SLOTS		12

/** UMA_TASK_SIZE: size in bytes of struct uma_task */
#define UMA_TASK_SIZE		2048

/** UMA_TASK_ALIGN: a task list starts at a multiple of this many bytes */
#define UMA_TASK_ALIGN		64

/**
 * enum uma_dtype - element types
 * @UMA_DTYPE_NONE: no type; the value of an unused slot
 * @UMA_DTYPE_F32: IEEE 754 binary32
 * @UMA_DTYPE_F16: IEEE 754 binary16
 * @UMA_DTYPE_BF16: bfloat16, the upper half of a binary32
 * @UMA_DTYPE_S32: two's complement, 32 bit
 * @UMA_DTYPE_S8: two's complement, 8 bit
 * @UMA_DTYPE_U8: unsigned, 8 bit
 * @UMA_DTYPE_S4: two's complement, 4 bit, two a byte, the even element in the
 *	low nibble
 * @UMA_DTYPE_U4: unsigned, 4 bit, packed like @UMA_DTYPE_S4
 * @UMA_DTYPE_Q8_0: blocks of 32 in 34 bytes: d, q[32] of s8; x = d q
 * @UMA_DTYPE_Q4_0: blocks of 32 in 18 bytes: d, q[16]; x = d (n - 8), of
 *	element i the nibble n is the low one of q[i], of i + 16 the high one
 * @UMA_DTYPE_Q4_1: blocks of 32 in 20 bytes: d, m, q[16]; x = d n + m, nibbles
 *	as with @UMA_DTYPE_Q4_0
 * @UMA_DTYPE_Q4_K: blocks of 256 in 144 bytes: d, e, s[12], q[128]; x = d s n -
 *	e m, with eight pairs (s, m) of 6 bits, one for each 32 elements. Each 32
 *	bytes of q have 32 elements in their low and the next 32 in their high
 *	nibbles. Pair j < 4 is the low 6 bits of s[j] and of s[j + 4]; pair j + 4
 *	has the low and high nibble of s[j + 8] and above them the high 2 bits of
 *	s[j] and of s[j + 4]
 * @UMA_DTYPE_Q6_K: blocks of 256 in 210 bytes: l[128], h[64], s[16] of s8, d;
 *	x = d s (n - 32), a scale s for each 16 elements. Of each 128 elements,
 *	which have 64 bytes of l and 32 of h, the low 4 bits of elements i, i + 32,
 *	i + 64, i + 96 (i < 32) are the low nibbles of l[i] and l[i + 32] and
 *	then their high ones; their high 2 bits are those of h[i], from the lowest on
 * @UMA_DTYPE_COUNT: number of values, for masks and tables
 *
 * The types of blocks are those of GGUF files; d, e and m are binary16. Values
 * are computed in binary32, where all products are exact and a sum of two is
 * rounded once. Such an operand is an input, is not quantised, and its address
 * is even. It has one dimension of stride 1 and more than one element, a
 * multiple of a block; all other strides are multiples of a block, too. So
 * the element at offset o, which dimensions and strides give as ever, is number o
 * modulo the elements of a block in block o divided by them. B of a GEMM and A
 * of COPY and GATHER may have one.
 *
 * A mask of types has bit (1 << value) set. For the 4-bit types the operand's
 * address names the byte of element 0, at most one dimension larger than 1 has
 * an odd stride, and that stride is 1; so no byte is shared between two rows.
 */
enum uma_dtype {
	UMA_DTYPE_NONE = 0,
	UMA_DTYPE_F32 = 1,
	UMA_DTYPE_F16 = 2,
	UMA_DTYPE_BF16 = 3,
	UMA_DTYPE_S32 = 4,
	UMA_DTYPE_S8 = 5,
	UMA_DTYPE_U8 = 6,
	UMA_DTYPE_S4 = 7,
	UMA_DTYPE_U4 = 8,
	UMA_DTYPE_Q8_0 = 9,
	UMA_DTYPE_Q4_0 = 10,
	UMA_DTYPE_Q4_1 = 11,
	UMA_DTYPE_Q4_K = 12,
	UMA_DTYPE_Q6_K = 13,
	UMA_DTYPE_COUNT = 14
};

/**
 * enum uma_opcode - operations
 * @UMA_OP_NOP: does nothing; all slots must be unused
 * @UMA_OP_COPY: DST = convert(A). Same dimensions, any strides and types:
 *	this is also layout conversion, dtype conversion, quantisation and
 *	dequantisation
 * @UMA_OP_FILL: DST = the immediate in &struct uma_fill_params
 * @UMA_OP_UNARY: DST = f(A), f given by &enum uma_unary
 * @UMA_OP_BINARY: DST = f(A, B), f given by &enum uma_binary; broadcast is a
 *	zero stride of an input
 * @UMA_OP_GEMM: DST = epilogue(alpha * A x B + beta * C)
 * @UMA_OP_PACK: DST = A rearranged into the layout DST.layout of this engine
 * @UMA_OP_CONV: DST = epilogue(A convolved with B), see &struct uma_conv_params
 * @UMA_OP_ATTENTION: scaled dot-product attention
 * @UMA_OP_ROTARY: rotary position embedding
 * @UMA_OP_NORM: normalisation
 * @UMA_OP_SOFTMAX: softmax and its logarithm
 * @UMA_OP_REDUCE: reduction along dimensions
 * @UMA_OP_POOL: pooling
 * @UMA_OP_RESIZE: resampling
 * @UMA_OP_GATHER: elements by index
 * @UMA_OP_SCATTER: elements to an index
 * @UMA_OP_TOPK: the largest or smallest elements of each row
 * @UMA_OP_SCAN: cumulative sums
 * @UMA_OP_SELECT: DST = A ? B : C
 * @UMA_OP_DYNQUANT: DST = A in bytes, AUX0 = the scales that it takes
 * @UMA_OP_KV_WRITE: rows of A go to slots of DST, the pages of a key-value cache
 * @UMA_OP_COUNT: number of values, for masks and tables
 *
 * A number that a device does not know is a fault.
 */
enum uma_opcode {
	UMA_OP_NOP = 0,
	UMA_OP_COPY = 1,
	UMA_OP_FILL = 2,
	UMA_OP_UNARY = 3,
	UMA_OP_BINARY = 4,
	UMA_OP_GEMM = 5,
	UMA_OP_PACK = 6,
	UMA_OP_CONV = 7,
	UMA_OP_ATTENTION = 8,
	UMA_OP_ROTARY = 9,
	UMA_OP_NORM = 10,
	UMA_OP_SOFTMAX = 11,
	UMA_OP_REDUCE = 12,
	UMA_OP_POOL = 13,
	UMA_OP_RESIZE = 14,
	UMA_OP_GATHER = 15,
	UMA_OP_SCATTER = 16,
	UMA_OP_TOPK = 17,
	UMA_OP_SCAN = 18,
	UMA_OP_SELECT = 19,
	UMA_OP_DYNQUANT = 20,
	UMA_OP_KV_WRITE = 21,
	UMA_OP_COUNT = 22
};

/**
 * enum uma_slot - what the operand slots mean
 * @UMA_SLOT_DST: the result, written
 * @UMA_SLOT_A: first input
 * @UMA_SLOT_B: second input
 * @UMA_SLOT_C: third input, the GEMM's addend
 * @UMA_SLOT_BIAS: epilogue: added; the dimensions of DST, zero strides
 *	broadcast it along rows, columns or batches
 * @UMA_SLOT_SCALE: epilogue: multiplied; broadcast like the bias
 * @UMA_SLOT_RESIDUAL: epilogue: added before or after the activation
 * @UMA_SLOT_AUX0: the opcode says what it is, as for the next four
 * @UMA_SLOT_AUX1: see @UMA_SLOT_AUX0
 * @UMA_SLOT_AUX2: see @UMA_SLOT_AUX0
 * @UMA_SLOT_AUX3: see @UMA_SLOT_AUX0
 * @UMA_SLOT_AUX4: see @UMA_SLOT_AUX0
 */
enum uma_slot {
	UMA_SLOT_DST = 0,
	UMA_SLOT_A = 1,
	UMA_SLOT_B = 2,
	UMA_SLOT_C = 3,
	UMA_SLOT_BIAS = 4,
	UMA_SLOT_SCALE = 5,
	UMA_SLOT_RESIDUAL = 6,
	UMA_SLOT_AUX0 = 7,
	UMA_SLOT_AUX1 = 8,
	UMA_SLOT_AUX2 = 9,
	UMA_SLOT_AUX3 = 10,
	UMA_SLOT_AUX4 = 11
};

/**
 * enum uma_layout - how an operand's elements lie in memory
 * @UMA_LAYOUT_STRIDED: element (i0, i1, ...) at addr + sum(i * stride); 0
 * @UMA_LAYOUT_GEMM_B: the B operand of a GEMM or CONV in the blocked layout of one
 *	engine class, made by UMA_OP_PACK. Opaque but for its size, which
 *	&struct uma_op_cap and uma_task.h's formula give: it starts with
 *	&struct uma_packed_header
 * @UMA_LAYOUT_GEMM_B24: the same of a matrix of which of each four elements
 *	along K, from a multiple of four on, two at most are not zero: only two
 *	are there, and where they were. PACK keeps the two of the largest
 *	magnitude (NaN is larger than all, of equals the first). What is left out
 *	is read as the stored number 0, so there is no zero point
 * @UMA_LAYOUT_COUNT: number of values, for masks and tables
 *
 * A packed operand has its logical dimensions, zero strides, and an address
 * aligned to 64 bytes.
 */
enum uma_layout {
	UMA_LAYOUT_STRIDED = 0,
	UMA_LAYOUT_GEMM_B = 1,
	UMA_LAYOUT_GEMM_B24 = 2,
	UMA_LAYOUT_COUNT = 3
};

/**
 * enum uma_quant - quantisation schemes
 * @UMA_QUANT_NONE: the stored number is the value
 * @UMA_QUANT_TENSOR: value = scale * (stored - zero), one immediate scale and
 *	zero point
 * @UMA_QUANT_CHANNEL: one scale (and optionally zero point) for each index of
 *	dimension @axis, read from tables of dims[axis] entries
 * @UMA_QUANT_GROUP: one scale (and optionally zero point) for each run of
 *	@group indices along @axis. The tables are dense, row-major, and have
 *	the operand's dimensions with dims[axis] replaced by
 *	ceil(dims[axis] / group); see UMA_QUANT_SWAPPED and UMA_QUANT_SHARED
 * @UMA_QUANT_GROUP_MIN: as @UMA_QUANT_GROUP, but value = scale * stored + minimum,
 *	with a table of minima at zero_addr, like that of the scales in type and
 *	shape. Product and sum are binary32, each rounded. B of a GEMM that is not
 *	UMA_LAYOUT_GEMM_B24, and A of COPY and GATHER may have it
 * @UMA_QUANT_COUNT: number of values, for masks and tables
 */
enum uma_quant {
	UMA_QUANT_NONE = 0,
	UMA_QUANT_TENSOR = 1,
	UMA_QUANT_CHANNEL = 2,
	UMA_QUANT_GROUP = 3,
	UMA_QUANT_GROUP_MIN = 4,
	UMA_QUANT_COUNT = 5
};

/**
 * UMA_QUANT_SHARED - group scheme: a dimension counts as 1 in the tables
 * @d: dimension
 *
 * Their entries are the same for all its indices. For operands that are
 * broadcast.
 */
#define UMA_QUANT_SHARED(d)	(1u << (d))
/** UMA_QUANT_SHARED_MASK: the bits of UMA_QUANT_SHARED; those from the rank on must be zero */
#define UMA_QUANT_SHARED_MASK	0x1fu
/**
 * UMA_QUANT_SWAPPED: group scheme, rank 2 and up: the tables lie in memory with
 * the last two dimensions exchanged. For operands that are read transposed
 */
#define UMA_QUANT_SWAPPED	(1u << 8)
/** UMA_QUANT_FLAGS_MASK: the flags that this version defines */
#define UMA_QUANT_FLAGS_MASK	0x11fu

/**
 * struct uma_operand - a tensor in device memory
 */
struct uma_operand {
	/** @addr: device address of element (0, 0, ...); a multiple of the element size */
	__le64 addr;
	/** @dtype: &enum uma_dtype */
	__le16 dtype;
	/** @rank: number of dimensions, 1 to UMA_MAX_RANK */
	__le16 rank;
	/** @layout: &enum uma_layout */
	__le16 layout;
	/** @pad0: must be zero */
	__le16 pad0;
	/** @dims: elements along each dimension; from @rank on zero. A dimension may be 0 */
	__le32 dims[UMA_MAX_RANK];
	/** @pad1: must be zero */
	__le32 pad1;
	/**
	 * @strides: distance in elements between neighbours of a dimension,
	 * two's complement; from @rank on zero. An input may have zero strides
	 * (broadcast); no two elements of an output may share memory
	 */
	__le64 strides[UMA_MAX_RANK];
	/** @quant: &enum uma_quant */
	__le16 quant;
	/** @quant_axis: dimension for channel and group schemes */
	__le16 quant_axis;
	/** @quant_group: group scheme: indices per scale; a power of two from 16 to 4096 */
	__le32 quant_group;
	/** @scale_addr: channel and group schemes: address of the scales, element aligned */
	__le64 scale_addr;
	/**
	 * @zero_addr: channel and group schemes: table of s32 zero points, or 0 for
	 * none; of UMA_QUANT_GROUP_MIN that of the minima
	 */
	__le64 zero_addr;
	/** @scale: tensor scheme: binary32 bits, finite and > 0 */
	__le32 scale;
	/** @zero: tensor scheme: zero point, two's complement, within the range of @dtype */
	__le32 zero;
	/** @scale_dtype: channel and group schemes: UMA_DTYPE_F32 or UMA_DTYPE_F16 */
	__le16 scale_dtype;
	/** @quant_flags: group scheme: UMA_QUANT_SHARED, UMA_QUANT_SWAPPED; else zero */
	__le16 quant_flags;
	/** @pad2: must be zero */
	__le16 pad2[2];
	/** @pad3: must be zero */
	__le64 pad3;
};

/**
 * enum uma_act - activations of the epilogue
 * @UMA_ACT_NONE: x
 * @UMA_ACT_RELU: max(x, 0); NaN stays NaN
 * @UMA_ACT_CLAMP: min(max(x, p0), p1)
 * @UMA_ACT_LEAKY_RELU: x < 0 ? p0 * x : x
 * @UMA_ACT_SIGMOID: 1 / (1 + exp(-x))
 * @UMA_ACT_TANH: tanh(x)
 * @UMA_ACT_GELU: x * Phi(x), exact, through erf
 * @UMA_ACT_GELU_TANH: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
 * @UMA_ACT_SILU: x * sigmoid(x)
 * @UMA_ACT_HARD_SIGMOID: clamp(p0 * x + p1, 0, 1)
 * @UMA_ACT_HARD_SWISH: x * clamp(x / 6 + 0.5, 0, 1)
 * @UMA_ACT_ELU: x < 0 ? p0 (e^x - 1) : x
 * @UMA_ACT_CELU: x < 0 ? p0 (e^(x / p0) - 1) : x; p0 is not 0
 * @UMA_ACT_SELU: p1 x for x > 0, else p1 p0 (e^x - 1)
 * @UMA_ACT_SOFTPLUS: log(1 + e^x)
 * @UMA_ACT_SOFTSIGN: x / (1 + abs(x))
 * @UMA_ACT_MISH: x tanh(softplus(x))
 * @UMA_ACT_COUNT: number of values, for masks and tables
 */
enum uma_act {
	UMA_ACT_NONE = 0,
	UMA_ACT_RELU = 1,
	UMA_ACT_CLAMP = 2,
	UMA_ACT_LEAKY_RELU = 3,
	UMA_ACT_SIGMOID = 4,
	UMA_ACT_TANH = 5,
	UMA_ACT_GELU = 6,
	UMA_ACT_GELU_TANH = 7,
	UMA_ACT_SILU = 8,
	UMA_ACT_HARD_SIGMOID = 9,
	UMA_ACT_HARD_SWISH = 10,
	UMA_ACT_ELU = 11,
	UMA_ACT_CELU = 12,
	UMA_ACT_SELU = 13,
	UMA_ACT_SOFTPLUS = 14,
	UMA_ACT_SOFTSIGN = 15,
	UMA_ACT_MISH = 16,
	UMA_ACT_COUNT = 17
};

/**
 * enum uma_unary - functions of UMA_OP_UNARY
 * @UMA_UNARY_ACT: the activation in the epilogue, nothing else
 * @UMA_UNARY_ABS: magnitude
 * @UMA_UNARY_NEG: negation
 * @UMA_UNARY_SQRT: square root
 * @UMA_UNARY_RSQRT: 1 / sqrt(x)
 * @UMA_UNARY_RECIP: 1 / x
 * @UMA_UNARY_EXP: e^x
 * @UMA_UNARY_LOG: natural logarithm
 * @UMA_UNARY_ERF: error function
 * @UMA_UNARY_SQUARE: x * x
 * @UMA_UNARY_FLOOR: round towards minus infinity
 * @UMA_UNARY_CEIL: round towards plus infinity
 * @UMA_UNARY_ROUND: round to nearest, ties to even
 * @UMA_UNARY_SIN: sine of radians
 * @UMA_UNARY_COS: cosine
 * @UMA_UNARY_TAN: tangent
 * @UMA_UNARY_ASIN: inverse sine
 * @UMA_UNARY_ACOS: inverse cosine
 * @UMA_UNARY_ATAN: inverse tangent
 * @UMA_UNARY_SINH: hyperbolic sine
 * @UMA_UNARY_COSH: hyperbolic cosine
 * @UMA_UNARY_ASINH: inverse hyperbolic sine
 * @UMA_UNARY_ACOSH: inverse hyperbolic cosine
 * @UMA_UNARY_ATANH: inverse hyperbolic tangent
 * @UMA_UNARY_SIGN: -1, 0 or 1; zeros and NaN stay what they are
 * @UMA_UNARY_TRUNC: round towards zero
 * @UMA_UNARY_IS_NAN: 1 for NaN, else 0
 * @UMA_UNARY_IS_INF: 1 for an infinity, else 0
 * @UMA_UNARY_NOT: 1 for a zero, else 0
 * @UMA_UNARY_BIT_NOT: the complement of an integer's bits
 * @UMA_UNARY_COUNT: number of values, for masks and tables
 */
enum uma_unary {
	UMA_UNARY_ACT = 0,
	UMA_UNARY_ABS = 1,
	UMA_UNARY_NEG = 2,
	UMA_UNARY_SQRT = 3,
	UMA_UNARY_RSQRT = 4,
	UMA_UNARY_RECIP = 5,
	UMA_UNARY_EXP = 6,
	UMA_UNARY_LOG = 7,
	UMA_UNARY_ERF = 8,
	UMA_UNARY_SQUARE = 9,
	UMA_UNARY_FLOOR = 10,
	UMA_UNARY_CEIL = 11,
	UMA_UNARY_ROUND = 12,
	UMA_UNARY_SIN = 13,
	UMA_UNARY_COS = 14,
	UMA_UNARY_TAN = 15,
	UMA_UNARY_ASIN = 16,
	UMA_UNARY_ACOS = 17,
	UMA_UNARY_ATAN = 18,
	UMA_UNARY_SINH = 19,
	UMA_UNARY_COSH = 20,
	UMA_UNARY_ASINH = 21,
	UMA_UNARY_ACOSH = 22,
	UMA_UNARY_ATANH = 23,
	UMA_UNARY_SIGN = 24,
	UMA_UNARY_TRUNC = 25,
	UMA_UNARY_IS_NAN = 26,
	UMA_UNARY_IS_INF = 27,
	UMA_UNARY_NOT = 28,
	UMA_UNARY_BIT_NOT = 29,
	UMA_UNARY_COUNT = 30
};

/**
 * enum uma_binary - functions of UMA_OP_BINARY
 * @UMA_BINARY_ADD: a + b
 * @UMA_BINARY_SUB: a - b
 * @UMA_BINARY_MUL: a * b
 * @UMA_BINARY_DIV: a / b; only between floating-point or quantised operands
 * @UMA_BINARY_MAX: the larger; NaN if either is NaN
 * @UMA_BINARY_MIN: the smaller; NaN if either is NaN
 * @UMA_BINARY_MOD: remainder of a / b with the sign of b
 * @UMA_BINARY_REM: remainder of a / b with the sign of a
 * @UMA_BINARY_QUOT: a / b, rounded towards zero
 * @UMA_BINARY_POW: a to the power of b
 * @UMA_BINARY_EQ: 1 if a = b, else 0; so the others
 * @UMA_BINARY_NE: a != b, also if either is NaN
 * @UMA_BINARY_LT: a < b
 * @UMA_BINARY_LE: a <= b
 * @UMA_BINARY_GT: a > b
 * @UMA_BINARY_GE: a >= b
 * @UMA_BINARY_AND: neither is zero
 * @UMA_BINARY_OR: not both are zero
 * @UMA_BINARY_XOR: one of them is zero
 * @UMA_BINARY_BIT_AND: and of the bits of integers
 * @UMA_BINARY_BIT_OR: or of them
 * @UMA_BINARY_BIT_XOR: exclusive or of them
 * @UMA_BINARY_SHL: a shifted b bits to the left
 * @UMA_BINARY_SHR: a shifted b bits to the right
 * @UMA_BINARY_PRELU: a < 0 ? b * a : a
 * @UMA_BINARY_COUNT: number of values, for masks and tables
 *
 * With three s32 operands and no quantisation the result is computed exactly
 * and saturated to s32; in every other case in binary32. Comparisons and logic,
 * which give 0 or 1, compare integers without quantisation as integers. The
 * functions of bits take operands of one integer type, unquantised, and no
 * activation. What is shifted out of the type, or divided by the integer 0, is 0.
 */
enum uma_binary {
	UMA_BINARY_ADD = 0,
	UMA_BINARY_SUB = 1,
	UMA_BINARY_MUL = 2,
	UMA_BINARY_DIV = 3,
	UMA_BINARY_MAX = 4,
	UMA_BINARY_MIN = 5,
	UMA_BINARY_MOD = 6,
	UMA_BINARY_REM = 7,
	UMA_BINARY_QUOT = 8,
	UMA_BINARY_POW = 9,
	UMA_BINARY_EQ = 10,
	UMA_BINARY_NE = 11,
	UMA_BINARY_LT = 12,
	UMA_BINARY_LE = 13,
	UMA_BINARY_GT = 14,
	UMA_BINARY_GE = 15,
	UMA_BINARY_AND = 16,
	UMA_BINARY_OR = 17,
	UMA_BINARY_XOR = 18,
	UMA_BINARY_BIT_AND = 19,
	UMA_BINARY_BIT_OR = 20,
	UMA_BINARY_BIT_XOR = 21,
	UMA_BINARY_SHL = 22,
	UMA_BINARY_SHR = 23,
	UMA_BINARY_PRELU = 24,
	UMA_BINARY_COUNT = 25
};

/** UMA_EPI_BIAS: add the operand in UMA_SLOT_BIAS */
#define UMA_EPI_BIAS		(1u << 0)
/** UMA_EPI_SCALE: multiply by the operand in UMA_SLOT_SCALE, before the bias */
#define UMA_EPI_SCALE		(1u << 1)
/** UMA_EPI_RESIDUAL: add the operand in UMA_SLOT_RESIDUAL before the activation */
#define UMA_EPI_RESIDUAL	(1u << 2)
/** UMA_EPI_RESIDUAL_POST: add it after the activation instead; excludes UMA_EPI_RESIDUAL */
#define UMA_EPI_RESIDUAL_POST	(1u << 3)
/** UMA_EPI_MASK: the flags that this version defines */
#define UMA_EPI_MASK		0xfu

/**
 * struct uma_epilogue - what happens to a result before it is stored
 *
 * In this order, each step rounded to binary32: dequantise the accumulator,
 * alpha and beta of the operation, scale, bias, residual, activation, post
 * residual; then convert, or quantise as the DST operand says (divide by the
 * scale, round to nearest even, add the zero point, saturate).
 *
 * A GEMM or a convolution of integers into an unquantised s32 DST is exact: alpha is 1, beta 0
 * or 1, C, bias and residual are s32, the only activation is ReLU, sums are
 * formed in 64 bit and saturated once, at the store.
 */
struct uma_epilogue {
	/** @flags: UMA_EPI_* */
	__le32 flags;
	/** @act: &enum uma_act */
	__le32 act;
	/** @p0: binary32 bits, first parameter of the activation, else zero */
	__le32 p0;
	/** @p1: binary32 bits, second parameter of the activation, else zero */
	__le32 p1;
	/** @pad: must be zero */
	__le64 pad[6];
};

/** UMA_GEMM_A_GROUP_MAX: largest a_group of &struct uma_gemm_params */
#define UMA_GEMM_A_GROUP_MAX	128u
/** UMA_GEMM_CAP_A_GROUP: bit of &struct uma_op_cap.funcs: a_group may be given */
#define UMA_GEMM_CAP_A_GROUP	(1u << 0)
/** UMA_GEMM_CAP_EXPERTS: bit of &struct uma_op_cap.funcs: UMA_GEMM_EXPERTS may be given */
#define UMA_GEMM_CAP_EXPERTS	(1u << 1)
/** UMA_GEMM_CAP_BF16: bit of &struct uma_op_cap.funcs: UMA_GEMM_BF16 may be given */
#define UMA_GEMM_CAP_BF16	(1u << 2)
/** UMA_GEMM_EXPERTS: rows of A meet matrices of B, as many as UMA_SLOT_AUX0 says */
#define UMA_GEMM_EXPERTS	(1u << 0)
/** UMA_GEMM_BF16: instead of rounding A as a_group says, A and B may be rounded to bf16 */
#define UMA_GEMM_BF16		(1u << 1)
/** UMA_GEMM_FLAGS_MASK: the flags that this version defines */
#define UMA_GEMM_FLAGS_MASK	0x3u
/** UMA_GEMM_EXPERTS_MAX: most matrices of B with UMA_GEMM_EXPERTS */
#define UMA_GEMM_EXPERTS_MAX	1024u

/**
 * struct uma_gemm_params - parameters of UMA_OP_GEMM
 *
 * A is [batch..., M, K], B is [batch..., K, N], C and DST [batch..., M, N], all
 * of one rank from 2 to UMA_MAX_RANK. Transposition and batch broadcast are
 * strides. C is present if and only if @beta is not zero.
 *
 * B of binary16 or bf16 has an A of the same type, or of binary32: then it is widened,
 * which rounds nothing.
 *
 * Channels of A are its rows, channels of B its columns; groups run along K. Where A has
 * channels or groups, or B of a product of bytes has groups or blocks, DST is not exact.
 *
 * With UMA_GEMM_EXPERTS the rank is 3: A is [1, M, K], B [E, K, N], E up to
 * UMA_GEMM_EXPERTS_MAX, C, residual and DST [1, M, N]. UMA_SLOT_AUX0, s32 [E], says how many
 * rows each matrix of B has: matrix e those that follow the rows of the matrices before
 * it. It is read when the task runs. A number below 0 counts as 0, and one that is larger
 * than the rows that are left as those; rows that no matrix has are not written. Bias and
 * scale may be [E, M, N]: row i of matrix e then meets [e, i]. Groups of A do not lie
 * swapped; channels of B are those of all its matrices, each of which begins with a byte.
 */
struct uma_gemm_params {
	/** @alpha: binary32 bits */
	__le32 alpha;
	/** @beta: binary32 bits */
	__le32 beta;
	/**
	 * @a_group: 0; or a power of two from 16 to UMA_GEMM_A_GROUP_MAX: A, of a
	 * floating-point type with B of integers or blocks, is read as what UMA_OP_DYNQUANT,
	 * symmetric and into S8, makes of each run of so many elements along K, times its scale.
	 * With UMA_GEMM_BF16, which needs an @a_group, a device may instead round each element
	 * of A, and each of B, times its scale and with its minimum, to the nearest bf16, ties
	 * to even; which of the two it does may depend on the dimensions
	 */
	__le32 a_group;
	/** @flags: UMA_GEMM_* */
	__le32 flags;
	/** @pad: must be zero */
	__le64 pad[14];
};

/**
 * enum uma_norm - functions of UMA_OP_NORM
 * @UMA_NORM_LAYER: (x - mean) / sqrt(variance + eps), statistics of the line;
 *	the variance is that of all, divided by n
 * @UMA_NORM_RMS: x / sqrt(mean of x^2 + eps)
 * @UMA_NORM_GIVEN: as the first, the mean in UMA_SLOT_AUX0, the variance in
 *	UMA_SLOT_AUX1
 * @UMA_NORM_COUNT: number of values, for masks and tables
 */
enum uma_norm {
	UMA_NORM_LAYER = 0,
	UMA_NORM_RMS = 1,
	UMA_NORM_GIVEN = 2,
	UMA_NORM_COUNT = 3
};

/** UMA_NORM_ADD: what is normalised is A + C, rounded to binary32 */
#define UMA_NORM_ADD		(1u << 0)
/** UMA_NORM_SECOND: AUX2 gets what DST gets, in a type of its own */
#define UMA_NORM_SECOND		(1u << 1)
/** UMA_NORM_SUM: with both: AUX2 gets A + C instead */
#define UMA_NORM_SUM		(1u << 2)
/** UMA_NORM_DYNQUANT: DST is what UMA_OP_DYNQUANT makes of the results, AUX3 its scales */
#define UMA_NORM_DYNQUANT	(1u << 3)
/** UMA_NORM_ASYMMETRIC: with UMA_NORM_DYNQUANT: with zero points, in AUX4 */
#define UMA_NORM_ASYMMETRIC	(1u << 4)
/** UMA_NORM_FLAGS_MASK: the flags that this version defines */
#define UMA_NORM_FLAGS_MASK	0x1fu
/** UMA_NORM_CAP_FLAGS - bits of &struct uma_op_cap.funcs for flags */
#define UMA_NORM_CAP_FLAGS(f)	((__u32)(f) << 8)

/**
 * struct uma_norm_params - parameters of UMA_OP_NORM
 *
 * A, C, AUX0, AUX1, AUX2 and the operands of the epilogue have the dimensions of
 * DST, zero strides of inputs broadcast. A line, for which the statistics are
 * formed, is all elements that differ in the dimensions of @axes only. Gamma and
 * beta are the epilogue's scale and bias. AUX3 and AUX4 are as AUX0 and AUX1 of
 * &struct uma_dynquant_params with the same @axes; DST is S8 or U8 and not
 * quantised then.
 */
struct uma_norm_params {
	/** @func: &enum uma_norm */
	__le32 func;
	/** @axes: mask of dimensions, not 0; with UMA_NORM_GIVEN any */
	__le32 axes;
	/** @eps: binary32 bits, finite, not negative */
	__le32 eps;
	/** @flags: UMA_NORM_*; with UMA_NORM_GIVEN zero */
	__le32 flags;
	/** @pad: must be zero */
	__le64 pad[14];
};

/**
 * enum uma_softmax - functions of UMA_OP_SOFTMAX
 * @UMA_SOFTMAX_PLAIN: e^x / sum of e^x; zeros where all of a line are -infinity
 * @UMA_SOFTMAX_LOG: the logarithm of that, -infinity there
 * @UMA_SOFTMAX_COUNT: number of values, for masks and tables
 */
enum uma_softmax {
	UMA_SOFTMAX_PLAIN = 0,
	UMA_SOFTMAX_LOG = 1,
	UMA_SOFTMAX_COUNT = 2
};

/**
 * struct uma_softmax_params - parameters of UMA_OP_SOFTMAX
 */
struct uma_softmax_params {
	/** @func: &enum uma_softmax */
	__le32 func;
	/** @axis: dimension of the sums */
	__le32 axis;
	/** @pad: must be zero */
	__le64 pad[15];
};

/**
 * enum uma_reduce - functions of UMA_OP_REDUCE
 * @UMA_REDUCE_SUM: sum; 0 of nothing
 * @UMA_REDUCE_MEAN: sum / n; NaN of nothing
 * @UMA_REDUCE_MAX: largest, NaN if there is one, -0 below +0; of nothing
 *	-infinity, or the type's smallest number
 * @UMA_REDUCE_MIN: likewise the smallest
 * @UMA_REDUCE_PROD: product; 1 of nothing
 * @UMA_REDUCE_L1: sum of magnitudes
 * @UMA_REDUCE_L2: square root of the sum of squares
 * @UMA_REDUCE_SUM_SQUARE: sum of squares
 * @UMA_REDUCE_LOG_SUM: log(sum)
 * @UMA_REDUCE_LOG_SUM_EXP: log(sum of e^x), without overflow
 * @UMA_REDUCE_ARG_MAX: index of the largest along one dimension, the first of
 *	equal ones; zeros are equal, a NaN is larger than all numbers
 * @UMA_REDUCE_ARG_MIN: index of the smallest; a NaN is smaller than all numbers
 * @UMA_REDUCE_COUNT: number of values, for masks and tables
 */
enum uma_reduce {
	UMA_REDUCE_SUM = 0,
	UMA_REDUCE_MEAN = 1,
	UMA_REDUCE_MAX = 2,
	UMA_REDUCE_MIN = 3,
	UMA_REDUCE_PROD = 4,
	UMA_REDUCE_L1 = 5,
	UMA_REDUCE_L2 = 6,
	UMA_REDUCE_SUM_SQUARE = 7,
	UMA_REDUCE_LOG_SUM = 8,
	UMA_REDUCE_LOG_SUM_EXP = 9,
	UMA_REDUCE_ARG_MAX = 10,
	UMA_REDUCE_ARG_MIN = 11,
	UMA_REDUCE_COUNT = 12
};

/** UMA_REDUCE_LAST_INDEX: ARG_MAX and ARG_MIN: the last of equal ones */
#define UMA_REDUCE_LAST_INDEX	(1u << 0)

/**
 * struct uma_reduce_params - parameters of UMA_OP_REDUCE
 *
 * DST has the dimensions of A, but 1 for those of @axes. With ARG_MAX and
 * ARG_MIN it is s32, @axes is one dimension and that is not 0. Sum, maximum,
 * minimum, product, L1 and sum of squares of an integer A without quantisation
 * into a DST of that kind are exact and saturate once.
 */
struct uma_reduce_params {
	/** @func: &enum uma_reduce */
	__le32 func;
	/** @axes: mask of dimensions, not 0 */
	__le32 axes;
	/** @flags: UMA_REDUCE_* */
	__le32 flags;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @pad: must be zero */
	__le64 pad[14];
};

/** UMA_DYNQUANT_ASYMMETRIC: with zero points, in AUX1; else 0 is in the middle of the type */
#define UMA_DYNQUANT_ASYMMETRIC		(1u << 0)
/** UMA_DYNQUANT_FLAGS_MASK: the flags that this version defines */
#define UMA_DYNQUANT_FLAGS_MASK		0x1u

/**
 * struct uma_dynquant_params - parameters of UMA_OP_DYNQUANT
 *
 * A is of a floating-point type, DST is S8 or U8 with its dimensions and not
 * quantised; AUX0 is F32 and AUX1 S32, with 1 for the dimensions of @axes. All
 * elements that differ in those alone have one scale and zero point, in
 * binary32, with the extremes max >= 0 >= min of them and the range lo to hi of
 * DST: symmetric, scale = max(max, -min) / 127 and zero = (lo + hi + 1) / 2;
 * asymmetric, scale = (max - min) / 255 and zero = lo - min / scale, rounded to
 * nearest even and saturated. A scale of 0 becomes 1. Then DST = A / scale,
 * rounded to nearest even, plus zero, saturated. A NaN makes the scale NaN.
 */
struct uma_dynquant_params {
	/** @axes: mask of dimensions, not 0 */
	__le32 axes;
	/** @flags: UMA_DYNQUANT_* */
	__le32 flags;
	/** @pad: must be zero */
	__le64 pad[15];
};

/** UMA_TOPK_SMALLEST: the smallest elements, ascending; else the largest, descending */
#define UMA_TOPK_SMALLEST	(1u << 0)
/** UMA_TOPK_FLAGS_MASK: the flags that this version defines */
#define UMA_TOPK_FLAGS_MASK	0x1u

/**
 * struct uma_topk_params - parameters of UMA_OP_TOPK
 *
 * DST has the dimensions of A but k along @axis, at most those of A;
 * UMA_SLOT_AUX0, s32, has the dimensions of DST and gets the index along @axis
 * of each. Of equal elements the one with the lower index comes first; zeros are
 * equal, a NaN is larger than all numbers.
 */
struct uma_topk_params {
	/** @flags: UMA_TOPK_* */
	__le32 flags;
	/** @axis: dimension */
	__le32 axis;
	/** @pad: must be zero */
	__le64 pad[15];
};

/** UMA_SCAN_EXCLUSIVE: the sum of the elements before, without the element itself */
#define UMA_SCAN_EXCLUSIVE	(1u << 0)
/** UMA_SCAN_REVERSE: from the last element on */
#define UMA_SCAN_REVERSE	(1u << 1)
/** UMA_SCAN_FLAGS_MASK: the flags that this version defines */
#define UMA_SCAN_FLAGS_MASK	0x3u

/**
 * struct uma_scan_params - parameters of UMA_OP_SCAN
 *
 * DST = running sums of A along @axis; the dimensions are the same. Of an
 * integer A without quantisation into a DST of that kind they are exact, each
 * saturated by itself.
 */
struct uma_scan_params {
	/** @flags: UMA_SCAN_* */
	__le32 flags;
	/** @axis: dimension */
	__le32 axis;
	/** @pad: must be zero */
	__le64 pad[15];
};

/**
 * struct uma_fill_params - parameters of UMA_OP_FILL
 */
struct uma_fill_params {
	/**
	 * @value: the element's bits, right-aligned; bits above the element's
	 * width must be zero. DST must not be quantised
	 */
	__le32 value;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @pad: must be zero */
	__le64 pad[15];
};

/**
 * struct uma_elementwise_params - parameters of UMA_OP_UNARY and UMA_OP_BINARY
 */
struct uma_elementwise_params {
	/** @func: &enum uma_unary or &enum uma_binary */
	__le32 func;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @pad: must be zero */
	__le64 pad[15];
};

/**
 * struct uma_select_params - parameters of UMA_OP_SELECT
 *
 * DST = A is not zero ? B : C, element by element; NaN is not zero. Where B, C
 * and DST have one type and no quantisation, elements are moved as they are;
 * else they go through binary32.
 */
struct uma_select_params {
	/** @flags: must be zero */
	__le32 flags;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @pad: must be zero */
	__le64 pad[15];
};

/**
 * UMA_ATTN_CAUSAL: a key is seen by queries at its position and after it
 *
 * The flags of &struct uma_attention_params. They are also the features that a
 * capability row lists in its funcs, bit for bit.
 */
#define UMA_ATTN_CAUSAL		(1u << 0)
/** UMA_ATTN_WINDOW: a query sees keys near its position only: window_left, window_right, keep */
#define UMA_ATTN_WINDOW		(1u << 1)
/** UMA_ATTN_OFFSET: q_offset is the position of the first query; else the last are aligned */
#define UMA_ATTN_OFFSET		(1u << 2)
/** UMA_ATTN_SOFTCAP: scores are bounded by softcap */
#define UMA_ATTN_SOFTCAP	(1u << 3)
/** UMA_ATTN_MASK: UMA_SLOT_AUX0 is a mask */
#define UMA_ATTN_MASK		(1u << 4)
/** UMA_ATTN_PAGED: B and C are pools of pages, UMA_SLOT_AUX1 is the page table */
#define UMA_ATTN_PAGED		(1u << 5)
/** UMA_ATTN_LENGTHS: UMA_SLOT_AUX2 has the lengths of the sequences */
#define UMA_ATTN_LENGTHS	(1u << 6)
/** UMA_ATTN_ALIBI: UMA_SLOT_AUX3 has the slopes of linear biases */
#define UMA_ATTN_ALIBI		(1u << 7)
/** UMA_ATTN_SINKS: UMA_SLOT_AUX4 has a sink for each head */
#define UMA_ATTN_SINKS		(1u << 8)
/** UMA_ATTN_RAGGED: the sequences lie one after the other; UMA_SLOT_AUX2 says where */
#define UMA_ATTN_RAGGED		(1u << 9)
/** UMA_ATTN_SPLIT: the keys are cut in pieces, UMA_SLOT_RESIDUAL takes the partial results */
#define UMA_ATTN_SPLIT		(1u << 10)
/** UMA_ATTN_FLAGS_MASK: the flags that this version defines */
#define UMA_ATTN_FLAGS_MASK	0x7ffu

/** UMA_ATTN_LEN_KV: column of the lengths: number of keys */
#define UMA_ATTN_LEN_KV		0
/** UMA_ATTN_LEN_Q: number of queries; without the column all that Q has room for */
#define UMA_ATTN_LEN_Q		1
/** UMA_ATTN_LEN_Q_START: first query of the sequence, with UMA_ATTN_RAGGED */
#define UMA_ATTN_LEN_Q_START	2
/** UMA_ATTN_LEN_KV_START: first key of the sequence, with UMA_ATTN_RAGGED, not paged */
#define UMA_ATTN_LEN_KV_START	3

/** UMA_ATTN_DIM_MAX: largest head dimension, of keys and of values */
#define UMA_ATTN_DIM_MAX	1024
/** UMA_ATTN_KEYS_MAX: most keys of a sequence */
#define UMA_ATTN_KEYS_MAX	0x7fffffff

/** UMA_ATTN_PIECES_MAX: most pieces that the keys are cut in */
#define UMA_ATTN_PIECES_MAX	256

/**
 * struct uma_attention_params - parameters of UMA_OP_ATTENTION
 *
 * For each sequence b, query i and head h, with g = h / (heads / kv_heads)::
 *
 *	s[j] = scale * sum_d Q[b, i, h, d] * K[b, j, g, d]
 *	s[j] = softcap * tanh(s[j] / softcap)		UMA_ATTN_SOFTCAP
 *	s[j] -= slope[b, h] * |p - j|			UMA_ATTN_ALIBI
 *	s[j] += mask[b, h, i, j]			UMA_ATTN_MASK, not boolean
 *	w[j] = e^s[j] / (sum_k e^s[k] + e^sink[h])	e^sink: UMA_ATTN_SINKS
 *	DST[b, i, h, :] = sum_j w[j] * V[b, j, g, :]
 *
 * in binary32, over the keys j that the query sees; the scores are never in
 * memory. A query that sees no key, or only scores of minus infinity, gives
 * zeros; keys that it does not see take no part, whatever K and V hold there.
 *
 * Operands, all of rank 4 unless said otherwise; strides are free::
 *
 *	DST	[batch, queries, heads, v_dim], floating-point, or bytes with one
 *		scale; may be A itself
 *	A	Q: [batch, queries, heads, head_dim], likewise
 *	B	K: [batch, keys, kv_heads, head_dim]; floating-point, or integers
 *		with a quantisation, groups along head_dim
 *	C	V: [batch, keys, kv_heads, v_dim], like K, of any of its types
 *	AUX0	mask: [batch, heads, queries, keys], zero strides broadcast it.
 *		Floating-point: added; U8: 0 hides the key
 *	AUX1	page table: S32 [batch, pages of a sequence]. K and V are then
 *		[pages, page_size, kv_heads, dim]: key j is in page
 *		table[b, j / page_size] at j % page_size. Entries of pages with
 *		no key that a query sees through length, causality and window
 *		are not looked at; others out of range are a fault
 *	AUX2	lengths: S32 [batch] or [batch, columns], UMA_ATTN_LEN_*, 1 or 2
 *		columns. Queries beyond their number give zeros, keys
 *		beyond theirs are not seen. Numbers out of range are a fault
 *	AUX3	slopes: F32 [heads] or [batch, heads]
 *	AUX4	sinks: floating-point [heads]
 *	RESIDUAL partial results: F32 [pieces, first three of DST, v_dim + 2],
 *		rank 5, written
 *
 * "keys" of mask and lengths are those that K has room for: dims[1], or pages
 * of a sequence times page_size; at most UMA_ATTN_KEYS_MAX.
 *
 * Positions: key j is at j, query i at p = q_offset + i with UMA_ATTN_OFFSET,
 * else at p = keys - queries + i by the lengths of the sequence: the last query
 * is at the last key. A query sees j <= p with UMA_ATTN_CAUSAL, and with
 * UMA_ATTN_WINDOW p - window_left <= j <= p + window_right or j < keep.
 *
 * UMA_ATTN_RAGGED: AUX2 has 3 or 4 columns. DST and Q are [1, all queries,
 * ...], sequence b has rows Q_START .. Q_START + LEN_Q, in the order of b and
 * apart; rows of no sequence stay as they were. The fourth column does the same
 * for keys and values, [1, all keys, ...], which may be shared; with 3 columns
 * they are as above. The batch is AUX2's. Mask: [batch, heads, q_max, keys].
 */
struct uma_attention_params {
	/** @flags: UMA_ATTN_* */
	__le32 flags;
	/** @scale: binary32 bits, finite */
	__le32 scale;
	/** @softcap: binary32 bits, finite and > 0 with UMA_ATTN_SOFTCAP, else zero */
	__le32 softcap;
	/** @window_left: keys before its position that a query sees; else zero */
	__le32 window_left;
	/** @window_right: keys after its position that a query sees; else zero */
	__le32 window_right;
	/** @keep: first keys, which the window does not hide; else zero */
	__le32 keep;
	/** @q_offset: two's complement, with UMA_ATTN_OFFSET, else zero */
	__le32 q_offset;
	/** @q_max: with UMA_ATTN_RAGGED: bound of the queries of a sequence, else zero */
	__le32 q_max;
	/** @pad: must be zero */
	__le64 pad[12];
};

/**
 * UMA_ROTARY_INTERLEAVED: the pairs are neighbours; else element i and i + pairs
 *
 * The flags of &struct uma_rotary_params. They are also the features that a
 * capability row lists in its funcs, bit for bit.
 */
#define UMA_ROTARY_INTERLEAVED	(1u << 0)
/** UMA_ROTARY_POSITIONS: UMA_SLOT_AUX0 has the position of each row */
#define UMA_ROTARY_POSITIONS	(1u << 1)
/** UMA_ROTARY_MASK: the flags that this version defines */
#define UMA_ROTARY_MASK		0x3u

/**
 * struct uma_rotary_params - parameters of UMA_OP_ROTARY
 *
 * A and DST are [batch, seq, heads, head_dim], any strides; DST may be A itself.
 * B has cosines, C sines, both [positions, pairs], 2 * pairs <= head_dim. With
 * (a0, a1) a pair of the first 2 * pairs elements of a head, and c and s those
 * of its row's position:
 *
 *	d0 = a0 * c - a1 * s
 *	d1 = a1 * c + a0 * s
 *
 * each step rounded to binary32; the rest of the head is converted like COPY
 * does. AUX0 is S32 [batch, seq]: a number that is not from 0 to positions - 1
 * is a fault in it (UMA_FAULT_RANGE). A and DST have at most one scale.
 */
struct uma_rotary_params {
	/** @flags: UMA_ROTARY_* */
	__le32 flags;
	/** @start: without UMA_ROTARY_POSITIONS: position of the first row, else zero */
	__le32 start;
	/** @pad: must be zero */
	__le64 pad[15];
};

/** UMA_KV_WRITE_QUANTISED: DST is bytes, AUX0 their scales */
#define UMA_KV_WRITE_QUANTISED		(1u << 0)
/** UMA_KV_WRITE_ASYMMETRIC: with UMA_KV_WRITE_QUANTISED: with zero points, in AUX1 */
#define UMA_KV_WRITE_ASYMMETRIC		(1u << 1)
/** UMA_KV_WRITE_FLAGS_MASK: the flags that this version defines */
#define UMA_KV_WRITE_FLAGS_MASK		0x3u
/** UMA_KV_WRITE_SKIP: the slot of a row that goes nowhere */
#define UMA_KV_WRITE_SKIP		(-1)

/**
 * struct uma_kv_write_params - parameters of UMA_OP_KV_WRITE
 *
 * A is [rows, heads, dim], DST [pages, page, heads, dim], AUX2 plain S32 [rows]:
 * the slot of each row, which is place slot % page of page slot / page. A row with
 * the slot UMA_KV_WRITE_SKIP is not written. Any other slot that is not in DST
 * is a fault (UMA_FAULT_RANGE in AUX2, with its address); DST may have been
 * written in part. Of rows with the same slot the last one stays. All else in DST,
 * AUX0 and AUX1 stays as it is. dim is at most UMA_ATTN_DIM_MAX.
 *
 * A is of a floating-point type and not quantised, like DST, which is converted
 * like a copy. With UMA_KV_WRITE_QUANTISED DST is S8 or U8 and not quantised, AUX0
 * F32 or F16 and AUX1 S32 [pages, page, heads, 1]. Then the dim elements of a row
 * and head have the scale, zero point and bytes of &struct uma_dynquant_params,
 * the scale rounded to the type of AUX0 before it is used; one that becomes 0 is 1.
 */
struct uma_kv_write_params {
	/** @flags: UMA_KV_WRITE_* */
	__le32 flags;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @pad: must be zero */
	__le64 pad[15];
};

/**
 * enum uma_gather_func - how UMA_OP_GATHER uses indices
 * @UMA_GATHER_AXIS: DST[i..., j..., k...] = A[i..., B[j...], k...], B[j...] along
 *	params.axis; DST has the dimensions of A with that one replaced by those
 *	of B
 * @UMA_GATHER_ELEMENTS: DST[i...] = A[i... with that of params.axis replaced by
 *	B[i...]]; DST has the dimensions of B, which but for the axis do not
 *	exceed those of A
 * @UMA_GATHER_ND: the last dimension of B is k indices for the dimensions of A
 *	behind the first params.batch ones, which B shares: DST[i..., j..., l...] =
 *	A[i..., B[i..., j..., 0], ..., B[i..., j..., k - 1], l...]
 * @UMA_GATHER_COUNT: number of values, for masks and tables
 */
enum uma_gather_func {
	UMA_GATHER_AXIS = 0,
	UMA_GATHER_ELEMENTS = 1,
	UMA_GATHER_ND = 2,
	UMA_GATHER_COUNT = 3
};

/**
 * struct uma_gather_params - parameters of UMA_OP_GATHER
 *
 * A: the data, B: indices, plain s32, that count from the end where they are
 * negative. An index outside of A is a fault (UMA_FAULT_RANGE in B, with the
 * address of the index); DST may have been written in part. DST is converted
 * like a copy and has no 4-bit type.
 */
struct uma_gather_params {
	/** @func: &enum uma_gather_func */
	__le32 func;
	/** @axis: dimension of A; ND: zero */
	__le32 axis;
	/** @batch: ND: leading dimensions that A and B share; else zero */
	__le32 batch;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @pad: must be zero */
	__le64 pad[14];
};

/**
 * enum uma_scatter_func - how UMA_OP_SCATTER uses indices
 * @UMA_SCATTER_ELEMENTS: C[i...] goes to DST[i... with that of params.axis
 *	replaced by B[i...]]; B and C have the same dimensions, which but for the
 *	axis do not exceed those of DST
 * @UMA_SCATTER_ND: C[j..., l...] goes to DST[B[j..., 0], ..., B[j..., k - 1],
 *	l...], k being the last dimension of B
 * @UMA_SCATTER_COUNT: number of values, for masks and tables
 */
enum uma_scatter_func {
	UMA_SCATTER_ELEMENTS = 0,
	UMA_SCATTER_ND = 1,
	UMA_SCATTER_COUNT = 2
};

/**
 * enum uma_scatter_reduce - what an update does to its element
 * @UMA_SCATTER_PUT: replaces it
 * @UMA_SCATTER_ADD: is added
 * @UMA_SCATTER_MUL: is multiplied
 * @UMA_SCATTER_MAX: the larger of the two; NaN if either is NaN
 * @UMA_SCATTER_MIN: the smaller of the two; NaN if either is NaN
 * @UMA_SCATTER_REDUCE_COUNT: number of values, for masks and tables
 */
enum uma_scatter_reduce {
	UMA_SCATTER_PUT = 0,
	UMA_SCATTER_ADD = 1,
	UMA_SCATTER_MUL = 2,
	UMA_SCATTER_MAX = 3,
	UMA_SCATTER_MIN = 4,
	UMA_SCATTER_REDUCE_COUNT = 5
};

/** UMA_SCATTER_CAP_REDUCE - bit of &struct uma_op_cap.funcs for &enum uma_scatter_reduce */
#define UMA_SCATTER_CAP_REDUCE(r)	(1u << (8 + (r)))

/**
 * struct uma_scatter_params - parameters of UMA_OP_SCATTER
 *
 * DST = A, then C, the updates, at the indices in B; all as of &struct
 * uma_gather_params. A may be DST. Updates of one element take place in the
 * row-major order of B, each rounded and saturated to DST's type before the
 * next; with plain s32 C and DST they are computed exactly, else in binary32.
 */
struct uma_scatter_params {
	/** @func: &enum uma_scatter_func */
	__le32 func;
	/** @axis: dimension of DST; ND: zero */
	__le32 axis;
	/** @reduce: &enum uma_scatter_reduce */
	__le32 reduce;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @pad: must be zero */
	__le64 pad[14];
};

/**
 * enum uma_pool_func - what UMA_OP_POOL makes of a window
 * @UMA_POOL_MAX: its largest element; NaN if there is one; -infinity of none
 * @UMA_POOL_AVERAGE: sum divided by the number of elements; 0 of none
 * @UMA_POOL_LP: (sum of abs(x)^norm)^(1 / norm)
 * @UMA_POOL_COUNT: number of values, for masks and tables
 */
enum uma_pool_func {
	UMA_POOL_MAX = 0,
	UMA_POOL_AVERAGE = 1,
	UMA_POOL_LP = 2,
	UMA_POOL_COUNT = 3
};

/** UMA_POOL_CEIL: a last window that is not whole counts, unless it starts in the padding behind */
#define UMA_POOL_CEIL		(1u << 0)
/** UMA_POOL_COUNT_PAD: averages: positions in the padding count, as zeros */
#define UMA_POOL_COUNT_PAD	(1u << 1)
/** UMA_POOL_FLAGS_MASK: the flags that this version defines */
#define UMA_POOL_FLAGS_MASK	0x3u
/** UMA_POOL_SPATIAL: most dimensions of a window */
#define UMA_POOL_SPATIAL	3
/** UMA_POOL_LIMIT: largest kernel, stride, dilation, padding; a window: 2^31 positions at most */
#define UMA_POOL_LIMIT		(1u << 24)
/** UMA_POOL_NORM_MAX: largest norm */
#define UMA_POOL_NORM_MAX	16

/**
 * struct uma_pool_params - parameters of UMA_OP_POOL
 *
 * A and DST are [N, C, spatial...]; NHWC is a matter of strides. Along spatial
 * dimension i output o has the positions o * stride[i] - pad_begin[i] + k *
 * dilation[i], k < kernel[i]; those outside of A have no part in it. DST has
 * floor((in + pad_begin + pad_end - dilation * (kernel - 1) - 1) / stride) + 1
 * elements, or one more with UMA_POOL_CEIL. Types are the floating ones and
 * those of 8 bits, quantised by tensor or not at all. Sums are formed in
 * binary32 in the row-major order of the window.
 */
struct uma_pool_params {
	/** @func: &enum uma_pool_func */
	__le32 func;
	/** @flags: UMA_POOL_* */
	__le32 flags;
	/** @norm: LP: 1 to UMA_POOL_NORM_MAX; else zero */
	__le32 norm;
	/** @spatial: dimensions of a window, 1 to UMA_POOL_SPATIAL; zeros follow for others */
	__le32 spatial;
	/** @kernel: positions in a window */
	__le32 kernel[UMA_POOL_SPATIAL];
	/** @stride: distance of windows */
	__le32 stride[UMA_POOL_SPATIAL];
	/** @dilation: distance of positions */
	__le32 dilation[UMA_POOL_SPATIAL];
	/** @pad_begin: positions before the first element */
	__le32 pad_begin[UMA_POOL_SPATIAL];
	/** @pad_end: positions behind the last element */
	__le32 pad_end[UMA_POOL_SPATIAL];
	/** @pad: must be zero */
	__le32 pad[13];
};

/**
 * enum uma_resize_func - how UMA_OP_RESIZE samples
 * @UMA_RESIZE_NEAREST: the element that params.nearest says
 * @UMA_RESIZE_LINEAR: between the two neighbours along each dimension
 * @UMA_RESIZE_CUBIC: cubic convolution over four neighbours
 * @UMA_RESIZE_COUNT: number of values, for masks and tables
 */
enum uma_resize_func {
	UMA_RESIZE_NEAREST = 0,
	UMA_RESIZE_LINEAR = 1,
	UMA_RESIZE_CUBIC = 2,
	UMA_RESIZE_COUNT = 3
};

/**
 * enum uma_nearest - which element is the nearest
 * @UMA_NEAREST_HALF_DOWN: of two that are as near the lower
 * @UMA_NEAREST_HALF_UP: of two that are as near the upper
 * @UMA_NEAREST_FLOOR: always the lower
 * @UMA_NEAREST_CEIL: always the upper
 * @UMA_NEAREST_COUNT: number of values, for masks and tables
 */
enum uma_nearest {
	UMA_NEAREST_HALF_DOWN = 0,
	UMA_NEAREST_HALF_UP = 1,
	UMA_NEAREST_FLOOR = 2,
	UMA_NEAREST_CEIL = 3,
	UMA_NEAREST_COUNT = 4
};

/** UMA_RESIZE_EXCLUDE: CUBIC: neighbours outside of A weigh 0, the others' weights sum to 1 */
#define UMA_RESIZE_EXCLUDE	(1u << 0)
/** UMA_RESIZE_FLAGS_MASK: the flags that this version defines */
#define UMA_RESIZE_FLAGS_MASK	0x1u
/** UMA_RESIZE_LIMIT: largest numerator and denominator */
#define UMA_RESIZE_LIMIT	(1u << 30)
/** UMA_RESIZE_OFF_MAX: largest magnitude of an offset */
#define UMA_RESIZE_OFF_MAX	(1LL << 61)

/**
 * struct uma_resize_params - parameters of UMA_OP_RESIZE
 *
 * Along dimension i element o of DST is at (o * num[i] + off[i]) / den[i] of A,
 * exactly. With num = den = 1 and off = 0 the dimensions are the same; LINEAR
 * and CUBIC may have three dimensions that are otherwise. Beyond the edge of A
 * its edge is repeated. Quantised by tensor or not at all, no 4-bit types.
 */
struct uma_resize_params {
	/** @func: &enum uma_resize_func */
	__le32 func;
	/** @flags: UMA_RESIZE_* */
	__le32 flags;
	/** @nearest: NEAREST: &enum uma_nearest; else zero */
	__le32 nearest;
	/** @cubic: CUBIC: binary32 bits of the kernel's parameter, finite; else zero */
	__le32 cubic;
	/** @num: numerators; from the rank on zero */
	__le32 num[UMA_MAX_RANK];
	/** @den: denominators, from 1; from the rank on zero */
	__le32 den[UMA_MAX_RANK];
	/** @off: offsets, two's complement; from the rank on zero */
	__le64 off[UMA_MAX_RANK];
	/** @pad: must be zero */
	__le64 pad[4];
};

/**
 * enum uma_conv_func - how UMA_OP_CONV forms its sums
 * @UMA_CONV_DIRECT: tap by tap
 * @UMA_CONV_IMPLICIT: as a GEMM whose left matrix is gathered block by block;
 * @UMA_CONV_WINOGRAD_2: Winograd's F(2 x 2, 3 x 3): B has been transformed
 * @UMA_CONV_WINOGRAD_4: F(4 x 4, 3 x 3)
 * @UMA_CONV_WINOGRAD_6: F(6 x 6, 3 x 3)
 * @UMA_CONV_COUNT: number of values, for masks and tables
 *
 * Padding counts as zeros that are multiplied, or is left out. Integers come out the
 * same whichever it is.
 */
enum uma_conv_func {
	UMA_CONV_DIRECT = 0,
	UMA_CONV_IMPLICIT = 1,
	UMA_CONV_WINOGRAD_2 = 2,
	UMA_CONV_WINOGRAD_4 = 3,
	UMA_CONV_WINOGRAD_6 = 4,
	UMA_CONV_COUNT = 5
};

/** UMA_CONV_TRANSPOSED: input i meets tap k at output i * stride + k * dilation - pad */
#define UMA_CONV_TRANSPOSED	(1u << 0)
/** UMA_CONV_FLAGS_MASK: the flags that this version defines */
#define UMA_CONV_FLAGS_MASK	0x1u
/** UMA_CONV_STEP_MAX: largest stride, and largest dilation */
#define UMA_CONV_STEP_MAX	65536u
/** UMA_CONV_PAD_MAX: largest padding */
#define UMA_CONV_PAD_MAX	65536u

/** UMA_CONV_CAP_DILATION: bit of &struct uma_op_cap.funcs: Winograd's may have dilation */
#define UMA_CONV_CAP_DILATION	(1u << 8)

/**
 * struct uma_conv_params - parameters of UMA_OP_CONV
 *
 * All operands have rank 4, or all rank 3: then there is one spatial dimension
 * and the second number of each pair below is zero. A is [images, C, height,
 * width], DST [images, M, height, width]; other orders in memory are strides. B
 * is [M, C / groups, height, width], transposed [C, M / groups, height, width].
 * Group g of the channels of DST sees group g of those of A alone. Output o meets
 * tap k at input o * stride + k * dilation - pad; inputs that there are not
 * count as zero, a quantised A's zero point. How much padding there is behind the
 * input follows from the dimensions of DST, which may be any.
 *
 * Sums run over taps, and within a tap over channels. Types are those of
 * UMA_OP_GEMM. B may have a scale for each output channel: quant_axis is 0,
 * transposed 1; group schemes are not for convolutions. Scale, bias and residual
 * have the dimensions of DST.
 *
 * With UMA_LAYOUT_GEMM_B the dimensions of B are [height, width, C, M], a matrix for
 * each tap, and quant_axis is the last one; that is for one group, not transposed.
 * B of Winograd's functions keeps its dimensions.
 *
 * Winograd's functions F(m x m, 3 x 3) are for rank 4, one group, strides of 1, no flags, and
 * floating-point A; dilation needs UMA_CONV_CAP_DILATION. B is binary32 [m + 2, m + 2, C,
 * M]: G g G' for each kernel g, with the matrices of A. Lavin and S. Gray, "Fast
 * Algorithms for Convolutional Neural Networks", for m of 2 and 4, and for 6 those
 * of the points 0, 1, -1, 2, -2, 1/2, -1/2 and infinity in this order.
 */
struct uma_conv_params {
	/** @func: &enum uma_conv_func */
	__le32 func;
	/** @flags: UMA_CONV_* */
	__le32 flags;
	/** @groups: at least 1 */
	__le32 groups;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @stride: distance of windows, 1 to UMA_CONV_STEP_MAX */
	__le32 stride[2];
	/** @dilation: distance of taps, 1 to UMA_CONV_STEP_MAX */
	__le32 dilation[2];
	/** @pad: zeros before the input, at most UMA_CONV_PAD_MAX */
	__le32 pad[2];
	/** @pad1: must be zero */
	__le64 pad1[11];
};

/** UMA_PARAMS_SIZE: bytes of parameters in a task */
#define UMA_PARAMS_SIZE		256

/**
 * UMA_TASK_DYNAMIC: the dimensions are read from memory when the task runs
 *
 * @shape_addr then names an array of __le32 [UMA_TASK_SLOTS][UMA_MAX_RANK];
 * those of the slots in use replace the descriptor's, and must not exceed them.
 * Only engines with UMA_ENGINE_DYNAMIC_SHAPES take such a task.
 */
#define UMA_TASK_DYNAMIC	(1u << 0)
/**
 * UMA_TASK_LENGTH: with UMA_TASK_DYNAMIC: one number is read, not a table
 *
 * @shape_addr then names one __le32, which takes the place of the dimensions that
 * @length_dims marks and must not exceed any of them. It may be 0. Only engines with
 * UMA_ENGINE_LENGTHS take such a task.
 */
#define UMA_TASK_LENGTH		(1u << 1)
/** UMA_TASK_FLAGS_MASK: the flags that this version defines */
#define UMA_TASK_FLAGS_MASK	0x3u

/**
 * struct uma_task - one operation
 */
struct uma_task {
	/** @version: UMA_TASK_VERSION */
	__le16 version;
	/** @opcode: &enum uma_opcode */
	__le16 opcode;
	/** @flags: UMA_TASK_* */
	__le32 flags;
	/** @slots: mask of the operand slots in use, bit (1 << &enum uma_slot) */
	__le32 slots;
	/** @pad0: must be zero */
	__le32 pad0;
	/** @cookie: any value; the device ignores it, tools show it */
	__le64 cookie;
	/** @shape_addr: with UMA_TASK_DYNAMIC: device address of the dimensions, 4-byte aligned */
	__le64 shape_addr;
	/**
	 * @length_dims: with UMA_TASK_LENGTH: mask of the dimensions of each slot that the
	 * number replaces, at least one; else zero
	 */
	__u8 length_dims[UMA_TASK_SLOTS];
	/** @pad3: must be zero */
	__le32 pad3;
	/** @pad1: must be zero */
	__le64 pad1[10];
	/** @params: struct uma_*_params of the opcode, the rest zero */
	__u8 params[UMA_PARAMS_SIZE];
	/** @epilogue: what happens before the store; zero: nothing */
	struct uma_epilogue epilogue;
	/** @pad2: must be zero */
	__le64 pad2[8];
	/** @op: the operands; slots not in @slots must be zero */
	struct uma_operand op[UMA_TASK_SLOTS];
};

/**
 * struct uma_task_stamp - when a task ran
 *
 * The device writes one for each task of a job that asks for them, as soon as
 * the task has ended; one that faulted, or did not begin, has none. Before that
 * it may write down when the job made room in the middle of the task. Ticks of
 * the device's timestamp counter.
 */
struct uma_task_stamp {
	/** @start: when the task began */
	__le64 start;
	/** @end: when it ended */
	__le64 end;
};

/** UMA_PACKED_MAGIC: first word of a packed operand: "UMAP" */
#define UMA_PACKED_MAGIC	0x50414d55u
/** UMA_PACKED_VERSION: version of the packed layouts of this header */
#define UMA_PACKED_VERSION	1

/**
 * struct uma_packed_header - the first 64 bytes of a packed operand
 *
 * Written by UMA_OP_PACK, checked by every task that uses the operand. The
 * payload follows; for UMA_LAYOUT_GEMM_B each matrix of the batch is
 * roundup(K, block_k) * roundup(N, block_n) elements (4-bit: half as many
 * bytes), padded to 64 bytes, quantisation tables not included. For
 * UMA_LAYOUT_GEMM_B24 it is roundup(N, block_n) / block_n panels, each of
 * roundup(roundup(K, 4) / 2, block_k) * block_n elements and of
 * roundup(roundup(K, 4) / 4 * block_n / 2, 64) bytes of positions.
 */
struct uma_packed_header {
	/** @magic: UMA_PACKED_MAGIC */
	__le32 magic;
	/** @version: UMA_PACKED_VERSION */
	__le16 version;
	/** @layout: &enum uma_layout */
	__le16 layout;
	/** @engine_class: &enum uma_engine_class that it was made for */
	__le16 engine_class;
	/** @dtype: &enum uma_dtype */
	__le16 dtype;
	/** @block_k: block size along K in elements */
	__le16 block_k;
	/** @block_n: block size along N in elements */
	__le16 block_n;
	/** @dims: logical dimensions */
	__le32 dims[UMA_MAX_RANK];
	/** @rank: number of dimensions */
	__le32 rank;
	/** @pad: zero */
	__le64 pad[3];
};

/**
 * enum uma_engine_class - kinds of engine
 * @UMA_ENGINE_MATRIX: matrix unit: the GEMM family
 * @UMA_ENGINE_GPU: everything, throughput
 * @UMA_ENGINE_NEURAL: inference in fp16, int8 and 4-bit weights
 * @UMA_ENGINE_CLASS_COUNT: number of values, for masks and tables
 */
enum uma_engine_class {
	UMA_ENGINE_MATRIX = 0,
	UMA_ENGINE_GPU = 1,
	UMA_ENGINE_NEURAL = 2,
	UMA_ENGINE_CLASS_COUNT = 3
};

/** UMA_ENGINE_DYNAMIC_SHAPES: the engine takes tasks with UMA_TASK_DYNAMIC */
#define UMA_ENGINE_DYNAMIC_SHAPES	(1u << 0)
/**
 * UMA_ENGINE_PREEMPT: the engine can be stopped between two tiles of a task, and go on there
 *
 * A tile is a part of a task that the device cuts, of some ten thousand elements. It is larger
 * where one result depends on more: a sum over all of a tensor is one tile.
 */
#define UMA_ENGINE_PREEMPT		(1u << 1)
/** UMA_ENGINE_LENGTHS: the engine takes tasks with UMA_TASK_LENGTH */
#define UMA_ENGINE_LENGTHS		(1u << 2)

/**
 * struct uma_op_cap - one row of what an engine can do
 *
 * A task is supported if some row of its engine has its opcode and function,
 * each operand's type in the masks, the scheme of each quantised operand in
 * @quants, its epilogue in @epilogue and @acts, and no dimension above
 * @dim_max. C, bias, scale and residual may have any type that A or DST may
 * have, and binary32, unless the opcode says otherwise; it also says which
 * slots beyond A, B and DST are judged like B, and which have types of their
 * own. The rows are read from capability registers and returned by the query
 * unchanged.
 */
struct uma_op_cap {
	/** @opcode: &enum uma_opcode */
	__le16 opcode;
	/** @rank_max: largest rank */
	__u8 rank_max;
	/** @layouts: mask of &enum uma_layout that the B operand (PACK: DST) may have */
	__u8 layouts;
	/** @a_dtypes: mask of &enum uma_dtype for A */
	__le32 a_dtypes;
	/** @b_dtypes: mask for B; zero if the opcode has no B */
	__le32 b_dtypes;
	/** @d_dtypes: mask for DST */
	__le32 d_dtypes;
	/**
	 * @funcs: mask of &enum uma_unary, &enum uma_binary, or of what else
	 * the opcode's parameters call functions or features; else zero
	 */
	__le32 funcs;
	/**
	 * @quants: mask of &enum uma_quant that operands may have, in bits 0-7
	 * for A, 8-15 for B, 16-23 for DST, 24-31 for C, bias, scale, residual
	 */
	__le32 quants;
	/** @epilogue: mask of UMA_EPI_* */
	__le32 epilogue;
	/** @acts: mask of &enum uma_act */
	__le32 acts;
	/** @dim_max: largest dimension */
	__le32 dim_max;
	/** @k_max: largest length of a sum, where the opcode has one; else zero */
	__le32 k_max;
	/** @align: alignment in bytes of operands' addresses, beside the element's own */
	__le32 align;
	/** @block_k: packed layout: block size along K */
	__le16 block_k;
	/** @block_n: packed layout: block size along N */
	__le16 block_n;
	/** @macs_per_cycle: peak multiply-adds (GEMM) or elements a cycle, modelled */
	__le32 macs_per_cycle;
	/** @pad: zero */
	__le32 pad[3];
};

/**
 * enum uma_fault - why a task or a job faulted
 * @UMA_FAULT_NONE: it did not
 * @UMA_FAULT_VERSION: unknown descriptor version
 * @UMA_FAULT_OPCODE: unknown opcode
 * @UMA_FAULT_FLAGS: unknown flag or mask bit
 * @UMA_FAULT_PAD: a pad or an unused field is not zero
 * @UMA_FAULT_SLOT: an operand is missing, or present and not used
 * @UMA_FAULT_DTYPE: unknown type, or one that does not fit the others
 * @UMA_FAULT_RANK: rank out of range, or ranks that do not match
 * @UMA_FAULT_DIMS: dimensions out of range, or that do not match
 * @UMA_FAULT_STRIDES: strides out of range, or an output that overlaps itself
 * @UMA_FAULT_LAYOUT: unknown layout, or one made for another engine or shape
 * @UMA_FAULT_QUANT: bad quantisation
 * @UMA_FAULT_EPILOGUE: bad epilogue
 * @UMA_FAULT_PARAMS: bad parameter of the opcode
 * @UMA_FAULT_ALIGN: a misaligned address
 * @UMA_FAULT_RANGE: an operand wraps or leaves the address width, or an index in
 *	memory is outside the table that it is for
 * @UMA_FAULT_OVERLAP: the output overlaps an input other than in place
 * @UMA_FAULT_UNSUPPORTED: valid, but not on this engine
 * @UMA_FAULT_READ: nothing mapped, or not readable, at the address
 * @UMA_FAULT_WRITE: nothing mapped, or not writable, at the address
 * @UMA_FAULT_TABLE: malformed page-table entry
 * @UMA_FAULT_BUS: the page table leads outside memory
 * @UMA_FAULT_ABORT: stopped by a reset
 * @UMA_FAULT_STALE: paranoid mode: a TLB entry differs from the page table
 * @UMA_FAULT_RING: malformed ring entry
 * @UMA_FAULT_INTERNAL: the device failed
 * @UMA_FAULT_COUNT: number of values, for tables
 */
enum uma_fault {
	UMA_FAULT_NONE = 0,
	UMA_FAULT_VERSION = 1,
	UMA_FAULT_OPCODE = 2,
	UMA_FAULT_FLAGS = 3,
	UMA_FAULT_PAD = 4,
	UMA_FAULT_SLOT = 5,
	UMA_FAULT_DTYPE = 6,
	UMA_FAULT_RANK = 7,
	UMA_FAULT_DIMS = 8,
	UMA_FAULT_STRIDES = 9,
	UMA_FAULT_LAYOUT = 10,
	UMA_FAULT_QUANT = 11,
	UMA_FAULT_EPILOGUE = 12,
	UMA_FAULT_PARAMS = 13,
	UMA_FAULT_ALIGN = 14,
	UMA_FAULT_RANGE = 15,
	UMA_FAULT_OVERLAP = 16,
	UMA_FAULT_UNSUPPORTED = 17,
	UMA_FAULT_READ = 18,
	UMA_FAULT_WRITE = 19,
	UMA_FAULT_TABLE = 20,
	UMA_FAULT_BUS = 21,
	UMA_FAULT_ABORT = 22,
	UMA_FAULT_STALE = 23,
	UMA_FAULT_RING = 24,
	UMA_FAULT_INTERNAL = 25,
	UMA_FAULT_COUNT = 26
};

/** UMA_FAULT_NO_SLOT: the fault is not in an operand */
#define UMA_FAULT_NO_SLOT	0xffu

#if defined(__cplusplus)
}
#endif

#endif /* _UMA_TASK_H_ */
