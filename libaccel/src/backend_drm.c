// SPDX-License-Identifier: MIT
#include <errno.h>
#include "backend.h"

static int drm_open(struct accel_device *dev, const struct backend_args *args)
{
	(void)dev;
	return error_set(args->error, -ENODEV, "name", "no device \"%.64s\"", args->name);
}

const struct backend_ops backend_drm = {
	.name = "drm",
	.device_size = sizeof(struct accel_device),
	.open = drm_open,
};

int drm_probe(const char *name, const char *path, const char *driver,
	      struct accel_device_desc *desc)
{
	(void)name;
	(void)path;
	(void)driver;
	(void)desc;
	return -ENODEV;
}
