// SPDX-License-Identifier: MIT
/*
 * Speech: sound from files that are right and wrong, features, encoder and tokens beside those of
 * another implementation (examples/speech), which tokens may come next, beams and prompts beside
 * lists of tokens that the model as a whole follows, temperatures, windows one after the other,
 * and stretches without speech that are not heard. They are in one file, for they share two models
 * and how segments are heard.
 */
#include <accel/model.h>
#include <accel/speech.h>
#include <fcntl.h>
#include <limits.h>
#include <sndfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "graphtest.h"
#include "libaccel/tests/data.h"
#include "libaccel/tests/followers.h"
#include "libaccel/tests/guest.h"
#include "libaccel/models/speech/speech.h"
#include "libaccel/tests/oracle/oracle.h"

#define WINDOW	80000
#define TOLD	1024
/* Tokens that the model of noise writes, and sees of the text before */
#define NOISE_MOST	20
#define NOISE_PROMPT	19
#define NOISE_ALL	40

static char folder[40];

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* --- sound ---------------------------------------------------------------------------------- */

struct wav {
	uint32_t rate;
	uint16_t channels;
	uint16_t format;
	uint16_t bits;
	uint32_t riff;
	uint32_t said;
	uint32_t bytes;
	const void *data;
};

#define PCM(n)	{ 16000, 1, 1, 16, 36 + (n), n, n, NULL }

static void write_wav(const char *name, const struct wav *w)
{
	const uint16_t block = (uint16_t)(w->channels * w->bits / 8);
	const uint32_t size = 16, second = w->rate * block;
	FILE *f = fopen(path_of(name), "wb");
	uint32_t i;

	assert_non_null(f);
	fwrite("RIFF", 1, 4, f);
	fwrite(&w->riff, 1, 4, f);
	fwrite("WAVEfmt ", 1, 8, f);
	fwrite(&size, 1, 4, f);
	fwrite(&w->format, 1, 2, f);
	fwrite(&w->channels, 1, 2, f);
	fwrite(&w->rate, 1, 4, f);
	fwrite(&second, 1, 4, f);
	fwrite(&block, 1, 2, f);
	fwrite(&w->bits, 1, 2, f);
	fwrite("data", 1, 4, f);
	fwrite(&w->said, 1, 4, f);
	for (i = 0; i < w->bytes; i++)
		fputc(w->data ? ((const uint8_t *)w->data)[i] : 0, f);
	assert_int_equal(fclose(f), 0);
}

/* All samples of a file, @max of them at most; a status in @ret */
static uint32_t read_all(const char *path, float *samples, uint32_t max, int *ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_audio *a = NULL;
	uint32_t n = 0, count = 1;

	*ret = accel_audio_open(path, &e, &a);
	if (*ret) {
		assert_int_equal(e.code, *ret);
		assert_true(e.text[0]);
		assert_null(a);
		return 0;
	}
	while (count && !*ret) {
		assert_true(n < max);
		*ret = accel_audio_read(a, samples + n, max - n < 1000 ? max - n : 1000, &count);
		n += *ret ? 0 : count;
	}
	accel_audio_close(a);
	return n;
}

/* A file that is packed, and cut: what could be unpacked is there, and then it ends. */
static void test_cut(void **state)
{
	SF_INFO info = {
		.samplerate = 16000, .channels = 1, .format = SF_FORMAT_FLAC | SF_FORMAT_PCM_16
	};
	static float samples[40000];
	SNDFILE *f = sf_open(path_of("cut.flac"), SFM_WRITE, &info);
	uint32_t i, n;
	struct stat s;
	int ret;

	(void)state;
	assert_non_null(f);
	for (i = 0; i < 30000; i++)
		samples[i] = sinf((float)i / 5) / 2 + sinf((float)(i * i % 1000)) / 4;
	assert_int_equal(sf_writef_float(f, samples, 30000), 30000);
	assert_int_equal(sf_close(f), 0);
	assert_int_equal(stat(path_of("cut.flac"), &s), 0);
	assert_int_equal(truncate(path_of("cut.flac"), s.st_size / 2), 0);
	n = read_all(path_of("cut.flac"), samples, 40000, &ret);
	assert_int_equal(ret, 0);
	assert_true(n > 8000 && n < 30000);
}

static void test_rates(void **state)
{
	static const uint32_t rates[] = { 8000, 16000, 44100, 48000 };
	static float samples[40000];
	struct accel_audio_info info = { .size = sizeof(info) };
	struct accel_audio *a;
	uint32_t i, k, n;
	int ret;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct wav w = { rates[i], 2, 1, 16, 36, rates[i] * 4, rates[i] * 4, NULL };
		int16_t *data = calloc(rates[i], 4);

		/* 440 Hz to the left, nothing to the right: half of it is the mean */
		assert_non_null(data);
		for (k = 0; k < rates[i]; k++)
			data[2 * k] = (int16_t)lround(16384 * sin(6.283185307179586 * 440 * k /
								  rates[i]));
		w.data = data;
		write_wav("rate.wav", &w);
		free(data);
		assert_int_equal(accel_audio_open(path_of("rate.wav"), NULL, &a), 0);
		assert_int_equal(accel_audio_get_info(a, &info), 0);
		assert_int_equal(info.rate, rates[i]);
		assert_int_equal(info.channels, 2);
		assert_int_equal(info.frames, rates[i]);
		accel_audio_close(a);
		n = read_all(path_of("rate.wav"), samples, 40000, &ret);
		assert_int_equal(ret, 0);
		assert_in_range(n, 15999, 16001);
		for (k = 1000; k < 15000; k++)
			assert_true(fabs((double)samples[k] -
					 0.25 * sin(6.283185307179586 * 440 * k / 16000)) < 0.001);
	}
}

static void test_bad_files(void **state)
{
	static const float nan_data[] = { 0, 0.5f, NAN, 0 }, loud[] = { 0, 1e30f };
	static float samples[70000];
	const struct wav good = PCM(2000), none = { 16000, 0, 1, 16, 36, 0, 0, NULL };
	const struct wav huge = { 16000, 1, 1, 16, 0xffffffff, 0xffffffff, 2000, NULL };
	const struct wav slow = { 10, 1, 1, 16, 2036, 2000, 2000, NULL };
	const struct wav many = { 16000, 65535, 1, 16, 2036, 2000, 2000, NULL };
	const struct wav odd = { 16000, 1, 1, 77, 2036, 2000, 2000, NULL };
	const struct wav cut = { 16000, 1, 1, 16, 100036, 100000, 2000, NULL };
	const struct wav nans = { 16000, 1, 3, 32, 52, 16, 16, nan_data };
	const struct wav shout = { 16000, 1, 3, 32, 44, 8, 8, loud };
	char cmd[256];
	int ret, n;

	(void)state;
	write_wav("good.wav", &good);
	assert_int_equal(read_all(path_of("good.wav"), samples, 70000, &ret), 1000);
	assert_int_equal(ret, 0);
	/* Cut within the header at each byte: it is refused, or has no samples. */
	for (n = 0; n < 44; n++) {
		snprintf(cmd, sizeof(cmd), "head -c %d %s/good.wav >%s/cut.wav", n, folder, folder);
		assert_int_equal(system(cmd), 0);
		assert_int_equal(read_all(path_of("cut.wav"), samples, 70000, &ret), 0);
		assert_true(ret == 0 || ret == -EBADMSG);
	}
	write_wav("cut.wav", &cut);
	assert_int_equal(read_all(path_of("cut.wav"), samples, 70000, &ret), 1000);
	assert_int_equal(ret, 0);
	write_wav("huge.wav", &huge);
	assert_int_equal(read_all(path_of("huge.wav"), samples, 70000, &ret), 1000);
	assert_int_equal(ret, 0);
	write_wav("bad.wav", &none);
	read_all(path_of("bad.wav"), samples, 70000, &ret);
	assert_int_equal(ret, -EBADMSG);
	write_wav("bad.wav", &many);
	read_all(path_of("bad.wav"), samples, 70000, &ret);
	assert_int_equal(ret, -EBADMSG);
	write_wav("bad.wav", &odd);
	read_all(path_of("bad.wav"), samples, 70000, &ret);
	assert_int_equal(ret, -EBADMSG);
	write_wav("bad.wav", &slow);
	read_all(path_of("bad.wav"), samples, 70000, &ret);
	assert_int_equal(ret, -EOPNOTSUPP);
	write_wav("bad.wav", &nans);
	read_all(path_of("bad.wav"), samples, 70000, &ret);
	assert_int_equal(ret, -EBADMSG);
	write_wav("bad.wav", &shout);
	read_all(path_of("bad.wav"), samples, 70000, &ret);
	assert_int_equal(ret, -EBADMSG);
	read_all(path_of("none.wav"), samples, 70000, &ret);
	assert_int_equal(ret, -ENOENT);
	read_all(SPEECH "/golden.json", samples, 70000, &ret);
	assert_int_equal(ret, -EBADMSG);
	read_all(folder, samples, 70000, &ret);
	assert_true(ret < 0);
}

