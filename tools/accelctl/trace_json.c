// SPDX-License-Identifier: MIT
/*
 * The Chrome trace format: a process for each device with a row for each engine, and a process
 * for each client with a row for each queue. Jobs of a queue run in order, so if several wait,
 * the wait of each is drawn from the start of the previous one: so slices in a row do not
 * overlap, and the whole wait is in the arguments.
 *
 * The end of the file is written with every batch of events and overwritten by the next, so
 * that the file is valid at all times. All of this is in one file, because all events share
 * rows.
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

#include "kfile.h"
#include "trace_json.h"
#include "trace_line.h"

/* Beyond all process numbers */
#define DEVICE_PID	1000000000
/* Maximum number of jobs in flight; beyond that their ends must have been lost */
#define MAX_JOBS	(1u << 20)
#define MAX_ROWS	65536

/* An engine or a queue */
struct row {
	int pid;
	int tid;
	uint64_t last_ns;
	/* engine */
	char name[64];
	/* queue */
	uint64_t client;
	uint64_t queue;
};

struct job {
	unsigned int device;
	unsigned int row;
	unsigned int engine;
	uint64_t number;
	uint64_t submit_ns;
	uint64_t run_ns;
	uint64_t wait_ns;
	uint64_t wait_from;
	bool was_submitted;
	bool has_number;
	bool runs;
};

struct trace_json {
	int fd;
	bool regular;
	uint64_t written;
	int error;
	const struct trace_device *known;
	unsigned int known_count;
	void (*comm_of)(void *user, int pid, char comm[64]);
	void *user;
	char (*devices)[64];
	unsigned int device_count;
	struct row *rows;
	unsigned int row_count;
	int *pids;
	unsigned int pid_count;
	struct job *jobs;
	unsigned int job_count;
	unsigned int job_cap;
	uint64_t flows;
	uint64_t last_ns;
	bool first;
	bool complete;
	char *buf;
	size_t len;
	size_t cap;
	struct trace_count count;
};

/* --- text --- */

static void put(struct trace_json *tj, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct trace_json *tj, const char *fmt, ...)
{
	char *grown;
	va_list ap;
	int len;

	for (;;) {
		va_start(ap, fmt);
		len = vsnprintf(tj->buf ? tj->buf + tj->len : NULL, tj->cap - tj->len, fmt, ap);
		va_end(ap);
		if (len < 0 || tj->error)
			return;
		if (tj->len + (size_t)len < tj->cap) {
			tj->len += (size_t)len;
			return;
		}
		grown = realloc(tj->buf, 2 * tj->cap + (size_t)len + 4096);
		if (!grown) {
			tj->error = -ENOMEM;
			return;
		}
		tj->buf = grown;
		tj->cap = 2 * tj->cap + (size_t)len + 4096;
	}
}

