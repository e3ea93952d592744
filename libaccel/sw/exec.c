// SPDX-License-Identifier: MIT
/*
 * Tiles, and the threads that run them.
 *
 * A thread takes the ready part of a job with the highest priority. If it is at
 * the start of a task or a phase the thread sets the stage up, alone; then it
 * puts the part back on the list, if it is large enough to be shared, and takes
 * tiles from a counter until there are no more, or until something with a higher
 * priority is ready. Whoever leaves a stage last goes on with the next.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "sw.h"

/* Most scratch areas for threads that submit */
#define MAX_SLOTS	8

static int level_of(const struct sw_fence *run)
{
	switch (run->queue->base.priority) {
	case ACCEL_PRIORITY_LOW:
		return 0;
	case ACCEL_PRIORITY_HIGH:
		return 2;
	case ACCEL_PRIORITY_REALTIME:
		return 3;
	default:
		return 1;
	}
}

/* --- ready parts ---------------------------------------------------------- */

static void update_top(struct sw_pool *pool)
{
	int top = SW_LEVELS;

	while (--top >= 0 && !pool->ready[top])
		;
	atomic_store_explicit(&pool->top, top, memory_order_relaxed);
}

static void list_add(struct sw_pool *pool, struct sw_exec *exec)
{
	struct sw_exec **head = &pool->ready[level_of(exec->run)];

	if (*head) {
		exec->next = *head;
		exec->prev = (*head)->prev;
		exec->prev->next = exec;
		exec->next->prev = exec;
	} else {
		exec->next = exec->prev = exec;
		*head = exec;
	}
	exec->listed = true;
	update_top(pool);
}

static void list_del(struct sw_pool *pool, struct sw_exec *exec)
{
	struct sw_exec **head = &pool->ready[level_of(exec->run)];

	if (exec->next == exec) {
		*head = NULL;
	} else {
		exec->prev->next = exec->next;
		exec->next->prev = exec->prev;
		if (*head == exec)
			*head = exec->next;
	}
	exec->listed = false;
	update_top(pool);
}

static void wake(struct sw_pool *pool, uint32_t count)
{
	/* Who spins sees it. */
	count = count > pool->spinning ? count - pool->spinning : 0;
	if (count > pool->idle)
		count = pool->idle;
	while (count--)
		pthread_cond_signal(&pool->wake);
}

void sw_exec_ready(struct sw_pool *pool, struct sw_exec *exec)
{
	list_add(pool, exec);
	wake(pool, 1);
}

/* Enter the first part of the highest priority, if it is of that run or any will do. */
static struct sw_exec *pick(struct sw_pool *pool, const struct sw_fence *only)
{
	const int top = atomic_load_explicit(&pool->top, memory_order_relaxed);
	struct sw_exec *exec;
	struct sw_fence *run;

	if (top < 0)
		return NULL;
	exec = pool->ready[top];
	run = exec->run;
	if (only && run != only)
		return NULL;
	if (!atomic_load_explicit(&run->deadline, memory_order_relaxed))
		atomic_store_explicit(&run->deadline, sw_now() +
				      run->queue->base.timeout_ms * 1000000ull,
				      memory_order_relaxed);
	if (++exec->users >= exec->max_users)
		list_del(pool, exec);
	return exec;
}

/* --- stages --------------------------------------------------------------- */

/* Prepare a task that depends on memory. Returns 0, or -1 with the fault set. */
static int load_late(struct sw_fence *run, struct sw_exec *exec, const struct sw_task *task,
		     struct sw_slot *slot, struct uma_fault_info *fault)
{
	const struct sw_device *dev = sw_fence_device(run);
	struct sw_own *own = exec->own;

