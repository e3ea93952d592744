// SPDX-License-Identifier: MIT
/*
 * Nodes whose results have dimensions that only running tells: control flow, which runs
 * graphs of its own, and operations that find things.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Bytes of a list that a loop makes */
#define MAX_LIST	(1ull << 32)

/**
 * struct piece - elements that grow, or change from one iteration to the next
 * @v: what they are; of a list: what one of them is
 * @data: they
 * @bytes: of them
 * @cap: room for so many
 */
struct piece {
	struct accel_value v;
	char *data;
	uint64_t bytes;
	uint64_t cap;
};

/**
 * struct flow - what a node needs from one run to the next
 * @states: of its graphs
 * @results: buffers
 * @count: number of @results
 */
struct flow {
	struct accel_state *states[2];
	struct accel_bo **results;
	uint32_t count;
};

/**
 * struct run - a node that runs
 * @state: state
 * @stage: stage that ends with it
 * @node: node of the graph
 * @flow: what it has
 * @facts: what is found out
 */
struct run {
	struct accel_state *state;
	struct stage *stage;
	const struct graph_node *node;
	struct flow *flow;
	struct facts *facts;
};

void flow_free(struct flow *flow)
{
	uint32_t i;

	if (!flow)
		return;
	accel_state_destroy(flow->states[0]);
	accel_state_destroy(flow->states[1]);
	for (i = 0; i < flow->count; i++)
		accel_bo_unref(flow->results[i]);
	free(flow->results);
	free(flow);
}

/* The state of one of the two graphs that a node may have, NULL: it did not run */
const struct accel_state *flow_state(const struct flow *flow, uint32_t index)
{
	return flow ? flow->states[index] : NULL;
}

static int __attribute__((format(printf, 3, 4)))
run_fail(struct run *r, int code, const char *fmt, ...)
{
	const char *name = r->node->name;
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ctx_fail(r->state->program->ctx, code, name, "node %s (%s): %s",
			name ? name : "without a name",
			made_for(r->node->source, r->node->desc), text);
}

static int run_nomem(struct run *r)
{
	return run_fail(r, -ENOMEM, "out of memory");
}

/* --- what it reads ----------------------------------------------------------------- */

static const struct value *arg_value(const struct run *r, uint32_t index)
{
	const struct net *net = r->stage->net;
	uint32_t value = r->node->args[index].value, i;

	for (i = 0; i < net->output_count; i++)
		if (net->out_values[i] == value)
			return &net->values[net->outputs[i]];
	return &net->values[net->map[value]];
}

static int arg_host(struct run *r, uint32_t index, struct host_tensor *t)
{
	const struct value *v = arg_value(r, index);
	struct accel_bo *bo;
	uint64_t offset;
	int ret = state_locate(r->state, r->stage, v, &bo, &offset);

	if (!ret)
		ret = accel_bo_cpu_begin(bo, 0, accel_bo_size(bo), ACCEL_CPU_READ);
	if (ret)
		return ret;
	*t = value_host(v, NULL);
	t->data = (char *)accel_bo_ptr(bo) + offset;
	return 0;
}

/* The number that it is; @otherwise if it has no element */
static int arg_number(struct run *r, uint32_t index, double otherwise, double *number)
{
	struct host_tensor t;
	struct host_number n;
	int ret = arg_host(r, index, &t);

	if (ret)
		return ret;
	*number = otherwise;
	if (!value_count(arg_value(r, index)))
		return 0;
	n = host_get(t.type, t.data, 0);
	*number = n.real ? n.f : (double)n.i;
	return 0;
}

/* --- what it gives ------------------------------------------------------------------- */

/* A result is at a place. */
static int give_at(struct run *r, uint32_t index, const struct accel_value *v, struct accel_bo *bo,
		   uint64_t offset)
{
	struct fact fact = {
		.value = r->node->args[r->node->dynamic->in_count + index].value,
		.type = v->type, .rank = v->rank
	};

	memcpy(fact.dims, v->dims, sizeof(fact.dims));
	if (!facts_add(r->facts, &fact))
		return run_nomem(r);
	return state_give(r->state, fact.value, bo, offset);
}

