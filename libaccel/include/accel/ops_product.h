/* SPDX-License-Identifier: MIT */
/*
 * Operations that multiply matrices: GEMM, convolution, feed-forward network.
 */
#ifndef ACCEL_OPS_PRODUCT_H
#define ACCEL_OPS_PRODUCT_H

#include <stdint.h>
#include <accel/desc.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** ACCEL_GEMM_TRANS_A: A is stored [..., K, M] */
#define ACCEL_GEMM_TRANS_A	(1u << 0)
/** ACCEL_GEMM_TRANS_B: B is stored [..., N, K] */
#define ACCEL_GEMM_TRANS_B	(1u << 1)
/** ACCEL_GEMM_ALPHA: @alpha is set; else 1 */
#define ACCEL_GEMM_ALPHA	(1u << 2)
/**
 * ACCEL_GEMM_PACK_B: B is constant: the plan packs it into the engine's layout when it is
 * created, from the tensor's buffer, and never reads it again
 */
#define ACCEL_GEMM_PACK_B	(1u << 3)
/**
 * ACCEL_GEMM_SPARSE_B: with ACCEL_GEMM_PACK_B: B is 2:4 sparse: of each four elements along
 * K, starting at multiples of four, at most two are not zero, see accel_prune24(). Engines
 * that have a layout for this store half of them; on others B is packed as a dense matrix,
 * with the same result. B must not have zero points
 */
#define ACCEL_GEMM_SPARSE_B	(1u << 4)
/**
 * ACCEL_GEMM_BF16: with @a_group: A and the values of B may be rounded to bf16 instead, see
 * there. A permission: engines that make no use of it ignore it
 */
#define ACCEL_GEMM_BF16		(1u << 5)

/**
 * struct accel_gemm_desc - D = epilogue(alpha * A x B + beta * C)
 *
 * A is [..., M, K], B [..., K, N], C and D [..., M, N], with ranks of at least 2. The leading
 * dimensions are batches and are broadcast to those of D. As in numpy, A or B of rank 1 is a
 * vector [K], and D and its addends have no dimension M, or N; for two vectors D is [1].
 * Types:
 *
 *	A		B			D
 *	F32		F32, F16, BF16		F32, F16, BF16
 *	F16		F16			F16, F32
 *	BF16		BF16			BF16, F32
 *	S8, U8		S8, U8, S4, U4		S32 exact; F32, F16, BF16 scaled; S8, U8
 *	F32, F16, BF16	S8, S4, U4 quantised	type of A, F32
 *	F32, F16, BF16	Q8_0, Q4_0, Q4_1, ...	type of A, F32; B is not packed
 *	S8, U8		Q8_0, Q4_0, Q4_1, ...	F32, F16, BF16; S8, U8; B is not packed
 *
 * A of 8-bit integers may have a scale for each row (ACCEL_QUANT_CHANNEL with axis M), or for
 * each row and group along K (ACCEL_QUANT_GROUP), as DYNQUANT computes; B one for each
 * column, or for each column and group along K.
 *
 * With @a_group a floating-point A that is multiplied with integers or blocks is quantised on
 * the fly, like by DYNQUANT: of each group of so many elements along K the largest becomes
 * 127. The product is computed with the dequantised values. This is 2 to 10 times faster; the
 * error of each element is up to 1/254 of the largest element of its group. 0 does not round.
 * With ACCEL_GEMM_BF16 an engine may instead round each element of A, and each value of B, to
 * the nearest bf16, an error of at most 1/256 of itself: the kernels of the in-process device
 * do so for many rows where AMX multiplies bf16 several times faster than bytes in groups. In a
 * context with ACCEL_CTX_REPRODUCIBLE the flag has no effect.
 *
 * With @rows (mixture of experts) B is a stack of E matrices, [E, K, N], and each of them is
 * multiplied with consecutive rows of A, [M, K]: D[i] = A[i] x B[e], where e is the matrix of
 * row i. @rows has the number of rows of each matrix and is read when the operation runs, so
 * that the same job can be used with another table. A negative number counts as 0, a number
 * above the rows that are left as those; rows of D without a matrix are not written. Matrices
 * without rows are not read. In the epilogue, scale and bias may be [E, 1, N], one for each
 * matrix; other addends have the dimensions of D, [M, N].
 */
