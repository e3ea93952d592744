// SPDX-License-Identifier: MIT
/*
 * Language models, this library and llama.cpp in turns: prompts, single tokens and eight answers at
 * once in one process; from the file to the first token, and memory, in a new process each time.
 */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

/* Tokens before those that are timed, so that these are around place 256; and of an answer */
#define BEFORE		240u
#define ANSWER		34u
/* Most tokens that are guessed at once; of a text that repeats these; and of the answer to it */
#define GUESSES		4u
#define REPEATED	60u
#define REPEATING	128u
/* Tokens of the prompt whose first token is waited for, and of that whose memory is looked at */
#define SHORT		8u
#define LONG		512u
/* Tokens that are scored, and how far logarithms may be apart, of the largest */
#define SCORED		16u
#define APART		0.05
/* Nanoseconds after which another library's threads have given up to wait for more work */
#define SETTLE		150000000
/* Times that memory is looked at, the most of which counts */
#define LOOKS		3u
/* Time of a batch of reads */
#define READ_NS		10000000

/**
 * enum text_kind - what is measured
 * @PROMPT: tokens of a prompt
 * @ANSWERS: tokens behind it
 * @LOAD: from the file to the first token, weights in the forms that an earlier start has left
 * @FIRST: the same without these
 * @MEMORY: the most that was resident
 * @GUESSED: tokens behind a text that repeats, guessed from it
 */
enum text_kind {
	PROMPT, ANSWERS, LOAD, FIRST, MEMORY, GUESSED
};

static const struct text_case {
	const char *name;
	enum text_kind kind;
	uint32_t count, sequences;
} cases[] = {
	{ "load", LOAD, SHORT, 1 },
	{ "load-first", FIRST, SHORT, 1 },
	{ "memory", MEMORY, LONG, 1 },
	{ "prefill-128", PROMPT, 128, 1 },
	{ "prefill-512", PROMPT, 512, 1 },
	{ "decode@256", ANSWERS, BEFORE, 1 },
	{ "decode-8@256", ANSWERS, BEFORE, TEXT_SEQUENCES },
	{ "lookup@256", GUESSED, BEFORE, 1 },
};

#define CASES	(sizeof(cases) / sizeof(cases[0]))

/**
 * struct text - a model that is measured
 * @opts: options
 * @name: of the model
 * @path: its file
 * @folder: ours, with weights of earlier starts
 * @threads: that work
 * @info: what it is
 * @rng: state of random numbers
 * @now: case
 * @theirs: whose turn it is
 */
struct text {
	const struct bench_opts *opts;
	char name[32];
	char path[PATH_MAX];
	const char *folder;
	uint32_t threads;
	struct text_info info;
	uint64_t rng;
	const struct text_case *now;
	bool theirs;
};

/* What a process tells */
struct text_told {
	double us;
	double peak;
};

static uint32_t context_of(const struct text *t)
{
	return t->info.context < TEXT_CONTEXT ? t->info.context : TEXT_CONTEXT;
}

static void name_of(const struct text *t, const struct text_case *c, char *name, size_t size)
{
	snprintf(name, size, "text/%s/%s", t->name, c->name);
}

/* Is it asked for, and does the model's context have room for it? */
static bool wanted(const struct text *t, const struct text_case *c)
{
	const struct perf perf = { .opts = t->opts };
	char name[64];

	name_of(t, c, name, sizeof(name));
	return perf_wanted(&perf, name, t->info.dtype) &&
	       (!t->info.context ||
		c->count + (c->kind == GUESSED ? REPEATING : ANSWER) <= context_of(t));
}

static void fill_tokens(struct text *t, int32_t *tokens, uint32_t count)
{
	uint32_t i, x;

	data_fill(&t->rng, ACCEL_S32, tokens, count);
	for (i = 0; i < count; i++) {
		memcpy(&x, &tokens[i], sizeof(x));
		tokens[i] = (int32_t)(x % t->info.vocabulary);
	}
}

