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
			 ACCEL_GEMM_SPARSE_B | ACCEL_GEMM_BF16)

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
	if (d->a_group && (d->a_group < 16 || d->a_group > UMA_GEMM_A_GROUP_MAX ||
			   d->a_group & (d->a_group - 1)))
		return bad(e, -EINVAL, "gemm", "a_group", "%u is not 0, 16, 32, 64 or 128",
			   d->a_group);
	if ((d->flags & ACCEL_GEMM_BF16) && !d->a_group)
		return bad(e, -EINVAL, "gemm", "flags",
			   "ACCEL_GEMM_BF16 is for a left matrix that may be rounded: a_group is 0");
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
	bool weights = uma_is_float(a->dtype) && b->dtype != a->dtype &&
		       !(a->dtype == ACCEL_F32 && uma_is_float(b->dtype));

	if (!uma_is_float(a->dtype) && !uma_is_int8(a->dtype))
		return bad(e, -EINVAL, "gemm.a", "dtype",
			   "%s: a left matrix is fp32, fp16, bf16, int8 or uint8",
			   accel_dtype_name(a->dtype));
	if (weights && b->dtype != ACCEL_S8 && !uma_is_int4(b->dtype) && !uma_is_block(b->dtype))
		return bad(e, -EINVAL, "gemm.b", "dtype",
			   "%s: with a left matrix of type %s, the right one is that,%s int8, int4, uint4 or of blocks",
			   accel_dtype_name(b->dtype), accel_dtype_name(a->dtype),
			   a->dtype == ACCEL_F32 ? " fp16, bf16," : "");
	if (uma_is_int8(a->dtype) && !uma_is_int8(b->dtype) && !uma_is_int4(b->dtype) &&
	    !uma_is_block(b->dtype))
		return bad(e, -EINVAL, "gemm.b", "dtype",
			   "%s: with a left matrix of type %s, the right one is int8, uint8, int4, uint4 or of blocks",
			   accel_dtype_name(b->dtype), accel_dtype_name(a->dtype));
	if (uma_is_block(b->dtype) && d->dtype == ACCEL_S32)
		return bad(e, -EINVAL, "gemm.d", "dtype",
			   "a result of type int32 is exact: blocks have scales");
	return check_product(a, b, d, e);
}

/*
 * The result of a vector, or what is added to it, as a matrix: with M of 1 if A
 * is one, else with N of 1.
 */
static void result_as_matrix(struct operand *t, const struct accel_gemm_desc *desc)
{
	if (desc->a.rank == 1)
		operand_insert_dim(t, t->rank - 1);
	else if (desc->b.rank == 1)
		operand_insert_dim(t, t->rank);
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
		operand_insert_dim(&req->t[UMA_SLOT_A], 0);
	if (desc->b.rank == 1)
		operand_insert_dim(&req->t[UMA_SLOT_B], 1);
	return 0;
}

static int check_quants(const struct operand *a, const struct operand *b,
			const struct operand *d, bool sparse, struct accel_error *e)
{
	if (a->quant.scheme == ACCEL_QUANT_CHANNEL && a->quant.axis != a->rank - 2)
		return bad(e, -EINVAL, "gemm.a", "quant.axis",
			   "the channels of the left matrix are its rows");
	if (a->quant.scheme == ACCEL_QUANT_GROUP && a->quant.axis != a->rank - 1)
		return bad(e, -EINVAL, "gemm.a", "quant.axis",
			   "the groups of the left matrix run along K");
	if (a->quant.scheme > ACCEL_QUANT_TENSOR && d->dtype == ACCEL_S32)
		return bad(e, -EINVAL, "gemm.a", "quant.scheme",
			   "a result of type int32 is exact: there is one scale");
	if (d->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, "gemm.d", "quant.scheme",
			   "a result has one scale");
	if (d->dtype == ACCEL_S32 && d->quant.scheme)
		return bad(e, -EINVAL, "gemm.d", "quant.scheme",
			   "a result of type int32 is exact: it has no scale");
	if (b->quant.scheme == ACCEL_QUANT_GROUP && d->dtype == ACCEL_S32)
		return bad(e, -EINVAL, "gemm.b", "quant.scheme",
			   "a result of type int32 is exact: it has no groups");
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
			   "what a sparse matrix leaves out is stored as 0: it has no zero points and no minima");
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

/* A stack of matrices, each with rows of A: what is said of it apart from any product. */
static int lower_rows(const struct accel_gemm_desc *desc, struct request *req,
		      struct accel_error *e)
{
	const struct operand *a = &req->t[UMA_SLOT_A], *b = &req->t[UMA_SLOT_B];
	struct operand *rows = &req->t[UMA_SLOT_AUX0];
	int ret;

