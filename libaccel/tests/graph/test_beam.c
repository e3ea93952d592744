// SPDX-License-Identifier: MIT
/*
 * Beams: what a search finds over a cache of pages is held against two slow ones that run the
 * model as a whole, without a cache: one that looks at every continuation there is, and one that
 * follows beams as lists of tokens, written after transformers' BeamSearchScorer. All models are
 * held against the same two, so they are in one file.
 */
#include <accel/model.h>
#include <unistd.h>
#include "decodernet.h"
#include "libaccel/tests/data.h"
#include "libaccel/tests/followers.h"
#include "libaccel/tests/guest.h"

#define LENGTH_MAX	24
#define PROMPT_MAX	16
#define FOUND_MAX	64

static char folder[32];

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* --- a model as a whole ------------------------------------------------------------- */

/**
 * struct plain - a model that is run on all tokens each time
 * @bed: of it
 * @state: of its graph
 * @vocabulary: tokens that it knows
 * @prompt: that is gone on with
 * @count: tokens of it
 * @wide: inputs are S64, of a folder's model; else those of decodernet.h
 * @source: of a model with an encoder what that reads, else none
 * @source_count: tokens of it
 * @known: what it said, of lists that begin with @source_count
 */
struct plain {
	struct bed *bed;
	struct accel_state *state;
	uint32_t vocabulary;
	int32_t prompt[PROMPT_MAX];
	uint32_t count;
	bool wide;
	const int32_t *source;
	uint32_t source_count;
	struct followers *known;
};

static void *input(struct plain *p, uint32_t index, int64_t count)
{
	assert_int_equal(accel_state_set_input(p->state, index, 2, DIMS(1, count), NULL, 0), 0);
	return accel_state_get_input(p->state, index, NULL);
}

static void put_wide(struct plain *p, uint32_t index, const int32_t *a, uint32_t a_count,
		     const int32_t *b, uint32_t b_count)
{
	int64_t *ids = input(p, index, a_count + b_count);
	uint32_t i;

	for (i = 0; i < a_count + b_count; i++)
		ids[i] = i < a_count ? (a ? a[i] : 1) : b[i - a_count];
}

/* Logarithms of the probabilities of what comes behind the prompt and @tokens */
static void plain_next(struct plain *p, const int32_t *tokens, uint32_t count, double *logprobs)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t i, n = p->count + count;
	const void *data = NULL;
	double sum = 0, most = -INFINITY;
	int32_t list[1 + PROMPT_MAX + LENGTH_MAX] = { (int32_t)p->source_count };
	const float *row;

	assert_true(n < sizeof(list) / sizeof(list[0]));
	for (i = 0; i < n; i++)
		list[1 + i] = i < p->count ? p->prompt[i] : tokens[i - p->count];
	if (followers_find(p->known, list, 1 + n, logprobs, p->vocabulary))
		return;
	if (p->source) {
		put_wide(p, 0, p->source, p->source_count, NULL, 0);
		put_wide(p, 1, NULL, p->source_count, NULL, 0);
		put_wide(p, 2, p->prompt, p->count, tokens, count);
	} else if (p->wide) {
		put_wide(p, 0, p->prompt, p->count, tokens, count);
	} else {
		int32_t *ids = input(p, 0, n), *at = input(p, 1, n);

		for (i = 0; i < n; i++) {
			ids[i] = list[1 + i];
			at[i] = (int32_t)i;
		}
	}
	must_ctx(p->bed, accel_state_run(p->state), "the model as a whole");
	for (i = 0; !accel_state_get_output(p->state, i, &v, &data); i++)
		if (!strcmp(v.name, "logits"))
			break;
	assert_string_equal(v.name, "logits");
	assert_int_equal(v.dims[v.rank - 2], n);
	assert_int_equal(v.dims[v.rank - 1], p->vocabulary);
	row = (const float *)data + (n - 1) * p->vocabulary;
	for (i = 0; i < p->vocabulary; i++)
		most = fmax(most, (double)row[i]);
	for (i = 0; i < p->vocabulary; i++)
		sum += exp((double)row[i] - most);
	for (i = 0; i < p->vocabulary; i++)
		logprobs[i] = (double)row[i] - most - log(sum);
	followers_keep(&p->known, list, 1 + n, logprobs, p->vocabulary);
}

