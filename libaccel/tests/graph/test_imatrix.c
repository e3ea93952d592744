// SPDX-License-Identifier: MIT
/*
 * Importance matrices: beside sums that the test makes of a layer's rows, of experts, of the same
 * model as GGUF; what blocks lose with and without them; files, and such that are wrong.
 */
#include <accel/generate.h>
#include <accel/model.h>
#include <accel/quant.h>
#include <accel/tokenizer.h>
#include <unistd.h>
#include "libaccel/models/stored.h"
#include "graphtest.h"
#include "libaccel/tests/data.h"

#define TOKENS	300

static char folder[40];
static int32_t tokens[TOKENS];

static const char *path_of(const char *name)
{
	static char paths[4][128];
	static uint32_t at;

	at = (at + 1) % 4;
	snprintf(paths[at], sizeof(paths[at]), "%s/%s", folder, name);
	return strcmp(name, AUSTEN) ? paths[at] : name;
}

static struct accel_imatrix *watch(struct bed *bed, const char *name)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_imatrix *m = NULL;
	struct accel_model *model;

	if (accel_model_open(path_of(name), &e, &model) ||
	    accel_imatrix_create(bed->ctx, model, &e, &m))
		fail_msg("%s: %s", name, e.text);
	accel_model_close(model);
	return m;
}

static struct accel_imatrix *collect(struct bed *bed, const char *name, uint32_t piece)
{
	struct accel_imatrix *m = watch(bed, name);
	uint32_t at, n;

	for (at = 0; at < TOKENS; at += n) {
		n = TOKENS - at < piece ? TOKENS - at : piece;
		assert_int_equal(accel_imatrix_observe(m, tokens + at, n), 0);
	}
	return m;
}

static struct accel_imatrix_entry entry(struct accel_imatrix *m, const char *name)
{
	struct accel_imatrix_entry e = { .size = sizeof(e) };
	uint32_t i;

	for (i = 0; !accel_imatrix_get_entry(m, i, &e); i++)
		if (!strcmp(e.name, name))
			return e;
	fail_msg("%s is not there", name);
	return e;
}

static void must_open(const char *name, struct store *store)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (stored_open(path_of(name), store, &e))
		fail_msg("%s: %s", name, e.text);
}

static const float *numbers(const struct store *store, const char *name)
{
	const struct stored *s = stored_find(store, name);

	if (!s || s->type != ACCEL_F32) {
		print_error("%s is not there, or not F32\n", name);
		abort();
	}
	return (const float *)s->data;
}

static void near(double is, double want, double most)
{
	if (!(fabs(is - want) <= most * fabs(want)))
		fail_msg("%g, not %g", is, want);
}

/* --- sums ----------------------------------------------------------------------------------- */

/* Queries, keys and values of the first layer are of rows of the table, behind a norm. */
static void test_by_hand(void **arg)
{
	static const char *const names[] = {
		"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"
	};
	struct accel_imatrix *m = collect(*arg, "hf/llama", 128);
	struct accel_imatrix_info info = { .size = sizeof(info) };
	double want[64] = { 0 }, square, x;
	const float *table, *scale;
	struct store store;
	uint32_t i, k;

	must_open("hf/llama/model.safetensors", &store);
	table = numbers(&store, "model.embed_tokens.weight");
	scale = numbers(&store, "model.layers.0.input_layernorm.weight");
	for (i = 0; i < TOKENS; i++) {
		const float *row = table + 64L * tokens[i];

		for (square = 0, k = 0; k < 64; k++)
			square += (double)row[k] * (double)row[k] / 64;
		for (k = 0; k < 64; k++) {
			x = (double)row[k] * (double)scale[k] / sqrt(square + 0.000001);
			want[k] += x * x;
		}
	}
	for (i = 0; i < 3; i++) {
		struct accel_imatrix_entry e = entry(m, names[i]);

		assert_int_equal(e.matrices, 1);
		assert_int_equal(e.columns, 64);
		near(e.counts[0], TOKENS, 0);
		for (k = 0; k < 64; k++)
			near(e.sums[k], want[k], 0.00001);
	}
	assert_int_equal(accel_imatrix_get_info(m, &info), 0);
	assert_int_equal(info.entries, 2 * 7 + 1);
	assert_int_equal(info.window, 128);
	assert_int_equal(info.windows, 3);
	assert_int_equal(info.tokens, TOKENS);
	assert_int_equal(entry(m, "blk.1.ffn_down.weight").columns, 176);
	assert_int_equal(entry(m, "output.weight").columns, 64);
	stored_close(&store);
	accel_imatrix_destroy(m);
}

