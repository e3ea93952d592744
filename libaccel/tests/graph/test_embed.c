// SPDX-License-Identifier: MIT
/*
 * Texts as vectors: beside what the test makes of the hidden states of the model's own graph, and
 * of a generator; many texts beside each alone; texts that are cut; what files say of pooling.
 */
#include <accel/embed.h>
#include <unistd.h>
#include "graphtest.h"
#include "libaccel/tests/data.h"

#define TEXTS	23
#define MOST	40
#define WIDTH	64

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

static struct accel_embedder *open_embedder(struct accel_ctx *ctx, const char *name,
					    const struct accel_embedder_opts *opts)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_model *m = open_model(name);
	struct accel_embedder *e;

	if (accel_embedder_create(ctx, m, opts, &error, &e))
		fail_msg("%s: %s", name, error.text);
	accel_model_close(m);
	return e;
}

static struct accel_embedder_info info_of(struct accel_embedder *e)
{
	struct accel_embedder_info info = { .size = sizeof(info) };

	assert_int_equal(accel_embedder_get_info(e, &info), 0);
	return info;
}

/* --- texts of many lengths --------------------------------------------------------------- */

static int32_t ids[TEXTS][MOST];

static void make_texts(struct accel_embed_text *texts)
{
	uint32_t i, k;

	memset(texts, 0, TEXTS * sizeof(*texts));
	for (i = 0; i < TEXTS; i++) {
		texts[i].count = 1 + i * 17 % MOST;
		texts[i].tokens = ids[i];
		for (k = 0; k < texts[i].count; k++)
			ids[i][k] = (int32_t)(3 + (i * 31 + k * 37) % 250);
	}
}

/* What all the rows of a text become */
static void pool(const float *rows, uint32_t count, uint32_t width, uint32_t pooling, float *out)
{
	uint32_t i, k;
	double x;

	for (i = 0; i < width; i++) {
		x = (double)rows[i];
		if (pooling == ACCEL_POOL_LAST)
			x = (double)rows[(uint64_t)(count - 1) * width + i];
		for (k = 1; k < count && pooling == ACCEL_POOL_LARGEST; k++)
			x = fmax(x, (double)rows[(uint64_t)k * width + i]);
		for (k = 1; k < count && pooling == ACCEL_POOL_MEAN; k++)
			x += (double)rows[(uint64_t)k * width + i];
		out[i] = (float)(pooling == ACCEL_POOL_MEAN ? x / count : x);
	}
}

static double distance(const float *a, const float *b, uint32_t count)
{
	double most = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		assert_true(isfinite(a[i]) && isfinite(b[i]));
		most = fmax(most, fabs((double)a[i] - (double)b[i]));
	}
	return most;
}

/* --- beside the model's own graph -------------------------------------------------------- */

static void *set(struct accel_state *state, uint32_t index, int64_t rows)
{
	void *p;

	assert_int_equal(accel_state_set_input(state, index, 2, DIMS(1, rows), NULL, 0), 0);
	p = accel_state_get_input(state, index, NULL);
	assert_non_null(p);
	return p;
}

static void check_encoder(struct bed *bed, const char *name)
{
	struct accel_embedder_opts opts = ACCEL_EMBEDDER_OPTS_INIT;
	static float got[4][TEXTS][WIDTH];
	struct accel_embed_text texts[TEXTS];
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_model *m = open_model(name);
	struct accel_program *program;
	struct accel_embedder_info info;
	struct accel_state *state;
	float want[WIDTH];
	const void *data;
	uint32_t i, k, p, width = 0;
	int64_t *in;

	make_texts(texts);
	for (p = 0; p < 4; p++) {
		struct accel_embedder *e;

		opts.pooling = p;
		e = open_embedder(bed->ctx, name, &opts);
		info = info_of(e);
		width = info.width;
		assert_true(width <= WIDTH && info.tokens >= MOST && info.pooling == p);
		MUST(accel_embedder_run(e, texts, TEXTS, got[p][0]));
		/* They run together, and are filled up. */
		info = info_of(e);
		assert_true(info.runs < TEXTS / 2 && info.fill);
		accel_embedder_destroy(e);
	}
	MUST(accel_graph_compile(bed->ctx, accel_model_graph(m), NULL, &program));
	assert_int_equal(accel_state_create(program, &state), 0);
	for (i = 0; i < TEXTS; i++) {
		assert_int_equal(texts[i].used, texts[i].count);
		in = set(state, 0, texts[i].count);
		for (k = 0; k < texts[i].count; k++)
			in[k] = ids[i][k];
		in = set(state, 1, texts[i].count);
		for (k = 0; k < texts[i].count; k++)
			in[k] = 1;
		MUST(accel_state_run(state));
		assert_int_equal(accel_state_get_output(state, 0, &v, &data), 0);
		assert_string_equal(v.name, "last_hidden_state");
		for (p = 0; p < 4; p++) {
			pool(data, texts[i].count, width, p, want);
			if (!(distance(want, &got[p][0][0] + i * width, width) <= 0.00001))
				fail_msg("%s: text %u, pooling %u: off by %g", name, i, p,
					 distance(want, &got[p][0][0] + i * width, width));
		}
	}
	accel_state_destroy(state);
	accel_program_unref(program);
	accel_model_close(m);
}