static void plain_start(struct plain *p, struct bed *bed, struct accel_graph *graph)
{
	struct accel_program *program;

	p->bed = bed;
	MUST(accel_graph_compile(bed->ctx, graph, NULL, &program));
	assert_int_equal(accel_state_create(program, &p->state), 0);
	accel_program_unref(program);
}

static void plain_close(struct plain *p)
{
	followers_drop(&p->known);
	accel_state_destroy(p->state);
}

/* --- slow searches ------------------------------------------------------------------- */

/**
 * struct line - tokens, and what they are worth
 * @tokens: with the one that ends them
 * @count: how many
 * @ended: by a token
 * @sum: logarithm of their probability
 * @score: what they are judged by
 */
struct line {
	int32_t tokens[LENGTH_MAX];
	uint32_t count;
	bool ended;
	double sum;
	double score;
};

static bool is_stop(const struct accel_search *s, uint32_t token)
{
	uint32_t i;

	for (i = 0; i < s->stop_count; i++)
		if (s->stops[i] == token)
			return true;
	return false;
}

static double score_of(const struct accel_search *s, const struct line *line)
{
	return line->sum / pow(line->count, (double)s->length_penalty);
}

/* The best of all continuations, each of which is looked at */
static void every_line(struct plain *p, const struct accel_search *s, struct line *line,
		       struct line *best, uint64_t *seen)
{
	double logprobs[NET_VOCAB > 512 ? NET_VOCAB : 512];
	const double sum = line->sum;
	uint32_t i;

	plain_next(p, line->tokens, line->count, logprobs);
	for (i = 0; i < p->vocabulary; i++) {
		line->tokens[line->count++] = (int32_t)i;
		line->sum = sum + logprobs[i];
		line->ended = is_stop(s, i);
		if (line->ended || line->count == s->max_tokens) {
			++*seen;
			line->score = score_of(s, line);
			if (line->score > best->score)
				*best = *line;
		} else {
			every_line(p, s, line, best, seen);
		}
		line->count--;
	}
	line->sum = sum;
}

static int by_sum(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	uint32_t i;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	for (i = 0; i < x->count; i++)
		if (x->tokens[i] != y->tokens[i])
			return x->tokens[i] < y->tokens[i] ? -1 : 1;
	return 0;
}

static int by_score(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->score < y->score ? 1 : x->score > y->score ? -1 : 0;
}

/* BeamHypotheses.add() */
static void add_line(const struct accel_search *s, struct line *found, uint32_t *count,
		     struct line line)
{
	line.score = score_of(s, &line);
	if (*count == s->beams && line.score <= found[*count - 1].score)
		return;
	if (*count < s->beams)
		++*count;
	found[*count - 1] = line;
	qsort(found, *count, sizeof(*found), by_score);
}

/* BeamHypotheses.is_done() */
static bool is_done(const struct accel_search *s, const struct line *found, uint32_t count,
		    double best, uint32_t length)
{
	if (count < s->beams)
		return false;
	if (s->stopping == ACCEL_SEARCH_FIRST)
		return true;
	if (s->stopping == ACCEL_SEARCH_NEVER && s->length_penalty > 0)
		length = s->max_tokens;
	return found[count - 1].score >= best / pow(length, (double)s->length_penalty);
}

