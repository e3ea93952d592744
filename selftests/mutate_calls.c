// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The valid calls that the mutator starts from: every ioctl of the driver, and
 * those of the core that lead into it.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "mutate.h"
#include "task.h"

#define BO_SIZE		(4 * PAGE)
#define BIND_VA		0x40000000ull

void world_arena(void)
{
	unsigned int i;

	ASSERT_TRUE(mmap(ARENA, ARENA_SIZE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			 0) == ARENA);
	for (i = 0; i < MAX_CHUNKS; i++)
		ASSERT_EQ(0, mprotect(ARENA + 2 * i * PAGE, PAGE, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, mprotect(ARENA_USER, ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, mprotect(ARENA_DATA, ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE));
}

static void syncs_open(struct world *w)
{
	struct drm_uma_sync syncs[2];
	unsigned int i;

	for (i = 0; i < 4; i++)
		w->syncs[i] = syncobj_create(w->c.fd, false);
	syncs[0] = sync_out(w->syncs[0]);
	syncs[1] = sync_out_point(w->syncs[1], 1);
	ASSERT_EQ(0, submit_one_try(w->c.fd, w->queues[0], 0, 0, syncs, 2));
}

static void queues_open(struct world *w)
{
	int engine = engine_for(w->c.fd, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32);

	ASSERT_GE(engine, 0);
	w->queues[0] = queue_create(w->c.fd, w->c.vm, (unsigned int)engine);
	w->queues[1] = queue_create(w->c.fd, w->c.vm, (unsigned int)engine);
}

void world_open(struct world *w)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	client_open(&w->c);
	query_limits(w->c.fd, &w->limits);
	w->vm2 = vm_create(w->c.fd);
	queues_open(w);
	for (i = 0; i < 3; i++)
		w->bos[i] = bo_create(w->c.fd, BO_SIZE, 0);
	client_buf(&w->c, &w->tasks, PAGE);
	client_buf(&w->c, &w->data, PAGE);
	for (i = 0; i < 2; i++)
		task_fill(&w->tasks.task[i], UMA_DTYPE_S32, w->data.va, 1, i);
	w->dmabuf = prime_export(w->c.fd, w->bos[2]);
	syncs_open(w);
}

void world_close(struct world *w)
{
	close(w->dmabuf);
	munmap(w->tasks.map, w->tasks.size);
	munmap(w->data.map, w->data.size);
	client_close(&w->c);
}

bool world_drain(struct world *w)
{
	struct drm_uma_queue_state state;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		for (;;) {
			if (queue_state_try(w->c.fd, w->queues[i], &state))
				return false;
			if (state.submitted == state.completed)
				break;
			sched_yield();
		}
		if (state.status != DRM_UMA_QUEUE_OK)
			w->dirty = true;
	}
	return true;
}

/* Put a piece of the argument in its place. */
static __u64 put(struct world *w, const void *data, size_t size)
{
	unsigned int i = w->chunk_count++;
	char *p = ARENA + (2 * i + 1) * PAGE - size;

	memcpy(p, data, size);
	w->chunks[i] = (struct chunk){ .p = p, .size = (__u32)size };
	return (uintptr_t)p;
}

#define PUT(w, x)	put((w), &(x), sizeof(x))

static struct drm_uma_array put_array(struct world *w, const void *p, size_t stride, size_t count)
{
	return array_of((void *)(uintptr_t)put(w, p, stride * count), stride, count);
}

/* The ioctl's own struct has to be the first chunk, whose place is known before its contents. */
static void put_first(struct world *w, const void *data, size_t size)
{
	unsigned int count = w->chunk_count;

	w->chunk_count = 0;
	put(w, data, size);
	w->chunk_count = count;
}

#define PUT_FIRST(w, x)	put_first((w), &(x), sizeof(x))

static void undo_nothing(struct world *w __attribute__((unused)),
			 void *arg __attribute__((unused)), int ret __attribute__((unused)))
{
}

/* --- query ------------------------------------------------------------------ */

