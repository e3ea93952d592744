/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Files of a device in sysfs and debugfs.
 */
#ifndef _FILES_H_
#define _FILES_H_

#include "client.h"

/** device_path - path of a file in the device's directory in sysfs */
void device_path(const char *node, const char *file, char *path, size_t size);
/** file_read_try - read a file, without the newline at its end; its length or a negative errno */
int file_read_try(const char *path, char *buf, size_t size);
/** file_write_try - write a file; 0 or a negative errno */
int file_write_try(const char *path, const char *text);
int device_read_try(const char *node, const char *file, char *buf, size_t size);
int device_write_try(const char *node, const char *file, const char *text);
long long device_number(const char *node, const char *file);
/** engine_name - class and instance of an engine, as in sysfs */
void engine_name(int fd, unsigned int engine, char *name, size_t size);
/** engine_number - the number in a file of an engine's directory */
long long engine_number(const char *node, unsigned int engine, const char *file);
bool device_is(const char *node, const char *file, const char *text);
/** device_becomes - wait until a file says that; false if it cannot be read */
bool device_becomes(const char *node, const char *file, const char *text);
/** device_exceeds - wait until a file has a number above @value; false if it cannot be read */
bool device_exceeds(const char *node, const char *file, long long value);
/** hwmon_file - name of a file of the device's sensors, for device_*() */
void hwmon_file(const char *node, const char *file, char *name, size_t size);
/** each_file - call @f for every regular file below @dir, links not followed; how many there are */
unsigned int each_file(const char *dir, void (*f)(const char *path));

#endif /* _FILES_H_ */
