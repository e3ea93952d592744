// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Emulated devices of a test's own, through configfs.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "instance.h"

#define CONFIGFS	"/sys/kernel/config/uma_emu"

bool node_of(const char *device, char *node, size_t size)
{
	char path[300], target[300];
	struct dirent *entry;
	bool found = false;
	ssize_t n;
	DIR *d;

	d = opendir("/sys/class/accel");
	if (!d)
		return false;
	while (!found && (entry = readdir(d))) {
		if (strncmp(entry->d_name, "accel", 5))
			continue;
		snprintf(path, sizeof(path), "/sys/class/accel/%.32s/device", entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = 0;
		if (strrchr(target, '/') && !strcmp(strrchr(target, '/') + 1, device)) {
			snprintf(node, size, "%.31s", entry->d_name);
			found = true;
		}
	}
	closedir(d);
	return found;
}

void instance_make(struct instance *in, const char *name)
{
	memset(in, 0, sizeof(*in));
	if (access(CONFIGFS, W_OK))
		SKIP("no " CONFIGFS);
	snprintf(in->dir, sizeof(in->dir), CONFIGFS "/%s-%d", name, (int)getpid());
	ASSERT_EQ(0, mkdir(in->dir, 0755));
}

int instance_set_try(struct instance *in, const char *attribute, const char *value)
{
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", in->dir, attribute);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, value, strlen(value));
	n = n < 0 ? -errno : 0;
	/* What an attribute thinks of a value it may say as late as this. */
	if (close(fd) && !n)
		n = -errno;
	return (int)n;
}

void instance_set(struct instance *in, const char *attribute, const char *value)
{
	ASSERT_EQ(0, instance_set_try(in, attribute, value));
}

void instance_get(struct instance *in, const char *attribute, char *buf, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", in->dir, attribute);
	ASSERT_TRUE(read_text(path, buf, size));
	buf[strcspn(buf, "\n")] = 0;
}

void instance_enable(struct instance *in)
{
	char path[64];

	instance_set(in, "enabled", "1");
	instance_get(in, "device", in->device, sizeof(in->device));
	ASSERT_NE(0, in->device[0]);
	while (!node_of(in->device, in->node, sizeof(in->node)))
		usleep(10000);
	snprintf(path, sizeof(path), "/dev/accel/%s", in->node);
	while (access(path, R_OK | W_OK))
		usleep(10000);
}

void instance_start(struct instance *in, const char *name, const char *profile)
{
	instance_make(in, name);
	instance_set(in, "profile", profile);
	instance_set(in, "paranoid", getenv("UMA_TEST_PLAIN") ? "0" : "1");
	instance_enable(in);
}

bool instance_timeout(struct instance *in, unsigned int ms)
{
	char path[128], value[16];

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device/job_timeout_ms", in->node);
	snprintf(value, sizeof(value), "%u", ms);
	return write_text(path, value);
}

void instance_drop(struct instance *in)
{
	if (!in->dir[0])
		return;
	instance_set_try(in, "enabled", "0");
	EXPECT_EQ(0, rmdir(in->dir));
	memset(in, 0, sizeof(*in));
}
