// SPDX-License-Identifier: MIT
/*
 * embed
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <accel/embed.h>

#include "npy.h"
#include "progress.h"
#include "text.h"

/* Default context: the memory of attention grows with it. */
#define CONTEXT		4096
#define TEXTS_MAX	(1u << 20)
#define SIMILAR_MAX	4096u

/**
 * struct embed - vectors in work
 * @s: device, context, tokenizer
 * @embedder: what makes them
 * @info: of it
 * @texts: texts
 * @count: how many
 * @cap: room
 * @lines: what they are of, or NULL
 * @ids: tokens in their place, or NULL
 * @vectors: F32 [count, width]
 */
struct embed {
	struct speaker s;
	struct accel_embedder *embedder;
	struct accel_embedder_info info;
	struct accel_embed_text *texts;
	uint32_t count;
	uint32_t cap;
	char *lines;
	int32_t *ids;
	float *vectors;
};

/* --- texts ------------------------------------------------------------------------------- */

static int add_text(struct embed *e, const char *text, size_t bytes)
{
	uint32_t cap = e->cap ? 2 * e->cap : 64;
	struct accel_embed_text *more;

	if (e->count == TEXTS_MAX)
		return ctl_fail(e->s.ctl, CTL_USAGE, -E2BIG, NULL, "more than %u texts", TEXTS_MAX);
	if (e->count == e->cap) {
		more = realloc(e->texts, cap * sizeof(*more));
		if (!more)
			return ctl_fail(e->s.ctl, CTL_FAILED, -ENOMEM, NULL, "no memory for texts");
		e->texts = more;
		e->cap = cap;
	}
	e->texts[e->count++] = (struct accel_embed_text) { .text = text, .bytes = bytes };
	return CTL_OK;
}

/* The last line need not end; one that is empty is a text, too. */
static int add_lines(struct embed *e, const char *file)
{
	size_t bytes = 0, n;
	char *at, *end;
	int ret = text_read(e->s.ctl, file, &e->lines, &bytes);

	for (at = e->lines; !ret && bytes; at += n, bytes -= n) {
		end = memchr(at, '\n', bytes);
		n = end ? (size_t)(end - at) : bytes;
		ret = add_text(e, at, n && at[n - 1] == '\r' ? n - 1 : n);
		n += !!end;
	}
	return ret;
}

static int find_texts(struct embed *e, const char *operand)
{
	const struct text_opts *o = e->s.opts;
	const char *file = operand ? operand : o->file;
	struct ctl *ctl = e->s.ctl;
	uint32_t i, count = 0;
	int ret = CTL_OK;

	if (!o->model)
		return ctl_fail(ctl, CTL_USAGE, 0, "--model", "which model?");
	if (operand && strcmp(operand, "-") != 0)
		return ctl_fail(ctl, CTL_USAGE, 0, operand,
				"is not expected: files come by --file");
	if (!!o->texts.count + !!o->file + !!o->ids + !!operand != 1)
		return ctl_fail(ctl, CTL_USAGE, 0, "--prompt",
				"one of --prompt, --file, --input-ids and -");
	for (i = 0; i < o->texts.count && !ret; i++)
		ret = add_text(e, o->texts.v[i], strlen(o->texts.v[i]));
	if (file)
		ret = add_lines(e, file);
	if (o->ids)
		ret = text_ids(ctl, "--input-ids", o->ids, &e->ids, &count);
	if (!ret && o->ids) {
		ret = add_text(e, NULL, 0);
		if (!ret) {
			e->texts->tokens = e->ids;
			e->texts->count = count;
		}
	}
	if (!ret && o->similarity && e->count > SIMILAR_MAX)
		return ctl_fail(ctl, CTL_USAGE, 0, "--similarity", "for at most %u texts, not %u",
				SIMILAR_MAX, e->count);
	return ret || e->count ? ret : ctl_fail(ctl, CTL_USAGE, 0, file, "has no line");
}

/* --- vectors ----------------------------------------------------------------------------- */

static int open_model(struct embed *e)
{
	static const uint32_t poolings[] = { ACCEL_POOL_DEFAULT, ACCEL_POOL_MEAN, ACCEL_POOL_FIRST,
					     ACCEL_POOL_LAST, ACCEL_POOL_LARGEST };
	struct accel_embedder_opts opts = ACCEL_EMBEDDER_OPTS_INIT;
	struct accel_compile_opts compile = ACCEL_COMPILE_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	const struct text_opts *o = e->s.opts;
	struct accel_model *model = NULL;
	int ret = speaker_model(&e->s, o->model, true, &model);

	if (ret)
		return ret;
	opts.pooling = poolings[o->pooling] | (o->normalise ? ACCEL_POOL_NORMALISE : 0);
	opts.flags = o->reproducible ? ACCEL_EMBED_UNPADDED : 0;
	opts.batch = (uint32_t)o->batch;
	opts.tokens = o->context ? (uint32_t)o->context : CONTEXT;
	opts.tokenizer = e->s.tokenizer;
	compile.off = o->no_repack ? ACCEL_COMPILE_NO_REPACK : 0;
	compile.precision = o->dtype;
	compile.progress = ctl_repacking;
	opts.compile = &compile;
	ret = accel_embedder_create(e->s.ctx, model, &opts, &error, &e->embedder);
	accel_model_close(model);
	if (ret)
		return ctl_fail_error(e->s.ctl, ctl_status(ret), o->model, &error);
	e->info.size = sizeof(e->info);
	accel_embedder_get_info(e->embedder, &e->info);
	return CTL_OK;
}

