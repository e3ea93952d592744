// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The test harness: runs every test in a child, judges it, prints TAP.
 */
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define KSFT_SKIP	4

struct harness_shared *harness;

static struct harness_test *tests, **tests_tail = &tests;

/* The running test, for the teardown after a failed assertion. */
static struct {
	struct harness_test *test;
	const void *variant;
	void *self;
	pid_t pid;
	pid_t tid;
	bool set_up;
} current;

__attribute__((weak)) const char *harness_before(void)
{
	return NULL;
}

__attribute__((weak)) void harness_after(void)
{
}

void harness_add_test(struct harness_test *test)
{
	*tests_tail = test;
	tests_tail = &test->next;
}

void harness_add_variant(struct harness_fixture *fixture, struct harness_variant *variant)
{
	struct harness_variant **p = &fixture->variants;

	while (*p)
		p = &(*p)->next;
	*p = variant;
}

/* One write a line, so that lines of several processes do not mix. */
static void print_line(const char *prefix, const char *fmt, va_list args)
{
	char line[1024];
	int len, n;

	len = snprintf(line, sizeof(line), "%s", prefix);
	n = vsnprintf(line + len, sizeof(line) - (size_t)len - 1, fmt, args);
	len += n;
	if (len > (int)sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)len) < 0)
		_exit(99);
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line("", fmt, args);
	va_end(args);
}

void harness_diag(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line("# ", fmt, args);
	va_end(args);
}

void harness_fail(const char *file, int line, const char *fmt, ...)
{
	char text[768];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* A loop that fails a thousand times says so a few times. */
	if (__atomic_fetch_add(&harness->failures, 1, __ATOMIC_SEQ_CST) < 20)
		harness_diag("%s:%d: %s", file, line, text);
}

/* The teardown is for the test's own thread: another one may hold whatever it likes. */
static void teardown(void)
{
	struct harness_fixture *fixture = current.test->fixture;

	if (!current.set_up || current.pid != getpid() || current.tid != (pid_t)syscall(SYS_gettid))
		return;
	current.set_up = false;
	if (fixture)
		fixture->teardown(current.self, current.variant);
}

void harness_end(void)
{
	teardown();
	_exit(1);
}

void harness_skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(harness->reason, sizeof(harness->reason), fmt, args);
	va_end(args);
	harness->skipped = 1;
	teardown();
	_exit(0);
}

unsigned int harness_slow(void)
{
	const char *slow = getenv("UMA_TEST_SLOW");
	int n = slow ? atoi(slow) : 1;

	return n > 0 ? (unsigned int)n : 1;
}

pid_t harness_fork(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		harness_fail(__FILE__, __LINE__, "fork: %s", strerror(errno));
		harness_end();
	}
	return pid;
}

void harness_join(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		harness_fail(__FILE__, __LINE__, "no child %d", (int)pid);
		return;
	}
	if (status)
		harness_fail(__FILE__, __LINE__, "child %d ended with status %#x", (int)pid,
			     (unsigned int)status);
}

static void run_child(struct harness_test *test, const struct harness_variant *variant)
{
	struct harness_fixture *fixture = test->fixture;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	current.test = test;
	current.variant = variant ? variant->data : NULL;
	current.pid = getpid();
	current.tid = (pid_t)syscall(SYS_gettid);
	if (fixture) {
		current.self = calloc(1, fixture->size ? fixture->size : 1);
		if (!current.self)
			_exit(1);
		/* What setup has done before it fails dies with the process. */
		fixture->setup(current.self, current.variant);
		current.set_up = true;
	}
	test->run(current.self, current.variant);
	if (getpid() != current.pid) {
		harness_fail(__FILE__, __LINE__, "a forked child returned from the test");
		_exit(1);
	}
	teardown();
	_exit(0);
}

/* Where a process sleeps that does not end, or that it still uses the processor. */
static void say_where(pid_t pid)
{
	static const char *const files[] = { "stat", "schedstat", "stack" };
	char path[64], line[512];
	unsigned int i;
	FILE *f;

	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = 0;
			harness_diag("%s: %s", files[i], line);
		}
		if (f)
			fclose(f);
	}
}

/* Waits until the child ends or time is up; false if it was not to be had. */
static bool wait_child(pid_t pid, unsigned int seconds, int *status, bool *timed_out)
{
	struct pollfd p = { .events = POLLIN };

	*timed_out = false;
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p.fd >= 0) {
		if (poll(&p, 1, (int)seconds * 1000) == 0) {
			*timed_out = true;
			say_where(pid);
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL);
			/* It may be stuck in the kernel, or get no processor. */
			if (poll(&p, 1, (int)harness_slow() * 30000) == 0) {
				close(p.fd);
				return false;
			}
		}
		close(p.fd);
	}
	return waitpid(pid, status, 0) == pid;
}

