// SPDX-License-Identifier: MIT
/*
 * Weak, empty definitions of all classes in classes.h, for processors without kernels: fast.c
 * skips classes without prepare(). Classes that are built override these.
 */
#include "fast.h"

/* Turns every declaration of the header into a definition. */
#define extern __attribute__((weak))
#include "classes.h"
