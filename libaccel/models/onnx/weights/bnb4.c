// SPDX-License-Identifier: MIT
/*
 * MatMulBnb4 of com.microsoft: weights of bitsandbytes, whose 4 bits are places in a table. They
 * become real once, since all of them is constant.
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

/* The numbers of each byte: the first one is that of its upper bits. */
static uint32_t pairs(struct import *im, const float *table)
{
	struct made made = { table, 4, 0, ACCEL_F32, 2, { 256, 2 }, NO_VALUE };
	uint32_t i, out = NO_VALUE;
	float *list;

	if (im->error.code || tensor_made(im, &made, &out))
		return out;
	list = malloc(512 * sizeof(*list));
	for (i = 0; list && i < 256; i++) {
		list[2 * i] = table[i >> 4];
		list[2 * i + 1] = table[i & 15];
	}
	return tensor_make(im, &made, list, &out) ? NO_VALUE : out;
}

/* A, and [N, K], by rows one after the other, whose blocks have a factor each */
int matmul_bnb4(struct import *im, uint32_t arg)
{
	const int64_t n = im_int(im, "N", 0), k = im_int(im, "K", 0), all = -1;
	const int64_t block = im_int(im, "block_size", 0), type = im_int(im, "quant_type", -1);
	const uint32_t flags = im_int(im, "transB", 1) ? ACCEL_GEMM_TRANS_B : 0;
	uint32_t b, table, factors;
	int64_t shape[2];
	int ret = im_need(im, 3);

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
	shape[0] = (n * k + block - 1) / block;
	shape[1] = 1;
	if (!im->in[2].data || !type_is_real(im->in[2].type) ||
	    !has_elements(&im->in[2], shape[0]))
		return im_fail(im, -EBADMSG, "not as many constant factors as blocks");
	table = pairs(im, tables[type]);
	b = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_in(im, 1), 1, &all);
	b = v_gather(im, ACCEL_GATHER_AXIS, 0, table, v_cast(im, b, ACCEL_S32));
	b = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, b, 1, &all);
	factors = v_cast(im, v_in(im, 2), ACCEL_F32);
	factors = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, factors, 2, shape);
	shape[1] = block;
	factors = v_shaped_to(im, ACCEL_SHAPE_EXPAND, factors, 2, shape);
	factors = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, factors, 1, &all);
	/* The last byte may have one number, the last block fewer than others. */
	b = v_binary(im, ACCEL_BINARY_MUL, v_slice(im, b, 0, 0, n * k, 1),
		     v_slice(im, factors, 0, 0, n * k, 1));
	shape[0] = n;
	shape[1] = k;
	b = v_cast(im, v_shaped_to(im, ACCEL_SHAPE_RESHAPE, b, 2, shape), im->in[0].type);
	b = v_product(im, flags, ACCEL_ACT_NONE, v_in(im, 0), b, NO_VALUE, NO_VALUE);
	return v_give(im, 0, b);
}