struct accel_gemm_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_GEMM_* */
	uint32_t flags;
	/** @alpha: factor of the product, with ACCEL_GEMM_ALPHA */
	float alpha;
	/** @beta: factor of C; C is read only if it is not 0 */
	float beta;
	/** @a_group: size along K of the groups of A that are quantised: 16, 32, 64, 128; or 0 */
	uint32_t a_group;
	/** @a: left matrix */
	struct accel_tensor a;
	/** @b: right matrix */
	struct accel_tensor b;
	/** @c: addend; rank 0: the previous contents of D, if beta is not 0 */
	struct accel_tensor c;
	/** @d: result */
	struct accel_tensor d;
	/** @epilogue: what follows */
	struct accel_epilogue epilogue;
	/**
	 * @rows: ACCEL_S32 [E]: number of rows of A for each matrix of B, ACCEL_ARG_AUX0;
	 * rank 0: A and B are multiplied batch by batch
	 */
	struct accel_tensor rows;
};

/** ACCEL_GEMM_DESC_INIT: default descriptor */
#define ACCEL_GEMM_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_gemm_desc, ACCEL_OP_GEMM), 0, 0, 0, 0, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_EPILOGUE_INIT, ACCEL_TENSOR_INIT }

/**
 * enum accel_conv_algorithm - algorithms for convolutions
 * @ACCEL_CONV_AUTO: the fastest that is supported
 * @ACCEL_CONV_DIRECT: tap by tap
 * @ACCEL_CONV_IMPLICIT: implicit GEMM: its left matrix is formed block by block
 * @ACCEL_CONV_GEMM: as a GEMM, for kernels of 1 by 1
 * @ACCEL_CONV_WINOGRAD_2: Winograd's F(2x2, 3x3): 2.25 times fewer products
 * @ACCEL_CONV_WINOGRAD_4: F(4x4, 3x3): 4 times fewer
 * @ACCEL_CONV_WINOGRAD_6: F(6x6, 3x3): 5.1 times fewer; fp32 only
 * @ACCEL_CONV_ALGORITHM_COUNT: number of values
 *
 * Winograd's algorithms are for kernels of 3 by 3, strides of 1, any dilation, one group,
 * floating-point tensors and constant weights (ACCEL_CONV_PACK_B), which are transformed
 * once, when the plan is created. They are less exact than the others; ACCEL_CONV_AUTO uses
 * them only with ACCEL_CONV_WINOGRAD.
 *
 * Integer results are the same with all algorithms; others differ within the bounds of
 * Documentation/numerics.rst.
 */
enum accel_conv_algorithm {
	ACCEL_CONV_AUTO = 0,
	ACCEL_CONV_DIRECT = 1,
	ACCEL_CONV_IMPLICIT = 2,
	ACCEL_CONV_GEMM = 3,
	ACCEL_CONV_WINOGRAD_2 = 4,
	ACCEL_CONV_WINOGRAD_4 = 5,
	ACCEL_CONV_WINOGRAD_6 = 6,
	ACCEL_CONV_ALGORITHM_COUNT = 7
};

/**
 * accel_conv_algorithm_name - name of an algorithm: "auto", "direct", "implicit GEMM"
 * @algorithm: &enum accel_conv_algorithm
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_conv_algorithm_name(uint32_t algorithm);

/** ACCEL_CONV_NHWC: A and D are [N, height, width, C], or [N, width, C] */
#define ACCEL_CONV_NHWC		(1u << 0)
/** ACCEL_CONV_TRANSPOSED: the transposed convolution */
#define ACCEL_CONV_TRANSPOSED	(1u << 1)
/**
 * ACCEL_CONV_PACK_B: the weights are constant: the plan packs them for the engine and the
 * algorithm when it is created, from the tensor's buffer, and never reads them again
 */
