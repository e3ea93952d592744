// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What can be seen of clients and of the device: buffer info and labels,
 * fdinfo, sysfs, debugfs.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "task.h"
#include "watch.h"

/* --- labels -------------------------------------------------------------------------- */

FIXTURE(label) {
	int fd;
	__u32 handle;
	struct drm_uma_query_limits l;
};

FIXTURE_SETUP(label)
{
	self->fd = dev_open();
	self->handle = bo_create(self->fd, PAGE, 0);
	query_limits(self->fd, &self->l);
}

FIXTURE_TEARDOWN(label)
{
	close(self->fd);
}

/* Whether a debugfs file of the device names it; skips where that cannot be read. */
static bool shown(const char *text)
{
	static char buf[1 << 20];
	char path[256];

	if (!dev_debugfs(dev_name(), "gems", path, sizeof(path)) ||
	    !read_text(path, buf, sizeof(buf)))
		SKIP("no debugfs");
	return !!strstr(buf, text);
}

TEST_F(label, set_replace_remove)
{
	EXPECT_EQ(0, bo_label_try(self->fd, self->handle, "one-label", 9));
	EXPECT_EQ(0, bo_label_try(self->fd, self->handle, "another-label", 13));
	EXPECT_EQ(0, bo_label_try(self->fd, self->handle, NULL, 0));
	EXPECT_EQ(0, bo_label_try(self->fd, self->handle, NULL, 0));
}

TEST_F(label, in_debugfs)
{
	ASSERT_EQ(0, bo_label_try(self->fd, self->handle, "selftest-first-XYZ", 14));
	EXPECT_TRUE(shown("selftest-first"));
	EXPECT_FALSE(shown("selftest-first-"));
	ASSERT_EQ(0, bo_label_try(self->fd, self->handle, "selftest-second", 15));
	EXPECT_FALSE(shown("selftest-first"));
	EXPECT_TRUE(shown("selftest-second"));
	ASSERT_EQ(0, bo_label_try(self->fd, self->handle, NULL, 0));
	EXPECT_FALSE(shown("selftest-second"));
}

TEST_F(label, longest)
{
	char *text = malloc(self->l.max_label + 1);

	ASSERT_TRUE(text);
	memset(text, 'l', self->l.max_label + 1);
	EXPECT_EQ(0, bo_label_try(self->fd, self->handle, text, self->l.max_label));
	EXPECT_EQ(-E2BIG, bo_label_try(self->fd, self->handle, text, self->l.max_label + 1));
	EXPECT_EQ(-E2BIG, bo_label_try(self->fd, self->handle, text, 0xffffffffu));
	EXPECT_EQ(-E2BIG, bo_label_try(self->fd, self->handle, text, 0x80000000u));
	free(text);
}

TEST_F(label, bad_characters)
{
	int c;

	for (c = 0; c < 32; c++) {
		char text[3] = { 'a', (char)c, 'b' };

		EXPECT_EQ(-EINVAL, bo_label_try(self->fd, self->handle, text, 3));
	}
	EXPECT_EQ(-EINVAL, bo_label_try(self->fd, self->handle, "\x7f", 1));
	EXPECT_EQ(0, bo_label_try(self->fd, self->handle, "f\xc3\xbcnf %s %n", 11));
}

TEST_F(label, pointer)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(p != MAP_FAILED);
	ASSERT_EQ(0, munmap(p + PAGE, PAGE));
	EXPECT_EQ(-EINVAL, bo_label_try(self->fd, self->handle, NULL, 4));
	EXPECT_EQ(-EINVAL, bo_label_try(self->fd, self->handle, "x", 0));
	memset(p, 'x', PAGE);
	EXPECT_EQ(-EFAULT, bo_label_try(self->fd, self->handle, p + PAGE, 4));
	EXPECT_EQ(-EFAULT, bo_label_try(self->fd, self->handle, p + PAGE - 3, 4));
	EXPECT_EQ(0, bo_label_try(self->fd, self->handle, p + PAGE - 4, 4));
}

TEST_F(label, of_imported)
{
	int dmabuf = prime_export(self->fd, self->handle), other = dev_open();

	EXPECT_EQ(0, bo_label_try(other, prime_import(other, dmabuf), "theirs", 6));
	close(other);
	close(dmabuf);
}