static void build_query(struct world *w, __u32 type, __u32 index, __u32 size)
{
	struct drm_uma_query q = {
		.type = type, .index = index, .size = size,
		.data = size ? (uintptr_t)ARENA_DATA + ARENA_PAGES * PAGE - size : 0,
	};

	PUT(w, q);
}

static void build_query_device(struct world *w)
{
	build_query(w, DRM_UMA_QUERY_DEVICE, 0, sizeof(struct drm_uma_query_device));
}

static void build_query_engines(struct world *w)
{
	build_query(w, DRM_UMA_QUERY_ENGINES, 0, 24 * sizeof(struct drm_uma_query_engine));
}

static void build_query_caps(struct world *w)
{
	build_query(w, DRM_UMA_QUERY_ENGINE_CAPS, 1, 16 * sizeof(struct uma_op_cap));
}

static void build_query_memory(struct world *w)
{
	build_query(w, DRM_UMA_QUERY_MEMORY, 0, sizeof(struct drm_uma_query_memory));
}

static void build_query_limits(struct world *w)
{
	build_query(w, DRM_UMA_QUERY_LIMITS, 0, sizeof(struct drm_uma_query_limits));
}

static void build_query_size(struct world *w)
{
	build_query(w, DRM_UMA_QUERY_ENGINES, 0, 0);
}

/* --- buffers ---------------------------------------------------------------- */

static void build_bo_create(struct world *w)
{
	struct drm_uma_bo_create args = { .size = BO_SIZE };

	PUT(w, args);
}

static void build_bo_create_flags(struct world *w)
{
	struct drm_uma_bo_create args = { .size = PAGE, .flags = DRM_UMA_BO_WC };

	PUT(w, args);
}

static void undo_bo_create(struct world *w, void *arg, int ret)
{
	struct drm_uma_bo_create *args = arg;

	if (!ret && gem_close_try(w->c.fd, args->handle))
		w->failures++;
}

static void build_bo_mmap_offset(struct world *w)
{
	struct drm_uma_bo_mmap_offset args = { .handle = w->bos[0] };

	PUT(w, args);
}

static void build_bo_import_user(struct world *w)
{
	struct drm_uma_bo_import_user args = {
		.addr = (uintptr_t)ARENA_USER, .size = ARENA_PAGES * PAGE,
	};

	PUT(w, args);
}

static void undo_bo_import_user(struct world *w, void *arg, int ret)
{
	struct drm_uma_bo_import_user *args = arg;

	if (!ret && gem_close_try(w->c.fd, args->handle))
		w->failures++;
}

static void build_bo_info(struct world *w)
{
	struct drm_uma_bo_info args = { .handle = w->bos[0] };

	PUT(w, args);
}

static void build_bo_label(struct world *w)
{
	static const char text[] = "weights, layer 3";
	struct drm_uma_bo_label args = { .handle = w->bos[0], .size = sizeof(text) - 1 };

	w->chunk_count = 1;
	args.label = put(w, text, sizeof(text) - 1);
	PUT_FIRST(w, args);
}

static void build_bo_madvise(struct world *w)
{
	struct drm_uma_bo_madvise args = {
		.handle = w->bos[0], .advice = DRM_UMA_MADV_DONTNEED,
	};

	PUT(w, args);
}

static void undo_bo_madvise(struct world *w, void *arg, int ret)
{
	struct drm_uma_bo_madvise args = {
		.handle = ((struct drm_uma_bo_madvise *)arg)->handle,
		.advice = DRM_UMA_MADV_WILLNEED,
	};

	/* What has been purged meanwhile is of no more use. */
	if (!ret && (do_ioctl(w->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args) || !args.retained))
		w->dirty = true;
}

static void build_bo_sync(struct world *w)
{
	struct drm_uma_sync_range ranges[3] = {
		{ .handle = w->bos[0], .flags = DRM_UMA_SYNC_TO_DEVICE, .size = PAGE },
		{ .handle = w->bos[1], .flags = DRM_UMA_SYNC_TO_CPU, .offset = 64, .size = 4096 },
		{ .handle = w->bos[2], .flags = DRM_UMA_SYNC_TO_CPU | DRM_UMA_SYNC_TO_DEVICE,
		  .offset = PAGE, .size = 3 * PAGE },
	};
	struct drm_uma_bo_sync args;

	w->chunk_count = 1;
	args.ranges = put_array(w, ranges, sizeof(ranges[0]), 3);
	PUT_FIRST(w, args);
}

