// SPDX-License-Identifier: MIT
/*
 * Generators: requests and their events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "generate.h"

#define TOP_MAX		64
#define STOPS_MAX	4096

/* --- events ------------------------------------------------------------------------ */

/* The event is copied, with what it points to. */
int request_tell(struct request *r, const struct accel_event *event,
		 const struct accel_chosen *top)
{
	struct happening *h = malloc(sizeof(*h) + event->top_count * sizeof(*top) + event->bytes);
	char *data = (char *)(h + 1);

	if (!h)
		return -ENOMEM;
	h->next = NULL;
	h->event = *event;
	h->event.id = r->id;
	if (top && event->top_count) {
		memcpy(data, top, event->top_count * sizeof(*top));
		h->event.top = (const struct accel_chosen *)(h + 1);
		data += event->top_count * sizeof(*top);
	}
	if (event->bytes) {
		memcpy(data, event->text, event->bytes);
		h->event.text = data;
	}
	if (r->last)
		r->last->next = h;
	else
		r->first = h;
	r->last = h;
	return 0;
}

static struct happening *take_event(struct request *r)
{
	struct happening *h = r->first;

	r->first = h->next;
	if (!r->first)
		r->last = NULL;
	return h;
}

/* --- text -------------------------------------------------------------------------- */

/* What a token is within a text; false: nothing. A vocabulary may be longer than a tokenizer's. */
bool token_text(const struct accel_tokenizer *tokenizer, uint32_t token, const char **bytes,
		uint32_t *count)
{
	struct accel_token_info info = { .size = sizeof(info) };

	if (accel_tokenizer_get_token(tokenizer, token, &info) || info.flags & ACCEL_TOKEN_SPECIAL)
		return false;
	*bytes = info.bytes ? (const char *)info.bytes : info.text;
	*count = (uint32_t)(info.bytes ? info.byte_count : info.text_bytes);
	return *count > 0;
}

static int is_allowed(void *user, uint32_t token)
{
	struct request *r = user;
	const char *bytes;
	uint32_t i, count;

	for (i = 0; i < r->stop_count; i++)
		if (r->stops[i] == token)
			return accel_constraint_whole(r->constraint);
	return token_text(r->tokenizer, token, &bytes, &count) &&
	       accel_constraint_allows(r->constraint, bytes, count);
}

static int constrain(struct accel_generator *g, struct request *r, const char *schema)
{
	int ret = accel_constraint_create(schema, strlen(schema), NULL, &r->constraint);

	r->tokenizer = g->opts.tokenizer;
	return ret ? ret : accel_sampler_set_mask(r->sampler, is_allowed, r);
}

/* --- requests ---------------------------------------------------------------------- */

/* Room for more tokens behind those that there are */
int request_room(struct request *r, uint32_t more)
{
	uint32_t cap = r->cap;
	int32_t *tokens;

	while (cap - r->count < more)
		cap = cap < 64 ? 64 : 2 * cap;
	if (cap == r->cap && r->tokens)
		return 0;
	tokens = realloc(r->tokens, (uint64_t)cap * sizeof(*tokens));
	if (!tokens)
		return -ENOMEM;
	r->tokens = tokens;
	r->cap = cap;
	return 0;
}

/* Hashes of the whole pages that it has */
int request_hash(struct accel_generator *g, struct request *r)
{
	uint32_t i, size = g->engine.page_size, pages = r->count / size;
	uint64_t *hash = realloc(r->hash, (pages + 1ull) * sizeof(*hash)), h = r->salt;

	if (!hash)
		return -ENOMEM;
	r->hash = hash;
	r->hash_pages = pages;
	for (i = 0; i < pages; i++) {
		h = kept_hash(h, r->tokens + (uint64_t)i * size, size);
		hash[i] = h;
	}
	return 0;
}

/* Its pages are kept for others, as far as they are whole. */
static void keep(struct accel_generator *g, struct request *r)
{
	/* The last token may be another one than the guess in its place. */
	uint32_t done = r->seq.done < r->count - 1 ? r->seq.done : r->count - 1;
	struct beginning b = { .salt = r->salt };

	b.count = done / g->engine.page_size * g->engine.page_size;
	if (!g->kept.max || !b.count || request_hash(g, r) ||
	    engine_seq_truncate(&g->engine, &r->seq, b.count)) {
		engine_seq_drop(&g->engine, &r->seq);
		return;
	}
	b.seq = r->seq;
	b.tokens = r->tokens;
	b.hash = r->hash;
	r->seq = (struct engine_seq) { 0 };
	r->tokens = NULL;
	r->hash = NULL;
	kept_add(&g->kept, &g->engine, &b);
}

