// SPDX-License-Identifier: MIT
/*
 * A file becomes a graph, nodes one after the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* --- nodes ------------------------------------------------------------------------------ */

bool is_default(struct slice domain)
{
	return !domain.n || slice_is(domain, "ai.onnx");
}

/* The function of an operator, NULL: it is not known. */
const struct op *find_op(struct slice name, struct slice domain)
{
	static const struct {
		const char *domain;
		const struct op *ops;
	} tables[] = {
		{ NULL, onnx_math }, { NULL, onnx_shape }, { NULL, onnx_flow },
		{ NULL, onnx_nn }, { NULL, onnx_conv },
		{ NULL, onnx_index }, { NULL, onnx_image }, { NULL, onnx_resize },
		{ NULL, onnx_loss }, { NULL, onnx_rnn },
		{ NULL, onnx_random }, { NULL, onnx_sample }, { NULL, onnx_sequence },
		{ NULL, onnx_signal }, { NULL, onnx_window }, { NULL, onnx_region },
		{ NULL, onnx_einsum }, { NULL, onnx_quant },
		{ NULL, onnx_attention }, { "com.microsoft", onnx_ms_quant },
		{ "com.microsoft", onnx_ms }, { "com.microsoft", onnx_ms_attention },
		{ "ai.onnx.preview.training", onnx_train },
	};
	const struct op *op;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		if (tables[i].domain ? !slice_is(domain, tables[i].domain) : !is_default(domain))
			continue;
		for (op = tables[i].ops; op->name; op++)
			if (slice_is(name, op->name))
				return op;
	}
	return NULL;
}

/* What a name stands for, here or in a graph around; NULL: nothing, or an error is told. */
const struct name *im_look_up(struct import *im, struct slice s)
{
	const struct import *scope = im;
	const struct name *n;
	uint32_t value;

	do {
		n = im_name(scope, s);
		if (n && n->text)
			return n;
		scope = scope->scope;
	} while (scope);
	n = im->parent && !im->closed ? im_look_up(im->parent, s) : NULL;
	if (n && n->sequence)
		im_fail(im, -EOPNOTSUPP, "%s is a sequence of another graph", n->text);
	if (!n || n->sequence || im_capture(im, n, &value) || bind_name(im, s, value, n->data))
		return NULL;
	return im_name(im, s);
}

static int read_input(struct import *im, struct slice s)
{
	struct ref *ref = &im->in[im->in_count];
	const struct name *n;
	int ret;

	if (im->in_count == MAX_IO)
		return im_fail(im, -EOPNOTSUPP, "more than %d inputs", MAX_IO);
	im->in_count++;
	memset(ref, 0, sizeof(*ref));
	if (!s.n)
		return 0;
	n = im_look_up(im, s);
	if (!n && im->error.code)
		return im->error.code;
	if (!n && call_lacks(im, s))
		return 0;
	if (im->error.code)
		return im->error.code;
	if (!n)
		return im_fail(im, -EBADMSG, "its input %.*s is not there, or comes later",
			       slice_shown(s),
			       s.p);
	if (n->sequence) {
		ref->here = true;
		ref->value = NO_VALUE;
		ref->sequence = n->sequence;
		return 0;
	}
	ret = im_ref(im, n->value, ref);
	ref->data = n->data;
	return ret;
}

/* An attribute of the node; one that refers to what is not there is none. */
static int take_attr(struct import *im, struct slice s)
{
	struct attr *a = &im->attrs[im->attr_count];
	int ret;

	if (im->attr_count == MAX_ATTRS)
		return im_fail(im, -EOPNOTSUPP, "more than %d attributes", MAX_ATTRS);
	ret = im_read_attr(im, s, a);
	if (ret)
		return ret;
	ret = a->ref.n ? call_attr(im, a) : 1;
	/* What has long lists reads them itself. */
	if (ret == 1 && a->more && strcmp(im->op, "Constant"))
		return im_fail(im, -EOPNOTSUPP, "attribute %.*s has more than %d numbers",
			       slice_shown(a->name), a->name.p, MAX_INTS);
	im->attr_count += ret == 1;
	return ret < 0 ? ret : 0;
}

