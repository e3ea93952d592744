/* SPDX-License-Identifier: MIT */
/*
 * The classes that fast.c tries.
 */
#ifndef LIBACCEL_SW_FAST_CLASSES_H
#define LIBACCEL_SW_FAST_CLASSES_H

#include "fast.h"

#endif /* LIBACCEL_SW_FAST_CLASSES_H */
