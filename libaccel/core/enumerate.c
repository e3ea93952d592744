// SPDX-License-Identifier: MIT
/*
 * Finding devices. libdrm looks into /dev/dri only, so nodes of the accel class
 * are looked up in udev.
 */
#include <errno.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/backend/backend.h"

struct node {
	unsigned long number;
	char *name;
	char *path;
	char *driver;
};

static int node_cmp(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* The driver that is bound to the nearest parent that has one. */
static const char *parent_driver(struct udev_device *dev)
{
	const char *driver = NULL;

	while (dev && !driver) {
		dev = udev_device_get_parent(dev);
		if (dev)
			driver = udev_device_get_driver(dev);
	}
	return driver ? driver : "";
}

static int node_read(struct udev *udev, const char *syspath, struct node *node)
{
	struct udev_device *dev;
	const char *path;
	int ret = -ENOENT;

	dev = udev_device_new_from_syspath(udev, syspath);
	if (!dev)
		return -ENOENT;
	path = udev_device_get_devnode(dev);
	if (path && sscanf(udev_device_get_sysname(dev), "accel%lu",
			   &node->number) == 1) {
		node->name = strdup(udev_device_get_sysname(dev));
		node->path = strdup(path);
		node->driver = strdup(parent_driver(dev));
		ret = node->name && node->path && node->driver ? 0 : -ENOMEM;
	}
	udev_device_unref(dev);
	return ret;
}

static void node_free(struct node *node)
{
	free(node->name);
	free(node->path);
	free(node->driver);
}

static int nodes_read(struct udev *udev, struct node **nodes, size_t *count)
{
	struct udev_list_entry *entry;
	struct udev_enumerate *scan;
	struct node node, *grown;
	int ret = -ENOMEM;

	scan = udev_enumerate_new(udev);
	if (!scan)
		return -ENOMEM;
	if (udev_enumerate_add_match_subsystem(scan, "accel") < 0 ||
	    udev_enumerate_scan_devices(scan) < 0)
		goto out;
	udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(scan)) {
		memset(&node, 0, sizeof(node));
		ret = node_read(udev, udev_list_entry_get_name(entry), &node);
		if (ret == -ENOENT)
			continue;
		grown = ret ? NULL : realloc(*nodes, (*count + 1) * sizeof(node));
		if (!grown) {
			node_free(&node);
			ret = -ENOMEM;
			goto out;
		}
		*nodes = grown;
		grown[(*count)++] = node;
	}
	ret = 0;
out:
	udev_enumerate_unref(scan);
	return ret;
}

int enumerate_nodes(node_fn *fn, void *user)
{
	struct node *nodes = NULL;
	size_t count = 0, i;
	struct udev *udev;
	int ret;

	udev = udev_new();
	if (!udev)
		return -ENOMEM;
	ret = nodes_read(udev, &nodes, &count);
	udev_unref(udev);
	if (!ret && count)
		qsort(nodes, count, sizeof(*nodes), node_cmp);
	for (i = 0; i < count; i++) {
		if (!ret)
			ret = fn(user, nodes[i].name, nodes[i].path,
				 nodes[i].driver);
		node_free(&nodes[i]);
	}
	free(nodes);
	return ret;
}

struct list {
	accel_device_fn *fn;
	void *user;
};

static int list_node(void *user, const char *name, const char *path,
		     const char *driver)
{
	struct accel_device_desc desc = { .size = sizeof(desc) };
	struct list *list = user;

	/* Nodes of other drivers are none of ours. */
	if (drm_probe(name, path, driver, &desc))
		return 0;
	return list->fn(list->user, &desc);
}

int accel_device_list(accel_device_fn *fn, void *user)
{
	struct accel_device_desc desc = {
		.size = sizeof(desc), .emulated = 1, .name = "sw",
		.driver = "sw", .profile = "full",
	};
	struct list list = { fn, user };
	int ret;

	if (!fn)
		return -EINVAL;
	ret = enumerate_nodes(list_node, &list);
	if (ret)
		return ret;
	return fn(user, &desc);
}
