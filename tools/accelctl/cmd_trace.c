// SPDX-License-Identifier: MIT
/*
 * trace: records the driver's tracepoints, through its own instance of tracefs, so that other
 * users are not disturbed, and lines of the same format from a command's in-process devices,
 * through a FIFO that is given in its environment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accelctl.h"
#include "interrupt.h"
#include "kfile.h"
#include "sys.h"
#include "trace_json.h"
#include "watchers.h"

#define MAX_DEVICES	16
#define LINE_BYTES	8192

/* Time limit for reading the rest of the buffer at the end */
#define DRAIN_NS	10000000000ull

/* A source of lines; the part of the next one that was read */
struct source {
	int fd;
	char line[LINE_BYTES];
	size_t len;
	bool skip;
};

struct tracer {
	struct ctl *ctl;
	const struct trace_opts *opts;
	/* -d sw: the in-process device alone */
	bool in_process;
	char instance[PATH_MAX];
	bool made;
	char fifo[PATH_MAX];
	/* the kernel, and the command itself */
	struct source kernel;
	struct source process;
	struct trace_device devices[MAX_DEVICES];
	unsigned int device_count;
	struct trace_json *out;
	pid_t child;
	int child_status;
};

void trace_opts_init(void *data)
{
	struct trace_opts *opts = data;

	opts->sys.root = "";
	opts->buffer_kib = 4096;
}

static void comm_of(void *user, int pid, char comm[64])
{
	const struct tracer *t = user;
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/proc/%d", t->opts->sys.root, pid);
	if (kfile_line(dir, "comm", comm, 64))
		*comm = 0;
}

/* --- tracefs --- */

static int make_instance(struct tracer *t)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	struct ctl *ctl = t->ctl;
	const char *root = t->opts->sys.root;
	char path[PATH_MAX + 64], size[32];
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s/instances", root, places[i]);
		if (!access(path, F_OK))
			break;
		if (errno == EACCES)
			return ctl_fail(ctl, CTL_PERMISSION, -EACCES, path, "only root may trace");
	}
	if (i == sizeof(places) / sizeof(places[0]))
		return ctl_fail(ctl, CTL_UNSUPPORTED, -ENOENT, "/sys/kernel/tracing",
				"no tracefs is mounted there");
	if (snprintf(t->instance, sizeof(t->instance), "%s/accelctl-%d", path, (int)getpid()) >=
	    PATH_MAX)
		return ctl_fail(ctl, CTL_FAILED, -ENAMETOOLONG, "tracefs", "the path is too long");
	if (mkdir(t->instance, 0700)) {
		ret = -errno;
		return ctl_fail(ctl, ctl_status(ret), ret, t->instance,
				ret == -EACCES || ret == -EPERM ? "only root may trace" :
				"cannot be made");
	}
	t->made = true;
	snprintf(path, sizeof(path), "%s/events/uma", t->instance);
	if (access(path, F_OK))
		return ctl_fail(ctl, CTL_UNSUPPORTED, -ENOENT, path,
				"the driver has no tracepoints, or this kernel none at all");
	snprintf(size, sizeof(size), "%llu", (unsigned long long)t->opts->buffer_kib);
	ret = kfile_write(t->instance, "buffer_size_kb", size);
	/* The clock of the library's and the device's time stamps */
	if (!ret)
		ret = kfile_write(t->instance, "trace_clock", "mono");
	/*
	 * Names of processes come from another source, so not every context switch need be
	 * recorded.
	 */
	if (!ret)
		kfile_write(t->instance, "options/record-cmd", "0");
	if (!ret) {
		snprintf(path, sizeof(path), "%s/trace_pipe", t->instance);
		t->kernel.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		ret = t->kernel.fd < 0 ? -errno : 0;
	}
	if (!ret)
		ret = kfile_write(t->instance, "events/uma/enable", "1");
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, t->instance, "cannot be set up");
	return CTL_OK;
}

