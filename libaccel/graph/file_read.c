// SPDX-License-Identifier: MIT
/*
 * What a file says of a program. Whoever wrote it may mean harm: a number counts for nothing
 * until it was looked at. The graph goes through the calls that build graphs; nets are
 * checked here, and their plans are made as for any other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

static int damaged(const struct reader *r, const char *what)
{
	return ctx_fail(r->program->ctx, -EBADMSG, "path", "the file is damaged: %s", what);
}

void read_bytes(struct reader *r, void *data, uint64_t bytes)
{
	if (r->left < bytes) {
		r->bad = true;
		r->left = 0;
		memset(data, 0, bytes);
		return;
	}
	memcpy(data, r->p, bytes);
	r->p += bytes;
	r->left -= bytes;
}

uint32_t read_number(struct reader *r)
{
	uint32_t number;

	read_bytes(r, &number, sizeof(number));
	return number;
}

int64_t read_long(struct reader *r)
{
	int64_t number;

	read_bytes(r, &number, sizeof(number));
	return number;
}

/* A number of things, each of which takes at least so many bytes */
uint32_t read_count(struct reader *r, uint32_t least)
{
	uint32_t count = read_number(r);

	if (count > r->left / least) {
		r->bad = true;
		return 0;
	}
	return count;
}

/* It lies in the meta. */
const char *read_text(struct reader *r)
{
	uint32_t bytes = read_count(r, 1);
	const char *text = r->p;

	if (!bytes)
		return NULL;
	if (text[bytes - 1] || memchr(text, 0, bytes - 1)) {
		r->bad = true;
		return NULL;
	}
	r->p += bytes;
	r->left -= bytes;
	return text;
}

uint32_t read_dims(struct reader *r, int64_t *dims)
{
	uint32_t i, rank = read_number(r);

	if (rank > MAX_RANK) {
		r->bad = true;
		rank = 0;
	}
	for (i = 0; i < rank; i++)
		dims[i] = read_long(r);
	return rank;
}

/* --- contents ---------------------------------------------------------------------- */

static int get_sums(struct reader *r, struct file_blob *b)
{
	uint32_t i;

	b->sum_count = read_count(r, sizeof(*b->sums));
	b->sums = calloc(b->sum_count + 1, sizeof(*b->sums));
	if (!b->sums)
		return ctx_fail(r->program->ctx, -ENOMEM, NULL, "out of memory");
	for (i = 0; i < b->sum_count; i++) {
		read_bytes(r, &b->sums[i], sizeof(b->sums[i]));
		r->bad |= b->sums[i].offset > b->bytes ||
			  b->sums[i].bytes > b->bytes - b->sums[i].offset;
	}
	return 0;
}

static int get_blobs(struct reader *r, uint64_t data_bytes)
{
	struct program_file *file = r->file;
	uint32_t count = read_count(r, 36);
	int ret = 0;

	file->blobs = calloc(count + 1, sizeof(*file->blobs));
	if (!file->blobs)
		return ctx_fail(r->program->ctx, -ENOMEM, NULL, "out of memory");
	for (; file->blob_count < count && !ret; file->blob_count++) {
		struct file_blob *b = &file->blobs[file->blob_count];

		read_bytes(r, &b->bytes, sizeof(b->bytes));
		read_bytes(r, &b->offset, sizeof(b->offset));
		read_bytes(r, &b->digest, sizeof(b->digest));
		r->bad |= b->bytes > MAX_BYTES;
		if (b->offset != NO_DATA)
			r->bad |= b->offset % 16 || b->offset > data_bytes ||
				  b->bytes > data_bytes - b->offset;
		ret = get_sums(r, b);
	}
	return !ret && r->bad ? damaged(r, "its contents") : ret;
}

static const void *blob_at(const struct program_file *file, const struct file_blob *b)
{
	return b->offset == NO_DATA ? NULL :
	       (const char *)file->map + file->data_offset + b->offset;
}