/* Beams as lists of tokens; returns how many are found, best first. */
static uint32_t slow_search(struct plain *p, const struct accel_search *s, struct line *found)
{
	const uint32_t most = s->beams * (1 + (s->stop_count ? s->stop_count : 1));
	struct line *all = calloc((size_t)s->beams * p->vocabulary, sizeof(*all));
	struct line *beams = calloc(s->beams, sizeof(*beams));
	double *logprobs = calloc(p->vocabulary, sizeof(*logprobs));
	uint32_t live = 1, count = 0, length, i, k, n;

	assert_non_null(all);
	assert_non_null(beams);
	assert_non_null(logprobs);
	for (length = 1; length <= s->max_tokens; length++) {
		for (n = 0, i = 0; i < live; i++) {
			plain_next(p, beams[i].tokens, length - 1, logprobs);
			for (k = 0; k < p->vocabulary; k++, n++) {
				all[n] = beams[i];
				all[n].tokens[all[n].count++] = (int32_t)k;
				all[n].sum += logprobs[k];
			}
		}
		qsort(all, n, sizeof(*all), by_sum);
		n = n < most ? n : most;
		for (live = 0, i = 0; i < n && live < s->beams; i++) {
			if (!is_stop(s, (uint32_t)all[i].tokens[length - 1])) {
				beams[live++] = all[i];
			} else if (i < s->beams) {
				all[i].ended = true;
				add_line(s, found, &count, all[i]);
			}
		}
		if (is_done(s, found, count, all[0].sum, length))
			break;
	}
	for (i = 0; length > s->max_tokens && i < live; i++)
		add_line(s, found, &count, beams[i]);
	free(logprobs);
	free(beams);
	free(all);
	return count;
}

/* --- the search ---------------------------------------------------------------------- */

/**
 * struct told - hypotheses that were told
 * @lines: they; tokens without the one that ends them
 * @count: how many
 */
struct told {
	struct line lines[FOUND_MAX];
	uint32_t count;
};

static int hear(void *user, const struct accel_hypothesis *h)
{
	struct told *t = user;
	struct line *line = &t->lines[t->count];

	assert_int_equal(h->size, sizeof(*h));
	assert_int_equal(h->index, t->count++);
	assert_true(h->count <= LENGTH_MAX);
	memcpy(line->tokens, h->tokens, h->count * sizeof(*h->tokens));
	line->count = h->count;
	line->ended = h->end == ACCEL_END_STOP;
	line->sum = h->logprob;
	line->score = h->score;
	return 0;
}

static void check_line(const struct line *got, const struct line *want)
{
	assert_int_equal(got->ended, want->ended);
	assert_int_equal(got->count, want->count - want->ended);
	assert_memory_equal(got->tokens, want->tokens, got->count * sizeof(*got->tokens));
	assert_true(fabs(got->sum - want->sum) < 0.0005);
	assert_true(fabs(got->score - want->score) < 0.0005);
}

static uint32_t used_pages(struct accel_generator *g)
{
	struct accel_generator_info info = { .size = sizeof(info) };

	assert_int_equal(accel_generator_get_info(g, &info), 0);
	return info.used_pages;
}

static void search(struct bed *bed, struct accel_generator *g, const struct accel_search *s,
		   struct told *t)
{
	t->count = 0;
	MUST(accel_generator_search(g, s, hear, t));
	assert_int_equal(used_pages(g), 0);
}

/* Narrow beams, with all there is to be said of them, and the likeliest token each time */
static void check_narrow(struct bed *bed, struct plain *p, struct accel_generator *g,
			 struct accel_search *s)
{
	static const float penalties[] = { 1, 0, 2, -1, 0.5f };
	static const uint32_t widths[] = { 1, 2, 3, 5, 8 };
	static struct line found[FOUND_MAX];
	static uint32_t turn;
	static struct told t;
	double logprobs[512];
	uint32_t i, k, n, best;

