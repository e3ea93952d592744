// SPDX-License-Identifier: MIT
/* A model that continues text, on a device, with its tokenizer. */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "text.h"

#define TEXT_MAX	(256u << 20)
/* Default context, which determines the size of caches. */
#define CONTEXT		4096

double speaker_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Report the library's error, if there is one. */
int speaker_fail(struct speaker *s, int ret)
{
	if (ret == -EDOM || ret == -ENODATA)
		return ctl_fail(s->ctl, CTL_FAILED, ret, NULL, "%s", ret == -EDOM ?
				"what the model computes is NaN or infinite" :
				"no token can follow: by the schema, or by biases");
	return ctl_fail_ctx(s->ctl, ctl_status(ret), NULL, s->ctx, ret);
}

/* --- tokens that end texts ------------------------------------------------------------ */

void speaker_add_end(struct speaker *s, int64_t token)
{
	uint32_t i;

	for (i = 0; i < s->end_count; i++)
		if (s->ends[i] == token)
			return;
	if (token >= 0 && token < INT32_MAX && s->end_count < 16)
		s->ends[s->end_count++] = (uint32_t)token;
}

/* eos_token_id of a file of the model's folder, if it is there: a number or several */
static int read_ends(struct speaker *s, const char *file)
{
	struct json_object *doc, *ids = NULL, *start;
	bool there;
	char *path;
	size_t i;

	if (asprintf(&path, "%s/%s", s->opts->model, file) < 0)
		return ctl_fail(s->ctl, CTL_FAILED, -ENOMEM, NULL, "out of memory");
	there = !access(path, F_OK);
	doc = there ? json_object_from_file(path) : NULL;
	free(path);
	if (there && !json_object_is_type(doc, json_type_object)) {
		json_object_put(doc);
		return ctl_fail(s->ctl, ctl_status(-EBADMSG), -EBADMSG, file, "not a JSON object");
	}
	if (doc)
		json_object_object_get_ex(doc, "eos_token_id", &ids);
	if (doc && json_object_object_get_ex(doc, "decoder_start_token_id", &start))
		s->start = json_object_get_int(start);
	if (json_object_is_type(ids, json_type_int))
		speaker_add_end(s, json_object_get_int64(ids));
	for (i = 0; json_object_is_type(ids, json_type_array) && i < json_object_array_length(ids);
	     i++)
		speaker_add_end(s,
				json_object_get_int64(json_object_array_get_idx(ids, i)));
	json_object_put(doc);
	return CTL_OK;
}

int speaker_tokenizer(struct speaker *s)
{
	struct accel_tokenizer_info info = { .size = sizeof(info) };
	struct accel_error error = ACCEL_ERROR_INIT;
	const char *path = s->opts->tokenizer ? s->opts->tokenizer : s->opts->model;
	int ret = accel_tokenizer_open(path, &error, &s->tokenizer);

	/* Tokens do without one. */
	if (ret && s->opts->ids && !s->opts->tokenizer)
		return CTL_OK;
	if (ret)
		return ctl_fail_error(s->ctl, ctl_status(ret), path, &error);
	if (!accel_tokenizer_get_info(s->tokenizer, &info) && info.eos != ACCEL_TOKEN_NONE)
		speaker_add_end(s, info.eos);
	return CTL_OK;
}

/* --- the model ------------------------------------------------------------------------ */

/* "FOLDER", or "FOLDER:SCALE" if the last part is a number and there is no folder of that name */
static int take_lora(struct speaker *s, char *text, struct accel_lora *lora)
{
	char *at = strrchr(text, ':'), *end = NULL;
	double scale = 1;

	if (at && access(text, F_OK)) {
		scale = strtod(at + 1, &end);
		if (end == at + 1 || *end || !isfinite((float)scale))
			return ctl_fail(s->ctl, CTL_USAGE, 0, "--lora",
					"%s: a folder, or one and a number behind a colon", text);
		*at = 0;
	}
	*lora = (struct accel_lora)ACCEL_LORA_INIT(text);
	lora->scale = (float)scale;
	return CTL_OK;
}

