// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ioctls as functions, and small things built of them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "client.h"

/* --- device ----------------------------------------------------------------- */

const char *dev_name(void)
{
	const char *name = getenv("UMA_DEVICE");

	return name && *name ? name : "accel0";
}

const char *dev_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/dev/accel/%s", dev_name());
	return path;
}

int dev_open_named(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/accel/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		harness_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
		harness_end();
	}
	return fd;
}

int dev_open(void)
{
	return dev_open_named(dev_name());
}

/* Name of the device below the node, as in /sys/devices. */
static bool device_of(const char *node, char *buf, size_t size)
{
	char path[128], target[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device", node);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = 0;
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strlen(name) >= size)
		return false;
	memcpy(buf, name, strlen(name) + 1);
	return true;
}

bool dev_debugfs(const char *node, const char *file, char *path, size_t size)
{
	const char *root = "/sys/kernel/debug/accel";
	char device[128] = "";

	/* A directory per minor in older kernels, per device in newer ones. */
	snprintf(path, size, "%s/%s/%s", root, node + strlen("accel"), file);
	if (!access(path, R_OK))
		return true;
	if (!device_of(node, device, sizeof(device)))
		return false;
	snprintf(path, size, "%s/%s/%s", root, device, file);
	return !access(path, R_OK);
}

bool emu_knob(const char *node, const char *file, const char *value)
{
	char device[128], path[300];

	if (!device_of(node, device, sizeof(device)))
		return false;
	snprintf(path, sizeof(path), "/sys/kernel/debug/uma_emu/%s/%s", device, file);
	return write_text(path, value);
}

long long emu_number(const char *node, const char *file)
{
	char device[128], path[300];

	if (!device_of(node, device, sizeof(device)))
		return -1;
	snprintf(path, sizeof(path), "/sys/kernel/debug/uma_emu/%s/%s", device, file);
	return read_number(path);
}

void inval_waits(const char *node)
{
	long long busy;
	int i;

	for (i = 0; i < 30; i++) {
		busy = emu_number(node, "inval_busy");
		ASSERT_GE(busy, 0);
		i = busy ? i : 0;
		usleep(10000);
	}
}

bool hang_begins(const char *node)
{
	long long left;

	while ((left = emu_number(node, "hang_next")) > 0)
		usleep(10000);
	return !left;
}

bool waits_in(pid_t tid, const char *function)
{
	char path[64], stack[4096];

	ASSERT_EQ(0, access("/proc/self/stack", R_OK));
	snprintf(path, sizeof(path), "/proc/%d/stack", tid);
	/* There is none of a thread that has ended. */
	return read_text(path, stack, sizeof(stack)) && strstr(stack, function);
}

bool is_root(void)
{
	return geteuid() == 0;
}

void become_tester(void)
{
	struct stat st;
	gid_t groups[1];

	ASSERT_EQ(0, stat(dev_path(), &st));
	groups[0] = st.st_gid;
	ASSERT_EQ(0, setgroups(1, groups));
	ASSERT_EQ(0, setresgid(1000, 1000, 1000));
	ASSERT_EQ(0, setresuid(1000, 1000, 1000));
}

bool read_text(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = 0;
	return true;
}

bool write_text(const char *path, const char *text)
{
	ssize_t n;
	int fd;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

long long read_number(const char *path)
{
	char text[64];

	if (!read_text(path, text, sizeof(text)))
		return -1;
	return strtoll(text, NULL, 0);
}

long pinned_kb(void)
{
	char text[8192], *p;

	if (!read_text("/proc/self/status", text, sizeof(text)))
		return -1;
	p = strstr(text, "VmPin:");
	return p ? atol(p + 6) : -1;
}

int do_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : 0;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- query ------------------------------------------------------------------ */

int query_try(int fd, __u32 type, __u32 index, void *data, __u32 *size)
{
	struct drm_uma_query q = {
		.type = type, .index = index, .size = *size, .data = (uintptr_t)data,
	};
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_QUERY, &q);
	*size = q.size;
	return ret;
}

void query_device(int fd, struct drm_uma_query_device *dev)
{
	__u32 size = sizeof(*dev);

	ASSERT_EQ(0, query_try(fd, DRM_UMA_QUERY_DEVICE, 0, dev, &size));
	ASSERT_EQ(sizeof(*dev), size);
}

