/* SPDX-License-Identifier: MIT */
/*
 * Userspace interface of the uma driver: accelerators that share memory with
 * the CPU, /dev/accel/accelN. One header, most of it prose, as every driver has.
 */
#ifndef _UMA_ACCEL_H_
#define _UMA_ACCEL_H_

#include "drm.h"
#include "uma_task.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Introduction
 *
 * A file of /dev/accel/accelN is a client. It owns buffer objects (GEM
 * handles), address spaces (VMs), and queues; none is visible to another
 * client. A buffer is bound into an address space at an address that the
 * client chooses; tasks (uma_task.h) are written to such a buffer by the CPU;
 * a submit names their address. The driver reads no task: what a task can
 * reach is what its address space maps.
 *
 * Rules that hold for every ioctl:
 *
 * - Unknown flags, nonzero pads, and fields that the operation does not use
 *   are refused with -EINVAL before anything is looked up or allocated.
 * - The top-level argument structs are frozen. Arrays are passed as &struct
 *   drm_uma_array: a longer element than the driver knows is accepted if its
 *   tail is zero (-E2BIG otherwise); an element shorter than the first version
 *   is -EINVAL.
 * - Every count has a limit that DRM_UMA_QUERY_LIMITS reports; above it
 *   -EINVAL.
 * - Handles and ids are per file, never 0. One that does not exist is -ENOENT.
 * - Pads of results are zero. A failed ioctl leaves no trace.
 * - After the device has gone, every ioctl fails with -ENODEV.
 *
 * Synchronisation is explicit, by syncobjs, but for buffers that a job names in
 * &drm_uma_job.bos. There is no private wait: use
 * DRM_IOCTL_SYNCOBJ_WAIT and friends, sync_file or eventfd. A job's fence
 * carries its error: -ETIME the job ran into its timeout, -EFAULT the device
 * refused a task or faulted on an address, -ECANCELED its queue was banned,
 * closed, or a job that it waited for within the same queue was the reason,
 * -ENODEV the device is gone.
 *
 * Additions raise the minor of the driver's version; what has no other number
 * next to it is in 1.0.
 */

/**
 * enum drm_uma_ioctl_id - ioctl numbers, never reordered or reused
 * @DRM_UMA_QUERY: describe the device
 * @DRM_UMA_BO_CREATE: create a buffer object
 * @DRM_UMA_BO_MMAP_OFFSET: get the offset to mmap a buffer at
 * @DRM_UMA_BO_IMPORT_USER: wrap user memory in a buffer object
 * @DRM_UMA_BO_INFO: describe a buffer object
 * @DRM_UMA_BO_LABEL: name a buffer object for debugging
 * @DRM_UMA_BO_SYNC: make CPU or device writes visible to the other side
 * @DRM_UMA_VM_CREATE: create an address space
 * @DRM_UMA_VM_DESTROY: destroy an address space
 * @DRM_UMA_VM_BIND: change mappings of an address space
 * @DRM_UMA_QUEUE_CREATE: create a queue
 * @DRM_UMA_QUEUE_DESTROY: destroy a queue
 * @DRM_UMA_QUEUE_STATE: read a queue's state and last fault
 * @DRM_UMA_SUBMIT: submit jobs
 * @DRM_UMA_TIMESTAMP: read device and CPU clocks together
 * @DRM_UMA_BO_MADVISE: say whether a buffer's contents are needed (1.1)
 * @DRM_UMA_COUNTERS: read what a queue or an engine has done (1.1)
 */
enum drm_uma_ioctl_id {
	DRM_UMA_QUERY = 0,
	DRM_UMA_BO_CREATE = 1,
	DRM_UMA_BO_MMAP_OFFSET = 2,
	DRM_UMA_BO_IMPORT_USER = 3,
	DRM_UMA_BO_INFO = 4,
	DRM_UMA_BO_LABEL = 5,
	DRM_UMA_BO_SYNC = 6,
	DRM_UMA_VM_CREATE = 7,
	DRM_UMA_VM_DESTROY = 8,
	DRM_UMA_VM_BIND = 9,
	DRM_UMA_QUEUE_CREATE = 10,
	DRM_UMA_QUEUE_DESTROY = 11,
	DRM_UMA_QUEUE_STATE = 12,
	DRM_UMA_SUBMIT = 13,
	DRM_UMA_TIMESTAMP = 14,
	DRM_UMA_BO_MADVISE = 15,
	DRM_UMA_COUNTERS = 16
};

/**
 * struct drm_uma_array - an array of extensible structs in user memory
 */
struct drm_uma_array {
	/**
	 * @stride: bytes from one element to the next, the size of the caller's
	 * struct; a multiple of 8
	 */
	__u32 stride;
	/** @count: number of elements */
	__u32 count;
	/** @array: user pointer to the first; 0 if and only if @count is 0, else -EINVAL */
	__u64 array;
};

