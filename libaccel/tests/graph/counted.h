/* SPDX-License-Identifier: MIT */
/*
 * Allocations are counted, those of the libraries too: in the one file of a test that includes it.
 */
#ifndef LIBACCEL_TESTS_COUNTED_H
#define LIBACCEL_TESTS_COUNTED_H

#include <stdatomic.h>
#include <stdlib.h>

static atomic_uint allocations;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTED	1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_realloc(p, size);
}
#else
#define COUNTED	0
#endif

#endif /* LIBACCEL_TESTS_COUNTED_H */
