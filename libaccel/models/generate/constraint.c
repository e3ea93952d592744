// SPDX-License-Identifier: MIT
/*
 * Texts of a JSON schema, byte by byte: a pushdown automaton. A schema becomes rules, which call
 * each other; where a text may go on is a set of stacks of states, one for each way to read it.
 * Depth, stacks and states have limits, and so has what is looked at for a token: no schema takes
 * long or much memory.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "../json_end.h"
#include "constraint.h"

#define SCHEMA_BYTES	(1u << 20)
#define SCHEMA_DEPTH	64
/* States that are looked at for one byte */
#define STEPS_MAX	65536
/* Ways that are not looked at yet */
#define PENDING_MAX	1024
/* States and ways that are looked at for one token, whatever is asked; a second at the most */
#define WORK_MAX	(1u << 26)

uint32_t constraint_fail(struct accel_constraint *c, int code, const char *fmt, ...)
{
	va_list ap;

	if (c->failed)
		return 0;
	c->failed = code;
	if (!c->error || c->error->size < sizeof(*c->error))
		return 0;
	*c->error = (struct accel_error)ACCEL_ERROR_INIT;
	c->error->code = code;
	snprintf(c->error->field, sizeof(c->error->field), "schema");
	va_start(ap, fmt);
	vsnprintf(c->error->text, sizeof(c->error->text), fmt, ap);
	va_end(ap);
	return 0;
}

static bool same_stack(const struct stack *a, const struct stack *b)
{
	return a->depth == b->depth && !memcmp(a->at, b->at, a->depth * sizeof(a->at[0]));
}

static void copy_stack(struct stack *to, const struct stack *from)
{
	to->depth = from->depth;
	memcpy(to->at, from->at, from->depth * sizeof(from->at[0]));
}

static void clear_ways(struct ways *w)
{
	w->count = 0;
	w->steps = 0;
	/* Slots of an earlier time are empty. */
	if (!++w->time) {
		memset(w->slots, 0, sizeof(w->slots));
		w->time = 1;
	}
}

static void add_way(struct ways *w, const struct stack *s)
{
	uint64_t h = s->depth;
	struct way_slot *slot;
	uint32_t i;

	for (i = 0; i < s->depth; i++)
		h = (h ^ s->at[i]) * 0x9e3779b97f4a7c15u;
	for (i = (uint32_t)(h >> 32); ; i++) {
		slot = &w->slots[i % WAY_SLOTS];
		if (slot->time != w->time)
			break;
		if (same_stack(&w->list[slot->at], s))
			return;
	}
	if (w->count == STACKS_MAX)
		return;
	*slot = (struct way_slot) { w->time, w->count };
	copy_stack(&w->list[w->count++], s);
}

/* One step of a way, which reads no byte; false: it has come to a byte, or to its end. */
static bool follow_once(struct accel_constraint *c, struct ways *w, struct stack *s,
			uint32_t *pending)
{
	const uint32_t top = s->depth - 1;
	const struct state *state;

	if (!s->depth) {
		add_way(w, s);
		return false;
	}
	state = &c->states[s->at[top]];
	switch (state->kind) {
	case BYTE:
		add_way(w, s);
		return false;
	case SPLIT:
		if (*pending < PENDING_MAX) {
			copy_stack(&c->pending[*pending], s);
			c->pending[(*pending)++].at[top] = state->other;
		}
		s->at[top] = state->next;
		return true;
	case CALL:
		s->at[top] = state->next;
		/* What returns at once needs no place. */
		if (c->states[state->next].kind == RETURN)
			s->depth--;
		if (s->depth == STACK_DEPTH)
			return false;
		s->at[s->depth++] = c->rules[state->other].start;
		return true;
	default:
		s->depth--;
		return true;
	}
}

/*
 * All ways to go on from the state at the stack's end, up to one that reads a byte. Who calls
 * himself without reading one, or has too many ways, loses some: what is left is still right.
 */
static void follow(struct accel_constraint *c, struct ways *w, struct stack *s)
{
	uint32_t pending = 0;

	while (w->steps++ < STEPS_MAX && c->work++ < WORK_MAX) {
		if (follow_once(c, w, s, &pending))
			continue;
		if (!pending)
			return;
		copy_stack(s, &c->pending[--pending]);
	}
}

static void begin(struct accel_constraint *c)
{
	struct stack s = { 1, { c->rules[BUILT_IN].start } };

	clear_ways(c->now);
	follow(c, c->now, &s);
	c->work = 0;
}

