// SPDX-License-Identifier: MIT
/*
 * Descriptors by their parts: which tensor has the place of an argument; what nodes are called.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/**
 * struct field - a tensor of a descriptor
 * @op: operation
 * @arg: argument
 * @result: it is written
 * @at: where it is
 */
struct field {
	uint16_t op;
	uint8_t arg;
	bool result;
	uint32_t at;
};

#define IN(OP, type, arg, member) \
	{ ACCEL_OP_##OP, ACCEL_ARG_##arg, false, offsetof(struct accel_##type##_desc, member) }
#define OUT(OP, type, arg, member) \
	{ ACCEL_OP_##OP, ACCEL_ARG_##arg, true, offsetof(struct accel_##type##_desc, member) }
#define EPILOGUE(OP, type) \
	IN(OP, type, BIAS, epilogue.bias), IN(OP, type, SCALE, epilogue.scale), \
	IN(OP, type, RESIDUAL, epilogue.residual)

static const struct field fields[] = {
	IN(COPY, copy, A, a), OUT(COPY, copy, D, d),
	OUT(FILL, fill, D, d),
	IN(UNARY, unary, A, a), OUT(UNARY, unary, D, d),
	IN(BINARY, binary, A, a), IN(BINARY, binary, B, b), OUT(BINARY, binary, D, d),
	IN(GEMM, gemm, A, a), IN(GEMM, gemm, B, b), IN(GEMM, gemm, C, c), OUT(GEMM, gemm, D, d),
	IN(GEMM, gemm, AUX0, rows),
	EPILOGUE(GEMM, gemm),
	IN(CONV, conv, A, a), IN(CONV, conv, B, b), OUT(CONV, conv, D, d), EPILOGUE(CONV, conv),
	IN(ATTENTION, attention, A, q), IN(ATTENTION, attention, B, k),
	IN(ATTENTION, attention, C, v), OUT(ATTENTION, attention, D, d),
	IN(ATTENTION, attention, AUX0, mask), IN(ATTENTION, attention, AUX1, pages),
	IN(ATTENTION, attention, AUX2, lengths), IN(ATTENTION, attention, AUX3, slopes),
	IN(ATTENTION, attention, AUX4, sinks),
	IN(ROTARY, rotary, A, a), IN(ROTARY, rotary, B, cosines), IN(ROTARY, rotary, C, sines),
	IN(ROTARY, rotary, AUX0, positions), OUT(ROTARY, rotary, D, d),
	IN(NORM, norm, A, a), IN(NORM, norm, SCALE, scale), IN(NORM, norm, BIAS, bias),
	IN(NORM, norm, AUX0, mean), IN(NORM, norm, AUX1, variance),
	IN(NORM, norm, RESIDUAL, epilogue.residual), OUT(NORM, norm, D, d),
	IN(SOFTMAX, softmax, A, a), OUT(SOFTMAX, softmax, D, d),
	IN(REDUCE, reduce, A, a), OUT(REDUCE, reduce, D, d),
	IN(POOL, pool, A, a), OUT(POOL, pool, D, d),
	IN(RESIZE, resize, A, a), OUT(RESIZE, resize, D, d),
	IN(GATHER, gather, A, a), IN(GATHER, gather, B, b), OUT(GATHER, gather, D, d),
	IN(SCATTER, scatter, A, a), IN(SCATTER, scatter, B, b), IN(SCATTER, scatter, C, c),
	OUT(SCATTER, scatter, D, d),
	IN(TOPK, topk, A, a), OUT(TOPK, topk, D, d), OUT(TOPK, topk, AUX0, indices),
	IN(SCAN, scan, A, a), OUT(SCAN, scan, D, d),
	IN(SELECT, select, A, a), IN(SELECT, select, B, b), IN(SELECT, select, C, c),
	OUT(SELECT, select, D, d),
	IN(PAD, pad, A, a), OUT(PAD, pad, D, d),
	IN(FFN, ffn, A, a), IN(FFN, ffn, B, up), IN(FFN, ffn, C, gate), IN(FFN, ffn, AUX0, down),
	IN(FFN, ffn, AUX1, up_bias), IN(FFN, ffn, AUX2, gate_bias), IN(FFN, ffn, BIAS, down_bias),
	IN(FFN, ffn, RESIDUAL, residual), OUT(FFN, ffn, D, d),
	IN(DYNQUANT, dynquant, A, a), OUT(DYNQUANT, dynquant, D, d),
	OUT(DYNQUANT, dynquant, AUX0, scales), OUT(DYNQUANT, dynquant, AUX1, zeros),
	IN(KV_WRITE, kv_write, A, a), IN(KV_WRITE, kv_write, AUX2, slots),
	OUT(KV_WRITE, kv_write, D, d), OUT(KV_WRITE, kv_write, AUX0, scales),
	OUT(KV_WRITE, kv_write, AUX1, zeros),
};

/**
 * desc_field - the tensor of an argument
 * @desc: descriptor of an operation that engines have
 * @arg: &enum accel_arg
 * @result: out: the operation writes it, may be NULL
 *
 * Return: the tensor, NULL: it has no such argument.
 */
struct accel_tensor *desc_field(union any_desc *desc, uint32_t arg, bool *result)
{
	uint32_t i, op = desc->hdr.op;
	bool out = false;
	struct accel_tensor *t = NULL;

	if (op == ACCEL_OP_CONCAT) {
		out = arg == ACCEL_ARG_D;
		if (out)
			t = &desc->concat.d;
		else if (arg - ACCEL_ARG_A < desc->concat.count &&
			 desc->concat.count <= ACCEL_CONCAT_MAX)
			t = &desc->concat.a[arg - ACCEL_ARG_A];
	} else if (op == ACCEL_OP_SPLIT) {
		out = arg != ACCEL_ARG_A;
		if (arg == ACCEL_ARG_A)
			t = &desc->split.a;
		else if (arg == ACCEL_ARG_D)
			t = &desc->split.d[0];
		else if (arg - ACCEL_ARG_B + 1 < desc->split.count &&
			 desc->split.count <= ACCEL_CONCAT_MAX)
			t = &desc->split.d[arg - ACCEL_ARG_B + 1];
	}
	for (i = 0; !t && i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].op != op || fields[i].arg != arg)
			continue;
		out = fields[i].result;
		t = (struct accel_tensor *)((char *)desc + fields[i].at);
	}
	if (result)
		*result = out;
	return t;
}