/* --- which tokens may come next ------------------------------------------------------------- */

static uint32_t next_word(const struct words *w, const float *logits, const uint32_t *said,
			  uint32_t count)
{
	float out[16];
	uint32_t i, best = 0;

	words_filter(w, logits, said, count, out);
	for (i = 0; i < w->count; i++) {
		assert_true(out[i] == logits[i] || out[i] == -INFINITY);
		best = out[i] > out[best] ? i : best;
	}
	return best;
}

/* Eight texts, the end, three that never come, and four times from 12 on */
static void test_words(void **state)
{
	uint8_t kinds[16] = { 0 }, first_never[16] = { [3] = 1 };
	struct words w = {
		.kinds = kinds, .first_never = first_never, .count = 16, .end = 8,
		.time = ACCEL_TOKEN_NONE, .first_times = 1
	};
	float logits[16] = { [3] = 9, [9] = 20, [4] = 8, [8] = 7, [2] = 6 };
	float out[16];
	uint32_t i;

	(void)state;
	kinds[8] = WORD_END;
	for (i = 9; i < 12; i++)
		kinds[i] = WORD_NEVER;
	for (i = 12; i < 16; i++)
		kinds[i] = WORD_TIME;
	/* Without times: the likeliest that may come, at first and then */
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 0 }, 0), 4);
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 4 }, 1), 3);
	/* With them: one of the first two begins, then a text, though a time is likelier. */
	w.time = 12;
	logits[14] = 30;
	logits[13] = 1;
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 0 }, 0), 13);
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 13 }, 1), 3);
	/* Behind text a later time ends it; the same or an earlier one does not. */
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 13, 3 }, 2), 14);
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 14, 3 }, 2), 3);
	/* Behind an end comes the beginning of the next, or the end of all: no text. */
	logits[14] = 1;
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 12, 3, 14 }, 3), 8);
	logits[14] = 8;
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 12, 3, 14 }, 3), 14);
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 12, 3, 14, 14 }, 4), 3);
	/* Times that are likelier than any text together are one of them. */
	logits[13] = 8.6f;
	logits[14] = 8.5f;
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 12, 4 }, 2), 13);
	logits[14] = 1;
	assert_int_equal(next_word(&w, logits, (uint32_t[]){ 12, 4 }, 2), 3);
	/* Where none may come, as behind a last time that is no pair, the end may. */
	for (i = 0; i < 16; i++)
		kinds[i] = i == 15 ? WORD_TIME : WORD_NEVER;
	words_filter(&w, logits, (uint32_t[]){ 15, 15 }, 2, out);
	for (i = 0; i < 16; i++)
		assert_true(i == 8 ? out[i] == 0 : out[i] == -INFINITY);
}

/* --- a model -------------------------------------------------------------------------------- */

/* What was told, as text, and the tokens */
struct told {
	char text[4096];
	uint32_t tokens[TOLD];
	uint32_t token_count;
	uint32_t count;
	uint32_t most;
	double end;
};

static int hear(void *user, const struct accel_speech_segment *g)
{
	struct told *t = user;
	size_t n = strlen(t->text);

	assert_int_equal(strlen(g->text), g->bytes);
	assert_true(g->start <= g->end && g->logprob <= 0);
	assert_true(g->start >= t->end - 0.000000001);
	t->end = g->end;
	snprintf(t->text + n, sizeof(t->text) - n, "%s%s", n ? "|" : "", g->text);
	assert_true(t->token_count + g->token_count <= TOLD);
	memcpy(t->tokens + t->token_count, g->tokens, g->token_count * sizeof(*g->tokens));
	t->token_count += g->token_count;
	return ++t->count == t->most;
}

static struct accel_speech *open_speech(struct bed *bed, const char *path,
					const struct accel_speech_opts *opts)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_speech *s = NULL;

	if (accel_speech_create(bed->ctx, path, opts, &e, &s))
		fail_msg("%s: %s", path, e.text);
	return s;
}

/* An array of golden.npz */
static void *golden(const char *name, size_t bytes)
{
	FILE *f = fopen(path_of(name), "rb");
	void *data = malloc(bytes);

	assert_non_null(f);
	assert_non_null(data);
	assert_int_equal(fseek(f, 128, SEEK_SET), 0);
	assert_int_equal(fread(data, 1, bytes, f), bytes);
	assert_int_equal(fgetc(f), EOF);
	fclose(f);
	return data;
}

static void test_features(void **state)
{
	struct accel_speech_info info = { .size = sizeof(info) };
	struct accel_speech *s = open_speech(*state, SPEECH, NULL);
	static float samples[WINDOW + 1], made[80 * 500];
	float *want = golden("features.npy", sizeof(made)), error = 0;
	uint32_t i, n;
	int ret;

	assert_int_equal(accel_speech_get_info(s, &info), 0);
	assert_int_equal(info.mels, 80);
	assert_int_equal(info.frames, 500);
	assert_int_equal(info.window, WINDOW);
	assert_int_equal(info.times, 0);
	n = read_all(SPEECH "/clip00.wav", samples, WINDOW, &ret);
	assert_int_equal(ret, 0);
	assert_int_equal(accel_speech_features(s, samples, n, made), 0);
	for (i = 0; i < 80 * 500; i++)
		error = fmaxf(error, (float)oracle_apart((double)made[i], (double)want[i]));
	print_message("features: largest error %g\n", (double)error);
	assert_true(error < 0.0001f);
	assert_int_equal(accel_speech_features(s, samples, WINDOW + 1, made), -EINVAL);
	/* Silence is a number, too. */
	assert_int_equal(accel_speech_features(s, samples, 0, made), 0);
	for (i = 0; i < 80 * 500; i++)
		assert_true(made[i] == -1.5f);
	free(want);
	accel_speech_destroy(s);
}

