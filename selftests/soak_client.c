// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A client of the soak test: does whatever comes to its mind, and looks at the
 * result of every job.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "soak.h"

#define QUEUES		3
#define TIMEOUT_MS	2000
#define WORDS		(SOAK_SLOT / 4)
#define TASKS_PER_JOB	2
#define LEFT_FILES	40
#define LEFT_TASKS	256u
#define LEFT_BYTES	(32 * PAGE)

/**
 * struct job - a job in flight, one per slot of the data
 * @queue: index of its queue
 * @done: syncobj, 0: the slot is free
 * @value: what each word is in the end
 * @bad: it has to fault
 */
struct job {
	unsigned int queue;
	__u32 done;
	__u32 value;
	bool bad;
};

struct soaker {
	struct soak_stats *s;
	struct client c;
	unsigned int seed;
	unsigned int engines[MAX_ENGINES];
	unsigned int engine_count;
	__u32 queues[QUEUES];
	struct buf tasks;
	__u32 data_handle;
	__u32 *data;
	struct job jobs[SOAK_SLOTS];
	__u32 serial;
};

#define COUNT(k, field)	__atomic_fetch_add(&(k)->s->field, 1, __ATOMIC_RELAXED)

static unsigned int pick(struct soaker *k, unsigned int n)
{
	return (unsigned int)rand_r(&k->seed) % n;
}

static __attribute__((format(printf, 2, 3))) void wrong(struct soaker *k, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	harness_fail(__FILE__, __LINE__, "%s", text);
	COUNT(k, failed);
}

static void queue_open(struct soaker *k, unsigned int q)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int e = k->engines[pick(k, k->engine_count)];
	struct drm_uma_queue_create args = {
		.vm_id = k->c.vm, .priority = pick(k, DRM_UMA_PRIORITY_HIGH + 1),
		.timeout_ms = TIMEOUT_MS * harness_slow(),
	};

	query_engines(k->c.fd, engines);
	args.engine_class = engines[e].engine_class;
	args.instances = 1u << engines[e].instance;
	ASSERT_EQ(0, queue_create_try(k->c.fd, &args, &k->queues[q]));
}

static void soaker_open(struct soaker *k, struct soak_stats *s, unsigned int seed)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n, i;

	memset(k, 0, sizeof(*k));
	k->s = s;
	k->seed = seed;
	client_open(&k->c);
	n = query_engines(k->c.fd, engines);
	for (i = 0; i < n; i++) {
		if (engine_can(k->c.fd, i, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32) &&
		    engine_can(k->c.fd, i, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32))
			k->engines[k->engine_count++] = i;
	}
	ASSERT_GT(k->engine_count, 0);
	for (i = 0; i < QUEUES; i++)
		queue_open(k, i);
	client_buf(&k->c, &k->tasks, SOAK_SLOTS * TASKS_PER_JOB * UMA_TASK_SIZE);
	/* Twice: half a slot is the source of the other half's copy. */
	k->data_handle = bo_create(k->c.fd, 2 * SOAK_SLOTS * SOAK_SLOT, 0);
	k->data = bo_map(k->c.fd, k->data_handle, 2 * SOAK_SLOTS * SOAK_SLOT);
	vm_map(k->c.fd, k->c.vm, k->data_handle, 0, SOAK_DATA_VA, 2 * SOAK_SLOTS * SOAK_SLOT, 0);
}

/* --- jobs ------------------------------------------------------------------------ */

/* The queue is of no use any more, and says why. Its other jobs come to an end as well. */
static void queue_lost(struct soaker *k, unsigned int q, int error)
{
	struct drm_uma_queue_state state;

	queue_state(k->c.fd, k->queues[q], &state);
	if (state.status == DRM_UMA_QUEUE_LOST)
		wrong(k, "the device is lost (%d)", error);
	/* The jobs that were on their way when the device as a whole was reset. */
	if (error == -ECANCELED && state.flags & DRM_UMA_QUEUE_INNOCENT)
		return;
	if (state.status != DRM_UMA_QUEUE_BANNED || !(state.flags & DRM_UMA_QUEUE_GUILTY))
		wrong(k, "%d, but the queue has status %u, flags %#x", error, state.status,
		      state.flags);
}

static void retire(struct soaker *k, unsigned int slot)
{
	struct job *job = &k->jobs[slot];
	const __u32 *p = k->data + slot * WORDS;
	unsigned int i;
	int ret;

	if (!job->done)
		return;
	ret = syncobj_result(k->c.fd, job->done);
	ASSERT_EQ(0, syncobj_destroy_try(k->c.fd, job->done));
	job->done = 0;
	switch (ret) {
	case 1:
		for (i = 0; i < WORDS && p[i] == job->value; i++)
			;
		if (i < WORDS) {
			COUNT(k, wrong);
			wrong(k, "word %u of a job that went well is %#x, not %#x", i, p[i],
			      job->value);
		} else if (job->bad) {
			wrong(k, "a bad job went well");
		} else {
			COUNT(k, right);
		}
		break;
	case -EFAULT:
	case -ETIME:
		if (job->bad && ret == -EFAULT)
			COUNT(k, own_faults);
		else
			COUNT(k, guilty);
		queue_lost(k, job->queue, ret);
		break;
	case -ECANCELED:
	case -EIO:
		COUNT(k, cancelled);
		queue_lost(k, job->queue, ret);
		break;
	default:
		wrong(k, "a job ended with %d", ret);
	}
}

