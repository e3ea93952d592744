// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The calls that allocations fail in: the ioctls. Between fail_arm() and the end
 * of a call's run() there is that call and nothing else.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "fail_nth.h"
#include "task.h"

#define SIZE	FAIL_SIZE
#define BIND_VA	0x40000000ull

void fail_scene_open(struct fail_scene *s)
{
	int engine;

	memset(s, 0, sizeof(*s));
	s->fd = -1;
	client_open(&s->c);
	client_open(&s->other);
	engine = engine_for(s->c.fd, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32);
	ASSERT_GE(engine, 0);
	s->engine = (unsigned int)engine;
	s->queue = queue_create(s->c.fd, s->c.vm, s->engine);
	client_buf(&s->c, &s->tasks, PAGE);
	client_buf(&s->c, &s->data, PAGE);
	task_fill(s->tasks.task, UMA_DTYPE_S32, s->data.va, 16, 1);
	ASSERT_EQ(0, client_run(&s->c, s->queue, s->tasks.va, 1));
	s->vgem = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
}

void fail_scene_close(struct fail_scene *s)
{
	/* Whatever has failed before, jobs still run. */
	s->data.u32[0] = 0;
	EXPECT_EQ(0, client_run(&s->c, s->queue, s->tasks.va, 1));
	EXPECT_EQ(1, s->data.u32[0]);
	munmap(s->tasks.map, s->tasks.size);
	munmap(s->data.map, s->data.size);
	client_close(&s->c);
	client_close(&s->other);
	if (s->vgem >= 0)
		close(s->vgem);
}

/* Not do_ioctl(): it repeats what was interrupted, and one call is what counts. */
int fail_armed(int fd, unsigned long request, void *arg)
{
	fail_arm();
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

void fail_close_fd(struct fail_scene *s, int ret __attribute__((unused)))
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void fail_make_bo(struct fail_scene *s)
{
	s->handle = bo_create(s->c.fd, SIZE, 0);
}

void fail_close_handle(struct fail_scene *s, int ret __attribute__((unused)))
{
	if (s->handle)
		gem_close(s->c.fd, s->handle);
	s->handle = 0;
}

/* --- query ------------------------------------------------------------------------ */

static int run_query(struct fail_scene *s)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct drm_uma_query q = {
		.type = DRM_UMA_QUERY_ENGINES, .size = sizeof(engines), .data = (uintptr_t)engines,
	};

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_QUERY, &q);
}

const struct fail_op fail_op_query = { .name = "query", .run = run_query };

static int run_query_caps(struct fail_scene *s)
{
	struct uma_op_cap caps[MAX_CAPS];
	struct drm_uma_query q = {
		.type = DRM_UMA_QUERY_ENGINE_CAPS, .index = 1, .size = sizeof(caps),
		.data = (uintptr_t)caps,
	};

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_QUERY, &q);
}

const struct fail_op fail_op_query_caps = { .name = "query_caps", .run = run_query_caps };

static int run_timestamp(struct fail_scene *s)
{
	struct drm_uma_timestamp t = { 0 };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_TIMESTAMP, &t);
}

const struct fail_op fail_op_timestamp = { .name = "timestamp", .run = run_timestamp };

static int run_counters(struct fail_scene *s)
{
	struct drm_uma_counters counters;
	struct drm_uma_counters_get args = {
		.queue_id = s->queue, .size = sizeof(counters), .data = (uintptr_t)&counters,
	};

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_COUNTERS, &args);
}

const struct fail_op fail_op_counters = { .name = "counters", .run = run_counters };

/* --- buffers ---------------------------------------------------------------------- */

/* A result that could not be written: its handle is lost to the caller, not to the file. */
static void find_handle(struct fail_scene *s, int ret)
{
	struct drm_gem_close args = { 0 };

	if (ret != -EFAULT)
		return;
	/* The handles of this file are few and small. */
	for (args.handle = 1; args.handle < 64; args.handle++) {
		if (args.handle != s->tasks.handle && args.handle != s->data.handle)
			do_ioctl(s->c.fd, DRM_IOCTL_GEM_CLOSE, &args);
	}
}

static int run_bo_create(struct fail_scene *s)
{
	struct drm_uma_bo_create args = { .size = SIZE };
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_UMA_BO_CREATE, &args);
	s->handle = ret ? 0 : args.handle;
	return ret;
}

