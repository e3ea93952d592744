/* SPDX-License-Identifier: MIT */
/*
 * Speech to text. In libaccel-models.
 */
#ifndef ACCEL_SPEECH_H
#define ACCEL_SPEECH_H

#include <stddef.h>
#include <stdint.h>
#include <accel/context.h>
#include <accel/error.h>
#include <accel/graph.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* --- sound ----------------------------------------------------------------------------- */

/**
 * DOC: Sound
 *
 * Sound is a row of samples, floats from -1 to 1, ACCEL_SPEECH_RATE of them a second. Files, and
 * what comes through a pipe, are read by libsndfile; several channels become their mean, and
 * other rates this one, by libsoxr.
 */

/** ACCEL_SPEECH_RATE: samples a second */
#define ACCEL_SPEECH_RATE	16000

/** ACCEL_SPEECH_LOUDEST: samples beyond it, or that are no numbers, are no sound */
#define ACCEL_SPEECH_LOUDEST	65536.0f

struct accel_audio;

/**
 * accel_audio_open - open a file with sound
 * @path: WAV, FLAC, Ogg and what else libsndfile reads; "-" for the standard input, which may
 *	be a pipe, of WAV
 * @error: filled if it fails, may be NULL
 * @audio: out
 *
 * Return: 0; -EBADMSG no sound, or none that is known; -EOPNOTSUPP a rate not from 1000 to
 * 768000; -EINVAL NULL; errors of open(); -ENOMEM.
 */
ACCEL_API int accel_audio_open(const char *path, struct accel_error *error,
			       struct accel_audio **audio);

/**
 * struct accel_audio_info - a file with sound
 */
struct accel_audio_info {
	/** @size: sizeof(struct accel_audio_info) */
	uint32_t size;
	/** @rate: samples a second that it has */
	uint32_t rate;
	/** @channels: that it has */
	uint32_t channels;
	/** @pad: 0 */
	uint32_t pad;
	/** @frames: samples of a channel, 0: nobody knows before the end */
	uint64_t frames;
};

/**
 * accel_audio_get_info - describe a file with sound
 * @audio: file
 * @info: out
 *
 * Return: 0; -EINVAL NULL, or size.
 */
ACCEL_API int accel_audio_get_info(const struct accel_audio *audio, struct accel_audio_info *info);

/**
 * accel_audio_read - the next samples
 * @audio: file; one thread at a time
 * @samples: out
 * @max: most samples
 * @count: out: how many came, 0: there are no more. A file that is shorter than its header
 *	says ends where it ends
 *
 * Return: 0; -EBADMSG samples that are no numbers, or beyond ACCEL_SPEECH_LOUDEST; -EIO it
 * cannot be read; -EINVAL NULL, @max is 0; -ENOMEM.
 */
ACCEL_API int accel_audio_read(struct accel_audio *audio, float *samples, uint32_t max,
			       uint32_t *count);

/**
 * accel_audio_close - give it up
 * @audio: file, or NULL
 */
ACCEL_API void accel_audio_close(struct accel_audio *audio);

/* --- text of it ------------------------------------------------------------------------ */

/**
 * DOC: Transcription
 *
 * Samples are pushed as they come, any number at a time. Whenever there are as many as the model
 * hears at once (a window, 30 seconds of most models), they are transcribed, and the segments that
 * come out are told. A model that writes times begins the next window where its last whole segment
 * ended; the others begin behind the window.
 *
 * How is that of the model's authors (openai/whisper, transcribe.py and decoding.py). The first
 * temperature is 0: the most likely token each time, or beams. If what comes out repeats itself or
 * is not likely (@compression and @logprob of the options), and not because nobody speaks, the
 * next temperature is tried, up to 1; the last one's text stays, whatever it is. The text of the
 * windows before, as it was told, goes before each window as a prompt, if the model has
 * ``<|startofprev|>``; one that took a temperature above 0.5 is forgotten, and all before it.
 *
 * A window's features are those of Whisper: 400 samples each 160, without those before the
 * window, on the mel scale of Slaney; the loudest number is that of the window.
 */

struct accel_speech;

/**
 * struct accel_speech_segment - what was said from one time to another
 */
struct accel_speech_segment {
	/** @size: sizeof(struct accel_speech_segment) */
	uint32_t size;
	/** @token_count: entries of @tokens */
	uint32_t token_count;
	/** @start: seconds from the first sample that was pushed */
	double start;
	/** @end: likewise */
	double end;
	/** @text: text, without spaces around it, terminated; there during the call */
	const char *text;
	/** @bytes: length of @text */
	size_t bytes;
	/** @tokens: its tokens, without special ones and times; there during the call */
	const uint32_t *tokens;
	/** @language: language of the window, as "en"; "": the model knows one alone */
	const char *language;
	/** @logprob: mean logarithm of the probabilities of the window's tokens */
	float logprob;
	/** @no_speech: probability that nobody speaks in the window, 0 if the model cannot say */
	float no_speech;
	/** @temperature: that the window's tokens were chosen at */
	float temperature;
	/** @compression: bytes of the window's text over those that zlib makes of it */
	float compression;
};

