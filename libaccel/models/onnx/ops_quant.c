// SPDX-License-Identifier: MIT
/*
 * Quantised operators. A number is read and written by one node where an engine has its
 * scales, and computed from parts where they are not constant, are blocked, or its type
 * has 16 bits. Operators on quantised operands are the real ones between such nodes:
 * passes of the graph make integer operations of them.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* --- numbers ------------------------------------------------------------------------- */

static bool is_byte(uint32_t type)
{
	return type == ACCEL_U8 || type == ACCEL_S8;
}

/* Smallest and largest number of an integer of at most 16 bits */
static void range_of(uint32_t type, double *min, double *max)
{
	bool negative = type == ACCEL_S8 || type == ACCEL_HOST_S16 || type == ACCEL_S4;
	double n = ldexp(1, (int)accel_type_bits(type));

	*min = negative ? -n / 2 : 0;
	*max = negative ? n / 2 - 1 : n - 1;
}

static uint64_t count_of(const struct ref *ref)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < ref->rank; i++)
		n *= (uint64_t)ref->dims[i];
	return n;
}

/* A constant byte, or none, which is 0; false: it is not constant. */
static bool zero_point(const struct ref *ref, uint64_t index, int32_t *zero)
{
	*zero = 0;
	if (!ref->here)
		return true;
	if (!ref->data || index >= count_of(ref))
		return false;
	if (ref->type == ACCEL_S8)
		*zero = ((const int8_t *)ref->data)[index];
	else if (ref->type == ACCEL_U8)
		*zero = ((const uint8_t *)ref->data)[index];
	else
		return false;
	return true;
}

static bool scale_at(const struct ref *ref, uint64_t index, float *scale)
{
	if (!ref->data || ref->type != ACCEL_F32 || index >= count_of(ref))
		return false;
	memcpy(scale, (const char *)ref->data + index * sizeof(*scale), sizeof(*scale));
	return isfinite(*scale) && *scale > 0;
}

/* As an engine has it; *@args beside the two that there are get tables. False: it has not. */
static int engine_quant(struct import *im, const struct scaled *s, uint32_t rank, uint32_t arg,
			struct accel_quant *quant, struct accel_graph_arg *args, uint32_t *count)
{
	uint64_t i, n = count_of(&s->scale), points = s->zero.here ? count_of(&s->zero) : 0;
	uint32_t axis, zeros;
	bool any = false;
	float scale;
	int ret;

	if (s->block || !rank || rank > ACCEL_MAX_RANK || s->scale.rank > 1 || !n)
		return 0;
	if (s->scale.data && s->zero.data && points != n && points != 1)
		return im_fail(im, -EBADMSG, "not as many zero points as scales");
	for (i = 0; i < n; i++) {
		if (!scale_at(&s->scale, i, &scale) ||
		    !zero_point(&s->zero, points == 1 ? 0 : i, &quant->zero))
			return 0;
		any |= quant->zero != 0;
	}
	if (n == 1) {
		quant->scheme = ACCEL_QUANT_TENSOR;
		quant->scale = scale;
		return 1;
	}
	/* A table of them has as many as there are scales. */
	if (any && points != n)
		return 0;
	ret = im_axis(im, s->axis, rank, &axis);
	if (ret)
		return ret;
	quant->zero = 0;
	quant->scheme = ACCEL_QUANT_CHANNEL;
	quant->axis = axis;
	args[(*count)++] = (struct accel_graph_arg){ arg | ACCEL_ARG_SCALES, s->scale.value };
	if (any) {
		ret = im_cast(im, s->zero.value, ACCEL_S32, &zeros);
		args[(*count)++] = (struct accel_graph_arg){ arg | ACCEL_ARG_ZEROS, zeros };
	}
	return ret ? ret : 1;
}

