// SPDX-License-Identifier: MIT
/*
 * A step: who joins it, what it runs, and what comes of that. Requests are taken as they came;
 * who came last makes room for those before. All is called by the one who is busy, with the
 * lock, which is given up while the engine runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

static bool waits(const struct request *r)
{
	return !r->active && !r->ended;
}

/* Tokens whose keys and values are not there */
static uint32_t pending(const struct request *r)
{
	return r->count - r->seq.done;
}

/* --- who joins --------------------------------------------------------------------- */

/**
 * struct match - where the pages of a request may come from
 * @from: sequence
 * @pages: pages that are there
 * @later: pages that others in work will have
 */
struct match {
	const struct engine_seq *from;
	uint32_t pages;
	uint32_t later;
};

static void find_match(struct accel_generator *g, const struct request *r, struct match *m)
{
	uint32_t size = g->engine.page_size, most = (r->count - 1) / size, n, there;
	const struct beginning *b;
	const struct request *q;

	most = most < r->hash_pages ? most : r->hash_pages;
	b = kept_find(&g->kept, r->hash, most, r->tokens, size, &n);
	*m = (struct match) { b ? &b->seq : NULL, n, n };
	for (q = g->requests; q; q = q->next) {
		if (!q->active)
			continue;
		n = kept_common(r->hash, most, q->hash, q->hash_pages);
		if (n <= m->pages || memcmp(r->tokens, q->tokens, n * size * sizeof(*r->tokens)))
			continue;
		m->later = n > m->later ? n : m->later;
		there = q->seq.done / size < n ? q->seq.done / size : n;
		if (there > m->pages) {
			m->pages = there;
			m->from = &q->seq;
		}
	}
}

enum verdict { JOINS, WAITS_FOR_OTHER, WAITS_FOR_PAGES };

static enum verdict join(struct accel_generator *g, struct request *r)
{
	struct engine *e = &g->engine;
	struct match m;
	uint32_t need;
	int ret;

	find_match(g, r, &m);
	if (m.later > m.pages)
		return WAITS_FOR_OTHER;
	if (m.pages)
		ret = engine_seq_fork(e, m.from, m.pages * e->page_size, &r->seq);
	else
		ret = engine_seq_create(e, &r->seq);
	if (ret) {
		request_end(g, r, ACCEL_END_ERROR, ret);
		return JOINS;
	}
	/* And one to go on with. */
	need = (r->count - 1) / e->page_size + 2 - m.pages;
	while (engine_free_pages(e) < need && kept_evict(&g->kept, e))
		;
	if (engine_free_pages(e) < need && g->active) {
		engine_seq_drop(e, &r->seq);
		return WAITS_FOR_PAGES;
	}
	g->info.shared_tokens += r->seq.done;
	r->active = true;
	g->active++;
	g->waiting--;
	return JOINS;
}

static void let_join(struct accel_generator *g)
{
	struct request *r;

	for (r = g->requests; r && g->active < g->opts.batch; r = r->next)
		if (waits(r) && join(g, r) == WAITS_FOR_PAGES)
			break;
}

static void drop_cancelled(struct accel_generator *g)
{
	struct request *r;

	for (r = g->requests; r; r = r->next)
		if (r->cancelled && !r->ended)
			request_end(g, r, ACCEL_END_CANCELLED, 0);
}

/* The last that came waits again, and is computed again; false: there is one only. */
static bool preempt(struct accel_generator *g)
{
	struct request *r, *last = NULL;

	if (g->active < 2)
		return false;
	for (r = g->requests; r; r = r->next)
		if (r->active)
			last = r;
	if (!last)
		return false;
	engine_seq_drop(&g->engine, &last->seq);
	guess_drop(g, last);
	last->active = false;
	g->active--;
	g->waiting++;
	g->info.preempted++;
	/* Its answer so far may be found, too; without memory its prompt may. */
	request_hash(g, last);
	return true;
}

/* --- what is run ------------------------------------------------------------------- */