void query_limits(int fd, struct drm_uma_query_limits *limits)
{
	__u32 size = sizeof(*limits);

	ASSERT_EQ(0, query_try(fd, DRM_UMA_QUERY_LIMITS, 0, limits, &size));
	ASSERT_EQ(sizeof(*limits), size);
}

unsigned int query_engines(int fd, struct drm_uma_query_engine *engines)
{
	__u32 size = MAX_ENGINES * sizeof(*engines);

	ASSERT_EQ(0, query_try(fd, DRM_UMA_QUERY_ENGINES, 0, engines, &size));
	ASSERT_LE(size, MAX_ENGINES * sizeof(*engines));
	return (unsigned int)(size / sizeof(*engines));
}

unsigned int query_caps(int fd, unsigned int engine, struct uma_op_cap *caps)
{
	__u32 size = MAX_CAPS * sizeof(*caps);

	ASSERT_EQ(0, query_try(fd, DRM_UMA_QUERY_ENGINE_CAPS, engine, caps, &size));
	ASSERT_LE(size, MAX_CAPS * sizeof(*caps));
	return (unsigned int)(size / sizeof(*caps));
}

bool engine_can(int fd, unsigned int engine, unsigned int opcode, unsigned int a, unsigned int b,
		unsigned int d)
{
	struct uma_op_cap caps[MAX_CAPS];
	unsigned int n, i;

	n = query_caps(fd, engine, caps);
	for (i = 0; i < n; i++) {
		const struct uma_op_cap *c = &caps[i];

		if (le16toh(c->opcode) == opcode && (!a || le32toh(c->a_dtypes) & 1u << a) &&
		    (!b || le32toh(c->b_dtypes) & 1u << b) &&
		    (!d || le32toh(c->d_dtypes) & 1u << d))
			return true;
	}
	return false;
}

int engine_for(int fd, unsigned int opcode, unsigned int a, unsigned int b, unsigned int d)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n, i;

	n = query_engines(fd, engines);
	for (i = 0; i < n; i++) {
		if (engine_can(fd, i, opcode, a, b, d))
			return (int)i;
	}
	return -1;
}

/* --- buffers ---------------------------------------------------------------- */

int bo_create_try(int fd, __u64 size, __u32 flags, __u32 *handle)
{
	struct drm_uma_bo_create args = { .size = size, .flags = flags };
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_BO_CREATE, &args);
	*handle = args.handle;
	return ret;
}

__u32 bo_create(int fd, __u64 size, __u32 flags)
{
	__u32 handle;

	ASSERT_EQ(0, bo_create_try(fd, size, flags, &handle));
	ASSERT_NE(0, handle);
	return handle;
}

int bo_offset_try(int fd, __u32 handle, __u64 *offset)
{
	struct drm_uma_bo_mmap_offset args = { .handle = handle };
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_BO_MMAP_OFFSET, &args);
	*offset = args.offset;
	return ret;
}

void *bo_map(int fd, __u32 handle, __u64 size)
{
	__u64 offset;
	void *p;

	ASSERT_EQ(0, bo_offset_try(fd, handle, &offset));
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	ASSERT_TRUE(p != MAP_FAILED);
	return p;
}

int bo_import_user_try(int fd, void *addr, __u64 size, __u32 flags, __u32 *handle)
{
	struct drm_uma_bo_import_user args = {
		.addr = (uintptr_t)addr, .size = size, .flags = flags,
	};
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_BO_IMPORT_USER, &args);
	*handle = args.handle;
	return ret;
}

int bo_info_try(int fd, __u32 handle, struct drm_uma_bo_info *info)
{
	memset(info, 0, sizeof(*info));
	info->handle = handle;
	return do_ioctl(fd, DRM_IOCTL_UMA_BO_INFO, info);
}

void bo_info(int fd, __u32 handle, struct drm_uma_bo_info *info)
{
	ASSERT_EQ(0, bo_info_try(fd, handle, info));
}

int bo_label_try(int fd, __u32 handle, const void *label, __u32 size)
{
	struct drm_uma_bo_label args = {
		.handle = handle, .size = size, .label = (uintptr_t)label,
	};

	return do_ioctl(fd, DRM_IOCTL_UMA_BO_LABEL, &args);
}

