/* SPDX-License-Identifier: MIT */
/*
 * Text generation, token by token. Part of libaccel-models. This is one header, like the page
 * of the manual.
 */
#ifndef ACCEL_GENERATE_H
#define ACCEL_GENERATE_H

#include <stdint.h>
#include <accel/context.h>
#include <accel/error.h>
#include <accel/graph.h>
#include <accel/ops_attention.h>
#include <accel/tokenizer.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Decoders
 *
 * A decoder is a graph that runs a batch of sequences at any position: parts of prompts,
 * single tokens, and both at once. Tokens of sequences are concatenated; keys and values of
 * all layers are in a paged cache (&struct accel_kv), which the graph reads and writes.
 * Positions and slots are inputs, so that a step can be run again unchanged::
 *
 *	tokens		S32 [1, tokens]
 *	positions	S32 [1, tokens]: places in their sequences
 *	slots		S32 [tokens]: accel_kv_slots()
 *	pages		S32 [sequences, columns]: accel_kv_table()
 *	lengths		S32 [sequences, 3]: keys with those of this run, tokens, first token
 *	rows		S32 [rows]: tokens whose results are wanted
 *	cache.k		[layers, pages, page_size, kv_heads, head_dim]
 *	cache.v		[layers, pages, page_size, kv_heads, v_dim]
 *	cache.k_scales	[layers, pages, page_size, kv_heads, 1], of an int8 cache, and
 *	cache.v_scales	the same
 *
 * Its result "logits" has an element for each token of the vocabulary, for each row;
 * "hidden", if present, has the hidden states for embeddings.
 */

/**
 * struct accel_decoder_opts - options of the cache of a decoder
 */
struct accel_decoder_opts {
	/** @size: sizeof(struct accel_decoder_opts) */
	uint32_t size;
	/** @layers: number of layers with keys and values */
	uint32_t layers;
	/** @kv_heads: number of heads of keys and values */
	uint32_t kv_heads;
	/** @head_dim: elements of a key */
	uint32_t head_dim;
	/** @v_dim: elements of a value, 0: @head_dim */
	uint32_t v_dim;
	/** @dtype: type of the cache: ACCEL_F32 (also 0), ACCEL_F16, ACCEL_BF16, ACCEL_S8 */
	uint32_t dtype;
	/** @scale_dtype: ACCEL_S8: ACCEL_F32 (also 0) or ACCEL_F16; else 0 */
	uint32_t scale_dtype;
	/**
	 * @page_size: number of tokens of a page, 0: 16; accel_model_decoder() uses 8 to 15
	 * if the model's context is a multiple of that and not of 16
	 */
	uint32_t page_size;
	/**
	 * @context: largest number of tokens of a sequence, rounded up to whole pages:
	 * tensors with a row for each position need as many rows as &accel_decoder.opts has
	 */
	uint32_t context;
	/** @pad: 0 */
	uint32_t pad;
};

