// SPDX-License-Identifier: MIT
/*
 * What is known of files from earlier starts: a file that has not changed is read once, and one
 * that has is read again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "libaccel/graph/graph.h"
#include "libaccel/plan/store.h"
#include "libaccel/tests/graph/graphtest.h"

/* A product whose packed weights are kept */
enum { DEEP = 128, WIDE = 256, BYTES = DEEP * WIDE * 4 };

/* Beside the program: /tmp may be where files have no times that can be relied on. */
static char dir[300], source[2][320];
static int fds[2];

/* A file that is open for writing has no stamp: it is not for long. */
static void write_at(const char *path, const void *data, size_t bytes, off_t at)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, bytes, at), bytes);
	close(fd);
}

/* Two files of weights, and nothing known yet */
static int make_files(void **state)
{
	ssize_t n;
	float *w;
	int i;

	(void)state;
	n = readlink("/proc/self/exe", dir, sizeof(dir) - 20);
	if (n <= 0)
		return -1;
	dir[n] = 0;
	snprintf(strrchr(dir, '/'), 14, "/known.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	for (i = 0; i < 2; i++) {
		snprintf(source[i], sizeof(source[i]), "%s.%d", dir, i);
		w = noise_floats((uint32_t)i, DEEP * WIDE);
		write_at(source[i], w, BYTES, 0);
		free(w);
		fds[i] = open(source[i], O_RDONLY);
		if (fds[i] < 0)
			return -1;
	}
	return 0;
}

/* The only form of the directory */
static void form_path(char path[600])
{
	DIR *d = opendir(dir);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (strstr(e->d_name, ".w"))
			snprintf(path, 600, "%s/%s", dir, e->d_name);
	closedir(d);
}

/* Files of the directory whose names contain @part */
static void drop_named(const char *part)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && strstr(e->d_name, part))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static int drop_files(void **state)
{
	int i;

	(void)state;
	drop_named("");
	for (i = 0; i < 2; i++) {
		close(fds[i]);
		unlink(source[i]);
	}
	return rmdir(dir);
}

static bool is_stamped(int fd)
{
	struct accel_file_stamp stamp;

	assert_int_equal(accel_file_stamp_read(fd, &stamp), 0);
	return stamp.v[0] || stamp.v[1];
}

/* Time passes until a change of any file would be seen, if the system says so at all. */
static void settle(void)
{
	const struct timespec wait = { 0, 50000000 };
	char leases = '0';
	struct dirent *e;
	struct statfs fs;
	struct statx st;
	DIR *d;
	int fd;

	assert_int_equal(fstatfs(fds[0], &fs), 0);
	fd = open("/proc/sys/fs/leases-enable", O_RDONLY);
	if (fs.f_type != EXT4_SUPER_MAGIC ||
	    statx(fds[0], "", AT_EMPTY_PATH, 0x4000, &st) || !(st.stx_mask & 0x4000) ||
	    read(fd, &leases, 1) != 1 || leases == '0') {
		print_message("the file system is not ext4, Linux older than 6.8, or without leases\n");
		skip();
	}
	close(fd);
	while (!is_stamped(fds[0]) || !is_stamped(fds[1]))
		nanosleep(&wait, NULL);
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d))) {
		fd = strstr(e->d_name, ".w") ? openat(dirfd(d), e->d_name, O_RDONLY) : -1;
		while (fd >= 0 && !is_stamped(fd))
			nanosleep(&wait, NULL);
		if (fd >= 0)
			close(fd);
	}
	closedir(d);
}

static struct accel_ctx *keeps(struct bed *bed)
{
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	struct accel_ctx *ctx;

	opts.weights_dir = dir;
	assert_int_equal(accel_ctx_create(bed->dev, &opts, &ctx), 0);
	return ctx;
}

/*
 * Compiles and runs a graph with the weights of file @k, which are overwritten with @late before
 * it is compiled. Returns bytes read for digests.
 */