	turn++;
	for (i = 0; i < 15; i++) {
		if (test_left_out(i, turn))
			continue;
		s->beams = widths[i % 5];
		s->wanted = s->beams;
		s->length_penalty = penalties[(i + i / 5) % 5];
		s->stopping = i % 3;
		search(bed, g, s, &t);
		if (s->beams > 1) {
			n = slow_search(p, s, found);
			assert_int_equal(t.count, n);
			for (k = 0; k < n; k++)
				check_line(&t.lines[k], &found[k]);
			continue;
		}
		assert_int_equal(t.count, 1);
		for (k = 0; k <= t.lines[0].count; k++) {
			if (!t.lines[0].ended && k == t.lines[0].count)
				break;
			plain_next(p, t.lines[0].tokens, k, logprobs);
			for (best = 0, n = 1; n < p->vocabulary; n++)
				best = logprobs[n] > logprobs[best] ? n : best;
			if (k < t.lines[0].count)
				assert_int_equal(t.lines[0].tokens[k], best);
			else
				assert_true(is_stop(s, best));
		}
	}
}

/* Beams that are wide enough find the best of all. */
static void check_wide(struct bed *bed, struct plain *p, struct accel_generator *g,
		       struct accel_search *s)
{
	static const float penalties[] = { 1, 0, 2 };
	struct line line = { .sum = 0 }, best = { .sum = 0 };
	static struct told t;
	uint64_t seen;
	uint32_t i;

	s->beams = ACCEL_SEARCH_BEAMS_MAX;
	s->wanted = 1;
	s->stopping = ACCEL_SEARCH_NEVER;
	for (i = 0; i < 3; i++) {
		s->length_penalty = penalties[i];
		best.score = -INFINITY;
		seen = 0;
		every_line(p, s, &line, &best, &seen);
		search(bed, g, s, &t);
		print_message("%llu continuations, the best of %u tokens: %g\n",
			      (unsigned long long)seen, best.count, best.score);
		assert_int_equal(t.count, 1);
		check_line(&t.lines[0], &best);
	}
}

/* --- models ----------------------------------------------------------------------------- */

static struct accel_generator *generator(struct bed *bed, struct accel_graph *graph,
					 struct accel_graph *encoder)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_generator *g = NULL;

	opts.batch = ACCEL_SEARCH_BEAMS_MAX;
	opts.tokens = 7;
	opts.pages = 1100;
	opts.kept = UINT32_MAX;
	opts.encoder = encoder;
	MUST(accel_generator_create(bed->ctx, graph, &opts, &g));
	return g;
}

static void make_search(struct plain *p, struct accel_search *s, uint32_t most,
			const uint32_t *stops, uint32_t stop_count)
{
	uint32_t i;

	p->count = 5;
	for (i = 0; i < p->count; i++)
		p->prompt[i] = (int32_t)((i * 37 + 11) % p->vocabulary);
	*s = (struct accel_search)ACCEL_SEARCH_INIT;
	s->tokens = p->prompt;
	s->count = p->count;
	s->max_tokens = most;
	s->stops = stops;
	s->stop_count = stop_count;
}

/* A decoder of noise that knows @vocabulary tokens */
static struct accel_generator *noise_net(struct bed *bed, struct plain *p, uint32_t vocabulary,
					 uint64_t seed)
{
	struct accel_generator *g;

	net_decoder_small(bed, false, ACCEL_F32, seed, vocabulary);
	*p = (struct plain) { .vocabulary = vocabulary };
	plain_start(p, bed, bed->graph);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	net_decoder_small(bed, true, ACCEL_F32, seed, vocabulary);
	g = generator(bed, bed->graph, NULL);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	return g;
}

static void test_settings(void **state)
{
	static const uint32_t stops[] = { 3 };
	struct accel_generator *g;
	struct accel_search s;
	struct plain p;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		g = noise_net(*state, &p, 4, 1000 * i + 1);
		make_search(&p, &s, 4, stops, 1);
		check_wide(*state, &p, g, &s);
		make_search(&p, &s, 4, NULL, 0);
		check_wide(*state, &p, g, &s);
		accel_generator_destroy(g);
		plain_close(&p);
	}
}