/* What follows a product, NULL: nothing can. */
struct accel_epilogue *desc_epilogue(union any_desc *desc)
{
	switch (desc->hdr.op) {
	case ACCEL_OP_GEMM:
		return &desc->gemm.epilogue;
	case ACCEL_OP_CONV:
		return &desc->conv.epilogue;
	case ACCEL_OP_NORM:
		return &desc->norm.epilogue;
	case ACCEL_OP_UNARY:
		return &desc->unary.epilogue;
	case ACCEL_OP_BINARY:
		return &desc->binary.epilogue;
	default:
		return NULL;
	}
}

bool is_shape_op(uint32_t op)
{
	return op >= ACCEL_SHAPE_RESHAPE && op < ACCEL_SHAPE_END;
}

/* Is an argument the scales or zero points of another? */
bool is_table(uint32_t arg)
{
	return arg & ARG_TABLES;
}

/* Has a tensor of a node scales that its numbers are to be multiplied by? */
bool is_quantised(const struct node *node)
{
	const struct accel_tensor *t;
	uint32_t i;

	for (i = 0; i < node->arg_count; i++) {
		t = desc_field(&node->desc->any, node->args[i].arg, NULL);
		if (t && t->quant.scheme)
			return true;
	}
	return false;
}

/**
 * over_arg - the argument whose memory a result is written to
 * @op: operation
 * @arg: argument of the result
 *
 * Return: argument that only graphs have, NO_VALUE: the result has memory of its own.
 */
