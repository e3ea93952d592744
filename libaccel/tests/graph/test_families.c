// SPDX-License-Identifier: MIT
/*
 * Families of models from folders: decoders over a cache of pages, in pieces, beside the same
 * ones as a whole; folders that are wrong; and the tokenizer that a GGUF file has.
 */
#include <accel/generate.h>
#include <accel/model.h>
#include <accel/tokenizer.h>
#include <inttypes.h>
#include <unistd.h>
#include "graphtest.h"
#include "libaccel/tests/data.h"

#define PROMPT	40
#define VOCAB	256

static char folder[32];

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static struct accel_model *open_model(const char *name)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m;

	if (accel_model_open(path_of(name), &e, &m))
		fail_msg("%s: %s", name, e.text);
	return m;
}

static struct accel_state *start(struct bed *bed, struct accel_graph *graph, uint32_t level)
{
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_program *program;
	struct accel_state *state;

	opts.level = level;
	if (accel_graph_compile(bed->ctx, graph, &opts, &program)) {
		accel_ctx_get_error(bed->ctx, &e);
		fail_msg("%s", e.text);
	}
	assert_int_equal(accel_state_create(program, &state), 0);
	accel_program_unref(program);
	return state;
}

static void *set(struct accel_state *state, uint32_t index, uint32_t rank, const int64_t *dims)
{
	void *p;

	assert_int_equal(accel_state_set_input(state, index, rank, dims, NULL, 0), 0);
	p = accel_state_get_input(state, index, NULL);
	assert_non_null(p);
	return p;
}

static void run(struct bed *bed, struct accel_state *state)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (accel_state_run(state)) {
		accel_ctx_get_error(bed->ctx, &e);
		fail_msg("%s", e.text);
	}
}

static const float *result(struct accel_state *state, const char *name, uint64_t rows,
			   uint64_t *columns)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *data;
	uint32_t i;

	for (i = 0; !accel_state_get_output(state, i, &v, &data); i++)
		if (!strcmp(v.name, name))
			break;
	assert_string_equal(v.name, name);
	assert_int_equal(v.type, ACCEL_F32);
	assert_int_equal(v.dims[v.rank - 2], rows);
	*columns = (uint64_t)v.dims[v.rank - 1];
	return data;
}

/* The prompt as a whole; logits of its tokens, to be given to free() */
static float *whole(struct bed *bed, const char *name, uint64_t *columns)
{
	struct accel_model *m = open_model(name);
	struct accel_state *state = start(bed, accel_model_graph(m), 3);
	int64_t *ids = set(state, 0, 2, DIMS(1, PROMPT));
	const float *logits;
	float *copy;
	int i;

	for (i = 0; i < PROMPT; i++)
		ids[i] = (i * 37 + 11) % VOCAB;
	run(bed, state);
	logits = result(state, "logits", PROMPT, columns);
	copy = malloc(PROMPT * *columns * sizeof(*copy));
	assert_non_null(copy);
	memcpy(copy, logits, PROMPT * *columns * sizeof(*copy));
	accel_state_destroy(state);
	accel_model_close(m);
	return copy;
}

/* Tokens from @from on, into the places of a cache whose pages lie in order */
static void put_piece(struct accel_state *state, int64_t from, int64_t count)
{
	enum { IN_TOKENS, IN_POSITIONS, IN_SLOTS, IN_PAGES, IN_LENGTHS, IN_ROWS };
	int32_t *tokens = set(state, IN_TOKENS, 2, DIMS(1, count));
	int32_t *at = set(state, IN_POSITIONS, 2, DIMS(1, count));
	int32_t *slots = set(state, IN_SLOTS, 1, DIMS(count));
	int32_t *pages = set(state, IN_PAGES, 2, DIMS(1, PROMPT / 4));
	int32_t *lengths = set(state, IN_LENGTHS, 2, DIMS(1, 3));
	int32_t *rows = set(state, IN_ROWS, 1, DIMS(count)), i;

	for (i = 0; i < count; i++) {
		at[i] = (int32_t)from + i;
		slots[i] = at[i];
		tokens[i] = (at[i] * 37 + 11) % VOCAB;
		rows[i] = i;
	}
	for (i = 0; i < PROMPT / 4; i++)
		pages[i] = i;
	lengths[0] = (int32_t)(from + count);
	lengths[1] = (int32_t)count;
	lengths[2] = 0;
}

