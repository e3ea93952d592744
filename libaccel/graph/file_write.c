// SPDX-License-Identifier: MIT
/*
 * What a file says of a program: its graph as it was described, and its nets as they are
 * when they are lowered, without what nobody reads any more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

#define DATA_ALIGN	64

void image_put(struct image *image, const void *data, uint64_t bytes)
{
	uint64_t cap = image->cap ? image->cap : 65536;
	char *grown;

	while (cap - image->bytes < bytes)
		cap *= 2;
	if (cap != image->cap && !image->full) {
		grown = realloc(image->meta, cap);
		image->full = !grown;
		if (grown) {
			image->meta = grown;
			image->cap = cap;
		}
	}
	if (image->full)
		return;
	memcpy(image->meta + image->bytes, data, bytes);
	image->bytes += bytes;
}

void image_number(struct image *image, uint32_t number)
{
	image_put(image, &number, sizeof(number));
}

void image_long(struct image *image, int64_t number)
{
	image_put(image, &number, sizeof(number));
}

/* Its length with the zero behind it, 0: there is none */
void image_text(struct image *image, const char *text)
{
	uint32_t bytes = text ? (uint32_t)strlen(text) + 1 : 0;

	image_number(image, bytes);
	if (bytes)
		image_put(image, text, bytes);
}

void image_dims(struct image *image, uint32_t rank, const int64_t *dims)
{
	uint32_t i;

	image_number(image, rank);
	for (i = 0; i < rank; i++)
		image_long(image, dims[i]);
}

/* --- contents ---------------------------------------------------------------------- */

static struct file_blob *add_blob(struct image *image, const struct blob *from, uint64_t bytes)
{
	struct file_blob *b;

	if (!list_grow(&image->blobs, image->blob_count, &image->blob_cap, sizeof(*b))) {
		image->full = true;
		return NULL;
	}
	b = &image->blobs[image->blob_count++];
	*b = (struct file_blob) { .bytes = bytes, .offset = NO_DATA, .from = from };
	return b;
}

static struct file_blob *find_blob(struct image *image, const struct blob *from, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; from && i < image->blob_count; i++)
		if (image->blobs[i].from == from)
			return &image->blobs[i];
	return add_blob(image, from, bytes);
}

