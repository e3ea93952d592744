// SPDX-License-Identifier: MIT
/*
 * Feed-forward networks: products whose results stay in the workspace.
 *
 *	plain	H = act(A x up + up_bias)		D = H x down + ...
 *	gated	G = act(A x gate + gate_bias)
 *		H = (A x up) * G, the product's epilogue, or with a bias
 *		U = A x up + up_bias, H = U * G		D = H x down + ...
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ops.h"

/* Parts of the workspace begin at multiples of this */
#define PART_ALIGN	64

#define FFN_FLAGS	(ACCEL_FFN_TRANS | ACCEL_FFN_PACK)

/* By rank: the dimension that sums run along */
static const char * const a_dims[ACCEL_MAX_RANK] = {
	"ffn.a.dims[0]", "ffn.a.dims[1]", "ffn.a.dims[2]", "ffn.a.dims[3]",
	"ffn.a.dims[4]"
};

static const char * const down_dims[ACCEL_MAX_RANK] = {
	"ffn.down.dims[0]", "ffn.down.dims[1]", "ffn.down.dims[2]", "ffn.down.dims[3]",
	"ffn.down.dims[4]"
};

/**
 * struct ffn - what is being lowered
 * @desc: descriptor
 * @parts: parts
 * @a: rows
 * @up: weights
 * @gate: weights, rank 0 without
 * @down: weights
 * @d: result
 * @hidden: H: its shape, type and quantisation
 * @loose: G and U: of a floating-point type
 * @h: length of the rows of H
 */
struct ffn {
	const struct accel_ffn_desc *desc;
	struct parts *parts;
	struct operand a;
	struct operand up;
	struct operand gate;
	struct operand down;
	struct operand d;
	struct accel_tensor hidden;
	struct accel_tensor loose;
	int64_t h;
};

/* Rows and columns of weights as they are multiplied. */
static uint32_t row_dim(const struct ffn *f, const struct operand *w)
{
	return w->rank - (f->desc->flags & ACCEL_FFN_TRANS ? 1 : 2);
}

static uint32_t col_dim(const struct ffn *f, const struct operand *w)
{
	return w->rank - (f->desc->flags & ACCEL_FFN_TRANS ? 2 : 1);
}

static int matrix(struct operand *t, const struct accel_tensor *from, uint32_t arg,
		  const char *name, struct accel_error *e)
{
	int ret = operand_init(t, from, arg, name, e);

	if (!ret && t->rank < 2)
		return bad(e, -EINVAL, name, "rank", "rank %u is not that of matrices",
			   t->rank);
	return ret;
}

static int check_dim(const struct operand *t, uint32_t dim, int64_t wanted,
		     const char *what, struct accel_error *e)
{
	if (t->dims[dim] == wanted)
		return 0;
	return bad_at(e, -EINVAL, t->name, "dims", dim, "%lld, but %s is %lld",
		      (long long)t->dims[dim], what, (long long)wanted);
}

