// SPDX-License-Identifier: MIT
/* Common parts of the tune commands: options, the device, entries as JSON. */
#include <json-c/json.h>
#include <string.h>

#include "tuning.h"

#define TUNE(member)	offsetof(struct tune_opts, member)

/* Options that several commands have */
#define DIR_OPTS \
	{ "dir", 0, CTL_STRING, CTL_COMPLETE_DIR, TUNE(dir), .arg = "DIR", \
	  .help = "directory of the file (accel/tune in XDG_CACHE_HOME or ~/.cache)" }, \
	{ "threads", 0, CTL_UINT, 0, TUNE(threads), 1, 4096, .arg = "COUNT", \
	  .help = "in-process device: number of threads; the default is one per core" }

#define RUN_OPTS \
	{ "budget-ms", 0, CTL_UINT, 0, TUNE(budget_ms), 1, 3600000, .arg = "MS", \
	  .help = "time limit of the measurement (1000)" }, \
	{ "again", 0, CTL_FLAG, 0, TUNE(again), .help = "measure existing entries again" }, \
	{ "dry-run", 0, CTL_FLAG, 0, TUNE(dry), .help = "measure, but write no file" }

const struct ctl_opt tune_dir_table[] = { DIR_OPTS, { NULL } };
const struct ctl_opt tune_run_table[] = { RUN_OPTS, DIR_OPTS, { NULL } };

const struct ctl_opt tune_conv_table[] = {
	{ "pack", 0, CTL_FLAG, 0, TUNE(pack),
	  .help = "weights are constant: pack them for the engine beforehand" },
	{ "winograd", 0, CTL_FLAG, 0, TUNE(winograd),
	  .help = "the same, and allow Winograd's algorithms, which are less exact" },
	RUN_OPTS,
	DIR_OPTS,
	{ NULL }
};

const struct ctl_opt tune_prune_table[] = {
	{ "older", 0, CTL_UINT, 0, TUNE(older), 1, 36500, .arg = "DAYS",
	  .help = "also entries that were measured more than DAYS days ago" },
	{ "devices", 0, CTL_FLAG, 0, TUNE(devices),
	  .help = "also entries of other devices, chips and numbers of threads" },
	{ "all", 0, CTL_FLAG, 0, TUNE(all), .help = "every entry" },
	{ NULL }
};

const struct ctl_opt tune_verify_table[] = {
	{ "sample", 0, CTL_UINT, 0, TUNE(sample), 0, 4096, .arg = "COUNT",
	  .help = "number of entries to measure again, evenly from all (4)" },
	{ "budget-ms", 0, CTL_UINT, 0, TUNE(budget_ms), 1, 3600000, .arg = "MS",
	  .help = "time limit for each (1000)" },
	{ NULL }
};

void tune_init(void *data)
{
	struct tune_opts *o = data;

	o->budget_ms = 1000;
	o->sample = TUNE_SAMPLE;
}

void tune_gemm_init(void *data)
{
	tune_init(data);
	gemm_opts_init(data);
}

void tune_conv_init(void *data)
{
	tune_init(data);
	conv_opts_init(data);
}

void tune_attn_init(void *data)
{
	tune_init(data);
	attn_opts_init(data);
}

void tune_op_init(void *data)
{
	tune_init(data);
	op_opts_init(data);
}

int tune_open(struct ctl *ctl, const struct tune_opts *opts, struct tune_session *s)
{
	struct accel_ctx_opts ctx = ACCEL_CTX_OPTS_INIT;
	int ret;

	*s = (struct tune_session){ .ctl = ctl, .opts = opts, .info = { .size = sizeof(s->info) } };
	ret = ctl_open(ctl, ctl->device, (uint32_t)opts->threads, &s->dev);
	if (ret)
		return ret;
	ctx.tune_dir = opts->dir;
	ret = accel_device_get_info(s->dev, &s->info);
	if (!ret)
		ret = accel_ctx_create(s->dev, &ctx, &s->ctx);
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, NULL, "cannot make a context");
	return CTL_OK;
}

void tune_close(struct tune_session *s)
{
	accel_ctx_destroy(s->ctx);
	accel_device_unref(s->dev);
}

int tune_fail(struct tune_session *s, int ret)
{
	return ctl_fail_ctx(s->ctl, ctl_status(ret), NULL, s->ctx, ret);
}

const char *tune_state_name(uint32_t state)
{
	static const char *const names[ACCEL_TUNE_STATE_COUNT] = {
		[ACCEL_TUNE_VALID] = "valid",
		[ACCEL_TUNE_OTHER_DEVICE] = "other device",
		[ACCEL_TUNE_OTHER_CPU] = "other CPU",
		[ACCEL_TUNE_OTHER_VERSION] = "other version",
		[ACCEL_TUNE_CORRUPT] = "corrupt",
	};

	return state < ACCEL_TUNE_STATE_COUNT ? names[state] : "unknown";
}

const struct accel_tune_candidate *tune_find(const struct accel_tune_entry *e, uint32_t flag)
{
	uint32_t i;

	for (i = 0; i < e->candidate_count; i++)
		if (e->candidates[i].flags & flag)
			return &e->candidates[i];
	return NULL;
}

const char *tune_way(const struct accel_tune_candidate *c, char buf[136])
{
	snprintf(buf, 136, "%s%s%s", c->algorithm, *c->hint ? ", " : "", c->hint);
	return buf;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

struct json_object *tune_json(struct json_object *list, const struct accel_tune_entry *e)
{
	struct json_object *o = ctl_json_obj(list, NULL), *candidates, *c;
	const struct accel_tune_candidate *best = tune_find(e, ACCEL_TUNE_WINNER);
	uint32_t i;

	ctl_json_str(o, "state", tune_state_name(e->state));
	if (e->line)
		ctl_json_uint(o, "line", e->line);
	if (e->state == ACCEL_TUNE_CORRUPT)
		return o;
	ctl_json_str(o, "op", accel_op_name(e->op));
	ctl_json_str(o, "words", e->words);
	ctl_json_str(o, "cpu", e->cpu);
	ctl_json_str(o, "version", e->version);
	ctl_json_str(o, "device", e->device);
	ctl_json_uint(o, "threads", e->threads);
	ctl_json_bool(o, "cached", e->cached);
	ctl_json_uint(o, "time_s", e->time);
	ctl_json_uint(o, "spent_ns", e->spent_ns);
	ctl_json_str(o, "algorithm", best ? best->algorithm : NULL);
	ctl_json_str(o, "hint", best ? best->hint : NULL);
	ctl_json_uint(o, "best_ns", e->best_ns);
	ctl_json_uint(o, "default_ns", e->default_ns);
	ctl_json_real(o, "gain", ratio(e->default_ns, e->best_ns));
	candidates = ctl_json_arr(o, "candidates");
	for (i = 0; i < e->candidate_count; i++) {
		const struct accel_tune_candidate *from = &e->candidates[i];

		c = ctl_json_obj(candidates, NULL);
		ctl_json_str(c, "algorithm", from->algorithm);
		ctl_json_str(c, "hint", from->hint);
		ctl_json_uint(c, "ns", from->ns);
		ctl_json_uint(c, "samples", from->samples);
		ctl_json_bool(c, "winner", from->flags & ACCEL_TUNE_WINNER);
		ctl_json_bool(c, "default", from->flags & ACCEL_TUNE_DEFAULT);
		ctl_json_bool(c, "dropped", from->flags & ACCEL_TUNE_DROPPED);
		ctl_json_bool(c, "failed", from->flags & ACCEL_TUNE_FAILED);
	}
	return o;
}
