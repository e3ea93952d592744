// SPDX-License-Identifier: MIT
/*
 * Programs: a graph on a context, and the nets that were made of it, by what its
 * symbols stand for.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "watch.h"

/* Constants from this size on are used where they lie. */
#define IN_PLACE_BYTES	8192

/* --- constants --------------------------------------------------------------------- */

static int copy_constant(struct accel_ctx *ctx, const struct blob *blob, struct accel_bo **bo)
{
	const struct accel_bo_opts copied = { sizeof(copied), 0, "constants" };
	int ret = accel_bo_create(ctx, blob->bytes + !blob->bytes, &copied, bo);

	if (ret)
		return ret;
	if (blob->bytes)
		memcpy(accel_bo_ptr(*bo), blob->data, blob->bytes);
	ret = accel_bo_cpu_end(*bo, 0, blob->bytes, ACCEL_CPU_WRITE);
	if (ret)
		accel_bo_unref(*bo);
	return ret;
}

static int make_constant(struct accel_program *program, struct blob *blob, struct constant *c)
{
	const struct accel_bo_opts in_place = {
		sizeof(in_place), ACCEL_BO_READONLY | (blob->mapped ? ACCEL_BO_LAZY : 0), "weights"
	};
	int ret = -ENOENT;
	uint32_t i;

	c->offset = 0;
	if (!blob->data && blob->bytes)
		ret = bo_absent(program->ctx, blob->bytes, &c->bo);
	else if (blob->bytes >= IN_PLACE_BYTES && !((uintptr_t)blob->data % 16))
		ret = accel_bo_import_ptr(program->ctx, (void *)(uintptr_t)blob->data, blob->bytes,
					  &in_place, &c->bo);
	if (ret && (blob->data || !blob->bytes))
		ret = copy_constant(program->ctx, blob, &c->bo);
	if (!ret)
		weights_place(c->bo, &blob->place);
	for (i = 0; !ret && i < blob->sum_count; i++)
		weights_tell(program->weights, c->bo, &blob->sums[i]);
	return ret;
}

/**
 * program_constant - a constant as a buffer
 * @program: program, locked
 * @blob: constant
 * @out: out: the buffer is the program's
 *
 * Return: 0, or what making a buffer gives.
 */
int program_constant(struct accel_program *program, struct blob *blob, struct constant *out)
{
	struct constant *c;
	uint32_t i;
	int ret;

	for (i = 0; i < program->constant_count; i++)
		if (program->constants[i].blob == blob) {
			*out = program->constants[i];
			return 0;
		}
	if (program->constant_count == program->constant_cap) {
		uint32_t cap = program->constant_cap ? 2 * program->constant_cap : 64;

		c = realloc(program->constants, cap * sizeof(*c));
		if (!c)
			return -ENOMEM;
		program->constants = c;
		program->constant_cap = cap;
	}
	c = &program->constants[program->constant_count];
	ret = make_constant(program, blob, c);
	if (ret)
		return ret;
	c->blob = blob_ref(blob);
	c->kept = false;
	program->constant_count++;
	*out = *c;
	return 0;
}

/**
 * program_packed - a constant was rearranged: what it was made of may go
 * @program: program, locked
 * @blob: constant
 */
void program_packed(struct accel_program *program, struct blob *blob)
{
	struct constant *c = program->constants;
	uint32_t i;

	for (i = 0; i < program->constant_count; i++) {
		if (c[i].blob != blob)
			continue;
		if (c[i].kept)
			return;
		accel_bo_unref(c[i].bo);
		c[i] = c[--program->constant_count];
		blob_rest(blob);
		blob_unref(blob);
		return;
	}
}

/* A constant is read while something runs: it does not go when it is packed. @program is locked. */
void program_keep(struct accel_program *program, const struct blob *blob)
{
	uint32_t i;

	for (i = 0; i < program->constant_count; i++)
		program->constants[i].kept |= program->constants[i].blob == blob;
}

