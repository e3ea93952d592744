// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What is left of a job that hung or faulted: /sys/class/devcoredump, in the
 * format of uma_dump.h. Each test has a device of its own, so that nobody else's
 * dump is in its way. All are in one file, as they read the same format.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "uapi/drm/uma_dump.h"

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

#define CLASS_DIR	"/sys/class/devcoredump"
/* A page table as the register contract has it, which is not of user space. */
#define PTE_VALID	1ull

FIXTURE(coredump) {
	struct instance in;
	struct client c;
	struct buf tasks;
	struct buf data;
	/** @buf: the dump that was read last */
	__u8 *buf;
	size_t size;
};

/* The directory of the dump of a device, false if it has none. */
static bool dump_dir(const char *device, char *dir, size_t size)
{
	char path[512], target[512];
	bool found = false;
	struct dirent *e;
	ssize_t n;
	DIR *d = opendir(CLASS_DIR);

	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof(path), CLASS_DIR "/%.64s/failing_device", e->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = 0;
		if (strcmp(strrchr(target, '/') ? strrchr(target, '/') + 1 : target, device))
			continue;
		snprintf(dir, size, CLASS_DIR "/%.64s", e->d_name);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

/* The path of the data of the device's dump, once there is one. */
static void dump_path(struct coredump_fixture *self, char *path, size_t size)
{
	char dir[256];

	while (!dump_dir(self->in.device, dir, sizeof(dir)))
		usleep(10000);
	snprintf(path, size, "%.200s/data", dir);
}

static size_t dump_read(const char *path, __u8 *buf)
{
	size_t size = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	while ((n = read(fd, buf + size, UMA_DUMP_MAX_SIZE + 1 - size)) > 0)
		size += (size_t)n;
	ASSERT_EQ(0, n);
	close(fd);
	return size;
}

static void dump_free(const char *path)
{
	ASSERT_EQ(0, file_write_try(path, "0"));
	while (!access(path, F_OK))
		usleep(10000);
}

FIXTURE_SETUP(coredump)
{
	char path[300];
	int i;

	if (access(CLASS_DIR, F_OK))
		SKIP("no " CLASS_DIR);
	instance_start(&self->in, "coredump", "m1");
	/* Dumps outlive their devices, and names come again. */
	while (dump_dir(self->in.device, path, sizeof(path) - sizeof("/data"))) {
		strcat(path, "/data");
		dump_free(path);
	}
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, 8 * UMA_TASK_SIZE);
	client_buf(&self->c, &self->data, 4 * PAGE);
	for (i = 0; i < 8; i++)
		task_fill(&self->tasks.task[i], UMA_DTYPE_S32, self->data.va, 1, 0x100 + (__u32)i);
	self->buf = malloc(UMA_DUMP_MAX_SIZE + 1);
	ASSERT_TRUE(self->buf);
	expect_log();
}

static const struct uma_dump_header *header(struct coredump_fixture *self)
{
	return (const struct uma_dump_header *)self->buf;
}

/* A section by its type, NULL if there is none; all of them are looked at. */
static void *section(struct coredump_fixture *self, __u32 type, size_t *size)
{
	size_t at = sizeof(struct uma_dump_header);
	void *found = NULL;

	while (at < self->size) {
		struct uma_dump_section s;

		ASSERT_LE(sizeof(s), self->size - at);
		memcpy(&s, self->buf + at, sizeof(s));
		at += sizeof(s);
		ASSERT_EQ(0, s.size % 8);
		ASSERT_LE(s.size, self->size - at);
		if (s.type == type) {
			/* None of them comes twice. */
			ASSERT_FALSE(found);
			found = self->buf + at;
			*size = s.size;
		}
		at += s.size;
	}
	ASSERT_EQ(at, self->size);
	return found;
}

static void *need(struct coredump_fixture *self, __u32 type, size_t at_least, size_t *size)
{
	void *p = section(self, type, size);

	if (!p)
		harness_diag("no section %u", type);
	ASSERT_TRUE(p);
	ASSERT_GE(*size, at_least);
	return p;
}

