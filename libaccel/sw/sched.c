// SPDX-License-Identifier: MIT
/*
 * Runs of jobs: their order in a queue, their dependencies on fences, and their completion. One
 * lock protects everything of a device; it is only held for short times, and never while a tile
 * runs.
 *
 * A run is first in its queue's list (queued), is started (active) when it is the first one of
 * its queue and all its dependencies are done, and leaves the list when it ends. While it is in
 * flight it holds a reference to itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sw.h"

static struct sw_queue *to_sw_queue(struct accel_queue *queue)
{
	return (struct sw_queue *)queue;
}

static struct sw_team *queue_team(struct sw_queue *queue)
{
	return &to_sw_device(queue->base.ctx->dev)->team;
}

int sw_queue_create(struct accel_queue *queue)
{
	(void)queue;
	return 0;
}

void sw_queue_destroy(struct accel_queue *queue)
{
	(void)queue;
}

static void ended_push(struct sw_fence **list, struct sw_fence *run)
{
	run->ended_next = *list;
	*list = run;
}

static void exec_init(struct sw_exec *exec, struct sw_fence *run, uint32_t op,
		      uint32_t op_end, uint64_t macs)
{
	exec->run = run;
	exec->macs = macs;
	exec->op = op;
	exec->op_end = op_end;
	exec->max_users = 1;
}

static void exec_exit(struct sw_exec *exec)
{
	free(exec->own);
	if (exec->work)
		sw_work_put(sw_fence_team(exec->run), exec->work);
	exec->own = NULL;
	exec->work = NULL;
}

static void activate(struct sw_team *team, struct sw_fence *run)
{
	const struct accel_job *job = &run->job->base;
	uint32_t i;

	run->active = true;
	run->ranges = sw_ranges_get(to_sw_ctx(run->base.ctx));
	if (!run->execs) {
		run->live = run->left = 1;
		sw_exec_list(team, &run->first);
		return;
	}
	run->left = job->op_count;
	for (i = 0; i < job->op_count; i++) {
		if (run->execs[i].pending)
			continue;
		run->live++;
		sw_exec_list(team, &run->execs[i]);
	}
}

/* A run without operations ends when it is started. */
static void try_start(struct sw_team *team, struct sw_fence *run,
		      struct sw_fence **ending)
{
	if (!run || run->active || run->waits || run->queue->head != run)
		return;
	if (run->job->base.op_count) {
		activate(team, run);
		return;
	}
	run->active = true;
	ended_push(ending, run);
}

static void unlink_waits(struct sw_fence *run)
{
	struct sw_wait **at;
	uint32_t i;

	for (i = 0; i < run->wait_count; i++) {
		struct sw_wait *wait = &run->wait_nodes[i];

		for (at = &wait->on->waiters; *at; at = &(*at)->next) {
			if (*at != wait)
				continue;
			*at = wait->next;
			break;
		}
	}
	run->waits = 0;
}

/* Cancel the runs of a queue that have not been started. */
static void cancel(struct sw_queue *queue, struct sw_fence **ending)
{
	struct sw_fence *run = queue->head, *next;

	if (run && run->active) {
		next = run->queue_next;
		run->queue_next = NULL;
		queue->tail = run;
		queue->count = 1;
		run = next;
	} else {
		queue->head = NULL;
		queue->tail = NULL;
		queue->count = 0;
	}
	for (; run; run = next) {
		next = run->queue_next;
		run->queue_next = NULL;
		run->queued = false;
		run->status = -ECANCELED;
		unlink_waits(run);
		ended_push(ending, run);
	}
}

static void queue_pop(struct sw_queue *queue, struct sw_fence *run)
{
	queue->head = run->queue_next;
	if (!queue->head)
		queue->tail = NULL;
	queue->count--;
	run->queued = false;
}

void sw_complete(struct sw_team *team, struct sw_fence *fence,
		 struct sw_fence **ended)
{
	struct sw_fence *ending = NULL;
	struct sw_wait *wait;

