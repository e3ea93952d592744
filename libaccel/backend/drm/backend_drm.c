// SPDX-License-Identifier: MIT
/*
 * Nodes of the kernel driver: opening, what they have, address spaces.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>
#include "backend_drm.h"

#define DRIVER_NAME	"uma"
#define DRIVER_MAJOR	1

/* An ioctl that is interrupted is repeated; -errno. */
int drm_call(int fd, unsigned long request, void *arg)
{
	return drmIoctl(fd, request, arg) ? -errno : 0;
}

/* --- syncobjs ------------------------------------------------------------- */

/* A new fence takes an old one's place, so syncobjs are used again and again. */
int drm_sync_get(struct drm_device *dev, uint32_t *sync)
{
	int ret = 0;

	pthread_mutex_lock(&dev->lock);
	if (dev->sync_count)
		*sync = dev->syncs[--dev->sync_count];
	else
		ret = 1;
	pthread_mutex_unlock(&dev->lock);
	if (!ret)
		return 0;
	return drmSyncobjCreate(dev->fd, 0, sync) ? -errno : 0;
}

void drm_sync_put(struct drm_device *dev, uint32_t sync)
{
	uint32_t *grown, cap;

	if (!sync)
		return;
	pthread_mutex_lock(&dev->lock);
	if (dev->sync_count == dev->sync_cap && dev->sync_cap < 1024) {
		cap = dev->sync_cap ? 2 * dev->sync_cap : 16;
		grown = realloc(dev->syncs, cap * sizeof(*grown));
		if (grown) {
			dev->syncs = grown;
			dev->sync_cap = cap;
		}
	}
	if (dev->sync_count < dev->sync_cap) {
		dev->syncs[dev->sync_count++] = sync;
		sync = 0;
	}
	pthread_mutex_unlock(&dev->lock);
	if (sync)
		drmSyncobjDestroy(dev->fd, sync);
}

/* --- queries -------------------------------------------------------------- */

/*
 * Read an array of @count elements of which we know the first @known bytes; the
 * driver's may be longer.
 */
static int query(int fd, uint32_t type, uint32_t index, uint32_t count,
		 size_t known, void *out)
{
	struct drm_uma_query q = { .type = type, .index = index };
	uint32_t i, stride;
	char *data;
	int ret;

	if (!count)
		return 0;
	ret = drm_call(fd, DRM_IOCTL_UMA_QUERY, &q);
	if (ret)
		return ret;
	if (q.size % count || q.size / count < known)
		return -EPROTO;
	stride = q.size / count;
	data = calloc(1, q.size);
	if (!data)
		return -ENOMEM;
	q = (struct drm_uma_query){
		.type = type, .index = index, .size = stride * count,
		.data = (uintptr_t)data,
	};
	ret = drm_call(fd, DRM_IOCTL_UMA_QUERY, &q);
	if (!ret)
		for (i = 0; i < count; i++)
			memcpy((char *)out + i * known,
			       data + (size_t)i * stride, known);
	free(data);
	return ret;
}

/* The right driver, in a version that we speak? */
static int check_driver(int fd, uint32_t *version, const char **why)
{
	drmVersionPtr v = drmGetVersion(fd);
	int ret = 0;

	if (!v || !v->name || strcmp(v->name, DRIVER_NAME)) {
		*why = "it is no node of the uma driver";
		ret = -ENODEV;
	} else if (v->version_major != DRIVER_MAJOR) {
		*why = "the driver's version is not the one that this library speaks";
		ret = -EPROTO;
	} else {
		*version = (uint32_t)v->version_major << 16 |
			   v->version_minor;
	}
	drmFreeVersion(v);
	return ret;
}