/* A result is copied to a buffer of the node. */
static int give_data(struct run *r, uint32_t index, const struct accel_value *v, const void *data)
{
	const struct accel_bo_opts opts = { sizeof(opts), 0, "result" };
	uint64_t bytes = accel_type_bits(v->type);
	struct accel_bo **bo = &r->flow->results[index];
	uint32_t i;
	int ret;

	for (i = 0; i < v->rank; i++)
		bytes *= (uint64_t)v->dims[i];
	bytes = (bytes + 7) / 8;
	if (!*bo || accel_bo_size(*bo) < bytes) {
		accel_bo_unref(*bo);
		*bo = NULL;
		ret = accel_bo_create(r->state->program->ctx, bytes + !bytes, &opts, bo);
		if (ret)
			return ret;
	}
	if (bytes)
		memcpy(accel_bo_ptr(*bo), data, bytes);
	ret = accel_bo_cpu_end(*bo, 0, accel_bo_size(*bo), ACCEL_CPU_WRITE);
	return ret ? ret : give_at(r, index, v, *bo, 0);
}

/* --- graphs ---------------------------------------------------------------------------- */

static int body_state(struct run *r, uint32_t which, struct accel_state **out)
{
	struct accel_state **state = &r->flow->states[which];
	struct accel_program *program;
	int ret = 0;

	if (!*state) {
		ret = program_body(r->state->program, r->node->dynamic->body[which], &program);
		if (!ret)
			ret = accel_state_create(program, state);
		if (!ret)
			(*state)->outer = r->state;
	}
	*out = *state;
	return ret;
}

static const struct graph_value *body_input(const struct accel_state *body, uint32_t index)
{
	const struct accel_graph *graph = body->program->graph;

	return &graph->values[graph->inputs[index]];
}

static int set_data(struct run *r, struct accel_state *body, uint32_t index,
		    const struct accel_value *v, const void *data)
{
	uint64_t bytes = 0;
	void *to;
	int ret;

	if (body_input(body, index)->type != v->type)
		return run_fail(r, -EINVAL, "input %u of its graph is %s", index,
				accel_type_name(v->type));
	ret = accel_state_set_input(body, index, v->rank, v->dims, NULL, 0);
	if (ret)
		return ret;
	to = accel_state_get_input(body, index, &bytes);
	if (bytes && data)
		memcpy(to, data, bytes);
	return accel_bo_cpu_end(body->inputs[index].own, 0,
				accel_bo_size(body->inputs[index].own), ACCEL_CPU_WRITE);
}

static struct accel_value described(const struct value *v)
{
	struct accel_value is = ACCEL_VALUE_INIT;

	is.type = v->type;
	is.rank = v->rank;
	memcpy(is.dims, v->dims, sizeof(is.dims));
	return is;
}

/* The elements of an argument one after the other, which are the caller's to free */
static int gather(struct run *r, uint32_t arg, char **out)
{
	const struct value *v = arg_value(r, arg);
	uint64_t n = value_count(v), i, at, size = accel_type_bits(v->type) / 8;
	struct host_tensor t = { 0 };
	int64_t from;
	uint32_t k;
	int ret;

	if (!size)
		return run_fail(r, -EOPNOTSUPP, "input %u is a view of half bytes", arg);
	ret = arg_host(r, arg, &t);
	if (ret)
		return ret;
	*out = malloc(n * size + 1);
	if (!*out)
		return run_nomem(r);
	for (i = 0; i < n && t.data; i++) {
		for (from = 0, at = i, k = v->rank; k-- > 0; at /= (uint64_t)v->dims[k])
			from += (int64_t)(at % (uint64_t)v->dims[k]) * v->strides[k];
		memcpy(*out + i * size, (const char *)t.data + from * (int64_t)size, size);
	}
	return 0;
}

/* An input of a graph is what the node reads: where that is, if it is dense */
static int pass_on(struct run *r, struct accel_state *body, uint32_t index, uint32_t arg)
{
	const struct value *v = arg_value(r, arg);
	const struct accel_value is = described(v);
	struct accel_bo *bo;
	uint64_t offset;
	char *data = NULL;
	int ret;

	if (body_input(body, index)->type != v->type)
		return run_fail(r, -EINVAL, "input %u of its graph is %s", index,
				accel_type_name(v->type));
	if (value_dense(v)) {
		ret = state_locate(r->state, r->stage, v, &bo, &offset);
		return ret ? ret : accel_state_set_input(body, index, v->rank, v->dims, bo, offset);
	}
	ret = gather(r, arg, &data);
	if (ret)
		return ret;
	ret = set_data(r, body, index, &is, data);
	free(data);
	return ret;
}