static int read_node(struct import *im, struct slice node, struct slice *type,
		     struct slice *domain, struct slice *overload)
{
	struct slice s = node, name = { 0 };
	struct field f;
	int ret;

	*type = *domain = *overload = name;
	im->op[0] = im->name[0] = 0;
	im->attr_count = im->in_count = im->out_count = 0;
	im->mistyped = NULL;
	while ((ret = wire_next(&s, &f)) > 0) {
		if (f.id == 3)
			name = f.bytes;
		else if (f.id == 4)
			*type = f.bytes;
		else if (f.id == 7)
			*domain = f.bytes;
		else if (f.id == 8)
			*overload = f.bytes;
	}
	if (ret)
		return im_fail(im, -EBADMSG, "a node cannot be read");
	snprintf(im->op, sizeof(im->op), "%.*s", (int)(type->n < 60 ? type->n : 60), type->p);
	snprintf(im->name, sizeof(im->name), "%.*s", (int)(name.n < 250 ? name.n : 250), name.p);
	for (s = node, ret = 0; !ret && wire_next(&s, &f) > 0;) {
		if (f.id == 1) {
			ret = read_input(im, f.bytes);
		} else if (f.id == 2) {
			if (im->out_count == MAX_IO)
				return im_fail(im, -EOPNOTSUPP, "more than %d outputs", MAX_IO);
			im->out[im->out_count++] = f.bytes;
			/* A node without a name goes by that of its result. */
			if (!im->name[0])
				snprintf(im->name, sizeof(im->name), "%.*s",
					 (int)(f.bytes.n < 250 ? f.bytes.n : 250), f.bytes.p);
		} else if (f.id == 5) {
			ret = take_attr(im, f.bytes);
		}
	}
	return ret;
}

/* The results of the model's own nodes can be asked for. */
static int keep_result(struct import *im, struct slice s)
{
	struct accel_model *m = im->model;
	struct result *r, *more;
	uint32_t room;

	if (m->result_count == m->result_room) {
		room = m->result_room ? 2 * m->result_room : 64;
		more = realloc(m->results, room * sizeof(*more));
		if (!more)
			return im_fail(im, -ENOMEM, "out of memory");
		m->results = more;
		m->result_room = room;
	}
	r = &m->results[m->result_count++];
	r->value = im_name(im, s)->value;
	r->name = strdup(im_name(im, s)->text);
	r->node = strdup(im->name);
	r->op = strdup(im->op);
	return r->name && r->node && r->op ? 0 : im_fail(im, -ENOMEM, "out of memory");
}

int im_add_node(struct import *im, struct slice node)
{
	struct slice type, domain, overload;
	const struct function *function;
	uint32_t i, version = 0;
	const struct op *op;
	int ret = read_node(im, node, &type, &domain, &overload), added;

	added = ret ? ret : find_added(im, type, domain, &version);
	if (added < 0)
		return added;
	/*
	 * What a user added is an implementation of its own, then come the file's; one with a
	 * zero in its name is what is before that.
	 */
	function = added ? NULL : find_function(im, type, domain, overload);
	op = added || function ? NULL : find_op(type, domain);
	if (!op && !function && !added)
		return im_fail(im, -EOPNOTSUPP, "not an operator that is known");
	for (i = 0; i < im->in_count; i++)
		if (im->in[i].sequence && !(op ? takes_sequences(op) : !!function))
			return im_fail(im, -EOPNOTSUPP, "input %u is a sequence, or nothing", i);
	ret = op ? known_attrs(im, type, domain) : 0;
	if (ret)
		return ret;
	ret = added ? add_added(im, type, domain, version) :
	      op ? fold_op(im, op) : call_function(im, function);
	ret = im_well_typed(im, ret);
	if (ret)
		return ret;
	for (i = 0; i < im->out_count; i++)
		if (im->out[i].n && !has_name(im, im->out[i]))
			return im_fail(im, -EOPNOTSUPP, "output %u is not supported", i);
	for (i = 0; i < im->out_count && !im->parent && !im->closed && !im->scope && !ret; i++)
		if (im->out[i].n && !im_name(im, im->out[i])->sequence)
			ret = keep_result(im, im->out[i]);
	im->op[0] = 0;
	return ret;
}

