// SPDX-License-Identifier: MIT
/*
 * Does memory grow during steady submission? Compares the memory allocated by malloc(), by the
 * kernel's allocator, and counted by the driver for this client, before and after very many
 * jobs.
 */
#include <accel/accel.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accelbench.h"

/* To fill caches, pools and the allocator's bins */
#define WARM_UP	2000

struct memory {
	int64_t heap;
	int64_t slab;
	int64_t client;
};

/* The number in KiB after a key in a file, as bytes; 0 if there is none */
static int64_t read_kib(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	long long value = 0;
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) &&
		    sscanf(line + strlen(key), "%lld kB", &value) == 1)
			break;
	fclose(f);
	return value * 1024;
}

static int64_t in_bytes(const char *text)
{
	long long value;
	char unit[8] = "";

	if (sscanf(text, "%lld %7s", &value, unit) < 1)
		return 0;
	return value << (!strcmp(unit, "KiB") ? 10 : !strcmp(unit, "MiB") ? 20 :
			 !strcmp(unit, "GiB") ? 30 : 0);
}

/* Memory of all clients that this process is */
static int64_t client_bytes(void)
{
	char path[320], line[256];
	struct dirent *entry;
	int64_t sum = 0;
	FILE *f;
	DIR *d;

	d = opendir("/proc/self/fdinfo");
	if (!d)
		return 0;
	while ((entry = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		f = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (!f)
			continue;
		while (fgets(line, sizeof(line), f))
			if (!strncmp(line, "drm-total-", 10) && !strstr(line, "cycles"))
				sum += in_bytes(strchr(line, ':') ? strchr(line, ':') + 1 : "");
		fclose(f);
	}
	closedir(d);
	return sum;
}

static struct memory look(void)
{
	struct memory m;

	/* The kernel frees fences a grace period after their end */
	usleep(500000);
	m.heap = (int64_t)mallinfo2().uordblks;
	m.slab = read_kib("/proc/meminfo", "SUnreclaim:") +
		 read_kib("/proc/meminfo", "SReclaimable:");
	m.client = client_bytes();
	return m;
}

static int submit(struct bench_rig *rig, uint64_t count)
{
	uint64_t i;
	int ret = 0;

	for (i = 0; i < count && !ret; i++)
		ret = bench_roundtrip(rig, i & 1 ? rig->smallest : rig->empty, NULL);
	return ret;
}

int bench_growth(const struct bench_opts *opts, const char *name)
{
	struct memory before, after;
	struct bench_rig rig;
	int ret;

	ret = bench_rig_open(opts, name, &rig);
	if (ret)
		return ret;
	ret = submit(&rig, WARM_UP);
	before = look();
	if (!ret)
		ret = submit(&rig, opts->growth);
	after = look();
	bench_rig_close(&rig);
	if (ret)
		return bench_fail(ret, "a job of %s failed", name);
	after.heap -= before.heap;
	after.slab -= before.slab;
	after.client -= before.client;
	if (opts->format == BENCH_JSON)
		printf("{\"case\":\"growth\",\"impl\":\"%s\",\"jobs\":%llu,\"heap_bytes\":%lld,\"slab_bytes\":%lld,\"client_bytes\":%lld}\n",
		       rig.driver[0] ? rig.driver : name, (unsigned long long)opts->growth,
		       (long long)after.heap, (long long)after.slab, (long long)after.client);
	else
		printf("%s: %llu jobs: heap %+lld, kernel's slabs %+lld, buffers of this client %+lld bytes\n",
		       name, (unsigned long long)opts->growth, (long long)after.heap,
		       (long long)after.slab, (long long)after.client);
	return 0;
}