/* --- address spaces --------------------------------------------------------- */

static void build_vm_create(struct world *w)
{
	struct drm_uma_vm_create args = { 0 };

	PUT(w, args);
}

static void undo_vm_create(struct world *w, void *arg, int ret)
{
	struct drm_uma_vm_create *args = arg;

	if (!ret && vm_destroy_try(w->c.fd, args->vm_id))
		w->failures++;
}

static void build_vm_destroy(struct world *w)
{
	struct drm_uma_vm_destroy args = { .vm_id = w->fresh = vm_create(w->c.fd) };

	PUT(w, args);
}

/* Whatever it took, the world has to be as it was: with an empty vm2 any one will do. */
static void undo_vm_destroy(struct world *w, void *arg, int ret)
{
	struct drm_uma_vm_destroy *args = arg;

	if (!ret && args->vm_id == w->fresh)
		return;
	if (vm_destroy_try(w->c.fd, w->fresh))
		w->failures++;
	if (!ret)
		w->dirty = true;
}

static void build_vm_bind(struct world *w)
{
	struct drm_uma_bind_op ops[4] = {
		{ .op = DRM_UMA_BIND_MAP, .handle = w->bos[0], .va = BIND_VA, .size = BO_SIZE },
		{ .op = DRM_UMA_BIND_UNMAP, .va = BIND_VA + PAGE, .size = PAGE },
		{ .op = DRM_UMA_BIND_MAP, .flags = DRM_UMA_BIND_READONLY, .handle = w->bos[1],
		  .bo_offset = PAGE, .va = BIND_VA + PAGE, .size = PAGE },
		{ .op = DRM_UMA_BIND_MAP, .handle = w->bos[2], .bo_offset = PAGE,
		  .va = BIND_VA + (1ull << 33), .size = 2 * PAGE },
	};
	struct drm_uma_vm_bind args = { .vm_id = w->vm2 };

	w->chunk_count = 1;
	args.ops = put_array(w, ops, sizeof(ops[0]), 4);
	PUT_FIRST(w, args);
}

static void undo_vm_bind(struct world *w, void *arg, int ret)
{
	struct drm_uma_vm_bind *args = arg;

	if (ret)
		return;
	if (args->vm_id != w->vm2)
		w->dirty = true;
	else if (vm_unmap_try(w->c.fd, w->vm2, w->limits.va_start,
			      w->limits.va_end - w->limits.va_start))
		w->failures++;
}

/* --- queues and jobs -------------------------------------------------------- */

static void build_queue_create(struct world *w)
{
	struct drm_uma_queue_create args = {
		.vm_id = w->vm2, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 1000,
	};

	PUT(w, args);
}

static void undo_queue_create(struct world *w, void *arg, int ret)
{
	struct drm_uma_queue_create *args = arg;

	if (!ret && queue_destroy_try(w->c.fd, args->queue_id))
		w->failures++;
}

static void build_queue_destroy(struct world *w)
{
	struct drm_uma_queue_create create = {
		.vm_id = w->vm2, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_LOW,
	};
	struct drm_uma_queue_destroy args = { 0 };

	ASSERT_EQ(0, queue_create_try(w->c.fd, &create, &w->fresh));
	args.queue_id = w->fresh;
	PUT(w, args);
}

static void undo_queue_destroy(struct world *w, void *arg, int ret)
{
	struct drm_uma_queue_destroy *args = arg;

	if (!ret && args->queue_id == w->fresh)
		return;
	if (queue_destroy_try(w->c.fd, w->fresh))
		w->failures++;
	if (!ret)
		w->dirty = true;
}

static void build_queue_state(struct world *w)
{
	struct drm_uma_queue_state args = { .queue_id = w->queues[0] };

	PUT(w, args);
}