/* --- rows ------------------------------------------------------------------------------- */

static double time_said(const struct text *t, double *us, uint32_t count, double *spread)
{
	const double median = stats_median(us, count, spread);

	return t->opts->best ? us[0] : median;
}

/* Of a token: multiply-adds that it needs, and bytes that are read for it */
static double work_of(const struct text *t, const struct text_case *c)
{
	const double n = c->kind == PROMPT ? c->count : 1;

	return 2 * (t->info.elements - t->info.last + t->info.last / n);
}

static double bytes_of(const struct text *t, const struct text_case *c)
{
	return t->info.read_bytes / c->sequences + 256 * t->info.kv_bytes;
}

/**
 * struct result - of a case
 * @us: times of both, one behind the other
 * @count: of each
 * @peak: most memory of both, 0: not looked at
 * @read: time of reading a byte, 0: not measured
 * @apart: of what both say, negative: not compared
 * @other: who is next to it, NULL: llama.cpp, if it is here
 * @accepted: share of guesses that were right, 0: there were none
 */
struct result {
	double *us;
	uint32_t count;
	double peak[2];
	double read;
	double apart;
	const char *other;
	double accepted;
};

static void print_rows(const struct text *t, const struct text_case *c, struct result *r)
{
	const char *const impls[] = { "ours", r->other ? r->other : "llama.cpp" };
	const uint32_t count = r->other || t->info.peer ? 2 : 1;
	double us[2] = { 0 }, spread[2] = { 0 };
	uint32_t i;

	for (i = 0; i < count; i++)
		us[i] = time_said(t, r->us + (size_t)i * r->count, r->count, &spread[i]);
	for (i = 0; i < count; i++) {
		struct perf_row row = {
			.threads = t->threads, .us = us[i], .spread = spread[i], .error = -1,
			.extra = { -1, -1, -1, -1 }, .ratio = i ? 0 : us[1] / us[0],
			.peak = r->peak[i], .over = r->peak[i] - t->info.file_bytes,
			.accepted = i ? 0 : r->accepted,
		};

		name_of(t, c, row.name, sizeof(row.name));
		snprintf(row.dtype, sizeof(row.dtype), "%s", t->info.dtype);
		snprintf(row.impl, sizeof(row.impl), "%s", impls[i]);
		if (c->kind <= ANSWERS || c->kind == GUESSED) {
			row.gflops = work_of(t, c) / us[i] / 1e3;
			row.tokens = 1e6 / us[i];
			row.intensity = c->kind == ANSWERS ? work_of(t, c) / bytes_of(t, c) : 0;
			row.error = i ? -1 : r->apart;
		}
		if (r->read > 0)
			row.limit = work_of(t, c) / (r->read * bytes_of(t, c)) / 1e3;
		report_row(t->opts, &row);
	}
}

/* --- processes of their own ------------------------------------------------------------------ */

static int describe(void *arg, int fd)
{
	struct text *t = arg;
	struct text_info info = { 0 };
	int ret = talk_describe(t->path, &info);

	info.peer = !ret && t->opts->peers && llama_here();
	return ret ? ret : bench_tell(fd, &info, sizeof(info));
}

/* To the first token; or, for memory, more of them */
static int start_once(void *arg, int fd)
{
	struct text *t = arg;
	const bool memory = t->now->kind == MEMORY;
	struct talker talker = {
		.perf = {
			.opts = t->opts,
			.weights_dir = t->now->kind == FIRST ? NULL : t->folder
		},
		.theirs = t->theirs
	};
	const uint64_t start = stats_now();
	struct text_told told;
	int32_t tokens[LONG];
	struct said said;
	int ret;

	fill_tokens(t, tokens, t->now->count);
	team_pin_self();
	ret = talk_open(&talker, t->path, t->threads, 1, context_of(t));
	if (!ret)
		ret = talk_answer(&talker, tokens, t->now->count, 1, memory ? ANSWER : 1, &said);
	told.us = (double)(stats_now() - start) / 1e3;
	told.peak = (double)bench_peak();
	/* What a process leaves behind goes with it. */
	return ret ? ret : bench_tell(fd, &told, sizeof(told));
}

