// SPDX-License-Identifier: MIT
/*
 * Tokenizers as callers have them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <json-c/json.h>

#include "libaccel/core/fpmode.h"
#include "../json_end.h"
#include "inside.h"

#define JSON_DEPTH	32

int tok_fail(struct accel_error *e, int code, const char *fmt, ...)
{
	uint32_t size;
	va_list ap;

	if (!e || e->size < sizeof(*e))
		return code;
	size = e->size;
	memset(e, 0, sizeof(*e));
	e->size = size;
	e->code = code;
	e->op_index = UINT32_MAX;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

struct accel_tokenizer *tokenizer_new(void)
{
	struct accel_tokenizer *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->unk = t->bos = t->eos = t->pad_token = TOK_NONE;
	t->max_chars = 100;
	t->made_lock = !pthread_mutex_init(&t->lock, NULL);
	return t;
}

void accel_tokenizer_close(struct accel_tokenizer *t)
{
	struct tok_run *r;
	uint32_t i;

	if (!t)
		return;
	while ((r = t->runs) != NULL) {
		t->runs = r->next_free;
		run_free(r);
	}
	vocab_free(&t->vocab);
	vocab_free(&t->extra);
	vocab_free(&t->bytes);
	trie_free(&t->trie);
	trie_free(&t->found);
	trie_free(&t->found_normalized);
	steps_free(&t->normalizers);
	steps_free(&t->splits);
	steps_free(&t->decoders);
	for (i = 0; i < t->added_n; i++) {
		free((void *)(uintptr_t)t->added[i].text.p);
		free((void *)(uintptr_t)t->added[i].shown.p);
	}
	free(t->added);
	free(t->added_of);
	free(t->merges.keys);
	free(t->merges.vals);
	free(t->scores);
	free(t->weights);
	free((void *)(uintptr_t)t->prefix.p);
	free((void *)(uintptr_t)t->suffix.p);
	free(t->chat_template);
	if (t->made_lock)
		pthread_mutex_destroy(&t->lock);
	free(t);
}

/* --- what is made when all is read --------------------------------------------------------- */

/* The model on bytes, instead of their alphabet: where each byte is a token, that is the same. */
static int make_raw(struct accel_tokenizer *t)
{
	struct tok_step *last = t->splits.n ? &t->splits.v[t->splits.n - 1] : NULL;
	uint8_t one[4], *bytes;
	struct tok_bytes text;
	uint32_t i;
	size_t n;
	int ret = 0;

	if (t->model != ACCEL_TOKENIZER_BPE || !last || last->kind != STEP_BYTE_LEVEL ||
	    t->prefix.n || t->suffix.n)
		return 0;
	for (i = 0; i < 256; i++)
		if (vocab_find(&t->vocab, one, utf8_put(one, byte_to_char((uint8_t)i))) == TOK_NONE)
			return 0;
	/* An earlier step must not have made the alphabet of it already. */
	for (i = 0; i + 1 < t->splits.n; i++)
		if (t->splits.v[i].kind == STEP_BYTE_LEVEL)
			return 0;
	bytes = malloc(t->vocab.longest + 1u);
	if (!bytes)
		return -ENOMEM;
	for (i = 0; !ret && i < t->vocab.count; i++)
		if (vocab_get(&t->vocab, i, &text) && chars_to_bytes(text, bytes, &n))
			ret = vocab_add(&t->bytes, (struct tok_bytes){ bytes, n }, i);
	free(bytes);
	t->raw = last->b = !ret;
	return ret;
}

/* What each token is between others, where the decoder's steps say it of one alone */
static int make_bytes(struct accel_tokenizer *t)
{
	struct tok_strings a = { 0 }, b = { 0 };
	struct tok_bytes text;
	struct tok_run *r;
	uint64_t all = 0;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < t->decoders.n; i++) {
		const struct tok_step *s = &t->decoders.v[i];

		if (s->kind == STEP_UNWORDS || s->kind == STEP_CTC)
			return 0;
		if (s->text.n > TOK_MAX_WORD)
			return -E2BIG;
	}
	r = t->raw || !i ? NULL : run_get(t);
	if (!r)
		return t->raw || !i ? 0 : -ENOMEM;
	for (i = 0; !ret && i < t->vocab.count; i++) {
		if (!vocab_get(&t->vocab, i, &text))
			continue;
		ret = token_inside(r, text, &a, &b);
		all += a.used;
		if (!ret && all > TOK_MAX_FILE)
			ret = -E2BIG;
		else if (!ret && (a.used != text.n || (text.n && memcmp(a.s, text.p, text.n))))
			ret = vocab_add(&t->bytes, (struct tok_bytes){ a.s, a.used }, i);
	}
	run_put(r);
	strings_free(&a);
	strings_free(&b);
	return ret;
}

