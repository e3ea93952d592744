// SPDX-License-Identifier: MIT
/*
 * Devices: which backend a name means, and what a backend found out about its
 * device when it was opened.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/backend/backend.h"
#include "libaccel/ops/ops.h"

uint64_t device_next_id(struct accel_device *dev)
{
	return atomic_fetch_add_explicit(&dev->next_id, 1, memory_order_relaxed) + 1;
}

const struct device_engine *device_engines(struct accel_device *dev,
					   uint32_t *count)
{
	*count = dev->engine_count;
	return dev->engines;
}

const struct device_engine *device_find_engine(struct accel_device *dev,
					       uint32_t engine)
{
	uint32_t i;

	for (i = 0; i < dev->engine_count; i++)
		if (dev->engines[i].info.engine == engine)
			return &dev->engines[i];
	return NULL;
}

static bool is_sw(const char *name)
{
	return !strcmp(name, "sw") || !strncmp(name, "sw:", 3);
}

static int open_backend(const struct backend_ops *ops,
			const struct backend_args *args,
			struct accel_device **out)
{
	struct accel_device *dev;
	int ret;

	dev = calloc(1, ops->device_size);
	if (!dev)
		return error_set(args->error, -ENOMEM, NULL, "out of memory");
	atomic_init(&dev->refs, 1);
	dev->ops = ops;
	dev->log = args->opts->log;
	dev->log_user = args->opts->log_user;
	dev->log_level = args->opts->log_level;
	dev->info.size = sizeof(dev->info);
	ret = ops->open(dev, args);
	if (ret) {
		free(dev);
		return ret;
	}
	device_log(dev, ACCEL_LOG_INFO, "opened %s: %s, profile %s, %u engines",
		   args->name, dev->info.driver, dev->info.profile,
		   dev->engine_count);
	*out = dev;
	return 0;
}

struct best {
	const struct backend_args *args;
	struct accel_device *dev;
};

static int try_hardware(void *user, const char *name, const char *path,
			const char *driver)
{
	struct accel_device_desc desc = { .size = sizeof(desc) };
	struct accel_error error = { .size = sizeof(error) };
	struct best *best = user;
	struct backend_args args = { path, best->args->opts, &error };

	if (drm_probe(name, path, driver, &desc) || desc.emulated)
		return 0;
	if (desc.access || open_backend(&backend_drm, &args, &best->dev)) {
		/* There is no device yet whose log could be written to. */
		if (args.opts->log && args.opts->log_level >= ACCEL_LOG_WARN) {
			char line[sizeof(error.text) + 128];

			snprintf(line, sizeof(line), "%s cannot be used: %s",
				 path, desc.access ? errno_text(-desc.access) :
						     error.text);
			args.opts->log(args.opts->log_user, ACCEL_LOG_WARN, line);
		}
		return 0;
	}
	return 1;
}

/* Real hardware if there is any that we may use, else in process. */
static int open_best(struct backend_args *args, struct accel_device **dev)
{
	struct best best = { args, NULL };

	enumerate_nodes(try_hardware, &best);
	if (best.dev) {
		*dev = best.dev;
		return 0;
	}
	args->name = "sw";
	return open_backend(&backend_sw, args, dev);
}

static int open_named(struct backend_args *args, struct accel_device **dev)
{
	const char *name = args->name;
	bool record = name && !strncmp(name, "rec:", 4);
	int ret;

	if (record)
		args->name = name += 4;
	if (!name || (record && !*name))
		ret = open_best(args, dev);
	else if (!*name)
		return error_set(args->error, -EINVAL, "name", "empty name");
	else if (!strncmp(name, "rec:", 4))
		return error_set(args->error, -EINVAL, "name",
				 "a recorder cannot record another");
	else if (is_sw(name))
		ret = open_backend(&backend_sw, args, dev);
	else
		ret = open_backend(&backend_drm, args, dev);
	if (ret || !record)
		return ret;
	ret = rec_attach(*dev, args);
	if (ret)
		accel_device_unref(*dev);
	return ret;
}

static int copy_opts(struct accel_device_opts *dst,
		     const struct accel_device_opts *src,
		     struct accel_error *error)
{
	int ret;

