// SPDX-License-Identifier: MIT
/*
 * What became of a graph, told as text, JSON or a graph for Graphviz; and how long
 * each node takes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libaccel/core/fpmode.h"
#include "graph.h"

/* A string of JSON, or of Graphviz, which quotes alike. */
static void quote(FILE *f, const char *text)
{
	fputc('"', f);
	for (; text && *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		if ((unsigned char)*text < 32)
			fprintf(f, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, f);
	}
	fputc('"', f);
}

static void put_dims(FILE *f, const struct value *v, const char *between)
{
	uint32_t i;

	for (i = 0; i < v->rank; i++)
		fprintf(f, "%s%" PRId64, i ? between : "", v->dims[i]);
}

static void put_type(FILE *f, const struct value *v)
{
	fprintf(f, "%s[", accel_type_name(v->type));
	put_dims(f, v, ",");
	fputc(']', f);
}

static const char *label(const struct node *node)
{
	return node->name ? node->name : desc_name(node->desc);
}

static const char *engine_of(const struct node *node)
{
	return node->host ? "cpu" : node_idle(node) ? "none" : accel_engine_name(node->info.engine);
}

static const char *function_of(const struct node *node)
{
	const union any_desc *d = &node->desc->any;

	switch (d->hdr.op) {
	case ACCEL_OP_UNARY:
		return d->unary.func == ACCEL_UNARY_ACT ? act_name(d->unary.epilogue.act) :
		       accel_unary_name(d->unary.func);
	case ACCEL_OP_BINARY:
		return accel_binary_name(d->binary.func);
	case ACCEL_OP_REDUCE:
		return reduce_name(d->reduce.func);
	default:
		return "";
	}
}

static void put_rules(FILE *f, const struct node *node, const char *between)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < ACCEL_PASS_COUNT; i++)
		if (node->rules >> i & 1) {
			fprintf(f, "%s%s", any ? between : "", accel_pass_name(i));
			any = true;
		}
}

/* What a product does beside, in words */
static void put_epilogue(FILE *f, const struct node *node)
{
	struct accel_epilogue *epi = desc_epilogue(&node->desc->any);

	if (!epi || node->desc->hdr.op == ACCEL_OP_UNARY || node->desc->hdr.op == ACCEL_OP_NORM)
		return;
	if (node_value(node, ACCEL_ARG_SCALE) != NO_VALUE)
		fprintf(f, " +scale");
	if (node_value(node, ACCEL_ARG_BIAS) != NO_VALUE)
		fprintf(f, " +bias");
	if (node_value(node, ACCEL_ARG_RESIDUAL) != NO_VALUE)
		fprintf(f, " +residual");
	if (epi->act)
		fprintf(f, " +%s", act_name(epi->act));
}

/* How a node's plan runs in process */
static int copy_chosen(void *user, const struct accel_candidate *c)
{
	if (c->verdict == ACCEL_CHOSEN)
		*(struct accel_candidate *)user = *c;
	return 0;
}

static struct accel_candidate chosen(const struct node *node)
{
	struct accel_candidate c = { 0 };

	if (node->plan)
		accel_plan_explain(node->plan, copy_chosen, &c);
	return c;
}

static enum accel_code code_of(const struct node *node, const struct accel_candidate *c)
{
	return node->host ? ACCEL_CODE_HOST :
	       strstr(c->kernel, "model") ? ACCEL_CODE_REFERENCE : ACCEL_CODE_TUNED;
}

/*
 * Are activations made integers of 8 bits here, or fewer? @varies, by store: what it has follows
 * from inputs; weights that are quantised in each run are the same in each.
 */
static bool node_rounds(const struct net *net, const struct node *node, bool *varies)
{
	const struct accel_tensor *d = desc_field(&node->desc->any, ACCEL_ARG_D, NULL);
	bool input = false, bytes = false, real = d && d->quant.scheme;
	const struct value *v;
	uint32_t i;

	for (i = 0; i < node->arg_count; i++) {
		v = &net->values[node->args[i].value];
		if (node->args[i].result) {
			bytes |= v->type >= ACCEL_S8 && v->type <= ACCEL_U4;
			continue;
		}
		real |= is_real(v->type);
		input |= varies[v->store] || net->stores[v->store].kind == STORE_INPUT ||
			 net->stores[v->store].kind == STORE_GIVEN;
	}
	for (i = 0; i < node->arg_count; i++)
		if (node->args[i].result)
			varies[net->values[node->args[i].value].store] |= input;
	return input && ((bytes && real) || (node->desc->hdr.op == ACCEL_OP_GEMM &&
					     node->desc->any.gemm.a_group));
}

