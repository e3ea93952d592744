/* SPDX-License-Identifier: MIT */
/*
 * The wire format of protocol buffers, read where it lies. Nothing is copied, every
 * length is held against what is left, and messages are followed to a bounded depth.
 * Messages are written into memory that grows.
 */
#ifndef LIBACCEL_MODELS_WIRE_H
#define LIBACCEL_MODELS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct slice - bytes
 * @p: first byte
 * @n: number
 */
struct slice {
	const uint8_t *p;
	size_t n;
};

/**
 * struct field - a field of a message
 * @id: its number
 * @number: a varint, or the bits of a fixed one
 * @bytes: a string, a message, or packed numbers
 * @has_bytes: it has @bytes; else @number
 */
struct field {
	uint32_t id;
	uint64_t number;
	struct slice bytes;
	bool has_bytes;
};

bool wire_varint(struct slice *s, uint64_t *number);
int wire_next(struct slice *s, struct field *f);
int wire_whole(struct slice *s, struct field *f, struct slice *whole);
int wire_ints(const struct field *f, int64_t *list, uint32_t *count, uint32_t max);
bool slice_is(struct slice s, const char *text);
int wire_graph(struct slice model, struct slice *graph, const char **twice);

/* Bytes of a name that a message shows: it must have room for what is wrong. */
static inline int slice_shown(struct slice name)
{
	return name.n < 100 ? (int)name.n : 100;
}

/**
 * struct borrowed - bytes of a message that stay where they are
 * @at: how many of its own come before them
 * @s: the bytes
 */
struct borrowed {
	size_t at;
	struct slice s;
};

/**
 * struct message - a message that is written, to be given to message_free()
 * @p: its own bytes
 * @n: their number
 * @room: bytes that there is memory for
 * @borrowed: those of others among them, in order
 * @borrowed_count: entries of @borrowed
 * @borrowed_room: entries that there is memory for
 * @borrowed_bytes: bytes of all of them
 * @failed: there was no memory; what came then is missing
 */
struct message {
	uint8_t *p;
	size_t n;
	size_t room;
	struct borrowed *borrowed;
	size_t borrowed_count;
	size_t borrowed_room;
	size_t borrowed_bytes;
	bool failed;
};

void put_number(struct message *m, uint32_t id, uint64_t number);
void put_bytes(struct message *m, uint32_t id, const void *p, size_t n);
void put_fields(struct message *m, struct slice fields);
void put_text(struct message *m, uint32_t id, const char *text);
/* Bytes that stay where they are until the message was saved */
void put_borrowed(struct message *m, uint32_t id, struct slice s);
/* Another message as a field, or its fields; it goes. */
void put_message(struct message *m, uint32_t id, struct message *inner);
void put_inside(struct message *m, struct message *inner);

/* Bytes of a message */
static inline size_t message_bytes(const struct message *m)
{
	return m->n + m->borrowed_bytes;
}

/**
 * message_next - the parts of a message, one after the other
 * @m: message
 * @i: which; begin with 0
 * @s: out: bytes, which may be none
 *
 * Return: true; false: there are no more.
 */
bool message_next(const struct message *m, size_t *i, struct slice *s);
void message_free(struct message *m);

#endif /* LIBACCEL_MODELS_WIRE_H */
