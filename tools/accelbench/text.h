/* SPDX-License-Identifier: MIT */
/*
 * Language models: this library and llama.cpp.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "llama.h"
#include "perf.h"

/** TEXT_SEQUENCES: answers at once */
#define TEXT_SEQUENCES	8u
/** TEXT_CONTEXT: most tokens of a sequence */
#define TEXT_CONTEXT	1024u

/**
 * struct text_info - a model
 * @file_bytes: of its file
 * @read_bytes: of weights that a token needs
 * @kv_bytes: of keys and values of a token
 * @elements: of matrices that a token is multiplied by
 * @last: of these, the ones that only the last token of a prompt needs
 * @context: most tokens of a sequence
 * @vocabulary: number of tokens
 * @dtype: type that most of it has
 * @peer: llama.cpp is here
 */
struct text_info {
	double file_bytes;
	double read_bytes;
	double kv_bytes;
	double elements;
	double last;
	uint32_t context;
	uint32_t vocabulary;
	char dtype[16];
	bool peer;
};

/**
 * struct talker - someone who goes on with tokens
 * @perf: ours: device and context
 * @model: likewise
 * @generator: likewise
 * @lookup: likewise: most tokens that are guessed from those before
 * @theirs: not ours: @one, and for several sequences @many
 * @one: llama.cpp
 * @many: llama.cpp
 */
struct talker {
	struct perf perf;
	struct accel_model *model;
	struct accel_generator *generator;
	uint32_t lookup;
	bool theirs;
	struct llama one;
	struct llama many;
};

/**
 * struct said - how long something took
 * @prompt_us: of prompts, until each has a token behind it
 * @token_us: of a token behind those
 */
struct said {
	double prompt_us;
	double token_us;
};

/* --- talk.c ------------------------------------------------------------------------- */

/* What a model is; exit status */
int talk_describe(const char *path, struct text_info *info);

/**
 * talk_open - be ready
 * @t: zeros, but for @theirs, @perf.opts and @perf.weights_dir
 * @path: file
 * @threads: that work
 * @sequences: 1 or TEXT_SEQUENCES
 * @context: most tokens of each
 *
 * Return: exit status; talk_close() in any case.
 */
int talk_open(struct talker *t, const char *path, uint32_t threads, uint32_t sequences,
	      uint32_t context);
void talk_close(struct talker *t);

/**
 * talk_answer - go on with prompts, all at once
 * @t: talker
 * @prompts: one behind the other
 * @count: tokens of each
 * @sequences: how many
 * @tokens: tokens of each answer
 * @said: out: token_us is not known of fewer than four tokens
 *
 * Return: exit status.
 */
int talk_answer(struct talker *t, const int32_t *prompts, uint32_t count, uint32_t sequences,
		uint32_t tokens, struct said *said);

/* Share of the guessed tokens that were right, of all answers so far; 0: none were guessed */
double talk_accepted(const struct talker *t);

/* Logarithms of probabilities of tokens 1 to @count - 1 by those before; exit status */
int talk_score(struct talker *t, const int32_t *tokens, uint32_t count, float *logprobs);

/* --- made.c ------------------------------------------------------------------------- */

/* Name of a model that can be made, NULL: there are no more */
const char *made_name(uint32_t index);

/**
 * made_write - write a model with random weights
 * @index: which
 * @seed: of the numbers
 * @path: file of GGUF
 *
 * Return: exit status.
 */
int made_write(uint32_t index, uint64_t seed, const char *path);

#endif /* TEXT_H */