static void test_encoders(void **arg)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	char to[128];

	check_encoder(*arg, "hf/bert");
	snprintf(to, sizeof(to), "%s/bert.gguf", folder);
	if (accel_model_convert(path_of("hf/bert"), NULL, to, &error))
		fail_msg("%s", error.text);
	check_encoder(*arg, "bert.gguf");
	check_encoder(*arg, "hf-c/roberta");
	check_encoder(*arg, "hf-c/distilbert");
}

/* What classifies, or fills masks, has hidden states as well. */
static void test_heads(void **arg)
{
	struct accel_embedder_opts opts = ACCEL_EMBEDDER_OPTS_INIT;
	struct accel_embed_text texts[TEXTS];
	struct bed *bed = *arg;
	struct accel_embedder *e;
	float vectors[TEXTS][WIDTH];

	make_texts(texts);
	e = open_embedder(bed->ctx, "hf/bert-mlm", &opts);
	assert_int_equal(info_of(e).width, WIDTH);
	assert_int_equal(info_of(e).pooling, ACCEL_POOL_MEAN);
	MUST(accel_embedder_run(e, texts, TEXTS, vectors[0]));
	assert_true(distance(vectors[0], vectors[1], WIDTH) > 0.1);
	accel_embedder_destroy(e);
}

/* --- beside a generator ------------------------------------------------------------------ */

static void check_decoder(struct bed *bed, const char *name)
{
	struct accel_embedder_opts opts = ACCEL_EMBEDDER_OPTS_INIT;
	struct accel_embed_text texts[TEXTS];
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_model *m = open_model(name);
	static float got[TEXTS * WIDTH];
	struct accel_generator *g;
	struct accel_graph *graph;
	struct accel_embedder *e;
	float want[WIDTH];
	uint32_t i, p, width;

	make_texts(texts);
	assert_int_equal(accel_model_decoder(m, NULL, &error, &graph), 0);
	accel_model_close(m);
	MUST(accel_generator_create(bed->ctx, graph, NULL, &g));
	accel_graph_destroy(graph);
	for (p = 0; p < 4; p++) {
		opts.pooling = p | (p & 1 ? ACCEL_POOL_NORMALISE : 0);
		e = open_embedder(bed->ctx, name, &opts);
		width = info_of(e).width;
		assert_true(width <= WIDTH);
		MUST(accel_embedder_run(e, texts, TEXTS, got));
		accel_embedder_destroy(e);
		for (i = 0; i < TEXTS; i++) {
			MUST(accel_generator_embed(g, ids[i], texts[i].count, opts.pooling, want));
			if (!(distance(want, got + i * width, width) <= 0.00001))
				fail_msg("%s: text %u, pooling %u: off by %g", name, i, p,
					 distance(want, got + i * width, width));
		}
	}
	accel_generator_destroy(g);
}

static void test_decoders(void **arg)
{
	check_decoder(*arg, "hf/llama");
	check_decoder(*arg, "hf/gpt2");
	check_decoder(*arg, "hf/mistral-window");
	check_decoder(*arg, "hf-c/gemma2");
}

/* --- many texts beside each alone -------------------------------------------------------- */

