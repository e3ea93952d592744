/* SPDX-License-Identifier: MIT */
#ifndef LIBACCEL_HINT_H
#define LIBACCEL_HINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "uma_task.h"

/* Bits of a row must not depend on the number of rows; all other fields are 0 then */
#define FAST_HINT_REPRODUCIBLE	(1u << 0)

/**
 * struct fast_hint - how to divide an operation, found by tuning
 * @variant: kernel, numbered by the class
 * @mt: rows of a tile
 * @nt: columns of a tile
 * @kt: length of a block along K
 * @threads: maximum number of threads
 * @flags: FAST_HINT_REPRODUCIBLE; not tuned, but a property of the plan
 *
 * 0 leaves the choice to the class. A hint may come from a file: values that do not apply are
 * ignored, and no hint makes a result wrong.
 */
struct fast_hint {
	uint16_t variant;
	uint16_t mt;
	uint16_t nt;
	uint16_t kt;
	uint16_t threads;
	uint16_t flags;
};

/* Largest copy with channels last, in bytes, of an input that has fewer elements than it */
#define FAST_WINO_COPY_MAX	(64ull << 20)

/**
 * fast_wino_copies_repeats - why Winograd's kernels leave a large input
 * @dims: of the input
 * @strides: of it
 * @size: bytes of an element
 *
 * Planner and kernels ask, so that they agree.
 *
 * Return: would a copy with channels last be so large because the input overlaps itself or
 * repeats elements?
 */
static inline bool fast_wino_copies_repeats(const __u32 *dims, const __s64 *strides, uint32_t size)
{
	uint64_t bytes = size, extent = 1;
	uint32_t i;

	if (strides[1] == 1)
		return false;
	for (i = 0; i < 4; i++) {
		extent += (dims[i] - 1ull) * (uint64_t)llabs(strides[i]);
		if (__builtin_mul_overflow(bytes, (uint64_t)dims[i], &bytes))
			bytes = UINT64_MAX;
	}
	return bytes > FAST_WINO_COPY_MAX && bytes / 2 > extent * size;
}

#endif /* LIBACCEL_HINT_H */
