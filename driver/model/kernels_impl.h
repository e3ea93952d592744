/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The inner kernels in portable C with vector extensions.
 *
 * This is compiled once for each instruction set by a small .c file that
 * defines UMA_KERNELS (the function to export) and UMA_KERNELS_NAME; the
 * vector length depends on the compiler's target.
 *
 * No contraction: only UMA_FMA is a fused multiply-add, so that the results of
 * all sets are the same bit for bit, except for gemm_f32.
 */
#include "uma_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#define UMA_VL		16
#elif defined(__AVX2__)
#define UMA_VL		8
#else
#define UMA_VL		4
#endif

#define UMA_INLINE	static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(4 * UMA_VL)));
typedef __s32 vi __attribute__((vector_size(4 * UMA_VL)));
typedef __u32 vu __attribute__((vector_size(4 * UMA_VL)));
typedef __s16 vs __attribute__((vector_size(4 * UMA_VL)));
typedef __u16 vh __attribute__((vector_size(2 * UMA_VL)));
typedef __s8 vsb __attribute__((vector_size(UMA_VL)));
typedef __u8 vub __attribute__((vector_size(UMA_VL)));

#if UMA_VL == 16
#define VALL(s)	{ s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s }
#elif UMA_VL == 8
#define VALL(s)	{ s, s, s, s, s, s, s, s }
#else
#define VALL(s)	{ s, s, s, s }
#endif

UMA_INLINE vf vf_all(float s)
{
	return (vf)VALL(s);
}

UMA_INLINE vi vi_all(__s32 s)
{
	return (vi)VALL(s);
}

UMA_INLINE float bits_f32(__u32 bits)
{
	float f;

	__builtin_memcpy(&f, &bits, 4);
	return f;
}

#define VLOAD(type, p) \
	({ type v_; __builtin_memcpy(&v_, (p), sizeof(v_)); v_; })
#define VSTORE(p, v) \
	do { __typeof__(v) v_ = (v); __builtin_memcpy((p), &v_, sizeof(v_)); } while (0)

/* Lanes of a where the mask is set, else of b. */
UMA_INLINE vf vsel(vi mask, vf a, vf b)
{
	return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}

UMA_INLINE vf vabs(vf x)
{
	return (vf)((vi)x & 0x7fffffff);
}

UMA_INLINE vi vsign(vf x)
{
	return (vi)x & (__s32)0x80000000;
}

/* a * b + c with one rounding where the target has it, else with two. */
#if UMA_VL == 16
#define UMA_FMA(a, b, c)	((vf)__builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4))
#elif UMA_VL == 8 && defined(__FMA__)
#define UMA_FMA(a, b, c)	((vf)__builtin_ia32_vfmaddps256(a, b, c))
#elif defined(__aarch64__)
UMA_INLINE vf uma_fma_neon(vf a, vf b, vf c)
{
	__asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(c) : "w"(a), "w"(b));
	return c;
}

#define UMA_FMA(a, b, c)	uma_fma_neon(a, b, c)
#else
#define UMA_FMA(a, b, c)	((a) * (b) + (c))
#endif

UMA_INLINE vf vsqrt(vf x)
{
#if defined(__x86_64__) && UMA_VL == 4
	__asm__("sqrtps %1, %0" : "=x"(x) : "x"(x));
#elif defined(__x86_64__)
	__asm__("vsqrtps %1, %0" : "=v"(x) : "v"(x));
#elif defined(__aarch64__)
	__asm__("fsqrt %0.4s, %1.4s" : "=w"(x) : "w"(x));
#else
#error "no vector square root for this architecture"
#endif
	return x;
}

/* To the nearest integer, ties to even, in binary32; keeps the sign of zero. */
UMA_INLINE vf vrint(vf x)
{
	vf magic = (vf)(vsign(x) | (__s32)0x4b000000);
	vf r = (x + magic) - magic;

	r = (vf)(((vi)r & 0x7fffffff) | vsign(x));
	return vsel(vabs(x) < 0x1p23f, r, x);
}

/*
 * y[i] = expr of vector x for a whole row; the tail is padded to a vector, so that
 * every element takes the same path.
 */
#define MAP_ROW(n, src, dst, expr) do {					\
	__u32 i_ = 0;							\
	for (; i_ + UMA_VL <= (n); i_ += UMA_VL) {			\
		vf x = VLOAD(vf, (src) + i_);				\
		VSTORE((dst) + i_, (expr));				\
	}								\
	if (i_ < (n)) {							\
		/* Pad with an element of the row: others may be special. */ \
		vf x = vf_all((src)[i_]);				\
		__builtin_memcpy(&x, (src) + i_, 4 * ((n) - i_));	\
		x = (expr);						\
		__builtin_memcpy((dst) + i_, &x, 4 * ((n) - i_));	\
	}								\
} while (0)

#include "kernels_convert.h"
#include "kernels_blocks.h"
#include "kernels_math.h"
#include "kernels_f64.h"
#include "kernels_lines.h"
#include "kernels_soft.h"
#include "kernels_gemm.h"

