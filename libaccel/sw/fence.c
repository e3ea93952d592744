// SPDX-License-Identifier: MIT
/*
 * Fences of the in-process device. Waiting uses a futex on the state; a file descriptor is only
 * created on request. One thread, started with the first import, polls imported descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "sw.h"

/* Shorter waits do not take part in the work */
#define MIN_HELP_NS	10000000

static struct sw_fence *to_sw_fence(struct accel_fence *fence)
{
	return (struct sw_fence *)fence;
}

static void eventfd_fire(int fd)
{
	const uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void sw_fence_signal(struct sw_fence *fence)
{
	struct sw_eventfd *e;
	int old;

	old = atomic_exchange_explicit(&fence->state, SW_DONE,
				       memory_order_acq_rel);
	if (old == SW_WAITED)
		syscall(SYS_futex, &fence->state, FUTEX_WAKE_PRIVATE, INT_MAX,
			NULL, NULL, 0);
	while ((e = fence->eventfds)) {
		fence->eventfds = e->next;
		eventfd_fire(e->fd);
		close(e->fd);
		free(e);
	}
}

int sw_fence_wait(struct accel_fence *base, int64_t timeout_ns)
{
	struct sw_fence *fence = to_sw_fence(base);
	struct timespec ts, *until = NULL;
	int expected = SW_PENDING;
	uint64_t deadline = 0;

	if (timeout_ns > 0 && !sw_fence_done(fence)) {
		/* The futex takes an absolute CLOCK_MONOTONIC time. */
		deadline = sw_now() + (uint64_t)timeout_ns;
		ts.tv_sec = deadline / 1000000000u;
		ts.tv_nsec = deadline % 1000000000u;
		until = &ts;
	}
	/* Run tiles instead of sleeping. A tile may take as long as MIN_HELP_NS. */
	if (timeout_ns && fence->kind == SW_RUN && !sw_fence_done(fence) &&
	    (!until || timeout_ns > MIN_HELP_NS))
		sw_help(fence, deadline);
	while (!sw_fence_done(fence)) {
		if (!timeout_ns)
			return -ETIMEDOUT;
		expected = SW_PENDING;
		atomic_compare_exchange_strong(&fence->state, &expected,
					       SW_WAITED);
		if (syscall(SYS_futex, &fence->state, FUTEX_WAIT_BITSET_PRIVATE,
			    SW_WAITED, until, NULL, FUTEX_BITSET_MATCH_ANY) < 0 &&
		    errno == ETIMEDOUT && !sw_fence_done(fence))
			return -ETIMEDOUT;
	}
	return !fence->status;
}

void sw_fence_info(struct accel_fence *base, struct accel_fence_info *info)
{
	struct sw_fence *fence = to_sw_fence(base);
	struct accel_device *dev = base->ctx->dev;

	if (!sw_fence_done(fence))
		return;
	sw_queue_told(fence);
	info->done = 1;
	info->status = fence->status;
	fence_describe_status(info);
	if (fence->faulted) {
		fence_describe_fault(info, fence->op, fence->task,
				     &dev->engines[fence->engine],
				     fence->fault.reason, fence->fault.slot,
				     fence->fault.addr, fence->fault.field);
	} else if (fence->status == -ETIME) {
		info->op_index = fence->op;
		info->engine = dev->engines[fence->engine].info.engine;
	}
}

int sw_fence_export(struct accel_fence *base, int *out)
{
	struct sw_fence *fence = to_sw_fence(base);
	struct sw_team *team = sw_fence_team(fence);
	struct sw_eventfd *e = NULL;
	int fd, copy = -1, ret;

	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		goto err;
	if (sw_fence_done(fence)) {
		eventfd_fire(fd);
		*out = fd;
		return 0;
	}
	/* The caller may close its descriptor before the fence is signalled. */
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	e = malloc(sizeof(*e));
	if (copy < 0 || !e)
		goto err;
	e->fd = copy;
	pthread_mutex_lock(&team->lock);
	if (!sw_fence_done(fence)) {
		e->next = fence->eventfds;
		fence->eventfds = e;
		e = NULL;
	}
	pthread_mutex_unlock(&team->lock);
	if (e) {
		eventfd_fire(fd);
		close(copy);
		free(e);
	}
	*out = fd;
	return 0;

err:
	ret = fd >= 0 && copy >= 0 ? -ENOMEM : -errno;
	if (copy >= 0)
		close(copy);
	if (fd >= 0)
		close(fd);
	free(e);
	return ctx_fail(base->ctx, ret, NULL, "no descriptor for the fence: %s",
			errno_text(-ret));
}

/* --- descriptors of others ------------------------------------------------ */

/* A sync_file has the status of its fence. */
static int fd_status(int fd)
{
	struct sync_file_info info = { 0 };

	if (!ioctl(fd, SYNC_IOC_FILE_INFO, &info) && info.status < 0)
		return info.status;
	return 0;
}

static void import_unlink(struct sw_team *team, struct sw_fence *fence)
{
	if (fence->import_prev)
		fence->import_prev->import_next = fence->import_next;
	else
		team->imports = fence->import_next;
	if (fence->import_next)
		fence->import_next->import_prev = fence->import_prev;
}

static void import_drop_fd(struct sw_team *team, struct sw_fence *fence)
{
	epoll_ctl(team->epoll_fd, EPOLL_CTL_DEL, fence->fd, NULL);
	close(fence->fd);
	fence->fd = -1;
}

/* Take a reference, unless the last one is already gone. */
static bool fence_ref_live(struct sw_fence *fence)
{
	unsigned int refs = atomic_load(&fence->base.refs);

	while (refs)
		if (atomic_compare_exchange_weak(&fence->base.refs, &refs,
						 refs + 1))
			return true;
	return false;
}

static void poller_event(struct sw_team *team, uint64_t id)
{
	struct sw_fence *fence, *ended = NULL;

	pthread_mutex_lock(&team->lock);
	for (fence = team->imports; fence; fence = fence->import_next)
		if (fence->base.id == id)
			break;
	/* sw_complete() drops the reference taken here. */
	if (fence && fence_ref_live(fence)) {
		fence->status = fd_status(fence->fd);
		import_unlink(team, fence);
		import_drop_fd(team, fence);
		sw_complete(team, fence, &ended);
		sw_team_kick(team);
	}
	pthread_mutex_unlock(&team->lock);
	sw_release(ended);
}

static void *poller_main(void *arg)
{
	struct sw_thread *self = arg;
	struct sw_team *team = self->team;
	struct epoll_event events[16];
	bool gone = false, stop;
	int i, n;

	pthread_mutex_lock(&team->lock);
	self->gone = &gone;
	pthread_mutex_unlock(&team->lock);
	for (;;) {
		n = epoll_wait(team->epoll_fd, events, 16, -1);
		for (i = 0; i < n; i++) {
			if (events[i].data.u64)
				poller_event(team, events[i].data.u64);
			if (gone)
				return NULL;
		}
		pthread_mutex_lock(&team->lock);
		stop = team->stop;
		pthread_mutex_unlock(&team->lock);
		if (stop)
			return NULL;
	}
}

/* With the lock. */
static int poller_start(struct sw_team *team)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 0 };
	sigset_t all, old;
	int ret;

	if (team->polling)
		return 0;
	team->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	team->poll_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (team->epoll_fd < 0 || team->poll_wake < 0 ||
	    epoll_ctl(team->epoll_fd, EPOLL_CTL_ADD, team->poll_wake, &event)) {
		ret = -errno;
		goto err;
	}
	team->poller.team = team;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = -pthread_create(&team->poller.thread, NULL, poller_main,
			      &team->poller);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		goto err;
	team->polling = true;
	return 0;

