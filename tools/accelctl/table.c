// SPDX-License-Identifier: MIT
/*
 * The reader of debugfs tables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfile.h"
#include "table.h"

/* Undo the escapes of a quoted cell in place: letters and octal numbers. NULL: it has no end */
static char *unquote(char *p, char **end)
{
	char *to = p, *start = p;
	unsigned int i, n;

	for (; *p && *p != '"'; p++) {
		if (*p != '\\') {
			*to++ = *p;
			continue;
		}
		p++;
		if (!*p)
			return NULL;
		if (*p >= '0' && *p <= '7') {
			for (i = 0, n = 0; i < 3 && p[i] >= '0' && p[i] <= '7'; i++)
				n = n * 8 + (unsigned int)(p[i] - '0');
			p += i - 1;
			/* A NUL would truncate the text */
			*to++ = n && n < 256 ? (char)n : '?';
		} else {
			*to++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
		}
	}
	if (*p != '"')
		return NULL;
	*end = p + 1;
	*to = 0;
	return start;
}

static char *next_word(char **line)
{
	char *p = *line + strspn(*line, " \t"), *word = p;

	if (!*p)
		return NULL;
	p += strcspn(p, " \t");
	*line = *p ? p + 1 : p;
	*p = 0;
	return word;
}

static void trim(char *text)
{
	size_t len = strlen(text);

	while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		text[--len] = 0;
}

/* One cell of a row; false if it is malformed */
static bool next_cell(char **line, bool last, const char **cell)
{
	char *p = *line + strspn(*line, " \t"), *end;

	*cell = NULL;
	*line = p;
	if (!*p)
		return true;
	if (*p == '"') {
		p = unquote(p + 1, &end);
		if (!p || (*end && *end != ' ' && *end != '\t'))
			return false;
		*line = end;
		*cell = text_clean(p);
		return true;
	}
	if (last) {
		/* Text without quotes: all of it */
		trim(p);
		*line = p + strlen(p);
		*cell = text_clean(p);
		return true;
	}
	*cell = text_clean(next_word(line));
	return true;
}

static int add_row(struct table *table, size_t *cap, char *line, size_t number, char *why,
		   size_t size)
{
	const char **row;
	unsigned int c;

	if (table->rows == *cap) {
		size_t want = *cap ? 2 * *cap : 16;

		row = realloc(table->cells, want * table->col_count * sizeof(*row));
		if (!row)
			return -ENOMEM;
		table->cells = row;
		*cap = want;
	}
	row = table->cells + table->rows * table->col_count;
	for (c = 0; c < table->col_count; c++)
		if (!next_cell(&line, c + 1 == table->col_count, &row[c])) {
			snprintf(why, size, "line %zu: the quotes are not closed", number);
			return -EBADMSG;
		}
	if (line[strspn(line, " \t")]) {
		snprintf(why, size, "line %zu has more cells than there are columns", number);
		return -EBADMSG;
	}
	table->rows++;
	return 0;
}

int table_parse(const char *text, struct table *table, char *why, size_t size)
{
	size_t number = 0, cap = 0;
	char *line, *next, *word;
	int ret = -ENOMEM;

	*table = (struct table){ 0 };
	table->text = strdup(text);
	if (!table->text) {
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	for (line = table->text; line; line = next) {
		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!line[strspn(line, " \t")])
			continue;
		if (table->col_count) {
			ret = add_row(table, &cap, line, number, why, size);
			if (ret)
				goto err;
			continue;
		}
		while ((word = next_word(&line))) {
			if (table->col_count == TABLE_COLS) {
				snprintf(why, size, "more than %u columns", TABLE_COLS);
				ret = -EBADMSG;
				goto err;
			}
			table->cols[table->col_count++] = text_clean(word);
		}
	}
	if (table->col_count)
		return 0;
	snprintf(why, size, "no line that names the columns");
	ret = -EBADMSG;
err:
	if (ret == -ENOMEM)
		snprintf(why, size, "out of memory");
	table_free(table);
	return ret;
}

void table_keep(struct table *table, const char *name)
{
	size_t row, kept = 0;
	unsigned int c;
	uint64_t value;

	for (c = 0; c < table->col_count && strcmp(table->cols[c], name) != 0; c++)
		;
	if (c == table->col_count)
		return;
	for (row = 0; row < table->rows; row++)
		if (table_number(table, row, name, &value))
			memmove(table->cells + kept++ * table->col_count,
				table->cells + row * table->col_count,
				table->col_count * sizeof(*table->cells));
	table->rows = kept;
}

void table_free(struct table *table)
{
	free(table->cells);
	free(table->text);
	*table = (struct table){ 0 };
}

const char *table_cell(const struct table *table, size_t row, const char *name)
{
	unsigned int c;

	for (c = 0; row < table->rows && c < table->col_count; c++)
		if (!strcmp(table->cols[c], name))
			return table->cells[row * table->col_count + c];
	return NULL;
}

bool table_number(const struct table *table, size_t row, const char *name, uint64_t *value)
{
	const char *cell = table_cell(table, row, name), *end;
	char *stop;

	if (!cell)
		return false;
	if (cell[0] == '0' && cell[1] == 'x' && cell[2] && cell[2] != '-' && cell[2] != '+' &&
	    cell[2] != ' ') {
		errno = 0;
		*value = strtoull(cell + 2, &stop, 16);
		return !errno && !*stop && stop != cell + 2;
	}
	return number_parse(cell, value, &end) && !*end;
}