static void test_encoder(void **state)
{
	struct bed *bed = *state;
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	float *features = golden("features.npy", 80 * 500 * 4), error = 0, most = 0;
	float *want = golden("encoder.npy", 250 * 192 * 4);
	struct accel_program *program;
	struct accel_model *m;
	struct accel_state *st;
	const void *data = NULL;
	int64_t *ids;
	uint32_t i;

	if (accel_model_open(SPEECH, &e, &m))
		fail_msg("%s", e.text);
	assert_int_equal(accel_graph_compile(bed->ctx, accel_model_graph(m), NULL, &program), 0);
	assert_int_equal(accel_state_create(program, &st), 0);
	assert_int_equal(accel_state_set_input(st, 0, 3, DIMS(1, 80, 500), NULL, 0), 0);
	memcpy(accel_state_get_input(st, 0, NULL), features, 80 * 500 * 4);
	assert_int_equal(accel_state_set_input(st, 1, 2, DIMS(1, 1), NULL, 0), 0);
	ids = accel_state_get_input(st, 1, NULL);
	ids[0] = 1;
	assert_int_equal(accel_state_run(st), 0);
	for (i = 0; !accel_state_get_output(st, i, &v, &data); i++)
		if (!strcmp(v.name, "encoder"))
			break;
	assert_string_equal(v.name, "encoder");
	for (i = 0; i < 250 * 192; i++) {
		error = fmaxf(error, (float)oracle_apart((double)((const float *)data)[i],
							 (double)want[i]));
		most = fmaxf(most, fabsf(want[i]));
	}
	print_message("encoder: largest error %g of %g\n", (double)error, (double)most);
	assert_true(error < 0.0002f * most);
	accel_state_destroy(st);
	accel_program_unref(program);
	accel_model_close(m);
	free(features);
	free(want);
}

/* The clips, in pieces of any size; the first one's tokens are those of golden.npz. */
static void test_clips(void **state)
{
	static const struct {
		const char *file;
		uint32_t piece;
		const char *text;
	} clips[] = {
		{ SPEECH "/clip00.wav", 1, "open the kitchen door" },
		{ SPEECH "/clip02.wav", 777, "turn on the garage oven" },
		{ SPEECH "/clip10.wav", WINDOW, "call george now" },
		{ SPEECH "/clip17.wav", 16000, "play a story in the garage" },
	};
	struct accel_speech *s = open_speech(*state, SPEECH, NULL);
	int64_t *tokens = golden("tokens.npy", 9 * 8);
	static float samples[WINDOW];
	static struct told t;
	uint32_t i, k, n;
	int ret;

	for (i = 0; i < 4; i++) {
		memset(&t, 0, sizeof(t));
		n = read_all(clips[i].file, samples, WINDOW, &ret);
		assert_int_equal(ret, 0);
		for (k = 0; k < n; k += clips[i].piece)
			assert_int_equal(accel_speech_push(s, samples + k,
							   n - k < clips[i].piece ? n - k :
							   clips[i].piece, hear, &t), 0);
		assert_int_equal(t.count, 0);
		assert_int_equal(accel_speech_finish(s, hear, &t), 0);
		assert_string_equal(t.text, clips[i].text);
		assert_true(fabs(t.end - (double)n / 16000) < 0.000001);
		/* Four that all begin with, what was said, and the end */
		for (k = 0; !i && k < t.token_count; k++)
			assert_int_equal(t.tokens[k], tokens[4 + k]);
		if (!i)
			assert_int_equal(tokens[4 + t.token_count], 0);
	}
	free(tokens);
	accel_speech_destroy(s);
}

/* Four clips in one recording, each in a window of its own */
static void test_long(void **state)
{
	static const char *const clips[] = { "clip00.wav", "clip02.wav", "clip10.wav",
					     "clip17.wav" };
	struct accel_speech_info info = { .size = sizeof(info) };
	struct accel_speech *s = open_speech(*state, SPEECH, NULL);
	static float all[4 * WINDOW];
	static struct told t;
	char path[256];
	uint32_t i, n;
	int ret;

	memset(&t, 0, sizeof(t));
	memset(all, 0, sizeof(all));
	for (i = 0, n = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", SPEECH, clips[i]);
		n = read_all(path, all + (size_t)i * WINDOW, WINDOW, &ret);
		assert_int_equal(ret, 0);
	}
	assert_int_equal(accel_speech_push(s, all, 3 * WINDOW + n, hear, &t), 0);
	assert_int_equal(t.count, 3);
	assert_int_equal(accel_speech_finish(s, hear, &t), 0);
	assert_string_equal(t.text,
			    "open the kitchen door|turn on the garage oven|call george now|play a story in the garage");
	assert_true(fabs(t.end - (3 * WINDOW + n) / 16000.0) < 0.000001);
	assert_int_equal(accel_speech_get_info(s, &info), 0);
	assert_int_equal(info.windows, 4);
	assert_int_equal(info.samples, 3 * WINDOW + n);
	/* Who has heard enough says so; what comes then is another recording. */
	memset(&t, 0, sizeof(t));
	t.most = 1;
	assert_int_equal(accel_speech_push(s, all, 2 * WINDOW, hear, &t), -ECANCELED);
	all[5] = NAN;
	assert_int_equal(accel_speech_push(s, all, 10, hear, &t), -EINVAL);
	memset(&t, 0, sizeof(t));
	assert_int_equal(accel_speech_finish(s, hear, &t), 0);
	assert_int_equal(t.count, 0);
	assert_int_equal(accel_speech_push(s, all + 2 * WINDOW, WINDOW, hear, &t), 0);
	assert_int_equal(accel_speech_finish(s, hear, &t), 0);
	assert_string_equal(t.text, "call george now");
	accel_speech_destroy(s);
}

/* --- speech alone --------------------------------------------------------------------------- */

#define GAPS	5
#define GATED	(28 * 16000)

/**
 * struct spoken - a recording whose speech is known
 * @samples: of it
 * @count: how many
 * @from: seconds at which clips begin to be loud
 * @to: and end to be
 * @t: what was told
 * @starts: of what was told
 * @ends: likewise
 */
struct spoken {
	float samples[GATED];
	uint32_t count;
	double from[4];
	double to[4];
	struct told t;
	double starts[TOLD];
	double ends[TOLD];
};

static int hear_spoken(void *user, const struct accel_speech_segment *g)
{
	struct spoken *p = user;

	p->starts[p->t.count] = g->start;
	p->ends[p->t.count] = g->end;
	return hear(&p->t, g);
}

/* Four clips with silence, or with noise of this amplitude everywhere */
static void make_spoken(struct spoken *p, float noise)
{
	static const char *const clips[] = { "clip00.wav", "clip02.wav", "clip10.wav",
					     "clip17.wav" };
	static const uint32_t gaps[GAPS] = { 20803, 32001, 12345, 52007, 96000 };
	uint32_t i, k, n, seed = 1;
	float most, *x;
	char path[256];
	int ret;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < 4; i++) {
		p->count += gaps[i];
		x = p->samples + p->count;
		snprintf(path, sizeof(path), "%s/%s", SPEECH, clips[i]);
		n = read_all(path, x, GATED - p->count, &ret);
		assert_int_equal(ret, 0);
		for (k = 0, most = 0; k < n; k++)
			most = fmaxf(most, fabsf(x[k]));
		/* Loud is 26 dB below the loudest sample. */
		for (k = 0; fabsf(x[k]) < most / 20; k++)
			;
		p->from[i] = (p->count + k) / 16000.0;
		for (k = n; fabsf(x[k - 1]) < most / 20; k--)
			;
		p->to[i] = (p->count + k) / 16000.0;
		p->count += n;
	}
	p->count += gaps[4];
	assert_true(p->count <= GATED);
	for (k = 0; k < p->count; k++) {
		seed = seed * 1664525u + 1013904223u;
		p->samples[k] += noise * ((float)(seed >> 8) / 8388608.0f - 1);
	}
}

