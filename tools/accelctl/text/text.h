/* SPDX-License-Identifier: MIT */
/*
 * Text commands.
 *
 *	options.c	the option tables
 *	speaker.c	a model that continues text, on a device, with its tokenizer
 *	answer.c	an answer, shown token by token
 *	machine.c	limits of the machine
 *	chat.c		a chat
 *	cmd_*.c		the commands
 */
#ifndef ACCELCTL_TEXT_H
#define ACCELCTL_TEXT_H

#include <accel/generate.h>
#include <accel/model.h>

#include "accelctl.h"

/**
 * struct text_opts - options of the commands of text
 * @model: folder or GGUF file
 * @tokenizer: tokenizer.json, or a folder with it; NULL: the model's folder
 * @loras: adapters of the model, "FOLDER" or "FOLDER:SCALE"
 * @draft: a smaller model that guesses, or NULL
 * @prompt: text to go on with
 * @file: file of it, "-" for the standard input
 * @ids: tokens to go on with, "1,2,3"
 * @most: most tokens of an answer; perplexity: of the text
 * @greedy: the most likely token each time
 * @ignore_eos: what ends texts does not end the answer
 * @temperature: as of &struct accel_sampler_opts, and so on
 * @presence_penalty: likewise
 * @frequency_penalty: likewise
 * @biases: added to logits, "TOKEN=NUMBER"
 * @schema: file of a JSON schema that answers are of, or NULL
 * @stops: texts that end the answer
 * @lookup: tokens that are guessed from what was there before
 * @kv_type: of the cache of keys and values, as of kv_names
 * @no_repack: weights are used as they lie in the file
 * @context: most tokens of a sequence, 0: what the model has, at most 4096
 * @chunk: most tokens of a step
 * @beams: continuations that are followed at once, 0: the answer is chosen token by token
 * @length_penalty: as of &struct accel_search
 * @stopping: &enum accel_search_stopping
 * @logprobs: with logarithms of probabilities
 * @chat: a conversation
 * @events: a line of JSON for each token
 * @system: what the conversation begins with, or NULL
 * @template: file of the conversation's template, or NULL
 * @texts: texts of vectors
 * @pooling: what is made of a text's rows, as of pooling_names
 * @normalise: vectors have the length 1
 * @similarity: cosines of all pairs
 * @out: file of vectors, or NULL
 * @batch: most texts of a run, 0: the library's default
 * @special: tokens that are no text may be written in it
 * @plain: without the tokens that begin and end texts
 * @reproducible: in a context that is ACCEL_CTX_REPRODUCIBLE
 * @no_cache: packed weights are not kept
 * @threads: of the in-process device, 0: one a core
 * @dtype: &enum accel_precision; of a model that hears: 1: int8
 * @language: that is spoken, as "en", or NULL
 * @format: of a transcript
 * @translate: into English
 * @no_times: without times that the model writes
 * @no_condition: as of &struct accel_speech_opts, and so on
 */
struct text_opts {
	const char *model;
	const char *tokenizer;
	struct ctl_strings loras;
	const char *draft;
	const char *prompt;
	const char *file;
	const char *ids;
	uint64_t most;
	uint32_t greedy;
	uint32_t ignore_eos;
	double temperature;
	uint64_t top_k;
	double top_p;
	double min_p;
	double repeat_penalty;
	double presence_penalty;
	double frequency_penalty;
	struct ctl_strings biases;
	const char *schema;
	uint64_t seed;
	struct ctl_strings stops;
	uint64_t lookup;
	uint32_t kv_type;
	uint32_t no_repack;
	uint64_t context;
	uint64_t chunk;
	uint64_t beams;
	double length_penalty;
	uint32_t stopping;
	uint32_t logprobs;
	uint32_t chat;
	uint32_t events;
	const char *system;
	const char *template;
	struct ctl_strings texts;
	uint32_t pooling;
	uint32_t normalise;
	uint32_t similarity;
	const char *out;
	uint64_t batch;
	uint32_t special;
	uint32_t plain;
	uint32_t reproducible;
	uint32_t no_cache;
	uint64_t threads;
	uint32_t dtype;
	const char *language;
	uint32_t format;
	uint32_t translate;
	uint32_t no_times;
	uint32_t no_condition;
	uint32_t vad;
	uint64_t best_of;
	double patience;
	double temperature_step;
	double compression;
	double logprob;
	double no_speech;
};

/** kv_names - of the types that keys and values may have, fp32 first */
extern const char *const kv_names[];

/** pooling_names - the model's own, then those of cmd_embed.c */
extern const char *const pooling_names[];

void generate_init(void *data);
void transcribe_init(void *data);
void perplexity_init(void *data);
extern const struct ctl_opt text_table[], generate_table[], perplexity_table[], tokenize_table[],
	transcribe_table[], embed_table[];
int cmd_generate(struct ctl *ctl, void *data, const char *operand);
int cmd_perplexity(struct ctl *ctl, void *data, const char *operand);
int cmd_tokenize(struct ctl *ctl, void *data, const char *operand);
int cmd_embed(struct ctl *ctl, void *data, const char *operand);
int cmd_transcribe(struct ctl *ctl, void *data, const char *operand);

/**
 * struct surprise - how likely a text's tokens are
 * @sum: of the negative logarithms of their probabilities
 * @square: of the squares of these
 * @count: tokens
 * @seconds: that it took
 */
struct surprise {
	double sum;
	double square;
	uint64_t count;
	double seconds;
};

/** perplexity_measure - how likely a model finds the text of the options; an exit status */
int perplexity_measure(struct ctl *ctl, const struct text_opts *opts, struct surprise *u);

