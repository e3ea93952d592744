// SPDX-License-Identifier: MIT
/*
 * A recorder in front of another backend: every call of the table is passed on
 * and written as one JSON object on one line. The objects are the other
 * backend's; they appear by their ids. The first line tells the version of the
 * format and the device.
 *
 * A call that makes others, as the first submit of a job may allocate a buffer
 * for its tasks, is written after them: "begin_ns" tells the order.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "libaccel/backend/backend.h"
#include "rec.h"

#define REC_SCHEMA	"accel.record/1"

struct rec {
	struct backend_ops ops;
	const struct backend_ops *inner;
	uint64_t start;
	int fd;
	/* one line at a time */
	pthread_mutex_t lock;
	bool broken;
};

/* A call while it is made. */
struct call {
	struct accel_device *dev;
	const char *name;
	uint64_t begin;
	json_object *args;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void write_line(struct accel_device *dev, json_object *o)
{
	struct rec *rec = dev->rec;
	const char *text;
	size_t len, done;
	ssize_t n = 0;
	char *line;

	text = json_object_to_json_string_length(o, JSON_C_TO_STRING_PLAIN |
						 JSON_C_TO_STRING_NOSLASHESCAPE,
						 &len);
	line = malloc(len + 1);
	if (!line)
		return;
	memcpy(line, text, len);
	line[len++] = '\n';
	pthread_mutex_lock(&rec->lock);
	for (done = 0; done < len && !rec->broken; done += n > 0 ? n : 0) {
		n = write(rec->fd, line + done, len - done);
		if (n < 0 && errno != EINTR) {
			rec->broken = true;
			device_log(dev, ACCEL_LOG_WARN,
				   "the record ends here: %s",
				   errno_text(errno));
		}
	}
	pthread_mutex_unlock(&rec->lock);
	free(line);
}

static struct call begin(struct accel_device *dev, const char *name)
{
	struct call c = { dev, name, now(), json_object_new_object() };

