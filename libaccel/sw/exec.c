// SPDX-License-Identifier: MIT
/*
 * Execution of a part of a job by a thread: stages of tiles.
 *
 * A part is all operations of an ordered job, one after the other, or one operation of an
 * unordered one. At the start of a task or a phase the thread that has the part sets up the
 * stage alone; then it returns the part to the ready list, if the stage is large enough to be
 * shared, and takes tiles until there are no more, or until a part with a higher priority is
 * ready. The last thread that leaves a stage continues with the next one.
 */
#include <errno.h>
#include <stdlib.h>
#include "libaccel/core/fpmode.h"
#include "sw.h"

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

/* Get memory that the threads of the task share. */
static bool get_work(struct sw_team *team, struct sw_exec *exec)
{
	const size_t size = exec->fast ? exec->fast->work_bytes : 0;

	if (!size || (exec->work && exec->work->size >= size))
		return true;
	if (exec->work)
		sw_work_put(team, exec->work);
	exec->work = sw_work_get(team, size);
	return exec->work;
}

/* Trace the start of an operation, with its first task; the previous one has ended. */
static void op_begins(struct sw_exec *exec)
{
	if (sw_fence_team(exec->run)->trace && !exec->task)
		sw_trace_op_begin(exec);
}

static void op_ends(struct sw_exec *exec)
{
	if (exec->trace.kernel)
		sw_trace_op_end(exec);
}