/* Scales or zero points of blocks, each repeated along a dimension of its own, then that of @x */
static int spread_blocks(struct import *im, const struct ref *x, const struct scaled *s,
			 uint32_t axis, uint32_t *out)
{
	uint32_t table = *out, size = v_shape_of(im, x->value, axis, (int64_t)axis + 1), lists[4];
	uint32_t axes = v_ints(im, 1, (const int64_t[]){ axis }), from;
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	const int64_t one = 1;

	/* As many blocks as there are, of which the last may be a part of one */
	lists[0] = v_shape_of(im, table, 0, axis);
	lists[1] = v_with(im, ACCEL_BINARY_ADD, size, (double)(s->block - 1));
	lists[1] = v_with(im, ACCEL_BINARY_QUOT, lists[1], (double)s->block);
	lists[2] = v_ints(im, 1, &one);
	lists[3] = v_shape_of(im, table, (int64_t)axis + 1, INT64_MAX);
	table = v_reshape(im, table, 4, lists);
	lists[2] = v_ints(im, 1, &s->block);
	table = v_shaped(im, ACCEL_SHAPE_EXPAND, table, v_concat(im, 0, 4, lists));
	lists[1] = v_with(im, ACCEL_BINARY_MUL, lists[1], (double)s->block);
	lists[2] = lists[3];
	table = v_reshape(im, table, 3, lists);
	from = v_ints(im, 1, (const int64_t[]){ 0 });
	return im->error.code ? im->error.code :
	       im_node(im, &cut.hdr, ARGS({ ACCEL_ARG_A, table }, { ACCEL_ARG_B, from },
					  { ACCEL_ARG_C, size }, { ACCEL_ARG_AUX0, axes }), 5, out);
}

/* Scales or zero points with the dimensions that broadcast to those of @x */
static int spread(struct import *im, const struct ref *x, const struct scaled *s,
		  const struct ref *table, uint32_t *out)
{
	struct accel_shape_desc reshape = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	uint32_t axis, i, list;
	int ret = tensor_bytes(im, table, out);

	/* Half bytes cannot be cut apart. */
	if (!ret && accel_type_bits(table->type) < 8)
		ret = im_cast(im, *out, ACCEL_F32, out);
	if (ret)
		return ret;
	/* One for all, unless there is one only where a symbol is 1 */
	if (!table->rank || (table->rank == 1 && table->dims[0] == 1 &&
			     !accel_graph_varies(im->model->graph, table->value, 0)))
		return 0;
	ret = im_axis(im, s->axis, x->rank, &axis);
	if (ret)
		return ret;
	if (table->rank != (s->block ? x->rank : 1))
		return im_fail(im, -EBADMSG, "scales of %u dimensions", table->rank);
	if (s->block && x->rank >= ACCEL_GRAPH_MAX_RANK)
		return im_fail(im, -EOPNOTSUPP, "blocks of %u dimensions", x->rank);
	if (s->block)
		return spread_blocks(im, x, s, axis, out);
	for (i = 0; i < x->rank; i++)
		dims[i] = i == axis ? -1 : 1;
	ret = im_list(im, x->rank, dims, &list);
	return ret ? ret : im_two(im, &reshape.hdr, *out, list, out);
}

/* (x - zero) * scale, computed in fp32 or fp64, in the type of the scale */
int dequantize(struct import *im, const struct ref *x, const struct scaled *s, uint32_t *out)
{
	struct accel_graph_arg args[4] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW },
					   { ACCEL_ARG_A, x->value } };
	const uint32_t real = s->scale.type == ACCEL_HOST_F64 ? ACCEL_HOST_F64 : ACCEL_F32;
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	uint32_t count = 2, scale, zero, value;
	int ret = 0;

	copy.d.dtype = real;
	if (is_byte(x->type) && s->scale.type == ACCEL_F32)
		ret = engine_quant(im, s, x->rank, ACCEL_ARG_A, &copy.a.quant, args, &count);
	if (ret < 0)
		return ret;
	if (ret)
		return im_node(im, &copy.hdr, args, count, out);
	copy.a.quant = (struct accel_quant)ACCEL_QUANT_INIT;
	ret = tensor_bytes(im, x, &value);
	/* A difference of integers is one before it is rounded. */
	if (!ret && s->zero.here && x->type == ACCEL_S32) {
		ret = spread(im, x, s, &s->zero, &zero);
		if (!ret)
			ret = im_binary(im, ACCEL_BINARY_SUB, value, zero, &value);
	}
	if (!ret)
		ret = im_cast(im, value, real, &value);
	if (!ret && s->zero.here && x->type != ACCEL_S32) {
		ret = spread(im, x, s, &s->zero, &zero);
		if (!ret)
			ret = im_cast(im, zero, real, &zero);
		if (!ret)
			ret = im_binary(im, ACCEL_BINARY_SUB, value, zero, &value);
	}
	if (!ret)
		ret = spread(im, x, s, &s->scale, &scale);
	if (!ret)
		ret = im_cast(im, scale, real, &scale);
	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_MUL, value, scale, &value);
	return ret ? ret : im_cast(im, value, s->scale.type, out);
}