static void check_cached(struct bed *bed, const char *name, uint32_t layers, uint32_t heads,
			 uint32_t dim, uint32_t level, uint32_t dtype, float bound)
{
	static const int64_t pieces[] = { 9, 1, 1, 16, 13 };
	struct accel_decoder_opts opts = ACCEL_DECODER_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	uint64_t columns, hidden, i, k;
	float *want = whole(bed, name, &columns), most = 0, error = 0;
	struct accel_model *m = open_model(name);
	struct accel_graph *graph;
	struct accel_state *state;
	const float *logits;
	int64_t from = 0;

	opts.page_size = 4;
	opts.context = PROMPT;
	opts.dtype = dtype;
	if (accel_model_decoder(m, &opts, &e, &graph))
		fail_msg("%s: %s", name, e.text);
	accel_model_close(m);
	state = start(bed, graph, level);
	accel_graph_destroy(graph);
	set(state, 6, 5, DIMS(layers, PROMPT / 4, 4, heads, dim));
	set(state, 7, 5, DIMS(layers, PROMPT / 4, 4, heads, dim));
	for (i = 8; dtype == ACCEL_S8 && i < 10; i++)
		set(state, (uint32_t)i, 5, DIMS(layers, PROMPT / 4, 4, heads, 1));
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		put_piece(state, from, pieces[i]);
		run(bed, state);
		logits = result(state, "logits", (uint64_t)pieces[i], &k);
		assert_int_equal(k, columns);
		result(state, "hidden", (uint64_t)pieces[i], &hidden);
		for (k = 0; k < (uint64_t)pieces[i] * columns; k++) {
			assert_true(isfinite(logits[k]) &&
				    isfinite(want[(uint64_t)from * columns + k]));
			error = fmaxf(error, fabsf(logits[k] - want[(uint64_t)from * columns + k]));
			most = fmaxf(most, fabsf(logits[k]));
		}
		from += pieces[i];
	}
	assert_int_equal(from, PROMPT);
	if (!(error <= bound * most) || (dtype && !(error > 0.00001f * most)))
		fail_msg("%s, cache of type %u: %g of %g", name, dtype, (double)error,
			 (double)most);
	accel_state_destroy(state);
	free(want);
}

static void test_cached(void **arg)
{
	static const struct {
		const char *name;
		uint32_t layers;
		uint32_t heads;
		uint32_t dim;
	} models[] = {
		{ "hf/gpt2", 3, 4, 16 }, { "hf/llama", 2, 2, 16 },
		{ "hf/mistral-window", 2, 2, 16 }, { "hf/qwen2", 2, 2, 16 },
		{ "hf-c/qwen3", 2, 1, 16 }, { "hf-c/gemma2", 2, 2, 16 },
		{ "hf-c/gpt-neox", 2, 4, 12 }, { "hf-c/phi3", 2, 4, 12 },
		{ "hf-c/mixtral", 2, 2, 12 }, { "hf-c/llama-yarn", 2, 2, 12 },
	};
	/* Of the largest logit: what types of a cache have to keep */
	static const struct {
		uint32_t dtype;
		float bound;
	} types[] = {
		{ ACCEL_F16, 0.002f }, { ACCEL_BF16, 0.015f }, { ACCEL_S8, 0.045f }
	};
	uint32_t i, k, level;

	for (i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		for (level = 0; level <= 3; level += 3)
			check_cached(*arg, models[i].name, models[i].layers, models[i].heads,
				     models[i].dim, level, 0, 0.00001f);
		for (k = 0; k < sizeof(types) / sizeof(types[0]); k++)
			check_cached(*arg, models[i].name, models[i].layers, models[i].heads,
				     models[i].dim, 3, types[k].dtype, types[k].bound);
	}
}

