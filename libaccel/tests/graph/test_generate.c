// SPDX-License-Identifier: MIT
/*
 * Generators: what many requests get together is what each gets alone, with pages that do not
 * suffice for all, beginnings that they share, cancellation at random, guesses and threads. They
 * are in one file, for they share requests and how those are followed.
 */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decodernet.h"
#include "libaccel/tests/guest.h"

#define REQUESTS	1000
#define THREADS		4
#define ANSWER_MAX	40
#define PROMPT_MAX	90

/* A context that is reproducible, with a decoder */
static void start(struct bed *bed, uint64_t seed)
{
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;

	accel_graph_destroy(bed->graph);
	accel_ctx_destroy(bed->ctx);
	opts.flags = ACCEL_CTX_REPRODUCIBLE;
	assert_int_equal(accel_ctx_create(bed->dev, &opts, &bed->ctx), 0);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	net_decoder_build(bed, true, ACCEL_F32, seed);
}

static struct accel_generator *generator(struct bed *bed, const struct accel_generator_opts *opts)
{
	struct accel_generator *g = NULL;

	MUST(accel_generator_create(bed->ctx, bed->graph, opts, &g));
	return g;
}

static struct accel_generator_info info_of(struct accel_generator *g)
{
	struct accel_generator_info info = { .size = sizeof(info) };

	assert_int_equal(accel_generator_get_info(g, &info), 0);
	return info;
}

/**
 * struct job - a request of the test
 * @prompt: tokens
 * @count: how many
 * @most: tokens of the answer
 * @sampler: how
 * @salt: of the request
 * @cancel: after so many tokens, 0: not
 * @answer: what came
 * @logprobs: of it
 * @answered: how much
 * @end: why it ended
 * @id: number
 */
struct job {
	int32_t prompt[PROMPT_MAX];
	uint32_t count;
	uint32_t most;
	struct accel_sampler_opts sampler;
	uint64_t salt;
	uint32_t cancel;
	uint32_t answer[ANSWER_MAX];
	float logprobs[ANSWER_MAX];
	uint32_t answered;
	uint32_t end;
	uint64_t id;
};

static uint32_t random_of(uint64_t seed, uint64_t i, uint32_t below)
{
	return (uint32_t)((noise(seed, i) + 1) / 2 * (float)below) % below;
}

/* Three of four begin like one of four texts. */
static void make_job(struct job *job, uint64_t seed)
{
	uint32_t i, common = random_of(seed, 1, 4) ? random_of(seed, 2, 50) : 0;

	*job = (struct job) { .sampler = ACCEL_SAMPLER_OPTS_INIT };
	job->count = common + 1 + random_of(seed, 3, 30);
	job->most = 1 + random_of(seed, 4, ANSWER_MAX);
	job->salt = !random_of(seed, 5, 10);
	for (i = 0; i < job->count; i++)
		job->prompt[i] = (int32_t)random_of(i < common ? random_of(seed, 6, 4) + 1000000 :
						    seed, 100 + i, NET_VOCAB);
	if (!random_of(seed, 7, 3))
		return;
	job->sampler.temperature = 0.8f;
	job->sampler.top_k = random_of(seed, 8, 2) * 20;
	job->sampler.top_p = random_of(seed, 9, 2) ? 0.9f : 1;
	job->sampler.repeat_penalty = random_of(seed, 10, 2) ? 1.1f : 1;
	job->sampler.seed = seed;
}

static void submit(struct accel_generator *g, struct job *job)
{
	struct accel_request q = ACCEL_REQUEST_INIT;
	const uint32_t stop = 7;

	q.tokens = job->prompt;
	q.count = job->count;
	q.max_tokens = job->most;
	q.sampler = &job->sampler;
	q.salt = job->salt;
	q.stops = &stop;
	q.stop_count = 1;
	assert_int_equal(accel_generator_submit(g, &q, &job->id), 0);
}

/* The next event; false: it was the last one. */
static bool follow(struct accel_generator *g, struct job *job)
{
	struct accel_event event = ACCEL_EVENT_INIT;

	assert_int_equal(accel_generator_next(g, job->id, &event), 0);
	assert_true(event.id == job->id);
	assert_int_equal(event.index, job->answered);
	if (event.kind == ACCEL_EVENT_END) {
		job->end = event.end;
		if (event.end == ACCEL_END_ERROR)
			fail_msg("request %llu: %d", (unsigned long long)event.id, event.error);
		assert_int_equal(accel_generator_next(g, job->id, &event), -ENOENT);
		return false;
	}
	assert_true(job->answered < job->most);
	job->logprobs[job->answered] = event.logprob;
	job->answer[job->answered++] = event.token;
	if (job->answered == job->cancel)
		assert_int_equal(accel_generator_cancel(g, job->id), 0);
	return true;
}

/* @b is @a, or its beginning if it was cancelled. */
static void same_answer(const struct job *a, const struct job *b, uint32_t index)
{
	uint32_t i;

	if (b->end == ACCEL_END_CANCELLED) {
		assert_true(b->answered <= a->answered);
	} else if (a->answered != b->answered || a->end != b->end) {
		fail_msg("request %u: %u tokens, end %u; alone %u, end %u", index, b->answered,
			 b->end, a->answered, a->end);
	}
	for (i = 0; i < b->answered; i++)
		if (a->answer[i] != b->answer[i] ||
		    memcmp(&a->logprobs[i], &b->logprobs[i], sizeof(float)))
			fail_msg("request %u, token %u: %u (%.9g), alone %u (%.9g)", index, i,
				 b->answer[i], (double)b->logprobs[i], a->answer[i],
				 (double)a->logprobs[i]);
}