/**
 * enum drm_uma_query_type - what DRM_UMA_QUERY returns
 * @DRM_UMA_QUERY_DEVICE: one &struct drm_uma_query_device
 * @DRM_UMA_QUERY_ENGINES: array of &struct drm_uma_query_engine
 * @DRM_UMA_QUERY_ENGINE_CAPS: array of &struct uma_op_cap; the index selects the engine
 * @DRM_UMA_QUERY_MEMORY: array of &struct drm_uma_query_memory, one a node
 * @DRM_UMA_QUERY_LIMITS: one &struct drm_uma_query_limits
 */
enum drm_uma_query_type {
	DRM_UMA_QUERY_DEVICE = 1,
	DRM_UMA_QUERY_ENGINES = 2,
	DRM_UMA_QUERY_ENGINE_CAPS = 3,
	DRM_UMA_QUERY_MEMORY = 4,
	DRM_UMA_QUERY_LIMITS = 5
};

/**
 * struct drm_uma_query - DRM_IOCTL_UMA_QUERY
 *
 * With @data 0 the ioctl returns the full size in @size. Otherwise it copies
 * the lesser of @size and the full size, zeroes the rest of the caller's
 * memory up to @size, and writes back the full size.
 *
 * Returns 0; -EINVAL unknown @type, @index out of range or not used by @type,
 * @pad not zero; -EFAULT @data not writable.
 */
struct drm_uma_query {
	/** @type: &enum drm_uma_query_type */
	__u32 type;
	/** @index: engine, for DRM_UMA_QUERY_ENGINE_CAPS; else must be zero */
	__u32 index;
	/** @size: in: bytes at @data, out: bytes that there are */
	__u32 size;
	/** @pad: must be zero */
	__u32 pad;
	/** @data: user pointer, or 0 */
	__u64 data;
};

/** DRM_UMA_DEVICE_EMULATED: the device is software */
#define DRM_UMA_DEVICE_EMULATED		(1u << 0)
/** DRM_UMA_DEVICE_MODELLED_POWER: clock, temperature, power and energy are modelled */
#define DRM_UMA_DEVICE_MODELLED_POWER	(1u << 1)
/** DRM_UMA_DEVICE_COHERENT: device accesses are coherent with cached CPU mappings */
#define DRM_UMA_DEVICE_COHERENT		(1u << 2)

/**
 * struct drm_uma_query_device - the device
 */
struct drm_uma_query_device {
	/** @profile: name of the chip, NUL-terminated: "m1", "ultra" */
	char profile[32];
	/** @flags: DRM_UMA_DEVICE_* */
	__u64 flags;
	/** @hw_version: major << 16 | minor of the register contract */
	__u32 hw_version;
	/** @task_version: UMA_TASK_VERSION that the device executes */
	__u32 task_version;
	/** @engine_count: number of engines */
	__u32 engine_count;
	/** @node_count: number of memory nodes */
	__u32 node_count;
	/** @timestamp_hz: frequency of the device's timestamp counter */
	__u64 timestamp_hz;
	/** @va_bits: width of device addresses */
	__u32 va_bits;
	/** @page_size: smallest page that can be bound */
	__u32 page_size;
	/** @block_size: larger page that the device can map at once */
	__u64 block_size;
};

/**
 * struct drm_uma_query_engine - one engine
 */
struct drm_uma_query_engine {
	/** @engine_class: &enum uma_engine_class */
	__u32 engine_class;
	/** @instance: index within the class, from 0 */
	__u32 instance;
	/** @flags: UMA_ENGINE_* */
	__u32 flags;
	/** @node: memory node that the engine is near to */
	__u32 node;
	/** @cap_count: rows that DRM_UMA_QUERY_ENGINE_CAPS returns */
	__u32 cap_count;
	/** @clock_max_mhz: highest clock */
	__u32 clock_max_mhz;
	/** @max_job_tasks: largest task count of a job */
	__u32 max_job_tasks;
	/** @pad: zero */
	__u32 pad;
};

/**
 * struct drm_uma_query_memory - one memory node
 */
struct drm_uma_query_memory {
	/** @node: index */
	__u32 node;
	/** @pad: zero */
	__u32 pad;
	/** @size: bytes of RAM */
	__u64 size;
	/** @bandwidth: peak bytes a second of the chip, modelled, 0 if unknown */
	__u64 bandwidth;
};

/**
 * enum drm_uma_priority - queue priorities
 * @DRM_UMA_PRIORITY_LOW: a quarter of what a normal one gets
 * @DRM_UMA_PRIORITY_NORMAL: the default
 * @DRM_UMA_PRIORITY_HIGH: four times what a normal one gets; needs CAP_SYS_NICE
 * @DRM_UMA_PRIORITY_REALTIME: goes before all others; needs CAP_SYS_NICE
 *
 * Open files that want an engine at the same time share its time by these
 * weights, however many jobs and queues they have. A job makes room between two tiles
 * of a task when it has had a slice, or at once for one of real-time priority, on engines
 * with UMA_ENGINE_PREEMPT (1.4); on others between two of its tasks, if they can stop there.
 * What is said here of a tile holds for a task then. A task that is left in its middle is
 * read anew when it goes on: until a job is done its tasks, and the dimensions in memory that
 * they name, must stay as they are. It faults, or does something else to the memory of its own
 * address space, if they do not. A file whose job ran into its timeout waits for as
 * long again before it gets that engine the next time.
 *
 * The fence of a job that makes room, which may be in reservation objects that others wait
 * for, signals when all of the job is done. Until then each other file, one that comes
 * meanwhile as well, has as much of the engine as that of the job, by their weights, and a
 * slice and a tile beyond. A file counts at each of its priorities, and what it has had before
 * counts as long as the others have not had as much. Where N files want the engine at one
 * priority, the first job of one of them, which takes T by itself, is done after
 * N * T + (N - 1) * (slice + tile) of the engine's time at most, slices as long as the kernel's
 * timers make them. A file that wants the engine for the first time begins behind what those have
 * had beyond their part whose files were closed: a slice and a tile more of each of the others.
 * Resets come on top, and the waits of jobs for one of fewer hardware address
 * spaces than engines. Beside real-time queues there is no bound.
 */
