/* SPDX-License-Identifier: MIT */
/*
 * Tensors read by the CPU, element by element, as the numbers they stand for.
 */
#ifndef LIBACCEL_READER_H
#define LIBACCEL_READER_H

#include "libaccel/ops/ops.h"

/**
 * struct reader - a tensor that the CPU may read
 * @t: the tensor, checked
 * @first: element (0, 0, ...)
 * @scales: table of scales, or NULL
 * @zeros: table of zero points, or NULL
 */
struct reader {
	struct operand t;
	const uint8_t *first;
	const uint8_t *scales;
	const uint8_t *zeros;
};

int reader_open(struct reader *r, const struct accel_tensor *t, const char *name,
		struct accel_error *e);
uint64_t reader_entry(const struct operand *t, uint32_t scheme, uint32_t axis,
		      uint32_t group, const int64_t *idx);
double reader_value(const struct reader *r, const int64_t *idx);
int32_t reader_stored(const struct reader *r, const int64_t *idx);
bool reader_next(const struct operand *t, int64_t *idx);
double half_value(uint16_t bits);

/* --- sparse.c ----------------------------------------------------------------- */

int sparse_check(const struct accel_tensor *b, uint32_t axis, struct accel_error *e);

#endif /* LIBACCEL_READER_H */
