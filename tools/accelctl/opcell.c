// SPDX-License-Identifier: MIT
/*
 * See opcell.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "opcell.h"

static const char *const norm_names[] = { "layer", "rms", "group", "instance", "batch" };
static const char *const softmax_names[] = { "softmax", "log-softmax" };
static const char *const reduce_names[] = {
	"sum", "mean", "max", "min", "prod", "l1", "l2", "sum-square", "log-sum",
	"log-sum-exp", "arg-max", "arg-min"
};

static const char *const pool_names[] = { "max", "average", "lp" };
static const char *const resize_names[] = { "nearest", "linear", "cubic" };
static const char *const gather_names[] = { "axis", "elements", "nd" };
static const char *const scatter_names[] = { "elements", "nd" };
static const char *const scatter_reduce_names[] = { "put", "add", "mul", "max", "min" };

/* Inputs whose type varies */
#define HAS_A	1u
#define HAS_B	2u

static const struct {
	uint32_t funcs;
	uint32_t inputs;
	const char *const *names;
} ops[ACCEL_OP_COUNT] = {
	[ACCEL_OP_COPY] = { 1, HAS_A, NULL },
	[ACCEL_OP_FILL] = { 1, 0, NULL },
	[ACCEL_OP_UNARY] = { ACCEL_UNARY_COUNT, HAS_A, NULL },
	[ACCEL_OP_BINARY] = { ACCEL_BINARY_COUNT, HAS_A | HAS_B, NULL },
	[ACCEL_OP_SELECT] = { 1, HAS_A | HAS_B, NULL },
	[ACCEL_OP_GEMM] = { 1, HAS_A | HAS_B, NULL },
	[ACCEL_OP_CONV] = { 1, HAS_A | HAS_B, NULL },
	[ACCEL_OP_ATTENTION] = { 1, HAS_A | HAS_B, NULL },
	[ACCEL_OP_ROTARY] = { 1, HAS_A | HAS_B, NULL },
	[ACCEL_OP_NORM] = { ACCEL_NORM_COUNT, HAS_A, norm_names },
	[ACCEL_OP_SOFTMAX] = { ACCEL_SOFTMAX_COUNT, HAS_A, softmax_names },
	[ACCEL_OP_REDUCE] = { ACCEL_REDUCE_COUNT, HAS_A, reduce_names },
	[ACCEL_OP_TOPK] = { 1, HAS_A, NULL },
	[ACCEL_OP_SCAN] = { 1, HAS_A, NULL },
	[ACCEL_OP_POOL] = { ACCEL_POOL_COUNT, HAS_A, pool_names },
	[ACCEL_OP_RESIZE] = { ACCEL_RESIZE_COUNT, HAS_A, resize_names },
	[ACCEL_OP_GATHER] = { ACCEL_GATHER_COUNT, HAS_A, gather_names },
	[ACCEL_OP_SCATTER] = { ACCEL_SCATTER_COUNT * ACCEL_SCATTER_REDUCE_COUNT, HAS_A,
			       scatter_names },
	[ACCEL_OP_CONCAT] = { 1, HAS_A, NULL },
	[ACCEL_OP_SPLIT] = { 1, HAS_A, NULL },
	[ACCEL_OP_PAD] = { 1, HAS_A, NULL },
};

uint32_t opcell_funcs(uint32_t op)
{
	return op < ACCEL_OP_COUNT ? ops[op].funcs : 0;
}

bool opcell_has_a(uint32_t op)
{
	return op < ACCEL_OP_COUNT && (ops[op].inputs & HAS_A);
}

bool opcell_has_b(uint32_t op)
{
	return op < ACCEL_OP_COUNT && (ops[op].inputs & HAS_B);
}

const char *opcell_func_name(uint32_t op, uint32_t func, char buf[32])
{
	if (op == ACCEL_OP_UNARY)
		return accel_unary_name(func);
	if (op == ACCEL_OP_BINARY)
		return accel_binary_name(func);
	if (op == ACCEL_OP_SCATTER) {
		snprintf(buf, 32, "%s %s", scatter_names[func / ACCEL_SCATTER_REDUCE_COUNT],
			 scatter_reduce_names[func % ACCEL_SCATTER_REDUCE_COUNT]);
		return buf;
	}
	return ops[op].names ? ops[op].names[func] : NULL;
}