static void undo_handle(struct fail_scene *s, int ret)
{
	find_handle(s, ret);
	fail_close_handle(s, ret);
}

const struct fail_op fail_op_bo_create = {
	.name = "bo_create", .run = run_bo_create, .undo = undo_handle,
};

static int run_bo_mmap_offset(struct fail_scene *s)
{
	struct drm_uma_bo_mmap_offset args = { .handle = s->handle };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_BO_MMAP_OFFSET, &args);
}

const struct fail_op fail_op_bo_mmap_offset = {
	.name = "bo_mmap_offset", .prepare = fail_make_bo, .run = run_bo_mmap_offset,
	.undo = fail_close_handle,
};

static void make_memory(struct fail_scene *s)
{
	s->p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(s->p != MAP_FAILED);
}

static int run_bo_import_user(struct fail_scene *s)
{
	struct drm_uma_bo_import_user args = { .addr = (uintptr_t)s->p, .size = SIZE };
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_UMA_BO_IMPORT_USER, &args);
	s->handle = ret ? 0 : args.handle;
	return ret;
}

static void undo_bo_import_user(struct fail_scene *s, int ret)
{
	undo_handle(s, ret);
	munmap(s->p, SIZE);
}

const struct fail_op fail_op_bo_import_user = {
	.name = "bo_import_user", .prepare = make_memory, .run = run_bo_import_user,
	.undo = undo_bo_import_user,
};

static int run_bo_info(struct fail_scene *s)
{
	struct drm_uma_bo_info args = { .handle = s->handle };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_BO_INFO, &args);
}

const struct fail_op fail_op_bo_info = {
	.name = "bo_info", .prepare = fail_make_bo, .run = run_bo_info, .undo = fail_close_handle,
};

static int run_bo_label(struct fail_scene *s)
{
	static const char text[] = "a label of some length";
	struct drm_uma_bo_label args = {
		.handle = s->handle, .size = sizeof(text) - 1, .label = (uintptr_t)text,
	};

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_BO_LABEL, &args);
}

const struct fail_op fail_op_bo_label = {
	.name = "bo_label", .prepare = fail_make_bo, .run = run_bo_label, .undo = fail_close_handle,
};

static int run_bo_sync(struct fail_scene *s)
{
	struct drm_uma_sync_range ranges[2] = {
		{ .handle = s->tasks.handle, .flags = DRM_UMA_SYNC_TO_DEVICE, .size = PAGE },
		{ .handle = s->data.handle, .flags = DRM_UMA_SYNC_TO_CPU, .size = PAGE },
	};
	struct drm_uma_bo_sync args = { .ranges = array_of(ranges, sizeof(ranges[0]), 2) };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_BO_SYNC, &args);
}

const struct fail_op fail_op_bo_sync = { .name = "bo_sync", .run = run_bo_sync };

/* The buffer has memory, some of it mapped, and is used no more. */
static void prepare_madvise(struct fail_scene *s)
{
	__u8 *p;

	fail_make_bo(s);
	p = bo_map(s->c.fd, s->handle, SIZE);
	p[0] = 1;
	munmap(p, SIZE);
}

static int run_bo_madvise(struct fail_scene *s)
{
	struct drm_uma_bo_madvise args = {
		.handle = s->handle, .advice = DRM_UMA_MADV_DONTNEED,
	};

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args);
}

const struct fail_op fail_op_bo_madvise = {
	.name = "bo_madvise", .prepare = prepare_madvise, .run = run_bo_madvise,
	.undo = fail_close_handle,
};

static int run_gem_close(struct fail_scene *s)
{
	struct drm_gem_close args = { .handle = s->handle };
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_GEM_CLOSE, &args);
	if (!ret)
		s->handle = 0;
	return ret;
}

const struct fail_op fail_op_gem_close = {
	.name = "gem_close", .prepare = fail_make_bo, .run = run_gem_close,
	.undo = fail_close_handle,
};

/* --- address spaces --------------------------------------------------------------- */

static int run_vm_create(struct fail_scene *s)
{
	struct drm_uma_vm_create args = { 0 };
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_UMA_VM_CREATE, &args);
	s->id = ret ? 0 : args.vm_id;
	return ret;
}

