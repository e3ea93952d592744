// SPDX-License-Identifier: MIT
/*
 * Networks on the device: see net.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* An argument of an operation and what is bound to it. */
struct arg {
	uint32_t arg;
	const struct accel_tensor *t;
};

/* --- nodes ------------------------------------------------------------------------- */

void net_open(struct net *n, struct op_env *env, uint64_t seed, uint32_t seqs)
{
	memset(n, 0, sizeof(*n));
	n->env = env;
	n->c.rng = seed;
	n->c.ctx = env->ctx;
	n->c.import = env->turn;
	n->seqs = seqs;
	assert_int_equal(accel_job_create(env->ctx, NULL, &n->job), 0);
}

void net_close(struct net *n)
{
	uint32_t i, j;

	accel_job_destroy(n->job);
	for (i = 0; i < (uint32_t)n->count; i++) {
		accel_bo_unref(n->node[i].t.bo);
		free(n->node[i].v);
		free(n->node[i].w);
		free(n->node[i].r);
		free(n->node[i].b);
		free(n->node[i].moved);
	}
	for (i = 0; i < ARRAY_SIZE(n->cached); i++)
		for (j = 0; j < 2; j++)
			free(n->cached[i][j]);
	accel_bo_unref(n->mask.bo);
}

static struct net_node *add_node(struct net *n, enum net_kind kind, uint32_t rows,
				 uint32_t cols, int a, int b, int c, int d)
{
	uint64_t count = (uint64_t)rows * cols;
	struct net_node *x;

	assert_true(n->count < NET_NODES);
	x = &n->node[n->count++];
	*x = (struct net_node){
		.kind = kind, .in = { a, b, c, d }, .rows = rows, .cols = cols,
		.v = calloc(count, sizeof(double)), .w = calloc(count, sizeof(double)),
		.r = calloc(count, sizeof(double)), .b = calloc(count, sizeof(double)),
		.moved = calloc(rows, sizeof(bool)),
	};
	assert_true(x->v && x->w && x->r && x->b && x->moved);
	x->t = accel_tensor_2d(NULL, ACCEL_F32, rows, cols);
	x->t.bo = op_bo(&n->c, 4 * count);
	return x;
}

static int last(const struct net *n)
{
	return n->count - 1;
}

int net_input(struct net *n, uint32_t rows, uint32_t cols, double middle, double range)
{
	struct net_node *x = add_node(n, NET_INPUT, rows, cols, -1, -1, -1, -1);
	float *p = accel_bo_ptr(x->t.bo);
	uint32_t i;

	for (i = 0; i < rows * cols; i++) {
		p[i] = (float)op_uniform(&n->c, middle - range, middle + range);
		x->v[i] = p[i];
	}
	return last(n);
}

int net_data(struct net *n, uint32_t rows, uint32_t cols, const float *data)
{
	struct net_node *x = add_node(n, NET_INPUT, rows, cols, -1, -1, -1, -1);
	uint32_t i;

	memcpy(accel_bo_ptr(x->t.bo), data, 4ul * rows * cols);
	for (i = 0; i < rows * cols; i++)
		x->v[i] = data[i];
	return last(n);
}

int net_weight(struct net *n, uint32_t rows, uint32_t cols)
{
	double range = 1;

	/* sqrt(3 / rows), as near as matters */
	while (range * range * rows > 3)
		range /= 1.1;
	return net_input(n, rows, cols, 0, range);
}

/* --- operations ----------------------------------------------------------------------- */

