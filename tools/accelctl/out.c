// SPDX-License-Identifier: MIT
/* Output: stdout has only the selected format, everything else goes to stderr. */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "accelctl.h"
#include "interrupt.h"
#include "kfile.h"
#include "progress.h"

static void out_of_memory(void)
{
	fputs("accelctl: out of memory\n", stderr);
	exit(CTL_FAILED);
}

void *ctl_alloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

/* --- errors --- */

int ctl_status(int err)
{
	switch (err) {
	case 0:
		return CTL_OK;
	case -EINVAL:
	case -E2BIG:
		return CTL_USAGE;
	case -EOPNOTSUPP:
		return CTL_UNSUPPORTED;
	case -EACCES:
	case -EPERM:
		return CTL_PERMISSION;
	case -ENODEV:
	case -EIO:
		return CTL_LOST;
	case -ETIME:
	case -ETIMEDOUT:
		return CTL_TIMEOUT;
	case -EPROTO:
	case -ESTALE:
		return CTL_MISMATCH;
	case -EINTR:
		return CTL_INTERRUPTED;
	default:
		return CTL_FAILED;
	}
}

struct json_object *ctl_error_json(int status, int err, const char *field, const char *text,
				   uint32_t engine)
{
	struct json_object *error = ctl_json_obj(NULL, NULL);

	ctl_json_int(error, "exit_status", status);
	ctl_json_int(error, "errno", -(int64_t)err);
	ctl_json_str(error, "name", err ? strerrorname_np(-err) : NULL);
	ctl_json_str(error, "field", field && *field ? field : NULL);
	ctl_json_str(error, "engine", engine ? accel_engine_name(engine) : NULL);
	ctl_json_str(error, "text", text);
	return error;
}

static int report(struct ctl *ctl, int status, int err, const char *field, const char *text,
		  uint32_t engine)
{
	const char *name = err ? strerrorname_np(-err) : NULL;
	char *where = field ? strdup(field) : NULL;
	struct json_object *doc;

	/* A node of a file may be called anything. */
	field = where ? text_clean(where) : NULL;
	fflush(stdout);
	fprintf(stderr, "accelctl: %s%s%s", field && *field ? field : "",
		field && *field ? ": " : "", text);
	if (name)
		fprintf(stderr, " (%s)", name);
	fputc('\n', stderr);
	if (status == CTL_USAGE && ctl->cmd)
		fprintf(stderr, "Try 'accelctl help %s%s%s'.\n", ctl->cmd->name,
			ctl->cmd->sub ? " " : "", ctl->cmd->sub ? ctl->cmd->sub : "");
	else if (status == CTL_USAGE)
		fputs("Try 'accelctl help'.\n", stderr);
	if (ctl->json && (ctl->lines || !ctl->json_done)) {
		doc = ctl_schema(ctl);
		ctl_json_bool(doc, "ok", false);
		json_object_object_add(doc, "error", ctl_error_json(status, err, field, text,
								    engine));
		ctl_json_print(ctl, doc);
	}
	free(where);
	return status;
}

int ctl_fail(struct ctl *ctl, int status, int err, const char *field, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return report(ctl, status, err, field, text_clean(text), 0);
}

int ctl_fail_error(struct ctl *ctl, int status, const char *what, const struct accel_error *error)
{
	const char *cause = error->text;
	char text[512];

	/* A bar that is not complete goes, also where no message follows. */
	ctl_progress(NULL, 1, 1);
	if (error->code == -ECANCELED && ctl_interrupted())
		return CTL_INTERRUPTED;
	if (!*cause)
		cause = strerror(-error->code);
	/* The message about a file may already begin with its name. */
	if (what && !strncmp(cause, what, strlen(what)))
		what = NULL;
	snprintf(text, sizeof(text), "%s%s%s", what ? what : "", what ? ": " : "", cause);
	return report(ctl, status, error->code, error->field, text_clean(text), error->engine);
}

int ctl_fail_ctx(struct ctl *ctl, int status, const char *what, struct accel_ctx *ctx, int err)
{
	struct accel_error error = ACCEL_ERROR_INIT;

	accel_ctx_get_error(ctx, &error);
	/* The record may be of an earlier failure, or there may be none. */
	if (error.code != err) {
		error = (struct accel_error)ACCEL_ERROR_INIT;
		error.code = err;
	}
	return ctl_fail_error(ctl, status, what, &error);
}