static bool net_rounds(const struct net *net)
{
	bool *varies = calloc(net->store_count + 1u, sizeof(*varies)), rounds = false;
	uint32_t i;

	for (i = 0; varies && i < net->order_count && !rounds; i++)
		rounds = node_rounds(net, &net->nodes[net->order[i]], varies);
	free(varies);
	return rounds;
}

/* The same of all of it, with the graphs of nodes that ran */
static bool state_rounds(const struct accel_state *state)
{
	const struct accel_state *inner;
	uint32_t i, k;

	for (i = 0; i < state->stage_count; i++) {
		if (state->stages[i].net && net_rounds(state->stages[i].net))
			return true;
		for (k = 0; k < 2; k++) {
			inner = flow_state(state->stages[i].flow, k);
			if (inner && state_rounds(inner))
				return true;
		}
	}
	return false;
}

/* --- text -------------------------------------------------------------------------- */

static void plain(FILE *f, const struct net *net)
{
	uint32_t i, k;

	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];
		const struct accel_candidate c = chosen(node);
		const char *func = function_of(node);

		fprintf(f, "%4u  %-6s %s%s%s", i, engine_of(node), desc_name(node->desc),
			func[0] ? " " : "", func);
		put_epilogue(f, node);
		fprintf(f, "  %s\n      ", label(node));
		for (k = 0; k < node->arg_count; k++) {
			if (!node->args[k].result) {
				fprintf(f, "%s", k ? " " : "");
				put_type(f, &net->values[node->args[k].value]);
			}
		}
		fprintf(f, " ->");
		for (k = 0; k < node->arg_count; k++) {
			if (node->args[k].result) {
				fputc(' ', f);
				put_type(f, &net->values[node->args[k].value]);
			}
		}
		if (node_idle(node))
			fprintf(f, "  %s", node->algorithm);
		else if (!node->host)
			fprintf(f, "  %s, %.3g MMACs, %.1f us modelled", node->algorithm,
				(double)node->info.macs / 1e6,
				(double)node->info.estimate_ns / 1e3);
		if (c.kernel[0])
			fprintf(f, ", %s kernel%s%s", c.kernel, c.kernel_text[0] ? ": " : "",
				c.kernel_text);
		if (node->rules << (32 - ACCEL_PASS_COUNT)) {
			fprintf(f, "; by ");
			put_rules(f, node, ", ");
		}
		if (node->rules & RULE_KEPT)
			fprintf(f, "; stays fp32: beyond fp16");
		if (node->rules & RULE_WATCH)
			fprintf(f, "; watches for what is beyond fp16");
		fputc('\n', f);
	}
	fprintf(f,
		"%u nodes, %.4g GMACs; arena %.2f MiB (at least %.2f), constants %.2f MiB in place, %.2f MiB packed\n",
		net->order_count, (double)net->macs / 1e9, (double)net->arena_bytes / 1048576,
		(double)net->arena_bound / 1048576, (double)net->constant_bytes / 1048576,
		(double)net->packed_bytes / 1048576);
}

/* --- JSON -------------------------------------------------------------------------- */

static const char *const store_names[] = {
	[STORE_ARENA] = "arena", [STORE_INPUT] = "input", [STORE_CONST] = "constant",
	[STORE_GIVEN] = "stage"
};

static void json_values(FILE *f, const struct net *net, const struct node *node, bool results)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < node->arg_count; i++) {
		const struct value *v = &net->values[node->args[i].value];

		if (node->args[i].result != results)
			continue;
		fprintf(f, "%s{\"arg\":%u,\"value\":%u,\"type\":\"%s\",\"dims\":[", any ? "," : "",
			node->args[i].arg, node->args[i].value, accel_type_name(v->type));
		put_dims(f, v, ",");
		fprintf(f, "],\"dense\":%s,\"memory\":\"%s\",\"offset\":%" PRIu64 "}",
			value_dense(v) ? "true" : "false", store_names[net->stores[v->store].kind],
			net->stores[v->store].offset +
			(uint64_t)v->offset * accel_type_bits(v->type) / 8);
		any = true;
	}
}