/* round(x / scale) + zero, saturated */
static int quantize(struct import *im, const struct ref *x, const struct scaled *s, uint32_t type,
		    uint32_t *out)
{
	struct accel_graph_arg args[4] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW },
					   { ACCEL_ARG_A, x->value } };
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	struct accel_unary_desc unary = ACCEL_UNARY_DESC_INIT;
	uint32_t count = 2, scale, zero, value;
	double min, max;
	int ret = 0;

	copy.d.dtype = type;
	if (is_byte(type))
		ret = engine_quant(im, s, x->rank, ACCEL_ARG_D, &copy.d.quant, args, &count);
	if (ret < 0)
		return ret;
	if (ret)
		return im_node(im, &copy.hdr, args, count, out);
	copy.d.quant = (struct accel_quant)ACCEL_QUANT_INIT;
	ret = im_cast(im, x->value, ACCEL_F32, &value);
	if (!ret)
		ret = spread(im, x, s, &s->scale, &scale);
	if (!ret)
		ret = im_cast(im, scale, ACCEL_F32, &scale);
	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_DIV, value, scale, &value);
	unary.func = ACCEL_UNARY_ROUND;
	if (!ret)
		ret = im_one(im, &unary.hdr, value, &value);
	if (!ret && s->zero.here) {
		ret = spread(im, x, s, &s->zero, &zero);
		if (!ret)
			ret = im_cast(im, zero, ACCEL_F32, &zero);
		if (!ret)
			ret = im_binary(im, ACCEL_BINARY_ADD, value, zero, &value);
	}
	range_of(type, &min, &max);
	unary.func = ACCEL_UNARY_ACT;
	unary.epilogue.act = ACCEL_ACT_CLAMP;
	unary.epilogue.p0 = (float)min;
	unary.epilogue.p1 = (float)max;
	if (!ret)
		ret = im_one(im, &unary.hdr, value, &value);
	return ret ? ret : im_one(im, &copy.hdr, value, out);
}

static void take_scaled(const struct import *im, uint32_t at, struct scaled *s)
{
	memset(s, 0, sizeof(*s));
	if (at < im->in_count)
		s->scale = im->in[at];
	if (at + 1 < im->in_count)
		s->zero = im->in[at + 1];
}

/* The axis, blocks and type (0: none is said) of QuantizeLinear and DequantizeLinear */
static int take_axis(struct import *im, struct scaled *s, uint32_t *type)
{
	const int64_t onnx = im_int(im, "output_dtype", 0);

	take_scaled(im, 1, s);
	*type = type_of(onnx);
	if (onnx && !*type)
		return no_type(im, onnx, "output_dtype");
	s->axis = im_int(im, "axis", 1);
	s->block = im_int(im, "block_size", 0);
	if (s->block < 0 || s->block > 1 << 20)
		return im_fail(im, -EBADMSG, "blocks of %lld", (long long)s->block);
	return 0;
}

static int dequantize_linear(struct import *im, uint32_t arg)
{
	struct scaled s;
	uint32_t out, type;
	int ret = im_need(im, 2);

	(void)arg;
	ret = ret ? ret : take_axis(im, &s, &type);
	ret = ret ? ret : dequantize(im, &im->in[0], &s, &out);
	ret = ret ? ret : halves_note(im, &im->in[0], &s, out);
	if (!ret && type)
		ret = im_cast(im, out, type, &out);
	return ret ? ret : im_give(im, 0, out);
}