/**
 * struct worker - a thread that asks
 * @g: generator
 * @jobs: all requests
 * @first: its first one; every fourth is its
 * @count: requests
 */
struct worker {
	struct accel_generator *g;
	struct job *jobs;
	uint32_t first;
	uint32_t count;
};

/* Twelve at a time, each followed for a while */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct job *open[12];
	uint32_t next = w->first, n = 0, i = 0;

	while (n || next < w->count) {
		while (n < 12 && next < w->count) {
			submit(w->g, &w->jobs[next]);
			open[n++] = &w->jobs[next];
			next += THREADS;
		}
		i = (i + 1) % n;
		if (!follow(w->g, open[i]))
			open[i] = open[--n];
	}
	return NULL;
}

/* One that keeps nothing */
static struct accel_generator *forgetful(struct bed *bed)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;

	opts.kept = UINT32_MAX;
	return generator(bed, &opts);
}

/* Each alone, in a generator that keeps nothing */
static void answer_each(struct accel_generator *g, struct job *jobs, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		submit(g, &jobs[i]);
		while (follow(g, &jobs[i]))
			;
	}
	assert_int_equal(info_of(g).used_pages, 0);
	assert_int_equal(info_of(g).preempted, 0);
	assert_int_equal(info_of(g).shared_tokens, 0);
}

static void answer_alone(struct bed *bed, struct job *jobs, uint32_t count)
{
	struct accel_generator *g = forgetful(bed);

	answer_each(g, jobs, count);
	accel_generator_destroy(g);
}

static void answer_together(struct bed *bed, const struct accel_generator_opts *opts,
			    struct job *jobs, uint32_t count, struct accel_generator_info *info)
{
	struct accel_generator *g = generator(bed, opts);
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	uint32_t i;

	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker) { g, jobs, i, count };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	*info = info_of(g);
	assert_int_equal(info->active, 0);
	assert_int_equal(info->waiting, 0);
	accel_generator_destroy(g);
}

/* A thousand with a pool that has room for three or four */
static void test_together(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	const uint32_t count = REQUESTS / (test_small() ? 10 : (uint32_t)test_every());
	uint32_t i, cancelled = 0;
	struct job *alone = calloc(REQUESTS, sizeof(*alone));
	struct job *jobs = calloc(REQUESTS, sizeof(*jobs));
	struct accel_generator_info info;
	struct bed *bed = *state;

	assert_non_null(alone);
	assert_non_null(jobs);
	for (i = 0; i < count; i++) {
		make_job(&alone[i], i);
		jobs[i] = alone[i];
		if (!random_of(i, 20, 5))
			jobs[i].cancel = 1 + random_of(i, 21, 10);
	}
	start(bed, 1);
	answer_alone(bed, alone, count);
	opts.pages = 60;
	opts.batch = 8;
	opts.tokens = 40;
	opts.kept = 6;
	answer_together(bed, &opts, jobs, count, &info);
	for (i = 0; i < count; i++) {
		same_answer(&alone[i], &jobs[i], i);
		cancelled += jobs[i].end == ACCEL_END_CANCELLED;
	}
	print_message("%llu steps, %llu tokens of prompts, %llu shared, %llu preempted, %u cancelled\n",
		      (unsigned long long)info.steps, (unsigned long long)info.prompt_tokens,
		      (unsigned long long)info.shared_tokens, (unsigned long long)info.preempted,
		      cancelled);
	assert_true(info.preempted > count / 100 && info.shared_tokens > count && cancelled);
	/* Nothing kept, nothing left */
	opts.kept = UINT32_MAX;
	for (i = 0; i < count / 5; i++) {
		jobs[i].answered = 0;
		jobs[i].end = 0;
	}
	answer_together(bed, &opts, jobs, count / 5, &info);
	for (i = 0; i < count / 5; i++)
		same_answer(&alone[i], &jobs[i], i);
	assert_int_equal(info.used_pages, 0);
	free(alone);
	free(jobs);
}

/* A prompt that all have is computed once, also if they come at once. */
static void test_shared(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct bed *bed = *state;
	struct accel_generator_info info;
	struct accel_generator *g;
	struct job jobs[10], other;
	uint32_t i, k;

	start(bed, 1);
	opts.tokens = 16;
	g = generator(bed, &opts);
	for (i = 0; i < 10; i++) {
		make_job(&jobs[i], 5);
		jobs[i].count = 49;
		jobs[i].most = 5;
		for (k = 0; k < 49; k++)
			jobs[i].prompt[k] = (int32_t)(k < 48 ? k : i + 10);
		submit(g, &jobs[i]);
	}
	for (i = 0; i < 10; i++)
		while (follow(g, &jobs[i]))
			;
	info = info_of(g);
	assert_int_equal(info.shared_tokens, 9 * 48);
	assert_int_equal(info.prompt_tokens, 48 + 10);
	/* Another salt shares nothing. */
	other = jobs[0];
	other.answered = 0;
	other.salt = 99;
	submit(g, &other);
	while (follow(g, &other))
		;
	assert_int_equal(info_of(g).shared_tokens, 9 * 48);
	same_answer(&jobs[0], &other, 0);
	accel_generator_destroy(g);
}

enum { GUESSED = 40 };

/* A smaller model has much to do; it races no more with many requests. */
static uint32_t guessed(bool draft)
{
	return draft && test_races_only() ? 12 : GUESSED;
}