	if (!src)
		return 0;
	ret = struct_in(dst, sizeof(*dst), src, sizeof(*dst));
	if (ret == -EINVAL)
		return error_set(error, ret, "opts.size",
				 "%u is less than the %zu bytes of the first version",
				 src->size, sizeof(*dst));
	if (ret)
		return error_set(error, ret, "opts.size",
				 "options that this library does not know are set");
	if (dst->pad)
		return error_set(error, -EINVAL, "opts.pad", "must be 0");
	if (dst->log_level > ACCEL_LOG_DEBUG)
		return error_set(error, -EINVAL, "opts.log_level",
				 "%u is not a level", dst->log_level);
	return 0;
}

int accel_device_open(const char *name, const struct accel_device_opts *opts,
		      struct accel_device **out)
{
	struct accel_error error = { .size = sizeof(error) };
	struct accel_device *dev = NULL;
	struct accel_device_opts o = ACCEL_DEVICE_OPTS_INIT;
	struct accel_error *report = NULL;
	struct backend_args args = { name, &o, &error };
	int ret;

	/* Options too short to have the pointer cannot be told why. */
	if (opts && opts->size >= sizeof(o))
		report = opts->error;
	if (!out)
		return -EINVAL;
	ret = copy_opts(&o, opts, &error);
	if (!ret)
		ret = open_named(&args, &dev);
	if (!ret) {
		*out = dev;
		return 0;
	}
	if (report)
		struct_out(report, &error, sizeof(error), sizeof(error));
	if (o.log)
		o.log(o.log_user, ACCEL_LOG_ERROR, error.text);
	return ret;
}

struct accel_device *accel_device_ref(struct accel_device *dev)
{
	if (dev)
		atomic_fetch_add_explicit(&dev->refs, 1, memory_order_relaxed);
	return dev;
}

void accel_device_unref(struct accel_device *dev)
{
	if (!dev)
		return;
	if (atomic_fetch_sub_explicit(&dev->refs, 1, memory_order_acq_rel) == 1)
		dev->ops->close(dev);
}

int accel_device_get_info(struct accel_device *dev,
			  struct accel_device_info *info)
{
	if (!dev)
		return -EINVAL;
	return struct_out(info, &dev->info, sizeof(dev->info),
			  sizeof(dev->info));
}

int accel_device_get_engine(struct accel_device *dev, uint32_t index,
			    struct accel_engine_info *info)
{
	if (!dev)
		return -EINVAL;
	if (index >= dev->engine_count)
		return -ENOENT;
	return struct_out(info, &dev->engines[index].info,
			  sizeof(dev->engines[index].info),
			  sizeof(dev->engines[index].info));
}

int accel_device_get_cap(struct accel_device *dev, uint32_t engine, uint32_t row,
			 struct accel_cap *out)
{
	struct accel_cap cap = { .size = sizeof(cap) };
	const struct uma_op_cap *c;
	uint32_t quants;

	if (!dev)
		return -EINVAL;
	if (engine >= dev->engine_count ||
	    row >= dev->engines[engine].info.cap_count)
		return -ENOENT;
	c = &dev->engines[engine].caps[row];
	quants = le32toh(c->quants);
	cap.op = op_of_opcode(le16toh(c->opcode));
	cap.rank_max = c->rank_max;
	cap.a_dtypes = le32toh(c->a_dtypes);
	cap.b_dtypes = le32toh(c->b_dtypes);
	cap.d_dtypes = le32toh(c->d_dtypes);
	cap.funcs = le32toh(c->funcs);
	cap.a_quants = quants & 0xff;
	cap.b_quants = quants >> 8 & 0xff;
	cap.d_quants = quants >> 16 & 0xff;
	cap.acts = le32toh(c->acts);
	cap.dim_max = le32toh(c->dim_max);
	cap.k_max = le32toh(c->k_max);
	cap.align = le32toh(c->align);
	cap.macs_per_cycle = le32toh(c->macs_per_cycle);
	cap.packed = !!(c->layouts & 1u << UMA_LAYOUT_GEMM_B);
	return struct_out(out, &cap, sizeof(cap), sizeof(cap));
}

int accel_device_get_memory(struct accel_device *dev, uint32_t node,
			    struct accel_memory_info *info)
{
	if (!dev)
		return -EINVAL;
	if (node >= dev->info.node_count)
		return -ENOENT;
	return struct_out(info, &dev->memory[node], sizeof(dev->memory[node]),
			  sizeof(dev->memory[node]));
}

int accel_device_timestamp(struct accel_device *dev, uint64_t *device,
			   uint64_t *cpu_ns)
{
	if (!dev || !device || !cpu_ns)
		return -EINVAL;
	return dev->ops->timestamp(dev, device, cpu_ns);
}