	if (uma_prepare(&own->prog, &task->prog.op,
			&dev->profile->engines[run->job->engines[exec->op]],
			dev->kernels, UMA_STEP_WORK_UNBOUND, &slot->mem.base, fault))
		return -1;
	exec->prog = &own->prog;
	if (!(task->prog.op.flags & UMA_TASK_DYNAMIC) || !own->prog.phase_count)
		return 0;
	fast_prepare(&own->fast, &own->prog, &dev->cpu,
		     &run->job->base.ops[exec->op].plan->hint);
	if (own->fast.class && fast_bound(&own->fast, &slot->mem.base) && fast_packed(&own->fast))
		exec->fast = &own->fast;
	return 0;
}

/* Memory that the threads of the task share. */
static bool get_work(struct sw_pool *pool, struct sw_exec *exec)
{
	const size_t size = exec->fast ? exec->fast->work_bytes : 0;

	if (!size || (exec->work && exec->work->size >= size))
		return true;
	if (exec->work)
		sw_work_put(pool, exec->work);
	exec->work = sw_work_get(pool, size);
	return exec->work;
}

static bool load_task(struct sw_fence *run, struct sw_exec *exec, struct sw_slot *slot)
{
	const struct job_op *op = &run->job->base.ops[exec->op];
	struct sw_task *task = &run->job->tasks[op->first_task + exec->task];
	struct uma_fault_info fault = { 0 };

	exec->prog = NULL;
	exec->fast = NULL;
	if (task->state == SW_TASK_FAULTY) {
		sw_fail(run, -EFAULT, exec, &task->fault);
		return false;
	}
	if (task->fast.class && sw_task_bound(task, &slot->mem) && fast_packed(&task->fast)) {
		exec->fast = &task->fast;
	} else if (task->state == SW_TASK_READY) {
		exec->prog = &task->prog;
	} else {
		if (!exec->own)
			exec->own = malloc(sizeof(*exec->own));
		if (!exec->own) {
			sw_fail(run, -ENOMEM, exec, NULL);
			return false;
		}
		if (load_late(run, exec, task, slot, &fault)) {
			sw_fail(run, -EFAULT, exec, &fault);
			return false;
		}
	}
	if (get_work(sw_fence_pool(run), exec))
		return true;
	sw_fail(run, -ENOMEM, exec, NULL);
	return false;
}

static uint32_t phases(const struct sw_exec *exec)
{
	return exec->fast ? exec->fast->phase_count : exec->prog ? exec->prog->phase_count : 0;
}

static uint32_t tiles_of(const struct sw_exec *exec, uint32_t phase)
{
	return exec->fast ? exec->fast->tiles[phase] : exec->prog->tiles[phase];
}

static bool overdue(struct sw_fence *run)
{
	return sw_now() > atomic_load_explicit(&run->deadline,
					       memory_order_relaxed);
}

/* Find the next phase that has tiles. */
static bool next_stage(struct sw_fence *run, struct sw_exec *exec,
		       struct sw_slot *slot)
{
	const struct job_op *ops = run->job->base.ops;

	for (;;) {
		while (exec->phase < phases(exec)) {
			exec->tiles = tiles_of(exec, exec->phase++);
			if (!exec->tiles)
				continue;
			atomic_store_explicit(&exec->next_tile, 0,
					      memory_order_relaxed);
			return true;
		}
		if (exec->prog || exec->fast) {
			exec->prog = NULL;
			exec->fast = NULL;
			exec->task++;
		}
		while (exec->op < exec->op_end &&
		       exec->task >= ops[exec->op].plan->task_count) {
			exec->op++;
			exec->task = 0;
		}
		if (exec->op == exec->op_end || atomic_load(&run->stop))
			return false;
		exec->unclocked += run->job->tasks[ops[exec->op].first_task + exec->task].work;
		if (exec->unclocked > SW_CLOCK_WORK)
			exec->unclocked = 0;
		if (!exec->unclocked && overdue(run)) {
			sw_fail(run, -ETIME, exec, NULL);
			return false;
		}
		exec->phase = 0;
		if (!load_task(run, exec, slot))
			return false;
	}
}