static int check_shapes(struct ffn *f, struct accel_error *e)
{
	const struct accel_ffn_desc *desc = f->desc;
	int64_t k;
	int ret;

	ret = matrix(&f->a, &desc->a, ACCEL_ARG_A, "ffn.a", e);
	if (!ret)
		ret = matrix(&f->up, &desc->up, ACCEL_ARG_B, "ffn.up", e);
	if (!ret && desc->gate.rank)
		ret = matrix(&f->gate, &desc->gate, ACCEL_ARG_C, "ffn.gate", e);
	else if (!ret)
		ret = tensor_absent(&desc->gate, "ffn.gate", e);
	if (!ret)
		ret = matrix(&f->down, &desc->down, ACCEL_ARG_AUX0, "ffn.down", e);
	if (!ret)
		ret = matrix(&f->d, &desc->d, ACCEL_ARG_D, "ffn.d", e);
	if (ret)
		return ret;
	k = f->a.dims[f->a.rank - 1];
	f->h = f->up.dims[col_dim(f, &f->up)];
	ret = check_dim(&f->up, row_dim(f, &f->up), k, "the length of the rows of ffn.a", e);
	if (!ret && desc->gate.rank)
		ret = check_dim(&f->gate, row_dim(f, &f->gate), k,
				"the length of the rows of ffn.a", e);
	if (!ret && desc->gate.rank)
		ret = check_dim(&f->gate, col_dim(f, &f->gate), f->h,
				"the hidden dimension of ffn.up", e);
	if (!ret)
		ret = check_dim(&f->down, row_dim(f, &f->down), f->h,
				"the hidden dimension of ffn.up", e);
	if (!ret)
		ret = check_dim(&f->d, f->d.rank - 1, f->down.dims[col_dim(f, &f->down)],
				"the number of columns of ffn.down", e);
	if (!ret)
		ret = check_dim(&f->d, f->d.rank - 2, f->a.dims[f->a.rank - 2],
				"the number of rows of ffn.a", e);
	if (!ret && !desc->gate.rank && desc->gate_bias.rank)
		return bad(e, -EINVAL, "ffn.gate_bias", "rank",
			   "is set, but there is no gate");
	return ret;
}

static int check_options(const struct ffn *f, struct accel_error *e)
{
	const struct accel_ffn_desc *desc = f->desc;
	struct accel_epilogue act = { .act = desc->act, .p0 = desc->p0, .p1 = desc->p1 };
	struct request req = { 0 };

	if (desc->flags & ~FFN_FLAGS)
		return bad(e, -EINVAL, "ffn", "flags", "unknown flags 0x%x",
			   desc->flags & ~FFN_FLAGS);
	if (desc->pad)
		return bad(e, -EINVAL, "ffn", "pad", "must be zero");
	return check_activation(&act, "ffn", &req, e);
}

/* Another tensor of the hidden shape behind what the workspace has already. */
static struct accel_tensor own(struct ffn *f, const struct accel_tensor *like)
{
	struct accel_tensor t = *like;
	uint64_t bytes = 0;