static void test_noise(void **state)
{
	static const uint32_t stops[] = { 7, 11, 30 };
	struct accel_generator *g;
	struct accel_search s;
	struct plain p;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		g = noise_net(*state, &p, i ? 8 : NET_VOCAB, 77 + i);
		make_search(&p, &s, 9, stops, i ? 1 : 3);
		check_narrow(*state, &p, g, &s);
		make_search(&p, &s, i ? 1 : LENGTH_MAX, stops, 0);
		check_narrow(*state, &p, g, &s);
		accel_generator_destroy(g);
		plain_close(&p);
	}
}

static struct accel_generator *folder_model(struct bed *bed, const char *path, struct plain *p,
					    uint32_t vocabulary)
{
	struct accel_decoder_opts opts = ACCEL_DECODER_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_graph *graph = NULL, *encoder = NULL;
	struct accel_model *m = NULL;
	struct accel_generator *g;

	opts.context = 64;
	opts.page_size = 4;
	if (accel_model_open(path, &e, &m) || accel_model_decoder(m, &opts, &e, &graph))
		fail_msg("%s: %s", path, e.text);
	*p = (struct plain) { .vocabulary = vocabulary, .wide = true };
	plain_start(p, bed, accel_model_graph(m));
	if (accel_model_encoder(m, &e, &encoder))
		assert_int_equal(e.code, -EOPNOTSUPP);
	g = generator(bed, graph, encoder);
	accel_graph_destroy(encoder);
	accel_graph_destroy(graph);
	accel_model_close(m);
	return g;
}

static void test_llama(void **state)
{
	static const uint32_t stops[] = { 17, 99 };
	struct accel_generator *g;
	struct accel_search s;
	struct plain p;

	g = folder_model(*state, path_of("hf/llama"), &p, 300);
	make_search(&p, &s, 8, stops, 2);
	check_narrow(*state, &p, g, &s);
	/* Of 300 first tokens 64 are followed: those that end are no more than looked at. */
	make_search(&p, &s, 2, NULL, 0);
	check_wide(*state, &p, g, &s);
	accel_generator_destroy(g);
	plain_close(&p);
}

/* Models with an encoder, which begin with one token, or with several */
static void check_t5(struct bed *bed, const char *name, uint32_t vocabulary)
{
	static const uint32_t stops[] = { 39, 153 };
	static int32_t source[40];
	struct accel_request request = ACCEL_REQUEST_INIT;
	struct accel_generator *g;
	struct accel_search s;
	static struct told t;
	float logprobs[4];
	struct plain p;
	uint64_t id;
	uint32_t i;

	g = folder_model(bed, path_of(name), &p, vocabulary);
	for (i = 0; i < 40; i++)
		source[i] = (int32_t)((i * 53 + 7) % vocabulary);
	p.source = source;
	for (i = 0; i < 2; i++) {
		p.source_count = i ? 40 : 17;
		make_search(&p, &s, i ? 24 : 8, stops, 2 * (1 - i));
		if (!i) {
			p.prompt[0] = 0;
			p.count = 1;
			s.count = 1;
		}
		s.source = source;
		s.source_count = p.source_count;
		check_narrow(bed, &p, g, &s);
	}
	make_search(&p, &s, 2, NULL, 0);
	s.source = source;
	s.source_count = p.source_count;
	check_wide(bed, &p, g, &s);
	/* It searches, and that alone; a source is what it needs. */
	s.beams = 2;
	s.source_count = 0;
	assert_int_equal(accel_generator_search(g, &s, hear, &t), -EINVAL);
	s.source_count = 32769;
	assert_int_equal(accel_generator_search(g, &s, hear, &t), -E2BIG);
	s.source_count = 2;
	source[1] = (int32_t)vocabulary;
	assert_int_equal(accel_generator_search(g, &s, hear, &t), -EINVAL);
	request.tokens = p.prompt;
	request.count = 2;
	assert_int_equal(accel_generator_submit(g, &request, &id), -EOPNOTSUPP);
	assert_int_equal(accel_generator_score(g, p.prompt, 3, logprobs), -EOPNOTSUPP);
	accel_generator_destroy(g);
	plain_close(&p);
}

