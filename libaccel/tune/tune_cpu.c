// SPDX-License-Identifier: MIT
/*
 * The CPU in words: what times depend on. Read from the system once a process.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "libaccel/core/cache_size.h"
#include "tune.h"

static char model[144];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Characters that need no care in JSON, in text or on a terminal. */
static void tidy(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			*s = '?';
}

/* The value of a line "key : value" of /proc/cpuinfo that starts with @key. */
static bool value_of(const char *line, const char *key, char *out, size_t size)
{
	size_t len = strlen(key);
	const char *p;

	if (strncmp(line, key, len) != 0)
		return false;
	p = line + len + strspn(line + len, " \t");
	if (*p != ':')
		return false;
	p++;
	p += strspn(p, " \t");
	snprintf(out, size, "%.*s", (int)strcspn(p, "\n"), p);
	return true;
}

/* The first processor's; the others are taken to be like it. */
static void read_model(void)
{
	static const char * const keys[] = {
		"model name", "cpu family", "model", "stepping",
		"CPU implementer", "CPU variant", "CPU part", "CPU revision"
	};
	char value[8][72] = { { 0 } }, line[256];
	FILE *f = fopen("/proc/cpuinfo", "re");
	size_t i, len;

	while (f && fgets(line, sizeof(line), f) && line[0] != '\n')
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (value_of(line, keys[i], value[i], sizeof(value[i])))
				break;
	if (f)
		fclose(f);
	len = (size_t)snprintf(model, sizeof(model), "%.71s",
			       value[0][0] ? value[0] : "unknown");
	for (i = 1; i < sizeof(keys) / sizeof(keys[0]) && len < sizeof(model); i++)
		if (value[i][0])
			len += (size_t)snprintf(model + len, sizeof(model) - len, "%s%.8s",
						i == 1 || i == 4 ? " " : "/", value[i]);
	tidy(model);
}

/**
 * tune_cpu_words - name the CPU, its caches and what the kernels use of it
 * @kernels: level of the device's kernels
 * @buf: out
 * @size: bytes of @buf
 */
void tune_cpu_words(const char *kernels, char *buf, size_t size)
{
	pthread_once(&once, read_model);
	snprintf(buf, size, "%s, %ld+%ld+%ld KiB, %.20s", model, cache_size(1) / 1024,
		 cache_size(2) / 1024, cache_size(3) / 1024,
		 *kernels ? kernels : "device");
}
