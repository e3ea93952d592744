// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Arguments of every ioctl: fields that must be zero, bad pointers, ioctl
 * numbers of another size or direction, numbers that do not exist.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "task.h"
#include "watch.h"

enum call {
	QUERY,
	BO_CREATE,
	BO_MMAP_OFFSET,
	BO_IMPORT_USER,
	BO_INFO,
	BO_LABEL,
	BO_SYNC,
	VM_CREATE,
	VM_DESTROY,
	VM_BIND,
	QUEUE_CREATE,
	QUEUE_DESTROY,
	QUEUE_STATE,
	SUBMIT,
	TIMESTAMP,
	BO_MADVISE,
	COUNTERS,
};

union arg {
	struct drm_uma_query query;
	struct drm_uma_bo_create bo_create;
	struct drm_uma_bo_mmap_offset bo_mmap_offset;
	struct drm_uma_bo_import_user bo_import_user;
	struct drm_uma_bo_info bo_info;
	struct drm_uma_bo_label bo_label;
	struct drm_uma_bo_sync bo_sync;
	struct drm_uma_vm_create vm_create;
	struct drm_uma_vm_destroy vm_destroy;
	struct drm_uma_vm_bind vm_bind;
	struct drm_uma_queue_create queue_create;
	struct drm_uma_queue_destroy queue_destroy;
	struct drm_uma_queue_state queue_state;
	struct drm_uma_submit submit;
	struct drm_uma_timestamp timestamp;
	struct drm_uma_bo_madvise bo_madvise;
	struct drm_uma_counters_get counters_get;
	__u8 bytes[256];
	__u64 words[32];
};

