// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Tasks that must fault: what the fence says, what the queue state says, and
 * that nobody else is hurt.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "task.h"
#include "watch.h"

#define SIZE	(4 * PAGE)
#define ANY	0xfffffffeu

struct scene {
	struct client c;
	unsigned int engine;
	__u32 queue;
	struct buf tasks;
	struct buf a;
	struct buf b;
	struct buf d;
};

static void scene_make(struct scene *s)
{
	int engine;

	client_open(&s->c);
	engine = engine_for(s->c.fd, UMA_OP_GEMM, UMA_DTYPE_F32, UMA_DTYPE_F32, UMA_DTYPE_F32);
	if (engine < 0 || !engine_can(s->c.fd, (unsigned int)engine, UMA_OP_COPY, UMA_DTYPE_S32, 0,
				      UMA_DTYPE_S32))
		SKIP("no engine for both GEMM and COPY");
	s->engine = (unsigned int)engine;
	s->queue = queue_create(s->c.fd, s->c.vm, s->engine);
	client_buf(&s->c, &s->tasks, 4 * UMA_TASK_SIZE);
	client_buf(&s->c, &s->a, SIZE);
	client_buf(&s->c, &s->b, SIZE);
	client_buf(&s->c, &s->d, SIZE);
}

/* A good task before and behind the bad one: the first has run, the last has not. */
static void run_bad(struct scene *s, __u32 reason, __u32 slot, __u64 addr)
{
	struct drm_uma_queue_state state;

	task_fill(&s->tasks.task[0], UMA_DTYPE_S32, s->d.va + 3 * PAGE, 1, 0x1111);
	task_fill(&s->tasks.task[2], UMA_DTYPE_S32, s->d.va + 3 * PAGE + 64, 1, 0x2222);
	EXPECT_EQ(-EFAULT, client_run(&s->c, s->queue, s->tasks.va, 3));
	queue_state(s->c.fd, s->queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_BANNED, state.status);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED, state.flags);
	EXPECT_EQ(s->engine, state.engine);
	EXPECT_EQ(1, state.task_index);
	EXPECT_EQ(reason, state.reason);
	if (slot != ANY)
		EXPECT_EQ(slot, state.slot);
	EXPECT_EQ(EFAULT, state.error);
	EXPECT_EQ(addr, state.fault_addr);
	EXPECT_EQ(s->tasks.va, state.tasks_addr);
	EXPECT_EQ(1, state.submitted);
	EXPECT_EQ(1, state.completed);
	EXPECT_EQ(0x1111, s->d.u32[3 * PAGE / 4]);
	EXPECT_EQ(0, s->d.u32[3 * PAGE / 4 + 16]);
	/* Banned is banned; another queue on the same engine is as good as new. */
	EXPECT_EQ(-ECANCELED, submit_one_try(s->c.fd, s->queue, 0, 0, NULL, 0));
	task_nop(&s->tasks.task[0]);
	EXPECT_EQ(0, client_run(&s->c, queue_create(s->c.fd, s->c.vm, s->engine), s->tasks.va, 1));
}

/* --- descriptors ------------------------------------------------------------------- */

FIXTURE(descriptor) {
	struct scene s;
};

FIXTURE_VARIANT(descriptor) {
	void (*spoil)(struct scene *s, struct uma_task *t);
	__u32 reason;
	__u32 slot;
};

FIXTURE_SETUP(descriptor)
{
	expect_faults(1);
	scene_make(&self->s);
}

FIXTURE_TEARDOWN(descriptor)
{
	client_close(&self->s.c);
}

/* A GEMM of 8 x 8 x 8 in fp32 with one mistake. */
#define MISTAKE(v, r, sl)							\
	static void spoil_##v(struct scene *s, struct uma_task *t);		\
	FIXTURE_VARIANT_ADD(descriptor, v) {					\
		.spoil = spoil_##v, .reason = UMA_FAULT_##r, .slot = sl,	\
	};									\
	static void spoil_##v(struct scene *s __attribute__((unused)), struct uma_task *t)

MISTAKE(version, VERSION, UMA_FAULT_NO_SLOT)
{
	t->version = htole16(UMA_TASK_VERSION + 1);
}

MISTAKE(version_zero, VERSION, UMA_FAULT_NO_SLOT)
{
	t->version = 0;
}

