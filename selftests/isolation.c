// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Address spaces do not see each other, and a device sees a change of one as
 * soon as the ioctl has returned.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "task.h"
#include "watch.h"

/* A client with a queue and a way to copy between two addresses. */
struct copier {
	struct client c;
	__u32 queue;
	struct buf tasks;
};

static void copier_open(struct copier *s)
{
	int engine;

	client_open(&s->c);
	engine = engine_for(s->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	s->queue = queue_create(s->c.fd, s->c.vm, (unsigned int)engine);
	client_buf(&s->c, &s->tasks, PAGE);
}

static int copy(struct copier *s, __u64 dst, __u64 src, __u32 n)
{
	task_copy(s->tasks.task, UMA_DTYPE_U8, dst, src, n);
	return client_run(&s->c, s->queue, s->tasks.va, 1);
}

#define WHERE	0x5000000000ull	/* in every address space of these tests something else */

TEST(two_vms_of_one_file)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct copier a, b;
	struct buf x, y, dst;
	__u32 queue;
	int engine;

	copier_open(&a);
	engine = engine_for(a.c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	query_engines(a.c.fd, engines);
	b = a;
	b.c.vm = vm_create(a.c.fd);
	queue = queue_create(a.c.fd, b.c.vm, (unsigned int)engine);
	client_buf(&a.c, &x, PAGE);
	/* In its own space at addresses that the other does not use. */
	b.c.va = a.c.va + (1ull << 30);
	client_buf(&b.c, &y, PAGE);
	memset(x.map, 1, PAGE);
	memset(y.map, 2, PAGE);
	vm_map(a.c.fd, a.c.vm, x.handle, 0, WHERE, PAGE, 0);
	vm_map(a.c.fd, b.c.vm, y.handle, 0, WHERE, PAGE, 0);
	client_buf(&a.c, &dst, PAGE);
	vm_map(a.c.fd, b.c.vm, dst.handle, 0, dst.va, PAGE, 0);
	vm_map(a.c.fd, b.c.vm, a.tasks.handle, 0, a.tasks.va, PAGE, DRM_UMA_BIND_READONLY);
	task_copy(a.tasks.task, UMA_DTYPE_U8, dst.va, WHERE, 4096);
	EXPECT_EQ(0, client_run(&a.c, a.queue, a.tasks.va, 1));
	EXPECT_EQ(1, dst.u8[100]);
	EXPECT_EQ(0, client_run(&a.c, queue, a.tasks.va, 1));
	EXPECT_EQ(2, dst.u8[100]);
	EXPECT_EQ(0, client_run(&a.c, a.queue, a.tasks.va, 1));
	EXPECT_EQ(1, dst.u8[100]);
}

/* One client that reads its own page, over and over. */
static void in_own_space(__u8 value, int rounds)
{
	struct copier s;
	struct buf src, dst;
	int i;

	copier_open(&s);
	client_buf(&s.c, &src, PAGE);
	client_buf(&s.c, &dst, PAGE);
	vm_map(s.c.fd, s.c.vm, src.handle, 0, WHERE, PAGE, 0);
	for (i = 0; i < rounds; i++) {
		memset(src.map, value + i % 16, PAGE);
		memset(dst.map, 0, PAGE);
		ASSERT_EQ(0, copy(&s, dst.va, WHERE, 4096));
		ASSERT_EQ(value + i % 16, dst.u8[0]);
		ASSERT_EQ(value + i % 16, dst.u8[4095]);
	}
	client_close(&s.c);
}

/* Four processes use the same addresses at the same time. */
TEST_TIMEOUT(processes_at_one_address, 240)
{
	pid_t pids[4];
	int i;

	for (i = 0; i < 4; i++) {
		pids[i] = harness_fork();
		if (!pids[i]) {
			in_own_space((__u8)(16 + 16 * i), 40);
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++)
		harness_join(pids[i]);
}

/* What another process has mapped is nothing here. */
TEST(reading_another_process)
{
	struct drm_uma_queue_state state;
	struct copier s, other;
	struct buf secret, dst;

	expect_faults(1);
	copier_open(&s);
	copier_open(&other);
	client_buf(&other.c, &secret, PAGE);
	memset(secret.map, 0x5e, PAGE);
	vm_map(other.c.fd, other.c.vm, secret.handle, 0, WHERE, PAGE, 0);
	client_buf(&other.c, &dst, PAGE);
	/* The device has just used it. */
	ASSERT_EQ(0, copy(&other, dst.va, WHERE, 4096));
	client_buf(&s.c, &dst, PAGE);
	EXPECT_EQ(-EFAULT, copy(&s, dst.va, WHERE, 4096));
	EXPECT_EQ(0, dst.u8[0]);
	queue_state(s.c.fd, s.queue, &state);
	EXPECT_EQ(UMA_FAULT_READ, state.reason);
	EXPECT_EQ(WHERE, state.fault_addr);
}

TEST(writing_another_process)
{
	struct copier s, other;
	struct buf victim, src;

	expect_faults(1);
	copier_open(&s);
	copier_open(&other);
	client_buf(&other.c, &victim, PAGE);
	memset(victim.map, 0x11, PAGE);
	vm_map(other.c.fd, other.c.vm, victim.handle, 0, WHERE, PAGE, 0);
	ASSERT_EQ(0, copy(&other, WHERE, other.tasks.va, 64));
	memset(victim.map, 0x11, PAGE);
	client_buf(&s.c, &src, PAGE);
	EXPECT_EQ(-EFAULT, copy(&s, WHERE, src.va, 4096));
	EXPECT_EQ(0x11, victim.u8[0]);
	EXPECT_EQ(0x11, victim.u8[4095]);
}

/*
 * The TLB: an address that the device has used shows another buffer as soon as it is bound there.
 */
TEST_TIMEOUT(rebind, 240)
{
	struct drm_uma_bind_op ops[2];
	struct buf bufs[4], dst;
	struct copier s;
	int i;

	copier_open(&s);
	client_buf(&s.c, &dst, PAGE);
	for (i = 0; i < 4; i++) {
		client_buf(&s.c, &bufs[i], PAGE);
		memset(bufs[i].map, i + 1, PAGE);
	}
	for (i = 0; i < 60; i++) {
		ops[0] = (struct drm_uma_bind_op){ .op = DRM_UMA_BIND_UNMAP,
						   .va = WHERE,
						   .size = PAGE };
		ops[1] = (struct drm_uma_bind_op){
			.op = DRM_UMA_BIND_MAP,
			.handle = bufs[i % 4].handle,
			.va = WHERE,
			.size = PAGE,
		};
		ASSERT_EQ(0, vm_bind_try(s.c.fd, s.c.vm, ops, 2, NULL));
		ASSERT_EQ(0, copy(&s, dst.va, WHERE, 4096));
		ASSERT_EQ(i % 4 + 1, dst.u8[0]);
		ASSERT_EQ(i % 4 + 1, dst.u8[4095]);
	}
}

/* From writable to read-only at one address. */
TEST(rebind_read_only)
{
	struct buf src, dst;
	struct copier s;

	expect_faults(1);
	copier_open(&s);
	client_buf(&s.c, &src, PAGE);
	client_buf(&s.c, &dst, PAGE);
	vm_map(s.c.fd, s.c.vm, dst.handle, 0, WHERE, PAGE, 0);
	memset(src.map, 1, PAGE);
	ASSERT_EQ(0, copy(&s, WHERE, src.va, 4096));
	vm_unmap(s.c.fd, s.c.vm, WHERE, PAGE);
	vm_map(s.c.fd, s.c.vm, dst.handle, 0, WHERE, PAGE, DRM_UMA_BIND_READONLY);
	memset(src.map, 2, PAGE);
	EXPECT_EQ(-EFAULT, copy(&s, WHERE, src.va, 4096));
	EXPECT_EQ(1, dst.u8[0]);
}

/* Unmapped and freed, and its pages with somebody else: the device no longer reaches them. */
TEST(unmapped_is_gone)
{
	struct buf src, dst, other;
	struct copier s;
	__u32 handle;

	expect_faults(1);
	copier_open(&s);
	client_buf(&s.c, &dst, PAGE);
	client_buf(&s.c, &src, PAGE);
	handle = bo_create(s.c.fd, PAGE, 0);
	vm_map(s.c.fd, s.c.vm, handle, 0, WHERE, PAGE, 0);
	ASSERT_EQ(0, copy(&s, WHERE, src.va, 4096));
	vm_unmap(s.c.fd, s.c.vm, WHERE, PAGE);
	gem_close(s.c.fd, handle);
	client_buf(&s.c, &other, 16 * PAGE);
	memset(src.map, 0xff, PAGE);
	EXPECT_EQ(-EFAULT, copy(&s, WHERE, src.va, 4096));
	EXPECT_EQ(0, other.u8[0]);
}

/*
 * More address spaces than the device has room for at once, each with its own page at the same
 * address.
 */
TEST_TIMEOUT(more_vms_than_slots, 240)
{
	enum { FILES = 5, VMS = 16 };
	struct client c[FILES];
	struct buf data[FILES], tasks[FILES], dst[FILES];
	__u32 queues[FILES][VMS], vms[FILES][VMS], handle;
	__u8 *p;
	int f, v, round, engine;

	for (f = 0; f < FILES; f++) {
		client_open(&c[f]);
		engine = engine_for(c[f].fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
		if (engine < 0)
			SKIP("no engine copies");
		client_buf(&c[f], &data[f], PAGE);
		client_buf(&c[f], &tasks[f], PAGE);
		client_buf(&c[f], &dst[f], PAGE);
		task_copy(tasks[f].task, UMA_DTYPE_U8, dst[f].va, WHERE, 64);
		for (v = 0; v < VMS; v++) {
			vms[f][v] = vm_create(c[f].fd);
			queues[f][v] = queue_create(c[f].fd, vms[f][v], (unsigned int)engine);
			vm_map(c[f].fd, vms[f][v], tasks[f].handle, 0, tasks[f].va, PAGE,
			       DRM_UMA_BIND_READONLY);
			vm_map(c[f].fd, vms[f][v], dst[f].handle, 0, dst[f].va, PAGE, 0);
			handle = bo_create(c[f].fd, PAGE, 0);
			p = bo_map(c[f].fd, handle, PAGE);
			memset(p, f * VMS + v + 1, PAGE);
			vm_map(c[f].fd, vms[f][v], handle, 0, WHERE, PAGE, 0);
		}
	}
	for (round = 0; round < 2; round++) {
		for (v = 0; v < VMS; v++) {
			for (f = 0; f < FILES; f++) {
				ASSERT_EQ(0, client_run(&c[f], queues[f][v], tasks[f].va, 1));
				ASSERT_EQ(f * VMS + v + 1, dst[f].u8[0]);
				ASSERT_EQ(f * VMS + v + 1, dst[f].u8[63]);
			}
		}
	}
}

/* An address space that takes over the slot of one that is gone inherits nothing. */
TEST_TIMEOUT(slots_are_clean, 240)
{
	int i;

	for (i = 0; i < 80; i++)
		in_own_space((__u8)(i % 200), 1);
}

HARNESS_MAIN
