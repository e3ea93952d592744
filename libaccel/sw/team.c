// SPDX-License-Identifier: MIT
/*
 * The threads of a device, and the parts of jobs that are ready to run.
 *
 * The number of threads that run tiles at the same time is limited to the number given when
 * opening the device: these are its workers, threads that wait for a fence, and threads that
 * submit small jobs. Waiting and submitting threads are awake and on a processor, so they run
 * tiles themselves, and one worker fewer is used. A thread that takes a part wakes another one
 * if there is more to take, so no thread has to know how many are worth waking. A thread
 * without work looks for more for about the time of a wakeup and then sleeps. The first
 * sleeping worker is woken, so that always the same threads, with their caches, are used.
 *
 * Waking a worker costs microseconds, in vain if the submitting thread immediately waits and
 * does the work itself. If a queue's last run was waited for in this way, this is expected
 * again: no worker is woken, but one checks every millisecond whether something was left. A
 * waiting thread that finds no work sleeps like a worker, but is not woken for work: after that
 * its queue is no longer expected to be waited for.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include "libaccel/core/fpmode.h"
#include "sw.h"

/*
 * Interval of the watching worker, and number of intervals without such submissions after which
 * it stops
 */
#define WATCH_NS	1000000
#define WATCH_ROUNDS	10
/* Maximum number of scratch areas for submitting threads */
#define MAX_SLOTS	8

/* --- ready parts ---------------------------------------------------------- */

static int top_of(struct sw_team *team)
{
	return atomic_load_explicit(&team->top, memory_order_relaxed);
}

static void set_top(struct sw_team *team, int top)
{
	atomic_store_explicit(&team->top, top, memory_order_relaxed);
}

/* Only changed with the lock held. */
static void count_open(const struct sw_exec *exec, int change)
{
	atomic_int *open = &exec->run->queue->open;

	atomic_store_explicit(open, atomic_load_explicit(open, memory_order_relaxed) + change,
			      memory_order_relaxed);
}

void sw_exec_list(struct sw_team *team, struct sw_exec *exec)
{
	struct sw_exec **head = &team->ready[sw_level(exec->run)];

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
	count_open(exec, 1);
	if (top_of(team) < sw_level(exec->run))
		set_top(team, sw_level(exec->run));
}

void sw_exec_unlist(struct sw_team *team, struct sw_exec *exec)
{
	int top = sw_level(exec->run);
	struct sw_exec **head = &team->ready[top];

	if (exec->next == exec) {
		*head = NULL;
	} else {
		exec->prev->next = exec->next;
		exec->next->prev = exec->prev;
		if (*head == exec)
			*head = exec->next;
	}
	exec->listed = false;
	count_open(exec, -1);
	if (*head || top < top_of(team))
		return;
	while (--top >= 0 && !team->ready[top])
		;
	set_top(team, top);
}

/*
 * If a part is ready, and no thread is looking for one, wake a worker, except for those that
 * are replaced by waiting threads. @due: number of waiting threads that are expected.
 */
static void wake(struct sw_team *team, uint32_t due)
{
	const uint32_t awake = team->thread_count - team->idle;
	uint32_t i;

	if (top_of(team) < 0 || awake > team->running - team->helping ||
	    team->idle <= team->helping + due)
		return;
	for (i = 0; !team->threads[i].asleep; i++)
		;
	/* Done here, because the woken thread needs a while. */
	team->threads[i].asleep = false;
	team->idle--;
	pthread_cond_signal(&team->threads[i].wake);
}

void sw_team_kick(struct sw_team *team)
{
	wake(team, 0);
}

void sw_team_submitted(struct sw_team *team, const struct sw_queue *queue)
{
	if (queue->waited)
		team->trusted++;
	if (!queue->waited || !team->watched)
		wake(team, 0);
}

void sw_team_share(struct sw_team *team, const struct sw_queue *queue)
{
	const int top = top_of(team);
	/*
	 * The thread that waited for the queue's previous run will wait for this one, too, or
	 * is already looking for work.
	 */
	const bool due = queue->waited && !queue->helping;

	if (top >= 0)
		wake(team, due && team->ready[top]->run->queue == queue);
}

