// SPDX-License-Identifier: MIT
/*
 * Fences of the in-process device. Waiting is a futex on the state; a file
 * descriptor exists only for those who ask for one. Descriptors of others are
 * watched by one thread, which is started when the first is imported.
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

/* Who waits for less does not take part */
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
		/* The futex takes an absolute time of the monotonic clock. */
		deadline = sw_now() + (uint64_t)timeout_ns;
		ts.tv_sec = deadline / 1000000000u;
		ts.tv_nsec = deadline % 1000000000u;
		until = &ts;
	}
	/* Do some of the work instead of sleeping. A tile may take as long as that. */
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
	struct sw_pool *pool = sw_fence_pool(fence);
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
	/* The caller may close its own before it is signalled. */
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	e = malloc(sizeof(*e));
	if (copy < 0 || !e)
		goto err;
	e->fd = copy;
	pthread_mutex_lock(&pool->lock);
	if (!sw_fence_done(fence)) {
		e->next = fence->eventfds;
		fence->eventfds = e;
		e = NULL;
	}
	pthread_mutex_unlock(&pool->lock);
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
			strerrordesc_np(-ret));
}

/* --- descriptors of others ------------------------------------------------ */

/* A sync_file knows whether what it stands for went well. */
static int fd_status(int fd)
{
	struct sync_file_info info = { 0 };

	if (!ioctl(fd, SYNC_IOC_FILE_INFO, &info) && info.status < 0)
		return info.status;
	return 0;
}

static void import_unlink(struct sw_pool *pool, struct sw_fence *fence)
{
	if (fence->import_prev)
		fence->import_prev->import_next = fence->import_next;
	else
		pool->imports = fence->import_next;
	if (fence->import_next)
		fence->import_next->import_prev = fence->import_prev;
}

static void import_drop_fd(struct sw_pool *pool, struct sw_fence *fence)
{
	epoll_ctl(pool->epoll_fd, EPOLL_CTL_DEL, fence->fd, NULL);
	close(fence->fd);
	fence->fd = -1;
}

/* A reference, unless the last one is already gone. */
static bool fence_ref_live(struct sw_fence *fence)
{
	unsigned int refs = atomic_load(&fence->base.refs);

	while (refs)
		if (atomic_compare_exchange_weak(&fence->base.refs, &refs,
						 refs + 1))
			return true;
	return false;
}

static void poller_event(struct sw_pool *pool, uint64_t id)
{
	struct sw_fence *fence, *ended = NULL;

	pthread_mutex_lock(&pool->lock);
	for (fence = pool->imports; fence; fence = fence->import_next)
		if (fence->base.id == id)
			break;
	/* sw_complete() lets go of the reference taken here. */
	if (fence && fence_ref_live(fence)) {
		fence->status = fd_status(fence->fd);
		import_unlink(pool, fence);
		import_drop_fd(pool, fence);
		sw_complete(pool, fence, &ended);
		sw_pool_kick(pool);
	}
	pthread_mutex_unlock(&pool->lock);
	sw_release(ended);
}

static void *poller_main(void *arg)
{
	struct sw_thread *self = arg;
	struct sw_pool *pool = self->pool;
	struct epoll_event events[16];
	bool gone = false, stop;
	int i, n;

	pthread_mutex_lock(&pool->lock);
	self->gone = &gone;
	pthread_mutex_unlock(&pool->lock);
	for (;;) {
		n = epoll_wait(pool->epoll_fd, events, 16, -1);
		for (i = 0; i < n; i++) {
			if (events[i].data.u64)
				poller_event(pool, events[i].data.u64);
			if (gone)
				return NULL;
		}
		pthread_mutex_lock(&pool->lock);
		stop = pool->stop;
		pthread_mutex_unlock(&pool->lock);
		if (stop)
			return NULL;
	}
}

/* With the lock. */
static int poller_start(struct sw_pool *pool)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 0 };
	sigset_t all, old;
	int ret;

	if (pool->polling)
		return 0;
	pool->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	pool->poll_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pool->epoll_fd < 0 || pool->poll_wake < 0 ||
	    epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, pool->poll_wake, &event)) {
		ret = -errno;
		goto err;
	}
	pool->poller.pool = pool;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = -pthread_create(&pool->poller.thread, NULL, poller_main,
			      &pool->poller);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		goto err;
	pool->polling = true;
	return 0;

err:
	if (pool->epoll_fd >= 0)
		close(pool->epoll_fd);
	if (pool->poll_wake >= 0)
		close(pool->poll_wake);
	pool->epoll_fd = -1;
	pool->poll_wake = -1;
	return ret;
}

void sw_poller_exit(struct sw_pool *pool)
{
	if (!pool->polling)
		return;
	eventfd_fire(pool->poll_wake);
	sw_thread_end(&pool->poller);
	close(pool->epoll_fd);
	close(pool->poll_wake);
}

/* 1: readable already, 0: watched from now on. With the lock. */
static int import_watch(struct sw_pool *pool, struct sw_fence *fence)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLONESHOT, .data.u64 = fence->base.id,
	};
	struct pollfd p = { .fd = fence->fd, .events = POLLIN };
	int ret;

	if (poll(&p, 1, 0) > 0)
		return 1;
	ret = poller_start(pool);
	if (ret)
		return ret;
	fence->import_prev = NULL;
	fence->import_next = pool->imports;
	if (epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, fence->fd, &event))
		return -errno;
	if (pool->imports)
		pool->imports->import_prev = fence;
	pool->imports = fence;
	return 0;
}

int sw_fence_import(struct accel_ctx *ctx, int fd, struct accel_fence **out)
{
	struct sw_pool *pool = &to_sw_device(ctx->dev)->pool;
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
				strerrordesc_np(-ret));
	}
	fence_init(&fence->base, ctx);
	pthread_mutex_lock(&pool->lock);
	ret = import_watch(pool, fence);
	pthread_mutex_unlock(&pool->lock);
	if (ret) {
		fence->status = ret > 0 ? fd_status(fence->fd) : 0;
		close(fence->fd);
		fence->fd = -1;
		atomic_store(&fence->state, SW_DONE);
	}
	if (ret < 0) {
		accel_fence_unref(&fence->base);
		return ctx_fail(ctx, ret, "fd", "it cannot be watched: %s",
				strerrordesc_np(-ret));
	}
	*out = &fence->base;
	return 0;
}

void sw_fence_destroy(struct accel_fence *base)
{
	struct sw_fence *fence = to_sw_fence(base);
	struct sw_pool *pool = sw_fence_pool(fence);
	struct sw_eventfd *e;

	if (fence->kind == SW_IMPORT && !sw_fence_done(fence)) {
		pthread_mutex_lock(&pool->lock);
		import_unlink(pool, fence);
		import_drop_fd(pool, fence);
		pthread_mutex_unlock(&pool->lock);
	}
	while ((e = fence->eventfds)) {
		fence->eventfds = e->next;
		close(e->fd);
		free(e);
	}
	sw_run_free_parts(fence);
	free(fence);
}
