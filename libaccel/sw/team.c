// SPDX-License-Identifier: MIT
/*
 * The threads of a device, and the parts of jobs that are ready for them.
 *
 * At most as many threads run tiles at a time as the device was opened with: its
 * workers, threads that wait for a fence, and threads that submit little. These are
 * awake and on a processor, so they take part in what they wait for, or do at once what
 * they submit, and one worker fewer does. A thread
 * that takes a part wakes another one if there is something left to take; nobody
 * has to know how many are worth it. Who has nothing to do looks out for more for
 * about as long as it takes to wake up, then sleeps. The first worker that sleeps is
 * woken, so that it is always the same ones that are at work, and their caches.
 *
 * Waking a worker costs microseconds, for nothing if the one who submits waits at
 * once and does the work itself. Who did so last time is expected to do it again:
 * nobody is woken, but a worker looks every millisecond whether something was left
 * lying. Who waits and finds nothing to do goes to sleep like a worker, but is not woken
 * for work: from then on it is not expected any more.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include "libaccel/core/fpmode.h"
#include "sw.h"

/* How often the worker that keeps watch looks, and for how long it finds that worth it */
#define WATCH_NS	1000000
#define WATCH_ROUNDS	10
/* Most scratch areas for threads that submit */
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

/* Changed with the lock only. */
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
 * If something is ready and nobody is about to look for it, wake a worker, but for
 * those in whose place others take part. @due: so many will, though they have not
 * come yet.
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
	/* Here, not by the one who wakes up: it takes a while. */
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
	/* Who waited for the queue's last run will come for this one, too, or looks out for it. */
	const bool due = queue->waited && !queue->helping;

	if (top >= 0)
		wake(team, due && team->ready[top]->run->queue == queue);
}

/*
 * The part of a level's list that a thread takes first: one half of the threads takes
 * parts from the beginning, the other from the end, as long as they are of the same run.
 * So the same parts of a job fall to the same threads again, and to their caches.
 */
static struct sw_exec *first_for(const struct sw_team *team, int level, const struct sw_slot *slot)
{
	struct sw_exec *head = team->ready[level];

	if (head && slot->place * 2 >= team->thread_count && head->prev->run == head->run)
		return head->prev;
	return head;
}

/*
 * Small parts of the same run along with the first one, so that they cost one turn of
 * the lock. A single thread need not leave any for others.
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
 * Enter the first part of the highest priority, or a list of small ones. Who waits for
 * a run of a queue takes parts of that queue only.
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

/* With the lock. NULL: let a thread of the team do it. */
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
	/* In the place of the worker that sleeps meanwhile: the last one. */
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
 * Is it worth looking on? Until @end, and longer where a stage is about to end, whose
 * last tiles may take a while: who slept then would be missed in all that follows.
 */
static bool patient(const atomic_int *ending, uint64_t end)
{
	const uint64_t now = sw_now();

	return now < end || (now < end + SW_ENDING_NS &&
			     atomic_load_explicit(ending, memory_order_relaxed));
}

/*
 * Nothing is to be had: look out for it until @end at least, without the lock.
 * Returns if there is.
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
	return found;
}

/* Parts of @run, and of those before it in its queue. */
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
		/* A worker was left asleep for what this thread does not take. */
		wake(team, 0);
		if (team->running >= team->thread_count)
			return;
		/* What another thread was faster to take may come back to be shared. */
		if (!end)
			end = sw_now() + SW_SPIN_NS;
		if (!look_out(team, run, queue, slot, end) || !patient(&queue->ending, end) ||
		    sw_exec_leaves(slot))
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
		/* Who left early sleeps now, and does not come for what is left: a worker shall. */
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

/* With the lock, which it lets go of: look for work until @end. Returns if there is some. */
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
	return found;
}

/* With the lock, which it lets go of. Returns whether the time is over. */
static bool doze(struct sw_thread *self)
{
	const uint64_t end = sw_now() + WATCH_NS;
	const struct timespec ts = {
		.tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u),
	};

	return pthread_cond_timedwait(&self->wake, &self->team->lock, &ts) == ETIMEDOUT;
}

/* Look now and then whether something was left lying, as long as that may be. */
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

/* With the lock, which it lets go of. */
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
		/* One thread is whoever waits. */
		if (!exec && !looked && team->spinning + 1 < team->thread_count) {
			/* What another thread was faster to take may come back to be shared. */
			end = end ? end : sw_now() + SW_SPIN_NS;
			looked = !spin(team, end) || !patient(&team->ending, end);
			continue;
		}
		if (!exec) {
			fall_asleep(self);
			/* What it was woken for may be over, and the next one is on its way. */
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
		/* That may have been the last reference to the device. */
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
 * It is held for well under a microsecond: who finds it taken had better not sleep at once. The
 * initializer is a macro wherever there is the type, which is none; a mutex of musl always spins.
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

/* With the clock of sw_now(). */
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
	/* Signals are the caller's business: none arrives in our threads. */
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