static int run_if(struct run *r)
{
	const struct graph_dynamic *dyn = r->node->dynamic;
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_state *body;
	struct accel_bo *bo;
	uint32_t i, which, first;
	uint64_t offset;
	double choice;
	int ret = arg_number(r, 0, 0, &choice);

	if (ret)
		return ret;
	which = choice == 0;
	first = 1 + (which ? dyn->body[0]->input_count : 0);
	ret = body_state(r, which, &body);
	for (i = 0; i < dyn->body[which]->input_count && !ret; i++)
		ret = pass_on(r, body, i, first + i);
	if (!ret)
		ret = accel_state_run(body);
	for (i = 0; i < dyn->body[which]->output_count && !ret; i++) {
		ret = state_result(body, i, &bo, &offset, &v);
		if (!ret)
			ret = give_at(r, i, &v, bo, offset);
	}
	return ret;
}

/* Elements behind those that are there */
static int append(struct run *r, struct piece *p, const struct accel_value *v, const void *data)
{
	uint64_t bytes = accel_type_bits(v->type), cap;
	uint32_t i;
	char *more;

	for (i = 0; i < v->rank; i++)
		bytes *= (uint64_t)v->dims[i];
	bytes = (bytes + 7) / 8;
	if (bytes > MAX_LIST - p->bytes)
		return run_fail(r, -E2BIG, "a list of more than %llu bytes", MAX_LIST);
	if (p->bytes + bytes > p->cap || !p->data) {
		cap = 2 * (p->bytes + bytes) + 64;
		more = realloc(p->data, cap);
		if (!more)
			return run_nomem(r);
		p->data = more;
		p->cap = cap;
	}
	if (bytes && data)
		memcpy(p->data + p->bytes, data, bytes);
	p->bytes += bytes;
	p->v = *v;
	return 0;
}

/* What the graph gave goes into the next iteration, and behind the lists. */
static int take_iteration(struct run *r, struct accel_state *body, struct piece *pieces,
			  uint32_t count, uint64_t done, bool *go)
{
	const uint32_t carried = r->node->dynamic->d.carried;
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *data;
	uint32_t i;
	int ret = accel_state_get_output(body, 0, &v, &data);

	if (ret)
		return ret;
	if (v.type != ACCEL_HOST_BOOL || v.rank > 1 || (v.rank && v.dims[0] != 1))
		return run_fail(r, -EINVAL, "its condition is %s of %u dimensions",
				accel_type_name(v.type), v.rank);
	*go = *(const uint8_t *)data;
	for (i = 0; i < count && !ret; i++) {
		ret = accel_state_get_output(body, i + 1, &v, &data);
		if (!ret && i >= carried && done &&
		    (pieces[i].v.rank != v.rank ||
		     memcmp(pieces[i].v.dims, v.dims, v.rank * sizeof(v.dims[0]))))
			ret = run_fail(r, -EINVAL, "elements of list %u have other sizes",
				       i - carried);
		if (!ret && i >= carried && accel_type_bits(v.type) < 8)
			ret = run_fail(r, -EOPNOTSUPP, "list %u is of half bytes", i - carried);
		if (i < carried)
			pieces[i].bytes = 0;
		if (!ret)
			ret = append(r, &pieces[i], &v, data);
	}
	return ret;
}

/* What it begins with: @done 0 from the node's inputs, later from the iteration before */
static int set_iteration(struct run *r, struct accel_state *body, const struct piece *pieces,
			 int64_t done)
{
	const uint32_t carried = r->node->dynamic->d.carried;
	struct accel_value v = ACCEL_VALUE_INIT;
	const uint8_t yes = 1;
	uint32_t i;
	int ret;

	v.type = ACCEL_HOST_S64;
	v.rank = body_input(body, 0)->rank;
	v.dims[0] = v.rank ? 1 : 0;
	ret = set_data(r, body, 0, &v, &done);
	v.type = ACCEL_HOST_BOOL;
	v.rank = body_input(body, 1)->rank;
	v.dims[0] = v.rank ? 1 : 0;
	if (!ret)
		ret = set_data(r, body, 1, &v, &yes);
	for (i = 0; i < carried && !ret; i++)
		ret = done ? set_data(r, body, 2 + i, &pieces[i].v, pieces[i].data) :
		      pass_on(r, body, 2 + i, 2 + i);
	return ret;
}

