// SPDX-License-Identifier: MIT
/* Buffers: creating, importing, sharing. */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "libaccel/sw/sw.h"
#include "uma_accel.h"
#include "rt.h"

static uint64_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static void test_create(void **state)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	struct rt *rt = *state;
	struct accel_bo *bo;
	size_t i;

	bo = rt_bo(rt->ctx, 10001);
	assert_int_equal(accel_bo_size(bo), 10001);
	assert_non_null(accel_bo_ptr(bo));
	for (i = 0; i < 10001; i++)
		assert_int_equal(((char *)accel_bo_ptr(bo))[i], 0);
	/* One address for both. */
	assert_true(bo->addr == (uintptr_t)accel_bo_ptr(bo));
	assert_ptr_equal(accel_bo_ref(bo), bo);
	accel_bo_unref(bo);
	accel_bo_unref(bo);
	accel_bo_unref(NULL);

	opts.flags = ACCEL_BO_NO_MAP;
	opts.label = "hidden";
	assert_int_equal(accel_bo_create(rt->ctx, 4096, &opts, &bo), 0);
	assert_null(accel_bo_ptr(bo));
	accel_bo_unref(bo);
	opts.flags = ACCEL_BO_WC;
	assert_int_equal(accel_bo_create(rt->ctx, 4096, &opts, &bo), 0);
	memset(accel_bo_ptr(bo), 1, 4096);
	accel_bo_unref(bo);

	/* Large enough for large pages. */
	bo = rt_bo(rt->ctx, 5u << 20);
	((char *)accel_bo_ptr(bo))[(5u << 20) - 1] = 1;
	accel_bo_unref(bo);
}

static void test_create_errors(void **state)
{
	struct accel_device_info info = { sizeof(info) };
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	struct rt *rt = *state;
	struct accel_bo *bo;

	assert_int_equal(accel_device_get_info(rt->dev, &info), 0);
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, 0, NULL, &bo), -EINVAL,
		     "bytes");
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, info.max_bo_size + 1, NULL,
					      &bo), -EINVAL, "bytes");
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, UINT64_MAX, NULL, &bo),
		     -EINVAL, "bytes");
	opts.flags = 1u << 31;
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, 1, &opts, &bo), -EINVAL,
		     "opts.flags");
	opts.flags = ACCEL_BO_READONLY;
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, 1, &opts, &bo), -EINVAL,
		     "opts.flags");
	opts.flags = ACCEL_BO_WC | ACCEL_BO_NO_MAP;
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, 1, &opts, &bo), -EINVAL,
		     "opts.flags");
	opts.flags = 0;
	opts.size = 7;
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, 1, &opts, &bo), -EINVAL,
		     "opts.size");
}

static void test_cpu_access(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 100);

	assert_int_equal(accel_bo_cpu_begin(bo, 0, 100, ACCEL_CPU_READ), 0);
	assert_int_equal(accel_bo_cpu_end(bo, 0, 100, ACCEL_CPU_READ), 0);
	assert_int_equal(accel_bo_cpu_begin(bo, 100, 0, ACCEL_CPU_WRITE), 0);
	assert_int_equal(accel_bo_cpu_end(bo, 99, 1, ACCEL_CPU_WRITE |
					  ACCEL_CPU_READ), 0);
	assert_fails(rt->ctx, accel_bo_cpu_begin(bo, 0, 1, 0), -EINVAL, "flags");
	assert_fails(rt->ctx, accel_bo_cpu_begin(bo, 0, 1, 4), -EINVAL, "flags");
	assert_fails(rt->ctx, accel_bo_cpu_begin(bo, 101, 0, ACCEL_CPU_READ),
		     -EINVAL, "offset");
	assert_fails(rt->ctx, accel_bo_cpu_end(bo, 1, 100, ACCEL_CPU_READ),
		     -EINVAL, "bytes");
	assert_fails(rt->ctx, accel_bo_cpu_end(bo, 1, UINT64_MAX, ACCEL_CPU_READ),
		     -EINVAL, "bytes");
	accel_bo_unref(bo);
}

