// SPDX-License-Identifier: MIT
/*
 * info
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "accelctl.h"

static const char *const quant_names[] = {
	[ACCEL_QUANT_NONE] = "none",
	[ACCEL_QUANT_TENSOR] = "tensor",
	[ACCEL_QUANT_CHANNEL] = "channel",
	[ACCEL_QUANT_GROUP] = "group",
	[ACCEL_QUANT_GROUP_MIN] = "group with minimum",
	[ACCEL_QUANT_COUNT] = NULL
};

static const char *const priority_names[] = {
	[ACCEL_PRIORITY_NORMAL] = "normal",
	[ACCEL_PRIORITY_LOW] = "low",
	[ACCEL_PRIORITY_HIGH] = "high",
	[ACCEL_PRIORITY_REALTIME] = "realtime",
	NULL
};

/* Element types that a kind of engine supports for an operation, over all rows and instances */
struct support {
	uint32_t present;
	uint32_t a, b, d;
	uint32_t quants;
	uint32_t acts;
	uint32_t dim_max;
	uint32_t k_max;
};

struct device {
	struct accel_device_info info;
	struct support support[ACCEL_ENGINE_COUNT][ACCEL_OP_COUNT];
};

static void merge(struct support *s, const struct accel_cap *cap)
{
	s->present = 1;
	s->a |= cap->a_dtypes;
	s->b |= cap->b_dtypes;
	s->d |= cap->d_dtypes;
	s->quants |= cap->a_quants | cap->b_quants | cap->d_quants;
	s->acts |= cap->acts;
	s->dim_max = cap->dim_max > s->dim_max ? cap->dim_max : s->dim_max;
	s->k_max = cap->k_max > s->k_max ? cap->k_max : s->k_max;
}

/* --- JSON --- */

static void json_dtypes(struct json_object *obj, const char *key, uint32_t mask)
{
	struct json_object *list = ctl_json_arr(obj, key);
	uint32_t i;

	for (i = 1; i < ACCEL_DTYPE_COUNT; i++)
		if (mask & 1u << i)
			ctl_json_str(list, NULL, accel_dtype_name(i));
}

static void json_names(struct json_object *obj, const char *key, uint32_t mask,
		       const char *const *names)
{
	struct json_object *list = ctl_json_arr(obj, key);
	uint32_t i;

	for (i = 0; names[i]; i++)
		if (mask & 1u << i)
			ctl_json_str(list, NULL, names[i]);
}

static void json_funcs(struct json_object *row, const struct accel_cap *cap)
{
	struct json_object *list = ctl_json_arr(row, "funcs");
	const char *name;
	uint32_t i;

	for (i = 0; i < 32; i++) {
		name = cap->op == ACCEL_OP_UNARY ? accel_unary_name(i) :
		       cap->op == ACCEL_OP_BINARY ? accel_binary_name(i) : NULL;
		if (name && cap->funcs & 1u << i)
			ctl_json_str(list, NULL, name);
	}
}

static void json_cap(struct json_object *rows, const struct accel_cap *cap)
{
	struct json_object *row = ctl_json_obj(rows, NULL);

	/* Operations that only the library uses have no name of their own */
	ctl_json_str(row, "op", cap->op == ACCEL_OP_NONE ? "internal" : accel_op_name(cap->op));
	json_dtypes(row, "a_dtypes", cap->a_dtypes);
	json_dtypes(row, "b_dtypes", cap->b_dtypes);
	json_dtypes(row, "d_dtypes", cap->d_dtypes);
	json_funcs(row, cap);
	json_names(row, "a_quants", cap->a_quants, quant_names);
	json_names(row, "b_quants", cap->b_quants, quant_names);
	json_names(row, "d_quants", cap->d_quants, quant_names);
	json_names(row, "acts", cap->acts, ctl_act_names);
	ctl_json_uint(row, "rank_max", cap->rank_max);
	ctl_json_uint(row, "dim_max", cap->dim_max);
	ctl_json_uint(row, "k_max", cap->k_max);
	ctl_json_uint(row, "align_bytes", cap->align);
	ctl_json_uint(row, "macs_per_cycle", cap->macs_per_cycle);
	ctl_json_bool(row, "packed", cap->packed);
}