static int starts(struct text *t, const struct text_case *c)
{
	const uint32_t count = c->kind == MEMORY ? LOOKS : t->opts->batches;
	double *us = calloc(2 * (size_t)count, sizeof(*us));
	struct result r = { .us = us, .count = count, .apart = -1 };
	struct text_told told = { 0 };
	uint32_t i, k;
	int ret;

	if (!us)
		return bench_fail(-ENOMEM, "out of memory");
	t->now = c;
	/* Of a start before these there are weights, and the file is in the page cache. */
	t->theirs = false;
	ret = bench_apart(start_once, t, &told, sizeof(told));
	for (i = 0; i < count && !ret; i++)
		for (k = 0; k < 1u + t->info.peer && !ret; k++) {
			t->theirs = k;
			ret = bench_apart(start_once, t, &told, sizeof(told));
			us[k * count + i] = told.us;
			r.peak[k] = fmax(r.peak[k], told.peak);
		}
	if (!ret)
		print_rows(t, c, &r);
	free(us);
	return ret;
}

/* --- in turns ---------------------------------------------------------------------------- */

/**
 * struct race - both in one process
 * @t: model
 * @who: ours and llama.cpp
 * @tokens: prompts
 * @data: what is read to find out how fast that goes
 * @bytes: of it
 * @apart: of what both say, negative: not compared
 */
struct race {
	struct text *t;
	struct talker who[2];
	int32_t tokens[TEXT_SEQUENCES * LONG];
	void *data;
	size_t bytes;
	double apart;
};

static void settle(const struct race *r)
{
	const struct timespec ts = { .tv_nsec = SETTLE };

	if (r->t->info.peer)
		nanosleep(&ts, NULL);
}

/* Do both say the same of a text? */
static int compare(struct race *r)
{
	float ours[SCORED], theirs[SCORED];
	struct data_errors e = { 0 };
	uint32_t i;
	int ret;

	r->apart = -1;
	if (!r->t->info.peer)
		return 0;
	fill_tokens(r->t, r->tokens, SCORED + 1);
	ret = talk_score(&r->who[0], r->tokens, SCORED + 1, ours);
	if (!ret)
		ret = talk_score(&r->who[1], r->tokens, SCORED + 1, theirs);
	for (i = 0; i < SCORED && !ret; i++)
		data_compare(&e, (double)ours[i], (double)theirs[i]);
	r->apart = ret ? -1 : data_error(&e);
	if (!ret && !(r->apart < APART))
		ret = bench_fail(0, "%s: what both say differs by %g of the largest logarithm",
				 r->t->path, r->apart);
	return ret;
}

static int turn(struct race *r, const struct text_case *c, uint32_t k, double *us)
{
	const bool prompt = c->kind == PROMPT;
	struct said said = { 0 };
	int ret;

	settle(r);
	ret = talk_answer(&r->who[k], r->tokens, c->count, c->sequences, prompt ? 1 : ANSWER,
			  &said);
	*us = prompt ? said.prompt_us / c->count : said.token_us;
	return ret;
}

/* Time of reading a byte, as many of them as a token of one answer needs */
static double read_once(struct race *r)
{
	uint64_t loops, start, ns;

	for (loops = 1;; loops *= 2) {
		start = stats_now();
		limit_read(PERF_READ, r->data, r->bytes, r->t->threads, loops);
		ns = stats_now() - start;
		if (ns > READ_NS)
			return (double)ns / 1e3 / (double)loops / (double)r->bytes;
	}
}