static void add(struct net *n, const struct accel_desc *desc, const struct arg *args,
		uint32_t count)
{
	struct accel_binding b[ACCEL_ARG_COUNT + 4];
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan;
	uint32_t i, used = 0;

	if (accel_plan_create(n->env->ctx, desc, &plan)) {
		accel_ctx_get_error(n->env->ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
	for (i = 0; i < count; i++) {
		const struct accel_tensor *t = args[i].t;

		if (!t->rank)
			continue;
		b[used++] = (struct accel_binding){ args[i].arg, 0, t->bo, t->offset };
		if (t->quant.scales)
			b[used++] = (struct accel_binding){
				args[i].arg | ACCEL_ARG_SCALES, 0, t->quant.scales,
				t->quant.scales_offset
			};
	}
	if (accel_job_add(n->job, plan, b, used, NULL, 0, NULL)) {
		accel_ctx_get_error(n->env->ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
	accel_plan_unref(plan);
}

static struct accel_tensor tensor_of(const struct net *n, int i)
{
	static const struct accel_tensor none;

	return i < 0 ? none : n->node[i].t;
}

/* A vector for each row. */
static struct accel_tensor vector_of(const struct net *n, int i)
{
	struct accel_tensor t = tensor_of(n, i);

	if (i < 0)
		return t;
	t.rank = 1;
	t.dims[0] = t.dims[1];
	t.dims[1] = 0;
	return t;
}

/* [sequences, rows of each, heads, elements] */
static struct accel_tensor heads_of(const struct net *n, int i, uint32_t dim)
{
	const struct net_node *x = &n->node[i];
	const int64_t dims[4] = { n->seqs, x->rows / n->seqs, x->cols / dim, dim };

	return accel_tensor_dense(x->t.bo, ACCEL_F32, 4, dims);
}

int net_gemm(struct net *n, int a, int w, int bias, uint32_t act, int residual)
{
	struct net_node *x = add_node(n, NET_GEMM, n->node[a].rows, n->node[w].cols, a, w, bias,
				      residual);
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	const struct arg args[] = {
		{ ACCEL_ARG_D, &g.d }, { ACCEL_ARG_A, &g.a },
		{ ACCEL_ARG_BIAS, &g.epilogue.bias },
		{ ACCEL_ARG_RESIDUAL, &g.epilogue.residual_post }, { ACCEL_ARG_B, &g.b },
	};

	x->arg = act;
	x->pack = w % 2;
	g.a = tensor_of(n, a);
	g.b = tensor_of(n, w);
	g.d = x->t;
	g.epilogue.act = act;
	g.epilogue.bias = vector_of(n, bias);
	g.epilogue.residual_post = tensor_of(n, residual);
	if (x->pack)
		g.flags = ACCEL_GEMM_PACK_B;
	add(n, &g.hdr, args, ARRAY_SIZE(args) - x->pack);
	return last(n);
}

int net_norm(struct net *n, uint32_t func, int a, int scale, int bias)
{
	struct net_node *x = add_node(n, NET_NORM, n->node[a].rows, n->node[a].cols, a, scale,
				      bias, -1);
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	const struct arg args[] = {
		{ ACCEL_ARG_D, &d.d }, { ACCEL_ARG_A, &d.a }, { ACCEL_ARG_SCALE, &d.scale },
		{ ACCEL_ARG_BIAS, &d.bias },
	};

	x->arg = func;
	d.func = func;
	/* That is what the other functions have. */
	d.channel = 0;
	d.a = tensor_of(n, a);
	d.scale = vector_of(n, scale);
	d.bias = vector_of(n, bias);
	d.d = x->t;
	add(n, &d.hdr, args, ARRAY_SIZE(args));
	return last(n);
}

int net_rotary(struct net *n, int a, int cosines, int sines, uint32_t dim, uint32_t start)
{
	struct net_node *x = add_node(n, NET_ROTARY, n->node[a].rows, n->node[a].cols, a,
				      cosines, sines, -1);
	struct accel_rotary_desc r = ACCEL_ROTARY_DESC_INIT;
	const struct arg args[] = {
		{ ACCEL_ARG_D, &r.d }, { ACCEL_ARG_A, &r.a }, { ACCEL_ARG_B, &r.cosines },
		{ ACCEL_ARG_C, &r.sines },
	};

	x->arg = start;
	x->dim = dim;
	r.start = start;
	r.a = heads_of(n, a, dim);
	r.d = heads_of(n, last(n), dim);
	r.cosines = tensor_of(n, cosines);
	r.sines = tensor_of(n, sines);
	add(n, &r.hdr, args, ARRAY_SIZE(args));
	return last(n);
}

int net_mul(struct net *n, int a, int b)
{
	struct net_node *x = add_node(n, NET_MUL, n->node[a].rows, n->node[a].cols, a, b, -1,
				      -1);
	struct accel_binary_desc d = ACCEL_BINARY_DESC_INIT;
	const struct arg args[] = {
		{ ACCEL_ARG_D, &d.d }, { ACCEL_ARG_A, &d.a }, { ACCEL_ARG_B, &d.b },
	};

	d.func = ACCEL_BINARY_MUL;
	d.a = tensor_of(n, a);
	d.b = tensor_of(n, b);
	d.d = x->t;
	add(n, &d.hdr, args, ARRAY_SIZE(args));
	return last(n);
}

int net_gather(struct net *n, int table, const int32_t *ids, uint32_t count)
{
	struct net_node *x = add_node(n, NET_GATHER, count, n->node[table].cols, table, -1, -1,
				      -1);
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;
	const int64_t dims[1] = { count };
	const struct arg args[] = {
		{ ACCEL_ARG_D, &d.d }, { ACCEL_ARG_A, &d.a }, { ACCEL_ARG_B, &d.b },
	};

	x->ids = ids;
	d.func = ACCEL_GATHER_AXIS;
	d.a = tensor_of(n, table);
	d.b = accel_tensor_dense(NULL, ACCEL_S32, 1, dims);
	assert_int_equal(accel_bo_create(n->env->ctx, 4ul * count, NULL, &d.b.bo), 0);
	memcpy(accel_bo_ptr(d.b.bo), ids, 4ul * count);
	d.d = x->t;
	add(n, &d.hdr, args, ARRAY_SIZE(args));
	/* The job keeps it. */
	accel_bo_unref(d.b.bo);
	return last(n);
}

static void add_attention(struct net *n, struct accel_attention_desc *a, uint32_t dim)
{
	const struct net_node *x = &n->node[last(n)];
	const struct arg args[] = {
		{ ACCEL_ARG_D, &a->d }, { ACCEL_ARG_A, &a->q }, { ACCEL_ARG_B, &a->k },
		{ ACCEL_ARG_C, &a->v }, { ACCEL_ARG_AUX0, &a->mask },
		{ ACCEL_ARG_AUX1, &a->pages }, { ACCEL_ARG_AUX2, &a->lengths },
	};

	a->q = heads_of(n, x->in[0], dim);
	a->d = heads_of(n, last(n), dim);
	a->mask = n->mask;
	if (!n->mask.rank)
		a->flags |= ACCEL_ATTENTION_CAUSAL;
	add(n, &a->hdr, args, ARRAY_SIZE(args));
}

int net_attention(struct net *n, int q, int k, int v, uint32_t dim)
{
	struct net_node *x = add_node(n, NET_ATTENTION, n->node[q].rows, n->node[q].cols, q, k,
				      v, -1);
	struct accel_attention_desc a = ACCEL_ATTENTION_DESC_INIT;

	x->dim = dim;
	a.k = heads_of(n, k, dim);
	a.v = heads_of(n, v, dim);
	add_attention(n, &a, dim);
	return last(n);
}

/* Rows of all sequences into the cache. */
static void append(struct net *n, int k, int v, uint32_t dim, uint32_t layer)
{
	const struct net_node *x = &n->node[k];
	const int64_t dims[3] = { x->rows, x->cols / dim, dim };
	struct accel_kv_append a = ACCEL_KV_APPEND_INIT;
	struct accel_kv_rows rows[NET_SEQS];
	uint32_t i;

	for (i = 0; i < n->seqs; i++)
		rows[i] = (struct accel_kv_rows){ n->seq[i], x->rows / n->seqs };
	if (!layer)
		assert_int_equal(accel_kv_reserve(n->kv, n->job, rows, n->seqs, NULL, 0, NULL),
				 0);
	a.layer = layer;
	a.rows = rows;
	a.count = n->seqs;
	a.k = accel_tensor_dense(x->t.bo, ACCEL_F32, 3, dims);
	a.v = accel_tensor_dense(n->node[v].t.bo, ACCEL_F32, 3, dims);
	assert_int_equal(accel_kv_append(n->kv, n->job, &a, NULL, 0, NULL), 0);
}

int net_cached(struct net *n, int q, int k, int v, uint32_t dim, uint32_t layer)
{
	struct net_node *x = add_node(n, NET_CACHED, n->node[q].rows, n->node[q].cols, q, k, v,
				      -1);
	struct accel_attention_desc a = ACCEL_ATTENTION_DESC_INIT;
	struct accel_kv_seq_info info = { .size = sizeof(info) };

	x->dim = dim;
	x->arg = layer;
	append(n, k, v, dim, layer);
	/* All sequences are of one length here. */
	assert_int_equal(accel_kv_seq_get_info(n->kv, n->seq[0], &info), 0);
	n->keys = (uint32_t)info.length;
	assert_int_equal(accel_kv_tensors(n->kv, layer, &a.k, &a.v), 0);
	assert_int_equal(accel_kv_table(n->kv, n->seq, n->seqs, 0, &a.pages, &a.lengths), 0);
	add_attention(n, &a, dim);
	accel_bo_unref(a.pages.bo);
	return last(n);
}

void net_run(struct net *n, struct accel_queue *queue)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_fence_info info = { .size = sizeof(info) };
	struct accel_fence *fence;

	if (accel_queue_submit(queue, n->job, NULL, &fence)) {
		accel_ctx_get_error(n->env->ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
	if (accel_fence_wait(fence, -1)) {
		accel_fence_get_info(fence, &info);
		fail_msg("operation %u: %s", info.op_index, info.text);
	}
	accel_fence_unref(fence);
}
