// SPDX-License-Identifier: MIT
/*
 * Vectors by operator. One that passes counts for every operator in its graph;
 * one that does not for the operator that it is due to, or for all of them if
 * it is due to none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

/**
 * struct row - an operator
 * @next: another, in alphabetic order
 * @name: its name
 * @count: vectors by verdict
 * @how: who does it
 * @mapped: there is a mapping
 * @why: the first reason against it
 */
struct row {
	struct row *next;
	char name[64];
	uint32_t count[3];
	enum how how;
	bool mapped;
	char why[256];
};

static struct row *rows;
static uint32_t total[3];

static struct row *find_row(const char *domain, const char *name)
{
	const struct op_map *m = find_op(domain, name);
	struct row **at = &rows, *row;

	while (*at && strcmp((*at)->name, name) < 0)
		at = &(*at)->next;
	if (*at && !strcmp((*at)->name, name))
		return *at;
	row = calloc(1, sizeof(*row));
	if (!row)
		abort();
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->mapped = m;
	row->how = m ? m->how : BY_LIBRARY;
	row->next = *at;
	*at = row;
	return row;
}

static bool seen_before(const Onnx__GraphProto *g, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(g->node[i]->op_type, g->node[n]->op_type))
			return true;
	return false;
}

void table_add(const Onnx__GraphProto *g, enum verdict verdict, const char *culprit,
	       const char *why)
{
	struct row *row;
	bool all = verdict == PASSED || !culprit[0];
	size_t i;

	total[verdict]++;
	for (i = 0; i < g->n_node; i++) {
		if (seen_before(g, i))
			continue;
		row = find_row(g->node[i]->domain, g->node[i]->op_type);
		if (!all && strcmp(culprit, row->name))
			continue;
		row->count[verdict]++;
		if (verdict != PASSED && !row->why[0])
			snprintf(row->why, sizeof(row->why), "%s", why);
	}
	/* It may be in a graph within. */
	if (!all && !find_row("", culprit)->count[verdict])
		find_row("", culprit)->count[verdict]++;
}

static bool supported(const struct row *row)
{
	return row->mapped && row->count[PASSED] && !row->count[FAILED];
}

uint32_t table_supported(void)
{
	const struct row *row;
	uint32_t n = 0;

	for (row = rows; row; row = row->next)
		n += supported(row);
	return n;
}

uint32_t table_passed(void)
{
	return total[PASSED];
}

void table_print(void)
{
	static const char *const how[] = { "library", "runner" };
	const struct row *row;
	uint32_t n[2] = { 0 };

	printf("#\n# %-28s %-8s %6s %6s %11s\n", "operator", "by", "passed", "failed", "unsupported");
	for (row = rows; row; row = row->next) {
		if (!row->mapped || !(row->count[PASSED] || row->count[FAILED]))
			continue;
		n[row->how] += supported(row);
		printf("# %-28s %-8s %6u %6u %11u%s%s\n", row->name, how[row->how],
		       row->count[PASSED], row->count[FAILED], row->count[UNSUPPORTED],
		       row->why[0] ? "  " : "", row->why);
	}
	printf("#\n# not supported:\n");
	for (row = rows; row; row = row->next)
		if (!supported(row))
			printf("# %-28s %s\n", row->name, row->why[0] ? row->why : "in no vector that got to it");
	printf("#\n# vectors: %u passed, %u failed, %u unsupported\n", total[PASSED],
	       total[FAILED], total[UNSUPPORTED]);
	printf("# operators: %u supported, %u of them by the library, %u by the runner (shapes and constants)\n",
	       table_supported(), n[BY_LIBRARY], n[BY_SHAPE]);
}

void table_free(void)
{
	struct row *row, *next;

	for (row = rows; row; row = next) {
		next = row->next;
		free(row);
	}
	rows = NULL;
}
