// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Every handle and id that an ioctl takes: 0, one that never was, one that is
 * no more, one of another file, one of another kind. All are -ENOENT, and the
 * other file's object stays as it was.
 */
#include <string.h>
#include <sys/mman.h>

#include "task.h"
#include "watch.h"

enum kind {
	KIND_BO, KIND_VM, KIND_QUEUE, KIND_SYNCOBJ,
};

enum use {
	USE_MMAP_OFFSET,
	USE_INFO,
	USE_LABEL,
	USE_SYNC,
	USE_BIND_BO,
	USE_EXPORT,
	USE_GEM_CLOSE,
	USE_BIND,
	USE_VM_DESTROY,
	USE_QUEUE_CREATE,
	USE_QUEUE_DESTROY,
	USE_QUEUE_STATE,
	USE_SUBMIT,
	USE_WAIT,
	USE_SIGNAL,
	USE_WAIT_POINT,
};

FIXTURE(handle) {
	struct client c;
	struct client other;
	__u32 queue;
};

FIXTURE_VARIANT(handle) {
	enum use use;
	enum kind of;
	int error;
};

#define USE(v, u, k, e) FIXTURE_VARIANT_ADD(handle, v) { .use = u, .of = k, .error = e }
USE(bo_mmap_offset, USE_MMAP_OFFSET, KIND_BO, -ENOENT);
USE(bo_info, USE_INFO, KIND_BO, -ENOENT);
USE(bo_label, USE_LABEL, KIND_BO, -ENOENT);
USE(bo_sync, USE_SYNC, KIND_BO, -ENOENT);
USE(bind_op, USE_BIND_BO, KIND_BO, -ENOENT);
USE(prime_export, USE_EXPORT, KIND_BO, -ENOENT);
/* The core's answer. */
USE(gem_close, USE_GEM_CLOSE, KIND_BO, -EINVAL);
USE(vm_bind, USE_BIND, KIND_VM, -ENOENT);
USE(vm_destroy, USE_VM_DESTROY, KIND_VM, -ENOENT);
USE(queue_create, USE_QUEUE_CREATE, KIND_VM, -ENOENT);
USE(queue_destroy, USE_QUEUE_DESTROY, KIND_QUEUE, -ENOENT);
USE(queue_state, USE_QUEUE_STATE, KIND_QUEUE, -ENOENT);
USE(submit_queue, USE_SUBMIT, KIND_QUEUE, -ENOENT);
USE(submit_wait, USE_WAIT, KIND_SYNCOBJ, -ENOENT);
USE(submit_wait_point, USE_WAIT_POINT, KIND_SYNCOBJ, -ENOENT);
USE(submit_signal, USE_SIGNAL, KIND_SYNCOBJ, -ENOENT);

FIXTURE_SETUP(handle)
{
	client_open(&self->c);
	client_open(&self->other);
	self->queue = queue_create(self->c.fd, self->c.vm, 0);
}

FIXTURE_TEARDOWN(handle)
{
	client_close(&self->c);
	client_close(&self->other);
}

static int use(struct client *c, __u32 queue, enum use how, __u32 handle)
{
	struct drm_uma_queue_create create = {
		.vm_id = handle,
		.engine_class = UMA_ENGINE_GPU,
		.instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL,
	};
	struct drm_uma_sync_range range = { .handle = handle,
					    .flags = DRM_UMA_SYNC_TO_CPU,
					    .size = PAGE };
	struct drm_uma_bo_sync bo_sync = { .ranges = array_of(&range, sizeof(range), 1) };
	struct drm_uma_queue_state state;
	struct drm_uma_bo_info info;
	struct drm_uma_sync sync;
	__u64 offset;
	__u32 id;
	int fd;

	switch (how) {
	case USE_MMAP_OFFSET:
		return bo_offset_try(c->fd, handle, &offset);
	case USE_INFO:
		return bo_info_try(c->fd, handle, &info);
	case USE_LABEL:
		return bo_label_try(c->fd, handle, "x", 1);
	case USE_SYNC:
		return do_ioctl(c->fd, DRM_IOCTL_UMA_BO_SYNC, &bo_sync);
	case USE_BIND_BO:
		return vm_map_try(c->fd, c->vm, handle, 0, client_va(c, PAGE), PAGE, 0);
	case USE_EXPORT:
		return prime_export_try(c->fd, handle, DRM_CLOEXEC, &fd);
	case USE_GEM_CLOSE:
		return gem_close_try(c->fd, handle);
	case USE_BIND:
		return vm_unmap_try(c->fd, handle, client_va(c, PAGE), PAGE);
	case USE_VM_DESTROY:
		return vm_destroy_try(c->fd, handle);
	case USE_QUEUE_CREATE:
		return queue_create_try(c->fd, &create, &id);
	case USE_QUEUE_DESTROY:
		return queue_destroy_try(c->fd, handle);
	case USE_QUEUE_STATE:
		return queue_state_try(c->fd, handle, &state);
	case USE_SUBMIT:
		return submit_one_try(c->fd, handle, 0, 0, NULL, 0);
	case USE_WAIT:
		sync = sync_in(handle);
		return submit_one_try(c->fd, queue, 0, 0, &sync, 1);
	case USE_WAIT_POINT:
		sync = sync_in_point(handle, 1);
		return submit_one_try(c->fd, queue, 0, 0, &sync, 1);
	case USE_SIGNAL:
		sync = sync_out(handle);
		return submit_one_try(c->fd, queue, 0, 0, &sync, 1);
	}
	return -1;
}