static void take(struct coredump_fixture *self, __u32 cause)
{
	struct drm_uma_query_device dev;
	struct utsname uts;
	char path[300];

	dump_path(self, path, sizeof(path));
	self->size = dump_read(path, self->buf);
	dump_free(path);
	ASSERT_GE(self->size, sizeof(struct uma_dump_header));
	ASSERT_LE(self->size, UMA_DUMP_MAX_SIZE);
	EXPECT_EQ(UMA_DUMP_MAGIC, header(self)->magic);
	EXPECT_EQ(1, header(self)->version);
	EXPECT_EQ(cause, header(self)->cause);
	EXPECT_EQ(self->size, header(self)->size);
	EXPECT_GT(header(self)->realtime_ns, 0);
	EXPECT_GT(header(self)->boottime_ns, 0);
	EXPECT_EQ(0, strcmp(self->in.device, header(self)->device));
	ASSERT_EQ(0, uname(&uts));
	EXPECT_EQ(0, strncmp(uts.release, header(self)->kernel,
			     sizeof(header(self)->kernel) - 1));
	if (cause == UMA_DUMP_WEDGED)
		return;
	query_device(self->c.fd, &dev);
	EXPECT_EQ(0, strcmp((const char *)dev.profile, header(self)->profile));
	EXPECT_EQ(dev.hw_version, header(self)->hw_version);
	EXPECT_EQ(dev.timestamp_hz, header(self)->timestamp_hz);
	EXPECT_GT(header(self)->timestamp, 0);
}

static const struct uma_dump_job *check_job(struct coredump_fixture *self, __u32 queue,
					    unsigned int engine, __u32 count, int error)
{
	struct uma_dump_job *job;
	char comm[32];
	size_t size;

	job = need(self, UMA_DUMP_JOB, sizeof(*job), &size);
	EXPECT_EQ(engine, job->engine);
	EXPECT_EQ(error, job->error);
	EXPECT_EQ(getpid(), job->pid);
	EXPECT_EQ(queue, job->queue_id);
	EXPECT_EQ(1, job->number);
	EXPECT_GT(job->seqno, 0);
	EXPECT_EQ(self->tasks.va, job->tasks_addr);
	EXPECT_EQ(count, job->task_count);
	EXPECT_LT(job->task_index, count);
	ASSERT_GT(file_read_try("/proc/self/comm", comm, sizeof(comm)), 0);
	EXPECT_EQ(0, strncmp(comm, job->comm, sizeof(job->comm)));
	EXPECT_LT(strnlen(job->engine_name, sizeof(job->engine_name)), sizeof(job->engine_name));
	return job;
}

/* What the test itself has written, around the task that it is about. */
static void check_tasks(struct coredump_fixture *self, __u32 first, __u32 count)
{
	struct uma_dump_tasks *tasks;
	size_t size;

	tasks = need(self, UMA_DUMP_TASKS, sizeof(*tasks), &size);
	EXPECT_EQ(first, tasks->first);
	ASSERT_EQ(count, tasks->count);
	ASSERT_EQ(sizeof(*tasks) + (size_t)count * UMA_TASK_SIZE, size);
	EXPECT_EQ(0, memcmp(tasks + 1, &self->tasks.task[first], (size_t)count * UMA_TASK_SIZE));
}

/* The entry of the job is on the ring, and its record says what the job says. */
static void check_ring(struct coredump_fixture *self, const struct uma_dump_job *job, bool done)
{
	const __u8 *entry, *record;
	struct uma_dump_ring *ring;
	__u64 addr, seqno;
	size_t size, n;

	ring = need(self, UMA_DUMP_RING, sizeof(*ring), &size);
	EXPECT_EQ(job->engine, ring->engine);
	ASSERT_LE(ring->order, 16);
	n = (size_t)1 << ring->order;
	ASSERT_EQ(sizeof(*ring) + n * (ring->entry_size + ring->record_size), size);
	ASSERT_GE(ring->entry_size, 32);
	ASSERT_GE(ring->record_size, 32);
	ASSERT_GT(ring->tail, 0);
	entry = (const __u8 *)(ring + 1) + ((ring->tail - 1) % n) * ring->entry_size;
	record = (const __u8 *)(ring + 1) + n * ring->entry_size +
		 ((ring->tail - 1) % n) * ring->record_size;
	memcpy(&addr, entry, sizeof(addr));
	memcpy(&seqno, entry + 16, sizeof(seqno));
	EXPECT_EQ(job->tasks_addr, addr);
	EXPECT_EQ(job->seqno, seqno);
	memcpy(&seqno, record, sizeof(seqno));
	if (done)
		EXPECT_EQ(job->seqno, seqno);
	else
		EXPECT_NE(job->seqno, seqno);
}

