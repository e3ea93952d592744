// SPDX-License-Identifier: MIT
/*
 * Fields of protocol buffers, and which of them a model has once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

/* Fewer bytes are copied, as they are hardly more than the entry for them. */
#define MIN_BORROWED	256u
/* Messages within messages: no reader follows graphs or types as deep. */
#define MAX_NESTED	100u

bool wire_varint(struct slice *s, uint64_t *number)
{
	uint64_t n = 0;
	uint32_t shift;

	for (shift = 0; shift < 64 && s->n; shift += 7) {
		uint8_t c = *s->p;

		s->p++;
		s->n--;
		n |= (uint64_t)(c & 127) << shift;
		if (c < 128) {
			*number = n;
			return true;
		}
	}
	return false;
}

static bool fixed(struct slice *s, size_t bytes, uint64_t *number)
{
	if (s->n < bytes)
		return false;
	*number = 0;
	memcpy(number, s->p, bytes);
	s->p += bytes;
	s->n -= bytes;
	return true;
}

/**
 * wire_next - the next field of a message
 * @s: what is left of it, advanced
 * @f: out
 *
 * Return: 1 a field; 0 the end; -EBADMSG.
 */
int wire_next(struct slice *s, struct field *f)
{
	uint64_t key, len;

	if (!s->n)
		return 0;
	if (!wire_varint(s, &key) || key >> 3 > UINT32_MAX || !(key >> 3))
		return -EBADMSG;
	memset(f, 0, sizeof(*f));
	f->id = (uint32_t)(key >> 3);
	switch (key & 7) {
	case 0:
		return wire_varint(s, &f->number) ? 1 : -EBADMSG;
	case 1:
		return fixed(s, 8, &f->number) ? 1 : -EBADMSG;
	case 5:
		return fixed(s, 4, &f->number) ? 1 : -EBADMSG;
	case 2:
		if (!wire_varint(s, &len) || len > s->n)
			return -EBADMSG;
		f->has_bytes = true;
		f->bytes = (struct slice) { s->p, (size_t)len };
		s->p += len;
		s->n -= (size_t)len;
		return 1;
	default:
		return -EBADMSG;
	}
}

/* The same, and all bytes of the field, for who copies it */
int wire_whole(struct slice *s, struct field *f, struct slice *whole)
{
	int ret;

	*whole = *s;
	ret = wire_next(s, f);
	whole->n -= s->n;
	return ret;
}

/* The numbers of a repeated field, packed or not, behind those that are there. */
int wire_ints(const struct field *f, int64_t *list, uint32_t *count, uint32_t max)
{
	struct slice s = f->bytes;
	uint64_t n;

	if (!f->has_bytes) {
		if (*count == max)
			return -E2BIG;
		list[(*count)++] = (int64_t)f->number;
		return 0;
	}
	while (s.n) {
		if (*count == max)
			return -E2BIG;
		if (!wire_varint(&s, &n))
			return -EBADMSG;
		list[(*count)++] = (int64_t)n;
	}
	return 0;
}

bool slice_is(struct slice s, const char *text)
{
	return s.n == strlen(text) && (!s.n || !memcmp(s.p, text, s.n));
}

/* --- the messages of a model -------------------------------------------------------------- */

/* OTHER: nothing is read in it that is a message. ELEMENT: of sequences and optional values */
enum message_kind {
	OTHER, MODEL, TRAINING, FUNCTION, GRAPH, NODE, ATTR, SPARSE, VALUE, TYPE, ELEMENT, TENSOR
};

/**
 * struct part - a message in another one
 * @in: of these
 * @id: field
 * @kind: what it is
 * @once: name of a field that is there once at most, NULL: of a list
 */
struct part {
	enum message_kind in;
	uint32_t id;
	enum message_kind kind;
	const char *once;
};

