// SPDX-License-Identifier: MIT
/*
 * Jobs cut into segments: operations in a row that one kernel queue runs as one
 * job of the driver. Kernel queues run in order, so only dependencies between
 * different ones need a syncobj. Everything is made once; to submit a job again
 * costs an ioctl.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "backend_drm.h"

static struct drm_key plan_key(struct accel_device *dev,
			       const struct accel_plan *plan)
{
	struct drm_key key = { class_of_engine(plan->info.engine), 0 };
	uint32_t i;

	for (i = 0; i < dev->engine_count; i++)
		if (dev->engines[i].info.engine == plan->info.engine)
			key.instances |= 1u << dev->engines[i].info.instance;
	if (plan->instances)
		key.instances &= plan->instances;
	return key;
}

static uint32_t key_max_tasks(struct accel_device *dev, struct drm_key key)
{
	uint32_t max = dev->info.max_job_tasks, i;

	for (i = 0; i < dev->engine_count; i++)
		if (dev->engines[i].engine_class == key.engine_class &&
		    key.instances & 1u << dev->engines[i].info.instance &&
		    dev->engines[i].info.max_job_tasks < max)
			max = dev->engines[i].info.max_job_tasks;
	return max;
}

static int find_keys(struct drm_job *job, uint32_t *op_key)
{
	struct accel_job *base = &job->base;
	uint32_t i, k;

	for (i = 0; i < base->op_count; i++) {
		struct drm_key key = plan_key(base->ctx->dev, base->ops[i].plan);
		struct drm_key *grown;

		if (!key.instances)
			return ctx_fail(base->ctx, -EINVAL, "job",
					"operation %u is for an engine that the device has not",
					i);
		for (k = 0; k < job->key_count; k++)
			if (job->keys[k].engine_class == key.engine_class &&
			    job->keys[k].instances == key.instances)
				break;
		if (k == job->key_count) {
			grown = realloc(job->keys, (k + 1) * sizeof(*grown));
			if (!grown)
				return ctx_fail(base->ctx, -ENOMEM, NULL,
						"out of memory");
			job->keys = grown;
			job->keys[job->key_count++] = key;
		}
		op_key[i] = k;
	}
	return 0;
}

static struct drm_segment *add_segment(struct drm_job *job, uint32_t key,
				       uint32_t first_task)
{
	struct drm_segment *s, *grown;
	uint32_t cap;

	if (job->segment_count == job->segment_cap) {
		cap = job->segment_cap ? 2 * job->segment_cap : 4;
		grown = realloc(job->segments, cap * sizeof(*grown));
		if (!grown)
			return NULL;
		job->segments = grown;
		job->segment_cap = cap;
	}
	s = &job->segments[job->segment_count++];
	memset(s, 0, sizeof(*s));
	s->key = key;
	s->first_task = first_task;
	return s;
}

/*
 * State while operations are put into segments: the segment that each ended in,
 * and for each segment the dependencies, key_count numbers each.
 */
struct cutter {
	struct drm_job *job;
	const uint32_t *op_key;
	/* order of the tasks in the list of the job */
	uint32_t *op_segment;
	int32_t *deps;
	size_t deps_cap;
	int32_t *need;
	/* last segment of each key */
	int32_t *last;
};

