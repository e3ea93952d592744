// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Several devices at once, of different chips.
 */
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "instance.h"
#include "task.h"
#include "watch.h"

#define SIZE	(4 * PAGE)

FIXTURE(chips) {
	struct instance m1;
	struct instance ultra;
};

FIXTURE_SETUP(chips)
{
	instance_start(&self->m1, "m1", "m1");
	instance_start(&self->ultra, "ultra", "ultra");
}

FIXTURE_TEARDOWN(chips)
{
	instance_drop(&self->m1);
	instance_drop(&self->ultra);
}

/*
 * What the chips are, from the list of their engines: how many of a class, what types the matrix
 * units take.
 */
static unsigned int count_class(int fd, unsigned int engine_class)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n = query_engines(fd, engines), i, count = 0;

	for (i = 0; i < n; i++)
		count += engines[i].engine_class == engine_class;
	return count;
}

TEST_F(chips, differ)
{
	struct drm_uma_query_device a, b;
	int m1 = dev_open_named(self->m1.node), ultra = dev_open_named(self->ultra.node);

	query_device(m1, &a);
	query_device(ultra, &b);
	EXPECT_EQ(0, strcmp(a.profile, "m1"));
	EXPECT_EQ(0, strcmp(b.profile, "ultra"));
	EXPECT_EQ(1, a.node_count);
	EXPECT_EQ(2, b.node_count);
	EXPECT_TRUE(a.flags & DRM_UMA_DEVICE_EMULATED);
	EXPECT_EQ(1, count_class(m1, UMA_ENGINE_MATRIX));
	EXPECT_EQ(1, count_class(m1, UMA_ENGINE_NEURAL));
	EXPECT_GT(count_class(ultra, UMA_ENGINE_MATRIX), 1);
	EXPECT_GT(count_class(ultra, UMA_ENGINE_NEURAL), 1);
	close(m1);
	close(ultra);
}

static void no_bf16_on_matrix(const char *node, bool dynamic)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n, i;
	int fd;

	fd = dev_open_named(node);
	n = query_engines(fd, engines);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(dynamic ? UMA_ENGINE_DYNAMIC_SHAPES : 0,
			  engines[i].flags & UMA_ENGINE_DYNAMIC_SHAPES);
		if (engines[i].engine_class != UMA_ENGINE_MATRIX)
			continue;
		EXPECT_FALSE(engine_can(fd, i, UMA_OP_GEMM, UMA_DTYPE_BF16, UMA_DTYPE_BF16,
					UMA_DTYPE_F32));
		EXPECT_TRUE(engine_can(fd, i, UMA_OP_GEMM, UMA_DTYPE_F32, UMA_DTYPE_F32,
				       UMA_DTYPE_F32));
	}
	close(fd);
}

TEST_F(chips, capabilities)
{
	no_bf16_on_matrix(self->m1.node, false);
	no_bf16_on_matrix(self->ultra.node, true);
}

/* A task that the capabilities exclude is refused by the device itself. */
TEST_F(chips, unsupported_faults)
{
	struct drm_uma_queue_state state;
	struct buf tasks, data;
	struct client c;
	__u32 queue;

	client_open_named(&c, self->m1.node);
	client_buf(&c, &tasks, PAGE);
	client_buf(&c, &data, 3 * PAGE);
	task_gemm(tasks.task, UMA_DTYPE_F32, UMA_DTYPE_BF16, data.va, data.va + PAGE,
		  data.va + 2 * PAGE, 4, 4, 4);
	/* Engine 0 of this chip is its matrix unit. */
	queue = queue_create(c.fd, c.vm, 0);
	EXPECT_EQ(-EFAULT, client_run(&c, queue, tasks.va, 1));
	queue_state(c.fd, queue, &state);
	EXPECT_EQ(UMA_FAULT_UNSUPPORTED, state.reason);
	EXPECT_EQ(0, state.task_index);
	client_close(&c);
}

