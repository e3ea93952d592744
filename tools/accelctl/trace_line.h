/* SPDX-License-Identifier: MIT */
/*
 * A line of the kernel's trace_pipe.
 */
#ifndef ACCELCTL_TRACE_LINE_H
#define ACCELCTL_TRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** TRACE_FIELDS: most fields of an event */
#define TRACE_FIELDS	24

/**
 * enum trace_kind - what a line is
 * @TRACE_EVENT: an event
 * @TRACE_LOST: a note that events were lost
 * @TRACE_NOTHING: empty, or a comment
 */
enum trace_kind {
	TRACE_EVENT,
	TRACE_LOST,
	TRACE_NOTHING
};

/**
 * struct trace_field - "key=value"
 */
struct trace_field {
	/** @key: name */
	const char *key;
	/** @value: text up to the next blank */
	const char *value;
};

/**
 * struct trace_line - a line that was read
 */
struct trace_line {
	/** @kind: what it is */
	enum trace_kind kind;
	/** @cpu: processor */
	uint32_t cpu;
	/** @lost: events lost, of TRACE_LOST; 0 if it is not said how many */
	uint64_t lost;
	/** @ns: time stamp */
	uint64_t ns;
	/** @event: name of the event */
	const char *event;
	/** @fields: its fields */
	struct trace_field fields[TRACE_FIELDS];
	/** @field_count: number of @fields */
	unsigned int field_count;
};

/**
 * trace_line_parse - read a line
 * @text: the line, without its end; is written to, and pointed into
 * @line: out
 *
 * The name of the process takes up exactly 16 columns, so nothing that it calls
 * itself is taken for a part of the event.
 *
 * Return: 0; -EBADMSG this is no such line.
 */
int trace_line_parse(char *text, struct trace_line *line);

/**
 * trace_field - text of a field
 * @line: event
 * @key: name
 *
 * Return: its value, NULL if the event has none of that name.
 */
const char *trace_field(const struct trace_line *line, const char *key);

/**
 * trace_number - a field that is a whole number, with a sign or without
 * @line: event
 * @key: name
 * @value: out; untouched if there is none
 *
 * Return: true if there is one.
 */
bool trace_number(const struct trace_line *line, const char *key, int64_t *value);

#endif /* ACCELCTL_TRACE_LINE_H */
