// SPDX-License-Identifier: MIT
/*
 * Quantised numbers: an operation between copies that read bytes and write them takes the
 * bytes itself. Exact products that are scaled afterwards scale what they have summed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define RULE (1u << ACCEL_PASS_QDQ)

/**
 * struct bytes - what a value was before it was made real
 * @value: bytes
 * @quant: what they stand for
 * @scales: table, or NO_VALUE
 * @zeros: table, or NO_VALUE
 */
struct bytes {
	uint32_t value;
	struct accel_quant quant;
	uint32_t scales;
	uint32_t zeros;
};

static bool is_byte(uint32_t type)
{
	return type == ACCEL_S8 || type == ACCEL_U8;
}

static bool is_copy(const struct node *node)
{
	return !node->dead && node->desc->hdr.op == ACCEL_OP_COPY;
}

/* Does it write bytes by one scale? */
static bool is_writer(const struct net *net, const struct node *node)
{
	return is_copy(node) && node->desc->any.copy.d.quant.scheme == ACCEL_QUANT_TENSOR &&
	       net->values[node_value(node, ACCEL_ARG_A)].type == ACCEL_F32 &&
	       is_byte(net->values[node_result(node)].type);
}

/* The bytes that a real value was read from; false: it was not. A view gets a view. */
static bool find_bytes(struct net *net, uint32_t value, struct bytes *out)
{
	uint32_t from = value_node(net, value), a, view;
	const struct value *v, *whole, *bytes;
	const struct node *node;

	if (from == NO_VALUE || !is_copy(&net->nodes[from]) ||
	    !net->nodes[from].desc->any.copy.a.quant.scheme)
		return false;
	node = &net->nodes[from];
	a = node_value(node, ACCEL_ARG_A);
	v = &net->values[value];
	whole = &net->values[node_result(node)];
	bytes = &net->values[a];
	if (v->type != ACCEL_F32 || !is_byte(bytes->type) || !same_dims(bytes, whole))
		return false;
	out->quant = node->desc->any.copy.a.quant;
	out->scales = node_value(node, ACCEL_ARG_A | ACCEL_ARG_SCALES);
	out->zeros = node_value(node, ACCEL_ARG_A | ACCEL_ARG_ZEROS);
	out->value = a;
	if (same_place(v, whole))
		return true;
	if (out->quant.scheme != ACCEL_QUANT_TENSOR || v->store != whole->store ||
	    !value_whole(net, whole) || !value_dense(bytes))
		return false;
	view = net_view(net, value);
	if (view == NO_VALUE)
		return false;
	bytes = &net->values[a];
	net->values[view].type = bytes->type;
	net->values[view].store = bytes->store;
	net->values[view].offset += bytes->offset;
	out->value = view;
	return true;
}

static bool same_quant(const struct net *net, const struct bytes *a, const struct accel_quant *q,
		       uint32_t type)
{
	return a->quant.scheme == ACCEL_QUANT_TENSOR && q->scheme == ACCEL_QUANT_TENSOR &&
	       a->quant.scale == q->scale && a->quant.zero == q->zero &&
	       net->values[a->value].type == type;
}

/* The one copy that makes bytes of a node's result, NO_VALUE: there is none, or others read it. */
static uint32_t find_writer(const struct net *net, const struct node *node)
{
	uint32_t result = node_result(node), at = NO_VALUE;

	if (value_uses(net, result, &at) != 1 || at == NO_VALUE || net->nodes[at].dead ||
	    !is_writer(net, &net->nodes[at]) ||
	    !same_place(&net->values[node_value(&net->nodes[at], ACCEL_ARG_A)],
			&net->values[result]) ||
	    !same_dims(&net->values[node_result(&net->nodes[at])], &net->values[result]))
		return NO_VALUE;
	return at;
}

/* Which inputs have to be bytes, how many; 0: none of this operation */
static uint32_t byte_inputs(const struct node *node)
{
	switch (node->desc->hdr.op) {
	case ACCEL_OP_CONV:
	case ACCEL_OP_GEMM:
		return 2;
	case ACCEL_OP_BINARY:
		return node->desc->any.binary.func <= ACCEL_BINARY_MIN ? 2 : 0;
	case ACCEL_OP_POOL:
	case ACCEL_OP_UNARY:
		return 1;
	case ACCEL_OP_CONCAT:
		return node->desc->any.concat.count;
	default:
		return 0;
	}
}

