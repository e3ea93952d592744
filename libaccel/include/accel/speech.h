/* SPDX-License-Identifier: MIT */
/*
 * Speech to text. Part of libaccel-models.
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
 * Sound is a sequence of samples, floats from -1 to 1, ACCEL_SPEECH_RATE per second. Files
 * and pipes are read by libsndfile; several channels are averaged, and other rates are
 * resampled by libsoxr.
 */

/** ACCEL_SPEECH_RATE: samples per second */
#define ACCEL_SPEECH_RATE	16000

/** ACCEL_SPEECH_LOUDEST: samples of a larger magnitude, and NaN, are invalid */
#define ACCEL_SPEECH_LOUDEST	65536.0f

struct accel_audio;

/**
 * accel_audio_open - open a sound file
 * @path: WAV, FLAC, Ogg or another format of libsndfile; "-" for WAV from the standard input,
 *	which may be a pipe
 * @error: filled if it fails, may be NULL
 * @audio: out
 *
 * Return: 0; -EBADMSG not sound, or an unknown format; -EOPNOTSUPP a rate not from 1000 to
 * 768000; -EINVAL NULL; errors of open(); -ENOMEM.
 */
ACCEL_API int accel_audio_open(const char *path, struct accel_error *error,
			       struct accel_audio **audio);

/**
 * struct accel_audio_info - description of a sound file
 */
struct accel_audio_info {
	/** @size: sizeof(struct accel_audio_info) */
	uint32_t size;
	/** @rate: its samples per second */
	uint32_t rate;
	/** @channels: its number of channels */
	uint32_t channels;
	/** @pad: 0 */
	uint32_t pad;
	/** @frames: number of samples of a channel, 0: unknown before the end */
	uint64_t frames;
};

/**
 * accel_audio_get_info - describe a sound file
 * @audio: file
 * @info: out
 *
 * Return: 0; -EINVAL NULL, or size.
 */
ACCEL_API int accel_audio_get_info(const struct accel_audio *audio, struct accel_audio_info *info);

/**
 * accel_audio_read - read the next samples
 * @audio: file; one thread at a time
 * @samples: out
 * @max: largest number of samples
 * @count: out: number of samples, 0: the end. A file that is shorter than in its header is
 *	read to its actual end
 *
 * Return: 0; -EBADMSG samples that are NaN, or beyond ACCEL_SPEECH_LOUDEST; -EIO it cannot be
 * read; -EINVAL NULL, @max is 0; -ENOMEM.
 */
ACCEL_API int accel_audio_read(struct accel_audio *audio, float *samples, uint32_t max,
			       uint32_t *count);

/**
 * accel_audio_close - close a sound file
 * @audio: file, or NULL
 */
ACCEL_API void accel_audio_close(struct accel_audio *audio);

/* --- text of it ------------------------------------------------------------------------ */

/**
 * DOC: Transcription
 *
 * Samples are pushed as they arrive, any number at a time. Whenever a window is complete (30
 * seconds for most models), it is transcribed, and its segments are reported. With a model
 * that writes times, the next window begins at the end of the last complete segment; with
 * others after the window.
 *
 * The method is that of the model's authors (openai/whisper, transcribe.py and decoding.py).
 * The first temperature is 0: the most likely token in each step, or beam search. If the text
 * is repetitive or unlikely (@compression and @logprob of the options), and the window is not
 * silent, the next temperature is tried, up to 1; the text of the last one is accepted in any
 * case. The text of the preceding windows is the prompt of a window, if the model has
 * ``<|startofprev|>``; a window that needed a temperature above 0.5 is dropped from the
 * prompt, with all before it.
 *
 * The features of a window are those of Whisper: frames of 400 samples, every 160, without
 * samples from before the window, on Slaney's mel scale, relative to the maximum of the
 * window.
 */

struct accel_speech;

/**
 * struct accel_speech_segment - a segment of the transcription
 */
struct accel_speech_segment {
	/** @size: sizeof(struct accel_speech_segment) */
	uint32_t size;
	/** @token_count: number of @tokens */
	uint32_t token_count;
	/** @start: start in seconds from the first sample */
	double start;
	/** @end: end in seconds from the first sample */
	double end;
	/** @text: text without surrounding spaces, terminated; valid during the call */
	const char *text;
	/** @bytes: length of @text */
	size_t bytes;
	/** @tokens: its tokens, without special ones and times; valid during the call */
	const uint32_t *tokens;
	/** @language: language of the window, as "en"; "": the model has only one */
	const char *language;
	/** @logprob: mean log-probability of the window's tokens */
	float logprob;
	/**
	 * @no_speech: probability that the window has no speech, 0 if the model does not
	 * compute it
	 */
	float no_speech;
	/** @temperature: temperature that was used for the window */
	float temperature;
	/** @compression: compression ratio of the window's text with zlib */
	float compression;
};

