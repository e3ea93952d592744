/* SPDX-License-Identifier: MIT */
/* What the files of the core dump decoder share. */
#ifndef LIBACCEL_COREDUMP_H
#define LIBACCEL_COREDUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <accel/accel.h>
#include "uma_dump.h"

/* A dump that is being read; nothing in it can be believed */
struct dump {
	const unsigned char *data;
	/* bytes that there are, and belong to the dump */
	size_t size;
	struct uma_dump_header header;
	/* the job at fault, if a whole one was found */
	bool has_job;
	struct uma_dump_job job;
	bool has_walk;
	struct uma_dump_walk walk;
	/* something was cut off or contradicts itself */
	bool malformed;
	/* text goes here; NULL: only what the members above hold is wanted */
	FILE *out;
};

/* How a walk ended */
enum walk_end {
	WALK_NONE,
	WALK_INVALID,
	WALK_MALFORMED,
	WALK_BLOCK,
	WALK_PAGE,
	WALK_OPEN
};

/* A line about what is wrong with the dump */
void dump_bad(struct dump *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A string of the dump that may lack its end, made printable; returns @to */
char *dump_string(char *to, size_t to_size, const char *from, size_t from_size);
/* "EFAULT", or the number; returns @to */
const char *dump_error(char to[16], uint32_t error);
enum walk_end dump_walk_end(const struct uma_dump_walk *walk);

/* coredump_text.c: sections as text; bytes that there are */
void dump_job_text(struct dump *d);
void dump_walk_text(struct dump *d);
void dump_regs_text(struct dump *d, const unsigned char *p, size_t size);
void dump_ring_text(struct dump *d, const unsigned char *p, size_t size);
void dump_tasks_text(struct dump *d, const unsigned char *p, size_t size);
void dump_history_text(struct dump *d, const unsigned char *p, size_t size);

/* coredump_regs.c */

#define DUMP_REG_NAME	32

/* Name of a register, NULL if there is none; @to gets it */
const char *dump_reg_name(char to[DUMP_REG_NAME], uint32_t offset);

#endif /* LIBACCEL_COREDUMP_H */
