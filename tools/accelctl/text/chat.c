// SPDX-License-Identifier: MIT
/*
 * generate -i: a chat. The whole conversation is formatted with the model's template for each
 * answer; the generator finds the pages of keys and values of earlier messages, so only the new
 * part is computed, and at most a page in addition.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <accel/chat.h>

#include "interrupt.h"
#include "text.h"

#define LINE_MAX_BYTES	(1u << 20)
#define MESSAGES_MAX	65536
#define SCHEMA		"accelctl.conversation/1"
/* An answer that no template writes by itself */
#define SAMPLE		"accelctl-sample-answer"

/**
 * struct chat - a conversation
 * @s: speaker
 * @ctl: invocation
 * @template: how it is written
 * @messages: what was said, as templates have it
 * @now: when it began: what the template makes of the time has to stay as it is
 * @bos: text of the token that begins texts, or NULL
 * @eos: of the one that ends them, or NULL
 * @terminal: somebody types
 * @over: the input ended, or /quit was said
 * @in: what was read
 * @cap: room of @in
 * @from: of @in, what is not taken yet
 * @to: the end of it
 * @last: the last answer
 * @failed: status of the last line that failed, CTL_OK: none did
 */
struct chat {
	struct speaker *s;
	struct ctl *ctl;
	struct accel_chat_template *template;
	struct json_object *messages;
	int64_t now;
	char *bos;
	char *eos;
	bool terminal;
	bool over;
	char *in;
	size_t cap;
	size_t from;
	size_t to;
	struct answer last;
	int failed;
};

static void say(struct json_object *messages, const char *role, const char *content)
{
	struct json_object *message = ctl_json_obj(messages, NULL);

	ctl_json_str(message, "role", role);
	ctl_json_str(message, "content", content);
}

/* Remove the last message. */
static void unsay(struct chat *c)
{
	json_object_array_del_idx(c->messages, json_object_array_length(c->messages) - 1, 1);
}

static void begin(struct chat *c)
{
	json_object_put(c->messages);
	c->messages = ctl_json_arr(NULL, NULL);
	if (c->s->opts->system)
		say(c->messages, "system", c->s->opts->system);
}

/* --- the template ------------------------------------------------------------------------ */

static int write_out(struct chat *c, struct json_object *messages, uint32_t flags, char **text,
		     size_t *bytes)
{
	struct accel_chat_args args = ACCEL_CHAT_ARGS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	int ret;

	args.flags = flags;
	args.messages = json_object_to_json_string_ext(messages, JSON_C_TO_STRING_PLAIN);
	args.bos = c->bos;
	args.eos = c->eos;
	args.now = c->now;
	ret = accel_chat_template_apply(c->template, &args, &error, text, bytes);
	return ret ? ctl_fail_error(c->ctl, ctl_status(ret), "the template of conversations",
				    &error) : CTL_OK;
}

/*
 * The first token that is not text in what the template appends to an answer ends an answer,
 * too. Files do not always list it among the tokens that end texts.
 */
static int find_end(struct chat *c)
{
	struct accel_token_info info = { .size = sizeof(info) };
	struct json_object *messages = ctl_json_arr(NULL, NULL);
	char *text = NULL, *at, *rest = NULL;
	int32_t *tokens = NULL;
	uint32_t count = 0, i;
	size_t bytes;
	int ret;

	if (c->s->opts->system)
		say(messages, "system", c->s->opts->system);
	say(messages, "user", "Is it so?");
	say(messages, "assistant", SAMPLE);
	ret = write_out(c, messages, 0, &text, &bytes);
	for (at = ret ? NULL : strstr(text, SAMPLE); at; at = strstr(rest, SAMPLE))
		rest = at + strlen(SAMPLE);
	if (rest && *rest)
		ret = speaker_encode(c->s, rest, strlen(rest), ACCEL_ENCODE_PARSE_SPECIAL, &tokens,
				     &count);
	for (i = 0; i < count; i++)
		if (!accel_tokenizer_get_token(c->s->tokenizer, (uint32_t)tokens[i], &info) &&
		    info.flags & ACCEL_TOKEN_SPECIAL) {
			speaker_add_end(c->s, tokens[i]);
			break;
		}
	free(tokens);
	free(text);
	json_object_put(messages);
	return ret;
}

static char *text_of(const struct speaker *s, uint32_t token)
{
	struct accel_token_info info = { .size = sizeof(info) };

	if (token == ACCEL_TOKEN_NONE || accel_tokenizer_get_token(s->tokenizer, token, &info))
		return NULL;
	return strndup(info.text, info.text_bytes);
}