	ret = operand_init(rows, &desc->rows, ACCEL_ARG_AUX0, "gemm.rows", e);
	if (ret)
		return ret;
	if (a->rank != 2)
		return bad(e, -EINVAL, "gemm.a", "rank",
			   "rank %u: with gemm.rows the left matrix is [M, K]", desc->a.rank);
	if (b->rank != 3)
		return bad(e, -EINVAL, "gemm.b", "rank",
			   "rank %u: with gemm.rows the right side is [matrices, K, N]",
			   desc->b.rank);
	if (req->t[UMA_SLOT_DST].rank != 2)
		return bad(e, -EINVAL, "gemm.d", "rank",
			   "rank %u: with gemm.rows the result is [M, N]", desc->d.rank);
	if (b->dims[0] < 1 || b->dims[0] > UMA_GEMM_EXPERTS_MAX)
		return bad_at(e, -EINVAL, "gemm.b", "dims", 0,
			      "%lld: with gemm.rows there are 1 to %u matrices",
			      (long long)b->dims[0], UMA_GEMM_EXPERTS_MAX);
	if (b->dims[0] > 1 && b->strides[0] & ((1 << uma_dtype_block(b->dtype).shift) - 1))
		return bad_at(e, -EINVAL, "gemm.b", "strides", 0,
			      "%lld: each matrix begins with a byte, and with a block",
			      (long long)b->strides[0]);
	if (rows->dtype != ACCEL_S32)
		return bad(e, -EINVAL, "gemm.rows", "dtype", "%s: numbers of rows are int32",
			   accel_dtype_name(rows->dtype));
	if (rows->quant.scheme)
		return bad(e, -EINVAL, "gemm.rows", "quant.scheme",
			   "numbers of rows have no scale");
	if (rows->rank != 1)
		return bad(e, -EINVAL, "gemm.rows", "rank",
			   "rank %u: there is a number for each matrix", rows->rank);
	if (rows->dims[0] != b->dims[0])
		return bad_at(e, -EINVAL, "gemm.rows", "dims", 0,
			      "%lld, but gemm.b.dims[0] is %lld", (long long)rows->dims[0],
			      (long long)b->dims[0]);
	if (desc->flags & ACCEL_GEMM_TRANS_A && a->quant.scheme == ACCEL_QUANT_GROUP)
		return bad(e, -EINVAL, "gemm.a", "quant.scheme",
			   "with gemm.rows a transposed left matrix has no groups");
	req->experts = b->dims[0];
	req->funcs |= UMA_GEMM_CAP_EXPERTS;
	req->slots |= UMA_SLOT_BIT(AUX0);
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
	req->a_group = desc->a_group;
	req->bf16 = desc->flags & ACCEL_GEMM_BF16;
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
	ret = desc->rows.rank ? lower_rows(desc, req, e) :
				tensor_absent(&desc->rows, "gemm.rows", e);
	if (!ret)
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
	if (!ret && desc->a_group && (!uma_is_float(a->dtype) || uma_is_float(b->dtype)))
		ret = bad(e, -EINVAL, "gemm", "a_group",
			  "%s by %s: floating-point numbers are rounded to bytes where they meet integers or blocks",
			  accel_dtype_name(a->dtype), accel_dtype_name(b->dtype));
	if (desc->a_group)
		req->funcs |= UMA_GEMM_CAP_A_GROUP;
	if (!ret && uma_is_block(b->dtype) && req->pack)
		ret = bad(e, -EINVAL, "gemm", "flags",
			  "a right matrix of type %s is read where it lies: it is not packed",
			  accel_dtype_name(b->dtype));
	if (!ret)
		ret = check_quants(a, b, d, req->sparse, e);
	if (!ret)
		ret = check_dims(desc, a, b, &whole, e);
	if (!ret)
		ret = broadcast(a, &whole, 2, e);
	if (!ret)
		ret = req->experts ? operand_extent(b, e) : broadcast(b, &whole, 2, e);
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
	/* The rows of all matrices are one matrix. */
	for (i = UMA_SLOT_DST; !ret && req->experts && i <= UMA_SLOT_RESIDUAL; i++)
		if (req->slots & (1u << i) && req->t[i].rank == 2)
			operand_insert_dim(&req->t[i], 0);
	req->k = a->dims[a->rank - 1];
	req->macs = count_macs(a, d);
	return ret;
}

/* The field that @bit of UMA_GEMM_CAP_* comes from. */
const char *gemm_func_name(uint32_t bit)
{
	return 1u << bit == UMA_GEMM_CAP_A_GROUP ? "a_group" : "rows";
}
