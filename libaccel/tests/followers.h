/* SPDX-License-Identifier: MIT */
/*
 * What comes behind lists of tokens, kept: slow searches ask again and again for what the model as
 * a whole says of the same list.
 */
#ifndef LIBACCEL_TESTS_FOLLOWERS_H
#define LIBACCEL_TESTS_FOLLOWERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/**
 * struct followers - a list, and what comes behind it
 * @next: another list
 * @count: of @tokens
 * @tokens: the list
 * @logprobs: by token: logarithm of its probability
 */
struct followers {
	struct followers *next;
	uint32_t count;
	uint32_t *tokens;
	double *logprobs;
};

static inline bool followers_find(const struct followers *f, const void *tokens, uint32_t count,
				  double *logprobs, uint32_t vocabulary)
{
	while (f && (f->count != count || memcmp(f->tokens, tokens, count * sizeof(*f->tokens))))
		f = f->next;
	if (f)
		memcpy(logprobs, f->logprobs, vocabulary * sizeof(*logprobs));
	return f;
}

static inline void followers_keep(struct followers **all, const void *tokens, uint32_t count,
				  const double *logprobs, uint32_t vocabulary)
{
	struct followers *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->count = count;
	f->tokens = malloc(count * sizeof(*f->tokens));
	f->logprobs = malloc(vocabulary * sizeof(*logprobs));
	assert_non_null(f->tokens);
	assert_non_null(f->logprobs);
	memcpy(f->tokens, tokens, count * sizeof(*f->tokens));
	memcpy(f->logprobs, logprobs, vocabulary * sizeof(*logprobs));
	f->next = *all;
	*all = f;
}

static inline void followers_drop(struct followers **all)
{
	struct followers *f;

	while ((f = *all)) {
		*all = f->next;
		free(f->tokens);
		free(f->logprobs);
		free(f);
	}
}

#endif /* LIBACCEL_TESTS_FOLLOWERS_H */
