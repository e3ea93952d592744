// SPDX-License-Identifier: MIT
/*
 * Recurrent layers, in products with epilogues and functions of elements, a step of time
 * after the other. The products with the input are done for all steps at once. Steps whose
 * number is known are nodes of the graph, others a loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* Steps of time that a layer is made of, and all of a file: each is some twenty nodes */
#define MAX_STEPS	4096
#define MAX_ALL_STEPS	32768
/* Activations that are none of engines */
#define ACT_AFFINE	(ACCEL_ACT_COUNT + 0u)
#define ACT_SCALED_TANH	(ACCEL_ACT_COUNT + 1u)
#define ACT_THRESHOLD	(ACCEL_ACT_COUNT + 2u)

/**
 * struct cell - a layer in one direction
 * @gates: of a step
 * @hidden: size of the state
 * @u: weights of the state, [gates * hidden, hidden]
 * @p: LSTM: weights of the cell's state by gate, or NO_VALUE
 * @bias: GRU: bias of the state's part of the last gate
 * @act: activations
 * @alpha: their parameters
 * @beta: likewise
 * @clip: bound of what goes into activations, 0: none
 * @coupled: LSTM: the forget gate is 1 - the input gate
 * @before: GRU: the reset comes behind the product
 * @h: state, [batch, hidden]
 * @c: LSTM: the cell's state
 */
struct cell {
	uint32_t gates;
	int64_t hidden;
	uint32_t u, p, bias;
	uint32_t act[3];
	float alpha[3], beta[3];
	float clip;
	bool coupled, before;
	uint32_t h, c;
};

static uint32_t activate(struct import *im, const struct cell *l, uint32_t k, uint32_t x)
{
	const double alpha = (double)l->alpha[k], beta = (double)l->beta[k];

	if (l->clip != 0)
		x = v_act(im, ACCEL_ACT_CLAMP, -l->clip, l->clip, x);
	switch (l->act[k]) {
	case ACT_AFFINE:
		x = v_with(im, ACCEL_BINARY_MUL, x, alpha);
		return v_with(im, ACCEL_BINARY_ADD, x, beta);
	case ACT_SCALED_TANH:
		x = v_act(im, ACCEL_ACT_TANH, 0, 0, v_with(im, ACCEL_BINARY_MUL, x, beta));
		return v_with(im, ACCEL_BINARY_MUL, x, alpha);
	case ACT_THRESHOLD:
		return v_select(im, v_with(im, ACCEL_BINARY_GE, x, alpha), x,
				v_number(im, v_type(im, x), 0));
	default:
		return v_act(im, l->act[k], l->alpha[k], l->beta[k], x);
	}
}

/* Columns of gate @k */
static uint32_t gate(struct import *im, const struct cell *l, uint32_t x, int64_t k)
{
	return l->gates == 1 ? x :
	       v_slice(im, x, -1, k * l->hidden, (k + 1) * l->hidden, 1);
}

static uint32_t peep(struct import *im, const struct cell *l, uint32_t x, int64_t k)
{
	if (l->p == NO_VALUE)
		return x;
	return v_binary(im, ACCEL_BINARY_ADD, x,
			v_binary(im, ACCEL_BINARY_MUL, l->c,
				 v_slice(im, l->p, 0, k * l->hidden, (k + 1) * l->hidden, 1)));
}

/* @x: the part of the input, biases included, [batch, gates * hidden]. */
static void rnn_step(struct import *im, struct cell *l, uint32_t x)
{
	x = v_product(im, ACCEL_GEMM_TRANS_B, 0, l->h, l->u, NO_VALUE, x);
	l->h = activate(im, l, 0, x);
}

/* Gates are i, o, f, c; peepholes i, o, f. */
static void lstm_step(struct import *im, struct cell *l, uint32_t x)
{
	uint32_t i, o, f, c;

	x = v_product(im, ACCEL_GEMM_TRANS_B, 0, l->h, l->u, NO_VALUE, x);
	i = activate(im, l, 0, peep(im, l, gate(im, l, x, 0), 0));
	if (l->coupled)
		f = v_binary(im, ACCEL_BINARY_SUB, v_number(im, v_type(im, i), 1), i);
	else
		f = activate(im, l, 0, peep(im, l, gate(im, l, x, 2), 2));
	c = activate(im, l, 1, gate(im, l, x, 3));
	l->c = v_binary(im, ACCEL_BINARY_ADD, v_binary(im, ACCEL_BINARY_MUL, f, l->c),
			v_binary(im, ACCEL_BINARY_MUL, i, c));
	o = activate(im, l, 0, peep(im, l, gate(im, l, x, 1), 1));
	l->h = v_binary(im, ACCEL_BINARY_MUL, o, activate(im, l, 2, l->c));
}

