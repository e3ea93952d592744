// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DRM_IOCTL_UMA_QUERY, and what the core says about the driver.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "task.h"
#include "watch.h"

FIXTURE(query) {
	int fd;
};

FIXTURE_VARIANT(query) {
	__u32 type;
	__u32 index;
};

FIXTURE_VARIANT_ADD(query, device) { .type = DRM_UMA_QUERY_DEVICE };
FIXTURE_VARIANT_ADD(query, engines) { .type = DRM_UMA_QUERY_ENGINES };
FIXTURE_VARIANT_ADD(query, engine_caps) { .type = DRM_UMA_QUERY_ENGINE_CAPS };
FIXTURE_VARIANT_ADD(query, memory) { .type = DRM_UMA_QUERY_MEMORY };
FIXTURE_VARIANT_ADD(query, limits) { .type = DRM_UMA_QUERY_LIMITS };

FIXTURE_SETUP(query)
{
	self->fd = dev_open();
}

FIXTURE_TEARDOWN(query)
{
	close(self->fd);
}

#define SPACE	65536u

TEST_F(query, size_only)
{
	__u32 size = 0, again = 12345;

	ASSERT_EQ(0, query_try(self->fd, variant->type, 0, NULL, &size));
	EXPECT_GT(size, 0);
	EXPECT_LT(size, SPACE);
	EXPECT_EQ(0, size % 8);
	/* What the caller says about a buffer that there is not does not count. */
	ASSERT_EQ(0, query_try(self->fd, variant->type, 0, NULL, &again));
	EXPECT_EQ(size, again);
}

TEST_F(query, exact)
{
	static __u8 a[SPACE], b[SPACE];
	__u32 full = 0, size, i;

	ASSERT_EQ(0, query_try(self->fd, variant->type, 0, NULL, &full));
	memset(a, 0xaa, SPACE);
	memset(b, 0x55, SPACE);
	size = full;
	ASSERT_EQ(0, query_try(self->fd, variant->type, 0, a, &size));
	EXPECT_EQ(full, size);
	ASSERT_EQ(0, query_try(self->fd, variant->type, 0, b, &size));
	/* All of it is written, the same each time, and nothing behind it. */
	EXPECT_EQ(0, memcmp(a, b, full));
	for (i = full; i < full + 256; i++)
		ASSERT_EQ(0xaa, a[i]);
}

TEST_F(query, short_buffer)
{
	static __u8 a[SPACE], b[SPACE];
	__u32 full = SPACE, len, size, i;

	ASSERT_EQ(0, query_try(self->fd, variant->type, 0, a, &full));
	for (len = 0; len < full && len < 128; len++) {
		memset(b, 0xaa, SPACE);
		size = len;
		ASSERT_EQ(0, query_try(self->fd, variant->type, 0, b, &size));
		ASSERT_EQ(full, size);
		ASSERT_EQ(0, memcmp(a, b, len));
		for (i = len; i < full; i++)
			ASSERT_EQ(0xaa, b[i]);
	}
}

TEST_F(query, long_buffer)
{
	static __u8 a[2 * SPACE];
	__u32 full = 0, size, i;

	ASSERT_EQ(0, query_try(self->fd, variant->type, 0, NULL, &full));
	memset(a, 0xaa, 2 * SPACE);
	size = SPACE;
	ASSERT_EQ(0, query_try(self->fd, variant->type, 0, a, &size));
	EXPECT_EQ(full, size);
	for (i = full; i < SPACE; i++)
		ASSERT_EQ(0, a[i]);
	for (; i < 2 * SPACE; i++)
		ASSERT_EQ(0xaa, a[i]);
}