static int quantize_linear(struct import *im, uint32_t arg)
{
	uint32_t out, type;
	struct scaled s;
	int ret = im_need(im, 2);

	(void)arg;
	ret = ret ? ret : take_axis(im, &s, &type);
	if (ret)
		return ret;
	type = s.zero.here ? s.zero.type : type ? type : ACCEL_U8;
	if (type_is_real(type) || accel_type_bits(type) > 16)
		return im_fail(im, -EOPNOTSUPP, "into %s", accel_type_name(type));
	ret = quantize(im, &im->in[0], &s, type, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* --- scales that follow from the numbers ----------------------------------------------- */

/* Bytes of @x, their scale (F32) and zero point (S32), both without dimensions */
static int dynamic(struct import *im, uint32_t x, uint32_t *out, uint32_t *scale, uint32_t *zero)
{
	struct accel_dynquant_desc d = ACCEL_DYNQUANT_DESC_INIT;
	struct accel_graph_arg args[] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW },
					  { ACCEL_ARG_A, x },
					  { ACCEL_ARG_AUX0, ACCEL_VALUE_NEW },
					  { ACCEL_ARG_AUX1, ACCEL_VALUE_NEW } };
	struct accel_shape_desc reshape = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	uint32_t list;
	int ret = im_list(im, 0, NULL, &list);

	d.flags = ACCEL_DYNQUANT_ASYMMETRIC;
	d.d.dtype = ACCEL_U8;
	if (!ret)
		ret = im_node(im, &d.hdr, args, 4, out);
	if (!ret)
		ret = im_two(im, &reshape.hdr, args[2].value, list, scale);
	return ret ? ret : im_two(im, &reshape.hdr, args[3].value, list, zero);
}

static int dynamic_quantize_linear(struct import *im, uint32_t arg)
{
	uint32_t out, scale, zero;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret)
		ret = dynamic(im, im->in[0].value, &out, &scale, &zero);
	if (!ret)
		ret = im_cast(im, zero, ACCEL_U8, &zero);
	/* Operations have a number as a list of one. */
	if (!ret && !im->in[0].rank)
		out = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, out, 0, NULL);
	ret = ret ? ret : im->error.code;
	return ret ? ret : im_give_all(im, (const uint32_t[]){ out, scale, zero }, 3);
}

/* --- exact products -------------------------------------------------------------------- */

/* One constant zero point of all of a tensor, or none */
static bool lone_zero(const struct ref *zero, int32_t *number)
{
	int32_t other;
	uint64_t i;

	if (!zero_point(zero, 0, number))
		return false;
	for (i = 1; zero->here && i < count_of(zero); i++)
		if (!zero_point(zero, i, &other) || other != *number)
			return false;
	return true;
}

/* A zero point as integers of 32 bits; those of rows lie across the columns. */
static int wide_zero(struct import *im, const struct ref *zero, bool rows, uint32_t *out)
{
	struct accel_shape_desc across = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_UNSQUEEZE);
	uint32_t list;
	int ret = im_cast(im, zero->value, ACCEL_S32, out);

	if (ret || !rows || zero->rank != 1)
		return ret;
	ret = im_list(im, 1, (const int64_t[]){ 1 }, &list);
	return ret ? ret : im_two(im, &across.hdr, *out, list, out);
}

/* Take the sums of @x along an axis, less @less in each element, times @zero off @value. */
static int take_off(struct import *im, const struct ref *x, uint32_t axis, uint32_t less,
		    uint32_t zero, uint32_t *value)
{
	struct accel_reduce_desc sum = ACCEL_REDUCE_DESC_INIT;
	uint32_t sums;
	int ret;

	sum.func = ACCEL_REDUCE_SUM;
	sum.axes = ACCEL_AXIS(axis);
	sum.d.dtype = ACCEL_S32;
	ret = im_one(im, &sum.hdr, x->value, &sums);
	if (!ret && less != UINT32_MAX) {
		less = v_binary(im, ACCEL_BINARY_MUL, less,
				v_size_of(im, x->value, axis, ACCEL_S32));
		ret = im_binary(im, ACCEL_BINARY_SUB, sums, less, &sums);
	}
	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_MUL, sums, zero, &sums);
	return ret ? ret : im_binary(im, ACCEL_BINARY_SUB, *value, sums, value);
}

