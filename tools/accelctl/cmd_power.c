// SPDX-License-Identifier: MIT
/*
 * power get, power set and reset: the driver's knobs in sysfs.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accelctl.h"
#include "kfile.h"
#include "sys.h"
#include "watchers.h"

const char *const power_mode_names[] = {
	[POWER_HIGH_PERFORMANCE] = "high_performance",
	[POWER_BALANCED] = "balanced",
	[POWER_LOW_POWER] = "low_power",
	[POWER_MODE_COUNT] = NULL
};

void power_opts_init(void *data)
{
	struct power_opts *opts = data;

	opts->sys.root = "";
	opts->mode = POWER_MODE_COUNT;
	opts->min_mhz = UINT64_MAX;
	opts->max_mhz = UINT64_MAX;
	opts->autosuspend_ms = UINT64_MAX;
}

/* --- get --- */

static const char *word(const char *dir, const char *name, char buf[64])
{
	if (!*dir || kfile_line(dir, name, buf, 64) || !*buf)
		return NULL;
	return buf;
}

static void json_power(struct json_object *list, const struct sys_node *node)
{
	struct json_object *o = ctl_json_obj(list, NULL);
	const char *dev = node->device, *hw = node->hwmon, *df = node->devfreq;
	int64_t throttled = sys_number(dev, "throttled");
	char buf[64];

	ctl_json_str(o, "device", node->name);
	ctl_json_str(o, "power_mode", word(dev, "power_mode", buf));
	ctl_json_bool(o, "modelled", sys_modelled(node));
	if (throttled == SYS_UNKNOWN)
		ctl_json_str(o, "throttled", NULL);
	else
		ctl_json_bool(o, "throttled", throttled);
	sys_json_number(o, "throttles", sys_number(dev, "throttle_count"));
	sys_json_scaled(o, "power_mw", sys_number(hw, "power1_input"), 1e3);
	sys_json_number(o, "energy_uj", sys_number(hw, "energy1_input"));
	sys_json_scaled(o, "temperature_c", sys_number(hw, "temp1_input"), 1e3);
	sys_json_scaled(o, "temperature_max_c", sys_number(hw, "temp1_max"), 1e3);
	sys_json_scaled(o, "clock_mhz", sys_number(hw, "freq1_input"), 1e6);
	sys_json_scaled(o, "clock_min_mhz", sys_number(df, "min_freq"), 1e6);
	sys_json_scaled(o, "clock_max_mhz", sys_number(df, "max_freq"), 1e6);
	ctl_json_str(o, "governor", word(df, "governor", buf));
	ctl_json_str(o, "runtime_status", word(dev, "power/runtime_status", buf));
	ctl_json_str(o, "runtime_control", word(dev, "power/control", buf));
	sys_json_number(o, "autosuspend_ms", sys_number(dev, "power/autosuspend_delay_ms"));
}

/* A line with a number, if there is one */
static void put(const char *what, int64_t value, double unit, const char *name)
{
	if (value != SYS_UNKNOWN)
		printf("  %-16s %.10g %s\n", what, (double)value / unit, name);
}

static void put_word(const char *what, const char *dir, const char *name)
{
	char buf[64];

	if (word(dir, name, buf))
		printf("  %-16s %s\n", what, buf);
}

static void text_power(struct ctl *ctl, const struct sys_node *node)
{
	const char *dev = node->device, *hw = node->hwmon, *df = node->devfreq;

	printf("%s%s%s%s\n", ctl_tone(ctl, CTL_HEAD), node->name, ctl_tone(ctl, CTL_PLAIN),
	       sys_modelled(node) ? ": power, temperature and clock are modelled" : "");
	put_word("mode", dev, "power_mode");
	put("power", sys_number(hw, "power1_input"), 1e6, "W");
	put("energy", sys_number(hw, "energy1_input"), 1e6, "J");
	put("temperature", sys_number(hw, "temp1_input"), 1e3, "C");
	put("limit", sys_number(hw, "temp1_max"), 1e3, "C");
	put("clock", sys_number(hw, "freq1_input"), 1e6, "MHz");
	put("clock at least", sys_number(df, "min_freq"), 1e6, "MHz");
	put("clock at most", sys_number(df, "max_freq"), 1e6, "MHz");
	put_word("governor", df, "governor");
	if (sys_number(dev, "throttled") > 0)
		printf("  %-16s %syes%s\n", "throttled", ctl_tone(ctl, CTL_WARN),
		       ctl_tone(ctl, CTL_PLAIN));
	put("throttled", sys_number(dev, "throttle_count"), 1, "times");
	put_word("runtime", dev, "power/runtime_status");
	put("suspends after", sys_number(dev, "power/autosuspend_delay_ms"), 1, "ms");
}

