/* SPDX-License-Identifier: MIT */
/*
 * Allocations are counted, those of the libraries too, and one of them may be refused: in the one
 * file of a test that includes it.
 */
#ifndef LIBACCEL_TESTS_COUNTED_H
#define LIBACCEL_TESTS_COUNTED_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* How many there were, which of them is refused (0: none), and how many are not yet given back */
static atomic_uint allocations __attribute__((unused)), refused_allocation __attribute__((unused));
static atomic_int held_allocations __attribute__((unused));

/* Those of a run of a state that has seen its dimensions, one job of the in-process device */
#define FENCES	1

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTED	1
/* Hidden ones would be the test's alone. */
#pragma GCC visibility push(default)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

static inline bool is_refused(void)
{
	if (atomic_fetch_add(&allocations, 1) + 1 != atomic_load(&refused_allocation))
		return false;
	errno = ENOMEM;
	return true;
}

static inline void *is_held(void *p)
{
	atomic_fetch_add(&held_allocations, !!p);
	return p;
}

void *malloc(size_t size)
{
	return is_refused() ? NULL : is_held(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : is_held(__libc_calloc(count, size));
}

/* One that is nothing afterwards was given back. */
void *realloc(void *p, size_t size)
{
	if (is_refused())
		return NULL;
	if (p && !size)
		atomic_fetch_sub(&held_allocations, 1);
	return p ? __libc_realloc(p, size) : is_held(__libc_realloc(p, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return is_refused() ? NULL : is_held(__libc_memalign(alignment, size));
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
	*p = aligned_alloc(alignment, size);
	return *p ? 0 : ENOMEM;
}

void free(void *p)
{
	atomic_fetch_sub(&held_allocations, !!p);
	__libc_free(p);
}

#pragma GCC visibility pop
#else
#define COUNTED	0
#endif

#endif /* LIBACCEL_TESTS_COUNTED_H */
