// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See tap.h. */
#include <stdarg.h>

#include "tap.h"

int tap_count, tap_failed;

int tap_ok(int ok, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", ok ? "" : "not ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_failed += !ok;
	return ok;
}

int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