static void build_submit(struct world *w)
{
	struct drm_uma_sync first[3] = {
		sync_in(w->syncs[0]), sync_in_point(w->syncs[1], 1), sync_out(w->syncs[2]),
	};
	struct drm_uma_sync second[3] = {
		sync_in(w->syncs[2]), sync_out_point(w->syncs[1], 2), sync_out(w->syncs[3]),
	};
	struct drm_uma_job_bo bos[2] = {
		{ .handle = w->bos[0] }, { .handle = w->bos[2], .flags = DRM_UMA_JOB_BO_WRITE },
	};
	struct drm_uma_job jobs[2] = {
		{ .queue_id = w->queues[0], .task_count = 1, .tasks_addr = w->tasks.va,
		  .stamps_addr = w->data.va + 1024 },
		{ .queue_id = w->queues[1], .task_count = 2, .tasks_addr = w->tasks.va },
	};
	struct drm_uma_submit args = { 0 };

	w->chunk_count = 1;
	jobs[0].syncs = put_array(w, first, sizeof(first[0]), 3);
	jobs[1].syncs = put_array(w, second, sizeof(second[0]), 3);
	jobs[0].bos = put_array(w, bos, sizeof(bos[0]), 2);
	jobs[1].bos = put_array(w, bos, sizeof(bos[0]), 1);
	args.jobs = put_array(w, jobs, sizeof(jobs[0]), 2);
	PUT_FIRST(w, args);
}

static void undo_submit(struct world *w, void *arg __attribute__((unused)), int ret)
{
	unsigned int i;

	if (ret)
		return;
	if (!world_drain(w))
		w->failures++;
	for (i = 0; i < 4; i++)
		syncobj_destroy_try(w->c.fd, w->syncs[i]);
	if (!w->dirty)
		syncs_open(w);
}

static void build_timestamp(struct world *w)
{
	struct drm_uma_timestamp args = { 0 };

	PUT(w, args);
}

static void build_counters(struct world *w, __u32 queue, __u32 engine)
{
	const __u32 size = sizeof(struct drm_uma_counters);
	struct drm_uma_counters_get args = {
		.queue_id = queue, .engine = engine, .size = size,
		.data = (uintptr_t)ARENA_DATA + ARENA_PAGES * PAGE - size,
	};

	PUT(w, args);
}

static void build_counters_queue(struct world *w)
{
	build_counters(w, w->queues[0], 0);
}

/* Not for everybody. */
static void build_counters_engine(struct world *w)
{
	if (is_root())
		build_counters(w, 0, 1);
	else
		build_counters(w, w->queues[1], 0);
}

/* --- the core's that lead into the driver ----------------------------------- */

static void build_gem_close(struct world *w)
{
	struct drm_gem_close args = { .handle = w->fresh = bo_create(w->c.fd, PAGE, 0) };

	PUT(w, args);
}

static void undo_gem_close(struct world *w, void *arg, int ret)
{
	struct drm_gem_close *args = arg;

	if (!ret && args->handle == w->fresh)
		return;
	if (gem_close_try(w->c.fd, w->fresh))
		w->failures++;
	if (!ret)
		w->dirty = true;
}

static void build_prime_export(struct world *w)
{
	struct drm_prime_handle args = {
		.handle = w->bos[1], .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1,
	};

	PUT(w, args);
}

static void undo_prime_export(struct world *w __attribute__((unused)), void *arg, int ret)
{
	struct drm_prime_handle *args = arg;

	if (!ret && close(args->fd))
		w->failures++;
}

static void build_prime_import(struct world *w)
{
	struct drm_prime_handle args = { .fd = w->dmabuf };

	PUT(w, args);
}

/* It is a buffer of this very client, so there is no new handle. */
static void undo_prime_import(struct world *w, void *arg, int ret)
{
	struct drm_prime_handle *args = arg;

	if (!ret && args->handle != w->bos[2])
		w->failures++;
}

