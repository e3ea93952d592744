/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operations: copy, fill, functions of one and of two operands, selection.
 */
#ifndef ACCEL_OPS_ELEMENTWISE_H
#define ACCEL_OPS_ELEMENTWISE_H

#include <stdint.h>
#include <accel/desc.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * enum accel_unary - functions of &struct accel_unary_desc
 * @ACCEL_UNARY_ACT: the activation in the epilogue and nothing else
 * @ACCEL_UNARY_ABS: magnitude
 * @ACCEL_UNARY_NEG: negation
 * @ACCEL_UNARY_SQRT: square root
 * @ACCEL_UNARY_RSQRT: 1 / sqrt(x)
 * @ACCEL_UNARY_RECIP: 1 / x
 * @ACCEL_UNARY_EXP: e^x
 * @ACCEL_UNARY_LOG: natural logarithm
 * @ACCEL_UNARY_ERF: error function
 * @ACCEL_UNARY_SQUARE: x * x
 * @ACCEL_UNARY_FLOOR: towards minus infinity
 * @ACCEL_UNARY_CEIL: towards plus infinity
 * @ACCEL_UNARY_ROUND: to nearest, ties to even
 * @ACCEL_UNARY_SIN: sine of radians
 * @ACCEL_UNARY_COS: cosine
 * @ACCEL_UNARY_TAN: tangent
 * @ACCEL_UNARY_ASIN: inverse sine
 * @ACCEL_UNARY_ACOS: inverse cosine
 * @ACCEL_UNARY_ATAN: inverse tangent
 * @ACCEL_UNARY_SINH: hyperbolic sine
 * @ACCEL_UNARY_COSH: hyperbolic cosine
 * @ACCEL_UNARY_ASINH: inverse hyperbolic sine
 * @ACCEL_UNARY_ACOSH: inverse hyperbolic cosine
 * @ACCEL_UNARY_ATANH: inverse hyperbolic tangent
 * @ACCEL_UNARY_SIGN: -1, 0 or 1; zeros and NaN are not changed
 * @ACCEL_UNARY_TRUNC: round towards zero
 * @ACCEL_UNARY_IS_NAN: 1 for NaN, else 0
 * @ACCEL_UNARY_IS_INF: 1 for an infinity, else 0
 * @ACCEL_UNARY_NOT: 1 for a zero, else 0
 * @ACCEL_UNARY_BIT_NOT: the complement of an integer's bits
 * @ACCEL_UNARY_COUNT: number of values
 */
enum accel_unary {
	ACCEL_UNARY_ACT = 0,
	ACCEL_UNARY_ABS = 1,
	ACCEL_UNARY_NEG = 2,
	ACCEL_UNARY_SQRT = 3,
	ACCEL_UNARY_RSQRT = 4,
	ACCEL_UNARY_RECIP = 5,
	ACCEL_UNARY_EXP = 6,
	ACCEL_UNARY_LOG = 7,
	ACCEL_UNARY_ERF = 8,
	ACCEL_UNARY_SQUARE = 9,
	ACCEL_UNARY_FLOOR = 10,
	ACCEL_UNARY_CEIL = 11,
	ACCEL_UNARY_ROUND = 12,
	ACCEL_UNARY_SIN = 13,
	ACCEL_UNARY_COS = 14,
	ACCEL_UNARY_TAN = 15,
	ACCEL_UNARY_ASIN = 16,
	ACCEL_UNARY_ACOS = 17,
	ACCEL_UNARY_ATAN = 18,
	ACCEL_UNARY_SINH = 19,
	ACCEL_UNARY_COSH = 20,
	ACCEL_UNARY_ASINH = 21,
	ACCEL_UNARY_ACOSH = 22,
	ACCEL_UNARY_ATANH = 23,
	ACCEL_UNARY_SIGN = 24,
	ACCEL_UNARY_TRUNC = 25,
	ACCEL_UNARY_IS_NAN = 26,
	ACCEL_UNARY_IS_INF = 27,
	ACCEL_UNARY_NOT = 28,
	ACCEL_UNARY_BIT_NOT = 29,
	ACCEL_UNARY_COUNT = 30
};

/**
 * enum accel_binary - functions of &struct accel_binary_desc
 * @ACCEL_BINARY_ADD: a + b
 * @ACCEL_BINARY_SUB: a - b
 * @ACCEL_BINARY_MUL: a * b
 * @ACCEL_BINARY_DIV: a / b
 * @ACCEL_BINARY_MAX: the larger
 * @ACCEL_BINARY_MIN: the smaller
 * @ACCEL_BINARY_MOD: remainder of a / b with the sign of b
 * @ACCEL_BINARY_REM: remainder of a / b with the sign of a
 * @ACCEL_BINARY_QUOT: a / b, rounded towards zero
 * @ACCEL_BINARY_POW: a to the power of b
 * @ACCEL_BINARY_EQ: 1 if a = b, else 0, as for the next functions
 * @ACCEL_BINARY_NE: a != b, also if either is NaN
 * @ACCEL_BINARY_LT: a < b
 * @ACCEL_BINARY_LE: a <= b
 * @ACCEL_BINARY_GT: a > b
 * @ACCEL_BINARY_GE: a >= b
 * @ACCEL_BINARY_AND: neither is zero
 * @ACCEL_BINARY_OR: not both are zero
 * @ACCEL_BINARY_XOR: exactly one of them is zero
 * @ACCEL_BINARY_BIT_AND: bitwise and of integers
 * @ACCEL_BINARY_BIT_OR: bitwise or of integers
 * @ACCEL_BINARY_BIT_XOR: bitwise exclusive or of integers
 * @ACCEL_BINARY_SHL: a shifted b bits to the left
 * @ACCEL_BINARY_SHR: a shifted b bits to the right
 * @ACCEL_BINARY_PRELU: a < 0 ? b * a : a
 * @ACCEL_BINARY_COUNT: number of values
 */
