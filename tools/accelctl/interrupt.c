// SPDX-License-Identifier: MIT
/*
 * SIGINT is noticed between parts of the work; a second one ends the program at once, unless
 * each of them only ends a part of the work.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "interrupt.h"

static atomic_bool interrupted;
/* Wakes a thread that waits for input: the signal may arrive in any thread, at any time. */
static int wake[2] = { -1, -1 };

static void on_interrupt(int number)
{
	(void)number;
	atomic_store(&interrupted, true);
}

static void on_each_interrupt(int number)
{
	int before = errno;
	ssize_t n;

	(void)number;
	atomic_store(&interrupted, true);
	n = write(wake[1], "", 1);
	(void)n;
	errno = before;
}

bool ctl_interrupted(void)
{
	return atomic_load(&interrupted);
}

void ctl_catch_interrupt(void)
{
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	struct sigaction old;

	/* If the program was started in the background, SIGINT is ignored: keep that */
	if (!sigaction(SIGINT, NULL, &old) && old.sa_handler == SIG_IGN)
		return;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
}

int ctl_catch_each_interrupt(void)
{
	struct sigaction action = { .sa_handler = on_each_interrupt, .sa_flags = SA_RESTART };
	struct sigaction old;

	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	if (!sigaction(SIGINT, NULL, &old) && old.sa_handler == SIG_IGN)
		return 0;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	return 0;
}

void ctl_forget_interrupt(void)
{
	char bytes[64];

	while (read(wake[0], bytes, sizeof(bytes)) > 0)
		;
	atomic_store(&interrupted, false);
}

int ctl_wait_input(int fd)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = wake[0], .events = POLLIN } };

	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return fds[1].revents ? -EINTR : 0;
}

void ctl_catch_end(void)
{
	static const int signals[] = { SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	struct sigaction old;
	unsigned int i;

	sigemptyset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) || old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}
