// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Floating point in the kernel: the one place that opens a section.
 *
 * A section may not sleep, nor be nested, and delays everybody else on the
 * processor: it runs with preemption off, on newer kernels with softirqs off
 * too. Its length is bounded by the model's step, and watched.
 */
#include <linux/fpu.h>
#include <linux/preempt.h>
#include <linux/timekeeping.h>

#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#endif

#include "emu_device.h"
#include "../model/uma_kernels.h"

/**
 * emu_fpu_init - is there floating point in this kernel?
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int emu_fpu_init(void)
{
	return kernel_fpu_available() ? 0 : -EOPNOTSUPP;
}

/**
 * emu_fpu_run - run a function in a floating-point section
 * @engine: engine that it works for
 * @fn: function: does not sleep, allocate or open a section
 * @arg: its argument
 */
void emu_fpu_run(struct emu_engine *engine, void (*fn)(void *arg), void *arg)
{
	u64 begin, took;

	kernel_fpu_begin();
	begin = ktime_get_mono_fast_ns();
	fn(arg);
	took = ktime_get_mono_fast_ns() - begin;
	kernel_fpu_end();

	/* For debugfs only; nobody else writes them. */
	engine->fpu_sections++;
	engine->fpu_ns += took;
	if (took > engine->fpu_max_ns)
		engine->fpu_max_ns = took;
}

#ifdef CONFIG_X86_64
static bool emu_fpu_has_avx2(void)
{
	return boot_cpu_has(X86_FEATURE_AVX2) && boot_cpu_has(X86_FEATURE_FMA) &&
	       boot_cpu_has(X86_FEATURE_F16C) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}
#else
static const struct uma_kernels *uma_kernels_avx2(void)
{
	return NULL;
}

static bool emu_fpu_has_avx2(void)
{
	return false;
}
#endif

/**
 * emu_fpu_kernels - the inner kernels that suit this processor
 *
 * Return: a static table.
 */
const struct uma_kernels *emu_fpu_kernels(void)
{
	return emu_fpu_has_avx2() ? uma_kernels_avx2() : uma_kernels_portable();
}

/**
 * emu_fpu_kernels_name - their name
 *
 * Return: a static string.
 */
const char *emu_fpu_kernels_name(void)
{
	return emu_fpu_has_avx2() ? "avx2" : "baseline";
}