/* Use a buffer: fill it by the device and look. */
static void use(struct rt *rt, struct accel_bo *bo, uint32_t n, float value)
{
	struct accel_job *job = rt_job(rt->ctx, 0);
	uint32_t i;

	rt_add_fill(job, bo, 0, n, value, NULL, 0);
	rt_run(rt->queue, job);
	accel_job_destroy(job);
	for (i = 0; i < n; i++)
		assert_true(rt_floats(bo)[i] == value);
}

static void test_import_ptr(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo;
	float *mem = malloc(10000), old;

	assert_non_null(mem);
	memset(mem, 0, 10000);
	/* At any address: what is around it stays as it is. */
	assert_int_equal(accel_bo_import_ptr(rt->ctx, mem + 3, 1000, NULL, &bo), 0);
	assert_ptr_equal(accel_bo_ptr(bo), mem + 3);
	assert_int_equal(accel_bo_size(bo), 1000);
	old = mem[2];
	use(rt, bo, 250, 7);
	assert_true(mem[2] == old);
	assert_true(mem[3] == 7);
	assert_true(mem[252] == 7);
	assert_true(mem[253] == 0);
	accel_bo_unref(bo);
	free(mem);
}

static void test_import_errors(void **state)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	const uint64_t page = page_size();
	struct rt *rt = *state;
	struct accel_bo *bo;
	char *p;

	p = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(munmap(p + page, page), 0);
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, NULL, 1, NULL, &bo),
		     -EFAULT, "ptr");
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, p, 0, NULL, &bo),
		     -EINVAL, "bytes");
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, p + page, 1, NULL,
						  &bo), -EFAULT, "ptr");
	/* A hole in the middle; nothing of it stays bound. */
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, p, 3 * page, NULL,
						  &bo), -EFAULT, "ptr");
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, (void *)(UINTPTR_MAX - 10),
						  100, NULL, &bo), -EFAULT, "bytes");
	opts.flags = ACCEL_BO_WC;
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, p, 1, &opts, &bo),
		     -EINVAL, "opts.flags");

	/* Read-only memory can be imported to be read. */
	assert_int_equal(mprotect(p, page, PROT_READ), 0);
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, p, page, NULL, &bo),
		     -EFAULT, "ptr");
	opts.flags = ACCEL_BO_READONLY;
	assert_int_equal(accel_bo_import_ptr(rt->ctx, p, page, &opts, &bo), 0);
	accel_bo_unref(bo);
	munmap(p, page);
	munmap(p + 2 * page, page);
}

/* Pages of a range that are there. */
static uint32_t resident(uint8_t *p, uint32_t pages)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	unsigned char there[4096];
	uint32_t i, n = 0;

	assert_true(pages <= sizeof(there));
	assert_int_equal(mincore(p, pages * page, there), 0);
	for (i = 0; i < pages; i++)
		n += there[i] & 1;
	return n;
}

/* Lazily: what is not used is not touched; what is, is read in its place. */
static void test_lazy(void **state)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	const size_t page = sysconf(_SC_PAGESIZE);
	struct rt *rt = *state;
	struct accel_bo *bo, *d = rt_bo(rt->ctx, page), *part;
	struct accel_job *job = rt_job(rt->ctx, 0);
	uint8_t *p;

	p = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	opts.flags = ACCEL_BO_LAZY;
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, p, 64 * page, &opts, &bo), -EINVAL,
		     "opts.flags");
	opts.flags = ACCEL_BO_LAZY | ACCEL_BO_READONLY;
	assert_int_equal(accel_bo_import_ptr(rt->ctx, p, 64 * page, &opts, &bo), 0);
	/* A device of its own has them all. */
	if (rt_is_sw())
		assert_int_equal(resident(p, 64), 0);
	*(float *)(p + 40 * page) = 3;
	rt_add_copy(job, d, 0, bo, 40 * page, page / 4, NULL, 0);
	rt_run(rt->queue, job);
	assert_true(rt_floats(d)[0] == 3);
	if (rt_is_sw())
		assert_int_equal(resident(p, 64), 1);
	/* Whoever needs a part of it at once has that. */
	assert_int_equal(accel_bo_import_ptr(rt->ctx, p, 2 * page, NULL, &part), 0);
	if (rt_is_sw())
		assert_int_equal(resident(p, 64), 3);
	accel_bo_unref(part);
	accel_job_destroy(job);
	accel_bo_unref(bo);
	accel_bo_unref(d);
	munmap(p, 64 * page);
	opts.flags = ACCEL_BO_LAZY | ACCEL_BO_READONLY;
	assert_fails(rt->ctx, accel_bo_import_ptr(rt->ctx, p, 64 * page, &opts, &bo), -EFAULT,
		     "ptr");
}

