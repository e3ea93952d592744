// SPDX-License-Identifier: MIT
/*
 * Core dumps of devices in sysfs.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfile.h"
#include "sys.h"

/*
 * The kernel numbers dumps in sequence; the time of a file in sysfs is that of its first
 * lookup.
 */
int64_t sys_coredump(const struct sys_opts *opts, const struct sys_node *node,
		     char path[PATH_MAX])
{
	char dir[PATH_MAX], file[PATH_MAX + 512], device[PATH_MAX], failing[PATH_MAX];
	struct dirent *entry;
	int64_t best = -1;
	uint64_t number;
	const char *end;
	DIR *d;

	*path = 0;
	if (snprintf(dir, sizeof(dir), "%s/sys/class/devcoredump", opts->root) >= PATH_MAX ||
	    !realpath(node->device, device))
		return -1;
	d = opendir(dir);
	if (!d)
		return -1;
	while ((entry = readdir(d))) {
		if (strncmp(entry->d_name, "devcd", 5) != 0 ||
		    !number_parse(entry->d_name + 5, &number, &end) || *end ||
		    number > INT32_MAX || (int64_t)number <= best)
			continue;
		snprintf(file, sizeof(file), "%s/%s/failing_device", dir, entry->d_name);
		if (!realpath(file, failing) || strcmp(failing, device) != 0)
			continue;
		snprintf(file, sizeof(file), "%s/%s/data", dir, entry->d_name);
		if (access(file, F_OK) || strlen(file) >= PATH_MAX)
			continue;
		best = (int64_t)number;
		strcpy(path, file);
	}
	closedir(d);
	return best;
}