static int run_tile(const struct sw_exec *exec, uint32_t phase, uint32_t tile,
		    struct sw_slot *slot, struct uma_fault_info *fault)
{
	const struct fast_run fast = {
		.prog = exec->fast,
		.scratch = (uint8_t *)slot->scratch + UMA_SCRATCH_SIZE,
		.rows_scratch = slot->scratch,
		.work = exec->work ? exec->work->mem : NULL,
		.mem = &slot->mem.base,
		.fault = fault,
	};
	__u32 step = 0;
	int ret;

	if (exec->fast)
		return exec->fast->class->tile(&fast, phase, tile);
	do {
		ret = uma_run_step(exec->prog, phase, tile, &step, &slot->mem.base,
				   slot->scratch, fault);
	} while (ret > 0);
	return ret;
}

/* Has the thread something else to do? */
static bool leaves(const struct sw_slot *slot)
{
	return slot->until && sw_now() > slot->until;
}

/* Take tiles until there are no more, or there is a reason to stop. */
static void run_tiles(struct sw_pool *pool, struct sw_fence *run,
		      struct sw_exec *exec, struct sw_slot *slot)
{
	const uint32_t phase = exec->phase - 1, tiles = exec->tiles;
	struct uma_fault_info fault = { 0 };
	const int level = level_of(run);
	bool first = true;
	uint32_t tile;

	for (;;) {
		if (atomic_load_explicit(&run->stop, memory_order_relaxed))
			return;
		if (!first && (leaves(slot) ||
			       atomic_load_explicit(&pool->top,
						    memory_order_relaxed) > level))
			return;
		tile = atomic_fetch_add_explicit(&exec->next_tile, 1,
						 memory_order_relaxed);
		if (tile >= tiles)
			return;
		if (!first && overdue(run)) {
			sw_fail(run, -ETIME, exec, NULL);
			return;
		}
		first = false;
		if (run_tile(exec, phase, tile, slot, &fault)) {
			sw_fail(run, -EFAULT, exec, &fault);
			return;
		}
	}
}

/* How many threads a stage is worth. */
static uint32_t worth(const struct sw_pool *pool, const struct sw_exec *exec)
{
	const struct uma_op *op = exec->fast ? exec->fast->op : &exec->prog->op;
	uint64_t threads;

	if (exec->tiles == 1 || pool->thread_count == 1)
		return 1;
	threads = uma_op_work(op) / SW_SHARE_WORK;
	if (exec->fast && exec->fast->max_threads && threads > exec->fast->max_threads)
		threads = exec->fast->max_threads;
	if (threads > exec->tiles)
		threads = exec->tiles;
	if (threads > pool->thread_count)
		threads = pool->thread_count;
	return threads ? threads : 1;
}

/*
 * The part is this thread's alone and nobody waits for its turn: then its stages
 * follow each other without the lock.
 */
static bool goes_on_alone(struct sw_pool *pool, struct sw_fence *run, struct sw_exec *exec,
			  const struct sw_slot *slot)
{
	return exec->max_users == 1 &&
	       !atomic_load_explicit(&run->stop, memory_order_relaxed) &&
	       atomic_load_explicit(&pool->top, memory_order_relaxed) < level_of(run) &&
	       atomic_load_explicit(&exec->next_tile, memory_order_relaxed) >= exec->tiles &&
	       !leaves(slot);
}

/*
 * With the lock, and @exec entered by pick(). Comes back with the lock when the
 * part has ended, others go on with it, or it was put back.
 */
static void work(struct sw_pool *pool, struct sw_exec *exec,
		 struct sw_slot *slot, struct sw_fence **ended)
{
	struct sw_fence *run = exec->run;
	bool setup = !exec->tiles;
	uint32_t share;

