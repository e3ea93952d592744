// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What tools read of the driver: tables in debugfs, tracepoints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "task.h"
#include "watch.h"

static char text[1 << 20];

static void read_table(const char *file)
{
	char path[256];

	if (!dev_debugfs(dev_name(), file, path, sizeof(path)) ||
	    !read_text(path, text, sizeof(text)))
		SKIP("no debugfs");
}

/* Words of a line; a quoted one, in which blanks and escapes may be, is the last. */
static unsigned int words(const char *line)
{
	unsigned int n = 0;

	for (;;) {
		line += strspn(line, " ");
		if (!*line)
			return n;
		n++;
		if (*line == '"') {
			line++;
			while (*line && *line != '"')
				line += line[0] == '\\' && line[1] ? 2 : 1;
			EXPECT_EQ('"', *line);
			if (*line)
				EXPECT_EQ(0, line[1]);
			return n;
		}
		line += strcspn(line, " ");
	}
}

/* Rows of a table, all as wide as its header says. */
static unsigned int check_table(const char *file)
{
	char *line, *save = NULL;
	unsigned int width, rows = 0;
	static char copy[1 << 20];

	read_table(file);
	memcpy(copy, text, sizeof(copy));
	line = strtok_r(copy, "\n", &save);
	ASSERT_TRUE(line);
	width = words(line);
	EXPECT_GT(width, 2);
	while ((line = strtok_r(NULL, "\n", &save))) {
		if (words(line) != width)
			harness_fail(file, (int)rows, "not %u words: %s", width, line);
		rows++;
	}
	return rows;
}

TEST(debugfs_tables)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct client c;
	struct buf tasks;
	__u32 empty;

	client_open(&c);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	empty = vm_create(c.fd);
	ASSERT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), tasks.va, 1));
	EXPECT_GE(check_table("clients"), 1);
	EXPECT_GE(check_table("gems"), 1);
	EXPECT_GE(check_table("vms"), 2);
	EXPECT_GE(check_table("queues"), 1);
	EXPECT_EQ(query_engines(c.fd, engines), check_table("engines"));
	EXPECT_GE(check_table("rings"), 1);
	EXPECT_TRUE(strstr(text, " done "));
	ASSERT_EQ(0, vm_destroy_try(c.fd, empty));
	client_close(&c);
}

TEST(debugfs_label_is_quoted)
{
	int fd = dev_open();
	__u32 handle = bo_create(fd, PAGE, 0);

	ASSERT_EQ(0, bo_label_try(fd, handle, "selftest \"of\" \\ quotes", 22));
	check_table("gems");
	EXPECT_TRUE(strstr(text, " \"selftest \\042of\\042 \\134 quotes\"\n"));
	close(fd);
}

TEST(debugfs_clients)
{
	char comm[32], want[64];
	struct client c;
	struct buf b;
	__u32 gone;

	client_open(&c);
	gone = bo_create(c.fd, PAGE, 0);
	client_buf(&c, &b, 8 * PAGE);
	bo_create(c.fd, 4 * PAGE, 0);
	gem_close(c.fd, gone);
	queue_create(c.fd, c.vm, 0);
	queue_create(c.fd, c.vm, 0);
	ASSERT_TRUE(read_text("/proc/self/comm", comm, sizeof(comm)));
	comm[strcspn(comm, "\n")] = 0;
	check_table("clients");
	snprintf(want, sizeof(want), "\"%s\"\n", comm);
	EXPECT_TRUE(strstr(text, want));
	snprintf(want, sizeof(want), " %6d %12llu ", 2, 12 * PAGE);
	EXPECT_TRUE(strstr(text, want));
	client_close(&c);
}

/* --- tracepoints ------------------------------------------------------------------- */

#define TRACEFS "/sys/kernel/tracing"

static bool trace_on(const char *system, bool on)
{
	char path[128];

	snprintf(path, sizeof(path), TRACEFS "/events/%s/enable", system);
	return write_text(path, on ? "1" : "0");
}

static void trace_begin(void)
{
	if (access(TRACEFS "/trace", F_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	if (!trace_on("uma", true))
		SKIP("no tracepoints");
	ASSERT_TRUE(write_text(TRACEFS "/trace", ""));
}

static void trace_end(void)
{
	trace_on("uma", false);
	trace_on("gpu_scheduler", false);
	ASSERT_TRUE(read_text(TRACEFS "/trace", text, sizeof(text)));
}

/* The line of an event with a text in it, NULL if there is none. */
static const char *event(const char *name, const char *with)
{
	static char line[512];
	const char *p = text;

	while ((p = strstr(p, name))) {
		size_t n = strcspn(p, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)n, p);
		if (strstr(line, with))
			return line;
		p += n;
	}
	return NULL;
}

static long long field(const char *line, const char *name)
{
	char key[32];
	const char *p;

	snprintf(key, sizeof(key), " %s=", name);
	p = strstr(line, key);
	ASSERT_TRUE(p);
	return strtoll(p + strlen(key), NULL, 0);
}

TEST(trace_job_from_submit_to_done)
{
	struct drm_uma_timestamp before = { 0 }, after = { 0 };
	struct client c;
	struct buf tasks;
	const char *line;
	char with[96];
	__u32 queue;
	int i;

	client_open(&c);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	queue = queue_create(c.fd, c.vm, 0);
	trace_begin();
	ASSERT_EQ(0, do_ioctl(c.fd, DRM_IOCTL_UMA_TIMESTAMP, &before));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, client_run(&c, queue, tasks.va, 1));
	ASSERT_EQ(0, client_run(&c, queue, 0, 0));
	ASSERT_EQ(0, do_ioctl(c.fd, DRM_IOCTL_UMA_TIMESTAMP, &after));
	trace_end();
	for (i = 1; i <= 3; i++) {
		snprintf(with, sizeof(with), " pid=%d queue=%u number=%d ", getpid(), queue, i);
		EXPECT_TRUE(event("uma_job_submit:", with));
		line = event("uma_job_run:", with);
		ASSERT_TRUE(line);
		EXPECT_TRUE(strstr(line, " engine="));
		line = event("uma_job_done:", with);
		ASSERT_TRUE(line);
		EXPECT_TRUE(strstr(line, " engine="));
		EXPECT_EQ(0, field(line, "error"));
		EXPECT_LE(before.device, field(line, "start"));
		EXPECT_LE(field(line, "start"), field(line, "end"));
		EXPECT_LE(field(line, "end"), after.device);
	}
	/* The one without tasks was never on an engine. */
	snprintf(with, sizeof(with), " pid=%d queue=%u number=4 ", getpid(), queue);
	EXPECT_TRUE(event("uma_job_submit:", with));
	EXPECT_FALSE(event("uma_job_run:", with));
	line = event("uma_job_done:", with);
	ASSERT_TRUE(line);
	EXPECT_EQ(0, field(line, "end"));
	client_close(&c);
}