/* --- the graph of the file ---------------------------------------------------------------- */

/* A dimension that has no number; one without a name has that of its input and place. */
static int add_symbol(struct import *im, struct slice text, struct slice input, uint32_t place,
		      int64_t *dim)
{
	char name[256];

	if (text.n)
		snprintf(name, sizeof(name), "%.*s", (int)(text.n < 250 ? text.n : 250), text.p);
	else
		snprintf(name, sizeof(name), "%.*s.%u", (int)(input.n < 200 ? input.n : 200),
			 input.p,
			 place);
	return im_graph(im, accel_graph_symbol(im->model->graph, name, 0, 1 << 30, dim));
}

/* A dimension of a graph of a node that has no number */
int im_symbol(struct import *im, const char *name, uint32_t place, int64_t *dim)
{
	char text[256];

	snprintf(text, sizeof(text), "%.240s.%u", name, place);
	return im_graph(im, accel_graph_symbol(im->model->graph, text, 0, 1 << 30, dim));
}

/* Numbers that a shape has; other dimensions are -1. */
static void read_numbers(struct slice shape, struct accel_value *v)
{
	struct slice dim;
	struct field f, g;

	while (wire_next(&shape, &f) > 0 && v->rank < ACCEL_GRAPH_MAX_RANK) {
		if (f.id != 1)
			continue;
		v->dims[v->rank] = -1;
		for (dim = f.bytes; wire_next(&dim, &g) > 0;)
			if (g.id == 1 && !g.has_bytes && (int64_t)g.number >= 0)
				v->dims[v->rank] = (int64_t)g.number;
		v->rank++;
	}
}

static int read_shape(struct import *im, struct slice shape, struct slice input,
		      struct accel_value *v)
{
	struct slice text, dim;
	struct field f, g;
	bool known;

	while (wire_next(&shape, &f) > 0) {
		if (f.id != 1)
			continue;
		if (v->rank == ACCEL_GRAPH_MAX_RANK)
			return im_fail(im, -EOPNOTSUPP, "input %.*s has more than %d dimensions",
				       slice_shown(input), input.p, ACCEL_GRAPH_MAX_RANK);
		text = (struct slice) { 0 };
		known = false;
		for (dim = f.bytes; wire_next(&dim, &g) > 0;) {
			if (g.id == 1 && !g.has_bytes) {
				v->dims[v->rank] = (int64_t)g.number;
				known = (int64_t)g.number >= 0;
			} else if (g.id == 2) {
				text = g.bytes;
			}
		}
		if (!known && add_symbol(im, text, input, v->rank, &v->dims[v->rank]))
			return im->error.code;
		v->rank++;
	}
	return 0;
}

/* The tensor that a type is, or has values of */
static int read_type(struct slice type, struct slice *tensor, bool *sequence, bool *optional)
{
	struct slice list = { 0 }, inner;
	struct field f;

	while (wire_next(&type, &f) > 0) {
		if (f.id == 1)
			*tensor = f.bytes;
		else if ((f.id == 4 && !*sequence) || (f.id == 9 && !*sequence && !*optional))
			list = f.bytes;
		else
			continue;
		*sequence |= f.id == 4;
		*optional |= f.id == 9;
	}
	for (inner = list; wire_next(&inner, &f) > 0;)
		if (f.id == 1 && f.has_bytes)
			return read_type(f.bytes, tensor, sequence, optional);
	return tensor->n ? 0 : -EOPNOTSUPP;
}

/* What the caller says of an input, or NULL */
static const struct accel_model_input *said_of(const struct import *im, const char *name)
{
	uint32_t i;

	for (i = 0; i < im->input_count && !im->parent; i++)
		if (!strcmp(im->inputs[i].name, name))
			return &im->inputs[i];
	return NULL;
}

