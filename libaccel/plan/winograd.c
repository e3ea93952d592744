// SPDX-License-Identifier: MIT
/*
 * Transforms weights for Winograd's algorithms, once: U = G g G' is a product of a constant
 * matrix with the nine numbers of each kernel, so the device computes it. The matrix is exact
 * and the sums are divided afterwards, so that weights that are multiples of the square of the
 * divisor have exact transforms.
 */
#include <string.h>

#include "libaccel/core/objects.h"
#include "planner.h"

#define TAPS	9

/**
 * struct kernel_transform - G of an algorithm, in integers
 * @g: G times @divisor, with m + 2 rows
 * @divisor: least common denominator of G
 * @unit: power of two not below @divisor, so that no number grows where it is multiplied
 */
struct kernel_transform {
	int8_t g[8][3];
	uint8_t divisor;
	uint8_t unit;
};

static const struct kernel_transform transforms[] = {
	{ { { 2, 0, 0 }, { 1, 1, 1 }, { 1, -1, 1 }, { 0, 0, 2 } }, 2, 2 },
	{ { { 6, 0, 0 }, { -4, -4, -4 }, { -4, 4, -4 }, { 1, 2, 4 }, { 1, -2, 4 }, { 0, 0, 24 } },
	  24, 32 },
	{ { { 90, 0, 0 }, { -20, -20, -20 }, { -20, 20, -20 }, { 1, 2, 4 }, { 1, -2, 4 },
	    { 64, 32, 16 }, { 64, -32, 16 }, { 0, 0, 90 } }, 90, 128 },
};

/* Row (i, j), column (y, x): G[i][y] G[j][x] times (divisor / unit)^2, exactly. */
static int make_matrix(struct accel_ctx *ctx, const struct kernel_transform *t, uint32_t points,
		       struct accel_bo **bo)
{
	const float unit = (float)(t->unit * t->unit);
	uint32_t i, j, y, x;
	uint64_t bytes = sizeof(float) * points * points * TAPS;
	float *out;
	int ret;

	ret = accel_bo_create(ctx, bytes, NULL, bo);
	if (ret)
		return ret;
	ret = accel_bo_cpu_begin(*bo, 0, bytes, ACCEL_CPU_WRITE);
	if (ret)
		return ret;
	out = accel_bo_ptr(*bo);
	for (i = 0; i < points; i++)
		for (j = 0; j < points; j++)
			for (y = 0; y < 3; y++)
				for (x = 0; x < 3; x++)
					*out++ = (float)(t->g[i][y] * t->g[j][x]) / unit;
	return accel_bo_cpu_end(*bo, 0, bytes, ACCEL_CPU_WRITE);
}

/* Convert the weights to dense binary32 [M, C, 9]. */
static int add_plain(struct accel_job *job, const struct accel_tensor *from, struct accel_bo **bo)
{
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	int ret;

	ret = accel_bo_create(job->ctx, sizeof(float) * from->dims[0] * from->dims[1] * TAPS,
			      NULL, bo);
	if (ret)
		return ret;
	copy.a = *from;
	copy.d = accel_tensor_dense(*bo, ACCEL_F32, from->rank, from->dims);
	return accel_job_add_desc(job, NULL, &copy.hdr, NULL, 0, NULL);
}

/**
 * winograd_add - add the transform of weights to a job
 * @job: job; keeps the temporary buffers
 * @from: weights, [M, C, 3, 3] of floating-point numbers
 * @edge: 2, 4 or 6
 * @to: room for binary32 [edge + 2, edge + 2, C, M]
 *
 * Return: 0, or the error of adding an operation, which the context has recorded.
 */
int winograd_add(struct accel_job *job, const struct accel_tensor *from, uint32_t edge,
		 struct accel_bo *to)
{
	const struct kernel_transform *t = &transforms[edge / 2 - 1];
	int64_t m = from->dims[0], c = from->dims[1], points = (edge + 2) * (edge + 2);
	const int64_t ad[] = { points, TAPS }, bd[] = { c, TAPS, m }, dd[] = { c, points, m };
	struct accel_gemm_desc gemm = ACCEL_GEMM_DESC_INIT;
	struct accel_bo *matrix = NULL, *plain = NULL;
	int ret;

	if (!m || !c)
		return 0;
	ret = make_matrix(job->ctx, t, edge + 2, &matrix);
	if (!ret)
		ret = add_plain(job, from, &plain);
	if (!ret) {
		gemm.flags = ACCEL_GEMM_ALPHA;
		gemm.alpha = (float)(t->unit * t->unit) / (float)(t->divisor * t->divisor);
		gemm.a = accel_tensor_dense(matrix, ACCEL_F32, 2, ad);
		gemm.b = accel_tensor_dense(plain, ACCEL_F32, 3, bd);
		gemm.b.flags = ACCEL_TENSOR_STRIDES;
		gemm.b.strides[0] = TAPS;
		gemm.b.strides[1] = 1;
		gemm.b.strides[2] = c * TAPS;
		gemm.d = accel_tensor_dense(to, ACCEL_F32, 3, dd);
		gemm.d.flags = ACCEL_TENSOR_STRIDES;
		gemm.d.strides[0] = m;
		gemm.d.strides[1] = c * m;
		gemm.d.strides[2] = 1;
		ret = accel_job_add_desc(job, NULL, &gemm.hdr, NULL, 0, NULL);
	}
	accel_bo_unref(plain);
	accel_bo_unref(matrix);
	return ret;
}