static int open_template(struct chat *c)
{
	struct accel_tokenizer_info info = { .size = sizeof(info) };
	const char *file = c->s->opts->template, *text;
	struct accel_error error = ACCEL_ERROR_INIT;
	char *own = NULL;
	size_t bytes;
	int ret;

	if (!c->s->tokenizer)
		return ctl_fail(c->ctl, CTL_USAGE, 0, "--tokenizer",
				"a conversation needs a tokenizer");
	text = accel_tokenizer_chat_template(c->s->tokenizer);
	if (!file && !text)
		return ctl_fail(c->ctl, CTL_USAGE, 0, "--chat-template",
				"the model has no template of conversations: give one, or go on with a text by --prompt");
	bytes = file ? 0 : strlen(text);
	ret = file ? text_read(c->ctl, file, &own, &bytes) : CTL_OK;
	if (!ret && accel_chat_template_parse(file ? own : text, bytes, &error, &c->template))
		ret = ctl_fail_error(c->ctl, ctl_status(error.code),
				     file ? file : "the model's template of conversations", &error);
	free(own);
	if (ret || accel_tokenizer_get_info(c->s->tokenizer, &info))
		return ret;
	c->bos = text_of(c->s, info.bos);
	c->eos = text_of(c->s, info.eos);
	return find_end(c);
}

/* --- lines ------------------------------------------------------------------------------- */

/* More of the input; a status */
static int read_more(struct chat *c)
{
	char *more;
	ssize_t n;
	int ret;

	if (c->from)
		memmove(c->in, c->in + c->from, c->to - c->from);
	c->to -= c->from;
	c->from = 0;
	if (c->to == c->cap) {
		if (c->cap >= LINE_MAX_BYTES)
			return ctl_fail(c->ctl, CTL_USAGE, 0, NULL, "a line has more than %u bytes",
					LINE_MAX_BYTES);
		more = realloc(c->in, (c->cap ? 2 * c->cap : 4096) + 1);
		if (!more)
			return ctl_fail(c->ctl, CTL_FAILED, -ENOMEM, NULL, "no memory for a line");
		c->in = more;
		c->cap = c->cap ? 2 * c->cap : 4096;
	}
	ret = ctl_wait_input(STDIN_FILENO);
	if (ret == -EINTR)
		return CTL_INTERRUPTED;
	n = ret ? -1 : read(STDIN_FILENO, c->in + c->to, c->cap - c->to);
	if (n < 0)
		return ctl_fail(c->ctl, CTL_FAILED, ret ? ret : -errno, NULL,
				"the standard input cannot be read");
	c->to += (size_t)n;
	c->over = !n;
	return CTL_OK;
}

/* The next line, NULL: there is none; until the next call */
static int next_line(struct chat *c, char **line)
{
	char *end = NULL;
	int ret;

	*line = NULL;
	if (c->terminal && c->from == c->to && !c->ctl->json) {
		fputs("> ", stdout);
		fflush(stdout);
	}
	for (;;) {
		if (c->to > c->from)
			end = memchr(c->in + c->from, '\n', c->to - c->from);
		if (end || c->over)
			break;
		ret = read_more(c);
		if (ret)
			return ret;
	}
	if (!end && c->from == c->to)
		return CTL_OK;
	*line = c->in + c->from;
	end = end ? end : c->in + c->to;
	c->from = (size_t)(end - c->in) + (end < c->in + c->to);
	*end = 0;
	if (strlen(*line) != (size_t)(end - *line))
		return ctl_fail(c->ctl, CTL_USAGE, 0, NULL, "a line has a byte that is 0");
	if (end > *line && end[-1] == '\r')
		end[-1] = 0;
	return CTL_OK;
}

/* --- answers ----------------------------------------------------------------------------- */

static int tokens_of(struct chat *c, uint32_t flags, int32_t **tokens, uint32_t *count)
{
	char *text = NULL;
	size_t bytes = 0;
	int ret = write_out(c, c->messages, flags, &text, &bytes);

	/* The template also writes the token that begins texts. */
	if (!ret)
		ret = speaker_encode(c->s, text, bytes, ACCEL_ENCODE_PARSE_SPECIAL, tokens, count);
	free(text);
	return ret;
}

static int answer(struct chat *c, const char *question)
{
	int32_t *tokens = NULL;
	uint32_t count = 0;
	int ret;

	say(c->messages, "user", question);
	ret = tokens_of(c, ACCEL_CHAT_ADD_GENERATION_PROMPT, &tokens, &count);
	answer_free(&c->last);
	if (!ret)
		ret = answer_ask(&c->last, c->s, tokens, count);
	free(tokens);
	/* A message that was cancelled before any answer is removed. */
	if (ret || (c->last.why == ACCEL_END_CANCELLED && !c->last.count))
		unsay(c);
	else
		say(c->messages, "assistant", c->last.text ? c->last.text : "");
	if (ret)
		return ret;
	if (c->ctl->json)
		answer_json(&c->last);
	else
		puts("");
	fflush(stdout);
	return CTL_OK;
}

