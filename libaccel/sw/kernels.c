// SPDX-License-Identifier: MIT
/*
 * Which inner kernels a CPU can run. The fastest are taken unless a name is
 * asked for; a name that is unknown or that this CPU cannot run is refused.
 */
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "sw.h"

struct choice {
	const char *name;
	const struct uma_kernels *(*get)(void);
	int (*can)(void);
	/* FAST_* of the level */
	uint32_t isa;
};

#if defined(__x86_64__)

/* Built where the compiler can; missing ones are skipped. */
const struct uma_kernels *uma_kernels_avx2(void);
const struct uma_kernels *uma_kernels_avx512(void);
#pragma weak uma_kernels_avx2
#pragma weak uma_kernels_avx512

/* Not every compiler's __builtin_cpu_supports() knows this one. */
static int has_f16c(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static int can_avx2(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       has_f16c();
}

static int can_avx512(void)
{
	return can_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl");
}

static int can_vnni(void)
{
	return can_avx512() && __builtin_cpu_supports("avx512vnni");
}

static int can_bf16(void)
{
	return can_vnni() && __builtin_cpu_supports("avx512bf16");
}

#endif

static int can_always(void)
{
	return 1;
}

#define ISA_AVX512	(FAST_AVX2 | FAST_AVX512)
#define ISA_VNNI	(ISA_AVX512 | FAST_VNNI)

const struct uma_kernels *sw_kernels(const char *name, const char **chosen, uint32_t *isa)
{
	const struct choice choices[] = {
#if defined(__x86_64__)
		{ "avx512-bf16", uma_kernels_avx512, can_bf16, ISA_VNNI | FAST_BF16 },
		{ "avx512-vnni", uma_kernels_avx512, can_vnni, ISA_VNNI },
		{ "avx512", uma_kernels_avx512, can_avx512, ISA_AVX512 },
		{ "avx2", uma_kernels_avx2, can_avx2, FAST_AVX2 },
#endif
		{ "portable", uma_kernels_portable, can_always, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		if (name && strcmp(name, choices[i].name))
			continue;
		if (!choices[i].get || !choices[i].can())
			continue;
		*chosen = choices[i].name;
		*isa = choices[i].isa;
		return choices[i].get();
	}
	return NULL;
}
