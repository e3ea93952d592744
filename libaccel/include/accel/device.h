/* SPDX-License-Identifier: MIT */
/*
 * Devices: enumeration, opening, capabilities.
 */
#ifndef ACCEL_DEVICE_H
#define ACCEL_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <accel/error.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_device;

/**
 * struct accel_device_desc - a device that could be opened
 */
struct accel_device_desc {
	/** @size: sizeof(struct accel_device_desc) */
	uint32_t size;
	/** @emulated: 1 for software, in process or in the kernel */
	uint32_t emulated;
	/** @access: 0, or the negative errno of opening it */
	int32_t access;
	/** @pad: 0 */
	uint32_t pad;
	/** @name: what accel_device_open() takes: "sw", "accel0" */
	char name[32];
	/** @path: device node, empty for the in-process device */
	char path[64];
	/** @driver: kernel driver, or "sw" */
	char driver[32];
	/** @profile: chip, empty if it could not be opened */
	char profile[32];
};

/**
 * typedef accel_device_fn - receives the devices of accel_device_list()
 * @user: pointer given with it
 * @desc: the device, valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_device_fn(void *user, const struct accel_device_desc *desc);

/**
 * accel_device_list - enumerate devices: the nodes of the accel class that the
 * uma driver serves, in order of their number, then the in-process device
 * @fn: called for each
 * @user: passed on
 *
 * Return: 0, what @fn returned if not 0, or a negative errno.
 */
ACCEL_API int accel_device_list(accel_device_fn *fn, void *user);

/**
 * struct accel_device_opts - options of accel_device_open()
 */
struct accel_device_opts {
	/** @size: sizeof(struct accel_device_opts) */
	uint32_t size;
	/** @threads: in-process device: number of threads that run tiles, 0: one for each core */
	uint32_t threads;
	/** @log: receives log lines, NULL: none */
	accel_log_fn *log;
	/** @log_user: passed to @log */
	void *log_user;
	/** @log_level: most verbose level wanted */
	uint32_t log_level;
	/** @pad: 0 */
	uint32_t pad;
	/** @record_path: "rec:" devices: file for the calls, one JSON object in each line */
	const char *record_path;
	/** @error: filled if opening fails, may be NULL */
	struct accel_error *error;
};

/** ACCEL_DEVICE_OPTS_INIT: default options */
#define ACCEL_DEVICE_OPTS_INIT \
	{ sizeof(struct accel_device_opts), 0, NULL, NULL, 0, 0, NULL, NULL }

/**
 * accel_device_open - open a device
 * @name: "sw", or "sw:PROFILE" for a given chip, the in-process device;
 *	"accel0" or a path, a node; "rec:NAME", the device NAME with every call
 *	recorded; NULL: real hardware if there is any, else "sw"
 * @opts: options, or NULL
 * @dev: out
 *
 * Return: 0; -ENODEV no such device, or not one of the uma driver; -EACCES no permission;
 * -EPROTO the driver or device has a version that this library does not support; -EINVAL,
 * -E2BIG bad name or options; -ENOMEM.
 */
ACCEL_API int accel_device_open(const char *name,
				const struct accel_device_opts *opts,
				struct accel_device **dev);

/**
 * accel_device_ref - take another reference
 * @dev: device
 *
 * Return: @dev.
 */
ACCEL_API struct accel_device *accel_device_ref(struct accel_device *dev);

/**
 * accel_device_unref - drop a reference
 * @dev: device, or NULL
 */
ACCEL_API void accel_device_unref(struct accel_device *dev);

/** ACCEL_DEVICE_EMULATED: the device is software */
#define ACCEL_DEVICE_EMULATED		(1u << 0)
/** ACCEL_DEVICE_MODELLED_POWER: clock, temperature and power are modelled */
#define ACCEL_DEVICE_MODELLED_POWER	(1u << 1)
/** ACCEL_DEVICE_COHERENT: cached CPU mappings are coherent with the device */
#define ACCEL_DEVICE_COHERENT		(1u << 2)

/**
 * struct accel_device_info - description of a device
 */
struct accel_device_info {
	/** @size: sizeof(struct accel_device_info) */
	uint32_t size;
	/** @flags: ACCEL_DEVICE_* */
	uint32_t flags;
	/** @engine_count: number of engines */
	uint32_t engine_count;
	/** @node_count: number of memory nodes */
	uint32_t node_count;
	/** @uapi_version: driver's major << 16 | minor, 0 in process */
	uint32_t uapi_version;
	/** @hw_version: major << 16 | minor of the register contract, 0 in process */
	uint32_t hw_version;
	/** @task_version: version of the task descriptors */
	uint32_t task_version;
	/** @page_size: size of the smallest page in bytes */
	uint32_t page_size;
	/** @timestamp_hz: frequency of the timestamps */
	uint64_t timestamp_hz;
	/** @max_bo_size: size of the largest buffer in bytes */
	uint64_t max_bo_size;
	/** @max_job_tasks: largest number of operations of a job on one engine */
	uint32_t max_job_tasks;
	/** @priorities: mask of 1 << &enum accel_priority that this process may use */
	uint32_t priorities;
	/** @max_timeout_ms: longest timeout of a queue */
	uint32_t max_timeout_ms;
	/** @default_timeout_ms: timeout of a queue that asks for none */
	uint32_t default_timeout_ms;
	/** @threads: in process: number of threads that run tiles, else 0 */
	uint32_t threads;
	/** @pad: 0 */
	uint32_t pad;
	/** @name: name that it was opened with: "sw", "accel0" */
	char name[32];
	/** @path: device node or empty */
	char path[64];
	/** @driver: kernel driver, or "sw" */
	char driver[32];
	/** @profile: chip */
	char profile[32];
	/** @kernels: in process: inner kernels in use: "avx2", else empty */
	char kernels[32];
};

