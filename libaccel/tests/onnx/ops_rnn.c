// SPDX-License-Identifier: MIT
/*
 * Recurrent layers of one direction, made of products with epilogues and
 * elementwise functions, a step of time after the other.
 */
#include <string.h>

#include "run.h"

#define ADD(r, a, b)	lib_binary(r, ACCEL_BINARY_ADD, a, b)
#define MUL(r, a, b)	lib_binary(r, ACCEL_BINARY_MUL, a, b)

/**
 * struct cell - what the steps of a layer share
 * @hidden: size of the state
 * @w: weights of the input, [gates * hidden, input]
 * @u: weights of the state, [gates * hidden, hidden]
 * @b: bias, first that of @w, then that of @u; or NULL
 * @p: LSTM: weights of the cell's state, or NULL
 * @h: state, [batch, hidden]
 * @c: LSTM: the cell's state
 */
struct cell {
	int64_t hidden;
	struct value *w, *u, *b, *p;
	struct value *h, *c;
};

/* Elements from @start on of a dimension, dense. */
struct value *lib_slice(struct run *r, struct value *a, uint32_t axis, int64_t start,
			int64_t count)
{
	struct view w;

	if (!usable(r, a))
		return NULL;
	w = view_of(a);
	w.offset = start * w.strides[axis];
	w.dims[axis] = count;
	return lib_copy(r, &w, a->type);
}

/* Without a dimension of one */
static struct value *drop(struct run *r, struct value *a, uint32_t axis)
{
	int64_t dims[MAX_RANK];
	uint32_t i, n = 0;

	if (!usable(r, a))
		return NULL;
	for (i = 0; i < a->rank; i++)
		if (i != axis)
			dims[n++] = a->dims[i];
	return relabel(r, a, a->type, n, dims);
}

static struct value *insert(struct run *r, struct value *a, uint32_t axis)
{
	int64_t dims[MAX_RANK];
	uint32_t i, n = 0;

	if (!usable(r, a))
		return NULL;
	for (i = 0; i <= a->rank; i++) {
		if (i == axis)
			dims[n++] = 1;
		if (i < a->rank)
			dims[n++] = a->dims[i];
	}
	return relabel(r, a, a->type, n, dims);
}

/* act(x w^T + bias + residual); what is NULL is absent. */
static struct value *linear(struct run *r, struct value *x, struct value *w, struct value *bias,
			    struct value *residual, uint32_t act)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct value *v;
	int64_t dims[2];

	if (!usable(r, x) || !usable(r, w))
		return NULL;
	dims[0] = x->dims[0];
	dims[1] = w->dims[0];
	v = new_value(r, x->type, 2, dims);
	g.flags = ACCEL_GEMM_TRANS_B;
	g.epilogue.act = act;
	if (!tensor_of(r, &g.a, x) || !tensor_of(r, &g.b, w) || !tensor_of(r, &g.d, v) ||
	    (bias && !tensor_of(r, &g.epilogue.bias, bias)) ||
	    (residual && !tensor_of(r, &g.epilogue.residual, residual)) || lib_run(r, &g.hdr))
		return NULL;
	return v;
}

/* Rows of gate @k of a table; of the bias those of the state with @k beyond the gates. */
static struct value *gate_of(struct run *r, const struct cell *l, struct value *table, int64_t k)
{
	return table ? lib_slice(r, table, 0, k * l->hidden, l->hidden) : NULL;
}

/* Both biases of gate @k of @gates */
static struct value *gate_bias(struct run *r, const struct cell *l, int64_t k, int64_t gates)
{
	return l->b ? ADD(r, gate_of(r, l, l->b, k), gate_of(r, l, l->b, gates + k)) : NULL;
}

/* act(x W^T + h U^T + bias + extra) of a gate */
static struct value *gate(struct run *r, const struct cell *l, struct value *x, int64_t k,
			  int64_t gates, struct value *extra, uint32_t act)
{
	struct value *sum = linear(r, x, gate_of(r, l, l->w, k), gate_bias(r, l, k, gates), extra,
				   ACCEL_ACT_NONE);

	return linear(r, l->h, gate_of(r, l, l->u, k), NULL, sum, act);
}

static void rnn_step(struct run *r, struct cell *l, struct value *x)
{
	l->h = gate(r, l, x, 0, 1, NULL, ACCEL_ACT_TANH);
}

