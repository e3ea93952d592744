/* SPDX-License-Identifier: MIT */
/*
 * The mode of floating-point arithmetic belongs to a thread, and threads come with
 * whatever their program set: other rounding, subnormal numbers as zeros, traps. Results
 * do not depend on it, so it is set where a thread enters the library's work: first of all
 * in every public function that computes with such numbers, reads or writes them as digits.
 */
#ifndef LIBACCEL_FPMODE_H
#define LIBACCEL_FPMODE_H

#include <stdint.h>

/*
 * A mode, with the flags of exceptions: of x86 MXCSR, then control word and flags of the
 * x87, by whose rounding a C library turns digits into numbers; of aarch64 FPCR, then FPSR.
 * The default: to nearest, subnormal numbers kept, no traps, no exceptions yet.
 */
#if defined(__x86_64__)
#define FP_MODE_DEFAULT	0x37f00001f80ull
/* What is no flag of an exception */
#define FP_MODE_CONTROL	0xffff0000ffc0ull
#else
#define FP_MODE_DEFAULT	0ull
#define FP_MODE_CONTROL	0xffffffffull
#endif

static inline uint64_t fp_mode_get(void)
{
#if defined(__x86_64__)
	uint16_t control, status;
	uint32_t mode;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2"
			 : "=m"(mode), "=m"(control), "=m"(status) : : "memory");
	return mode | (uint64_t)control << 32 | (uint64_t)(status & 0x3f) << 48;
#elif defined(__aarch64__)
	uint64_t mode, flags;

	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(mode), "=r"(flags) : : "memory");
	return mode | flags << 32;
#else
	return FP_MODE_DEFAULT;
#endif
}

/* The compiler moves no arithmetic across it: the mode is not among what it knows of. */
static inline void fp_mode_set(uint64_t mode)
{
#if defined(__x86_64__)
	const uint32_t word = (uint32_t)mode;
	struct {
		uint16_t control, pad, status, more[11];
	} x87;

	__asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory");
	/* Nearly always it is what it has to be, and setting it takes long. */
	if ((fp_mode_get() ^ mode) >> 32) {
		__asm__ volatile("fnstenv %0" : "=m"(x87) : : "memory");
		x87.control = (uint16_t)(mode >> 32);
		x87.status = (uint16_t)((x87.status & ~0x3f) | (mode >> 48 & 0x3f));
		__asm__ volatile("fldenv %0" : : "m"(x87) : "memory");
	}
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
			 : : "r"(mode & UINT32_MAX), "r"(mode >> 32) : "memory");
#else
	(void)mode;
#endif
}

/* Nearly all threads have flags of exceptions: they change nothing, and come back at the end. */
static inline uint64_t fp_mode_enter(void)
{
	const uint64_t mode = fp_mode_get();

	if ((mode ^ FP_MODE_DEFAULT) & FP_MODE_CONTROL)
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

/*
 * The same around kernels, which have no digits: on x86 no arithmetic of theirs is the x87's,
 * whose words stay as they are, since reading its flags takes as long as a small job.
 */
#if defined(__x86_64__)
static inline uint32_t fp_kernels_enter(void)
{
	const uint32_t control = (uint32_t)FP_MODE_CONTROL, word = (uint32_t)FP_MODE_DEFAULT;
	uint32_t mode;

	__asm__ volatile("stmxcsr %0" : "=m"(mode) : : "memory");
	if ((mode ^ word) & control)
		__asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory");
	return mode;
}

static inline void fp_kernels_leave(const uint32_t *mode)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(*mode) : "memory");
}

#define FP_KERNELS_SCOPE() \
	const uint32_t fp_kernels_of_caller __attribute__((cleanup(fp_kernels_leave), unused)) = \
		fp_kernels_enter()
#else
#define FP_KERNELS_SCOPE() FP_MODE_SCOPE()
#endif

#endif /* LIBACCEL_FPMODE_H */
