// SPDX-License-Identifier: MIT
/*
 * Help, manual page and completion, written from the command table.
 */
#include <ctype.h>
#include <string.h>

#include "accelctl.h"
#include "op.h"

#define WIDTH	79

/* Date of the manual page: that of the last change to commands or options */
#define MAN_DATE	"2026-11-21"

/* --- words --- */

static bool is_short(const struct ctl_opt *opt)
{
	return opt->letter && !opt->name[1];
}

/* "fp32|fp16" or "FILE", empty for flags */
static const char *value_of(const struct ctl_opt *opt, char buf[192])
{
	size_t len = 0, i;

	buf[0] = 0;
	if (opt->arg)
		snprintf(buf, 192, "%s", opt->arg);
	else if (opt->kind == CTL_CHOICE)
		for (i = 0; opt->choices[i] && len < 192; i++)
			len += (size_t)snprintf(buf + len, 192 - len, "%s%s", i ? "|" : "",
						opt->choices[i]);
	return buf;
}

static void put_name(FILE *f, const struct ctl_command *cmd)
{
	fprintf(f, "%s%s%s", cmd->name, cmd->sub ? " " : "", cmd->sub ? cmd->sub : "");
}

/* Text in lines that start at a column */
static void put_wrapped(FILE *f, const char *text, int indent)
{
	int column = indent;
	const char *end;

	while (*text) {
		int len;

		if (*text == '\n') {
			fputs(text[1] == '\n' ? "\n\n" : "\n", f);
			fprintf(f, "%*s", indent, "");
			text += strspn(text, "\n");
			column = indent;
			continue;
		}
		end = text + strcspn(text, "\n ");
		len = (int)(end - text);
		if (column > indent && column + 1 + len > WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			column = indent;
		}
		if (column > indent) {
			fputc(' ', f);
			column++;
		}
		fprintf(f, "%.*s", len, text);
		column += len;
		text = *end == ' ' ? end + 1 : end;
	}
	fputc('\n', f);
}

/* --- help --- */

static void put_options(FILE *f, const struct ctl_opt *opt)
{
	char value[192], line[320];

	for (; opt->name; opt++) {
		value_of(opt, value);
		if (is_short(opt))
			snprintf(line, sizeof(line), "-%c %s", opt->letter, value);
		else if (opt->letter)
			snprintf(line, sizeof(line), "-%c, --%s%s%s", opt->letter, opt->name,
				 *value ? " " : "", value);
		else
			snprintf(line, sizeof(line), "    --%s%s%s", opt->name, *value ? " " : "",
				 value);
		if (strlen(line) <= 22)
			fprintf(f, "  %-22s  ", line);
		else
			fprintf(f, "  %s\n%*s", line, 26, "");
		put_wrapped(f, opt->help, 26);
	}
}

void ctl_help_short(FILE *f)
{
	const struct ctl_command *cmd;
	char name[64];

	fputs("Usage: accelctl [OPTION...] COMMAND [ARGUMENT...]\n\n"
	      "Inspects and runs accelerators that share memory with the CPU.\n\nCommands:\n", f);
	for (cmd = ctl_commands; cmd->name; cmd++) {
		snprintf(name, sizeof(name), "%s%s%s", cmd->name, cmd->sub ? " " : "",
			 cmd->sub ? cmd->sub : "");
		fprintf(f, "  %-22s  %s\n", name, cmd->summary);
	}
	fputs("\nOptions of every command:\n", f);
	put_options(f, ctl_global_opts);
	fputs("\n'accelctl help COMMAND' shows the options of a command.\n", f);
}

void ctl_help_command(FILE *f, const struct ctl_command *cmd)
{
	unsigned int i;

	fputs("Usage: accelctl ", f);
	put_name(f, cmd);
	fputs(" [OPTION...]", f);
	if (cmd->operand)
		fprintf(f, " [%s]", cmd->operand);
	fputs("\n\n", f);
	put_wrapped(f, cmd->text, 0);
	for (i = 0; cmd->opts && cmd->opts[i]; i++) {
		if (i == 0)
			fputs("\nOptions:\n", f);
		put_options(f, cmd->opts[i]);
	}
	fputs("\nOptions of every command:\n", f);
	put_options(f, ctl_global_opts);
}

/* --- the manual page --- */

static void put_roff(FILE *f, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		/* A control character at the start of a line would be a roff request */
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", f);
		line_start = *text == '\n';
		if (*text == '\\')
			fputs("\\e", f);
		else if (*text == '-')
			fputs("\\-", f);
		else if (*text == '^')
			fputs("\\(ha", f);
		else if (*text == '~')
			fputs("\\(ti", f);
		else if (*text == '\n' && text[1] == '\n')
			fputs("\n.PP", f);
		else
			fputc(*text, f);
	}
}

