/* SPDX-License-Identifier: MIT */
/*
 * Speech from the inside.
 *
 *	audio.c		samples of files and pipes
 *	features.c	log-mel features of a window
 *	words.c		the tokens of a model that are no text, and which may come next
 *	choose.c	the tokens of a window: likeliest ones, beams, draws
 *	listen.c	a window: encoder, decoder, segments
 *	vad.c		where somebody speaks
 *	speech.c	models, and windows one after the other
 */
#ifndef LIBACCEL_MODELS_SPEECH_H
#define LIBACCEL_MODELS_SPEECH_H

#include <stdbool.h>
#include <accel/accel.h>
#include <accel/speech.h>
#include <accel/tokenizer.h>
#include "../families/families.h"
#include "../generate/generate.h"

/* --- features.c ---------------------------------------------------------------------- */

#define FEATURES_FFT	400
#define FEATURES_HOP	160
#define FEATURES_BINS	(FEATURES_FFT / 2 + 1)

/**
 * struct band - a mel band
 * @first: its first frequency
 * @count: how many
 * @weights: of them
 */
struct band {
	uint32_t first;
	uint32_t count;
	float weights[FEATURES_BINS];
};

/**
 * struct features - what makes them
 * @fft: of FEATURES_FFT real numbers
 * @mels: bands
 * @frames: of a window
 * @bands: they
 * @hann: window of a frame
 */
struct features {
	struct kiss_fftr_state *fft;
	uint32_t mels;
	uint32_t frames;
	struct band *bands;
	float hann[FEATURES_FFT];
};

int features_create(struct features *f, uint32_t mels, uint32_t frames);
void features_destroy(struct features *f);

/* @out: [mels, frames] of @count samples, at most frames * FEATURES_HOP, and silence behind */
void features_make(const struct features *f, const float *samples, size_t count, float *out);

/* Are they all numbers, and none too loud? */
bool features_sound(const float *samples, size_t count);

/* --- vad.c --------------------------------------------------------------------------- */

/* Frames of a level that is smoothed */
#define VAD_SMOOTH	3

/**
 * struct vad - where somebody speaks
 * @opts: options
 * @on: frames that are speech, at least
 * @hang: frames that are not, after which speech has ended
 * @margin: of these, those around speech that are heard
 * @memory: of @levels
 * @room: of @frames
 * @frames: those that came last, FEATURES_HOP samples each
 * @levels: of frames: decibels, or probabilities
 * @energy: of the last frames
 * @partial: samples of the frame that is not whole
 * @came: frames that came
 * @judged: of them
 * @kept: first one that was neither handed over nor dropped
 * @loud: judged last, that are speech
 * @quiet: judged last, that are not
 * @speaking: somebody is
 */
struct vad {
	struct accel_vad_opts opts;
	uint32_t on;
	uint32_t hang;
	uint32_t margin;
	uint32_t memory;
	uint32_t room;
	float *frames;
	float *levels;
	double energy[VAD_SMOOTH];
	uint32_t partial;
	uint64_t came;
	uint64_t judged;
	uint64_t kept;
	uint64_t loud;
	uint64_t quiet;
	bool speaking;
};

/**
 * struct vad_sink - told speech
 * @begin: it begins, at this sample
 * @speech: its samples
 * @end: it ends
 * @user: passed on
 */
struct vad_sink {
	int (*begin)(void *user, uint64_t at);
	int (*speech)(void *user, const float *samples, size_t count);
	int (*end)(void *user);
	void *user;
};

int vad_create(struct vad *v, const struct accel_vad_opts *opts);
void vad_destroy(struct vad *v);
void vad_reset(struct vad *v);

/* Return: 0; what @sink or the detector of the options returns; -EDOM: that is no number */
int vad_push(struct vad *v, const float *samples, size_t count, const struct vad_sink *sink);
int vad_finish(struct vad *v, const struct vad_sink *sink);

/* --- words.c ------------------------------------------------------------------------- */

enum word_kind { WORD_TEXT, WORD_TIME, WORD_END, WORD_NEVER };

/* Most times of a model: it is 1500 of those that there are */
#define MAX_TIMES	(1u << 16)
#define MAX_LANGUAGES	128

/**
 * struct language - one that a model knows
 * @token: which says so
 * @name: as "en"
 */
struct language {
	uint32_t token;
	char name[8];
};

