// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Files of a device in sysfs and debugfs.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

void device_path(const char *node, const char *file, char *path, size_t size)
{
	snprintf(path, size, "/sys/class/accel/%s/device/%s", node, file);
}

int file_read_try(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + len, size - 1 - len);
		if (n < 0) {
			n = -errno;
			close(fd);
			return (int)n;
		}
		len += (size_t)n;
	} while (n && len < size - 1);
	close(fd);
	while (len && buf[len - 1] == '\n')
		len--;
	buf[len] = 0;
	return (int)len;
}

int file_write_try(const char *path, const char *text)
{
	ssize_t n;
	int fd;

	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

int device_read_try(const char *node, const char *file, char *buf, size_t size)
{
	char path[300];

	device_path(node, file, path, sizeof(path));
	return file_read_try(path, buf, size);
}

int device_write_try(const char *node, const char *file, const char *text)
{
	char path[300];

	device_path(node, file, path, sizeof(path));
	return file_write_try(path, text);
}

long long device_number(const char *node, const char *file)
{
	char buf[64], *end;
	long long value;
	int len;

	len = device_read_try(node, file, buf, sizeof(buf));
	if (len <= 0) {
		harness_fail(file, 0, "cannot be read: %d", len);
		harness_end();
	}
	value = strtoll(buf, &end, 10);
	if (*end) {
		harness_fail(file, 0, "not a number: %s", buf);
		harness_end();
	}
	return value;
}

void engine_name(int fd, unsigned int engine, char *name, size_t size)
{
	static const char *const names[] = { "matrix", "gpu", "neural" };
	struct drm_uma_query_engine engines[MAX_ENGINES];

	ASSERT_LT(engine, query_engines(fd, engines));
	snprintf(name, size, "%s%u", names[engines[engine].engine_class], engines[engine].instance);
}

long long engine_number(const char *node, unsigned int engine, const char *file)
{
	int fd = dev_open_named(node);
	char name[32], path[64];

	engine_name(fd, engine, name, sizeof(name));
	close(fd);
	snprintf(path, sizeof(path), "engine-%s/%s", name, file);
	return device_number(node, path);
}

bool device_is(const char *node, const char *file, const char *text)
{
	char buf[128];

	return device_read_try(node, file, buf, sizeof(buf)) >= 0 && !strcmp(buf, text);
}

bool device_becomes(const char *node, const char *file, const char *text)
{
	char buf[128];

	while (device_read_try(node, file, buf, sizeof(buf)) >= 0) {
		if (!strcmp(buf, text))
			return true;
		usleep(10000);
	}
	return false;
}

bool device_exceeds(const char *node, const char *file, long long value)
{
	char buf[128];

	while (device_read_try(node, file, buf, sizeof(buf)) >= 0) {
		if (strtoll(buf, NULL, 0) > value)
			return true;
		usleep(10000);
	}
	return false;
}

void hwmon_file(const char *node, const char *file, char *name, size_t size)
{
	struct dirent *entry;
	char path[300];
	DIR *d;

	device_path(node, "hwmon", path, sizeof(path));
	d = opendir(path);
	if (!d)
		SKIP("this kernel has no hwmon");
	name[0] = 0;
	while ((entry = readdir(d)))
		if (!strncmp(entry->d_name, "hwmon", 5))
			snprintf(name, size, "hwmon/%.32s/%s", entry->d_name, file);
	closedir(d);
	ASSERT_NE(0, name[0]);
}

unsigned int each_file(const char *dir, void (*f)(const char *path))
{
	unsigned int count = 0;
	struct dirent *entry;
	char path[1024];
	struct stat st;
	DIR *d;

	d = opendir(dir);
	if (!d)
		return 0;
	while ((entry = readdir(d))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (lstat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode)) {
			count += each_file(path, f);
		} else if (S_ISREG(st.st_mode)) {
			f(path);
			count++;
		}
	}
	closedir(d);
	return count;
}
