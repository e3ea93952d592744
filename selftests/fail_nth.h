/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Calls to fail in, one allocation after the other.
 */
#ifndef _FAIL_NTH_H_
#define _FAIL_NTH_H_

#include "instance.h"

#define FAIL_ERRNOS	6
#define FAIL_SIZE	(8 * PAGE)	/* of a buffer */

/**
 * struct fail_scene - what the calls need; whatever is in here is there before each
 * @c: client
 * @other: another one
 * @engine: an engine that fills
 * @queue: queue on it
 * @tasks: a task
 * @data: what it writes
 * @handle: what the call works on
 * @id: what the call works on
 * @fd: what the call works on
 * @next_fd: the number that the next descriptor would have
 * @p: what the call works on
 * @va: what the call works on
 * @vgem: file of vgem
 * @in: directory in configfs
 */
struct fail_scene {
	struct client c;
	struct client other;
	unsigned int engine;
	__u32 queue;
	struct buf tasks;
	struct buf data;
	__u32 handle;
	__u32 id;
	int fd;
	int next_fd;
	void *p;
	__u64 va;
	int vgem;
	struct instance in;
};

/**
 * struct fail_op - a call
 * @name: name
 * @prepare: make what the call needs
 * @run: arm, call; 0 or a negative errno
 * @undo: take away what the call made, and @prepare
 * @errnos: what it may fail with, beside -ENOMEM and -EFAULT
 * @slow: not 0: look at every so many failures only, unless told to look at all
 * @skip_from: failures that are left out, because the kernel does not survive them
 * @skip_to: the last of them
 * @end: not 0: where the walk ends, because the kernel survives none of what follows
 */
struct fail_op {
	const char *name;
	void (*prepare)(struct fail_scene *s);
	int (*run)(struct fail_scene *s);
	void (*undo)(struct fail_scene *s, int ret);
	int errnos[FAIL_ERRNOS];
	int slow;
	int skip_from;
	int skip_to;
	int end;
};

/** fail_arm - from here on failures count, in this thread */
void fail_arm(void);
/** fail_armed - one ioctl: not do_ioctl(), which repeats what was interrupted */
int fail_armed(int fd, unsigned long request, void *arg);
/** fail_close_lost_fd - close what was made by a call that could not say its number */
void fail_close_lost_fd(struct fail_scene *s, int ret);
/** fail_note_fd - note the number that the next descriptor will have */
void fail_note_fd(struct fail_scene *s);
void fail_close_fd(struct fail_scene *s, int ret);
void fail_make_bo(struct fail_scene *s);
void fail_close_handle(struct fail_scene *s, int ret);
void fail_make_vm(struct fail_scene *s);
int fail_run_vm_bind_whole(struct fail_scene *s);
void fail_undo_bind(struct fail_scene *s, int ret);
void fail_scene_open(struct fail_scene *s);
void fail_scene_close(struct fail_scene *s);

extern const struct fail_op fail_op_query, fail_op_query_caps, fail_op_bo_create,
	fail_op_bo_mmap_offset, fail_op_bo_import_user, fail_op_bo_info, fail_op_bo_label,
	fail_op_bo_sync, fail_op_bo_madvise, fail_op_vm_create, fail_op_vm_destroy,
	fail_op_vm_bind, fail_op_vm_unbind,
	fail_op_vm_bind_user, fail_op_queue_create, fail_op_queue_destroy, fail_op_queue_state,
	fail_op_submit, fail_op_submit_batch, fail_op_timestamp, fail_op_counters,
	fail_op_gem_close,
	fail_op_prime_export, fail_op_prime_import, fail_op_prime_import_other,
	fail_op_prime_import_vgem, fail_op_bind_imported, fail_op_dmabuf_mmap, fail_op_dmabuf_sync,
	fail_op_mmap, fail_op_mmap_fault, fail_op_syncobj_export, fail_op_syncobj_wait,
	fail_op_open, fail_op_close, fail_op_fdinfo, fail_op_debugfs, fail_op_sysfs,
	fail_op_configfs_mkdir, fail_op_configfs_enable, fail_op_driver_bind;

#endif /* _FAIL_NTH_H_ */