/**
 * struct words - the tokens of a model
 * @kinds: of each token
 * @count: tokens
 * @first_never: for each token: never the first
 * @start: begins a transcription
 * @end: ends it
 * @task: what is to be done, or ACCEL_TOKEN_NONE
 * @no_times: says that no times are wanted, or ACCEL_TOKEN_NONE
 * @before: the text before comes behind it, or ACCEL_TOKEN_NONE
 * @no_speech: nobody speaks, or ACCEL_TOKEN_NONE
 * @time: the time 0, or ACCEL_TOKEN_NONE: times are not written
 * @first_times: times that may come first
 * @languages: those that it knows
 * @language_count: how many
 */
struct words {
	uint8_t *kinds;
	uint32_t count;
	uint8_t *first_never;
	uint32_t start;
	uint32_t end;
	uint32_t task;
	uint32_t no_times;
	uint32_t before;
	uint32_t no_speech;
	uint32_t time;
	uint32_t first_times;
	struct language languages[MAX_LANGUAGES];
	uint32_t language_count;
};

/* Seconds of a step of times */
#define TIME_STEP	0.02

int words_open(struct words *w, const struct accel_tokenizer *tokenizer,
	       const struct config *config, const struct config *generation, uint32_t vocabulary,
	       uint32_t flags, struct accel_error *error);
void words_close(struct words *w);
const struct language *words_language(const struct words *w, const char *name);

/**
 * words_filter - logits of the tokens that may come next
 * @w: words
 * @logits: of all tokens
 * @said: tokens since the beginning
 * @count: how many
 * @out: out: the same, -INFINITY for those that may not. If none may, the end may
 */
void words_filter(const struct words *w, const float *logits, const uint32_t *said, uint32_t count,
		  float *out);

/* --- choose.c ------------------------------------------------------------------------ */

/**
 * struct try - what a window was heard as
 * @temperature: at which
 * @count: how many
 * @logprob: mean logarithm of their probabilities, with that of the end
 * @compression: bytes of the text over those that zlib makes of it
 * @no_speech: probability that nobody speaks
 */
struct try {
	float temperature;
	uint32_t count;
	double logprob;
	double compression;
	double no_speech;
};

/**
 * choose_tokens - the tokens of a window
 * @s: model; its tokens come into @said
 * @seq: what begins the window; it stays as it is
 * @row: logits behind it, which stay
 * @t: temperature; out: the rest but for the probability that nobody speaks
 *
 * Return: 0; -EDOM logits are NaN or INFINITY; errors of accel_state_run(); -ENOMEM.
 */
int choose_tokens(struct accel_speech *s, const struct engine_seq *seq, const float *row,
		  struct try *t);

/* --- listen.c ------------------------------------------------------------------------ */

/* A text without the spaces around it; @bytes: of it, then of what is left */
char *text_strip(char *text, size_t *bytes);

/**
 * struct accel_speech - a model that hears
 * @ctx: context
 * @features: what makes features
 * @words: its tokens
 * @tokenizer: text of them
 * @opts: options, defaults filled in
 * @language: that is spoken, or NULL
 * @encoder: state of the encoder
 * @engine: decoder with its cache
 * @context: most tokens that the decoder sees
 * @most: of them, those that it writes
 * @said: they
 * @draft: others, in work
 * @told: tokens of the text before, with times; the last ones are the next window's prompt
 * @told_count: how many
 * @allowed: logits of tokens that may come
 * @first: logits behind what begins a window
 * @dice: numbers that are drawn
 * @window: samples of a window
 * @samples: those that wait
 * @waiting: how many
 * @before: samples that are done with
 * @from: the first of the recording that is heard, or of the stretch of speech
 * @gated: @vad says what is heard
 * @vad: where somebody speaks
 * @info: what was done
 */
struct accel_speech {
	struct accel_ctx *ctx;
	struct features features;
	struct words words;
	struct accel_tokenizer *tokenizer;
	struct accel_speech_opts opts;
	const struct language *language;
	struct accel_state *encoder;
	struct engine engine;
	uint32_t context;
	uint32_t most;
	uint32_t *said;
	uint32_t *draft;
	uint32_t *told;
	uint32_t told_count;
	float *allowed;
	float *first;
	struct accel_sampler *dice;
	uint32_t window;
	float *samples;
	uint32_t waiting;
	uint64_t before;
	uint64_t from;
	bool gated;
	struct vad vad;
	struct accel_speech_info info;
};

/**
 * listen_window - transcribe the samples that wait
 * @s: model
 * @fn: told the segments
 * @user: for @fn
 * @done: out: samples that are done with, at least one
 *
 * Return: 0; -ECANCELED; errors of accel_state_run().
 */
int listen_window(struct accel_speech *s, accel_speech_fn *fn, void *user, uint32_t *done);

#endif /* LIBACCEL_MODELS_SPEECH_H */
