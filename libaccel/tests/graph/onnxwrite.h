/* SPDX-License-Identifier: MIT */
/*
 * A writer of ONNX files, field by field, for tests: right ones and wrong ones.
 */
#ifndef LIBACCEL_TESTS_ONNXWRITE_H
#define LIBACCEL_TESTS_ONNXWRITE_H

#include "graphtest.h"

/* --- a writer of the format ----------------------------------------------------------- */

struct bytes {
	uint8_t p[65536];
	size_t n;
};

static inline void put_varint(struct bytes *b, uint64_t x)
{
	for (; x > 127; x >>= 7)
		b->p[b->n++] = (uint8_t)(x | 128);
	b->p[b->n++] = (uint8_t)x;
	assert_true(b->n < sizeof(b->p) - 16);
}

static inline void put_int(struct bytes *b, uint32_t id, int64_t x)
{
	put_varint(b, id << 3);
	put_varint(b, (uint64_t)x);
}

static inline void put_bytes(struct bytes *b, uint32_t id, const void *p, size_t n)
{
	put_varint(b, id << 3 | 2);
	put_varint(b, n);
	assert_true(b->n + n < sizeof(b->p));
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void put_text(struct bytes *b, uint32_t id, const char *text)
{
	put_bytes(b, id, text, strlen(text));
}

static inline void put_message(struct bytes *b, uint32_t id, const struct bytes *m)
{
	put_bytes(b, id, m->p, m->n);
}

/* --- the parts of a model ------------------------------------------------------------------ */

/* A tensor with raw data; @data NULL: without data */
static inline struct bytes tensor(const char *name, int type, uint32_t rank, const int64_t *dims,
				  const void *data, size_t n)
{
	struct bytes t = { .n = 0 };
	uint32_t i;

	for (i = 0; i < rank; i++)
		put_int(&t, 1, dims[i]);
	put_int(&t, 2, type);
	if (name)
		put_text(&t, 8, name);
	if (data)
		put_bytes(&t, 9, data, n);
	return t;
}

static inline void put_entry(struct bytes *t, const char *key, const char *value)
{
	struct bytes e = { .n = 0 };

	put_text(&e, 1, key);
	put_text(&e, 2, value);
	put_message(t, 13, &e);
}

static inline void put_external(struct bytes *t, const char *location, const char *offset)
{
	put_entry(t, "location", location);
	put_entry(t, "offset", offset);
	put_int(t, 14, 1);
}

/* A value of one dimension or two; a negative one is a symbol */
static inline void put_value(struct bytes *g, uint32_t id, const char *name, int type, int64_t rows,
			     int64_t cols)
{
	struct bytes v = { .n = 0 }, t = { .n = 0 }, tt = { .n = 0 }, s = { .n = 0 }, d;
	int64_t dims[2] = { rows, cols };
	int i;

	for (i = 0; i < 2; i++) {
		d.n = 0;
		if (dims[i] < 0)
			put_text(&d, 2, "rows");
		else
			put_int(&d, 1, dims[i]);
		put_message(&s, 1, &d);
	}
	put_int(&tt, 1, type);
	put_message(&tt, 2, &s);
	put_message(&t, 1, &tt);
	put_text(&v, 1, name);
	put_message(&v, 2, &t);
	put_message(g, id, &v);
}

static inline struct bytes node(const char *op, const char *out, const char *a, const char *b,
				const char *c)
{
	struct bytes n = { .n = 0 };

	put_text(&n, 1, a);
	if (b)
		put_text(&n, 1, b);
	if (c)
		put_text(&n, 1, c);
	put_text(&n, 2, out);
	put_text(&n, 3, out);
	put_text(&n, 4, op);
	return n;
}

static inline void put_node(struct bytes *g, const char *op, const char *out, const char *a,
			    const char *b, const char *c)
{
	struct bytes n = node(op, out, a, b, c);

	put_message(g, 1, &n);
}

static inline struct bytes model(const struct bytes *graph, int64_t opset)
{
	struct bytes m = { .n = 0 }, o = { .n = 0 };

	put_int(&o, 2, opset);
	put_int(&m, 1, 8);
	put_text(&m, 2, "test");
	put_message(&m, 7, graph);
	put_message(&m, 8, &o);
	return m;
}

#endif /* LIBACCEL_TESTS_ONNXWRITE_H */
