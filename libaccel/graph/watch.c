// SPDX-License-Identifier: MIT
/*
 * Products that fall back: what a program in fp16 computes is watched where fp32 becomes fp16. A
 * value of which something is not finite there makes the products that read it stay in fp32, in
 * all nets of the program, and what was run is run again. Where nothing overflows any more, a run
 * has the sums beside and looks at them, and allocates nothing.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

/* From here on numbers round to the infinity of binary16. */
#define HALF_LIMIT	65520.0f

static bool is_product(const struct node *node)
{
	return !node->dead && (node->desc->hdr.op == ACCEL_OP_GEMM ||
			       node->desc->hdr.op == ACCEL_OP_CONV);
}

/**
 * watch_kept - does a product stay in fp32?
 * @net: net
 * @node: product
 * @ordinal: how many there are before it
 */
bool watch_kept(const struct net *net, const struct node *node, uint32_t ordinal)
{
	const struct accel_program *program = net->program;
	uint32_t i;

	for (i = 0; i < program->kept_count; i++)
		if (node->name && program->kept[i].name ?
		    !strcmp(node->name, program->kept[i].name) :
		    !node->name && !program->kept[i].name && program->kept[i].ordinal == ordinal)
			return true;
	return false;
}

/**
 * watch_fits - has fp16 the numbers of a value, as far as they are known before anything runs?
 * @net: net
 * @value: value of fp32 or 16 bits
 */
bool watch_fits(const struct net *net, uint32_t value)
{
	const struct value *v = &net->values[value];
	int64_t at[MAX_RANK] = { 0 }, count = 1, step = 1, i;
	struct host_tensor t;
	const char *data;
	uint32_t bits;
	float x;

	if (!value_const(net, value) || !value_count(v) || v->type == ACCEL_F16)
		return true;
	t = value_host(v, value_data(net, value));
	if (value_fills(net, v)) {
		t.rank = 0;
		count = (int64_t)value_count(v);
	} else if (t.rank) {
		count = t.dims[--t.rank];
		step = t.strides[t.rank];
	}
	do {
		data = (const char *)t.data + host_place(&t, at) * (accel_type_bits(v->type) / 8);
		for (i = 0; i < count; i++) {
			bits = v->type == ACCEL_F32 ? ((const uint32_t *)data)[i * step] :
			       (uint32_t)((const uint16_t *)data)[i * step] << 16;
			memcpy(&x, &bits, sizeof(x));
			if (!(fabsf(x) < HALF_LIMIT))
				return false;
		}
	} while (host_next(t.rank, t.dims, at));
	return true;
}

static int add(struct net *net, uint32_t value)
{
	const uint32_t maker = value_node(net, value), rank = net->values[value].rank;
	int64_t ones[MAX_RANK];
	struct node *node;
	uint32_t i, d;

	if (maker == NO_VALUE || net->nodes[maker].dead || value_const(net, value))
		return 0;
	for (i = 0; i < rank; i++)
		ones[i] = 1;
	node = net_node(net, &net->nodes[maker], ACCEL_OP_REDUCE);
	d = net_new_value(net, ACCEL_F32, rank, ones);
	if (!node || d == NO_VALUE || node_arg(node, ACCEL_ARG_D, d, true) ||
	    node_arg(node, ACCEL_ARG_A, value, false))
		return net_nomem(net);
	net->stores[net->values[d].store].node = net->node_count - 1;
	node->rules = RULE_WATCH;
	node->desc->any.reduce.func = ACCEL_REDUCE_L1;
	node->desc->any.reduce.d.dtype = ACCEL_F32;
	node->dead = !net_can_run(net, node);
	return 0;
}

/**
 * watch_add - watch what becomes fp16
 * @net: net
 * @made: of each value what it is in fp16, NO_VALUE: it does not become so
 * @values: number of @made
 *
 * Return: 0, or the error that the net has.
 */
int watch_add(struct net *net, const uint32_t *made, uint32_t values)
{
	uint32_t i;
	int ret = 0;

	if (net->program->opts.precision != ACCEL_PRECISION_F16 || net->program->file)
		return 0;
	for (i = 0; i < values && !ret; i++)
		if (made[i] != NO_VALUE)
			ret = add(net, made[i]);
	return ret;
}