/* What is asked, and without guesses answered; @draft: not what can be looked up */
static void no_guesses(struct bed *bed, struct job *alone, bool draft)
{
	uint32_t i, k;

	start(bed, 1);
	for (i = 0; i < guessed(draft); i++) {
		make_job(&alone[i], 7000 + i);
		alone[i].most = ANSWER_MAX;
		for (k = 0; k < alone[i].count && !draft; k++)
			alone[i].prompt[k] = (int32_t)(k % 6);
		alone[i].salt = 0;
	}
	answer_alone(bed, alone, guessed(draft));
}

/* With guesses the tokens are the same, most likely ones and drawn ones, and fewer steps. */
static void guesses(struct bed *bed, const struct accel_generator_opts *opts,
		    const struct job *alone, bool draft)
{
	struct accel_generator_opts o = *opts;
	struct bed small = *bed;
	struct accel_generator_info info;
	struct job jobs[GUESSED];
	uint32_t i;

	assert_int_equal(accel_graph_create(&small.graph), 0);
	/* The same weights: it is always right where tokens are the most likely ones. */
	net_decoder_build(&small, true, ACCEL_F32, 1);
	if (draft)
		o.draft = small.graph;
	for (i = 0; i < guessed(draft); i++) {
		jobs[i] = alone[i];
		jobs[i].answered = 0;
	}
	answer_together(bed, &o, jobs, guessed(draft), &info);
	for (i = 0; i < guessed(draft); i++)
		same_answer(&alone[i], &jobs[i], i);
	print_message("%llu guessed, %llu right, %llu tokens\n", (unsigned long long)info.guessed,
		      (unsigned long long)info.accepted, (unsigned long long)info.new_tokens);
	assert_true(info.guessed > 50 && info.accepted > (draft ? info.guessed / 3 : 10));
	accel_graph_destroy(small.graph);
}

static void test_lookup(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct job alone[GUESSED];

	no_guesses(*state, alone, false);
	opts.lookup = 6;
	guesses(*state, &opts, alone, false);
}

static void test_draft(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct job alone[GUESSED];

	no_guesses(*state, alone, true);
	opts.drafted = 5;
	guesses(*state, &opts, alone, true);
	/* With a pool that does not suffice */
	opts.pages = 70;
	opts.tokens = 24;
	guesses(*state, &opts, alone, true);
}

/* Who repeats itself is guessed by look-up, the other one meanwhile by the smaller model. */
static void mixed(struct bed *bed, float temperature)
{
	const struct accel_token_bias always = { .token = 3, .bias = 1000 };
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_generator_info info;
	struct job alone[2], jobs[2];
	struct accel_generator *g;
	uint32_t i;

	start(bed, 1);
	for (i = 0; i < 2; i++) {
		make_job(&alone[i], 40 + i);
		alone[i].count = 20;
		alone[i].most = ANSWER_MAX;
		alone[i].salt = 0;
		alone[i].sampler.temperature = temperature;
	}
	/* The smaller model does not know of biases, so its guesses are wrong there. */
	for (i = 0; i < 20; i++)
		alone[0].prompt[i] = 3;
	alone[0].sampler.bias = &always;
	alone[0].sampler.bias_count = 1;
	memcpy(jobs, alone, sizeof(jobs));
	answer_alone(bed, alone, 2);
	opts.lookup = 1;
	opts.draft = bed->graph;
	opts.drafted = 4;
	g = generator(bed, &opts);
	for (i = 0; i < 2; i++)
		submit(g, &jobs[i]);
	while (follow(g, &jobs[1]))
		;
	info = info_of(g);
	print_message("%llu steps, %llu of %llu right\n", (unsigned long long)info.steps,
		      (unsigned long long)info.accepted, (unsigned long long)info.guessed);
	/* Two guesses in the second step, then four */
	if (!temperature)
		assert_true(info.steps <= 12 && info.accepted == info.guessed);
	while (follow(g, &jobs[0]))
		;
	for (i = 0; i < 2; i++)
		same_answer(&alone[i], &jobs[i], i);
	assert_int_equal(jobs[0].answered, ANSWER_MAX);
	accel_generator_destroy(g);
}

static void test_mixed(void **state)
{
	mixed(*state, 0);
	mixed(*state, 0.8f);
}

/* Guesses leave room for prompts, also where all of them are right. */
static void test_guesses_yield(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_generator_info info;
	struct bed *bed = *state;
	struct accel_generator *g;
	struct job late, first;
	uint32_t i;

	start(bed, 1);
	opts.draft = bed->graph;
	opts.drafted = 7;
	opts.tokens = 8;
	opts.batch = 2;
	g = generator(bed, &opts);
	make_job(&first, 3);
	first.count = 3;
	first.most = ANSWER_MAX;
	first.sampler.temperature = 0;
	late = first;
	late.count = 16;
	late.most = 1;
	submit(g, &first);
	/* Guesses grow. */
	while (first.answered < 12)
		assert_true(follow(g, &first));
	submit(g, &late);
	for (i = 0; i < 2; i++)
		accel_generator_step(g);
	info = info_of(g);
	assert_int_equal(info.active, 2);
	assert_true(info.guessed > 8);
	assert_true(info.prompt_tokens > first.count + late.count / 3);
	while (follow(g, &late))
		;
	while (follow(g, &first))
		;
	accel_generator_destroy(g);
}

/* Threads that ask for the same request: each event is one's, and it is gone for all. */
static void *ask(void *arg)
{
	struct worker *w = arg;
	struct accel_event event = ACCEL_EVENT_INIT;
	uint32_t ends = 0;
	int ret;

	while (!(ret = accel_generator_next(w->g, w->jobs->id, &event)))
		ends += event.kind == ACCEL_EVENT_END;
	w->count = ret == -ENOENT ? ends : 99;
	return NULL;
}

