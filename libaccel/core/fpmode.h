/* SPDX-License-Identifier: MIT */
/*
 * The mode of floating-point arithmetic belongs to a thread, and threads come with
 * whatever their program set: other rounding, subnormal numbers as zeros, traps. Results
 * do not depend on it, so it is set where a thread enters the library's work.
 */
#ifndef LIBACCEL_FPMODE_H
#define LIBACCEL_FPMODE_H

#include <stdint.h>

/* To nearest, subnormal numbers kept, no traps, no exceptions yet. */
#if defined(__x86_64__)
#define FP_MODE_DEFAULT	0x1f80u
#else
#define FP_MODE_DEFAULT	0u
#endif

static inline uint64_t fp_mode_get(void)
{
#if defined(__x86_64__)
	uint32_t mode;

	__asm__ volatile("stmxcsr %0" : "=m"(mode) : : "memory");
	return mode;
#elif defined(__aarch64__)
	uint64_t mode;

	__asm__ volatile("mrs %0, fpcr" : "=r"(mode));
	return mode;
#else
	return FP_MODE_DEFAULT;
#endif
}

/* The compiler moves no arithmetic across it: the mode is not among what it knows of. */
static inline void fp_mode_set(uint64_t mode)
{
#if defined(__x86_64__)
	const uint32_t word = (uint32_t)mode;

	__asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
#else
	(void)mode;
#endif
}

static inline uint64_t fp_mode_enter(void)
{
	const uint64_t mode = fp_mode_get();

	if (mode != FP_MODE_DEFAULT)
		fp_mode_set(FP_MODE_DEFAULT);
	return mode;
}

static inline void fp_mode_leave(const uint64_t *mode)
{
	if (fp_mode_get() != *mode)
		fp_mode_set(*mode);
}

#define FP_MODE_CLEANUP	__attribute__((cleanup(fp_mode_leave), unused))
/* From here to the end of the block: the library's mode; then the caller's, flags included. */
#define FP_MODE_SCOPE() \
	const uint64_t fp_mode_of_caller FP_MODE_CLEANUP = fp_mode_enter()

#endif /* LIBACCEL_FPMODE_H */
