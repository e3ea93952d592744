// SPDX-License-Identifier: MIT
/*
 * Samples of top: devices from sysfs, clients from fdinfo.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accelctl.h"
#include "kfile.h"
#include "top.h"

const char *const top_sort_names[] = {
	[TOP_SORT_SHARE] = "share",
	[TOP_SORT_MEMORY] = "memory",
	[TOP_SORT_PID] = "pid",
	[TOP_SORT_USER] = "user",
	[TOP_SORT_COMM] = "comm",
	[TOP_SORT_COUNT] = NULL
};

static void take_node(const struct sys_node *node, struct top_node *now)
{
	unsigned int i;

	now->gone = access(node->device, F_OK) != 0;
	for (i = 0; i < node->engine_count; i++) {
		struct top_engine *e = &now->engines[i];

		e->ns = sys_now();
		e->busy_us = sys_engine_number(node, &node->engines[i], "busy_time_us");
		e->jobs = sys_engine_number(node, &node->engines[i], "jobs");
		e->clock_max_mhz = sys_engine_number(node, &node->engines[i], "clock_max_mhz");
		e->percent = -1;
	}
	now->clock_hz = sys_number(node->hwmon, "freq1_input");
	if (now->clock_hz == SYS_UNKNOWN)
		now->clock_hz = sys_number(node->devfreq, "cur_freq");
	now->clock_max_hz = sys_number(node->devfreq, "max_freq");
	now->temp_mc = sys_number(node->hwmon, "temp1_input");
	now->power_uw = sys_number(node->hwmon, "power1_input");
	now->modelled = sys_modelled(node);
	now->memory_used = sys_number(node->device, "memory_used_bytes");
	now->throttled = sys_number(node->device, "throttled");
	if (kfile_line(node->device, "power_mode", now->mode, sizeof(now->mode)))
		now->mode[0] = 0;
}

int top_take(const struct top_opts *opts, const struct sys_nodes *nodes,
	     struct top_sample *sample)
{
	struct timespec ts;
	unsigned int i;
	int ret;

	*sample = (struct top_sample){ .ns = sys_now() };
	clock_gettime(CLOCK_REALTIME, &ts);
	sample->wall_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	sample->nodes = ctl_alloc(nodes->count, sizeof(*sample->nodes));
	for (i = 0; i < nodes->count; i++)
		take_node(&nodes->list[i], &sample->nodes[i]);
	ret = sys_clients_read(&opts->sys, nodes, &sample->clients);
	if (ret) {
		top_free(sample);
		return ret;
	}
	sample->rows = ctl_alloc(sample->clients.count, sizeof(*sample->rows));
	for (i = 0; i < sample->clients.count; i++)
		sample->rows[i].now = &sample->clients.list[i];
	return 0;
}

void top_free(struct top_sample *sample)
{
	sys_clients_free(&sample->clients);
	free(sample->rows);
	free(sample->nodes);
	*sample = (struct top_sample){ 0 };
}

static void compare_client(const struct top_sample *before, struct top_client *row)
{
	const struct sys_client *now = row->now, *was = NULL;
	unsigned int i;

	for (i = 0; i < before->clients.count && !was; i++)
		if (before->clients.list[i].node == now->node &&
		    before->clients.list[i].info.client_id == now->info.client_id)
			was = &before->clients.list[i];
	if (!was || now->ns <= was->ns)
		return;
	row->interval_ns = now->ns - was->ns;
	for (i = 0; i < now->info.engine_count; i++) {
		const struct fdinfo_engine *e = &now->info.engines[i];
		const struct fdinfo_engine *old = fdinfo_engine(&was->info, e->name);

		/* The counter may stand still and catch up, but must not decrease */
		if (!e->has_ns || !old || !old->has_ns || e->ns < old->ns)
			continue;
		row->busy_ns[i] = e->ns - old->ns;
		row->percent[i] = 100.0 * (double)row->busy_ns[i] / (double)row->interval_ns /
				  e->capacity;
		if (row->percent[i] > row->share)
			row->share = row->percent[i];
	}
}

static int compare_rows(const void *a, const void *b, void *user)
{
	const struct top_client *x = a, *y = b;
	const struct top_opts *opts = user;
	int ret = 0;

	switch (opts->sort) {
	case TOP_SORT_SHARE:
		ret = (x->share < y->share) - (x->share > y->share);
		break;
	case TOP_SORT_MEMORY:
		ret = (x->now->info.resident < y->now->info.resident) -
		      (x->now->info.resident > y->now->info.resident);
		break;
	case TOP_SORT_USER:
		ret = strcmp(x->now->user, y->now->user);
		break;
	case TOP_SORT_COMM:
		ret = strcmp(x->now->comm, y->now->comm);
		break;
	default:
		break;
	}
	if (!ret)
		ret = (x->now->pid > y->now->pid) - (x->now->pid < y->now->pid);
	if (!ret)
		ret = (x->now->info.client_id > y->now->info.client_id) -
		      (x->now->info.client_id < y->now->info.client_id);
	return opts->reverse & 1 ? -ret : ret;
}

