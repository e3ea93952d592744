// SPDX-License-Identifier: MIT
/*
 * top, and ps, which is top without time.
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accelctl.h"
#include "interrupt.h"
#include "top.h"
#include "watchers.h"

void top_opts_init(void *data)
{
	struct top_opts *opts = data;

	opts->sys.root = "";
	opts->interval = 1;
}

/* --- JSON --- */

static void json_node(struct json_object *list, const struct sys_node *node,
		      const struct top_node *now)
{
	struct json_object *o = ctl_json_obj(list, NULL), *engines, *e;
	unsigned int i;

	ctl_json_str(o, "device", node->name);
	ctl_json_bool(o, "gone", now->gone);
	sys_json_scaled(o, "clock_mhz", now->clock_hz, 1e6);
	sys_json_scaled(o, "clock_max_mhz", now->clock_max_hz, 1e6);
	sys_json_scaled(o, "temperature_c", now->temp_mc, 1e3);
	sys_json_scaled(o, "power_mw", now->power_uw, 1e3);
	ctl_json_bool(o, "modelled", now->modelled);
	sys_json_number(o, "memory_used_bytes", now->memory_used);
	ctl_json_str(o, "power_mode", *now->mode ? now->mode : NULL);
	if (now->throttled == SYS_UNKNOWN)
		ctl_json_str(o, "throttled", NULL);
	else
		ctl_json_bool(o, "throttled", now->throttled);
	engines = ctl_json_arr(o, "engines");
	for (i = 0; i < node->engine_count; i++) {
		e = ctl_json_obj(engines, NULL);
		ctl_json_str(e, "engine", node->engines[i].name);
		ctl_json_str(e, "class", node->engines[i].class_name);
		ctl_json_real(e, "busy_percent",
			      now->engines[i].percent < 0 ? NAN : now->engines[i].percent);
		sys_json_number(e, "busy_us", now->engines[i].busy_us);
		sys_json_number(e, "jobs", now->engines[i].jobs);
		sys_json_number(e, "clock_max_mhz", now->engines[i].clock_max_mhz);
	}
}

/* @row: NULL: only the keys that do not depend on an interval */
static void json_client(struct json_object *list, const struct sys_nodes *nodes,
			const struct sys_client *c, const struct top_client *row)
{
	struct json_object *o = ctl_json_obj(list, NULL), *engines, *e;
	const struct fdinfo *info = &c->info;
	unsigned int i;

	ctl_json_int(o, "pid", c->pid);
	ctl_json_str(o, "comm", c->comm);
	ctl_json_str(o, "user", c->user);
	ctl_json_uint(o, "uid", c->uid);
	ctl_json_uint(o, "processes", c->processes);
	ctl_json_str(o, "device", nodes->list[c->node].name);
	ctl_json_uint(o, "client_id", info->client_id);
	ctl_json_str(o, "name", *info->name ? info->name : NULL);
	sys_json_number(o, "queues", c->queues);
	if (info->has_memory) {
		ctl_json_uint(o, "memory_total_bytes", info->total);
		ctl_json_uint(o, "memory_resident_bytes", info->resident);
		ctl_json_uint(o, "memory_shared_bytes", info->shared);
		ctl_json_uint(o, "memory_purgeable_bytes", info->purgeable);
		ctl_json_uint(o, "memory_active_bytes", info->active);
	}
	if (row)
		ctl_json_uint(o, "interval_ns", row->interval_ns);
	engines = ctl_json_obj(o, "engines");
	for (i = 0; i < info->engine_count; i++) {
		const struct fdinfo_engine *f = &info->engines[i];

		e = ctl_json_obj(engines, f->name);
		ctl_json_uint(e, "capacity", f->capacity);
		ctl_json_uint(e, "total_ns", f->ns);
		if (f->cycles)
			ctl_json_uint(e, "cycles", f->cycles);
		if (!row)
			continue;
		ctl_json_uint(e, "busy_ns", row->busy_ns[i]);
		ctl_json_real(e, "busy_percent", row->interval_ns ? row->percent[i] : NAN);
	}
}

