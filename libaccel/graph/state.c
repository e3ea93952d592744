// SPDX-License-Identifier: MIT
/*
 * States: the memory of a run, and its stages.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/plan/plan.h"
#include "graph.h"

/* More would be a graph whose every node waits for another. */
#define MAX_STAGES	256

static void drop_steps(struct stage *stage)
{
	uint32_t i;

	if (!stage->steps)
		return;
	for (i = 0; i < stage->step_count; i++)
		accel_job_destroy(stage->steps[i].job);
	free(stage->steps);
	stage->steps = NULL;
	stage->step_count = 0;
}

/* What a stage has goes. */
void stage_drop(struct stage *stage)
{
	drop_steps(stage);
	flow_free(stage->flow);
	accel_bo_unref(stage->arena);
	net_unref(stage->net);
}

int accel_state_create(struct accel_program *program, struct accel_state **out)
{
	struct accel_state *state;
	int ret;

	if (!program)
		return -EINVAL;
	if (!out)
		return ctx_fail(program->ctx, -EINVAL, "state", "NULL");
	state = calloc(1, sizeof(*state));
	if (!state)
		return -ENOMEM;
	state->inputs = calloc(program->graph->input_count + 1, sizeof(*state->inputs));
	state->stages = calloc(1, sizeof(*state->stages));
	ret = state->inputs && state->stages ?
	      accel_queue_create(program->ctx, NULL, &state->queue) : -ENOMEM;
	if (ret) {
		free(state->stages);
		free(state->inputs);
		free(state);
		return ret;
	}
	state->program = accel_program_ref(program);
	state->stage_count = 1;
	state->stale = true;
	*out = state;
	return 0;
}

void accel_state_destroy(struct accel_state *state)
{
	uint32_t i;

	if (!state)
		return;
	for (i = 0; i < state->stage_count; i++)
		stage_drop(&state->stages[i]);
	for (i = 0; i < state->program->graph->input_count; i++) {
		accel_bo_unref(state->inputs[i].bo);
		accel_bo_unref(state->inputs[i].own);
	}
	accel_queue_destroy(state->queue);
	accel_program_unref(state->program);
	facts_free(&state->facts);
	free(state->given);
	free(state->stages);
	free(state->inputs);
	free(state);
}

/* --- inputs ------------------------------------------------------------------------ */

static const struct graph_value *input_value(const struct accel_state *state, uint32_t index)
{
	const struct accel_graph *graph = state->program->graph;

	return &graph->values[graph->inputs[index]];
}

static int check_dims(struct accel_state *state, uint32_t index, uint32_t rank,
		      const int64_t *dims, uint64_t *bytes)
{
	const struct graph_value *v = input_value(state, index);
	struct accel_ctx *ctx = state->program->ctx;
	uint64_t n = accel_type_bits(v->type);
	uint32_t i;

	if (rank != v->rank)
		return ctx_fail(ctx, -EINVAL, "rank", "input %s has %u dimensions, not %u",
				v->name ? v->name : "", v->rank, rank);
	for (i = 0; i < rank; i++) {
		if (dims[i] < 0 || (v->dims[i] >= 0 && dims[i] != v->dims[i]))
			return ctx_fail(ctx, -EINVAL, "dims", "input %s: dimension %u is %" PRId64
					", not %" PRId64, v->name ? v->name :
						"", i, v->dims[i], dims[i]);
		if (__builtin_mul_overflow(n, (uint64_t)dims[i], &n) || n > MAX_ELEMENTS)
			return ctx_fail(ctx, -EINVAL, "dims", "too many elements");
	}
	*bytes = (n + 7) / 8;
	return 0;
}

int accel_state_set_input(struct accel_state *state, uint32_t index, uint32_t rank,
			  const int64_t *dims, struct accel_bo *bo, uint64_t offset)
{
	const struct accel_bo_opts opts = { sizeof(opts), 0, "input" };
	struct state_input *in;
	struct accel_ctx *ctx;
	uint64_t bytes = 0;
	int ret;

	if (!state)
		return -EINVAL;
	ctx = state->program->ctx;
	if (index >= state->program->graph->input_count)
		return ctx_fail(ctx, -ENOENT, "index", "there is no input %u", index);
	if (rank && !dims)
		return ctx_fail(ctx, -EINVAL, "dims", "NULL");
	ret = check_dims(state, index, rank, dims, &bytes);
	if (ret)
		return ret;
	in = &state->inputs[index];
	if (bo) {
		if (offset > accel_bo_size(bo) || bytes > accel_bo_size(bo) - offset)
			return ctx_fail(ctx, -EINVAL, "offset", "the input ends behind its buffer");
	} else {
		if (!in->own || accel_bo_size(in->own) < bytes) {
			struct accel_bo *own;

			ret = accel_bo_create(ctx, bytes + !bytes, &opts, &own);
			if (ret)
				return ret;
			accel_bo_unref(in->own);
			in->own = own;
		}
		bo = in->own;
		offset = 0;
	}
	if (!in->set || (rank && memcmp(in->dims, dims, rank * sizeof(*dims))))
		state->stale = true;
	if (in->bo != bo || in->offset != offset) {
		accel_bo_ref(bo);
		accel_bo_unref(in->bo);
		in->bo = bo;
		in->offset = offset;
		in->changed = true;
	}
	in->set = true;
	in->rank = rank;
	if (rank)
		memcpy(in->dims, dims, rank * sizeof(*dims));
	return 0;
}