/*
 * The part that a thread takes first from a level's list: half of the threads take parts from
 * the beginning, the others from the end, if both are of the same run. So a thread gets the
 * same parts of a job each time, whose data may be in its caches.
 */
static struct sw_exec *first_for(const struct sw_team *team, int level, const struct sw_slot *slot)
{
	struct sw_exec *head = team->ready[level];

	if (head && slot->place * 2 >= team->thread_count && head->prev->run == head->run)
		return head->prev;
	return head;
}

/*
 * Take small parts of the same run together with the first one, with the lock held once. A
 * single thread need not leave any for others.
 */
static void take_small(struct sw_team *team, struct sw_exec *last, const struct sw_slot *slot)
{
	uint64_t left = team->thread_count == 1 ? UINT64_MAX : SW_INLINE_WORK;
	const int level = sw_level(last->run);
	struct sw_exec *exec;

	left -= UMA_MIN(last->macs, left);
	while ((exec = first_for(team, level, slot)) && exec->listed && exec->run == last->run &&
	       exec->max_users == 1 && exec->macs <= left) {
		left -= exec->macs;
		sw_exec_unlist(team, exec);
		exec->users = 1;
		exec->next = NULL;
		last->next = exec;
		last = exec;
	}
}

/*
 * Take the first part of the highest priority, or a list of small ones. A thread that waits for
 * a run only takes parts of that run's queue.
 */
static struct sw_exec *pick(struct sw_team *team, const struct sw_queue *only,
			    const struct sw_slot *slot)
{
	const int top = top_of(team);
	struct sw_exec *exec;
	struct sw_fence *run;

	if (top < 0 || team->running >= team->thread_count)
		return NULL;
	exec = first_for(team, top, slot);
	run = exec->run;
	if (only && run->queue != only)
		return NULL;
	if (team->trace && !run->trace.runs)
		sw_trace_run(run);
	if (!atomic_load_explicit(&run->deadline, memory_order_relaxed))
		atomic_store_explicit(&run->deadline,
				      sw_now() + run->queue->base.timeout_ms * 1000000ull,
				      memory_order_relaxed);
	if (++exec->users >= exec->max_users) {
		sw_exec_unlist(team, exec);
		exec->next = NULL;
		if (exec->max_users == 1)
			take_small(team, exec, slot);
	}
	team->running++;
	if (only) {
		team->helping++;
		run->queue->helping++;
	}
	sw_team_share(team, run->queue);
	return exec;
}

/* --- scratch memory ------------------------------------------------------- */

static int slot_init(struct sw_slot *slot, uint32_t place)
{
	slot->place = place;
	slot->scratch = sw_scratch_new();
	return slot->scratch ? 0 : -ENOMEM;
}

/* With the lock. NULL: a thread of the team must do it. */
struct sw_slot *sw_slot_get(struct sw_team *team)
{
	struct sw_slot *slot = team->slots;

	if (slot) {
		team->slots = slot->next;
		return slot;
	}
	if (team->slot_count == MAX_SLOTS)
		return NULL;
	slot = calloc(1, sizeof(*slot));
	/* Takes the place of the last worker, which sleeps meanwhile. */
	if (slot && slot_init(slot, team->thread_count - 1)) {
		free(slot);
		return NULL;
	}
	if (slot)
		team->slot_count++;
	return slot;
}

void sw_slot_put(struct sw_team *team, struct sw_slot *slot)
{
	slot->next = team->slots;
	team->slots = slot;
}

/* --- threads that wait ---------------------------------------------------- */

/*
 * Is it worth looking for work any longer? Until @end, and longer between shared stages, because
 * the last tiles of one, and what one thread does before the next, may take a while, and a thread
 * that sleeps would be missing afterwards.
 */
static bool patient(const atomic_int *ending, uint64_t end)
{
	const uint64_t now = sw_now();

	return now < end || (now < end + SW_ENDING_NS &&
			     atomic_load_explicit(ending, memory_order_relaxed));
}

/*
 * There is no work: look for some, at least until @end, without the lock. Returns true if there
 * is some.
 */