/* Its data is to be written, too. */
static void want_data(struct image *image, struct file_blob *b)
{
	const struct store_digest zero = { { 0 } };

	if (b->offset != NO_DATA || !b->bytes || !b->from || !b->from->data)
		return;
	b->offset = image->data_bytes;
	b->digest = store_sum(zero, b->from->data, b->bytes);
	blob_rest(b->from);
	image->data_bytes += (b->bytes + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
}

static void add_sum(struct image *image, struct file_blob *b, const struct weights_sum *sum)
{
	struct weights_sum *grown;
	uint32_t i;

	for (i = 0; i < b->sum_count; i++) /* NOLINTNEXTLINE: all of them are set */
		if (b->sums[i].offset == sum->offset && b->sums[i].bytes == sum->bytes)
			return;
	if (b->sum_count == MAX_SUMS || sum->offset > b->bytes ||
	    sum->bytes > b->bytes - sum->offset)
		return;
	grown = realloc(b->sums, (b->sum_count + 1) * sizeof(*grown));
	if (!grown) {
		image->full = true;
		return;
	}
	b->sums = grown;
	b->sums[b->sum_count++] = *sum;
}

/* What is known of them: by the buffer that forms were made of, or by a file that had them */
static void add_sums(struct image *image, struct file_blob *b, const struct store *s)
{
	struct weights_sum list[MAX_SUMS];
	uint32_t i, count;

	for (i = 0; s->blob && i < s->blob->sum_count; i++)
		add_sum(image, b, &s->blob->sums[i]);
	if (!s->source)
		return;
	count = weights_sums(image->program->weights, s->source, list, MAX_SUMS);
	for (i = 0; i < count; i++)
		add_sum(image, b, &list[i]);
}

static void put_blobs(struct image *image)
{
	uint32_t i, k;

	image_number(image, image->blob_count);
	for (i = 0; i < image->blob_count; i++) {
		const struct file_blob *b = &image->blobs[i];

		image_put(image, &b->bytes, sizeof(b->bytes));
		image_put(image, &b->offset, sizeof(b->offset));
		image_put(image, &b->digest, sizeof(b->digest));
		image_number(image, b->sum_count);
		for (k = 0; k < b->sum_count; k++)
			image_put(image, &b->sums[k], sizeof(b->sums[k]));
	}
}

/* --- the graph --------------------------------------------------------------------- */

/**
 * desc_clear - no buffer is named by a descriptor
 * @desc: descriptor
 */
void desc_clear(union node_desc *desc)
{
	struct accel_tensor *t;
	uint32_t arg;

	if (is_shape_op(desc->hdr.op))
		return;
	for (arg = 0; arg < ACCEL_ARG_COUNT; arg++) {
		t = desc_field(&desc->any, arg, NULL);
		if (!t)
			continue;
		t->bo = NULL;
		t->offset = 0;
		t->quant.scales = NULL;
		t->quant.scales_offset = 0;
		t->quant.zeros = NULL;
		t->quant.zeros_offset = 0;
	}
}

static void put_desc(struct image *image, const union node_desc *desc)
{
	union node_desc copy;

	if (is_added(desc)) {
		image_number(image, ACCEL_OP_ADDED);
		put_added(image, desc->added.node);
		return;
	}
	memcpy(&copy, desc, desc->hdr.size);
	desc_clear(&copy);
	image_number(image, copy.hdr.op);
	image_put(image, &copy, desc->hdr.size);
}

static int put_graph(struct image *image, const struct accel_graph *graph, uint32_t depth);

static int put_dynamic(struct image *image, const struct graph_node *node, uint32_t depth)
{
	const struct graph_dynamic *dyn = node->dynamic;
	uint32_t i;
	int ret = 0;

	image_number(image, RECORD_DYNAMIC);
	image_text(image, node->name);
	image_text(image, node->source);
	image_number(image, dyn->d.op);
	image_number(image, dyn->d.carried);
	image_number(image, dyn->d.flags);
	image_number(image, (uint32_t)dyn->d.axis);
	for (i = 0; i < 2 && !ret; i++) {
		image_number(image, !!dyn->body[i]);
		if (dyn->body[i])
			ret = put_graph(image, dyn->body[i], depth + 1);
	}
	image_number(image, dyn->in_count);
	for (i = 0; i < dyn->in_count; i++)
		image_number(image, node->args[i].value);
	image_number(image, node->arg_count - dyn->in_count);
	return ret;
}

static void put_node(struct image *image, const struct graph_node *node, uint32_t first)
{
	uint32_t i;

	image_number(image, is_added(node->desc) ? RECORD_OPERATOR : RECORD_NODE);
	image_text(image, node->name);
	image_text(image, node->source);
	put_desc(image, node->desc);
	image_number(image, node->arg_count);
	for (i = 0; i < node->arg_count; i++) {
		image_number(image, node->args[i].arg);
		image_number(image, node->args[i].value >= first ? ACCEL_VALUE_NEW :
			   node->args[i].value);
	}
}

static void put_value(struct image *image, const struct graph_value *v)
{
	struct file_blob *b;

	image_number(image, v->blob ? RECORD_CONSTANT : RECORD_INPUT);
	image_text(image, v->name);
	image_number(image, v->type);
	image_dims(image, v->rank, v->dims);
	if (!v->blob)
		return;
	b = find_blob(image, v->blob, v->blob->bytes);
	if (!b)
		return;
	want_data(image, b);
	image_number(image, (uint32_t)(b - image->blobs));
}

/* Inputs and the names of results alone: nobody looks at what lies in between. */
static void put_seen(struct image *image, const struct accel_graph *graph)
{
	uint32_t i;

	image_number(image, graph->input_count);
	for (i = 0; i < graph->input_count; i++)
		put_value(image, &graph->values[graph->inputs[i]]);
	image_number(image, graph->output_count);
	for (i = 0; i < graph->output_count; i++) {
		image_text(image, graph->outputs[i].name);
		image_number(image, 0);
	}
}

/* In the order in which values were made, so that they get the same numbers again */
static int put_records(struct image *image, const struct accel_graph *graph, uint32_t depth)
{
	uint32_t v = 0, n = 0, i, results;
	int ret = 0;

	for (i = 0, v = 0; i < graph->value_count; i++)
		v += graph->values[i].known;
	image_number(image, v + graph->node_count);
	for (v = 0; v < graph->value_count && !ret;) {
		if (graph->values[v].known) {
			put_value(image, &graph->values[v++]);
			continue;
		}
		for (i = 0, results = 0; i < graph->nodes[n].arg_count; i++)
			results += graph->nodes[n].args[i].value >= v;
		if (graph->nodes[n].dynamic)
			ret = put_dynamic(image, &graph->nodes[n], depth);
		else
			put_node(image, &graph->nodes[n], v);
		v += results;
		n++;
	}
	image_number(image, graph->output_count);
	for (i = 0; i < graph->output_count; i++) {
		image_text(image, graph->outputs[i].name);
		image_number(image, graph->outputs[i].value);
	}
	return ret;
}

static int put_graph(struct image *image, const struct accel_graph *graph, uint32_t depth)
{
	uint32_t i;

	if (depth == MAX_DEPTH)
		return ctx_fail(image->program->ctx, -E2BIG, "program",
				"more than %u graphs within each other", MAX_DEPTH);
	image_number(image, graph->symbol_count);
	for (i = 0; i < graph->symbol_count; i++) {
		image_text(image, graph->symbols[i].name);
		image_long(image, graph->symbols[i].min);
		image_long(image, graph->symbols[i].max);
	}
	if (!image->seen)
		return put_records(image, graph, depth);
	put_seen(image, graph);
	return 0;
}

/* --- nets -------------------------------------------------------------------------- */

/**
 * struct packer - what of a net is written
 * @image: image
 * @net: net
 * @nodes: by node: number in the file
 * @values: by value: number in the file, NO_VALUE: nobody needs it
 * @stores: likewise stores
 * @data: by store: its contents are read as they are
 * @value_count: values in the file
 * @store_count: stores in the file
 */
struct packer {
	struct image *image;
	const struct net *net;
	uint32_t *nodes;
	uint32_t *values;
	uint32_t *stores;
	bool *data;
	uint32_t value_count;
	uint32_t store_count;
};

static void need_value(struct packer *p, uint32_t value)
{
	uint32_t store = p->net->values[value].store;

	if (p->values[value] == NO_VALUE)
		p->values[value] = p->value_count++;
	for (; store != NO_VALUE; store = p->net->stores[store].part_of)
		if (p->stores[store] == NO_VALUE)
			p->stores[store] = p->store_count++;
}

static void find_needed(struct packer *p)
{
	const struct net *net = p->net;
	uint32_t i, k;

	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];

		p->nodes[net->order[i]] = i;
		for (k = 0; k < node->arg_count; k++) {
			need_value(p, node->args[k].value);
			/* Tables are read while plans are made. */
			if (!node_holds(node, node->args[k].arg) || is_table(node->args[k].arg))
				p->data[net->values[node->args[k].value].store] = true;
		}
	}
	for (i = 0; i < net->output_count; i++)
		need_value(p, net->outputs[i]);
}

