/* SPDX-License-Identifier: MIT */
/*
 * Constraints from the inside: schema.c makes states of a schema, constraint.c reads texts.
 */
#ifndef LIBACCEL_MODELS_CONSTRAINT_H
#define LIBACCEL_MODELS_CONSTRAINT_H

#include <json-c/json.h>
#include <stdint.h>
#include <accel/generate.h>

#define STACK_DEPTH	96
#define STACKS_MAX	1024
/* A power of two, of which half at the most are taken */
#define WAY_SLOTS	2048

enum kind { BYTE, SPLIT, CALL, RETURN };

/**
 * struct state - where a text may be
 * @kind: BYTE: one from @low to @high comes, then @next; SPLIT: @next or @other; CALL: rule
 *	@other, then @next; RETURN: a rule ends
 */
struct state {
	uint8_t kind;
	uint8_t low;
	uint8_t high;
	uint32_t next;
	uint32_t other;
};

/**
 * struct rule - the states of a part
 * @of: schema that it was made of, NULL: of none
 * @start: first state, 0: it is not made yet
 */
struct rule {
	struct json_object *of;
	uint32_t start;
};

/* Rules that all schemas have */
enum { ANY, SPACE, CHARACTER, STRING, INTEGER, NUMBER, MEMBERS, ELEMENTS, BUILT_IN };

/**
 * struct stack - one way to read a text
 * @depth: states
 * @at: those that rules return to, and one of BYTE at the end; none: the text is whole
 */
struct stack {
	uint32_t depth;
	uint32_t at[STACK_DEPTH];
};

struct way_slot {
	uint32_t time;
	uint32_t at;
};

/**
 * struct ways - all ways to read a text
 * @count: how many
 * @steps: states that were looked at to find them
 * @time: of the slots that are taken
 * @slots: where each is in @list, by its hash
 * @list: they
 */
struct ways {
	uint32_t count;
	uint32_t steps;
	uint32_t time;
	struct way_slot slots[WAY_SLOTS];
	struct stack list[STACKS_MAX];
};

struct accel_constraint {
	struct state *states;
	uint32_t count;
	uint32_t cap;
	struct rule *rules;
	uint32_t rule_count;
	uint32_t rule_cap;
	struct json_object *root;
	struct accel_error *error;
	int failed;
	uint64_t work;
	struct ways *now;
	struct ways *next;
	struct ways *saved;
	struct stack *pending;
};

/**
 * constraint_fail - what is wrong with a schema; the first time counts
 * @c: constraint
 * @code: negative error
 * @fmt: sentence
 *
 * Return: 0: no state.
 */
uint32_t constraint_fail(struct accel_constraint *c, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Rules of the schema that the constraint has: its own is BUILT_IN. */
void schema_build(struct accel_constraint *c);

#endif /* LIBACCEL_MODELS_CONSTRAINT_H */