/* The number that a node has for it; what a file says of nodes is not believed. */
static const struct value *sum_of(const struct net *net, const struct node *node)
{
	const struct value *v = &net->values[node_result(node)];

	return node->desc->hdr.op == ACCEL_OP_REDUCE && v->type == ACCEL_F32 &&
	       value_count(v) == 1 && net->stores[v->store].kind == STORE_ARENA ? v : NULL;
}

/**
 * watch_find - note where a net watches
 * @net: net with an order
 *
 * Return: 0, or the error that the net has.
 */
int watch_find(struct net *net)
{
	uint32_t i;

	if (net->program->file)
		return 0;
	for (i = 0; i < net->order_count; i++)
		net->watch_count += net->nodes[net->order[i]].rules >> 31;
	if (!net->watch_count)
		return 0;
	net->watches = calloc(net->watch_count, sizeof(*net->watches));
	net->watch_count = 0;
	for (i = 0; net->watches && i < net->order_count; i++)
		if (net->nodes[net->order[i]].rules & RULE_WATCH &&
		    sum_of(net, &net->nodes[net->order[i]]))
			net->watches[net->watch_count++] = net->order[i];
	return net->watches ? 0 : net_nomem(net);
}

/* A product more that stays; @program is locked. */
static int keep(struct accel_program *program, const struct node *node, uint32_t ordinal)
{
	struct kept *more = reallocarray(program->kept, program->kept_count + 1, sizeof(*more));

	if (!more)
		return ctx_fail(program->ctx, -ENOMEM, NULL, "out of memory");
	program->kept = more;
	more[program->kept_count++] = (struct kept) { node->name, ordinal };
	return 0;
}

/* Those that read what a node watches, as A or as B; @program is locked. */
static int keep_readers(struct accel_program *program, const struct net *net,
			const struct node *watch)
{
	uint32_t store = net->values[node_value(watch, ACCEL_ARG_A)].store, i, ordinal = 0;
	int ret = 0;

	for (i = 0; i < net->node_count && !ret; i++) {
		const struct node *node = &net->nodes[i];

		if (!is_product(node))
			continue;
		if ((net->values[node_value(node, ACCEL_ARG_A)].store == store ||
		     net->values[node_value(node, ACCEL_ARG_B)].store == store) &&
		    !watch_kept(net, node, ordinal))
			ret = keep(program, node, ordinal);
		ordinal++;
	}
	return ret;
}

/* Another state may have been here: then there are other nets already. */
static int fall_back(struct accel_state *state, const struct net *net, const struct node *watch,
		     bool *again)
{
	struct accel_program *program = state->program;
	uint32_t i, before;
	int ret;

	pthread_mutex_lock(&program->lock);
	before = program->kept_count;
	ret = keep_readers(program, net, watch);
	for (i = 0; i < program->net_count && program->nets[i] != net; i++)
		;
	*again = !ret && (program->kept_count > before || i == program->net_count);
	if (program->kept_count > before) {
		for (i = 0; i < program->net_count; i++)
			net_unref(program->nets[i]);
		program->net_count = 0;
	}
	pthread_mutex_unlock(&program->lock);
	state->stale |= *again;
	return ret;
}

/**
 * watch_look - was there something that fp16 does not have?
 * @state: state
 * @stage: stage that ran
 * @again: out: products became fp32, and all has to run once more
 *
 * What lies behind the first such value may be wrong because of it alone, so that one counts.
 *
 * Return: 0, or the error that the context has.
 */
int watch_look(struct accel_state *state, const struct stage *stage, bool *again)
{
	const struct net *net = stage->net;
	uint64_t offset;
	uint32_t i;
	float sum;
	int ret;

	*again = false;
	if (!net->watch_count)
		return 0;
	ret = accel_bo_cpu_begin(stage->arena, 0, accel_bo_size(stage->arena), ACCEL_CPU_READ);
	for (i = 0; i < net->watch_count && !ret && !*again; i++) {
		const struct node *node = &net->nodes[net->watches[i]];
		const struct value *v = &net->values[node_result(node)];

		offset = net->stores[v->store].offset + (uint64_t)v->offset * sizeof(sum);
		memcpy(&sum, (const char *)accel_bo_ptr(stage->arena) + offset, sizeof(sum));
		if (!isfinite(sum))
			ret = fall_back(state, net, node, again);
	}
	return ret;
}
