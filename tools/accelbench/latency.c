// SPDX-License-Identifier: MIT
/* latency: the cost of running a job, compared with that of an ioctl that does nothing. */
#include <accel/accel.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "drm.h"

#include "accelbench.h"

enum {
	NULL_IOCTL,
	EMPTY_JOB,
	EMPTY_SUBMIT,
	SMALLEST_JOB,
	REBIND,
	CASES
};

/* Operations of the job that is bound anew, each with two arguments */
#define MOVED	64

struct bench {
	const struct bench_opts *opts;
	struct bench_rig rig;
	int fd;
	uint64_t loops[CASES];
	double *us[CASES];
};

/* --- the rig --- */

static int make_smallest(struct bench_rig *rig)
{
	struct accel_fill_desc desc = ACCEL_FILL_DESC_INIT;
	struct accel_plan *plan = NULL;
	struct accel_bo *bo = NULL;
	int ret;

	desc.value = 1;
	ret = accel_bo_create(rig->ctx, 4096, NULL, &bo);
	if (ret)
		return ret;
	desc.d.dtype = ACCEL_F32;
	desc.d.rank = 1;
	desc.d.dims[0] = 1;
	desc.d.bo = bo;
	ret = accel_plan_create(rig->ctx, &desc.hdr, &plan);
	if (!ret)
		ret = accel_job_create(rig->ctx, NULL, &rig->smallest);
	if (!ret) {
		struct accel_binding to = { .arg = ACCEL_ARG_D, .bo = bo };

		ret = accel_job_add(rig->smallest, plan, &to, 1, NULL, 0, NULL);
	}
	/* The job holds the references it needs */
	accel_plan_unref(plan);
	accel_bo_unref(bo);
	return ret;
}

/* Dependent copies, run once, so that everything is prepared */
static int make_chain(struct bench_rig *rig)
{
	struct accel_copy_desc desc = ACCEL_COPY_DESC_INIT;
	const int64_t n = 16;
	struct accel_plan *plan = NULL;
	uint64_t i;
	int ret;

	desc.a = accel_tensor_dense(NULL, ACCEL_F32, 1, &n);
	desc.d = desc.a;
	ret = accel_plan_create(rig->ctx, &desc.hdr, &plan);
	for (i = 0; i < 2 && !ret; i++)
		ret = accel_bo_create(rig->ctx, 64 * (MOVED + 1), NULL, &rig->places[i]);
	if (!ret)
		ret = accel_job_create(rig->ctx, NULL, &rig->chain);
	for (i = 0; i < MOVED && !ret; i++) {
		const struct accel_binding at[2] = {
			{ ACCEL_ARG_A, 0, rig->places[0], 64 * i },
			{ ACCEL_ARG_D, 0, rig->places[0], 64 * (i + 1) },
		};

		ret = accel_job_add(rig->chain, plan, at, 2, NULL, 0, NULL);
	}
	accel_plan_unref(plan);
	return ret ? ret : bench_roundtrip(rig, rig->chain, NULL);
}

int bench_rig_open(const struct bench_opts *opts, const char *name, struct bench_rig *rig)
{
	struct accel_device_info info = { .size = sizeof(info) };
	struct accel_device_opts dev_opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	int ret;

	*rig = (struct bench_rig){ 0 };
	dev_opts.threads = opts->threads;
	dev_opts.error = &error;
	ret = accel_device_open(name, &dev_opts, &rig->dev);
	if (ret)
		return bench_fail(ret, "cannot open %s: %s", name, error.text);
	ret = accel_device_get_info(rig->dev, &info);
	if (!ret)
		ret = accel_ctx_create(rig->dev, NULL, &rig->ctx);
	if (!ret)
		ret = accel_queue_create(rig->ctx, NULL, &rig->queue);
	if (!ret)
		ret = accel_job_create(rig->ctx, NULL, &rig->empty);
	if (!ret)
		ret = make_smallest(rig);
	if (!ret)
		ret = make_chain(rig);
	if (ret) {
		if (rig->ctx)
			accel_ctx_get_error(rig->ctx, &error);
		bench_rig_close(rig);
		return bench_fail(ret, "cannot make a job on %s: %s", name, error.text);
	}
	strcpy(rig->driver, info.driver);
	strcpy(rig->path, info.path);
	rig->threads = info.threads ? info.threads : 1;
	return 0;
}

void bench_rig_close(struct bench_rig *rig)
{
	accel_queue_destroy(rig->queue);
	accel_job_destroy(rig->empty);
	accel_job_destroy(rig->smallest);
	accel_job_destroy(rig->chain);
	accel_bo_unref(rig->places[0]);
	accel_bo_unref(rig->places[1]);
	accel_ctx_destroy(rig->ctx);
	accel_device_unref(rig->dev);
	*rig = (struct bench_rig){ 0 };
}

int bench_roundtrip(struct bench_rig *rig, struct accel_job *job, uint64_t *submit_ns)
{
	uint64_t start = submit_ns ? stats_now() : 0;
	struct accel_fence *fence;
	int ret;

	ret = accel_queue_submit(rig->queue, job, NULL, &fence);
	if (ret)
		return ret;
	if (submit_ns)
		*submit_ns += stats_now() - start;
	ret = accel_fence_wait(fence, -1);
	accel_fence_unref(fence);
	return ret;
}

