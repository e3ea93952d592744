/* SPDX-License-Identifier: MIT */
/*
 * Templates of conversations: the part of Jinja that models use.
 *
 *	parse.c		text to statements
 *	expression.c	text to expressions
 *	value.c		memory, values, their texts, JSON
 *	eval.c		expressions
 *	exec.c		statements, and templates as callers have them
 *	filters.c	filters and tests
 *	methods.c	methods and functions
 */
#ifndef LIBACCEL_MODELS_TEMPLATES_H
#define LIBACCEL_MODELS_TEMPLATES_H

#include <setjmp.h>
#include <stdbool.h>
#include <accel/chat.h>

/* What is refused: text, depth, steps, memory of a run, text that is written */
#define TPL_MAX_TEXT	(1u << 20)
#define TPL_MAX_DEPTH	100
#define TPL_MAX_STEPS	4000000u
#define TPL_MAX_MEMORY	(256u << 20)
#define TPL_MAX_OUT	(32u << 20)

/**
 * struct tpl_mem - memory that goes all at once
 */
struct tpl_mem {
	struct tpl_block *blocks;
	size_t total;
	jmp_buf *fail;
	struct accel_error error;
	int code;
};

/* Memory, zeroed. What fails, here and below, does not come back, but goes to @m->fail. */
void *tpl_alloc(struct tpl_mem *m, size_t n);
void tpl_mem_free(struct tpl_mem *m);
__attribute__((format(printf, 3, 4), noreturn))
void tpl_fail(struct tpl_mem *m, int code, const char *fmt, ...);

struct str {
	const char *p;
	size_t n;
};

enum val_type {
	VAL_UNDEFINED, VAL_NONE, VAL_BOOL, VAL_INT, VAL_FLOAT, VAL_STR, VAL_LIST, VAL_DICT,
		VAL_MACRO,
	VAL_METHOD
};

struct val {
	enum val_type type;
	union {
		bool b;
		int64_t i;
		double d;
		struct str s;
		struct list *list;
		struct dict *dict;
		struct macro *macro;
		struct method *method;
	};
};

struct list {
	struct val *v;
	size_t n, cap;
	bool tuple;
};

struct entry {
	struct str key;
	struct val val;
};

struct dict {
	struct entry *v;
	size_t n, cap;
	bool mutable;		/* a namespace */
};

enum node_type {
	/* statements */
	NODE_TEXT, NODE_OUT, NODE_IF, NODE_FOR, NODE_SET, NODE_SET_BLOCK, NODE_MACRO,
		NODE_CALL_BLOCK,
	NODE_FILTER_BLOCK, NODE_BODY, NODE_BREAK, NODE_CONTINUE,
	/* expressions */
	NODE_CONST, NODE_NAME, NODE_LIST, NODE_DICT, NODE_MEMBER, NODE_INDEX, NODE_SLICE, NODE_CALL,
	NODE_FILTER, NODE_TEST, NODE_UNARY, NODE_BINARY, NODE_AND, NODE_OR, NODE_NOT, NODE_IF_ELSE,
	NODE_KEYWORD, NODE_SPREAD
};

enum op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_FLOOR, OP_MOD, OP_POW, OP_CAT, OP_EQ, OP_NE, OP_LT,
	  OP_LE, OP_GT, OP_GE, OP_IN, OP_NOT_IN };

/**
 * struct node - a part of a template
 * @kids: IF: condition, body, else; FOR: list, condition, body, else, targets...; SET: target,
 *	value; MACRO: body, parameters...; CALL, FILTER, TEST: what, arguments...
 */
struct node {
	enum node_type type;
	enum op op;
	bool flag;		/* a test that is negated; a loop that calls itself */
	struct str s;
	struct val val;
	struct node **kids;
	uint32_t n;
};

struct accel_chat_template {
	struct tpl_mem mem;
	struct node *body;
};

/**
 * struct scope - names and what they are; lists of names of dictionaries
 */
struct scope {
	struct scope *up;
	struct dict *names;
};

struct macro {
	struct node *node;
	struct scope *scope;
};

struct method {
	struct str name;
	struct val self;	/* VAL_UNDEFINED: a function */
};