/* It has its last event; without memory for that it is told when it is asked for. */
void request_end(struct accel_generator *g, struct request *r, uint32_t end, int error)
{
	struct accel_event event = ACCEL_EVENT_INIT;

	event.kind = ACCEL_EVENT_END;
	event.end = end;
	event.error = error;
	event.index = r->count - r->prompt;
	event.text = r->text.data;
	event.bytes = r->text.count;
	request_tell(r, &event, NULL);
	r->ended = true;
	if (r->active) {
		keep(g, r);
		guess_drop(g, r);
		r->active = false;
		g->active--;
	} else {
		g->waiting--;
	}
}

static void request_free(struct accel_generator *g, struct request *r)
{
	while (r->first)
		free(take_event(r));
	free(r->told);
	engine_seq_drop(&g->engine, &r->seq);
	guess_drop(g, r);
	accel_sampler_destroy(r->sampler);
	accel_constraint_destroy(r->constraint);
	text_free(&r->text);
	free(r->tokens);
	free(r->hash);
	free(r->stops);
	free(r);
}

static void request_remove(struct accel_generator *g, struct request *r)
{
	struct request **at = &g->requests, *before = NULL;

	while (*at != r) {
		before = *at;
		at = &before->next;
	}
	*at = r->next;
	if (g->last == r)
		g->last = before;
	request_free(g, r);
}

static struct request *find(struct accel_generator *g, uint64_t id)
{
	struct request *r;

	for (r = g->requests; r && r->id != id; r = r->next)
		;
	return r;
}

static int check_request(const struct accel_generator *g, const struct accel_request *q)
{
	uint32_t i;

	if (!q || q->size < sizeof(*q))
		return -EINVAL;
	if (q->size > sizeof(*q))
		return -E2BIG;
	if (!q->count || !q->tokens || (q->stop_count && !q->stops) ||
	    ((q->text_count || q->schema) && !g->opts.tokenizer) ||
	    (q->text_count && !q->texts) || q->top > TOP_MAX ||
	    q->top > g->engine.vocabulary || q->stop_count > STOPS_MAX ||
	    q->text_count > STOPS_MAX)
		return -EINVAL;
	for (i = 0; i < q->count && i < g->engine.context; i++)
		if (q->tokens[i] < 0 || (uint32_t)q->tokens[i] >= g->engine.vocabulary)
			return -EINVAL;
	for (i = 0; i < q->text_count; i++)
		if (!q->texts[i] || !*q->texts[i])
			return -EINVAL;
	if (q->count >= g->engine.context || q->count >= g->engine.pages * g->engine.page_size)
		return -ENOSPC;
	return 0;
}

static int make_request(struct accel_generator *g, const struct accel_request *q,
			struct request *r)
{
	const struct engine *e = &g->engine;
	uint32_t i, most = e->context;
	int ret = request_room(r, q->count);

	if (ret)
		return ret;
	if (most > e->pages * e->page_size)
		most = e->pages * e->page_size;
	memcpy(r->tokens, q->tokens, q->count * sizeof(*q->tokens));
	r->count = q->count;
	r->prompt = q->count;
	r->limit = q->max_tokens && q->max_tokens < most - q->count ? q->count + q->max_tokens :
		   most;
	r->top = q->top;
	r->salt = q->salt;
	r->event = q->event;
	r->user = q->user;
	guess_begin(g, r);
	r->stops = malloc((q->stop_count + 1ull) * sizeof(*r->stops));
	if (!r->stops)
		return -ENOMEM;
	if (q->stop_count)
		memcpy(r->stops, q->stops, q->stop_count * sizeof(*r->stops));
	r->stop_count = q->stop_count;
	ret = text_start(&r->text, q->texts, q->text_count);
	if (!ret)
		ret = request_hash(g, r);
	if (!ret)
		ret = accel_sampler_create(q->sampler, e->vocabulary, &r->sampler);
	if (!ret && q->schema)
		ret = constrain(g, r, q->schema);
	for (i = 0; i < q->count && !ret; i++)
		ret = accel_sampler_accept(r->sampler, (uint32_t)q->tokens[i]);
	return ret;
}