static bool load_task(struct sw_fence *run, struct sw_exec *exec, struct sw_slot *slot)
{
	const struct job_op *op = &run->job->base.ops[exec->op];
	struct sw_task *task = &run->job->tasks[op->first_task + exec->task];
	struct uma_fault_info fault = { 0 };

	exec->prog = NULL;
	exec->fast = NULL;
	exec->task_macs = task->work;
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
	if (get_work(sw_fence_team(run), exec)) {
		op_begins(exec);
		return true;
	}
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
			op_ends(exec);
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
		if (!exec->task)
			sw_ahead(exec);
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

bool sw_exec_leaves(const struct sw_slot *slot)
{
	return slot->until && sw_now() > slot->until;
}

/*
 * The tiles of a shared part are divided into ranges by their number modulo the number of
 * ranges; each thread starts with the same range every time, because its caches may still have
 * the data that it wrote or packed there, and then helps with the following ranges. Tiles are
 * taken in order, because the last ones are the small ones at the edge, which let the threads
 * finish at the same time. Every tile counted by next_tile is available in some range.
 */
static uint32_t take_in_turn(struct sw_exec *exec, uint32_t home)
{
	uint32_t r, count, n;

	for (r = home;; r = r + 1 < exec->turns ? r + 1 : 0) {
		count = (exec->tiles - r - 1) / exec->turns + 1;
		if (atomic_load_explicit(&exec->taken[r], memory_order_relaxed) >= count)
			continue;
		n = atomic_fetch_add_explicit(&exec->taken[r], 1, memory_order_relaxed);
		if (n < count)
			return r + n * exec->turns;
	}
}

/* If the part is not shared, the counter is only for threads that join later. */
static uint32_t take_tile(struct sw_exec *exec, const struct sw_team *team,
			  const struct sw_slot *slot)
{
	uint32_t tile;

	if (exec->max_users > 1) {
		tile = atomic_fetch_add_explicit(&exec->next_tile, 1, memory_order_relaxed);
		return tile >= exec->tiles ? tile :
		       take_in_turn(exec, slot->place * exec->turns / team->thread_count);
	}
	tile = atomic_load_explicit(&exec->next_tile, memory_order_relaxed);
	atomic_store_explicit(&exec->next_tile, tile + 1, memory_order_relaxed);
	return tile;
}

/* Run tiles until there are no more, or the thread must stop. */
static void run_tiles(struct sw_team *team, struct sw_fence *run,
		      struct sw_exec *exec, struct sw_slot *slot)
{
	const uint32_t phase = exec->phase - 1, tiles = exec->tiles;
	struct uma_fault_info fault = { 0 };
	const int level = sw_level(run);
	bool first = true;
	uint32_t tile;

	for (;;) {
		if (atomic_load_explicit(&run->stop, memory_order_relaxed))
			return;
		if (!first && (sw_exec_leaves(slot) ||
			       atomic_load_explicit(&team->top,
						    memory_order_relaxed) > level))
			return;
		tile = take_tile(exec, team, slot);
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

/*
 * Work of a stage, in units that are each worth waking a thread. If the class does not give a time,
 * a byte from the last-level cache counts as a multiply-add.
 */
static uint64_t shares(const struct sw_exec *exec)
{
	const struct fast_prog *fast = exec->fast;

	if (fast && fast->ns)
		return fast->ns / SW_SHARE_NS;
	return (fast && fast->bytes > exec->task_macs ? fast->bytes : exec->task_macs) /
	       SW_SHARE_WORK;
}

/* Number of threads for a stage, considering other ready parts of the queue. */
static uint32_t worth(const struct sw_team *team, const struct sw_exec *exec)
{
	uint64_t threads;
	int others;

	if (exec->tiles == 1 || team->thread_count == 1)
		return 1;
	others = atomic_load_explicit(&exec->run->queue->open, memory_order_relaxed);
	threads = shares(exec) / (1 + (uint32_t)others);
	if (exec->fast && exec->fast->max_threads && threads > exec->fast->max_threads)
		threads = exec->fast->max_threads;
	if (threads > exec->tiles)
		threads = exec->tiles;
	if (threads > team->thread_count)
		threads = team->thread_count;
	return threads ? threads : 1;
}

static bool stopped(struct sw_fence *run)
{
	return atomic_load_explicit(&run->stop, memory_order_relaxed);
}

static bool has_tiles(struct sw_exec *exec)
{
	return atomic_load_explicit(&exec->next_tile, memory_order_relaxed) < exec->tiles;
}

/* Is a part of this priority or a higher one ready? */
static bool others_wait(struct sw_team *team, int level)
{
	return atomic_load_explicit(&team->top, memory_order_relaxed) >= level;
}

/*
 * Run small parts one after the other. Returns the first unfinished one if something more
 * urgent is ready, or NULL.
 */
static struct sw_exec *run_small(struct sw_team *team, struct sw_exec *exec, struct sw_slot *slot)
{
	struct sw_fence *run = exec->run;
	const int level = sw_level(run);

	for (; exec; exec = exec->next) {
		while (exec->tiles || next_stage(run, exec, slot)) {
			run_tiles(team, run, exec, slot);
			if (stopped(run))
				break;
			if (!has_tiles(exec))
				exec->tiles = 0;
			if (others_wait(team, level + 1) || sw_exec_leaves(slot))
				return exec;
		}
	}
	return NULL;
}

static void work_small(struct sw_team *team, struct sw_exec *exec, struct sw_slot *slot,
		       struct sw_fence **ended)
{
	struct sw_exec *left, *next;

	left = run_small(team, exec, slot);
	pthread_mutex_lock(&team->lock);
	for (; exec != left; exec = next) {
		next = exec->next;
		exec->users--;
		sw_exec_done(team, exec, ended);
	}
	for (; exec; exec = next) {
		next = exec->next;
		exec->users--;
		sw_exec_list(team, exec);
	}
}

/*
 * If only this thread may run the part, and no other part waits, its stages are run without
 * taking the lock.
 */
static bool goes_on_alone(struct sw_team *team, struct sw_exec *exec, const struct sw_slot *slot)
{
	return exec->max_users == 1 && !stopped(exec->run) && !has_tiles(exec) &&
	       !others_wait(team, sw_level(exec->run)) && !sw_exec_leaves(slot);
}

/* Divide the tiles into ranges for the expected threads. */
static void divide(struct sw_exec *exec, uint32_t users)
{
	uint32_t r;

	exec->turns = UMA_MIN(users, SW_TURNS);
	for (r = 0; r < exec->turns; r++)
		atomic_store_explicit(&exec->taken[r], 0, memory_order_relaxed);
}

/*
 * With the lock: is it worth waiting for the next stage? From when a thread finds no more tiles of
 * a stage until the next one that is shared: also while the last thread sets that up, or runs
 * stages alone that are too small to be shared.
 */
static void set_ending(struct sw_team *team, struct sw_exec *exec, bool ending)
{
	const int change = (int)ending - (int)exec->ending;

	if (!change)
		return;
	exec->ending = ending;
	atomic_fetch_add_explicit(&exec->run->queue->ending, change, memory_order_relaxed);
	atomic_fetch_add_explicit(&team->ending, change, memory_order_relaxed);
}

/* Run a part that other threads may join. */
static void work_shared(struct sw_team *team, struct sw_exec *exec, struct sw_slot *slot,
			struct sw_fence **ended)
{
	struct sw_fence *run = exec->run;
	bool setup = !exec->tiles;
	uint32_t share;

	for (;;) {
		if (setup) {
			if (!next_stage(run, exec, slot)) {
				pthread_mutex_lock(&team->lock);
				set_ending(team, exec, false);
				exec->users--;
				sw_exec_done(team, exec, ended);
				return;
			}
			share = worth(team, exec);
			if (share > 1) {
				pthread_mutex_lock(&team->lock);
				exec->max_users = share;
				set_ending(team, exec, false);
				divide(exec, share);
				sw_exec_list(team, exec);
				sw_team_share(team, run->queue);
				pthread_mutex_unlock(&team->lock);
			} else if (exec->ending && shares(exec) >= SW_ENDING_NS / SW_SHARE_NS) {
				/* Nobody waits for so long. */
				pthread_mutex_lock(&team->lock);
				set_ending(team, exec, false);
				pthread_mutex_unlock(&team->lock);
			}
		}
		run_tiles(team, run, exec, slot);
		if (goes_on_alone(team, exec, slot)) {
			setup = true;
			continue;
		}

		pthread_mutex_lock(&team->lock);
		exec->users--;
		if (!stopped(run) && has_tiles(exec)) {
			/* Something more urgent is ready: others may continue here. */
			set_ending(team, exec, false);
			if (!exec->listed)
				sw_exec_list(team, exec);
			return;
		}
		if (exec->listed)
			sw_exec_unlist(team, exec);
		if (exec->users) {
			set_ending(team, exec, true);
			return;
		}
		/* The last thread in the stage: the stage is over. */
		exec->tiles = 0;
		exec->max_users = 1;
		if (stopped(run)) {
			set_ending(team, exec, false);
			sw_exec_done(team, exec, ended);
			return;
		}
		if (others_wait(team, sw_level(run)) || sw_exec_leaves(slot)) {
			set_ending(team, exec, false);
			/* Give other parts a turn; another thread may be free, too. */
			sw_exec_list(team, exec);
			return;
		}
		exec->users = 1;
		pthread_mutex_unlock(&team->lock);
		setup = true;
	}
}

void sw_exec_work(struct sw_team *team, struct sw_exec *exec, struct sw_slot *slot,
		  struct sw_fence **ended)
{
	const bool small = !exec->listed && exec->next;

	sw_mem_init(&slot->mem, exec->run->ranges);
	pthread_mutex_unlock(&team->lock);
	if (small)
		work_small(team, exec, slot, ended);
	else
		work_shared(team, exec, slot, ended);
	team->running--;
}

/* Run a whole task on this thread. */
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
	FP_KERNELS_SCOPE();
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
		op_ends(exec);
	}
}
