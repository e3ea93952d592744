// SPDX-License-Identifier: MIT
/*
 * Jobs of the in-process device: their tasks are decoded, checked and, where no
 * memory has a say in it, prepared once, when the job is first submitted. A
 * task that the model refuses faults when its turn comes, as it does on a
 * device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sw.h"

static struct sw_job *to_sw_job(struct accel_job *job)
{
	return (struct sw_job *)job;
}

/* The instance that a plan asks for; all are alike but for their number. */
static uint32_t find_engine(struct accel_device *dev,
			    const struct accel_plan *plan)
{
	uint32_t i;

	for (i = 0; i < dev->engine_count; i++)
		if (dev->engines[i].info.engine == plan->info.engine &&
		    (!plan->instances ||
		     plan->instances & 1u << dev->engines[i].info.instance))
			return i;
	return UINT32_MAX;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return UINT64_MAX - a < b ? UINT64_MAX : a + b;
}

/* Headers of packed operands are read when it runs, like dimensions in memory. */
static bool has_packed(const struct uma_op *op)
{
	uint32_t i;

	for (i = 0; i < UMA_TASK_SLOTS; i++)
		if (op->t[i].layout != UMA_LAYOUT_STRIDED)
			return true;
	return false;
}

/* Decode and check a task and find its class. False: it is faulty, or it is known when it runs. */
static bool offer(struct sw_task *task, const struct uma_task *desc, const struct sw_device *dev,
		  uint32_t engine, const struct fast_hint *hint)
{
	const struct uma_engine_desc *e = &dev->profile->engines[engine];
	struct uma_program *prog = &task->prog;
	struct uma_op *op = &prog->op;
	int row;

	task->state = SW_TASK_FAULTY;
	if (uma_task_decode(desc, op, &task->fault))
		return false;
	row = uma_op_check(op, e, &task->fault);
	if (row < 0)
		return false;
	task->work = uma_op_work(op);
	/* Sums do not wrap. */
	if (task->work > UINT64_MAX / 4)
		task->work = UINT64_MAX / 4;
	task->state = SW_TASK_PREPARE;
	if (op->flags & UMA_TASK_DYNAMIC)
		return false;
	prog->engine = e;
	prog->kernels = dev->kernels;
	prog->row = row;
	fast_prepare(&task->fast, prog, &dev->cpu, hint);
	return true;
}

static void task_init(struct sw_task *task, const struct uma_task *desc,
		      const struct sw_device *dev, uint32_t engine,
		      const struct fast_hint *hint, struct sw_mem *mem)
{
	struct uma_program *prog = &task->prog;

	if (offer(task, desc, dev, engine, hint) && !has_packed(&prog->op) &&
	    !uma_prepare(prog, &prog->op, prog->engine, dev->kernels, UMA_STEP_WORK_UNBOUND,
			 &mem->base, &task->fault))
		task->state = SW_TASK_READY;
}

/*
 * Each argument is taken to be in a place of its own, aligned as well as may be. Where
 * dimensions stand in memory nobody knows yet.
 */
uint64_t sw_plan_work(const struct accel_plan *plan)
{
	const uint32_t engine = find_engine(plan->ctx->dev, plan);
	struct sw_device *dev = to_sw_device(plan->ctx->dev);
	uint64_t addrs[PLAN_MAX_ARGS], most = 0;
	struct uma_task *tasks;
	struct sw_task *task;
	uint32_t i;

	tasks = calloc(plan->task_count + 1, sizeof(*tasks));
	task = malloc(sizeof(*task));
	if (!tasks || !task || engine == UINT32_MAX)
		goto out;
	for (i = 0; i < PLAN_MAX_ARGS; i++)
		addrs[i] = (uint64_t)(i + 1) << 40;
	plan_relocate(plan, addrs, tasks);
	for (i = 0; i < plan->task_count; i++) {
		memset(task, 0, sizeof(*task));
		if (offer(task, &tasks[i], dev, engine, &plan->hint) && task->fast.class &&
		    task->fast.work_bytes > most)
			most = task->fast.work_bytes;
	}
out:
	free(task);
	free(tasks);
	return most;
}

