// SPDX-License-Identifier: MIT
/*
 * tokenize
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <accel/tokenizer.h>

#include "text.h"

/* Bytes that are no print are shown by their numbers, in text; JSON has its own way. */
static void show(const char *s, size_t n)
{
	for (; n; n--, s++) {
		unsigned char c = (unsigned char)*s;

		if (c < ' ' || c == 0x7f)
			printf("\\x%02x", c);
		else
			putchar(c);
	}
}

static void tell(struct ctl *ctl, const struct accel_tokenizer *t, const struct accel_token *v,
		 size_t n)
{
	struct accel_token_info info = { .size = sizeof(info) };
	struct json_object *doc = ctl->json ? ctl_schema(ctl) : NULL, *list, *o;
	size_t i;

	list = doc ? ctl_json_arr(doc, "tokens") : NULL;
	for (i = 0; i < n; i++) {
		if (accel_tokenizer_get_token(t, v[i].id, &info))
			continue;
		if (!doc) {
			printf("%8u %8u-%-8u ", v[i].id, v[i].start, v[i].end);
			show(info.text, info.text_bytes);
			puts(v[i].flags & ACCEL_TOKEN_SPECIAL ? "  special" : "");
			continue;
		}
		o = ctl_json_obj(list, NULL);
		ctl_json_uint(o, "id", v[i].id);
		ctl_json_uint(o, "start", v[i].start);
		ctl_json_uint(o, "end", v[i].end);
		json_object_object_add(o, "text", json_object_new_string_len(info.text,
									     (int)info.text_bytes));
		ctl_json_bool(o, "special", v[i].flags & ACCEL_TOKEN_SPECIAL);
	}
	if (!doc)
		return;
	ctl_json_uint(doc, "count", n);
	ctl_json_print(ctl, doc);
}

static int encode(struct ctl *ctl, const struct text_opts *opts, const struct accel_tokenizer *t)
{
	struct accel_encode_args args = ACCEL_ENCODE_ARGS_INIT;
	struct accel_token *v = NULL;
	char *text = NULL;
	size_t n = 0;
	int ret = CTL_OK;

	args.flags = (opts->plain ? 0 : ACCEL_ENCODE_ADD_SPECIAL) |
		     (opts->special ? ACCEL_ENCODE_PARSE_SPECIAL : 0) | ACCEL_ENCODE_WHOLE;
	args.text = opts->prompt;
	args.bytes = opts->prompt ? strlen(opts->prompt) : 0;
	if (opts->file) {
		ret = text_read(ctl, opts->file, &text, &args.bytes);
		args.text = text;
	}
	if (!ret) {
		ret = accel_tokenizer_encode(t, &args, &v, &n);
		if (ret)
			ret = ctl_fail(ctl, ctl_status(ret), ret, NULL,
				       "the text has no tokens: %s",
				       strerror(-ret));
		else
			tell(ctl, t, v, n);
	}
	free(v);
	free(text);
	return ret;
}

static int decode(struct ctl *ctl, const struct text_opts *opts, const struct accel_tokenizer *t)
{
	struct json_object *doc;
	struct accel_token_info info = { .size = sizeof(info) };
	int32_t *ids = NULL;
	uint32_t count = 0, i;
	char *text = NULL;
	size_t n = 0;
	int ret = text_ids(ctl, "--decode", opts->ids, &ids, &count);

	for (i = 0; i < count && !ret; i++)
		if (accel_tokenizer_get_token(t, (uint32_t)ids[i], &info))
			ret = ctl_fail(ctl, CTL_USAGE, 0, "--decode", "there is no token %d",
				       ids[i]);
	if (!ret) {
		ret = accel_tokenizer_decode(t, (const uint32_t *)ids, count,
					     opts->plain ? ACCEL_DECODE_SKIP_SPECIAL : 0, &text,
						&n);
		if (ret)
			ret = ctl_fail(ctl, ctl_status(ret), ret, NULL,
				       "the tokens have no text: %s",
				       strerror(-ret));
	}
	if (!ret && ctl->json) {
		doc = ctl_schema(ctl);
		json_object_object_add(doc, "text", json_object_new_string_len(text, (int)n));
		ctl_json_print(ctl, doc);
	} else if (!ret) {
		fwrite(text, 1, n, stdout);
		putchar('\n');
	}
	free(text);
	free(ids);
	return ret;
}

int cmd_tokenize(struct ctl *ctl, void *data, const char *operand)
{
	const struct text_opts *opts = data;
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t;
	int ret;

	(void)operand;
	if (!opts->tokenizer)
		return ctl_fail(ctl, CTL_USAGE, 0, "--tokenizer", "a tokenizer is needed");
	if (!!opts->prompt + !!opts->file + !!opts->ids != 1)
		return ctl_fail(ctl, CTL_USAGE, 0, NULL, "one of --prompt, --file and --decode");
	ret = accel_tokenizer_open(opts->tokenizer, &error, &t);
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, opts->tokenizer, "%s", error.text);
	ret = opts->ids ? decode(ctl, opts, t) : encode(ctl, opts, t);
	accel_tokenizer_close(t);
	return ret;
}
