/* SPDX-License-Identifier: MIT */
/*
 * Tokenizers: text to tokens and back. Part of libaccel-models.
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
 * @path: tokenizer.json, vocab.txt of BERT, a folder with one of them, or a GGUF file
 * @error: filled if it fails, may be NULL
 * @tokenizer: out
 *
 * A tokenizer_config.json in the same folder has the tokens that begin and end a text, and
 * the chat template; vocab.txt is lower case unless that file has another setting.
 *
 * A tokenizer may be used by several threads at once.
 *
 * Return: 0; -EBADMSG not a tokenizer, or an inconsistent one; -EOPNOTSUPP unsupported parts;
 * -E2BIG too large; -EINVAL NULL; errors of open(); -ENOMEM.
 */
ACCEL_API int accel_tokenizer_open(const char *path, struct accel_error *error,
				   struct accel_tokenizer **tokenizer);

/**
 * accel_tokenizer_parse - read a tokenizer.json from memory
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
 * accel_tokenizer_close - release a tokenizer
 * @tokenizer: tokenizer that is not in use, or NULL
 */
ACCEL_API void accel_tokenizer_close(struct accel_tokenizer *tokenizer);

/**
 * enum accel_tokenizer_model - algorithms that divide words into tokens
 */
enum accel_tokenizer_model {
	/** @ACCEL_TOKENIZER_BPE: byte-pair encoding: pairs are merged in a fixed order */
	ACCEL_TOKENIZER_BPE = 1,
	/** @ACCEL_TOKENIZER_WORDPIECE: the longest piece first */
	ACCEL_TOKENIZER_WORDPIECE = 2,
	/** @ACCEL_TOKENIZER_UNIGRAM: the most probable pieces */
	ACCEL_TOKENIZER_UNIGRAM = 3,
	/** @ACCEL_TOKENIZER_WORDLEVEL: whole words */
	ACCEL_TOKENIZER_WORDLEVEL = 4
};

/**
 * struct accel_tokenizer_info - description of a tokenizer; missing tokens are
 * ACCEL_TOKEN_NONE
 */
struct accel_tokenizer_info {
	/** @size: sizeof(struct accel_tokenizer_info) */
	uint32_t size;
	/** @model: &enum accel_tokenizer_model */
	uint32_t model;
	/** @count: largest token + 1 */
	uint32_t count;
	/** @added: number of added tokens */
	uint32_t added;
	/** @bos: token that begins a text */
	uint32_t bos;
	/** @eos: token that ends a text */
	uint32_t eos;
	/** @unknown: token for unknown text */
	uint32_t unknown;
	/** @pad: padding token */
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
 * accel_tokenizer_chat_template - get the chat template of the model
 * @tokenizer: tokenizer
 *
 * Return: borrowed template, for accel_chat_template_parse(); NULL: the files have none.
 */
ACCEL_API const char *accel_tokenizer_chat_template(const struct accel_tokenizer *tokenizer);

/**
 * enum accel_token_flags - properties of a token
 * @ACCEL_TOKEN_SPECIAL: not text: begin, end, role, ...
 * @ACCEL_TOKEN_ADDED: matched in the text before the model divides it
 * @ACCEL_TOKEN_FILL: padding (results of encoding only)
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
	/** @text: text in the file, not terminated, borrowed */
	const char *text;
	/** @text_bytes: length of @text */
	size_t text_bytes;
	/** @bytes: bytes that it stands for within a text, not terminated, borrowed; NULL: @text */
	const uint8_t *bytes;
	/** @byte_count: number of @bytes */
	size_t byte_count;
	/** @score: score, of tokens of Unigram and of GGUF files */
	float score;
	/** @reserved: 0 */
	uint32_t reserved;
};

/**
 * accel_tokenizer_get_token - describe a token
 * @tokenizer: tokenizer
 * @id: token
 * @info: out
 *
 * Return: 0; -ENOENT no such token; -EINVAL NULL, or size.
 */
ACCEL_API int accel_tokenizer_get_token(const struct accel_tokenizer *tokenizer, uint32_t id,
					struct accel_token_info *info);

/**
 * accel_tokenizer_find - find a token by its text
 * @tokenizer: tokenizer
 * @text: text as in the file
 * @bytes: of it
 *
 * Return: token; ACCEL_TOKEN_NONE.
 */
ACCEL_API uint32_t accel_tokenizer_find(const struct accel_tokenizer *tokenizer, const char *text,
					size_t bytes);

/**
 * enum accel_encode_flags - options of encoding
 * @ACCEL_ENCODE_ADD_SPECIAL: add the tokens that begin and end texts of this model
 * @ACCEL_ENCODE_PARSE_SPECIAL: recognise special tokens in the text. Not for untrusted text
 * @ACCEL_ENCODE_WHOLE: ignore the file's settings of truncation and padding
 */