/* Inputs of known dimensions are there without being set. */
static int set_known(struct accel_state *state, uint32_t index)
{
	const struct graph_value *v = input_value(state, index);
	uint32_t i;

	if (state->inputs[index].set)
		return 0;
	for (i = 0; i < v->rank; i++)
		if (v->dims[i] < 0)
			return ctx_fail(state->program->ctx, -EINVAL, v->name,
					"the dimensions of this input are not set");
	return accel_state_set_input(state, index, v->rank, v->dims, NULL, 0);
}

void *accel_state_get_input(struct accel_state *state, uint32_t index, uint64_t *bytes)
{
	struct state_input *in;
	uint64_t size = 0;
	char *p;

	if (!state)
		return NULL;
	if (index >= state->program->graph->input_count || set_known(state, index))
		return NULL;
	in = &state->inputs[index];
	if (check_dims(state, index, in->rank, in->dims, &size))
		return NULL;
	if (bytes)
		*bytes = size;
	p = accel_bo_ptr(in->bo);
	return p ? p + in->offset : NULL;
}

/* --- getting ready ----------------------------------------------------------------- */

/* What symbols stand for, by the inputs. */
static int find_symbols(struct accel_state *state, int64_t *numbers)
{
	const struct accel_graph *graph = state->program->graph;
	const struct symbol *sym = graph->symbols;
	struct accel_ctx *ctx = state->program->ctx;
	uint32_t i, k, s;
	int64_t dim;

	for (s = 0; s < graph->symbol_count; s++)
		numbers[s] = -1;
	for (i = 0; i < graph->input_count; i++) {
		const struct graph_value *v = input_value(state, i);
		const char *name = v->name ? v->name : "an input";

		for (k = 0; k < v->rank; k++) {
			if (v->dims[k] >= 0)
				continue;
			s = symbol_index(v->dims[k]);
			dim = state->inputs[i].dims[k];
			if (numbers[s] >= 0 && numbers[s] != dim)
				return ctx_fail(ctx, -EINVAL, sym[s].name,
						"it is %" PRId64 ", but dimension %u of %s is %"
						PRId64, numbers[s], k, name, dim);
			if (dim < sym[s].min || dim > sym[s].max)
				return ctx_fail(ctx, -EINVAL, sym[s].name,
						"dimension %u of %s is %" PRId64 ", not from %"
						PRId64 " to %" PRId64, k, name, dim, sym[s].min,
						sym[s].max);
			numbers[s] = dim;
		}
	}
	for (s = 0; s < graph->symbol_count; s++)
		if (numbers[s] < 0)
			numbers[s] = sym[s].min;
	return 0;
}

/* The net for what is known now: a reference */
static int find_net(struct accel_state *state, uint32_t first, struct net **net)
{
	struct net_key key = { .facts = &state->facts, .first = first };
	int64_t *numbers;
	int ret;

	numbers = calloc(state->program->graph->symbol_count + 1, sizeof(*numbers));
	if (!numbers)
		return ctx_fail(state->program->ctx, -ENOMEM, NULL, "out of memory");
	key.symbols = numbers;
	ret = find_symbols(state, numbers);
	if (!ret)
		ret = program_net(state->program, &key, ++state->asked, net);
	free(numbers);
	return ret;
}

/* The net becomes that of a stage, which gets memory for it. */
static int take_net(struct accel_state *state, struct stage *stage, struct net *net)
{
	const struct accel_bo_opts opts = { sizeof(opts), 0, "arena" };
	const struct accel_graph *graph = state->program->graph;

	if (net->stop < graph->node_count && !state->given) {
		state->given = calloc(graph->value_count + 1, sizeof(*state->given));
		if (!state->given) {
			net_unref(net);
			return ctx_fail(state->program->ctx, -ENOMEM, NULL, "out of memory");
		}
	}
	/* Without an arena it had no room before, and is tried again. */
	if (net == stage->net && stage->arena) {
		net_unref(net);
		return 0;
	}
	net_unref(stage->net);
	stage->net = net;
	state->ran = false;
	drop_steps(stage);
	flow_free(stage->flow);
	stage->flow = NULL;
	if (stage->arena && accel_bo_size(stage->arena) >= net->arena_bytes)
		return 0;
	accel_bo_unref(stage->arena);
	stage->arena = NULL;
	return accel_bo_create(state->program->ctx, net->arena_bytes + !net->arena_bytes, &opts,
			       &stage->arena);
}

