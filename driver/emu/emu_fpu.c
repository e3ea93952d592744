// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Floating point in the kernel: the only caller of kernel_fpu_begin().
 *
 * A section must not sleep or nest, and it delays everything else on the CPU: it
 * runs with preemption off, on newer kernels with softirqs off too. The size of
 * the model's steps bounds its duration, which debugfs shows.
 */
#include <linux/fpu.h>
#include <linux/timekeeping.h>

#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#endif

#include "emu_device.h"
#include "../model/uma_kernels.h"

/**
 * emu_fpu_init - check that the kernel can use floating point
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int emu_fpu_init(void)
{
	return kernel_fpu_available() ? 0 : -EOPNOTSUPP;
}

/**
 * emu_fpu_run - run a function in a floating-point section
 * @engine: engine, in its worker
 * @fn: function, which must not sleep, allocate or open a section
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

	/* No lock: only the worker writes them, and debugfs reads them. */
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
 * emu_fpu_kernels - the inner kernels for this CPU
 *
 * Return: a static table.
 */
const struct uma_kernels *emu_fpu_kernels(void)
{
	return emu_fpu_has_avx2() ? uma_kernels_avx2() : uma_kernels_portable();
}

/**
 * emu_fpu_kernels_name - name of the inner kernels for this CPU
 *
 * Return: a static string.
 */
const char *emu_fpu_kernels_name(void)
{
	return emu_fpu_has_avx2() ? "avx2" : "baseline";
}