/* A buffer of one device, written by another, read by a third. */
TEST_F(chips, shared_buffer)
{
	const char *nodes[3] = { dev_name(), self->m1.node, self->ultra.node };
	struct client c[3];
	struct buf first, tasks[3];
	__u32 handles[3], queue;
	int i, dmabuf, engine;
	__u64 va[3];

	client_open_named(&c[0], nodes[0]);
	client_buf(&c[0], &first, SIZE);
	dmabuf = prime_export(c[0].fd, first.handle);
	for (i = 0; i < 3; i++) {
		if (i)
			client_open_named(&c[i], nodes[i]);
		handles[i] = prime_import(c[i].fd, dmabuf);
		va[i] = client_bind_handle(&c[i], handles[i], SIZE, 0);
		client_buf(&c[i], &tasks[i], PAGE);
	}
	for (i = 0; i < 3; i++) {
		engine = engine_for(c[i].fd, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32);
		ASSERT_GE(engine, 0);
		queue = queue_create(c[i].fd, c[i].vm, (unsigned int)engine);
		if (!i)
			task_fill(tasks[i].task, UMA_DTYPE_S32, va[i], 1024, 0x600d);
		else
			task_copy(tasks[i].task, UMA_DTYPE_S32, va[i] + (__u64)i * PAGE,
				  va[i] + (__u64)(i - 1) * PAGE, 1024);
		ASSERT_EQ(0, client_run(&c[i], queue, tasks[i].va, 1));
	}
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0x600d, first.u32[i * 1024]);
		EXPECT_EQ(0x600d, first.u32[i * 1024 + 1023]);
	}
	EXPECT_EQ(0, first.u32[3 * 1024]);
	for (i = 0; i < 3; i++)
		client_close(&c[i]);
	close(dmabuf);
}

/* A job on one device waits for a job on another. */
TEST_F(chips, dependency_across_devices)
{
	struct client a, b;
	struct gate gate;
	__u32 first, shared, after;
	int fd;

	client_open_named(&a, self->m1.node);
	client_open_named(&b, self->ultra.node);
	gate_close(&gate, a.fd);
	first = client_start_after(&a, queue_create(a.fd, a.vm, 0), 0, 0, gate.syncobj);
	ASSERT_EQ(0, syncobj_export_try(a.fd, first, true, &fd));
	shared = syncobj_create(b.fd, false);
	ASSERT_EQ(0, syncobj_import_try(b.fd, fd, true, &shared));
	close(fd);
	after = client_start_after(&b, queue_create(b.fd, b.vm, 0), 0, 0, shared);
	EXPECT_FALSE(syncobj_done(b.fd, after));
	gate_open(&gate);
	EXPECT_EQ(1, syncobj_result(b.fd, after));
	gate_free(&gate);
	client_close(&a);
	client_close(&b);
}

/* Two devices take turns at a buffer, with nobody but fences between them. */
TEST_F(chips, pipeline_across_devices)
{
	struct buf shared, results, tasks[2];
	int dmabuf, engine, fd, i;
	__u32 queue[2], last = 0;
	struct client c[2];
	__u64 va;

	client_open_named(&c[0], self->m1.node);
	client_open_named(&c[1], self->ultra.node);
	client_buf(&c[0], &shared, PAGE);
	client_buf(&c[1], &results, 16 * PAGE);
	dmabuf = prime_export(c[0].fd, shared.handle);
	va = client_bind_handle(&c[1], prime_import(c[1].fd, dmabuf), PAGE, 0);
	for (i = 0; i < 2; i++) {
		engine = engine_for(c[i].fd, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32);
		ASSERT_GE(engine, 0);
		queue[i] = queue_create(c[i].fd, c[i].vm, (unsigned int)engine);
		client_buf(&c[i], &tasks[i], 16 * UMA_TASK_SIZE);
	}
	for (i = 0; i < 32; i++) {
		struct client *to = &c[(i + 1) % 2];
		int n = i / 2;

		if (i % 2)
			task_copy(&tasks[1].task[n], UMA_DTYPE_S32,
				  results.va + (__u64)n * PAGE, va, 1024);
		else
			task_fill(&tasks[0].task[n], UMA_DTYPE_S32, shared.va, 1024,
				  (__u32)n + 1);
		last = last ? client_start_after(&c[i % 2], queue[i % 2],
						 tasks[i % 2].va + (__u64)n * UMA_TASK_SIZE, 1,
						 last) :
			      client_start(&c[0], queue[0], tasks[0].va, 1);
		/* The other device's side of it. */
		ASSERT_EQ(0, syncobj_export_try(c[i % 2].fd, last, true, &fd));
		last = syncobj_create(to->fd, false);
		ASSERT_EQ(0, syncobj_import_try(to->fd, fd, true, &last));
		close(fd);
	}
	EXPECT_EQ(1, syncobj_result(c[0].fd, last));
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(i + 1, results.u32[i * 1024]);
		EXPECT_EQ(i + 1, results.u32[i * 1024 + 1023]);
	}
	close(dmabuf);
	client_close(&c[0]);
	client_close(&c[1]);
}

