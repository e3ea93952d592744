// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The n-th allocation of a call fails, and the n-th copy from or to user memory;
 * for n = 1, 2, ... until the call comes through without. Each time the call
 * fails with an errno or does its work all the same, and leaves no trace.
 *
 * Needs a kernel with fault injection (CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC,
 * CONFIG_FAULT_INJECTION_USERCOPY), and root. FAIL_NTH_STEP=n looks at every
 * n-th only where devices are made; 1 for all.
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fail_nth.h"
#include "watch.h"

#define MOST		20000
#define EXPECTED	"<6>fail_nth: the next warnings in remove_proc_entry() are expected"

static int fail_nth = -1;
static int injector;	/* the fail-nth file of this thread */

static bool set(const char *dir, const char *file, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, file);
	return write_text(path, value);
}

/* Allocations that may sleep fail too, of any size, and nothing is said about it. */
static void injector_open(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	size_t i;

	injector = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (injector < 0 || access("/sys/kernel/debug/failslab", F_OK))
		SKIP("a kernel without fault injection");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		ASSERT_TRUE(set(kinds[i], "verbose", "0"));
	ASSERT_TRUE(set("failslab", "ignore-gfp-wait", "N"));
	ASSERT_TRUE(set("fail_page_alloc", "ignore-gfp-wait", "N"));
	ASSERT_TRUE(set("fail_page_alloc", "ignore-gfp-highmem", "N"));
	ASSERT_TRUE(set("fail_page_alloc", "min-order", "0"));
}

void fail_arm(void)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", fail_nth);

	if (pwrite(injector, text, (size_t)len, 0) != len)
		_exit(90);
}

/* The copies of these two calls count as well: one of them may be the one that fails. */
static bool disarm(void)
{
	char text[16] = "";
	bool injected;

	injected = pread(injector, text, sizeof(text) - 1, 0) > 0 && text[0] == '0';
	while (pwrite(injector, "0", 1, 0) != 1)
		;
	return injected;
}

/* --- what may not change ------------------------------------------------------- */

struct trace {
	long long bos;
	long long pinned;
	int vms;
	int queues;
	int fds;
	int nodes;
	int instances;
};

static int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void trace_take(struct trace *t)
{
	memset(t, 0, sizeof(*t));
	t->bos = counter("bo_count");
	t->pinned = counter("pinned_pages");
	t->vms = lines("vms");
	t->queues = lines("queues");
	t->fds = entries("/proc/self/fd");
	t->nodes = entries("/sys/class/accel");
	t->instances = entries("/sys/kernel/config/uma_emu");
}

/* What was used last goes a moment after its last user. */
static bool trace_same(const struct trace *before, struct trace *now)
{
	int i;

	for (i = 0; i < 1000; i++) {
		trace_take(now);
		if (!memcmp(before, now, sizeof(*now)))
			return true;
		usleep(10000);
	}
	return false;
}

/* --- the walk --------------------------------------------------------------------- */

static bool right(const struct fail_op *op, int ret)
{
	int i;

	if (ret == 0 || ret == -ENOMEM || ret == -EFAULT)
		return true;
	for (i = 0; i < FAIL_ERRNOS && op->errnos[i]; i++) {
		if (ret == -op->errnos[i])
			return true;
	}
	return false;
}

static int step_of(const struct fail_op *op)
{
	const char *s = getenv("FAIL_NTH_STEP");

	if (!op->slow)
		return 1;
	return s && atoi(s) > 0 ? atoi(s) : op->slow;
}

static void walk(const struct fail_op *op)
{
	int step = step_of(op), n, ret, errors = 0, survived = 0, injections = 0;
	struct fail_scene scene;
	struct trace before, now;
	bool injected;
	char text[64];

	fail_scene_open(&scene);
	/* Once without, so that what is made on first use is there. */
	fail_nth = 0;
	if (op->prepare)
		op->prepare(&scene);
	ret = op->run(&scene);
	disarm();
	if (ret == -EOPNOTSUPP || ret == -ENOENT || ret == -ENOTTY)
		SKIP("not here: %s", strerror(-ret));
	ASSERT_EQ(0, ret);
	if (op->undo)
		op->undo(&scene, ret);
	/* What the first round left to be freed a little later is not a trace. */
	usleep(200000);
	trace_take(&before);
	for (n = 1; n < MOST; n += step) {
		if (n >= op->skip_from && n <= op->skip_to)
			continue;
		/* One more round, in which nothing fails. */
		if (op->end && n >= op->end)
			n = MOST - 1;
		/* For whoever finds a machine that has died. */
		if (op->slow) {
			snprintf(text, sizeof(text), "<6>fail_nth: %s %d", op->name, n);
			write_text("/dev/kmsg", text);
		}
		if (op->prepare)
			op->prepare(&scene);
		fail_nth = n;
		ret = op->run(&scene);
		injected = disarm();
		if (op->undo)
			op->undo(&scene, ret);
		if (!right(op, ret))
			harness_fail(__FILE__, __LINE__, "%s with failure %d: %d", op->name, n,
				     ret);
		if (!trace_same(&before, &now)) {
			harness_fail(__FILE__, __LINE__,
				     "%s with failure %d (%d) leaves %lld buffers, %lld pages, %d spaces, %d queues, %d files, %d nodes, %d directories",
				     op->name, n, ret, now.bos - before.bos,
				     now.pinned - before.pinned, now.vms - before.vms,
				     now.queues - before.queues, now.fds - before.fds,
				     now.nodes - before.nodes, now.instances - before.instances);
			before = now;
		}
		if (!injected)
			break;
		injections++;
		if (ret)
			errors++;
		else
			survived++;
	}
	EXPECT_LT(n, MOST);
	/* The last round was one that nothing happened to. */
	EXPECT_EQ(0, ret);
	harness_diag("%s: %d injections of %d, %d errors, %d came through all the same", op->name,
		     injections, n - 1, errors, survived);
	fail_scene_close(&scene);
	close(injector);
}