static struct accel_speech_info hear_pieces(struct accel_speech *s, struct spoken *p,
					    uint32_t piece)
{
	struct accel_speech_info before = { .size = sizeof(before) }, info = before;
	uint32_t k, n;

	memset(&p->t, 0, sizeof(p->t));
	assert_int_equal(accel_speech_get_info(s, &before), 0);
	for (k = 0; k < p->count; k += n) {
		n = p->count - k < piece ? p->count - k : piece;
		assert_int_equal(accel_speech_push(s, p->samples + k, n, hear_spoken, p), 0);
	}
	assert_int_equal(accel_speech_finish(s, hear_spoken, p), 0);
	assert_int_equal(accel_speech_get_info(s, &info), 0);
	info.windows -= before.windows;
	info.encode_ns -= before.encode_ns;
	info.samples -= before.samples;
	info.speech -= before.speech;
	info.stretches -= before.stretches;
	return info;
}

/* The words are those of the clips alone, and the times those of the recording. */
static void test_gated(void **state)
{
	static const float noises[] = { 0, 0.002f, 0.01f };
	struct accel_vad_opts vad = ACCEL_VAD_OPTS_INIT;
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct accel_speech_info info;
	static struct spoken p;
	struct accel_speech *s;
	double margin = (double)vad.margin_ms / 1000;
	uint32_t i, k;

	opts.vad = &vad;
	s = open_speech(*state, SPEECH, &opts);
	for (i = 0; i < 3; i++) {
		make_spoken(&p, noises[i]);
		info = hear_pieces(s, &p, i % 2 ? 777 : GATED);
		assert_string_equal(p.t.text,
				    "open the kitchen door|turn on the garage oven|call george now|play a story in the garage");
		assert_int_equal(info.windows, 4);
		assert_int_equal(info.stretches, 4);
		assert_int_equal(info.samples, p.count);
		assert_true(info.speech < p.count / 2);
		for (k = 0; k < 4; k++)
			if (!(fabs(p.starts[k] + margin - p.from[k]) <= 0.15) ||
			    !(fabs(p.ends[k] - margin - p.to[k]) <= 0.15))
				fail_msg("clip %u, noise %g: %.3f to %.3f, not %.3f to %.3f", k,
					 (double)noises[i], p.starts[k] + margin,
					 p.ends[k] - margin, p.from[k], p.to[k]);
	}
	/* Where nobody speaks the encoder does not run. */
	for (i = 0; i < 3; i++) {
		make_spoken(&p, noises[i]);
		memcpy(p.samples, p.samples + p.count - 90000, 90000 * sizeof(*p.samples));
		p.count = 90000;
		info = hear_pieces(s, &p, 4096);
		assert_int_equal(p.t.count, 0);
		assert_int_equal(info.windows, 0);
		assert_int_equal(info.encode_ns, 0);
		assert_int_equal(info.speech, 0);
		assert_int_equal(info.samples, 90000);
	}
	accel_speech_destroy(s);
}

/**
 * struct oracle - a detector that knows
 * @p: recording
 * @next: frame that comes
 * @fail: at frame 20 it returns this
 * @wrong: there it says this
 */
struct oracle {
	const struct spoken *p;
	uint64_t next;
	int fail;
	float wrong;
};

static int know(void *user, uint64_t frame, const float *samples, float *probability)
{
	struct oracle *o = user;
	const double at = ((double)frame + 0.5) / 100;
	uint32_t i;

	assert_int_equal(frame, o->next++);
	assert_memory_equal(samples, o->p->samples + frame * 160, 160 * sizeof(*samples));
	/* What it says of the third clip is not enough. */
	for (i = 0, *probability = 0.1f; i < 4; i++)
		if (at >= o->p->from[i] && at <= o->p->to[i])
			*probability = i == 2 ? 0.6f : 0.9f;
	if (frame != 20)
		return 0;
	*probability = o->wrong;
	return o->fail;
}

static void test_own_detector(void **state)
{
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct accel_vad_opts vad = ACCEL_VAD_OPTS_INIT;
	struct accel_speech_info info;
	static struct spoken p;
	struct oracle o = { &p, 0, 0, 0 };
	struct accel_speech *s;
	uint32_t i;

	vad.probability = know;
	vad.user = &o;
	vad.threshold = 0.7f;
	opts.vad = &vad;
	s = open_speech(*state, SPEECH, &opts);
	make_spoken(&p, 0);
	info = hear_pieces(s, &p, 5000);
	assert_string_equal(p.t.text,
			    "open the kitchen door|turn on the garage oven|play a story in the garage");
	assert_int_equal(info.windows, 3);
	for (i = 0; i < 3; i++) {
		assert_true(fabs(p.starts[i] + 0.15 - p.from[i + (i == 2)]) < 0.011);
		assert_true(fabs(p.ends[i] - 0.15 - p.to[i + (i == 2)]) < 0.011);
	}
	for (i = 0; i < 3; i++) {
		static const int fails[] = { -EIO, 5, 0 }, wants[] = { -EIO, -ECANCELED, -EDOM };

		o = (struct oracle) { &p, 0, fails[i], i == 2 ? NAN : 0 };
		assert_int_equal(accel_speech_push(s, p.samples, 16000, hear_spoken, &p), wants[i]);
	}
	accel_speech_destroy(s);
}

static int always(void *user, uint64_t frame, const float *samples, float *probability)
{
	*probability = frame < *(const uint64_t *)user;
	return samples ? 0 : -EINVAL;
}

/* A tenth of a second behind a window, and no more, is not worth another one: in a stretch, too. */
static void test_rest(void **state)
{
	static const uint32_t rests[] = { 0, 800, 1600, 1760 }, windows[] = { 1, 1, 1, 2 };
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct accel_vad_opts vad = ACCEL_VAD_OPTS_INIT;
	static struct spoken p;
	struct accel_speech *s;
	uint64_t frames;
	uint32_t i, gated;

	vad.margin_ms = vad.hangover_ms = 0;
	vad.probability = always;
	vad.user = &frames;
	for (gated = 0; gated < 2; gated++) {
		opts.vad = gated ? &vad : NULL;
		s = open_speech(*state, SPEECH, &opts);
		for (i = 0; i < 4; i++) {
			frames = (WINDOW + rests[i]) / 160;
			make_spoken(&p, 0);
			memmove(p.samples, p.samples + 20803, WINDOW * sizeof(*p.samples));
			p.count = WINDOW + rests[i] + (gated ? 8000 : 0);
			assert_int_equal(hear_pieces(s, &p, 5000).windows, windows[i]);
		}
		accel_speech_destroy(s);
	}
}

static void test_wrong_vad(void **state)
{
	static const char *const names[] = {
		"size", "level_db", "snr_db", "memory_ms", "min_speech_ms", "hangover_ms",
		"margin_ms", "threshold", "size"
	};
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct bed *bed = *state;
	struct accel_speech *s = NULL;
	struct accel_vad_opts vad;
	uint32_t i;

	opts.vad = &vad;
	for (i = 0; i < 9; i++) {
		vad = (struct accel_vad_opts)ACCEL_VAD_OPTS_INIT;
		vad.size += i == 0 ? 8 : i == 8 ? -8u : 0;
		vad.level_db = i == 1 ? 1 : -55;
		vad.snr_db = i == 2 ? NAN : 9;
		vad.memory_ms = i == 3 ? 499 : 3000;
		vad.min_speech_ms = i == 4 ? -1 : 50;
		vad.hangover_ms = i == 5 ? INFINITY : 500;
		vad.margin_ms = i == 6 ? 501 : 150;
		vad.threshold = i == 7 ? 2 : 0.5f;
		assert_int_equal(accel_speech_create(bed->ctx, SPEECH, &opts, &e, &s),
				 i ? -EINVAL : -E2BIG);
		assert_non_null(strstr(e.text, names[i]));
	}
	assert_null(s);
}