/* Create the FIFO for the command's devices */
static int make_fifo(struct tracer *t)
{
	const char *dir = getenv("TMPDIR");
	int ret = 0;

	if (snprintf(t->fifo, sizeof(t->fifo), "%s/accelctl-XXXXXX", dir && *dir ? dir : "/tmp") >=
	    PATH_MAX - 8)
		ret = -ENAMETOOLONG;
	else if (!mkdtemp(t->fifo))
		ret = -errno;
	if (ret) {
		*t->fifo = 0;
		return ctl_fail(t->ctl, CTL_FAILED, ret, "TMPDIR", "no FIFO can be made there");
	}
	strcat(t->fifo, "/fifo");
	ret = mkfifo(t->fifo, 0600) ? -errno : 0;
	/* Also open it for writing: there is no end of file when the other writers close it. */
	if (!ret)
		t->process.fd = open(t->fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (!ret && t->process.fd < 0)
		ret = -errno;
	/* As large as one may have it: lines that do not fit are lost. */
	if (!ret)
		fcntl(t->process.fd, F_SETPIPE_SZ, 1 << 20);
	if (!ret && setenv("ACCEL_SW_TRACE", t->fifo, 1))
		ret = -errno;
	return ret ? ctl_fail(t->ctl, ctl_status(ret), ret, t->fifo, "cannot be set up") : CTL_OK;
}

static void remove_fifo(struct tracer *t)
{
	if (t->process.fd >= 0)
		close(t->process.fd);
	if (!*t->fifo)
		return;
	unlink(t->fifo);
	*strrchr(t->fifo, '/') = 0;
	rmdir(t->fifo);
}

static void stop(struct tracer *t)
{
	if (!t->made)
		return;
	kfile_write(t->instance, "events/uma/enable", "0");
	kfile_write(t->instance, "tracing_on", "0");
}

/* The number after a key in a text of lines */
static uint64_t stat_of(const char *text, const char *key)
{
	const char *at = strstr(text, key), *end;
	uint64_t value;

	return at && number_parse(at + strlen(key), &value, &end) ? value : 0;
}

/* Notes between the lines do not report events that were lost at the very end */
static uint64_t lost_events(const struct tracer *t)
{
	char dir[PATH_MAX + 32], path[PATH_MAX + 320], *text;
	struct dirent *entry;
	uint64_t lost = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/per_cpu", t->instance);
	d = opendir(dir);
	if (!d)
		return 0;
	while ((entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s/stats", dir, entry->d_name);
		if (entry->d_name[0] == '.' || kfile_read(path, &text))
			continue;
		lost += stat_of(text, "\noverrun: ") + stat_of(text, "\ndropped events: ");
		free(text);
	}
	closedir(d);
	return lost;
}

static void remove_instance(struct tracer *t)
{
	unsigned int i;

	if (t->kernel.fd >= 0)
		close(t->kernel.fd);
	/* Somebody else may be looking into it */
	for (i = 0; t->made && rmdir(t->instance) && errno == EBUSY && i < 20; i++)
		usleep(50000);
	if (t->made && !access(t->instance, F_OK))
		ctl_note(t->ctl, "%s is in use and stays", t->instance);
}

/* --- reading --- */

/* Reads all available lines of a source; *got is set if there were any */
static int drain_source(struct tracer *t, struct source *s, bool *got)
{
	char chunk[65536];
	ssize_t len, i;
	int ret = 0;

	while (!ret && (len = read(s->fd, chunk, sizeof(chunk))) > 0) {
		*got = true;
		for (i = 0; i < len && !ret; i++) {
			if (chunk[i] != '\n') {
				if (s->len + 1 < sizeof(s->line) && chunk[i])
					s->line[s->len++] = chunk[i];
				else
					s->skip = true;
				continue;
			}
			s->line[s->len] = 0;
			s->len = 0;
			if (s->skip)
				trace_json_count(t->out)->malformed++;
			else
				ret = trace_json_line(t->out, s->line);
			s->skip = false;
		}
		if (!ret)
			ret = trace_json_flush(t->out);
	}
	return ret;
}

static int drain(struct tracer *t, bool *got)
{
	int ret = 0;

	*got = false;
	if (t->kernel.fd >= 0)
		ret = drain_source(t, &t->kernel, got);
	if (!ret && t->process.fd >= 0)
		ret = drain_source(t, &t->process, got);
	return ret;
}

static bool child_ended(struct tracer *t)
{
	int status;

	if (t->child > 0 && waitpid(t->child, &status, WNOHANG) == t->child) {
		t->child = 0;
		t->child_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		return true;
	}
	return false;
}

static int collect(struct tracer *t)
{
	uint64_t span = (uint64_t)(t->opts->seconds * 1e9);
	uint64_t end = span ? sys_now() + span : UINT64_MAX;
	struct pollfd p[2] = {
		{ .fd = t->kernel.fd, .events = POLLIN },
		{ .fd = t->process.fd, .events = POLLIN },
	};
	bool got, forwarded = false;
	uint64_t now;
	int ret = 0;

	while (!ret) {
		now = sys_now();
		if (now >= end || (t->ctl->rest[0] && child_ended(t)))
			break;
		if (ctl_interrupted()) {
			/* The command is to end itself; it has a moment for that */
			if (t->child <= 0 || forwarded)
				break;
			kill(t->child, SIGTERM);
			forwarded = true;
			end = now + 2000000000;
		}
		/* It wakes us when its buffer is half full, which is late */
		poll(p, 2, 20);
		ret = drain(t, &got);
	}
	stop(t);
	end = sys_now() + DRAIN_NS;
	do {
		if (!ret)
			ret = drain(t, &got);
	} while (!ret && got && sys_now() < end);
	return ret;
}

static int start_command(struct tracer *t)
{
	int fds[2], err = 0;
	ssize_t len;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	t->child = fork();
	if (t->child < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (!t->child) {
		/* Its output goes to stderr: stdout has our document */
		if (t->ctl->json)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(t->ctl->rest[0], t->ctl->rest);
		err = errno;
		len = write(fds[1], &err, sizeof(err));
		_exit(len == sizeof(err) ? 127 : 126);
	}
	close(fds[1]);
	while ((len = read(fds[0], &err, sizeof(err))) < 0 && errno == EINTR)
		;
	close(fds[0]);
	if (len != sizeof(err))
		return 0;
	waitpid(t->child, NULL, 0);
	t->child = 0;
	return -err;
}

/* --- devices --- */

/* Record the device's name in events, and the offset of its clock from ours */
static void know(struct tracer *t, const struct sys_node *node)
{
	struct trace_device *d = &t->devices[t->device_count];
	struct accel_device_info info = { .size = sizeof(info) };
	char real[PATH_MAX], *slash;
	struct accel_device *dev;

	if (t->device_count == MAX_DEVICES || !realpath(node->device, real))
		return;
	slash = strrchr(real, '/');
	if (!slash || strlen(slash + 1) >= sizeof(d->name))
		return;
	strcpy(d->name, slash + 1);
	strcpy(d->label, node->name);
	t->device_count++;
	if (*t->opts->sys.root || accel_device_open(node->name, NULL, &dev))
		return;
	if (!accel_device_get_info(dev, &info) &&
	    !accel_device_timestamp(dev, &d->ticks, &d->ns))
		d->tick_hz = info.timestamp_hz;
	accel_device_unref(dev);
}

static int report(struct ctl *ctl, const struct tracer *t, const struct trace_count *c,
		  uint64_t took)
{
	struct json_object *doc;
	char time[16];

	if (c->malformed)
		ctl_note(ctl, "%llu lines of the kernel made no sense; driver and accelctl do not fit",
			 (unsigned long long)c->malformed);
	if (c->lost)
		ctl_note(ctl, "%llu events were lost; a larger --buffer keeps them",
			 (unsigned long long)c->lost);
	if (t->child_status)
		ctl_note(ctl, "%s ended with status %d", ctl->rest[0], t->child_status);
	if (ctl->json) {
		doc = ctl_schema(ctl);
		ctl_json_bool(doc, "ok", !t->child_status);
		ctl_json_str(doc, "file", t->opts->out);
		ctl_json_uint(doc, "duration_ns", took);
		ctl_json_uint(doc, "events", c->events);
		ctl_json_uint(doc, "jobs", c->jobs);
		ctl_json_uint(doc, "failed", c->failed);
		ctl_json_uint(doc, "unfinished", c->unfinished);
		ctl_json_uint(doc, "ops", c->ops);
		ctl_json_uint(doc, "faults", c->faults);
		ctl_json_uint(doc, "resets", c->resets);
		ctl_json_uint(doc, "lost_events", c->lost);
		ctl_json_uint(doc, "malformed_lines", c->malformed);
		if (ctl->rest[0])
			ctl_json_int(doc, "command_status", t->child_status);
		else
			ctl_json_str(doc, "command_status", NULL);
		ctl_json_print(ctl, doc);
	} else {
		printf("%s: %llu events in %s: %llu jobs, %llu failed, %llu unfinished, %llu faults, %llu resets\n",
		       t->opts->out, (unsigned long long)c->events,
		       ctl_time(time, (double)took / 1e9), (unsigned long long)c->jobs,
		       (unsigned long long)c->failed, (unsigned long long)c->unfinished,
		       (unsigned long long)c->faults, (unsigned long long)c->resets);
	}
	return t->child_status ? CTL_FAILED : CTL_OK;
}

int cmd_trace(struct ctl *ctl, void *data, const char *operand)
{
	struct tracer *t = ctl_alloc(1, sizeof(*t));
	struct trace_count count = { 0 };
	struct sys_nodes nodes = { 0 };
	uint64_t start, lost;
	unsigned int n;
	int ret, err;

	(void)operand;
	t->ctl = ctl;
	t->opts = data;
	t->kernel.fd = -1;
	t->process.fd = -1;
	t->in_process = ctl->device && !strncmp(ctl->device, "sw", 2);
	if (!t->opts->out)
		ret = ctl_fail(ctl, CTL_USAGE, 0, "-o", "has to name a file");
	else if (t->opts->seconds < 0 || t->opts->seconds > 86400)
		ret = ctl_fail(ctl, CTL_USAGE, 0, "--time", "is from 0 to 86400 seconds");
	else if (t->opts->seconds > 0 && ctl->rest[0])
		ret = ctl_fail(ctl, CTL_USAGE, 0, "--time",
			       "does not go with a command, which says itself when it ends");
	else if (t->in_process && !ctl->rest[0])
		ret = ctl_fail(ctl, CTL_UNSUPPORTED, 0, ctl->device,
			       "it is in the processes that use it, not among nodes like accel0: name a command");
	else
		ret = t->in_process ? CTL_OK : sys_find(ctl, &t->opts->sys, &nodes);
	if (ret)
		goto out;
	for (n = 0; n < nodes.count; n++)
		know(t, &nodes.list[n]);
	sys_nodes_free(&nodes);

	ctl_catch_end();
	ret = t->in_process ? CTL_OK : make_instance(t);
	if (!ret && ctl->rest[0])
		ret = make_fifo(t);
	if (ret)
		goto out_instance;
	err = trace_json_open(t->opts->out, t->devices, t->device_count, comm_of, t, &t->out);
	if (err) {
		ret = ctl_fail(ctl, ctl_status(err), err, t->opts->out, "cannot be written");
		goto out_instance;
	}
	start = sys_now();
	err = ctl->rest[0] ? start_command(t) : 0;
	if (err) {
		ret = ctl_fail(ctl, err == -EACCES ? CTL_PERMISSION : CTL_FAILED, err, ctl->rest[0],
			       "cannot be run");
		trace_json_close(t->out, NULL);
		goto out_instance;
	}
	err = collect(t);
	lost = t->made ? lost_events(t) : 0;
	if (lost > trace_json_count(t->out)->lost)
		trace_json_count(t->out)->lost = lost;
	ret = trace_json_close(t->out, &count);
	if (err || ret)
		ret = ctl_fail(ctl, CTL_FAILED, err ? err : ret, t->opts->out, "cannot be written");
	else
		ret = report(ctl, t, &count, sys_now() - start);
out_instance:
	remove_fifo(t);
	remove_instance(t);
out:
	free(t);
	return ret;
}