int gem_close_try(int fd, __u32 handle)
{
	struct drm_gem_close args = { .handle = handle };

	return do_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

void gem_close(int fd, __u32 handle)
{
	ASSERT_EQ(0, gem_close_try(fd, handle));
}

int prime_export_try(int fd, __u32 handle, __u32 flags, int *dmabuf)
{
	struct drm_prime_handle args = { .handle = handle, .flags = flags, .fd = -1 };
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);
	*dmabuf = args.fd;
	return ret;
}

int prime_export(int fd, __u32 handle)
{
	int dmabuf;

	ASSERT_EQ(0, prime_export_try(fd, handle, DRM_CLOEXEC | DRM_RDWR, &dmabuf));
	return dmabuf;
}

int prime_import_try(int fd, int dmabuf, __u32 *handle)
{
	struct drm_prime_handle args = { .fd = dmabuf };
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);
	*handle = args.handle;
	return ret;
}

__u32 prime_import(int fd, int dmabuf)
{
	__u32 handle;

	ASSERT_EQ(0, prime_import_try(fd, dmabuf, &handle));
	return handle;
}

/* --- address spaces --------------------------------------------------------- */

int vm_create_try(int fd, __u32 *vm)
{
	struct drm_uma_vm_create args = { 0 };
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_VM_CREATE, &args);
	*vm = args.vm_id;
	return ret;
}

__u32 vm_create(int fd)
{
	__u32 vm;

	ASSERT_EQ(0, vm_create_try(fd, &vm));
	ASSERT_NE(0, vm);
	return vm;
}

int vm_destroy_try(int fd, __u32 vm)
{
	struct drm_uma_vm_destroy args = { .vm_id = vm };

	return do_ioctl(fd, DRM_IOCTL_UMA_VM_DESTROY, &args);
}

int vm_bind_try(int fd, __u32 vm, const struct drm_uma_bind_op *ops, unsigned int count,
		__u32 *failed)
{
	struct drm_uma_vm_bind args = {
		.vm_id = vm, .ops = array_of(ops, sizeof(*ops), count),
	};
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_VM_BIND, &args);
	if (failed)
		*failed = args.failed_op;
	return ret;
}

int vm_map_try(int fd, __u32 vm, __u32 handle, __u64 offset, __u64 va, __u64 size, __u32 flags)
{
	struct drm_uma_bind_op op = {
		.op = DRM_UMA_BIND_MAP, .flags = flags, .handle = handle,
		.bo_offset = offset, .va = va, .size = size,
	};

	return vm_bind_try(fd, vm, &op, 1, NULL);
}

void vm_map(int fd, __u32 vm, __u32 handle, __u64 offset, __u64 va, __u64 size, __u32 flags)
{
	ASSERT_EQ(0, vm_map_try(fd, vm, handle, offset, va, size, flags));
}

int vm_unmap_try(int fd, __u32 vm, __u64 va, __u64 size)
{
	struct drm_uma_bind_op op = { .op = DRM_UMA_BIND_UNMAP, .va = va, .size = size };

	return vm_bind_try(fd, vm, &op, 1, NULL);
}

void vm_unmap(int fd, __u32 vm, __u64 va, __u64 size)
{
	ASSERT_EQ(0, vm_unmap_try(fd, vm, va, size));
}

/* --- queues and jobs -------------------------------------------------------- */

int queue_create_try(int fd, const struct drm_uma_queue_create *args, __u32 *queue)
{
	struct drm_uma_queue_create copy = *args;
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_QUEUE_CREATE, &copy);
	*queue = copy.queue_id;
	return ret;
}

__u32 queue_create_timeout(int fd, __u32 vm, __u32 engine_class, unsigned int instance,
			   __u32 timeout_ms)
{
	struct drm_uma_queue_create args = {
		.vm_id = vm, .engine_class = engine_class, .instances = 1u << instance,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = timeout_ms,
	};
	__u32 queue;

	ASSERT_EQ(0, queue_create_try(fd, &args, &queue));
	ASSERT_NE(0, queue);
	return queue;
}

__u32 queue_create(int fd, __u32 vm, unsigned int engine)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];

	ASSERT_LT(engine, query_engines(fd, engines));
	return queue_create_timeout(fd, vm, engines[engine].engine_class,
				    engines[engine].instance, 0);
}