static void put_text(FILE *f, const char *text)
{
	put_roff(f, text);
	fputc('\n', f);
}

static void put_man_options(FILE *f, const struct ctl_opt *opt)
{
	char value[192];

	for (; opt->name; opt++) {
		fputs(".TP\n", f);
		if (opt->letter)
			fprintf(f, "\\fB\\-%c\\fR", opt->letter);
		if (!is_short(opt)) {
			fprintf(f, "%s\\fB\\-\\-", opt->letter ? ", " : "");
			put_roff(f, opt->name);
			fputs("\\fR", f);
		}
		value_of(opt, value);
		if (*value) {
			fputs(" \\fI", f);
			put_roff(f, value);
			fputs("\\fR", f);
		}
		fputc('\n', f);
		fputc(toupper((unsigned char)opt->help[0]), f);
		put_roff(f, opt->help + 1);
		fputs(".\n", f);
	}
}

static void put_man_topics(FILE *f, const char *title, const struct ctl_topic *topic)
{
	fprintf(f, ".SH %s\n", title);
	for (; topic->term; topic++) {
		fputs(".TP\n.B ", f);
		put_text(f, topic->term);
		put_text(f, topic->text);
	}
}

void ctl_help_man(FILE *f)
{
	const struct ctl_command *cmd;
	unsigned int i;

	fprintf(f, ".\\\" SPDX-License-Identifier: MIT\n"
		".\\\" Written by accelctl help --man from the command table.\n"
		".TH ACCELCTL 1 %s \"accelctl %s\" \"User Commands\"\n"
		".SH NAME\naccelctl \\- inspect and run accelerators that share memory with the CPU\n"
		".SH SYNOPSIS\n", MAN_DATE, UMA_VERSION);
	for (cmd = ctl_commands; cmd->name; cmd++) {
		fputs(cmd == ctl_commands ? ".B accelctl " : ".br\n.B accelctl ", f);
		put_name(f, cmd);
		fputs("\n.RI [ option ...]\n", f);
		if (cmd->operand)
			fprintf(f, ".RI [ %s ]\n", cmd->operand);
	}
	fputs(".SH DESCRIPTION\n"
	      "Each command prints text for people or, with\n.BR \\-\\-json ,\n"
	      "one JSON document with its name and version in\n.IR schema :\n"
	      "numbers are numbers, and units are part of the keys.\n"
	      "Standard output carries that and nothing else.\n"
	      ".SH OPTIONS\nThese go with every command, and may stand before it.\n", f);
	put_man_options(f, ctl_global_opts);
	put_man_topics(f, "DEVICES", ctl_devices);
	fputs(".SH COMMANDS\n", f);
	for (cmd = ctl_commands; cmd->name; cmd++) {
		fputs(".SS accelctl ", f);
		put_name(f, cmd);
		if (cmd->operand)
			fprintf(f, " [%s]", cmd->operand);
		fputc('\n', f);
		put_text(f, cmd->text);
		for (i = 0; cmd->opts && cmd->opts[i]; i++)
			put_man_options(f, cmd->opts[i]);
	}
	put_man_topics(f, "EXIT STATUS", ctl_statuses);
	put_man_topics(f, "ENVIRONMENT", ctl_environment);
	fputs(".SH EXAMPLES\n", f);
	for (i = 0; ctl_examples[i].term; i++) {
		fputs(".TP\n.B ", f);
		put_text(f, ctl_examples[i].term);
		put_text(f, ctl_examples[i].text);
	}
}

/* --- completion --- */

/* The option words of tables; or, of one kind, a pattern for case */
static void put_words(FILE *f, const struct ctl_opt *opt)
{
	for (; opt->name; opt++) {
		if (opt->letter)
			fprintf(f, " -%c", opt->letter);
		if (!is_short(opt))
			fprintf(f, " --%s", opt->name);
	}
}