err:
	if (team->epoll_fd >= 0)
		close(team->epoll_fd);
	if (team->poll_wake >= 0)
		close(team->poll_wake);
	team->epoll_fd = -1;
	team->poll_wake = -1;
	return ret;
}

void sw_poller_exit(struct sw_team *team)
{
	if (!team->polling)
		return;
	eventfd_fire(team->poll_wake);
	sw_thread_end(&team->poller);
	close(team->epoll_fd);
	close(team->poll_wake);
}

/* Returns 1: readable already, 0: polled from now on. With the lock. */
static int import_watch(struct sw_team *team, struct sw_fence *fence)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLONESHOT, .data.u64 = fence->base.id,
	};
	struct pollfd p = { .fd = fence->fd, .events = POLLIN };
	int ret;

	if (poll(&p, 1, 0) > 0)
		return 1;
	ret = poller_start(team);
	if (ret)
		return ret;
	fence->import_prev = NULL;
	fence->import_next = team->imports;
	if (epoll_ctl(team->epoll_fd, EPOLL_CTL_ADD, fence->fd, &event))
		return -errno;
	if (team->imports)
		team->imports->import_prev = fence;
	team->imports = fence;
	return 0;
}

int sw_fence_import(struct accel_ctx *ctx, int fd, struct accel_fence **out)
{
	struct sw_team *team = &to_sw_device(ctx->dev)->team;
	struct sw_fence *fence;
	int ret;

	fence = calloc(1, sizeof(*fence));
	if (!fence)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	fence->kind = SW_IMPORT;
	fence->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fence->fd < 0) {
		ret = -errno;
		free(fence);
		return ctx_fail(ctx, ret, "fd", "%d cannot be used: %s", fd,
				errno_text(-ret));
	}
	fence_init(&fence->base, ctx);
	pthread_mutex_lock(&team->lock);
	ret = import_watch(team, fence);
	pthread_mutex_unlock(&team->lock);
	if (ret) {
		fence->status = ret > 0 ? fd_status(fence->fd) : 0;
		close(fence->fd);
		fence->fd = -1;
		atomic_store(&fence->state, SW_DONE);
	}
	if (ret < 0) {
		accel_fence_unref(&fence->base);
		return ctx_fail(ctx, ret, "fd", "it cannot be watched: %s",
				errno_text(-ret));
	}
	*out = &fence->base;
	return 0;
}

void sw_fence_destroy(struct accel_fence *base)
{
	struct sw_fence *fence = to_sw_fence(base);
	struct sw_team *team = sw_fence_team(fence);
	struct sw_eventfd *e;

	if (fence->kind == SW_IMPORT && !sw_fence_done(fence)) {
		pthread_mutex_lock(&team->lock);
		import_unlink(team, fence);
		import_drop_fd(team, fence);
		pthread_mutex_unlock(&team->lock);
	}
	while ((e = fence->eventfds)) {
		fence->eventfds = e->next;
		close(e->fd);
		free(e);
	}
	sw_run_free_parts(fence);
	if (fence->queue)
		queue_unref(&fence->queue->base);
	free(fence);
}
