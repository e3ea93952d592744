// SPDX-License-Identifier: MIT
/*
 * The lists of steps in tokenizer.json, and what comes around the tokens.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <json-c/json.h>

#include "inside.h"

#define MAX_DEPTH	8

struct tok_bytes bytes_dup(struct tok_bytes b)
{
	uint8_t *p = malloc(b.n + 1);

	if (!p)
		return (struct tok_bytes){ NULL, 0 };
	if (b.n)
		memcpy(p, b.p, b.n);
	p[b.n] = 0;
	return (struct tok_bytes){ p, b.n };
}

/* A text of the file, borrowed; none: p is NULL */
struct tok_bytes json_text(struct json_object *o)
{
	if (!json_object_is_type(o, json_type_string))
		return (struct tok_bytes){ NULL, 0 };
	return (struct tok_bytes){ (const uint8_t *)json_object_get_string(o),
				   (size_t)json_object_get_string_len(o) };
}

static struct tok_bytes member_text(struct json_object *o, const char *name)
{
	return json_text(json_object_object_get(o, name));
}

bool json_flag(struct json_object *o, const char *name, bool otherwise)
{
	struct json_object *m = json_object_object_get(o, name);

	return m ? json_object_get_boolean(m) : otherwise;
}

static bool is(struct tok_bytes s, const char *name)
{
	return s.p && s.n == strlen(name) && !memcmp(s.p, name, s.n);
}

static uint32_t first_char(struct tok_bytes s, uint32_t otherwise)
{
	uint32_t k;

	return s.n ? utf8_get(s.p, &k) : otherwise;
}

/* A number from 0 to @max; -1: another */
static int64_t count_of(struct json_object *o, int64_t max)
{
	int64_t n = json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : -1;

	return n >= 0 && n <= max ? n : -1;
}

struct tok_step *steps_add(struct tok_steps *s, enum tok_kind kind)
{
	struct tok_step *more = s->n < TOK_MAX_STEPS ? realloc(s->v, (s->n + 1) * sizeof(*more)) :
				NULL;

	if (!more)
		return NULL;
	s->v = more;
	memset(&more[s->n], 0, sizeof(*more));
	more[s->n].kind = kind;
	return &more[s->n++];
}

void steps_free(struct tok_steps *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		pattern_free(&s->v[i].pattern);
		free((void *)(uintptr_t)s->v[i].text.p);
		free((void *)(uintptr_t)s->v[i].text2.p);
		charsmap_free(s->v[i].charsmap);
	}
	free(s->v);
}

/* What a list of steps may have, and how the steps are read */
struct list {
	struct tok_steps *steps;
	const char *member;		/* of a Sequence */
	const char *what;
	int (*read)(struct list *l, struct json_object *o, struct tok_bytes type);
	struct accel_error *e;
};

static int add(struct list *l, enum tok_kind kind, struct tok_step **step)
{
	*step = steps_add(l->steps, kind);
	if (*step)
		return 0;
	return l->steps->n == TOK_MAX_STEPS ?
	       tok_fail(l->e, -E2BIG, "more than %u steps", TOK_MAX_STEPS) :
					      tok_fail(l->e, -ENOMEM, "out of memory");
}

static int read_list(struct list *l, struct json_object *o, int depth)
{
	struct tok_bytes type = member_text(o, "type");
	struct json_object *all;
	size_t i;
	int ret = 0;

	if (!o)
		return 0;
	if (depth > MAX_DEPTH)
		return tok_fail(l->e, -E2BIG, "%ss within %ss without end", l->what, l->what);
	if (!is(type, "Sequence"))
		return l->read(l, o, type);
	all = json_object_object_get(o, l->member);
	if (!json_object_is_type(all, json_type_array))
		return tok_fail(l->e, -EBADMSG, "a sequence without \"%s\"", l->member);
	for (i = 0; !ret && i < json_object_array_length(all); i++)
		ret = read_list(l, json_object_array_get_idx(all, i), depth + 1);
	return ret;
}

static int unknown(struct list *l, struct tok_bytes type)
{
	return tok_fail(l->e, -EOPNOTSUPP, "a %s \"%.*s\" is not known", l->what,
			(int)(type.n < 60 ? type.n : 60), type.p ? (const char *)type.p : "");
}

static int keep(struct list *l, struct tok_bytes *to, struct tok_bytes text)
{
	*to = bytes_dup(text);
	return to->p ? 0 : tok_fail(l->e, -ENOMEM, "out of memory");
}

