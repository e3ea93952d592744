// SPDX-License-Identifier: MIT
/*
 * Weights of a file that are read ahead. A job ends with an operation that fails at once, so that
 * what is in memory behind it was asked for, and not read by an operation.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include "rt.h"

/* A matrix is SIDE x columns numbers; the one of FAR columns is larger than what is asked for. */
#define SIDE	1024
#define FAR	20480
#define BYTES	(4ul * SIDE * SIDE)

/* Where matrices are in the file: what is read, what comes behind it, a table, and the rest */
enum { FIRST, NEXT, TABLE, OTHER, LAST };

struct file {
	int fd;
	uint8_t *map;
	size_t bytes;
	struct accel_bo *bos[LAST + 1];
};

static long waits(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_majflt;
}

/* Pages of a matrix that are in memory */
static size_t pages(const struct file *f, int which)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	unsigned char there[BYTES / 4096];
	size_t i, n = 0;

	assert_int_equal(mincore(f->map + (size_t)which * BYTES, BYTES, there), 0);
	for (i = 0; i < BYTES / page; i++)
		n += there[i] & 1;
	return n;
}

static bool is_there(const struct file *f, int which)
{
	return pages(f, which) == BYTES / (size_t)sysconf(_SC_PAGESIZE);
}

static bool is_absent(const struct file *f, int which)
{
	return !pages(f, which);
}

/* Reading is not waited for. */
static bool arrives(const struct file *f, int which)
{
	const struct timespec ms = { 0, 1000000 };
	int i;

	for (i = 0; i < 10000 && !is_there(f, which); i++)
		nanosleep(&ms, NULL);
	return is_there(f, which);
}

/* A file without the system's read-ahead, of which nothing is in memory; false: there is none. */
static bool open_file(struct rt *rt, struct file *f)
{
	const struct accel_bo_opts lazy = {
		sizeof(lazy), ACCEL_BO_LAZY | ACCEL_BO_READONLY, "weights"
	};
	FILE *file = tmpfile();
	long before;
	int i;

	assert_non_null(file);
	f->bytes = LAST * BYTES + 4ul * SIDE * FAR;
	f->fd = dup(fileno(file));
	fclose(file);
	assert_int_equal(ftruncate(f->fd, (off_t)f->bytes), 0);
	f->map = mmap(NULL, f->bytes, PROT_READ, MAP_SHARED, f->fd, 0);
	assert_true(f->map != MAP_FAILED);
	assert_int_equal(madvise(f->map, f->bytes, MADV_RANDOM), 0);
	before = waits();
	assert_int_equal(f->map[f->bytes - 1], 0);
	if (waits() == before) {
		print_message("files of %s are always in memory\n", P_tmpdir);
		munmap(f->map, f->bytes);
		close(f->fd);
		return false;
	}
	for (i = FIRST; i <= LAST; i++)
		assert_int_equal(accel_bo_import_ptr(rt->ctx, f->map + (size_t)i * BYTES,
						     i == LAST ? 4ul * SIDE * FAR : BYTES, &lazy,
						     &f->bos[i]), 0);
	return true;
}

static void close_file(struct file *f)
{
	int i;

	for (i = FIRST; i <= LAST; i++)
		accel_bo_unref(f->bos[i]);
	munmap(f->map, f->bytes);
	close(f->fd);
}

static void add_product(struct accel_job *job, struct accel_bo *work, struct accel_bo *weights,
			int64_t columns)
{
	struct accel_gemm_desc gemm = ACCEL_GEMM_DESC_INIT;

	gemm.a = accel_tensor_2d(work, ACCEL_F32, 1, SIDE);
	gemm.b = accel_tensor_2d(weights, ACCEL_F32, SIDE, columns);
	gemm.d = accel_tensor_2d(work, ACCEL_F32, 1, columns);
	gemm.d.offset = 4 * SIDE;
	assert_int_equal(accel_job_add_desc(job, NULL, &gemm.hdr, NULL, 0, NULL), 0);
}

