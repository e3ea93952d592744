/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 */
#ifndef LIBACCEL_MODELS_TOKENIZERS_INSIDE_H
#define LIBACCEL_MODELS_TOKENIZERS_INSIDE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tokenizers.h"

__attribute__((format(printf, 3, 4)))
int tok_fail(struct accel_error *e, int code, const char *fmt, ...);

/* --- characters ---------------------------------------------------------------------------- */

/*
 * The character at @p, of a text known to be UTF-8, and its length.
 */
static inline uint32_t utf8_get(const uint8_t *p, uint32_t *n)
{
	if (p[0] < 0x80) {
		*n = 1;
		return p[0];
	}
	if (p[0] < 0xe0) {
		*n = 2;
		return (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
	}
	if (p[0] < 0xf0) {
		*n = 3;
		return (uint32_t)(p[0] & 0xf) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
	}
	*n = 4;
	return (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
	       (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
}

uint32_t utf8_put(uint8_t *p, uint32_t c);
/*
 * How many bytes of @p are a whole character; 0: none, and *@bad bytes count as one that is
 * broken
 */
uint32_t utf8_check(const uint8_t *p, size_t n, uint32_t *bad, bool *cut);
bool utf8_valid(const uint8_t *p, size_t n);
uint32_t byte_to_char(uint8_t b);
int char_to_byte(uint32_t c);
/* A text in the alphabet of bytes as bytes; false: it has other characters */
bool chars_to_bytes(struct tok_bytes in, uint8_t *out, size_t *n);

bool is_white(uint32_t c);
bool is_number(uint32_t c);
bool is_punct(uint32_t c);
bool is_control(uint32_t c);
bool is_mark(uint32_t c);
bool is_nonspacing(uint32_t c);
bool is_word(uint32_t c);
/* Lower case, at most two characters */
uint32_t to_lower(uint32_t c, uint32_t out[2]);
/* The normal form of @n characters, which begin and end where one may be cut; NULL: no memory */
enum tok_form { FORM_NFC, FORM_NFD, FORM_NFKC, FORM_NFKD };
bool is_plain(uint32_t c, enum tok_form form);
bool goes_on(uint32_t c);
int32_t *normal_form(const uint32_t *in, size_t n, enum tok_form form, size_t *out_n);

/* --- tokens -------------------------------------------------------------------------------- */

struct tok_word {
	uint32_t at, n;
};

/**
 * struct tok_vocab - tokens by text
 * @blob: texts
 * @used: bytes of them
 * @cap: room for them
 * @words: texts by token, @n UINT32_MAX: none
 * @count: the highest token plus one
 * @room: of @words
 * @slots: hash table of tokens plus one
 * @mask: its size less one
 * @entries: texts in it
 * @seed: of the hash
 * @longest: bytes of the longest text
 */
struct tok_vocab {
	uint8_t *blob;
	size_t used, cap;
	struct tok_word *words;
	uint32_t count, room;
	uint32_t *slots;
	uint32_t mask, entries;
	uint64_t seed;
	uint32_t longest;
};

int vocab_add(struct tok_vocab *v, struct tok_bytes text, uint32_t id);
uint32_t vocab_find(const struct tok_vocab *v, const uint8_t *p, size_t n);
bool vocab_get(const struct tok_vocab *v, uint32_t id, struct tok_bytes *text);
void vocab_free(struct tok_vocab *v);
uint64_t tok_hash(uint64_t seed, const uint8_t *p, size_t n);

/**
 * struct tok_trie - tokens by their first bytes
 * @texts: sorted
 * @ids: what they stand for
 * @count: number of them
 * @first: where texts with a first byte begin
 */
struct tok_trie {
	struct tok_bytes *texts;
	uint32_t *ids;
	uint32_t count;
	uint32_t first[257];
};

/**
 * struct tok_walk - on the way through a trie
 * @lo: the texts that begin like the bytes that were taken
 * @hi: end of them
 * @depth: bytes that were taken
 */
struct tok_walk {
	uint32_t lo, hi, depth;
};

int trie_make(struct tok_trie *t, uint32_t count, struct tok_bytes *texts, uint32_t *ids);
/* One byte on. false: no text goes on like that. *@id: the text that ends here, or TOK_NONE */
bool trie_step(const struct tok_trie *t, struct tok_walk *w, uint8_t byte, uint32_t *id);
void trie_free(struct tok_trie *t);

/* --- texts on their way -------------------------------------------------------------------- */

struct tok_span {
	uint32_t from, to;
};

/**
 * struct tok_text - a text
 * @s: bytes, UTF-8
 * @at: for each of them, which bytes of the caller's text it stands for; NULL: itself
 * @n: bytes
 * @cap: room, 0: @s is the caller's
 * @at_cap: room of @at
 */
struct tok_text {
	uint8_t *s;
	struct tok_span *at;
	uint32_t n, cap, at_cap;
};

/**
 * struct tok_piece - a part of a text
 * @start: where it begins
 * @end: where it ends
 * @id: token that it is, TOK_NONE: to be seen
 */
struct tok_piece {
	uint32_t start, end, id;
};

struct tok_pieces {
	struct tok_piece *v;
	uint32_t n, cap;
};

/**
 * struct tok_match - what a pattern makes of a piece: @hit or what lies between
 */
struct tok_match {
	uint32_t start, end;
	bool hit;
};

struct tok_symbol {
	uint32_t id, len;
	int32_t prev, next;
};

struct tok_merge {
	uint64_t order;		/* rank << 32 | place */
	uint32_t id;
};

struct tok_best {
	double score;
	uint32_t start, id;
};

/* Words that were seen */
#define CACHE_SLOTS	4096u
#define CACHE_WORD	40u
#define CACHE_TOKENS	12u

struct tok_cached {
	uint64_t hash;
	uint8_t n, count, word[CACHE_WORD], lens[CACHE_TOKENS];
	uint32_t ids[CACHE_TOKENS];
};

/**
 * struct tok_run - a text being encoded, and what is kept for the next
 */
struct tok_run {
	const struct accel_tokenizer *t;
	struct tok_run *next_free;
	uint32_t flags;
	struct tok_text text, other;
	struct tok_pieces pieces, others;
	struct tok_match *matches;
	uint32_t match_n, match_cap;
	struct accel_token *out;
	size_t out_n, out_cap;
	struct tok_symbol *symbols;
	uint32_t symbol_cap;
	struct tok_merge *heap;
	uint32_t heap_n, heap_cap;
	struct tok_best *best;
	uint32_t best_cap;
	struct tok_cached *cache;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	pcre2_jit_stack *stack;
};

/* Room for @need things of a size; 0, -E2BIG, -ENOMEM */
int tok_grow(void *array, uint32_t *cap, uint64_t need, size_t size);

struct tok_span text_span(const struct tok_text *t, uint32_t start, uint32_t end);
int text_put(struct tok_run *r, const uint8_t *s, uint32_t n, struct tok_span at);
int text_put_char(struct tok_run *r, uint32_t c, struct tok_span at);
int text_copy(struct tok_run *r, uint32_t start, uint32_t end);
int piece_add(struct tok_pieces *p, uint32_t start, uint32_t end, uint32_t id);
int run_match(struct tok_run *r, uint32_t start, uint32_t end, bool hit);
int run_emit(struct tok_run *r, uint32_t id, uint32_t start, uint32_t end, uint32_t flags);

/* --- patterns ------------------------------------------------------------------------------ */

/**
 * struct tok_pattern - a string, or a regular expression
 * @text: it, as it was written
 * @n: its bytes
 * @code: of an expression, else NULL
 */
struct tok_pattern {
	uint8_t *text;
	uint32_t n;
	pcre2_code *code;
};

int pattern_make(struct tok_pattern *p, struct tok_bytes text, bool regex, struct accel_error *e);
/* Matches in run->matches, as places in the run's text, with what lies between them */
int pattern_find(struct tok_run *r, const struct tok_pattern *p, uint32_t start, uint32_t end);
void pattern_free(struct tok_pattern *p);

/* --- steps --------------------------------------------------------------------------------- */

enum tok_kind {
	/* normalizers */
	STEP_NFC, STEP_NFD, STEP_NFKC, STEP_NFKD, STEP_LOWER, STEP_ACCENTS, STEP_STRIP,
		STEP_REPLACE,
	STEP_PREPEND, STEP_BERT, STEP_CHARSMAP, STEP_BYTES, STEP_NMT,
	/* pre-tokenizers */
	STEP_BYTE_LEVEL, STEP_SPLIT, STEP_WORDS, STEP_WHITE_SPLIT, STEP_METASPACE, STEP_BERT_SPLIT,
	STEP_PUNCT, STEP_DIGITS, STEP_CHAR_SPLIT, STEP_SCRIPTS, STEP_LENGTH,
	/* decoders */
	STEP_UNBYTES, STEP_FALLBACK, STEP_FUSE, STEP_UNSPACE, STEP_UNWORDS, STEP_UNREPLACE,
		STEP_CUT,
	STEP_CTC, STEP_BPE_END
};

enum tok_behavior { REMOVED, ISOLATED, MERGED_PREVIOUS, MERGED_NEXT, CONTIGUOUS };
enum tok_scheme { SCHEME_ALWAYS, SCHEME_FIRST, SCHEME_NEVER };

/**
 * struct tok_step - one step of a list
 * @kind: &enum tok_kind
 * @behavior: of splits
 * @scheme: of Metaspace
 * @a: strip left, clean text, add a prefix space, individual digits, cleanup
 * @b: strip right, CJK characters apart
 * @c: strip accents
 * @d: lower case
 * @split: Metaspace splits, ByteLevel splits by its expression
 * @invert: the matches are what lies between
 * @ch: character of Metaspace, delimiters, Strip
 * @start: characters to strip; length of pieces
 * @stop: characters to strip at the end
 * @pattern: of splits and replacements
 * @text: content, prefix, suffix, padding token
 * @text2: word delimiter of CTC
 * @charsmap: precompiled
 */
struct tok_step {
	enum tok_kind kind;
	enum tok_behavior behavior;
	enum tok_scheme scheme;
	bool a, b, c, d, split, invert;
	uint32_t ch, start, stop;
	struct tok_pattern pattern;
	struct tok_bytes text, text2;
	struct charsmap *charsmap;
};

struct tok_steps {
	struct tok_step *v;
	uint32_t n;
};

int normalize_step(struct tok_run *r, const struct tok_step *s);
int split_step(struct tok_run *r, const struct tok_step *s);
void steps_free(struct tok_steps *s);
struct tok_step *steps_add(struct tok_steps *s, enum tok_kind kind);
/* GPT-2's expression */
#define GPT2_SPLIT "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" \
		   "\\s+(?!\\S)|\\s+"

int charsmap_make(struct charsmap **map, struct tok_bytes blob, struct accel_error *e);
int charsmap_apply(struct tok_run *r, const struct charsmap *map, uint32_t start, uint32_t end);
void charsmap_free(struct charsmap *map);

/* --- models -------------------------------------------------------------------------------- */

/**
 * struct tok_merges - pairs that become one
 */
struct tok_merges {
	uint64_t *keys;		/* left << 32 | right, UINT64_MAX: free */
	uint64_t *vals;		/* rank << 32 | token */
	uint32_t mask;
	uint64_t seed;
};

int merges_make(struct tok_merges *m, uint32_t count);
void merges_add(struct tok_merges *m, uint32_t left, uint32_t right, uint32_t rank, uint32_t id);

/**
 * struct tok_added - a token that is looked for in the text
 */
struct tok_added {
	uint32_t id;
	bool single_word, lstrip, rstrip, normalized, special;
	struct tok_bytes text, shown;
};

/**
 * struct tok_around - a token around the text, or the text
 * @id: token, TOK_NONE: the text @which
 */
struct tok_around {
	uint32_t id;
	uint16_t which, type;
};

#define AROUND_MAX	64u

struct tok_template {
	struct tok_around v[AROUND_MAX];
	uint32_t n, added;
};

struct accel_tokenizer {
	enum accel_tokenizer_model model;
	struct tok_vocab vocab;		/* the model's, as the file has it */
	struct tok_vocab extra;		/* added tokens that the model has not */
	struct tok_vocab bytes;		/* what tokens stand for, where that is not their text */
	bool raw;			/* the model works on @bytes */
	struct tok_merges merges;
	bool by_score;			/* BPE: pairs whose text is a token, the best first */
	float *scores;
	double *weights;		/* Unigram */
	uint32_t weight_n;
	double min_score;
	struct tok_trie trie;		/* Unigram, WordPiece */
	struct tok_bytes prefix, suffix, unk_text;
	uint32_t unk;
	bool fuse_unk, byte_fallback, ignore_merges;
	uint32_t max_chars;
	uint32_t byte_ids[256];		/* "<0x00>"... */

	struct tok_added *added;
	uint32_t added_n, added_cap;
	uint32_t *added_of;		/* by token: index plus one */
	uint32_t added_of_n;
	struct tok_trie found, found_normalized;

	struct tok_steps normalizers, splits, decoders;
	bool no_decoder;
	struct tok_template single, pair;
	bool has_template;
	bool trim, trim_prefix;

	bool truncate, truncate_left;
	uint32_t truncate_n;
	int truncate_which;		/* 0: the longest first, 1, 2: only that text */
	bool pad, pad_left;
	uint32_t pad_n, pad_multiple, pad_id, pad_type;

	uint32_t bos, eos, pad_token;
	char *chat_template;

	pthread_mutex_t lock;
	struct tok_run *runs;
	bool made_lock;
};

int bpe_encode(struct tok_run *r, uint32_t start, uint32_t end);
int unigram_encode(struct tok_run *r, uint32_t start, uint32_t end);
int wordpiece_encode(struct tok_run *r, uint32_t start, uint32_t end);
int wordlevel_encode(struct tok_run *r, uint32_t start, uint32_t end);

int added_add(struct accel_tokenizer *t, const struct tok_added *a);
int added_finish(struct accel_tokenizer *t);
int added_find(struct tok_run *r, const struct tok_trie *trie);
const struct tok_added *added_get(const struct accel_tokenizer *t, uint32_t id);

int process(struct tok_run *r, size_t first, bool pair);
void trim_offsets(struct tok_run *r);

/* A tokenizer with nothing in it; what was read becomes one that works */
struct accel_tokenizer *tokenizer_new(void);
int tokenizer_finish(struct accel_tokenizer *t, struct accel_error *e);
struct tok_run *run_get(const struct accel_tokenizer *t);
void run_put(struct tok_run *r);
void run_free(struct tok_run *r);
/* What normalizers make of a text: in run->text */
int run_normalize(struct tok_run *r, struct tok_bytes in);
int run_start(struct tok_run *r, struct tok_bytes in);

struct json_object;

int config_read(struct accel_tokenizer *t, struct json_object *root, struct accel_error *e);
int steps_read(struct accel_tokenizer *t, struct json_object *root, struct accel_error *e);
int post_read(struct accel_tokenizer *t, struct json_object *root, struct accel_error *e);
int vocab_txt_read(struct accel_tokenizer *t, struct tok_bytes file, bool lower,
		   struct accel_error *e);
struct tok_bytes bytes_dup(struct tok_bytes b);
struct tok_bytes json_text(struct json_object *o);
bool json_flag(struct json_object *o, const char *name, bool otherwise);

/* --- decoding ------------------------------------------------------------------------------ */

/**
 * struct tok_strings - texts of tokens on their way
 */
struct tok_strings {
	uint8_t *s;
	uint32_t *ends;
	uint32_t n, used, cap, ends_cap;
};

int decode_ids(struct tok_run *r, const uint32_t *ids, size_t count, uint32_t flags,
	       struct tok_strings *out);
int token_inside(struct tok_run *r, struct tok_bytes text, struct tok_strings *a,
		 struct tok_strings *b);
int strings_put(struct tok_strings *v, const uint8_t *p, size_t n);
int strings_end(struct tok_strings *v);
int strings_lossy(struct tok_strings *v, const uint8_t *p, size_t n, bool end, size_t *taken);
void strings_free(struct tok_strings *v);
/* "<0xHH>": the byte; -1: another text */
int byte_token(struct tok_bytes s);
/* The text of a token, as decoders begin with it; false: none, or left out */
bool token_shown(const struct accel_tokenizer *t, uint32_t id, uint32_t flags,
		 struct tok_bytes *text);

#endif /* LIBACCEL_MODELS_TOKENIZERS_INSIDE_H */
