// SPDX-License-Identifier: MIT
/*
 * tokenizer.json, and what tokenizer_config.json has beside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <json-c/json.h>

#include "inside.h"

static struct json_object *get(struct json_object *o, const char *name)
{
	return json_object_object_get(o, name);
}

static int64_t id_of(struct json_object *o)
{
	int64_t id = json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : -1;

	return id < TOK_MAX_IDS ? id : -1;
}

/* { "token": id, ... }; the file's order does not count */
static int read_vocab(struct accel_tokenizer *t, struct json_object *o, struct accel_error *e)
{
	struct json_object_iterator it, end;

	if (!json_object_is_type(o, json_type_object))
		return tok_fail(e, -EBADMSG, "a model without a vocabulary");
	it = json_object_iter_begin(o);
	end = json_object_iter_end(o);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *name = json_object_iter_peek_name(&it);
		int64_t id = id_of(json_object_iter_peek_value(&it));
		struct tok_bytes text;
		int ret;

		if (id < 0)
			return tok_fail(e, -EBADMSG, "the token \"%.60s\" has no number", name);
		text = (struct tok_bytes){ (const uint8_t *)name, strlen(name) };
		ret = vocab_add(&t->vocab, text, (uint32_t)id);
		if (ret)
			return tok_fail(e, ret, "the token \"%.60s\" %s", name, ret == -EBADMSG ?
					"has another's number" : ret == -E2BIG ? "is too long" :
						"has no memory");
	}
	return 0;
}

/* "a b" or [ "a", "b" ] */
static bool merge_parts(struct json_object *o, struct tok_bytes *a, struct tok_bytes *b)
{
	const uint8_t *space;

	if (json_object_is_type(o, json_type_array)) {
		*a = json_text(json_object_array_get_idx(o, 0));
		*b = json_text(json_object_array_get_idx(o, 1));
		return a->p && b->p;
	}
	*a = json_text(o);
	if (!a->p)
		return false;
	space = memchr(a->p, ' ', a->n);
	if (!space)
		return false;
	*b = (struct tok_bytes){ space + 1, (size_t)(a->p + a->n - space) - 1 };
	a->n = (size_t)(space - a->p);
	return !memchr(b->p, ' ', b->n);
}

static int read_merges(struct accel_tokenizer *t, struct json_object *list, struct accel_error *e)
{
	size_t n, i;

	if (!json_object_is_type(list, json_type_array))
		return tok_fail(e, -EBADMSG, "BPE without merges");
	n = json_object_array_length(list);
	if (n > 2 * (size_t)TOK_MAX_IDS)
		return tok_fail(e, -E2BIG, "%zu merges", n);
	if (merges_make(&t->merges, (uint32_t)n))
		return tok_fail(e, -ENOMEM, "out of memory");
	t->merges.seed = t->vocab.seed;
	for (i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		uint8_t both[2 * TOK_MAX_WORD];
		struct tok_bytes a, b;
		uint32_t left, right, id;

		if (json_object_is_type(o, json_type_string) &&
		    !strncmp((const char *)json_text(o).p, "#version", 8))
			continue;
		if (!merge_parts(o, &a, &b))
			return tok_fail(e, -EBADMSG, "merge %zu is no pair", i);
		left = vocab_find(&t->vocab, a.p, a.n);
		right = vocab_find(&t->vocab, b.p, b.n);
		id = TOK_NONE;
		if (left != TOK_NONE && right != TOK_NONE && b.n >= t->prefix.n) {
			memcpy(both, a.p, a.n);
			memcpy(both + a.n, b.p + t->prefix.n, b.n - t->prefix.n);
			id = vocab_find(&t->vocab, both, a.n + b.n - t->prefix.n);
		}
		if (id == TOK_NONE)
			return tok_fail(e, -EBADMSG, "merge %zu is of what is no token", i);
		merges_add(&t->merges, left, right, (uint32_t)i, id);
	}
	return 0;
}

/* [ [ "token", score ], ... ] */
static int read_scored(struct accel_tokenizer *t, struct json_object *list, struct accel_error *e)
{
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0,
		   i;

	if (!n || n > TOK_MAX_IDS)
		return tok_fail(e, n ? -E2BIG : -EBADMSG, "a vocabulary of %zu tokens", n);
	t->weights = calloc(n, sizeof(*t->weights));
	if (!t->weights)
		return tok_fail(e, -ENOMEM, "out of memory");
	t->weight_n = (uint32_t)n;
	for (i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		struct tok_bytes text = { NULL, 0 };
		struct json_object *score = NULL;
		int ret;

		if (json_object_is_type(o, json_type_array)) {
			text = json_text(json_object_array_get_idx(o, 0));
			score = json_object_array_get_idx(o, 1);
		}
		if (!text.p || (!json_object_is_type(score, json_type_double) &&
				!json_object_is_type(score, json_type_int)))
			return tok_fail(e, -EBADMSG, "token %zu has no text, or no score", i);
		t->weights[i] = json_object_get_double(score);
		ret = vocab_add(&t->vocab, text, (uint32_t)i);
		if (ret)
			return tok_fail(e, ret, "token %zu cannot be kept", i);
	}
	return 0;
}