/*
 * The product of @a and @b less their zero points, in S32. Zero points that are not one
 * constant are taken off in the end, by the sums of the other side:
 * (a - p)(b - q) = a b - a q - p (b - q).
 */
static int product(struct import *im, const struct ref *a, const struct ref *b,
		   const struct ref *a_zero, const struct ref *b_zero, uint32_t *out)
{
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	struct accel_graph_arg args[3] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW },
					   { ACCEL_ARG_A, a->value },
					   { ACCEL_ARG_B, b->value } };
	uint32_t p = UINT32_MAX, q = UINT32_MAX;
	bool lone_a, lone_b;
	int32_t za = 0, zb = 0;
	int ret;

	lone_a = lone_zero(a_zero, &za);
	lone_b = lone_zero(b_zero, &zb);
	if ((!lone_a || !lone_b) && (a->rank < 2 || b->rank < 2))
		return im_fail(im, -EOPNOTSUPP, "a vector, and zero points that are not constant");
	d.d.dtype = ACCEL_S32;
	if (lone_a)
		im_less(&d.a, za);
	if (lone_b)
		im_less(&d.b, zb);
	ret = im_node(im, &d.hdr, args, 3, out);
	if (!ret && (!lone_a || (za && !lone_b)))
		ret = wide_zero(im, a_zero, true, &p);
	if (!ret && (!lone_b || (zb && !lone_a)))
		ret = wide_zero(im, b_zero, false, &q);
	if (!ret && !lone_b)
		ret = take_off(im, a, a->rank - 1, lone_a ? p : UINT32_MAX, q, out);
	if (!ret && !lone_a)
		ret = take_off(im, b, b->rank - 2, q, p, out);
	/* Of two vectors it is a number, which operations have as a list. */
	if (!ret && a->rank == 1 && b->rank == 1)
		*out = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, *out, 0, NULL);
	return ret ? ret : im->error.code;
}

static int matmul_integer(struct import *im, uint32_t arg)
{
	uint32_t out = NO_VALUE;
	int ret = im_need(im, 2);

	(void)arg;
	if (!ret)
		ret = product(im, &im->in[0], &im->in[1], im_input(im, 2), im_input(im, 3), &out);
	return ret ? ret : im_give(im, 0, out);
}

