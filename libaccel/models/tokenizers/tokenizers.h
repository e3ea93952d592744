/* SPDX-License-Identifier: MIT */
/*
 * Tokenizers.
 *
 *	tokenizer.c	tokenizers as callers have them; encode.c all the steps of a text
 *	config.c	tokenizer.json; steps.c its lists of steps
 *	arrays.c	tokenizers from arrays, as GGUF files have them, and vocab.txt
 *	list.c		tokenizers as such arrays
 *	vocab.c		tokens by text, and texts by their first bytes
 *	unicode.c	characters: classes, lower case, normal forms
 *	text.c		a text on its way, each byte of which knows where it comes from
 *	normalize.c	steps that change the text; charsmap.c those that come precompiled
 *	split.c		steps that cut it
 *	pattern.c	strings and regular expressions
 *	added.c		tokens that are looked for in the text
 *	bpe.c unigram.c words.c		the models
 *	process.c	tokens around the text, truncation, padding
 *	decode.c	tokens to text; stream.c one after the other
 */
#ifndef LIBACCEL_MODELS_TOKENIZERS_H
#define LIBACCEL_MODELS_TOKENIZERS_H

#include <pthread.h>
#include <stdbool.h>
#include <accel/tokenizer.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define TOK_NONE	ACCEL_TOKEN_NONE
/* What is refused: files, tokens, bytes of a token, steps, texts, results in bytes */
#define TOK_MAX_FILE	(256u << 20)
#define TOK_MAX_IDS	(4u << 20)
#define TOK_MAX_WORD	4096u
#define TOK_MAX_STEPS	64u
#define TOK_MAX_TEXT	(256u << 20)
#define TOK_MAX_OUT	(1u << 30)

/**
 * struct tok_bytes - a text, not terminated
 */
struct tok_bytes {
	const uint8_t *p;
	size_t n;
};

/*
 * --- from arrays
 * ---------------------------------------------------------------------------------
 */

/* Types of tokens in GGUF files */
enum tok_type {
	TOK_NORMAL = 1, TOK_UNKNOWN = 2, TOK_CONTROL = 3, TOK_USER = 4, TOK_UNUSED = 5, TOK_BYTE = 6
};

/**
 * struct tok_arrays - a tokenizer as GGUF files have it ("tokenizer.ggml.*")
 * @model: "gpt2", "llama", "bert" or "t5"
 * @pre: how texts are cut for "gpt2" ("llama-bpe", "qwen2", ...); empty: as GPT-2 does
 * @tokens: texts, @count of them
 * @count: tokens
 * @scores: @count, or NULL
 * @types: &enum tok_type, @count, or NULL: all are normal
 * @merges: pairs "a b", @merge_count of them, for "gpt2"
 * @merge_count: merges
 * @bos: token, TOK_NONE: none; @eos, @unk, @sep, @pad, @cls, @mask as well
 * @add_bos: texts begin with @bos; -1: the file does not say, and the model decides
 * @add_eos: texts end with @eos; -1 likewise
 * @add_sep: a second text is set apart by @sep; -1 likewise
 * @add_space_prefix: a space comes before the text; -1 likewise
 * @remove_extra_whitespaces: runs of spaces count as one; -1 likewise
 * @charsmap: precompiled normalizer, or empty
 * @texts: of tokens, that were made by tok_to_arrays(); else NULL
 * @chat_template: template of conversations, or empty
 *
 * Nothing of it has to stay after the call.
 */
struct tok_arrays {
	struct tok_bytes model, pre;
	const struct tok_bytes *tokens;
	uint32_t count;
	const float *scores;
	const int32_t *types;
	const struct tok_bytes *merges;
	uint32_t merge_count;
	uint32_t bos, eos, unk, sep, pad, cls, mask;
	int add_bos, add_eos, add_sep, add_space_prefix, remove_extra_whitespaces;
	struct tok_bytes charsmap, chat_template;
	uint8_t *texts;
};

/** TOK_ARRAYS_INIT: nothing there, the model decides */
#define TOK_ARRAYS_INIT	{ .bos = TOK_NONE, .eos = TOK_NONE, .unk = TOK_NONE, .sep = TOK_NONE, \
			  .pad = TOK_NONE, .cls = TOK_NONE, .mask = TOK_NONE, .add_bos = -1, \
			  .add_eos = -1, .add_sep = -1, .add_space_prefix = -1, \
			  .remove_extra_whitespaces = -1 }

int tok_from_arrays(const struct tok_arrays *a, struct accel_error *error,
		    struct accel_tokenizer **tokenizer);

/* What GGUF files call the way that texts are cut; NULL: it has no name */
const char *tok_cut_name(const struct accel_tokenizer *t);

/**
 * tok_to_arrays - a tokenizer as GGUF files have it
 * @t: tokenizer, which has to stay as long as @a
 * @a: out: to be given to tok_arrays_free()
 * @error: filled if it fails, may be NULL
 *
 * Return: 0; -EOPNOTSUPP what GGUF has no words for; -ENOMEM.
 */
int tok_to_arrays(const struct accel_tokenizer *t, struct tok_arrays *a,
		  struct accel_error *error);
void tok_arrays_free(struct tok_arrays *a);

/** gguf_tokenizer - the one that a GGUF file has; in ../gguf. As accel_tokenizer_open() */
int gguf_tokenizer(const char *path, struct accel_error *error,
		   struct accel_tokenizer **tokenizer);

#endif /* LIBACCEL_MODELS_TOKENIZERS_H */
