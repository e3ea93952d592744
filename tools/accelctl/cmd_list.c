// SPDX-License-Identifier: MIT
/*
 * list
 */
#include <json-c/json.h>
#include <string.h>

#include "accelctl.h"

struct listing {
	struct ctl *ctl;
	struct json_object *devices;
	struct ctl_grid table;
};

static int add_device(void *user, const struct accel_device_desc *desc)
{
	const char *access = desc->access ? strerrorname_np(-desc->access) : "ok";
	struct listing *l = user;
	struct json_object *d;

	if (!access)
		access = "failed";
	if (l->ctl->json) {
		d = ctl_json_obj(l->devices, NULL);
		ctl_json_str(d, "name", desc->name);
		ctl_json_str(d, "path", *desc->path ? desc->path : NULL);
		ctl_json_str(d, "driver", desc->driver);
		ctl_json_str(d, "chip", *desc->profile ? desc->profile : NULL);
		ctl_json_bool(d, "emulated", desc->emulated);
		ctl_json_str(d, "access", access);
		ctl_json_int(d, "access_errno", -(int64_t)desc->access);
	} else if (l->ctl->quiet) {
		puts(desc->name);
	} else {
		ctl_grid_row(&l->table, "%s\t%s\t%s\t%s\t%s\t%s", desc->name,
			     *desc->path ? desc->path : "-", desc->driver,
			     *desc->profile ? desc->profile : "-",
			     desc->emulated ? "emulated" : "hardware", access);
	}
	return 0;
}

int cmd_list(struct ctl *ctl, void *data, const char *operand)
{
	struct listing l = { .ctl = ctl };
	struct json_object *doc = NULL;
	int ret;

	(void)data;
	(void)operand;
	if (ctl->json) {
		doc = ctl_schema(ctl);
		l.devices = ctl_json_arr(doc, "devices");
	} else if (!ctl->quiet) {
		ctl_grid_row(&l.table, "NAME\tPATH\tDRIVER\tCHIP\tKIND\tACCESS");
	}
	ret = accel_device_list(add_device, &l);
	if (ret) {
		ctl_grid_clear(&l.table);
		json_object_put(doc);
		return ctl_fail(ctl, ctl_status(ret), ret, NULL, "cannot list the devices");
	}
	if (ctl->json)
		ctl_json_print(ctl, doc);
	else
		ctl_grid_print(ctl, &l.table, 0);
	return CTL_OK;
}