int speaker_model(struct speaker *s, const char *path, bool loras, struct accel_model **model)
{
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	const struct ctl_strings *names = &s->opts->loras;
	struct accel_lora list[CTL_LIST_MAX];
	char *texts[CTL_LIST_MAX];
	uint32_t i, n = 0;
	int ret = CTL_OK;

	for (; loras && n < names->count && !ret; n++) {
		texts[n] = ctl_alloc(strlen(names->v[n]) + 1, 1);
		strcpy(texts[n], names->v[n]);
		ret = take_lora(s, texts[n], &list[n]);
	}
	opts.loras = list;
	opts.lora_count = n;
	if (!ret) {
		ret = accel_model_open_opts(path, &opts, &error, model);
		if (ret)
			ret = ctl_fail_error(s->ctl, ctl_status(ret), path, &error);
	}
	for (i = 0; i < n; i++)
		free(texts[i]);
	return ret;
}

static int open_graph(struct speaker *s, const char *path, bool loras, struct accel_model **model,
		      struct accel_graph **graph)
{
	static const uint32_t kv_types[] = { ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S8 };
	struct accel_decoder_opts opts = ACCEL_DECODER_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	int ret = speaker_model(s, path, loras, model);

	if (ret)
		return ret;
	opts.dtype = kv_types[s->opts->kv_type];
	opts.context = s->opts->context ? (uint32_t)s->opts->context : CONTEXT;
	ret = accel_model_decoder(*model, &opts, &error, graph);
	return ret ? ctl_fail_error(s->ctl, ctl_status(ret), path, &error) : CTL_OK;
}

/* Most models have none. */
static int open_encoder(struct speaker *s, struct accel_model *model, struct accel_graph **graph)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	int ret = accel_model_encoder(model, &error, graph);

	if (ret == -EOPNOTSUPP)
		return CTL_OK;
	if (ret)
		return ctl_fail_error(s->ctl, ctl_status(ret), s->opts->model, &error);
	s->encodes = true;
	if (s->opts->draft || s->opts->lookup)
		return ctl_fail(s->ctl, CTL_USAGE, 0, s->opts->draft ? "--draft" : "--lookup",
				"not for a model with an encoder");
	return CTL_OK;
}

/* Beams have the pages of the text in common, and each its own of the answer. */
static uint32_t pages_of(const struct text_opts *o)
{
	/* Pages have 8 tokens at least. */
	const uint64_t size = 8, beams = o->beams;
	uint64_t all = ((o->context ? o->context : CONTEXT) + size - 1) / size;
	uint64_t answer = o->most ? o->most / size + 3 : all;

	return (uint32_t)(all + beams * (answer < all ? answer : all));
}

/* Once there is a generator, SIGINT ends an answer, and not what the generator does for it. */
static int on_repacking(void *user, uint64_t done, uint64_t total)
{
	const struct speaker *s = user;

	return ctl_repacking(NULL, done, total) && !s->generator;
}

static int open_generator(struct speaker *s)
{
	struct accel_generator_opts opts = ACCEL_GENERATOR_OPTS_INIT;
	struct accel_compile_opts compile = ACCEL_COMPILE_OPTS_INIT;
	struct accel_model_info info = { .size = sizeof(info) };
	struct accel_model *model = NULL, *draft = NULL;
	struct accel_graph *graph = NULL;
	int ret = open_graph(s, s->opts->model, true, &model, &graph);

	if (!ret)
		ret = open_encoder(s, model, &opts.encoder);
	if (!ret && s->opts->draft)
		ret = open_graph(s, s->opts->draft, false, &draft, &opts.draft);
	if (!ret) {
		if (!accel_model_get_info(model, &info))
			s->model_bytes = info.file_bytes;
		opts.batch = s->opts->beams ? (uint32_t)s->opts->beams : 1;
		opts.pages = s->opts->beams > 1 ? pages_of(s->opts) : 0;
		opts.tokens = (uint32_t)s->opts->chunk;
		opts.lookup = (uint32_t)s->opts->lookup;
		opts.tokenizer = s->tokenizer;
		compile.off = s->opts->no_repack ? ACCEL_COMPILE_NO_REPACK : 0;
		compile.precision = s->opts->dtype;
		compile.progress = on_repacking;
		compile.user = s;
		opts.compile = &compile;
		ret = accel_generator_create(s->ctx, graph, &opts, &s->generator);
		if (ret)
			ret = speaker_fail(s, ret);
	}
	/* The programs hold references to what they need. */
	accel_graph_destroy(graph);
	accel_graph_destroy(opts.draft);
	accel_graph_destroy(opts.encoder);
	accel_model_close(model);
	accel_model_close(draft);
	return ret;
}