/* { "String": "..." } or { "Regex": "..." } */
static int read_pattern(struct list *l, struct tok_step *s, struct json_object *o)
{
	struct json_object *p = json_object_object_get(o, "pattern");
	struct tok_bytes text = json_text(p), regex = { NULL, 0 };

	if (!text.p) {
		text = member_text(p, "String");
		regex = member_text(p, "Regex");
	}
	if (!text.p && !regex.p)
		return tok_fail(l->e, -EBADMSG, "a %s without a pattern", l->what);
	return pattern_make(&s->pattern, text.p ? text : regex, !text.p, l->e);
}

/* What is found becomes "content". */
static int read_replace(struct list *l, struct json_object *o, enum tok_kind kind)
{
	struct tok_step *s;
	int ret = add(l, kind, &s);

	if (!ret)
		ret = keep(l, &s->text, member_text(o, "content"));
	return ret ? ret : read_pattern(l, s, o);
}

static int base64(struct tok_bytes in, uint8_t **out, size_t *n)
{
	uint32_t bits = 0, have = 0;
	uint8_t *p = malloc(in.n + 1);
	size_t i;

	*n = 0;
	for (i = 0; p && i < in.n && in.p[i] != '='; i++) {
		uint8_t c = in.p[i];
		int v = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 :
			c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;

		if (v < 0) {
			free(p);
			return -EBADMSG;
		}
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			p[(*n)++] = (uint8_t)(bits >> have);
		}
	}
	*out = p;
	return p ? 0 : -ENOMEM;
}

static int read_charsmap(struct list *l, struct json_object *o)
{
	struct tok_step *s;
	uint8_t *blob = NULL;
	size_t n;
	int ret = add(l, STEP_CHARSMAP, &s);

	if (ret)
		return ret;
	ret = base64(member_text(o, "precompiled_charsmap"), &blob, &n);
	if (ret)
		return tok_fail(l->e, ret, "a precompiled normalizer that is not in base64");
	ret = charsmap_make(&s->charsmap, (struct tok_bytes){ blob, n }, l->e);
	free(blob);
	return ret;
}

/* Four steps that each do one thing */
static int read_bert(struct list *l, struct json_object *o)
{
	struct json_object *accents = json_object_object_get(o, "strip_accents");
	bool lower = json_flag(o, "lowercase", true);
	struct tok_step *s;
	int ret = add(l, STEP_BERT, &s);

	if (ret)
		return ret;
	s->a = json_flag(o, "clean_text", true);
	s->b = json_flag(o, "handle_chinese_chars", true);
	if (accents ? json_object_get_boolean(accents) : lower) {
		ret = add(l, STEP_NFD, &s);
		if (!ret)
			ret = add(l, STEP_ACCENTS, &s);
		if (!ret)
			s->b = true;
	}
	return ret || !lower ? ret : add(l, STEP_LOWER, &s);
}

static int read_normalizer(struct list *l, struct json_object *o, struct tok_bytes type)
{
	static const struct {
		const char *name;
		enum tok_kind kind;
	} plain[] = {
		{ "NFC", STEP_NFC }, { "NFD", STEP_NFD }, { "NFKC", STEP_NFKC },
			{ "NFKD", STEP_NFKD },
		{ "Lowercase", STEP_LOWER }, { "StripAccents", STEP_ACCENTS }, { "Nmt", STEP_NMT },
		{ "ByteLevel", STEP_BYTES },
	};
	struct tok_step *s;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(plain); i++)
		if (is(type, plain[i].name))
			return add(l, plain[i].kind, &s);
	if (is(type, "Strip")) {
		ret = add(l, STEP_STRIP, &s);
		if (ret)
			return ret;
		s->a = json_flag(o, "strip_left", true);
		s->b = json_flag(o, "strip_right", true);
		return 0;
	}
	if (is(type, "Replace"))
		return read_replace(l, o, STEP_REPLACE);
	if (is(type, "Prepend")) {
		ret = add(l, STEP_PREPEND, &s);
		return ret ? ret : keep(l, &s->text, member_text(o, "prepend"));
	}
	if (is(type, "BertNormalizer"))
		return read_bert(l, o);
	if (is(type, "Precompiled"))
		return read_charsmap(l, o);
	return unknown(l, type);
}

