// SPDX-License-Identifier: MIT
/*
 * Matrix products: which combinations there are, and how the caller's tensors
 * become the operands of the task: transposition exchanges strides, batches and
 * the operands of the epilogue are broadcast by strides of 0.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ops.h"

#define GEMM_FLAGS	(ACCEL_GEMM_TRANS_A | ACCEL_GEMM_TRANS_B | \
			 ACCEL_GEMM_ALPHA | ACCEL_GEMM_PACK_B | \
			 ACCEL_GEMM_SPARSE_B)

/* Largest rank has the longest path; indices are below ACCEL_MAX_RANK */
static const char * const a_dims[ACCEL_MAX_RANK] = {
	"gemm.a.dims[0]", "gemm.a.dims[1]", "gemm.a.dims[2]", "gemm.a.dims[3]",
	"gemm.a.dims[4]"
};

static const char * const epilogue_names[5] = {
	"gemm.epilogue", "gemm.epilogue.scale", "gemm.epilogue.bias",
	"gemm.epilogue.residual", "gemm.epilogue.residual_post"
};

static int check_scalars(const struct accel_gemm_desc *d, struct accel_error *e)
{
	if (d->flags & ~GEMM_FLAGS)
		return bad(e, -EINVAL, "gemm", "flags", "unknown flags 0x%x",
			   d->flags & ~GEMM_FLAGS);
	if ((d->flags & ACCEL_GEMM_SPARSE_B) && !(d->flags & ACCEL_GEMM_PACK_B))
		return bad(e, -EINVAL, "gemm", "flags",
			   "ACCEL_GEMM_SPARSE_B is for a right matrix that is packed");
	if (d->pad)
		return bad(e, -EINVAL, "gemm", "pad", "must be zero");
	if (!(d->flags & ACCEL_GEMM_ALPHA) && d->alpha != 0)
		return bad(e, -EINVAL, "gemm", "alpha",
			   "%g is given without ACCEL_GEMM_ALPHA",
			   (double)d->alpha);
	if (!isfinite(d->alpha))
		return bad(e, -EINVAL, "gemm", "alpha", "is not finite");
	if (!isfinite(d->beta))
		return bad(e, -EINVAL, "gemm", "beta", "is not finite");
	return 0;
}

/* The table of &struct accel_gemm_desc. */
static int check_types(const struct operand *a, const struct operand *b,
		       const struct operand *d, struct accel_error *e)
{
	bool weights = uma_is_float(a->dtype) && b->dtype != a->dtype;

	if (!uma_is_float(a->dtype) && !uma_is_int8(a->dtype))
		return bad(e, -EINVAL, "gemm.a", "dtype",
			   "%s: a left matrix is fp32, fp16, bf16, int8 or uint8",
			   accel_dtype_name(a->dtype));
	if (weights && b->dtype != ACCEL_S8 && !uma_is_int4(b->dtype))
		return bad(e, -EINVAL, "gemm.b", "dtype",
			   "%s: with a left matrix of type %s, the right one is that, int8, int4 or uint4",
			   accel_dtype_name(b->dtype), accel_dtype_name(a->dtype));
	if (uma_is_int8(a->dtype) && !uma_is_int8(b->dtype) && !uma_is_int4(b->dtype))
		return bad(e, -EINVAL, "gemm.b", "dtype",
			   "%s: with a left matrix of type %s, the right one is int8, uint8, int4 or uint4",
			   accel_dtype_name(b->dtype), accel_dtype_name(a->dtype));
	return check_product(a, b, d, e);
}

/* Give an operand a dimension of 1: number @at, or behind the last. */
static void insert_dim(struct operand *t, uint32_t at)
{
	size_t tail = (t->rank - at) * sizeof(t->dims[0]);

	memmove(t->dims + at + 1, t->dims + at, tail);
	memmove(t->strides + at + 1, t->strides + at, tail);
	t->dims[at] = 1;
	t->strides[at] = 0;
	t->rank++;
	t->quant.axis += t->quant.scheme >= ACCEL_QUANT_CHANNEL && t->quant.axis >= at;
}

/*
 * The result of a vector, or what is added to it, as a matrix: with M of 1 if A
 * is one, else with N of 1.
 */
static void result_as_matrix(struct operand *t, const struct accel_gemm_desc *desc)
{
	if (desc->a.rank == 1)
		insert_dim(t, t->rank - 1);
	else if (desc->b.rank == 1)
		insert_dim(t, t->rank);
}

static bool has_vector(const struct accel_gemm_desc *desc)
{
	return desc->a.rank == 1 || desc->b.rank == 1;
}