void ctl_note(struct ctl *ctl, const char *fmt, ...)
{
	va_list ap;

	if (ctl->quiet)
		return;
	fflush(stdout);
	fputs("accelctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* --- JSON --- */

static void add(struct json_object *obj, const char *key, struct json_object *value)
{
	if (json_object_is_type(obj, json_type_array) ? json_object_array_add(obj, value) :
							 json_object_object_add(obj, key, value))
		out_of_memory();
}

static struct json_object *need(struct json_object *value)
{
	if (!value)
		out_of_memory();
	return value;
}

void ctl_json_str(struct json_object *obj, const char *key, const char *value)
{
	add(obj, key, value ? need(json_object_new_string(value)) : NULL);
}

void ctl_json_int(struct json_object *obj, const char *key, int64_t value)
{
	add(obj, key, need(json_object_new_int64(value)));
}

void ctl_json_uint(struct json_object *obj, const char *key, uint64_t value)
{
	add(obj, key, need(json_object_new_uint64(value)));
}

void ctl_json_real(struct json_object *obj, const char *key, double value)
{
	char text[32];

	/* JSON has no word for these */
	if (!isfinite(value)) {
		add(obj, key, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%.9g", value);
	add(obj, key, need(json_object_new_double_s(value, text)));
}

void ctl_json_bool(struct json_object *obj, const char *key, bool value)
{
	add(obj, key, need(json_object_new_boolean(value)));
}

struct json_object *ctl_json_obj(struct json_object *parent, const char *key)
{
	struct json_object *obj = need(json_object_new_object());

	if (parent)
		add(parent, key, obj);
	return obj;
}

struct json_object *ctl_json_arr(struct json_object *parent, const char *key)
{
	struct json_object *arr = need(json_object_new_array());

	if (parent)
		add(parent, key, arr);
	return arr;
}

struct json_object *ctl_schema(struct ctl *ctl)
{
	struct json_object *doc = ctl_json_obj(NULL, NULL);
	char schema[64];

	snprintf(schema, sizeof(schema), "accelctl.%s/1", ctl->cmd ? ctl->cmd->name : "error");
	ctl_json_str(doc, "schema", schema);
	if (ctl->cmd && ctl->cmd->sub)
		ctl_json_str(doc, "op", ctl->cmd->sub);
	return doc;
}

void ctl_json_print(struct ctl *ctl, struct json_object *doc)
{
	if (ctl->lines) {
		ctl_json_line(ctl, doc);
		return;
	}
	puts(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(doc);
	ctl->json_done = true;
}

void ctl_json_line(struct ctl *ctl, struct json_object *doc)
{
	puts(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(doc);
	ctl->json_done = true;
}

/* --- text --- */

const char *ctl_tone(const struct ctl *ctl, enum ctl_tone tone)
{
	static const char *const tones[] = {
		[CTL_PLAIN] = "\033[0m",
		[CTL_HEAD] = "\033[1m",
		[CTL_GOOD] = "\033[32m",
		[CTL_WARN] = "\033[33m",
		[CTL_BAD] = "\033[31m",
	};

	return ctl->colour ? tones[tone] : "";
}

void ctl_grid_row(struct ctl_grid *table, const char *fmt, ...)
{
	unsigned int cols = 1, i;
	char *text, *next, **row;
	const char *p;
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (ret < 0)
		out_of_memory();
	for (p = fmt; *p; p++)
		cols += *p == '\t';
	if (!table->rows)
		table->cols = cols < CTL_GRID_COLS ? cols : CTL_GRID_COLS;
	table->cells = realloc(table->cells,
			       (table->rows + 1) * table->cols * sizeof(*table->cells));
	if (!table->cells)
		out_of_memory();
	row = table->cells + table->rows++ * table->cols;
	for (i = 0, next = text; i < table->cols; i++) {
		char *cell = next ? next : (char *)"";

		if (next && i + 1 < table->cols) {
			next = strchr(next, '\t');
			if (next)
				*next++ = 0;
		} else {
			next = NULL;
		}
		/* Names of files, models and others are not trusted. */
		row[i] = strdup(cell);
		if (!row[i])
			out_of_memory();
		text_clean(row[i]);
	}
	free(text);
}

void ctl_grid_clear(struct ctl_grid *table)
{
	unsigned int i;

	for (i = 0; i < table->rows * table->cols; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct ctl_grid){ 0 };
}

void ctl_grid_print(const struct ctl *ctl, struct ctl_grid *table, int indent)
{
	size_t width[CTL_GRID_COLS] = { 0 };
	unsigned int r, c;

	for (r = 0; r < table->rows; r++)
		for (c = 0; c < table->cols; c++) {
			size_t len = strlen(table->cells[r * table->cols + c]);

			width[c] = len > width[c] ? len : width[c];
		}
	for (r = 0; r < table->rows; r++) {
		unsigned int last = table->cols;

		/* No blanks at the end of a line */
		while (last > 1 && !*table->cells[r * table->cols + last - 1])
			last--;
		printf("%*s%s", indent, "", r == 0 ? ctl_tone(ctl, CTL_HEAD) : "");
		for (c = 0; c < last; c++) {
			const char *cell = table->cells[r * table->cols + c];
			bool right = table->right & 1u << c;
			int pad = c + 1 < last || right ? (int)width[c] : 0;

			printf("%s%*s", c ? "  " : "", right ? pad : -pad, cell);
		}
		printf("%s\n", r == 0 ? ctl_tone(ctl, CTL_PLAIN) : "");
	}
	ctl_grid_clear(table);
}

const char *ctl_bytes(char buf[16], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	unsigned int i = 0;

	while (value >= 1024 && i < 6) {
		value /= 1024;
		i++;
	}
	snprintf(buf, 16, i && value < 100 && value != floor(value) ? "%.1f %s" : "%.0f %s", value,
		 units[i]);
	return buf;
}

const char *ctl_time(char buf[16], double seconds)
{
	static const char *const units[] = { "s", "ms", "us", "ns" };
	unsigned int i = 0;

	while (seconds > 0 && seconds < 1 && i < 3) {
		seconds *= 1000;
		i++;
	}
	snprintf(buf, 16, "%.3g %s", seconds, units[i]);
	if (seconds >= 100)
		snprintf(buf, 16, "%.0f %s", seconds, units[i]);
	return buf;
}
