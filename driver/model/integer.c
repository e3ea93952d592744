// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Exact functions of rows of integers, whose results binary32 would round */
#include "uma_internal.h"

#define S32_MAX_S64	0x7fffffffLL
#define S32_MIN_S64	(-0x80000000LL)

/*
 * a to the power of b. Results beyond s32 are not exact, since the store saturates
 * them. 0 to a negative power is the largest s32.
 */
static __s64 power(__s64 a, __s64 b)
{
	__s64 r = 1, i;

	if (a == 1 || !b)
		return 1;
	if (a == -1)
		return b & 1 ? -1 : 1;
	if (!a)
		return b < 0 ? S32_MAX_S64 : 0;
	if (b < 0)
		return 0;
	/* |a| > 1: at most 32 products until |r| exceeds s32. */
	for (i = 0; i < b && r <= S32_MAX_S64 && r >= S32_MIN_S64; i++)
		r *= a;
	if (i < b && (b & 1) != (i & 1) && a < 0)
		r = -r;
	return r;
}

/* Remainder with the sign of a; 0 for division by 0 */
static __s64 rest(__s64 a, __s64 b)
{
	return b ? a % b : 0;
}

static __s64 floor_rest(__s64 a, __s64 b)
{
	__s64 r = rest(a, b);

	return r && (r < 0) != (b < 0) ? r + b : r;
}

/* Truncate to the width of a type. */
static __s64 wrap(__s64 v, __u32 dtype)
{
	switch (dtype) {
	case UMA_DTYPE_S8:
		return (__s8)v;
	case UMA_DTYPE_U8:
		return (__u8)v;
	case UMA_DTYPE_S4:
		return ((v & 15) ^ 8) - 8;
	case UMA_DTYPE_U4:
		return v & 15;
	default:
		return (__s32)v;
	}
}

/* Shifting by the width or more, or by a negative number, shifts all bits out. */
static __s64 shift(__s64 a, __s64 b, int left)
{
	if (b < 0 || b > 31)
		return !left && a < 0 ? -1 : 0;
	return left ? (__s64)((__u64)a << b) : a >> b;
}

static __s64 binary(__u32 func, __s64 a, __s64 b)
{
	switch (func) {
	case UMA_BINARY_ADD:
		return a + b;
	case UMA_BINARY_SUB:
		return a - b;
	case UMA_BINARY_MUL:
		return a * b;
	case UMA_BINARY_MAX:
		return UMA_MAX(a, b);
	case UMA_BINARY_MIN:
		return UMA_MIN(a, b);
	case UMA_BINARY_MOD:
		return floor_rest(a, b);
	case UMA_BINARY_REM:
		return rest(a, b);
	case UMA_BINARY_QUOT:
		return b ? a / b : 0;
	case UMA_BINARY_POW:
		return power(a, b);
	case UMA_BINARY_EQ:
		return a == b;
	case UMA_BINARY_NE:
		return a != b;
	case UMA_BINARY_LT:
		return a < b;
	case UMA_BINARY_LE:
		return a <= b;
	case UMA_BINARY_GT:
		return a > b;
	case UMA_BINARY_GE:
		return a >= b;
	case UMA_BINARY_AND:
		return a && b;
	case UMA_BINARY_OR:
		return a || b;
	case UMA_BINARY_XOR:
		return !a != !b;
	case UMA_BINARY_BIT_AND:
		return a & b;
	case UMA_BINARY_BIT_OR:
		return a | b;
	case UMA_BINARY_BIT_XOR:
		return a ^ b;
	case UMA_BINARY_SHL:
		return shift(a, b, 1);
	case UMA_BINARY_SHR:
		return shift(a, b, 0);
	default:
		return a < 0 ? b * a : a;
	}
}

/*
 * uma_integer_binary - dst[i] = f(a[i], b[i])
 * @func: &enum uma_binary, not UMA_BINARY_DIV
 * @dtype: type of the operands, for bitwise functions
 * @dst: results, not saturated
 * @a: first operand
 * @b: second operand
 * @n: number of elements
 */
void uma_integer_binary(__u32 func, __u32 dtype, __s64 *dst, const __s32 *a,
			const __s32 *b, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		dst[i] = binary(func, a[i], b[i]);
	if (func >= UMA_BINARY_BIT_AND && func <= UMA_BINARY_SHR)
		for (i = 0; i < n; i++)
			dst[i] = wrap(dst[i], dtype);
}

/*
 * uma_integer_unary - dst[i] = f(a[i])
 * @func: UMA_UNARY_ABS, NEG, SQUARE, SIGN, NOT or BIT_NOT
 * @dtype: type of the operand, for UMA_UNARY_BIT_NOT
 * @dst: results, not saturated
 * @a: operand
 * @n: number of elements
 */
void uma_integer_unary(__u32 func, __u32 dtype, __s64 *dst, const __s32 *a, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++) {
		__s64 v = a[i];

		switch (func) {
		case UMA_UNARY_ABS:
			dst[i] = v < 0 ? -v : v;
			break;
		case UMA_UNARY_NEG:
			dst[i] = -v;
			break;
		case UMA_UNARY_SQUARE:
			dst[i] = v * v;
			break;
		case UMA_UNARY_SIGN:
			dst[i] = (v > 0) - (v < 0);
			break;
		case UMA_UNARY_NOT:
			dst[i] = !v;
			break;
		default:
			dst[i] = wrap(~v, dtype);
			break;
		}
	}
}
