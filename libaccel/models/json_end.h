/* SPDX-License-Identifier: MIT */
/*
 * Where a JSON document ends.
 */
#ifndef LIBACCEL_MODELS_JSON_END_H
#define LIBACCEL_MODELS_JSON_END_H

#include <stdbool.h>
#include <string.h>
#include <json-c/json.h>

/* Is there nothing but blanks behind what was parsed? */
static inline bool json_is_end(struct json_tokener *tok, const void *text, size_t n)
{
	const char *p = text;
	size_t at = json_tokener_get_parse_end(tok);

	while (at < n && p[at] && strchr(" \t\r\n", p[at]))
		at++;
	return at >= n;
}

#endif /* LIBACCEL_MODELS_JSON_END_H */