#define ACCEL_CONV_PACK_B	(1u << 2)
/**
 * ACCEL_CONV_WINOGRAD: with ACCEL_CONV_AUTO: use F(2x2, 3x3) or F(4x4, 3x3) where that is
 * faster; F(6x6, 3x3) must be requested by name
 */
#define ACCEL_CONV_WINOGRAD	(1u << 3)

/**
 * struct accel_conv_desc - D = epilogue(A convolved with B)
 *
 * In two dimensions A is [N, C, height, width], D [N, M, height, width] and B [M, C / groups,
 * height, width]; in one dimension there is no height. For another order in memory set
 * strides, or ACCEL_CONV_NHWC for A, D and tensors that are broadcast to D. With
 * ACCEL_CONV_TRANSPOSED B is [C, M / groups, height, width]. Output channels of a group
 * depend on the input channels of the same group; groups = C is a depthwise convolution, with
 * M / C filters for each channel.
 *
 * A vector in the epilogue (bias, scale) has an element for each channel of D, even if
 * channels are not the last dimension; other shapes are broadcast as usual. So a batch
 * normalisation can be a scale and a bias: accel_fold_batch_norm().
 *
 * For each dimension D has floor((A + pad_before + pad_after - (B - 1) dilation - 1) /
 * stride) + 1 elements. Transposed: (A - 1) stride + (B - 1) dilation + 1 - pad_before -
 * pad_after, plus an output padding at the end, which must be less than the larger of stride
 * and dilation.
 *
 * Types are those of &struct accel_gemm_desc. Integer weights may have a scale for each
 * output channel, that is, along dimension 0, or, transposed, dimension 1 (the same for all
 * groups), but no scales by group.
 */
struct accel_conv_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_CONV_* */
	uint32_t flags;
	/** @algorithm: &enum accel_conv_algorithm */
	uint32_t algorithm;
	/** @groups: groups of channels, 0 for 1 */
	uint32_t groups;
	/** @pad: 0 */
	uint32_t pad;
	/** @stride: stride of the windows for each spatial dimension, 0 for 1, up to 65536 */
	uint32_t stride[2];
	/** @dilation: distance between taps, 0 for 1, up to 65536 */
	uint32_t dilation[2];
	/** @pad_before: zeros before the first input, up to 65536 */
	uint32_t pad_before[2];
	/** @pad_after: zeros after the last input, up to 65536 */
	uint32_t pad_after[2];
	/** @a: input */
	struct accel_tensor a;
	/** @b: weights */
	struct accel_tensor b;
	/** @d: result */
	struct accel_tensor d;
	/** @epilogue: what follows */
	struct accel_epilogue epilogue;
};

/** ACCEL_CONV_DESC_INIT: default descriptor */
#define ACCEL_CONV_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_conv_desc, ACCEL_OP_CONV), 0, 0, 0, 0, { 0 }, { 0 }, \
	  { 0 }, { 0 }, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_EPILOGUE_INIT }

/**
 * struct accel_batch_norm - parameters of a trained batch normalisation
 */
struct accel_batch_norm {
	/** @size: sizeof(struct accel_batch_norm) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/** @channels: number of elements of each array */
	uint32_t channels;
	/** @epsilon: added to the variances */
	float epsilon;
	/** @gamma: factors, or NULL for 1 */
	const float *gamma;
	/** @beta: addends, or NULL for 0 */
	const float *beta;
	/** @mean: means */
	const float *mean;
	/** @var: variances */
	const float *var;
	/** @bias: bias of the preceding convolution, or NULL */
	const float *bias;
};

