// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Eight clients do everything that clients do, and die of it, while the device
 * breaks every 200 milliseconds. Whoever is told that a job went well finds the
 * right bytes; whoever is told that it did not, finds in the queue's state why;
 * and in the end the device works, and nothing is left.
 *
 * SOAK_SECONDS=n (20) and SOAK_SEED=n (1) in the environment.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "soak.h"
#include "watch.h"

#define CLIENTS		8
#define INJECT_MS	200
#define LIMIT_S		7200

static struct soak_stats *stats;

/* What was used last is freed a moment after the last reference, in a work item. */
static void expect_back(const char *file, long long (*now)(const char *file), long long before)
{
	unsigned int waited;

	for (waited = 0; now(file) != before; waited++) {
		if (waited == 1000)
			harness_diag("%s was %lld and is %lld", file, before, now(file));
		usleep(10000);
	}
}

static long long lines_now(const char *file)
{
	return lines(file);
}

/* --- faults ------------------------------------------------------------------- */

enum kind {
	HANG, LOSE_IRQ, SPURIOUS_IRQ, FAULT_ADDR, BAD_RECORD, THROTTLE, DEV_ERROR, FAIL_RESET,
	KINDS,
};

static const char *const kind_names[KINDS] = {
	"hang_next", "lose_irq", "spurious_irq", "fault_addr", "bad_record", "throttle",
	"dev_error", "fail_reset",
};

/* How often each of them, of sixteen. */
static const enum kind mix[16] = {
	HANG, HANG, HANG, LOSE_IRQ, LOSE_IRQ, LOSE_IRQ, SPURIOUS_IRQ, SPURIOUS_IRQ, FAULT_ADDR,
	FAULT_ADDR, FAULT_ADDR, BAD_RECORD, BAD_RECORD, THROTTLE, THROTTLE, DEV_ERROR,
};

static void knob(const char *file, const char *fmt, unsigned long long a, unsigned long long b)
{
	char text[64];

	snprintf(text, sizeof(text), fmt, a, b);
	EXPECT_TRUE(emu_knob(dev_name(), file, text));
}

/*
 * An engine that does not come back from a reset: the driver resets the device. A second reset that
 * failed would be the end of it, which is not what this is about, so nothing else is done until it
 * is over.
 */
static void fail_a_reset(unsigned int engine)
{
	long long before = counter("reset_counter");

	knob("fail_reset", "1", 0, 0);
	knob("hang_next", "%llu", 1ull << engine, 0);
	while (counter("reset_counter") == before && !stats->failed)
		usleep(10000);
	knob("fail_reset", "0", 0, 0);
	knob("hang_next", "0", 0, 0);
}

static void inject(unsigned int *seed, unsigned int engines, unsigned int *number)
{
	enum kind kind = mix[(unsigned int)rand_r(seed) % 16];
	unsigned int engine = (unsigned int)rand_r(seed) % engines;
	static bool hot;

	if (++*number % 60 == 0) {
		/* What the last ones did is over by then. */
		usleep(3000000);
		stats->injected[FAIL_RESET]++;
		fail_a_reset(engine);
		return;
	}
	stats->injected[kind]++;
	switch (kind) {
	case HANG:
		knob("hang_next", "%llu", 1ull << engine, 0);
		break;
	case LOSE_IRQ:
		knob("lose_irq", "%llu", 1 + (unsigned int)rand_r(seed) % 2, 0);
		break;
	case SPURIOUS_IRQ:
		knob("spurious_irq", "3", 0, 0);
		break;
	case FAULT_ADDR:
		knob("fault_addr", "%llu %llu", SOAK_DATA_VA, SOAK_SLOTS * SOAK_SLOT);
		break;
	case BAD_RECORD:
		knob("bad_record", "1", 0, 0);
		break;
	case THROTTLE:
		hot = !hot;
		knob("throttle", "%llu", hot, 0);
		break;
	case DEV_ERROR:
		knob("dev_error", "1", 0, 0);
		break;
	default:
		break;
	}
}

static void inject_nothing(void)
{
	knob("hang_next", "0", 0, 0);
	knob("lose_irq", "0", 0, 0);
	knob("bad_record", "0", 0, 0);
	knob("fail_reset", "0", 0, 0);
	knob("throttle", "0", 0, 0);
	/* Where nobody is: an address below any that can be bound. */
	knob("fault_addr", "1 1", 0, 0);
}

