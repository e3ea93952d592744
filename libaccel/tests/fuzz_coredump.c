// SPDX-License-Identifier: MIT
/* Harness for the reader of core dumps: libFuzzer's entry point. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <accel/accel.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct accel_coredump_info info = { .size = sizeof(info) };
	char *text = NULL, *p;
	int ret;

	ret = accel_coredump_format(data, size, &text);
	if (!text != (ret && ret != -EBADMSG))
		abort();
	/* Nothing but printable ASCII gets out */
	for (p = text; p && *p; p++)
		if ((*p < 0x20 || *p > 0x7e) && *p != '\n')
			abort();
	/* What is wrong is said, and only then */
	if (text && (ret == -EBADMSG) !=
	    (!strncmp(text, "error: ", 7) || strstr(text, "\nerror: ")))
		abort();
	free(text);
	ret = accel_coredump_get_info(data, size, &info);
	if (!ret && !info.cause[0])
		abort();
	return 0;
}