static void test_t5(void **state)
{
	/* They differ between their attention and their end: the searches are the same. */
	if (test_every() == 1)
		check_t5(*state, "hf/t5", 300);
	check_t5(*state, "hf-c/t5-gated", 290);
}

/* A model that was trained, with a vocabulary of a usual kind: what is likely is narrow. */
static void test_austen(void **state)
{
	static const uint32_t stops[] = { 0 };
	struct accel_generator *g;
	static struct line found[FOUND_MAX];
	static struct told t;
	struct accel_search s;
	struct plain p;
	uint32_t i, k, n;

	g = folder_model(*state, AUSTEN, &p, 4096);
	for (i = 0; i < 3; i++) {
		make_search(&p, &s, 6, stops, 1);
		s.beams = 2 + 2 * i;
		s.wanted = s.beams;
		s.stopping = i;
		search(*state, g, &s, &t);
		n = slow_search(&p, &s, found);
		assert_int_equal(t.count, n);
		for (k = 0; k < n; k++)
			check_line(&t.lines[k], &found[k]);
	}
	accel_generator_destroy(g);
	plain_close(&p);
}

/* --- what it takes, and what is wrong --------------------------------------------------- */

/**
 * struct watch - a search that is looked at
 * @g: generator
 * @text: whole pages of its text
 * @most: pages in use at most
 * @end: it is ended at so many tokens
 */
struct watch {
	struct accel_generator *g;
	uint32_t text;
	uint32_t most;
	uint32_t end;
};

static int watch_step(void *user, uint32_t tokens)
{
	struct watch *w = user;
	uint32_t used = used_pages(w->g);

	w->most = used > w->most ? used : w->most;
	/* A step of a search can run none of its own. */
	assert_int_equal(accel_generator_step(w->g), -EDEADLK);
	return tokens == w->end;
}

/* Beams share the pages of the text, however many there are. */
static void test_pages(void **state)
{
	int32_t text[100];
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_request request = ACCEL_REQUEST_INIT;
	struct accel_search s = ACCEL_SEARCH_INIT;
	struct bed *bed = *state;
	struct accel_generator *g;
	static struct told t, again;
	struct watch w = { 0 };
	struct plain p;
	uint64_t id;
	uint32_t i;

	g = noise_net(bed, &p, NET_VOCAB, 5);
	for (i = 0; i < 100; i++)
		text[i] = (int32_t)((i * 7 + 3) % NET_VOCAB);
	s.tokens = text;
	s.count = 100;
	s.beams = 16;
	s.wanted = 16;
	s.max_tokens = 12;
	w.g = g;
	s.step = watch_step;
	s.user = &w;
	search(bed, g, &s, &t);
	print_message("16 beams of 112 tokens: %u pages of %d\n", w.most, NET_PAGE);
	assert_true(w.most >= 25 + 3 && w.most <= 25 + 16 * 4);
	w.end = 3;
	assert_int_equal(accel_generator_search(g, &s, hear, &again), -ECANCELED);
	assert_int_equal(used_pages(g), 0);
	accel_generator_destroy(g);
	/* Requests that wait for room have it behind a search; what is kept makes room for it. */
	net_decoder_small(bed, true, ACCEL_F32, 5, NET_VOCAB);
	opts.batch = 16;
	opts.pages = 40;
	MUST(accel_generator_create(bed->ctx, bed->graph, &opts, &g));
	request.tokens = text + 1;
	request.count = 90;
	request.max_tokens = 4;
	for (i = 0; i < 3; i++) {
		request.tokens = text + i;
		assert_int_equal(accel_generator_submit(g, &request, &id), 0);
		while (accel_generator_step(g))
			;
	}
	assert_true(used_pages(g) > 20);
	s.step = NULL;
	s.max_tokens = 2;
	s.beams = 8;
	s.wanted = 8;
	again.count = 0;
	MUST(accel_generator_search(g, &s, hear, &again));
	assert_int_equal(again.count, 8);
	s.beams = 16;
	assert_int_equal(accel_generator_search(g, &s, hear, &again), -ENOSPC);
	s.beams = 2;
	s.wanted = 2;
	again.count = 0;
	MUST(accel_generator_search(g, &s, hear, &again));
	i = used_pages(g);
	again.count = 0;
	MUST(accel_generator_search(g, &s, hear, &again));
	assert_int_equal(used_pages(g), i);
	accel_generator_destroy(g);
	plain_close(&p);
}