/* An error does not travel from one device to the next: what waits for a job that failed runs. */
TEST_F(chips, failed_dependency_across_devices)
{
	__u32 failed, shared, after;
	struct client a, b;
	struct buf tasks, result;
	int engine, fd;

	client_open_named(&a, self->m1.node);
	client_open_named(&b, self->ultra.node);
	client_buf(&b, &tasks, PAGE);
	client_buf(&b, &result, PAGE);
	engine = engine_for(b.fd, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32);
	ASSERT_GE(engine, 0);
	task_fill(tasks.task, UMA_DTYPE_S32, result.va, 64, 0x600d);
	/* No task is mapped there. */
	failed = client_start(&a, queue_create(a.fd, a.vm, 0), client_va(&a, PAGE), 1);
	ASSERT_EQ(0, syncobj_export_try(a.fd, failed, true, &fd));
	shared = syncobj_create(b.fd, false);
	ASSERT_EQ(0, syncobj_import_try(b.fd, fd, true, &shared));
	after = client_start_after(&b, queue_create(b.fd, b.vm, (unsigned int)engine), tasks.va, 1,
				   shared);
	EXPECT_EQ(1, syncobj_result(b.fd, after));
	EXPECT_EQ(-EFAULT, sync_file_status(fd));
	EXPECT_EQ(0x600d, result.u32[63]);
	close(fd);
	client_close(&a);
	client_close(&b);
}

/* One goes, with a buffer of it in use on the other. */
TEST_F(chips, exporter_leaves)
{
	struct buf tasks, dst, src;
	struct client a, b;
	__u32 queue;
	int dmabuf;
	__u64 va;

	client_open_named(&a, self->m1.node);
	client_open_named(&b, self->ultra.node);
	client_buf(&a, &src, PAGE);
	memset(src.map, 0x4a, PAGE);
	dmabuf = prime_export(a.fd, src.handle);
	va = client_bind_handle(&b, prime_import(b.fd, dmabuf), PAGE, 0);
	close(dmabuf);
	client_buf(&b, &dst, PAGE);
	client_buf(&b, &tasks, PAGE);
	instance_drop(&self->m1);
	queue = queue_create(b.fd, b.vm,
			     (unsigned int)engine_for(b.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0,
						      UMA_DTYPE_U8));
	task_copy(tasks.task, UMA_DTYPE_U8, dst.va, va, 4096);
	EXPECT_EQ(0, client_run(&b, queue, tasks.va, 1));
	EXPECT_EQ(0x4a, dst.u8[4095]);
	client_close(&a);
	EXPECT_EQ(0, client_run(&b, queue, tasks.va, 1));
	client_close(&b);
}

/* The importer goes. */
TEST_F(chips, importer_leaves)
{
	struct client a, b;
	struct buf src;
	int dmabuf;

	client_open_named(&a, self->m1.node);
	client_open_named(&b, self->ultra.node);
	client_buf(&a, &src, PAGE);
	dmabuf = prime_export(a.fd, src.handle);
	client_bind_handle(&b, prime_import(b.fd, dmabuf), PAGE, 0);
	close(dmabuf);
	instance_drop(&self->ultra);
	memset(src.map, 1, PAGE);
	client_close(&b);
	gem_close(a.fd, src.handle);
	client_close(&a);
}

/* Something large, which nobody has populated. */
#define LARGE	(256ull << 20)

struct importer {
	int fd, dmabuf;
	bool begun;
	uint64_t ns;
};

static void *import_run(void *p)
{
	struct importer *m = p;
	uint64_t begin = now_ns();

	__atomic_store_n(&m->begun, true, __ATOMIC_RELAXED);
	prime_import(m->fd, m->dmabuf);
	m->ns = now_ns() - begin;
	return NULL;
}