int accel_generator_submit(struct accel_generator *generator, const struct accel_request *request,
			   uint64_t *id)
{
	FP_MODE_SCOPE();
	struct request *r;
	int ret;

	if (!generator || !id)
		return -EINVAL;
	ret = check_request(generator, request);
	if (!ret && generator->encoder)
		ret = -EOPNOTSUPP;
	if (ret)
		return ret;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	ret = make_request(generator, request, r);
	if (ret) {
		request_free(generator, r);
		return ret;
	}
	pthread_mutex_lock(&generator->lock);
	r->id = ++generator->ids;
	*id = r->id;
	if (generator->last)
		generator->last->next = r;
	else
		generator->requests = r;
	generator->last = r;
	generator->waiting++;
	pthread_mutex_unlock(&generator->lock);
	return 0;
}

int accel_generator_cancel(struct accel_generator *generator, uint64_t id)
{
	struct request *r;

	if (!generator)
		return -EINVAL;
	pthread_mutex_lock(&generator->lock);
	r = find(generator, id);
	if (r)
		r->cancelled = true;
	pthread_mutex_unlock(&generator->lock);
	return r ? 0 : -ENOENT;
}

/* --- steps ------------------------------------------------------------------------- */

/* Be the one who runs; locked. -EDEADLK: it is, and a function of a request asks for more. */
int generator_begin(struct accel_generator *g)
{
	if (g->busy && pthread_equal(g->runner, pthread_self()))
		return -EDEADLK;
	while (g->busy)
		pthread_cond_wait(&g->idle, &g->lock);
	g->busy = true;
	g->runner = pthread_self();
	return 0;
}

/* Functions of requests are called without the lock; only who is busy removes such a request. */
static void tell(struct accel_generator *g)
{
	struct request *r = g->requests, *next;
	struct happening *h;
	bool more;

	for (; r; r = next) {
		while (r->event && r->first) {
			h = take_event(r);
			pthread_mutex_unlock(&g->lock);
			more = !r->event(r->user, &h->event);
			free(h);
			pthread_mutex_lock(&g->lock);
			r->cancelled |= !more;
		}
		next = r->next;
		if (r->event && r->ended)
			request_remove(g, r);
	}
}

void generator_finish(struct accel_generator *g)
{
	tell(g);
	g->busy = false;
	pthread_cond_broadcast(&g->idle);
}

int accel_generator_step(struct accel_generator *generator)
{
	FP_MODE_SCOPE();
	int ret;

	if (!generator)
		return -EINVAL;
	pthread_mutex_lock(&generator->lock);
	ret = generator_begin(generator);
	if (!ret) {
		generator_step(generator);
		generator_finish(generator);
		ret = generator->active || generator->waiting;
	}
	pthread_mutex_unlock(&generator->lock);
	return ret;
}

int accel_generator_next(struct accel_generator *generator, uint64_t id, struct accel_event *event)
{
	FP_MODE_SCOPE();
	struct request *r;
	int ret = 0;

	if (!generator || !event || event->size != sizeof(*event))
		return -EINVAL;
	pthread_mutex_lock(&generator->lock);
	r = find(generator, id);
	if (r && r->event)
		ret = -EINVAL;
	while (r && !ret && !r->first && !r->ended) {
		ret = generator_begin(generator);
		if (ret)
			break;
		r = find(generator, id);
		if (r && !r->first && !r->ended)
			generator_step(generator);
		generator_finish(generator);
		r = find(generator, id);
	}
	/* Another thread may have taken the end while this one was without the lock. */
	if (r && !ret && r->told && r->told->event.kind == ACCEL_EVENT_END) {
		request_remove(generator, r);
		r = NULL;
	}
	if (!r) {
		ret = -ENOENT;
	} else if (!ret && !r->first) {
		/* There was no memory for the last one. */
		request_remove(generator, r);
		ret = -ENOMEM;
	} else if (!ret) {
		free(r->told);
		r->told = take_event(r);
		*event = r->told->event;
	}
	pthread_mutex_unlock(&generator->lock);
	return ret;
}