static int grow_deps(struct cutter *c)
{
	const struct drm_job *job = c->job;
	size_t want = (size_t)job->segment_count * job->key_count, cap;
	int32_t *grown;

	if (want <= c->deps_cap)
		return 0;
	cap = 2 * want;
	grown = realloc(c->deps, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	c->deps = grown;
	c->deps_cap = cap;
	return 0;
}

/* What an operation waits for, as the last segment of each other key. */
static void op_needs(struct cutter *c, uint32_t i)
{
	const struct accel_job *base = &c->job->base;
	uint32_t k, d, s;

	for (k = 0; k < c->job->key_count; k++)
		c->need[k] = -1;
	if (!(base->flags & ACCEL_JOB_UNORDERED)) {
		if (i && c->op_key[i - 1] != c->op_key[i])
			c->need[c->op_key[i - 1]] = c->op_segment[i - 1];
		return;
	}
	for (d = 0; d < base->ops[i].dep_count; d++) {
		s = c->op_segment[base->ops[i].deps[d]];
		k = c->job->segments[s].key;
		if (k != c->op_key[i] && c->need[k] < (int32_t)s)
			c->need[k] = s;
	}
}

/* May the operation join the last segment of its key? */
static bool fits(const struct cutter *c, uint32_t key, uint32_t max)
{
	const int32_t s = c->last[key];
	const int32_t *deps;
	uint32_t k;

	if (s < 0 || c->job->segments[s].task_count >= max)
		return false;
	/* Tasks of a segment are neighbours in the list. */
	if (s != (int32_t)c->job->segment_count - 1)
		return false;
	deps = c->deps + (size_t)s * c->job->key_count;
	for (k = 0; k < c->job->key_count; k++)
		if (c->need[k] > deps[k])
			return false;
	return true;
}

static int open_segment(struct cutter *c, uint32_t key, uint32_t task)
{
	struct drm_job *job = c->job;

	if (!add_segment(job, key, task) || grow_deps(c) || !c->deps)
		return -ENOMEM;
	c->last[key] = job->segment_count - 1;
	memcpy(c->deps + (size_t)c->last[key] * job->key_count, c->need,
	       job->key_count * sizeof(*c->need));
	return 0;
}

static int cut(struct cutter *c)
{
	struct drm_job *job = c->job;
	const struct accel_job *base = &job->base;
	uint32_t i, left, room, max, task = 0;
	struct drm_segment *s;

	for (i = 0; i < base->op_count; i++) {
		max = key_max_tasks(base->ctx->dev, job->keys[c->op_key[i]]);
		left = base->ops[i].plan->task_count;
		op_needs(c, i);
		do {
			if (!fits(c, c->op_key[i], max) &&
			    open_segment(c, c->op_key[i], task))
				return -ENOMEM;
			s = &job->segments[c->last[c->op_key[i]]];
			room = max - s->task_count;
			if (room > left)
				room = left;
			s->task_count += room;
			left -= room;
			task += room;
		} while (left);
		c->op_segment[i] = c->last[c->op_key[i]];
	}
	return 0;
}

/*
 * Which segments others wait for; what has ended when one ends; and whether the
 * last one ends last.
 */
static int finish_segments(struct drm_job *job, const int32_t *deps)
{
	const uint32_t n = job->segment_count, keys = job->key_count;
	struct drm_device *dev = ctx_drm(job->base.ctx);
	uint32_t i, k, j;
	int ret;

	job->vectors = malloc((2 * (size_t)n + 2) * keys * sizeof(*job->vectors));
	if (!job->vectors)
		return -ENOMEM;
	/* Without a segment there are none. */
	if (deps)
		memcpy(job->vectors, deps, (size_t)n * keys * sizeof(*deps));
	job->first = job->vectors + 2 * (size_t)n * keys;
	job->last = job->first + keys;
	for (k = 0; k < keys; k++)
		job->first[k] = job->last[k] = -1;
	for (i = 0; i < n; i++) {
		struct drm_segment *s = &job->segments[i];
		int32_t before = job->last[s->key];

		s->deps = job->vectors + (size_t)i * keys;
		s->done = job->vectors + (size_t)(n + i) * keys;
		for (k = 0; k < keys; k++)
			s->done[k] = before < 0 ? -1 :
				     job->segments[before].done[k];
		for (k = 0; k < keys; k++) {
			if (s->deps[k] < 0)
				continue;
			for (j = 0; j < keys; j++)
				if (job->segments[s->deps[k]].done[j] > s->done[j])
					s->done[j] = job->segments[s->deps[k]].done[j];
			if (job->segments[s->deps[k]].sync)
				continue;
			ret = drm_sync_get(dev, &job->segments[s->deps[k]].sync);
			if (ret)
				return ret;
		}
		s->done[s->key] = i;
		if (job->first[s->key] < 0)
			job->first[s->key] = i;
		job->last[s->key] = i;
	}
	for (k = 0; n && k < keys; k++)
		if (job->segments[n - 1].done[k] < job->last[k])
			job->join = true;
	return 0;
}

static int write_tasks(struct drm_job *job)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	struct accel_job *base = &job->base;
	const uint64_t size = (uint64_t)base->task_count * sizeof(struct uma_task);
	uint32_t i, j;
	int ret;

	if (!base->task_count)
		return 0;
	job->origins = malloc(base->task_count * sizeof(*job->origins));
	if (!job->origins)
		return ctx_fail(base->ctx, -ENOMEM, NULL, "out of memory");
	for (i = 0; i < base->op_count; i++)
		for (j = 0; j < base->ops[i].plan->task_count; j++)
			job->origins[base->ops[i].first_task + j] =
				(struct drm_origin){ i, j };
	opts.label = "tasks";
	ret = accel_bo_create(base->ctx, size, &opts, &job->tasks);
	if (ret)
		return ret;
	memcpy(accel_bo_ptr(job->tasks), base->tasks, size);
	return accel_bo_cpu_end(job->tasks, 0, size, ACCEL_CPU_WRITE);
}