MISTAKE(opcode, OPCODE, UMA_FAULT_NO_SLOT)
{
	t->opcode = htole16(UMA_OP_COUNT);
}

MISTAKE(flag, FLAGS, UMA_FAULT_NO_SLOT)
{
	t->flags = htole32(1u << 31);
}

MISTAKE(pad0, PAD, UMA_FAULT_NO_SLOT)
{
	t->pad0 = htole32(1);
}

MISTAKE(pad1, PAD, UMA_FAULT_NO_SLOT)
{
	t->pad1[9] = htole64(1ull << 63);
}

MISTAKE(pad2, PAD, UMA_FAULT_NO_SLOT)
{
	t->pad2[0] = htole64(1);
}

MISTAKE(params_pad, PAD, UMA_FAULT_NO_SLOT)
{
	t->params[UMA_PARAMS_SIZE - 1] = 1;
}

MISTAKE(shape_addr_unused, PAD, UMA_FAULT_NO_SLOT)
{
	t->shape_addr = htole64(s->a.va);
}

MISTAKE(length_dims_unused, PAD, UMA_FAULT_NO_SLOT)
{
	t->length_dims[UMA_SLOT_A] = 1;
}

MISTAKE(operand_pad, PAD, UMA_SLOT_A)
{
	t->op[UMA_SLOT_A].pad0 = htole16(1);
}

MISTAKE(unused_slot_not_zero, PAD, UMA_TASK_SLOTS - 1)
{
	t->op[UMA_TASK_SLOTS - 1].addr = htole64(64);
}

MISTAKE(slot_missing, SLOT, ANY)
{
	t->slots = htole32(1u << UMA_SLOT_DST | 1u << UMA_SLOT_A);
	memset(&t->op[UMA_SLOT_B], 0, sizeof(t->op[0]));
}

MISTAKE(slot_extra, SLOT, ANY)
{
	t->slots = htole32(le32toh(t->slots) | 1u << UMA_SLOT_C);
	t->op[UMA_SLOT_C] = t->op[UMA_SLOT_A];
}

MISTAKE(dtype_unknown, DTYPE, UMA_SLOT_B)
{
	t->op[UMA_SLOT_B].dtype = htole16(UMA_DTYPE_COUNT);
}

MISTAKE(dtype_none, DTYPE, UMA_SLOT_A)
{
	t->op[UMA_SLOT_A].dtype = 0;
}

MISTAKE(rank_zero, RANK, UMA_SLOT_A)
{
	t->op[UMA_SLOT_A].rank = 0;
}

MISTAKE(rank_over, RANK, UMA_SLOT_DST)
{
	t->op[UMA_SLOT_DST].rank = htole16(UMA_MAX_RANK + 1);
}

MISTAKE(rank_one, RANK, ANY)
{
	int i;

	memset(t->op, 0, sizeof(t->op));
	for (i = 0; i < 3; i++)
		task_vector(t, (unsigned int)i, UMA_DTYPE_F32, s->a.va + (unsigned int)i * PAGE, 8);
}

MISTAKE(dims_do_not_match, DIMS, ANY)
{
	t->op[UMA_SLOT_B].dims[0] = htole32(7);
}

MISTAKE(dims_beyond_rank, PAD, UMA_SLOT_A)
{
	t->op[UMA_SLOT_A].dims[2] = htole32(1);
}

MISTAKE(output_overlaps_itself, STRIDES, UMA_SLOT_DST)
{
	t->op[UMA_SLOT_DST].strides[0] = htole64(1);
}

MISTAKE(output_broadcast, STRIDES, UMA_SLOT_DST)
{
	t->op[UMA_SLOT_DST].strides[0] = 0;
}

MISTAKE(layout, LAYOUT, UMA_SLOT_B)
{
	t->op[UMA_SLOT_B].layout = htole16(UMA_LAYOUT_COUNT);
}

MISTAKE(quant_unknown, QUANT, UMA_SLOT_A)
{
	t->op[UMA_SLOT_A].quant = htole16(UMA_QUANT_COUNT);
}

MISTAKE(epilogue_flag, FLAGS, ANY)
{
	t->epilogue.flags = htole32(1u << 31);
}

MISTAKE(epilogue_act, EPILOGUE, ANY)
{
	t->epilogue.act = htole32(UMA_ACT_COUNT);
}