/** ACCEL_DECODER_OPTS_INIT: default options; the shape is to be set */
#define ACCEL_DECODER_OPTS_INIT \
	{ sizeof(struct accel_decoder_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * struct accel_decoder - values that are inputs of a decoder's graph
 */
struct accel_decoder {
	/** @size: sizeof(struct accel_decoder) */
	uint32_t size;
	/** @tokens: [1, tokens] */
	uint32_t tokens;
	/** @positions: [1, tokens] */
	uint32_t positions;
	/** @slots: [tokens] */
	uint32_t slots;
	/** @pages: [sequences, columns] */
	uint32_t pages;
	/** @lengths: [sequences, 3] */
	uint32_t lengths;
	/** @rows: [rows] */
	uint32_t rows;
	/** @k: keys of all layers */
	uint32_t k;
	/** @v: values of all layers */
	uint32_t v;
	/** @k_scales: scales of keys of an int8 cache */
	uint32_t k_scales;
	/** @v_scales: scales of values of an int8 cache */
	uint32_t v_scales;
	/** @opts: options, with defaults filled in */
	struct accel_decoder_opts opts;
};

/**
 * accel_decoder_inputs - add the inputs of a decoder to a graph
 * @graph: graph
 * @opts: options of its cache
 * @decoder: out
 *
 * Return: 0; -EINVAL, -E2BIG options; errors of accel_graph_input().
 */
ACCEL_API int accel_decoder_inputs(struct accel_graph *graph,
				   const struct accel_decoder_opts *opts,
				   struct accel_decoder *decoder);

/**
 * accel_decoder_attend - add nodes that write keys and values of a layer to the cache, and
 * attend
 * @graph: graph
 * @decoder: inputs
 * @layer: layer; only one call for each layer
 * @desc: descriptor with window, scale and softcap, or NULL; causal and ragged are implied.
 *	Tensors must be absent, except that D may have a type
 * @q: queries [1, tokens, heads, head_dim]
 * @k: keys [1, tokens, kv_heads, head_dim], with rotary embedding applied if the model has
 *	one
 * @v: values [1, tokens, kv_heads, v_dim]
 * @d: out: [1, tokens, heads, v_dim]
 *
 * Return: 0; -EINVAL layer, decoder; errors of accel_graph_add().
 */
ACCEL_API int accel_decoder_attend(struct accel_graph *graph,
				   const struct accel_decoder *decoder, uint32_t layer,
				   const struct accel_attention_desc *desc, uint32_t q, uint32_t k,
				   uint32_t v, uint32_t *d);

/**
 * accel_decoder_rows - add a node that selects the rows for which results are wanted
 * @graph: graph
 * @decoder: inputs
 * @value: [1, tokens, n]
 * @d: out: [1, rows, n]
 *
 * To be used before the last norm and product, which then compute these rows only.
 *
 * Return: 0; -EINVAL decoder; errors of accel_graph_add().
 */
ACCEL_API int accel_decoder_rows(struct accel_graph *graph, const struct accel_decoder *decoder,
				 uint32_t value, uint32_t *d);

/* --- sampling ------------------------------------------------------------------------ */

/**
 * DOC: Sampling
 *
 * A sampler chooses a token from logits, in this order: biases, penalties, the mask, top-k,
 * typical, top-p, min-p, temperature, random choice. Truncation uses probabilities without
 * temperature. Of equal tokens the smaller one is preferred. Random numbers are from
 * SplitMix64 (G. Steele and others, "Fast Splittable Pseudorandom Number Generators", 2014):
 * u is the upper 53 bits divided by 2^53, and the chosen token is the first one at which the
 * cumulative probability exceeds u, in descending order of probability after truncation, else
 * in the order of tokens.
 */

struct accel_sampler;

/**
 * struct accel_token_bias - bias of a logit
 */
struct accel_token_bias {
	/** @token: token */
	uint32_t token;
	/** @bias: addend; -INFINITY: the token is never chosen */
	float bias;
};

/**
 * struct accel_sampler_opts - options of a sampler
 */
struct accel_sampler_opts {
	/** @size: sizeof(struct accel_sampler_opts) */
	uint32_t size;
	/** @top_k: keep this number of the most likely tokens, 0: all */
	uint32_t top_k;
	/** @temperature: divides the logits; 0: choose the most likely token */
	float temperature;
	/**
	 * @top_p: keep the smallest number of most likely tokens with this total probability;
	 * 1: all
	 */
	float top_p;
	/** @min_p: keep tokens with at least this fraction of the largest probability; 0: all */
	float min_p;
	/**
	 * @typical_p: keep the smallest number of tokens with this total probability, in the
	 * order of the distance of their information from the entropy (C. Meister and others,
	 * arXiv:2202.00666); 1: all
	 */
	float typical_p;
	/**
	 * @repeat_penalty: logits of tokens that occurred are divided by it if positive, else
	 * multiplied (N. Keskar and others, arXiv:1909.05858); 1: no effect
	 */
	float repeat_penalty;
	/** @frequency_penalty: subtracted for each occurrence of a token; 0: no effect */
	float frequency_penalty;
	/** @presence_penalty: subtracted once if a token occurred; 0: no effect */
	float presence_penalty;
	/** @last: number of accepted tokens that penalties consider, at most 65536; 0: 64 */
	uint32_t last;
	/** @bias_count: number of @bias */
	uint32_t bias_count;
	/** @pad: 0 */
	uint32_t pad;
	/** @bias: biases of logits, copied */
	const struct accel_token_bias *bias;
	/** @seed: seed of the random numbers */
	uint64_t seed;
};

/** ACCEL_SAMPLER_OPTS_INIT: default options: the most likely token */
#define ACCEL_SAMPLER_OPTS_INIT \
	{ sizeof(struct accel_sampler_opts), 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, NULL, 0 }

/**
 * accel_sampler_create - create a sampler
 * @opts: options, or NULL
 * @vocabulary: number of logits
 * @sampler: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM.
 */
ACCEL_API int accel_sampler_create(const struct accel_sampler_opts *opts, uint32_t vocabulary,
				   struct accel_sampler **sampler);

/**
 * accel_sampler_destroy - release a sampler
 * @sampler: sampler, or NULL
 */
ACCEL_API void accel_sampler_destroy(struct accel_sampler *sampler);

/**
 * accel_sampler_set_mask - restrict the tokens that may be chosen
 * @sampler: sampler
 * @allowed: returns 1 if a token is allowed, 0 if not, or a negative error, which the calling
 *	function returns. NULL: all are allowed
 * @user: passed on
 *
 * First @allowed is called for the token that was chosen; only if that is not allowed, it is
 * called for all others, and a token is chosen among the allowed ones.
 *
 * Return: 0; -EINVAL.
 */
ACCEL_API int accel_sampler_set_mask(struct accel_sampler *sampler,
				     int (*allowed)(void *user, uint32_t token), void *user);

/**
 * struct accel_chosen - a chosen token
 */
struct accel_chosen {
	/** @token: token */
	uint32_t token;
	/** @logprob: logarithm of its probability, from the unmodified logits */
	float logprob;
};

/**
 * accel_sampler_sample - choose a token
 * @sampler: sampler
 * @logits: one for each token of the vocabulary; -INFINITY: the token is never chosen
 * @chosen: out
 *
 * The token is not accepted by this.
 *
 * Return: 0; -EINVAL; -EDOM a logit is NaN or INFINITY; -ENODATA no token may be chosen;
 * errors of the mask.
 */
ACCEL_API int accel_sampler_sample(struct accel_sampler *sampler, const float *logits,
				   struct accel_chosen *chosen);

/**
 * accel_sampler_accept - add a token to those that penalties consider
 * @sampler: sampler
 * @token: token
 *
 * Return: 0; -EINVAL.
 */
ACCEL_API int accel_sampler_accept(struct accel_sampler *sampler, uint32_t token);

/**
 * accel_sampler_probabilities - compute the probabilities of the random choice
 * @sampler: sampler
 * @logits: as for accel_sampler_sample()
 * @probabilities: out: for each token of the vocabulary, 0 for those that are truncated or
 *	not allowed
 *
 * With a mask, those of the outcome of both choices, see accel_sampler_set_mask().
 *
 * Return: as for accel_sampler_sample().
 */
ACCEL_API int accel_sampler_probabilities(struct accel_sampler *sampler, const float *logits,
					  double *probabilities);

/**
 * accel_sampler_top - get the most likely tokens by unmodified logits
 * @sampler: sampler
 * @logits: logits
 * @top: out, most likely first
 * @count: number of tokens, at most the vocabulary
 *
 * Return: 0; -EINVAL; -EDOM a logit is NaN or INFINITY.
 */
ACCEL_API int accel_sampler_top(struct accel_sampler *sampler, const float *logits,
				struct accel_chosen *top, uint32_t count);

/**
 * accel_sampler_uniform - draw the next random number
 * @sampler: sampler
 *
 * Return: a number in [0, 1); 0 for NULL.
 */
ACCEL_API double accel_sampler_uniform(struct accel_sampler *sampler);

/* --- constraints ----------------------------------------------------------------------- */

/**
 * DOC: Constraints
 *
 * A constraint determines with which bytes a text may continue so that it becomes JSON that
 * matches a schema. Supported are type, properties in their order with required ones,
 * additionalProperties if there are no properties, items, minItems, maxItems, minLength,
 * maxLength, enum, const, anyOf, oneOf (treated like anyOf), and $ref within the schema.
 * Other constraining keywords are rejected, and so are keywords beside $ref, const, enum,
 * anyOf and oneOf, except for the type of const and enum. Between parts there may be a space,
 * or a newline and up to 20 spaces; numbers have at most 18 digits before and 17 after the
 * point. Schemas have at most 1 MiB and 64 levels, texts about 40 levels. The calls between
 * two tokens may examine 2^26 states in total, which takes up to a second; only schemas
 * designed for it come close. Beyond that the result is -E2BIG, which ends a request with
 * this error.
 */

struct accel_constraint;

/**
 * accel_constraint_create - create a constraint from a JSON schema
 * @schema: schema
 * @bytes: of it
 * @error: filled if it fails, may be NULL
 * @constraint: out: constraint at the beginning of a text
 *
 * Return: 0; -EBADMSG not JSON; -EINVAL an inconsistent schema; -EOPNOTSUPP unsupported
 * keywords; -E2BIG too large; -ENOMEM.
 */
ACCEL_API int accel_constraint_create(const char *schema, uint64_t bytes,
				      struct accel_error *error,
				      struct accel_constraint **constraint);

/**
 * accel_constraint_destroy - release a constraint
 * @constraint: constraint, or NULL
 */
ACCEL_API void accel_constraint_destroy(struct accel_constraint *constraint);

/**
 * accel_constraint_allows - may these bytes come next?
 * @constraint: constraint, which does not change
 * @bytes: bytes
 * @count: how many
 *
 * Return: 1 if they may, else 0; -E2BIG too many states were examined since the last bytes
 * were taken.
 */
ACCEL_API int accel_constraint_allows(struct accel_constraint *constraint, const char *bytes,
				      uint64_t count);

/**
 * accel_constraint_take - append bytes to the text
 * @constraint: constraint
 * @bytes: bytes
 * @count: how many
 *
 * Return: 0; -EINVAL they may not come next; -E2BIG too many states. On failure nothing
 * changes.
 */
ACCEL_API int accel_constraint_take(struct accel_constraint *constraint, const char *bytes,
				    uint64_t count);

/**
 * accel_constraint_whole - is the text complete?
 * @constraint: constraint
 *
 * Return: 1 if it may, else 0.
 */
ACCEL_API int accel_constraint_whole(const struct accel_constraint *constraint);

/* --- generating ---------------------------------------------------------------------- */

/**
 * DOC: Generators
 *
 * A generator answers requests with a decoder's graph, many at once: a step runs one token of
 * each sequence that is being answered, and uses the rest of its tokens for parts of prompts.
 * Requests join and leave at each step (continuous batching). They start in the order of
 * submission; if there are not enough pages, the last one is preempted and computed again
 * later, so that the first one always continues. Complete pages of prompts and answers are
 * kept while there is room, and a prompt with the same prefix uses these pages instead of
 * computing them; a prompt with the same prefix as one that is being computed waits for it.
 *
 * In a context that is ACCEL_CTX_REPRODUCIBLE an answer is bit for bit the same as for the
 * request alone, independent of other requests, of preemption, and of shared pages.
 *
 * Threads: any, several at once. One of them runs a step; others wait for it, or add requests
 * meanwhile.
 */

struct accel_generator;

/**
 * struct accel_generator_opts - options of accel_generator_create()
 */
struct accel_generator_opts {
	/** @size: sizeof(struct accel_generator_opts) */
	uint32_t size;
	/**
	 * @pages: number of pages of the cache, 0: for sequences as long as the context, as
	 * many as @batch but at most two
	 */
	uint32_t pages;
	/** @batch: largest number of sequences of a step, 0: 16 */
	uint32_t batch;
	/** @tokens: largest number of tokens of a step, 0: 256; at least @batch */
	uint32_t tokens;
	/**
	 * @kept: largest number of sequences that are kept for shared prefixes, 0: 64;
	 * UINT32_MAX: none
	 */
	uint32_t kept;
	/** @lookup: largest number of tokens that are guessed from the preceding text; 0: none */
	uint32_t lookup;
	/** @drafted: largest number of tokens that @draft guesses, 0: 4 */
	uint32_t drafted;
	/** @pad: 0 */
	uint32_t pad;
	/** @compile: options of accel_graph_compile(), NULL: default */
	const struct accel_compile_opts *compile;
	/** @draft: decoder with the same vocabulary for speculative decoding, or NULL */
	struct accel_graph *draft;
	/**
	 * @tokenizer: tokenizer, which must exist as long as the generator; NULL: events have
	 * no text
	 */
	const struct accel_tokenizer *tokenizer;
	/**
	 * @encoder: from accel_model_encoder(), for a decoder that attends to an encoded
	 *	text; or NULL. Such a generator supports accel_generator_search() only
	 */
	struct accel_graph *encoder;
};

/** ACCEL_GENERATOR_OPTS_INIT: default options */
#define ACCEL_GENERATOR_OPTS_INIT \
	{ sizeof(struct accel_generator_opts), 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }

/**
 * accel_generator_create - create a generator
 * @ctx: context
 * @graph: decoder, see accel_decoder_inputs(); it is compiled
 * @opts: options, or NULL
 * @generator: out
 *
 * Return: 0; -EINVAL, -E2BIG options, or the graph is not a decoder; errors of
 * accel_graph_compile(), accel_kv_create() and a first run. The error record is that of the
 * context.
 */
ACCEL_API int accel_generator_create(struct accel_ctx *ctx, struct accel_graph *graph,
				     const struct accel_generator_opts *opts,
				     struct accel_generator **generator);

/**
 * accel_generator_destroy - release a generator and all of its requests
 * @generator: generator that is not in use by another thread, or NULL
 */
ACCEL_API void accel_generator_destroy(struct accel_generator *generator);

/**
 * enum accel_event_kind - kinds of events
 * @ACCEL_EVENT_TOKEN: another token
 * @ACCEL_EVENT_END: end of the answer; the last event
 */
enum accel_event_kind {
	ACCEL_EVENT_TOKEN = 0,
	ACCEL_EVENT_END = 1
};

/**
 * enum accel_end - reason for the end of an answer
 * @ACCEL_END_STOP: a token or a text that ends it, which is not part of it
 * @ACCEL_END_LENGTH: the largest number of tokens, or the end of the context, was reached
 * @ACCEL_END_CANCELLED: it was cancelled
 * @ACCEL_END_ERROR: it failed: event.error; -EDOM logits were NaN or INFINITY, -E2BIG the
 *	schema takes too long
 */
enum accel_end {
	ACCEL_END_STOP = 0,
	ACCEL_END_LENGTH = 1,
	ACCEL_END_CANCELLED = 2,
	ACCEL_END_ERROR = 3
};

/**
 * struct accel_event - event of a request
 */
struct accel_event {
	/** @size: sizeof(struct accel_event) */
	uint32_t size;
	/** @kind: &enum accel_event_kind */
	uint32_t kind;
	/** @id: request */
	uint64_t id;
	/** @token: TOKEN: the token */
	uint32_t token;
	/** @logprob: TOKEN: logarithm of its probability, from the unmodified logits */
	float logprob;
	/** @index: TOKEN: index of the token, from 0 on; END: number of tokens */
	uint32_t index;
	/** @end: END: &enum accel_end */
	uint32_t end;
	/** @error: END: negative error, or 0 */
	int32_t error;
	/** @bytes: length of @text */
	uint32_t bytes;
	/**
	 * @text: text that is final: characters are complete, and a possible beginning of a
	 * text that ends the answer is held back
	 */
	const char *text;
	/** @top_count: number of @top */
	uint32_t top_count;
	/** @pad: 0 */
	uint32_t pad;
	/** @top: TOKEN: the most likely tokens, as many as requested */
	const struct accel_chosen *top;
};

/** ACCEL_EVENT_INIT: to be filled in */
#define ACCEL_EVENT_INIT \
	{ sizeof(struct accel_event), 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, NULL }

/**
 * struct accel_request - a request
 */
struct accel_request {
	/** @size: sizeof(struct accel_request) */
	uint32_t size;
	/** @count: number of @tokens, at least 1 */
	uint32_t count;
	/** @tokens: prompt, copied */
	const int32_t *tokens;
	/** @max_tokens: largest number of tokens of the answer, 0: limited by the context only */
	uint32_t max_tokens;
	/** @stop_count: number of @stops */
	uint32_t stop_count;
	/** @stops: tokens that end the answer, copied */
	const uint32_t *stops;
	/** @text_count: number of @texts */
	uint32_t text_count;
	/** @top: number of most likely tokens in events, at most 64 */
	uint32_t top;
	/** @texts: texts that end the answer, copied; the generator needs a tokenizer */
	const char *const *texts;
	/** @sampler: options of the sampler, NULL: the most likely tokens */
	const struct accel_sampler_opts *sampler;
	/**
	 * @schema: JSON schema of the answer, see accel_constraint_create(), or NULL; the
	 * generator needs a tokenizer. The answer ends when it is complete and a token of
	 * @stops is chosen, or when nothing can follow
	 */
	const char *schema;
	/** @salt: pages are shared with requests of the same salt only */
	uint64_t salt;
	/**
	 * @event: called for each event by the thread that runs the step; another result than
	 *	0 cancels the request. NULL: use accel_generator_next()
	 */
	int (*event)(void *user, const struct accel_event *event);
	/** @user: argument of @event */
	void *user;
};

/** ACCEL_REQUEST_INIT: to be filled in */
#define ACCEL_REQUEST_INIT \
	{ sizeof(struct accel_request), 0, NULL, 0, 0, NULL, 0, 0, NULL, NULL, NULL, 0, NULL, NULL }

/**
 * accel_generator_submit - submit a request
 * @generator: generator
 * @request: request
 * @id: out: its id
 *
 * Return: 0; -EINVAL, -E2BIG the request; -EOPNOTSUPP there is an encoder; -ENOSPC its prompt is
 * longer than the context, or needs more pages than there are; -ENOMEM.
 */
ACCEL_API int accel_generator_submit(struct accel_generator *generator,
				     const struct accel_request *request, uint64_t *id);

/**
 * accel_generator_cancel - cancel a request
 * @generator: generator
 * @id: request
 *
 * The next step produces its last event, ACCEL_END_CANCELLED unless it has ended before.
 *
 * Return: 0; -ENOENT no such request.
 */
ACCEL_API int accel_generator_cancel(struct accel_generator *generator, uint64_t id);

/**
 * accel_generator_step - run a step
 * @generator: generator
 *
 * Return: 1 if there is more to do, 0 if not; -EINVAL; -EDEADLK called from a callback of a
 * request.
 */
ACCEL_API int accel_generator_step(struct accel_generator *generator);

/**
 * accel_generator_next - wait for the next event of a request
 * @generator: generator
 * @id: request without a callback
 * @event: out: its pointers are valid until the next call for this request
 *
 * Runs steps, or waits for those of other threads, until there is an event. The request is
 * released by the first call after its ACCEL_EVENT_END.
 *
 * Return: 0; -ENOENT no such request; -EINVAL; -EDEADLK called from a callback of a request,
 * and it would have to run a step.
 */
ACCEL_API int accel_generator_next(struct accel_generator *generator, uint64_t id,
				   struct accel_event *event);

/**
 * DOC: Beams
 *
 * Beam search follows several continuations of a text at once, the beams, and finds ones with
 * a higher total probability than the most likely token in each step. Of all beams extended
 * by one token, the most likely continue; those that end are hypotheses, of which as many as
 * there are beams are kept, with the score::
 *
 *	sum of the logarithms of the probabilities / tokens ^ length_penalty
 *
 * both including the token that ends them. This, and the end of a search, are as in
 * transformers (BeamSearchScorer and BeamHypotheses of transformers 4.40): a step considers
 * twice as many candidates as beams (1 + n times with n tokens that end), and those that end
 * only if they are among the first as many as there are beams; of equal ones the earlier beam
 * is preferred, then the smaller token. If there are fewer candidates than beams, fewer beams
 * continue. With one beam the search ends with the first hypothesis, so it is greedy,
 * regardless of the stopping rule.
 *
 * Beams share the pages of their common prefix. A shared page is copied before it is written.
 */

/** ACCEL_SEARCH_BEAMS_MAX: largest number of beams */
#define ACCEL_SEARCH_BEAMS_MAX	64
/** ACCEL_SEARCH_STOPS_MAX: largest number of tokens that end a hypothesis */
#define ACCEL_SEARCH_STOPS_MAX	16

/**
 * enum accel_search_stopping - end of a search that has enough hypotheses
 * @ACCEL_SEARCH_LIKELY: when the score of the most likely candidate, if it ended now, is not
 *	better than that of the worst hypothesis (early_stopping=False)
 * @ACCEL_SEARCH_FIRST: at once (early_stopping=True)
 * @ACCEL_SEARCH_NEVER: when no beam can have a better score at any length
 *	(early_stopping="never")
 */
enum accel_search_stopping {
	ACCEL_SEARCH_LIKELY = 0,
	ACCEL_SEARCH_FIRST = 1,
	ACCEL_SEARCH_NEVER = 2
};

/**
 * struct accel_search - options of a search
 */
struct accel_search {
	/** @size: sizeof(struct accel_search) */
	uint32_t size;
	/**
	 * @beams: number of beams, from 1 to ACCEL_SEARCH_BEAMS_MAX, at most the generator's
	 * batch
	 */
	uint32_t beams;
	/** @tokens: text to continue */
	const int32_t *tokens;
	/** @count: number of @tokens, at least 1 */
	uint32_t count;
	/** @max_tokens: largest number of tokens of a hypothesis, 0: limited by the context only */
	uint32_t max_tokens;
	/** @stops: tokens that end a hypothesis */
	const uint32_t *stops;
	/** @stop_count: number of @stops, at most ACCEL_SEARCH_STOPS_MAX */
	uint32_t stop_count;
	/** @wanted: number of hypotheses to return, at most @beams; 0: the best one */
	uint32_t wanted;
	/**
	 * @length_penalty: from -16 to 16; positive values favour longer hypotheses, 0: the
	 * score is the sum
	 */
	float length_penalty;
	/** @stopping: &enum accel_search_stopping */
	uint32_t stopping;
	/** @source: text for the encoder; required if the generator has one, else NULL */
	const int32_t *source;
	/** @source_count: number of @source, at most 32768 */
	uint32_t source_count;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @step: called before each step with the number of tokens of a beam; another result
	 * than 0 ends the search; or NULL
	 */
	int (*step)(void *user, uint32_t tokens);
	/** @user: argument of @step */
	void *user;
};

/** ACCEL_SEARCH_INIT: four beams; the text must be set */
#define ACCEL_SEARCH_INIT \
	{ sizeof(struct accel_search), 4, NULL, 0, 0, NULL, 0, 0, 1, ACCEL_SEARCH_LIKELY, NULL, \
	  0, 0, NULL, NULL }

/**
 * struct accel_hypothesis - a result of a search
 */
struct accel_hypothesis {
	/** @size: sizeof(struct accel_hypothesis) */
	uint32_t size;
	/** @index: index, 0: the best */
	uint32_t index;
	/** @tokens: tokens without the one that ends it; valid during the call */
	const int32_t *tokens;
	/** @count: number of @tokens */
	uint32_t count;
	/** @end: ACCEL_END_STOP or ACCEL_END_LENGTH */
	uint32_t end;
	/** @logprob: logarithm of its probability, including the token that ends it */
	double logprob;
	/** @score: its score */
	double score;
};

/**
 * typedef accel_search_fn - receives a hypothesis
 * @user: passed on
 * @hypothesis: hypothesis
 *
 * Return: 0 to go on; anything else ends it.
 */
typedef int accel_search_fn(void *user, const struct accel_hypothesis *hypothesis);

/**
 * accel_generator_search - find the most likely continuations of a text by beam search
 * @generator: generator
 * @search: options
 * @fn: called for each hypothesis, the best first
 * @user: for @fn
 *
 * The search runs to its end, while requests wait. @fn is called after that.
 *
 * Return: 0; -EINVAL; -E2BIG more beams than the generator's batch; -ENOSPC the text is as
 * long as the context, or there are too few pages; -EDOM logits are NaN or INFINITY;
 * -ECANCELED @fn or the callback of a step ended it; -EDEADLK as accel_generator_step();
 * -ENOMEM; errors of accel_state_run().
 */
ACCEL_API int accel_generator_search(struct accel_generator *generator,
				     const struct accel_search *search, accel_search_fn *fn,
				     void *user);

/**
 * struct accel_generator_info - description of a generator
 */
struct accel_generator_info {
	/** @size: sizeof(struct accel_generator_info) */
	uint32_t size;
	/** @vocabulary: number of logits */
	uint32_t vocabulary;
	/** @context: largest number of tokens of a sequence */
	uint32_t context;
	/** @page_size: number of tokens of a page */
	uint32_t page_size;
	/** @pages: number of pages of the cache */
	uint32_t pages;
	/** @used_pages: number of pages in use, including those of kept sequences */
	uint32_t used_pages;
	/** @kept: number of kept sequences */
	uint32_t kept;
	/** @waiting: number of waiting requests */
	uint32_t waiting;
	/** @active: number of requests that are being answered */
	uint32_t active;
	/** @width: number of elements of "hidden", 0: there is none */
	uint32_t width;
	/** @steps: number of runs */
	uint64_t steps;
	/** @prompt_tokens: number of tokens of prompts that were computed, including repetitions */
	uint64_t prompt_tokens;
	/** @shared_tokens: number of tokens of prompts whose pages were shared */
	uint64_t shared_tokens;
	/** @new_tokens: number of tokens of answers */
	uint64_t new_tokens;
	/** @preempted: number of preemptions of requests */
	uint64_t preempted;
	/** @guessed: number of guessed tokens */
	uint64_t guessed;
	/** @accepted: number of guessed tokens that were right */
	uint64_t accepted;
};

/**
 * accel_generator_get_info - describe a generator
 * @generator: generator
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_generator_get_info(struct accel_generator *generator,
				       struct accel_generator_info *info);

/**
 * accel_generator_save - write a session to files
 * @generator: generator
 * @tokens: text that was answered, with its answer
 * @count: its tokens
 * @salt: salt of the request
 * @path: file for keys and values; the file for tokens has ".tokens" appended. Existing files
 *	are replaced
 *
 * Saves the complete pages of the text that are kept.
 *
 * Return: 0; -ENOENT no page of it is kept; -EINVAL; -EDEADLK as accel_generator_step();
 * -ENOSPC no page is free; errors of accel_kv_save().
 */
ACCEL_API int accel_generator_save(struct accel_generator *generator, const int32_t *tokens,
				   uint32_t count, uint64_t salt, const char *path);

/**
 * accel_generator_load - read a session from files
 * @generator: generator of the same model
 * @path: file of accel_generator_save()
 *
 * The text is kept, and used by requests that begin with its tokens.
 *
 * Return: 0; -EOPNOTSUPP the generator keeps no sequences; -EBADMSG, -EPROTO not such files,
 * truncated or corrupt; -ESTALE of another model, whose results for a few tokens differ;
 * -EINVAL of another vocabulary, context or page size; -EDEADLK as accel_generator_step();
 * -ENOSPC too few pages; errors of open().
 */
ACCEL_API int accel_generator_load(struct accel_generator *generator, const char *path);

/**
 * accel_generator_score - compute the log-probabilities of the tokens of a text
 * @generator: generator
 * @tokens: text
 * @count: number of tokens, from 2 to the context
 * @logprobs: out: for tokens 1 to @count - 1, given the preceding ones
 *
 * Return: 0; -EINVAL; -EOPNOTSUPP there is an encoder; -EDOM logits are NaN or INFINITY; -EDEADLK
 * as accel_generator_step(); -ENOSPC pages; errors of accel_state_run().
 */
ACCEL_API int accel_generator_score(struct accel_generator *generator, const int32_t *tokens,
				    uint32_t count, float *logprobs);

/**
 * enum accel_pooling - combination of the rows of a text to an embedding
 * @ACCEL_POOL_LAST: the last row
 * @ACCEL_POOL_FIRST: the first row
 * @ACCEL_POOL_MEAN: the mean
 * @ACCEL_POOL_LARGEST: the elementwise maximum
 */
enum accel_pooling {
	ACCEL_POOL_LAST = 0,
	ACCEL_POOL_FIRST = 1,
	ACCEL_POOL_MEAN = 2,
	ACCEL_POOL_LARGEST = 3
};

/** ACCEL_POOL_NORMALISE: divide the vector by its Euclidean norm */
#define ACCEL_POOL_NORMALISE	(1u << 31)

/**
 * accel_generator_embed - compute the embedding of a text
 * @generator: generator of a decoder with the result "hidden"
 * @tokens: text
 * @count: number of tokens, from 1 to the context
 * @pooling: &enum accel_pooling, optionally with ACCEL_POOL_NORMALISE
 * @vector: out: info.width elements
 *
 * Return: 0; -EINVAL; -EOPNOTSUPP it has no such result, or an encoder; -EDEADLK as
 * accel_generator_step(); -ENOSPC pages; errors of accel_state_run().
 */
ACCEL_API int accel_generator_embed(struct accel_generator *generator, const int32_t *tokens,
				    uint32_t count, uint32_t pooling, float *vector);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_GENERATE_H */
