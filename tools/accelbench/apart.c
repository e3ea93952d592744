// SPDX-License-Identifier: MIT
/* Separate processes, so that measurements do not share memory and threads with earlier ones. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accelbench.h"

uint64_t bench_peak(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %llu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

int bench_apart(int (*fn)(void *arg, int fd), void *arg, void *told, size_t bytes)
{
	int fds[2], status = 1;
	ssize_t n = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return bench_fail(-errno, "no pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(fds[0]);
		status = fn(arg, fds[1]);
		_exit(fflush(stdout) && !status ? 1 : status);
	}
	close(fds[1]);
	if (pid > 0 && bytes)
		n = read(fds[0], told, bytes);
	close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return bench_fail(-errno, "no process");
	if (!WIFEXITED(status))
		return bench_fail(0, "a process was ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return WEXITSTATUS(status);
	return n == (ssize_t)bytes ? 0 : bench_fail(0, "a process has told nothing");
}

int bench_tell(int fd, const void *what, size_t bytes)
{
	return write(fd, what, bytes) == (ssize_t)bytes ? 0 : 1;
}
