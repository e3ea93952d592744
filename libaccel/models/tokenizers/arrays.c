// SPDX-License-Identifier: MIT
/*
 * Tokenizers from arrays, as GGUF files have them, and from vocab.txt. What tokenizer.json says
 * at length is
 * known by the name of the model here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* SentencePiece's space */
static const uint8_t low_line[] = { 0xe2, 0x96, 0x81 };

#define WORD_LLAMA3 \
	"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" \
	" ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define WORD_QWEN2 \
	"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" \
	" ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define WORD_GPT4O \
	"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|" \
	"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|" \
	"\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define WORD_TEKKEN \
	"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|" \
	"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|" \
	"\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define WORD_DEEPSEEK3 \
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" \
	" ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/**
 * struct cut - how texts are cut before the model sees them
 * @name: what GGUF files call it
 * @splits: expressions, one after the other
 * @nfc: the text is composed before
 * @digits: each is a piece of its own
 * @ignore_merges: words that are tokens are not looked into
 * @bos: texts begin with a token, where the file does not say it
 */
static const struct cut {
	const char *name;
	const char *splits[3];
	bool nfc, digits, ignore_merges, bos;
} cuts[] = {
	{ "", { GPT2_SPLIT }, false, false, false, false },
	{ "default", { GPT2_SPLIT }, false, false, false, false },
	{ "gpt-2", { GPT2_SPLIT }, false, false, false, false },
	{ "roberta-bpe", { GPT2_SPLIT }, false, false, false, false },
	{ "phi-2", { GPT2_SPLIT }, false, false, false, false },
	{ "olmo", { GPT2_SPLIT }, true, false, false, false },
	{ "smollm", { GPT2_SPLIT }, false, true, false, false },
	{ "starcoder", { GPT2_SPLIT }, false, true, false, false },
	{ "llama3", { WORD_LLAMA3 }, false, false, true, true },
	{ "llama-v3", { WORD_LLAMA3 }, false, false, true, true },
	{ "llama-bpe", { WORD_LLAMA3 }, false, false, true, true },
	{ "tekken", { WORD_TEKKEN }, false, false, true, true },
	{ "dbrx", { WORD_LLAMA3 }, false, false, false, false },
	{ "smaug-bpe", { WORD_LLAMA3 }, false, false, true, false },
	{ "qwen2", { WORD_QWEN2 }, true, false, false, false },
	{ "deepseek-r1-qwen", { WORD_QWEN2 }, true, false, false, false },
	{ "gpt-4o", { WORD_GPT4O }, false, false, false, false },
	{ "llama4", { WORD_GPT4O }, false, false, false, false },
	{ "deepseek-v3",
	  { "\\p{N}{1,3}", "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+",
	    WORD_DEEPSEEK3 },
	  false, false, false, false },
};

static bool is(struct tok_bytes s, const char *name)
{
	return s.n == strlen(name) && (!s.n || !memcmp(s.p, name, s.n));
}

static const struct cut *find_cut(struct tok_bytes name)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(cuts); i++)
		if (is(name, cuts[i].name))
			return &cuts[i];
	return NULL;
}

static bool has_cut(const struct tok_steps *s, const struct cut *c)
{
	uint32_t at = 0, i;

	if (c->digits && (!s->n || s->v[at].kind != STEP_DIGITS || !s->v[at].a))
		return false;
	at += c->digits;
	for (i = 0; i < ARRAY_SIZE(c->splits) && c->splits[i]; i++, at++) {
		const struct tok_step *v = at < s->n ? &s->v[at] : NULL;
		const size_t n = strlen(c->splits[i]);

		/* The last step may have GPT-2's expression in it. */
		if (v && v->kind == STEP_BYTE_LEVEL && v->split && at + 1 == s->n)
			return !c->splits[i + 1] && !strcmp(c->splits[i], GPT2_SPLIT);
		if (!v || v->kind != STEP_SPLIT || v->behavior != ISOLATED || v->invert ||
		    !v->pattern.code || v->pattern.n != n ||
		    memcmp(v->pattern.text, c->splits[i], n) != 0)
			return false;
	}
	return at + 1 == s->n && s->v[at].kind == STEP_BYTE_LEVEL && !s->v[at].split;
}

/**
 * tok_cut_name - what GGUF files call the way that texts are cut
 * @t: BPE of bytes
 *
 * Return: name; NULL: it has none.
 */
