/* SPDX-License-Identifier: MIT */
/*
 * Generators from the inside.
 *
 *	decoder.c	what decoders' graphs have in common
 *	constraint.c	texts of a JSON schema, of which schema.c makes states
 *	sampler.c	from logits to a token
 *	engine.c	a decoder with its cache: runs pieces of sequences
 *	kept.c		beginnings of sequences that are kept, and found again
 *	guess.c		tokens that are guessed, and what becomes of them
 *	text.c		bytes of tokens as text, and texts that end it
 *	generator.c	requests and their events
 *	step.c		who runs in a step, and who has to wait
 *	session.c	sequences that are kept, in files
 *	whole.c		a text as a whole: scores, embeddings
 *	beam.c		the likeliest continuations, several at a time
 *	embed.c		texts as vectors, many at once
 */
#ifndef LIBACCEL_MODELS_GENERATE_H
#define LIBACCEL_MODELS_GENERATE_H

#include <pthread.h>
#include <stdbool.h>
#include <accel/accel.h>
#include <accel/generate.h>

/* --- decoder.c --------------------------------------------------------------------- */

/* accel_decoder_attend() with a mask as the operation has it, or NULL */
int decoder_attend(struct accel_graph *graph, const struct accel_decoder *decoder, uint32_t layer,
		   const struct accel_attention_desc *desc, const uint32_t *mask, uint32_t q,
		   uint32_t k, uint32_t v, uint32_t *d);

/* --- engine.c ---------------------------------------------------------------------- */

enum engine_input {
	ENGINE_TOKENS, ENGINE_POSITIONS, ENGINE_SLOTS, ENGINE_PAGES, ENGINE_LENGTHS, ENGINE_ROWS,
	ENGINE_K, ENGINE_V, ENGINE_K_SCALES, ENGINE_V_SCALES,
	ENGINE_INPUTS
};

/**
 * struct engine_seq - a sequence of an engine
 * @live: it is there
 * @seq: of the cache
 * @done: tokens whose keys and values are there
 * @table: its pages, as far as they are known here
 */
struct engine_seq {
	bool live;
	uint32_t seq;
	uint32_t done;
	int32_t *table;
};

/**
 * struct piece - tokens of a sequence that a run takes
 * @seq: sequence
 * @tokens: those behind the ones that are done
 * @count: how many
 * @rows: of how many, at the end, results are wanted
 */
struct piece {
	struct engine_seq *seq;
	const int32_t *tokens;
	uint32_t count;
	uint32_t rows;
};

/**
 * struct engine - a decoder with a cache
 * @ctx: context
 * @program: graph
 * @state: of it
 * @kv: cache
 * @job: of copies of pages
 * @queue: for it, made when it is needed
 * @step: memory of inputs
 * @at: inputs of the graph
 * @offset: of inputs in @step
 * @reserve: scratch
 * @max_tokens: of a run
 * @max_sequences: likewise
 * @context: most tokens of a sequence
 * @columns: pages of that
 * @page_size: tokens of a page
 * @pages: of the cache
 * @vocabulary: logits of a row
 * @width: of a row of @hidden, 0: there is none
 * @results: outputs: logits, hidden
 * @logits: of the last run, a row for each that was wanted, at least
 * @hidden: likewise
 * @broken: why nothing runs any more, or 0
 */
struct engine {
	struct accel_ctx *ctx;
	struct accel_program *program;
	struct accel_state *state;
	struct accel_kv *kv;
	struct accel_job *job;
	struct accel_queue *queue;
	struct accel_bo *step;
	uint32_t at[ENGINE_INPUTS];
	uint64_t offset[ENGINE_K];
	struct accel_kv_rows *reserve;
	uint32_t max_tokens;
	uint32_t max_sequences;
	uint32_t context;
	uint32_t columns;
	uint32_t page_size;
	uint32_t pages;
	uint32_t vocabulary;
	uint32_t width;
	uint32_t results[2];
	const float *logits;
	const float *hidden;
	int broken;
};

