// SPDX-License-Identifier: MIT
/*
 * Metadata of GGUF files are written.
 */
#include <stdio.h>
#include <string.h>

#include "../families/convert.h"

#define KEY(name)	"tokenizer.ggml." name

void gguf_put(struct message *m, const void *p, size_t n)
{
	put_fields(m, (struct slice) { p, n });
}

static void put_u32(struct message *m, uint32_t x)
{
	x = htole32(x);
	gguf_put(m, &x, sizeof(x));
}

static void put_u64(struct message *m, uint64_t x)
{
	x = htole64(x);
	gguf_put(m, &x, sizeof(x));
}

void gguf_put_string(struct message *m, const char *text, size_t n)
{
	put_u64(m, n);
	gguf_put(m, text, n);
}

static void put_key(struct message *m, uint64_t *entries, const char *key, uint32_t type)
{
	gguf_put_string(m, key, strlen(key));
	put_u32(m, type);
	++*entries;
}

void gguf_put_text(struct message *m, uint64_t *entries, const char *key, const char *value)
{
	put_key(m, entries, key, GGUF_STRING);
	gguf_put_string(m, value, strlen(value));
}

void gguf_put_u32(struct message *m, uint64_t *entries, const char *key, uint32_t value)
{
	put_key(m, entries, key, GGUF_U32);
	put_u32(m, value);
}

void gguf_put_f32(struct message *m, uint64_t *entries, const char *key, float value)
{
	put_key(m, entries, key, GGUF_F32);
	gguf_put(m, &value, sizeof(value));
}

void gguf_put_bool(struct message *m, uint64_t *entries, const char *key, bool value)
{
	uint8_t byte = value;

	put_key(m, entries, key, GGUF_BOOL);
	gguf_put(m, &byte, sizeof(byte));
}

/* --- tokenizers ----------------------------------------------------------------------------- */

static void put_list(struct message *m, uint64_t *entries, const char *key, uint32_t element,
		     uint64_t count)
{
	put_key(m, entries, key, GGUF_ARRAY);
	put_u32(m, element);
	put_u64(m, count);
}

void gguf_put_texts(struct message *m, uint64_t *entries, const char *key, const char *const *list,
		    uint64_t count)
{
	uint64_t i;

	put_list(m, entries, key, GGUF_STRING, count);
	for (i = 0; i < count; i++)
		gguf_put_string(m, list[i], strlen(list[i]));
}

static void put_bytes_text(struct message *m, uint64_t *entries, const char *key,
			   struct tok_bytes text)
{
	put_key(m, entries, key, GGUF_STRING);
	gguf_put_string(m, (const char *)text.p, text.n);
}

static void put_token(struct message *m, uint64_t *entries, const char *key, uint32_t id)
{
	if (id != TOK_NONE)
		gguf_put_u32(m, entries, key, id);
}

void gguf_put_tokenizer(struct message *m, uint64_t *entries, const struct tok_arrays *a,
			uint32_t rows)
{
	const uint32_t all = a && a->count > rows ? a->count : rows;
	char name[24];
	uint32_t i;

	if (!a) {
		gguf_put_text(m, entries, KEY("model"), "none");
		return;
	}
	put_bytes_text(m, entries, KEY("model"), a->model);
	if (a->pre.n)
		put_bytes_text(m, entries, KEY("pre"), a->pre);
	/* Tables may have more rows than there are tokens. */
	put_list(m, entries, KEY("tokens"), GGUF_STRING, all);
	for (i = 0; i < all; i++) {
		snprintf(name, sizeof(name), "[PAD%u]", i);
		if (i < a->count && a->types[i] != TOK_UNUSED)
			gguf_put_string(m, (const char *)a->tokens[i].p, a->tokens[i].n);
		else
			gguf_put_string(m, name, strlen(name));
	}
	put_list(m, entries, KEY("token_type"), GGUF_S32, all);
	for (i = 0; i < all; i++)
		put_u32(m, i < a->count ? (uint32_t)a->types[i] : TOK_UNUSED);
	if (a->scores) {
		put_list(m, entries, KEY("scores"), GGUF_F32, all);
		for (i = 0; i < all; i++) {
			float score = i < a->count ? a->scores[i] : -1e9f;

			gguf_put(m, &score, sizeof(score));
		}
	}
	if (a->merges) {
		put_list(m, entries, KEY("merges"), GGUF_STRING, a->merge_count);
		for (i = 0; i < a->merge_count; i++)
			gguf_put_string(m, (const char *)a->merges[i].p, a->merges[i].n);
	}
	put_token(m, entries, KEY("bos_token_id"), a->bos);
	put_token(m, entries, KEY("eos_token_id"), a->eos);
	put_token(m, entries, KEY("unknown_token_id"), a->unk);
	put_token(m, entries, KEY("padding_token_id"), a->pad);
	put_token(m, entries, KEY("seperator_token_id"), a->sep);
	put_token(m, entries, KEY("cls_token_id"), a->cls);
	put_token(m, entries, KEY("mask_token_id"), a->mask);
	gguf_put_bool(m, entries, KEY("add_bos_token"), a->add_bos > 0);
	gguf_put_bool(m, entries, KEY("add_eos_token"), a->add_eos > 0);
	gguf_put_bool(m, entries, KEY("add_space_prefix"), a->add_space_prefix > 0);
	if (a->chat_template.n)
		put_bytes_text(m, entries, "tokenizer.chat_template", a->chat_template);
}