/**
 * typedef accel_vad_fn - voice activity detector
 * @user: passed on
 * @frame: index of the frame, 0: the first of a recording
 * @samples: its 160 samples, which are 10 ms
 * @probability: out: probability that it is speech
 *
 * Return: 0; anything else ends the transcription, with that error if negative, else with
 * -ECANCELED.
 */
typedef int accel_vad_fn(void *user, uint64_t frame, const float *samples, float *probability);

/**
 * struct accel_vad_opts - options of voice activity detection
 *
 * A frame of 10 ms is speech if its level, the mean square of three frames, is above
 * @level_db and at least @snr_db above the noise floor, the smallest level within @memory_ms.
 * Frames are classified half a second after they arrive. If @probability is set, it decides
 * instead, immediately.
 */
struct accel_vad_opts {
	/** @size: sizeof(struct accel_vad_opts) */
	uint32_t size;
	/** @level_db: smallest level of speech, in decibels of full scale, from -120 to 0 */
	float level_db;
	/** @snr_db: smallest distance from the noise floor, in decibels, from 0 to 60 */
	float snr_db;
	/** @memory_ms: time over which the noise floor is measured, from 500 to 60000 */
	float memory_ms;
	/** @min_speech_ms: shorter speech is ignored, from 0 to 5000 */
	float min_speech_ms;
	/** @hangover_ms: shorter pauses are part of the speech, from 0 to 30000 */
	float hangover_ms;
	/**
	 * @margin_ms: time included before and after speech, at most @hangover_ms, from 0 to
	 * 5000
	 */
	float margin_ms;
	/** @threshold: smallest probability of speech, from 0 to 1 */
	float threshold;
	/** @probability: detector, NULL: levels */
	accel_vad_fn *probability;
	/** @user: argument of @probability */
	void *user;
};

/** ACCEL_VAD_OPTS_INIT: default options */
#define ACCEL_VAD_OPTS_INIT \
	{ sizeof(struct accel_vad_opts), -55, 9, 3000, 50, 500, 150, 0.5f, NULL, NULL }

/** ACCEL_SPEECH_NO_TIMES: the model does not write times, even if it can */
#define ACCEL_SPEECH_NO_TIMES	(1u << 0)
/** ACCEL_SPEECH_TRANSLATE: translate to English, if the model supports that */
#define ACCEL_SPEECH_TRANSLATE	(1u << 1)

/** ACCEL_SPEECH_NO_CONDITION: the preceding text is not the prompt of a window */
#define ACCEL_SPEECH_NO_CONDITION	(1u << 2)
/**
 * ACCEL_SPEECH_INT8: products in 8 bits: weights are quantised with a scale for each 32 when
 * the model is opened, the other operands in the same way in each run; sums, convolutions and
 * attention are fp32
 */
#define ACCEL_SPEECH_INT8		(1u << 3)

/** ACCEL_SPEECH_SEQUENCES_MAX: largest number of beams, and of sampled sequences */
#define ACCEL_SPEECH_SEQUENCES_MAX	16

/**
 * struct accel_speech_opts - options of accel_speech_create()
 */
struct accel_speech_opts {
	/** @size: sizeof(struct accel_speech_opts) */
	uint32_t size;
	/** @flags: ACCEL_SPEECH_* */
	uint32_t flags;
	/** @language: spoken language, as "en"; NULL: detected for each window */
	const char *language;
	/** @compile: options for encoder and decoder, or NULL */
	const struct accel_compile_opts *compile;
	/** @beams: number of beams at temperature 0; 0, 1: greedy */
	uint32_t beams;
	/**
	 * @best_of: number of sequences that are sampled at other temperatures, of which the
	 * best is used; 0: 1
	 */
	uint32_t best_of;
	/** @patience: the search ends after @beams times this number of hypotheses; from 1 to 16 */
	float patience;
	/**
	 * @length_penalty: the score of beams and sampled sequences is the sum of
	 * log-probabilities divided by ((5 + tokens) / 6) ^ this, from 0 to 16 (Y. Wu and
	 * others, arXiv:1609.08144); NAN: divided by the number of tokens
	 */
	float length_penalty;
	/** @temperature: the first temperature, from 0 to 16 */
	float temperature;
	/** @temperature_step: step to the next temperature, up to 1; 0: only the first */
	float temperature_step;
	/** @compression: text with a higher compression ratio is repetitive; INFINITY: no check */
	float compression;
	/** @logprob: text with a lower mean log-probability is unlikely; -INFINITY: no check */
	float logprob;
	/**
	 * @no_speech: a window with a higher probability of no speech, and below @logprob, is
	 * silent; INFINITY: no check
	 */
	float no_speech;
	/** @pad: 0 */
	uint32_t pad;
	/** @seed: seed of the random numbers, which restart with each recording */
	uint64_t seed;
	/**
	 * @vad: only detected speech is transcribed, each stretch in windows of its own;
	 * NULL: everything
	 */
	const struct accel_vad_opts *vad;
};