static void put_store(struct packer *p, uint32_t index)
{
	const struct store *s = &p->net->stores[index];
	struct image *image = p->image;
	struct file_blob *b;

	image_number(image, s->kind);
	image_put(image, &s->bytes, sizeof(s->bytes));
	image_number(image, s->node == NO_VALUE || p->net->nodes[s->node].dead ? NO_VALUE :
		   p->nodes[s->node]);
	image_number(image, s->part_of == NO_VALUE ? NO_VALUE : p->stores[s->part_of]);
	if (s->kind != STORE_CONST) {
		image_number(image, s->index);
		return;
	}
	b = find_blob(image, s->blob, s->bytes);
	if (!b)
		return;
	if (p->data[index])
		want_data(image, b);
	add_sums(image, b, s);
	image_number(image, (uint32_t)(b - image->blobs));
}

static void put_net_value(struct packer *p, const struct value *v)
{
	struct image *image = p->image;
	uint32_t i;

	image_text(image, v->name);
	image_number(image, v->type);
	image_dims(image, v->rank, v->dims);
	for (i = 0; i < v->rank; i++)
		image_long(image, v->strides[i]);
	image_long(image, v->offset);
	image_number(image, p->stores[v->store]);
}

static void put_net_node(struct packer *p, const struct node *node)
{
	struct image *image = p->image;
	uint32_t i;

	image_text(image, node->name);
	image_text(image, node->source);
	put_desc(image, node->desc);
	image_number(image, node->rules);
	image_number(image, node->fused);
	image_number(image, node->arg_count);
	for (i = 0; i < node->arg_count; i++) {
		image_number(image, node->args[i].arg);
		image_number(image, p->values[node->args[i].value]);
		image_number(image, node->args[i].result);
	}
}