/* --- clients -------------------------------------------------------------------- */

static pid_t start(unsigned int number, unsigned int generation, unsigned int seed)
{
	pid_t pid = harness_fork();

	if (!pid) {
		/* Root's processes outlive a step that is killed. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		soak_client(stats, seed * 1000003u + generation * 64 + number);
		_exit(0);
	}
	return pid;
}

static void figures(uint64_t ns, long long resets, long long faults)
{
	char line[512] = "";
	size_t len = 0;
	int i;

	for (i = 0; i < KINDS; i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, " %s %u", kind_names[i],
					stats->injected[i]);
	harness_diag("%llu seconds: %llu jobs, %llu right, %llu guilty, %llu cancelled, %llu bad on purpose, %llu refused",
		     (unsigned long long)(ns / 1000000000u), stats->jobs, stats->right,
		     stats->guilty, stats->cancelled, stats->own_faults, stats->refused);
	harness_diag("injected:%s", line);
	harness_diag("%lld resets, %lld faults, %llu processes killed, %llu forked, %llu files left",
		     resets, faults, stats->killed, stats->forked, stats->left);
	harness_diag("%llu binds, %llu imports, %llu buffers of user memory, %llu gave up memory, %llu files read",
		     stats->binds, stats->imports, stats->users, stats->advised, stats->reads);
}

static void use_all_engines(void)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct client c;
	struct buf tasks;
	unsigned int n, i;

	client_open(&c);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	n = query_engines(c.fd, engines);
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, i), tasks.va, 1));
	ASSERT_EQ(0, munmap(tasks.map, tasks.size));
	client_close(&c);
}

TEST_TIMEOUT(soak, LIMIT_S)
{
	const char *s = getenv("SOAK_SECONDS"), *r = getenv("SOAK_SEED");
	uint64_t begin = now_ns(), until, ns = (uint64_t)(s ? atoi(s) : 20) * 1000000000u;
	unsigned int seed = r ? (unsigned int)atoi(r) : 1, first = seed, number = 0, i;
	long long resets = counter("reset_counter"), faults = counter("fault_counter");
	long long bos = counter("bo_count"), pinned = counter("pinned_pages");
	struct drm_uma_query_engine engines[MAX_ENGINES];
	int vms = lines("vms"), queues = lines("queues");
	pid_t pids[CLIENTS];
	unsigned int n;
	int fd, status;

	if (!is_root() || !emu_knob(dev_name(), "hang_next", "0"))
		SKIP("no knobs to break the device with");
	expect_faults(-1);
	/* One that was broken says so. */
	expect_log();
	fd = dev_open();
	n = query_engines(fd, engines);
	close(fd);
	stats = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	ASSERT_TRUE(stats != MAP_FAILED);
	harness_diag("SOAK_SEED=%u", seed);
	for (i = 0; i < CLIENTS; i++)
		pids[i] = start(i, 0, first);

	until = begin + ns;
	while (now_ns() < until && !stats->failed) {
		usleep(INJECT_MS * 1000);
		inject(&seed, n, &number);
		if (rand_r(&seed) % 3)
			continue;
		i = (unsigned int)rand_r(&seed) % CLIENTS;
		kill(pids[i], SIGKILL);
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		/* It may have come to an end of its own, but only to a good one. */
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			EXPECT_EQ(0, status);
		stats->killed++;
		pids[i] = start(i, number, first);
	}
	__atomic_store_n(&stats->stop, 1, __ATOMIC_SEQ_CST);
	inject_nothing();
	for (i = 0; i < CLIENTS; i++)
		harness_join(pids[i]);
	use_all_engines();

	figures(now_ns() - begin, counter("reset_counter") - resets,
		counter("fault_counter") - faults);
	EXPECT_GT(stats->right, 0);
	EXPECT_EQ(0, stats->wrong);
	EXPECT_EQ(0, stats->failed);
	expect_back("bo_count", counter, bos);
	expect_back("pinned_pages", counter, pinned);
	expect_back("vms", lines_now, vms);
	expect_back("queues", lines_now, queues);
}

HARNESS_MAIN
