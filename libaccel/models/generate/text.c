// SPDX-License-Identifier: MIT
/*
 * Bytes of tokens as text: what is certain is told. Not certain are bytes that begin a character
 * and those that may begin a text which ends the answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

int text_start(struct text *t, const char *const *stops, uint32_t count)
{
	*t = (struct text) { 0 };
	if (!count)
		return 0;
	t->stops = calloc(count, sizeof(*t->stops));
	if (!t->stops)
		return -ENOMEM;
	for (; t->stop_count < count; t->stop_count++) {
		t->stops[t->stop_count] = strdup(stops[t->stop_count]);
		if (!t->stops[t->stop_count])
			return -ENOMEM;
	}
	return 0;
}

void text_free(struct text *t)
{
	uint32_t i;

	for (i = 0; i < t->stop_count; i++)
		free(t->stops[i]);
	free(t->stops);
	free(t->data);
	*t = (struct text) { 0 };
}

/* Where the first text that ends it begins, the end if none is there */
static uint32_t find_stop(const struct text *t, bool *found)
{
	uint32_t i, k, best = t->count;

	*found = false;
	for (i = 0; i < t->stop_count; i++) {
		size_t n = strlen(t->stops[i]);

		for (k = 0; n && k + n <= t->count && (!*found || k < best); k++)
			if (!memcmp(t->data + k, t->stops[i], n)) {
				best = k;
				*found = true;
			}
	}
	return best;
}

/**
 * text_add - more bytes
 * @t: text
 * @bytes: bytes
 * @count: how many
 * @stop: out: there is a text that ends it; it and what comes behind it are gone
 *
 * Return: 0, -ENOMEM.
 */
int text_add(struct text *t, const char *bytes, uint32_t count, bool *stop)
{
	uint32_t cap = t->cap ? t->cap : 64;
	char *data;

	while (cap < t->count + count)
		cap *= 2;
	if (cap != t->cap) {
		data = realloc(t->data, cap);
		if (!data)
			return -ENOMEM;
		t->data = data;
		t->cap = cap;
	}
	if (count)
		memcpy(t->data + t->count, bytes, count);
	t->count += count;
	t->count = find_stop(t, stop);
	return 0;
}

/* Bytes of the character that a byte begins, 1 for what begins none */
static uint32_t char_bytes(unsigned char c)
{
	if (c >= 0xf0 && c < 0xf8)
		return 4;
	if (c >= 0xe0 && c < 0xf0)
		return 3;
	return c >= 0xc0 && c < 0xe0 ? 2 : 1;
}

/* How much of a text that ends it may be the last bytes before @end */
static uint32_t begun(const struct text *t, uint32_t end)
{
	uint32_t i, n, most = 0;

	for (i = 0; i < t->stop_count; i++) {
		size_t length = strlen(t->stops[i]);

		n = length && length - 1 < end ? (uint32_t)length - 1 : end;
		for (; length && n > most; n--)
			if (!memcmp(t->data + end - n, t->stops[i], n))
				most = n;
	}
	return most;
}

/* How many bytes from the first on are certain */
uint32_t text_certain(const struct text *t)
{
	uint32_t back, end = t->count;

	end -= begun(t, end);
	/* A character of which there is a beginning only: at most three bytes are missing. */
	for (back = 1; back <= 3 && back <= end; back++) {
		unsigned char c = (unsigned char)t->data[end - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return char_bytes(c) > back ? end - back : end;
	}
	return end;
}

/* The first bytes were told. */
void text_take(struct text *t, uint32_t count)
{
	if (!count)
		return;
	memmove(t->data, t->data + count, t->count - count);
	t->count -= count;
}
