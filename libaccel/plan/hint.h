/* SPDX-License-Identifier: MIT */
#ifndef LIBACCEL_HINT_H
#define LIBACCEL_HINT_H

#include <stdint.h>

/* Bits of a row may not depend on how many rows there are; all else is 0 then */
#define FAST_HINT_REPRODUCIBLE	(1u << 0)

/**
 * struct fast_hint - how to cut an operation, found by measuring
 * @variant: kernel; the class's own numbering
 * @mt: rows of a tile
 * @nt: columns of a tile
 * @kt: length of a block of sums
 * @threads: threads at most
 * @flags: FAST_HINT_REPRODUCIBLE; not measured, but what the plan was made for
 *
 * 0 leaves the choice to the class. A hint may come from a file: what does not
 * fit is ignored, and no hint makes a result wrong.
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