static int read_engines(struct drm_device *dev, uint32_t count)
{
	struct drm_uma_query_engine *engines;
	struct device_engine *e;
	uint32_t i;
	int ret;

	engines = calloc(count + 1, sizeof(*engines));
	dev->base.engines = calloc(count + 1, sizeof(*dev->base.engines));
	if (!engines || !dev->base.engines) {
		free(engines);
		return -ENOMEM;
	}
	dev->base.engine_count = count;
	ret = query(dev->fd, DRM_UMA_QUERY_ENGINES, 0, count, sizeof(*engines),
		    engines);
	for (i = 0; i < count && !ret; i++) {
		const struct drm_uma_query_engine *q = &engines[i];

		e = &dev->base.engines[i];
		e->engine_class = q->engine_class;
		e->info.size = sizeof(e->info);
		e->info.engine = engine_of_class(q->engine_class);
		e->info.instance = q->instance;
		e->info.node = q->node;
		if (q->flags & UMA_ENGINE_DYNAMIC_SHAPES)
			e->info.flags |= ACCEL_ENGINE_DYNAMIC_SHAPES;
		if (q->flags & UMA_ENGINE_LENGTHS)
			e->info.flags |= ACCEL_ENGINE_LENGTHS;
		if (q->flags & UMA_ENGINE_PREEMPT)
			e->info.flags |= ACCEL_ENGINE_PREEMPT;
		e->info.cap_count = q->cap_count;
		e->info.clock_max_mhz = q->clock_max_mhz;
		e->info.max_job_tasks = q->max_job_tasks;
		e->caps = calloc(q->cap_count + 1, sizeof(*e->caps));
		ret = !e->caps ? -ENOMEM :
		      query(dev->fd, DRM_UMA_QUERY_ENGINE_CAPS, i, q->cap_count,
			    sizeof(*e->caps), e->caps);
		/* Kinds of engine that came after this library are not for it. */
		if (e->info.engine >= ACCEL_ENGINE_COUNT || e->info.instance > 31)
			ret = -EPROTO;
	}
	free(engines);
	return ret;
}

static int read_memory(struct drm_device *dev, uint32_t count)
{
	struct drm_uma_query_memory *nodes;
	struct accel_memory_info *m;
	uint32_t i;
	int ret;

	nodes = calloc(count + 1, sizeof(*nodes));
	dev->base.memory = calloc(count + 1, sizeof(*dev->base.memory));
	ret = !nodes || !dev->base.memory ? -ENOMEM :
	      query(dev->fd, DRM_UMA_QUERY_MEMORY, 0, count, sizeof(*nodes),
		    nodes);
	for (i = 0; i < count && !ret; i++) {
		m = &dev->base.memory[i];
		m->size = sizeof(*m);
		m->node = nodes[i].node;
		m->bytes = nodes[i].size;
		m->bandwidth = nodes[i].bandwidth;
	}
	free(nodes);
	return ret;
}

static uint32_t priorities(uint32_t mask)
{
	uint32_t out = 0;

	if (mask & 1u << DRM_UMA_PRIORITY_LOW)
		out |= 1u << ACCEL_PRIORITY_LOW;
	if (mask & 1u << DRM_UMA_PRIORITY_NORMAL)
		out |= 1u << ACCEL_PRIORITY_NORMAL;
	if (mask & 1u << DRM_UMA_PRIORITY_HIGH)
		out |= 1u << ACCEL_PRIORITY_HIGH;
	if (mask & 1u << DRM_UMA_PRIORITY_REALTIME)
		out |= 1u << ACCEL_PRIORITY_REALTIME;
	return out;
}

static void fill_info(struct drm_device *dev, const char *path,
		      const struct drm_uma_query_device *q, uint32_t version)
{
	struct accel_device_info *info = &dev->base.info;
	const struct drm_uma_query_limits *limits = &dev->limits;
	const char *name = strrchr(path, '/') + 1;

	if (q->flags & DRM_UMA_DEVICE_EMULATED)
		info->flags |= ACCEL_DEVICE_EMULATED;
	if (q->flags & DRM_UMA_DEVICE_MODELLED_POWER)
		info->flags |= ACCEL_DEVICE_MODELLED_POWER;
	if (q->flags & DRM_UMA_DEVICE_COHERENT)
		info->flags |= ACCEL_DEVICE_COHERENT;
	info->engine_count = q->engine_count;
	info->node_count = q->node_count;
	info->uapi_version = version;
	info->hw_version = q->hw_version;
	info->task_version = q->task_version;
	info->page_size = q->page_size;
	info->timestamp_hz = q->timestamp_hz;
	info->max_bo_size = limits->max_bo_size;
	info->max_job_tasks = limits->max_job_tasks;
	info->priorities = priorities(limits->priorities);
	info->max_timeout_ms = limits->max_timeout_ms;
	info->default_timeout_ms = limits->default_timeout_ms;
	snprintf(info->name, sizeof(info->name), "%.31s", name);
	snprintf(info->path, sizeof(info->path), "%.63s", path);
	snprintf(info->driver, sizeof(info->driver), DRIVER_NAME);
	snprintf(info->profile, sizeof(info->profile), "%.31s", q->profile);
	dev->block_size = q->block_size;
}