static void check_regs(struct coredump_fixture *self)
{
	struct uma_dump_reg *reg;
	bool magic = false;
	size_t size, i;

	reg = need(self, UMA_DUMP_REGS, sizeof(*reg), &size);
	ASSERT_EQ(0, size % sizeof(*reg));
	for (i = 0; i < size / sizeof(*reg); i++) {
		EXPECT_EQ(0, reg[i].offset % 4);
		/* Each is there once, in order of the blocks. */
		if (!reg[i].offset) {
			EXPECT_FALSE(magic);
			EXPECT_EQ(0, memcmp(&reg[i].value, "UMA1", 4));
			magic = true;
		}
	}
	EXPECT_TRUE(magic);
	/* Device and engines. */
	EXPECT_GE(reg[i - 1].offset, 0x1000);
}

/* Oldest first; the last word on the engine is that the job ran. */
static void check_history(struct coredump_fixture *self, const struct uma_dump_job *job)
{
	const struct uma_dump_event *e, *last = NULL;
	size_t size, i;

	e = need(self, UMA_DUMP_HISTORY, sizeof(*e), &size);
	ASSERT_EQ(0, size % sizeof(*e));
	for (i = 0; i < size / sizeof(*e); i++) {
		EXPECT_GE(e[i].type, UMA_DUMP_EVENT_RUN);
		EXPECT_LE(e[i].type, UMA_DUMP_EVENT_PREEMPT);
		EXPECT_EQ(0, e[i].pad);
		EXPECT_LE(e[i].boottime_ns, header(self)->boottime_ns + 60000000000ull);
		if (i)
			EXPECT_LE(e[i - 1].boottime_ns, e[i].boottime_ns);
		if (e[i].engine == job->engine && e[i].type == UMA_DUMP_EVENT_RUN)
			last = &e[i];
	}
	ASSERT_TRUE(last);
	EXPECT_EQ(job->seqno, last->seqno);
	EXPECT_EQ(job->number, last->number);
	EXPECT_EQ(job->queue_id, last->queue_id);
	EXPECT_EQ(job->pid, last->pid);
	EXPECT_EQ(0, last->error);
}

static void knob(struct coredump_fixture *self, const char *name, const char *value)
{
	ASSERT_TRUE(emu_knob(self->in.node, name, value));
}

static __u32 impatient(struct coredump_fixture *self)
{
	return queue_create_timeout(self->c.fd, self->c.vm, UMA_ENGINE_GPU, 0, 200);
}

/* Eight tasks of which one reads where nothing is; the address. */
static __u64 fault(struct coredump_fixture *self, __u32 queue, unsigned int bad)
{
	__u64 nothing = client_va(&self->c, PAGE);

	task_copy(&self->tasks.task[bad], UMA_DTYPE_S32, self->data.va + PAGE, nothing, 16);
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue, self->tasks.va, 8));
	return nothing;
}

static unsigned int copy_engine(struct coredump_fixture *self)
{
	int engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32);

	if (engine < 0)
		SKIP("no engine copies");
	return (unsigned int)engine;
}

FIXTURE_TEARDOWN(coredump)
{
	char dir[256], path[300];

	if (self->in.dir[0] && dump_dir(self->in.device, dir, sizeof(dir))) {
		snprintf(path, sizeof(path), "%.200s/data", dir);
		dump_free(path);
	}
	client_close(&self->c);
	instance_drop(&self->in);
}