static int compute(struct embed *e)
{
	uint32_t i;
	int ret;

	e->vectors = ctl_alloc((size_t)e->count * e->info.width, sizeof(*e->vectors));
	ret = accel_embedder_run(e->embedder, e->texts, e->count, e->vectors);
	/* The texts before the one with the error have been checked. */
	for (i = 0; ret == -EINVAL && i < e->count; i++)
		if (!e->texts[i].used)
			return ctl_fail(e->s.ctl, CTL_USAGE, ret,
					e->s.opts->ids ? "--input-ids" : NULL,
					"text %u has no token, or one that the model does not have",
					i + 1);
	if (ret)
		return speaker_fail(&e->s, ret);
	for (i = 0; i < e->count; i++)
		if (e->texts[i].used < e->texts[i].count)
			ctl_note(e->s.ctl, "text %u: %u tokens, of which %u are used", i + 1,
				 e->texts[i].count, e->texts[i].used);
	return CTL_OK;
}

static double cosine(const struct embed *e, uint32_t i, uint32_t k)
{
	const float *a = e->vectors + (size_t)i * e->info.width;
	const float *b = e->vectors + (size_t)k * e->info.width;
	double ab = 0, aa = 0, bb = 0;
	uint32_t n;

	for (n = 0; n < e->info.width; n++) {
		ab += (double)a[n] * (double)b[n];
		aa += (double)a[n] * (double)a[n];
		bb += (double)b[n] * (double)b[n];
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static void tell_json(const struct embed *e)
{
	static const char *const names[] = { "last", "cls", "mean", "max" };
	const struct text_opts *o = e->s.opts;
	struct json_object *doc = ctl_schema(e->s.ctl), *list = ctl_json_arr(NULL, NULL), *o1, *row;
	uint32_t i, k;

	ctl_json_uint(doc, "width", e->info.width);
	ctl_json_str(doc, "pooling", names[e->info.pooling & 3]);
	ctl_json_bool(doc, "normalized", e->info.pooling & ACCEL_POOL_NORMALISE);
	ctl_json_uint(doc, "most_tokens", e->info.tokens);
	json_object_object_add(doc, "texts", list);
	for (i = 0; i < e->count; i++) {
		o1 = ctl_json_obj(list, NULL);
		ctl_json_uint(o1, "tokens", e->texts[i].count);
		ctl_json_uint(o1, "used", e->texts[i].used);
		ctl_json_bool(o1, "truncated", e->texts[i].used < e->texts[i].count);
		row = o->similarity || o->out ? NULL : ctl_json_arr(o1, "vector");
		for (k = 0; row && k < e->info.width; k++)
			ctl_json_real(row, NULL,
				      (double)e->vectors[(size_t)i * e->info.width + k]);
	}
	list = o->similarity ? ctl_json_arr(doc, "similarity") : NULL;
	for (i = 0; list && i < e->count; i++) {
		row = ctl_json_arr(list, NULL);
		for (k = 0; k < e->count; k++)
			ctl_json_real(row, NULL, cosine(e, i, k));
	}
	ctl_json_print(e->s.ctl, doc);
}

static void tell_text(const struct embed *e)
{
	const bool cosines = e->s.opts->similarity;
	uint32_t i, k, n = cosines ? e->count : e->info.width;

	for (i = 0; i < e->count; i++)
		for (k = 0; k < n; k++)
			if (cosines)
				printf("%.6f%c", cosine(e, i, k), k + 1 < n ? ' ' : '\n');
			else
				printf("%.9g%c", (double)e->vectors[(size_t)i * n + k],
				       k + 1 < n ? ' ' : '\n');
}

static int tell(const struct embed *e)
{
	const uint64_t dims[2] = { e->count, e->info.width };
	const char *out = e->s.opts->out;
	int ret = out ? npy_save(out, "<f4", 4, 2, dims, e->vectors) : 0;

	if (ret)
		return ctl_fail(e->s.ctl, CTL_FAILED, ret, out, "cannot be written: %s",
				strerror(-ret));
	if (e->s.ctl->json)
		tell_json(e);
	else if (!out || e->s.opts->similarity)
		tell_text(e);
	return CTL_OK;
}

int cmd_embed(struct ctl *ctl, void *data, const char *operand)
{
	struct embed e = { .s = { .ctl = ctl, .opts = data } };
	int ret = find_texts(&e, operand);

	if (!ret)
		ret = speaker_tokenizer(&e.s);
	if (!ret)
		ret = speaker_start(&e.s);
	if (!ret)
		ret = open_model(&e);
	if (!ret)
		ret = compute(&e);
	if (!ret)
		ret = tell(&e);
	accel_embedder_destroy(e.embedder);
	speaker_close(&e.s);
	free(e.texts);
	free(e.lines);
	free(e.ids);
	free(e.vectors);
	return ret;
}