/**
 * struct engine_opts - how large an engine is
 * @pages: of its cache, 0: as many as its sequences need
 * @tokens: most of a run
 * @sequences: most of a run
 * @compile: options, or NULL
 * @more: the graph may have inputs beside those of decoders; they are the state's, 0 until
 *	somebody writes there, and 1 long where nothing is said of it
 */
struct engine_opts {
	uint32_t pages;
	uint32_t tokens;
	uint32_t sequences;
	const struct accel_compile_opts *compile;
	bool more;
};

int engine_create(struct engine *e, struct accel_ctx *ctx, struct accel_graph *graph,
		  const struct engine_opts *opts);
void engine_destroy(struct engine *e);
int engine_seq_create(struct engine *e, struct engine_seq *seq);
int engine_seq_fork(struct engine *e, const struct engine_seq *from, uint32_t length,
		    struct engine_seq *seq);
int engine_seq_adopt(struct engine *e, uint32_t number, uint32_t length, struct engine_seq *seq);
void engine_seq_drop(struct engine *e, struct engine_seq *seq);
int engine_seq_truncate(struct engine *e, struct engine_seq *seq, uint32_t length);
int engine_run(struct engine *e, const struct piece *pieces, uint32_t count);
uint32_t engine_free_pages(struct engine *e);

/**
 * engine_hear - give the results of another graph to the decoder, by their names
 * @e: engine
 * @from: state that was run
 *
 * Return: 0; -EINVAL the decoder has no such input; -ENOMEM.
 */
int engine_hear(struct engine *e, struct accel_state *from);

/* --- kept.c ------------------------------------------------------------------------ */

/**
 * struct beginning - a sequence whose whole pages others may begin with
 * @seq: sequence
 * @tokens: its tokens, whole pages of them
 * @count: how many
 * @hash: of each page, with those before
 * @salt: of the request
 * @used: when it was last found
 */
struct beginning {
	struct engine_seq seq;
	int32_t *tokens;
	uint32_t count;
	uint64_t *hash;
	uint64_t salt;
	uint64_t used;
};

struct kept {
	struct beginning *list;
	uint32_t count;
	uint32_t max;
	uint64_t clock;
};

uint64_t kept_hash(uint64_t before, const int32_t *tokens, uint32_t count);
uint32_t kept_common(const uint64_t *a, uint32_t a_pages, const uint64_t *b, uint32_t b_pages);
struct beginning *kept_find(struct kept *kept, const uint64_t *hash, uint32_t pages,
			    const int32_t *tokens, uint32_t page_size, uint32_t *common);
void kept_add(struct kept *kept, struct engine *e, const struct beginning *what);
bool kept_evict(struct kept *kept, struct engine *e);
void kept_free(struct kept *kept, struct engine *e);

/* --- text.c ------------------------------------------------------------------------ */

/**
 * struct text - bytes that are not certain yet
 * @data: they
 * @count: how many
 * @cap: room
 * @stops: texts that end it
 * @stop_count: number of @stops
 */
struct text {
	char *data;
	uint32_t count;
	uint32_t cap;
	char **stops;
	uint32_t stop_count;
};

int text_start(struct text *t, const char *const *stops, uint32_t count);
void text_free(struct text *t);
int text_add(struct text *t, const char *bytes, uint32_t count, bool *stop);
uint32_t text_certain(const struct text *t);
void text_take(struct text *t, uint32_t count);

/* --- generator.c ------------------------------------------------------------------- */

/**
 * struct happening - an event that was not told yet
 */
struct happening {
	struct happening *next;
	struct accel_event event;
};

/**
 * enum guess_source - where guesses come from
 * @GUESS_SHORT: from what came before, after the last few tokens
 * @GUESS_LONGER: after more of them
 * @GUESS_LONG: after many
 * @GUESS_DRAFT: from the smaller model
 */
enum guess_source { GUESS_SHORT, GUESS_LONGER, GUESS_LONG, GUESS_DRAFT, GUESS_SOURCES };

/**
 * struct judge - how good the guesses of a source are
 * @history: bits of the last sixteen, 1: right, the last one at bit 0
 * @reach: tokens that are guessed at a time, as far as guesses are right
 */