enum drm_uma_priority {
	DRM_UMA_PRIORITY_LOW = 0,
	DRM_UMA_PRIORITY_NORMAL = 1,
	DRM_UMA_PRIORITY_HIGH = 2,
	DRM_UMA_PRIORITY_REALTIME = 3
};

/**
 * struct drm_uma_query_limits - the caps on counts and sizes
 */
struct drm_uma_query_limits {
	/** @max_bo_size: bytes of one buffer object */
	__u64 max_bo_size;
	/** @va_start: lowest address that can be bound; page 0 never is */
	__u64 va_start;
	/** @va_end: one past the highest address that can be bound */
	__u64 va_end;
	/** @max_vms: address spaces per file */
	__u32 max_vms;
	/** @max_queues: queues per file, with those that were destroyed and have a job left */
	__u32 max_queues;
	/** @max_bind_ops: operations in one DRM_UMA_VM_BIND */
	__u32 max_bind_ops;
	/** @max_sync_ranges: ranges in one DRM_UMA_BO_SYNC */
	__u32 max_sync_ranges;
	/** @max_submit_jobs: jobs in one DRM_UMA_SUBMIT */
	__u32 max_submit_jobs;
	/** @max_job_syncs: syncs of one job */
	__u32 max_job_syncs;
	/** @max_job_tasks: tasks of one job on any engine */
	__u32 max_job_tasks;
	/** @max_label: bytes of a label, terminator excluded */
	__u32 max_label;
	/**
	 * @max_timeout_ms: longest timeout that a queue of this client may ask for: without
	 * CAP_SYS_NICE no longer than default_timeout_ms
	 */
	__u32 max_timeout_ms;
	/** @default_timeout_ms: timeout of a queue that asks for none */
	__u32 default_timeout_ms;
	/** @max_mappings: mappings of one address space */
	__u32 max_mappings;
	/** @priorities: mask of 1 << &enum drm_uma_priority that this client may use */
	__u32 priorities;
	/** @max_queued_jobs: unfinished jobs of one queue; above it -EBUSY */
	__u32 max_queued_jobs;
	/** @max_job_bos: buffers of one job (1.1) */
	__u32 max_job_bos;
	/** @max_submit_bos: buffers of all jobs of one DRM_UMA_SUBMIT (1.1) */
	__u32 max_submit_bos;
	/**
	 * @max_file_jobs: unfinished jobs of all queues of a file, with those of queues that were
	 * destroyed; above it -EBUSY. Before 1.3 there was no such limit, and this is zero
	 */
	__u32 max_file_jobs;
};

/**
 * DRM_UMA_BO_WC - CPU mappings are write-combined: for streams that the CPU only writes, and for
 * what is exported to a device of another driver that does not see the CPU's caches
 */
#define DRM_UMA_BO_WC		(1u << 0)
/** DRM_UMA_BO_NO_MMAP: the CPU cannot map the buffer; excludes DRM_UMA_BO_WC */
#define DRM_UMA_BO_NO_MMAP	(1u << 1)
/** DRM_UMA_BO_NODE_SHIFT: where DRM_UMA_BO_NODE() is */
#define DRM_UMA_BO_NODE_SHIFT	16
/** DRM_UMA_BO_NODE_MASK: bits of DRM_UMA_BO_NODE() */
#define DRM_UMA_BO_NODE_MASK	(0xfu << DRM_UMA_BO_NODE_SHIFT)
/**
 * DRM_UMA_BO_NODE - flag: the memory node that a buffer is best in (1.1)
 * @n: node, as in &struct drm_uma_query_memory
 *
 * Without it any is fine. It is a wish: a node that is full, or one that Linux
 * does not tell from others, has no effect.
 */
#define DRM_UMA_BO_NODE(n)	(((__u32)(n) + 1) << DRM_UMA_BO_NODE_SHIFT)

/**
 * struct drm_uma_bo_create - DRM_IOCTL_UMA_BO_CREATE
 *
 * The memory is zero. CPU mappings are cached unless a flag says otherwise.
 *
 * Returns 0; -EINVAL @size 0, not a multiple of the page size or above
 * max_bo_size, unknown @flags, a node that the device has not; -ENOMEM.
 */
