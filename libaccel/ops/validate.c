// SPDX-License-Identifier: MIT
/*
 * Descriptors: what all operations have in common. Whatever is wrong is found
 * here, before an engine is asked, and is said with the path of the field.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops.h"

static int fail(struct accel_error *e, int code, const char *fmt, va_list ap)
{
	e->size = sizeof(*e);
	e->code = code;
	e->op_index = UINT32_MAX;
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	return code;
}

/* Record that @name.@suffix is at fault. Returns @code. */
int bad(struct accel_error *e, int code, const char *name, const char *suffix,
	const char *fmt, ...)
{
	va_list ap;

	snprintf(e->field, sizeof(e->field), "%s%s%s", name, *suffix ? "." : "",
		 suffix);
	va_start(ap, fmt);
	fail(e, code, fmt, ap);
	va_end(ap);
	return code;
}

/* The same for an element of an array. */
int bad_at(struct accel_error *e, int code, const char *name,
	   const char *suffix, uint32_t index, const char *fmt, ...)
{
	va_list ap;

	snprintf(e->field, sizeof(e->field), "%s.%s[%u]", name, suffix, index);
	va_start(ap, fmt);
	fail(e, code, fmt, ap);
	va_end(ap);
	return code;
}

int check_header(const struct accel_desc *hdr, const char *name,
		 struct accel_error *e)
{
	if (hdr->engine >= ACCEL_ENGINE_COUNT)
		return bad(e, -EINVAL, name, "hdr.engine",
			   "%u is not a kind of engine", hdr->engine);
	if (hdr->pad)
		return bad(e, -EINVAL, name, "hdr.pad", "must be zero");
	return 0;
}

/* Number of parameters of the activations. */
static const uint8_t act_params[ACCEL_ACT_COUNT] = {
	[ACCEL_ACT_CLAMP] = 2,
	[ACCEL_ACT_LEAKY_RELU] = 1,
	[ACCEL_ACT_HARD_SIGMOID] = 2,
	[ACCEL_ACT_ELU] = 1,
	[ACCEL_ACT_CELU] = 1,
	[ACCEL_ACT_SELU] = 2,
};

int check_activation(const struct accel_epilogue *epi, const char *name,
		     struct request *req, struct accel_error *e)
{
	uint32_t params;

	if (epi->act >= ACCEL_ACT_COUNT)
		return bad(e, -EINVAL, name, "act", "%u is not an activation",
			   epi->act);
	params = act_params[epi->act];
	if (epi->pad)
		return bad(e, -EINVAL, name, "pad", "must be zero");
	if (params < 1 && epi->p0 != 0)
		return bad(e, -EINVAL, name, "p0",
			   "is set, but the activation does not use it");
	if (params < 2 && epi->p1 != 0)
		return bad(e, -EINVAL, name, "p1",
			   "is set, but the activation does not use it");
	if (!isfinite(epi->p0))
		return bad(e, -EINVAL, name, "p0", "is not finite");
	if (!isfinite(epi->p1))
		return bad(e, -EINVAL, name, "p1", "is not finite");
	if (epi->act == ACCEL_ACT_CLAMP && epi->p0 > epi->p1)
		return bad(e, -EINVAL, name, "p1",
			   "the upper bound %g is below the lower bound %g",
			   (double)epi->p1, (double)epi->p0);
	if (epi->act == ACCEL_ACT_CELU && epi->p0 == 0)
		return bad(e, -EINVAL, name, "p0", "is a divisor and must not be 0");
	req->act = epi->act;
	/* Minus zero is zero where the parameter is not used. */
	req->p0 = params > 0 ? epi->p0 : 0;
	req->p1 = params > 1 ? epi->p1 : 0;
	return 0;
}

/*
 * Give @t the rank and the dimensions of @to as numpy does: missing dimensions
 * come first, those of 1 are repeated by a stride of 0. The last @fixed
 * dimensions are left alone.
 */
int broadcast(struct operand *t, const struct operand *to, uint32_t fixed,
	      struct accel_error *e)
{
	struct operand_quant *q = &t->quant;
	uint32_t pad, i;