/* --- a model that writes times -------------------------------------------------------------- */

/*
 * The tokenizer that a small model of examples/zoo lacks: 198 words, one for what was before and
 * one for when nobody speaks, six others, 61 times
 */
static void write_tokenizer(void)
{
	static const char *const names[] = {
		"startofprev", "nospeech", "endoftext", "startoftranscript", "en", "de",
		"transcribe", "notimestamps"
	};
	FILE *f = fopen(path_of("hf/whisper/tokenizer.json"), "w");
	int i;

	assert_non_null(f);
	fputs("{\"version\": \"1.0\", \"added_tokens\": [", f);
	for (i = 198; i < 267; i++) {
		fprintf(f, "%s{\"id\": %d, \"content\": \"<|", i > 198 ? ", " : "", i);
		if (i < 206)
			fputs(names[i - 198], f);
		else
			fprintf(f, "%.2f", (i - 206) * 0.02);
		fprintf(f, "|>\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": true}");
	}
	fputs("], \"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"model\": ", f);
	fputs("{\"type\": \"WordLevel\", \"unk_token\": \"w0\", \"vocab\": {", f);
	for (i = 0; i < 198; i++)
		fprintf(f, "%s\"w%d\": %d", i ? ", " : "", i, i);
	fputs("}}}", f);
	assert_int_equal(fclose(f), 0);
}

static void test_times(void **state)
{
	struct accel_speech_info info = { .size = sizeof(info) };
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	const uint32_t window = 120 * 160, all = 5 * window + 4321;
	float *samples = calloc(all, sizeof(*samples));
	static struct told t, again;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_speech *s, *none = NULL;
	uint32_t i, k, random = 1;

	assert_non_null(samples);
	write_tokenizer();
	for (i = 0; i < all; i++) {
		random = random * 1664525u + 1013904223u;
		samples[i] = ((float)(random >> 8) / 8388608 - 1) * sinf((float)i / 3000);
	}
	s = open_speech(*state, path_of("hf/whisper"), NULL);
	assert_int_equal(accel_speech_get_info(s, &info), 0);
	assert_int_equal(info.times, 1);
	assert_int_equal(info.languages, 2);
	assert_int_equal(info.window, window);
	for (i = 0; i < 2; i++) {
		struct told *to = i ? &again : &t;

		memset(to, 0, sizeof(*to));
		for (k = 0; k < all; k += i ? 1001 : all)
			assert_int_equal(accel_speech_push(s, samples + k,
							   i && all - k > 1001 ? 1001 : all - k,
							   hear, to), 0);
		assert_int_equal(accel_speech_finish(s, hear, to), 0);
		assert_true(to->count && to->end <= (double)all / 16000 + 0.000000001);
	}
	assert_string_equal(t.text, again.text);
	accel_speech_destroy(s);
	/* No times: a segment for each window */
	opts.flags = ACCEL_SPEECH_NO_TIMES;
	opts.language = "de";
	s = open_speech(*state, path_of("hf/whisper"), &opts);
	memset(&t, 0, sizeof(t));
	assert_int_equal(accel_speech_push(s, samples, all, hear, &t), 0);
	assert_int_equal(accel_speech_finish(s, hear, &t), 0);
	assert_int_equal(t.count, 6);
	accel_speech_destroy(s);
	opts.language = "fr";
	assert_int_equal(accel_speech_create(((struct bed *)*state)->ctx, path_of("hf/whisper"),
					     &opts, &e, &none), -EINVAL);
	assert_non_null(strstr(e.text, "fr"));
	opts.language = NULL;
	opts.flags = ACCEL_SPEECH_TRANSLATE;
	assert_int_equal(accel_speech_create(((struct bed *)*state)->ctx, path_of("hf/whisper"),
					     &opts, &e, &none), -EINVAL);
	assert_null(none);
	free(samples);
}

/* --- how tokens are chosen ------------------------------------------------------------------ */

#define SAID_MAX	24

/**
 * struct plain - a model as a whole, that hears a window
 * @state: of it
 * @vocabulary: tokens
 * @texts: of these the first ones are text
 * @from: the first that is text
 * @end: ends it
 * @prefix: what is there before
 * @count: tokens of it
 * @heard: features of what it hears
 * @known: what it said of that
 */
struct plain {
	struct accel_state *state;
	uint32_t vocabulary;
	uint32_t texts;
	uint32_t from;
	uint32_t end;
	uint32_t prefix[64];
	uint32_t count;
	float *heard;
	struct followers *known;
};

static void plain_open(struct plain *p, struct bed *bed, const char *path)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_program *program;
	struct accel_model *m;

	if (accel_model_open(path, &e, &m))
		fail_msg("%s: %s", path, e.text);
	assert_int_equal(accel_graph_compile(bed->ctx, accel_model_graph(m), NULL, &program), 0);
	assert_int_equal(accel_state_create(program, &p->state), 0);
	accel_program_unref(program);
	accel_model_close(m);
}

static void plain_close(struct plain *p)
{
	followers_drop(&p->known);
	free(p->heard);
	accel_state_destroy(p->state);
}

/* What it hears from now on */
static void plain_hear(struct plain *p, struct accel_speech *s, const float *samples, size_t count)
{
	struct accel_speech_info info = { .size = sizeof(info) };
	size_t bytes;
	float *to;

	assert_int_equal(accel_speech_get_info(s, &info), 0);
	assert_int_equal(accel_state_set_input(p->state, 0, 3, DIMS(1, info.mels, info.frames),
					       NULL, 0), 0);
	to = accel_state_get_input(p->state, 0, NULL);
	assert_int_equal(accel_speech_features(s, samples, count, to), 0);
	bytes = (size_t)info.mels * info.frames * sizeof(*to);
	if (p->heard && !memcmp(p->heard, to, bytes))
		return;
	followers_drop(&p->known);
	free(p->heard);
	p->heard = malloc(bytes);
	assert_non_null(p->heard);
	memcpy(p->heard, to, bytes);
}

/* Logarithms of the probabilities of texts and the end, among them; of the rest -INFINITY */
static void plain_next(struct plain *p, const uint32_t *said, uint32_t count, double *logprobs)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t i, n = p->count + count;
	const void *data = NULL;
	const float *row;
	uint32_t list[64 + SAID_MAX + 1];
	double sum = 0;
	int64_t *ids;

	assert_true(n <= ARRAY_SIZE(list));
	for (i = 0; i < n; i++)
		list[i] = i < p->count ? p->prefix[i] : said[i - p->count];
	if (followers_find(p->known, list, n, logprobs, p->vocabulary))
		return;
	assert_int_equal(accel_state_set_input(p->state, 1, 2, DIMS(1, n), NULL, 0), 0);
	ids = accel_state_get_input(p->state, 1, NULL);
	for (i = 0; i < n; i++)
		ids[i] = list[i];
	assert_int_equal(accel_state_run(p->state), 0);
	for (i = 0; !accel_state_get_output(p->state, i, &v, &data); i++)
		if (!strcmp(v.name, "logits"))
			break;
	assert_string_equal(v.name, "logits");
	assert_int_equal(v.dims[v.rank - 1], p->vocabulary);
	row = (const float *)data + (n - 1) * p->vocabulary;
	for (i = 0; i < p->vocabulary; i++) {
		logprobs[i] = i == p->end || (i >= p->from && i < p->from + p->texts) ?
			      (double)row[i] : -INFINITY;
		sum += exp(logprobs[i]);
	}
	for (i = 0; i < p->vocabulary; i++)
		logprobs[i] -= log(sum);
	followers_keep(&p->known, list, n, logprobs, p->vocabulary);
}