static const struct part *find_part(enum message_kind in, uint32_t id)
{
	static const struct part parts[] = {
		{ MODEL, 7, GRAPH, "ModelProto.graph" },
		{ MODEL, 20, TRAINING, NULL },
		{ MODEL, 25, FUNCTION, NULL },
		{ TRAINING, 1, GRAPH, "TrainingInfoProto.initialization" },
		{ TRAINING, 2, GRAPH, "TrainingInfoProto.algorithm" },
		{ FUNCTION, 7, NODE, NULL },
		{ FUNCTION, 11, ATTR, NULL },
		{ FUNCTION, 12, VALUE, NULL },
		{ GRAPH, 1, NODE, NULL },
		{ GRAPH, 11, VALUE, NULL },
		{ GRAPH, 12, VALUE, NULL },
		{ GRAPH, 13, VALUE, NULL },
		{ GRAPH, 15, SPARSE, NULL },
		{ NODE, 5, ATTR, NULL },
		{ ATTR, 5, OTHER, "AttributeProto.t" },
		{ ATTR, 6, GRAPH, "AttributeProto.g" },
		{ ATTR, 11, GRAPH, NULL },
		{ ATTR, 14, TYPE, "AttributeProto.tp" },
		{ ATTR, 15, TYPE, NULL },
		{ ATTR, 22, SPARSE, "AttributeProto.sparse_tensor" },
		{ ATTR, 23, SPARSE, NULL },
		{ SPARSE, 1, OTHER, "SparseTensorProto.values" },
		{ SPARSE, 2, OTHER, "SparseTensorProto.indices" },
		{ VALUE, 2, TYPE, "ValueInfoProto.type" },
		{ TYPE, 1, TENSOR, "TypeProto.tensor_type" },
		{ TYPE, 4, ELEMENT, "TypeProto.sequence_type" },
		{ TYPE, 9, ELEMENT, "TypeProto.optional_type" },
		{ ELEMENT, 1, TYPE, "TypeProto.elem_type" },
		{ TENSOR, 2, OTHER, "TypeProto.Tensor.shape" },
	};
	uint32_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].in == in && parts[i].id == id)
			return &parts[i];
	return NULL;
}

/* The name of a field that comes in several pieces, or NULL */
static const char *find_twice(struct slice s, enum message_kind kind, uint32_t depth)
{
	const struct part *part;
	const char *twice;
	uint32_t seen = 0;
	struct field f;

	/* What cannot be read is told by who reads it. */
	while (wire_next(&s, &f) > 0) {
		part = f.has_bytes ? find_part(kind, f.id) : NULL;
		if (!part)
			continue;
		twice = part->once && seen >> f.id & 1 ? part->once : NULL;
		if (!twice && part->kind != OTHER && depth < MAX_NESTED)
			twice = find_twice(f.bytes, part->kind, depth + 1);
		if (twice)
			return twice;
		seen |= 1u << f.id;
	}
	return NULL;
}

/**
 * wire_graph - the graph of a model
 * @model: model
 * @graph: out: bytes, none: it has no graph
 * @twice: out: name of a field that comes in several pieces, or NULL
 *
 * A message that comes in several pieces is to be merged, and who took one of them would lose the
 * others without a word. Nothing is known to write such a model, and data that is used where it
 * lies would have to be copied for it, so it is refused, whatever the field.
 *
 * Return: 0, also if it is damaged; -EOPNOTSUPP there is such a field.
 */
int wire_graph(struct slice model, struct slice *graph, const char **twice)
{
	struct field f;

	*twice = find_twice(model, MODEL, 0);
	*graph = (struct slice) { 0 };
	while (wire_next(&model, &f) > 0)
		if (f.id == 7 && f.has_bytes)
			*graph = f.bytes;
	return *twice ? -EOPNOTSUPP : 0;
}

/* --- writing ------------------------------------------------------------------------------ */

