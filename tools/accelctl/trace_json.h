/* SPDX-License-Identifier: MIT */
/*
 * From lines of trace_pipe, and such as the in-process device writes, to a file in
 * the Chrome trace format.
 */
#ifndef ACCELCTL_TRACE_JSON_H
#define ACCELCTL_TRACE_JSON_H

#include <stdbool.h>
#include <stdint.h>

struct trace_json;

/**
 * struct trace_device - a device that events may be of
 */
struct trace_device {
	/** @name: as events call it: "uma_emu.0" */
	char name[64];
	/** @label: as people call it: "accel0" */
	char label[32];
	/** @tick_hz: frequency of its time stamps, 0 if unknown */
	uint64_t tick_hz;
	/** @ticks: its time at @ns */
	uint64_t ticks;
	/** @ns: CLOCK_MONOTONIC at @ticks */
	uint64_t ns;
};

/**
 * struct trace_count - what was seen
 */
struct trace_count {
	/** @events: events of the driver */
	uint64_t events;
	/** @jobs: jobs that ran to their end */
	uint64_t jobs;
	/** @failed: those that ended with an error */
	uint64_t failed;
	/** @unfinished: jobs that had not ended when the trace did */
	uint64_t unfinished;
	/** @ops: operations of jobs in process */
	uint64_t ops;
	/** @faults: faults */
	uint64_t faults;
	/** @resets: resets */
	uint64_t resets;
	/** @lost: events that the kernel had to drop */
	uint64_t lost;
	/** @malformed: lines that made no sense */
	uint64_t malformed;
};

/**
 * trace_json_open - begin a file
 * @path: file, made or overwritten
 * @devices: devices that are known, stays the caller's until the end
 * @count: number of @devices
 * @comm_of: name of a process, or NULL; @user is passed on
 * @user: passed on
 * @out: out
 *
 * Whenever the file is looked at, or writing ends, it is valid JSON, if it is an
 * ordinary file.
 *
 * Return: 0, or a negative errno.
 */
int trace_json_open(const char *path, const struct trace_device *devices, unsigned int count,
		    void (*comm_of)(void *user, int pid, char comm[64]), void *user,
		    struct trace_json **out);

/**
 * trace_json_line - take a line
 * @tj: trace
 * @line: without its end; is written to
 *
 * What makes no sense is counted.
 *
 * Return: 0, or -ENOMEM.
 */
int trace_json_line(struct trace_json *tj, char *line);

/**
 * trace_json_flush - write what was taken
 * @tj: trace
 *
 * Return: 0, or a negative errno.
 */
int trace_json_flush(struct trace_json *tj);

/**
 * trace_json_count - what was seen so far
 * @tj: trace
 *
 * Return: the counters; @lost may be raised by the caller.
 */
struct trace_count *trace_json_count(struct trace_json *tj);

/**
 * trace_json_close - end the file
 * @tj: trace, given up
 * @count: out: what was seen, or NULL
 *
 * Return: 0, or a negative errno.
 */
int trace_json_close(struct trace_json *tj, struct trace_count *count);

#endif /* ACCELCTL_TRACE_JSON_H */
