// SPDX-License-Identifier: MIT
/* bo and jobs: print the driver's tables in debugfs. */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "accelctl.h"
#include "sys.h"
#include "table.h"

static const char *const bo_keys[] = {
	"refs", "references", "size", "size_bytes", "resident", "resident_bytes",
	"client", "client_id", "mappings", "mappings", "label", "label", NULL
};

static const char *const queue_keys[] = {
	"prio", "priority", "client", "client_id", "label", "label", NULL
};

static const char *const no_keys[] = { NULL };
static const char *const bo_bytes[] = { "size", "resident", NULL };

/* --- bo --- */

/* Without debugfs: not the buffers, but how much of them the clients have that we may see */
static int bo_clients(struct ctl *ctl, const struct sys_opts *opts, const struct sys_nodes *nodes)
{
	struct json_object *doc, *list, *o;
	struct ctl_grid table = { 0 };
	struct sys_clients clients;
	char text[4][16];
	unsigned int i;
	int ret;

	ret = sys_clients_read(opts, nodes, &clients);
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, "/proc", "cannot be read");
	ctl_note(ctl, "the list of buffers is for root; these are the sums of the clients that you may see");
	doc = ctl->json ? ctl_schema(ctl) : NULL;
	if (doc) {
		ctl_json_str(doc, "buffers", NULL);
		list = ctl_json_arr(doc, "clients");
	}
	ctl_grid_row(&table, "PID\tUSER\tDEVICE\tTOTAL\tRESIDENT\tSHARED\tPURGEABLE\tCOMM");
	table.right = 1u << 0 | 0x78;
	for (i = 0; i < clients.count; i++) {
		const struct sys_client *c = &clients.list[i];

		if (doc) {
			o = ctl_json_obj(list, NULL);
			ctl_json_str(o, "device", nodes->list[c->node].name);
			ctl_json_int(o, "pid", c->pid);
			ctl_json_str(o, "comm", c->comm);
			ctl_json_uint(o, "client_id", c->info.client_id);
			ctl_json_uint(o, "memory_total_bytes", c->info.total);
			ctl_json_uint(o, "memory_resident_bytes", c->info.resident);
			ctl_json_uint(o, "memory_shared_bytes", c->info.shared);
			ctl_json_uint(o, "memory_purgeable_bytes", c->info.purgeable);
			continue;
		}
		ctl_grid_row(&table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s", (int)c->pid, c->user,
			     nodes->list[c->node].name, ctl_bytes(text[0], c->info.total),
			     ctl_bytes(text[1], c->info.resident),
			     ctl_bytes(text[2], c->info.shared),
			     ctl_bytes(text[3], c->info.purgeable), c->comm);
	}
	if (doc) {
		ctl_json_print(ctl, doc);
		ctl_grid_clear(&table);
	} else {
		ctl_grid_print(ctl, &table, 0);
	}
	sys_clients_free(&clients);
	return CTL_OK;
}

/* The kernel's rows, and the device that they are of */
static void add_rows(struct json_object *list, const struct sys_node *node,
		     const struct table *table, const char *const *keys)
{
	size_t first = json_object_array_length(list), i;

	sys_json_table(list, table, keys);
	for (i = first; i < json_object_array_length(list); i++)
		ctl_json_str(json_object_array_get_idx(list, i), "device", node->name);
}

