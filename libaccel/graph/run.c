// SPDX-License-Identifier: MIT
/*
 * States that run, and what comes out.
 */
#include <errno.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "watch.h"

/**
 * state_run_host - do a node on the CPU
 * @state: state that is ready
 * @stage: stage of the node
 * @node: node
 *
 * Return: 0, or the error that the context has.
 */
int state_run_host(struct accel_state *state, const struct stage *stage, const struct node *node)
{
	struct host_tensor t[NODE_MAX_ARGS];
	const struct net *net = stage->net;
	struct accel_bo *bo;
	uint64_t offset;
	char why[192];
	uint32_t i;
	int ret;

	for (i = 0; i < node->arg_count; i++) {
		const struct value *v = &net->values[node->args[i].value];
		const struct store *s = &net->stores[v->store];

		if (s->kind == STORE_CONST) {
			t[i] = value_host(v, s->blob->data);
		} else {
			ret = state_locate(state, stage, v, &bo, &offset);
			if (!ret)
				ret = accel_bo_cpu_begin(bo, 0, accel_bo_size(bo), ACCEL_CPU_READ |
							 (node->args[i].result ? ACCEL_CPU_WRITE :
							  0));
			if (ret)
				return ret;
			t[i] = value_host(v, NULL);
			t[i].data = (char *)accel_bo_ptr(bo) + offset;
		}
		t[i].arg = node->args[i].arg;
	}
	ret = is_added(node->desc) ? call_compute(node, t, why, sizeof(why)) :
	      host_run(&node->desc->hdr, t, node->arg_count, why, sizeof(why));
	if (ret)
		return ctx_fail(state->program->ctx, ret, node->name, "node %s (%s): %s",
				node->name ? node->name : "without a name",
				made_for(node->source, node->desc), why);
	return accel_bo_cpu_end(stage->arena, 0, accel_bo_size(stage->arena), ACCEL_CPU_WRITE);
}

/* A queue whose job failed runs no other. */
static void new_queue(struct accel_state *state)
{
	struct accel_queue *queue;

	if (accel_queue_create(state->program->ctx, NULL, &queue))
		return;
	accel_queue_destroy(state->queue);
	state->queue = queue;
}

/* Can the CPU look at the indices of a node that an engine had? */
static bool cpu_finds(const struct net *net, const struct node *node)
{
	const uint32_t op = node->desc->hdr.op;
	uint32_t i, value;

	if ((op != ACCEL_OP_GATHER && op != ACCEL_OP_SCATTER) || is_quantised(node))
		return false;
	for (i = 0; i < node->arg_count; i++) {
		value = node->args[i].value;
		if (accel_type_bits(net->values[value].type) < 8 ||
		    (value_const(net, value) && !value_data(net, value)))
			return false;
	}
	return true;
}

/* A node of a job, by its number there */
static const struct node *node_of(const struct net *net, const struct step *step, uint32_t index)
{
	uint32_t at = step->first;

	while (node_idle(&net->nodes[net->order[at]]) || index--)
		at++;
	return &net->nodes[net->order[at]];
}

static int job_failed(struct accel_state *state, const struct stage *stage,
		      const struct step *step, const struct accel_fence_info *info, int ret)
{
	const struct net *net = stage ? stage->net : NULL;
	const struct node *node;

	if (!step || info->op_index >= step->count)
		return ctx_fail(state->program->ctx, ret, NULL, "%s",
				info->text[0] ? info->text : "a job failed");
	node = node_of(net, step, info->op_index);
	/* Devices say where an index lies that is none: the CPU finds which it is. */
	if (ret == -EFAULT && !strcmp(info->reason, "range") && cpu_finds(net, node) &&
	    state_run_host(state, stage, node) == -EFAULT)
		return ret;
	return ctx_fail(state->program->ctx, ret, node->name, "node %s (%s): %s",
			node->name ? node->name : "without a name",
			made_for(node->source, node->desc),
			info->text[0] ? info->text : "it failed");
}

static int submit(struct accel_state *state, struct accel_job *job, const struct stage *stage,
		  const struct step *step)
{
	struct accel_fence_info info = { .size = sizeof(info), .op_index = UINT32_MAX };
	struct accel_fence *fence;
	int ret = accel_queue_submit(state->queue, job, NULL, &fence);

	if (ret)
		return ret;
	ret = accel_fence_wait(fence, -1);
	if (ret) {
		accel_fence_get_info(fence, &info);
		ret = job_failed(state, stage, step, &info, ret);
		new_queue(state);
	}
	accel_fence_unref(fence);
	return ret;
}