static int show(struct ctl *ctl, const struct sys_nodes *nodes)
{
	struct json_object *doc = NULL, *list = NULL;
	unsigned int n;
	int64_t uj;

	if (ctl->json) {
		doc = ctl_schema(ctl);
		list = ctl_json_arr(doc, "devices");
	}
	for (n = 0; n < nodes->count; n++) {
		if (list)
			json_power(list, &nodes->list[n]);
		else
			text_power(ctl, &nodes->list[n]);
		if (sys_number(nodes->list[n].device, "throttled") == SYS_UNKNOWN)
			ctl_note(ctl, "%s: the driver has no power management in sysfs",
				 nodes->list[n].name);
		if (kfile_number(nodes->list[n].hwmon, "energy1_input", &uj) == -EACCES)
			ctl_note(ctl, "%s: only root may read the energy", nodes->list[n].name);
	}
	if (doc)
		ctl_json_print(ctl, doc);
	return CTL_OK;
}

int cmd_power_get(struct ctl *ctl, void *data, const char *operand)
{
	const struct sys_opts *opts = data;
	struct sys_nodes nodes;
	int ret;

	(void)operand;
	ret = sys_find(ctl, opts, &nodes);
	if (ret)
		return ret;
	ret = show(ctl, &nodes);
	sys_nodes_free(&nodes);
	return ret;
}

/* --- set --- */

static int turn(struct ctl *ctl, const char *dir, const char *name, const char *option,
		const char *value)
{
	char text[64];
	int ret;

	if (!*dir)
		return ctl_fail(ctl, CTL_UNSUPPORTED, 0, option,
				"this driver, or this kernel, has no such knob");
	snprintf(text, sizeof(text), "%s\n", value);
	ret = kfile_write(dir, name, text);
	switch (ret) {
	case 0:
		return CTL_OK;
	case -ENOENT:
		return ctl_fail(ctl, CTL_UNSUPPORTED, ret, option,
				"this driver, or this kernel, has no such knob");
	case -EACCES:
	case -EPERM:
		return ctl_fail(ctl, CTL_PERMISSION, ret, option, "only root may set this");
	case -EINVAL:
	case -ERANGE:
		return ctl_fail(ctl, CTL_USAGE, ret, option, "the driver does not take '%s'",
				value);
	default:
		return ctl_fail(ctl, ctl_status(ret), ret, option, "cannot be set to '%s'", value);
	}
}

static int turn_clock(struct ctl *ctl, const struct sys_node *node, const char *name,
		      const char *option, uint64_t mhz)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)mhz * 1000000);
	return turn(ctl, node->devfreq, name, option, text);
}

