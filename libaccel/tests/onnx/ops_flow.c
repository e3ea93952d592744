// SPDX-License-Identifier: MIT
/*
 * Control flow: the runner decides which graph comes next, the graphs do the
 * work. Names of the graph around are seen within.
 */
#include <string.h>

#include "run.h"

/* Run graph @g with @in bound to its inputs; its outputs into @out. */
static bool run_body(struct run *r, const Onnx__GraphProto *g, struct value **in, uint32_t n,
		     struct value **out)
{
	const Onnx__NodeProto *node = r->node;
	uint32_t n_in = r->n_in, n_out = r->n_out, i;
	struct value *held[2 * MAX_ARGS];

	if (g->n_input != n || g->n_output > MAX_ARGS) {
		unsupported(r, "a graph of %zu inputs, %zu outputs", g->n_input, g->n_output);
		return false;
	}
	memcpy(held, r->in, sizeof(r->in));
	memcpy(held + MAX_ARGS, r->out, sizeof(r->out));
	for (i = 0; i < n; i++)
		bind_name(r, g->input[i]->name, in[i]);
	run_graph(r, g);
	r->node = node;
	r->n_in = n_in;
	r->n_out = n_out;
	memcpy(r->in, held, sizeof(r->in));
	memcpy(r->out, held + MAX_ARGS, sizeof(r->out));
	for (i = 0; i < g->n_output && !r->ret; i++) {
		out[i] = find_name(r, g->output[i]->name);
		if (!out[i])
			broken(r, "the inner graph has no %s", g->output[i]->name);
	}
	return !r->ret;
}

static int do_if(struct run *r, const struct op_map *m)
{
	struct value *out[MAX_ARGS] = { NULL };
	const Onnx__AttributeProto *a;
	uint32_t i;

	(void)m;
	if (!usable(r, r->in[0]))
		return r->ret;
	a = attr(r, get(r->in[0], 0) ? "then_branch" : "else_branch");
	if (!a || !a->g)
		return broken(r, "no branch");
	if (!run_body(r, a->g, NULL, 0, out))
		return r->ret;
	for (i = 0; i < r->n_out; i++)
		give(r, i, out[i]);
	return r->ret;
}

/* What the steps gave, one behind the other along a new first dimension */
static struct value *stack(struct run *r, struct value *all, struct value *one)
{
	int64_t dims[MAX_RANK];
	struct view from, to;
	struct value *v;

	if (!usable(r, one))
		return NULL;
	if (one->rank + 1 > MAX_RANK) {
		unsupported(r, "%u dimensions", one->rank);
		return NULL;
	}
	dims[0] = 1;
	memcpy(dims + 1, one->dims, one->rank * sizeof(*dims));
	one = relabel(r, one, one->type, one->rank + 1, dims);
	if (!all || !one)
		return one;
	dims[0] = all->dims[0] + 1;
	v = new_value(r, all->type, all->rank, dims);
	if (!v)
		return NULL;
	from = view_of(all);
	to = view_of(v);
	to.dims[0] = all->dims[0];
	lib_copy_into(r, &from, &to);
	from = view_of(one);
	to = view_of(v);
	to.offset = all->dims[0] * to.strides[0];
	to.dims[0] = 1;
	lib_copy_into(r, &from, &to);
	return v;
}

/* Inputs: trips, condition, what is carried; the body has the number of the trip instead. */
static int do_loop(struct run *r, const struct op_map *m)
{
	struct value *out[MAX_ARGS] = { NULL }, *scan[MAX_ARGS] = { NULL };
	struct value *in[MAX_ARGS] = { NULL };
	const Onnx__AttributeProto *a = attr(r, "body");
	uint32_t carried = r->n_in > 2 ? r->n_in - 2 : 0, i;
	int64_t trips = INT32_MAX, trip;
	bool more = true;

	(void)m;
	if (!a || !a->g || r->n_out < carried || a->g->n_output != r->n_out + 1)
		return broken(r, "a body that does not fit");
	if (r->in[0])
		get_ints(r, r->in[0], &trips, 1);
	if (r->in[1])
		more = get(r->in[1], 0);
	for (i = 0; i < carried; i++)
		in[2 + i] = r->in[2 + i];
	for (trip = 0; trip < trips && more && !r->ret; trip++) {
		if (trip > 1000)
			return unsupported(r, "more than 1000 trips");
		in[0] = constant(r, T_INT64, (double)trip);
		in[1] = constant(r, T_BOOL, 1);
		if (!run_body(r, a->g, in, 2 + carried, out) || !usable(r, out[0]))
			return r->ret;
		more = get(out[0], 0);
		for (i = 0; i < carried; i++)
			in[2 + i] = out[1 + i];
		for (i = carried; i < r->n_out; i++)
			scan[i] = stack(r, scan[i], out[1 + i]);
	}
	for (i = 0; i < r->n_out && !r->ret; i++) {
		if (i >= carried && !scan[i])
			return unsupported(r, "a loop without a trip");
		give(r, i, i < carried ? in[2 + i] : scan[i]);
	}
	return r->ret;
}

/* Element @n along the first dimension */
static struct value *element(struct run *r, struct value *v, int64_t n)
{
	struct value *one = v->rank ? lib_slice(r, v, 0, n, 1) : NULL;

	return one ? relabel(r, one, one->type, v->rank - 1, v->dims + 1) : NULL;
}

/* What is carried, then what is taken apart along the first dimension */
static int do_scan(struct run *r, const struct op_map *m)
{
	struct value *out[MAX_ARGS] = { NULL }, *scan[MAX_ARGS] = { NULL };
	struct value *in[MAX_ARGS] = { NULL };
	uint32_t taken = (uint32_t)attr_int(r, "num_scan_inputs", 1), carried, i;
	const Onnx__AttributeProto *a = attr(r, "body");
	int64_t trip;

	(void)m;
	if (!a || !a->g || taken > r->n_in || !taken || attr(r, "scan_input_axes") ||
	    attr(r, "scan_input_directions") || attr(r, "scan_output_directions"))
		return unsupported(r, "axes and directions");
	carried = r->n_in - taken;
	if (a->g->n_output != r->n_out || !usable(r, r->in[carried]) || r->n_out < carried)
		return broken(r, "a body that does not fit");
	for (i = 0; i < carried; i++)
		in[i] = r->in[i];
	for (trip = 0; trip < r->in[carried]->dims[0] && !r->ret; trip++) {
		for (i = carried; i < r->n_in; i++)
			in[i] = element(r, r->in[i], trip);
		if (!run_body(r, a->g, in, r->n_in, out))
			return r->ret;
		for (i = 0; i < carried; i++)
			in[i] = out[i];
		for (i = carried; i < r->n_out; i++)
			scan[i] = stack(r, scan[i], out[i]);
	}
	for (i = 0; i < r->n_out && !r->ret; i++)
		give(r, i, i < carried ? in[i] : scan[i]);
	return r->ret;
}

const struct op_map ops_flow[] = {
	{ "If", do_if, BY_SHAPE, 0, 0 },
	{ "Loop", do_loop, BY_SHAPE, 0, 0 },
	{ "Scan", do_scan, BY_SHAPE, 0, 9 },
	{ NULL, NULL, BY_SHAPE, 0, 0 }
};