struct drm_uma_bo_create {
	/** @size: bytes */
	__u64 size;
	/** @flags: DRM_UMA_BO_WC or DRM_UMA_BO_NO_MMAP, DRM_UMA_BO_NODE() */
	__u32 flags;
	/** @handle: out: GEM handle; must be zero on input */
	__u32 handle;
};

/**
 * struct drm_uma_bo_mmap_offset - DRM_IOCTL_UMA_BO_MMAP_OFFSET
 *
 * Returns 0; -ENOENT no such @handle; -EINVAL @pad not zero; -EPERM the buffer
 * was created with DRM_UMA_BO_NO_MMAP, or wraps user memory or an imported
 * dma-buf (map those through what they came from); -EFAULT it has been purged;
 * -ENOMEM, -EINTR its memory did not come, which this gets (1.3), so that mmap() does not
 * have the process wait for it.
 */
struct drm_uma_bo_mmap_offset {
	/** @handle: GEM handle */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @offset: out: offset for mmap on this file; must be zero on input */
	__u64 offset;
};

/** DRM_UMA_USER_READONLY: the device may only read; the memory may be a read-only mapping */
#define DRM_UMA_USER_READONLY	(1u << 0)

/**
 * struct drm_uma_bo_import_user - DRM_IOCTL_UMA_BO_IMPORT_USER
 *
 * Pins the pages for as long as the buffer lives and charges them to the user,
 * who may have RLIMIT_MEMLOCK of the calling process in all processes together.
 * Nothing is copied; the object cannot be exported or mapped.
 *
 * Returns 0; -EINVAL @addr or @size not multiples of the page size, @size 0 or
 * above max_bo_size, unknown @flags; -EFAULT no memory there, or not writable
 * without DRM_UMA_USER_READONLY; -EOPNOTSUPP memory of a device, or file-backed
 * memory that cannot be pinned for long; -ENOMEM, also for RLIMIT_MEMLOCK.
 */
struct drm_uma_bo_import_user {
	/** @addr: user address */
	__u64 addr;
	/** @size: bytes */
	__u64 size;
	/** @flags: DRM_UMA_USER_READONLY */
	__u32 flags;
	/** @handle: out: GEM handle; must be zero on input */
	__u32 handle;
};

/** DRM_UMA_BO_INFO_USER: wraps user memory */
#define DRM_UMA_BO_INFO_USER		(1u << 8)
/** DRM_UMA_BO_INFO_IMPORTED: imported dma-buf */
#define DRM_UMA_BO_INFO_IMPORTED	(1u << 9)
/** DRM_UMA_BO_INFO_EXPORTED: exported as dma-buf */
#define DRM_UMA_BO_INFO_EXPORTED	(1u << 10)
/**
 * DRM_UMA_BO_INFO_READONLY: the device may only read it: user memory that was imported so, or a
 * dma-buf that was exported without write access
 */
#define DRM_UMA_BO_INFO_READONLY	(1u << 11)
/** DRM_UMA_BO_INFO_DONTNEED: its contents may be purged (1.1) */
#define DRM_UMA_BO_INFO_DONTNEED	(1u << 12)
/** DRM_UMA_BO_INFO_PURGED: its contents have gone (1.1) */
#define DRM_UMA_BO_INFO_PURGED		(1u << 13)

/**
 * struct drm_uma_bo_info - DRM_IOCTL_UMA_BO_INFO
 *
 * Returns 0; -ENOENT no such @handle; -EINVAL an output field not zero on
 * input.
 */