static void check_alone(struct accel_ctx *ctx, const char *name, uint32_t flags, double bound)
{
	struct accel_embedder_opts opts = ACCEL_EMBEDDER_OPTS_INIT;
	struct accel_embed_text texts[TEXTS], one;
	static float together[TEXTS * WIDTH], other[TEXTS * WIDTH];
	struct accel_embedder *e;
	float alone[WIDTH];
	uint32_t i, width;

	make_texts(texts);
	/* Some are of the same length. */
	for (i = 3; i < TEXTS; i += 3)
		texts[i].count = texts[i - 1].count = texts[i - 2].count;
	opts.flags = flags;
	e = open_embedder(ctx, name, &opts);
	width = info_of(e).width;
	assert_int_equal(accel_embedder_run(e, texts, TEXTS, together), 0);
	accel_embedder_destroy(e);
	opts.batch = 5;
	e = open_embedder(ctx, name, &opts);
	assert_int_equal(accel_embedder_run(e, texts, TEXTS, other), 0);
	assert_int_equal(!info_of(e).fill, flags & ACCEL_EMBED_UNPADDED);
	for (i = 0; i < TEXTS; i++) {
		one = texts[i];
		assert_int_equal(accel_embedder_run(e, &one, 1, alone), 0);
		if (bound > 0) {
			assert_true(distance(alone, together + i * width, width) <= bound);
			assert_true(distance(alone, other + i * width, width) <= bound);
		} else {
			assert_memory_equal(alone, together + i * width, width * sizeof(*alone));
			assert_memory_equal(alone, other + i * width, width * sizeof(*alone));
		}
	}
	accel_embedder_destroy(e);
}

static void test_alone(void **arg)
{
	static const char *const names[] = { "hf/bert", "hf-c/roberta", "hf/llama" };
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	struct bed *bed = *arg;
	struct accel_ctx *ctx;
	uint32_t i;

	opts.flags = ACCEL_CTX_REPRODUCIBLE;
	assert_int_equal(accel_ctx_create(bed->dev, &opts, &ctx), 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		check_alone(bed->ctx, names[i], 0, 0.00001);
		check_alone(ctx, names[i], ACCEL_EMBED_UNPADDED, 0);
	}
	accel_ctx_destroy(ctx);
}

/* --- texts that are cut ------------------------------------------------------------------ */

static void test_cut(void **arg)
{
	struct accel_embedder_opts opts = ACCEL_EMBEDDER_OPTS_INIT;
	/* [CLS] a b c d [SEP] */
	const int32_t tokens[] = { 2, 5, 6, 7, 8, 3 };
	struct accel_embed_text texts[3] = {
		{ .text = "a b c d e f g", .bytes = 13 }, { .tokens = tokens, .count = 6 },
		{ .text = "a b", .bytes = 3 },
	};
	struct accel_error error = ACCEL_ERROR_INIT;
	float vectors[3][WIDTH], first[WIDTH];
	int32_t many[MOST * 2] = { 0 };
	struct bed *bed = *arg;
	struct accel_embedder *e;
	FILE *f = fopen(path_of("vocab.txt"), "w");
	struct accel_tokenizer *t;
	int c;

	assert_non_null(f);
	fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", f);
	for (c = 'a'; c <= 'z'; c++)
		fprintf(f, "%c\n", c);
	fclose(f);
	if (accel_tokenizer_open(path_of("vocab.txt"), &error, &t))
		fail_msg("%s", error.text);
	opts.tokens = 6;
	opts.tokenizer = t;
	e = open_embedder(bed->ctx, "hf/bert", &opts);
	assert_int_equal(info_of(e).tokens, 6);
	MUST(accel_embedder_run(e, texts, 3, vectors[0]));
	assert_true(texts[0].count == 9 && texts[0].used == 6);
	assert_true(texts[1].count == 6 && texts[1].used == 6);
	assert_true(texts[2].count == 4 && texts[2].used == 4);
	assert_true(distance(vectors[0], vectors[1], WIDTH) <= 0.00001);
	assert_true(distance(vectors[0], vectors[2], WIDTH) > 0.01);
	/* Of tokens the first ones are used, as many as the model takes. */
	texts[0] = (struct accel_embed_text) { .tokens = many, .count = MOST * 2 };
	many[6] = 9;
	MUST(accel_embedder_run(e, texts, 1, vectors[0]));
	assert_true(texts[0].count == MOST * 2 && texts[0].used == 6);
	many[6] = 10;
	MUST(accel_embedder_run(e, texts, 1, first));
	assert_true(distance(vectors[0], first, WIDTH) == 0);
	many[5] = 10;
	MUST(accel_embedder_run(e, texts, 1, first));
	assert_true(distance(vectors[0], first, WIDTH) > 0.0001);
	accel_embedder_destroy(e);
	opts.tokens = 0;
	e = open_embedder(bed->ctx, "hf-c/roberta", &opts);
	/* Two of its 60 positions are not for tokens. */
	assert_int_equal(info_of(e).tokens, 58);
	MUST(accel_embedder_run(e, texts, 1, first));
	assert_int_equal(texts[0].used, 58);
	accel_embedder_destroy(e);
	accel_tokenizer_close(t);
}