	if (t->rank > to->rank)
		return bad(e, -EINVAL, t->name, "rank",
			   "rank %u, but %s has rank %u", t->rank, to->name,
			   to->rank);
	pad = to->rank - t->rank;
	for (i = pad; i + fixed < to->rank; i++)
		if (t->dims[i - pad] != 1 && t->dims[i - pad] != to->dims[i])
			return bad_at(e, -EINVAL, t->name, "dims", i - pad,
				      "%lld is neither 1 nor %lld, which is %s.dims[%u]",
				      (long long)t->dims[i - pad],
				      (long long)to->dims[i], to->name, i);
	memmove(t->dims + pad, t->dims, t->rank * sizeof(t->dims[0]));
	memmove(t->strides + pad, t->strides, t->rank * sizeof(t->strides[0]));
	for (i = 0; i < pad; i++) {
		t->dims[i] = 1;
		t->strides[i] = 0;
	}
	t->rank = to->rank;
	q->axis += q->scheme >= ACCEL_QUANT_CHANNEL ? pad : 0;
	for (i = 0; i + fixed < to->rank; i++) {
		if (t->dims[i] == to->dims[i])
			continue;
		if (q->scheme == ACCEL_QUANT_CHANNEL && i == q->axis)
			return bad(e, -EOPNOTSUPP, t->name, "quant.axis",
				   "the tensor is broadcast along the dimension of its scales: use one scale for the tensor");
		if (q->scheme == ACCEL_QUANT_GROUP)
			q->flags |= UMA_QUANT_SHARED(i);
		t->dims[i] = to->dims[i];
		t->strides[i] = 0;
	}
	return operand_extent(t, e);
}

/* An input that broadcasts to D. */
int input_init(struct request *req, uint32_t slot, uint32_t arg,
	       const struct accel_tensor *from, const char *name, struct accel_error *e)
{
	int ret;

	ret = operand_init(&req->t[slot], from, arg, name, e);
	if (ret)
		return ret;
	req->slots |= 1u << slot;
	return broadcast(&req->t[slot], &req->t[UMA_SLOT_DST], 0, e);
}

/*
 * What GEMM and convolution have in common in the table of types of &struct
 * accel_gemm_desc: weights in integers have a quantisation, and D goes with A.
 */
int check_product(const struct operand *a, const struct operand *b,
		  const struct operand *d, struct accel_error *e)
{
	bool weights = uma_is_float(a->dtype) && !uma_is_float(b->dtype);
	bool ok;

	if (weights && !uma_is_block(b->dtype) && b->quant.scheme == ACCEL_QUANT_NONE)
		return bad(e, -EINVAL, b->name, "quant.scheme",
			   "integers by floating-point numbers need a quantisation");
	if (uma_is_int8(a->dtype))
		ok = !uma_is_int4(d->dtype);
	else if (a->dtype == ACCEL_F32 && !weights)
		ok = uma_is_float(d->dtype);
	else
		ok = d->dtype == a->dtype || d->dtype == ACCEL_F32;
	if (!ok)
		return bad(e, -EINVAL, d->name, "dtype",
			   "%s is no result of %s by %s", accel_dtype_name(d->dtype),
			   accel_dtype_name(a->dtype), accel_dtype_name(b->dtype));
	return 0;
}

/**
 * desc_tensor - a tensor of a request's descriptor, in a copy of that
 * @req: request
 * @t: tensor, or NULL
 * @copy: copy
 *
 * Return: it, NULL if it is not in the descriptor.
 */
struct accel_tensor *desc_tensor(const struct request *req, const struct accel_tensor *t,
				 union any_desc *copy)
{
	const char *from = (const char *)t, *base = (const char *)req->desc;

	if (from < base || from >= base + sizeof(*copy))
		return NULL;
	return (struct accel_tensor *)((char *)copy + (from - base));
}

/* Tensors of blocks are where the operation reads some, and nowhere else. */
static int check_formats(const struct request *req, struct accel_error *e)
{
	const uint32_t takes = uma_op_class(req->opcode)->blocks;
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++)
		if ((req->slots >> s & 1) && uma_is_block(req->t[s].dtype) && !(takes >> s & 1))
			return bad(e, -EINVAL, req->t[s].name, "dtype",
				   "%s: tensors of blocks are right matrices, tables of a gather and what is copied",
				   accel_dtype_name(req->t[s].dtype));
	return 0;
}