/* --- descriptors --- */

/**
 * struct maker - position of the next tensor
 * @bo: buffer or NULL
 * @offset: offset in it
 * @quantised: small integers have a scale
 */
struct maker {
	struct accel_bo *bo;
	uint64_t offset;
	bool quantised;
};

static struct accel_tensor plain(struct maker *m, uint32_t dtype, uint32_t rank, int64_t d0,
				 int64_t d1, int64_t d2, int64_t d3)
{
	const int64_t dims[] = { d0, d1, d2, d3 };
	struct accel_tensor t = accel_tensor_dense(m->bo, dtype, rank, dims);

	t.offset = m->offset;
	m->offset += 4096;
	return t;
}

static struct accel_tensor tensor(struct maker *m, uint32_t dtype, uint32_t rank, int64_t d0,
				  int64_t d1, int64_t d2, int64_t d3)
{
	struct accel_tensor t = plain(m, dtype, rank, d0, d1, d2, d3);

	/* A scale of 1: also where the result is exact */
	if (m->quantised && dtype >= ACCEL_S8) {
		t.quant.scheme = ACCEL_QUANT_TENSOR;
		t.quant.scale = 1;
	}
	return t;
}

static void make_elementwise(const struct opcell *c, struct maker *m, union opcell_desc *u)
{
	switch (c->op) {
	case ACCEL_OP_COPY:
		u->copy = (struct accel_copy_desc)ACCEL_COPY_DESC_INIT;
		u->copy.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->copy.d = tensor(m, c->d, 2, 4, 8, 0, 0);
		break;
	case ACCEL_OP_FILL:
		u->fill = (struct accel_fill_desc)ACCEL_FILL_DESC_INIT;
		u->fill.value = 1;
		u->fill.d = plain(m, c->d, 2, 4, 8, 0, 0);
		break;
	case ACCEL_OP_UNARY:
		u->unary = (struct accel_unary_desc)ACCEL_UNARY_DESC_INIT;
		u->unary.func = c->func;
		u->unary.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->unary.d = tensor(m, c->d, 2, 4, 8, 0, 0);
		break;
	case ACCEL_OP_BINARY:
		u->binary = (struct accel_binary_desc)ACCEL_BINARY_DESC_INIT;
		u->binary.func = c->func;
		u->binary.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->binary.b = tensor(m, c->b, 2, 4, 8, 0, 0);
		u->binary.d = tensor(m, c->d, 2, 4, 8, 0, 0);
		break;
	default:
		u->select = (struct accel_select_desc)ACCEL_SELECT_DESC_INIT;
		u->select.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->select.b = tensor(m, c->b, 2, 4, 8, 0, 0);
		u->select.c = tensor(m, c->b, 2, 4, 8, 0, 0);
		u->select.d = tensor(m, c->d, 2, 4, 8, 0, 0);
		break;
	}
}

static void make_matrix(const struct opcell *c, struct maker *m, union opcell_desc *u)
{
	switch (c->op) {
	case ACCEL_OP_GEMM:
		u->gemm = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
		u->gemm.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->gemm.b = tensor(m, c->b, 2, 8, 6, 0, 0);
		u->gemm.d = tensor(m, c->d, 2, 4, 6, 0, 0);
		break;
	case ACCEL_OP_CONV:
		u->conv = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
		u->conv.a = tensor(m, c->a, 4, 1, 2, 6, 6);
		u->conv.b = tensor(m, c->b, 4, 4, 2, 4, 4);
		u->conv.d = tensor(m, c->d, 4, 1, 4, 3, 3);
		break;
	case ACCEL_OP_ATTENTION:
		u->attention = (struct accel_attention_desc)ACCEL_ATTENTION_DESC_INIT;
		u->attention.q = tensor(m, c->a, 4, 1, 2, 2, 8);
		u->attention.k = tensor(m, c->b, 4, 1, 4, 2, 8);
		u->attention.v = tensor(m, c->b, 4, 1, 4, 2, 8);
		u->attention.d = tensor(m, c->d, 4, 1, 2, 2, 8);
		break;
	default:
		u->rotary = (struct accel_rotary_desc)ACCEL_ROTARY_DESC_INIT;
		u->rotary.a = tensor(m, c->a, 4, 1, 2, 2, 8);
		u->rotary.cosines = tensor(m, c->b, 2, 4, 4, 0, 0);
		u->rotary.sines = tensor(m, c->b, 2, 4, 4, 0, 0);
		u->rotary.d = tensor(m, c->d, 4, 1, 2, 2, 8);
		break;
	}
}

