// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Counters of queues and engines, and stamps of tasks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "task.h"
#include "watch.h"

#define M	24u
#define N	40u
#define K	56u

FIXTURE(counters) {
	struct client c;
	unsigned int engine;
	__u32 queue;
	struct buf tasks;
	struct buf data;
	struct buf stamps;
};

FIXTURE_SETUP(counters)
{
	int engine;

	client_open(&self->c);
	engine = engine_for(self->c.fd, UMA_OP_GEMM, UMA_DTYPE_F32, UMA_DTYPE_F32, UMA_DTYPE_F32);
	if (engine < 0)
		SKIP("no engine for GEMM");
	self->engine = (unsigned int)engine;
	self->queue = queue_create(self->c.fd, self->c.vm, self->engine);
	client_buf(&self->c, &self->tasks, 4 * UMA_TASK_SIZE);
	client_buf(&self->c, &self->data, 16 * PAGE);
	client_buf(&self->c, &self->stamps, PAGE);
}

FIXTURE_TEARDOWN(counters)
{
	client_close(&self->c);
}

static int get_try(int fd, __u32 queue, __u32 engine, struct drm_uma_counters *counters)
{
	struct drm_uma_counters_get get = {
		.queue_id = queue, .engine = engine, .size = sizeof(*counters),
		.data = (uintptr_t)counters,
	};

	return do_ioctl(fd, DRM_IOCTL_UMA_COUNTERS, &get);
}

static void get(struct counters_fixture *self, __u32 queue, struct drm_uma_counters *counters)
{
	ASSERT_EQ(0, get_try(self->c.fd, queue, 0, counters));
}

static void make_gemm(struct counters_fixture *self, struct uma_task *task)
{
	task_gemm_f32(task, self->data.va + 8 * PAGE, self->data.va, self->data.va + 4 * PAGE, M, N,
		      K);
}

/* --- arguments ------------------------------------------------------------------- */

TEST_F(counters, get_values_invalid_pad)
{
	struct drm_uma_counters counters;
	struct drm_uma_counters_get get = {
		.queue_id = self->queue, .size = sizeof(counters), .pad = 1,
		.data = (uintptr_t)&counters,
	};

	EXPECT_EQ(-EINVAL, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	/* Before anything is looked up. */
	get.queue_id = BAD_HANDLE;
	EXPECT_EQ(-EINVAL, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
}

TEST_F(counters, get_values_invalid_queue)
{
	struct drm_uma_counters counters;
	__u32 gone = queue_create(self->c.fd, self->c.vm, self->engine);

	EXPECT_EQ(-ENOENT, get_try(self->c.fd, BAD_HANDLE, 0, &counters));
	EXPECT_EQ(-EINVAL, get_try(self->c.fd, self->queue, 1, &counters));
	ASSERT_EQ(0, get_try(self->c.fd, gone, 0, &counters));
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, gone));
	EXPECT_EQ(-ENOENT, get_try(self->c.fd, gone, 0, &counters));
}

TEST_F(counters, get_values_of_another_client)
{
	struct drm_uma_counters counters;
	int other = dev_open();

	EXPECT_EQ(-ENOENT, get_try(other, self->queue, 0, &counters));
	close(other);
}

