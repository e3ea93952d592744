// SPDX-License-Identifier: MIT
/*
 * Events of the in-process device for accelctl trace: lines like those of the driver's
 * tracepoints, written to the FIFO in ACCEL_SW_TRACE. The writer never blocks: lines for which
 * there is no room are counted as lost, as in the kernel.
 *
 * Jobs and operations that run at the same time have separate rows: each takes the lowest free
 * one when it begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sw.h"

/* Maximum number of rows of an engine, and of jobs; beyond that the last one is shared. */
#define LANES	64u

/**
 * struct sw_trace - state of tracing
 * @fd: FIFO
 * @comm: name of this program
 * @lost: number of lines that were lost since the last one written
 * @jobs: rows of jobs that are in use
 * @lanes: rows of each engine that are in use
 */
struct sw_trace {
	int fd;
	char comm[17];
	atomic_uint lost;
	atomic_uint_fast64_t jobs;
	atomic_uint_fast64_t lanes[UMA_PROFILE_MAX_ENGINES];
};

struct sw_trace *sw_trace_open(void)
{
	const char *path = getenv("ACCEL_SW_TRACE");
	struct sw_trace *trace;
	struct stat st;
	int fd;
	char *c;

	/* Opening other types of files may have side effects. */
	if (!path || !*path || stat(path, &st) || !S_ISFIFO(st.st_mode))
		return NULL;
	/* Also open it for reading: with a reader, writing does not raise SIGPIPE. */
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	trace = !fstat(fd, &st) && S_ISFIFO(st.st_mode) ? calloc(1, sizeof(*trace)) : NULL;
	if (!trace) {
		close(fd);
		return NULL;
	}
	trace->fd = fd;
	snprintf(trace->comm, sizeof(trace->comm), "%s", program_invocation_short_name);
	/* A line must not be broken by the name of a program. */
	for (c = trace->comm; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return trace;
}

void sw_trace_close(struct sw_trace *trace)
{
	if (!trace)
		return;
	close(trace->fd);
	free(trace);
}

/* A line is written atomically, because it is shorter than PIPE_BUF. */
static bool put(const struct sw_trace *trace, const char *line, int len)
{
	return write(trace->fd, line, (size_t)len) == len;
}

static void tell(struct sw_trace *trace, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(struct sw_trace *trace, const char *fmt, ...)
{
	const uint64_t now = sw_now();
	char line[512], note[64];
	uint32_t lost;
	va_list ap;
	int len, len_note;

	len = snprintf(line, sizeof(line), "%16s-%d [000] %" PRIu64 ".%09" PRIu64 ": ",
		       trace->comm, getpid(), now / 1000000000, now % 1000000000);
	va_start(ap, fmt);
	len += vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, ap);
	va_end(ap);
	lost = atomic_exchange(&trace->lost, 0);
	len_note = snprintf(note, sizeof(note), "CPU:0 [LOST %u EVENTS]\n", lost);
	if (lost && !put(trace, note, len_note))
		atomic_fetch_add(&trace->lost, lost);
	if (!put(trace, line, len))
		atomic_fetch_add(&trace->lost, 1);
}

static uint32_t take_lane(atomic_uint_fast64_t *lanes)
{
	uint_fast64_t taken = atomic_load(lanes);
	uint32_t lane;

	do
		lane = ~taken ? (uint32_t)__builtin_ctzll(~taken) : LANES - 1;
	while (!atomic_compare_exchange_weak(lanes, &taken, taken | 1ull << lane));
	return lane;
}

static void leave_lane(atomic_uint_fast64_t *lanes, uint32_t lane)
{
	atomic_fetch_and(lanes, ~(1ull << lane));
}

/* "jobs", "jobs.1" */
static const char *row_name(char text[40], const char *name, uint32_t lane)
{
	if (lane)
		snprintf(text, 40, "%s.%u", name, lane);
	else
		snprintf(text, 40, "%s", name);
	return text;
}

static struct sw_trace *trace_of(const struct sw_fence *run)
{
	return sw_fence_team(run)->trace;
}

/* With the team's lock, like the next two */
void sw_trace_submit(struct sw_fence *run)
{
	struct sw_trace *trace = trace_of(run);

	run->trace.number = ++run->queue->runs;
	tell(trace, "uma_job_submit: dev=sw pid=%d queue=%" PRIu64 " number=%" PRIu64 " tasks=0+%u\n",
	     getpid(), run->queue->base.id, run->trace.number, run->job->base.op_count);
}

void sw_trace_run(struct sw_fence *run)
{
	struct sw_trace *trace = trace_of(run);
	char row[40];

	run->trace.runs = true;
	run->trace.lane = take_lane(&trace->jobs);
	tell(trace, "uma_job_run: dev=sw engine=%s pid=%d queue=%" PRIu64 " number=%" PRIu64 "\n",
	     row_name(row, "jobs", run->trace.lane), getpid(), run->queue->base.id,
	     run->trace.number);
}

void sw_trace_done(struct sw_fence *run)
{
	struct sw_trace *trace = trace_of(run);
	char row[40];
	uint32_t i;

	if (!run->job->base.op_count)
		return;
	/* An operation that failed, or was stopped by a failure, ends here. */
	if (run->first.trace.kernel)
		sw_trace_op_end(&run->first);
	for (i = 0; i < run->exec_count; i++)
		if (run->execs[i].trace.kernel)
			sw_trace_op_end(&run->execs[i]);
	tell(trace, "uma_job_done: dev=sw engine=%s pid=%d queue=%" PRIu64 " number=%" PRIu64 " error=%d\n",
	     row_name(row, "jobs", run->trace.lane), getpid(), run->queue->base.id,
	     run->trace.number, run->status);
	if (run->trace.runs)
		leave_lane(&trace->jobs, run->trace.lane);
}

/* Only called by one thread at a time, like the next */
void sw_trace_op_begin(struct sw_exec *exec)
{
	struct sw_trace *trace = trace_of(exec->run);

	exec->trace.lane = take_lane(&trace->lanes[exec->run->job->engines[exec->op]]);
	exec->trace.kernel = exec->fast ? exec->fast->class->name : "model";
	exec->trace.start = sw_now();
}

void sw_trace_op_end(struct sw_exec *exec)
{
	const struct sw_fence *run = exec->run;
	const struct sw_device *dev = sw_fence_device(run);
	const uint32_t e = run->job->engines[exec->op];
	const struct accel_plan *plan = run->job->base.ops[exec->op].plan;
	struct sw_trace *trace = trace_of(run);
	char engine[24], row[40], at[64];

	snprintf(engine, sizeof(engine), "%s%u", accel_engine_name(plan->info.engine),
		 dev->base.engines[e].info.instance);
	snprintf(at, sizeof(at), "index=%u start=%" PRIu64, exec->op, exec->trace.start);
	tell(trace,
	     "uma_op: dev=sw engine=%s pid=%d queue=%" PRIu64 " number=%" PRIu64
	     " %s op=%s kernel=%s\n",
	     row_name(row, engine, exec->trace.lane), getpid(), run->queue->base.id,
	     run->trace.number, at, accel_op_name(plan->info.op), exec->trace.kernel);
	leave_lane(&trace->lanes[e], exec->trace.lane);
	exec->trace.kernel = NULL;
}
