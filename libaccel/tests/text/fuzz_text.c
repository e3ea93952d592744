// SPDX-License-Identifier: MIT
/*
 * Tokenizers and templates for libFuzzer. Up to the first zero byte it is a tokenizer.json, or
 * a template if it does not begin with "{\"": what follows is the text, or the conversation.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <accel/chat.h>
#include <accel/tokenizer.h>

/* Reads all that a token stands for: what is not there shows under the sanitizer. */
static void touch_token(const struct accel_tokenizer *t, uint32_t id)
{
	struct accel_token_info info = { .size = sizeof(info) };
	uint64_t sum = 0;
	size_t i;

	if (accel_tokenizer_get_token(t, id, &info))
		return;
	for (i = 0; i < info.byte_count; i++)
		sum += info.bytes[i];
	if (sum == UINT64_MAX)
		abort();
}

static void tokenize(const char *json, size_t n, const char *text, size_t bytes)
{
	struct accel_encode_args a = ACCEL_ENCODE_ARGS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t;
	struct accel_token *v;
	uint32_t *ids;
	size_t count, i;
	char *back;

	if (accel_tokenizer_parse(json, n, &e, &t))
		return;
	a.text = text;
	a.bytes = bytes;
	a.flags = ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_PARSE_SPECIAL;
	if (!accel_tokenizer_encode(t, &a, &v, &count)) {
		ids = malloc((count + 1) * sizeof(*ids));
		for (i = 0; i < count; i++) {
			ids[i] = v[i].id;
			if (v[i].start > v[i].end || v[i].end > bytes)
				abort();
			touch_token(t, ids[i]);
		}
		if (!accel_tokenizer_decode(t, ids, count, 0, &back, NULL))
			free(back);
		free(ids);
		free(v);
	}
	accel_tokenizer_close(t);
}

static void write_chat(const char *text, size_t n, const char *messages)
{
	struct accel_chat_args a = ACCEL_CHAT_ARGS_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_chat_template *t;
	char *out;

	if (accel_chat_template_parse(text, n, &e, &t))
		return;
	a.messages = *messages ? messages : "[{\"role\":\"user\",\"content\":\"a b\"}]";
	a.tools = "[{\"name\":\"f\"}]";
	a.bos = "<s>";
	a.now = 1;
	a.flags = ACCEL_CHAT_ADD_GENERATION_PROMPT;
	if (!accel_chat_template_apply(t, &a, &e, &out, NULL))
		free(out);
	accel_chat_template_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	size_t n;

	if (size)
		memcpy(copy, data, size);
	copy[size] = 0;
	n = strlen(copy);
	if (n > 1 && copy[0] == '{' && copy[1] == '"')
		tokenize(copy, n, copy + n + (n < size), size - n - (n < size));
	else
		write_chat(copy, n, n < size ? copy + n + 1 : "");
	free(copy);
	return 0;
}
