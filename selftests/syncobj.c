// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Syncobjs and sync files: the core's ioctls as functions.
 */
#include <poll.h>

#include <linux/sync_file.h>

#include "client.h"

__u32 syncobj_create(int fd, bool signalled)
{
	struct drm_syncobj_create args = {
		.flags = signalled ? DRM_SYNCOBJ_CREATE_SIGNALED : 0,
	};

	ASSERT_EQ(0, do_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &args));
	return args.handle;
}

int syncobj_destroy_try(int fd, __u32 handle)
{
	struct drm_syncobj_destroy args = { .handle = handle };

	return do_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

int syncobj_wait_try(int fd, __u32 handle, int64_t abs_ns, __u32 flags)
{
	struct drm_syncobj_wait args = {
		.handles = (uintptr_t)&handle,
		.timeout_nsec = abs_ns,
		.count_handles = 1,
		.flags = flags,
	};

	return do_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &args);
}

void syncobj_wait(int fd, __u32 handle)
{
	ASSERT_EQ(0, syncobj_wait_try(fd, handle, FOREVER, 0));
}

int syncobj_wait_point_try(int fd, __u32 handle, __u64 point, int64_t abs_ns, __u32 flags)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&handle, .points = (uintptr_t)&point,
		.timeout_nsec = abs_ns, .count_handles = 1, .flags = flags,
	};

	return do_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

void syncobj_wait_point(int fd, __u32 handle, __u64 point)
{
	ASSERT_EQ(0, syncobj_wait_point_try(fd, handle, point, FOREVER, 0));
}

bool syncobj_done(int fd, __u32 handle)
{
	int ret = syncobj_wait_try(fd, handle, 0, 0);

	ASSERT_TRUE(ret == 0 || ret == -ETIME);
	return ret == 0;
}

int syncobj_signal_try(int fd, __u32 handle)
{
	struct drm_syncobj_array args = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	return do_ioctl(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &args);
}

int syncobj_reset_try(int fd, __u32 handle)
{
	struct drm_syncobj_array args = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	return do_ioctl(fd, DRM_IOCTL_SYNCOBJ_RESET, &args);
}

__u64 syncobj_query(int fd, __u32 handle)
{
	__u64 point = ~0ull;
	struct drm_syncobj_timeline_array args = {
		.handles = (uintptr_t)&handle, .points = (uintptr_t)&point, .count_handles = 1,
	};

	ASSERT_EQ(0, do_ioctl(fd, DRM_IOCTL_SYNCOBJ_QUERY, &args));
	return point;
}

int syncobj_export_try(int fd, __u32 handle, bool sync_file, int *out)
{
	struct drm_syncobj_handle args = {
		.handle = handle, .fd = -1,
		.flags = sync_file ? DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE : 0,
	};
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);
	*out = args.fd;
	return ret;
}

int syncobj_import_try(int fd, int from, bool sync_file, __u32 *handle)
{
	struct drm_syncobj_handle args = {
		.handle = sync_file ? *handle : 0, .fd = from,
		.flags = sync_file ? DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE : 0,
	};
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
	if (!ret && !sync_file)
		*handle = args.handle;
	return ret;
}

int sync_file_status(int file)
{
	struct sync_file_info info = { 0 };

	ASSERT_EQ(0, do_ioctl(file, SYNC_IOC_FILE_INFO, &info));
	return info.status;
}

int syncobj_status(int fd, __u32 handle)
{
	int file, status;

	ASSERT_EQ(0, syncobj_export_try(fd, handle, true, &file));
	status = sync_file_status(file);
	close(file);
	return status;
}

int sync_file_wait(int file)
{
	struct pollfd p = { .fd = file, .events = POLLIN };

	ASSERT_EQ(1, poll(&p, 1, -1));
	return sync_file_status(file);
}

int syncobj_result(int fd, __u32 handle)
{
	syncobj_wait(fd, handle);
	return syncobj_status(fd, handle);
}
