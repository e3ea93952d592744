/* SPDX-License-Identifier: MIT */
/*
 * Text from models, token by token. In libaccel-models. It is one header, as it is one page of
 * the manual.
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
 * A decoder is a graph that runs a batch of sequences at any place of theirs: prompts in
 * pieces, single tokens, and both at once. Its tokens lie one sequence after the other; keys
 * and values of all layers lie in a cache of pages (&struct accel_kv), which the graph writes
 * and reads. What goes where is said by inputs, so that a step is run again as it is::
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
 *	cache.v_scales	likewise
 *
 * Its result "logits" has vocabulary elements for each row; "hidden", if there is one, those
 * that embeddings are made of.
 */

/**
 * struct accel_decoder_opts - the cache of a decoder
 */
struct accel_decoder_opts {
	/** @size: sizeof(struct accel_decoder_opts) */
	uint32_t size;
	/** @layers: layers that have keys and values */
	uint32_t layers;
	/** @kv_heads: heads of keys and values */
	uint32_t kv_heads;
	/** @head_dim: elements of a key */
	uint32_t head_dim;
	/** @v_dim: elements of a value, 0: @head_dim */
	uint32_t v_dim;
	/** @dtype: of the cache: ACCEL_F32 (also 0), ACCEL_F16, ACCEL_BF16, ACCEL_S8 */
	uint32_t dtype;
	/** @scale_dtype: ACCEL_S8: ACCEL_F32 (also 0) or ACCEL_F16; else 0 */
	uint32_t scale_dtype;
	/**
	 * @page_size: tokens of a page, 0: 16; accel_model_decoder() takes 8 to 15 if the model's
	 * context is a multiple of that and not of 16
	 */
	uint32_t page_size;
	/**
	 * @context: most tokens of a sequence, rounded up to whole pages: what has a row for each
	 * position needs as many rows as &accel_decoder.opts says
	 */
	uint32_t context;
	/** @pad: 0 */
	uint32_t pad;
};