static void json_version(struct json_object *obj, const char *key, uint32_t version)
{
	char text[24];

	snprintf(text, sizeof(text), "%u.%u", version >> 16, version & 0xffff);
	ctl_json_str(obj, key, version ? text : NULL);
}

static void json_device(struct json_object *doc, const struct accel_device_info *info)
{
	struct json_object *o = ctl_json_obj(doc, "device");

	ctl_json_str(o, "name", info->name);
	ctl_json_str(o, "path", *info->path ? info->path : NULL);
	ctl_json_str(o, "driver", info->driver);
	ctl_json_str(o, "chip", info->profile);
	ctl_json_bool(o, "emulated", info->flags & ACCEL_DEVICE_EMULATED);
	ctl_json_bool(o, "coherent", info->flags & ACCEL_DEVICE_COHERENT);
	ctl_json_bool(o, "modelled_power", info->flags & ACCEL_DEVICE_MODELLED_POWER);
	ctl_json_uint(o, "threads", info->threads);
	ctl_json_str(o, "kernels", *info->kernels ? info->kernels : NULL);

	o = ctl_json_obj(doc, "versions");
	ctl_json_str(o, "accelctl", UMA_VERSION);
	json_version(o, "library", accel_version());
	json_version(o, "uapi", info->uapi_version);
	json_version(o, "hardware", info->hw_version);
	ctl_json_uint(o, "task", info->task_version);

	o = ctl_json_obj(doc, "limits");
	ctl_json_uint(o, "page_bytes", info->page_size);
	ctl_json_uint(o, "max_buffer_bytes", info->max_bo_size);
	ctl_json_uint(o, "max_job_tasks", info->max_job_tasks);
	ctl_json_uint(o, "max_timeout_ms", info->max_timeout_ms);
	ctl_json_uint(o, "default_timeout_ms", info->default_timeout_ms);
	ctl_json_uint(o, "timestamp_hz", info->timestamp_hz);
	json_names(o, "priorities", info->priorities, priority_names);
}

static void json_support(struct json_object *doc, const struct device *d)
{
	struct json_object *kinds = ctl_json_obj(doc, "support"), *ops, *o;
	uint32_t e, op;

	for (e = 1; e < ACCEL_ENGINE_COUNT; e++) {
		ops = NULL;
		for (op = 1; op < ACCEL_OP_COUNT; op++) {
			const struct support *s = &d->support[e][op];

			if (!s->present)
				continue;
			if (!ops)
				ops = ctl_json_obj(kinds, accel_engine_name(e));
			o = ctl_json_obj(ops, accel_op_name(op));
			json_dtypes(o, "a_dtypes", s->a);
			json_dtypes(o, "b_dtypes", s->b);
			json_dtypes(o, "d_dtypes", s->d);
		}
	}
}

/* --- text --- */

static const char *version_text(char buf[24], uint32_t version)
{
	if (!version)
		return "none";
	snprintf(buf, 24, "%u.%u", version >> 16, version & 0xffff);
	return buf;
}

