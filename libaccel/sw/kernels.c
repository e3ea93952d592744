// SPDX-License-Identifier: MIT
/*
 * Kernel levels that a CPU can run. The fastest one is used unless a name is given; unknown
 * names, and levels that this CPU cannot run, are rejected.
 *
 * A level is the instruction set of a family of processors. It always has all that its name
 * implies; extensions that its kernels can do without are used if the CPU has them.
 */
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#include "sw.h"

/**
 * struct level - a value of ACCEL_SW_KERNELS
 * @name: name
 * @get: the model's row kernels; NULL if the compiler does not support them
 * @need: FAST_* that the CPU must have
 * @may: FAST_* that are used if the CPU has them
 * @model: only the model's own kernels, as in the emulator in the kernel
 */
struct level {
	const char *name;
	const struct uma_kernels *(*get)(void);
	uint32_t need;
	uint32_t may;
	bool model;
};

#if defined(__x86_64__)

/* Built if the compiler supports them; others are skipped. */
const struct uma_kernels *uma_kernels_avx2(void);
const struct uma_kernels *uma_kernels_avx512(void);
#pragma weak uma_kernels_avx2
#pragma weak uma_kernels_avx512

#define BIT_OF(r, n)		((r) >> (n) & 1)
/* XCR0: state that the system saves in a context switch */
#define XCR0_AVX		0x6u
#define XCR0_AVX512		0xe6u
#define XCR0_AMX		0x60000u
/* Tile data are large: a process must request permission to use them. */
#define ARCH_REQ_XCOMP_PERM	0x1023
#define XFEATURE_XTILEDATA	18

static uint32_t saved_state(void)
{
	uint32_t lo, hi;

	__asm__ volatile ("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return lo;
}

static uint32_t cpu_isa(void)
{
	unsigned int a, b, c, d, a1, b1, c1, d1, xcr0;
	uint32_t isa = 0;

	/* XGETBV, AVX, FMA, F16C */
	if (!__get_cpuid(1, &a, &b, &c, &d) || !BIT_OF(c, 27) || !BIT_OF(c, 28) ||
	    !BIT_OF(c, 12) || !BIT_OF(c, 29))
		return 0;
	xcr0 = saved_state();
	if ((xcr0 & XCR0_AVX) != XCR0_AVX || !__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
	    !BIT_OF(b, 5))
		return 0;
	isa = FAST_AVX2;
	/* Leaf 7 has the number of its subleaves. */
	if (!a || !__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1))
		a1 = 0;
	if (BIT_OF(a1, 4))
		isa |= FAST_AVXVNNI;
	if ((xcr0 & XCR0_AVX512) != XCR0_AVX512 || !BIT_OF(b, 16) || !BIT_OF(b, 17) ||
	    !BIT_OF(b, 30) || !BIT_OF(b, 31))
		return isa;
	isa |= FAST_AVX512;
	if (BIT_OF(c, 11))
		isa |= FAST_VNNI;
	if (BIT_OF(a1, 5))
		isa |= FAST_BF16;
	if (BIT_OF(d, 23))
		isa |= FAST_FP16;
	if ((xcr0 & XCR0_AMX) != XCR0_AMX || !BIT_OF(d, 24))
		return isa;
	if (BIT_OF(d, 25))
		isa |= FAST_AMX_INT8;
	if (BIT_OF(d, 22))
		isa |= FAST_AMX_BF16;
	return isa;
}

/* Request permission for the instruction sets of a level; repeating it does no harm. */
static bool permitted(uint32_t isa)
{
	return !(isa & (FAST_AMX_INT8 | FAST_AMX_BF16)) ||
	       !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
}

#elif defined(__aarch64__)

static uint32_t cpu_isa(void)
{
	const unsigned long cap = getauxval(AT_HWCAP);

	return (cap & HWCAP_ASIMD ? FAST_NEON : 0) | (cap & HWCAP_ASIMDDP ? FAST_DOTPROD : 0);
}

#else

static uint32_t cpu_isa(void)
{
	return 0;
}

#endif

#if !defined(__x86_64__)
static bool permitted(uint32_t isa)
{
	(void)isa;
	return true;
}
#endif

#define ISA_AVX512	(FAST_AVX2 | FAST_AVX512)
#define ISA_VNNI	(ISA_AVX512 | FAST_VNNI)
#define ISA_BF16	(ISA_VNNI | FAST_BF16)
#define ISA_AMX		(ISA_BF16 | FAST_AMX_INT8 | FAST_AMX_BF16)

const struct uma_kernels *sw_kernels(const char *name, const char **chosen, uint32_t *isa)
{
	const struct level levels[] = {
#if defined(__x86_64__)
		{ "amx", uma_kernels_avx512, ISA_AMX, FAST_FP16, false },
		{ "avx512-bf16", uma_kernels_avx512, ISA_BF16, FAST_FP16, false },
		{ "avx512-vnni", uma_kernels_avx512, ISA_VNNI, 0, false },
		{ "avx512", uma_kernels_avx512, ISA_AVX512, 0, false },
		{ "avx2", uma_kernels_avx2, FAST_AVX2, 0, false },
		{ "model-avx2", uma_kernels_avx2, FAST_AVX2, 0, true },
#elif defined(__aarch64__)
		/* The compiler vectorises the model's portable kernels with NEON. */
		{ "neon-dotprod", uma_kernels_portable, FAST_NEON | FAST_DOTPROD, 0, false },
		{ "neon", uma_kernels_portable, FAST_NEON, 0, false },
#endif
		{ "portable", uma_kernels_portable, 0, 0, true },
	};
	const uint32_t have = cpu_isa();
	size_t i;

	for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		const struct level *l = &levels[i];

		if (name && strcmp(name, l->name))
			continue;
		if (!l->get || l->need & ~have || !permitted(l->need))
			continue;
		*chosen = l->name;
		*isa = l->model ? 0 : l->need | (l->may & have);
		return l->get();
	}
	return NULL;
}