TEST_F(query, bad_pointer)
{
	__u8 *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u32 size;

	ASSERT_TRUE(p != MAP_FAILED);
	ASSERT_EQ(0, mprotect(p + PAGE, PAGE, PROT_READ));
	size = SPACE;
	EXPECT_EQ(-EFAULT, query_try(self->fd, variant->type, 0, (void *)8, &size));
	size = SPACE;
	EXPECT_EQ(-EFAULT, query_try(self->fd, variant->type, 0, p + PAGE, &size));
	size = SPACE;
	EXPECT_EQ(-EFAULT, query_try(self->fd, variant->type, 0, p + PAGE - 8, &size));
	/* The zeroed rest reaches the read-only page. */
	size = SPACE;
	EXPECT_EQ(-EFAULT, query_try(self->fd, variant->type, 0, p, &size));
	size = 0xffffffffu;
	EXPECT_EQ(-EFAULT, query_try(self->fd, variant->type, 0, p, &size));
}

TEST_F(query, bad_index)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n = query_engines(self->fd, engines);
	__u32 size = 0;

	if (variant->type == DRM_UMA_QUERY_ENGINE_CAPS) {
		EXPECT_EQ(0, query_try(self->fd, variant->type, n - 1, NULL, &size));
		EXPECT_EQ(-EINVAL, query_try(self->fd, variant->type, n, NULL, &size));
		EXPECT_EQ(-EINVAL, query_try(self->fd, variant->type, n + 1, NULL, &size));
	} else {
		EXPECT_EQ(-EINVAL, query_try(self->fd, variant->type, 1, NULL, &size));
	}
	EXPECT_EQ(-EINVAL, query_try(self->fd, variant->type, 0x80000000u, NULL, &size));
	EXPECT_EQ(-EINVAL, query_try(self->fd, variant->type, 0xffffffffu, NULL, &size));
}

TEST(unknown_types)
{
	__u32 size = 0;
	int fd = dev_open();

	EXPECT_EQ(-EINVAL, query_try(fd, 0, 0, NULL, &size));
	EXPECT_EQ(-EINVAL, query_try(fd, DRM_UMA_QUERY_LIMITS + 1, 0, NULL, &size));
	EXPECT_EQ(-EINVAL, query_try(fd, 0x80000001u, 0, NULL, &size));
	EXPECT_EQ(-EINVAL, query_try(fd, 0xffffffffu, 0, NULL, &size));
	close(fd);
}

TEST(version)
{
	char name[32] = "", date[32] = "", desc[128] = "";
	struct drm_version v = {
		.name = name,
		.name_len = sizeof(name) - 1,
		.date = date,
		.date_len = sizeof(date) - 1,
		.desc = desc,
		.desc_len = sizeof(desc) - 1,
	};
	int fd = dev_open();

	ASSERT_EQ(0, do_ioctl(fd, DRM_IOCTL_VERSION, &v));
	EXPECT_EQ(0, strcmp(name, "uma"));
	EXPECT_EQ(1, v.version_major);
	EXPECT_GE(v.version_minor, 0);
	EXPECT_GT(strlen(desc), 0);
	close(fd);
}

TEST(core_caps)
{
	static const __u64 wanted[] = { DRM_CAP_SYNCOBJ, DRM_CAP_SYNCOBJ_TIMELINE };
	struct drm_get_cap cap = { .capability = DRM_CAP_PRIME };
	int fd = dev_open();
	size_t i;

	ASSERT_EQ(0, do_ioctl(fd, DRM_IOCTL_GET_CAP, &cap));
	EXPECT_EQ(DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT, cap.value);
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		cap = (struct drm_get_cap){ .capability = wanted[i] };
		ASSERT_EQ(0, do_ioctl(fd, DRM_IOCTL_GET_CAP, &cap));
		EXPECT_EQ(1, cap.value);
	}
	close(fd);
}

TEST(no_modesetting)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 64, .bpp = 32 };
	struct drm_mode_card_res res = { 0 };
	int fd = dev_open();

	EXPECT_NE(0, do_ioctl(fd, DRM_IOCTL_MODE_GETRESOURCES, &res));
	EXPECT_NE(0, do_ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	close(fd);
}

