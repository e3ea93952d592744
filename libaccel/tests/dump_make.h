/* SPDX-License-Identifier: MIT */
/* A core dump to be read: a job of two GEMMs, the second of which wrote where nothing is mapped. */
#ifndef LIBACCEL_TESTS_DUMP_MAKE_H
#define LIBACCEL_TESTS_DUMP_MAKE_H

#include <stddef.h>

#define DUMP_MAKE_MAX		65536
#define DUMP_MAKE_ADDR		0x7f0000123000ull
#define DUMP_MAKE_BOOTTIME	5000000000ull

/**
 * dump_section - append a section
 * @buf: dump
 * @at: bytes of it; moved behind the section
 * @type: &enum uma_dump_type
 * @head: first part
 * @head_size: bytes of it
 * @rest: second part, or NULL
 * @rest_size: bytes of it
 */
void dump_section(unsigned char *buf, size_t *at, unsigned int type, const void *head,
		  size_t head_size, const void *rest, size_t rest_size);

/**
 * dump_begin - write the header
 * @buf: dump of DUMP_MAKE_MAX bytes
 *
 * Return: bytes of it.
 */
size_t dump_begin(unsigned char *buf);

/**
 * dump_end - note the size in the header
 * @buf: dump
 * @size: bytes of it
 */
void dump_end(unsigned char *buf, size_t size);

/**
 * dump_make - a dump with a section of each type, and one of an unknown type
 * @buf: of DUMP_MAKE_MAX bytes
 *
 * Return: bytes of it.
 */
size_t dump_make(unsigned char *buf);

#endif /* LIBACCEL_TESTS_DUMP_MAKE_H */
