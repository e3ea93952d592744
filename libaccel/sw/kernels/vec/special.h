/* SPDX-License-Identifier: MIT */
/* Functions that are compiled for each set of their constant arguments, and their loops. */
#ifndef LIBACCEL_SW_FAST_SPECIAL_H
#define LIBACCEL_SW_FAST_SPECIAL_H

#define SPECIAL_PRAGMA(text)	_Pragma(#text)

/*
 * With sanitizers compilers take minutes for the checks of all that is unrolled in each copy. One
 * function with loops makes the same accesses, with the same checks. Without the constants they
 * do not see that what is read in one case has been set in the same.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define SPECIAL			static __attribute__((noinline))
#define SPECIAL_LOOP(times)	SPECIAL_PRAGMA(GCC unroll 1)
#else
#define SPECIAL			static inline __attribute__((always_inline))
#define SPECIAL_LOOP(times)	SPECIAL_PRAGMA(GCC unroll times)
#endif

#endif /* LIBACCEL_SW_FAST_SPECIAL_H */