/* The elements of a value, one after the other, as a fact */
static int learn(struct accel_state *state, const struct stage *stage, uint32_t index)
{
	const struct net *net = stage->net;
	uint32_t value = net->map[index], i;
	struct host_tensor t;
	struct accel_bo *bo;
	struct fact fact;
	uint64_t offset, n, size;
	int ret;

	for (i = 0; i < net->output_count; i++)
		if (net->out_values[i] == index)
			value = net->outputs[i];
	ret = state_locate(state, stage, &net->values[value], &bo, &offset);
	if (!ret)
		ret = accel_bo_cpu_begin(bo, 0, accel_bo_size(bo), ACCEL_CPU_READ);
	if (ret)
		return ret;
	t = value_host(&net->values[value], NULL);
	t.data = (char *)accel_bo_ptr(bo) + offset;
	size = accel_type_bits(t.type) / 8;
	n = value_count(&net->values[value]);
	fact = (struct fact) { .value = index, .type = t.type, .rank = t.rank, .bytes = n * size };
	memcpy(fact.dims, t.dims, sizeof(fact.dims));
	fact.data = malloc(fact.bytes + 1);
	for (i = 0; fact.data && i < n; i++)
		memcpy((char *)fact.data + i * size, (char *)t.data +
		       (t.rank ? (int64_t)i * t.strides[0] : 0) * (int64_t)size, size);
	if (!fact.data || !facts_add(&state->facts, &fact))
		ret = ctx_fail(state->program->ctx, -ENOMEM, NULL, "out of memory");
	free(fact.data);
	return ret;
}

static int learn_wanted(struct accel_state *state, const struct stage *stage)
{
	const struct graph_node *node = &state->program->graph->nodes[stage->net->stop];
	uint32_t i, value;
	int ret = 0;

	for (i = 0; i < node->arg_count && !ret; i++) {
		value = stage_next(stage->net, i);
		if (value != NO_VALUE)
			ret = learn(state, stage, value);
	}
	return ret;
}

/* A net for a stage; what it wants to know of inputs is there already. */
static int take_stage(struct accel_state *state, struct stage *stage, uint32_t first)
{
	struct stage look = { .net = NULL };
	uint32_t tries;
	int ret;

	for (tries = 0; tries < MAX_STAGES; tries++) {
		ret = find_net(state, first, &look.net);
		if (ret || !look.net)
			return ret;
		if (!look.net->peek)
			return take_net(state, stage, look.net);
		state->looks = true;
		ret = learn_wanted(state, &look);
		net_unref(look.net);
		if (ret)
			return ret;
	}
	return ctx_fail(state->program->ctx, -E2BIG, NULL,
			"more than %d shapes wait for each other", MAX_STAGES);
}

/* Where a value is. */
int state_locate(struct accel_state *state, const struct stage *stage, const struct value *v,
		 struct accel_bo **bo, uint64_t *offset)
{
	const struct store *s = &stage->net->stores[v->store];
	uint64_t skip = (uint64_t)v->offset * accel_type_bits(v->type) / 8;
	struct constant c;
	int ret = 0;

	/* Where nothing is may be behind the buffer's end. */
	if (!value_count(v))
		skip = 0;

	switch (s->kind) {
	case STORE_ARENA:
		*bo = stage->arena;
		*offset = s->offset + skip;
		break;
	case STORE_GIVEN:
		*bo = state->given[s->index].bo;
		*offset = state->given[s->index].offset + skip;
		if (!*bo)
			ret = ctx_fail(state->program->ctx, -EFAULT, v->name,
				       "a value of a stage before is not there");
		break;
	case STORE_INPUT:
		*bo = state->inputs[s->index].bo;
		*offset = state->inputs[s->index].offset + skip;
		break;
	case STORE_CONST:
		pthread_mutex_lock(&state->program->lock);
		ret = program_constant(state->program, s->blob, &c);
		/* Nets that pack it must not take away what is in use here. */
		if (!ret)
			program_keep(state->program, s->blob);
		pthread_mutex_unlock(&state->program->lock);
		*bo = c.bo;
		*offset = c.offset + skip;
		break;
	}
	return ret;
}

/**
 * state_bindings - the buffers of a node
 * @state: state
 * @stage: stage of the node
 * @node: node with a plan
 * @bindings: out: room for PLAN_MAX_ARGS
 * @count: out
 *
 * Return: 0, or what making a buffer gives.
 */
int state_bindings(struct accel_state *state, const struct stage *stage, const struct node *node,
		   struct accel_binding *bindings, uint32_t *count)
{
	uint32_t i, value;
	int ret = 0;