/* Does it only choose among its inputs' elements? */
static bool only_moves(const struct node *node)
{
	return node->desc->hdr.op == ACCEL_OP_CONCAT ||
	       (node->desc->hdr.op == ACCEL_OP_POOL && node->desc->any.pool.func == ACCEL_POOL_MAX);
}

/* Who writes the elements of a store now */
static void set_writer(struct net *net, uint32_t value, uint32_t node)
{
	net->stores[net->values[value].store].node = node;
}

static bool take_input(struct net *net, struct node *trial, uint32_t arg, bool *equal,
		       const struct accel_quant *to, uint32_t type)
{
	struct bytes b;

	if (node_value(trial, arg) == NO_VALUE || !find_bytes(net, node_value(trial, arg), &b))
		return false;
	desc_field(&trial->desc->any, arg, NULL)->quant = b.quant;
	*equal = *equal && to && same_quant(net, &b, to, type);
	return node_set(trial, arg, b.value) &&
	       (b.scales == NO_VALUE || node_set(trial, arg | ACCEL_ARG_SCALES, b.scales)) &&
	       (b.zeros == NO_VALUE || node_set(trial, arg | ACCEL_ARG_ZEROS, b.zeros));
}

/* An operation whose inputs were bytes, and whose result becomes bytes, or stays real. */
static void between(struct net *net, uint32_t index)
{
	struct node trial = net->nodes[index];
	uint32_t i, n = byte_inputs(&trial), to = find_writer(net, &trial), type = 0;
	bool product = trial.desc->hdr.op == ACCEL_OP_CONV || trial.desc->hdr.op == ACCEL_OP_GEMM;
	const struct accel_quant *quant = NULL;
	union node_desc old;
	bool equal = true;

	if (!n || (to == NO_VALUE && !product))
		return;
	memcpy(&old, trial.desc, trial.desc->hdr.size);
	if (to != NO_VALUE) {
		quant = &net->nodes[to].desc->any.copy.d.quant;
		type = net->values[node_result(&net->nodes[to])].type;
	}
	for (i = 0; i < n; i++)
		if (!take_input(net, &trial, ACCEL_ARG_A + i, &equal, quant, type))
			goto undo;
	if (to != NO_VALUE) {
		desc_field(&trial.desc->any, ACCEL_ARG_D, NULL)->quant = *quant;
		node_set(&trial, ACCEL_ARG_D, node_result(&net->nodes[to]));
		/* Bytes that stand for the same need not be read. */
		for (i = 0; equal && only_moves(&trial) && i <= n; i++)
			desc_field(&trial.desc->any, i ? ACCEL_ARG_A + i - 1 : ACCEL_ARG_D, NULL)
				->quant = (struct accel_quant)ACCEL_QUANT_INIT;
	}
	if (!net_can_run(net, &trial))
		goto undo;
	trial.rules |= RULE;
	trial.fused += n;
	net->nodes[index] = trial;
	if (to != NO_VALUE) {
		net->nodes[index].fused += 1;
		net->nodes[to].dead = true;
		set_writer(net, node_result(&trial), index);
	}
	/* Copies are read less now, and they are not asked for their readers. */
	return;
undo:
	memcpy(trial.desc, &old, old.hdr.size);
}

/* Bytes that are read and written by the same scale are what they were. */
static void identity(struct net *net, uint32_t index)
{
	struct node *node = &net->nodes[index];
	uint32_t result = node_result(node), store = net->values[result].store, i;
	struct bytes b;

	if (!is_writer(net, node) || !value_whole(net, &net->values[result]) ||
	    !find_bytes(net, node_value(node, ACCEL_ARG_A), &b) ||
	    !same_quant(net, &b, &node->desc->any.copy.d.quant, net->values[result].type) ||
	    !value_whole(net, &net->values[b.value]) ||
	    !same_dims(&net->values[b.value], &net->values[result]) ||
	    net->stores[net->values[b.value].store].kind != STORE_ARENA)
		return;
	for (i = 0; i < net->output_count; i++)
		if (net->values[net->outputs[i]].store == store)
			return;
	for (i = 0; i < net->value_count; i++)
		if (net->values[i].store == store)
			net->values[i].store = net->values[b.value].store;
	node->dead = true;
}