/* Vectors are matrices of one row, or one column. */
static int check_vectors(const struct accel_gemm_desc *desc, struct request *req,
			 struct accel_error *e)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];

	if (!has_vector(desc))
		return d->rank < 2 ?
		       bad(e, -EINVAL, d->name, "rank",
			   "the product of two matrices has at least 2 dimensions") : 0;
	if ((desc->a.rank == 1 && desc->flags & ACCEL_GEMM_TRANS_A) ||
	    (desc->b.rank == 1 && desc->flags & ACCEL_GEMM_TRANS_B))
		return bad(e, -EINVAL, "gemm", "flags", "a vector is not transposed");
	if (d->rank == ACCEL_MAX_RANK)
		return bad(e, -EINVAL, d->name, "rank",
			   "rank %u: with a vector the result has at most %u dimensions",
			   d->rank, ACCEL_MAX_RANK - 1);
	if (desc->a.rank == 1)
		insert_dim(&req->t[UMA_SLOT_A], 0);
	if (desc->b.rank == 1)
		insert_dim(&req->t[UMA_SLOT_B], 1);
	return 0;
}

static int check_quants(const struct operand *a, const struct operand *b,
			const struct operand *d, bool sparse, struct accel_error *e)
{
	if (a->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, "gemm.a", "quant.scheme",
			   "a left matrix has one scale");
	if (d->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, "gemm.d", "quant.scheme",
			   "a result has one scale");
	if (d->dtype == ACCEL_S32 && d->quant.scheme)
		return bad(e, -EINVAL, "gemm.d", "quant.scheme",
			   "a result of type int32 is exact: it has no scale");
	if (b->quant.scheme == ACCEL_QUANT_GROUP && !uma_is_float(a->dtype))
		return bad(e, -EINVAL, "gemm.b", "quant.scheme",
			   "groups need a left matrix of floating-point numbers");
	if (b->quant.scheme == ACCEL_QUANT_CHANNEL &&
	    b->quant.axis != b->rank - 1)
		return bad(e, -EINVAL, "gemm.b", "quant.axis",
			   "the channels of the right matrix are its columns");
	if (b->quant.scheme == ACCEL_QUANT_GROUP && b->quant.axis != b->rank - 2)
		return bad(e, -EINVAL, "gemm.b", "quant.axis",
			   "the groups of the right matrix run along K");
	if (sparse && b->quant.zero)
		return bad(e, -EINVAL, "gemm.b", "quant.zero",
			   "what a sparse matrix leaves out is stored as 0: it has no zero point");
	if (sparse && b->quant.zeros)
		return bad(e, -EINVAL, "gemm.b", "quant.zeros",
			   "what a sparse matrix leaves out is stored as 0: it has no zero points");
	return 0;
}

/* Read a matrix transposed: exchange the last two dimensions. */
static void transpose(struct operand *t)
{
	struct operand_quant *q = &t->quant;
	uint32_t r = t->rank - 1, c = t->rank - 2;
	int64_t tmp;

	tmp = t->dims[r];
	t->dims[r] = t->dims[c];
	t->dims[c] = tmp;
	tmp = t->strides[r];
	t->strides[r] = t->strides[c];
	t->strides[c] = tmp;
	if (q->scheme >= ACCEL_QUANT_CHANNEL && q->axis >= c)
		q->axis = q->axis == r ? c : r;
	if (q->scheme == ACCEL_QUANT_GROUP)
		q->flags |= UMA_QUANT_SWAPPED;
}

/* M and K come from A, N from B. */
static int check_dims(const struct accel_gemm_desc *desc,
		      const struct operand *a, const struct operand *b,
		      const struct operand *d, struct accel_error *e)
{
	bool trans_b = desc->flags & ACCEL_GEMM_TRANS_B;
	int64_t m = a->dims[a->rank - 2], k = a->dims[a->rank - 1];
	int64_t n = b->dims[b->rank - 1];

	if (b->dims[b->rank - 2] != k)
		return bad_at(e, -EINVAL, "gemm.b", "dims",
			      desc->b.rank - (trans_b || desc->b.rank == 1 ? 1 : 2),
			      "K is %lld here and %lld in the left matrix",
			      (long long)b->dims[b->rank - 2], (long long)k);
	if (d->dims[d->rank - 2] != m)
		return bad_at(e, -EINVAL, "gemm.d", "dims", d->rank - 2,
			      "M is %lld here and %lld in the left matrix",
			      (long long)d->dims[d->rank - 2], (long long)m);
	if (d->dims[d->rank - 1] != n)
		return bad_at(e, -EINVAL, "gemm.d", "dims",
			      d->rank - (desc->a.rank == 1 ? 2 : 1),
			      "N is %lld here and %lld in the right matrix",
			      (long long)d->dims[d->rank - 1], (long long)n);
	return 0;
}