/* Constants that only nets had which are gone: no graph has them, so no other net will. */
static void drop_constants(struct accel_program *program)
{
	struct constant *c = program->constants;
	uint32_t i, count = 0;

	for (i = 0; i < program->constant_count; i++) {
		if (atomic_load_explicit(&c[i].blob->refs, memory_order_acquire) > 1) {
			c[count++] = c[i];
			continue;
		}
		accel_bo_unref(c[i].bo);
		blob_unref(c[i].blob);
	}
	program->constant_count = count;
}

/* --- nets -------------------------------------------------------------------------- */

/* Does a node have an argument as its plan packed it? Then it is not read any more. */
bool node_holds(const struct node *node, uint32_t arg)
{
	return !node->host && node->info.packed_bytes &&
	       (arg & ~(uint32_t)ARG_TABLES) == ACCEL_ARG_B;
}

/* Constants that steps read need a buffer too. */
static int bind_constants(struct net *net)
{
	uint32_t i, k;
	int ret;

	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];

		for (k = 0; k < node->arg_count; k++) {
			const struct value *v = &net->values[node->args[k].value];
			struct constant c;

			if (net->stores[v->store].kind != STORE_CONST || node->host ||
			    node_holds(node, node->args[k].arg))
				continue;
			ret = program_constant(net->program, net->stores[v->store].blob, &c);
			if (ret)
				return net_fail(net, ret, node, "a constant has no buffer");
			program_keep(net->program, net->stores[v->store].blob);
			net->constant_bytes += net->stores[v->store].bytes;
		}
	}
	return 0;
}

/**
 * program_finish - plans and memory for a net behind the passes
 * @program: program, locked, or nobody else's yet
 * @net: net
 *
 * Return: 0, or the error that the net or the context has.
 */
int program_finish(struct accel_program *program, struct net *net)
{
	int ret = net_lower(net, &program->opts);

	if (!ret)
		ret = watch_find(net);
	if (!ret)
		ret = net_arena(net, program->opts.level >= 1);
	return ret ? ret : bind_constants(net);
}

static int compile(struct accel_program *program, const struct net_key *key, struct net **out)
{
	struct net *net;
	int ret = file_check(program);

	if (ret)
		return ret;
	ret = net_create(program, key, &net);
	if (!net) {
		ctx_fail(program->ctx, -ENOMEM, NULL, "out of memory");
		return -ENOMEM;
	}
	if (!ret && !net->peek)
		ret = net_passes(net, &program->opts);
	if (!ret && !net->peek)
		ret = program_finish(program, net);
	if (ret) {
		net->error.code = ret;
		ctx_set_error(program->ctx, &net->error);
		net_unref(net);
		return ret;
	}
	*out = net;
	return 0;
}

/* The one that was not looked for longest makes room. */
static void evict(struct accel_program *program)
{
	uint32_t i, oldest = 0, max = program->opts.cache ? program->opts.cache : 8;

	/* Those of a run come one after the other. */
	max *= program->asked;
	if (program->net_count < max)
		return;
	for (i = 1; i < program->net_count; i++)
		if (program->nets[i]->used < program->nets[oldest]->used)
			oldest = i;
	net_unref(program->nets[oldest]);
	program->nets[oldest] = program->nets[--program->net_count];
	drop_constants(program);
}

/**
 * program_keeps - make a net one of a program's
 * @program: program, locked, or nobody else's yet
 * @net: net, which is the program's from now on, also if there is no memory
 *
 * Return: false: there is no memory.
 */
bool program_keeps(struct accel_program *program, struct net *net)
{
	struct net **nets = realloc(program->nets,
				    ((size_t)program->net_count + 1) * sizeof(*nets));

	if (!nets) {
		net_unref(net);
		return false;
	}
	program->nets = nets;
	nets[program->net_count++] = net;
	return true;
}

/* No net of a file without a graph is for these numbers. */
static int not_seen(struct accel_program *program, const struct net_key *key)
{
	const struct accel_graph *graph = program->graph;
	char text[160] = "";
	size_t n = 0;
	uint32_t i;

	for (i = 0; key->symbols && i < graph->symbol_count && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s = %" PRId64, i ? ", " : "",
				      graph->symbols[i].name, key->symbols[i]);
	return ctx_fail(program->ctx, -ENOENT, "dims", "the program's file is for other numbers than %s",
			text);
}