TEST_F(coredump, fault)
{
	unsigned int engine = copy_engine(self);
	__u32 queue = queue_create(self->c.fd, self->c.vm, engine), i;
	const struct uma_dump_job *job;
	struct uma_dump_walk *walk;
	size_t size;
	__u64 addr;

	addr = fault(self, queue, 4);
	take(self, UMA_DUMP_FAULT);
	job = check_job(self, queue, engine, 8, EFAULT);
	EXPECT_EQ(4, job->task_index);
	EXPECT_EQ(UMA_FAULT_READ, job->reason);
	EXPECT_EQ(UMA_SLOT_A, job->slot);
	EXPECT_EQ(addr, job->fault_addr);
	check_tasks(self, 2, 5);
	check_ring(self, job, true);
	check_regs(self);
	check_history(self, job);
	/* Beside it something is mapped, so there are tables, but for the end of the walk. */
	walk = need(self, UMA_DUMP_WALK, sizeof(*walk), &size);
	EXPECT_EQ(addr, walk->addr);
	EXPECT_EQ(0, walk->pad);
	ASSERT_EQ(4, walk->levels);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(PTE_VALID, walk->entry[i] & PTE_VALID);
	EXPECT_EQ(0, walk->entry[3] & PTE_VALID);
}

/* A process of this number, which is nobody's. */
static pid_t process_with(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};
	long ret = syscall(SYS_clone3, &args, sizeof(args));

	if (!ret)
		for (;;)
			pause();
	return (pid_t)ret;
}

/* Who made the queue may be gone, and its number another's, who has nothing to do with it. */
TEST_F(coredump, pid_of_another)
{
	unsigned int engine = copy_engine(self);
	struct uma_dump_job *job;
	__u32 *queue;
	size_t size;
	pid_t pid;

	queue = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(queue != MAP_FAILED);
	pid = harness_fork();
	if (!pid) {
		*queue = queue_create(self->c.fd, self->c.vm, engine);
		_exit(0);
	}
	harness_join(pid);
	ASSERT_EQ(pid, process_with(pid));
	fault(self, *queue, 4);
	take(self, UMA_DUMP_FAULT);
	job = need(self, UMA_DUMP_JOB, sizeof(*job), &size);
	EXPECT_EQ(pid, job->pid);
	EXPECT_EQ(0, job->comm[0]);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
}

/* At the edges of the list, and of the memory that it lies in. */
TEST_F(coredump, first_task)
{
	unsigned int engine = copy_engine(self);

	fault(self, queue_create(self->c.fd, self->c.vm, engine), 0);
	take(self, UMA_DUMP_FAULT);
	check_tasks(self, 0, 3);
}

TEST_F(coredump, last_task)
{
	unsigned int engine = copy_engine(self);

	fault(self, queue_create(self->c.fd, self->c.vm, engine), 7);
	take(self, UMA_DUMP_FAULT);
	check_tasks(self, 5, 3);
}

TEST_F(coredump, tasks_are_not_there)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	__u64 nothing = client_va(&self->c, PAGE);
	struct uma_dump_job *job;
	size_t size;

	EXPECT_EQ(-EFAULT, client_run(&self->c, queue, nothing, 2));
	take(self, UMA_DUMP_FAULT);
	job = need(self, UMA_DUMP_JOB, sizeof(*job), &size);
	EXPECT_EQ(nothing, job->tasks_addr);
	EXPECT_EQ(nothing, job->fault_addr);
	EXPECT_FALSE(section(self, UMA_DUMP_TASKS, &size));
	/* The list runs off its memory: what is there is there. */
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
				      self->tasks.va, 10));
	take(self, UMA_DUMP_FAULT);
	check_tasks(self, 6, 2);
}

/* In memory of the process, and between two pages. */
TEST_F(coredump, tasks_in_user_memory)
{
	unsigned int engine = copy_engine(self);
	struct uma_dump_tasks *tasks;
	__u64 va;
	__u32 handle;
	size_t size;
	__u8 *p;

	p = aligned_alloc(PAGE, 2 * PAGE);
	ASSERT_TRUE(p);
	memset(p, 0, 2 * PAGE);
	task_copy((struct uma_task *)(void *)(p + 1024 + UMA_TASK_SIZE), UMA_DTYPE_S32,
		  self->data.va, client_va(&self->c, PAGE), 16);
	task_nop((struct uma_task *)(void *)(p + 1024));
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, p, 2 * PAGE, 0, &handle));
	va = client_bind_handle(&self->c, handle, 2 * PAGE, 0);
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue_create(self->c.fd, self->c.vm, engine),
				      va + 1024, 2));
	take(self, UMA_DUMP_FAULT);
	tasks = need(self, UMA_DUMP_TASKS, sizeof(*tasks), &size);
	EXPECT_EQ(0, tasks->first);
	ASSERT_EQ(2, tasks->count);
	EXPECT_EQ(0, memcmp(tasks + 1, p + 1024, 2 * UMA_TASK_SIZE));
}