static void text_device(struct ctl *ctl, const struct accel_device_info *info)
{
	char lib[24], uapi[24], hw[24], size[16], page[16];
	uint32_t i, n = 0;

	printf("%s%s%s: chip %s, %s, driver %s%s%s%s%s\n", ctl_tone(ctl, CTL_HEAD), info->name,
	       ctl_tone(ctl, CTL_PLAIN), info->profile,
	       info->flags & ACCEL_DEVICE_EMULATED ? "emulated" : "hardware", info->driver,
	       *info->path ? ", " : "", info->path,
	       info->flags & ACCEL_DEVICE_COHERENT ? ", coherent" : "",
	       info->flags & ACCEL_DEVICE_MODELLED_POWER ? ", power is modelled" : "");
	if (info->threads)
		printf("  in process: %u thread%s, kernels %s\n", info->threads,
		       info->threads == 1 ? "" : "s", *info->kernels ? info->kernels : "portable");
	printf("  versions: library %s, uapi %s, hardware %s, tasks %u\n",
	       version_text(lib, accel_version()), version_text(uapi, info->uapi_version),
	       version_text(hw, info->hw_version), info->task_version);
	printf("  limits: pages of %s, buffers to %s, %u tasks a job, timeout %u ms (at most %u ms)\n",
	       ctl_bytes(page, info->page_size), ctl_bytes(size, info->max_bo_size),
	       info->max_job_tasks, info->default_timeout_ms, info->max_timeout_ms);
	printf("  priorities:");
	for (i = 0; priority_names[i]; i++)
		if (info->priorities & 1u << i)
			printf("%s %s", n++ ? "," : "", priority_names[i]);
	putchar('\n');
}

static void text_support(struct ctl *ctl, const struct device *d)
{
	struct ctl_grid table = { 0 };
	char cells[ACCEL_DTYPE_COUNT][4], max[16], k[16];
	uint32_t e, op, t;

	printf("\nOperations: types of the inputs A and B and of the result D\n");
	ctl_grid_row(&table, "ENGINE\tOP\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\tDIM MAX\tK MAX",
		     accel_dtype_name(1), accel_dtype_name(2), accel_dtype_name(3),
		     accel_dtype_name(4), accel_dtype_name(5), accel_dtype_name(6),
		     accel_dtype_name(7), accel_dtype_name(8));
	for (e = 1; e < ACCEL_ENGINE_COUNT; e++)
		for (op = 1; op < ACCEL_OP_COUNT; op++) {
			const struct support *s = &d->support[e][op];

			if (!s->present)
				continue;
			for (t = 1; t < ACCEL_DTYPE_COUNT; t++) {
				snprintf(cells[t], 4, "%s%s%s", s->a & 1u << t ? "A" : "",
					 s->b & 1u << t ? "B" : "", s->d & 1u << t ? "D" : "");
				if (!*cells[t])
					strcpy(cells[t], "-");
			}
			snprintf(max, sizeof(max), "%u", s->dim_max);
			snprintf(k, sizeof(k), "%u", s->k_max);
			ctl_grid_row(&table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s",
				     accel_engine_name(e), accel_op_name(op), cells[1], cells[2],
				     cells[3], cells[4], cells[5], cells[6], cells[7], cells[8],
				     max, s->k_max ? k : "-");
		}
	table.right = 3u << 10;
	ctl_grid_print(ctl, &table, 2);
}

/* --- both --- */

static int show_engines(struct ctl *ctl, struct accel_device *dev, struct device *d,
			struct json_object *doc)
{
	struct json_object *list = doc ? ctl_json_arr(doc, "engines") : NULL;
	struct json_object *o = NULL, *rows = NULL;
	struct ctl_grid table = { 0 };
	uint32_t i, row;
	int ret = 0;

