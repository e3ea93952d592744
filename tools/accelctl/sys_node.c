// SPDX-License-Identifier: MIT
/*
 * Device nodes in sysfs.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "accelctl.h"
#include "kfile.h"
#include "sys.h"
#include "table.h"

static bool path(char to[PATH_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* False if it does not fit */
static bool path(char to[PATH_MAX], const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(to, PATH_MAX, fmt, ap);
	va_end(ap);
	if (len >= 0 && len < PATH_MAX)
		return true;
	*to = 0;
	return false;
}

/* The first directory in a directory, in order of names; empty if there is none */
static void only_entry(char to[PATH_MAX], const char *device, const char *name)
{
	char dir[PATH_MAX], best[NAME_MAX + 1] = "";
	struct dirent *entry;
	DIR *d;

	*to = 0;
	if (!path(dir, "%s/%s", device, name))
		return;
	d = opendir(dir);
	if (!d)
		return;
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.' && (!*best || strcmp(entry->d_name, best) < 0))
			strcpy(best, entry->d_name);
	closedir(d);
	if (*best)
		path(to, "%s/%s", dir, best);
}

/* Of names that end in a number the number decides */
static int engine_cmp(const void *a, const void *b)
{
	const struct sys_engine *x = a, *y = b;
	size_t lx = strlen(x->name), ly = strlen(y->name);
	int ret = strcmp(x->class_name, y->class_name);

	if (!ret && lx != ly)
		ret = lx < ly ? -1 : 1;
	return ret ? ret : strcmp(x->name, y->name);
}

static void find_engines(struct sys_node *node)
{
	struct sys_engine *e;
	struct dirent *entry;
	size_t len;
	DIR *d;

	d = opendir(node->device);
	if (!d)
		return;
	while ((entry = readdir(d)) && node->engine_count < SYS_ENGINES) {
		const char *name = entry->d_name + 7;

		if (strncmp(entry->d_name, "engine-", 7) != 0 || !*name ||
		    strlen(name) >= sizeof(e->class_name))
			continue;
		e = &node->engines[node->engine_count++];
		strcpy(e->name, name);
		for (len = strlen(name); len && isdigit((unsigned char)name[len - 1]); len--)
			;
		memcpy(e->class_name, name, len);
		e->class_name[len] = 0;
	}
	closedir(d);
	qsort(node->engines, node->engine_count, sizeof(*e), engine_cmp);
}

/* By number or, on other kernels, by the name of the device; the number if neither exists */
static void find_debugfs(const char *root, struct sys_node *node)
{
	char real[PATH_MAX], *slash;

	if (realpath(node->device, real)) {
		slash = strrchr(real, '/');
		if (slash && path(node->debugfs, "%s/sys/kernel/debug/accel%s", root, slash) &&
		    !access(node->debugfs, F_OK))
			return;
	}
	path(node->debugfs, "%s/sys/kernel/debug/accel/%u", root, node->number);
}