static bool look_out(struct sw_team *team, struct sw_fence *run, struct sw_queue *queue,
		     const struct sw_slot *slot, uint64_t end)
{
	bool found = false;
	uint32_t i;

	pthread_mutex_unlock(&team->lock);
	do {
		for (i = 0; i < 32 && !found; i++) {
			sw_pause();
			found = sw_fence_done(run) ||
				atomic_load_explicit(&queue->open, memory_order_relaxed);
		}
	} while (!found && patient(&queue->ending, end) && !sw_exec_leaves(slot));
	pthread_mutex_lock(&team->lock);
	/* A stage may have been listed, which is no longer about to end, between the two loads. */
	return found || sw_fence_done(run) ||
	       atomic_load_explicit(&queue->open, memory_order_relaxed);
}

/* Run parts of @run, and of earlier runs of its queue. */
static void help(struct sw_team *team, struct sw_fence *run, struct sw_queue *queue,
		 struct sw_slot *slot, struct sw_fence **ended)
{
	struct sw_exec *exec;
	uint64_t end = 0;

	while (!sw_fence_done(run)) {
		exec = pick(team, queue, slot);
		if (exec) {
			sw_exec_work(team, exec, slot, ended);
			queue->helping--;
			team->helping--;
			if (sw_exec_leaves(slot))
				return;
			end = 0;
			continue;
		}
		/* Wake a worker that was not woken, for parts that this thread cannot take. */
		wake(team, 0);
		if (team->running >= team->thread_count)
			return;
		/* A part that another thread has taken may become shared. */
		if (!end)
			end = sw_now() + SW_SPIN_NS;
		else if (!patient(&queue->ending, end))
			return;
		if (!look_out(team, run, queue, slot, end) || sw_exec_leaves(slot))
			return;
	}
}

void sw_help(struct sw_fence *run, uint64_t until)
{
	FP_MODE_SCOPE();
	struct sw_team *team = sw_fence_team(run);
	struct sw_fence *ended = NULL;
	struct sw_queue *queue = NULL;
	struct sw_slot *slot = NULL;

	pthread_mutex_lock(&team->lock);
	if (!sw_fence_done(run))
		slot = sw_slot_get(team);
	if (slot) {
		queue = run->queue;
		queue_ref(&queue->base);
		queue->waited = true;
		queue->waiters++;
		slot->until = until;
		help(team, run, queue, slot, &ended);
		slot->until = 0;
		queue->waiters--;
		/* A thread that left early sleeps now, and does not run the rest: workers must. */
		if (!sw_fence_done(run) && !queue->waiters)
			queue->waited = false;
		sw_slot_put(team, slot);
		wake(team, 0);
	}
	pthread_mutex_unlock(&team->lock);
	sw_release(ended);
	if (queue)
		queue_unref(&queue->base);
}

/* --- workers -------------------------------------------------------------- */

/*
 * With the lock, which it releases meanwhile: look for work until @end. Returns true if there
 * is some.
 */
static bool spin(struct sw_team *team, uint64_t end)
{
	bool found = false;
	uint32_t i;

	team->spinning++;
	pthread_mutex_unlock(&team->lock);
	do {
		for (i = 0; i < 32 && !found; i++) {
			sw_pause();
			found = top_of(team) >= 0;
		}
	} while (!found && patient(&team->ending, end));
	pthread_mutex_lock(&team->lock);
	team->spinning--;
	return found || top_of(team) >= 0;
}

/* With the lock, which it releases meanwhile. Returns true when the time is over. */
static bool doze(struct sw_thread *self)
{
	const uint64_t end = sw_now() + WATCH_NS;
	const struct timespec ts = {
		.tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u),
	};

	return pthread_cond_timedwait(&self->wake, &self->team->lock, &ts) == ETIMEDOUT;
}

/* Check periodically whether a submission was left, as long as there may be some. */
static void keep_watch(struct sw_thread *self)
{
	struct sw_team *team = self->team;
	uint32_t trusted = team->trusted - 1, rounds = 0;

	team->watched = true;
	while (self->asleep && !team->stop && rounds < WATCH_ROUNDS) {
		rounds = trusted == team->trusted ? rounds + 1 : 0;
		trusted = team->trusted;
		if (doze(self) && self->asleep && top_of(team) >= 0) {
			self->asleep = false;
			team->idle--;
		}
	}
	team->watched = false;
	team->tired = team->trusted;
}