/* --- constants -------------------------------------------------------------------------- */

/* The entry of a table that element @at has */
static double table_at(const struct net *net, uint32_t table, int64_t index)
{
	struct host_tensor t = value_host(&net->values[table], value_data(net, table));
	struct host_number n = host_get(t.type, t.data, index * t.strides[0]);

	return n.real ? n.f : (double)n.i;
}

/* Are the scales, or zero points, constants, one for each index of the axis that they are for? */
static bool is_table_of(const struct net *net, uint32_t table, const struct accel_quant *q,
			const struct value *a)
{
	const struct value *v = &net->values[table];

	return q->scheme == ACCEL_QUANT_CHANNEL && q->axis < a->rank && value_const(net, table) &&
	       v->rank == 1 && v->dims[0] == a->dims[q->axis];
}

/* Constant bytes that nobody takes as they are become numbers once. */
static int fold(struct net *net, uint32_t index)
{
	struct node *node = &net->nodes[index];
	uint32_t a = node_value(node, ACCEL_ARG_A), d = node_result(node), i;
	uint32_t scales = node_value(node, ACCEL_ARG_A | ACCEL_ARG_SCALES);
	uint32_t zeros = node_value(node, ACCEL_ARG_A | ACCEL_ARG_ZEROS);
	const struct accel_quant q = is_copy(node) ? node->desc->any.copy.a.quant :
				     (struct accel_quant) { 0 };
	int64_t at[MAX_RANK] = { 0 }, from, n = 0;
	struct host_tensor t;
	struct blob *blob;
	struct store *s;
	float *data;

	if (!q.scheme || !value_const(net, a) ||
	    !value_whole(net, &net->values[d]) || !is_byte(net->values[a].type) ||
	    net->values[d].type != ACCEL_F32 || !same_dims(&net->values[a], &net->values[d]) ||
	    !value_count(&net->values[d]))
		return 0;
	/* Who gives the memory of an output wants it written. */
	for (i = 0; i < net->output_count; i++)
		if (net->values[net->outputs[i]].store == net->values[d].store)
			return 0;
	/* Others are for the plan to take, or to refuse. */
	if ((scales == NO_VALUE && q.scheme != ACCEL_QUANT_TENSOR) ||
	    (scales != NO_VALUE && !is_table_of(net, scales, &q, &net->values[a])) ||
	    (zeros != NO_VALUE && !is_table_of(net, zeros, &q, &net->values[a])))
		return 0;
	s = &net->stores[net->values[d].store];
	if (!net_may_fold(net, s->bytes))
		return 0;
	data = malloc(s->bytes);
	blob = data ? blob_create(data, s->bytes, free, data) : NULL;
	if (!blob) {
		free(data);
		return net_nomem(net);
	}
	t = value_host(&net->values[a], value_data(net, a));
	do {
		float scale =
			scales == NO_VALUE ? q.scale : (float)table_at(net, scales, at[q.axis]);
		int64_t zero =
			zeros == NO_VALUE ? q.zero : (int64_t)table_at(net, zeros, at[q.axis]);

		for (i = 0, from = 0; i < t.rank; i++)
			from += at[i] * t.strides[i];
		data[n++] = scale * (float)(host_get(t.type, t.data, from).i - zero);
		for (i = t.rank; i-- > 0 && ++at[i] == t.dims[i];)
			at[i] = 0;
	} while (i != UINT32_MAX);
	s->kind = STORE_CONST;
	s->blob = blob;
	set_writer(net, d, NO_VALUE);
	node->dead = true;
	return 0;
}

int pass_qdq(struct net *net)
{
	uint32_t i, count = net->node_count;
	int ret;

	for (i = 0; i < count; i++)
		if (!net->nodes[i].dead)
			between(net, i);
	for (i = 0; i < count; i++)
		if (!net->nodes[i].dead)
			identity(net, i);
	ret = pass_dead(net);
	for (i = 0; i < count && !ret; i++)
		if (!net->nodes[i].dead)
			ret = fold(net, i);
	return ret;
}

