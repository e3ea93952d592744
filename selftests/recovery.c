// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hardware that misbehaves, by the emulator's knobs: lost and spurious
 * interrupts, bad records, resets that fail, the device's own error flag.
 *
 * Each test has a device of its own, some of them are dead afterwards.
 */
#include <stdio.h>
#include <string.h>

#include "instance.h"
#include "task.h"
#include "watch.h"

FIXTURE(recovery) {
	struct instance in;
	struct client c;
	struct buf tasks;
};

FIXTURE_SETUP(recovery)
{
	instance_start(&self->in, "recovery", "m1");
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
	expect_log();
}

FIXTURE_TEARDOWN(recovery)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

static void knob(struct recovery_fixture *self, const char *name, const char *value)
{
	ASSERT_TRUE(emu_knob(self->in.node, name, value));
}

static __u32 impatient(struct recovery_fixture *self)
{
	struct drm_uma_queue_create args = {
		.vm_id = self->c.vm, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 200,
	};
	__u32 queue;

	ASSERT_EQ(0, queue_create_try(self->c.fd, &args, &queue));
	return queue;
}

static long long counter(struct recovery_fixture *self, const char *name)
{
	char path[256];

	ASSERT_TRUE(dev_debugfs(self->in.node, name, path, sizeof(path)));
	return read_number(path);
}

static void works(struct recovery_fixture *self)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n = query_engines(self->c.fd, engines), i;

	for (i = 0; i < n; i++)
		EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, i),
					self->tasks.va, 1));
}

/* Nobody says that the job is done; it is found to be. */
TEST_F(recovery, lost_interrupt)
{
	int i;

	for (i = 0; i < 3; i++) {
		knob(self, "lose_irq", "1");
		EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
					self->tasks.va, 1));
	}
	EXPECT_EQ(0, counter(self, "reset_counter"));
	works(self);
}

TEST_F(recovery, lost_interrupt_of_a_fault)
{
	knob(self, "lose_irq", "1");
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
				      client_va(&self->c, PAGE), 1));
	EXPECT_EQ(1, counter(self, "fault_counter"));
	works(self);
}

TEST_F(recovery, spurious_interrupts)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	int i;

	for (i = 0; i < 10; i++) {
		knob(self, "spurious_irq", "5");
		EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	}
	EXPECT_EQ(0, counter(self, "reset_counter"));
}

/* Whatever a device writes into its record, the job ends and nothing is believed. */
TEST_F(recovery, bad_record)
{
	int i, ret;

	for (i = 0; i < 3; i++) {
		knob(self, "bad_record", "1");
		ret = client_run(&self->c, impatient(self), self->tasks.va, 1);
		EXPECT_TRUE(ret == 0 || ret == -ETIME || ret == -EFAULT);
	}
	knob(self, "bad_record", "0");
	works(self);
}

TEST_F(recovery, injected_fault)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	struct drm_uma_queue_state state;
	char value[64];

	snprintf(value, sizeof(value), "%#llx %#x", self->tasks.va, UMA_TASK_SIZE);
	knob(self, "fault_addr", value);
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue, self->tasks.va, 1));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED, state.flags);
	works(self);
}

/* The engine does not come back, so the whole device is reset; whoever was on it is innocent. */
TEST_F(recovery, engine_reset_fails)
{
	__u32 bystander = queue_create(self->c.fd, self->c.vm, 0);
	struct drm_uma_queue_state state;

	EXPECT_EQ(0, client_run(&self->c, bystander, self->tasks.va, 1));
	knob(self, "hang_next", "2");
	knob(self, "fail_reset", "1");
	EXPECT_EQ(-ETIME, client_run(&self->c, impatient(self), self->tasks.va, 1));
	works(self);
	queue_state(self->c.fd, bystander, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(0, state.flags & ~DRM_UMA_QUEUE_INNOCENT);
	EXPECT_EQ(0, client_run(&self->c, bystander, self->tasks.va, 1));
	EXPECT_GE(counter(self, "reset_counter"), 1);
}

/* A device that says of itself that it is broken is reset. */
TEST_F(recovery, device_error)
{
	knob(self, "dev_error", "1");
	works(self);
	EXPECT_GE(counter(self, "reset_counter"), 1);
}

/* Nothing helps: the device is lost, and everybody is told so. */
TEST_F_TIMEOUT(recovery, nothing_helps, 240)
{
	__u32 queue = impatient(self), other = queue_create(self->c.fd, self->c.vm, 0), done,
	      waiting;
	struct drm_uma_queue_state state;
	int ret, fd, fd2;

	knob(self, "hang_next", "2");
	knob(self, "fail_reset", "1000");
	done = client_start(&self->c, queue, self->tasks.va, 1);
	waiting = client_start_after(&self->c, other, self->tasks.va, 1, done);
	ASSERT_EQ(0, syncobj_export_try(self->c.fd, done, true, &fd));
	ASSERT_EQ(0, syncobj_export_try(self->c.fd, waiting, true, &fd2));
	ret = sync_file_wait(fd);
	EXPECT_TRUE(ret == -ETIME || ret == -ENODEV);
	EXPECT_EQ(-ENODEV, sync_file_wait(fd2));
	close(fd);
	close(fd2);
	ret = queue_state_try(self->c.fd, other, &state);
	EXPECT_TRUE(ret == -ENODEV || (ret == 0 && state.status == DRM_UMA_QUEUE_LOST));
	EXPECT_EQ(-ENODEV, submit_one_try(self->c.fd, other, self->tasks.va, 1, NULL, 0));
}

HARNESS_MAIN