static void json(FILE *f, const struct net *net)
{
	static const char *const codes[] = { "tuned", "reference", "host" };
	uint64_t macs[ACCEL_CODE_COUNT] = { 0 }, estimate[ACCEL_CODE_COUNT] = { 0 };
	uint32_t nodes[ACCEL_CODE_COUNT] = { 0 };
	uint32_t i, k;
	bool any;

	fprintf(f, "{\"schema\":\"accel.graph/1\",\"macs\":%" PRIu64 ",\"arena_bytes\":%" PRIu64,
		net->macs, net->arena_bytes);
	fprintf(f, ",\"arena_bound\":%" PRIu64 ",\"constant_bytes\":%" PRIu64, net->arena_bound,
		net->constant_bytes);
	fprintf(f, ",\"packed_bytes\":%" PRIu64 ",\"workspace_bytes\":%" PRIu64, net->packed_bytes,
		net->workspace_bytes);
	fprintf(f, ",\"rounds\":%s,\"nodes\":[", net_rounds(net) ? "true" : "false");
	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];
		const struct accel_candidate c = chosen(node);
		const enum accel_code code = code_of(node, &c);

		nodes[code]++;
		macs[code] += node->info.macs;
		estimate[code] += node->info.estimate_ns;
		fprintf(f, "%s\n{\"name\":", i ? "," : "");
		quote(f, label(node));
		fprintf(f, ",\"op\":\"%s\",\"function\":\"%s\",\"engine\":\"%s\",\"algorithm\":",
			desc_name(node->desc), function_of(node), engine_of(node));
		quote(f, node->algorithm);
		fprintf(f, ",\"kernel\":");
		quote(f, c.kernel);
		fprintf(f, ",\"kernel_text\":");
		quote(f, c.kernel_text);
		fprintf(f, ",\"macs\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"estimate_ns\":%" PRIu64
			",\"fused\":%u,\"fallback\":%s,\"passes\":[", node->info.macs,
			node->info.read_bytes + node->info.write_bytes, node->info.estimate_ns,
			node->fused, node->rules & RULE_KEPT ? "true" : "false");
		for (k = 0, any = false; k < ACCEL_PASS_COUNT; k++)
			if (node->rules >> k & 1) {
				fprintf(f, "%s\"%s\"", any ? "," : "", accel_pass_name(k));
				any = true;
			}
		fprintf(f, "],\"inputs\":[");
		json_values(f, net, node, false);
		fprintf(f, "],\"results\":[");
		json_values(f, net, node, true);
		fprintf(f, "]}");
	}
	fprintf(f, "],\"code\":{");
	for (i = 0; i < ACCEL_CODE_COUNT; i++) {
		fprintf(f, "%s\"%s\":{\"nodes\":%u,\"macs\":%" PRIu64, i ? "," : "", codes[i],
			nodes[i], macs[i]);
		/* Nothing models the CPU; 0 would say that it takes no time. */
		if (i == ACCEL_CODE_HOST && nodes[i])
			fprintf(f, ",\"estimate_ns\":null}");
		else
			fprintf(f, ",\"estimate_ns\":%" PRIu64 "}", estimate[i]);
	}
	fprintf(f, "}}\n");
}

/* --- Graphviz ---------------------------------------------------------------------- */

