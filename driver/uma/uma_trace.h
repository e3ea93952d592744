/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Tracepoints. A job is identified by the pid and id of its queue and its number in the queue. One
 * that was never put on a ring only has submit and done events.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM uma

#if !defined(_UMA_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _UMA_TRACE_H_

#include <linux/tracepoint.h>

#include <drm/drm_drv.h>

#include <linux/pid.h>

#include "uma_device.h"
#include "uma_job.h"

TRACE_EVENT(uma_job_submit,
	    TP_PROTO(struct uma_queue *queue, u64 number, u64 tasks_addr, u32 task_count),
	    TP_ARGS(queue, number, tasks_addr, task_count),
	    TP_STRUCT__entry(__string(device, dev_name(queue->uma->drm.dev))
			     __field(pid_t, pid)
			     __field(u32, queue)
			     __field(u32, task_count)
			     __field(u64, number)
			     __field(u64, tasks_addr)
	    ),
	    TP_fast_assign(__assign_str(device);
			   __entry->pid = pid_nr(queue->pid);
			   __entry->queue = queue->state.queue_id;
			   __entry->task_count = task_count;
			   __entry->number = number;
			   __entry->tasks_addr = tasks_addr;
	    ),
	    TP_printk("dev=%s pid=%d queue=%u number=%llu tasks=%#llx+%u", __get_str(device),
		      __entry->pid, __entry->queue, __entry->number, __entry->tasks_addr,
		      __entry->task_count)
);

TRACE_EVENT(uma_job_run,
	    TP_PROTO(struct uma_engine *engine, const struct uma_job *job),
	    TP_ARGS(engine, job),
	    TP_STRUCT__entry(__string(device, dev_name(engine->uma->drm.dev))
			     __string(engine, engine->name)
			     __field(pid_t, pid)
			     __field(u32, queue)
			     __field(u32, task_count)
			     __field(u32, as)
			     __field(u64, number)
			     __field(u64, seqno)
			     __field(u64, tasks_addr)
	    ),
	    TP_fast_assign(__assign_str(device);
			   __assign_str(engine);
			   __entry->pid = pid_nr(job->queue->pid);
			   __entry->queue = job->queue->state.queue_id;
			   __entry->task_count = job->task_count;
			   __entry->as = engine->as;
			   __entry->number = job->number;
			   __entry->seqno = job->done->seqno;
			   __entry->tasks_addr = job->tasks_addr;
	    ),
	    TP_printk("dev=%s engine=%s pid=%d queue=%u number=%llu seqno=%llu as=%u tasks=%#llx+%u",
		      __get_str(device), __get_str(engine), __entry->pid, __entry->queue,
		      __entry->number, __entry->seqno, __entry->as, __entry->tasks_addr,
		      __entry->task_count)
);

TRACE_EVENT(uma_job_preempt,
	    TP_PROTO(struct uma_engine *engine, const struct uma_job *job),
	    TP_ARGS(engine, job),
	    TP_STRUCT__entry(__string(device, dev_name(engine->uma->drm.dev))
			     __string(engine, engine->name)
			     __field(pid_t, pid)
			     __field(u32, queue)
			     __field(u32, next)
			     __field(u32, task_count)
			     __field(u64, tile)
			     __field(u64, number)
			     __field(u64, seqno)
			     __field(u64, start)
			     __field(u64, end)
	    ),
	    TP_fast_assign(__assign_str(device);
			   __assign_str(engine);
			   __entry->pid = pid_nr(job->queue->pid);
			   __entry->queue = job->queue->state.queue_id;
			   __entry->next = job->first_task;
			   __entry->task_count = job->task_count;
			   __entry->tile = job->first_tile;
			   __entry->number = job->number;
			   __entry->seqno = job->done->seqno;
			   __entry->start = engine->result.start;
			   __entry->end = engine->result.end;
	    ),
	    TP_printk("dev=%s engine=%s pid=%d queue=%u number=%llu seqno=%llu start=%llu end=%llu next=%u tasks=%u tile=%llu",
		      __get_str(device), __get_str(engine), __entry->pid, __entry->queue,
		      __entry->number, __entry->seqno, __entry->start, __entry->end,
		      __entry->next, __entry->task_count, __entry->tile)
);

