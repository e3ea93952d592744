// SPDX-License-Identifier: MIT
/*
 * MatMulBnb4 of com.microsoft: weights of bitsandbytes, whose 4 bits are places in a table. No
 * engine looks them up, so they become real while the file is read: as nodes that a program folds
 * those of large models would be more than it folds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../onnx.h"

/* What the 16 places stand for, of quant_type 0, FP4, and 1, NF4 */
static const float tables[2][16] = {
	{ 0, 0.0052083333f, 2 / 3.0f, 1, 1 / 3.0f, 0.5f, 1 / 6.0f, 0.25f,
	  0, -0.0052083333f, -2 / 3.0f, -1, -1 / 3.0f, -0.5f, -1 / 6.0f, -0.25f },
	{ -1, -0.6961928f, -0.52507305f, -0.3949175f, -0.28444138f, -0.18477343f, -0.091050036f, 0,
	  0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f, 0.44070983f, 0.562617f, 0.72295684f, 1 },
};

/* [N, K], by rows one after the other; of a byte the upper bits are first. Blocks have a factor. */
static uint32_t real_weights(struct import *im, const float *table, int64_t n, int64_t k,
			     int64_t block)
{
	const uint8_t *bytes = im->in[1].data;
	struct made made = { .from = bytes, .type = ACCEL_F32, .rank = 2, .dims = { n, k } };
	float *list = malloc((size_t)(n * k) * sizeof(*list)), factor = 0;
	const char *factors = im->in[2].data;
	uint32_t out = NO_VALUE;
	int64_t i;

	for (i = 0; list && i < n * k; i++) {
		if (i % block == 0)
			memcpy(&factor, factors + i / block * 4, sizeof(factor));
		list[i] = factor * table[i % 2 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4];
	}
	return tensor_make(im, &made, list, &out) ? NO_VALUE : out;
}

int matmul_bnb4(struct import *im, uint32_t arg)
{
	const int64_t n = im_int(im, "N", 0), k = im_int(im, "K", 0);
	const int64_t block = im_int(im, "block_size", 0), type = im_int(im, "quant_type", -1);
	const uint32_t flags = im_int(im, "transB", 1) ? ACCEL_GEMM_TRANS_B : 0;
	const struct ref *factors = im_input(im, 2);
	int ret = im_need(im, 3);
	uint32_t b;

	(void)arg;
	if (ret)
		return ret;
	if (n < 1 || k < 1 || n > 1 << 24 || k > 1 << 24 || block < 16 || block > 4096 ||
	    (block & (block - 1)))
		return im_fail(im, -EBADMSG, "%lld by %lld in blocks of %lld", (long long)k,
			       (long long)n, (long long)block);
	if (type != 0 && type != 1)
		return im_fail(im, -EOPNOTSUPP, "its quant_type is %lld, not 0 (FP4) or 1 (NF4)",
			       (long long)type);
	if (!im->in[1].data || im->in[1].type != ACCEL_U8 ||
	    !has_elements(&im->in[1], (n * k + 1) / 2))
		return im_fail(im, -EOPNOTSUPP, "weights that are not constant bytes of its size");
	if (!factors->data || factors->type != ACCEL_F32)
		return im_fail(im, -EOPNOTSUPP, "factors that are not constants of fp32");
	if (!has_elements(factors, (n * k + block - 1) / block))
		return im_fail(im, -EBADMSG, "not as many factors as blocks");
	b = v_cast(im, real_weights(im, tables[type], n, k, block), im->in[0].type);
	b = v_product(im, flags, ACCEL_ACT_NONE, v_in(im, 0), b, NO_VALUE, NO_VALUE);
	return v_give(im, 0, b);
}
