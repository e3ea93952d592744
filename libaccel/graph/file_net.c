// SPDX-License-Identifier: MIT
/*
 * Nets of a file. Whoever wrote it may mean harm: every number is looked at, and the plans
 * are made as for any other net.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

static int get_net_symbols(struct reader *r, struct net *net)
{
	const struct accel_graph *graph = net->graph;
	uint32_t i, count = read_count(r, 8);

	net->symbols = calloc(count + 1, sizeof(*net->symbols));
	if (!net->symbols)
		return net_nomem(net);
	net->symbol_count = count;
	if (count != graph->symbol_count)
		return net_fail(net, -EBADMSG, NULL, "numbers for symbols");
	for (i = 0; i < count; i++) {
		net->symbols[i] = read_long(r);
		if (net->symbols[i] < graph->symbols[i].min ||
		    net->symbols[i] > graph->symbols[i].max)
			return net_fail(net, -EBADMSG, NULL, "%s is out of range",
					graph->symbols[i].name);
	}
	return 0;
}

/* Bytes of an input of these numbers; UINT64_MAX: they are too many */
static uint64_t input_bytes(const struct net *net, uint32_t input)
{
	const struct graph_value *v = &net->graph->values[net->graph->inputs[input]];
	uint64_t n = accel_type_bits(v->type);
	int64_t dims[MAX_RANK];
	uint32_t i;

	for (i = 0; i < v->rank; i++)
		dims[i] = v->dims[i] < 0 ? net->symbols[symbol_index(v->dims[i])] : v->dims[i];
	if (!dims_fit(v->rank, dims))
		return UINT64_MAX;
	for (i = 0; i < v->rank; i++)
		n *= (uint64_t)dims[i];
	return (n + 7) / 8;
}

/* What is a part of other memory can reach all of that, and nothing else. */
static bool part_fits(const struct net *net, uint32_t store)
{
	const struct store *s = &net->stores[store], *whole;

	if (s->part_of == NO_VALUE)
		return true;
	if (s->part_of >= net->store_count)
		return false;
	whole = &net->stores[s->part_of];
	return s->kind == STORE_ARENA && whole->kind == STORE_ARENA &&
	       whole->part_of == NO_VALUE && s->bytes == whole->bytes;
}

static int get_stores(struct reader *r, struct net *net)
{
	uint32_t i, count = read_count(r, 24), index, kind, store, node, part_of;
	uint64_t bytes, all = 0;
	bool written;

	for (i = 0; i < count; i++) {
		kind = read_number(r);
		read_bytes(r, &bytes, sizeof(bytes));
		node = read_number(r);
		part_of = read_number(r);
		index = read_number(r);
		store = bytes > MAX_BYTES - all ? NO_VALUE : net_store(net, kind, bytes);
		if (store == NO_VALUE)
			return net_fail(net, -EBADMSG, NULL, "memory without end");
		net->stores[store].node = node;
		net->stores[store].part_of = part_of;
		all += part_of == NO_VALUE ? bytes : 0;
		switch (kind) {
		case STORE_ARENA:
			break;
		case STORE_INPUT:
			if (index >= net->graph->input_count || bytes != input_bytes(net, index))
				return net_fail(net, -EBADMSG, NULL, "an input");
			net->stores[store].index = index;
			break;
		case STORE_CONST:
			net->stores[store].blob = read_blob(r, index, bytes);
			if (!net->stores[store].blob)
				return net_fail(net, -EBADMSG, NULL, "a constant");
			break;
		default:
			return net_fail(net, -EBADMSG, NULL, "memory of no kind");
		}
		written = net->stores[store].node != NO_VALUE;
		/* What is written over an input is a store of its own. */
		if (written ? kind == STORE_CONST : kind == STORE_ARENA)
			return net_fail(net, -EBADMSG, NULL, "who writes what");
	}
	for (i = 0; i < net->store_count; i++)
		if (!part_fits(net, i))
			return net_fail(net, -EBADMSG, NULL, "what is a part of what");
	return 0;
}