static int make_trie(struct accel_tokenizer *t)
{
	struct tok_bytes *texts = malloc(((size_t)t->vocab.count + 1) * sizeof(*texts));
	uint32_t *ids = malloc(((size_t)t->vocab.count + 1) * sizeof(*ids)), i, n = 0;
	int ret = -ENOMEM;

	for (i = 0; texts && ids && i < t->vocab.count; i++)
		if (vocab_get(&t->vocab, i, &texts[n]))
			ids[n++] = i;
	if (texts && ids)
		ret = trie_make(&t->trie, n, texts, ids);
	free(texts);
	free(ids);
	return ret;
}

/**
 * tokenizer_finish - a tokenizer that was read becomes one that works
 * @t: tokenizer
 * @e: filled if it fails
 *
 * Return: 0; -ENOMEM, and others of steps.
 */
int tokenizer_finish(struct accel_tokenizer *t, struct accel_error *e)
{
	uint32_t i;
	int ret = t->made_lock ? make_raw(t) : -ENOMEM;

	if (!ret && (t->model == ACCEL_TOKENIZER_UNIGRAM || t->model == ACCEL_TOKENIZER_WORDPIECE))
		ret = make_trie(t);
	if (!ret)
		ret = added_finish(t);
	if (!ret)
		ret = make_bytes(t);
	if (ret)
		return tok_fail(e, ret, "the tokenizer cannot be made");
	for (i = 0; i < 256; i++) {
		char name[8];

		snprintf(name, sizeof(name), "<0x%02X>", i);
		t->byte_ids[i] = vocab_find(&t->vocab, (const uint8_t *)name, 6);
	}
	for (i = 0; i < t->weight_n; i++)
		if (!i || t->weights[i] < t->min_score)
			t->min_score = t->weights[i];
	if (t->unk == TOK_NONE)
		return 0;
	return vocab_get(&t->vocab, t->unk, &t->unk_text) ? 0 :
	       tok_fail(e, -EBADMSG, "the unknown token is none");
}

/* --- files --------------------------------------------------------------------------------- */

static int read_file(const char *path, uint8_t **data, size_t *bytes, struct accel_error *e)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret = 0;
	struct stat st;
	size_t got = 0;
	uint8_t *p;

	if (fd < 0)
		return tok_fail(e, -errno, "%.180s: cannot be opened", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > TOK_MAX_FILE) {
		close(fd);
		return tok_fail(e, S_ISREG(st.st_mode) ? -E2BIG : -EBADMSG,
				"%.180s: not a file of a tokenizer", path);
	}
	p = malloc((size_t)st.st_size + 1);
	while (p && got < (size_t)st.st_size) {
		ssize_t n = read(fd, p + got, (size_t)st.st_size - got);

		if (n <= 0) {
			ret = n ? -errno : -EBADMSG;
			break;
		}
		got += (size_t)n;
	}
	close(fd);
	if (!p || ret) {
		free(p);
		return tok_fail(e, p ? ret : -ENOMEM, "%.180s: cannot be read", path);
	}
	p[got] = 0;
	*data = p;
	*bytes = got;
	return 0;
}

static int parse_json(const uint8_t *text, size_t bytes, struct json_object **root,
		      struct accel_error *e)
{
	struct json_tokener *tok;

	if (bytes > TOK_MAX_FILE)
		return tok_fail(e, -E2BIG, "a tokenizer of %zu bytes", bytes);
	tok = json_tokener_new_ex(JSON_DEPTH);
	if (!tok)
		return tok_fail(e, -ENOMEM, "out of memory");
	json_tokener_set_flags(tok, JSON_TOKENER_VALIDATE_UTF8);
	*root = json_tokener_parse_ex(tok, (const char *)text, (int)bytes + 1);
	if (!*root) {
		tok_fail(e, -EBADMSG, "not JSON, at byte %zu: %s", json_tokener_get_parse_end(tok),
			 json_tokener_error_desc(json_tokener_get_error(tok)));
		json_tokener_free(tok);
		return -EBADMSG;
	}
	if (!json_is_end(tok, text, bytes)) {
		json_object_put(*root);
		*root = NULL;
	}
	json_tokener_free(tok);
	return *root ? 0 : tok_fail(e, -EBADMSG, "more than a JSON document");
}

