// SPDX-License-Identifier: MIT
/*
 * The library's mode of floating-point arithmetic is what it says whatever a thread comes
 * with, for the processor and for the C library's digits, and the thread has its own again
 * afterwards. Looks inside, and needs no library: it is built for other processors, too.
 */
#include <fenv.h>
#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/model/tests/tap.h"
#include "libaccel/core/fpmode.h"

#if defined(__x86_64__)
/* Zeros for subnormal numbers, in and out */
#define FLUSH	0x8040u
#else
#define FLUSH	(1u << 24)
#endif

/* The compiler does not know what it is. */
static double number(double x)
{
	__asm__ volatile("" : "+m"(x));
	return x;
}

/* To nearest, ties to even, and nothing flushed? */
__attribute__((noinline)) static bool sums_as_they_should(void)
{
	const double one = number(1), half_unit = number(DBL_EPSILON / 2);
	const float least = (float)number(FLT_MIN), half = (float)number(0.5);

	return one + half_unit == 1 && -one - half_unit == -1 && least * half > 0;
}

/* Digits, too? */
__attribute__((noinline)) static bool as_it_should(void)
{
	char text[16];

	snprintf(text, sizeof(text), "%.1f|%.0f", 0.25, 1.5);
	return sums_as_they_should() && strtod("0.1", NULL) == 0.1 &&
	       strtod("-0.3", NULL) == -0.3 && strtof("16777217", NULL) == 16777216 &&
	       !strcmp(text, "0.2|2");
}

/* What raises all flags that the default mode leaves without a trap */
__attribute__((noinline)) static bool in_scope(void)
{
	FP_MODE_SCOPE();
	const bool right = as_it_should();

	feraiseexcept(FE_DIVBYZERO | FE_INEXACT | FE_INVALID | FE_OVERFLOW);
	return right;
}

/* Sums raise a flag: they are not exact. */
__attribute__((noinline)) static bool in_kernels_scope(void)
{
	FP_KERNELS_SCOPE();

	return sums_as_they_should();
}

static void check(const char *name, int rounding, uint64_t more)
{
	const uint64_t before = fp_mode_get();
	bool changed, right, same, kernels;
	uint64_t mode;

	fesetround(rounding);
	fp_mode_set(fp_mode_get() | more);
	feclearexcept(FE_ALL_EXCEPT);
	feraiseexcept(FE_UNDERFLOW);
	mode = fp_mode_get();
	right = in_scope();
	same = fp_mode_get() == mode && fetestexcept(FE_ALL_EXCEPT) == FE_UNDERFLOW;
	kernels = in_kernels_scope();
	kernels = kernels && fp_mode_get() == mode;
	changed = as_it_should();
	fp_mode_set(before);
	tap_ok(right, "%s changes nothing", name);
	tap_ok(same, "%s is there afterwards, with its flags", name);
	tap_ok(kernels, "%s changes nothing around kernels, and is there afterwards", name);
	tap_ok(changed == (rounding == FE_TONEAREST && !more), "%s would have changed something",
	       name);
}

int main(void)
{
	fp_mode_set(FP_MODE_DEFAULT);
	tap_ok(fp_mode_get() == FP_MODE_DEFAULT && fegetround() == FE_TONEAREST && as_it_should(),
	       "the default mode");
	check("the default mode", FE_TONEAREST, 0);
	check("upward", FE_UPWARD, 0);
	check("downward", FE_DOWNWARD, 0);
	check("toward zero", FE_TOWARDZERO, 0);
	check("flushing", FE_TONEAREST, FLUSH);
	check("flushing upward", FE_UPWARD, FLUSH);
	return tap_done();
}