static void undo_vm(struct fail_scene *s, int ret)
{
	__u32 id;

	if (s->id)
		ASSERT_EQ(0, vm_destroy_try(s->c.fd, s->id));
	for (id = 1; ret == -EFAULT && id < 16; id++) {
		if (id != s->c.vm)
			vm_destroy_try(s->c.fd, id);
	}
	s->id = 0;
}

const struct fail_op fail_op_vm_create = {
	.name = "vm_create", .run = run_vm_create, .undo = undo_vm,
};

void fail_make_vm(struct fail_scene *s)
{
	s->id = vm_create(s->c.fd);
}

static int run_vm_destroy(struct fail_scene *s)
{
	struct drm_uma_vm_destroy args = { .vm_id = s->id };
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_UMA_VM_DESTROY, &args);
	if (!ret)
		s->id = 0;
	return ret;
}

static void make_bound_vm(struct fail_scene *s)
{
	fail_make_vm(s);
	vm_map(s->c.fd, s->id, s->data.handle, 0, BIND_VA, PAGE, 0);
}

const struct fail_op fail_op_vm_destroy = {
	.name = "vm_destroy", .prepare = make_bound_vm, .run = run_vm_destroy, .undo = undo_vm,
};

/* A new buffer in a new address space, at two ends of it: memory, page tables, mappings. */
static void prepare_bind(struct fail_scene *s)
{
	fail_make_bo(s);
	fail_make_vm(s);
}

static int run_vm_bind(struct fail_scene *s)
{
	struct drm_uma_bind_op ops[3] = {
		{ .op = DRM_UMA_BIND_MAP, .handle = s->handle, .va = BIND_VA, .size = SIZE },
		{ .op = DRM_UMA_BIND_UNMAP, .va = BIND_VA + PAGE, .size = PAGE },
		{ .op = DRM_UMA_BIND_MAP, .handle = s->handle, .bo_offset = PAGE,
		  .va = BIND_VA + (1ull << 40), .size = PAGE },
	};
	struct drm_uma_vm_bind args = {
		.vm_id = s->id, .ops = array_of(ops, sizeof(ops[0]), 3),
	};

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_VM_BIND, &args);
}

/* All of it or nothing of it: what is there can be mapped again exactly if nothing is. */
void fail_undo_bind(struct fail_scene *s, int ret)
{
	int again = vm_map_try(s->c.fd, s->id, s->data.handle, 0, BIND_VA, PAGE, 0);

	/* The result could not be written: the work is done. */
	if (ret != -EFAULT)
		EXPECT_EQ(ret ? 0 : -EEXIST, again);
	ASSERT_EQ(0, vm_destroy_try(s->c.fd, s->id));
	s->id = 0;
	fail_close_handle(s, 0);
}

const struct fail_op fail_op_vm_bind = {
	.name = "vm_bind", .prepare = prepare_bind, .run = run_vm_bind, .undo = fail_undo_bind,
};

static void prepare_unbind(struct fail_scene *s)
{
	prepare_bind(s);
	vm_map(s->c.fd, s->id, s->handle, 0, BIND_VA, SIZE, 0);
}

static int run_vm_unbind(struct fail_scene *s)
{
	struct drm_uma_bind_op op = {
		.op = DRM_UMA_BIND_UNMAP, .va = BIND_VA + PAGE, .size = PAGE,
	};
	struct drm_uma_vm_bind args = { .vm_id = s->id, .ops = array_of(&op, sizeof(op), 1) };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_VM_BIND, &args);
}

static void undo_unbind(struct fail_scene *s, int ret)
{
	int again = vm_map_try(s->c.fd, s->id, s->data.handle, 0, BIND_VA + PAGE, PAGE, 0);

	if (ret != -EFAULT)
		EXPECT_EQ(ret ? -EEXIST : 0, again);
	ASSERT_EQ(0, vm_destroy_try(s->c.fd, s->id));
	s->id = 0;
	fail_close_handle(s, 0);
}

const struct fail_op fail_op_vm_unbind = {
	.name = "vm_unbind", .prepare = prepare_unbind, .run = run_vm_unbind, .undo = undo_unbind,
};

static void prepare_bind_user(struct fail_scene *s)
{
	make_memory(s);
	ASSERT_EQ(0, bo_import_user_try(s->c.fd, s->p, SIZE, 0, &s->handle));
	fail_make_vm(s);
}

