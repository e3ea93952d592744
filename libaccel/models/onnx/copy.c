// SPDX-License-Identifier: MIT
/*
 * A file with fewer bits: nodes are copied one after the other, and instead of layers others are
 * written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/errno_text.h"
#include "../newfile.h"
#include "quantize.h"

static int copy_graph(struct rewrite *q, struct message *m, uint32_t id, struct slice s);

/* Is there a field more? Damage is an error, not the end, or what follows it would be lost. */
bool copy_next(struct rewrite *q, struct slice *s, struct field *f, struct slice *whole, int *ret)
{
	const int got = *ret ? 0 : wire_whole(s, f, whole);

	if (got < 0)
		*ret = im_fail(q->im, got, "%.200s: a part of it is damaged", q->im->path);
	return got > 0;
}

/* A tensor, but for its numbers, wherever they are */
void copy_head(struct message *m, struct slice s)
{
	struct slice whole;
	struct field f;

	while (wire_whole(&s, &f, &whole) > 0)
		if (f.id < 4 || f.id == 8 || f.id == 12 || f.id > 14)
			put_fields(m, whole);
}

/* A tensor: as it is, or, if its data is outside, with it */
static int copy_tensor(struct rewrite *q, struct message *m, uint32_t id, struct slice s)
{
	struct message t = { 0 };
	struct slice rest = s, whole;
	struct tensor tensor;
	bool outside = false;
	struct field f;
	int ret = 0;

	while (copy_next(q, &rest, &f, &whole, &ret))
		if (f.id == 14)
			outside = f.number == 1;
	if (ret)
		return ret;
	if (!outside) {
		put_borrowed(m, id, s);
		return 0;
	}
	ret = tensor_read(q->im, s, &tensor);
	if (ret)
		return ret;
	copy_head(&t, s);
	/* What is outside is mapped, and has no memory of its own. */
	put_borrowed(&t, 9, (struct slice) { tensor.data, tensor.bytes });
	put_message(m, id, &t);
	return 0;
}

/* A sparse tensor: two tensors, and what it has else */
static int copy_sparse(struct rewrite *q, struct message *m, uint32_t id, struct slice s)
{
	struct message t = { 0 };
	struct slice whole;
	struct field f;
	int ret = 0;

	while (copy_next(q, &s, &f, &whole, &ret)) {
		if (f.id == 1 || f.id == 2)
			ret = copy_tensor(q, &t, f.id, f.bytes);
		else
			put_fields(&t, whole);
	}
	put_message(m, id, &t);
	return ret;
}

static int copy_attr(struct rewrite *q, struct message *m, struct slice s)
{
	struct message a = { 0 };
	struct slice whole;
	struct field f;
	int ret = 0;

	while (copy_next(q, &s, &f, &whole, &ret)) {
		if (f.id == 5 || f.id == 10)
			ret = copy_tensor(q, &a, f.id, f.bytes);
		else if (f.id == 6 || f.id == 11)
			ret = copy_graph(q, &a, f.id, f.bytes);
		else if (f.id == 22 || f.id == 23)
			ret = copy_sparse(q, &a, f.id, f.bytes);
		else
			put_fields(&a, whole);
	}
	put_message(m, 5, &a);
	return ret;
}

static int copy_node(struct rewrite *q, struct message *m, uint32_t id, struct slice s)
{
	struct message n = { 0 };
	struct slice whole;
	struct field f;
	int ret = 0;

	while (copy_next(q, &s, &f, &whole, &ret)) {
		if (f.id == 5)
			ret = copy_attr(q, &n, f.bytes);
		else
			put_fields(&n, whole);
	}
	put_message(m, id, &n);
	return ret;
}

/* A field of a graph, with what lies outside */
int copy_field(struct rewrite *q, struct message *m, const struct field *f, struct slice whole)
{
	if (f->id == 1)
		return copy_node(q, m, 1, f->bytes);
	if (f->id == 5)
		return copy_tensor(q, m, 5, f->bytes);
	if (f->id == 15)
		return copy_sparse(q, m, 15, f->bytes);
	put_fields(m, whole);
	return 0;
}

/* A graph of a node */
static int copy_graph(struct rewrite *q, struct message *m, uint32_t id, struct slice s)
{
	struct message g = { 0 };
	struct slice whole;
	struct field f;
	int ret = 0;

	if (q->depth == MAX_DEPTH)
		return im_fail(q->im, -EOPNOTSUPP, "graphs of nodes that are deeper than %d",
			       MAX_DEPTH);
	q->depth++;
	while (copy_next(q, &s, &f, &whole, &ret))
		ret = copy_field(q, &g, &f, whole);
	q->depth--;
	put_message(m, id, &g);
	return ret;
}

