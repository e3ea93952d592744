// SPDX-License-Identifier: MIT
/*
 * Which of the levels of kernels that it is told, in ACCEL_SW_KERNELS, the
 * in-process device has on this processor; a line for each.
 */
#include <stdio.h>
#include <stdlib.h>

#include <accel/accel.h>

int main(int argc, char **argv)
{
	struct accel_device *dev;
	int i;

	for (i = 1; i < argc; i++) {
		setenv("ACCEL_SW_KERNELS", argv[i], 1);
		if (accel_device_open("sw:full", NULL, &dev))
			continue;
		puts(argv[i]);
		accel_device_unref(dev);
	}
	return 0;
}