#define LINES_MAX	64

/**
 * struct line - tokens, as those of BeamSearchDecoder
 * @said: they, without the end
 * @count: how many
 * @sum: logarithm of their probability, with that of the end
 * @ended: it is there
 */
struct line {
	uint32_t said[SAID_MAX + 1];
	uint32_t count;
	double sum;
	bool ended;
};

static int by_sum(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->sum < y->sum ? 1 : x->sum > y->sum ? -1 : 0;
}

/*
 * BeamSearchDecoder.update() and finalize(), MaximumLikelihoodRanker, with lists of tokens: for
 * each beam its @beams + 1 likeliest tokens; the likeliest of all go on, what ended is finished.
 */
static struct line slow_beams(struct plain *p, uint32_t beams, double patience, double penalty,
			      uint32_t most)
{
	const uint32_t enough = (uint32_t)lrint(beams * patience);
	static struct line live[LINES_MAX], all[LINES_MAX * LINES_MAX], done[LINES_MAX];
	struct line one[512];
	uint32_t i, k, n, count = 1, finished = 0, length, best = 0;
	double logprobs[512], score, top = 0;

	live[0] = (struct line) { .sum = 0 };
	for (length = 0; length < most && finished < enough; length++) {
		for (i = 0, n = 0; i < count; i++) {
			plain_next(p, live[i].said, length, logprobs);
			for (k = 0; k < p->vocabulary; k++) {
				one[k] = live[i];
				one[k].sum += logprobs[k];
				one[k].ended = k == p->end;
				if (!one[k].ended)
					one[k].said[one[k].count++] = k;
			}
			qsort(one, p->vocabulary, sizeof(*one), by_sum);
			for (k = 0; k <= beams; k++)
				all[n++] = one[k];
		}
		qsort(all, n, sizeof(*all), by_sum);
		for (i = 0, count = 0; i < n && count < beams && all[i].sum > -INFINITY; i++)
			if (!all[i].ended)
				live[count++] = all[i];
			else if (finished < enough)
				done[finished++] = all[i];
	}
	for (i = 0; i < count && finished < beams; i++)
		done[finished++] = live[i];
	for (i = 0; i < finished; i++) {
		n = done[i].count ? done[i].count : 1;
		score = done[i].sum / (isnan(penalty) ? n : pow((5.0 + done[i].count) / 6,
								penalty));
		if (i && score <= top)
			continue;
		top = score;
		best = i;
	}
	return done[best];
}

/* A window of a recording alone: what was told of it, its mean logarithm in @logprob */
static int hear_line(void *user, const struct accel_speech_segment *g)
{
	struct line *line = user;

	assert_int_equal(line->count, 0);
	assert_true(g->token_count <= SAID_MAX);
	memcpy(line->said, g->tokens, g->token_count * sizeof(*g->tokens));
	line->count = g->token_count;
	line->sum = (double)g->logprob;
	return 0;
}

static void check_line(const struct line *got, const struct line *want)
{
	assert_int_equal(got->count, want->count);
	assert_memory_equal(got->said, want->said, want->count * sizeof(*want->said));
	/* Who says nothing is not told of. */
	assert_true(!want->count || fabs(got->sum - want->sum / (want->count + 1)) < 0.0005);
}

static float *noise_of(uint32_t count)
{
	float *samples = calloc(count, sizeof(*samples));
	uint32_t i, random = 1;

	assert_non_null(samples);
	for (i = 0; i < count; i++) {
		random = random * 1664525u + 1013904223u;
		samples[i] = ((float)(random >> 8) / 8388608 - 1) * sinf((float)i / 3000);
	}
	return samples;
}

static const struct {
	uint32_t beams;
	float patience;
	float penalty;
} ways[] = {
	{ 0, 1, NAN }, { 2, 1, NAN }, { 5, 4, 3 }, { 3, 1.5f, 1 }, { 5, 1, 0.2f }, { 1, 3, 0 },
	{ 8, 1, 0 }, { 3, 6, 2 }
};

/* Of the model of noise texts that never come; with few left it ends sooner or later. */
static void suppress(uint32_t from, uint32_t to)
{
	FILE *f = fopen(path_of("hf/whisper/generation_config.json"), "w");
	uint32_t i;

	assert_non_null(f);
	fputs("{\"suppress_tokens\": [", f);
	for (i = from; i <= to; i++)
		fprintf(f, "%s%u", i > from ? ", " : "", i);
	fputs("]}", f);
	assert_int_equal(fclose(f), 0);
}

/* The model of noise with @few texts: how beams are judged, and their patience, show. */
static void check_noise(struct bed *bed, uint32_t few)
{
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct plain p = { .texts = few, .end = 200, .count = 4,
			   .prefix = { 201, 203, 204, 205 } };
	float *noise = noise_of(120 * 160);
	struct accel_speech *s;
	uint32_t i, lengths = 0;
	struct line want, got;

	suppress(few, 197);
	plain_open(&p, bed, path_of("hf/whisper"));
	p.vocabulary = 300;
	opts.temperature_step = 0;
	opts.flags = ACCEL_SPEECH_NO_TIMES;
	opts.language = "de";
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (test_left_out(i, few))
			continue;
		opts.beams = ways[i].beams;
		opts.patience = ways[i].patience;
		opts.length_penalty = ways[i].penalty;
		s = open_speech(bed, path_of("hf/whisper"), &opts);
		plain_hear(&p, s, noise, 120 * 160);
		want = slow_beams(&p, opts.beams ? opts.beams : 1,
				  opts.beams > 1 ? (double)opts.patience : 1,
				  (double)opts.length_penalty, NOISE_MOST);
		got.count = 0;
		assert_int_equal(accel_speech_push(s, noise, 120 * 160, hear_line, &got), 0);
		assert_int_equal(accel_speech_finish(s, hear_line, &got), 0);
		check_line(&got, &want);
		lengths |= 1u << want.count;
		accel_speech_destroy(s);
	}
	assert_true(lengths & (lengths - 1) || test_every() > 1);
	free(noise);
	plain_close(&p);
}

/* Beams of the model that was trained, and of one of noise, beside lists without a cache */
static void test_beams(void **state)
{
	static float samples[WINDOW];
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct plain p = { .vocabulary = 512, .from = 5, .texts = 507, .end = 0, .count = 4,
			   .prefix = { 1, 2, 3, 4 } };
	struct accel_speech *s;
	struct line want, got;
	uint32_t i, n;
	int ret;

	opts.temperature_step = 0;
	plain_open(&p, *state, SPEECH);
	n = read_all(SPEECH "/clip17.wav", samples, WINDOW, &ret);
	assert_int_equal(ret, 0);
	/* Half of it is less certain. As a whole the model hears anew for each token. */
	n /= 2;
	for (i = 0; i < 2; i++) {
		opts.beams = ways[i].beams;
		s = open_speech(*state, SPEECH, &opts);
		plain_hear(&p, s, samples, n);
		want = slow_beams(&p, opts.beams ? opts.beams : 1, 1, NAN, 24);
		got.count = 0;
		assert_int_equal(accel_speech_push(s, samples, n, hear_line, &got), 0);
		assert_int_equal(accel_speech_finish(s, hear_line, &got), 0);
		check_line(&got, &want);
		accel_speech_destroy(s);
	}
	plain_close(&p);
	write_tokenizer();
	check_noise(*state, 3);
	if (test_every() == 1)
		check_noise(*state, 6);
	suppress(1, 0);
}

