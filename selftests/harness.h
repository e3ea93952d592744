/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A small test harness: fixtures, variants, tests, TAP on stdout.
 *
 * Every test runs in a child process of its own, in a process group of its
 * own, against a timeout; what it leaves behind (descriptors, memory, children)
 * dies with it. So a failed assertion may end the process from anywhere, also
 * from helpers, from threads, and from forked children (whose status the test
 * has to look at: harness_join()).
 *
 *	FIXTURE(bo) {
 *		int fd;
 *	};
 *	FIXTURE_VARIANT(bo) {
 *		__u32 flags;
 *	};
 *	FIXTURE_VARIANT_ADD(bo, cached) { .flags = 0 };
 *	FIXTURE_SETUP(bo) { self->fd = dev_open(); }
 *	FIXTURE_TEARDOWN(bo) { close(self->fd); }
 *	TEST_F(bo, create) { EXPECT_EQ(0, f(self->fd, variant->flags)); }
 *	TEST(other) { ASSERT_TRUE(...); }
 *	HARNESS_MAIN
 *
 * EXPECT_* note a failure and go on, ASSERT_* end the test. SKIP ends it with
 * a reason. The expected value comes first.
 */
#ifndef _HARNESS_H_
#define _HARNESS_H_

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Seconds, times UMA_TEST_SLOW. Only a test that hangs should ever meet it, also on a machine that
 * does much else.
 */
#define HARNESS_TIMEOUT		150

struct harness_fixture {
	const char *name;
	size_t size;
	void (*setup)(void *self, const void *variant);
	void (*teardown)(void *self, const void *variant);
	struct harness_variant *variants;
};

struct harness_variant {
	const char *name;
	const void *data;
	struct harness_variant *next;
};

struct harness_test {
	const char *name;
	struct harness_fixture *fixture;
	void (*run)(void *self, const void *variant);
	unsigned int timeout;
	struct harness_test *next;
};

/**
 * struct harness_shared - what a test and the process that judges it share
 * @failures: failed assertions, by any process or thread of the test
 * @skipped: the test was skipped, for @reason
 * @reason: why
 * @resets: device resets that the test causes, -1 for any number
 * @faults: device faults that the test causes, -1 for any number
 * @log: kernel messages of level warning and above are expected
 * @gone: the device leaves or comes in the test: its counters say nothing
 */
struct harness_shared {
	unsigned int failures;
	unsigned int skipped;
	char reason[256];
	int resets;
	int faults;
	int log;
	int gone;
};

extern struct harness_shared *harness;

/*
 * Called by the judging process around every test; a program that has none
 * gets empty ones. @before may return a reason for which all tests are skipped.
 */
const char *harness_before(void);
void harness_after(void);

void harness_add_test(struct harness_test *test);
void harness_add_variant(struct harness_fixture *fixture, struct harness_variant *variant);
int harness_main(int argc, char **argv);

void harness_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void harness_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
__attribute__((noreturn)) void harness_end(void);
void harness_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
unsigned int harness_slow(void);

/**
 * harness_fork - fork a child that belongs to the test
 *
 * Return: as fork(); failing to fork ends the test. The child must leave with
 * _exit(); an assertion that fails in it counts for the test.
 */
pid_t harness_fork(void);

/**
 * harness_join - wait for a child of harness_fork() and expect a status of 0
 * @pid: child
 */
void harness_join(pid_t pid);

#define HARNESS_CONSTRUCTOR __attribute__((constructor)) static void

#define FIXTURE(f)		struct f##_fixture
#define FIXTURE_VARIANT(f)	struct f##_variant

#define FIXTURE_SETUP(f)						\
	FIXTURE_VARIANT(f);						\
	static struct harness_fixture t_##f##_desc;				\
	static void t_##f##_setup(struct f##_fixture *self, const struct f##_variant *variant); \
	static void t_##f##_setup_any(void *self, const void *variant)	\
	{								\
		t_##f##_setup(self, variant);				\
	}								\
	static void t_##f##_setup(struct f##_fixture *self __attribute__((unused)),	\
			      const struct f##_variant *variant __attribute__((unused)))

#define FIXTURE_TEARDOWN(f)						\
	static void t_##f##_teardown(struct f##_fixture *self, const struct f##_variant *variant); \
	static void t_##f##_teardown_any(void *self, const void *variant)	\
	{								\
		t_##f##_teardown(self, variant);				\
	}								\
	static struct harness_fixture t_##f##_desc = {			\
		.name = #f,						\
		.size = sizeof(FIXTURE(f)),				\
		.setup = t_##f##_setup_any,					\
		.teardown = t_##f##_teardown_any,				\
	};								\
	static void t_##f##_teardown(struct f##_fixture *self __attribute__((unused)), \
				 const struct f##_variant *variant __attribute__((unused)))