/* Each row goes to two of six experts: theirs add up to twice what the router has. */
static void test_experts(void **arg)
{
	struct accel_imatrix *m = collect(*arg, "hf-c/mixtral", 100);
	struct accel_imatrix_entry router = entry(m, "blk.1.ffn_gate_inp.weight");
	struct accel_imatrix_entry up = entry(m, "blk.1.ffn_up_exps.weight");
	struct accel_imatrix_entry down = entry(m, "blk.1.ffn_down_exps.weight");
	double rows = 0, sum;
	uint32_t i, k;

	assert_int_equal(up.matrices, 6);
	assert_int_equal(up.columns, 48);
	assert_int_equal(down.columns, 64);
	for (i = 0; i < 6; i++) {
		rows += up.counts[i];
		near(down.counts[i], up.counts[i], 0);
		assert_true(up.counts[i] > 0 && up.counts[i] < TOKENS);
	}
	near(rows, 2 * TOKENS, 0);
	for (k = 0; k < 48; k++) {
		for (sum = 0, i = 0; i < 6; i++)
			sum += up.sums[i * 48 + k];
		near(sum, 2 * router.sums[k], 0.00001);
	}
	accel_imatrix_destroy(m);
}

/* Pieces that know nothing of each other are none of a longer one; the kind of file is nothing. */
static void test_gguf(void **arg)
{
	struct accel_imatrix *a = collect(*arg, "hf/llama", 75), *b, *c;
	struct accel_imatrix_entry e = { .size = sizeof(e) }, f;
	struct accel_error error = ACCEL_ERROR_INIT;
	bool differs = false;
	uint32_t i, k;

	assert_int_equal(accel_model_convert(path_of("hf/llama"), NULL, path_of("it.gguf"),
					     &error), 0);
	b = collect(*arg, "it.gguf", 75);
	c = collect(*arg, "hf/llama", 50);
	for (i = 0; !accel_imatrix_get_entry(a, i, &e); i++) {
		f = entry(b, e.name);
		assert_int_equal(f.columns, e.columns);
		for (k = 0; k < e.columns; k++)
			near(f.sums[k], e.sums[k], 0.0001);
		f = entry(c, e.name);
		differs |= fabs(f.sums[0] / e.sums[0] - 1) > 0.001;
	}
	assert_int_equal(i, 15);
	assert_true(differs);
	accel_imatrix_destroy(a);
	accel_imatrix_destroy(b);
	accel_imatrix_destroy(c);
}

/* --- blocks --------------------------------------------------------------------------------- */

static int convert(const char *from, const char *to, uint32_t type, struct accel_imatrix *m,
		   struct accel_error *error)
{
	struct accel_model_convert_opts o = ACCEL_MODEL_CONVERT_OPTS_INIT;

	o.type = type;
	o.imatrix = m;
	return accel_model_convert(path_of(from), &o, path_of(to), error);
}

/* What is written of a tensor is what accel_blocks_write() makes with its columns' weights. */
static void check_blocks(struct store *to, const char *name, const float *rows, uint64_t count,
			 struct accel_imatrix_entry *e)
{
	const struct stored *s = stored_find(to, name);
	float *weights = calloc(e->columns, sizeof(*weights));
	uint8_t *want;
	uint32_t k;

	assert_non_null(weights);
	assert_non_null(s);
	want = malloc(s->bytes);
	assert_non_null(want);
	assert_int_equal(s->type, ACCEL_Q4_0);
	for (k = 0; k < e->columns; k++)
		weights[k] = (float)e->sums[k] / (float)e->counts[0];
	assert_int_equal(accel_blocks_write(ACCEL_Q4_0, rows, count, e->columns, weights, want), 0);
	assert_memory_equal(s->data, want, s->bytes);
	/* Without them it is something else. */
	assert_int_equal(accel_blocks_write(ACCEL_Q4_0, rows, count, e->columns, NULL, want), 0);
	assert_memory_not_equal(s->data, want, s->bytes);
	free(weights);
	free(want);
}