/* --- what files say ---------------------------------------------------------------------- */

static int pooling_of(struct accel_ctx *ctx, const char *name, uint32_t asked, char *text)
{
	struct accel_embedder_opts opts = ACCEL_EMBEDDER_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_model *m = open_model(name);
	struct accel_embedder *e;
	int ret;

	opts.pooling = asked;
	ret = accel_embedder_create(ctx, m, &opts, &error, &e);
	accel_model_close(m);
	if (ret) {
		memcpy(text, error.text, sizeof(error.text));
		return ret;
	}
	ret = (int)(info_of(e).pooling & ~ACCEL_POOL_NORMALISE);
	assert_int_equal(info_of(e).pooling & ACCEL_POOL_NORMALISE, asked & ACCEL_POOL_NORMALISE);
	accel_embedder_destroy(e);
	return ret;
}

static void write_pooling(const char *text)
{
	FILE *f;
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "mkdir -p %s/hf/bert/1_Pooling", folder);
	assert_int_equal(system(cmd), 0);
	f = fopen(path_of("hf/bert/1_Pooling/config.json"), "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_folder(void **arg)
{
	char text[sizeof(((struct accel_error *)NULL)->text)] = "";
	struct accel_ctx *ctx = ((struct bed *)*arg)->ctx;
	const uint32_t own = ACCEL_POOL_DEFAULT;

	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), ACCEL_POOL_MEAN);
	assert_int_equal(pooling_of(ctx, "hf/llama", own, text), ACCEL_POOL_LAST);
	write_pooling("{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": false}");
	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), ACCEL_POOL_FIRST);
	assert_int_equal(pooling_of(ctx, "hf/bert", own | ACCEL_POOL_NORMALISE, text),
			 ACCEL_POOL_FIRST);
	assert_int_equal(pooling_of(ctx, "hf/bert", ACCEL_POOL_LARGEST, text), ACCEL_POOL_LARGEST);
	write_pooling("{\"pooling_mode_max_tokens\": true}");
	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), ACCEL_POOL_LARGEST);
	write_pooling("{\"pooling_mode_lasttoken\": true}");
	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), ACCEL_POOL_LAST);
	write_pooling("{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": true}");
	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), -EOPNOTSUPP);
	assert_non_null(strstr(text, "1_Pooling/config.json"));
	write_pooling("{\"pooling_mode_weightedmean_tokens\": true}");
	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), -EOPNOTSUPP);
	assert_int_equal(pooling_of(ctx, "hf/bert", ACCEL_POOL_MEAN, text), ACCEL_POOL_MEAN);
	write_pooling("{");
	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), -EBADMSG);
	write_pooling("[true]");
	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), -EBADMSG);
	write_pooling("{\"pooling_mode_cls_token\": true} {");
	assert_int_equal(pooling_of(ctx, "hf/bert", own, text), -EBADMSG);
}

static void put(char **at, const void *data, size_t bytes)
{
	memcpy(*at, data, bytes);
	*at += bytes;
}

static void put_key(char **at, const char *key, uint32_t type)
{
	uint64_t n = strlen(key);

	put(at, &n, sizeof(n));
	put(at, key, n);
	put(at, &type, sizeof(type));
}