	ended_push(&ending, fence);
	while ((fence = ending)) {
		ending = fence->ended_next;
		if (fence->kind == SW_RUN) {
			/*
			 * Drop these references before the fence is signalled, so that buffers
			 * that only the job kept alive are released when a waiting thread
			 * returns.
			 */
			if (fence->ranges)
				sw_ranges_put(to_sw_ctx(fence->base.ctx),
					      fence->ranges);
			fence->ranges = NULL;
			if (team->trace)
				sw_trace_done(fence);
			job_ended(&fence->job->base);
			job_unref(&fence->job->base);
			fence->job = NULL;
			if (fence->queued)
				queue_pop(fence->queue, fence);
			if (!fence->queue->waiters)
				fence->queue->waited = false;
			if (fence->status && !fence->queue->banned) {
				fence->queue->banned = true;
				fence->queue->bans++;
				cancel(fence->queue, &ending);
			}
			fence->ban = fence->queue->bans;
			try_start(team, fence->queue->head, &ending);
		}
		while ((wait = fence->waiters)) {
			fence->waiters = wait->next;
			wait->run->waits--;
			try_start(team, wait->run, &ending);
		}
		sw_fence_signal(fence);
		ended_push(ended, fence);
	}
}

void sw_run_free_parts(struct sw_fence *run)
{
	uint32_t i;

	for (i = 0; i < run->exec_count; i++)
		exec_exit(&run->execs[i]);
	free(run->execs);
	exec_exit(&run->first);
	free(run->wait_nodes);
	run->execs = NULL;
	run->exec_count = 0;
	run->wait_nodes = NULL;
	run->wait_count = 0;
}

void sw_release(struct sw_fence *ended)
{
	struct sw_fence *fence;
	uint32_t i;

	while ((fence = ended)) {
		ended = fence->ended_next;
		if (fence->kind == SW_RUN) {
			for (i = 0; i < fence->wait_count; i++)
				accel_fence_unref(&fence->wait_nodes[i].on->base);
			sw_run_free_parts(fence);
			/* A failed run keeps its queue: reporting the failure lifts the ban. */
			if (!fence->status) {
				queue_unref(&fence->queue->base);
				fence->queue = NULL;
			}
		}
		accel_fence_unref(&fence->base);
	}
}

/**
 * sw_queue_told - a caller has been told that a run failed
 * @fence: the run, which is done
 *
 * Its queue accepts jobs again if it was banned because of this failure.
 */
void sw_queue_told(struct sw_fence *fence)
{
	struct sw_team *team;

	if (fence->kind != SW_RUN || !fence->status)
		return;
	team = queue_team(fence->queue);
	pthread_mutex_lock(&team->lock);
	if (fence->ban == fence->queue->bans)
		fence->queue->banned = false;
	pthread_mutex_unlock(&team->lock);
}

void sw_queue_cancel(struct accel_queue *base)
{
	struct sw_queue *queue = to_sw_queue(base);
	struct sw_team *team = queue_team(queue);
	struct sw_fence *ending = NULL, *ended = NULL, *run;

	pthread_mutex_lock(&team->lock);
	/* Not a failure, so the ban is permanent. */
	queue->banned = true;
	queue->bans++;
	cancel(queue, &ending);
	while ((run = ending)) {
		ending = run->ended_next;
		sw_complete(team, run, &ended);
	}
	sw_team_kick(team);
	pthread_mutex_unlock(&team->lock);
	sw_release(ended);
}

/* The first failure of a run determines its outcome. */
void sw_fail(struct sw_fence *run, int status, const struct sw_exec *exec,
	     const struct uma_fault_info *fault)
{
	if (atomic_exchange(&run->stop, true))
		return;
	run->status = status;
	run->op = exec->op;
	run->task = exec->task;
	run->engine = run->job->engines[exec->op];
	if (fault) {
		run->fault = *fault;
		run->faulted = true;
	}
}

void sw_exec_done(struct sw_team *team, struct sw_exec *exec,
		  struct sw_fence **ended)
{
	struct sw_fence *run = exec->run;
	const struct sw_job *job = run->job;
	const bool stop = atomic_load(&run->stop);
	struct sw_exec *next;
	uint32_t i, op;

	run->live--;
	run->left--;
	if (run->execs && !stop) {
		op = exec - run->execs;
		for (i = job->next_start[op]; i < job->next_start[op + 1]; i++) {
			next = &run->execs[job->next[i]];
			if (--next->pending)
				continue;
			run->live++;
			sw_exec_list(team, next);
		}
	}
	if (!run->live && (stop || !run->left))
		sw_complete(team, run, ended);
}

static int unordered_init(struct sw_fence *run)
{
	const struct accel_job *job = &run->job->base;
	uint32_t i;

	run->execs = calloc(job->op_count, sizeof(*run->execs));
	if (!run->execs)
		return -ENOMEM;
	run->exec_count = job->op_count;
	for (i = 0; i < job->op_count; i++) {
		exec_init(&run->execs[i], run, i, i + 1, run->job->op_work[i]);
		run->execs[i].pending = job->ops[i].dep_count;
	}
	return 0;
}