static int keep(struct tok_bytes *to, struct json_object *o, struct accel_error *e)
{
	struct tok_bytes text = json_text(o);

	if (text.n > TOK_MAX_WORD)
		return tok_fail(e, -E2BIG, "an affix of %zu bytes", text.n);
	*to = bytes_dup(text);
	return to->p ? 0 : tok_fail(e, -ENOMEM, "out of memory");
}

static int read_model(struct accel_tokenizer *t, struct json_object *m, struct accel_error *e)
{
	static const char *const names[] = {
		[ACCEL_TOKENIZER_BPE] = "BPE", [ACCEL_TOKENIZER_WORDPIECE] = "WordPiece",
		[ACCEL_TOKENIZER_UNIGRAM] = "Unigram", [ACCEL_TOKENIZER_WORDLEVEL] = "WordLevel",
	};
	const char *type = json_object_get_string(get(m, "type"));
	struct json_object *o;
	int64_t n;
	uint32_t i;
	int ret;

	for (i = 1; type && i < ARRAY_SIZE(names); i++)
		if (!strcmp(type, names[i]))
			t->model = (enum accel_tokenizer_model)i;
	/* Old files do not say it. */
	if (!type)
		t->model = get(m, "merges") ? ACCEL_TOKENIZER_BPE :
			   json_object_is_type(get(m, "vocab"), json_type_array) ?
				ACCEL_TOKENIZER_UNIGRAM :
			   get(m, "max_input_chars_per_word") ? ACCEL_TOKENIZER_WORDPIECE :
								ACCEL_TOKENIZER_WORDLEVEL;
	if (!t->model || !m)
		return tok_fail(e, m ? -EOPNOTSUPP : -EBADMSG, "a model \"%.60s\" is not known",
				type ? type : "");
	o = get(m, "dropout");
	if (o && json_object_get_double(o) != 0)
		return tok_fail(e, -EOPNOTSUPP, "a model that leaves out merges at random");
	ret = keep(&t->prefix, get(m, "continuing_subword_prefix"), e);
	if (!ret)
		ret = keep(&t->suffix, get(m, "end_of_word_suffix"), e);
	if (ret)
		return ret;
	ret = t->model == ACCEL_TOKENIZER_UNIGRAM ? read_scored(t, get(m, "vocab"), e) :
						    read_vocab(t, get(m, "vocab"), e);
	if (!ret && t->model == ACCEL_TOKENIZER_BPE)
		ret = read_merges(t, get(m, "merges"), e);
	if (ret)
		return ret;
	t->fuse_unk = json_flag(m, "fuse_unk", false);
	t->byte_fallback = json_flag(m, "byte_fallback", false);
	t->ignore_merges = json_flag(m, "ignore_merges", false);
	o = get(m, "max_input_chars_per_word");
	n = json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : 100;
	t->max_chars = n < 0 ? 0 : n > TOK_MAX_TEXT ? TOK_MAX_TEXT : (uint32_t)n;
	if (t->model == ACCEL_TOKENIZER_UNIGRAM) {
		n = id_of(get(m, "unk_id"));
		if (n >= (int64_t)t->weight_n)
			return tok_fail(e, -EBADMSG, "the unknown token is none");
		t->unk = n < 0 ? TOK_NONE : (uint32_t)n;
		return 0;
	}
	o = get(m, "unk_token");
	t->unk = o ? vocab_find(&t->vocab, json_text(o).p, json_text(o).n) : TOK_NONE;
	return 0;
}

static int read_added(struct accel_tokenizer *t, struct json_object *list, struct accel_error *e)
{
	size_t i, n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) :
		      0;

	for (i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		int64_t id = id_of(get(o, "id"));
		bool special = json_flag(o, "special", false);
		struct tok_added a = {
			.id = (uint32_t)id, .special = special,
			.single_word = json_flag(o, "single_word", false),
			.lstrip = json_flag(o, "lstrip", false),
			.rstrip = json_flag(o, "rstrip", false),
			.normalized = json_flag(o, "normalized", !special),
			.text = json_text(get(o, "content")),
		};
		int ret;

		if (id < 0 || !a.text.p)
			return tok_fail(e, -EBADMSG, "added token %zu has no text, or no number",
					i);
		ret = added_add(t, &a);
		if (ret)
			return tok_fail(e, ret, "added token %zu, \"%.60s\", cannot be kept", i,
					a.text.p);
	}
	return 0;
}

/**
 * config_read - a tokenizer.json
 * @t: empty tokenizer
 * @root: the file
 * @e: filled if it fails
 *
 * Return: 0, or the error that @e has.
 */
int config_read(struct accel_tokenizer *t, struct json_object *root, struct accel_error *e)
{
	int ret;

	if (!json_object_is_type(root, json_type_object))
		return tok_fail(e, -EBADMSG, "not a tokenizer");
	ret = read_model(t, get(root, "model"), e);
	if (!ret)
		ret = steps_read(t, root, e);
	if (!ret)
		ret = post_read(t, root, e);
	if (!ret)
		ret = read_added(t, get(root, "added_tokens"), e);
	return ret;
}