uint32_t over_arg(uint32_t op, uint32_t arg)
{
	if (op != ACCEL_OP_KV_WRITE)
		return NO_VALUE;
	switch (arg) {
	case ACCEL_ARG_D:
		return ACCEL_ARG_B;
	case ACCEL_ARG_AUX0:
		return ACCEL_ARG_C;
	case ACCEL_ARG_AUX1:
		return ACCEL_ARG_AUX3;
	default:
		return NO_VALUE;
	}
}

#define BIT(arg)	(1u << ACCEL_ARG_##arg)

/* Mask of the arguments that results of an operation are written over. */
uint32_t over_args(uint32_t op)
{
	return op == ACCEL_OP_KV_WRITE ? BIT(B) | BIT(C) | BIT(AUX3) : 0;
}

/* Mask of the arguments that an operation of graphs may have. */
uint32_t shape_args(uint32_t op)
{
	switch (op) {
	case ACCEL_SHAPE_FLATTEN:
	case ACCEL_SHAPE_TRANSPOSE:
	case ACCEL_SHAPE_OF:
	case ACCEL_SHAPE_FILL:
		return BIT(D) | BIT(A);
	case ACCEL_SHAPE_RANGE:
		return BIT(D) | BIT(A) | BIT(B) | BIT(C);
	case ACCEL_SHAPE_SLICE:
		return BIT(D) | BIT(A) | BIT(B) | BIT(C) | BIT(AUX0) | BIT(AUX1);
	default:
		return BIT(D) | BIT(A) | BIT(B);
	}
}

/* Is an argument a result? */
bool desc_writes(union node_desc *desc, uint32_t arg)
{
	bool result;

	if (is_added(desc))
		return arg < desc->added.node->out_count;
	if (is_shape_op(desc->hdr.op))
		return arg == ACCEL_ARG_D;
	return !is_table(arg) && desc_field(&desc->any, arg, &result) && result;
}

/* Bytes of a descriptor, 0: there is no such operation. */
uint32_t desc_size(uint32_t op)
{
	if (op == ACCEL_OP_ADDED)
		return sizeof(struct added_desc);
	if (is_shape_op(op))
		return sizeof(struct accel_shape_desc);
	return op_class(op) ? (uint32_t)op_class(op)->size : 0;
}

const char *node_op_name(uint32_t op)
{
	static const char *const names[] = {
		"reshape", "flatten", "transpose", "squeeze", "unsqueeze", "expand", "slice",
		"piece", "shape", "range", "fill",
		"tile"
	};

	static const char *const dynamic[] = { "if", "loop", "nonzero", "unique", "nms" };

	if (op >= ACCEL_DYNAMIC_IF && op - ACCEL_DYNAMIC_IF < ARRAY_SIZE(dynamic))
		return dynamic[op - ACCEL_DYNAMIC_IF];
	if (op == ACCEL_OP_ADDED)
		return "operator";
	return is_shape_op(op) ? names[op - ACCEL_SHAPE_RESHAPE] : accel_op_name(op);
}

/* The name of an operation, of one that a user added its own with the domain */
const char *desc_name(const union node_desc *desc)
{
	return is_added(desc) ? desc->added.node->op->label : node_op_name(desc->hdr.op);
}

/* --- what nodes were made for --------------------------------------------------------- */

int accel_graph_set_source(struct accel_graph *graph, const char *text)
{
	char *own;
	int ret = graph_open(graph);

	/* Nodes of one operator follow each other; those before are not looked through. */
	if (ret || (text && graph->source && !strcmp(graph->source, text)))
		return ret;
	graph->source = NULL;
	if (!text)
		return 0;
	own = strdup(text);
	if (!own || !list_grow(&graph->sources, graph->source_count, &graph->source_cap,
			       sizeof(*graph->sources))) {
		free(own);
		return graph_nomem(graph);
	}
	graph->sources[graph->source_count++] = own;
	graph->source = own;
	return 0;
}

/**
 * made_for - what a node is called in errors
 * @source: what it was made for, or NULL
 * @desc: what it is
 *
 * Return: @source, else the name of its operation.
 */
const char *made_for(const char *source, const union node_desc *desc)
{
	return source ? source : desc_name(desc);
}