/* --- exact products that are scaled --------------------------------------------------------- */

/* The only reader of a node's whole result, NO_VALUE: there is no such */
static uint32_t only_reader(const struct net *net, const struct node *node)
{
	uint32_t at = NO_VALUE, result = node_result(node), i;
	const struct node *user;

	if (value_uses(net, result, &at) != 1 || at == NO_VALUE || net->nodes[at].dead)
		return NO_VALUE;
	user = &net->nodes[at];
	for (i = 0; i < user->arg_count; i++)
		if (!user->args[i].result &&
		    same_place(&net->values[user->args[i].value], &net->values[result]) &&
		    same_dims(&net->values[node_result(user)], &net->values[result]))
			return at;
	return NO_VALUE;
}

/* The other operand of a function of two, if that is what @at is; NO_VALUE: it is not */
static uint32_t operand(const struct net *net, uint32_t at, uint32_t func, const struct node *node)
{
	const struct node *user;
	uint32_t a, b, store = net->values[node_result(node)].store;

	if (at == NO_VALUE)
		return NO_VALUE;
	user = &net->nodes[at];
	if (user->desc->hdr.op != ACCEL_OP_BINARY || user->desc->any.binary.func != func ||
	    user->desc->any.binary.epilogue.act || is_quantised(user))
		return NO_VALUE;
	a = node_value(user, ACCEL_ARG_A);
	b = node_value(user, ACCEL_ARG_B);
	if (net->values[a].store == store)
		return net->values[b].store == store ? NO_VALUE : b;
	return func == ACCEL_BINARY_SUB ? NO_VALUE : a;
}

/* Is it a number, or one for each column? */
static bool is_line(const struct net *net, uint32_t value, const struct value *d)
{
	const struct value *v = &net->values[value];
	uint32_t i;

	for (i = 0; i < v->rank; i++)
		if (v->dims[i] != 1 && (i + 1 < v->rank || v->dims[i] != d->dims[d->rank - 1]))
			return false;
	return true;
}

/* A node of one or two inputs in front of a product */
static uint32_t small(struct net *net, const struct node *of, uint32_t op, uint32_t func,
		      uint32_t a, uint32_t b)
{
	struct node *node = net_node(net, of, op);
	uint32_t index = net->node_count - 1, d;

	if (!node)
		return NO_VALUE;
	if (op == ACCEL_OP_BINARY)
		node->desc->any.binary.func = func;
	else if (op == ACCEL_OP_UNARY)
		node->desc->any.unary.func = func;
	else
		node->desc->any.copy.d.dtype = ACCEL_F32;
	if (node_arg(node, ACCEL_ARG_D, 0, true) || node_arg(node, ACCEL_ARG_A, a, false) ||
	    (b != NO_VALUE && node_arg(node, ACCEL_ARG_B, b, false)) || net_infer(net, node))
		return NO_VALUE;
	net->nodes[index].rules |= RULE;
	d = node_result(&net->nodes[index]);
	net->stores[net->values[d].store].node = index;
	fold_node(net, &net->nodes[index]);
	return d;
}

/* Is it the result of a node, and no view of that? */
static bool is_whole(const struct net *net, uint32_t value, const struct node *node)
{
	return same_place(&net->values[value], &net->values[node_result(node)]);
}

/* Sums of as many products, less zero points of bytes, are integers of 32 bits. */
#define ROWS_MAX	16384

static bool are_bytes(const struct net *net, uint32_t zeros)
{
	const struct value *v = &net->values[zeros];
	const int32_t *list = value_host(v, value_data(net, zeros)).data;
	int64_t i;

	for (i = 0; i < v->dims[0]; i++)
		if (list[i] < -128 || list[i] > 255)
			return false;
	return true;
}

/*
 * Zero points of B's columns, if what is taken off @node's product at @at is the sums of A's rows
 * times constants, one for each column; NO_VALUE: it is not
 */