/* A field of a model that is not its graph: what trains it, and functions, have nodes, too. */
int copy_rest(struct rewrite *q, struct message *m, const struct field *f, struct slice whole)
{
	struct slice s = f->bytes;
	struct message part = { 0 };
	struct field g;
	int ret = 0;

	if (f->id != 20 && f->id != 25) {
		put_fields(m, whole);
		return 0;
	}
	while (copy_next(q, &s, &g, &whole, &ret)) {
		if (f->id == 25 && g.id == 7)
			ret = copy_node(q, &part, 7, g.bytes);
		else if (f->id == 20 && (g.id == 1 || g.id == 2))
			ret = copy_graph(q, &part, g.id, g.bytes);
		else
			put_fields(&part, whole);
	}
	put_message(m, f->id, &part);
	return ret;
}

static int put_nodes(struct rewrite *q)
{
	const bool beside = q->opts->flags & ACCEL_MODEL_BESIDE;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < q->count && !ret; i++) {
		const struct layer *l = &q->layers[i];

		/* A node that gives weights which are elsewhere now */
		if (slice_is(l->type, "Constant") && quantize_gone(q, l->out))
			continue;
		if (!l->on || beside)
			ret = copy_node(q, &q->nodes, 1, l->raw);
		if (l->on && !ret)
			ret = quantize_put(q, l, beside ? ACCEL_MODEL_BESIDE_NAME : "");
	}
	return ret;
}

/* Constants of a graph: dense ones are field 5, sparse ones 15, named as their values are. */
static int copy_constant(struct rewrite *q, uint32_t id, struct slice s)
{
	struct slice rest = s, values, name = { 0 };
	struct field f, g;

	while (wire_next(&rest, &f) > 0) {
		if (id == 5 && f.id == 8)
			name = f.bytes;
		if (id != 15 || f.id != 1)
			continue;
		for (values = f.bytes; wire_next(&values, &g) > 0;)
			if (g.id == 8)
				name = g.bytes;
	}
	if (!quantize_gone(q, name))
		return id == 5 ? copy_tensor(q, &q->constants, id, s) :
		       copy_sparse(q, &q->constants, id, s);
	im_name(q->im, name)->marks |= MARK_GONE;
	return 0;
}

/* An input that was the default of a constant goes with it. */
static bool is_gone_input(struct rewrite *q, struct slice s)
{
	const struct name *n;
	struct field f;

	while (wire_next(&s, &f) > 0)
		if (f.id == 1) {
			n = f.bytes.n ? im_name(q->im, f.bytes) : NULL;
			return n && n->text && (n->marks & MARK_GONE);
		}
	return false;
}

static int put_graph(struct rewrite *q, struct slice graph, struct message *out)
{
	struct slice s = graph, whole;
	struct field f;
	int ret;

	quantize_mark(q, graph);
	ret = put_nodes(q);
	while (!ret && wire_next(&s, &f) > 0)
		if (f.id == 5 || f.id == 15)
			ret = copy_constant(q, f.id, f.bytes);
	if (ret)
		return ret;
	*out = q->nodes;
	memset(&q->nodes, 0, sizeof(q->nodes));
	while (wire_whole(&graph, &f, &whole) > 0)
		if (f.id != 1 && f.id != 5 && f.id != 15 &&
		    (f.id != 11 || !is_gone_input(q, f.bytes)))
			put_fields(out, whole);
	put_inside(out, &q->constants);
	return 0;
}

static bool imports(struct slice s, const char *domain)
{
	struct slice t;
	struct field f, g;

	while (wire_next(&s, &f) > 0)
		for (t = f.bytes; f.id == 8 && wire_next(&t, &g) > 0;)
			if (g.id == 1 && slice_is(g.bytes, domain))
				return true;
	return false;
}

static int write_file(struct import *im, const char *path, const struct message *m)
{
	struct newfile file;
	struct slice s;
	size_t i = 0;
	int ret;

	if (m->failed)
		return im_fail(im, -ENOMEM, "out of memory");
	if (message_bytes(m) > INT32_MAX)
		return im_fail(im, -EFBIG, "%zu bytes are more than a file of this kind can have",
			       message_bytes(m));
	ret = newfile_open(&file, path);
	while (!ret && message_next(m, &i, &s))
		newfile_write(&file, s.p, s.n);
	ret = newfile_close(&file, ret);
	return ret ? im_fail(im, ret, "%.200s: cannot be written: %s", path, errno_text(-ret)) : 0;
}

int quantize_write(struct rewrite *q, struct slice model, struct slice graph, const char *path)
{
	struct message out = { 0 }, g = { 0 }, opset = { 0 };
	struct slice s = model, whole;
	struct field f;
	int ret = put_graph(q, graph, &g);

	while (copy_next(q, &s, &f, &whole, &ret))
		if (f.id != 7)
			ret = copy_rest(q, &out, &f, whole);
	if (q->opts->scheme == ACCEL_MODEL_BITS4 && !imports(model, "com.microsoft")) {
		put_text(&opset, 1, "com.microsoft");
		put_number(&opset, 2, 1);
		put_message(&out, 8, &opset);
	}
	put_message(&out, 7, &g);
	if (!ret)
		ret = write_file(q->im, path, &out);
	message_free(&g);
	message_free(&out);
	return ret;
}