/* Whoever lets go of an import does not wait for what somebody else imports. */
TEST_F(chips, free_beside_an_import)
{
	struct importer m = {};
	struct client a, b, c;
	uint64_t begin, ns;
	pthread_t id;
	__u32 handle;
	int dmabuf;
	__u64 va;

	client_open_named(&a, self->m1.node);
	client_open_named(&b, self->ultra.node);
	client_open_named(&c, self->ultra.node);
	dmabuf = prime_export(a.fd, bo_create(a.fd, SIZE, 0));
	handle = prime_import(b.fd, dmabuf);
	va = client_bind_handle(&b, handle, SIZE, 0);
	/* To close a handle needs the lock that an import has, to unbind does not. */
	gem_close(b.fd, handle);
	close(dmabuf);

	m.fd = c.fd;
	m.dmabuf = prime_export(a.fd, bo_create(a.fd, LARGE, 0));
	ASSERT_EQ(0, pthread_create(&id, NULL, import_run, &m));
	while (!__atomic_load_n(&m.begun, __ATOMIC_RELAXED))
		usleep(100);
	usleep(5000);
	begin = now_ns();
	vm_unmap(b.fd, b.vm, va, SIZE);
	ns = now_ns() - begin;
	ASSERT_EQ(0, pthread_join(id, NULL));
	harness_diag("unbound in %llu us, beside an import of %llu us",
		     (unsigned long long)ns / 1000, (unsigned long long)m.ns / 1000);
	EXPECT_LT(ns, m.ns / 4);
	close(m.dmabuf);
	client_close(&a);
	client_close(&b);
	client_close(&c);
}

/* --- one that leaves while others wait for a list ------------------------------------------ */

#define MAPPINGS	16384u
#define MAX_OPS		1024u

/* Each is a row of a list. */
static void many_mappings(struct client *c)
{
	static struct drm_uma_bind_op ops[MAX_OPS];
	__u32 handle = bo_create(c->fd, PAGE, 0);
	unsigned int i, k;

	for (i = 0; i < MAPPINGS; i += MAX_OPS) {
		for (k = 0; k < MAX_OPS; k++)
			ops[k] = (struct drm_uma_bind_op){
				.op = DRM_UMA_BIND_MAP, .handle = handle, .size = PAGE,
				.va = (1ull << 32) + (i + k) * PAGE,
			};
		ASSERT_EQ(0, vm_bind_try(c->fd, c->vm, ops, MAX_OPS, NULL));
	}
}

/* Whoever goes on doing something until he is told to stop. */
struct busy {
	void (*what)(struct busy *b);
	char path[256];
	int fd;
	pthread_t id;
	pid_t tid;
	unsigned int rounds;
	bool stop;
};

