/* SPDX-License-Identifier: MIT */
/*
 * Text to tokens and back. In libaccel-models.
 */
#ifndef ACCEL_TOKENIZER_H
#define ACCEL_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>
#include <accel/error.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_tokenizer;

/** ACCEL_TOKEN_NONE: no token */
#define ACCEL_TOKEN_NONE	UINT32_MAX

/**
 * accel_tokenizer_open - read the tokenizer of a model
 * @path: tokenizer.json, vocab.txt of BERT, a folder that has one of them, or a GGUF file
 * @error: filled if it fails, may be NULL
 * @tokenizer: out
 *
 * A tokenizer_config.json beside it says which tokens begin and end a text, and has the
 * template of conversations; vocab.txt is in lower case unless it says otherwise.
 *
 * A tokenizer may be used by several threads at once.
 *
 * Return: 0; -EBADMSG not a tokenizer, or one that contradicts itself; -EOPNOTSUPP parts
 * that are not known; -E2BIG larger than anything sensible; -EINVAL NULL; errors of open();
 * -ENOMEM.
 */
ACCEL_API int accel_tokenizer_open(const char *path, struct accel_error *error,
				   struct accel_tokenizer **tokenizer);

/**
 * accel_tokenizer_parse - read a tokenizer.json that is in memory
 * @json: text
 * @bytes: of it
 * @error: filled if it fails, may be NULL
 * @tokenizer: out
 *
 * Return: as accel_tokenizer_open().
 */
ACCEL_API int accel_tokenizer_parse(const char *json, size_t bytes, struct accel_error *error,
				    struct accel_tokenizer **tokenizer);

/**
 * accel_tokenizer_close - give up a tokenizer
 * @tokenizer: tokenizer that nobody uses any more, or NULL
 */
ACCEL_API void accel_tokenizer_close(struct accel_tokenizer *tokenizer);

/**
 * enum accel_tokenizer_model - how words become tokens
 */
enum accel_tokenizer_model {
	/** @ACCEL_TOKENIZER_BPE: pairs are merged in a fixed order */
	ACCEL_TOKENIZER_BPE = 1,
	/** @ACCEL_TOKENIZER_WORDPIECE: the longest piece first */
	ACCEL_TOKENIZER_WORDPIECE = 2,
	/** @ACCEL_TOKENIZER_UNIGRAM: the most probable pieces */
	ACCEL_TOKENIZER_UNIGRAM = 3,
	/** @ACCEL_TOKENIZER_WORDLEVEL: whole words */
	ACCEL_TOKENIZER_WORDLEVEL = 4
};

/**
 * struct accel_tokenizer_info - a tokenizer; tokens that it does not have are ACCEL_TOKEN_NONE
 */
struct accel_tokenizer_info {
	/** @size: sizeof(struct accel_tokenizer_info) */
	uint32_t size;
	/** @model: &enum accel_tokenizer_model */
	uint32_t model;
	/** @count: the highest token plus one */
	uint32_t count;
	/** @added: tokens beside the model's, or set apart in it */
	uint32_t added;
	/** @bos: token that begins a text */
	uint32_t bos;
	/** @eos: token that ends a text */
	uint32_t eos;
	/** @unknown: token for what the model does not know */
	uint32_t unknown;
	/** @pad: token that fills */
	uint32_t pad;
};

/**
 * accel_tokenizer_get_info - describe a tokenizer
 * @tokenizer: tokenizer
 * @info: out
 *
 * Return: 0; -EINVAL NULL, or size.
 */
ACCEL_API int accel_tokenizer_get_info(const struct accel_tokenizer *tokenizer,
				       struct accel_tokenizer_info *info);

/**
 * accel_tokenizer_chat_template - how conversations are written for the model
 * @tokenizer: tokenizer
 *
 * Return: borrowed template, for accel_chat_template_parse(); NULL: the files have none.
 */
ACCEL_API const char *accel_tokenizer_chat_template(const struct accel_tokenizer *tokenizer);

/**
 * enum accel_token_flags - what is special about a token
 * @ACCEL_TOKEN_SPECIAL: it is no text: begin, end, role, ...
 * @ACCEL_TOKEN_ADDED: it is looked for in the text before the model sees that
 * @ACCEL_TOKEN_FILL: it fills up to a length (results of encoding only)
 */
enum accel_token_flags {
	ACCEL_TOKEN_SPECIAL = 1 << 0,
	ACCEL_TOKEN_ADDED = 1 << 1,
	ACCEL_TOKEN_FILL = 1 << 2
};

/**
 * struct accel_token_info - a token of the vocabulary
 */
struct accel_token_info {
	/** @size: sizeof(struct accel_token_info) */
	uint32_t size;
	/** @flags: &enum accel_token_flags */
	uint32_t flags;
	/** @text: as the file has it, not terminated, borrowed */
	const char *text;
	/** @text_bytes: of it */
	size_t text_bytes;
	/** @bytes: what it stands for within a text, not terminated, borrowed; NULL: its text */
	const uint8_t *bytes;
	/** @byte_count: of them */
	size_t byte_count;
	/** @score: of Unigram's tokens, and of GGUF files */
	float score;
	/** @reserved: 0 */
	uint32_t reserved;
};

/**
 * accel_tokenizer_get_token - what a token is
 * @tokenizer: tokenizer
 * @id: token
 * @info: out
 *
 * Return: 0; -ENOENT no such token; -EINVAL NULL, or size.
 */
ACCEL_API int accel_tokenizer_get_token(const struct accel_tokenizer *tokenizer, uint32_t id,
					struct accel_token_info *info);