/* Inputs of the graph: @v, or @said of them, each of the type that the file says */
static int add_values(struct import *im, const char *name, struct slice shape,
		      const struct accel_model_input *said, bool sequence, struct accel_value *v,
		      uint32_t *values)
{
	const uint32_t count = said ? said->count : 1;
	struct slice text;
	char own[300];
	uint32_t i, k;
	int ret = 0;

	for (i = 0; i < count && !ret; i++) {
		snprintf(own, sizeof(own), sequence ? "%.250s[%u]" : "%.250s", name, i);
		v->name = sequence ? own : name;
		v->rank = 0;
		if (said && said->values) {
			v->rank = said->values[i].rank;
			if (v->rank > ACCEL_GRAPH_MAX_RANK)
				return im_fail(im, -EINVAL,
					       "opts.inputs: %s has more than %d dimensions", own,
					       ACCEL_GRAPH_MAX_RANK);
			memcpy(v->dims, said->values[i].dims, v->rank * sizeof(v->dims[0]));
			for (k = 0; k < v->rank; k++)
				if (v->dims[k] < 0)
					return im_fail(im, -EINVAL,
						       "opts.inputs: %s: dimension %u is no number",
						       own, k);
		} else {
			text = (struct slice){ (const uint8_t *)own, strlen(own) };
			ret = read_shape(im, shape, text, v);
		}
		if (!ret)
			ret = im_graph(im, accel_graph_input(im->model->graph, v, &values[i]));
	}
	return ret;
}

/* An input of the file itself */
static int add_outer_input(struct import *im, struct slice name, const char *text,
			   struct slice type)
{
	struct slice tensor = { 0 }, shape = { 0 };
	const struct accel_model_input *said = said_of(im, text);
	struct accel_value v = ACCEL_VALUE_INIT;
	bool sequence = false, optional = false;
	int64_t onnx = 0;
	uint32_t *values;
	struct field f;
	int ret;

	if (read_type(type, &tensor, &sequence, &optional))
		return im_fail(im, -EOPNOTSUPP, "input %s is no tensor, and no sequence of them",
			       text);
	while (wire_next(&tensor, &f) > 0)
		if (f.id == 1)
			onnx = (int64_t)f.number;
		else if (f.id == 2)
			shape = f.bytes;
	v.type = type_of(onnx);
	if (!v.type)
		return no_type(im, onnx, "input %s", text);
	if ((sequence || optional) && !said)
		return im_fail(im, -EOPNOTSUPP,
			       "input %s is %s: the values that it has must be said", text,
			       sequence ? "a sequence" : "optional");
	if (said && !sequence && said->count != !(said->flags & ACCEL_MODEL_ABSENT))
		return im_fail(im, -EINVAL, "opts.inputs: %s has %u values", text, said->count);
	if (said && said->flags && !optional)
		return im_fail(im, -EINVAL, "opts.inputs: %s cannot be absent", text);
	values = calloc(said ? (size_t)said->count + 1 : 1, sizeof(*values));
	if (!values)
		return im_fail(im, -ENOMEM, "out of memory");
	if (said && said->count > 512)
		ret = im_fail(im, -EINVAL, "opts.inputs: %s has more than 512 values", text);
	else
		ret = add_values(im, text, shape, said, sequence, &v, values);
	if (!ret)
		ret = bind_name(im, name, values[0], NULL);
	if (!ret && (sequence || (said && said->flags)))
		ret = sequence_bind(im, name, said, v.type, values);
	if (!ret)
		im_name(im, name)->input = true;
	free(values);
	return ret;
}

/* An input of the graph of a node */
static int add_inner_input(struct import *im, struct slice name, const char *text,
			   struct slice type)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct slice tensor = { 0 };
	struct field f;
	uint32_t value;
	int ret;

	while (wire_next(&type, &f) > 0)
		if (f.id == 1)
			tensor = f.bytes;
	while (wire_next(&tensor, &f) > 0) {
		if (f.id == 1)
			v.type = type_of((int64_t)f.number);
		else if (f.id == 2)
			read_numbers(f.bytes, &v);
	}
	v.name = text;
	ret = im_formal(im, text, &v, &value);
	return ret ? ret : bind_name(im, name, value, NULL);
}