	t.offset = f->parts->workspace;
	accel_tensor_bytes(&t, &bytes);
	f->parts->workspace += (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
	return t;
}

/* The types of what lies between the products. */
static int make_hidden(struct ffn *f, struct accel_error *e)
{
	const struct accel_ffn_desc *desc = f->desc;
	uint32_t dtype = desc->hidden_dtype;
	struct operand t;

	if (!dtype)
		dtype = uma_is_float(f->a.dtype) ? f->a.dtype : (uint32_t)ACCEL_F16;
	if (!uma_is_float(dtype) && !uma_is_int8(dtype))
		return bad(e, -EINVAL, "ffn", "hidden_dtype",
			   "%u: what is hidden is fp32, fp16, bf16, int8 or uint8", dtype);
	f->hidden = accel_tensor_dense(NULL, dtype, f->d.rank, f->d.dims);
	f->hidden.dims[f->d.rank - 1] = f->h;
	f->loose = f->hidden;
	if (!uma_is_float(dtype)) {
		f->loose.dtype = uma_is_float(f->a.dtype) ? f->a.dtype :
							      (uint32_t)ACCEL_F16;
		f->hidden.quant.scheme = ACCEL_QUANT_TENSOR;
		f->hidden.quant.scale = desc->hidden_scale;
		f->hidden.quant.zero = desc->hidden_zero;
	} else if (desc->hidden_scale != 0) {
		return bad(e, -EINVAL, "ffn", "hidden_scale",
			   "is set, but what is hidden is %s", accel_dtype_name(dtype));
	} else if (desc->hidden_zero) {
		return bad(e, -EINVAL, "ffn", "hidden_zero",
			   "is set, but what is hidden is %s", accel_dtype_name(dtype));
	}
	if (operand_init(&t, &f->hidden, 0, "ffn.hidden", e)) {
		/* The fields that it is made of */
		if (!strcmp(e->field, "ffn.hidden.quant.scale"))
			snprintf(e->field, sizeof(e->field), "ffn.hidden_scale");
		if (!strcmp(e->field, "ffn.hidden.quant.zero"))
			snprintf(e->field, sizeof(e->field), "ffn.hidden_zero");
		return e->code;
	}
	return 0;
}

/**
 * struct product - a product that is a part
 * @b: weights
 * @b_arg: their &enum accel_arg
 * @b_name: their path
 * @bias: added, or of rank 0
 * @bias_arg: its &enum accel_arg
 * @bias_name: its path
 * @act: the activation is applied
 * @k_field: path of the dimension that is summed
 */
struct product {
	const struct accel_tensor *b;
	uint32_t b_arg;
	const char *b_name;
	const struct accel_tensor *bias;
	uint32_t bias_arg;
	const char *bias_name;
	bool act;
	const char *k_field;
};

/* D = epilogue(A x weights); @scale multiplies, @last: it is the result. */
static int add_product(struct ffn *f, const struct product *p, const struct accel_tensor *a,
		       const struct accel_tensor *d, const struct accel_tensor *scale,
		       bool last, struct accel_error *e)
{
	const struct accel_ffn_desc *desc = f->desc;
	bool first = a == &desc->a;
	const char * const names[REQUEST_SLOTS] = {
		[UMA_SLOT_DST] = last ? "ffn.d" : "ffn.hidden",
		[UMA_SLOT_A] = first ? "ffn.a" : "ffn.hidden",
		[UMA_SLOT_B] = p->b_name, [UMA_SLOT_BIAS] = p->bias_name,
		[UMA_SLOT_SCALE] = "ffn.hidden", [UMA_SLOT_RESIDUAL] = "ffn.residual",
	};
	const uint32_t args[REQUEST_SLOTS] = {
		[UMA_SLOT_DST] = last ? (uint32_t)ACCEL_ARG_D : ARG_WORKSPACE,
		[UMA_SLOT_A] = first ? (uint32_t)ACCEL_ARG_A : ARG_WORKSPACE,
		[UMA_SLOT_B] = p->b_arg, [UMA_SLOT_BIAS] = p->bias_arg,
		[UMA_SLOT_SCALE] = ARG_WORKSPACE,
		[UMA_SLOT_RESIDUAL] = ACCEL_ARG_RESIDUAL,
	};
	struct part *part = &f->parts->part[f->parts->count];
	struct accel_gemm_desc *g = &part->desc.gemm;
	int ret;

	*g = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	if (desc->flags & ACCEL_FFN_TRANS)
		g->flags |= ACCEL_GEMM_TRANS_B;
	if (desc->flags & ACCEL_FFN_PACK)
		g->flags |= ACCEL_GEMM_PACK_B;
	g->a = *a;
	g->b = *p->b;
	g->d = *d;
	g->epilogue.bias = *p->bias;
	if (scale)
		g->epilogue.scale = *scale;
	if (last)
		g->epilogue.residual = desc->residual;
	if (p->act) {
		g->epilogue.act = desc->act;
		g->epilogue.p0 = desc->p0;
		g->epilogue.p1 = desc->p1;
	}
	part->act_field = "ffn.act";
	ret = part_lower(f->parts, ACCEL_OP_GEMM, names, args, e);
	if (!ret)
		part->req.k_field = p->k_field;
	return ret;
}

static int add_mul(struct ffn *f, const struct accel_tensor *a, const struct accel_tensor *b,
		   const struct accel_tensor *d, struct accel_error *e)
{
	static const char * const names[REQUEST_SLOTS] = {
		[UMA_SLOT_DST] = "ffn.hidden", [UMA_SLOT_A] = "ffn.hidden",
		[UMA_SLOT_B] = "ffn.hidden"
	};
	static const uint32_t args[REQUEST_SLOTS] = {
		[UMA_SLOT_DST] = ARG_WORKSPACE, [UMA_SLOT_A] = ARG_WORKSPACE,
		[UMA_SLOT_B] = ARG_WORKSPACE
	};
	struct accel_binary_desc *m = &f->parts->part[f->parts->count].desc.binary;

	*m = (struct accel_binary_desc)ACCEL_BINARY_DESC_INIT;
	m->func = ACCEL_BINARY_MUL;
	m->a = *a;
	m->b = *b;
	m->d = *d;
	return part_lower(f->parts, ACCEL_OP_BINARY, names, args, e);
}

static int add_hidden(struct ffn *f, struct accel_tensor *hidden, struct accel_error *e)
{
	const struct accel_ffn_desc *desc = f->desc;
	const struct product up = {
		&desc->up, ACCEL_ARG_B, "ffn.up", &desc->up_bias, ACCEL_ARG_AUX1,
		"ffn.up_bias", !desc->gate.rank, a_dims[f->a.rank - 1]
	}, gate = {
		&desc->gate, ACCEL_ARG_C, "ffn.gate", &desc->gate_bias, ACCEL_ARG_AUX2,
		"ffn.gate_bias", true, a_dims[f->a.rank - 1]
	};
	struct accel_tensor g, u;
	int ret;

	if (!desc->gate.rank) {
		*hidden = own(f, &f->hidden);
		return add_product(f, &up, &desc->a, hidden, NULL, false, e);
	}
	g = own(f, &f->loose);
	ret = add_product(f, &gate, &desc->a, &g, NULL, false, e);
	if (ret)
		return ret;
	/* A bias comes after the factor: then the factor needs a task of its own. */
	if (!desc->up_bias.rank) {
		*hidden = own(f, &f->hidden);
		return add_product(f, &up, &desc->a, hidden, &g, false, e);
	}
	u = own(f, &f->loose);
	ret = add_product(f, &up, &desc->a, &u, NULL, false, e);
	/* In the place of U, but for other types. */
	*hidden = f->hidden.dtype == u.dtype ? u : own(f, &f->hidden);
	return ret ? ret : add_mul(f, &u, &g, hidden, e);
}

int lower_ffn(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_ffn_desc *desc = &any->ffn;
	struct product down = {
		&desc->down, ACCEL_ARG_AUX0, "ffn.down", &desc->down_bias, ACCEL_ARG_BIAS,
		"ffn.down_bias", false, NULL
	};
	struct ffn f = { .desc = desc };
	struct accel_tensor hidden;
	int ret;

	req->opcode = UMA_OP_NOP;
	ret = check_options(&f, e);
	if (!ret)
		ret = check_shapes(&f, e);
	if (!ret)
		ret = make_hidden(&f, e);
	if (ret)
		return ret;
	down.k_field = down_dims[row_dim(&f, &f.down)];
	f.parts = parts_alloc(req, 4);
	if (!f.parts)
		return bad(e, -ENOMEM, "", "", "out of memory");
	f.parts->tensor[ACCEL_ARG_A] = &desc->a;
	f.parts->tensor[ACCEL_ARG_B] = &desc->up;
	f.parts->tensor[ACCEL_ARG_C] = &desc->gate;
	f.parts->tensor[ACCEL_ARG_AUX0] = &desc->down;
	f.parts->tensor[ACCEL_ARG_BIAS] = &desc->down_bias;
	f.parts->tensor[ACCEL_ARG_AUX1] = &desc->up_bias;
	f.parts->tensor[ACCEL_ARG_AUX2] = &desc->gate_bias;
	f.parts->tensor[ACCEL_ARG_RESIDUAL] = &desc->residual;
	f.parts->tensor[ACCEL_ARG_D] = &desc->d;
	ret = add_hidden(&f, &hidden, e);
	if (!ret)
		ret = add_product(&f, &down, &hidden, &desc->d, NULL, true, e);
	/* Also where nothing is hidden its address is one. */
	if (!f.parts->workspace)
		f.parts->workspace = PART_ALIGN;
	return ret;
}