/* What inputs of a graph are that may be lists of sizes */
static int know_lists(struct accel_state *body, struct facts *facts)
{
	const struct accel_graph *graph = body->program->graph;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < graph->input_count && !ret; i++) {
		const struct state_input *in = &body->inputs[i];
		struct fact fact = {
			.value = graph->inputs[i], .type = body_input(body, i)->type,
			.rank = in->rank, .dims = { in->dims[0] }
		};
		const int64_t count = in->rank ? in->dims[0] : 1;

		if (in->rank > 1 || count > MAX_WANTED ||
		    (fact.type != ACCEL_HOST_S64 && fact.type != ACCEL_S32))
			continue;
		ret = accel_bo_cpu_begin(in->bo, 0, accel_bo_size(in->bo), ACCEL_CPU_READ);
		fact.bytes = (uint64_t)count * accel_type_bits(fact.type) / 8;
		fact.data = (char *)accel_bo_ptr(in->bo) + in->offset;
		if (!ret && !facts_add(facts, &fact))
			ret = -ENOMEM;
	}
	return ret;
}

/*
 * What a first iteration would compute with, or, where only running it finds sizes, a net that
 * guesses those, which is @made; NULL: it is refused.
 */
static const struct net *first_net(struct run *r, struct accel_state *body, struct net **made)
{
	struct accel_graph *graph = r->node->dynamic->body[0];
	const struct stage *stage = &body->stages[0];
	struct facts facts = { 0 };

	if (set_iteration(r, body, NULL, 0) || state_ready(body) || !stage->net)
		return NULL;
	if (stage->net->stop == graph->node_count)
		return stage->net;
	if (facts_copy(&facts, &stage->net->facts) && !know_lists(body, &facts))
		*made = graph_try(graph, stage->net->symbols, &facts);
	facts_free(&facts);
	return *made && !(*made)->error.code ? *made : NULL;
}

/* A list without elements: they are as in the first iteration, or as in the graph's example. */
static void no_elements(const struct graph_node *node, const struct net *net, struct piece *p,
			uint32_t index)
{
	const struct accel_graph *graph = node->dynamic->body[0];
	const struct net *use = net ? net : graph->example;
	/* The nets of a program have their results at hand. */
	const struct value *v = &use->values[use->outputs ? use->outputs[index + 1] :
					     use->map[graph->outputs[index + 1].value]];

	p->v.type = v->type;
	p->v.rank = v->rank;
	memcpy(p->v.dims, v->dims, sizeof(p->v.dims));
}

/* What is carried, when there was no iteration, is what it began with. */
static int keep_first(struct run *r, struct piece *p, uint32_t index)
{
	const struct value *v = arg_value(r, 2 + index);
	const struct accel_value is = described(v);
	struct host_tensor t = { 0 };
	char *data = NULL;
	int ret = value_dense(v) ? arg_host(r, 2 + index, &t) : gather(r, 2 + index, &data);

	if (!ret)
		ret = append(r, p, &is, data ? data : t.data);
	free(data);
	return ret;
}

static int give_pieces(struct run *r, struct accel_state *body, struct piece *pieces,
		       uint32_t count, int64_t done)
{
	const uint32_t carried = r->node->dynamic->d.carried;
	struct net *made = NULL;
	const struct net *net = !done && count > carried ? first_net(r, body, &made) : NULL;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < count && !ret; i++) {
		struct piece *p = &pieces[i];

		if (!done && i < carried)
			ret = keep_first(r, p, i);
		else if (!done)
			no_elements(r->node, net, p, i);
		if (i >= carried) {
			if (p->v.rank == MAX_RANK) {
				ret = run_fail(r, -EOPNOTSUPP, "a list of %d dimensions",
					       MAX_RANK + 1);
				break;
			}
			memmove(p->v.dims + 1, p->v.dims, p->v.rank * sizeof(p->v.dims[0]));
			p->v.dims[0] = done;
			p->v.rank++;
		}
		if (!ret)
			ret = give_data(r, i, &p->v, p->data);
	}
	net_free(made);
	return ret;
}