/* With the lock, which it releases meanwhile. */
static void fall_asleep(struct sw_thread *self)
{
	struct sw_team *team = self->team;

	self->asleep = true;
	team->idle++;
	if (!team->watched && team->trusted != team->tired)
		keep_watch(self);
	while (self->asleep && !team->stop)
		pthread_cond_wait(&self->wake, &team->lock);
}

static void *thread_main(void *arg)
{
	FP_MODE_SCOPE();
	struct sw_thread *self = arg;
	struct sw_team *team = self->team;
	struct sw_fence *ended = NULL;
	struct sw_exec *exec;
	bool gone = false, looked = true;
	uint64_t end = 0;

	pthread_mutex_lock(&team->lock);
	self->gone = &gone;
	while (!team->stop) {
		exec = pick(team, NULL, &self->slot);
		/*
		 * With a single thread, the waiting one does all the work. If as many threads as
		 * may are running tiles, each looks for more itself.
		 */
		if (!exec && !looked && team->running < team->thread_count &&
		    team->spinning + 1 < team->thread_count) {
			/* A part that another thread has taken may become shared. */
			end = end ? end : sw_now() + SW_SPIN_NS;
			looked = !spin(team, end) || !patient(&team->ending, end);
			continue;
		}
		if (!exec) {
			fall_asleep(self);
			/*
			 * The work for which it was woken may be gone, and the next may follow
			 * soon.
			 */
			looked = false;
			end = 0;
			continue;
		}
		sw_exec_work(team, exec, &self->slot, &ended);
		looked = false;
		end = 0;
		if (!ended)
			continue;
		pthread_mutex_unlock(&team->lock);
		sw_release(ended);
		ended = NULL;
		/* That may have dropped the last reference to the device. */
		if (gone)
			return NULL;
		pthread_mutex_lock(&team->lock);
	}
	pthread_mutex_unlock(&team->lock);
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

static void team_free(struct sw_team *team)
{
	struct sw_slot *slot;

	while ((slot = team->slots)) {
		team->slots = slot->next;
		sw_scratch_free(slot->scratch);
		free(slot);
	}
	free(team->threads);
	sw_work_exit(team);
	pthread_mutex_destroy(&team->lock);
}

void sw_team_exit(struct sw_team *team)
{
	uint32_t i;

	pthread_mutex_lock(&team->lock);
	team->stop = true;
	for (i = 0; i < team->thread_count; i++)
		pthread_cond_signal(&team->threads[i].wake);
	pthread_mutex_unlock(&team->lock);
	for (i = 0; i < team->thread_count; i++) {
		sw_thread_end(&team->threads[i]);
		pthread_cond_destroy(&team->threads[i].wake);
	}
	sw_poller_exit(team);
	team_free(team);
}

/*
 * The lock is held for well under a microsecond, so a thread that finds it taken should spin
 * before it sleeps. The initializer is a macro if the type exists, which cannot be tested for;
 * a mutex of musl always spins.
 */
static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* Use the clock of sw_now(). */
static void wake_init(pthread_cond_t *wake)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(wake, &attr);
	pthread_condattr_destroy(&attr);
}

int sw_team_init(struct sw_team *team, uint32_t threads)
{
	struct sw_thread *thread;
	sigset_t all, old;
	int ret = 0;

	lock_init(&team->lock);
	pthread_mutex_init(&team->work_lock, NULL);
	atomic_init(&team->top, -1);
	team->epoll_fd = -1;
	team->poll_wake = -1;
	team->threads = calloc(threads, sizeof(*team->threads));
	if (!team->threads) {
		team_free(team);
		return -ENOMEM;
	}
	/* Signals are for the caller's threads: block all of them in ours. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (team->thread_count < threads) {
		thread = &team->threads[team->thread_count];
		thread->team = team;
		ret = slot_init(&thread->slot, team->thread_count);
		if (ret)
			break;
		wake_init(&thread->wake);
		ret = -pthread_create(&thread->thread, NULL, thread_main,
				      thread);
		if (ret) {
			pthread_cond_destroy(&thread->wake);
			sw_scratch_free(thread->slot.scratch);
			break;
		}
		pthread_setname_np(thread->thread, "accel");
		team->thread_count++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		sw_team_exit(team);
	return ret;
}