static void job_release(struct drm_job *job)
{
	uint32_t i;

	for (i = 0; i < job->segment_count; i++)
		drm_sync_put(ctx_drm(job->base.ctx), job->segments[i].sync);
	free(job->segments);
	free(job->vectors);
	free(job->keys);
	free(job->origins);
	accel_bo_unref(job->tasks);
	job->segments = NULL;
	job->vectors = NULL;
	job->keys = NULL;
	job->origins = NULL;
	job->tasks = NULL;
	job->key_count = 0;
	job->segment_count = 0;
	job->segment_cap = 0;
	job->join = false;
}

int drm_job_prepare(struct accel_job *base)
{
	struct drm_job *job = to_drm_job(base);
	struct cutter c = { .job = job };
	uint32_t *op_key, k;
	int ret;

	op_key = calloc(base->op_count + 1, sizeof(*op_key));
	c.op_segment = calloc(base->op_count + 1, sizeof(*c.op_segment));
	if (!op_key || !c.op_segment) {
		ret = ctx_fail(base->ctx, -ENOMEM, NULL, "out of memory");
		goto out;
	}
	ret = find_keys(job, op_key);
	if (ret)
		goto out;
	c.op_key = op_key;
	c.need = calloc(job->key_count + 1, sizeof(*c.need));
	c.last = calloc(job->key_count + 1, sizeof(*c.last));
	ret = c.need && c.last ? 0 : -ENOMEM;
	for (k = 0; !ret && k < job->key_count; k++)
		c.last[k] = -1;
	if (!ret)
		ret = cut(&c);
	if (!ret && job->key_count)
		ret = finish_segments(job, c.deps);
	if (ret) {
		ctx_fail(base->ctx, ret, NULL, "the job cannot be prepared: %s",
			 errno_text(-ret));
		goto out;
	}
	ret = write_tasks(job);
out:
	free(op_key);
	free(c.op_segment);
	free(c.need);
	free(c.last);
	free(c.deps);
	if (ret)
		job_release(job);
	return ret;
}

int drm_job_rebind(struct accel_job *base)
{
	struct drm_job *job = to_drm_job(base);
	uint32_t i;

	/* Of operations without tasks nothing is kept. */
	if (!job->tasks)
		return 0;
	for (i = base->first_move; i != JOB_NO_OP; i = base->ops[i].next_move)
		rebind_tasks(&base->ops[i], accel_bo_ptr(job->tasks));
	return accel_bo_cpu_end(job->tasks, 0, job->tasks->size, ACCEL_CPU_WRITE);
}

void drm_job_destroy(struct accel_job *base)
{
	job_release(to_drm_job(base));
}
