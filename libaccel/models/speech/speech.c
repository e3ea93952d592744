// SPDX-License-Identifier: MIT
/*
 * Models that hear, and windows one after the other.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/errno_text.h"
#include "libaccel/core/fpmode.h"
#include "speech.h"

/* Less than this is not worth a window of its own behind another one. */
#define REST	(ACCEL_SPEECH_RATE / 10)

/**
 * struct files - what a model's folder has
 * @model: config.json and weights
 * @preprocessor: preprocessor_config.json, if there is one
 * @generation: generation_config.json, if there is one
 */
struct files {
	struct family_model *model;
	struct config preprocessor;
	struct config generation;
};

static int open_optional(struct config *c, const char *folder, const char *name,
			 struct accel_error *error)
{
	int ret = config_open(c, folder, name, error);

	return ret == -ENOENT ? 0 : ret;
}

static int open_files(struct files *f, const char *path, struct accel_error *error)
{
	int ret = family_open(path, &f->model, error);

	if (!ret && f->model->family->build != whisper_build)
		ret = stored_fail(error, -EOPNOTSUPP, "%.60s is no model that hears",
				  f->model->config.type);
	if (!ret)
		ret = open_optional(&f->preprocessor, path, "preprocessor_config.json", error);
	if (!ret)
		ret = open_optional(&f->generation, path, "generation_config.json", error);
	return ret;
}

static void close_files(struct files *f)
{
	family_close(f->model);
	config_close(&f->preprocessor);
	config_close(&f->generation);
}

/* What a window is follows from the encoder; the file beside it must not say otherwise. */
static int take_features(struct accel_speech *s, const struct files *f, struct accel_error *error)
{
	const int64_t mels = config_whole(&f->model->config, "num_mel_bins", 0);
	const int64_t rows = config_whole(&f->model->config, "max_source_positions", 0);
	const struct {
		const char *name;
		int64_t want;
	} fields[] = {
		{ "n_fft", FEATURES_FFT }, { "hop_length", FEATURES_HOP },
		{ "sampling_rate", ACCEL_SPEECH_RATE }, { "feature_size", mels },
		{ "n_samples", 2 * rows * FEATURES_HOP }
	};
	uint32_t i;

	/* More are no model's, and room is made before there are weights to compare with. */
	if (mels < 1 || mels > 4096 || rows < 1 || rows > 1 << 16)
		return stored_fail(error, -EBADMSG, "%s is %lld, not from 1 to %d",
				   mels < 1 || mels > 4096 ? "num_mel_bins" : "max_source_positions",
				   (long long)(mels < 1 || mels > 4096 ? mels : rows),
				   mels < 1 || mels > 4096 ? 4096 : 1 << 16);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		int64_t n = config_whole(&f->preprocessor, fields[i].name, fields[i].want);

		if (n != fields[i].want)
			return stored_fail(error, -EOPNOTSUPP,
					   "preprocessor_config.json: %s is %lld, not %lld",
					   fields[i].name, (long long)n,
					   (long long)fields[i].want);
	}
	s->window = (uint32_t)fields[4].want;
	s->info.mels = (uint32_t)mels;
	s->info.frames = 2 * (uint32_t)rows;
	s->info.window = s->window;
	s->samples = calloc(s->window, sizeof(*s->samples));
	if (!s->samples || features_create(&s->features, (uint32_t)mels, s->info.frames))
		return stored_fail(error, -ENOMEM, "out of memory");
	return 0;
}

/* --- encoder and decoder --------------------------------------------------------------- */

static int run_fail(struct accel_speech *s, int ret, struct accel_error *error)
{
	accel_ctx_get_error(s->ctx, error);
	return error->code == ret ? ret : stored_fail(error, ret, "%s", errno_text(-ret));
}