/* A lazy buffer of the in-process device takes no more memory than is written. */
static void test_create_lazy(void **state)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	const size_t page = sysconf(_SC_PAGESIZE), pages = (16ul << 20) / page, step = pages / 8;
	struct rt *rt = *state;
	struct accel_bo *bo;
	uint8_t *p;
	size_t i;

	opts.flags = ACCEL_BO_LAZY;
	assert_int_equal(accel_bo_create(rt->ctx, pages * page, &opts, &bo), 0);
	p = accel_bo_ptr(bo);
	for (i = 0; i < pages; i += step)
		p[i * page] = 1;
	if (rt_is_sw())
		assert_int_equal(resident(p, pages), 8);
	for (i = 0; i < pages; i++)
		assert_int_equal(p[i * page], i % step == 0);
	accel_bo_unref(bo);
	opts.flags = ACCEL_BO_LAZY | ACCEL_BO_READONLY;
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, page, &opts, &bo), -EINVAL, "opts.flags");
}

/* Imports that share pages, in all ways, given up in another order. */
static void test_import_overlap(void **state)
{
	const uint64_t page = page_size();
	struct rt *rt = *state;
	struct accel_bo *bo[6];
	char *p;
	int i;

	p = aligned_alloc(page, 8 * page);
	assert_non_null(p);
	memset(p, 0, 8 * page);
	/* two in one page, one across it, one in the middle, all, again */
	const struct {
		uint64_t offset, size;
	} r[6] = {
		{ 16, 64 }, { 128, 64 }, { page - 64, page },
		{ 4 * page, page + 4 }, { 0, 8 * page }, { 128, 64 },
	};

	for (i = 0; i < 6; i++)
		assert_int_equal(accel_bo_import_ptr(rt->ctx, p + r[i].offset,
						     r[i].size, NULL, &bo[i]), 0);
	for (i = 0; i < 6; i++)
		use(rt, bo[i], r[i].size / 4, i + 1);
	accel_bo_unref(bo[4]);
	for (i = 0; i < 4; i++)
		use(rt, bo[i], r[i].size / 4, i + 11);
	accel_bo_unref(bo[1]);
	use(rt, bo[5], 16, 21);
	accel_bo_unref(bo[0]);
	use(rt, bo[5], 16, 22);
	use(rt, bo[2], page / 4, 23);
	accel_bo_unref(bo[2]);
	use(rt, bo[5], 16, 24);
	use(rt, bo[3], page / 4 + 1, 25);
	accel_bo_unref(bo[5]);
	accel_bo_unref(bo[3]);
	free(p);
}

/*
 * What an import alone held is let go with it, though another one of the same
 * call's pages stays: memory mapped there afterwards is what the device sees.
 */
