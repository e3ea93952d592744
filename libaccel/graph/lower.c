// SPDX-License-Identifier: MIT
/*
 * Plans for nodes, and the order in which they run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/plan/plan.h"
#include "graph.h"

/* --- descriptors ------------------------------------------------------------------- */

/* Does dimension @i lie within the one before it for all of them? */
static bool nests(struct value *v, uint32_t count, uint32_t i)
{
	uint32_t k;

	for (k = 0; k < count; k++)
		if (v[k].strides[i - 1] != v[k].strides[i] * v[k].dims[i])
			return false;
	return true;
}

/* The result's longest steps first: the order of the loops says nothing about the elements. */
static void sort_dims(struct value *v, uint32_t count, uint32_t d)
{
	uint32_t i, k, n, order[MAX_RANK];

	for (i = 0; i < v[d].rank; i++) {
		for (k = i; k > 0 && v[d].strides[order[k - 1]] < v[d].strides[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	for (n = 0; n < count; n++)
		permute_view(&v[n], order);
}

/*
 * Operations on each element, of values with more dimensions than tensors have: all get
 * the result's, in the order in which it lies, and neighbours become one.
 */
static void merge_dims(struct value *v, uint32_t count, uint32_t d)
{
	uint32_t i, k, m, rank = v[d].rank, skip;
	struct value old;

	for (k = 0; k < count; k++) {
		old = v[k];
		skip = rank - old.rank;
		for (i = 0; i < rank; i++) {
			v[k].dims[i] = v[d].dims[i];
			v[k].strides[i] = i < skip ||
					  (old.dims[i - skip] == 1 && v[d].dims[i] != 1) ?
					  0 : old.strides[i - skip];
			if (v[d].dims[i] == 1)
				v[k].strides[i] = 0;
		}
		v[k].rank = rank;
	}
	sort_dims(v, count, d);
	for (i = rank; i-- > 0;) {
		bool drop = v[d].dims[i] == 1, join = !drop && i && nests(v, count, i);

		if (!drop && !join)
			continue;
		for (k = 0; k < count; k++) {
			if (join) {
				v[k].dims[i - 1] *= v[k].dims[i];
				v[k].strides[i - 1] = v[k].strides[i];
			}
			for (m = i; m + 1 < rank; m++) {
				v[k].dims[m] = v[k].dims[m + 1];
				v[k].strides[m] = v[k].strides[m + 1];
			}
		}
		rank--;
	}
	for (k = 0; k < count; k++)
		v[k].rank = rank;
}

static bool is_elementwise(uint32_t op)
{
	return op == ACCEL_OP_COPY || op == ACCEL_OP_UNARY || op == ACCEL_OP_BINARY ||
	       op == ACCEL_OP_SELECT;
}

/**
 * node_full_desc - the descriptor of a node with its tensors
 * @net: net
 * @node: node
 * @desc: out: buffers are not there
 *
 * Return: false: a value has too many dimensions.
 */
bool node_full_desc(struct net *net, const struct node *node, union any_desc *desc)
{
	struct accel_tensor *t[NODE_MAX_ARGS];
	struct value v[NODE_MAX_ARGS];
	uint32_t i, n = 0, d = 0;
	struct accel_quant quant;
	bool merge = false, tables = false;

	memset(desc, 0, sizeof(*desc));
	memcpy(desc, node->desc, node->desc->hdr.size);
	for (i = 0; i < node->arg_count; i++) {
		if (is_table(node->args[i].arg)) {
			tables = true;
			continue;
		}
		t[n] = desc_field(desc, node->args[i].arg, NULL);
		/* What a result is written over is no tensor beside it. */
		if (!t[n])
			continue;
		v[n] = net->values[node->args[i].value];
		merge |= v[n].rank > ACCEL_MAX_RANK;
		if (node->args[i].arg == ACCEL_ARG_D) {
			d = n;
			merge |= !value_dense(&v[n]);
		}
		n++;
	}
	/* Scales lie along a dimension that is to be what it was. */
	if (merge && !tables && is_elementwise(node->desc->hdr.op))
		merge_dims(v, n, d);
	for (i = 0; i < n; i++) {
		quant = t[i]->quant;
		if (!value_tensor(&v[i], t[i]))
			return false;
		t[i]->quant = quant;
	}
	return true;
}

/* --- who does it ------------------------------------------------------------------- */

static bool is_index(uint32_t op, uint32_t arg)
{
	return (op == ACCEL_OP_GATHER || op == ACCEL_OP_SCATTER) && arg == ACCEL_ARG_B;
}

/* Indices of 64 bits become such as engines have; saturated ones are still out of range. */
static int narrow_indices(struct net *net, uint32_t index)
{
	uint32_t i, value, data = node_value(&net->nodes[index], ACCEL_ARG_A);

	for (i = 0; i < net->nodes[index].arg_count; i++) {
		struct node *node = &net->nodes[index];

		value = node->args[i].value;
		if (!is_index(node->desc->hdr.op, node->args[i].arg) ||
		    engine_type(net->values[value].type) ||
		    !engine_type(net->values[data].type))
			continue;
		value = net_copy(net, value, ACCEL_S32, node);
		if (value == NO_VALUE)
			return net_nomem(net);
		net->nodes[index].args[i].value = value;
	}
	return 0;
}

static int choose_side(struct net *net, struct node *node)
{
	uint32_t i;

	for (i = 0; i < node->arg_count; i++)
		if (!engine_type(net->values[node->args[i].value].type))
			node->host = true;
	for (i = 0; i < node->arg_count; i++)
		if (node->host && type_is_blocks(net->values[node->args[i].value].type))
			return net_fail(net, -EOPNOTSUPP, node, "the CPU reads no blocks");
	for (i = 0; i < node->arg_count; i++)
		if (node->host && accel_type_bits(net->values[node->args[i].value].type) < 8)
			return net_fail(net, -EOPNOTSUPP, node, "the CPU reads no 4-bit numbers");
	if (node->host && (!host_can(&node->desc->hdr) || is_quantised(node)))
		return net_fail(net, -EOPNOTSUPP, node, "no engine has its types, nor has the CPU");
	return 0;
}

/* --- plans ------------------------------------------------------------------------- */

/* The buffer of a constant, in the tensor that a plan reads while it is made. */
static int bind_constant(struct net *net, uint32_t value, struct accel_tensor *t)
{
	const struct value *v = &net->values[value];
	struct constant c;
	int ret = program_constant(net->program, net->stores[v->store].blob, &c);

	if (ret)
		return ret;
	t->bo = c.bo;
	t->offset = c.offset + (uint64_t)v->offset * accel_type_bits(v->type) / 8;
	return 0;
}

/* The buffers of tables that are constants; those of scales may also come later. */
static int bind_tables(struct net *net, const struct node *node, union any_desc *desc)
{
	struct accel_tensor table, *t;
	uint32_t i, arg, value;
	int ret;

	for (i = 0; i < node->arg_count; i++) {
		arg = node->args[i].arg;
		value = node->args[i].value;
		if (!is_table(arg) || (!value_const(net, value) && !(arg & ACCEL_ARG_ZEROS)))
			continue;
		if (!value_const(net, value))
			return net_fail(net, -EOPNOTSUPP, node, "its zero points are not constant");
		t = desc_field(desc, arg & ~(uint32_t)ARG_TABLES, NULL);
		ret = bind_constant(net, value, &table);
		if (ret)
			return ret;
		if (arg & ACCEL_ARG_ZEROS) {
			t->quant.zeros = table.bo;
			t->quant.zeros_offset = table.offset;
		} else {
			t->quant.scales = table.bo;
			t->quant.scales_offset = table.offset;
		}
	}
	return 0;
}

/**
 * node_packs - are weights that never change rearranged for the engine, once?
 * @net: net
 * @node: node
 * @desc: its descriptor, which says so then
 */
bool node_packs(const struct net *net, const struct node *node, union any_desc *desc)
{
	const struct accel_compile_opts *opts = &net->program->opts;
	uint32_t b = node_value(node, ACCEL_ARG_B);

	if (opts->level < 1 || (opts->off >> ACCEL_PASS_PACK & 1) || b == NO_VALUE ||
	    !value_const(net, b) || type_is_blocks(net->values[b].type))
		return false;
	if (desc->hdr.op == ACCEL_OP_GEMM) {
		desc->gemm.flags |= ACCEL_GEMM_PACK_B;
		return true;
	}
	if (desc->hdr.op != ACCEL_OP_CONV)
		return false;
	desc->conv.flags |= ACCEL_CONV_PACK_B;
	if (opts->level >= 2 && !(opts->off >> ACCEL_PASS_WINOGRAD & 1))
		desc->conv.flags |= ACCEL_CONV_WINOGRAD;
	return true;
}

/* What a plan packed is known by the first buffer that had it, also when that is gone. */
static void note_source(struct net *net, const struct node *node, union any_desc *desc)
{
	struct store *s = &net->stores[net->values[node_value(node, ACCEL_ARG_B)].store];
	uint64_t source = weights_source(desc_field(desc, ACCEL_ARG_B, NULL)->bo);

	if (!s->source)
		s->source = source;
	else
		weights_rename(net->program->weights, source, s->source);
}

/* What was packed: its file's pages, and its memory if nobody else has it */
static void drop_source(struct net *net, const struct node *node)
{
	uint32_t b = node_value(node, ACCEL_ARG_B);
	struct store *s = &net->stores[net->values[b].store];

	program_packed(net->program, s->blob);
	if (value_uses(net, b, NULL) == 1 &&
	    atomic_load_explicit(&s->blob->refs, memory_order_acquire) == 1) {
		blob_unref(s->blob);
		s->blob = NULL;
	}
}

static int plan_node(struct net *net, struct node *node, const struct accel_compile_opts *opts)
{
	struct accel_plan_opts plan_opts = ACCEL_PLAN_OPTS_INIT;
	struct accel_ctx *ctx = net->program->ctx;
	union any_desc desc;
	uint32_t i;
	int ret;

	if (!node_full_desc(net, node, &desc))
		return -EOPNOTSUPP;
	desc.hdr.engine = opts->engine;
	plan_opts.weights = net->program->weights;
	ret = bind_tables(net, node, &desc);
	if (!ret && node_packs(net, node, &desc))
		ret = bind_constant(net, node_value(node, ACCEL_ARG_B),
				    desc_field(&desc, ACCEL_ARG_B, NULL));
	if (!ret)
		ret = accel_plan_create_opts(ctx, &desc.hdr, &plan_opts, &node->plan);
	if (ret)
		return ret;
	for (i = 0; i < node->plan->arg_count; i++)
		if (node_value(node, node->plan->args[i].arg) == NO_VALUE)
			break;
	if (i < node->plan->arg_count) {
		ret = ctx_fail(ctx, -EINVAL, "args", "argument 0x%x is absent",
			       node->plan->args[i].arg);
		accel_plan_unref(node->plan);
		node->plan = NULL;
		return ret;
	}
	node->info.size = sizeof(node->info);
	accel_plan_get_info(node->plan, &node->info);
	node->algorithm = node->plan->algorithm ? node->plan->algorithm : "";
	if (node->info.packed_bytes) {
		note_source(net, node, &desc);
		drop_source(net, node);
	}
	return 0;
}

static int plan_failed(struct net *net, const struct node *node, int ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	accel_ctx_get_error(net->program->ctx, &e);
	if (e.code != ret)
		return net_fail(net, ret, node, "a value has more than %d dimensions",
				ACCEL_MAX_RANK);
	return net_fail(net, ret, node, "%s: %s", e.field, e.text);
}

/* One that is refused as it lies is asked for again with inputs that are dense. */
static int make_plan(struct net *net, uint32_t index, const struct accel_compile_opts *opts)
{
	int ret = plan_node(net, &net->nodes[index], opts);
	bool changed = false;
	uint32_t i, value;

	if (!ret)
		return 0;
	for (i = 0; i < net->nodes[index].arg_count; i++) {
		const struct node_arg *a = &net->nodes[index].args[i];
		const struct value *v = &net->values[a->value];

		if (a->result || value_dense(v) || net->nodes[index].desc->hdr.op == ACCEL_OP_COPY)
			continue;
		value = net_copy(net, a->value, v->type, &net->nodes[index]);
		if (value == NO_VALUE)
			return net_nomem(net);
		net->nodes[index].args[i].value = value;
		changed = true;
	}
	if (changed)
		ret = plan_node(net, &net->nodes[index], opts);
	/* A move along more dimensions than tasks have is the CPU's. */
	if (ret == -EOPNOTSUPP && net->nodes[index].desc->hdr.op == ACCEL_OP_COPY) {
		net->nodes[index].host = true;
		return 0;
	}
	return ret ? plan_failed(net, &net->nodes[index], ret) : 0;
}

/* --- order ------------------------------------------------------------------------- */

/* The producer of an argument that is not done yet, NO_VALUE: there is none to wait for. */
static uint32_t waits_for(const struct net *net, const struct node_arg *arg, const bool *done)
{
	uint32_t from = arg->result ? NO_VALUE : value_node(net, arg->value);

	return from == NO_VALUE || done[from] ? NO_VALUE : from;
}

/*
 * A node after those that it needs. Chains are as long as files say: @stack has room for
 * each node once, since one that waits for itself cannot be built.
 */
static void visit(struct net *net, uint32_t index, bool *done, uint32_t *stack)
{
	uint32_t i, from, depth = 0;

	stack[depth++] = index;
	while (depth) {
		const struct node *node = &net->nodes[stack[depth - 1]];

		for (i = 0, from = NO_VALUE; i < node->arg_count && from == NO_VALUE; i++)
			from = waits_for(net, &node->args[i], done);
		if (from != NO_VALUE) {
			stack[depth++] = from;
			continue;
		}
		done[stack[--depth]] = true;
		net->order[net->order_count++] = stack[depth];
	}
}

/* First those that need nothing but the CPU, then the others, each in the order that is there. */
static void host_first(struct net *net, bool *early, uint32_t *list)
{
	uint32_t i, k, from, count = 0;

	memset(early, 0, net->node_count * sizeof(*early));
	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];
		bool good = node->host;

		for (k = 0; k < node->arg_count && good; k++) {
			from = waits_for(net, &node->args[k], early);
			good = from == NO_VALUE;
		}
		early[net->order[i]] = good;
		if (good)
			list[count++] = net->order[i];
	}
	for (i = 0; i < net->order_count; i++)
		if (!early[net->order[i]])
			list[count++] = net->order[i];
	memcpy(net->order, list, count * sizeof(*list));
}

/* Sums of what is watched come behind who made it, so that its memory is not held for them. */
static void watch_early(struct net *net, uint32_t *list)
{
	uint32_t i, k, watched, count = 0, first = net->order_count;

	for (i = 0; i < net->order_count; i++)
		if (net->nodes[net->order[i]].rules & RULE_WATCH && first == net->order_count)
			first = i;
	for (i = 0; i < net->order_count; i++) {
		if (net->nodes[net->order[i]].rules & RULE_WATCH)
			continue;
		list[count++] = net->order[i];
		for (k = first; k < net->order_count; k++) {
			const struct node *node = &net->nodes[net->order[k]];

			/* A file may say so of a node that reads nothing. */
			watched = node_value(node, ACCEL_ARG_A);
			if (node->rules & RULE_WATCH && watched != NO_VALUE &&
			    value_node(net, watched) == net->order[i])
				list[count++] = net->order[k];
		}
	}
	if (count == net->order_count)
		memcpy(net->order, list, count * sizeof(*list));
}

/**
 * net_order - the order in which nodes run
 * @net: net
 *
 * What the CPU does first is first, so that engines are not stopped for it.
 *
 * Return: 0, -ENOMEM.
 */
int net_order(struct net *net)
{
	bool *done = calloc(net->node_count + 1, sizeof(*done));
	uint32_t *list = malloc((net->node_count + 1) * sizeof(*list));
	uint32_t i;

	free(net->order);
	net->order = malloc((net->node_count + 1) * sizeof(*net->order));
	net->order_count = 0;
	if (!done || !list || !net->order) {
		free(done);
		free(list);
		return net_nomem(net);
	}
	for (i = 0; i < net->node_count; i++)
		if (!net->nodes[i].dead && !done[i])
			visit(net, i, done, list);
	host_first(net, done, list);
	watch_early(net, list);
	free(done);
	free(list);
	return 0;
}

/* Bytes of the weights that are packed for a node, or found to be packed */
static uint64_t bytes_packed(const struct net *net, const struct node *node)
{
	union any_desc desc = { .hdr.op = node->desc->hdr.op };

	return node->dead || !node_packs(net, node, &desc) ? 0 :
	       net->stores[net->values[node_value(node, ACCEL_ARG_B)].store].bytes;
}

/* Tell the caller how far it is; who wants it to end is told so. */
static int tell_packed(struct net *net, const struct node *node, uint64_t done, uint64_t all)
{
	const struct accel_compile_opts *opts = &net->program->opts;

	if (!opts->progress || !all || !opts->progress(opts->user, done, all))
		return 0;
	return net_fail(net, -ECANCELED, node, "opts.progress ended it");
}

/**
 * net_lower - a plan, or work for the CPU, for each node
 * @net: net
 * @opts: options of the program
 *
 * Return: 0, or the error that the net has.
 */
int net_lower(struct net *net, const struct accel_compile_opts *opts)
{
	uint64_t all = 0, done = 0, bytes;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < net->node_count; i++)
		all += bytes_packed(net, &net->nodes[i]);
	/* Copies that are found to be needed are added behind. */
	for (i = 0; i < net->node_count && !ret; i++) {
		bytes = bytes_packed(net, &net->nodes[i]);
		ret = bytes ? tell_packed(net, &net->nodes[i], done, all) : 0;
		done += bytes;
		if (ret || net->nodes[i].dead)
			continue;
		if (is_added(net->nodes[i].desc)) {
			ret = call_lower(net, i);
			continue;
		}
		if (concat_in_place(net, &net->nodes[i])) {
			net->nodes[i].algorithm = "in place";
			continue;
		}
		ret = narrow_indices(net, i);
		if (!ret)
			ret = choose_side(net, &net->nodes[i]);
		if (ret || net->nodes[i].host)
			continue;
		ret = make_plan(net, i, opts);
		if (ret || net->nodes[i].host)
			continue;
		net->macs += net->nodes[i].info.macs;
		net->packed_bytes += net->nodes[i].info.packed_bytes;
		if (net->nodes[i].info.workspace_bytes > net->workspace_bytes)
			net->workspace_bytes = net->nodes[i].info.workspace_bytes;
	}
	if (!ret)
		ret = tell_packed(net, NULL, all, all);
	return ret ? ret : net_order(net);
}