TEST_F(counters, get_values_invalid_pointer)
{
	struct drm_uma_counters_get get = {
		.queue_id = self->queue, .size = sizeof(struct drm_uma_counters), .data = PAGE,
	};
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(p != MAP_FAILED);
	ASSERT_EQ(0, munmap(p + PAGE, PAGE));
	EXPECT_EQ(-EFAULT, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	get.data = (uintptr_t)p + PAGE - 8;
	get.size = 16;
	EXPECT_EQ(-EFAULT, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	get.size = 8;
	EXPECT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	/* What does not fit behind the counters is zeroed, where there is memory. */
	get.data = (uintptr_t)p;
	get.size = PAGE + 1;
	EXPECT_EQ(-EFAULT, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
}

TEST_F(counters, get_values_size)
{
	struct drm_uma_counters_get get = { .queue_id = self->queue };
	__u8 bytes[512];
	size_t i;

	task_nop(self->tasks.task);
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));

	ASSERT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	ASSERT_GE(get.size, sizeof(struct drm_uma_counters));
	ASSERT_LT(get.size, sizeof(bytes));

	/* As much as there is room for. */
	memset(bytes, 0xee, sizeof(bytes));
	get.data = (uintptr_t)bytes;
	get.size = 8;
	ASSERT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	EXPECT_GE(get.size, sizeof(struct drm_uma_counters));
	EXPECT_EQ(1, bytes[0]);
	EXPECT_EQ(0, bytes[7]);
	EXPECT_EQ(0xee, bytes[8]);
	get.size = 0;
	memset(bytes, 0xee, sizeof(bytes));
	ASSERT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	EXPECT_EQ(0xee, bytes[0]);

	/* What there is no counter for is zero. */
	i = get.size;
	get.size = sizeof(bytes);
	ASSERT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	EXPECT_EQ(i, get.size);
	for (; i < sizeof(bytes); i++)
		EXPECT_EQ(0, bytes[i]);
}

TEST_F(counters, engine_without_privilege)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct drm_uma_counters counters;
	unsigned int i, n;

	if (is_root())
		become_tester();
	n = query_engines(self->c.fd, engines);
	for (i = 0; i < n; i++)
		EXPECT_EQ(-EACCES, get_try(self->c.fd, 0, i, &counters));
	EXPECT_EQ(-EINVAL, get_try(self->c.fd, 0, n, &counters));
	EXPECT_EQ(-EINVAL, get_try(self->c.fd, 0, 0xffffffffu, &counters));
	/* One's own needs none. */
	EXPECT_EQ(0, get_try(self->c.fd, self->queue, 0, &counters));
}

/* --- what they count --------------------------------------------------------------- */

TEST_F(counters, begin_at_zero)
{
	struct drm_uma_counters counters, zero = { 0 };

	memset(&counters, 0xee, sizeof(counters));
	get(self, self->queue, &counters);
	EXPECT_EQ(0, memcmp(&counters, &zero, sizeof(zero)));
	/* A job without tasks never is on an engine. */
	ASSERT_EQ(0, client_run(&self->c, self->queue, 0, 0));
	get(self, self->queue, &counters);
	EXPECT_EQ(0, memcmp(&counters, &zero, sizeof(zero)));
}

TEST_F(counters, get_values_valid_queue)
{
	struct drm_uma_counters one, two, zero = { 0 };
	__u32 idle = queue_create(self->c.fd, self->c.vm, self->engine);

	make_gemm(self, self->tasks.task);
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	get(self, self->queue, &one);
	EXPECT_EQ(1, one.jobs);
	EXPECT_EQ(1, one.tasks);
	EXPECT_EQ((__u64)M * N * K, one.macs);
	EXPECT_GE(one.tiles, 1);
	EXPECT_GE(one.read_bytes, 4 * (M * K + K * N) + UMA_TASK_SIZE);
	EXPECT_GE(one.write_bytes, 4 * M * N);
	EXPECT_GE(one.tlb_misses, 1);
	EXPECT_GT(one.busy_ns, 0);
	EXPECT_LE(one.stall_ns, one.busy_ns);
	EXPECT_EQ(0, one.faults);
	EXPECT_EQ(0, one.timeouts);

	/* Twice the work, and the same again. */
	make_gemm(self, self->tasks.task + 1);
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 2));
	get(self, self->queue, &two);
	EXPECT_EQ(2, two.jobs);
	EXPECT_EQ(3, two.tasks);
	EXPECT_EQ(3 * one.macs, two.macs);
	EXPECT_EQ(3 * one.tiles, two.tiles);
	EXPECT_EQ(3 * one.read_bytes, two.read_bytes);
	EXPECT_EQ(3 * one.write_bytes, two.write_bytes);
	EXPECT_GT(two.busy_ns, one.busy_ns);
	EXPECT_GE(two.wait_ns, one.wait_ns);

	get(self, idle, &two);
	EXPECT_EQ(0, memcmp(&two, &zero, sizeof(zero)));
}

