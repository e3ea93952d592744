/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Hostile descriptors: valid tasks, the bases, of which one field gets a value
 * that it must not have, or one bit is flipped. Each test_malformed*.c has its
 * bases, a table with a line for each rule, and what needs more than one field.
 */
#ifndef UMA_TESTS_MALFORMED_H
#define UMA_TESTS_MALFORMED_H

#include <stddef.h>
#include <string.h>

#include "gen.h"
#include "tap.h"

/* Device memory as the bases find it, and a copy to run in. */
extern uint8_t mf_image[MT_SIZE], mf_work[MT_SIZE];

struct mf_base {
	const char *name;
	uint32_t opcode;
	/* Operands and parameters; everything else is there. */
	void (*make)(struct mt_task *t);
	struct mt_task t;
};

struct mf_mutation {
	uint32_t base;
	uint32_t offset;
	uint32_t size;
	uint64_t value;
	uint32_t reason;
	uint32_t slot;
	const char *field;
};

#define NONE		UMA_FAULT_NO_SLOT
#define AT(member)	offsetof(struct uma_task, member), \
			sizeof(((struct uma_task *)0)->member)
#define OP(s, member)	AT(op[s].member)
#define PAR(word)	offsetof(struct uma_task, params) + 4 * (word), 4
#define EPI(member)	AT(epilogue.member)
#define NEG(x)		((uint64_t)-(int64_t)(x))

void mf_set(struct mt_task *t, int word, uint32_t v);
/* What a valid task finds at the address of an operand. */
void mf_store(struct mt_task *t, int slot, const void *data, size_t size);

/* Make the bases, each in memory of its own, and see that they are valid. */
void mf_make(struct mf_base *bases, uint32_t count);
/* One field at a time: reason, slot and field of the fault. */
void mf_mutate(const struct mf_base *bases, const struct mf_mutation *m, uint32_t count);
/* A whole task; UMA_FAULT_NONE: it is accepted. */
void mf_expect(const char *what, const struct uma_task *t, uint32_t reason, uint32_t slot,
	       const char *field);
/* Every bit of every base: what is still valid runs, in the base's memory alone. */
void mf_flip(const struct mf_base *bases, uint32_t count);

#endif