int cmd_power_set(struct ctl *ctl, void *data, const char *operand)
{
	const struct power_opts *opts = data;
	const struct sys_node *node;
	struct sys_nodes nodes;
	char text[32];
	int ret;

	(void)operand;
	if (opts->mode == POWER_MODE_COUNT && opts->min_mhz == UINT64_MAX &&
	    opts->max_mhz == UINT64_MAX && !opts->governor && opts->autosuspend_ms == UINT64_MAX)
		return ctl_fail(ctl, CTL_USAGE, 0, NULL, "nothing to set");
	if (opts->min_mhz != UINT64_MAX && opts->max_mhz != UINT64_MAX &&
	    opts->min_mhz > opts->max_mhz)
		return ctl_fail(ctl, CTL_USAGE, 0, "--min-clock", "is above --max-clock");
	ret = sys_find_one(ctl, &opts->sys, &nodes);
	if (ret)
		return ret;
	node = &nodes.list[0];
	if (opts->mode != POWER_MODE_COUNT)
		ret = turn(ctl, node->device, "power_mode", "--mode", power_mode_names[opts->mode]);
	if (!ret && opts->governor)
		ret = turn(ctl, node->devfreq, "governor", "--governor", opts->governor);
	if (!ret && opts->max_mhz != UINT64_MAX)
		ret = turn_clock(ctl, node, "max_freq", "--max-clock", opts->max_mhz);
	if (!ret && opts->min_mhz != UINT64_MAX)
		ret = turn_clock(ctl, node, "min_freq", "--min-clock", opts->min_mhz);
	if (!ret && opts->autosuspend_ms != UINT64_MAX) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)opts->autosuspend_ms);
		ret = turn(ctl, node->device, "power/autosuspend_delay_ms", "--autosuspend", text);
	}
	if (!ret)
		ret = show(ctl, &nodes);
	sys_nodes_free(&nodes);
	return ret;
}

/* --- reset --- */

static bool is_engine(const struct sys_node *node, const char *name)
{
	unsigned int i;

	for (i = 0; i < node->engine_count; i++)
		if (!strcmp(node->engines[i].name, name))
			return true;
	return false;
}

static int do_reset(struct ctl *ctl, const struct sys_node *node, const char *what)
{
	int64_t before = sys_number(node->device, "reset_count"), after;
	uint64_t start = sys_now(), took;
	struct json_object *doc;
	char time[16];
	int ret;

	ret = kfile_write(node->device, "reset", what);
	took = sys_now() - start;
	after = sys_number(node->device, "reset_count");
	switch (ret) {
	case 0:
		break;
	case -ENOENT:
		return ctl_fail(ctl, CTL_UNSUPPORTED, ret, node->name,
				"this driver cannot be asked to reset it");
	case -EACCES:
	case -EPERM:
		return ctl_fail(ctl, CTL_PERMISSION, ret, node->name, "only root may reset it");
	case -EINVAL:
		return ctl_fail(ctl, CTL_USAGE, ret, what, "is neither 'device' nor an engine of %s",
				node->name);
	default:
		return ctl_fail(ctl, ctl_status(ret), ret, node->name, "%s did not come back%s",
				what, sys_number(node->device, "wedged") > 0 ?
				"; the device is wedged, load the driver again" : "");
	}
	if (ctl->json) {
		doc = ctl_schema(ctl);
		ctl_json_bool(doc, "ok", true);
		ctl_json_str(doc, "device", node->name);
		ctl_json_str(doc, "what", what);
		ctl_json_uint(doc, "time_us", took / 1000);
		sys_json_number(doc, "resets_before", before);
		sys_json_number(doc, "resets", after);
		ctl_json_print(ctl, doc);
		return CTL_OK;
	}
	printf("%s: %s was reset in %s", node->name, what, ctl_time(time, (double)took / 1e9));
	if (before != SYS_UNKNOWN && after != SYS_UNKNOWN)
		printf("; resets so far: %lld, before: %lld", (long long)after, (long long)before);
	putchar('\n');
	return CTL_OK;
}

int cmd_reset(struct ctl *ctl, void *data, const char *operand)
{
	const struct sys_opts *opts = data;
	struct sys_nodes nodes;
	int ret;

	ret = sys_find_one(ctl, opts, &nodes);
	if (ret)
		return ret;
	/* Report missing permission before checking the operand */
	if (operand && strcmp(operand, "device") != 0 && nodes.list[0].engine_count &&
	    !is_engine(&nodes.list[0], operand))
		ret = ctl_fail(ctl, CTL_USAGE, 0, operand, "is neither 'device' nor an engine of %s",
			       nodes.list[0].name);
	else
		ret = do_reset(ctl, &nodes.list[0], operand ? operand : "device");
	sys_nodes_free(&nodes);
	return ret;
}