MISTAKE(beta_without_c, SLOT, ANY)
{
	struct uma_gemm_params p = { .alpha = htole32(float_bits(1)),
				     .beta = htole32(float_bits(1)) };

	memcpy(t->params, &p, sizeof(p));
}

MISTAKE(misaligned, ALIGN, UMA_SLOT_A)
{
	t->op[UMA_SLOT_A].addr = htole64(s->a.va + 2);
}

MISTAKE(range_beyond_width, RANGE, UMA_SLOT_A)
{
	t->op[UMA_SLOT_A].addr = htole64(1ull << 60);
}

MISTAKE(range_wraps, RANGE, UMA_SLOT_B)
{
	t->op[UMA_SLOT_B].addr = htole64(-64ull);
}

MISTAKE(stride_huge, STRIDES, UMA_SLOT_A)
{
	t->op[UMA_SLOT_A].strides[0] = htole64(1ull << 62);
}

MISTAKE(output_over_input, OVERLAP, ANY)
{
	t->op[UMA_SLOT_DST].addr = htole64(s->a.va + 64);
}

TEST_F(descriptor, faults)
{
	struct uma_task *t = &self->s.tasks.task[1];

	task_gemm_f32(t, self->s.d.va, self->s.a.va, self->s.b.va, 8, 8, 8);
	variant->spoil(&self->s, t);
	run_bad(&self->s, variant->reason, variant->slot, 0);
}

/* Nothing in a task is read as anything else: noise faults, and the device goes on. */
TEST_TIMEOUT(noise, 240)
{
	struct drm_uma_queue_state state;
	unsigned int seed = 12345, round;
	struct scene s;
	__u32 queue;
	size_t i;

	expect_faults(24);
	scene_make(&s);
	for (round = 0; round < 24; round++) {
		for (i = 0; i < UMA_TASK_SIZE; i++)
			s.tasks.u8[i] = (__u8)(rand_r(&seed) >> 4);
		/* Each round with one more of the first fields good. */
		if (round > 4)
			s.tasks.task->version = htole16(UMA_TASK_VERSION);
		if (round > 8)
			s.tasks.task->opcode = htole16((__u16)(round % UMA_OP_COUNT));
		if (round > 12)
			s.tasks.task->flags = 0;
		if (round > 16)
			s.tasks.task->pad0 = 0;
		queue = queue_create(s.c.fd, s.c.vm, s.engine);
		EXPECT_EQ(-EFAULT, client_run(&s.c, queue, s.tasks.va, 1));
		queue_state(s.c.fd, queue, &state);
		EXPECT_NE(UMA_FAULT_NONE, state.reason);
		EXPECT_LE(state.reason, UMA_FAULT_UNSUPPORTED);
		ASSERT_EQ(0, queue_destroy_try(s.c.fd, queue));
	}
}

/* --- addresses ----------------------------------------------------------------------- */

enum where {
	READ_PAST_END,
	READ_NOTHING,
	READ_BEFORE,
	WRITE_PAST_END,
	WRITE_NOTHING,
	WRITE_READ_ONLY,
	READ_HOLE,
	READ_SCALES,
};

FIXTURE(address) {
	struct scene s;
};

FIXTURE_VARIANT(address) {
	enum where where;
	__u32 reason;
	__u32 slot;
};

FIXTURE_VARIANT_ADD(address, read_past_end) {
	.where = READ_PAST_END, .reason = UMA_FAULT_READ, .slot = UMA_SLOT_A,
};

FIXTURE_VARIANT_ADD(address, read_nothing) {
	.where = READ_NOTHING, .reason = UMA_FAULT_READ, .slot = UMA_SLOT_A,
};

FIXTURE_VARIANT_ADD(address, read_before) {
	.where = READ_BEFORE, .reason = UMA_FAULT_READ, .slot = UMA_SLOT_A,
};

FIXTURE_VARIANT_ADD(address, read_hole) {
	.where = READ_HOLE, .reason = UMA_FAULT_READ, .slot = UMA_SLOT_A,
};

FIXTURE_VARIANT_ADD(address, write_past_end) {
	.where = WRITE_PAST_END, .reason = UMA_FAULT_WRITE, .slot = UMA_SLOT_DST,
};

FIXTURE_VARIANT_ADD(address, write_nothing) {
	.where = WRITE_NOTHING, .reason = UMA_FAULT_WRITE, .slot = UMA_SLOT_DST,
};

