// SPDX-License-Identifier: MIT
/*
 * Matrix products.
 */
#include <string.h>

#include "run.h"

/*
 * Views of A and B as numpy's matmul sees them, and of a new result: vectors
 * become matrices, of which the result loses a dimension again.
 */
static struct value *matmul_shapes(struct run *r, struct view *a, struct view *b, struct view *d,
				   uint32_t type)
{
	int64_t dims[MAX_RANK], out[MAX_RANK];
	bool row = a->rank == 1, column = b->rank == 1;
	uint32_t i, rank, to = 0;
	struct value *v;

	if (!a->rank || !b->rank || a->rank > ACCEL_MAX_RANK || b->rank > ACCEL_MAX_RANK) {
		unsupported(r, "%u and %u dimensions", a->rank, b->rank);
		return NULL;
	}
	if (row) {
		a->rank = 2;
		a->dims[1] = a->dims[0];
		a->strides[1] = a->strides[0];
		a->dims[0] = 1;
		a->strides[0] = a->dims[1];
	}
	if (column) {
		b->rank = 2;
		b->dims[1] = 1;
		b->strides[1] = 1;
	}
	rank = a->rank > b->rank ? a->rank : b->rank;
	for (i = 0; i + 2 < rank; i++) {
		int64_t x = i + a->rank < rank ? 1 : a->dims[i + a->rank - rank];
		int64_t y = i + b->rank < rank ? 1 : b->dims[i + b->rank - rank];

		dims[i] = x == 1 ? y : x;
		out[to++] = dims[i];
	}
	dims[rank - 2] = a->dims[a->rank - 2];
	dims[rank - 1] = b->dims[b->rank - 1];
	if (!row)
		out[to++] = dims[rank - 2];
	if (!column)
		out[to++] = dims[rank - 1];
	v = new_value(r, type, to, out);
	if (!v)
		return NULL;
	memset(d, 0, sizeof(*d));
	d->v = v;
	d->rank = rank;
	d->strides[rank - 1] = 1;
	memcpy(d->dims, dims, sizeof(dims));
	for (i = rank - 1; i-- > 0;)
		d->strides[i] = d->strides[i + 1] * d->dims[i + 1];
	return v;
}

/* A product with the tensors of @g filled in. */
static struct value *matmul(struct run *r, struct accel_gemm_desc *g, struct value *a,
			    struct value *b, uint32_t type)
{
	struct view x, y, z;
	struct value *v;

	if (!usable(r, a) || !usable(r, b))
		return NULL;
	x = view_of(a);
	y = view_of(b);
	v = matmul_shapes(r, &x, &y, &z, type);
	if (!v || !fill_tensor(r, &g->a, &x) || !fill_tensor(r, &g->b, &y) ||
	    !fill_tensor(r, &g->d, &z))
		return NULL;
	return v;
}

struct value *lib_matmul(struct run *r, struct value *a, struct value *b)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct value *v = a ? matmul(r, &g, a, b, a->type) : NULL;

	if (!v)
		return NULL;
	return lib_run(r, &g.hdr) ? NULL : v;
}

static int do_matmul(struct run *r, const struct op_map *m)
{
	(void)m;
	if (!usable(r, r->in[0]))
		return r->ret;
	if (!type_is_float(r->in[0]->type))
		return unsupported(r, "products of wide integers");
	return give(r, 0, lib_matmul(r, r->in[0], r->in[1]));
}

static int do_gemm(struct run *r, const struct op_map *m)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	bool ta = attr_int(r, "transA", 0), tb = attr_int(r, "transB", 0);
	struct value *a = r->in[0], *b = r->in[1], *c = r->in[2], *v;
	struct view w[2];
	int64_t dims[2];

	(void)m;
	if (!usable(r, a) || !usable(r, b) || (c && !usable(r, c)))
		return r->ret;
	if (a->rank != 2 || b->rank != 2)
		return broken(r, "matrices of %u and %u dimensions", a->rank, b->rank);
	dims[0] = a->dims[ta];
	dims[1] = b->dims[!tb];
	v = new_value(r, a->type, 2, dims);
	g.flags = (ta ? ACCEL_GEMM_TRANS_A : 0u) | (tb ? ACCEL_GEMM_TRANS_B : 0u) |
		  ACCEL_GEMM_ALPHA;
	g.alpha = attr_float(r, "alpha", 1);
	if (!tensor_of(r, &g.a, a) || !tensor_of(r, &g.b, b) || !tensor_of(r, &g.d, v))
		return r->ret;
	if (c) {
		g.beta = attr_float(r, "beta", 1);
		w[0] = view_of(v);
		w[1] = view_of(c);
		if (!stretch(r, &w[1], 2, dims) || !fill_tensor(r, &g.c, &w[1]))
			return r->ret;
	}
	lib_run(r, &g.hdr);
	return give(r, 0, v);
}

/* One zero point for all; of scale 1 unless there is one. */
static bool operand(struct run *r, struct accel_tensor *t, struct value *scale,
		    struct value *zero)
{
	if (!scale)
		scale = constant(r, T_FLOAT, 1);
	return quantise(r, t, scale, zero, -1);
}

static int do_matmul_integer(struct run *r, const struct op_map *m)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct value *v = matmul(r, &g, r->in[0], r->in[1], T_INT32);

	(void)m;
	if (!v || !operand(r, &g.a, NULL, r->in[2]) || !operand(r, &g.b, NULL, r->in[3]))
		return r->ret;
	lib_run(r, &g.hdr);
	return give(r, 0, v);
}

static int do_qlinear_matmul(struct run *r, const struct op_map *m)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct value *v;

	(void)m;
	if (!usable(r, r->in[7]))
		return r->ret;
	v = matmul(r, &g, r->in[0], r->in[3], r->in[7]->type);
	if (!v || !operand(r, &g.a, r->in[1], r->in[2]) || !operand(r, &g.b, r->in[4], r->in[5]) ||
	    !operand(r, &g.d, r->in[6], r->in[7]))
		return r->ret;
	lib_run(r, &g.hdr);
	return give(r, 0, v);
}

const struct op_map ops_gemm[] = {
	{ "MatMul", do_matmul, BY_LIBRARY, 0, 0 },
	{ "Gemm", do_gemm, BY_LIBRARY, 0, 0 },
	{ "MatMulInteger", do_matmul_integer, BY_LIBRARY, 0, 0 },
	{ "QLinearMatMul", do_qlinear_matmul, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