/**
 * program_net - the net for what is known
 * @program: program
 * @key: numbers for symbols, and facts
 * @asked: nets that a run has asked for, this one too
 * @out: out: a reference
 *
 * Return: 0, or the error that the context has.
 */
int program_net(struct accel_program *program, const struct net_key *key, uint32_t asked,
		struct net **out)
{
	size_t bytes = key->symbols ? program->graph->symbol_count * sizeof(*key->symbols) : 0;
	struct net *net = NULL;
	uint32_t i;
	int ret = 0;

	pthread_mutex_lock(&program->lock);
	if (program->asked < asked)
		program->asked = asked;
	for (i = 0; i < program->net_count; i++)
		if ((!bytes || !memcmp(program->nets[i]->symbols, key->symbols, bytes)) &&
		    program->nets[i]->first == key->first &&
		    facts_equal(&program->nets[i]->facts, key->facts))
			break;
	if (i < program->net_count) {
		net = program->nets[i];
	} else {
		ret = program->sealed ? not_seen(program, key) : compile(program, key, &net);
		if (!ret)
			evict(program);
		if (!ret && !program_keeps(program, net))
			ret = ctx_fail(program->ctx, -ENOMEM, NULL, "out of memory");
	}
	if (!ret && net) {
		net->used = ++program->clock;
		atomic_fetch_add_explicit(&net->refs, 1, memory_order_relaxed);
		*out = net;
	}
	pthread_mutex_unlock(&program->lock);
	return ret;
}

/**
 * program_body - the program of a graph that a node runs
 * @program: program
 * @body: graph
 * @out: out: borrowed
 *
 * Return: 0, or the error that the context has.
 */
int program_body(struct accel_program *program, struct accel_graph *body,
		 struct accel_program **out)
{
	struct accel_program *made = NULL, **more;
	uint32_t i;
	int ret = 0;

	pthread_mutex_lock(&program->lock);
	for (i = 0; i < program->body_count && program->bodies[i]->graph != body; i++)
		;
	if (i == program->body_count) {
		ret = accel_graph_compile(program->ctx, body, &program->opts, &made);
		more = ret ? NULL : realloc(program->bodies, (i + 1) * sizeof(*more));
		if (more) {
			program->bodies = more;
			more[program->body_count++] = made;
		} else if (!ret) {
			accel_program_unref(made);
			ret = ctx_fail(program->ctx, -ENOMEM, NULL, "out of memory");
		}
	}
	if (!ret)
		*out = program->bodies[i];
	pthread_mutex_unlock(&program->lock);
	return ret;
}

/* --- the program ------------------------------------------------------------------- */

static int check_opts(struct accel_ctx *ctx, const struct accel_compile_opts *o)
{
	if (o->level > 3)
		return ctx_fail(ctx, -EINVAL, "opts.level", "%u is not from 0 to 3", o->level);
	if (o->off >> ACCEL_PASS_COUNT)
		return ctx_fail(ctx, -EINVAL, "opts.off", "unknown passes 0x%x", o->off);
	if (o->engine >= ACCEL_ENGINE_COUNT)
		return ctx_fail(ctx, -EINVAL, "opts.engine", "%u is no engine", o->engine);
	if (o->precision >= ACCEL_PRECISION_COUNT)
		return ctx_fail(ctx, -EINVAL, "opts.precision", "%u is none", o->precision);
	return 0;
}

/**
 * program_create - a program without nets
 * @ctx: context
 * @graph: graph, which is the program's from now on, also when this fails; or NULL
 * @opts: options
 * @out: out
 *
 * Return: 0, -EINVAL options, -ENOMEM.
 */