static int read_device(struct drm_device *dev, const char *path,
		       uint32_t version, const char **why)
{
	struct drm_uma_query_device q;
	long page = sysconf(_SC_PAGESIZE);
	int ret;

	*why = "its description could not be read";
	ret = query(dev->fd, DRM_UMA_QUERY_DEVICE, 0, 1, sizeof(q), &q);
	if (!ret)
		ret = query(dev->fd, DRM_UMA_QUERY_LIMITS, 0, 1,
			    sizeof(dev->limits), &dev->limits);
	if (ret)
		return ret;
	if (q.task_version != UMA_TASK_VERSION) {
		*why = "the device executes another version of tasks than this library makes";
		return -EPROTO;
	}
	ret = read_engines(dev, q.engine_count);
	if (!ret)
		ret = read_memory(dev, q.node_count);
	if (ret)
		return ret;
	fill_info(dev, path, &q, version);
	/* The CPU's pages and the device's are bound together. */
	if (dev->base.info.page_size < page)
		dev->base.info.page_size = page;
	return 0;
}

static void free_description(struct drm_device *dev)
{
	uint32_t i;

	for (i = 0; i < dev->base.engine_count; i++)
		free(dev->base.engines[i].caps);
	free(dev->base.engines);
	free(dev->base.memory);
}

/* --- opening -------------------------------------------------------------- */

static int node_path(const struct backend_args *args, char *path, size_t size)
{
	const char *name = args->name;
	int n;

	if (name[0] != '/' && strchr(name, '/'))
		return error_set(args->error, -ENODEV, "name",
				 "a path begins with \"/\", not as \"%.64s\" does", name);
	if (name[0] != '/' && strncmp(name, "accel", 5) != 0)
		return error_set(args->error, -ENODEV, "name", "there is no device \"%.64s\"",
				 name);
	n = snprintf(path, size, "%s%s", name[0] == '/' ? "" : "/dev/accel/", name);
	if (n < 0 || (size_t)n >= size)
		return error_set(args->error, -ENODEV, "name",
				 "a path has less than %zu characters: \"%.64s\"", size, name);
	return 0;
}

static int open_node(const char *path)
{
	int fd;

	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	switch (errno) {
	case EACCES:
	case EPERM:
		return -EACCES;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return -errno;
	default:
		return -ENODEV;
	}
}

static int drm_open(struct accel_device *base, const struct backend_args *args)
{
	struct drm_device *dev = to_drm_device(base);
	const char *why = "";
	uint32_t version = 0;
	char path[64];
	int ret;

	ret = node_path(args, path, sizeof(path));
	if (ret)
		return ret;
	dev->fd = open_node(path);
	if (dev->fd < 0)
		return error_set(args->error, dev->fd, "name", "%.64s: %s", path,
				 dev->fd == -EACCES ?
				 "no permission; is the user in the node's group?" :
				 errno_text(-dev->fd));
	ret = check_driver(dev->fd, &version, &why);
	if (!ret)
		ret = read_device(dev, path, version, &why);
	if (ret) {
		free_description(dev);
		close(dev->fd);
		return error_set(args->error, ret, "name", "%.64s: %s", path,
				 why);
	}
	pthread_mutex_init(&dev->lock, NULL);
	return 0;
}

