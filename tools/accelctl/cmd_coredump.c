// SPDX-License-Identifier: MIT
/* coredump: show the driver's dump of a fault, a hang or a lost device. */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accelctl.h"
#include "sys.h"
#include "watchers.h"

/* More than any dump has, so that too much is seen to be too much */
#define MAX_BYTES	(2u << 20)

/* Read a whole file, whose size may be unknown; returns a negative errno on failure */
static int read_all(const char *file, unsigned char *data, size_t *size)
{
	const bool input = !strcmp(file, "-");
	int fd = input ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;
	int ret = 0;

	if (fd < 0)
		return -errno;
	*size = 0;
	while (*size < MAX_BYTES) {
		n = read(fd, data + *size, MAX_BYTES - *size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*size += (size_t)n;
	}
	if (n < 0)
		ret = -errno;
	else if (*size == MAX_BYTES)
		ret = -EFBIG;
	if (!input)
		close(fd);
	return ret;
}

/* The newest dump of all devices that are meant */
static int find_last(struct ctl *ctl, const struct coredump_opts *opts, char path[PATH_MAX])
{
	char *found = ctl_alloc(1, PATH_MAX);
	struct sys_nodes nodes;
	int64_t best = -1, number;
	unsigned int i;
	int ret;

	*path = 0;
	ret = sys_find(ctl, &opts->sys, &nodes);
	if (ret)
		goto out;
	for (i = 0; i < nodes.count; i++) {
		number = sys_coredump(&opts->sys, &nodes.list[i], found);
		if (number <= best)
			continue;
		best = number;
		strcpy(path, found);
	}
	sys_nodes_free(&nodes);
	if (best < 0)
		ret = ctl_fail(ctl, CTL_FAILED, -ENOENT, NULL,
			       "the kernel holds no core dump of %s; it throws them away after some minutes",
			       ctl->device ? ctl->device : "an accelerator");
out:
	free(found);
	return ret;
}

static void json_addr(struct json_object *obj, const char *key, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)addr);
	ctl_json_str(obj, key, text);
}

static void json_version(struct json_object *obj, const char *key, uint32_t version)
{
	char text[24];

	snprintf(text, sizeof(text), "%u.%u", version >> 16, version & 0xffff);
	ctl_json_str(obj, key, text);
}

static void json_job(struct json_object *doc, const struct accel_coredump_info *info)
{
	struct json_object *o;

	if (!(info->parts & ACCEL_COREDUMP_JOB)) {
		ctl_json_str(doc, "job", NULL);
		return;
	}
	o = ctl_json_obj(doc, "job");
	ctl_json_str(o, "engine", info->engine_name);
	ctl_json_uint(o, "engine_index", info->engine_index);
	ctl_json_str(o, "engine_class", info->engine ? accel_engine_name(info->engine) : NULL);
	ctl_json_uint(o, "queue", info->queue);
	ctl_json_uint(o, "number", info->number);
	ctl_json_uint(o, "seqno", info->seqno);
	ctl_json_uint(o, "pid", info->pid);
	ctl_json_str(o, "comm", info->comm);
	ctl_json_int(o, "errno", -(int64_t)info->error);
	ctl_json_str(o, "error", info->error ? strerrorname_np(-info->error) : NULL);
	ctl_json_str(o, "reason", info->reason);
	ctl_json_str(o, "slot", *info->slot ? info->slot : NULL);
	json_addr(o, "addr", info->addr);
	ctl_json_uint(o, "address_space", info->as);
	json_addr(o, "tasks_addr", info->tasks_addr);
	ctl_json_uint(o, "tasks", info->task_count);
	ctl_json_uint(o, "task", info->task_index);
}

static void json_walk(struct json_object *doc, const struct accel_coredump_info *info)
{
	struct json_object *o, *a;
	uint32_t i;

	if (!(info->parts & ACCEL_COREDUMP_WALK)) {
		ctl_json_str(doc, "walk", NULL);
		return;
	}
	o = ctl_json_obj(doc, "walk");
	json_addr(o, "addr", info->walk_addr);
	a = ctl_json_arr(o, "entries");
	for (i = 0; i < info->walk_levels; i++)
		json_addr(a, NULL, info->walk_entry[i]);
	ctl_json_str(o, "end", info->walk_end);
	ctl_json_bool(o, "writable", info->walk_writable);
}

static void json_dump(struct ctl *ctl, const char *file, const struct accel_coredump_info *info,
		      bool complete)
{
	struct json_object *doc = ctl_schema(ctl);

	ctl_json_bool(doc, "ok", complete);
	ctl_json_str(doc, "file", file);
	ctl_json_bool(doc, "complete", complete);
	ctl_json_str(doc, "cause", *info->cause ? info->cause : NULL);
	ctl_json_str(doc, "device", info->device);
	ctl_json_str(doc, "profile", info->profile);
	ctl_json_str(doc, "kernel", info->kernel);
	json_version(doc, "driver_version", info->driver_version);
	json_version(doc, "hw_version", info->hw_version);
	ctl_json_uint(doc, "realtime_ns", info->realtime_ns);
	ctl_json_uint(doc, "boottime_ns", info->boottime_ns);
	ctl_json_uint(doc, "timestamp", info->timestamp);
	ctl_json_uint(doc, "timestamp_hz", info->timestamp_hz);
	json_job(doc, info);
	json_walk(doc, info);
	ctl_json_print(ctl, doc);
}

static int show(struct ctl *ctl, const char *file, const unsigned char *data, size_t size)
{
	struct accel_coredump_info info = { .size = sizeof(info) };
	char *text = NULL;
	int ret;

	ret = accel_coredump_format(data, size, &text);
	if (ret == -EINVAL)
		return ctl_fail(ctl, CTL_FAILED, ret, file, "is no core dump of an accelerator");
	if (ret == -EPROTO)
		return ctl_fail(ctl, CTL_MISMATCH, ret, file,
				"is a core dump of a version that this program does not know");
	if (ret && ret != -EBADMSG)
		return ctl_fail(ctl, CTL_FAILED, ret, file, "cannot be decoded");
	if (ctl->json) {
		accel_coredump_get_info(data, size, &info);
		json_dump(ctl, file, &info, !ret);
	} else {
		fputs(text, stdout);
	}
	free(text);
	if (ret)
		return ctl_fail(ctl, CTL_FAILED, ret, file, "is truncated or malformed");
	return CTL_OK;
}

int cmd_coredump(struct ctl *ctl, void *data, const char *operand)
{
	const struct coredump_opts *opts = data;
	unsigned char *bytes = NULL;
	char *path = NULL;
	size_t size = 0;
	int ret;

	if (!operand == !opts->last)
		return ctl_fail(ctl, CTL_USAGE, 0, NULL, "needs either a file or --last");
	if (opts->last) {
		path = ctl_alloc(1, PATH_MAX);
		ret = find_last(ctl, opts, path);
		if (ret)
			goto out;
		operand = path;
	}
	bytes = ctl_alloc(1, MAX_BYTES);
	ret = read_all(operand, bytes, &size);
	if (ret)
		ret = ctl_fail(ctl, ret == -EACCES || ret == -EPERM ? CTL_PERMISSION : CTL_FAILED,
			       ret, operand, ret == -EFBIG ? "is too large for a core dump" :
			       "cannot be read");
	else
		ret = show(ctl, operand, bytes, size);
out:
	free(bytes);
	free(path);
	return ret;
}
