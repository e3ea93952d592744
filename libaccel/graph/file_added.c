// SPDX-License-Identifier: MIT
/*
 * Nodes of operators that users add, in files: which operators there are, and attributes. Who
 * loads a file brings the functions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

/* --- writing ----------------------------------------------------------------------- */

static uint32_t operator_index(struct image *image, const struct operator_node *node)
{
	uint32_t i;

	for (i = 0; i < image->added_count; i++)
		if (image->added[i]->op == node->op && image->added[i]->version == node->version)
			return i;
	if (!list_grow(&image->added, i, &image->added_cap, sizeof(struct operator_node *)))
		image->full = true;
	else
		image->added[image->added_count++] = node;
	return i;
}

void put_operators(struct image *image)
{
	uint32_t i;

	image_number(image, image->added_count);
	for (i = 0; i < image->added_count; i++) {
		const struct operator_node *node = image->added[i];

		image_text(image, node->op->d.domain);
		image_text(image, node->op->d.name);
		image_number(image, node->op->d.since);
		image_number(image, node->version);
	}
}

/* What a node says beside its values */
void put_added(struct image *image, const struct operator_node *node)
{
	uint32_t i;

	image_number(image, operator_index(image, node));
	image_number(image, node->in_count);
	image_number(image, node->out_count);
	image_number(image, node->attr_count);
	for (i = 0; i < node->attr_count; i++) {
		const struct operator_attr *a = &node->attrs[i];

		image_text(image, a->name);
		image_number(image, a->type);
		image_number(image, a->value.type);
		image_dims(image, a->value.rank, a->value.dims);
		image_long(image, (int64_t)a->value.count);
		image_long(image, (int64_t)a->bytes);
		image_put(image, a->value.data, a->bytes);
	}
}

/* --- reading ----------------------------------------------------------------------- */

static int missing(struct reader *r, const char *list)
{
	return ctx_fail(r->program->ctx, -EOPNOTSUPP, "operators",
			"the file has operators that were not added: %s", list);
}

/* The operators that nodes of the file are of; all that are not there are told at once. */
int read_operators(struct reader *r)
{
	struct accel_ctx *ctx = r->program->ctx;
	uint32_t i, since, count = read_count(r, 16);
	const char *domain, *name;
	struct operator *op;
	char list[180] = "";
	bool lacks = false;
	size_t n = 0;

	r->added = calloc((size_t)count + 1, sizeof(struct operator *));
	r->versions = calloc((size_t)count + 1, sizeof(*r->versions));
	if (!r->added || !r->versions)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	for (i = 0; i < count; i++) {
		domain = read_text(r);
		name = read_text(r);
		since = read_number(r);
		r->versions[i] = read_number(r);
		if (!domain || !name || !name[0] || r->bad)
			return ctx_fail(ctx, -EBADMSG, "path",
					"the file is damaged: an operator without a name");
		op = operator_find(r->operators, domain, name, r->versions[i]);
		op = op ? op : operator_built_in(domain, name);
		if (op && op->d.since != since)
			return ctx_fail(ctx, -ESTALE, "operators",
					"the file was compiled with %s since version %u, this one is since %u",
					op->label, since, op->d.since);
		r->added[i] = op;
		lacks |= !op;
		if (!op && n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%.60s%s%.60s",
					      n ? ", " : "", domain, domain[0] ? "." : "", name);
	}
	r->added_count = count;
	return lacks ? missing(r, list) : 0;
}

/* Of what is read nothing is copied before it is looked at: it lies in the meta. */
static bool read_attr(struct reader *r, struct accel_attr *a, struct accel_value *tensor)
{
	uint64_t bytes, should;

	*tensor = (struct accel_value)ACCEL_VALUE_INIT;
	a->name = read_text(r);
	a->type = read_number(r);
	tensor->type = read_number(r);
	tensor->rank = read_dims(r, tensor->dims);
	a->count = (uint64_t)read_long(r);
	bytes = (uint64_t)read_long(r);
	if (r->bad || !a->name || bytes > r->left)
		return false;
	a->data = r->p;
	a->tensor = tensor;
	r->p += bytes;
	r->left -= bytes;
	return operator_attr_bytes(a, &should) && should == bytes;
}

/* A node of one of these; the graph in work has what it says. NULL: it is wrong, or no memory */
union node_desc *read_added(struct reader *r)
{
	struct accel_graph *graph = r->graph ? r->graph : r->program->graph;
	struct accel_operator_desc d = ACCEL_OPERATOR_DESC_INIT;
	uint32_t i, index = read_number(r), in = read_number(r), out = read_number(r);
	struct operator_node *node = NULL;
	struct accel_value *tensors;
	union node_desc *desc = NULL;
	struct accel_attr *attrs;
	const char *field;

	d.attr_count = read_count(r, 32);
	attrs = calloc((size_t)d.attr_count + 1, sizeof(*attrs));
	tensors = calloc((size_t)d.attr_count + 1, sizeof(*tensors));
	if (!attrs || !tensors || r->bad || index >= r->added_count)
		goto out;
	for (i = 0; i < d.attr_count; i++)
		if (!read_attr(r, &attrs[i], &tensors[i]))
			goto out;
	d.attrs = attrs;
	d.version = r->versions[index];
	if (operator_node_create(r->added[index], &d, in, out, &node, &field) ||
	    !graph_owns(graph, node))
		goto out;
	desc = calloc(1, sizeof(*desc));
	if (desc) {
		desc->hdr.size = sizeof(desc->added);
		desc->hdr.op = ACCEL_OP_ADDED;
		desc->added.node = node;
	}
out:
	free(attrs);
	free(tensors);
	r->bad |= !desc;
	return desc;
}