static const struct {
	unsigned long request;
	size_t size;
} calls[] = {
#define CALL_ROW(id, type)						\
	[id] = { DRM_IOCTL_UMA_##id, sizeof(struct drm_uma_##type) },
	CALL_ROW(QUERY, query)
	CALL_ROW(BO_CREATE, bo_create)
	CALL_ROW(BO_MMAP_OFFSET, bo_mmap_offset)
	CALL_ROW(BO_IMPORT_USER, bo_import_user)
	CALL_ROW(BO_INFO, bo_info)
	CALL_ROW(BO_LABEL, bo_label)
	CALL_ROW(BO_SYNC, bo_sync)
	CALL_ROW(VM_CREATE, vm_create)
	CALL_ROW(VM_DESTROY, vm_destroy)
	CALL_ROW(VM_BIND, vm_bind)
	CALL_ROW(QUEUE_CREATE, queue_create)
	CALL_ROW(QUEUE_DESTROY, queue_destroy)
	CALL_ROW(QUEUE_STATE, queue_state)
	CALL_ROW(SUBMIT, submit)
	CALL_ROW(TIMESTAMP, timestamp)
	CALL_ROW(BO_MADVISE, bo_madvise)
	CALL_ROW(COUNTERS, counters_get)
};

/* A client that has one of everything, so that every ioctl has a valid argument. */
struct world {
	struct client c;
	struct buf bo;
	void *user;
	__u32 idle_vm;
	__u32 queue;
	__u32 syncobj;
	struct drm_uma_query_device device;
	struct drm_uma_sync_range range;
	struct drm_uma_bind_op bind;
	struct drm_uma_job job;
	struct drm_uma_sync sync;
	struct drm_uma_counters counters;
};

static void world_make(struct world *w)
{
	client_open(&w->c);
	client_buf(&w->c, &w->bo, 4 * PAGE);
	w->user = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(w->user != MAP_FAILED);
	w->idle_vm = vm_create(w->c.fd);
	w->queue = queue_create(w->c.fd, w->c.vm, 0);
	w->syncobj = syncobj_create(w->c.fd, false);
	w->range = (struct drm_uma_sync_range){
		.handle = w->bo.handle, .flags = DRM_UMA_SYNC_TO_DEVICE, .size = PAGE,
	};
	w->bind = (struct drm_uma_bind_op){
		.op = DRM_UMA_BIND_MAP,
		.handle = w->bo.handle,
		.va = client_va(&w->c, PAGE),
		.size = PAGE,
	};
	w->sync = sync_out(w->syncobj);
	w->job = (struct drm_uma_job){
		.queue_id = w->queue, .syncs = array_of(&w->sync, sizeof(w->sync), 1),
	};
}

static void fill(struct world *w, enum call which, union arg *a)
{
	memset(a, 0, sizeof(*a));
	switch (which) {
	case QUERY:
		a->query.type = DRM_UMA_QUERY_DEVICE;
		a->query.size = sizeof(w->device);
		a->query.data = (uintptr_t)&w->device;
		break;
	case BO_CREATE:
		a->bo_create.size = PAGE;
		break;
	case BO_MMAP_OFFSET:
		a->bo_mmap_offset.handle = w->bo.handle;
		break;
	case BO_IMPORT_USER:
		a->bo_import_user.addr = (uintptr_t)w->user;
		a->bo_import_user.size = PAGE;
		break;
	case BO_INFO:
		a->bo_info.handle = w->bo.handle;
		break;
	case BO_LABEL:
		a->bo_label.handle = w->bo.handle;
		a->bo_label.size = 4;
		a->bo_label.label = (uintptr_t)"name";
		break;
	case BO_SYNC:
		a->bo_sync.ranges = array_of(&w->range, sizeof(w->range), 1);
		break;
	case VM_CREATE:
	case TIMESTAMP:
		break;
	case VM_DESTROY:
		a->vm_destroy.vm_id = w->idle_vm;
		break;
	case VM_BIND:
		a->vm_bind.vm_id = w->c.vm;
		a->vm_bind.ops = array_of(&w->bind, sizeof(w->bind), 1);
		break;
	case QUEUE_CREATE:
		a->queue_create.vm_id = w->c.vm;
		a->queue_create.instances = 1;
		a->queue_create.engine_class = UMA_ENGINE_GPU;
		a->queue_create.priority = DRM_UMA_PRIORITY_NORMAL;
		break;
	case QUEUE_DESTROY:
		a->queue_destroy.queue_id = w->queue;
		break;
	case QUEUE_STATE:
		a->queue_state.queue_id = w->queue;
		break;
	case SUBMIT:
		a->submit.jobs = array_of(&w->job, sizeof(w->job), 1);
		break;
	case BO_MADVISE:
		a->bo_madvise.handle = w->bo.handle;
		break;
	case COUNTERS:
		a->counters_get.queue_id = w->queue;
		a->counters_get.size = sizeof(w->counters);
		a->counters_get.data = (uintptr_t)&w->counters;
		break;
	}
}

/* The same with a handle or id that does not exist: what is looked up is looked up last. */
static void spoil(enum call which, union arg *a)
{
	switch (which) {
	case BO_MMAP_OFFSET:
		a->bo_mmap_offset.handle = BAD_HANDLE;
		break;
	case BO_INFO:
		a->bo_info.handle = BAD_HANDLE;
		break;
	case VM_DESTROY:
		a->vm_destroy.vm_id = BAD_HANDLE;
		break;
	case VM_BIND:
		a->vm_bind.vm_id = BAD_HANDLE;
		break;
	case QUEUE_CREATE:
		a->queue_create.vm_id = BAD_HANDLE;
		break;
	case QUEUE_DESTROY:
		a->queue_destroy.queue_id = BAD_HANDLE;
		break;
	case QUEUE_STATE:
		a->queue_state.queue_id = BAD_HANDLE;
		break;
	case BO_IMPORT_USER:
		a->bo_import_user.addr = PAGE;
		break;
	case SUBMIT:
		a->submit.jobs.array = PAGE;
		break;
	case BO_MADVISE:
		a->bo_madvise.handle = BAD_HANDLE;
		break;
	case COUNTERS:
		a->counters_get.queue_id = BAD_HANDLE;
		break;
	default:
		break;
	}
}

/* --- fields that must be zero -------------------------------------------------- */

FIXTURE(zero) {
	struct world w;
};

FIXTURE_VARIANT(zero) {
	enum call which;
	size_t offset;
	size_t width;
	__u64 allowed;
};

#define MUST_BE_ZERO(id, type, field)						\
	FIXTURE_VARIANT_ADD(zero, type##_##field) {				\
		.which = id, .offset = offsetof(struct drm_uma_##type, field),	\
		.width = sizeof(((struct drm_uma_##type *)0)->field),		\
	}
#define UNKNOWN_BITS(id, type, field, known)					\
	FIXTURE_VARIANT_ADD(zero, type##_unknown_##field) {			\
		.which = id, .offset = offsetof(struct drm_uma_##type, field),	\
		.width = sizeof(((struct drm_uma_##type *)0)->field), .allowed = (known), \
	}

MUST_BE_ZERO(QUERY, query, pad);
MUST_BE_ZERO(QUERY, query, index);
MUST_BE_ZERO(BO_CREATE, bo_create, handle);
UNKNOWN_BITS(BO_CREATE, bo_create, flags,
	     DRM_UMA_BO_WC | DRM_UMA_BO_NO_MMAP | DRM_UMA_BO_NODE_MASK);
MUST_BE_ZERO(BO_MMAP_OFFSET, bo_mmap_offset, pad);
MUST_BE_ZERO(BO_MMAP_OFFSET, bo_mmap_offset, offset);
MUST_BE_ZERO(BO_IMPORT_USER, bo_import_user, handle);
UNKNOWN_BITS(BO_IMPORT_USER, bo_import_user, flags, DRM_UMA_USER_READONLY);
MUST_BE_ZERO(BO_INFO, bo_info, flags);
MUST_BE_ZERO(BO_INFO, bo_info, size);
MUST_BE_ZERO(BO_INFO, bo_info, resident);
MUST_BE_ZERO(BO_INFO, bo_info, mappings);
MUST_BE_ZERO(BO_INFO, bo_info, pad);
MUST_BE_ZERO(VM_CREATE, vm_create, flags);
MUST_BE_ZERO(VM_CREATE, vm_create, vm_id);
MUST_BE_ZERO(VM_DESTROY, vm_destroy, pad);
MUST_BE_ZERO(VM_BIND, vm_bind, failed_op);
MUST_BE_ZERO(QUEUE_CREATE, queue_create, flags);
MUST_BE_ZERO(QUEUE_CREATE, queue_create, queue_id);
MUST_BE_ZERO(QUEUE_CREATE, queue_create, pad);
MUST_BE_ZERO(QUEUE_DESTROY, queue_destroy, pad);
MUST_BE_ZERO(QUEUE_STATE, queue_state, status);
MUST_BE_ZERO(QUEUE_STATE, queue_state, flags);
MUST_BE_ZERO(QUEUE_STATE, queue_state, engine);
MUST_BE_ZERO(QUEUE_STATE, queue_state, task_index);
MUST_BE_ZERO(QUEUE_STATE, queue_state, reason);
MUST_BE_ZERO(QUEUE_STATE, queue_state, slot);
MUST_BE_ZERO(QUEUE_STATE, queue_state, error);
MUST_BE_ZERO(QUEUE_STATE, queue_state, fault_addr);
MUST_BE_ZERO(QUEUE_STATE, queue_state, tasks_addr);
MUST_BE_ZERO(QUEUE_STATE, queue_state, submitted);
MUST_BE_ZERO(QUEUE_STATE, queue_state, completed);
MUST_BE_ZERO(SUBMIT, submit, flags);
MUST_BE_ZERO(SUBMIT, submit, failed_job);
MUST_BE_ZERO(TIMESTAMP, timestamp, device);
MUST_BE_ZERO(TIMESTAMP, timestamp, cpu_ns);
MUST_BE_ZERO(TIMESTAMP, timestamp, error_ns);
MUST_BE_ZERO(TIMESTAMP, timestamp, pad);
MUST_BE_ZERO(BO_MADVISE, bo_madvise, retained);
MUST_BE_ZERO(BO_MADVISE, bo_madvise, pad);
UNKNOWN_BITS(BO_MADVISE, bo_madvise, advice, DRM_UMA_MADV_DONTNEED);
MUST_BE_ZERO(COUNTERS, counters_get, engine);
MUST_BE_ZERO(COUNTERS, counters_get, pad);

FIXTURE_SETUP(zero)
{
	world_make(&self->w);
}

FIXTURE_TEARDOWN(zero)
{
	client_close(&self->w.c);
}

TEST_F(zero, einval)
{
	union arg a;
	unsigned int bit;

	for (bit = 0; bit < variant->width * 8; bit++) {
		__u64 value = 1ull << bit;

		if (variant->allowed & value)
			continue;
		fill(&self->w, variant->which, &a);
		memcpy(a.bytes + variant->offset, &value, variant->width);
		EXPECT_EQ(-EINVAL, do_ioctl(self->w.c.fd, calls[variant->which].request, &a));
	}
	/* Nothing was done by any of these, and without the bit it works. */
	fill(&self->w, variant->which, &a);
	EXPECT_EQ(0, do_ioctl(self->w.c.fd, calls[variant->which].request, &a));
}

TEST_F(zero, before_lookup)
{
	__u64 value = ~0ull & ~variant->allowed;
	union arg a;

	fill(&self->w, variant->which, &a);
	spoil(variant->which, &a);
	memcpy(a.bytes + variant->offset, &value, variant->width);
	EXPECT_EQ(-EINVAL, do_ioctl(self->w.c.fd, calls[variant->which].request, &a));
}

/* --- numbers, sizes, directions, pointers -------------------------------------- */

FIXTURE(cmd) {
	struct world w;
};

FIXTURE_VARIANT(cmd) {
	enum call which;
};

#define CMD_VARIANT(id, type) FIXTURE_VARIANT_ADD(cmd, type) { .which = id }
CMD_VARIANT(QUERY, query);
CMD_VARIANT(BO_CREATE, bo_create);
CMD_VARIANT(BO_MMAP_OFFSET, bo_mmap_offset);
CMD_VARIANT(BO_IMPORT_USER, bo_import_user);
CMD_VARIANT(BO_INFO, bo_info);
CMD_VARIANT(BO_LABEL, bo_label);
CMD_VARIANT(BO_SYNC, bo_sync);
CMD_VARIANT(VM_CREATE, vm_create);
CMD_VARIANT(VM_DESTROY, vm_destroy);
CMD_VARIANT(VM_BIND, vm_bind);
CMD_VARIANT(QUEUE_CREATE, queue_create);
CMD_VARIANT(QUEUE_DESTROY, queue_destroy);
CMD_VARIANT(QUEUE_STATE, queue_state);
CMD_VARIANT(SUBMIT, submit);
CMD_VARIANT(TIMESTAMP, timestamp);
CMD_VARIANT(BO_MADVISE, bo_madvise);
CMD_VARIANT(COUNTERS, counters_get);

FIXTURE_SETUP(cmd)
{
	world_make(&self->w);
}

FIXTURE_TEARDOWN(cmd)
{
	client_close(&self->w.c);
}

static unsigned long resize(unsigned long request, size_t size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

/*
 * A caller of a later header, whose struct has grown: what the driver does not know comes back as
 * it was.
 */
TEST_F(cmd, longer)
{
	size_t size = calls[variant->which].size, i;
	union arg a;

	fill(&self->w, variant->which, &a);
	memset(a.bytes + size, 0x5a, 64);
	EXPECT_EQ(0, do_ioctl(self->w.c.fd, resize(calls[variant->which].request, size + 64), &a));
	for (i = 0; i < 64; i++)
		ASSERT_EQ(0x5a, a.bytes[size + i]);
}

/* One of an earlier header: as if the rest were zero, and what it did not pass is not written. */
TEST_F(cmd, shorter)
{
	size_t size = calls[variant->which].size, len, i;
	union arg a, b;
	int ret;

	for (len = 0; len < size; len += 4) {
		fill(&self->w, variant->which, &a);
		b = a;
		/*
		 * A success would change the world for the next length: lengths that keep a handle
		 * take a bad one.
		 */
		spoil(variant->which, &a);
		spoil(variant->which, &b);
		memset(a.bytes + len, 0, sizeof(a) - len);
		memset(b.bytes + len, 0xa5, sizeof(b) - len);
		ret = do_ioctl(self->w.c.fd, calls[variant->which].request, &a);
		EXPECT_EQ(ret,
			  do_ioctl(self->w.c.fd, resize(calls[variant->which].request, len), &b));
		for (i = len; i < sizeof(b); i++)
			ASSERT_EQ(0xa5, b.bytes[i]);
	}
}

TEST_F(cmd, no_direction)
{
	unsigned long request = calls[variant->which].request;
	union arg a, b;
	size_t i;
	int ret;

	memset(&a, 0, sizeof(a));
	ret = do_ioctl(self->w.c.fd, request, &a);
	memset(&b, 0xa5, sizeof(b));
	EXPECT_EQ(ret, do_ioctl(self->w.c.fd, _IOC(_IOC_NONE, _IOC_TYPE(request), _IOC_NR(request),
						   _IOC_SIZE(request)), &b));
	for (i = 0; i < sizeof(b); i++)
		ASSERT_EQ(0xa5, b.bytes[i]);
}

TEST_F(cmd, bad_pointer)
{
	void *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long request = calls[variant->which].request;
	union arg a;

	ASSERT_TRUE(p != MAP_FAILED);
	ASSERT_EQ(0, munmap((char *)p + PAGE, PAGE));
	EXPECT_EQ(-EFAULT, do_ioctl(self->w.c.fd, request, NULL));
	EXPECT_EQ(-EFAULT, do_ioctl(self->w.c.fd, request, (void *)1));
	EXPECT_EQ(-EFAULT, do_ioctl(self->w.c.fd, request, (char *)p + PAGE));
	EXPECT_EQ(-EFAULT, do_ioctl(self->w.c.fd, request, (char *)p + PAGE - 4));
	EXPECT_EQ(-EFAULT,
		  do_ioctl(self->w.c.fd, request, (void *)(uintptr_t)0xffff888000000000ull));
	fill(&self->w, variant->which, &a);
	EXPECT_EQ(0, do_ioctl(self->w.c.fd, request, &a));
}

TEST_F(cmd, all_ones)
{
	union arg a;

	memset(&a, 0xff, sizeof(a));
	/* A label is too long before anything else about it is wrong. */
	EXPECT_EQ(variant->which == BO_LABEL ? -E2BIG : -EINVAL,
		  do_ioctl(self->w.c.fd, calls[variant->which].request, &a));
}

TEST(unknown_numbers)
{
	union arg a;
	int nr, fd;

	fd = dev_open();
	for (nr = DRM_COMMAND_BASE + DRM_UMA_COUNTERS + 1; nr < DRM_COMMAND_END; nr++) {
		memset(&a, 0, sizeof(a));
		EXPECT_EQ(-EINVAL,
			  do_ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE, nr, 8), &a));
		EXPECT_EQ(-EINVAL, do_ioctl(fd, _IOC(_IOC_NONE, DRM_IOCTL_BASE, nr, 0), &a));
	}
	close(fd);
}

/* Out fields that are pads hold nothing of the kernel's memory. */
TEST(results_have_no_rubbish)
{
	union {
		struct drm_uma_query_engine engines[MAX_ENGINES];
		struct drm_uma_query_memory memory[64];
		struct drm_uma_query_device device;
	} q;
	struct drm_uma_bo_info info;
	struct client c;
	__u32 size, i;

	client_open(&c);
	memset(&q, 0xff, sizeof(q));
	size = sizeof(q.engines);
	ASSERT_EQ(0, query_try(c.fd, DRM_UMA_QUERY_ENGINES, 0, &q, &size));
	for (i = 0; i < size / sizeof(q.engines[0]); i++)
		EXPECT_EQ(0, q.engines[i].pad);
	memset(&q, 0xff, sizeof(q));
	size = sizeof(q.memory);
	ASSERT_EQ(0, query_try(c.fd, DRM_UMA_QUERY_MEMORY, 0, &q, &size));
	for (i = 0; i < size / sizeof(q.memory[0]); i++)
		EXPECT_EQ(0, q.memory[i].pad);
	memset(&q, 0xff, sizeof(q));
	query_device(c.fd, &q.device);
	for (i = (__u32)strnlen(q.device.profile, sizeof(q.device.profile));
	     i < sizeof(q.device.profile); i++)
		EXPECT_EQ(0, q.device.profile[i]);
	bo_info(c.fd, bo_create(c.fd, PAGE, 0), &info);
	EXPECT_EQ(0, info.pad);
	client_close(&c);
}

HARNESS_MAIN