/* --- how it chooses --------------------------------------------------------------------- */

/* A token's number, "=", and the bias */
static int take_bias(struct speaker *s, const char *text, struct accel_token_bias *bias)
{
	struct accel_generator_info info = { .size = sizeof(info) };
	unsigned long long token;
	char *end;

	accel_generator_get_info(s->generator, &info);
	errno = 0;
	token = strtoull(text, &end, 10);
	if (end == text || errno || *text < '0' || *text > '9' || *end != '=')
		goto bad;
	if (token >= info.vocabulary)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--logit-bias", "%s: the model has %u tokens",
				text, info.vocabulary);
	bias->token = (uint32_t)token;
	text = end + 1;
	bias->bias = strtof(text, &end);
	if (end != text && !*end && (isfinite(bias->bias) || bias->bias == -INFINITY))
		return CTL_OK;
bad:
	return ctl_fail(s->ctl, CTL_USAGE, 0, "--logit-bias",
			"a token's number, =, and a number or -inf");
}

/* The schema is parsed and checked separately, so that errors in it are reported. */
static int take_schema(struct speaker *s)
{
	struct accel_constraint *constraint = NULL;
	struct accel_error error = ACCEL_ERROR_INIT;
	const char *file = s->opts->schema;
	size_t bytes;
	int ret;

	if (!s->tokenizer)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--json-schema", "there is no tokenizer");
	ret = text_read(s->ctl, file, &s->schema, &bytes);
	if (ret)
		return ret;
	ret = accel_constraint_create(s->schema, bytes, &error, &constraint);
	accel_constraint_destroy(constraint);
	return ret ? ctl_fail_error(s->ctl, ctl_status(ret), file, &error) : CTL_OK;
}

static int take_choices(struct speaker *s)
{
	uint32_t i;
	int ret = s->opts->schema ? take_schema(s) : CTL_OK;

	for (i = 0; i < s->opts->biases.count && !ret; i++)
		ret = take_bias(s, s->opts->biases.v[i], &s->bias[i]);
	return ret;
}

/* --- all of it -------------------------------------------------------------------------- */

int speaker_start(struct speaker *s)
{
	struct accel_ctx_opts ctx = ACCEL_CTX_OPTS_INIT;
	int ret = ctl_open(s->ctl, s->ctl->device, (uint32_t)s->opts->threads, &s->dev);

	if (ret)
		return ret;
	ctx.flags = s->opts->reproducible ? ACCEL_CTX_REPRODUCIBLE : 0;
	ctx.weights_dir = s->opts->no_cache ? NULL : "";
	ret = accel_ctx_create(s->dev, &ctx, &s->ctx);
	return ret ? ctl_fail(s->ctl, ctl_status(ret), ret, NULL, "no context") : CTL_OK;
}

int speaker_open(struct speaker *s, struct ctl *ctl, const struct text_opts *opts)
{
	int ret;

	*s = (struct speaker) { .ctl = ctl, .opts = opts };
	if (!opts->model)
		return ctl_fail(ctl, CTL_USAGE, 0, "--model", "which model?");
	if (!opts->chat && !!opts->prompt + !!opts->file + !!opts->ids != 1)
		return ctl_fail(ctl, CTL_USAGE, 0, "--prompt",
				"one of --prompt, --file and --input-ids");
	ret = speaker_tokenizer(s);
	if (ret)
		return ret;
	ret = read_ends(s, "config.json");
	if (!ret)
		ret = read_ends(s, "generation_config.json");
	if (!ret)
		ret = speaker_start(s);
	if (!ret)
		ret = open_generator(s);
	return ret ? ret : take_choices(s);
}

void speaker_close(struct speaker *s)
{
	accel_generator_destroy(s->generator);
	accel_tokenizer_close(s->tokenizer);
	accel_ctx_destroy(s->ctx);
	accel_device_unref(s->dev);
	free(s->schema);
}