const char *tok_cut_name(const struct accel_tokenizer *t)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		const struct cut *c = &cuts[i];

		if (c->name[0] && strcmp(c->name, "default") != 0 &&
		    c->ignore_merges == t->ignore_merges && t->normalizers.n == c->nfc &&
		    (!c->nfc || t->normalizers.v[0].kind == STEP_NFC) && has_cut(&t->splits, c))
			return c->name;
	}
	return NULL;
}

static int32_t type_of(const struct tok_arrays *a, uint32_t id)
{
	return a->types ? a->types[id] : TOK_NORMAL;
}

static struct tok_step *step(struct tok_steps *s, enum tok_kind kind, int *ret)
{
	struct tok_step *v = *ret ? NULL : steps_add(s, kind);

	if (!v && !*ret)
		*ret = -ENOMEM;
	return v;
}

static void pattern(struct tok_step *s, const char *text, bool regex, int *ret)
{
	const struct tok_bytes bytes = { (const uint8_t *)text, strlen(text) };

	if (s && !*ret)
		*ret = pattern_make(&s->pattern, bytes, regex, NULL);
}

static void content(struct tok_bytes *to, const void *text, size_t n, int *ret)
{
	*to = bytes_dup((struct tok_bytes){ text, n });
	if (!to->p && !*ret)
		*ret = -ENOMEM;
}

/* The tokens, those that are looked for as such, and where texts begin and end */
static int add_tokens(struct accel_tokenizer *t, const struct tok_arrays *a)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < a->count; i++) {
		const int32_t type = type_of(a, i);

		/*
		 * Texts that come twice, or are broken, stand for nothing: the first is the
		 * token.
		 */
		if (!utf8_valid(a->tokens[i].p, a->tokens[i].n) ||
		    vocab_find(&t->vocab, a->tokens[i].p, a->tokens[i].n) != TOK_NONE)
			continue;
		ret = vocab_add(&t->vocab, a->tokens[i], i);
		if (!ret && (type == TOK_CONTROL || type == TOK_USER || i == a->bos ||
			     i == a->eos)) {
			const struct tok_added add = {
				.id = i, .special = type != TOK_USER, .text = a->tokens[i],
			};

			ret = added_add(t, &add);
		}
	}
	return ret;
}

static int add_merges(struct accel_tokenizer *t, const struct tok_arrays *a, struct accel_error *e)
{
	uint32_t i;

	if (merges_make(&t->merges, a->merge_count))
		return tok_fail(e, -ENOMEM, "out of memory");
	t->merges.seed = t->vocab.seed;
	for (i = 0; i < a->merge_count; i++) {
		struct tok_bytes m = a->merges[i];
		/* The first byte may be a space that belongs to the token. */
		const uint8_t *space = m.n > 1 ? memchr(m.p + 1, ' ', m.n - 1) : NULL;
		uint8_t both[2 * TOK_MAX_WORD];
		uint32_t left, right, id = TOK_NONE;
		size_t n;

		if (!space || m.n > sizeof(both))
			return tok_fail(e, -EBADMSG, "merge %u is no pair", i);
		n = (size_t)(space - m.p);
		left = vocab_find(&t->vocab, m.p, n);
		right = vocab_find(&t->vocab, space + 1, m.n - n - 1);
		if (left != TOK_NONE && right != TOK_NONE) {
			memcpy(both, m.p, n);
			memcpy(both + n, space + 1, m.n - n - 1);
			id = vocab_find(&t->vocab, both, m.n - 1);
		}
		if (id == TOK_NONE)
			return tok_fail(e, -EBADMSG, "merge %u is of what is no token", i);
		merges_add(&t->merges, left, right, i, id);
	}
	return 0;
}