static void put_cases(FILE *f, const struct ctl_opt *opt)
{
	unsigned int i;

	for (; opt->name; opt++) {
		if (opt->kind == CTL_FLAG)
			continue;
		fputs("\t\t", f);
		if (opt->letter)
			fprintf(f, "-%c%s", opt->letter, is_short(opt) ? "" : "|");
		if (!is_short(opt))
			fprintf(f, "--%s", opt->name);
		fputs(") ", f);
		if (opt->complete == CTL_COMPLETE_FILE || opt->complete == CTL_COMPLETE_DIR) {
			fprintf(f, "_accelctl_files %s\n\t\t\treturn ;;\n",
				opt->complete == CTL_COMPLETE_DIR ? "-d" : "-f");
			continue;
		}
		if (opt->complete == CTL_COMPLETE_DEVICE) {
			fputs("_accelctl_devices; return ;;\n", f);
		} else if (opt->kind == CTL_CHOICE) {
			fputs("words='", f);
			for (i = 0; opt->choices[i]; i++)
				fprintf(f, "%s%s", i ? " " : "", opt->choices[i]);
			fputs("' ;;\n", f);
		} else {
			fputs("return ;;\n", f);
		}
	}
}

/* The first command with the same first word */
static const struct ctl_command *first_of(const struct ctl_command *cmd)
{
	const struct ctl_command *first;

	for (first = ctl_commands; strcmp(first->name, cmd->name) != 0; first++)
		;
	return first;
}

/* The next one, NULL after the last */
static const struct ctl_command *next_of(const struct ctl_command *cmd)
{
	const char *name = cmd->name;

	for (cmd++; cmd->name; cmd++)
		if (!strcmp(cmd->name, name))
			return cmd;
	return NULL;
}

/* Length of the first word of the subcommand, which may have two: "run gemm" */
static int first_word(const struct ctl_command *cmd)
{
	return (int)strcspn(cmd->sub, " ");
}

/* Is it the first with that word? */
static bool starts_group(const struct ctl_command *cmd)
{
	const struct ctl_command *other;
	int len = first_word(cmd);

	for (other = first_of(cmd); other != cmd; other = next_of(other))
		if (first_word(other) == len && !strncmp(other->sub, cmd->sub, (size_t)len))
			return false;
	return true;
}

/* "tune run" is followed by another word */
static void put_group(FILE *f, const struct ctl_command *cmd)
{
	const struct ctl_command *other;
	int len = first_word(cmd);
	const char *blank = "";

	if (!cmd->sub[len] || !starts_group(cmd))
		return;
	fprintf(f, "\t\t%.*s)\n\t\t\twords='", len, cmd->sub);
	for (other = cmd; other; other = next_of(other))
		if (first_word(other) == len && !strncmp(other->sub, cmd->sub, (size_t)len)) {
			fprintf(f, "%s%s", blank, other->sub + len + 1);
			blank = " ";
		}
	fputs("' ;;\n", f);
}

static void put_command_words(FILE *f)
{
	const struct ctl_command *cmd;

	for (cmd = ctl_commands; cmd->name; cmd++)
		if (cmd == first_of(cmd))
			fprintf(f, "%s%s", cmd == ctl_commands ? "" : " ", cmd->name);
}

static void put_op_words(FILE *f)
{
	char name[32];
	uint32_t i;

	fputs("\t\t[[ -n $words || $cur == -* ]] || words='", f);
	for (i = 0; op_name(i, name); i++)
		fprintf(f, "%s%s", i ? " " : "", name);
	fputs("'\n", f);
}

/* Completions after one command */
static void put_command(FILE *f, const struct ctl_command *cmd)
{
	const struct ctl_command *other;
	unsigned int i;

	fputs("\t\tcase $prev in\n", f);
	for (i = 0; cmd->opts && cmd->opts[i]; i++)
		put_cases(f, cmd->opts[i]);
	put_cases(f, ctl_global_opts);
	fputs("\t\tesac\n", f);
	if (cmd->sub) {
		fputs("\t\tif [[ -z $words && -z $sub ]]; then\n\t\t\twords='", f);
		for (other = first_of(cmd); other; other = next_of(other))
			if (starts_group(other))
				fprintf(f, "%s%.*s", other == first_of(cmd) ? "" : " ",
					first_word(other), other->sub);
		fputs("'\n\t\tfi\n", f);
		if (cmd->complete == CTL_COMPLETE_OP)
			put_op_words(f);
	} else if (cmd->complete == CTL_COMPLETE_DEVICE) {
		fputs("\t\tif [[ -z $words && $cur != -* ]]; then\n"
		      "\t\t\t_accelctl_devices\n\t\t\treturn\n\t\tfi\n", f);
	} else if (cmd->complete == CTL_COMPLETE_COMMAND) {
		fputs("\t\t[[ $cur == -* ]] || words='", f);
		put_command_words(f);
		fputs("'\n", f);
	}
	fputs("\t\tif [[ -z $words ]]; then\n\t\t\twords='", f);
	for (i = 0; cmd->opts && cmd->opts[i]; i++)
		put_words(f, cmd->opts[i]);
	put_words(f, ctl_global_opts);
	fputs("'\n\t\tfi\n", f);
}