/* Operations that have no layouts to choose from, or pieces, must know where a tensor lies. */
int tensor_closed(const struct accel_tensor *t, const char *name, struct accel_error *e)
{
	return tensor_open(t) ? bad(e, -EOPNOTSUPP, name, "flags",
				    "this operation leaves no layout to the plan") : 0;
}

/* Layouts are left to a plan where there are some to choose from. */
static int check_layouts(const struct request *req, struct accel_error *e)
{
	uint32_t s;

	for (s = 0; !req->parts && s < REQUEST_SLOTS; s++) {
		if (!(req->slots >> s & 1) || !tensor_open(req->t[s].from))
			continue;
		if (!req->class->layouts)
			return tensor_closed(req->t[s].from, req->t[s].name, e);
		if (req->pack && s == UMA_SLOT_B)
			return bad(e, -EINVAL, req->t[s].name, "flags",
				   "what is packed is read while planning: it lies somewhere already");
	}
	for (s = 0; req->parts && s < ACCEL_ARG_COUNT; s++)
		if (req->parts->tensor[s] && tensor_open(req->parts->tensor[s]))
			return tensor_closed(req->parts->tensor[s], request_path(req, s), e);
	return 0;
}

/**
 * desc_in - take over what the library knows of a descriptor
 * @desc: the caller's
 * @copy: out
 * @e: filled on failure
 *
 * Return: 0, -EINVAL, -E2BIG.
 */
int desc_in(const struct accel_desc *desc, union any_desc *copy, struct accel_error *e)
{
	const struct op_class *class;
	int ret;

	if (!desc)
		return bad(e, -EINVAL, "desc", "", "no descriptor");
	if (desc->size < sizeof(*desc))
		return bad(e, -EINVAL, "desc", "size",
			   "%u bytes are less than the header", desc->size);
	class = op_class(desc->op);
	if (!class)
		return bad(e, -EINVAL, "desc", "op", "%u is not an operation",
			   desc->op);
	/* There has been one version only: its size is the smallest. */
	ret = struct_in(copy, class->size, desc, class->size);
	if (ret == -E2BIG)
		return bad(e, ret, accel_op_name(desc->op), "hdr.size",
			   "the descriptor has fields, not zero, that this library does not know");
	if (ret)
		return bad(e, ret, accel_op_name(desc->op), "hdr.size",
			   "%u bytes are less than the %zu of the descriptor",
			   desc->size, class->size);
	return check_header(&copy->hdr, accel_op_name(desc->op), e);
}

/**
 * request_lower - turn a descriptor that was taken over into a request
 * @copy: descriptor; the request points into it
 * @req: out, for request_release()
 * @e: filled on failure
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP, -ENOMEM.
 */
int request_lower(const union any_desc *copy, struct request *req, struct accel_error *e)
{
	const struct op_class *class = op_class(copy->hdr.op);
	int ret;

	memset(req, 0, sizeof(*req));
	req->op = copy->hdr.op;
	req->engine = copy->hdr.engine;
	req->class = class;
	req->desc = copy;
	req->opcode = class->opcode;
	ret = class->lower(copy, req, e);
	if (!ret)
		ret = check_formats(req, e);
	if (!ret)
		ret = check_layouts(req, e);
	if (!ret)
		ret = length_lower(req, e);
	if (ret)
		request_release(req);
	return ret;
}

/**
 * request_create - check a descriptor that says all and turn it into a request
 * @desc: the caller's
 * @copy: out: what the library knows of it; the request points into it
 * @req: out, for request_release()
 * @e: filled on failure
 *
 * Return: 0, -EINVAL, -E2BIG, -EOPNOTSUPP, -ENOMEM.
 */
int request_create(const struct accel_desc *desc, union any_desc *copy,
		   struct request *req, struct accel_error *e)
{
	int ret = desc_in(desc, copy, e);
	uint32_t s;

	memset(req, 0, sizeof(*req));
	if (!ret)
		ret = request_lower(copy, req, e);
	for (s = 0; !ret && s < REQUEST_SLOTS; s++)
		if ((req->slots >> s & 1) && tensor_open(req->t[s].from))
			ret = bad(e, -EINVAL, req->t[s].name, "flags",
				  "the layout is left to a plan, and there is none yet");
	if (ret)
		request_release(req);
	return ret;
}