/* Gates are z, r, h. */
static void gru_step(struct import *im, struct cell *l, uint32_t x)
{
	int64_t n = l->hidden;
	uint32_t last = v_slice(im, l->u, 0, 2 * n, 3 * n, 1), zr, z, r, h;

	zr = v_product(im, ACCEL_GEMM_TRANS_B, 0, l->h, v_slice(im, l->u, 0, 0, 2 * n, 1),
		       NO_VALUE, v_slice(im, x, -1, 0, 2 * n, 1));
	z = activate(im, l, 0, gate(im, l, zr, 0));
	r = activate(im, l, 0, gate(im, l, zr, 1));
	h = gate(im, l, x, 2);
	if (l->before)
		h = v_binary(im, ACCEL_BINARY_ADD, h,
			     v_binary(im, ACCEL_BINARY_MUL, r,
				      v_product(im, ACCEL_GEMM_TRANS_B, 0, l->h, last, l->bias,
						NO_VALUE)));
	else
		h = v_product(im, ACCEL_GEMM_TRANS_B, 0,
			      v_binary(im, ACCEL_BINARY_MUL, r, l->h), last, NO_VALUE, h);
	h = activate(im, l, 1, h);
	/* (1 - z) h' + z h = h' + z (h - h') */
	l->h = v_binary(im, ACCEL_BINARY_ADD, h,
			v_binary(im, ACCEL_BINARY_MUL, z,
				 v_binary(im, ACCEL_BINARY_SUB, l->h, h)));
}

static void (*const steps[])(struct import *im, struct cell *l, uint32_t x) = {
	rnn_step, lstm_step, gru_step
};

/* Activations are words in a list, those of one direction after the other. */
static int read_acts(struct import *im, struct cell *l, uint32_t kind, uint32_t direction)
{
	static const struct {
		const char *name;
		uint32_t act, has;
		float alpha, beta;
	} words[] = {
		{ "Tanh", ACCEL_ACT_TANH, 0, 0, 0 }, { "Sigmoid", ACCEL_ACT_SIGMOID, 0, 0, 0 },
		{ "Relu", ACCEL_ACT_RELU, 0, 0, 0 }, { "Affine", ACT_AFFINE, 2, 1, 0 },
		{ "LeakyRelu", ACCEL_ACT_LEAKY_RELU, 1, 0.01f, 0 },
		{ "HardSigmoid", ACCEL_ACT_HARD_SIGMOID, 2, 0.2f, 0.5f },
		{ "Elu", ACCEL_ACT_ELU, 1, 1, 0 }, { "Softsign", ACCEL_ACT_SOFTSIGN, 0, 0, 0 },
		{ "Softplus", ACCEL_ACT_SOFTPLUS, 0, 0, 0 },
		{ "ScaledTanh", ACT_SCALED_TANH, 2, 1, 1 },
		{ "ThresholdedRelu", ACT_THRESHOLD, 1, 1, 0 }
	};
	static const uint32_t counts[] = { 1, 3, 2 };
	const struct attr *list = im_attr(im, "activations", ATTR_STRINGS);
	const struct attr *alpha = im_attr(im, "activation_alpha", ATTR_FLOATS);
	const struct attr *beta = im_attr(im, "activation_beta", ATTR_FLOATS);
	uint32_t i, k, at, a = 0, b = 0, n = counts[kind];

	for (i = 0; i < n; i++)
		l->act[i] = kind == 0 || i ? ACCEL_ACT_TANH : ACCEL_ACT_SIGMOID;
	/* Parameters are those of the functions that have some, of both directions in order. */
	for (at = 0; list && at < list->string_count && at < (direction + 1) * n; at++) {
		for (k = 0; k < ARRAY_SIZE(words); k++)
			if (slice_is(list->strings[at], words[k].name))
				break;
		if (k == ARRAY_SIZE(words))
			return im_fail(im, -EOPNOTSUPP, "its activation %.*s is not known",
				       slice_shown(list->strings[at]), list->strings[at].p);
		i = at % n;
		l->act[i] = words[k].act;
		l->alpha[i] = words[k].alpha;
		l->beta[i] = words[k].beta;
		if (words[k].has > 0 && alpha && a < alpha->float_count)
			l->alpha[i] = alpha->floats[a++];
		if (words[k].has > 1 && beta && b < beta->float_count)
			l->beta[i] = beta->floats[b++];
	}
	return 0;
}