static uint32_t column_zeros(const struct net *net, uint32_t at, const struct node *node)
{
	const uint32_t off = operand(net, at, ACCEL_BINARY_SUB, node);
	const uint32_t from = off == NO_VALUE ? NO_VALUE : value_node(net, off);
	const struct value *a = &net->values[node_value(node, ACCEL_ARG_A)];
	const struct value *b = &net->values[node_value(node, ACCEL_ARG_B)];
	const struct value *read, *zeros;
	const struct node *sum;
	uint32_t i, q, r;

	if (from == NO_VALUE || b->rank != 2 || !is_whole(net, off, &net->nodes[from]) ||
	    (node->desc->any.gemm.flags & (ACCEL_GEMM_TRANS_A | ACCEL_GEMM_TRANS_B)))
		return NO_VALUE;
	for (i = 0; i < 2; i++) {
		r = node_value(&net->nodes[from], i ? ACCEL_ARG_B : ACCEL_ARG_A);
		if (r == NO_VALUE || value_node(net, r) == NO_VALUE)
			continue;
		sum = &net->nodes[value_node(net, r)];
		q = operand(net, from, ACCEL_BINARY_MUL, sum);
		if (q == NO_VALUE || sum->desc->hdr.op != ACCEL_OP_REDUCE || is_quantised(sum) ||
		    sum->desc->any.reduce.func != ACCEL_REDUCE_SUM ||
		    sum->desc->any.reduce.axes != ACCEL_AXIS(a->rank - 1))
			continue;
		read = &net->values[node_value(sum, ACCEL_ARG_A)];
		zeros = &net->values[q];
		if (same_place(read, a) && same_dims(read, a) && is_whole(net, r, sum) &&
		    net->values[r].rank == a->rank &&
		    value_const(net, q) && zeros->type == ACCEL_S32 && value_dense(zeros) &&
		    zeros->rank == 1 && zeros->dims[0] == b->dims[1] &&
		    a->dims[a->rank - 1] <= ROWS_MAX && are_bytes(net, q))
			return q;
	}
	return NO_VALUE;
}

/* B has a zero point for each column. */
static bool take_zeros(struct net *net, struct node *trial, uint32_t zeros)
{
	struct accel_quant *q = &trial->desc->any.gemm.b.quant;
	const int64_t n = net->values[zeros].dims[0];
	float *ones = malloc((size_t)n * sizeof(*ones) + 1);
	uint32_t scales;
	int64_t i;

	if (!ones)
		return false;
	for (i = 0; i < n; i++)
		ones[i] = 1;
	scales = net_constant(net, ACCEL_F32, 1, &n, ones);
	q->scheme = ACCEL_QUANT_CHANNEL;
	q->axis = 1;
	q->scale_dtype = ACCEL_F32;
	return scales != NO_VALUE && node_set(trial, ACCEL_ARG_B | ACCEL_ARG_SCALES, scales) &&
	       node_set(trial, ACCEL_ARG_B | ACCEL_ARG_ZEROS, zeros);
}

/**
 * struct chain - what follows an exact product
 * @zeros: column_zeros()
 * @off: taken off it, NO_VALUE: nothing
 * @scale: what it is multiplied by as a real number
 * @bias: what is added then, NO_VALUE: nothing
 * @nodes: that do so
 * @count: their number
 */
struct chain {
	uint32_t zeros;
	uint32_t off;
	uint32_t scale;
	uint32_t bias;
	uint32_t nodes[5];
	uint32_t count;
};

static bool find_chain(const struct net *net, const struct node *node, struct chain *c)
{
	const struct value *d = &net->values[node_result(node)];
	uint32_t at = only_reader(net, node);

	c->count = 0;
	c->bias = NO_VALUE;
	c->zeros = column_zeros(net, at, node);
	if (c->zeros != NO_VALUE) {
		c->nodes[c->count++] = at;
		node = &net->nodes[at];
		at = only_reader(net, node);
	}
	c->off = operand(net, at, ACCEL_BINARY_SUB, node);
	if (c->off != NO_VALUE) {
		if (!is_line(net, c->off, d))
			return false;
		c->nodes[c->count++] = at;
		node = &net->nodes[at];
		at = only_reader(net, node);
	}
	if (at == NO_VALUE || !is_copy(&net->nodes[at]) || is_quantised(&net->nodes[at]) ||
	    net->values[node_result(&net->nodes[at])].type != ACCEL_F32)
		return false;
	c->nodes[c->count++] = at;
	node = &net->nodes[at];
	at = only_reader(net, node);
	c->scale = operand(net, at, ACCEL_BINARY_MUL, node);
	if (c->scale == NO_VALUE || !is_line(net, c->scale, d) ||
	    net->values[c->scale].type != ACCEL_F32)
		return false;
	c->nodes[c->count++] = at;
	node = &net->nodes[at];
	at = only_reader(net, node);
	c->bias = operand(net, at, ACCEL_BINARY_ADD, node);
	if (c->bias != NO_VALUE && is_line(net, c->bias, d) &&
	    net->values[c->bias].type == ACCEL_F32)
		c->nodes[c->count++] = at;
	else
		c->bias = NO_VALUE;
	return true;
}

