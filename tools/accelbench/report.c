// SPDX-License-Identifier: MIT
/*
 * Results: printed as they come, and read again.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <json-c/json.h>

#include "perf.h"

static const char *const extras[4] = { "workspace", "packed", "allowed", "growth" };

double report_share(const struct perf_row *row)
{
	return row->limit > 0 ? row->gflops / row->limit : 0;
}

/* --- JSON ------------------------------------------------------------------------- */

static void number(const char *key, double value, bool known, const char *format)
{
	printf(",\"%s\":", key);
	if (known && isfinite(value))
		printf(format, value);
	else if (known)
		fputs("1e999", stdout);
	else
		fputs("null", stdout);
}

static void print_json(const struct perf_row *row)
{
	int i;

	printf("{\"case\":\"%s\",\"dtype\":\"%s\",\"threads\":%u,\"impl\":\"%s\"", row->name,
	       row->dtype, row->threads, row->impl);
	number("gflops", row->gflops, row->gflops > 0, "%.4g");
	number("us", row->us, true, "%.5g");
	number("limit", row->limit, row->limit > 0, "%.4g");
	number("share", report_share(row), row->limit > 0, "%.4g");
	number("spread", row->spread, true, "%.4f");
	number("error", row->error, row->error >= 0, "%.3g");
	number("intensity", row->intensity, row->intensity > 0, "%.4g");
	for (i = 0; i < 4; i++)
		if (row->extra[i] >= 0)
			number(extras[i], row->extra[i], true, "%.0f");
	if (row->ratio > 0)
		number("ratio", row->ratio, true, "%.4g");
	if (row->tokens > 0)
		number("tokens_per_s", row->tokens, true, "%.5g");
	if (row->peak > 0) {
		number("peak", row->peak, true, "%.0f");
		number("over", row->over, true, "%.0f");
	}
	if (row->accepted > 0)
		number("accepted", row->accepted, true, "%.3f");
	puts("}");
}

static double field(struct json_object *o, const char *key, double missing)
{
	struct json_object *value;

	if (!json_object_object_get_ex(o, key, &value) || !value)
		return missing;
	return json_object_get_double(value);
}

static void text(struct json_object *o, const char *key, char *to, size_t size)
{
	struct json_object *value;

	*to = '\0';
	if (json_object_object_get_ex(o, key, &value) && value)
		snprintf(to, size, "%s", json_object_get_string(value));
}

static bool parse(const char *line, struct perf_row *row)
{
	struct json_object *o = json_tokener_parse(line);
	int i;

	*row = (struct perf_row) { 0 };
	if (!o || !json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		return false;
	}
	text(o, "case", row->name, sizeof(row->name));
	text(o, "dtype", row->dtype, sizeof(row->dtype));
	text(o, "impl", row->impl, sizeof(row->impl));
	row->threads = (uint32_t)field(o, "threads", 1);
	row->gflops = field(o, "gflops", 0);
	row->us = field(o, "us", 0);
	row->limit = field(o, "limit", 0);
	row->spread = field(o, "spread", 0);
	row->error = field(o, "error", -1);
	row->intensity = field(o, "intensity", 0);
	/* "latency" of a node has a ratio to the null ioctl in their place. */
	for (i = 0; i < 4; i++)
		row->extra[i] = field(o, extras[i], i ? -1 : field(o, "ratio", -1));
	row->peak = field(o, "peak", 0);
	row->over = field(o, "over", 0);
	json_object_put(o);
	return *row->name && *row->impl;
}

int report_load(const char *path, struct perf_row **rows, size_t *count)
{
	FILE *f = fopen(path, "re");
	size_t size = 0, line_no = 0;
	char *line = NULL;
	int ret = 0;

	if (!f)
		return bench_fail(-errno, "cannot read %s", path);
	while (!ret && getline(&line, &size, f) > 0) {
		struct perf_row *more = realloc(*rows, (*count + 1) * sizeof(**rows));

		line_no++;
		if (!more) {
			ret = bench_fail(-ENOMEM, "out of memory");
			break;
		}
		*rows = more;
		if (*line == '\n')
			continue;
		if (parse(line, &more[*count]))
			*count += 1;
		else
			ret = bench_fail(0, "%s:%zu is no result", path, line_no);
	}
	free(line);
	fclose(f);
	return ret;
}

const struct perf_row *report_find(const struct perf_row *rows, size_t count,
				   const struct perf_row *like, const char *impl)
{
	size_t i = count;

	while (i--)
		if (!strcmp(rows[i].name, like->name) && !strcmp(rows[i].dtype, like->dtype) &&
		    rows[i].threads == like->threads && !strcmp(rows[i].impl, impl))
			return &rows[i];
	return NULL;
}

/* --- tables ----------------------------------------------------------------------- */

static void print_csv(const struct perf_row *row)
{
	printf("%s,%s,%u,%s,%.4g,%.5g,", row->name, row->dtype, row->threads, row->impl,
	       row->gflops, row->us);
	if (row->limit > 0)
		printf("%.4g,%.4g", row->limit, report_share(row));
	else
		putchar(',');
	printf(",%.4f,", row->spread);
	if (row->error >= 0)
		printf("%.3g", row->error);
	putchar('\n');
}

static void print_text(const struct perf_row *row)
{
	printf("%-32s %-8s %2u %-12s ", row->name, row->dtype, row->threads, row->impl);
	if (row->gflops > 0)
		printf("%9.1f %11.3f ", row->gflops, row->us);
	else
		printf("%9s %11.3f ", "-", row->us);
	if (row->limit > 0)
		printf("%9.1f %6.1f%% ", row->limit, 100 * report_share(row));
	else
		printf("%9s %7s ", "-", "-");
	printf("%6.1f%% ", 100 * row->spread);
	if (row->error >= 0)
		printf("%8.1e", row->error);
	else
		printf("%8s", "-");
	if (row->extra[0] >= 0)
		printf("  workspace %.0f of %.0f, packed %.0f, growth %.0f bytes", row->extra[0],
		       row->extra[2], row->extra[1], row->extra[3]);
	if (row->tokens > 0)
		printf("  %.4g tokens/s", row->tokens);
	if (row->peak > 0)
		printf("  %.1f MB, %.1f over the file", row->peak / 1e6, row->over / 1e6);
	if (row->accepted > 0)
		printf("  %.0f %% of guesses accepted", 100 * row->accepted);
	if (row->ratio > 0)
		printf("  ratio %.3g", row->ratio);
	putchar('\n');
}

void report_head(const struct bench_opts *opts)
{
	static bool printed;

	if (!printed && opts->format == BENCH_CSV)
		puts("case,dtype,threads,impl,gflops,us,limit,share,spread,error");
	if (!printed && opts->format == BENCH_TEXT)
		printf("%-32s %-8s %2s %-12s %9s %11s %9s %7s %7s %8s\n", "CASE", "DTYPE", "T",
		       "IMPL", "GFLOP/S", "US", "LIMIT", "SHARE", "SPREAD", "ERROR");
	printed = true;
}

void report_row(const struct bench_opts *opts, const struct perf_row *row)
{
	report_head(opts);
	if (opts->format == BENCH_JSON)
		print_json(row);
	else if (opts->format == BENCH_CSV)
		print_csv(row);
	else
		print_text(row);
	fflush(stdout);
}