#define CALL(n, id, b, u, ...) \
	{ .name = #n, .request = DRM_IOCTL_##id, .build = b, .undo = u, .errnos = { __VA_ARGS__ } }

const struct call mutate_calls[] = {
	CALL(query_device, UMA_QUERY, build_query_device, undo_nothing, EFAULT),
	CALL(query_engines, UMA_QUERY, build_query_engines, undo_nothing, EFAULT),
	CALL(query_caps, UMA_QUERY, build_query_caps, undo_nothing, EFAULT),
	CALL(query_memory, UMA_QUERY, build_query_memory, undo_nothing, EFAULT),
	CALL(query_limits, UMA_QUERY, build_query_limits, undo_nothing, EFAULT),
	CALL(query_size, UMA_QUERY, build_query_size, undo_nothing, EFAULT),
	CALL(bo_create, UMA_BO_CREATE, build_bo_create, undo_bo_create, ENOMEM),
	CALL(bo_create_flags, UMA_BO_CREATE, build_bo_create_flags, undo_bo_create, ENOMEM),
	CALL(bo_mmap_offset, UMA_BO_MMAP_OFFSET, build_bo_mmap_offset, undo_nothing, ENOENT, EPERM,
	     EFAULT, ENOMEM, EINTR),
	CALL(bo_import_user, UMA_BO_IMPORT_USER, build_bo_import_user, undo_bo_import_user, EFAULT,
	     EOPNOTSUPP, ENOMEM),
	CALL(bo_info, UMA_BO_INFO, build_bo_info, undo_nothing, ENOENT),
	CALL(bo_label, UMA_BO_LABEL, build_bo_label, undo_nothing, ENOENT, E2BIG, EFAULT, ENOMEM),
	CALL(bo_madvise, UMA_BO_MADVISE, build_bo_madvise, undo_bo_madvise, ENOENT, EPERM, EBUSY,
	     EINTR),
	CALL(bo_sync, UMA_BO_SYNC, build_bo_sync, undo_nothing, ENOENT, E2BIG, EFAULT, ENOMEM),
	CALL(vm_create, UMA_VM_CREATE, build_vm_create, undo_vm_create, ENOSPC, ENOMEM),
	CALL(vm_destroy, UMA_VM_DESTROY, build_vm_destroy, undo_vm_destroy, ENOENT, EBUSY),
	CALL(vm_bind, UMA_VM_BIND, build_vm_bind, undo_vm_bind, ENOENT, EEXIST, EACCES, ENOSPC,
	     E2BIG, EFAULT, ENOMEM, EINTR),
	CALL(queue_create, UMA_QUEUE_CREATE, build_queue_create, undo_queue_create, ENOENT, EACCES,
	     ENOSPC, ENOMEM),
	CALL(queue_destroy, UMA_QUEUE_DESTROY, build_queue_destroy, undo_queue_destroy, ENOENT),
	CALL(queue_state, UMA_QUEUE_STATE, build_queue_state, undo_nothing, ENOENT),
	CALL(submit, UMA_SUBMIT, build_submit, undo_submit, ENOENT, ECANCELED, EBUSY, E2BIG, EFAULT,
	     ENOMEM, EINTR),
	CALL(counters_queue, UMA_COUNTERS, build_counters_queue, undo_nothing, ENOENT, EACCES,
	     EFAULT),
	CALL(counters_engine, UMA_COUNTERS, build_counters_engine, undo_nothing, ENOENT, EACCES,
	     EFAULT),
	CALL(timestamp, UMA_TIMESTAMP, build_timestamp, undo_nothing, 0),
	CALL(gem_close, GEM_CLOSE, build_gem_close, undo_gem_close, ENOENT),
	CALL(prime_export, PRIME_HANDLE_TO_FD, build_prime_export, undo_prime_export, ENOENT,
	     EACCES, EBUSY, EOPNOTSUPP, ENOMEM, EMFILE),
	CALL(prime_import, PRIME_FD_TO_HANDLE, build_prime_import, undo_prime_import, EBADF, EACCES,
	     ENOENT, EOPNOTSUPP, ENOMEM),
};

const unsigned int mutate_call_count = sizeof(mutate_calls) / sizeof(mutate_calls[0]);