/* Is this a node of our driver? */
static bool read_node(const char *root, const char *name, struct sys_node *node)
{
	char class_dir[PATH_MAX], link[PATH_MAX], target[PATH_MAX], line[64], *slash;
	unsigned int major, minor;
	const char *end;
	uint64_t number;
	ssize_t len;

	*node = (struct sys_node){ 0 };
	if (strncmp(name, "accel", 5) != 0 || !number_parse(name + 5, &number, &end) || *end ||
	    number > 1u << 20 || strlen(name) >= sizeof(node->name))
		return false;
	if (!path(class_dir, "%s/sys/class/accel/%s", root, name) ||
	    !path(node->device, "%s/device", class_dir) ||
	    !path(link, "%s/driver", node->device))
		return false;
	len = readlink(link, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = 0;
	slash = strrchr(target, '/');
	if (strcmp(slash ? slash + 1 : target, "uma") != 0)
		return false;
	strcpy(node->name, name);
	node->number = (unsigned int)number;
	if (!kfile_line(class_dir, "dev", line, sizeof(line)) &&
	    sscanf(line, "%u:%u", &major, &minor) == 2)
		node->dev = makedev(major, minor);
	find_debugfs(root, node);
	only_entry(node->hwmon, node->device, "hwmon");
	only_entry(node->devfreq, node->device, "devfreq");
	find_engines(node);
	return true;
}

/* Does -d select this node? By name or, for any path, by device number */
static bool is_meant(const char *wanted, const struct sys_node *node)
{
	const char *base = wanted;
	struct stat st;

	if (!strncmp(base, "/dev/accel/", 11))
		base += 11;
	if (!strcmp(base, node->name))
		return true;
	return *wanted == '/' && !stat(wanted, &st) && S_ISCHR(st.st_mode) && node->dev &&
	       st.st_rdev == node->dev;
}

static int node_cmp(const void *a, const void *b)
{
	const struct sys_node *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void scan(const char *root, const char *wanted, struct sys_nodes *nodes)
{
	struct dirent *entry;
	char dir[PATH_MAX];
	DIR *d;

	d = path(dir, "%s/sys/class/accel", root) ? opendir(dir) : NULL;
	if (!d)
		return;
	while ((entry = readdir(d))) {
		struct sys_node *node = ctl_alloc(1, sizeof(*node));

		if (read_node(root, entry->d_name, node) && (!wanted || is_meant(wanted, node))) {
			struct sys_node *grown = ctl_alloc(nodes->count + 1, sizeof(*grown));

			if (nodes->count)
				memcpy(grown, nodes->list, nodes->count * sizeof(*grown));
			grown[nodes->count++] = *node;
			free(nodes->list);
			nodes->list = grown;
		}
		free(node);
	}
	closedir(d);
	if (nodes->count)
		qsort(nodes->list, nodes->count, sizeof(*nodes->list), node_cmp);
}

int sys_find(struct ctl *ctl, const struct sys_opts *opts, struct sys_nodes *nodes)
{
	const char *wanted = ctl->device;

	*nodes = (struct sys_nodes){ 0 };
	if (wanted && (!strncmp(wanted, "sw", 2) || !strncmp(wanted, "rec:", 4)))
		return ctl_fail(ctl, CTL_UNSUPPORTED, 0, wanted,
				"the kernel knows nothing of it, only of nodes like accel0");
	scan(opts->root, wanted, nodes);
	if (nodes->count)
		return CTL_OK;
	if (!ctl_driver_loaded(opts->root))
		return ctl_fail(ctl, CTL_NO_DRIVER, -ENODEV, wanted,
				"no device, for the driver is not loaded (modprobe uma)");
	return ctl_fail(ctl, CTL_NO_DEVICE, -ENODEV, wanted,
			"no such device of the uma driver");
}

int sys_find_one(struct ctl *ctl, const struct sys_opts *opts, struct sys_nodes *nodes)
{
	int ret = sys_find(ctl, opts, nodes);

	if (ret || nodes->count == 1)
		return ret;
	ret = ctl_fail(ctl, CTL_USAGE, 0, "-d", "has to say which of %u devices is meant",
		       nodes->count);
	sys_nodes_free(nodes);
	return ret;
}

void sys_nodes_free(struct sys_nodes *nodes)
{
	free(nodes->list);
	*nodes = (struct sys_nodes){ 0 };
}

int64_t sys_number(const char *dir, const char *name)
{
	int64_t value = SYS_UNKNOWN;

	if (*dir)
		kfile_number(dir, name, &value);
	return value;
}

int64_t sys_engine_number(const struct sys_node *node, const struct sys_engine *engine,
			  const char *name)
{
	char dir[PATH_MAX];

	return path(dir, "%s/engine-%s", node->device, engine->name) ? sys_number(dir, name) :
								       SYS_UNKNOWN;
}

bool sys_modelled(const struct sys_node *node)
{
	static const char *const labels[] = { "power1_label", "temp1_label", "energy1_label" };
	char label[64];
	unsigned int i;

	for (i = 0; *node->hwmon && i < sizeof(labels) / sizeof(labels[0]); i++)
		if (!kfile_line(node->hwmon, labels[i], label, sizeof(label)) &&
		    strstr(label, "modelled"))
			return true;
	return false;
}

int sys_table_try(const struct sys_node *node, const char *name, struct table *table, char *why,
		  size_t size)
{
	char file[PATH_MAX], *text;
	int ret;

	*why = 0;
	if (!path(file, "%s/%s", node->debugfs, name))
		return -ENAMETOOLONG;
	ret = kfile_read(file, &text);
	if (ret)
		return ret;
	ret = table_parse(text, table, why, size);
	free(text);
	return ret;
}

int sys_table(struct ctl *ctl, const struct sys_node *node, const char *name,
	      struct table *table)
{
	char why[160], file[PATH_MAX + 64];
	int ret;

	ret = sys_table_try(node, name, table, why, sizeof(why));
	snprintf(file, sizeof(file), "%s/%s", node->debugfs, name);
	switch (ret) {
	case 0:
		return CTL_OK;
	case -EACCES:
	case -EPERM:
		return ctl_fail(ctl, CTL_PERMISSION, ret, file, "only root may read this");
	case -ENOENT:
		return ctl_fail(ctl, CTL_UNSUPPORTED, ret, file,
				"the driver has no such file, or debugfs is not mounted");
	case -EBADMSG:
		return ctl_fail(ctl, CTL_MISMATCH, ret, file, "%s; driver and accelctl do not fit",
				*why ? why : "it is no text");
	default:
		return ctl_fail(ctl, ctl_status(ret), ret, file, "cannot be read");
	}
}