void ctl_help_bash(FILE *f)
{
	const struct ctl_command *cmd, *other;
	unsigned int i;

	fputs("# SPDX-License-Identifier: MIT\n"
	      "# bash completion for accelctl, written by accelctl help --completion\n\n"
	      "_accelctl_files()\n{\n"
	      "\tlocal IFS=$'\\n'\n"
	      "\tcompopt -o filenames 2>/dev/null\n"
	      "\tCOMPREPLY=($(compgen \"$1\" -- \"$cur\"))\n}\n\n"
	      "_accelctl_devices()\n{\n"
	      "\tlocal names w\n\tnames=\"$(accelctl list -q 2>/dev/null)", f);
	for (i = 0; ctl_device_names[i]; i++)
		fprintf(f, " %s", ctl_device_names[i]);
	fputs("\"\n\tCOMPREPLY=($(compgen -W \"$names\" -- \"$cur\" | sort -u))\n"
	      "\t[[ $cur == /* ]] && COMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\t# readline takes what follows a colon for a word of its own\n"
	      "\tif [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
	      "\t\tw=${cur%\"${cur##*:}\"}\n"
	      "\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"$w\"}\")\n"
	      "\tfi\n}\n\n"
	      "_accelctl()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal cmd='' sub='' words='' i line parts\n\n"
	      "\tCOMPREPLY=()\n"
	      "\t# The word with its colons, for names like sw:m1\n"
	      "\tline=${COMP_LINE:0:COMP_POINT}\n"
	      "\tif [[ $line == *:* && ${line##* } == *:* ]]; then\n"
	      "\t\tcur=${line##* }\n"
	      "\t\tline=${line%\"$cur\"}\n"
	      "\t\tread -ra parts <<<\"$line\"\n"
	      "\t\tprev=${parts[${#parts[@]}-1]}\n"
	      "\tfi\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tcase ${COMP_WORDS[i]} in\n"
	      "\t\t-d|--device|--record) ((i++)) ;;\n"
	      "\t\t-*) ;;\n"
	      "\t\t*)\n"
	      "\t\t\tif [[ -z $cmd ]]; then\n"
	      "\t\t\t\tcmd=${COMP_WORDS[i]}\n"
	      "\t\t\telif [[ -z $sub ]]; then\n"
	      "\t\t\t\tsub=${COMP_WORDS[i]}\n"
	      "\t\t\telif [[ $cmd-$sub == tune-run ]]; then\n"
	      "\t\t\t\tsub+=\" ${COMP_WORDS[i]}\"\n"
	      "\t\t\tfi ;;\n"
	      "\t\tesac\n"
	      "\tdone\n\n", f);

	/* Values of the option before the cursor */
	fputs("\tcase $cmd in\n", f);
	for (cmd = ctl_commands; cmd->name; cmd++) {
		if (cmd != first_of(cmd))
			continue;
		fprintf(f, "\t%s)\n", cmd->name);
		if (!next_of(cmd)) {
			put_command(f, cmd);
			fputs("\t\t;;\n", f);
			continue;
		}
		/* Several second words, each with options of its own */
		fputs("\t\tcase $sub in\n", f);
		for (other = cmd; other; other = next_of(other)) {
			put_group(f, other);
			fprintf(f, "\t\t%s'%s')\n", other == cmd ? "''|" : "", other->sub);
			put_command(f, other);
			fputs("\t\t;;\n", f);
		}
		fputs("\t\tesac ;;\n", f);
	}
	fputs("\t*)\n\t\tcase $prev in\n", f);
	put_cases(f, ctl_global_opts);
	fputs("\t\tesac\n\t\twords='", f);
	put_command_words(f);
	put_words(f, ctl_global_opts);
	fputs("' ;;\n\tesac\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n\n"
	      "complete -F _accelctl accelctl\n", f);
}

int cmd_help(struct ctl *ctl, void *data, const char *operand)
{
	const struct help_opts *opts = data;
	const struct ctl_command *cmd;
	bool found = false;

	if (opts->man || opts->completion) {
		if (opts->man)
			ctl_help_man(stdout);
		else
			ctl_help_bash(stdout);
		return CTL_OK;
	}
	if (!operand) {
		ctl_help_short(stdout);
		return CTL_OK;
	}
	for (cmd = ctl_commands; cmd->name; cmd++)
		if (!strcmp(cmd->name, operand)) {
			if (found)
				putchar('\n');
			ctl_help_command(stdout, cmd);
			found = true;
		}
	return found ? CTL_OK : ctl_fail(ctl, CTL_USAGE, 0, operand, "no such command");
}