/**
 * accel_device_get_info - describe a device
 * @dev: device
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_device_get_info(struct accel_device *dev,
				    struct accel_device_info *info);

/** ACCEL_ENGINE_DYNAMIC_SHAPES: a task may read the dimensions of its operands when it runs */
#define ACCEL_ENGINE_DYNAMIC_SHAPES	(1u << 0)
/** ACCEL_ENGINE_LENGTHS: dynamic dimensions are supported: accel_tensor.dynamic */
#define ACCEL_ENGINE_LENGTHS		(1u << 2)
/** ACCEL_ENGINE_PREEMPT: a task can be preempted between tiles */
#define ACCEL_ENGINE_PREEMPT		(1u << 1)

/**
 * struct accel_engine_info - one engine
 */
struct accel_engine_info {
	/** @size: sizeof(struct accel_engine_info) */
	uint32_t size;
	/** @engine: &enum accel_engine */
	uint32_t engine;
	/** @instance: index within the kind */
	uint32_t instance;
	/** @node: nearest memory node */
	uint32_t node;
	/** @flags: ACCEL_ENGINE_* */
	uint32_t flags;
	/** @cap_count: number of rows of accel_device_get_cap() */
	uint32_t cap_count;
	/** @clock_max_mhz: highest clock */
	uint32_t clock_max_mhz;
	/** @max_job_tasks: largest number of operations in a job */
	uint32_t max_job_tasks;
};

/**
 * accel_device_get_engine - describe an engine
 * @dev: device
 * @index: from 0 to engine_count - 1
 * @info: out
 *
 * Return: 0; -ENOENT no such engine; -EINVAL size.
 */
ACCEL_API int accel_device_get_engine(struct accel_device *dev, uint32_t index,
				      struct accel_engine_info *info);

/**
 * struct accel_cap - a capability row of an engine; any combination of its values is
 * supported
 */
struct accel_cap {
	/** @size: sizeof(struct accel_cap) */
	uint32_t size;
	/** @op: &enum accel_op; ACCEL_OP_NONE for operations that only the library uses */
	uint32_t op;
	/** @rank_max: largest rank */
	uint32_t rank_max;
	/** @a_dtypes: mask of 1 << &enum accel_dtype for the first input */
	uint32_t a_dtypes;
	/** @b_dtypes: mask for the second input */
	uint32_t b_dtypes;
	/** @d_dtypes: mask for the result */
	uint32_t d_dtypes;
	/**
	 * @funcs: mask of 1 << &enum accel_unary, &enum accel_binary, or the functions of the
	 * operation
	 */
	uint32_t funcs;
	/** @a_quants: mask of 1 << &enum accel_quant_scheme for the first input */
	uint32_t a_quants;
	/** @b_quants: mask for the second input */
	uint32_t b_quants;
	/** @d_quants: mask for the result */
	uint32_t d_quants;
	/** @acts: mask of 1 << &enum accel_act */
	uint32_t acts;
	/** @dim_max: largest dimension */
	uint32_t dim_max;
	/** @k_max: largest length of a sum: K of a GEMM */
	uint32_t k_max;
	/** @align: alignment of addresses in bytes */
	uint32_t align;
	/** @macs_per_cycle: peak multiply-adds or elements per cycle, modelled */
	uint32_t macs_per_cycle;
	/** @packed: 1: weights may be packed into a plan */
	uint32_t packed;
};

/**
 * accel_device_get_cap - read a capability row
 * @dev: device
 * @engine: index of the engine
 * @row: from 0 to cap_count - 1
 * @cap: out
 *
 * Return: 0; -ENOENT no such engine or row; -EINVAL size.
 */
ACCEL_API int accel_device_get_cap(struct accel_device *dev, uint32_t engine,
				   uint32_t row, struct accel_cap *cap);

/**
 * struct accel_memory_info - one memory node
 */
struct accel_memory_info {
	/** @size: sizeof(struct accel_memory_info) */
	uint32_t size;
	/** @node: index */
	uint32_t node;
	/** @bytes: size of its RAM */
	uint64_t bytes;
	/** @bandwidth: peak bytes per second of the chip, modelled, 0 if unknown */
	uint64_t bandwidth;
};

/**
 * accel_device_get_memory - describe a memory node
 * @dev: device
 * @node: from 0 to node_count - 1
 * @info: out
 *
 * Return: 0; -ENOENT no such node; -EINVAL size.
 */
ACCEL_API int accel_device_get_memory(struct accel_device *dev, uint32_t node,
				      struct accel_memory_info *info);

/**
 * accel_device_timestamp - read the clocks of the device and of the CPU at the same time
 * @dev: device
 * @device: out: ticks of timestamp_hz
 * @cpu_ns: out: CLOCK_MONOTONIC
 *
 * Return: 0; -ENODEV.
 */
ACCEL_API int accel_device_timestamp(struct accel_device *dev, uint64_t *device,
				     uint64_t *cpu_ns);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_DEVICE_H */
