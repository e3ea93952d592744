/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The clients of the soak test, and what they count.
 */
#ifndef _SOAK_H_
#define _SOAK_H_

#include "client.h"
#include "task.h"

/* Each client writes its results to the same addresses, so that a fault there can hit any. */
#define SOAK_DATA_VA	0x7700000000ull
#define SOAK_SLOTS	16ull
#define SOAK_SLOT	256ull

/**
 * struct soak_stats - shared by all
 * @stop: come to an end
 * @failed: something that must not be was seen, and said
 * @jobs: submitted
 * @right: went well, with the right bytes
 * @wrong: went well, with others
 * @guilty: broke, or were broken, and cost their queue its life
 * @cancelled: went with a queue or with the device's state
 * @own_faults: were made to fault
 * @refused: submits to a queue that had been banned meanwhile
 * @killed: processes
 * @forked: processes
 * @binds: maps and unmaps
 * @imports: dma-bufs
 * @users: buffers of user memory
 * @advised: purgeable buffers
 * @left: files with a job that are left without a process
 * @reads: of fdinfo
 * @injected: faults by kind
 */
struct soak_stats {
	__u32 stop;
	__u32 failed;
	__u64 jobs;
	__u64 right;
	__u64 wrong;
	__u64 guilty;
	__u64 cancelled;
	__u64 own_faults;
	__u64 refused;
	__u64 killed;
	__u64 forked;
	__u64 binds;
	__u64 imports;
	__u64 users;
	__u64 advised;
	__u64 left;
	__u64 reads;
	__u32 injected[16];
};

/** soak_client - be a client until told to stop, or killed */
void soak_client(struct soak_stats *stats, unsigned int seed);

#endif /* _SOAK_H_ */
