// SPDX-License-Identifier: MIT
/*
 * The manual's table of operators.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

/**
 * struct row - an operator
 * @next: another, in alphabetic order
 * @name: its name
 * @passed: vectors of each set
 * @failed: vectors that did not
 */
struct row {
	struct row *next;
	char *name;
	uint32_t passed[SET_COUNT];
	uint32_t failed;
};

static struct row *rows;

static const char head[] =
	".. SPDX-License-Identifier: MIT\n"
	".. Written by run_models --write: make operators-update\n"
	"\n"
	"==============\n"
	"ONNX operators\n"
	"==============\n"
	"\n"
	"Operators of which ONNX's own vectors pass: models of one node, or of a few, with inputs and\n"
	"outputs that another implementation gave. The numbers are those of vectors which have it and\n"
	"pass: of ONNX 1.12, and of the newest version that Debian has. Others that the importer knows,\n"
	"those of ``com.microsoft`` among them, are not listed here: they are held against numbers of\n"
	"this tree's own, or within whole models.\n"
	"\n"
	".. list-table::\n"
	"   :header-rows: 1\n"
	"\n"
	"   * - operator\n"
	"     - vectors of 1.12\n"
	"     - newest\n";

static struct row *find(const char *name)
{
	struct row **at, *row;

	for (at = &rows; *at && strcmp((*at)->name, name) < 0; at = &(*at)->next)
		;
	if (*at && !strcmp((*at)->name, name))
		return *at;
	row = calloc(1, sizeof(*row));
	if (row)
		row->name = strdup(name);
	if (!row || !row->name)
		abort();
	row->next = *at;
	*at = row;
	return row;
}

/**
 * table_count - count a vector for each of its operators
 * @model: its model, NULL: it could not be opened
 * @set: which set it is of
 * @ok: whether it passed
 */
void table_count(struct accel_model *model, enum set set, bool ok)
{
	const char *name;
	struct row *row;
	uint32_t i, n;

	for (i = 0; model && (name = accel_model_get_op(model, i, &n)); i++) {
		row = find(name);
		row->passed[set] += ok;
		row->failed += !ok;
	}
}

/** table_print - print the operators and how many vectors passed, as comments of TAP */
void table_print(void)
{
	const struct row *row;
	uint32_t n = 0;

	printf("#\n# %-28s %6s %6s %6s\n", "operator", "passed", "newer", "not");
	for (row = rows; row; row = row->next) {
		printf("# %-28s %6u %6u %6u\n", row->name, row->passed[SET_INSTALLED],
		       row->passed[SET_NEWER], row->failed);
		n += row->passed[SET_INSTALLED] || row->passed[SET_NEWER];
	}
	printf("#\n# operators in vectors that passed: %u\n", n);
}

/**
 * table_write - write the manual's page
 * @path: its file
 *
 * Return: could it be written?
 */
bool table_write(const char *path)
{
	FILE *f = fopen(path, "we");
	const struct row *row;

	if (!f)
		return false;
	fputs(head, f);
	for (row = rows; row; row = row->next)
		if (row->passed[SET_INSTALLED] || row->passed[SET_NEWER])
			fprintf(f, "   * - %s\n     - %u\n     - %u\n", row->name,
				row->passed[SET_INSTALLED], row->passed[SET_NEWER]);
	return !fclose(f);
}

/* The first operator from @row on that the page should have, as far as that is known. */
static const struct row *expected(const struct row *row, bool exact)
{
	while (row && !row->passed[SET_INSTALLED] && !(exact && row->passed[SET_NEWER]))
		row = row->next;
	return row;
}

static bool row_holds(const struct row *said, const struct row *row, bool exact)
{
	if (row && !strcmp(row->name, said->name) &&
	    row->passed[SET_INSTALLED] == said->passed[SET_INSTALLED] &&
	    (!exact || row->passed[SET_NEWER] == said->passed[SET_NEWER]))
		return true;
	row = find(said->name);
	printf("# %s: %u and %u pass, the manual says %u and %u there\n", said->name,
	       row->passed[SET_INSTALLED], row->passed[SET_NEWER], said->passed[SET_INSTALLED],
	       said->passed[SET_NEWER]);
	return false;
}

/**
 * table_check - hold the manual's page against what passed
 * @path: its file
 * @newer: were there vectors of the newer set?
 * @later: they are of another version than those that the page was written with
 *
 * Return: has it the operators that passed, and no others? Of newer vectors that are not those
 * of the page nothing is known: neither their numbers nor operators that only they have.
 */
bool table_check(const char *path, bool newer, bool later)
{
	const bool exact = newer && !later;
	const struct row *row = expected(rows, exact);
	FILE *f = fopen(path, "re");
	struct row said = { 0 };
	char name[100], text[sizeof(head)];
	int got = 0;
	bool ok;

	if (!f)
		return false;
	ok = fread(text, 1, sizeof(head) - 1, f) == sizeof(head) - 1 &&
	     !memcmp(text, head, sizeof(head) - 1);
	said.name = name;
	while (ok && (got = fscanf(f, " * - %99s - %u - %u", name, &said.passed[SET_INSTALLED],
				   &said.passed[SET_NEWER])) == 3) {
		if (!exact && !said.passed[SET_INSTALLED] && said.passed[SET_NEWER])
			continue;
		ok = row_holds(&said, row, exact);
		row = row ? expected(row->next, exact) : NULL;
	}
	fclose(f);
	if (ok && row)
		printf("# %s: the manual has it not\n", row->name);
	return ok && got == EOF && !row;
}

/** table_free - forget the operators */
void table_free(void)
{
	struct row *next;

	for (; rows; rows = next) {
		next = rows->next;
		free(rows->name);
		free(rows);
	}
}