static int read_behavior(struct list *l, struct tok_step *s, struct json_object *o,
			 const char *otherwise)
{
	static const char *const names[] = {
		[REMOVED] = "Removed", [ISOLATED] = "Isolated", [MERGED_PREVIOUS] =
			    "MergedWithPrevious",
		[MERGED_NEXT] = "MergedWithNext", [CONTIGUOUS] = "Contiguous",
	};
	struct tok_bytes name = member_text(o, "behavior");
	uint32_t i;

	if (!name.p && otherwise)
		name = (struct tok_bytes){ (const uint8_t *)otherwise, strlen(otherwise) };
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (is(name, names[i])) {
			s->behavior = (enum tok_behavior)i;
			return 0;
		}
	return tok_fail(l->e, -EBADMSG, "a split that does not say what becomes of what it finds");
}

static int read_metaspace(struct list *l, struct json_object *o, enum tok_kind kind)
{
	struct tok_bytes scheme = member_text(o, "prepend_scheme");
	struct tok_step *s;
	int ret = add(l, kind, &s);

	if (ret)
		return ret;
	s->ch = first_char(member_text(o, "replacement"), 0x2581);
	s->split = json_flag(o, "split", true);
	s->scheme = is(scheme, "first") ? SCHEME_FIRST : is(scheme, "never") ? SCHEME_NEVER :
		    SCHEME_ALWAYS;
	if (!json_flag(o, "add_prefix_space", true))
		s->scheme = SCHEME_NEVER;
	return 0;
}

static int read_splitter(struct list *l, struct json_object *o, struct tok_bytes type)
{
	const struct tok_bytes gpt2 = { (const uint8_t *)GPT2_SPLIT, strlen(GPT2_SPLIT) };
	struct tok_step *s;
	int64_t n;
	int ret;

	if (is(type, "ByteLevel")) {
		ret = add(l, STEP_BYTE_LEVEL, &s);
		if (ret)
			return ret;
		s->a = json_flag(o, "add_prefix_space", true);
		s->split = json_flag(o, "use_regex", true);
		return s->split ? pattern_make(&s->pattern, gpt2, true, l->e) : 0;
	}
	if (is(type, "Split")) {
		ret = add(l, STEP_SPLIT, &s);
		if (!ret)
			ret = read_behavior(l, s, o, NULL);
		if (ret)
			return ret;
		s->invert = json_flag(o, "invert", false);
		return read_pattern(l, s, o);
	}
	if (is(type, "Whitespace"))
		return add(l, STEP_WORDS, &s);
	if (is(type, "WhitespaceSplit"))
		return add(l, STEP_WHITE_SPLIT, &s);
	if (is(type, "Metaspace"))
		return read_metaspace(l, o, STEP_METASPACE);
	if (is(type, "BertPreTokenizer"))
		return add(l, STEP_BERT_SPLIT, &s);
	if (is(type, "Punctuation")) {
		ret = add(l, STEP_PUNCT, &s);
		return ret ? ret : read_behavior(l, s, o, "Isolated");
	}
	if (is(type, "Digits")) {
		ret = add(l, STEP_DIGITS, &s);
		if (!ret)
			s->a = json_flag(o, "individual_digits", false);
		return ret;
	}
	if (is(type, "CharDelimiterSplit") || is(type, "Delimiter")) {
		ret = add(l, STEP_CHAR_SPLIT, &s);
		if (!ret)
			s->ch = first_char(member_text(o, "delimiter"), ' ');
		return ret;
	}
	if (is(type, "FixedLength")) {
		ret = add(l, STEP_LENGTH, &s);
		if (ret)
			return ret;
		n = json_object_object_get(o, "length") ?
		    count_of(json_object_object_get(o, "length"), 1 << 30) : 5;
		s->start = (uint32_t)n;
		return n > 0 ? 0 : tok_fail(l->e, -EBADMSG, "pieces of no length");
	}
	return unknown(l, type);
}