struct judge {
	uint16_t history;
	uint32_t reach;
};

/**
 * struct request - what is answered
 * @id: number, larger ones came later
 * @next: in the list of all
 * @tokens: prompt and answer
 * @count: how many
 * @cap: room
 * @prompt: how many are the prompt's
 * @limit: most tokens
 * @seq: its sequence, if it is active
 * @hash: of whole pages of the prompt, with what comes before
 * @hash_pages: how many
 * @sampler: chooses tokens
 * @text: of the answer
 * @constraint: what it may be, or NULL
 * @tokenizer: for that
 * @stops: tokens that end the answer
 * @stop_count: how many
 * @top: likely tokens that events have
 * @salt: pages are shared with requests of the same number
 * @event: told what happens, or NULL
 * @user: for @event
 * @first: events that were not told
 * @last: the last of them
 * @told: what the caller was given last
 * @active: it has a sequence
 * @cancelled: it is to end
 * @ended: it has
 * @guessed: tokens behind the last one that may come next
 * @source: where those come from
 * @expected: what look-up takes the next one for, or -1
 * @lookup: where it has that from
 * @judges: of each source
 * @rest: tokens that are left before the smaller model guesses again
 * @draft: sequence of the model that guesses
 */
struct request {
	uint64_t id;
	struct request *next;
	int32_t *tokens;
	uint32_t count;
	uint32_t cap;
	uint32_t prompt;
	uint32_t limit;
	uint32_t *stops;
	uint32_t stop_count;
	uint32_t top;
	uint64_t salt;
	int (*event)(void *user, const struct accel_event *event);
	void *user;
	struct engine_seq seq;
	uint64_t *hash;
	uint32_t hash_pages;
	struct accel_sampler *sampler;
	struct text text;
	struct accel_constraint *constraint;
	const struct accel_tokenizer *tokenizer;
	struct happening *first;
	struct happening *last;
	struct happening *told;
	bool active;
	bool cancelled;
	bool ended;
	uint32_t guessed;
	enum guess_source source;
	int32_t expected;
	enum guess_source lookup;
	struct judge judges[GUESS_SOURCES];
	uint32_t rest;
	struct engine_seq draft;
};

/**
 * struct accel_generator - what answers requests
 * @engine: decoder
 * @encoder: what gives it more than tokens, or NULL
 * @opts: options, defaults filled in
 * @lock: protects what follows; the engine is of who has set @busy
 * @idle: nobody runs a step any more
 * @busy: somebody does
 * @runner: who that is
 * @requests: all, as they came
 * @last: the last of them
 * @active: number of those that are active
 * @waiting: of those that wait
 * @kept: beginnings
 * @ids: the last number that was given
 * @pieces: scratch of a step, and whose they are
 * @guesser: the model that guesses, with a program if there is one
 * @info: what was counted
 */
struct accel_generator {
	struct engine engine;
	struct accel_state *encoder;
	struct accel_generator_opts opts;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	bool busy;
	pthread_t runner;
	struct request *requests;
	struct request *last;
	uint32_t active;
	uint32_t waiting;
	struct kept kept;
	uint64_t ids;
	struct piece *pieces;
	struct request **owners;
	struct engine guesser;
	struct accel_generator_info info;
};

bool token_text(const struct accel_tokenizer *tokenizer, uint32_t token, const char **bytes,
		uint32_t *count);
int request_room(struct request *r, uint32_t more);
int request_tell(struct request *r, const struct accel_event *event,
		 const struct accel_chosen *top);
void request_end(struct accel_generator *g, struct request *r, uint32_t end, int error);
int request_hash(struct accel_generator *g, struct request *r);
int generator_begin(struct accel_generator *g);
void generator_finish(struct accel_generator *g);

/* --- step.c ------------------------------------------------------------------------ */

int generator_step(struct accel_generator *g);

/* --- guess.c ----------------------------------------------------------------------- */