struct drm_uma_bo_info {
	/** @handle: GEM handle */
	__u32 handle;
	/** @flags: out: flags of the creation and DRM_UMA_BO_INFO_* */
	__u32 flags;
	/** @size: out: bytes */
	__u64 size;
	/** @resident: out: bytes that have memory now */
	__u64 resident;
	/** @mappings: out: mappings of it in address spaces of all clients */
	__u32 mappings;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct drm_uma_bo_label - DRM_IOCTL_UMA_BO_LABEL
 *
 * Replaces the buffer's label, shown in debugfs and by tools; @size 0 removes it.
 *
 * Returns 0; -ENOENT; -E2BIG @size above max_label; -EINVAL @label 0 with a
 * size or not 0 without, or a NUL or control character in it; -EFAULT; -ENOMEM.
 */
struct drm_uma_bo_label {
	/** @handle: GEM handle */
	__u32 handle;
	/** @size: bytes at @label, no terminator */
	__u32 size;
	/** @label: user pointer */
	__u64 label;
};

/**
 * enum drm_uma_madv - what a buffer's contents are worth
 * @DRM_UMA_MADV_WILLNEED: they are needed, as those of every new buffer
 * @DRM_UMA_MADV_DONTNEED: when memory is short they may go
 */
enum drm_uma_madv {
	DRM_UMA_MADV_WILLNEED = 0,
	DRM_UMA_MADV_DONTNEED = 1
};

/**
 * struct drm_uma_bo_madvise - DRM_IOCTL_UMA_BO_MADVISE
 *
 * Advises on the contents of a buffer. Until the next DRM_UMA_MADV_WILLNEED the
 * kernel may purge one that is not needed, at any time and while jobs use it:
 * what a CPU mapping shows is SIGBUS from then on, and a task that reaches for
 * it faults. A purged buffer stays purged and is only good for being closed;
 * mapping it anywhere fails with -EFAULT.
 *
 * Returns 0; -ENOENT no such @handle; -EINVAL unknown @advice, @retained or
 * @pad not zero; -EPERM the buffer wraps user memory or an imported dma-buf;
 * -EBUSY it is or was exported as a dma-buf, which is -EBUSY in turn for a
 * buffer that is not needed; -EINTR.
 */
struct drm_uma_bo_madvise {
	/** @handle: GEM handle */
	__u32 handle;
	/** @advice: &enum drm_uma_madv */
	__u32 advice;
	/** @retained: out: 1 the contents are there, 0 gone; must be zero on input */
	__u32 retained;
	/** @pad: must be zero */
	__u32 pad;
};

/** DRM_UMA_SYNC_TO_DEVICE: CPU writes become visible to the device */
#define DRM_UMA_SYNC_TO_DEVICE	(1u << 0)
/** DRM_UMA_SYNC_TO_CPU: device writes become visible to the CPU */
#define DRM_UMA_SYNC_TO_CPU	(1u << 1)

/**
 * struct drm_uma_sync_range - element of the array of DRM_UMA_BO_SYNC
 */
struct drm_uma_sync_range {
	/** @handle: GEM handle */
	__u32 handle;
	/** @flags: DRM_UMA_SYNC_*, at least one */
	__u32 flags;
	/** @offset: first byte */
	__u64 offset;
	/** @size: bytes, not 0, inside the buffer */
	__u64 size;
};

/**
 * struct drm_uma_bo_sync - DRM_IOCTL_UMA_BO_SYNC
 *
 * On a coherent device (DRM_UMA_DEVICE_COHERENT) this only checks its
 * arguments. All ranges are checked before the first is synced.
 *
 * After an error it is not known how much has been synced; to sync it again
 * does no harm. Any signal ends the wait for those who use an imported buffer;
 * once memory is being synced only one that kills does.
 *
 * Returns 0; -ENOENT; -EINVAL a range not inside its buffer, unknown or no
 * flags, count 0 or above max_sync_ranges, bad stride; -E2BIG; -EFAULT;
 * -ENOMEM; -EINTR; -ENODEV.
 */
struct drm_uma_bo_sync {
	/** @ranges: array of &struct drm_uma_sync_range */
	struct drm_uma_array ranges;
};

/**
 * struct drm_uma_vm_create - DRM_IOCTL_UMA_VM_CREATE
 *
 * Returns 0; -EINVAL @flags or an output field not zero; -ENOSPC the file has
 * max_vms already; -ENOMEM.
 */
struct drm_uma_vm_create {
	/** @flags: must be zero */
	__u32 flags;
	/** @vm_id: out; must be zero on input */
	__u32 vm_id;
};

/**
 * struct drm_uma_vm_destroy - DRM_IOCTL_UMA_VM_DESTROY
 *
 * Unmaps everything. Jobs of the address space that have not finished fault.
 *
 * Returns 0; -ENOENT; -EINVAL @pad not zero; -EBUSY queues still use it.
 */
struct drm_uma_vm_destroy {
	/** @vm_id: address space */
	__u32 vm_id;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * enum drm_uma_bind_op_type - operations of DRM_UMA_VM_BIND
 * @DRM_UMA_BIND_MAP: map part of a buffer
 * @DRM_UMA_BIND_UNMAP: unmap a range
 */
enum drm_uma_bind_op_type {
	DRM_UMA_BIND_MAP = 0,
	DRM_UMA_BIND_UNMAP = 1
};

/** DRM_UMA_BIND_READONLY: tasks may only read */
#define DRM_UMA_BIND_READONLY	(1u << 0)

/**
 * struct drm_uma_bind_op - element of the array of DRM_UMA_VM_BIND
 *
 * All values are multiples of the page size; @va .. @va + @size is within
 * va_start .. va_end. A map may not touch a range that is mapped when its turn
 * comes (-EEXIST): unmap it in the same call. A map without
 * DRM_UMA_BIND_READONLY of a buffer that the device may only read is -EACCES.
 * An unmap covers any range: mappings inside go, one that crosses its edges is
 * cut, and a range where nothing is mapped is no error; its @handle,
 * @bo_offset and @flags must be zero.
 */
struct drm_uma_bind_op {
	/** @op: &enum drm_uma_bind_op_type */
	__u32 op;
	/** @flags: DRM_UMA_BIND_READONLY */
	__u32 flags;
	/** @handle: GEM handle */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @bo_offset: first byte in the buffer */
	__u64 bo_offset;
	/** @va: device address */
	__u64 va;
	/** @size: bytes, not 0 */
	__u64 size;
};

/**
 * struct drm_uma_vm_bind - DRM_IOCTL_UMA_VM_BIND
 *
 * Applies the operations in order; all of them or, on an error, none. When it
 * returns, the device uses the new mappings and no longer the old ones: a task
 * that runs into an unmapped range faults.
 *
 * Returns 0; -ENOENT no such VM or handle; -EINVAL a bad operation, count 0 or
 * above max_bind_ops, bad stride; -EEXIST, -EACCES see above;
 * -ENOSPC more than max_mappings; -E2BIG; -EFAULT, also for a map of a buffer
 * that has been purged; -ENOMEM; -EINTR. On an error
 * in one operation @failed_op is its index, on success the count; on other
 * errors it stays zero, so that the call can be repeated.
 */
struct drm_uma_vm_bind {
	/** @vm_id: address space */
	__u32 vm_id;
	/** @failed_op: out: see above; must be zero on input */
	__u32 failed_op;
	/** @ops: array of &struct drm_uma_bind_op */
	struct drm_uma_array ops;
};

/**
 * struct drm_uma_queue_create - DRM_IOCTL_UMA_QUEUE_CREATE
 *
 * Jobs of a queue run in order of submission, each on one engine of the class
 * that is in @instances.
 *
 * Returns 0; -ENOENT no such VM; -EINVAL unknown class, @instances empty or
 * with an instance that does not exist, unknown priority, @timeout_ms above
 * 600000, @flags or an output field not zero; -EACCES the priority, or @timeout_ms
 * above max_timeout_ms, needs CAP_SYS_NICE; -ENOSPC the file has max_queues already; -ENOMEM.
 */
struct drm_uma_queue_create {
	/** @vm_id: address space of its jobs */
	__u32 vm_id;
	/** @engine_class: &enum uma_engine_class */
	__u32 engine_class;
	/** @instances: mask of instances of the class */
	__u32 instances;
	/** @priority: &enum drm_uma_priority */
	__u32 priority;
	/**
	 * @timeout_ms: longest run of a job on an engine, 0 for default_timeout_ms. Time in which
	 * others have the engine does not count. Without CAP_SYS_NICE default_timeout_ms as it is
	 * when a job goes to its engine is a limit, whatever it was when the queue was created
	 */
	__u32 timeout_ms;
	/** @flags: must be zero */
	__u32 flags;
	/** @queue_id: out; must be zero on input */
	__u32 queue_id;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct drm_uma_queue_destroy - DRM_IOCTL_UMA_QUEUE_DESTROY
 *
 * Its jobs are cancelled (-ECANCELED). One that made room for others and waits
 * to go on ends at once, one that has not started when the fences that it waits
 * for have signalled, one that runs after the tile that it is in, on an engine
 * with UMA_ENGINE_PREEMPT (1.4), else after the task; what it has done stays
 * done. In its last tile or task, and where engines cannot stop between two tasks,
 * it finishes or runs into its timeout. Closing the file does the same.
 * Until its last job is done the queue counts as one of max_queues.
 *
 * Returns 0; -ENOENT; -EINVAL @pad not zero.
 */
struct drm_uma_queue_destroy {
	/** @queue_id: queue */
	__u32 queue_id;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * enum drm_uma_queue_status - state of a queue
 * @DRM_UMA_QUEUE_OK: takes jobs
 * @DRM_UMA_QUEUE_BANNED: a job of it hung or faulted; submit fails with
 *	-ECANCELED, create another
 * @DRM_UMA_QUEUE_LOST: the device is gone
 */
enum drm_uma_queue_status {
	DRM_UMA_QUEUE_OK = 0,
	DRM_UMA_QUEUE_BANNED = 1,
	DRM_UMA_QUEUE_LOST = 2
};

/** DRM_UMA_QUEUE_GUILTY: a job of this queue caused a fault or a reset */
#define DRM_UMA_QUEUE_GUILTY	(1u << 0)
/** DRM_UMA_QUEUE_INNOCENT: a reset caused by another queue touched an engine of this one */
#define DRM_UMA_QUEUE_INNOCENT	(1u << 1)
/** DRM_UMA_QUEUE_TIMEDOUT: the cause was a timeout */
#define DRM_UMA_QUEUE_TIMEDOUT	(1u << 2)
/** DRM_UMA_QUEUE_FAULTED: the cause was a fault; the fault fields are valid */
#define DRM_UMA_QUEUE_FAULTED	(1u << 3)

/**
 * struct drm_uma_queue_state - DRM_IOCTL_UMA_QUEUE_STATE
 *
 * Returns 0; -ENOENT; -EINVAL a field other than @queue_id not zero on input.
 */
struct drm_uma_queue_state {
	/** @queue_id: queue */
	__u32 queue_id;
	/** @status: out: &enum drm_uma_queue_status */
	__u32 status;
	/** @flags: out: DRM_UMA_QUEUE_GUILTY and so on, since creation */
	__u32 flags;
	/** @engine: out: engine of the first guilty job, index in DRM_UMA_QUERY_ENGINES */
	__u32 engine;
	/** @task_index: out: task of the job that it was in */
	__u32 task_index;
	/** @reason: out: &enum uma_fault */
	__u32 reason;
	/** @slot: out: &enum uma_slot, or UMA_FAULT_NO_SLOT */
	__u32 slot;
	/** @error: out: errno of the guilty job's fence, positive */
	__u32 error;
	/** @fault_addr: out: device address, for faults on an address */
	__u64 fault_addr;
	/** @tasks_addr: out: task list of the guilty job */
	__u64 tasks_addr;
	/** @submitted: out: jobs taken since creation */
	__u64 submitted;
	/** @completed: out: jobs whose fences have signalled, errors included */
	__u64 completed;
};

/**
 * enum drm_uma_sync_type - kinds of sync
 * @DRM_UMA_SYNC_BINARY: binary syncobj
 * @DRM_UMA_SYNC_TIMELINE: a point of a timeline syncobj
 */
enum drm_uma_sync_type {
	DRM_UMA_SYNC_BINARY = 0,
	DRM_UMA_SYNC_TIMELINE = 1
};

/** DRM_UMA_SYNC_SIGNAL: the job signals it; else the job waits for it */
#define DRM_UMA_SYNC_SIGNAL	(1u << 0)

/**
 * struct drm_uma_sync - element of the array of syncs of a job
 */
struct drm_uma_sync {
	/** @type: &enum drm_uma_sync_type */
	__u32 type;
	/** @flags: DRM_UMA_SYNC_SIGNAL */
	__u32 flags;
	/** @handle: syncobj */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @point: timeline point, not 0 to signal; must be zero for binary */
	__u64 point;
};

/** DRM_UMA_JOB_BO_WRITE: the job writes to the buffer */
#define DRM_UMA_JOB_BO_WRITE	(1u << 0)

/**
 * struct drm_uma_job_bo - element of the array of buffers of a job (1.1)
 *
 * For buffers that are shared by implicit synchronisation: the job waits for
 * the fences that are on the buffer when it is submitted - with
 * DRM_UMA_JOB_BO_WRITE for those of readers and writers, without for those of
 * writers - and its own fence is added, as that of a writer or a reader. This
 * is about fences only: it binds nothing, and a job may use buffers that it
 * does not name. A buffer may be named twice; it is written to if one of them
 * says so.
 */
struct drm_uma_job_bo {
	/** @handle: GEM handle */
	__u32 handle;
	/** @flags: DRM_UMA_JOB_BO_WRITE */
	__u32 flags;
};

/**
 * struct drm_uma_job - element of the array of jobs of DRM_UMA_SUBMIT
 */
struct drm_uma_job {
	/** @queue_id: queue */
	__u32 queue_id;
	/** @task_count: tasks, 0 for a job that only carries syncs; at most max_job_tasks */
	__u32 task_count;
	/**
	 * @tasks_addr: device address of the first, a multiple of
	 * UMA_TASK_ALIGN; zero without tasks
	 */
	__u64 tasks_addr;
	/** @syncs: array of &struct drm_uma_sync */
	struct drm_uma_array syncs;
	/** @bos: array of &struct drm_uma_job_bo, up to max_job_bos (1.1) */
	struct drm_uma_array bos;
	/**
	 * @stamps_addr: device address of @task_count &struct uma_task_stamp, a
	 * multiple of 16, that the device fills in; 0 for none, and without
	 * tasks. Where it cannot be written the job faults (1.1)
	 */
	__u64 stamps_addr;
};

/**
 * struct drm_uma_submit - DRM_IOCTL_UMA_SUBMIT
 *
 * All jobs are taken or none. A job may wait for what an earlier job of the
 * same call signals, or has as a buffer. A wait for a syncobj, or a point, that
 * has no fence yet is refused.
 *
 * Returns 0; -ENOENT no such queue, syncobj or buffer; -EINVAL a bad job, sync
 * or buffer, more than max_job_bos or max_submit_bos of those, a wait without
 * fence, two signals of one binary syncobj in one job, count 0 or
 * above max_submit_jobs, bad stride, @flags not zero; -ECANCELED a
 * queue is banned; -EBUSY a queue has max_queued_jobs, or the file max_file_jobs: it goes again
 * once some are done; -EIO power does not come; -E2BIG; -EFAULT; -ENOMEM; -EINTR. On an error in
 * one job @failed_job is its index, on success the count; on other errors it stays zero, so that
 * the call can be repeated.
 */
struct drm_uma_submit {
	/** @flags: must be zero */
	__u32 flags;
	/** @failed_job: out: see above; must be zero on input */
	__u32 failed_job;
	/** @jobs: array of &struct drm_uma_job */
	struct drm_uma_array jobs;
};

/**
 * struct drm_uma_timestamp - DRM_IOCTL_UMA_TIMESTAMP
 *
 * Reads both clocks as close to each other as can be.
 *
 * Returns 0; -EINVAL a field not zero on input.
 */
struct drm_uma_timestamp {
	/** @device: out: device timestamp counter, timestamp_hz ticks a second */
	__u64 device;
	/** @cpu_ns: out: CLOCK_MONOTONIC nanoseconds at that moment */
	__u64 cpu_ns;
	/** @error_ns: out: bound of the distance between the two readings */
	__u64 error_ns;
	/** @pad: must be zero */
	__u64 pad;
};

/**
 * struct drm_uma_counters - what jobs did, added up when they ended
 */
struct drm_uma_counters {
	/** @jobs: jobs that ran to their end without a fault */
	__u64 jobs;
	/** @tasks: tasks that ended without a fault */
	__u64 tasks;
	/** @tiles: tiles, the pieces in which an engine works */
	__u64 tiles;
	/** @macs: multiply-adds of GEMMs, elements of other operations */
	__u64 macs;
	/** @read_bytes: bytes that tasks read, descriptors included */
	__u64 read_bytes;
	/** @write_bytes: bytes that tasks wrote, stamps included */
	__u64 write_bytes;
	/** @tlb_misses: address translations that needed a walk */
	__u64 tlb_misses;
	/** @busy_ns: time on an engine, of jobs that failed too */
	__u64 busy_ns;
	/** @stall_ns: of it, time waiting for power or invalidations */
	__u64 stall_ns;
	/** @wait_ns: time from the submission of jobs to their begin on an engine */
	__u64 wait_ns;
	/** @faults: jobs that faulted; they count in all but @jobs */
	__u64 faults;
	/** @timeouts: jobs that ran into their timeout; they count in times only */
	__u64 timeouts;
};

/**
 * struct drm_uma_counters_get - DRM_IOCTL_UMA_COUNTERS
 *
 * Of a queue since its creation, or of an engine since the driver found the
 * device; resets set nothing back. An engine's counters tell of other clients,
 * so they need CAP_PERFMON. @size and @data work as in &struct drm_uma_query;
 * the struct may grow.
 *
 * Returns 0; -EINVAL @pad not zero, both @queue_id and @engine, no such engine;
 * -ENOENT no such queue; -EACCES counters of an engine without CAP_PERFMON;
 * -EFAULT @data not writable.
 */
struct drm_uma_counters_get {
	/** @queue_id: queue, or 0 for an engine */
	__u32 queue_id;
	/** @engine: index in DRM_UMA_QUERY_ENGINES; must be zero with a queue */
	__u32 engine;
	/** @size: in: bytes at @data, out: bytes that there are */
	__u32 size;
	/** @pad: must be zero */
	__u32 pad;
	/** @data: user pointer to &struct drm_uma_counters, or 0 */
	__u64 data;
};

/**
 * DRM_IOCTL_UMA - build an ioctl number
 * @access: R, W or WR
 * @id: suffix of &enum drm_uma_ioctl_id
 * @type: suffix of the argument struct
 */
#define DRM_IOCTL_UMA(access, id, type) \
	DRM_IO ## access(DRM_COMMAND_BASE + DRM_UMA_ ## id, \
			 struct drm_uma_ ## type)

/*
 * An enum rather than macros, so that binding generators see the values; they
 * do not fit in an int, which compilers extend the language for.
 */
__extension__ enum {
	DRM_IOCTL_UMA_QUERY = DRM_IOCTL_UMA(WR, QUERY, query),
	DRM_IOCTL_UMA_BO_CREATE = DRM_IOCTL_UMA(WR, BO_CREATE, bo_create),
	DRM_IOCTL_UMA_BO_MMAP_OFFSET =
		DRM_IOCTL_UMA(WR, BO_MMAP_OFFSET, bo_mmap_offset),
	DRM_IOCTL_UMA_BO_IMPORT_USER =
		DRM_IOCTL_UMA(WR, BO_IMPORT_USER, bo_import_user),
	DRM_IOCTL_UMA_BO_INFO = DRM_IOCTL_UMA(WR, BO_INFO, bo_info),
	DRM_IOCTL_UMA_BO_LABEL = DRM_IOCTL_UMA(W, BO_LABEL, bo_label),
	DRM_IOCTL_UMA_BO_SYNC = DRM_IOCTL_UMA(W, BO_SYNC, bo_sync),
	DRM_IOCTL_UMA_VM_CREATE = DRM_IOCTL_UMA(WR, VM_CREATE, vm_create),
	DRM_IOCTL_UMA_VM_DESTROY = DRM_IOCTL_UMA(W, VM_DESTROY, vm_destroy),
	DRM_IOCTL_UMA_VM_BIND = DRM_IOCTL_UMA(WR, VM_BIND, vm_bind),
	DRM_IOCTL_UMA_QUEUE_CREATE =
		DRM_IOCTL_UMA(WR, QUEUE_CREATE, queue_create),
	DRM_IOCTL_UMA_QUEUE_DESTROY =
		DRM_IOCTL_UMA(W, QUEUE_DESTROY, queue_destroy),
	DRM_IOCTL_UMA_QUEUE_STATE =
		DRM_IOCTL_UMA(WR, QUEUE_STATE, queue_state),
	DRM_IOCTL_UMA_SUBMIT = DRM_IOCTL_UMA(WR, SUBMIT, submit),
	DRM_IOCTL_UMA_TIMESTAMP = DRM_IOCTL_UMA(WR, TIMESTAMP, timestamp),
	DRM_IOCTL_UMA_BO_MADVISE = DRM_IOCTL_UMA(WR, BO_MADVISE, bo_madvise),
	DRM_IOCTL_UMA_COUNTERS = DRM_IOCTL_UMA(WR, COUNTERS, counters_get)
};

#if defined(__cplusplus)
}
#endif

#endif /* _UMA_ACCEL_H_ */