struct call_args {
	struct val *v;
	size_t n;
	struct dict *named;
};

struct tpl_run {
	struct tpl_mem mem;
	struct scope *scope, *globals;
	char *out;
	size_t out_n, out_cap;
	uint32_t steps;
	int depth;
	int loop;		/* 1: break, 2: continue */
	int64_t now;
};

/* --- parsing --------------------------------------------------------------------------------- */

struct parser {
	struct tpl_mem *mem;
	const char *p, *end, *begin;
	int depth;
	bool block;		/* within {% %} */
	bool trim;		/* the text that follows begins without spaces */
	bool after_block;	/* ... without a line's end */
};

struct node *tpl_parse(struct tpl_mem *m, struct str text);
struct node *node_new(struct parser *p, enum node_type type, uint32_t room);
void node_add(struct parser *p, struct node *n, struct node *kid);
struct node *parse_expression(struct parser *p);
struct node *parse_tuple(struct parser *p);
struct node *parse_filters(struct parser *p, struct node *n);
void parse_arguments(struct parser *p, struct node *call);
void skip_space(struct parser *p);
bool take(struct parser *p, const char *sign);
bool take_word(struct parser *p, const char *word);
struct str take_name(struct parser *p);
__attribute__((noreturn)) void parse_bad(struct parser *p, const char *what);

/* --- values ---------------------------------------------------------------------------------- */

struct val val_str(const char *p, size_t n);
struct val val_int(int64_t i);
struct val val_bool(bool b);
struct val val_list(struct tpl_mem *m, size_t room);
struct val val_dict(struct tpl_mem *m);
struct val *list_add(struct tpl_mem *m, struct list *l, struct val v);
void dict_set(struct tpl_run *r, struct dict *d, struct str key, struct val v);
struct val *dict_get(struct tpl_run *r, const struct dict *d, struct str key);
bool str_is(struct str s, const char *t);
struct str str_join(struct tpl_mem *m, struct str a, struct str b);
bool val_true(const struct val *v);
bool val_equal(struct tpl_run *r, const struct val *a, const struct val *b);
int val_compare(struct tpl_run *r, const struct val *a, const struct val *b);
/* As it is written; @quote: strings as in a list */
struct str val_text(struct tpl_run *r, const struct val *v);
struct str val_json(struct tpl_run *r, const struct val *v, int indent, bool sorted);
struct val json_value(struct tpl_run *r, const char *text, const char *what);
void step(struct tpl_run *r, size_t n);

/* A text that grows */
struct writer {
	struct tpl_mem *mem;
	char *p;
	size_t n, cap;
};

void write_to(struct writer *w, const char *p, size_t n);

/* --- running --------------------------------------------------------------------------------- */

struct val eval(struct tpl_run *r, const struct node *n);
struct val eval_args(struct tpl_run *r, const struct node *n, uint32_t from, struct call_args *a);
struct val binary(struct tpl_run *r, enum op op, const struct val *a, const struct val *b);
struct val member(struct tpl_run *r, const struct val *of, struct str name);
struct val call(struct tpl_run *r, const struct val *what, const struct call_args *a);
struct val call_macro(struct tpl_run *r, const struct macro *m, const struct call_args *a);
struct val call_method(struct tpl_run *r, const struct method *m, const struct call_args *a);
bool is_method(const struct val *of, struct str name);
bool is_function(struct str name);
struct val filter(struct tpl_run *r, struct str name, struct val of, const struct call_args *a);
bool test(struct tpl_run *r, struct str name, struct val of, const struct call_args *a);
struct val list_of(struct tpl_run *r, const struct val *v);
struct val argument(struct tpl_run *r, const struct call_args *a, size_t i, const char *name);
void exec(struct tpl_run *r, const struct node *n);
struct val captured(struct tpl_run *r, const struct node *body);
void define(struct tpl_run *r, struct str name, struct val v);
struct str strip(struct str s, const char *chars, size_t chars_n, int sides);
struct val replaced(struct tpl_run *r, struct str s, struct str old, struct str by, int64_t count);
struct val cased(struct tpl_run *r, struct str s, char how);

#endif /* LIBACCEL_MODELS_TEMPLATES_H */
