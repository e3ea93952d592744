// SPDX-License-Identifier: MIT
/*
 * Fields of protocol buffers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

/* Fewer bytes are copied, as they are hardly more than the entry for them. */
#define MIN_BORROWED	256u

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
