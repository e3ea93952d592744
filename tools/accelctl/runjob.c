// SPDX-License-Identifier: MIT
/*
 * See runjob.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interrupt.h"
#include "runjob.h"

#define MEASURE_NS	100000000.0
#define MEASURE_MIN	3
#define MEASURE_MAX	100

/* A wait is cut into pieces of this length, to see SIGINT between them */
#define WAIT_NS		100000000

static int fail(struct runjob *r, int ret, const char *what, bool planned)
{
	int status = ctl_status(ret);

	/* Options are judged when the plan is made */
	if (status == CTL_USAGE && planned)
		status = CTL_FAILED;
	return ctl_fail_ctx(r->ctl, status, what, r->ctx, ret);
}

int runjob_open(struct ctl *ctl, uint32_t threads, struct runjob *r)
{
	int ret;

	memset(r, 0, sizeof(*r));
	r->ctl = ctl;
	ret = ctl_open(ctl, ctl->device, threads, &r->dev);
	if (ret)
		return ret;
	r->device.size = sizeof(r->device);
	ret = accel_device_get_info(r->dev, &r->device);
	if (!ret)
		ret = accel_ctx_create(r->dev, NULL, &r->ctx);
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, NULL, "cannot make a context");
	return CTL_OK;
}

int runjob_buffer(struct runjob *r, const char *label, uint64_t bytes, struct accel_bo **bo)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	char what[64];
	int ret;

	opts.label = label;
	ret = accel_bo_create(r->ctx, bytes, &opts, bo);
	if (!ret)
		ret = accel_bo_cpu_begin(*bo, 0, bytes, ACCEL_CPU_WRITE);
	if (!ret)
		return CTL_OK;
	snprintf(what, sizeof(what), "no buffer of %llu bytes for %s", (unsigned long long)bytes,
		 label);
	return fail(r, ret, what, true);
}

static int note_chosen(void *user, const struct accel_candidate *candidate)
{
	struct runjob *r = user;

	if (candidate->verdict == ACCEL_CHOSEN)
		snprintf(r->algorithm, sizeof(r->algorithm), "%s",
			 candidate->algorithm ? candidate->algorithm : "");
	return 0;
}

static int fail_fence(struct runjob *r, struct accel_fence *fence, int ret)
{
	struct accel_fence_info info = { .size = sizeof(info) };
	struct accel_error error = ACCEL_ERROR_INIT;

	if (!accel_fence_get_info(fence, &info) && info.status) {
		error.engine = info.engine;
		error.addr = info.addr;
		error.op_index = info.op_index;
		snprintf(error.text, sizeof(error.text), "%s", info.text);
	}
	error.code = ret;
	return ctl_fail_error(r->ctl, ctl_status(ret), "the job failed", &error);
}

static int run_once(struct runjob *r, struct accel_queue *queue, struct accel_job *job,
		    double *seconds)
{
	struct timespec from, to;
	struct accel_fence *fence;
	int ret;

	clock_gettime(CLOCK_MONOTONIC, &from);
	ret = accel_queue_submit(queue, job, NULL, &fence);
	if (ret)
		return fail(r, ret, "cannot submit the job", true);
	do {
		ret = accel_fence_wait(fence, WAIT_NS);
	} while ((ret == -ETIMEDOUT || ret == -EINTR) && !ctl_interrupted());
	clock_gettime(CLOCK_MONOTONIC, &to);
	*seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	if (ctl_interrupted())
		ret = ctl_fail(r->ctl, CTL_INTERRUPTED, -EINTR, NULL, "interrupted");
	else if (ret)
		ret = fail_fence(r, fence, ret);
	accel_fence_unref(fence);
	return ret;
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(struct runjob *r, struct accel_queue *queue, struct accel_job *job,
		   uint64_t count)
{
	double *times, once = 0;
	uint64_t i;
	int ret;

	/* The first run pays for pages, caches and clocks: it is not counted */
	ret = run_once(r, queue, job, &once);
	if (ret)
		return ret;
	if (!count) {
		count = (uint64_t)fmin(MEASURE_NS / fmax(once * 1e9, 1), MEASURE_MAX);
		if (count < MEASURE_MIN)
			count = MEASURE_MIN;
	}
	times = ctl_alloc(count, sizeof(*times));
	for (i = 0; i < count && !ret; i++)
		ret = run_once(r, queue, job, &times[i]);
	if (!ret) {
		qsort(times, count, sizeof(*times), compare_times);
		r->median_s = (times[count / 2] + times[(count - 1) / 2]) / 2;
		r->min_s = times[0];
		r->repeats = count;
	}
	free(times);
	return ret;
}

int runjob_measure(struct runjob *r, const struct accel_desc *desc,
		   const struct accel_binding *bindings, uint32_t count, uint64_t repeat,
		   uint32_t timeout_ms)
{
	struct accel_queue_opts opts = ACCEL_QUEUE_OPTS_INIT;
	struct accel_plan *plan = NULL;
	struct accel_queue *queue = NULL;
	struct accel_job *job = NULL;
	int ret;

	ret = accel_plan_create(r->ctx, desc, &plan);
	if (ret)
		return fail(r, ret, NULL, false);
	r->info.size = sizeof(r->info);
	ret = accel_plan_get_info(plan, &r->info);
	if (!ret)
		ret = accel_plan_explain(plan, note_chosen, r);
	if (!ret)
		ret = accel_job_create(r->ctx, NULL, &job);
	if (!ret)
		ret = accel_job_add(job, plan, bindings, count, NULL, 0, NULL);
	if (ret) {
		ret = fail(r, ret, "cannot make a job", true);
		goto out;
	}
	opts.timeout_ms = timeout_ms;
	ret = accel_queue_create(r->ctx, &opts, &queue);
	if (ret == -EINVAL)
		ret = ctl_fail(r->ctl, CTL_USAGE, ret, "--timeout",
			       "%u ms; the device takes %u ms at most", timeout_ms,
			       r->device.max_timeout_ms);
	else if (ret)
		ret = fail(r, ret, "cannot make a queue", true);
	else
		ret = measure(r, queue, job, repeat);
out:
	accel_queue_destroy(queue);
	accel_job_destroy(job);
	accel_plan_unref(plan);
	return ret;
}

int runjob_read(struct runjob *r, struct accel_bo *bo, uint64_t bytes)
{
	int ret = accel_bo_cpu_begin(bo, 0, bytes, ACCEL_CPU_READ);

	return ret ? ctl_fail(r->ctl, ctl_status(ret), ret, NULL, "cannot read the result") :
		     CTL_OK;
}

int runjob_wrong(struct runjob *r, double got, double want)
{
	return ctl_fail(r->ctl, CTL_MISMATCH, 0, "--check",
			"the result is wrong: %.9g should be %.9g", got, want);
}

void runjob_json(const struct runjob *r, struct json_object *doc)
{
	ctl_json_str(doc, "device", r->device.name);
	ctl_json_str(doc, "chip", r->device.profile);
	ctl_json_str(doc, "engine", accel_engine_name(r->info.engine));
	ctl_json_str(doc, "algorithm", r->algorithm);
	ctl_json_uint(doc, "repeats", r->repeats);
	ctl_json_real(doc, "time_us", r->median_s * 1e6);
	ctl_json_real(doc, "time_min_us", r->min_s * 1e6);
	ctl_json_real(doc, "estimate_us", (double)r->info.estimate_ns / 1e3);
}

void runjob_close(struct runjob *r)
{
	accel_ctx_destroy(r->ctx);
	accel_device_unref(r->dev);
}