/* --- prompts ---------------------------------------------------------------------------- */

int speaker_check(struct speaker *s, const int32_t *tokens, uint32_t count)
{
	struct accel_generator_info info = { .size = sizeof(info) };
	uint32_t i;

	accel_generator_get_info(s->generator, &info);
	for (i = 0; i < count; i++)
		if ((uint32_t)tokens[i] >= info.vocabulary)
			return ctl_fail(s->ctl, CTL_USAGE, 0,
					s->opts->ids ? "--input-ids" : "--tokenizer",
					"token %d: the model has %u tokens", tokens[i],
					info.vocabulary);
	return CTL_OK;
}

int text_ids(struct ctl *ctl, const char *option, const char *ids, int32_t **tokens,
	     uint32_t *count)
{
	const char *at = ids;
	size_t cap = strlen(at) / 2 + 1;
	long long id;
	char *end;

	*tokens = ctl_alloc(cap, sizeof(**tokens));
	for (*count = 0;; at = end + 1) {
		errno = 0;
		id = strtoll(at, &end, 10);
		if (end == at || errno || id < 0 || id > INT32_MAX || (*end && *end != ','))
			return ctl_fail(ctl, CTL_USAGE, 0, option,
					"numbers from 0 on, with commas between them");
		(*tokens)[(*count)++] = (int32_t)id;
		if (!*end)
			return CTL_OK;
	}
}

int text_read(struct ctl *ctl, const char *file, char **text, size_t *bytes)
{
	bool in = !strcmp(file, "-");
	FILE *f = in ? stdin : fopen(file, "re");
	size_t cap = 65536, n;
	char *more;

	if (!f)
		return ctl_fail(ctl, CTL_FAILED, -errno, file, "%s", strerror(errno));
	*text = malloc(cap);
	for (*bytes = 0; *text && cap <= TEXT_MAX; *bytes += n) {
		if (*bytes == cap) {
			cap *= 2;
			more = realloc(*text, cap);
			if (!more)
				break;
			*text = more;
		}
		n = fread(*text + *bytes, 1, cap - *bytes, f);
		if (!n)
			break;
	}
	/* At the end of the file the last read was short, so the buffer has room. */
	n = *text && !ferror(f) && feof(f);
	if (n)
		(*text)[*bytes] = 0;
	if (!in)
		fclose(f);
	return n ? CTL_OK : ctl_fail(ctl, CTL_FAILED, 0, file, "cannot be read");
}

int speaker_encode(struct speaker *s, const char *text, size_t bytes, uint32_t flags,
		   int32_t **tokens, uint32_t *count)
{
	struct accel_encode_args args = ACCEL_ENCODE_ARGS_INIT;
	struct accel_token *list = NULL;
	size_t i, n = 0;
	int ret;

	args.flags = flags | ACCEL_ENCODE_WHOLE;
	args.text = text;
	args.bytes = bytes;
	ret = accel_tokenizer_encode(s->tokenizer, &args, &list, &n);
	if (ret)
		return ctl_fail(s->ctl, ctl_status(ret), ret, NULL, "the text has no tokens: %s",
				strerror(-ret));
	if (!n || n > INT32_MAX)
		ret = ctl_fail(s->ctl, CTL_USAGE, 0, NULL, "the text is empty");
	*tokens = ctl_alloc(n + 1, sizeof(**tokens));
	for (i = 0; i < n; i++)
		(*tokens)[i] = (int32_t)list[i].id;
	*count = (uint32_t)n;
	free(list);
	return ret;
}

int speaker_tokens(struct speaker *s, int32_t **tokens, uint32_t *count)
{
	const char *prompt = s->opts->prompt;
	char *text = NULL;
	size_t bytes;
	int ret = CTL_OK;

	*tokens = NULL;
	if (s->opts->ids)
		return text_ids(s->ctl, "--input-ids", s->opts->ids, tokens, count);
	bytes = prompt ? strlen(prompt) : 0;
	if (s->opts->file)
		ret = text_read(s->ctl, s->opts->file, &text, &bytes);
	if (!ret)
		ret = speaker_encode(s, text ? text : prompt, bytes, ACCEL_ENCODE_ADD_SPECIAL,
				     tokens, count);
	free(text);
	return ret;
}
