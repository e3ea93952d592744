/* SPDX-License-Identifier: MIT */
/*
 * Small files of the kernel: read whole, believed in nothing.
 */
#ifndef ACCELCTL_KFILE_H
#define ACCELCTL_KFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** KFILE_MAX: most bytes of a file that are read */
#define KFILE_MAX	(64u << 20)

/**
 * kfile_read - read a file of any apparent size
 * @path: file
 * @text: out: its bytes, terminated by NUL; the caller frees it
 *
 * Return: 0; a negative errno; -EFBIG above KFILE_MAX; -EBADMSG it has a NUL.
 */
int kfile_read(const char *path, char **text);

/**
 * kfile_line - first line of a file, without its end
 * @dir: directory
 * @name: file in it
 * @line: out: the line, cleaned by text_clean()
 * @size: bytes of @line
 *
 * Return: 0; a negative errno; -ENAMETOOLONG it does not fit.
 */
int kfile_line(const char *dir, const char *name, char *line, size_t size);

/**
 * kfile_number - the one number that a file holds
 * @dir: directory
 * @name: file in it
 * @value: out; untouched on failure
 *
 * Return: 0; a negative errno; -EBADMSG it holds something else.
 */
int kfile_number(const char *dir, const char *name, int64_t *value);

/**
 * kfile_write - write a text with one system call
 * @dir: directory
 * @name: existing file in it
 * @text: text
 *
 * Return: 0; a negative errno.
 */
int kfile_write(const char *dir, const char *name, const char *text);

/**
 * number_parse - parse a decimal number
 * @text: text
 * @value: out
 * @end: out: the rest of the text
 *
 * Signs and leading blanks are not accepted.
 *
 * Return: true if there is a valid number.
 */
bool number_parse(const char *text, uint64_t *value, const char **end);

/**
 * text_clean - make untrusted text safe for terminals and JSON
 * @text: control characters and invalid UTF-8 are replaced by question marks
 *
 * Return: @text.
 */
char *text_clean(char *text);

#endif /* ACCELCTL_KFILE_H */