/**
 * accel_tokenizer_find - the token of a text
 * @tokenizer: tokenizer
 * @text: as the file has it
 * @bytes: of it
 *
 * Return: token; ACCEL_TOKEN_NONE.
 */
ACCEL_API uint32_t accel_tokenizer_find(const struct accel_tokenizer *tokenizer, const char *text,
					size_t bytes);

/**
 * enum accel_encode_flags - how a text is encoded
 * @ACCEL_ENCODE_ADD_SPECIAL: with the tokens that begin and end texts of this model
 * @ACCEL_ENCODE_PARSE_SPECIAL: special tokens may be written in the text. Not for what
 *	others have written
 * @ACCEL_ENCODE_WHOLE: what the file says of truncation and padding is left aside
 */
enum accel_encode_flags {
	ACCEL_ENCODE_ADD_SPECIAL = 1 << 0,
	ACCEL_ENCODE_PARSE_SPECIAL = 1 << 1,
	ACCEL_ENCODE_WHOLE = 1 << 2
};

/**
 * struct accel_encode_args - a text, or two
 *
 * Bytes that are not UTF-8 count as U+FFFD, one for each longest part of a character.
 */
struct accel_encode_args {
	/** @size: sizeof(struct accel_encode_args) */
	uint32_t size;
	/** @flags: &enum accel_encode_flags */
	uint32_t flags;
	/** @text: text, need not be terminated */
	const char *text;
	/** @bytes: of it, at most 256 MiB */
	size_t bytes;
	/** @pair: a second text, or NULL */
	const char *pair;
	/** @pair_bytes: of it */
	size_t pair_bytes;
};

/** ACCEL_ENCODE_ARGS_INIT: one text, to be filled in */
#define ACCEL_ENCODE_ARGS_INIT	{ sizeof(struct accel_encode_args), 0, NULL, 0, NULL, 0 }

/**
 * struct accel_token - a token of a text
 */
struct accel_token {
	/** @id: token */
	uint32_t id;
	/** @start: the first byte of the text that it is for; 0 if it is added */
	uint32_t start;
	/** @end: the byte behind it; 0 if it is added */
	uint32_t end;
	/** @type: which text it belongs to, as the model has learnt it */
	uint16_t type;
	/** @flags: &enum accel_token_flags */
	uint16_t flags;
};

/**
 * accel_tokenizer_encode - text to tokens
 * @tokenizer: tokenizer
 * @args: text
 * @tokens: out: to be given to free(); NULL if there are none
 * @count: out
 *
 * Return: 0; -EINVAL NULL, size or flags; -E2BIG too long a text, or an expression of the
 * file's that takes too long for it; -EBADMSG unknown text, and the model has no token for
 * that; -ENOMEM.
 */
ACCEL_API int accel_tokenizer_encode(const struct accel_tokenizer *tokenizer,
				     const struct accel_encode_args *args,
				     struct accel_token **tokens, size_t *count);

/**
 * enum accel_decode_flags - how tokens are decoded
 * @ACCEL_DECODE_SKIP_SPECIAL: special tokens are left out
 */
enum accel_decode_flags {
	ACCEL_DECODE_SKIP_SPECIAL = 1 << 0
};

/**
 * accel_tokenizer_decode - tokens to text
 * @tokenizer: tokenizer
 * @ids: tokens; those that the vocabulary does not have count as nothing
 * @count: number of them
 * @flags: &enum accel_decode_flags
 * @text: out: UTF-8, terminated, to be given to free()
 * @bytes: out: its length, may be NULL
 *
 * Return: 0; -EINVAL NULL or flags; -E2BIG; -ENOMEM.
 */
ACCEL_API int accel_tokenizer_decode(const struct accel_tokenizer *tokenizer, const uint32_t *ids,
				     size_t count, uint32_t flags, char **text, size_t *bytes);

struct accel_detokenizer;

/**
 * accel_detokenizer_create - tokens to text, one after the other
 * @tokenizer: tokenizer, which has to stay
 * @flags: &enum accel_decode_flags
 * @detokenizer: out
 *
 * Return: 0; -EINVAL NULL or flags; -ENOMEM.
 */
ACCEL_API int accel_detokenizer_create(const struct accel_tokenizer *tokenizer, uint32_t flags,
				       struct accel_detokenizer **detokenizer);

/**
 * accel_detokenizer_push - the text that a token adds
 * @detokenizer: detokenizer
 * @id: token
 * @text: out: UTF-8, terminated, may be empty; borrowed until the next call
 * @bytes: out: its length, may be NULL
 *
 * Whole characters come, as soon as they are whole: all texts one after the other, with that
 * of accel_detokenizer_flush(), are what accel_tokenizer_decode() gives. Where tokens are bytes
 * and a run of them is not UTF-8, that has U+FFFD for all of the run: its characters that were
 * whole have come by then.
 *
 * Return: 0; -EINVAL NULL; -ENOMEM.
 */
ACCEL_API int accel_detokenizer_push(struct accel_detokenizer *detokenizer, uint32_t id,
				     const char **text,
				     size_t *bytes);

/**
 * accel_detokenizer_flush - the text that is left, and start again
 * @detokenizer: detokenizer
 * @text: out: as above; U+FFFD where a character is not whole
 * @bytes: out: its length, may be NULL
 *
 * Return: 0; -EINVAL NULL; -ENOMEM.
 */
ACCEL_API int accel_detokenizer_flush(struct accel_detokenizer *detokenizer, const char **text,
				      size_t *bytes);

/**
 * accel_detokenizer_destroy - give up a detokenizer
 * @detokenizer: detokenizer, or NULL
 */
ACCEL_API void accel_detokenizer_destroy(struct accel_detokenizer *detokenizer);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_TOKENIZER_H */