static void add_piece(struct accel_generator *g, uint32_t *count, struct request *r,
		      uint32_t tokens, uint32_t rows)
{
	g->owners[*count] = r;
	g->pieces[(*count)++] = (struct piece) {
		&r->seq, r->tokens + r->seq.done, tokens, rows
	};
}

/* Tokens that may be guessed: those that a step has left, of which prompts get half at least */
static void make_guesses(struct accel_generator *g)
{
	uint32_t decoded = 0, prompts = 0, most;
	struct request *r;

	for (r = g->requests; r; r = r->next) {
		r->guessed = 0;
		r->expected = -1;
		decoded += r->active && pending(r) == 1;
		prompts += r->active && pending(r) > 1;
	}
	if (!decoded || (!g->opts.lookup && !g->guesser.program))
		return;
	/* There is a token for each: no more are active than a step has tokens. */
	most = (g->opts.tokens - decoded - prompts) / (prompts ? 2 : 1) / decoded;
	for (r = g->requests; r && g->opts.lookup; r = r->next)
		if (r->active && pending(r) == 1)
			guess_lookup(g, r, most);
	if (g->guesser.program)
		guess_draft(g, most);
}

/* First a token of each that is decoded, then prompts, which share what is left. */
static uint32_t choose(struct accel_generator *g)
{
	uint32_t left = g->opts.tokens, count = 0, prompts = 0, n;
	struct request *r;

	for (r = g->requests; r; r = r->next) {
		if (!r->active)
			continue;
		if (pending(r) > 1) {
			prompts++;
			continue;
		}
		add_piece(g, &count, r, 1 + r->guessed, 1 + r->guessed);
		left -= 1 + r->guessed;
	}
	for (r = g->requests; r && prompts; r = r->next) {
		if (!r->active || pending(r) < 2)
			continue;
		n = left / prompts--;
		n = n < pending(r) ? n : pending(r);
		if (!n)
			continue;
		add_piece(g, &count, r, n, n == pending(r));
		left -= n;
	}
	return count;
}

/* Run, with room made for it; who is alone and has none left ends. */
static uint32_t run(struct accel_generator *g)
{
	struct request *r;
	uint32_t count, i;
	int ret;

	make_guesses(g);
	for (;;) {
		count = choose(g);
		if (!count)
			return 0;
		pthread_mutex_unlock(&g->lock);
		ret = engine_run(&g->engine, g->pieces, count);
		pthread_mutex_lock(&g->lock);
		if (!ret)
			break;
		if (ret == -ENOSPC) {
			for (r = g->requests; r; r = r->next)
				guess_forget(g, r);
			if (kept_evict(&g->kept, &g->engine) || preempt(g))
				continue;
		}
		for (i = 0; i < count; i++)
			request_end(g, g->owners[i], ACCEL_END_ERROR, ret);
		return 0;
	}
	g->info.steps++;
	return count;
}

/* --- what comes of it -------------------------------------------------------------- */

/* Behind what is no text an answer begins one, before whose first word there may be no space. */
static int drop_space(const struct accel_generator *g, const struct request *r, uint32_t token,
		      const char **bytes, uint32_t *count)
{
	const struct accel_tokenizer *t = g->opts.tokenizer;
	struct accel_token_info info = { .size = sizeof(info) };
	char *text = NULL;
	size_t n = 0;
	int ret;

	if (r->count != r->prompt || !*count || **bytes != ' ' ||
	    accel_tokenizer_get_token(t, (uint32_t)r->tokens[r->count - 1], &info) ||
	    !(info.flags & ACCEL_TOKEN_SPECIAL))
		return 0;
	ret = accel_tokenizer_decode(t, &token, 1, 0, &text, &n);
	if (!ret && (!n || *text != ' ')) {
		(*bytes)++;
		(*count)--;
	}
	free(text);
	return ret;
}

