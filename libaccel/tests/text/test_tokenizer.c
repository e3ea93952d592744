// SPDX-License-Identifier: MIT
/*
 * Tokenizers against what the tokenizers library makes of the same strings (answers.js), and what
 * it has not: offsets in bytes, tokens one after the other, arrays of GGUF files, hostile texts.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <accel/tokenizer.h>
#include "libaccel/tests/data.h"
#include "libaccel/tests/guest.h"

#define BLOCK	16
#define NAME(n)	TEXT_DATA "/" n
#define LM	AUSTEN "/tokenizer.json"

struct text {
	char *p;
	size_t n;
};

static struct json_object *answers;
static struct text strings[1024];
static size_t string_n;

static uint32_t hash(uint32_t h, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n--)
		h = (h ^ *p++) * 0x01000193u;
	return h;
}

static struct json_object *get(struct json_object *o, const char *name)
{
	struct json_object *m = json_object_object_get(o, name);

	assert_non_null(m);
	return m;
}

static int set_up(void **state)
{
	struct json_object *list;
	size_t i, j;

	(void)state;
	answers = json_object_from_file(NAME("answers.json"));
	assert_non_null(answers);
	list = get(answers, "strings");
	string_n = json_object_array_length(list);
	assert_true(string_n && string_n <= 1024);
	for (i = 0; i < string_n; i++) {
		const char *hex = json_object_get_string(json_object_array_get_idx(list, i));

		strings[i].n = strlen(hex) / 2;
		/* As long as it is: what reads beyond it is found. */
		strings[i].p = malloc(strings[i].n + !strings[i].n);
		for (j = 0; j < strings[i].n; j++) {
			const char byte[3] = { hex[2 * j], hex[2 * j + 1] };

			strings[i].p[j] = (char)strtoul(byte, NULL, 16);
		}
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	while (string_n)
		free(strings[--string_n].p);
	json_object_put(answers);
	return 0;
}

static struct accel_tokenizer *parse(struct json_object *root)
{
	const char *text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t;

	if (accel_tokenizer_parse(text, strlen(text), &e, &t))
		fail_msg("%s", e.text);
	return t;
}

static struct accel_tokenizer *open_file(const char *path)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t;

	if (accel_tokenizer_open(path, &e, &t))
		fail_msg("%s: %s", path, e.text);
	return t;
}

static struct accel_token *encode(const struct accel_tokenizer *t, const char *text, size_t n,
				  uint32_t flags, size_t *count)
{
	struct accel_encode_args a = ACCEL_ENCODE_ARGS_INIT;
	struct accel_token *tokens;

	a.text = text;
	a.bytes = n;
	a.flags = flags;
	assert_int_equal(accel_tokenizer_encode(t, &a, &tokens, count), 0);
	return tokens;
}

/* The tokenizer of a case: a base with some of its parts in other ways */
static struct json_object *case_root(struct json_object *c)
{
	const char *base = json_object_get_string(get(c, "base"));
	struct json_object *made = json_object_object_get(get(answers, "models"), base), *root, *m;
	char path[256];

	if (made) {
		root = json_object_new_object();
		json_object_object_add(root, "model", json_object_get(made));
	} else {
		snprintf(path, sizeof(path), NAME("%s.json"), base);
		root = json_object_from_file(strcmp(base, "lm") ? path : LM);
		assert_non_null(root);
	}
	json_object_object_foreach(get(c, "patch"), key, value) {
		if (strcmp(key, "model")) {
			json_object_object_add(root, key, json_object_get(value));
			continue;
		}
		m = get(root, "model");
		json_object_object_foreach(value, name, part) {
			json_object_object_add(m, name, json_object_get(part));
		}
	}
	if (json_object_object_get(c, "merge_texts")) {
		struct json_object *list = get(get(root, "model"), "merges"), *texts =
					   json_object_new_array();
		size_t i;

		for (i = 0; i < json_object_array_length(list); i++) {
			struct json_object *pair = json_object_array_get_idx(list, i);
			char text[512];

			snprintf(text, sizeof(text), "%s %s",
				 json_object_get_string(json_object_array_get_idx(pair, 0)),
				 json_object_get_string(json_object_array_get_idx(pair, 1)));
			json_object_array_add(texts, json_object_new_string(text));
		}
		json_object_object_add(get(root, "model"), "merges", texts);
	}
	return root;
}