/**
 * accel_fold_batch_norm - convert a batch normalisation to scale and bias of an epilogue
 * @bn: normalisation of x + @bn->bias: gamma (x + bias - mean) / sqrt(var + epsilon) + beta
 * @scale: out: gamma / sqrt(var + epsilon) for each channel
 * @bias: out: (bias - mean) scale + beta for each channel
 *
 * Computed in binary64 and rounded once. As vectors of the channels in &struct accel_epilogue
 * they cost next to nothing; weights do not change, even if they are quantised.
 *
 * Return: 0; -EINVAL size, flags, no means or variances, epsilon not finite, a
 * variance that is not above -epsilon: nothing has been written.
 */
ACCEL_API int accel_fold_batch_norm(const struct accel_batch_norm *bn, float *scale,
				    float *bias);

/** ACCEL_FFN_TRANS: weights are stored transposed: up and gate [H, K], down [N, H] */
#define ACCEL_FFN_TRANS		(1u << 0)
/**
 * ACCEL_FFN_PACK: weights are constant: the plan packs them into the engine's layout when it
 * is created, and never reads them again
 */
#define ACCEL_FFN_PACK		(1u << 1)

/**
 * struct accel_ffn_desc - feed-forward network of a transformer, as one operation
 *
 *	plain	H = act(A x up + up_bias)
 *	gated	H = (A x up + up_bias) * act(A x gate + gate_bias)
 *	both	D = H x down + down_bias + residual
 *
 * This takes two to four tasks, with H in a workspace of the job. Tensors, leading dimensions
 * and types are those of &struct accel_gemm_desc:
 *
 *	a		ACCEL_ARG_A	[..., M, K]
 *	up		ACCEL_ARG_B	[..., K, H], also quantised to 8 or 4 bits
 *	gate		ACCEL_ARG_C	likewise; rank 0: plain
 *	down		ACCEL_ARG_AUX0	[..., H, N]
 *	up_bias		ACCEL_ARG_AUX1	broadcast to [..., M, H]; rank 0: none
 *	gate_bias	ACCEL_ARG_AUX2	likewise
 *	down_bias	ACCEL_ARG_BIAS	broadcast to D; rank 0: none
 *	residual	ACCEL_ARG_RESIDUAL broadcast to D; rank 0: none
 *	d		ACCEL_ARG_D	[..., M, N]; may be the residual itself
 *
 * H, and both factors of a gated H, are rounded to the hidden type; the factors of an integer
 * H to the type of A, or F16.
 */
struct accel_ffn_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_FFN_* */
	uint32_t flags;
	/** @act: &enum accel_act */
	uint32_t act;
	/** @p0: first parameter of the activation */
	float p0;
	/** @p1: second parameter of the activation */
	float p1;
	/**
	 * @hidden_dtype: type of H: floating-point, or ACCEL_S8, ACCEL_U8 for
	 * weights of 8 bits; 0: that of A, ACCEL_F16 where A is an integer
	 */
	uint32_t hidden_dtype;
	/** @hidden_scale: ACCEL_S8, ACCEL_U8: scale of H, else 0 */
	float hidden_scale;
	/** @hidden_zero: ACCEL_S8, ACCEL_U8: zero point of H, else 0 */
	int32_t hidden_zero;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: input */
	struct accel_tensor a;
	/** @up: weights of the first product */
	struct accel_tensor up;
	/** @gate: weights of the gate */
	struct accel_tensor gate;
	/** @down: weights of the last product */
	struct accel_tensor down;
	/** @up_bias: added to the first product */
	struct accel_tensor up_bias;
	/** @gate_bias: added to the product of the gate, before the activation */
	struct accel_tensor gate_bias;
	/** @down_bias: added to the last product */
	struct accel_tensor down_bias;
	/** @residual: added to the last product */
	struct accel_tensor residual;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_FFN_DESC_INIT: default descriptor */
#define ACCEL_FFN_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_ffn_desc, ACCEL_OP_FFN), 0, 0, 0, 0, 0, 0, 0, 0, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT }

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_OPS_PRODUCT_H */