/* Is it what it was when it was written? */
int file_check_blob(struct accel_program *program, struct file_blob *b)
{
	struct file_place at = { program->file->stamp, program->file->data_offset + b->offset };
	struct store_digest d;

	if (b->checked || b->offset == NO_DATA)
		return 0;
	d = weights_read(program->weights, &at, blob_at(program->file, b), b->bytes);
	if (memcmp(&d, &b->digest, sizeof(d)) != 0)
		return ctx_fail(program->ctx, -EBADMSG, "path",
				"the file is damaged: the checksum of a constant");
	b->checked = true;
	return 0;
}

/**
 * file_check - are all constants of a program's file what they should be?
 * @program: program, locked
 *
 * Return: 0, also without a file; -EBADMSG.
 */
int file_check(struct accel_program *program)
{
	struct program_file *file = program->file;
	uint32_t i;
	int ret = 0;

	if (!file || file->whole)
		return 0;
	for (i = 0; i < file->blob_count && !ret; i++)
		ret = file_check_blob(program, &file->blobs[i]);
	file->whole = !ret;
	return ret;
}

/* A constant, of which the caller has a reference; NULL: it is wrong, or no memory */
struct blob *read_blob(struct reader *r, uint32_t index, uint64_t bytes)
{
	struct file_blob *b;

	if (index >= r->file->blob_count || r->file->blobs[index].bytes != bytes) {
		r->bad = true;
		return NULL;
	}
	b = &r->file->blobs[index];
	if (!b->blob) {
		b->blob = blob_create(blob_at(r->file, b), bytes, NULL, NULL);
		if (!b->blob)
			return NULL;
		b->blob->mapped = b->offset != NO_DATA;
		b->blob->sums = b->sums;
		b->blob->sum_count = b->sum_count;
	}
	return blob_ref(b->blob);
}

/* --- the graph --------------------------------------------------------------------- */

static int graph_said(struct reader *r, int ret)
{
	struct accel_error *e = &r->graph->error;

	if (!ret || e->code != ret)
		return ret;
	return ctx_fail(r->program->ctx, -EBADMSG, e->field, "the file is damaged: %s", e->text);
}

static int get_value(struct reader *r, bool constant)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t value = 0, index;
	struct file_blob *b;
	int ret;

	v.name = read_text(r);
	v.type = read_number(r);
	v.rank = read_dims(r, v.dims);
	if (!constant)
		return graph_said(r, accel_graph_input(r->graph, &v, &value));
	index = read_number(r);
	if (index >= r->file->blob_count || r->file->blobs[index].blob)
		return damaged(r, "a constant");
	b = &r->file->blobs[index];
	if (b->offset == NO_DATA && b->bytes)
		return damaged(r, "a constant that is not there");
	v.flags = ACCEL_VALUE_MAPPED;
	ret = accel_graph_constant(r->graph, &v, b->bytes ? blob_at(r->file, b) : r->file->map,
				   NULL, NULL, &value);
	if (ret)
		return graph_said(r, ret);
	/* Of other sizes it is before anybody has looked at it. */
	if (r->graph->values[value].blob->bytes != b->bytes)
		return damaged(r, "the size of a constant");
	b->blob = blob_ref(r->graph->values[value].blob);
	b->blob->mapped = b->bytes;
	b->blob->sums = b->sums;
	b->blob->sum_count = b->sum_count;
	return 0;
}

/* A descriptor that can be whatever fits; it is the caller's */
union node_desc *read_desc(struct reader *r)
{
	uint32_t op = read_number(r), size = desc_size(op);
	union node_desc *desc;

	if (op == ACCEL_OP_ADDED)
		return read_added(r);
	if (!size || r->left < size) {
		r->bad = true;
		return NULL;
	}
	desc = calloc(1, sizeof(*desc));
	if (!desc)
		return NULL;
	read_bytes(r, desc, size);
	if (desc->hdr.op != op || desc->hdr.size != size) {
		r->bad = true;
		free(desc);
		return NULL;
	}
	desc_clear(desc);
	return desc;
}

