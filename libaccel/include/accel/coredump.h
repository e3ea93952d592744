/* SPDX-License-Identifier: MIT */
/*
 * Reading core dumps of devices.
 */
#ifndef ACCEL_COREDUMP_H
#define ACCEL_COREDUMP_H

#include <stddef.h>
#include <stdint.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * accel_coredump_format - convert a core dump of a device to text
 * @data: the dump, as read from /sys/class/devcoredump; NULL is not a dump
 * @size: bytes of it
 * @text: out: lines of ASCII, NUL-terminated; to be freed with free()
 *
 * Shows the header, the job at fault with its tasks, the page-table walk, rings, registers
 * and preceding events. The dump is not trusted; sections of unknown types are named and
 * skipped. No device is needed.
 *
 * Threads: any, also at the same time with the same @data.
 *
 * Return: 0; -EBADMSG the dump is truncated or contradicts itself, and, other
 * than with the errors that follow, @text is set: to what could be read, with a
 * line that begins with "error: " where something is wrong. -EINVAL not a
 * dump, or no @text; -EPROTO a version that this library does not know;
 * -ENOMEM.
 */
ACCEL_API int accel_coredump_format(const void *data, size_t size, char **text);

/** ACCEL_COREDUMP_JOB: there is a job at fault */
#define ACCEL_COREDUMP_JOB	(1u << 0)
/** ACCEL_COREDUMP_WALK: there is a page-table walk */
#define ACCEL_COREDUMP_WALK	(1u << 1)

/**
 * struct accel_coredump_info - summary of a core dump
 *
 * Strings are ASCII; other characters and backslashes are escaped as \xNN.
 */
struct accel_coredump_info {
	/** @size: sizeof(struct accel_coredump_info) */
	uint32_t size;
	/** @parts: ACCEL_COREDUMP_*: which of the fields below @kernel are set */
	uint32_t parts;
	/** @realtime_ns: CLOCK_REALTIME of the dump */
	uint64_t realtime_ns;
	/** @boottime_ns: CLOCK_BOOTTIME of the dump */
	uint64_t boottime_ns;
	/** @timestamp: device ticks */
	uint64_t timestamp;
	/** @timestamp_hz: device ticks per second */
	uint64_t timestamp_hz;
	/** @hw_version: major << 16 | minor of the register contract */
	uint32_t hw_version;
	/** @driver_version: major << 16 | minor of the driver's interface */
	uint32_t driver_version;
	/** @cause: "fault", "hang", "wedged", "unknown"; empty without a whole header */
	char cause[16];
	/** @device: name of the device */
	char device[260];
	/** @profile: chip */
	char profile[132];
	/** @kernel: release of the kernel */
	char kernel[260];
	/** @engine_name: job: engine, as the driver names it */
	char engine_name[68];
	/** @comm: job: name of the process */
	char comm[68];
	/** @reason: job: reason of the fault: "read", "dtype"; "none" if there is none */
	char reason[32];
	/** @slot: job: operand at fault: "d", "a", "bias"; empty if none */
	char slot[16];
	/** @engine: job: &enum accel_engine, 0 if unknown */
	uint32_t engine;
	/** @engine_index: job: index of the engine */
	uint32_t engine_index;
	/** @error: job: negative errno, 0 if none */
	int32_t error;
	/** @pid: job: process */
	uint32_t pid;
	/** @queue: job: queue */
	uint32_t queue;
	/** @as: job: hardware address space */
	uint32_t as;
	/** @number: job: number in its queue */
	uint64_t number;
	/** @seqno: job: number on its engine */
	uint64_t seqno;
	/** @tasks_addr: job: device address of its tasks */
	uint64_t tasks_addr;
	/** @task_count: job: number of tasks */
	uint32_t task_count;
	/** @task_index: job: task at fault */
	uint32_t task_index;
	/** @addr: job: device address of the fault, 0 if none */
	uint64_t addr;
	/** @walk_addr: walk: device address */
	uint64_t walk_addr;
	/** @walk_entry: walk: entry of each level, from the root on */
	uint64_t walk_entry[4];
	/** @walk_levels: walk: number of entries that were read */
	uint32_t walk_levels;
	/** @walk_writable: walk: 1: it ended in writable memory */
	uint32_t walk_writable;
	/**
	 * @walk_end: walk: "none": there is no table; "invalid": nothing is mapped;
	 * "malformed"; "block", "page": mapped; "table": incomplete
	 */
	char walk_end[16];
};

/**
 * accel_coredump_get_info - read header, job and walk of a core dump
 * @data: the dump; NULL is no dump
 * @size: bytes of it
 * @info: out
 *
 * Threads: any, also at the same time with the same @data.
 *
 * Return: 0; -EBADMSG the dump is truncated or contradicts itself, and @info
 * has what could be read; -EINVAL not a dump, or size of @info; -EPROTO a
 * version that this library does not know.
 */
ACCEL_API int accel_coredump_get_info(const void *data, size_t size,
				      struct accel_coredump_info *info);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_COREDUMP_H */