static void test_import_again(void **state)
{
	const uint64_t page = page_size();
	struct accel_bo *whole, *end, *again;
	struct rt *rt = *state;
	char *p, *q;

	p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(accel_bo_import_ptr(rt->ctx, p, 4 * page, NULL, &whole), 0);
	assert_int_equal(accel_bo_import_ptr(rt->ctx, p + 3 * page, page, NULL,
					     &end), 0);
	use(rt, whole, page, 1);
	accel_bo_unref(whole);
	q = mmap(p, 2 * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(q, p);
	assert_int_equal(accel_bo_import_ptr(rt->ctx, p, 2 * page, NULL, &again),
			 0);
	use(rt, again, page / 2, 2);
	use(rt, end, page / 4, 3);
	accel_bo_unref(again);
	accel_bo_unref(end);
	munmap(p, 4 * page);
}

static void test_readonly(void **state)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	struct accel_fence_info info = { sizeof(info) };
	const uint64_t page = page_size();
	struct accel_bo *ro, *rw, *out;
	struct accel_binding b;
	struct accel_plan *plan;
	struct accel_fence *fence;
	struct rt *rt = *state;
	struct accel_queue *queue;
	struct accel_job *job;
	float *p;

	p = aligned_alloc(page, 2 * page);
	assert_non_null(p);
	memset(p, 0, 2 * page);
	p[0] = 5;
	opts.flags = ACCEL_BO_READONLY;
	assert_int_equal(accel_bo_import_ptr(rt->ctx, p, 2 * page, &opts, &ro), 0);
	out = rt_bo(rt->ctx, page);

	/* Reading is fine, writing is refused where it can be seen ... */
	job = rt_job(rt->ctx, 0);
	rt_add_copy(job, out, 0, ro, 0, 4, NULL, 0);
	rt_run(rt->queue, job);
	assert_true(rt_floats(out)[0] == 5);
	accel_job_destroy(job);
	job = rt_job(rt->ctx, 0);
	plan = rt_fill_plan(rt->ctx, 4, 9, 16);
	b = (struct accel_binding){ ACCEL_ARG_D, 0, ro, 0 };
	assert_fails(rt->ctx, accel_job_add(job, plan, &b, 1, NULL, 0, NULL),
		     -EINVAL, "bindings[0].bo");

	/* ... and faults where it cannot. */
	plan->args[0].write = false;
	assert_int_equal(accel_job_add(job, plan, &b, 1, NULL, 0, NULL), 0);
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &queue), 0);
	fence = rt_submit(queue, job, NULL);
	assert_int_equal(accel_fence_wait(fence, -1), -EFAULT);
	assert_int_equal(accel_fence_get_info(fence, &info), 0);
	assert_string_equal(info.reason, "write");
	assert_true(info.addr == (uintptr_t)p);
	assert_true(p[0] == 5);
	accel_fence_unref(fence);
	accel_queue_destroy(queue);
	accel_job_destroy(job);
	accel_plan_unref(plan);

	/* Another import of a part of it may be written. */
	assert_int_equal(accel_bo_import_ptr(rt->ctx, p + page / 4, page, NULL,
					     &rw), 0);
	use(rt, rw, 8, 6);
	accel_bo_unref(ro);
	use(rt, rw, 8, 8);
	accel_bo_unref(rw);
	accel_bo_unref(out);
	free(p);
}