static int make_gpt2(struct accel_tokenizer *t, const struct tok_arrays *a, struct accel_error *e)
{
	const struct cut *c = find_cut(a->pre);
	struct tok_step *s;
	uint32_t i;
	int ret;

	/* A wrong guess would be silent. */
	if (!c)
		return tok_fail(e, -EOPNOTSUPP, "how \"%.*s\" cuts texts is not known",
				(int)(a->pre.n < 60 ? a->pre.n : 60), (const char *)a->pre.p);
	t->model = ACCEL_TOKENIZER_BPE;
	t->ignore_merges = c->ignore_merges;
	ret = add_merges(t, a, e);
	if (!ret && c->nfc)
		step(&t->normalizers, STEP_NFC, &ret);
	if (!ret && c->digits) {
		s = step(&t->splits, STEP_DIGITS, &ret);
		if (s)
			s->a = true;
	}
	for (i = 0; !ret && i < ARRAY_SIZE(c->splits) && c->splits[i]; i++) {
		s = step(&t->splits, STEP_SPLIT, &ret);
		if (s)
			s->behavior = ISOLATED;
		pattern(s, c->splits[i], true, &ret);
	}
	step(&t->splits, STEP_BYTE_LEVEL, &ret);
	if (!ret && a->add_space_prefix > 0)
		t->splits.v[t->splits.n - 1].a = true;
	step(&t->decoders, STEP_UNBYTES, &ret);
	return ret;
}

/* Spaces as SentencePiece has them, one before the text */
static int make_llama(struct accel_tokenizer *t, const struct tok_arrays *a)
{
	struct tok_step *s;
	int ret = 0;

	t->model = ACCEL_TOKENIZER_BPE;
	t->by_score = true;
	t->byte_fallback = true;
	t->fuse_unk = true;
	if (a->add_space_prefix) {
		s = step(&t->normalizers, STEP_PREPEND, &ret);
		if (s)
			content(&s->text, low_line, sizeof(low_line), &ret);
	}
	s = step(&t->normalizers, STEP_REPLACE, &ret);
	if (s)
		content(&s->text, low_line, sizeof(low_line), &ret);
	pattern(s, " ", false, &ret);
	s = step(&t->decoders, STEP_UNREPLACE, &ret);
	if (s)
		content(&s->text, " ", 1, &ret);
	pattern(s, "\xe2\x96\x81", false, &ret);
	step(&t->decoders, STEP_FALLBACK, &ret);
	step(&t->decoders, STEP_FUSE, &ret);
	if (a->add_space_prefix) {
		s = step(&t->decoders, STEP_CUT, &ret);
		if (s) {
			s->ch = ' ';
			s->start = 1;
		}
	}
	return ret;
}

static int make_t5(struct accel_tokenizer *t, const struct tok_arrays *a, struct accel_error *e)
{
	struct tok_step *s;
	uint32_t i;
	int ret = 0;

	t->model = ACCEL_TOKENIZER_UNIGRAM;
	if (!a->scores)
		return tok_fail(e, -EBADMSG, "tokens without scores");
	t->weights = calloc(a->count, sizeof(*t->weights));
	if (!t->weights)
		return tok_fail(e, -ENOMEM, "out of memory");
	t->weight_n = a->count;
	for (i = 0; i < a->count; i++)
		t->weights[i] = (double)a->scores[i];
	if (a->charsmap.n) {
		s = step(&t->normalizers, STEP_CHARSMAP, &ret);
		if (s)
			ret = charsmap_make(&s->charsmap, a->charsmap, e);
	}
	if (!ret && a->remove_extra_whitespaces) {
		s = step(&t->normalizers, STEP_STRIP, &ret);
		if (s)
			s->a = s->b = true;
		s = step(&t->normalizers, STEP_REPLACE, &ret);
		if (s)
			content(&s->text, " ", 1, &ret);
		pattern(s, " {2,}", true, &ret);
	}
	s = step(&t->splits, STEP_METASPACE, &ret);
	if (s) {
		s->ch = 0x2581;
		s->split = true;
		s->scheme = a->add_space_prefix ? SCHEME_ALWAYS : SCHEME_NEVER;
	}
	s = step(&t->decoders, STEP_UNSPACE, &ret);
	if (s) {
		s->ch = 0x2581;
		s->scheme = a->add_space_prefix ? SCHEME_ALWAYS : SCHEME_NEVER;
	}
	return ret;
}

static int bert_steps(struct accel_tokenizer *t, bool lower)
{
	struct tok_step *s;
	int ret = 0;

	t->model = ACCEL_TOKENIZER_WORDPIECE;
	content(&t->prefix, "##", 2, &ret);
	s = step(&t->normalizers, STEP_BERT, &ret);
	if (s)
		s->a = s->b = true;
	if (lower) {
		step(&t->normalizers, STEP_NFD, &ret);
		s = step(&t->normalizers, STEP_ACCENTS, &ret);
		if (s)
			s->b = true;
		step(&t->normalizers, STEP_LOWER, &ret);
	}
	step(&t->splits, STEP_BERT_SPLIT, &ret);
	s = step(&t->decoders, STEP_UNWORDS, &ret);
	if (s) {
		s->a = true;
		content(&s->text, "##", 2, &ret);
	}
	return ret;
}