	sw_mem_init(&slot->mem, run->ranges);
	pthread_mutex_unlock(&pool->lock);
	for (;;) {
		if (setup) {
			if (!next_stage(run, exec, slot)) {
				pthread_mutex_lock(&pool->lock);
				exec->users--;
				sw_exec_done(pool, exec, ended);
				return;
			}
			share = worth(pool, exec);
			if (share > 1) {
				pthread_mutex_lock(&pool->lock);
				exec->max_users = share;
				list_add(pool, exec);
				wake(pool, share - 1);
				pthread_mutex_unlock(&pool->lock);
			}
		}
		run_tiles(pool, run, exec, slot);
		if (goes_on_alone(pool, run, exec, slot)) {
			setup = true;
			continue;
		}

		pthread_mutex_lock(&pool->lock);
		exec->users--;
		if (!atomic_load_explicit(&run->stop, memory_order_relaxed) &&
		    atomic_load_explicit(&exec->next_tile,
					 memory_order_relaxed) < exec->tiles) {
			/* Something more urgent: others may go on here. */
			if (!exec->listed)
				list_add(pool, exec);
			wake(pool, 1);
			return;
		}
		if (exec->listed)
			list_del(pool, exec);
		if (exec->users)
			return;
		/* The last one out: the stage is over. */
		exec->tiles = 0;
		exec->max_users = 1;
		if (atomic_load_explicit(&run->stop, memory_order_relaxed)) {
			sw_exec_done(pool, exec, ended);
			return;
		}
		if (atomic_load_explicit(&pool->top, memory_order_relaxed) >=
		    level_of(run) || leaves(slot)) {
			/* Others' turn, and another thread may be free. */
			sw_exec_ready(pool, exec);
			return;
		}
		exec->users = 1;
		pthread_mutex_unlock(&pool->lock);
		setup = true;
	}
}

void sw_help(struct sw_fence *run, uint64_t until)
{
	struct sw_pool *pool = sw_fence_pool(run);
	struct sw_fence *ended = NULL;
	struct sw_slot *slot = NULL;
	struct sw_exec *exec;

	pthread_mutex_lock(&pool->lock);
	while ((exec = pick(pool, run))) {
		if (!slot)
			slot = sw_slot_get(pool);
		if (!slot) {
			/* As if nobody had been here */
			exec->users--;
			if (!exec->listed)
				list_add(pool, exec);
			break;
		}
		slot->until = until;
		work(pool, exec, slot, &ended);
		if (leaves(slot))
			break;
	}
	if (slot) {
		slot->until = 0;
		sw_slot_put(pool, slot);
	}
	pthread_mutex_unlock(&pool->lock);
	sw_release(ended);
}

/* A whole task on this thread. */
static int run_alone(struct sw_exec *exec, struct sw_slot *slot, struct uma_fault_info *fault)
{
	uint32_t tile;

	for (exec->phase = 0; exec->phase < phases(exec); exec->phase++)
		for (tile = 0; tile < tiles_of(exec, exec->phase); tile++)
			if (run_tile(exec, exec->phase, tile, slot, fault))
				return -1;
	return 0;
}

void sw_run_inline(struct sw_fence *run, struct sw_slot *slot)
{
	const struct accel_job *job = &run->job->base;
	struct sw_exec *exec = &run->first;
	struct uma_fault_info fault = { 0 };

	sw_mem_init(&slot->mem, run->ranges);
	for (exec->op = 0; exec->op < job->op_count; exec->op++) {
		const uint32_t tasks = job->ops[exec->op].plan->task_count;

		for (exec->task = 0; exec->task < tasks; exec->task++) {
			if (!load_task(run, exec, slot))
				return;
			if (run_alone(exec, slot, &fault)) {
				sw_fail(run, -EFAULT, exec, &fault);
				return;
			}
		}
	}
}

/* --- scratch memory and threads ------------------------------------------- */

static int slot_init(struct sw_slot *slot)
{
	slot->scratch = sw_scratch_new();
	return slot->scratch ? 0 : -ENOMEM;
}

/* With the lock. NULL: let a thread of the pool do it. */
struct sw_slot *sw_slot_get(struct sw_pool *pool)
{
	struct sw_slot *slot = pool->slots;