/* Part @k of the first dimension, without it */
static uint32_t part(struct import *im, uint32_t value, int64_t axis, int64_t k)
{
	value = v_slice(im, value, axis, k, k + 1, 1);
	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, value, 1, &axis);
}

static uint32_t state(struct import *im, uint32_t input, uint32_t direction, uint32_t time,
		      uint32_t zero)
{
	if (v_in(im, input) == NO_VALUE)
		return zero;
	return part(im, v_in(im, input), time, direction);
}

/* Both biases of all gates; that of GRU's last gate in the state is apart if it is not added. */
static uint32_t biases(struct import *im, struct cell *l, uint32_t direction)
{
	int64_t n = l->gates * l->hidden, two = 2 * l->hidden;
	uint32_t b, w, r, list[2];

	if (v_in(im, 3) == NO_VALUE)
		return NO_VALUE;
	b = part(im, v_in(im, 3), 0, direction);
	w = v_slice(im, b, 0, 0, n, 1);
	r = v_slice(im, b, 0, n, 2 * n, 1);
	if (!l->before)
		return v_binary(im, ACCEL_BINARY_ADD, w, r);
	list[0] = v_binary(im, ACCEL_BINARY_ADD, v_slice(im, w, 0, 0, two, 1),
			   v_slice(im, r, 0, 0, two, 1));
	list[1] = v_slice(im, w, 0, two, n, 1);
	l->bias = v_slice(im, r, 0, two, n, 1);
	return v_concat(im, 0, 2, list);
}

/**
 * struct line - what a layer in one direction goes along
 * @xs: products of the input of all steps, [steps, batch, gates * hidden] or batches first
 * @time: dimension of the steps
 * @back: from the last step on
 * @lens: steps of each of the batch, [batch, 1], or NO_VALUE
 * @zero: [batch, hidden] of zeros
 */
struct line {
	uint32_t xs;
	uint32_t time;
	bool back;
	uint32_t lens;
	uint32_t zero;
};

/* One step at @at; behind its end a sequence gives nothing and its state stays. */
static uint32_t one_step(struct import *im, struct cell *l, uint32_t kind, uint32_t x,
			 uint32_t keep, uint32_t zero)
{
	uint32_t h = l->h, c = l->c, y;

	steps[kind](im, l, x);
	y = l->h;
	if (keep == NO_VALUE)
		return y;
	y = v_select(im, keep, l->h, zero);
	l->h = v_select(im, keep, l->h, h);
	if (kind == 1)
		l->c = v_select(im, keep, l->c, c);
	return y;
}

/* [steps, 1, batch, hidden] or [batch, steps, 1, hidden] of so many steps, all in the graph */
static uint32_t unroll(struct import *im, struct cell *l, uint32_t kind, const struct line *line,
		       int64_t count)
{
	uint32_t *y = calloc((size_t)count + 1, sizeof(*y)), keep, out = NO_VALUE;
	int64_t list[2] = { line->time, line->time + 1 }, i, t;

	if (!y) {
		im_fail(im, -ENOMEM, "out of memory");
		return NO_VALUE;
	}
	for (i = 0; i < count && !im->error.code; i++) {
		t = line->back ? count - 1 - i : i;
		keep = line->lens == NO_VALUE ? NO_VALUE :
		       v_with(im, ACCEL_BINARY_GT, line->lens, (double)t);
		y[t] = one_step(im, l, kind, part(im, line->xs, line->time, t), keep, line->zero);
	}
	/* [batch, 1, 1, hidden] or [1, 1, batch, hidden] each, one after the other */
	for (i = 0; i < count && !im->error.code; i++)
		y[i] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, y[i], 2, list);
	if (count)
		out = v_concat(im, line->time, (uint32_t)count, y);
	free(y);
	return out;
}