/* --- speaker.c --------------------------------------------------------------------- */

/**
 * struct speaker - a model that goes on with text
 * @ctl: invocation
 * @opts: options
 * @dev: device
 * @ctx: context
 * @tokenizer: NULL: there is none, and no text
 * @generator: generator
 * @encodes: the text is an encoder's, and the answer begins with @start
 * @start: token
 * @ends: tokens that end a text
 * @end_count: how many
 * @model_bytes: of the model's files
 * @read_rate: bytes of these that the processors could read in a second; 0: not measured
 * @schema: that answers are of, or NULL
 * @bias: added to logits, as many as the options have
 */
struct speaker {
	struct ctl *ctl;
	const struct text_opts *opts;
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_tokenizer *tokenizer;
	struct accel_generator *generator;
	bool encodes;
	int32_t start;
	uint32_t ends[16];
	uint32_t end_count;
	uint64_t model_bytes;
	double read_rate;
	char *schema;
	struct accel_token_bias bias[CTL_LIST_MAX];
};

int speaker_open(struct speaker *s, struct ctl *ctl, const struct text_opts *opts);
void speaker_close(struct speaker *s);
int speaker_fail(struct speaker *s, int ret);

/** speaker_add_end - add a token that ends texts; invalid and duplicate ones are ignored */
void speaker_add_end(struct speaker *s, int64_t token);

/**
 * speaker_encode - a text as tokens
 * @s: speaker
 * @text: text
 * @bytes: of it
 * @flags: &enum accel_encode_flags
 * @tokens: out: to be given to free()
 * @count: out
 *
 * Return: an exit status.
 */
int speaker_encode(struct speaker *s, const char *text, size_t bytes, uint32_t flags,
		   int32_t **tokens, uint32_t *count);

/**
 * speaker_tokens - the text of the options as tokens
 * @s: speaker
 * @tokens: out: to be given to free()
 * @count: out
 *
 * Return: an exit status.
 */
int speaker_tokens(struct speaker *s, int32_t **tokens, uint32_t *count);

/** speaker_check - does the model have all of @tokens? An exit status */
int speaker_check(struct speaker *s, const int32_t *tokens, uint32_t count);

/** speaker_tokenizer - open the tokenizer of the options; an exit status */
int speaker_tokenizer(struct speaker *s);

/**
 * speaker_model - open a model
 * @s: speaker
 * @path: of it
 * @loras: with the adapters of the options
 * @model: out
 *
 * Return: an exit status.
 */
int speaker_model(struct speaker *s, const char *path, bool loras, struct accel_model **model);

/** speaker_start - open device and context; an exit status */
int speaker_start(struct speaker *s);

/* A text from a file, terminated, "-" for the standard input, and an option's "1,2,3"; statuses */
int text_read(struct ctl *ctl, const char *file, char **text, size_t *bytes);
int text_ids(struct ctl *ctl, const char *option, const char *ids, int32_t **tokens,
	     uint32_t *count);

/** speaker_now - seconds */
double speaker_now(void);

/* --- answer.c ---------------------------------------------------------------------- */

/**
 * struct answer - an answer
 * @s: speaker
 * @ids: its tokens
 * @logprobs: their log probabilities
 * @count: number of tokens
 * @cap: size of @ids
 * @text: its text, terminated, or NULL
 * @bytes: size of @text
 * @piece: bytes before the last piece
 * @prompt: number of tokens of the prompt
 * @found: number of these whose keys and values were in the cache
 * @steps: runs of the model after the first token
 * @energy: energy of the device since the request in joules; NAN: not reported
 * @modelled: @energy is computed by a model
 * @start: time of the request
 * @first: time of the first token
 * @end: time of the end
 * @why: &enum accel_end
 * @error: negative error, or 0
 * @score: score of a beam search
 */
struct answer {
	struct speaker *s;
	int32_t *ids;
	float *logprobs;
	uint32_t count;
	uint32_t cap;
	char *text;
	size_t bytes;
	size_t piece;
	uint32_t prompt;
	uint32_t found;
	uint64_t steps;
	double energy;
	bool modelled;
	double start;
	double first;
	double end;
	uint32_t why;
	int error;
	double score;
};

/**
 * answer_ask - generate an answer, and show it token by token
 * @a: out: to be released with answer_free(), also on failure
 * @s: speaker
 * @tokens: prompt
 * @count: number of its tokens
 *
 * SIGINT ends it, if it is caught.
 *
 * Return: an exit status; CTL_OK also for one that was cancelled.
 */
int answer_ask(struct answer *a, struct speaker *s, const int32_t *tokens, uint32_t count);
void answer_free(struct answer *a);

/* How fast it was, on stderr; all that there is of it, as a document */
void answer_note(const struct answer *a);
void answer_json(const struct answer *a);

/* --- machine.c --------------------------------------------------------------------- */

/**
 * machine_read_rate - measure the rate at which the processors read
 * @bytes: size of the data, of which at most 256 MiB are used
 * @threads: number of threads, each with its part
 *
 * Return: bytes per second, measured in at most some tenths of a second; NAN: no memory.
 */
double machine_read_rate(uint64_t bytes, uint32_t threads);

/**
 * machine_energy - energy counter of a device
 * @s: speaker
 * @modelled: out: computed by a model
 *
 * Return: joules, of all its users; NAN: not reported, or in-process.
 */
double machine_energy(const struct speaker *s, bool *modelled);

/* --- chat.c ------------------------------------------------------------------------ */

/** chat_run - chat until the input ends; an exit status */
int chat_run(struct speaker *s);

#endif /* ACCELCTL_TEXT_H */
