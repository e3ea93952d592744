// SPDX-License-Identifier: MIT
/*
 * Options from their tables, by getopt_long().
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accelctl.h"

#define MAX_OPTS	64
/* Values of long options: an index beyond all letters */
#define LONG_BASE	1000

struct entry {
	const struct ctl_opt *opt;
	void *data;
};

/* "-m", "--dtype" */
static const char *spelling(const struct ctl_opt *opt, char buf[32])
{
	if (opt->letter && !opt->name[1])
		snprintf(buf, 32, "-%s", opt->name);
	else
		snprintf(buf, 32, "--%s", opt->name);
	return buf;
}

static int set_choice(struct ctl *ctl, const struct ctl_opt *opt, const char *name,
		      const char *value, uint32_t *to)
{
	char list[256] = "";
	size_t len = 0;
	uint32_t i;

	for (i = 0; opt->choices[i]; i++) {
		if (!strcmp(opt->choices[i], value)) {
			*to = i;
			return CTL_OK;
		}
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "",
					opt->choices[i]);
		if (len >= sizeof(list))
			len = sizeof(list) - 1;
	}
	return ctl_fail(ctl, CTL_USAGE, 0, name, "'%s' is none of %s", value, list);
}

static int set_ints(struct ctl *ctl, const struct ctl_opt *opt, const char *name,
		    const char *value, struct ctl_ints *to)
{
	int64_t min = (int64_t)opt->min, max = (int64_t)opt->max;
	const char *p = value;
	char *end;

	for (to->count = 0; ; p = end + 1) {
		errno = 0;
		if (to->count == CTL_LIST_MAX)
			return ctl_fail(ctl, CTL_USAGE, 0, name, "has more than %d numbers",
					CTL_LIST_MAX);
		to->v[to->count] = strtoll(p, &end, 10);
		/* strtoll() would accept blanks and plus signs */
		if ((*p != '-' && (*p < '0' || *p > '9')) || end == p || (*end && *end != ',') ||
		    errno || to->v[to->count] < min || to->v[to->count] > max)
			return ctl_fail(ctl, CTL_USAGE, 0, name,
					"'%s' is no list of whole numbers from %lld to %lld", value,
					(long long)min, (long long)max);
		to->count++;
		if (!*end)
			return CTL_OK;
	}
}

static int add_string(struct ctl *ctl, const char *name, const char *value,
		      struct ctl_strings *to)
{
	if (!*value)
		return ctl_fail(ctl, CTL_USAGE, 0, name, "is empty");
	if (to->count == CTL_LIST_MAX)
		return ctl_fail(ctl, CTL_USAGE, 0, name, "was given more than %d times",
				CTL_LIST_MAX);
	to->v[to->count++] = value;
	return CTL_OK;
}

static int set(struct ctl *ctl, const struct entry *entry, const char *value)
{
	const struct ctl_opt *opt = entry->opt;
	char *to = (char *)entry->data + opt->offset, *end;
	char name[32];
	uint64_t number;
	double real;

	spelling(opt, name);
	switch (opt->kind) {
	case CTL_FLAG:
		(*(uint32_t *)to)++;
		return CTL_OK;
	case CTL_STRING:
		if (!*value)
			return ctl_fail(ctl, CTL_USAGE, 0, name, "is empty");
		*(const char **)to = value;
		return CTL_OK;
	case CTL_CHOICE:
		return set_choice(ctl, opt, name, value, (uint32_t *)to);
	case CTL_INTS:
		return set_ints(ctl, opt, name, value, (struct ctl_ints *)to);
	case CTL_STRINGS:
		return add_string(ctl, name, value, (struct ctl_strings *)to);
	case CTL_REAL:
		errno = 0;
		real = strtod(value, &end);
		if (end == value || *end || !isfinite(real))
			return ctl_fail(ctl, CTL_USAGE, 0, name, "'%s' is no finite number", value);
		*(double *)to = real;
		return CTL_OK;
	case CTL_UINT:
		errno = 0;
		number = strtoull(value, &end, 10);
		/* strtoull() would accept signs and blanks */
		if (*value < '0' || *value > '9' || *end || errno || number < opt->min ||
		    number > opt->max)
			return ctl_fail(ctl, CTL_USAGE, 0, name,
					"'%s' is no whole number from %llu to %llu", value,
					(unsigned long long)opt->min, (unsigned long long)opt->max);
		*(uint64_t *)to = number;
		return CTL_OK;
	}
	return CTL_OK;
}

static unsigned int collect(struct entry *entries, unsigned int count, const struct ctl_opt *opts,
			    void *data)
{
	for (; opts->name && count < MAX_OPTS; opts++)
		entries[count++] = (struct entry){ opts, data };
	return count;
}

int ctl_parse(struct ctl *ctl, const struct ctl_command *cmd, int argc, char **argv, void *data,
	      int *first)
{
	struct option longs[MAX_OPTS + 1] = { 0 };
	struct entry entries[MAX_OPTS];
	char shorts[2 * MAX_OPTS + 4], *s = shorts;
	unsigned int count, n = 0, i;
	int c;

	count = collect(entries, 0, ctl_global_opts, ctl);
	for (i = 0; cmd && cmd->opts && cmd->opts[i]; i++)
		count = collect(entries, count, cmd->opts[i], data);

	/* Only global options may precede the command */
	if (!cmd)
		*s++ = '+';
	*s++ = ':';
	for (i = 0; i < count; i++) {
		const struct ctl_opt *opt = entries[i].opt;

		if (opt->letter) {
			*s++ = (char)opt->letter;
			if (opt->kind != CTL_FLAG)
				*s++ = ':';
		}
		/* Also names of one letter: --k is not short for --kernel */
		longs[n].name = opt->name;
		longs[n].has_arg = opt->kind == CTL_FLAG ? no_argument : required_argument;
		longs[n++].val = LONG_BASE + (int)i;
	}
	*s = 0;

	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const char *word = argv[optind - 1];
		char letter[3] = { '-', (char)optopt, 0 };
		int ret;

		if (c == '?' || c == ':') {
			/* An unknown letter may be inside of a word; a long option is the word */
			if (optopt > 0 && optopt < LONG_BASE)
				word = letter;
			return ctl_fail(ctl, CTL_USAGE, 0, word, c == ':' ? "needs a value" :
					optopt >= LONG_BASE ? "takes no value" :
					"no such option");
		}
		for (i = 0; i < count; i++)
			if (c == LONG_BASE + (int)i ||
			    (c < LONG_BASE && c == entries[i].opt->letter))
				break;
		if (i == count)
			return ctl_fail(ctl, CTL_USAGE, 0, word, "no such option");
		ret = set(ctl, &entries[i], optarg);
		if (ret)
			return ret;
	}
	*first = optind;
	return CTL_OK;
}