static int race_case(struct race *r, const struct text_case *c)
{
	const uint32_t batches = r->t->opts->batches;
	double *us = calloc(3 * batches, sizeof(*us)), none;
	struct result result = { .us = us, .count = batches, .apart = r->apart };
	uint32_t i, k;
	int ret = 0;

	if (!us)
		return bench_fail(-ENOMEM, "out of memory");
	fill_tokens(r->t, r->tokens, c->count * c->sequences);
	/* A turn that is not timed: prompts that are gone on with are there then. */
	for (k = 0; k < 1u + r->t->info.peer && !ret; k++)
		ret = turn(r, c, k, &none);
	for (i = 0; i < batches && !ret; i++) {
		if (c->kind == PROMPT)
			fill_tokens(r->t, r->tokens, c->count);
		for (k = 0; k < 1u + r->t->info.peer && !ret; k++)
			ret = turn(r, c, k, &us[k * batches + i]);
		if (c->kind == ANSWERS && !ret)
			us[2 * batches + i] = read_once(r);
	}
	if (!ret && c->kind == ANSWERS)
		result.read = time_said(r->t, us + 2 * (size_t)batches, batches, NULL);
	if (!ret)
		print_rows(r->t, c, &result);
	free(us);
	return ret;
}

static int race(void *arg, int fd)
{
	struct text *t = arg;
	struct race *r = calloc(1, sizeof(*r));
	uint32_t i, k;
	int ret = 0;

	(void)fd;
	if (!r)
		return bench_fail(-ENOMEM, "out of memory");
	r->t = t;
	r->bytes = (size_t)(t->info.read_bytes / 4096 + 1) * 4096;
	r->data = aligned_alloc(4096, r->bytes);
	if (!r->data) {
		free(r);
		return bench_fail(-ENOMEM, "out of memory");
	}
	memset(r->data, 0x3c, r->bytes);
	team_pin_self();
	for (k = 0; k < 1u + t->info.peer && !ret; k++) {
		r->who[k].perf.opts = t->opts;
		r->who[k].perf.weights_dir = t->folder;
		r->who[k].theirs = k;
		ret = talk_open(&r->who[k], t->path, t->threads, TEXT_SEQUENCES, context_of(t));
	}
	if (!ret)
		ret = compare(r);
	for (i = 0; i < CASES && !ret; i++)
		if (cases[i].kind <= ANSWERS && wanted(t, &cases[i]))
			ret = race_case(r, &cases[i]);
	for (k = 0; k < 2; k++)
		talk_close(&r->who[k]);
	free(r->data);
	free(r);
	return ret;
}

/* --- guesses ----------------------------------------------------------------------------- */

/* Tokens behind a text that repeats, with and without guesses in turns */
static int guess(void *arg, int fd)
{
	struct text *t = arg;
	struct talker who[2] = { { .lookup = GUESSES }, { .lookup = 0 } };
	double *us = calloc(2 * (size_t)t->opts->batches, sizeof(*us));
	struct result r = {
		.us = us, .count = t->opts->batches, .apart = -1, .other = "without guesses"
	};
	int32_t tokens[BEFORE];
	struct said said;
	uint32_t i, k;
	int ret = us ? 0 : bench_fail(-ENOMEM, "out of memory");

	(void)fd;
	team_pin_self();
	for (k = 0; k < 2 && !ret; k++) {
		who[k].perf.opts = t->opts;
		who[k].perf.weights_dir = t->folder;
		ret = talk_open(&who[k], t->path, t->threads, 1, context_of(t));
	}
	fill_tokens(t, tokens, REPEATED);
	for (i = REPEATED; i < BEFORE; i++)
		tokens[i] = tokens[i - REPEATED];
	/* First a turn that is not timed: afterwards all sizes of steps are planned. */
	for (i = 0; i <= t->opts->batches && !ret; i++)
		for (k = 0; k < 2 && !ret; k++) {
			ret = talk_answer(&who[k], tokens, BEFORE, 1, REPEATING, &said);
			if (i)
				us[k * t->opts->batches + i - 1] = said.token_us;
		}
	if (!ret) {
		r.accepted = talk_accepted(&who[0]);
		print_rows(t, t->now, &r);
	}
	for (k = 0; k < 2; k++)
		talk_close(&who[k]);
	free(us);
	return ret;
}

