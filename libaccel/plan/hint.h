/* SPDX-License-Identifier: MIT */
#ifndef LIBACCEL_HINT_H
#define LIBACCEL_HINT_H

#include <stdint.h>

/**
 * struct fast_hint - how to cut an operation, found by measuring
 * @variant: kernel; the class's own numbering
 * @mt: rows of a tile
 * @nt: columns of a tile
 * @kt: length of a block of sums
 * @threads: threads at most
 * @pad: 0
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
	uint16_t pad;
};

#endif /* LIBACCEL_HINT_H */
