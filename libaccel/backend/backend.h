/* SPDX-License-Identifier: MIT */
/*
 * The one private table behind which a device hides: the kernel driver, the
 * in-process device, or a recorder in front of either.
 *
 * The library checks arguments, counts references and reports errors; a backend
 * does the rest. What it gets is valid. On failure it records why with
 * ctx_fail() on the object's context, and returns the code.
 */
#ifndef LIBACCEL_BACKEND_H
#define LIBACCEL_BACKEND_H

#include "libaccel/core/objects.h"

/**
 * struct backend_args - what a backend opens
 * @name: "sw", "sw:PROFILE", "accel0" or a path
 * @opts: options, complete
 * @error: why it failed, never NULL
 */
struct backend_args {
	const char *name;
	const struct accel_device_opts *opts;
	struct accel_error *error;
};

/**
 * struct backend_ops - a backend
 * @name: "drm", "sw"
 * @device_size: size of its device
 * @ctx_size: size of its context
 * @bo_size: size of its buffer
 * @queue_size: size of its queue
 * @job_size: size of its job
 */
struct backend_ops {
	const char *name;
	size_t device_size;
	size_t ctx_size;
	size_t bo_size;
	size_t queue_size;
	size_t job_size;

	/** @open: fill in info, engines and memory; on failure nothing is left */
	int (*open)(struct accel_device *dev, const struct backend_args *args);
	/** @close: the last reference is gone; frees @dev */
	void (*close)(struct accel_device *dev);
	int (*timestamp)(struct accel_device *dev, uint64_t *device,
			 uint64_t *cpu_ns);

	int (*ctx_create)(struct accel_ctx *ctx);
	/** @ctx_destroy: no object of the context is left */
	void (*ctx_destroy)(struct accel_ctx *ctx);

	/** @bo_create: size and flags are set; set the addresses */
	int (*bo_create)(struct accel_bo *bo, const char *label);
	/** @bo_import_ptr: addresses, size and flags are set */
	int (*bo_import_ptr)(struct accel_bo *bo, const char *label);
	/** @bo_import_dmabuf: flags are set; set size and addresses */
	int (*bo_import_dmabuf)(struct accel_bo *bo, int fd, const char *label);
	int (*bo_export_dmabuf)(struct accel_bo *bo, int *fd);
	/** @bo_sync: @flags is ACCEL_CPU_*; @end: after the CPU's access */
	int (*bo_sync)(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		       uint32_t flags, bool end);
	void (*bo_destroy)(struct accel_bo *bo);

	int (*queue_create)(struct accel_queue *queue);
	/** @queue_cancel: the user gave it up; jobs may still be in it */
	void (*queue_cancel)(struct accel_queue *queue);
	/** @queue_destroy: no job is left */
	void (*queue_destroy)(struct accel_queue *queue);

	/**
	 * @plan_host: adds to @host what runs a plan without parts, and the memory
	 * that the threads of a run share, beside what its job has for it. NULL:
	 * a device does
	 */
	void (*plan_host)(const struct accel_plan *plan, struct plan_host *host);
	/**
	 * @job_hints: hints that it pays to measure for the first operation of
	 * a job that was submitted, at most @max; returns their number. NULL:
	 * there are none
	 */
	uint32_t (*job_hints)(struct accel_job *job, struct fast_hint *hints,
			      uint32_t max);

	/** @job_prepare: before the first submit, under the job's lock */
	int (*job_prepare)(struct accel_job *job);
	/**
	 * @job_rebind: the operations on the list from first_move on are to be where
	 * their next says; under the job's lock, no run is on the way. On failure
	 * the job is not to be run again before it has succeeded
	 */
	int (*job_rebind)(struct accel_job *job);
	/** @job_destroy: also for a job that was never prepared */
	void (*job_destroy)(struct accel_job *job);

	/**
	 * @submit: take a job. @fence is not NULL; the backend allocates it,
	 * with one reference for the caller. Calls job_ended() when the run has
	 * ended, as soon as it learns of it; not if it fails
	 */
	int (*submit)(struct accel_queue *queue, struct accel_job *job,
		      struct accel_fence *const *waits, uint32_t wait_count,
		      struct accel_fence **fence);

	/** @fence_wait: 1 done and well, 0 done: look at the outcome; -ETIMEDOUT */
	int (*fence_wait)(struct accel_fence *fence, int64_t timeout_ns);
	/** @fence_info: fill all fields, @info is zero */
	void (*fence_info)(struct accel_fence *fence,
			   struct accel_fence_info *info);
	int (*fence_export)(struct accel_fence *fence, int *fd);
	int (*fence_import)(struct accel_ctx *ctx, int fd,
			    struct accel_fence **fence);
	/** @fence_destroy: frees @fence */
	void (*fence_destroy)(struct accel_fence *fence);

	/* Parts of importing user memory, see import.c */

	/** @user_pin: take hold of whole pages; @flags: ACCEL_BO_READONLY, ACCEL_BO_LAZY */
	int (*user_pin)(struct accel_ctx *ctx, uint64_t addr, uint64_t size,
			uint32_t flags, const char *label, uint64_t *handle);
	void (*user_unpin)(struct accel_ctx *ctx, uint64_t handle);
	/** @user_map: bind pages of a handle, instead of what is bound there if @replace */
	int (*user_map)(struct accel_ctx *ctx, uint64_t handle, uint64_t offset,
			uint64_t addr, uint64_t size, bool write, bool replace);
	void (*user_unmap)(struct accel_ctx *ctx, uint64_t addr, uint64_t size);
};

extern const struct backend_ops backend_sw;
extern const struct backend_ops backend_drm;

/* enumerate.c */

/**
 * typedef node_fn - receives the nodes of the accel class
 * @user: passed on
 * @name: "accel0"
 * @path: "/dev/accel/accel0"
 * @driver: name of the driver of the device behind it, or ""
 */
typedef int node_fn(void *user, const char *name, const char *path,
		    const char *driver);
int enumerate_nodes(node_fn *fn, void *user);

/* backend_drm.c: describe a node without keeping it open */
int drm_probe(const char *name, const char *path, const char *driver,
	      struct accel_device_desc *desc);

/* backend_rec.c: put a recorder in front of an open device */
int rec_attach(struct accel_device *dev, const struct backend_args *args);

/* import.c */
int import_init(struct accel_ctx *ctx);
void import_exit(struct accel_ctx *ctx);
int import_add(struct accel_ctx *ctx, uint64_t addr, uint64_t size, uint32_t flags,
	       const char *label);
void import_remove(struct accel_ctx *ctx, uint64_t addr, uint64_t size);
/* Call @fn for what was pinned together of a range that is imported. */
int import_for_each(struct accel_ctx *ctx, uint64_t addr, uint64_t size,
		    int (*fn)(void *user, uint64_t handle, uint64_t offset,
			      uint64_t size),
		    void *user);

#endif /* LIBACCEL_BACKEND_H */