bool sw_task_bound(struct sw_task *task, struct sw_mem *mem)
{
	const uint64_t age = mem->ranges->age;

	if (atomic_load_explicit(&task->bound, memory_order_relaxed) == age)
		return true;
	if (!fast_bound(&task->fast, &mem->base))
		return false;
	atomic_store_explicit(&task->bound, age, memory_order_relaxed);
	return true;
}

/* For each operation, those that wait for it. */
static int link_deps(struct sw_job *job)
{
	const struct accel_job *base = &job->base;
	uint32_t *start, i, j, sum = 0, count;

	start = calloc(base->op_count + 1, sizeof(*start));
	job->next_start = start;
	if (!start)
		return -ENOMEM;
	for (i = 0; i < base->op_count; i++)
		for (j = 0; j < base->ops[i].dep_count; j++)
			start[base->ops[i].deps[j]]++;
	for (i = 0; i <= base->op_count; i++) {
		count = start[i];
		start[i] = sum;
		sum += count;
	}
	job->next = malloc((sum ? sum : 1) * sizeof(*job->next));
	if (!job->next)
		return -ENOMEM;
	for (i = 0; i < base->op_count; i++)
		for (j = 0; j < base->ops[i].dep_count; j++)
			job->next[start[base->ops[i].deps[j]]++] = i;
	/* Every start has moved to the next one's place. */
	memmove(start + 1, start, base->op_count * sizeof(*start));
	start[0] = 0;
	return 0;
}

static void job_release(struct sw_job *job)
{
	free(job->engines);
	free(job->op_work);
	free(job->tasks);
	free(job->next_start);
	free(job->next);
	job->engines = NULL;
	job->op_work = NULL;
	job->work = 0;
	job->tasks = NULL;
	job->next_start = NULL;
	job->next = NULL;
}

int sw_job_prepare(struct accel_job *base)
{
	struct sw_device *dev = to_sw_device(base->ctx->dev);
	struct sw_ctx *ctx = to_sw_ctx(base->ctx);
	struct sw_job *job = to_sw_job(base);
	struct sw_ranges *ranges;
	struct sw_mem mem;
	uint32_t i, j;
	int ret = 0;

	job->engines = malloc((base->op_count + 1) * sizeof(*job->engines));
	job->op_work = calloc(base->op_count + 1, sizeof(*job->op_work));
	job->tasks = calloc(base->task_count + 1, sizeof(*job->tasks));
	if (!job->engines || !job->op_work || !job->tasks)
		goto err_nomem;
	if (base->flags & ACCEL_JOB_UNORDERED && link_deps(job))
		goto err_nomem;

	ranges = sw_ranges_get(ctx);
	sw_mem_init(&mem, ranges);
	for (i = 0; i < base->op_count && !ret; i++) {
		const struct job_op *op = &base->ops[i];

		job->engines[i] = find_engine(base->ctx->dev, op->plan);
		if (job->engines[i] == UINT32_MAX) {
			ret = ctx_fail(base->ctx, -EINVAL, "job",
				       "operation %u is for an engine that the device has not",
				       i);
			break;
		}
		for (j = 0; j < op->plan->task_count; j++) {
			struct sw_task *task = &job->tasks[op->first_task + j];

			task_init(task, &base->tasks[op->first_task + j], dev,
				  job->engines[i], &op->plan->hint, &mem);
			job->op_work[i] = sum(job->op_work[i], task->work);
		}
		job->work = sum(job->work, job->op_work[i]);
	}
	sw_ranges_put(ctx, ranges);
	if (ret) {
		job_release(job);
		return ret;
	}
	return 0;

err_nomem:
	job_release(job);
	return ctx_fail(base->ctx, -ENOMEM, NULL, "out of memory");
}

void sw_job_destroy(struct accel_job *base)
{
	job_release(to_sw_job(base));
}