static void test_dmabuf(void **state)
{
	struct rt *rt = *state;
	struct accel_ctx *other;
	struct accel_queue *queue;
	struct accel_bo *bo, *shared;
	struct accel_job *job;
	float *at;
	int fd, fd2;

	bo = rt_bo(rt->ctx, 3 * page_size());
	at = accel_bo_ptr(bo);
	at[5] = 42;
	assert_int_equal(accel_bo_export_dmabuf(bo, &fd), 0);
	assert_int_equal(accel_bo_export_dmabuf(bo, &fd2), 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	/* It stays where it was, with what was in it. */
	assert_ptr_equal(accel_bo_ptr(bo), at);
	assert_true(at[5] == 42);

	assert_int_equal(accel_ctx_create(rt->dev, NULL, &other), 0);
	assert_int_equal(accel_queue_create(other, NULL, &queue), 0);
	assert_int_equal(accel_bo_import_dmabuf(other, fd, NULL, &shared), 0);
	close(fd);
	close(fd2);
	assert_int_equal(accel_bo_size(shared), 3 * page_size());
	assert_true(rt_floats(shared)[5] == 42);
	/* One memory: the other context's device writes, we see it. */
	job = rt_job(other, 0);
	rt_add_fill(job, shared, 0, 4, 13, NULL, 0);
	rt_run(queue, job);
	assert_true(at[3] == 13);
	at[7] = 14;
	assert_true(rt_floats(shared)[7] == 14);
	/* It lives as long as somebody has it. */
	accel_bo_unref(bo);
	assert_true(rt_floats(shared)[7] == 14);
	rt_run(queue, job);
	assert_fails(other, accel_bo_export_dmabuf(shared, &fd), -EOPNOTSUPP,
		     "bo");
	accel_job_destroy(job);
	accel_bo_unref(shared);
	accel_queue_destroy(queue);
	accel_ctx_destroy(other);
}

/* The same memory twice in one context. */
static void test_dmabuf_twice(void **state)
{
	struct accel_bo *bo, *a, *b;
	struct rt *rt = *state;
	int fd;

	bo = rt_bo(rt->ctx, page_size());
	assert_int_equal(accel_bo_export_dmabuf(bo, &fd), 0);
	assert_int_equal(accel_bo_import_dmabuf(rt->ctx, fd, NULL, &a), 0);
	assert_int_equal(accel_bo_import_dmabuf(rt->ctx, fd, NULL, &b), 0);
	close(fd);
	use(rt, a, 16, 3);
	accel_bo_unref(a);
	use(rt, b, 16, 4);
	assert_true(rt_floats(bo)[0] == 4);
	accel_bo_unref(bo);
	use(rt, b, 16, 5);
	accel_bo_unref(b);
}

/* A descriptor of a page, for reading only */
static int read_only_fd(void)
{
	struct drm_uma_bo_create create = { .size = page_size() };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };
	char path[32];
	int fd, ret;

	if (rt_is_sw()) {
		fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, page_size()), 0);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ret = open(path, O_RDONLY | O_CLOEXEC);
	} else {
		fd = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(ioctl(fd, DRM_IOCTL_UMA_BO_CREATE, &create), 0);
		prime.handle = create.handle;
		assert_int_equal(ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), 0);
		ret = prime.fd;
	}
	assert_true(ret >= 0);
	close(fd);
	return ret;
}

/* Without write access neither the processor nor the device writes. */
static void test_dmabuf_read_only(void **state)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	struct accel_bo *bo, *out;
	struct rt *rt = *state;
	struct accel_job *job;
	int fd = read_only_fd();

	assert_fails(rt->ctx, accel_bo_import_dmabuf(rt->ctx, fd, NULL, &bo),
		     -EOPNOTSUPP, "fd");
	opts.flags = ACCEL_BO_READONLY;
	assert_int_equal(accel_bo_import_dmabuf(rt->ctx, fd, &opts, &bo), 0);
	close(fd);
	out = rt_bo(rt->ctx, page_size());
	rt_floats(out)[3] = 1;
	job = rt_job(rt->ctx, 0);
	rt_add_copy(job, out, 0, bo, 0, 4, NULL, 0);
	rt_run(rt->queue, job);
	assert_true(rt_floats(bo)[3] == 0 && rt_floats(out)[3] == 0);
	accel_job_destroy(job);
	accel_bo_unref(out);
	accel_bo_unref(bo);
}

static void test_dmabuf_errors(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo;
	static char mem[8];
	int fd;

	assert_fails(rt->ctx, accel_bo_import_dmabuf(rt->ctx, -1, NULL, &bo),
		     -EBADF, "fd");
	assert_fails(rt->ctx, accel_bo_import_dmabuf(rt->ctx, 1000000, NULL, &bo),
		     -EBADF, "fd");
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_fails(rt->ctx, accel_bo_import_dmabuf(rt->ctx, fd, NULL, &bo),
		     -EINVAL, "fd");
	close(fd);
	/* Memory that can shrink under the device is no buffer. */
	fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, page_size()), 0);
	assert_fails(rt->ctx, accel_bo_import_dmabuf(rt->ctx, fd, NULL, &bo),
		     -EINVAL, "fd");
	close(fd);
	assert_int_equal(accel_bo_import_ptr(rt->ctx, mem, 8, NULL, &bo), 0);
	assert_fails(rt->ctx, accel_bo_export_dmabuf(bo, &fd), -EOPNOTSUPP, "bo");
	accel_bo_unref(bo);
}