/* Tokens one after the other are what they are all at once. */
static void stream(const char *name, const struct accel_tokenizer *t, const uint32_t *ids,
		   size_t n, uint32_t flags,
		   const char *text, size_t bytes)
{
	struct accel_detokenizer *d;
	const char *more;
	size_t i, k, at = 0;

	assert_int_equal(accel_detokenizer_create(t, flags, &d), 0);
	for (i = 0; i <= n; i++) {
		if (i < n)
			assert_int_equal(accel_detokenizer_push(d, ids[i], &more, &k), 0);
		else
			assert_int_equal(accel_detokenizer_flush(d, &more, &k), 0);
		if (k > bytes - at || memcmp(more, text + at, k))
			fail_msg("%s: \"%s\" at %zu of \"%s\"", name, more, at, text);
		assert_int_equal(more[k], 0);
		/* No character is cut. */
		assert_true(!k || (more[0] & 0xc0) != 0x80);
		at += k;
	}
	assert_int_equal(at, bytes);
	accel_detokenizer_destroy(d);
}

static uint32_t number(struct json_object *list, size_t i)
{
	return (uint32_t)json_object_get_int64(json_object_array_get_idx(list, i));
}

static void run_case(const char *name, struct json_object *c)
{
	struct json_object *root = case_root(c), *ids = get(c, "ids"), *texts = get(c, "texts");
	struct accel_tokenizer *t = parse(root);
	bool has_bytes = accel_tokenizer_find(t, "<0x00>", 6) != ACCEL_TOKEN_NONE;
	uint32_t h_ids = 0, h_texts = 0, *v;
	size_t i, j, n, bytes;

	assert_int_equal(json_object_array_length(ids), string_n / BLOCK);
	for (i = 0; i < string_n; i++) {
		struct accel_token *o = encode(t, strings[i].p, strings[i].n,
					       ACCEL_ENCODE_PARSE_SPECIAL |
					       (i % 2 ? ACCEL_ENCODE_ADD_SPECIAL : 0u), &n);
		uint32_t count = (uint32_t)n, skip = i % 4 == 3 ? ACCEL_DECODE_SKIP_SPECIAL : 0;
		char *text;

		if (i % BLOCK == 0)
			h_ids = h_texts = 0x811c9dc5;
		h_ids = hash(h_ids, &count, 4);
		v = malloc((n + 1) * sizeof(*v));
		for (j = 0; j < n; j++) {
			v[j] = o[j].id;
			h_ids = hash(h_ids, &v[j], 4);
			assert_true(o[j].start <= o[j].end && o[j].end <= strings[i].n);
		}
		assert_int_equal(accel_tokenizer_decode(t, v, n, skip, &text, &bytes), 0);
		h_texts = hash(h_texts, text, bytes + 1);
		/* What comes twice is nothing there; a run of bytes is broken as a whole. */
		if (strcmp(name, "digit_runs") && !(has_bytes && strstr(text, "\xef\xbf\xbd")))
			stream(name, t, v, n, skip, text, bytes);
		free(text);
		free(v);
		free(o);
		if (i % BLOCK != BLOCK - 1)
			continue;
		if (h_ids != number(ids, i / BLOCK))
			fail_msg("%s: tokens of strings %zu to %zu differ", name, i - BLOCK + 1, i);
		if (h_texts != number(texts, i / BLOCK))
			fail_msg("%s: texts of strings %zu to %zu differ", name, i - BLOCK + 1, i);
	}
	accel_tokenizer_close(t);
	json_object_put(root);
}

static void test_answers(void **state)
{
	int n = 0;

	(void)state;
	if (test_races_only())
		skip();
	json_object_object_foreach(get(answers, "cases"), name, c) {
		run_case(name, c);
		n++;
	}
	assert_true(n > 50);
}

