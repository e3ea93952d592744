// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include "objects.h"

void device_log(struct accel_device *dev, int level, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!dev->log || level > dev->log_level)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	dev->log(dev->log_user, level, line);
}