static void test_same_request(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	struct bed *bed = *state;
	struct accel_generator *g;
	uint32_t i, k, ends;
	struct job job;

	start(bed, 1);
	g = generator(bed, &opts);
	for (k = 0; k < 20; k++) {
		make_job(&job, k);
		job.most = 1 + k % 3;
		submit(g, &job);
		for (i = 0; i < THREADS; i++) {
			workers[i] = (struct worker) { g, &job, 0, 0 };
			assert_int_equal(pthread_create(&threads[i], NULL, ask, &workers[i]), 0);
		}
		for (i = 0, ends = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			ends += workers[i].count;
		}
		assert_int_equal(ends, 1);
	}
	accel_generator_destroy(g);
}

/* --- text -------------------------------------------------------------------------- */

/* Token n is one letter to three. */
static struct accel_tokenizer *letters(void)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t = NULL;
	char json[2048];
	size_t n;
	int i;

	n = (size_t)sprintf(json, "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{");
	for (i = 0; i < NET_VOCAB; i++)
		n += (size_t)sprintf(json + n, "%s\"%.*s\":%d", i ? "," : "", 1 + i % 3,
				     all + i % 32, i);
	n += (size_t)sprintf(json + n, "}}}");
	if (accel_tokenizer_parse(json, n, &e, &t))
		fail_msg("tokenizer: %s", e.text);
	return t;
}

struct told {
	char text[512];
	uint32_t ids[64];
	uint32_t bytes;
	uint32_t tokens;
	uint32_t end;
	uint32_t cancel;
};

static int hear(void *user, const struct accel_event *event)
{
	struct told *t = user;

	memcpy(t->text + t->bytes, event->text ? event->text : "", event->bytes);
	t->bytes += event->bytes;
	t->text[t->bytes] = 0;
	if (event->kind == ACCEL_EVENT_END)
		t->end = event->end;
	else
		t->ids[t->tokens++ % 64] = event->token;
	return t->cancel && t->tokens == t->cancel;
}

