// SPDX-License-Identifier: MIT
/*
 * The reader of trace_pipe's lines:
 *
 *	         gemm-1234    [001] d..1.   123.456789: uma_job_run: dev=... engine=...
 *	CPU:1 [LOST 57 EVENTS]
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kfile.h"
#include "trace_line.h"

#define COMM_WIDTH	16

static int lost_line(char *text, struct trace_line *line)
{
	const char *end;
	uint64_t cpu;

	if (!number_parse(text + 4, &cpu, &end) || cpu > UINT32_MAX)
		return -EBADMSG;
	line->kind = TRACE_LOST;
	line->cpu = (uint32_t)cpu;
	if (!strcmp(end, " [LOST EVENTS]"))
		return 0;
	if (strncmp(end, " [LOST ", 7) != 0 || !number_parse(end + 7, &line->lost, &end) ||
	    strcmp(end, " EVENTS]") != 0)
		return -EBADMSG;
	return 0;
}

/* "123.456789: ", with up to nine digits after the point */
static bool stamp(const char *text, uint64_t *ns, const char **end)
{
	uint64_t seconds, fraction = 0, unit = 1000000000;
	const char *p;

	if (!number_parse(text, &seconds, &p) || *p != '.' || p[1] < '0' || p[1] > '9')
		return false;
	for (p++; *p >= '0' && *p <= '9'; p++) {
		unit /= 10;
		fraction += unit * (uint64_t)(*p - '0');
	}
	if (p[0] != ':' || p[1] != ' ')
		return false;
	*end = p + 2;
	return !__builtin_mul_overflow(seconds, 1000000000ull, ns) &&
	       !__builtin_add_overflow(*ns, fraction, ns);
}

static int split_fields(char *p, struct trace_line *line)
{
	struct trace_field *f;
	char *equals;

	while (*(p += strspn(p, " "))) {
		char *end = p + strcspn(p, " ");
		bool more = *end;

		*end = 0;
		equals = strchr(p, '=');
		if (equals) {
			if (line->field_count == TRACE_FIELDS || equals == p)
				return -EBADMSG;
			*equals = 0;
			f = &line->fields[line->field_count++];
			f->key = text_clean(p);
			f->value = text_clean(equals + 1);
		}
		p = more ? end + 1 : end;
	}
	return 0;
}

int trace_line_parse(char *text, struct trace_line *line)
{
	const char *p;
	uint64_t n;
	char *rest;

	*line = (struct trace_line){ .kind = TRACE_NOTHING };
	if (!*text || *text == '#')
		return 0;
	if (!strncmp(text, "CPU:", 4) && strstr(text, " [LOST "))
		return lost_line(text, line);
	if (strnlen(text, COMM_WIDTH + 1) <= COMM_WIDTH || text[COMM_WIDTH] != '-' ||
	    !number_parse(text + COMM_WIDTH + 1, &n, &p))
		return -EBADMSG;
	p += strspn(p, " ");
	/* The thread group is here, if this option of tracefs is enabled */
	if (*p == '(') {
		p += strcspn(p, ")");
		if (*p != ')')
			return -EBADMSG;
		p++;
		p += strspn(p, " ");
	}
	if (*p != '[' || !number_parse(p + 1, &n, &p) || *p != ']' || n > UINT32_MAX)
		return -EBADMSG;
	line->cpu = (uint32_t)n;
	p++;
	p += strspn(p, " ");
	/* The state of interrupts is one word, if it is there */
	if (!stamp(p, &line->ns, &p)) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
		if (!stamp(p, &line->ns, &p))
			return -EBADMSG;
	}
	rest = text + (p - text);
	line->event = rest;
	rest += strcspn(rest, ": ");
	if (*rest != ':' || rest == line->event)
		return -EBADMSG;
	*rest++ = 0;
	line->kind = TRACE_EVENT;
	return split_fields(rest, line);
}

const char *trace_field(const struct trace_line *line, const char *key)
{
	unsigned int i;

	for (i = 0; i < line->field_count; i++)
		if (!strcmp(line->fields[i].key, key))
			return line->fields[i].value;
	return NULL;
}

bool trace_number(const struct trace_line *line, const char *key, int64_t *value)
{
	const char *text = trace_field(line, key);
	char *end;
	int64_t n;

	if (!text || !*text || *text == ' ')
		return false;
	errno = 0;
	n = strtoll(text, &end, 0);
	if (errno || *end)
		return false;
	*value = n;
	return true;
}