static void dot(FILE *f, const struct net *net)
{
	uint32_t i, k, from;

	fprintf(f, "digraph accel {\n\tnode [shape=box];\n");
	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];

		fprintf(f, "\tn%u [label=", net->order[i]);
		quote(f, label(node));
		fprintf(f, ", tooltip=\"%s %s on %s\"];\n", desc_name(node->desc),
			function_of(node), engine_of(node));
		for (k = 0; k < node->arg_count; k++) {
			const struct value *v = &net->values[node->args[k].value];

			if (node->args[k].result || net->stores[v->store].kind == STORE_CONST)
				continue;
			from = net->stores[v->store].node;
			if (from == NO_VALUE) {
				fprintf(f, "\ti%u [shape=ellipse, label=", v->store);
				quote(f, v->name);
				fprintf(f, "];\n\ti%u -> n%u", v->store, net->order[i]);
			} else {
				fprintf(f, "\tn%u -> n%u", from, net->order[i]);
			}
			fprintf(f, " [label=\"");
			put_dims(f, v, "x");
			fprintf(f, "\"];\n");
		}
	}
	fprintf(f, "}\n");
}

/* All stages that are known: those of the last run */
static void tell_stages(FILE *f, const struct accel_state *state, uint32_t format,
			void (*tell)(FILE *f, const struct net *net))
{
	bool list = format == ACCEL_TEXT_JSON && state->stages[0].net->stop <
		    state->program->graph->node_count;
	const struct graph_node *node;
	uint32_t i;

	if (list)
		fprintf(f, "{\"schema\":\"accel.graph/1\",\"rounds\":%s,\"stages\":[\n",
			state_rounds(state) ? "true" : "false");
	for (i = 0; i < state->stage_count; i++) {
		const struct net *net = state->stages[i].net;

		if (list && i)
			fprintf(f, ",\n");
		tell(f, net);
		if (format != ACCEL_TEXT_PLAIN || net->stop == state->program->graph->node_count)
			continue;
		node = &state->program->graph->nodes[net->stop];
		fprintf(f, "then %s (%s), %s\n", node->name ? node->name : "without a name",
			desc_name(node->desc), node->dynamic ?
			"whose results have sizes that only running tells" :
			"whose shape depends on data");
	}
	if (list)
		fprintf(f, "]}\n");
}

int accel_state_explain(struct accel_state *state, uint32_t format, accel_text_fn *fn, void *user)
{
	FP_MODE_SCOPE();
	static void (*const tell[])(FILE *f, const struct net *net) = { plain, json, dot };
	struct accel_ctx *ctx;
	char *text = NULL;
	size_t bytes = 0;
	FILE *f;
	int ret;

	if (!state)
		return -EINVAL;
	ctx = state->program->ctx;
	if (!fn)
		return ctx_fail(ctx, -EINVAL, "fn", "NULL");
	ret = state_ready(state);
	if (ret)
		return ret;
	if (format >= ARRAY_SIZE(tell))
		return ctx_fail(ctx, -EINVAL, "format", "%u is no format", format);
	f = open_memstream(&text, &bytes);
	if (!f)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	tell_stages(f, state, format, tell[format]);
	ret = fclose(f) ? ctx_fail(ctx, -ENOMEM, NULL, "out of memory") : fn(user, text, bytes);
	free(text);
	return ret;
}

/* --- profile ----------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A node that is done again in place would find its own result. */
static bool in_place(const struct net *net, const struct node *node)
{
	return net->stores[net->values[node_result(node)].store].over != NO_VALUE;
}

/* What lies where the result will be is kept, or brought back. */
static int keep_input(const struct accel_binding *b, uint64_t bytes, void *kept, bool back)
{
	void *at = (char *)accel_bo_ptr(b->bo) + b->offset;
	int ret = accel_bo_cpu_begin(b->bo, b->offset, bytes, back ? ACCEL_CPU_WRITE :
								     ACCEL_CPU_READ);

	if (ret)
		return ret;
	memcpy(back ? at : kept, back ? kept : at, bytes);
	return accel_bo_cpu_end(b->bo, b->offset, bytes, back ? ACCEL_CPU_WRITE : ACCEL_CPU_READ);
}