/* What is told, with a text that ends the answer */
static void tell(struct accel_generator *g, const char *stop, const char *schema, uint32_t cancel,
		 struct told *told)
{
	static const int32_t prompt[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	struct accel_request q = ACCEL_REQUEST_INIT;
	uint64_t id;

	*told = (struct told) { .cancel = cancel };
	q.tokens = prompt;
	q.count = 8;
	q.max_tokens = 30;
	q.texts = &stop;
	q.text_count = !!stop;
	q.schema = schema;
	q.event = hear;
	q.user = told;
	assert_int_equal(accel_generator_submit(g, &q, &id), 0);
	while (accel_generator_step(g))
		;
	assert_int_equal(accel_generator_cancel(g, id), -ENOENT);
}

static void test_text(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct bed *bed = *state;
	struct accel_generator *g;
	struct told all, told;
	char stop[8], *at;
	uint32_t i, n;

	start(bed, 1);
	opts.tokenizer = letters();
	g = generator(bed, &opts);
	tell(g, NULL, NULL, 0, &all);
	assert_int_equal(all.tokens, 30);
	assert_int_equal(all.end, ACCEL_END_LENGTH);
	assert_int_equal(strlen(all.text), all.bytes);
	/* Each piece of the text ends it where it is first, wherever tokens end. */
	for (n = 1; n < 6; n++)
		for (i = 0; i + n <= all.bytes; i += 3) {
			memcpy(stop, all.text + i, n);
			stop[n] = 0;
			tell(g, stop, NULL, 0, &told);
			at = strstr(all.text, stop);
			assert_int_equal(told.end, ACCEL_END_STOP);
			assert_int_equal(told.bytes, at - all.text);
			assert_memory_equal(told.text, all.text, told.bytes);
		}
	tell(g, NULL, NULL, 4, &told);
	assert_int_equal(told.end, ACCEL_END_CANCELLED);
	assert_int_equal(told.tokens, 4);
	/* Of a schema, where it may be nothing else */
	tell(g, NULL, "{\"enum\":[1234,231]}", 0, &told);
	assert_int_equal(told.end, ACCEL_END_STOP);
	assert_true(!strcmp(told.text, "1234") || !strcmp(told.text, "231"));
	tell(g, NULL, "{\"type\":\"array\"}", 0, &told);
	/* No token has a bracket. */
	assert_int_equal(told.end, ACCEL_END_ERROR);
	assert_int_equal(told.tokens, 0);
	accel_generator_destroy(g);
	accel_tokenizer_close((struct accel_tokenizer *)opts.tokenizer);
}

/* As SentencePiece has them: U+2581 is a space, some tokens are bytes, and one is no text. */
static struct accel_tokenizer *spaces(void)
{
	static const char *const kinds[] = {
		"\342\226\201%c", "%c\342\226\201%c", "%c%c", "<0x%02X>"
	};
	static const char *const begin[] = {
		"{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"merges\":[],",
		"\"vocab\":{\"\\\"\":50,\"x\":51,",
		"\"\342\226\201y\":52,\"<s>\":60"
	};
	static const char *const end[] = {
		"\"added_tokens\":[{\"id\":60,\"content\":\"<s>\",\"special\":true}],",
		"\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",",
		"\"pattern\":{\"String\":\"\342\226\201\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},",
		"{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]}}"
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t = NULL;
	char json[4096], text[16];
	size_t n;
	int i, c;

	n = (size_t)sprintf(json, "%s%s%s", begin[0], begin[1], begin[2]);
	for (i = 0; i < 50; i++) {
		c = (i % 4 == 3 ? '0' : 'a') + i / 4;
		snprintf(text, sizeof(text), kinds[i % 4], c, c);
		n += (size_t)sprintf(json + n, ",\"%s\":%d", text, i);
	}
	for (; i < NET_VOCAB - 1; i++)
		n += i > 52 ? (size_t)sprintf(json + n, ",\"z%d\":%d", i, i) : 0;
	sprintf(json + n, "}},%s%s%s%s", end[0], end[1], end[2], end[3]);
	if (accel_tokenizer_parse(json, strlen(json), &e, &t))
		fail_msg("tokenizer: %s", e.text);
	return t;
}

/*
 * The text goes on behind that of the prompt, as decoding both at once shows it; behind a token
 * that is no text it begins, as decoding the answer alone does.
 */
static void test_spaces(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_request q = ACCEL_REQUEST_INIT;
	uint32_t i, k, spaced = 0, dropped = 0;
	struct bed *bed = *state;
	struct accel_generator *g;
	char *before, *all;
	size_t skip, n;
	struct told told;
	int32_t prompt[34];
	uint64_t id;

	start(bed, 1);
	opts.tokenizer = spaces();
	g = generator(bed, &opts);
	q.tokens = prompt;
	q.max_tokens = 30;
	q.event = hear;
	q.user = &told;
	for (i = 0; i < 24; i++) {
		told = (struct told) { 0 };
		prompt[0] = 51;
		prompt[1] = (int32_t)(i * 2);
		prompt[2] = 60;
		q.count = 2 + i % 2;
		assert_int_equal(accel_generator_submit(g, &q, &id), 0);
		while (accel_generator_step(g))
			;
		assert_int_equal(told.tokens, 30);
		for (k = 0; k < 30; k++)
			prompt[q.count + k] = (int32_t)told.ids[k];
		/* What comes before: the prompt, or nothing behind what is no text */
		k = q.count == 2 ? 0 : q.count;
		assert_int_equal(accel_tokenizer_decode(opts.tokenizer, (uint32_t *)prompt + k,
							q.count - k, ACCEL_DECODE_SKIP_SPECIAL,
							&before, &skip), 0);
		assert_int_equal(accel_tokenizer_decode(opts.tokenizer, (uint32_t *)prompt + k,
							q.count - k + 30, ACCEL_DECODE_SKIP_SPECIAL,
							&all, &n), 0);
		assert_memory_equal(all, before, skip);
		assert_string_equal(told.text, all + skip);
		spaced += q.count == 2 && told.text[0] == ' ';
		dropped += q.count == 3 && told.ids[0] % 4 == 0;
		free(before);
		free(all);
	}
	assert_true(spaced && dropped);
	tell(g, NULL, "{\"enum\":[\"x y\"]}", 0, &told);
	assert_int_equal(told.end, ACCEL_END_STOP);
	assert_string_equal(told.text, "\"x y\"");
	accel_generator_destroy(g);
	accel_tokenizer_close((struct accel_tokenizer *)opts.tokenizer);
}

/* What is kept of an answer that a text ended is of its tokens, not of guesses in their place. */
static void test_kept_guesses(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_token_info token = { .size = sizeof(token) };
	struct accel_request q = ACCEL_REQUEST_INIT;
	struct bed *bed = *state, small = *bed;
	struct job job, again, alone;
	struct accel_generator *g, *plain;
	const char *text;
	char stop[8];
	uint32_t p, n, i;

	start(bed, 1);
	small.ctx = bed->ctx;
	assert_int_equal(accel_graph_create(&small.graph), 0);
	/* Other weights: it is hardly ever right. */
	net_decoder_build(&small, true, ACCEL_F32, 2);
	opts.tokenizer = letters();
	opts.draft = small.graph;
	g = generator(bed, &opts);
	plain = forgetful(bed);
	for (i = 0; i < 32; i++) {
		p = 5 + i % 8;
		n = 1 + i / 8;
		make_job(&job, 900 + p);
		job.count = p;
		job.most = n;
		job.salt = 0;
		job.sampler.temperature = 0;
		alone = job;
		answer_each(plain, &alone, 1);
		if (alone.answered < n)
			continue;
		assert_int_equal(accel_tokenizer_get_token(opts.tokenizer, alone.answer[n - 1],
							   &token), 0);
		q.tokens = job.prompt;
		q.count = p;
		snprintf(stop, sizeof(stop), "%.*s", (int)token.text_bytes, token.text);
		text = stop;
		q.texts = &text;
		q.text_count = 1;
		q.salt = 1 + i;
		assert_int_equal(accel_generator_submit(g, &q, &job.id), 0);
		while (follow(g, &job))
			;
		assert_int_equal(job.end, ACCEL_END_STOP);
		again = job;
		again.salt = q.salt;
		again.answered = 0;
		again.most = 5;
		for (n = 0; n < job.answered; n++)
			again.prompt[again.count++] = (int32_t)job.answer[n];
		again.prompt[again.count++] = 5;
		alone = again;
		answer_each(plain, &alone, 1);
		submit(g, &again);
		while (follow(g, &again))
			;
		same_answer(&alone, &again, i);
	}
	assert_true(info_of(g).guessed > info_of(g).accepted && info_of(g).shared_tokens);
	accel_generator_destroy(plain);
	accel_generator_destroy(g);
	accel_graph_destroy(small.graph);
	accel_tokenizer_close((struct accel_tokenizer *)opts.tokenizer);
}

/* --- whole texts ------------------------------------------------------------------- */

static void test_whole(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct bed *bed = *state;
	struct accel_generator *g;
	float scores[2][60], *vector[3], last;
	struct job job;
	int32_t text[60];
	uint32_t i, k;

	start(bed, 1);
	make_job(&job, 3);
	for (k = 0; k < 2; k++) {
		opts.tokens = k ? 60 : 17;
		g = generator(bed, &opts);
		job.most = 20;
		job.count = 40;
		job.answered = 0;
		job.sampler.temperature = 0;
		submit(g, &job);
		while (follow(g, &job))
			;
		for (i = 0; i < 40; i++)
			text[i] = job.prompt[i];
		for (i = 0; i < job.answered; i++)
			text[40 + i] = (int32_t)job.answer[i];
		assert_int_equal(accel_generator_score(g, text, 40 + job.answered, scores[k]), 0);
		for (i = 0; i < job.answered; i++)
			assert_memory_equal(&scores[k][39 + i], &job.logprobs[i], sizeof(float));
		for (i = 0; i < 3; i++) {
			vector[i] = calloc(NET_HIDDEN, sizeof(float));
			assert_int_equal(accel_generator_embed(g, text, 40, i, vector[i]), 0);
		}
		/* One row is its own mean; what is read last is what its beginning has. */
		assert_int_equal(accel_generator_embed(g, text, 1, ACCEL_POOL_MEAN, vector[0]), 0);
		assert_memory_equal(vector[0], vector[1], NET_HIDDEN * sizeof(float));
		assert_int_equal(accel_generator_embed(g, text, 40, ACCEL_POOL_MEAN |
						       ACCEL_POOL_NORMALISE, vector[2]), 0);
		for (i = 0, last = 0; i < NET_HIDDEN; i++)
			last += vector[2][i] * vector[2][i];
		assert_true(fabsf(last - 1) < 0.00001f);
		for (i = 0; i < 3; i++)
			free(vector[i]);
		accel_generator_destroy(g);
	}
	assert_memory_equal(scores[0], scores[1], (39 + job.answered) * sizeof(float));
}

/* --- sessions ---------------------------------------------------------------------- */

/* What was answered goes on in another generator, without being computed again. */
static void test_session(void **state)
{
	char path[] = "/tmp/session.XXXXXX", tokens[64];
	struct job first, next, alone;
	struct bed *bed = *state;
	struct accel_generator *g;
	int32_t text[PROMPT_MAX];
	uint32_t i, n;
	FILE *f;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	snprintf(tokens, sizeof(tokens), "%s.tokens", path);
	start(bed, 1);
	make_job(&first, 11);
	first.count = 30;
	first.most = 20;
	first.salt = 5;
	next = first;
	g = generator(bed, NULL);
	submit(g, &first);
	while (follow(g, &first))
		;
	for (n = 0; n < 30; n++)
		text[n] = first.prompt[n];
	for (i = 0; i < first.answered; i++)
		text[n++] = (int32_t)first.answer[i];
	assert_int_equal(accel_generator_save(g, text, n, 4, path), -ENOENT);
	assert_int_equal(accel_generator_save(g, text, n, 5, path), 0);
	accel_generator_destroy(g);
	memcpy(next.prompt, text, n * sizeof(*text));
	next.prompt[n] = 9;
	next.count = n + 1;
	alone = next;
	answer_alone(bed, &alone, 1);
	g = generator(bed, NULL);
	assert_int_equal(accel_generator_load(g, path), 0);
	submit(g, &next);
	while (follow(g, &next))
		;
	same_answer(&alone, &next, 0);
	assert_int_equal(info_of(g).shared_tokens, (n - 1) / NET_PAGE * NET_PAGE);
	/* Another model of the same shape */
	accel_generator_destroy(g);
	start(bed, 2);
	g = generator(bed, NULL);
	assert_int_equal(accel_generator_load(g, path), -ESTALE);
	accel_generator_destroy(g);
	start(bed, 1);
	g = generator(bed, NULL);
	assert_int_equal(accel_generator_load(g, path), 0);
	/* Another token, and none */
	f = fopen(tokens, "r+");
	assert_non_null(f);
	fseek(f, -1 - (long)(n / NET_PAGE * NET_PAGE - 3) * 4, SEEK_END);
	fputc(text[2] ^ 1, f);
	fclose(f);
	assert_int_equal(accel_generator_load(g, path), -EBADMSG);
	assert_int_equal(truncate(tokens, 200), 0);
	assert_int_equal(accel_generator_load(g, path), -EBADMSG);
	assert_int_equal(truncate(tokens, 0), 0);
	assert_int_equal(accel_generator_load(g, path), -EBADMSG);
	unlink(tokens);
	assert_int_equal(accel_generator_load(g, path), -ENOENT);
	/* A pipe that nobody writes to is not waited for. */
	assert_int_equal(mkfifo(tokens, 0600), 0);
	assert_int_equal(accel_generator_load(g, path), -EBADMSG);
	unlink(tokens);
	unlink(path);
	accel_generator_destroy(g);
}

/**
 * struct nested - what a function of a request asks of its generator
 * @g: generator
 * @other: request without a function
 * @ret: of the calls
 */
struct nested {
	struct accel_generator *g;
	uint64_t other;
	int ret[5];
};

static int ask_more(void *user, const struct accel_event *event)
{
	struct accel_event other = ACCEL_EVENT_INIT;
	const int32_t text[2] = { 1, 2 };
	struct nested *n = user;
	float score;
	int i;

	n->ret[0] = accel_generator_step(n->g);
	/* What has happened is told; the second time nothing has. */
	i = event->kind == ACCEL_EVENT_END ? 4 : 1;
	n->ret[i] = accel_generator_next(n->g, n->other, &other);
	n->ret[2] = accel_generator_score(n->g, text, 2, &score);
	n->ret[3] = accel_generator_save(n->g, text, 2, 0, "/dev/null");
	return 0;
}

/* It would wait for itself; what does not run a step works. */
static void test_nested(void **state)
{
	struct accel_request q = ACCEL_REQUEST_INIT;
	struct accel_event event = ACCEL_EVENT_INIT;
	struct bed *bed = *state;
	const int32_t text[2] = { 3, 4 };
	struct nested n = { 0 };
	uint64_t id;

	start(bed, 1);
	n.g = generator(bed, NULL);
	q.tokens = text;
	q.count = 2;
	q.max_tokens = 1;
	q.event = ask_more;
	q.user = &n;
	assert_int_equal(accel_generator_submit(n.g, &q, &id), 0);
	q.event = NULL;
	q.max_tokens = 3;
	/* More than one step */
	assert_int_equal(accel_generator_submit(n.g, &q, &n.other), 0);
	while (accel_generator_step(n.g) > 0)
		;
	assert_int_equal(n.ret[0], -EDEADLK);
	assert_int_equal(n.ret[2], -EDEADLK);
	assert_int_equal(n.ret[3], -EDEADLK);
	assert_int_equal(n.ret[1], 0);
	assert_int_equal(n.ret[4], -EDEADLK);
	assert_int_equal(accel_generator_next(n.g, n.other, &event), 0);
	accel_generator_destroy(n.g);
}

/* Logits are a row of @table, by the last token alone; @rows: of those that are wanted. */
static struct accel_generator *table_model(struct bed *bed, float *table, bool rows,
					   const struct accel_generator_opts *options)
{
	struct accel_value v = value_of(NULL, ACCEL_F32, 2, DIMS(NET_VOCAB, NET_VOCAB));
	struct accel_decoder_opts opts = ACCEL_DECODER_OPTS_INIT;
	struct accel_gather_desc look = ACCEL_GATHER_DESC_INIT;
	struct accel_decoder dec = { .size = sizeof(dec) };
	uint32_t x;

	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	opts.layers = 1;
	opts.kv_heads = 1;
	opts.head_dim = 16;
	opts.dtype = ACCEL_F32;
	opts.page_size = NET_PAGE;
	opts.context = NET_CONTEXT;
	MUST_GRAPH(accel_decoder_inputs(bed->graph, &opts, &dec));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, table, free, table, &x));
	x = add_node(bed, "look", &look.hdr, 2, (uint32_t[]) { x, dec.tokens });
	if (rows)
		MUST_GRAPH(accel_decoder_rows(bed->graph, &dec, x, &x));
	add_output(bed, "logits", x);
	return generator(bed, options);
}