static uint64_t start_late(struct bed *bed, int k, const float *late)
{
	struct accel_weights_info info = { .size = sizeof(info) };
	struct accel_value v = value_of("w", ACCEL_F32, 2, DIMS(DEEP, WIDE));
	struct accel_ctx *without = bed->ctx;
	struct accel_file_stamp stamp;
	struct accel_program *program;
	struct accel_state *s;
	const float *map = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fds[k], 0);
	float *a = noise_floats(9, 4 * DEEP);
	uint32_t x, w, i, j;
	const float *got;

	assert_true(map != MAP_FAILED);
	assert_int_equal(accel_file_stamp_read(fds[k], &stamp), 0);
	x = add_input(bed, "x", ACCEL_F32, 2, DIMS(4, DEEP));
	v.flags = ACCEL_VALUE_MAPPED;
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, map, NULL, NULL, &w));
	MUST_GRAPH(accel_graph_constant_file(bed->graph, w, &stamp, 0));
	add_output(bed, "y", add_gemm(bed, "product", x, w));
	bed->ctx = keeps(bed);
	if (late)
		write_at(source[k], late, BYTES, 0);
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	fill_input(s, 0, a, 4 * DEEP * sizeof(float));
	MUST(accel_state_run(s));
	got = output(bed, s, 0, &v);
	for (i = 0; i < 4; i++) {
		double want = 0;

		for (j = 0; j < DEEP; j++)
			want += (double)a[i * DEEP + j] * (double)map[j * WIDE + 7];
		assert_true(fabs((double)got[i * WIDE + 7] - want) < 0.001);
	}
	assert_int_equal(accel_weights_get_info(program->weights, &info), 0);
	accel_state_destroy(s);
	accel_program_unref(program);
	accel_ctx_destroy(bed->ctx);
	bed->ctx = without;
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
	munmap((void *)(uintptr_t)map, BYTES);
	free(a);
	return info.read;
}

static uint64_t start(struct bed *bed, int k)
{
	return start_late(bed, k, NULL);
}

static void test_stamp(void **state)
{
	struct accel_file_stamp stamp = { { 1, 1 } }, again;
	int pipes[2], other, writer;

	(void)state;
	assert_int_equal(accel_file_stamp_read(fds[0], NULL), -EINVAL);
	assert_int_equal(accel_file_stamp_read(-1, &stamp), -EBADF);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(accel_file_stamp_read(pipes[0], &stamp), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	/* Now it may be changed again without another time. */
	write_at(source[0], "x", 1, 3);
	assert_false(is_stamped(fds[0]));
	settle();
	/* Whoever has it open for writing may be about to. */
	writer = open(source[0], O_WRONLY);
	assert_true(writer >= 0);
	assert_false(is_stamped(fds[0]));
	close(writer);
	assert_true(is_stamped(fds[0]));
	assert_int_equal(accel_file_stamp_read(fds[0], &stamp), 0);
	other = open(source[0], O_RDONLY);
	assert_int_equal(accel_file_stamp_read(other, &again), 0);
	assert_memory_equal(&stamp, &again, sizeof(stamp));
	close(other);
	assert_int_equal(accel_file_stamp_read(fds[1], &again), 0);
	assert_memory_not_equal(&stamp, &again, sizeof(stamp));
}

static void *stamp_often(void *missing)
{
	int i;

	for (i = 0; i < 2000; i++)
		*(int *)missing += !is_stamped(fds[0]);
	return NULL;
}

/* The caller's lease and signal are left alone, and threads may use one description. */
static void test_lease(void **state)
{
	int missing[2] = { 0 }, i;
	pthread_t threads[2];

	(void)state;
	settle();
	assert_int_equal(fcntl(fds[0], F_SETSIG, SIGUSR1), 0);
	assert_int_equal(fcntl(fds[0], F_SETLEASE, F_RDLCK), 0);
	assert_true(is_stamped(fds[0]));
	assert_int_equal(fcntl(fds[0], F_GETLEASE), F_RDLCK);
	assert_int_equal(fcntl(fds[0], F_GETSIG), SIGUSR1);
	assert_int_equal(fcntl(fds[0], F_SETLEASE, F_UNLCK), 0);
	assert_int_equal(fcntl(fds[0], F_SETSIG, 0), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, stamp_often, &missing[i]), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(missing[i], 0);
	}
}

static atomic_bool forked;

static void *stamp_meanwhile(void *missing)
{
	while (!forked)
		*(int *)missing += !is_stamped(fds[0]);
	return NULL;
}

static void *fork_often(void *until)
{
	const int *ends = until;
	char c;
	int i;

	for (i = 0; i < 100; i++) {
		const pid_t child = fork();

		if (!child) {
			close(ends[1]);
			_exit(read(ends[0], &c, 1) != 0);
		}
		assert_true(child > 0);
	}
	forked = true;
	return NULL;
}

/* Processes that are forked during a stamp, and live on, keep nobody from writing. */
static void test_forked(void **state)
{
	int ends[2], missing = 0, writer, status, i;
	pthread_t stamps, forks;

	(void)state;
	settle();
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pthread_create(&stamps, NULL, stamp_meanwhile, &missing), 0);
	assert_int_equal(pthread_create(&forks, NULL, fork_often, ends), 0);
	assert_int_equal(pthread_join(forks, NULL), 0);
	assert_int_equal(pthread_join(stamps, NULL), 0);
	assert_int_equal(missing, 0);
	writer = open(source[0], O_WRONLY | O_NONBLOCK);
	assert_true(writer >= 0);
	close(writer);
	close(ends[1]);
	for (i = 0; i < 100; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	close(ends[0]);
}