/* Beginnings of words are marked in GGUF files, where BERT marks what goes on. */
static int bert_tokens(struct accel_tokenizer *t, const struct tok_arrays *a)
{
	struct tok_arrays again = *a;
	struct tok_bytes *tokens = calloc(a->count, sizeof(*tokens));
	size_t used = 0, total = 0;
	uint8_t *texts = NULL;
	uint32_t i;
	int ret = -ENOMEM;

	for (i = 0; i < a->count; i++)
		total += a->tokens[i].n + 2;
	texts = malloc(total + 1);
	for (i = 0; tokens && texts && i < a->count; i++) {
		struct tok_bytes s = a->tokens[i];
		bool plain = type_of(a, i) == TOK_NORMAL && i != a->cls && i != a->sep &&
			     i != a->pad &&
			     i != a->mask && i != a->unk && i != a->bos && i != a->eos;

		tokens[i].p = texts + used;
		if (plain && s.n > sizeof(low_line) && !memcmp(s.p, low_line, sizeof(low_line))) {
			s.p += sizeof(low_line);
			s.n -= sizeof(low_line);
		} else if (plain) {
			texts[used++] = '#';
			texts[used++] = '#';
		}
		if (s.n)
			memcpy(texts + used, s.p, s.n);
		used += s.n;
		tokens[i].n = (size_t)(texts + used - tokens[i].p);
	}
	again.tokens = tokens;
	if (tokens && texts)
		ret = add_tokens(t, &again);
	free(texts);
	free(tokens);
	return ret;
}

static void around(struct tok_template *m, uint32_t id, uint16_t which, uint16_t type)
{
	m->v[m->n++] = (struct tok_around){ id, which, type };
	m->added += id != TOK_NONE;
}

/* begin A end, begin A end B end */
static void make_template(struct accel_tokenizer *t, uint32_t begin, uint32_t end, uint32_t sep,
			  bool types)
{
	struct tok_template *pair = &t->pair;

	t->has_template = true;
	if (begin != TOK_NONE)
		around(&t->single, begin, 0, 0);
	around(&t->single, TOK_NONE, 0, 0);
	*pair = t->single;
	if (end != TOK_NONE)
		around(&t->single, end, 0, 0);
	if (sep != TOK_NONE)
		around(pair, sep, 0, 0);
	else if (end != TOK_NONE)
		around(pair, end, 0, 0);
	around(pair, TOK_NONE, 1, types);
	if (end != TOK_NONE)
		around(pair, end, 0, types);
}

/* What the file says, or what the model does */
static uint32_t when(int said, bool otherwise, uint32_t id)
{
	return (said < 0 ? otherwise : said) ? id : TOK_NONE;
}

static int make(struct accel_tokenizer *t, const struct tok_arrays *a, struct accel_error *e)
{
	bool bert = is(a->model, "bert"), llama = is(a->model, "llama"), t5 = is(a->model, "t5");
	const struct cut *c = is(a->model, "gpt2") ? find_cut(a->pre) : NULL;
	int ret;

	if (!a->tokens || !a->count || a->count > TOK_MAX_IDS || a->merge_count > 2 * TOK_MAX_IDS)
		return tok_fail(e, a->count > 1 ? -E2BIG : -EBADMSG, "a vocabulary of %u tokens",
				a->count);
	if (!bert && !llama && !t5 && !is(a->model, "gpt2"))
		return tok_fail(e, -EOPNOTSUPP, "a tokenizer \"%.*s\" is not known",
				(int)(a->model.n < 60 ? a->model.n : 60), (const char *)a->model.p);
	ret = bert ? bert_tokens(t, a) : add_tokens(t, a);
	if (ret)
		return tok_fail(e, ret, "a vocabulary that cannot be kept");
	if (a->scores) {
		t->scores = calloc(a->count, sizeof(*t->scores));
		if (!t->scores)
			return tok_fail(e, -ENOMEM, "out of memory");
		memcpy(t->scores, a->scores, a->count * sizeof(*t->scores));
	}
	t->bos = a->bos < a->count ? a->bos : TOK_NONE;
	t->eos = a->eos < a->count ? a->eos : TOK_NONE;
	t->pad_token = a->pad < a->count ? a->pad : TOK_NONE;
	t->unk = a->unk < a->count ? a->unk : TOK_NONE;
	/* There is always a word that is none of the tokens. */
	if (bert && t->unk == TOK_NONE)
		return tok_fail(e, -EBADMSG, "tokenizer.ggml.unknown_token_id is missing");
	if (bert) {
		uint32_t cls = a->cls < a->count ? a->cls : t->bos, sep = a->sep < a->count ?
			       a->sep : t->eos;

		ret = bert_steps(t, true);
		make_template(t, when(a->add_bos, true, cls), when(a->add_eos, true, sep), sep,
			      true);
	} else {
		ret = llama ? make_llama(t, a) : t5 ? make_t5(t, a, e) : make_gpt2(t, a, e);
		make_template(t, when(a->add_bos, llama || (c && c->bos), t->bos),
			      when(a->add_eos, t5, t->eos),
			      when(a->add_sep, false, a->sep < a->count ? a->sep : TOK_NONE),
				false);
	}
	if (!ret && a->chat_template.n) {
		t->chat_template = (char *)(uintptr_t)bytes_dup(a->chat_template).p;
		ret = t->chat_template ? 0 : -ENOMEM;
	}
	return ret;
}

