// SPDX-License-Identifier: MIT
/*
 * Jobs of the in-process device: tasks are decoded, checked and, unless they depend on the
 * contents of memory, prepared once, when the job is first submitted. A task that the model
 * rejects faults when it is run, as on a device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sw.h"

static struct sw_job *to_sw_job(struct accel_job *job)
{
	return (struct sw_job *)job;
}

/* The instance that a plan asks for; instances differ only in their number. */
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

/* Headers of packed operands are read at run time, like dimensions in memory. */
static bool has_packed(const struct uma_op *op)
{
	uint32_t i;

	for (i = 0; i < UMA_TASK_SLOTS; i++)
		if (op->t[i].layout != UMA_LAYOUT_STRIDED)
			return true;
	return false;
}

/* Decode and check a task and find its class. Returns false if it is faulty. */
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
	/* Prevent overflow of sums. */
	if (task->work > UINT64_MAX / 4)
		task->work = UINT64_MAX / 4;
	task->state = SW_TASK_PREPARE;
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

	if (!offer(task, desc, dev, engine, hint))
		return;
	/* The class for the largest dimensions is only for sw_plan_host(), not to be run. */
	if (prog->op.flags & UMA_TASK_DYNAMIC)
		memset(&task->fast, 0, sizeof(task->fast));
	else if (!has_packed(&prog->op) &&
		 !uma_prepare(prog, &prog->op, prog->engine, dev->kernels, UMA_STEP_WORK_UNBOUND,
			      &mem->base, &task->fault))
		task->state = SW_TASK_READY;
}

static void add_kernel(struct plan_host *host, const struct sw_task *task)
{
	const char *why = task->state == SW_TASK_FAULTY ? "the task faults" : task->fast.why;
	const size_t len = strlen(host->kernel);

	snprintf(host->kernel + len, sizeof(host->kernel) - len, "%s%s", len ? ", " : "",
		 task->fast.class ? task->fast.class->name : "model");
	if (!task->fast.class && !host->text[0])
		snprintf(host->text, sizeof(host->text), "%s", why);
}

/*
 * Assumes that arguments do not overlap and are fully aligned, and that dimensions in memory
 * have their largest values.
 */
void sw_plan_host(const struct accel_plan *plan, struct plan_host *host)
{
	const uint32_t engine = find_engine(plan->ctx->dev, plan);
	struct sw_device *dev = to_sw_device(plan->ctx->dev);
	uint64_t addrs[PLAN_MAX_ARGS];
	struct uma_task *tasks;
	struct sw_task *task;
	uint32_t i;

	tasks = calloc(plan->task_count + 1, sizeof(*tasks));
	task = malloc(sizeof(*task));
	if (!tasks || !task || engine == UINT32_MAX)
		goto out;
	for (i = 0; i < PLAN_MAX_ARGS; i++)
		addrs[i] = (uint64_t)(i + 1) << 40;
	plan_relocate(plan, 0, plan->task_count, addrs, tasks);
	for (i = 0; i < plan->task_count; i++) {
		memset(task, 0, sizeof(*task));
		if (offer(task, &tasks[i], dev, engine, &plan->hint) && task->fast.class &&
		    task->fast.work_bytes > host->work_bytes)
			host->work_bytes = task->fast.work_bytes;
		add_kernel(host, task);
	}
out:
	free(task);
	free(tasks);
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

/* For each operation, collect those that depend on it. */
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
	/* Filling has moved each start to that of the next operation. */
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
	sw_ahead_prepare(job);
	return 0;

err_nomem:
	job_release(job);
	return ctx_fail(base->ctx, -ENOMEM, NULL, "out of memory");
}

/* Neither engines nor kernels depend on a larger alignment. */

/* Engines ask for no more, and kernels look for no more. */
#define MOVE_ALIGN	64

static __u64 *addr_of(struct sw_task *task, const struct plan_reloc *r)
{
	struct uma_tensor_view *t = &task->prog.op.t[r->slot];

	return r->field == PLAN_SHAPE_ADDR ? &task->prog.op.shape_addr :
	       r->field == PLAN_ADDR ? &t->addr :
	       r->field == PLAN_SCALE_ADDR ? &t->scale_addr :
	       t->min_addr ? &t->min_addr : &t->zero_addr;
}