/* vocab.txt of the same model gives the same tokens, with what BERT puts around them. */
static void test_vocab_txt(void **state)
{
	struct accel_tokenizer *a = open_file(NAME("vocab.txt")), *b = open_file(NAME("book.json"));
	struct accel_tokenizer_info info = { .size = sizeof(info) };
	size_t i, j, n, m;

	(void)state;
	assert_int_equal(accel_tokenizer_get_info(a, &info), 0);
	assert_int_equal(info.model, ACCEL_TOKENIZER_WORDPIECE);
	assert_int_equal(info.count, 4096);
	assert_int_equal(info.unknown, 1);
	for (i = 0; i < string_n; i++) {
		struct accel_token *x = encode(a, strings[i].p, strings[i].n,
					       ACCEL_ENCODE_ADD_SPECIAL |
						ACCEL_ENCODE_PARSE_SPECIAL, &n);
		struct accel_token *y = encode(b, strings[i].p, strings[i].n,
					       ACCEL_ENCODE_PARSE_SPECIAL, &m);

		assert_int_equal(n, m + 2);
		assert_int_equal(x[0].id, 2);
		assert_int_equal(x[n - 1].id, 3);
		for (j = 0; j < m; j++)
			assert_memory_equal(&x[j + 1], &y[j], sizeof(*x));
		free(x);
		free(y);
	}
	accel_tokenizer_close(a);
	accel_tokenizer_close(b);
}

static void test_offsets(void **state)
{
	static const char text[] = "caf\xc3\xa9 \xff\xfe na\xc3\xafve";
	struct accel_tokenizer *t = open_file(NAME("book.json"));
	struct accel_token *o;
	size_t n, i;

	(void)state;
	o = encode(t, text, sizeof(text) - 1, 0, &n);
	assert_true(n > 2);
	assert_int_equal(o[0].start, 0);
	assert_int_equal(o[n - 1].end, sizeof(text) - 1);
	for (i = 1; i < n; i++)
		assert_true(o[i].start >= o[i - 1].end);
	/* U+FFFD is cleaned away: nothing stands for the two broken bytes. */
	for (i = 0; i < n; i++)
		assert_true(o[i].end <= 5 || o[i].start >= 9);
	free(o);
	accel_tokenizer_close(t);
}

/* A character of formats that is newer than the reference's classes is not cleaned away. */
static void test_newer(void **state)
{
	struct accel_tokenizer *t = open_file(NAME("book.json"));
	struct accel_token *o;
	size_t n;

	(void)state;
	o = encode(t, "\xe0\xa2\x90", 3, 0, &n);
	assert_int_equal(n, 1);
	assert_int_equal(o[0].id, 1);
	free(o);
	accel_tokenizer_close(t);
}

/* Special tokens in a text count only if that is said. */
static void test_special(void **state)
{
	static const char text[] = "one<|end|>two";
	struct accel_tokenizer *t = open_file(LM);
	struct accel_token_info info = { .size = sizeof(info) };
	struct accel_token *o;
	uint32_t found = 0;
	size_t n, i;

	(void)state;
	o = encode(t, text, sizeof(text) - 1, 0, &n);
	for (i = 0; i < n; i++)
		assert_int_not_equal(o[i].id, 0);
	free(o);
	o = encode(t, text, sizeof(text) - 1, ACCEL_ENCODE_PARSE_SPECIAL, &n);
	for (i = 0; i < n; i++)
		if (o[i].flags & ACCEL_TOKEN_SPECIAL) {
			found++;
			assert_int_equal(o[i].id, 0);
			assert_int_equal(o[i].start, 3);
			assert_int_equal(o[i].end, 10);
		}
	assert_int_equal(found, 1);
	free(o);
	assert_int_equal(accel_tokenizer_find(t, "<|end|>", 7), 0);
	assert_int_equal(accel_tokenizer_find(t, "<|none|>", 8), ACCEL_TOKEN_NONE);
	assert_int_equal(accel_tokenizer_get_token(t, 0, &info), 0);
	assert_int_equal(info.flags, ACCEL_TOKEN_SPECIAL | ACCEL_TOKEN_ADDED);
	n = accel_tokenizer_find(t, "\xc4\xa0the", 5);
	assert_int_equal(accel_tokenizer_get_token(t, (uint32_t)n, &info), 0);
	assert_int_equal(info.byte_count, 4);
	assert_memory_equal(info.bytes, " the", 4);
	assert_int_equal(accel_tokenizer_get_token(t, 4096, &info), -ENOENT);
	accel_tokenizer_close(t);
}