/* A string with its quotes; control characters were removed when it was read */
static void put_string(struct trace_json *tj, const char *text)
{
	put(tj, "\"");
	for (; *text; text++)
		put(tj, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	put(tj, "\"");
}

/* Start of an event: the viewer expects microseconds */
static void begin(struct trace_json *tj, const char *phase, int pid, int tid, uint64_t ns)
{
	put(tj, "%s\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64 ".%03u",
	    tj->first ? "" : ",", phase, pid, tid, ns / 1000, (unsigned int)(ns % 1000));
	tj->first = false;
}

static void put_duration(struct trace_json *tj, uint64_t ns)
{
	put(tj, ",\"dur\":%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
}

static void meta(struct trace_json *tj, int pid, int tid, const char *what, const char *name)
{
	begin(tj, "M", pid, tid, 0);
	put(tj, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	put_string(tj, name);
	put(tj, "}}");
}

/* --- rows --- */

static void *grow(void *list, unsigned int count, size_t size)
{
	/* A power of two is full */
	if (count && (count & (count - 1)))
		return list;
	return realloc(list, (count ? 2 * (size_t)count : 1) * size);
}

static int find_device(struct trace_json *tj, const char *name)
{
	unsigned int i;
	void *grown;

	for (i = 0; i < tj->device_count; i++)
		if (!strcmp(tj->devices[i], name))
			return (int)i;
	if (tj->device_count == 64 || strlen(name) >= sizeof(tj->devices[0]))
		return -1;
	grown = grow(tj->devices, tj->device_count, sizeof(*tj->devices));
	if (!grown) {
		tj->error = -ENOMEM;
		return -1;
	}
	tj->devices = grown;
	strcpy(tj->devices[tj->device_count], name);
	for (i = 0; i < tj->known_count; i++)
		if (!strcmp(tj->known[i].name, name))
			name = tj->known[i].label;
	meta(tj, DEVICE_PID + (int)tj->device_count, 0, "process_name", name);
	return (int)tj->device_count++;
}

static int add_row(struct trace_json *tj, const struct row *row)
{
	struct row *grown;

	if (tj->row_count == MAX_ROWS)
		return -1;
	grown = grow(tj->rows, tj->row_count, sizeof(*grown));
	if (!grown) {
		tj->error = -ENOMEM;
		return -1;
	}
	tj->rows = grown;
	tj->rows[tj->row_count] = *row;
	/* Unique for all processes */
	tj->rows[tj->row_count].tid = (int)tj->row_count + 1;
	meta(tj, row->pid, (int)tj->row_count + 1, "thread_name", row->name);
	return (int)tj->row_count++;
}

static int find_engine(struct trace_json *tj, int device, const char *name)
{
	struct row row = { .pid = DEVICE_PID + device };
	unsigned int i;

	if (device < 0 || !name || strlen(name) >= sizeof(row.name))
		return -1;
	for (i = 0; i < tj->row_count; i++)
		if (tj->rows[i].pid == row.pid && !strcmp(tj->rows[i].name, name))
			return (int)i;
	strcpy(row.name, name);
	return add_row(tj, &row);
}

static void name_process(struct trace_json *tj, int pid)
{
	char comm[64] = "", name[96];
	unsigned int i;
	int *grown;

	for (i = 0; i < tj->pid_count; i++)
		if (tj->pids[i] == pid)
			return;
	grown = grow(tj->pids, tj->pid_count, sizeof(*grown));
	if (!grown) {
		tj->error = -ENOMEM;
		return;
	}
	tj->pids = grown;
	tj->pids[tj->pid_count++] = pid;
	if (tj->comm_of)
		tj->comm_of(tj->user, pid, comm);
	snprintf(name, sizeof(name), "%s%s%d", comm, *comm ? " " : "process ", pid);
	meta(tj, pid, 0, "process_name", name);
}

/* The row of the queue that an event is about */
static int find_queue(struct trace_json *tj, int device, const struct trace_line *line)
{
	int64_t pid, queue, client = 0;
	struct row row = { 0 };
	unsigned int i;

	if (device < 0 || !trace_number(line, "pid", &pid) || pid < 0 || pid >= DEVICE_PID ||
	    !trace_number(line, "queue", &queue))
		return -1;
	trace_number(line, "client", &client);
	row.pid = (int)pid;
	row.queue = (uint64_t)queue;
	row.client = (uint64_t)client << 8 | (uint64_t)device;
	for (i = 0; i < tj->row_count; i++)
		if (tj->rows[i].pid == row.pid && tj->rows[i].queue == row.queue &&
		    tj->rows[i].client == row.client)
			return (int)i;
	snprintf(row.name, sizeof(row.name), "queue %" PRId64, queue);
	name_process(tj, row.pid);
	return add_row(tj, &row);
}

/* --- jobs --- */

static bool job_number(const struct trace_line *line, uint64_t *number)
{
	int64_t n;

	if (!trace_number(line, "number", &n) && !trace_number(line, "job", &n))
		return false;
	*number = (uint64_t)n;
	return true;
}

/* The job that an event is about: by its number, or the first of its queue in that state */
static struct job *find_job(struct trace_json *tj, int row, const struct trace_line *line,
			    bool runs, int engine)
{
	uint64_t number = 0;
	bool has_number = job_number(line, &number);
	unsigned int i;

	for (i = 0; i < tj->job_count; i++) {
		struct job *job = &tj->jobs[i];

		if (job->row != (unsigned int)row)
			continue;
		if (has_number && job->has_number ? job->number == number :
		    job->runs == runs && (!runs || job->engine == (unsigned int)engine))
			return job;
	}
	return NULL;
}

static struct job *add_job(struct trace_json *tj, int device, int row,
			   const struct trace_line *line)
{
	struct job *job, *grown;

	if (tj->job_count == tj->job_cap) {
		unsigned int cap = tj->job_cap ? 2 * tj->job_cap : 64;

		if (cap > MAX_JOBS)
			return NULL;
		grown = realloc(tj->jobs, cap * sizeof(*grown));
		if (!grown) {
			tj->error = -ENOMEM;
			return NULL;
		}
		tj->jobs = grown;
		tj->job_cap = cap;
	}
	job = &tj->jobs[tj->job_count++];
	*job = (struct job){ .device = (unsigned int)device, .row = (unsigned int)row };
	job->has_number = job_number(line, &job->number);
	return job;
}

/* In order, for that is how a job without a number is found */
static void remove_job(struct trace_json *tj, struct job *job)
{
	unsigned int i = (unsigned int)(job - tj->jobs);

	memmove(job, job + 1, (tj->job_count - i - 1) * sizeof(*job));
	tj->job_count--;
}

static void put_job_args(struct trace_json *tj, const struct job *job, const char *more,
			 int64_t value)
{
	const struct row *row = &tj->rows[job->row];

	put(tj, ",\"args\":{\"process\":%d,\"queue\":%" PRIu64, row->pid, row->queue);
	if (job->has_number)
		put(tj, ",\"number\":%" PRIu64, job->number);
	if (job->was_submitted)
		put(tj, ",\"wait_us\":%" PRIu64 ".%03u", job->wait_ns / 1000,
		    (unsigned int)(job->wait_ns % 1000));
	if (more)
		put(tj, ",\"%s\":%" PRId64, more, value);
	put(tj, "}}");
}

static void put_name(struct trace_json *tj, const struct job *job, const char *what)
{
	if (job->has_number)
		put(tj, ",\"name\":\"%s %" PRIu64 "\"", what, job->number);
	else
		put(tj, ",\"name\":\"%s\"", what);
}

static void put_wait(struct trace_json *tj, struct job *job, uint64_t until)
{
	struct row *row = &tj->rows[job->row];

	if (!job->was_submitted)
		return;
	job->wait_ns = until > job->submit_ns ? until - job->submit_ns : 0;
	job->wait_from = job->submit_ns > row->last_ns ? job->submit_ns : row->last_ns;
	if (until < job->wait_from)
		until = job->wait_from;
	row->last_ns = until;
	begin(tj, "X", row->pid, row->tid, job->wait_from);
	put_duration(tj, until - job->wait_from);
	put(tj, ",\"cat\":\"wait\"");
	put_name(tj, job, "wait");
	put_job_args(tj, job, NULL, 0);
}

static void put_run(struct trace_json *tj, const struct job *job, uint64_t from, uint64_t until,
		    const char *more, int64_t value)
{
	struct row *engine = &tj->rows[job->engine];
	const struct row *queue = &tj->rows[job->row];

	/* An engine does one thing at a time; clocks of others are not ours */
	from = from < engine->last_ns ? engine->last_ns : from;
	until = until < from ? from : until;
	engine->last_ns = until;
	begin(tj, "X", engine->pid, engine->tid, from);
	put_duration(tj, until - from);
	put(tj, ",\"cat\":\"run\"");
	put_name(tj, job, "job");
	put_job_args(tj, job, more, value);
	if (!job->was_submitted)
		return;
	tj->flows++;
	begin(tj, "s", queue->pid, queue->tid, job->wait_from);
	put(tj, ",\"cat\":\"job\",\"name\":\"job\",\"id\":%" PRIu64 "}", tj->flows);
	begin(tj, "f", engine->pid, engine->tid, from);
	put(tj, ",\"bp\":\"e\",\"cat\":\"job\",\"name\":\"job\",\"id\":%" PRIu64 "}", tj->flows);
}

/* --- events --- */

static void on_submit(struct trace_json *tj, const struct trace_line *line, int device, int row)
{
	const char *tasks = trace_field(line, "tasks");
	const char *count = tasks ? strrchr(tasks, '+') : NULL;
	struct job *job;

	/* One without tasks orders others and never gets to an engine */
	if (count && !strcmp(count, "+0"))
		return;
	job = add_job(tj, device, row, line);
	if (!job)
		return;
	job->was_submitted = true;
	job->submit_ns = line->ns;
}

static void on_run(struct trace_json *tj, const struct trace_line *line, int device, int row)
{
	int engine = find_engine(tj, device, trace_field(line, "engine"));
	struct job *job;

	if (engine < 0) {
		tj->count.malformed++;
		return;
	}
	job = find_job(tj, row, line, false, -1);
	if (!job)
		job = add_job(tj, device, row, line);
	if (!job)
		return;
	/* One that is run again after a reset has waited already */
	if (!job->runs)
		put_wait(tj, job, line->ns);
	job->runs = true;
	job->engine = (unsigned int)engine;
	job->run_ns = line->ns;
}

/* The device's own timestamps, if they exist and are plausible */
static bool device_times(const struct trace_json *tj, const struct trace_line *line,
			 const struct job *job, uint64_t *from, uint64_t *until)
{
	const char *name = tj->devices[job->device];
	int64_t start, end;
	unsigned int i;

	if (!trace_number(line, "start", &start) || !trace_number(line, "end", &end) ||
	    start <= 0 || end < start)
		return false;
	for (i = 0; i < tj->known_count; i++) {
		const struct trace_device *d = &tj->known[i];
		double scale;

		if (strcmp(d->name, name) != 0 || !d->tick_hz)
			continue;
		scale = 1e9 / (double)d->tick_hz;
		*from = d->ns + (uint64_t)(int64_t)((double)(start - (int64_t)d->ticks) * scale);
		*until = d->ns + (uint64_t)(int64_t)((double)(end - (int64_t)d->ticks) * scale);
		/* It must run between these two events, except for the inaccuracy of the clocks */
		return *from + 1000000 >= job->run_ns && *until <= line->ns + 1000000 &&
		       *from <= *until;
	}
	return false;
}

/* One that is preempted will be run again */
static void on_done(struct trace_json *tj, const struct trace_line *line, int device, int row,
		    bool preempted)
{
	int engine = find_engine(tj, device, trace_field(line, "engine"));
	const char *what = preempted ? "next" : "error";
	uint64_t from, until = line->ns;
	int64_t value = 0;
	struct job *job;

	job = find_job(tj, row, line, true, engine);
	if (!job)
		return;
	trace_number(line, what, &value);
	if (job->runs) {
		from = job->run_ns;
		if (!device_times(tj, line, job, &from, &until)) {
			from = job->run_ns;
			until = line->ns;
		}
		put_run(tj, job, from, until, what, value);
	} else {
		/* Given up before it ran */
		put_wait(tj, job, line->ns);
	}
	if (preempted)
		return;
	tj->count.jobs++;
	tj->count.failed += value != 0;
	remove_job(tj, job);
}

static void instant(struct trace_json *tj, const struct trace_line *line, int pid, int tid,
		    char scope, const char *what, const char *detail)
{
	unsigned int i;

	begin(tj, "i", pid, tid, line->ns);
	put(tj, ",\"s\":\"%c\",\"cat\":\"%s\",\"name\":", scope, what);
	if (detail) {
		char name[128];

		snprintf(name, sizeof(name), "%s: %.100s", what, detail);
		put_string(tj, text_clean(name));
	} else {
		put_string(tj, what);
	}
	put(tj, ",\"args\":{");
	for (i = 0; i < line->field_count; i++) {
		put(tj, "%s", i ? "," : "");
		put_string(tj, line->fields[i].key);
		put(tj, ":");
		put_string(tj, line->fields[i].value);
	}
	put(tj, "}}");
}

static void on_power(struct trace_json *tj, const struct trace_line *line, int device)
{
	const char *state = trace_field(line, "state");
	int64_t clock;

	if (state)
		instant(tj, line, DEVICE_PID + device, 0, 'p', "power", state);
	if (!trace_number(line, "clock", &clock) && !trace_number(line, "clock_mhz", &clock) &&
	    !trace_number(line, "mhz", &clock))
		return;
	begin(tj, "C", DEVICE_PID + device, 0, line->ns);
	put(tj, ",\"name\":\"clock\",\"args\":{\"MHz\":%" PRId64 "}}", clock);
}

/* An operation of an in-process job, which is reported when it has ended */
static void on_op(struct trace_json *tj, const struct trace_line *line, int device)
{
	const int engine = find_engine(tj, device, trace_field(line, "engine"));
	const char *op = trace_field(line, "op"), *kernel = trace_field(line, "kernel");
	int64_t start, pid = 0, queue = 0, number = 0, index = 0;
	struct row *row;
	uint64_t from;

	if (engine < 0 || !op || !kernel || !trace_number(line, "start", &start) || start < 0) {
		tj->count.malformed++;
		return;
	}
	row = &tj->rows[engine];
	from = (uint64_t)start > row->last_ns ? (uint64_t)start : row->last_ns;
	row->last_ns = line->ns > from ? line->ns : from;
	trace_number(line, "pid", &pid);
	trace_number(line, "queue", &queue);
	trace_number(line, "number", &number);
	trace_number(line, "index", &index);
	begin(tj, "X", row->pid, row->tid, from);
	put_duration(tj, row->last_ns - from);
	put(tj, ",\"cat\":\"op\",\"name\":");
	put_string(tj, op);
	put(tj, ",\"args\":{\"process\":%" PRId64 ",\"queue\":%" PRId64, pid, queue);
	put(tj, ",\"number\":%" PRId64 ",\"index\":%" PRId64 ",\"kernel\":", number, index);
	put_string(tj, kernel);
	put(tj, "}}");
	tj->count.ops++;
}

static void on_event(struct trace_json *tj, const struct trace_line *line)
{
	const char *dev = trace_field(line, "dev"), *what;
	int device, row, engine;

	device = dev ? find_device(tj, dev) : -1;
	if (device < 0) {
		tj->count.malformed++;
		return;
	}
	tj->count.events++;
	if (!strcmp(line->event, "uma_power")) {
		on_power(tj, line, device);
		return;
	}
	if (!strcmp(line->event, "uma_reset")) {
		what = trace_field(line, "what");
		engine = what && strcmp(what, "device") != 0 ? find_engine(tj, device, what) : -1;
		tj->count.resets++;
		instant(tj, line, DEVICE_PID + device, engine < 0 ? 0 : tj->rows[engine].tid,
			engine < 0 ? 'p' : 't', "reset", what);
		return;
	}
	if (!strcmp(line->event, "uma_fault")) {
		engine = find_engine(tj, device, trace_field(line, "engine"));
		tj->count.faults++;
		instant(tj, line, DEVICE_PID + device, engine < 0 ? 0 : tj->rows[engine].tid,
			engine < 0 ? 'p' : 't', "fault", trace_field(line, "reason"));
		return;
	}
	if (!strcmp(line->event, "uma_op")) {
		on_op(tj, line, device);
		return;
	}
	if (strncmp(line->event, "uma_job_", 8) != 0)
		return;
	row = find_queue(tj, device, line);
	if (row < 0) {
		tj->count.events--;
		tj->count.malformed++;
	} else if (!strcmp(line->event, "uma_job_submit")) {
		on_submit(tj, line, device, row);
	} else if (!strcmp(line->event, "uma_job_run")) {
		on_run(tj, line, device, row);
	} else if (!strcmp(line->event, "uma_job_done") ||
		   !strcmp(line->event, "uma_job_preempt")) {
		on_done(tj, line, device, row, !strcmp(line->event, "uma_job_preempt"));
	}
}

/* --- the file --- */

int trace_json_line(struct trace_json *tj, char *text)
{
	struct trace_line line;

	if (trace_line_parse(text, &line)) {
		tj->count.malformed++;
		return tj->error;
	}
	if (line.kind == TRACE_LOST)
		tj->count.lost += line.lost ? line.lost : 1;
	if (line.kind != TRACE_EVENT)
		return tj->error;
	if (line.ns > tj->last_ns)
		tj->last_ns = line.ns;
	on_event(tj, &line);
	return tj->error;
}

static int write_all(struct trace_json *tj, const char *text, size_t len, uint64_t at)
{
	ssize_t put_now;

	while (len) {
		put_now = tj->regular ? pwrite(tj->fd, text, len, (off_t)at) :
					write(tj->fd, text, len);
		if (put_now < 0 && errno == EINTR)
			continue;
		if (put_now < 0)
			return -errno;
		text += put_now;
		len -= (size_t)put_now;
		at += (uint64_t)put_now;
	}
	return 0;
}

int trace_json_flush(struct trace_json *tj)
{
	const struct trace_count *c = &tj->count;
	size_t body = tj->len;

	/* Numbers only grow, so that no end is shorter than the one that it overwrites */
	if (tj->regular || tj->complete) {
		put(tj, "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{");
		put(tj, "\"schema\":\"accelctl.trace/1\",\"complete\":%s",
		    tj->complete ? "true " : "false");
		put(tj, ",\"events\":%" PRIu64 ",\"jobs\":%" PRIu64, c->events, c->jobs);
		put(tj, ",\"failed\":%" PRIu64, c->failed);
		put(tj, ",\"unfinished\":%" PRIu64 ",\"ops\":%" PRIu64, c->unfinished, c->ops);
		put(tj, ",\"faults\":%" PRIu64 ",\"resets\":%" PRIu64, c->faults, c->resets);
		put(tj, ",\"lost_events\":%" PRIu64 ",\"malformed_lines\":%" PRIu64 "}}\n",
		    c->lost, c->malformed);
	}
	if (!tj->error)
		tj->error = write_all(tj, tj->buf, tj->len, tj->written);
	tj->written += body;
	tj->len = 0;
	return tj->error;
}

int trace_json_open(const char *path, const struct trace_device *devices, unsigned int count,
		    void (*comm_of)(void *user, int pid, char comm[64]), void *user,
		    struct trace_json **out)
{
	struct trace_json *tj = calloc(1, sizeof(*tj));
	struct stat st;
	int ret;

	if (!tj)
		return -ENOMEM;
	tj->known = devices;
	tj->known_count = count;
	tj->comm_of = comm_of;
	tj->user = user;
	tj->first = true;
	tj->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	if (tj->fd < 0) {
		ret = -errno;
		free(tj);
		return ret;
	}
	tj->regular = !fstat(tj->fd, &st) && S_ISREG(st.st_mode);
	put(tj, "{\"traceEvents\":[");
	ret = trace_json_flush(tj);
	if (ret) {
		trace_json_close(tj, NULL);
		return ret;
	}
	*out = tj;
	return 0;
}

struct trace_count *trace_json_count(struct trace_json *tj)
{
	return &tj->count;
}

int trace_json_close(struct trace_json *tj, struct trace_count *count)
{
	unsigned int i;
	int ret;

	/* Unfinished jobs are drawn up to the end of the trace */
	for (i = 0; i < tj->job_count; i++) {
		struct job *job = &tj->jobs[i];

		tj->count.unfinished++;
		if (job->runs)
			put_run(tj, job, job->run_ns, tj->last_ns, "unfinished", 1);
		else
			put_wait(tj, job, tj->last_ns);
	}
	tj->complete = true;
	ret = trace_json_flush(tj);
	if (close(tj->fd) && !ret)
		ret = -errno;
	if (count)
		*count = tj->count;
	free(tj->devices);
	free(tj->rows);
	free(tj->pids);
	free(tj->jobs);
	free(tj->buf);
	free(tj);
	return ret;
}