FIXTURE_VARIANT_ADD(address, write_read_only) {
	.where = WRITE_READ_ONLY, .reason = UMA_FAULT_WRITE, .slot = UMA_SLOT_DST,
};

FIXTURE_SETUP(address)
{
	expect_faults(1);
	scene_make(&self->s);
}

FIXTURE_TEARDOWN(address)
{
	client_close(&self->s.c);
}

TEST_F(address, faults)
{
	struct scene *s = &self->s;
	__u64 src = s->a.va, dst = s->d.va, fault = 0;

	memset(s->a.map, 0x5a, SIZE);
	switch (variant->where) {
	case READ_PAST_END:
		src = s->a.va + SIZE - 2048;
		fault = s->a.va + SIZE;
		break;
	case READ_NOTHING:
		src = client_va(&s->c, PAGE);
		fault = src;
		break;
	case READ_BEFORE:
		src = s->a.va - 2048;
		fault = src;
		break;
	case READ_HOLE:
		src = s->a.va + PAGE - 2048;
		fault = s->a.va + PAGE;
		vm_unmap(s->c.fd, s->c.vm, fault, PAGE);
		break;
	case WRITE_PAST_END:
		dst = s->b.va + SIZE - 2048;
		fault = s->b.va + SIZE;
		break;
	case WRITE_NOTHING:
		dst = client_va(&s->c, PAGE);
		fault = dst;
		break;
	case WRITE_READ_ONLY:
		dst = client_bind_handle(&s->c, s->b.handle, SIZE, DRM_UMA_BIND_READONLY);
		fault = dst;
		break;
	default:
		break;
	}
	task_copy(&s->tasks.task[1], UMA_DTYPE_S32, dst, src, 1024);
	run_bad(s, variant->reason, variant->slot, fault);
	if (variant->where == WRITE_READ_ONLY)
		EXPECT_EQ(0, s->b.u32[0]);
}

/* --- task lists ------------------------------------------------------------------------ */

TEST(list_not_mapped)
{
	struct drm_uma_queue_state state;
	struct scene s;
	__u64 va;

	expect_faults(1);
	scene_make(&s);
	va = client_va(&s.c, PAGE);
	EXPECT_EQ(-EFAULT, client_run(&s.c, s.queue, va, 1));
	queue_state(s.c.fd, s.queue, &state);
	EXPECT_EQ(UMA_FAULT_READ, state.reason);
	EXPECT_EQ(UMA_FAULT_NO_SLOT, state.slot);
	EXPECT_EQ(0, state.task_index);
	EXPECT_EQ(va, state.fault_addr);
	EXPECT_EQ(va, state.tasks_addr);
}

TEST(list_runs_off_its_buffer)
{
	struct drm_uma_queue_state state;
	struct scene s;
	int i;

	expect_faults(1);
	scene_make(&s);
	for (i = 0; i < 4; i++)
		task_nop(&s.tasks.task[i]);
	EXPECT_EQ(-EFAULT, client_run(&s.c, s.queue, s.tasks.va, 5));
	queue_state(s.c.fd, s.queue, &state);
	EXPECT_EQ(UMA_FAULT_READ, state.reason);
	EXPECT_EQ(4, state.task_index);
	EXPECT_EQ(s.tasks.va + s.tasks.size, state.fault_addr);
}

TEST(list_is_read_only)
{
	struct scene s;
	__u64 va;

	scene_make(&s);
	va = client_bind_handle(&s.c, s.tasks.handle, s.tasks.size, DRM_UMA_BIND_READONLY);
	task_nop(&s.tasks.task[0]);
	EXPECT_EQ(0, client_run(&s.c, s.queue, va, 1));
}

/* --- and the others --------------------------------------------------------------------- */

/*
 * Behind the job that faults: its own queue's are cancelled, everybody else's run, on the same
 * engine too.
 */