static void *stamp_apart(void *stamp)
{
	assert_int_equal(unshare(CLONE_FILES), 0);
	assert_int_equal(dup2(fds[1], fds[0]), fds[0]);
	assert_int_equal(accel_file_stamp_read(fds[0], stamp), 0);
	return NULL;
}

/* A thread with a table of files of its own has another file under the same number. */
static void test_own_files(void **state)
{
	struct accel_file_stamp stamp[2];
	pthread_t thread;

	(void)state;
	settle();
	assert_int_equal(pthread_create(&thread, NULL, stamp_apart, &stamp[0]), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(accel_file_stamp_read(fds[1], &stamp[1]), 0);
	assert_memory_equal(&stamp[0], &stamp[1], sizeof(stamp[0]));
}

/* A time of change that is the user's to set is not enough. */
static void test_touched(void **state)
{
	const struct timespec times[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

	(void)state;
	assert_int_equal(futimens(fds[0], times), 0);
	assert_false(is_stamped(fds[0]));
}

static void test_constant(void **state)
{
	struct accel_value v = value_of("w", ACCEL_F32, 1, DIMS(4));
	static const float data[4];
	struct accel_file_stamp stamp = { { 1, 1 } };
	struct bed *bed = *state;
	uint32_t x, plain, w;

	x = add_input(bed, "x", ACCEL_F32, 1, DIMS(4));
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, data, NULL, NULL, &plain));
	v.flags = ACCEL_VALUE_MAPPED;
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, data, NULL, NULL, &w));
	assert_int_equal(accel_graph_constant_file(NULL, w, &stamp, 0), -EINVAL);
	assert_int_equal(accel_graph_constant_file(bed->graph, x, &stamp, 0), -EINVAL);
	assert_int_equal(accel_graph_constant_file(bed->graph, plain, &stamp, 0), -EINVAL);
	assert_int_equal(accel_graph_constant_file(bed->graph, w + 1, &stamp, 0), -EINVAL);
	assert_int_equal(accel_graph_constant_file(bed->graph, w, NULL, 0), -EINVAL);
	MUST_GRAPH(accel_graph_constant_file(bed->graph, w, &stamp, 0));
}

static void damage(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t c;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 0x10;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void test_starts(void **state)
{
	struct bed *bed = *state;
	uint64_t form;
	struct stat st;
	char path[600], kept[600];
	int i, writers[2];
	float one = 1;

	/* What somebody may write just now is read each time, and its form too. */
	writers[0] = open(source[0], O_WRONLY);
	assert_true(writers[0] >= 0);
	assert_int_equal(start(bed, 0), BYTES);
	form_path(kept);
	writers[1] = open(kept, O_WRONLY);
	assert_true(writers[1] >= 0);
	form = start(bed, 0) - BYTES;
	assert_in_range(form, BYTES, 2 * BYTES);
	snprintf(path, sizeof(path), "%s/%s", dir, STORE_KNOWN);
	assert_int_equal(access(path, F_OK), -1);
	close(writers[0]);
	close(writers[1]);
	settle();
	assert_int_equal(start(bed, 0), BYTES + form);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(start(bed, 0), 0);
	/* Of another file that is as large nothing is known. */
	assert_int_equal(start(bed, 1), BYTES);
	assert_int_equal(start(bed, 0), 0);
	/* Whatever is wrong with what is known, it is not believed, and written again. */
	for (i = 0; i < 100; i++) {
		damage(path, i * 7 % st.st_size);
		assert_int_equal(start(bed, 0), BYTES + form);
		assert_int_equal(start(bed, 0), 0);
	}
	assert_int_equal(truncate(path, 50), 0);
	assert_int_equal(start(bed, 0), BYTES + form);
	assert_int_equal(chmod(path, 0622), 0);
	assert_int_equal(start(bed, 0), BYTES + form);
	assert_int_equal(start(bed, 0), 0);
	/* A form that was changed is refused, and made again of what is read. */
	damage(kept, 4096 + 64);
	assert_int_equal(start(bed, 0), form + BYTES);
	settle();
	start(bed, 0);
	assert_int_equal(start(bed, 0), 0);
	writers[0] = open(source[0], O_WRONLY);
	assert_int_equal(pwrite(writers[0], &one, 4, 28), 4);
	assert_int_equal(start(bed, 0), BYTES);
	assert_int_equal(start(bed, 0), BYTES + form);
	close(writers[0]);
}

/* A file that changes between its stamp and the packing of its weights spoils no later start. */
static void test_overwritten(void **state)
{
	float *before = noise_floats(0, DEEP * WIDE), *after = noise_floats(5, DEEP * WIDE);
	struct bed *bed = *state;
	int i;

	drop_named(".w");
	write_at(source[0], before, BYTES, 0);
	settle();
	start(bed, 0);
	settle();
	start(bed, 0);
	assert_int_equal(start(bed, 0), 0);
	drop_named(".w");
	/* The digest that is known is found to be of something else. */
	assert_int_equal(start_late(bed, 0, after), BYTES);
	write_at(source[0], before, BYTES, 0);
	settle();
	for (i = 0; i < 3; i++)
		start(bed, 0);
	free(before);
	free(after);
}

/* Two at a time: each adds to what the other has learnt. */
static void test_together(void **state)
{
	static const uint8_t data[2 * 4096];
	struct bed *bed = *state;
	struct accel_ctx *ctx[2] = { keeps(bed), keeps(bed) };
	struct accel_weights *w[2];
	struct file_place at = { { { 3, 4 } }, 4096 };
	uint64_t read[2];
	int i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < 2; i++)
			assert_int_equal(accel_weights_create(ctx[i], NULL, &w[i]), 0);
		for (i = 0; i < 2; i++) {
			at.offset = 4096 * (uint64_t)i;
			store_read(w[i], &at, data, 4096);
			store_read(w[i], &at, data, 4096);
			/* Too short to be kept */
			store_read(w[i], &at, data, 4095);
			read[i] = w[i]->info.read;
		}
		for (i = 0; i < 2; i++) {
			assert_int_equal(read[i], k ? 4095 : 4096 + 4095);
			accel_weights_unref(w[i]);
		}
	}
	for (i = 0; i < 2; i++)
		accel_ctx_destroy(ctx[i]);
}

