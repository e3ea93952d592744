// SPDX-License-Identifier: MIT
/*
 * The ways to compute a convolution, and which of them there are for a request.
 */
#include <endian.h>
#include <string.h>

#include "driver/model/uma_conv.h"
#include "ops.h"

/*
 * Columns that the engines' matrix units have at least: fewer output channels in
 * a group leave the rest idle.
 */
#define UNIT_COLUMNS	16
/* A convolution tap by tap reads its input again for each. */
#define DIRECT_COST	4
/* Products of small matrices, or of channels that do not lie side by side */
#define STRIDED_COST	2

static const char * const algorithms[ACCEL_CONV_ALGORITHM_COUNT] = {
	[ACCEL_CONV_AUTO] = "auto",
	[ACCEL_CONV_DIRECT] = "direct",
	[ACCEL_CONV_IMPLICIT] = "implicit GEMM",
	[ACCEL_CONV_GEMM] = "1x1 as GEMM",
	[ACCEL_CONV_WINOGRAD_2] = "Winograd F(2x2, 3x3)",
	[ACCEL_CONV_WINOGRAD_4] = "Winograd F(4x4, 3x3)",
	[ACCEL_CONV_WINOGRAD_6] = "Winograd F(6x6, 3x3)",
};

/* The same as candidates that the caller did not ask for. */
static const char * const asked_for[ACCEL_CONV_ALGORITHM_COUNT] = {
	[ACCEL_CONV_DIRECT] = "the descriptor asks for direct",
	[ACCEL_CONV_IMPLICIT] = "the descriptor asks for implicit GEMM",
	[ACCEL_CONV_GEMM] = "the descriptor asks for 1x1 as GEMM",
	[ACCEL_CONV_WINOGRAD_2] = "the descriptor asks for Winograd F(2x2, 3x3)",
	[ACCEL_CONV_WINOGRAD_4] = "the descriptor asks for Winograd F(4x4, 3x3)",
	[ACCEL_CONV_WINOGRAD_6] = "the descriptor asks for Winograd F(6x6, 3x3)",
};

const char *accel_conv_algorithm_name(uint32_t algorithm)
{
	return algorithm < ACCEL_CONV_ALGORITHM_COUNT ? algorithms[algorithm] : NULL;
}

const char *conv_func_name(uint32_t bit)
{
	static const uint8_t algorithm[UMA_CONV_COUNT] = {
		[UMA_CONV_DIRECT] = ACCEL_CONV_DIRECT,
		[UMA_CONV_IMPLICIT] = ACCEL_CONV_IMPLICIT,
		[UMA_CONV_WINOGRAD_2] = ACCEL_CONV_WINOGRAD_2,
		[UMA_CONV_WINOGRAD_4] = ACCEL_CONV_WINOGRAD_4,
		[UMA_CONV_WINOGRAD_6] = ACCEL_CONV_WINOGRAD_6,
	};

	if (1u << bit == UMA_CONV_CAP_DILATION)
		return "Winograd with dilation";
	return algorithms[bit < UMA_CONV_COUNT ? algorithm[bit] : ACCEL_CONV_AUTO];
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
}

static void way_direct(const struct request *req, struct way *way)
{
	way->req = *req;
	way->req.work = mul_sat(req->macs, DIRECT_COST);
	set_func(&way->req, UMA_CONV_DIRECT);
	order_weights(&way->req);
}