static int add_input(struct import *im, struct slice s)
{
	struct slice name = { 0 }, type = { 0 };
	struct field f;
	char *text;
	int ret;

	while (wire_next(&s, &f) > 0) {
		if (f.id == 1)
			name = f.bytes;
		else if (f.id == 2)
			type = f.bytes;
	}
	if (!name.n)
		return im_fail(im, -EBADMSG, "an input without a name");
	/* A constant that could be overridden is a constant. */
	if (has_name(im, name))
		return 0;
	text = strndup((const char *)name.p, name.n);
	if (!text)
		return im_fail(im, -ENOMEM, "out of memory");
	ret = im->parent ? add_inner_input(im, name, text, type) :
	      add_outer_input(im, name, text, type);
	free(text);
	im->model->info.input_count++;
	return ret;
}

static int add_output(struct import *im, struct slice s)
{
	struct slice name = { 0 };
	const struct name *n;
	struct field f;

	while (wire_next(&s, &f) > 0)
		if (f.id == 1)
			name = f.bytes;
	n = im_look_up(im, name);
	if (!n && im->error.code)
		return im->error.code;
	if (!n)
		return im_fail(im, -EBADMSG, "there is no output %.*s", slice_shown(name), name.p);
	if (n->sequence)
		return sequence_output(im, n);
	im->model->info.output_count++;
	return im_graph(im, accel_graph_output(im->model->graph, n->text, n->value));
}

static int bind_tensor(struct import *im, struct tensor *t)
{
	const void *data = t->data;
	uint32_t value;
	int ret = tensor_add(im, t, &value);

	return ret ? ret : bind_name(im, t->name, value, data);
}

int im_add_initializer(struct import *im, struct slice s)
{
	struct tensor t;
	int ret = tensor_read(im, s, &t);

	return ret ? ret : bind_tensor(im, &t);
}

int im_add_sparse(struct import *im, struct slice s)
{
	struct tensor t;
	int ret = sparse_read(im, s, &t);

	return ret ? ret : bind_tensor(im, &t);
}

/* There are not as many: each is looked for among those before it. */
#define MAX_OPERATORS	4096

static int count_op(struct import *im, struct slice type, struct slice domain,
		    struct slice overload)
{
	struct accel_model *m = im->model;
	bool own = is_default(domain);
	struct op_count *ops;
	uint32_t i, version;
	char name[128];

	snprintf(name, sizeof(name), "%.*s%s%.*s", own ? 0 : (int)(domain.n < 60 ? domain.n : 60),
		 domain.p, own ? "" : ".", (int)(type.n < 60 ? type.n : 60), type.p);
	m->info.node_count++;
	for (i = 0; i < m->op_count; i++)
		if (!strcmp(m->ops[i].name, name)) {
			m->ops[i].count++;
			return 0;
		}
	if (m->op_count == MAX_OPERATORS)
		return im_fail(im, -EOPNOTSUPP, "more than %d different operators", MAX_OPERATORS);
	ops = realloc(m->ops, (m->op_count + 1) * sizeof(*ops));
	if (!ops)
		return im_fail(im, -ENOMEM, "out of memory");
	m->ops = ops;
	ops[i] = (struct op_count) { strdup(name), 1, find_op(type, domain) ||
				       find_function(im, type, domain, overload) ||
				       find_added(im, type, domain, &version) > 0 };
	if (!ops[i].name)
		return im_fail(im, -ENOMEM, "out of memory");
	m->op_count++;
	return 0;
}

static int count_ops(struct import *im, struct slice graph, uint32_t depth);