/* Gates are i, o, f, c; peepholes i, o, f. */
static void lstm_step(struct run *r, struct cell *l, struct value *x)
{
	struct value *p[3] = { NULL }, *i, *o, *f, *c;
	uint32_t k;

	for (k = 0; k < 3 && l->p; k++)
		p[k] = gate_of(r, l, l->p, k);
	i = gate(r, l, x, 0, 4, l->p ? MUL(r, l->c, p[0]) : NULL, ACCEL_ACT_SIGMOID);
	f = gate(r, l, x, 2, 4, l->p ? MUL(r, l->c, p[2]) : NULL, ACCEL_ACT_SIGMOID);
	c = gate(r, l, x, 3, 4, NULL, ACCEL_ACT_TANH);
	l->c = ADD(r, MUL(r, f, l->c), MUL(r, i, c));
	o = gate(r, l, x, 1, 4, l->p ? MUL(r, l->c, p[1]) : NULL, ACCEL_ACT_SIGMOID);
	l->h = MUL(r, o, lib_act(r, ACCEL_ACT_TANH, 0, 0, l->c));
}

/* Gates are z, r, h. */
static void gru_step(struct run *r, struct cell *l, struct value *x)
{
	struct value *z = gate(r, l, x, 0, 3, NULL, ACCEL_ACT_SIGMOID);
	struct value *reset = gate(r, l, x, 1, 3, NULL, ACCEL_ACT_SIGMOID);
	struct value *h, *u = gate_of(r, l, l->u, 2), *w = gate_of(r, l, l->w, 2);

	if (attr_int(r, "linear_before_reset", 0)) {
		h = MUL(r, reset, linear(r, l->h, u, gate_of(r, l, l->b, 5), NULL, 0));
		h = linear(r, x, w, gate_of(r, l, l->b, 2), h, ACCEL_ACT_TANH);
	} else {
		h = linear(r, MUL(r, reset, l->h), u, gate_bias(r, l, 2, 3), NULL, 0);
		h = linear(r, x, w, NULL, h, ACCEL_ACT_TANH);
	}
	/* (1 - z) h' + z h = h' + z (h - h') */
	l->h = ADD(r, h, MUL(r, z, lib_binary(r, ACCEL_BINARY_SUB, l->h, h)));
}

static bool plain(struct run *r, int64_t steps)
{
	struct value *lens = r->in[4];
	uint64_t i;

	for (i = 0; lens && i < lens->count; i++)
		if (get(lens, i) != (double)steps)
			return false;
	return attr_is(r, "direction", "forward", true) && !attr(r, "activations") &&
	       !attr(r, "clip") && !attr_int(r, "input_forget", 0);
}

/* Y is [steps, 1, batch, hidden], Y_h [1, batch, hidden]; by batches the other way round. */
static int do_recurrent(struct run *r, const struct op_map *m)
{
	static void (*const step[])(struct run *r, struct cell *l, struct value *x) = {
		rnn_step, lstm_step, gru_step
	};
	struct value *x = r->in[0], *y;
	int64_t layout = attr_int(r, "layout", 0), t, dims[4];
	uint32_t time = layout ? 1 : 0;
	struct cell l = { 0 };
	struct view from, to;

	if (!usable(r, x) || !usable(r, r->in[1]) || !usable(r, r->in[2]))
		return r->ret;
	if (r->in[1]->dims[0] != 1 || !plain(r, x->dims[time]))
		return unsupported(r, "directions, lengths, activations or clipping");
	l.hidden = r->in[2]->dims[2];
	l.w = drop(r, r->in[1], 0);
	l.u = drop(r, r->in[2], 0);
	l.b = r->in[3] ? drop(r, r->in[3], 0) : NULL;
	l.p = r->in[7] ? drop(r, r->in[7], 0) : NULL;
	dims[0] = layout ? x->dims[0] : x->dims[1];
	dims[1] = l.hidden;
	l.h = r->in[5] ? drop(r, r->in[5], time) : lib_fill(r, x->type, 2, dims, 0);
	l.c = r->in[6] ? drop(r, r->in[6], time) : lib_fill(r, x->type, 2, dims, 0);
	dims[3] = l.hidden;
	dims[layout ? 0 : 2] = layout ? x->dims[0] : x->dims[1];
	dims[layout ? 1 : 0] = x->dims[time];
	dims[layout ? 2 : 1] = 1;
	y = new_value(r, x->type, 4, dims);
	for (t = 0; t < x->dims[time] && !r->ret; t++) {
		step[m->arg](r, &l, drop(r, lib_slice(r, x, time, t, 1), time));
		if (r->ret)
			return r->ret;
		from = view_of(insert(r, insert(r, l.h, layout ? 1 : 0), layout ? 1 : 0));
		to = view_of(y);
		to.offset = t * to.strides[time];
		to.dims[time] = 1;
		lib_copy_into(r, &from, &to);
	}
	give(r, 0, y);
	give(r, 1, insert(r, l.h, time));
	return give(r, 2, l.c ? insert(r, l.c, time) : NULL);
}

const struct op_map ops_rnn[] = {
	{ "RNN", do_recurrent, BY_LIBRARY, 0, 0 },
	{ "LSTM", do_recurrent, BY_LIBRARY, 1, 0 },
	{ "GRU", do_recurrent, BY_LIBRARY, 2, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