FIXTURE(fail_nth) {
	char unused;
};

FIXTURE_VARIANT(fail_nth) {
	const struct fail_op *op;
};

FIXTURE_SETUP(fail_nth)
{
	if (!is_root())
		SKIP("needs root");
	injector_open();
}

FIXTURE_TEARDOWN(fail_nth)
{
}

#define OP(n) FIXTURE_VARIANT_ADD(fail_nth, n) { .op = &fail_op_##n }
OP(query);
OP(query_caps);
OP(bo_create);
OP(bo_mmap_offset);
OP(bo_import_user);
OP(bo_info);
OP(bo_label);
OP(bo_sync);
OP(bo_madvise);
OP(vm_create);
OP(vm_destroy);
OP(vm_bind);
OP(vm_unbind);
OP(vm_bind_user);
OP(queue_create);
OP(queue_destroy);
OP(queue_state);
OP(submit);
OP(submit_batch);
OP(timestamp);
OP(counters);
OP(gem_close);
OP(prime_export);
OP(prime_import);
OP(prime_import_other);
OP(prime_import_vgem);
OP(bind_imported);
OP(dmabuf_mmap);
OP(dmabuf_sync);
OP(mmap);
OP(mmap_fault);
OP(syncobj_export);
OP(syncobj_wait);
OP(open);
OP(close);
OP(fdinfo);
OP(debugfs);
OP(sysfs);
OP(configfs_mkdir);

TEST_F_TIMEOUT(fail_nth, walk, 900)
{
	/* A queue has a scheduler, which says in the log that there is no memory for it. */
	if (variant->op == &fail_op_queue_create)
		expect_log();
	walk(variant->op);
}

/* Making a device and binding the driver: the core has its say too when that fails. */
FIXTURE(fail_probe) {
	char unused;
};

FIXTURE_VARIANT(fail_probe) {
	const struct fail_op *op;
};

FIXTURE_SETUP(fail_probe)
{
	if (!is_root())
		SKIP("needs root");
	injector_open();
	expect_log();
	/* An interrupt's files in /proc, not made and taken away all the same. */
	EXPECT_TRUE(write_text("/dev/kmsg", EXPECTED));
}

FIXTURE_TEARDOWN(fail_probe)
{
	EXPECT_TRUE(write_text("/sys/bus/platform/drivers_autoprobe", "1"));
}

#undef OP
#define OP(n) FIXTURE_VARIANT_ADD(fail_probe, n) { .op = &fail_op_##n }
OP(configfs_enable);
OP(driver_bind);

TEST_F_TIMEOUT(fail_probe, walk, 7200)
{
	walk(variant->op);
}

/* After all of it. An object counts as lost once it is some seconds old. */
TEST(no_leak)
{
	static char text[65536];

	if (!getenv("FAIL_NTH_STEP"))
		SKIP("the machine looks for leaks when all tests are done");
	if (!is_root() || access("/sys/kernel/debug/kmemleak", W_OK))
		SKIP("no kmemleak");
	sleep(6);
	ASSERT_TRUE(write_text("/sys/kernel/debug/kmemleak", "scan"));
	ASSERT_TRUE(write_text("/sys/kernel/debug/kmemleak", "scan"));
	ASSERT_TRUE(read_text("/sys/kernel/debug/kmemleak", text, sizeof(text)));
	if (text[0]) {
		char *line = strtok(text, "\n");

		for (; line; line = strtok(NULL, "\n"))
			harness_diag("%s", line);
		harness_fail(__FILE__, __LINE__, "memory was lost");
	}
}

HARNESS_MAIN