/* The product as a real one: times both scales, plus a bias */
static int scaled_product(struct import *im, uint32_t value, uint32_t a_scale, uint32_t b_scale,
			  const struct ref *bias)
{
	uint32_t scale, out;
	int ret = im_cast(im, value, ACCEL_F32, &value);

	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_MUL, a_scale, b_scale, &scale);
	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_MUL, value, scale, &out);
	if (!ret && bias->here)
		ret = im_binary(im, ACCEL_BINARY_ADD, out, bias->value, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* A, B, scale of B, its zero point, bias: A is quantised here. */
static int dynamic_matmul(struct import *im, uint32_t arg)
{
	uint32_t bytes, scale = NO_VALUE, zero = NO_VALUE, out = NO_VALUE;
	struct ref a, a_zero;
	int ret = im_need(im, 3);

	(void)arg;
	if (!ret)
		ret = dynamic(im, im->in[0].value, &bytes, &scale, &zero);
	if (!ret)
		ret = im_ref(im, bytes, &a);
	if (!ret)
		ret = im_ref(im, zero, &a_zero);
	if (!ret)
		ret = product(im, &a, &im->in[1], &a_zero, im_input(im, 3), &out);
	return ret ? ret : scaled_product(im, out, scale, im->in[2].value, im_input(im, 4));
}

/* A, B, scales, zero points, bias */
static int matmul_to_float(struct import *im, uint32_t arg)
{
	uint32_t out = NO_VALUE;
	int ret = im_need(im, 4);

	(void)arg;
	/* A list of scales would lie across the columns. */
	if (!ret && im->in[2].rank &&
	    (im->in[2].rank > 1 || im->in[2].dims[0] != 1 || im_is_symbol(im, 2, 0)))
		ret = im_fail(im, -EOPNOTSUPP, "more than one scale of its first factor");
	if (!ret)
		ret = product(im, &im->in[0], &im->in[1], im_input(im, 4), im_input(im, 5), &out);
	return ret ? ret
		   : scaled_product(im, out, im->in[2].value, im->in[3].value, im_input(im, 6));
}

/* --- real operators between quantised numbers -------------------------------------------- */

/**
 * struct real_op - a real operator for quantised numbers
 * @name: name
 * @real: name of the real one
 * @inputs: quantised inputs: each with its scale and zero point
 */
struct real_op {
	const char *name;
	const char *real;
	uint32_t inputs;
};

static const struct real_op real_ops[] = {
	{ "QLinearConv", "Conv", 2 },
	{ "QLinearMatMul", "MatMul", 2 },
	{ "QLinearAdd", "Add", 2 },
	{ "QLinearMul", "Mul", 2 },
	{ "QLinearSigmoid", "Sigmoid", 1 },
	{ "QLinearLeakyRelu", "LeakyRelu", 1 },
	{ "QLinearAveragePool", "AveragePool", 1 },
	{ "QLinearGlobalAveragePool", "GlobalAveragePool", 1 },
	{ "QLinearSoftmax", "Softmax", 1 },
	{ "QLinearReduceMean", "ReduceMean", 1 },
	{ "QGemm", "Gemm", 2 },
	{ "QLinearWhere", "Where", 2 },
};

/* A bias in steps of both scales, and of what multiplies them */
static int real_bias(struct import *im, const struct ref *bias, const struct scaled *a,
		     const struct scaled *b, float alpha, struct ref *out)
{
	struct ref scale;
	uint32_t value, factor;
	int ret = im_cast(im, bias->value, ACCEL_F32, &value);

	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_MUL, a->scale.value, b->scale.value, &factor);
	if (!ret)
		ret = im_ref(im, factor, &scale);
	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_MUL, value, factor, &value);
	if (!ret && alpha != 1)
		value = v_with(im, ACCEL_BINARY_MUL, value, (double)alpha);
	ret = ret ? ret : im->error.code;
	return ret ? ret : im_ref(im, value, out);
}

/* Run the real operator on real inputs and quantise what it gives, with channels @last. */
static int between(struct import *im, const char *real, const struct ref *in, uint32_t count,
		   const struct scaled *to, uint32_t type, bool last)
{
	const struct op *op =
		find_op((struct slice){ (const uint8_t *)real, strlen(real) }, (struct slice){ 0 });
	uint32_t value = UINT32_MAX, out, k;
	struct ref ref;
	int ret;

	for (k = 0; k < count; k++)
		im->in[k] = in[k];
	im->in_count = count;
	im->capture = &value;
	ret = op->fn(im, op->arg);
	im->capture = NULL;
	if (!ret)
		ret = im_ref(im, value, &ref);
	if (!ret && !to->scale.here)
		return im_give(im, 0, value);
	if (!ret)
		ret = quantize(im, &ref, to, type, &out);
	return ret ? ret : v_give(im, 0, last ? v_channels(im, out, true) : out);
}