/* What a node reads is read once more, or once less. */
static void count_reads(struct net *net, uint32_t index, bool more)
{
	const struct node *node = &net->nodes[index];
	struct store *s;
	uint32_t i;

	for (i = 0; !node->dead && i < node->arg_count; i++) {
		if (node->args[i].result)
			continue;
		s = &net->stores[net->values[node->args[i].value].store];
		s->uses += more ? 1 : -1;
		s->user = more ? index : s->user;
	}
}

/*
 * sum * scale + (bias - off * scale): the product has both at its end, and takes off by itself
 * what is to be taken off its columns.
 */
static int scale_product(struct net *net, uint32_t index)
{
	struct node trial = net->nodes[index];
	uint32_t bias, i, last, first = net->node_count;
	struct chain c;

	if (trial.desc->hdr.op != ACCEL_OP_GEMM || is_quantised(&trial) ||
	    trial.desc->any.gemm.epilogue.act ||
	    net->values[node_result(&trial)].type != ACCEL_S32 || trial.arg_count != 3 ||
	    !find_chain(net, &trial, &c))
		return 0;
	bias = c.bias;
	if (c.off != NO_VALUE) {
		i = small(net, &trial, ACCEL_OP_COPY, 0, c.off, NO_VALUE);
		if (i != NO_VALUE)
			i = small(net, &trial, ACCEL_OP_BINARY, ACCEL_BINARY_MUL, i, c.scale);
		if (i == NO_VALUE)
			return net_nomem(net);
		bias = c.bias == NO_VALUE
			       ? small(net, &trial, ACCEL_OP_UNARY, ACCEL_UNARY_NEG, i, NO_VALUE)
			       : small(net, &trial, ACCEL_OP_BINARY, ACCEL_BINARY_SUB, c.bias, i);
		if (bias == NO_VALUE)
			return net_nomem(net);
	}
	last = c.nodes[c.count - 1];
	node_set(&trial, ACCEL_ARG_D, node_result(&net->nodes[last]));
	trial.desc->any.gemm.d.dtype = ACCEL_F32;
	if (!node_set(&trial, ACCEL_ARG_SCALE, c.scale) ||
	    (bias != NO_VALUE && !node_set(&trial, ACCEL_ARG_BIAS, bias)) ||
	    (c.zeros != NO_VALUE && !take_zeros(net, &trial, c.zeros)) ||
	    !net_can_run(net, &trial)) {
		trial.desc->any.gemm.b.quant = (struct accel_quant) { 0 };
		trial.desc->any.gemm.d.dtype = ACCEL_S32;
		for (i = first; i < net->node_count; i++)
			net->nodes[i].dead = true;
		return 0;
	}
	trial.rules |= RULE;
	trial.fused += c.count;
	for (i = 0; i < c.count; i++) {
		count_reads(net, c.nodes[i], false);
		net->nodes[c.nodes[i]].dead = true;
	}
	count_reads(net, index, false);
	net->nodes[index] = trial;
	count_reads(net, index, true);
	for (i = first; i < net->node_count; i++)
		count_reads(net, i, true);
	set_writer(net, node_result(&trial), index);
	return 0;
}

int pass_scale(struct net *net)
{
	uint32_t i, count = net->node_count;
	int ret = 0;

	for (i = 0; i < count && !ret; i++)
		if (!net->nodes[i].dead)
			ret = scale_product(net, i);
	return ret;
}