/* --- the window before ---------------------------------------------------------------------- */

struct lines {
	struct line line[8];
	uint32_t count;
};

static int hear_lines(void *user, const struct accel_speech_segment *g)
{
	struct lines *l = user;

	assert_true(l->count < 8);
	l->line[l->count].count = 0;
	return hear_line(&l->line[l->count++], g);
}

/* Windows without times have the tokens that came before as a prompt, or none. */
static void test_prompt(void **state)
{
	struct accel_speech_info info = { .size = sizeof(info) };
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	const uint32_t window = 120 * 160;
	struct plain p = { .vocabulary = 300, .texts = 198, .end = 200 };
	static const uint32_t begin[] = { 201, 203, 204, 205 };
	float *noise = noise_of(4 * window);
	static struct lines with, without;
	struct accel_speech *s;
	uint32_t i, k, mode, n, told[128];
	struct line want;

	write_tokenizer();
	plain_open(&p, *state, path_of("hf/whisper"));
	opts.language = "de";
	opts.temperature_step = 0;
	for (mode = 0; mode < 3; mode++) {
		struct lines *to = mode == 2 ? &without : &with;

		opts.beams = mode == 1 ? 3 : 0;
		opts.flags = ACCEL_SPEECH_NO_TIMES |
			     (mode == 2 ? ACCEL_SPEECH_NO_CONDITION : 0);
		s = open_speech(*state, path_of("hf/whisper"), &opts);
		to->count = 0;
		assert_int_equal(accel_speech_push(s, noise, 4 * window, hear_lines, to), 0);
		assert_int_equal(accel_speech_finish(s, hear_lines, to), 0);
		assert_int_equal(to->count, 4);
		for (i = 0, n = 0; i < 4; i++) {
			p.count = 0;
			if (n && mode < 2) {
				p.prefix[p.count++] = 198;
				for (k = n > NOISE_PROMPT ? n - NOISE_PROMPT : 0; k < n; k++)
					p.prefix[p.count++] = told[k];
			}
			memcpy(p.prefix + p.count, begin, sizeof(begin));
			p.count += 4;
			plain_hear(&p, s, noise + i * window, window);
			want = slow_beams(&p, opts.beams ? 3 : 1, 1, NAN,
					  NOISE_ALL - p.count < NOISE_MOST ? NOISE_ALL - p.count :
					  NOISE_MOST);
			check_line(&to->line[i], &want);
			memcpy(told + n, want.said, want.count * sizeof(*told));
			n += want.count;
		}
		assert_int_equal(accel_speech_get_info(s, &info), 0);
		assert_true(mode < 2 ? info.prompt_tokens > 0 : !info.prompt_tokens);
		accel_speech_destroy(s);
	}
	assert_true(memcmp(&with, &without, sizeof(with)));
	free(noise);
	plain_close(&p);
}

/* --- temperatures --------------------------------------------------------------------------- */

static int hear_try(void *user, const struct accel_speech_segment *g)
{
	*(struct accel_speech_segment *)user = *g;
	return 0;
}

static uint64_t tries_of(struct accel_speech *s)
{
	struct accel_speech_info info = { .size = sizeof(info) };

	assert_int_equal(accel_speech_get_info(s, &info), 0);
	return info.tries;
}

static void test_temperatures(void **state)
{
	static const struct {
		float compression;
		float logprob;
		float first;
		float step;
		uint32_t tries;
		float last;
	} walks[] = {
		/* What cannot be met walks to the end, and the last one stays. */
		{ 2.4f, 0, 0, 0.2f, 6, 1 }, { 0, -1, 0, 0.2f, 6, 1 }, { 2.4f, 0, 0, 0.5f, 3, 1 },
		{ 2.4f, 0, 0.8f, 0.2f, 2, 1 }, { 2.4f, 0, 0, 0.3f, 5, 1 }, { 2.4f, 0, 0, 0, 1, 0 },
		{ 2.4f, 0, 1.5f, 0.2f, 1, 1.5f },
		/* What is met, or is not asked, does not. */
		{ 2.4f, -1, 0, 0.2f, 1, 0 }, { INFINITY, -INFINITY, 0, 0.2f, 1, 0 },
		{ 2.4f, -1, 0.4f, 0.2f, 1, 0.4f },
	};
	static float samples[WINDOW];
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct accel_speech_segment g = { .size = 0 };
	struct accel_speech *s;
	uint32_t i, n;
	int ret;

	n = read_all(SPEECH "/clip00.wav", samples, WINDOW, &ret);
	assert_int_equal(ret, 0);
	for (i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		opts.compression = walks[i].compression;
		opts.logprob = walks[i].logprob;
		opts.temperature = walks[i].first;
		opts.temperature_step = walks[i].step;
		opts.beams = i % 2 ? 4 : 0;
		opts.best_of = i % 3 ? 3 : 0;
		s = open_speech(*state, SPEECH, &opts);
		g.temperature = -1;
		assert_int_equal(accel_speech_push(s, samples, n, hear_try, &g), 0);
		assert_int_equal(accel_speech_finish(s, hear_try, &g), 0);
		assert_int_equal(tries_of(s), walks[i].tries);
		assert_true(fabsf(g.temperature - walks[i].last) < 0.00001f);
		assert_true(g.compression > 0 && g.compression < 2.4f);
		accel_speech_destroy(s);
	}
}

/* What is drawn depends on the seed alone, and begins anew with each recording. */
static void test_seeds(void **state)
{
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	const uint32_t window = 120 * 160;
	float *noise = noise_of(3 * window);
	static struct lines first, again;
	struct accel_speech *s = NULL;
	uint32_t i, k;

	write_tokenizer();
	opts.flags = ACCEL_SPEECH_NO_TIMES;
	opts.language = "en";
	opts.logprob = 0;
	opts.best_of = 2;
	for (i = 0; i < 4; i++) {
		opts.seed = i == 3 ? 8 : 7;
		/* The second recording of the same model, and another model */
		if (i != 1)
			s = open_speech(*state, path_of("hf/whisper"), &opts);
		memset(&again, 0, sizeof(again));
		for (k = 0; k < 3 * window; k += i == 2 ? 777 : 3 * window)
			assert_int_equal(accel_speech_push(s, noise + k,
							   i == 2 && 3 * window - k > 777 ? 777 :
							   3 * window - k, hear_lines, &again), 0);
		assert_int_equal(accel_speech_finish(s, hear_lines, &again), 0);
		assert_int_equal(again.count, 3);
		assert_int_equal(tries_of(s), i == 1 ? 36 : 18);
		if (!i)
			first = again;
		assert_int_equal(!memcmp(&first, &again, sizeof(first)), i < 3);
		if (i)
			accel_speech_destroy(s);
	}
	free(noise);
}