TEST_F(counters, elements_of_other_operations)
{
	struct drm_uma_counters counters;

	if (!engine_can(self->c.fd, self->engine, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32))
		SKIP("no engine for both GEMM and FILL");
	task_fill(self->tasks.task, UMA_DTYPE_S32, self->data.va, 300, 7);
	task_nop(self->tasks.task + 1);
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 2));
	get(self, self->queue, &counters);
	EXPECT_EQ(2, counters.tasks);
	EXPECT_EQ(300, counters.macs);
	EXPECT_EQ(1200, counters.write_bytes);
	EXPECT_EQ(2 * UMA_TASK_SIZE, counters.read_bytes);
}

/* The time that a job had to wait is there, and is not time on the engine. */
TEST_F(counters, wait)
{
	struct drm_uma_counters counters;
	uint64_t begin, end;
	struct gate g;
	__u32 done;

	gate_close(&g, self->c.fd);
	task_nop(self->tasks.task);
	done = client_start_after(&self->c, self->queue, self->tasks.va, 1, g.syncobj);
	begin = now_ns();
	usleep(50000);
	end = now_ns();
	gate_open(&g);
	ASSERT_EQ(1, syncobj_result(self->c.fd, done));
	get(self, self->queue, &counters);
	EXPECT_GE(counters.wait_ns, end - begin);
	gate_free(&g);
}

TEST_F(counters, fault)
{
	struct drm_uma_counters counters;

	expect_faults(1);
	make_gemm(self, self->tasks.task);
	make_gemm(self, self->tasks.task + 1);
	self->tasks.task[1].op[UMA_SLOT_B].addr = htole64(self->data.va - PAGE);
	ASSERT_EQ(-EFAULT, client_run(&self->c, self->queue, self->tasks.va, 2));
	get(self, self->queue, &counters);
	EXPECT_EQ(0, counters.jobs);
	EXPECT_EQ(1, counters.faults);
	EXPECT_EQ(0, counters.timeouts);
	/* Up to where it came. */
	EXPECT_EQ(1, counters.tasks);
	EXPECT_EQ((__u64)M * N * K, counters.macs);
	EXPECT_GT(counters.busy_ns, 0);
}

TEST_F(counters, timeout)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct drm_uma_queue_create args = {
		.vm_id = self->c.vm, .priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 100,
	};
	struct drm_uma_counters counters;
	char value[16];
	__u32 queue;

	query_engines(self->c.fd, engines);
	args.engine_class = engines[self->engine].engine_class;
	args.instances = 1u << engines[self->engine].instance;
	ASSERT_EQ(0, queue_create_try(self->c.fd, &args, &queue));
	snprintf(value, sizeof(value), "%#x", 1u << self->engine);
	if (!emu_knob(dev_name(), "hang_next", value))
		SKIP("cannot make jobs hang");
	expect_resets(1);
	expect_log();
	task_nop(self->tasks.task);
	EXPECT_EQ(-ETIME, client_run(&self->c, queue, self->tasks.va, 1));
	get(self, queue, &counters);
	EXPECT_EQ(0, counters.jobs);
	EXPECT_EQ(1, counters.timeouts);
	EXPECT_EQ(0, counters.faults);
	/* A timeout is never early. */
	EXPECT_GE(counters.busy_ns, 100000000ull);
}