/* Whoever imports a memfd finds it at the place where it was. */
static void test_memfd(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo;
	int fd;

	if (!rt_is_sw())
		skip();
	fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, page_size()), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(lseek(fd, 5, SEEK_SET), 5);
	assert_int_equal(accel_bo_import_dmabuf(rt->ctx, fd, NULL, &bo), 0);
	assert_int_equal(accel_bo_size(bo), page_size());
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 5);
	accel_bo_unref(bo);
	close(fd);
}

/* A job keeps its buffers, also if nobody else does. */
static void test_kept_by_job(void **state)
{
	struct accel_memory_stats stats = { sizeof(stats) };
	struct rt *rt = *state;
	struct accel_bo *a, *b;
	struct accel_job *job;
	float *p;

	a = rt_bo(rt->ctx, 4096);
	b = rt_bo(rt->ctx, 4096);
	p = accel_bo_ptr(a);
	job = rt_job(rt->ctx, 0);
	rt_add_fill(job, b, 0, 1024, 2, NULL, 0);
	rt_add_copy(job, a, 0, b, 0, 1024, NULL, 0);
	accel_bo_unref(b);
	rt_run(rt->queue, job);
	assert_true(p[1023] == 2);
	accel_job_destroy(job);
	assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), 0);
	assert_int_equal(stats.bo_count, 1);
	accel_bo_unref(a);
}

/* Is a run using the bindings that the context has now? */
static bool in_use(struct accel_ctx *ctx)
{
	struct sw_ctx *sw = to_sw_ctx(ctx);
	bool used;

	pthread_mutex_lock(&sw->lock);
	used = sw->ranges->refs > 1;
	pthread_mutex_unlock(&sw->lock);
	return used;
}

static bool is_mapped(void *p)
{
	return !msync(p, page_size(), MS_ASYNC);
}

/*
 * Buffers that go while a job runs, which might still access them, stay mapped until it has
 * ended, and no longer, although its fence, its queue and the job are still there.
 */
static void test_unmapped(void **state)
{
	enum { OPS = 2000, FLOATS = 1 << 16, BYTES = 64 << 20, BUFFERS = 3 };
	struct accel_bo *bo, *more[BUFFERS];
	struct rt *rt = *state;
	struct accel_fence *fence = NULL;
	struct accel_job *job;
	void *p[BUFFERS];
	bool kept = false;
	int i, tries;

	if (!rt_is_sw())
		skip();
	bo = rt_bo(rt->ctx, FLOATS * 4);
	job = rt_job(rt->ctx, 0);
	for (i = 0; i < OPS; i++)
		rt_add_fill(job, bo, 0, FLOATS, (float)i, NULL, 0);
	for (tries = 0; tries < 100 && !kept; tries++) {
		for (i = 0; i < BUFFERS; i++) {
			more[i] = rt_bo(rt->ctx, BYTES);
			p[i] = accel_bo_ptr(more[i]);
		}
		accel_fence_unref(fence);
		fence = rt_submit(rt->queue, job, NULL);
		while (!in_use(rt->ctx) && accel_fence_wait(fence, 0))
			sched_yield();
		/* Each leaves another table behind: the run has the first one. */
		for (i = 0; i < BUFFERS; i++)
			accel_bo_unref(more[i]);
		/* Else the run has ended already. */
		kept = is_mapped(p[0]);
		assert_int_equal(accel_fence_wait(fence, -1), 0);
	}
	assert_true(kept);
	for (i = 0; i < BUFFERS; i++)
		assert_false(is_mapped(p[i]));
	accel_fence_unref(fence);
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		T(test_create), T(test_create_errors), T(test_cpu_access),
		T(test_import_ptr), T(test_import_errors), T(test_lazy),
		T(test_create_lazy),
		T(test_import_overlap), T(test_import_again), T(test_readonly),
		T(test_dmabuf), T(test_dmabuf_twice), T(test_dmabuf_read_only),
		T(test_dmabuf_errors), T(test_memfd),
		T(test_kept_by_job), T(test_unmapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