static void drm_close_device(struct accel_device *base)
{
	struct drm_device *dev = to_drm_device(base);

	/* The file's objects go with it. */
	close(dev->fd);
	free_description(dev);
	free(dev->handle_refs);
	free(dev->syncs);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

int drm_probe(const char *name, const char *path, const char *driver,
	      struct accel_device_desc *desc)
{
	struct drm_uma_query_device q;
	uint32_t version;
	const char *why;
	int fd;

	snprintf(desc->name, sizeof(desc->name), "%.31s", name);
	snprintf(desc->path, sizeof(desc->path), "%.63s", path);
	snprintf(desc->driver, sizeof(desc->driver), DRIVER_NAME);
	fd = open_node(path);
	if (fd < 0) {
		desc->access = fd;
		return strcmp(driver, DRIVER_NAME) ? -ENODEV : 0;
	}
	desc->access = check_driver(fd, &version, &why);
	if (!desc->access)
		desc->access = query(fd, DRM_UMA_QUERY_DEVICE, 0, 1, sizeof(q),
				     &q);
	close(fd);
	if (desc->access == -ENODEV)
		return -ENODEV;
	if (desc->access)
		return 0;
	desc->emulated = !!(q.flags & DRM_UMA_DEVICE_EMULATED);
	snprintf(desc->profile, sizeof(desc->profile), "%.31s", q.profile);
	return 0;
}

static int drm_timestamp(struct accel_device *base, uint64_t *device,
			 uint64_t *cpu_ns)
{
	struct drm_uma_timestamp ts = { 0 };
	int ret;

	ret = drm_call(to_drm_device(base)->fd, DRM_IOCTL_UMA_TIMESTAMP, &ts);
	if (ret)
		return ret;
	*device = ts.device;
	*cpu_ns = ts.cpu_ns;
	return 0;
}

static int drm_ctx_create(struct accel_ctx *ctx)
{
	struct drm_uma_vm_create vm = { 0 };
	int ret;

	ret = drm_call(ctx_drm(ctx)->fd, DRM_IOCTL_UMA_VM_CREATE, &vm);
	to_drm_ctx(ctx)->vm_id = vm.vm_id;
	return ret;
}

static void drm_ctx_destroy(struct accel_ctx *ctx)
{
	struct drm_uma_vm_destroy vm = { .vm_id = to_drm_ctx(ctx)->vm_id };
	int ret;

	ret = drm_call(ctx_drm(ctx)->fd, DRM_IOCTL_UMA_VM_DESTROY, &vm);
	if (ret && ret != -ENODEV)
		device_log(ctx->dev, ACCEL_LOG_WARN,
			   "address space %u could not be destroyed: %s",
			   vm.vm_id, errno_text(-ret));
}

const struct backend_ops backend_drm = {
	.name = "drm",
	.device_size = sizeof(struct drm_device),
	.ctx_size = sizeof(struct drm_vm),
	.bo_size = sizeof(struct drm_bo),
	.queue_size = sizeof(struct drm_queue),
	.job_size = sizeof(struct drm_job),
	.open = drm_open,
	.close = drm_close_device,
	.timestamp = drm_timestamp,
	.ctx_create = drm_ctx_create,
	.ctx_destroy = drm_ctx_destroy,
	.bo_create = drm_bo_create,
	.bo_import_ptr = drm_bo_import_ptr,
	.bo_import_dmabuf = drm_bo_import_dmabuf,
	.bo_export_dmabuf = drm_bo_export_dmabuf,
	.bo_sync = drm_bo_sync,
	.bo_destroy = drm_bo_destroy,
	.queue_create = drm_queue_create,
	.queue_cancel = drm_queue_cancel,
	.queue_destroy = drm_queue_destroy,
	.job_prepare = drm_job_prepare,
	.job_rebind = drm_job_rebind,
	.job_destroy = drm_job_destroy,
	.submit = drm_submit,
	.fence_wait = drm_fence_wait,
	.fence_info = drm_fence_info,
	.fence_export = drm_fence_export,
	.fence_import = drm_fence_import,
	.fence_destroy = drm_fence_destroy,
	.user_pin = drm_user_pin,
	.user_unpin = drm_user_unpin,
	.user_map = drm_user_map,
	.user_unmap = drm_user_unmap,
};