static int real_op(struct import *im, uint32_t index)
{
	const struct real_op *r = &real_ops[index];
	struct scaled s[2] = { 0 }, to;
	struct ref real[3];
	uint32_t i, n = r->inputs, type, value, at;
	int64_t opset = im->opset;
	bool gemm = !strcmp(r->real, "Gemm"), conv = !strcmp(r->real, "Conv");
	const bool last = (conv || strstr(r->real, "Pool")) && im_int(im, "channels_last", 0);
	/* A condition, which is not quantised, comes before the others. */
	const uint32_t first = !strcmp(r->real, "Where");
	int ret = im_need(im, first + 2);

	/* Zero points may be missing. */
	for (i = 0; i < n && !ret; i++)
		if (!im_input(im, first + 3 * i)->here || !im_input(im, first + 3 * i + 1)->here)
			ret = im_fail(im, -EBADMSG, "input %u or its scale is missing",
				      first + 3 * i);
	/* QGemm has its bias before the scale of its result, QLinearConv behind. */
	at = first + 3 * n + gemm;
	if (!ret && !gemm && !im_input(im, at)->here)
		ret = im_fail(im, -EBADMSG, "input %u is missing", at);
	/* Weights have their channels where they always are. */
	if (!ret && last)
		ret = im_ref(im, v_channels(im, im->in[0].value, false), &im->in[0]);
	if (ret)
		return ret;
	take_scaled(im, at, &to);
	real[0] = im->in[0];
	for (i = 0; i < n && !ret; i++) {
		take_scaled(im, first + 3 * i + 1, &s[i]);
		/* Weights have scales of output channels; columns are last, rows before. */
		s[i].axis = conv                                                   ? 0
			    : im_int(im, i ? "transB" : "transA", 0) == (int64_t)i ? -2
										   : -1;
		if (!conv && !gemm)
			s[i].axis = i ? -1 : -2;
		ret = dequantize(im, &im->in[first + 3 * i], &s[i], &value);
		if (!ret)
			ret = im_ref(im, value, &real[first + i]);
	}
	n += first;
	if (!ret && (conv || gemm) && im_input(im, conv ? 8 : 6)->here) {
		ret = real_bias(im, im_input(im, conv ? 8 : 6), &s[0], &s[1],
				gemm ? im_float(im, "alpha", 1) : 1, &real[2]);
		n = 3;
	}
	type = to.zero.here ? to.zero.type : im->in[first].type;
	/* A softmax says itself which version it is of. */
	if (!strcmp(r->real, "Softmax"))
		im->opset = im_int(im, "opset", opset);
	if (!ret)
		ret = between(im, r->real, real, n, &to, type, last);
	im->opset = opset;
	return ret;
}

/* Scale and zero point of the result, then three of each input */
static int concat_real(struct import *im, uint32_t arg)
{
	struct ref *real = calloc(MAX_IO, sizeof(*real));
	struct scaled s, to;
	uint32_t i, n, value;
	int ret;

	(void)arg;
	if (!real)
		return im_fail(im, -ENOMEM, "out of memory");
	ret = im_need(im, 5);
	if (!ret && (im->in_count - 2) % 3)
		ret = im_fail(im, -EBADMSG, "%u inputs are not three for each", im->in_count - 2);
	take_scaled(im, 0, &to);
	n = (im->in_count - 2) / 3;
	for (i = 0; i < n && !ret; i++) {
		take_scaled(im, 3 + 3 * i, &s);
		if (!im->in[2 + 3 * i].here || !s.scale.here)
			ret = im_fail(im, -EBADMSG, "input %u or its scale is missing", i);
		if (!ret)
			ret = dequantize(im, &im->in[2 + 3 * i], &s, &value);
		if (!ret)
			ret = im_ref(im, value, &real[i]);
	}
	if (!ret)
		ret = between(im, "Concat", real, n, &to, to.zero.here ? to.zero.type : ACCEL_U8,
			      false);
	free(real);
	return ret;
}

const struct op onnx_quant[] = { { "QuantizeLinear", quantize_linear, 0 },
				 { "DequantizeLinear", dequantize_linear, 0 },
				 { "DynamicQuantizeLinear", dynamic_quantize_linear, 0 },
				 { "MatMulInteger", matmul_integer, 0 },
				 { "QLinearConv", real_op, 0 },
				 { "QLinearMatMul", real_op, 1 },
				 { 0 } };

const struct op onnx_ms_quant[] = { { "QuantizeLinear", quantize_linear, 0 },
				    { "DequantizeLinear", dequantize_linear, 0 },
				    { "QLinearConv", real_op, 0 },
				    { "QLinearAdd", real_op, 2 },
				    { "QLinearMul", real_op, 3 },
				    { "QLinearSigmoid", real_op, 4 },
				    { "QLinearLeakyRelu", real_op, 5 },
				    { "QLinearAveragePool", real_op, 6 },
				    { "QLinearGlobalAveragePool", real_op, 7 },
				    { "QLinearSoftmax", real_op, 8 },
				    { "QLinearReduceMean", real_op, 9 },
				    { "QGemm", real_op, 10 },
				    { "QLinearWhere", real_op, 11 },
				    { "QLinearConcat", concat_real, 0 },
				    { "DynamicQuantizeMatMul", dynamic_matmul, 0 },
				    { "MatMulIntegerToFloat", matmul_to_float, 0 },
				    { 0 } };