static void way_implicit(const struct request *req, struct way *way)
{
	uint64_t m = (uint64_t)req->t[UMA_SLOT_DST].dims[1] /
		     le32toh(params_of(req)->groups);
	uint64_t padded = (m + UNIT_COLUMNS - 1) / UNIT_COLUMNS * UNIT_COLUMNS;

	way->req = *req;
	way->req.work = m ? mul_sat(req->macs / m, padded) : req->macs;
	set_func(&way->req, UMA_CONV_IMPLICIT);
	order_weights(&way->req);
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

/* Rows of a GEMM are read and written along its sums and columns. */
static bool has_far_channels(const struct request *r)
{
	const struct operand *a = &r->t[UMA_SLOT_A], *d = &r->t[UMA_SLOT_DST];

	return (a->dims[a->rank - 1] > 1 && a->strides[a->rank - 1] != 1) ||
	       (d->dims[d->rank - 1] > 1 && d->strides[d->rank - 1] != 1);
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
	/* Rows of pixels that do not follow each other are matrices of their own. */
	for (i = 0; i + 2 < b->rank && !way->field; i++)
		if (le32toh(params_of(req)->stride[i]) != 1)
			r->work = mul_sat(req->macs, STRIDED_COST);
	if (has_far_channels(r))
		r->work = mul_sat(req->macs, STRIDED_COST);
	r->class = op_class(ACCEL_OP_GEMM);
	r->opcode = UMA_OP_GEMM;
	r->alpha = 1;
	r->funcs = 0;
}

/* What stands in the way of Winograd's algorithms? */
static void check_winograd(const struct request *req, uint32_t edge, struct way *way)
{
	const struct accel_conv_desc *desc = &req->desc->conv;
	const struct operand *a = &req->t[UMA_SLOT_A], *b = &req->t[UMA_SLOT_B];
	const struct uma_conv_params *w = params_of(req);
	uint32_t i;

	if (a->rank != 4)
		refuse(way, "conv.a.rank", "Winograd's algorithm is for two dimensions");
	else if (desc->flags & ACCEL_CONV_TRANSPOSED)
		refuse(way, "conv.flags",
		       "Winograd's algorithm does not do transposed convolutions");
	else if (desc->groups > 1)
		refuse(way, "conv.groups", "Winograd's algorithm is for one group");
	else if (!uma_is_float(a->dtype))
		refuse(way, "conv.a.dtype",
		       "Winograd's algorithm is for floating-point numbers");
	else if (b->dtype != a->dtype)
		refuse(way, "conv.b.dtype",
		       "Winograd's algorithm is for weights of the input's type");
	else if (edge == 6 && a->dtype != ACCEL_F32)
		refuse(way, "conv.a.dtype", "F(6x6, 3x3) is for fp32");
	else if (!req->pack)
		refuse(way, "conv.flags",
		       "Winograd's algorithm needs constant weights: ACCEL_CONV_PACK_B");
	for (i = 0; i < 2 && !way->field; i++) {
		if (b->dims[2 + i] != 3)
			refuse(way, i ? "conv.b.dims[3]" : "conv.b.dims[2]",
			       "Winograd's algorithm is for kernels of 3 by 3");
		else if (le32toh(w->stride[i]) != 1)
			refuse(way, i ? "conv.stride[1]" : "conv.stride[0]",
			       "Winograd's algorithm is for a stride of 1");
	}
}

static uint64_t divup(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static uint64_t tiles_of(const struct request *req, uint32_t axis, uint32_t edge)
{
	return uma_wino_tiles((uint32_t)req->t[UMA_SLOT_DST].dims[2 + axis],
			      le32toh(params_of(req)->dilation[axis]), edge);
}

/*
 * Products of a tile: (edge + 2)^2 for each pair of channels; for each channel of
 * the input and of the output a transform of about as many additions as products
 * of a row, each way, which run at a quarter of the rate of products.
 */
static uint64_t winograd_work(uint64_t tiles, uint64_t counted, uint64_t c, uint64_t m,
			      uint32_t edge)
{
	uint64_t points = (edge + 2ul) * (edge + 2), work = mul_sat(counted, mul_sat(c, m));
	uint64_t turned = mul_sat(tiles, mul_sat(c + m, 4ul * (edge + 2)));

	return __builtin_add_overflow(work, turned, &work) ? UINT64_MAX : mul_sat(points, work);
}

/*
 * What the kernels in process cost beside that, which no chip's description says. Each weight
 * is read from far away: that takes as long as the products of so many tiles. Products of 16
 * bits are those of transformed numbers, binary32, at half the rate. The forms of a whole model
 * come from memory: with 24 tiles two ways that take as long as each other are told apart by
 * which is read sooner, and held in less. With dilation the outputs of a tile are not side by
 * side, and storing one takes as long as a few thousand products for each 64 channels.
 */
#define WEIGHT_TILES	24u
#define OUTPUT_WORK	5000u
#define OUTPUT_CHANNELS	64u

static void price_winograd(const struct request *req, uint64_t c, uint32_t edge,
			   struct request *way)
{
	const struct operand *d = &req->t[UMA_SLOT_DST];
	uint64_t tiles = mul_sat(mul_sat(tiles_of(req, 0, edge), tiles_of(req, 1, edge)),
				 d->dims[0]);
	uint64_t m = d->dims[1], stores = le32toh(params_of(req)->dilation[1]) == 1 ? 0 :
		mul_sat(mul_sat(mul_sat(d->dims[0], d->dims[2]), d->dims[3]),
			divup(m, OUTPUT_CHANNELS) * OUTPUT_WORK);

	way->work = winograd_work(tiles, tiles, c, m, edge);
	way->host_work = mul_sat(winograd_work(tiles, tiles > WEIGHT_TILES ? tiles : WEIGHT_TILES,
					       c, m, edge),
				 req->t[UMA_SLOT_A].dtype == ACCEL_F32 ? 1 : 2);
	if (__builtin_add_overflow(way->host_work, stores, &way->host_work))
		way->host_work = UINT64_MAX;
}

static bool has_dilation(const struct request *req)
{
	const struct uma_conv_params *w = params_of(req);

	return le32toh(w->dilation[0]) > 1 || le32toh(w->dilation[1]) > 1;
}

static void way_winograd(const struct request *req, uint32_t edge, struct way *way)
{
	struct request *r = &way->req;
	struct operand *b = &r->t[UMA_SLOT_B];
	struct accel_error e = ACCEL_ERROR_INIT;
	int64_t c, m, points = edge + 2;

	*r = *req;
	check_winograd(req, edge, way);
	if (way->field)
		return;
	c = req->t[UMA_SLOT_B].dims[1];
	m = req->t[UMA_SLOT_B].dims[0];
	b->dtype = ACCEL_F32;
	b->dims[0] = points;
	b->dims[1] = points;
	b->dims[2] = c;
	b->dims[3] = m;
	if (__builtin_mul_overflow(c, m, &b->strides[1]) ||
	    __builtin_mul_overflow(b->strides[1], points, &b->strides[0]))
		refuse(way, "conv.b.dims[0]", "the transformed weights do not fit into an address space");
	b->strides[2] = m;
	b->strides[3] = 1;
	if (!way->field && operand_extent(b, &e))
		refuse(way, "conv.b.dims[0]", "the transformed weights do not fit into an address space");
	r->winograd = edge;
	price_winograd(req, (uint64_t)c, edge, r);
	set_func(r, UMA_CONV_WINOGRAD_2 + (edge - 2) / 2);
	if (has_dilation(req))
		r->funcs |= UMA_CONV_CAP_DILATION;
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
	case ACCEL_CONV_WINOGRAD_2:
	case ACCEL_CONV_WINOGRAD_4:
	case ACCEL_CONV_WINOGRAD_6:
		way_winograd(req, 2 + 2 * (algorithm - ACCEL_CONV_WINOGRAD_2), way);
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
		ACCEL_CONV_WINOGRAD_2, ACCEL_CONV_WINOGRAD_4, ACCEL_CONV_WINOGRAD_6,
	};
	bool allowed = req->desc->conv.flags & ACCEL_CONV_WINOGRAD;
	uint32_t i, asked = req->desc->conv.algorithm;

	for (i = 0; i < sizeof(order); i++) {
		conv_way(req, order[i], &ways[i]);
		if (asked && asked != order[i])
			ways[i].unwanted = asked_for[asked];
		else if (!asked && order[i] == ACCEL_CONV_WINOGRAD_6)
			ways[i].unwanted = "it is less exact: it has to be asked for by name";
		else if (!asked && order[i] >= ACCEL_CONV_WINOGRAD_2 && !allowed)
			ways[i].unwanted = "it is less exact: ACCEL_CONV_WINOGRAD allows it";
	}
	return i;
}