static const struct uma_kernels kernels = {
	.name = UMA_KERNELS_NAME,
	.nr = NR,
	.sum = sum_line,
	.fold = fold_line,
	.widen = widen_line,
	.narrow = narrow_line,
	.affine = affine_line,
	.exp_below = exp_line,
	.scan = scan_line,
	.to_f32 = {
		[UMA_DTYPE_F32] = f32_to_f32,
		[UMA_DTYPE_F16] = f16_to_f32,
		[UMA_DTYPE_BF16] = bf16_to_f32,
		[UMA_DTYPE_S32] = s32_to_f32,
		[UMA_DTYPE_S8] = s8_to_f32,
		[UMA_DTYPE_U8] = u8_to_f32,
		[UMA_DTYPE_Q8_0] = q8_0_to_f32,
		[UMA_DTYPE_Q4_0] = q4_0_to_f32,
		[UMA_DTYPE_Q4_1] = q4_1_to_f32,
		[UMA_DTYPE_Q4_K] = q4_k_to_f32,
		[UMA_DTYPE_Q6_K] = q6_k_to_f32,
	},
	.from_f32 = {
		[UMA_DTYPE_F32] = f32_from_f32,
		[UMA_DTYPE_F16] = f16_from_f32,
		[UMA_DTYPE_BF16] = bf16_from_f32,
	},
	.dequant = dequant,
	.add = add,
	.quant = quant,
	.s64_to_f32 = s64_to_f32,
	.fill = fill,
	.scale = scale_row,
	.axpy = axpy_row,
	.binary = {
		[UMA_BINARY_ADD] = binary_add,
		[UMA_BINARY_SUB] = binary_sub,
		[UMA_BINARY_MUL] = binary_mul,
		[UMA_BINARY_DIV] = binary_div,
		[UMA_BINARY_MAX] = binary_max,
		[UMA_BINARY_MIN] = binary_min,
		[UMA_BINARY_MOD] = binary_mod,
		[UMA_BINARY_REM] = binary_rem,
		[UMA_BINARY_QUOT] = binary_quot,
		[UMA_BINARY_POW] = binary_pow,
		[UMA_BINARY_EQ] = binary_eq,
		[UMA_BINARY_NE] = binary_ne,
		[UMA_BINARY_LT] = binary_lt,
		[UMA_BINARY_LE] = binary_le,
		[UMA_BINARY_GT] = binary_gt,
		[UMA_BINARY_GE] = binary_ge,
		[UMA_BINARY_AND] = binary_and,
		[UMA_BINARY_OR] = binary_or,
		[UMA_BINARY_XOR] = binary_xor,
		[UMA_BINARY_PRELU] = binary_prelu,
	},
	.unary = {
		[UMA_UNARY_ABS] = unary_abs,
		[UMA_UNARY_NEG] = unary_neg,
		[UMA_UNARY_SQRT] = unary_sqrt,
		[UMA_UNARY_RSQRT] = unary_rsqrt,
		[UMA_UNARY_RECIP] = unary_recip,
		[UMA_UNARY_EXP] = unary_exp,
		[UMA_UNARY_LOG] = unary_log,
		[UMA_UNARY_ERF] = unary_erf,
		[UMA_UNARY_SQUARE] = unary_square,
		[UMA_UNARY_FLOOR] = unary_floor,
		[UMA_UNARY_CEIL] = unary_ceil,
		[UMA_UNARY_ROUND] = unary_round,
		[UMA_UNARY_SIN] = unary_sin,
		[UMA_UNARY_COS] = unary_cos,
		[UMA_UNARY_TAN] = unary_tan,
		[UMA_UNARY_ASIN] = unary_asin,
		[UMA_UNARY_ACOS] = unary_acos,
		[UMA_UNARY_ATAN] = unary_atan,
		[UMA_UNARY_SINH] = unary_sinh,
		[UMA_UNARY_COSH] = unary_cosh,
		[UMA_UNARY_ASINH] = unary_asinh,
		[UMA_UNARY_ACOSH] = unary_acosh,
		[UMA_UNARY_ATANH] = unary_atanh,
		[UMA_UNARY_SIGN] = unary_sign,
		[UMA_UNARY_TRUNC] = unary_trunc,
		[UMA_UNARY_IS_NAN] = unary_is_nan,
		[UMA_UNARY_IS_INF] = unary_is_inf,
		[UMA_UNARY_NOT] = unary_not,
	},
	.act = {
		[UMA_ACT_RELU] = act_relu,
		[UMA_ACT_CLAMP] = act_clamp,
		[UMA_ACT_LEAKY_RELU] = act_leaky_relu,
		[UMA_ACT_SIGMOID] = act_sigmoid,
		[UMA_ACT_TANH] = act_tanh,
		[UMA_ACT_GELU] = act_gelu,
		[UMA_ACT_GELU_TANH] = act_gelu_tanh,
		[UMA_ACT_SILU] = act_silu,
		[UMA_ACT_HARD_SIGMOID] = act_hard_sigmoid,
		[UMA_ACT_HARD_SWISH] = act_hard_swish,
		[UMA_ACT_ELU] = act_elu,
		[UMA_ACT_CELU] = act_celu,
		[UMA_ACT_SELU] = act_selu,
		[UMA_ACT_SOFTPLUS] = act_softplus,
		[UMA_ACT_SOFTSIGN] = act_softsign,
		[UMA_ACT_MISH] = act_mish,
	},
	.soft_row = soft_row,
	.gemm_f32 = gemm_f32,
	.gemm_s16 = gemm_s16,
};

const struct uma_kernels *UMA_KERNELS(void)
{
	return &kernels;
}