/* --- commands ---------------------------------------------------------------------------- */

static char *beside(const char *path, const char *end)
{
	char *name;

	if (asprintf(&name, "%s%s", path, end) < 0)
		exit(CTL_FAILED);
	return name;
}

/* An existing file is replaced atomically. */
static int save_messages(struct chat *c, const char *path)
{
	struct json_object *doc = ctl_json_obj(NULL, NULL);
	char *new = beside(path, ".XXXXXX");
	struct stat old;
	int ret = CTL_OK, fd;

	if (!stat(path, &old) && !S_ISREG(old.st_mode)) {
		ret = ctl_fail(c->ctl, CTL_FAILED, -EEXIST, path, "is no file that could be replaced");
		goto out;
	}
	fd = mkstemp(new);
	if (fd < 0) {
		ret = ctl_fail(c->ctl, CTL_FAILED, -errno, path, "cannot be written");
		goto out;
	}
	ctl_json_str(doc, "schema", SCHEMA);
	json_object_object_add(doc, "messages", json_object_get(c->messages));
	if (json_object_to_fd(fd, doc, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE) ||
	    rename(new, path)) {
		ret = ctl_fail(c->ctl, CTL_FAILED, -errno, path, "cannot be written");
		unlink(new);
	}
	close(fd);
out:
	json_object_put(doc);
	free(new);
	return ret;
}

/* As many pages as are there; none is there of a conversation that is shorter than one. */
static int save_pages(struct chat *c, const char *path)
{
	struct accel_generator_info info = { .size = sizeof(info) };
	char *kv = beside(path, ".kv"), *tokens_file = beside(path, ".kv.tokens");
	int32_t *tokens = NULL;
	uint32_t count = 0;
	int ret = CTL_OK, err = -ENOENT;

	accel_generator_get_info(c->s->generator, &info);
	if (json_object_array_length(c->messages))
		ret = tokens_of(c, 0, &tokens, &count);
	if (!ret && count)
		err = accel_generator_save(c->s->generator, tokens,
					   count < info.context ? count : info.context, 0, kv);
	if (!ret && err == -ENOENT) {
		unlink(kv);
		unlink(tokens_file);
	} else if (!ret && err) {
		ret = ctl_fail(c->ctl, CTL_FAILED, err, kv, "cannot be written: %s",
			       strerror(-err));
	}
	free(tokens);
	free(kv);
	free(tokens_file);
	return ret;
}

static int save(struct chat *c, const char *path)
{
	int ret = save_messages(c, path);

	return ret ? ret : save_pages(c, path);
}

static bool is_conversation(struct json_object *doc, struct json_object **messages)
{
	struct json_object *schema, *message, *part;
	size_t i;

	if (!json_object_is_type(doc, json_type_object) ||
	    !json_object_object_get_ex(doc, "schema", &schema) ||
	    !json_object_is_type(schema, json_type_string) ||
	    strcmp(json_object_get_string(schema), SCHEMA) != 0 ||
	    !json_object_object_get_ex(doc, "messages", messages) ||
	    !json_object_is_type(*messages, json_type_array) ||
	    json_object_array_length(*messages) > MESSAGES_MAX)
		return false;
	for (i = 0; i < json_object_array_length(*messages); i++) {
		message = json_object_array_get_idx(*messages, i);
		if (!json_object_is_type(message, json_type_object) ||
		    !json_object_object_get_ex(message, "role", &part) ||
		    !json_object_is_type(part, json_type_string) ||
		    !json_object_object_get_ex(message, "content", &part) ||
		    !json_object_is_type(part, json_type_string))
			return false;
	}
	return true;
}

static int load(struct chat *c, const char *path)
{
	struct json_tokener *reader = json_tokener_new();
	struct json_object *doc = NULL, *messages = NULL;
	char *text = NULL, *kv;
	size_t bytes = 0;
	int ret, err;

	if (!reader || !strcmp(path, "-"))
		ret = ctl_fail(c->ctl, CTL_USAGE, 0, path, "is no file");
	else
		ret = text_read(c->ctl, path, &text, &bytes);
	if (reader)
		json_tokener_set_flags(reader, JSON_TOKENER_VALIDATE_UTF8);
	if (!ret && bytes <= INT32_MAX)
		doc = json_tokener_parse_ex(reader, text, (int)bytes);
	if (!ret && !is_conversation(doc, &messages))
		ret = ctl_fail(c->ctl, CTL_FAILED, -EBADMSG, path, "is no conversation of /save");
	if (!ret) {
		json_object_put(c->messages);
		c->messages = json_object_get(messages);
		kv = beside(path, ".kv");
		err = accel_generator_load(c->s->generator, kv);
		if (err && err != -ENOENT)
			ctl_note(c->ctl, "%s cannot be used, and is computed again: %s", kv,
				 strerror(-err));
		free(kv);
	}
	json_object_put(doc);
	json_tokener_free(reader);
	free(text);
	return ret;
}