static void make_lines(const struct opcell *c, struct maker *m, union opcell_desc *u)
{
	bool arg = c->func == ACCEL_REDUCE_ARG_MAX || c->func == ACCEL_REDUCE_ARG_MIN;

	switch (c->op) {
	case ACCEL_OP_NORM:
		u->norm = (struct accel_norm_desc)ACCEL_NORM_DESC_INIT;
		u->norm.func = c->func;
		u->norm.groups = c->func == ACCEL_NORM_GROUP ? 2 : 0;
		if (c->func == ACCEL_NORM_LAYER || c->func == ACCEL_NORM_RMS)
			u->norm.channel = 0;
		u->norm.a = tensor(m, c->a, 3, 2, 4, 8, 0);
		u->norm.d = tensor(m, c->d, 3, 2, 4, 8, 0);
		if (c->func == ACCEL_NORM_BATCH) {
			u->norm.mean = tensor(m, ACCEL_F32, 1, 4, 0, 0, 0);
			u->norm.variance = tensor(m, ACCEL_F32, 1, 4, 0, 0, 0);
		}
		break;
	case ACCEL_OP_SOFTMAX:
		u->softmax = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
		u->softmax.func = c->func;
		u->softmax.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->softmax.d = tensor(m, c->d, 2, 4, 8, 0, 0);
		break;
	case ACCEL_OP_REDUCE:
		u->reduce = (struct accel_reduce_desc)ACCEL_REDUCE_DESC_INIT;
		u->reduce.func = c->func;
		u->reduce.axes = ACCEL_AXIS(1);
		u->reduce.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->reduce.d = arg ? plain(m, c->d, 2, 4, 1, 0, 0) : tensor(m, c->d, 2, 4, 1, 0, 0);
		break;
	case ACCEL_OP_TOPK:
		u->topk = (struct accel_topk_desc)ACCEL_TOPK_DESC_INIT;
		u->topk.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->topk.d = tensor(m, c->d, 2, 4, 2, 0, 0);
		u->topk.indices = plain(m, ACCEL_S32, 2, 4, 2, 0, 0);
		break;
	default:
		u->scan = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
		u->scan.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->scan.d = tensor(m, c->d, 2, 4, 8, 0, 0);
		break;
	}
}

static void make_index(const struct opcell *c, struct maker *m, union opcell_desc *u)
{
	bool nd;

	switch (c->op) {
	case ACCEL_OP_POOL:
		u->pool = (struct accel_pool_desc)ACCEL_POOL_DESC_INIT;
		u->pool.func = c->func;
		u->pool.norm = c->func == ACCEL_POOL_LP ? 2 : 0;
		u->pool.kernel[0] = u->pool.kernel[1] = 2;
		u->pool.a = tensor(m, c->a, 4, 1, 2, 4, 4);
		u->pool.d = tensor(m, c->d, 4, 1, 2, 3, 3);
		break;
	case ACCEL_OP_RESIZE:
		u->resize = (struct accel_resize_desc)ACCEL_RESIZE_DESC_INIT;
		u->resize.func = c->func;
		u->resize.a = tensor(m, c->a, 4, 1, 2, 4, 4);
		u->resize.d = tensor(m, c->d, 4, 1, 2, 8, 6);
		break;
	case ACCEL_OP_GATHER:
		u->gather = (struct accel_gather_desc)ACCEL_GATHER_DESC_INIT;
		u->gather.func = c->func;
		u->gather.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		if (c->func == ACCEL_GATHER_AXIS)
			u->gather.b = plain(m, ACCEL_S32, 1, 3, 0, 0, 0);
		else
			u->gather.b = plain(m, ACCEL_S32, 2, 3,
					    c->func == ACCEL_GATHER_ND ? 1 : 8, 0, 0);
		u->gather.d = tensor(m, c->d, 2, 3, 8, 0, 0);
		break;
	default:
		nd = c->func / ACCEL_SCATTER_REDUCE_COUNT == ACCEL_SCATTER_ND;
		u->scatter = (struct accel_scatter_desc)ACCEL_SCATTER_DESC_INIT;
		u->scatter.func = c->func / ACCEL_SCATTER_REDUCE_COUNT;
		u->scatter.reduce = c->func % ACCEL_SCATTER_REDUCE_COUNT;
		u->scatter.a = tensor(m, c->a, 2, 4, 8, 0, 0);
		u->scatter.b = plain(m, ACCEL_S32, 2, 3, nd ? 1 : 8, 0, 0);
		u->scatter.c = tensor(m, c->d, 2, 3, 8, 0, 0);
		u->scatter.d = tensor(m, c->d, 2, 4, 8, 0, 0);
		break;
	}
}