int accel_generator_get_info(struct accel_generator *generator, struct accel_generator_info *info)
{
	struct accel_generator_info out;
	const struct engine *e;

	if (!generator || !info || info->size < sizeof(*info))
		return -EINVAL;
	e = &generator->engine;
	pthread_mutex_lock(&generator->lock);
	out = generator->info;
	out.size = sizeof(out);
	out.vocabulary = e->vocabulary;
	out.context = e->context;
	out.page_size = e->page_size;
	out.pages = e->pages;
	out.width = e->width;
	out.used_pages = e->pages - engine_free_pages(&generator->engine);
	out.kept = generator->kept.count;
	out.active = generator->active;
	out.waiting = generator->waiting;
	pthread_mutex_unlock(&generator->lock);
	*info = out;
	return 0;
}

/* --- the generator ----------------------------------------------------------------- */

static int take_opts(struct accel_generator_opts *o, const struct accel_generator_opts *opts)
{
	if (opts) {
		if (opts->size < sizeof(*o))
			return -EINVAL;
		if (opts->size > sizeof(*o))
			return -E2BIG;
		*o = *opts;
	}
	o->batch = o->batch ? o->batch : 16;
	o->tokens = o->tokens ? o->tokens : 256;
	o->tokens = o->tokens > o->batch ? o->tokens : o->batch;
	o->drafted = o->drafted ? o->drafted : 4;
	/* What it sees is another text each time: nothing that is kept is ever found again. */
	if (o->encoder && (o->draft || o->lookup))
		return -EINVAL;
	if (o->encoder)
		o->kept = UINT32_MAX;
	return o->pad || o->tokens > 65536 || o->lookup > 64 || o->drafted > 64 ? -EINVAL : 0;
}

static int make_encoder(struct accel_generator *g, struct accel_ctx *ctx)
{
	struct accel_program *program;
	int ret = accel_graph_compile(ctx, g->opts.encoder, g->opts.compile, &program);

	if (ret)
		return ret;
	ret = accel_state_create(program, &g->encoder);
	accel_program_unref(program);
	return ret;
}

static int make_engines(struct accel_generator *g, struct accel_ctx *ctx,
			struct accel_graph *graph)
{
	struct engine_opts opts = {
		.pages = g->opts.pages, .tokens = g->opts.tokens, .sequences = g->opts.batch,
		.compile = g->opts.compile, .more = g->opts.encoder
	};
	int ret = engine_create(&g->engine, ctx, graph, &opts);

	if (!ret && g->opts.encoder)
		ret = make_encoder(g, ctx);
	if (ret || !g->opts.draft)
		return ret;
	opts.pages = 0;
	ret = engine_create(&g->guesser, ctx, g->opts.draft, &opts);
	if (!ret && g->guesser.vocabulary != g->engine.vocabulary)
		ret = -EINVAL;
	return ret;
}

int accel_generator_create(struct accel_ctx *ctx, struct accel_graph *graph,
			   const struct accel_generator_opts *opts,
			   struct accel_generator **generator)
{
	FP_MODE_SCOPE();
	struct accel_generator_opts o = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_generator *g;
	int ret;

	if (!ctx || !graph || !generator)
		return -EINVAL;
	ret = take_opts(&o, opts);
	if (ret)
		return ret;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->opts = o;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->idle, NULL);
	g->kept.max = o.kept == UINT32_MAX ? 0 : o.kept ? o.kept : 64;
	ret = make_engines(g, ctx, graph);
	if (!ret) {
		g->kept.list = calloc(g->kept.max + 1ull, sizeof(*g->kept.list));
		g->pieces = calloc(o.batch, sizeof(*g->pieces));
		g->owners = calloc(o.batch, sizeof(struct request *));
		if (!g->kept.list || !g->pieces || !g->owners)
			ret = -ENOMEM;
	}
	if (ret)
		accel_generator_destroy(g);
	else
		*generator = g;
	return ret;
}

void accel_generator_destroy(struct accel_generator *generator)
{
	struct request *r;

	if (!generator)
		return;
	while (generator->requests) {
		r = generator->requests;
		generator->requests = r->next;
		request_free(generator, r);
	}
	kept_free(&generator->kept, &generator->engine);
	accel_state_destroy(generator->encoder);
	engine_destroy(&generator->guesser);
	engine_destroy(&generator->engine);
	free(generator->pieces);
	free(generator->owners);
	pthread_cond_destroy(&generator->idle);
	pthread_mutex_destroy(&generator->lock);
	free(generator);
}
