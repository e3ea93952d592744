/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The mutator's world: a client of its own, and the valid calls that mutations
 * start from.
 */
#ifndef _MUTATE_H_
#define _MUTATE_H_

#include "client.h"

/*
 * Arguments lie in a range of their own with nothing but holes around: a pointer with any bit
 * flipped leads back into it or nowhere, never to the test's own memory. Each chunk ends where a
 * page ends and nothing is mapped behind it.
 */
#define ARENA		((char *)0x100000000000ull)
#define ARENA_SIZE	(1ull << 30)
#define ARENA_USER	(ARENA + (1ull << 20))	/* memory to import */
#define ARENA_DATA	(ARENA + (2ull << 20))	/* where queries go to */
#define ARENA_PAGES	16
#define MAX_CHUNKS	12

/**
 * struct chunk - a piece of an argument
 * @p: where it is
 * @size: bytes
 */
struct chunk {
	void *p;
	__u32 size;
};

/**
 * struct world - what calls are made in; ids and handles in it are valid whenever a call is built
 * @c: client, with an address space for jobs
 * @vm2: address space for binding
 * @queues: queues in the first address space
 * @bos: buffers
 * @tasks: valid tasks
 * @data: what they work on
 * @dmabuf: one of the buffers, exported
 * @syncs: syncobjs; the first has a fence, and so has its point 1
 * @fresh: what the call is about to take away
 * @limits: limits
 * @chunks: the argument; the first is the ioctl's own struct
 * @chunk_count: how many
 * @dirty: a call did what cannot be undone one by one
 * @failures: calls that ended in a way that they must not
 */
struct world {
	struct client c;
	__u32 vm2;
	__u32 queues[2];
	__u32 bos[3];
	struct buf tasks;
	struct buf data;
	int dmabuf;
	__u32 syncs[4];
	__u32 fresh;
	struct drm_uma_query_limits limits;
	struct chunk chunks[MAX_CHUNKS];
	unsigned int chunk_count;
	bool dirty;
	unsigned int failures;
};

#define MAX_ERRNOS	12

/**
 * struct call - a valid call
 * @name: name
 * @request: ioctl
 * @build: make the argument
 * @undo: bring the world back to what it was; gets the argument as it came back
 * @errnos: documented errors, beside -EINVAL, up to a 0
 */
struct call {
	const char *name;
	unsigned long request;
	void (*build)(struct world *w);
	void (*undo)(struct world *w, void *arg, int ret);
	int errnos[MAX_ERRNOS];
};

extern const struct call mutate_calls[];
extern const unsigned int mutate_call_count;

void world_arena(void);
void world_open(struct world *w);
void world_close(struct world *w);
/** world_drain - wait until no queue has a job that has not ended; false without their state */
bool world_drain(struct world *w);

#endif /* _MUTATE_H_ */