static void test_opts(void **arg)
{
	struct accel_decoder_opts opts = ACCEL_DECODER_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m = open_model("hf/llama");
	struct accel_graph *graph = NULL;

	(void)arg;
	assert_int_equal(accel_model_decoder(NULL, &opts, &e, &graph), -EINVAL);
	/* What has an encoder too goes on with nothing by itself. */
	accel_model_close(m);
	m = open_model("hf/whisper");
	assert_int_equal(accel_model_decoder(m, NULL, NULL, &graph), -EOPNOTSUPP);
	assert_int_equal(accel_model_decoder(m, NULL, &e, &graph), -EOPNOTSUPP);
	assert_true(e.text[0]);
	accel_model_close(m);
	m = open_model("hf/llama");
	assert_int_equal(accel_model_decoder(m, &opts, &e, NULL), -EINVAL);
	/* More than there is becomes what there is. */
	opts.context = 129;
	assert_int_equal(accel_model_decoder(m, &opts, &e, &graph), 0);
	accel_graph_destroy(graph);
	graph = NULL;
	opts.context = 0;
	opts.layers = 3;
	assert_int_equal(accel_model_decoder(m, &opts, &e, &graph), -EINVAL);
	assert_true(e.text[0]);
	assert_null(graph);
	assert_int_equal(accel_model_decoder(m, NULL, NULL, &graph), 0);
	accel_graph_destroy(graph);
	accel_model_close(m);
}

/* The folder "wrong": the one of @name with @from replaced by @to in its config.json */
static void change(const char *name, const char *from, const char *to)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "cd %s && rm -rf wrong && cp -r %s wrong", folder,
		 name);
	assert_int_equal(system(cmd), 0);
	snprintf(cmd, sizeof(cmd), "cd %s/wrong && sed -i 's/%s/%s/' config.json", folder, from,
		 to);
	assert_int_equal(system(cmd), 0);
	snprintf(cmd, sizeof(cmd), "cd %s && ! cmp -s %s/config.json wrong/config.json", folder,
		 name);
	assert_int_equal(system(cmd), 0);
}

/* A sequence goes on to the end of the context, and is not one token longer. */
static void check_context(struct bed *bed, const char *name, uint32_t context, uint32_t want)
{
	struct accel_generator_info info = { .size = sizeof(info) };
	struct accel_decoder_opts opts = ACCEL_DECODER_OPTS_INIT;
	struct accel_request request = ACCEL_REQUEST_INIT;
	struct accel_event event = ACCEL_EVENT_INIT;
	struct accel_model *m = open_model(name);
	struct accel_generator *g = NULL;
	struct accel_graph *graph;
	const int32_t token = 5;
	uint32_t count = 1;
	uint64_t id;

	opts.context = context;
	assert_int_equal(accel_model_decoder(m, &opts, NULL, &graph), 0);
	accel_model_close(m);
	assert_int_equal(accel_generator_create(bed->ctx, graph, NULL, &g), 0);
	assert_int_equal(accel_generator_get_info(g, &info), 0);
	if (info.context != want)
		fail_msg("%s: a context of %u, not %u", name, info.context, want);
	request.tokens = &token;
	request.count = 1;
	assert_int_equal(accel_generator_submit(g, &request, &id), 0);
	for (;;) {
		assert_int_equal(accel_generator_next(g, id, &event), 0);
		if (event.kind == ACCEL_EVENT_END)
			break;
		count++;
	}
	if (event.end != ACCEL_END_LENGTH || count != want)
		fail_msg("%s: ends as %u after %u tokens: %d", name, event.end, count, event.error);
	accel_generator_destroy(g);
	accel_graph_destroy(graph);
}

static void test_context(void **arg)
{
	/* Whole pages: what is asked for, or what there are positions for */
	check_context(*arg, "hf/llama", 33, 48);
	change("hf/gpt2", "\"n_positions\": 96", "\"n_positions\": 95");
	check_context(*arg, "wrong", 0, 80);
	change("hf/gpt2", "\"n_positions\": 96", "\"n_positions\": 5");
	check_context(*arg, "wrong", 0, 5);
}

/* What is said of a folder whose config.json has @from replaced by @to */
static void check_wrong_of(const char *name, const char *from, const char *to, int ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m = NULL;
	int r;

	change(name, from, to);
	r = accel_model_open(path_of("wrong"), &e, &m);
	if (r != ret || !e.text[0])
		fail_msg("%s: %d, not %d: %s", to, r, ret, e.text);
}

static void check_wrong(const char *from, const char *to, int ret)
{
	check_wrong_of("hf/llama", from, to, ret);
}