static int read_decoder(struct list *l, struct json_object *o, struct tok_bytes type)
{
	struct tok_step *s;
	int64_t start, stop;
	int ret;

	if (is(type, "ByteLevel"))
		return add(l, STEP_UNBYTES, &s);
	if (is(type, "ByteFallback"))
		return add(l, STEP_FALLBACK, &s);
	if (is(type, "Fuse"))
		return add(l, STEP_FUSE, &s);
	if (is(type, "Metaspace"))
		return read_metaspace(l, o, STEP_UNSPACE);
	if (is(type, "WordPiece")) {
		ret = add(l, STEP_UNWORDS, &s);
		if (ret)
			return ret;
		s->a = json_flag(o, "cleanup", true);
		return keep(l, &s->text, member_text(o, "prefix"));
	}
	if (is(type, "Replace"))
		return read_replace(l, o, STEP_UNREPLACE);
	if (is(type, "Strip")) {
		ret = add(l, STEP_CUT, &s);
		start = count_of(json_object_object_get(o, "start"), 1 << 20);
		stop = count_of(json_object_object_get(o, "stop"), 1 << 20);
		if (ret)
			return ret;
		if (start < 0 || stop < 0)
			return tok_fail(l->e, -EBADMSG,
					"a decoder that strips no number of characters");
		s->ch = first_char(member_text(o, "content"), ' ');
		s->start = (uint32_t)start;
		s->stop = (uint32_t)stop;
		return 0;
	}
	if (is(type, "CTC")) {
		ret = add(l, STEP_CTC, &s);
		if (!ret)
			ret = keep(l, &s->text, member_text(o, "pad_token"));
		if (!ret)
			ret = keep(l, &s->text2, member_text(o, "word_delimiter_token"));
		if (!ret)
			s->a = json_flag(o, "cleanup", true);
		return ret;
	}
	if (is(type, "BPEDecoder")) {
		ret = add(l, STEP_BPE_END, &s);
		return ret ? ret : keep(l, &s->text, member_text(o, "suffix"));
	}
	return unknown(l, type);
}

/**
 * steps_read - the lists of steps
 * @t: tokenizer
 * @root: tokenizer.json
 * @e: filled if it fails
 *
 * Return: 0, or the error that @e has.
 */
int steps_read(struct accel_tokenizer *t, struct json_object *root, struct accel_error *e)
{
	struct list lists[] = {
		{ &t->normalizers, "normalizers", "normalizer", read_normalizer, e },
		{ &t->splits, "pretokenizers", "pre-tokenizer", read_splitter, e },
		{ &t->decoders, "decoders", "decoder", read_decoder, e },
	};
	static const char *const names[] = { "normalizer", "pre_tokenizer", "decoder" };
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(lists); i++)
		ret = read_list(&lists[i], json_object_object_get(root, names[i]), 0);
	t->no_decoder = !json_object_object_get(root, "decoder");
	return ret;
}

/* --- around the tokens ------------------------------------------------------------------- */

static bool around(struct tok_template *m, uint32_t id, uint16_t which, uint16_t type)
{
	if (m->n == AROUND_MAX)
		return false;
	m->v[m->n++] = (struct tok_around){ id, which, type };
	m->added += id != TOK_NONE;
	return true;
}

/* [ "[SEP]", 102 ] */
static uint32_t named(struct json_object *o)
{
	int64_t id = json_object_is_type(o, json_type_array) && json_object_array_length(o) == 2 ?
		     count_of(json_object_array_get_idx(o, 1), TOK_MAX_IDS - 1) : -1;

	return id < 0 ? TOK_NONE : (uint32_t)id;
}

/* Templates as BERT and RoBERTa have them, without being told */
static int read_fixed(struct accel_tokenizer *t, struct json_object *o, bool roberta,
		      struct accel_error *e)
{
	uint32_t cls = named(json_object_object_get(o, "cls")), sep =
		       named(json_object_object_get(o, "sep"));
	struct tok_template *pair = &t->pair;

	if (cls == TOK_NONE || sep == TOK_NONE)
		return tok_fail(e, -EBADMSG, "a post-processor without its tokens");
	around(&t->single, cls, 0, 0);
	around(&t->single, TOK_NONE, 0, 0);
	around(&t->single, sep, 0, 0);
	*pair = t->single;
	if (roberta)
		around(pair, sep, 0, 0);
	around(pair, TOK_NONE, 1, !roberta);
	around(pair, sep, 0, !roberta);
	return 0;
}

static int read_template(struct json_object *list, struct json_object *tokens,
			 struct tok_template *m,
			 struct accel_error *e)
{
	size_t i, j;

	for (i = 0; i < (list ? json_object_array_length(list) : 0); i++) {
		struct json_object *piece = json_object_array_get_idx(list, i), *o, *ids;
		int64_t type;

		o = json_object_object_get(piece, "Sequence");
		if (o) {
			type = count_of(json_object_object_get(o, "type_id"), UINT16_MAX);
			if (type < 0 || !around(m, TOK_NONE, is(member_text(o, "id"), "B"),
						(uint16_t)type))
				return tok_fail(e, -EBADMSG, "a template that is not understood");
			continue;
		}
		o = json_object_object_get(piece, "SpecialToken");
		type = count_of(json_object_object_get(o, "type_id"), UINT16_MAX);
		ids = member_text(o, "id").p ?
		      json_object_object_get(tokens, (const char *)member_text(o, "id").p) : NULL;
		ids = json_object_object_get(ids, "ids");
		if (type < 0 || !json_object_is_type(ids, json_type_array))
			return tok_fail(e, -EBADMSG, "a template whose tokens are not known");
		for (j = 0; j < json_object_array_length(ids); j++) {
			int64_t id = count_of(json_object_array_get_idx(ids, j), TOK_MAX_IDS - 1);

			if (id < 0 || !around(m, (uint32_t)id, 0, (uint16_t)type))
				return tok_fail(e, -EBADMSG, "a template that is not understood");
		}
	}
	return 0;
}