TEST(device_makes_sense)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct drm_uma_query_device dev;
	int fd = dev_open();
	__u32 size;

	query_device(fd, &dev);
	EXPECT_GT(strnlen(dev.profile, sizeof(dev.profile)), 0);
	EXPECT_LT(strnlen(dev.profile, sizeof(dev.profile)), sizeof(dev.profile));
	EXPECT_EQ(0, dev.flags & ~(__u64)(DRM_UMA_DEVICE_EMULATED | DRM_UMA_DEVICE_MODELLED_POWER |
					  DRM_UMA_DEVICE_COHERENT));
	EXPECT_EQ(1, dev.hw_version >> 16);
	EXPECT_EQ(UMA_TASK_VERSION, dev.task_version);
	EXPECT_EQ(query_engines(fd, engines), dev.engine_count);
	size = 0;
	ASSERT_EQ(0, query_try(fd, DRM_UMA_QUERY_MEMORY, 0, NULL, &size));
	EXPECT_EQ(size / sizeof(struct drm_uma_query_memory), dev.node_count);
	EXPECT_GT(dev.timestamp_hz, 0);
	EXPECT_GE(dev.va_bits, 32);
	EXPECT_LE(dev.va_bits, 64);
	EXPECT_EQ(PAGE, dev.page_size);
	EXPECT_EQ(0, dev.block_size & (dev.block_size - 1));
	EXPECT_GT(dev.block_size, dev.page_size);
	close(fd);
}

TEST(engines_make_sense)
{
	struct drm_uma_query_engine e[MAX_ENGINES];
	unsigned int instances[UMA_ENGINE_CLASS_COUNT] = { 0 };
	struct drm_uma_query_limits limits;
	struct uma_op_cap caps[MAX_CAPS];
	struct drm_uma_query_device dev;
	unsigned int n, m, i, k;
	int fd = dev_open();

	query_device(fd, &dev);
	query_limits(fd, &limits);
	n = query_engines(fd, e);
	for (i = 0; i < n; i++) {
		ASSERT_LT(e[i].engine_class, UMA_ENGINE_CLASS_COUNT);
		EXPECT_EQ(instances[e[i].engine_class], e[i].instance);
		instances[e[i].engine_class]++;
		EXPECT_EQ(0, e[i].flags & ~(UMA_ENGINE_DYNAMIC_SHAPES | UMA_ENGINE_PREEMPT |
					    UMA_ENGINE_LENGTHS));
		EXPECT_LT(e[i].node, dev.node_count);
		EXPECT_GT(e[i].clock_max_mhz, 0);
		EXPECT_GE(e[i].max_job_tasks, 1);
		EXPECT_LE(limits.max_job_tasks, e[i].max_job_tasks);
		m = query_caps(fd, i, caps);
		EXPECT_EQ(m, e[i].cap_count);
		for (k = 0; k < m; k++) {
			EXPECT_LT(le16toh(caps[k].opcode), UMA_OP_COUNT);
			EXPECT_GE(caps[k].rank_max, 1);
			EXPECT_LE(caps[k].rank_max, UMA_MAX_RANK);
			EXPECT_EQ(0, le32toh(caps[k].d_dtypes) >> UMA_DTYPE_COUNT);
			EXPECT_EQ(0, le32toh(caps[k].epilogue) & ~UMA_EPI_MASK);
			EXPECT_EQ(0, le32toh(caps[k].acts) >> UMA_ACT_COUNT);
			/* One that has no operands has no alignment either. */
			if (le16toh(caps[k].opcode) != UMA_OP_NOP)
				EXPECT_GE(le32toh(caps[k].align), 1);
		}
	}
	close(fd);
}