/* All of its elements lie within its store. */
static bool within(const struct net *net, const struct value *v)
{
	int64_t lo = v->offset, hi = v->offset, step;
	uint64_t end;
	uint32_t i;

	if (!dims_fit(v->rank, v->dims) || v->offset < 0 || v->offset > (int64_t)MAX_BYTES)
		return false;
	/* Products of these are formed, whether there are elements or not. */
	for (i = 0; i < v->rank; i++)
		if (v->strides[i] > MAX_ELEMENTS || v->strides[i] < -MAX_ELEMENTS)
			return false;
	if (!value_count(v))
		return true;
	for (i = 0; i < v->rank; i++)
		if (__builtin_mul_overflow(v->dims[i] - 1, v->strides[i], &step) ||
		    __builtin_add_overflow(step < 0 ? lo : hi, step, step < 0 ? &lo : &hi))
			return false;
	if (lo < 0)
		return false;
	if (type_is_blocks(v->type))
		return !v->offset && hi < MAX_ELEMENTS && value_dense(v) &&
		       type_bytes(v->type, (uint64_t)hi + 1) <= net->stores[v->store].bytes;
	if (__builtin_mul_overflow((uint64_t)hi + 1, accel_type_bits(v->type), &end))
		return false;
	return (end + 7) / 8 <= net->stores[v->store].bytes;
}

static int get_values(struct reader *r, struct net *net)
{
	uint32_t i, k, count = read_count(r, 24);
	struct value v;

	for (i = 0; i < count; i++) {
		memset(&v, 0, sizeof(v));
		v.name = read_text(r);
		v.type = read_number(r);
		v.rank = read_dims(r, v.dims);
		for (k = 0; k < v.rank; k++)
			v.strides[k] = read_long(r);
		v.offset = read_long(r);
		v.store = read_number(r);
		if (r->bad || !(accel_type_bits(v.type) || type_is_blocks(v.type)) ||
		    v.store >= net->store_count ||
		    !within(net, &v))
			return net_fail(net, -EBADMSG, NULL, "a value");
		if (!list_grow(&net->values, net->value_count, &net->value_cap, sizeof(v)))
			return net_nomem(net);
		net->values[net->value_count++] = v;
	}
	return 0;
}

/* Is the function one that has a name? */
static bool known_function(const union any_desc *d)
{
	switch (d->hdr.op) {
	case ACCEL_OP_UNARY:
		return accel_unary_name(d->unary.func);
	case ACCEL_OP_BINARY:
		return accel_binary_name(d->binary.func);
	case ACCEL_OP_REDUCE:
		return reduce_name(d->reduce.func);
	default:
		return true;
	}
}

/* A result lies where the input lies that it is written over. */
static bool over_fits(const struct net *net, const struct node *node, const struct node_arg *a)
{
	uint32_t over = over_arg(node->desc->hdr.op, a->arg), from;
	const struct value *d = &net->values[a->value], *v;

	if (over == NO_VALUE)
		return net->stores[d->store].kind == STORE_ARENA;
	from = node_value(node, over);
	if (from == NO_VALUE)
		return false;
	v = &net->values[from];
	return net->stores[v->store].kind == STORE_INPUT &&
	       net->stores[d->store].kind == STORE_INPUT &&
	       net->stores[v->store].index == net->stores[d->store].index &&
	       v->offset == d->offset && v->type == d->type && same_dims(v, d) &&
	       value_dense(v) && value_dense(d);
}

/* What is read was written before. */
static bool arg_fits(const struct net *net, const struct node *node, uint32_t index)
{
	const struct node_arg *a = &node->args[index];
	const struct accel_tensor *t;
	const struct store *s;
	bool result = false, over;
	uint32_t i;

	if ((a->arg & ~(uint32_t)ARG_TABLES) >= ACCEL_ARG_COUNT ||
	    (a->arg & ARG_TABLES) == ARG_TABLES || a->value >= net->value_count)
		return false;
	for (i = 0; i < index; i++)
		if (node->args[i].arg == a->arg)
			return false;
	s = &net->stores[net->values[a->value].store];
	if (is_added(node->desc)) {
		const struct operator_node *o = node->desc->added.node;

		return a->arg < o->out_count + o->in_count &&
		       a->result == (a->arg < o->out_count) &&
		       (a->result || s->node == NO_VALUE || s->node < net->node_count - 1);
	}
	over = !is_table(a->arg) && (over_args(node->desc->hdr.op) >> a->arg & 1);
	t = desc_field(&node->desc->any, a->arg & ~(uint32_t)ARG_TABLES, &result);
	if (!t && !over)
		return false;
	if (is_table(a->arg) && (!t || t->quant.scheme < ACCEL_QUANT_CHANNEL))
		return false;
	if (a->result != (t && result && !is_table(a->arg)))
		return false;
	return a->result || s->node == NO_VALUE || s->node < net->node_count - 1;
}

