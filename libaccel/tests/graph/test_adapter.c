// SPDX-License-Identifier: MIT
/*
 * Adapters of low rank: models with one beside models whose weights the test has added it to, as
 * folders and as GGUF files; and adapters that are wrong.
 */
#include <accel/generate.h>
#include <accel/model.h>
#include <unistd.h>
#include "graphtest.h"
#include "libaccel/tests/data.h"

#define PROMPT	24
#define RANK_OF	4
#define SCALE	1.5

static char folder[32];

static const char *path_of(const char *name)
{
	static char path[2][256];
	static int i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", folder, name);
	return path[i];
}

static void shell(const char *fmt, ...)
{
	char cmd[1024], all[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	snprintf(all, sizeof(all), "cd %s && %s", folder, cmd);
	assert_int_equal(system(all), 0);
}

/* --- files --------------------------------------------------------------------------------- */

struct file {
	char *data;
	size_t bytes;
	char *header;
	char *first;
};

static struct file load(const char *name)
{
	FILE *f = fopen(path_of(name), "rb");
	struct file file = { 0 };
	uint64_t n;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	file.bytes = (size_t)ftell(f);
	rewind(f);
	file.data = malloc(file.bytes + 1);
	assert_non_null(file.data);
	assert_int_equal(fread(file.data, 1, file.bytes, f), file.bytes);
	assert_int_equal(fclose(f), 0);
	memcpy(&n, file.data, 8);
	file.header = strndup(file.data + 8, n);
	file.first = file.data + 8 + n;
	return file;
}

static void save(const char *name, struct file *file)
{
	FILE *f = fopen(path_of(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(file->data, 1, file->bytes, f), file->bytes);
	assert_int_equal(fclose(f), 0);
	free(file->data);
	free(file->header);
}

/* A matrix of a file, which is F32; NULL: there is none */
static float *matrix(const struct file *f, const char *name, int64_t *rows, int64_t *columns)
{
	static const char places[] = "],\"data_offsets\":[";
	char key[200];
	const char *at;
	long long from;
	char *end;

	snprintf(key, sizeof(key), "\"%s.weight\":{\"dtype\":\"F32\",\"shape\":[", name);
	at = strstr(f->header, key);
	*rows = *columns = 0;
	if (!at)
		return NULL;
	*rows = strtoll(at + strlen(key), &end, 10);
	*columns = strtoll(end + 1, &end, 10);
	assert_memory_equal(end, places, strlen(places));
	from = strtoll(end + strlen(places), NULL, 10);
	return (float *)(void *)(f->first + from);
}

/* Numbers that BF16 has, too */
static float draw(uint32_t *seed)
{
	uint32_t bits;
	float x;

	*seed = *seed * 1664525 + 1013904223;
	x = ((float)(*seed >> 8) / (1 << 24) - 0.5f) * 0.7f;
	memcpy(&bits, &x, 4);
	bits &= 0xffff0000;
	memcpy(&x, &bits, 4);
	return x;
}

/**
 * struct made - an adapter in work
 * @header: of its file
 * @data: behind it
 * @at: bytes of @data
 * @half: its numbers are BF16
 * @seed: of these
 */
struct made {
	char header[16384];
	char data[1 << 18];
	size_t at;
	bool half;
	uint32_t seed;
};

static void put(struct made *m, const char *name, char which, int64_t rows, int64_t columns,
		float *x)
{
	size_t n = strlen(m->header), from = m->at, size = m->half ? 2 : 4;
	int64_t i;

	for (i = 0; i < rows * columns; i++, m->at += size) {
		x[i] = draw(&m->seed);
		assert_true(m->at + 4 <= sizeof(m->data));
		memcpy(m->data + m->at, (char *)&x[i] + 4 - size, size);
	}
	snprintf(m->header + n, sizeof(m->header) - n,
		 "%c\"base_model.model.%s.lora_%c.weight\":{\"dtype\":\"%s\",\"shape\":[%d,%d],\"data_offsets\":[%zu,%zu]}",
		 n ? ',' : '{', name, which, m->half ? "BF16" : "F32", (int)rows, (int)columns,
		 from, m->at);
}

/* Matrices for a weight, and their product on top of @w, which is NULL if nobody wants it */
static void adapt(struct made *m, const char *name, bool columns, float *w, int64_t rows,
		  int64_t cols)
{
	int64_t in = columns ? rows : cols, out = columns ? cols : rows, i, o, r;
	float *a = calloc((size_t)in, RANK_OF * sizeof(*a));
	float *b = calloc((size_t)out, RANK_OF * sizeof(*b));
	double sum;

	assert_true(a && b);
	put(m, name, 'A', RANK_OF, in, a);
	put(m, name, 'B', out, RANK_OF, b);
	for (o = 0; w && o < out; o++) {
		for (i = 0; i < in; i++) {
			for (sum = 0, r = 0; r < RANK_OF; r++)
				sum += (double)b[o * RANK_OF + r] * (double)a[r * in + i];
			w[columns ? i * out + o : o * in + i] += (float)(SCALE * sum);
		}
	}
	free(a);
	free(b);
}

/* The folder of an adapter; @rs: its rank counts by its root */
static void write_adapter(const struct made *m, const char *name, bool rs)
{
	char file[160];
	uint64_t n;
	FILE *f;

	shell("rm -rf %s && mkdir %s", name, name);
	snprintf(file, sizeof(file), "%s/adapter_model.safetensors", name);
	f = fopen(path_of(file), "wb");
	assert_non_null(f);
	n = strlen(m->header) + 1;
	assert_int_equal(fwrite(&n, 8, 1, f), 1);
	fprintf(f, "%s}", m->header);
	assert_int_equal(fwrite(m->data, 1, m->at, f), m->at);
	assert_int_equal(fclose(f), 0);
	snprintf(file, sizeof(file), "%s/adapter_config.json", name);
	f = fopen(path_of(file), "wb");
	assert_non_null(f);
	fprintf(f, "{\"peft_type\": \"LORA\", \"bias\": \"none\", \"r\": %d, \"lora_alpha\": %d, ",
		RANK_OF, rs ? 3 : 6);
	fprintf(f, "\"use_rslora\": %s, \"use_dora\": false, \"rank_pattern\": {}, ",
		rs ? "true" : "false");
	fprintf(f, "\"modules_to_save\": null, \"target_modules\": \"all-linear\"}\n");
	assert_int_equal(fclose(f), 0);
}

/**
 * struct adapted - a model that is adapted
 * @name: folder
 * @layers: what the names of its layers begin with
 * @modules: weights of each layer
 * @top: a weight of none
 * @columns: weights are [in, out]
 * @half: the adapter is BF16
 * @rs: its rank counts by its root
 * @gguf: it is written as GGUF, too
 */
static const struct adapted {
	const char *name;
	const char *layers;
	const char *modules[8];
	const char *top;
	bool columns;
	bool half;
	bool rs;
	bool gguf;
} models[] = {
	{ "hf/llama", "model.layers",
	  { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
	    "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj" }, "lm_head", .gguf = true },
	{ "hf/gpt2", "transformer.h", { "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj" },
	  .columns = true, .half = true, .gguf = true },
	{ "hf-c/gpt-neox", "gpt_neox.layers",
	  { "attention.query_key_value", "attention.dense", "mlp.dense_h_to_4h",
	    "mlp.dense_4h_to_h" }, "embed_out", .rs = true, .gguf = true },
	{ "hf-c/phi3", "model.layers",
	  { "self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj", "mlp.down_proj" },
	  .half = true, .rs = true, .gguf = true },
	{ "hf-c/gemma2", "model.layers", { "self_attn.v_proj", "mlp.down_proj" } },
	{ "hf-c/mixtral", "model.layers", { "self_attn.q_proj", "block_sparse_moe.gate", "block_sparse_moe.experts.0.w1",
	    "block_sparse_moe.experts.2.w1", "block_sparse_moe.experts.1.w2",
	    "block_sparse_moe.experts.3.w3" }, .half = true, .gguf = true },
};

/* The folder "merged", of @base with the adapter "lora" on top of its weights, and that */
static void make(const struct adapted *t, const char *base)
{
	struct made *m = calloc(1, sizeof(*m));
	int64_t rows, columns;
	struct file f;
	char name[200];
	uint32_t i, k;
	float *w;

	assert_non_null(m);
	m->half = t->half;
	m->seed = 7;
	shell("rm -rf merged && cp -r %s merged", base);
	f = load("merged/model.safetensors");
	for (i = 0; i < 3; i++) {
		for (k = 0; t->modules[k]; k++) {
			snprintf(name, sizeof(name), "%s.%u.%s", t->layers, i, t->modules[k]);
			w = matrix(&f, name, &rows, &columns);
			if (w)
				adapt(m, name, t->columns, w, rows, columns);
			assert_true(w || i == 2);
		}
	}
	if (t->top) {
		w = matrix(&f, t->top, &rows, &columns);
		assert_non_null(w);
		adapt(m, t->top, false, w, rows, columns);
	}
	save("merged/model.safetensors", &f);
	write_adapter(m, "lora", t->rs);
	free(m);
}

/* --- models -------------------------------------------------------------------------------- */

static struct accel_model *open_with(const char *name, const char *lora, float scale)
{
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_lora one[2] = { ACCEL_LORA_INIT(path_of("lora")), ACCEL_LORA_INIT(NULL) };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m;

	one[0].scale = scale;
	one[1].path = one[0].path;
	one[1].scale = 1 - scale;
	opts.loras = one;
	/* Two that are the same, in parts that make up one, are one. */
	opts.lora_count = lora ? scale == 1 ? 1 : 2 : 0;
	if (accel_model_open_opts(path_of(name), &opts, &e, &m))
		fail_msg("%s: %s: %s", name, e.field, e.text);
	return m;
}

static float *logits(struct bed *bed, const char *name, const char *lora, float scale,
		     uint32_t level, uint64_t *count)
{
	struct accel_model *m = open_with(name, lora, scale);
	struct accel_compile_opts opts = ACCEL_COMPILE_OPTS_INIT;
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_program *program = NULL;
	struct accel_state *state;
	const void *data;
	int64_t *ids, i;
	float *copy;

	opts.level = level;
	MUST(accel_graph_compile(bed->ctx, accel_model_graph(m), &opts, &program));
	assert_int_equal(accel_state_create(program, &state), 0);
	accel_program_unref(program);
	assert_int_equal(accel_state_set_input(state, 0, 2, DIMS(1, PROMPT), NULL, 0), 0);
	ids = accel_state_get_input(state, 0, NULL);
	for (i = 0; i < PROMPT; i++)
		ids[i] = (i * 37 + 11) % 256;
	MUST(accel_state_run(state));
	assert_int_equal(accel_state_get_output(state, 0, &v, &data), 0);
	*count = (uint64_t)(v.dims[1] * v.dims[2]);
	copy = malloc(*count * sizeof(*copy));
	assert_non_null(copy);
	memcpy(copy, data, *count * sizeof(*copy));
	accel_state_destroy(state);
	accel_model_close(m);
	return copy;
}

/* The largest difference, as a share of the largest number */
static float apart(const float *a, const float *b, uint64_t n)
{
	float most = 0, error = 0;
	uint64_t i;

	for (i = 0; i < n; i++) {
		assert_true(isfinite(a[i]) && isfinite(b[i]));
		most = fmaxf(most, fabsf(b[i]));
		error = fmaxf(error, fabsf(a[i] - b[i]));
	}
	return error / most;
}

/* "merged" and @name with the adapter are the same within @bound, without it they are not. */
static void check_same(struct bed *bed, const char *name, const char *merged, float scale,
		       uint32_t level, float bound)
{
	uint64_t n, k;
	float *want = logits(bed, merged, NULL, 1, 0, &n), error, other;
	float *got = logits(bed, name, "lora", scale, level, &k);
	float *base = logits(bed, name, NULL, 1, level, &k);

	assert_int_equal(n, k);
	error = apart(got, want, n);
	other = apart(base, want, n);
	if (!(error <= bound) || !(other > 20 * bound) || !(other > 0.01f))
		fail_msg("%s, level %u: %g of %g, without it %g", name, level, (double)error,
			 (double)bound, (double)other);
	free(want);
	free(got);
	free(base);
}

/* What a decoder over a cache finds likely, at the end of a text */
static void score(struct bed *bed, const char *name, const char *lora, float *p)
{
	struct accel_model *m = open_with(name, lora, 1);
	struct accel_generator *g = NULL;
	struct accel_graph *graph;
	int32_t tokens[PROMPT], i;

	assert_int_equal(accel_model_decoder(m, NULL, NULL, &graph), 0);
	accel_model_close(m);
	MUST(accel_generator_create(bed->ctx, graph, NULL, &g));
	accel_graph_destroy(graph);
	for (i = 0; i < PROMPT; i++)
		tokens[i] = (i * 37 + 11) % 256;
	assert_int_equal(accel_generator_score(g, tokens, PROMPT, p), 0);
	accel_generator_destroy(g);
}

static void test_folders(void **arg)
{
	float p[PROMPT - 1], q[PROMPT - 1];
	uint32_t i;

	for (i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		make(&models[i], models[i].name);
		check_same(*arg, models[i].name, "merged", 1, 0, 0.00001f);
		check_same(*arg, models[i].name, "merged", 0.25f, 3, 0.00001f);
		score(*arg, models[i].name, "lora", p);
		score(*arg, "merged", NULL, q);
		if (!(apart(p, q, PROMPT - 1) <= 0.00001f))
			fail_msg("%s over a cache: %g", models[i].name,
				 (double)apart(p, q, PROMPT - 1));
	}
}

/* Rows of queries and keys have another order there, and some weights another name. */
static void test_gguf(void **arg)
{
	struct accel_model_convert_opts opts = ACCEL_MODEL_CONVERT_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t i;

	for (i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		if (!models[i].gguf)
			continue;
		make(&models[i], models[i].name);
		if (accel_model_convert(path_of(models[i].name), &opts, path_of("base.gguf"), &e))
			fail_msg("%s: %s", models[i].name, e.text);
		check_same(*arg, "base.gguf", "merged", 1, 3, 0.00001f);
	}
	/* Weights stay in blocks; what meets them is rounded to bytes: 0.043 without it, too. */
	opts.type = ACCEL_Q8_0;
	assert_int_equal(accel_model_convert(path_of("hf/llama"), &opts, path_of("base.gguf"), &e),
			 0);
	opts.type = ACCEL_F32;
	shell("rm -rf wide");
	assert_int_equal(accel_model_convert(path_of("base.gguf"), &opts, path_of("wide"), &e), 0);
	make(&models[0], "wide");
	check_same(*arg, "base.gguf", "merged", 1, 3, 0.06f);
}

/* A model whose table of tokens gives logits, too, of which the adapter has the latter only */
static void test_tied(void **arg)
{
	static const struct adapted head = { "tied", "model.layers", { NULL }, "lm_head" };
	int64_t rows, columns;
	struct file f;
	float *w, *embed;

	shell("rm -rf tied same && cp -r hf/llama tied && cp -r hf/llama same");
	shell("sed -i 's/\"lm_head.weight\"/\"lm_gone.weight\"/' tied/model.safetensors");
	f = load("same/model.safetensors");
	w = matrix(&f, "lm_head", &rows, &columns);
	embed = matrix(&f, "model.embed_tokens", &rows, &columns);
	assert_true(w && embed);
	if (w && embed)
		memcpy(w, embed, (size_t)(rows * columns) * sizeof(*w));
	save("same/model.safetensors", &f);
	make(&head, "same");
	check_same(*arg, "tied", "merged", 1, 3, 0.00001f);
}

/* --- what is wrong ------------------------------------------------------------------------- */

static void refuse(const char *model, const char *lora, int code, const char *words)
{
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_lora one = ACCEL_LORA_INIT(path_of(lora));
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m = NULL;
	char path[160];
	int ret;

	opts.loras = &one;
	opts.lora_count = 1;
	snprintf(path, sizeof(path), "%s", path_of(model));
	ret = accel_model_open_opts(path, &opts, &e, &m);
	if (ret != code || !strstr(e.text, words))
		fail_msg("%s: %d, not %d: %s: no \"%s\"", lora, ret, code, e.text, words);
	assert_null(m);
}

/* The adapter with @from replaced by @to in a file of it */
static void wrong(const char *file, const char *from, const char *to, int code, const char *words)
{
	shell("rm -rf wrong && cp -r lora wrong && sed -i 's/%s/%s/g' wrong/%s", from, to, file);
	shell("! cmp -s lora/%s wrong/%s", file, file);
	refuse("hf/llama", "wrong", code, words);
}

static void test_wrong(void **arg)
{
	static const char c[] = "adapter_config.json", m[] = "adapter_model.safetensors";

	(void)arg;
	make(&models[0], models[0].name);
	wrong(c, "LORA", "IA3", -EOPNOTSUPP, "peft_type is \"IA3\"");
	wrong(c, "\"none\"", "\"all\"", -EOPNOTSUPP, "bias");
	wrong(c, "_dora\": false", "_dora\": true", -EOPNOTSUPP, "use_dora");
	wrong(c, "save\": null", "save\": [\"lm_head\"]", -EOPNOTSUPP, "modules_to_save");
	wrong(c, "pattern\": {}", "pattern\": {\"q_proj\": 2}", -EOPNOTSUPP, "rank_pattern");
	wrong(c, "\"r\": 4", "\"r\": 5", -EBADMSG, "a matrix of 5");
	wrong(c, "\"r\": 4", "\"r\": 0", -EBADMSG, "r is 0");
	wrong(c, "\"r\": 4", "\"r\": -4", -EBADMSG, "r is -4");
	wrong(c, "\"r\": 4", "\"r\": 99999999999999999999", -EBADMSG, "r is");
	wrong(c, "\"lora_alpha\": 6", "\"lora_alpha\": 1e308", -EBADMSG, "too large");
	wrong(c, "\"lora_alpha\": 6", "\"lora_alpha\": NaN", -EBADMSG, "lora_alpha is no number");
	wrong(c, "\"lora_alpha\"", "\"alpha\"", -EBADMSG, "lora_alpha");
	wrong(c, "\"all-linear\"", "[\"proj\", \"lm_head\", 7]", -EBADMSG, "target_modules");
	wrong(c, "{\"peft", "[\"peft", -EBADMSG, "JSON");
	wrong(m, "layers.1.self", "layers.7.self", -EBADMSG, "layers.7.self_attn");
	wrong(m, "lm_head", "lm_tail", -EBADMSG, "lm_tail");
	wrong(m, "base_model", "case_model", -EOPNOTSUPP, "case_model");
	wrong(m, "lora_A", "lora_C", -EOPNOTSUPP, "lora_C");
	wrong(m, "lora_A.weight", "lora_magnitude_vector", -EBADMSG, "");
	wrong(m, "lm_head.lora_B", "lm_tail.lora_B", -EBADMSG, "lora_B is missing");
	wrong(m, "lm_head.lora_A", "lm_tail.lora_A", -EBADMSG, "lora_A is missing");
	wrong(m, "\\[176,4\\]", "[88,8] ", -EBADMSG, "a matrix of 4 columns");
	wrong(m, "\\[4,64\\]", "[4,32]", -EBADMSG, "where they should be");
	wrong(m, "\"F32\"", "\"I32\"", -EOPNOTSUPP, "F32");
	shell("rm -rf wrong && cp -r lora wrong && truncate -s -8 wrong/%s", m);
	refuse("hf/llama", "wrong", -EBADMSG, "");
	shell("rm -rf wrong && cp -r lora wrong && rm wrong/%s && mkfifo wrong/%s", m, m);
	refuse("hf/llama", "wrong", -EBADMSG, m);
	refuse("hf/llama", "none", -ENOENT, c);
	/* Of a model of other sizes, of another family, and of what is none */
	refuse("hf/qwen2", "lora", -EBADMSG, "");
	refuse("hf/gpt2", "lora", -EBADMSG, "no such weight");
	refuse("hf/bert", "lora", -EOPNOTSUPP, "decoder");
	refuse("lora/adapter_config.json", "lora", -EOPNOTSUPP, "adapters");
}

static void test_opts(void **arg)
{
	struct accel_lora list[17], one = ACCEL_LORA_INIT(path_of("lora"));
	struct accel_model_opts opts = ACCEL_MODEL_OPTS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_model *m = NULL;
	char model[160];
	int i;

	(void)arg;
	snprintf(model, sizeof(model), "%s", path_of("hf/llama"));
	for (i = 0; i < 17; i++)
		list[i] = one;
	opts.loras = list;
	opts.lora_count = 17;
	assert_int_equal(accel_model_open_opts(model, &opts, &e, &m), -E2BIG);
	assert_string_equal(e.field, "opts.lora_count");
	opts.lora_count = 2;
	list[1].scale = NAN;
	assert_int_equal(accel_model_open_opts(model, &opts, &e, &m), -EINVAL);
	assert_string_equal(e.field, "opts.loras");
	list[1] = one;
	list[1].path = NULL;
	assert_int_equal(accel_model_open_opts(model, &opts, &e, &m), -EINVAL);
	list[1] = one;
	list[1].size = 4;
	assert_int_equal(accel_model_open_opts(model, &opts, &e, &m), -EINVAL);
	opts.loras = NULL;
	assert_int_equal(accel_model_open_opts(model, &opts, &e, &m), -EINVAL);
	/* Those who know of no adapters: what lies behind is not looked at. */
	opts.size = offsetof(struct accel_model_opts, loras);
	assert_int_equal(accel_model_open_opts(model, &opts, &e, &m), 0);
	accel_model_close(m);
}

static int make_folder(void **state)
{
	char cmd[512];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_adapter.XXXXXX");
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
		cmocka_unit_test_setup_teardown(test_folders, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_gguf, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_tied, bed_setup, bed_teardown),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_opts),
	};

	return cmocka_run_group_tests_name("adapter", tests, make_folder, drop_folder);
}