/* --- measuring --- */

static int null_ioctl(int fd)
{
	/* Without room for names there is nothing to copy */
	struct drm_version version = { 0 };

	return ioctl(fd, DRM_IOCTL_VERSION, &version) ? -errno : 0;
}

/* Every operation to one of two places */
static int rebind(struct bench_rig *rig, uint64_t place)
{
	struct accel_binding to[2 * MOVED];
	uint32_t i;

	for (i = 0; i < 2 * MOVED; i++)
		to[i] = (struct accel_binding){
			i % 2 ? ACCEL_ARG_D : ACCEL_ARG_A, i / 2, rig->places[place],
			(uint64_t)(i / 2 + i % 2) * 64
		};
	return accel_job_rebind(rig->chain, to, 2 * MOVED);
}

/* One batch of a case; how long it took */
static int run(struct bench *b, int which, uint64_t loops, uint64_t *ns)
{
	struct accel_job *job = which == SMALLEST_JOB ? b->rig.smallest : b->rig.empty;
	uint64_t start = stats_now(), submit = 0, i;
	int ret = 0;

	for (i = 0; i < loops && !ret; i += which == REBIND ? MOVED : 1)
		ret = which == NULL_IOCTL ? null_ioctl(b->fd) :
		      which == REBIND ? rebind(&b->rig, i / MOVED % 2) :
		      bench_roundtrip(&b->rig, job, which == EMPTY_SUBMIT ? &submit : NULL);
	*ns = which == EMPTY_SUBMIT ? submit : stats_now() - start;
	return ret;
}

/* Warms up, and finds how often it fits into a batch */
static int calibrate(struct bench *b, int which)
{
	uint64_t loops = 16, ns;
	int ret;

	for (;;) {
		ret = run(b, which, loops, &ns);
		if (ret)
			return ret;
		if (ns >= b->opts->batch_ns / 2 || loops >= 1u << 24)
			break;
		loops *= ns && b->opts->batch_ns / ns < 8 ? 2 : 8;
	}
	loops = ns ? loops * b->opts->batch_ns / ns : loops;
	b->loops[which] = loops ? loops : 1;
	return 0;
}

static int measure(struct bench *b, int first)
{
	uint64_t ns;
	uint32_t i;
	int which, ret;

	for (which = first; which < CASES; which++) {
		ret = calibrate(b, which);
		if (ret)
			return ret;
	}
	/* Alternately, so that a machine that drifts does so for all of them */
	for (i = 0; i < b->opts->batches; i++)
		for (which = first; which < CASES; which++) {
			ret = run(b, which, b->loops[which], &ns);
			if (ret)
				return ret;
			b->us[which][i] = (double)ns / 1e3 / (double)b->loops[which];
		}
	return 0;
}

int bench_latency(const struct bench_opts *opts, const char *name)
{
	static const char *const names[CASES] = {
		"null-ioctl", "empty-job", "empty-job-submit", "smallest-job", "rebind"
	};
	struct bench b = { .opts = opts, .fd = -1 };
	double null_us = 0, empty_ratio = 0;
	int which, first, ret;

	ret = bench_rig_open(opts, name, &b.rig);
	if (ret)
		return ret;
	for (which = 0; which < CASES; which++) {
		b.us[which] = calloc(opts->batches, sizeof(double));
		if (!b.us[which]) {
			ret = bench_fail(-ENOMEM, "out of memory");
			goto out;
		}
	}
	/* In process there is no kernel to ask */
	first = *b.rig.path ? NULL_IOCTL : EMPTY_JOB;
	if (*b.rig.path) {
		b.fd = open(b.rig.path, O_RDWR | O_CLOEXEC);
		if (b.fd < 0) {
			ret = bench_fail(-errno, "cannot open %s", b.rig.path);
			goto out;
		}
	}
	ret = measure(&b, first);
	if (ret) {
		ret = bench_fail(ret, "a job of %s failed", name);
		goto out;
	}
	for (which = first; which < CASES; which++) {
		struct bench_row row = {
			.name = names[which],
			.dtype = which >= SMALLEST_JOB ? "fp32" : NULL,
			.threads = b.rig.threads,
			.impl = which == NULL_IOCTL ? "drm" : b.rig.driver,
		};

		row.us = stats_median(b.us[which], opts->batches, &row.spread);
		if (which == NULL_IOCTL)
			null_us = row.us;
		row.ratio = null_us > 0 ? row.us / null_us : 0;
		if (which == EMPTY_JOB)
			empty_ratio = row.ratio;
		bench_print(opts, &row);
	}
	if (opts->limit > 0 && empty_ratio > opts->limit)
		ret = bench_fail(0, "an empty job costs %.1f times a null ioctl, the limit is %g",
				 empty_ratio, opts->limit);
out:
	if (b.fd >= 0)
		close(b.fd);
	for (which = 0; which < CASES; which++)
		free(b.us[which]);
	bench_rig_close(&b.rig);
	return ret;
}