static void retire_queue(struct soaker *k, unsigned int q)
{
	unsigned int i;

	for (i = 0; i < SOAK_SLOTS; i++) {
		if (k->jobs[i].queue == q)
			retire(k, i);
	}
}

static void submit(struct soaker *k, bool bad)
{
	unsigned int slot = pick(k, SOAK_SLOTS), q = pick(k, QUEUES);
	struct uma_task *t = &k->tasks.task[slot * TASKS_PER_JOB];
	__u64 from = SOAK_DATA_VA + (SOAK_SLOTS + slot) * SOAK_SLOT;
	__u64 to = SOAK_DATA_VA + slot * SOAK_SLOT;
	struct job *job = &k->jobs[slot];
	struct drm_uma_sync syncs[2];
	unsigned int n = 1, other;
	int ret;

	retire(k, slot);
	memset(k->data + slot * WORDS, 0, SOAK_SLOT);
	job->value = (++k->serial * 2654435761u) | 1;
	job->queue = q;
	job->bad = bad;
	task_fill(&t[0], UMA_DTYPE_S32, from, WORDS, job->value);
	task_copy(&t[1], UMA_DTYPE_S32, bad ? 0x1000 : to, from, WORDS);
	job->done = syncobj_create(k->c.fd, false);
	syncs[0] = sync_out(job->done);
	/* After another one, of the same queue or of another, whatever becomes of that. */
	other = pick(k, SOAK_SLOTS);
	if (other != slot && k->jobs[other].done)
		syncs[n++] = sync_in(k->jobs[other].done);
	ret = submit_one_try(k->c.fd, k->queues[q],
			     k->tasks.va + slot * TASKS_PER_JOB * UMA_TASK_SIZE, TASKS_PER_JOB,
			     syncs, n);
	if (!ret) {
		COUNT(k, jobs);
		return;
	}
	ASSERT_EQ(0, syncobj_destroy_try(k->c.fd, job->done));
	job->done = 0;
	if (ret != -ECANCELED) {
		wrong(k, "submit: %d", ret);
		return;
	}
	COUNT(k, refused);
	queue_lost(k, q, -EFAULT);
	retire_queue(k, q);
	ASSERT_EQ(0, queue_destroy_try(k->c.fd, k->queues[q]));
	queue_open(k, q);
}

/* --- the rest of what clients do --------------------------------------------------- */

static void bind_and_unbind(struct soaker *k)
{
	__u64 size = (1 + pick(k, 32)) * PAGE, va = client_va(&k->c, size);
	__u32 handle = bo_create(k->c.fd, size, 0);
	bool closed;

	vm_map(k->c.fd, k->c.vm, handle, 0, va, size, 0);
	/* The middle of it, and then the rest: or the rest with the buffer. */
	if (size > 2 * PAGE)
		vm_unmap(k->c.fd, k->c.vm, va + PAGE, PAGE);
	closed = pick(k, 2);
	if (closed)
		gem_close(k->c.fd, handle);
	vm_unmap(k->c.fd, k->c.vm, va, size);
	if (!closed)
		gem_close(k->c.fd, handle);
	COUNT(k, binds);
}

static void export_and_import(struct soaker *k)
{
	__u32 handle = bo_create(k->c.fd, PAGE, 0), copy;
	__u32 *p = bo_map(k->c.fd, handle, PAGE), *q;
	int other = dev_open(), fd;

	p[0] = k->serial;
	fd = prime_export(k->c.fd, handle);
	gem_close(k->c.fd, handle);
	copy = prime_import(other, fd);
	close(fd);
	q = bo_map(other, copy, PAGE);
	if (q[0] != k->serial)
		wrong(k, "an imported buffer has %#x, not %#x", q[0], k->serial);
	munmap(p, PAGE);
	munmap(q, PAGE);
	close(other);
	COUNT(k, imports);
}

static void wrap_memory(struct soaker *k)
{
	__u32 handle, *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 va = client_va(&k->c, 2 * PAGE);

	ASSERT_TRUE(p != MAP_FAILED);
	ASSERT_EQ(0, bo_import_user_try(k->c.fd, p, 2 * PAGE, 0, &handle));
	vm_map(k->c.fd, k->c.vm, handle, 0, va, 2 * PAGE, 0);
	munmap(p, 2 * PAGE);
	vm_unmap(k->c.fd, k->c.vm, va, 2 * PAGE);
	gem_close(k->c.fd, handle);
	COUNT(k, users);
}