static void test_pair(void **state)
{
	struct accel_tokenizer *t = open_file(NAME("vocab.txt"));
	struct accel_encode_args a = ACCEL_ENCODE_ARGS_INIT;
	struct accel_token *o;
	size_t n, i, seps = 0;

	(void)state;
	a.text = "the man";
	a.bytes = 7;
	a.pair = "of the house";
	a.pair_bytes = 12;
	a.flags = ACCEL_ENCODE_ADD_SPECIAL;
	assert_int_equal(accel_tokenizer_encode(t, &a, &o, &n), 0);
	for (i = 0; i < n; i++) {
		assert_int_equal(o[i].type, seps > 0);
		seps += o[i].id == 3;
	}
	assert_int_equal(seps, 2);
	assert_int_equal(o[0].id, 2);
	free(o);
	accel_tokenizer_close(t);
}

/* What is one word a megabyte long, and what expressions may go back and forth in, ends soon. */
static void test_hostile(void **state)
{
	static const char *const files[] = { LM, NAME("book.json") };
	static const char *const fills[] = {
		"a", " ", "ab", "\xcc\x81\xcc\xa3", "'", "\xff", "\n ", "e\xcc\x81", "<|end|", "1",
	};
	const size_t size = getenv("ACCEL_TEST_SMALL") ? 1 << 16 : 1 << 20;
	size_t i, j, n, k, at;
	char *text;

	(void)state;
	if (test_races_only())
		skip();
	text = malloc(size);
	for (i = 0; i < 2; i++) {
		struct accel_tokenizer *t = open_file(files[i]);

		for (j = 0; j < sizeof(fills) / sizeof(fills[0]); j++) {
			struct accel_token *o;

			k = strlen(fills[j]);
			for (at = 0; at + k <= size; at += k)
				memcpy(text + at, fills[j], k);
			o = encode(t, text, at, ACCEL_ENCODE_PARSE_SPECIAL, &n);
			free(o);
		}
		accel_tokenizer_close(t);
	}
	free(text);
}

struct job {
	const struct accel_tokenizer *t;
	uint32_t hash;
};

static void *work(void *arg)
{
	struct job *job = arg;
	size_t i, j, n;

	job->hash = 0x811c9dc5;
	for (i = 0; i < string_n; i++) {
		struct accel_encode_args a = ACCEL_ENCODE_ARGS_INIT;
		struct accel_token *o;

		a.text = strings[i].p;
		a.bytes = strings[i].n;
		if (accel_tokenizer_encode(job->t, &a, &o, &n))
			return NULL;
		for (j = 0; j < n; j++)
			job->hash = hash(job->hash, &o[j].id, 4);
		free(o);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct accel_tokenizer *t = open_file(LM);
	struct job jobs[5];
	pthread_t threads[4];
	int i;

	(void)state;
	for (i = 0; i < 5; i++)
		jobs[i].t = t;
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	work(&jobs[4]);
	for (i = 0; i < 4; i++)
		assert_int_equal(jobs[i].hash, jobs[4].hash);
	accel_tokenizer_close(t);
}

#define WITH(name, step) \
	"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}},\"" name "\":" step "}"
#define BROKEN_SPLIT	"{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},\"behavior\":\"Isolated\"}"
#define BROKEN_MAP	"{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAAA==\"}"

static void test_refused(void **state)
{
	static const struct {
		const char *json;
		int code;
	} cases[] = {
		{ "", -EBADMSG }, { "[]", -EBADMSG }, { "{", -EBADMSG }, { "{}", -EBADMSG },
		{ "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}}} {", -EBADMSG },
		{ "{\"model\":{\"type\":\"Other\"}}", -EOPNOTSUPP },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
		  -EBADMSG },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}",
		  -EBADMSG },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", -EBADMSG },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1e9},\"merges\":[]}}", -EBADMSG },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":999999999},\"merges\":[]}}",
		  -EBADMSG },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[],\"dropout\":0.1}}",
		  -EOPNOTSUPP },
		{ "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":1}}",
		  -EBADMSG },
		{ WITH("normalizer", "{\"type\":\"None\"}"), -EOPNOTSUPP },
		{ WITH("pre_tokenizer", BROKEN_SPLIT), -EOPNOTSUPP },
		{ WITH("normalizer", BROKEN_MAP), -EBADMSG },
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret = accel_tokenizer_parse(cases[i].json, strlen(cases[i].json), &e, &t);

		if (ret != cases[i].code)
			fail_msg("%s: %d, not %d", cases[i].json, ret, cases[i].code);
		assert_true(e.text[0]);
	}
	assert_int_equal(accel_tokenizer_open("/nowhere/tokenizer.json", &e, &t), -ENOENT);
}