int program_create(struct accel_ctx *ctx, struct accel_graph *graph,
		   const struct accel_compile_opts *opts, struct accel_program **out)
{
	struct accel_program *program;
	int ret = check_opts(ctx, opts);

	if (ret) {
		accel_graph_destroy(graph);
		return ret;
	}
	program = calloc(1, sizeof(*program));
	if (!program) {
		accel_graph_destroy(graph);
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	}
	atomic_init(&program->refs, 1);
	pthread_mutex_init(&program->lock, NULL);
	program->ctx = ctx_ref(ctx);
	program->graph = graph;
	program->opts = *opts;
	program->asked = 1;
	ret = accel_weights_create(ctx, NULL, &program->weights);
	if (ret)
		accel_program_unref(program);
	else
		*out = program;
	return ret;
}

int accel_graph_compile(struct accel_ctx *ctx, struct accel_graph *graph,
			const struct accel_compile_opts *opts, struct accel_program **out)
{
	FP_MODE_SCOPE();
	struct accel_compile_opts o = ACCEL_COMPILE_OPTS_INIT;
	const struct facts none = { 0 };
	const struct net_key key = { NULL, &none, 0 };
	struct accel_program *program = NULL;
	struct net *net = NULL;
	int ret = 0;

	if (!ctx)
		return -EINVAL;
	if (!graph || !out)
		return ctx_fail(ctx, -EINVAL, graph ? "program" : "graph", "NULL");
	if (opts)
		ret = opts_in_since(ctx, &o, sizeof(o), opts,
				    offsetof(struct accel_compile_opts, progress));
	if (!ret && !graph->output_count)
		ret = ctx_fail(ctx, -EINVAL, "graph", "it has no output");
	if (ret)
		return ret;
	ret = program_create(ctx, graph_ref(graph), &o, &program);
	if (ret || !program)
		return ret;
	atomic_store_explicit(&graph->frozen, true, memory_order_relaxed);
	if (!graph->symbol_count)
		ret = program_net(program, &key, 1, &net);
	net_unref(net);
	if (ret) {
		accel_program_unref(program);
		return ret;
	}
	*out = program;
	return 0;
}

struct accel_program *accel_program_ref(struct accel_program *program)
{
	if (program)
		atomic_fetch_add_explicit(&program->refs, 1, memory_order_relaxed);
	return program;
}

void accel_program_unref(struct accel_program *program)
{
	uint32_t i;

	if (!program || atomic_fetch_sub_explicit(&program->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (i = 0; i < program->net_count; i++)
		net_unref(program->nets[i]);
	for (i = 0; i < program->body_count; i++)
		accel_program_unref(program->bodies[i]);
	for (i = 0; i < program->constant_count; i++) {
		accel_bo_unref(program->constants[i].bo);
		blob_unref(program->constants[i].blob);
	}
	free(program->bodies);
	free(program->kept);
	accel_weights_unref(program->weights);
	free(program->nets);
	free(program->constants);
	accel_graph_destroy(program->graph);
	file_free(program->file);
	ctx_unref(program->ctx);
	pthread_mutex_destroy(&program->lock);
	free(program);
}

int accel_program_get_input(struct accel_program *program, uint32_t index,
			    struct accel_value *value)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	const struct graph_value *from;
	const struct accel_graph *graph;

	if (!program)
		return -EINVAL;
	graph = program->graph;
	if (index >= graph->input_count)
		return -ENOENT;
	from = &graph->values[graph->inputs[index]];
	v.type = from->type;
	v.rank = from->rank;
	memcpy(v.dims, from->dims, sizeof(v.dims));
	v.name = from->name;
	return struct_out(value, &v, sizeof(v), sizeof(v));
}

const char *accel_program_get_symbol(struct accel_program *program, int64_t dim, int64_t *min,
				     int64_t *max)
{
	const struct accel_graph *graph;

	if (!program)
		return NULL;
	graph = program->graph;
	if (dim >= 0 || symbol_index(dim) >= graph->symbol_count)
		return NULL;
	if (min)
		*min = graph->symbols[symbol_index(dim)].min;
	if (max)
		*max = graph->symbols[symbol_index(dim)].max;
	return graph->symbols[symbol_index(dim)].name;
}
