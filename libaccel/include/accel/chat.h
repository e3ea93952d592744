/* SPDX-License-Identifier: MIT */
/*
 * Chat templates: the format of conversations that a model expects. Part of libaccel-models.
 */
#ifndef ACCEL_CHAT_H
#define ACCEL_CHAT_H

#include <stddef.h>
#include <stdint.h>
#include <accel/error.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_chat_template;

/**
 * accel_chat_template_parse - parse a chat template
 * @text: template in Jinja, as in tokenizer_config.json and GGUF files
 * @bytes: length of @text
 * @error: filled if it fails, may be NULL
 * @chat: out
 *
 * A template may be used by several threads at once.
 *
 * Return: 0; -EBADMSG not a template; -E2BIG too long, or nested too deep; -EINVAL NULL; -ENOMEM.
 */
ACCEL_API int accel_chat_template_parse(const char *text, size_t bytes, struct accel_error *error,
					struct accel_chat_template **chat);

/**
 * accel_chat_template_destroy - release a template
 * @chat: template, or NULL
 */
ACCEL_API void accel_chat_template_destroy(struct accel_chat_template *chat);

/**
 * enum accel_chat_flags - options of accel_chat_template_apply()
 * @ACCEL_CHAT_ADD_GENERATION_PROMPT: end with the prompt for an answer of the model
 */
enum accel_chat_flags {
	ACCEL_CHAT_ADD_GENERATION_PROMPT = 1 << 0
};

/**
 * struct accel_chat_args - a conversation
 */
struct accel_chat_args {
	/** @size: sizeof(struct accel_chat_args) */
	uint32_t size;
	/** @flags: &enum accel_chat_flags */
	uint32_t flags;
	/** @messages: JSON: list of objects with "role" and "content" */
	const char *messages;
	/** @tools: JSON: list of descriptions of functions, or NULL */
	const char *tools;
	/** @variables: JSON: object with further variables of the template, or NULL */
	const char *variables;
	/** @bos: text of the token that begins texts, or NULL */
	const char *bos;
	/** @eos: text of the token that ends texts, or NULL */
	const char *eos;
	/** @now: current time, seconds since 1970, UTC; 0: that of the clock */
	int64_t now;
};

/** ACCEL_CHAT_ARGS_INIT: a conversation to be filled in */
#define ACCEL_CHAT_ARGS_INIT { sizeof(struct accel_chat_args), 0, NULL, NULL, NULL, NULL, NULL, 0 }

/**
 * accel_chat_template_apply - apply a template to a conversation
 * @chat: template
 * @args: conversation
 * @error: filled if it fails, also with errors that the template raises; may be NULL
 * @text: out: terminated, to be freed with free()
 * @bytes: out: its length, may be NULL
 *
 * Return: 0; -EBADMSG the arguments are not JSON; -EPROTO the template raised an error, or is
 * invalid for these arguments; -E2BIG it takes too long, or writes too much; -EINVAL NULL,
 * size or flags; -ENOMEM.
 */
ACCEL_API int accel_chat_template_apply(const struct accel_chat_template *chat,
					const struct accel_chat_args *args,
					struct accel_error *error, char **text, size_t *bytes);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_CHAT_H */