	return c;
}

static void arg(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static void arg_text(json_object *o, const char *key, const char *text)
{
	if (text)
		json_object_object_add(o, key, json_object_new_string(text));
}

/* @out: results, or NULL; taken over */
static void end(struct call *c, int ret, json_object *out)
{
	const uint64_t t = now();
	json_object *o = json_object_new_object();

	arg(o, "begin_ns", c->begin - c->dev->rec->start);
	arg(o, "duration_ns", t - c->begin);
	arg(o, "thread", syscall(SYS_gettid));
	arg_text(o, "call", c->name);
	json_object_object_add(o, "args", c->args);
	json_object_object_add(o, "result", json_object_new_int(ret));
	if (ret < 0)
		arg_text(o, "error", errno_name(-ret));
	if (out)
		json_object_object_add(o, "out", out);
	write_line(c->dev, o);
	json_object_put(o);
}

static const struct backend_ops *inner(const struct accel_device *dev)
{
	return dev->rec->inner;
}

/* --- devices and contexts ------------------------------------------------- */

static void rec_close(struct accel_device *dev)
{
	struct call c = begin(dev, "close");
	struct rec *rec = dev->rec;
	const struct backend_ops *ops = rec->inner;

	end(&c, 0, NULL);
	close(rec->fd);
	pthread_mutex_destroy(&rec->lock);
	free(rec);
	ops->close(dev);
}

static int rec_timestamp(struct accel_device *dev, uint64_t *device,
			 uint64_t *cpu_ns)
{
	struct call c = begin(dev, "timestamp");
	json_object *out = json_object_new_object();
	int ret;

	ret = inner(dev)->timestamp(dev, device, cpu_ns);
	if (!ret) {
		arg(out, "device", *device);
		arg(out, "cpu_ns", *cpu_ns);
	}
	end(&c, ret, out);
	return ret;
}

static int rec_ctx_create(struct accel_ctx *ctx)
{
	struct call c = begin(ctx->dev, "ctx_create");
	int ret;

	arg(c.args, "ctx", ctx->id);
	ret = inner(ctx->dev)->ctx_create(ctx);
	end(&c, ret, NULL);
	return ret;
}

static void rec_ctx_destroy(struct accel_ctx *ctx)
{
	struct call c = begin(ctx->dev, "ctx_destroy");

	arg(c.args, "ctx", ctx->id);
	inner(ctx->dev)->ctx_destroy(ctx);
	end(&c, 0, NULL);
}

/* --- buffers -------------------------------------------------------------- */

static struct call begin_bo(struct accel_bo *bo, const char *name)
{
	struct call c = begin(bo->ctx->dev, name);

	arg(c.args, "ctx", bo->ctx->id);
	arg(c.args, "bo", bo->id);
	return c;
}

static void end_bo(struct call *c, const struct accel_bo *bo, int ret)
{
	json_object *out = NULL;

	if (!ret) {
		out = json_object_new_object();
		json_object_object_add(out, "va", rec_hex(bo->addr));
		arg(out, "size", bo->size);
	}
	end(c, ret, out);
}

static int rec_bo_create(struct accel_bo *bo, const char *label)
{
	struct call c = begin_bo(bo, "bo_create");
	int ret;

	arg(c.args, "size", bo->size);
	arg(c.args, "flags", bo->flags);
	arg_text(c.args, "label", label);
	ret = inner(bo->ctx->dev)->bo_create(bo, label);
	end_bo(&c, bo, ret);
	return ret;
}

static int rec_bo_import_ptr(struct accel_bo *bo, const char *label)
{
	struct call c = begin_bo(bo, "bo_import_ptr");
	int ret;

	json_object_object_add(c.args, "ptr", rec_hex(bo->addr));
	arg(c.args, "size", bo->size);
	arg(c.args, "flags", bo->flags);
	arg_text(c.args, "label", label);
	ret = inner(bo->ctx->dev)->bo_import_ptr(bo, label);
	end_bo(&c, bo, ret);
	return ret;
}

static int rec_bo_import_dmabuf(struct accel_bo *bo, int fd, const char *label)
{
	struct call c = begin_bo(bo, "bo_import_dmabuf");
	int ret;

	arg(c.args, "fd", fd);
	arg(c.args, "flags", bo->flags);
	arg_text(c.args, "label", label);
	ret = inner(bo->ctx->dev)->bo_import_dmabuf(bo, fd, label);
	end_bo(&c, bo, ret);
	return ret;
}

static int rec_bo_export_dmabuf(struct accel_bo *bo, int *fd)
{
	struct call c = begin_bo(bo, "bo_export_dmabuf");
	json_object *out = NULL;
	int ret;

	ret = inner(bo->ctx->dev)->bo_export_dmabuf(bo, fd);
	if (!ret) {
		out = json_object_new_object();
		arg(out, "fd", *fd);
	}
	end(&c, ret, out);
	return ret;
}

static int rec_bo_sync(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		       uint32_t flags, bool at_end)
{
	struct call c = begin_bo(bo, at_end ? "bo_cpu_end" : "bo_cpu_begin");
	int ret;

	arg(c.args, "offset", offset);
	arg(c.args, "size", bytes);
	arg(c.args, "flags", flags);
	ret = inner(bo->ctx->dev)->bo_sync(bo, offset, bytes, flags, at_end);
	end(&c, ret, NULL);
	return ret;
}

static void rec_bo_destroy(struct accel_bo *bo)
{
	struct call c = begin_bo(bo, "bo_destroy");

	inner(bo->ctx->dev)->bo_destroy(bo);
	end(&c, 0, NULL);
}

static int rec_user_pin(struct accel_ctx *ctx, uint64_t addr, uint64_t size,
			uint32_t flags, const char *label, uint64_t *handle)
{
	struct call c = begin(ctx->dev, "user_pin");
	int ret;

	arg(c.args, "ctx", ctx->id);
	json_object_object_add(c.args, "va", rec_hex(addr));
	arg(c.args, "size", size);
	json_object_object_add(c.args, "write",
			       json_object_new_boolean(!(flags & ACCEL_BO_READONLY)));
	ret = inner(ctx->dev)->user_pin(ctx, addr, size, flags, label, handle);
	end(&c, ret, NULL);
	return ret;
}

static void rec_user_unpin(struct accel_ctx *ctx, uint64_t handle)
{
	struct call c = begin(ctx->dev, "user_unpin");

	arg(c.args, "ctx", ctx->id);
	arg(c.args, "handle", handle);
	inner(ctx->dev)->user_unpin(ctx, handle);
	end(&c, 0, NULL);
}

static int rec_user_map(struct accel_ctx *ctx, uint64_t handle, uint64_t offset,
			uint64_t addr, uint64_t size, bool write, bool replace)
{
	struct call c = begin(ctx->dev, "user_map");
	int ret;

	arg(c.args, "ctx", ctx->id);
	arg(c.args, "handle", handle);
	json_object_object_add(c.args, "va", rec_hex(addr));
	arg(c.args, "size", size);
	json_object_object_add(c.args, "write", json_object_new_boolean(write));
	ret = inner(ctx->dev)->user_map(ctx, handle, offset, addr, size, write,
					replace);
	end(&c, ret, NULL);
	return ret;
}

static void rec_user_unmap(struct accel_ctx *ctx, uint64_t addr, uint64_t size)
{
	struct call c = begin(ctx->dev, "user_unmap");

	arg(c.args, "ctx", ctx->id);
	json_object_object_add(c.args, "va", rec_hex(addr));
	arg(c.args, "size", size);
	inner(ctx->dev)->user_unmap(ctx, addr, size);
	end(&c, 0, NULL);
}

/* --- jobs and queues ------------------------------------------------------ */

static struct call begin_queue(struct accel_queue *queue, const char *name)
{
	struct call c = begin(queue->ctx->dev, name);

	arg(c.args, "ctx", queue->ctx->id);
	arg(c.args, "queue", queue->id);
	return c;
}

static int rec_queue_create(struct accel_queue *queue)
{
	struct call c = begin_queue(queue, "queue_create");
	int ret;

	arg_text(c.args, "engine", accel_engine_name(queue->engine));
	arg(c.args, "priority", queue->priority);
	arg(c.args, "timeout_ms", queue->timeout_ms);
	ret = inner(queue->ctx->dev)->queue_create(queue);
	end(&c, ret, NULL);
	return ret;
}

static void rec_queue_cancel(struct accel_queue *queue)
{
	struct call c = begin_queue(queue, "queue_cancel");

	inner(queue->ctx->dev)->queue_cancel(queue);
	end(&c, 0, NULL);
}

static void rec_queue_destroy(struct accel_queue *queue)
{
	struct call c = begin_queue(queue, "queue_destroy");

	inner(queue->ctx->dev)->queue_destroy(queue);
	end(&c, 0, NULL);
}

static json_object *op_json(const struct accel_job *job, const struct job_op *op)
{
	json_object *o = json_object_new_object(), *list;
	uint32_t i;

	arg_text(o, "op", accel_op_name(op->plan->info.op));
	arg_text(o, "engine", accel_engine_name(op->plan->info.engine));
	list = json_object_new_array();
	for (i = 0; i < op->plan->arg_count; i++) {
		json_object *b = json_object_new_object();

		arg(b, "arg", op->plan->args[i].arg);
		arg(b, "bo", op->bound.bos[i]->id);
		json_object_array_add(list, b);
	}
	json_object_object_add(o, "bindings", list);
	if (op->dep_count) {
		list = json_object_new_array();
		for (i = 0; i < op->dep_count; i++)
			json_object_array_add(list,
					      json_object_new_uint64(op->deps[i]));
		json_object_object_add(o, "deps", list);
	}
	list = json_object_new_array();
	for (i = 0; i < op->plan->task_count; i++)
		json_object_array_add(list,
				      rec_task(&job->tasks[op->first_task + i],
					       op));
	json_object_object_add(o, "tasks", list);
	return o;
}

static int rec_job_prepare(struct accel_job *job)
{
	struct call c = begin(job->ctx->dev, "job_prepare");
	json_object *ops = json_object_new_array();
	uint32_t i;
	int ret;

	arg(c.args, "ctx", job->ctx->id);
	arg(c.args, "job", job->id);
	arg(c.args, "flags", job->flags);
	for (i = 0; i < job->op_count; i++)
		json_object_array_add(ops, op_json(job, &job->ops[i]));
	json_object_object_add(c.args, "ops", ops);
	ret = inner(job->ctx->dev)->job_prepare(job);
	end(&c, ret, NULL);
	return ret;
}

/* What moves, and where to: arguments in the order of "bindings" of job_prepare */
static int rec_job_rebind(struct accel_job *job)
{
	struct call c = begin(job->ctx->dev, "job_rebind");
	json_object *ops = json_object_new_array();
	uint32_t i, a;
	int ret;

	arg(c.args, "ctx", job->ctx->id);
	arg(c.args, "job", job->id);
	for (i = job->first_move; i != JOB_NO_OP; i = job->ops[i].next_move) {
		json_object *o = json_object_new_object(), *list = json_object_new_array();
		const struct job_op *op = &job->ops[i];

		for (a = 0; a < op->plan->arg_count; a++) {
			json_object *b = json_object_new_object();

			arg(b, "arg", op->plan->args[a].arg);
			arg(b, "bo", op->next.bos[a]->id);
			json_object_object_add(b, "va", rec_hex(op->next.addrs[a]));
			json_object_array_add(list, b);
		}
		arg(o, "index", i);
		json_object_object_add(o, "bindings", list);
		json_object_array_add(ops, o);
	}
	json_object_object_add(c.args, "ops", ops);
	ret = inner(job->ctx->dev)->job_rebind(job);
	end(&c, ret, NULL);
	return ret;
}

static void rec_job_destroy(struct accel_job *job)
{
	struct call c = begin(job->ctx->dev, "job_destroy");

	arg(c.args, "ctx", job->ctx->id);
	arg(c.args, "job", job->id);
	inner(job->ctx->dev)->job_destroy(job);
	end(&c, 0, NULL);
}

static int rec_submit(struct accel_queue *queue, struct accel_job *job,
		      struct accel_fence *const *waits, uint32_t wait_count,
		      struct accel_fence **fence)
{
	struct call c = begin_queue(queue, "submit");
	json_object *list = json_object_new_array(), *out = NULL;
	uint32_t i;
	int ret;

	arg(c.args, "job", job->id);
	for (i = 0; i < wait_count; i++)
		json_object_array_add(list, json_object_new_uint64(waits[i]->id));
	json_object_object_add(c.args, "waits", list);
	ret = inner(queue->ctx->dev)->submit(queue, job, waits, wait_count,
					     fence);
	if (!ret) {
		out = json_object_new_object();
		arg(out, "fence", (*fence)->id);
	}
	end(&c, ret, out);
	return ret;
}

/* --- fences --------------------------------------------------------------- */

static struct call begin_fence(struct accel_fence *fence, const char *name)
{
	struct call c = begin(fence->ctx->dev, name);

	arg(c.args, "ctx", fence->ctx->id);
	arg(c.args, "fence", fence->id);
	return c;
}

static int rec_fence_wait(struct accel_fence *fence, int64_t timeout_ns)
{
	struct call c = begin_fence(fence, "fence_wait");
	int ret;

	json_object_object_add(c.args, "timeout_ns",
			       json_object_new_int64(timeout_ns));
	ret = inner(fence->ctx->dev)->fence_wait(fence, timeout_ns);
	end(&c, ret > 0 ? 0 : ret, NULL);
	return ret;
}

static void rec_fence_info(struct accel_fence *fence,
			   struct accel_fence_info *info)
{
	struct call c = begin_fence(fence, "fence_info");
	json_object *out = json_object_new_object();

	inner(fence->ctx->dev)->fence_info(fence, info);
	arg(out, "done", info->done);
	json_object_object_add(out, "status", json_object_new_int(info->status));
	if (info->status) {
		json_object_object_add(out, "op_index",
				       info->op_index == UINT32_MAX ? NULL :
				       json_object_new_uint64(info->op_index));
		arg_text(out, "engine", accel_engine_name(info->engine));
		json_object_object_add(out, "addr", rec_hex(info->addr));
		arg_text(out, "reason", info->reason);
		arg_text(out, "text", info->text);
	}
	end(&c, 0, out);
}

static int rec_fence_export(struct accel_fence *fence, int *fd)
{
	struct call c = begin_fence(fence, "fence_export");
	json_object *out = NULL;
	int ret;

	ret = inner(fence->ctx->dev)->fence_export(fence, fd);
	if (!ret) {
		out = json_object_new_object();
		arg(out, "fd", *fd);
	}
	end(&c, ret, out);
	return ret;
}

static int rec_fence_import(struct accel_ctx *ctx, int fd,
			    struct accel_fence **fence)
{
	struct call c = begin(ctx->dev, "fence_import");
	json_object *out = NULL;
	int ret;

	arg(c.args, "ctx", ctx->id);
	arg(c.args, "fd", fd);
	ret = inner(ctx->dev)->fence_import(ctx, fd, fence);
	if (!ret) {
		out = json_object_new_object();
		arg(out, "fence", (*fence)->id);
	}
	end(&c, ret, out);
	return ret;
}

static void rec_fence_destroy(struct accel_fence *fence)
{
	struct call c = begin_fence(fence, "fence_destroy");

	/* The fence keeps its context, so the device is still there after it. */
	inner(fence->ctx->dev)->fence_destroy(fence);
	end(&c, 0, NULL);
}

static const struct backend_ops rec_ops = {
	.close = rec_close,
	.timestamp = rec_timestamp,
	.ctx_create = rec_ctx_create,
	.ctx_destroy = rec_ctx_destroy,
	.bo_create = rec_bo_create,
	.bo_import_ptr = rec_bo_import_ptr,
	.bo_import_dmabuf = rec_bo_import_dmabuf,
	.bo_export_dmabuf = rec_bo_export_dmabuf,
	.bo_sync = rec_bo_sync,
	.bo_destroy = rec_bo_destroy,
	.queue_create = rec_queue_create,
	.queue_cancel = rec_queue_cancel,
	.queue_destroy = rec_queue_destroy,
	.job_prepare = rec_job_prepare,
	.job_rebind = rec_job_rebind,
	.job_destroy = rec_job_destroy,
	.submit = rec_submit,
	.fence_wait = rec_fence_wait,
	.fence_info = rec_fence_info,
	.fence_export = rec_fence_export,
	.fence_import = rec_fence_import,
	.fence_destroy = rec_fence_destroy,
	.user_pin = rec_user_pin,
	.user_unpin = rec_user_unpin,
	.user_map = rec_user_map,
	.user_unmap = rec_user_unmap,
};

static void write_header(struct accel_device *dev)
{
	json_object *o = json_object_new_object();

	arg_text(o, "schema", REC_SCHEMA);
	arg(o, "library_version", accel_version());
	arg_text(o, "backend", inner(dev)->name);
	arg_text(o, "device", dev->info.name);
	arg_text(o, "driver", dev->info.driver);
	arg_text(o, "profile", dev->info.profile);
	arg(o, "task_version", dev->info.task_version);
	arg(o, "uapi_version", dev->info.uapi_version);
	write_line(dev, o);
	json_object_put(o);
}

int rec_attach(struct accel_device *dev, const struct backend_args *args)
{
	const char *path = args->opts->record_path;
	struct rec *rec;
	int ret;

	if (!path || !*path)
		return error_set(args->error, -EINVAL, "opts.record_path",
				 "a recorder needs a file to write to");
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return error_set(args->error, -ENOMEM, NULL, "out of memory");
	rec->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
		       0666);
	if (rec->fd < 0) {
		ret = -errno;
		free(rec);
		return error_set(args->error, ret, "opts.record_path", "%.128s: %s",
				 path, errno_text(-ret));
	}
	rec->start = now();
	pthread_mutex_init(&rec->lock, NULL);
	rec->inner = dev->ops;
	rec->ops = rec_ops;
	rec->ops.name = "rec";
	rec->ops.device_size = dev->ops->device_size;
	rec->ops.ctx_size = dev->ops->ctx_size;
	rec->ops.bo_size = dev->ops->bo_size;
	rec->ops.queue_size = dev->ops->queue_size;
	rec->ops.job_size = dev->ops->job_size;
	dev->rec = rec;
	dev->ops = &rec->ops;
	write_header(dev);
	return 0;
}
