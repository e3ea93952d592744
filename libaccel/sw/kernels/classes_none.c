// SPDX-License-Identifier: MIT
/*
 * Classes that have no kernels for this processor: each name of classes.h, with
 * nothing in it, so that they are passed over. What is built in spite of this comes
 * before, for these are weak.
 */
#include "fast.h"

/* Every declaration of the header becomes a definition. */
#define extern __attribute__((weak))
#include "classes.h"