	if (slot) {
		pool->slots = slot->next;
		return slot;
	}
	if (pool->slot_count == MAX_SLOTS)
		return NULL;
	slot = calloc(1, sizeof(*slot));
	if (slot && slot_init(slot)) {
		free(slot);
		return NULL;
	}
	if (slot)
		pool->slot_count++;
	return slot;
}

void sw_slot_put(struct sw_pool *pool, struct sw_slot *slot)
{
	slot->next = pool->slots;
	pool->slots = slot;
}

/* With the lock, which it lets go of: look for work for a while. */
static void spin(struct sw_pool *pool)
{
	const uint64_t end = sw_now() + SW_SPIN_NS;
	uint32_t i;

	pool->spinning++;
	pthread_mutex_unlock(&pool->lock);
	do {
		for (i = 0; i < 32; i++) {
			if (atomic_load_explicit(&pool->top, memory_order_relaxed) >= 0)
				goto out;
			sw_pause();
		}
	} while (sw_now() < end);
out:
	pthread_mutex_lock(&pool->lock);
	pool->spinning--;
}

static void *thread_main(void *arg)
{
	struct sw_thread *self = arg;
	struct sw_pool *pool = self->pool;
	struct sw_fence *ended = NULL;
	struct sw_exec *exec;
	bool gone = false, looked = true;

	pthread_mutex_lock(&pool->lock);
	self->gone = &gone;
	while (!pool->stop) {
		exec = pick(pool, NULL);
		/* One thread is whoever waits. */
		if (!exec && !looked && pool->spinning + 1 < pool->thread_count) {
			looked = true;
			spin(pool);
			continue;
		}
		if (!exec) {
			pool->idle++;
			pthread_cond_wait(&pool->wake, &pool->lock);
			pool->idle--;
			continue;
		}
		work(pool, exec, &self->slot, &ended);
		looked = false;
		if (!ended)
			continue;
		pthread_mutex_unlock(&pool->lock);
		sw_release(ended);
		ended = NULL;
		/* That may have been the last reference to the device. */
		if (gone)
			return NULL;
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

void sw_thread_end(struct sw_thread *thread)
{
	if (pthread_equal(thread->thread, pthread_self())) {
		*thread->gone = true;
		pthread_detach(thread->thread);
	} else {
		pthread_join(thread->thread, NULL);
	}
	sw_scratch_free(thread->slot.scratch);
}

static void pool_free(struct sw_pool *pool)
{
	struct sw_slot *slot;

	while ((slot = pool->slots)) {
		pool->slots = slot->next;
		sw_scratch_free(slot->scratch);
		free(slot);
	}
	free(pool->threads);
	sw_work_exit(pool);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
}

void sw_pool_exit(struct sw_pool *pool)
{
	uint32_t i;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->thread_count; i++)
		sw_thread_end(&pool->threads[i]);
	sw_poller_exit(pool);
	pool_free(pool);
}

int sw_pool_init(struct sw_pool *pool, uint32_t threads)
{
	struct sw_thread *thread;
	sigset_t all, old;
	int ret = 0;

	pthread_mutex_init(&pool->lock, NULL);
	pthread_mutex_init(&pool->work_lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	atomic_init(&pool->top, -1);
	pool->epoll_fd = -1;
	pool->poll_wake = -1;
	pool->threads = calloc(threads, sizeof(*pool->threads));
	if (!pool->threads) {
		pool_free(pool);
		return -ENOMEM;
	}
	/* Signals are the caller's business: none arrives in our threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool->thread_count < threads) {
		thread = &pool->threads[pool->thread_count];
		thread->pool = pool;
		ret = slot_init(&thread->slot);
		if (ret)
			break;
		ret = -pthread_create(&thread->thread, NULL, thread_main,
				      thread);
		if (ret) {
			sw_scratch_free(thread->slot.scratch);
			break;
		}
		pthread_setname_np(thread->thread, "accel");
		pool->thread_count++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		sw_pool_exit(pool);
	return ret;
}
