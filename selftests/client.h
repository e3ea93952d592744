/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What tests need of a client of the device: the ioctls as functions.
 *
 * A function that ends in _try returns 0 or a negative errno; one without
 * fails the test instead. Nothing here knows more than the uapi headers.
 */
#ifndef _CLIENT_H_
#define _CLIENT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "uapi/drm/uma_accel.h"
#include "uapi/drm/uma_task.h"

#include "harness.h"

#define PAGE		4096ull
#define BAD_HANDLE	0x7ffffff0u

/* --- device ----------------------------------------------------------------- */

/** dev_name - name of the node under test, "accel0" unless UMA_DEVICE says otherwise */
const char *dev_name(void);
const char *dev_path(void);
int dev_open(void);
int dev_open_named(const char *name);
/** dev_debugfs - path of a debugfs file of a node, false if there is none */
bool dev_debugfs(const char *node, const char *file, char *path, size_t size);
/**
 * emu_knob - write to a file of the emulator's debugfs directory for a node; false if not to be had
 */
bool emu_knob(const char *node, const char *file, const char *value);
/** hang_begins - wait until the jobs that hang_next is for hang; false without that knob */
bool hang_begins(const char *node);
/** inval_waits - wait until a command to the TLB has been busy for 0.3 s: no walk of its own */
void inval_waits(const char *node);
/** waits_in - does a thread sleep in a function of the kernel, or below it? For root */
bool waits_in(pid_t tid, const char *function);
/** emu_number - the number in a file there, -1 without one */
long long emu_number(const char *node, const char *file);
bool is_root(void);
/** become_tester - give up root for good, keep the group of the device nodes */
void become_tester(void);

bool read_text(const char *path, char *buf, size_t size);
bool write_text(const char *path, const char *text);
long long read_number(const char *path);
/** pinned_kb - memory that this process has pinned, -1 where the kernel does not say */
long pinned_kb(void);

int do_ioctl(int fd, unsigned long request, void *arg);
uint64_t now_ns(void);
/* What is waited for comes, or the test runs into its own timeout, on a slow machine too. */
#define FOREVER		INT64_MAX

/* --- query ------------------------------------------------------------------ */

int query_try(int fd, __u32 type, __u32 index, void *data, __u32 *size);
void query_device(int fd, struct drm_uma_query_device *dev);
void query_limits(int fd, struct drm_uma_query_limits *limits);

#define MAX_ENGINES	64
#define MAX_CAPS	128

/** query_engines - fill @engines (MAX_ENGINES); returns how many there are */
unsigned int query_engines(int fd, struct drm_uma_query_engine *engines);
unsigned int query_caps(int fd, unsigned int engine, struct uma_op_cap *caps);
/**
 * engine_can - does the engine take this opcode with these types (0 for an operand that it has
 * not)?
 */
bool engine_can(int fd, unsigned int engine, unsigned int opcode, unsigned int a, unsigned int b,
		unsigned int d);
/** engine_for - index of the first engine that can, -1 if none */
int engine_for(int fd, unsigned int opcode, unsigned int a, unsigned int b, unsigned int d);

/* --- buffers ---------------------------------------------------------------- */

int bo_create_try(int fd, __u64 size, __u32 flags, __u32 *handle);
__u32 bo_create(int fd, __u64 size, __u32 flags);
int bo_offset_try(int fd, __u32 handle, __u64 *offset);
void *bo_map(int fd, __u32 handle, __u64 size);
int bo_import_user_try(int fd, void *addr, __u64 size, __u32 flags, __u32 *handle);
int bo_info_try(int fd, __u32 handle, struct drm_uma_bo_info *info);
void bo_info(int fd, __u32 handle, struct drm_uma_bo_info *info);
int bo_label_try(int fd, __u32 handle, const void *label, __u32 size);
int gem_close_try(int fd, __u32 handle);
void gem_close(int fd, __u32 handle);
int prime_export_try(int fd, __u32 handle, __u32 flags, int *dmabuf);
int prime_export(int fd, __u32 handle);
int prime_import_try(int fd, int dmabuf, __u32 *handle);
__u32 prime_import(int fd, int dmabuf);

/* --- address spaces --------------------------------------------------------- */

int vm_create_try(int fd, __u32 *vm);
__u32 vm_create(int fd);
int vm_destroy_try(int fd, __u32 vm);
int vm_bind_try(int fd, __u32 vm, const struct drm_uma_bind_op *ops, unsigned int count,
		__u32 *failed);
int vm_map_try(int fd, __u32 vm, __u32 handle, __u64 offset, __u64 va, __u64 size, __u32 flags);
void vm_map(int fd, __u32 vm, __u32 handle, __u64 offset, __u64 va, __u64 size, __u32 flags);
int vm_unmap_try(int fd, __u32 vm, __u64 va, __u64 size);
void vm_unmap(int fd, __u32 vm, __u64 va, __u64 size);

/* --- queues and jobs -------------------------------------------------------- */

int queue_create_try(int fd, const struct drm_uma_queue_create *args, __u32 *queue);
/** queue_create_timeout - a queue of normal priority on one instance; 0 ms: the device's timeout */
__u32 queue_create_timeout(int fd, __u32 vm, __u32 engine_class, unsigned int instance,
			   __u32 timeout_ms);