TEST_F(counters, of_an_engine)
{
	struct drm_uma_counters before, after, queue;

	if (!is_root())
		SKIP("not root");
	ASSERT_EQ(0, get_try(self->c.fd, 0, self->engine, &before));
	make_gemm(self, self->tasks.task);
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	ASSERT_EQ(0, get_try(self->c.fd, 0, self->engine, &after));
	get(self, self->queue, &queue);
	/* Nobody else is here. */
	EXPECT_EQ(before.jobs + queue.jobs, after.jobs);
	EXPECT_EQ(before.tasks + queue.tasks, after.tasks);
	EXPECT_EQ(before.macs + queue.macs, after.macs);
	EXPECT_EQ(before.read_bytes + queue.read_bytes, after.read_bytes);
	EXPECT_EQ(before.busy_ns + queue.busy_ns, after.busy_ns);
	EXPECT_EQ(before.wait_ns + queue.wait_ns, after.wait_ns);
}

TEST_F(counters, survive_a_reset)
{
	struct drm_uma_counters before, after;
	__u32 guilty = queue_create(self->c.fd, self->c.vm, self->engine);

	expect_faults(1);
	make_gemm(self, self->tasks.task);
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	get(self, self->queue, &before);
	ASSERT_EQ(-EFAULT, client_run(&self->c, guilty, self->tasks.va - 4 * PAGE, 1));
	get(self, self->queue, &after);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
}

/* --- stamps -------------------------------------------------------------------------- */

static int start_stamped(struct counters_fixture *self, __u32 count, __u64 stamps, __u32 *done)
{
	struct drm_uma_sync sync;
	struct drm_uma_job job = {
		.queue_id = self->queue, .task_count = count,
		.tasks_addr = count ? self->tasks.va : 0, .stamps_addr = stamps,
	};

	*done = syncobj_create(self->c.fd, false);
	sync = sync_out(*done);
	job.syncs = array_of(&sync, sizeof(sync), 1);
	return submit_try(self->c.fd, &job, 1, NULL);
}

static int run_stamped(struct counters_fixture *self, __u32 count, __u64 stamps)
{
	__u32 done;
	int ret;

	ret = start_stamped(self, count, stamps, &done);
	if (ret)
		return ret;
	ret = syncobj_result(self->c.fd, done);
	return ret < 0 ? ret : 0;
}

static __u64 device_now(int fd)
{
	struct drm_uma_timestamp ts = { 0 };

	ASSERT_EQ(0, do_ioctl(fd, DRM_IOCTL_UMA_TIMESTAMP, &ts));
	return ts.device;
}

TEST_F(counters, stamps_one_for_each_task)
{
	struct uma_task_stamp *stamps = self->stamps.map;
	__u64 last, end;
	int i;

	memset(stamps, 0xee, PAGE);
	for (i = 0; i < 4; i++)
		make_gemm(self, self->tasks.task + i);
	last = device_now(self->c.fd);
	ASSERT_EQ(0, run_stamped(self, 4, self->stamps.va + sizeof(*stamps)));
	end = device_now(self->c.fd);
	for (i = 1; i <= 4; i++) {
		EXPECT_LE(last, le64toh(stamps[i].start));
		EXPECT_LT(le64toh(stamps[i].start), le64toh(stamps[i].end));
		last = le64toh(stamps[i].end);
	}
	EXPECT_LE(last, end);
	/* None before, none behind. */
	EXPECT_EQ(0xeeeeeeeeeeeeeeeeull, stamps[0].end);
	EXPECT_EQ(0xeeeeeeeeeeeeeeeeull, stamps[5].start);
}

TEST_F(counters, stamps_on_request_only)
{
	memset(self->stamps.map, 0xee, PAGE);
	task_nop(self->tasks.task);
	ASSERT_EQ(0, run_stamped(self, 1, 0));
	EXPECT_EQ(0xee, self->stamps.u8[0]);
}

/* Who was compiled before there were stamps gets none. */
TEST_F(counters, stamps_not_for_older_callers)
{
	struct drm_uma_job job = { .queue_id = self->queue, .task_count = 1,
				   .tasks_addr = self->tasks.va,
				   .stamps_addr = self->stamps.va };
	struct drm_uma_submit submit = {
		.jobs = array_of(&job, offsetof(struct drm_uma_job, bos), 1),
	};

	task_nop(self->tasks.task);
	ASSERT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_SUBMIT, &submit));
	/* Jobs of a queue run in order. */
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	EXPECT_EQ(0, self->stamps.u32[0]);
}