static void print_json(struct ctl *ctl, const struct sys_nodes *nodes,
		       const struct top_sample *s, uint64_t number)
{
	struct json_object *doc = ctl_schema(ctl), *list;
	unsigned int i;

	ctl_json_uint(doc, "sample", number);
	ctl_json_uint(doc, "time_ns", s->wall_ns);
	ctl_json_uint(doc, "interval_ns", s->interval_ns);
	list = ctl_json_arr(doc, "devices");
	for (i = 0; i < nodes->count; i++)
		json_node(list, &nodes->list[i], &s->nodes[i]);
	list = ctl_json_arr(doc, "clients");
	for (i = 0; i < s->clients.count; i++)
		json_client(list, nodes, s->rows[i].now, &s->rows[i]);
	ctl_json_uint(doc, "hidden_processes", s->clients.hidden);
	ctl_json_line(ctl, doc);
}

/* --- text --- */

static void print_text(struct ctl *ctl, const struct sys_nodes *nodes, const struct top_sample *s)
{
	struct ctl_grid table = { 0 };
	char line[320], stamp[32];
	time_t wall = (time_t)(s->wall_ns / 1000000000);
	struct tm tm;
	unsigned int n, i;

	strftime(stamp, sizeof(stamp), "%H:%M:%S", localtime_r(&wall, &tm));
	printf("%s%s%s  %u client%s in %.2f s\n", ctl_tone(ctl, CTL_HEAD), stamp,
	       ctl_tone(ctl, CTL_PLAIN), s->clients.count, s->clients.count == 1 ? "" : "s",
	       (double)s->interval_ns / 1e9);
	for (n = 0; n < nodes->count; n++) {
		top_node_line(&nodes->list[n], &s->nodes[n], line, sizeof(line));
		printf("%s\n", line);
		if (nodes->list[n].engine_count)
			putchar(' ');
		for (i = 0; i < nodes->list[n].engine_count; i++) {
			double percent = s->nodes[n].engines[i].percent;

			printf("%s%s ", i ? "  " : " ", nodes->list[n].engines[i].name);
			if (percent < 0)
				fputs("-", stdout);
			else
				printf("%.1f%%", percent);
		}
		if (nodes->list[n].engine_count)
			putchar('\n');
	}
	if (s->clients.count) {
		top_grid(nodes, s, &table);
		ctl_grid_print(ctl, &table, 0);
	}
	putchar('\n');
}

static void complain(struct ctl *ctl, const struct sys_clients *clients)
{
	if (clients->malformed)
		ctl_note(ctl, "%u client%s left out: %s; driver and accelctl do not fit",
			 clients->malformed, clients->malformed == 1 ? "" : "s", clients->why);
	if (clients->hidden && ctl->verbose)
		ctl_note(ctl, "%u processes of others cannot be looked into",
			 clients->hidden);
}

static bool all_gone(const struct sys_nodes *nodes, const struct top_sample *s)
{
	unsigned int i;

	for (i = 0; i < nodes->count; i++)
		if (!s->nodes[i].gone)
			return false;
	return true;
}

/* Sleeps; false if SIGINT came */
static bool wait_for(double seconds)
{
	struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&ts, &ts))
		if (errno != EINTR || ctl_interrupted())
			return false;
	return !ctl_interrupted();
}

static int batch(struct ctl *ctl, const struct top_opts *opts, const struct sys_nodes *nodes)
{
	struct top_sample samples[2];
	uint64_t done = 0;
	int ret;

	ret = top_take(opts, nodes, &samples[0]);
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, "/proc", "cannot be read");
	complain(ctl, &samples[0].clients);
	while (!opts->count || done < opts->count) {
		if (!wait_for(opts->interval))
			break;
		ret = top_take(opts, nodes, &samples[1]);
		if (ret)
			break;
		top_compare(opts, nodes, &samples[0], &samples[1]);
		done++;
		if (ctl->json)
			print_json(ctl, nodes, &samples[1], done);
		else
			print_text(ctl, nodes, &samples[1]);
		/*
		 * A program that reads this live needs each line at once; it may also have
		 * exited
		 */
		if (fflush(stdout)) {
			ret = -errno;
			top_free(&samples[1]);
			break;
		}
		if (all_gone(nodes, &samples[1])) {
			top_free(&samples[1]);
			top_free(&samples[0]);
			return ctl_fail(ctl, CTL_LOST, -ENODEV, nodes->list[0].name,
					"the device is gone");
		}
		top_free(&samples[0]);
		samples[0] = samples[1];
	}
	top_free(&samples[0]);
	if (ret == -EPIPE)
		return CTL_OK;
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, NULL, "cannot go on");
	/* Without a number of samples this is how it ends */
	return ctl_interrupted() && opts->count ? CTL_INTERRUPTED : CTL_OK;
}