int cmd_bo(struct ctl *ctl, void *data, const char *operand)
{
	const struct sys_opts *opts = data;
	struct json_object *doc = NULL, *list = NULL;
	struct sys_nodes nodes;
	struct table table;
	char why[160];
	unsigned int n;
	int ret, err;

	(void)operand;
	ret = sys_find(ctl, opts, &nodes);
	if (ret)
		return ret;
	err = sys_table_try(&nodes.list[0], "gems", &table, why, sizeof(why));
	if (err == -EACCES || err == -EPERM || err == -ENOENT) {
		ret = bo_clients(ctl, opts, &nodes);
		goto out;
	}
	if (!err)
		table_free(&table);
	if (ctl->json) {
		doc = ctl_schema(ctl);
		list = ctl_json_arr(doc, "buffers");
	}
	for (n = 0; n < nodes.count; n++) {
		ret = sys_table(ctl, &nodes.list[n], "gems", &table);
		if (ret)
			goto out;
		table_keep(&table, "mappings");
		if (list) {
			add_rows(list, &nodes.list[n], &table, bo_keys);
		} else {
			printf("%s%s%s: %zu buffer%s\n", ctl_tone(ctl, CTL_HEAD),
			       nodes.list[n].name, ctl_tone(ctl, CTL_PLAIN), table.rows,
			       table.rows == 1 ? "" : "s");
			if (table.rows)
				sys_print_table(ctl, &table, bo_bytes);
		}
		table_free(&table);
	}
	if (doc) {
		ctl_json_print(ctl, doc);
		doc = NULL;
	}
out:
	json_object_put(doc);
	sys_nodes_free(&nodes);
	return ret;
}

/* --- jobs --- */

/* One table of a device; an older driver may lack one of them */
static int jobs_table(struct ctl *ctl, const struct sys_node *node, const char *name,
		      const char *const *keys, struct json_object *o)
{
	struct json_object *list;
	struct table table;
	char why[160];
	int ret;

	ret = sys_table_try(node, name, &table, why, sizeof(why));
	if (ret == -ENOENT && strcmp(name, "queues") != 0) {
		ctl_note(ctl, "%s: the driver has no table of %s", node->name, name);
		if (o)
			ctl_json_str(o, name, NULL);
		return CTL_OK;
	}
	if (ret)
		return sys_table(ctl, node, name, &table);
	if (o) {
		list = ctl_json_arr(o, name);
		sys_json_table(list, &table, keys);
	} else {
		printf("%s%s%s: %s\n", ctl_tone(ctl, CTL_HEAD), node->name,
		       ctl_tone(ctl, CTL_PLAIN), name);
		sys_print_table(ctl, &table, no_keys);
	}
	table_free(&table);
	return CTL_OK;
}

/* Number of jobs between submission and completion, for each queue and in total */
static void add_in_flight(struct json_object *device)
{
	struct json_object *queues, *queue, *submitted, *completed;
	int64_t flying, sum = 0;
	size_t i;

	if (!json_object_object_get_ex(device, "queues", &queues) || !queues)
		return;
	for (i = 0; i < json_object_array_length(queues); i++) {
		queue = json_object_array_get_idx(queues, i);
		if (!json_object_object_get_ex(queue, "submitted", &submitted) ||
		    !json_object_object_get_ex(queue, "completed", &completed))
			continue;
		/* The two were not read at once */
		flying = json_object_get_int64(submitted) - json_object_get_int64(completed);
		flying = flying < 0 ? 0 : flying;
		ctl_json_int(queue, "in_flight", flying);
		sum += flying;
	}
	ctl_json_int(device, "in_flight", sum);
}

int cmd_jobs(struct ctl *ctl, void *data, const char *operand)
{
	static const struct {
		const char *name;
		const char *const *keys;
	} tables[] = { { "queues", queue_keys }, { "rings", no_keys }, { "engines", no_keys } };
	struct json_object *doc = NULL, *list = NULL, *o = NULL;
	const struct sys_opts *opts = data;
	struct sys_nodes nodes;
	unsigned int n, t;
	int ret;

	(void)operand;
	ret = sys_find(ctl, opts, &nodes);
	if (ret)
		return ret;
	if (ctl->json) {
		doc = ctl_schema(ctl);
		list = ctl_json_arr(doc, "devices");
	}
	for (n = 0; n < nodes.count && !ret; n++) {
		if (list) {
			o = ctl_json_obj(list, NULL);
			ctl_json_str(o, "device", nodes.list[n].name);
		}
		for (t = 0; t < sizeof(tables) / sizeof(tables[0]) && !ret; t++)
			ret = jobs_table(ctl, &nodes.list[n], tables[t].name, tables[t].keys, o);
		if (o && !ret)
			add_in_flight(o);
	}
	if (doc && !ret) {
		ctl_json_print(ctl, doc);
		doc = NULL;
	}
	json_object_put(doc);
	sys_nodes_free(&nodes);
	return ret;
}
