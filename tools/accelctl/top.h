/* SPDX-License-Identifier: MIT */
/* top: samples, and differences between two of them. */
#ifndef ACCELCTL_TOP_H
#define ACCELCTL_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "sys.h"

struct ctl;
struct ctl_grid;

/**
 * enum top_sort - sort order of clients
 * @TOP_SORT_SHARE: share of the engines, the largest first
 * @TOP_SORT_MEMORY: resident memory, the largest first
 * @TOP_SORT_PID: process, the smallest first
 * @TOP_SORT_USER: name of the owner
 * @TOP_SORT_COMM: name of the process
 * @TOP_SORT_COUNT: number of values
 */
enum top_sort {
	TOP_SORT_SHARE,
	TOP_SORT_MEMORY,
	TOP_SORT_PID,
	TOP_SORT_USER,
	TOP_SORT_COMM,
	TOP_SORT_COUNT
};

/** top_sort_names - their names */
extern const char *const top_sort_names[];

/**
 * struct top_opts - options of top
 */
struct top_opts {
	/** @sys: where to look */
	struct sys_opts sys;
	/** @interval: seconds between samples */
	double interval;
	/** @count: samples, 0 without end */
	uint64_t count;
	/** @sort: &enum top_sort */
	uint32_t sort;
	/** @reverse: the other way round */
	uint32_t reverse;
	/** @batch: text even on a terminal */
	uint32_t batch;
};

/**
 * struct top_engine - an engine at one time
 */
struct top_engine {
	/** @ns: CLOCK_MONOTONIC when @busy_us was read */
	uint64_t ns;
	/** @busy_us: time that it worked; this and the others may be SYS_UNKNOWN */
	int64_t busy_us;
	/** @jobs: jobs done */
	int64_t jobs;
	/** @clock_max_mhz: highest clock */
	int64_t clock_max_mhz;
	/** @percent: share of the interval that it worked, negative if unknown */
	double percent;
};

/**
 * struct top_node - a device at one time; numbers may be SYS_UNKNOWN
 */
struct top_node {
	/** @gone: it is not there any more */
	bool gone;
	/** @engines: as in &struct sys_node */
	struct top_engine engines[SYS_ENGINES];
	/** @clock_hz: clock now */
	int64_t clock_hz;
	/** @clock_max_hz: highest clock allowed */
	int64_t clock_max_hz;
	/** @temp_mc: millidegrees Celsius */
	int64_t temp_mc;
	/** @power_uw: microwatts */
	int64_t power_uw;
	/** @modelled: both are computed by a model */
	bool modelled;
	/** @memory_used: bytes of resident buffers */
	int64_t memory_used;
	/** @throttled: 1 if it is slowed down */
	int64_t throttled;
	/** @mode: power mode, or empty */
	char mode[32];
};

/** struct top_client - a client, and its activity since the previous sample */
struct top_client {
	/** @now: as of now */
	const struct sys_client *now;
	/** @interval_ns: time since it was seen before, 0 if it is new */
	uint64_t interval_ns;
	/** @busy_ns: time on each class of engines in that interval, as in fdinfo */
	uint64_t busy_ns[FDINFO_CLASSES];
	/** @percent: that in percent of the interval and of all engines of the class */
	double percent[FDINFO_CLASSES];
	/** @share: largest of @percent */
	double share;
};

/**
 * struct top_sample - all of it at one time
 */
struct top_sample {
	/** @wall_ns: CLOCK_REALTIME */
	uint64_t wall_ns;
	/** @ns: CLOCK_MONOTONIC */
	uint64_t ns;
	/** @interval_ns: time since the sample before */
	uint64_t interval_ns;
	/** @nodes: one for each device */
	struct top_node *nodes;
	/** @clients: those that there are */
	struct sys_clients clients;
	/** @rows: one for each of them, sorted */
	struct top_client *rows;
};

/* top_sample.c */

/**
 * top_take - take a sample
 * @opts: root of the files
 * @nodes: devices
 * @sample: out; to be released with top_free()
 *
 * Return: 0, or a negative errno.
 */
int top_take(const struct top_opts *opts, const struct sys_nodes *nodes,
	     struct top_sample *sample);

/**
 * top_compare - compute differences from the previous sample, and sort
 * @opts: sort order
 * @nodes: devices
 * @before: previous sample
 * @now: sample
 */
void top_compare(const struct top_opts *opts, const struct sys_nodes *nodes,
		 const struct top_sample *before, struct top_sample *now);

/**
 * top_sort - sort again
 * @opts: how to sort
 * @sample: sample
 */
void top_sort(const struct top_opts *opts, struct top_sample *sample);

/**
 * top_free - give a sample up
 * @sample: sample
 */
void top_free(struct top_sample *sample);

/**
 * top_node_line - a line about a device: clock, temperature, power, memory
 * @node: device
 * @now: what was read
 * @line: out
 * @size: bytes of @line
 */
void top_node_line(const struct sys_node *node, const struct top_node *now, char *line,
		   size_t size);

/**
 * top_grid - the clients as a table
 * @nodes: devices
 * @sample: sample
 * @table: out
 */
void top_grid(const struct sys_nodes *nodes, const struct top_sample *sample,
	      struct ctl_grid *table);

/* top_screen.c */

/**
 * top_screen - show samples on the terminal until the user has seen enough
 * @ctl: invocation
 * @opts: options; keys change them
 * @nodes: devices
 *
 * Return: an exit status; -ENOTTY: curses cannot draw on this terminal, and nothing was shown.
 */
int top_screen(struct ctl *ctl, struct top_opts *opts, const struct sys_nodes *nodes);

#endif /* ACCELCTL_TOP_H */