enum accel_encode_flags {
	ACCEL_ENCODE_ADD_SPECIAL = 1 << 0,
	ACCEL_ENCODE_PARSE_SPECIAL = 1 << 1,
	ACCEL_ENCODE_WHOLE = 1 << 2
};

/**
 * struct accel_encode_args - one text, or a pair of texts
 *
 * Bytes that are not UTF-8 are replaced by U+FFFD, one for each maximal part of a character.
 */
struct accel_encode_args {
	/** @size: sizeof(struct accel_encode_args) */
	uint32_t size;
	/** @flags: &enum accel_encode_flags */
	uint32_t flags;
	/** @text: text, need not be terminated */
	const char *text;
	/** @bytes: length of @text, at most 256 MiB */
	size_t bytes;
	/** @pair: a second text, or NULL */
	const char *pair;
	/** @pair_bytes: length of @pair */
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
	/** @start: offset of its first byte in the text; 0 if it was added */
	uint32_t start;
	/** @end: offset after its last byte; 0 if it was added */
	uint32_t end;
	/** @type: type id of the text that it belongs to */
	uint16_t type;
	/** @flags: &enum accel_token_flags */
	uint16_t flags;
};

/**
 * accel_tokenizer_encode - encode text to tokens
 * @tokenizer: tokenizer
 * @args: text
 * @tokens: out: to be freed with free(); NULL if there are none
 * @count: out
 *
 * Return: 0; -EINVAL NULL, size or flags; -E2BIG the text is too long, or a regular
 * expression of the file takes too long for it; -EBADMSG unknown text, and the model has no
 * token for that; -ENOMEM.
 */
ACCEL_API int accel_tokenizer_encode(const struct accel_tokenizer *tokenizer,
				     const struct accel_encode_args *args,
				     struct accel_token **tokens, size_t *count);

/**
 * enum accel_decode_flags - options of decoding
 * @ACCEL_DECODE_SKIP_SPECIAL: omit special tokens
 */
enum accel_decode_flags {
	ACCEL_DECODE_SKIP_SPECIAL = 1 << 0
};

/**
 * accel_tokenizer_decode - decode tokens to text
 * @tokenizer: tokenizer
 * @ids: tokens; those that are not in the vocabulary are ignored
 * @count: number of them
 * @flags: &enum accel_decode_flags
 * @text: out: UTF-8, terminated, to be freed with free()
 * @bytes: out: its length, may be NULL
 *
 * Return: 0; -EINVAL NULL or flags; -E2BIG; -ENOMEM.
 */
ACCEL_API int accel_tokenizer_decode(const struct accel_tokenizer *tokenizer, const uint32_t *ids,
				     size_t count, uint32_t flags, char **text, size_t *bytes);

struct accel_detokenizer;

/**
 * accel_detokenizer_create - create a detokenizer, which decodes one token after the other
 * @tokenizer: tokenizer, which must exist as long as the detokenizer
 * @flags: &enum accel_decode_flags
 * @detokenizer: out
 *
 * Return: 0; -EINVAL NULL or flags; -ENOMEM.
 */
ACCEL_API int accel_detokenizer_create(const struct accel_tokenizer *tokenizer, uint32_t flags,
				       struct accel_detokenizer **detokenizer);

/**
 * accel_detokenizer_push - decode the next token
 * @detokenizer: detokenizer
 * @id: token
 * @text: out: UTF-8, terminated, may be empty; borrowed until the next call
 * @bytes: out: its length, may be NULL
 *
 * Returns characters as soon as they are complete. The concatenation of all texts, including
 * that of accel_detokenizer_flush(), is the result of accel_tokenizer_decode(), with one
 * exception: if tokens are bytes and a sequence of them is not UTF-8, that function has
 * U+FFFD for all of the sequence, whereas complete characters of it have been returned here.
 *
 * Return: 0; -EINVAL NULL; -ENOMEM.
 */
ACCEL_API int accel_detokenizer_push(struct accel_detokenizer *detokenizer, uint32_t id,
				     const char **text,
				     size_t *bytes);

/**
 * accel_detokenizer_flush - return the remaining text, and start again
 * @detokenizer: detokenizer
 * @text: out: as for accel_detokenizer_push(); U+FFFD for an incomplete character
 * @bytes: out: its length, may be NULL
 *
 * Return: 0; -EINVAL NULL; -ENOMEM.
 */
ACCEL_API int accel_detokenizer_flush(struct accel_detokenizer *detokenizer, const char **text,
				      size_t *bytes);

/**
 * accel_detokenizer_destroy - release a detokenizer
 * @detokenizer: detokenizer, or NULL
 */
ACCEL_API void accel_detokenizer_destroy(struct accel_detokenizer *detokenizer);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_TOKENIZER_H */
