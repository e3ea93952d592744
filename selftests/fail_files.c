// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The calls that allocations fail in: dma-bufs, mappings, files, devices.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <linux/dma-buf.h>

#include "fail_nth.h"

#define SIZE	FAIL_SIZE

/* --- dma-bufs ---------------------------------------------------------------------- */

static int run_prime_export(struct fail_scene *s)
{
	struct drm_prime_handle args = {
		.handle = s->handle, .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1,
	};
	int ret;

	ret = fail_armed(s->c.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);
	s->fd = ret ? -1 : args.fd;
	return ret;
}

static void undo_dmabuf(struct fail_scene *s, int ret)
{
	fail_close_fd(s, ret);
	fail_close_handle(s, ret);
}

/* Advice is refused for what there is a dma-buf of, and for nothing else. */
static void check_advice(struct fail_scene *s)
{
	struct drm_uma_bo_madvise args = { .handle = s->handle, .advice = DRM_UMA_MADV_WILLNEED };
	struct drm_uma_bo_info info;

	bo_info(s->c.fd, s->handle, &info);
	EXPECT_EQ(info.flags & DRM_UMA_BO_INFO_EXPORTED ? -EBUSY : 0,
		  do_ioctl(s->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args));
}

static void undo_prime_export(struct fail_scene *s, int ret)
{
	check_advice(s);
	fail_close_lost_fd(s, ret);
	undo_dmabuf(s, ret);
}

static void prepare_export(struct fail_scene *s)
{
	fail_make_bo(s);
	fail_note_fd(s);
}

const struct fail_op fail_op_prime_export = {
	.name = "prime_export", .prepare = prepare_export, .run = run_prime_export,
	.undo = undo_prime_export,
};

static void prepare_import(struct fail_scene *s)
{
	fail_make_bo(s);
	s->fd = prime_export(s->c.fd, s->handle);
}

static int import_into(struct fail_scene *s, int fd)
{
	struct drm_prime_handle args = { .fd = s->fd };
	int ret;

	ret = fail_armed(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);
	s->id = ret ? 0 : args.handle;
	return ret;
}

static int run_prime_import(struct fail_scene *s)
{
	return import_into(s, s->c.fd);
}

const struct fail_op fail_op_prime_import = {
	.name = "prime_import", .prepare = prepare_import, .run = run_prime_import,
	.undo = undo_dmabuf,
};

static int run_prime_import_other(struct fail_scene *s)
{
	return import_into(s, s->other.fd);
}

static void undo_prime_import_other(struct fail_scene *s, int ret)
{
	/* The other file has this handle and no other. */
	if (!ret || ret == -EFAULT)
		gem_close_try(s->other.fd, s->id ? s->id : 1);
	s->id = 0;
	undo_dmabuf(s, ret);
}

const struct fail_op fail_op_prime_import_other = {
	.name = "prime_import_other", .prepare = prepare_import, .run = run_prime_import_other,
	.undo = undo_prime_import_other,
};

static void prepare_vgem(struct fail_scene *s)
{
	__u32 handle;

	if (s->vgem < 0)
		SKIP("no vgem");
	handle = vgem_bo(s->vgem, SIZE);
	s->fd = prime_export(s->vgem, handle);
	gem_close(s->vgem, handle);
}

const struct fail_op fail_op_prime_import_vgem = {
	.name = "prime_import_vgem", .prepare = prepare_vgem, .run = run_prime_import_other,
	.undo = undo_prime_import_other,
};

static void prepare_bind_imported(struct fail_scene *s)
{
	prepare_vgem(s);
	s->handle = prime_import(s->c.fd, s->fd);
	fail_make_vm(s);
}

static void undo_bind_imported(struct fail_scene *s, int ret)
{
	fail_undo_bind(s, ret);
	fail_close_fd(s, ret);
}

const struct fail_op fail_op_bind_imported = {
	.name = "bind_imported", .prepare = prepare_bind_imported, .run = fail_run_vm_bind_whole,
	.undo = undo_bind_imported,
};

/* --- mappings ---------------------------------------------------------------------- */

static sigjmp_buf jump;

static void on_bus(int sig __attribute__((unused)))
{
	siglongjmp(jump, 1);
}