/* What a tokenizer_config.json calls a token: "<s>", or { "content": "<s>" } */
static uint32_t config_token(const struct accel_tokenizer *t, struct json_object *root,
			     const char *name)
{
	struct json_object *o = json_object_object_get(root, name);
	struct tok_bytes s;

	if (json_object_is_type(o, json_type_object))
		o = json_object_object_get(o, "content");
	s = json_text(o);
	return s.p ? accel_tokenizer_find(t, (const char *)s.p, s.n) : TOK_NONE;
}

/* The template of conversations: a text, or one of several, named "default" */
static struct tok_bytes config_template(struct json_object *root)
{
	struct json_object *o = json_object_object_get(root, "chat_template");
	size_t i;

	if (!json_object_is_type(o, json_type_array))
		return json_text(o);
	for (i = 0; i < json_object_array_length(o); i++) {
		struct json_object *one = json_object_array_get_idx(o, i);
		const char *name = json_object_get_string(json_object_object_get(one, "name"));

		if (name && !strcmp(name, "default"))
			return json_text(json_object_object_get(one, "template"));
	}
	return (struct tok_bytes){ NULL, 0 };
}

/* A file that may be missing, but not be one that cannot be read */
static int read_beside(const char *folder, const char *name, uint8_t **data, size_t *bytes,
		       struct accel_error *e)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) && errno == ENOENT ? 0 : read_file(path, data, bytes, e);
}

static int read_config(const char *folder, struct json_object **config, struct accel_error *e)
{
	struct accel_error inner = ACCEL_ERROR_INIT;
	uint8_t *data = NULL;
	size_t bytes = 0;
	int ret = read_beside(folder, "tokenizer_config.json", &data, &bytes, e);

	if (ret || !data)
		return ret;
	ret = parse_json(data, bytes, config, &inner);
	free(data);
	if (ret)
		return tok_fail(e, ret, "tokenizer_config.json: %.200s", inner.text);
	if (!json_object_is_type(*config, json_type_object))
		return tok_fail(e, -EBADMSG, "tokenizer_config.json is not an object");
	return 0;
}

/* Special tokens and the template of conversations */
static int take_config(struct accel_tokenizer *t, const char *folder, struct json_object *root,
		       struct accel_error *e)
{
	struct tok_bytes text = config_template(root);
	uint8_t *data = NULL;
	size_t bytes = 0;
	int ret;

	t->bos = config_token(t, root, "bos_token");
	t->eos = config_token(t, root, "eos_token");
	t->pad_token = config_token(t, root, "pad_token");
	if (text.p) {
		text = bytes_dup(text);
		t->chat_template = (char *)(uintptr_t)text.p;
		return text.p ? 0 : tok_fail(e, -ENOMEM, "out of memory");
	}
	ret = read_beside(folder, "chat_template.jinja", &data, &bytes, e);
	t->chat_template = (char *)data;
	return ret;
}

static int parse(struct accel_tokenizer *t, const uint8_t *text, size_t bytes,
		 struct accel_error *e)
{
	struct json_object *root = NULL;
	int ret = parse_json(text, bytes, &root, e);

	if (ret)
		return ret;
	ret = config_read(t, root, e);
	json_object_put(root);
	return ret;
}

int accel_tokenizer_parse(const char *json, size_t bytes, struct accel_error *error,
			  struct accel_tokenizer **out)
{
	FP_MODE_SCOPE();
	struct accel_tokenizer *t;
	uint8_t *copy;
	int ret;

	if (!json || !out)
		return -EINVAL;
	if (bytes > TOK_MAX_FILE)
		return tok_fail(error, -E2BIG, "a tokenizer of %zu bytes", bytes);
	t = tokenizer_new();
	copy = malloc(bytes + 1);
	if (!t || !copy) {
		free(copy);
		accel_tokenizer_close(t);
		return tok_fail(error, -ENOMEM, "out of memory");
	}
	memcpy(copy, json, bytes);
	copy[bytes] = 0;
	ret = parse(t, copy, bytes, error);
	free(copy);
	if (!ret)
		ret = tokenizer_finish(t, error);
	if (ret)
		accel_tokenizer_close(t);
	else
		*out = t;
	return ret;
}

static bool is_gguf(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char head[4] = "";
	bool is = fd >= 0 && read(fd, head, 4) == 4 && !memcmp(head, "GGUF", 4);

	if (fd >= 0)
		close(fd);
	return is;
}