static int make_encoder(struct accel_speech *s, const struct files *f,
			const struct accel_compile_opts *opts, struct accel_error *error)
{
	const struct family_form encoder = { .encoder = true };
	struct accel_program *program = NULL;
	struct accel_graph *graph = NULL;
	int ret = family_graph(f->model, &encoder, NULL, error, &graph);

	if (ret)
		return ret;
	ret = accel_graph_compile(s->ctx, graph, opts, &program);
	if (!ret)
		ret = accel_state_create(program, &s->encoder);
	accel_program_unref(program);
	accel_graph_destroy(graph);
	return ret ? run_fail(s, ret, error) : 0;
}

static int make_decoder(struct accel_speech *s, const struct files *f,
			const struct accel_compile_opts *opts, struct accel_error *error)
{
	struct accel_decoder_opts cache = ACCEL_DECODER_OPTS_INIT;
	const uint32_t beams = s->opts.beams ? s->opts.beams : 1;
	const uint32_t page = family_page_size(&f->model->shape);
	struct engine_opts engine = { beams, beams, beams, opts, true };
	struct accel_graph *graph = NULL;
	int ret;

	s->context = (uint32_t)f->model->shape.positions / page * page;
	s->most = s->context > 1 ? s->context / 2 : 1;
	/* What begins a window is there once, and what beams write for each of them. */
	cache.page_size = page;
	engine.pages = s->context / page + 1 + (beams - 1) * (s->most / page + 2);
	ret = family_graph(f->model, NULL, &cache, error, &graph);
	if (ret)
		return ret;
	ret = engine_create(&s->engine, s->ctx, graph, &engine);
	accel_graph_destroy(graph);
	if (ret)
		return run_fail(s, ret, error);
	if (s->engine.vocabulary != f->model->shape.vocab)
		return stored_fail(error, -EBADMSG, "vocab_size is %lld, of %u tokens",
				   (long long)f->model->shape.vocab, s->engine.vocabulary);
	s->said = calloc(s->context, sizeof(*s->said));
	s->draft = calloc(s->context, sizeof(*s->draft));
	s->told = calloc(s->context, sizeof(*s->told));
	s->allowed = calloc(s->engine.vocabulary, sizeof(*s->allowed));
	s->first = calloc(s->engine.vocabulary, sizeof(*s->first));
	return s->said && s->draft && s->told && s->allowed && s->first ? 0 :
	       stored_fail(error, -ENOMEM, "out of memory");
}

static int take_words(struct accel_speech *s, const struct files *f, const char *path,
		      const char *language, struct accel_error *error)
{
	int ret = accel_tokenizer_open(path, error, &s->tokenizer);

	if (!ret)
		ret = words_open(&s->words, s->tokenizer, &f->model->config, &f->generation,
				 s->engine.vocabulary, s->opts.flags, error);
	if (ret)
		return ret;
	s->info.times = s->words.time != ACCEL_TOKEN_NONE;
	s->info.languages = s->words.language_count;
	s->language = language ? words_language(&s->words, language) : NULL;
	if (language && !s->language)
		return stored_fail(error, -EINVAL, "the model knows no language %.20s", language);
	return 0;
}

static int check_opts(const struct accel_speech_opts *o, struct accel_error *error)
{
	const struct {
		const char *name;
		double value, min, max;
	} numbers[] = {
		{ "beams", o->beams, 0, ACCEL_SPEECH_SEQUENCES_MAX },
		{ "best_of", o->best_of, 0, ACCEL_SPEECH_SEQUENCES_MAX },
		{ "patience", (double)o->patience, 1, 16 },
		{ "length_penalty", isnan(o->length_penalty) ? 0 : (double)o->length_penalty, 0,
		  16 },
		{ "temperature", (double)o->temperature, 0, 16 },
		/* With less a window would be heard for ever. */
		{ "temperature_step", o->temperature_step == 0 ? 1 : (double)o->temperature_step,
		  0.01, 16 },
		{ "compression", (double)o->compression, 0, INFINITY },
		{ "logprob", (double)o->logprob, -INFINITY, INFINITY },
		{ "no_speech", (double)o->no_speech, 0, INFINITY },
		{ "pad", o->pad, 0, 0 }
	};
	uint32_t i;

	if (o->flags & ~(ACCEL_SPEECH_NO_TIMES | ACCEL_SPEECH_TRANSLATE |
			 ACCEL_SPEECH_NO_CONDITION | ACCEL_SPEECH_INT8))
		return stored_fail(error, -EINVAL, "flags that are not known");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!(numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].max))
			return stored_fail(error, -EINVAL, "%s is %g, not from %g to %g",
					   numbers[i].name, numbers[i].value, numbers[i].min,
					   numbers[i].max);
	return 0;
}