/**
 * typedef accel_vad_fn - a detector of speech
 * @user: passed on
 * @frame: number of the frame, 0: the first of a recording
 * @samples: of it, 160, which are 10 ms
 * @probability: out: that somebody speaks in it
 *
 * Return: 0; anything else ends the transcription: a negative number with that, another with
 * -ECANCELED.
 */
typedef int accel_vad_fn(void *user, uint64_t frame, const float *samples, float *probability);

/**
 * struct accel_vad_opts - what is speech
 *
 * A frame of 10 ms is speech if its level, the mean square of three frames, is above @level_db and
 * by @snr_db above the floor, which is the least level of @memory_ms; frames are judged half a
 * second after they came. With @probability that decides instead, at once.
 */
struct accel_vad_opts {
	/** @size: sizeof(struct accel_vad_opts) */
	uint32_t size;
	/** @level_db: decibels of full scale below which nobody speaks, from -120 to 0 */
	float level_db;
	/** @snr_db: decibels above the floor, from 0 to 60 */
	float snr_db;
	/** @memory_ms: time of which the least level is the floor, from 500 to 60000 */
	float memory_ms;
	/** @min_speech_ms: less is no speech, from 0 to 5000 */
	float min_speech_ms;
	/** @hangover_ms: a shorter pause is heard as part of the speech, from 0 to 30000 */
	float hangover_ms;
	/** @margin_ms: heard before and behind speech, at most @hangover_ms, from 0 to 5000 */
	float margin_ms;
	/** @threshold: a probability above it is speech, from 0 to 1 */
	float threshold;
	/** @probability: detector of its own, NULL: levels */
	accel_vad_fn *probability;
	/** @user: of @probability */
	void *user;
};

/** ACCEL_VAD_OPTS_INIT: default options */
#define ACCEL_VAD_OPTS_INIT \
	{ sizeof(struct accel_vad_opts), -55, 9, 3000, 50, 500, 150, 0.5f, NULL, NULL }

/** ACCEL_SPEECH_NO_TIMES: no times from the model, also if it writes them */
#define ACCEL_SPEECH_NO_TIMES	(1u << 0)
/** ACCEL_SPEECH_TRANSLATE: in English, whatever is spoken, if the model has learnt that */
#define ACCEL_SPEECH_TRANSLATE	(1u << 1)

/** ACCEL_SPEECH_NO_CONDITION: windows do not have the text before them as a prompt */
#define ACCEL_SPEECH_NO_CONDITION	(1u << 2)
/**
 * ACCEL_SPEECH_INT8: products in bytes: weights of 32 to a scale, made when the model is opened,
 * and what they meet rounded likewise each time; sums, convolutions and attention are fp32
 */
#define ACCEL_SPEECH_INT8		(1u << 3)

/** ACCEL_SPEECH_SEQUENCES_MAX: most beams, and most sequences that are drawn */
#define ACCEL_SPEECH_SEQUENCES_MAX	16

/**
 * struct accel_speech_opts - options of accel_speech_create()
 */
struct accel_speech_opts {
	/** @size: sizeof(struct accel_speech_opts) */
	uint32_t size;
	/** @flags: ACCEL_SPEECH_* */
	uint32_t flags;
	/** @language: language that is spoken, as "en"; NULL: each window's own */
	const char *language;
	/** @compile: of encoder and decoder, or NULL */
	const struct accel_compile_opts *compile;
	/** @beams: continuations that are followed at temperature 0; 0, 1: the likeliest token */
	uint32_t beams;
	/** @best_of: sequences that are drawn above it, of which the best stays; 0: 1 */
	uint32_t best_of;
	/** @patience: beams end when @beams times this have; at least 1, at most 16 */
	float patience;
	/**
	 * @length_penalty: what beams, and sequences that are drawn, are judged by: the sum of
	 * logarithms over ((5 + tokens) / 6) ^ this, from 0 to 16 (Y. Wu and others,
	 * arXiv:1609.08144); NAN: over the tokens
	 */
	float length_penalty;
	/** @temperature: the first one, from 0 to 16 */
	float temperature;
	/** @temperature_step: to the next one, up to 1; 0: there is no other */
	float temperature_step;
	/** @compression: text that is compressed by more than this repeats; INFINITY: none does */
	float compression;
	/** @logprob: a mean logarithm below it is not likely; -INFINITY: all are */
	float logprob;
	/** @no_speech: above it, and below @logprob, nobody speaks; INFINITY: somebody does */
	float no_speech;
	/** @pad: 0 */
	uint32_t pad;
	/** @seed: of the numbers that are drawn, which begin anew with each recording */
	uint64_t seed;
	/** @vad: speech alone is heard, each stretch in windows of its own; NULL: all is */
	const struct accel_vad_opts *vad;
};