TRACE_EVENT(uma_job_done,
	    TP_PROTO(struct uma_engine *engine, const struct uma_done *done),
	    TP_ARGS(engine, done),
	    TP_STRUCT__entry(__string(device, dev_name(engine->uma->drm.dev))
			     __string(engine, engine->name)
			     __field(pid_t, pid)
			     __field(u32, queue)
			     __field(int, error)
			     __field(u64, number)
			     __field(u64, seqno)
			     __field(u64, start)
			     __field(u64, end)
	    ),
	    TP_fast_assign(__assign_str(device);
			   __assign_str(engine);
			   __entry->pid = pid_nr(done->queue->pid);
			   __entry->queue = done->queue->state.queue_id;
			   __entry->error = done->error;
			   __entry->number = done->number;
			   __entry->seqno = done->fence->seqno;
			   __entry->start = done->start;
			   __entry->end = done->end;
	    ),
	    TP_printk("dev=%s engine=%s pid=%d queue=%u number=%llu seqno=%llu start=%llu end=%llu error=%d",
		      __get_str(device), __get_str(engine), __entry->pid, __entry->queue,
		      __entry->number, __entry->seqno, __entry->start, __entry->end,
		      __entry->error)
);

TRACE_EVENT(uma_fault,
	    TP_PROTO(struct uma_engine *engine, struct uma_queue *queue,
		     const struct uma_result *result),
	    TP_ARGS(engine, queue, result),
	    TP_STRUCT__entry(__string(device, dev_name(engine->uma->drm.dev))
			     __string(engine, engine->name)
			     __field(pid_t, pid)
			     __field(u32, queue)
			     __field(u32, reason)
			     __field(u32, slot)
			     __field(u32, task_index)
			     __field(u64, addr)
	    ),
	    TP_fast_assign(__assign_str(device);
			   __assign_str(engine);
			   __entry->pid = pid_nr(queue->pid);
			   __entry->queue = queue->state.queue_id;
			   __entry->reason = result->reason;
			   __entry->slot = result->slot;
			   __entry->task_index = result->task_index;
			   __entry->addr = result->fault_addr;
	    ),
	    TP_printk("dev=%s engine=%s pid=%d queue=%u task=%u reason=%u slot=%u addr=%#llx",
		      __get_str(device), __get_str(engine), __entry->pid, __entry->queue,
		      __entry->task_index, __entry->reason, __entry->slot, __entry->addr)
);

TRACE_EVENT(uma_reset,
	    TP_PROTO(struct uma_device *uma, const char *what, int result),
	    TP_ARGS(uma, what, result),
	    TP_STRUCT__entry(__string(device, dev_name(uma->drm.dev))
			     __string(what, what)
			     __field(int, result)
	    ),
	    TP_fast_assign(__assign_str(device);
			   __assign_str(what);
			   __entry->result = result;
	    ),
	    TP_printk("dev=%s what=%s result=%d", __get_str(device), __get_str(what),
		      __entry->result)
);

TRACE_EVENT(uma_power,
	    TP_PROTO(struct uma_device *uma, const char *state, u32 clock),
	    TP_ARGS(uma, state, clock),
	    TP_STRUCT__entry(__string(device, dev_name(uma->drm.dev))
			     __string(state, state)
			     __field(u32, clock)
	    ),
	    TP_fast_assign(__assign_str(device);
			   __assign_str(state);
			   __entry->clock = clock;
	    ),
	    TP_printk("dev=%s state=%s clock=%u", __get_str(device), __get_str(state),
		      __entry->clock)
);

#endif /* _UMA_TRACE_H_ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE uma_trace
#include <trace/define_trace.h>