static void test_wrong(void **arg)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m = NULL;

	(void)arg;
	check_wrong("\"llama\"", "\"lama\"", -EOPNOTSUPP);
	check_wrong("model_type", "type", -EOPNOTSUPP);
	check_wrong("\"hidden_size\": 64", "\"hidden_size\": 48", -EBADMSG);
	check_wrong("\"hidden_size\": 64", "\"hidden_size\": -64", -EBADMSG);
	check_wrong("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", -EBADMSG);
	check_wrong("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1e30", -EBADMSG);
	check_wrong("\"num_attention_heads\": 4", "\"num_attention_heads\": 0", -EBADMSG);
	check_wrong("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", -EBADMSG);
	check_wrong("\"head_dim\": 16", "\"head_dim\": 17", -EBADMSG);
	check_wrong("\"rope_type\": \"default\"", "\"rope_type\": \"dynamic\"", -EOPNOTSUPP);
	check_wrong("\"hidden_act\": \"silu\"", "\"hidden_act\": \"sine\"", -EOPNOTSUPP);
	check_wrong("\"head_dim\": 16", "\"head_dim\": 16, \"rotary_dim\": 4294967300",
		    -EBADMSG);
	check_wrong("{", "", -EBADMSG);
	check_wrong("^}", "} {", -EBADMSG);
	/* More positions than the table has */
	check_wrong_of("hf/gpt2", "\"n_positions\": 96", "\"n_positions\": 97", -EBADMSG);
	check_wrong_of("hf/bert", "_embeddings\": 64", "_embeddings\": 65", -EBADMSG);
	check_wrong_of("hf/bert", "\"model_type\"",
		       "\"position_embedding_type\": \"relative_key\", \"model_type\"",
		       -EOPNOTSUPP);
	check_wrong_of("hf/bert", "\"model_type\"",
		       "\"position_embedding_type\": 1, \"model_type\"", -EOPNOTSUPP);
	check_wrong_of("hf/bert", "\"model_type\"",
		       "\"position_embedding_type\": [\"absolute\"], \"model_type\"",
		       -EOPNOTSUPP);
	check_wrong_of("hf/bert", "\"model_type\"",
		       "\"position_embedding_type\": \"\", \"model_type\"", -EOPNOTSUPP);
	check_wrong_of("hf-c/roberta", "\"pad_token_id\": 1", "\"pad_token_id\": 59", -EBADMSG);
	check_wrong_of("hf/whisper", "_attention_heads\": 4", "_attention_heads\": 5", -EBADMSG);
	check_wrong_of("hf/whisper", "_source_positions\": 60", "_source_positions\": 61",
		       -EBADMSG);
	check_wrong_of("hf/whisper", "_target_positions\": 40", "_target_positions\": 41",
		       -EBADMSG);
	check_wrong_of("hf/whisper", "\"num_mel_bins\": 40", "\"num_mel_bins\": 80", -EINVAL);
	check_wrong_of("hf/whisper", "\"encoder_layers\": 2", "\"encoder_layers\": 3", -EBADMSG);
	check_wrong_of("hf/whisper", "\"decoder_layers\": 2", "\"decoder_layers\": 0", -EBADMSG);
	check_wrong_of("hf/whisper", "\"activation_function\": \"gelu\"",
		       "\"activation_function\": \"sine\"", -EOPNOTSUPP);
	assert_int_equal(accel_model_open(path_of("none"), &e, &m), -ENOENT);
	assert_int_equal(accel_model_open(folder, &e, &m), -ENOENT);
	assert_true(e.text[0]);
}

static int no_item(void *user, const struct accel_model_item *item)
{
	(void)user;
	(void)item;
	return 1;
}

/* A pipe in a folder is no file: nobody waits for who writes to it. */
static void test_pipe(void **arg)
{
	static const char *const files[] = { "config.json", "model.safetensors" };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t = NULL;
	struct accel_model *m = NULL;
	char cmd[512];
	uint32_t i;

	(void)arg;
	alarm(60);
	for (i = 0; i < 2; i++) {
		snprintf(cmd, sizeof(cmd),
			 "cd %s && rm -rf pipe && cp -r hf/llama pipe && rm pipe/%s && mkfifo pipe/%s pipe/tokenizer.json",
			 folder, files[i], files[i]);
		assert_int_equal(system(cmd), 0);
		assert_int_equal(accel_model_open(path_of("pipe"), &e, &m), -EBADMSG);
		assert_non_null(strstr(e.text, files[i]));
		assert_int_equal(accel_tokenizer_open(path_of("pipe"), &e, &t), -EBADMSG);
		assert_non_null(strstr(e.text, "tokenizer.json"));
		assert_int_equal(accel_model_open(path_of("pipe/tokenizer.json"), &e, &m),
				 -EBADMSG);
		assert_int_equal(accel_model_scan(path_of("pipe/tokenizer.json"), no_item, NULL),
				 -EBADMSG);
	}
	alarm(0);
}