/* --- fdinfo ---------------------------------------------------------------------------- */

/* Value of a key in the fdinfo of a descriptor, -1 if it is not there. */
static long long fdinfo(int fd, const char *key)
{
	char path[64], text[8192], *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
			return strtoll(line + strlen(key) + 1, NULL, 0);
	}
	return -1;
}

static const char *const class_names[UMA_ENGINE_CLASS_COUNT] = {
	[UMA_ENGINE_MATRIX] = "matrix", [UMA_ENGINE_GPU] = "gpu", [UMA_ENGINE_NEURAL] = "neural",
};

TEST(fdinfo_keys)
{
	char path[64], text[8192];
	int fd = dev_open();

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	EXPECT_TRUE(strstr(text, "drm-driver:\tuma\n"));
	EXPECT_GT(fdinfo(fd, "drm-client-id"), 0);
	close(fd);
}

TEST(fdinfo_clients_differ)
{
	int fd = dev_open(), fd2 = dev_open();

	EXPECT_NE(fdinfo(fd, "drm-client-id"), fdinfo(fd2, "drm-client-id"));
	close(fd);
	close(fd2);
}

TEST(fdinfo_engines)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n, i, capacity[UMA_ENGINE_CLASS_COUNT] = { 0 };
	int fd = dev_open();
	char key[64];

	n = query_engines(fd, engines);
	for (i = 0; i < n; i++)
		capacity[engines[i].engine_class]++;
	for (i = 0; i < UMA_ENGINE_CLASS_COUNT; i++) {
		if (!capacity[i])
			continue;
		snprintf(key, sizeof(key), "drm-engine-%s", class_names[i]);
		EXPECT_EQ(0, fdinfo(fd, key));
		snprintf(key, sizeof(key), "drm-engine-capacity-%s", class_names[i]);
		EXPECT_EQ(capacity[i], fdinfo(fd, key));
	}
	close(fd);
}

/* Engine time is that of who used the engine, and of nobody else. */
TEST(fdinfo_engine_time)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct client c, idle;
	struct buf tasks, a;
	char key[64];
	int engine, i;
	long long t;

	client_open(&c);
	client_open(&idle);
	query_engines(c.fd, engines);
	engine = engine_for(c.fd, UMA_OP_GEMM, UMA_DTYPE_F32, UMA_DTYPE_F32, UMA_DTYPE_F32);
	ASSERT_GE(engine, 0);
	client_buf(&c, &a, 3 * 64 * PAGE);
	client_buf(&c, &tasks, PAGE);
	task_gemm_f32(tasks.task, a.va + 2 * 64 * PAGE, a.va, a.va + 64 * PAGE, 64, 64, 64);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, (unsigned int)engine),
					tasks.va, 1));
	snprintf(key, sizeof(key), "drm-engine-%s", class_names[engines[engine].engine_class]);
	t = fdinfo(c.fd, key);
	EXPECT_GT(t, 0);
	EXPECT_EQ(t, fdinfo(c.fd, key));
	EXPECT_EQ(0, fdinfo(idle.fd, key));
	client_close(&c);
	client_close(&idle);
}

TEST(fdinfo_memory)
{
	long long before, total;
	int fd = dev_open();
	__u32 handle;
	char *ptr;

	before = fdinfo(fd, "drm-total-memory");
	ASSERT_GE(before, 0);
	handle = bo_create(fd, 1 << 20, 0);
	total = fdinfo(fd, "drm-total-memory");
	/* In KiB or bytes, as the core likes. */
	EXPECT_TRUE(total - before == 1024 || total - before == 1 << 20 || total - before == 1);
	EXPECT_GE(fdinfo(fd, "drm-shared-memory"), 0);
	/* Newer kernels leave out what there is none of. */
	ptr = bo_map(fd, handle, 1 << 20);
	ptr[0] = 1;
	EXPECT_GT(fdinfo(fd, "drm-resident-memory"), 0);
	munmap(ptr, 1 << 20);
	gem_close(fd, handle);
	EXPECT_EQ(before, fdinfo(fd, "drm-total-memory"));
	close(fd);
}