/** ACCEL_SPEECH_OPTS_INIT: default options: those of the model's authors, without beams */
#define ACCEL_SPEECH_OPTS_INIT \
	{ sizeof(struct accel_speech_opts), 0, NULL, NULL, 0, 0, 1, __builtin_nanf(""), 0, 0.2f, \
	  2.4f, -1, 0.6f, 0, 0, NULL }

/**
 * accel_speech_create - a model that hears
 * @ctx: context
 * @path: folder of a Whisper model: config.json, safetensors, tokenizer.json, and if they are
 *	there preprocessor_config.json and generation_config.json
 * @opts: options, or NULL
 * @error: filled if it fails, may be NULL
 * @speech: out; used by one thread at a time
 *
 * Return: 0; -EOPNOTSUPP no Whisper model, or other features; -EBADMSG files that contradict
 * themselves; -EINVAL NULL, options, a language or a task that the model has not; -E2BIG; errors
 * of open() and of accel_graph_compile(); -ENOMEM.
 */
ACCEL_API int accel_speech_create(struct accel_ctx *ctx, const char *path,
				  const struct accel_speech_opts *opts, struct accel_error *error,
				  struct accel_speech **speech);

/**
 * accel_speech_destroy - give it up
 * @speech: model, or NULL
 */
ACCEL_API void accel_speech_destroy(struct accel_speech *speech);

/**
 * typedef accel_speech_fn - told a segment
 * @user: passed on
 * @segment: what was said
 *
 * Return: 0 to go on; anything else ends the transcription.
 */
typedef int accel_speech_fn(void *user, const struct accel_speech_segment *segment);

/**
 * accel_speech_push - more samples
 * @speech: model
 * @samples: samples
 * @count: how many
 * @fn: told the segments of windows that are full, in their order
 * @user: passed on
 *
 * Return: 0; -EINVAL NULL, samples that are no numbers or beyond ACCEL_SPEECH_LOUDEST: none
 * was taken; -ECANCELED @fn wanted it; errors of accel_state_run(); what the detector of speech
 * of the options returns, -EDOM it gave no number. After all but the first the
 * samples that are left are forgotten, and the next are the first.
 */
ACCEL_API int accel_speech_push(struct accel_speech *speech, const float *samples, size_t count,
				accel_speech_fn *fn, void *user);

/**
 * accel_speech_finish - there are no more samples
 * @speech: model
 * @fn: told the segments of what is left
 * @user: passed on
 *
 * The next samples that are pushed are the first of another recording.
 *
 * Return: as accel_speech_push().
 */
ACCEL_API int accel_speech_finish(struct accel_speech *speech, accel_speech_fn *fn, void *user);

/**
 * accel_speech_features - what the encoder sees of a window
 * @speech: model
 * @samples: samples
 * @count: how many, at most those of a window; silence comes behind them
 * @features: out: [mels, frames] of accel_speech_get_info()
 *
 * Return: 0; -EINVAL NULL, too many samples, or such that are no sound.
 */
ACCEL_API int accel_speech_features(struct accel_speech *speech, const float *samples,
				    size_t count, float *features);

/**
 * struct accel_speech_info - a model, and what it did
 */
struct accel_speech_info {
	/** @size: sizeof(struct accel_speech_info) */
	uint32_t size;
	/** @mels: bands of a frame */
	uint32_t mels;
	/** @frames: of a window */
	uint32_t frames;
	/** @window: its samples */
	uint32_t window;
	/** @times: 1: it writes times */
	uint32_t times;
	/** @languages: that it knows by name */
	uint32_t languages;
	/** @windows: that were transcribed */
	uint64_t windows;
	/** @tries: of them, one for each temperature */
	uint64_t tries;
	/** @prompt_tokens: of text before that was given to the decoder, for each try */
	uint64_t prompt_tokens;
	/** @tokens: that were written */
	uint64_t tokens;
	/** @samples: that were pushed */
	uint64_t samples;
	/** @speech: of them, those that were heard: all without a detector of speech */
	uint64_t speech;
	/** @stretches: of speech, that the detector found */
	uint64_t stretches;
	/** @features_ns: time spent on features */
	uint64_t features_ns;
	/** @encode_ns: in the encoder */
	uint64_t encode_ns;
	/** @decode_ns: in the decoder */
	uint64_t decode_ns;
};

/**
 * accel_speech_get_info - describe a model, and what it did
 * @speech: model
 * @info: out
 *
 * Return: 0; -EINVAL NULL, or size.
 */
ACCEL_API int accel_speech_get_info(const struct accel_speech *speech,
				    struct accel_speech_info *info);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_SPEECH_H */