/*
 * Records: twelve tokens, always the same, and a field of about as many, any of five each. What
 * follows the last few tokens is mostly uncertain, what follows more of them rarely.
 */
static void test_records(void **state)
{
	float *table = calloc((size_t)NET_VOCAB * NET_VOCAB, sizeof(*table));
	struct accel_sampler_opts sampler = ACCEL_SAMPLER_OPTS_INIT;
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_request q = ACCEL_REQUEST_INIT;
	struct accel_event event = ACCEL_EVENT_INIT;
	struct accel_generator_info info;
	const int32_t first = 0;
	struct accel_generator *g;
	uint32_t x, y;
	uint64_t id;

	assert_non_null(table);
	for (x = 0; x < NET_VOCAB; x++)
		for (y = 0; y < NET_VOCAB; y++)
			if (x < 11 ? y != x + 1 : y && (y < 12 || y >= 17))
				table[x * NET_VOCAB + y] = -100;
			else if (!y)
				table[x * NET_VOCAB] = -1;
	opts.lookup = 4;
	g = table_model(*state, table, true, &opts);
	q.tokens = &first;
	q.count = 1;
	q.max_tokens = 250;
	sampler.temperature = 1;
	sampler.seed = 2;
	q.sampler = &sampler;
	assert_int_equal(accel_generator_submit(g, &q, &id), 0);
	do
		assert_int_equal(accel_generator_next(g, id, &event), 0);
	while (event.kind != ACCEL_EVENT_END);
	info = info_of(g);
	print_message("%llu steps, %llu of %llu right\n", (unsigned long long)info.steps,
		      (unsigned long long)info.accepted, (unsigned long long)info.guessed);
	assert_int_equal(info.new_tokens, 250);
	/* 207 if all guesses by look-up are judged together */
	assert_true(info.steps < 190);
	accel_generator_destroy(g);
}

