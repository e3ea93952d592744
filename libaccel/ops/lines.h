/* SPDX-License-Identifier: MIT */
/*
 * What the operations along dimensions share: lines.c, norm.c and dynquant.c.
 */
#ifndef LIBACCEL_LINES_H
#define LIBACCEL_LINES_H

#include "ops.h"

int lines_output(struct request *req, uint32_t slot, uint32_t arg,
		 const struct accel_tensor *from, const char *name,
		 struct accel_error *e);
int lines_axis(struct request *req, int32_t axis, const char *name,
	       const char *field, uint32_t *out, struct accel_error *e);
int lower_scale_table(struct request *req, uint32_t slot, uint32_t arg,
		      const struct accel_tensor *from, const char *name, uint32_t dtype,
		      uint32_t axes, struct accel_error *e);
void lines_k(struct request *req, uint32_t axes, const char *field);

#endif /* LIBACCEL_LINES_H */