/* Rows of 64 elements: a piece starts where every engine can read one */
static void make_move(const struct opcell *c, struct maker *m, union opcell_desc *u)
{
	switch (c->op) {
	case ACCEL_OP_CONCAT:
		u->concat = (struct accel_concat_desc)ACCEL_CONCAT_DESC_INIT;
		u->concat.count = 2;
		u->concat.a[0] = tensor(m, c->a, 2, 4, 64, 0, 0);
		u->concat.a[1] = tensor(m, c->a, 2, 2, 64, 0, 0);
		u->concat.d = tensor(m, c->d, 2, 6, 64, 0, 0);
		break;
	case ACCEL_OP_SPLIT:
		u->split = (struct accel_split_desc)ACCEL_SPLIT_DESC_INIT;
		u->split.count = 2;
		u->split.a = tensor(m, c->a, 2, 6, 64, 0, 0);
		u->split.d[0] = tensor(m, c->d, 2, 4, 64, 0, 0);
		u->split.d[1] = tensor(m, c->d, 2, 2, 64, 0, 0);
		break;
	default:
		u->pad = (struct accel_pad_desc)ACCEL_PAD_DESC_INIT;
		u->pad.before[0] = 1;
		u->pad.after[0] = 1;
		u->pad.a = tensor(m, c->a, 2, 4, 64, 0, 0);
		u->pad.d = tensor(m, c->d, 2, 6, 64, 0, 0);
		break;
	}
}

void opcell_desc(const struct opcell *cell, bool quantised, struct accel_bo *bo,
		 union opcell_desc *desc)
{
	struct maker m = { .bo = bo, .quantised = quantised };

	memset(desc, 0, sizeof(*desc));
	switch (cell->op) {
	case ACCEL_OP_GEMM:
	case ACCEL_OP_CONV:
	case ACCEL_OP_ATTENTION:
	case ACCEL_OP_ROTARY:
		make_matrix(cell, &m, desc);
		break;
	case ACCEL_OP_NORM:
	case ACCEL_OP_SOFTMAX:
	case ACCEL_OP_REDUCE:
	case ACCEL_OP_TOPK:
	case ACCEL_OP_SCAN:
		make_lines(cell, &m, desc);
		break;
	case ACCEL_OP_POOL:
	case ACCEL_OP_RESIZE:
	case ACCEL_OP_GATHER:
	case ACCEL_OP_SCATTER:
		make_index(cell, &m, desc);
		break;
	case ACCEL_OP_CONCAT:
	case ACCEL_OP_SPLIT:
	case ACCEL_OP_PAD:
		make_move(cell, &m, desc);
		break;
	default:
		make_elementwise(cell, &m, desc);
		break;
	}
}

static int collect(void *user, const struct accel_candidate *candidate)
{
	if (candidate->verdict != ACCEL_REFUSED)
		*(uint32_t *)user |= 1u << candidate->engine;
	return 0;
}

int opcell_engines(struct accel_ctx *ctx, const struct opcell *cell, uint32_t *engines)
{
	union opcell_desc desc;
	int quantised, ret;

	*engines = 0;
	for (quantised = 0; quantised < 2; quantised++) {
		opcell_desc(cell, quantised, NULL, &desc);
		ret = accel_explain(ctx, &desc.hdr, collect, engines);
		if (ret && ret != -EINVAL)
			return ret;
	}
	return 0;
}