static struct sw_fence *run_new(struct sw_queue *queue, struct sw_job *job,
				uint32_t wait_count)
{
	const uint32_t op_count = job->base.op_count;
	struct sw_fence *run;

	run = calloc(1, sizeof(*run));
	if (!run)
		return NULL;
	run->kind = SW_RUN;
	run->fd = -1;
	run->job = job;
	run->queue = queue;
	exec_init(&run->first, run, 0, op_count, job->work);
	if (wait_count) {
		run->wait_nodes = calloc(wait_count, sizeof(*run->wait_nodes));
		if (!run->wait_nodes)
			goto err;
	}
	if (job->base.flags & ACCEL_JOB_UNORDERED && op_count > 1) {
		if (unordered_init(run))
			goto err;
	}
	fence_init(&run->base, queue->base.ctx);
	/* In flight: see the top of this file. */
	accel_fence_ref(&run->base);
	queue_ref(&queue->base);
	job_ref(&job->base);
	return run;

err:
	sw_run_free_parts(run);
	free(run);
	return NULL;
}

static void add_waits(struct sw_fence *run, struct accel_fence *const *waits,
		      uint32_t count)
{
	struct sw_fence *on;
	struct sw_wait *wait;
	uint32_t i;

	for (i = 0; i < count; i++) {
		on = (struct sw_fence *)waits[i];
		if (atomic_load_explicit(&on->state, memory_order_acquire) == SW_DONE)
			continue;
		wait = &run->wait_nodes[run->wait_count++];
		accel_fence_ref(&on->base);
		wait->run = run;
		wait->on = on;
		wait->next = on->waiters;
		on->waiters = wait;
		run->waits++;
	}
}

/* Drop the last references: the run was never published. */
static void run_undo(struct sw_fence *run)
{
	queue_unref(&run->queue->base);
	job_unref(&run->job->base);
	run->queue = NULL;
	run->job = NULL;
	accel_fence_unref(&run->base);
	accel_fence_unref(&run->base);
}

int sw_submit(struct accel_queue *base, struct accel_job *job,
	      struct accel_fence *const *waits, uint32_t wait_count,
	      struct accel_fence **fence)
{
	struct sw_fence *run, *ending = NULL, *ended = NULL;
	struct sw_queue *queue = to_sw_queue(base);
	struct sw_team *team = queue_team(queue);
	struct sw_slot *slot = NULL;
	int ret;

	run = run_new(queue, (struct sw_job *)job, wait_count);
	if (!run)
		return ctx_fail(base->ctx, -ENOMEM, NULL, "out of memory");

	pthread_mutex_lock(&team->lock);
	if (queue->banned || queue->count >= SW_MAX_QUEUED) {
		ret = queue->banned ? -ECANCELED : -EBUSY;
		/* The submitting thread learns of the failure now. */
		queue->banned = false;
		pthread_mutex_unlock(&team->lock);
		run_undo(run);
		return ctx_fail(base->ctx, ret, "queue", ret == -EBUSY ?
				"has too many unfinished jobs" :
				"a job of it failed: this one was refused, the next will not be");
	}
	add_waits(run, waits, wait_count);
	if (queue->tail)
		queue->tail->queue_next = run;
	else
		queue->head = run;
	queue->tail = run;
	queue->count++;
	run->queued = true;
	if (team->trace)
		sw_trace_submit(run);

	if (queue->head == run && !run->waits && run->job->work <= SW_INLINE_WORK &&
	    job->op_count && team->running < team->thread_count)
		slot = sw_slot_get(team);
	if (slot) {
		/* Counts as a worker, and as one that waits. */
		team->running++;
		team->helping++;
		run->active = true;
		if (team->trace)
			sw_trace_run(run);
		pthread_mutex_unlock(&team->lock);
		run->ranges = sw_ranges_get(to_sw_ctx(base->ctx));
		sw_run_inline(run, slot);
		pthread_mutex_lock(&team->lock);
		team->running--;
		team->helping--;
		sw_slot_put(team, slot);
		/* For work that arrived while all threads were counted as running */
		sw_team_kick(team);
		sw_complete(team, run, &ended);
	} else {
		try_start(team, run, &ending);
		if (ending)
			sw_complete(team, run, &ended);
	}
	sw_team_submitted(team, queue);
	pthread_mutex_unlock(&team->lock);
	sw_release(ended);
	*fence = &run->base;
	return 0;
}

