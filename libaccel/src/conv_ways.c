// SPDX-License-Identifier: MIT
/*
 * The ways to compute a convolution, and which of them there are for a request.
 */
#include <endian.h>
#include <string.h>

#include "planner.h"

/*
 * Columns that the engines' matrix units have at least: fewer output channels in
 * a group leave the rest idle.
 */
#define UNIT_COLUMNS	16
/* A convolution tap by tap reads its input again for each. */
#define DIRECT_COST	4

static const char * const algorithms[ACCEL_CONV_ALGORITHM_COUNT] = {
	[ACCEL_CONV_AUTO] = "auto",
	[ACCEL_CONV_DIRECT] = "direct",
	[ACCEL_CONV_IMPLICIT] = "implicit GEMM",
	[ACCEL_CONV_GEMM] = "1x1 as GEMM",
};

/* The same as candidates that the caller did not ask for. */
static const char * const asked_for[ACCEL_CONV_ALGORITHM_COUNT] = {
	[ACCEL_CONV_DIRECT] = "the descriptor asks for direct",
	[ACCEL_CONV_IMPLICIT] = "the descriptor asks for implicit GEMM",
	[ACCEL_CONV_GEMM] = "the descriptor asks for 1x1 as GEMM",
};

const char *accel_conv_algorithm_name(uint32_t algorithm)
{
	return algorithm < ACCEL_CONV_ALGORITHM_COUNT ? algorithms[algorithm] : NULL;
}

const char *conv_func_name(uint32_t func)
{
	return func == UMA_CONV_DIRECT ? "direct" : "implicit GEMM";
}

static uint64_t mul_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static const struct uma_conv_params *params_of(const struct request *req)
{
	return (const void *)req->params;
}

static void refuse(struct way *way, const char *field, const char *text)
{
	way->field = field;
	way->text = text;
}

/* Output channels lie side by side, then input channels, then taps. */
static void order_weights(struct request *req)
{
	const struct operand *b = &req->t[UMA_SLOT_B];
	bool transposed = le32toh(params_of(req)->flags) & UMA_CONV_TRANSPOSED;
	uint32_t i;

	req->b_ordered = true;
	req->b_order[0] = transposed;
	req->b_order[1] = !transposed;
	for (i = 2; i < b->rank; i++)
		req->b_order[i] = b->rank + 1 - i;
}

static void set_func(struct request *req, uint32_t func)
{
	struct uma_conv_params w;

	memcpy(&w, req->params, sizeof(w));
	w.func = htole32(func);
	memcpy(req->params, &w, sizeof(w));
	req->funcs = 1u << func;
	order_weights(req);
}

static void way_direct(const struct request *req, struct way *way)
{
	way->req = *req;
	way->req.work = mul_sat(req->macs, DIRECT_COST);
	set_func(&way->req, UMA_CONV_DIRECT);
}

static void way_implicit(const struct request *req, struct way *way)
{
	uint64_t m = (uint64_t)req->t[UMA_SLOT_DST].dims[1] /
		     le32toh(params_of(req)->groups);
	uint64_t padded = (m + UNIT_COLUMNS - 1) / UNIT_COLUMNS * UNIT_COLUMNS;

	way->req = *req;
	way->req.work = m ? mul_sat(req->macs / m, padded) : req->macs;
	set_func(&way->req, UMA_CONV_IMPLICIT);
}

/* Channels last: [N, height, width, C] */
static void channels_last(struct operand *t)
{
	int64_t dim = t->dims[1], stride = t->strides[1];
	uint32_t i;

	for (i = 1; i + 1 < t->rank; i++) {
		t->dims[i] = t->dims[i + 1];
		t->strides[i] = t->strides[i + 1];
	}
	t->dims[i] = dim;
	t->strides[i] = stride;
}

/* Pixels are rows of A; those that the stride leaves out are not read. */
static void view_input(const struct request *req, struct operand *a)
{
	const struct uma_conv_params *w = params_of(req);
	const struct operand *d = &req->t[UMA_SLOT_DST];
	uint32_t i;

	for (i = 2; i < a->rank; i++) {
		a->dims[i] = d->dims[i];
		a->strides[i] *= le32toh(w->stride[i - 2]);
	}
	channels_last(a);
}

