// SPDX-License-Identifier: MIT
/*
 * Going on with tokens: by a generator of this library, and by llama.cpp. Both choose the likeliest
 * one, and both have keys and values in fp16.
 */
#include <accel/generate.h>
#include <accel/model.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

static int failed(struct talker *t, const char *path, int ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (t->perf.ctx)
		accel_ctx_get_error(t->perf.ctx, &e);
	return bench_fail(ret, "%s: %s", path, e.code == ret ? e.text : "failed");
}

static int open_graph(const char *path, uint32_t context, struct accel_model **model,
		      struct accel_graph **graph)
{
	struct accel_decoder_opts opts = ACCEL_DECODER_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	int ret = accel_model_open(path, &e, model);

	opts.dtype = ACCEL_F16;
	opts.context = context;
	if (!ret)
		ret = accel_model_decoder(*model, &opts, &e, graph);
	return ret ? bench_fail(ret, "%s: %s", path, e.text) : 0;
}

/* --- what a model is ------------------------------------------------------------------ */

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), k = strlen(with);

	return n >= k && !strcmp(name + n - k, with);
}

/**
 * struct weights - sums over what a file has
 * @table: of the table of tokens
 * @table_bytes: likewise
 * @output: of a table to tokens of its own
 * @by_type: bytes
 */
struct weights {
	double table, table_bytes, output;
	double by_type[ACCEL_DTYPE_COUNT];
};

static void add_weight(struct text_info *info, struct weights *w, const struct accel_value *v)
{
	double elements = 1, bytes;
	uint32_t i, each = 1;

	for (i = 0; i < v->rank; i++)
		elements *= (double)v->dims[i];
	bytes = elements * accel_dtype_block(v->type, &each);
	bytes /= each;
	/* Of a table of positions a row is read. */
	if (!strcmp(v->name, "position_embd.weight"))
		return;
	w->by_type[v->type] += bytes;
	info->read_bytes += bytes;
	info->elements += v->rank >= 2 ? elements : 0;
	if (!strcmp(v->name, "token_embd.weight")) {
		w->table = elements;
		w->table_bytes = bytes;
		info->vocabulary = (uint32_t)v->dims[0];
	} else if (!strcmp(v->name, "output.weight")) {
		w->output = elements;
	}
}

int talk_describe(const char *path, struct text_info *info)
{
	struct accel_model_info file = { .size = sizeof(file) };
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_graph *graph = NULL;
	struct accel_model *model = NULL;
	struct weights w = { 0 };
	uint32_t i, most = 0, page = 0, columns = 0;
	int ret = open_graph(path, 0, &model, &graph);

	/* Names are those of the file; a constant is what is called so. */
	for (i = 0; !ret && !accel_graph_get_value(graph, i, &v); i++) {
		if (!v.name)
			continue;
		if (v.type < ACCEL_DTYPE_COUNT &&
		    (ends(v.name, ".weight") || ends(v.name, ".bias")))
			add_weight(info, &w, &v);
		if (!strcmp(v.name, "pages"))
			columns = (uint32_t)v.dims[1];
		if (!strcmp(v.name, "cache.k") || !strcmp(v.name, "cache.v")) {
			page = (uint32_t)v.dims[2];
			info->kv_bytes += (double)v.dims[0] * (double)v.dims[3] *
					  (double)v.dims[4] * accel_dtype_block(v.type, NULL);
		}
	}
	if (!ret)
		ret = accel_model_get_info(model, &file) ? bench_fail(0, "%s", path) : 0;
	info->file_bytes = (double)file.file_bytes;
	info->context = page * columns;
	info->last = w.output > 0 ? w.output : w.table;
	/* Of a table that is not the one to tokens, too, a row is read. */
	if (w.output > 0) {
		info->read_bytes -= w.table_bytes;
		info->elements -= w.table;
	}
	for (i = 0; i < ACCEL_DTYPE_COUNT; i++)
		most = w.by_type[i] > w.by_type[most] ? i : most;
	snprintf(info->dtype, sizeof(info->dtype), "%s",
		 accel_dtype_name(most) ? accel_dtype_name(most) : "");
	accel_graph_destroy(graph);
	accel_model_close(model);
	if (!ret && (!info->context || !info->vocabulary))
		ret = bench_fail(0, "%s: no decoder of a file of GGUF", path);
	return ret;
}

/* --- ready ------------------------------------------------------------------------------ */

static int open_ours(struct talker *t, const char *path, uint32_t threads, uint32_t sequences,
		     uint32_t context)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_graph *graph = NULL;
	int ret = ours_open(&t->perf, threads);

	if (!ret)
		ret = open_graph(path, context, &t->model, &graph);
	if (ret)
		return ret;
	opts.batch = sequences;
	opts.lookup = t->lookup;
	/* Pages have 8 tokens at least; of those that nobody needs nothing is touched. */
	opts.pages = sequences > 1 ? (sequences + 1) * (context / 8) : 0;
	ret = accel_generator_create(t->perf.ctx, graph, &opts, &t->generator);
	accel_graph_destroy(graph);
	return ret ? failed(t, path, ret) : 0;
}

int talk_open(struct talker *t, const char *path, uint32_t threads, uint32_t sequences,
	      uint32_t context)
{
	bool ok;

	if (!t->theirs)
		return open_ours(t, path, threads, sequences, context);
	ok = llama_here() && llama_open(&t->one, path, NULL, threads, 1, context);
	if (ok && sequences > 1)
		ok = llama_open(&t->many, path, &t->one, threads, sequences, context);
	/* As ours are */
	team_pin_new(1);
	return ok ? 0 : 1;
}