static int stop_telling(void *user, const struct accel_hypothesis *h)
{
	++*(uint32_t *)user;
	return h->index == 1;
}

#define WRONG(field, value, want) do { \
	struct accel_search wrong = good; \
	wrong.field = value; \
	assert_int_equal(accel_generator_search(g, &wrong, hear, &t), want); \
} while (0)

static void test_wrong(void **state)
{
	static int32_t text[NET_CONTEXT] = { 1, 2, 3 };
	static const uint32_t stops[ACCEL_SEARCH_STOPS_MAX + 1];
	struct accel_search good = ACCEL_SEARCH_INIT;
	struct accel_generator *g;
	static struct told t;
	struct plain p;
	uint32_t told = 0;

	g = noise_net(*state, &p, NET_VOCAB, 5);
	good.tokens = text;
	good.count = 3;
	good.max_tokens = 2;
	WRONG(size, 8, -EINVAL);
	WRONG(size, sizeof(good) + 8, -E2BIG);
	WRONG(beams, 0, -EINVAL);
	WRONG(beams, ACCEL_SEARCH_BEAMS_MAX + 1, -EINVAL);
	WRONG(tokens, NULL, -EINVAL);
	WRONG(count, 0, -EINVAL);
	WRONG(count, NET_CONTEXT, -ENOSPC);
	WRONG(stop_count, 1, -EINVAL);
	WRONG(wanted, 5, -EINVAL);
	WRONG(length_penalty, NAN, -EINVAL);
	WRONG(length_penalty, 17, -EINVAL);
	WRONG(stopping, 3, -EINVAL);
	WRONG(pad, 1, -EINVAL);
	WRONG(source_count, 1, -EINVAL);
	good.stops = stops;
	WRONG(stop_count, ACCEL_SEARCH_STOPS_MAX + 1, -EINVAL);
	text[1] = NET_VOCAB;
	WRONG(beams, 4, -EINVAL);
	text[1] = -1;
	WRONG(beams, 4, -EINVAL);
	text[1] = 2;
	assert_int_equal(accel_generator_search(NULL, &good, hear, &t), -EINVAL);
	assert_int_equal(accel_generator_search(g, NULL, hear, &t), -EINVAL);
	assert_int_equal(accel_generator_search(g, &good, NULL, &t), -EINVAL);
	assert_int_equal(t.count, 0);
	good.wanted = 4;
	assert_int_equal(accel_generator_search(g, &good, stop_telling, &told), -ECANCELED);
	assert_int_equal(told, 2);
	search(*state, g, &good, &t);
	assert_int_equal(t.count, 4);
	accel_generator_destroy(g);
	plain_close(&p);
}

static int make_folder(void **state)
{
	char cmd[256];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_beam.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(cmd, sizeof(cmd), "tar -C %s -xJf %s hf/llama hf/t5 hf-c/t5-gated", folder,
		 ZOO_HF);
	return system(cmd);
}

static int drop_folder(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", folder);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_settings, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_noise, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_llama, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_t5, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_austen, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_pages, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_wrong, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests_name("beams", tests, make_folder, drop_folder);
}