/**
 * tok_from_arrays - a tokenizer from arrays
 * @a: arrays
 * @error: filled if it fails, may be NULL
 * @tokenizer: out
 *
 * Return: 0; -EBADMSG they contradict themselves; -EOPNOTSUPP a model, or a way to cut texts,
 * that is not
 * known; -E2BIG; -ENOMEM.
 */
int tok_from_arrays(const struct tok_arrays *a, struct accel_error *error,
		    struct accel_tokenizer **tokenizer)
{
	struct accel_tokenizer *t = tokenizer_new();
	int ret;

	if (!t)
		return tok_fail(error, -ENOMEM, "out of memory");
	ret = make(t, a, error);
	if (!ret)
		ret = tokenizer_finish(t, error);
	if (ret)
		accel_tokenizer_close(t);
	else
		*tokenizer = t;
	return ret;
}

/**
 * vocab_txt_read - a vocab.txt: a token a line, the first is 0
 * @t: empty tokenizer
 * @file: text
 * @lower: texts are in lower case, without accents
 * @e: filled if it fails
 *
 * Return: 0; -EBADMSG not a vocabulary of BERT; -E2BIG; -ENOMEM.
 */
int vocab_txt_read(struct accel_tokenizer *t, struct tok_bytes file, bool lower,
		   struct accel_error *e)
{
	static const char *const special[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };
	uint32_t ids[ARRAY_SIZE(special)], id = 0, i;
	size_t at = 0;
	int ret = 0;

	if (!utf8_valid(file.p, file.n))
		return tok_fail(e, -EBADMSG, "a vocabulary that is not UTF-8");
	while (!ret && at < file.n) {
		const uint8_t *end = memchr(file.p + at, '\n', file.n - at);
		size_t n = end ? (size_t)(end - file.p) - at : file.n - at, k = n;

		if (k && file.p[at + k - 1] == '\r')
			k--;
		/* A line that comes again is a number that is never used. */
		if (vocab_find(&t->vocab, file.p + at, k) == TOK_NONE)
			ret = vocab_add(&t->vocab, (struct tok_bytes){ file.p + at, k }, id);
		id++;
		at += n + 1;
	}
	if (ret)
		return tok_fail(e, ret, "line %u of the vocabulary cannot be kept", id);
	for (i = 0; !ret && i < ARRAY_SIZE(special); i++) {
		struct tok_added a = { .special = true };

		a.text = (struct tok_bytes){ (const uint8_t *)special[i], strlen(special[i]) };
		ids[i] = a.id = vocab_find(&t->vocab, a.text.p, a.text.n);
		if (a.id != TOK_NONE)
			ret = added_add(t, &a);
	}
	if (ret)
		return tok_fail(e, ret, "out of memory");
	t->pad_token = ids[0];
	t->unk = ids[1];
	if (ids[1] == TOK_NONE || ids[2] == TOK_NONE || ids[3] == TOK_NONE)
		return tok_fail(e, -EBADMSG, "a vocabulary without [UNK], [CLS] and [SEP]");
	make_template(t, ids[2], ids[3], ids[3], true);
	ret = bert_steps(t, lower);
	return ret ? tok_fail(e, ret, "out of memory") : 0;
}