/* The same in a loop, for a number of steps that only running tells */
static uint32_t repeat(struct import *im, struct cell *l, uint32_t kind, const struct line *line)
{
	static const uint32_t turned[ACCEL_GRAPH_MAX_RANK] = { 1, 0, 2 };
	const struct formal formals[2] = { { .outer = l->h }, { .outer = l->c } };
	uint32_t carried = kind == 1 ? 2 : 1, results[3], out[3], at, len, x, zero, y, i;
	const int64_t axis = line->time, first = 0, behind = line->time + 1;
	struct accel_value state = ACCEL_VALUE_INIT;
	struct import *in;
	struct cell step = *l;
	struct ref xs;

	in = im_ref(im, line->xs, &xs) ? NULL : im_inner(im, formals, carried);
	if (!in)
		return NO_VALUE;
	state.type = xs.type;
	state.rank = 2;
	state.dims[0] = xs.dims[!line->time];
	state.dims[1] = l->hidden;
	if (accel_graph_varies(im->model->graph, line->xs, !line->time) && !in->error.code)
		im_symbol(in, "batch", 0, &state.dims[0]);
	for (i = 0; i < carried && !in->error.code; i++)
		im_graph(in, accel_graph_input(in->model->graph, &state, i ? &step.c : &step.h));
	step.u = v_outer(in, l->u, (int64_t[]) { l->gates * l->hidden, l->hidden });
	step.p = v_outer(in, l->p, (int64_t[]) { 3 * l->hidden });
	step.bias = v_outer(in, l->bias, &l->hidden);
	xs.dims[line->time] = 0;
	xs.dims[!line->time] = state.dims[0];
	x = v_outer(in, line->xs, xs.dims);
	at = v_shaped_to(in, ACCEL_SHAPE_UNSQUEEZE, in->iteration, 1, &first);
	if (line->back) {
		len = v_shape_of(in, x, axis, behind);
		at = v_binary(in, ACCEL_BINARY_SUB, v_with(in, ACCEL_BINARY_SUB, len, 1), at);
	}
	x = v_gather(in, ACCEL_GATHER_AXIS, line->time, x, at);
	x = v_shaped_to(in, ACCEL_SHAPE_SQUEEZE, x, 1, &axis);
	len = v_outer(in, line->lens, (int64_t[]) { state.dims[0], 1 });
	zero = len == NO_VALUE ? NO_VALUE : v_outer(in, line->zero, state.dims);
	results[carried] = one_step(in, &step, kind, x, len == NO_VALUE ? NO_VALUE :
				    v_binary(in, ACCEL_BINARY_GT, len, at), zero);
	results[0] = step.h;
	if (kind == 1)
		results[1] = step.c;
	if (im_repeat(im, in, v_shape_of(im, line->xs, axis, behind), results, carried + 1, out))
		return NO_VALUE;
	l->h = out[0];
	if (kind == 1)
		l->c = out[1];
	y = out[carried];
	if (line->back)
		y = v_slice(im, y, 0, -1, INT64_MIN, -1);
	if (line->time)
		y = v_transpose(im, y, turned);
	return v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, y, 1, &behind);
}

/* Is a dimension of an input something else? Where it is a symbol the attributes decide. */
static bool other_size(struct import *im, uint32_t input, uint32_t axis, int64_t size)
{
	return !im_is_symbol(im, input, axis) && im->in[input].dims[axis] != size;
}

/* Weights whose first two dimensions are said, if they are symbols: others fail when it runs. */
static uint32_t sized(struct import *im, uint32_t input, const int64_t *dims)
{
	const uint32_t w = v_in(im, input);

	if (!im_is_symbol(im, input, 0) && !im_is_symbol(im, input, 1))
		return w;
	return v_reshape(im, w, 2, (uint32_t[]){ v_ints(im, 2, dims), v_shape_of(im, w, 2, 3) });
}