void guess_lookup(struct accel_generator *g, struct request *r, uint32_t most);
void guess_draft(struct accel_generator *g, uint32_t most);
void guess_begin(const struct accel_generator *g, struct request *r);
void guess_judge(struct accel_generator *g, struct request *r, uint32_t first, uint32_t accepted);
void guess_forget(struct accel_generator *g, struct request *r);
void guess_drop(struct accel_generator *g, struct request *r);

/* --- beam.c ------------------------------------------------------------------------ */

/**
 * enum beams_rules - which hypotheses are kept, and how they are scored
 * @BEAMS_SCORED: the best ones, as transformers has it
 * @BEAMS_COLLECTED: the first ones that end, as Whisper's authors have it
 */
enum beams_rules { BEAMS_SCORED, BEAMS_COLLECTED };

/**
 * struct beam_node - a token of a tree
 * @parent: node before it
 * @token: token
 */
struct beam_node {
	uint32_t parent;
	int32_t token;
};

/**
 * struct beam - a continuation that is followed
 * @seq: its keys and values, without the last token
 * @node: its last token in the tree
 * @parent: the beam that it goes on from
 * @sum: logarithm of its probability
 * @token: its last token
 */
struct beam {
	struct engine_seq seq;
	uint32_t node;
	uint32_t parent;
	double sum;
	int32_t token;
};

/**
 * struct beam_candidate - a beam with another token
 * @sum: logarithm of its probability
 * @beam: beam
 * @token: token
 */
struct beam_candidate {
	double sum;
	uint32_t beam;
	uint32_t token;
};

/**
 * struct hypothesis - a continuation that has ended
 * @node: its last token, without the one that ends it
 * @count: tokens, likewise
 * @order: in which it came
 * @ended: by a token
 * @sum: logarithm of its probability, with the token that ends it
 * @score: what it is judged by
 */
struct hypothesis {
	uint32_t node;
	uint32_t count;
	uint32_t order;
	bool ended;
	double sum;
	double score;
};

struct beams;

/**
 * struct beams_opts - how beams are followed
 * @count: most beams
 * @enough: hypotheses that are kept
 * @most: most tokens, at least 1
 * @rules: &enum beams_rules
 * @stopping: &enum accel_search_stopping
 * @penalty: exponent of lengths; NaN with BEAMS_COLLECTED: the mean
 * @stops: tokens that end
 * @stop_count: how many
 * @filter: logits of a beam with -INFINITY where nothing may come; NULL: as they are
 * @user: for @filter
 */
struct beams_opts {
	uint32_t count;
	uint32_t enough;
	uint32_t most;
	uint32_t rules;
	uint32_t stopping;
	double penalty;
	const uint32_t *stops;
	uint32_t stop_count;
	const float *(*filter)(void *user, const struct beams *b, uint32_t beam,
			       const float *logits);
	void *user;
};

/**
 * struct beams - continuations that are followed
 * @engine: decoder
 * @opts: how
 * @beams: they
 * @count: how many
 * @length: tokens that each has
 * @nodes: tokens
 * @node_count: how many
 * @node_cap: room
 * @candidates: for the next step, likeliest first
 * @candidate_count: how many
 * @candidate_cap: most
 * @found: hypotheses
 * @found_count: how many
 * @ended: nothing goes on
 */
struct beams {
	struct engine *engine;
	struct beams_opts opts;
	struct beam beams[ACCEL_SEARCH_BEAMS_MAX];
	uint32_t count;
	uint32_t length;
	struct beam_node *nodes;
	uint32_t node_count;
	uint32_t node_cap;
	struct beam_candidate *candidates;
	uint32_t candidate_count;
	uint32_t candidate_cap;
	struct hypothesis *found;
	uint32_t found_count;
	bool ended;
};

int beams_start(struct beams *b, struct engine *e, const struct beams_opts *opts,
		struct engine_seq *seq);
int beams_take(struct beams *b, const float *rows);
int beams_run(struct beams *b);
void beams_tokens(const struct beams *b, uint32_t node, uint32_t count, int32_t *tokens);
void beams_end(struct beams *b);

/* --- sampler.c --------------------------------------------------------------------- */

double logits_log_sum(const float *logits, uint32_t count);

#endif /* LIBACCEL_MODELS_GENERATE_H */
