// SPDX-License-Identifier: MIT
/*
 * Tokenizers as the arrays that GGUF files have: byte-level BPE with its merges, BPE with
 * bytes for what is unknown, whose merges become scores of tokens, and BERT's pieces of words.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/**
 * struct pair - a merge
 * @rank: those of low rank come first
 * @left: token
 * @right: token
 * @id: what they become
 */
struct pair {
	uint32_t rank;
	uint32_t left;
	uint32_t right;
	uint32_t id;
};

static int by_rank(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Merges in their order; NULL: no memory */
static struct pair *list_merges(const struct accel_tokenizer *t, uint32_t *count)
{
	const struct tok_merges *m = &t->merges;
	uint64_t slots = m->keys ? (uint64_t)m->mask + 1 : 0, i;
	struct pair *list = calloc(slots + 1, sizeof(*list));

	*count = 0;
	for (i = 0; list && i < slots; i++)
		if (m->keys[i] != UINT64_MAX)
			list[(*count)++] = (struct pair) {
				(uint32_t)(m->vals[i] >> 32), (uint32_t)(m->keys[i] >> 32),
				(uint32_t)m->keys[i], (uint32_t)m->vals[i]
			};
	if (list)
		qsort(list, *count, sizeof(*list), by_rank);
	return list;
}

/* Texts "a b", all in one piece of memory that begins with the first */
static int put_merges(const struct accel_tokenizer *t, const struct pair *pairs, uint32_t count,
		      struct tok_arrays *a)
{
	struct tok_bytes *merges = calloc((size_t)count + 1, sizeof(*merges)), left, right;
	size_t bytes = 1;
	uint8_t *text;
	uint32_t i;

	a->merges = merges;
	for (i = 0; i < count; i++)
		if (vocab_get(&t->vocab, pairs[i].left, &left) &&
		    vocab_get(&t->vocab, pairs[i].right, &right))
			bytes += left.n + right.n + 1;
	text = malloc(bytes);
	if (!merges || !text) {
		free(text);
		return -ENOMEM;
	}
	merges[0].p = text;
	for (i = 0; i < count; i++) {
		if (!vocab_get(&t->vocab, pairs[i].left, &left) ||
		    !vocab_get(&t->vocab, pairs[i].right, &right))
			continue;
		merges[a->merge_count].p = text;
		merges[a->merge_count++].n = left.n + right.n + 1;
		memcpy(text, left.p, left.n);
		text += left.n;
		*text++ = ' ';
		memcpy(text, right.p, right.n);
		text += right.n;
	}
	return 0;
}

static int put_scores(const struct pair *pairs, uint32_t count, struct tok_arrays *a)
{
	float *scores = calloc((size_t)a->count + 1, sizeof(*scores));
	uint32_t i;

	a->scores = scores;
	if (!scores)
		return -ENOMEM;
	for (i = count; i-- > 0;)
		if (pairs[i].id < a->count)
			scores[pairs[i].id] = -(float)(i + 1);
	return 0;
}

static int put_tokens(const struct accel_tokenizer *t, struct tok_arrays *a)
{
	struct accel_tokenizer_info info = { .size = sizeof(info) };
	struct tok_bytes *tokens;
	const struct tok_added *add;
	int32_t *types;
	uint32_t i;

	accel_tokenizer_get_info(t, &info);
	a->count = info.count;
	for (i = 0; i < t->added_n; i++)
		a->count = t->added[i].id >= a->count ? t->added[i].id + 1 : a->count;
	tokens = calloc((size_t)a->count + 1, sizeof(*tokens));
	types = calloc((size_t)a->count + 1, sizeof(*types));
	a->tokens = tokens;
	a->types = types;
	if (!tokens || !types)
		return -ENOMEM;
	for (i = 0; i < a->count; i++) {
		add = added_get(t, i);
		if (add) {
			tokens[i] = add->text;
			types[i] = add->special ? TOK_CONTROL : TOK_USER;
		} else if (!vocab_get(&t->vocab, i, &tokens[i])) {
			types[i] = TOK_UNUSED;
		} else {
			types[i] = t->byte_fallback && byte_token(tokens[i]) >= 0 ? TOK_BYTE :
				   TOK_NORMAL;
		}
		if (i == t->unk)
			types[i] = TOK_UNKNOWN;
	}
	return 0;
}

/* BERT's steps in lower case, which GGUF has without saying so */
static bool is_bert(const struct accel_tokenizer *t)
{
	static const enum tok_kind kinds[] = { STEP_BERT, STEP_NFD, STEP_ACCENTS, STEP_LOWER };
	const struct tok_template *m = &t->single;
	uint32_t i;

	if (t->model != ACCEL_TOKENIZER_WORDPIECE || t->max_chars != 100 || t->prefix.n != 2 ||
	    memcmp(t->prefix.p, "##", 2) || t->normalizers.n != ARRAY_SIZE(kinds) ||
	    t->splits.n != 1 || t->splits.v[0].kind != STEP_BERT_SPLIT)
		return false;
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (t->normalizers.v[i].kind != kinds[i])
			return false;
	return t->normalizers.v[0].a && t->normalizers.v[0].b && t->has_template && m->n == 3 &&
	       m->v[0].id != TOK_NONE && m->v[1].id == TOK_NONE && m->v[2].id != TOK_NONE;
}

/* GGUF marks what begins a word, where BERT marks what goes on. */
static int mark_words(struct tok_arrays *a)
{
	struct tok_bytes *tokens = (struct tok_bytes *)(uintptr_t)a->tokens;
	size_t bytes = 1;
	uint8_t *text;
	uint32_t i;

	for (i = 0; i < a->count; i++)
		bytes += tokens[i].n + 3;
	text = malloc(bytes);
	a->texts = text;
	for (i = 0; text && i < a->count; i++) {
		if (a->types[i] != TOK_NORMAL)
			continue;
		if (tokens[i].n >= 2 && !memcmp(tokens[i].p, "##", 2)) {
			tokens[i].p += 2;
			tokens[i].n -= 2;
			continue;
		}
		memcpy(text, "\xe2\x96\x81", 3);
		memcpy(text + 3, tokens[i].p, tokens[i].n);
		tokens[i].p = text;
		tokens[i].n += 3;
		text += tokens[i].n;
	}
	return text ? 0 : -ENOMEM;
}

/* What stands around texts */
static void put_around(const struct accel_tokenizer *t, struct tok_arrays *a)
{
	const struct tok_template *m = &t->single;
	uint32_t i;

	a->bos = t->bos;
	a->eos = t->eos;
	a->pad = t->pad_token;
	a->unk = t->unk;
	a->add_bos = t->has_template && m->n > 1 && m->v[0].id != TOK_NONE;
	if (a->add_bos)
		a->bos = m->v[0].id;
	for (i = 0; t->has_template && i < m->n && m->v[i].id != TOK_NONE; i++)
		;
	a->add_eos = t->has_template && i + 1 < m->n;
	if (a->add_eos)
		a->eos = m->v[i + 1].id;
}

static int to_bert(const struct accel_tokenizer *t, struct tok_arrays *a, struct accel_error *error)
{
	int ret;

	a->model = (struct tok_bytes) { (const uint8_t *)"bert", 4 };
	put_around(t, a);
	a->cls = a->bos;
	a->sep = a->eos;
	a->mask = vocab_find(&t->vocab, (const uint8_t *)"[MASK]", 6);
	ret = put_tokens(t, a);
	if (!ret)
		ret = mark_words(a);
	if (!ret)
		return 0;
	tok_arrays_free(a);
	return tok_fail(error, ret, "out of memory");
}

/* Spaces as SentencePiece has them: 1 one comes before the text, 0 none does, -1 other steps */
static int low_lines(const struct accel_tokenizer *t)
{
	const struct tok_step *v;
	int prefix = 0;
	uint32_t i;

	if (t->splits.n == 1 && !t->normalizers.n && t->splits.v[0].kind == STEP_METASPACE)
		return t->splits.v[0].ch != 0x2581 || t->splits.v[0].split ? -1 :
		       t->splits.v[0].scheme != SCHEME_NEVER;
	for (i = 0; i < t->normalizers.n; i++) {
		v = &t->normalizers.v[i];
		if (v->text.n != 3 || memcmp(v->text.p, "\xe2\x96\x81", 3) != 0 ||
		    (v->kind != STEP_PREPEND && (v->kind != STEP_REPLACE || v->pattern.code ||
						 v->pattern.n != 1 || *v->pattern.text != ' ')))
			return -1;
		prefix |= v->kind == STEP_PREPEND;
	}
	return t->splits.n || !i ? -1 : prefix;
}

int tok_to_arrays(const struct accel_tokenizer *t, struct tok_arrays *a, struct accel_error *error)
{
	const bool bytes = t->splits.n && t->splits.v[t->splits.n - 1].kind == STEP_BYTE_LEVEL;
	const char *model = bytes ? "gpt2" : "llama", *pre = bytes ? tok_cut_name(t) : "";
	const int prefix = bytes ? t->splits.v[t->splits.n - 1].a : low_lines(t);
	struct pair *pairs;
	uint32_t count;
	int ret;

	*a = (struct tok_arrays)TOK_ARRAYS_INIT;
	if (is_bert(t))
		return to_bert(t, a, error);
	if (t->model != ACCEL_TOKENIZER_BPE || t->prefix.n || t->suffix.n ||
	    (!bytes && (!t->byte_fallback || prefix < 0)))
		return tok_fail(error, -EOPNOTSUPP,
				"GGUF has no words for the steps of the tokenizer");
	if (!pre)
		return tok_fail(error, -EOPNOTSUPP,
				"GGUF has no name for how the tokenizer cuts texts");
	a->model = (struct tok_bytes) { (const uint8_t *)model, strlen(model) };
	a->pre = (struct tok_bytes) { (const uint8_t *)pre, strlen(pre) };
	a->add_space_prefix = prefix;
	if (t->chat_template)
		a->chat_template = (struct tok_bytes) { (const uint8_t *)t->chat_template,
							strlen(t->chat_template) };
	put_around(t, a);
	pairs = list_merges(t, &count);
	ret = pairs ? put_tokens(t, a) : -ENOMEM;
	if (!ret)
		ret = bytes ? put_merges(t, pairs, count, a) : put_scores(pairs, count, a);
	free(pairs);
	if (!ret)
		return 0;
	tok_arrays_free(a);
	return tok_fail(error, ret, "out of memory");
}

void tok_arrays_free(struct tok_arrays *a)
{
	if (a->merges)
		free((void *)(uintptr_t)a->merges[0].p);
	free((void *)(uintptr_t)a->merges);
	free((void *)(uintptr_t)a->tokens);
	free((void *)(uintptr_t)a->types);
	free((void *)(uintptr_t)a->scores);
	free(a->texts);
	*a = (struct tok_arrays)TOK_ARRAYS_INIT;
}