void top_sort(const struct top_opts *opts, struct top_sample *sample)
{
	if (sample->clients.count)
		qsort_r(sample->rows, sample->clients.count, sizeof(*sample->rows), compare_rows,
			(void *)opts);
}

void top_compare(const struct top_opts *opts, const struct sys_nodes *nodes,
		 const struct top_sample *before, struct top_sample *now)
{
	unsigned int n, i;

	now->interval_ns = now->ns - before->ns;
	for (n = 0; n < nodes->count; n++)
		for (i = 0; i < nodes->list[n].engine_count; i++) {
			const struct top_engine *was = &before->nodes[n].engines[i];
			struct top_engine *e = &now->nodes[n].engines[i];

			if (e->busy_us == SYS_UNKNOWN || was->busy_us == SYS_UNKNOWN ||
			    e->busy_us < was->busy_us || e->ns <= was->ns)
				continue;
			e->percent = 100e3 * (double)(e->busy_us - was->busy_us) /
				     (double)(e->ns - was->ns);
		}
	for (i = 0; i < now->clients.count; i++)
		compare_client(before, &now->rows[i]);
	top_sort(opts, now);
}

/* --- text --- */

void top_node_line(const struct sys_node *node, const struct top_node *now, char *line, size_t size)
{
	const char *modelled = now->modelled ? " (modelled)" : "";
	char memory[16];
	size_t len;

	len = (size_t)snprintf(line, size, "%s:", node->name);
	if (now->gone) {
		snprintf(line + len, size - len, " gone");
		return;
	}
	if (now->clock_hz != SYS_UNKNOWN)
		len += (size_t)snprintf(line + len, size - len, " clock %.0f MHz",
					(double)now->clock_hz / 1e6);
	if (now->clock_max_hz != SYS_UNKNOWN && len < size)
		len += (size_t)snprintf(line + len, size - len, " (at most %.0f)",
					(double)now->clock_max_hz / 1e6);
	if (now->temp_mc != SYS_UNKNOWN && len < size)
		len += (size_t)snprintf(line + len, size - len, ", %.1f C",
					(double)now->temp_mc / 1e3);
	if (now->power_uw != SYS_UNKNOWN && len < size)
		len += (size_t)snprintf(line + len, size - len, ", %.2f W%s",
					(double)now->power_uw / 1e6, modelled);
	if (now->memory_used != SYS_UNKNOWN && len < size)
		len += (size_t)snprintf(line + len, size - len, ", memory %s",
					ctl_bytes(memory, (uint64_t)now->memory_used));
	if (*now->mode && len < size)
		len += (size_t)snprintf(line + len, size - len, ", mode %s", now->mode);
	if (now->throttled == 1 && len < size)
		snprintf(line + len, size - len, ", THROTTLED");
	/* Nothing known: no comma after the colon */
	len = strlen(node->name) + 1;
	if (line[len] == ',')
		memmove(line + len, line + len + 1, strlen(line + len));
}

void top_grid(const struct sys_nodes *nodes, const struct top_sample *sample,
	      struct ctl_grid *table)
{
	static const char *const classes[] = { "matrix", "gpu", "neural" };
	char share[3][16], resident[16], queues[24];
	unsigned int i, c;

	ctl_grid_row(table, "PID\tUSER\tDEVICE\tMATRIX%%\tGPU%%\tNEURAL%%\tMEMORY\tQUEUES\tCOMM");
	table->right = 1u << 0 | 7u << 3 | 1u << 6 | 1u << 7;
	for (i = 0; i < sample->clients.count; i++) {
		const struct top_client *row = &sample->rows[i];
		const struct fdinfo *info = &row->now->info;

		for (c = 0; c < 3; c++) {
			const struct fdinfo_engine *e = fdinfo_engine(info, classes[c]);

			if (!e || !e->has_ns)
				strcpy(share[c], "-");
			else
				snprintf(share[c], sizeof(share[c]), "%.1f",
					 row->percent[e - info->engines]);
		}
		if (row->now->queues == SYS_UNKNOWN)
			strcpy(queues, "-");
		else
			snprintf(queues, sizeof(queues), "%lld", (long long)row->now->queues);
		ctl_grid_row(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", (int)row->now->pid,
			     row->now->user, nodes->list[row->now->node].name, share[0], share[1],
			     share[2], ctl_bytes(resident, info->resident), queues,
			     row->now->comm);
	}
}