static __u32 make(struct client *c, enum kind of)
{
	switch (of) {
	case KIND_BO:
		return bo_create(c->fd, PAGE, 0);
	case KIND_VM:
		return vm_create(c->fd);
	case KIND_QUEUE:
		return queue_create(c->fd, c->vm, 0);
	case KIND_SYNCOBJ:
		return syncobj_create(c->fd, true);
	}
	return 0;
}

static void unmake(struct client *c, enum kind of, __u32 handle)
{
	switch (of) {
	case KIND_BO:
		gem_close(c->fd, handle);
		break;
	case KIND_VM:
		ASSERT_EQ(0, vm_destroy_try(c->fd, handle));
		break;
	case KIND_QUEUE:
		ASSERT_EQ(0, queue_destroy_try(c->fd, handle));
		break;
	case KIND_SYNCOBJ:
		ASSERT_EQ(0, syncobj_destroy_try(c->fd, handle));
		break;
	}
}

TEST_F(handle, zero)
{
	EXPECT_EQ(variant->error, use(&self->c, self->queue, variant->use, 0));
}

TEST_F(handle, huge)
{
	EXPECT_EQ(variant->error, use(&self->c, self->queue, variant->use, BAD_HANDLE));
	EXPECT_EQ(variant->error, use(&self->c, self->queue, variant->use, 0x80000000u));
	EXPECT_EQ(variant->error, use(&self->c, self->queue, variant->use, 0xffffffffu));
}

TEST_F(handle, closed)
{
	__u32 handle = make(&self->c, variant->of);

	unmake(&self->c, variant->of, handle);
	EXPECT_EQ(variant->error, use(&self->c, self->queue, variant->use, handle));
}

/* Make so many in the other file that the last of them cannot be a valid number here by chance. */
TEST_F(handle, of_another_file)
{
	__u32 handle = 0;
	int i;

	for (i = 0; i < 5; i++)
		handle = make(&self->other, variant->of);
	EXPECT_EQ(variant->error, use(&self->c, self->queue, variant->use, handle));
	unmake(&self->other, variant->of, handle);
}

TEST_F(handle, valid)
{
	__u32 handle = make(&self->c, variant->of);
	/*
	 * A point of a binary syncobj has no fence: waiting for one is the only use of these that
	 * has to fail.
	 */
	int expected = variant->use == USE_WAIT_POINT ? -EINVAL : 0;

	ASSERT_NE(0, handle);
	EXPECT_EQ(expected, use(&self->c, self->queue, variant->use, handle));
}

#define NOWHERE	3

/* The arguments of an ioctl, which the kernel can read and not write. */
static int call_read_only(int fd, unsigned long request, void *page, const void *args, size_t size)
{
	int ret;

	memcpy(page, args, size);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	ret = do_ioctl(fd, request, page);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	return ret;
}

/*
 * The answer cannot be written: the core of DRM says so after the call, for all drivers, and what
 * was made is the file's like anything else. It has the number that was next, uses up no more than
 * that, and goes with the file.
 */
TEST(number_goes_nowhere)
{
	struct drm_uma_bo_create bo = { .size = PAGE };
	struct drm_uma_vm_create vm = { 0 };
	struct drm_uma_queue_create queue = { .instances = 1, .priority = DRM_UMA_PRIORITY_NORMAL };
	__u32 first[3], i;
	struct client c;
	void *page;

	client_open(&c);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(page != MAP_FAILED);
	first[0] = bo_create(c.fd, PAGE, 0);
	first[1] = vm_create(c.fd);
	first[2] = queue_create(c.fd, c.vm, 0);
	queue.vm_id = c.vm;
	for (i = 0; i < NOWHERE; i++) {
		EXPECT_EQ(-EFAULT, call_read_only(c.fd, DRM_IOCTL_UMA_BO_CREATE, page, &bo,
						  sizeof(bo)));
		EXPECT_EQ(-EFAULT, call_read_only(c.fd, DRM_IOCTL_UMA_VM_CREATE, page, &vm,
						  sizeof(vm)));
		EXPECT_EQ(-EFAULT, call_read_only(c.fd, DRM_IOCTL_UMA_QUEUE_CREATE, page, &queue,
						  sizeof(queue)));
	}
	EXPECT_EQ(first[0] + NOWHERE + 1, bo_create(c.fd, PAGE, 0));
	EXPECT_EQ(first[1] + NOWHERE + 1, vm_create(c.fd));
	EXPECT_EQ(first[2] + NOWHERE + 1, queue_create(c.fd, c.vm, 0));
	/* Who guesses the number can use it, and let go of it. */
	EXPECT_EQ(0, gem_close_try(c.fd, first[0] + 1));
	EXPECT_EQ(0, vm_destroy_try(c.fd, first[1] + 1));
	EXPECT_EQ(0, queue_destroy_try(c.fd, first[2] + 1));
	munmap(page, PAGE);
	client_close(&c);
}

/* ... and with the file it goes. */
TEST(nothing_stays_of_it)
{
	long long bos = counter("bo_count");
	struct drm_uma_bo_create bo = { .size = PAGE };
	void *page;
	int fd, i;

	if (bos < 0)
		SKIP("no debugfs");
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(page != MAP_FAILED);
	fd = dev_open();
	for (i = 0; i < NOWHERE; i++)
		EXPECT_EQ(-EFAULT, call_read_only(fd, DRM_IOCTL_UMA_BO_CREATE, page, &bo,
						  sizeof(bo)));
	EXPECT_EQ(bos + NOWHERE, counter("bo_count"));
	close(fd);
	EXPECT_EQ(bos, counter("bo_count"));
}

HARNESS_MAIN