/* Who is silent has no text: the model says so, and its text is not likely. */
static void test_silent(void **state)
{
	static const struct {
		float no_speech;
		float logprob;
		bool text;
		uint32_t tries;
	} rules[] = {
		{ 0, 0, false, 1 }, { 0, -100, true, 1 }, { INFINITY, -100, true, 1 },
		{ INFINITY, 0, true, 6 }, { 0, -INFINITY, false, 1 },
	};
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	static float silence[120 * 160];
	struct accel_speech *s;
	static struct told t;
	uint32_t i;

	write_tokenizer();
	opts.flags = ACCEL_SPEECH_NO_TIMES;
	opts.language = "en";
	opts.compression = INFINITY;
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		opts.no_speech = rules[i].no_speech;
		opts.logprob = rules[i].logprob;
		s = open_speech(*state, path_of("hf/whisper"), &opts);
		memset(&t, 0, sizeof(t));
		assert_int_equal(accel_speech_push(s, silence, 120 * 160, hear, &t), 0);
		assert_int_equal(accel_speech_finish(s, hear, &t), 0);
		assert_int_equal(t.count, rules[i].text);
		assert_int_equal(tries_of(s), rules[i].tries);
		accel_speech_destroy(s);
	}
}

/* --- what is wrong -------------------------------------------------------------------------- */

static void check_wrong(struct bed *bed, const char *cmd, int want, const char *word)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_speech *s = NULL;
	char speech[PATH_MAX], line[3 * PATH_MAX];
	int ret;

	assert_non_null(realpath(SPEECH, speech));
	snprintf(line, sizeof(line),
		 "cd %s && rm -rf wrong && mkdir wrong && cp %s/*.json wrong && ln -s %s/model.safetensors wrong && cd wrong && %s",
		 folder, speech, speech, cmd);
	assert_int_equal(system(line), 0);
	ret = accel_speech_create(bed->ctx, path_of("wrong"), NULL, &e, &s);
	if (ret != want || !strstr(e.text, word))
		fail_msg("%s: %d, not %d: %s", cmd, ret, want, e.text);
	assert_null(s);
}

static void test_wrong(void **state)
{
	struct bed *bed = *state;
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_audio_info audio = { .size = 0 };
	struct accel_speech_info info = { .size = 0 };
	struct accel_speech *s = NULL;
	struct accel_audio *a = NULL;
	float x = 0;
	uint32_t n;

	check_wrong(bed, "sed -i 's/\"n_fft\": 400/\"n_fft\": 512/' preprocessor_config.json",
		    -EOPNOTSUPP, "n_fft");
	check_wrong(bed, "sed -i 's/: 80000/: 480000/' preprocessor_config.json", -EOPNOTSUPP,
		    "n_samples");
	check_wrong(bed, "echo '[' >generation_config.json", -EBADMSG, "generation_config.json");
	check_wrong(bed, "sed -i 's/startoftranscript/begin/' tokenizer.json", -EBADMSG,
		    "startoftranscript");
	check_wrong(bed, "sed -i 's/\"vocab_size\": 512/\"vocab_size\": 511/' config.json",
		    -EBADMSG, "vocab_size");
	check_wrong(bed, "rm tokenizer.json", -ENOENT, "tokenizer.json");
	check_wrong(bed, "sed -i 's/\"num_mel_bins\": 80/\"num_mel_bins\": 5000/' config.json",
		    -EBADMSG, "num_mel_bins");
	check_wrong(bed, "sed -i 's/_source_positions\": 250/_source_positions\": 9999999999/' config.json",
		    -EBADMSG, "max_source_positions");
	assert_int_equal(accel_speech_create(bed->ctx, AUSTEN, NULL, &e, &s), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "llama"));
	opts.size++;
	assert_int_equal(accel_speech_create(bed->ctx, SPEECH, &opts, &e, &s), -E2BIG);
	opts.size = 4;
	assert_int_equal(accel_speech_create(bed->ctx, SPEECH, &opts, &e, &s), -EINVAL);
	opts.size = sizeof(opts);
	opts.flags = 1u << 31;
	assert_int_equal(accel_speech_create(bed->ctx, SPEECH, &opts, &e, &s), -EINVAL);
	for (n = 0; n < 11; n++) {
		static const char *const names[] = {
			"flags", "beams", "best_of", "patience", "length_penalty", "temperature",
			"temperature_step", "compression", "logprob", "no_speech", "pad"
		};

		opts = (struct accel_speech_opts)ACCEL_SPEECH_OPTS_INIT;
		opts.flags = n == 0 ? 16 : 0;
		opts.beams = n == 1 ? ACCEL_SPEECH_SEQUENCES_MAX + 1 : 0;
		opts.best_of = n == 2 ? ACCEL_SPEECH_SEQUENCES_MAX + 1 : 0;
		opts.patience = n == 3 ? NAN : 1;
		opts.length_penalty = n == 4 ? -1 : NAN;
		opts.temperature = n == 5 ? -1 : 0;
		opts.temperature_step = n == 6 ? 0.001f : 0.2f;
		opts.compression = n == 7 ? NAN : 2.4f;
		opts.logprob = n == 8 ? NAN : -1;
		opts.no_speech = n == 9 ? -1 : 0.6f;
		opts.pad = n == 10;
		assert_int_equal(accel_speech_create(bed->ctx, SPEECH, &opts, &e, &s), -EINVAL);
		assert_non_null(strstr(e.text, names[n]));
	}
	assert_int_equal(accel_speech_create(NULL, SPEECH, NULL, NULL, &s), -EINVAL);
	assert_int_equal(accel_speech_create(bed->ctx, NULL, NULL, NULL, &s), -EINVAL);
	assert_int_equal(accel_speech_create(bed->ctx, SPEECH, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(accel_speech_push(NULL, &x, 1, NULL, NULL), -EINVAL);
	assert_int_equal(accel_speech_finish(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(accel_speech_features(NULL, &x, 1, &x), -EINVAL);
	s = open_speech(bed, SPEECH, NULL);
	assert_int_equal(accel_speech_push(s, NULL, 1, NULL, NULL), -EINVAL);
	assert_int_equal(accel_speech_features(s, NULL, 1, &x), -EINVAL);
	assert_int_equal(accel_speech_features(s, &x, 1, NULL), -EINVAL);
	assert_int_equal(accel_speech_get_info(s, &info), -EINVAL);
	assert_int_equal(accel_speech_get_info(s, NULL), -EINVAL);
	accel_speech_destroy(s);
	accel_speech_destroy(NULL);
	assert_int_equal(accel_audio_open(NULL, NULL, &a), -EINVAL);
	assert_int_equal(accel_audio_open("x", NULL, NULL), -EINVAL);
	assert_int_equal(accel_audio_open(SPEECH "/clip00.wav", NULL, &a), 0);
	assert_int_equal(accel_audio_read(a, NULL, 1, &n), -EINVAL);
	assert_int_equal(accel_audio_read(a, &x, 0, &n), -EINVAL);
	assert_int_equal(accel_audio_read(a, &x, 1, NULL), -EINVAL);
	assert_int_equal(accel_audio_read(NULL, &x, 1, &n), -EINVAL);
	assert_int_equal(accel_audio_get_info(a, &audio), -EINVAL);
	accel_audio_close(a);
	accel_audio_close(NULL);
}

static int make_folder(void **state)
{
	char cmd[512];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_speech.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(cmd, sizeof(cmd),
		 "tar -C %s -xJf %s hf/whisper && python3 -m zipfile -e %s/golden.npz %s", folder,
		 ZOO_HF, SPEECH, folder);
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
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_words),
		cmocka_unit_test_setup_teardown(test_features, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_encoder, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_clips, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_long, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_gated, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_own_detector, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_rest, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_wrong_vad, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_times, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_beams, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_prompt, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_temperatures, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_seeds, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_silent, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_wrong, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests_name("speech", tests, make_folder, drop_folder);
}