/* Y is [steps, directions, batch, hidden], Y_h [directions, batch, hidden]; by batches first. */
static int recurrent(struct import *im, uint32_t kind)
{
	static const uint32_t gates[] = { 1, 4, 3 };
	bool layout = im_int(im, "layout", 0), reverse = im_string(im, "direction", "reverse");
	uint32_t directions = im_string(im, "direction", "bidirectional") ? 2 : 1, time = layout;
	uint32_t d, w, r, sides[2], last[2], cells[2], shape[2];
	int64_t count, hidden, list[1];
	struct line line = { .time = time };
	struct cell l;
	bool known;
	int ret = im_need(im, 3);

	if (ret)
		return ret;
	if (im->in[0].rank != 3 || im->in[1].rank != 3 || im->in[2].rank != 3)
		return im_fail(im, -EBADMSG, "its input or weights have not three dimensions");
	if (im_attr(im, "direction", ATTR_STRING) && !reverse && directions == 1 &&
	    !im_string(im, "direction", "forward"))
		return im_fail(im, -EOPNOTSUPP, "its direction is not known");
	hidden = im_int(im, "hidden_size", im_is_symbol(im, 2, 2) ? 0 : im->in[2].dims[2]);
	if (!hidden)
		return im_attr(im, "hidden_size", ATTR_INT) ?
		       im_fail(im, -EBADMSG, "a hidden_size of 0") :
		       im_fail(im, -EOPNOTSUPP, "weights whose size is a symbol");
	count = im->in[0].dims[time];
	known = !im_is_symbol(im, 0, time) && count > 0 && count <= MAX_STEPS;
	im->steps += (uint64_t)(known ? count : 1) * directions;
	if (im->steps > MAX_ALL_STEPS)
		return im_fail(im, -EOPNOTSUPP, "more than %d steps in all", MAX_ALL_STEPS);
	if (hidden < 0 || hidden > INT32_MAX ||
	    other_size(im, 1, 0, directions) || other_size(im, 2, 0, directions) ||
	    other_size(im, 1, 1, gates[kind] * hidden) ||
	    other_size(im, 2, 1, gates[kind] * hidden) || other_size(im, 2, 2, hidden) ||
	    (v_in(im, 3) != NO_VALUE &&
	     (im->in[3].rank != 2 || other_size(im, 3, 1, 2 * gates[kind] * hidden))))
		return im_fail(im, -EBADMSG, "weights of another size");
	w = sized(im, 1, (int64_t[]){ directions, gates[kind] * hidden });
	r = sized(im, 2, (int64_t[]){ directions, gates[kind] * hidden });
	/* [batch, hidden] of zeros */
	shape[0] = v_shape_of(im, v_in(im, 0), !layout, !layout + 1);
	shape[1] = v_ints(im, 1, &hidden);
	line.zero = v_fill(im, im->in[0].type, v_concat(im, 0, 2, shape), 0);
	line.lens = v_in(im, 4) == NO_VALUE ? NO_VALUE : v_cast(im, v_in(im, 4), ACCEL_HOST_S64);
	list[0] = 1;
	if (line.lens != NO_VALUE)
		line.lens = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, line.lens, 1, list);
	for (d = 0; d < directions && !im->error.code; d++) {
		memset(&l, 0, sizeof(l));
		l.gates = gates[kind];
		l.hidden = hidden;
		l.clip = im_float(im, "clip", 0);
		l.coupled = im_int(im, "input_forget", 0);
		l.before = kind == 2 && im_int(im, "linear_before_reset", 0);
		l.bias = NO_VALUE;
		if (read_acts(im, &l, kind, d))
			break;
		l.u = part(im, r, 0, d);
		l.p = v_in(im, 7) == NO_VALUE ? NO_VALUE : part(im, v_in(im, 7), 0, d);
		l.h = state(im, 5, d, layout, line.zero);
		l.c = kind == 1 ? state(im, 6, d, layout, line.zero) : NO_VALUE;
		line.xs = v_product(im, ACCEL_GEMM_TRANS_B, 0, v_in(im, 0),
				    part(im, w, 0, d), biases(im, &l, d), NO_VALUE);
		line.back = reverse || d;
		sides[d] = known ? unroll(im, &l, kind, &line, count) :
				   repeat(im, &l, kind, &line);
		list[0] = layout;
		last[d] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, l.h, 1, list);
		cells[d] = l.c == NO_VALUE ? NO_VALUE :
			   v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, l.c, 1, list);
	}
	ret = im->error.code;
	if (!ret && im->out_count > 0)
		ret = v_give(im, 0, v_concat(im, layout ? 2 : 1, directions, sides));
	if (!ret && im->out_count > 1)
		ret = v_give(im, 1, v_concat(im, layout, directions, last));
	if (!ret && im->out_count > 2 && kind == 1)
		ret = v_give(im, 2, v_concat(im, layout, directions, cells));
	return ret;
}

const struct op onnx_rnn[] = {
	{ "RNN", recurrent, 0 }, { "LSTM", recurrent, 1 }, { "GRU", recurrent, 2 },
	{ 0 }
};