static int read_post(struct accel_tokenizer *t, struct json_object *o, struct accel_error *e,
		     int depth)
{
	struct tok_bytes type = member_text(o, "type");
	struct json_object *all;
	size_t i;
	int ret = 0;

	if (!o)
		return 0;
	if (is(type, "Sequence") && depth < MAX_DEPTH) {
		all = json_object_object_get(o, "processors");
		for (i = 0; !ret && json_object_is_type(all, json_type_array) &&
		     i < json_object_array_length(all); i++)
			ret = read_post(t, json_object_array_get_idx(all, i), e, depth + 1);
		return ret;
	}
	if (is(type, "ByteLevel") || is(type, "RobertaProcessing")) {
		t->trim = json_flag(o, "trim_offsets", true);
		t->trim_prefix = json_flag(o, "add_prefix_space", true);
		if (is(type, "ByteLevel"))
			return 0;
	}
	if (t->has_template)
		return tok_fail(e, -EOPNOTSUPP, "several post-processors that add tokens");
	t->has_template = true;
	if (is(type, "RobertaProcessing") || is(type, "BertProcessing"))
		return read_fixed(t, o, is(type, "RobertaProcessing"), e);
	if (!is(type, "TemplateProcessing"))
		return tok_fail(e, -EOPNOTSUPP, "a post-processor \"%.*s\" is not known",
				(int)(type.n < 60 ? type.n : 60), type.p ? (const char *)type.p :
					"");
	all = json_object_object_get(o, "special_tokens");
	for (i = 0; !ret && i < 2; i++) {
		struct json_object *list = json_object_object_get(o, i ? "pair" : "single");

		if (!json_object_is_type(list, json_type_array))
			return tok_fail(e, -EBADMSG, "a template that is not understood");
		ret = read_template(list, all, i ? &t->pair : &t->single, e);
	}
	return ret;
}

/**
 * post_read - what comes around the tokens: post-processor, truncation, padding
 * @t: tokenizer
 * @root: tokenizer.json
 * @e: filled if it fails
 *
 * Return: 0, or the error that @e has.
 */
int post_read(struct accel_tokenizer *t, struct json_object *root, struct accel_error *e)
{
	struct json_object *o = json_object_object_get(root, "truncation"), *fixed;
	struct tok_bytes s;
	int64_t n;
	int ret = read_post(t, json_object_object_get(root, "post_processor"), e, 0);

	if (ret)
		return ret;
	if (o) {
		n = count_of(json_object_object_get(o, "max_length"), INT32_MAX);
		if (n < 0)
			return tok_fail(e, -EBADMSG, "truncation to no length");
		s = member_text(o, "strategy");
		t->truncate = true;
		t->truncate_n = (uint32_t)n;
		t->truncate_left = is(member_text(o, "direction"), "Left");
		t->truncate_which = is(s, "OnlyFirst") ? 1 : is(s, "OnlySecond") ? 2 : 0;
	}
	o = json_object_object_get(root, "padding");
	if (!o)
		return 0;
	fixed = json_object_object_get(json_object_object_get(o, "strategy"), "Fixed");
	t->pad = true;
	t->pad_left = is(member_text(o, "direction"), "Left");
	n = fixed ? count_of(fixed, 1 << 24) : 0;
	if (n < 0)
		return tok_fail(e, -EBADMSG, "padding to no length");
	t->pad_n = (uint32_t)n;
	n = count_of(json_object_object_get(o, "pad_to_multiple_of"), 1 << 24);
	t->pad_multiple = n > 0 ? (uint32_t)n : 0;
	n = count_of(json_object_object_get(o, "pad_id"), TOK_MAX_IDS - 1);
	if (n < 0)
		return tok_fail(e, -EBADMSG, "padding with no token");
	t->pad_id = (uint32_t)n;
	n = count_of(json_object_object_get(o, "pad_type_id"), UINT16_MAX);
	t->pad_type = n > 0 ? (uint32_t)n : 0;
	return 0;
}