	ctl_grid_row(&table, "ENGINE\tINSTANCE\tNODE\tCLOCK MHZ\tTASKS A JOB\tSHAPES\tPREEMPTION");
	for (i = 0; i < d->info.engine_count; i++) {
		struct accel_engine_info e = { .size = sizeof(e) };

		ret = accel_device_get_engine(dev, i, &e);
		if (!ret && e.engine >= ACCEL_ENGINE_COUNT)
			ret = -EPROTO;
		if (ret)
			goto out;
		if (list) {
			o = ctl_json_obj(list, NULL);
			ctl_json_uint(o, "index", i);
			ctl_json_str(o, "engine", accel_engine_name(e.engine));
			ctl_json_uint(o, "instance", e.instance);
			ctl_json_uint(o, "node", e.node);
			ctl_json_uint(o, "clock_max_mhz", e.clock_max_mhz);
			ctl_json_uint(o, "max_job_tasks", e.max_job_tasks);
			ctl_json_bool(o, "dynamic_shapes", e.flags & ACCEL_ENGINE_DYNAMIC_SHAPES);
			ctl_json_bool(o, "preempt", e.flags & ACCEL_ENGINE_PREEMPT);
			rows = ctl_json_arr(o, "capabilities");
		}
		ctl_grid_row(&table, "%s\t%u\t%u\t%u\t%u\t%s\t%s", accel_engine_name(e.engine),
			     e.instance, e.node, e.clock_max_mhz, e.max_job_tasks,
			     e.flags & ACCEL_ENGINE_DYNAMIC_SHAPES ? "dynamic" : "static",
			     e.flags & ACCEL_ENGINE_PREEMPT ? "yes" : "no");
		for (row = 0; row < e.cap_count; row++) {
			struct accel_cap cap = { .size = sizeof(cap) };

			ret = accel_device_get_cap(dev, i, row, &cap);
			if (ret)
				goto out;
			if (cap.op < ACCEL_OP_COUNT)
				merge(&d->support[e.engine][cap.op], &cap);
			if (rows)
				json_cap(rows, &cap);
		}
	}
	table.right = 0x1e;
	if (!doc) {
		printf("\nEngines\n");
		ctl_grid_print(ctl, &table, 2);
	}
out:
	ctl_grid_clear(&table);
	return ret;
}

static int show_memory(struct ctl *ctl, struct accel_device *dev, const struct device *d,
		       struct json_object *doc)
{
	struct json_object *list = doc ? ctl_json_arr(doc, "memory") : NULL, *o;
	struct ctl_grid table = { 0 };
	char size[16], rate[24];
	uint32_t i;
	int ret = 0;

	ctl_grid_row(&table, "NODE\tSIZE\tBANDWIDTH (MODELLED)");
	for (i = 0; i < d->info.node_count; i++) {
		struct accel_memory_info m = { .size = sizeof(m) };

		ret = accel_device_get_memory(dev, i, &m);
		if (ret)
			goto out;
		if (list) {
			o = ctl_json_obj(list, NULL);
			ctl_json_uint(o, "node", m.node);
			ctl_json_uint(o, "bytes", m.bytes);
			ctl_json_uint(o, "bandwidth_bytes_per_s", m.bandwidth);
		}
		snprintf(rate, sizeof(rate), "%.1f GB/s", (double)m.bandwidth / 1e9);
		ctl_grid_row(&table, "%u\t%s\t%s", m.node, ctl_bytes(size, m.bytes),
			     m.bandwidth ? rate : "unknown");
	}
	if (!doc) {
		printf("\nMemory\n");
		ctl_grid_print(ctl, &table, 2);
	}
out:
	ctl_grid_clear(&table);
	return ret;
}

int cmd_info(struct ctl *ctl, void *data, const char *operand)
{
	struct device *d = ctl_alloc(1, sizeof(*d));
	struct json_object *doc = NULL;
	struct accel_device *dev = NULL;
	int ret, status;

	(void)data;
	if (operand && ctl->device && strcmp(operand, ctl->device) != 0) {
		status = ctl_fail(ctl, CTL_USAGE, 0, operand, "-d names another device");
		goto out;
	}
	status = ctl_open(ctl, operand ? operand : ctl->device, 0, &dev);
	if (status)
		goto out;
	d->info.size = sizeof(d->info);
	ret = accel_device_get_info(dev, &d->info);
	if (ret)
		goto fail;
	if (ctl->json) {
		doc = ctl_schema(ctl);
		json_device(doc, &d->info);
	} else {
		text_device(ctl, &d->info);
	}
	ret = show_memory(ctl, dev, d, doc);
	if (!ret)
		ret = show_engines(ctl, dev, d, doc);
	if (ret)
		goto fail;
	if (ctl->json) {
		json_support(doc, d);
		ctl_json_print(ctl, doc);
		doc = NULL;
	} else {
		text_support(ctl, d);
	}
	goto out;

fail:
	status = ctl_fail(ctl, ctl_status(ret), ret, NULL, "the device does not describe itself");
out:
	json_object_put(doc);
	accel_device_unref(dev);
	free(d);
	return status;
}