/* A node of an operator that a user added */
static int get_added(struct reader *r, const char *name, const struct operator_node *added,
		     const struct accel_graph_arg *args, uint32_t count)
{
	uint32_t in[ACCEL_OPERATOR_MAX_VALUES], out[ACCEL_OPERATOR_MAX_VALUES], i;

	for (i = 0; i < ACCEL_OPERATOR_MAX_VALUES; i++)
		in[i] = ACCEL_VALUE_NONE;
	for (i = 0; i < count; i++) {
		if (args[i].arg >= added->out_count + added->in_count)
			return damaged(r, "a node");
		if (args[i].arg >= added->out_count)
			in[args[i].arg - added->out_count] = args[i].value;
	}
	return graph_said(r, graph_add_operator(r->graph, name, added, in, out));
}

static int get_node(struct reader *r, bool operator)
{
	struct accel_graph_arg args[NODE_MAX_ARGS];
	const char *name = read_text(r), *source = read_text(r);
	union node_desc *desc = read_desc(r);
	uint32_t i, count = read_count(r, 8);
	int ret;

	if (!desc || count > NODE_MAX_ARGS || is_added(desc) != operator) {
		free(desc);
		return damaged(r, "a node");
	}
	for (i = 0; i < count; i++) {
		args[i].arg = read_number(r);
		args[i].value = read_number(r);
	}
	ret = graph_said(r, accel_graph_set_source(r->graph, source));
	if (!ret)
		ret = operator ? get_added(r, name, desc->added.node, args, count) :
		      graph_said(r, accel_graph_add(r->graph, name, &desc->hdr, args, count));
	free(desc);
	return ret;
}

static int get_graph(struct reader *r, uint32_t depth, struct accel_graph **graph);

static int get_dynamic(struct reader *r, uint32_t depth)
{
	struct accel_dynamic_desc d = ACCEL_DYNAMIC_DESC_INIT(0);
	struct accel_graph **body[2] = { &d.body, &d.other };
	const char *name = read_text(r), *source = read_text(r);
	uint32_t i, in_count, out_count;
	uint32_t *in = NULL, *out = NULL;
	int ret = 0;

	d.op = read_number(r);
	d.carried = read_number(r);
	d.flags = read_number(r);
	d.axis = (int32_t)read_number(r);
	for (i = 0; i < 2 && !ret; i++)
		if (read_number(r))
			ret = get_graph(r, depth + 1, body[i]);
	in_count = read_count(r, 4);
	if (!ret) {
		in = calloc(in_count + 1, sizeof(*in));
		for (i = 0; in && i < in_count; i++)
			in[i] = read_number(r);
		out_count = read_number(r);
		/* As many as its graphs give, or what finds things */
		if (r->bad || out_count > (d.body ? d.body->output_count : 4))
			ret = damaged(r, "a node");
		else
			out = calloc(out_count + 1, sizeof(*out));
	}
	if (!ret && in && out)
		ret = graph_said(r, accel_graph_set_source(r->graph, source));
	if (!ret && in && out) {
		ret = graph_said(r, accel_graph_dynamic(r->graph, name, &d, in, in_count, out,
							out_count));
	} else {
		ret = ret ? ret : ctx_fail(r->program->ctx, -ENOMEM, NULL, "out of memory");
		accel_graph_destroy(d.body);
		accel_graph_destroy(d.other);
	}
	free(in);
	free(out);
	return ret;
}

static int get_symbols(struct reader *r)
{
	uint32_t i, count = read_count(r, 20);
	int64_t min, max, dim = 0;
	const char *name;
	int ret = 0;

	for (i = 0; i < count && !ret; i++) {
		name = read_text(r);
		min = read_long(r);
		max = read_long(r);
		ret = graph_said(r, accel_graph_symbol(r->graph, name, min, max, &dim));
		if (!ret && symbol_index(dim) != i)
			ret = damaged(r, "symbols of one name");
	}
	return ret;
}