static void *busy_run(void *p)
{
	struct busy *b = p;

	__atomic_store_n(&b->tid, gettid(), __ATOMIC_RELAXED);
	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		b->what(b);
		__atomic_add_fetch(&b->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void busy_stop(struct busy *b)
{
	__atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(b->id, NULL));
}

static void busy_list(struct busy *b)
{
	char head[16];

	ASSERT_TRUE(read_text(b->path, head, sizeof(head)));
}

static void busy_vms(struct busy *b)
{
	ASSERT_EQ(0, vm_destroy_try(b->fd, vm_create(b->fd)));
}

static uint64_t leave_ns(struct instance *in)
{
	uint64_t begin = now_ns();

	instance_set(in, "enabled", "0");
	begin = now_ns() - begin;
	instance_enable(in);
	return begin;
}

/* Who makes an address space waits for who lists them; no unplug of another device does. */
TEST(leaves_beside_a_list)
{
	struct busy list = { .what = busy_list }, vms = { .what = busy_vms };
	uint64_t begin, hold, alone, ns, worst = 0;
	struct instance in;
	unsigned int rounds;
	struct client c;
	int round;
	pid_t tid;

	if (!is_root() || !dev_debugfs(dev_name(), "vms", list.path, sizeof(list.path)))
		SKIP("not root, or no debugfs");
	instance_start(&in, "leaves", "m1");
	client_open(&c);
	vms.fd = dev_open();
	many_mappings(&c);
	begin = now_ns();
	busy_list(&list);
	hold = now_ns() - begin;

	ASSERT_EQ(0, pthread_create(&list.id, NULL, busy_run, &list));
	alone = leave_ns(&in);
	ASSERT_EQ(0, pthread_create(&vms.id, NULL, busy_run, &vms));
	for (round = 0; round < 5; round++) {
		/* Not one that is just passing. */
		do {
			rounds = __atomic_load_n(&vms.rounds, __ATOMIC_RELAXED);
			usleep(20000);
			tid = __atomic_load_n(&vms.tid, __ATOMIC_RELAXED);
		} while (__atomic_load_n(&vms.rounds, __ATOMIC_RELAXED) != rounds ||
			 !tid || !waits_in(tid, "uma_ioctl_vm_create"));
		ns = leave_ns(&in);
		worst = ns > worst ? ns : worst;
	}
	busy_stop(&vms);
	busy_stop(&list);
	harness_diag("a device went in %llu ms, beside a list of %llu ms; alone in %llu ms",
		     (unsigned long long)worst / 1000000, (unsigned long long)hold / 1000000,
		     (unsigned long long)alone / 1000000);
	EXPECT_LT(worst, 2 * alone + hold / 8);
	close(vms.fd);
	client_close(&c);
	instance_drop(&in);
}

/* --- the tests of one device, on another chip ------------------------------------------------ */

FIXTURE(again) {
	struct instance in;
};

FIXTURE_VARIANT(again) {
	const char *profile;
	const char *program;
	/** @plain: on a device that is not paranoid, those that match; NULL: all, and it is */
	const char *plain;
};

#define AGAIN(p, prog) FIXTURE_VARIANT_ADD(again, p##_##prog) { .profile = #p, .program = #prog }
AGAIN(m1, query);
AGAIN(m1, exec);
AGAIN(m2, exec);
AGAIN(m3, exec);
AGAIN(ultra, query);
AGAIN(ultra, exec);
AGAIN(ultra, isolation);
/* Faults are no less faults where nobody looks for mistakes of the driver. */
FIXTURE_VARIANT_ADD(again, plain_faults) { .profile = "m1", .program = "faults", .plain = "*" };
FIXTURE_VARIANT_ADD(again, plain_lost) {
	.profile = "m1", .program = "lost", .plain = "lost.and_*",
};

FIXTURE_VARIANT_ADD(again, plain_coredump) {
	.profile = "m1", .program = "coredump", .plain = "coredump.[fht]*",
};

FIXTURE_SETUP(again)
{
	/* Also for those that the program makes itself. */
	if (variant->plain)
		ASSERT_EQ(0, setenv("UMA_TEST_PLAIN", "1", 1));
	if (!strcmp(variant->program, "lost"))
		expect_log();
	instance_start(&self->in, "again", variant->profile);
}

FIXTURE_TEARDOWN(again)
{
	instance_drop(&self->in);
}

TEST_F_TIMEOUT(again, passes, 240)
{
	char self_path[PATH_MAX], path[PATH_MAX + 32], out[PATH_MAX];
	ssize_t n;
	pid_t pid;
	int fd;

	n = readlink("/proc/self/exe", self_path, sizeof(self_path) - 1);
	ASSERT_GT(n, 0);
	self_path[n] = 0;
	snprintf(path, sizeof(path), "%s/%s", dirname(self_path), variant->program);
	if (access(path, X_OK))
		SKIP("%s is not there", variant->program);
	snprintf(out, sizeof(out), "/tmp/uma-again.%d", (int)getpid());
	pid = harness_fork();
	if (!pid) {
		fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || dup2(fd, 1) < 0)
			_exit(1);
		setenv("UMA_DEVICE", self->in.node, 1);
		execl(path, path, "-t", variant->plain ? variant->plain : "*", (char *)NULL);
		_exit(1);
	}
	harness_join(pid);
	if (harness->failures) {
		static char text[1 << 18];
		char *line;

		if (read_text(out, text, sizeof(text))) {
			for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
				if (strncmp(line, "ok ", 3))
					harness_diag("%s", line);
			}
		}
	}
	unlink(out);
}

HARNESS_MAIN