static int lower_c(const struct accel_gemm_desc *d, struct request *req,
		   struct accel_error *e)
{
	struct operand *c = &req->t[UMA_SLOT_C];
	int ret;

	if (d->c.rank) {
		ret = lower_addend(req, UMA_SLOT_C, ACCEL_ARG_C, &d->c, "gemm.c",
				   has_vector(d) ? 1 : 2, UINT32_MAX, e);
		if (ret)
			return ret;
	} else {
		ret = tensor_absent(&d->c, "gemm.c", e);
		if (ret)
			return ret;
		/* The old contents of D, which is bound once. */
		*c = req->t[UMA_SLOT_DST];
		req->slots |= 1u << UMA_SLOT_C;
	}
	if (d->beta == 0) {
		/* It has been checked, but it is not read. */
		req->unread = &d->c;
		*c = (struct operand) { 0 };
		req->slots &= ~(1u << UMA_SLOT_C);
	}
	return 0;
}

/* M * N * K * batches, saturated: it is for the estimate. */
static uint64_t count_macs(const struct operand *a, const struct operand *d)
{
	uint64_t n = a->dims[a->rank - 1];
	uint32_t i;

	if (operand_empty(d) || !n)
		return 0;
	for (i = 0; i < d->rank; i++)
		if (__builtin_mul_overflow(n, (uint64_t)d->dims[i], &n))
			return UINT64_MAX;
	return n;
}

int lower_gemm(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_gemm_desc *desc = &any->gemm;
	struct operand *a = &req->t[UMA_SLOT_A];
	struct operand *b = &req->t[UMA_SLOT_B];
	struct operand *d = &req->t[UMA_SLOT_DST], whole;
	uint32_t i, last;
	int ret;

	req->alpha = desc->flags & ACCEL_GEMM_ALPHA ? desc->alpha : 1;
	req->beta = desc->beta;
	req->pack = desc->flags & ACCEL_GEMM_PACK_B;
	req->sparse = desc->flags & ACCEL_GEMM_SPARSE_B;
	req->sparse_axis = desc->b.rank - (desc->b.rank == 1 || desc->flags & ACCEL_GEMM_TRANS_B ?
					   1 : 2);
	req->slots = 1u << UMA_SLOT_DST | 1u << UMA_SLOT_A | 1u << UMA_SLOT_B;

	ret = check_scalars(desc, e);
	if (!ret)
		ret = operand_init(a, &desc->a, ACCEL_ARG_A, "gemm.a", e);
	if (!ret)
		ret = operand_init(b, &desc->b, ACCEL_ARG_B, "gemm.b", e);
	if (!ret)
		ret = operand_init(d, &desc->d, ACCEL_ARG_D, "gemm.d", e);
	if (ret)
		return ret;
	ret = check_vectors(desc, req, e);
	if (ret)
		return ret;
	whole = *d;
	result_as_matrix(&whole, desc);
	/* A vector is a row, whichever way. */
	last = desc->a.rank - 1;
	if (last && desc->flags & ACCEL_GEMM_TRANS_A)
		last--;
	req->k_field = a_dims[last];
	if (desc->flags & ACCEL_GEMM_TRANS_A)
		transpose(a);
	if (desc->flags & ACCEL_GEMM_TRANS_B)
		transpose(b);
	ret = check_types(a, b, d, e);
	if (!ret)
		ret = check_quants(a, b, d, req->sparse, e);
	if (!ret)
		ret = check_dims(desc, a, b, &whole, e);
	if (!ret)
		ret = broadcast(a, &whole, 2, e);
	if (!ret)
		ret = broadcast(b, &whole, 2, e);
	if (!ret)
		ret = operand_check_output(d, e);
	if (!ret)
		ret = lower_c(desc, req, e);
	if (!ret)
		ret = epilogue_lower(&desc->epilogue, epilogue_names, UINT32_MAX, req, e);
	if (!ret && d->dtype == ACCEL_S32)
		ret = check_exact(req, epilogue_names, e);
	for (i = UMA_SLOT_DST; !ret && i <= UMA_SLOT_RESIDUAL; i++)
		if (i != UMA_SLOT_A && i != UMA_SLOT_B && req->slots & (1u << i))
			result_as_matrix(&req->t[i], desc);
	req->k = a->dims[a->rank - 1];
	req->macs = count_macs(a, d);
	return ret;
}