int fail_run_vm_bind_whole(struct fail_scene *s)
{
	struct drm_uma_bind_op op = {
		.op = DRM_UMA_BIND_MAP, .handle = s->handle, .va = BIND_VA, .size = SIZE,
	};
	struct drm_uma_vm_bind args = { .vm_id = s->id, .ops = array_of(&op, sizeof(op), 1) };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_VM_BIND, &args);
}

static void undo_bind_user(struct fail_scene *s, int ret)
{
	fail_undo_bind(s, ret);
	munmap(s->p, SIZE);
}

const struct fail_op fail_op_vm_bind_user = {
	.name = "vm_bind_user", .prepare = prepare_bind_user, .run = fail_run_vm_bind_whole,
	.undo = undo_bind_user,
};

/* --- queues and jobs --------------------------------------------------------------- */

static struct drm_uma_queue_create queue_args(struct fail_scene *s)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct drm_uma_queue_create args = {
		.vm_id = s->c.vm, .priority = DRM_UMA_PRIORITY_HIGH,
	};

	query_engines(s->c.fd, engines);
	args.engine_class = engines[s->engine].engine_class;
	args.instances = 1u << engines[s->engine].instance;
	return args;
}

static int run_queue_create(struct fail_scene *s)
{
	struct drm_uma_queue_create args = queue_args(s);
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_UMA_QUEUE_CREATE, &args);
	s->id = ret ? 0 : args.queue_id;
	return ret;
}

static void undo_queue(struct fail_scene *s, int ret)
{
	__u32 id;

	if (s->id)
		ASSERT_EQ(0, queue_destroy_try(s->c.fd, s->id));
	for (id = 1; ret == -EFAULT && id < 16; id++) {
		if (id != s->queue)
			queue_destroy_try(s->c.fd, id);
	}
	s->id = 0;
}

const struct fail_op fail_op_queue_create = {
	.name = "queue_create", .run = run_queue_create, .undo = undo_queue,
};

static void make_queue(struct fail_scene *s)
{
	struct drm_uma_queue_create args = queue_args(s);

	ASSERT_EQ(0, queue_create_try(s->c.fd, &args, &s->id));
}

static int run_queue_destroy(struct fail_scene *s)
{
	struct drm_uma_queue_destroy args = { .queue_id = s->id };
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_UMA_QUEUE_DESTROY, &args);
	if (!ret)
		s->id = 0;
	return ret;
}

const struct fail_op fail_op_queue_destroy = {
	.name = "queue_destroy", .prepare = make_queue, .run = run_queue_destroy,
	.undo = undo_queue,
};

static int run_queue_state(struct fail_scene *s)
{
	struct drm_uma_queue_state args = { .queue_id = s->queue };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_QUEUE_STATE, &args);
}

const struct fail_op fail_op_queue_state = { .name = "queue_state", .run = run_queue_state };

static void wait_idle(struct fail_scene *s)
{
	struct drm_uma_queue_state state;
	int i;

	for (i = 0; i < 10000; i++) {
		queue_state(s->c.fd, s->queue, &state);
		if (state.submitted == state.completed)
			return;
		usleep(1000);
	}
	EXPECT_EQ(state.submitted, state.completed);
}

static void prepare_submit(struct fail_scene *s)
{
	s->data.u32[0] = 0;
	s->id = syncobj_create(s->c.fd, false);
}

static int run_submit(struct fail_scene *s)
{
	struct drm_uma_sync out = sync_out(s->id);
	struct drm_uma_job job = {
		.queue_id = s->queue, .task_count = 1, .tasks_addr = s->tasks.va,
		.syncs = array_of(&out, sizeof(out), 1),
	};
	struct drm_uma_submit args = { .jobs = array_of(&job, sizeof(job), 1) };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_SUBMIT, &args);
}

static void undo_submit(struct fail_scene *s, int ret)
{
	wait_idle(s);
	/* The fence follows the count. */
	if (!ret)
		syncobj_wait(s->c.fd, s->id);
	/* A job that was taken has run and signalled, one that was not has done neither. */
	if (ret != -EFAULT) {
		EXPECT_EQ(ret ? 0 : 1, s->data.u32[0]);
		EXPECT_EQ(ret ? -EINVAL : 0, syncobj_wait_try(s->c.fd, s->id, 0, 0));
	}
	ASSERT_EQ(0, syncobj_destroy_try(s->c.fd, s->id));
	s->id = 0;
}