/* Logits that are no numbers, or too few: the request ends with an error. */
static void test_bad_logits(void **state)
{
	static const struct {
		float odd;
		bool rows;
		int error;
	} wrong[] = { { INFINITY, true, -EDOM }, { NAN, true, -EDOM }, { 1, false, -EINVAL } };
	struct accel_request q = ACCEL_REQUEST_INIT;
	struct bed *bed = *state;
	const int32_t text[3] = { 3, 4, 5 };
	struct accel_generator *g;
	float score[2];
	uint64_t id;
	size_t i;

	q.tokens = text;
	q.count = 2;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct accel_event event = ACCEL_EVENT_INIT;
		float *table = noise_floats(1, NET_VOCAB * NET_VOCAB);

		table[4 * NET_VOCAB + 9] = wrong[i].odd;
		g = table_model(bed, table, wrong[i].rows, NULL);
		assert_int_equal(accel_generator_submit(g, &q, &id), 0);
		assert_int_equal(accel_generator_next(g, id, &event), 0);
		assert_int_equal(event.kind, ACCEL_EVENT_END);
		assert_int_equal(event.end, ACCEL_END_ERROR);
		assert_int_equal(event.error, wrong[i].error);
		assert_int_equal(accel_generator_score(g, text, 3, score),
				 wrong[i].rows ? wrong[i].error : 0);
		accel_generator_destroy(g);
	}
}