/* Are exactly the same operands in place as before? */
static bool same_places(const struct accel_plan *plan, uint32_t i, const uint64_t *from,
			const uint64_t *to)
{
	const struct plan_reloc *w = &plan->relocs[i], *r;
	uint32_t j;

	for (j = 0; j < plan->reloc_count; j++) {
		r = &plan->relocs[j];
		if (r->task == w->task && r->field == PLAN_ADDR &&
		    (plan_reloc_addr(plan, w, from) == plan_reloc_addr(plan, r, from)) !=
		    (plan_reloc_addr(plan, w, to) == plan_reloc_addr(plan, r, to)))
			return false;
	}
	return true;
}

/*
 * Are tasks still valid for the new addresses? Alignment may change the capability row of a
 * task, and results in the place of an input may change how it is run.
 */
static bool stays(const struct accel_plan *plan, const uint64_t *from, const uint64_t *to)
{
	uint32_t i;

	for (i = 0; i < plan->arg_count; i++)
		if ((from[i] ^ to[i]) % MOVE_ALIGN)
			return false;
	for (i = 0; i < plan->reloc_count; i++)
		if (plan->relocs[i].field == PLAN_ADDR &&
		    (plan->outputs >> plan->relocs[i].slot & 1) && !same_places(plan, i, from, to))
			return false;
	return true;
}

/* For a plan without parts, whose first task is @first. */
static void move_plan(struct sw_job *job, const struct accel_plan *plan, const uint64_t *to,
		      uint32_t first)
{
	uint32_t i;

	for (i = 0; i < plan->reloc_count; i++) {
		const struct plan_reloc *r = &plan->relocs[i];
		struct sw_task *task = &job->tasks[first + r->task];
		__u64 *addr = addr_of(task, r), old = *addr;

		*addr = plan_reloc_addr(plan, r, to);
		if (*addr == old)
			continue;
		/* Check again that all memory is bound. */
		atomic_store_explicit(&task->bound, 0, memory_order_relaxed);
		if (task->fast.class)
			fast_shift(&task->fast, r->slot, r->field, *addr - old);
	}
	for (i = 0; i < plan->task_count; i++)
		if (job->tasks[first + i].fast.class)
			fast_moved(&job->tasks[first + i].fast);
}

static void renew_plan(struct sw_job *job, const struct accel_plan *plan, const uint64_t *to,
		       uint32_t first, uint32_t engine)
{
	struct sw_ctx *ctx = to_sw_ctx(plan->ctx);
	struct sw_ranges *ranges = sw_ranges_get(ctx);
	struct uma_task desc;
	struct sw_mem mem;
	uint32_t i;

	sw_mem_init(&mem, ranges);
	for (i = 0; i < plan->task_count; i++) {
		struct sw_task *task = &job->tasks[first + i];

		plan_relocate(plan, i, 1, to, &desc);
		memset(task, 0, sizeof(*task));
		task_init(task, &desc, to_sw_device(plan->ctx->dev), engine, &plan->hint, &mem);
	}
	sw_ranges_put(ctx, ranges);
}

/*
 * Only the address of a task changes if nothing else depends on it; otherwise the task is
 * prepared again, in its place.
 */
static void rebind_plan(struct sw_job *job, const struct accel_plan *plan, const uint64_t *from,
			const uint64_t *to, uint32_t first, uint32_t engine)
{
	bool faulty = false;
	uint32_t i;

	for (i = 0; i < plan->task_count; i++)
		faulty |= job->tasks[first + i].state == SW_TASK_FAULTY;
	if (!faulty && stays(plan, from, to))
		move_plan(job, plan, to, first);
	else
		renew_plan(job, plan, to, first, engine);
}

int sw_job_rebind(struct accel_job *base)
{
	uint64_t from[PLAN_MAX_ARGS], to[PLAN_MAX_ARGS];
	struct sw_job *job = to_sw_job(base);
	uint32_t i, p, first;

	for (i = base->first_move; i != JOB_NO_OP; i = base->ops[i].next_move) {
		const struct job_op *op = &base->ops[i];
		const struct accel_plan *plan = op->plan;

		first = op->first_task;
		if (!plan->parts)
			rebind_plan(job, plan, op->bound.addrs, op->next.addrs, first,
				    job->engines[i]);
		for (p = 0; plan->parts && p < plan->part_count; p++) {
			const struct plan_part *part = &plan->parts[p];

			plan_part_addrs(part, op->bound.addrs, op->bound.addrs[plan->arg_count],
					from);
			plan_part_addrs(part, op->next.addrs, op->next.addrs[plan->arg_count], to);
			rebind_plan(job, part->plan, from, to, first, job->engines[i]);
			first += part->plan->task_count;
		}
	}
	return 0;
}

void sw_job_destroy(struct accel_job *base)
{
	job_release(to_sw_job(base));
}