/* --- everything that can be read ----------------------------------------------------------- */

static unsigned int files_read;

/* Reads what there is below a directory: no file may hang or complain in the kernel log. */
static void read_all(const char *dir, int depth)
{
	static const size_t sizes[] = { 4096, 1, 65536 };
	char path[PATH_MAX];
	struct dirent *entry;
	static char buf[65536];
	struct stat st;
	size_t i;
	DIR *d;
	int fd, n;

	d = opendir(dir);
	if (!d || depth > 6) {
		if (d)
			closedir(d);
		return;
	}
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >= (int)sizeof(path))
			continue;
		if (lstat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode)) {
			read_all(path, depth + 1);
			continue;
		}
		if (!S_ISREG(st.st_mode) || !(st.st_mode & 0444))
			continue;
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
			if (fd < 0)
				break;
			n = 0;
			while (n++ < 10000 && read(fd, buf, sizes[i]) > 0)
				;
			close(fd);
		}
		files_read++;
	}
	closedir(d);
}

static char *device_dir(char *resolved)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device", dev_name());
	return realpath(path, resolved);
}

TEST(read_all_of_sysfs)
{
	char dir[PATH_MAX];

	ASSERT_TRUE(device_dir(dir));
	read_all(dir, 0);
	EXPECT_GT(files_read, 3);
}

TEST(read_all_of_debugfs)
{
	struct client c;
	struct buf b;

	/* With something to show. */
	client_open(&c);
	client_buf(&c, &b, PAGE);
	ASSERT_EQ(0, bo_label_try(c.fd, b.handle, "shown", 5));
	ASSERT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), 0, 0));
	read_all("/sys/kernel/debug/accel", 0);
	read_all("/sys/kernel/debug/uma_emu", 0);
	if (!files_read)
		SKIP("no debugfs");
	client_close(&c);
}

/* While the objects that are shown come and go. */
TEST(read_debugfs_while_things_change)
{
	struct client c;
	struct buf b;
	pid_t pid;
	int i;

	pid = harness_fork();
	if (!pid) {
		for (i = 0; i < 40; i++) {
			client_open(&c);
			client_buf(&c, &b, PAGE);
			ASSERT_EQ(0, bo_label_try(c.fd, b.handle, "comes and goes", 14));
			ASSERT_EQ(0,
				  submit_one_try(c.fd, queue_create(c.fd, c.vm, 0), 0, 0, NULL, 0));
			ASSERT_EQ(0, bo_label_try(c.fd, b.handle, NULL, 0));
			client_close(&c);
		}
		_exit(0);
	}
	for (i = 0; i < 10; i++)
		read_all("/sys/kernel/debug/accel", 0);
	harness_join(pid);
}

TEST(sysfs_has_the_device)
{
	char path[128], text[256];

	snprintf(path, sizeof(path), "/sys/class/accel/%s/uevent", dev_name());
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	EXPECT_TRUE(strstr(text, "DEVNAME=accel/"));
}

/* --- nothing stays behind ------------------------------------------------------------------ */

static long long debugfs_number(const char *file)
{
	char path[256];

	if (!dev_debugfs(dev_name(), file, path, sizeof(path)))
		SKIP("no debugfs");
	return read_number(path);
}

TEST(counts_go_up_and_down)
{
	long long bos = debugfs_number("bo_count"), pinned = debugfs_number("pinned_pages");
	int fd = dev_open(), i;
	__u32 handle;
	void *p;

	for (i = 0; i < 10; i++)
		bo_create(fd, PAGE, 0);
	p = aligned_alloc(PAGE, 4 * PAGE);
	ASSERT_TRUE(p);
	memset(p, 1, 4 * PAGE);
	ASSERT_EQ(0, bo_import_user_try(fd, p, 4 * PAGE, 0, &handle));
	EXPECT_EQ(bos + 11, debugfs_number("bo_count"));
	EXPECT_EQ(pinned + 4, debugfs_number("pinned_pages"));
	close(fd);
	EXPECT_EQ(bos, debugfs_number("bo_count"));
	EXPECT_EQ(pinned, debugfs_number("pinned_pages"));
}

HARNESS_MAIN
