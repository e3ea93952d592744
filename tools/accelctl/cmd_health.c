// SPDX-License-Identifier: MIT
/* health: the state of a device and its error counters. */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accelctl.h"
#include "sys.h"
#include "watchers.h"

enum verdict {
	OK,
	DEGRADED,
	LOST
};

static const char *const state_names[] = { "ok", "degraded", "lost" };

struct health {
	enum verdict state;
	unsigned int reason_count;
	char reasons[8][96];
	int64_t resets, faults, timeouts, missed, throttles, throttled, wedged;
	char coredump[PATH_MAX];
};

static void because(struct health *h, enum verdict state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void because(struct health *h, enum verdict state, const char *fmt, ...)
{
	va_list ap;

	if (state > h->state)
		h->state = state;
	if (h->reason_count == sizeof(h->reasons) / sizeof(h->reasons[0]))
		return;
	va_start(ap, fmt);
	vsnprintf(h->reasons[h->reason_count++], sizeof(h->reasons[0]), fmt, ap);
	va_end(ap);
}

static void check(const struct health_opts *opts, const struct sys_node *node, struct health *h)
{
	const char *dir = node->device;

	*h = (struct health){
		.resets = sys_number(dir, "reset_count"),
		.faults = sys_number(dir, "fault_count"),
		.timeouts = sys_number(dir, "timeout_count"),
		.missed = sys_number(dir, "missed_count"),
		.throttles = sys_number(dir, "throttle_count"),
		.throttled = sys_number(dir, "throttled"),
		.wedged = sys_number(dir, "wedged"),
	};
	sys_coredump(&opts->sys, node, h->coredump);
	if (access(dir, F_OK))
		because(h, LOST, "the device is gone");
	if (h->wedged > 0)
		because(h, LOST, "wedged: no reset brought it back");
	if (h->throttled > 0)
		because(h, DEGRADED, "throttled: it is too hot");
	if (h->missed > 0)
		because(h, DEGRADED, "%lld interrupts were missed", (long long)h->missed);
	if (!opts->strict)
		return;
	if (h->resets > 0)
		because(h, DEGRADED, "%lld resets", (long long)h->resets);
	if (h->timeouts > 0)
		because(h, DEGRADED, "%lld jobs ran into their timeout", (long long)h->timeouts);
	if (h->faults > 0)
		because(h, DEGRADED, "%lld jobs faulted", (long long)h->faults);
	if (h->throttles > 0)
		because(h, DEGRADED, "throttled %lld times", (long long)h->throttles);
}

static void json_health(struct json_object *list, const struct sys_node *node,
			const struct health *h)
{
	static const char *const counters[] = { "jobs", "faults", "timeouts", "resets" };
	struct json_object *o = ctl_json_obj(list, NULL), *a, *e;
	unsigned int i, c;

	ctl_json_str(o, "device", node->name);
	ctl_json_str(o, "state", state_names[h->state]);
	a = ctl_json_arr(o, "reasons");
	for (i = 0; i < h->reason_count; i++)
		ctl_json_str(a, NULL, h->reasons[i]);
	sys_json_number(o, "resets", h->resets);
	sys_json_number(o, "faults", h->faults);
	sys_json_number(o, "timeouts", h->timeouts);
	sys_json_number(o, "missed_interrupts", h->missed);
	sys_json_number(o, "throttles", h->throttles);
	if (h->throttled == SYS_UNKNOWN)
		ctl_json_str(o, "throttled", NULL);
	else
		ctl_json_bool(o, "throttled", h->throttled);
	if (h->wedged == SYS_UNKNOWN)
		ctl_json_str(o, "wedged", NULL);
	else
		ctl_json_bool(o, "wedged", h->wedged);
	ctl_json_str(o, "last_coredump", *h->coredump ? h->coredump : NULL);
	a = ctl_json_arr(o, "engines");
	for (i = 0; i < node->engine_count; i++) {
		e = ctl_json_obj(a, NULL);
		ctl_json_str(e, "engine", node->engines[i].name);
		for (c = 0; c < sizeof(counters) / sizeof(counters[0]); c++)
			sys_json_number(e, counters[c],
					sys_engine_number(node, &node->engines[i], counters[c]));
	}
}

static const char *known(char buf[24], int64_t value)
{
	if (value == SYS_UNKNOWN)
		return "-";
	snprintf(buf, 24, "%lld", (long long)value);
	return buf;
}

static void text_health(struct ctl *ctl, const struct sys_node *node, const struct health *h)
{
	static const enum ctl_tone tones[] = { CTL_GOOD, CTL_WARN, CTL_BAD };
	struct ctl_grid table = { .right = 0x1e };
	char t[5][24];
	unsigned int i;

	printf("%s: %s%s%s", node->name, ctl_tone(ctl, tones[h->state]), state_names[h->state],
	       ctl_tone(ctl, CTL_PLAIN));
	for (i = 0; i < h->reason_count; i++)
		printf("%s %s", i ? ";" : ":", h->reasons[i]);
	printf("\n  resets %s, faults %s, timeouts %s, missed interrupts %s, throttled %s times\n",
	       known(t[0], h->resets), known(t[1], h->faults), known(t[2], h->timeouts),
	       known(t[3], h->missed), known(t[4], h->throttles));
	printf("  last core dump: %s\n", *h->coredump ? h->coredump : "none");
	if (!node->engine_count)
		return;
	ctl_grid_row(&table, "ENGINE\tJOBS\tFAULTS\tTIMEOUTS\tRESETS");
	for (i = 0; i < node->engine_count; i++) {
		const struct sys_engine *e = &node->engines[i];

		ctl_grid_row(&table, "%s\t%s\t%s\t%s\t%s", e->name,
			     known(t[0], sys_engine_number(node, e, "jobs")),
			     known(t[1], sys_engine_number(node, e, "faults")),
			     known(t[2], sys_engine_number(node, e, "timeouts")),
			     known(t[3], sys_engine_number(node, e, "resets")));
	}
	ctl_grid_print(ctl, &table, 2);
}

int cmd_health(struct ctl *ctl, void *data, const char *operand)
{
	const struct health_opts *opts = data;
	struct json_object *doc = NULL, *list = NULL;
	struct health *h = ctl_alloc(1, sizeof(*h));
	static const int statuses[] = { CTL_OK, CTL_FAILED, CTL_LOST };
	enum verdict worst = OK;
	struct sys_nodes nodes;
	unsigned int n;
	int ret;

	(void)operand;
	ret = sys_find(ctl, &opts->sys, &nodes);
	if (ret)
		goto out;
	if (ctl->json) {
		doc = ctl_schema(ctl);
		list = ctl_json_arr(doc, "devices");
	}
	for (n = 0; n < nodes.count; n++) {
		check(opts, &nodes.list[n], h);
		if (h->state > worst)
			worst = h->state;
		if (h->resets == SYS_UNKNOWN)
			ctl_note(ctl, "%s: the driver has no counters in sysfs",
				 nodes.list[n].name);
		if (list)
			json_health(list, &nodes.list[n], h);
		else
			text_health(ctl, &nodes.list[n], h);
	}
	ret = statuses[worst];
	if (doc) {
		ctl_json_bool(doc, "ok", worst == OK);
		ctl_json_str(doc, "state", state_names[worst]);
		ctl_json_int(doc, "exit_status", ret);
		ctl_json_print(ctl, doc);
	}
	sys_nodes_free(&nodes);
out:
	free(h);
	return ret;
}
