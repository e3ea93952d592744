// SPDX-License-Identifier: MIT
/*
 * accelctl: inspects and runs accelerators.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accelctl.h"
#include "interrupt.h"

int cmd_version(struct ctl *ctl, void *data, const char *operand)
{
	uint32_t version = accel_version();
	struct json_object *doc;
	char text[24];

	(void)data;
	(void)operand;
	snprintf(text, sizeof(text), "%u.%u", version >> 16, version & 0xffff);
	if (ctl->json) {
		doc = ctl_schema(ctl);
		ctl_json_str(doc, "accelctl", UMA_VERSION);
		ctl_json_str(doc, "library", text);
		ctl_json_print(ctl, doc);
	} else {
		printf("accelctl %s, libaccel %s\n", UMA_VERSION, text);
	}
	return CTL_OK;
}

/* Errors that are found before --json is parsed must be JSON, too */
static bool wants_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--json") || !strcmp(argv[i], "-j") ||
		    !strcmp(argv[i], "--json-events"))
			return true;
	return false;
}

static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* A command of one to three words, and how many they are */
static const struct ctl_command *find_words(char **argv, int argc, int *used)
{
	const struct ctl_command *cmd;
	char two[64];

	*used = 3;
	if (argc > 2) {
		snprintf(two, sizeof(two), "%s %s", argv[1], argv[2]);
		cmd = ctl_find(argv[0], two);
		if (cmd && cmd->sub)
			return cmd;
	}
	cmd = ctl_find(argv[0], argc > 1 ? argv[1] : NULL);
	*used = cmd && cmd->sub ? 2 : 1;
	return cmd;
}

/* "tune run": words that a command starts with, but no command */
static bool is_group(const char *name, const char *word)
{
	const struct ctl_command *cmd;
	size_t len = strlen(word);

	for (cmd = ctl_commands; cmd->name; cmd++)
		if (!strcmp(cmd->name, name) && cmd->sub && !strncmp(cmd->sub, word, len) &&
		    cmd->sub[len] == ' ')
			return true;
	return false;
}

static int run_command(struct ctl *ctl, int argc, char **argv)
{
	const char *operand = NULL;
	int first, words, ret;
	void *data;

	data = ctl_alloc(1, ctl->cmd->data_size);
	if (ctl->cmd->init)
		ctl->cmd->init(data);
	ret = ctl_parse(ctl, ctl->cmd, argc, argv, data, &first);
	if (ret)
		goto out;
	if (ctl->help) {
		ctl_help_command(stdout, ctl->cmd);
		goto out;
	}
	if (ctl->cmd->rest) {
		ctl->rest = argv + first;
		first = argc;
	}
	if (first < argc && ctl->cmd->operand)
		operand = argv[first++];
	/* "help run gemm": a command may be several words */
	if (operand && ctl->cmd->run == cmd_help && first < argc) {
		const struct ctl_command *cmd = find_words(argv + first - 1, argc - first + 1,
							   &words);

		if (cmd && cmd->sub)
			first += words - 1;
		else if (!cmd && is_group(operand, argv[first]))
			first++;
	}
	if (first < argc) {
		ret = ctl_fail(ctl, CTL_USAGE, 0, argv[first], "is not expected");
		goto out;
	}
	ret = ctl->cmd->run(ctl, data, operand);
out:
	free(data);
	return ret;
}

static int find_command(struct ctl *ctl, int argc, char **argv, int *used)
{
	const struct ctl_command *cmd;
	char subs[160] = "";
	size_t len = 0;

	ctl->cmd = find_words(argv, argc, used);
	if (ctl->cmd)
		return CTL_OK;
	for (cmd = ctl_commands; cmd->name; cmd++)
		if (!strcmp(cmd->name, argv[0]) && len < sizeof(subs))
			len += (size_t)snprintf(subs + len, sizeof(subs) - len, "%s%s",
						len ? ", " : "", cmd->sub);
	if (!len)
		return ctl_fail(ctl, CTL_USAGE, 0, argv[0], "no such command");
	return ctl_fail(ctl, CTL_USAGE, 0, argv[0], "%s%s%s; it takes %s",
			argc > 1 ? "cannot do '" : "what is missing",
			argc > 1 ? argv[1] : "", argc > 1 ? "'" : "", subs);
}

int main(int argc, char **argv)
{
	struct ctl ctl = { 0 };
	int first, used, ret;

	ctl_catch_interrupt();
	ctl.json = wants_json(argc, argv);
	ctl.colour = wants_colour();
	ret = ctl_parse(&ctl, NULL, argc, argv, NULL, &first);
	if (ret)
		return ret;
	if (ctl.version) {
		ctl.cmd = ctl_find("version", NULL);
		ret = cmd_version(&ctl, NULL, NULL);
		goto out;
	}
	if (first == argc) {
		ctl_help_short(ctl.help ? stdout : stderr);
		ret = ctl.help ? CTL_OK : CTL_USAGE;
		goto out;
	}
	/* "--help run" and "run --help" */
	if (ctl.help || (first + 2 == argc && !ctl_find(argv[first], NULL) &&
			 (!strcmp(argv[first + 1], "--help") || !strcmp(argv[first + 1], "-h")))) {
		ctl.cmd = ctl_find("help", NULL);
		ret = cmd_help(&ctl, &(struct help_opts){ 0 }, argv[first]);
		goto out;
	}
	ret = find_command(&ctl, argc - first, argv + first, &used);
	if (ret)
		goto out;
	ret = run_command(&ctl, argc - first - used + 1, argv + first + used - 1);
out:
	/* Output that could not be written is a failure */
	if (fflush(stdout) || ferror(stdout)) {
		fputs("accelctl: cannot write to stdout\n", stderr);
		return ret ? ret : CTL_FAILED;
	}
	return ret;
}