/* A child has the file and the mappings, uses them a little, and goes one way or the other. */
static void fork_child(struct soaker *k)
{
	pid_t pid = harness_fork();
	int status;

	if (!pid) {
		struct drm_uma_query_limits limits;

		__atomic_load_n(k->data, __ATOMIC_RELAXED);
		query_limits(k->c.fd, &limits);
		gem_close(k->c.fd, bo_create(k->c.fd, PAGE, 0));
		if (k->serial & 1)
			raise(SIGKILL);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		wrong(k, "a child ended with status %#x", status);
	COUNT(k, forked);
}

/* An address space and a queue, taken away with a job in them. */
static void drop_queue(struct soaker *k)
{
	__u32 vm = vm_create(k->c.fd), queue, handle = bo_create(k->c.fd, PAGE, 0);
	struct uma_task *t = bo_map(k->c.fd, handle, PAGE);
	__u64 va = SOAK_DATA_VA;

	vm_map(k->c.fd, vm, handle, 0, va, PAGE, 0);
	task_nop(t);
	munmap(t, PAGE);
	queue = queue_create(k->c.fd, vm, k->engines[pick(k, k->engine_count)]);
	ASSERT_EQ(0, submit_one_try(k->c.fd, queue, va, 1, NULL, 0));
	ASSERT_EQ(0, queue_destroy_try(k->c.fd, queue));
	/* With the job, if it is slow. */
	vm_destroy_try(k->c.fd, vm);
	gem_close(k->c.fd, handle);
}

/*
 * Files that no process has any more, each with a job that was stopped after its slice or waits for
 * its first.
 */
static void leave_files(struct soaker *k)
{
	unsigned int n = 1 + pick(k, LEFT_FILES), us = pick(k, 100000), i, j;
	pid_t pid = harness_fork();
	struct buf tasks, data;
	struct client c;
	__u32 queue;
	int status;

	if (!pid) {
		for (i = 0; i < n; i++) {
			client_open(&c);
			client_buf(&c, &tasks, LEFT_TASKS * UMA_TASK_SIZE);
			client_buf(&c, &data, LEFT_BYTES);
			for (j = 0; j < LEFT_TASKS; j++)
				task_fill(&tasks.task[j], UMA_DTYPE_S32, data.va, LEFT_BYTES / 4,
					  j);
			queue = queue_create(c.fd, c.vm, k->engines[i % k->engine_count]);
			ASSERT_EQ(0, submit_one_try(c.fd, queue, tasks.va, LEFT_TASKS, NULL, 0));
		}
		usleep(us);
		raise(SIGKILL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status))
		wrong(k, "a child that leaves files ended with status %#x", status);
	__atomic_fetch_add(&k->s->left, n, __ATOMIC_RELAXED);
}

/* Memory that may go, and whether it has. */
static void advise(struct soaker *k)
{
	__u32 handle = bo_create(k->c.fd, 4 * PAGE, 0);
	struct drm_uma_bo_madvise args = { .handle = handle, .advice = DRM_UMA_MADV_DONTNEED };
	__u32 *p = bo_map(k->c.fd, handle, 4 * PAGE);

	p[0] = k->serial;
	ASSERT_EQ(0, do_ioctl(k->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args));
	args.advice = DRM_UMA_MADV_WILLNEED;
	args.retained = 0;
	ASSERT_EQ(0, do_ioctl(k->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args));
	if (args.retained && p[0] != k->serial)
		wrong(k, "memory that was retained has %#x, not %#x", p[0], k->serial);
	munmap(p, 4 * PAGE);
	gem_close(k->c.fd, handle);
	COUNT(k, advised);
}

static void read_fdinfo(struct soaker *k)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", k->c.fd);
	if (!read_text(path, text, sizeof(text)) || !strstr(text, "drm-client-id"))
		wrong(k, "no fdinfo");
	COUNT(k, reads);
}

void soak_client(struct soak_stats *stats, unsigned int seed)
{
	struct soaker k;
	unsigned int i;

	soaker_open(&k, stats, seed);
	while (!__atomic_load_n(&stats->stop, __ATOMIC_RELAXED)) {
		switch (pick(&k, 24)) {
		case 0:
			bind_and_unbind(&k);
			break;
		case 1:
			export_and_import(&k);
			break;
		case 2:
			wrap_memory(&k);
			break;
		case 3:
			fork_child(&k);
			break;
		case 4:
			drop_queue(&k);
			break;
		case 5:
			read_fdinfo(&k);
			break;
		case 23:
			advise(&k);
			break;
		case 22:
			/* Not too often: each takes the engines' time of many. */
			if (!pick(&k, 8))
				leave_files(&k);
			break;
		case 6:
			/* Not too often: each costs an engine a reset. */
			submit(&k, !pick(&k, 16));
			break;
		case 7:
			retire(&k, pick(&k, SOAK_SLOTS));
			break;
		default:
			submit(&k, false);
			break;
		}
	}
	for (i = 0; i < SOAK_SLOTS; i++)
		retire(&k, i);
	munmap(k.tasks.map, k.tasks.size);
	munmap(k.data, 2 * SOAK_SLOTS * SOAK_SLOT);
	client_close(&k.c);
}