TEST_F(coredump, hang)
{
	const struct uma_dump_job *job;
	__u32 queue = impatient(self);
	size_t size;

	knob(self, "hang_next", "2");
	EXPECT_EQ(-ETIME, client_run(&self->c, queue, self->tasks.va, 3));
	take(self, UMA_DUMP_HANG);
	job = check_job(self, queue, 1, 3, ETIME);
	EXPECT_EQ(UMA_FAULT_NONE, job->reason);
	EXPECT_EQ(UMA_FAULT_NO_SLOT, job->slot);
	EXPECT_EQ(0, job->fault_addr);
	EXPECT_EQ(UMA_ENGINE_GPU, job->engine_class);
	EXPECT_EQ(0, strcmp("gpu0", job->engine_name));
	check_tasks(self, 0, 3);
	check_ring(self, job, false);
	check_regs(self);
	check_history(self, job);
	EXPECT_FALSE(section(self, UMA_DUMP_WALK, &size));
}

/* What was there before is in the history, with how it ended. */
TEST_F(coredump, history)
{
	unsigned int engine = copy_engine(self), done = 0, reset = 0, failed = 0;
	__u32 queue = queue_create(self->c.fd, self->c.vm, engine);
	const struct uma_dump_event *e;
	size_t size, i;

	for (i = 0; i < 40; i++)
		EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	fault(self, queue_create(self->c.fd, self->c.vm, engine), 1);
	take(self, UMA_DUMP_FAULT);
	task_fill(&self->tasks.task[1], UMA_DTYPE_S32, self->data.va, 1, 1);
	fault(self, queue_create(self->c.fd, self->c.vm, engine), 2);
	take(self, UMA_DUMP_FAULT);
	e = need(self, UMA_DUMP_HISTORY, sizeof(*e), &size);
	/* 32 of the engine, one of which is the job that is at fault now. */
	for (i = 0; i < size / sizeof(*e); i++) {
		if (e[i].engine != engine)
			continue;
		done += e[i].type == UMA_DUMP_EVENT_DONE && !e[i].error;
		failed += e[i].type == UMA_DUMP_EVENT_DONE && e[i].error == EFAULT;
		reset += e[i].type == UMA_DUMP_EVENT_RESET;
	}
	EXPECT_EQ(1, reset);
	EXPECT_EQ(1, failed);
	EXPECT_EQ(14, done);
}

