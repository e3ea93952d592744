/* SPDX-License-Identifier: MIT */
/*
 * What an errno means, for both libraries.
 */
#ifndef LIBACCEL_ERRNO_TEXT_H
#define LIBACCEL_ERRNO_TEXT_H

#include <string.h>

/**
 * errno_text - what an errno means
 * @code: positive errno
 *
 * For any thread, and in English: of glibc strerror() asks the locale, other C libraries have
 * nothing but strerror().
 *
 * Return: static string.
 */
static inline const char *errno_text(int code)
{
#if defined(__GLIBC__)
	const char *text = strerrordesc_np(code);
#else
	const char *text = strerror(code);
#endif

	return text ? text : "unknown error";
}

#endif /* LIBACCEL_ERRNO_TEXT_H */
