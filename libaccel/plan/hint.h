/* SPDX-License-Identifier: MIT */
#ifndef LIBACCEL_HINT_H
#define LIBACCEL_HINT_H

#include <stdint.h>

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

#endif /* LIBACCEL_HINT_H */
