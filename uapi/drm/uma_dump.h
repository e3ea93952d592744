/* SPDX-License-Identifier: MIT */
/*
 * Format of the device coredumps of the uma driver: what a device and its
 * driver knew when a job hung or faulted, or a device did not come back from a
 * reset. Read through /sys/class/devcoredump, by root.
 *
 * A header, then sections, each a multiple of 8 bytes. All numbers are
 * little-endian. A reader skips sections that it does not know, and reads of a
 * section that is longer than it knows what it knows.
 */
#ifndef _UMA_DUMP_H_
#define _UMA_DUMP_H_

#include "uma_task.h"

#if defined(__cplusplus)
extern "C" {
#endif

/** UMA_DUMP_MAGIC: "UMADUMP1", first byte first */
#define UMA_DUMP_MAGIC		0x31504d5544414d55ull
/** UMA_DUMP_MAX_SIZE: no dump is larger */
#define UMA_DUMP_MAX_SIZE	(1u << 20)

/**
 * enum uma_dump_cause - why there is a dump
 * @UMA_DUMP_FAULT: the device reported a fault
 * @UMA_DUMP_HANG: a job ran into its timeout
 * @UMA_DUMP_WEDGED: the device did not come back from a reset
 */
enum uma_dump_cause {
	UMA_DUMP_FAULT = 1,
	UMA_DUMP_HANG = 2,
	UMA_DUMP_WEDGED = 3
};

/**
 * struct uma_dump_header - first in the file
 */
struct uma_dump_header {
	/** @magic: UMA_DUMP_MAGIC */
	__u64 magic;
	/** @version: 1 */
	__u32 version;
	/** @cause: &enum uma_dump_cause */
	__u32 cause;
	/** @size: bytes of the file */
	__u64 size;
	/** @realtime_ns: CLOCK_REALTIME */
	__u64 realtime_ns;
	/** @boottime_ns: CLOCK_BOOTTIME */
	__u64 boottime_ns;
	/** @timestamp: device ticks */
	__u64 timestamp;
	/** @timestamp_hz: device ticks a second */
	__u64 timestamp_hz;
	/** @hw_version: major << 16 | minor of the register contract */
	__u32 hw_version;
	/** @driver_version: major << 16 | minor of the driver's interface */
	__u32 driver_version;
	/** @device: name of the device, NUL-terminated */
	char device[64];
	/** @profile: name of the chip, NUL-terminated */
	char profile[32];
	/** @kernel: release of the kernel, NUL-terminated */
	char kernel[64];
};

/**
 * enum uma_dump_type - types of sections
 * @UMA_DUMP_JOB: one &struct uma_dump_job: the job at fault
 * @UMA_DUMP_REGS: array of &struct uma_dump_reg: registers of the device and of all engines
 * @UMA_DUMP_RING: one &struct uma_dump_ring, then entries and records as the device sees them
 * @UMA_DUMP_TASKS: one &struct uma_dump_tasks, then whole &struct uma_task
 * @UMA_DUMP_WALK: one &struct uma_dump_walk: page-table walk of the address at fault
 * @UMA_DUMP_HISTORY: array of &struct uma_dump_event, oldest first, of all engines
 */
enum uma_dump_type {
	UMA_DUMP_JOB = 1,
	UMA_DUMP_REGS = 2,
	UMA_DUMP_RING = 3,
	UMA_DUMP_TASKS = 4,
	UMA_DUMP_WALK = 5,
	UMA_DUMP_HISTORY = 6
};

/**
 * struct uma_dump_section - in front of each section
 */
struct uma_dump_section {
	/** @type: &enum uma_dump_type */
	__u32 type;
	/** @size: bytes that follow, a multiple of 8 */
	__u32 size;
};

/**
 * struct uma_dump_job - a job
 */
struct uma_dump_job {
	/** @engine: index of the engine */
	__u32 engine;
	/** @error: errno of its fence, positive */
	__u32 error;
	/** @pid: process that made the queue */
	__u32 pid;
	/** @queue_id: queue */
	__u32 queue_id;
	/** @number: of the job in its queue, from 1 */
	__u64 number;
	/** @seqno: of the job on its engine */
	__u64 seqno;
	/** @tasks_addr: device address of its tasks */
	__u64 tasks_addr;
	/** @task_count: tasks */
	__u32 task_count;
	/** @task_index: the one at fault */
	__u32 task_index;
	/** @reason: &enum uma_fault */
	__u32 reason;
	/** @slot: &enum uma_slot or UMA_FAULT_NO_SLOT */
	__u32 slot;
	/** @fault_addr: device address, for faults on an address */
	__u64 fault_addr;
	/** @as: hardware address space */
	__u32 as;
	/** @engine_class: &enum uma_engine_class */
	__u32 engine_class;
	/** @engine_name: NUL-terminated */
	char engine_name[16];
	/** @comm: name of the process, NUL-terminated; empty if the process has gone */
	char comm[16];
};

/**
 * struct uma_dump_reg - a register
 */
struct uma_dump_reg {
	/** @offset: byte offset */
	__u32 offset;
	/** @value: what it read as */
	__u32 value;
};

/**
 * struct uma_dump_ring - a ring
 */
struct uma_dump_ring {
	/** @engine: index of the engine */
	__u32 engine;
	/** @order: log2 of the entries, and of the records behind them */
	__u32 order;
	/** @head: the device's index */
	__u32 head;
	/** @tail: the driver's index */
	__u32 tail;
	/** @entry_size: bytes of an entry */
	__u32 entry_size;
	/** @record_size: bytes of a record */
	__u32 record_size;
};

/**
 * struct uma_dump_tasks - some tasks of the job
 */
struct uma_dump_tasks {
	/** @first: index of the first in the job */
	__u32 first;
	/** @count: tasks that follow */
	__u32 count;
};

/** UMA_DUMP_LEVELS: levels of a page table */
#define UMA_DUMP_LEVELS		4

/**
 * struct uma_dump_walk - a page-table walk
 */
struct uma_dump_walk {
	/** @addr: device address */
	__u64 addr;
	/** @levels: entries of @entry that were read; the last is the one that ends the walk */
	__u32 levels;
	/** @pad: zero */
	__u32 pad;
	/** @entry: entry of each level, the root's first */
	__u64 entry[UMA_DUMP_LEVELS];
};

/**
 * enum uma_dump_event_type - what happened
 * @UMA_DUMP_EVENT_RUN: a job was given to the engine
 * @UMA_DUMP_EVENT_DONE: a job that had been given to it ended
 * @UMA_DUMP_EVENT_RESET: the engine was reset
 * @UMA_DUMP_EVENT_PREEMPT: a job was stopped between two tasks or tiles, to be given to it again
 */
enum uma_dump_event_type {
	UMA_DUMP_EVENT_RUN = 1,
	UMA_DUMP_EVENT_DONE = 2,
	UMA_DUMP_EVENT_RESET = 3,
	UMA_DUMP_EVENT_PREEMPT = 4
};

/**
 * struct uma_dump_event - something that happened to an engine
 */
struct uma_dump_event {
	/** @boottime_ns: when, CLOCK_BOOTTIME */
	__u64 boottime_ns;
	/** @engine: index of the engine */
	__u32 engine;
	/** @type: &enum uma_dump_event_type */
	__u32 type;
	/** @seqno: of the job on the engine, 0 if there is none: a preempted one ended without */
	__u64 seqno;
	/** @number: of the job in its queue */
	__u64 number;
	/** @pid: process */
	__u32 pid;
	/** @queue_id: queue */
	__u32 queue_id;
	/** @error: errno, positive, 0 for none */
	__u32 error;
	/** @pad: zero */
	__u32 pad;
};

#if defined(__cplusplus)
}
#endif

#endif /* _UMA_DUMP_H_ */
