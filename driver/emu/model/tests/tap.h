/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Test Anything Protocol, as much of it as the model's tests need. */
#ifndef _MODEL_TAP_H_
#define _MODEL_TAP_H_

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int tap_count;
static int tap_failed;

__attribute__((format(printf, 2, 3), unused))
static int tap_ok(int ok, const char *fmt, ...)
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

__attribute__((unused))
static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

#endif /* _MODEL_TAP_H_ */