int state_submit(struct accel_state *state, struct accel_job *job)
{
	return submit(state, job, NULL, NULL);
}

/* Those that the last run did not need, or did not come to */
static void drop_stages(struct accel_state *state, uint32_t count)
{
	while (state->stage_count > count)
		stage_drop(&state->stages[--state->stage_count]);
}

static int run_stage(struct accel_state *state, const struct stage *stage)
{
	const struct net *net = stage->net;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < stage->step_count && !ret; i++) {
		const struct step *step = &stage->steps[i];

		if (step->job)
			ret = submit(state, step->job, stage, step);
		else
			ret = state_run_host(state, stage, &net->nodes[net->order[step->first]]);
	}
	return ret;
}

static int run_once(struct accel_state *state, bool *again)
{
	bool more = true;
	uint32_t i;
	int ret;

	*again = false;
	ret = state_ready(state);
	state->ran = false;
	for (i = 0; !ret && more && !*again; i++) {
		ret = run_stage(state, &state->stages[i]);
		if (!ret)
			ret = watch_look(state, &state->stages[i], again);
		if (!ret && !*again)
			ret = state_next(state, i, &more);
	}
	if (i)
		drop_stages(state, i);
	state->ran = !ret;
	return ret;
}

int accel_state_run(struct accel_state *state)
{
	FP_MODE_SCOPE();
	bool again;
	int ret;

	if (!state)
		return -EINVAL;
	/* What inputs say is the same, and so is what is written over them: rows of a cache. */
	do
		ret = run_once(state, &again);
	while (!ret && again);
	return ret;
}

/**
 * state_result - where a result of a run is
 * @state: state that ran
 * @index: result
 * @bo: out: borrowed
 * @offset: out: its first byte
 * @value: out: what it is
 *
 * Return: 0; -ENOENT, -EAGAIN: it did not run.
 */
int state_result(struct accel_state *state, uint32_t index, struct accel_bo **bo,
		 uint64_t *offset, struct accel_value *value)
{
	const struct stage *stage = &state->stages[state->stage_count - 1];
	const struct value *v;

	if (index >= state->program->graph->output_count)
		return -ENOENT;
	if (!state->ran)
		return -EAGAIN;
	v = &stage->net->values[stage->net->outputs[index]];
	value->type = v->type;
	value->rank = v->rank;
	memcpy(value->dims, v->dims, sizeof(value->dims));
	value->name = state->program->graph->outputs[index].name;
	*bo = stage->arena;
	*offset = stage->net->stores[v->store].offset;
	return 0;
}

int accel_state_get_output(struct accel_state *state, uint32_t index, struct accel_value *value,
			   const void **data)
{
	struct accel_value out = ACCEL_VALUE_INIT;
	struct accel_bo *bo;
	uint64_t offset;
	int ret;

	if (!state)
		return -EINVAL;
	ret = state_result(state, index, &bo, &offset, &out);
	if (!ret)
		ret = struct_out(value, &out, sizeof(out), sizeof(out));
	if (ret)
		return ret;
	ret = accel_bo_cpu_begin(bo, 0, accel_bo_size(bo), ACCEL_CPU_READ);
	*data = (const char *)accel_bo_ptr(bo) + offset;
	return ret;
}

int accel_state_get_info(struct accel_state *state, struct accel_program_info *info)
{
	FP_MODE_SCOPE();
	struct accel_program_info out = { .size = sizeof(out) };
	uint32_t i, k;
	int ret;

	if (!state || !info)
		return -EINVAL;
	ret = state_ready(state);
	if (ret)
		return ret;
	for (k = 0; k < state->stage_count; k++) {
		const struct net *net = state->stages[k].net;

		for (i = 0; i < net->order_count; i++)
			out.fallback_count += net->nodes[net->order[i]].rules >> 30 & 1;
		for (i = 0; i < net->order_count; i++)
			if (net->nodes[net->order[i]].host)
				out.host_count++;
			else
				out.node_count += !node_idle(&net->nodes[net->order[i]]);
		out.host_count += net->stop < state->program->graph->node_count;
		out.macs += net->macs;
		out.arena_bytes += net->arena_bytes;
		out.arena_bound += net->arena_bound;
		out.constant_bytes += net->constant_bytes;
		out.packed_bytes += net->packed_bytes;
		out.workspace_bytes += net->workspace_bytes;
	}
	return struct_out(info, &out, sizeof(out), sizeof(out));
}
