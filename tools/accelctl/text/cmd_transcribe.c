// SPDX-License-Identifier: MIT
/*
 * transcribe
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <accel/speech.h>

#include "interrupt.h"
#include "progress.h"
#include "text.h"

enum { FORMAT_TEXT, FORMAT_SRT, FORMAT_VTT, FORMAT_JSON };

/* Samples that are read at a time */
#define PIECE	8192

/**
 * struct transcript - what is written down
 * @s: device and context
 * @speech: model
 * @audio: sound
 * @format: of what is written
 * @list: document: segments, NULL: they are written as they come
 * @count: segments
 */
struct transcript {
	struct speaker s;
	struct accel_speech *speech;
	struct accel_audio *audio;
	uint32_t format;
	struct json_object *list;
	uint32_t count;
};

/* 00:00:00,000 */
static void put_time(double seconds, char point)
{
	unsigned long long ms = (unsigned long long)(seconds * 1000 + 0.5);

	printf("%02llu:%02llu:%02llu%c%03llu", ms / 3600000, ms / 60000 % 60, ms / 1000 % 60, point,
	       ms % 1000);
}

/* On one line; WebVTT has marks in its text. */
static void put_text(const char *text, bool marks)
{
	for (; *text; text++) {
		if (marks && *text == '&')
			fputs("&amp;", stdout);
		else if (marks && *text == '<')
			fputs("&lt;", stdout);
		else if (marks && *text == '>')
			fputs("&gt;", stdout);
		else
			putchar((unsigned char)*text < ' ' ? ' ' : *text);
	}
}

static void add_segment(struct transcript *t, const struct accel_speech_segment *g)
{
	struct json_object *o = ctl_json_obj(t->list, NULL), *tokens;
	uint32_t i;

	ctl_json_real(o, "start", g->start);
	ctl_json_real(o, "end", g->end);
	json_object_object_add(o, "text", json_object_new_string_len(g->text, (int)g->bytes));
	ctl_json_str(o, "language", g->language);
	ctl_json_real(o, "logprob", (double)g->logprob);
	ctl_json_real(o, "no_speech", (double)g->no_speech);
	ctl_json_real(o, "temperature", (double)g->temperature);
	ctl_json_real(o, "compression_ratio", (double)g->compression);
	tokens = ctl_json_arr(o, "tokens");
	for (i = 0; i < g->token_count; i++)
		json_object_array_add(tokens, json_object_new_int64(g->tokens[i]));
}

static int hear(void *user, const struct accel_speech_segment *g)
{
	struct transcript *t = user;
	const char point = t->format == FORMAT_SRT ? ',' : '.';

	t->count++;
	if (t->format == FORMAT_JSON) {
		add_segment(t, g);
		return ctl_interrupted();
	}
	if (t->format == FORMAT_SRT)
		printf("%u\n", t->count);
	if (t->format != FORMAT_TEXT) {
		put_time(g->start, point);
		fputs(" --> ", stdout);
		put_time(g->end, point);
		putchar('\n');
	}
	put_text(g->text, t->format == FORMAT_VTT);
	fputs(t->format == FORMAT_TEXT ? "\n" : "\n\n", stdout);
	fflush(stdout);
	return ctl_interrupted();
}

static int open_all(struct transcript *t, const char *file)
{
	struct accel_speech_opts opts = ACCEL_SPEECH_OPTS_INIT;
	struct accel_compile_opts compile = ACCEL_COMPILE_OPTS_INIT;
	struct accel_ctx_opts ctx = ACCEL_CTX_OPTS_INIT;
	const struct text_opts *o = t->s.opts;
	struct accel_vad_opts vad = ACCEL_VAD_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	struct ctl *ctl = t->s.ctl;
	int ret;

	if (!o->model)
		return ctl_fail(ctl, CTL_USAGE, 0, "--model", "which model?");
	if (!file)
		return ctl_fail(ctl, CTL_USAGE, 0, NULL, "which file? - is the standard input");
	ret = ctl_open(ctl, ctl->device, (uint32_t)o->threads, &t->s.dev);
	if (ret)
		return ret;
	ctx.weights_dir = o->no_cache ? NULL : "";
	ret = accel_ctx_create(t->s.dev, &ctx, &t->s.ctx);
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, NULL, "no context");
	opts.flags = (o->no_times ? ACCEL_SPEECH_NO_TIMES : 0) |
		     (o->translate ? ACCEL_SPEECH_TRANSLATE : 0) |
		     (o->no_condition ? ACCEL_SPEECH_NO_CONDITION : 0) |
		     (o->dtype ? ACCEL_SPEECH_INT8 : 0);
	opts.language = o->language;
	compile.progress = ctl_repacking;
	opts.compile = &compile;
	opts.beams = (uint32_t)o->beams;
	opts.best_of = (uint32_t)o->best_of;
	opts.patience = (float)o->patience;
	opts.length_penalty = (float)o->length_penalty;
	opts.temperature = (float)o->temperature;
	opts.temperature_step = (float)o->temperature_step;
	opts.compression = (float)o->compression;
	opts.logprob = (float)o->logprob;
	opts.no_speech = (float)o->no_speech;
	opts.seed = o->seed;
	opts.vad = o->vad ? &vad : NULL;
	ret = accel_speech_create(t->s.ctx, o->model, &opts, &error, &t->speech);
	if (ret)
		return ctl_fail_error(ctl, ret == -EINVAL ? CTL_USAGE : ctl_status(ret), o->model,
				      &error);
	ret = accel_audio_open(file, &error, &t->audio);
	return ret ? ctl_fail_error(ctl, ctl_status(ret), NULL, &error) : CTL_OK;
}

