// SPDX-License-Identifier: MIT
#include <errno.h>
#include "backend.h"

int rec_attach(struct accel_device *dev, const struct backend_args *args)
{
	(void)dev;
	return error_set(args->error, -EOPNOTSUPP, "name", "no recorder");
}