/* The newest are kept: the file does not grow. */
static void test_bounded(void **state)
{
	static const uint8_t data[4096];
	struct bed *bed = *state;
	struct accel_ctx *ctx = keeps(bed);
	struct file_place at = { { { 1, 2 } }, 0 };
	struct accel_weights *w;
	struct stat st;
	char path[600];
	uint64_t i;
	int k;

	for (k = 0; k < 2; k++) {
		assert_int_equal(accel_weights_create(ctx, NULL, &w), 0);
		/* Backwards, the second time: what is known of the newest does not go. */
		for (i = 1; i < 8202; i++) {
			at.offset = k ? 8202 - i : i;
			store_read(w, &at, data, sizeof(data));
		}
		assert_int_equal(w->info.read, (k ? 9 : 8201) * 4096);
		accel_weights_unref(w);
		snprintf(path, sizeof(path), "%s/%s", dir, STORE_KNOWN);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, 48 + 8192 * sizeof(struct file_sum));
	}
	accel_ctx_destroy(ctx);
}

/* Any bit counts, and so do places: of a block, of what two blocks begin with, of the end. */
static void test_digest(void **state)
{
	static const uint32_t sizes[] = { 1, 7, 8, 127, 128, 129, 700 };
	const struct store_digest zero = { { 0 } };
	struct store_digest want, got;
	uint8_t data[700], other[700];
	uint32_t i, k, n;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i * 37 >> 3);
	for (k = 0; k < ARRAY_SIZE(sizes); k++) {
		n = sizes[k];
		want = store_sum(zero, data, n);
		for (i = 0; i < 8 * n; i++) {
			data[i / 8] ^= (uint8_t)(1u << i % 8);
			got = store_sum(zero, data, n);
			assert_true(got.v[0] != want.v[0] && got.v[1] != want.v[1]);
			data[i / 8] ^= (uint8_t)(1u << i % 8);
		}
		got = store_sum(want, data, n);
		assert_memory_not_equal(&got, &want, sizeof(got));
		/* Two numbers of the same sum change places. */
		for (i = 8; i + 8 <= n; i += 8) {
			memcpy(other, data, n);
			memcpy(other, data + i, 8);
			memcpy(other + i, data, 8);
			got = store_sum(zero, other, n);
			assert_true(!memcmp(data, data + i, 8) ||
				    memcmp(&got, &want, sizeof(got)));
		}
		/* Zeros behind it are something else. */
		memset(other, 0, sizeof(other));
		memcpy(other, data, n);
		got = store_sum(zero, other, n < 700 ? n + 1 : n);
		assert_true(n == 700 || memcmp(&got, &want, sizeof(got)));
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)
	const struct CMUnitTest tests[] = {
		T(test_stamp), T(test_lease), T(test_forked), T(test_own_files), T(test_touched),
		T(test_constant), T(test_starts), T(test_overwritten), T(test_together),
		T(test_bounded), cmocka_unit_test(test_digest),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