int cmd_top(struct ctl *ctl, void *data, const char *operand)
{
	struct top_opts *opts = data;
	struct sys_nodes nodes;
	const char *term;
	int ret;

	(void)operand;
	if (opts->interval < 0.01 || opts->interval > 86400)
		return ctl_fail(ctl, CTL_USAGE, 0, "--interval", "is from 0.01 to 86400 seconds");
	ret = sys_find(ctl, &opts->sys, &nodes);
	if (ret)
		return ret;
	term = getenv("TERM");
	if (ctl->json || opts->batch || opts->count || !isatty(STDOUT_FILENO) ||
	    !isatty(STDIN_FILENO) || !term || !*term || !strcmp(term, "dumb"))
		ret = -ENOTTY;
	else
		ret = top_screen(ctl, opts, &nodes);
	/* A terminal that is not known is no reason to show nothing */
	if (ret == -ENOTTY)
		ret = batch(ctl, opts, &nodes);
	sys_nodes_free(&nodes);
	return ret;
}

/* --- ps --- */

int cmd_ps(struct ctl *ctl, void *data, const char *operand)
{
	char times[3][16], resident[16], queues[24];
	static const char *const classes[] = { "matrix", "gpu", "neural" };
	const struct sys_opts *opts = data;
	struct json_object *doc, *list;
	struct ctl_grid table = { 0 };
	struct sys_clients clients;
	struct sys_nodes nodes;
	unsigned int i, c;
	int ret;

	(void)operand;
	ret = sys_find(ctl, opts, &nodes);
	if (ret)
		return ret;
	ret = sys_clients_read(opts, &nodes, &clients);
	if (ret) {
		sys_nodes_free(&nodes);
		return ctl_fail(ctl, ctl_status(ret), ret, "/proc", "cannot be read");
	}
	complain(ctl, &clients);
	if (ctl->json) {
		doc = ctl_schema(ctl);
		list = ctl_json_arr(doc, "clients");
		for (i = 0; i < clients.count; i++)
			json_client(list, &nodes, &clients.list[i], NULL);
		ctl_json_uint(doc, "hidden_processes", clients.hidden);
		ctl_json_print(ctl, doc);
		goto out;
	}
	ctl_grid_row(&table, "PID\tUSER\tDEVICE\tCLIENT\tMATRIX\tGPU\tNEURAL\tMEMORY\tQUEUES\tCOMM");
	table.right = 1u << 0 | 0x1f8;
	for (i = 0; i < clients.count; i++) {
		const struct sys_client *s = &clients.list[i];

		for (c = 0; c < 3; c++) {
			const struct fdinfo_engine *e = fdinfo_engine(&s->info, classes[c]);

			if (e && e->has_ns)
				ctl_time(times[c], (double)e->ns / 1e9);
			else
				strcpy(times[c], "-");
		}
		if (s->queues == SYS_UNKNOWN)
			strcpy(queues, "-");
		else
			snprintf(queues, sizeof(queues), "%lld", (long long)s->queues);
		ctl_grid_row(&table, "%d\t%s\t%s\t%llu\t%s\t%s\t%s\t%s\t%s\t%s", (int)s->pid,
			     s->user, nodes.list[s->node].name,
			     (unsigned long long)s->info.client_id, times[0], times[1], times[2],
			     ctl_bytes(resident, s->info.resident), queues, s->comm);
	}
	ctl_grid_print(ctl, &table, 0);
out:
	sys_clients_free(&clients);
	sys_nodes_free(&nodes);
	return CTL_OK;
}