/* Room for more bytes, NULL: there is none */
static uint8_t *grow(struct message *m, size_t n)
{
	size_t need, room = m->room ? m->room : 256;
	uint8_t *p;

	if (m->failed || __builtin_add_overflow(m->n, n, &need)) {
		m->failed = true;
		return NULL;
	}
	while (room < need)
		room = room > SIZE_MAX / 2 ? need : 2 * room;
	if (room > m->room) {
		p = realloc(m->p, room);
		if (!p) {
			m->failed = true;
			return NULL;
		}
		m->p = p;
		m->room = room;
	}
	p = m->p + m->n;
	m->n = need;
	return p;
}

static void put_varint(struct message *m, uint64_t n)
{
	uint8_t buf[10], *to;
	size_t count = 0;

	do {
		buf[count] = (uint8_t)((n & 127) | (n > 127 ? 128 : 0));
		n >>= 7;
		count++;
	} while (n);
	to = grow(m, count);
	if (to)
		memcpy(to, buf, count);
}

void put_number(struct message *m, uint32_t id, uint64_t number)
{
	put_varint(m, (uint64_t)id << 3);
	put_varint(m, number);
}

void put_bytes(struct message *m, uint32_t id, const void *p, size_t n)
{
	uint8_t *to;

	put_varint(m, (uint64_t)id << 3 | 2);
	put_varint(m, n);
	to = grow(m, n);
	if (to && n)
		memcpy(to, p, n);
}

/* Fields as they are */
void put_fields(struct message *m, struct slice fields)
{
	uint8_t *to = grow(m, fields.n);

	if (to && fields.n)
		memcpy(to, fields.p, fields.n);
}

void put_text(struct message *m, uint32_t id, const char *text)
{
	put_bytes(m, id, text, strlen(text));
}

static void borrow(struct message *m, size_t at, struct slice s)
{
	size_t room = m->borrowed_room ? 2 * m->borrowed_room : 16;
	struct borrowed *more = m->borrowed;

	if (m->borrowed_count == m->borrowed_room) {
		more = reallocarray(m->borrowed, room, sizeof(*more));
		if (!more) {
			m->failed = true;
			return;
		}
		m->borrowed = more;
		m->borrowed_room = room;
	}
	more[m->borrowed_count++] = (struct borrowed) { at, s };
	m->failed |= __builtin_add_overflow(m->borrowed_bytes, s.n, &m->borrowed_bytes);
}

void put_borrowed(struct message *m, uint32_t id, struct slice s)
{
	if (s.n < MIN_BORROWED) {
		put_bytes(m, id, s.p, s.n);
		return;
	}
	put_varint(m, (uint64_t)id << 3 | 2);
	put_varint(m, s.n);
	borrow(m, m->n, s);
}

void put_inside(struct message *m, struct message *inner)
{
	size_t i;

	for (i = 0; i < inner->borrowed_count; i++)
		borrow(m, m->n + inner->borrowed[i].at, inner->borrowed[i].s);
	put_fields(m, (struct slice) { inner->p, inner->n });
	m->failed |= inner->failed;
	message_free(inner);
}

void put_message(struct message *m, uint32_t id, struct message *inner)
{
	put_varint(m, (uint64_t)id << 3 | 2);
	put_varint(m, message_bytes(inner));
	put_inside(m, inner);
}

bool message_next(const struct message *m, size_t *i, struct slice *s)
{
	const size_t at = *i / 2, from = at ? m->borrowed[at - 1].at : 0;

	if (at > m->borrowed_count || (at == m->borrowed_count && *i % 2))
		return false;
	if (*i % 2)
		*s = m->borrowed[at].s;
	else
		*s = (struct slice) { m->p ? m->p + from : NULL,
				      (at < m->borrowed_count ? m->borrowed[at].at : m->n) - from };
	++*i;
	return true;
}

void message_free(struct message *m)
{
	free(m->p);
	free(m->borrowed);
	memset(m, 0, sizeof(*m));
}
