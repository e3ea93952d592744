// SPDX-License-Identifier: MIT
/*
 * Two of four: matrices of which each four elements along K have two at most
 * that are not zero. Making one of any, and making sure.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/core/objects.h"
#include "reader.h"

#define FOUR	4

/* Where an element lies; of a nibble, its byte. */
static uint8_t *place(const struct reader *r, const int64_t *idx, bool *high)
{
	uint32_t bits = accel_dtype_bits(r->t.dtype), i;
	int64_t off = 0;

	for (i = 0; i < r->t.rank; i++)
		off += idx[i] * r->t.strides[i];
	*high = off & 1;
	return (uint8_t *)r->first + (bits == 4 ? off >> 1 : off * (bits / 8));
}

/* What elements are ordered by, the same as in the device's PACK: bits. */
static uint32_t magnitude(const struct reader *r, const int64_t *idx)
{
	uint16_t half;
	uint32_t bits;
	bool high;

	switch (r->t.dtype) {
	case ACCEL_F32:
		memcpy(&bits, place(r, idx, &high), sizeof(bits));
		return bits & 0x7fffffff;
	case ACCEL_F16:
	case ACCEL_BF16:
		memcpy(&half, place(r, idx, &high), sizeof(half));
		return half & 0x7fff;
	default:
		return (uint32_t)abs(reader_stored(r, idx));
	}
}

static void clear(const struct reader *r, const int64_t *idx)
{
	uint32_t bits = accel_dtype_bits(r->t.dtype);
	bool high;
	uint8_t *p = place(r, idx, &high);

	if (bits == 4)
		*p &= high ? 0x0f : 0xf0;
	else
		memset(p, 0, bits / 8);
}

/* Elements of @n that stay before element @i. */
static uint32_t rank_of(const uint32_t *m, int64_t n, int64_t i)
{
	uint32_t better = 0;
	int64_t j;

	for (j = 0; j < n; j++)
		better += m[j] > m[i] || (m[j] == m[i] && j < i);
	return better;
}

static int prune_line(const struct reader *r, int64_t *idx, uint32_t axis,
		      struct accel_error *e)
{
	int64_t k, dim = r->t.dims[axis];

	(void)e;
	for (k = 0; k < dim; k += FOUR) {
		int64_t n = dim - k < FOUR ? dim - k : FOUR, i;
		uint32_t m[FOUR];

		for (i = 0; i < n; i++) {
			idx[axis] = k + i;
			m[i] = magnitude(r, idx);
		}
		for (i = 0; i < n; i++) {
			idx[axis] = k + i;
			if (rank_of(m, n, i) >= 2)
				clear(r, idx);
		}
	}
	return 0;
}

/* Call @fn for each line along @axis; @idx is that of its first element. */
static int each_line(const struct reader *r, uint32_t axis,
		     int (*fn)(const struct reader *r, int64_t *idx, uint32_t axis,
			       struct accel_error *e), struct accel_error *e)
{
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	struct operand others = r->t;
	int ret;

	if (operand_empty(&r->t))
		return 0;
	others.dims[axis] = 1;
	do {
		ret = fn(r, idx, axis, e);
		if (ret)
			return ret;
		idx[axis] = 0;
	} while (reader_next(&others, idx));
	return 0;
}

static int check_line(const struct reader *r, int64_t *idx, uint32_t axis,
		      struct accel_error *e)
{
	int64_t k, dim = r->t.dims[axis];
	uint32_t used = 0;

	for (k = 0; k < dim; k++) {
		idx[axis] = k;
		used = k % FOUR ? used : 0;
		used += magnitude(r, idx) != 0;
		if (used > 2)
			return bad(e, -EINVAL, "gemm.b", "",
				   "more than two of the four elements from %lld on along K are not zero",
				   (long long)(k - k % FOUR));
	}
	return 0;
}

/* Does the constant B of a GEMM have the structure that was promised? */
int sparse_check(const struct accel_tensor *b, uint32_t axis, struct accel_error *e)
{
	struct accel_tensor plain = *b;
	struct reader r;
	int ret;

	memset(&plain.quant, 0, sizeof(plain.quant));
	ret = reader_open(&r, &plain, "gemm.b", e);
	return ret ? ret : each_line(&r, axis, check_line, e);
}

int accel_prune24(struct accel_ctx *ctx, const struct accel_tensor *t, uint32_t axis)
{
	FP_MODE_SCOPE();
	struct accel_error e = ACCEL_ERROR_INIT;
	struct reader r;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!t)
		return ctx_fail(ctx, -EINVAL, "t", "NULL");
	ret = reader_open(&r, t, "t", &e);
	if (!ret && r.t.dtype == ACCEL_S32)
		ret = bad(&e, -EINVAL, "t", "dtype", "int32 is no type of a matrix");
	if (!ret && axis >= r.t.rank)
		ret = bad(&e, -EINVAL, "axis", "", "%u, but the tensor has rank %u", axis,
			  r.t.rank);
	if (!ret && (t->quant.zero || t->quant.zeros))
		ret = bad(&e, -EINVAL, "t", t->quant.zeros ? "quant.zeros" : "quant.zero",
			  "what is left out is stored as 0: there is no zero point");
	if (!ret)
		ret = operand_check_output(&r.t, &e);
	if (!ret && t->bo && t->bo->flags & ACCEL_BO_READONLY)
		ret = bad(&e, -EINVAL, "t", "bo", "the buffer is read-only");
	if (ret)
		return ctx_set_error(ctx, &e);
	each_line(&r, axis, prune_line, &e);
	if (operand_empty(&r.t))
		return 0;
	return accel_bo_cpu_end(t->bo, t->offset + (uint64_t)r.t.lo,
				(uint64_t)(r.t.hi - r.t.lo), ACCEL_CPU_WRITE);
}