TEST_F(counters, stamps_invalid)
{
	struct drm_uma_query_limits l;
	__u64 i;

	query_limits(self->c.fd, &l);
	task_nop(self->tasks.task);
	task_nop(self->tasks.task + 1);
	for (i = 1; i < 16; i++)
		EXPECT_EQ(-EINVAL, run_stamped(self, 1, self->stamps.va + i));
	EXPECT_EQ(-EINVAL, run_stamped(self, 1, l.va_end));
	EXPECT_EQ(-EINVAL, run_stamped(self, 2, l.va_end - 16));
	EXPECT_EQ(-EINVAL, run_stamped(self, 2, -16ull));
	EXPECT_EQ(-EINVAL, run_stamped(self, 1, 1ull << 63));
	/* Without tasks there is nothing to stamp. */
	EXPECT_EQ(-EINVAL, run_stamped(self, 0, self->stamps.va));
	EXPECT_EQ(0, run_stamped(self, 1, self->stamps.va));
}

static void check_stamp_fault(struct counters_fixture *self, __u32 task, __u64 addr)
{
	struct drm_uma_queue_state state;

	queue_state(self->c.fd, self->queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_BANNED, state.status);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED, state.flags);
	EXPECT_EQ(UMA_FAULT_WRITE, state.reason);
	EXPECT_EQ(UMA_FAULT_NO_SLOT, state.slot);
	EXPECT_EQ(task, state.task_index);
	EXPECT_EQ(addr, state.fault_addr);
	EXPECT_EQ(-ECANCELED, submit_one_try(self->c.fd, self->queue, 0, 0, NULL, 0));
}

TEST_F(counters, stamps_unmapped)
{
	struct uma_task_stamp *stamps = self->stamps.map;

	expect_faults(1);
	task_nop(self->tasks.task);
	task_nop(self->tasks.task + 1);
	/* The first still fits. */
	EXPECT_EQ(-EFAULT, run_stamped(self, 2, self->stamps.va + PAGE - 16));
	EXPECT_NE(0, stamps[255].end);
	check_stamp_fault(self, 1, self->stamps.va + PAGE);
}

TEST_F(counters, stamps_readonly)
{
	__u64 va = client_bind_handle(&self->c, self->stamps.handle, PAGE, DRM_UMA_BIND_READONLY);

	expect_faults(1);
	task_nop(self->tasks.task);
	EXPECT_EQ(-EFAULT, run_stamped(self, 1, va + 32));
	check_stamp_fault(self, 0, va + 32);
	EXPECT_EQ(0, self->stamps.u32[8]);
}

/* The address space of the job, and no other. */
TEST_F(counters, stamps_of_another_vm)
{
	__u32 vm = vm_create(self->c.fd);
	__u64 va = client_va(&self->c, PAGE);

	expect_faults(1);
	vm_map(self->c.fd, vm, self->stamps.handle, 0, va, PAGE, 0);
	task_nop(self->tasks.task);
	EXPECT_EQ(-EFAULT, run_stamped(self, 1, va));
	check_stamp_fault(self, 0, va);
	EXPECT_EQ(0, self->stamps.u32[0]);
}

TEST_F(counters, stamps_until_the_fault)
{
	struct uma_task_stamp *stamps = self->stamps.map;

	expect_faults(1);
	task_nop(self->tasks.task);
	task_nop(self->tasks.task + 1);
	self->tasks.task[1].opcode = htole16(UMA_OP_COUNT);
	task_nop(self->tasks.task + 2);
	EXPECT_EQ(-EFAULT, run_stamped(self, 3, self->stamps.va));
	EXPECT_NE(0, stamps[0].end);
	EXPECT_EQ(0, stamps[1].end);
	EXPECT_EQ(0, stamps[2].end);
}

HARNESS_MAIN