/* The path of a folder is never cut: what it is too long for is refused. */
static void test_long_path(void **arg)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t = NULL;
	struct accel_model *m = NULL;
	char path[4200];
	size_t n = (size_t)snprintf(path, sizeof(path), "%s", path_of("hf/llama"));

	(void)arg;
	for (; n < 4050; n += 2)
		memcpy(path + n, "/.", 3);
	assert_int_equal(accel_model_open(path, &e, &m), 0);
	accel_model_close(m);
	for (; n < 4070; n += 2)
		memcpy(path + n, "/.", 3);
	assert_int_equal(accel_model_open(path, &e, &m), -ENAMETOOLONG);
	assert_non_null(strstr(e.text, "too long"));
	for (; n < 4090; n += 2)
		memcpy(path + n, "/.", 3);
	assert_int_equal(accel_model_open(path, &e, &m), -ENAMETOOLONG);
	assert_int_equal(accel_tokenizer_open(path, &e, &t), -ENAMETOOLONG);
}

/* RoBERTa's positions begin behind the token that fills: so many fewer tokens there can be. */
static void test_longest(void **arg)
{
	struct bed *bed = *arg;
	struct accel_model *m = open_model("hf-c/roberta");
	struct accel_state *state = start(bed, accel_model_graph(m), 3);
	int64_t *ids, *mask;
	int i;

	set(state, 0, 2, DIMS(1, 59));
	set(state, 1, 2, DIMS(1, 59));
	assert_int_equal(accel_state_run(state), -EINVAL);
	ids = set(state, 0, 2, DIMS(1, 58));
	mask = set(state, 1, 2, DIMS(1, 58));
	for (i = 0; i < 58; i++) {
		ids[i] = 5 + i;
		mask[i] = 1;
	}
	run(bed, state);
	accel_state_destroy(state);
	accel_model_close(m);
}

/* --- the tokenizer of a GGUF file ---------------------------------------------------------- */

struct out {
	uint8_t p[4096];
	size_t n;
};

static void put(struct out *o, const void *p, size_t n)
{
	assert_true(o->n + n < sizeof(o->p));
	memcpy(o->p + o->n, p, n);
	o->n += n;
}

static void put_number(struct out *o, uint64_t x, size_t bytes)
{
	put(o, &x, bytes);
}

static void put_text(struct out *o, const char *text)
{
	put_number(o, strlen(text), 8);
	put(o, text, strlen(text));
}