static int time_node(struct accel_state *state, const struct stage *stage, const struct node *node,
		     uint64_t *times, uint32_t repeat)
{
	const struct value *d = &stage->net->values[node_result(node)];
	const uint64_t bytes = type_bytes(d->type, value_count(d));
	struct accel_binding bindings[3 * ACCEL_ARG_COUNT];
	struct accel_job *job = NULL;
	uint32_t i, count, at = 0;
	void *kept = NULL;
	uint64_t start;
	int ret = 0;

	if (!node->host) {
		ret = accel_job_create(state->program->ctx, NULL, &job);
		if (ret)
			return ret;
		ret = state_bindings(state, stage, node, bindings, &count);
		if (!ret)
			ret = accel_job_add(job, node->plan, bindings, count, NULL, 0, NULL);
		while (!ret && at + 1 < count && bindings[at].arg != ACCEL_ARG_D)
			at++;
		if (!ret && repeat > 1 && in_place(stage->net, node)) {
			kept = malloc(bytes + 1);
			ret = kept ? keep_input(&bindings[at], bytes, kept, false) :
				     ctx_fail(state->program->ctx, -ENOMEM, NULL, "out of memory");
		}
	}
	for (i = 0; i < repeat && !ret; i++) {
		if (i && kept)
			ret = keep_input(&bindings[at], bytes, kept, true);
		if (ret)
			break;
		start = now_ns();
		ret = node->host ? state_run_host(state, stage, node) : state_submit(state, job);
		times[i] = now_ns() - start;
	}
	free(kept);
	accel_job_destroy(job);
	return ret;
}

static int profile_stage(struct accel_state *state, const struct stage *stage, uint32_t repeat,
			 uint64_t *times, struct accel_node_profile *p, accel_node_profile_fn *fn,
			 void *user)
{
	const struct net *net = stage->net;
	struct accel_candidate c;
	uint32_t i, n;
	int ret = 0;

	for (i = 0; i < net->order_count && !ret; i++, p->index++) {
		const struct node *node = &net->nodes[net->order[i]];

		if (node_idle(node))
			continue;
		n = repeat ? repeat : 1;
		ret = time_node(state, stage, node, times, n);
		if (ret)
			break;
		qsort(times, n, sizeof(*times), by_time);
		p->op = node->desc->hdr.op;
		p->operation = desc_name(node->desc);
		p->engine = node->host ? ACCEL_ENGINE_AUTO : node->info.engine;
		p->name = label(node);
		p->ns = times[n / 2];
		p->macs = node->info.macs;
		p->bytes = node->info.read_bytes + node->info.write_bytes;
		c = chosen(node);
		p->code = code_of(node, &c);
		ret = fn(user, p);
	}
	return ret;
}

/* What is done between two stages: a node with a graph of its own, or shapes that are planned */
static int profile_next(struct accel_state *state, uint32_t index, bool *more,
			struct accel_node_profile *p, accel_node_profile_fn *fn, void *user)
{
	const struct accel_graph *graph = state->program->graph;
	const struct net *net = state->stages[index].net;
	uint64_t start = now_ns();
	int ret = state_next(state, index, more);

	if (ret || !*more)
		return ret;
	p->op = graph->nodes[net->stop].desc->hdr.op;
	p->operation = desc_name(graph->nodes[net->stop].desc);
	p->engine = ACCEL_ENGINE_AUTO;
	p->name = graph->nodes[net->stop].name ? graph->nodes[net->stop].name : p->operation;
	p->ns = now_ns() - start;
	p->macs = 0;
	p->bytes = 0;
	p->code = ACCEL_CODE_HOST;
	ret = fn(user, p);
	p->index++;
	return ret;
}

int accel_state_profile(struct accel_state *state, uint32_t repeat, accel_node_profile_fn *fn,
			void *user)
{
	FP_MODE_SCOPE();
	struct accel_node_profile p = { .size = sizeof(p) };
	bool more = true;
	uint64_t *times;
	uint32_t i;
	int ret;

	if (!state)
		return -EINVAL;
	if (!fn)
		return ctx_fail(state->program->ctx, -EINVAL, "fn", "NULL");
	ret = state_ready(state);
	if (ret)
		return ret;
	state->ran = false;
	times = calloc(repeat + 1, sizeof(*times));
	if (!times)
		return ctx_fail(state->program->ctx, -ENOMEM, NULL, "out of memory");
	for (i = 0; more && !ret; i++) {
		ret = profile_stage(state, &state->stages[i], repeat, times, &p, fn, user);
		if (!ret)
			ret = profile_next(state, i, &more, &p, fn, user);
	}
	free(times);
	state->ran = !ret && i == state->stage_count;
	return ret;
}