static void test_null(void **state)
{
	struct accel_encode_args a = ACCEL_ENCODE_ARGS_INIT;
	struct accel_tokenizer *t = open_file(NAME("speech.json"));
	struct accel_detokenizer *d;
	struct accel_token *o;
	const char *text;
	char *own;
	size_t n;

	(void)state;
	/* Whoever uses models finds the library beneath them. */
	assert_int_equal(accel_version() >> 16, ACCEL_VERSION_MAJOR);
	assert_int_equal(accel_tokenizer_open(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(accel_tokenizer_parse(NULL, 0, NULL, NULL), -EINVAL);
	assert_int_equal(accel_tokenizer_encode(NULL, &a, &o, &n), -EINVAL);
	assert_int_equal(accel_tokenizer_encode(t, NULL, &o, &n), -EINVAL);
	a.flags = 1u << 31;
	assert_int_equal(accel_tokenizer_encode(t, &a, &o, &n), -EINVAL);
	a.flags = 0;
	a.bytes = 1;
	assert_int_equal(accel_tokenizer_encode(t, &a, &o, &n), -EINVAL);
	a.bytes = 0;
	assert_int_equal(accel_tokenizer_encode(t, &a, &o, &n), 0);
	assert_int_equal(n, 0);
	free(o);
	assert_int_equal(accel_tokenizer_decode(t, NULL, 1, 0, &own, &n), -EINVAL);
	assert_int_equal(accel_tokenizer_decode(t, NULL, 0, 0, &own, NULL), 0);
	assert_string_equal(own, "");
	free(own);
	assert_int_equal(accel_tokenizer_get_info(t, NULL), -EINVAL);
	assert_int_equal(accel_tokenizer_get_token(t, 0, NULL), -EINVAL);
	assert_int_equal(accel_tokenizer_find(t, NULL, 0), ACCEL_TOKEN_NONE);
	assert_null(accel_tokenizer_chat_template(NULL));
	assert_int_equal(accel_detokenizer_create(NULL, 0, &d), -EINVAL);
	assert_int_equal(accel_detokenizer_push(NULL, 0, &text, NULL), -EINVAL);
	assert_int_equal(accel_detokenizer_flush(NULL, &text, NULL), -EINVAL);
	accel_detokenizer_destroy(NULL);
	accel_tokenizer_close(NULL);
	accel_tokenizer_close(t);
}

/* The next number, or number of bytes with them behind, of what another implementation says */
static bool take(void *to, size_t n)
{
	return fread(to, 1, n, stdin) == n;
}

static uint32_t take_piece(char **to, size_t each)
{
	uint32_t n;

	if (!take(&n, 4))
		n = 0;
	*to = malloc(n * each + 1);
	if (!*to || !take(*to, n * each))
		exit(2);
	return n;
}

static void show(const char *what, const char *text, size_t n)
{
	printf("  %s \"", what);
	while (n--)
		printf("\\x%02x", (uint8_t)*text++);
	puts("\"");
}

static void show_ids(const char *what, const uint32_t *ids, size_t n)
{
	printf("  %s", what);
	while (n--)
		printf(" %u", *ids++);
	puts("");
}

/* What peer.js writes is what this tokenizer says. */
static int peer(const char *path)
{
	struct accel_tokenizer *t = open_file(path);
	uint32_t i, j, n, number, count, bytes, all = 0, wrong = 0;
	char *text, *ids, *back, *own;
	size_t own_n, own_bytes;

	for (n = 0; take(&number, 4); n++) {
		struct accel_token *o;
		uint32_t *v;
		bool same;

		bytes = take_piece(&text, 1);
		count = take_piece(&ids, 4);
		o = encode(t, text, bytes, ACCEL_ENCODE_PARSE_SPECIAL |
			   (number % 2 ? ACCEL_ENCODE_ADD_SPECIAL : 0u), &own_n);
		v = malloc((own_n + 1) * 4);
		for (j = 0; j < own_n; j++)
			v[j] = o[j].id;
		same = own_n == count && !memcmp(v, ids, 4 * own_n);
		if (!same && wrong < 20) {
			printf("string %u:\n", number);
			show("text", text, bytes);
			show_ids("is  ", v, own_n);
			show_ids("peer", (uint32_t *)ids, count);
		}
		i = take_piece(&back, 1);
		assert_int_equal(accel_tokenizer_decode(t, (uint32_t *)ids, count, number % 4 == 3 ?
							ACCEL_DECODE_SKIP_SPECIAL : 0, &own,
							&own_bytes), 0);
		if (own_bytes != i || memcmp(own, back, i)) {
			if (wrong < 20) {
				printf("string %u, its tokens as text:\n", number);
				show("is  ", own, own_bytes);
				show("peer", back, i);
			}
			same = false;
		}
		wrong += !same;
		all += count;
		free(own);
		free(v);
		free(o);
		free(back);
		free(ids);
		free(text);
	}
	accel_tokenizer_close(t);
	printf("%u strings, %u tokens, %u strings differ\n", n, all, wrong);
	return !n || wrong;
}

/* A file beside the tokenizer is there and right, or it is not there. */
static void test_beside(void **state)
{
#define CONFIG	"tokenizer_config.json"
	static const char *const cases[][2] = {
		{ "echo '{\"chat_template\": \"x\"' >" CONFIG, CONFIG ": not JSON" },
		{ "echo '{} {}' >" CONFIG, CONFIG ": more than" },
		{ "echo '[]' >" CONFIG, CONFIG " is not an object" },
		{ "mkdir " CONFIG, CONFIG ": not a file" },
		{ "mkdir chat_template.jinja", "chat_template.jinja: not a file" },
		{ "echo '{\"chat_template\": \"x\"}' >" CONFIG, NULL },
	};
	char folder[] = "/tmp/accel-tokenizer.XXXXXX", command[300];
	struct accel_tokenizer *t = NULL;
	size_t i;
	int ret;

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct accel_error e = ACCEL_ERROR_INIT;

		snprintf(command, sizeof(command), "cp %s %s && cd %s && rm -rf *.j* && %s",
			 NAME("vocab.txt"), folder, folder, cases[i][0]);
		assert_int_equal(system(command), 0);
		ret = accel_tokenizer_open(folder, &e, &t);
		if (!cases[i][1]) {
			assert_int_equal(ret, 0);
			break;
		}
		assert_int_equal(ret, -EBADMSG);
		assert_non_null(strstr(e.text, cases[i][1]));
	}
	assert_string_equal(accel_tokenizer_chat_template(t), "x");
	accel_tokenizer_close(t);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_vocab_txt),
		cmocka_unit_test(test_offsets), cmocka_unit_test(test_special),
		cmocka_unit_test(test_newer),
		cmocka_unit_test(test_pair), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_null), cmocka_unit_test(test_beside),
	};

	if (argc == 3 && !strcmp(argv[1], "--peer"))
		return peer(argv[2]);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