static void test_convert(void **arg)
{
	struct accel_imatrix *m = collect(*arg, "hf/llama", 128), *other;
	struct accel_imatrix_entry e = entry(m, "blk.0.attn_v.weight");
	struct accel_error error = ACCEL_ERROR_INIT;
	struct store from, to;
	char cmd[256];

	must_open("hf/llama/model.safetensors", &from);
	assert_int_equal(convert("hf/llama", "q4.gguf", ACCEL_Q4_0, m, &error), 0);
	must_open("q4.gguf", &to);
	check_blocks(&to, "blk.0.attn_v.weight",
		     numbers(&from, "model.layers.0.self_attn.v_proj.weight"), 32, &e);
	stored_close(&to);
	stored_close(&from);
	/* The same from a file */
	assert_int_equal(accel_imatrix_save(m, path_of("it.imatrix"), "words", &error), 0);
	assert_int_equal(accel_imatrix_load(path_of("it.imatrix"), &error, &other), 0);
	assert_int_equal(convert("hf/llama", "again.gguf", ACCEL_Q4_0, other, &error), 0);
	snprintf(cmd, sizeof(cmd), "cmp %s %s", path_of("q4.gguf"), path_of("again.gguf"));
	assert_int_equal(system(cmd), 0);
	assert_int_equal(accel_imatrix_observe(other, tokens, 1), -EINVAL);
	/* Of another model: nothing is written. */
	assert_int_equal(convert(AUSTEN, "no.gguf", ACCEL_Q8_0, other, &error), -EINVAL);
	assert_non_null(strstr(error.text, "the importance matrix has"));
	assert_int_equal(convert("hf/gpt2", "no.gguf", ACCEL_Q8_0, other, &error), -EINVAL);
	assert_non_null(strstr(error.text, "importance matrix"));
	assert_int_equal(convert("hf/llama", "no.gguf", ACCEL_F16, other, &error), -EINVAL);
	assert_int_equal(access(path_of("no.gguf"), F_OK), -1);
	accel_imatrix_destroy(other);
	accel_imatrix_destroy(m);
}

/* Matrices of experts have columns each of their own. */
static void test_convert_experts(void **arg)
{
	struct accel_imatrix *m = collect(*arg, "hf-c/mixtral", 128);
	struct accel_imatrix_entry e = entry(m, "blk.0.ffn_down_exps.weight"), one = e;
	struct accel_error error = ACCEL_ERROR_INIT;
	struct store from, to;
	struct stored *all;

	must_open("hf-c/mixtral/model.safetensors", &from);
	assert_int_equal(convert("hf-c/mixtral", "q4.gguf", ACCEL_Q4_0, m, &error), 0);
	must_open("q4.gguf", &to);
	all = (struct stored *)stored_find(&to, "blk.0.ffn_down_exps.weight");
	assert_non_null(all);
	/* The last of six: its rows, its sums */
	all->bytes /= 6;
	all->data += 5 * all->bytes;
	one.sums += 5 * (uint64_t)e.columns;
	one.counts += 5;
	check_blocks(&to, all->name,
		     numbers(&from, "model.layers.0.block_sparse_moe.experts.5.w2.weight"), 48,
		     &one);
	stored_close(&to);
	stored_close(&from);
	accel_imatrix_destroy(m);
}

static double error_of(uint32_t type, const float *rows, uint64_t count,
		       const struct accel_imatrix_entry *e, bool weighed)
{
	float *weights = calloc(e->columns, sizeof(*weights));
	float *back = calloc(count * e->columns, sizeof(*back));
	uint8_t *blocks = malloc(count * e->columns * 2);
	double sum = 0;
	uint64_t i;

	assert_true(weights && back && blocks);
	for (i = 0; i < e->columns; i++)
		weights[i] = (float)(e->sums[i] / e->counts[0]);
	assert_int_equal(accel_blocks_write(type, rows, count, e->columns,
					    weighed ? weights : NULL, blocks), 0);
	assert_int_equal(accel_blocks_read(type, blocks, count * e->columns, back), 0);
	for (i = 0; i < count * e->columns; i++)
		sum += (double)weights[i % e->columns] * pow((double)back[i] - (double)rows[i], 2);
	free(weights);
	free(back);
	free(blocks);
	return sum;
}

/* A model that was trained: errors of products are smaller, in each matrix. */
static void test_errors(void **arg)
{
	static const char *const names[] = {
		"blk.0.attn_q.weight", "blk.3.attn_output.weight", "blk.0.ffn_down.weight",
		"blk.7.ffn_up.weight",
	};
	static const uint32_t types[] = { ACCEL_Q4_0, ACCEL_Q4_1, ACCEL_Q4_K, ACCEL_Q6_K };
	struct accel_encode_args args = ACCEL_ENCODE_ARGS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_imatrix *m = watch(*arg, AUSTEN);
	struct accel_tokenizer *t = NULL;
	struct accel_token *list = NULL;
	int32_t ids[512];
	static char text[1600];
	FILE *f = fopen(AUSTEN "/eval.txt", "r");
	double with, without;
	struct store store;
	uint32_t i, k, count;
	size_t n = 0;

	assert_non_null(f);
	args.bytes = fread(text, 1, sizeof(text), f);
	args.text = text;
	fclose(f);
	assert_int_equal(accel_tokenizer_open(AUSTEN, &error, &t), 0);
	assert_int_equal(accel_tokenizer_encode(t, &args, &list, &n), 0);
	count = n < 512 ? (uint32_t)n : 512;
	for (i = 0; i < count; i++)
		ids[i] = (int32_t)list[i].id;
	assert_int_equal(accel_imatrix_observe(m, ids, count), 0);
	free(list);
	accel_tokenizer_close(t);
	assert_int_equal(convert(AUSTEN, "f32.gguf", ACCEL_F32, NULL, &error), 0);
	must_open("f32.gguf", &store);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
			struct accel_imatrix_entry e = entry(m, names[i]);
			const float *rows = numbers(&store, names[i]);

			with = error_of(types[k], rows, 128, &e, true);
			without = error_of(types[k], rows, 128, &e, false);
			if (!(with < without))
				fail_msg("%s, type %u: %g with, %g without", names[i], types[k],
					 with, without);
		}
	stored_close(&store);
	accel_imatrix_destroy(m);
}