/** queue_create - a queue of normal priority on one engine, index in DRM_UMA_QUERY_ENGINES */
__u32 queue_create(int fd, __u32 vm, unsigned int engine);
int queue_destroy_try(int fd, __u32 queue);
int queue_state_try(int fd, __u32 queue, struct drm_uma_queue_state *state);
void queue_state(int fd, __u32 queue, struct drm_uma_queue_state *state);
int submit_try(int fd, const struct drm_uma_job *jobs, unsigned int count, __u32 *failed);
int submit_one_try(int fd, __u32 queue, __u64 tasks, __u32 count, const struct drm_uma_sync *syncs,
		   unsigned int nsyncs);

static inline struct drm_uma_sync sync_in(__u32 handle)
{
	return (struct drm_uma_sync){ .type = DRM_UMA_SYNC_BINARY, .handle = handle };
}

static inline struct drm_uma_sync sync_out(__u32 handle)
{
	return (struct drm_uma_sync){
		.type = DRM_UMA_SYNC_BINARY, .flags = DRM_UMA_SYNC_SIGNAL, .handle = handle,
	};
}

static inline struct drm_uma_sync sync_in_point(__u32 handle, __u64 point)
{
	return (struct drm_uma_sync){ .type = DRM_UMA_SYNC_TIMELINE,
				      .handle = handle,
				      .point = point };
}

static inline struct drm_uma_sync sync_out_point(__u32 handle, __u64 point)
{
	return (struct drm_uma_sync){
		.type = DRM_UMA_SYNC_TIMELINE,
		.flags = DRM_UMA_SYNC_SIGNAL,
		.handle = handle,
		.point = point,
	};
}

static inline struct drm_uma_array array_of(const void *p, size_t stride, size_t count)
{
	return (struct drm_uma_array){
		.stride = (__u32)stride, .count = (__u32)count, .array = (uintptr_t)p,
	};
}

/* --- syncobjs and sync files ------------------------------------------------ */

__u32 syncobj_create(int fd, bool signalled);
int syncobj_destroy_try(int fd, __u32 handle);
int syncobj_wait_try(int fd, __u32 handle, int64_t abs_ns, __u32 flags);
void syncobj_wait(int fd, __u32 handle);
int syncobj_wait_point_try(int fd, __u32 handle, __u64 point, int64_t abs_ns, __u32 flags);
void syncobj_wait_point(int fd, __u32 handle, __u64 point);
bool syncobj_done(int fd, __u32 handle);
int syncobj_signal_try(int fd, __u32 handle);
int syncobj_reset_try(int fd, __u32 handle);
__u64 syncobj_query(int fd, __u32 handle);
int syncobj_export_try(int fd, __u32 handle, bool sync_file, int *out);
int syncobj_import_try(int fd, int from, bool sync_file, __u32 *handle);
/** syncobj_status - 1 signalled, 0 not yet, a negative errno: signalled with that error */
int syncobj_status(int fd, __u32 handle);
int sync_file_status(int file);
/** sync_file_wait - wait for its fence, then the status; works without the device */
int sync_file_wait(int file);
/** syncobj_result - wait, then the status */
int syncobj_result(int fd, __u32 handle);

/* --- a client that runs tasks ----------------------------------------------- */

struct client {
	int fd;
	__u32 vm;
	__u64 va;
};

struct buf {
	__u32 handle;
	__u64 size;
	__u64 va;
	union {
		void *map;
		__u8 *u8;
		__u32 *u32;
		__s32 *s32;
		float *f32;
		struct uma_task *task;
	};
};

void client_open(struct client *c);
void client_open_named(struct client *c, const char *name);
void client_close(struct client *c);
/** client_va - a range of addresses that is not in use, with an unmapped page on both sides */
__u64 client_va(struct client *c, __u64 size);
void client_buf(struct client *c, struct buf *b, __u64 size);
/** client_buf_repeated - a buffer mapped many times in succession: for tasks that repeat */
void client_buf_repeated(struct client *c, struct buf *b, __u64 size, unsigned int times);
void client_free(struct client *c, struct buf *b);
/** client_bind_handle - map all of a buffer somewhere, return where */
__u64 client_bind_handle(struct client *c, __u32 handle, __u64 size, __u32 flags);
/** client_run - submit and wait; 0 or the error of the fence */
int client_run(struct client *c, __u32 queue, __u64 tasks, __u32 count);
/** client_start - submit, return a syncobj that the job signals */
__u32 client_start(struct client *c, __u32 queue, __u64 tasks, __u32 count);
/** client_start_after - submit a job that waits for a syncobj */
__u32 client_start_after(struct client *c, __u32 queue, __u64 tasks, __u32 count, __u32 after);

/* --- a fence that the test signals ------------------------------------------ */

/*
 * The fence of a vgem buffer, in a syncobj: jobs that wait for it stay in their
 * queue until gate_open(). (vgem lets it go by itself after ten seconds.)
 */
struct gate {
	int vgem;
	__u32 handle;
	__u32 fence;
	__u32 syncobj;
};

/** vgem_open - a file of vgem, or the test is skipped */
int vgem_open(void);
__u32 vgem_bo(int vgem, __u64 size);
/** gate_close - make a gate, closed; its syncobj is one of @fd */
void gate_close(struct gate *g, int fd);
void gate_open(struct gate *g);
void gate_free(struct gate *g);

#endif /* _CLIENT_H_ */
