// SPDX-License-Identifier: MIT
/*
 * Threads of our own, and where all threads of the process run.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "perf.h"

#define MAX_THREADS	256
/* Turns of a waiting loop before it sleeps */
#define SPINS		20000

static struct {
	void (*fn)(uint32_t thread, void *arg);
	void *arg;
	uint32_t threads, started;
	atomic_uint turn, left;
	pthread_mutex_t lock;
	pthread_cond_t go;
} team = { .lock = PTHREAD_MUTEX_INITIALIZER, .go = PTHREAD_COND_INITIALIZER };

static cpu_set_t allowed;
static int cpus[CPU_SETSIZE];
static uint32_t cpu_count;

static void find_cpus(void)
{
	int i;

	if (cpu_count)
		return;
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		CPU_ZERO(&allowed);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed))
			cpus[cpu_count++] = i;
	if (!cpu_count)
		cpu_count = 1;
}

uint32_t team_cpus(void)
{
	find_cpus();
	return cpu_count;
}

static void pin(pid_t tid, uint32_t place)
{
	cpu_set_t set;

	find_cpus();
	CPU_ZERO(&set);
	CPU_SET(cpus[place % cpu_count], &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

void team_pin_self(void)
{
	pin(0, 0);
}

/* Threads that were not there last time; their number */
static uint32_t find_new(pid_t *fresh, uint32_t most)
{
	static pid_t known[4 * MAX_THREADS];
	pid_t seen[4 * MAX_THREADS];
	uint32_t count = 0, fresh_count = 0, i;
	static uint32_t known_count;
	struct dirent *entry;
	DIR *d;

	d = opendir("/proc/self/task");
	if (!d)
		return 0;
	while ((entry = readdir(d)) && count < 4 * MAX_THREADS) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		bool old = tid == getpid();

		if (tid <= 0)
			continue;
		for (i = 0; i < known_count && !old; i++)
			old = known[i] == tid;
		seen[count++] = tid;
		if (!old && fresh_count < most)
			fresh[fresh_count++] = tid;
	}
	closedir(d);
	for (i = 0; i < count; i++)
		known[i] = seen[i];
	known_count = count;
	return fresh_count;
}

void team_pin_new(uint32_t place)
{
	pid_t fresh[MAX_THREADS];
	uint32_t count = find_new(fresh, MAX_THREADS), i;

	for (i = 0; i < count; i++)
		pin(fresh[i], place + i);
}

static void *worker(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, turn = 0, spins;

	pin(0, me);
	for (;;) {
		for (spins = 0; atomic_load(&team.turn) == turn && spins < SPINS; spins++)
			;
		pthread_mutex_lock(&team.lock);
		while (atomic_load(&team.turn) == turn)
			pthread_cond_wait(&team.go, &team.lock);
		turn = atomic_load(&team.turn);
		pthread_mutex_unlock(&team.lock);
		if (me < team.threads)
			team.fn(me, team.arg);
		atomic_fetch_sub(&team.left, 1);
	}
	return NULL;
}

void team_run(uint32_t threads, void (*fn)(uint32_t thread, void *arg), void *arg)
{
	pthread_t thread;

	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	while (team.started + 1 < threads) {
		if (pthread_create(&thread, NULL, worker, (void *)(uintptr_t)(team.started + 1)))
			break;
		pthread_detach(thread);
		team.started++;
	}
	if (threads <= 1) {
		fn(0, arg);
		return;
	}
	pthread_mutex_lock(&team.lock);
	team.fn = fn;
	team.arg = arg;
	team.threads = threads;
	atomic_store(&team.left, team.started);
	atomic_fetch_add(&team.turn, 1);
	pthread_cond_broadcast(&team.go);
	pthread_mutex_unlock(&team.lock);
	fn(0, arg);
	while (atomic_load(&team.left))
		;
}