/* Children that the test left behind came to us. */
static void reap(pid_t group)
{
	int i;

	kill(-group, SIGKILL);
	for (i = 0; i < 3000; i++) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return;
		if (pid <= 0)
			poll(NULL, 0, 10);
	}
	harness_diag("a process of the test does not die");
	__atomic_fetch_add(&harness->failures, 1, __ATOMIC_SEQ_CST);
}

static unsigned int n_pass, n_fail, n_skip, number;
static bool stuck;

/* Less than what is left to the program (UMA_STEP_SECONDS): what hangs is to say where. */
static unsigned int limited(unsigned int limit)
{
	const char *all = getenv("UMA_STEP_SECONDS");
	static struct timespec begin;
	struct timespec now;
	long left;

	if (!all)
		return limit;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!begin.tv_sec)
		begin = now;
	left = strtol(all, NULL, 10) - 15 - (now.tv_sec - begin.tv_sec);
	return left < 1 ? 1 : left < (long)limit ? (unsigned int)left : limit;
}

static void run_one(struct harness_test *test, const struct harness_variant *variant,
		    const char *name)
{
	unsigned int limit = limited(test->timeout * harness_slow());
	struct timespec from, to;
	const char *reason;
	bool timed_out;
	int status;
	pid_t pid;

	memset(harness, 0, sizeof(*harness));
	number++;
	reason = stuck ? "a test before hangs in the kernel" : harness_before();
	if (reason) {
		n_skip++;
		say("ok %u %s # SKIP %s", number, name, reason);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	pid = fork();
	if (pid == 0)
		run_child(test, variant);
	if (pid < 0) {
		n_fail++;
		say("not ok %u %s # fork: %s", number, name, strerror(errno));
		return;
	}
	if (!wait_child(pid, limit, &status, &timed_out)) {
		stuck = true;
		n_fail++;
		harness_diag("still there after SIGKILL");
		say_where(pid);
		say("not ok %u %s # TIMEOUT", number, name);
		return;
	}
	reap(pid);
	if (timed_out) {
		harness_diag("timed out after %u seconds", limit);
		harness->failures++;
	} else if (WIFSIGNALED(status)) {
		harness_diag("killed by signal %d (%s)", WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
		harness->failures++;
	} else if (WEXITSTATUS(status) && !harness->failures) {
		harness_diag("exit status %d", WEXITSTATUS(status));
		harness->failures++;
	}
	harness_after();
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (getenv("UMA_TEST_TIMES"))
		harness_diag("%s: %ld ms", name, (long)(to.tv_sec - from.tv_sec) * 1000 +
			     (to.tv_nsec - from.tv_nsec) / 1000000);
	if (harness->failures) {
		n_fail++;
		say("not ok %u %s", number, name);
	} else if (harness->skipped) {
		n_skip++;
		say("ok %u %s # SKIP %s", number, name, harness->reason);
	} else {
		n_pass++;
		say("ok %u %s", number, name);
	}
}

/* Calls @f for each test with each of its variants; returns how many match. */
static unsigned int each(const char *pattern,
			 void (*f)(struct harness_test *, const struct harness_variant *,
				   const char *))
{
	const struct harness_variant *v;
	struct harness_test *test;
	unsigned int n = 0;
	char name[256];

	for (test = tests; test; test = test->next) {
		v = test->fixture ? test->fixture->variants : NULL;
		do {
			snprintf(name, sizeof(name), "%s%s%s%s%s",
				 test->fixture ? test->fixture->name : "", test->fixture ? "." : "",
				 test->name, v ? "." : "", v ? v->name : "");
			if (!pattern || !fnmatch(pattern, name, 0)) {
				n++;
				if (f)
					f(test, v, name);
			}
			v = v ? v->next : NULL;
		} while (v);
	}
	return n;
}

static void list_one(struct harness_test *test __attribute__((unused)),
		     const struct harness_variant *v __attribute__((unused)), const char *name)
{
	say("%s", name);
}

int harness_main(int argc, char **argv)
{
	const char *pattern = NULL;
	bool list = false;
	unsigned int plan;
	int opt;

	while ((opt = getopt(argc, argv, "lt:")) != -1) {
		switch (opt) {
		case 'l':
			list = true;
			break;
		case 't':
			pattern = optarg;
			break;
		default:
			fprintf(stderr, "usage: %s [-l] [-t pattern]\n", argv[0]);
			return 2;
		}
	}
	if (list) {
		each(pattern, list_one);
		return 0;
	}

	harness = mmap(NULL, sizeof(*harness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (harness == MAP_FAILED) {
		say("Bail out! no shared memory: %s", strerror(errno));
		return 1;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	plan = each(pattern, NULL);
	say("TAP version 13");
	say("1..%u", plan);
	each(pattern, run_one);
	say("# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0", n_pass, n_fail, n_skip);
	if (n_fail || !plan)
		return 1;
	return n_skip == plan ? KSFT_SKIP : 0;
}