static int get_records(struct reader *r, uint32_t depth)
{
	uint32_t i, count = read_count(r, 12);
	const char *name;
	int ret = 0;

	for (i = 0; i < count && !ret; i++) {
		switch (read_number(r)) {
		case RECORD_INPUT:
			ret = get_value(r, false);
			break;
		case RECORD_CONSTANT:
			ret = get_value(r, true);
			break;
		case RECORD_NODE:
			ret = get_node(r, false);
			break;
		case RECORD_OPERATOR:
			ret = get_node(r, true);
			break;
		case RECORD_DYNAMIC:
			ret = get_dynamic(r, depth);
			break;
		default:
			ret = damaged(r, "neither value nor node");
		}
	}
	count = ret ? 0 : read_count(r, 8);
	for (i = 0; i < count && !ret; i++) {
		name = read_text(r);
		ret = graph_said(r, accel_graph_output(r->graph, name, read_number(r)));
	}
	return ret;
}

/* A graph of its own; that in work stays what it was. */
static int get_graph(struct reader *r, uint32_t depth, struct accel_graph **graph)
{
	struct accel_graph *outer = r->graph;
	int ret;

	if (depth == MAX_DEPTH)
		return damaged(r, "graphs within graphs");
	ret = accel_graph_create(graph);
	if (ret)
		return ctx_fail(r->program->ctx, ret, NULL, "out of memory");
	r->graph = *graph;
	ret = get_symbols(r);
	if (!ret)
		ret = get_records(r, depth);
	if (!ret && r->bad)
		ret = damaged(r, "the graph ends early");
	r->graph = outer;
	return ret;
}

/* --- nets -------------------------------------------------------------------------- */

static int get_nets(struct reader *r)
{
	uint32_t i, count = read_count(r, 28);
	struct net *net;
	int ret = 0;

	for (i = 0; i < count && !ret; i++) {
		net = net_alloc(r->program->graph);
		if (!net)
			return ctx_fail(r->program->ctx, -ENOMEM, NULL, "out of memory");
		graph_ref(net->graph);
		net->program = r->program;
		ret = read_net(r, net);
		if (ret) {
			struct accel_error e = net->error;

			/* Checksums have told what is wrong themselves. */
			if (e.code == -EBADMSG)
				ctx_fail(r->program->ctx, ret, e.field, "the file is damaged: %s",
					 e.text);
			else if (e.code)
				ctx_set_error(r->program->ctx, &e);
			net_unref(net);
		} else if (!program_keeps(r->program, net)) {
			ret = ctx_fail(r->program->ctx, -ENOMEM, NULL, "out of memory");
		}
	}
	if (!ret && (r->bad || r->left))
		ret = damaged(r, "it does not end where it should");
	return ret;
}

/**
 * file_parse - make graph and nets of a file's meta
 * @program: program with weights, and a file that is mapped
 * @h: header of the file
 * @operators: that users added, or NULL
 *
 * Return: 0, -EBADMSG, -EOPNOTSUPP, -ESTALE operators, errors of plans; the context has the error.
 */
int file_parse(struct accel_program *program, const struct program_header *h,
	       const struct accel_operators *operators)
{
	struct reader r = {
		.program = program, .file = program->file, .p = program->file->meta,
		.left = h->meta_bytes, .operators = operators
	};
	int ret;

	program->sealed = read_number(&r);
	ret = read_operators(&r);
	if (!ret)
		ret = get_blobs(&r, h->weights_offset - h->data_offset);
	if (!ret)
		ret = get_graph(&r, 0, &program->graph);
	if (!ret && !program->graph->output_count)
		ret = damaged(&r, "it has no result");
	if (!ret) {
		atomic_store_explicit(&program->graph->frozen, true, memory_order_relaxed);
		ret = get_nets(&r);
	}
	free(r.added);
	free(r.versions);
	return ret;
}