/* Operators of graphs that a node has */
static int count_inner(struct import *im, struct slice attr, uint32_t depth)
{
	struct field f;
	int ret = 0;

	while (!ret && wire_next(&attr, &f) > 0)
		if (f.id == 6 && f.has_bytes)
			ret = count_ops(im, f.bytes, depth + 1);
	return ret;
}

static int count_ops(struct import *im, struct slice graph, uint32_t depth)
{
	struct slice s, type, domain, overload;
	struct field f, g;
	int ret = 0;

	if (depth > 16)
		return im_fail(im, -EOPNOTSUPP, "more than 16 graphs within graphs");
	while (!ret && wire_next(&graph, &f) > 0) {
		if (f.id != 1)
			continue;
		type = domain = overload = (struct slice) { 0 };
		for (s = f.bytes; !ret && wire_next(&s, &g) > 0;) {
			if (g.id == 4)
				type = g.bytes;
			else if (g.id == 7)
				domain = g.bytes;
			else if (g.id == 8)
				overload = g.bytes;
			else if (g.id == 5)
				ret = count_inner(im, g.bytes, depth);
		}
		if (!ret)
			ret = count_op(im, type, domain, overload);
	}
	return ret;
}

/* All operators that are not known are told at once. */
static int check_ops(struct import *im, struct slice graph)
{
	int ret = count_ops(im, graph, 0);
	char list[180] = "";
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < im->model->op_count && !ret; i++) {
		if (!im->model->ops[i].known && n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
					      im->model->ops[i].name);
	}
	if (n)
		return im_fail(im, -EOPNOTSUPP, "operators that are not known: %s", list);
	return ret;
}

int read_graph(struct import *im, struct slice graph)
{
	static int (*const add[])(struct import *im, struct slice s) = {
		im_add_initializer, im_add_sparse, add_input, im_add_node, add_output
	};
	static const uint32_t ids[] = { 5, 15, 11, 1, 12 };
	struct slice s = graph;
	struct field f;
	uint32_t i;
	int ret;

	while ((ret = wire_next(&s, &f)) > 0)
		;
	if (ret)
		return im_fail(im, -EBADMSG, "the graph cannot be read");
	if (!im->parent)
		ret = check_ops(im, graph);
	for (i = 0; i < ARRAY_SIZE(ids) && !ret; i++)
		for (s = graph; !ret && wire_next(&s, &f) > 0;)
			if (f.id == ids[i])
				ret = add[i](im, f.bytes);
	return ret;
}

int im_read_opset(struct import *im, struct slice s)
{
	struct slice domain = { 0 };
	int64_t version = 0;
	struct field f;

	while (wire_next(&s, &f) > 0) {
		if (f.id == 1)
			domain = f.bytes;
		else if (f.id == 2)
			version = (int64_t)f.number;
	}
	if (!is_default(domain)) {
		im->others |= !im->call;
		if (!im->call)
			note_domain(im, domain, version);
		return 0;
	}
	if (version < 1 || version > 25)
		return im_fail(im, -EOPNOTSUPP,
			       "version %" PRId64 " of the operators is not from 1 to 25",
			       version);
	im->opset = version;
	if (!im->call)
		im->model->info.opset = (uint32_t)version;
	return 0;
}

int read_model(struct import *im, struct slice s)
{
	struct slice graph, model = s;
	struct field f;
	int ret, err = find_graph(im, model, &graph);

	if (err)
		return err;
	while ((ret = wire_next(&s, &f)) > 0 && !err) {
		if (f.id == 2 && f.has_bytes)
			snprintf(im->model->info.producer, sizeof(im->model->info.producer), "%.*s",
				 (int)(f.bytes.n < 60 ? f.bytes.n : 60), f.bytes.p);
		else if (f.id == 8)
			err = im_read_opset(im, f.bytes);
	}
	if (err)
		return err;
	if (ret)
		return no_model(im, model);
	/* Without a node of the default domain its version does not matter. */
	if (!im->opset && im->others)
		im->opset = 24;
	if (!im->opset)
		return im_fail(im, -EBADMSG, "no version of the operators is given");
	err = read_functions(im, model);
	return err ? err : read_graph(im, graph);
}