/* The row of a table is one; the others are of no use. */
static void add_lookup(struct accel_job *job, struct accel_bo *work, struct accel_bo *table)
{
	struct accel_gather_desc gather = ACCEL_GATHER_DESC_INIT;
	const int64_t one = 1, row[2] = { 1, SIDE };

	gather.a = accel_tensor_2d(table, ACCEL_F32, SIDE, SIDE);
	gather.b = accel_tensor_dense(work, ACCEL_S32, 1, &one);
	gather.d = accel_tensor_dense(work, ACCEL_F32, 2, row);
	gather.d.offset = 4 * SIDE;
	assert_int_equal(accel_job_add_desc(job, NULL, &gather.hdr, NULL, 0, NULL), 0);
}

static void add_fault(struct accel_job *job, struct accel_bo *work)
{
	struct accel_plan *plan = rt_fill_plan(job->ctx, 4, 1, 16);
	const struct accel_binding b = { ACCEL_ARG_D, 0, work, 0 };

	plan->tasks[0].version = htole16(999);
	assert_int_equal(accel_job_add(job, plan, &b, 1, NULL, 0, NULL), 0);
	accel_plan_unref(plan);
}

static void run_faulty(struct rt *rt, struct accel_job *job)
{
	struct accel_fence *fence = rt_submit(rt->queue, job, NULL);

	assert_int_equal(accel_fence_wait(fence, -1), -EFAULT);
	accel_fence_unref(fence);
}

/* To a user who may only read the file all of it seems to be in memory; it is asked for as well. */
static void reads_of_another(struct rt *rt, struct file *f, struct accel_bo *work)
{
	struct accel_job *job = rt_job(rt->ctx, 0);

	add_product(job, work, f->bos[OTHER], SIDE);
	add_fault(job, work);
	add_product(job, work, f->bos[NEXT], SIDE);
	assert_int_equal(posix_fadvise(f->fd, NEXT * BYTES, BYTES, POSIX_FADV_DONTNEED), 0);
	assert_true(is_absent(f, OTHER) && is_absent(f, NEXT));
	assert_int_equal(seteuid(65534), 0);
	run_faulty(rt, job);
	assert_int_equal(seteuid(0), 0);
	assert_true(arrives(f, NEXT));
	accel_job_destroy(job);
}

static void test_ahead(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *work;
	struct accel_job *job, *other;
	struct file f = { .fd = -1 };

	if (!open_file(rt, &f))
		skip();
	work = rt_bo(rt->ctx, 4ul * (SIDE + FAR));
	job = rt_job(rt->ctx, 0);
	add_product(job, work, f.bos[FIRST], SIDE);
	add_fault(job, work);
	add_lookup(job, work, f.bos[TABLE]);
	add_product(job, work, f.bos[NEXT], SIDE);
	add_product(job, work, f.bos[LAST], FAR);
	assert_true(is_absent(&f, FIRST) && is_absent(&f, NEXT));
	run_faulty(rt, job);
	assert_true(is_there(&f, FIRST));
	assert_true(arrives(&f, NEXT));
	assert_true(is_absent(&f, TABLE));
	assert_true(is_absent(&f, LAST));
	/* It is gone; the first one is there, and nothing is waited for. */
	assert_int_equal(posix_fadvise(f.fd, NEXT * BYTES, BYTES, POSIX_FADV_DONTNEED), 0);
	assert_true(is_absent(&f, NEXT));
	run_faulty(rt, job);
	assert_true(arrives(&f, NEXT));
	/* A job that has never waited asks for nothing. */
	other = rt_job(rt->ctx, 0);
	add_product(other, work, f.bos[FIRST], SIDE);
	add_fault(other, work);
	add_product(other, work, f.bos[OTHER], SIDE);
	run_faulty(rt, other);
	assert_true(is_absent(&f, OTHER));
	accel_job_destroy(other);
	if (!geteuid())
		reads_of_another(rt, &f, work);
	accel_job_destroy(job);
	accel_bo_unref(work);
	close_file(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ahead, rt_setup, rt_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