/* One byte more; false: it may not come, and nothing has changed. */
static bool read_byte(struct accel_constraint *c, uint8_t byte)
{
	struct ways *next = c->next;
	struct stack s;
	uint32_t i;

	clear_ways(next);
	c->work += c->now->count;
	for (i = 0; i < c->now->count; i++) {
		const struct stack *from = &c->now->list[i];
		const struct state *state;

		if (!from->depth)
			continue;
		state = &c->states[from->at[from->depth - 1]];
		if (byte < state->low || byte > state->high)
			continue;
		copy_stack(&s, from);
		s.at[s.depth - 1] = state->next;
		follow(c, next, &s);
	}
	if (!next->count)
		return false;
	c->next = c->now;
	c->now = next;
	return true;
}

static void copy_ways(struct ways *to, const struct ways *from)
{
	uint32_t i;

	to->count = from->count;
	for (i = 0; i < from->count; i++)
		copy_stack(&to->list[i], &from->list[i]);
}

static bool read_bytes(struct accel_constraint *c, const char *bytes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!read_byte(c, (uint8_t)bytes[i]))
			return false;
	return true;
}

int accel_constraint_allows(struct accel_constraint *constraint, const char *bytes, uint64_t count)
{
	bool good;

	if (!constraint || (count && !bytes))
		return 0;
	if (!count)
		return 1;
	copy_ways(constraint->saved, constraint->now);
	constraint->work += constraint->now->count;
	good = read_bytes(constraint, bytes, count);
	copy_ways(constraint->now, constraint->saved);
	return constraint->work >= WORK_MAX ? -E2BIG : good;
}

int accel_constraint_take(struct accel_constraint *constraint, const char *bytes, uint64_t count)
{
	bool good;

	if (!constraint || (count && !bytes))
		return -EINVAL;
	copy_ways(constraint->saved, constraint->now);
	constraint->work = 0;
	good = read_bytes(constraint, bytes, count);
	if (constraint->work >= WORK_MAX) {
		copy_ways(constraint->now, constraint->saved);
		return -E2BIG;
	}
	constraint->work = 0;
	if (!good)
		copy_ways(constraint->now, constraint->saved);
	return good ? 0 : -EINVAL;
}

int accel_constraint_whole(const struct accel_constraint *constraint)
{
	uint32_t i;

	for (i = 0; constraint && i < constraint->now->count; i++)
		if (!constraint->now->list[i].depth)
			return 1;
	return 0;
}

/* --- the constraint ---------------------------------------------------------------- */

static struct json_object *parse(struct accel_constraint *c, const char *schema, uint64_t bytes)
{
	struct json_tokener *tok = json_tokener_new_ex(SCHEMA_DEPTH);
	struct json_object *root = NULL;

	if (!tok) {
		constraint_fail(c, -ENOMEM, "out of memory");
		return NULL;
	}
	root = json_tokener_parse_ex(tok, schema, (int)bytes);
	/* Nothing but room comes behind it. */
	if (root && !json_is_end(tok, schema, bytes))
		constraint_fail(c, -EBADMSG, "it is no JSON: more comes behind it");
	/* A number or a word ends where something else comes. */
	if (!root && json_tokener_get_error(tok) == json_tokener_continue && bytes)
		root = json_tokener_parse_ex(tok, "", 1);
	if (!root)
		constraint_fail(c, -EBADMSG, "it is no JSON: %s",
				json_tokener_error_desc(json_tokener_get_error(tok)));
	json_tokener_free(tok);
	return root;
}

int accel_constraint_create(const char *schema, uint64_t bytes, struct accel_error *error,
			    struct accel_constraint **constraint)
{
	FP_MODE_SCOPE();
	struct accel_constraint *c;
	int ret;

	if (!schema || !constraint || bytes > SCHEMA_BYTES)
		return schema && constraint ? -E2BIG : -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->error = error;
	c->rule_cap = 64;
	c->rules = calloc(c->rule_cap, sizeof(*c->rules));
	c->now = calloc(1, sizeof(*c->now));
	c->next = calloc(1, sizeof(*c->next));
	c->saved = malloc(sizeof(*c->saved));
	c->pending = malloc(PENDING_MAX * sizeof(*c->pending));
	if (!c->rules || !c->now || !c->next || !c->saved || !c->pending)
		constraint_fail(c, -ENOMEM, "out of memory");
	if (!c->failed)
		c->root = parse(c, schema, bytes);
	if (!c->failed)
		schema_build(c);
	if (!c->failed) {
		begin(c);
		if (!c->now->count)
			constraint_fail(c, -EINVAL, "no text begins");
	}
	json_object_put(c->root);
	c->root = NULL;
	c->error = NULL;
	ret = c->failed;
	if (ret)
		accel_constraint_destroy(c);
	else
		*constraint = c;
	return ret;
}

void accel_constraint_destroy(struct accel_constraint *constraint)
{
	if (!constraint)
		return;
	free(constraint->states);
	free(constraint->rules);
	free(constraint->now);
	free(constraint->next);
	free(constraint->saved);
	free(constraint->pending);
	free(constraint);
}