/* Slices of long jobs are there, too, but what went wrong before them still is. */
TEST_F(coredump, history_of_slices)
{
	enum { LONG = 600 };
	unsigned int engine = copy_engine(self), slices = 0, reset = 0, failed = 0, i, j;
	const struct uma_dump_event *e;
	struct client c[2];
	struct buf tasks, dst;
	__u32 done[2];
	size_t size;

	fault(self, queue_create(self->c.fd, self->c.vm, engine), 1);
	take(self, UMA_DUMP_FAULT);
	ASSERT_EQ(0, device_write_try(self->in.node, "time_slice_ms", "1"));
	for (i = 0; i < 2; i++) {
		client_open_named(&c[i], self->in.node);
		client_buf(&c[i], &tasks, LONG * UMA_TASK_SIZE);
		client_buf(&c[i], &dst, 1 << 15);
		for (j = 0; j < LONG; j++)
			task_fill(&tasks.task[j], UMA_DTYPE_U8, dst.va, 1 << 15, 0x55);
		done[i] = client_start(&c[i], queue_create(c[i].fd, c[i].vm, engine), tasks.va,
				       LONG);
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(1, syncobj_result(c[i].fd, done[i]));
	task_fill(&self->tasks.task[1], UMA_DTYPE_S32, self->data.va, 1, 1);
	fault(self, queue_create(self->c.fd, self->c.vm, engine), 2);
	take(self, UMA_DUMP_FAULT);
	e = need(self, UMA_DUMP_HISTORY, sizeof(*e), &size);
	for (i = 0; i < size / sizeof(*e); i++) {
		if (e[i].engine != engine)
			continue;
		slices += e[i].type == UMA_DUMP_EVENT_PREEMPT;
		failed += e[i].type == UMA_DUMP_EVENT_DONE && e[i].error == EFAULT;
		reset += e[i].type == UMA_DUMP_EVENT_RESET;
	}
	harness_diag("%u slices", slices);
	EXPECT_GE(slices, 2);
	EXPECT_EQ(1, reset);
	EXPECT_EQ(1, failed);
	for (i = 0; i < 2; i++)
		client_close(&c[i]);
}

/* Jobs that a reset ends have an end in the history, also those that waited to be continued. */
TEST_F(coredump, history_of_reset)
{
	enum { LONG = 600 };
	unsigned int engine = copy_engine(self), ended = 0, i, j;
	const struct uma_dump_event *e;
	struct client c[2];
	struct buf tasks;
	__u32 done[2];
	size_t size;

	ASSERT_TRUE(emu_knob(self->in.node, "task_us", "50000"));
	for (i = 0; i < 2; i++) {
		client_open_named(&c[i], self->in.node);
		client_buf(&c[i], &tasks, LONG * UMA_TASK_SIZE);
		for (j = 0; j < LONG; j++)
			task_nop(&tasks.task[j]);
		done[i] = client_start(&c[i], queue_create(c[i].fd, c[i].vm, engine), tasks.va,
				       LONG);
	}
	/* Both have had it: one of them now, the other one before. */
	while (engine_number(self->in.node, engine, "preemptions") < 2)
		usleep(1000);
	ASSERT_EQ(0, device_write_try(self->in.node, "reset", "device"));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-ECANCELED, syncobj_result(c[i].fd, done[i]));
	ASSERT_TRUE(emu_knob(self->in.node, "task_us", "0"));
	fault(self, queue_create(self->c.fd, self->c.vm, engine), 1);
	take(self, UMA_DUMP_FAULT);
	e = need(self, UMA_DUMP_HISTORY, sizeof(*e), &size);
	for (i = 0; i < size / sizeof(*e); i++)
		ended += e[i].engine == engine && e[i].type == UMA_DUMP_EVENT_DONE &&
			 e[i].error == ECANCELED;
	EXPECT_EQ(2, ended);
	for (i = 0; i < 2; i++)
		client_close(&c[i]);
}

/* The first one stays until somebody has read it. */
TEST_F(coredump, second)
{
	__u32 first = queue_create(self->c.fd, self->c.vm, copy_engine(self)), third;
	char path[300];

	fault(self, first, 0);
	dump_path(self, path, sizeof(path));
	fault(self, queue_create(self->c.fd, self->c.vm, copy_engine(self)), 0);
	fault(self, queue_create(self->c.fd, self->c.vm, copy_engine(self)), 0);
	take(self, UMA_DUMP_FAULT);
	check_job(self, first, copy_engine(self), 8, EFAULT);
	third = queue_create(self->c.fd, self->c.vm, copy_engine(self));
	/* One that was on its way may have come in between. */
	do {
		const struct uma_dump_job *job;
		size_t size;

		fault(self, third, 0);
		take(self, UMA_DUMP_FAULT);
		job = need(self, UMA_DUMP_JOB, sizeof(*job), &size);
		if (job->queue_id == third)
			break;
		third = queue_create(self->c.fd, self->c.vm, copy_engine(self));
	} while (third);
	check_job(self, third, copy_engine(self), 8, EFAULT);
}

/* --- a dump that is on its way out when the next one comes ------------------------------- */

struct going {
	const char *path;
	bool gone;
	bool stop;
};

static bool pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Give a dump back on one processor, and take that away from the kernel as soon as
 * the file is gone: what is left of the dump stays until the processor is free again.
 */