/* Look-up expects a token that never comes, where the memory for tokens ends: none is read. */
static void test_bad_logits_expected(void **state)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_request q = ACCEL_REQUEST_INIT;
	struct accel_event event = ACCEL_EVENT_INIT;
	float *table = noise_floats(1, NET_VOCAB * NET_VOCAB);
	int32_t text[63] = { 3, 4, 9 };
	struct accel_generator *g;
	uint64_t id;
	int32_t i;

	table[3 * NET_VOCAB + 4] = 9;
	table[4 * NET_VOCAB + 9] = INFINITY;
	for (i = 3; i < 62; i++)
		text[i] = 10 + i / 2;
	text[62] = 3;
	opts.lookup = 4;
	g = table_model(*state, table, true, &opts);
	q.tokens = text;
	q.count = 63;
	assert_int_equal(accel_generator_submit(g, &q, &id), 0);
	assert_int_equal(accel_generator_next(g, id, &event), 0);
	assert_int_equal(event.kind, ACCEL_EVENT_TOKEN);
	assert_int_equal(event.token, 4);
	assert_int_equal(accel_generator_next(g, id, &event), 0);
	assert_int_equal(event.kind, ACCEL_EVENT_END);
	assert_int_equal(event.error, -EDOM);
	accel_generator_destroy(g);
}

static void test_mistakes(void **state)
{
	struct accel_compile_opts compile = ACCEL_COMPILE_OPTS_INIT;
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_request q = ACCEL_REQUEST_INIT;
	struct accel_event event = ACCEL_EVENT_INIT;
	int32_t tokens[NET_CONTEXT] = { 0 };
	struct bed *bed = *state;
	struct accel_generator *g;
	uint64_t id;

	start(bed, 1);
	opts.pages = 4;
	opts.compile = &compile;
	compile.size = offsetof(struct accel_compile_opts, progress) - 1;
	assert_int_equal(accel_generator_create(bed->ctx, bed->graph, &opts, &g), -EINVAL);
	compile.size = 0;
	assert_int_equal(accel_generator_create(bed->ctx, bed->graph, &opts, &g), -EINVAL);
	compile.size = sizeof(compile) + 1;
	assert_int_equal(accel_generator_create(bed->ctx, bed->graph, &opts, &g), -E2BIG);
	opts.compile = NULL;
	g = generator(bed, &opts);
	q.tokens = tokens;
	assert_int_equal(accel_generator_submit(g, &q, &id), -EINVAL);
	q.count = 16;
	assert_int_equal(accel_generator_submit(g, &q, &id), -ENOSPC);
	q.count = 15;
	tokens[3] = NET_VOCAB;
	assert_int_equal(accel_generator_submit(g, &q, &id), -EINVAL);
	tokens[3] = -1;
	assert_int_equal(accel_generator_submit(g, &q, &id), -EINVAL);
	tokens[3] = 0;
	q.text_count = 1;
	assert_int_equal(accel_generator_submit(g, &q, &id), -EINVAL);
	q.text_count = 0;
	/* All pages are enough for one token more. */
	assert_int_equal(accel_generator_submit(g, &q, &id), 0);
	assert_int_equal(accel_generator_next(g, id, &event), 0);
	assert_int_equal(event.kind, ACCEL_EVENT_TOKEN);
	assert_int_equal(accel_generator_next(g, id, &event), 0);
	assert_int_equal(event.kind, ACCEL_EVENT_END);
	assert_int_equal(event.end, ACCEL_END_LENGTH);
	assert_int_equal(accel_generator_next(g, id + 1, &event), -ENOENT);
	assert_int_equal(accel_generator_cancel(g, id + 1), -ENOENT);
	assert_int_equal(accel_generator_score(g, tokens, 1, NULL), -EINVAL);
	assert_int_equal(accel_generator_embed(g, tokens, 3, 9, (float *)tokens), -EINVAL);
	accel_generator_destroy(g);
	accel_generator_destroy(NULL);
	assert_int_equal(accel_generator_step(NULL), -EINVAL);
	assert_int_equal(accel_generator_next(NULL, 1, &event), -EINVAL);
	/* No decoder */
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	add_output(bed, "y", add_input(bed, "x", ACCEL_F32, 1, DIMS(3)));
	assert_int_equal(accel_generator_create(bed->ctx, bed->graph, NULL, &g), -EINVAL);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shared),
		TEST(test_text),
		TEST(test_spaces),
		TEST(test_kept_guesses),
		TEST(test_whole),
		TEST(test_lookup),
		TEST(test_draft),
		TEST(test_mixed),
		TEST(test_guesses_yield),
		TEST(test_same_request),
		TEST(test_session),
		TEST(test_nested),
		TEST(test_records),
		TEST(test_bad_logits),
		TEST(test_bad_logits_expected),
		TEST(test_mistakes),
		TEST(test_together),
	};

	return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
