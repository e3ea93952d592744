// SPDX-License-Identifier: MIT
/*
 * Nodes of operators that users add.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* Names of operators and domains that can have been added end here. */
#define MAX_NAME	128

/* The versions of domains, the first of each; of what is beyond the room the newest is meant. */
void note_domain(struct import *im, struct slice name, int64_t version)
{
	if (im->domain_count < MAX_DOMAINS)
		im->domains[im->domain_count++] = (struct domain) { name, version };
}

/* The version of a domain, for nodes that are in work; UINT32_MAX: nobody says one. Or an error */
static int64_t domain_version(struct import *im, struct slice domain)
{
	int64_t version = im->opset;
	uint32_t i;
	int ret;

	if (!is_default(domain)) {
		ret = call_version(im, domain, &version);
		if (ret)
			return ret;
	}
	for (i = 0; i < im->domain_count && !version; i++)
		if (im->domains[i].name.n == domain.n &&
		    !memcmp(im->domains[i].name.p, domain.p, domain.n))
			version = im->domains[i].version;
	return version < 0 || version > UINT32_MAX || !version ? UINT32_MAX : version;
}

static bool take_name(char text[MAX_NAME], struct slice s)
{
	if (s.n >= MAX_NAME || (s.n && memchr(s.p, 0, s.n)))
		return false;
	snprintf(text, MAX_NAME, "%.*s", (int)s.n, s.n ? (const char *)s.p : "");
	return true;
}

/**
 * find_added - is an operator one that a user added, and meant here?
 * @im: import
 * @name: operator
 * @domain: its domain
 * @version: out: version of that
 *
 * Return: 1 if it is, 0 if not, or the error that @im has.
 */
int find_added(struct import *im, struct slice name, struct slice domain, uint32_t *version)
{
	char n[MAX_NAME], d[MAX_NAME];
	uint32_t flags = 0;
	int64_t v;

	if (!im->operators || !take_name(n, name) || !take_name(d, domain) ||
	    !accel_operators_find(im->operators, d, n, UINT32_MAX, &flags))
		return 0;
	v = domain_version(im, domain);
	if (v < 0)
		return (int)v;
	*version = (uint32_t)v;
	return accel_operators_find(im->operators, d, n, *version, &flags) &&
	       (flags & ACCEL_OPERATOR_REPLACE || !find_op(name, domain));
}

/* --- attributes ------------------------------------------------------------------------ */

/**
 * struct taken - an attribute as graphs have it
 * @name: name
 * @value: of a tensor
 * @tensor: likewise
 */
struct taken {
	char name[MAX_NAME];
	struct accel_value value;
	struct tensor tensor;
};

static int take_tensor(struct import *im, const struct attr *a, struct taken *t,
		       struct accel_attr *to)
{
	int ret = tensor_read(im, a->s, &t->tensor);

	if (ret)
		return ret;
	t->value = (struct accel_value)ACCEL_VALUE_INIT;
	t->value.type = t->tensor.type;
	t->value.rank = t->tensor.rank;
	memcpy(t->value.dims, t->tensor.dims, sizeof(t->value.dims));
	to->type = ACCEL_ATTR_TENSOR;
	to->data = t->tensor.data;
	to->tensor = &t->value;
	return 0;
}

static int take_attr(struct import *im, const struct attr *a, struct taken *t,
		     struct accel_attr *to)
{
	static const uint32_t types[] = {
		[ATTR_FLOAT] = ACCEL_ATTR_FLOAT, [ATTR_INT] = ACCEL_ATTR_INT,
		[ATTR_STRING] = ACCEL_ATTR_STRING, [ATTR_TENSOR] = ACCEL_ATTR_TENSOR,
		[ATTR_FLOATS] = ACCEL_ATTR_FLOATS, [ATTR_INTS] = ACCEL_ATTR_INTS
	};

	if (!take_name(t->name, a->name))
		return im_fail(im, -EOPNOTSUPP, "an attribute of a name that is too long");
	if (a->more)
		return im_fail(im, -EOPNOTSUPP, "attribute %s has more than %d numbers", t->name,
			       MAX_INTS);
	to->name = t->name;
	to->type = a->type < ARRAY_SIZE(types) ? types[a->type] : 0;
	switch (to->type) {
	case ACCEL_ATTR_INT:
		to->data = &a->i;
		return 0;
	case ACCEL_ATTR_FLOAT:
		to->data = &a->f;
		return 0;
	case ACCEL_ATTR_STRING:
		to->data = a->s.p;
		to->count = a->s.n;
		return 0;
	case ACCEL_ATTR_INTS:
		to->data = a->ints;
		to->count = a->int_count;
		return 0;
	case ACCEL_ATTR_FLOATS:
		to->data = a->floats;
		to->count = a->float_count;
		return 0;
	case ACCEL_ATTR_TENSOR:
		return take_tensor(im, a, t, to);
	default:
		return im_fail(im, -EOPNOTSUPP,
			       "attribute %s is of type %u, which added operators do not get",
			       t->name, a->type);
	}
}

/* A node that was read, of an operator that was found */
int add_added(struct import *im, struct slice name, struct slice domain, uint32_t version)
{
	struct accel_operator_desc d = ACCEL_OPERATOR_DESC_INIT;
	uint32_t in[MAX_IO], out[MAX_IO], i;
	struct accel_attr *attrs = calloc(im->attr_count + 1, sizeof(*attrs));
	struct taken *taken = calloc(im->attr_count + 1, sizeof(*taken));
	char n[MAX_NAME], where[MAX_NAME];
	int ret = 0;

	if (!attrs || !taken)
		ret = im_fail(im, -ENOMEM, "out of memory");
	for (i = 0; attrs && taken && i < im->attr_count && !ret; i++)
		ret = take_attr(im, &im->attrs[i], &taken[i], &attrs[i]);
	for (i = 0; i < im->in_count; i++)
		in[i] = im->in[i].here ? im->in[i].value : ACCEL_VALUE_NONE;
	if (!ret) {
		take_name(n, name);
		take_name(where, domain);
		d.name = n;
		d.domain = where;
		d.version = version;
		d.attrs = attrs;
		d.attr_count = im->attr_count;
		/* It has a name with its domain. */
		ret = im_graph(im, accel_graph_set_source(im->model->graph, NULL));
	}
	if (!ret)
		ret = im_graph(im, accel_graph_operator(im->model->graph, im->name, im->operators,
							&d, in, im->in_count, out, im->out_count));
	for (i = 0; i < im->out_count && !ret; i++)
		ret = im_give(im, i, out[i]);
	for (i = 0; taken && i < im->attr_count; i++)
		free(taken[i].tensor.own);
	free(attrs);
	free(taken);
	return ret;
}

int accel_model_register_op(struct accel_operators *operators, const struct accel_operator *op,
			    struct accel_error *error)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (!operators || !op || op->size < sizeof(*op) || op->flags & ACCEL_OPERATOR_REPLACE ||
	    !accel_model_has_op(op->domain, op->name))
		return accel_operators_add(operators, op, error);
	if (error && error->size >= sizeof(*error)) {
		e.size = error->size;
		e.code = -EEXIST;
		e.op_index = UINT32_MAX;
		snprintf(e.field, sizeof(e.field), "name");
		snprintf(e.text, sizeof(e.text),
			 "%.100s is built in, and @flags do not have ACCEL_OPERATOR_REPLACE",
			 op->name);
		*error = e;
	}
	return -EEXIST;
}