static int check_vad(const struct accel_vad_opts *o, struct accel_error *error)
{
	const struct {
		const char *name;
		float value, min, max;
	} numbers[] = {
		{ "level_db", o->level_db, -120, 0 }, { "snr_db", o->snr_db, 0, 60 },
		{ "memory_ms", o->memory_ms, 500, 60000 },
		{ "min_speech_ms", o->min_speech_ms, 0, 5000 },
		{ "hangover_ms", o->hangover_ms, 0, 30000 },
		{ "margin_ms", o->margin_ms, 0, fminf(o->hangover_ms, 5000) },
		{ "threshold", o->threshold, 0, 1 }
	};
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!(numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].max))
			return stored_fail(error, -EINVAL, "vad.%s is %g, not from %g to %g",
					   numbers[i].name, (double)numbers[i].value,
					   (double)numbers[i].min, (double)numbers[i].max);
	return 0;
}

static int take_vad(struct accel_speech *s, const struct accel_vad_opts *o,
		    struct accel_error *error)
{
	int ret;

	if (!o)
		return 0;
	if (o->size != sizeof(*o))
		return stored_fail(error, o->size > sizeof(*o) ? -E2BIG : -EINVAL,
				   "vad.size is %u, not %zu", o->size, sizeof(*o));
	ret = check_vad(o, error);
	if (ret)
		return ret;
	s->gated = true;
	return vad_create(&s->vad, o) ? stored_fail(error, -ENOMEM, "out of memory") : 0;
}

int accel_speech_create(struct accel_ctx *ctx, const char *path,
			const struct accel_speech_opts *opts, struct accel_error *error,
			struct accel_speech **speech)
{
	FP_MODE_SCOPE();
	struct accel_speech_opts o = ACCEL_SPEECH_OPTS_INIT;
	struct accel_error unheard;
	struct files f = { 0 };
	struct accel_speech *s;
	int ret;

	if (!ctx || !path || !speech || (opts && opts->size < sizeof(o)))
		return -EINVAL;
	if (opts && opts->size > sizeof(o))
		return -E2BIG;
	if (opts)
		o = *opts;
	error = error ? error : &unheard;
	ret = check_opts(&o, error);
	if (ret)
		return ret;
	s = calloc(1, sizeof(*s));
	if (!s)
		return stored_fail(error, -ENOMEM, "out of memory");
	s->ctx = ctx;
	s->opts = o;
	s->opts.vad = NULL;
	ret = take_vad(s, o.vad, error);
	if (!ret)
		ret = open_files(&f, path, error);
	if (!ret)
		f.model->bytes = o.flags & ACCEL_SPEECH_INT8;
	if (!ret)
		ret = take_features(s, &f, error);
	if (!ret)
		ret = make_encoder(s, &f, o.compile, error);
	if (!ret)
		ret = make_decoder(s, &f, o.compile, error);
	if (!ret)
		ret = take_words(s, &f, path, o.language, error);
	close_files(&f);
	if (ret)
		accel_speech_destroy(s);
	else
		*speech = s;
	return ret;
}

void accel_speech_destroy(struct accel_speech *speech)
{
	if (!speech)
		return;
	accel_state_destroy(speech->encoder);
	if (speech->engine.program)
		engine_destroy(&speech->engine);
	features_destroy(&speech->features);
	vad_destroy(&speech->vad);
	words_close(&speech->words);
	accel_tokenizer_close(speech->tokenizer);
	free(speech->samples);
	accel_sampler_destroy(speech->dice);
	free(speech->said);
	free(speech->draft);
	free(speech->told);
	free(speech->allowed);
	free(speech->first);
	free(speech);
}