/** ACCEL_SPEECH_OPTS_INIT: default options: those of the model's authors, without beams */
#define ACCEL_SPEECH_OPTS_INIT \
	{ sizeof(struct accel_speech_opts), 0, NULL, NULL, 0, 0, 1, __builtin_nanf(""), 0, 0.2f, \
	  2.4f, -1, 0.6f, 0, 0, NULL }

/**
 * accel_speech_create - create a transcriber
 * @ctx: context
 * @path: folder of a Whisper model: config.json, safetensors, tokenizer.json, and optionally
 *	preprocessor_config.json and generation_config.json
 * @opts: options, or NULL
 * @error: filled if it fails, may be NULL
 * @speech: out: transcriber; used by one thread at a time
 *
 * Return: 0; -EOPNOTSUPP not a Whisper model, or other features; -EBADMSG inconsistent files;
 * -EINVAL NULL, options, a language or a task that the model does not have; -E2BIG; errors of
 * open() and of accel_graph_compile(); -ENOMEM.
 */
ACCEL_API int accel_speech_create(struct accel_ctx *ctx, const char *path,
				  const struct accel_speech_opts *opts, struct accel_error *error,
				  struct accel_speech **speech);

/**
 * accel_speech_destroy - release a transcriber
 * @speech: transcriber, or NULL
 */
ACCEL_API void accel_speech_destroy(struct accel_speech *speech);

/**
 * typedef accel_speech_fn - receives a segment
 * @user: passed on
 * @segment: segment
 *
 * Return: 0 to go on; anything else ends the transcription.
 */
typedef int accel_speech_fn(void *user, const struct accel_speech_segment *segment);

/**
 * accel_speech_push - add samples
 * @speech: transcriber
 * @samples: samples
 * @count: how many
 * @fn: called for the segments of complete windows, in their order
 * @user: passed on
 *
 * Return: 0; -EINVAL NULL, samples that are NaN or beyond ACCEL_SPEECH_LOUDEST: none was
 * added; -ECANCELED @fn ended it; errors of accel_state_run(); errors of the voice activity
 * detector, -EDOM its probability was NaN. After all errors but the first, remaining samples
 * are dropped, and the next ones begin a recording.
 */
ACCEL_API int accel_speech_push(struct accel_speech *speech, const float *samples, size_t count,
				accel_speech_fn *fn, void *user);

/**
 * accel_speech_finish - end a recording
 * @speech: transcriber
 * @fn: called for the segments of the rest
 * @user: passed on
 *
 * The next samples begin another recording.
 *
 * Return: as accel_speech_push().
 */
ACCEL_API int accel_speech_finish(struct accel_speech *speech, accel_speech_fn *fn, void *user);

/**
 * accel_speech_features - compute the features of a window, the input of the encoder
 * @speech: transcriber
 * @samples: samples
 * @count: number of samples, at most a window; padded with silence
 * @features: out: [mels, frames] of accel_speech_get_info()
 *
 * Return: 0; -EINVAL NULL, too many samples, or invalid ones.
 */
ACCEL_API int accel_speech_features(struct accel_speech *speech, const float *samples,
				    size_t count, float *features);

/**
 * struct accel_speech_info - description and statistics of a transcriber
 */
struct accel_speech_info {
	/** @size: sizeof(struct accel_speech_info) */
	uint32_t size;
	/** @mels: number of mel bands of a frame */
	uint32_t mels;
	/** @frames: number of frames of a window */
	uint32_t frames;
	/** @window: number of samples of a window */
	uint32_t window;
	/** @times: 1: the model writes times */
	uint32_t times;
	/** @languages: number of languages that can be selected */
	uint32_t languages;
	/** @windows: number of transcribed windows */
	uint64_t windows;
	/** @tries: number of tries, one for each temperature of a window */
	uint64_t tries;
	/** @prompt_tokens: number of tokens of preceding text in prompts, for all tries */
	uint64_t prompt_tokens;
	/** @tokens: number of generated tokens */
	uint64_t tokens;
	/** @samples: number of samples that were pushed */
	uint64_t samples;
	/**
	 * @speech: number of samples that were transcribed: all without voice activity
	 * detection
	 */
	uint64_t speech;
	/** @stretches: number of detected stretches of speech */
	uint64_t stretches;
	/** @features_ns: time spent on features */
	uint64_t features_ns;
	/** @encode_ns: time spent in the encoder */
	uint64_t encode_ns;
	/** @decode_ns: time spent in the decoder */
	uint64_t decode_ns;
};

/**
 * accel_speech_get_info - describe a transcriber
 * @speech: transcriber
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