int accel_tokenizer_open(const char *path, struct accel_error *error, struct accel_tokenizer **out)
{
	FP_MODE_SCOPE();
	char folder[4096], file[4200];
	struct json_object *config = NULL;
	struct accel_tokenizer *t;
	uint8_t *data = NULL;
	size_t bytes = 0, n;
	const char *name;
	struct stat st;
	int ret;

	if (!path || !out)
		return -EINVAL;
	n = strlen(path);
	if (n >= sizeof(folder) - 1)
		return tok_fail(error, -ENAMETOOLONG, "a path of %zu bytes", n);
	if (stat(path, &st))
		return tok_fail(error, -errno, "%.180s: cannot be opened", path);
	if (S_ISDIR(st.st_mode)) {
		memcpy(folder, path, n + 1);
		snprintf(file, sizeof(file), "%s/tokenizer.json", folder);
		if (access(file, F_OK))
			snprintf(file, sizeof(file), "%s/vocab.txt", folder);
		if (access(file, F_OK) && errno == ENOENT)
			return tok_fail(error, -ENOENT,
					"%.180s: neither tokenizer.json nor vocab.txt", folder);
	} else {
		name = strrchr(path, '/');
		snprintf(folder, sizeof(folder), "%.*s", name ? (int)(name - path) + 1 : 1, name ?
			 path : ".");
		snprintf(file, sizeof(file), "%s", path);
	}
	if (is_gguf(file))
		return gguf_tokenizer(file, error, out);
	t = tokenizer_new();
	if (!t)
		return tok_fail(error, -ENOMEM, "out of memory");
	ret = read_file(file, &data, &bytes, error);
	if (!ret)
		ret = read_config(folder, &config, error);
	if (ret)
		goto out;
	n = strlen(file);
	if (n > 4 && !strcmp(file + n - 4, ".txt"))
		ret = vocab_txt_read(t, (struct tok_bytes){ data, bytes },
				     json_flag(config, "do_lower_case", true), error);
	else
		ret = parse(t, data, bytes, error);
	if (!ret)
		ret = tokenizer_finish(t, error);
	if (!ret)
		ret = take_config(t, folder, config, error);
out:
	free(data);
	json_object_put(config);
	if (ret)
		accel_tokenizer_close(t);
	else
		*out = t;
	return ret;
}

/* --- the vocabulary ------------------------------------------------------------------------ */

int accel_tokenizer_get_info(const struct accel_tokenizer *t, struct accel_tokenizer_info *info)
{
	uint32_t size;

	if (!t || !info || info->size < sizeof(*info))
		return -EINVAL;
	size = info->size;
	memset(info, 0, sizeof(*info));
	info->size = size;
	info->model = t->model;
	info->count = t->vocab.count > t->extra.count ? t->vocab.count : t->extra.count;
	info->added = t->added_n;
	info->bos = t->bos;
	info->eos = t->eos;
	info->unknown = t->unk;
	info->pad = t->pad_token != TOK_NONE ? t->pad_token : t->pad ? t->pad_id : TOK_NONE;
	return 0;
}

const char *accel_tokenizer_chat_template(const struct accel_tokenizer *t)
{
	return t ? t->chat_template : NULL;
}

int accel_tokenizer_get_token(const struct accel_tokenizer *t, uint32_t id,
			      struct accel_token_info *info)
{
	const struct tok_added *a;
	struct tok_bytes text;
	uint32_t size;

	if (!t || !info || info->size < sizeof(*info))
		return -EINVAL;
	a = added_get(t, id);
	if (a)
		text = a->text;
	else if (!vocab_get(&t->vocab, id, &text))
		return -ENOENT;
	size = info->size;
	memset(info, 0, sizeof(*info));
	info->size = size;
	info->text = (const char *)text.p;
	info->text_bytes = text.n;
	if (a) {
		info->flags = ACCEL_TOKEN_ADDED | (a->special ? ACCEL_TOKEN_SPECIAL : 0);
	} else if (vocab_get(&t->bytes, id, &text)) {
		info->bytes = text.p;
		info->byte_count = text.n;
	}
	if (id < t->weight_n)
		info->score = (float)t->weights[id];
	else if (t->scores && id < t->vocab.count)
		info->score = t->scores[id];
	return 0;
}

uint32_t accel_tokenizer_find(const struct accel_tokenizer *t, const char *text, size_t bytes)
{
	uint32_t id;

	if (!t || !text)
		return TOK_NONE;
	id = vocab_find(&t->extra, (const uint8_t *)text, bytes);
	return id != TOK_NONE ? id : vocab_find(&t->vocab, (const uint8_t *)text, bytes);
}