/* One more iteration: a few bytes of a file can be loops within loops, for ever in effect. */
static int count_iteration(struct run *r)
{
	struct accel_state *state = r->state;

	while (state->outer)
		state = state->outer;
	if (state->iterations++ < MAX_ITERATIONS)
		return 0;
	return run_fail(r, -E2BIG, "more than %d iterations in all loops of a run", MAX_ITERATIONS);
}

static int run_loop(struct run *r)
{
	const struct graph_dynamic *dyn = r->node->dynamic;
	const uint32_t fixed = 2 + dyn->d.carried;
	uint32_t i, count = r->node->arg_count - dyn->in_count;
	double trips, begin;
	struct accel_state *body;
	struct piece *pieces;
	int64_t done = 0;
	bool go;
	int ret = arg_number(r, 0, 0x1p62, &trips);

	if (!ret)
		ret = arg_number(r, 1, 1, &begin);
	if (!ret)
		ret = body_state(r, 0, &body);
	if (ret)
		return ret;
	pieces = calloc(count + 1, sizeof(*pieces));
	if (!pieces)
		return run_nomem(r);
	for (i = 0; i < count; i++)
		pieces[i].v = (struct accel_value)ACCEL_VALUE_INIT;
	for (i = fixed; i < dyn->in_count && !ret; i++)
		ret = pass_on(r, body, i, i);
	for (go = begin != 0; !ret && go && (double)done < trips; done++) {
		ret = count_iteration(r);
		if (!ret)
			ret = set_iteration(r, body, pieces, done);
		if (!ret)
			ret = accel_state_run(body);
		if (!ret)
			ret = take_iteration(r, body, pieces, count, (uint64_t)done, &go);
	}
	if (!ret)
		ret = give_pieces(r, body, pieces, count, done);
	for (i = 0; i < count; i++)
		free(pieces[i].data);
	free(pieces);
	return ret;
}

/* --- what finds things --------------------------------------------------------------------- */

static int run_find(struct run *r)
{
	const struct graph_dynamic *dyn = r->node->dynamic;
	struct host_tensor in[5], out[4];
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t i, count = r->node->arg_count - dyn->in_count;
	char why[128] = "";
	int ret = 0;

	memset(out, 0, sizeof(out));
	for (i = 0; i < dyn->in_count && !ret; i++)
		ret = arg_host(r, i, &in[i]);
	if (ret)
		return ret;
	ret = host_find(&dyn->d, in, out, why, sizeof(why));
	if (ret)
		ret = run_fail(r, ret, "%s", why);
	for (i = 0; i < count; i++) {
		v.type = out[i].type;
		v.rank = out[i].rank;
		memcpy(v.dims, out[i].dims, sizeof(v.dims));
		if (!ret)
			ret = give_data(r, i, &v, out[i].data);
		free(out[i].data);
	}
	return ret;
}

/**
 * flow_run - do the node that a stage ends with
 * @state: state
 * @stage: stage, which ran
 * @facts: out: added: dimensions of the results, which later stages find where they are
 *
 * Return: 0, or the error that the context has.
 */
int flow_run(struct accel_state *state, struct stage *stage, struct facts *facts)
{
	struct run r = {
		.state = state, .stage = stage, .facts = facts,
		.node = &state->program->graph->nodes[stage->net->stop],
	};
	uint32_t count = r.node->arg_count - r.node->dynamic->in_count;

	if (!stage->flow) {
		stage->flow = calloc(1, sizeof(*stage->flow));
		if (!stage->flow)
			return run_nomem(&r);
		stage->flow->results = calloc(count + 1, sizeof(*stage->flow->results));
		if (!stage->flow->results)
			return run_nomem(&r);
		stage->flow->count = count;
	}
	r.flow = stage->flow;
	switch (r.node->dynamic->d.op) {
	case ACCEL_DYNAMIC_IF:
		return run_if(&r);
	case ACCEL_DYNAMIC_LOOP:
		return run_loop(&r);
	default:
		return run_find(&r);
	}
}