/* Text that a token adds; *stop: a text ends the answer, whose rest is told with the end. */
static int add_text(struct accel_generator *g, struct request *r, struct accel_event *event,
		    bool *stop)
{
	const char *bytes;
	uint32_t count;
	int ret = 0;

	*stop = false;
	if (!g->opts.tokenizer || !token_text(g->opts.tokenizer, event->token, &bytes, &count))
		return 0;
	if (r->constraint)
		ret = accel_constraint_take(r->constraint, bytes, count);
	if (!ret)
		ret = drop_space(g, r, event->token, &bytes, &count);
	if (!ret)
		ret = text_add(&r->text, bytes, count, stop);
	if (ret)
		return ret;
	event->text = r->text.data;
	event->bytes = *stop ? r->text.count : text_certain(&r->text);
	return 0;
}

/* One more token; false: it was the last one, and the request has ended. */
static bool take_token(struct accel_generator *g, struct request *r, const float *logits,
		       const struct accel_chosen *chosen)
{
	struct accel_event event = ACCEL_EVENT_INIT;
	struct accel_chosen top[64];
	bool stop;
	uint32_t i;
	int ret;

	for (i = 0; i < r->stop_count; i++)
		if (r->stops[i] == chosen->token) {
			request_end(g, r, ACCEL_END_STOP, 0);
			return false;
		}
	event.kind = ACCEL_EVENT_TOKEN;
	event.token = chosen->token;
	event.logprob = chosen->logprob;
	event.index = r->count - r->prompt;
	event.top_count = r->top;
	ret = request_room(r, 1);
	if (!ret)
		ret = accel_sampler_accept(r->sampler, chosen->token);
	if (!ret)
		ret = add_text(g, r, &event, &stop);
	if (!ret)
		ret = accel_sampler_top(r->sampler, logits, top, r->top);
	if (!ret)
		ret = request_tell(r, &event, top);
	if (ret) {
		request_end(g, r, ACCEL_END_ERROR, ret);
		return false;
	}
	text_take(&r->text, event.bytes);
	r->tokens[r->count++] = (int32_t)chosen->token;
	g->info.new_tokens++;
	if (stop || r->count == r->limit) {
		request_end(g, r, stop ? ACCEL_END_STOP : ACCEL_END_LENGTH, 0);
		return false;
	}
	return true;
}

/* Tokens from rows, as long as they are those that were guessed; what was not is taken back. */
static void take_rows(struct accel_generator *g, struct request *r, const float *logits,
		      uint32_t rows)
{
	uint32_t i, first = r->count, accepted = 0;
	struct accel_chosen chosen = { 0 };
	int32_t guess;
	int ret = 0;

	for (i = 0; i < rows; i++) {
		/* It is where the token goes. */
		guess = i < r->guessed ? r->tokens[first + i] : -1;
		ret = accel_sampler_sample(r->sampler, logits, &chosen);
		if (ret == -ENODATA && r->constraint && accel_constraint_whole(r->constraint)) {
			request_end(g, r, ACCEL_END_STOP, 0);
			break;
		}
		if (ret || !take_token(g, r, logits, &chosen))
			break;
		if ((int32_t)chosen.token != guess)
			break;
		accepted++;
		logits += g->engine.vocabulary;
	}
	guess_judge(g, r, first, accepted);
	r->guessed = 0;
	if (!ret && !r->ended)
		ret = engine_seq_truncate(&g->engine, &r->seq, r->count - 1);
	if (ret && !r->ended)
		request_end(g, r, ACCEL_END_ERROR, ret);
}

/* Run once; locked, by who is busy. */
int generator_step(struct accel_generator *g)
{
	const float *logits;
	uint32_t i, rows, count, first;
	const struct request *r;

	drop_cancelled(g);
	let_join(g);
	count = run(g);
	logits = g->engine.logits;
	for (i = 0; i < count; i++) {
		rows = g->pieces[i].rows;
		r = g->owners[i];
		first = r->seq.done - g->pieces[i].count;
		if (first < r->prompt)
			g->info.prompt_tokens += (r->seq.done < r->prompt ? r->seq.done :
						  r->prompt) - first;
		if (rows)
			take_rows(g, g->owners[i], logits, rows);
		logits += (uint64_t)rows * g->engine.vocabulary;
	}
	return 0;
}