static int listen(struct transcript *t, const char *file)
{
	float *samples = ctl_alloc(PIECE, sizeof(*samples));
	uint32_t count = 1;
	int ret = 0, bad = 0;

	while (count && !ret && !bad && !ctl_interrupted()) {
		bad = accel_audio_read(t->audio, samples, PIECE, &count);
		if (!bad)
			ret = accel_speech_push(t->speech, samples, count, hear, t);
	}
	if (!ret && !bad && !ctl_interrupted())
		ret = accel_speech_finish(t->speech, hear, t);
	free(samples);
	if (ctl_interrupted())
		return CTL_INTERRUPTED;
	if (bad)
		return ctl_fail(t->s.ctl, ctl_status(bad), bad, file, "%s", bad == -EBADMSG ?
				"samples that are no numbers, or far too loud" : strerror(-bad));
	return ret ? speaker_fail(&t->s, ret) : CTL_OK;
}

static void tell(struct transcript *t, double took)
{
	struct accel_speech_info info = { .size = sizeof(info) };
	struct json_object *doc;
	double length;

	accel_speech_get_info(t->speech, &info);
	length = (double)info.samples / ACCEL_SPEECH_RATE;
	if (t->format != FORMAT_JSON) {
		ctl_note(t->s.ctl, "%.2f s of sound in %.3f s, %.1f times as fast as it was said: features %.3f s, encoder %.3f s, decoder %.3f s for %llu tokens",
			 length, took, took > 0 ? length / took : 0, (double)info.features_ns / 1e9,
			 (double)info.encode_ns / 1e9, (double)info.decode_ns / 1e9,
			 (unsigned long long)info.tokens);
		return;
	}
	doc = ctl_schema(t->s.ctl);
	json_object_object_add(doc, "segments", json_object_get(t->list));
	ctl_json_real(doc, "duration_s", length);
	ctl_json_real(doc, "speech_s", (double)info.speech / ACCEL_SPEECH_RATE);
	ctl_json_uint(doc, "stretches", info.stretches);
	ctl_json_uint(doc, "windows", info.windows);
	ctl_json_uint(doc, "tries", info.tries);
	ctl_json_uint(doc, "prompt_tokens", info.prompt_tokens);
	ctl_json_uint(doc, "tokens", info.tokens);
	ctl_json_real(doc, "features_s", (double)info.features_ns / 1e9);
	ctl_json_real(doc, "encode_s", (double)info.encode_ns / 1e9);
	ctl_json_real(doc, "decode_s", (double)info.decode_ns / 1e9);
	ctl_json_real(doc, "total_s", took);
	/* As usual: processing time for one second of audio */
	ctl_json_real(doc, "real_time_factor", length > 0 ? took / length : 0);
	ctl_json_print(t->s.ctl, doc);
}

int cmd_transcribe(struct ctl *ctl, void *data, const char *operand)
{
	struct transcript t = { .s = { .ctl = ctl, .opts = data } };
	double start;
	int ret;

	t.format = ctl->json ? FORMAT_JSON : t.s.opts->format;
	ctl_catch_interrupt();
	ret = open_all(&t, operand);
	if (!ret && t.format == FORMAT_JSON)
		t.list = json_object_new_array();
	if (!ret && t.format == FORMAT_VTT)
		puts("WEBVTT\n");
	start = speaker_now();
	if (!ret) {
		ret = listen(&t, operand);
		/* What was heard up to an interrupt is not lost. */
		if (!ret || (ret == CTL_INTERRUPTED && t.list))
			tell(&t, speaker_now() - start);
	}
	json_object_put(t.list);
	accel_audio_close(t.audio);
	accel_speech_destroy(t.speech);
	speaker_close(&t.s);
	return ret;
}