static void *give_back(void *p)
{
	struct sched_param prio = { .sched_priority = 50 };
	struct going *going = p;

	ASSERT_TRUE(pin_to(0));
	ASSERT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &prio));
	ASSERT_EQ(0, file_write_try(going->path, "0"));
	while (!access(going->path, F_OK))
		usleep(20);
	__atomic_store_n(&going->gone, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&going->stop, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

/* On a busy machine a fault meets the rest of the dump before, and leaves one all the same. */
TEST_F_TIMEOUT(coredump, meets_the_last, 240)
{
	unsigned int engine = copy_engine(self);
	pthread_t thread;
	char path[300];
	__u32 queue;
	int i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP("one processor");
	ASSERT_TRUE(pin_to(1));
	for (i = 0; i < 10; i++) {
		struct going going = { .path = path };
		const struct uma_dump_job *job;
		size_t size;

		fault(self, queue_create(self->c.fd, self->c.vm, engine), 1);
		dump_path(self, path, sizeof(path));
		queue = queue_create(self->c.fd, self->c.vm, engine);
		ASSERT_EQ(0, pthread_create(&thread, NULL, give_back, &going));
		while (!__atomic_load_n(&going.gone, __ATOMIC_ACQUIRE))
			usleep(100);
		fault(self, queue, 1);
		usleep(50000);
		__atomic_store_n(&going.stop, true, __ATOMIC_RELEASE);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		take(self, UMA_DUMP_FAULT);
		job = need(self, UMA_DUMP_JOB, sizeof(*job), &size);
		EXPECT_EQ(queue, job->queue_id);
	}
}

TEST_F(coredump, is_for_root)
{
	char path[300];
	pid_t pid;

	fault(self, queue_create(self->c.fd, self->c.vm, copy_engine(self)), 0);
	dump_path(self, path, sizeof(path));
	pid = harness_fork();
	if (!pid) {
		become_tester();
		EXPECT_EQ(-1, open(path, O_RDONLY | O_CLOEXEC));
		EXPECT_EQ(EACCES, errno);
		EXPECT_EQ(-1, open(path, O_WRONLY | O_CLOEXEC));
		EXPECT_EQ(EACCES, errno);
		_exit(0);
	}
	harness_join(pid);
}

/* A dump does not go with its device. */
TEST_F(coredump, survives_device)
{
	char path[300], node[32];

	fault(self, queue_create(self->c.fd, self->c.vm, copy_engine(self)), 3);
	dump_path(self, path, sizeof(path));
	knob(self, "unplug", "1");
	while (node_of(self->in.device, node, sizeof(node)))
		usleep(10000);
	client_close(&self->c);
	self->size = dump_read(path, self->buf);
	ASSERT_GE(self->size, sizeof(struct uma_dump_header));
	EXPECT_EQ(UMA_DUMP_MAGIC, header(self)->magic);
	EXPECT_EQ(self->size, header(self)->size);
	check_tasks(self, 1, 5);
	instance_drop(&self->in);
	EXPECT_EQ(self->size, dump_read(path, self->buf));
	dump_free(path);
}

/* The device goes at the same time as it faults, dump or none. */
TEST_F(coredump, races_with_removal)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, copy_engine(self));
	char dir[256], path[300], device[64];

	memcpy(device, self->in.device, sizeof(device));
	task_copy(&self->tasks.task[0], UMA_DTYPE_S32, self->data.va, client_va(&self->c, PAGE),
		  16);
	client_start(&self->c, queue, self->tasks.va, 1);
	instance_drop(&self->in);
	client_close(&self->c);
	if (dump_dir(device, dir, sizeof(dir))) {
		snprintf(path, sizeof(path), "%.200s/data", dir);
		dump_free(path);
	}
}

/* The device is lost: the dump is of the job that it began with. */
TEST_F_TIMEOUT(coredump, wedged, 240)
{
	const struct uma_dump_job *job;
	__u32 queue = impatient(self);
	int ret;

	knob(self, "hang_next", "2");
	knob(self, "fail_reset", "1000");
	ret = client_run(&self->c, queue, self->tasks.va, 2);
	EXPECT_TRUE(ret == -ETIME || ret == -ENODEV);
	take(self, UMA_DUMP_WEDGED);
	job = check_job(self, queue, 1, 2, ETIME);
	check_tasks(self, 0, 2);
	check_ring(self, job, false);
	check_regs(self);
	check_history(self, job);
}

/* The same without any job. */
TEST_F_TIMEOUT(coredump, wedged_idle, 240)
{
	size_t size;

	knob(self, "fail_reset", "1000");
	knob(self, "dev_error", "1");
	take(self, UMA_DUMP_WEDGED);
	EXPECT_FALSE(section(self, UMA_DUMP_JOB, &size));
	EXPECT_FALSE(section(self, UMA_DUMP_RING, &size));
	EXPECT_FALSE(section(self, UMA_DUMP_TASKS, &size));
	check_regs(self);
}

HARNESS_MAIN
