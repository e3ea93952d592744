// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The device file as a file: opening, sharing, passing on, closing.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "task.h"
#include "watch.h"

TEST(node)
{
	struct stat st;

	ASSERT_EQ(0, stat(dev_path(), &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	/* The major number of compute accelerators. */
	EXPECT_EQ(261, major(st.st_rdev));
}

TEST(open_often)
{
	int fds[128], i;

	for (i = 0; i < 128; i++)
		fds[i] = dev_open();
	for (i = 0; i < 128; i++)
		ASSERT_EQ(0, close(fds[i]));
}

TEST(open_read_only)
{
	struct drm_uma_query_device dev;
	int fd = open(dev_path(), O_RDONLY | O_CLOEXEC);
	__u32 handle;
	__u64 offset;

	ASSERT_GE(fd, 0);
	query_device(fd, &dev);
	handle = bo_create(fd, PAGE, 0);
	ASSERT_EQ(0, bo_offset_try(fd, handle, &offset));
	/* A writable shared mapping needs a writable file, here as everywhere. */
	EXPECT_TRUE(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset) ==
		    MAP_FAILED);
	close(fd);
}

TEST(read_has_no_events)
{
	int fd = open(dev_path(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
	char buf[64];

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-1, read(fd, buf, sizeof(buf)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(-1, read(fd, buf, 0));
	close(fd);
}

TEST(poll_has_no_events)
{
	struct pollfd p = { .fd = dev_open(), .events = POLLIN | POLLPRI };

	EXPECT_EQ(0, poll(&p, 1, 0));
	close(p.fd);
}

TEST(write_is_refused)
{
	int fd = dev_open();

	EXPECT_EQ(-1, write(fd, "x", 1));
	close(fd);
}

TEST(dup_is_the_same_client)
{
	struct drm_uma_bo_info info;
	int fd = dev_open(), fd2 = dup(fd);
	__u32 handle = bo_create(fd, PAGE, 0);

	bo_info(fd2, handle, &info);
	close(fd);
	bo_info(fd2, handle, &info);
	close(fd2);
}

TEST(use_after_close)
{
	struct drm_uma_bo_info info;
	int fd = dev_open();

	close(fd);
	EXPECT_EQ(-EBADF, bo_info_try(fd, 1, &info));
}

TEST(ids_start_over)
{
	struct drm_uma_bo_info info;
	int fd = dev_open(), fd2;
	__u32 handle = bo_create(fd, PAGE, 0);

	close(fd);
	fd2 = dev_open();
	EXPECT_EQ(-ENOENT, bo_info_try(fd2, handle, &info));
	close(fd2);
}

TEST(inherited_by_a_child)
{
	struct client c;
	struct buf b;
	pid_t pid;

	client_open(&c);
	client_buf(&c, &b, PAGE);
	b.u8[0] = 1;
	pid = harness_fork();
	if (!pid) {
		struct drm_uma_bo_info info;
		__u8 *p;

		bo_info(c.fd, b.handle, &info);
		p = bo_map(c.fd, b.handle, PAGE);
		ASSERT_EQ(1, p[0]);
		p[0] = 2;
		ASSERT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), 0, 0));
		close(c.fd);
		_exit(0);
	}
	harness_join(pid);
	EXPECT_EQ(2, b.u8[0]);
	/* The child has closed its copy, not the client. */
	EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), 0, 0));
	client_close(&c);
}

