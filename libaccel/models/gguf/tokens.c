// SPDX-License-Identifier: MIT
/*
 * The tokenizer that a GGUF file has in its metadata.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../stored.h"
#include "../tokenizers/tokenizers.h"

#define KEY(name)	"tokenizer.ggml." name

static struct tok_bytes text_of(const struct store *store, const char *key)
{
	uint64_t length = 0;
	const char *text;

	if (!meta_string(meta_find(store, key), NULL, &text, &length))
		return (struct tok_bytes) { NULL, 0 };
	return (struct tok_bytes) { (const uint8_t *)text, length };
}

/* A list of texts, which were found to be in the file; NULL and 0: there is none */
static int texts_of(const struct store *store, const char *key, struct tok_bytes **list,
		    uint32_t *count)
{
	const struct meta *m = meta_find(store, key);
	const uint8_t *at = m ? m->data : NULL;
	const char *text;
	uint64_t i, n;

	if (!m || m->type != GGUF_ARRAY || m->element != GGUF_STRING)
		return 0;
	if (m->count > TOK_MAX_IDS)
		return -E2BIG;
	*list = calloc(m->count + 1, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (i = 0; i < m->count && meta_string(m, &at, &text, &n); i++)
		(*list)[i] = (struct tok_bytes) { (const uint8_t *)text, n };
	*count = (uint32_t)m->count;
	return 0;
}

static int scores_of(const struct store *store, uint32_t count, float **list)
{
	const struct meta *m = meta_find(store, KEY("scores"));
	uint32_t i;
	double x;

	if (!m || m->type != GGUF_ARRAY)
		return 0;
	*list = m->count == count ? calloc((size_t)count + 1, sizeof(**list)) : NULL;
	if (!*list)
		return m->count == count ? -ENOMEM : -EBADMSG;
	for (i = 0; i < count; i++) {
		if (!meta_number(m, i, &x))
			return -EBADMSG;
		(*list)[i] = (float)x;
	}
	return 0;
}

static int types_of(const struct store *store, uint32_t count, int32_t **list)
{
	const struct meta *m = meta_find(store, KEY("token_type"));
	uint32_t i;
	int64_t x;

	if (!m || m->type != GGUF_ARRAY)
		return 0;
	*list = m->count == count ? calloc((size_t)count + 1, sizeof(**list)) : NULL;
	if (!*list)
		return m->count == count ? -ENOMEM : -EBADMSG;
	for (i = 0; i < count; i++) {
		if (!meta_whole(m, i, &x) || x < INT32_MIN || x > INT32_MAX)
			return -EBADMSG;
		(*list)[i] = (int32_t)x;
	}
	return 0;
}

/* TOK_NONE is how some files say that there is none. */
static int token_of(const struct store *store, const char *key, uint32_t count, uint32_t *id,
		    struct accel_error *error)
{
	int64_t n;
	int ret = meta_count(store, key, &n, error);

	*id = ret || n < 0 || n == TOK_NONE ? TOK_NONE : (uint32_t)n;
	if (!ret && n >= count && n != TOK_NONE)
		ret = stored_fail(error, -EBADMSG, "%s is %lld, of %u tokens", key, (long long)n,
				  count);
	return ret;
}

static int ids_of(const struct store *store, struct tok_arrays *a, struct accel_error *error)
{
	const struct {
		const char *key;
		uint32_t *id;
	} ids[] = {
		{ KEY("bos_token_id"), &a->bos }, { KEY("eos_token_id"), &a->eos },
		{ KEY("unknown_token_id"), &a->unk }, { KEY("seperator_token_id"), &a->sep },
		{ KEY("padding_token_id"), &a->pad }, { KEY("cls_token_id"), &a->cls },
		{ KEY("mask_token_id"), &a->mask },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]) && !ret; i++)
		ret = token_of(store, ids[i].key, a->count, ids[i].id, error);
	return ret;
}

static int flag_of(const struct store *store, const char *key)
{
	int64_t flag;

	return meta_whole(meta_find(store, key), 0, &flag) ? flag != 0 : -1;
}

static void take_bytes(const struct store *store, struct tok_bytes *bytes)
{
	const struct meta *m = meta_find(store, KEY("precompiled_charsmap"));

	if (m && m->type == GGUF_ARRAY && (m->element == GGUF_U8 || m->element == GGUF_S8))
		*bytes = (struct tok_bytes) { m->data, m->count };
}

int gguf_tokenizer(const char *path, struct accel_error *error, struct accel_tokenizer **out)
{
	struct tok_arrays a = TOK_ARRAYS_INIT;
	struct tok_bytes *tokens = NULL, *merges = NULL;
	struct accel_error e = ACCEL_ERROR_INIT;
	int32_t *types = NULL;
	float *scores = NULL;
	struct store s;
	int ret;

	ret = stored_open(path, &s, &e);
	if (ret)
		goto out;
	a.model = text_of(&s, KEY("model"));
	a.pre = text_of(&s, KEY("pre"));
	a.chat_template = text_of(&s, "tokenizer.chat_template");
	take_bytes(&s, &a.charsmap);
	ret = texts_of(&s, KEY("tokens"), &tokens, &a.count);
	if (!ret)
		ret = texts_of(&s, KEY("merges"), &merges, &a.merge_count);
	if (!ret)
		ret = scores_of(&s, a.count, &scores);
	if (!ret)
		ret = types_of(&s, a.count, &types);
	a.tokens = tokens;
	a.merges = merges;
	a.scores = scores;
	a.types = types;
	a.add_bos = flag_of(&s, KEY("add_bos_token"));
	a.add_eos = flag_of(&s, KEY("add_eos_token"));
	a.add_sep = flag_of(&s, KEY("add_sep_token"));
	a.add_space_prefix = flag_of(&s, KEY("add_space_prefix"));
	a.remove_extra_whitespaces = flag_of(&s, KEY("remove_extra_whitespaces"));
	if (ret)
		stored_fail(&e, ret, "%.180s: its lists of tokens do not fit", path);
	else if (!a.count)
		ret = stored_fail(&e, -EBADMSG, "%.180s: no tokens", path);
	else
		ret = ids_of(&s, &a, &e);
	if (!ret)
		ret = tok_from_arrays(&a, &e, out);
	free(tokens);
	free(merges);
	free(scores);
	free(types);
	stored_close(&s);
out:
	if (ret && error && error->size >= sizeof(e))
		*error = e;
	return ret;
}