/* --- what is wrong --------------------------------------------------------------------------- */

static int load(const uint8_t *data, size_t n, struct accel_error *error)
{
	struct accel_imatrix *m = NULL;
	FILE *f = fopen(path_of("wrong"), "wb");
	int ret;

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	ret = accel_imatrix_load(path_of("wrong"), error, &m);
	if (!ret)
		accel_imatrix_destroy(m);
	return ret;
}

static void test_files(void **arg)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_imatrix *m = collect(*arg, "hf/llama", 128), *none = NULL;
	static uint8_t data[65536], copy[65536];
	const float below = -1, nan = NAN;
	FILE *f;
	size_t n, i;

	assert_int_equal(accel_imatrix_save(m, path_of("nowhere/it"), NULL, &error), -ENOENT);
	assert_true(error.text[0]);
	assert_int_equal(accel_imatrix_save(m, path_of("it.imatrix"), NULL, &error), 0);
	accel_imatrix_destroy(m);
	f = fopen(path_of("it.imatrix"), "rb");
	assert_non_null(f);
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	assert_true(n > 4000 && n < sizeof(data));
	assert_int_equal(load(data, n, &error), 0);
	/* Cut anywhere, and with a bit changed anywhere: never more than an error */
	for (i = 0; i < n - 32; i += 1 + i / 16)
		assert_true(load(data, i, &error) < 0);
	for (i = 0; i < 1500; i++) {
		memcpy(copy, data, n);
		copy[i] ^= (uint8_t)(1 << i % 8);
		load(copy, n, &error);
	}
	/* No sums of squares */
	memcpy(copy, data, n);
	memcpy(copy + n - 32, &below, sizeof(below));
	assert_int_equal(load(copy, n, &error), -EBADMSG);
	memcpy(copy + n - 32, &nan, sizeof(nan));
	assert_int_equal(load(copy, n, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "sums of squares"));
	/* A model is none, and neither is what is not there. */
	assert_int_equal(accel_model_convert(path_of("hf/llama"), NULL, path_of("it.gguf"),
					     &error), 0);
	assert_int_equal(accel_imatrix_load(path_of("it.gguf"), &error, &none), -EBADMSG);
	assert_non_null(strstr(error.text, "no importance matrix"));
	assert_int_equal(accel_imatrix_load(path_of("none"), &error, &none), -ENOENT);
	assert_null(none);
}

static void test_wrong(void **arg)
{
	struct bed *bed = *arg;
	struct accel_imatrix_entry e = { .size = sizeof(e) };
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_imatrix *m = watch(bed, "hf/llama"), *none = NULL;
	const int32_t beyond[] = { 3, 300 }, below[] = { -1 };
	struct accel_model *bert;

	assert_int_equal(accel_imatrix_observe(m, tokens, 129), -EINVAL);
	assert_int_equal(accel_imatrix_observe(m, tokens, 0), -EINVAL);
	assert_int_equal(accel_imatrix_observe(m, beyond, 2), -EINVAL);
	assert_int_equal(accel_imatrix_observe(m, below, 1), -EINVAL);
	assert_int_equal(accel_imatrix_get_entry(m, 15, &e), -ENOENT);
	accel_imatrix_destroy(m);
	assert_int_equal(accel_model_open(path_of("hf/bert"), &error, &bert), 0);
	assert_int_equal(accel_imatrix_create(bed->ctx, bert, &error, &none), -EOPNOTSUPP);
	assert_true(error.text[0]);
	assert_null(none);
	accel_model_close(bert);
}

static int make_folder(void **state)
{
	char cmd[512];
	int i;

	(void)state;
	for (i = 0; i < TOKENS; i++)
		tokens[i] = (i * i * 7 + i * 37 + 11) % 251;
	snprintf(folder, sizeof(folder), "/tmp/test_imatrix.XXXXXX");
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

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_by_hand), TEST(test_experts), TEST(test_gguf), TEST(test_convert),
		TEST(test_convert_experts), TEST(test_errors), TEST(test_files), TEST(test_wrong),
	};

	return cmocka_run_group_tests_name("imatrix", tests, make_folder, drop_folder);
}