/* Write to each page; -EFAULT if one is not to be had. */
static int touch(__u8 *p)
{
	struct sigaction sa = { .sa_handler = on_bus }, old, old_segv;
	int ret = -EFAULT;
	unsigned int i;

	sigaction(SIGBUS, &sa, &old);
	sigaction(SIGSEGV, &sa, &old_segv);
	if (!sigsetjmp(jump, 1)) {
		fail_arm();
		for (i = 0; i < SIZE; i += PAGE)
			__atomic_store_n(p + i, 1, __ATOMIC_SEQ_CST);
		ret = 0;
	}
	sigaction(SIGBUS, &old, NULL);
	sigaction(SIGSEGV, &old_segv, NULL);
	return ret;
}

static int run_dmabuf_mmap(struct fail_scene *s)
{
	fail_arm();
	s->p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	return s->p == MAP_FAILED ? -errno : 0;
}

static void undo_dmabuf_mmap(struct fail_scene *s, int ret)
{
	if (!ret)
		munmap(s->p, SIZE);
	undo_dmabuf(s, ret);
}

const struct fail_op fail_op_dmabuf_mmap = {
	.name = "dmabuf_mmap", .prepare = prepare_import, .run = run_dmabuf_mmap,
	.undo = undo_dmabuf_mmap,
};

static int run_dmabuf_sync(struct fail_scene *s)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_RW | DMA_BUF_SYNC_START };

	return fail_armed(s->fd, DMA_BUF_IOCTL_SYNC, &sync);
}

const struct fail_op fail_op_dmabuf_sync = {
	.name = "dmabuf_sync", .prepare = prepare_import, .run = run_dmabuf_sync,
	.undo = undo_dmabuf,
};

static int run_mmap(struct fail_scene *s)
{
	__u64 offset;
	int ret;

	ret = bo_offset_try(s->c.fd, s->handle, &offset);
	if (ret)
		return ret;
	fail_arm();
	s->p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s->c.fd, (off_t)offset);
	return s->p == MAP_FAILED ? -errno : 0;
}

const struct fail_op fail_op_mmap = {
	.name = "mmap", .prepare = fail_make_bo, .run = run_mmap, .undo = undo_dmabuf_mmap,
};

static void prepare_fault(struct fail_scene *s)
{
	fail_make_bo(s);
	s->p = bo_map(s->c.fd, s->handle, SIZE);
}

static int run_mmap_fault(struct fail_scene *s)
{
	return touch(s->p);
}

static void undo_mmap_fault(struct fail_scene *s, int ret)
{
	munmap(s->p, SIZE);
	fail_close_handle(s, ret);
}

const struct fail_op fail_op_mmap_fault = {
	.name = "mmap_fault", .prepare = prepare_fault, .run = run_mmap_fault,
	.undo = undo_mmap_fault,
};

/* --- files ------------------------------------------------------------------------- */

