// SPDX-License-Identifier: MIT
/* Prints data from files of the kernel, as JSON and as text. */
#include <ctype.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "accelctl.h"
#include "sys.h"
#include "table.h"
#include "watchers.h"

void sys_opts_init(void *data)
{
	struct sys_opts *opts = data;

	opts->root = "";
}

void sys_json_number(struct json_object *obj, const char *key, int64_t value)
{
	if (value == SYS_UNKNOWN)
		ctl_json_str(obj, key, NULL);
	else
		ctl_json_int(obj, key, value);
}

void sys_json_scaled(struct json_object *obj, const char *key, int64_t value, double unit)
{
	if (value == SYS_UNKNOWN)
		ctl_json_str(obj, key, NULL);
	else
		ctl_json_real(obj, key, (double)value / unit);
}

static const char *key_of(const char *column, const char *const *keys)
{
	for (; *keys; keys += 2)
		if (!strcmp(keys[0], column))
			return keys[1];
	return column;
}

void sys_json_table(struct json_object *list, const struct table *table, const char *const *keys)
{
	struct json_object *o;
	uint64_t value;
	unsigned int c;
	size_t row;

	for (row = 0; row < table->rows; row++) {
		o = ctl_json_obj(list, NULL);
		for (c = 0; c < table->col_count; c++) {
			const char *cell = table->cells[row * table->col_count + c];
			const char *key = key_of(table->cols[c], keys);

			/* A label may look like a number */
			if (strcmp(key, "label") != 0 && cell &&
			    table_number(table, row, table->cols[c], &value))
				ctl_json_uint(o, key, value);
			else
				ctl_json_str(o, key, cell && strcmp(cell, "-") ? cell : NULL);
		}
	}
}

static bool holds_bytes(const char *column, const char *const *bytes)
{
	for (; *bytes; bytes++)
		if (!strcmp(column, *bytes))
			return true;
	return false;
}

void sys_print_table(const struct ctl *ctl, const struct table *table, const char *const *bytes)
{
	unsigned int cols = table->col_count < CTL_GRID_COLS ? table->col_count : CTL_GRID_COLS;
	struct ctl_grid grid = { .cols = cols, .rows = (unsigned int)table->rows + 1 };
	bool *text = ctl_alloc(cols, sizeof(*text));
	char pretty[16], *cell;
	uint64_t value;
	unsigned int c;
	size_t row;

	grid.cells = ctl_alloc((table->rows + 1) * cols, sizeof(*grid.cells));
	for (c = 0; c < cols; c++) {
		cell = strdup(table->cols[c]);
		for (char *p = cell; p && *p; p++)
			*p = (char)(*p == '_' ? ' ' : toupper((unsigned char)*p));
		grid.cells[c] = cell;
		for (row = 0; row < table->rows; row++) {
			const char *raw = table->cells[row * table->col_count + c];
			bool number = table_number(table, row, table->cols[c], &value);

			if (raw && !number && strcmp(raw, "-") != 0)
				text[c] = true;
			if (number && holds_bytes(table->cols[c], bytes))
				raw = ctl_bytes(pretty, value);
			grid.cells[(row + 1) * cols + c] = strdup(raw ? raw : "-");
		}
		if (!text[c])
			grid.right |= 1u << c;
	}
	for (c = 0; c < grid.rows * cols; c++)
		if (!grid.cells[c])
			exit(CTL_FAILED);
	free(text);
	ctl_grid_print(ctl, &grid, 2);
}