TEST(trace_fault_and_reset)
{
	struct client c;
	struct buf tasks;
	const char *line;
	char with[96];
	__u32 queue;

	expect_faults(1);
	client_open(&c);
	client_buf(&c, &tasks, PAGE);
	queue = queue_create(c.fd, c.vm, 0);
	trace_begin();
	ASSERT_EQ(-EFAULT, client_run(&c, queue, tasks.va + 16 * PAGE, 1));
	trace_end();
	snprintf(with, sizeof(with), " pid=%d queue=%u ", getpid(), queue);
	line = event("uma_fault:", with);
	ASSERT_TRUE(line);
	EXPECT_EQ(UMA_FAULT_READ, field(line, "reason"));
	EXPECT_EQ(tasks.va + 16 * PAGE, field(line, "addr"));
	line = event("uma_job_done:", with);
	ASSERT_TRUE(line);
	EXPECT_EQ(-EFAULT, field(line, "error"));
	EXPECT_TRUE(event("uma_reset:", " result=0"));
	client_close(&c);
}

/* The scheduler's own events come free; their names are others on older kernels. */
TEST(trace_of_the_scheduler)
{
	struct client c;
	struct buf tasks;

	client_open(&c);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	trace_begin();
	if (!trace_on("gpu_scheduler", true)) {
		trace_end();
		SKIP("no tracepoints of the scheduler");
	}
	ASSERT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), tasks.va, 1));
	trace_end();
	EXPECT_TRUE(event("drm_sched_job_run:", "") || event("drm_run_job:", ""));
	client_close(&c);
}

/*
 * Fences of one context signal in their order, whatever passes what on an engine: a job without
 * tasks is done while another one runs, and one of a file that has had less waits for it.
 */
TEST(trace_fences_in_order)
{
	enum { TASKS = 4000, CONTEXTS = 64 };
	long long context[CONTEXTS], seqno[CONTEXTS] = { 0 }, of;
	__u32 queue[4], handed, empty, longest;
	unsigned int n = 0, i, signalled = 0;
	struct drm_uma_sync syncs[3];
	struct drm_uma_job jobs[2];
	struct buf tasks;
	struct client c;
	char line[512];
	const char *p;

	client_open(&c);
	client_buf(&c, &tasks, TASKS * UMA_TASK_SIZE);
	for (i = 0; i < TASKS; i++)
		task_nop(&tasks.task[i]);
	trace_begin();
	trace_on("uma", false);
	if (!trace_on("dma_fence", true)) {
		trace_end();
		SKIP("no tracepoints of fences");
	}
	for (i = 0; i < 4; i++)
		queue[i] = queue_create(c.fd, c.vm, i == 1);
	longest = client_start(&c, queue[0], tasks.va, TASKS);
	for (i = 0; i < 20; i++) {
		handed = syncobj_create(c.fd, false);
		empty = syncobj_create(c.fd, false);
		syncs[0] = sync_out(handed);
		syncs[1] = sync_in(handed);
		syncs[2] = sync_out(empty);
		jobs[0] = (struct drm_uma_job){
			.queue_id = queue[1], .task_count = 1, .tasks_addr = tasks.va,
			.syncs = array_of(syncs, sizeof(*syncs), 1),
		};
		jobs[1] = (struct drm_uma_job){
			.queue_id = queue[2 + i % 2],
			.syncs = array_of(syncs + 1, sizeof(*syncs), 2),
		};
		ASSERT_EQ(0, submit_try(c.fd, jobs, 2, NULL));
		EXPECT_EQ(1, syncobj_result(c.fd, empty));
	}
	EXPECT_EQ(1, syncobj_result(c.fd, longest));
	trace_on("dma_fence", false);
	trace_end();

	/* By the time that a fence signals its driver's name may not be known any more. */
	for (p = text; (p = strstr(p, "dma_fence_")); p++) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
		if (strstr(line, "_init:") && strstr(line, "driver=uma ")) {
			of = field(line, "context");
			for (i = 0; i < n && context[i] != of; i++)
				;
			ASSERT_LT(i, CONTEXTS);
			context[i] = of;
			n += i == n;
		} else if (strstr(line, "_signaled:")) {
			for (i = 0; i < n && context[i] != field(line, "context"); i++)
				;
			if (i == n)
				continue;
			EXPECT_LT(seqno[i], field(line, "seqno"));
			seqno[i] = field(line, "seqno");
			signalled++;
		}
	}
	harness_diag("%u fences of %u contexts", signalled, n);
	EXPECT_GE(signalled, 41);
	client_close(&c);
}

HARNESS_MAIN