TEST(limits_make_sense)
{
	struct drm_uma_query_limits l;
	struct drm_uma_query_device dev;
	int fd = dev_open();

	query_device(fd, &dev);
	query_limits(fd, &l);
	EXPECT_GE(l.max_bo_size, 1u << 20);
	EXPECT_EQ(0, l.max_bo_size % PAGE);
	EXPECT_GE(l.va_start, PAGE);
	EXPECT_EQ(0, l.va_start % PAGE);
	EXPECT_GT(l.va_end, l.va_start);
	EXPECT_EQ(0, l.va_end % PAGE);
	if (dev.va_bits < 64)
		EXPECT_LE(l.va_end, 1ull << dev.va_bits);
	EXPECT_GE(l.max_vms, 2);
	EXPECT_GE(l.max_queues, dev.engine_count);
	EXPECT_GE(l.max_bind_ops, 2);
	EXPECT_GE(l.max_sync_ranges, 1);
	EXPECT_GE(l.max_submit_jobs, 2);
	EXPECT_GE(l.max_job_syncs, 2);
	EXPECT_GE(l.max_job_tasks, 1);
	EXPECT_GE(l.max_label, 16);
	EXPECT_GT(l.max_timeout_ms, 0);
	EXPECT_GT(l.default_timeout_ms, 0);
	EXPECT_LE(l.default_timeout_ms, l.max_timeout_ms);
	EXPECT_GE(l.max_mappings, l.max_bind_ops);
	EXPECT_GE(l.max_queued_jobs, 1);
	EXPECT_GE(l.max_file_jobs, l.max_queued_jobs);
	EXPECT_GE(l.max_job_bos, 2);
	EXPECT_GE(l.max_submit_bos, l.max_job_bos);
	EXPECT_EQ(0, l.priorities >> (DRM_UMA_PRIORITY_REALTIME + 1));
	EXPECT_TRUE(l.priorities & 1u << DRM_UMA_PRIORITY_NORMAL);
	EXPECT_TRUE(l.priorities & 1u << DRM_UMA_PRIORITY_LOW);
	close(fd);
}

TEST(memory_makes_sense)
{
	struct drm_uma_query_memory nodes[16];
	__u32 size = sizeof(nodes), i;
	int fd = dev_open();

	ASSERT_EQ(0, query_try(fd, DRM_UMA_QUERY_MEMORY, 0, nodes, &size));
	ASSERT_LE(size, sizeof(nodes));
	for (i = 0; i < size / sizeof(nodes[0]); i++) {
		EXPECT_EQ(i, nodes[i].node);
		EXPECT_GT(nodes[i].size, 0);
	}
	close(fd);
}

TEST(same_for_every_file)
{
	static __u8 a[SPACE], b[SPACE];
	int fd = dev_open(), fd2 = dev_open();
	__u32 type, size, size2;

	for (type = DRM_UMA_QUERY_DEVICE; type <= DRM_UMA_QUERY_LIMITS; type++) {
		size = SPACE;
		size2 = SPACE;
		ASSERT_EQ(0, query_try(fd, type, 0, a, &size));
		ASSERT_EQ(0, query_try(fd2, type, 0, b, &size2));
		EXPECT_EQ(size, size2);
		EXPECT_EQ(0, memcmp(a, b, SPACE));
	}
	close(fd);
	close(fd2);
}

#define PIECE	(16ull << 20)
#define PIECES	32u

/* Not even what is asked for is so much that whoever is killed does it first. */
TEST(killed_while_it_clears)
{
	int fd = dev_open(), mem = memfd_create("room", MFD_CLOEXEC), status;
	uint64_t begin, whole;
	__u32 size, i;
	pid_t pid;
	__u8 *p;

	/* The same memory again and again. */
	ASSERT_EQ(0, ftruncate(mem, PIECE));
	p = mmap(NULL, PIECES * PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	for (i = 0; i < PIECES; i++)
		ASSERT_TRUE(mmap(p + i * PIECE, PIECE, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, mem, 0) != MAP_FAILED);
	size = PIECES * PIECE;
	begin = now_ns();
	ASSERT_EQ(0, query_try(fd, DRM_UMA_QUERY_DEVICE, 0, p, &size));
	whole = now_ns() - begin;

	begin = now_ns();
	pid = harness_fork();
	if (!pid) {
		size = PIECES * PIECE;
		query_try(fd, DRM_UMA_QUERY_DEVICE, 0, p, &size);
		_exit(0);
	}
	usleep((useconds_t)(whole / 4000));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	harness_diag("all of it takes %llu ms; killed it was gone after %llu ms",
		     (unsigned long long)whole / 1000000,
		     (unsigned long long)(now_ns() - begin) / 1000000);
	EXPECT_LT(now_ns() - begin, whole / 2);
	munmap(p, PIECES * PIECE);
	close(mem);
	close(fd);
}

HARNESS_MAIN
