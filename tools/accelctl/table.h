/* SPDX-License-Identifier: MIT */
/*
 * Tables of the kernel in debugfs: the first line names the columns, the others
 * are rows of words; free text comes last, in quotes.
 */
#ifndef ACCELCTL_TABLE_H
#define ACCELCTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** TABLE_COLS: most columns */
#define TABLE_COLS	32

/**
 * struct table - a table that was read
 */
struct table {
	/** @text: what cells point into */
	char *text;
	/** @cols: names of the columns */
	const char *cols[TABLE_COLS];
	/** @col_count: columns */
	unsigned int col_count;
	/** @cells: rows of @col_count cells, NULL where a row was short */
	const char **cells;
	/** @rows: rows */
	size_t rows;
};

/**
 * table_parse - read a table
 * @text: the file
 * @table: out; table_free() gives it up; empty on failure
 * @why: out: what is wrong, one line
 * @size: bytes of @why
 *
 * Quotes are taken off, and escapes in them undone. Cells are clean text.
 *
 * Return: 0; -EBADMSG it is none; -ENOMEM.
 */
int table_parse(const char *text, struct table *table, char *why, size_t size);

/**
 * table_keep - drop the rows whose cell is no number: sums, and other remarks
 * @table: table
 * @name: column; without one of that name nothing is dropped
 */
void table_keep(struct table *table, const char *name);

/**
 * table_free - give a table up
 * @table: table
 */
void table_free(struct table *table);

/**
 * table_cell - a cell by the name of its column
 * @table: table
 * @row: from 0
 * @name: column
 *
 * Return: its text, NULL if there is no such column or the row is too short.
 */
const char *table_cell(const struct table *table, size_t row, const char *name);

/**
 * table_number - a cell that is a number, decimal or hexadecimal with 0x
 * @table: table
 * @row: from 0
 * @name: column
 * @value: out
 *
 * Return: true if it is one.
 */
bool table_number(const struct table *table, size_t row, const char *name, uint64_t *value);

#endif /* ACCELCTL_TABLE_H */