int queue_destroy_try(int fd, __u32 queue)
{
	struct drm_uma_queue_destroy args = { .queue_id = queue };

	return do_ioctl(fd, DRM_IOCTL_UMA_QUEUE_DESTROY, &args);
}

int queue_state_try(int fd, __u32 queue, struct drm_uma_queue_state *state)
{
	memset(state, 0, sizeof(*state));
	state->queue_id = queue;
	return do_ioctl(fd, DRM_IOCTL_UMA_QUEUE_STATE, state);
}

void queue_state(int fd, __u32 queue, struct drm_uma_queue_state *state)
{
	ASSERT_EQ(0, queue_state_try(fd, queue, state));
}

int submit_try(int fd, const struct drm_uma_job *jobs, unsigned int count, __u32 *failed)
{
	struct drm_uma_submit args = { .jobs = array_of(jobs, sizeof(*jobs), count) };
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_SUBMIT, &args);
	if (failed)
		*failed = args.failed_job;
	return ret;
}

int submit_one_try(int fd, __u32 queue, __u64 tasks, __u32 count, const struct drm_uma_sync *syncs,
		   unsigned int nsyncs)
{
	struct drm_uma_job job = {
		.queue_id = queue, .task_count = count, .tasks_addr = tasks,
		.syncs = array_of(nsyncs ? syncs : NULL, sizeof(*syncs), nsyncs),
	};

	return submit_try(fd, &job, 1, NULL);
}

/* --- a client that runs tasks ----------------------------------------------- */

void client_open_named(struct client *c, const char *name)
{
	struct drm_uma_query_limits limits;

	c->fd = dev_open_named(name);
	query_limits(c->fd, &limits);
	c->vm = vm_create(c->fd);
	/* Not at the very start, so that addresses have bits of every level. */
	c->va = limits.va_start + 0x812345000ull;
}

void client_open(struct client *c)
{
	client_open_named(c, dev_name());
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

__u64 client_va(struct client *c, __u64 size)
{
	__u64 va = c->va;

	c->va += size + PAGE;
	return va;
}

__u64 client_bind_handle(struct client *c, __u32 handle, __u64 size, __u32 flags)
{
	__u64 va = client_va(c, size);

	vm_map(c->fd, c->vm, handle, 0, va, size, flags);
	return va;
}

void client_buf_repeated(struct client *c, struct buf *b, __u64 size, unsigned int times)
{
	unsigned int i;

	size = (size + PAGE - 1) & ~(PAGE - 1);
	b->size = size;
	b->handle = bo_create(c->fd, size, 0);
	b->map = bo_map(c->fd, b->handle, size);
	b->va = client_va(c, size * times);
	for (i = 0; i < times; i++)
		vm_map(c->fd, c->vm, b->handle, 0, b->va + i * size, size, 0);
}

void client_buf(struct client *c, struct buf *b, __u64 size)
{
	client_buf_repeated(c, b, size, 1);
}

void client_free(struct client *c, struct buf *b)
{
	vm_unmap(c->fd, c->vm, b->va, b->size);
	ASSERT_EQ(0, munmap(b->map, b->size));
	gem_close(c->fd, b->handle);
	memset(b, 0, sizeof(*b));
}

__u32 client_start(struct client *c, __u32 queue, __u64 tasks, __u32 count)
{
	__u32 done = syncobj_create(c->fd, false);
	struct drm_uma_sync out = sync_out(done);

	ASSERT_EQ(0, submit_one_try(c->fd, queue, tasks, count, &out, 1));
	return done;
}

__u32 client_start_after(struct client *c, __u32 queue, __u64 tasks, __u32 count, __u32 after)
{
	__u32 done = syncobj_create(c->fd, false);
	struct drm_uma_sync syncs[2] = { sync_in(after), sync_out(done) };

	ASSERT_EQ(0, submit_one_try(c->fd, queue, tasks, count, syncs, 2));
	return done;
}

int client_run(struct client *c, __u32 queue, __u64 tasks, __u32 count)
{
	__u32 done = client_start(c, queue, tasks, count);
	int status;

	status = syncobj_result(c->fd, done);
	ASSERT_NE(0, status);
	ASSERT_EQ(0, syncobj_destroy_try(c->fd, done));
	return status > 0 ? 0 : status;
}