/* Variants come before the setup, so they name the fixture by its parts. */
#define FIXTURE_VARIANT_ADD(f, v)					\
	static struct harness_fixture t_##f##_desc;				\
	static const FIXTURE_VARIANT(f) t_##f##_##v##_data;			\
	static struct harness_variant t_##f##_##v##_variant = {		\
		.name = #v,						\
		.data = &t_##f##_##v##_data,				\
	};								\
	HARNESS_CONSTRUCTOR t_##f##_##v##_add(void)				\
	{								\
		harness_add_variant(&t_##f##_desc, &t_##f##_##v##_variant);	\
	}								\
	static const FIXTURE_VARIANT(f) t_##f##_##v##_data =

#define TEST_F_TIMEOUT(f, t, seconds)					\
	static void t_##f##_##t(struct f##_fixture *self, const struct f##_variant *variant); \
	static void t_##f##_##t##_any(void *self, const void *variant)	\
	{								\
		t_##f##_##t(self, variant);					\
	}								\
	static struct harness_test t_##f##_##t##_test = {			\
		.name = #t,						\
		.fixture = &t_##f##_desc,					\
		.run = t_##f##_##t##_any,					\
		.timeout = (seconds),					\
	};								\
	HARNESS_CONSTRUCTOR t_##f##_##t##_add(void)				\
	{								\
		harness_add_test(&t_##f##_##t##_test);			\
	}								\
	static void t_##f##_##t(struct f##_fixture *self __attribute__((unused)),	\
			    const struct f##_variant *variant __attribute__((unused)))

#define TEST_F(f, t)	TEST_F_TIMEOUT(f, t, HARNESS_TIMEOUT)

#define TEST_TIMEOUT(t, seconds)					\
	static void t_##t##_plain(void);					\
	static void t_##t##_any(void *self __attribute__((unused)),		\
			    const void *variant __attribute__((unused))) \
	{								\
		t_##t##_plain();						\
	}								\
	static struct harness_test t_##t##_test = {				\
		.name = #t,						\
		.run = t_##t##_any,						\
		.timeout = (seconds),					\
	};								\
	HARNESS_CONSTRUCTOR t_##t##_add(void)				\
	{								\
		harness_add_test(&t_##t##_test);				\
	}								\
	static void t_##t##_plain(void)

#define TEST(t)		TEST_TIMEOUT(t, HARNESS_TIMEOUT)

#define HARNESS_MAIN							\
	int main(int argc, char **argv)					\
	{								\
		return harness_main(argc, argv);			\
	}

#define SKIP(...)	harness_skip(__VA_ARGS__)

/* Of any two integer types: -1 is not 0xffffffff. */
#define HARNESS_COMPARE(end, a, op, b) do {				\
	__int128 a_ = (a);						\
	__int128 b_ = (b);						\
	if (!(a_ op b_)) {						\
		harness_fail(__FILE__, __LINE__, "%s %s %s: %lld (%#llx) and %lld (%#llx)", \
			     #a, #op, #b, (long long)a_, (unsigned long long)a_, \
			     (long long)b_, (unsigned long long)b_);	\
		end;							\
	}								\
} while (0)

#define HARNESS_TRUE(end, x) do {					\
	if (!(x)) {							\
		harness_fail(__FILE__, __LINE__, "%s is false", #x);	\
		end;							\
	}								\
} while (0)

#define EXPECT_EQ(a, b)		HARNESS_COMPARE((void)0, a, ==, b)
#define EXPECT_NE(a, b)		HARNESS_COMPARE((void)0, a, !=, b)
#define EXPECT_LT(a, b)		HARNESS_COMPARE((void)0, a, <, b)
#define EXPECT_LE(a, b)		HARNESS_COMPARE((void)0, a, <=, b)
#define EXPECT_GT(a, b)		HARNESS_COMPARE((void)0, a, >, b)
#define EXPECT_GE(a, b)		HARNESS_COMPARE((void)0, a, >=, b)
#define EXPECT_TRUE(x)		HARNESS_TRUE((void)0, x)
#define EXPECT_FALSE(x)		HARNESS_TRUE((void)0, !(x))

#define ASSERT_EQ(a, b)		HARNESS_COMPARE(harness_end(), a, ==, b)
#define ASSERT_NE(a, b)		HARNESS_COMPARE(harness_end(), a, !=, b)
#define ASSERT_LT(a, b)		HARNESS_COMPARE(harness_end(), a, <, b)
#define ASSERT_LE(a, b)		HARNESS_COMPARE(harness_end(), a, <=, b)
#define ASSERT_GT(a, b)		HARNESS_COMPARE(harness_end(), a, >, b)
#define ASSERT_GE(a, b)		HARNESS_COMPARE(harness_end(), a, >=, b)
#define ASSERT_TRUE(x)		HARNESS_TRUE(harness_end(), x)
#define ASSERT_FALSE(x)		HARNESS_TRUE(harness_end(), !(x))

#endif /* _HARNESS_H_ */