enum accel_binary {
	ACCEL_BINARY_ADD = 0,
	ACCEL_BINARY_SUB = 1,
	ACCEL_BINARY_MUL = 2,
	ACCEL_BINARY_DIV = 3,
	ACCEL_BINARY_MAX = 4,
	ACCEL_BINARY_MIN = 5,
	ACCEL_BINARY_MOD = 6,
	ACCEL_BINARY_REM = 7,
	ACCEL_BINARY_QUOT = 8,
	ACCEL_BINARY_POW = 9,
	ACCEL_BINARY_EQ = 10,
	ACCEL_BINARY_NE = 11,
	ACCEL_BINARY_LT = 12,
	ACCEL_BINARY_LE = 13,
	ACCEL_BINARY_GT = 14,
	ACCEL_BINARY_GE = 15,
	ACCEL_BINARY_AND = 16,
	ACCEL_BINARY_OR = 17,
	ACCEL_BINARY_XOR = 18,
	ACCEL_BINARY_BIT_AND = 19,
	ACCEL_BINARY_BIT_OR = 20,
	ACCEL_BINARY_BIT_XOR = 21,
	ACCEL_BINARY_SHL = 22,
	ACCEL_BINARY_SHR = 23,
	ACCEL_BINARY_PRELU = 24,
	ACCEL_BINARY_COUNT = 25
};

/**
 * accel_unary_name - name of a function of one operand: "act", "abs", "sqrt"
 * @func: &enum accel_unary
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_unary_name(uint32_t func);

/**
 * accel_binary_name - name of a function of two operands: "add", "max"
 * @func: &enum accel_binary
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_binary_name(uint32_t func);

/**
 * struct accel_copy_desc - D = A, converted: types, layout, quantisation
 *
 * The dimensions of A broadcast to those of D.
 */
struct accel_copy_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_COPY_DESC_INIT: default descriptor */
#define ACCEL_COPY_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_copy_desc, ACCEL_OP_COPY), ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT }

/**
 * struct accel_fill_desc - D = value, converted to D's type (rounded to nearest
 * even, saturated)
 */
struct accel_fill_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @value: constant */
	double value;
	/** @d: result, not quantised */
	struct accel_tensor d;
};

/** ACCEL_FILL_DESC_INIT: default descriptor */
#define ACCEL_FILL_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_fill_desc, ACCEL_OP_FILL), 0, ACCEL_TENSOR_INIT }

/**
 * struct accel_unary_desc - D = epilogue(f(A)), elementwise
 *
 * The dimensions of A broadcast to those of D. The epilogue may have an
 * activation only.
 */
struct accel_unary_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_unary */
	uint32_t func;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result; may be A itself */
	struct accel_tensor d;
	/** @epilogue: what follows */
	struct accel_epilogue epilogue;
};

/** ACCEL_UNARY_DESC_INIT: default descriptor */
#define ACCEL_UNARY_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_unary_desc, ACCEL_OP_UNARY), 0, 0, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_EPILOGUE_INIT }

/**
 * struct accel_binary_desc - D = epilogue(f(A, B)), elementwise
 *
 * The dimensions of A and B broadcast to those of D. The epilogue may have an activation
 * only. If all three tensors are unquantised int32, the result is exact, with saturation;
 * then the activation must be none or ReLU, and ACCEL_BINARY_DIV is not supported.
 * Comparisons and logic give 0 or 1 in any type, and compare unquantised integers as
 * integers. Bitwise functions require unquantised integers of one type, and no activation.
 */
struct accel_binary_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_binary */
	uint32_t func;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: first input */
	struct accel_tensor a;
	/** @b: second input */
	struct accel_tensor b;
	/** @d: result; may be A or B itself */
	struct accel_tensor d;
	/** @epilogue: what follows */
	struct accel_epilogue epilogue;
};

/** ACCEL_BINARY_DESC_INIT: default descriptor */
#define ACCEL_BINARY_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_binary_desc, ACCEL_OP_BINARY), 0, 0, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_EPILOGUE_INIT }

/**
 * struct accel_select_desc - D = A is not zero ? B : C, elementwise
 *
 * The dimensions of A, B and C broadcast to those of D. NaN is not zero. If B, C and D have
 * the same type and no quantisation, elements are copied unchanged; else they are converted,
 * through binary32.
 */
struct accel_select_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @a: condition */
	struct accel_tensor a;
	/** @b: selected where the condition is not zero */
	struct accel_tensor b;
	/** @c: selected where it is zero */
	struct accel_tensor c;
	/** @d: result; may be A, B or C itself */
	struct accel_tensor d;
};

/** ACCEL_SELECT_DESC_INIT: default descriptor */
#define ACCEL_SELECT_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_select_desc, ACCEL_OP_SELECT), ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_OPS_ELEMENTWISE_H */