/** ACCEL_DECODER_OPTS_INIT: default options; the shape is to be set */
#define ACCEL_DECODER_OPTS_INIT \
	{ sizeof(struct accel_decoder_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * struct accel_decoder - inputs of a decoder's graph: values
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
	/** @k_scales: of an int8 cache */
	uint32_t k_scales;
	/** @v_scales: likewise */
	uint32_t v_scales;
	/** @opts: as asked for, defaults filled in */
	struct accel_decoder_opts opts;
};

/**
 * accel_decoder_inputs - add the inputs of a decoder to a graph
 * @graph: graph
 * @opts: its cache
 * @decoder: out
 *
 * Return: 0; -EINVAL, -E2BIG options; errors of accel_graph_input().
 */
ACCEL_API int accel_decoder_inputs(struct accel_graph *graph,
				   const struct accel_decoder_opts *opts,
				   struct accel_decoder *decoder);

/**
 * accel_decoder_attend - write keys and values of a layer and attend to all that there are
 * @graph: graph
 * @decoder: inputs
 * @layer: layer, each once
 * @desc: how, or NULL: window, scale, softcap; it is causal and ragged. Tensors are absent,
 *	but for what is said of the type of D
 * @q: queries [1, tokens, heads, head_dim]
 * @k: keys [1, tokens, kv_heads, head_dim], turned already if they are
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
 * accel_decoder_rows - of what there is for each token, that which is wanted
 * @graph: graph
 * @decoder: inputs
 * @value: [1, tokens, n]
 * @d: out: [1, rows, n]
 *
 * Before the last norm and product, which are then for these rows alone.
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
 * typical, top-p, min-p, temperature, and a draw. What cuts off looks at probabilities without
 * temperature. Ties go to the smaller token. Numbers are drawn by SplitMix64 (G. Steele and
 * others, "Fast Splittable Pseudorandom Number Generators", 2014) from the seed: the upper 53
 * bits over 2^53 are u, and the token is the first of those that are left whose sum of
 * probabilities is above u; they are in order of probability after a cut, else in order.
 */

struct accel_sampler;

/**
 * struct accel_token_bias - added to a logit
 */
struct accel_token_bias {
	/** @token: token */
	uint32_t token;
	/** @bias: added; -INFINITY: never */
	float bias;
};

/**
 * struct accel_sampler_opts - how tokens are chosen
 */
struct accel_sampler_opts {
	/** @size: sizeof(struct accel_sampler_opts) */
	uint32_t size;
	/** @top_k: the most likely ones, 0: all */
	uint32_t top_k;
	/** @temperature: logits are divided by it; 0: the most likely token, nothing is drawn */
	float temperature;
	/** @top_p: the fewest of the most likely ones with this probability together; 1: all */
	float top_p;
	/** @min_p: those with at least this share of the most likely one's probability; 0: all */
	float min_p;
	/**
	 * @typical_p: the fewest of those whose information is next to the entropy with this
	 * probability together (C. Meister and others, arXiv:2202.00666); 1: all
	 */
	float typical_p;
	/**
	 * @repeat_penalty: logits of tokens that were there are divided by it if above 0, else
	 * multiplied (N. Keskar and others, arXiv:1909.05858); 1: nothing
	 */
	float repeat_penalty;
	/** @frequency_penalty: less this, as often as they were there; 0: nothing */
	float frequency_penalty;
	/** @presence_penalty: less this, once if they were there; 0: nothing */
	float presence_penalty;
	/** @last: accepted tokens that penalties look back at, at most 65536; 0: 64 */
	uint32_t last;
	/** @bias_count: number of @bias */
	uint32_t bias_count;
	/** @pad: 0 */
	uint32_t pad;
	/** @bias: added to logits, copied */
	const struct accel_token_bias *bias;
	/** @seed: of the numbers that are drawn */
	uint64_t seed;
};

/** ACCEL_SAMPLER_OPTS_INIT: default options: the most likely token */
#define ACCEL_SAMPLER_OPTS_INIT \
	{ sizeof(struct accel_sampler_opts), 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, NULL, 0 }

/**
 * accel_sampler_create - something that chooses tokens
 * @opts: options, or NULL
 * @vocabulary: number of logits
 * @sampler: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM.
 */
ACCEL_API int accel_sampler_create(const struct accel_sampler_opts *opts, uint32_t vocabulary,
				   struct accel_sampler **sampler);

/**
 * accel_sampler_destroy - give it up
 * @sampler: sampler, or NULL
 */
ACCEL_API void accel_sampler_destroy(struct accel_sampler *sampler);

/**
 * accel_sampler_set_mask - tokens that may not be chosen
 * @sampler: sampler
 * @allowed: whether a token may be; negative: an error, which the call that asked returns. NULL:
 *	all may be
 * @user: passed on
 *
 * The token that was drawn is asked about; only if it may not be are all others, and it is
 * drawn again among those that may.
 *
 * Return: 0; -EINVAL.
 */
ACCEL_API int accel_sampler_set_mask(struct accel_sampler *sampler,
				     int (*allowed)(void *user, uint32_t token), void *user);

/**
 * struct accel_chosen - a token
 */
struct accel_chosen {
	/** @token: token */
	uint32_t token;
	/** @logprob: logarithm of its probability by the logits as they came */
	float logprob;
};

/**
 * accel_sampler_sample - choose a token
 * @sampler: sampler
 * @logits: as many as the vocabulary; -INFINITY: never
 * @chosen: out
 *
 * It is not yet accepted.
 *
 * Return: 0; -EINVAL; -EDOM some logit is NaN or INFINITY; -ENODATA no token may be chosen; errors
 * of the mask.
 */
ACCEL_API int accel_sampler_sample(struct accel_sampler *sampler, const float *logits,
				   struct accel_chosen *chosen);

/**
 * accel_sampler_accept - a token that was chosen, or given, is there: penalties count it
 * @sampler: sampler
 * @token: token
 *
 * Return: 0; -EINVAL.
 */
ACCEL_API int accel_sampler_accept(struct accel_sampler *sampler, uint32_t token);

/**
 * accel_sampler_probabilities - what would be drawn from
 * @sampler: sampler
 * @logits: as for accel_sampler_sample()
 * @probabilities: out: of each token of the vocabulary, 0 for those that are cut off or may not be
 *
 * With a mask it is what comes of both draws, see accel_sampler_set_mask().
 *
 * Return: as of accel_sampler_sample().
 */
ACCEL_API int accel_sampler_probabilities(struct accel_sampler *sampler, const float *logits,
					  double *probabilities);

/**
 * accel_sampler_top - the most likely tokens by logits as they are
 * @sampler: sampler
 * @logits: logits
 * @top: out, most likely first
 * @count: how many, at most the vocabulary
 *
 * Return: 0; -EINVAL; -EDOM some logit is NaN or INFINITY.
 */
ACCEL_API int accel_sampler_top(struct accel_sampler *sampler, const float *logits,
				struct accel_chosen *top, uint32_t count);

/**
 * accel_sampler_uniform - the next number that is drawn
 * @sampler: sampler
 *
 * Return: from 0 to below 1; 0 for NULL.
 */
ACCEL_API double accel_sampler_uniform(struct accel_sampler *sampler);

/* --- constraints ----------------------------------------------------------------------- */

/**
 * DOC: Constraints
 *
 * A constraint says which bytes a text may go on with so that it becomes JSON of a schema:
 * type, properties in their order with required ones, additionalProperties where there are no
 * properties, items, minItems, maxItems, minLength, maxLength, enum, const, anyOf, oneOf (taken
 * for anyOf), and $ref within the schema. Other words that constrain are refused, and so are
 * those beside $ref, const, enum, anyOf and oneOf, but for the type of const and enum. Between
 * parts there may be a space, or a line's end and up to 20 of them; numbers have at most 18 digits
 * before and 17 behind the point. Schemas have at most 1 MiB and 64 levels, texts about 40. What is
 * asked and taken between two tokens may look at 2^26 states, which is a second at the most: only a
 * schema that is made for it comes near. More is -E2BIG, which ends a request with that error.
 */

struct accel_constraint;

/**
 * accel_constraint_create - the texts of a JSON schema
 * @schema: schema
 * @bytes: of it
 * @error: filled if it fails, may be NULL
 * @constraint: out: at the beginning of a text
 *
 * Return: 0; -EBADMSG no JSON; -EINVAL contradictions; -EOPNOTSUPP words that are not known;
 * -E2BIG too large; -ENOMEM.
 */
ACCEL_API int accel_constraint_create(const char *schema, uint64_t bytes,
				      struct accel_error *error,
				      struct accel_constraint **constraint);

/**
 * accel_constraint_destroy - give it up
 * @constraint: constraint, or NULL
 */
ACCEL_API void accel_constraint_destroy(struct accel_constraint *constraint);

/**
 * accel_constraint_allows - may these bytes come next?
 * @constraint: constraint, unchanged
 * @bytes: bytes
 * @count: how many
 *
 * Return: 1 if they may, else 0; -E2BIG: too much has been looked at since the last bytes came.
 */
ACCEL_API int accel_constraint_allows(struct accel_constraint *constraint, const char *bytes,
				      uint64_t count);

/**
 * accel_constraint_take - these bytes come next
 * @constraint: constraint
 * @bytes: bytes
 * @count: how many
 *
 * Return: 0; -EINVAL they may not: nothing has changed; -E2BIG too much to look at, likewise.
 */
ACCEL_API int accel_constraint_take(struct accel_constraint *constraint, const char *bytes,
				    uint64_t count);

/**
 * accel_constraint_whole - may the text end here?
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
 * each sequence that is being answered, and with what is left of its tokens pieces of prompts.
 * Requests join and leave at each step. They are taken in the order in which they came; where
 * pages run out, the one that came last waits and is computed again later, so that the first
 * one always goes on. Whole pages of prompts and answers are kept while there is room, and a
 * prompt that begins like one of them takes its pages instead of computing them; so does one
 * that begins like a prompt in work, which it waits for.
 *
 * With a context that is ACCEL_CTX_REPRODUCIBLE an answer is the one that the request has
 * alone, bit for bit, whatever else is answered, preempted or found.
 *
 * Threads: any may call, also at the same time. One of them runs a step, others wait for it or
 * add requests meanwhile.
 */

struct accel_generator;

/**
 * struct accel_generator_opts - options of accel_generator_create()
 */
struct accel_generator_opts {
	/** @size: sizeof(struct accel_generator_opts) */
	uint32_t size;
	/** @pages: pages of the cache, 0: for @batch, at most two, sequences of the context */
	uint32_t pages;
	/** @batch: most sequences of a step, 0: 16 */
	uint32_t batch;
	/** @tokens: most tokens of a step, 0: 256; at least @batch */
	uint32_t tokens;
	/** @kept: most sequences that are kept for their beginnings, 0: 64; UINT32_MAX: none */
	uint32_t kept;
	/** @lookup: most tokens that are guessed from what was there before; 0: none */
	uint32_t lookup;
	/** @drafted: most tokens that @draft guesses, 0: 4 */
	uint32_t drafted;
	/** @pad: 0 */
	uint32_t pad;
	/** @compile: options of accel_graph_compile(), NULL: default */
	const struct accel_compile_opts *compile;
	/** @draft: decoder with the same vocabulary that guesses, or NULL */
	struct accel_graph *draft;
	/** @tokenizer: what tokens are as text, which has to stay; NULL: there is no text */
	const struct accel_tokenizer *tokenizer;
	/**
	 * @encoder: of accel_model_encoder(): the decoder sees what it makes of a text. Such a
	 *	generator searches, see accel_generator_search(), and does nothing else. Or NULL
	 */
	struct accel_graph *encoder;
};

/** ACCEL_GENERATOR_OPTS_INIT: default options */
#define ACCEL_GENERATOR_OPTS_INIT \
	{ sizeof(struct accel_generator_opts), 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }

/**
 * accel_generator_create - something that answers requests
 * @ctx: context
 * @graph: decoder, see accel_decoder_inputs(); it is compiled
 * @opts: options, or NULL
 * @generator: out
 *
 * Return: 0; -EINVAL, -E2BIG options, or the graph is no decoder; errors of
 * accel_graph_compile(), accel_kv_create() and a first run. The context has the record.
 */
ACCEL_API int accel_generator_create(struct accel_ctx *ctx, struct accel_graph *graph,
				     const struct accel_generator_opts *opts,
				     struct accel_generator **generator);

/**
 * accel_generator_destroy - give it up, and all requests
 * @generator: generator, or NULL; nobody else calls it any more
 */
ACCEL_API void accel_generator_destroy(struct accel_generator *generator);

/**
 * enum accel_event_kind - what happened
 * @ACCEL_EVENT_TOKEN: there is another token
 * @ACCEL_EVENT_END: there are no more; nothing comes after it
 */
enum accel_event_kind {
	ACCEL_EVENT_TOKEN = 0,
	ACCEL_EVENT_END = 1
};

/**
 * enum accel_end - why an answer ended
 * @ACCEL_END_STOP: by a token or a text that ends it, which is no part of it
 * @ACCEL_END_LENGTH: it has as many tokens as were wanted, or the context has no more
 * @ACCEL_END_CANCELLED: it was cancelled
 * @ACCEL_END_ERROR: it failed: event.error; -EDOM the model gave NaN or INFINITY, -E2BIG the schema
 *	takes too long
 */
enum accel_end {
	ACCEL_END_STOP = 0,
	ACCEL_END_LENGTH = 1,
	ACCEL_END_CANCELLED = 2,
	ACCEL_END_ERROR = 3
};

/**
 * struct accel_event - something that happened to a request
 */
struct accel_event {
	/** @size: sizeof(struct accel_event) */
	uint32_t size;
	/** @kind: &enum accel_event_kind */
	uint32_t kind;
	/** @id: request */
	uint64_t id;
	/** @token: TOKEN: it */
	uint32_t token;
	/** @logprob: TOKEN: logarithm of its probability by the model */
	float logprob;
	/** @index: TOKEN: from 0 on; END: how many there were */
	uint32_t index;
	/** @end: END: &enum accel_end */
	uint32_t end;
	/** @error: END: negative error, or 0 */
	int32_t error;
	/** @bytes: of @text */
	uint32_t bytes;
	/**
	 * @text: text that became certain: characters are not cut, and what may be the
	 * beginning of a text that ends the answer comes later
	 */
	const char *text;
	/** @top_count: of @top */
	uint32_t top_count;
	/** @pad: 0 */
	uint32_t pad;
	/** @top: TOKEN: the most likely ones, as many as were asked for */
	const struct accel_chosen *top;
};

/** ACCEL_EVENT_INIT: to be filled in */
#define ACCEL_EVENT_INIT \
	{ sizeof(struct accel_event), 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, NULL }

/**
 * struct accel_request - what is to be answered
 */
struct accel_request {
	/** @size: sizeof(struct accel_request) */
	uint32_t size;
	/** @count: number of @tokens, at least 1 */
	uint32_t count;
	/** @tokens: prompt, copied */
	const int32_t *tokens;
	/** @max_tokens: most tokens of the answer, 0: as many as the context has room for */
	uint32_t max_tokens;
	/** @stop_count: number of @stops */
	uint32_t stop_count;
	/** @stops: tokens that end the answer, copied */
	const uint32_t *stops;
	/** @text_count: number of @texts */
	uint32_t text_count;
	/** @top: number of most likely tokens that events have, at most 64 */
	uint32_t top;
	/** @texts: texts that end the answer, copied; the generator needs a tokenizer */
	const char *const *texts;
	/** @sampler: how tokens are chosen, NULL: the most likely ones */
	const struct accel_sampler_opts *sampler;
	/**
	 * @schema: JSON schema that the answer is of, see accel_constraint_create(), or NULL; the
	 * generator needs a tokenizer. It ends where it is whole and a token of @stops is chosen,
	 * or nothing can come any more
	 */
	const char *schema;
	/** @salt: pages are shared with requests of the same number only */
	uint64_t salt;
	/**
	 * @event: told what happens, by the thread that runs the step; another number than 0
	 *	cancels. NULL: accel_generator_next() gives it
	 */
	int (*event)(void *user, const struct accel_event *event);
	/** @user: for @event */
	void *user;
};

/** ACCEL_REQUEST_INIT: to be filled in */
#define ACCEL_REQUEST_INIT \
	{ sizeof(struct accel_request), 0, NULL, 0, 0, NULL, 0, 0, NULL, NULL, NULL, 0, NULL, NULL }

/**
 * accel_generator_submit - add a request
 * @generator: generator
 * @request: what is to be answered
 * @id: out: its number
 *
 * Return: 0; -EINVAL, -E2BIG the request; -EOPNOTSUPP there is an encoder; -ENOSPC its prompt is
 * longer than the context, or needs more pages than there are; -ENOMEM.
 */
ACCEL_API int accel_generator_submit(struct accel_generator *generator,
				     const struct accel_request *request, uint64_t *id);

/**
 * accel_generator_cancel - end an answer
 * @generator: generator
 * @id: request
 *
 * Its last event says so, unless it had ended. It comes with the next step.
 *
 * Return: 0; -ENOENT there is no such request.
 */
ACCEL_API int accel_generator_cancel(struct accel_generator *generator, uint64_t id);

/**
 * accel_generator_step - run once
 * @generator: generator
 *
 * Return: 1: there is more to do; 0: nothing is; -EINVAL; -EDEADLK called by a function of a
 * request, which a step called.
 */
ACCEL_API int accel_generator_step(struct accel_generator *generator);

/**
 * accel_generator_next - what happened next to a request
 * @generator: generator
 * @id: request without a function of its own
 * @event: out: what it points to is valid until the next call for this request
 *
 * Runs steps, or waits for those of other threads, until there is something. After the END
 * the request is gone when this is called for it again.
 *
 * Return: 0; -ENOENT there is no such request; -EINVAL; -EDEADLK it would have to run a step, and
 * was called by a function of a request.
 */
ACCEL_API int accel_generator_next(struct accel_generator *generator, uint64_t id,
				   struct accel_event *event);

/**
 * DOC: Beams
 *
 * A search follows several continuations of a text at once, the beams, and finds ones that are
 * likelier as a whole than the likeliest token each time. Of all beams with one more token, the
 * likeliest go on; those that end are hypotheses, of which as many as there are beams are kept,
 * with the score::
 *
 *	sum of the logarithms of the probabilities / tokens ^ length_penalty
 *
 * both with the token that ends them. That, and when a search ends, is as transformers has it
 * (BeamSearchScorer and BeamHypotheses of transformers 4.40): a step looks at twice as many
 * candidates as there are beams (for n tokens that end, 1 + n times), and of those that end only
 * at the ones among the first as many as there are beams; ties go to the earlier beam, then to
 * the smaller token. Where there are fewer candidates than beams fewer go on. One beam ends with
 * the first hypothesis, so it is the likeliest token each time, whatever is said of stopping.
 *
 * Beams share the pages of what they have in common. One that is written to is copied before.
 */

/** ACCEL_SEARCH_BEAMS_MAX: most beams */
#define ACCEL_SEARCH_BEAMS_MAX	64
/** ACCEL_SEARCH_STOPS_MAX: most tokens that end a search */
#define ACCEL_SEARCH_STOPS_MAX	16

/**
 * enum accel_search_stopping - when a search with enough hypotheses ends
 * @ACCEL_SEARCH_LIKELY: when the likeliest candidate, were it to end now, would score no better
 *	than the worst of them (early_stopping=False)
 * @ACCEL_SEARCH_FIRST: at once (early_stopping=True)
 * @ACCEL_SEARCH_NEVER: when no beam can score better, however long it becomes
 *	(early_stopping="never")
 */
enum accel_search_stopping {
	ACCEL_SEARCH_LIKELY = 0,
	ACCEL_SEARCH_FIRST = 1,
	ACCEL_SEARCH_NEVER = 2
};

/**
 * struct accel_search - what is to be searched for
 */
struct accel_search {
	/** @size: sizeof(struct accel_search) */
	uint32_t size;
	/** @beams: from 1 to ACCEL_SEARCH_BEAMS_MAX, at most the generator's batch */
	uint32_t beams;
	/** @tokens: text that is gone on with */
	const int32_t *tokens;
	/** @count: number of @tokens, at least 1 */
	uint32_t count;
	/** @max_tokens: most tokens of a hypothesis, 0: as many as the context has room for */
	uint32_t max_tokens;
	/** @stops: tokens that end one */
	const uint32_t *stops;
	/** @stop_count: number of @stops, at most ACCEL_SEARCH_STOPS_MAX */
	uint32_t stop_count;
	/** @wanted: hypotheses that are told, at most @beams; 0: the best one */
	uint32_t wanted;
	/** @length_penalty: from -16 to 16; above 0 longer ones gain, 0: the sum is the score */
	float length_penalty;
	/** @stopping: &enum accel_search_stopping */
	uint32_t stopping;
	/** @source: text for the encoder, if there is one: there has to be one then, else none */
	const int32_t *source;
	/** @source_count: number of @source, at most 32768 */
	uint32_t source_count;
	/** @pad: 0 */
	uint32_t pad;
	/** @step: called before each step with the tokens of a beam; not 0 ends it; or NULL */
	int (*step)(void *user, uint32_t tokens);
	/** @user: for @step */
	void *user;
};

/** ACCEL_SEARCH_INIT: four beams; the text is to be set */
#define ACCEL_SEARCH_INIT \
	{ sizeof(struct accel_search), 4, NULL, 0, 0, NULL, 0, 0, 1, ACCEL_SEARCH_LIKELY, NULL, \
	  0, 0, NULL, NULL }

/**
 * struct accel_hypothesis - what a search found
 */
struct accel_hypothesis {
	/** @size: sizeof(struct accel_hypothesis) */
	uint32_t size;
	/** @index: 0 is the best */
	uint32_t index;
	/** @tokens: without the one that ends it; there during the call */
	const int32_t *tokens;
	/** @count: number of @tokens */
	uint32_t count;
	/** @end: ACCEL_END_STOP or ACCEL_END_LENGTH */
	uint32_t end;
	/** @logprob: logarithm of its probability, with that of the token that ends it */
	double logprob;
	/** @score: what it is judged by */
	double score;
};

/**
 * typedef accel_search_fn - told a hypothesis
 * @user: passed on
 * @hypothesis: hypothesis
 *
 * Return: 0 to go on; anything else ends it.
 */
typedef int accel_search_fn(void *user, const struct accel_hypothesis *hypothesis);

/**
 * accel_generator_search - the likeliest continuations of a text
 * @generator: generator
 * @search: what for
 * @fn: told the hypotheses, best first
 * @user: for @fn
 *
 * It runs to its end: requests wait meanwhile. @fn is called when others may go on.
 *
 * Return: 0; -EINVAL; -E2BIG more beams than the generator's batch; -ENOSPC the text is as long as
 * the context, or there are too few pages; -EDOM logits are NaN or INFINITY; -ECANCELED @fn or the
 * function of a step wanted it; -EDEADLK as accel_generator_step(); -ENOMEM; errors of
 * accel_state_run().
 */
ACCEL_API int accel_generator_search(struct accel_generator *generator,
				     const struct accel_search *search, accel_search_fn *fn,
				     void *user);

/**
 * struct accel_generator_info - a generator
 */
struct accel_generator_info {
	/** @size: sizeof(struct accel_generator_info) */
	uint32_t size;
	/** @vocabulary: number of logits */
	uint32_t vocabulary;
	/** @context: most tokens of a sequence */
	uint32_t context;
	/** @page_size: tokens of a page */
	uint32_t page_size;
	/** @pages: pages of the cache */
	uint32_t pages;
	/** @used_pages: those that are in use, also by what is kept */
	uint32_t used_pages;
	/** @kept: sequences that are kept */
	uint32_t kept;
	/** @waiting: requests that wait */
	uint32_t waiting;
	/** @active: requests that are being answered */
	uint32_t active;
	/** @width: elements of "hidden", 0: there is none */
	uint32_t width;
	/** @steps: runs */
	uint64_t steps;
	/** @prompt_tokens: tokens of prompts that were computed, again too */
	uint64_t prompt_tokens;
	/** @shared_tokens: those whose pages were there */
	uint64_t shared_tokens;
	/** @new_tokens: tokens of answers */
	uint64_t new_tokens;
	/** @preempted: how often a request had to make room */
	uint64_t preempted;
	/** @guessed: tokens that were guessed */
	uint64_t guessed;
	/** @accepted: of these, those that were right */
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
 * @salt: of the request
 * @path: file for keys and values; that of tokens has ".tokens" behind its name. Both are
 *	replaced
 *
 * As many whole pages of the text as are kept.
 *
 * Return: 0; -ENOENT nothing of it is kept; -EINVAL; -EDEADLK as accel_generator_step(); -ENOSPC no
 * page is free; errors of accel_kv_save().
 */
ACCEL_API int accel_generator_save(struct accel_generator *generator, const int32_t *tokens,
				   uint32_t count, uint64_t salt, const char *path);

/**
 * accel_generator_load - read a session from files
 * @generator: generator of the same model
 * @path: file of accel_generator_save()
 *
 * It is kept, and found by the next request that begins with its tokens.
 *
 * Return: 0; -EOPNOTSUPP nothing is kept; -EBADMSG, -EPROTO not such files, truncated or
 * corrupt; -ESTALE of another model: one that says something else of a few tokens; -EINVAL of
 * another vocabulary, context or size of pages; -EDEADLK as accel_generator_step(); -ENOSPC too few
 * pages; errors of open().
 */
ACCEL_API int accel_generator_load(struct accel_generator *generator, const char *path);

/**
 * accel_generator_score - logarithms of the probabilities of a text's tokens
 * @generator: generator
 * @tokens: text
 * @count: its tokens, from 2 to the context
 * @logprobs: out: of tokens 1 to @count - 1, by those before
 *
 * Return: 0; -EINVAL; -EOPNOTSUPP there is an encoder; -EDOM logits are NaN or INFINITY; -EDEADLK
 * as accel_generator_step(); -ENOSPC pages; errors of accel_state_run().
 */
ACCEL_API int accel_generator_score(struct accel_generator *generator, const int32_t *tokens,
				    uint32_t count, float *logprobs);

/**
 * enum accel_pooling - an embedding of the rows of a text
 * @ACCEL_POOL_LAST: the last one
 * @ACCEL_POOL_FIRST: the first one
 * @ACCEL_POOL_MEAN: the mean
 * @ACCEL_POOL_LARGEST: of each element the largest
 */
enum accel_pooling {
	ACCEL_POOL_LAST = 0,
	ACCEL_POOL_FIRST = 1,
	ACCEL_POOL_MEAN = 2,
	ACCEL_POOL_LARGEST = 3
};

/** ACCEL_POOL_NORMALISE: divided by its length */
#define ACCEL_POOL_NORMALISE	(1u << 31)

/**
 * accel_generator_embed - a text as a vector
 * @generator: generator of a decoder with the result "hidden"
 * @tokens: text
 * @count: its tokens, from 1 to the context
 * @pooling: &enum accel_pooling, perhaps with ACCEL_POOL_NORMALISE
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