/* --- windows one after the other --------------------------------------------------------- */

static void forget(struct accel_speech *s)
{
	s->waiting = 0;
	s->before = 0;
	s->from = 0;
	s->told_count = 0;
	vad_reset(&s->vad);
	accel_sampler_destroy(s->dice);
	s->dice = NULL;
}

static int next_window(struct accel_speech *s, accel_speech_fn *fn, void *user)
{
	uint32_t done;
	int ret = listen_window(s, fn, user, &done);

	if (ret) {
		forget(s);
		return ret;
	}
	s->waiting -= done;
	s->before += done;
	memmove(s->samples, s->samples + done, s->waiting * sizeof(*s->samples));
	return 0;
}

/* What waits, in as many windows as it takes */
static int hear_rest(struct accel_speech *s, accel_speech_fn *fn, void *user)
{
	int ret = 0;

	while (!ret && (s->waiting > REST || (s->waiting && s->before == s->from)))
		ret = next_window(s, fn, user);
	s->waiting = 0;
	return ret;
}

/**
 * struct hearing - who is told of what is heard
 * @s: model
 * @fn: told segments
 * @user: for @fn
 */
struct hearing {
	struct accel_speech *s;
	accel_speech_fn *fn;
	void *user;
};

static int hear_samples(void *user, const float *samples, size_t count)
{
	struct hearing *h = user;
	struct accel_speech *s = h->s;
	size_t n;
	int ret = 0;

	s->info.speech += count;
	while (count && !ret) {
		n = s->window - s->waiting;
		n = n < count ? n : count;
		memcpy(s->samples + s->waiting, samples, n * sizeof(*samples));
		s->waiting += (uint32_t)n;
		samples += n;
		count -= n;
		/* A full one waits for the next sample: it may be the last window. */
		if (s->waiting == s->window && count)
			ret = next_window(s, h->fn, h->user);
	}
	return ret;
}

static int begin_stretch(void *user, uint64_t at)
{
	struct hearing *h = user;

	h->s->before = at;
	h->s->from = at;
	h->s->info.stretches++;
	return 0;
}

static int end_stretch(void *user)
{
	struct hearing *h = user;

	return hear_rest(h->s, h->fn, h->user);
}

int accel_speech_push(struct accel_speech *speech, const float *samples, size_t count,
		      accel_speech_fn *fn, void *user)
{
	FP_MODE_SCOPE();
	struct hearing h = { speech, fn, user };
	const struct vad_sink sink = { begin_stretch, hear_samples, end_stretch, &h };
	int ret;

	if (!speech || !samples || !features_sound(samples, count))
		return -EINVAL;
	speech->info.samples += count;
	ret = speech->gated ? vad_push(&speech->vad, samples, count, &sink) :
	      hear_samples(&h, samples, count);
	if (ret)
		forget(speech);
	return ret;
}

int accel_speech_finish(struct accel_speech *speech, accel_speech_fn *fn, void *user)
{
	FP_MODE_SCOPE();
	struct hearing h = { speech, fn, user };
	const struct vad_sink sink = { begin_stretch, hear_samples, end_stretch, &h };
	int ret = 0;

	if (!speech)
		return -EINVAL;
	if (speech->gated)
		ret = vad_finish(&speech->vad, &sink);
	if (!ret)
		ret = hear_rest(speech, fn, user);
	forget(speech);
	return ret;
}

int accel_speech_features(struct accel_speech *speech, const float *samples, size_t count,
			  float *features)
{
	FP_MODE_SCOPE();

	if (!speech || !samples || !features || count > speech->window ||
	    !features_sound(samples, count))
		return -EINVAL;
	features_make(&speech->features, samples, count, features);
	return 0;
}

int accel_speech_get_info(const struct accel_speech *speech, struct accel_speech_info *info)
{
	if (!speech || !info || info->size < sizeof(*info))
		return -EINVAL;
	*info = speech->info;
	info->size = sizeof(*info);
	return 0;
}
