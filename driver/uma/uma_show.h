/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_SHOW_H_
#define _UMA_SHOW_H_

#include <linux/types.h>

#include <drm/uma_dump.h>

struct drm_uma_queue_state;
struct pid;
struct seq_file;
struct uma_device;
struct uma_engine;
struct uma_job;

/**
 * enum uma_log - kinds of lines in the kernel log, each with its own rate limit
 * @UMA_LOG_HANG: a job hung
 * @UMA_LOG_FAULT: a job faulted
 * @UMA_LOG_RESET: an engine or the device was reset
 * @UMA_LOG_HOT: the device throttles
 * @UMA_LOG_KINDS: number of kinds
 */
enum uma_log {
	UMA_LOG_HANG,
	UMA_LOG_FAULT,
	UMA_LOG_RESET,
	UMA_LOG_HOT,
	UMA_LOG_KINDS,
};

/** UMA_HISTORY_EVENTS: number of events that are kept for each engine, a power of two */
#define UMA_HISTORY_EVENTS	32
/** UMA_HISTORY_SLICES: the same for events of preempted jobs */
#define UMA_HISTORY_SLICES	8

/* Latest events of an engine */
struct uma_history {
	/* ring of events, in the format of a dump */
	struct uma_dump_event events[UMA_HISTORY_EVENTS];
	u64 count;		/* number of events so far */
	/* a ring for time slices, which would push failures out of events */
	struct uma_dump_event slices[UMA_HISTORY_SLICES];
	u64 slice_count;	/* number of these so far */
};

#ifdef CONFIG_DEV_COREDUMP

int uma_coredump_init(struct uma_device *uma);
void uma_coredump_stop(struct uma_device *uma);
void uma_coredump_event(struct uma_engine *engine, enum uma_dump_event_type type,
			const struct uma_job *job, int error);
void uma_coredump_job(struct uma_engine *engine);
void uma_coredump_wedged(struct uma_device *uma);
void uma_coredump_send(struct uma_device *uma);
void uma_coredump_counts(struct uma_device *uma, u32 *taken, u32 *dropped);

#else

static inline int uma_coredump_init(struct uma_device *uma)
{
	return 0;
}

static inline void uma_coredump_stop(struct uma_device *uma) { }
static inline void uma_coredump_job(struct uma_engine *engine) { }
static inline void uma_coredump_wedged(struct uma_device *uma) { }
static inline void uma_coredump_send(struct uma_device *uma) { }

static inline void uma_coredump_event(struct uma_engine *engine, enum uma_dump_event_type type,
				      const struct uma_job *job, int error)
{
}

static inline void uma_coredump_counts(struct uma_device *uma, u32 *taken, u32 *dropped)
{
	*taken = 0;
	*dropped = 0;
}

#endif

void uma_comm_of(struct pid *pid, char *comm);

void uma_events_init(struct uma_device *uma);
void uma_events_stop(struct uma_device *uma);
void uma_event_reset(struct uma_device *uma, const struct uma_engine *engine);
void uma_event_job(struct uma_engine *engine, struct pid *pid, u64 number,
		   const struct drm_uma_queue_state *state);
void uma_event_hot(struct uma_device *uma);
void uma_event_wedged(struct uma_device *uma);

struct uma_device *uma_debugfs_device(struct seq_file *m);
void uma_debugfs_init(struct uma_device *uma);

int uma_sysfs_init(struct uma_device *uma);

#endif /* _UMA_SHOW_H_ */