static void write_out(const struct out *o, const char *name)
{
	FILE *f = fopen(path_of(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(o->p, 1, o->n, f), o->n);
	assert_int_equal(fclose(f), 0);
}

static const char *const pieces[] = { "<unk>", "<s>", "</s>", "\342\226\201", "a", "b", "ab",
				      "\342\226\201ab" };

/* Eight pieces, @scores of them; @pre: how BPE cuts texts; @bos: do they begin with a token? */
static void write_tokens(uint64_t scores, const char *pre, int bos)
{
	static const float values[] = { 0, 0, 0, -9, -8, -7, -2, -1 };
	static const int32_t types[] = { 2, 3, 3, 1, 1, 1, 1, 1 };
	struct out o = { .n = 0 };
	uint32_t i;

	put(&o, "GGUF", 4);
	put_number(&o, 3, 4);
	put_number(&o, 0, 8);
	put_number(&o, 6u + !!pre + (bos >= 0), 8);
	if (pre) {
		put_text(&o, "tokenizer.ggml.pre");
		put_number(&o, 8, 4);
		put_text(&o, pre);
	}
	if (bos >= 0) {
		put_text(&o, "tokenizer.ggml.add_bos_token");
		put_number(&o, 7, 4);
		put_number(&o, (uint64_t)bos, 1);
	}
	put_text(&o, "tokenizer.ggml.model");
	put_number(&o, 8, 4);
	put_text(&o, pre ? "gpt2" : "llama");
	put_text(&o, "tokenizer.ggml.tokens");
	put_number(&o, 9, 4);
	put_number(&o, 8, 4);
	put_number(&o, 8, 8);
	for (i = 0; i < 8; i++)
		put_text(&o, pieces[i]);
	put_text(&o, "tokenizer.ggml.scores");
	put_number(&o, 9, 4);
	put_number(&o, 6, 4);
	put_number(&o, scores, 8);
	for (i = 0; i < scores; i++)
		put(&o, &values[i], 4);
	put_text(&o, "tokenizer.ggml.token_type");
	put_number(&o, 9, 4);
	put_number(&o, 5, 4);
	put_number(&o, 8, 8);
	for (i = 0; i < 8; i++)
		put(&o, &types[i], 4);
	put_text(&o, "tokenizer.ggml.bos_token_id");
	put_number(&o, 4, 4);
	put_number(&o, 1, 4);
	put_text(&o, "tokenizer.ggml.eos_token_id");
	put_number(&o, 4, 4);
	put_number(&o, 2, 4);
	write_out(&o, "tokens.gguf");
}

static void test_tokens(void **arg)
{
	struct accel_tokenizer_info info = { .size = sizeof(info) };
	struct accel_encode_args args = ACCEL_ENCODE_ARGS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t = NULL;
	struct accel_token *list = NULL;
	size_t count = 0;

	(void)arg;
	write_tokens(8, NULL, -1);
	if (accel_tokenizer_open(path_of("tokens.gguf"), &e, &t))
		fail_msg("%s", e.text);
	assert_int_equal(accel_tokenizer_get_info(t, &info), 0);
	assert_int_equal(info.count, 8);
	assert_int_equal(info.bos, 1);
	assert_int_equal(info.eos, 2);
	args.text = "ab a";
	args.bytes = 4;
	assert_int_equal(accel_tokenizer_encode(t, &args, &list, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(list[0].id, 7);
	assert_int_equal(list[1].id, 3);
	assert_int_equal(list[2].id, 4);
	free(list);
	accel_tokenizer_close(t);
	write_tokens(7, NULL, -1);
	assert_int_equal(accel_tokenizer_open(path_of("tokens.gguf"), &e, &t), -EBADMSG);
	assert_true(e.text[0]);
}

/* Many files of LLaMA 3 do not say that texts begin with a token: how they cut texts does. */
static void test_begins(void **arg)
{
	static const struct {
		const char *pre;
		int said;
		bool begins;
	} cases[] = {
		{ "llama-bpe", -1, true }, { "llama-bpe", 0, false }, { "gpt-2", -1, false },
		{ "tekken", -1, true }, { "gpt-2", 1, true }, { "qwen2", -1, false },
		{ NULL, -1, true }, { NULL, 0, false }
	};
	struct accel_encode_args args = ACCEL_ENCODE_ARGS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t = NULL;
	struct accel_token *list = NULL;
	size_t count, i;

	(void)arg;
	args.text = "ab";
	args.bytes = 2;
	args.flags = ACCEL_ENCODE_ADD_SPECIAL;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_tokens(8, cases[i].pre, cases[i].said);
		if (accel_tokenizer_open(path_of("tokens.gguf"), &e, &t))
			fail_msg("%s", e.text);
		assert_int_equal(accel_tokenizer_encode(t, &args, &list, &count), 0);
		assert_true(count > cases[i].begins);
		assert_int_equal(list[0].id == 1, cases[i].begins);
		free(list);
		accel_tokenizer_close(t);
	}
}

/* A part has some of the tensors: what is wrong is not that the others are missing. */
static void test_split(void **arg)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *model = NULL;
	struct out o = { .n = 0 };

	(void)arg;
	put(&o, "GGUF", 4);
	put_number(&o, 3, 4);
	put_number(&o, 0, 8);
	put_number(&o, 2, 8);
	put_text(&o, "general.architecture");
	put_number(&o, 8, 4);
	put_text(&o, "llama");
	put_text(&o, "split.count");
	put_number(&o, 2, 4);
	put_number(&o, 3, 2);
	write_out(&o, "split.gguf");
	assert_int_equal(accel_model_open(path_of("split.gguf"), &e, &model), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "one of 3 files"));
}

static int make_folder(void **state)
{
	char cmd[512];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_families.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(cmd, sizeof(cmd), "tar -C %s -xJf %s", folder, ZOO_HF);
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
		cmocka_unit_test_setup_teardown(test_cached, bed_setup, bed_teardown),
		cmocka_unit_test(test_opts),
		cmocka_unit_test_setup_teardown(test_context, bed_setup, bed_teardown),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test_setup_teardown(test_longest, bed_setup, bed_teardown),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_begins),
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests_name("families", tests, make_folder, drop_folder);
}
