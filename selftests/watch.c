// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What nobody may disturb unseen: around every test the device's reset and
 * fault counters and the kernel log are compared with what the test announced.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

static int kmsg = -1;
static long long resets, faults;

long long counter(const char *file)
{
	char path[256];

	if (!dev_debugfs(dev_name(), file, path, sizeof(path)))
		return -1;
	return read_number(path);
}

int lines(const char *file)
{
	static char text[65536];
	char path[256];
	int n = 0;
	char *p;

	if (!dev_debugfs(dev_name(), file, path, sizeof(path)) ||
	    !read_text(path, text, sizeof(text)))
		return -1;
	for (p = text; (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

void expect_resets(int n)
{
	harness->resets = n;
}

void expect_faults(int n)
{
	harness->faults = n;
	harness->resets = n;
}

void expect_log(void)
{
	harness->log = 1;
}

void expect_gone(void)
{
	harness->gone = 1;
	harness->log = 1;
}

const char *harness_before(void)
{
	char buf[2048];

	if (access(dev_path(), F_OK))
		return "no device";
	resets = counter("reset_counter");
	faults = counter("fault_counter");
	if (kmsg < 0) {
		kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (kmsg >= 0)
			lseek(kmsg, 0, SEEK_END);
		if (kmsg < 0 || resets < 0 || faults < 0)
			harness_diag("not watched:%s%s%s", kmsg < 0 ? " kernel log" : "",
				     resets < 0 ? " reset counter" : "",
				     faults < 0 ? " fault counter" : "");
	}
	/* What others have said in between is not this test's. */
	while (kmsg >= 0 && (read(kmsg, buf, sizeof(buf)) > 0 || errno == EPIPE))
		;
	return NULL;
}

/*
 * Anything from error level up is ours until the contrary is shown; of the warnings only those that
 * name us: other
 * parts of a kernel under software emulation complain about clocks and the like.
 */
static bool is_bad(unsigned int level, const char *text)
{
	static const char *const ours[] = { "uma",     "accel",	  "drm",    "dma_fence",
					    "dma-buf", "WARNING", "syncobj" };
	size_t i;

	if (level <= 3)
		return true;
	/* Said of every device with operating points where there is no device tree. */
	if (strstr(text, "Error finding interconnect paths"))
		return false;
	if (level > 4)
		return false;
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strstr(text, ours[i]))
			return true;
	}
	return false;
}

static void check_log(void)
{
	char buf[4096], *text;
	unsigned int prefix;
	ssize_t n;

	for (;;) {
		n = read(kmsg, buf, sizeof(buf) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return;
		buf[n] = 0;
		prefix = (unsigned int)strtoul(buf, NULL, 10);
		text = strchr(buf, ';');
		if (!text || prefix >> 3)
			continue;
		text++;
		text[strcspn(text, "\n")] = 0;
		if (is_bad(prefix & 7, text))
			harness_fail("kernel", (int)(prefix & 7), "%s", text);
	}
}

static void check_counter(const char *name, long long before, int expected)
{
	long long after = counter(name);

	if (before < 0 || after < 0 || expected < 0)
		return;
	if (after != before + expected)
		harness_fail(name, 0, "went from %lld to %lld, expected to rise by %d", before,
			     after, expected);
}

void harness_after(void)
{
	if (!harness->gone) {
		check_counter("reset_counter", resets, harness->resets);
		check_counter("fault_counter", faults, harness->faults);
	}
	if (kmsg >= 0 && !harness->log)
		check_log();
}