/* --- models ------------------------------------------------------------------------------- */

static void say_how(void)
{
	static bool said;

	if (!said)
		fputs("accelbench: llama.cpp is not here, this library alone is measured.\n"
		      "\"npm pack @node-llama-cpp/linux-x64\" and tar have it:\n"
		      "ACCELBENCH_LLAMA=package/bins/linux-x64/libllama.v....so\n", stderr);
	said = true;
}

static int one(struct text *t)
{
	bool speeds = false;
	uint32_t i;
	int ret = bench_apart(describe, t, &t->info, sizeof(t->info));

	if (!ret && t->opts->peers && !t->info.peer)
		say_how();
	for (i = 0; i < CASES && !ret; i++) {
		if (!wanted(t, &cases[i]))
			continue;
		if (cases[i].kind <= ANSWERS)
			speeds = true;
		else if (cases[i].kind != GUESSED)
			ret = starts(t, &cases[i]);
	}
	if (!ret && speeds)
		ret = bench_apart(race, t, NULL, 0);
	for (i = 0; i < CASES && !ret; i++)
		if (cases[i].kind == GUESSED && wanted(t, &cases[i])) {
			t->now = &cases[i];
			ret = bench_apart(guess, t, NULL, 0);
		}
	return ret;
}

/* On one thread and two */
static int each(struct text *t)
{
	const uint32_t first = t->opts->threads ? t->opts->threads : 1;
	const uint32_t last = t->opts->threads ? t->opts->threads : 2;
	int ret = 0;

	report_head(t->opts);
	for (t->threads = first; t->threads <= last && !ret; t->threads++)
		ret = one(t);
	return ret;
}

static int made(struct text *t, uint32_t index)
{
	bool any = false;
	uint32_t i;
	int ret;

	snprintf(t->name, sizeof(t->name), "%s", made_name(index));
	t->info = (struct text_info) { 0 };
	snprintf(t->info.dtype, sizeof(t->info.dtype), "%s", strrchr(t->name, '-') + 1);
	for (i = 0; i < CASES; i++)
		any |= wanted(t, &cases[i]);
	if (!any)
		return 0;
	if (snprintf(t->path, sizeof(t->path), "%s/%s.gguf", t->folder, t->name) >= PATH_MAX)
		return bench_fail(-ENAMETOOLONG, "%s", t->folder);
	ret = made_write(index, t->opts->seed ? t->opts->seed : stats_now(), t->path);
	if (!ret)
		ret = each(t);
	unlink(t->path);
	return ret;
}

static int given(struct text *t)
{
	const char *slash = strrchr(t->opts->model, '/');

	snprintf(t->name, sizeof(t->name), "%.31s", slash ? slash + 1 : t->opts->model);
	if (snprintf(t->path, sizeof(t->path), "%s", t->opts->model) >= PATH_MAX)
		return bench_fail(-ENAMETOOLONG, "%s", t->opts->model);
	return each(t);
}

static int forget(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int bench_text(const struct bench_opts *opts)
{
	const char *tmp = getenv("TMPDIR");
	struct text t = { .opts = opts, .rng = opts->seed ? opts->seed : stats_now() | 1 };
	char folder[PATH_MAX];
	uint32_t i;
	int ret = 0;

	if (snprintf(folder, sizeof(folder), "%s/accelbench.XXXXXX",
		     tmp && *tmp ? tmp : "/tmp") >= PATH_MAX || !mkdtemp(folder))
		return bench_fail(-errno, "no folder in %s", tmp && *tmp ? tmp : "/tmp");
	t.folder = folder;
	if (opts->model)
		ret = given(&t);
	for (i = 0; !opts->model && made_name(i) && !ret; i++)
		ret = made(&t, i);
	nftw(folder, forget, 16, FTW_DEPTH | FTW_PHYS);
	return ret;
}