TEST(who_is_hurt)
{
	struct drm_uma_queue_state state;
	__u32 bad, own[4], sibling[4], queue2;
	struct gate gate;
	struct scene s;
	int i;

	expect_faults(1);
	scene_make(&s);
	queue2 = queue_create(s.c.fd, s.c.vm, s.engine);
	gate_close(&gate, s.c.fd);
	task_nop(&s.tasks.task[0]);
	task_copy(&s.tasks.task[1], UMA_DTYPE_S32, s.d.va, client_va(&s.c, PAGE), 16);
	bad = client_start_after(&s.c, s.queue, s.tasks.va + UMA_TASK_SIZE, 1, gate.syncobj);
	for (i = 0; i < 4; i++) {
		own[i] = client_start(&s.c, s.queue, s.tasks.va, 1);
		sibling[i] = client_start_after(&s.c, queue2, s.tasks.va, 1, gate.syncobj);
	}
	gate_open(&gate);
	EXPECT_EQ(-EFAULT, syncobj_result(s.c.fd, bad));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(-ECANCELED, syncobj_result(s.c.fd, own[i]));
		EXPECT_EQ(1, syncobj_result(s.c.fd, sibling[i]));
	}
	queue_state(s.c.fd, s.queue, &state);
	EXPECT_EQ(5, state.submitted);
	EXPECT_EQ(5, state.completed);
	queue_state(s.c.fd, queue2, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(0, state.flags & ~DRM_UMA_QUEUE_INNOCENT);
	EXPECT_EQ(0, submit_one_try(s.c.fd, queue2, 0, 0, NULL, 0));
	gate_free(&gate);
}

/* One that faults while the job before it in its queue is freed is not overlooked. */
TEST_TIMEOUT(behind_a_job_that_is_freed, 240)
{
	struct scene s;
	int i;

	expect_faults(100);
	scene_make(&s);
	task_nop(&s.tasks.task[0]);
	for (i = 0; i < 100; i++) {
		__u32 queue = queue_create(s.c.fd, s.c.vm, s.engine);
		__u32 good = client_start(&s.c, queue, s.tasks.va, 1);
		__u32 bad = client_start(&s.c, queue, client_va(&s.c, PAGE), 1);

		EXPECT_EQ(-EFAULT, syncobj_result(s.c.fd, bad));
		EXPECT_EQ(1, syncobj_result(s.c.fd, good));
		ASSERT_EQ(0, queue_destroy_try(s.c.fd, queue));
	}
	client_close(&s.c);
}

/* Another process computes on the same engine all the while, and every result is right. */
TEST_TIMEOUT(other_process_goes_on, 240)
{
	struct scene s;
	pid_t pid;
	int i, k;

	expect_faults(6);
	scene_make(&s);
	pid = harness_fork();
	if (!pid) {
		struct scene mine;

		scene_make(&mine);
		for (i = 0; i < 40; i++) {
			for (k = 0; k < 256; k++)
				mine.a.u32[k] = (__u32)(i * 1000 + k);
			task_copy(mine.tasks.task, UMA_DTYPE_S32, mine.d.va, mine.a.va, 256);
			ASSERT_EQ(0, client_run(&mine.c, mine.queue, mine.tasks.va, 1));
			ASSERT_EQ(0, memcmp(mine.a.map, mine.d.map, 1024));
		}
		_exit(0);
	}
	for (i = 0; i < 6; i++) {
		__u32 queue = queue_create(s.c.fd, s.c.vm, s.engine);

		task_copy(s.tasks.task, UMA_DTYPE_S32, s.d.va, s.a.va + SIZE - 64, 1024);
		EXPECT_EQ(-EFAULT, client_run(&s.c, queue, s.tasks.va, 1));
		ASSERT_EQ(0, queue_destroy_try(s.c.fd, queue));
	}
	harness_join(pid);
}

/* A job that counts as completed has said what it did to its queue. */
TEST(completed_is_banned)
{
	struct drm_uma_queue_state state;
	struct scene s;
	int i;

	expect_faults(100);
	scene_make(&s);
	task_init(s.tasks.task, UMA_OP_NOP, 0);
	s.tasks.task->version = 0;
	for (i = 0; i < 100; i++) {
		__u32 queue = queue_create(s.c.fd, s.c.vm, s.engine);

		ASSERT_EQ(0, submit_one_try(s.c.fd, queue, s.tasks.va, 1, NULL, 0));
		do {
			queue_state(s.c.fd, queue, &state);
		} while (state.completed != state.submitted);
		EXPECT_EQ(DRM_UMA_QUEUE_BANNED, state.status);
		ASSERT_EQ(0, queue_destroy_try(s.c.fd, queue));
	}
	client_close(&s.c);
}

HARNESS_MAIN