static void stats(struct chat *c)
{
	struct accel_generator_info info = { .size = sizeof(info) };
	uint32_t tokens = c->last.prompt + c->last.count;
	struct json_object *line;

	accel_generator_get_info(c->s->generator, &info);
	if (!c->ctl->json) {
		fflush(stdout);
		fprintf(stderr, "conversation: %zu messages, %u tokens of %u; prompts: %llu tokens computed, %llu found; answers: %llu tokens\n",
			json_object_array_length(c->messages), tokens, info.context,
			(unsigned long long)info.prompt_tokens,
			(unsigned long long)info.shared_tokens,
			(unsigned long long)info.new_tokens);
		if (c->last.count)
			answer_note(&c->last);
		return;
	}
	line = ctl_schema(c->ctl);
	ctl_json_str(line, "event", "stats");
	ctl_json_uint(line, "messages", json_object_array_length(c->messages));
	ctl_json_uint(line, "tokens", tokens);
	ctl_json_uint(line, "context", info.context);
	ctl_json_uint(line, "prompt_tokens", info.prompt_tokens);
	ctl_json_uint(line, "shared_tokens", info.shared_tokens);
	ctl_json_uint(line, "new_tokens", info.new_tokens);
	ctl_json_uint(line, "used_pages", info.used_pages);
	ctl_json_uint(line, "pages", info.pages);
	ctl_json_print(c->ctl, line);
	fflush(stdout);
}

static int command(struct chat *c, char *line)
{
	char *arg = strchr(line, ' ');

	if (arg)
		*arg++ = 0;
	for (; arg && *arg == ' '; arg++)
		;
	if (!strcmp(line, "/save") || !strcmp(line, "/load")) {
		if (!arg || !*arg)
			return ctl_fail(c->ctl, CTL_USAGE, 0, line, "which file?");
		return line[1] == 's' ? save(c, arg) : load(c, arg);
	}
	if (arg && *arg)
		return ctl_fail(c->ctl, CTL_USAGE, 0, line, "takes nothing");
	if (!strcmp(line, "/reset")) {
		begin(c);
		answer_free(&c->last);
	} else if (!strcmp(line, "/stats")) {
		stats(c);
	} else if (!strcmp(line, "/quit")) {
		c->over = true;
		c->from = c->to;
	} else {
		return ctl_fail(c->ctl, CTL_USAGE, 0, line,
				"is none of /save FILE, /load FILE, /reset, /stats, /quit; a blank before it makes it text");
	}
	return CTL_OK;
}

/* --- the loop ---------------------------------------------------------------------------- */

static int talk(struct chat *c)
{
	char *line;
	int ret;

	for (;;) {
		/* An interrupt of the last answer does not apply to the next. */
		ctl_forget_interrupt();
		ret = next_line(c, &line);
		if (ret == CTL_INTERRUPTED || (!ret && !line))
			break;
		if (!ret && line[0] == '/')
			ret = command(c, line);
		else if (!ret && line[0])
			ret = answer(c, line[0] == ' ' && line[1] == '/' ? line + 1 : line);
		c->failed = ret ? ret : c->failed;
		/* A lost device, or an input that cannot be read, does not recover. */
		if (ret && (!line || ret == CTL_LOST || ret == CTL_TIMEOUT))
			return ret;
	}
	if (c->terminal && !c->ctl->json)
		puts("");
	return ret ? ret : c->terminal ? CTL_OK : c->failed;
}

int chat_run(struct speaker *s)
{
	struct chat c = { .s = s, .ctl = s->ctl, .now = time(NULL) };
	int ret = open_template(&c);

	c.terminal = isatty(STDIN_FILENO);
	begin(&c);
	if (!ret) {
		ret = ctl_catch_each_interrupt();
		ret = ret ? ctl_fail(s->ctl, CTL_FAILED, ret, NULL, "SIGINT cannot be caught") :
		      talk(&c);
	}
	answer_free(&c.last);
	json_object_put(c.messages);
	accel_chat_template_destroy(c.template);
	free(c.bos);
	free(c.eos);
	free(c.in);
	return ret;
}