void talk_close(struct talker *t)
{
	accel_generator_destroy(t->generator);
	accel_model_close(t->model);
	ours_close(&t->perf);
	llama_close(&t->many);
	llama_close(&t->one);
}

/* --- ours ------------------------------------------------------------------------------- */

/**
 * struct heard - what requests have told
 * @first: when the last of them had its first token
 * @begun: requests that have a token
 * @ended: those that have ended
 * @tokens: of all of them
 * @error: negative errno
 */
struct heard {
	uint64_t first;
	uint32_t begun, ended, tokens;
	int error;
};

static int hear(void *user, const struct accel_event *event)
{
	struct heard *h = user;

	if (event->kind == ACCEL_EVENT_END) {
		h->ended++;
		h->error = event->error ? event->error : h->error;
		return 0;
	}
	h->tokens++;
	if (!event->index) {
		h->begun++;
		h->first = stats_now();
	}
	return 0;
}

/* Tokens are counted from when all have one to when one has ended. */
static int answer_ours(struct talker *t, const int32_t *prompts, uint32_t count,
		       uint32_t sequences, uint32_t tokens, struct said *said)
{
	struct accel_request q = ACCEL_REQUEST_INIT;
	struct heard h = { 0 };
	uint64_t start = stats_now(), from = 0, to = 0, id;
	uint32_t before = 0, after = 0, i;
	int ret = 0;

	q.count = count;
	q.max_tokens = tokens;
	q.event = hear;
	q.user = &h;
	for (i = 0; i < sequences && !ret; i++) {
		q.tokens = prompts + (size_t)i * count;
		ret = accel_generator_submit(t->generator, &q, &id);
	}
	while (!ret) {
		ret = accel_generator_step(t->generator);
		if (ret <= 0)
			break;
		ret = 0;
		if (h.begun < sequences || h.ended)
			continue;
		to = stats_now();
		after = h.tokens;
		if (!from) {
			from = to;
			before = after;
		}
	}
	ret = ret ? ret : h.error;
	if (ret)
		return failed(t, "a step", ret);
	if (h.begun < sequences)
		return bench_fail(0, "an answer ended before it began");
	said->prompt_us = (double)(h.first - start) / 1e3;
	if (after > before)
		said->token_us = (double)(to - from) / 1e3 / (after - before);
	return 0;
}

double talk_accepted(const struct talker *t)
{
	struct accel_generator_info info = { .size = sizeof(info) };

	if (accel_generator_get_info(t->generator, &info) || !info.guessed)
		return 0;
	return (double)info.accepted / (double)info.guessed;
}

/* --- theirs ----------------------------------------------------------------------------- */

static int answer_theirs(struct talker *t, const int32_t *prompts, uint32_t count,
			 uint32_t sequences, uint32_t tokens, struct said *said)
{
	struct llama *l = sequences > 1 ? &t->many : &t->one;
	/* What is there of a prompt is kept, as ours keeps pages; of those alone that go on. */
	const uint32_t there = tokens > 1 && l->kept == prompts ? count - 1 : 0;
	uint64_t start = stats_now(), from;
	int32_t next[TEXT_SEQUENCES];
	uint32_t i, k, place = count;
	bool ok = true;

	for (k = 0; k < sequences && ok; k++) {
		llama_back(l, k, there);
		ok = llama_prompt(l, k, there, prompts + (size_t)k * count + there, count - there,
				  false);
		if (ok)
			next[k] = llama_best(l, count - there - 1);
	}
	l->kept = ok && tokens > 1 ? prompts : NULL;
	from = stats_now();
	said->prompt_us = (double)(from - start) / 1e3;
	/* As many as ours counts: the first token and the step of the last one are left out. */
	for (i = 2; i < tokens && ok; i++) {
		ok = llama_step(l, place++, next, sequences);
		for (k = 0; k < sequences && ok; k++)
			next[k] = llama_best(l, k);
	}
	if (tokens > 3)
		said->token_us = (double)(stats_now() - from) / 1e3 / ((tokens - 2) * sequences);
	return ok ? 0 : 1;
}

int talk_answer(struct talker *t, const int32_t *prompts, uint32_t count, uint32_t sequences,
		uint32_t tokens, struct said *said)
{
	return t->theirs ? answer_theirs(t, prompts, count, sequences, tokens, said) :
	       answer_ours(t, prompts, count, sequences, tokens, said);
}

/* --- what they say ------------------------------------------------------------------------ */

static float logprob(const float *logits, uint32_t count, int32_t token)
{
	double most = -INFINITY, sum = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		most = fmax(most, (double)logits[i]);
	for (i = 0; i < count; i++)
		sum += exp((double)logits[i] - most);
	return (float)((double)logits[token] - most - log(sum));
}

int talk_score(struct talker *t, const int32_t *tokens, uint32_t count, float *logprobs)
{
	uint32_t i;
	int ret;

	if (!t->theirs) {
		ret = accel_generator_score(t->generator, tokens, count, logprobs);
		return ret ? failed(t, "a score", ret) : 0;
	}
	llama_back(&t->one, 0, 0);
	t->one.kept = NULL;
	if (!llama_prompt(&t->one, 0, 0, tokens, count, true))
		return 1;
	for (i = 0; i + 1 < count; i++)
		logprobs[i] = logprob(llama_logits(&t->one, i), t->one.vocabulary, tokens[i + 1]);
	return 0;
}