/* Weights are [M, C]; B is [C, M], the same for all images and rows. */
static void view_weights(const struct request *req, struct operand *b)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	int64_t c = b->dims[1], m = b->dims[0];
	int64_t cs = b->strides[1], ms = b->strides[0];
	uint32_t i;

	for (i = 0; i + 2 < b->rank; i++) {
		b->dims[i] = i ? d->dims[i + 1] : d->dims[0];
		b->strides[i] = 0;
	}
	b->dims[i] = c;
	b->strides[i] = cs;
	b->dims[i + 1] = m;
	b->strides[i + 1] = ms;
	if (b->quant.scheme == ACCEL_QUANT_CHANNEL)
		b->quant.axis = b->rank - 1;
}

static void way_gemm(const struct request *req, struct way *way)
{
	const struct accel_conv_desc *desc = &req->desc->conv;
	const struct operand *b = &req->t[UMA_SLOT_B];
	struct accel_error e = ACCEL_ERROR_INIT;
	struct request *r = &way->req;
	uint32_t i, s;

	*r = *req;
	if (desc->flags & ACCEL_CONV_TRANSPOSED)
		refuse(way, "conv.flags", "a transposed convolution is not a GEMM");
	else if (desc->groups > 1)
		refuse(way, "conv.groups", "only a convolution of one group is a GEMM");
	for (i = 0; i + 2 < b->rank && !way->field; i++) {
		if (b->dims[2 + i] != 1)
			refuse(way, i ? "conv.b.dims[3]" : "conv.b.dims[2]",
			       "only a convolution with a kernel of 1 by 1 is a GEMM");
		else if (desc->pad_before[i] || desc->pad_after[i])
			refuse(way, desc->pad_before[i] ?
			       (i ? "conv.pad_before[1]" : "conv.pad_before[0]") :
			       (i ? "conv.pad_after[1]" : "conv.pad_after[0]"),
			       "only a convolution without padding is a GEMM");
	}
	if (way->field)
		return;
	view_input(req, &r->t[UMA_SLOT_A]);
	view_weights(req, &r->t[UMA_SLOT_B]);
	for (s = 0; s < REQUEST_SLOTS; s++)
		if (s != UMA_SLOT_A && s != UMA_SLOT_B && (r->slots >> s & 1))
			channels_last(&r->t[s]);
	for (s = UMA_SLOT_A; s <= UMA_SLOT_B; s++)
		if (operand_extent(&r->t[s], &e))
			refuse(way, "conv.a.dims[0]", "the rows do not fit into an address space");
	r->class = op_class(ACCEL_OP_GEMM);
	r->opcode = UMA_OP_GEMM;
	r->alpha = 1;
	r->funcs = 0;
}

/**
 * conv_way - a convolution by an algorithm
 * @req: request
 * @algorithm: &enum accel_conv_algorithm but ACCEL_CONV_AUTO
 * @way: out; field and text are set if it cannot be done so
 */
void conv_way(const struct request *req, uint32_t algorithm, struct way *way)
{
	way->name = algorithms[algorithm];
	way->field = NULL;
	way->text = NULL;
	way->unwanted = NULL;
	switch (algorithm) {
	case ACCEL_CONV_DIRECT:
		way_direct(req, way);
		break;
	case ACCEL_CONV_IMPLICIT:
		way_implicit(req, way);
		break;
	default:
		way_gemm(req, way);
		break;
	}
}

uint32_t conv_ways(const struct request *req, struct way *ways)
{
	static const uint8_t order[] = {
		ACCEL_CONV_GEMM, ACCEL_CONV_IMPLICIT, ACCEL_CONV_DIRECT,
	};
	uint32_t i, asked = req->desc->conv.algorithm;

	for (i = 0; i < sizeof(order); i++) {
		conv_way(req, order[i], &ways[i]);
		if (asked && asked != order[i])
			ways[i].unwanted = asked_for[asked];
	}
	return i;
}