/* The items of a list that have a number, in the order of these */
static void invert(const uint32_t *numbers, uint32_t count, uint32_t *items)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (numbers[i] != NO_VALUE)
			items[numbers[i]] = i;
}

static void put_packed_net(struct packer *p, uint32_t *items)
{
	const struct net *net = p->net;
	struct image *image = p->image;
	uint32_t i;

	find_needed(p);
	image_number(image, net->symbol_count);
	for (i = 0; i < net->symbol_count; i++)
		image_long(image, net->symbols[i]);
	image_number(image, p->store_count);
	invert(p->stores, net->store_count, items);
	for (i = 0; i < p->store_count; i++)
		put_store(p, items[i]);
	image_number(image, p->value_count);
	invert(p->values, net->value_count, items);
	for (i = 0; i < p->value_count; i++)
		put_net_value(p, &net->values[items[i]]);
	image_number(image, net->order_count);
	for (i = 0; i < net->order_count; i++)
		put_net_node(p, &net->nodes[net->order[i]]);
	image_number(image, net->output_count);
	for (i = 0; i < net->output_count; i++)
		image_number(image, p->values[net->outputs[i]]);
}

static void put_net(struct image *image, const struct net *net)
{
	const uint32_t most = net->value_count + net->store_count + net->node_count + 1;
	struct packer p = { .image = image, .net = net };
	uint32_t *lists = malloc(2 * most * sizeof(*lists));

	p.data = calloc(net->store_count + 1, sizeof(*p.data));
	if (!lists || !p.data) {
		image->full = true;
	} else {
		memset(lists, 0xff, 2 * most * sizeof(*lists));
		p.values = lists;
		p.stores = p.values + net->value_count;
		p.nodes = p.stores + net->store_count;
		put_packed_net(&p, lists + most);
	}
	free(p.data);
	free(lists);
}

/* One that depends on what running told is made again. */
static bool is_final(const struct net *net)
{
	return net->stop == net->graph->node_count && !net->first && !net->facts.count;
}

static void put_nets(struct image *image)
{
	const struct accel_program *program = image->program;
	uint32_t i, count = 0;

	for (i = 0; i < program->net_count; i++)
		count += is_final(program->nets[i]);
	image_number(image, count);
	for (i = 0; i < program->net_count; i++)
		if (is_final(program->nets[i]))
			put_net(image, program->nets[i]);
}

/**
 * image_make - find out what a file will have
 * @image: with program and @seen set; image_free() it, also when this fails
 *
 * Return: 0, -ENOMEM, -E2BIG.
 */
int image_make(struct image *image)
{
	struct image rest;
	int ret;

	/* Contents are known when all else is: these stand before it. */
	ret = put_graph(image, image->program->graph, 0);
	if (!ret)
		put_nets(image);
	rest = *image;
	image->meta = NULL;
	image->bytes = 0;
	image->cap = 0;
	image_number(image, image->seen);
	put_operators(image);
	put_blobs(image);
	image_put(image, rest.meta, rest.bytes);
	free(rest.meta);
	if (!ret && image->full)
		ret = ctx_fail(image->program->ctx, -ENOMEM, NULL, "out of memory");
	return ret;
}

void image_free(struct image *image)
{
	uint32_t i;

	for (i = 0; i < image->blob_count; i++)
		free(image->blobs[i].sums);
	free(image->blobs);
	free(image->added);
	free(image->meta);
}
