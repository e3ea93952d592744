/* SPDX-License-Identifier: MIT */
/*
 * Devices, their clients and their counters as the kernel shows them in files.
 * Nothing is opened that would wake a device up or count as a client of it.
 */
#ifndef ACCELCTL_SYS_H
#define ACCELCTL_SYS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fdinfo.h"

struct ctl;
struct json_object;
struct table;

/** SYS_ENGINES: most engines of a device */
#define SYS_ENGINES	64
/** SYS_UNKNOWN: a number that the kernel does not provide */
#define SYS_UNKNOWN	INT64_MIN

/**
 * struct sys_opts - options of the commands that read files of the kernel
 */
struct sys_opts {
	/** @root: directory to find /sys, /proc in, "" for this system */
	const char *root;
};

/**
 * struct sys_engine - an engine of a node
 */
struct sys_engine {
	/** @name: "matrix0" */
	char name[32];
	/** @class_name: "matrix" */
	char class_name[24];
};

/**
 * struct sys_node - a device node of the driver
 */
struct sys_node {
	/** @name: "accel0" */
	char name[32];
	/** @number: 0 */
	unsigned int number;
	/** @dev: device number of the node */
	dev_t dev;
	/** @device: directory of the device in sysfs */
	char device[PATH_MAX];
	/** @hwmon: directory of its sensors, empty if there is none */
	char hwmon[PATH_MAX];
	/** @devfreq: directory of its clock, empty if there is none */
	char devfreq[PATH_MAX];
	/** @debugfs: directory in debugfs, whether it is there or not */
	char debugfs[PATH_MAX];
	/** @engines: its engines, if the driver lists them */
	struct sys_engine engines[SYS_ENGINES];
	/** @engine_count: number of @engines */
	unsigned int engine_count;
};

/**
 * struct sys_nodes - nodes in order of their number
 */
struct sys_nodes {
	/** @list: nodes */
	struct sys_node *list;
	/** @count: number of nodes */
	unsigned int count;
};

/**
 * sys_now - CLOCK_MONOTONIC
 *
 * Return: nanoseconds.
 */
uint64_t sys_now(void);

/* sys_node.c */

/**
 * sys_find - the nodes that a command applies to; errors are reported
 * @ctl: invocation; -d selects one node, otherwise all are used
 * @opts: root of the files
 * @nodes: out; to be released with sys_nodes_free()
 *
 * Return: an exit status; CTL_NO_DEVICE or CTL_NO_DRIVER if there is none.
 */
int sys_find(struct ctl *ctl, const struct sys_opts *opts, struct sys_nodes *nodes);

/**
 * sys_find_one - the single node that a command changes
 * @ctl: invocation; -d selects it, otherwise there must be only one
 * @opts: root of the files
 * @nodes: out; to be released with sys_nodes_free()
 *
 * Return: an exit status.
 */
int sys_find_one(struct ctl *ctl, const struct sys_opts *opts, struct sys_nodes *nodes);

/**
 * sys_nodes_free - give nodes up
 * @nodes: nodes
 */
void sys_nodes_free(struct sys_nodes *nodes);

/**
 * sys_number - a counter of a device
 * @dir: directory, may be empty
 * @name: file
 *
 * Return: its number, SYS_UNKNOWN if it is not available.
 */
int64_t sys_number(const char *dir, const char *name);

/**
 * sys_engine_number - a counter of an engine
 * @node: device
 * @engine: one of its engines
 * @name: file
 *
 * Return: its number, SYS_UNKNOWN if it is not available.
 */
int64_t sys_engine_number(const struct sys_node *node, const struct sys_engine *engine,
			  const char *name);

/**
 * sys_modelled - are power and temperature computed by a model?
 * @node: device
 *
 * Return: true if the labels of its sensors say so.
 */
bool sys_modelled(const struct sys_node *node);

/**
 * sys_json_number - a counter as JSON, null if it is unknown
 * @obj: object
 * @key: key
 * @value: number or SYS_UNKNOWN
 */