static int get_net_node(struct reader *r, struct net *net)
{
	const char *name = read_text(r), *source = read_text(r);
	const struct node of = { .name = name, .source = source };
	union node_desc *desc = read_desc(r);
	struct node *node;
	uint32_t i, count;

	if (!desc || is_shape_op(desc->hdr.op) || !known_function(&desc->any)) {
		free(desc);
		return net_fail(net, -EBADMSG, NULL, "a node");
	}
	node = net_node(net, &of, desc->hdr.op);
	if (node)
		memcpy(node->desc, desc, desc->hdr.size);
	free(desc);
	if (!node)
		return net_nomem(net);
	node->rules = read_number(r);
	node->fused = read_number(r);
	count = read_count(r, 12);
	for (i = 0; i < count; i++) {
		uint32_t arg = read_number(r), value = read_number(r), result = read_number(r);

		if (node_arg(node, arg, value, result) || !arg_fits(net, node, i))
			return net_fail(net, -EBADMSG, node, "what it reads and writes");
	}
	count = is_added(node->desc) ? node->desc->added.node->out_count +
				       node->desc->added.node->op->d.min_inputs : 1;
	for (i = 0; i < count; i++)
		if (node_value(node, ACCEL_ARG_D + i) == NO_VALUE)
			return net_fail(net, -EBADMSG, node, "its argument %u is missing", i);
	for (i = 0; i < node->arg_count; i++)
		if (node->args[i].result && !over_fits(net, node, &node->args[i]))
			return net_fail(net, -EBADMSG, node, "where it writes");
	return 0;
}

/* A store says who writes it: that node does, and there is one. */
static int check_writers(struct net *net)
{
	uint32_t i, k;
	bool writes;

	for (i = 0; i < net->store_count; i++) {
		const struct store *s = &net->stores[i];

		if (s->node == NO_VALUE)
			continue;
		if (s->node >= net->node_count)
			return net_fail(net, -EBADMSG, NULL, "who writes what");
		for (k = 0, writes = false; k < net->nodes[s->node].arg_count; k++)
			writes |= net->nodes[s->node].args[k].result &&
				  net->values[net->nodes[s->node].args[k].value].store == i;
		if (!writes)
			return net_fail(net, -EBADMSG, NULL, "who writes what");
	}
	return 0;
}

static int get_outputs(struct reader *r, struct net *net)
{
	uint32_t i, count = read_count(r, 4);
	const struct value *v;

	if (count != net->graph->output_count)
		return net_fail(net, -EBADMSG, NULL, "its results");
	net->outputs = calloc(count + 1, sizeof(*net->outputs));
	net->out_values = calloc(count + 1, sizeof(*net->out_values));
	if (!net->outputs || !net->out_values)
		return net_nomem(net);
	for (i = 0; i < count; i++) {
		net->out_values[i] = net->graph->outputs[i].value;
		net->outputs[i] = read_number(r);
		if (net->outputs[i] >= net->value_count)
			return net_fail(net, -EBADMSG, NULL, "its results");
		v = &net->values[net->outputs[i]];
		if (net->stores[v->store].kind != STORE_ARENA || !value_whole(net, v))
			return net_fail(net, -EBADMSG, NULL, "a result");
	}
	net->output_count = count;
	return 0;
}

/* Contents that are read where they are must be there, and be what they were. */
static int check_constant(struct reader *r, struct net *net, const struct node *node,
			  const struct node_arg *a)
{
	const struct store *s = &net->stores[net->values[a->value].store];
	uint32_t i;

	if (s->kind != STORE_CONST || node_holds(node, a->arg) || !s->bytes)
		return 0;
	if (!s->blob || !s->blob->data)
		return net_fail(net, -EBADMSG, node, "a constant that is not there");
	for (i = 0; i < r->file->blob_count; i++)
		if (r->file->blobs[i].blob == s->blob)
			return file_check_blob(r->program, &r->file->blobs[i]);
	return 0;
}