/* The file with one entry more, and one that keeps weights where they have to be: 64 bytes */
static void write_type(const char *from, const char *to, uint32_t type)
{
	char head[24], more[64], *at = more;
	uint64_t count, fill = 7;
	FILE *in = fopen(path_of(from), "r"), *out = fopen(path_of(to), "w");
	int c;

	assert_true(in && out);
	assert_int_equal(fread(head, 1, sizeof(head), in), sizeof(head));
	memcpy(&count, head + 16, sizeof(count));
	count += 2;
	memcpy(head + 16, &count, sizeof(count));
	put_key(&at, "llama.pooling_type", 4);
	put(&at, &type, sizeof(type));
	put_key(&at, "pad", 8);
	put(&at, &fill, sizeof(fill));
	put(&at, "fill it", fill);
	assert_int_equal(at - more, sizeof(more));
	fwrite(head, 1, sizeof(head), out);
	fwrite(more, 1, sizeof(more), out);
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

static void test_gguf(void **arg)
{
	static const int want[] = { ACCEL_POOL_LAST, ACCEL_POOL_MEAN, ACCEL_POOL_FIRST,
				    ACCEL_POOL_LAST, -EOPNOTSUPP };
	char text[sizeof(((struct accel_error *)NULL)->text)] = "", to[128];
	struct accel_ctx *ctx = ((struct bed *)*arg)->ctx;
	struct accel_error error = ACCEL_ERROR_INIT;
	uint32_t i;

	snprintf(to, sizeof(to), "%s/llama.gguf", folder);
	if (accel_model_convert(path_of("hf/llama"), NULL, to, &error))
		fail_msg("%s", error.text);
	assert_int_equal(pooling_of(ctx, "llama.gguf", ACCEL_POOL_DEFAULT, text), ACCEL_POOL_LAST);
	for (i = 0; i < 5; i++) {
		write_type("llama.gguf", "typed.gguf", i);
		assert_int_equal(pooling_of(ctx, "typed.gguf", ACCEL_POOL_DEFAULT, text), want[i]);
	}
	assert_non_null(strstr(text, "llama.pooling_type is 4"));
	check_decoder(*arg, "llama.gguf");
}

/* --- mistakes ---------------------------------------------------------------------------- */

static void test_wrong(void **arg)
{
	struct accel_embedder_opts opts = ACCEL_EMBEDDER_OPTS_INIT;
	struct accel_embedder_info info = { .size = sizeof(info) - 1 };
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_embed_text texts[2] = { { 0 } };
	struct accel_model *m = open_model("hf-c/distilbert");
	int32_t tokens[2] = { 1, 2 };
	struct bed *bed = *arg;
	struct accel_embedder *e = NULL;
	float vectors[2 * WIDTH];

	assert_int_equal(accel_embedder_create(bed->ctx, NULL, NULL, &error, &e), -EINVAL);
	opts.pooling = 4;
	assert_int_equal(accel_embedder_create(bed->ctx, m, &opts, &error, &e), -EINVAL);
	assert_true(error.text[0]);
	opts.pooling = ACCEL_POOL_MEAN;
	opts.flags = 2;
	assert_int_equal(accel_embedder_create(bed->ctx, m, &opts, NULL, &e), -EINVAL);
	opts.flags = 0;
	opts.batch = 4097;
	assert_int_equal(accel_embedder_create(bed->ctx, m, &opts, NULL, &e), -EINVAL);
	opts.batch = 0;
	opts.size++;
	assert_int_equal(accel_embedder_create(bed->ctx, m, &opts, NULL, &e), -E2BIG);
	accel_model_close(m);
	m = open_model("hf/vit");
	assert_int_equal(accel_embedder_create(bed->ctx, m, NULL, &error, &e), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "vit"));
	accel_model_close(m);
	m = open_model("hf/t5");
	assert_int_equal(accel_embedder_create(bed->ctx, m, NULL, &error, &e), -EOPNOTSUPP);
	accel_model_close(m);
	assert_null(e);
	e = open_embedder(bed->ctx, "hf-c/distilbert", NULL);
	assert_int_equal(accel_embedder_get_info(e, &info), -EINVAL);
	assert_int_equal(accel_embedder_run(e, texts, 0, vectors), 0);
	assert_int_equal(accel_embedder_run(e, texts, (1u << 20) + 1, vectors), -E2BIG);
	assert_int_equal(accel_embedder_run(e, NULL, 1, vectors), -EINVAL);
	assert_int_equal(accel_embedder_run(e, texts, 1, NULL), -EINVAL);
	/* Neither text nor tokens; a text and no tokenizer; a token that is none */
	texts[0].tokens = tokens;
	texts[0].count = 2;
	assert_int_equal(accel_embedder_run(e, texts, 2, vectors), -EINVAL);
	assert_true(texts[0].used && !texts[1].used);
	texts[1].text = "a";
	texts[1].bytes = 1;
	assert_int_equal(accel_embedder_run(e, texts, 2, vectors), -EINVAL);
	tokens[1] = 257;
	assert_int_equal(accel_embedder_run(e, texts, 1, vectors), -EINVAL);
	tokens[1] = -1;
	assert_int_equal(accel_embedder_run(e, texts, 1, vectors), -EINVAL);
	tokens[1] = 256;
	assert_int_equal(accel_embedder_run(e, texts, 1, vectors), 0);
	accel_embedder_destroy(e);
}

static int make_folder(void **state)
{
	char cmd[512];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_embed.XXXXXX");
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
		cmocka_unit_test_setup_teardown(test_encoders, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_heads, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_decoders, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_alone, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_cut, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_gguf, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_wrong, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_folder, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