static int run_open(struct fail_scene *s)
{
	fail_arm();
	s->fd = open(dev_path(), O_RDWR | O_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

const struct fail_op fail_op_open = { .name = "open", .run = run_open, .undo = fail_close_fd };

/* All that a file can own goes with it, whatever fails on the way. */
static void prepare_close(struct fail_scene *s)
{
	struct client c;
	__u32 handle;

	client_open(&c);
	handle = bo_create(c.fd, SIZE, 0);
	client_bind_handle(&c, handle, SIZE, 0);
	queue_create(c.fd, c.vm, s->engine);
	close(prime_export(c.fd, handle));
	s->fd = c.fd;
}

static int run_close(struct fail_scene *s)
{
	int fd = s->fd;

	s->fd = -1;
	fail_arm();
	return close(fd) ? -errno : 0;
}

const struct fail_op fail_op_close = {
	.name = "close", .prepare = prepare_close, .run = run_close, .undo = fail_close_fd,
};

static char page[4096];

static int read_all(const char *path)
{
	ssize_t n;
	int fd, ret = 0;

	fail_arm();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((n = read(fd, page, sizeof(page))) > 0)
		;
	if (n < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int run_fdinfo(struct fail_scene *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", s->c.fd);
	return read_all(path);
}

const struct fail_op fail_op_fdinfo = { .name = "fdinfo", .run = run_fdinfo };

/* The files of a directory as one: those that are readable, one after the other. */
static int run_debugfs(struct fail_scene *s __attribute__((unused)))
{
	static const char *const files[] = {
		"gems", "vms", "queues", "engines", "clients", "rings", "reset_counter",
	};
	char paths[7][256];
	unsigned int i, n = 0;
	ssize_t r;
	int fd;

	for (i = 0; i < 7; i++)
		n += dev_debugfs(dev_name(), files[i], paths[n], sizeof(paths[n]));
	if (!n)
		return -ENOENT;
	fail_arm();
	for (i = 0; i < n; i++) {
		fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		while ((r = read(fd, page, sizeof(page))) > 0)
			;
		if (r < 0) {
			int error = errno;

			close(fd);
			return -error;
		}
		close(fd);
	}
	return 0;
}

const struct fail_op fail_op_debugfs = { .name = "debugfs", .run = run_debugfs };

static int run_sysfs(struct fail_scene *s __attribute__((unused)))
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device/job_timeout_ms", dev_name());
	return read_all(path);
}

const struct fail_op fail_op_sysfs = { .name = "sysfs", .run = run_sysfs };

/* --- devices ----------------------------------------------------------------------- */

#define DIRECTORY	"/sys/kernel/config/uma_emu/fail-nth"

static int run_configfs_mkdir(struct fail_scene *s __attribute__((unused)))
{
	if (access("/sys/kernel/config/uma_emu", W_OK))
		return -ENOENT;
	fail_arm();
	return mkdir(DIRECTORY, 0755) ? -errno : 0;
}

static void undo_configfs_mkdir(struct fail_scene *s __attribute__((unused)), int ret)
{
	if (!ret)
		ASSERT_EQ(0, rmdir(DIRECTORY));
}

const struct fail_op fail_op_configfs_mkdir = {
	.name = "configfs_mkdir", .run = run_configfs_mkdir, .undo = undo_configfs_mkdir,
};

#define AUTOPROBE	"/sys/bus/platform/drivers_autoprobe"

/* A device without a driver, until somebody binds them. */
static void prepare_instance(struct fail_scene *s)
{
	instance_make(&s->in, "fail");
	instance_set(&s->in, "profile", "m1");
	ASSERT_TRUE(write_text(AUTOPROBE, "0"));
}

static int armed_write(const char *path, const char *text)
{
	int fd, ret = 0;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fail_arm();
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	/* A file of configfs is stored when it is closed. */
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

static int run_configfs_enable(struct fail_scene *s)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/enabled", s->in.dir);
	return armed_write(path, "1");
}

static void undo_instance(struct fail_scene *s, int ret __attribute__((unused)))
{
	instance_drop(&s->in);
	ASSERT_TRUE(write_text(AUTOPROBE, "1"));
}

const struct fail_op fail_op_configfs_enable = {
	.name = "configfs_enable", .prepare = prepare_instance, .run = run_configfs_enable,
	.undo = undo_instance, .errnos = { EINVAL, EAGAIN, ENOSPC }, .slow = 13,
};

static void prepare_driver_bind(struct fail_scene *s)
{
	prepare_instance(s);
	instance_set(&s->in, "enabled", "1");
	instance_get(&s->in, "device", s->in.device, sizeof(s->in.device));
}

static int run_driver_bind(struct fail_scene *s)
{
	return armed_write("/sys/bus/platform/drivers/uma/bind", s->in.device);
}

/*
 * Some failures of a probe are fatal, in the kernel's own code: drm_minor_alloc_release() of 7.3
 * puts the device of a minor also where that is the error of drm_sysfs_minor_alloc(), and
 * devfreq_add_device(), from the 746th allocation on, ends an SRCU notifier that it has not begun.
 */
const struct fail_op fail_op_driver_bind = {
	.name = "driver_bind", .prepare = prepare_driver_bind, .run = run_driver_bind,
	.undo = undo_instance, .errnos = { EINVAL, EAGAIN, EBUSY }, .slow = 29,
	.skip_from = 18, .skip_to = 36, .end = 700,
};