void sys_json_number(struct json_object *obj, const char *key, int64_t value);

/**
 * sys_json_scaled - a counter in another unit as JSON, null if it is unknown
 * @obj: object
 * @key: key
 * @value: number or SYS_UNKNOWN
 * @unit: divisor
 */
void sys_json_scaled(struct json_object *obj, const char *key, int64_t value, double unit);

/**
 * sys_json_table - rows of a table as JSON objects
 * @list: array that gets them
 * @table: table
 * @keys: pairs of column and key, ended by NULL; other columns keep their names
 *
 * Cells that are numbers become numbers, a "-" becomes null.
 */
void sys_json_table(struct json_object *list, const struct table *table,
		    const char *const *keys);

/**
 * sys_print_table - print a table as text, with the columns that the kernel gives it
 * @ctl: invocation
 * @table: table
 * @bytes: names of columns that hold bytes, ended by NULL
 */
void sys_print_table(const struct ctl *ctl, const struct table *table, const char *const *bytes);

/**
 * sys_table_try - read a table of debugfs, without reporting errors
 * @node: device
 * @name: file
 * @table: out; to be released with table_free()
 * @why: out: error message
 * @size: bytes of @why
 *
 * Return: 0 or a negative errno, -EBADMSG if it is not a table.
 */
int sys_table_try(const struct sys_node *node, const char *name, struct table *table, char *why,
		  size_t size);

/**
 * sys_table - read a table of debugfs; an error is reported
 * @ctl: invocation
 * @node: device
 * @name: file
 * @table: out; table_free() gives it up
 *
 * Return: an exit status; CTL_PERMISSION, CTL_UNSUPPORTED if there is no such file.
 */
int sys_table(struct ctl *ctl, const struct sys_node *node, const char *name,
	      struct table *table);

/* sys_clients.c */

/**
 * struct sys_client - a client of a node, however many file descriptors it has
 */
struct sys_client {
	/** @node: index of its device */
	unsigned int node;
	/** @pid: the first process that has it open */
	pid_t pid;
	/** @processes: processes that have it open */
	unsigned int processes;
	/** @counted: the process that was counted last */
	pid_t counted;
	/** @ns: CLOCK_MONOTONIC when @info was read */
	uint64_t ns;
	/** @uid: owner of that process */
	uid_t uid;
	/** @comm: name of that process, clean */
	char comm[64];
	/** @user: name of the owner, or the number */
	char user[40];
	/** @info: contents of its fdinfo */
	struct fdinfo info;
	/** @queues: number of its queues, SYS_UNKNOWN if it is not available */
	int64_t queues;
};

/**
 * struct sys_clients - clients in order of device, process and number
 */
struct sys_clients {
	/** @list: clients */
	struct sys_client *list;
	/** @count: number of clients */
	unsigned int count;
	/** @hidden: processes whose files this user may not see */
	unsigned int hidden;
	/** @malformed: descriptors of the driver whose text made no sense */
	unsigned int malformed;
	/** @why: error message for the last of them */
	char why[160];
};

/**
 * sys_clients_read - find the clients of nodes
 * @opts: root of the files
 * @nodes: devices
 * @clients: out; to be released with sys_clients_free()
 *
 * Return: 0, or a negative errno if /proc cannot be read.
 */
int sys_clients_read(const struct sys_opts *opts, const struct sys_nodes *nodes,
		     struct sys_clients *clients);

/**
 * sys_clients_free - give clients up
 * @clients: clients
 */
void sys_clients_free(struct sys_clients *clients);

/* sys_dump.c */

/**
 * sys_coredump - the newest existing core dump of a device
 * @opts: root of the files
 * @node: device
 * @path: out: file, empty if there is none
 *
 * Return: its number, which increases with each dump of the system, -1 if there is none.
 */
int64_t sys_coredump(const struct sys_opts *opts, const struct sys_node *node,
		     char path[PATH_MAX]);

#endif /* ACCELCTL_SYS_H */