const struct fail_op fail_op_submit = {
	.name = "submit", .prepare = prepare_submit, .run = run_submit, .undo = undo_submit,
};

/* Three jobs with all kinds of syncs, the last of which waits for the first. */
static int run_submit_batch(struct fail_scene *s)
{
	struct drm_uma_sync first[2] = { sync_out_point(s->id, 1), sync_out_point(s->id, 2) };
	struct drm_uma_sync second[2] = { sync_in_point(s->id, 1), sync_out_point(s->id, 3) };
	struct drm_uma_sync third[2] = { sync_in_point(s->id, 3), sync_out_point(s->id, 4) };
	struct drm_uma_job_bo bos[2] = {
		{ .handle = s->tasks.handle },
		{ .handle = s->data.handle, .flags = DRM_UMA_JOB_BO_WRITE },
	};
	struct drm_uma_job jobs[3] = {
		{ .queue_id = s->queue, .task_count = 1, .tasks_addr = s->tasks.va,
		  .syncs = array_of(first, sizeof(first[0]), 2),
		  .bos = array_of(bos, sizeof(bos[0]), 2) },
		{ .queue_id = s->queue, .syncs = array_of(second, sizeof(second[0]), 2) },
		{ .queue_id = s->queue, .task_count = 1, .tasks_addr = s->tasks.va,
		  .syncs = array_of(third, sizeof(third[0]), 2) },
	};
	struct drm_uma_submit args = { .jobs = array_of(jobs, sizeof(jobs[0]), 3) };

	return fail_armed(s->c.fd, DRM_IOCTL_UMA_SUBMIT, &args);
}

static void undo_submit_batch(struct fail_scene *s, int ret)
{
	wait_idle(s);
	if (!ret)
		syncobj_wait_point(s->c.fd, s->id, 4);
	if (ret != -EFAULT) {
		EXPECT_EQ(ret ? 0 : 1, s->data.u32[0]);
		EXPECT_EQ(ret ? 0 : 4, syncobj_query(s->c.fd, s->id));
	}
	ASSERT_EQ(0, syncobj_destroy_try(s->c.fd, s->id));
	s->id = 0;
}

const struct fail_op fail_op_submit_batch = {
	.name = "submit_batch", .prepare = prepare_submit, .run = run_submit_batch,
	.undo = undo_submit_batch,
};

static void prepare_done(struct fail_scene *s)
{
	s->id = client_start(&s->c, s->queue, s->tasks.va, 1);
	fail_note_fd(s);
}

static int run_syncobj_export(struct fail_scene *s)
{
	struct drm_syncobj_handle args = {
		.handle = s->id, .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, .fd = -1,
	};
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);
	s->fd = ret ? -1 : args.fd;
	return ret;
}

void fail_note_fd(struct fail_scene *s)
{
	s->next_fd = dup(s->c.fd);
	close(s->next_fd);
}

/* The result could not be written: who knows what it was may close it. */
void fail_close_lost_fd(struct fail_scene *s, int ret)
{
	if (ret == -EFAULT)
		close(s->next_fd);
}

static void undo_sync(struct fail_scene *s, int ret)
{
	fail_close_lost_fd(s, ret);
	fail_close_fd(s, ret);
	syncobj_wait(s->c.fd, s->id);
	ASSERT_EQ(0, syncobj_destroy_try(s->c.fd, s->id));
	s->id = 0;
}

const struct fail_op fail_op_syncobj_export = {
	.name = "syncobj_export", .prepare = prepare_done, .run = run_syncobj_export,
	.undo = undo_sync, .errnos = { EINVAL },
};

static int run_syncobj_wait(struct fail_scene *s)
{
	struct drm_syncobj_wait args = {
		.handles = (uintptr_t)&s->id, .timeout_nsec = FOREVER, .count_handles = 1,
	};

	return fail_armed(s->c.fd, DRM_IOCTL_SYNCOBJ_WAIT, &args);
}

const struct fail_op fail_op_syncobj_wait = {
	.name = "syncobj_wait", .prepare = prepare_done, .run = run_syncobj_wait, .undo = undo_sync,
};
