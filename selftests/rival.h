/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Clients that want the same engine: one that is measured, and others that make
 * its life hard.
 */
#ifndef _RIVAL_H_
#define _RIVAL_H_

#include <stdatomic.h>

#include "client.h"

/* Tasks of a long job. */
#define RIVAL_TASKS	16
/* How long a job that hangs may run. */
#define RIVAL_HANG_MS	1000
/* Device addresses of tasks that hang, once rival_arm() has said so. */
#define RIVAL_HANG_VA	0x4000000000ull

enum rival_kind {
	RIVAL_SAME,	/* one that does the same */
	RIVAL_HOG,	/* one that keeps as many jobs queued as a queue takes */
	RIVAL_LONG,	/* one whose jobs are RIVAL_TASKS times as long, and can be preempted */
	RIVAL_HANG,	/* one whose jobs all hang, each in a queue of its own */
	RIVAL_HANGS,	/* as before, several at a time */
	RIVAL_KINDS,
};

extern const char *const rival_names[RIVAL_KINDS];

/**
 * struct worker - a client that runs jobs whose results are looked at
 * @c: client
 * @queue: its queue
 * @depth: jobs that it keeps in flight
 * @tasks_each: tasks of each job, all alike
 * @jobs: jobs done
 * @wrong: those whose result, or fence, was not right
 */
struct worker {
	struct client c;
	__u32 queue;
	unsigned int depth;
	unsigned int tasks_each;
	unsigned long jobs;
	unsigned long wrong;
	struct buf tasks;
	struct buf results;
	__u32 done[8];
};

/** worker_open - a client of a node with a queue of a priority on an engine */
void worker_open(struct worker *w, const char *node, unsigned int engine, __u32 priority,
		 unsigned int depth);
void worker_close(struct worker *w);
/** worker_run - run jobs for that long, or until *@stop, and then all that are in flight */
void worker_run(struct worker *w, unsigned int ms, const atomic_int *stop);

/** rival_engine - an engine of the node that the jobs can run on */
unsigned int rival_engine(const char *node);
/** rival_arm - have the emulated device hang on tasks at RIVAL_HANG_VA */
void rival_arm(const char *node);
/** hang_buf - a buffer of tasks at RIVAL_HANG_VA */
void hang_buf(struct client *c, struct buf *b);
/** rival_share - percent of an engine's busy time that a worker gets; its jobs must be right */
unsigned int rival_share(const char *node, unsigned int engine, enum rival_kind kind,
			 unsigned int depth, unsigned int ms);

#endif /* _RIVAL_H_ */