static void send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'x';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	ASSERT_EQ(1, sendmsg(socket, &msg, 0));
}

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	ASSERT_EQ(1, recvmsg(socket, &msg, MSG_CMSG_CLOEXEC));
	ASSERT_TRUE(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

TEST(passed_over_a_socket)
{
	struct drm_uma_bo_info info;
	int sv[2], fd, dmabuf;
	__u32 handle;
	pid_t pid;
	__u8 *p;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = harness_fork();
	if (!pid) {
		/* A whole client and a buffer of it, from a process that ends at once. */
		fd = dev_open();
		handle = bo_create(fd, 2 * PAGE, 0);
		p = bo_map(fd, handle, 2 * PAGE);
		memset(p, 0x3d, 2 * PAGE);
		send_fd(sv[1], fd);
		send_fd(sv[1], prime_export(fd, handle));
		ASSERT_EQ(4, write(sv[1], &handle, sizeof(handle)));
		_exit(0);
	}
	fd = receive_fd(sv[0]);
	dmabuf = receive_fd(sv[0]);
	ASSERT_EQ(4, read(sv[0], &handle, sizeof(handle)));
	harness_join(pid);
	bo_info(fd, handle, &info);
	EXPECT_EQ(2 * PAGE, info.size);
	EXPECT_EQ(handle, prime_import(fd, dmabuf));
	p = bo_map(fd, handle, 2 * PAGE);
	EXPECT_EQ(0x3d, p[2 * PAGE - 1]);
	close(fd);
	close(dmabuf);
}

/* A client in flight over a socket that nobody reads, with jobs. */
TEST(lost_in_a_socket)
{
	struct client c;
	int sv[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	client_open(&c);
	ASSERT_EQ(0, submit_one_try(c.fd, queue_create(c.fd, c.vm, 0), 0, 0, NULL, 0));
	send_fd(sv[0], c.fd);
	client_close(&c);
	close(sv[0]);
	close(sv[1]);
}

TEST(closed_on_exec)
{
	int fd = dev_open();
	pid_t pid;

	EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	pid = harness_fork();
	if (!pid) {
		bo_create(fd, PAGE, 0);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	harness_join(pid);
	bo_create(fd, PAGE, 0);
	close(fd);
}

static void closes_with_jobs(bool killed)
{
	struct gate gate;
	struct client c;
	struct buf b;
	__u32 queue;
	pid_t pid;
	int i, status;

	pid = harness_fork();
	if (!pid) {
		client_open(&c);
		client_buf(&c, &b, 16 * UMA_TASK_SIZE);
		for (i = 0; i < 16; i++)
			task_nop(&b.task[i]);
		queue = queue_create(c.fd, c.vm, 0);
		for (i = 0; i < 50; i++)
			client_start(&c, queue, b.va, 16);
		gate_close(&gate, c.fd);
		queue = queue_create(c.fd, c.vm, 0);
		for (i = 0; i < 50; i++)
			client_start_after(&c, queue, b.va, 16, gate.syncobj);
		if (killed)
			raise(SIGKILL);
		close(c.fd);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(killed ? WIFSIGNALED(status) : WIFEXITED(status) && !WEXITSTATUS(status));
	/* The device is there for the next. */
	client_open(&c);
	EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), 0, 0));
	client_close(&c);
}

TEST(close_with_jobs)
{
	closes_with_jobs(false);
}

TEST(killed_with_jobs)
{
	closes_with_jobs(true);
}

/* Buffers with all that can hang on them. */
TEST(close_with_everything)
{
	struct client c;
	int i, dmabuf;
	__u32 handle;
	__u8 *p;

	for (i = 0; i < 10; i++) {
		client_open(&c);
		handle = bo_create(c.fd, 4 * PAGE, 0);
		p = bo_map(c.fd, handle, 4 * PAGE);
		client_bind_handle(&c, handle, 4 * PAGE, 0);
		client_bind_handle(&c, handle, 4 * PAGE, DRM_UMA_BIND_READONLY);
		dmabuf = prime_export(c.fd, handle);
		ASSERT_EQ(0, bo_label_try(c.fd, handle, "all of it", 9));
		queue_create(c.fd, c.vm, 0);
		syncobj_create(c.fd, false);
		client_close(&c);
		p[0] = 1;
		ASSERT_EQ(0, munmap(p, 4 * PAGE));
		close(dmabuf);
	}
}

HARNESS_MAIN