/* What the CPU does looks at no plan: its results are as large as they follow from its inputs. */
/* Results of an added operator are on nothing that it reads or writes. */
static bool results_apart(const struct net *net, const struct node *node)
{
	uint32_t i, k;

	for (i = 0; i < node->arg_count; i++)
		for (k = 0; k < node->arg_count && node->args[i].result; k++)
			if (k != i &&
			    whole_of(net, net->values[node->args[i].value].store) ==
				    whole_of(net, net->values[node->args[k].value].store))
				return false;
	return true;
}

static int check_host(struct net *net, const struct node *node)
{
	const uint32_t values = net->value_count, stores = net->store_count;
	struct node copy = *node;
	uint32_t i;
	int ret = net_infer(net, &copy);

	for (i = 0; i < node->arg_count && !ret; i++) {
		const struct value *is = &net->values[node->args[i].value];
		const struct value *should = &net->values[copy.args[i].value];

		if (accel_type_bits(is->type) < 8)
			ret = net_fail(net, -EBADMSG, node, "half bytes");
		else if (!same_dims(is, should) ||
			 (is_added(node->desc) && is->type != should->type))
			ret = net_fail(net, -EBADMSG, node, "its result is of another size or type");
	}
	if (!ret && is_added(node->desc) && !results_apart(net, node))
		ret = net_fail(net, -EBADMSG, node, "where it writes");
	net->value_count = values;
	net->store_count = stores;
	return ret;
}

/* Are the results of a node in no memory that has parts, but for the part that is its own? */
static bool writes_apart(const struct net *net, uint32_t index)
{
	const struct node *node = &net->nodes[index];
	uint32_t k, store, by;

	for (k = 0; k < node->arg_count; k++) {
		store = net->values[node->args[k].value].store;
		by = net->stores[store].node;
		if (!node->args[k].result || by == index || by == NO_VALUE)
			continue;
		if (net->stores[store].part_of != NO_VALUE ||
		    concat_in_place(net, &net->nodes[by]))
			return false;
	}
	return true;
}

/*
 * Memory with parts is written by those who write the parts, and by none of them on the CPU:
 * binding finds what engines would write over their inputs.
 */
static bool parts_apart(const struct net *net)
{
	uint32_t i;

	for (i = 0; i < net->order_count; i++)
		if (!writes_apart(net, net->order[i]))
			return false;

	for (i = 0; i < net->store_count; i++) {
		const struct store *s = &net->stores[i];

		if (s->part_of == NO_VALUE)
			continue;
		if (net->nodes[s->node].host ||
		    !concat_in_place(net, &net->nodes[net->stores[s->part_of].node]))
			return false;
	}
	return true;
}

static int check_lowered(struct reader *r, struct net *net)
{
	uint32_t i, k;
	int ret = parts_apart(net) ? 0 : net_fail(net, -EBADMSG, NULL, "who writes its parts");

	for (i = 0; i < net->order_count && !ret; i++) {
		const struct node *node = &net->nodes[net->order[i]];

		for (k = 0; k < node->arg_count && !ret; k++)
			ret = check_constant(r, net, node, &node->args[k]);
		if (!ret && node->host)
			ret = check_host(net, node);
	}
	return ret;
}

/**
 * read_net - a net as it was behind the passes
 * @r: stream
 * @net: net of the program and its graph
 *
 * Return: 0, or the error that the net or the context has.
 */
int read_net(struct reader *r, struct net *net)
{
	uint32_t i, count;
	int ret = get_net_symbols(r, net);

	if (!ret)
		ret = get_stores(r, net);
	if (!ret)
		ret = get_values(r, net);
	count = ret ? 0 : read_count(r, 24);
	for (i = 0; i < count && !ret; i++)
		ret = get_net_node(r, net);
	if (!ret)
		ret = check_writers(net);
	if (!ret)
		ret = get_outputs(r, net);
	if (!ret && r->bad)
		ret = net_fail(net, -EBADMSG, NULL, "it ends early");
	if (ret)
		return ret;
	net->stop = net->graph->node_count;
	net_count_uses(net);
	ret = program_finish(r->program, net);
	return ret ? ret : check_lowered(r, net);
}