	*count = node->plan->arg_count;
	for (i = 0; i < *count && !ret; i++) {
		bindings[i] = (struct accel_binding) { .arg = node->plan->args[i].arg };
		value = node_value(node, bindings[i].arg);
		ret = state_locate(state, stage, &stage->net->values[value], &bindings[i].bo,
				   &bindings[i].offset);
	}
	return ret;
}

static int add_node(struct accel_state *state, const struct stage *stage, struct accel_job *job,
		    const struct node *node)
{
	struct accel_binding bindings[PLAN_MAX_ARGS];
	uint32_t count;
	int ret = state_bindings(state, stage, node, bindings, &count);

	if (!ret)
		ret = accel_job_add(job, node->plan, bindings, count, NULL, 0, NULL);
	return ret;
}

static int build_steps(struct accel_state *state, struct stage *stage)
{
	const struct net *net = stage->net;
	struct step *step = NULL;
	uint32_t i;
	int ret;

	drop_steps(stage);
	stage->epoch = state->epoch;
	stage->steps = calloc(net->order_count + 1, sizeof(*stage->steps));
	if (!stage->steps)
		return ctx_fail(state->program->ctx, -ENOMEM, NULL, "out of memory");
	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];

		if (node_idle(node))
			continue;
		if (!step || node->host || !step->job) {
			step = &stage->steps[stage->step_count++];
			step->first = i;
			if (!node->host) {
				ret = accel_job_create(state->program->ctx, NULL, &step->job);
				if (ret)
					return ret;
			}
		}
		step->count++;
		if (node->host)
			continue;
		ret = add_node(state, stage, step->job, node);
		if (ret)
			return ret;
	}
	return 0;
}

static int make_steps(struct accel_state *state, struct stage *stage)
{
	int ret = 0;

	if (!stage->steps || stage->epoch != state->epoch) {
		ret = build_steps(state, stage);
		if (ret)
			drop_steps(stage);
	}
	return ret;
}

/**
 * state_ready - make all that a run needs, or its first stage
 * @state: state
 *
 * Return: 0, or the error that the context has.
 */
int state_ready(struct accel_state *state)
{
	struct stage *stage = &state->stages[0];
	uint32_t i;
	int ret;

	state->iterations = 0;
	for (i = 0; i < state->program->graph->input_count; i++) {
		ret = set_known(state, i);
		if (ret)
			return ret;
		if (state->inputs[i].changed)
			state->epoch++;
		state->inputs[i].changed = false;
	}
	/* What is known of other data says nothing of these. */
	if (state->stale || state->looks || state->given) {
		facts_free(&state->facts);
		state->asked = 0;
		ret = take_stage(state, stage, 0);
		if (ret)
			return ret;
		state->stale = false;
	}
	return make_steps(state, stage);
}

/* A value that later stages read is at another place. */
int state_give(struct accel_state *state, uint32_t value, struct accel_bo *bo, uint64_t offset)
{
	struct given *given = &state->given[value];

	if (given->bo != bo || given->offset != offset)
		state->epoch++;
	given->bo = bo;
	given->offset = offset;
	return 0;
}

/**
 * state_next - what comes behind a stage that ran
 * @state: state
 * @index: stage
 * @more: out: there is a next one, and it is ready
 *
 * Return: 0, or the error that the context has.
 */
int state_next(struct accel_state *state, uint32_t index, bool *more)
{
	const struct accel_graph *graph = state->program->graph;
	struct stage *stage = &state->stages[index], *stages;
	const struct net *net = stage->net;
	uint32_t i, first = net->stop;
	int ret = 0;

	*more = net->stop < graph->node_count;
	if (!*more)
		return 0;
	if (index + 1 == MAX_STAGES)
		return ctx_fail(state->program->ctx, -E2BIG, NULL, "more than %d stages",
				MAX_STAGES);
	for (i = 0; i < net->output_count && !ret; i++)
		ret = state_give(state, net->out_values[i], stage->arena,
				 net->stores[net->values[net->outputs[i]].store].offset);
	if (!ret && graph->nodes[net->stop].dynamic) {
		ret = flow_run(state, stage, &state->facts);
		first++;
	} else if (!ret) {
		ret = learn_wanted(state, stage);
	}
	if (ret)
		return ret;
	if (index + 1 == state->stage_count) {
		stages = realloc(state->stages, (index + 2) * sizeof(*stages));
		if (!stages)
			return ctx_fail(state->program->ctx, -ENOMEM, NULL, "out of memory");
		state->stages = stages;
		memset(&stages[state->stage_count++], 0, sizeof(*stages));
	}
	ret = take_stage(state, &state->stages[index + 1], first);
	return ret ? ret : make_steps(state, &state->stages[index + 1]);
}
